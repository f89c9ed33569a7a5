//! How a message's end is told: to the host, and to the sender (RC-6, LD-7,
//! RO-4).
//!
//! Combinational, from the words of the context and what its fence said. A
//! failed write is this host's doing: told so here, and as remote to the sender. Of
//! what the sender ended itself it is told nothing.
//!
//! Verified by `testbenches/tests/rx_context/`.

use crate::prelude::*;
use crate::recovery::FeedbackRequest;
use crate::rx::{ContextFixed, ContextLive};
use crate::types::Done;
use tessera_abi::status::Status;
use tessera_abi::wire::fb;

#[derive(LogicBlock)]
pub struct Ending {
    pub fixed: Signal<In, ContextFixed>,
    pub live: Signal<In, ContextLive>,
    /// A write failed.
    pub failed: Signal<In, Bit>,
    /// COMPLETE asks for a RELEASE (RL-3).
    pub low: Signal<In, Bit>,
    pub done: Signal<Out, Done>,
    /// A receive was taken, which `done` ends: not by a write without immediate.
    pub reports: Signal<Out, Bit>,
    /// Of the tombstone, and of `request` one clock later.
    pub status: Signal<Out, Bits<8>>,
    pub request: Signal<Out, FeedbackRequest>,
    /// The sender is told.
    pub told: Signal<Out, Bit>,
    /// It ended by a failed write alone.
    pub broke: Signal<Out, Bit>,
    message: Signal<Local, ContextFixed>,
    word: Signal<Local, ContextLive>,
    last_index: Signal<Local, Bits<24>>,
    flags: Signal<Local, Bits<8>>,
    say_complete: Constant<Bits<8>>,
    say_abort: Constant<Bits<8>>,
    say_ce: Constant<Bits<8>>,
    say_release: Constant<Bits<8>>,
    replaced: Constant<Bits<8>>,
    released: Constant<Bits<8>>,
    remote_dma: Constant<Bits<8>>,
    local_dma: Constant<Bits<8>>,
    nothing: Constant<Bits<256>>,
    everything: Constant<Bits<256>>,
}

impl Ending {
    /// The words of an end.
    pub fn new() -> Self {
        let code = |value: u8| Constant::new(u64::from(value).into());
        Self {
            fixed: Default::default(),
            live: Default::default(),
            failed: Default::default(),
            low: Default::default(),
            done: Default::default(),
            reports: Default::default(),
            status: Default::default(),
            request: Default::default(),
            told: Default::default(),
            broke: Default::default(),
            message: Default::default(),
            word: Default::default(),
            last_index: Default::default(),
            flags: Default::default(),
            say_complete: code(fb::COMPLETE),
            say_abort: code(fb::ABORT),
            say_ce: code(fb::CE),
            say_release: code(fb::RELEASE_REQ),
            replaced: code(Status::Replaced as u8),
            released: code(Status::Released as u8),
            remote_dma: code(Status::RemoteDma as u8),
            local_dma: code(Status::LocalDma as u8),
            nothing: Constant::new(Bits::<256>::default()),
            everything: Constant::new(!Bits::<256>::default()),
        }
    }
}

impl Logic for Ending {
    #[hdl_gen]
    fn update(&mut self) {
        self.message.next = self.fixed.val();
        self.word.next = self.live.val();
        self.last_index.next = self.message.val().count - 1;
        self.told.next =
            (self.word.val().status != self.replaced.val()) & (self.word.val().status != self.released.val());
        self.broke.next = self.word.val().status == self.remote_dma.val();
        self.status.next = self.word.val().status;
        self.done.next.receive = true;
        self.done.next.status = self.word.val().status;
        if self.failed.val() & (self.word.val().status == 0) {
            self.done.next.status = self.local_dma.val();
            self.status.next = self.remote_dma.val();
        }
        self.done.next.has_imm = self.message.val().has_imm;
        self.done.next.write = self.message.val().write;
        self.reports.next = !self.message.val().write | self.message.val().has_imm;
        self.done.next.grh = false;
        self.done.next.vlan_valid = false;
        self.done.next.endpoint = self.message.val().endpoint;
        self.done.next.own = self.message.val().own;
        self.done.next.event = 0.into();
        self.done.next.entry = self.message.val().entry;
        self.done.next.length = self.message.val().length;
        self.done.next.imm = self.message.val().imm;
        self.done.next.tag = self.message.val().tag;
        self.done.next.slot = self.message.val().slot;
        self.done.next.generation = self.message.val().generation;
        self.done.next.peer_endpoint = self.message.val().src_endpoint;
        self.done.next.peer_gid = self.message.val().src_gid;

        self.flags.next = self.say_abort.val();
        self.request.next.limit = 0.into();
        self.request.next.ev = self.word.val().last_ev;
        self.request.next.arrival = self.word.val().last_arrival;
        self.request.next.timestamp = self.word.val().last_timestamp;
        if self.word.val().status == 0 {
            self.flags.next = self.say_complete.val();
            if self.word.val().last_ce {
                self.flags.next = self.say_complete.val() | self.say_ce.val();
            }
            self.request.next.flags = self.flags.val();
            if self.low.val() {
                self.request.next.flags = self.flags.val() | self.say_release.val();
            }
            self.request.next.status = 0.into();
            self.request.next.base = (self.last_index.val() >> 8) << 8;
            self.request.next.bitmap = self.everything.val();
            self.request.next.sample = true;
        } else {
            self.request.next.flags = self.say_abort.val();
            self.request.next.status = self.word.val().status;
            self.request.next.base = (self.word.val().cumulative >> 8) << 8;
            if self.word.val().cumulative == self.message.val().count {
                self.request.next.base = (self.last_index.val() >> 8) << 8;
            }
            self.request.next.bitmap = self.nothing.val();
            self.request.next.sample = false;
        }
    }
}
