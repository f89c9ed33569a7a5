//! One round of a soak: settings, faults and messages, all drawn from a seed.

use std::fmt;

use serde::Serialize;
use tessera_abi::params::Config;
use tessera_abi::wire::Form;
use tessera_driver::{Access, DmaMemory, MemoryRegion};
use tessera_model::scoreboard::Tolerance;
use tessera_model::settings::{PathPolicy, Settings};
use tessera_sim::fabric::{FabricOptions, Faults, Loss};
use tessera_sim::judged::{Judged, JudgedError, JudgedOptions};
use tessera_sim::nic::{DmaOptions, NicOptions};
use tessera_sim::session::{untag, SessionError};
use tessera_sim::tb::Rng;
use tessera_sim::verilator::Model;

/// DATA packets that a round sends, about; enough for its opening not to count.
const PACKETS: u64 = 12_000;
/// Most packets of a message: beyond a grant's window of 1024.
const LONGEST: u64 = 1500;
/// Messages that a NIC may have open and receives that may be posted; half of
/// this many must be told apart by one byte.
const OPEN: u64 = 64;
/// Tag phase of soak messages.
const PHASE: u8 = 5;
/// VLAN of rounds in tagged frames.
const VLAN: u16 = 0x123;
/// Windows in which completions and feedback still under way arrive.
const SETTLE: usize = 100;

/// A message to send.
#[derive(Clone, Copy, Debug)]
struct Message {
    to: usize,
    len: usize,
    payload_log2: u8,
    /// Where its bytes are among the sender's.
    start: usize,
}

/// What a round did.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Totals {
    pub rounds: u64,
    /// Frames that NICs sent.
    pub frames: u64,
    pub data: u64,
    pub needed: u64,
    pub spurious: u64,
    pub probes: u64,
    pub feedbacks: u64,
    pub nacks: u64,
    /// Messages delivered.
    pub messages: u64,
    pub bytes: u64,
    pub lost: u64,
    pub duplicated: u64,
    pub corrupted: u64,
    /// BUSY answers.
    pub busy: u64,
    /// Clocks of NICs.
    pub clocks: u64,
    /// Frames, writes and completions that the scoreboard judged.
    pub judged: u64,
}

impl Totals {
    pub fn add(&mut self, other: &Self) {
        let Self { rounds, frames, data, needed, spurious, probes, feedbacks, nacks, .. } = other;
        self.rounds += rounds;
        self.frames += frames;
        self.data += data;
        self.needed += needed;
        self.spurious += spurious;
        self.probes += probes;
        self.feedbacks += feedbacks;
        self.nacks += nacks;
        let Self { messages, bytes, lost, duplicated, corrupted, busy, clocks, judged, .. } = other;
        self.messages += messages;
        self.bytes += bytes;
        self.lost += lost;
        self.duplicated += duplicated;
        self.corrupted += corrupted;
        self.busy += busy;
        self.clocks += clocks;
        self.judged += judged;
    }
}

/// Why a round is no good.
#[derive(Debug)]
pub struct Violated(String);

impl fmt::Display for Violated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: Into<JudgedError>> From<E> for Violated {
    fn from(error: E) -> Self {
        Self(error.into().to_string())
    }
}

/// A round, ready to run. Its text names all that was drawn.
#[derive(Debug)]
pub struct Round {
    seed: u64,
    nics: usize,
    fabric: FabricOptions,
    nic: NicOptions,
    settings: Settings,
    form: Form,
    /// By sender.
    messages: Vec<Vec<Message>>,
    /// Messages that each NIC keeps open.
    open: Vec<usize>,
    /// Receives that each NIC keeps posted.
    posted: Vec<usize>,
    /// How often a host turns to its sends or its receives.
    diligence: [f64; 2],
    pause: f64,
}

fn settings(rng: &mut Rng, paths: usize) -> Settings {
    // Not `weighted`: without a table of weights it has one path.
    use PathPolicy::{Random, Recycle, RoundRobin, Single};
    let policy = *rng.pick(&[Single, RoundRobin, Random, Recycle]);
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
        unsolicited_limit: draw(1 << 14, 1 << 20),
        credit_limit: draw(1 << 14, 1 << 20),
        grant_quantum: draw(1, 64),
        busy_wait: draw(80, 400),
        ..Settings::default()
    }
}

fn faults(rng: &mut Rng) -> Faults {
    let rate = *rng.pick(&[1e-4, 1e-3, 1e-2, 3e-2, 5e-2, 1e-1]);
    let loss = match rng.below(4) {
        0 => Loss::None,
        1 => Loss::Bursty { mean: rate, burst: rng.range(2..9) as f64 },
        _ => Loss::Uniform(rate),
    };
    let often = |rng: &mut Rng| if rng.chance(0.5) { 0.0 } else { *rng.pick(&[1e-3, 1e-2, 5e-2]) };
    Faults {
        loss,
        duplicate: often(rng),
        max_copies: rng.range(1..16) as u32,
        corrupt: often(rng) / 5.0,
        ..Faults::default()
    }
}

fn message(rng: &mut Rng, to: usize) -> Message {
    // Small payloads make more packets per clock; large ones are rare.
    let payload_log2 = *rng.pick(&[8, 8, 8, 8, 8, 9, 9, 10, 11, 12]);
    let payload = 1u64 << payload_log2;
    let len = match rng.below(10) {
        0 => *rng.pick(&[0, 1, payload - 1, payload, payload + 1, 2 * payload]),
        1..=4 => rng.below(payload + 1),
        5..=7 => rng.below(16 * payload),
        8 => rng.below(200 * payload),
        // The longest are for small payloads: they say the same with fewer clocks.
        _ => rng.below(LONGEST.min(1 << (19 - payload_log2)) * payload),
    };
    Message { to, len: len as usize, payload_log2, start: 0 }
}

impl Round {
    /// The round of a seed.
    pub fn draw(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let nics = *rng.pick(&[2, 2, 2, 3, 3, 4]);
        let paths = *rng.pick(&[1, 2, 4, 4, 8]);
        let base = rng.range(100..500);
        let skew = base * rng.below(11);
        let faults = faults(&mut rng);
        let fabric = FabricOptions { faults, ..FabricOptions::new(paths, base, skew, seed) };
        let mut dma = || {
            let read = rng.range(20..400);
            let write = rng.range(20..300);
            let delay = |least: u64, rng: &mut Rng| (least, least + rng.below(200));
            DmaOptions { read_delay: delay(read, &mut rng), write_delay: delay(write, &mut rng), ready: 1.0 }
        };
        let nic = NicOptions { dma_ctrl: dma(), dma_data: dma(), tx_stall: 0.0, seed };
        let settings = settings(&mut rng, paths);
        let mut messages = vec![Vec::new(); nics];
        let mut bytes = vec![0; nics];
        let mut packets = 0;
        while packets < PACKETS {
            let from = rng.below(nics as u64) as usize;
            let to = (from + 1 + rng.below(nics as u64 - 1) as usize) % nics;
            let message = Message { start: bytes[from], ..message(&mut rng, to) };
            bytes[from] += message.len;
            packets += (message.len as u64).div_ceil(1 << message.payload_log2).max(1);
            messages[from].push(message);
        }
        let mut some = |most: u64| (0..nics).map(|_| 1 + rng.below(most) as usize).collect();
        let (open, posted) = (some(OPEN), some(OPEN));
        let diligence = [(); 2].map(|()| *rng.pick(&[1.0, 1.0, 0.3, 0.05]));
        let pause = *rng.pick(&[0.0, 0.001, 0.01]);
        let form = *rng.pick(&Form::ALL);
        Self { seed, nics, fabric, nic, settings, form, messages, open, posted, diligence, pause }
    }

    /// Runs it beside the scoreboard.
    pub fn run(&self, model: &Model, config: &Config) -> Result<Totals, Violated> {
        let mut rng = Rng::new(self.seed ^ 0x736F_616B);
        let options = JudgedOptions {
            nics: self.nics,
            fabric: self.fabric.clone(),
            nic: self.nic,
            settings: self.settings,
            v6: self.form.v6,
            vlan: self.form.tagged.then_some(VLAN),
            tolerance: Tolerance { overflow: true, ..Tolerance::default() },
            seed: self.seed,
        };
        let mut judged = Judged::open(model, config, options)?;
        let mut hosts = self.hosts(&mut judged, &mut rng)?;
        let mut left: usize = self.messages.iter().map(Vec::len).sum();
        let mut totals = Totals { rounds: 1, messages: left as u64, ..Totals::default() };
        while left > 0 || judged.session.sends_open() > 0 {
            for host in &mut hosts {
                host.work(self, &mut judged, &mut rng)?;
            }
            for arrived in judged.poll()? {
                let (phase, from, to, number) = untag(arrived.tag);
                let sent = self.messages.get(from).and_then(|of| of.get(number));
                let Some(sent) = sent.filter(|sent| phase == PHASE && to == arrived.nic && sent.to == to)
                else {
                    return Err(Violated(format!("NIC {} received what nobody sent", arrived.nic)));
                };
                let got = hosts[to].taken(arrived.work_id as usize, arrived.len);
                let source = hosts[from].source.memory();
                if arrived.len != sent.len || got != source.to_vec(sent.start, sent.len) {
                    return Err(Violated(format!("message {from}->{to} #{number} is not what was sent")));
                }
                if std::mem::replace(&mut hosts[from].delivered[number], true) {
                    return Err(Violated(format!("message {from}->{to} #{number} came twice")));
                }
                hosts[from].under_way -= 1;
                totals.bytes += arrived.len as u64;
                left -= 1;
            }
            if self.pause > 0.0 && rng.chance(self.pause) {
                judged.pause(rng.below(60) as usize)?;
            }
            Self::check(&judged)?;
        }
        judged.pause(SETTLE)?;
        let kept = judged.kept()?;
        Self::check(&judged)?;
        if !kept.is_empty() {
            return Err(Violated(kept.join("\n")));
        }
        let busy = tessera_abi::status::Drop::ALL
            .iter()
            .filter(|reason| reason.name().to_lowercase().starts_with("busy"))
            .map(|&reason| judged.session.sum(tessera_abi::regs::counter(reason as u32)))
            .sum::<Result<u64, SessionError>>()?;
        {
            let cluster = judged.session.cluster.lock();
            let (stats, tracker) = (cluster.fabric().stats(), cluster.fabric().tracker());
            totals = Totals {
                frames: stats.frames,
                data: tracker.data,
                needed: tracker.needed,
                spurious: tracker.spurious,
                probes: tracker.probes,
                feedbacks: tracker.feedbacks,
                nacks: tracker.nacks,
                lost: stats.lost,
                duplicated: stats.duplicated,
                corrupted: stats.corrupted,
                busy,
                clocks: cluster.clock() * self.nics as u64,
                ..totals
            };
        }
        let (summary, violations) = judged.finish();
        if let Some(violation) = violations.first() {
            return Err(Violated(format!("{} violations, the first: {violation:?}", violations.len())));
        }
        totals.judged = summary.frames + summary.writes + summary.completions;
        Ok(totals)
    }

    fn check(judged: &Judged) -> Result<(), Violated> {
        match &judged.violations()[..] {
            [] => Ok(()),
            [first, ..] => Err(Violated(format!("{first:?}"))),
        }
    }

    fn hosts(&self, judged: &mut Judged, rng: &mut Rng) -> Result<Vec<Host>, SessionError> {
        let mut counts = vec![0u8; self.nics];
        let mut hosts = Vec::new();
        for (nic, messages) in self.messages.iter().enumerate() {
            let len = messages.last().map_or(0, |message| message.start + message.len);
            let mut bytes = rng.bytes(len);
            for message in messages {
                // Whatever else is on its way to the same NIC differs in its ends.
                let end = message.start + message.len;
                counts[message.to] = counts[message.to].wrapping_add(1);
                if let Some(byte) = bytes[message.start..end].first_mut() {
                    *byte = counts[message.to];
                }
                if let Some(byte) = bytes[message.start..end].last_mut() {
                    *byte = counts[message.to];
                }
            }
            let place = self.messages.iter().flatten().filter(|message| message.to == nic);
            let place = place.map(|message| message.len).max().unwrap_or(0);
            let source = judged.session.register(nic, &DmaMemory::from_slice(&bytes), Access::READ)?;
            let sink = DmaMemory::new((self.posted[nic] * place).max(1));
            let sink = judged.session.register(nic, &sink, Access::LOCAL_WRITE)?;
            hosts.push(Host {
                nic,
                source,
                sink,
                place,
                free: (0..self.posted[nic]).collect(),
                wanted: self.messages.iter().flatten().filter(|message| message.to == nic).count(),
                next: 0,
                under_way: 0,
                delivered: vec![false; messages.len()],
            });
        }
        Ok(hosts)
    }
}

/// A NIC's host program.
struct Host {
    nic: usize,
    source: MemoryRegion,
    sink: MemoryRegion,
    /// Bytes of a receive.
    place: usize,
    /// Receives that are not posted.
    free: Vec<usize>,
    /// Receives still to be posted in all.
    wanted: usize,
    next: usize,
    under_way: usize,
    delivered: Vec<bool>,
}

impl Host {
    /// Posts what its diligence allows.
    fn work(&mut self, round: &Round, judged: &mut Judged, rng: &mut Rng) -> Result<(), SessionError> {
        let messages = &round.messages[self.nic];
        if self.next < messages.len() && rng.chance(round.diligence[0]) {
            while self.under_way < round.open[self.nic] {
                let Some(&Message { to, len, payload_log2, start }) = messages.get(self.next) else { break };
                let what = (PHASE, self.nic, to, self.next);
                judged.send(&self.source, start..start + len, (payload_log2, None), what)?;
                self.next += 1;
                self.under_way += 1;
            }
        }
        if self.wanted > 0 && !self.free.is_empty() && rng.chance(round.diligence[1]) {
            while self.wanted > 0 {
                let Some(place) = self.free.pop() else { break };
                let start = place * self.place;
                judged.recv(self.nic, &self.sink, start..start + self.place, place as u64)?;
                self.wanted -= 1;
            }
        }
        Ok(())
    }

    /// The bytes of a receive that has completed; it may be posted again.
    fn taken(&mut self, place: usize, len: usize) -> Vec<u8> {
        let start = place * self.place;
        let got = self.sink.memory().to_vec(start, len.min(self.place));
        self.sink.memory().write(start, &vec![0; got.len()]);
        self.free.push(place);
        got
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nics, fabric, nic, settings, form, open, posted, diligence, pause, .. } = self;
        let messages: usize = self.messages.iter().map(Vec::len).sum();
        writeln!(f, "{nics} NICs, {messages} messages, open {open:?}, receives {posted:?}")?;
        writeln!(f, "paths {:?} clocks, {:?}", fabric.path_delays, fabric.faults)?;
        writeln!(f, "{form:?}, hosts {diligence:?}, pauses {pause}, {:?}, {:?}", nic.dma_ctrl, nic.dma_data)?;
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
        }
    }
}
