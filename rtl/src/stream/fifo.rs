//! A first-word-fall-through FIFO with registered output.
//!
//! ```text
//!  in_valid  ──>┌─────────────┬─────────────┐──> out_valid
//!  in_data   ──>│ block RAM ──┴> two output  │──> out_data
//!  in_ready  <──│                words       │<── out_ready
//!               └───────────────────────────┘
//! ```
//!
//! A word that finds the RAM empty and an output place free goes past the RAM.
//!
//! Contract: one word in and one word out per clock, sustained; one clock from
//! input to output when empty; every output depends on registers only. The RAM
//! holds `2^depth_log2` words, the two output words come on top.
//!
//! Verified by `testbenches/tests/fifo.rs`.

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct Fifo<T: Synth, const A: usize> {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub in_valid: Signal<In, Bit>,
    pub in_data: Signal<In, T>,
    pub in_ready: Signal<Out, Bit>,
    pub out_valid: Signal<Out, Bit>,
    pub out_data: Signal<Out, T>,
    pub out_ready: Signal<In, Bit>,
    ram: SdpRam<T, A>,
    write_at: Dff<Bits<A>>,
    read_at: Dff<Bits<A>>,
    /// Words in the RAM, counted one bit wider than an address.
    used: Dff<Bits<16>>,
    /// The RAM's output holds a word that was asked for last clock.
    fetched: Dff<Bit>,
    /// Output word and the one behind it.
    front: Dff<T>,
    front_valid: Dff<Bit>,
    back: Dff<T>,
    back_valid: Dff<Bit>,
    take: Signal<Local, Bit>,
    put: Signal<Local, Bit>,
    /// The word put goes to an output place at once.
    direct: Signal<Local, Bit>,
    /// A word comes to the output places, from the RAM or past it.
    comes: Signal<Local, Bit>,
    word: Signal<Local, T>,
    fetch: Signal<Local, Bit>,
    /// Words that are or will be in the two output places after this clock.
    ahead: Signal<Local, Bits<2>>,
    depth: Constant<Bits<16>>,
}

impl<T: Synth, const A: usize> Fifo<T, A> {
    /// A FIFO of `2^depth_log2` words (plus two), `depth_log2 <= A <= 15`.
    pub fn new(depth_log2: usize) -> Self {
        assert!(A <= 15, "a FIFO of 2^{A} words does not fit its counter");
        Self {
            clk: Default::default(),
            rst: Default::default(),
            in_valid: Default::default(),
            in_data: Default::default(),
            in_ready: Default::default(),
            out_valid: Default::default(),
            out_data: Default::default(),
            out_ready: Default::default(),
            ram: SdpRam::new(depth_log2),
            write_at: Default::default(),
            read_at: Default::default(),
            used: Default::default(),
            fetched: Default::default(),
            front: Default::default(),
            front_valid: Default::default(),
            back: Default::default(),
            back_valid: Default::default(),
            take: Default::default(),
            put: Default::default(),
            direct: Default::default(),
            comes: Default::default(),
            word: Default::default(),
            fetch: Default::default(),
            ahead: Default::default(),
            depth: Constant::new((1u64 << depth_log2).into()),
        }
    }

    /// The same FIFO with another `ram_style` hint for its RAM.
    pub fn with_style(self, style: &'static str) -> Self {
        Self { ram: self.ram.with_style(style), ..self }
    }
}

impl<T: Synth, const A: usize> Logic for Fifo<T, A> {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, write_at, read_at, used, fetched, front, front_valid, back, back_valid);
        self.ram.clock.next = self.clk.val();

        self.in_ready.next = self.used.q.val() < self.depth.val();
        self.put.next = self.in_valid.val() & self.in_ready.val();
        self.out_valid.next = self.front_valid.q.val();
        self.out_data.next = self.front.q.val();
        self.take.next = self.front_valid.q.val() & self.out_ready.val();

        self.direct.next = self.put.val()
            & (self.used.q.val() == 0)
            & !self.fetched.q.val()
            & (!self.back_valid.q.val() | self.take.val());
        self.comes.next = self.fetched.q.val() | self.direct.val();
        self.word.next = self.in_data.val();
        if self.fetched.q.val() {
            self.word.next = self.ram.read_data.val();
        }
        self.ram.write_enable.next = self.put.val() & !self.direct.val();
        self.ram.write_address.next = self.write_at.q.val();
        self.ram.write_data.next = self.in_data.val();
        self.ram.read_address.next = self.read_at.q.val();

        // A fetch needs a free output place when its word arrives next clock.
        self.ahead.next = 0.into();
        if self.front_valid.q.val() & !self.take.val() {
            if self.back_valid.q.val() | self.fetched.q.val() {
                self.ahead.next = 2.into();
            } else {
                self.ahead.next = 1.into();
            }
        } else {
            // Never both: three words would have been ahead.
            if self.back_valid.q.val() | self.fetched.q.val() {
                self.ahead.next = 1.into();
            }
        }
        self.fetch.next = (self.used.q.val() != 0) & (self.ahead.val() != 2);
        self.fetched.d.next = self.fetch.val();
        if self.fetch.val() {
            self.read_at.d.next = self.read_at.q.val() + 1;
        }
        if self.ram.write_enable.val() {
            self.write_at.d.next = self.write_at.q.val() + 1;
        }
        if self.ram.write_enable.val() & !self.fetch.val() {
            self.used.d.next = self.used.q.val() + 1;
        }
        if !self.ram.write_enable.val() & self.fetch.val() {
            self.used.d.next = self.used.q.val() - 1;
        }

        if !self.front_valid.q.val() | self.take.val() {
            // The front moves up: from the back if it holds a word, else what comes.
            if self.back_valid.q.val() {
                self.front.d.next = self.back.q.val();
                self.front_valid.d.next = true;
                self.back.d.next = self.word.val();
                self.back_valid.d.next = self.comes.val();
            } else {
                self.front.d.next = self.word.val();
                self.front_valid.d.next = self.comes.val();
            }
        } else {
            if self.comes.val() {
                self.back.d.next = self.word.val();
                self.back_valid.d.next = true;
            }
        }

        if self.rst.val() {
            self.write_at.d.next = 0.into();
            self.read_at.d.next = 0.into();
            self.used.d.next = 0.into();
            self.fetched.d.next = false;
            self.front_valid.d.next = false;
            self.back_valid.d.next = false;
        }
    }
}
