//! Shared receive rings: what verbs call a shared receive queue.
//!
//! ```text
//!   SharedReceive::post_recv ──> ring ──┬── message of endpoint A ──> A's receive queue
//!                                       └── message of endpoint B ──> B's receive queue
//! ```
//!
//! Several endpoints take their receives from one ring, so that buffers are
//! posted for all of them together. A receive completes where its *message's*
//! endpoint completes. There is no limit event: read
//! [`SharedReceive::recvs_outstanding`] when polling.

use std::sync::Arc;

use tessera_abi::queue;
use tessera_abi::regs::{self, table};

use crate::completion::CompletionQueue;
use crate::context::{Shared, Word};
use crate::device::DeviceError;
use crate::error::{CreateError, PostError};
use crate::outstanding::Outstanding;
use crate::queue::Queue;
use crate::reclaim::Leaving;
use crate::recovery::{ChunkOptions, ChunkWatch};
use crate::request::RecvRequest;
use crate::reset::State;
use crate::ring::{doorbell, ring_log2, Ring};

/// The ring itself; endpoints that use it keep it alive.
#[derive(Debug)]
pub(crate) struct SharedRing {
    pub(crate) shared: Arc<Shared>,
    pub(crate) life: u32,
    pub(crate) index: usize,
    /// The queue of what is refused, held until the NIC has let go of the ring.
    errors: Arc<Queue>,
    /// Where it is, and what is outstanding on it.
    ring: (u64, Arc<Outstanding>),
}

impl SharedRing {
    pub(crate) fn outstanding(&self) -> &Arc<Outstanding> {
        &self.ring.1
    }
}

impl Drop for SharedRing {
    fn drop(&mut self) {
        self.errors.attached.detach(self.index as u16, Some(self.index as u16));
        // What was refused may wait for its queue, and what is read of it for the host.
        let closed = Word::new().with(regs::endpoint::RECV_CQ, self.errors.index as u64);
        let rings = [Some(self.ring.clone()), None];
        let queues = vec![self.errors.clone()];
        let leaving = Leaving { index: self.index, rings, queues, shared_ring: None };
        // What stays in the NIC stays mapped: nobody is there to be told.
        let _ = self.shared.reclaim(self.life, leaving, self.index as u32, closed);
    }
}

/// A receive ring that endpoints share. It takes one of the NIC's endpoint
/// table entries, and lives until it and every endpoint that uses it is dropped.
#[derive(Debug)]
pub struct SharedReceive {
    pub(crate) ring: Arc<SharedRing>,
    posts: Ring,
}

impl SharedReceive {
    pub(crate) fn create(
        shared: &Arc<Shared>,
        pd: u16,
        entries: usize,
        errors: &CompletionQueue,
    ) -> Result<Self, CreateError> {
        if !Arc::ptr_eq(shared, &errors.shared) {
            return Err(CreateError::ForeignQueue);
        }
        let errors_queue = &errors.queue;
        let life = errors_queue.life;
        let alive = shared.lives.alive(life)?;
        let log2 = ring_log2(entries)?;
        let ring = Ring::map(shared, life, entries, queue::RECV_ENTRY_LEN)?;
        let index = shared.take_ring().inspect_err(|_| shared.device.unmap(ring.address))?;
        let word = Word::new()
            .with(regs::endpoint::RING, 1)
            .with(regs::endpoint::RQ_BASE, ring.address)
            .with(regs::endpoint::RQ_LOG2, log2.into())
            .with(regs::endpoint::RECV_CQ, errors_queue.index as u64)
            .with(regs::endpoint::PD, pd.into());
        errors.disown(index);
        errors_queue.attached.attach(index as u16, Some(index as u16), &ring.outstanding);
        let errors = errors_queue.hold();
        let posts = ring;
        let ring = SharedRing { shared: shared.clone(), life, index, errors, ring: posts.leaving() };
        // From here on dropping `ring` gives everything back.
        let written = shared.write_table_now(table::ENDPOINT, index, word);
        drop(alive);
        written?;
        Ok(Self { ring: Arc::new(ring), posts })
    }

    /// Posts a receive for whichever endpoint's message comes next.
    pub fn post_recv(&mut self, request: &RecvRequest<'_>) -> Result<(), PostError> {
        self.posts.post_recv(&self.ring.shared, self.ring.index, request, None)
    }

    /// Posts a receive with a chunk area, see
    /// [`Endpoint::post_chunked_recv`](crate::Endpoint::post_chunked_recv).
    pub fn post_chunked_recv(
        &mut self,
        request: &RecvRequest<'_>,
        options: &ChunkOptions,
    ) -> Result<ChunkWatch, PostError> {
        self.posts.post_chunked_recv(&self.ring.shared, self.ring.index, request, options)
    }

    /// Posts several receives with one doorbell, see [`Endpoint::batch`](crate::Endpoint::batch).
    pub fn batch<R>(&mut self, posts: impl FnOnce(&mut Self) -> R) -> Result<R, DeviceError> {
        /// Lets the doorbell go, also where `posts` panics.
        struct Held<'a>(&'a mut SharedReceive, u16);
        impl Held<'_> {
            fn release(&mut self) -> Result<(), DeviceError> {
                let Self(receives, tail) = self;
                let told =
                    receives.posts.release(&receives.ring.shared, doorbell(receives.ring.index), *tail);
                *tail = receives.posts.outstanding.tail();
                told
            }
        }
        impl Drop for Held<'_> {
            fn drop(&mut self) {
                // Who is not told of an error here panics.
                let _ = self.release();
            }
        }
        let tail = self.posts.hold();
        let mut held = Held(self, tail);
        let result = posts(held.0);
        held.release()?;
        Ok(result)
    }

    /// What can be done with it.
    pub fn state(&self) -> State {
        self.ring.shared.lives.state(self.ring.life)
    }

    /// Receives not yet ended.
    pub fn recvs_outstanding(&self) -> usize {
        self.ring.shared.read_abandoned();
        self.ring.outstanding().len()
    }
}
