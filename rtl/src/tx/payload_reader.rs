//! Fetches payloads from host memory and hands on whole packets, in order.
//!
//! ```text
//!  packet ─> issue ─┬─> order ─────────────────────────> release ─> built
//!      read_desc <──┤                                      ^  │
//!                   └─> lengths ─┐             read_status ┘  v
//!                    read_beat ──┴─> payload buffer ────────> gate ─> payload
//! ```
//!
//! Contract:
//! - A read is issued only when the buffer has places for all its beats beside
//!   those of every read before it: `read_beat` is never refused. Reads are
//!   outstanding up to the buffer's size, or as many packets as the
//!   configuration's `tx_packets_log2` says.
//! - `built` shows a packet when its status has come (with or after its last
//!   beat), one without payload when it is its turn; its `payload` beats flow
//!   from the clock after `built_ready` on without a gap, one per clock.
//! - A failed read drops the packet: its beats are thrown away, one per clock,
//!   once those of earlier packets have left, then `failed` pulses.
//! - A packet without payload accepted at clock 0 shows at clock 2; the last
//!   beat and status at clock 0 give `built_valid` at clock 1. One packet
//!   every clock is accepted, buffer permitting.
//! - `tkeep` of `read_beat` is not looked at, nor is `tlast`: lengths say where
//!   a read ends, so that a wrong mark cannot shift the packets behind it.
//!
//! Verified by `testbenches/tests/payload_reader.rs`.

use crate::prelude::*;
use crate::stream::Fifo;
use crate::types::{Beat, DmaDescriptor, DmaStatus, TxPacket, TxSent};
use crate::wire::StoredBeat;
use tessera_abi::params::Config;

#[derive(LogicBlock)]
pub struct PayloadReader {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub packet_valid: Signal<In, Bit>,
    pub packet_data: Signal<In, TxPacket>,
    pub packet_ready: Signal<Out, Bit>,
    pub read_desc_valid: Signal<Out, Bit>,
    pub read_desc_data: Signal<Out, DmaDescriptor>,
    pub read_desc_ready: Signal<In, Bit>,
    pub read_beat_valid: Signal<In, Bit>,
    pub read_beat_data: Signal<In, Beat>,
    pub read_beat_ready: Signal<Out, Bit>,
    pub read_status_valid: Signal<In, Bit>,
    pub read_status: Signal<In, DmaStatus>,
    pub built_valid: Signal<Out, Bit>,
    pub built_data: Signal<Out, TxPacket>,
    pub built_ready: Signal<In, Bit>,
    pub payload_valid: Signal<Out, Bit>,
    pub payload_data: Signal<Out, Beat>,
    pub payload_ready: Signal<In, Bit>,
    /// A packet was dropped because its read failed.
    pub failed: Signal<Out, TxSent>,

    waiting: Dff<Bit>,
    packet: Dff<TxPacket>,
    desc_valid: Dff<Bit>,
    desc: Dff<DmaDescriptor>,
    tag: Dff<Bits<8>>,
    order: Fifo<TxPacket, 6>,
    lengths: Fifo<Bits<13>, 6>,
    statuses: Fifo<Bit, 7>,
    buffer: Fifo<StoredBeat, 15>,
    /// Buffer places promised to reads that have not been given back.
    reserved: Dff<Bits<16>>,
    /// Bytes of the current read already stored, in beats.
    stored: Dff<Bits<7>>,
    /// Frames handed on with `built` whose payload has not left.
    released: Dff<Bits<7>>,
    /// Throwing the payload of a failed read away.
    discarding: Dff<Bit>,
    dropped: Dff<TxSent>,

    go: Signal<Local, Bit>,
    has_payload: Signal<Local, Bit>,
    rounded: Signal<Local, Bits<13>>,
    beats: Signal<Local, Bits<16>>,
    promised: Signal<Local, Bits<16>>,
    read_rounded: Signal<Local, Bits<13>>,
    last_number: Signal<Local, Bits<7>>,
    store: Signal<Local, Bit>,
    store_last: Signal<Local, Bit>,
    due: Signal<Local, Bit>,
    handed: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    thrown: Signal<Local, Bit>,
    freed: Signal<Local, Bit>,
    frame_out: Signal<Local, Bit>,
    depth: Constant<Bits<16>>,
    all_bytes: Constant<Bits<64>>,
}

impl PayloadReader {
    pub fn new(config: &Config) -> Self {
        let packets = config.tx_packets_log2;
        assert!(config.tx_buffer_beats_log2 >= 6, "the largest payload takes 64 beats of buffer");
        Self {
            clk: Default::default(),
            rst: Default::default(),
            packet_valid: Default::default(),
            packet_data: Default::default(),
            packet_ready: Default::default(),
            read_desc_valid: Default::default(),
            read_desc_data: Default::default(),
            read_desc_ready: Default::default(),
            read_beat_valid: Default::default(),
            read_beat_data: Default::default(),
            read_beat_ready: Default::default(),
            read_status_valid: Default::default(),
            read_status: Default::default(),
            built_valid: Default::default(),
            built_data: Default::default(),
            built_ready: Default::default(),
            payload_valid: Default::default(),
            payload_data: Default::default(),
            payload_ready: Default::default(),
            failed: Default::default(),
            waiting: Default::default(),
            packet: Default::default(),
            desc_valid: Default::default(),
            desc: Default::default(),
            tag: Default::default(),
            order: Fifo::new(packets),
            lengths: Fifo::new(packets),
            // Never full: every status belongs to a packet of `order`.
            statuses: Fifo::new(packets + 1),
            buffer: Fifo::new(config.tx_buffer_beats_log2),
            reserved: Default::default(),
            stored: Default::default(),
            released: Default::default(),
            discarding: Default::default(),
            dropped: Default::default(),
            go: Default::default(),
            has_payload: Default::default(),
            rounded: Default::default(),
            beats: Default::default(),
            promised: Default::default(),
            read_rounded: Default::default(),
            last_number: Default::default(),
            store: Default::default(),
            store_last: Default::default(),
            due: Default::default(),
            handed: Default::default(),
            leaves: Default::default(),
            thrown: Default::default(),
            freed: Default::default(),
            frame_out: Default::default(),
            depth: Constant::new((1u64 << config.tx_buffer_beats_log2).into()),
            all_bytes: Constant::new(u64::MAX.into()),
        }
    }
}

impl Logic for PayloadReader {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, waiting, packet, desc_valid, desc, tag, reserved, stored, released);
        dff_setup!(self, clk, discarding, dropped);
        self.order.clk.next = self.clk.val();
        self.order.rst.next = self.rst.val();
        self.lengths.clk.next = self.clk.val();
        self.lengths.rst.next = self.rst.val();
        self.statuses.clk.next = self.clk.val();
        self.statuses.rst.next = self.rst.val();
        self.buffer.clk.next = self.clk.val();
        self.buffer.rst.next = self.rst.val();

        // Issue: a descriptor where there is payload, places for all of it.
        self.has_payload.next = self.packet.q.val().payload_len.any();
        self.rounded.next = self.packet.q.val().payload_len + 63;
        self.beats.next = bit_cast::<16, 7>(self.rounded.val().get_bits::<7>(6));
        self.promised.next = self.reserved.q.val() + self.beats.val();
        self.go.next = self.waiting.q.val()
            & self.order.in_ready.val()
            & (!self.has_payload.val()
                | ((!self.desc_valid.q.val() | self.read_desc_ready.val())
                    & self.lengths.in_ready.val()
                    & (self.promised.val() <= self.depth.val())));
        self.packet_ready.next = !self.waiting.q.val() | self.go.val();
        if self.packet_ready.val() {
            self.waiting.d.next = self.packet_valid.val();
            self.packet.d.next = self.packet_data.val();
        }
        if self.read_desc_ready.val() {
            self.desc_valid.d.next = false;
        }
        if self.go.val() & self.has_payload.val() {
            self.desc_valid.d.next = true;
            self.desc.d.next.address = self.packet.q.val().address;
            self.desc.d.next.length = self.packet.q.val().payload_len;
            self.desc.d.next.tag = self.tag.q.val();
            self.tag.d.next = self.tag.q.val() + 1;
        }
        self.read_desc_valid.next = self.desc_valid.q.val();
        self.read_desc_data.next = self.desc.q.val();
        self.order.in_valid.next = self.go.val();
        self.order.in_data.next = self.packet.q.val();
        self.lengths.in_valid.next = self.go.val() & self.has_payload.val();
        self.lengths.in_data.next = self.packet.q.val().payload_len;

        // Store: the length at the head of `lengths` says which beat ends a
        // read. It is there long before any of its beats, but a beat that came
        // without one would wait.
        self.read_rounded.next = self.lengths.out_data.val() - 1;
        self.last_number.next = self.read_rounded.val().get_bits::<7>(6);
        self.read_beat_ready.next = self.lengths.out_valid.val() & self.buffer.in_ready.val();
        self.store.next = self.read_beat_valid.val() & self.read_beat_ready.val();
        self.store_last.next = self.stored.q.val() == self.last_number.val();
        if self.store.val() {
            self.stored.d.next = self.stored.q.val() + 1;
            if self.store_last.val() {
                self.stored.d.next = 0.into();
            }
        }
        self.lengths.out_ready.next = self.store.val() & self.store_last.val();
        self.buffer.in_valid.next = self.store.val();
        self.buffer.in_data.next.tdata = self.read_beat_data.val().tdata;
        self.buffer.in_data.next.tlast = self.store_last.val();
        self.buffer.in_data.next.bytes = self.lengths.out_data.val().get_bits::<6>(0);
        self.statuses.in_valid.next = self.read_status_valid.val();
        self.statuses.in_data.next = self.read_status.val().error;

        // Release, in order.
        self.due.next = self.order.out_valid.val()
            & (!self.order.out_data.val().payload_len.any()
                | (self.statuses.out_valid.val() & !self.statuses.out_data.val()));
        self.built_valid.next = self.due.val();
        self.built_data.next = self.order.out_data.val();
        self.handed.next = self.due.val() & self.built_ready.val();
        self.thrown.next =
            self.discarding.q.val() & self.buffer.out_valid.val() & self.buffer.out_data.val().tlast;
        self.order.out_ready.next = self.handed.val() | self.thrown.val();
        self.statuses.out_ready.next =
            (self.handed.val() & self.order.out_data.val().payload_len.any()) | self.thrown.val();
        if self.order.out_valid.val()
            & self.order.out_data.val().payload_len.any()
            & self.statuses.out_valid.val()
            & self.statuses.out_data.val()
            & (self.released.q.val() == 0)
        {
            self.discarding.d.next = true;
        }
        self.dropped.d.next.valid = self.thrown.val();
        self.dropped.d.next.slot = self.order.out_data.val().slot;
        self.dropped.d.next.error = true;
        self.dropped.d.next.ud = self.order.out_data.val().ud;
        if self.thrown.val() {
            self.discarding.d.next = false;
        }
        self.failed.next = self.dropped.q.val();

        self.payload_valid.next = self.buffer.out_valid.val() & self.released.q.val().any();
        self.payload_data.next.tdata = self.buffer.out_data.val().tdata;
        self.payload_data.next.tlast = self.buffer.out_data.val().tlast;
        self.payload_data.next.tkeep = self.all_bytes.val();
        if self.buffer.out_data.val().tlast & self.buffer.out_data.val().bytes.any() {
            self.payload_data.next.tkeep = !(self.all_bytes.val() << self.buffer.out_data.val().bytes);
        }
        self.leaves.next =
            self.buffer.out_valid.val() & self.released.q.val().any() & self.payload_ready.val();
        self.buffer.out_ready.next =
            (self.released.q.val().any() & self.payload_ready.val()) | self.discarding.q.val();
        self.frame_out.next = self.leaves.val() & self.buffer.out_data.val().tlast;
        if self.handed.val() & self.order.out_data.val().payload_len.any() & !self.frame_out.val() {
            self.released.d.next = self.released.q.val() + 1;
        } else if !(self.handed.val() & self.order.out_data.val().payload_len.any()) & self.frame_out.val() {
            self.released.d.next = self.released.q.val() - 1;
        }

        // Places come back as beats leave.
        self.freed.next = self.leaves.val() | (self.discarding.q.val() & self.buffer.out_valid.val());
        if self.go.val() & self.freed.val() {
            self.reserved.d.next = self.promised.val() - 1;
        } else if self.go.val() {
            self.reserved.d.next = self.promised.val();
        } else if self.freed.val() {
            self.reserved.d.next = self.reserved.q.val() - 1;
        }

        if self.rst.val() {
            self.waiting.d.next = false;
            self.desc_valid.d.next = false;
            self.tag.d.next = 0.into();
            self.reserved.d.next = 0.into();
            self.stored.d.next = 0.into();
            self.released.d.next = 0.into();
            self.discarding.d.next = false;
            self.dropped.d.next.valid = false;
        }
    }
}
