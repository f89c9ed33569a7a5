//! `host::SendTally`: what is counted against a map, at its fastest.

use std::collections::BTreeMap;
use tessera_abi::params::NIC64;
use tessera_rtl::host::send_tally::SendTally;
use tessera_sim::tb;

#[test]
fn counts_are_those_of_a_map() {
    let design = tessera_testbenches::design("send_tally", || SendTally::new(&NIC64));
    tb::run("send_tally::random", &design, |dut, rng| {
        let port = |name: &str| dut.port(name).unwrap();
        let [take, taker, sent, sender] = ["take", "taker", "sent", "sender"].map(port);
        let [refused, refuser, endpoint, left] = ["refused", "refuser", "endpoint", "left"].map(port);
        let (rst, ready) = (port("rst"), port("ready"));
        for input in [take, sent, refused, endpoint] {
            dut.set(input, 0u64);
        }
        dut.reset(rst, 2);
        for _ in 0..(1 << NIC64.endpoints_log2) + 2 {
            dut.clock();
        }
        assert_eq!(dut.sampled(ready), 1);
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut since_take, mut since_give) = (9, 9);
        let mut zeros = 0;
        for _ in 0..20_000 {
            // As close together as the contract allows, and of one endpoint often.
            let of =
                |rng: &mut tb::Rng| if rng.chance(0.5) { 3 } else { rng.below(1 << NIC64.endpoints_log2) };
            let takes = since_take >= 2 && rng.chance(0.5);
            let gone = of(rng);
            let gives =
                since_give >= 1 && counts.get(&gone).is_some_and(|count| *count > 0) && rng.chance(0.7);
            let from_ring = rng.chance(0.5);
            let came = of(rng);
            dut.set(take, takes);
            dut.set(taker, came);
            dut.set(sent, gives && !from_ring);
            dut.set(refused, gives && from_ring);
            dut.set(sender, if from_ring { rng.below(8) } else { gone });
            dut.set(refuser, if from_ring { gone } else { rng.below(8) });
            dut.clock();
            since_take = if takes { 0 } else { since_take + 1 };
            since_give = if gives { 0 } else { since_give + 1 };
            if takes {
                *counts.entry(came).or_default() += 1;
            }
            if gives {
                *counts.get_mut(&gone).expect("counted") -= 1;
            }
            if rng.chance(0.02) {
                for input in [take, sent, refused] {
                    dut.set(input, 0u64);
                }
                for _ in 0..4 {
                    dut.clock();
                }
                for asked in 0..1 << NIC64.endpoints_log2 {
                    dut.set(endpoint, asked);
                    dut.clock();
                    dut.clock();
                    let count = counts.get(&asked).copied().unwrap_or(0);
                    zeros += u64::from(count == 0);
                    assert_eq!(dut.sampled(left) != 0, count != 0, "endpoint {asked}: {count} are left");
                }
                (since_take, since_give) = (9, 9);
            }
        }
        assert!(zeros > 100, "{zeros} zeros seen");
    });
}
