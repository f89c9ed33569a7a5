//! Fetches payloads from host memory and hands on whole packets, in order, in beats of 16 bytes.
//!
//! ```text
//!  read_beat ─> payload buffer ─> payload
//!                   │   ^
//!                   v   │
//!  packet ──────> payload_order ─> built
//! ```
//!
//! Contract: that of `payload_reader`. The buffer has the same size in bytes, four times the beats.
//!
//! Verified by `testbenches/tests/payload_reader.rs`.

use super::PayloadOrder;
use crate::prelude::*;
use crate::stream::LateFifo;
use crate::types::{DmaDescriptor, DmaStatus, NarrowBeat, TxPacket, TxSent};
use tessera_abi::params::Config;

/// A buffered payload beat; the count takes less room than `tkeep`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct StoredNarrowBeat {
    pub tdata: Bits<128>,
    pub tlast: Bit,
    /// Bytes of a last beat, 0 = 16.
    pub bytes: Bits<4>,
}

#[derive(LogicBlock)]
pub struct NarrowPayloadReader {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub packet_valid: Signal<In, Bit>,
    pub packet_data: Signal<In, TxPacket>,
    pub packet_ready: Signal<Out, Bit>,
    pub read_desc_valid: Signal<Out, Bit>,
    pub read_desc_data: Signal<Out, DmaDescriptor>,
    pub read_desc_ready: Signal<In, Bit>,
    pub read_beat_valid: Signal<In, Bit>,
    pub read_beat_data: Signal<In, NarrowBeat>,
    pub read_beat_ready: Signal<Out, Bit>,
    pub read_status_valid: Signal<In, Bit>,
    pub read_status: Signal<In, DmaStatus>,
    pub built_valid: Signal<Out, Bit>,
    pub built_data: Signal<Out, TxPacket>,
    pub built_ready: Signal<In, Bit>,
    pub payload_valid: Signal<Out, Bit>,
    pub payload_data: Signal<Out, NarrowBeat>,
    pub payload_ready: Signal<In, Bit>,
    /// A packet was dropped because its read failed.
    pub failed: Signal<Out, TxSent>,

    order: PayloadOrder,
    buffer: LateFifo<StoredNarrowBeat, 15>,
    all_bytes: Constant<Bits<16>>,
}

impl NarrowPayloadReader {
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
            order: PayloadOrder::new(config, 4, config.tx_buffer_beats_log2 + 6),
            buffer: LateFifo::new(config.tx_buffer_beats_log2 + 2),
            all_bytes: Constant::new(0xFFFFu64.into()),
        }
    }
}

impl Logic for NarrowPayloadReader {
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
        self.buffer.in_data.next.bytes = self.order.put_length.val().get_bits::<4>(0);
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
