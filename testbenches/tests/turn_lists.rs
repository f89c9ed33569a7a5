//! `tx::TurnLists`: whose turn it is to send. Rule TX-17, and who goes on of TX-8.

use std::collections::VecDeque;
use tessera_model::turns::{Turns, LISTS};
use tessera_rtl::tx::TurnLists;
use tessera_sim::tb::{self, Rng};
use tessera_sim::verilator::{Design, Dut, PortId};

const SLOTS_LOG2: usize = 5;
const SLOTS: u64 = 1 << SLOTS_LOG2;

fn design() -> Design {
    tessera_testbenches::design("turn_lists", || TurnLists::new(SLOTS_LOG2, true))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Push {
    slot: u64,
    list: usize,
    on: bool,
}

/// What the block is to do, clock by clock: the rule is the model's.
#[derive(Default)]
struct Expected {
    turns: Turns<u64>,
    ahead: VecDeque<u64>,
    /// The list that a head is offered of.
    offered: Option<usize>,
    /// Pushed in the last clock: the choice does not know of it yet.
    late: Option<(usize, u64)>,
}

impl Expected {
    fn head(&self) -> Option<u64> {
        self.ahead.front().copied().or_else(|| self.turns.head(self.offered?))
    }

    fn clock(&mut self, push: Option<Push>, take: bool) {
        let room_ahead = self.ahead.len() < 2 || take;
        let mut taken = false;
        if take && self.ahead.pop_front().is_none() {
            if let Some(list) = self.offered {
                assert_eq!(self.turns.choose(), Some(list));
                self.turns.pop(list).unwrap();
                taken = true;
            }
        }
        if let Some((list, slot)) = self.late.take() {
            self.turns.push(list, slot);
        }
        self.offered = if taken { None } else { self.turns.next() };
        let Some(Push { slot, list, on }) = push else { return };
        if on && room_ahead {
            self.ahead.push_back(slot);
        } else if self.turns.is_empty() {
            self.turns.push(list, slot);
            self.offered = Some(list);
        } else {
            self.late = Some((list, slot));
        }
    }
}

struct Bench<'a> {
    dut: &'a mut Dut,
    rst: PortId,
    push: [PortId; 4],
    take: PortId,
    head_valid: PortId,
    head_slot: PortId,
    expected: Expected,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut) -> Self {
        let port = |name: &str| dut.port(name).unwrap();
        let mut bench = Bench {
            rst: port("rst"),
            push: ["push", "push_slot", "push_list", "push_on"].map(port),
            take: port("take"),
            head_valid: port("head_valid"),
            head_slot: port("head_slot"),
            expected: Expected::default(),
            dut,
        };
        bench.reset();
        bench
    }

    /// One clock is enough, whatever else is asked for in it.
    fn reset(&mut self) {
        self.dut.set(self.rst, 1u64);
        self.dut.clock();
        self.dut.set(self.rst, 0u64);
        self.expected = Expected::default();
        self.compare();
    }

    #[track_caller]
    fn compare(&mut self) {
        let head = self.head();
        assert_eq!(head, self.expected.head(), "head in clock {}", self.dut.cycles());
    }

    fn head(&self) -> Option<u64> {
        self.dut.is_high(self.head_valid).then(|| self.dut.get(self.head_slot))
    }

    /// A clock, and whom it took.
    #[track_caller]
    fn clock(&mut self, push: Option<Push>, take: bool) -> Option<u64> {
        let taken = self.head().filter(|_| take);
        // Without a push the rest means nothing.
        let Push { slot, list, on } = push.unwrap_or(Push { slot: 3, list: 5, on: true });
        let inputs = [u64::from(push.is_some()), slot, list as u64, u64::from(on)];
        for (port, value) in self.push.into_iter().zip(inputs) {
            self.dut.set(port, value);
        }
        self.dut.set(self.take, take);
        self.dut.clock();
        self.expected.clock(push, take);
        self.compare();
        taken
    }

    #[track_caller]
    fn comes(&mut self, list: usize, slot: u64) {
        self.clock(Some(Push { slot, list, on: false }), false);
    }

    /// The next one, who comes back to `list` in the same clock.
    #[track_caller]
    fn turn(&mut self, list: impl Fn(u64) -> Option<Push>) -> u64 {
        for _ in 0..3 {
            if self.head().is_some() {
                break;
            }
            self.clock(None, false);
        }
        let head = self.head().expect("three clocks after a take");
        self.clock(list(head), true);
        head
    }
}

/// The order as the rule says it, by hand.
//= TX-17 test
#[test]
fn tx17_the_lowest_has_three_turns_of_four_and_the_others_go_round() {
    tb::run("turn_lists::three_of_four", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        let list = |slot: u64| slot as usize / 4;
        let back = |slot: u64| Some(Push { slot, list: list(slot), on: false });
        for slot in [12, 4, 5, 20, 28] {
            bench.comes(list(slot), slot);
        }
        bench.clock(None, false);
        bench.clock(None, false);
        let order: Vec<u64> = (0..20).map(|_| bench.turn(back)).collect();
        assert_eq!(order, [4, 5, 4, 12, 5, 4, 5, 20, 4, 5, 4, 28, 5, 4, 5, 12, 4, 5, 4, 20]);
        // The two of the lowest leave: another is it, and the turn of the others went on.
        let mut left = Vec::new();
        while !bench.expected.turns.is_empty() {
            left.push(bench.turn(|_| None));
        }
        assert_eq!(left, [5, 4, 12, 28, 20]);
        assert_eq!(bench.head(), None);
    });
}

/// A list alone has every turn; who comes then has the turn that was saved up.
//= TX-17 test
#[test]
fn tx17_a_list_alone_has_every_turn() {
    tb::run("turn_lists::alone", &design(), |dut, _| {
        for list in 0..LISTS {
            let bench = &mut Bench::new(dut);
            let back = |slot: u64| Some(Push { slot, list, on: false });
            for slot in [7, 9] {
                bench.comes(list, slot);
            }
            let order: Vec<u64> = (0..8).map(|_| bench.turn(back)).collect();
            assert_eq!(order, [7, 9, 7, 9, 7, 9, 7, 9]);
            let other = (list + 3) % LISTS;
            bench.comes(other, 30);
            bench.clock(None, false);
            bench.clock(None, false);
            // Three of the list in a row were before, whichever of them is the lowest.
            let first = bench.turn(|_| None);
            assert_eq!(first, if other > list { 30 } else { 7 }, "{list} {other}");
        }
    });
}

/// Who goes on goes before all, and no list pays for it.
//= TX-17 test
//= TX-8 test
#[test]
fn tx17_who_goes_on_is_before_the_lists_and_their_count() {
    tb::run("turn_lists::on", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        for (list, slot) in [(1, 10), (1, 11), (1, 12), (1, 13), (6, 20), (7, 21)] {
            bench.comes(list, slot);
        }
        let mut order = Vec::new();
        for turn in 0..6 {
            for on in 0..2 {
                bench.clock(Some(Push { slot: 24 + on, list: 0, on: true }), false);
            }
            for _ in 0..2 {
                assert!(bench.turn(|_| None) >= 24, "turn {turn}");
            }
            order.push(bench.turn(|_| None));
        }
        assert_eq!(order, [10, 11, 12, 20, 13, 21]);
        // A third has no place there, unless one leaves in that clock, and waits as any other.
        for (slot, on) in [(1, false), (2, true), (3, true), (4, true)] {
            bench.clock(Some(Push { slot, list: 2, on }), false);
        }
        let fifth = Push { slot: 5, list: 3, on: true };
        assert_eq!(bench.clock(Some(fifth), true), Some(2));
        let rest: Vec<u64> = (0..4).map(|_| bench.turn(|_| None)).collect();
        assert_eq!(rest, [3, 5, 1, 4]);
    });
}

/// The contract's clocks.
#[test]
fn clocks_are_as_documented() {
    tb::run("turn_lists::clocks", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        // Alone: the next clock, also in the clock in which the last one leaves.
        bench.comes(4, 1);
        assert_eq!(bench.head(), Some(1));
        bench.clock(Some(Push { slot: 2, list: 6, on: false }), true);
        assert_eq!(bench.head(), Some(2));
        bench.clock(None, true);
        assert_eq!(bench.head(), None);
        // Else two clocks after the take.
        for slot in 1..=6 {
            bench.comes(slot as usize % 2, slot);
        }
        for _ in 0..5 {
            bench.clock(None, true);
            assert_eq!(bench.head(), None);
            bench.clock(None, true);
            assert!(bench.head().is_some());
        }
        // Who is to go before the head does so two clocks after he came.
        let waits = bench.head();
        bench.clock(None, true);
        bench.comes(5, 7);
        assert_eq!((waits.is_some(), bench.head()), (true, Some(7)));
        bench.comes(2, 8);
        assert_eq!(bench.head(), Some(7));
        bench.clock(None, false);
        // The others' turn, after more than three of the lowest.
        assert_eq!(bench.head(), Some(7));
        bench.clock(None, true);
        bench.clock(None, false);
        bench.comes(1, 9);
        assert_eq!(bench.head(), Some(8));
        bench.clock(None, false);
        assert_eq!(bench.head(), Some(9));
        // Who goes on, in the next clock.
        bench.clock(Some(Push { slot: 10, list: 0, on: true }), false);
        assert_eq!(bench.head(), Some(10));
    });
}

/// Every slot waits at once, in one list or in all.
#[test]
fn every_slot_has_a_place() {
    tb::run("turn_lists::full", &design(), |dut, rng| {
        for lists in [1, 2, LISTS as u64] {
            let bench = &mut Bench::new(dut);
            for slot in 0..SLOTS {
                bench.comes(rng.below(lists) as usize, slot);
            }
            let mut order: Vec<u64> = (0..SLOTS).map(|_| bench.turn(|_| None)).collect();
            if lists == 1 {
                assert!(order.is_sorted(), "a list is served in the order in which its slots came");
            }
            order.sort_unstable();
            assert_eq!(order, (0..SLOTS).collect::<Vec<_>>());
            assert_eq!(bench.head(), None);
        }
    });
}

/// Any traffic, compared in every clock, and resets in the middle of it.
//= TX-17 test
#[test]
fn tx17_random_slots_come_and_go() {
    tb::run("turn_lists::random", &design(), |dut, rng: &mut Rng| {
        let bench = &mut Bench::new(dut);
        for _ in 0..60 {
            bench.reset();
            let mut outside: Vec<u64> = (0..SLOTS).collect();
            // Few that wait, or many; few lists or all; the head taken at once or late.
            let [comes, takes, on] = [0.1, 0.5, 0.95].map(|_| *rng.pick(&[0.05, 0.2, 0.5, 0.9, 1.0]));
            let lists: Vec<usize> = (0..rng.range(1..9)).map(|_| rng.below(8) as usize).collect();
            for _ in 0..1500 {
                let push = (!outside.is_empty() && rng.chance(comes)).then(|| {
                    let slot = outside.swap_remove(rng.below(outside.len() as u64) as usize);
                    Push { slot, list: *rng.pick(&lists), on: rng.chance(on * 0.3) }
                });
                let take = rng.chance(takes);
                if let Some(taken) = bench.clock(push, take) {
                    outside.push(taken);
                }
            }
            // Nobody is lost.
            let mut rest = SLOTS as usize - outside.len();
            while rest > 0 {
                bench.turn(|_| None);
                rest -= 1;
            }
            bench.clock(None, false);
            assert_eq!(bench.head(), None);
        }
    });
}

/// Whoever was served comes back at once, the short ones before all others, and
/// every slot has its share.
//= TX-17 test
#[test]
fn tx17_nobody_starves() {
    tb::run("turn_lists::starve", &design(), |dut, rng: &mut Rng| {
        let bench = &mut Bench::new(dut);
        let list = |slot: u64| (slot % 8) as usize;
        for slot in 0..SLOTS {
            bench.comes(list(slot), slot);
        }
        let mut served = [0u64; SLOTS as usize];
        let mut gaps = rng.fork();
        const TURNS: u64 = 4 * 7 * 4 * 20;
        for _ in 0..TURNS {
            let slot = bench.turn(|slot| Some(Push { slot, list: list(slot), on: false }));
            served[slot as usize] += 1;
            for _ in 0..gaps.below(4) {
                bench.clock(None, false);
            }
        }
        for (slot, count) in served.iter().enumerate() {
            // Three of four turns for four slots, the others' among seven lists of four.
            let share = if slot % 8 == 0 { TURNS * 3 / 16 } else { TURNS / 4 / 28 };
            assert!(count.abs_diff(share) <= 1, "{slot}: {count} of {share}");
        }
    });
}
