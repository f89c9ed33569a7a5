//! The headers of a frame, whatever its IP: each part where all behind expects
//! it, and where its payload begins.
//!
//! ```text
//!  beats 0 .. 3 ────────────────────> heads ──> ethernet and ip, both readings
//!  beats 2 .. 8, turned by 2 bytes ──> words ─> tail: UDP to TRH
//!                (IPv6: by 6)             └──> endpoint's kind, opcode ──> start
//! ```
//!
//! A byte behind the IP header goes to its place of the tail as it comes, so that
//! nothing is moved once the tail is whole. Turning by 2 leaves 14 bytes of a beat
//! in the word that begins there and 2 in the one before; turning by 6, 10 and 6.
//!
//! Contract: the outputs belong to the frame whose beats came last. What beat k
//! brings stands from the clock after it until the clock after beat k of the next
//! frame that has one: at least k + 1 clocks longer than the frame. `start.v6` is
//! so after beat 0, `start.imm` and `start.ud` after the beat that ends the
//! endpoint's number, the fourth (IPv6: fifth). `start.ud` says the kind that the
//! endpoint had in the first of these clocks, whatever the table says later: a
//! frame is steered in one way. Of an endpoint that does not exist it says anything.
//!
//! Verified by `testbenches/tests/rx_parse`.

use super::super::layout::{FromWire, Ip4Word, Ip6Word, TransportWord};
use super::super::rx_heads::Start;
use super::super::vlan_strip::Tag;
use crate::prelude::*;
use crate::types::TableWrite;
use tessera_abi::params::Config;
use tessera_abi::regs::{endpoint, table};
use tessera_abi::wire;

// The kernel slices by literals; these are what they must be.
const _: () = {
    let [v4, _, v6, _] = wire::Form::ALL;
    assert!(endpoint::DATAGRAM.0 == 2);
    assert!(v4.udp_at() == 2 * 16 + 2 && v6.udp_at() == 3 * 16 + 6);
    // The endpoint's number ends word 0 of the tail.
    assert!(v4.bth_at() + 8 == v4.udp_at() + 16);
    assert!(v4.trh_at() - v4.udp_at() + wire::TRH_FEEDBACK_LEN == 5 * 16 + 8);
};

#[derive(LogicBlock)]
pub struct NarrowRxHeads {
    pub clk: Signal<In, Clock>,
    pub table_write: Signal<In, TableWrite>,
    pub beat_valid: Signal<In, Bit>,
    pub beat: Signal<In, Bits<128>>,
    /// Number of the beat in its frame, saturating at 15.
    pub number: Signal<In, Bits<4>>,
    pub beat_tag: Signal<In, Tag>,
    pub ip4: Signal<Out, Ip4Word>,
    pub ip6: Signal<Out, Ip6Word>,
    /// UDP to the end of a FEEDBACK's TRH.
    pub tail: Signal<Out, Bits<704>>,
    pub start: Signal<Out, Start>,
    pub tag: Signal<Out, Tag>,

    head0: Dff<Bits<128>>,
    head1: Dff<Bits<128>>,
    head2: Dff<Bits<128>>,
    head3: Dff<Bits<48>>,
    head_tag: Dff<Tag>,
    // Words of the tail: bytes 0 .. 9, 10 .. 13 and 14, 15 come with different beats.
    low: [Dff<Bits<80>>; 6],
    middle: [Dff<Bits<32>>; 5],
    high: [Dff<Bits<16>>; 5],
    /// Plain UD endpoints, by index.
    datagrams: ForwardRam<Bit, 8>,
    /// The endpoint's number came in the last clock; the kind read then.
    fresh: Dff<Bit>,
    kind: Dff<Bit>,
    four: FromWire<Ip4Word, 272>,
    six: FromWire<Ip6Word, 432>,
    transport: FromWire<TransportWord, 224>,

    whole: Signal<Local, Bits<432>>,
    is_six: Signal<Local, Bit>,
    turned: Signal<Local, Bits<128>>,
    place: Signal<Local, Bits<4>>,
    /// Bit i: beat i as IPv4 counts. Bit i: bytes 10 .. 13 of the word of beat i.
    comes: Signal<Local, Bits<16>>,
    early: Signal<Local, Bits<16>>,
    rest: Signal<Local, Bits<704>>,
    is_ud: Signal<Local, Bit>,
    ethertype6: Constant<Bits<16>>,
    has_v6: Constant<Bit>,
    has_datagrams: Constant<Bit>,
    with_imm: Constant<Bits<8>>,
    endpoint_table: Constant<Bits<4>>,
}

impl NarrowRxHeads {
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            table_write: Default::default(),
            beat_valid: Default::default(),
            beat: Default::default(),
            number: Default::default(),
            beat_tag: Default::default(),
            ip4: Default::default(),
            ip6: Default::default(),
            tail: Default::default(),
            start: Default::default(),
            tag: Default::default(),
            head0: Default::default(),
            head1: Default::default(),
            head2: Default::default(),
            head3: Default::default(),
            head_tag: Default::default(),
            low: Default::default(),
            middle: Default::default(),
            high: Default::default(),
            datagrams: ForwardRam::new(config.endpoints_log2),
            fresh: Default::default(),
            kind: Default::default(),
            four: Default::default(),
            six: Default::default(),
            transport: Default::default(),
            whole: Default::default(),
            is_six: Default::default(),
            turned: Default::default(),
            place: Default::default(),
            comes: Default::default(),
            early: Default::default(),
            rest: Default::default(),
            is_ud: Default::default(),
            ethertype6: Constant::new(u64::from(wire::ETHERTYPE_IPV6).into()),
            has_v6: Constant::new(config.ipv6),
            has_datagrams: Constant::new(config.datagrams),
            with_imm: Constant::new(u64::from(wire::OPCODE_UD_SEND_IMM).into()),
            endpoint_table: Constant::new(u64::from(table::ENDPOINT).into()),
        }
    }
}

impl Logic for NarrowRxHeads {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, head0, head1, head2, head3, head_tag, fresh, kind);
        for i in 0..6 {
            self.low[i].clock.next = self.clk.val();
            self.low[i].d.next = self.low[i].q.val();
        }
        for i in 0..5 {
            self.middle[i].clock.next = self.clk.val();
            self.middle[i].d.next = self.middle[i].q.val();
            self.high[i].clock.next = self.clk.val();
            self.high[i].d.next = self.high[i].q.val();
        }
        self.datagrams.clock.next = self.clk.val();

        self.whole.next = (bit_cast::<432, 48>(self.head3.q.val()) << 384)
            | (bit_cast::<432, 128>(self.head2.q.val()) << 256)
            | (bit_cast::<432, 128>(self.head1.q.val()) << 128)
            | bit_cast::<432, 128>(self.head0.q.val());
        self.four.d.next = self.whole.val().get_bits::<272>(0);
        self.six.d.next = self.whole.val().get_bits::<432>(0);
        self.ip4.next = self.four.q.val();
        self.ip6.next = self.six.q.val();
        self.is_six.next = self.has_v6.val() & (self.six.q.val().ethertype == self.ethertype6.val());

        // `place` counts as if every frame were of IPv4.
        self.turned.next = (self.beat.val() >> 16) | (self.beat.val() << 112);
        self.place.next = self.number.val();
        if self.is_six.val() {
            self.turned.next = (self.beat.val() >> 48) | (self.beat.val() << 80);
            self.place.next = self.number.val() - 1;
        }
        self.comes.next = 0.into();
        if self.beat_valid.val() {
            self.comes.next = bit_cast::<16, 1>(true.into()) << self.place.val();
        }
        // Bytes 10 .. 13 of a word begin a beat of IPv6, and are inside one of IPv4.
        self.early.next = self.comes.val();
        if self.is_six.val() {
            self.early.next = self.comes.val() >> 1;
        }
        if self.beat_valid.val() {
            if self.number.val() == 0 {
                self.head0.d.next = self.beat.val();
                self.head_tag.d.next = self.beat_tag.val();
            }
            if self.number.val() == 1 {
                self.head1.d.next = self.beat.val();
            }
            if self.number.val() == 2 {
                self.head2.d.next = self.beat.val();
            }
            if self.number.val() == 3 {
                self.head3.d.next = self.beat.val().get_bits::<48>(0);
            }
        }
        for i in 0..6 {
            if self.comes.val().get_bit(i + 2) {
                self.low[i].d.next = self.turned.val().get_bits::<80>(0);
            }
        }
        for i in 0..5 {
            if self.early.val().get_bit(i + 2) {
                self.middle[i].d.next = self.turned.val().get_bits::<32>(80);
            }
            if self.comes.val().get_bit(i + 3) {
                self.high[i].d.next = self.turned.val().get_bits::<16>(112);
            }
        }
        self.rest.next = bit_cast::<704, 80>(self.low[0].q.val())
            | (bit_cast::<704, 32>(self.middle[0].q.val()) << 80)
            | (bit_cast::<704, 16>(self.high[0].q.val()) << 112)
            | (bit_cast::<704, 80>(self.low[1].q.val()) << 128)
            | (bit_cast::<704, 32>(self.middle[1].q.val()) << 208)
            | (bit_cast::<704, 16>(self.high[1].q.val()) << 240)
            | (bit_cast::<704, 80>(self.low[2].q.val()) << 256)
            | (bit_cast::<704, 32>(self.middle[2].q.val()) << 336)
            | (bit_cast::<704, 16>(self.high[2].q.val()) << 368)
            | (bit_cast::<704, 80>(self.low[3].q.val()) << 384)
            | (bit_cast::<704, 32>(self.middle[3].q.val()) << 464)
            | (bit_cast::<704, 16>(self.high[3].q.val()) << 496)
            | (bit_cast::<704, 80>(self.low[4].q.val()) << 512)
            | (bit_cast::<704, 32>(self.middle[4].q.val()) << 592)
            | (bit_cast::<704, 16>(self.high[4].q.val()) << 624)
            | (bit_cast::<704, 64>(self.low[5].q.val().get_bits::<64>(0)) << 640);
        self.tail.next = self.rest.val();
        self.transport.d.next = self.rest.val().get_bits::<224>(0);

        // The kind is asked for with the byte that ends the endpoint's number.
        self.datagrams.write_enable.next =
            self.table_write.val().valid & (self.table_write.val().table == self.endpoint_table.val());
        self.datagrams.write_address.next = self.table_write.val().index;
        self.datagrams.write_data.next = self.table_write.val().entry.get_bit(2);
        self.datagrams.read_address.next = self.turned.val().get_bits::<8>(120);
        self.fresh.d.next = self.comes.val().get_bit(3);
        self.is_ud.next = self.has_datagrams.val() & self.kind.q.val();
        if self.fresh.q.val() {
            self.is_ud.next = self.has_datagrams.val() & self.datagrams.read_data.val();
        }
        self.kind.d.next = self.is_ud.val();
        self.start.next.v6 = self.is_six.val();
        self.start.next.ud = self.is_ud.val();
        self.start.next.imm = self.transport.q.val().opcode == self.with_imm.val();
        self.tag.next = self.head_tag.q.val();
    }
}
