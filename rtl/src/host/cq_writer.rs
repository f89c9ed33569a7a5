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

use super::byte_order::ByteReverse;
use super::cleared_ram::ClearedRam;
use super::lsb;
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

impl Logic for CqWriter {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, state, last, word, number, ring, rewritten, desc, desc_valid, beat, beat_valid);
        dff_setup!(self, clk, wrote, overrun, dma_error, side, turns, changed, offset);
        self.owed[0].clock.next = self.clk.val();
        self.owed[1].clock.next = self.clk.val();
        self.endpoints.clk.next = self.clk.val();
        self.endpoints.rst.next = self.rst.val();
        self.rings.clk.next = self.clk.val();
        self.rings.rst.next = self.rst.val();
        self.bases.clock.next = self.clk.val();
        self.heads.clk.next = self.clk.val();
        self.heads.rst.next = self.rst.val();
        self.tails.clk.next = self.clk.val();
        self.tails.rst.next = self.rst.val();
        self.ready.next = self.endpoints.ready.val()
            & self.rings.ready.val()
            & self.heads.ready.val()
            & self.tails.ready.val();

        // Copies of the tables.
        self.endpoint_write.next =
            self.table_write.val().valid & (self.table_write.val().table == self.endpoint_table.val());
        self.queue_write.next =
            self.table_write.val().valid & (self.table_write.val().table == self.queue_table.val());
        self.head_ring.next =
            self.doorbell.val().valid & (self.doorbell.val().kind == self.this_doorbell.val());
        self.endpoints.write_enable.next = self.endpoint_write.val();
        self.endpoints.write_address.next = self.table_write.val().index;
        self.endpoints.write_data.next.of_sends =
            self.table_write.val().entry.get_bits::<8>(self.at_send_cq.val().index());
        self.endpoints.write_data.next.of_receives =
            self.table_write.val().entry.get_bits::<8>(self.at_recv_cq.val().index());
        self.endpoints.write_data.next.shares =
            self.table_write.val().entry.get_bit(self.at_shares.val().index());
        self.endpoints.write_data.next.shared =
            self.table_write.val().entry.get_bits::<8>(self.at_shared.val().index());
        self.rings.write_enable.next = self.queue_write.val();
        self.rings.write_address.next = self.table_write.val().index;
        self.rings.write_data.next.exists =
            self.table_write.val().entry.get_bit(self.at_exists.val().index());
        self.rings.write_data.next.log2 =
            self.table_write.val().entry.get_bits::<4>(self.at_log2.val().index());
        self.bases.write_enable.next = self.queue_write.val();
        self.bases.write_address.next = self.table_write.val().index;
        self.bases.write_data.next = self.table_write.val().entry.get_bits::<64>(self.at_base.val().index());
        self.heads.write_enable.next = self.queue_write.val() | self.head_ring.val();
        self.heads.write_address.next = self.table_write.val().index;
        self.heads.write_data.next = 0.into();
        if self.head_ring.val() {
            self.heads.write_address.next = self.doorbell.val().index;
            self.heads.write_data.next = self.doorbell.val().value;
        }
        self.rewritten.d.next = self.queue_write.val();

        // Turns: the stream behind the one served last comes first. Of several
        // assignments the last counts, so each list runs from last to first.
        self.choice.next = self.last.q.val();
        match self.last.q.val().index() {
            0 => {
                if self.done_rq_valid.val() {
                    self.choice.next = 3.into();
                }
                if self.done_sq_valid.val() {
                    self.choice.next = 2.into();
                }
                if self.done_tx_valid.val() {
                    self.choice.next = 1.into();
                }
            }
            1 => {
                if self.done_rx_valid.val() {
                    self.choice.next = 0.into();
                }
                if self.done_rq_valid.val() {
                    self.choice.next = 3.into();
                }
                if self.done_sq_valid.val() {
                    self.choice.next = 2.into();
                }
            }
            2 => {
                if self.done_tx_valid.val() {
                    self.choice.next = 1.into();
                }
                if self.done_rx_valid.val() {
                    self.choice.next = 0.into();
                }
                if self.done_rq_valid.val() {
                    self.choice.next = 3.into();
                }
            }
            _ => {
                if self.done_sq_valid.val() {
                    self.choice.next = 2.into();
                }
                if self.done_tx_valid.val() {
                    self.choice.next = 1.into();
                }
                if self.done_rx_valid.val() {
                    self.choice.next = 0.into();
                }
            }
        }
        self.picked.next = self.done_rx_data.val();
        match self.choice.val().index() {
            0 => self.picked.next = self.done_rx_data.val(),
            1 => self.picked.next = self.done_tx_data.val(),
            2 => self.picked.next = self.done_sq_data.val(),
            _ => self.picked.next = self.done_rq_data.val(),
        }
        // What the match table tells of comes before the end of its message.
        if self.done_match_valid.val() {
            self.picked.next = self.done_match_data.val();
        }
        self.wanted.next = self.done_rx_valid.val()
            | self.done_tx_valid.val()
            | self.done_sq_valid.val()
            | self.done_rq_valid.val()
            | self.done_match_valid.val();
        // The last clock of one completion picks the next. Whether it is lost comes late, and
        // the engine's ready too: neither is in the decision. A write that is taken at once is
        // gone when the next one is there.
        self.free.next = !self.desc_valid.q.val() & !self.beat_valid.q.val();
        self.ends.next = (self.state.q.val() == Step::Write)
            & self.free.val()
            & !self.queue_write.val()
            & !self.rewritten.q.val();
        self.pick.next = ((self.state.q.val() == Step::Pick) | self.ends.val()) & self.wanted.val();
        self.turn.next = self.pick.val() & !self.done_match_valid.val();
        self.done_match_ready.next = self.pick.val();
        self.done_rx_ready.next = self.turn.val() & (self.choice.val() == 0);
        self.done_tx_ready.next = self.turn.val() & (self.choice.val() == 1);
        self.done_sq_ready.next = self.turn.val() & (self.choice.val() == 2);
        self.done_rq_ready.next = self.turn.val() & (self.choice.val() == 3);

        // The queue's number, then its ring.
        self.endpoints.read_address.next = self.picked.val().endpoint;
        self.route.next = self.endpoints.read_data.val().of_sends;
        if self.word.q.val().receive {
            self.route.next = self.endpoints.read_data.val().of_receives;
        }
        self.asked.next = self.number.q.val();
        if self.state.q.val() == Step::Route {
            self.asked.next = self.route.val();
        }
        self.rings.read_address.next = self.asked.val();
        self.bases.read_address.next = self.asked.val();
        self.heads.read_address.next = self.asked.val();
        self.tails.read_address.next = self.asked.val();

        self.size.next = self.one.val() << self.rings.read_data.val().log2;
        self.filled.next = self.tails.read_data.val() - self.heads.read_data.val();
        self.lost.next = !self.rings.read_data.val().exists | (self.filled.val() >= self.size.val());
        self.place.next = self.tails.read_data.val() & (self.size.val() - self.one.val());
        self.pass.next = self.tails.read_data.val() >> self.rings.read_data.val().log2;

        // The entry.
        self.gid.value.next = self.word.q.val().peer_gid;
        if !self.has_v6.val() & self.word.q.val().peer_gid.any() {
            self.gid.value.next = self.word.q.val().peer_gid | (bit_cast::<128, 96>(self.mapped.val()) << 32);
        }
        self.opcode.next = self.sent.val();
        if self.word.q.val().receive {
            self.opcode.next = self.received.val() + bit_cast::<8, 2>(self.word.q.val().event);
        }
        self.flags.next = 0.into();
        if self.word.q.val().has_imm {
            self.flags.next = self.imm_flag.val();
        }
        if self.word.q.val().write {
            self.flags.next = self.flags.val() | self.write_flag.val();
        }
        if self.word.q.val().grh {
            self.flags.next = self.flags.val() | self.grh_flag.val();
        }
        if self.word.q.val().vlan_valid {
            self.flags.next = self.flags.val() | self.vlan_flag.val();
        }
        self.phase.next = 1.into();
        if self.pass.val().get_bit(0) {
            self.phase.next = 0.into();
        }
        self.message.next = (bit_cast::<32, 12>(self.word.q.val().slot) << 20)
            | bit_cast::<32, 20>(self.word.q.val().generation);
        self.lower.next = (bit_cast::<512, 8>(self.opcode.val()) << self.at_opcode.val())
            | (bit_cast::<512, 8>(self.word.q.val().status) << self.at_status.val())
            | (bit_cast::<512, 8>(self.flags.val()) << self.at_flags.val())
            | (bit_cast::<512, 8>(self.word.q.val().endpoint) << self.at_endpoint.val())
            | (bit_cast::<512, 16>(self.word.q.val().entry) << self.at_entry.val())
            | (bit_cast::<512, 32>(self.word.q.val().length) << self.at_length.val())
            | (bit_cast::<512, 32>(self.word.q.val().imm) << self.at_imm.val());
        self.upper.next = (bit_cast::<512, 64>(self.word.q.val().tag) << self.at_tag.val())
            | (bit_cast::<512, 32>(self.message.val()) << self.at_message.val())
            | (bit_cast::<512, 24>(self.word.q.val().peer_endpoint) << self.at_peer.val())
            | (bit_cast::<512, 128>(self.gid.reversed.val()) << self.at_gid.val())
            | (bit_cast::<512, 32>(self.now.val()) << self.at_time.val())
            | (bit_cast::<512, 8>(self.ring.q.val()) << self.at_ring.val())
            | (bit_cast::<512, 8>(self.phase.val()) << self.at_phase.val());

        self.writes.next = self.ends.val() & !self.lost.val();
        self.wrote.d.next = self.writes.val();
        if self.write_desc_ready.val() {
            self.desc_valid.d.next = false;
        }
        if self.write_beat_ready.val() {
            self.beat_valid.d.next = false;
        }
        self.overrun.d.next = self.ends.val() & self.lost.val();
        self.tails.write_enable.next = self.queue_write.val() | self.writes.val();
        self.tails.write_address.next = self.number.q.val();
        self.tails.write_data.next = self.tails.read_data.val() + 1;
        if self.queue_write.val() {
            self.tails.write_address.next = self.table_write.val().index;
            self.tails.write_data.next = 0.into();
        }
        match self.state.q.val() {
            Step::Pick => {}
            Step::Route => {
                self.number.d.next = self.route.val();
                self.ring.d.next = 0.into();
                if self.word.q.val().receive {
                    self.ring.d.next = self.word.q.val().endpoint;
                    if self.endpoints.read_data.val().shares & !self.word.q.val().own {
                        self.ring.d.next = self.endpoints.read_data.val().shared;
                    }
                }
                self.state.d.next = Step::Write;
            }
            Step::Write => {
                // What is lost is put there too, and never valid: how full the ring is,
                // is known late.
                if self.free.val() {
                    // Added behind the registers: the base comes out of a memory.
                    self.desc.d.next.address = self.bases.read_data.val();
                    self.offset.d.next = bit_cast::<32, 16>(self.place.val()) << self.entry_log2.val();
                    self.desc.d.next.length = self.entry_bytes.val();
                    self.desc.d.next.tag = bit_cast::<8, 1>(self.side.q.val().into());
                    self.beat.d.next = self.lower.val() | self.upper.val();
                }
                if self.ends.val() {
                    self.state.d.next = Step::Pick;
                }
                if self.writes.val() {
                    self.desc_valid.d.next = true;
                    self.beat_valid.d.next = true;
                }
            }
        }
        if self.pick.val() {
            self.word.d.next = self.picked.val();
            if self.turn.val() {
                self.last.d.next = self.choice.val();
            }
            self.state.d.next = Step::Route;
        }
        self.write_desc_valid.next = self.desc_valid.q.val();
        self.write_desc_data.next = self.desc.q.val();
        self.write_desc_data.next.address =
            self.desc.q.val().address + bit_cast::<64, 32>(self.offset.q.val());
        self.write_beat_valid.next = self.beat_valid.q.val();
        self.write_beat_data.next.tdata = self.beat.q.val();
        self.write_beat_data.next.tkeep = self.ones.val();
        self.write_beat_data.next.tlast = true;

        // What was begun before the tag changed is over when its last status is there.
        self.answered.next = self.write_status_valid.val();
        // Counted a clock late: before the tag changes, all that was offered when `drain` rose
        // is counted, for a turn or a pause came behind it.
        self.tag.next = self.desc.q.val().tag.get_bit(0);
        self.more[0].next = self.wrote.q.val() & !self.tag.val();
        self.more[1].next = self.wrote.q.val() & self.tag.val();
        self.less[0].next = self.answered.val() & !self.write_status_data.val().tag.get_bit(0);
        self.less[1].next = self.answered.val() & self.write_status_data.val().tag.get_bit(0);
        for i in 0..2 {
            self.owed[i].d.next = self.owed[i].q.val();
            if self.more[i].val() & !self.less[i].val() {
                self.owed[i].d.next = self.owed[i].q.val() + 1;
            }
            if self.less[i].val() & !self.more[i].val() {
                self.owed[i].d.next = self.owed[i].q.val() - 1;
            }
        }
        self.others_owed.next = self.owed[1].q.val().any();
        if self.side.q.val() {
            self.others_owed.next = self.owed[0].q.val().any();
        }
        if !self.drain.val() {
            self.turns.d.next = 0.into();
            self.changed.d.next = false;
        } else if !self.changed.q.val() {
            if self.turn.val() & (self.turns.q.val() != self.last_turn.val()) {
                self.turns.d.next = self.turns.q.val() + 1;
            }
            if (self.state.q.val() == Step::Pick) & !self.wanted.val() {
                self.turns.d.next = self.last_turn.val();
            }
            // A wait that was given up may have left some of the tag that comes next.
            if (self.turns.q.val() == self.last_turn.val()) & !self.others_owed.val() {
                self.side.d.next = !self.side.q.val();
                self.changed.d.next = true;
            }
        }
        self.drained.next = self.changed.q.val() & !self.others_owed.val();

        self.dma_error.d.next = self.write_status_valid.val() & self.write_status_data.val().error;
        self.event_overrun.next = self.overrun.q.val();
        self.event_dma_error.next = self.dma_error.q.val();

        if self.rst.val() {
            self.state.d.next = Step::Pick;
            self.last.d.next = 3.into();
            self.desc_valid.d.next = false;
            self.beat_valid.d.next = false;
            self.wrote.d.next = false;
            self.overrun.d.next = false;
            self.dma_error.d.next = false;
            self.side.d.next = false;
            self.owed[0].d.next = 0.into();
            self.owed[1].d.next = 0.into();
            self.turns.d.next = 0.into();
            self.changed.d.next = false;
        }
    }
}
