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

use super::cleared_ram::ClearedRam;
use super::key_check::{KeyCheck, Right};
use super::ring_reader::{RingKind, RingReader};
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
    /// An entry posted is neither consumed nor refused.
    left: Dff<Bit>,
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
            puts_ask: counts(),
            takes_visit: counts(),
            takes_ask: counts(),
            skips_visit: counts(),
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
            left: Default::default(),
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
            longest: Constant::new(0x1FFFu64.into()),
            above_low: Constant::new(0x1F_FFE0u64.into()),
            no_unit: Constant::new(0x1F_FFFEu64.into()),
            tagged_flags: Constant::new(u64::from(queue::RECV_TAGGED | queue::RECV_CANCEL).into()),
        }
    }
}

impl Logic for RqFetch {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, wipe, wiped, state, raw, misfit, upper, step, out, out_valid, asked, asked_at);
        dff_setup!(self, clk, asked_dead, ahead, ahead_take, looked, looked_at, looked_dead, looked_take);
        dff_setup!(self, clk, there, left, answered, given, last_at, last_take, last_valid, wiping, stale);
        self.reader.clk.next = self.clk.val();
        self.reader.rst.next = self.rst.val();
        self.keys.clk.next = self.clk.val();
        self.keys.rst.next = self.rst.val();
        self.entries.clock.next = self.clk.val();
        self.puts_store.clk.next = self.clk.val();
        self.puts_store.rst.next = self.rst.val();
        self.puts_ask.clk.next = self.clk.val();
        self.puts_ask.rst.next = self.rst.val();
        self.takes_visit.clk.next = self.clk.val();
        self.takes_visit.rst.next = self.rst.val();
        self.takes_ask.clk.next = self.clk.val();
        self.takes_ask.rst.next = self.rst.val();
        self.skips_visit.clk.next = self.clk.val();
        self.skips_visit.rst.next = self.rst.val();
        self.skips_store.clk.next = self.clk.val();
        self.skips_store.rst.next = self.rst.val();
        self.skips_ask.clk.next = self.clk.val();
        self.skips_ask.rst.next = self.rst.val();
        self.ready.next = self.reader.ready.val()
            & self.keys.ready.val()
            & self.puts_store.ready.val()
            & self.puts_ask.ready.val()
            & self.takes_visit.ready.val()
            & self.takes_ask.ready.val()
            & self.skips_visit.ready.val()
            & self.skips_store.ready.val()
            & self.skips_ask.ready.val();

        self.reader.enable.next = true;
        self.reader.doorbell.next = self.doorbell.val();
        self.reader.table_write.next = self.table_write.val();
        self.keys.table_write.next = self.table_write.val();
        self.read_desc_valid.next = self.reader.read_desc_valid.val();
        self.read_desc_data.next = self.reader.read_desc_data.val();
        self.reader.read_desc_ready.next = self.read_desc_ready.val();
        self.reader.read_beat_valid.next = self.read_beat_valid.val();
        self.reader.read_beat_data.next = self.read_beat_data.val();
        self.read_beat_ready.next = self.reader.read_beat_ready.val();
        self.reader.read_status_valid.next = self.read_status_valid.val();
        self.reader.read_status_data.next = self.read_status_data.val();

        // A table write empties the endpoint's places, one clock later, or two
        // when `consume` needs the port of the takes.
        self.endpoint_write.next =
            self.table_write.val().valid & (self.table_write.val().table == self.this_table.val());
        self.next_take.next = self.last_take.q.val() + 1;
        self.taken.next = self.consume.val() & self.last_valid.q.val();
        self.wipe_now.next = self.wipe.q.val() & !self.taken.val();
        if self.wipe_now.val() {
            self.wipe.d.next = false;
        }
        if self.endpoint_write.val() {
            self.wipe.d.next = true;
            self.wiped.d.next = self.table_write.val().index;
        }

        // Storing: entry by entry, two to a beat.
        self.length.next = self.raw.q.val().get_bits::<32>(self.at_length.val().index());
        self.address.next = self.raw.q.val().get_bits::<64>(self.at_address.val().index());
        self.keys.endpoint.next = self.reader.record_data.val().endpoint;
        self.keys.key.next = self.raw.q.val().get_bits::<32>(self.at_lkey.val().index());
        self.keys.length.next = self.length.val();
        self.keys.address.next = self.address.val();
        self.index.next = self.reader.record_data.val().index + bit_cast::<16, 4>(self.step.q.val());
        self.last_of_record.next = (self.step.q.val() + 1) == self.reader.record_data.val().count;
        self.flags.next = self.raw.q.val().get_bits::<8>(self.at_flags.val().index());
        self.cancel.next = (self.flags.val() & self.cancel_flag.val()) != 0;
        self.is_tagged.next = (self.flags.val() & self.tagged_flags.val()) != 0;
        // HR-2
        self.has_chunks.next = (self.flags.val() & self.chunks_flag.val()) != 0;
        self.shape.next = self.raw.q.val().get_bits::<8>(self.at_shape.val().index());
        self.area_len.next = self.smallest_area.val() << self.shape.val().get_bits::<4>(4);
        self.kept_len.next = 0.into();
        if self.has_chunks.val() {
            self.kept_len.next = self.area_len.val();
        }
        self.misfit.d.next = self.has_chunks.val()
            & !self.cancel.val()
            & (self.is_tagged.val()
                | (self.shape.val().get_bits::<3>(0) > self.most_chunk_log2.val())
                | (self.address.val().get_bits::<6>(0) != 0)
                | (self.length.val() < self.kept_len.val()));
        self.short_len.next = self.length.val().get_bits::<13>(0);
        if (self.length.val() >> 13).any() {
            self.short_len.next = self.longest.val();
        }
        // A cancel names no memory. What a key permits comes late: it is looked at last.
        self.sound.next = !self.reader.failed.val() & !self.misfit.q.val();
        self.good.next = self.sound.val() & (self.keys.permitted.val() | self.cancel.val());
        self.may_refuse.next = !self.out_valid.q.val() & self.reader.skip_ready.val();
        if self.refused_ready.val() {
            self.out_valid.d.next = false;
        }
        // While a wipe waits and in the clock behind it, `stale` may not show it yet. These are no
        // part of the match below: what waits for ready there would seem to decide valid.
        self.wiping.d.next = self.wipe.q.val();
        self.stale.d.next = self.reader.stale.val();
        self.decides.next = (self.state.q.val() == Step::Decide) & !self.wipe.q.val() & !self.wiping.q.val();
        // A tagged one gives its place back at once, as a refused one does. By the time it is
        // offered its endpoint may have been written anew.
        self.hands.next = (self.state.q.val() == Step::Hand) & !self.wipe.q.val() & !self.wiping.q.val();
        self.tagged_valid.next = self.hands.val() & !self.stale.q.val() & self.reader.skip_ready.val();
        self.pushed.next = self.tagged_valid.val() & self.tagged_ready.val();
        self.store.next = self.decides.val()
            & self.sound.val()
            & !self.is_tagged.val()
            & !self.stale.q.val()
            & self.keys.permitted.val();
        self.refuse.next =
            self.decides.val() & self.may_refuse.val() & !self.stale.q.val() & !self.good.val();
        self.commit.next = self.pushed.val()
            | self.store.val()
            | self.refuse.val()
            | ((self.decides.val() | self.hands.val()) & self.stale.q.val());
        match self.state.q.val() {
            Step::Gather => {
                self.raw.d.next = self.reader.beat_data.val().get_bits::<256>(0);
                if self.upper.q.val() {
                    self.raw.d.next = self.reader.beat_data.val().get_bits::<256>(256);
                }
                if self.reader.beat_valid.val() & self.reader.record_valid.val() {
                    self.state.d.next = Step::Key;
                }
            }
            Step::Key => {
                self.state.d.next = Step::Weigh;
            }
            Step::Weigh => {
                self.state.d.next = Step::Decide;
            }
            Step::Decide => {
                if self.commit.val() {
                    self.state.d.next = Step::Gather;
                }
                if self.decides.val() & !self.stale.q.val() & self.is_tagged.val() & self.good.val() {
                    self.state.d.next = Step::Hand;
                }
            }
            Step::Hand => {
                if self.commit.val() {
                    self.state.d.next = Step::Gather;
                }
            }
        }
        self.reader.record_ready.next = self.commit.val() & self.last_of_record.val();
        self.reader.beat_ready.next = self.commit.val() & (self.last_of_record.val() | self.upper.q.val());
        if self.commit.val() {
            self.upper.d.next = !self.upper.q.val();
            self.step.d.next = self.step.q.val() + 1;
            if self.last_of_record.val() {
                self.upper.d.next = false;
                self.step.d.next = 0.into();
            }
        }
        self.pass.next = self.refuse.val() | self.pushed.val();
        self.tagged_data.next.cancel = self.cancel.val();
        self.tagged_data.next.endpoint = self.reader.record_data.val().endpoint;
        self.tagged_data.next.entry = self.index.val();
        self.tagged_data.next.tag = self.raw.q.val().get_bits::<64>(self.at_tag.val().index());
        self.tagged_data.next.address = self.address.val();
        self.tagged_data.next.length = self.length.val();
        self.tagged_data.next.handle = self.raw.q.val().get_bits::<16>(self.at_handle.val().index());
        self.tagged_data.next.target = self.raw.q.val().get_bits::<16>(self.at_target.val().index());

        self.puts_store.read_address.next = self.reader.record_data.val().endpoint;
        self.skips_store.read_address.next = self.reader.record_data.val().endpoint;
        self.next_put.next = self.puts_store.read_data.val() + 1;
        self.next_skip.next = self.skips_store.read_data.val() + 1;
        self.place_put.next = self.puts_store.read_data.val() & self.place_mask.val();
        self.entries.write_enable.next = self.store.val();
        self.entries.write_address.next = (bit_cast::<14, 8>(self.reader.record_data.val().endpoint)
            << self.place_log2.val())
            | bit_cast::<14, 8>(self.place_put.val());
        self.entries.write_data.next.address = self.address.val();
        self.entries.write_data.next.length = self.short_len.val();
        // A place is read in the clock in which its answer must be there: nothing is left to be added.
        self.entries.write_data.next.room = self.length.val() - self.kept_len.val();
        self.entries.write_data.next.entry = self.index.val();
        self.entries.write_data.next.chunks = self.has_chunks.val();
        self.entries.write_data.next.chunk_log2 = self.shape.val().get_bits::<3>(0);
        self.entries.write_data.next.area_log2 = self.shape.val().get_bits::<4>(4);
        self.entries.write_data.next.top = bit_cast::<5, 4>(self.shape.val().get_bits::<4>(4))
            + bit_cast::<5, 3>(self.shape.val().get_bits::<3>(0));
        self.blocks.next =
            !(self.no_unit.val() << self.shape.val().get_bits::<4>(4)) << self.shape.val().get_bits::<3>(0);
        self.entries.write_data.next.low = self.blocks.val().get_bits::<5>(0);
        self.puts_store.write_enable.next = self.store.val() | self.wipe_now.val();
        self.puts_store.write_address.next = self.reader.record_data.val().endpoint;
        self.puts_store.write_data.next = self.next_put.val();
        self.puts_ask.write_enable.next = self.store.val() | self.wipe_now.val();
        self.puts_ask.write_address.next = self.reader.record_data.val().endpoint;
        self.puts_ask.write_data.next = self.next_put.val();
        self.skips_store.write_enable.next = self.pass.val() | self.wipe_now.val();
        self.skips_store.write_address.next = self.reader.record_data.val().endpoint;
        self.skips_store.write_data.next = self.next_skip.val();
        self.skips_visit.write_enable.next = self.pass.val() | self.wipe_now.val();
        self.skips_visit.write_address.next = self.reader.record_data.val().endpoint;
        self.skips_visit.write_data.next = self.next_skip.val();
        self.skips_ask.write_enable.next = self.pass.val() | self.wipe_now.val();
        self.skips_ask.write_address.next = self.reader.record_data.val().endpoint;
        self.skips_ask.write_data.next = self.next_skip.val();
        self.takes_ask.write_enable.next = self.taken.val() | self.wipe_now.val();
        self.takes_ask.write_address.next = self.last_at.q.val();
        self.takes_ask.write_data.next = self.next_take.val();
        self.takes_visit.write_enable.next = self.taken.val() | self.wipe_now.val();
        self.takes_visit.write_address.next = self.last_at.q.val();
        self.takes_visit.write_data.next = self.next_take.val();
        if self.wipe_now.val() {
            self.puts_store.write_address.next = self.wiped.q.val();
            self.puts_store.write_data.next = 0.into();
            self.puts_ask.write_address.next = self.wiped.q.val();
            self.puts_ask.write_data.next = 0.into();
            self.skips_store.write_address.next = self.wiped.q.val();
            self.skips_store.write_data.next = 0.into();
            self.skips_visit.write_address.next = self.wiped.q.val();
            self.skips_visit.write_data.next = 0.into();
            self.skips_ask.write_address.next = self.wiped.q.val();
            self.skips_ask.write_data.next = 0.into();
            self.takes_ask.write_address.next = self.wiped.q.val();
            self.takes_ask.write_data.next = 0.into();
            self.takes_visit.write_address.next = self.wiped.q.val();
            self.takes_visit.write_data.next = 0.into();
        }

        // Room for the reader, and what tells it to look again.
        self.takes_visit.read_address.next = self.reader.visit_index.val();
        self.skips_visit.read_address.next = self.reader.visit_index.val();
        self.reader.freed.next = self.takes_visit.read_data.val() + self.skips_visit.read_data.val();
        self.reader.held_now.next = 0.into();
        self.reader.most_held.next = 0.into();
        self.reader.poke_valid.next = self.taken.val();
        self.reader.poke_index.next = self.last_at.q.val();
        self.reader.skip_valid.next = self.pass.val();
        self.reader.skip_index.next = self.reader.record_data.val().endpoint;

        // Asking: counts, then the place, then the answer.
        self.puts_ask.read_address.next = self.ask_ring.val();
        self.takes_ask.read_address.next = self.ask_ring.val();
        self.skips_ask.read_address.next = self.ask_ring.val();
        self.reader.look_index.next = self.ask_ring.val();
        self.asked.d.next = self.ask_valid.val();
        self.asked_at.d.next = self.ask_ring.val();
        self.asked_dead.d.next = (self.endpoint_write.val()
            & (self.table_write.val().index == self.ask_ring.val()))
            | (self.wipe.q.val() & (self.wiped.q.val() == self.ask_ring.val()));
        self.ahead.d.next = self.taken.val() & (self.last_at.q.val() == self.ask_ring.val());
        self.ahead_take.d.next = self.next_take.val();

        self.take.next = self.takes_ask.read_data.val();
        if self.ahead.q.val() {
            self.take.next = self.ahead_take.q.val();
        }
        self.place_take.next = self.take.val() & self.place_mask.val();
        self.entries.read_address.next = (bit_cast::<14, 8>(self.asked_at.q.val()) << self.place_log2.val())
            | bit_cast::<14, 8>(self.place_take.val());
        self.there.d.next = self.puts_ask.read_data.val() != self.take.val();
        self.freed_ask.next = self.take.val() + self.skips_ask.read_data.val();
        self.left.d.next = self.reader.unread.val() | (self.reader.read_to.val() != self.freed_ask.val());
        self.looked.d.next = self.asked.q.val();
        self.looked_at.d.next = self.asked_at.q.val();
        self.looked_take.d.next = self.take.val();
        self.looked_dead.d.next = self.asked_dead.q.val()
            | (self.endpoint_write.val() & (self.table_write.val().index == self.asked_at.q.val()));

        // How many blocks of packets the area has bits for.
        self.held.next = self.entries.read_data.val();
        self.units.next = !(self.no_unit.val() << self.held.val().top);
        self.answered.d.next = self.looked.q.val();
        if self.taken.val() {
            self.last_valid.d.next = false;
        }
        if self.looked.q.val() {
            self.given.d.next.available = self.there.q.val()
                & !self.looked_dead.q.val()
                & !(self.endpoint_write.val() & (self.table_write.val().index == self.looked_at.q.val()));
            self.given.d.next.coming = self.left.q.val() & !self.there.q.val() & !self.looked_dead.q.val();
            self.given.d.next.address = self.held.val().address;
            self.given.d.next.length = bit_cast::<32, 13>(self.held.val().length);
            self.given.d.next.entry = self.held.val().entry;
            self.given.d.next.chunks = self.held.val().chunks;
            self.given.d.next.chunk_log2 = self.held.val().chunk_log2;
            self.given.d.next.area_log2 = self.held.val().area_log2;
            self.given.d.next.capacity =
                (self.units.val() & self.above_low.val()) | bit_cast::<21, 5>(self.held.val().low);
            self.given.d.next.room = self.held.val().room;
            self.last_valid.d.next = self.there.q.val()
                & !self.looked_dead.q.val()
                & !(self.endpoint_write.val() & (self.table_write.val().index == self.looked_at.q.val()));
            self.last_at.d.next = self.looked_at.q.val();
            self.last_take.d.next = self.looked_take.q.val();
        } else {
            if self.endpoint_write.val() & (self.table_write.val().index == self.last_at.q.val()) {
                self.last_valid.d.next = false;
            }
        }
        self.answer_valid.next = self.answered.q.val();
        self.answer.next = self.given.q.val();

        // Refusals.
        if self.refuse.val() {
            self.out_valid.d.next = true;
            self.out.d.next.receive = true;
            self.out.d.next.status = self.local_protection.val();
            if self.keys.permitted.val() | self.cancel.val() {
                self.out.d.next.status = self.bad_request.val();
            }
            if self.reader.failed.val() {
                self.out.d.next.status = self.local_dma.val();
            }
            self.out.d.next.has_imm = false;
            self.out.d.next.write = false;
            self.out.d.next.grh = false;
            self.out.d.next.vlan_valid = false;
            self.out.d.next.endpoint = self.reader.record_data.val().endpoint;
            self.out.d.next.own = true;
            self.out.d.next.event = 0.into();
            self.out.d.next.entry = self.index.val();
            self.out.d.next.length = self.length.val();
            self.out.d.next.imm = 0.into();
            self.out.d.next.tag = 0.into();
            self.out.d.next.slot = 0.into();
            self.out.d.next.generation = 0.into();
            self.out.d.next.peer_endpoint = 0.into();
            self.out.d.next.peer_gid = 0.into();
        }
        self.refused_valid.next = self.out_valid.q.val();
        self.refused_data.next = self.out.q.val();

        if self.rst.val() {
            self.state.d.next = Step::Gather;
            self.wipe.d.next = false;
            self.upper.d.next = false;
            self.step.d.next = 0.into();
            self.out_valid.d.next = false;
            self.asked.d.next = false;
            self.looked.d.next = false;
            self.answered.d.next = false;
            self.last_valid.d.next = false;
        }
    }
}
