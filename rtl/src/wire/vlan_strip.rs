//! Takes the 802.1Q tag out of a frame, so that all behind sees two forms.
//!
//! ```text
//!  in ──> held ──┬── untagged: as it is ──────────────┬─> out, tag
//!    └───────────┴── tagged: up by four bytes, filled ┘
//!                    from the next beat
//! ```
//!
//! Contract: `in` comes with any gaps and is never refused. An untagged beat
//! leaves one clock after it came, and so does a last one; a tagged one with the
//! next, which may vanish in it (four bytes or fewer). `out_arrival` counts at
//! the last beat: the `now` at which the frame's last beat came. `out_tag`
//! holds for all beats of the frame. `out_user` is that of the last beat. Bytes of
//! `out_data` behind the frame's end are zeros, whatever the MAC had there.
//!
//! Verified by `testbenches/tests/vlan.rs`.

use super::cells::KeepBytes;
use crate::prelude::*;
use tessera_abi::params::Config;
use tessera_abi::wire;

/// An 802.1Q tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Tag {
    pub valid: Bit,
    /// Tag control information.
    pub tci: Bits<16>,
}

#[derive(LogicBlock)]
pub struct VlanStrip {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub now: Signal<In, Bits<32>>,
    pub in_valid: Signal<In, Bit>,
    pub in_data: Signal<In, Bits<512>>,
    pub in_keep: Signal<In, Bits<64>>,
    pub in_last: Signal<In, Bit>,
    pub in_user: Signal<In, Bit>,
    pub out_valid: Signal<Out, Bit>,
    pub out_data: Signal<Out, Bits<512>>,
    pub out_keep: Signal<Out, Bits<64>>,
    pub out_last: Signal<Out, Bit>,
    pub out_user: Signal<Out, Bit>,
    pub out_arrival: Signal<Out, Bits<32>>,
    pub out_tag: Signal<Out, Tag>,

    held_valid: Dff<Bit>,
    held: Dff<Bits<512>>,
    keep: Dff<Bits<64>>,
    last: Dff<Bit>,
    user: Dff<Bit>,
    arrival: Dff<Bits<32>>,
    /// What is held begins its frame; so will the next beat.
    first: Dff<Bit>,
    next_first: Dff<Bit>,
    tag: Dff<Tag>,

    kept: KeepBytes,
    present: Signal<Local, Tag>,
    /// The next beat fills up the one held, and is all used up by that.
    joins: Signal<Local, Bit>,
    vanishes: Signal<Local, Bit>,
    moved: Signal<Local, Bits<512>>,
    moved_keep: Signal<Local, Bits<64>>,
    counts: Signal<Local, Bits<64>>,
    tpid: Constant<Bits<16>>,
    /// Without, a tag is a type that nobody knows.
    has_tags: Constant<Bit>,
}

impl VlanStrip {
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            now: Default::default(),
            in_valid: Default::default(),
            in_data: Default::default(),
            in_keep: Default::default(),
            in_last: Default::default(),
            in_user: Default::default(),
            out_valid: Default::default(),
            out_data: Default::default(),
            out_keep: Default::default(),
            out_last: Default::default(),
            out_user: Default::default(),
            out_arrival: Default::default(),
            out_tag: Default::default(),
            held_valid: Default::default(),
            held: Default::default(),
            keep: Default::default(),
            last: Default::default(),
            user: Default::default(),
            arrival: Default::default(),
            first: Default::default(),
            next_first: Default::default(),
            tag: Default::default(),
            kept: Default::default(),
            present: Default::default(),
            joins: Default::default(),
            vanishes: Default::default(),
            moved: Default::default(),
            moved_keep: Default::default(),
            counts: Default::default(),
            // The byte that comes first is the lower one.
            tpid: Constant::new(u64::from(wire::ETHERTYPE_VLAN.swap_bytes()).into()),
            has_tags: Constant::new(config.vlan),
        }
    }
}

impl Logic for VlanStrip {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, held_valid, held, keep, last, user, arrival, first, next_first, tag);

        self.present.next = self.tag.q.val();
        if self.first.q.val() & self.has_tags.val() {
            self.present.next.valid = self.held.q.val().get_bits::<16>(96) == self.tpid.val();
            self.present.next.tci = (bit_cast::<16, 8>(self.held.q.val().get_bits::<8>(112)) << 8)
                | bit_cast::<16, 8>(self.held.q.val().get_bits::<8>(120));
        }
        self.joins.next = self.present.val().valid & !self.last.q.val();
        self.vanishes.next =
            self.joins.val() & self.in_valid.val() & self.in_last.val() & !self.in_keep.val().get_bit(4);
        self.out_valid.next = self.held_valid.q.val() & (!self.joins.val() | self.in_valid.val());

        self.moved.next = self.held.q.val() >> 32;
        if self.first.q.val() {
            self.moved.next = (bit_cast::<512, 384>(self.held.q.val().get_bits::<384>(128)) << 96)
                | bit_cast::<512, 96>(self.held.q.val().get_bits::<96>(0));
        }
        self.moved_keep.next = self.keep.q.val() >> 4;
        if !self.last.q.val() {
            self.moved_keep.next =
                (self.keep.q.val() >> 4) | (bit_cast::<64, 4>(self.in_keep.val().get_bits::<4>(0)) << 60);
        }
        self.kept.d.next = self.held.q.val();
        self.counts.next = self.keep.q.val();
        if self.present.val().valid {
            self.kept.d.next =
                self.moved.val() | (bit_cast::<512, 32>(self.in_data.val().get_bits::<32>(0)) << 480);
            self.counts.next = self.moved_keep.val();
        }
        self.kept.keep.next = self.counts.val();
        self.out_data.next = self.kept.q.val();
        self.out_keep.next = self.counts.val();
        self.out_last.next = self.last.q.val() | self.vanishes.val();
        self.out_user.next = self.user.q.val();
        self.out_arrival.next = self.arrival.q.val();
        if self.vanishes.val() {
            self.out_user.next = self.in_user.val();
            self.out_arrival.next = self.now.val();
        }
        self.out_tag.next = self.present.val();

        if self.out_valid.val() {
            self.held_valid.d.next = false;
            self.tag.d.next = self.present.val();
        }
        if self.in_valid.val() {
            self.next_first.d.next = self.in_last.val();
            if !(self.held_valid.q.val() & self.vanishes.val()) {
                self.held_valid.d.next = true;
                self.held.d.next = self.in_data.val();
                self.keep.d.next = self.in_keep.val();
                self.last.d.next = self.in_last.val();
                self.user.d.next = self.in_user.val();
                self.arrival.d.next = self.now.val();
                self.first.d.next = self.next_first.q.val();
            }
        }

        if self.rst.val() {
            self.held_valid.d.next = false;
            self.first.d.next = false;
            self.next_first.d.next = true;
        }
    }
}
