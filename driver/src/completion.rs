//! Completion queues.

use std::sync::Arc;

use tessera_abi::queue::{self, done};
use tessera_abi::regs::{self, table, Counter};
use tessera_abi::status::Status;

use crate::context::{Shared, Word};
use crate::device::DeviceError;
use crate::error::{CreateError, PollError};
use crate::event::Events;
use crate::memory::DmaMemory;
use crate::outstanding::MAX_HANDLE;
use crate::queue::{Entry, Queue, Requests, Rings};
use crate::reset::{Gate, State};
use crate::ring::ring_log2;

/// What a completion tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompletionEvent {
    /// A request ended.
    #[default]
    Ended,
    /// A tagged receive is in place; it has not ended.
    Posted,
    /// A message begins to arrive that matched no tagged receive; the receive it
    /// took has not ended.
    Unexpected,
    /// A cancel ended: with [`Status::Success`] the tagged receive `work_id` has
    /// ended with it. With any other status it has not: its buffer is the NIC's until
    /// its own end is told. With [`Status::NotPosted`] its message is on its way; with
    /// [`Status::LocalDma`] the NIC could not read the cancel, which may be posted again.
    Cancelled,
}

/// The end of a request, or on tag-matching endpoints something about one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkCompletion {
    /// The number the request was posted with.
    pub work_id: u64,
    /// What it tells.
    pub event: CompletionEvent,
    /// A receive (else a send).
    pub receive: bool,
    /// How it ended.
    pub status: Status,
    /// Message length in bytes.
    pub len: u32,
    /// The message was a write. A receive with it was used up by a write with
    /// immediate; its buffer was not touched.
    pub write: bool,
    /// The sender's tag; of a write, the remote address of its first byte.
    pub tag: u64,
    /// The sender's immediate, if it sent one.
    pub immediate: Option<u32>,
    /// Of a datagram received: where it came from, and that `len` counts the 40
    /// bytes of its IP header in front of the payload.
    pub datagram: Option<DatagramSource>,
    /// Local endpoint's table index.
    pub endpoint: u16,
    /// The peer's endpoint number.
    pub peer_endpoint: u32,
    /// The peer's GID.
    pub peer_gid: [u8; 16],
    /// NIC time when the completion was written, ticks of 64 ns.
    pub timestamp: u32,
}

/// What a datagram's completion says besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramSource {
    /// Source MAC address.
    pub mac: [u8; 6],
    /// Tag control information of its 802.1Q tag.
    pub vlan: Option<u16>,
    /// Index of its P_Key: this NIC has one.
    pub pkey_index: u16,
}

/// A ring into which the NIC writes the ends of requests.
///
/// It may be dropped before the endpoints and shared rings that complete in it: then
/// nobody hears of their completions, and the NIC's number for it and its memory come
/// back with the last of them. Until then it is read only where a ring is full, so its
/// size ([`Context::create_cq`](crate::Context::create_cq)) counts there too.
#[derive(Debug)]
pub struct CompletionQueue {
    pub(crate) shared: Arc<Shared>,
    pub(crate) queue: Arc<Queue>,
    head: u16,
    gate: Arc<Gate>,
    /// What is read of it in one go.
    batch: Box<[Entry; BATCH]>,
    rings: Rings,
    version: u64,
    /// What went wrong behind the completions that the last poll gave.
    failed: Option<PollError>,
    /// Polls in a row that found nothing.
    empty: u32,
    /// TIME when something was first seen behind the entry that is to come.
    overtaken: Option<u32>,
    /// The NIC's failed accesses to host memory when the queue was made.
    dma_errors: u32,
    /// A poll that finds nothing lets device time run.
    yields: bool,
    /// Once they were asked for.
    pub(crate) events: Option<Events>,
}

/// How many polls in a row find nothing before one looks whether anything can come: it
/// reads the whole ring, and sometimes registers. Larger rings are read less often, a
/// sixteenth of an entry per poll.
const EMPTY_POLLS: u32 = 1024;

/// Most entries that are read before the NIC is told: a doorbell costs more than they do.
const BATCH: usize = 64;

/// How long a write may be late, ticks of 64 ns: 1 ms.
const LATE_TICKS: u32 = 15_625;

const DMA_ERRORS: u32 = regs::counter(Counter::DmaErrors as u32);

impl CompletionQueue {
    pub(crate) fn create(shared: &Arc<Shared>, entries: usize) -> Result<Self, CreateError> {
        let log2 = ring_log2(entries)?;
        let alive = shared.lives.whole()?;
        let life = alive.number();
        let dma_errors = shared.device.read(DMA_ERRORS)?;
        let index = shared.take_cq()?;
        let memory = DmaMemory::new(entries * queue::COMPLETION_LEN);
        let address = shared.device.map(&memory).inspect_err(|_| shared.give_back_cq(index))?;
        let queue = Self {
            shared: shared.clone(),
            queue: Queue::new(life, index, memory, address),
            head: 0,
            gate: shared.lives.gate(life),
            batch: Box::new([[0; queue::COMPLETION_LEN]; BATCH]),
            rings: Rings::default(),
            version: 0,
            failed: None,
            empty: 0,
            overtaken: None,
            dma_errors,
            yields: shared.device.yields(),
            events: None,
        };
        // From here on dropping `queue` gives everything back.
        let word = Word::new()
            .with(regs::cq::VALID, 1)
            .with(regs::cq::LOG2, log2.into())
            .with(regs::cq::BASE, address);
        let written = shared.write_table_now(table::CQ, index, word);
        drop(alive);
        written?;
        Ok(queue)
    }

    /// What is in it of the endpoint or ring that had this index before is nobody's.
    pub(crate) fn disown(&self, index: usize) {
        self.queue.disown(self.head, index as u16);
    }

    fn refresh(&mut self) {
        if let Some(rings) = self.queue.attached.newer(&mut self.version) {
            self.rings = rings;
        }
    }

    /// Takes up to `completions.len()` completions and returns how many.
    ///
    /// Zero means none is there *now*. A device whose time passes only while somebody waits
    /// (a NIC of a simulator process) has got some then, see [`set_yielding`](Self::set_yielding);
    /// of one in this process call [`Context::wait`](crate::Context::wait).
    /// Completions of endpoints that no longer exist are skipped; what they had taken
    /// of a shared ring ends with them. After a
    /// [reset](crate::Context::reset) of the NIC, what it had still written comes
    /// first, then every request that was outstanding, with [`Status::Flushed`]; those of
    /// a shared ring once every queue that they may have ended in is polled to its end, or dropped.
    ///
    /// # Errors
    /// If the device fails or has written what makes no sense. What came before that
    /// is given first, and the call after tells of it.
    ///
    /// A completion that the NIC failed to write never comes, nor does any behind it.
    /// That is looked for once in 1,024 polls in a row that find nothing (16 per entry, if
    /// that is more), and told as [`PollError::Lost`] when it stays so for 1 ms. Only a
    /// [reset](crate::Context::reset) helps.
    pub fn poll(&mut self, completions: &mut [WorkCompletion]) -> Result<usize, PollError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.refresh();
        // Whether the NIC was reset counts as of now: only what was in the ring
        // before is sure to be seen below.
        let forgotten = self.shared.lives.is_over(self.queue.life);
        let start = self.head;
        let mut taken = 0;
        let mut failed: Option<PollError> = None;
        let mut at_end = false;
        while taken < completions.len() && failed.is_none() {
            let first = self.head;
            let read = self.read_batch(completions.len() - taken);
            if read == 0 {
                at_end = true;
                break;
            }
            // Before anything ends: the place in a ring that this frees may be posted to at
            // once, by others, and what is posted there may complete here.
            let told = self.tell_head();
            for (index, entry) in (0..).map(|n| first.wrapping_add(n)).zip(&self.batch[..read]) {
                match decode(&self.rings, index, entry, &mut completions[taken]) {
                    Ok(heard) => taken += usize::from(heard),
                    Err(error) => failed = failed.or(Some(error)),
                }
            }
            failed = failed.or(told.err().map(PollError::from));
        }
        // What stands behind a bad entry ends before the rest is flushed.
        if forgotten && at_end {
            return Ok(taken + self.flush(&mut completions[taken..]));
        }
        if self.head == start && at_end {
            self.look_behind()?;
            if self.yields && !completions.is_empty() {
                self.shared.device.wait()?;
            }
            return Ok(0);
        }
        (self.empty, self.overtaken) = (0, None);
        match failed {
            Some(error) if taken == 0 => Err(error),
            // Requests that ended would be lost with their number.
            failed => {
                self.failed = failed;
                Ok(taken)
            }
        }
    }

    /// Whether a poll that finds nothing lets device time run before it returns, as
    /// [`Context::wait`](crate::Context::wait) does. At first that is as the device says
    /// ([`Device::yields`](crate::Device::yields)): who lets time run by other means, or polls
    /// where nobody may wait, says `false`.
    pub fn set_yielding(&mut self, yields: bool) {
        self.yields = yields;
    }

    /// What can be done with it.
    pub fn state(&self) -> State {
        self.shared.lives.state(self.queue.life)
    }

    /// Places for completions.
    pub fn entries(&self) -> usize {
        self.queue.entries() as usize
    }

    /// Copies what the NIC has written, no more than `most` entries; says how many.
    fn read_batch(&mut self, most: usize) -> usize {
        let mut read = 0;
        for entry in self.batch.iter_mut().take(most) {
            if !self.queue.read(self.head, entry) {
                break;
            }
            self.head = self.head.wrapping_add(1);
            read += 1;
        }
        read
    }

    /// Nothing is there: now and then, whether anything can still come.
    fn look_behind(&mut self) -> Result<(), PollError> {
        self.empty = self.empty.wrapping_add(1);
        let turn = self.empty.is_multiple_of(EMPTY_POLLS.max(16 * self.queue.entries()));
        if !turn && !self.queue.is_suspected() {
            return Ok(());
        }
        if !self.queue.is_written_behind(self.head) {
            self.overtaken = None;
            return Ok(());
        }
        // Writes overtake each other: one that is merely late is there before long.
        let now = self.shared.device.read(regs::TIME.offset)?;
        let since = *self.overtaken.get_or_insert(now);
        let late = now.wrapping_sub(since) >= LATE_TICKS;
        if late && self.shared.device.read(DMA_ERRORS)? != self.dma_errors {
            return Err(PollError::Lost { index: self.head });
        }
        Ok(())
    }

    /// Tells the NIC how far the queue has been read, if it still knows the queue.
    fn tell_head(&self) -> Result<(), DeviceError> {
        self.queue.set_head(self.head);
        let Ok(_inside) = self.gate.enter(&self.shared.lives) else { return Ok(()) };
        let page = regs::doorbell_page(self.queue.index as u32);
        self.shared.device.write(page + regs::DOORBELL_CQ, self.head.into())
    }

    /// Ends what a NIC that was reset has forgotten.
    //= RS-5
    fn flush(&mut self, completions: &mut [WorkCompletion]) -> usize {
        self.queue.attached.read_out();
        let of = self.rings.iter().filter_map(|(endpoint, receives, requests)| match requests {
            Requests::Of(ring) => Some(((endpoint, receives), ring)),
            // Who is left of the ring's endpoints hears of it.
            Requests::Gone(_) => None,
        });
        let mut rings: Vec<_> = of.collect();
        if rings.iter().any(|(_, ring)| !ring.is_read_out()) {
            self.shared.read_abandoned();
        }
        // Of a shared ring, another queue may have what is the end of a request.
        rings.retain(|(_, ring)| ring.is_read_out());
        // By endpoint, so that the order does not depend on a hash.
        rings.sort_unstable_by_key(|(key, _)| *key);
        let ended = rings.into_iter().flat_map(|((endpoint, receives), ring)| {
            std::iter::from_fn(move || ring.flush()).map(move |(work_id, cancel)| WorkCompletion {
                work_id,
                event: if cancel { CompletionEvent::Cancelled } else { CompletionEvent::Ended },
                receive: receives.is_some(),
                status: Status::Flushed,
                endpoint,
                ..WorkCompletion::default()
            })
        });
        let mut count = 0;
        for (place, completion) in completions.iter_mut().zip(ended) {
            *place = completion;
            count += 1;
        }
        count
    }
}

/// Reads what the entry of a running index tells, and says whether anybody is to hear of
/// it; it ends what it is about either way.
pub(crate) fn decode(
    rings: &Rings,
    index: u16,
    entry: &Entry,
    completion: &mut WorkCompletion,
) -> Result<bool, PollError> {
    let u16_at = |at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
    let u32_at = |at: usize| u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]]);
    let (receive, told) = match entry[done::OPCODE] {
        queue::DONE_SEND => (false, CompletionEvent::Ended),
        queue::DONE_RECV => (true, CompletionEvent::Ended),
        queue::DONE_POSTED => (true, CompletionEvent::Posted),
        queue::DONE_UNEXPECTED => (true, CompletionEvent::Unexpected),
        queue::DONE_CANCEL => (true, CompletionEvent::Cancelled),
        opcode => return Err(PollError::Opcode { index, opcode }),
    };
    let status =
        Status::from_code(entry[done::STATUS]).map_err(|status| PollError::Status { index, status })?;
    let endpoint = u16_at(done::ENDPOINT);
    let receives = receive.then(|| u16_at(done::RING));
    let number = u16_at(done::ENTRY);
    let ring = match rings.get(endpoint, receives) {
        Some(Requests::Of(ring)) => ring,
        Some(Requests::Gone(ring)) => {
            let left = ring.upgrade().filter(|_| told == CompletionEvent::Ended);
            left.map(|ring| ring.end(number));
            return Ok(false);
        }
        None => return Ok(false),
    };
    let success = status == Status::Success;
    let mut event = told;
    let known = match told {
        // A cancel that could not be read ends as a receive entry does.
        CompletionEvent::Ended => ring.end_as_told(number, success).map(|(work_id, cancel)| {
            if cancel {
                event = CompletionEvent::Cancelled;
            }
            work_id
        }),
        CompletionEvent::Posted => {
            let handle = u32_at(done::LENGTH);
            let known = u16::try_from(handle).ok().filter(|&handle| handle <= MAX_HANDLE);
            ring.posted(number, known.ok_or(PollError::Handle { index, handle })?)
        }
        CompletionEvent::Unexpected => ring.work_id(number),
        CompletionEvent::Cancelled if !ring.is_cancel(number) => None,
        CompletionEvent::Cancelled => ring.cancelled(number, success),
    };
    let work_id = known.ok_or(PollError::NotOutstanding { index, endpoint, entry: number })?;
    let mut peer_gid = [0; 16];
    peer_gid.copy_from_slice(&entry[done::PEER_GID..done::PEER_GID + 16]);
    let datagram = (entry[done::FLAGS] & queue::DONE_GRH != 0).then(|| {
        let mut mac = [0; 6];
        mac.copy_from_slice(&entry[done::MAC..done::MAC + 6]);
        let tagged = entry[done::FLAGS] & queue::DONE_VLAN != 0;
        DatagramSource { mac, vlan: tagged.then(|| u16_at(done::VLAN)), pkey_index: 0 }
    });
    let tag = u64::from(u32_at(done::TAG)) | u64::from(u32_at(done::TAG + 4)) << 32;
    let has_immediate = entry[done::FLAGS] & queue::DONE_IMM != 0;
    *completion = WorkCompletion {
        work_id,
        event,
        receive,
        status,
        len: if event == CompletionEvent::Posted { 0 } else { u32_at(done::LENGTH) },
        write: entry[done::FLAGS] & queue::DONE_WRITE != 0,
        tag: if datagram.is_some() { 0 } else { tag },
        immediate: has_immediate.then(|| u32_at(done::IMMEDIATE)),
        datagram,
        endpoint,
        peer_endpoint: u32_at(done::PEER_ENDPOINT),
        peer_gid,
        timestamp: u32_at(done::TIMESTAMP),
    };
    Ok(true)
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        self.end_events();
        self.shared.abandon_queue(&self.queue, self.head);
    }
}

impl Default for WorkCompletion {
    /// A placeholder to size the array given to [`CompletionQueue::poll`].
    fn default() -> Self {
        Self {
            work_id: 0,
            event: CompletionEvent::Ended,
            receive: false,
            status: Status::Success,
            len: 0,
            write: false,
            tag: 0,
            immediate: None,
            datagram: None,
            endpoint: 0,
            peer_endpoint: 0,
            peer_gid: [0; 16],
            timestamp: 0,
        }
    }
}
