//! Enabling, reclaim and reset: RE-3, RS.

use super::*;

//= RE-3 test
#[test]
fn a_reclaim_is_busy_while_anything_is_left() {
    tb::run("registers::reclaim", &design(&SMALL), |dut, _| {
        let mut bench = Bench::new(dut).until_ready();
        for (endpoint, held) in [(5, 0), (31, 3000), (0, 100)] {
            bench.write(regs::RECLAIM.offset, endpoint);
            assert_eq!((bench.get("reclaim.active"), bench.get("reclaim.endpoint")), (1, endpoint.into()));
            // What is on its way shows late: it is never over at once.
            assert_eq!(bench.read(regs::RECLAIM_STATUS.offset), 1);
            for (sends, contexts, seen) in [(1, 0, 3), (1, 1, 7), (0, 1, 5)] {
                bench.set("sends_left", sends);
                bench.set("contexts_left", contexts);
                bench.dut.clock_by(held);
                assert_eq!(bench.read(regs::RECLAIM_STATUS.offset), seen);
                assert_eq!((bench.get("reclaim.active"), bench.get("drain")), (1, 0));
            }
            // Nothing is counted by endpoint, and something was on its way.
            bench.set("before_left", 7);
            bench.set("contexts_left", 0);
            for left in [7, 6, 4] {
                bench.set("before_left", left);
                let marks = bench.count_clocks("marks", |bench| bench.dut.clock_by(1100 + held));
                // The first mark is one, and was set while nothing was left by endpoint.
                assert!(marks <= 1, "{marks} marks");
                assert_eq!((bench.get("reclaim.active"), bench.get("drain")), (1, 0));
                assert_eq!(bench.read(regs::RECLAIM_STATUS.offset), 1);
            }
            // Nor that, and what was handed over is not written yet.
            bench.set("before_left", 0);
            bench.dut.clock_by(120);
            assert_eq!((bench.get("reclaim.active"), bench.get("drain")), (1, 1));
            assert_eq!(bench.read(regs::RECLAIM_STATUS.offset), 1);
            // What shows up once more begins that anew, and so does another reclaim.
            bench.set("sends_left", 1);
            bench.set("drained", 1);
            bench.dut.clock_by(4);
            assert_eq!((bench.get("reclaim.active"), bench.get("drain")), (1, 0));
            bench.set("drained", 0);
            bench.set("sends_left", 0);
            bench.dut.clock_by(120);
            assert_eq!((bench.get("reclaim.active"), bench.get("drain")), (1, 1));
            bench.write(regs::RECLAIM.offset, endpoint);
            bench.set("drained", 1);
            bench.dut.clock_by(900);
            assert_eq!((bench.get("reclaim.active"), bench.get("drain")), (1, 0));
            bench.set("drained", 0);
            bench.dut.clock_by(300);
            assert_eq!((bench.get("reclaim.active"), bench.get("drain")), (1, 1));
            bench.set("drained", 1);
            bench.dut.clock_by(2);
            bench.set("drained", 0);
            assert_eq!(bench.get("drain"), 0);
            assert_eq!(bench.read(regs::RECLAIM_STATUS.offset), 0);
            assert_eq!(bench.get("reclaim.active"), 0);
        }
        refused(bench.try_write(regs::RECLAIM_STATUS.offset, 1, 0xF), "a status");
    });
}

/// Plays `soft_reset`: the reset itself, and that it is over.
fn core_reset(bench: &mut Bench) {
    bench.set("core_rst", 1);
    bench.dut.clock_by(8);
    bench.set("core_rst", 0);
    bench.set("reset_ended", 1);
    bench.dut.clock();
    bench.set("reset_ended", 0);
}

//= RS-1 test
//= RS-3 test
#[test]
fn a_reset_takes_all_back_but_time_and_counters() {
    tb::run("registers::soft reset", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        let tables = [(table::ENDPOINT, 3), (table::CQ, 60), (table::MR, 127)];
        let mut counted = 0;
        for round in 0..3 {
            // Everything differs from what it is after reset, and an event is counted.
            for reg in &FILE {
                bench.write(reg.offset, !reg.reset);
            }
            bench.until_ready_again();
            let words: [u32; 16] = std::array::from_fn(|_| rng.bits(32) as u32 | 1);
            for (table, index) in tables {
                bench.table(1 << 31 | table << 24 | index, &words).unwrap();
            }
            bench.write(regs::RECLAIM.offset, 1);
            bench.set("events", 1 << 40);
            bench.dut.clock();
            bench.set("events", 0);
            counted += 1;
            let before = bench.read(regs::TIME.offset);

            // A write of 0 asks for nothing.
            bench.write(regs::RESET.offset, 0);
            bench.dut.clock_by(4);
            assert_eq!((bench.read(regs::RESET_STATUS.offset), bench.read(regs::STATUS.offset)), (0, 1));
            let pulses = bench.count_clocks("reset_begin", |bench| bench.write(regs::RESET.offset, 1));
            assert_eq!(pulses, 1, "one beginning");
            // Until it is over: what it waits for shows, nothing but RESET may be
            // written, and a second one begins nothing.
            for waits in [0, 1, 0b10110, 31] {
                bench.set("reset_waits", waits);
                bench.dut.clock();
                assert_eq!(bench.read(regs::RESET_STATUS.offset), waits << 1 | 1);
                assert_eq!(bench.read(regs::STATUS.offset), 0, "STATUS.ready");
                assert_eq!(bench.read(regs::TABLE_STATUS.offset), 1);
                refused(bench.try_write(regs::SEED.offset, 1, 0xF), "a register");
                refused(bench.try_write(regs::TABLE_DATA, 1, 0xF), "table data");
                refused(bench.try_write(regs::TABLE_COMMAND.offset, 1 << 31, 0xF), "a table command");
                refused(bench.try_write(regs::FENCE.offset, 1, 0xF), "a fence");
                refused(bench.try_write(regs::RECLAIM.offset, 0, 0xF), "a reclaim");
                refused(bench.try_write(regs::doorbell_page(0), 1, 0xF), "a doorbell");
                let again = bench.count_clocks("reset_begin", |bench| bench.write(regs::RESET.offset, 1));
                assert_eq!(again, 0, "it has begun already");
            }
            assert_eq!(bench.get("settings.enable"), 1, "nothing is taken back before all have ended");
            bench.set("reset_waits", 0);
            if round == 1 {
                // An access under way is not lost.
                bench.set("core_rst", 1);
                assert_eq!(bench.read(regs::RESET_STATUS.offset), 1);
                assert_eq!(bench.read(regs::counter(40)), counted);
                refused(bench.try_write(regs::SEED.offset, 1, 0xF), "a register");
            }
            core_reset(&mut bench);
            assert_eq!(bench.read(regs::RESET_STATUS.offset), 0);
            assert_eq!((bench.get("settings.enable"), bench.get("reclaim.active")), (0, 0));
            bench.until_ready_again();
            for reg in &FILE {
                assert_eq!(bench.read(reg.offset), u64::from(reg.reset), "{} after reset", reg.name);
            }
            for (table, index) in tables {
                bench.write(regs::TABLE_COMMAND.offset, table << 24 | index);
                for word in 0..16 {
                    assert_eq!(bench.read(regs::TABLE_DATA + 4 * word), 0, "table {table}");
                }
            }
            assert!(bench.read(regs::TIME.offset) > before, "TIME goes on");
            assert_eq!(bench.read(regs::counter(40)), counted, "counters go on");
        }
        // The reset of power-on says nothing of its own, and refuses like the other.
        bench.set("core_rst", 1);
        refused(bench.try_write(regs::SEED.offset, 1, 0xF), "a register in reset");
        core_reset(&mut bench);
        bench.write(regs::SEED.offset, 77);
        assert_eq!(bench.read(regs::SEED.offset), 77);
    });
}

#[test]
fn nothing_reaches_the_blocks_before_they_are_ready() {
    tb::run("registers::ready", &design(&SMALL), |dut, _| {
        let mut bench = Bench::new(dut);
        bench.set("ready", 0);
        for _ in 0..400 {
            assert_eq!(bench.read(regs::STATUS.offset), 0);
            assert_eq!(bench.read(regs::TABLE_STATUS.offset), 1);
        }
        refused(bench.try_write(regs::doorbell_page(0), 1, 0xF), "an early doorbell");
        refused(bench.table(1 << 31, &[0; 16]), "an early table write");
        bench.set("ready", 1);
        let mut bench = bench.until_ready();
        assert!(bench.watcher.seen.bells.is_empty() && bench.watcher.seen.tables.is_empty());
        bench.write(regs::doorbell_page(0), 1);
        assert_eq!(bench.watcher.seen.bells.len(), 1);
    });
}

/// The blocks have some clocks to say that enabling or disabling keeps them
/// busy; then it is their word alone again.
#[test]
fn enabling_ends_in_ready_again() {
    tb::run("registers::settle", &design(&SMALL), |dut, _| {
        let mut bench = Bench::new(dut).until_ready();
        for (rung, value) in [1, 0, 1, 1].into_iter().enumerate() {
            bench.write(regs::CONTROL.offset, value);
            bench = bench.until_ready();
            bench.write(regs::doorbell_page(0), 1);
            assert_eq!(bench.watcher.seen.bells.len(), rung + 1);
        }
    });
}
