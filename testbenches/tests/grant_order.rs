//! `rx::GrantOrder`: who is next to be granted more packets. Rules GR-6, GR-7.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tessera_abi::params::{Config, NIC512};
use tessera_abi::regs;
use tessera_rtl::rx::GrantOrder;
use tessera_sim::tb::{self, Rng};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::host::reset;

const CONFIG: Config = Config { rx_contexts_log2: 6, ..NIC512 };
/// Clocks after which the search for the oldest round is over.
const SETTLED: u64 = 1100;
/// Clocks until a waiting message is offered: the last one out, a pick, and two
/// for each of the lists in the ring that are empty by now.
const PATIENCE: u64 = 16 + 2 * 40;
/// Clocks after which who came is certainly seen.
const SEEN: u64 = 32;

fn design() -> Design {
    tessera_testbenches::design("grant_order", || GrantOrder::new(&CONFIG))
}

/// Endpoint and id.
type Name = (u8, u16);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum List {
    /// By place: whoever holds it may change.
    Round(u8),
    Rest(u64),
}

impl List {
    /// For the turns of GR-6 those of no round are one.
    fn of_rounds(self) -> List {
        match self {
            List::Rest(_) => List::Rest(0),
            round => round,
        }
    }
}

fn place(name: Name) -> u8 {
    name.0 ^ name.1 as u8
}

struct Bench<'a> {
    dut: &'a mut Dut,
    enter: PortId,
    context: PortId,
    in_round: PortId,
    endpoint: PortId,
    round: PortId,
    rest_list: PortId,
    bell: [PortId; 5],
    leave: PortId,
    head_valid: PortId,
    head_context: PortId,
    /// Registered name and age, by place.
    places: BTreeMap<u8, (Option<Name>, u64)>,
    registrations: u64,
    lists: BTreeMap<List, VecDeque<u64>>,
    head: Option<u64>,
    /// The same of the head: its list, and what the others' turns were then.
    head_list: Option<List>,
    /// The oldest list, and since when it is.
    oldest: Option<List>,
    changed_at: u64,
    /// Heads of the oldest in a row; unknown while the search may be under way.
    turn: Option<u64>,
    /// How often others were served since a list, that has somebody, was.
    passed: BTreeMap<List, u64>,
    waiting_since: u64,
    served: BTreeMap<u64, u64>,
    /// The list of no round that a context goes to.
    left: [u64; 64],
    /// Who came, and when: the block may not have seen the last ones yet.
    came: VecDeque<(u64, u64)>,
    /// Heads of the lowest list of no round in a row, and the last of the others: all
    /// that may be, by what the block may have seen.
    rest_turns: BTreeSet<(u64, u64)>,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut) -> Self {
        let port = |name: &str| dut.port(name).unwrap();
        let bench = Bench {
            enter: port("enter"),
            context: port("enter_data.context"),
            in_round: port("enter_data.in_round"),
            endpoint: port("enter_data.endpoint"),
            round: port("enter_data.round"),
            rest_list: port("enter_data.rest_list"),
            bell: ["valid", "kind", "index", "value", "more"].map(|f| port(&format!("doorbell.{f}"))),
            leave: port("leave"),
            head_valid: port("head_valid"),
            head_context: port("head_context"),
            dut,
            places: BTreeMap::new(),
            registrations: 0,
            lists: BTreeMap::new(),
            head: None,
            head_list: None,
            oldest: None,
            changed_at: 0,
            turn: Some(0),
            passed: BTreeMap::new(),
            waiting_since: 0,
            served: BTreeMap::new(),
            left: [0; 64],
            came: VecDeque::new(),
            rest_turns: BTreeSet::from([(0, 0)]),
        };
        for quiet in [bench.enter, bench.leave, bench.bell[0]] {
            bench.dut.set(quiet, 0u64);
        }
        reset(bench.dut);
        bench
    }

    fn oldest_list(&self) -> Option<List> {
        let rounds = self.lists.iter().filter(|(_, waiting)| !waiting.is_empty());
        let rounds = rounds.filter_map(|(list, _)| match list {
            List::Round(place) => Some((self.places[place].1, *list)),
            List::Rest(_) => None,
        });
        rounds.min().map(|(_, list)| list)
    }

    /// Looks whether another list is the oldest now.
    fn renew(&mut self) {
        let oldest = self.oldest_list();
        if oldest != self.oldest {
            self.oldest = oldest;
            self.changed_at = self.dut.cycles();
        }
    }

    /// GR-7: the turns of the lists of no round after one of `chosen`, which must be its.
    fn take_rest(&mut self, chosen: u64) {
        let now = self.dut.cycles();
        self.came.retain(|(at, _)| now - at <= SEEN);
        let mut after = BTreeSet::new();
        for unseen in 0..=self.came.len() {
            let seen = |context: &u64| {
                let of_last = self.came.iter().rev().take(unseen).any(|(_, other)| other == context);
                !of_last
            };
            let waits = |list: u64| self.lists.get(&List::Rest(list)).is_some_and(|l| l.iter().any(seen));
            let waiting: Vec<u64> = (0..8).filter(|list| waits(*list)).collect();
            for &(row, last) in &self.rest_turns {
                match waiting[..] {
                    [] => {}
                    [lowest] | [lowest, ..] if row < 3 || waiting.len() == 1 => {
                        if lowest == chosen {
                            after.insert(((row + 1).min(3), last));
                        }
                    }
                    _ => {
                        let up = waiting[1..].iter().find(|list| **list > last);
                        if *up.unwrap_or(&waiting[1]) == chosen {
                            after.insert((0, chosen));
                        }
                    }
                }
            }
        }
        assert!(
            !after.is_empty(),
            "GR-7: list {chosen} was chosen, {:?} before, of {:?}",
            self.rest_turns,
            self.lists
        );
        self.rest_turns = after;
    }

    fn settled(&self) -> bool {
        self.dut.cycles() - self.changed_at > SETTLED
    }

    fn clock(&mut self) {
        self.dut.clock();
        let valid = self.dut.is_high(self.head_valid);
        let context = self.dut.get(self.head_context);
        if let Some(head) = self.head {
            assert!(valid && context == head, "the head stays");
            return;
        }
        if !valid {
            let waits = self.lists.values().any(|list| !list.is_empty());
            if !waits {
                self.waiting_since = self.dut.cycles();
            }
            let since = self.dut.cycles() - self.waiting_since;
            assert!(
                since <= PATIENCE,
                "nobody is offered for {since} clocks: {:?}, oldest {:?} since {}, turn {:?}",
                self.lists,
                self.oldest,
                self.dut.cycles() - self.changed_at,
                self.turn
            );
            return;
        }
        let list = self.lists.iter().find(|(_, waiting)| waiting.front() == Some(&context));
        let list = *list.unwrap_or_else(|| panic!("{context} is at the head of no list")).0;
        let others =
            self.lists.iter().filter(|(other, waiting)| Some(**other) != self.oldest && !waiting.is_empty());
        let others = others.count();
        if self.settled() {
            match (self.oldest, self.turn) {
                (None, _) => {}
                (Some(oldest), _) if others == 0 => assert_eq!(list, oldest),
                (Some(oldest), Some(3)) => assert_ne!(list, oldest, "the others' turn"),
                (Some(oldest), Some(_)) => assert_eq!(list, oldest, "the oldest's turn"),
                (Some(_), None) => {}
            }
        }
        if let List::Rest(chosen) = list {
            self.take_rest(chosen);
        }
        (self.head, self.head_list) = (Some(context), Some(list));
    }

    fn clocks(&mut self, count: u64) {
        for _ in 0..count {
            self.clock();
        }
    }

    /// Registers a round, or forgets it.
    fn register(&mut self, name: Name, messages: u64) {
        let kind = u64::from(regs::DOORBELL_ROUND / 4);
        for (port, value) in self.bell.into_iter().zip([1, kind, name.0.into(), name.1.into(), messages]) {
            self.dut.set(port, value);
        }
        self.clock();
        self.dut.set(self.bell[0], 0u64);
        let held = self.places.entry(place(name)).or_default();
        held.0 = (messages > 0).then_some(name);
        if messages > 0 {
            held.1 = self.registrations;
            self.registrations += 1;
            // What the search has seen may be out of date.
            self.changed_at = self.dut.cycles();
        }
        self.clocks(8);
        self.renew();
    }

    /// A context of round `name`, perhaps registered, comes to wait.
    fn enters(&mut self, context: u64, name: Option<Name>) {
        if self.lists.values().all(VecDeque::is_empty) {
            self.waiting_since = self.dut.cycles();
        }
        let list = self.puts(context, name);
        let of_rounds = list.of_rounds();
        let (of_same, at) = (|other: &List| other.of_rounds() == of_rounds, &self.lists);
        if at.iter().filter(|(other, _)| of_same(other)).map(|(_, l)| l.len()).sum::<usize>() == 1 {
            self.passed.insert(of_rounds, 0);
        }
        self.clock();
        self.dut.set(self.enter, 0u64);
        self.renew();
    }

    /// The head is granted its share, and waits on in `name` if it says so.
    fn leaves(&mut self, again: Option<Option<Name>>) -> u64 {
        while self.head.is_none() {
            self.clock();
        }
        let (context, list) = (self.head.take().unwrap(), self.head_list.take().unwrap());
        assert_eq!(self.lists.get_mut(&list).unwrap().pop_front(), Some(context), "in the list's order");
        *self.served.entry(context).or_default() += 1;
        let is_oldest = Some(list) == self.oldest;
        self.turn = match (is_oldest, self.settled(), self.turn) {
            // Before, it may take another one for the oldest.
            (false, true, _) => Some(0),
            (true, true, Some(turn)) => Some((turn + 1).min(3)),
            _ => None,
        };
        if !is_oldest {
            let waiting = self.lists.values().filter(|waiting| !waiting.is_empty()).count() as u64;
            self.passed.insert(list.of_rounds(), 0);
            for (other, passed) in &mut self.passed {
                let mut same = self.lists.iter().filter(|(list, _)| list.of_rounds() == *other);
                let waits = same.any(|(_, waiting)| !waiting.is_empty());
                if *other != list.of_rounds() && Some(*other) != self.oldest && waits {
                    *passed += 1;
                    assert!(*passed <= waiting + 40, "{other:?} is passed over and over");
                }
            }
        }
        self.dut.set(self.leave, 1u64);
        self.waiting_since = self.dut.cycles();
        if let Some(name) = again {
            // The head of before is still on offer in this clock.
            let before = self.dut.cycles();
            self.head = Some(context);
            self.enter_now(context, name);
            assert_eq!(self.dut.cycles(), before + 1);
        } else {
            self.dut.clock();
        }
        self.head = None;
        self.dut.set(self.leave, 0u64);
        self.renew();
        context
    }

    fn enter_now(&mut self, context: u64, name: Option<Name>) {
        let list = self.puts(context, name);
        self.passed.entry(list.of_rounds()).or_default();
        self.dut.clock();
        self.dut.set(self.enter, 0u64);
    }

    /// Offers a context to the block and puts it into its list.
    fn puts(&mut self, context: u64, name: Option<Name>) -> List {
        let (endpoint, round) = name.unwrap_or((3, 7));
        let left = self.left[context as usize];
        self.dut.set(self.enter, 1u64);
        self.dut.set(self.context, context);
        self.dut.set(self.in_round, u64::from(name.is_some()));
        self.dut.set(self.endpoint, u64::from(endpoint));
        self.dut.set(self.round, u64::from(round));
        self.dut.set(self.rest_list, left);
        let known = name.filter(|name| self.places.get(&place(*name)).is_some_and(|p| p.0 == Some(*name)));
        let list = known.map_or(List::Rest(left), |name| List::Round(place(name)));
        self.lists.entry(list).or_default().push_back(context);
        self.came.push_back((self.dut.cycles(), context));
        list
    }
}

#[test]
fn gr6_the_oldest_round_has_three_turns_of_four() {
    tb::run("grant_order::three_of_four", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        let rounds = [(5, 900), (5, 901), (9, 3)];
        // The second one was registered first.
        for round in [1, 0, 2] {
            bench.register(rounds[round], 100);
        }
        let name = |context: u64| rounds.get(context as usize % 4).copied();
        for context in 0..12 {
            bench.enters(context, name(context));
            bench.clocks(6);
        }
        bench.clocks(SETTLED);
        // The first is offered before anybody else has come.
        bench.leaves(Some(name(0)));
        let order: Vec<u64> = (0..24)
            .map(|_| {
                let head = bench.head.unwrap_or_else(|| {
                    bench.clocks(20);
                    bench.head.unwrap()
                });
                bench.leaves(Some(name(head))) % 4
            })
            .collect();
        let of_oldest = order.iter().filter(|list| **list == 1).count();
        assert_eq!(of_oldest, 18, "{order:?}");
        for run in order.chunks(4) {
            assert_eq!(run.iter().filter(|list| **list == 1).count(), 3, "{order:?}");
        }
        // The others take turns among each other, list by list.
        let others: Vec<u64> = order.iter().copied().filter(|list| *list != 1).collect();
        for three in others.windows(3) {
            assert!(three[0] != three[1] && three[1] != three[2] && three[0] != three[2], "{others:?}");
        }
    });
}

#[test]
fn gr6_the_next_oldest_follows_and_nobody_waits_for_it() {
    tb::run("grant_order::next", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        let rounds: Vec<Name> = (0..8u16).map(|i| (i as u8 * 16, 300 + i)).collect();
        for round in &rounds {
            bench.register(*round, 1);
        }
        // The youngest first; the very first is offered at once.
        for (context, round) in rounds.iter().enumerate().rev() {
            bench.enters(context as u64, Some(*round));
            bench.clocks(6);
        }
        assert_eq!(bench.leaves(None), 7);
        bench.clocks(SETTLED);
        let mut order = Vec::new();
        for _ in 0..7 {
            bench.clocks(SETTLED);
            order.push(bench.leaves(None));
        }
        // Offered in the very turn that the search begins: the first one is not the oldest.
        assert_eq!(order.iter().filter(|c| **c == 0).count(), 1);
        assert_eq!(bench.lists.values().map(VecDeque::len).sum::<usize>(), 0);
    });
}

/// The search for the oldest comes by a place while somebody leaves it.
#[test]
fn gr6_the_search_sees_a_place_that_is_worked_on() {
    tb::run("grant_order::met", &design(), |dut, _| {
        for delay in 0..64 {
            let bench = &mut Bench::new(dut);
            let (old, young) = ((0, 0x300), (12, 0x400));
            bench.register(old, 1);
            bench.register(young, 1);
            bench.enters(0, Some(old));
            for context in 1..7 {
                bench.enters(context, Some(young));
                bench.clocks(6);
            }
            for context in 20..24 {
                bench.enters(context, None);
                bench.clocks(6);
            }
            assert_eq!(bench.leaves(None), 0);
            while bench.head.is_none() {
                bench.clock();
            }
            bench.clocks(delay);
            assert_eq!(bench.leaves(None), 1);
            // The others' turn, then that of the oldest, three times.
            bench.clocks(SETTLED);
            while bench.leaves(None) < 20 {}
            let three: Vec<u64> = (0..3).map(|_| bench.leaves(None)).collect();
            assert!(three.iter().all(|context| *context < 7), "{delay}: {three:?}");
        }
    });
}

#[test]
fn gr6_a_forgotten_round_is_none_and_a_registered_anew_the_youngest() {
    tb::run("grant_order::forgotten", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        let (old, young) = ((1, 10), (1, 11));
        bench.register(old, 1);
        bench.register(young, 1);
        let fill = |bench: &mut Bench<'_>| {
            bench.enters(50, None);
            bench.clocks(20);
            for (i, name) in [old, young].iter().enumerate() {
                for copy in 0..3 {
                    bench.enters(10 * i as u64 + copy, Some(*name));
                    bench.clocks(6);
                }
            }
            bench.clocks(SETTLED);
            assert_eq!(bench.leaves(None), 50);
            let three: Vec<u64> = (0..3).map(|_| bench.leaves(None) / 10).collect();
            while bench.lists.values().any(|list| !list.is_empty()) {
                bench.leaves(None);
            }
            bench.clocks(SETTLED);
            three
        };
        assert_eq!(fill(bench), [0, 0, 0]);
        bench.register(old, 1);
        assert_eq!(fill(bench), [1, 1, 1], "registered anew: the youngest");
        bench.register(young, 0);
        assert_eq!(fill(bench), [0, 0, 0], "forgotten: of no round");
        // Another name of the same place is no name at all.
        bench.register((old.0 ^ 2, old.1 ^ 2), 1);
        assert_eq!(place((old.0 ^ 2, old.1 ^ 2)), place(old));
        assert_eq!(fill(bench).len(), 3);
        assert!(!bench.lists.contains_key(&List::Round(place((7, 99)))));
    });
}

#[test]
fn gr6_random_messages_come_and_go() {
    come_and_go("grant_order::random", 1);
}

//= GR-7 test
#[test]
fn gr7_random_messages_of_any_length_come_and_go() {
    come_and_go("grant_order::random_lengths", 8);
}

/// Contexts of rounds and of none, which go to one of so many lists.
fn come_and_go(test: &str, lists: u64) {
    tb::run(test, &design(), |dut, rng: &mut Rng| {
        let bench = &mut Bench::new(dut);
        let names: Vec<Name> = (0..12).map(|_| (rng.bits(2) as u8, 500 + rng.below(6) as u16)).collect();
        let mut outside: Vec<u64> = (0..64).collect();
        let draw = |rng: &mut Rng| rng.chance(0.75).then(|| *rng.pick(&names));
        for _ in 0..6000 {
            for left in &mut bench.left {
                *left = rng.below(lists);
            }
            match rng.below(20) {
                0 => {
                    let name = *rng.pick(&names);
                    let messages = rng.below(3);
                    // A place that changes hands while somebody waits there keeps its list.
                    bench.register(name, messages);
                }
                1..=9 if !outside.is_empty() => {
                    let context = outside.swap_remove(rng.below(outside.len() as u64) as usize);
                    let name = draw(rng);
                    bench.enters(context, name);
                    let pause = rng.range(3..12);
                    bench.clocks(pause);
                }
                10 => bench.clocks(SETTLED + 10),
                11 => {
                    // Four in a row.
                    for _ in 0..4 {
                        let Some(context) = outside.pop() else { break };
                        let name = draw(rng);
                        bench.enters(context, name);
                    }
                    bench.clocks(16);
                }
                _ if bench.lists.values().any(|list| !list.is_empty()) => {
                    let again = rng.chance(0.6).then(|| draw(rng));
                    let context = bench.leaves(again);
                    if again.is_none() {
                        outside.push(context);
                    }
                    let pause = rng.range(8..30);
                    bench.clocks(pause);
                }
                _ => bench.clock(),
            }
        }
        while bench.lists.values().any(|list| !list.is_empty()) {
            bench.leaves(None);
            bench.clocks(8);
        }
        assert!(bench.served.len() == 64, "everybody was served: {}", bench.served.len());
        bench.clocks(SETTLED);
        assert!(bench.head.is_none(), "nobody is left");
    });
}

#[test]
fn gr6_a_round_alone_has_every_turn() {
    tb::run("grant_order::alone", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        let rounds = [(5, 900), (5, 901)];
        for round in rounds {
            bench.register(round, 100);
        }
        // Others come and go first.
        for _ in 0..3 {
            for (context, round) in [(1, None), (2, Some(rounds[1])), (3, Some(rounds[0]))] {
                bench.enters(context, round);
                bench.clocks(6);
            }
            for _ in 0..3 {
                bench.leaves(None);
                bench.clocks(8);
            }
        }
        for context in [10, 11] {
            bench.enters(context, Some(rounds[1]));
            bench.clocks(6);
        }
        for turn in 0..12 {
            assert_eq!(bench.leaves(Some(Some(rounds[1]))), 10 + turn % 2);
            bench.clocks(if turn < 6 { SETTLED } else { 12 });
        }
    });
}

#[test]
fn gr6_only_a_rounds_doorbell_registers() {
    tb::run("grant_order::bells", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        bench.register((1, 10), 1);
        for kind in 0..3u64 {
            for (port, value) in bench.bell.into_iter().zip([1, kind, 1, 20 + kind, 7]) {
                bench.dut.set(port, value);
            }
            bench.clock();
            bench.dut.set(bench.bell[0], 0u64);
            bench.clocks(10);
        }
        // Were they rounds, the one of kind 0 would be older than the others.
        for (context, round) in [(1, None), (4, Some((1, 22))), (3, Some((1, 21))), (2, Some((1, 20)))] {
            bench.enters(context, round);
            bench.clocks(6);
        }
        assert_eq!(bench.lists[&List::Rest(0)].len(), 4);
        bench.enters(5, Some((1, 10)));
        bench.clocks(SETTLED);
        for expected in [1, 5, 4, 3, 2] {
            assert_eq!(bench.leaves(None), expected);
            bench.clocks(SETTLED);
        }
    });
}

/// `turns` heads one after the other, each of which waits again at once.
fn order(bench: &mut Bench<'_>, turns: u64, name: impl Fn(u64) -> Option<Name>) -> Vec<u64> {
    let serve = |_| {
        while bench.head.is_none() {
            bench.clock();
        }
        let name = name(bench.head.unwrap());
        let context = bench.leaves(Some(name));
        bench.clocks(20);
        context
    };
    (0..turns).map(serve).collect()
}

//= GR-7 test
#[test]
fn gr7_the_lowest_list_has_three_turns_of_four() {
    tb::run("grant_order::lowest", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        for (context, list) in [(10, 1), (11, 1), (50, 5), (30, 3), (60, 7)] {
            bench.left[context as usize] = list;
            bench.enters(context, None);
            bench.clocks(SEEN);
        }
        let seen = order(bench, 17, |_| None);
        assert_eq!(seen, [10, 11, 10, 30, 11, 10, 11, 50, 10, 11, 10, 60, 11, 10, 11, 30, 10]);
        // Who comes lower goes first, and whoever is on offer stays.
        bench.enters(0, None);
        bench.clocks(SEEN);
        assert_eq!(order(bench, 9, |_| None), [11, 0, 50, 0, 0, 0, 60, 0, 0]);
        // One goes over to another list as it waits again.
        bench.left[0] = 6;
        assert_eq!(order(bench, 13, |_| None), [0, 30, 10, 11, 10, 50, 11, 10, 11, 0, 10, 11, 10]);
    });
}

//= GR-7 test
#[test]
fn gr7_the_lists_of_no_round_have_one_turn_together() {
    tb::run("grant_order::together", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        let name =
            |context: u64| [Some((2, 40)), Some((2, 41))].get(context as usize / 10).copied().flatten();
        bench.register((2, 40), 1);
        bench.register((2, 41), 1);
        for (context, list) in [(0, 6), (10, 5), (20, 1), (21, 1), (30, 3), (40, 7)] {
            bench.left[context as usize] = list;
            bench.enters(context, name(context));
            bench.clocks(SETTLED);
        }
        let seen = order(bench, 64, name);
        let of = |decade: u64| seen.iter().filter(|context| **context / 10 == decade).count();
        assert_eq!((of(0), of(1)), (48, 8), "{seen:?}");
        let rest: Vec<u64> = seen.iter().copied().filter(|context| *context >= 20).collect();
        assert_eq!(rest, [20, 21, 20, 30, 21, 20, 21, 40], "{seen:?}");
        // One of them that goes empty takes no turn from the others, and when all have, the
        // oldest round is alone.
        let mut left = Vec::new();
        for _ in 0..40 {
            while bench.head.is_none() {
                bench.clock();
            }
            let again = bench.head.filter(|head| *head < 10).map(name);
            let context = bench.leaves(again);
            if again.is_none() {
                left.push(context);
            }
            bench.clocks(20);
        }
        left.retain(|context| *context != 10);
        assert_eq!((left, bench.served[&10]), (vec![20, 21, 30, 40], 9));
    });
}

//= GR-7 test
#[test]
fn gr7_nobody_starves() {
    tb::run("grant_order::starve_lists", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        for context in 0..40 {
            bench.left[context as usize] = context % 8;
            bench.enters(context, None);
            bench.clocks(6);
        }
        order(bench, 2000, |_| None);
        for list in 0..8 {
            let of_list = |(context, _): &(&u64, &u64)| *context % 8 == list;
            let turns: u64 = bench.served.iter().filter(of_list).map(|(_, turns)| turns).sum();
            let expected = if list == 0 { 1500 } else { 500 / 7 };
            assert!(turns.abs_diff(expected) <= 2, "list {list}: {turns} of {expected}");
        }
        let least = bench.served.values().min();
        assert!(bench.served.len() == 40 && *least.unwrap() >= 500 / 7 / 5, "{least:?}");
    });
}

#[test]
fn gr6_nobody_starves() {
    tb::run("grant_order::starve", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        let name = |context: u64| match context {
            0..=9 => Some((2, 40)),
            10..=19 => Some((2, 41)),
            _ => None,
        };
        bench.register((2, 40), 1);
        bench.register((2, 41), 1);
        for context in 0..40 {
            bench.enters(context, name(context));
            bench.clocks(6);
        }
        // Whoever is served waits again, at once.
        for _ in 0..2000 {
            let head = loop {
                if let Some(head) = bench.head {
                    break head;
                }
                bench.clock();
            };
            bench.leaves(Some(name(head)));
            bench.clocks(4);
        }
        for context in 0..40 {
            // Turns of 4 x 2 lists x at most 20 in a list.
            let least = 2000 / (4 * 2 * 20) - 1;
            assert!(bench.served[&context] >= least, "{context}: {}", bench.served[&context]);
        }
        let of = |range: std::ops::Range<u64>| range.map(|c| bench.served[&c]).sum::<u64>();
        assert!((1490..=1510).contains(&of(0..10)), "{}", of(0..10));
        assert!((240..=260).contains(&of(10..20)), "{}", of(10..20));
    });
}
