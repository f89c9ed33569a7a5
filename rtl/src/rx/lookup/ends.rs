//! Ends of messages, one at a time: where their entries are, and when they may
//! be written.
//!
//! ```text
//!  opened ──> places (by context) ──┐ registered
//!  retire ──> word ──> place read ──┴──> go, when nothing holds it back
//! ```
//!
//! Contract: an end is taken, its place read, and written (`go`) three clocks after
//! it was taken at best; the next one is taken in the clock behind. `go` falls
//! with `hold`. `word`, `place` stand while `go` is awaited.
//!
//! Verified as part of `testbenches/tests/lookup`.

use super::LookupPlace;
use crate::prelude::*;
use crate::types::Retire;

#[derive(LogicBlock)]
pub struct LookupEnds {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    /// Ends are taken.
    pub enable: Signal<In, Bit>,
    pub retire_valid: Signal<In, Bit>,
    pub retire_data: Signal<In, Retire>,
    pub retire_ready: Signal<Out, Bit>,
    /// A context is opened, and where its entry is.
    pub open: Signal<In, Bit>,
    pub number: Signal<In, Bits<12>>,
    pub opened_at: Signal<In, LookupPlace>,
    /// Nothing may be written in this clock.
    pub hold: Signal<In, Bit>,
    /// Where the context `look_at` was opened, in the next clock: unless `busy`.
    pub look_at: Signal<In, Bits<12>>,
    pub looked_at: Signal<Out, LookupPlace>,
    pub busy: Signal<Out, Bit>,
    /// The end is written in this clock.
    pub go: Signal<Out, Bit>,
    pub word: Signal<Out, Retire>,
    pub place: Signal<Out, LookupPlace>,

    /// Where a context's entry is.
    places: SdpRam<LookupPlace, 12>,
    retire: Dff<Retire>,
    waits: Dff<Bit>,
    /// Its place is read; and in `its_place`: as it leaves the memory, it is too late to be written by.
    placed: Dff<Bit>,
    ready: Dff<Bit>,
    its_place: Dff<LookupPlace>,
    goes: Signal<Local, Bit>,
}

impl LookupEnds {
    /// For `2^contexts_log2` contexts.
    pub fn new(contexts_log2: usize) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            enable: Default::default(),
            retire_valid: Default::default(),
            retire_data: Default::default(),
            retire_ready: Default::default(),
            open: Default::default(),
            number: Default::default(),
            opened_at: Default::default(),
            hold: Default::default(),
            look_at: Default::default(),
            looked_at: Default::default(),
            busy: Default::default(),
            go: Default::default(),
            word: Default::default(),
            place: Default::default(),
            places: SdpRam::new(contexts_log2),
            retire: Default::default(),
            waits: Default::default(),
            placed: Default::default(),
            ready: Default::default(),
            its_place: Default::default(),
            goes: Default::default(),
        }
    }
}

impl Logic for LookupEnds {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, retire, waits, placed, ready, its_place);
        self.places.clock.next = self.clk.val();
        self.places.write_enable.next = self.open.val();
        self.places.write_address.next = self.number.val();
        self.places.write_data.next = self.opened_at.val();
        self.places.read_address.next = self.retire.q.val().context;
        if !self.waits.q.val() {
            self.places.read_address.next = self.look_at.val();
        }
        self.busy.next = self.waits.q.val();

        self.goes.next = self.waits.q.val() & self.ready.q.val() & !self.hold.val();
        if !self.waits.q.val() {
            self.retire.d.next = self.retire_data.val();
            self.waits.d.next = self.retire_valid.val() & self.enable.val();
        }
        self.placed.d.next = self.waits.q.val();
        self.ready.d.next = self.placed.q.val();
        self.its_place.d.next = self.places.read_data.val();
        if self.goes.val() {
            self.waits.d.next = false;
            self.placed.d.next = false;
            self.ready.d.next = false;
        }
        self.retire_ready.next = !self.waits.q.val() & self.enable.val();
        self.go.next = self.goes.val();
        self.word.next = self.retire.q.val();
        self.place.next = self.its_place.q.val();
        self.looked_at.next = self.places.read_data.val();

        if self.rst.val() {
            self.waits.d.next = false;
            self.placed.d.next = false;
            self.ready.d.next = false;
        }
    }
}
