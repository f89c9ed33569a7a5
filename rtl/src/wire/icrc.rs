//! The CRC state of a frame, one 512-bit beat per clock.
//!
//! ```text
//!  beat ─ zero Ethernet header, ─> 169 parts ─> sums ─>(+)─> state
//!         ones over the masked fields (register) (register) ^  │
//!                                                           └ Z^512
//! ```
//!
//! Frames carry no tag; their EtherType says which fields are masked. Over IPv6
//! the last masked byte is in the second beat.
//!
//! Contract: `state` belongs to the beat given three clocks before. A last
//! beat counts as filled up with zeros: users compare with an advanced residue
//! or rewind. Beats may come every clock, with any gaps. Bytes of a last beat behind
//! the frame's end are zeros already.
//!
//! Verified by `testbenches/tests/icrc.rs` against `abi::icrc`.

use super::crc::{self, PARTS};
use super::xor::{XorMatrix, XorRegister};
use crate::prelude::*;
use tessera_abi::icrc::{BTH_MASKED, IPV4_MASKED, IPV6_MASKED, IPV6_MASKED_NIBBLE, UDP_MASKED};
use tessera_abi::wire::{Form, ETHERTYPE_IPV6, IP_AT};

#[derive(LogicBlock)]
pub struct Icrc {
    pub clk: Signal<In, Clock>,
    pub valid: Signal<In, Bit>,
    /// The beat begins a frame.
    pub first: Signal<In, Bit>,
    pub data: Signal<In, Bits<512>>,
    pub state: Signal<Out, Bits<32>>,
    parts: XorRegister<512, PARTS>,
    sums: XorMatrix<PARTS, 32>,
    advance: XorMatrix<32, 32>,
    valid1: Dff<Bit>,
    first1: Dff<Bit>,
    valid2: Dff<Bit>,
    first2: Dff<Bit>,
    sum: Dff<Bits<32>>,
    running: Dff<Bits<32>>,
    /// The beat before was the first of an IPv6 frame.
    second6: Dff<Bit>,
    six: Signal<Local, Bit>,
    ones: Signal<Local, Bits<512>>,
    covered: Constant<Bits<512>>,
    masked4: Constant<Bits<512>>,
    masked6: Constant<Bits<512>>,
    masked6_second: Constant<Bits<512>>,
    ethertype6: Constant<Bits<16>>,
    has_v6: Constant<Bit>,
    first_state: Constant<Bits<32>>,
}

/// Bits of beat `number` that `chosen` picks, by byte of the frame.
fn bits_where(number: usize, chosen: impl Fn(usize) -> u8) -> Bits<512> {
    let mut bits = Bits::<512>::default();
    for bit in 0..512 {
        bits = bits.replace_bit(bit, chosen(64 * number + bit / 8) >> (bit % 8) & 1 == 1);
    }
    bits
}

/// The masked bits of a byte of a frame.
pub(super) fn masked(form: Form, byte: usize) -> u8 {
    let whole = |from: usize, list: &[usize]| list.iter().any(|at| from + at == byte);
    let ip: &[usize] = if form.v6 { &IPV6_MASKED } else { &IPV4_MASKED };
    if whole(IP_AT, ip) || whole(form.udp_at(), &UDP_MASKED) || whole(form.bth_at(), &BTH_MASKED) {
        0xFF
    } else if form.v6 && byte == IP_AT {
        IPV6_MASKED_NIBBLE
    } else {
        0
    }
}

impl Icrc {
    /// Of frames over IPv4, and over IPv6 if there are such.
    pub fn new(ipv6: bool) -> Self {
        let [v4, _, v6, _] = Form::ALL;
        let (parts, sums) = crc::beat_parts(512);
        Self {
            clk: Default::default(),
            valid: Default::default(),
            first: Default::default(),
            data: Default::default(),
            state: Default::default(),
            parts: XorRegister::new(parts),
            sums: XorMatrix::new(sums),
            advance: XorMatrix::new(crc::state_rows(512)),
            valid1: Default::default(),
            first1: Default::default(),
            valid2: Default::default(),
            first2: Default::default(),
            sum: Default::default(),
            running: Default::default(),
            second6: Default::default(),
            six: Default::default(),
            ones: Default::default(),
            covered: Constant::new(bits_where(0, |byte| if byte >= IP_AT { 0xFF } else { 0 })),
            masked4: Constant::new(bits_where(0, |byte| masked(v4, byte))),
            masked6: Constant::new(bits_where(0, |byte| masked(v6, byte))),
            masked6_second: Constant::new(bits_where(1, |byte| masked(v6, byte))),
            ethertype6: Constant::new(u64::from(ETHERTYPE_IPV6.swap_bytes()).into()),
            has_v6: Constant::new(ipv6),
            first_state: Constant::new(u64::from(crc::first_beat_state(512)).into()),
        }
    }
}

impl Logic for Icrc {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, valid1, first1, valid2, first2, sum, running, second6);
        self.parts.clock.next = self.clk.val();

        self.parts.enable.next = self.valid.val();
        self.ones.next = self.masked4.val();
        self.six.next = self.has_v6.val() & (self.data.val().get_bits::<16>(96) == self.ethertype6.val());
        if self.six.val() {
            self.ones.next = self.masked6.val();
        }
        self.parts.d.next = self.data.val();
        if self.first.val() {
            self.parts.d.next = (self.data.val() & self.covered.val()) | self.ones.val();
        } else if self.has_v6.val() & self.second6.q.val() {
            self.parts.d.next = self.data.val() | self.masked6_second.val();
        }
        if self.valid.val() {
            self.second6.d.next = self.first.val() & self.six.val();
        }
        self.valid1.d.next = self.valid.val();
        self.first1.d.next = self.first.val();

        self.valid2.d.next = self.valid1.q.val();
        self.first2.d.next = self.first1.q.val();
        self.sums.d.next = self.parts.q.val();
        if self.valid1.q.val() {
            self.sum.d.next = self.sums.q.val();
        }

        self.advance.d.next = self.running.q.val();
        if self.valid2.q.val() {
            if self.first2.q.val() {
                self.running.d.next = self.first_state.val() ^ self.sum.q.val();
            } else {
                self.running.d.next = self.advance.q.val() ^ self.sum.q.val();
            }
        }
        self.state.next = self.running.q.val();
    }
}
