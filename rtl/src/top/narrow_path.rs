//! The way of bytes at 128 bits: from the MAC to host memory and back.
//!
//! ```text
//!  s_axis ─> rx_parse ── data, feedback, events ──> core
//!                └─ payload ─> placement ─> gate ─> dma_data writes
//!                   core ── place ─┘ └── fence ───> core
//!  core ── packet ─> payload_reader ─> tx_build ─> icrc_insert ─> vlan_insert ─> m_axis
//!                      └─ gate ─ dma_data reads └── sent, events ──> core
//! ```
//!
//! Contract: that of its blocks, which is that of the wide ones but for the beat.
//! `core_rst` resets all of them but the gates of the DMA ports, which `rst` does.
//! Handshakes at the streams are those that [`Core`](super::core::Core) lets pass.
//!
//! Verified by `testbenches/tests/configs.rs`, and by `nic.rs` with
//! `TESSERA_CONFIG=nic128`.

use tessera_abi::params::Config;

use super::core::{RxEvents, TxEvents};
use crate::host::dma_gate::DmaGate;
use crate::prelude::*;
use crate::rx::NarrowPlacement;
use crate::stream::SliceFifo;
use crate::tx::NarrowPayloadReader;
use crate::types::{
    PlaceCommand, PlaceFence, RxData, RxFeedback, Settings, TableWrite, TxFeedback, TxPacket, TxSent,
};
use crate::wire::narrow::{NarrowIcrcInsert, NarrowRxParse, NarrowTxBuild, NarrowVlanInsert};

#[derive(LogicBlock)]
pub struct NarrowPath {
    pub clk: Signal<In, Clock>,
    /// That of power-on: of the gates.
    pub rst: Signal<In, Bit>,
    pub core_rst: Signal<In, Bit>,
    /// Of the DMA gates.
    pub closed: Signal<In, Bit>,
    /// Of payload reads, payload writes.
    pub quiet: Signal<Out, Bits<2>>,
    pub settings: Signal<In, Settings>,
    /// Ticks.
    pub now: Signal<In, Bits<32>>,
    pub table_write: Signal<In, TableWrite>,
    /// Of the parser.
    pub rx_data_valid: Signal<Out, Bit>,
    pub rx_data_data: Signal<Out, RxData>,
    pub rx_data_ready: Signal<In, Bit>,
    pub rx_feedback_valid: Signal<Out, Bit>,
    pub rx_feedback_data: Signal<Out, RxFeedback>,
    pub rx_feedback_ready: Signal<In, Bit>,
    pub rx_events: Signal<Out, RxEvents>,
    /// To and of placement.
    pub place_valid: Signal<In, Bit>,
    pub place_data: Signal<In, PlaceCommand>,
    pub place_ready: Signal<Out, Bit>,
    pub fence_valid: Signal<Out, Bit>,
    pub fence_data: Signal<Out, PlaceFence>,
    pub fence_ready: Signal<In, Bit>,
    pub issued: Signal<Out, Bit>,
    pub ring_head: Signal<Out, Bits<7>>,
    pub ring_tail: Signal<Out, Bits<7>>,
    pub write_error: Signal<Out, Bit>,
    /// To the reader of payload.
    pub packet_valid: Signal<In, Bit>,
    pub packet_data: Signal<In, TxPacket>,
    pub packet_ready: Signal<Out, Bit>,
    pub failed: Signal<Out, TxSent>,
    /// To and of the builder.
    pub answer_valid: Signal<In, Bit>,
    pub answer_data: Signal<In, TxFeedback>,
    pub answer_ready: Signal<Out, Bit>,
    pub ev: Signal<In, Bits<8>>,
    pub ev_asks: Signal<In, Bit>,
    pub ev_take: Signal<Out, Bit>,
    pub ev_gid: Signal<Out, Bits<128>>,
    pub ev_kind: Signal<Out, Bits<2>>,
    pub sent: Signal<Out, TxSent>,
    pub said: Signal<Out, Bit>,
    pub tx_events: Signal<Out, TxEvents>,
    /// Its tables are cleared.
    pub ready: Signal<Out, Bit>,
    pub s_axis_tdata: Signal<In, Bits<128>>,
    pub s_axis_tkeep: Signal<In, Bits<16>>,
    pub s_axis_tvalid: Signal<In, Bit>,
    pub s_axis_tready: Signal<Out, Bit>,
    pub s_axis_tlast: Signal<In, Bit>,
    pub s_axis_tuser: Signal<In, Bit>,
    pub m_axis_tdata: Signal<Out, Bits<128>>,
    pub m_axis_tkeep: Signal<Out, Bits<16>>,
    pub m_axis_tvalid: Signal<Out, Bit>,
    pub m_axis_tready: Signal<In, Bit>,
    pub m_axis_tlast: Signal<Out, Bit>,
    pub dma_data_read_desc_valid: Signal<Out, Bit>,
    pub dma_data_read_desc_ready: Signal<In, Bit>,
    pub dma_data_read_desc_address: Signal<Out, Bits<64>>,
    pub dma_data_read_desc_length: Signal<Out, Bits<13>>,
    pub dma_data_read_desc_tag: Signal<Out, Bits<8>>,
    pub dma_data_read_data_valid: Signal<In, Bit>,
    pub dma_data_read_data_ready: Signal<Out, Bit>,
    pub dma_data_read_data_tdata: Signal<In, Bits<128>>,
    pub dma_data_read_data_tlast: Signal<In, Bit>,
    pub dma_data_read_status_valid: Signal<In, Bit>,
    pub dma_data_read_status_tag: Signal<In, Bits<8>>,
    pub dma_data_read_status_error: Signal<In, Bit>,
    pub dma_data_write_desc_valid: Signal<Out, Bit>,
    pub dma_data_write_desc_ready: Signal<In, Bit>,
    pub dma_data_write_desc_address: Signal<Out, Bits<64>>,
    pub dma_data_write_desc_length: Signal<Out, Bits<13>>,
    pub dma_data_write_desc_tag: Signal<Out, Bits<8>>,
    pub dma_data_write_data_valid: Signal<Out, Bit>,
    pub dma_data_write_data_ready: Signal<In, Bit>,
    pub dma_data_write_data_tdata: Signal<Out, Bits<128>>,
    pub dma_data_write_data_tkeep: Signal<Out, Bits<16>>,
    pub dma_data_write_data_tlast: Signal<Out, Bit>,
    pub dma_data_write_status_valid: Signal<In, Bit>,
    pub dma_data_write_status_tag: Signal<In, Bits<8>>,
    pub dma_data_write_status_error: Signal<In, Bit>,
    data_reads: DmaGate,
    data_writes: DmaGate,
    rx_parse: NarrowRxParse,
    placement: NarrowPlacement,
    payload_reader: NarrowPayloadReader,
    answers: SliceFifo<TxFeedback, 6>,
    tx_build: NarrowTxBuild,
    icrc_insert: NarrowIcrcInsert,
    vlan_insert: NarrowVlanInsert,
}

impl NarrowPath {
    /// The path of a configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            core_rst: Default::default(),
            closed: Default::default(),
            quiet: Default::default(),
            settings: Default::default(),
            now: Default::default(),
            table_write: Default::default(),
            rx_data_valid: Default::default(),
            rx_data_data: Default::default(),
            rx_data_ready: Default::default(),
            rx_feedback_valid: Default::default(),
            rx_feedback_data: Default::default(),
            rx_feedback_ready: Default::default(),
            rx_events: Default::default(),
            place_valid: Default::default(),
            place_data: Default::default(),
            place_ready: Default::default(),
            fence_valid: Default::default(),
            fence_data: Default::default(),
            fence_ready: Default::default(),
            issued: Default::default(),
            ring_head: Default::default(),
            ring_tail: Default::default(),
            write_error: Default::default(),
            packet_valid: Default::default(),
            packet_data: Default::default(),
            packet_ready: Default::default(),
            failed: Default::default(),
            answer_valid: Default::default(),
            answer_data: Default::default(),
            answer_ready: Default::default(),
            ev: Default::default(),
            ev_asks: Default::default(),
            ev_take: Default::default(),
            ev_gid: Default::default(),
            ev_kind: Default::default(),
            sent: Default::default(),
            said: Default::default(),
            tx_events: Default::default(),
            ready: Default::default(),
            s_axis_tdata: Default::default(),
            s_axis_tkeep: Default::default(),
            s_axis_tvalid: Default::default(),
            s_axis_tready: Default::default(),
            s_axis_tlast: Default::default(),
            s_axis_tuser: Default::default(),
            m_axis_tdata: Default::default(),
            m_axis_tkeep: Default::default(),
            m_axis_tvalid: Default::default(),
            m_axis_tready: Default::default(),
            m_axis_tlast: Default::default(),
            dma_data_read_desc_valid: Default::default(),
            dma_data_read_desc_ready: Default::default(),
            dma_data_read_desc_address: Default::default(),
            dma_data_read_desc_length: Default::default(),
            dma_data_read_desc_tag: Default::default(),
            dma_data_read_data_valid: Default::default(),
            dma_data_read_data_ready: Default::default(),
            dma_data_read_data_tdata: Default::default(),
            dma_data_read_data_tlast: Default::default(),
            dma_data_read_status_valid: Default::default(),
            dma_data_read_status_tag: Default::default(),
            dma_data_read_status_error: Default::default(),
            dma_data_write_desc_valid: Default::default(),
            dma_data_write_desc_ready: Default::default(),
            dma_data_write_desc_address: Default::default(),
            dma_data_write_desc_length: Default::default(),
            dma_data_write_desc_tag: Default::default(),
            dma_data_write_data_valid: Default::default(),
            dma_data_write_data_ready: Default::default(),
            dma_data_write_data_tdata: Default::default(),
            dma_data_write_data_tkeep: Default::default(),
            dma_data_write_data_tlast: Default::default(),
            dma_data_write_status_valid: Default::default(),
            dma_data_write_status_tag: Default::default(),
            dma_data_write_status_error: Default::default(),
            data_reads: DmaGate::new(),
            data_writes: DmaGate::new(),
            rx_parse: NarrowRxParse::new(config),
            placement: NarrowPlacement::new(config),
            payload_reader: NarrowPayloadReader::new(config),
            answers: SliceFifo::new(config.answers_log2),
            tx_build: NarrowTxBuild::new(config),
            icrc_insert: NarrowIcrcInsert::new(config),
            vlan_insert: NarrowVlanInsert::new(config),
        }
    }
}

impl Logic for NarrowPath {
    #[hdl_gen]
    fn update(&mut self) {
        self.data_reads.clk.next = self.clk.val();
        self.data_reads.rst.next = self.rst.val();
        self.data_writes.clk.next = self.clk.val();
        self.data_writes.rst.next = self.rst.val();
        self.rx_parse.clk.next = self.clk.val();
        self.placement.clk.next = self.clk.val();
        self.payload_reader.clk.next = self.clk.val();
        self.answers.clk.next = self.clk.val();
        self.tx_build.clk.next = self.clk.val();
        self.icrc_insert.clk.next = self.clk.val();
        self.vlan_insert.clk.next = self.clk.val();
        self.rx_parse.rst.next = self.core_rst.val();
        self.placement.rst.next = self.core_rst.val();
        self.payload_reader.rst.next = self.core_rst.val();
        self.answers.rst.next = self.core_rst.val();
        self.tx_build.rst.next = self.core_rst.val();
        self.icrc_insert.rst.next = self.core_rst.val();
        self.vlan_insert.rst.next = self.core_rst.val();
        self.data_reads.closed.next = self.closed.val();
        self.data_writes.closed.next = self.closed.val();
        self.quiet.next = bit_cast::<2, 1>(self.data_reads.quiet.val().into())
            | (bit_cast::<2, 1>(self.data_writes.quiet.val().into()) << 1);
        self.rx_parse.settings.next = self.settings.val();
        self.rx_parse.now.next = self.now.val();
        self.rx_parse.table_write.next = self.table_write.val();
        self.tx_build.settings.next = self.settings.val();
        self.tx_build.now.next = self.now.val();
        self.tx_build.table_write.next = self.table_write.val();

        // From the MAC.
        self.rx_parse.s_axis_tvalid.next = self.s_axis_tvalid.val();
        self.rx_parse.s_axis_tdata.next = self.s_axis_tdata.val();
        self.rx_parse.s_axis_tkeep.next = self.s_axis_tkeep.val();
        self.rx_parse.s_axis_tlast.next = self.s_axis_tlast.val();
        self.rx_parse.s_axis_tuser.next = self.s_axis_tuser.val();
        self.s_axis_tready.next = self.rx_parse.s_axis_tready.val();
        self.rx_data_valid.next = self.rx_parse.data_valid.val();
        self.rx_data_data.next = self.rx_parse.data_data.val();
        self.rx_parse.data_ready.next = self.rx_data_ready.val();
        self.rx_feedback_valid.next = self.rx_parse.feedback_valid.val();
        self.rx_feedback_data.next = self.rx_parse.feedback_data.val();
        self.rx_parse.feedback_ready.next = self.rx_feedback_ready.val();
        self.rx_events.next.rx_frames = self.rx_parse.rx_frames.val();
        self.rx_events.next.rx_data = self.rx_parse.rx_data.val();
        self.rx_events.next.rx_probe = self.rx_parse.rx_probe.val();
        self.rx_events.next.rx_feedback = self.rx_parse.rx_feedback.val();
        self.rx_events.next.rx_release = self.rx_parse.rx_release.val();
        self.rx_events.next.rx_ud = self.rx_parse.rx_ud.val();
        self.rx_events.next.drop_overflow = self.rx_parse.drop_overflow.val();
        self.rx_events.next.drop_frame = self.rx_parse.drop_frame.val();
        self.rx_events.next.drop_not_ours = self.rx_parse.drop_not_ours.val();
        self.rx_events.next.drop_ip_header = self.rx_parse.drop_ip_header.val();
        self.rx_events.next.drop_length = self.rx_parse.drop_length.val();
        self.rx_events.next.drop_icrc = self.rx_parse.drop_icrc.val();
        self.rx_events.next.drop_cnp = self.rx_parse.drop_cnp.val();
        self.rx_events.next.drop_bth = self.rx_parse.drop_bth.val();
        self.rx_events.next.drop_p_key = self.rx_parse.drop_p_key.val();
        self.rx_events.next.drop_endpoint = self.rx_parse.drop_endpoint.val();
        self.rx_events.next.drop_q_key = self.rx_parse.drop_q_key.val();
        self.rx_events.next.drop_trh = self.rx_parse.drop_trh.val();
        self.rx_events.next.drop_fields = self.rx_parse.drop_fields.val();
        self.rx_events.next.drop_disabled = self.rx_parse.drop_disabled.val();

        // To host memory.
        self.placement.place_valid.next = self.place_valid.val();
        self.placement.place_data.next = self.place_data.val();
        self.place_ready.next = self.placement.place_ready.val();
        self.fence_valid.next = self.placement.fence_valid.val();
        self.fence_data.next = self.placement.fence_data.val();
        self.placement.fence_ready.next = self.fence_ready.val();
        self.issued.next = self.placement.issued.val();
        self.ring_head.next = self.placement.ring_head.val();
        self.ring_tail.next = self.placement.ring_tail.val();
        self.write_error.next = self.placement.dma_error.val();
        self.ready.next = self.placement.ready.val() & self.rx_parse.ready.val();
        self.placement.payload_valid.next = self.rx_parse.payload_valid.val();
        self.placement.payload_data.next = self.rx_parse.payload_data.val();
        self.rx_parse.payload_ready.next = self.placement.payload_ready.val();
        self.data_writes.in_desc_valid.next = self.placement.write_desc_valid.val();
        self.placement.write_desc_ready.next = self.data_writes.in_desc_ready.val();
        self.dma_data_write_desc_valid.next = self.data_writes.out_desc_valid.val();
        self.data_writes.out_desc_ready.next = self.dma_data_write_desc_ready.val();
        self.dma_data_write_desc_address.next = self.placement.write_desc_data.val().address;
        self.dma_data_write_desc_length.next = self.placement.write_desc_data.val().length;
        self.dma_data_write_desc_tag.next = self.placement.write_desc_data.val().tag;
        self.data_writes.in_data_valid.next = self.placement.write_beat_valid.val();
        self.data_writes.in_data_last.next = self.placement.write_beat_data.val().tlast;
        self.placement.write_beat_ready.next = self.data_writes.in_data_ready.val();
        self.dma_data_write_data_valid.next = self.data_writes.out_data_valid.val();
        self.data_writes.out_data_ready.next = self.dma_data_write_data_ready.val();
        self.data_writes.status.next = self.dma_data_write_status_valid.val();
        self.dma_data_write_data_tdata.next = self.placement.write_beat_data.val().tdata;
        self.dma_data_write_data_tkeep.next = self.placement.write_beat_data.val().tkeep;
        self.dma_data_write_data_tlast.next = self.placement.write_beat_data.val().tlast;
        self.placement.write_status_valid.next = self.dma_data_write_status_valid.val();
        self.placement.write_status.next.tag = self.dma_data_write_status_tag.val();
        self.placement.write_status.next.error = self.dma_data_write_status_error.val();

        // From host memory.
        self.payload_reader.packet_valid.next = self.packet_valid.val();
        self.payload_reader.packet_data.next = self.packet_data.val();
        self.packet_ready.next = self.payload_reader.packet_ready.val();
        self.failed.next = self.payload_reader.failed.val();
        self.data_reads.in_desc_valid.next = self.payload_reader.read_desc_valid.val();
        self.payload_reader.read_desc_ready.next = self.data_reads.in_desc_ready.val();
        self.dma_data_read_desc_valid.next = self.data_reads.out_desc_valid.val();
        self.data_reads.out_desc_ready.next = self.dma_data_read_desc_ready.val();
        self.dma_data_read_desc_address.next = self.payload_reader.read_desc_data.val().address;
        self.dma_data_read_desc_length.next = self.payload_reader.read_desc_data.val().length;
        self.dma_data_read_desc_tag.next = self.payload_reader.read_desc_data.val().tag;
        self.data_reads.in_data_valid.next = self.dma_data_read_data_valid.val();
        self.data_reads.in_data_last.next = self.dma_data_read_data_tlast.val();
        self.dma_data_read_data_ready.next = self.data_reads.in_data_ready.val();
        self.payload_reader.read_beat_valid.next = self.data_reads.out_data_valid.val();
        self.data_reads.out_data_ready.next = self.payload_reader.read_beat_ready.val();
        self.data_reads.status.next = self.dma_data_read_status_valid.val();
        self.payload_reader.read_beat_data.next.tdata = self.dma_data_read_data_tdata.val();
        self.payload_reader.read_beat_data.next.tkeep = 0.into();
        self.payload_reader.read_beat_data.next.tlast = self.dma_data_read_data_tlast.val();
        self.payload_reader.read_status_valid.next = self.dma_data_read_status_valid.val();
        self.payload_reader.read_status.next.tag = self.dma_data_read_status_tag.val();
        self.payload_reader.read_status.next.error = self.dma_data_read_status_error.val();
        self.tx_build.built_valid.next = self.payload_reader.built_valid.val();
        self.tx_build.built_data.next = self.payload_reader.built_data.val();
        self.payload_reader.built_ready.next = self.tx_build.built_ready.val();
        self.tx_build.payload_valid.next = self.payload_reader.payload_valid.val();
        self.tx_build.payload_data.next = self.payload_reader.payload_data.val();
        self.payload_reader.payload_ready.next = self.tx_build.payload_ready.val();

        // To the MAC.
        self.answers.in_valid.next = self.answer_valid.val();
        self.answers.in_data.next = self.answer_data.val();
        self.answer_ready.next = self.answers.in_ready.val();
        self.tx_build.feedback_valid.next = self.answers.out_valid.val();
        self.tx_build.feedback_data.next = self.answers.out_data.val();
        self.answers.out_ready.next = self.tx_build.feedback_ready.val();
        self.tx_build.ev.next = self.ev.val();
        self.tx_build.ev_asks.next = self.ev_asks.val();
        self.ev_take.next = self.tx_build.ev_take.val();
        self.ev_gid.next = self.tx_build.ev_gid.val();
        self.ev_kind.next = self.tx_build.ev_kind.val();
        self.sent.next = self.tx_build.sent.val();
        self.said.next = self.tx_build.said.val();
        self.tx_events.next.tx_data = self.tx_build.tx_data.val();
        self.tx_events.next.tx_retransmitted = self.tx_build.tx_retransmitted.val();
        self.tx_events.next.tx_probe = self.tx_build.tx_probe.val();
        self.tx_events.next.tx_feedback = self.tx_build.tx_feedback.val();
        self.tx_events.next.tx_nack = self.tx_build.tx_nack.val();
        self.tx_events.next.tx_release = self.tx_build.tx_release.val();
        self.tx_events.next.tx_ud = self.tx_build.tx_ud.val();
        self.icrc_insert.frame_valid.next = self.tx_build.frame_valid.val();
        self.icrc_insert.frame_data.next = self.tx_build.frame_data.val();
        self.tx_build.frame_ready.next = self.icrc_insert.frame_ready.val();
        self.vlan_insert.frame_valid.next = self.icrc_insert.m_axis_tvalid.val();
        self.vlan_insert.frame_data.next.tdata = self.icrc_insert.m_axis_tdata.val();
        self.vlan_insert.frame_data.next.tkeep = self.icrc_insert.m_axis_tkeep.val();
        self.vlan_insert.frame_data.next.tlast = self.icrc_insert.m_axis_tlast.val();
        self.icrc_insert.m_axis_tready.next = self.vlan_insert.frame_ready.val();
        self.vlan_insert.tag_valid.next = self.tx_build.tag_valid.val();
        self.vlan_insert.tag_data.next = self.tx_build.tag_data.val();
        self.m_axis_tdata.next = self.vlan_insert.m_axis_tdata.val();
        self.m_axis_tkeep.next = self.vlan_insert.m_axis_tkeep.val();
        self.m_axis_tlast.next = self.vlan_insert.m_axis_tlast.val();
        self.m_axis_tvalid.next = self.vlan_insert.m_axis_tvalid.val();
        self.vlan_insert.m_axis_tready.next = self.m_axis_tready.val();
    }
}
