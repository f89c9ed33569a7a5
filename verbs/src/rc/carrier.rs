//! The endpoint that the RC pairs of a protection domain share, and what they tell each
//! other by it besides the program's messages.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::ffi::{c_int, c_uint};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tessera_driver::{
    Access, AddressHandle, CompletionEvent, CompletionQueue, DmaMemory, Endpoint, EndpointOptions,
    MemoryRegion, PostError, RecvRequest, SendRequest, Status, WorkCompletion,
};

use super::bytes::Pool;
use super::note::{Kind, Note, NOTE_LEN};
use super::{tag, QKEY, WC_REM_ACCESS_ERR, WC_REM_INV_REQ_ERR, WC_RETRY_EXC_ERR};
use crate::memory::{Domain, Registered, ACCESS_REMOTE_ATOMIC, ACCESS_REMOTE_READ};
use crate::nic::{lock, Errno, Nic};

const SEND_ENTRIES: usize = 4096;
const RECV_ENTRIES: usize = 8192;
/// A send takes one entry, a receive two and, cancelled, three.
const QUEUE_ENTRIES: usize = 1 << 15;
/// Receives of pairs that the NIC has at most: half of what its table holds, so that two
/// domains do not crowd each other out.
const PLACED: usize = 2048;
/// Receives that make room at a time.
const LEAVING: usize = 64;
/// How far apart the oldest and the newest receive in the ring may be.
const SPAN: usize = RECV_ENTRIES / 2;

/// Notes on their way, and receives for those of others.
const NOTES_OUT: usize = 256;
const NOTES_IN: usize = 128;
/// The tag of notes; those of messages have this bit clear.
const NOTE_TAG: u64 = 1 << 63;
/// Bytes of a packet of notes.
const NOTE_PAYLOAD: u32 = 256;

/// After so long a send asks for its receive; then it is patient for twice as long.
const FIRST_PATIENCE: Duration = Duration::from_millis(100);
const LAST_PATIENCE: Duration = Duration::from_secs(3);

/// What a work id is of: its highest byte.
pub const OP: u8 = 0;
pub const RECEIVE: u8 = 1;
pub const REPLY: u8 = 2;
const NOTE_OUT: u8 = 3;
const NOTE_IN: u8 = 4;
const ANSWER: u8 = 5;

/// A work id of a pair's request.
pub fn work_id(kind: u8, pair: u32, number: u32) -> u64 {
    u64::from(kind) << 56 | tag(pair, number)
}

/// The tag of an answer to a pair's request.
pub fn reply_tag(pair: u32, number: u32) -> u64 {
    1 << 62 | tag(pair, number)
}

/// What a pair asked for, on its way back.
struct Answer {
    to: AddressHandle,
    tag: u64,
    bytes: Answered,
    /// Why there are none.
    error: Option<c_uint>,
}

enum Answered {
    /// A program's memory.
    Region(Arc<Registered>, Range<usize>),
    /// A place among the notes, with eight bytes.
    Slot(u32),
    /// No bytes were asked for.
    Nothing,
}

/// Somebody asks, or tells, by an endpoint at a GID.
pub struct Ask {
    pub gid: [u8; 16],
    pub endpoint: u32,
    pub note: Note,
}

#[derive(Default)]
struct Office {
    /// Places for notes and results, and whose the notes there are.
    free: Vec<u32>,
    of: HashMap<u32, (u32, u32)>,
    asks: VecDeque<Ask>,
    /// Made, and not posted yet.
    answers: VecDeque<Answer>,
    /// Posted.
    under_way: HashMap<u32, Answer>,
    next: u32,
    /// Receives for notes that are not in place, and those being taken back.
    absent: Vec<u32>,
    leaving: HashSet<u32>,
    /// Requests that are looked after when it is time.
    patience: BinaryHeap<Reverse<(Instant, Duration, u32, u32)>>,
    /// Pairs with receives for which there was no room.
    crowd: VecDeque<u32>,
    /// Receives that made room for others.
    asleep: VecDeque<(u32, u32)>,
}

/// See the module's page.
pub struct Carrier {
    endpoint: Mutex<Endpoint>,
    queue: Mutex<CompletionQueue>,
    pub number: u32,
    pub pool: Arc<Pool>,
    notes: MemoryRegion,
    office: Mutex<Office>,
    /// Receives of pairs in the NIC, or on their way there.
    placed: AtomicUsize,
    /// Of these, being taken back to make room.
    leaving: AtomicUsize,
    /// Turns of [`progress`](Self::progress) that found nothing.
    idle: AtomicU64,
}

impl Carrier {
    pub fn new(nic: &Nic, domain: &Domain) -> Result<Self, c_int> {
        let mut queue = nic.context.create_cq(QUEUE_ENTRIES).map_err(|error| error.errno())?;
        queue.set_yielding(false);
        let options = EndpointOptions {
            qkey: QKEY,
            send_entries: SEND_ENTRIES,
            recv_entries: RECV_ENTRIES,
            tags: true,
            ..EndpointOptions::default()
        };
        let endpoint = domain.pd.create_endpoint(&options, &queue, &queue).map_err(|error| error.errno())?;
        let memory = DmaMemory::new((NOTES_OUT + NOTES_IN) * NOTE_LEN);
        let notes = domain.pd.register(&memory, Access::LOCAL_WRITE).map_err(|error| error.errno())?;
        let office = Office {
            free: (0..NOTES_OUT as u32).collect(),
            absent: (0..NOTES_IN as u32).collect(),
            ..Office::default()
        };
        let carrier = Self {
            number: endpoint.number(),
            endpoint: Mutex::new(endpoint),
            queue: Mutex::new(queue),
            pool: Pool::new(&domain.pd)?,
            notes,
            office: Mutex::new(office),
            placed: AtomicUsize::new(0),
            leaving: AtomicUsize::new(0),
            idle: AtomicU64::new(0),
        };
        carrier.place_notes(nic);
        Ok(carrier)
    }

    pub fn endpoint(&self) -> MutexGuard<'_, Endpoint> {
        lock(&self.endpoint)
    }

    /// Whether a pair's receive may be given to the NIC.
    pub fn take_place(&self) -> bool {
        let more = |placed: usize| (placed < PLACED).then_some(placed + 1);
        self.placed.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    /// A pair has more receives than there are places: it is called when others have made room.
    pub fn call_later(&self, pair: u32) {
        lock(&self.office).crowd.push_back(pair);
    }

    /// A pair's receive is not in the NIC any more.
    pub fn leave_place(&self) {
        self.placed.fetch_sub(1, Ordering::AcqRel);
    }

    /// A receive that made room, or found none.
    pub fn sleeps(&self, pair: u32, number: u32) {
        lock(&self.office).asleep.push_back((pair, number));
    }

    /// A request has begun, which is looked after if it does not end for long.
    pub fn is_patient(&self, pair: u32, op: u32) {
        let due = Instant::now() + FIRST_PATIENCE;
        lock(&self.office).patience.push(Reverse((due, FIRST_PATIENCE, pair, op)));
    }

    /// Sends a note about a request of a pair's. `false`: there is no room for it now.
    pub fn send_note(
        &self,
        endpoint: &mut Endpoint,
        to: AddressHandle,
        note: &Note,
        op: u32,
    ) -> Result<bool, PostError> {
        let mut office = lock(&self.office);
        let Some(slot) = office.free.pop() else { return Ok(false) };
        let at = slot as usize * NOTE_LEN;
        self.notes.memory().write(at, &note.bytes());
        let posted = endpoint.post_send(&SendRequest {
            work_id: u64::from(NOTE_OUT) << 56 | u64::from(slot),
            region: &self.notes,
            range: at..at + NOTE_LEN,
            to,
            tag: NOTE_TAG,
            immediate: None,
            round: None,
            payload_size: NOTE_PAYLOAD,
        });
        match posted {
            Ok(()) => {
                office.of.insert(slot, (note.from, op));
                Ok(true)
            }
            Err(error) => {
                office.free.push(slot);
                match error {
                    PostError::RingFull { .. } => Ok(false),
                    error => Err(error),
                }
            }
        }
    }

    /// Hands what has ended to the pairs it is of; says how many things that were.
    pub fn progress(&self, nic: &Nic) -> Result<usize, c_int> {
        // Until all of it is seen to: what is told of one request has an order.
        let mut queue = lock(&self.queue);
        let mut done = [WorkCompletion::default(); 64];
        let read = queue.poll(&mut done).map_err(|error| {
            nic.lost(&error);
            libc::EIO
        })?;
        for done in &done[..read] {
            let low = done.work_id as u32;
            match (done.work_id >> 56) as u8 {
                NOTE_OUT => self.note_sent(nic, low, done.status),
                NOTE_IN => self.note_came(nic, low, done),
                ANSWER => {
                    let ended = lock(&self.office).under_way.remove(&low);
                    self.give_back(ended);
                }
                kind => {
                    if kind == RECEIVE && done.event == CompletionEvent::Cancelled {
                        let fewer = |leaving: usize| leaving.checked_sub(1);
                        let _ = self.leaving.fetch_update(Ordering::AcqRel, Ordering::Acquire, fewer);
                    }
                    if let Some(pair) = nic.rc_pair((done.work_id >> 32) as u32 & 0xFF_FFFF) {
                        pair.ended(nic, kind, low, done);
                    } else if kind == RECEIVE && done.event == CompletionEvent::Ended {
                        self.leave_place();
                    }
                }
            }
        }
        self.make_answers(nic);
        self.post_answers(nic);
        self.place_notes(nic);
        self.make_room(nic);
        if read == 0 {
            self.look_around(nic);
        }
        Ok(read)
    }

    fn note_sent(&self, nic: &Nic, slot: u32, status: Status) {
        let of = {
            let mut office = lock(&self.office);
            office.free.push(slot);
            office.of.remove(&slot)
        };
        let Some((pair, op)) = of else { return };
        if let Some(pair) = nic.rc_pair(pair) {
            pair.note_ended(nic, op, status);
        }
    }

    fn note_came(&self, nic: &Nic, slot: u32, done: &WorkCompletion) {
        if done.event == CompletionEvent::Cancelled {
            lock(&self.office).leaving.remove(&slot);
        }
        match (done.event, done.status) {
            (CompletionEvent::Ended, Status::Flushed | Status::Destroyed) => return,
            (CompletionEvent::Ended, _) => {}
            // Taken back to be posted anew, see `make_room`.
            (CompletionEvent::Cancelled, Status::Success) => {}
            _ => return,
        }
        let came = (done.event, done.status) == (CompletionEvent::Ended, Status::Success);
        let at = (NOTES_OUT + slot as usize) * NOTE_LEN;
        let note = came.then(|| self.notes.memory().to_vec(at, (done.len as usize).min(NOTE_LEN)));
        lock(&self.office).absent.push(slot);
        // What makes no sense is nobody's.
        let Some(note) = note.and_then(|bytes| Note::parse(&bytes)) else { return };
        self.hand_in(nic, Ask { gid: done.peer_gid, endpoint: done.peer_endpoint, note });
    }

    /// Hands a note to the pair that it is about.
    pub fn hand_in(&self, nic: &Nic, ask: Ask) {
        let pair = nic.rc_pair(ask.note.to);
        let now = match &pair {
            Some(pair) => pair.keep_until_joined(ask),
            None => Some(ask),
        };
        let Some(ask) = now else { return };
        match (ask.note.kind, pair) {
            (Kind::Written | Kind::Waits, Some(pair)) => pair.noted(nic, &ask.note, &ask.gid),
            (Kind::Written | Kind::Waits, None) => {}
            (Kind::Read | Kind::CompareSwap | Kind::FetchAdd, _) => lock(&self.office).asks.push_back(ask),
        }
    }

    /// Gives the NIC receives for notes, as far as it has room.
    fn place_notes(&self, nic: &Nic) {
        let absent = std::mem::take(&mut lock(&self.office).absent);
        if absent.is_empty() {
            return;
        }
        let mut left = Vec::new();
        let posted = self.endpoint().batch(|endpoint| {
            for &slot in &absent {
                let at = (NOTES_OUT + slot as usize) * NOTE_LEN;
                let work_id = u64::from(NOTE_IN) << 56 | u64::from(slot);
                let request = RecvRequest { work_id, region: &self.notes, range: at..at + NOTE_LEN };
                if endpoint.post_tagged_recv(NOTE_TAG, &request).is_err() {
                    left.push(slot);
                }
            }
        });
        if let Err(error) = posted {
            nic.lost(&error);
        }
        lock(&self.office).absent.append(&mut left);
    }

    /// Does what others ask for, while there is room for what comes of it.
    fn make_answers(&self, nic: &Nic) {
        loop {
            let (ask, slot) = {
                let mut office = lock(&self.office);
                if office.asks.is_empty() {
                    return;
                }
                let Some(slot) = office.free.pop() else { return };
                let Some(ask) = office.asks.pop_front() else { return };
                (ask, slot)
            };
            let answer = self.answer(nic, &ask, slot);
            let mut office = lock(&self.office);
            if !matches!(answer, Some(Answer { bytes: Answered::Slot(_), .. })) {
                office.free.push(slot);
            }
            office.answers.extend(answer);
        }
    }

    fn answer(&self, nic: &Nic, ask: &Ask, slot: u32) -> Option<Answer> {
        let Ask { gid, endpoint, note } = ask;
        let access = match note.kind {
            Kind::Read => ACCESS_REMOTE_READ,
            _ => ACCESS_REMOTE_ATOMIC,
        };
        let pair = nic.rc_pair(note.to).and_then(|pair| pair.serves(note.from, gid));
        let (to, done) = match pair {
            Some((to, domain, flags)) => {
                let permitted = if flags & access != 0 { Ok(()) } else { Err(WC_REM_ACCESS_ERR) };
                (to, permitted.and_then(|()| self.serve(nic, &domain, note, (access, slot))))
            }
            None => {
                // No pair says where that is.
                let mac = nic.remote.resolve(*gid).ok().flatten()?;
                (AddressHandle::new(mac, *gid, *endpoint, QKEY), Err(WC_RETRY_EXC_ERR))
            }
        };
        let tag = reply_tag(note.from, note.number);
        Some(match done {
            Ok(bytes) => Answer { to, tag, bytes, error: None },
            Err(code) => Answer { to, tag, bytes: Answered::Slot(slot), error: Some(code) },
        })
    }

    /// Reads, or changes, what a program has opened to others.
    fn serve(
        &self,
        nic: &Nic,
        domain: &Arc<Domain>,
        note: &Note,
        (access, slot): (c_uint, u32),
    ) -> Result<Answered, c_uint> {
        // Whatever its key is.
        if note.kind == Kind::Read && note.len == 0 {
            return Ok(Answered::Nothing);
        }
        let found = nic.region(note.rkey).ok_or(WC_REM_ACCESS_ERR)?;
        let region = &found.region;
        let start = note.address.checked_sub(region.memory().address()).ok_or(WC_REM_ACCESS_ERR)? as usize;
        let len = if note.kind == Kind::Read { note.len as usize } else { 8 };
        let end = start.checked_add(len).filter(|&end| end <= region.len()).ok_or(WC_REM_ACCESS_ERR)?;
        if !found.is_of(domain) || region.rkey() != note.rkey || found.access & access == 0 {
            return Err(WC_REM_ACCESS_ERR);
        }
        if note.kind == Kind::Read {
            return Ok(Answered::Region(found, start..end));
        }
        if !note.address.is_multiple_of(8) {
            return Err(WC_REM_INV_REQ_ERR);
        }
        // SAFETY: eight bytes, aligned, that the program has opened to atomics and keeps
        // while they are registered; others of this library and of the program change them
        // atomically or not at all.
        let word = unsafe { AtomicU64::from_ptr(note.address as *mut u64) };
        let before = match note.kind {
            Kind::FetchAdd => word.fetch_add(note.value, Ordering::SeqCst),
            _ => word
                .compare_exchange(note.compare, note.value, Ordering::SeqCst, Ordering::SeqCst)
                .unwrap_or_else(|before| before),
        };
        self.notes.memory().write(slot as usize * NOTE_LEN, &before.to_ne_bytes());
        Ok(Answered::Slot(slot))
    }

    fn post_answers(&self, nic: &Nic) {
        if lock(&self.office).answers.is_empty() {
            return;
        }
        let mut endpoint = self.endpoint();
        loop {
            let mut office = lock(&self.office);
            let Some(answer) = office.answers.pop_front() else { return };
            let id = office.next;
            let (region, range) = match &answer.bytes {
                Answered::Region(registered, range) => (&registered.region, range.clone()),
                Answered::Nothing => (&self.notes, 0..0),
                Answered::Slot(slot) => {
                    let at = *slot as usize * NOTE_LEN;
                    let len = if answer.error.is_some() { 0 } else { 8 };
                    (&self.notes, at..at + len)
                }
            };
            let posted = endpoint.post_send(&SendRequest {
                work_id: u64::from(ANSWER) << 56 | u64::from(id),
                region,
                range,
                to: answer.to,
                tag: answer.tag,
                immediate: answer.error,
                round: None,
                payload_size: 4096,
            });
            match posted {
                Ok(()) => {
                    office.next = id.wrapping_add(1);
                    office.under_way.insert(id, answer);
                }
                Err(PostError::RingFull { .. }) => {
                    office.answers.push_front(answer);
                    return;
                }
                Err(error) => {
                    drop(office);
                    if let PostError::Device(error) = &error {
                        nic.lost(error);
                    }
                    self.give_back(Some(answer));
                }
            }
        }
    }

    fn give_back(&self, answer: Option<Answer>) {
        if let Some(Answer { bytes: Answered::Slot(slot), .. }) = answer {
            lock(&self.office).free.push(slot);
        }
    }

    /// Takes the oldest receives back where newer ones find no place, or where they keep the
    /// ring from going round. Messages for them wait until they are posted again.
    fn make_room(&self, nic: &Nic) {
        let crowded = !lock(&self.office).crowd.is_empty() && self.placed.load(Ordering::Acquire) >= PLACED;
        let behind = self.endpoint().recvs_outstanding() > SPAN;
        let mut wanted = LEAVING.saturating_sub(self.leaving.load(Ordering::Acquire));
        if (crowded || behind) && wanted > 0 {
            let oldest = self.endpoint().oldest_recvs(LEAVING + NOTES_IN);
            for id in oldest {
                let kind = (id >> 56) as u8;
                let pair = nic.rc_pair((id >> 32) as u32 & 0xFF_FFFF);
                match (kind, pair) {
                    (RECEIVE, Some(pair)) if wanted > 0 && pair.make_room(kind, id as u32, crowded) => {
                        self.leaving.fetch_add(1, Ordering::AcqRel);
                        wanted -= 1;
                    }
                    (REPLY, Some(pair)) if behind => _ = pair.make_room(kind, id as u32, false),
                    (NOTE_IN, _) if behind => self.take_note_back(id),
                    _ => {}
                }
            }
        }
        // Who waits for a place, as far as there are some.
        let room = PLACED.saturating_sub(self.placed.load(Ordering::Acquire));
        let next: Vec<u32> = {
            let mut office = lock(&self.office);
            let count = room.min(office.crowd.len());
            office.crowd.drain(..count).collect()
        };
        for pair in next.into_iter().filter_map(|number| nic.rc_pair(number)) {
            pair.has_room(nic);
        }
    }

    /// Takes a receive for a note back, to be posted anew.
    fn take_note_back(&self, id: u64) {
        let slot = id as u32;
        if lock(&self.office).leaving.contains(&slot) {
            return;
        }
        // Full: with the next turn.
        if self.endpoint().cancel(NOTE_TAG, id).is_ok() {
            lock(&self.office).leaving.insert(slot);
        }
    }

    /// Nothing has come: who has waited for long asks for what is missing, and who has made
    /// room comes back where there is some.
    fn look_around(&self, nic: &Nic) {
        if !self.idle.fetch_add(1, Ordering::Relaxed).is_multiple_of(16) {
            return;
        }
        let (now, mut due, mut awake) = (Instant::now(), Vec::new(), Vec::new());
        {
            let mut office = lock(&self.office);
            while office.patience.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
                due.extend(
                    office.patience.pop().map(|Reverse((_, patience, pair, op))| (patience, pair, op)),
                );
            }
            if self.placed.load(Ordering::Acquire) < PLACED / 2 {
                let count = office.asleep.len().min(LEAVING);
                awake.extend(office.asleep.drain(..count));
            }
        }
        for (patience, number, op) in due {
            let Some(pair) = nic.rc_pair(number) else { continue };
            if pair.look_after(nic, op) {
                let patience = (2 * patience).min(LAST_PATIENCE);
                lock(&self.office).patience.push(Reverse((now + patience, patience, number, op)));
            }
        }
        for (pair, number) in awake {
            if let Some(pair) = nic.rc_pair(pair) {
                pair.wake(nic, number);
            }
        }
    }
}
