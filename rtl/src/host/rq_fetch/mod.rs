//! Prefetches receive queue entries and hands them to `rx/lookup`. Here a ring
//! is an endpoint's own or a shared one; `endpoint` is its table index.
//!
//! ```text
//!   doorbell, tables ──> ring_reader ──> check ──good──> entries[endpoint][put] ─┐
//!   read_desc, _beat, _status ──┘   key_check └─bad───> refused, room freed      │
//!                ^                                                               v
//!                └───────── room freed <── consume ── takes[endpoint] ──> ask ─> answer
//! ```
//!
//! Each endpoint has `2^rq_prefetch_log2` places. A place is taken when an entry
//! is asked from the host and freed when the entry is consumed or refused. Per
//! endpoint three running counts, each with one writer: `put` (good entries
//! stored), `take` (consumed), `skip` (refused or passed on); an entry waits while put != take.
//!
//! A tagged receive or a cancel goes to the match table, in the order of the
//! ring, and gives its place back. It is offered a clock after it is known to be
//! good, so that what is taken hangs on registers only: that its ring was written
//! anew, too.
//!
//! A bad key (it needs LOCAL_WRITE), bad bounds, a chunk area that is none (HR-2)
//! or a failed ring read end in an error completion of that entry; the next one is offered instead.
//!
//! Contract: `answer_valid` comes [`ANSWER_LATENCY`] clocks after `ask_valid`.
//! The next ask comes no earlier than the answer; `consume` takes the entry last
//! answered and comes after its answer and no later than the next ask (which may
//! be in the same clock and sees the entry behind it). One consume per six
//! clocks on one endpoint at a DMA latency of 250 clocks with 64 places.
//!
//! An answer without an entry says whether one that was posted is `coming`: read
//! from the host or waiting to be. It is a hint: of an endpoint that is not valid
//! none ever comes.
//!
//! Writing an endpoint's table entry empties its places. An answer given before
//! can no longer be consumed: the pulse then does nothing.
//!
//! Verified by `testbenches/tests/rq_fetch`.

mod asking;
mod places;
mod refusing;
mod storing;
mod wires;

use super::cleared_ram::ClearedRam;
use super::key_check::{KeyCheck, Right};
use super::ring_reader::{RingKind, RingReader};
use crate::kernel_of_parts;
use crate::prelude::*;
use crate::types::{Beat, DmaDescriptor, DmaStatus, Done, Doorbell, Receive, TableWrite, TaggedPost};
use tessera_abi::params::Config;
use tessera_abi::queue::{self, recv};
use tessera_abi::regs;
use tessera_abi::status::Status;

/// Clocks from `ask_valid` to `answer_valid`.
pub const ANSWER_LATENCY: u64 = 3;

/// A posted receive as the places hold it.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Posted {
    pub address: Bits<64>,
    /// As much of it as a datagram may need.
    pub length: Bits<13>,
    /// Behind its area.
    pub room: Bits<32>,
    pub entry: Bits<16>,
    /// As in `Receive`.
    pub chunks: Bit,
    pub chunk_log2: Bits<3>,
    pub area_log2: Bits<4>,
    /// The area's `capacity` is ones from bit `chunk_log2` to this one. It is made behind the
    /// memory, whose output is late, by less than both: the bits that ask for `chunk_log2` are kept.
    pub top: Bits<5>,
    pub low: Bits<5>,
}

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    Gather,
    Key,
    Weigh,
    Decide,
    /// Good, and of the match table.
    Hand,
}

#[derive(LogicBlock)]
pub struct RqFetch {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub doorbell: Signal<In, Doorbell>,
    pub table_write: Signal<In, TableWrite>,
    pub read_desc_valid: Signal<Out, Bit>,
    pub read_desc_data: Signal<Out, DmaDescriptor>,
    pub read_desc_ready: Signal<In, Bit>,
    pub read_beat_valid: Signal<In, Bit>,
    pub read_beat_data: Signal<In, Beat>,
    pub read_beat_ready: Signal<Out, Bit>,
    pub read_status_valid: Signal<In, Bit>,
    pub read_status_data: Signal<In, DmaStatus>,
    pub ask_valid: Signal<In, Bit>,
    pub ask_ring: Signal<In, Bits<8>>,
    pub answer_valid: Signal<Out, Bit>,
    pub answer: Signal<Out, Receive>,
    pub consume: Signal<In, Bit>,
    /// Tagged receives and cancels, to the match table.
    pub tagged_valid: Signal<Out, Bit>,
    pub tagged_data: Signal<Out, TaggedPost>,
    pub tagged_ready: Signal<In, Bit>,
    pub refused_valid: Signal<Out, Bit>,
    pub refused_data: Signal<Out, Done>,
    pub refused_ready: Signal<In, Bit>,
    /// Tables are cleared.
    pub ready: Signal<Out, Bit>,
    reader: RingReader,
    keys: KeyCheck,
    entries: SdpRam<Posted, 14>,
    puts_store: ClearedRam<Bits<8>, 8>,
    puts_ask: ClearedRam<Bits<8>, 8>,
    takes_visit: ClearedRam<Bits<8>, 8>,
    takes_ask: ClearedRam<Bits<8>, 8>,
    skips_visit: ClearedRam<Bits<8>, 8>,
    skips_store: ClearedRam<Bits<8>, 8>,
    skips_ask: ClearedRam<Bits<8>, 8>,
    /// A table write to apply to the counts, once `consume` leaves their port.
    wipe: Dff<Bit>,
    wiped: Dff<Bits<8>>,
    /// It was in the last clock.
    wiping: Dff<Bit>,
    /// The record is of before a table write; of the clock before.
    stale: Dff<Bit>,
    state: Dff<Step>,
    raw: Dff<Bits<256>>,
    /// HR-2: its area is none.
    misfit: Dff<Bit>,
    /// The next entry is in the upper half of the beat.
    upper: Dff<Bit>,
    /// Entries of the record at the front that are done.
    step: Dff<Bits<4>>,
    out: Dff<Done>,
    out_valid: Dff<Bit>,
    /// Asks, one and two clocks old.
    asked: Dff<Bit>,
    asked_at: Dff<Bits<8>>,
    asked_dead: Dff<Bit>,
    ahead: Dff<Bit>,
    ahead_take: Dff<Bits<8>>,
    looked: Dff<Bit>,
    looked_at: Dff<Bits<8>>,
    looked_dead: Dff<Bit>,
    looked_take: Dff<Bits<8>>,
    there: Dff<Bit>,
    /// An entry posted is not asked for, or was and is neither consumed nor refused.
    unread: Dff<Bit>,
    held_back: Dff<Bit>,
    /// The answer, and what to consume.
    answered: Dff<Bit>,
    given: Dff<Receive>,
    last_at: Dff<Bits<8>>,
    last_take: Dff<Bits<8>>,
    last_valid: Dff<Bit>,
    endpoint_write: Signal<Local, Bit>,
    next_take: Signal<Local, Bits<8>>,
    taken: Signal<Local, Bit>,
    wipe_now: Signal<Local, Bit>,
    take: Signal<Local, Bits<8>>,
    freed_ask: Signal<Local, Bits<8>>,
    place_put: Signal<Local, Bits<8>>,
    place_take: Signal<Local, Bits<8>>,
    next_put: Signal<Local, Bits<8>>,
    next_skip: Signal<Local, Bits<8>>,
    length: Signal<Local, Bits<32>>,
    address: Signal<Local, Bits<64>>,
    index: Signal<Local, Bits<16>>,
    last_of_record: Signal<Local, Bit>,
    /// Nothing but its key may be wrong with it.
    sound: Signal<Local, Bit>,
    good: Signal<Local, Bit>,
    /// There is room for what tells of a bad one.
    may_refuse: Signal<Local, Bit>,
    commit: Signal<Local, Bit>,
    store: Signal<Local, Bit>,
    refuse: Signal<Local, Bit>,
    flags: Signal<Local, Bits<8>>,
    cancel: Signal<Local, Bit>,
    is_tagged: Signal<Local, Bit>,
    has_chunks: Signal<Local, Bit>,
    shape: Signal<Local, Bits<8>>,
    area_len: Signal<Local, Bits<32>>,
    kept_len: Signal<Local, Bits<32>>,
    short_len: Signal<Local, Bits<13>>,
    held: Signal<Local, Posted>,
    blocks: Signal<Local, Bits<21>>,
    units: Signal<Local, Bits<21>>,
    decides: Signal<Local, Bit>,
    hands: Signal<Local, Bit>,
    pushed: Signal<Local, Bit>,
    /// An entry leaves without a place.
    pass: Signal<Local, Bit>,
    place_mask: Constant<Bits<8>>,
    place_log2: Constant<Bits<4>>,
    this_table: Constant<Bits<4>>,
    local_protection: Constant<Bits<8>>,
    local_dma: Constant<Bits<8>>,
    at_address: Constant<Bits<8>>,
    at_length: Constant<Bits<8>>,
    at_lkey: Constant<Bits<8>>,
    at_flags: Constant<Bits<8>>,
    at_tag: Constant<Bits<8>>,
    at_handle: Constant<Bits<8>>,
    at_target: Constant<Bits<8>>,
    cancel_flag: Constant<Bits<8>>,
    tagged_flags: Constant<Bits<8>>,
    chunks_flag: Constant<Bits<8>>,
    at_shape: Constant<Bits<8>>,
    most_chunk_log2: Constant<Bits<3>>,
    smallest_area: Constant<Bits<32>>,
    bad_request: Constant<Bits<8>>,
    longest: Constant<Bits<13>>,
    /// All but the first.
    no_unit: Constant<Bits<21>>,
    /// The bits of a capacity that `low` has not.
    above_low: Constant<Bits<21>>,
}

/// Two entries to a beat.
const _: () = assert!(queue::RECV_ENTRY_LEN == 32);

impl RqFetch {
    pub fn new(config: &Config) -> Self {
        let endpoints = config.endpoints_log2;
        // Those a sum is made of before a register stay in LUTs.
        let counts = || ClearedRam::new(endpoints, "distributed").reads_old();
        let at = |byte: usize| Constant::new((8 * byte as u64).into());
        Self {
            clk: Default::default(),
            rst: Default::default(),
            doorbell: Default::default(),
            table_write: Default::default(),
            read_desc_valid: Default::default(),
            read_desc_data: Default::default(),
            read_desc_ready: Default::default(),
            read_beat_valid: Default::default(),
            read_beat_data: Default::default(),
            read_beat_ready: Default::default(),
            read_status_valid: Default::default(),
            read_status_data: Default::default(),
            ask_valid: Default::default(),
            ask_ring: Default::default(),
            answer_valid: Default::default(),
            answer: Default::default(),
            consume: Default::default(),
            tagged_valid: Default::default(),
            tagged_data: Default::default(),
            tagged_ready: Default::default(),
            refused_valid: Default::default(),
            refused_data: Default::default(),
            refused_ready: Default::default(),
            ready: Default::default(),
            reader: RingReader::new(config, &RingKind::receive(config.rq_prefetch_log2)),
            keys: KeyCheck::new(config, Right::LocalWrite),
            entries: SdpRam::new(endpoints + config.rq_prefetch_log2),
            puts_store: counts(),
            puts_ask: ClearedRam::of_endpoints(config),
            takes_visit: ClearedRam::of_endpoints(config),
            takes_ask: counts(),
            skips_visit: ClearedRam::of_endpoints(config),
            skips_store: counts(),
            skips_ask: counts(),
            wipe: Default::default(),
            wiped: Default::default(),
            wiping: Default::default(),
            stale: Default::default(),
            state: Default::default(),
            raw: Default::default(),
            misfit: Default::default(),
            upper: Default::default(),
            step: Default::default(),
            out: Default::default(),
            out_valid: Default::default(),
            asked: Default::default(),
            asked_at: Default::default(),
            asked_dead: Default::default(),
            ahead: Default::default(),
            ahead_take: Default::default(),
            looked: Default::default(),
            looked_at: Default::default(),
            looked_dead: Default::default(),
            looked_take: Default::default(),
            there: Default::default(),
            unread: Default::default(),
            held_back: Default::default(),
            answered: Default::default(),
            given: Default::default(),
            last_at: Default::default(),
            last_take: Default::default(),
            last_valid: Default::default(),
            endpoint_write: Default::default(),
            next_take: Default::default(),
            taken: Default::default(),
            wipe_now: Default::default(),
            take: Default::default(),
            freed_ask: Default::default(),
            place_put: Default::default(),
            place_take: Default::default(),
            next_put: Default::default(),
            next_skip: Default::default(),
            length: Default::default(),
            address: Default::default(),
            index: Default::default(),
            last_of_record: Default::default(),
            sound: Default::default(),
            good: Default::default(),
            may_refuse: Default::default(),
            commit: Default::default(),
            store: Default::default(),
            refuse: Default::default(),
            flags: Default::default(),
            cancel: Default::default(),
            is_tagged: Default::default(),
            has_chunks: Default::default(),
            shape: Default::default(),
            area_len: Default::default(),
            kept_len: Default::default(),
            short_len: Default::default(),
            held: Default::default(),
            blocks: Default::default(),
            units: Default::default(),
            decides: Default::default(),
            hands: Default::default(),
            pushed: Default::default(),
            pass: Default::default(),
            place_mask: Constant::new(((1u64 << config.rq_prefetch_log2) - 1).into()),
            place_log2: Constant::new((config.rq_prefetch_log2 as u64).into()),
            this_table: Constant::new(u64::from(regs::table::ENDPOINT).into()),
            local_protection: Constant::new((Status::LocalProtection as u64).into()),
            local_dma: Constant::new((Status::LocalDma as u64).into()),
            at_address: at(recv::ADDRESS),
            at_length: at(recv::LENGTH),
            at_lkey: at(recv::LKEY),
            at_flags: at(recv::FLAGS),
            at_tag: at(recv::TAG),
            at_handle: at(recv::HANDLE),
            at_target: at(recv::TARGET),
            cancel_flag: Constant::new(u64::from(queue::RECV_CANCEL).into()),
            chunks_flag: Constant::new(u64::from(queue::RECV_CHUNKS).into()),
            at_shape: at(recv::AREA),
            most_chunk_log2: Constant::new(u64::from(queue::area::MAX_CHUNK_LOG2).into()),
            smallest_area: Constant::new(queue::area::ALIGN.into()),
            bad_request: Constant::new((Status::BadRequest as u64).into()),
            longest: Constant::new(if config.datagrams { 0x1FFFu64 } else { 0 }.into()),
            above_low: Constant::new(0x1F_FFE0u64.into()),
            no_unit: Constant::new(0x1F_FFFEu64.into()),
            tagged_flags: Constant::new(u64::from(queue::RECV_TAGGED | queue::RECV_CANCEL).into()),
        }
    }
}

kernel_of_parts!(RqFetch: wires::Wires, storing::Storing, places::Places, asking::Asking, refusing::Refusing);
