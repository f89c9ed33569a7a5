//! A NIC between gears behind AXI: registers AXI4-Lite, memory AXI4, frames AXI4-Stream.
//!
//! ```text
//!  s_axis, m_axis, s_axil ── as they are ── nic ── dma_ctrl, dma_data ── AxiBridge ── m_axi
//! ```
//!
//! Contract: those of [`GearedNic`] and of [`AxiBridge`]. What was asked of `m_axi` is finished over a
//! soft reset, as it is of the thin ports.
//!
//! Verified by `testbenches/tests/configs.rs`.

use tessera_abi::params::Config;

use super::axi_bridge::AxiBridge;
use crate::prelude::*;
use crate::top::GearedNic;

/// See the module's page.
#[derive(LogicBlock)]
pub struct GearedAxiNic<const W: usize, const K: usize> {
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
    pub m_axi_awvalid: Signal<Out, Bit>,
    pub m_axi_awready: Signal<In, Bit>,
    pub m_axi_awid: Signal<Out, Bit>,
    pub m_axi_awaddr: Signal<Out, Bits<64>>,
    pub m_axi_awlen: Signal<Out, Bits<8>>,
    pub m_axi_awsize: Signal<Out, Bits<3>>,
    pub m_axi_awburst: Signal<Out, Bits<2>>,
    pub m_axi_awlock: Signal<Out, Bit>,
    pub m_axi_awcache: Signal<Out, Bits<4>>,
    pub m_axi_awprot: Signal<Out, Bits<3>>,
    pub m_axi_wvalid: Signal<Out, Bit>,
    pub m_axi_wready: Signal<In, Bit>,
    pub m_axi_wdata: Signal<Out, Bits<W>>,
    pub m_axi_wstrb: Signal<Out, Bits<K>>,
    pub m_axi_wlast: Signal<Out, Bit>,
    pub m_axi_bvalid: Signal<In, Bit>,
    pub m_axi_bready: Signal<Out, Bit>,
    pub m_axi_bid: Signal<In, Bit>,
    pub m_axi_bresp: Signal<In, Bits<2>>,
    pub m_axi_arvalid: Signal<Out, Bit>,
    pub m_axi_arready: Signal<In, Bit>,
    pub m_axi_arid: Signal<Out, Bit>,
    pub m_axi_araddr: Signal<Out, Bits<64>>,
    pub m_axi_arlen: Signal<Out, Bits<8>>,
    pub m_axi_arsize: Signal<Out, Bits<3>>,
    pub m_axi_arburst: Signal<Out, Bits<2>>,
    pub m_axi_arlock: Signal<Out, Bit>,
    pub m_axi_arcache: Signal<Out, Bits<4>>,
    pub m_axi_arprot: Signal<Out, Bits<3>>,
    pub m_axi_rvalid: Signal<In, Bit>,
    pub m_axi_rready: Signal<Out, Bit>,
    pub m_axi_rid: Signal<In, Bit>,
    pub m_axi_rdata: Signal<In, Bits<W>>,
    pub m_axi_rresp: Signal<In, Bits<2>>,
    pub m_axi_rlast: Signal<In, Bit>,
    core: GearedNic<W, K>,
    bridge: AxiBridge<W, K>,
}

impl<const W: usize, const K: usize> GearedAxiNic<W, K> {
    /// The NIC of a configuration. Large: make it inside
    /// [`with_big_stack`](crate::emit::with_big_stack).
    ///
    /// # Panics
    /// When the configuration has another width.
    pub fn new(config: &Config) -> Self {
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
            m_axi_awvalid: Default::default(),
            m_axi_awready: Default::default(),
            m_axi_awid: Default::default(),
            m_axi_awaddr: Default::default(),
            m_axi_awlen: Default::default(),
            m_axi_awsize: Default::default(),
            m_axi_awburst: Default::default(),
            m_axi_awlock: Default::default(),
            m_axi_awcache: Default::default(),
            m_axi_awprot: Default::default(),
            m_axi_wvalid: Default::default(),
            m_axi_wready: Default::default(),
            m_axi_wdata: Default::default(),
            m_axi_wstrb: Default::default(),
            m_axi_wlast: Default::default(),
            m_axi_bvalid: Default::default(),
            m_axi_bready: Default::default(),
            m_axi_bid: Default::default(),
            m_axi_bresp: Default::default(),
            m_axi_arvalid: Default::default(),
            m_axi_arready: Default::default(),
            m_axi_arid: Default::default(),
            m_axi_araddr: Default::default(),
            m_axi_arlen: Default::default(),
            m_axi_arsize: Default::default(),
            m_axi_arburst: Default::default(),
            m_axi_arlock: Default::default(),
            m_axi_arcache: Default::default(),
            m_axi_arprot: Default::default(),
            m_axi_rvalid: Default::default(),
            m_axi_rready: Default::default(),
            m_axi_rid: Default::default(),
            m_axi_rdata: Default::default(),
            m_axi_rresp: Default::default(),
            m_axi_rlast: Default::default(),
            core: GearedNic::new(config),
            bridge: AxiBridge::new(),
        }
    }
}

impl<const W: usize, const K: usize> Logic for GearedAxiNic<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        self.core.clk.next = self.clk.val();
        self.core.rst.next = self.rst.val();
        self.bridge.clk.next = self.clk.val();
        self.bridge.rst.next = self.rst.val();

        self.core.s_axis_tdata.next = self.s_axis_tdata.val();
        self.core.s_axis_tkeep.next = self.s_axis_tkeep.val();
        self.core.s_axis_tvalid.next = self.s_axis_tvalid.val();
        self.s_axis_tready.next = self.core.s_axis_tready.val();
        self.core.s_axis_tlast.next = self.s_axis_tlast.val();
        self.core.s_axis_tuser.next = self.s_axis_tuser.val();
        self.m_axis_tdata.next = self.core.m_axis_tdata.val();
        self.m_axis_tkeep.next = self.core.m_axis_tkeep.val();
        self.m_axis_tvalid.next = self.core.m_axis_tvalid.val();
        self.core.m_axis_tready.next = self.m_axis_tready.val();
        self.m_axis_tlast.next = self.core.m_axis_tlast.val();
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

        self.bridge.dma_ctrl_read_desc_valid.next = self.core.dma_ctrl_read_desc_valid.val();
        self.core.dma_ctrl_read_desc_ready.next = self.bridge.dma_ctrl_read_desc_ready.val();
        self.bridge.dma_ctrl_read_desc_address.next = self.core.dma_ctrl_read_desc_address.val();
        self.bridge.dma_ctrl_read_desc_length.next = self.core.dma_ctrl_read_desc_length.val();
        self.bridge.dma_ctrl_read_desc_tag.next = self.core.dma_ctrl_read_desc_tag.val();
        self.core.dma_ctrl_read_data_valid.next = self.bridge.dma_ctrl_read_data_valid.val();
        self.bridge.dma_ctrl_read_data_ready.next = self.core.dma_ctrl_read_data_ready.val();
        self.core.dma_ctrl_read_data_tdata.next = self.bridge.dma_ctrl_read_data_tdata.val();
        self.core.dma_ctrl_read_data_tlast.next = self.bridge.dma_ctrl_read_data_tlast.val();
        self.core.dma_ctrl_read_status_valid.next = self.bridge.dma_ctrl_read_status_valid.val();
        self.core.dma_ctrl_read_status_tag.next = self.bridge.dma_ctrl_read_status_tag.val();
        self.core.dma_ctrl_read_status_error.next = self.bridge.dma_ctrl_read_status_error.val();
        self.bridge.dma_ctrl_write_desc_valid.next = self.core.dma_ctrl_write_desc_valid.val();
        self.core.dma_ctrl_write_desc_ready.next = self.bridge.dma_ctrl_write_desc_ready.val();
        self.bridge.dma_ctrl_write_desc_address.next = self.core.dma_ctrl_write_desc_address.val();
        self.bridge.dma_ctrl_write_desc_length.next = self.core.dma_ctrl_write_desc_length.val();
        self.bridge.dma_ctrl_write_desc_tag.next = self.core.dma_ctrl_write_desc_tag.val();
        self.bridge.dma_ctrl_write_data_valid.next = self.core.dma_ctrl_write_data_valid.val();
        self.core.dma_ctrl_write_data_ready.next = self.bridge.dma_ctrl_write_data_ready.val();
        self.bridge.dma_ctrl_write_data_tdata.next = self.core.dma_ctrl_write_data_tdata.val();
        self.core.dma_ctrl_write_status_valid.next = self.bridge.dma_ctrl_write_status_valid.val();
        self.core.dma_ctrl_write_status_tag.next = self.bridge.dma_ctrl_write_status_tag.val();
        self.core.dma_ctrl_write_status_error.next = self.bridge.dma_ctrl_write_status_error.val();
        self.bridge.dma_data_read_desc_valid.next = self.core.dma_data_read_desc_valid.val();
        self.core.dma_data_read_desc_ready.next = self.bridge.dma_data_read_desc_ready.val();
        self.bridge.dma_data_read_desc_address.next = self.core.dma_data_read_desc_address.val();
        self.bridge.dma_data_read_desc_length.next = self.core.dma_data_read_desc_length.val();
        self.bridge.dma_data_read_desc_tag.next = self.core.dma_data_read_desc_tag.val();
        self.core.dma_data_read_data_valid.next = self.bridge.dma_data_read_data_valid.val();
        self.bridge.dma_data_read_data_ready.next = self.core.dma_data_read_data_ready.val();
        self.core.dma_data_read_data_tdata.next = self.bridge.dma_data_read_data_tdata.val();
        self.core.dma_data_read_data_tlast.next = self.bridge.dma_data_read_data_tlast.val();
        self.core.dma_data_read_status_valid.next = self.bridge.dma_data_read_status_valid.val();
        self.core.dma_data_read_status_tag.next = self.bridge.dma_data_read_status_tag.val();
        self.core.dma_data_read_status_error.next = self.bridge.dma_data_read_status_error.val();
        self.bridge.dma_data_write_desc_valid.next = self.core.dma_data_write_desc_valid.val();
        self.core.dma_data_write_desc_ready.next = self.bridge.dma_data_write_desc_ready.val();
        self.bridge.dma_data_write_desc_address.next = self.core.dma_data_write_desc_address.val();
        self.bridge.dma_data_write_desc_length.next = self.core.dma_data_write_desc_length.val();
        self.bridge.dma_data_write_desc_tag.next = self.core.dma_data_write_desc_tag.val();
        self.bridge.dma_data_write_data_valid.next = self.core.dma_data_write_data_valid.val();
        self.core.dma_data_write_data_ready.next = self.bridge.dma_data_write_data_ready.val();
        self.bridge.dma_data_write_data_tdata.next = self.core.dma_data_write_data_tdata.val();
        self.core.dma_data_write_status_valid.next = self.bridge.dma_data_write_status_valid.val();
        self.core.dma_data_write_status_tag.next = self.bridge.dma_data_write_status_tag.val();
        self.core.dma_data_write_status_error.next = self.bridge.dma_data_write_status_error.val();

        self.m_axi_awvalid.next = self.bridge.m_axi_awvalid.val();
        self.bridge.m_axi_awready.next = self.m_axi_awready.val();
        self.m_axi_awid.next = self.bridge.m_axi_awid.val();
        self.m_axi_awaddr.next = self.bridge.m_axi_awaddr.val();
        self.m_axi_awlen.next = self.bridge.m_axi_awlen.val();
        self.m_axi_awsize.next = self.bridge.m_axi_awsize.val();
        self.m_axi_awburst.next = self.bridge.m_axi_awburst.val();
        self.m_axi_awlock.next = self.bridge.m_axi_awlock.val();
        self.m_axi_awcache.next = self.bridge.m_axi_awcache.val();
        self.m_axi_awprot.next = self.bridge.m_axi_awprot.val();
        self.m_axi_wvalid.next = self.bridge.m_axi_wvalid.val();
        self.bridge.m_axi_wready.next = self.m_axi_wready.val();
        self.m_axi_wdata.next = self.bridge.m_axi_wdata.val();
        self.m_axi_wstrb.next = self.bridge.m_axi_wstrb.val();
        self.m_axi_wlast.next = self.bridge.m_axi_wlast.val();
        self.bridge.m_axi_bvalid.next = self.m_axi_bvalid.val();
        self.m_axi_bready.next = self.bridge.m_axi_bready.val();
        self.bridge.m_axi_bid.next = self.m_axi_bid.val();
        self.bridge.m_axi_bresp.next = self.m_axi_bresp.val();
        self.m_axi_arvalid.next = self.bridge.m_axi_arvalid.val();
        self.bridge.m_axi_arready.next = self.m_axi_arready.val();
        self.m_axi_arid.next = self.bridge.m_axi_arid.val();
        self.m_axi_araddr.next = self.bridge.m_axi_araddr.val();
        self.m_axi_arlen.next = self.bridge.m_axi_arlen.val();
        self.m_axi_arsize.next = self.bridge.m_axi_arsize.val();
        self.m_axi_arburst.next = self.bridge.m_axi_arburst.val();
        self.m_axi_arlock.next = self.bridge.m_axi_arlock.val();
        self.m_axi_arcache.next = self.bridge.m_axi_arcache.val();
        self.m_axi_arprot.next = self.bridge.m_axi_arprot.val();
        self.bridge.m_axi_rvalid.next = self.m_axi_rvalid.val();
        self.m_axi_rready.next = self.bridge.m_axi_rready.val();
        self.bridge.m_axi_rid.next = self.m_axi_rid.val();
        self.bridge.m_axi_rdata.next = self.m_axi_rdata.val();
        self.bridge.m_axi_rresp.next = self.m_axi_rresp.val();
        self.bridge.m_axi_rlast.next = self.m_axi_rlast.val();
    }
}
