//! `host::Interrupts`: high while there is something to look for, and long enough.

use tessera_rtl::host::interrupts::Interrupts;
use tessera_sim::tb;

#[test]
fn what_is_not_seen_keeps_it_high() {
    let design = tessera_testbenches::design("interrupts", Interrupts::new);
    tb::run("interrupts::random", &design, |dut, rng| {
        let port = |name: &str| dut.port(name).unwrap();
        let (written, enable, seen, delay) = (port("written"), port("enable"), port("seen"), port("delay"));
        let (now, count, irq, rst) = (port("now"), port("count"), port("irq"), port("rst"));
        for port in [written, enable, seen, delay, now] {
            dut.set(port, 0u64);
        }
        dut.reset(rst, 2);
        // What the block should say: entries, and since when something was not seen, in clocks.
        let (mut entries, mut looked, mut enabled, mut wait) = (0u64, 0u64, 0u64, 0u64);
        let (mut high, mut rises, mut was) = (0, 0, 0);
        // NIC time is a tick per four clocks here, and wraps on the way.
        let mut clock = 4 * 0xFFFF_F000u64;
        // The ticks of the clock in which it was last quiet, and whether it has told since.
        let (mut since, mut told) = (clock / 4, false);
        for round in 0..400 {
            let odds = *rng.pick(&[0.0, 0.01, 0.3, 1.0]);
            if rng.chance(0.3) {
                enabled = u64::from(rng.chance(0.8));
            }
            if rng.chance(0.3) {
                wait = *rng.pick(&[0, 0, 1, 2, 7, 30, 65_535]);
            }
            for step in 0..rng.below(200) {
                let comes = u64::from(rng.chance(odds));
                // The host looks now and then, and once in a while at what is long past.
                let before = looked;
                if step == 0 && rng.chance(0.5) {
                    looked = if rng.chance(0.9) { entries & 0xFFFF } else { rng.below(0x1_0000) };
                }
                dut.set(written, comes);
                dut.set(enable, enabled);
                dut.set(seen, looked);
                dut.set(delay, wait);
                dut.set(now, (clock / 4) & 0xFFFF_FFFF);
                dut.clock();
                assert_eq!(dut.sampled(irq), u64::from(told), "round {round}");
                assert_eq!(dut.sampled(count), entries & 0xFFFF, "round {round}");
                let differs = enabled == 1 && entries & 0xFFFF != looked;
                let quiet = !differs || looked != before;
                let waited = clock / 4 - since;
                // A look ends it for a clock, even one that missed what came meanwhile: who waits for it
                // to rise is told again.
                told = !quiet && (wait == 0 || told || waited & 0xFFFF >= wait);
                if quiet {
                    since = clock / 4;
                }
                rises += u32::from(told && was == 0);
                was = u32::from(told);
                high += u32::from(told);
                entries += comes;
                clock += 1;
            }
        }
        assert!(entries > 0xFFFF / 8 && high > 1000 && rises > 50, "{entries} {high} {rises}");
        dut.set(written, 0u64);
        dut.reset(rst, 1);
        dut.clock();
        assert_eq!((dut.sampled(count), dut.sampled(irq)), (0, 0), "after a reset");
    });
}
