//! Mechanics of send and receive rings: running indexes, what is outstanding,
//! and which request a completion ends.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tessera_abi::queue::{self, recv};
use tessera_abi::regs;

use crate::context::Shared;
use crate::error::{CreateError, PostError};
use crate::memory::{DmaMemory, Mapping, MemoryRegion, Use};
use crate::recovery::{self, ChunkOptions, ChunkWatch};
use crate::request::{checked, RecvRequest};

/// Largest ring: the running index has 16 bits, and a full ring must differ
/// from an empty one.
pub(crate) const MAX_ENTRIES: usize = 1 << 15;

/// Largest handle of a tagged receive: they are kept with one added.
pub(crate) const MAX_HANDLE: u16 = u16::MAX - 1;

/// log2 of a ring size, or why it is none.
pub(crate) fn ring_log2(entries: usize) -> Result<u32, CreateError> {
    if entries.is_power_of_two() && (2..=MAX_ENTRIES).contains(&entries) {
        Ok(entries.trailing_zeros())
    } else {
        Err(CreateError::Entries { entries, max: MAX_ENTRIES })
    }
}

/// Requests of one ring, shared by whoever posts and the completion queues that
/// end them (several, for a shared receive ring). Completions come in any order, so an entry's place is
/// free again only when every entry before it has ended too.
#[derive(Debug)]
pub(crate) struct Outstanding {
    mask: u16,
    /// Oldest request that has not ended.
    head: AtomicU16,
    /// One past the newest request.
    tail: AtomicU16,
    work_ids: Box<[AtomicU64]>,
    /// Memory of those that have not ended.
    uses: Box<[Use]>,
    ended: Box<[AtomicBool]>,
    /// Of a tagged receive in place: its handle and one. Of a cancel, the running
    /// index it is about.
    notes: Box<[AtomicU16]>,
    cancels: Box<[AtomicBool]>,
    /// How often it is attached to a queue that may still hold ends of its requests.
    unread: AtomicUsize,
    /// Held while `head` moves.
    advance: Mutex<()>,
}

impl Outstanding {
    pub(crate) fn new(entries: usize) -> Self {
        Self {
            mask: (entries - 1) as u16,
            head: AtomicU16::new(0),
            tail: AtomicU16::new(0),
            work_ids: (0..entries).map(|_| AtomicU64::new(0)).collect(),
            uses: (0..entries).map(|_| Use::default()).collect(),
            ended: (0..entries).map(|_| AtomicBool::new(false)).collect(),
            cancels: (0..entries).map(|_| AtomicBool::new(false)).collect(),
            notes: (0..entries).map(|_| AtomicU16::new(0)).collect(),
            unread: AtomicUsize::new(0),
            advance: Mutex::new(()),
        }
    }

    /// Its requests may end in one queue more.
    pub(crate) fn attached(&self) {
        self.unread.fetch_add(1, Ordering::Relaxed);
    }

    /// One of those queues was read to its end, and no more comes.
    pub(crate) fn read_out(&self) {
        self.unread.fetch_sub(1, Ordering::AcqRel);
    }

    /// Whether what is outstanding has not ended in any queue.
    pub(crate) fn is_read_out(&self) -> bool {
        self.unread.load(Ordering::Acquire) == 0
    }

    /// Requests between the oldest unfinished one and the newest.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.tail.load(Ordering::Acquire).wrapping_sub(self.head.load(Ordering::Acquire)))
    }

    /// Place in the ring of the next request, or `None` when it is full.
    pub(crate) fn place(&self) -> Option<usize> {
        (self.len() <= usize::from(self.mask))
            .then(|| usize::from(self.tail.load(Ordering::Relaxed) & self.mask))
    }

    /// Records the request written at [`place`](Self::place) with the memory it uses, a
    /// cancel with the running index it is about; returns the new tail.
    pub(crate) fn push(&self, work_id: u64, memory: Option<&Arc<Mapping>>, cancels: Option<u16>) -> u16 {
        let tail = self.tail.load(Ordering::Relaxed);
        let at = usize::from(tail & self.mask);
        self.work_ids[at].store(work_id, Ordering::Relaxed);
        self.uses[at].begin(memory);
        self.ended[at].store(false, Ordering::Relaxed);
        self.notes[at].store(cancels.unwrap_or(0), Ordering::Relaxed);
        self.cancels[at].store(cancels.is_some(), Ordering::Relaxed);
        self.tail.store(tail.wrapping_add(1), Ordering::Release);
        tail.wrapping_add(1)
    }

    /// Place of an outstanding request.
    fn find(&self, entry: u16) -> Option<usize> {
        let head = self.head.load(Ordering::Relaxed);
        let tail = self.tail.load(Ordering::Acquire);
        let at = usize::from(entry & self.mask);
        let there = entry.wrapping_sub(head) < tail.wrapping_sub(head);
        (there && !self.ended[at].load(Ordering::Relaxed)).then_some(at)
    }

    /// The work id of an outstanding request.
    pub(crate) fn work_id(&self, entry: u16) -> Option<u64> {
        self.find(entry).map(|at| self.work_ids[at].load(Ordering::Relaxed))
    }

    /// Whether an outstanding request is a cancel.
    pub(crate) fn is_cancel(&self, entry: u16) -> bool {
        self.find(entry).is_some_and(|at| self.cancels[at].load(Ordering::Relaxed))
    }

    /// A tagged receive is in place under `handle`, which is no more than [`MAX_HANDLE`].
    pub(crate) fn posted(&self, entry: u16, handle: u16) -> Option<u64> {
        let at = self.find(entry)?;
        self.notes[at].store(handle + 1, Ordering::Relaxed);
        Some(self.work_ids[at].load(Ordering::Relaxed))
    }

    /// The newest outstanding request of a work id that is in place, with its
    /// running index and handle.
    pub(crate) fn in_place(&self, work_id: u64) -> Option<(u16, u16)> {
        let (head, tail) = (self.head.load(Ordering::Relaxed), self.tail.load(Ordering::Acquire));
        (0..tail.wrapping_sub(head)).rev().map(|n| head.wrapping_add(n)).find_map(|entry| {
            let at = self.find(entry)?;
            let handle = self.notes[at].load(Ordering::Relaxed).checked_sub(1)?;
            (self.work_ids[at].load(Ordering::Relaxed) == work_id).then_some((entry, handle))
        })
    }

    /// Ends the oldest outstanding request, of a NIC that has forgotten it: its work
    /// id and whether it was a cancel.
    pub(crate) fn flush(&self) -> Option<(u64, bool)> {
        let (head, tail) = (self.head.load(Ordering::Relaxed), self.tail.load(Ordering::Acquire));
        (0..tail.wrapping_sub(head)).map(|n| head.wrapping_add(n)).find_map(|entry| {
            let cancels = self.cancels[usize::from(entry & self.mask)].load(Ordering::Relaxed);
            Some((self.end(entry)?, cancels))
        })
    }

    /// A cancel ended, and with success the request it is about. Gives that one's
    /// work id.
    pub(crate) fn cancelled(&self, entry: u16, success: bool) -> Option<u64> {
        let target = self.notes[self.find(entry)?].load(Ordering::Relaxed);
        let id = self.end(entry)?;
        if success {
            self.end(target)?;
        }
        Some(id)
    }

    /// The NIC has let go of the ring: no memory is used on its account any more.
    pub(crate) fn let_go(&self) {
        self.uses.iter().for_each(Use::end);
    }

    /// Ends the request of running index `entry`; `None` if it is not outstanding.
    pub(crate) fn end(&self, entry: u16) -> Option<u64> {
        let _guard = self.advance.lock().unwrap_or_else(PoisonError::into_inner);
        let head = self.head.load(Ordering::Relaxed);
        let tail = self.tail.load(Ordering::Acquire);
        if entry.wrapping_sub(head) >= tail.wrapping_sub(head) {
            return None;
        }
        let at = usize::from(entry & self.mask);
        if self.ended[at].swap(true, Ordering::Relaxed) {
            return None;
        }
        let work_id = self.work_ids[at].load(Ordering::Relaxed);
        self.uses[at].end();
        let mut head = head;
        while head != tail && self.ended[usize::from(head & self.mask)].load(Ordering::Relaxed) {
            head = head.wrapping_add(1);
        }
        self.head.store(head, Ordering::Release);
        Some(work_id)
    }
}

/// A ring in host memory with the requests outstanding on it.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: Arc<DmaMemory>,
    pub(crate) address: u64,
    pub(crate) outstanding: Arc<Outstanding>,
    entry_len: usize,
}

impl Ring {
    pub(crate) fn map(shared: &Shared, entries: usize, entry_len: usize) -> Result<Self, CreateError> {
        let memory = DmaMemory::new(entries * entry_len);
        let address = shared.device.map(&memory)?;
        Ok(Self { memory, address, outstanding: Arc::new(Outstanding::new(entries)), entry_len })
    }

    /// What of it comes back when the NIC has let go.
    pub(crate) fn leaving(&self) -> (u64, Arc<Outstanding>) {
        (self.address, self.outstanding.clone())
    }

    pub(crate) fn place(&self, shared: &Shared) -> Result<usize, PostError> {
        let place = self.outstanding.place().or_else(|| {
            // What ended in a queue that nobody polls any more.
            shared.read_abandoned();
            self.outstanding.place()
        });
        place.ok_or(PostError::RingFull { outstanding: self.outstanding.len() })
    }

    /// Publishes an entry and rings its doorbell.
    pub(crate) fn post(
        &self,
        (shared, life): (&Shared, u32),
        doorbell: u32,
        place: usize,
        entry: &[u8],
        (work_id, memory, cancels): (u64, Option<&MemoryRegion>, Option<u16>),
    ) -> Result<(), PostError> {
        let _alive = shared.lives.alive(life)?;
        self.memory.write(place * self.entry_len, entry);
        let tail = self.outstanding.push(work_id, memory.map(|region| &region.mapping), cancels);
        Ok(shared.device.write(doorbell, tail.into())?)
    }

    /// Posts a receive to the ring of table entry `index`.
    pub(crate) fn post_recv(
        &self,
        of: (&Shared, u32),
        index: usize,
        request: &RecvRequest<'_>,
        tag: Option<u64>,
    ) -> Result<(), PostError> {
        let (place, mut entry) = self.recv_entry(of, request)?;
        if let Some(tag) = tag {
            entry[recv::FLAGS] = queue::RECV_TAGGED;
            entry[recv::TAG..recv::TAG + 8].copy_from_slice(&tag.to_le_bytes());
        }
        let doorbell = regs::doorbell_page(index as u32) + regs::DOORBELL_RQ;
        self.post(of, doorbell, place, &entry, (request.work_id, Some(request.region), None))
    }

    /// Posts a receive with a chunk area to the ring of table entry `index`.
    pub(crate) fn post_chunked_recv(
        &self,
        of: (&Shared, u32),
        index: usize,
        request: &RecvRequest<'_>,
        options: &ChunkOptions,
    ) -> Result<ChunkWatch, PostError> {
        let (place, mut entry) = self.recv_entry(of, request)?;
        let watch = recovery::watch(request, options, &mut entry)?;
        let doorbell = regs::doorbell_page(index as u32) + regs::DOORBELL_RQ;
        self.post(of, doorbell, place, &entry, (request.work_id, Some(request.region), None))?;
        Ok(watch)
    }

    fn recv_entry(
        &self,
        (shared, life): (&Shared, u32),
        request: &RecvRequest<'_>,
    ) -> Result<(usize, [u8; queue::RECV_ENTRY_LEN]), PostError> {
        let (address, len) = checked(request.region, &request.range, life)?;
        // A buffer beyond 4 GiB - 1 is larger than any message.
        let length = u32::try_from(len).unwrap_or(u32::MAX);
        let place = self.place(shared)?;
        let mut entry = [0; queue::RECV_ENTRY_LEN];
        entry[recv::ADDRESS..recv::ADDRESS + 8].copy_from_slice(&address.to_le_bytes());
        entry[recv::LENGTH..recv::LENGTH + 4].copy_from_slice(&length.to_le_bytes());
        entry[recv::LKEY..recv::LKEY + 4].copy_from_slice(&request.region.lkey().to_le_bytes());
        Ok((place, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_back_in_order_of_posting() {
        let ring = Outstanding::new(4);
        for id in 0..4 {
            assert_eq!(ring.place(), Some(id as usize));
            ring.push(100 + id, None, None);
        }
        assert_eq!(ring.place(), None);
        assert_eq!(ring.end(2), Some(102));
        assert_eq!(ring.place(), None, "entry 0 still holds the ring");
        assert_eq!(ring.end(0), Some(100));
        assert_eq!(ring.place(), Some(0));
        assert_eq!(ring.len(), 3);
        assert_eq!(ring.end(1), Some(101));
        assert_eq!(ring.len(), 1);
    }

    #[test]
    fn nothing_ends_twice_or_unposted() {
        let ring = Outstanding::new(4);
        ring.push(1, None, None);
        assert_eq!(ring.end(1), None);
        assert_eq!(ring.end(0), Some(1));
        assert_eq!(ring.end(0), None);
    }

    #[test]
    fn what_was_forgotten_ends_once_and_in_order() {
        let ring = Outstanding::new(4);
        ring.push(5, None, None);
        ring.push(6, None, None);
        ring.push(5, None, Some(0));
        assert_eq!(ring.end(1), Some(6));
        assert_eq!(ring.flush(), Some((5, false)));
        assert_eq!(ring.flush(), Some((5, true)));
        assert_eq!((ring.flush(), ring.len()), (None, 0));
    }

    #[test]
    fn the_running_index_wraps() {
        let ring = Outstanding::new(2);
        for n in 0..200_000u64 {
            assert!(ring.place().is_some());
            let tail = ring.push(n, None, None);
            assert_eq!(ring.end(tail.wrapping_sub(1)), Some(n));
        }
    }

    #[test]
    fn odd_sizes_are_refused() {
        for entries in [0, 1, 3, 1 << 16] {
            assert!(ring_log2(entries).is_err(), "{entries}");
        }
        assert_eq!(ring_log2(64), Ok(6));
    }
}
