//! Lines of a RAM, lent in order and given back in order.
//!
//! ```text
//!  lend, count ──> head ──┬─> line
//!                         ├─> ready
//!  back, returned ─> oldest
//! ```
//!
//! Whether the longest run fits is asked ahead, whoever comes: how long the next one is comes late,
//! and everything in front waits for `ready` (decision 0101). So nobody's run crosses the ring's end
//! either: the ring begins again where the longest one would, which both ends find out by themselves.
//!
//! Contract:
//! - `line` is the first of `count` lines, 1 to `longest`, for who lends while `ready`;
//! - `ready` is a register: low in the clock behind each run, one more where the ring begins again,
//!   and while there is no room for the longest run;
//! - `back` gives the oldest run's lines back, one per clock.
//!
//! Verified by `testbenches/tests/segments.rs` and `formal/line_ring.sv`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct LineRing {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub ready: Signal<Out, Bit>,
    pub lend: Signal<In, Bit>,
    pub count: Signal<In, Bits<6>>,
    pub line: Signal<Out, Bits<12>>,
    pub back: Signal<In, Bit>,
    pub returned: Signal<In, Bits<6>>,
    /// Lines lent and given back, with those left out at the ring's end, counted one bit wider than
    /// an address.
    head: Dff<Bits<12>>,
    oldest: Dff<Bits<12>>,
    fits: Dff<Bit>,
    place: Signal<Local, Bits<12>>,
    head_ends: Signal<Local, Bit>,
    oldest_ends: Signal<Local, Bit>,
    behind: Signal<Local, Bits<12>>,
    used: Signal<Local, Bits<12>>,
    /// The last place at which the longest run may begin: as many lines are free then, too.
    last_place: Constant<Bits<12>>,
    mask: Constant<Bits<12>>,
}

impl LineRing {
    /// A ring of `2^depth_log2` lines, of which at most `longest` go to one.
    ///
    /// # Panics
    /// When `depth_log2` is not 7 to 11, or `longest` not 1 to 63: a configuration error.
    pub fn new(depth_log2: usize, longest: u64) -> Self {
        assert!((7..=11).contains(&depth_log2), "a ring of 2^{depth_log2} lines: 2^7 to 2^11");
        assert!((1..64).contains(&longest), "a run of {longest} lines: 1 to 63");
        Self {
            clk: Default::default(),
            rst: Default::default(),
            ready: Default::default(),
            lend: Default::default(),
            count: Default::default(),
            line: Default::default(),
            back: Default::default(),
            returned: Default::default(),
            head: Default::default(),
            oldest: Default::default(),
            fits: Default::default(),
            place: Default::default(),
            head_ends: Default::default(),
            oldest_ends: Default::default(),
            behind: Default::default(),
            used: Default::default(),
            last_place: Constant::new(((1u64 << depth_log2) - longest).into()),
            mask: Constant::new(((1u64 << depth_log2) - 1).into()),
        }
    }
}

impl Logic for LineRing {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, head, oldest, fits);
        self.place.next = self.head.q.val() & self.mask.val();
        self.head_ends.next = self.place.val() > self.last_place.val();
        self.oldest_ends.next = (self.oldest.q.val() & self.mask.val()) > self.last_place.val();
        self.line.next = self.place.val();
        self.ready.next = self.fits.q.val();

        if self.head_ends.val() {
            self.head.d.next = (self.head.q.val() | self.mask.val()) + 1;
        }
        if self.lend.val() {
            self.head.d.next = self.head.q.val() + bit_cast::<12, 6>(self.count.val());
        }
        self.behind.next = self.oldest.q.val();
        if self.oldest_ends.val() {
            self.behind.next = (self.oldest.q.val() | self.mask.val()) + 1;
        }
        self.oldest.d.next = self.behind.val();
        if self.back.val() {
            self.oldest.d.next = self.behind.val() + bit_cast::<12, 6>(self.returned.val());
        }

        self.used.next = self.head.q.val() - self.oldest.q.val();
        self.fits.d.next =
            (self.used.val() <= self.last_place.val()) & !self.head_ends.val() & !self.lend.val();

        if self.rst.val() {
            self.head.d.next = 0.into();
            self.oldest.d.next = 0.into();
            self.fits.d.next = false;
        }
    }
}
