//! A NIC whose streams are half as wide as its path: the whole of it between gears.
//!
//! ```text
//!  s_axis (W) ─> widen ─┐                ┌─> split ─> m_axis (W)
//!  dma_ctrl reads ─> widen ─┐        ┌─> split ─> dma_ctrl writes
//!  dma_data reads ─> widen ─┤  nic   ├─> split ─> dma_data writes
//!  descriptors, statuses, s_axil ────┴──────────── as they are
//! ```
//!
//! Contract: the ports of [`TesseraNic`] with other widths, and its contract.
//! A read's status is held one clock, so that it comes with or after its last
//! beat inside as well. No gear ever refuses a frame's beat or one that was
//! read: the NIC takes what it gets in these streams.
//!
//! Verified by `testbenches/tests/configs.rs`.

use tessera_abi::params::Config;

use super::TesseraNic;
use crate::prelude::*;
use crate::stream::{Split, Widen};
use crate::types::DmaStatus;

/// A configuration whose streams have `W` bits, `K = W / 8` bytes.
#[derive(LogicBlock)]
pub struct GearedNic<const W: usize, const K: usize> {
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
    nic: TesseraNic,
    rx_gear: Widen<W, K, 512, 64>,
    tx_gear: Split<W, K, 512, 64>,
    ctrl_read_gear: Widen<W, K, 512, 64>,
    ctrl_write_gear: Split<W, K, 512, 64>,
    data_read_gear: Widen<W, K, 512, 64>,
    data_write_gear: Split<W, K, 512, 64>,
    ctrl_status_valid: Dff<Bit>,
    ctrl_status: Dff<DmaStatus>,
    data_status_valid: Dff<Bit>,
    data_status: Dff<DmaStatus>,
}

impl<const W: usize, const K: usize> GearedNic<W, K> {
    /// The NIC of a configuration. Large: make it inside
    /// [`with_big_stack`](crate::emit::with_big_stack).
    ///
    /// # Panics
    /// When the configuration has another width.
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
            nic: TesseraNic::new(config),
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

impl<const W: usize, const K: usize> Logic for GearedNic<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, ctrl_status_valid, ctrl_status, data_status_valid, data_status);
        self.nic.clk.next = self.clk.val();
        self.nic.rst.next = self.rst.val();
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

        // Frames in.
        self.rx_gear.in_tdata.next = self.s_axis_tdata.val();
        self.nic.s_axis_tdata.next = self.rx_gear.out_tdata.val();
        self.rx_gear.in_tkeep.next = self.s_axis_tkeep.val();
        self.nic.s_axis_tkeep.next = self.rx_gear.out_tkeep.val();
        self.rx_gear.in_tvalid.next = self.s_axis_tvalid.val();
        self.nic.s_axis_tvalid.next = self.rx_gear.out_tvalid.val();
        self.rx_gear.in_tlast.next = self.s_axis_tlast.val();
        self.nic.s_axis_tlast.next = self.rx_gear.out_tlast.val();
        self.rx_gear.in_tuser.next = self.s_axis_tuser.val();
        self.nic.s_axis_tuser.next = self.rx_gear.out_tuser.val();
        self.s_axis_tready.next = self.rx_gear.in_tready.val();
        self.rx_gear.out_tready.next = self.nic.s_axis_tready.val();

        // Frames out.
        self.tx_gear.in_tdata.next = self.nic.m_axis_tdata.val();
        self.m_axis_tdata.next = self.tx_gear.out_tdata.val();
        self.tx_gear.in_tkeep.next = self.nic.m_axis_tkeep.val();
        self.m_axis_tkeep.next = self.tx_gear.out_tkeep.val();
        self.tx_gear.in_tvalid.next = self.nic.m_axis_tvalid.val();
        self.m_axis_tvalid.next = self.tx_gear.out_tvalid.val();
        self.tx_gear.in_tlast.next = self.nic.m_axis_tlast.val();
        self.m_axis_tlast.next = self.tx_gear.out_tlast.val();
        self.nic.m_axis_tready.next = self.tx_gear.in_tready.val();
        self.tx_gear.out_tready.next = self.m_axis_tready.val();

        // Ring reads.
        self.ctrl_read_gear.in_tdata.next = self.dma_ctrl_read_data_tdata.val();
        self.nic.dma_ctrl_read_data_tdata.next = self.ctrl_read_gear.out_tdata.val();
        self.ctrl_read_gear.in_tkeep.next = 0.into();
        self.ctrl_read_gear.in_tvalid.next = self.dma_ctrl_read_data_valid.val();
        self.nic.dma_ctrl_read_data_valid.next = self.ctrl_read_gear.out_tvalid.val();
        self.ctrl_read_gear.in_tlast.next = self.dma_ctrl_read_data_tlast.val();
        self.nic.dma_ctrl_read_data_tlast.next = self.ctrl_read_gear.out_tlast.val();
        self.ctrl_read_gear.in_tuser.next = false;
        self.dma_ctrl_read_data_ready.next = self.ctrl_read_gear.in_tready.val();
        self.ctrl_read_gear.out_tready.next = self.nic.dma_ctrl_read_data_ready.val();

        // Ring writes.
        self.ctrl_write_gear.in_tdata.next = self.nic.dma_ctrl_write_data_tdata.val();
        self.dma_ctrl_write_data_tdata.next = self.ctrl_write_gear.out_tdata.val();
        self.ctrl_write_gear.in_tkeep.next = self.nic.dma_ctrl_write_data_tkeep.val();
        self.dma_ctrl_write_data_tkeep.next = self.ctrl_write_gear.out_tkeep.val();
        self.ctrl_write_gear.in_tvalid.next = self.nic.dma_ctrl_write_data_valid.val();
        self.dma_ctrl_write_data_valid.next = self.ctrl_write_gear.out_tvalid.val();
        self.ctrl_write_gear.in_tlast.next = self.nic.dma_ctrl_write_data_tlast.val();
        self.dma_ctrl_write_data_tlast.next = self.ctrl_write_gear.out_tlast.val();
        self.nic.dma_ctrl_write_data_ready.next = self.ctrl_write_gear.in_tready.val();
        self.ctrl_write_gear.out_tready.next = self.dma_ctrl_write_data_ready.val();

        // Payload reads.
        self.data_read_gear.in_tdata.next = self.dma_data_read_data_tdata.val();
        self.nic.dma_data_read_data_tdata.next = self.data_read_gear.out_tdata.val();
        self.data_read_gear.in_tkeep.next = 0.into();
        self.data_read_gear.in_tvalid.next = self.dma_data_read_data_valid.val();
        self.nic.dma_data_read_data_valid.next = self.data_read_gear.out_tvalid.val();
        self.data_read_gear.in_tlast.next = self.dma_data_read_data_tlast.val();
        self.nic.dma_data_read_data_tlast.next = self.data_read_gear.out_tlast.val();
        self.data_read_gear.in_tuser.next = false;
        self.dma_data_read_data_ready.next = self.data_read_gear.in_tready.val();
        self.data_read_gear.out_tready.next = self.nic.dma_data_read_data_ready.val();

        // Payload writes.
        self.data_write_gear.in_tdata.next = self.nic.dma_data_write_data_tdata.val();
        self.dma_data_write_data_tdata.next = self.data_write_gear.out_tdata.val();
        self.data_write_gear.in_tkeep.next = self.nic.dma_data_write_data_tkeep.val();
        self.dma_data_write_data_tkeep.next = self.data_write_gear.out_tkeep.val();
        self.data_write_gear.in_tvalid.next = self.nic.dma_data_write_data_valid.val();
        self.dma_data_write_data_valid.next = self.data_write_gear.out_tvalid.val();
        self.data_write_gear.in_tlast.next = self.nic.dma_data_write_data_tlast.val();
        self.dma_data_write_data_tlast.next = self.data_write_gear.out_tlast.val();
        self.nic.dma_data_write_data_ready.next = self.data_write_gear.in_tready.val();
        self.data_write_gear.out_tready.next = self.dma_data_write_data_ready.val();

        // Statuses of reads.
        self.ctrl_status_valid.d.next = self.dma_ctrl_read_status_valid.val();
        self.ctrl_status.d.next.tag = self.dma_ctrl_read_status_tag.val();
        self.ctrl_status.d.next.error = self.dma_ctrl_read_status_error.val();
        self.nic.dma_ctrl_read_status_valid.next = self.ctrl_status_valid.q.val();
        self.nic.dma_ctrl_read_status_tag.next = self.ctrl_status.q.val().tag;
        self.nic.dma_ctrl_read_status_error.next = self.ctrl_status.q.val().error;
        self.data_status_valid.d.next = self.dma_data_read_status_valid.val();
        self.data_status.d.next.tag = self.dma_data_read_status_tag.val();
        self.data_status.d.next.error = self.dma_data_read_status_error.val();
        self.nic.dma_data_read_status_valid.next = self.data_status_valid.q.val();
        self.nic.dma_data_read_status_tag.next = self.data_status.q.val().tag;
        self.nic.dma_data_read_status_error.next = self.data_status.q.val().error;

        // As they are.
        self.nic.s_axil_awaddr.next = self.s_axil_awaddr.val();
        self.nic.s_axil_awvalid.next = self.s_axil_awvalid.val();
        self.s_axil_awready.next = self.nic.s_axil_awready.val();
        self.nic.s_axil_wdata.next = self.s_axil_wdata.val();
        self.nic.s_axil_wstrb.next = self.s_axil_wstrb.val();
        self.nic.s_axil_wvalid.next = self.s_axil_wvalid.val();
        self.s_axil_wready.next = self.nic.s_axil_wready.val();
        self.s_axil_bresp.next = self.nic.s_axil_bresp.val();
        self.s_axil_bvalid.next = self.nic.s_axil_bvalid.val();
        self.nic.s_axil_bready.next = self.s_axil_bready.val();
        self.nic.s_axil_araddr.next = self.s_axil_araddr.val();
        self.nic.s_axil_arvalid.next = self.s_axil_arvalid.val();
        self.s_axil_arready.next = self.nic.s_axil_arready.val();
        self.s_axil_rdata.next = self.nic.s_axil_rdata.val();
        self.s_axil_rresp.next = self.nic.s_axil_rresp.val();
        self.s_axil_rvalid.next = self.nic.s_axil_rvalid.val();
        self.nic.s_axil_rready.next = self.s_axil_rready.val();
        self.irq.next = self.nic.irq.val();
        self.dma_ctrl_read_desc_valid.next = self.nic.dma_ctrl_read_desc_valid.val();
        self.nic.dma_ctrl_read_desc_ready.next = self.dma_ctrl_read_desc_ready.val();
        self.dma_ctrl_read_desc_address.next = self.nic.dma_ctrl_read_desc_address.val();
        self.dma_ctrl_read_desc_length.next = self.nic.dma_ctrl_read_desc_length.val();
        self.dma_ctrl_read_desc_tag.next = self.nic.dma_ctrl_read_desc_tag.val();
        self.dma_ctrl_write_desc_valid.next = self.nic.dma_ctrl_write_desc_valid.val();
        self.nic.dma_ctrl_write_desc_ready.next = self.dma_ctrl_write_desc_ready.val();
        self.dma_ctrl_write_desc_address.next = self.nic.dma_ctrl_write_desc_address.val();
        self.dma_ctrl_write_desc_length.next = self.nic.dma_ctrl_write_desc_length.val();
        self.dma_ctrl_write_desc_tag.next = self.nic.dma_ctrl_write_desc_tag.val();
        self.nic.dma_ctrl_write_status_valid.next = self.dma_ctrl_write_status_valid.val();
        self.nic.dma_ctrl_write_status_tag.next = self.dma_ctrl_write_status_tag.val();
        self.nic.dma_ctrl_write_status_error.next = self.dma_ctrl_write_status_error.val();
        self.dma_data_read_desc_valid.next = self.nic.dma_data_read_desc_valid.val();
        self.nic.dma_data_read_desc_ready.next = self.dma_data_read_desc_ready.val();
        self.dma_data_read_desc_address.next = self.nic.dma_data_read_desc_address.val();
        self.dma_data_read_desc_length.next = self.nic.dma_data_read_desc_length.val();
        self.dma_data_read_desc_tag.next = self.nic.dma_data_read_desc_tag.val();
        self.dma_data_write_desc_valid.next = self.nic.dma_data_write_desc_valid.val();
        self.nic.dma_data_write_desc_ready.next = self.dma_data_write_desc_ready.val();
        self.dma_data_write_desc_address.next = self.nic.dma_data_write_desc_address.val();
        self.dma_data_write_desc_length.next = self.nic.dma_data_write_desc_length.val();
        self.dma_data_write_desc_tag.next = self.nic.dma_data_write_desc_tag.val();
        self.nic.dma_data_write_status_valid.next = self.dma_data_write_status_valid.val();
        self.nic.dma_data_write_status_tag.next = self.dma_data_write_status_tag.val();
        self.nic.dma_data_write_status_error.next = self.dma_data_write_status_error.val();
        if self.rst.val() {
            self.ctrl_status_valid.d.next = false;
            self.data_status_valid.d.next = false;
        }
    }
}
