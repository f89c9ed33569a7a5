//! `multipath::PathScheduler` against section 6 of the specification.

use std::collections::BTreeMap;

use tessera_abi::params::{destination_hash, LFSR_MASK, NIC512, NIC64};
use tessera_abi::regs::table;
use tessera_rtl::multipath::PathScheduler;
use tessera_sim::tb::{self, Rng};
use tessera_sim::verilator::{Design, Dut};

const SINGLE: u64 = 0;
const ROUND_ROBIN: u64 = 1;
const RANDOM: u64 = 2;
const RECYCLE: u64 = 3;
const WEIGHTED: u64 = 4;

const NEW: u64 = 0;
const AGAIN: u64 = 1;
const PROBE: u64 = 2;
const FEEDBACK: u64 = 3;

/// Uses per clean echo, and values per destination.
const USES: u64 = 32;
const RING: usize = 8;

fn design() -> Design {
    tessera_testbenches::design("path_scheduler", || PathScheduler::new(&NIC512))
}

fn set(dut: &mut Dut, name: &str, value: u64) {
    let port = dut.port(name).unwrap();
    dut.set(port, value);
}

fn set_gid(dut: &mut Dut, name: &str, gid: u128) {
    let port = dut.port(name).unwrap();
    dut.set_wide(port, &[gid as u64, (gid >> 64) as u64]);
}

/// Enables the block with a policy; the rings are empty when it returns.
fn enable(dut: &mut Dut, policy: u64, count: u64, base: u64, seed: u64) {
    for (name, value) in [
        ("rst", 1),
        ("take", 0),
        ("echo.valid", 0),
        ("table_write.valid", 0),
        ("settings.enable", 0),
        ("settings.path_policy", policy),
        ("settings.path_count", count),
        ("settings.path_base", base),
        ("settings.seed", seed),
    ] {
        set(dut, name, value);
    }
    dut.clock_by(2);
    set(dut, "rst", 0);
    dut.clock_by(2);
    set(dut, "settings.enable", 1);
    dut.clock_by(2);
    if policy == RECYCLE {
        dut.clock_by(1030);
    }
    if policy == WEIGHTED {
        while dut.get(dut.port("ready").unwrap()) == 0 {
            dut.clock();
        }
    }
}

/// What a packet was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    ev: u64,
    asks: bool,
}

/// A packet takes its value; it is told in the next clock, and the same as long
/// as no other takes one.
fn take_to(dut: &mut Dut, gid: u128, kind: u64, pause: u64) -> Told {
    set(dut, "take", 1);
    set_gid(dut, "gid", gid);
    set(dut, "kind", kind);
    dut.clock();
    set(dut, "take", 0);
    set(dut, "echo.valid", 0);
    set_gid(dut, "gid", !gid);
    let (ev, asks) = (dut.port("ev").unwrap(), dut.port("asks").unwrap());
    let mut told = Vec::new();
    for _ in 0..1 + pause {
        dut.clock();
        told.push(Told { ev: dut.sampled(ev), asks: dut.sampled(asks) == 1 });
    }
    assert!(told.iter().all(|&other| other == told[0]), "{told:?}");
    told[0]
}

fn take(dut: &mut Dut, pause: u64) -> u64 {
    take_to(dut, 1, NEW, pause).ev
}

fn pause(rng: &mut Rng) -> u64 {
    *rng.pick(&[0, 0, 0, 1, 5])
}

fn drawn(lfsr: u32, count: u64) -> u64 {
    (u64::from(lfsr & 0xFFFF) * count) >> 16
}

fn step(lfsr: u32) -> u32 {
    (lfsr >> 1) ^ if lfsr & 1 == 1 { LFSR_MASK } else { 0 }
}

/// Rounds of `count`, each from an offset drawn at the end of the one before.
struct Rounds {
    lfsr: u32,
    turn: u64,
    offset: u64,
    count: u64,
}

impl Rounds {
    fn new(seed: u64, count: u64) -> Self {
        Rounds { lfsr: seed as u32, turn: 0, offset: 0, count }
    }

    /// The next place, and the LFSR it was seen with.
    fn next(&mut self) -> (u64, u32) {
        let (place, lfsr) = ((self.turn + self.offset) % self.count, self.lfsr);
        self.turn += 1;
        if self.turn == self.count {
            (self.turn, self.offset) = (0, drawn(lfsr, self.count));
        }
        self.lfsr = step(lfsr);
        (place, lfsr)
    }
}

#[test]
fn every_policy_gives_its_sequence() {
    tb::run("path_scheduler::policies", &design(), |dut, rng| {
        for count in [1, 2, 3, 4, 7, 100, 255, 256] {
            let (base, seed) = (rng.bits(8), rng.bits(32).max(1));
            enable(dut, SINGLE, count, base, seed);
            (0..20).for_each(|_| assert_eq!(take(dut, pause(rng)), base, "single"));
            enable(dut, ROUND_ROBIN, count, base, seed);
            let mut rounds = Rounds::new(seed, count);
            for turn in 0..5 * count {
                let k = rounds.next().0;
                assert_eq!(take(dut, pause(rng)), (base + k) % 256, "turn {turn} of {count}");
            }
            enable(dut, RANDOM, count, base, seed);
            let mut lfsr = seed as u32;
            for _ in 0..500 {
                let k = drawn(lfsr, count);
                assert_eq!(take(dut, pause(rng)), (base + k) % 256, "random of {count}");
                lfsr = step(lfsr);
            }
        }
    });
}

/// Tries that are whole rounds apart do not keep to one path.
#[test]
fn a_period_of_rounds_visits_every_path() {
    tb::run("path_scheduler::period", &design(), |dut, rng| {
        for count in [2, 4, 5] {
            enable(dut, ROUND_ROBIN, count, 0, rng.bits(32).max(1));
            let mut seen = [0; 5];
            for _ in 0..100 {
                seen[take(dut, 0) as usize] += 1;
                (1..count).for_each(|_| {
                    take(dut, 0);
                });
            }
            assert!(seen.iter().take(count as usize).all(|&times| times > 5), "{seen:?} of {count}");
        }
    });
}

/// A seed of 0 would be the end of randomness; 1 is taken instead.
#[test]
fn a_seed_of_zero_does_not_stick() {
    tb::run("path_scheduler::zero", &design(), |dut, _| {
        enable(dut, RANDOM, 256, 0, 0);
        let drawn: std::collections::BTreeSet<u64> = (0..200).map(|_| take(dut, 0)).collect();
        assert!(drawn.len() > 50, "{} values", drawn.len());
    });
}

/// The policy and its numbers may change at any time.
#[test]
fn settings_change_in_flight() {
    tb::run("path_scheduler::change", &design(), |dut, rng| {
        enable(dut, ROUND_ROBIN, 200, 10, 1);
        (0..150).for_each(|_| {
            take(dut, 0);
        });
        set(dut, "settings.path_count", 8);
        set(dut, "settings.path_base", 40);
        dut.clock_by(2);
        for _ in 0..100 {
            let ev = take(dut, pause(rng));
            assert!((40..48).contains(&ev), "{ev} is no path of the new set");
        }
        set(dut, "settings.path_policy", SINGLE);
        dut.clock_by(2);
        assert_eq!(take(dut, 0), 40);
    });
}

fn write_place(dut: &mut Dut, table: u64, place: u64, k: u64) {
    for (name, value) in [("table_write.table", table), ("table_write.index", place)] {
        set(dut, name, value);
    }
    let port = dut.port("table_write.entry").unwrap();
    dut.set_wide(port, &[k | 0xA5 << 8, 0xFF, 0, 0, 0, 0, 0, 0]);
    set(dut, "table_write.valid", 1);
    dut.clock();
    set(dut, "table_write.valid", 0);
}

/// Every round of 256 goes through all places, from an offset of its own.
#[test]
fn weighted_goes_through_its_places() {
    tb::run("path_scheduler::weighted", &design(), |dut, rng| {
        let (base, seed) = (rng.bits(8), rng.bits(32).max(1));
        enable(dut, WEIGHTED, rng.range(1..257), base, seed);
        let mut places = [0u64; 256];
        let mut rounds = Rounds::new(seed, 256);
        for turn in 0..4 * 256 {
            if turn == 3 || turn == 500 {
                for place in 0..256 {
                    places[place as usize] = rng.bits(8);
                    write_place(dut, table::PATH.into(), place, places[place as usize]);
                    write_place(dut, table::MR.into(), place, rng.bits(8));
                }
                dut.clock_by(2);
            }
            let k = places[rounds.next().0 as usize];
            assert_eq!(take(dut, pause(rng)), (base + k) % 256, "turn {turn}");
        }
    });
}

/// The rings, as section 6 of the specification has them.
struct Recycle {
    rounds: Rounds,
    base: u64,
    /// Per destination: values and their uses left, first to last.
    rings: BTreeMap<usize, Vec<(u64, u64)>>,
    recycled: u64,
    explored: u64,
}

impl Recycle {
    fn new(seed: u64, count: u64, base: u64) -> Self {
        let rounds = Rounds::new(seed, count);
        Recycle { rounds, base, rings: BTreeMap::new(), recycled: 0, explored: 0 }
    }

    fn take(&mut self, gid: u128, kind: u64) -> Told {
        let (k, lfsr) = self.rounds.next();
        let fresh = Told { ev: (self.base + k) % 256, asks: kind == NEW || kind == AGAIN };
        let ring = self.rings.entry(destination_hash(gid.to_be_bytes())).or_default();
        let room = ring.len() < RING.min(self.rounds.count as usize);
        if kind == NEW && room && (lfsr >> 16) & 0x3F == 0 {
            self.explored += u64::from(!ring.is_empty());
            return fresh;
        }
        if ring.is_empty() {
            return fresh;
        }
        self.recycled += 1;
        let (ev, uses) = ring.remove(0);
        if uses > 1 && kind != PROBE {
            ring.push((ev, uses - 1));
        }
        Told { ev, asks: kind < PROBE && (uses == 8 || uses == 16) }
    }

    fn echo(&mut self, gid: u128, ev: u64, ce: bool) {
        if (ev + 256 - self.base) % 256 >= self.rounds.count {
            return;
        }
        let ring = self.rings.entry(destination_hash(gid.to_be_bytes())).or_default();
        if ce {
            ring.retain(|held| held.0 != ev);
        } else if let Some(held) = ring.iter_mut().find(|held| held.0 == ev) {
            held.1 = USES;
        } else if ring.len() < RING {
            ring.push((ev, USES));
        }
    }
}

fn put_echo(dut: &mut Dut, gid: u128, ev: u64, ce: bool) {
    set(dut, "echo.valid", 1);
    set(dut, "echo.ev", ev);
    set(dut, "echo.ce", ce.into());
    set_gid(dut, "echo.gid", gid);
}

/// An echo with nothing beside it.
fn echo(dut: &mut Dut, gid: u128, ev: u64, ce: bool) {
    put_echo(dut, gid, ev, ce);
    dut.clock();
    set(dut, "echo.valid", 0);
    dut.clock_by(3);
}

/// Random packets and echoes, few destinations that share rings, few values.
#[test]
fn recycle_keeps_what_comes_back() {
    tb::run("path_scheduler::recycle", &design(), |dut, rng| {
        let (mut recycled, mut explored) = (0, 0);
        for count in [1, 2, 4, 7, 8, 9, 30, 256] {
            let (base, seed) = (rng.bits(8), rng.bits(32).max(1));
            enable(dut, RECYCLE, count, base, seed);
            let mut reference = Recycle::new(seed, count, base);
            // The second shares the first one's ring; the last differs from the third high up.
            let first = 0xFFFF_0A00_0001u128;
            let gids = [first, first ^ (1 << 90 | 1 << 100), 7 << 64, 7 << 64 | 1 << 120];
            let share = *rng.pick(&[1, 4, 20]);
            for turn in 0..1200 {
                if rng.below(share) == 0 {
                    let (gid, ce) = (*rng.pick(&gids), rng.below(8) == 0);
                    let near = if rng.below(2) == 0 { count.min(6) } else { count + 2 };
                    let ev = (base + rng.below(near)) % 256;
                    reference.echo(gid, ev, ce);
                    // The next packet's ring is read in the clock behind the echo's at the earliest.
                    put_echo(dut, gid, ev, ce);
                    dut.clock();
                    set(dut, "echo.valid", 0);
                    dut.clock_by(rng.range(1..4));
                }
                let gid = *rng.pick(&gids);
                let kind = *rng.pick(&[NEW, NEW, NEW, NEW, AGAIN, FEEDBACK, FEEDBACK, PROBE]);
                let told = take_to(dut, gid, kind, pause(rng));
                assert_eq!(told, reference.take(gid, kind), "turn {turn} of {count}, kind {kind}");
            }
            recycled += reference.recycled;
            explored += reference.explored;
        }
        assert!(recycled > 2000 && explored > 10, "{recycled} recycled, {explored} explored");
    });
}

/// Without rings the values are those of `round_robin`, whatever comes back, and nothing asks.
#[test]
fn without_rings_nothing_comes_back() {
    let design = tessera_testbenches::design("path_scheduler_without", || PathScheduler::new(&NIC64));
    tb::run("path_scheduler::without", &design, |dut, rng| {
        let (count, base, seed) = (9, rng.bits(8), rng.bits(32).max(1));
        let mut told = [ROUND_ROBIN, RECYCLE].map(|policy| {
            enable(dut, policy, count, base, seed);
            let gid = 7 << 64;
            let values: Vec<_> = (0..200)
                .map(|k| {
                    echo(dut, gid, (base + k % count) % 256, false);
                    take_to(dut, gid, NEW, 2)
                })
                .collect();
            values
        });
        let [turns, recycled] = &mut told;
        assert_eq!(turns, recycled);
        assert!(turns.iter().any(|told| told != &turns[0]));
    });
}

/// Packets every second clock, and an echo in either of the two: the second
/// packet after it takes its value, at the latest.
#[test]
fn echoes_and_packets_share_the_rings() {
    tb::run("path_scheduler::share", &design(), |dut, rng| {
        enable(dut, RECYCLE, 200, 0, 1);
        for round in 0..200u64 {
            // A ring of its own each round; sometimes not empty.
            let gid = u128::from(round) + 1;
            let others: Vec<u64> = (0..rng.below(3)).map(|i| 100 + i).collect();
            others.iter().for_each(|&ev| echo(dut, gid, ev, false));
            (0..rng.below(3)).for_each(|_| {
                take_to(dut, gid, AGAIN, 0);
            });
            let ev = rng.below(100);
            if rng.below(2) == 0 {
                put_echo(dut, gid, ev, false);
                take_to(dut, gid, AGAIN, 0);
            } else {
                set(dut, "take", 1);
                set_gid(dut, "gid", gid);
                dut.clock();
                set(dut, "take", 0);
                put_echo(dut, gid, ev, false);
                dut.clock();
                set(dut, "echo.valid", 0);
            }
            // The first may come too early to be told of it.
            take_to(dut, gid, AGAIN, 0);
            let told: Vec<u64> = (0..=others.len()).map(|_| take_to(dut, gid, AGAIN, 0).ev).collect();
            assert_eq!(told.iter().filter(|&&told| told == ev).count(), 1, "round {round}: {told:?}");
        }
    });
}

/// Echoes every third clock beside packets every second: each keeps its own value.
#[test]
fn echoes_in_a_row_keep_their_values() {
    tb::run("path_scheduler::row", &design(), |dut, rng| {
        enable(dut, RECYCLE, 200, 0, 1);
        for round in 0..100u64 {
            let gid = u128::from(round) + 1;
            let values: Vec<u64> = (0..3).map(|i| 10 * i + rng.below(10)).collect();
            let odd = rng.below(2);
            set_gid(dut, "gid", 0xFFFF);
            for clock in 0..12 {
                set(dut, "take", u64::from(clock % 2 == odd));
                set(dut, "echo.valid", 0);
                if clock % 3 == 0 && clock < 9 {
                    put_echo(dut, gid, values[clock as usize / 3], false);
                }
                dut.clock();
            }
            set(dut, "take", 0);
            dut.clock();
            let told: Vec<u64> = (0..3).map(|_| take_to(dut, gid, AGAIN, 0).ev).collect();
            assert_eq!(told, values, "round {round}");
        }
    });
}

/// A packet right behind the echo that fills its ring looks for no further path.
#[test]
fn a_ring_just_filled_is_full() {
    tb::run("path_scheduler::filled", &design(), |dut, rng| {
        let gid = 0xFFFF_0A00_0001;
        enable(dut, RECYCLE, 1, 0, rng.bits(32).max(1));
        for turn in 0..1500 {
            put_echo(dut, gid, 0, false);
            dut.clock();
            set(dut, "echo.valid", 0);
            dut.clock();
            assert!(!take_to(dut, gid, NEW, 0).asks, "turn {turn}");
            take_to(dut, gid, PROBE, 0);
        }
    });
}

/// A packet right behind the last use of a value finds its ring with room, and looks for a further path.
#[test]
fn a_ring_that_lost_a_value_has_room() {
    tb::run("path_scheduler::room", &design(), |dut, rng| {
        let (gid, other) = (0xFFFF_0A00_0001, 0xFFFF_0A00_0002);
        let seed = rng.bits(32).max(1);
        enable(dut, RECYCLE, 2, 0, seed);
        let mut reference = Recycle::new(seed, 2, 0);
        let told = |dut: &mut Dut, reference: &mut Recycle, gid, kind, pause| {
            let expected = reference.take(gid, kind);
            assert_eq!(take_to(dut, gid, kind, pause), expected, "kind {kind}");
        };
        for turn in 1..=20 {
            for ev in [0, 1] {
                reference.echo(gid, ev, false);
                echo(dut, gid, ev, false);
            }
            (0..2 * USES - 2).for_each(|_| told(dut, &mut reference, gid, AGAIN, 0));
            // Until the packet after the next would look for one.
            while step(reference.rounds.lfsr) >> 16 & 0x3F != 0 {
                told(dut, &mut reference, other, AGAIN, 0);
            }
            told(dut, &mut reference, gid, AGAIN, 0);
            told(dut, &mut reference, gid, NEW, turn % 3);
            assert_eq!(reference.explored, turn);
            told(dut, &mut reference, gid, PROBE, 0);
        }
    });
}

/// A value goes when its uses are over, asks twice before, and PROBEs take it
/// out; FEEDBACK never asks.
#[test]
fn uses_are_counted_to_the_end() {
    tb::run("path_scheduler::uses", &design(), |dut, _| {
        let gid = 0xFFFF_0A00_0001;
        enable(dut, RECYCLE, 200, 0, 1);
        echo(dut, gid, 150, false);
        let asked: Vec<u64> = (0..USES)
            .filter(|&turn| {
                let told = take_to(dut, gid, AGAIN, 0);
                assert_eq!(told.ev, 150, "use {turn}");
                told.asks
            })
            .collect();
        assert_eq!(asked, [16, 24]);
        assert!(take_to(dut, gid, AGAIN, 0).asks, "unproven");
        assert!(!take_to(dut, gid, FEEDBACK, 0).asks && !take_to(dut, gid, PROBE, 0).asks);
        echo(dut, gid, 151, false);
        assert_eq!(take_to(dut, gid, PROBE, 0), Told { ev: 151, asks: false });
        assert!(take_to(dut, gid, AGAIN, 0).asks, "a PROBE took 151 out");
    });
}

/// What was known goes with another range of values, and with a new start.
#[test]
fn another_range_empties_the_rings() {
    tb::run("path_scheduler::range", &design(), |dut, _| {
        let gid = 0xFFFF_0A00_0001;
        for (name, value) in [("settings.path_count", 100), ("settings.path_base", 1), ("settings.enable", 0)]
        {
            enable(dut, RECYCLE, 200, 0, 1);
            echo(dut, gid, 50, false);
            assert_eq!(take_to(dut, gid, AGAIN, 0), Told { ev: 50, asks: false });
            set(dut, name, value);
            dut.clock_by(3);
            set(dut, "settings.enable", 1);
            dut.clock_by(3);
            // Nothing is kept while the rings empty, in none of them.
            (0..240).for_each(|_| echo(dut, gid, 60, false));
            assert!(take_to(dut, gid, AGAIN, 0).asks, "{name}");
            dut.clock_by(1030);
            for gid in gid..gid + 100 {
                assert!(take_to(dut, gid, AGAIN, 0).asks, "{name}");
            }
            echo(dut, gid, 61, false);
            assert_eq!(take_to(dut, gid, AGAIN, 0), Told { ev: 61, asks: false });
        }
        // A value that is none of this NIC's is never kept.
        echo(dut, gid, 250, false);
        enable(dut, ROUND_ROBIN, 200, 0, 1);
        assert!(!take_to(dut, gid, AGAIN, 0).asks, "only recycle asks");
    });
}

/// Every packet and every echo is counted, under its own value.
#[test]
fn use_is_reported() {
    tb::run("path_scheduler::tally", &design(), |dut, rng| {
        enable(dut, RECYCLE, 256, 0, 1);
        let names = ["used.sent", "used.sent_ev", "used.clean", "used.ce", "used.echo_ev", "recycled"];
        let ports = names.map(|name| dut.port(name).unwrap());
        let (ev_port, asks_port) = (dut.port("ev").unwrap(), dut.port("asks").unwrap());
        let (mut seen, mut expected) = (BTreeMap::<(char, u64), u64>::new(), BTreeMap::new());
        let (mut recycled, mut silent, mut took) = (0, 0, false);
        set(dut, "kind", NEW);
        set_gid(dut, "gid", 5);
        for turn in 0..6000u64 {
            let last = turn >= 5990;
            let taking = !took && !last && rng.below(3) != 0;
            set(dut, "take", taking.into());
            set(dut, "echo.valid", 0);
            if turn % 5 == 0 && !last && rng.below(2) == 0 {
                let (ev, ce) = (rng.bits(8), rng.below(3) == 0);
                put_echo(dut, 5, ev, ce);
                *expected.entry((if ce { 'e' } else { 'c' }, ev)).or_default() += 1;
            }
            dut.clock();
            let [sent, sent_ev, clean, ce, echo_ev, came_back] = ports.map(|port| dut.sampled(port));
            for (kind, pulse, ev) in [('s', sent, sent_ev), ('c', clean, echo_ev), ('e', ce, echo_ev)] {
                *seen.entry((kind, ev)).or_default() += pulse;
            }
            recycled += came_back;
            if took {
                *expected.entry(('s', dut.sampled(ev_port))).or_default() += 1;
                silent += u64::from(dut.sampled(asks_port) == 0);
            }
            took = taking;
        }
        seen.retain(|_, count| *count > 0);
        assert_eq!(seen, expected);
        // Two in thirty-two of those that came back ask again.
        assert!(silent > 500 && recycled >= silent && recycled < silent + silent / 4, "{recycled} {silent}");
    });
}
