//! Whole messages from simulated senders over a network that loses, repeats
//! and reorders.

use super::bench::{Bench, Registers, REGISTERS};
use super::reference::*;
use super::{design, message};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use tessera_sim::tb::{self, Pattern, Rng};

/// What the network does to packets.
#[derive(Clone, Copy, Debug)]
struct Weather {
    loss: f64,
    repeat: f64,
    /// Ticks a packet may be late.
    skew: u64,
    /// Chance of a packet with a wrong tag, and of one beyond the grant.
    wrong: f64,
    /// Chance that a message's sender falls silent half way, or replaces it.
    dies: f64,
    replaces: f64,
    fence_error: f64,
}

/// A sender's side of a message, as little of it as the receiver needs.
struct Sender {
    first: Packet,
    next: u64,
    grant: u64,
    again: BTreeSet<u64>,
    heard: u64,
    /// Falls silent at this index.
    dies_at: u64,
    /// Its rights are gone from this index on.
    denied_at: u64,
    replaced_at: u64,
    sent_away: bool,
}

struct Network<'a, 'b> {
    bench: &'a mut Bench<'b>,
    rng: Rng,
    weather: Weather,
    senders: BTreeMap<u64, Sender>,
    /// By arrival tick and a running number.
    flying: BTreeMap<(u64, u64), Packet>,
    serial: u64,
    heard_of: usize,
}

impl Network<'_, '_> {
    fn launch(&mut self, packet: Packet) {
        let copies = 1 + u64::from(self.rng.chance(self.weather.repeat));
        for _ in 0..copies {
            if self.rng.chance(self.weather.loss) {
                continue;
            }
            let at = self.bench.now + 10 + self.rng.below(self.weather.skew + 1);
            self.serial += 1;
            self.flying.insert((at, self.serial), packet.clone());
        }
    }

    /// One packet of a sender, if it has one to send.
    fn send(&mut self, generation: u64) {
        let now = self.bench.now;
        let mut out = None;
        let sender = self.senders.get_mut(&generation).unwrap();
        let count = sender.first.count();
        let mut packet = Packet { verdict: 0, timestamp: now, ..sender.first.clone() };
        packet.mac ^= self.rng.below(2);
        packet.ev = self.rng.below(4);
        packet.ce = self.rng.chance(0.02);
        if sender.next >= sender.dies_at {
            return;
        }
        if let Some(index) = sender.again.pop_first() {
            packet.index = index;
            packet.flags |= RETX;
            out = Some(packet);
        } else if sender.next < sender.grant {
            packet.index = sender.next;
            sender.next += 1;
            if sender.next == sender.grant || sender.next == count || self.rng.chance(0.05) {
                packet.flags |= AR;
            }
            sender.heard = now;
            out = Some(packet);
        } else if now - sender.heard > 400 {
            sender.heard = now;
            packet.probe = true;
            packet.index = sender.next;
            out = Some(packet);
        }
        let Some(mut packet) = out else { return };
        if self.rng.chance(self.weather.wrong) {
            let strange = match self.rng.below(3) {
                0 if packet.flags & WRITE != 0 => {
                    Packet { rkey: packet.rkey ^ 1 << self.rng.below(32), ..packet.clone() }
                }
                1 => Packet { flags: packet.flags ^ WRITE, ..packet.clone() },
                _ => Packet { tag: packet.tag ^ 1 << self.rng.below(64), ..packet.clone() },
            };
            self.launch(strange);
        }
        if self.rng.chance(self.weather.wrong) && !packet.probe {
            let beyond = Packet { index: count - 1, ..packet.clone() };
            self.launch(beyond);
        }
        packet.imm = self.senders[&generation].first.imm;
        self.launch(packet);
    }

    /// Hands over what has arrived, as lookup would.
    fn deliver(&mut self) {
        if !self.bench.open() {
            return;
        }
        let Some((&key, _)) = self.flying.first_key_value().filter(|(key, _)| key.0 <= self.bench.now) else {
            return;
        };
        let mut packet = self.flying.remove(&key).unwrap();
        packet.arrival = self.bench.now;
        let generation = packet.generation;
        if let Some(message) = self.bench.messages.get(&generation) {
            if message.freed || self.bench.owners.get(&message.context) != Some(&generation) {
                return;
            }
            packet.context = message.context;
            let sender = self.senders.get_mut(&generation).unwrap();
            packet.denied = packet.flags & WRITE != 0 && sender.next >= sender.denied_at;
            if sender.next >= sender.replaced_at && !sender.sent_away {
                sender.sent_away = true;
                packet.verdict = 3;
                packet.released = self.rng.chance(0.5);
            }
            // After its end the lookup answers; only words on their way come.
            if matches!(message.phase, Phase::Buried) {
                return;
            }
        } else {
            let free = (0..16).find(|context| !self.bench.owners.contains_key(context));
            let (Some(context), true) = (free, self.bench.block_ready()) else { return };
            packet.verdict = 1;
            if packet.flags & WRITE != 0 {
                packet.buffer = packet.tag;
            }
            packet.context = context;
            let sender = self.senders.get_mut(&generation).unwrap();
            // The first to arrive opens with what it says.
            sender.first.tag = packet.tag;
            sender.first.rkey = packet.rkey;
            sender.first.flags = sender.first.flags & !WRITE | packet.flags & WRITE;
        }
        self.bench.offer(&packet);
    }

    fn hear(&mut self) {
        while self.heard_of < self.bench.seen.len() {
            let seen = self.bench.seen[self.heard_of].clone();
            self.heard_of += 1;
            if self.rng.chance(self.weather.loss) {
                continue;
            }
            let now = self.bench.now;
            let Some(sender) = self.senders.get_mut(&seen.generation) else { continue };
            sender.heard = now;
            sender.grant = sender.grant.max(seen.grant);
            if seen.flags & NACK != 0 {
                for i in 0..256 {
                    let missing = seen.bits[i / 64] >> (i % 64) & 1 == 0;
                    let index = seen.base + i as u64;
                    if missing && index < seen.limit.min(sender.next) {
                        sender.again.insert(index);
                    }
                }
            }
        }
    }

    fn ended(&self, generation: u64) -> bool {
        self.bench.messages.get(&generation).is_some_and(|m| m.phase == Phase::Buried || m.freed)
    }
}

/// All messages end as they should, and give everything back. Returns how many
/// blocks of the pool were free when fewest were.
fn storm(
    test: &str,
    registers: Registers,
    weather: Weather,
    stall: Pattern,
    lengths: &[u64],
    parallel: usize,
) -> u64 {
    let fewest = Cell::new(u64::MAX);
    tb::run(&format!("rx_context::{test}"), &design(), |dut, rng| {
        let mut bench = Bench::new(dut, registers, stall, rng);
        bench.fence_error = weather.fence_error;
        bench.clocks_per_tick = 14;
        let blocks = bench.free_blocks();
        let mut waiting: Vec<Packet> = lengths
            .iter()
            .enumerate()
            .map(|(i, length)| {
                let mut first = message(i as u64, *length, *rng.pick(&[1, 3, 8, 16, 60, 255, 0]));
                first.log2 = *rng.pick(&[8, 8, 9, 12]);
                first.gid = [rng.next_u64(), rng.next_u64()];
                first.rtt = *rng.pick(&[0, 30, 90]);
                first.slot = rng.below(4096);
                if rng.chance(0.4) {
                    (first.flags, first.round) = (ROUND, 250 + rng.below(4));
                }
                if rng.chance(0.3) {
                    (first.flags, first.imm) = (first.flags | IMM, rng.bits(32));
                }
                if rng.chance(0.4) {
                    first.flags |= WRITE;
                    first.rkey = rng.bits(32);
                }
                first
            })
            .collect();
        let mut network = Network {
            bench: &mut bench,
            rng: rng.fork(),
            weather,
            senders: BTreeMap::new(),
            flying: BTreeMap::new(),
            serial: 0,
            heard_of: 0,
        };
        let (mut live, mut last_tick): (Vec<u64>, u64) = (Vec::new(), 0);
        let (start, mut turn) = (network.bench.now, 0);
        while !(live.is_empty() && waiting.is_empty()) {
            if live.len() < parallel {
                if let Some(first) = waiting.pop() {
                    let (count, generation) = (first.count(), first.generation);
                    let window = if first.window == 0 { 256 } else { first.window };
                    let half = 1 + network.rng.below(count);
                    let fate = |chance: bool| if chance { half } else { u64::MAX };
                    let dies_at = fate(network.rng.chance(weather.dies));
                    let denied_at = fate(network.rng.chance(weather.dies));
                    let replaced_at = fate(network.rng.chance(weather.replaces));
                    network.senders.insert(
                        generation,
                        Sender {
                            grant: window.min(count),
                            first,
                            next: 0,
                            again: BTreeSet::new(),
                            heard: network.bench.now,
                            dies_at,
                            denied_at,
                            replaced_at,
                            sent_away: false,
                        },
                    );
                    if network.rng.chance(0.2) {
                        let (id, messages) = (250 + network.rng.below(4), network.rng.below(9));
                        network.bench.register(id, messages);
                    }
                    live.push(generation);
                }
            }
            if network.bench.now != last_tick {
                last_tick = network.bench.now;
                // The senders share a link of about a packet per tick.
                if !live.is_empty() {
                    turn += 1;
                    network.send(live[turn % live.len()]);
                }
            }
            network.deliver();
            network.bench.clock();
            fewest.set(fewest.get().min(network.bench.free_blocks()));
            network.hear();
            let silent = |g: &u64| {
                // Died before anything of it arrived: there is nothing to end.
                let sender = &network.senders[g];
                sender.next >= sender.dies_at
                    && !network.bench.messages.contains_key(g)
                    && !network.flying.values().any(|p| p.generation == *g)
            };
            let over: Vec<u64> = live.iter().copied().filter(|g| network.ended(*g) || silent(g)).collect();
            live.retain(|g| !over.contains(g));
            assert!(network.bench.now - start < 400_000, "messages {live:?} do not end");
        }
        while !network.bench.idle() {
            network.bench.clock();
        }
        let senders = std::mem::take(&mut network.senders);
        bench.settle(20_000);
        assert_eq!(bench.free_blocks(), blocks, "blocks return");
        for (generation, message) in &bench.messages {
            let sender = &senders[generation];
            let fated = sender.dies_at.min(sender.denied_at) != u64::MAX
                || sender.sent_away
                || weather.fence_error > 0.0;
            if !fated {
                assert_eq!(message.status, SUCCESS, "{generation} of {} packets", message.count());
            }
            assert_eq!(
                message.status == SUCCESS,
                message.arrived.iter().all(|a| *a) && message.status != REMOTE_DMA
            );
        }
    });
    fewest.get()
}

const FAIR: Weather =
    Weather { loss: 0.0, repeat: 0.0, skew: 15, wrong: 0.0, dies: 0.0, replaces: 0.0, fence_error: 0.0 };

#[test]
fn mixed_messages_arrive_whole() {
    let lengths: Vec<u64> = (0..40).map(|i| [0, 1, 255, 256, 257, 5000, 60_000, 300_000][i % 8]).collect();
    storm("mixed", REGISTERS, FAIR, Pattern::Always, &lengths, 12);
}

#[test]
fn mixed_messages_survive_loss_repeats_and_reordering() {
    let weather = Weather { loss: 0.05, repeat: 0.05, skew: 30, wrong: 0.02, ..FAIR };
    let lengths: Vec<u64> = (0..40).map(|i| [1, 300, 5000, 60_000, 200_000][i % 5]).collect();
    storm("loss", REGISTERS, weather, Pattern::Bursty, &lengths, 16);
}

#[test]
fn three_thousand_packets_with_loss_in_a_small_pool() {
    let weather = Weather { loss: 0.02, repeat: 0.01, skew: 20, ..FAIR };
    let registers = Registers { grant_quantum: 100, credit_limit: 1 << 22, ..REGISTERS };
    // Fourteen windows of four blocks each, of 32.
    let fewest = storm("long", registers, weather, Pattern::Random(0.5), &[768_000; 14], 14);
    assert_eq!(fewest, 0, "the pool never ran dry");
}

#[test]
fn senders_that_die_or_change_their_mind_cost_nothing() {
    let weather = Weather { loss: 0.03, repeat: 0.02, dies: 0.25, replaces: 0.25, fence_error: 0.1, ..FAIR };
    let registers = Registers { rx_give_up: 2500, ..REGISTERS };
    let lengths: Vec<u64> = (0..60).map(|i| [1, 2000, 20_000, 100_000][i % 4]).collect();
    storm("ends", registers, weather, Pattern::Bursty, &lengths, 16);
}

#[test]
fn little_credit_is_enough_for_all() {
    let weather = Weather { loss: 0.03, ..FAIR };
    let registers = Registers { credit_limit: 8192, credit_policy: 7, ..REGISTERS };
    storm("credit", registers, weather, Pattern::Alternate, &[40_000; 24], 16);
}
