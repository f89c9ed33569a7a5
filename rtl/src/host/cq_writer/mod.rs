//! Completions to completion queues in host memory.
//!
//! ```text
//!   done_rx ─┐
//!   done_tx ─┤ turns   endpoint ──> cq number ──> ring, indexes ──> entry ──> write_desc
//!   done_sq ─┼──────>  pick           route             write             └─> write_beat
//!   done_rq ─┤
//!   done_match (always first)
//! ```
//!
//! The endpoint's table entry names the queue, for sends and for receives, and
//! the shared ring that a receive was taken from. An
//! entry is written when the ring has room: producer - consumer < size; its
//! phase is 1 in the first pass. A completion for a full or missing queue is
//! dropped and `event_overrun` pulses. Writing a queue's table entry sets both
//! indexes to 0.
//!
//! Contract: one completion per two clocks, sustained; three clocks from
//! `done_*` to `write_desc`. A head doorbell counts from the second clock after
//! it. `doorbell` and `table_write` come at least three clocks apart.
//!
//! `drained` rises while `drain` is high, once every completion that was offered
//! or taken when it rose is in host memory, whatever else is offered meanwhile:
//! three turns of every stream, as many as wait behind each other in front of one,
//! or a moment in which nothing is wanted. Then the tag of writes changes, and the
//! statuses of the other tag are awaited, which come in any order.
//!
//! Verified by `testbenches/tests/cq_writer.rs`.

mod entry;
mod tables;
mod turns;
mod writing;

use super::byte_order::ByteReverse;
use super::cleared_ram::ClearedRam;
use super::lsb;
use crate::kernel_of_parts;
use crate::prelude::*;
use crate::types::{Beat, DmaDescriptor, DmaStatus, Done, Doorbell, TableWrite};
use tessera_abi::params::Config;
use tessera_abi::queue::{self, done};
use tessera_abi::regs;

/// The queues of an endpoint, and where its receives come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct EndpointQueues {
    pub of_sends: Bits<8>,
    pub of_receives: Bits<8>,
    /// It uses the ring of `shared`.
    pub shares: Bit,
    pub shared: Bits<8>,
}

/// How large a completion queue's ring is.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct CompletionRing {
    pub exists: Bit,
    pub log2: Bits<4>,
}

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    Pick,
    Route,
    Write,
}

#[derive(LogicBlock)]
pub struct CqWriter {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// NIC time, ticks; stamped on entries.
    pub now: Signal<In, Bits<32>>,
    pub doorbell: Signal<In, Doorbell>,
    pub table_write: Signal<In, TableWrite>,
    pub done_rx_valid: Signal<In, Bit>,
    pub done_rx_data: Signal<In, Done>,
    pub done_rx_ready: Signal<Out, Bit>,
    pub done_tx_valid: Signal<In, Bit>,
    pub done_tx_data: Signal<In, Done>,
    pub done_tx_ready: Signal<Out, Bit>,
    pub done_sq_valid: Signal<In, Bit>,
    pub done_sq_data: Signal<In, Done>,
    pub done_sq_ready: Signal<Out, Bit>,
    pub done_rq_valid: Signal<In, Bit>,
    pub done_rq_data: Signal<In, Done>,
    pub done_rq_ready: Signal<Out, Bit>,
    pub done_match_valid: Signal<In, Bit>,
    pub done_match_data: Signal<In, Done>,
    pub done_match_ready: Signal<Out, Bit>,
    pub write_desc_valid: Signal<Out, Bit>,
    pub write_desc_data: Signal<Out, DmaDescriptor>,
    pub write_desc_ready: Signal<In, Bit>,
    pub write_beat_valid: Signal<Out, Bit>,
    pub write_beat_data: Signal<Out, Beat>,
    pub write_beat_ready: Signal<In, Bit>,
    pub write_status_valid: Signal<In, Bit>,
    pub write_status_data: Signal<In, DmaStatus>,
    pub event_overrun: Signal<Out, Bit>,
    pub event_dma_error: Signal<Out, Bit>,
    /// Writes of now are to be waited for; they are over. Low between two waits.
    pub drain: Signal<In, Bit>,
    pub drained: Signal<Out, Bit>,
    /// Tables are cleared.
    pub ready: Signal<Out, Bit>,
    endpoints: ClearedRam<EndpointQueues, 8>,
    rings: ClearedRam<CompletionRing, 8>,
    /// Where they lie: in a block RAM, whose words come late, so that nothing is decided by
    /// them. Of a ring that does not exist, anything.
    bases: SdpRam<Bits<64>, 8>,
    heads: ClearedRam<Bits<16>, 8>,
    tails: ClearedRam<Bits<16>, 8>,
    gid: ByteReverse,
    state: Dff<Step>,
    /// Stream served last: 0 rx, 1 tx, 2 sq, 3 rq.
    last: Dff<Bits<2>>,
    word: Dff<Done>,
    number: Dff<Bits<8>>,
    /// Whose receive ring.
    ring: Dff<Bits<8>>,
    /// A queue was written in the last clock: what was read is too old.
    rewritten: Dff<Bit>,
    /// The descriptor of the entry; its address is that of the ring.
    desc: Dff<DmaDescriptor>,
    offset: Dff<Bits<32>>,
    desc_valid: Dff<Bit>,
    beat: Dff<Bits<512>>,
    beat_valid: Dff<Bit>,
    /// The descriptor is in its first clock, and counted.
    wrote: Dff<Bit>,
    overrun: Dff<Bit>,
    dma_error: Dff<Bit>,
    /// Tag of writes.
    side: Dff<Bit>,
    /// Writes committed and not answered, of either tag.
    owed: [Dff<Bits<16>>; 2],
    /// Turns since `drain` rose.
    turns: Dff<Bits<4>>,
    /// The tag has changed since.
    changed: Dff<Bit>,
    writes: Signal<Local, Bit>,
    /// Of the descriptor.
    tag: Signal<Local, Bit>,
    answered: Signal<Local, Bit>,
    more: [Signal<Local, Bit>; 2],
    less: [Signal<Local, Bit>; 2],
    others_owed: Signal<Local, Bit>,
    endpoint_write: Signal<Local, Bit>,
    queue_write: Signal<Local, Bit>,
    head_ring: Signal<Local, Bit>,
    wanted: Signal<Local, Bit>,
    choice: Signal<Local, Bits<2>>,
    picked: Signal<Local, Done>,
    pick: Signal<Local, Bit>,
    /// Of the four streams that take turns.
    turn: Signal<Local, Bit>,
    route: Signal<Local, Bits<8>>,
    asked: Signal<Local, Bits<8>>,
    size: Signal<Local, Bits<16>>,
    filled: Signal<Local, Bits<16>>,
    place: Signal<Local, Bits<16>>,
    pass: Signal<Local, Bits<16>>,
    /// The queue is full or does not exist.
    lost: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    opcode: Signal<Local, Bits<8>>,
    flags: Signal<Local, Bits<8>>,
    phase: Signal<Local, Bits<8>>,
    message: Signal<Local, Bits<32>>,
    lower: Signal<Local, Bits<512>>,
    upper: Signal<Local, Bits<512>>,
    one: Constant<Bits<16>>,
    last_turn: Constant<Bits<4>>,
    ones: Constant<Bits<64>>,
    endpoint_table: Constant<Bits<4>>,
    queue_table: Constant<Bits<4>>,
    this_doorbell: Constant<Bits<2>>,
    entry_log2: Constant<Bits<4>>,
    entry_bytes: Constant<Bits<13>>,
    sent: Constant<Bits<8>>,
    received: Constant<Bits<8>>,
    imm_flag: Constant<Bits<8>>,
    write_flag: Constant<Bits<8>>,
    grh_flag: Constant<Bits<8>>,
    vlan_flag: Constant<Bits<8>>,
    at_send_cq: Constant<Bits<9>>,
    at_recv_cq: Constant<Bits<9>>,
    at_shares: Constant<Bits<9>>,
    at_shared: Constant<Bits<9>>,
    at_exists: Constant<Bits<9>>,
    at_log2: Constant<Bits<9>>,
    at_base: Constant<Bits<9>>,
    at_opcode: Constant<Bits<9>>,
    at_status: Constant<Bits<9>>,
    at_flags: Constant<Bits<9>>,
    at_endpoint: Constant<Bits<9>>,
    at_entry: Constant<Bits<9>>,
    at_length: Constant<Bits<9>>,
    at_imm: Constant<Bits<9>>,
    at_tag: Constant<Bits<9>>,
    at_message: Constant<Bits<9>>,
    at_peer: Constant<Bits<9>>,
    at_gid: Constant<Bits<9>>,
    has_v6: Constant<Bit>,
    mapped: Constant<Bits<96>>,
    at_time: Constant<Bits<9>>,
    at_ring: Constant<Bits<9>>,
    at_phase: Constant<Bits<9>>,
}

/// The events of the match table follow DONE_RECV.
const _: () = assert!(
    queue::DONE_POSTED == queue::DONE_RECV + 1
        && queue::DONE_UNEXPECTED == queue::DONE_RECV + 2
        && queue::DONE_CANCEL == queue::DONE_RECV + 3
);

/// Turns after which what waited at a stream is committed: three of each of the
/// four, for two words that take turns at one of them, one that came before, and one that is
/// taken only when the last of them is out of the way.
const TURNS: u64 = 13;

/// One beat, one entry.
const _: () = assert!(queue::COMPLETION_LEN == 64);

impl CqWriter {
    pub fn new(config: &Config) -> Self {
        let at = super::bit_of;
        let byte = |value: u8| Constant::new(u64::from(value).into());
        Self {
            clk: Default::default(),
            rst: Default::default(),
            now: Default::default(),
            doorbell: Default::default(),
            table_write: Default::default(),
            done_rx_valid: Default::default(),
            done_rx_data: Default::default(),
            done_rx_ready: Default::default(),
            done_tx_valid: Default::default(),
            done_tx_data: Default::default(),
            done_tx_ready: Default::default(),
            done_sq_valid: Default::default(),
            done_sq_data: Default::default(),
            done_sq_ready: Default::default(),
            done_rq_valid: Default::default(),
            done_rq_data: Default::default(),
            done_rq_ready: Default::default(),
            done_match_valid: Default::default(),
            done_match_data: Default::default(),
            done_match_ready: Default::default(),
            write_desc_valid: Default::default(),
            write_desc_data: Default::default(),
            write_desc_ready: Default::default(),
            write_beat_valid: Default::default(),
            write_beat_data: Default::default(),
            write_beat_ready: Default::default(),
            write_status_valid: Default::default(),
            write_status_data: Default::default(),
            event_overrun: Default::default(),
            event_dma_error: Default::default(),
            drain: Default::default(),
            drained: Default::default(),
            ready: Default::default(),
            endpoints: ClearedRam::new(config.endpoints_log2, "distributed").reads_old().fed_zeros(),
            rings: ClearedRam::new(config.cqs_log2, "distributed").reads_old().fed_zeros(),
            bases: SdpRam::new(config.cqs_log2),
            heads: ClearedRam::new(config.cqs_log2, "distributed").reads_old().fed_zeros(),
            tails: ClearedRam::new(config.cqs_log2, "distributed").reads_old(),
            gid: ByteReverse::new(),
            state: Default::default(),
            last: Default::default(),
            word: Default::default(),
            number: Default::default(),
            ring: Default::default(),
            rewritten: Default::default(),
            desc: Default::default(),
            offset: Default::default(),
            desc_valid: Default::default(),
            beat: Default::default(),
            beat_valid: Default::default(),
            wrote: Default::default(),
            overrun: Default::default(),
            dma_error: Default::default(),
            side: Default::default(),
            owed: Default::default(),
            turns: Default::default(),
            changed: Default::default(),
            writes: Default::default(),
            tag: Default::default(),
            answered: Default::default(),
            more: Default::default(),
            less: Default::default(),
            others_owed: Default::default(),
            endpoint_write: Default::default(),
            queue_write: Default::default(),
            head_ring: Default::default(),
            wanted: Default::default(),
            choice: Default::default(),
            picked: Default::default(),
            pick: Default::default(),
            turn: Default::default(),
            route: Default::default(),
            asked: Default::default(),
            size: Default::default(),
            filled: Default::default(),
            place: Default::default(),
            pass: Default::default(),
            lost: Default::default(),
            free: Default::default(),
            ends: Default::default(),
            opcode: Default::default(),
            flags: Default::default(),
            phase: Default::default(),
            message: Default::default(),
            lower: Default::default(),
            upper: Default::default(),
            one: Constant::new(1u64.into()),
            last_turn: Constant::new(TURNS.into()),
            ones: Constant::new(u64::MAX.into()),
            endpoint_table: Constant::new(u64::from(regs::table::ENDPOINT).into()),
            queue_table: Constant::new(u64::from(regs::table::CQ).into()),
            this_doorbell: Constant::new(super::registers::DOORBELL_KIND_CQ.into()),
            entry_log2: Constant::new(u64::from(queue::COMPLETION_LEN.ilog2()).into()),
            entry_bytes: Constant::new((queue::COMPLETION_LEN as u64).into()),
            sent: byte(queue::DONE_SEND),
            received: byte(queue::DONE_RECV),
            imm_flag: byte(queue::DONE_IMM),
            write_flag: byte(queue::DONE_WRITE),
            grh_flag: byte(queue::DONE_GRH),
            vlan_flag: byte(queue::DONE_VLAN),
            at_send_cq: lsb(regs::endpoint::SEND_CQ),
            at_recv_cq: lsb(regs::endpoint::RECV_CQ),
            at_shares: lsb(regs::endpoint::SHARES),
            at_shared: lsb(regs::endpoint::SHARED_RING),
            at_exists: lsb(regs::cq::VALID),
            at_log2: lsb(regs::cq::LOG2),
            at_base: lsb(regs::cq::BASE),
            at_opcode: at(done::OPCODE),
            at_status: at(done::STATUS),
            at_flags: at(done::FLAGS),
            at_endpoint: at(done::ENDPOINT),
            at_entry: at(done::ENTRY),
            at_length: at(done::LENGTH),
            at_imm: at(done::IMMEDIATE),
            at_tag: at(done::TAG),
            at_message: at(done::MESSAGE),
            at_peer: at(done::PEER_ENDPOINT),
            at_gid: at(done::PEER_GID),
            has_v6: Constant::new(config.ipv6),
            mapped: Constant::new(0xFFFFu64.into()),
            at_time: at(done::TIMESTAMP),
            at_ring: at(done::RING),
            at_phase: at(done::PHASE),
        }
    }
}

kernel_of_parts!(CqWriter: tables::Tables, turns::Turns, entry::Entry, writing::Writing);
