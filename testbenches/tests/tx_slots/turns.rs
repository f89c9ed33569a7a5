//! TX-17: whose turn it is, by what is left to be sent.

use crate::bench::{design, run, run_slow, Bench, Feedback, Packet, Request};
use std::collections::{BTreeMap, BTreeSet};
use tessera_abi::wire::fb;
use tessera_model::turns::{list_of, Turns};
use tessera_sim::tb::{self, Pattern, Rng};

/// Clocks between two packets: meanwhile whoever is to come to wait does.
const SLOW: u64 = 120;

/// The order that the rules ask for where each turn finds everybody waiting.
#[derive(Default)]
struct Expected {
    by_list: bool,
    turns: Turns<u64>,
    on: Option<u64>,
    /// Begun before the others came.
    begun: Option<(u64, u64)>,
    /// Count, next and limit, by entry.
    messages: BTreeMap<u64, (u64, u64, u64)>,
}

impl Expected {
    fn posts(&mut self, bench: &mut Bench, count: u64, window: u64) -> u64 {
        let entry = bench.post(Request::packets(count, window));
        self.messages.insert(entry, (count, 0, window.min(count)));
        self.comes(entry);
        entry
    }

    fn comes(&mut self, entry: u64) {
        let (count, next, limit) = self.messages[&entry];
        if next < limit {
            let list = if self.by_list { list_of((count - next) as u32) } else { 0 };
            self.turns.push(list, entry);
        }
    }

    /// The next packet: entry and index.
    fn turn(&mut self) -> Option<(u64, u64)> {
        if let Some(begun) = self.begun.take() {
            return Some(begun);
        }
        let entry = self.on.take().or_else(|| self.turns.choose().and_then(|list| self.turns.pop(list)))?;
        let (count, next, limit) = self.messages.get_mut(&entry)?;
        let index = *next;
        *next += 1;
        if *next < *limit && *count - *next <= 4 {
            self.on = Some(entry);
        } else {
            self.comes(entry);
        }
        Some((entry, index))
    }
}

/// A bench where packets leave slowly, and no PROBE comes between.
fn run_in_order(test: &str, policy: u64, body: impl Fn(&mut Bench, &mut Expected)) {
    run_slow(&format!("{test} {policy}"), SLOW, |bench| {
        patient(bench, policy);
        let by_list = policy & 1 != 0;
        body(bench, &mut Expected { by_list, ..Expected::default() });
    });
}

fn patient(bench: &mut Bench, policy: u64) {
    bench.set("turn_policy", policy);
    bench.set("rtt_default", 60_000);
    bench.set("rto", 60_000);
    bench.set("t_open", 1_000_000);
    bench.set("grant_wait", 1_000_000);
    bench.set("unsolicited_limit", 1 << 30);
}

/// A packet has just left, and the next one is stuck: all who come now wait for the next
/// turn. The lowest list has had three.
#[track_caller]
fn begin(bench: &mut Bench, expected: &mut Expected) {
    for _ in 0..2 {
        let entry = expected.posts(bench, 1, 1);
        assert_eq!(expected.turn(), Some((entry, 0)));
        assert_eq!(bench.packet(3 * SLOW).entry, entry);
    }
    expected.posts(bench, 1, 1);
    // Whatever comes beside requests comes later too.
    bench.clocks(25);
    expected.begun = expected.turn();
}

/// All packets until nobody waits, in the order that is expected.
#[track_caller]
fn compare(bench: &mut Bench, expected: &mut Expected) -> Vec<Packet> {
    let mut packets = Vec::new();
    while let Some(next) = expected.turn() {
        let packet = bench.packet(3 * SLOW);
        packets.push(packet);
        let order = || packets.iter().map(|p| (p.entry, p.index)).collect::<Vec<_>>();
        assert!(packet.is_new());
        assert_eq!((packet.entry, packet.index), next, "{:?}", order());
    }
    bench.quiet(4 * SLOW);
    packets
}

fn aborted() -> Feedback {
    Feedback { flags: fb::ABORT, status: 1, ..Feedback::default() }
}

//= TX-17 test
//= TX-8 test
#[test]
fn turns_go_by_what_is_left() {
    for policy in 0..4 {
        run_in_order("tx_by_what_is_left", policy, |bench, expected| {
            begin(bench, expected);
            let messages =
                [(20_000, 6), (300, 40), (1100, 9), (70, 70), (70, 20), (20, 20), (6, 6), (5000, 7), (3, 3)];
            for (count, window) in messages {
                expected.posts(bench, count, window);
            }
            let packets = compare(bench, expected);
            // What is granted is less than what is left, and it is that which counts.
            begin(bench, expected);
            for first in packets.iter().filter(|p| p.index == 0) {
                let message = expected.messages.get_mut(&first.entry).unwrap();
                let (count, next, _) = *message;
                if next < count {
                    let grant = (next + 10 + first.entry).min(count);
                    message.2 = grant;
                    let feedback = Feedback { cumulative: next, grant, sequence: 1, ..Feedback::default() };
                    bench.answer(first, feedback);
                    expected.comes(first.entry);
                }
            }
            compare(bench, expected);
        });
    }
}

/// Where two messages wait in two lists the longer one is first, which are the others then;
/// in one list the one that came first.
//= TX-17 test
#[test]
fn lists_are_by_half_the_logarithm() {
    run_in_order("tx_lists", 1, |bench, expected| {
        for bound in (1..=8).map(|half| 1 << (2 * half)).chain([512, 1 << 15, 1 << 23]) {
            begin(bench, expected);
            let short = expected.posts(bench, bound - 1, 9);
            let long = expected.posts(bench, bound, 9);
            let packets = compare(bench, expected);
            let is_bound = (2u64..=14).step_by(2).any(|log2| bound == 1 << log2);
            assert_eq!(packets[1].entry, if is_bound { long } else { short }, "{bound}");
            for packet in packets.iter().filter(|p| p.index == 0) {
                bench.answer(packet, aborted());
            }
            for _ in 0..3 {
                bench.completion(3 * SLOW);
            }
        }
    });
}

/// Short messages without end, as fast as they go: the others have a quarter of the
/// turns, each list of them its share.
//= TX-17 test
#[test]
fn short_messages_starve_nobody() {
    run("tx_turns_starve", |bench| {
        patient(bench, 1);
        let long = [70, 300, 1100, 5000, 20_000].map(|count| bench.post(Request::packets(count, 64)));
        let mut sent = BTreeMap::<u64, u64>::new();
        let mut waits = 0;
        let mut total = 0;
        while total < 1200 {
            while waits < 4 {
                bench.post(Request::packets(10, 10));
                waits += 1;
            }
            let packet = bench.packet(100);
            assert!(packet.is_new());
            *sent.entry(packet.entry).or_default() += 1;
            total += 1;
            if !long.contains(&packet.entry) && packet.index == 9 {
                bench.answer(&packet, aborted());
                waits -= 1;
            }
        }
        let shares = long.map(|entry| sent.get(&entry).copied().unwrap_or(0));
        // Four of ten packets of a short one go on: two turns of twelve are the others'.
        let all: u64 = shares.iter().sum();
        assert!((190..=300).contains(&all), "{shares:?}");
        assert!(shares.iter().all(|&share| share.abs_diff(all / 5) <= 2), "{shares:?}");
    });
}

/// Any messages, that come, go and are granted more at any time: every packet once.
//= TX-17 test
#[test]
fn every_packet_has_one_turn() {
    for stall in Pattern::ALL {
        tb::run(&format!("tx_turns_random {stall:?}"), &design(), |dut, rng: &mut Rng| {
            let mut draws = rng.fork();
            let bench = &mut Bench::new(dut, rng, Pattern::Always, stall);
            bench.enable();
            patient(bench, 1);
            // Limits and next packets of those that live.
            let mut live = BTreeMap::<u64, (u64, u64)>::new();
            let mut first = BTreeMap::<u64, Packet>::new();
            let mut over = BTreeSet::new();
            let mut sequences = BTreeMap::<u64, u64>::new();
            let mut total = 0u64;
            for step in 0..3000 {
                let lengths = bench.posted.len() as u64;
                match draws.below(8) {
                    0 | 1 if live.len() < 40 && lengths < 400 => {
                        let log2 = draws.below(18);
                        let count = (1 << log2) + draws.below(1 << log2);
                        let window = 1 + draws.below(20);
                        let entry = bench.post(Request::packets(count, window));
                        live.insert(entry, (window.min(count), 0));
                    }
                    2 | 3 if !first.is_empty() => {
                        let packet = *draws.pick(&first.values().copied().collect::<Vec<_>>());
                        let (limit, next) = live.get_mut(&packet.entry).unwrap();
                        let count = bench.posted[packet.entry as usize].count();
                        *limit = count.min(*limit + draws.below(12));
                        let sequence = sequences.entry(packet.entry).or_default();
                        *sequence += 1;
                        let feedback = Feedback { grant: *limit, sequence: *sequence, ..Feedback::default() };
                        assert!(*next > 0);
                        bench.answer(&packet, feedback);
                    }
                    4 if first.len() > 10 && draws.chance(0.3) => {
                        let packet = *draws.pick(&first.values().copied().collect::<Vec<_>>());
                        bench.answer(&packet, aborted());
                        live.remove(&packet.entry);
                        first.remove(&packet.entry);
                        over.insert(packet.entry);
                    }
                    5 if draws.chance(0.05) => bench.set("turn_policy", draws.below(4)),
                    _ => {
                        let clocks = draws.below(40);
                        bench.clocks(clocks);
                    }
                }
                if step == 2999 {
                    bench.clocks(20_000);
                }
                while let Some(packet) = bench.packets.pop_front() {
                    total += 1;
                    if over.contains(&packet.entry) {
                        continue;
                    }
                    assert!(packet.is_new());
                    first.entry(packet.entry).or_insert(packet);
                    let (_, next) = live.get_mut(&packet.entry).unwrap();
                    assert_eq!(packet.index, *next, "of {}", packet.entry);
                    *next += 1;
                }
            }
            assert!(total > 1500, "{total}");
            for (entry, (limit, next)) in &live {
                let window = first.get(entry).map_or(u64::MAX, |packet| packet.window);
                let granted = sequences.contains_key(entry);
                let all = if granted { *limit } else { window.min(*limit) };
                assert_eq!(*next, all, "of {entry}");
            }
        });
    }
}

/// A slot is ended while it waits and taken by another message: that has the turn, and one.
//= TX-17 test
#[test]
fn a_slot_that_ends_while_it_waits_keeps_its_place() {
    run_in_order("tx_turns_ended", 1, |bench, expected| {
        begin(bench, expected);
        let long = expected.posts(bench, 3000, 9);
        let others = [expected.posts(bench, 3000, 9), expected.posts(bench, 100, 9)];
        let mut packets: Vec<Packet> = Vec::new();
        while packets.iter().all(|packet| packet.entry != long) {
            packets.push(bench.packet(3 * SLOW));
        }
        let ended = *packets.last().unwrap();
        bench.clocks(20);
        bench.answer(&ended, aborted());
        assert_eq!(bench.completion(3 * SLOW).entry, long);
        let next = bench.post(Request::packets(8, 8));
        for _ in packets.len()..1 + 1 + 9 + 9 + 8 {
            packets.push(bench.packet(3 * SLOW));
        }
        bench.quiet(4 * SLOW);
        let of = |entry| packets.iter().filter(|p| p.entry == entry).map(|p| p.index).collect::<Vec<_>>();
        assert!(packets.iter().any(|p| p.entry == next && p.slot == ended.slot));
        assert_eq!(of(next), (0..8).collect::<Vec<_>>());
        assert_eq!((of(long), of(others[0]).len(), of(others[1]).len()), (vec![0], 9, 9));
    });
}

/// Choosing among lists takes no clock from those who send.
#[test]
fn lists_cost_no_clocks() {
    let clocks = |policy: u64, counts: &[u64]| {
        let taken = std::sync::Mutex::new(0);
        run(&format!("tx_turns_clocks {policy}"), |bench| {
            patient(bench, policy);
            for &count in counts {
                bench.post(Request::packets(count, 100));
            }
            let packets = bench.take(100 * counts.len());
            *taken.lock().unwrap() = packets.last().unwrap().clock - packets[0].clock;
        });
        let taken = *taken.lock().unwrap();
        println!(
            "{counts:?}, policy {policy}: {:.2} clocks a packet",
            taken as f64 / (100 * counts.len()) as f64
        );
        taken
    };
    for counts in [&[100, 260, 1100, 5000, 20_000, 300][..], &[200, 20_000]] {
        let [one, lists] = [0, 1].map(|policy| clocks(policy, counts));
        assert!(lists <= one + 10, "{lists} instead of {one}");
    }
}
