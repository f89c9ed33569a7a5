//! The CRC state of a frame, one 128-bit beat per clock.
//!
//! ```text
//!  beat ─ zero Ethernet header and missing bytes, ─> (register) ─> its share ─>(+)─> state
//!         ones over the masked fields                              (register)   ^  │
//!                                                                               └ Z^128
//! ```
//!
//! Frames carry no tag; the EtherType, in the first beat, says which fields are
//! masked. The last masked byte is in the third beat, over IPv6 in the fifth.
//!
//! Contract: that of `wire/icrc`. `state` belongs to the beat given three clocks
//! before. A last beat counts as filled up with zeros to 16 bytes: users compare
//! with an advanced residue or rewind. Beats may come every clock, with any gaps.
//!
//! Verified by `testbenches/tests/icrc.rs` against `abi::icrc`.

use super::super::cells::KeepBytes;
use super::super::crc;
use super::super::icrc::masked;
use super::super::xor::{XorMatrix, XorRegister};
use crate::prelude::*;
use tessera_abi::wire::{Form, ETHERTYPE_IPV6, IP_AT};

/// Beats that hold masked bytes, and those before them.
const MASKED: usize = 5;

#[derive(LogicBlock)]
pub struct NarrowIcrc {
    pub clk: Signal<In, Clock>,
    pub valid: Signal<In, Bit>,
    /// The beat begins a frame.
    pub first: Signal<In, Bit>,
    pub data: Signal<In, Bits<128>>,
    pub keep: Signal<In, Bits<16>>,
    pub state: Signal<Out, Bits<32>>,
    kept: KeepBytes<128, 16>,
    covered: Dff<Bits<128>>,
    share: XorRegister<128, 32>,
    advance: XorMatrix<32, 32>,
    /// The number of the beat to come, no further than `MASKED`, and the form of its frame.
    number: Dff<Bits<3>>,
    is6: Dff<Bit>,
    valid1: Dff<Bit>,
    first1: Dff<Bit>,
    valid2: Dff<Bit>,
    first2: Dff<Bit>,
    running: Dff<Bits<32>>,
    at: Signal<Local, Bits<3>>,
    six: Signal<Local, Bit>,
    ones: Signal<Local, Bits<128>>,
    none: Constant<Bits<128>>,
    behind_ethernet: Constant<Bits<128>>,
    masked4: [Constant<Bits<128>>; MASKED],
    masked6: [Constant<Bits<128>>; MASKED],
    past: Constant<Bits<3>>,
    ethertype6: Constant<Bits<16>>,
    has_v6: Constant<Bit>,
    first_state: Constant<Bits<32>>,
}

/// Bits of beat `number` that `chosen` picks, by byte of the frame.
fn bits_where(number: usize, chosen: impl Fn(usize) -> u8) -> Bits<128> {
    let mut bits = Bits::<128>::default();
    for bit in 0..128 {
        bits = bits.replace_bit(bit, chosen(16 * number + bit / 8) >> (bit % 8) & 1 == 1);
    }
    bits
}

fn masks(form: Form) -> [Constant<Bits<128>>; MASKED] {
    core::array::from_fn(|number| Constant::new(bits_where(number, |byte| masked(form, byte))))
}

impl NarrowIcrc {
    /// Of frames over IPv4, and over IPv6 if there are such.
    pub fn new(ipv6: bool) -> Self {
        let [v4, _, v6, _] = Form::ALL;
        Self {
            clk: Default::default(),
            valid: Default::default(),
            first: Default::default(),
            data: Default::default(),
            keep: Default::default(),
            state: Default::default(),
            kept: Default::default(),
            covered: Default::default(),
            share: XorRegister::new(crc::beat_rows(128)),
            advance: XorMatrix::new(crc::state_rows(128)),
            number: Default::default(),
            is6: Default::default(),
            valid1: Default::default(),
            first1: Default::default(),
            valid2: Default::default(),
            first2: Default::default(),
            running: Default::default(),
            at: Default::default(),
            six: Default::default(),
            ones: Default::default(),
            none: Constant::new(Bits::default()),
            behind_ethernet: Constant::new(bits_where(0, |byte| if byte >= IP_AT { 0xFF } else { 0 })),
            masked4: masks(v4),
            masked6: masks(v6),
            past: Constant::new((MASKED as u64).into()),
            ethertype6: Constant::new(u64::from(ETHERTYPE_IPV6.swap_bytes()).into()),
            has_v6: Constant::new(ipv6),
            first_state: Constant::new(u64::from(crc::first_beat_state(128)).into()),
        }
    }
}

impl Logic for NarrowIcrc {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, covered, number, is6, valid1, first1, valid2, first2, running);
        self.share.clock.next = self.clk.val();

        self.at.next = self.number.q.val();
        self.six.next = self.has_v6.val() & self.is6.q.val();
        if self.first.val() {
            self.at.next = 0.into();
            self.six.next = self.has_v6.val() & (self.data.val().get_bits::<16>(96) == self.ethertype6.val());
        }
        self.ones.next = self.none.val();
        for i in 0..5 {
            if self.at.val().index() == i {
                self.ones.next = self.masked4[i].val();
                if self.six.val() {
                    self.ones.next = self.masked6[i].val();
                }
            }
        }
        self.kept.d.next = self.data.val();
        self.kept.keep.next = self.keep.val();
        if self.valid.val() {
            self.is6.d.next = self.six.val();
            if self.at.val() != self.past.val() {
                self.number.d.next = self.at.val() + 1;
            }
            self.covered.d.next = self.kept.q.val() | self.ones.val();
            if self.first.val() {
                self.covered.d.next = (self.kept.q.val() & self.behind_ethernet.val()) | self.ones.val();
            }
        }
        self.valid1.d.next = self.valid.val();
        self.first1.d.next = self.first.val();

        self.share.enable.next = self.valid1.q.val();
        self.share.d.next = self.covered.q.val();
        self.valid2.d.next = self.valid1.q.val();
        self.first2.d.next = self.first1.q.val();

        self.advance.d.next = self.running.q.val();
        if self.valid2.q.val() {
            if self.first2.q.val() {
                self.running.d.next = self.first_state.val() ^ self.share.q.val();
            } else {
                self.running.d.next = self.advance.q.val() ^ self.share.q.val();
            }
        }
        self.state.next = self.running.q.val();
    }
}
