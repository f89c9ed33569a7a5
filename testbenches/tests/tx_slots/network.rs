//! Thousands of messages to a receiver behind a network that loses, delays and
//! reorders, in both directions.
//!
//! The receiver is the simplest that the rules allow: it grants, acknowledges,
//! asks for holes and repeats its last word. What it never does is tell a lie,
//! so every message must come to its end, and the sender must never go beyond
//! what it was told.

use crate::bench::{Bench, Completion, Feedback, Packet, Request, SMALL};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use tessera_abi::status::Status;
use tessera_abi::wire::{fb, flag};
use tessera_sim::tb::{self, Pattern, Rng};

/// UNSOLICITED_LIMIT here.
const LIMIT: u64 = 60_000;

struct Weather {
    loss: f64,
    /// Largest delay in clocks; the least is 20.
    delay: u64,
    busy: f64,
    failed_reads: f64,
    messages: u64,
}

/// What the receiver holds of a message.
struct Context {
    arrived: BTreeSet<u64>,
    grant: u64,
    sequence: u64,
    since_feedback: u64,
    complete: bool,
    /// Asked for again and not come yet: that many retransmissions may come.
    asked: BTreeMap<u64, u64>,
    /// First transmissions seen at the sender's output.
    sent_new: u64,
    last_nack: u64,
}

impl Context {
    fn cumulative(&self) -> u64 {
        (0..).find(|index| !self.arrived.contains(index)).unwrap()
    }
}

enum Flying {
    Data(Packet),
    Feedback(Packet, Feedback),
}

struct World<'a, 'b> {
    bench: &'a mut Bench<'b>,
    rng: Rng,
    weather: Weather,
    contexts: BTreeMap<u64, Context>,
    air: BTreeMap<u64, Flying>,
    /// (arrival clock, number), earliest first.
    due: BinaryHeap<std::cmp::Reverse<(u64, u64)>>,
    number: u64,
    outcomes: BTreeMap<u64, Completion>,
    retransmitted: u64,
    probes: u64,
    /// Unasked bytes of messages that have more than the limit.
    large: BTreeSet<u64>,
}

impl World<'_, '_> {
    fn fly(&mut self, what: Flying) {
        if self.rng.chance(self.weather.loss) {
            return;
        }
        let copies = 1 + u64::from(self.rng.chance(0.01));
        for _ in 0..copies {
            let at = self.bench.clocks_run() + 20 + self.rng.below(self.weather.delay);
            let again = match &what {
                Flying::Data(packet) => Flying::Data(*packet),
                Flying::Feedback(packet, feedback) => Flying::Feedback(*packet, *feedback),
            };
            self.air.insert(self.number, again);
            self.due.push(std::cmp::Reverse((at, self.number)));
            self.number += 1;
        }
    }

    /// The sender's own rules, at its output.
    fn leave(&mut self, packet: Packet) {
        let entry = packet.entry;
        assert!(!self.outcomes.contains_key(&entry), "{packet:?} after its completion");
        let request = self.bench.posted[entry as usize];
        let window = request.window.min(request.count());
        let context = self.contexts.entry(entry).or_insert(Context {
            arrived: BTreeSet::new(),
            grant: window,
            sequence: 0,
            since_feedback: 0,
            complete: false,
            asked: BTreeMap::new(),
            sent_new: 0,
            last_nack: 0,
        });
        if packet.probe {
            assert_eq!(packet.index, context.sent_new);
            self.probes += 1;
        } else if packet.is_new() {
            assert_eq!(packet.index, context.sent_new, "each index once, in order");
            assert!(packet.index < context.grant, "never beyond window and grant");
            context.sent_new += 1;
        } else {
            assert!(packet.index < context.sent_new);
            let asked = context.asked.get_mut(&packet.index).expect("asked for");
            assert!(*asked > 0, "{packet:?} was not asked for again");
            *asked -= 1;
            self.retransmitted += 1;
        }
        self.fly(Flying::Data(packet));
    }

    fn arrive(&mut self, packet: Packet) {
        let now = self.bench.clocks_run();
        let request = self.bench.posted[packet.entry as usize];
        let count = request.count();
        let context = self.contexts.get_mut(&packet.entry).unwrap();
        if !context.complete
            && context.arrived.is_empty()
            && !packet.has(flag::EST)
            && self.rng.chance(self.weather.busy)
        {
            return self.fly(Flying::Feedback(packet, Feedback { flags: fb::BUSY, ..Feedback::default() }));
        }
        if !packet.probe {
            assert!(packet.index < context.grant);
            if context.arrived.insert(packet.index) {
                context.since_feedback += 1;
            }
        }
        context.complete |= context.arrived.len() as u64 == count;
        let cumulative = context.cumulative();
        if context.complete {
            context.sequence += 1;
            let feedback = Feedback {
                flags: fb::COMPLETE,
                cumulative,
                grant: count,
                sequence: context.sequence,
                sample: Some((now - packet.clock) / 16),
                ..Feedback::default()
            };
            return self.fly(Flying::Feedback(packet, feedback));
        }
        if !(packet.probe || packet.has(flag::AR) || context.since_feedback >= 8) {
            return;
        }
        context.since_feedback = 0;
        context.sequence += 1;
        if self.rng.chance(0.7) {
            let ahead = (cumulative & !255) + 1024;
            context.grant = (context.grant + self.rng.below(40)).min(ahead).min(count).max(context.grant);
        }
        // Ask for holes: everything below what this packet proves was sent,
        // no more often than every two round trips.
        let highest = context.arrived.last().map_or(0, |last| last + 1);
        let limit = if packet.probe { packet.index } else { highest };
        let base = cumulative & !255;
        let mut bitmap = [0u64; 4];
        for &index in context.arrived.range(base..base + 256) {
            bitmap[(index - base) as usize / 64] |= 1 << (index % 64);
        }
        let holes: Vec<u64> =
            (base..limit.min(base + 256)).filter(|index| !context.arrived.contains(index)).collect();
        let nack = !holes.is_empty() && now > context.last_nack + 4 * self.weather.delay;
        if nack {
            context.last_nack = now;
            for index in holes {
                *context.asked.entry(index).or_default() += 1;
            }
        }
        let feedback = Feedback {
            flags: if nack { fb::NACK } else { 0 },
            cumulative,
            grant: context.grant,
            sequence: context.sequence,
            base,
            limit: if nack { limit } else { 0 },
            bitmap,
            sample: (!packet.probe).then_some((now - packet.clock) / 16),
            ..Feedback::default()
        };
        // A duplicated NACK is one request: its copy has an old sequence.
        self.fly(Flying::Feedback(packet, feedback));
    }

    fn clock(&mut self) {
        self.bench.clock();
        while let Some(packet) = self.bench.packets.pop_front() {
            self.leave(packet);
        }
        while let Some(done) = self.bench.done.pop_front() {
            let entry = self.bench.owner[&(done.slot, done.generation)];
            assert!(self.outcomes.insert(entry, done).is_none(), "{done:?} completed twice");
        }
        while let Some(&std::cmp::Reverse((at, number))) = self.due.peek() {
            if at > self.bench.clocks_run() {
                break;
            }
            self.due.pop();
            match self.air.remove(&number).unwrap() {
                Flying::Data(packet) => self.arrive(packet),
                Flying::Feedback(packet, feedback) => self.bench.answer(&packet, feedback),
            }
        }
        // More than the limit only if one message alone is more.
        let unasked = self.bench.unsolicited();
        assert!(unasked <= LIMIT || self.large.contains(&unasked), "{unasked} unasked bytes");
    }
}

fn weather(test: &str, idle: Pattern, stall: Pattern, weather: impl Fn() -> Weather) {
    tb::run(test, &crate::bench::design(), |dut, rng| {
        let weather = weather();
        let mut bench = Bench::new(dut, rng, idle, stall);
        bench.set("unsolicited_limit", LIMIT);
        bench.set("max_retry", 30);
        bench.set("grant_wait", 1 << 20);
        bench.set("t_open", 1 << 20);
        bench.enable();
        bench.sent_after = Some(5 + rng.below(60));
        let mut reads = rng.fork();
        let failed_reads = weather.failed_reads;
        bench.fail = Box::new(move |_| reads.chance(failed_reads));
        let messages = weather.messages;
        let mut world = World {
            bench: &mut bench,
            rng: rng.fork(),
            weather,
            contexts: BTreeMap::new(),
            air: BTreeMap::new(),
            due: BinaryHeap::new(),
            number: 0,
            outcomes: BTreeMap::new(),
            retransmitted: 0,
            probes: 0,
            large: BTreeSet::new(),
        };
        for _ in 0..messages {
            let payload_log2 = world.rng.range(8..13);
            let length = match world.rng.below(4) {
                0 => world.rng.below(300),
                1 => world.rng.below(40) << payload_log2,
                2 => world.rng.below(20_000),
                _ => world.rng.below(1 << 17),
            };
            let entry = world.bench.posted.len() as u64;
            let request = Request {
                length,
                payload_log2,
                window: world.rng.range(1..40),
                dst_gid: 0xFFFF_0A00_0000 + world.rng.below(5) as u128,
                dst_endpoint: world.rng.below(1 << 24),
                endpoint: world.rng.below(256),
                address: world.rng.next_u64(),
                imm: world.rng.chance(0.3).then_some(entry),
                round: world.rng.chance(0.3).then_some(entry & 0xFFFF),
                host_recovery: world.rng.chance(0.3),
            };
            let unasked = (request.window << payload_log2).min(length);
            if unasked > LIMIT {
                // TX-14 may have cut its window.
                world.large.extend((1..=request.window).map(|window| (window << payload_log2).min(length)));
            }
            world.bench.post(request);
        }
        let mut last = (0, 0);
        while (world.outcomes.len() as u64) < messages {
            world.clock();
            if world.outcomes.len() != last.1 {
                last = (world.bench.clocks_run(), world.outcomes.len());
            }
            let waited = world.bench.clocks_run() - last.0;
            assert!(waited < 4_000_000, "{} of {messages} messages ended, then none", last.1);
        }
        // Late packets of the network find nobody.
        while !world.due.is_empty() {
            world.clock();
        }
        let mut failed = 0;
        for (entry, done) in &world.outcomes {
            let complete = world.contexts[entry].complete;
            if done.status == Status::Success as u64 {
                assert!(complete, "{done:?} was not delivered");
            } else {
                failed += 1;
                assert_eq!(done.status, Status::LocalDma as u64, "{done:?}");
            }
        }
        println!(
            "{test}: {messages} messages, {failed} failed, {} retransmissions, {} PROBEs, {} clocks",
            world.retransmitted,
            world.probes,
            world.bench.clocks_run()
        );
        assert_eq!(failed > 0, failed_reads > 0.0);
        world.bench.clocks(10);
        let (opened, ended) = (world.bench.event("tx_opened"), world.bench.event("tx_completed"));
        assert_eq!((opened, ended + world.bench.event("tx_failed")), (messages, messages));
        assert_eq!(world.bench.event("feedback_forged"), 0);
        assert_eq!(world.bench.event("feedback_nonsense"), 0);
        bench.ticks(500);
        bench.at_rest();
        assert_eq!(SMALL.tx_slots_log2, 6);
    });
}

#[test]
fn fair_weather() {
    weather("tx_network_fair", Pattern::Always, Pattern::Always, || Weather {
        loss: 0.0,
        delay: 200,
        busy: 0.0,
        failed_reads: 0.0,
        messages: 1500,
    });
}

#[test]
fn loss_and_reordering() {
    weather("tx_network_loss", Pattern::Random(0.5), Pattern::Random(0.5), || Weather {
        loss: 0.05,
        delay: 1200,
        busy: 0.0,
        failed_reads: 0.0,
        messages: 1500,
    });
}

#[test]
fn a_refusing_receiver() {
    weather("tx_network_busy", Pattern::Bursty, Pattern::Bursty, || Weather {
        loss: 0.02,
        delay: 800,
        busy: 0.3,
        failed_reads: 0.0,
        messages: 800,
    });
}

#[test]
fn failing_reads() {
    weather("tx_network_dma", Pattern::Alternate, Pattern::Bursty, || Weather {
        loss: 0.02,
        delay: 600,
        busy: 0.05,
        failed_reads: 0.002,
        messages: 1000,
    });
}
