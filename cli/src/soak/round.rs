//! A round of a soak, run beside the scoreboard.

use std::fmt;

use serde::{Deserialize, Serialize};
use tessera_abi::params::Config;
use tessera_abi::regs::{self, Counter, Reg};
use tessera_abi::status::Drop as DropReason;
use tessera_driver::Context;
use tessera_model::scoreboard::Tolerance;
use tessera_sim::judged::Judged;
use tessera_sim::tb::Rng;
use tessera_sim::verilator::Model;

use super::draw::{Kind, Message, Round};
use super::host::{Ended, Host, Peer};
use super::strays::Strays;

/// Windows in which completions and feedback still under way arrive.
const SETTLE: usize = 60;
/// Clocks without a frame after which nothing will happen any more.
const QUIET_CLOCKS: u64 = 2_000_000;

/// What a round did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    pub datagrams: u64,
    /// Messages delivered, writes among them.
    pub messages: u64,
    pub writes: u64,
    pub bytes: u64,
    /// Messages that software recovered; those of them it ended as they were; its
    /// orders.
    pub by_host: u64,
    pub partly: u64,
    pub orders: u64,
    /// Tagged receives taken back, or too late for that.
    pub cancels: u64,
    pub lost: u64,
    pub duplicated: u64,
    pub corrupted: u64,
    pub marked: u64,
    /// BUSY answers.
    pub busy: u64,
    /// Frames that NICs had no buffer for, all of them FEEDBACK.
    pub overflows: u64,
    /// Rounds judged without what dropped frames should have caused.
    #[serde(default)]
    pub lenient: u64,
    /// Frames that no NIC sent, or not like this.
    pub strays: u64,
    /// Clocks of NICs.
    pub clocks: u64,
    /// Frames, writes and completions that the scoreboard judged.
    pub judged: u64,
}

impl Totals {
    pub fn add(&mut self, other: &Self) {
        let Self { rounds, frames, data, needed, spurious, probes, feedbacks, nacks, datagrams, .. } = other;
        self.rounds += rounds;
        self.frames += frames;
        self.data += data;
        self.needed += needed;
        self.spurious += spurious;
        self.probes += probes;
        self.feedbacks += feedbacks;
        self.nacks += nacks;
        self.datagrams += datagrams;
        let Self { messages, writes, bytes, cancels, lost, duplicated, corrupted, marked, .. } = other;
        self.messages += messages;
        self.writes += writes;
        self.bytes += bytes;
        self.cancels += cancels;
        self.lost += lost;
        self.duplicated += duplicated;
        self.corrupted += corrupted;
        self.marked += marked;
        let Self { by_host, partly, orders, .. } = other;
        self.by_host += by_host;
        self.partly += partly;
        self.orders += orders;
        let Self { busy, overflows, lenient, strays, clocks, judged, .. } = other;
        self.lenient += lenient;
        self.strays += strays;
        self.busy += busy;
        self.overflows += overflows;
        self.clocks += clocks;
        self.judged += judged;
    }
}

/// Why a round is no good.
#[derive(Debug)]
pub struct Violated {
    pub what: String,
    /// Frames that NICs had dropped by then for want of buffer.
    pub dropped: u32,
}

impl Violated {
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), dropped: 0 }
    }
}

impl fmt::Display for Violated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if self.dropped > 0 {
            write!(f, ", after {} frames were dropped for want of buffer", self.dropped)?;
        }
        Ok(())
    }
}

impl<E: std::error::Error> From<E> for Violated {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

/// A round under way.
struct Running<'a> {
    round: &'a Round,
    judged: Judged,
    strays: Strays,
    hosts: Vec<Host>,
    delivered: Vec<Vec<bool>>,
    left: usize,
    totals: Totals,
    /// Frames, and the clock since when there are so many.
    quiet: (u64, u64),
}

impl Round {
    /// Runs it beside the scoreboard. Of frames that a NIC drops for want of buffer (RX-7)
    /// the scoreboard sees that they came in, not that they went: a round that seems to
    /// break a rule after that is run again, without demanding what any one frame should
    /// have caused.
    pub fn run(&self, model: &Model, config: &Config) -> Result<Totals, Violated> {
        match self.judge(model, config, Tolerance::default()) {
            Err(Violated { dropped: 1.., .. }) => {
                let lenient = Tolerance { overflow: true, ..Tolerance::default() };
                let totals = self.judge(model, config, lenient)?;
                Ok(Totals { lenient: 1, ..totals })
            }
            strictly => strictly,
        }
    }

    fn judge(&self, model: &Model, config: &Config, tolerance: Tolerance) -> Result<Totals, Violated> {
        let mut rng = Rng::new(self.seed ^ 0x736F_616B);
        let around = (&self.nic, self.fabric.clone());
        let judged = Judged::new(model, config, self.nics, around, tolerance)?;
        let mut hosts = Vec::new();
        for (nic, bytes) in self.bytes(&mut rng).iter().enumerate() {
            hosts.push(Host::open(&judged, self, nic, bytes)?);
        }
        let delivered = self.messages.iter().map(|of| vec![false; of.len()]).collect();
        let left = self.messages.iter().map(Vec::len).sum();
        let totals = Totals { rounds: 1, messages: left as u64, ..Totals::default() };
        let strays = Strays::new(self.seed, self.strays, &mut judged.cluster().lock());
        let mut running =
            Running { round: self, judged, strays, hosts, delivered, left, totals, quiet: (0, 0) };
        let outcome = running.run(&mut rng).map_err(|violated| running.explain(violated));
        // What hosts give back from here on takes no simulated time.
        running.judged.cluster().lock().stop();
        outcome?;
        let Running { judged, mut totals, .. } = running;
        let (summary, violations) = judged.finish();
        if let Some(violation) = violations.first() {
            return Err(Violated::new(format!("{} violations, the first: {violation:?}", violations.len())));
        }
        totals.judged = summary.frames + summary.writes + summary.completions;
        Ok(totals)
    }

    /// The bytes of each NIC's messages. Whatever is on its way to the same NIC
    /// at a time differs in its ends.
    fn bytes(&self, rng: &mut Rng) -> Vec<Vec<u8>> {
        let mut counts = vec![0u16; self.nics];
        let mut all = Vec::new();
        for messages in &self.messages {
            let len = messages.last().map_or(0, |message| message.start + message.len);
            let mut bytes = rng.bytes(len.max(1));
            for message in messages {
                let end = message.start + message.len;
                counts[message.to] = counts[message.to].wrapping_add(1);
                if message.len >= 2 {
                    // What changes with every message is outermost: the last packet may be
                    // one byte.
                    let count = counts[message.to];
                    bytes[message.start..message.start + 2].copy_from_slice(&count.to_le_bytes());
                    bytes[end - 2..end].copy_from_slice(&count.to_be_bytes());
                }
            }
            all.push(bytes);
        }
        all
    }
}

impl<'a> Running<'a> {
    fn run(&mut self, rng: &mut Rng) -> Result<(), Violated> {
        self.judged.begin();
        let peers: Vec<Peer> = self.hosts.iter().map(|host| host.peer(self.round)).collect();
        while self.left > 0 || self.hosts.iter().any(|host| host.under_way + host.datagrams_open > 0) {
            for host in &mut self.hosts {
                host.work(self.round, &peers, self.left > 0, rng)?;
            }
            let mut any = false;
            for nic in 0..self.hosts.len() {
                for ended in self.hosts[nic].poll()? {
                    any = true;
                    self.ended(nic, ended)?;
                }
            }
            if !any {
                self.pass()?;
            }
            if self.round.pause > 0.0 && rng.chance(self.round.pause) {
                for _ in 0..rng.below(60) {
                    self.pass()?;
                }
            }
        }
        for _ in 0..SETTLE {
            self.pass()?;
        }
        let contexts: Vec<Context> = self.hosts.iter().map(|host| host.context.clone()).collect();
        let mut kept = self.judged.kept(&contexts)?;
        self.check()?;
        let unheard = self.count(&contexts)?;
        // A burst for one message is more than its sender takes in: the next word says it all.
        if self.totals.overflows > unheard {
            let overflows = self.totals.overflows;
            kept.push(format!("{overflows} frames dropped for want of buffer, {unheard} of them FEEDBACK"));
        }
        match &kept[..] {
            [] => Ok(()),
            kept => Err(Violated::new(kept.join("\n"))),
        }
    }

    fn pass(&mut self) -> Result<(), Violated> {
        self.judged.pass()?;
        let mut cluster = self.judged.cluster().lock();
        self.totals.strays += self.strays.send(&mut cluster);
        let (clock, frames) = (cluster.clock(), cluster.fabric().stats().frames);
        if frames != self.quiet.0 {
            self.quiet = (frames, clock);
        }
        if clock - self.quiet.1 > QUIET_CLOCKS {
            return Err(Violated::new(format!(
                "nothing moves at clock {clock}, {} messages undelivered",
                self.left
            )));
        }
        drop(cluster);
        self.check()
    }

    /// Says of a broken rule whether NICs dropped frames for want of buffer before it:
    /// the scoreboard takes those for arrived.
    fn explain(&self, Violated { what, .. }: Violated) -> Violated {
        let reg = Reg { offset: regs::counter(DropReason::Overflow as u32), ..regs::TIME };
        let dropped = self.hosts.iter().filter_map(|host| host.context.read(reg).ok()).sum();
        Violated { what, dropped }
    }

    fn check(&self) -> Result<(), Violated> {
        match &self.judged.violations()[..] {
            [] => Ok(()),
            [first, ..] => Err(Violated::new(format!("{first:?}"))),
        }
    }

    fn ended(&mut self, nic: usize, ended: Ended) -> Result<(), Violated> {
        let (from, number, got, sent) = match ended {
            // Of writes that tell nobody, this is how one knows of their arrival.
            Ended::Sent(number) if self.round.messages[nic][number].kind == Kind::Write => {
                (nic, number, None, Some(&self.round.messages[nic][number]))
            }
            Ended::Sent(_) => return Ok(()),
            Ended::Came((from, number), got) => {
                let kind = if got.is_some() { Kind::Send } else { Kind::Notify };
                (from, number, got, self.sent(from, number, nic, kind))
            }
            Ended::Partly((from, number), mut got, unknown) => {
                let sent = self.sent(from, number, nic, Kind::Send).filter(|sent| sent.by_host);
                if let Some(sent) = sent.filter(|sent| sent.len == got.len()) {
                    let bytes = self.hosts[from].source.memory().to_vec(sent.start, sent.len);
                    for run in unknown {
                        got[run.clone()].copy_from_slice(&bytes[run]);
                    }
                }
                self.totals.partly += 1;
                (from, number, Some(got), sent)
            }
        };
        let Some(sent) = sent else {
            return Err(Violated::new(format!("NIC {nic} received what nobody sent")));
        };
        let source = self.hosts[from].source.memory();
        let got = match got {
            Some(got) => got,
            None => self.hosts[sent.to].window.memory().to_vec(sent.place, sent.len),
        };
        if got != source.to_vec(sent.start, sent.len) {
            return Err(Violated::new(format!("message {from}->{} #{number} is not what was sent", sent.to)));
        }
        if std::mem::replace(&mut self.delivered[from][number], true) {
            return Err(Violated::new(format!("message {from}->{} #{number} came twice", sent.to)));
        }
        self.totals.bytes += sent.len as u64;
        self.totals.writes += u64::from(sent.kind != Kind::Send);
        self.totals.by_host += u64::from(sent.by_host);
        self.left -= 1;
        Ok(())
    }

    /// What NIC `from` sent as its `number`th, if it is of this kind and to `to`.
    fn sent(&self, from: usize, number: usize, to: usize, kind: Kind) -> Option<&'a Message> {
        let sent = self.round.messages.get(from).and_then(|of| of.get(number));
        sent.filter(|sent| sent.to == to && sent.kind == kind)
    }

    /// Adds up what happened. FEEDBACK that reached NICs whole and that they did not
    /// count.
    fn count(&mut self, contexts: &[Context]) -> Result<u64, Violated> {
        let sum = |offset: u32| -> Result<u64, Violated> {
            let reg = Reg { offset, ..regs::TIME };
            let mut sum = 0;
            for context in contexts {
                sum += u64::from(context.read(reg)?);
            }
            Ok(sum)
        };
        let mut busy = 0;
        for reason in DropReason::ALL.iter().filter(|r| r.name().to_lowercase().starts_with("busy")) {
            busy += sum(regs::counter(*reason as u32))?;
        }
        let overflows = sum(regs::counter(DropReason::Overflow as u32))?;
        let heard = sum(regs::counter(Counter::RxFeedback as u32))?;
        let cancels = self.hosts.iter().map(|host| host.cancels).sum();
        let orders = self.hosts.iter().filter_map(|host| host.software.as_ref()).map(|all| all.orders).sum();
        let datagrams = self.round.habits.iter().map(|habits| habits.datagrams as u64).sum();
        let cluster = self.judged.cluster().lock();
        let (stats, tracker) = (cluster.fabric().stats(), cluster.fabric().tracker());
        self.totals = Totals {
            frames: stats.frames,
            data: tracker.data,
            needed: tracker.needed,
            spurious: tracker.spurious,
            probes: tracker.probes,
            feedbacks: tracker.feedbacks,
            nacks: tracker.nacks,
            datagrams,
            cancels,
            orders,
            lost: stats.lost + stats.dead_path,
            duplicated: stats.duplicated,
            corrupted: stats.corrupted,
            marked: stats.marked,
            busy,
            overflows,
            clocks: cluster.clock() * self.round.nics as u64,
            ..self.totals
        };
        Ok(tracker.feedbacks_arrived.saturating_sub(heard))
    }
}
