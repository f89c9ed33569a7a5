//! Reads the rings of all endpoints in turn, many reads in flight.
//!
//! ```text
//!   doorbell ──> tail ─┐
//!                head ─┼─> work queue ─> visit: look, size, issue ──> read_desc
//!   table_write ─ ring ┘                                  └─> records (64)
//!   read_beat ──> beats ────────────────────────────────> beat
//!   read_status > errors ───────────────────> with its ─> record
//! ```
//!
//! A visit reads up to eight entries, contiguous, never across the ring's end.
//! Beats are taken from the DMA port at once: a visit waits for room first.
//! A table write sets head and tail to 0; records of reads made before it are
//! marked `stale` and their entries are not to be used.
//!
//! Contract: one visit per four clocks, of an endpoint alone one per five; the beats of `ring_beats_log2` in flight, of as many
//! reads, but 66 at most; no further clock is lost between beats. `doorbell` and `table_write` come at
//! least three clocks apart (`host/registers` keeps four). `record` and `stale`
//! hold until taken; `stale` shows a table write two clocks later.
//!
//! Verified by `testbenches/tests/sq_fetch` and `rq_fetch`.

use super::cleared_ram::ClearedRam;
use super::lsb;
use super::work_queue::WorkQueue;
use crate::prelude::*;
use crate::stream::{Fifo, LateFifo};
use crate::types::{Beat, DmaDescriptor, DmaStatus, Doorbell, TableWrite};
use tessera_abi::params::Config;
use tessera_abi::{queue, regs};

/// Which ring of an endpoint, and how it is laid out.
pub struct RingKind {
    /// Doorbell of its tail.
    pub doorbell: u64,
    /// Bytes of an entry, log2.
    pub entry_log2: u64,
    /// Table bits that let it be read: both of them, or one of the two.
    pub enable: [(usize, usize); 2],
    /// Both are needed.
    pub both: bool,
    /// Table field of its address.
    pub base: (usize, usize),
    /// Table field of its size.
    pub log2: (usize, usize),
    /// Table bit of rings of which a part is read where there is no room for all that
    /// one visit may read: what stands in them does not only take places, and what
    /// takes none must not wait for a place behind what does.
    pub parts: (usize, usize),
    /// Entries an endpoint may have read and not freed, log2; none: the reader's
    /// owner counts them, and tells how many there may be.
    pub held_log2: Option<usize>,
}

impl RingKind {
    /// Send rings.
    pub fn send() -> Self {
        Self {
            doorbell: super::registers::DOORBELL_KIND_SQ,
            entry_log2: queue::SEND_ENTRY_LEN.ilog2().into(),
            enable: [regs::endpoint::VALID, regs::endpoint::SEND_ENABLE],
            both: true,
            base: regs::endpoint::SQ_BASE,
            log2: regs::endpoint::SQ_LOG2,
            parts: regs::endpoint::TAGS,
            held_log2: None,
        }
    }

    /// Receive rings, of endpoints and shared ones, of which `2^held_log2` entries are prefetched.
    pub fn receive(held_log2: usize) -> Self {
        Self {
            doorbell: super::registers::DOORBELL_KIND_RQ,
            entry_log2: queue::RECV_ENTRY_LEN.ilog2().into(),
            enable: [regs::endpoint::VALID, regs::endpoint::RING],
            both: false,
            base: regs::endpoint::RQ_BASE,
            log2: regs::endpoint::RQ_LOG2,
            parts: regs::endpoint::TAGS,
            held_log2: Some(held_log2),
        }
    }
}

/// Entries of a visit at most.
const MOST: u64 = 8;

/// An endpoint's ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Ring {
    pub live: Bit,
    pub log2: Bits<4>,
    pub base: Bits<64>,
    /// Number of the table write it comes from.
    pub stamp: Bits<16>,
    /// Fewer entries are read where there is no room for all.
    pub parts: Bit,
}

/// A read that was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct ReadRecord {
    pub endpoint: Bits<8>,
    /// Running index of its first entry.
    pub index: Bits<16>,
    /// Entries, 1..=8.
    pub count: Bits<4>,
    pub stamp: Bits<16>,
}

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Visit {
    Idle,
    Look,
    Size,
    Issue,
}

#[derive(LogicBlock)]
pub struct RingReader {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// New reads may start.
    pub enable: Signal<In, Bit>,
    pub doorbell: Signal<In, Doorbell>,
    pub table_write: Signal<In, TableWrite>,
    /// An endpoint, of which is told a clock later: entries posted wait to be
    /// read, and the low bits of the running index up to which they were asked for.
    pub look_index: Signal<In, Bits<8>>,
    pub unread: Signal<Out, Bit>,
    pub read_to: Signal<Out, Bits<8>>,
    /// The endpoint looked at next clock, or being visited.
    pub visit_index: Signal<Out, Bits<8>>,
    /// Running count of entries the endpoint looked at has freed.
    pub freed: Signal<In, Bits<8>>,
    /// Where the owner counts: how many it has, and may have (0: any number).
    pub held_now: Signal<In, Bits<16>>,
    pub most_held: Signal<In, Bits<16>>,
    /// So many entries of `visit_index` will be read.
    pub issued: Signal<Out, Bit>,
    pub issued_count: Signal<Out, Bits<4>>,
    /// The endpoint has freed an entry.
    pub poke_valid: Signal<In, Bit>,
    pub poke_index: Signal<In, Bits<8>>,
    /// The same, able to wait.
    pub skip_valid: Signal<In, Bit>,
    pub skip_index: Signal<In, Bits<8>>,
    pub skip_ready: Signal<Out, Bit>,
    pub read_desc_valid: Signal<Out, Bit>,
    pub read_desc_data: Signal<Out, DmaDescriptor>,
    pub read_desc_ready: Signal<In, Bit>,
    pub read_beat_valid: Signal<In, Bit>,
    pub read_beat_data: Signal<In, Beat>,
    pub read_beat_ready: Signal<Out, Bit>,
    pub read_status_valid: Signal<In, Bit>,
    pub read_status_data: Signal<In, DmaStatus>,
    /// The oldest read whose status has come.
    pub record_valid: Signal<Out, Bit>,
    pub record_data: Signal<Out, ReadRecord>,
    pub record_ready: Signal<In, Bit>,
    /// The read failed; belongs to `record`.
    pub failed: Signal<Out, Bit>,
    /// The endpoint was written anew since; belongs to `record`.
    pub stale: Signal<Out, Bit>,
    pub beat_valid: Signal<Out, Bit>,
    pub beat_data: Signal<Out, Bits<512>>,
    pub beat_ready: Signal<In, Bit>,
    /// Tables are cleared.
    pub ready: Signal<Out, Bit>,
    work: WorkQueue,
    rings: ClearedRam<Ring, 8>,
    /// Stamps again, for the record at the front.
    stamps: ClearedRam<Bits<16>, 8>,
    tails: ClearedRam<Bits<16>, 8>,
    heads: ClearedRam<Bits<16>, 8>,
    /// The same, to look at.
    tails_look: ClearedRam<Bits<16>, 8>,
    heads_look: ClearedRam<Bits<16>, 8>,
    records: Fifo<ReadRecord, 6>,
    beats: LateFifo<Bits<512>, 8>,
    errors: Fifo<Bit, 7>,
    state: Dff<Visit>,
    current: Dff<Bits<8>>,
    /// The endpoint visited was written meanwhile.
    rewritten: Dff<Bit>,
    live: Dff<Bit>,
    base: Dff<Bits<64>>,
    stamp: Dff<Bits<16>>,
    parts: Dff<Bit>,
    head: Dff<Bits<16>>,
    place: Dff<Bits<16>>,
    pending: Dff<Bits<16>>,
    /// Entries behind it up to the ring's end.
    rest: Dff<Bits<16>>,
    /// How many more it may have, below 0 if it has more than that; and whether that counts.
    room: Dff<Bits<17>>,
    limited: Dff<Bit>,
    address: Dff<Bits<64>>,
    count: Dff<Bits<4>>,
    go: Dff<Bit>,
    more: Dff<Bit>,
    desc: Dff<DmaDescriptor>,
    desc_valid: Dff<Bit>,
    /// Room for beats not yet promised to a read.
    credit: Dff<Bits<9>>,
    /// Table writes counted.
    writes: Dff<Bits<16>>,
    /// The record at the front was there last clock, so its stamp is read.
    settled: Dff<Bit>,
    endpoint_write: Signal<Local, Bit>,
    tail_ring: Signal<Local, Bit>,
    enabled: Signal<Local, Bit>,
    other: Signal<Local, Bit>,
    visited: Signal<Local, Bits<8>>,
    hit: Signal<Local, Bit>,
    mask: Signal<Local, Bits<16>>,
    holds: Signal<Local, Bits<16>>,
    may_hold: Signal<Local, Bits<16>>,
    /// Entries that lie in one piece, that there are, and that there is room for; up to a visit's
    /// most each.
    reach: Signal<Local, Bits<4>>,
    wanted: Signal<Local, Bits<4>>,
    space: Signal<Local, Bits<4>>,
    /// There are more than a visit reads.
    over: Signal<Local, Bit>,
    /// A part of what there is is read where there is no room for all.
    parted: Signal<Local, Bit>,
    wanted_fits: Signal<Local, Bit>,
    reach_fits: Signal<Local, Bit>,
    bounded: Signal<Local, Bits<4>>,
    chunk: Signal<Local, Bits<4>>,
    bytes: Signal<Local, Bits<13>>,
    span: Signal<Local, Bits<13>>,
    cost: Signal<Local, Bits<9>>,
    issue: Signal<Local, Bit>,
    beat_taken: Signal<Local, Bit>,
    record_taken: Signal<Local, Bit>,
    record_there: Signal<Local, Bit>,
    owner_counts: Constant<Bit>,
    capacity: Constant<Bits<16>>,
    ones: Constant<Bits<16>>,
    most: Constant<Bits<4>>,
    entry_log2: Constant<Bits<4>>,
    dearest: Constant<Bits<9>>,
    all_credit: Constant<Bits<9>>,
    beat_rest: Constant<Bits<13>>,
    this_table: Constant<Bits<4>>,
    this_doorbell: Constant<Bits<2>>,
    both: Constant<Bit>,
    at_enable: Constant<Bits<9>>,
    at_other: Constant<Bits<9>>,
    at_base: Constant<Bits<9>>,
    at_log2: Constant<Bits<9>>,
    at_parts: Constant<Bits<9>>,
}

impl RingReader {
    pub fn new(config: &Config, kind: &RingKind) -> Self {
        let endpoints = config.endpoints_log2;
        let beats = |entries: u64| (entries << kind.entry_log2).div_ceil(64);
        assert!(
            (2..=8).contains(&config.ring_beats_log2),
            "ring reader of 2^{} beats: two visits of an entry take up to 4, a count holds 2^8",
            config.ring_beats_log2
        );
        // One visit's entries come while the one before is worked off.
        let of_room = (1u64 << config.ring_beats_log2 << 6) >> 1 >> kind.entry_log2;
        let most = MOST.min(of_room).min(kind.held_log2.map_or(MOST, |log2| 1 << log2));
        Self {
            clk: Default::default(),
            rst: Default::default(),
            enable: Default::default(),
            doorbell: Default::default(),
            table_write: Default::default(),
            look_index: Default::default(),
            unread: Default::default(),
            read_to: Default::default(),
            visit_index: Default::default(),
            freed: Default::default(),
            held_now: Default::default(),
            most_held: Default::default(),
            issued: Default::default(),
            issued_count: Default::default(),
            poke_valid: Default::default(),
            poke_index: Default::default(),
            skip_valid: Default::default(),
            skip_index: Default::default(),
            skip_ready: Default::default(),
            read_desc_valid: Default::default(),
            read_desc_data: Default::default(),
            read_desc_ready: Default::default(),
            read_beat_valid: Default::default(),
            read_beat_data: Default::default(),
            read_beat_ready: Default::default(),
            read_status_valid: Default::default(),
            read_status_data: Default::default(),
            record_valid: Default::default(),
            record_data: Default::default(),
            record_ready: Default::default(),
            failed: Default::default(),
            stale: Default::default(),
            beat_valid: Default::default(),
            beat_data: Default::default(),
            beat_ready: Default::default(),
            ready: Default::default(),
            work: WorkQueue::new(),
            rings: ClearedRam::new(endpoints, "block").reads_old().fed_zeros(),
            stamps: ClearedRam::new(endpoints, "distributed").reads_old().fed_zeros(),
            tails: ClearedRam::new(endpoints, "distributed").reads_old().fed_zeros(),
            heads: ClearedRam::new(endpoints, "distributed").reads_old(),
            tails_look: ClearedRam::new(endpoints, "distributed").reads_old().fed_zeros(),
            heads_look: ClearedRam::new(endpoints, "distributed").reads_old(),
            records: Fifo::new(config.ring_beats_log2.clamp(4, 6)),
            beats: LateFifo::new(config.ring_beats_log2),
            errors: Fifo::new(7),
            state: Default::default(),
            current: Default::default(),
            rewritten: Default::default(),
            live: Default::default(),
            base: Default::default(),
            stamp: Default::default(),
            parts: Default::default(),
            head: Default::default(),
            place: Default::default(),
            pending: Default::default(),
            rest: Default::default(),
            room: Default::default(),
            limited: Default::default(),
            address: Default::default(),
            count: Default::default(),
            go: Default::default(),
            more: Default::default(),
            desc: Default::default(),
            desc_valid: Default::default(),
            credit: Default::default(),
            writes: Default::default(),
            settled: Default::default(),
            endpoint_write: Default::default(),
            tail_ring: Default::default(),
            enabled: Default::default(),
            other: Default::default(),
            visited: Default::default(),
            hit: Default::default(),
            mask: Default::default(),
            holds: Default::default(),
            may_hold: Default::default(),
            reach: Default::default(),
            wanted: Default::default(),
            space: Default::default(),
            over: Default::default(),
            parted: Default::default(),
            wanted_fits: Default::default(),
            reach_fits: Default::default(),
            bounded: Default::default(),
            chunk: Default::default(),
            bytes: Default::default(),
            span: Default::default(),
            cost: Default::default(),
            issue: Default::default(),
            beat_taken: Default::default(),
            record_taken: Default::default(),
            record_there: Default::default(),
            owner_counts: Constant::new(kind.held_log2.is_none()),
            capacity: Constant::new((1u64 << kind.held_log2.unwrap_or(0)).into()),
            ones: Constant::new(0xFFFFu64.into()),
            most: Constant::new(most.into()),
            entry_log2: Constant::new(kind.entry_log2.into()),
            dearest: Constant::new(beats(most).into()),
            all_credit: Constant::new((1u64 << config.ring_beats_log2).into()),
            beat_rest: Constant::new(63u64.into()),
            this_table: Constant::new(u64::from(regs::table::ENDPOINT).into()),
            this_doorbell: Constant::new(kind.doorbell.into()),
            both: Constant::new(kind.both),
            at_enable: lsb(kind.enable[0]),
            at_other: lsb(kind.enable[1]),
            at_base: lsb(kind.base),
            at_log2: lsb(kind.log2),
            at_parts: lsb(kind.parts),
        }
    }
}

impl Logic for RingReader {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, state, current, rewritten, live, base, stamp, parts, head, place, pending, rest
        );
        dff_setup!(
            self, clk, room, limited, address, count, go, more, desc, desc_valid, credit, writes, settled
        );
        self.work.clk.next = self.clk.val();
        self.work.rst.next = self.rst.val();
        self.rings.clk.next = self.clk.val();
        self.rings.rst.next = self.rst.val();
        self.stamps.clk.next = self.clk.val();
        self.stamps.rst.next = self.rst.val();
        self.tails.clk.next = self.clk.val();
        self.tails.rst.next = self.rst.val();
        self.heads.clk.next = self.clk.val();
        self.heads.rst.next = self.rst.val();
        self.tails_look.clk.next = self.clk.val();
        self.tails_look.rst.next = self.rst.val();
        self.heads_look.clk.next = self.clk.val();
        self.heads_look.rst.next = self.rst.val();
        self.records.clk.next = self.clk.val();
        self.records.rst.next = self.rst.val();
        self.beats.clk.next = self.clk.val();
        self.beats.rst.next = self.rst.val();
        self.errors.clk.next = self.clk.val();
        self.errors.rst.next = self.rst.val();
        self.ready.next = self.rings.ready.val()
            & self.stamps.ready.val()
            & self.tails.ready.val()
            & self.heads.ready.val()
            & self.tails_look.ready.val()
            & self.heads_look.ready.val()
            & self.work.ready.val();

        // Tables and doorbells.
        self.endpoint_write.next =
            self.table_write.val().valid & (self.table_write.val().table == self.this_table.val());
        self.tail_ring.next =
            self.doorbell.val().valid & (self.doorbell.val().kind == self.this_doorbell.val());
        if self.endpoint_write.val() {
            self.writes.d.next = self.writes.q.val() + 1;
        }
        self.rings.write_enable.next = self.endpoint_write.val();
        self.rings.write_address.next = self.table_write.val().index;
        self.enabled.next = self.table_write.val().entry.get_bit(self.at_enable.val().index());
        self.other.next = self.table_write.val().entry.get_bit(self.at_other.val().index());
        self.rings.write_data.next.live = (self.enabled.val() & self.other.val())
            | (!self.both.val() & (self.enabled.val() | self.other.val()));
        self.rings.write_data.next.log2 =
            self.table_write.val().entry.get_bits::<4>(self.at_log2.val().index());
        self.rings.write_data.next.base =
            self.table_write.val().entry.get_bits::<64>(self.at_base.val().index());
        self.rings.write_data.next.stamp = self.writes.q.val();
        self.rings.write_data.next.parts = self.table_write.val().entry.get_bit(self.at_parts.val().index());
        self.stamps.write_enable.next = self.endpoint_write.val();
        self.stamps.write_address.next = self.table_write.val().index;
        self.stamps.write_data.next = self.writes.q.val();
        self.tails.write_enable.next = self.endpoint_write.val() | self.tail_ring.val();
        self.tails.write_address.next = self.table_write.val().index;
        self.tails.write_data.next = 0.into();
        if self.tail_ring.val() {
            self.tails.write_address.next = self.doorbell.val().index;
            self.tails.write_data.next = self.doorbell.val().value;
        }
        self.tails_look.write_enable.next = self.endpoint_write.val() | self.tail_ring.val();
        self.tails_look.write_address.next = self.table_write.val().index;
        self.tails_look.write_data.next = 0.into();
        if self.tail_ring.val() {
            self.tails_look.write_address.next = self.doorbell.val().index;
            self.tails_look.write_data.next = self.doorbell.val().value;
        }
        self.tails_look.read_address.next = self.look_index.val();
        self.heads_look.read_address.next = self.look_index.val();
        self.unread.next = self.tails_look.read_data.val() != self.heads_look.read_data.val();
        self.read_to.next = self.heads_look.read_data.val().get_bits::<8>(0);
        self.work.ring_valid.next = self.tail_ring.val();
        self.work.ring_index.next = self.doorbell.val().index;
        self.work.poke_valid.next = self.poke_valid.val();
        self.work.poke_index.next = self.poke_index.val();
        self.work.skip_valid.next = self.skip_valid.val();
        self.work.skip_index.next = self.skip_index.val();
        self.skip_ready.next = self.work.skip_ready.val();

        // A visit. The tables answer in `Look`, one clock after `Idle`.
        self.rings.read_address.next = self.work.visit_index.val();
        self.tails.read_address.next = self.work.visit_index.val();
        self.heads.read_address.next = self.work.visit_index.val();
        // No sum stands between the ring, which comes out of a memory late, and its registers.
        self.mask.next = !(self.ones.val() << self.rings.read_data.val().log2);
        self.holds.next = bit_cast::<16, 8>(self.heads.read_data.val().get_bits::<8>(0) - self.freed.val());
        self.may_hold.next = self.capacity.val();
        if self.owner_counts.val() {
            self.holds.next = self.held_now.val();
            self.may_hold.next = self.most_held.val();
        }
        // The least of three, each by itself up to a visit's most before they are compared.
        self.reach.next = self.most.val();
        if self.rest.q.val() < bit_cast::<16, 4>(self.most.val()) {
            self.reach.next = self.rest.q.val().get_bits::<4>(0) + 1;
        }
        self.over.next = self.pending.q.val() > bit_cast::<16, 4>(self.most.val());
        self.wanted.next = self.pending.q.val().get_bits::<4>(0);
        if self.over.val() {
            self.wanted.next = self.most.val();
        }
        self.space.next = self.room.q.val().get_bits::<4>(0);
        if self.room.q.val().get_bits::<16>(0) >= bit_cast::<16, 4>(self.most.val()) {
            self.space.next = self.most.val();
        }
        if self.room.q.val().get_bit(16) {
            self.space.next = 0.into();
        }
        // A quota may be smaller than a read; prefetched places wait for a whole one.
        self.parted.next = (self.owner_counts.val() | self.parts.q.val()) & self.limited.q.val();
        self.wanted_fits.next = self.wanted.val() <= self.space.val();
        self.reach_fits.next = self.reach.val() <= self.space.val();
        self.bounded.next = self.wanted.val();
        if self.parted.val() & !self.wanted_fits.val() {
            self.bounded.next = self.space.val();
        }
        self.chunk.next = self.bounded.val();
        if self.reach.val() < self.bounded.val() {
            self.chunk.next = self.reach.val();
        }
        self.bytes.next = bit_cast::<13, 4>(self.count.q.val()) << self.entry_log2.val();
        self.span.next = (self.bytes.val() + self.beat_rest.val()) >> 6;
        self.cost.next = self.span.val().get_bits::<9>(0);

        self.visited.next = self.current.q.val();
        if self.state.q.val() == Visit::Idle {
            self.visited.next = self.work.visit_index.val();
        }
        self.visit_index.next = self.visited.val();
        self.hit.next = self.endpoint_write.val() & (self.table_write.val().index == self.visited.val());
        self.work.visit_ready.next = false;
        self.work.finish_valid.next = false;
        self.work.finish_again.next = self.more.q.val();
        self.issue.next = false;
        match self.state.q.val() {
            Visit::Idle => {
                if self.enable.val() {
                    self.work.visit_ready.next = true;
                    self.current.d.next = self.work.visit_index.val();
                    if self.work.visit_valid.val() {
                        self.state.d.next = Visit::Look;
                    }
                }
            }
            Visit::Look => {
                self.live.d.next = self.rings.read_data.val().live;
                self.base.d.next = self.rings.read_data.val().base;
                self.stamp.d.next = self.rings.read_data.val().stamp;
                self.parts.d.next = self.rings.read_data.val().parts;
                self.head.d.next = self.heads.read_data.val();
                self.place.d.next = self.heads.read_data.val() & self.mask.val();
                self.pending.d.next = self.tails.read_data.val() - self.heads.read_data.val();
                self.rest.d.next = !self.heads.read_data.val() & self.mask.val();
                self.room.d.next =
                    bit_cast::<17, 16>(self.may_hold.val()) - bit_cast::<17, 16>(self.holds.val());
                self.limited.d.next = self.may_hold.val().any();
                self.state.d.next = Visit::Size;
            }
            Visit::Size => {
                self.count.d.next = self.chunk.val();
                self.address.d.next =
                    self.base.q.val() + (bit_cast::<64, 16>(self.place.q.val()) << self.entry_log2.val());
                self.go.d.next = self.live.q.val()
                    & self.pending.q.val().any()
                    & (!self.limited.q.val()
                        | (self.parted.val() & (self.space.val() != 0))
                        | self.wanted_fits.val()
                        | self.reach_fits.val());
                self.more.d.next = self.over.val()
                    | (self.reach.val() < self.wanted.val())
                    | (self.parted.val() & !self.wanted_fits.val());
                self.state.d.next = Visit::Issue;
            }
            Visit::Issue => {
                // A table write needs the port of the heads; if it is of this endpoint, the next
                // clock knows.
                if !self.endpoint_write.val() {
                    if self.rewritten.q.val() | !self.go.q.val() {
                        self.work.finish_valid.next = true;
                        self.work.finish_again.next = self.rewritten.q.val();
                        if self.work.finish_ready.val() {
                            self.state.d.next = Visit::Idle;
                        }
                    } else {
                        self.issue.next = !self.desc_valid.q.val()
                            & self.records.in_ready.val()
                            & (self.credit.q.val() >= self.dearest.val())
                            & self.work.finish_ready.val();
                        self.work.finish_valid.next = self.issue.val();
                        if self.issue.val() {
                            self.state.d.next = Visit::Idle;
                        }
                    }
                }
            }
        }
        self.rewritten.d.next = self.hit.val();
        if self.state.q.val() != Visit::Idle {
            self.rewritten.d.next = self.rewritten.q.val() | self.hit.val();
        }

        self.heads.write_enable.next = self.endpoint_write.val() | self.issue.val();
        self.heads.write_address.next = self.current.q.val();
        self.heads.write_data.next = self.head.q.val() + bit_cast::<16, 4>(self.count.q.val());
        if self.endpoint_write.val() {
            self.heads.write_address.next = self.table_write.val().index;
            self.heads.write_data.next = 0.into();
        }
        self.heads_look.write_enable.next = self.endpoint_write.val() | self.issue.val();
        self.heads_look.write_address.next = self.current.q.val();
        self.heads_look.write_data.next = self.head.q.val() + bit_cast::<16, 4>(self.count.q.val());
        if self.endpoint_write.val() {
            self.heads_look.write_address.next = self.table_write.val().index;
            self.heads_look.write_data.next = 0.into();
        }
        self.issued.next = self.issue.val();
        self.issued_count.next = self.count.q.val();
        self.records.in_valid.next = self.issue.val();
        self.records.in_data.next.endpoint = self.current.q.val();
        self.records.in_data.next.index = self.head.q.val();
        self.records.in_data.next.count = self.count.q.val();
        self.records.in_data.next.stamp = self.stamp.q.val();

        self.read_desc_valid.next = self.desc_valid.q.val();
        self.read_desc_data.next = self.desc.q.val();
        if self.read_desc_ready.val() {
            self.desc_valid.d.next = false;
        }
        if self.issue.val() {
            self.desc_valid.d.next = true;
            self.desc.d.next.address = self.address.q.val();
            self.desc.d.next.length = self.bytes.val();
            self.desc.d.next.tag = 0.into();
        }

        // What comes back.
        self.beats.in_valid.next = self.read_beat_valid.val();
        self.beats.in_data.next = self.read_beat_data.val().tdata;
        self.read_beat_ready.next = self.beats.in_ready.val();
        self.beat_valid.next = self.beats.out_valid.val();
        self.beat_data.next = self.beats.out_data.val();
        self.beats.out_ready.next = self.beat_ready.val();
        self.beat_taken.next = self.beats.out_valid.val() & self.beat_ready.val();
        if self.issue.val() {
            if self.beat_taken.val() {
                self.credit.d.next = self.credit.q.val() - self.cost.val() + 1;
            } else {
                self.credit.d.next = self.credit.q.val() - self.cost.val();
            }
        } else {
            if self.beat_taken.val() {
                self.credit.d.next = self.credit.q.val() + 1;
            }
        }

        self.errors.in_valid.next = self.read_status_valid.val();
        self.errors.in_data.next = self.read_status_data.val().error;
        self.record_there.next =
            self.records.out_valid.val() & self.errors.out_valid.val() & self.settled.q.val();
        self.record_taken.next = self.record_there.val() & self.record_ready.val();
        self.settled.d.next = self.records.out_valid.val() & !self.record_taken.val();
        self.record_valid.next = self.record_there.val();
        self.record_data.next = self.records.out_data.val();
        self.failed.next = self.errors.out_data.val();
        self.records.out_ready.next = self.record_taken.val();
        self.errors.out_ready.next = self.record_taken.val();
        self.stamps.read_address.next = self.records.out_data.val().endpoint;
        self.stale.next = self.stamps.read_data.val() != self.records.out_data.val().stamp;

        if self.rst.val() {
            self.state.d.next = Visit::Idle;
            self.desc_valid.d.next = false;
            self.credit.d.next = self.all_credit.val();
            self.writes.d.next = 0.into();
            self.settled.d.next = false;
        }
    }
}
