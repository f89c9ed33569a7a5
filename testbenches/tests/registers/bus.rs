//! The bus itself: its channels, its errors, its answers' time.

use super::*;

#[test]
fn what_is_not_mapped_is_refused() {
    tb::run("registers::unmapped", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        let mapped = |address: u32| {
            let word = |base: u32, count: u32| (base..base + 4 * count).contains(&address);
            let global = regs::MAP.iter().any(|reg| reg.offset == address)
                || word(regs::TABLE_DATA, regs::TABLE_WORDS as u32)
                || word(regs::COUNTERS, regs::COUNTER_COUNT)
                || word(regs::PATH_COUNTERS, 3 * 256);
            let page = (address >> 12) & 0xFF;
            let bell = match address & 0xFFF {
                regs::DOORBELL_SQ | regs::DOORBELL_RQ | regs::DOORBELL_ROUND => page < 32,
                regs::DOORBELL_CQ => page < 64,
                _ => false,
            };
            address.is_multiple_of(4) && (global || (address >= regs::doorbell_page(0) && bell))
        };
        let mut check = |address: u32| match bench.try_read(address) {
            Ok(_) => assert!(mapped(address), "{address:#x} is not mapped and answers OKAY"),
            Err(BusError::Refused { response: 2, .. }) => {
                assert!(!mapped(address), "{address:#x} is mapped and answers SLVERR");
            }
            Err(other) => panic!("{address:#x}: {other}"),
        };
        for address in (0..0x800).step_by(4) {
            check(address);
        }
        for _ in 0..1500 {
            check(rng.below(1 << regs::ADDRESS_BITS) as u32);
            check(regs::PATH_COUNTERS + rng.below(0x1800) as u32);
            check(regs::doorbell_page(rng.below(256) as u32) + 4 * rng.below(4) as u32);
            check(1 << rng.below(21) | (rng.below(0x500) as u32 & !3));
        }
        for address in [0x14, 0x2000, 0x10_0010, regs::doorbell_page(64) + regs::DOORBELL_CQ] {
            refused(bench.try_write(address, 1, 0xF), "an unmapped write");
        }
        assert!(bench.watcher.seen.bells.is_empty() && bench.watcher.seen.tables.is_empty());
    });
}

/// The five channels driven on their own, to see every order of AW and W and
/// every stall of B and R.
#[test]
fn channels_move_in_any_order_and_answers_wait() {
    let design = design(&SMALL);
    for pattern in Pattern::ALL {
        tb::run(&format!("registers::channels {pattern:?}"), &design, |dut, rng| {
            let bench = Bench::new(dut).until_ready();
            let dut = bench.dut;
            let port = |name: &str| dut.port(&format!("s_axil_{name}")).unwrap();
            let [awaddr, awvalid, awready] = ["awaddr", "awvalid", "awready"].map(port);
            let [wdata, wstrb, wvalid, wready] = ["wdata", "wstrb", "wvalid", "wready"].map(port);
            let [bresp, bvalid, bready] = ["bresp", "bvalid", "bready"].map(port);
            let [araddr, arvalid, arready] = ["araddr", "arvalid", "arready"].map(port);
            let [rdata, rresp, rvalid, rready] = ["rdata", "rresp", "rvalid", "rready"].map(port);
            let mut gates: Vec<_> = (0..5).map(|_| pattern.gate(rng.fork())).collect();
            // Writes to two registers and to nothing; reads follow a register
            // that no write touches.
            let targets = [regs::RTO.offset, regs::SEED.offset, 0x14];
            let writes: Vec<(u32, u32)> =
                (0..300).map(|_| (*rng.pick(&targets), rng.bits(32) as u32)).collect();
            let reads: Vec<u32> =
                (0..300).map(|_| *rng.pick(&[regs::MAGIC.offset, regs::MPL.offset, 0x18])).collect();
            let (mut aw, mut w, mut b, mut ar, mut r) = (0, 0, 0, 0, 0);
            let mut offering = [false; 3];
            let mut held_b = None;
            let mut held_r = None;
            for clock in 0.. {
                assert!(clock < 60_000, "{b} writes and {r} reads were answered");
                if b == writes.len() && r == reads.len() {
                    break;
                }
                let open: Vec<bool> = gates.iter_mut().map(|gate| gate.is_open()).collect();
                offering[0] = aw < writes.len() && (offering[0] || open[0]);
                offering[1] = w < writes.len() && (offering[1] || open[1]);
                offering[2] = ar < reads.len() && (offering[2] || open[2]);
                dut.set(awvalid, offering[0]);
                dut.set(wvalid, offering[1]);
                dut.set(arvalid, offering[2]);
                if offering[0] {
                    dut.set(awaddr, writes[aw].0);
                }
                if offering[1] {
                    dut.set(wdata, writes[w].1);
                    dut.set(wstrb, 0xFu64);
                }
                if offering[2] {
                    dut.set(araddr, reads[ar]);
                }
                dut.set(bready, open[3]);
                dut.set(rready, open[4]);
                dut.clock();
                let moved = |valid, ready| dut.sampled(valid) != 0 && dut.sampled(ready) != 0;
                if dut.sampled(bvalid) != 0 {
                    assert!(b < aw && b < w, "a write was answered before both halves came");
                    let answer = dut.sampled(bresp);
                    assert_eq!(answer == 0, writes[b].0 != 0x14, "write {b}");
                    assert_eq!(*held_b.get_or_insert(answer), answer, "an answer changed");
                } else {
                    assert!(held_b.is_none(), "bvalid fell before bready");
                }
                if dut.sampled(rvalid) != 0 {
                    assert!(r < ar, "a read was answered before it came");
                    let answer = (dut.sampled(rdata), dut.sampled(rresp));
                    let expected = match reads[r] {
                        0x18 => (0, 2),
                        0 => (regs::MAGIC_VALUE.into(), 0),
                        _ => (regs::MPL.reset.into(), 0),
                    };
                    assert_eq!(answer, expected, "read {r}");
                    assert_eq!(*held_r.get_or_insert(answer), answer, "an answer changed");
                } else {
                    assert!(held_r.is_none(), "rvalid fell before rready");
                }
                if moved(bvalid, bready) {
                    b += 1;
                    held_b = None;
                }
                if moved(rvalid, rready) {
                    r += 1;
                    held_r = None;
                }
                for (i, (valid, ready, count)) in
                    [(awvalid, awready, &mut aw), (wvalid, wready, &mut w), (arvalid, arready, &mut ar)]
                        .into_iter()
                        .enumerate()
                {
                    if moved(valid, ready) {
                        *count += 1;
                        offering[i] = false;
                    }
                }
            }
            // The last write of each register is what is left.
            for valid in [awvalid, wvalid, arvalid] {
                dut.set(valid, 0u64);
            }
            dut.clock_by(4);
            let last = |address| writes.iter().rev().find(|(at, _)| *at == address).unwrap().1;
            let settings = |field: &str| dut.get(dut.port(&format!("settings.{field}")).unwrap());
            assert_eq!(settings("rto"), u64::from(last(regs::RTO.offset) & 0xFF_FFFF));
            assert_eq!(settings("seed"), u64::from(last(regs::SEED.offset)).max(1));
        });
    }
}

/// Back to back, the pulses keep the distance that the blocks rely on.
#[test]
fn broadcasts_keep_four_clocks_apart() {
    tb::run("registers::spacing", &design(&SMALL), |dut, rng| {
        let mut bench = Bench::new(dut).until_ready();
        let port = |name: &str| bench.dut.port(&format!("s_axil_{name}")).unwrap();
        let [awaddr, awvalid, awready, wdata, wstrb, wvalid, bready] =
            ["awaddr", "awvalid", "awready", "wdata", "wstrb", "wvalid", "bready"].map(port);
        bench.dut.set(awvalid, 1u64);
        bench.dut.set(wvalid, 1u64);
        bench.dut.set(wstrb, 0xFu64);
        bench.dut.set(bready, 1u64);
        let (mut address, mut data) = (regs::doorbell_page(3), 5);
        let mut writes = 0;
        for _ in 0..400 {
            bench.dut.set(awaddr, address);
            bench.dut.set(wdata, data);
            cycle(bench.dut, &mut [&mut bench.watcher]);
            if bench.dut.sampled(awready) != 0 {
                writes += 1;
                (address, data) = match rng.below(2) {
                    0 => (regs::doorbell_page(rng.below(32) as u32), rng.bits(16) as u32),
                    _ => (regs::TABLE_COMMAND.offset, 1 << 31 | rng.below(32) as u32),
                };
            }
        }
        let seen = &bench.watcher.seen;
        let mut clocks: Vec<u64> =
            seen.bells.iter().map(|b| b.0).chain(seen.tables.iter().map(|t| t.0)).collect();
        clocks.sort_unstable();
        assert!(clocks.windows(2).all(|pair| pair[1] - pair[0] >= 4), "{clocks:?}");
        assert!(clocks.len() + 2 >= writes && writes >= 98, "{writes} writes in 400 clocks");
    });
}

/// The clocks that the block promises.
#[test]
fn answers_come_in_the_promised_time() {
    tb::run("registers::latency", &design(&SMALL), |dut, _| {
        let bench = Bench::new(dut).until_ready();
        let dut = bench.dut;
        let port = |name: &str| dut.port(&format!("s_axil_{name}")).unwrap();
        let [awvalid, wvalid, wstrb, bvalid, bready] =
            ["awvalid", "wvalid", "wstrb", "bvalid", "bready"].map(port);
        let [arvalid, rvalid, rready, araddr] = ["arvalid", "rvalid", "rready", "araddr"].map(port);
        dut.set(bready, 1u64);
        dut.set(rready, 1u64);
        dut.set(wstrb, 0xFu64);
        let after = |dut: &mut Dut, valids: &[PortId], answer: PortId| {
            for valid in valids {
                dut.set(*valid, 1u64);
            }
            dut.clock();
            for valid in valids {
                dut.set(*valid, 0u64);
            }
            let begin = dut.cycles();
            while dut.sampled(answer) == 0 {
                dut.clock();
                assert!(dut.cycles() - begin < 100);
            }
            dut.cycles() - begin
        };
        assert_eq!(after(dut, &[awvalid, wvalid], bvalid), 4);
        assert_eq!(after(dut, &[arvalid], rvalid), 3);
        let mut slowest = 0;
        for i in 0..200 {
            dut.set(araddr, regs::counter(i % 64));
            slowest = slowest.max(after(dut, &[arvalid], rvalid));
            dut.clock_by(u64::from(i % 7));
        }
        assert!(slowest <= 70, "{slowest}");
    });
}
