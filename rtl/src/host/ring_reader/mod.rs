//! Reads the rings of all endpoints in turn, many reads in flight.
//!
//! ```text
//!   doorbell ──> tail ─┐
//!                head ─┼─> work queue ─> visit: (look,) weigh, size, issue ──> read_desc
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
//! Contract: one visit per four clocks, of an endpoint alone one per six; the beats of `ring_beats_log2` in flight, of as many
//! reads, but 66 at most; no further clock is lost between beats. `doorbell` and `table_write` come at
//! least three clocks apart (`host/registers` keeps four). `record` and `stale`
//! hold until taken; `stale` shows a table write two clocks later.
//!
//! Verified by `testbenches/tests/sq_fetch` and `rq_fetch`.

mod kind;
mod returns;
mod tables;
mod visits;

pub use kind::RingKind;

use super::cleared_ram::ClearedRam;
use super::lsb;
use super::work_queue::WorkQueue;
use crate::kernel_of_parts;
use crate::prelude::*;
use crate::stream::{Fifo, LateFifo};
use crate::types::{Beat, DmaDescriptor, DmaStatus, Doorbell, TableWrite};
use tessera_abi::params::Config;
use tessera_abi::regs;

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
    Weigh,
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
    /// The endpoint to be visited next. When `looks` is high, what the owner says below is of the one that it showed
    /// a clock ago, and taken.
    pub visit_index: Signal<Out, Bits<8>>,
    pub looks: Signal<Out, Bit>,
    /// Running count of entries it has freed.
    pub freed: Signal<In, Bits<8>>,
    /// Where the owner counts: how many it has, and may have (0: any number).
    pub held_now: Signal<In, Bits<16>>,
    pub most_held: Signal<In, Bits<16>>,
    /// So many entries of the endpoint visited will be read.
    pub issued: Signal<Out, Bit>,
    pub issued_index: Signal<Out, Bits<8>>,
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
    /// The next clock has it at the front, and `stale` is of it in this one.
    pub record_stands: Signal<Out, Bit>,
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
    /// What the tables show is of the endpoint that waits.
    stood: Dff<Bit>,
    /// The endpoint visited was written meanwhile.
    rewritten: Dff<Bit>,
    live: Dff<Bit>,
    base: Dff<Bits<64>>,
    stamp: Dff<Bits<16>>,
    parts: Dff<Bit>,
    log2: Dff<Bits<4>>,
    head: Dff<Bits<16>>,
    tail: Dff<Bits<16>>,
    /// What the owner says of it: entries freed, or as it counts those held; and how many it may have.
    held: Dff<Bits<16>>,
    may_hold: Dff<Bits<16>>,
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
            looks: Default::default(),
            issued: Default::default(),
            issued_index: Default::default(),
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
            record_stands: Default::default(),
            failed: Default::default(),
            stale: Default::default(),
            beat_valid: Default::default(),
            beat_data: Default::default(),
            beat_ready: Default::default(),
            ready: Default::default(),
            work: WorkQueue::new(),
            rings: ClearedRam::new(endpoints, "block").reads_old().fed_zeros(),
            stamps: ClearedRam::of_endpoints(config).fed_zeros(),
            tails: ClearedRam::of_endpoints(config).fed_zeros(),
            heads: ClearedRam::of_endpoints(config),
            tails_look: ClearedRam::of_endpoints(config).fed_zeros(),
            heads_look: ClearedRam::of_endpoints(config),
            records: Fifo::new(config.ring_beats_log2.clamp(4, 6)),
            beats: LateFifo::new(config.ring_beats_log2),
            errors: Fifo::new(7),
            state: Default::default(),
            current: Default::default(),
            stood: Default::default(),
            rewritten: Default::default(),
            live: Default::default(),
            base: Default::default(),
            stamp: Default::default(),
            parts: Default::default(),
            log2: Default::default(),
            head: Default::default(),
            tail: Default::default(),
            held: Default::default(),
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

kernel_of_parts!(RingReader: tables::Tables, visits::Visits, returns::Returns);
