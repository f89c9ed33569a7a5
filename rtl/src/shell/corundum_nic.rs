//! A NIC with what surrounds it in a Corundum: `fpga/corundum/mqnic_app_block.v` gives it that
//! block's ports.
//!
//! ```text
//!  s_axil ──> AppRegs ──> core ──┬─ dma_ctrl ─ SegRead, SegWrite ─ ctrl
//!  s_rx ─> FrameTap ─> s_axis ──>│
//!             └─> m_rx           ├─ dma_data ─ SegRead, SegWrite ─ data
//!  s_tx ─> FrameJoin <─ m_axis <─┘
//!             └─> m_tx
//! ```
//!
//! Contract: those of its blocks. Streams of 512 bits, RAM of two segments of 512 bits; for boards of
//! other widths `fpga/corundum/widths.v` is between, which has `verdict_valid` and `tx_passed`. Tags of
//! DMA are of 6 bits. What was asked of the engine is finished over a soft reset.
//!
//! Verified by `testbenches/tests/corundum.rs`.

use tessera_abi::params::Config;

use super::app_regs::AppRegs;
use super::frame_join::FrameJoin;
use super::frame_tap::FrameTap;
use super::seg_read::SegRead;
use super::seg_write::SegWrite;
use super::stat_feed::StatFeed;
use crate::prelude::*;
use crate::top::TesseraNic;

/// See the module's page.
#[derive(LogicBlock)]
pub struct CorundumNic {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub s_axil_awaddr: Signal<In, Bits<24>>,
    pub s_axil_awvalid: Signal<In, Bit>,
    pub s_axil_awready: Signal<Out, Bit>,
    pub s_axil_wdata: Signal<In, Bits<32>>,
    pub s_axil_wstrb: Signal<In, Bits<4>>,
    pub s_axil_wvalid: Signal<In, Bit>,
    pub s_axil_wready: Signal<Out, Bit>,
    pub s_axil_bresp: Signal<Out, Bits<2>>,
    pub s_axil_bvalid: Signal<Out, Bit>,
    pub s_axil_bready: Signal<In, Bit>,
    pub s_axil_araddr: Signal<In, Bits<24>>,
    pub s_axil_arvalid: Signal<In, Bit>,
    pub s_axil_arready: Signal<Out, Bit>,
    pub s_axil_rdata: Signal<Out, Bits<32>>,
    pub s_axil_rresp: Signal<Out, Bits<2>>,
    pub s_axil_rvalid: Signal<Out, Bit>,
    pub s_axil_rready: Signal<In, Bit>,
    /// Level: the host has completions to look for.
    pub irq: Signal<Out, Bit>,
    pub s_rx_tdata: Signal<In, Bits<512>>,
    pub s_rx_tkeep: Signal<In, Bits<64>>,
    pub s_rx_tvalid: Signal<In, Bit>,
    pub s_rx_tready: Signal<Out, Bit>,
    pub s_rx_tlast: Signal<In, Bit>,
    pub s_rx_tuser: Signal<In, Bits<97>>,
    pub m_rx_tdata: Signal<Out, Bits<512>>,
    pub m_rx_tkeep: Signal<Out, Bits<64>>,
    pub m_rx_tvalid: Signal<Out, Bit>,
    pub m_rx_tready: Signal<In, Bit>,
    pub m_rx_tlast: Signal<Out, Bit>,
    pub m_rx_tuser: Signal<Out, Bits<97>>,
    pub s_tx_tdata: Signal<In, Bits<512>>,
    pub s_tx_tkeep: Signal<In, Bits<64>>,
    pub s_tx_tvalid: Signal<In, Bit>,
    pub s_tx_tready: Signal<Out, Bit>,
    pub s_tx_tlast: Signal<In, Bit>,
    pub s_tx_tuser: Signal<In, Bits<32>>,
    pub m_tx_tdata: Signal<Out, Bits<512>>,
    pub m_tx_tkeep: Signal<Out, Bits<64>>,
    pub m_tx_tvalid: Signal<Out, Bit>,
    pub m_tx_tready: Signal<In, Bit>,
    pub m_tx_tlast: Signal<Out, Bit>,
    pub m_tx_tuser: Signal<Out, Bits<32>>,
    pub s_cpl_ts: Signal<In, Bits<96>>,
    pub s_cpl_tag: Signal<In, Bits<31>>,
    pub s_cpl_valid: Signal<In, Bit>,
    pub s_cpl_ready: Signal<Out, Bit>,
    pub m_cpl_ts: Signal<Out, Bits<96>>,
    pub m_cpl_tag: Signal<Out, Bits<31>>,
    pub m_cpl_valid: Signal<Out, Bit>,
    pub m_cpl_ready: Signal<In, Bit>,
    pub tag_top: Signal<In, Bits<31>>,
    pub port: Signal<In, Bits<8>>,
    pub now: Signal<In, Bits<96>>,
    pub ctrl_read_desc_valid: Signal<Out, Bit>,
    pub ctrl_read_desc_ready: Signal<In, Bit>,
    pub ctrl_read_desc_dma_addr: Signal<Out, Bits<64>>,
    pub ctrl_read_desc_line: Signal<Out, Bits<9>>,
    pub ctrl_read_desc_len: Signal<Out, Bits<16>>,
    pub ctrl_read_desc_tag: Signal<Out, Bits<6>>,
    pub ctrl_read_status_valid: Signal<In, Bit>,
    pub ctrl_read_status_tag: Signal<In, Bits<6>>,
    pub ctrl_read_status_error: Signal<In, Bits<4>>,
    pub ctrl_wr_cmd_valid: Signal<In, Bits<2>>,
    pub ctrl_wr_cmd_be: Signal<In, Bits<128>>,
    pub ctrl_wr_cmd_addr_0: Signal<In, Bits<9>>,
    pub ctrl_wr_cmd_addr_1: Signal<In, Bits<9>>,
    pub ctrl_wr_cmd_data: Signal<In, Bits<1024>>,
    pub ctrl_wr_done: Signal<Out, Bits<2>>,
    pub ctrl_write_desc_valid: Signal<Out, Bit>,
    pub ctrl_write_desc_ready: Signal<In, Bit>,
    pub ctrl_write_desc_dma_addr: Signal<Out, Bits<64>>,
    pub ctrl_write_desc_line: Signal<Out, Bits<9>>,
    pub ctrl_write_desc_len: Signal<Out, Bits<16>>,
    pub ctrl_write_desc_tag: Signal<Out, Bits<6>>,
    pub ctrl_write_status_valid: Signal<In, Bit>,
    pub ctrl_write_status_tag: Signal<In, Bits<6>>,
    pub ctrl_write_status_error: Signal<In, Bits<4>>,
    pub ctrl_rd_cmd_valid: Signal<In, Bits<2>>,
    pub ctrl_rd_cmd_addr_0: Signal<In, Bits<9>>,
    pub ctrl_rd_cmd_addr_1: Signal<In, Bits<9>>,
    pub ctrl_rd_cmd_ready: Signal<Out, Bits<2>>,
    pub ctrl_rd_resp_data: Signal<Out, Bits<1024>>,
    pub ctrl_rd_resp_valid: Signal<Out, Bits<2>>,
    pub ctrl_rd_resp_ready: Signal<In, Bits<2>>,
    pub data_read_desc_valid: Signal<Out, Bit>,
    pub data_read_desc_ready: Signal<In, Bit>,
    pub data_read_desc_dma_addr: Signal<Out, Bits<64>>,
    pub data_read_desc_line: Signal<Out, Bits<9>>,
    pub data_read_desc_len: Signal<Out, Bits<16>>,
    pub data_read_desc_tag: Signal<Out, Bits<6>>,
    pub data_read_status_valid: Signal<In, Bit>,
    pub data_read_status_tag: Signal<In, Bits<6>>,
    pub data_read_status_error: Signal<In, Bits<4>>,
    pub data_wr_cmd_valid: Signal<In, Bits<2>>,
    pub data_wr_cmd_be: Signal<In, Bits<128>>,
    pub data_wr_cmd_addr_0: Signal<In, Bits<9>>,
    pub data_wr_cmd_addr_1: Signal<In, Bits<9>>,
    pub data_wr_cmd_data: Signal<In, Bits<1024>>,
    pub data_wr_done: Signal<Out, Bits<2>>,
    pub data_write_desc_valid: Signal<Out, Bit>,
    pub data_write_desc_ready: Signal<In, Bit>,
    pub data_write_desc_dma_addr: Signal<Out, Bits<64>>,
    pub data_write_desc_line: Signal<Out, Bits<9>>,
    pub data_write_desc_len: Signal<Out, Bits<16>>,
    pub data_write_desc_tag: Signal<Out, Bits<6>>,
    pub data_write_status_valid: Signal<In, Bit>,
    pub data_write_status_tag: Signal<In, Bits<6>>,
    pub data_write_status_error: Signal<In, Bits<4>>,
    pub data_rd_cmd_valid: Signal<In, Bits<2>>,
    pub data_rd_cmd_addr_0: Signal<In, Bits<9>>,
    pub data_rd_cmd_addr_1: Signal<In, Bits<9>>,
    pub data_rd_cmd_ready: Signal<Out, Bits<2>>,
    pub data_rd_resp_data: Signal<Out, Bits<1024>>,
    pub data_rd_resp_valid: Signal<Out, Bits<2>>,
    pub data_rd_resp_ready: Signal<In, Bits<2>>,
    /// Whose frame has begun to leave the tap; frames of the host that passed outside.
    pub verdict_valid: Signal<Out, Bit>,
    pub verdict_ours: Signal<Out, Bit>,
    pub tx_passed: Signal<In, Bit>,
    pub stat_base: Signal<In, Bits<12>>,
    pub stat_tdata: Signal<Out, Bits<24>>,
    pub stat_tid: Signal<Out, Bits<12>>,
    pub stat_tvalid: Signal<Out, Bit>,
    pub stat_tready: Signal<In, Bit>,
    core: TesseraNic,
    regs: AppRegs,
    tap: FrameTap,
    joined: FrameJoin,
    ctrl_reads: SegRead<9>,
    ctrl_writes: SegWrite<9>,
    data_reads: SegRead<9>,
    data_writes: SegWrite<9>,
    stats: StatFeed,
}

impl CorundumNic {
    /// The NIC of a configuration. Large: make it inside
    /// [`with_big_stack`](crate::emit::with_big_stack).
    ///
    /// # Panics
    /// When the configuration has another width.
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
            s_rx_tdata: Default::default(),
            s_rx_tkeep: Default::default(),
            s_rx_tvalid: Default::default(),
            s_rx_tready: Default::default(),
            s_rx_tlast: Default::default(),
            s_rx_tuser: Default::default(),
            m_rx_tdata: Default::default(),
            m_rx_tkeep: Default::default(),
            m_rx_tvalid: Default::default(),
            m_rx_tready: Default::default(),
            m_rx_tlast: Default::default(),
            m_rx_tuser: Default::default(),
            s_tx_tdata: Default::default(),
            s_tx_tkeep: Default::default(),
            s_tx_tvalid: Default::default(),
            s_tx_tready: Default::default(),
            s_tx_tlast: Default::default(),
            s_tx_tuser: Default::default(),
            m_tx_tdata: Default::default(),
            m_tx_tkeep: Default::default(),
            m_tx_tvalid: Default::default(),
            m_tx_tready: Default::default(),
            m_tx_tlast: Default::default(),
            m_tx_tuser: Default::default(),
            s_cpl_ts: Default::default(),
            s_cpl_tag: Default::default(),
            s_cpl_valid: Default::default(),
            s_cpl_ready: Default::default(),
            m_cpl_ts: Default::default(),
            m_cpl_tag: Default::default(),
            m_cpl_valid: Default::default(),
            m_cpl_ready: Default::default(),
            tag_top: Default::default(),
            port: Default::default(),
            now: Default::default(),
            ctrl_read_desc_valid: Default::default(),
            ctrl_read_desc_ready: Default::default(),
            ctrl_read_desc_dma_addr: Default::default(),
            ctrl_read_desc_line: Default::default(),
            ctrl_read_desc_len: Default::default(),
            ctrl_read_desc_tag: Default::default(),
            ctrl_read_status_valid: Default::default(),
            ctrl_read_status_tag: Default::default(),
            ctrl_read_status_error: Default::default(),
            ctrl_wr_cmd_valid: Default::default(),
            ctrl_wr_cmd_be: Default::default(),
            ctrl_wr_cmd_addr_0: Default::default(),
            ctrl_wr_cmd_addr_1: Default::default(),
            ctrl_wr_cmd_data: Default::default(),
            ctrl_wr_done: Default::default(),
            ctrl_write_desc_valid: Default::default(),
            ctrl_write_desc_ready: Default::default(),
            ctrl_write_desc_dma_addr: Default::default(),
            ctrl_write_desc_line: Default::default(),
            ctrl_write_desc_len: Default::default(),
            ctrl_write_desc_tag: Default::default(),
            ctrl_write_status_valid: Default::default(),
            ctrl_write_status_tag: Default::default(),
            ctrl_write_status_error: Default::default(),
            ctrl_rd_cmd_valid: Default::default(),
            ctrl_rd_cmd_addr_0: Default::default(),
            ctrl_rd_cmd_addr_1: Default::default(),
            ctrl_rd_cmd_ready: Default::default(),
            ctrl_rd_resp_data: Default::default(),
            ctrl_rd_resp_valid: Default::default(),
            ctrl_rd_resp_ready: Default::default(),
            data_read_desc_valid: Default::default(),
            data_read_desc_ready: Default::default(),
            data_read_desc_dma_addr: Default::default(),
            data_read_desc_line: Default::default(),
            data_read_desc_len: Default::default(),
            data_read_desc_tag: Default::default(),
            data_read_status_valid: Default::default(),
            data_read_status_tag: Default::default(),
            data_read_status_error: Default::default(),
            data_wr_cmd_valid: Default::default(),
            data_wr_cmd_be: Default::default(),
            data_wr_cmd_addr_0: Default::default(),
            data_wr_cmd_addr_1: Default::default(),
            data_wr_cmd_data: Default::default(),
            data_wr_done: Default::default(),
            data_write_desc_valid: Default::default(),
            data_write_desc_ready: Default::default(),
            data_write_desc_dma_addr: Default::default(),
            data_write_desc_line: Default::default(),
            data_write_desc_len: Default::default(),
            data_write_desc_tag: Default::default(),
            data_write_status_valid: Default::default(),
            data_write_status_tag: Default::default(),
            data_write_status_error: Default::default(),
            data_rd_cmd_valid: Default::default(),
            data_rd_cmd_addr_0: Default::default(),
            data_rd_cmd_addr_1: Default::default(),
            data_rd_cmd_ready: Default::default(),
            data_rd_resp_data: Default::default(),
            data_rd_resp_valid: Default::default(),
            data_rd_resp_ready: Default::default(),
            verdict_valid: Default::default(),
            verdict_ours: Default::default(),
            tx_passed: Default::default(),
            stat_base: Default::default(),
            stat_tdata: Default::default(),
            stat_tid: Default::default(),
            stat_tvalid: Default::default(),
            stat_tready: Default::default(),
            core: TesseraNic::new(config),
            regs: AppRegs::new(),
            tap: FrameTap::new(),
            joined: FrameJoin::new(),
            // Block RAMs of 512 bits are 512 words deep, whether they are used or not.
            ctrl_reads: SegRead::new(9),
            ctrl_writes: SegWrite::new(9),
            data_reads: SegRead::new(9),
            data_writes: SegWrite::new(9),
            stats: StatFeed::new(),
        }
    }
}

impl Logic for CorundumNic {
    #[hdl_gen]
    fn update(&mut self) {
        self.regs.s_axil_awaddr.next = self.s_axil_awaddr.val();
        self.regs.s_axil_awvalid.next = self.s_axil_awvalid.val();
        self.s_axil_awready.next = self.regs.s_axil_awready.val();
        self.regs.s_axil_wdata.next = self.s_axil_wdata.val();
        self.regs.s_axil_wstrb.next = self.s_axil_wstrb.val();
        self.regs.s_axil_wvalid.next = self.s_axil_wvalid.val();
        self.s_axil_wready.next = self.regs.s_axil_wready.val();
        self.s_axil_bresp.next = self.regs.s_axil_bresp.val();
        self.s_axil_bvalid.next = self.regs.s_axil_bvalid.val();
        self.regs.s_axil_bready.next = self.s_axil_bready.val();
        self.regs.s_axil_araddr.next = self.s_axil_araddr.val();
        self.regs.s_axil_arvalid.next = self.s_axil_arvalid.val();
        self.s_axil_arready.next = self.regs.s_axil_arready.val();
        self.s_axil_rdata.next = self.regs.s_axil_rdata.val();
        self.s_axil_rresp.next = self.regs.s_axil_rresp.val();
        self.s_axil_rvalid.next = self.regs.s_axil_rvalid.val();
        self.regs.s_axil_rready.next = self.s_axil_rready.val();
        self.core.s_axil_awaddr.next = self.regs.m_axil_awaddr.val();
        self.core.s_axil_awvalid.next = self.regs.m_axil_awvalid.val();
        self.regs.m_axil_awready.next = self.core.s_axil_awready.val();
        self.core.s_axil_wdata.next = self.regs.m_axil_wdata.val();
        self.core.s_axil_wstrb.next = self.regs.m_axil_wstrb.val();
        self.core.s_axil_wvalid.next = self.regs.m_axil_wvalid.val();
        self.regs.m_axil_wready.next = self.core.s_axil_wready.val();
        self.regs.m_axil_bresp.next = self.core.s_axil_bresp.val();
        self.regs.m_axil_bvalid.next = self.core.s_axil_bvalid.val();
        self.core.s_axil_bready.next = self.regs.m_axil_bready.val();
        self.core.s_axil_araddr.next = self.regs.m_axil_araddr.val();
        self.core.s_axil_arvalid.next = self.regs.m_axil_arvalid.val();
        self.regs.m_axil_arready.next = self.core.s_axil_arready.val();
        self.regs.m_axil_rdata.next = self.core.s_axil_rdata.val();
        self.regs.m_axil_rresp.next = self.core.s_axil_rresp.val();
        self.regs.m_axil_rvalid.next = self.core.s_axil_rvalid.val();
        self.core.s_axil_rready.next = self.regs.m_axil_rready.val();
        self.irq.next = self.core.irq.val();
        self.tap.s_axis_tdata.next = self.s_rx_tdata.val();
        self.tap.s_axis_tkeep.next = self.s_rx_tkeep.val();
        self.tap.s_axis_tvalid.next = self.s_rx_tvalid.val();
        self.s_rx_tready.next = self.tap.s_axis_tready.val();
        self.tap.s_axis_tlast.next = self.s_rx_tlast.val();
        self.tap.s_axis_tuser.next = self.s_rx_tuser.val();
        self.m_rx_tdata.next = self.tap.m_axis_tdata.val();
        self.m_rx_tkeep.next = self.tap.m_axis_tkeep.val();
        self.m_rx_tvalid.next = self.tap.m_axis_tvalid.val();
        self.tap.m_axis_tready.next = self.m_rx_tready.val();
        self.m_rx_tlast.next = self.tap.m_axis_tlast.val();
        self.m_rx_tuser.next = self.tap.m_axis_tuser.val();
        self.joined.s_axis_tdata.next = self.s_tx_tdata.val();
        self.joined.s_axis_tkeep.next = self.s_tx_tkeep.val();
        self.joined.s_axis_tvalid.next = self.s_tx_tvalid.val();
        self.s_tx_tready.next = self.joined.s_axis_tready.val();
        self.joined.s_axis_tlast.next = self.s_tx_tlast.val();
        self.joined.s_axis_tuser.next = self.s_tx_tuser.val();
        self.m_tx_tdata.next = self.joined.m_axis_tdata.val();
        self.m_tx_tkeep.next = self.joined.m_axis_tkeep.val();
        self.m_tx_tvalid.next = self.joined.m_axis_tvalid.val();
        self.joined.m_axis_tready.next = self.m_tx_tready.val();
        self.m_tx_tlast.next = self.joined.m_axis_tlast.val();
        self.m_tx_tuser.next = self.joined.m_axis_tuser.val();
        self.joined.s_cpl_ts.next = self.s_cpl_ts.val();
        self.joined.s_cpl_tag.next = self.s_cpl_tag.val();
        self.joined.s_cpl_valid.next = self.s_cpl_valid.val();
        self.s_cpl_ready.next = self.joined.s_cpl_ready.val();
        self.m_cpl_ts.next = self.joined.m_cpl_ts.val();
        self.m_cpl_tag.next = self.joined.m_cpl_tag.val();
        self.m_cpl_valid.next = self.joined.m_cpl_valid.val();
        self.joined.m_cpl_ready.next = self.m_cpl_ready.val();
        self.joined.tag_top.next = self.tag_top.val();
        self.regs.port.next = self.port.val();
        self.regs.now.next = self.now.val();
        self.ctrl_read_desc_valid.next = self.ctrl_reads.read_desc_valid.val();
        self.ctrl_reads.read_desc_ready.next = self.ctrl_read_desc_ready.val();
        self.ctrl_read_desc_dma_addr.next = self.ctrl_reads.read_desc_dma_addr.val();
        self.ctrl_read_desc_line.next = self.ctrl_reads.read_desc_line.val();
        self.ctrl_read_desc_len.next = self.ctrl_reads.read_desc_len.val();
        self.ctrl_read_desc_tag.next = self.ctrl_reads.read_desc_tag.val();
        self.ctrl_reads.read_status_valid.next = self.ctrl_read_status_valid.val();
        self.ctrl_reads.read_status_tag.next = self.ctrl_read_status_tag.val();
        self.ctrl_reads.read_status_error.next = self.ctrl_read_status_error.val();
        self.ctrl_reads.wr_cmd_valid.next = self.ctrl_wr_cmd_valid.val();
        self.ctrl_reads.wr_cmd_be.next = self.ctrl_wr_cmd_be.val();
        self.ctrl_reads.wr_cmd_addr_0.next = self.ctrl_wr_cmd_addr_0.val();
        self.ctrl_reads.wr_cmd_addr_1.next = self.ctrl_wr_cmd_addr_1.val();
        self.ctrl_reads.wr_cmd_data.next = self.ctrl_wr_cmd_data.val();
        self.ctrl_wr_done.next = self.ctrl_reads.wr_done.val();
        self.ctrl_write_desc_valid.next = self.ctrl_writes.write_desc_valid.val();
        self.ctrl_writes.write_desc_ready.next = self.ctrl_write_desc_ready.val();
        self.ctrl_write_desc_dma_addr.next = self.ctrl_writes.write_desc_dma_addr.val();
        self.ctrl_write_desc_line.next = self.ctrl_writes.write_desc_line.val();
        self.ctrl_write_desc_len.next = self.ctrl_writes.write_desc_len.val();
        self.ctrl_write_desc_tag.next = self.ctrl_writes.write_desc_tag.val();
        self.ctrl_writes.write_status_valid.next = self.ctrl_write_status_valid.val();
        self.ctrl_writes.write_status_tag.next = self.ctrl_write_status_tag.val();
        self.ctrl_writes.write_status_error.next = self.ctrl_write_status_error.val();
        self.ctrl_writes.rd_cmd_valid.next = self.ctrl_rd_cmd_valid.val();
        self.ctrl_writes.rd_cmd_addr_0.next = self.ctrl_rd_cmd_addr_0.val();
        self.ctrl_writes.rd_cmd_addr_1.next = self.ctrl_rd_cmd_addr_1.val();
        self.ctrl_rd_cmd_ready.next = self.ctrl_writes.rd_cmd_ready.val();
        self.ctrl_rd_resp_data.next = self.ctrl_writes.rd_resp_data.val();
        self.ctrl_rd_resp_valid.next = self.ctrl_writes.rd_resp_valid.val();
        self.ctrl_writes.rd_resp_ready.next = self.ctrl_rd_resp_ready.val();
        self.ctrl_reads.desc_valid.next = self.core.dma_ctrl_read_desc_valid.val();
        self.ctrl_reads.desc_address.next = self.core.dma_ctrl_read_desc_address.val();
        self.ctrl_reads.desc_length.next = self.core.dma_ctrl_read_desc_length.val();
        self.ctrl_reads.desc_tag.next = self.core.dma_ctrl_read_desc_tag.val();
        self.core.dma_ctrl_read_desc_ready.next = self.ctrl_reads.desc_ready.val();
        self.core.dma_ctrl_read_status_valid.next = self.ctrl_reads.status_valid.val();
        self.core.dma_ctrl_read_status_tag.next = self.ctrl_reads.status_tag.val();
        self.core.dma_ctrl_read_status_error.next = self.ctrl_reads.status_error.val();
        self.ctrl_writes.desc_valid.next = self.core.dma_ctrl_write_desc_valid.val();
        self.ctrl_writes.desc_address.next = self.core.dma_ctrl_write_desc_address.val();
        self.ctrl_writes.desc_length.next = self.core.dma_ctrl_write_desc_length.val();
        self.ctrl_writes.desc_tag.next = self.core.dma_ctrl_write_desc_tag.val();
        self.core.dma_ctrl_write_desc_ready.next = self.ctrl_writes.desc_ready.val();
        self.core.dma_ctrl_write_status_valid.next = self.ctrl_writes.status_valid.val();
        self.core.dma_ctrl_write_status_tag.next = self.ctrl_writes.status_tag.val();
        self.core.dma_ctrl_write_status_error.next = self.ctrl_writes.status_error.val();
        self.core.dma_ctrl_read_data_valid.next = self.ctrl_reads.data_valid.val();
        self.core.dma_ctrl_read_data_tdata.next = self.ctrl_reads.data_tdata.val();
        self.core.dma_ctrl_read_data_tlast.next = self.ctrl_reads.data_tlast.val();
        self.ctrl_reads.data_ready.next = self.core.dma_ctrl_read_data_ready.val();
        self.ctrl_writes.data_valid.next = self.core.dma_ctrl_write_data_valid.val();
        self.ctrl_writes.data_tdata.next = self.core.dma_ctrl_write_data_tdata.val();
        self.core.dma_ctrl_write_data_ready.next = self.ctrl_writes.data_ready.val();
        self.data_read_desc_valid.next = self.data_reads.read_desc_valid.val();
        self.data_reads.read_desc_ready.next = self.data_read_desc_ready.val();
        self.data_read_desc_dma_addr.next = self.data_reads.read_desc_dma_addr.val();
        self.data_read_desc_line.next = self.data_reads.read_desc_line.val();
        self.data_read_desc_len.next = self.data_reads.read_desc_len.val();
        self.data_read_desc_tag.next = self.data_reads.read_desc_tag.val();
        self.data_reads.read_status_valid.next = self.data_read_status_valid.val();
        self.data_reads.read_status_tag.next = self.data_read_status_tag.val();
        self.data_reads.read_status_error.next = self.data_read_status_error.val();
        self.data_reads.wr_cmd_valid.next = self.data_wr_cmd_valid.val();
        self.data_reads.wr_cmd_be.next = self.data_wr_cmd_be.val();
        self.data_reads.wr_cmd_addr_0.next = self.data_wr_cmd_addr_0.val();
        self.data_reads.wr_cmd_addr_1.next = self.data_wr_cmd_addr_1.val();
        self.data_reads.wr_cmd_data.next = self.data_wr_cmd_data.val();
        self.data_wr_done.next = self.data_reads.wr_done.val();
        self.data_write_desc_valid.next = self.data_writes.write_desc_valid.val();
        self.data_writes.write_desc_ready.next = self.data_write_desc_ready.val();
        self.data_write_desc_dma_addr.next = self.data_writes.write_desc_dma_addr.val();
        self.data_write_desc_line.next = self.data_writes.write_desc_line.val();
        self.data_write_desc_len.next = self.data_writes.write_desc_len.val();
        self.data_write_desc_tag.next = self.data_writes.write_desc_tag.val();
        self.data_writes.write_status_valid.next = self.data_write_status_valid.val();
        self.data_writes.write_status_tag.next = self.data_write_status_tag.val();
        self.data_writes.write_status_error.next = self.data_write_status_error.val();
        self.data_writes.rd_cmd_valid.next = self.data_rd_cmd_valid.val();
        self.data_writes.rd_cmd_addr_0.next = self.data_rd_cmd_addr_0.val();
        self.data_writes.rd_cmd_addr_1.next = self.data_rd_cmd_addr_1.val();
        self.data_rd_cmd_ready.next = self.data_writes.rd_cmd_ready.val();
        self.data_rd_resp_data.next = self.data_writes.rd_resp_data.val();
        self.data_rd_resp_valid.next = self.data_writes.rd_resp_valid.val();
        self.data_writes.rd_resp_ready.next = self.data_rd_resp_ready.val();
        self.data_reads.desc_valid.next = self.core.dma_data_read_desc_valid.val();
        self.data_reads.desc_address.next = self.core.dma_data_read_desc_address.val();
        self.data_reads.desc_length.next = self.core.dma_data_read_desc_length.val();
        self.data_reads.desc_tag.next = self.core.dma_data_read_desc_tag.val();
        self.core.dma_data_read_desc_ready.next = self.data_reads.desc_ready.val();
        self.core.dma_data_read_status_valid.next = self.data_reads.status_valid.val();
        self.core.dma_data_read_status_tag.next = self.data_reads.status_tag.val();
        self.core.dma_data_read_status_error.next = self.data_reads.status_error.val();
        self.data_writes.desc_valid.next = self.core.dma_data_write_desc_valid.val();
        self.data_writes.desc_address.next = self.core.dma_data_write_desc_address.val();
        self.data_writes.desc_length.next = self.core.dma_data_write_desc_length.val();
        self.data_writes.desc_tag.next = self.core.dma_data_write_desc_tag.val();
        self.core.dma_data_write_desc_ready.next = self.data_writes.desc_ready.val();
        self.core.dma_data_write_status_valid.next = self.data_writes.status_valid.val();
        self.core.dma_data_write_status_tag.next = self.data_writes.status_tag.val();
        self.core.dma_data_write_status_error.next = self.data_writes.status_error.val();
        self.core.dma_data_read_data_valid.next = self.data_reads.data_valid.val();
        self.core.dma_data_read_data_tdata.next = self.data_reads.data_tdata.val();
        self.core.dma_data_read_data_tlast.next = self.data_reads.data_tlast.val();
        self.data_reads.data_ready.next = self.core.dma_data_read_data_ready.val();
        self.data_writes.data_valid.next = self.core.dma_data_write_data_valid.val();
        self.data_writes.data_tdata.next = self.core.dma_data_write_data_tdata.val();
        self.core.dma_data_write_data_ready.next = self.data_writes.data_ready.val();
        self.stats.base.next = self.stat_base.val();
        self.stat_tdata.next = self.stats.stat_tdata.val();
        self.stat_tid.next = self.stats.stat_tid.val();
        self.stat_tvalid.next = self.stats.stat_tvalid.val();
        self.stats.stat_tready.next = self.stat_tready.val();
        self.tap.enable.next = self.regs.enable.val();
        self.tap.mac.next = self.regs.mac.val();
        self.tap.ip4.next = self.regs.ip4.val();
        self.tap.ip6.next = self.regs.ip6.val();
        self.tap.qpn_value.next = self.regs.qpn_value.val();
        self.tap.qpn_mask.next = self.regs.qpn_mask.val();
        self.core.s_axis_tdata.next = self.tap.ours_tdata.val();
        self.core.s_axis_tkeep.next = self.tap.ours_tkeep.val();
        self.core.s_axis_tvalid.next = self.tap.ours_tvalid.val();
        self.core.s_axis_tlast.next = self.tap.ours_tlast.val();
        self.core.s_axis_tuser.next = self.tap.ours_tuser.val().get_bit(0);
        self.joined.ours_tdata.next = self.core.m_axis_tdata.val();
        self.joined.ours_tkeep.next = self.core.m_axis_tkeep.val();
        self.joined.ours_tvalid.next = self.core.m_axis_tvalid.val();
        self.joined.ours_tlast.next = self.core.m_axis_tlast.val();
        self.core.m_axis_tready.next = self.joined.ours_tready.val();
        self.regs.rx_took.next = self.tap.took.val();
        self.regs.rx_time.next = self.tap.ours_tuser.val().get_bits::<96>(1);
        self.regs.rx_passed.next = self.tap.passed.val();
        self.regs.tx_injected.next = self.joined.injected.val();
        self.regs.tx_passed.next = self.joined.passed.val() | self.tx_passed.val();
        self.verdict_valid.next = self.tap.verdict_valid.val();
        self.verdict_ours.next = self.tap.verdict_ours.val();
        self.regs.tx_ended.next = self.joined.ended.val();
        self.regs.tx_time.next = self.joined.ended_ts.val();
        self.stats.pulse_0.next = self.tap.took.val();
        self.stats.pulse_1.next = self.joined.injected.val();
        self.core.clk.next = self.clk.val();
        self.core.rst.next = self.rst.val();
        self.regs.clk.next = self.clk.val();
        self.regs.rst.next = self.rst.val();
        self.tap.clk.next = self.clk.val();
        self.tap.rst.next = self.rst.val();
        self.joined.clk.next = self.clk.val();
        self.joined.rst.next = self.rst.val();
        self.ctrl_reads.clk.next = self.clk.val();
        self.ctrl_reads.rst.next = self.rst.val();
        self.ctrl_writes.clk.next = self.clk.val();
        self.ctrl_writes.rst.next = self.rst.val();
        self.data_reads.clk.next = self.clk.val();
        self.data_reads.rst.next = self.rst.val();
        self.data_writes.clk.next = self.clk.val();
        self.data_writes.rst.next = self.rst.val();
        self.stats.clk.next = self.clk.val();
        self.stats.rst.next = self.rst.val();
    }
}
