//! The order of grants as the rules have it, beside the block.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tessera_abi::params::{Config, NIC512};
use tessera_abi::regs;
use tessera_rtl::rx::GrantOrder;
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::host::reset;

pub const CONFIG: Config = Config { rx_contexts_log2: 6, ..NIC512 };
/// Clocks after which the search for the oldest round is over.
pub const SETTLED: u64 = 1100;
/// Clocks until a waiting message is offered: the last one out, a pick, and two
/// for each of the lists in the ring that are empty by now.
pub const PATIENCE: u64 = 16 + 2 * 40;
/// Clocks after which who came is certainly seen.
pub const SEEN: u64 = 32;

pub fn design() -> Design {
    tessera_testbenches::design("grant_order", || GrantOrder::new(&CONFIG))
}

/// Endpoint and id.
pub type Name = (u8, u16);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum List {
    /// By place: whoever holds it may change.
    Round(u8),
    Rest(u64),
}

impl List {
    /// For the turns of GR-6 those of no round are one.
    pub fn of_rounds(self) -> List {
        match self {
            List::Rest(_) => List::Rest(0),
            round => round,
        }
    }
}

pub fn place(name: Name) -> u8 {
    name.0 ^ name.1 as u8
}

pub struct Bench<'a> {
    pub dut: &'a mut Dut,
    pub enter: PortId,
    pub context: PortId,
    pub in_round: PortId,
    pub endpoint: PortId,
    pub round: PortId,
    pub rest_list: PortId,
    pub bell: [PortId; 5],
    pub leave: PortId,
    pub head_valid: PortId,
    pub head_context: PortId,
    /// Registered name and age, by place.
    pub places: BTreeMap<u8, (Option<Name>, u64)>,
    pub registrations: u64,
    pub lists: BTreeMap<List, VecDeque<u64>>,
    pub head: Option<u64>,
    /// The same of the head: its list, and what the others' turns were then.
    pub head_list: Option<List>,
    /// The oldest list, and since when it is.
    pub oldest: Option<List>,
    pub changed_at: u64,
    /// Heads of the oldest in a row; unknown while the search may be under way.
    pub turn: Option<u64>,
    /// How often others were served since a list, that has somebody, was.
    pub passed: BTreeMap<List, u64>,
    pub waiting_since: u64,
    pub served: BTreeMap<u64, u64>,
    /// The list of no round that a context goes to.
    pub left: [u64; 64],
    /// Who came, and when: the block may not have seen the last ones yet.
    pub came: VecDeque<(u64, u64)>,
    /// Heads of the lowest list of no round in a row, and the last of the others: all
    /// that may be, by what the block may have seen.
    pub rest_turns: BTreeSet<(u64, u64)>,
}

impl<'a> Bench<'a> {
    pub fn new(dut: &'a mut Dut) -> Self {
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

    pub fn oldest_list(&self) -> Option<List> {
        let rounds = self.lists.iter().filter(|(_, waiting)| !waiting.is_empty());
        let rounds = rounds.filter_map(|(list, _)| match list {
            List::Round(place) => Some((self.places[place].1, *list)),
            List::Rest(_) => None,
        });
        rounds.min().map(|(_, list)| list)
    }

    /// Looks whether another list is the oldest now.
    pub fn renew(&mut self) {
        let oldest = self.oldest_list();
        if oldest != self.oldest {
            self.oldest = oldest;
            self.changed_at = self.dut.cycles();
        }
    }

    /// GR-7: the turns of the lists of no round after one of `chosen`, which must be its.
    pub fn take_rest(&mut self, chosen: u64) {
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

    pub fn settled(&self) -> bool {
        self.dut.cycles() - self.changed_at > SETTLED
    }

    pub fn clock(&mut self) {
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

    pub fn clocks(&mut self, count: u64) {
        for _ in 0..count {
            self.clock();
        }
    }

    /// Registers a round, or forgets it.
    pub fn register(&mut self, name: Name, messages: u64) {
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
    pub fn enters(&mut self, context: u64, name: Option<Name>) {
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
    pub fn leaves(&mut self, again: Option<Option<Name>>) -> u64 {
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

    pub fn enter_now(&mut self, context: u64, name: Option<Name>) {
        let list = self.puts(context, name);
        self.passed.entry(list.of_rounds()).or_default();
        self.dut.clock();
        self.dut.set(self.enter, 0u64);
    }

    /// Offers a context to the block and puts it into its list.
    pub fn puts(&mut self, context: u64, name: Option<Name>) -> List {
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
