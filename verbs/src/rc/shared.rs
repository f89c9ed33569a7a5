//! Messages for RC pairs with a shared receive queue.
//!
//! Receives of a shared queue are for whoever comes first, so nothing can be matched: the
//! queue has an endpoint that takes from its ring, and the tag says which pair a message is
//! for. The sender has one on its way at a time: were there more, later ones could take the
//! last receives, and the program would not hear of them, nor post more, before the first
//! has one.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, OnceLock};

use tessera_driver::{
    CompletionEvent, CompletionQueue, Endpoint, EndpointOptions, SharedReceive, Status, WorkCompletion,
};

use super::QKEY;
use crate::memory::Domain;
use crate::nic::{lock, Errno, Nic};
use crate::receives::SharedQueue;

/// Of a message's number, what its tag says.
const COUNT_BITS: u32 = 7;
pub const COUNT_MASK: u32 = (1 << COUNT_BITS) - 1;
const WRITTEN: u64 = 1 << 63;

/// The tag of a message to a pair, of a write with immediate with its length.
pub fn tag(pair: u32, number: u32, written: Option<u32>) -> u64 {
    let write = if written.is_some() { WRITTEN } else { 0 };
    let pair = u64::from(pair & 0xFF_FFFF);
    write | (pair << COUNT_BITS | u64::from(number & COUNT_MASK)) << 32 | u64::from(written.unwrap_or(0))
}

/// What the tag says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    pub pair: u32,
    pub count: u32,
    pub written: Option<u32>,
}

pub fn came(tag: u64) -> Came {
    let upper = (tag >> 32) as u32;
    let written = (tag & WRITTEN != 0).then_some(tag as u32);
    Came { pair: upper >> COUNT_BITS & 0xFF_FFFF, count: upper & COUNT_MASK, written }
}

/// The endpoint of a shared queue, once an RC pair uses it.
#[derive(Default)]
pub struct Reached(OnceLock<(Mutex<Endpoint>, Mutex<CompletionQueue>, u32)>);

impl Reached {
    /// Its number; made if there is none yet.
    pub fn number(
        &self,
        nic: &Nic,
        (domain, ring, entries): (&Domain, &SharedReceive, usize),
        keep: impl FnOnce(),
    ) -> Result<u32, c_int> {
        if let Some((_, _, number)) = self.0.get() {
            return Ok(*number);
        }
        let mut queue =
            nic.context.create_cq((2 * entries).clamp(64, 1 << 15)).map_err(|error| error.errno())?;
        queue.set_yielding(false);
        let options = EndpointOptions { qkey: QKEY, send_entries: 2, ..EndpointOptions::default() };
        let endpoint = domain
            .pd
            .create_sharing_endpoint(&options, &queue, &queue, ring)
            .map_err(|error| error.errno())?;
        let number = endpoint.number();
        // Whoever came first: the caller holds the ring.
        if self.0.set((Mutex::new(endpoint), Mutex::new(queue), number)).is_ok() {
            keep();
        }
        Ok(number)
    }
}

impl SharedQueue {
    /// The number of the endpoint by which RC messages reach it.
    pub fn carry(self: &Arc<Self>, nic: &Nic) -> Result<u32, c_int> {
        let ring = self.ring();
        self.reached.number(nic, (self.domain(), &ring, self.entries), || nic.add_shared(self))
    }

    /// Hands messages to the pairs they are for; says how many things have ended.
    pub fn progress(&self, nic: &Nic) -> Result<usize, c_int> {
        let Some((_, queue, _)) = self.reached.0.get() else { return Ok(0) };
        let mut queue = lock(queue);
        let mut done = [WorkCompletion::default(); 64];
        let read = queue.poll(&mut done).map_err(|error| {
            nic.lost(&error);
            libc::EIO
        })?;
        for done in &done[..read] {
            let over = matches!(done.status, Status::Flushed | Status::Destroyed);
            if !done.receive || done.event != CompletionEvent::Ended || over {
                continue;
            }
            let came = came(done.tag);
            let pair = nic.rc_pair(came.pair).filter(|pair| pair.takes_shared());
            match pair {
                Some(pair) => {
                    if let Some(wr_id) = self.ended(nic, done) {
                        pair.shared_came(nic, came, done, wr_id);
                    }
                }
                // Its pair is gone: others may use it.
                None => self.post_again(nic, done),
            }
        }
        Ok(read)
    }
}
