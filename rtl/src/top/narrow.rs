//! A NIC with narrow streams: the core, and a path of its own of 128 bits.
//!
//! ```text
//!  s_axis (W) ─> widen ─────────┐              ┌─> split ─> m_axis (W)
//!  dma_data reads ─> widen ─────┤  path (128)  ├─> split ─> dma_data writes
//!                               └──────┬───────┘
//!                                words │
//!  dma_ctrl reads ─> widen ─────┬──────┴───────┬─> split ─> dma_ctrl writes
//!                               │  core (512)  │
//!  descriptors, statuses, s_axil ──────────────── as they are
//! ```
//!
//! Where streams have 128 bits, the gears of frames and payload are wires. Those
//! of rings are always there: an entry is read whole.
//!
//! Contract: the ports of [`TesseraNic`](super::TesseraNic) with other widths, and
//! its contract. A read's status is held one clock, so that it comes with or after
//! its last beat inside as well. No gear ever refuses a frame's beat or one that was
//! read: core and path take what they get in these streams.
//!
//! Verified by `testbenches/tests/configs.rs`.

use tessera_abi::params::Config;

use super::{Core, NarrowPath};
use crate::prelude::*;
use crate::stream::{Split, Widen};
use crate::types::DmaStatus;

/// A configuration whose streams have `W` bits, `K = W / 8` bytes.
#[derive(LogicBlock)]
pub struct NarrowNic<const W: usize, const K: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub s_axis_tdata: Signal<In, Bits<W>>,
    pub s_axis_tkeep: Signal<In, Bits<K>>,
    pub s_axis_tvalid: Signal<In, Bit>,
    pub s_axis_tready: Signal<Out, Bit>,
    pub s_axis_tlast: Signal<In, Bit>,
    pub s_axis_tuser: Signal<In, Bit>,
    pub m_axis_tdata: Signal<Out, Bits<W>>,
    pub m_axis_tkeep: Signal<Out, Bits<K>>,
    pub m_axis_tvalid: Signal<Out, Bit>,
    pub m_axis_tready: Signal<In, Bit>,
    pub m_axis_tlast: Signal<Out, Bit>,
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
    pub dma_ctrl_read_data_tdata: Signal<In, Bits<W>>,
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
    pub dma_ctrl_write_data_tdata: Signal<Out, Bits<W>>,
    pub dma_ctrl_write_data_tkeep: Signal<Out, Bits<K>>,
    pub dma_ctrl_write_data_tlast: Signal<Out, Bit>,
    pub dma_ctrl_write_status_valid: Signal<In, Bit>,
    pub dma_ctrl_write_status_tag: Signal<In, Bits<8>>,
    pub dma_ctrl_write_status_error: Signal<In, Bit>,
    pub dma_data_read_desc_valid: Signal<Out, Bit>,
    pub dma_data_read_desc_ready: Signal<In, Bit>,
    pub dma_data_read_desc_address: Signal<Out, Bits<64>>,
    pub dma_data_read_desc_length: Signal<Out, Bits<13>>,
    pub dma_data_read_desc_tag: Signal<Out, Bits<8>>,
    pub dma_data_read_data_valid: Signal<In, Bit>,
    pub dma_data_read_data_ready: Signal<Out, Bit>,
    pub dma_data_read_data_tdata: Signal<In, Bits<W>>,
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
    pub dma_data_write_data_tdata: Signal<Out, Bits<W>>,
    pub dma_data_write_data_tkeep: Signal<Out, Bits<K>>,
    pub dma_data_write_data_tlast: Signal<Out, Bit>,
    pub dma_data_write_status_valid: Signal<In, Bit>,
    pub dma_data_write_status_tag: Signal<In, Bits<8>>,
    pub dma_data_write_status_error: Signal<In, Bit>,
    core: Core,
    path: NarrowPath,
    rx_gear: Widen<W, K, 128, 16>,
    tx_gear: Split<W, K, 128, 16>,
    ctrl_read_gear: Widen<W, K, 512, 64>,
    ctrl_write_gear: Split<W, K, 512, 64>,
    data_read_gear: Widen<W, K, 128, 16>,
    data_write_gear: Split<W, K, 128, 16>,
    ctrl_status_valid: Dff<Bit>,
    ctrl_status: Dff<DmaStatus>,
    data_status_valid: Dff<Bit>,
    data_status: Dff<DmaStatus>,
}

impl<const W: usize, const K: usize> NarrowNic<W, K> {
    /// The NIC of a configuration. Large: make it inside
    /// [`with_big_stack`](crate::emit::with_big_stack).
    ///
    /// # Panics
    /// When the configuration has another width, or it is more than 128 bits.
    pub fn new(config: &Config) -> Self {
        assert_eq!(config.data_bits, W, "{} is not for streams of {W} bits", config.name);
        Self {
            clk: Default::default(),
            rst: Default::default(),
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
            core: Core::new(config),
            path: NarrowPath::new(config),
            rx_gear: Widen::new(),
            tx_gear: Split::new(),
            ctrl_read_gear: Widen::new(),
            ctrl_write_gear: Split::new(),
            data_read_gear: Widen::new(),
            data_write_gear: Split::new(),
            ctrl_status_valid: Default::default(),
            ctrl_status: Default::default(),
            data_status_valid: Default::default(),
            data_status: Default::default(),
        }
    }
}

impl<const W: usize, const K: usize> Logic for NarrowNic<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, ctrl_status_valid, ctrl_status, data_status_valid, data_status);
        self.core.clk.next = self.clk.val();
        self.core.rst.next = self.rst.val();
        self.path.clk.next = self.clk.val();
        self.path.rst.next = self.rst.val();
        self.rx_gear.clk.next = self.clk.val();
        self.rx_gear.rst.next = self.rst.val();
        self.tx_gear.clk.next = self.clk.val();
        self.tx_gear.rst.next = self.rst.val();
        self.ctrl_read_gear.clk.next = self.clk.val();
        self.ctrl_read_gear.rst.next = self.rst.val();
        self.ctrl_write_gear.clk.next = self.clk.val();
        self.ctrl_write_gear.rst.next = self.rst.val();
        self.data_read_gear.clk.next = self.clk.val();
        self.data_read_gear.rst.next = self.rst.val();
        self.data_write_gear.clk.next = self.clk.val();
        self.data_write_gear.rst.next = self.rst.val();

        // Between the two.
        self.path.core_rst.next = self.core.core_rst.val();
        self.path.closed.next = self.core.closed.val();
        self.core.quiet.next = self.path.quiet.val();
        self.path.settings.next = self.core.settings.val();
        self.path.now.next = self.core.now.val();
        self.path.table_write.next = self.core.table_write.val();
        self.core.rx_data_valid.next = self.path.rx_data_valid.val();
        self.core.rx_data_data.next = self.path.rx_data_data.val();
        self.path.rx_data_ready.next = self.core.rx_data_ready.val();
        self.core.rx_feedback_valid.next = self.path.rx_feedback_valid.val();
        self.core.rx_feedback_data.next = self.path.rx_feedback_data.val();
        self.path.rx_feedback_ready.next = self.core.rx_feedback_ready.val();
        self.core.rx_events.next = self.path.rx_events.val();
        self.path.place_valid.next = self.core.place_valid.val();
        self.path.place_data.next = self.core.place_data.val();
        self.core.place_ready.next = self.path.place_ready.val();
        self.core.fence_valid.next = self.path.fence_valid.val();
        self.core.fence_data.next = self.path.fence_data.val();
        self.path.fence_ready.next = self.core.fence_ready.val();
        self.core.issued.next = self.path.issued.val();
        self.core.ring_head.next = self.path.ring_head.val();
        self.core.ring_tail.next = self.path.ring_tail.val();
        self.core.write_error.next = self.path.write_error.val();
        self.path.packet_valid.next = self.core.packet_valid.val();
        self.path.packet_data.next = self.core.packet_data.val();
        self.core.packet_ready.next = self.path.packet_ready.val();
        self.core.failed.next = self.path.failed.val();
        self.path.answer_valid.next = self.core.answer_valid.val();
        self.path.answer_data.next = self.core.answer_data.val();
        self.core.answer_ready.next = self.path.answer_ready.val();
        self.path.ev.next = self.core.ev.val();
        self.path.ev_asks.next = self.core.ev_asks.val();
        self.core.ev_take.next = self.path.ev_take.val();
        self.core.ev_gid.next = self.path.ev_gid.val();
        self.core.ev_kind.next = self.path.ev_kind.val();
        self.core.sent.next = self.path.sent.val();
        self.core.said.next = self.path.said.val();
        self.core.tx_events.next = self.path.tx_events.val();
        self.core.path_ready.next = self.path.ready.val();

        // Frames in.
        self.rx_gear.in_tdata.next = self.s_axis_tdata.val();
        self.rx_gear.in_tkeep.next = self.s_axis_tkeep.val();
        self.rx_gear.in_tvalid.next = self.s_axis_tvalid.val();
        self.rx_gear.in_tlast.next = self.s_axis_tlast.val();
        self.rx_gear.in_tuser.next = self.s_axis_tuser.val();
        self.s_axis_tready.next = self.rx_gear.in_tready.val();
        self.core.s_axis_tvalid.next = self.rx_gear.out_tvalid.val();
        self.core.s_axis_tlast.next = self.rx_gear.out_tlast.val();
        self.path.s_axis_tvalid.next = self.core.rx_valid.val();
        self.path.s_axis_tdata.next = self.rx_gear.out_tdata.val();
        self.path.s_axis_tkeep.next = self.rx_gear.out_tkeep.val();
        self.path.s_axis_tlast.next = self.rx_gear.out_tlast.val();
        self.path.s_axis_tuser.next = self.rx_gear.out_tuser.val();
        self.rx_gear.out_tready.next = self.path.s_axis_tready.val();

        // Frames out.
        self.core.tx_valid.next = self.path.m_axis_tvalid.val();
        self.core.tx_last.next = self.path.m_axis_tlast.val();
        self.path.m_axis_tready.next = self.core.tx_ready.val();
        self.tx_gear.in_tvalid.next = self.core.m_axis_tvalid.val();
        self.tx_gear.in_tdata.next = self.path.m_axis_tdata.val();
        self.tx_gear.in_tkeep.next = self.path.m_axis_tkeep.val();
        self.tx_gear.in_tlast.next = self.path.m_axis_tlast.val();
        self.core.m_axis_tready.next = self.tx_gear.in_tready.val();
        self.m_axis_tvalid.next = self.tx_gear.out_tvalid.val();
        self.m_axis_tdata.next = self.tx_gear.out_tdata.val();
        self.m_axis_tkeep.next = self.tx_gear.out_tkeep.val();
        self.m_axis_tlast.next = self.tx_gear.out_tlast.val();
        self.tx_gear.out_tready.next = self.m_axis_tready.val();

        // Ring reads.
        self.ctrl_read_gear.in_tdata.next = self.dma_ctrl_read_data_tdata.val();
        self.core.dma_ctrl_read_data_tdata.next = self.ctrl_read_gear.out_tdata.val();
        self.ctrl_read_gear.in_tkeep.next = 0.into();
        self.ctrl_read_gear.in_tvalid.next = self.dma_ctrl_read_data_valid.val();
        self.core.dma_ctrl_read_data_valid.next = self.ctrl_read_gear.out_tvalid.val();
        self.ctrl_read_gear.in_tlast.next = self.dma_ctrl_read_data_tlast.val();
        self.core.dma_ctrl_read_data_tlast.next = self.ctrl_read_gear.out_tlast.val();
        self.ctrl_read_gear.in_tuser.next = false;
        self.dma_ctrl_read_data_ready.next = self.ctrl_read_gear.in_tready.val();
        self.ctrl_read_gear.out_tready.next = self.core.dma_ctrl_read_data_ready.val();

        // Ring writes.
        self.ctrl_write_gear.in_tdata.next = self.core.dma_ctrl_write_data_tdata.val();
        self.dma_ctrl_write_data_tdata.next = self.ctrl_write_gear.out_tdata.val();
        self.ctrl_write_gear.in_tkeep.next = self.core.dma_ctrl_write_data_tkeep.val();
        self.dma_ctrl_write_data_tkeep.next = self.ctrl_write_gear.out_tkeep.val();
        self.ctrl_write_gear.in_tvalid.next = self.core.dma_ctrl_write_data_valid.val();
        self.dma_ctrl_write_data_valid.next = self.ctrl_write_gear.out_tvalid.val();
        self.ctrl_write_gear.in_tlast.next = self.core.dma_ctrl_write_data_tlast.val();
        self.dma_ctrl_write_data_tlast.next = self.ctrl_write_gear.out_tlast.val();
        self.core.dma_ctrl_write_data_ready.next = self.ctrl_write_gear.in_tready.val();
        self.ctrl_write_gear.out_tready.next = self.dma_ctrl_write_data_ready.val();

        // Payload reads.
        self.data_read_gear.in_tdata.next = self.dma_data_read_data_tdata.val();
        self.path.dma_data_read_data_tdata.next = self.data_read_gear.out_tdata.val();
        self.data_read_gear.in_tkeep.next = 0.into();
        self.data_read_gear.in_tvalid.next = self.dma_data_read_data_valid.val();
        self.path.dma_data_read_data_valid.next = self.data_read_gear.out_tvalid.val();
        self.data_read_gear.in_tlast.next = self.dma_data_read_data_tlast.val();
        self.path.dma_data_read_data_tlast.next = self.data_read_gear.out_tlast.val();
        self.data_read_gear.in_tuser.next = false;
        self.dma_data_read_data_ready.next = self.data_read_gear.in_tready.val();
        self.data_read_gear.out_tready.next = self.path.dma_data_read_data_ready.val();

        // Payload writes.
        self.data_write_gear.in_tdata.next = self.path.dma_data_write_data_tdata.val();
        self.dma_data_write_data_tdata.next = self.data_write_gear.out_tdata.val();
        self.data_write_gear.in_tkeep.next = self.path.dma_data_write_data_tkeep.val();
        self.dma_data_write_data_tkeep.next = self.data_write_gear.out_tkeep.val();
        self.data_write_gear.in_tvalid.next = self.path.dma_data_write_data_valid.val();
        self.dma_data_write_data_valid.next = self.data_write_gear.out_tvalid.val();
        self.data_write_gear.in_tlast.next = self.path.dma_data_write_data_tlast.val();
        self.dma_data_write_data_tlast.next = self.data_write_gear.out_tlast.val();
        self.path.dma_data_write_data_ready.next = self.data_write_gear.in_tready.val();
        self.data_write_gear.out_tready.next = self.dma_data_write_data_ready.val();

        // Statuses of reads.
        self.ctrl_status_valid.d.next = self.dma_ctrl_read_status_valid.val();
        self.ctrl_status.d.next.tag = self.dma_ctrl_read_status_tag.val();
        self.ctrl_status.d.next.error = self.dma_ctrl_read_status_error.val();
        self.core.dma_ctrl_read_status_valid.next = self.ctrl_status_valid.q.val();
        self.core.dma_ctrl_read_status_tag.next = self.ctrl_status.q.val().tag;
        self.core.dma_ctrl_read_status_error.next = self.ctrl_status.q.val().error;
        self.data_status_valid.d.next = self.dma_data_read_status_valid.val();
        self.data_status.d.next.tag = self.dma_data_read_status_tag.val();
        self.data_status.d.next.error = self.dma_data_read_status_error.val();
        self.path.dma_data_read_status_valid.next = self.data_status_valid.q.val();
        self.path.dma_data_read_status_tag.next = self.data_status.q.val().tag;
        self.path.dma_data_read_status_error.next = self.data_status.q.val().error;

        // As they are.
        self.core.s_axil_awaddr.next = self.s_axil_awaddr.val();
        self.core.s_axil_awvalid.next = self.s_axil_awvalid.val();
        self.s_axil_awready.next = self.core.s_axil_awready.val();
        self.core.s_axil_wdata.next = self.s_axil_wdata.val();
        self.core.s_axil_wstrb.next = self.s_axil_wstrb.val();
        self.core.s_axil_wvalid.next = self.s_axil_wvalid.val();
        self.s_axil_wready.next = self.core.s_axil_wready.val();
        self.s_axil_bresp.next = self.core.s_axil_bresp.val();
        self.s_axil_bvalid.next = self.core.s_axil_bvalid.val();
        self.core.s_axil_bready.next = self.s_axil_bready.val();
        self.core.s_axil_araddr.next = self.s_axil_araddr.val();
        self.core.s_axil_arvalid.next = self.s_axil_arvalid.val();
        self.s_axil_arready.next = self.core.s_axil_arready.val();
        self.s_axil_rdata.next = self.core.s_axil_rdata.val();
        self.s_axil_rresp.next = self.core.s_axil_rresp.val();
        self.s_axil_rvalid.next = self.core.s_axil_rvalid.val();
        self.core.s_axil_rready.next = self.s_axil_rready.val();
        self.irq.next = self.core.irq.val();
        self.dma_ctrl_read_desc_valid.next = self.core.dma_ctrl_read_desc_valid.val();
        self.core.dma_ctrl_read_desc_ready.next = self.dma_ctrl_read_desc_ready.val();
        self.dma_ctrl_read_desc_address.next = self.core.dma_ctrl_read_desc_address.val();
        self.dma_ctrl_read_desc_length.next = self.core.dma_ctrl_read_desc_length.val();
        self.dma_ctrl_read_desc_tag.next = self.core.dma_ctrl_read_desc_tag.val();
        self.dma_ctrl_write_desc_valid.next = self.core.dma_ctrl_write_desc_valid.val();
        self.core.dma_ctrl_write_desc_ready.next = self.dma_ctrl_write_desc_ready.val();
        self.dma_ctrl_write_desc_address.next = self.core.dma_ctrl_write_desc_address.val();
        self.dma_ctrl_write_desc_length.next = self.core.dma_ctrl_write_desc_length.val();
        self.dma_ctrl_write_desc_tag.next = self.core.dma_ctrl_write_desc_tag.val();
        self.core.dma_ctrl_write_status_valid.next = self.dma_ctrl_write_status_valid.val();
        self.core.dma_ctrl_write_status_tag.next = self.dma_ctrl_write_status_tag.val();
        self.core.dma_ctrl_write_status_error.next = self.dma_ctrl_write_status_error.val();
        self.dma_data_read_desc_valid.next = self.path.dma_data_read_desc_valid.val();
        self.path.dma_data_read_desc_ready.next = self.dma_data_read_desc_ready.val();
        self.dma_data_read_desc_address.next = self.path.dma_data_read_desc_address.val();
        self.dma_data_read_desc_length.next = self.path.dma_data_read_desc_length.val();
        self.dma_data_read_desc_tag.next = self.path.dma_data_read_desc_tag.val();
        self.dma_data_write_desc_valid.next = self.path.dma_data_write_desc_valid.val();
        self.path.dma_data_write_desc_ready.next = self.dma_data_write_desc_ready.val();
        self.dma_data_write_desc_address.next = self.path.dma_data_write_desc_address.val();
        self.dma_data_write_desc_length.next = self.path.dma_data_write_desc_length.val();
        self.dma_data_write_desc_tag.next = self.path.dma_data_write_desc_tag.val();
        self.path.dma_data_write_status_valid.next = self.dma_data_write_status_valid.val();
        self.path.dma_data_write_status_tag.next = self.dma_data_write_status_tag.val();
        self.path.dma_data_write_status_error.next = self.dma_data_write_status_error.val();
        if self.rst.val() {
            self.ctrl_status_valid.d.next = false;
            self.data_status_valid.d.next = false;
        }
    }
}
