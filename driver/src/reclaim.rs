//! What the NIC gives back of an endpoint or a shared ring that goes, at once or late.
//!
//! ```text
//!  closed entry, RECLAIM ──┬── over ──> index, rings and hold of its queues are free
//!                          └── not in time ──> kept ── looked at again ──> free
//! ```
//!
//! What a reclaim waits for may be anybody's (a MAC that takes nothing holds all of
//! them up), so one that is not over in time is no lost one. The NIC goes on with the
//! one named last; whoever creates or destroys something looks whether it is over, and
//! names the next.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use tessera_abi::regs::{self, table};

use crate::context::{Shared, Word, READY_WAITS};
use crate::device::DeviceError;
use crate::error::DestroyError;
use crate::memory::Mapping;
use crate::outstanding::Outstanding;
use crate::queue::Queue;

/// What comes back when the NIC has let go.
#[derive(Debug)]
pub(crate) struct Leaving {
    /// Of the endpoint table.
    pub(crate) index: usize,
    /// Addresses of its rings, and what they hold of memory.
    pub(crate) rings: [Option<(u64, Arc<Outstanding>)>; 2],
    /// Where its completions go.
    pub(crate) queues: Vec<Arc<Queue>>,
    /// The ring of others that its last messages take receives of.
    pub(crate) shared_ring: Option<u16>,
}

/// What the NIC has not let go of in time.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    left: VecDeque<Leaving>,
    /// The NIC was last told to reclaim the first of them.
    named: bool,
    /// The device failed in the middle of these: only a reset ends them.
    lost: Vec<Leaving>,
}

impl Kept {
    /// Whether somebody may still take receives of the ring of this table entry.
    fn shares(&self, ring: usize) -> bool {
        self.left.iter().chain(&self.lost).any(|one| one.shared_ring == Some(ring as u16))
    }
}

impl Shared {
    /// Closes an endpoint, or a ring, by `closed`, the entry that is not valid any more
    /// but says who it was, and waits until the NIC holds nothing of it. After a reset
    /// it holds nothing already.
    pub(crate) fn reclaim(
        &self,
        life: u32,
        leaving: Leaving,
        number: u32,
        closed: Word,
    ) -> Result<(), DestroyError> {
        let _alive = match self.lives.alive(life) {
            Ok(alive) => alive,
            Err(DeviceError::Reset) => {
                self.unmap(&leaving, true);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let mut kept = self.reclaiming.lock().unwrap_or_else(PoisonError::into_inner);
        // Whatever comes of these, it is no part of this one's end.
        let _ = self.settle(&mut kept);
        let closed = self.write_table_now(table::ENDPOINT, leaving.index, closed);
        if closed.is_ok() && kept.shares(leaving.index) {
            // Its receives may still be taken: it goes behind who may take them.
            kept.left.push_back(leaving);
            return Err(DestroyError::Held { endpoint: number, sends: false, receives: true, waits: 0 });
        }
        kept.named = false;
        let told = closed.and_then(|()| self.device.write(regs::RECLAIM.offset, leaving.index as u32));
        match told.and_then(|()| self.wait_for_reclaim()) {
            Err(error) => {
                kept.lost.push(leaving);
                return Err(error.into());
            }
            Ok(Some(left)) => {
                kept.left.push_front(leaving);
                kept.named = true;
                return Err(DestroyError::Held {
                    endpoint: number,
                    sends: left & 2 != 0,
                    receives: left & 4 != 0,
                    waits: READY_WAITS,
                });
            }
            Ok(None) => self.let_go(&leaving),
        }
        // One of them may be stuck for reasons of its own: in turns.
        if !kept.left.is_empty() {
            kept.left.rotate_left(1);
            let _ = self.name_first(&mut kept);
        }
        Ok(())
    }

    /// Looks whether the NIC has let go of what it had kept. Of a caller who keeps it
    /// from being reset.
    pub(crate) fn look_again(&self) {
        let mut kept = self.reclaiming.lock().unwrap_or_else(PoisonError::into_inner);
        // A device that fails is told of by the call that this is part of.
        let _ = self.settle(&mut kept);
    }

    /// Gives back what the NIC was told of last if it has let go, and then tells it of
    /// the others. Waits for none but those that it then begins with.
    fn settle(&self, kept: &mut Kept) -> Result<(), DeviceError> {
        if kept.left.is_empty() {
            return Ok(());
        }
        if !kept.named {
            self.name_first(kept)?;
        }
        if !kept.named {
            return Ok(());
        }
        if self.device.read(regs::RECLAIM_STATUS.offset)? & 1 != 0 {
            return Ok(());
        }
        while let Some(leaving) = kept.left.pop_front() {
            self.let_go(&leaving);
            self.name_first(kept)?;
            if !kept.named || self.wait_for_reclaim()?.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Tells the NIC to reclaim the first of them that no other takes receives of, if
    /// there is one.
    fn name_first(&self, kept: &mut Kept) -> Result<(), DeviceError> {
        kept.named = false;
        let Some(first) = kept.left.iter().position(|one| !kept.shares(one.index)) else { return Ok(()) };
        kept.left.rotate_left(first);
        self.device.write(regs::RECLAIM.offset, kept.left[0].index as u32)?;
        kept.named = true;
        Ok(())
    }

    /// What is left when the patience is over, or nothing.
    fn wait_for_reclaim(&self) -> Result<Option<u32>, DeviceError> {
        let mut left = 0;
        let done = self.wait_until(|| {
            left = self.device.read(regs::RECLAIM_STATUS.offset)?;
            Ok(left & 1 == 0)
        })?;
        Ok(done.is_none().then_some(left))
    }

    fn let_go(&self, leaving: &Leaving) {
        self.give_back_endpoint(leaving.index);
        self.unmap(leaving, false);
    }

    fn unmap(&self, leaving: &Leaving, over: bool) {
        for (address, requests) in leaving.rings.iter().flatten() {
            self.device.unmap(*address);
            requests.let_go();
        }
        leaving.queues.iter().for_each(|queue| self.let_go_of_queue(queue, over));
    }

    /// The NIC was reset: it holds nothing.
    pub(crate) fn forget_kept(&self) {
        let mut kept = self.reclaiming.lock().unwrap_or_else(PoisonError::into_inner);
        let Kept { left, named, lost } = &mut *kept;
        *named = false;
        left.drain(..).chain(lost.drain(..)).for_each(|leaving| self.unmap(&leaving, true));
    }
}

impl Shared {
    /// Memory that the NIC may use for as long as it pleases stays mapped: one owner too many, that never goes.
    pub(crate) fn give_up(&self, mapping: &Arc<Mapping>) {
        self.given_up.store(true, Ordering::SeqCst);
        std::mem::forget(mapping.clone());
    }

    /// Whether the NIC may still use memory.
    fn holds(&self) -> bool {
        let kept = self.reclaiming.lock().unwrap_or_else(PoisonError::into_inner);
        !kept.left.is_empty() || !kept.lost.is_empty() || self.given_up.load(Ordering::SeqCst)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.watcher.close(&*self.device);
        if self.lives.now().is_ok() {
            self.look_again();
        }
        // When the program has ended that memory is somebody else's, and a device may have nothing else that ends
        // what its NIC does. What not even its reset ends stays mapped.
        if self.holds() && matches!(self.stop(), Ok(None)) {
            self.forget_kept();
        }
    }
}
