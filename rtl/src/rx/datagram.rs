//! Datagrams on their way into memory, beside the context.
//!
//! ```text
//!  work (lookup) ──────────────────────────> work (receiver)
//!       └─ datagrams ─> completions in the making (FIFO)
//!  fence (placement) ─┬─ of messages ──────> fence (receiver)
//!                     └─ of datagrams ─> first of the FIFO ─> done
//! ```
//!
//! A datagram is placed and fenced by one command; fences come in the order of
//! the commands, so the FIFO's first word is the fence's.
//!
//! Contract: `work` passes in the same clock; a datagram waits for a place in
//! the FIFO. A fence passes in the same clock, one of a datagram is taken when
//! the completion before it is gone; `done` is offered the clock after. A configuration without
//! datagrams passes all on.
//!
//! Verified by `testbenches/tests/datagrams.rs`.

use crate::prelude::*;
use crate::stream::PairFifo;
use crate::types::{Done, PlaceFence, RxWork};
use tessera_abi::params::Config;
use tessera_abi::status::Status;
use tessera_abi::wire::flag;

#[derive(LogicBlock)]
pub struct RxDatagram {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub in_valid: Signal<In, Bit>,
    pub in_data: Signal<In, RxWork>,
    pub in_ready: Signal<Out, Bit>,
    pub work_valid: Signal<Out, Bit>,
    pub work_data: Signal<Out, RxWork>,
    pub work_ready: Signal<In, Bit>,
    pub placed_valid: Signal<In, Bit>,
    pub placed_data: Signal<In, PlaceFence>,
    pub placed_ready: Signal<Out, Bit>,
    pub fence_valid: Signal<Out, Bit>,
    pub fence_data: Signal<Out, PlaceFence>,
    pub fence_ready: Signal<In, Bit>,
    pub done_valid: Signal<Out, Bit>,
    pub done_data: Signal<Out, Done>,
    pub done_ready: Signal<In, Bit>,

    /// Near by: whose they are, by which is looked up.
    pending: PairFifo<Done, Bits<8>, 6>,
    /// The first of the FIFO is offered; it was not written.
    full: Dff<Bit>,
    spoilt: Dff<Bit>,
    ours: Signal<Local, Bit>,
    is_ud: Signal<Local, Bit>,
    passes: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    mac: Signal<Local, Bits<48>>,
    tci: Signal<Local, Bits<64>>,
    imm_flag: Constant<Bits<8>>,
    local_dma: Constant<Bits<8>>,
    has_datagrams: Constant<Bit>,
}

impl RxDatagram {
    /// With room for the datagrams that placement may be writing, 16 at least and 64 at most.
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            in_valid: Default::default(),
            in_data: Default::default(),
            in_ready: Default::default(),
            work_valid: Default::default(),
            work_data: Default::default(),
            work_ready: Default::default(),
            placed_valid: Default::default(),
            placed_data: Default::default(),
            placed_ready: Default::default(),
            fence_valid: Default::default(),
            fence_data: Default::default(),
            fence_ready: Default::default(),
            done_valid: Default::default(),
            done_data: Default::default(),
            done_ready: Default::default(),
            pending: PairFifo::new(config.write_tags_log2.clamp(4, 6)),
            full: Default::default(),
            spoilt: Default::default(),
            ours: Default::default(),
            is_ud: Default::default(),
            passes: Default::default(),
            take: Default::default(),
            mac: Default::default(),
            tci: Default::default(),
            imm_flag: Constant::new(u64::from(flag::IMM).into()),
            local_dma: Constant::new((Status::LocalDma as u64).into()),
            has_datagrams: Constant::new(config.datagrams),
        }
    }
}

impl Logic for RxDatagram {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, full, spoilt);
        self.pending.clk.next = self.clk.val();
        self.pending.rst.next = self.rst.val();

        // Work.
        self.is_ud.next = self.has_datagrams.val() & self.in_data.val().ud;
        self.passes.next = !self.is_ud.val() | self.pending.in_ready.val();
        self.work_valid.next = self.in_valid.val() & self.passes.val();
        self.work_data.next = self.in_data.val();
        self.work_data.next.ud = self.is_ud.val();
        self.in_ready.next = self.work_ready.val() & self.passes.val();
        self.pending.in_valid.next = self.in_valid.val() & self.is_ud.val() & self.work_ready.val();
        self.pending.in_near.next = self.in_data.val().endpoint;
        self.mac.next = self.in_data.val().src_mac;
        self.tci.next = 0.into();
        if self.in_data.val().vlan_valid {
            self.tci.next = bit_cast::<64, 16>(self.in_data.val().vlan) << 48;
        }
        self.pending.in_data.next.receive = true;
        self.pending.in_data.next.status = 0.into();
        self.pending.in_data.next.has_imm = (self.in_data.val().flags & self.imm_flag.val()).any();
        self.pending.in_data.next.grh = true;
        self.pending.in_data.next.write = false;
        self.pending.in_data.next.vlan_valid = self.in_data.val().vlan_valid;
        self.pending.in_data.next.endpoint = self.in_data.val().endpoint;
        self.pending.in_data.next.own = false;
        self.pending.in_data.next.event = 0.into();
        self.pending.in_data.next.entry = self.in_data.val().entry;
        self.pending.in_data.next.length = bit_cast::<32, 13>(self.in_data.val().payload_len);
        self.pending.in_data.next.imm = self.in_data.val().imm;
        // The first byte of the address comes first in the entry.
        self.pending.in_data.next.tag = self.tci.val()
            | bit_cast::<64, 8>(self.mac.val().get_bits::<8>(40))
            | (bit_cast::<64, 8>(self.mac.val().get_bits::<8>(32)) << 8)
            | (bit_cast::<64, 8>(self.mac.val().get_bits::<8>(24)) << 16)
            | (bit_cast::<64, 8>(self.mac.val().get_bits::<8>(16)) << 24)
            | (bit_cast::<64, 8>(self.mac.val().get_bits::<8>(8)) << 32)
            | (bit_cast::<64, 8>(self.mac.val().get_bits::<8>(0)) << 40);
        self.pending.in_data.next.slot = 0.into();
        self.pending.in_data.next.generation = 0.into();
        self.pending.in_data.next.peer_endpoint = self.in_data.val().src_endpoint;
        self.pending.in_data.next.peer_gid = self.in_data.val().src_gid;

        // Fences.
        self.ours.next = self.has_datagrams.val() & self.placed_data.val().ud;
        self.fence_valid.next = self.placed_valid.val() & !self.ours.val();
        self.fence_data.next = self.placed_data.val();
        self.take.next =
            self.placed_valid.val() & self.ours.val() & self.pending.out_valid.val() & !self.full.q.val();
        self.placed_ready.next = self.take.val();
        if !self.ours.val() {
            self.placed_ready.next = self.fence_ready.val();
        }
        if self.take.val() {
            self.full.d.next = true;
            self.spoilt.d.next = self.placed_data.val().error;
        }
        self.pending.out_ready.next = self.full.q.val() & self.done_ready.val();
        if self.pending.out_ready.val() {
            self.full.d.next = false;
        }
        self.done_valid.next = self.full.q.val();
        self.done_data.next = self.pending.out_data.val();
        self.done_data.next.endpoint = self.pending.out_near.val();
        if self.spoilt.q.val() {
            self.done_data.next.status = self.local_dma.val();
        }

        if self.rst.val() {
            self.full.d.next = false;
        }
    }
}
