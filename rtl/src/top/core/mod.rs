//! What decides: registers, rings, lookup, contexts, the sender, their counters.
//!
//! ```text
//!  s_axil ── registers ── settings, now, table writes, doorbells ──> all
//!  dma_ctrl <─ ctrl_read_mux <─ sq_fetch ─ request ─> sender, tx_datagram ─ packet ──> path
//!                            <─ rq_fetch ─┐            ^ ^
//!  dma_ctrl <─ cq_writer <─ done ─────────│────────────┘ └── feedback ─────────────── path
//!           <─ chunks (ctrl_write_mux)    v
//!  path ── data ─> access ─> lookup ─> receiver ── place ───────────────────────────> path
//!                              └──────────┴── answers (turns) ──────────────────────> path
//!  s_axis, m_axis: handshakes, past soft_reset
//! ```
//!
//! Nothing here has a beat of a frame or of payload: between core and path go
//! words, handshakes, pulses, what registers say, and resets. So the same core
//! has a path of 512 bits ([`WidePath`](super::wide_path::WidePath)) or a
//! narrower one. Ring entries are beats of 64 bytes in every configuration.
//!
//! Contract: as [`TesseraNic`](super::TesseraNic); `core_rst` resets the path.
//! Of its streams' handshakes, those that `soft_reset` lets pass go to the path
//! and to the MAC in the clock they come.
//!
//! Verified by `testbenches/tests/nic.rs`.

mod event_map;
mod wiring;

pub use event_map::{EventMap, RxEvents, TxEvents};

use tessera_abi::params::Config;

use crate::host::cq_writer::CqWriter;
use crate::host::ctrl_read_mux::CtrlReadMux;
use crate::host::ctrl_write_mux::CtrlWriteMux;
use crate::host::dma_gate::DmaGate;
use crate::host::interrupts::Interrupts;
use crate::host::reclaim_marks::ReclaimMarks;
use crate::host::registers::Registers;
use crate::host::rq_fetch::RqFetch;
use crate::host::send_tally::SendTally;
use crate::host::soft_reset::SoftReset;
use crate::host::sq_fetch::SqFetch;
use crate::multipath::PathScheduler;
use crate::prelude::*;
use crate::rx::{Access, Chunks, Lookup, MatchTable, Receiver, RxDatagram, RxFence};
use crate::stream::RoundRobin;
use crate::tx::{Sender, TxDatagram};
use crate::types::{
    Done, PlaceCommand, PlaceFence, RxData, RxFeedback, Settings, TableWrite, TxFeedback, TxPacket, TxSent,
};

/// The core of a configuration.
#[derive(LogicBlock)]
pub struct Core {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub s_axil_awaddr: Signal<In, Bits<21>>,
    pub s_axil_awvalid: Signal<In, Bit>,
    pub s_axil_awready: Signal<Out, Bit>,
    pub s_axil_wdata: Signal<In, Bits<32>>,
    pub s_axil_wstrb: Signal<In, Bits<4>>,
    pub s_axil_wvalid: Signal<In, Bit>,
    pub s_axil_wready: Signal<Out, Bit>,
    pub s_axil_bresp: Signal<Out, Bits<2>>,
    pub s_axil_bvalid: Signal<Out, Bit>,
    pub s_axil_bready: Signal<In, Bit>,
    pub s_axil_araddr: Signal<In, Bits<21>>,
    pub s_axil_arvalid: Signal<In, Bit>,
    pub s_axil_arready: Signal<Out, Bit>,
    pub s_axil_rdata: Signal<Out, Bits<32>>,
    pub s_axil_rresp: Signal<Out, Bits<2>>,
    pub s_axil_rvalid: Signal<Out, Bit>,
    pub s_axil_rready: Signal<In, Bit>,
    /// Level: the host has completions to look for.
    pub irq: Signal<Out, Bit>,
    pub dma_ctrl_read_desc_valid: Signal<Out, Bit>,
    pub dma_ctrl_read_desc_ready: Signal<In, Bit>,
    pub dma_ctrl_read_desc_address: Signal<Out, Bits<64>>,
    pub dma_ctrl_read_desc_length: Signal<Out, Bits<13>>,
    pub dma_ctrl_read_desc_tag: Signal<Out, Bits<8>>,
    pub dma_ctrl_read_data_valid: Signal<In, Bit>,
    pub dma_ctrl_read_data_ready: Signal<Out, Bit>,
    pub dma_ctrl_read_data_tdata: Signal<In, Bits<512>>,
    pub dma_ctrl_read_data_tlast: Signal<In, Bit>,
    pub dma_ctrl_read_status_valid: Signal<In, Bit>,
    pub dma_ctrl_read_status_tag: Signal<In, Bits<8>>,
    pub dma_ctrl_read_status_error: Signal<In, Bit>,
    pub dma_ctrl_write_desc_valid: Signal<Out, Bit>,
    pub dma_ctrl_write_desc_ready: Signal<In, Bit>,
    pub dma_ctrl_write_desc_address: Signal<Out, Bits<64>>,
    pub dma_ctrl_write_desc_length: Signal<Out, Bits<13>>,
    pub dma_ctrl_write_desc_tag: Signal<Out, Bits<8>>,
    pub dma_ctrl_write_data_valid: Signal<Out, Bit>,
    pub dma_ctrl_write_data_ready: Signal<In, Bit>,
    pub dma_ctrl_write_data_tdata: Signal<Out, Bits<512>>,
    pub dma_ctrl_write_data_tkeep: Signal<Out, Bits<64>>,
    pub dma_ctrl_write_data_tlast: Signal<Out, Bit>,
    pub dma_ctrl_write_status_valid: Signal<In, Bit>,
    pub dma_ctrl_write_status_tag: Signal<In, Bits<8>>,
    pub dma_ctrl_write_status_error: Signal<In, Bit>,
    /// Frames from the MAC, and which of their beats the path may see.
    pub s_axis_tvalid: Signal<In, Bit>,
    pub s_axis_tlast: Signal<In, Bit>,
    pub rx_valid: Signal<Out, Bit>,
    /// The path's frames, and which of their beats the MAC may see.
    pub tx_valid: Signal<In, Bit>,
    pub tx_last: Signal<In, Bit>,
    pub tx_ready: Signal<Out, Bit>,
    pub m_axis_tvalid: Signal<Out, Bit>,
    pub m_axis_tready: Signal<In, Bit>,
    pub core_rst: Signal<Out, Bit>,
    /// Of the DMA gates.
    pub closed: Signal<Out, Bit>,
    /// Of payload reads, payload writes.
    pub quiet: Signal<In, Bits<2>>,
    pub settings: Signal<Out, Settings>,
    /// Ticks.
    pub now: Signal<Out, Bits<32>>,
    pub table_write: Signal<Out, TableWrite>,
    /// Of the parser.
    pub rx_data_valid: Signal<In, Bit>,
    pub rx_data_data: Signal<In, RxData>,
    pub rx_data_ready: Signal<Out, Bit>,
    pub rx_feedback_valid: Signal<In, Bit>,
    pub rx_feedback_data: Signal<In, RxFeedback>,
    pub rx_feedback_ready: Signal<Out, Bit>,
    pub rx_events: Signal<In, RxEvents>,
    /// To and of placement.
    pub place_valid: Signal<Out, Bit>,
    pub place_data: Signal<Out, PlaceCommand>,
    pub place_ready: Signal<In, Bit>,
    pub fence_valid: Signal<In, Bit>,
    pub fence_data: Signal<In, PlaceFence>,
    pub fence_ready: Signal<Out, Bit>,
    pub issued: Signal<In, Bit>,
    pub ring_head: Signal<In, Bits<7>>,
    pub ring_tail: Signal<In, Bits<7>>,
    pub write_error: Signal<In, Bit>,
    /// To the reader of payload.
    pub packet_valid: Signal<Out, Bit>,
    pub packet_data: Signal<Out, TxPacket>,
    pub packet_ready: Signal<In, Bit>,
    pub failed: Signal<In, TxSent>,
    /// To and of the builder.
    pub answer_valid: Signal<Out, Bit>,
    pub answer_data: Signal<Out, TxFeedback>,
    pub answer_ready: Signal<In, Bit>,
    pub ev: Signal<Out, Bits<8>>,
    pub ev_asks: Signal<Out, Bit>,
    pub ev_take: Signal<In, Bit>,
    pub ev_gid: Signal<In, Bits<128>>,
    pub ev_kind: Signal<In, Bits<2>>,
    pub sent: Signal<In, TxSent>,
    pub said: Signal<In, Bit>,
    pub tx_events: Signal<In, TxEvents>,
    /// Its tables are cleared.
    pub path_ready: Signal<In, Bit>,
    registers: Registers,
    soft_reset: SoftReset,
    ctrl_reads: DmaGate,
    ctrl_writes: DmaGate,
    sq_fetch: SqFetch,
    send_tally: SendTally,
    reclaim_marks: ReclaimMarks,
    rq_fetch: RqFetch,
    ctrl_read_mux: CtrlReadMux,
    ctrl_write_mux: CtrlWriteMux,
    cq_writer: CqWriter,
    access: Access,
    rx_fence: RxFence,
    lookup: Lookup,
    match_table: MatchTable,
    receiver: Receiver,
    rx_datagram: RxDatagram,
    chunks: Chunks,
    receive_ends: RoundRobin<Done>,
    sender: Sender,
    tx_datagram: TxDatagram,
    packets: RoundRobin<TxPacket>,
    send_ends: RoundRobin<Done>,
    answers: RoundRobin<TxFeedback>,
    path_scheduler: PathScheduler,
    interrupts: Interrupts,
    event_map: EventMap,
}

impl Core {
    /// The core of a configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            s_axil_awaddr: Default::default(),
            s_axil_awvalid: Default::default(),
            s_axil_awready: Default::default(),
            s_axil_wdata: Default::default(),
            s_axil_wstrb: Default::default(),
            s_axil_wvalid: Default::default(),
            s_axil_wready: Default::default(),
            s_axil_bresp: Default::default(),
            s_axil_bvalid: Default::default(),
            s_axil_bready: Default::default(),
            s_axil_araddr: Default::default(),
            s_axil_arvalid: Default::default(),
            s_axil_arready: Default::default(),
            s_axil_rdata: Default::default(),
            s_axil_rresp: Default::default(),
            s_axil_rvalid: Default::default(),
            s_axil_rready: Default::default(),
            irq: Default::default(),
            dma_ctrl_read_desc_valid: Default::default(),
            dma_ctrl_read_desc_ready: Default::default(),
            dma_ctrl_read_desc_address: Default::default(),
            dma_ctrl_read_desc_length: Default::default(),
            dma_ctrl_read_desc_tag: Default::default(),
            dma_ctrl_read_data_valid: Default::default(),
            dma_ctrl_read_data_ready: Default::default(),
            dma_ctrl_read_data_tdata: Default::default(),
            dma_ctrl_read_data_tlast: Default::default(),
            dma_ctrl_read_status_valid: Default::default(),
            dma_ctrl_read_status_tag: Default::default(),
            dma_ctrl_read_status_error: Default::default(),
            dma_ctrl_write_desc_valid: Default::default(),
            dma_ctrl_write_desc_ready: Default::default(),
            dma_ctrl_write_desc_address: Default::default(),
            dma_ctrl_write_desc_length: Default::default(),
            dma_ctrl_write_desc_tag: Default::default(),
            dma_ctrl_write_data_valid: Default::default(),
            dma_ctrl_write_data_ready: Default::default(),
            dma_ctrl_write_data_tdata: Default::default(),
            dma_ctrl_write_data_tkeep: Default::default(),
            dma_ctrl_write_data_tlast: Default::default(),
            dma_ctrl_write_status_valid: Default::default(),
            dma_ctrl_write_status_tag: Default::default(),
            dma_ctrl_write_status_error: Default::default(),
            s_axis_tvalid: Default::default(),
            s_axis_tlast: Default::default(),
            rx_valid: Default::default(),
            tx_valid: Default::default(),
            tx_last: Default::default(),
            tx_ready: Default::default(),
            m_axis_tvalid: Default::default(),
            m_axis_tready: Default::default(),
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
            path_ready: Default::default(),
            registers: Registers::new(config),
            soft_reset: SoftReset::new(),
            ctrl_reads: DmaGate::new(),
            ctrl_writes: DmaGate::new(),
            sq_fetch: SqFetch::new(config),
            send_tally: SendTally::new(config),
            reclaim_marks: ReclaimMarks::new(),
            rq_fetch: RqFetch::new(config),
            ctrl_read_mux: CtrlReadMux::new(),
            ctrl_write_mux: CtrlWriteMux::new(),
            cq_writer: CqWriter::new(config),
            access: Access::new(config),
            rx_fence: RxFence::new(),
            lookup: Lookup::new(config),
            match_table: MatchTable::new(config),
            receiver: Receiver::new(config),
            rx_datagram: RxDatagram::new(config),
            chunks: Chunks::new(config),
            receive_ends: RoundRobin::default(),
            sender: Sender::new(config),
            tx_datagram: TxDatagram::new(config),
            packets: RoundRobin::default(),
            send_ends: RoundRobin::default(),
            answers: RoundRobin::default(),
            path_scheduler: PathScheduler::new(config),
            interrupts: Interrupts::new(),
            event_map: EventMap::new(),
        }
    }
}
