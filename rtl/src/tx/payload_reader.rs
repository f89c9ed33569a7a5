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
//! - A packet without payload accepted at clock 0 shows at clock 3; the last
//!   beat and status at clock 0 give `built_valid` at clock 1. One packet in
//!   two clocks is accepted, buffer permitting.
//! - `tkeep` of `read_beat` is not looked at, nor is `tlast`: lengths say where
//!   a read ends, so that a wrong mark cannot shift the packets behind it.
//!
//! All decisions are `payload_order`'s; the buffer is here, as wide as the beats.
//!
//! Verified by `testbenches/tests/payload_reader.rs`.

use super::PayloadOrder;
use crate::prelude::*;
use crate::stream::LateFifo;
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

    order: PayloadOrder,
    buffer: LateFifo<StoredBeat, 15>,
    all_bytes: Constant<Bits<64>>,
}

impl PayloadReader {
    pub fn new(config: &Config) -> Self {
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
            order: PayloadOrder::new(config, 6, config.tx_buffer_beats_log2 + 6),
            buffer: LateFifo::new(config.tx_buffer_beats_log2),
            all_bytes: Constant::new(u64::MAX.into()),
        }
    }
}

impl Logic for PayloadReader {
    #[hdl_gen]
    fn update(&mut self) {
        self.order.clk.next = self.clk.val();
        self.order.rst.next = self.rst.val();
        self.buffer.clk.next = self.clk.val();
        self.buffer.rst.next = self.rst.val();
        self.order.packet_valid.next = self.packet_valid.val();
        self.order.packet_data.next = self.packet_data.val();
        self.packet_ready.next = self.order.packet_ready.val();
        self.read_desc_valid.next = self.order.read_desc_valid.val();
        self.read_desc_data.next = self.order.read_desc_data.val();
        self.order.read_desc_ready.next = self.read_desc_ready.val();
        self.order.read_beat_valid.next = self.read_beat_valid.val();
        self.read_beat_ready.next = self.order.read_beat_ready.val();
        self.order.read_status_valid.next = self.read_status_valid.val();
        self.order.read_status.next = self.read_status.val();
        self.built_valid.next = self.order.built_valid.val();
        self.built_data.next = self.order.built_data.val();
        self.order.built_ready.next = self.built_ready.val();
        self.payload_valid.next = self.order.payload_valid.val();
        self.order.payload_ready.next = self.payload_ready.val();
        self.failed.next = self.order.failed.val();

        self.buffer.in_valid.next = self.order.put.val();
        self.buffer.in_data.next.tdata = self.read_beat_data.val().tdata;
        self.buffer.in_data.next.tlast = self.order.put_last.val();
        self.buffer.in_data.next.bytes = self.order.put_length.val().get_bits::<6>(0);
        self.order.room.next = self.buffer.in_ready.val();
        self.order.filled.next = self.buffer.out_valid.val();
        self.order.front_last.next = self.buffer.out_data.val().tlast;
        self.buffer.out_ready.next = self.order.take.val();
        self.payload_data.next.tdata = self.buffer.out_data.val().tdata;
        self.payload_data.next.tlast = self.buffer.out_data.val().tlast;
        self.payload_data.next.tkeep = self.all_bytes.val();
        if self.buffer.out_data.val().tlast & self.buffer.out_data.val().bytes.any() {
            self.payload_data.next.tkeep = !(self.all_bytes.val() << self.buffer.out_data.val().bytes);
        }
    }
}
