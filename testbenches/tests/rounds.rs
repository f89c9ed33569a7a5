//! `recovery::Rounds`: how far registered rounds are. Rules RD-1 to RD-3.

use std::collections::{BTreeMap, VecDeque};
use tessera_abi::params::NIC512;
use tessera_abi::regs;
use tessera_rtl::recovery::Rounds;
use tessera_sim::tb::{self, Rng};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::host::reset;

fn design() -> Design {
    tessera_testbenches::design("rounds", || Rounds::new(&NIC512))
}

/// Endpoint and id.
type Name = (u8, u16);

fn place(name: Name) -> u8 {
    name.0 ^ name.1 as u8
}

/// What was registered, and what is left of it.
#[derive(Clone, Copy, Debug)]
struct Round {
    name: Name,
    needed: u64,
    left: u64,
}

impl Round {
    /// How often what is left has halved.
    fn halvings(&self) -> u64 {
        (0..16).take_while(|k| self.left <= self.needed >> k).last().unwrap()
    }

    /// One message less: whether that halved what is left, and was the last.
    fn count(&mut self) -> (bool, bool) {
        let before = self.halvings();
        self.left -= 1;
        (self.halvings() > before || self.left == 0, self.left == 0)
    }

    fn answer(&self, name: Name) -> Option<u64> {
        (self.name == name && self.needed > 0).then(|| self.halvings())
    }
}

/// A place whose message is being counted, what is to be written to it, and the pulses.
type Counted = (u8, Option<Round>, (bool, bool));

struct Bench<'a> {
    dut: &'a mut Dut,
    done: [PortId; 3],
    bell: [PortId; 5],
    query: [PortId; 2],
    halvings: PortId,
    registered: PortId,
    pulses: [PortId; 2],
    rounds: BTreeMap<u8, Round>,
    /// The same as queries see it: counts are written two clocks after their message.
    shown: BTreeMap<u8, Round>,
    /// Of the last two clocks.
    counting: VecDeque<Option<Counted>>,
    waits: Option<(Name, u64)>,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut) -> Self {
        let port = |name: &str| dut.port(name).unwrap();
        let bench = Bench {
            done: ["valid", "endpoint", "id"].map(|f| port(&format!("done_{f}"))),
            bell: ["valid", "kind", "index", "value", "more"].map(|f| port(&format!("doorbell.{f}"))),
            query: ["endpoint", "id"].map(|f| port(&format!("query_{f}"))),
            halvings: port("halvings"),
            registered: port("registered"),
            pulses: ["advanced", "finished"].map(port),
            dut,
            rounds: BTreeMap::new(),
            shown: BTreeMap::new(),
            counting: VecDeque::from([None, None]),
            waits: None,
        };
        bench.dut.set(bench.done[0], 0u64);
        bench.dut.set(bench.bell[0], 0u64);
        reset(bench.dut);
        bench
    }

    /// A clock with what comes in it, and a query.
    #[track_caller]
    fn clock(&mut self, done: Option<Name>, bell: Option<(Name, u64)>, query: Name) {
        let name = done.unwrap_or((0x55, 0xaaaa));
        let words: [u64; 3] = [done.is_some().into(), name.0.into(), name.1.into()];
        for (port, value) in self.done.into_iter().zip(words) {
            self.dut.set(port, value);
        }
        let (name, messages) = bell.unwrap_or(((0xaa, 0x5555), 0x1234));
        let kind = u64::from(regs::DOORBELL_ROUND / 4);
        let words: [u64; 5] = [bell.is_some().into(), kind, name.0.into(), name.1.into(), messages];
        for (port, value) in self.bell.into_iter().zip(words) {
            self.dut.set(port, value);
        }
        self.dut.set(self.query[0], u64::from(query.0));
        self.dut.set(self.query[1], u64::from(query.1));
        self.dut.clock();

        let answer = self.shown.get(&place(query)).and_then(|round| round.answer(query));
        let mut written = None;
        // What a message leads to is written two clocks after it, unless its place was registered.
        let ended = self.counting.pop_front().unwrap();
        let mut pulses = (false, false);
        if let Some((at, round, its_pulses)) = ended {
            pulses = its_pulses;
            if let Some(round) = round {
                self.shown.insert(at, round);
                written = Some(at);
            }
        }
        if let Some(name) = done {
            let at = place(name);
            let mut counted = (at, None, (false, false));
            if let Some(round) = self.rounds.get_mut(&at).filter(|round| round.name == name) {
                if round.left > 0 {
                    counted.2 = round.count();
                    counted.1 = Some(*round);
                }
            }
            self.counting.push_back(Some(counted));
        } else {
            self.counting.push_back(None);
            if let Some((name, needed)) = self.waits.filter(|_| ended.is_none()) {
                let at = place(name);
                let round = Round { name, needed, left: needed };
                self.rounds.insert(at, round);
                self.shown.insert(at, round);
                written = Some(at);
                self.waits = None;
                for (counted, round, _) in self.counting.iter_mut().flatten() {
                    if *counted == at {
                        *round = None;
                    }
                }
            }
        }
        if let Some(bell) = bell {
            assert!(self.waits.is_none(), "a registration is in place before the next doorbell");
            self.waits = Some(bell);
        }

        assert_eq!(self.pulses.map(|pulse| self.dut.is_high(pulse)), [pulses.0, pulses.1]);
        // A read in the clock of a write is of no use.
        if written != Some(place(query)) {
            let said = self.dut.is_high(self.registered).then(|| self.dut.get(self.halvings));
            assert_eq!(said, answer, "{query:?}: {:x?}", self.shown);
        }
    }

    /// A message of `name`, and the clock behind it.
    #[track_caller]
    fn message(&mut self, name: Name) {
        self.clock(Some(name), None, name);
        self.clock(None, None, name);
    }

    #[track_caller]
    fn register(&mut self, name: Name, messages: u64) {
        self.clock(None, Some((name, messages)), name);
        for _ in 0..3 {
            self.clock(None, None, name);
        }
    }
}

/// Every number of messages halves when it should, at two clocks per message.
//= RD-3 test
#[test]
fn rd3_what_is_left_halves() {
    tb::run("rounds::halvings", &design(), |dut, _| {
        let bench = &mut Bench::new(dut);
        for needed in (1..=40).chain([255, 256, 257, 1023, 0xffff]) {
            let name = (7, needed as u16 ^ 0x1200);
            bench.register(name, needed);
            for _ in 0..needed + 2 {
                bench.message(name);
            }
            let end = bench.shown[&place(name)];
            assert_eq!((end.left, end.halvings()), (0, 15));
        }
    });
}

/// Few places, everything as close as it may come.
//= RD-1 test
//= RD-2 test
#[test]
fn rounds_are_counted_in_every_order() {
    tb::run("rounds::random", &design(), |dut, rng| {
        let bench = &mut Bench::new(dut);
        // Three places; two of the rounds of each have the same id but for the high half.
        let names: Vec<Name> = (0..3u16)
            .flat_map(|at| [(at as u8, 0x100), (at as u8, 0x4100), (at as u8 ^ 0x21, 0x121)])
            .collect();
        let (mut to_done, mut to_bell) = (0, 0);
        for turn in 0..40 {
            let (quick, rung) = (turn % 3 != 0, turn % 4);
            for _ in 0..1000 {
                // Of the first place only, or of all.
                let some = if rung == 0 { 3 } else { names.len() as u64 };
                let name = |rng: &mut Rng| names[rng.below(some) as usize];
                let mut done = None;
                if to_done == 0 && (quick || rng.below(3) == 0) {
                    done = Some(name(rng));
                    to_done = 2 + u64::from(rng.below(4) == 0);
                }
                let mut bell = None;
                if to_bell == 0 && (rung < 2 || rng.below(8) == 0) {
                    let messages = [rng.below(4), rng.below(40), rng.below(0x1_0000)][rng.below(3) as usize];
                    bell = Some((name(rng), messages));
                    to_bell = 4 + rng.below(3);
                }
                bench.clock(done, bell, name(rng));
                to_done = to_done.max(1) - 1;
                to_bell = to_bell.max(1) - 1;
            }
        }
    });
}
