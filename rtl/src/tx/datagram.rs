//! Plain UD sends: one packet each, no slot, no recovery.
//!
//! ```text
//!  request ─> PSN of its endpoint ─> packet, beside those of messages
//!                    └─> ring of sends on their way
//!  sent, failed ─> marks in the ring ─> its oldest, when marked ─> done
//! ```
//!
//! A packet's `slot` is its place in the ring. A failed read may be told before
//! packets sent earlier have left, so places are marked in any order and
//! completed in that of the requests.
//!
//! Contract: a request per three clocks at most; as many on their way as payload is
//! read for, 16 at least and 64 at most. `packet`
//! is offered two clocks after its request was taken, `done` three after the
//! mark. `sent` and `failed` count only with `ud`. PSNs begin at 0 after reset.
//! `ready` rises when they are cleared.
//!
//! Verified by `testbenches/tests/datagrams.rs`, rule UD-4.

use crate::host::cleared_ram::ClearedRam;
use crate::prelude::*;
use crate::types::{Done, TxPacket, TxRequest, TxSent};
use tessera_abi::params::Config;
use tessera_abi::status::Status;
use tessera_abi::wire::flag;

#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
enum Step {
    Idle,
    Number,
    Offer,
}

#[derive(LogicBlock)]
pub struct TxDatagram {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub request_valid: Signal<In, Bit>,
    pub request_data: Signal<In, TxRequest>,
    pub request_ready: Signal<Out, Bit>,
    pub packet_valid: Signal<Out, Bit>,
    pub packet_data: Signal<Out, TxPacket>,
    pub packet_ready: Signal<In, Bit>,
    pub sent: Signal<In, TxSent>,
    pub failed: Signal<In, TxSent>,
    pub done_valid: Signal<Out, Bit>,
    pub done_data: Signal<Out, Done>,
    pub done_ready: Signal<In, Bit>,
    pub ready: Signal<Out, Bit>,

    state: Dff<Step>,
    request: Dff<TxRequest>,
    packet: Dff<TxPacket>,
    numbers: ClearedRam<Bits<24>, 8>,
    waiting: SdpRam<Done, 6>,
    head: Dff<Bits<7>>,
    tail: Dff<Bits<7>>,
    /// Left, or will never; of those, that their read failed.
    over: Dff<Bits<64>>,
    broken: Dff<Bits<64>>,
    /// The word of the oldest is read; is offered.
    asked: Dff<Bit>,
    done: Dff<Done>,
    full: Dff<Bit>,

    place: Signal<Local, Bits<6>>,
    oldest: Signal<Local, Bits<6>>,
    room: Signal<Local, Bit>,
    marks: Signal<Local, Bits<64>>,
    fails: Signal<Local, Bits<64>>,
    clears: Signal<Local, Bits<64>>,
    /// Places, and the bits of one.
    places: Constant<Bits<7>>,
    place_mask: Constant<Bits<6>>,
    one: Constant<Bits<64>>,
    imm_flag: Constant<Bits<8>>,
    local_dma: Constant<Bits<8>>,
}

impl TxDatagram {
    pub fn new(config: &Config) -> Self {
        let places_log2 = config.tx_packets_log2.clamp(4, 6);
        Self {
            clk: Default::default(),
            rst: Default::default(),
            request_valid: Default::default(),
            request_data: Default::default(),
            request_ready: Default::default(),
            packet_valid: Default::default(),
            packet_data: Default::default(),
            packet_ready: Default::default(),
            sent: Default::default(),
            failed: Default::default(),
            done_valid: Default::default(),
            done_data: Default::default(),
            done_ready: Default::default(),
            ready: Default::default(),
            state: Default::default(),
            request: Default::default(),
            packet: Default::default(),
            numbers: ClearedRam::new(config.endpoints_log2, "distributed"),
            waiting: SdpRam::new(places_log2),
            head: Default::default(),
            tail: Default::default(),
            over: Default::default(),
            broken: Default::default(),
            asked: Default::default(),
            done: Default::default(),
            full: Default::default(),
            place: Default::default(),
            oldest: Default::default(),
            room: Default::default(),
            marks: Default::default(),
            fails: Default::default(),
            clears: Default::default(),
            places: Constant::new((1u64 << places_log2).into()),
            place_mask: Constant::new(((1u64 << places_log2) - 1).into()),
            one: Constant::new(1u64.into()),
            imm_flag: Constant::new(u64::from(flag::IMM).into()),
            local_dma: Constant::new((Status::LocalDma as u64).into()),
        }
    }
}

impl Logic for TxDatagram {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, state, request, packet, head, tail, over, broken, asked, done, full);
        self.numbers.clk.next = self.clk.val();
        self.numbers.rst.next = self.rst.val();
        self.waiting.clock.next = self.clk.val();
        self.ready.next = self.numbers.ready.val();

        // A request becomes a packet.
        self.place.next = self.head.q.val().get_bits::<6>(0) & self.place_mask.val();
        self.oldest.next = self.tail.q.val().get_bits::<6>(0) & self.place_mask.val();
        self.room.next = (self.head.q.val() - self.tail.q.val()) != self.places.val();
        self.request_ready.next =
            (self.state.q.val() == Step::Idle) & self.room.val() & self.numbers.ready.val();
        self.numbers.read_address.next = self.request.q.val().endpoint;
        self.numbers.write_enable.next = false;
        self.numbers.write_address.next = self.request.q.val().endpoint;
        self.numbers.write_data.next = self.packet.q.val().index + 1;
        self.waiting.write_enable.next = false;
        self.waiting.write_address.next = self.place.val();
        self.packet_valid.next = false;
        self.packet_data.next = self.packet.q.val();
        self.clears.next = 0.into();
        match self.state.q.val() {
            Step::Idle => {
                self.request.d.next = self.request_data.val();
                self.numbers.read_address.next = self.request_data.val().endpoint;
                if self.request_valid.val() & self.request_ready.val() {
                    self.state.d.next = Step::Number;
                }
            }
            Step::Number => {
                self.packet.d.next.dst_mac = self.request.q.val().dst_mac;
                self.packet.d.next.vlan = self.request.q.val().vlan;
                self.packet.d.next.vlan_valid = self.request.q.val().vlan_valid;
                self.packet.d.next.dst_gid = self.request.q.val().dst_gid;
                self.packet.d.next.dst_endpoint = self.request.q.val().dst_endpoint;
                self.packet.d.next.qkey = self.request.q.val().qkey;
                self.packet.d.next.endpoint = self.request.q.val().endpoint;
                self.packet.d.next.ud = true;
                self.packet.d.next.probe = false;
                self.packet.d.next.flags = 0.into();
                if self.request.q.val().has_imm {
                    self.packet.d.next.flags = self.imm_flag.val();
                }
                self.packet.d.next.slot = bit_cast::<12, 6>(self.place.val());
                self.packet.d.next.index = self.numbers.read_data.val();
                self.packet.d.next.length = self.request.q.val().length;
                self.packet.d.next.tag = self.request.q.val().tag;
                self.packet.d.next.imm = self.request.q.val().imm;
                self.packet.d.next.address = self.request.q.val().address;
                self.packet.d.next.payload_len = self.request.q.val().length.get_bits::<13>(0);
                self.waiting.write_enable.next = true;
                self.clears.next = self.one.val() << self.place.val();
                self.state.d.next = Step::Offer;
            }
            Step::Offer => {
                self.packet_valid.next = true;
                if self.packet_ready.val() {
                    self.numbers.write_enable.next = true;
                    self.head.d.next = self.head.q.val() + 1;
                    self.state.d.next = Step::Idle;
                }
            }
        }
        self.waiting.write_data.next.receive = false;
        self.waiting.write_data.next.status = 0.into();
        self.waiting.write_data.next.has_imm = self.request.q.val().has_imm;
        self.waiting.write_data.next.grh = false;
        self.waiting.write_data.next.write = false;
        self.waiting.write_data.next.vlan_valid = false;
        self.waiting.write_data.next.endpoint = self.request.q.val().endpoint;
        self.waiting.write_data.next.own = false;
        self.waiting.write_data.next.event = 0.into();
        self.waiting.write_data.next.entry = self.request.q.val().entry;
        self.waiting.write_data.next.length = self.request.q.val().length;
        self.waiting.write_data.next.imm = self.request.q.val().imm;
        self.waiting.write_data.next.tag = 0.into();
        self.waiting.write_data.next.slot = 0.into();
        self.waiting.write_data.next.generation = 0.into();
        self.waiting.write_data.next.peer_endpoint = self.request.q.val().dst_endpoint;
        self.waiting.write_data.next.peer_gid = self.request.q.val().dst_gid;

        // Marks.
        self.marks.next = 0.into();
        self.fails.next = 0.into();
        if self.sent.val().valid & self.sent.val().ud {
            self.marks.next =
                self.one.val() << (self.sent.val().slot.get_bits::<6>(0) & self.place_mask.val());
        }
        if self.failed.val().valid & self.failed.val().ud {
            self.fails.next =
                self.one.val() << (self.failed.val().slot.get_bits::<6>(0) & self.place_mask.val());
        }
        self.over.d.next = (self.over.q.val() & !self.clears.val()) | self.marks.val() | self.fails.val();
        self.broken.d.next = (self.broken.q.val() & !self.clears.val()) | self.fails.val();

        // The oldest, once it is over. Its word is read in the clock before.
        self.waiting.read_address.next = self.oldest.val();
        self.asked.d.next = false;
        if self.done_ready.val() {
            self.full.d.next = false;
        }
        if self.asked.q.val() {
            self.full.d.next = true;
            self.done.d.next = self.waiting.read_data.val();
            if self.broken.q.val().get_bit(self.oldest.val().index()) {
                self.done.d.next.status = self.local_dma.val();
            }
            self.tail.d.next = self.tail.q.val() + 1;
        } else {
            self.asked.d.next = (self.head.q.val() != self.tail.q.val())
                & self.over.q.val().get_bit(self.oldest.val().index())
                & !self.full.q.val();
        }
        self.done_valid.next = self.full.q.val();
        self.done_data.next = self.done.q.val();

        if self.rst.val() {
            self.state.d.next = Step::Idle;
            self.head.d.next = 0.into();
            self.tail.d.next = 0.into();
            self.over.d.next = 0.into();
            self.broken.d.next = 0.into();
            self.asked.d.next = false;
            self.full.d.next = false;
        }
    }
}
