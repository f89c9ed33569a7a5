//! What a round of a soak is made of, drawn from its seed.

use std::fmt;

use tessera_abi::wire::Form;
use tessera_model::settings::{PathPolicy, Settings};
use tessera_sim::fabric::{DeadPath, FabricOptions, Faults, Loss};
use tessera_sim::nic::{DmaOptions, NicOptions};
use tessera_sim::tb::Rng;

use super::strays::Often;

/// DATA packets that a round sends, about; enough for its opening not to count.
const PACKETS: u64 = 12_000;
/// Most packets of a message: beyond a grant's window of 1024.
const LONGEST: u64 = 1500;
/// Messages that a NIC may have open and receives that may be posted; half of
/// this many must be told apart by one byte.
const OPEN: u64 = 96;
/// Different tags that tagged receives are posted for.
const TAGS: u64 = 6;
/// Bytes per clock of a link to a NIC: a frame of two beats every six clocks, so
/// that several that send to one and copies wait in the fabric and none is dropped
/// for want of buffer. Then everything is demanded of a NIC, not only permitted.
const PORT_RATE: f64 = 21.0;
/// Most ends of a path that is dead for a while: long before anybody gives up.
const DEAD_CLOCKS: u64 = 40_000;

/// The endpoints that take messages, on every NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// Receives of its own.
    Own,
    /// Two that share a receive ring.
    SharedA,
    SharedB,
    /// Messages are matched by tag.
    Tagged,
}

impl Port {
    pub const ALL: [Self; 4] = [Self::Own, Self::SharedA, Self::SharedB, Self::Tagged];
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Send,
    Write,
    /// A write with an immediate.
    Notify,
}

/// A message to send.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub to: usize,
    /// Endpoint it leaves, and the one it goes to.
    pub ports: (Port, Port),
    pub kind: Kind,
    pub len: usize,
    pub payload_log2: u8,
    /// Where its bytes are among the sender's.
    pub start: usize,
    /// Of a write, where they go in the receiver's window.
    pub place: usize,
    /// Of a send to an endpoint that matches tags; else its number is in the tag.
    pub tag: u64,
    /// The receiver's round it is part of.
    pub round: Option<u16>,
    /// The sender tells its number by immediate too.
    pub immediate: bool,
    /// Sent for the receiver's software to recover.
    pub by_host: bool,
}

/// How software recovers what comes to [`Port::Own`].
#[derive(Clone, Copy, Debug)]
pub struct Recovery {
    /// Packets per chunk.
    pub chunk: u32,
    /// Most packets of a message to that port.
    pub most_packets: u32,
    /// Polls without news after which it asks again.
    pub patience: u32,
    /// How often it ends a message as it is instead.
    pub partial: f64,
}

/// What messages look like, all in all.
#[derive(Clone, Copy, Debug)]
enum Sizes {
    /// One packet each, a small one.
    Tiny,
    /// Up to a few packets.
    Short,
    /// Everything.
    Mixed,
    /// Dozens of packets and more.
    Long,
}

/// How a host goes about it.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// Messages it keeps open.
    pub open: usize,
    /// Receives it keeps posted per ring.
    pub posted: usize,
    /// How often it turns to its sends or its receives.
    pub diligence: [f64; 2],
    /// Datagrams it sends in all.
    pub datagrams: usize,
    /// How often it takes a tagged receive back.
    pub cancels: f64,
}

/// A round, ready to run. Its text names all that was drawn.
#[derive(Debug)]
pub struct Round {
    pub seed: u64,
    pub nics: usize,
    pub fabric: FabricOptions,
    pub nic: NicOptions,
    pub settings: Settings,
    /// Of paths, for policy `weighted`.
    pub weights: Vec<u32>,
    pub form: Form,
    sizes: Sizes,
    /// RX_QUOTA of each endpoint.
    pub quotas: [u16; 4],
    /// By sender.
    pub messages: Vec<Vec<Message>>,
    /// Rounds that each NIC registers, and of how many messages.
    pub rounds: Vec<Vec<(u16, u16)>>,
    /// Bytes of each NIC that others write.
    pub windows: Vec<usize>,
    pub habits: Vec<Habits>,
    pub pause: f64,
    /// Rounds in which receives of [`Port::Own`] have chunk areas.
    pub recovery: Option<Recovery>,
    /// Frames that none of the NICs sent.
    pub strays: Often,
}

fn settings(rng: &mut Rng, paths: usize) -> Settings {
    use PathPolicy::{Random, Recycle, RoundRobin, Single, Weighted};
    // A table of weights takes long to write.
    let policy = if rng.chance(0.08) { Weighted } else { *rng.pick(&[Single, RoundRobin, Random, Recycle]) };
    let mut draw = |from: u64, to: u64| rng.range(from..to + 1) as u32;
    Settings {
        path_policy: policy,
        path_count: if draw(0, 1) == 0 { paths as u32 } else { draw(1, 256) },
        path_base: draw(0, 255) as u8,
        gap0: draw(16, 1024),
        skew0: draw(16, 256),
        skew_max: draw(256, 1024),
        guard: draw(8, 64),
        d_min: draw(16, 128),
        rtt_default: draw(80, 400),
        rto: draw(400, 1600),
        answer0: draw(200, 800),
        ld_policy: draw(1, 2),
        rto_round: draw(100, 400),
        nack_burst: draw(1, 4),
        ack_every: draw(1, 64),
        initial_window: draw(1, 64),
        unsolicited_limit: draw(1 << 15, 1 << 20),
        credit_limit: draw(1 << 15, 1 << 20),
        // From a packet to all that is ever granted.
        credit_each: draw(1 << 12, 1 << 22),
        credit_policy: draw(0, 7),
        credit_delay: draw(64, 512),
        grant_quantum: draw(1, 64),
        busy_wait: draw(80, 400),
        release_low: draw(0, 7),
        turn_policy: draw(0, 3),
        dscp: draw(0, (1 << 30) - 1),
        class_sizes: draw(0, (1 << 15) - 1),
        ..Settings::default()
    }
}

fn faults(rng: &mut Rng, paths: usize) -> Faults {
    let rate = *rng.pick(&[1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 5e-2, 1e-1]);
    let loss = match rng.below(4) {
        0 => Loss::None,
        1 => Loss::Bursty { mean: rate, burst: rng.range(2..9) as f64 },
        _ => Loss::Uniform(rate),
    };
    let often = |rng: &mut Rng| if rng.chance(0.5) { 0.0 } else { *rng.pick(&[1e-3, 1e-2, 5e-2]) };
    let mut dead_paths = Vec::new();
    if rng.chance(0.2) {
        let from = rng.range(5_000..60_000);
        let until = from + rng.range(2_000..DEAD_CLOCKS);
        dead_paths.push(DeadPath { path: rng.below(paths as u64) as usize, from, until });
    }
    Faults {
        loss,
        duplicate: often(rng),
        max_copies: rng.range(1..16) as u32,
        corrupt: often(rng) / 5.0,
        mark: often(rng) * 4.0,
        dead_paths,
        ..Faults::default()
    }
}

impl Sizes {
    fn message(self, rng: &mut Rng) -> (usize, u8) {
        // Small payloads make more packets per clock; large ones are rare.
        let payload_log2 = *rng.pick(&[8, 8, 8, 8, 8, 8, 9, 9, 10, 11, 12]);
        let payload = 1u64 << payload_log2;
        let len = match (self, rng.below(10)) {
            (_, 0) => *rng.pick(&[0, 2, payload - 1, payload, payload + 1, 2 * payload]),
            (Self::Tiny, _) => rng.range(2..257),
            (Self::Short, _) => rng.below(8 * payload),
            (Self::Mixed, 1..=4) => rng.below(payload + 1),
            (Self::Mixed, 5..=7) => rng.below(16 * payload),
            (Self::Mixed, 8) | (Self::Long, 1..=6) => rng.below(200 * payload),
            // The longest are for small payloads: they say the same with fewer clocks.
            _ => rng.below(LONGEST.min(1 << (19 - payload_log2)) * payload),
        };
        // One byte is too little to tell messages apart by.
        (if len == 1 { 2 } else { len as usize }, payload_log2)
    }
}

impl Round {
    /// The round of a seed.
    pub fn draw(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let nics = *rng.pick(&[2, 2, 2, 3, 3, 4]);
        let paths = *rng.pick(&[1, 2, 4, 4, 8]);
        let base = rng.range(100..400);
        let skew = base * *rng.pick(&[0, 0, 1, 2, 3, 5, 10]);
        let faults = faults(&mut rng, paths);
        let mark_above = rng.chance(0.3).then(|| 1 << rng.range(9..14));
        let fabric = FabricOptions {
            faults,
            mark_above,
            port_rate: PORT_RATE,
            ..FabricOptions::new(paths, base, skew, seed)
        };
        let mut dma = || {
            let read = rng.range(20..300);
            let write = rng.range(20..250);
            let delay = |least: u64, rng: &mut Rng| (least, least + rng.below(150));
            DmaOptions { read_delay: delay(read, &mut rng), write_delay: delay(write, &mut rng), ready: 1.0 }
        };
        let nic = NicOptions { dma_ctrl: dma(), dma_data: dma(), tx_stall: 0.0, seed };
        let settings = settings(&mut rng, paths);
        let weights = (0..settings.path_count).map(|_| rng.below(5) as u32).collect();
        let sizes = *rng.pick(&[Sizes::Tiny, Sizes::Short, Sizes::Mixed, Sizes::Mixed, Sizes::Long]);
        let tenants = rng.chance(0.5);
        let writes = *rng.pick(&[0.0, 0.2, 0.5]);
        let immediates = *rng.pick(&[0.0, 0.5]);
        let in_rounds = *rng.pick(&[0.0, 0.4]);
        let mut messages = vec![Vec::new(); nics];
        let (mut bytes, mut windows) = (vec![0; nics], vec![0; nics]);
        let mut rounds = vec![vec![(0, 0)]; nics];
        let mut packets = 0;
        while packets < PACKETS {
            let from = rng.below(nics as u64) as usize;
            let to = (from + 1 + rng.below(nics as u64 - 1) as usize) % nics;
            let (len, payload_log2) = sizes.message(&mut rng);
            let mut port = || if tenants { *rng.pick(&Port::ALL) } else { Port::Own };
            let ports = (port(), port());
            let kind = match rng.chance(writes) {
                true => *rng.pick(&[Kind::Write, Kind::Notify]),
                false => Kind::Send,
            };
            let (start, place) = (bytes[from], windows[to]);
            bytes[from] += len;
            windows[to] += if kind == Kind::Send { 0 } else { len };
            let round = (ports.1 == Port::Own && rng.chance(in_rounds)).then(|| {
                let of = &mut rounds[to];
                let (mut id, _) = of[of.len() - 1];
                if rng.chance(0.1) {
                    id += 1;
                    of.push((id, 0));
                }
                of.last_mut().map_or(id, |(id, count)| {
                    *count += 1;
                    *id
                })
            });
            let (tag, immediate) = (rng.below(TAGS), rng.chance(immediates));
            messages[from].push(Message {
                to,
                ports,
                kind,
                len,
                payload_log2,
                start,
                place,
                tag,
                round,
                immediate,
                by_host: false,
            });
            packets += (len as u64).div_ceil(1 << payload_log2).max(1);
        }
        let datagrams = *rng.pick(&[0, 0, 100, 600]);
        let quota = |rng: &mut Rng| if rng.chance(0.7) { 0 } else { rng.range(1..24) as u16 };
        let quotas = [(); 4].map(|()| if tenants { quota(&mut rng) } else { 0 });
        let cancels = *rng.pick(&[0.0, 0.05, 0.5]);
        let diligence = [(); 2].map(|()| *rng.pick(&[1.0, 1.0, 1.0, 0.3, 0.05]));
        let habits = (0..nics).map(|_| Habits {
            open: 8 + rng.below(OPEN) as usize,
            posted: 2 + rng.below(48) as usize,
            diligence,
            datagrams,
            cancels,
        });
        let habits = habits.collect();
        let pause = *rng.pick(&[0.0, 0.0, 0.001, 0.003]);
        let form = *rng.pick(&Form::ALL);
        let recovery = Self::recovery(seed, &mut messages);
        let strays = Self::strays(seed);
        Self {
            seed,
            nics,
            fabric,
            nic,
            settings,
            weights,
            form,
            sizes,
            quotas,
            messages,
            rounds,
            windows,
            habits,
            pause,
            recovery,
            strays,
        }
    }

    /// How often stray frames come, if any do. Drawn apart from all else.
    fn strays(seed: u64) -> Often {
        let mut rng = Rng::new(seed ^ 0x006F_6674_656E);
        let chance = *rng.pick(&[0.0, 0.02, 0.2]);
        Often { chance, most: *rng.pick(&[1, 3, 40]) }
    }

    /// Has software recover some messages. Drawn apart from all else.
    fn recovery(seed: u64, messages: &mut [Vec<Message>]) -> Option<Recovery> {
        let mut rng = Rng::new(seed ^ 0x6368_756E_6B73);
        if !rng.chance(0.3) {
            return None;
        }
        let share = *rng.pick(&[0.3, 1.0]);
        let mut most = 1;
        for message in messages.iter_mut().flatten().filter(|message| message.ports.1 == Port::Own) {
            most = most.max(message.packets());
            message.by_host = message.kind == Kind::Send && rng.chance(share);
        }
        Some(Recovery {
            chunk: 1 << rng.below(6),
            most_packets: most as u32,
            patience: rng.range(4..60) as u32,
            partial: *rng.pick(&[0.0, 0.0, 0.1]),
        })
    }
}

impl Message {
    pub fn packets(&self) -> usize {
        self.len.div_ceil(1 << self.payload_log2).max(1)
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nics, fabric, nic, settings, form, habits, pause, sizes, quotas, .. } = self;
        let messages: usize = self.messages.iter().map(Vec::len).sum();
        let writes = self.messages.iter().flatten().filter(|message| message.kind != Kind::Send).count();
        let rounds: usize = self.rounds.iter().map(Vec::len).sum();
        writeln!(
            f,
            "{nics} NICs, {messages} messages ({sizes:?}), {writes} of them writes, {rounds} rounds"
        )?;
        writeln!(f, "paths {:?} clocks, {:?}", fabric.path_delays, fabric.faults)?;
        writeln!(f, "marked above {:?}, quotas {quotas:?}, {habits:?}", fabric.mark_above)?;
        writeln!(f, "{form:?}, pauses {pause}, {:?}, {:?}", nic.dma_ctrl, nic.dma_data)?;
        writeln!(f, "strays {:?}", self.strays)?;
        if let Some(recovery) = &self.recovery {
            let by_host = self.messages.iter().flatten().filter(|message| message.by_host).count();
            writeln!(f, "{by_host} messages recovered by software, {recovery:?}")?;
        }
        write!(f, "{settings:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_differ_and_repeat() {
        let text = |seed| Round::draw(seed).to_string();
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
        for seed in 0..200 {
            let round = Round::draw(seed);
            assert!(round.settings.check().is_ok(), "{round}");
            for of in &round.messages {
                // Ranges of one buffer, side by side.
                assert!(of.windows(2).all(|pair| pair[0].start + pair[0].len == pair[1].start));
                assert!(of.iter().all(|message| message.len >> message.payload_log2 <= LONGEST as usize));
            }
            let in_rounds = round.messages.iter().flatten().filter(|message| message.round.is_some()).count();
            let registered: usize = round.rounds.iter().flatten().map(|&(_, count)| usize::from(count)).sum();
            assert_eq!(in_rounds, registered);
        }
    }

    #[test]
    fn every_kind_is_drawn() {
        let all: Vec<Round> = (0..60).map(Round::draw).collect();
        let messages = || all.iter().flat_map(|round| round.messages.iter().flatten());
        for kind in [Kind::Send, Kind::Write, Kind::Notify] {
            for port in Port::ALL {
                assert!(messages().any(|message| message.kind == kind && message.ports.1 == port));
            }
        }
        for policy in [
            PathPolicy::Single,
            PathPolicy::RoundRobin,
            PathPolicy::Random,
            PathPolicy::Recycle,
            PathPolicy::Weighted,
        ] {
            assert!(all.iter().any(|round| round.settings.path_policy == policy), "{policy:?}");
        }
        assert!(all.iter().any(|round| !round.fabric.faults.dead_paths.is_empty()));
        assert!(all.iter().any(|round| round.fabric.faults.mark > 0.0));
        assert!(all.iter().any(|round| round.habits[0].datagrams > 0));
        let by_host = |round: &Round| round.messages.iter().flatten().any(|message| message.by_host);
        assert!(all.iter().any(by_host) && !all.iter().all(by_host));
        assert!(all.iter().any(|round| round.recovery.is_some_and(|recovery| recovery.partial > 0.0)));
    }
}
