//! Two seeded hashes of a key, and the expansion of the seed they use.
//!
//! ```text
//!  seed ──> LFSR ──> filter ──> stream 0, stream 1: 177 random bits each
//!  key 164 ──> mix: upper half ^= products of the lower half's bits ──> mixed
//!  bit j of hash t = parity(mixed & stream t from bit j on)
//! ```
//!
//! A Toeplitz hash of what is not linear in the key: hosts number their addresses,
//! endpoints and slots, and a linear map takes such a set of keys to a quarter of
//! the sets or less under one seed in ten, where they conflict (decision 0030). The mixing
//! is one to one, so which keys collide depends on the stream, so it cannot be
//! worked out without the seed. The filter is not linear, or keys whose
//! difference is a multiple of the LFSR's polynomial would collide under every
//! seed.
//!
//! Contract: `hash0` and `hash1` follow the key combinationally, about six LUT
//! levels. `load` starts the expansion; `keyed` falls with it and rises 387
//! clocks later.
//!
//! Verified by `testbenches/tests/lookup/`, which computes the same hashes.

use crate::prelude::*;
use tessera_abi::params::LFSR_MASK;

#[derive(LogicBlock)]
pub struct LookupHash {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub load: Signal<In, Bit>,
    pub seed: Signal<In, Bits<32>>,
    pub keyed: Signal<Out, Bit>,
    pub gid: Signal<In, Bits<128>>,
    pub endpoint: Signal<In, Bits<24>>,
    pub slot: Signal<In, Bits<12>>,
    pub hash0: Signal<Out, Bits<13>>,
    pub hash1: Signal<Out, Bits<13>>,
    lfsr: Dff<Bits<32>>,
    /// Clocks of the expansion left, the first 32 only mix.
    left: Dff<Bits<9>>,
    done: Dff<Bit>,
    streams: Dff<Bits<354>>,
    filtered: Signal<Local, Bit>,
    key: Signal<Local, Bits<164>>,
    low: Signal<Local, Bits<82>>,
    high: Signal<Local, Bits<82>>,
    mixed: Signal<Local, Bits<164>>,
    stream0: Signal<Local, Bits<177>>,
    stream1: Signal<Local, Bits<177>>,
    /// The hash's bits 0 .. i, the first at the top.
    sum0: [Signal<Local, Bits<13>>; 14],
    sum1: [Signal<Local, Bits<13>>; 14],
    mask: Constant<Bits<32>>,
    clocks: Constant<Bits<9>>,
    top: Constant<Bits<354>>,
}

impl LookupHash {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            load: Default::default(),
            seed: Default::default(),
            keyed: Default::default(),
            gid: Default::default(),
            endpoint: Default::default(),
            slot: Default::default(),
            hash0: Default::default(),
            hash1: Default::default(),
            lfsr: Default::default(),
            left: Default::default(),
            done: Default::default(),
            streams: Default::default(),
            filtered: Default::default(),
            key: Default::default(),
            low: Default::default(),
            high: Default::default(),
            mixed: Default::default(),
            stream0: Default::default(),
            stream1: Default::default(),
            sum0: Default::default(),
            sum1: Default::default(),
            mask: Constant::new(u64::from(LFSR_MASK).into()),
            clocks: Constant::new((32 + 354u64).into()),
            top: Constant::new(Bits::<354>::from(1u64) << 353u64),
        }
    }
}

impl Logic for LookupHash {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, lfsr, left, done, streams);

        self.filtered.next = self.lfsr.q.val().get_bit(0)
            ^ (self.lfsr.q.val().get_bit(7) & self.lfsr.q.val().get_bit(19))
            ^ (self.lfsr.q.val().get_bit(11) & self.lfsr.q.val().get_bit(28))
            ^ (self.lfsr.q.val().get_bit(4) & self.lfsr.q.val().get_bit(23) & self.lfsr.q.val().get_bit(30));
        if self.left.q.val() != 0 {
            self.left.d.next = self.left.q.val() - 1;
            if self.lfsr.q.val().get_bit(0) {
                self.lfsr.d.next = (self.lfsr.q.val() >> 1) ^ self.mask.val();
            } else {
                self.lfsr.d.next = self.lfsr.q.val() >> 1;
            }
            if self.filtered.val() {
                self.streams.d.next = (self.streams.q.val() >> 1) | self.top.val();
            } else {
                self.streams.d.next = self.streams.q.val() >> 1;
            }
            self.done.d.next = self.left.q.val() == 1;
        }
        if self.load.val() {
            self.lfsr.d.next = self.seed.val();
            self.left.d.next = self.clocks.val();
            self.done.d.next = false;
        }
        self.keyed.next = self.done.q.val();

        self.stream0.next = self.streams.q.val().get_bits::<177>(0);
        self.stream1.next = self.streams.q.val().get_bits::<177>(177);
        self.key.next = (bit_cast::<164, 128>(self.gid.val()) << 36)
            | (bit_cast::<164, 24>(self.endpoint.val()) << 12)
            | bit_cast::<164, 12>(self.slot.val());
        self.low.next = self.key.val().get_bits::<82>(0);
        self.high.next = self.key.val().get_bits::<82>(82)
            ^ (((self.low.val() >> 1) | (self.low.val() << 81))
                & ((self.low.val() >> 2) | (self.low.val() << 80)))
            ^ (((self.low.val() >> 5) | (self.low.val() << 77))
                & ((self.low.val() >> 12) | (self.low.val() << 70)));
        self.mixed.next = (bit_cast::<164, 82>(self.high.val()) << 82) | bit_cast::<164, 82>(self.low.val());
        self.sum0[0].next = 0.into();
        self.sum1[0].next = 0.into();
        for i in 0..13 {
            if (self.mixed.val() & self.stream0.val().get_bits::<164>(i)).xor() {
                self.sum0[i + 1].next = (self.sum0[i].val() >> 1) | 0x1000;
            } else {
                self.sum0[i + 1].next = self.sum0[i].val() >> 1;
            }
            if (self.mixed.val() & self.stream1.val().get_bits::<164>(i)).xor() {
                self.sum1[i + 1].next = (self.sum1[i].val() >> 1) | 0x1000;
            } else {
                self.sum1[i + 1].next = self.sum1[i].val() >> 1;
            }
        }
        self.hash0.next = self.sum0[13].val();
        self.hash1.next = self.sum1[13].val();

        if self.rst.val() {
            self.left.d.next = 0.into();
            self.done.d.next = false;
        }
    }
}
