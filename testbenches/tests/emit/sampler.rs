//! One block with every construct a kernel may contain.

use num_bigint::BigUint;
use tessera_rtl::emit::{export, with_big_stack};
use tessera_rtl::prelude::*;
use tessera_sim::tb::Rng;

use crate::bench::{agree, random_vectors, FromBits};
use crate::blocks::{Entry, Inner, Sampler};

impl FromBits for Entry {
    fn from_bits(value: &BigUint) -> Self {
        let part = |lsb: usize| value >> lsb;
        Entry {
            tag: Bits::from_bits(value),
            inner: Inner { low: Bits::from_bits(&part(7)), flag: part(11).bit(0) },
            count: Bits::from_bits(&part(12)),
        }
    }
}

drive!(Sampler: rst, start, select, entry, address);

#[test]
fn a_block_with_everything_behaves_as_its_export() {
    let mut rng = Rng::for_test("a_block_with_everything_behaves_as_its_export");
    with_big_stack(|| {
        let mut sampler = Sampler::default();
        let export = export(&mut sampler, "sampler").unwrap();
        let mut vectors = random_vectors(&mut rng, &export, 3000);
        // Resets are rare, or the state machine never gets to its end.
        for vector in &mut vectors {
            vector[0] = BigUint::from(u8::from(rng.chance(0.01)));
        }
        agree(&mut sampler, &export, &vectors);
    });
}
