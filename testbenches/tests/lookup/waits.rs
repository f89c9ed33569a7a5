//! First packets whose receives are on their way: RO-13.

use super::*;

#[test]
fn ro_13_a_receive_on_its_way_is_waited_for() {
    tb::run("lookup::coming", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        post_all(&mut bench, 2);
        bench.late = 20;
        assert_eq!(one(&mut bench, 1, 0, rng), Some("opened"));
        assert_eq!(bench.late, 0);
        // Whose receive never comes is refused in the end.
        bench.late = 0;
        bench.tenant(77, 77, 0);
        let mut other = bench.some_packet((9, 9, 9), 1, 0, rng);
        other.set("endpoint", 77);
        bench.late = u64::MAX;
        let start = bench.dut.cycles();
        bench.offer(other);
        while bench.last.event != Some("busy_receive") {
            bench.clock();
            assert!(bench.dut.cycles() < start + 600, "waits for ever");
        }
        assert!(bench.dut.cycles() > start + 500, "waits too short");
        bench.late = 0;
        bench.settle();
    });
}

/// Offers a packet that opens nothing and one of an endpoint whose receives do
/// not come, so many times; clocks until all are judged.
fn pressed(bench: &mut Bench, pairs: u32, rng: &mut Rng) -> u64 {
    bench.late_ring = Some(77);
    bench.late = u64::MAX;
    for slot in 0..u128::from(pairs) {
        let mut starved = bench.some_packet((9, 9, slot), 1, 0, rng);
        starved.set("endpoint", 77);
        bench.offer(starved);
        let copy = bench.some_packet(KEY, 1, flag::EST, rng);
        bench.offer(copy);
    }
    let start = bench.dut.cycles();
    let before = bench.reference.events["busy_receive"];
    bench.settle();
    bench.late = 0;
    assert_eq!(bench.reference.events["busy_receive"] - before, u64::from(pairs));
    bench.dut.cycles() - start
}

#[test]
fn ro_13_an_endpoint_without_receives_does_not_hold_up_the_others() {
    tb::run("lookup::pressed", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        bench.tenant(77, 77, 0);
        post_all(&mut bench, 2);
        assert_eq!(one(&mut bench, 1, 0, rng), Some("opened"));
        for _ in 0..63 * 16 {
            bench.clock();
        }
        // Four clocks each and a turn of the sweep in 64, the budget, a quarter of the time.
        let judging = 2 * 200 * 4 * 16 / 15;
        let clocks = pressed(&mut bench, 200, rng);
        println!("200 that wait and 200 that do not: {clocks} clocks");
        assert!(clocks > judging + 252, "{clocks} clocks: nobody waited");
        assert!(clocks < (judging + 252) * 4 / 3 + 100, "{clocks} clocks");
        // The budget is spent, so another packet behind ends the wait.
        let clocks = pressed(&mut bench, 2, rng);
        assert!(clocks < 120, "{clocks} clocks");
        for _ in 0..63 * 16 {
            bench.clock();
        }
        let clocks = pressed(&mut bench, 2, rng);
        assert!((260..400).contains(&clocks), "{clocks} clocks: the budget did not come back");
    });
}

#[test]
fn ro_13_a_burst_waits_for_its_receives() {
    tb::run("lookup::burst", &design("lookup", &SMALL), |dut, rng| {
        let mut bench = small(dut, rng);
        post_all(&mut bench, 16);
        for _ in 0..63 * 16 {
            bench.clock();
        }
        // A ring that gives an entry every other time it is asked.
        for slot in 0..16 {
            bench.late = 1;
            let packet = bench.some_packet((5, 5, slot), 1, 0, rng);
            bench.offer(packet);
            let behind = bench.some_packet((5, 5, slot), 1, 0, rng);
            bench.offer(behind);
            bench.settle();
        }
        assert_eq!(bench.reference.events["busy_receive"], 0);
        assert_eq!(bench.reference.events["opened"], 16);
    });
}

/// What a packet leaves is in the sets of the seed it was looked up under.
//= RO-6 test
#[test]
fn a_seed_that_comes_beside_an_opening_is_not_taken() {
    tb::run("lookup::seed", &design("lookup", &SMALL), |dut, rng| {
        // The first waits for its receive meanwhile, the others only for their turn.
        for (late, flags, denied) in [(20, 0, 0), (0, 0, 0), (0, flag::WRITE, 1)] {
            for after in 0..8 {
                let mut bench = small(dut, rng);
                post_all(&mut bench, 2);
                bench.late = late;
                let mut packet = bench.some_packet(KEY, 1, flags, rng);
                packet.set("denied", denied);
                bench.offer(packet.clone());
                while bench.taken_at.is_empty() {
                    bench.clock();
                }
                for _ in 0..after {
                    bench.clock();
                }
                let [enable, seed] =
                    ["enable", "seed"].map(|name| bench.dut.port(&format!("settings.{name}")).unwrap());
                bench.dut.set(seed, 0xFACE_u64 + after);
                bench.dut.set(enable, 0u64);
                bench.clock();
                bench.dut.set(enable, 1u64);
                bench.settle();
                assert_eq!(bench.last.event, if denied == 1 { None } else { Some("opened") });
                // The same again is known, or has ended.
                bench.offer(packet);
                bench.settle();
                assert_eq!(bench.reference.events["opened"], u64::from(denied == 0));
                assert_eq!(bench.tombstones(), denied as u64);
            }
        }
    });
}
