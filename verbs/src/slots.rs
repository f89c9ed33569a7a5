//! Requests under way: what a completion is to say, and where its bytes go.

use std::ops::Range;
use std::sync::Arc;

use tessera_driver::{Access, CreateError, DmaMemory, MemoryRegion, ProtectionDomain, RegisterError};

use crate::ffi::{ibv_sge, ibv_wc};
use crate::memory::Registered;

/// A request.
#[derive(Clone, Default)]
pub struct Request {
    pub wr_id: u64,
    /// Its end is told even if it went well.
    pub signaled: bool,
    /// Buffers that the received bytes are copied to.
    pub scatter: Vec<ibv_sge>,
    /// Whether they are.
    pub bounced: bool,
    /// Of a send that has ended before others that were posted earlier: how.
    pub end: Option<ibv_wc>,
    /// The GRH area in front of them is this library's to fill.
    pub fills_grh: bool,
    /// Where they are received, if the slot's own memory is too small for them.
    pub own: Option<Arc<MemoryRegion>>,
    /// Of a receive in one buffer: where that is.
    pub there: Option<(Arc<Registered>, Range<usize>)>,
}

/// The requests of one ring. A slot's number is its request's work id.
pub struct Slots {
    requests: Vec<Request>,
    free: Vec<u32>,
    /// Numbers in use, oldest first.
    order: std::collections::VecDeque<u32>,
    /// Memory of its own for every slot, once one needs it.
    bounce: Option<Arc<MemoryRegion>>,
    bounce_len: usize,
}

impl Slots {
    pub fn new(count: usize, bounce_len: usize) -> Self {
        Self {
            requests: vec![Request::default(); count],
            free: (0..count as u32).rev().collect(),
            order: std::collections::VecDeque::with_capacity(count),
            bounce: None,
            bounce_len,
        }
    }

    /// A slot for a request.
    pub fn put(&mut self, request: Request) -> Option<u32> {
        let slot = self.free.pop()?;
        self.requests[slot as usize] = request;
        self.order.push_back(slot);
        Some(slot)
    }

    /// The request of a slot, which is free from now on.
    pub fn take(&mut self, slot: u64) -> Option<Request> {
        let slot = u32::try_from(slot).ok()?;
        // Ends come in the order of posts, or nearly.
        let at = self.order.iter().position(|&other| other == slot)?;
        self.order.remove(at);
        self.free.push(slot);
        Some(std::mem::take(&mut self.requests[slot as usize]))
    }

    /// A request has ended with this; those before it may not have.
    pub fn end(&mut self, slot: u64, end: ibv_wc) {
        let request = usize::try_from(slot).ok().and_then(|slot| self.requests.get_mut(slot));
        if let Some(request) = request {
            request.end = Some(end);
        }
    }

    /// The oldest request, if it has ended.
    pub fn take_ended(&mut self) -> Option<(Request, ibv_wc)> {
        let slot = *self.order.front()?;
        let end = self.requests[slot as usize].end?;
        Some((self.take(slot.into())?, end))
    }

    /// The request of a slot, which keeps it.
    pub fn get(&self, slot: u64) -> Option<&Request> {
        self.requests.get(usize::try_from(slot).ok()?)
    }

    /// All that is left, oldest first.
    pub fn take_all(&mut self) -> Vec<Request> {
        let slots: Vec<u32> = self.order.drain(..).collect();
        self.free.extend(slots.iter().rev());
        slots.iter().map(|&slot| std::mem::take(&mut self.requests[slot as usize])).collect()
    }

    /// Memory of the slots' own.
    pub fn bounce(&mut self, pd: &ProtectionDomain) -> Result<Arc<MemoryRegion>, RegisterError> {
        if let Some(bounce) = &self.bounce {
            return Ok(bounce.clone());
        }
        let memory = DmaMemory::new(self.requests.len() * self.bounce_len);
        let region = Arc::new(pd.register(&memory, Access::LOCAL_WRITE)?);
        Ok(self.bounce.insert(region).clone())
    }

    /// The memory, if there is.
    pub fn bounced(&self) -> Option<&Arc<MemoryRegion>> {
        self.bounce.as_ref()
    }

    /// How much of it is a slot's.
    pub fn bounce_len(&self) -> usize {
        self.bounce_len
    }

    /// Where a slot's memory begins.
    pub fn bounce_at(&self, slot: u32) -> usize {
        slot as usize * self.bounce_len
    }
}

/// Ring size for so many requests, of those that are possible.
pub fn ring(requests: u32) -> Result<usize, CreateError> {
    let entries = (requests.max(2) as usize).next_power_of_two();
    match entries {
        0..=0x4000 => Ok(entries),
        _ => Err(CreateError::Entries { entries, max: 0x4000 }),
    }
}
