//! `rx::TagHash` alone.

use tessera_rtl::rx::TagHash;
use tessera_sim::tb;
use tessera_testbenches::tabulation::{hash, tables};

/// Clocks from `load` to `keyed`.
const EXPANSION: u64 = 545;

#[test]
fn every_bit_of_endpoint_and_tag_counts_as_in_the_reference() {
    let design = tessera_testbenches::design("tag_hash", TagHash::default);
    tb::run("match_table::hash", &design, |dut, rng| {
        let [rst, load, at_seed, keyed, at_endpoint, at_tag, hash0, hash1] =
            ["rst", "load", "seed", "keyed", "endpoint", "tag", "hash0", "hash1"]
                .map(|name| dut.port(name).unwrap());
        dut.set(load, 0u64);
        dut.set(rst, 1u64);
        dut.clock_by(2);
        dut.set(rst, 0u64);
        for seed in [rng.bits(32) as u32, 0, rng.bits(32) as u32] {
            dut.set(load, 1u64);
            dut.set(at_seed, u64::from(seed));
            dut.clock();
            dut.set(load, 0u64);
            let mut clocks = 1;
            while dut.get(keyed) == 0 {
                dut.clock();
                clocks += 1;
                assert!(clocks <= EXPANSION);
            }
            assert_eq!(clocks, EXPANSION);
            let tables = tables(seed, 15);
            for _ in 0..20 {
                let base = u128::from(rng.next_u64()) << 8 | u128::from(rng.bits(8));
                for flip in std::iter::once(0).chain((0..72).map(|bit| 1 << bit)) {
                    let key: u128 = base ^ flip;
                    dut.set(at_endpoint, key as u64 & 0xff);
                    dut.set(at_tag, (key >> 8) as u64);
                    dut.settle();
                    let expected = hash(&tables, |piece| (key >> (5 * piece)) as usize & 31);
                    let got = dut.get(hash0) | dut.get(hash1) << 13;
                    assert_eq!(got, u64::from(expected), "seed {seed:x} key {key:x}");
                }
            }
        }
    });
}
