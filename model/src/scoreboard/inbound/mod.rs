//! What a NIC does with what arrives: places, answers, asks for, grants, ends
//! (rules RO, RC, LD, GR).
//!
//! ```text
//!  arrived ─> Message { bits, answerable packets, shadow of loss detection }
//!  wrote ───> placed bits        answered ─> reports, grants, NACKs against both
//! ```
//!
//! Whether a first packet opened its message is the NIC's secret until it
//! answers: an arrival counts until a BUSY takes it back.

mod chunks;
mod feedback;
mod host;
mod message;
mod tags;
mod writes;

use std::collections::{BTreeMap, BTreeSet};

use tessera_abi::wire::{flag, generation_age, Age, DataHeader, MessageId};

use super::{Bench, Duties, Fault};
use crate::interval::{Answered, Interval, Source, SourceTable, View};
use crate::queue::RecvEntry;
use crate::rounds::{self, Rounds};
use crate::rx_parse::Origin;
use crate::settings::{MemoryKey, Settings};
use crate::timer_wheel::TimerWheel;
use crate::Ticks;
use message::{Answerable, Message, Name, Payload};
use tags::Cancel;
use writes::{Keys, Rights};

/// Names whatever generation of a slot.
type Place = ([u8; 16], u32, u16);

/// Where the receives of a local endpoint come from, and its quota.
fn tenant(bench: &Bench, local: u32) -> (u16, u16) {
    let index = (local & 0xFF) as u16;
    let endpoint = bench.setup.endpoints.iter().find(|endpoint| endpoint.index() == index);
    endpoint.map_or((index, 0), |endpoint| (endpoint.ring(), endpoint.rx_quota))
}

struct Recv {
    entry: RecvEntry,
    posted: u64,
    bound: Option<Name>,
    /// Still to be completed.
    open: bool,
    /// When its end showed.
    ended: Option<u64>,
    /// Of a tagged one: when it showed that it is in place, and its handle.
    placed: Option<(u64, u16)>,
    /// Of a tagged one: there was no room for it.
    refused: bool,
    /// Of a tagged one: a cancel of it is under way; it was taken back; a message
    /// must have matched it.
    leaving: bool,
    cancelled: bool,
    matched: bool,
}
enum Duty {
    /// Index and clock of the packet: where a BUSY takes it back, its duty goes with it.
    Write(Name, u32, u64),
    /// Serial and clock of the packet.
    Answer(Name, u64, u64),
    /// Clock of the packet that made it whole.
    Complete(Name, u64),
    /// ACK_EVERY packets have come without any feedback.
    Count(Name),
    /// Its sender has released it.
    End(Name),
}
/// The receiving half of one NIC.
pub(super) struct Receiving {
    recvs: BTreeMap<(u16, u16), Recv>,
    messages: BTreeMap<Name, Message>,
    /// Messages without their completion: the only ones searched.
    live: BTreeSet<Name>,
    /// Receives to be completed, by address.
    buffers: BTreeSet<(u64, (u16, u16))>,
    current: BTreeMap<Place, MessageId>,
    sources: SourceTable,
    /// The least that may be known of them: some samples the NIC need not have taken.
    lows: SourceTable,
    /// By source hash: what was known of it before a packet of this clock raised it.
    raised: BTreeMap<u8, (u64, Source)>,
    rounds: Rounds,
    duties: Duties<Duty>,
    clocks: TimerWheel<Name>,
    order: BTreeMap<u16, Vec<u16>>,
    keys: Keys,
    cancels: BTreeMap<(u16, u16), Cancel>,
}
fn hash(gid: [u8; 16]) -> u8 {
    SourceTable::hash(&gid)
}
impl Receiving {
    pub(super) fn new(settings: &Settings, keys: &[MemoryKey]) -> Self {
        Self {
            recvs: BTreeMap::new(),
            messages: BTreeMap::new(),
            live: BTreeSet::new(),
            buffers: BTreeSet::new(),
            current: BTreeMap::new(),
            sources: SourceTable::new(settings),
            lows: SourceTable::new(settings),
            raised: BTreeMap::new(),
            rounds: Rounds::default(),
            duties: Duties::default(),
            clocks: TimerWheel::default(),
            order: BTreeMap::new(),
            keys: Keys::new(keys),
            cancels: BTreeMap::new(),
        }
    }

    pub(super) fn posted(&mut self, bench: &mut Bench, endpoint: u32, index: u16, entry: &RecvEntry) {
        let key = ((endpoint & 0xFF) as u16, index);
        if let Some(cancel) = Cancel::of(entry.kind) {
            if let Some(target) = self.recvs.get_mut(&(key.0, cancel.target())) {
                target.leaving = true;
            }
            self.cancels.insert(key, cancel);
            return;
        }
        let recv = Recv {
            entry: *entry,
            posted: bench.clock,
            bound: None,
            open: true,
            ended: None,
            placed: None,
            refused: false,
            leaving: false,
            cancelled: false,
            matched: false,
        };
        self.recvs.insert(key, recv);
        self.buffers.insert((entry.address, key));
        self.order.entry(key.0).or_default().push(index);
    }

    /// From a frame to what is seen of it, clocks. A packet may stand behind others
    /// that wait for a receive on its way from the host, one after the other (RO-13).
    fn lag(bench: &Bench) -> u64 {
        Bench::clocks(bench.tolerance.pipeline + bench.tolerance.host)
    }

    pub(super) fn arrived(
        &mut self,
        bench: &mut Bench,
        origin: &Origin,
        packet: &DataHeader,
        payload: &[u8],
    ) {
        let name = (origin.gid, origin.endpoint, packet.message);
        let place = (origin.gid, origin.endpoint, packet.message.slot());
        if let Some(&held) = self.current.get(&place) {
            match generation_age(packet.message.generation(), held.generation()) {
                //= RO-3
                //= RO-4
                Age::Older => {
                    // Until the newer one opens, what is held of this one may answer.
                    let newer = self.messages.get(&(origin.gid, origin.endpoint, held));
                    let open = newer.is_some_and(|newer| newer.open_since.is_some());
                    if let Some(old) = self.messages.get_mut(&name).filter(|_| !open) {
                        old.senders.insert((origin.mac, origin.vlan));
                        let answer = Answerable::of(bench, old, packet, origin.ce);
                        Self::owe(
                            &mut self.duties,
                            bench,
                            old,
                            Answerable { due: false, ..answer },
                            Self::lag(bench),
                        );
                    }
                    return;
                }
                Age::Same => {}
                //= RO-4
                Age::Newer => {
                    if let Some(old) = self.messages.get_mut(&(origin.gid, origin.endpoint, held)) {
                        old.replaced = true;
                        self.clocks.set(old.name, None);
                    }
                }
            }
        }
        self.current.insert(place, packet.message);
        //= RO-2
        let ended = self.messages.get(&name).and_then(|message| message.forgotten_at(bench));
        let wavering = Bench::clocks(bench.tolerance.timer) + Self::lag(bench);
        if ended.is_some_and(|end| bench.clock > end + wavering) {
            // Its tombstone is gone: nothing is known of it any more.
            self.messages.remove(&name);
        }
        let going = ended.is_some_and(|end| bench.clock + wavering > end);
        let live = &mut self.live;
        let message = self.messages.entry(name).or_insert_with(|| {
            live.insert(name);
            Message::new(bench, name, origin, packet)
        });
        let (settings, now, clock) = (bench.setup.settings, bench.now(), bench.clock);
        message.senders.insert((origin.mac, origin.vlan));
        let mut answer = Answerable::of(bench, message, packet, origin.ce);
        let lag = Self::lag(bench);
        //= RO-2
        if message.is_over() || message.complete.is_some() {
            // Until COMPLETE is out a copy draws no answer, then it must: COMPLETE, or as any
            // other should a BUSY show that the message is not whole after all.
            let whole = message.complete.is_some() && !message.is_over();
            answer.withheld = answer.due && whole;
            answer.due = message.told.is_some() && !going;
            message.duplicates += u32::from(whole && !packet.probe);
            Self::owe(&mut self.duties, bench, message, answer, lag);
            return;
        }
        //= RO-5
        if message.open_since.is_none() && message.distinct == 0 && packet.flags & flag::EST != 0 {
            answer.due = true;
            Self::owe(&mut self.duties, bench, message, answer, lag);
            return;
        }
        //= RO-9
        let own = &message.opener;
        let immediate = |header: &DataHeader| (header.flags & flag::IMM != 0).then_some(header.immediate);
        if (packet.length, packet.payload_log2, packet.tag, packet.initial_window)
            != (own.length, own.payload_log2, own.tag, own.initial_window)
            || (packet.flags ^ own.flags) & (flag::WRITE | flag::HOST_RECOVERY) != 0
            || (own.flags & flag::WRITE != 0 && packet.rkey != own.rkey)
            || immediate(packet) != immediate(own)
            || packet.round() != own.round()
            || origin.local.number != message.local
        {
            return;
        }
        //= WR-1
        match self.keys.judge(clock, lag, origin, packet) {
            Rights::Permitted => {}
            Rights::Either => message.denied = true,
            Rights::Denied => {
                // Its answer is the end, or BUSY, in the NIC's own time.
                message.denied = true;
                self.clocks.set(name, None);
                Self::owe(&mut self.duties, bench, message, Answerable { due: false, ..answer }, lag);
                return;
            }
        }
        //= RC-1
        if !packet.probe && packet.index >= message.grant {
            return;
        }
        let source = self.sources.of(hash(origin.gid));
        let mut before = message.before(clock, now);
        message.last_heard = now;
        message.interval.heard(now, packet.rtt, &settings);
        if !packet.probe && packet.flags & flag::RETX != 0 && message.by_hardware() {
            let new = !message.arrived[packet.index as usize];
            if let Some(answered) = message.interval.answered(now, packet.index, new) {
                self.sources.answered(hash(origin.gid), answered, &settings);
                // A second NACK, decided and not yet seen, makes it uncertain which it answers.
                let late = now + bench.tolerance.timer as u64;
                let doubtful = message.interval.deadline().is_some_and(|due| due <= late);
                let least = self.lows.of(hash(origin.gid)).answer;
                if !doubtful || !matches!(answered, Answered::After(sample) if sample > least) {
                    self.lows.answered(hash(origin.gid), answered, &settings);
                }
            }
        }
        if packet.probe {
            message.probed = true;
            // The NIC's NACK was decided before it was seen.
            let margin = (bench.tolerance.pipeline + bench.tolerance.timer) as u64;
            let (view, index) = (message.view(), packet.index);
            let soonest = message.interval.probe_within(now, index, &view, source, &settings, margin);
            message.soonest = [message.soonest, soonest].into_iter().flatten().min();
        } else if message.arrived[packet.index as usize] {
            message.duplicates += 1;
        } else {
            before.index = Some(packet.index);
            answer.new = true;
            answer.counted = true;
            answer.due |= origin.ce;
            message.set(packet.index, true);
            message.doubtful.remove(&packet.index);
            if message.nacked >= 2 {
                message.back_at = clock + lag;
            }
            message.nacked = 0;
            message.recent.push_back((clock, message.serial, packet.index));
            message.counted.push_back(clock);
            let since = message.counted.iter().filter(|&&at| at > message.last_feedback).count();
            if since >= settings.ack_every as usize {
                self.duties.add(clock + lag, Duty::Count(name));
            }
            if packet.flags & flag::RETX == 0 {
                if let Some(sample) = message.interval.sample(now, packet) {
                    self.sources.late(hash(origin.gid), sample, &settings);
                    self.lows.late(hash(origin.gid), sample, &settings);
                }
            }
            if !payload.is_empty() {
                message.payloads.insert(packet.index, Payload { came: clock, bytes: payload.to_vec() });
                let due = clock + lag + Bench::clocks(bench.tolerance.host);
                self.duties.add(due, Duty::Write(name, packet.index, clock));
            }
            //= RC-6
            if message.distinct == message.count {
                message.complete = Some(clock);
                let due = clock + lag + Bench::clocks(bench.tolerance.host);
                self.duties.add(due, Duty::Complete(name, clock));
                // COMPLETE answers it, after its own time; where frames may be dropped it may
                // not be whole at all, and then the packet is answered as any other.
                answer.withheld = answer.due && !bench.tolerance.overflow;
                answer.due &= bench.tolerance.overflow;
            }
        }
        let learnt = self.sources.of(hash(origin.gid));
        if learnt.skew > source.skew || learnt.answer > source.answer {
            let held = self.raised.get(&hash(origin.gid)).filter(|(at, _)| at + lag >= clock);
            let low = held.map_or(source, |(_, low)| low.least(source));
            self.raised.insert(hash(origin.gid), (clock, low));
        }
        message.before.retain(|before| before.clock + lag >= clock);
        message.before.push_back(before);
        let finished = message.complete == Some(clock) && answer.new;
        let pulls = finished && message.finishes(&mut self.rounds);
        message.halvings = message.round().map_or(0, |round| self.rounds.halvings(round));
        Self::owe(&mut self.duties, bench, message, answer, lag);
        let view = message.view();
        message.interval.rearm(now, &view, source, &settings);
        message.links(bench, learnt);
        self.watch(bench, name);
        if pulls {
            self.sweep(bench);
        }
    }

    //= RL-2
    pub(super) fn released(&mut self, bench: &mut Bench, origin: &Origin, id: MessageId) {
        let name = (origin.gid, origin.endpoint, id);
        let place = (origin.gid, origin.endpoint, id.slot());
        if self.current.get(&place) != Some(&id) {
            return;
        }
        let Some(message) = self.messages.get_mut(&name).filter(|message| message.released.is_none()) else {
            return;
        };
        message.released = Some(bench.clock);
        message.let_go = !message.is_over() && message.complete.is_none();
        if message.let_go {
            self.clocks.set(name, None);
            let due = bench.clock + Self::lag(bench) + Bench::clocks(bench.tolerance.host);
            self.duties.add(due, Duty::End(name));
        }
    }

    //= RD-1
    pub(super) fn registered(&mut self, bench: &mut Bench, name: rounds::Name, messages: u16) {
        self.rounds.register(name, messages);
        self.sweep(bench);
    }

    //= RD-5
    fn sweep(&mut self, bench: &Bench) {
        let (now, settings) = (bench.now(), bench.setup.settings);
        for name in self.live.iter().copied().collect::<Vec<_>>() {
            let Some(message) = self.messages.get_mut(&name) else { continue };
            let Some(round) = message.round() else { continue };
            message.halvings = self.rounds.halvings(round);
            let view = message.view();
            message.interval.rearm(now, &view, self.sources.of(hash(name.0)), &settings);
            self.watch(bench, name);
        }
    }

    fn owe(duties: &mut Duties<Duty>, bench: &Bench, message: &mut Message, answer: Answerable, lag: u64) {
        // Older ones could only be answered far too late.
        let old = bench.clock.saturating_sub(8 * lag);
        while message.answers.front().is_some_and(|answer| answer.clock < old) {
            message.answers.pop_front();
        }
        if answer.due {
            let duty = Duty::Answer(message.name, answer.serial, answer.clock);
            duties.add(bench.clock + lag, duty);
        }
        message.answers.push_back(answer);
    }

    /// When a missing NACK would show.
    fn watch(&mut self, bench: &Bench, name: Name) {
        let Some(message) = self.messages.get(&name) else { return };
        let over = message.is_over()
            || message.complete.is_some()
            || message.replaced
            || message.denied
            || message.let_go
            || !message.by_hardware();
        let now = bench.now();
        let due = message.interval.deadline().filter(|_| !over).map(|deadline| {
            let slack = self.slack(bench, message);
            deadline.max(now) + slack + (deadline.saturating_sub(now)) / 4
        });
        self.clocks.set(name, due);
    }

    /// How long after its deadline a NIC may ask, ticks.
    fn slack(&self, bench: &Bench, message: &Message) -> Ticks {
        let settings = &bench.setup.settings;
        let source = self.sources.of(hash(message.name.0));
        // The NIC may still count a message of the round as unfinished.
        let view = View { halvings: 0, ..message.view() };
        let span = message.interval.interval(&view, source, settings);
        let tail = Interval::tail(source, settings);
        bench.tolerance.timer as u64 + bench.tolerance.pipeline as u64 + span + 2 * tail
    }

    pub(super) fn due(&self, bench: &Bench) -> Option<u64> {
        let clocks = |tick: Ticks| (tick * Bench::clocks(1)).saturating_sub(bench.setup.time_at_zero);
        [self.duties.due(), self.clocks.next().map(clocks)].into_iter().flatten().min()
    }

    pub(super) fn overdue(&mut self, bench: &mut Bench) {
        let lag = Self::lag(bench);
        while let Some(duty) = self.duties.pop(bench.clock) {
            let name = match duty {
                Duty::Write(name, ..)
                | Duty::Answer(name, ..)
                | Duty::Complete(name, _)
                | Duty::Count(name)
                | Duty::End(name) => name,
            };
            let Some(message) = self.messages.get_mut(&name) else { continue };
            if bench.tolerance.overflow || message.replaced || message.denied || message.ended_by_host() {
                continue;
            }
            if message.let_go && !matches!(duty, Duty::End(_)) {
                continue;
            }
            match duty {
                Duty::End(_) => {
                    let opened = message.takes_receive() && message.open_since.is_some();
                    if opened && message.done.is_none() {
                        bench.fault(Some(name.2), "RL-2", Fault::MissingCompletion);
                    }
                }
                Duty::Write(_, index, at) => {
                    let refused = !message.arrived[index as usize];
                    if !refused
                        && message.payloads.get(&index).is_some_and(|payload| payload.came == at)
                        && message.done.is_none_or(|(_, s)| s == 0)
                    {
                        bench.fault(Some(name.2), "RC-2", Fault::MissingWrite(index));
                    }
                }
                Duty::Answer(_, serial, at) => {
                    let open = message.answers.iter().find(|a| a.answered.is_none() && a.serial == serial);
                    // Once whole, only COMPLETE speaks.
                    let silenced = message.complete.is_some_and(|whole| at >= whole.saturating_sub(lag))
                        && message.told.is_none();
                    if let Some(index) = open.filter(|_| !silenced).map(|answer| answer.index) {
                        bench.fault(Some(name.2), "RC-7", Fault::Unanswered(index));
                    }
                }
                Duty::Count(_) => {
                    let old = bench.clock.saturating_sub(lag);
                    let since = message.last_feedback;
                    let waiting = message.counted.iter().filter(|&&at| at > since && at <= old).count();
                    let over = message.is_over() || message.complete.is_some();
                    if !over && waiting as u32 >= bench.setup.settings.ack_every {
                        bench.fault(
                            Some(name.2),
                            "RC-7",
                            Fault::Unanswered(message.highest.saturating_sub(1)),
                        );
                        message.last_feedback = bench.clock;
                    }
                }
                Duty::Complete(_, at) => {
                    let whole = message.complete == Some(at);
                    if whole && message.told.is_none() {
                        bench.fault(Some(name.2), "RC-6", Fault::Unanswered(message.count - 1));
                    }
                    if whole && message.done.is_none() {
                        bench.fault(Some(name.2), "RC-6", Fault::MissingCompletion);
                    }
                }
            }
        }
        let (now, settings) = (bench.now(), bench.setup.settings);
        while let Some(name) = self.clocks.pop(now) {
            let source = self.sources.of(hash(name.0));
            let Some(message) = self.messages.get(&name) else { continue };
            let view = message.view();
            // Since the deadline was set, others of the source may have raised its skew.
            let late = message.interval.deadline().max(message.interval.rule(&view, source, &settings));
            let late = late.map(|deadline| deadline + self.slack(bench, message));
            if late.is_some_and(|late| late > now) {
                self.clocks.set(name, late);
                continue;
            }
            let Some(message) = self.messages.get_mut(&name) else { continue };
            let ask = message.interval.expire(now, &view, source, &settings);
            let missing = view.cumulative < ask.limit;
            if missing && message.open_since.is_some() && !bench.tolerance.overflow {
                bench.fault(Some(name.2), "LD-4", Fault::MissingNack(view.cumulative));
            }
            message.interval.postpone(now, source, &settings);
            self.watch(bench, name);
        }
    }

    pub(super) fn finish(&mut self, bench: &mut Bench) {
        //= RO-8
        for (&endpoint, order) in &self.order {
            let plain =
                |index: &&u16| self.recvs.get(&(endpoint, **index)).is_some_and(|recv| recv.tag().is_none());
            let order: Vec<u16> = order.iter().filter(plain).copied().collect();
            let used =
                |index: &u16| self.recvs.get(&(endpoint, *index)).is_some_and(|recv| recv.bound.is_some());
            let last = order.iter().rposition(used);
            let skipped = last.and_then(|last| order[..last].iter().find(|index| !used(index)));
            if let Some(&index) = skipped {
                bench.fault(None, "RO-8", Fault::ReceiveSkipped(index));
            }
        }
        for message in self.messages.values() {
            if message.recv.is_some() && message.done.is_none() {
                bench.fault(Some(message.name.2), "§7.7", Fault::MissingCompletion);
            }
        }
        self.finish_tags(bench);
    }
}
