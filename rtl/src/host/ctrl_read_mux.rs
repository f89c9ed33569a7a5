//! Two clients on one DMA read port: `sq` (send rings) and `rq` (receive rings).
//!
//! ```text
//!   sq_desc ─┐ turns   ┌─> desc        read_desc      beat ──┬─> sq_beat
//!   rq_desc ─┴─────────┴─> owners FIFO ──────────────> ──────┴─> rq_beat
//!                                              status, by tag ─> sq_status, rq_status
//! ```
//!
//! Data comes in the order of descriptors, so a FIFO of owners says whose a
//! beat is; `tlast` ends a descriptor. The tag carries the owner too (0 sq,
//! 1 rq), which routes the status.
//!
//! Contract: one descriptor per two clocks, one clock of delay; beats and
//! statuses pass in the clock they come, `dma_error` a clock after that of a
//! read that failed. 128 descriptors in flight. Clients
//! take a beat in the clock it comes, for each asks only for what it has room for: there is no ready
//! of theirs, so that whose the beat is decides nothing on the host's side.
//!
//! Verified by `testbenches/tests/ctrl_read_mux.rs`.

use crate::prelude::*;
use crate::stream::Fifo;
use crate::types::{Beat, DmaDescriptor, DmaStatus};

#[derive(LogicBlock)]
pub struct CtrlReadMux {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub sq_desc_valid: Signal<In, Bit>,
    pub sq_desc_data: Signal<In, DmaDescriptor>,
    pub sq_desc_ready: Signal<Out, Bit>,
    pub sq_beat_valid: Signal<Out, Bit>,
    pub sq_beat_data: Signal<Out, Beat>,
    pub sq_status_valid: Signal<Out, Bit>,
    pub sq_status_data: Signal<Out, DmaStatus>,
    pub rq_desc_valid: Signal<In, Bit>,
    pub rq_desc_data: Signal<In, DmaDescriptor>,
    pub rq_desc_ready: Signal<Out, Bit>,
    pub rq_beat_valid: Signal<Out, Bit>,
    pub rq_beat_data: Signal<Out, Beat>,
    pub rq_status_valid: Signal<Out, Bit>,
    pub rq_status_data: Signal<Out, DmaStatus>,
    pub read_desc_valid: Signal<Out, Bit>,
    pub read_desc_data: Signal<Out, DmaDescriptor>,
    pub read_desc_ready: Signal<In, Bit>,
    pub read_beat_valid: Signal<In, Bit>,
    pub read_beat_data: Signal<In, Beat>,
    pub read_beat_ready: Signal<Out, Bit>,
    pub read_status_valid: Signal<In, Bit>,
    pub read_status_data: Signal<In, DmaStatus>,
    pub dma_error: Signal<Out, Bit>,
    /// High for `rq`.
    owners: Fifo<Bit, 7>,
    desc: Dff<DmaDescriptor>,
    desc_valid: Dff<Bit>,
    /// `rq` was served last.
    last: Dff<Bit>,
    broke: Dff<Bit>,
    open: Signal<Local, Bit>,
    take_sq: Signal<Local, Bit>,
    take_rq: Signal<Local, Bit>,
    mine: Signal<Local, Bit>,
    moved: Signal<Local, Bit>,
    tag_sq: Constant<Bits<8>>,
    tag_rq: Constant<Bits<8>>,
}

impl CtrlReadMux {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            sq_desc_valid: Default::default(),
            sq_desc_data: Default::default(),
            sq_desc_ready: Default::default(),
            sq_beat_valid: Default::default(),
            sq_beat_data: Default::default(),
            sq_status_valid: Default::default(),
            sq_status_data: Default::default(),
            rq_desc_valid: Default::default(),
            rq_desc_data: Default::default(),
            rq_desc_ready: Default::default(),
            rq_beat_valid: Default::default(),
            rq_beat_data: Default::default(),
            rq_status_valid: Default::default(),
            rq_status_data: Default::default(),
            read_desc_valid: Default::default(),
            read_desc_data: Default::default(),
            read_desc_ready: Default::default(),
            read_beat_valid: Default::default(),
            read_beat_data: Default::default(),
            read_beat_ready: Default::default(),
            read_status_valid: Default::default(),
            read_status_data: Default::default(),
            dma_error: Default::default(),
            owners: Fifo::new(7),
            desc: Default::default(),
            desc_valid: Default::default(),
            last: Default::default(),
            broke: Default::default(),
            open: Default::default(),
            take_sq: Default::default(),
            take_rq: Default::default(),
            mine: Default::default(),
            moved: Default::default(),
            tag_sq: Constant::new(0u64.into()),
            tag_rq: Constant::new(1u64.into()),
        }
    }
}

impl Logic for CtrlReadMux {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, desc, desc_valid, last, broke);
        self.owners.clk.next = self.clk.val();
        self.owners.rst.next = self.rst.val();

        // Ready depends on registers only, so it falls for the clock after a
        // descriptor was taken unless the port is known to be free.
        self.open.next = !self.desc_valid.q.val() & self.owners.in_ready.val();
        self.take_sq.next =
            self.open.val() & self.sq_desc_valid.val() & (self.last.q.val() | !self.rq_desc_valid.val());
        self.take_rq.next = self.open.val() & self.rq_desc_valid.val() & !self.take_sq.val();
        self.sq_desc_ready.next = self.take_sq.val();
        self.rq_desc_ready.next = self.take_rq.val();
        self.owners.in_valid.next = self.take_sq.val() | self.take_rq.val();
        self.owners.in_data.next = self.take_rq.val();
        if self.read_desc_ready.val() {
            self.desc_valid.d.next = false;
        }
        if self.take_sq.val() {
            self.desc.d.next.address = self.sq_desc_data.val().address;
            self.desc.d.next.length = self.sq_desc_data.val().length;
            self.desc.d.next.tag = self.tag_sq.val();
            self.desc_valid.d.next = true;
            self.last.d.next = false;
        }
        if self.take_rq.val() {
            self.desc.d.next.address = self.rq_desc_data.val().address;
            self.desc.d.next.length = self.rq_desc_data.val().length;
            self.desc.d.next.tag = self.tag_rq.val();
            self.desc_valid.d.next = true;
            self.last.d.next = true;
        }
        self.read_desc_valid.next = self.desc_valid.q.val();
        self.read_desc_data.next = self.desc.q.val();

        self.mine.next = self.owners.out_data.val();
        self.sq_beat_data.next = self.read_beat_data.val();
        self.rq_beat_data.next = self.read_beat_data.val();
        self.sq_beat_valid.next = self.read_beat_valid.val() & self.owners.out_valid.val() & !self.mine.val();
        self.rq_beat_valid.next = self.read_beat_valid.val() & self.owners.out_valid.val() & self.mine.val();
        self.read_beat_ready.next = self.owners.out_valid.val();
        self.moved.next = self.read_beat_valid.val() & self.read_beat_ready.val();
        self.owners.out_ready.next = self.moved.val() & self.read_beat_data.val().tlast;

        self.sq_status_data.next = self.read_status_data.val();
        self.rq_status_data.next = self.read_status_data.val();
        self.sq_status_valid.next =
            self.read_status_valid.val() & (self.read_status_data.val().tag == self.tag_sq.val());
        self.rq_status_valid.next =
            self.read_status_valid.val() & (self.read_status_data.val().tag == self.tag_rq.val());

        self.broke.d.next = self.read_status_valid.val() & self.read_status_data.val().error;
        self.dma_error.next = self.broke.q.val();

        if self.rst.val() {
            self.broke.d.next = false;
            self.desc_valid.d.next = false;
            self.last.d.next = false;
        }
    }
}
