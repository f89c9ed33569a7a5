//! The headers of a frame, whatever its IP: each part where all behind expects
//! it, and where its payload begins.
//!
//! ```text
//!  beat 0, 1, 2 ──> heads ──┬─> ethernet and ip, both readings
//!                           ├─> family ──> tail: UDP to TRH
//!                           └─> endpoint's kind, opcode ──> start
//! ```
//!
//! IPv6 moves all behind it by 20 bytes, so FEEDBACK reaches into a third beat.
//!
//! Contract: the outputs belong to the frame whose second beat came last, from
//! the clock after that beat on until the clock of the next frame's first.
//! `start` says the kind that the endpoint had in the first of these clocks,
//! whatever the table says later: a frame is steered in one way.
//!
//! Verified by `testbenches/tests/rx_parse`.

use super::layout::{FromWire, Ip4Word, Ip6Word, TransportWord};
use super::vlan_strip::Tag;
use crate::prelude::*;
use crate::types::TableWrite;
use tessera_abi::params::Config;
use tessera_abi::regs::{endpoint, table};
use tessera_abi::wire;

// The kernel slices by literals; this is what they must be.
const _: () = assert!(endpoint::DATAGRAM.0 == 2);

/// Where a frame's payload begins, and what stands in front of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Start {
    /// Over IPv6.
    pub v6: Bit,
    /// To a plain UD endpoint.
    pub ud: Bit,
    /// A plain immediate stands in front.
    pub imm: Bit,
}

#[derive(LogicBlock)]
pub struct RxHeads {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub table_write: Signal<In, TableWrite>,
    pub beat_valid: Signal<In, Bit>,
    pub beat: Signal<In, Bits<512>>,
    /// Number of the beat in its frame.
    pub number: Signal<In, Bits<7>>,
    pub beat_tag: Signal<In, Tag>,
    pub ip4: Signal<Out, Ip4Word>,
    pub ip6: Signal<Out, Ip6Word>,
    /// UDP to the end of a FEEDBACK's TRH.
    pub tail: Signal<Out, Bits<704>>,
    pub start: Signal<Out, Start>,
    pub tag: Signal<Out, Tag>,

    head0: Dff<Bits<512>>,
    head1: Dff<Bits<512>>,
    head2: Dff<Bits<112>>,
    head_tag: Dff<Tag>,
    /// Plain UD endpoints, by index.
    datagrams: LutRam<Bit, 8>,
    /// The second beat came in the last clock; the kind read then.
    fresh: Dff<Bit>,
    kind: Dff<Bit>,
    four: FromWire<Ip4Word, 272>,
    six: FromWire<Ip6Word, 432>,
    transport: FromWire<TransportWord, 224>,

    whole: Signal<Local, Bits<1136>>,
    is_six: Signal<Local, Bit>,
    rest: Signal<Local, Bits<704>>,
    index: Signal<Local, Bits<8>>,
    is_ud: Signal<Local, Bit>,
    ethertype6: Constant<Bits<16>>,
    has_v6: Constant<Bit>,
    has_datagrams: Constant<Bit>,
    with_imm: Constant<Bits<8>>,
    endpoint_table: Constant<Bits<4>>,
    /// Bits of an index that the table has.
    reach: Constant<Bits<8>>,
}

impl RxHeads {
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
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
            head_tag: Default::default(),
            datagrams: LutRam::new(),
            fresh: Default::default(),
            kind: Default::default(),
            four: Default::default(),
            six: Default::default(),
            transport: Default::default(),
            whole: Default::default(),
            is_six: Default::default(),
            rest: Default::default(),
            index: Default::default(),
            is_ud: Default::default(),
            ethertype6: Constant::new(u64::from(wire::ETHERTYPE_IPV6).into()),
            has_v6: Constant::new(config.ipv6),
            has_datagrams: Constant::new(config.datagrams),
            with_imm: Constant::new(u64::from(wire::OPCODE_UD_SEND_IMM).into()),
            endpoint_table: Constant::new(u64::from(table::ENDPOINT).into()),
            reach: Constant::new(((1u64 << config.endpoints_log2) - 1).into()),
        }
    }
}

impl Logic for RxHeads {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, head0, head1, head2, head_tag, fresh, kind);
        if self.beat_valid.val() {
            if self.number.val() == 0 {
                self.head0.d.next = self.beat.val();
                self.head_tag.d.next = self.beat_tag.val();
            }
            if self.number.val() == 1 {
                self.head1.d.next = self.beat.val();
            }
            if self.number.val() == 2 {
                self.head2.d.next = self.beat.val().get_bits::<112>(0);
            }
        }
        // Of one that does not exist, whatever it was is as good.
        self.datagrams.clock.next = self.clk.val();
        self.datagrams.write_enable.next =
            self.table_write.val().valid & (self.table_write.val().table == self.endpoint_table.val());
        self.datagrams.write_address.next = self.table_write.val().index;
        self.datagrams.write_data.next = self.table_write.val().entry.get_bit(2);

        self.whole.next = (bit_cast::<1136, 112>(self.head2.q.val()) << 1024)
            | (bit_cast::<1136, 512>(self.head1.q.val()) << 512)
            | bit_cast::<1136, 512>(self.head0.q.val());
        self.four.d.next = self.whole.val().get_bits::<272>(0);
        self.six.d.next = self.whole.val().get_bits::<432>(0);
        self.ip4.next = self.four.q.val();
        self.ip6.next = self.six.q.val();
        self.is_six.next = self.has_v6.val() & (self.six.q.val().ethertype == self.ethertype6.val());
        self.rest.next = self.whole.val().get_bits::<704>(272);
        if self.is_six.val() {
            self.rest.next = self.whole.val().get_bits::<704>(432);
        }
        self.tail.next = self.rest.val();
        self.transport.d.next = self.rest.val().get_bits::<224>(0);
        self.index.next = self.transport.q.val().dst_endpoint.get_bits::<8>(0);
        self.datagrams.read_address.next = self.index.val() & self.reach.val();
        self.start.next.v6 = self.is_six.val();
        self.fresh.d.next = self.beat_valid.val() & (self.number.val() == 1);
        self.is_ud.next = self.has_datagrams.val() & self.kind.q.val();
        if self.fresh.q.val() {
            self.is_ud.next = self.has_datagrams.val() & self.datagrams.read_data.val();
        }
        self.kind.d.next = self.is_ud.val();
        self.start.next.ud = self.is_ud.val();
        self.start.next.imm = self.transport.q.val().opcode == self.with_imm.val();
        self.tag.next = self.head_tag.q.val();

        if self.rst.val() {
            self.fresh.d.next = false;
        }
    }
}
