//! Send and receive rings in host memory: entries and doorbells.

use std::sync::Arc;

use tessera_abi::queue::{self, recv};
use tessera_abi::regs;

use crate::context::Shared;
use crate::device::DeviceError;
use crate::error::{CreateError, PostError};
use crate::memory::{DmaMemory, MemoryRegion};
use crate::outstanding::Outstanding;
use crate::recovery::{self, ChunkOptions, ChunkWatch};
use crate::request::{checked, RecvRequest};
use crate::reset::Gate;

/// Largest ring: the NIC's running index has 16 bits, and a full ring must differ
/// from an empty one.
pub(crate) const MAX_ENTRIES: usize = 1 << 15;

/// log2 of a ring size, or why it is none.
pub(crate) fn ring_log2(entries: usize) -> Result<u32, CreateError> {
    if entries.is_power_of_two() && (2..=MAX_ENTRIES).contains(&entries) {
        Ok(entries.trailing_zeros())
    } else {
        Err(CreateError::Entries { entries, max: MAX_ENTRIES })
    }
}

/// A ring in host memory with the requests outstanding on it.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: Arc<DmaMemory>,
    pub(crate) address: u64,
    pub(crate) outstanding: Arc<Outstanding>,
    gate: Arc<Gate>,
    /// Its doorbell is held back while a batch is posted.
    held: bool,
}

impl Ring {
    pub(crate) fn map(
        shared: &Shared,
        life: u32,
        entries: usize,
        entry_len: usize,
    ) -> Result<Self, CreateError> {
        let memory = DmaMemory::new(entries * entry_len);
        let address = shared.device.map(&memory)?;
        let outstanding = Arc::new(Outstanding::new(entries));
        shared.add_ring(&outstanding);
        Ok(Self { memory, address, outstanding, gate: shared.lives.gate(life), held: false })
    }

    /// What of it comes back when the NIC has let go.
    pub(crate) fn leaving(&self) -> (u64, Arc<Outstanding>) {
        (self.address, self.outstanding.clone())
    }

    /// The place of the next entry.
    #[inline]
    pub(crate) fn next_place(&self, shared: &Shared) -> Result<usize, PostError> {
        let place = self.outstanding.place().or_else(|| {
            // What ended in a queue that nobody polls any more.
            shared.read_abandoned();
            self.outstanding.place()
        });
        place.ok_or_else(|| PostError::RingFull { outstanding: self.outstanding.len() })
    }

    /// The next entry of the ring, of a ring of entries of this length.
    #[inline]
    pub(crate) fn entry<const N: usize>(&mut self, shared: &Shared) -> Result<&mut [u8; N], PostError> {
        let place = self.next_place(shared)?;
        // SAFETY: the place is free, and the NIC not told of it before `post`, which takes
        // the ring as this does.
        Ok(unsafe { self.memory.own(place * N) })
    }

    /// The tagged receive in place of a tag and a work id, as
    /// [`in_place`](Outstanding::in_place) gives it.
    pub(crate) fn tagged_in_place(&self, tag: u64, work_id: u64) -> Option<(u16, u16)> {
        self.outstanding.in_place(work_id, |place| {
            let mut posted = [0; 8];
            self.memory.read(place * queue::RECV_ENTRY_LEN + recv::TAG, &mut posted);
            posted == tag.to_le_bytes()
        })
    }

    /// Publishes the [`entry`](Self::entry) and rings the doorbell, unless that is held back.
    #[inline]
    pub(crate) fn post(
        &mut self,
        shared: &Shared,
        doorbell: u32,
        (work_id, memory, cancels): (u64, Option<&MemoryRegion>, Option<u16>),
    ) -> Result<(), PostError> {
        let memory = memory.map(|region| &region.mapping);
        if self.held {
            shared.lives.check(self.gate.life())?;
            self.outstanding.push(work_id, memory, cancels);
            return Ok(());
        }
        let _inside = self.gate.enter(&shared.lives)?;
        let tail = self.outstanding.push(work_id, memory, cancels);
        Ok(shared.device.write(doorbell, tail.into())?)
    }

    /// Posts a receive to the ring of table entry `index`.
    pub(crate) fn post_recv(
        &mut self,
        shared: &Shared,
        index: usize,
        request: &RecvRequest<'_>,
        tag: Option<u64>,
    ) -> Result<(), PostError> {
        let entry = self.recv_entry(shared, request)?;
        if let Some(tag) = tag {
            entry[recv::FLAGS] = queue::RECV_TAGGED;
            entry[recv::TAG..recv::TAG + 8].copy_from_slice(&tag.to_le_bytes());
        }
        self.post(shared, doorbell(index), (request.work_id, Some(request.region), None))
    }

    /// Posts a receive with a chunk area to the ring of table entry `index`.
    pub(crate) fn post_chunked_recv(
        &mut self,
        shared: &Shared,
        index: usize,
        request: &RecvRequest<'_>,
        options: &ChunkOptions,
    ) -> Result<ChunkWatch, PostError> {
        let entry = self.recv_entry(shared, request)?;
        let watch = recovery::watch(request, options, entry)?;
        self.post(shared, doorbell(index), (request.work_id, Some(request.region), None))?;
        Ok(watch)
    }

    /// Takes back the tagged receive of a tag and a work id.
    pub(crate) fn cancel(
        &mut self,
        shared: &Shared,
        index: usize,
        (tag, work_id): (u64, u64),
    ) -> Result<(), PostError> {
        let in_place = self.tagged_in_place(tag, work_id);
        let (target, handle) = in_place.ok_or(PostError::NotInPlace { tag, work_id })?;
        let entry: &mut [u8; queue::RECV_ENTRY_LEN] = self.entry(shared)?;
        entry.fill(0);
        entry[recv::FLAGS] = queue::RECV_CANCEL;
        entry[recv::TAG..recv::TAG + 8].copy_from_slice(&tag.to_le_bytes());
        entry[recv::TARGET..recv::TARGET + 2].copy_from_slice(&target.to_le_bytes());
        entry[recv::HANDLE..recv::HANDLE + 2].copy_from_slice(&handle.to_le_bytes());
        self.post(shared, doorbell(index), (work_id, None, Some(target)))
    }

    #[inline]
    fn recv_entry(
        &mut self,
        shared: &Shared,
        request: &RecvRequest<'_>,
    ) -> Result<&mut [u8; queue::RECV_ENTRY_LEN], PostError> {
        let (address, len) = checked((shared, self.gate.life()), request.region, &request.range)?;
        // A buffer beyond 4 GiB - 1 is larger than any message.
        let length = u32::try_from(len).unwrap_or(u32::MAX);
        let entry: &mut [u8; queue::RECV_ENTRY_LEN] = self.entry(shared)?;
        entry.fill(0);
        entry[recv::ADDRESS..recv::ADDRESS + 8].copy_from_slice(&address.to_le_bytes());
        entry[recv::LENGTH..recv::LENGTH + 4].copy_from_slice(&length.to_le_bytes());
        entry[recv::LKEY..recv::LKEY + 4].copy_from_slice(&request.region.lkey().to_le_bytes());
        Ok(entry)
    }

    /// Holds the doorbell back; gives where the ring stands.
    pub(crate) fn hold(&mut self) -> u16 {
        self.held = true;
        self.outstanding.tail()
    }

    /// Rings the doorbell for all that was posted since [`hold`](Self::hold), if anything was.
    pub(crate) fn release(&mut self, shared: &Shared, doorbell: u32, since: u16) -> Result<(), DeviceError> {
        self.held = false;
        let tail = self.outstanding.tail();
        if tail == since {
            return Ok(());
        }
        let _inside = self.gate.enter(&shared.lives)?;
        shared.device.write(doorbell, tail.into())
    }
}

/// Of the receives of table entry `index`.
pub(crate) fn doorbell(index: usize) -> u32 {
    regs::doorbell_page(index as u32) + regs::DOORBELL_RQ
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_sizes_are_refused() {
        for entries in [0, 1, 3, 1 << 16] {
            assert!(ring_log2(entries).is_err(), "{entries}");
        }
        assert_eq!(ring_log2(64), Ok(6));
    }
}
