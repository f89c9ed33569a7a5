//! Counters, those of paths, and gauges.

use super::*;

#[test]
fn gauges_and_time_are_read_live() {
    tb::run("registers::gauges", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        let gauges = [
            (regs::OUTSTANDING, "outstanding"),
            (regs::UNSOLICITED, "unsolicited"),
            (regs::FREE_SLOTS, "free_slots"),
            (regs::FREE_CONTEXTS, "free_contexts"),
            (regs::FREE_BLOCKS, "free_blocks"),
            (regs::TOMBSTONES, "tombstones"),
        ];
        for _ in 0..60 {
            let (reg, port) = rng.pick(&gauges);
            let value = rng.bits(reg.width);
            bench.set(port, value);
            assert_eq!(bench.read(reg.offset), value, "{}", reg.name);
        }
        let (first, at) = (bench.get("now"), bench.dut.cycles());
        bench.dut.clock_by(16 * 100);
        let ticks = (bench.dut.cycles() - at) / u64::from(CLOCKS_PER_TICK);
        assert_eq!(bench.get("now") - first, ticks);
        let time = bench.read(regs::TIME.offset);
        assert!(bench.get("now") - time <= 1);
    });
}

#[test]
fn counters_lose_no_event() {
    tb::run("registers::counters", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        let events = bench.dut.port("events").unwrap();
        // From never over sometimes to every clock, for each event in turn.
        let mut odds: Vec<f64> = (0..64).map(|i| [0.0, 0.01, 0.5, 1.0, 0.99][i % 5]).collect();
        let mut counts = [0u64; 64];
        for round in 0..40 {
            odds.rotate_left(1);
            for _ in 0..rng.below(400) {
                let mut word = 0u64;
                for (i, odds) in odds.iter().enumerate() {
                    if rng.chance(*odds) {
                        word |= 1 << i;
                        counts[i] += 1;
                    }
                }
                bench.dut.set(events, word);
                bench.dut.clock();
            }
            bench.dut.set(events, 0u64);
            // All of them now and then, a few otherwise.
            for index in 0..64u32 {
                if round % 10 == 9 || rng.chance(0.1) {
                    let value = bench.read(regs::counter(index));
                    assert_eq!(value, counts[index as usize], "counter {index}");
                }
            }
        }
        // A read while events come lies between the counts around it.
        bench.dut.set(events, 1u64 << 33);
        let begin = bench.dut.cycles();
        let base = counts[33];
        for _ in 0..20 {
            let low = base + bench.dut.cycles() - begin;
            let value = bench.read(regs::counter(33));
            let high = base + bench.dut.cycles() - begin;
            assert!((low..=high).contains(&value), "{value} outside {low}..={high}");
        }
        refused(bench.try_write(regs::counter(1), 0, 0xF), "a counter");
    });
}

/// Packets every second clock and echoes every third, under few values and many;
/// read in between, and wrapped from a value just below the end.
#[test]
fn path_counters_lose_no_event() {
    tb::run("registers::paths", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        let names = ["sent", "sent_ev", "clean", "ce", "echo_ev"];
        let ports = names.map(|name| bench.dut.port(&format!("path_use.{name}")).unwrap());
        let mut counts = BTreeMap::<(u32, u8), u64>::new();
        let mut touched = Vec::new();
        for round in 0..30 {
            let width = if round % 2 == 0 { 1 } else { 8 };
            let base = rng.bits(8);
            for clock in 0..rng.below(600) {
                let mut word = [0; 5];
                word[1] = base ^ rng.bits(width);
                word[4] = base ^ rng.bits(width);
                word[0] = u64::from(clock % 2 == 0 && rng.below(8) != 0);
                if clock % 3 == 0 {
                    word[2 + rng.below(2) as usize] = u64::from(rng.below(8) != 0);
                }
                for (bank, ev) in [(0, 1), (1, 4), (2, 4)] {
                    if word[[0, 2, 3][bank]] == 1 {
                        *counts.entry((bank as u32, word[ev] as u8)).or_default() += 1;
                        touched.push((bank as u32, word[ev] as u8));
                    }
                }
                ports.iter().zip(word).for_each(|(&port, value)| bench.dut.set(port, value));
                bench.dut.clock();
            }
            [0, 2, 3].iter().for_each(|&i| bench.dut.set(ports[i], 0u64));
            for _ in 0..20 {
                let at = if rng.below(2) == 0 {
                    (rng.below(3) as u32, rng.bits(8) as u8)
                } else {
                    *rng.pick(&touched)
                };
                let (bank, ev) = at;
                let address = regs::PATH_COUNTERS + bank * regs::PATH_BANK + 4 * u32::from(ev);
                let count = counts.get(&at).copied().unwrap_or(0);
                assert_eq!(bench.read(address), count, "bank {bank}, value {ev}");
            }
        }
        let kinds = [PathCounter::Sent, PathCounter::Clean, PathCounter::Ce];
        for (bank, kind) in (0..).zip(kinds) {
            let count = (0..=255).map(|ev| bench.read(regs::path_counter(kind, ev))).sum::<u64>();
            let of_bank = counts.iter().filter(|(at, _)| at.0 == bank).map(|(_, count)| count).sum::<u64>();
            assert_eq!(count, of_bank, "{kind:?}");
        }
        // A read while packets come lies between the counts around it.
        bench.dut.set(ports[1], 77u64);
        let base = counts.get(&(0, 77)).copied().unwrap_or(0);
        bench.dut.set(ports[0], 1u64);
        bench.dut.clock();
        bench.dut.set(ports[0], 0u64);
        assert_eq!(bench.read(regs::path_counter(PathCounter::Sent, 77)), base + 1);
        refused(bench.try_write(regs::path_counter(PathCounter::Clean, 1), 0, 0xF), "a path counter");
        // A reset forgets them all.
        let rst = bench.dut.port("rst").unwrap();
        bench.dut.reset(rst, 2);
        let mut bench = bench.until_ready();
        for (&(bank, ev), _) in counts.iter().take(60) {
            assert_eq!(bench.read(regs::PATH_COUNTERS + bank * regs::PATH_BANK + 4 * u32::from(ev)), 0);
        }
    });
}

/// The place table of policy `weighted` is written and broadcast, never read;
/// what lies at its index in other tables stays.
#[test]
fn path_places_are_written_and_not_read() {
    tb::run("registers::places", &design(&SMALL), |dut, _| {
        let mut bench = Bench::new(dut).until_ready();
        let command = |write: u32, table: u32, index: u32| write << 31 | table << 24 | index;
        bench.write(regs::TABLE_DATA, 0x1234_5678);
        for table in [table::ENDPOINT, table::CQ, table::MR] {
            bench.write(regs::TABLE_COMMAND.offset, command(1, table, 5));
        }
        bench.write(regs::TABLE_DATA, 0x0000_00AB);
        bench.write(regs::TABLE_COMMAND.offset, command(1, table::PATH, 5));
        bench.write(regs::TABLE_COMMAND.offset, command(1, table::PATH, 255));
        let last = *bench.watcher.seen.tables.last().unwrap();
        assert_eq!((last.1, last.2, last.3[0] & 0xFFFF_FFFF), (table::PATH.into(), 255, 0xAB));
        assert_eq!(bench.watcher.seen.tables.len(), 5);
        refused(
            bench.try_write(regs::TABLE_COMMAND.offset, command(1, table::PATH, 256), 0xF),
            "a place too far",
        );
        refused(
            bench.try_write(regs::TABLE_COMMAND.offset, command(0, table::PATH, 5), 0xF),
            "a read of a place",
        );
        for table in [table::ENDPOINT, table::CQ, table::MR] {
            bench.write(regs::TABLE_COMMAND.offset, command(0, table, 5));
            while bench.read(regs::TABLE_STATUS.offset) == 1 {}
            assert_eq!(bench.read(regs::TABLE_DATA), 0x1234_5678, "table {table}");
        }
    });
}
