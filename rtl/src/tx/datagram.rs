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
//! Contract: a request per three clocks at most, which stands until its packet is
//! taken and goes with it: no copy of it is kept. As many on their way as payload is
//! read for, 16 at least and 64 at most. `packet`
//! is offered two clocks after its request, `done` three after the
//! mark. `sent` and `failed` count only with `ud`. PSNs begin at 0 after reset.
//! `ready` rises when they are cleared. A configuration without datagrams has no requests.
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
    /// Its PSN.
    index: Dff<Bits<24>>,
    numbers: ClearedRam<Bits<24>, 8>,
    waiting: SdpRam<Done, 6>,
    head: Dff<Bits<7>>,
    tail: Dff<Bits<7>>,
    /// Left, or will never; of those, that their read failed.
    over: Dff<Bits<64>>,
    broken: Dff<Bits<64>>,
    /// The word of the oldest is read; is offered, as it stands at the memory's output.
    asked: Dff<Bit>,
    full: Dff<Bit>,
    /// Its read failed.
    spoilt: Dff<Bit>,
    /// Whose it is: an address behind, and out of a block RAM that is late.
    owner: Dff<Bits<8>>,

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
    has_datagrams: Constant<Bit>,
    nothing: Constant<Done>,
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
            index: Default::default(),
            numbers: ClearedRam::new(config.endpoints_log2, "block"),
            waiting: SdpRam::new(places_log2),
            head: Default::default(),
            tail: Default::default(),
            over: Default::default(),
            broken: Default::default(),
            asked: Default::default(),
            full: Default::default(),
            spoilt: Default::default(),
            owner: Default::default(),
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
            has_datagrams: Constant::new(config.datagrams),
            nothing: Constant::new(Done::default()),
        }
    }
}

impl Logic for TxDatagram {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, state, index, head, tail, over, broken, asked, full, spoilt, owner);
        self.numbers.clk.next = self.clk.val();
        self.numbers.rst.next = self.rst.val();
        self.waiting.clock.next = self.clk.val();
        self.ready.next = self.numbers.ready.val() | !self.has_datagrams.val();

        // A request becomes a packet.
        self.place.next = self.head.q.val().get_bits::<6>(0) & self.place_mask.val();
        self.oldest.next = self.tail.q.val().get_bits::<6>(0) & self.place_mask.val();
        self.room.next = (self.head.q.val() - self.tail.q.val()) != self.places.val();
        self.request_ready.next = false;
        self.numbers.read_address.next = self.request_data.val().endpoint;
        self.numbers.write_enable.next = false;
        self.numbers.write_address.next = self.request_data.val().endpoint;
        self.numbers.write_data.next = self.index.q.val() + 1;
        self.waiting.write_enable.next = false;
        self.waiting.write_address.next = self.place.val();
        self.packet_valid.next = false;
        self.clears.next = 0.into();
        match self.state.q.val() {
            Step::Idle => {
                if self.has_datagrams.val()
                    & self.request_valid.val()
                    & self.room.val()
                    & self.numbers.ready.val()
                {
                    self.state.d.next = Step::Number;
                }
            }
            Step::Number => {
                self.index.d.next = self.numbers.read_data.val();
                self.waiting.write_enable.next = true;
                self.clears.next = self.one.val() << self.place.val();
                self.state.d.next = Step::Offer;
            }
            Step::Offer => {
                self.packet_valid.next = true;
                if self.packet_ready.val() {
                    self.request_ready.next = true;
                    self.numbers.write_enable.next = true;
                    self.head.d.next = self.head.q.val() + 1;
                    self.state.d.next = Step::Idle;
                }
            }
        }
        self.packet_data.next.dst_mac = self.request_data.val().dst_mac;
        self.packet_data.next.vlan = self.request_data.val().vlan;
        self.packet_data.next.vlan_valid = self.request_data.val().vlan_valid;
        self.packet_data.next.dst_gid = self.request_data.val().dst_gid;
        self.packet_data.next.dst_endpoint = self.request_data.val().dst_endpoint;
        self.packet_data.next.qkey = self.request_data.val().qkey;
        self.packet_data.next.endpoint = self.request_data.val().endpoint;
        self.packet_data.next.ud = true;
        self.packet_data.next.probe = false;
        self.packet_data.next.flags = 0.into();
        if self.request_data.val().has_imm {
            self.packet_data.next.flags = self.imm_flag.val();
        }
        self.packet_data.next.payload_log2 = 0.into();
        self.packet_data.next.traffic_class = 0.into();
        self.packet_data.next.slot = bit_cast::<12, 6>(self.place.val());
        self.packet_data.next.generation = 0.into();
        self.packet_data.next.index = self.index.q.val();
        self.packet_data.next.initial_window = 0.into();
        self.packet_data.next.length = self.request_data.val().length;
        self.packet_data.next.tag = self.request_data.val().tag;
        self.packet_data.next.rkey = 0.into();
        self.packet_data.next.imm = self.request_data.val().imm;
        self.packet_data.next.round = 0.into();
        self.packet_data.next.rtt = 0.into();
        self.packet_data.next.address = self.request_data.val().address;
        self.packet_data.next.payload_len = self.request_data.val().length.get_bits::<13>(0);
        self.waiting.write_data.next.receive = false;
        self.waiting.write_data.next.status = 0.into();
        self.waiting.write_data.next.has_imm = self.request_data.val().has_imm;
        self.waiting.write_data.next.grh = false;
        self.waiting.write_data.next.write = false;
        self.waiting.write_data.next.vlan_valid = false;
        self.waiting.write_data.next.endpoint = self.request_data.val().endpoint;
        self.waiting.write_data.next.own = false;
        self.waiting.write_data.next.event = 0.into();
        self.waiting.write_data.next.entry = self.request_data.val().entry;
        self.waiting.write_data.next.length = self.request_data.val().length;
        self.waiting.write_data.next.imm = self.request_data.val().imm;
        self.waiting.write_data.next.tag = 0.into();
        self.waiting.write_data.next.slot = 0.into();
        self.waiting.write_data.next.generation = 0.into();
        self.waiting.write_data.next.peer_endpoint = self.request_data.val().dst_endpoint;
        self.waiting.write_data.next.peer_gid = self.request_data.val().dst_gid;

        // Marks.
        self.marks.next = 0.into();
        self.fails.next = 0.into();
        if self.has_datagrams.val() & self.sent.val().valid & self.sent.val().ud {
            self.marks.next =
                self.one.val() << (self.sent.val().slot.get_bits::<6>(0) & self.place_mask.val());
        }
        if self.has_datagrams.val() & self.failed.val().valid & self.failed.val().ud {
            self.fails.next =
                self.one.val() << (self.failed.val().slot.get_bits::<6>(0) & self.place_mask.val());
        }
        self.over.d.next = (self.over.q.val() & !self.clears.val()) | self.marks.val() | self.fails.val();
        self.broken.d.next = (self.broken.q.val() & !self.clears.val()) | self.fails.val();

        // The oldest, once it is over. Its word is read in the clock before, and its place is free when the word is taken.
        self.waiting.read_address.next = self.oldest.val();
        self.asked.d.next = (self.head.q.val() != self.tail.q.val())
            & self.over.q.val().get_bit(self.oldest.val().index())
            & !self.full.q.val();
        if self.asked.q.val() {
            self.full.d.next = true;
            self.spoilt.d.next = self.broken.q.val().get_bit(self.oldest.val().index());
            self.owner.d.next = self.waiting.read_data.val().endpoint;
        }
        if self.full.q.val() & self.done_ready.val() {
            self.full.d.next = false;
            self.tail.d.next = self.tail.q.val() + 1;
        }
        self.done_valid.next = self.full.q.val();
        self.done_data.next = self.waiting.read_data.val();
        self.done_data.next.endpoint = self.owner.q.val();
        if self.spoilt.q.val() {
            self.done_data.next.status = self.local_dma.val();
        }
        // Whoever takes turns may look at it without asking whether it is valid.
        if !self.has_datagrams.val() {
            self.done_data.next = self.nothing.val();
        }

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
