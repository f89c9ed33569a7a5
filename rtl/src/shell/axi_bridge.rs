//! The NIC's four DMA ports as one AXI4 master.
//!
//! ```text
//!  dma_ctrl reads, writes ─> AxiRead, AxiWrite ─┐ ID 0
//!                                               ├─ AxiMerge ─ m_axi
//!  dma_data reads, writes ─> AxiRead, AxiWrite ─┘ ID 1
//! ```
//!
//! Contract: that of its parts. `m_axi` is AXI4 with one ID bit, bursts of whole beats that count up
//! (INCR), cacheable and bufferable (`0011`), unprivileged data accesses. `rlast` is not needed: who asked
//! knows. Between classes there is no order.
//!
//! Verified by `testbenches/tests/axi_blocks`, and in whole NICs by `configs.rs`.

use super::axi_merge::AxiMerge;
use super::axi_read::AxiRead;
use super::axi_write::AxiWrite;
use crate::prelude::*;

/// `W` bits, `K = W / 8` bytes.
#[derive(LogicBlock)]
pub struct AxiBridge<const W: usize, const K: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub dma_ctrl_read_desc_valid: Signal<In, Bit>,
    pub dma_ctrl_read_desc_ready: Signal<Out, Bit>,
    pub dma_ctrl_read_desc_address: Signal<In, Bits<64>>,
    pub dma_ctrl_read_desc_length: Signal<In, Bits<13>>,
    pub dma_ctrl_read_desc_tag: Signal<In, Bits<8>>,
    pub dma_ctrl_read_data_valid: Signal<Out, Bit>,
    pub dma_ctrl_read_data_ready: Signal<In, Bit>,
    pub dma_ctrl_read_data_tdata: Signal<Out, Bits<W>>,
    pub dma_ctrl_read_data_tlast: Signal<Out, Bit>,
    pub dma_ctrl_read_status_valid: Signal<Out, Bit>,
    pub dma_ctrl_read_status_tag: Signal<Out, Bits<8>>,
    pub dma_ctrl_read_status_error: Signal<Out, Bit>,
    pub dma_ctrl_write_desc_valid: Signal<In, Bit>,
    pub dma_ctrl_write_desc_ready: Signal<Out, Bit>,
    pub dma_ctrl_write_desc_address: Signal<In, Bits<64>>,
    pub dma_ctrl_write_desc_length: Signal<In, Bits<13>>,
    pub dma_ctrl_write_desc_tag: Signal<In, Bits<8>>,
    pub dma_ctrl_write_data_valid: Signal<In, Bit>,
    pub dma_ctrl_write_data_ready: Signal<Out, Bit>,
    pub dma_ctrl_write_data_tdata: Signal<In, Bits<W>>,
    pub dma_ctrl_write_status_valid: Signal<Out, Bit>,
    pub dma_ctrl_write_status_tag: Signal<Out, Bits<8>>,
    pub dma_ctrl_write_status_error: Signal<Out, Bit>,
    pub dma_data_read_desc_valid: Signal<In, Bit>,
    pub dma_data_read_desc_ready: Signal<Out, Bit>,
    pub dma_data_read_desc_address: Signal<In, Bits<64>>,
    pub dma_data_read_desc_length: Signal<In, Bits<13>>,
    pub dma_data_read_desc_tag: Signal<In, Bits<8>>,
    pub dma_data_read_data_valid: Signal<Out, Bit>,
    pub dma_data_read_data_ready: Signal<In, Bit>,
    pub dma_data_read_data_tdata: Signal<Out, Bits<W>>,
    pub dma_data_read_data_tlast: Signal<Out, Bit>,
    pub dma_data_read_status_valid: Signal<Out, Bit>,
    pub dma_data_read_status_tag: Signal<Out, Bits<8>>,
    pub dma_data_read_status_error: Signal<Out, Bit>,
    pub dma_data_write_desc_valid: Signal<In, Bit>,
    pub dma_data_write_desc_ready: Signal<Out, Bit>,
    pub dma_data_write_desc_address: Signal<In, Bits<64>>,
    pub dma_data_write_desc_length: Signal<In, Bits<13>>,
    pub dma_data_write_desc_tag: Signal<In, Bits<8>>,
    pub dma_data_write_data_valid: Signal<In, Bit>,
    pub dma_data_write_data_ready: Signal<Out, Bit>,
    pub dma_data_write_data_tdata: Signal<In, Bits<W>>,
    pub dma_data_write_status_valid: Signal<Out, Bit>,
    pub dma_data_write_status_tag: Signal<Out, Bits<8>>,
    pub dma_data_write_status_error: Signal<Out, Bit>,
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
    ctrl_reads: AxiRead<W, K>,
    ctrl_writes: AxiWrite<W, K>,
    data_reads: AxiRead<W, K>,
    data_writes: AxiWrite<W, K>,
    bus: AxiMerge<W, K>,
    size: Constant<Bits<3>>,
    incr: Constant<Bits<2>>,
    cacheable: Constant<Bits<4>>,
}

impl<const W: usize, const K: usize> AxiBridge<W, K> {
    /// # Panics
    /// Unless `W` is 64, 128, 256 or 512 and `K` its bytes.
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
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
            dma_data_write_status_valid: Default::default(),
            dma_data_write_status_tag: Default::default(),
            dma_data_write_status_error: Default::default(),
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
            ctrl_reads: AxiRead::new(),
            ctrl_writes: AxiWrite::new(),
            data_reads: AxiRead::new(),
            data_writes: AxiWrite::new(),
            bus: AxiMerge::new(),
            size: Constant::new(u64::from(K.ilog2()).into()),
            incr: Constant::new(1u64.into()),
            cacheable: Constant::new(3u64.into()),
        }
    }
}

impl<const W: usize, const K: usize> Logic for AxiBridge<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        self.ctrl_reads.clk.next = self.clk.val();
        self.ctrl_reads.rst.next = self.rst.val();
        self.ctrl_writes.clk.next = self.clk.val();
        self.ctrl_writes.rst.next = self.rst.val();
        self.data_reads.clk.next = self.clk.val();
        self.data_reads.rst.next = self.rst.val();
        self.data_writes.clk.next = self.clk.val();
        self.data_writes.rst.next = self.rst.val();
        self.bus.clk.next = self.clk.val();
        self.bus.rst.next = self.rst.val();

        self.ctrl_reads.desc_valid.next = self.dma_ctrl_read_desc_valid.val();
        self.ctrl_reads.desc_address.next = self.dma_ctrl_read_desc_address.val();
        self.ctrl_reads.desc_length.next = self.dma_ctrl_read_desc_length.val();
        self.ctrl_reads.desc_tag.next = self.dma_ctrl_read_desc_tag.val();
        self.ctrl_reads.data_ready.next = self.dma_ctrl_read_data_ready.val();
        self.dma_ctrl_read_desc_ready.next = self.ctrl_reads.desc_ready.val();
        self.dma_ctrl_read_data_valid.next = self.ctrl_reads.data_valid.val();
        self.dma_ctrl_read_data_tdata.next = self.ctrl_reads.data_tdata.val();
        self.dma_ctrl_read_data_tlast.next = self.ctrl_reads.data_tlast.val();
        self.dma_ctrl_read_status_valid.next = self.ctrl_reads.status_valid.val();
        self.dma_ctrl_read_status_tag.next = self.ctrl_reads.status_tag.val();
        self.dma_ctrl_read_status_error.next = self.ctrl_reads.status_error.val();
        self.ctrl_writes.desc_valid.next = self.dma_ctrl_write_desc_valid.val();
        self.ctrl_writes.desc_address.next = self.dma_ctrl_write_desc_address.val();
        self.ctrl_writes.desc_length.next = self.dma_ctrl_write_desc_length.val();
        self.ctrl_writes.desc_tag.next = self.dma_ctrl_write_desc_tag.val();
        self.ctrl_writes.data_valid.next = self.dma_ctrl_write_data_valid.val();
        self.ctrl_writes.data_tdata.next = self.dma_ctrl_write_data_tdata.val();
        self.dma_ctrl_write_desc_ready.next = self.ctrl_writes.desc_ready.val();
        self.dma_ctrl_write_data_ready.next = self.ctrl_writes.data_ready.val();
        self.dma_ctrl_write_status_valid.next = self.ctrl_writes.status_valid.val();
        self.dma_ctrl_write_status_tag.next = self.ctrl_writes.status_tag.val();
        self.dma_ctrl_write_status_error.next = self.ctrl_writes.status_error.val();
        self.bus.ctrl_arvalid.next = self.ctrl_reads.arvalid.val();
        self.bus.ctrl_araddr.next = self.ctrl_reads.araddr.val();
        self.bus.ctrl_arlen.next = self.ctrl_reads.arlen.val();
        self.bus.ctrl_rready.next = self.ctrl_reads.rready.val();
        self.bus.ctrl_awvalid.next = self.ctrl_writes.awvalid.val();
        self.bus.ctrl_awaddr.next = self.ctrl_writes.awaddr.val();
        self.bus.ctrl_awlen.next = self.ctrl_writes.awlen.val();
        self.bus.ctrl_wvalid.next = self.ctrl_writes.wvalid.val();
        self.bus.ctrl_wdata.next = self.ctrl_writes.wdata.val();
        self.bus.ctrl_wstrb.next = self.ctrl_writes.wstrb.val();
        self.bus.ctrl_wlast.next = self.ctrl_writes.wlast.val();
        self.bus.ctrl_bready.next = self.ctrl_writes.bready.val();
        self.ctrl_reads.arready.next = self.bus.ctrl_arready.val();
        self.ctrl_reads.rvalid.next = self.bus.ctrl_rvalid.val();
        self.ctrl_writes.awready.next = self.bus.ctrl_awready.val();
        self.ctrl_writes.wready.next = self.bus.ctrl_wready.val();
        self.ctrl_writes.bvalid.next = self.bus.ctrl_bvalid.val();
        self.ctrl_reads.rdata.next = self.m_axi_rdata.val();
        self.ctrl_reads.rresp.next = self.m_axi_rresp.val();
        self.ctrl_writes.bresp.next = self.m_axi_bresp.val();

        self.data_reads.desc_valid.next = self.dma_data_read_desc_valid.val();
        self.data_reads.desc_address.next = self.dma_data_read_desc_address.val();
        self.data_reads.desc_length.next = self.dma_data_read_desc_length.val();
        self.data_reads.desc_tag.next = self.dma_data_read_desc_tag.val();
        self.data_reads.data_ready.next = self.dma_data_read_data_ready.val();
        self.dma_data_read_desc_ready.next = self.data_reads.desc_ready.val();
        self.dma_data_read_data_valid.next = self.data_reads.data_valid.val();
        self.dma_data_read_data_tdata.next = self.data_reads.data_tdata.val();
        self.dma_data_read_data_tlast.next = self.data_reads.data_tlast.val();
        self.dma_data_read_status_valid.next = self.data_reads.status_valid.val();
        self.dma_data_read_status_tag.next = self.data_reads.status_tag.val();
        self.dma_data_read_status_error.next = self.data_reads.status_error.val();
        self.data_writes.desc_valid.next = self.dma_data_write_desc_valid.val();
        self.data_writes.desc_address.next = self.dma_data_write_desc_address.val();
        self.data_writes.desc_length.next = self.dma_data_write_desc_length.val();
        self.data_writes.desc_tag.next = self.dma_data_write_desc_tag.val();
        self.data_writes.data_valid.next = self.dma_data_write_data_valid.val();
        self.data_writes.data_tdata.next = self.dma_data_write_data_tdata.val();
        self.dma_data_write_desc_ready.next = self.data_writes.desc_ready.val();
        self.dma_data_write_data_ready.next = self.data_writes.data_ready.val();
        self.dma_data_write_status_valid.next = self.data_writes.status_valid.val();
        self.dma_data_write_status_tag.next = self.data_writes.status_tag.val();
        self.dma_data_write_status_error.next = self.data_writes.status_error.val();
        self.bus.data_arvalid.next = self.data_reads.arvalid.val();
        self.bus.data_araddr.next = self.data_reads.araddr.val();
        self.bus.data_arlen.next = self.data_reads.arlen.val();
        self.bus.data_rready.next = self.data_reads.rready.val();
        self.bus.data_awvalid.next = self.data_writes.awvalid.val();
        self.bus.data_awaddr.next = self.data_writes.awaddr.val();
        self.bus.data_awlen.next = self.data_writes.awlen.val();
        self.bus.data_wvalid.next = self.data_writes.wvalid.val();
        self.bus.data_wdata.next = self.data_writes.wdata.val();
        self.bus.data_wstrb.next = self.data_writes.wstrb.val();
        self.bus.data_wlast.next = self.data_writes.wlast.val();
        self.bus.data_bready.next = self.data_writes.bready.val();
        self.data_reads.arready.next = self.bus.data_arready.val();
        self.data_reads.rvalid.next = self.bus.data_rvalid.val();
        self.data_writes.awready.next = self.bus.data_awready.val();
        self.data_writes.wready.next = self.bus.data_wready.val();
        self.data_writes.bvalid.next = self.bus.data_bvalid.val();
        self.data_reads.rdata.next = self.m_axi_rdata.val();
        self.data_reads.rresp.next = self.m_axi_rresp.val();
        self.data_writes.bresp.next = self.m_axi_bresp.val();

        self.bus.arready.next = self.m_axi_arready.val();
        self.bus.rvalid.next = self.m_axi_rvalid.val();
        self.bus.rid.next = self.m_axi_rid.val();
        self.bus.awready.next = self.m_axi_awready.val();
        self.bus.wready.next = self.m_axi_wready.val();
        self.bus.bvalid.next = self.m_axi_bvalid.val();
        self.bus.bid.next = self.m_axi_bid.val();
        self.m_axi_arvalid.next = self.bus.arvalid.val();
        self.m_axi_arid.next = self.bus.arid.val();
        self.m_axi_araddr.next = self.bus.araddr.val();
        self.m_axi_arlen.next = self.bus.arlen.val();
        self.m_axi_rready.next = self.bus.rready.val();
        self.m_axi_awvalid.next = self.bus.awvalid.val();
        self.m_axi_awid.next = self.bus.awid.val();
        self.m_axi_awaddr.next = self.bus.awaddr.val();
        self.m_axi_awlen.next = self.bus.awlen.val();
        self.m_axi_wvalid.next = self.bus.wvalid.val();
        self.m_axi_wdata.next = self.bus.wdata.val();
        self.m_axi_wstrb.next = self.bus.wstrb.val();
        self.m_axi_wlast.next = self.bus.wlast.val();
        self.m_axi_bready.next = self.bus.bready.val();
        self.m_axi_arsize.next = self.size.val();
        self.m_axi_arburst.next = self.incr.val();
        self.m_axi_arlock.next = false;
        self.m_axi_arcache.next = self.cacheable.val();
        self.m_axi_arprot.next = 0.into();
        self.m_axi_awsize.next = self.size.val();
        self.m_axi_awburst.next = self.incr.val();
        self.m_axi_awlock.next = false;
        self.m_axi_awcache.next = self.cacheable.val();
        self.m_axi_awprot.next = 0.into();
    }
}
