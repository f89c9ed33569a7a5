//! Two DMA classes on one AXI4 master: `ctrl` has ID 0, `data` ID 1.
//!
//! ```text
//!  ctrl AR ─┐ turns           R, by its ID ──┬─> ctrl R
//!  data AR ─┴───────> AR                     └─> data R
//!  ctrl AW ─┐ turns           B, by its ID ──┬─> ctrl B
//!  data AW ─┴───────> AW                     └─> data B
//!           └─> owners FIFO ─> whose W goes
//! ```
//!
//! Contract: one address each way per two clocks, one clock of delay; data and answers pass in
//! the clock they come. Data of writes goes in the order of their addresses, and is not offered
//! before its address is. 32 bursts of writes whose data has not gone. Outputs depend on registers
//! and on the clients, not on the bus: `rready` and `bready` are high while both clients' are, which
//! is always where they ask only for what they have room for.
//!
//! Verified by `testbenches/tests/axi_blocks`, and in whole NICs by `configs.rs`.

use crate::prelude::*;
use crate::stream::Fifo;

/// A burst's address.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct BurstAddress {
    pub address: Bits<64>,
    pub length: Bits<8>,
}

/// `W` bits, `K = W / 8` bytes.
#[derive(LogicBlock)]
pub struct AxiMerge<const W: usize, const K: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub ctrl_arvalid: Signal<In, Bit>,
    pub ctrl_arready: Signal<Out, Bit>,
    pub ctrl_araddr: Signal<In, Bits<64>>,
    pub ctrl_arlen: Signal<In, Bits<8>>,
    pub ctrl_rvalid: Signal<Out, Bit>,
    pub ctrl_rready: Signal<In, Bit>,
    pub ctrl_awvalid: Signal<In, Bit>,
    pub ctrl_awready: Signal<Out, Bit>,
    pub ctrl_awaddr: Signal<In, Bits<64>>,
    pub ctrl_awlen: Signal<In, Bits<8>>,
    pub ctrl_wvalid: Signal<In, Bit>,
    pub ctrl_wready: Signal<Out, Bit>,
    pub ctrl_wdata: Signal<In, Bits<W>>,
    pub ctrl_wstrb: Signal<In, Bits<K>>,
    pub ctrl_wlast: Signal<In, Bit>,
    pub ctrl_bvalid: Signal<Out, Bit>,
    pub ctrl_bready: Signal<In, Bit>,
    pub data_arvalid: Signal<In, Bit>,
    pub data_arready: Signal<Out, Bit>,
    pub data_araddr: Signal<In, Bits<64>>,
    pub data_arlen: Signal<In, Bits<8>>,
    pub data_rvalid: Signal<Out, Bit>,
    pub data_rready: Signal<In, Bit>,
    pub data_awvalid: Signal<In, Bit>,
    pub data_awready: Signal<Out, Bit>,
    pub data_awaddr: Signal<In, Bits<64>>,
    pub data_awlen: Signal<In, Bits<8>>,
    pub data_wvalid: Signal<In, Bit>,
    pub data_wready: Signal<Out, Bit>,
    pub data_wdata: Signal<In, Bits<W>>,
    pub data_wstrb: Signal<In, Bits<K>>,
    pub data_wlast: Signal<In, Bit>,
    pub data_bvalid: Signal<Out, Bit>,
    pub data_bready: Signal<In, Bit>,
    pub arvalid: Signal<Out, Bit>,
    pub arready: Signal<In, Bit>,
    pub arid: Signal<Out, Bit>,
    pub araddr: Signal<Out, Bits<64>>,
    pub arlen: Signal<Out, Bits<8>>,
    pub rvalid: Signal<In, Bit>,
    pub rready: Signal<Out, Bit>,
    pub rid: Signal<In, Bit>,
    pub awvalid: Signal<Out, Bit>,
    pub awready: Signal<In, Bit>,
    pub awid: Signal<Out, Bit>,
    pub awaddr: Signal<Out, Bits<64>>,
    pub awlen: Signal<Out, Bits<8>>,
    pub wvalid: Signal<Out, Bit>,
    pub wready: Signal<In, Bit>,
    pub wdata: Signal<Out, Bits<W>>,
    pub wstrb: Signal<Out, Bits<K>>,
    pub wlast: Signal<Out, Bit>,
    pub bvalid: Signal<In, Bit>,
    pub bready: Signal<Out, Bit>,
    pub bid: Signal<In, Bit>,
    /// High for `data`.
    owners: Fifo<Bit, 5>,
    ar: Dff<BurstAddress>,
    ar_valid: Dff<Bit>,
    /// `data` was served last, which is also whose address is offered.
    ar_last: Dff<Bit>,
    aw: Dff<BurstAddress>,
    aw_valid: Dff<Bit>,
    aw_last: Dff<Bit>,
    ar_ctrl: Signal<Local, Bit>,
    ar_data: Signal<Local, Bit>,
    aw_open: Signal<Local, Bit>,
    aw_ctrl: Signal<Local, Bit>,
    aw_data: Signal<Local, Bit>,
    mine: Signal<Local, Bit>,
}

impl<const W: usize, const K: usize> AxiMerge<W, K> {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            ctrl_arvalid: Default::default(),
            ctrl_arready: Default::default(),
            ctrl_araddr: Default::default(),
            ctrl_arlen: Default::default(),
            ctrl_rvalid: Default::default(),
            ctrl_rready: Default::default(),
            ctrl_awvalid: Default::default(),
            ctrl_awready: Default::default(),
            ctrl_awaddr: Default::default(),
            ctrl_awlen: Default::default(),
            ctrl_wvalid: Default::default(),
            ctrl_wready: Default::default(),
            ctrl_wdata: Default::default(),
            ctrl_wstrb: Default::default(),
            ctrl_wlast: Default::default(),
            ctrl_bvalid: Default::default(),
            ctrl_bready: Default::default(),
            data_arvalid: Default::default(),
            data_arready: Default::default(),
            data_araddr: Default::default(),
            data_arlen: Default::default(),
            data_rvalid: Default::default(),
            data_rready: Default::default(),
            data_awvalid: Default::default(),
            data_awready: Default::default(),
            data_awaddr: Default::default(),
            data_awlen: Default::default(),
            data_wvalid: Default::default(),
            data_wready: Default::default(),
            data_wdata: Default::default(),
            data_wstrb: Default::default(),
            data_wlast: Default::default(),
            data_bvalid: Default::default(),
            data_bready: Default::default(),
            arvalid: Default::default(),
            arready: Default::default(),
            arid: Default::default(),
            araddr: Default::default(),
            arlen: Default::default(),
            rvalid: Default::default(),
            rready: Default::default(),
            rid: Default::default(),
            awvalid: Default::default(),
            awready: Default::default(),
            awid: Default::default(),
            awaddr: Default::default(),
            awlen: Default::default(),
            wvalid: Default::default(),
            wready: Default::default(),
            wdata: Default::default(),
            wstrb: Default::default(),
            wlast: Default::default(),
            bvalid: Default::default(),
            bready: Default::default(),
            bid: Default::default(),
            owners: Fifo::new(5),
            ar: Default::default(),
            ar_valid: Default::default(),
            ar_last: Default::default(),
            aw: Default::default(),
            aw_valid: Default::default(),
            aw_last: Default::default(),
            ar_ctrl: Default::default(),
            ar_data: Default::default(),
            aw_open: Default::default(),
            aw_ctrl: Default::default(),
            aw_data: Default::default(),
            mine: Default::default(),
        }
    }
}

impl<const W: usize, const K: usize> Logic for AxiMerge<W, K> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, ar, ar_valid, ar_last, aw, aw_valid, aw_last);
        self.owners.clk.next = self.clk.val();
        self.owners.rst.next = self.rst.val();

        // Readies of addresses depend on registers only but for the other's valid.
        self.ar_ctrl.next = !self.ar_valid.q.val()
            & self.ctrl_arvalid.val()
            & (self.ar_last.q.val() | !self.data_arvalid.val());
        self.ar_data.next = !self.ar_valid.q.val() & self.data_arvalid.val() & !self.ar_ctrl.val();
        self.ctrl_arready.next = self.ar_ctrl.val();
        self.data_arready.next = self.ar_data.val();
        if self.arready.val() {
            self.ar_valid.d.next = false;
        }
        if self.ar_ctrl.val() {
            self.ar.d.next.address = self.ctrl_araddr.val();
            self.ar.d.next.length = self.ctrl_arlen.val();
            self.ar_valid.d.next = true;
            self.ar_last.d.next = false;
        }
        if self.ar_data.val() {
            self.ar.d.next.address = self.data_araddr.val();
            self.ar.d.next.length = self.data_arlen.val();
            self.ar_valid.d.next = true;
            self.ar_last.d.next = true;
        }
        self.arvalid.next = self.ar_valid.q.val();
        self.arid.next = self.ar_last.q.val();
        self.araddr.next = self.ar.q.val().address;
        self.arlen.next = self.ar.q.val().length;
        self.rready.next = self.ctrl_rready.val() & self.data_rready.val();
        self.ctrl_rvalid.next = self.rvalid.val() & !self.rid.val() & self.data_rready.val();
        self.data_rvalid.next = self.rvalid.val() & self.rid.val() & self.ctrl_rready.val();

        self.aw_open.next = !self.aw_valid.q.val() & self.owners.in_ready.val();
        self.aw_ctrl.next =
            self.aw_open.val() & self.ctrl_awvalid.val() & (self.aw_last.q.val() | !self.data_awvalid.val());
        self.aw_data.next = self.aw_open.val() & self.data_awvalid.val() & !self.aw_ctrl.val();
        self.ctrl_awready.next = self.aw_ctrl.val();
        self.data_awready.next = self.aw_data.val();
        self.owners.in_valid.next = self.aw_ctrl.val() | self.aw_data.val();
        self.owners.in_data.next = self.aw_data.val();
        if self.awready.val() {
            self.aw_valid.d.next = false;
        }
        if self.aw_ctrl.val() {
            self.aw.d.next.address = self.ctrl_awaddr.val();
            self.aw.d.next.length = self.ctrl_awlen.val();
            self.aw_valid.d.next = true;
            self.aw_last.d.next = false;
        }
        if self.aw_data.val() {
            self.aw.d.next.address = self.data_awaddr.val();
            self.aw.d.next.length = self.data_awlen.val();
            self.aw_valid.d.next = true;
            self.aw_last.d.next = true;
        }
        self.awvalid.next = self.aw_valid.q.val();
        self.awid.next = self.aw_last.q.val();
        self.awaddr.next = self.aw.q.val().address;
        self.awlen.next = self.aw.q.val().length;

        self.mine.next = self.owners.out_data.val();
        self.wvalid.next = self.owners.out_valid.val()
            & ((self.mine.val() & self.data_wvalid.val()) | (!self.mine.val() & self.ctrl_wvalid.val()));
        self.wdata.next = self.ctrl_wdata.val();
        self.wstrb.next = self.ctrl_wstrb.val();
        self.wlast.next = self.ctrl_wlast.val();
        if self.mine.val() {
            self.wdata.next = self.data_wdata.val();
            self.wstrb.next = self.data_wstrb.val();
            self.wlast.next = self.data_wlast.val();
        }
        self.ctrl_wready.next = self.owners.out_valid.val() & !self.mine.val() & self.wready.val();
        self.data_wready.next = self.owners.out_valid.val() & self.mine.val() & self.wready.val();
        self.owners.out_ready.next = self.wvalid.val() & self.wready.val() & self.wlast.val();

        self.bready.next = self.ctrl_bready.val() & self.data_bready.val();
        self.ctrl_bvalid.next = self.bvalid.val() & !self.bid.val() & self.data_bready.val();
        self.data_bvalid.next = self.bvalid.val() & self.bid.val() & self.ctrl_bready.val();

        if self.rst.val() {
            self.ar_valid.d.next = false;
            self.ar_last.d.next = false;
            self.aw_valid.d.next = false;
            self.aw_last.d.next = false;
        }
    }
}
