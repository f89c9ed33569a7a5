//! What is outstanding on a ring, and which request a completion ends.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::memory::Mapping;

/// Largest handle of a tagged receive: they are kept with one added.
pub(crate) const MAX_HANDLE: u16 = u16::MAX - 1;

/// A request, where it is in the ring.
#[derive(Debug, Default)]
struct Place {
    work_id: AtomicU64,
    /// The memory it uses: an address to compare, never followed.
    memory: AtomicPtr<Mapping>,
    /// Of a tagged receive in place: its handle and one. Of a cancel, the running
    /// index it is about.
    note: AtomicU16,
    cancel: AtomicBool,
    /// Twice its index, and one more once it has ended: who is late with an end meets
    /// another index, not the request that has the place by then.
    state: AtomicU64,
}

/// Memory whose region is gone, and that requests still use: whoever loses this list has
/// lost what the NIC may write, which stays mapped for good.
#[derive(Debug, Default)]
struct Kept {
    memory: Vec<Arc<Mapping>>,
    /// The NIC has let go of the ring: nothing is kept any more.
    let_go: bool,
}

/// Requests of one ring, shared by whoever posts and the completion queues that
/// end them (several, for a shared receive ring). Completions come in any order, so an entry's place is
/// free again only when every entry before it has ended too.
///
/// ```text
///   ended ... │ ended  .  ended  .   .  │ free ...
///             head                      tail
///             moved by who ends one     moved by who posts
/// ```
///
/// Nothing here waits. The indexes count on for good, the NIC knows the lower 16 bits of
/// them. Places are written before the tail moves over them (release, acquire) and not
/// looked at again once the head has: of those who end requests at once, one moves it.
#[derive(Debug)]
pub(crate) struct Outstanding {
    mask: u64,
    /// Oldest request that has not ended.
    head: AtomicU64,
    /// One past the newest request.
    tail: AtomicU64,
    places: Box<[Place]>,
    /// How often it is attached to a queue that may still hold ends of its requests.
    unread: AtomicUsize,
    kept: Mutex<Kept>,
    /// How much that is.
    keeps: AtomicUsize,
}

impl Outstanding {
    pub(crate) fn new(entries: usize) -> Self {
        Self {
            mask: entries as u64 - 1,
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            places: (0..entries).map(|_| Place::default()).collect(),
            unread: AtomicUsize::new(0),
            kept: Mutex::default(),
            keeps: AtomicUsize::new(0),
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

    /// The head, and how many requests are between it and the tail.
    fn span(&self) -> (u64, u64) {
        // The head first, which never passes the tail: what others do in between may only
        // make it more, and then no more than there can be. What was outstanding before this
        // call and still is lies within.
        let head = self.head.load(Ordering::Acquire);
        let len = self.tail.load(Ordering::Acquire).wrapping_sub(head);
        (head, len.min(self.mask + 1))
    }

    /// Requests between the oldest unfinished one and the newest.
    pub(crate) fn len(&self) -> usize {
        self.span().1 as usize
    }

    #[inline]
    fn at(&self, index: u64) -> &Place {
        &self.places[(index & self.mask) as usize]
    }

    /// One past the newest request, as the NIC counts.
    pub(crate) fn tail(&self) -> u16 {
        self.tail.load(Ordering::Acquire) as u16
    }

    /// Whether nothing was ever posted here.
    pub(crate) fn is_unused(&self) -> bool {
        self.tail.load(Ordering::Acquire) == 0
    }

    /// Place in the ring of the next request, or `None` when it is full.
    #[inline]
    pub(crate) fn place(&self) -> Option<usize> {
        let tail = self.tail.load(Ordering::Relaxed);
        let free = tail.wrapping_sub(self.head.load(Ordering::Acquire)) <= self.mask;
        free.then_some((tail & self.mask) as usize)
    }

    /// Records the request written at [`place`](Self::place) with the memory it uses, a
    /// cancel with the running index it is about; returns the new tail.
    #[inline]
    pub(crate) fn push(&self, work_id: u64, memory: Option<&Arc<Mapping>>, cancels: Option<u16>) -> u16 {
        let tail = self.tail.load(Ordering::Relaxed);
        let place = self.at(tail);
        place.work_id.store(work_id, Ordering::Relaxed);
        let memory = memory.map_or(std::ptr::null(), Arc::as_ptr);
        place.memory.store(memory.cast_mut(), Ordering::Relaxed);
        place.note.store(cancels.unwrap_or(0), Ordering::Relaxed);
        place.cancel.store(cancels.is_some(), Ordering::Relaxed);
        place.state.store(2 * tail, Ordering::Relaxed);
        self.tail.store(tail.wrapping_add(1), Ordering::Release);
        tail.wrapping_add(1) as u16
    }

    /// The index of an outstanding request.
    #[inline]
    fn find(&self, entry: u16) -> Option<u64> {
        let head = self.head.load(Ordering::Acquire);
        let tail = self.tail.load(Ordering::Acquire);
        let behind = u64::from(entry.wrapping_sub(head as u16));
        let index = head.wrapping_add(behind);
        let there = behind < tail.wrapping_sub(head);
        (there && self.at(index).state.load(Ordering::SeqCst) == 2 * index).then_some(index)
    }

    /// Running indexes of what may be outstanding, oldest first.
    fn indexes(&self) -> impl DoubleEndedIterator<Item = u16> {
        let (head, len) = self.span();
        (0..len).map(move |n| head.wrapping_add(n) as u16)
    }

    /// The work id of an outstanding request.
    pub(crate) fn work_id(&self, entry: u16) -> Option<u64> {
        self.find(entry).map(|index| self.at(index).work_id.load(Ordering::Relaxed))
    }

    /// A completion tells of the end of a request. A cancel ends so only without success:
    /// gives its work id and whether it is one.
    #[inline]
    pub(crate) fn end_as_told(&self, entry: u16, success: bool) -> Option<(u64, bool)> {
        let index = self.find(entry)?;
        let cancel = self.at(index).cancel.load(Ordering::Relaxed);
        if cancel && success {
            return None;
        }
        Some((self.end_at(index)?, cancel))
    }

    /// Whether an outstanding request is a cancel.
    pub(crate) fn is_cancel(&self, entry: u16) -> bool {
        self.find(entry).is_some_and(|index| self.at(index).cancel.load(Ordering::Relaxed))
    }

    /// A tagged receive is in place under `handle`, which is no more than [`MAX_HANDLE`].
    pub(crate) fn posted(&self, entry: u16, handle: u16) -> Option<u64> {
        let place = self.at(self.find(entry)?);
        place.note.store(handle + 1, Ordering::Relaxed);
        Some(place.work_id.load(Ordering::Relaxed))
    }

    /// The newest outstanding request of a work id that is in place, and at a place
    /// that is `meant`, with its running index and handle.
    pub(crate) fn in_place(&self, work_id: u64, meant: impl Fn(usize) -> bool) -> Option<(u16, u16)> {
        self.indexes().rev().find_map(|entry| {
            let index = self.find(entry)?;
            let place = Some(self.at(index)).filter(|place| !place.cancel.load(Ordering::Relaxed))?;
            let handle = place.note.load(Ordering::Relaxed).checked_sub(1)?;
            let same = place.work_id.load(Ordering::Relaxed) == work_id;
            (same && meant((index & self.mask) as usize)).then_some((entry, handle))
        })
    }

    /// Work ids of the oldest requests that are outstanding, no more than `most`; of
    /// cancels none.
    pub(crate) fn oldest(&self, most: usize) -> Vec<u64> {
        let requests = self.indexes().filter(|&entry| !self.is_cancel(entry));
        requests.filter_map(|entry| self.work_id(entry)).take(most).collect()
    }

    /// Ends the oldest outstanding request, of a NIC that has forgotten it: its work
    /// id and whether it was a cancel.
    pub(crate) fn flush(&self) -> Option<(u64, bool)> {
        self.indexes().find_map(|entry| {
            let cancel = self.is_cancel(entry);
            Some((self.end(entry)?, cancel))
        })
    }

    /// A cancel ended, and with success the request it is about. Gives that one's
    /// work id.
    pub(crate) fn cancelled(&self, entry: u16, success: bool) -> Option<u64> {
        let target = self.at(self.find(entry)?).note.load(Ordering::Relaxed);
        let id = self.end(entry)?;
        if success {
            self.end(target)?;
        }
        Some(id)
    }

    /// Ends the request of running index `entry`; `None` if it is not outstanding.
    pub(crate) fn end(&self, entry: u16) -> Option<u64> {
        self.end_at(self.find(entry)?)
    }

    #[inline]
    fn end_at(&self, index: u64) -> Option<u64> {
        let place = self.at(index);
        let work_id = place.work_id.load(Ordering::Relaxed);
        // In one order with the head's moves and with `keep`: who of two that end neighbours
        // comes second sees what the first has ended.
        let ended =
            place.state.compare_exchange(2 * index, 2 * index + 1, Ordering::SeqCst, Ordering::Relaxed);
        ended.ok()?;
        loop {
            let head = self.head.load(Ordering::SeqCst);
            if self.at(head).state.load(Ordering::SeqCst) != 2 * head + 1 {
                break;
            }
            // Who loses goes on from where the winner is.
            let next = head.wrapping_add(1);
            let _ = self.head.compare_exchange(head, next, Ordering::SeqCst, Ordering::Relaxed);
        }
        if self.keeps.load(Ordering::SeqCst) != 0 {
            self.look_at_kept();
        }
        Some(work_id)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn uses(&self, memory: &Arc<Mapping>) -> bool {
        self.indexes()
            .filter_map(|entry| self.find(entry))
            .any(|index| std::ptr::eq(self.at(index).memory.load(Ordering::Relaxed), Arc::as_ptr(memory)))
    }

    /// The region of this memory is gone, so nothing more is posted with it: it is kept
    /// while requests use it.
    pub(crate) fn keep(&self, memory: &Arc<Mapping>) {
        let mut kept = self.kept();
        if kept.let_go {
            return;
        }
        // Before it is looked who uses it: who ends one meanwhile looks here.
        self.keeps.store(kept.memory.len() + 1, Ordering::SeqCst);
        if self.uses(memory) {
            kept.memory.push(memory.clone());
        }
        self.keeps.store(kept.memory.len(), Ordering::SeqCst);
    }

    fn look_at_kept(&self) {
        let mut kept = self.kept();
        let all = std::mem::take(&mut kept.memory);
        let (used, free): (Vec<_>, Vec<_>) = all.into_iter().partition(|memory| self.uses(memory));
        kept.memory = used;
        self.keeps.store(kept.memory.len(), Ordering::SeqCst);
        drop(kept);
        drop(free);
    }

    /// The NIC has let go of the ring: no memory is used on its account any more.
    pub(crate) fn let_go(&self) {
        let mut kept = self.kept();
        kept.let_go = true;
        let free = std::mem::take(&mut kept.memory);
        self.keeps.store(0, Ordering::SeqCst);
        drop(kept);
        drop(free);
    }
}

impl Drop for Outstanding {
    fn drop(&mut self) {
        // Of a NIC that nobody knows to have let go.
        std::mem::forget(std::mem::take(&mut self.kept().memory));
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
    fn the_oldest_are_those_that_have_not_ended() {
        let ring = Outstanding::new(8);
        for id in 0..5 {
            ring.push(id, None, None);
        }
        ring.push(2, None, Some(2));
        ring.push(7, None, None);
        ring.end(1);
        assert_eq!(ring.oldest(2), [0, 2]);
        assert_eq!(ring.oldest(9), [0, 2, 3, 4, 7]);
    }

    #[test]
    fn a_cancel_is_not_in_place() {
        let ring = Outstanding::new(4);
        ring.push(5, None, None);
        ring.push(6, None, None);
        assert_eq!(ring.in_place(5, |_| true), None, "it was not told to be");
        ring.posted(0, 17);
        // It is about entry 0, and of the same work id.
        ring.push(5, None, Some(0));
        ring.push(5, None, Some(1));
        assert_eq!(ring.in_place(5, |_| true), Some((0, 17)));
        assert_eq!(ring.in_place(5, |place| place != 0), None);
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

    /// The completion queues of a shared ring are polled by threads of their own.
    #[test]
    fn two_threads_end_what_a_third_posts() {
        let ring = Outstanding::new(8);
        let turns = if cfg!(miri) { 500 } else { 200_000u64 };
        let ended = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let (ring, ended) = (&ring, &ended);
            for odd in 0..2 {
                scope.spawn(move || {
                    for id in (0..turns).filter(|id| id % 2 == odd) {
                        // It may not be posted yet.
                        let told = loop {
                            if let Some(told) = ring.end(id as u16) {
                                break told;
                            }
                            std::thread::yield_now();
                        };
                        assert_eq!(told, 1000 + id);
                        ended.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            for id in 0..turns {
                while ring.place().is_none() {
                    std::thread::yield_now();
                }
                assert!(ring.len() <= 8);
                ring.push(1000 + id, None, None);
            }
        });
        assert_eq!((ended.into_inner(), ring.len()), (turns, 0), "the head stands still");
        assert_eq!(ring.place(), Some(0));
    }
}
