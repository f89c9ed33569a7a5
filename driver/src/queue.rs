//! A completion queue's ring and table entry, for as long as the NIC may write there.
//!
//! ```text
//!  CompletionQueue ─┐
//!  Endpoint ────────┼── hold ──> Queue ── the last lets go ──> table entry zero, unmapped, number free
//!  SharedRing ──────┘
//! ```
//!
//! Who has a table entry that names the queue holds it until the NIC has let go of that
//! entry: completions on its account may come in until then. So a program may drop its
//! [`CompletionQueue`](crate::CompletionQueue) first. Nobody polls it then; what is in
//! it ends requests all the same, lest a ring that others share fills up: it is read
//! when a ring is full, and when the last holder lets go.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tessera_abi::queue::{done, COMPLETION_LEN};
use tessera_abi::regs::{self, table};

use crate::completion::{decode, WorkCompletion};
use crate::context::{Shared, Word};
use crate::device::DeviceError;
use crate::memory::DmaMemory;
use crate::outstanding::Outstanding;

pub(crate) type Entry = [u8; COMPLETION_LEN];

/// No endpoint's index: those have 8 bits.
const NOBODY: u16 = u16::MAX;

/// Rings that complete here, by endpoint's index and, for receives, the index
/// of the ring's own table entry: looked up with every completion.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rings(Vec<OfEndpoint>);

/// Of one endpoint: rarely more than a ring of sends and one of receives.
type OfEndpoint = Vec<(Option<u16>, Requests)>;

impl Rings {
    #[inline]
    pub(crate) fn get(&self, endpoint: u16, receives: Option<u16>) -> Option<&Requests> {
        let rings = self.0.get(usize::from(endpoint))?;
        rings.iter().find(|(ring, _)| *ring == receives).map(|(_, requests)| requests)
    }

    /// Puts one in; gives who had its place.
    fn insert(&mut self, endpoint: u16, receives: Option<u16>, requests: Requests) -> Option<Requests> {
        let before = self.remove(endpoint, receives);
        let index = usize::from(endpoint);
        if self.0.len() <= index {
            self.0.resize_with(index + 1, Vec::new);
        }
        self.0[index].push((receives, requests));
        before
    }

    fn remove(&mut self, endpoint: u16, receives: Option<u16>) -> Option<Requests> {
        let rings = self.0.get_mut(usize::from(endpoint))?;
        let at = rings.iter().position(|(ring, _)| *ring == receives)?;
        Some(rings.swap_remove(at).1)
    }

    fn retain(&mut self, keep: impl Fn(&Requests) -> bool) {
        self.0.iter_mut().for_each(|rings| rings.retain(|(_, requests)| keep(requests)));
    }

    /// In the order of endpoints.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, Option<u16>, &Requests)> {
        (0..).zip(&self.0).flat_map(|(endpoint, rings)| {
            rings.iter().map(move |(receives, requests)| (endpoint, *receives, requests))
        })
    }
}

/// The requests that completions of an endpoint end.
#[derive(Clone, Debug)]
pub(crate) enum Requests {
    Of(Arc<Outstanding>),
    /// The endpoint is gone: nobody hears of its completions, but they end the
    /// receives that it had taken of a shared ring.
    Gone(Weak<Outstanding>),
}

impl Requests {
    /// The queue has no end of theirs any more.
    fn read_out(&self) {
        match self {
            Requests::Of(ring) => ring.read_out(),
            Requests::Gone(ring) => {
                if let Some(ring) = ring.upgrade() {
                    ring.read_out();
                }
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which endpoints complete here. Attached under a lock, read by `poll` from
/// its own copy, which it refreshes when the version has moved.
#[derive(Debug, Default)]
pub(crate) struct Attached {
    version: AtomicU64,
    rings: Mutex<Rings>,
    /// After a reset: the queue has been read to its end.
    read_out: AtomicBool,
}

impl Attached {
    fn change(&self, change: impl FnOnce(&mut Rings)) {
        change(&mut lock(&self.rings));
        self.version.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn attach(&self, endpoint: u16, receives: Option<u16>, ring: &Arc<Outstanding>) {
        ring.attached();
        self.change(|rings| {
            // Of who had the key before nothing is unread: see `Queue::disown`.
            if let Some(before) = rings.insert(endpoint, receives, Requests::Of(ring.clone())) {
                before.read_out();
            }
        });
    }

    /// The endpoint goes, the shared ring that it takes its receives from stays.
    pub(crate) fn leave(&self, endpoint: u16, ring: u16, receives: &Arc<Outstanding>) {
        self.change(|rings| {
            rings.retain(|of| !matches!(of, Requests::Gone(ring) if ring.strong_count() == 0));
            rings.insert(endpoint, Some(ring), Requests::Gone(Arc::downgrade(receives)));
        });
    }

    pub(crate) fn detach(&self, endpoint: u16, receives: Option<u16>) {
        self.change(|rings| {
            rings.remove(endpoint, receives);
        });
    }

    /// The queue was read to its end, and nothing comes any more.
    pub(crate) fn read_out(&self) {
        if !self.read_out.swap(true, Ordering::Relaxed) {
            lock(&self.rings).iter().for_each(|(_, _, requests)| requests.read_out());
        }
    }

    /// The rings, if they are others than those of version `seen`.
    pub(crate) fn newer(&self, seen: &mut u64) -> Option<Rings> {
        let version = self.version.load(Ordering::Acquire);
        (version != std::mem::replace(seen, version)).then(|| lock(&self.rings).clone())
    }
}

#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) life: u32,
    pub(crate) index: usize,
    pub(crate) address: u64,
    pub(crate) attached: Attached,
    memory: Arc<DmaMemory>,
    mask: u16,
    /// Who of the NIC is not known to have let go of counts for good.
    holders: AtomicUsize,
    /// Once the handle is dropped, and until all have let go: how far it is read.
    abandoned: Mutex<Option<u16>>,
    /// How far it is read, for those who only look.
    head: AtomicU16,
    /// The next poll that finds nothing is to look whether anything can come.
    suspected: AtomicBool,
}

impl Queue {
    /// One that the caller holds.
    pub(crate) fn new(life: u32, index: usize, memory: Arc<DmaMemory>, address: u64) -> Arc<Self> {
        let mask = (memory.len() / COMPLETION_LEN - 1) as u16;
        Arc::new(Self {
            life,
            index,
            address,
            attached: Attached::default(),
            memory,
            mask,
            holders: AtomicUsize::new(1),
            abandoned: Mutex::new(None),
            head: AtomicU16::new(0),
            suspected: AtomicBool::new(false),
        })
    }

    /// For one more whose table entry names it.
    pub(crate) fn hold(self: &Arc<Self>) -> Arc<Self> {
        self.holders.fetch_add(1, Ordering::Relaxed);
        self.clone()
    }

    /// Places.
    pub(crate) fn entries(&self) -> u32 {
        u32::from(self.mask) + 1
    }

    fn at(&self, index: u16) -> usize {
        usize::from(index & self.mask) * COMPLETION_LEN
    }

    /// The next index to be read, as the last poll left it.
    pub(crate) fn head(&self) -> u16 {
        self.head.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn set_head(&self, head: u16) {
        self.head.store(head, Ordering::Release);
    }

    /// Something is written behind an entry that is not.
    pub(crate) fn suspect(&self) {
        self.suspected.store(true, Ordering::Relaxed);
    }

    /// Whether that was said since the last call.
    pub(crate) fn is_suspected(&self) -> bool {
        self.suspected.load(Ordering::Relaxed) && self.suspected.swap(false, Ordering::Relaxed)
    }

    /// Whether the NIC has written the entry of a running index.
    #[inline]
    pub(crate) fn written(&self, index: u16) -> bool {
        // The first pass over the ring writes phase 1, the next 0, and so on.
        let expected = u8::from((index / (self.mask + 1)).is_multiple_of(2));
        self.memory.load_published(self.at(index) + done::PHASE) & 1 == expected
    }

    /// Reads the entry of a running index, once the NIC has written it.
    #[inline]
    pub(crate) fn read(&self, index: u16, entry: &mut Entry) -> bool {
        let written = self.written(index);
        if written {
            self.memory.get(self.at(index), entry);
        }
        written
    }

    /// The entry of a running index, once the NIC has written it.
    fn entry(&self, index: u16) -> Option<Entry> {
        let mut entry = [0; COMPLETION_LEN];
        self.read(index, &mut entry).then_some(entry)
    }

    /// Whether anything is written behind the entry of a running index.
    pub(crate) fn is_written_behind(&self, index: u16) -> bool {
        (1..=self.mask).any(|n| self.written(index.wrapping_add(n)))
    }

    /// Ends what the entries from `head` on end, for nobody; gives the new head. That is
    /// told before anything ends, as in a poll.
    fn skip(&self, head: u16, tell: impl FnOnce(u16)) -> u16 {
        let indexes = (0..=self.mask).map(|n| head.wrapping_add(n));
        let entries: Vec<_> = indexes.map_while(|index| Some((index, self.entry(index)?))).collect();
        let end = head.wrapping_add(entries.len() as u16);
        if end != head {
            tell(end);
        }
        let rings = lock(&self.attached.rings);
        for (index, entry) in &entries {
            let _ = decode(&rings, *index, entry, &mut WorkCompletion::default());
        }
        end
    }

    /// An index of the endpoint table is somebody else's from now on: what nobody has
    /// read yet that the one before completed, all of it, is in memory since that one's
    /// reclaim, though what others completed before it may not be. It ends what it is
    /// about, and names nobody any more. `head` is how far the queue is read.
    pub(crate) fn disown(&self, head: u16, endpoint: u16) {
        let rings = lock(&self.attached.rings);
        for index in (0..=self.mask).map(|n| head.wrapping_add(n)) {
            let of = done::ENDPOINT..done::ENDPOINT + 2;
            let Some(entry) = self.entry(index).filter(|entry| entry[of.clone()] == endpoint.to_le_bytes())
            else {
                continue;
            };
            let _ = decode(&rings, index, &entry, &mut WorkCompletion::default());
            self.memory.write(self.at(index) + of.start, &NOBODY.to_le_bytes());
        }
    }

    /// The handle is dropped, which had read up to `head`.
    pub(crate) fn abandon(&self, head: u16) {
        *lock(&self.abandoned) = Some(head);
    }
}

impl Drop for Queue {
    /// Of a NIC that did not let go of it, and may still write its memory, which stays
    /// mapped: nobody reads it any more, and no shared ring is to wait for that.
    fn drop(&mut self) {
        if let Some(head) = lock(&self.abandoned).take() {
            self.skip(head, |_| {});
        }
        self.attached.read_out();
    }
}

/// Queues that are held, and that nobody polls any more.
#[derive(Debug, Default)]
pub(crate) struct Abandoned {
    queues: Mutex<Vec<Weak<Queue>>>,
    /// There is none, as long as this is false.
    any: AtomicBool,
}

impl Shared {
    /// The handle of a queue goes, which had read up to `head`.
    pub(crate) fn abandon_queue(&self, queue: &Arc<Queue>, head: u16) {
        queue.abandon(head);
        let mut abandoned = lock(&self.abandoned.queues);
        abandoned.retain(|queue| queue.strong_count() > 0);
        abandoned.push(Arc::downgrade(queue));
        self.abandoned.any.store(true, Ordering::Release);
        drop(abandoned);
        match self.lives.alive(queue.life) {
            Ok(_alive) => self.let_go_of_queue(queue, false),
            Err(DeviceError::Reset) => self.let_go_of_queue(queue, true),
            // The NIC may still write it.
            Err(_) => {}
        }
    }

    /// One who held a queue does so no more; the last takes it from the NIC. Of a
    /// caller who holds the queue's life, or of a life that is over.
    ///
    /// Nobody else's completion names the queue then, and what was on its way there is
    /// in memory: the last reclaim has waited for it.
    pub(crate) fn let_go_of_queue(&self, queue: &Queue, over: bool) {
        if queue.holders.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        // Of a NIC that does not take the entry away: it may still write.
        if !over && self.write_table_now(table::CQ, queue.index, Word::new()).is_err() {
            return;
        }
        if let Some(head) = lock(&queue.abandoned).take() {
            queue.skip(head, |_| {});
        }
        queue.attached.read_out();
        self.device.unmap(queue.address);
        if !over {
            self.give_back_cq(queue.index);
        }
    }

    /// Reads the queues whose handles are dropped.
    pub(crate) fn read_abandoned(&self) {
        if !self.abandoned.any.load(Ordering::Acquire) {
            return;
        }
        let mut abandoned = lock(&self.abandoned.queues);
        let queues: Vec<_> = abandoned.iter().filter_map(Weak::upgrade).collect();
        abandoned.retain(|queue| queue.strong_count() > 0);
        self.abandoned.any.store(!abandoned.is_empty(), Ordering::Release);
        drop(abandoned);
        for queue in queues {
            // Before the queue's lock, as who lets go of it has it.
            let alive = self.lives.alive(queue.life);
            let mut abandoned = lock(&queue.abandoned);
            let Some(head) = *abandoned else { continue };
            let now = queue.skip(head, |now| {
                if alive.is_ok() {
                    let page = regs::doorbell_page(queue.index as u32);
                    // A device that fails is told of by the next post.
                    let _ = self.device.write(page + regs::DOORBELL_CQ, now.into());
                }
            });
            *abandoned = Some(now);
            if matches!(alive, Err(DeviceError::Reset)) {
                queue.attached.read_out();
            }
        }
    }
}
