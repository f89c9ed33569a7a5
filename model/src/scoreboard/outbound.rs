//! What a NIC sends of its own messages, and how they end (rules TX).
//!
//! The NIC chooses slots, generations and their order; this follows it from
//! the first packet of each message on and checks every later one.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use tessera_abi::params::destination_hash;
use tessera_abi::status::Status;
use tessera_abi::wire::{self, fb, flag, generation_age, Age, DataHeader, FeedbackHeader, MessageId, Route};

use super::paths::{Asks, Paths};
use super::{Bench, Duties, Fault};
use crate::bitmap::Block;
use crate::feedback;
use crate::queue::{Completion, SendEntry};
use crate::rx_parse::Origin;
use crate::slots::{self, Sequences};
use crate::Ticks;

struct Posted {
    number: u32,
    entry: SendEntry,
    payload: Vec<u8>,
    bound: bool,
}

/// A message from its first packet to its completion.
struct Message {
    key: (u16, u16),
    number: u32,
    entry: SendEntry,
    payload: Vec<u8>,
    count: u32,
    window: u32,
    next: u32,
    /// Grant over time, for flags that depend on when it was read.
    grants: Vec<(u64, u32)>,
    cumulative: u32,
    established: Option<u64>,
    busy_at: Option<u64>,
    refused: bool,
    opened: Ticks,
    progress: Ticks,
    sequences: Sequences,
    first_sent: Vec<Ticks>,
    /// How often each index may be sent again.
    asked: BTreeMap<u32, u32>,
    /// Asked for before they were on the wire, and when last.
    ahead: BTreeMap<u32, Ticks>,
    /// NACKs and BUSYs that no PROBE has followed yet.
    urged: Vec<Ticks>,
    probes: u32,
    /// When the backstop may have started anew: earliest, and when that showed.
    /// The last one older than the slowest reaction comes first.
    stirs: Vec<(Ticks, Ticks)>,
    /// The status a COMPLETE or ABORT brought, and when.
    told: Option<(u64, u8)>,
    done: Option<u64>,
    /// Its completion's status.
    ended: Option<u8>,
    /// The end that came from outside asked for a RELEASE; one was sent.
    release_asked: bool,
    released: bool,
}

impl Message {
    fn grant_at(&self, clock: u64) -> u32 {
        self.grants.iter().rev().find(|(at, _)| *at <= clock).map_or(0, |&(_, grant)| grant)
    }

    /// Whether indexes below `end` were what it might send at some time.
    fn was_limit(&self, end: u32) -> bool {
        self.window == end || self.grants.iter().any(|&(_, grant)| grant == end)
    }

    fn stir(&mut self, since: Ticks, now: Ticks, reaction: Ticks) {
        let old = self.stirs.iter().rposition(|(_, shown)| shown + reaction < now).unwrap_or(0);
        self.stirs.drain(..old);
        let last = self.stirs.last().map_or(0, |&(since, _)| since);
        self.stirs.push((since.max(last), now));
    }
    /// A packet left: decided, it waited for payload and its turn until now.
    fn emitted(&mut self, now: Ticks, reaction: Ticks) {
        self.stir(now.saturating_sub(reaction), now, reaction);
    }
    /// The longest silence a PROBE may have been decided in that leaves at
    /// `now`: what stirred while it was on its way came too late to stop it.
    fn silence(&self, now: Ticks, reaction: Ticks) -> Ticks {
        let ends = self.stirs.iter().skip(1).map(|&(_, shown)| shown).chain([now]);
        let silences = self.stirs.iter().zip(ends).filter(|&(_, end)| end + reaction >= now);
        silences.map(|(&(since, _), end)| end.saturating_sub(since)).max().unwrap_or(0)
    }
    fn limit_at(&self, clock: u64) -> u32 {
        self.window.max(self.grant_at(clock)).min(self.count)
    }
}

enum Duty {
    /// The completion of a message that was told its end.
    Completion(MessageId),
    /// The completion of the message a slot was taken from.
    SlotFree(MessageId),
    /// The RELEASE of a message that ended.
    Release(MessageId),
}

/// The sending half of one NIC.
#[derive(Default)]
pub(super) struct Sending {
    posted: BTreeMap<(u16, u16), Posted>,
    order: BTreeMap<u16, Vec<u16>>,
    messages: BTreeMap<u32, Message>,
    slots: BTreeMap<u16, MessageId>,
    /// The last message of each slot before a reset, not followed by another yet.
    before: BTreeMap<u16, MessageId>,
    rtt_low: Option<u32>,
    /// Destinations that refused or met congestion: windows may be shorter.
    shortened: BTreeSet<usize>,
    /// Who asked for the RELEASE of which message.
    asked: BTreeSet<([u8; 16], u32, MessageId)>,
    duties: Duties<Duty>,
}

impl Sending {
    /// Nothing is left of before but the generations.
    //= RS-2
    pub(super) fn reset(&mut self) {
        let mut before = std::mem::take(&mut self.before);
        before.append(&mut self.slots);
        *self = Self { before, ..Self::default() };
    }

    pub(super) fn posted(
        &mut self,
        _bench: &mut Bench,
        endpoint: u32,
        index: u16,
        entry: &SendEntry,
        payload: &[u8],
    ) {
        let key = ((endpoint & 0xFF) as u16, index);
        let posted = Posted { number: endpoint, entry: *entry, payload: payload.to_vec(), bound: false };
        self.posted.insert(key, posted);
        self.order.entry(key.0).or_default().push(index);
    }

    /// Slowest the pipeline and host reads may react.
    fn reaction(bench: &Bench) -> u64 {
        Bench::clocks(bench.tolerance.pipeline + bench.tolerance.host)
    }

    fn rtt_low(&self, bench: &Bench) -> u64 {
        let default = bench.setup.settings.rtt_default;
        self.rtt_low.map_or(default, |low| low.min(default)) as u64
    }

    //= TX-3
    //= TX-4
    pub(super) fn heard(
        &mut self,
        bench: &mut Bench,
        paths: &mut Paths,
        origin: &Origin,
        header: &FeedbackHeader,
    ) {
        let rtt_low = self.rtt_low(bench);
        let (clock, now) = (bench.clock, bench.now());
        let reaction = (bench.tolerance.pipeline + bench.tolerance.host) as Ticks;
        //= RL-4
        let wish = fb::COMPLETE | fb::RELEASE_REQ;
        let asks = header.flags & wish == wish;
        if asks {
            self.asked.insert((origin.gid, origin.endpoint, header.message));
        }
        let Some(message) = self.messages.get_mut(&header.message.0) else { return };
        let ours = origin.gid == message.entry.gid
            && origin.endpoint == message.entry.endpoint
            && origin.local.number == message.number;
        if !ours || message.told.is_some() || message.done.is_some() {
            return;
        }
        if feedback::sane(header, message.next, message.count).is_err() {
            return;
        }
        let gid = message.entry.gid;
        let ce = header.flags & fb::CE != 0;
        paths.heard(bench, gid, header, ce);
        //= TX-14
        if ce || header.flags & fb::BUSY != 0 {
            self.shortened.insert(destination_hash(gid));
        }
        //= TX-9
        // A BUSY that others overtook says nothing.
        if header.flags & fb::BUSY == 0 || message.established.is_none() {
            message.stir(now, now, reaction);
            message.probes = 0;
        }
        //= TX-5
        if let Some(sample) = slots::sample(now, header).filter(|&sample| sample as i32 >= 0) {
            let sample = sample.clamp(1, slots::RTT_MAX);
            self.rtt_low = Some(self.rtt_low.map_or(sample, |low| low.min(sample)));
        }
        if header.flags & (fb::ABORT | fb::COMPLETE) != 0 {
            let abort = header.flags & fb::ABORT != 0;
            message.told = Some((clock, if abort { header.status } else { Status::Success as u8 }));
            if !bench.tolerance.overflow {
                self.duties.add(clock + Self::reaction(bench), Duty::Completion(header.message));
            }
            //= RL-1
            message.release_asked = asks && !abort;
            return;
        }
        if header.flags & fb::BUSY != 0 {
            if message.established.is_none() {
                message.refused = true;
                message.urged.push(now);
                message.busy_at.get_or_insert(clock);
            }
            return;
        }
        message.established.get_or_insert(clock);
        message.busy_at = None;
        let grant = message.grant_at(clock);
        let wanted = header.grant.min(message.count);
        if wanted > grant {
            message.grants.push((clock, wanted));
        }
        if wanted > grant || header.cumulative > message.cumulative {
            message.progress = now;
        }
        message.cumulative = message.cumulative.max(header.cumulative);
        message.sequences.take(header.sequence);
        //= TX-6
        //= TX-7
        // Which of two NACKs that change places was the newest heard is not known where one
        // may have been dropped.
        let nack = header.flags & fb::NACK != 0;
        if nack && (message.sequences.take_nack(header.sequence) || bench.tolerance.overflow) {
            message.urged.push(now);
            // The NIC counts from when it chose the packet, which then waited for its
            // payload and its turn; the round trip does not hold that time.
            let arrived = Block::from_bytes(header.bitmap);
            let reach = header.limit.min(message.next).saturating_sub(header.base);
            let overtaken = arrived.end_below(reach);
            for bit in arrived.zeros(header.limit.saturating_sub(header.base)) {
                let index = header.base + bit;
                match message.first_sent.get(index as usize) {
                    Some(sent) if bit < overtaken || sent + rtt_low <= now + reaction => {
                        *message.asked.entry(index).or_default() += 1;
                    }
                    Some(_) => {}
                    None => {
                        message.ahead.insert(index, now);
                    }
                }
            }
        }
    }

    //= RL-1
    //= RL-4
    pub(super) fn released(&mut self, bench: &mut Bench, route: &Route, id: MessageId) {
        let qkey = bench.setup.endpoints.iter().find(|e| e.number == route.src_endpoint).map(|e| e.qkey);
        bench.field(id, "RL-1", "Q_Key", route.qkey as u64, qkey.unwrap_or(!route.qkey) as u64);
        let asked = self.asked.contains(&(route.dst_gid, route.dst_endpoint, id));
        let Some(message) = self.messages.get_mut(&id.0) else {
            if !asked {
                bench.fault(Some(id), "RL-4", Fault::UndueRelease);
            }
            return;
        };
        let there = (route.dst_gid, route.dst_endpoint) == (message.entry.gid, message.entry.endpoint);
        if !there {
            // Somebody else asked, in vain but politely.
            if !asked {
                bench.fault(Some(id), "RL-4", Fault::UndueRelease);
            }
            return;
        }
        bench.field(id, "RL-1", "source endpoint", route.src_endpoint as u64, message.number as u64);
        message.released = true;
        // How it ends is known by then, or judged with its completion.
        let alive = message.told.is_none() && message.done.is_none();
        let here = message.ended.is_none_or(|status| status >= Status::FIRST_LOCAL);
        if (asked && alive) || (!asked && (!here || message.told.is_some())) {
            bench.fault(Some(id), "RL-1", Fault::UndueRelease);
        }
    }

    /// Finds what the first packet of an unknown message was posted as.
    fn bind(&mut self, bench: &mut Bench, route: &Route, header: &DataHeader, payload: &[u8]) -> Option<()> {
        let endpoint = (route.src_endpoint & 0xFF) as u16;
        let fits = |posted: &Posted| {
            !posted.bound
                && posted.number == route.src_endpoint
                && posted.entry.count().is_some()
                && posted.entry.length == header.length
                && posted.entry.tag == header.tag
                && posted.entry.endpoint == route.dst_endpoint
                && posted.entry.gid == route.dst_gid
        };
        let order = self.order.get(&endpoint)?;
        let candidates = order.iter().filter(|&&index| self.posted.get(&(endpoint, index)).is_some_and(fits));
        let same = |index: &&u16| {
            self.posted.get(&(endpoint, **index)).is_some_and(|posted| posted.payload.starts_with(payload))
        };
        // Two entries may differ in their bytes alone: prefer the one that fits.
        let index = *candidates.clone().find(same).or_else(|| candidates.clone().next())?;
        let key = (endpoint, index);
        let posted = self.posted.get_mut(&key)?;
        posted.bound = true;
        let settings = &bench.setup.settings;
        //= TX-14
        let mut asked = slots::initial_window(&posted.entry, settings);
        //= TX-15
        if bench.setup.endpoints.iter().any(|e| e.index() == endpoint && e.tx_quota != 0) {
            asked = asked.min(slots::quota_window(&posted.entry, settings));
        }
        let taken = if header.initial_window == 0 { 256 } else { u32::from(header.initial_window) };
        let shorter = taken < asked && self.shortened.contains(&destination_hash(posted.entry.gid));
        let message = Message {
            key,
            number: posted.number,
            entry: posted.entry,
            payload: std::mem::take(&mut posted.payload),
            count: posted.entry.count()?,
            window: if shorter { taken } else { asked },
            next: 0,
            grants: Vec::new(),
            cumulative: 0,
            established: None,
            busy_at: None,
            refused: false,
            opened: bench.now(),
            progress: bench.now(),
            sequences: Sequences::default(),
            first_sent: Vec::new(),
            asked: BTreeMap::new(),
            ahead: BTreeMap::new(),
            urged: Vec::new(),
            probes: 0,
            stirs: vec![(bench.now().saturating_sub(Self::reaction(bench) / Bench::clocks(1)), bench.now())],
            told: None,
            done: None,
            ended: None,
            release_asked: false,
            released: false,
        };
        //= TX-1
        let slot = header.message.slot();
        if slot as usize >> bench.setup.config.tx_slots_log2 != 0 {
            let fault = Fault::Field { field: "slot", got: slot as u64, want: 0 };
            bench.fault(Some(header.message), "TX-1", fault);
        }
        if let Some(old) = self.slots.insert(slot, header.message) {
            let want = (old.generation() + 1) & 0xF_FFFF;
            bench.field(
                header.message,
                "TX-1",
                "generation",
                header.message.generation() as u64,
                want as u64,
            );
            let due = bench.clock + Self::reaction(bench);
            self.duties.add(due, Duty::SlotFree(old));
        }
        //= RS-2
        if let Some(old) = self.before.remove(&slot) {
            // A message that had its slot and sent nothing before the reset was not seen.
            let (new, old) = (header.message.generation(), old.generation());
            if generation_age(new, old) != Age::Newer {
                let want = u64::from((old + 1) & 0xF_FFFF);
                bench.field(header.message, "RS-2", "generation", new.into(), want);
            }
        }
        self.messages.insert(header.message.0, message);
        Some(())
    }

    pub(super) fn sent(
        &mut self,
        bench: &mut Bench,
        route: &Route,
        header: &DataHeader,
        payload: &[u8],
        asks: Asks,
    ) {
        let id = header.message;
        if !self.messages.contains_key(&id.0) {
            let begins = !header.probe && header.index == 0 && header.flags & flag::RETX == 0;
            if !begins || self.bind(bench, route, header, payload).is_none() {
                bench.fault(Some(id), "TX-1", Fault::UnknownMessage(header.index));
                return;
            }
        }
        let (clock, now, reaction) = (bench.clock, bench.now(), Self::reaction(bench));
        let rtt_low = self.rtt_low(bench);
        let Some(message) = self.messages.get_mut(&id.0) else { return };
        Self::fields(bench, message, route, header);
        //= TX-12
        let ended = message.done.map(|at| at + Bench::clocks(bench.tolerance.pipeline));
        let told = message.told.filter(|_| !bench.tolerance.overflow).map(|(at, _)| at + reaction);
        if message.released || ended.into_iter().chain(told).any(|last| clock > last) {
            bench.fault(Some(id), "TX-12", Fault::AfterEnd(header.index));
            return;
        }
        let settings = bench.setup.settings;
        if header.probe {
            //= TX-9
            bench.field(id, "TX-9", "PROBE index", header.index as u64, message.next as u64);
            let silent = message.silence(now, reaction / Bench::clocks(1));
            //= RD-6
            let round = if message.entry.round.is_some() { settings.rto_round } else { settings.rto };
            let least = (rtt_low + 2 * settings.guard as u64).min(settings.rto.min(round) as u64);
            let watched = message.entry.host_recovery && message.next == message.entry.count().unwrap_or(0);
            let settled =
                message.established.is_some_and(|at| clock > at + reaction + Bench::clocks(settings.rto));
            let least = if watched && settled { u64::from(settings.rto << 5) } else { least };
            let by_silence = silent + bench.tolerance.timer as u64 >= least || bench.tolerance.overflow;
            if message.urged.is_empty() && !by_silence {
                bench.fault(Some(id), "TX-9", Fault::UndueProbe(header.index));
            }
            // What came while it was on its way, chosen before, may call for another.
            let recent = |at: &Ticks| at + reaction / Bench::clocks(1) >= now;
            message.urged = message.urged.split_off(message.urged.len().min(usize::from(!by_silence)));
            message.urged.retain(recent);
            message.probes += 1;
            // One silence, one PROBE.
            message.stirs = vec![(now, now)];
            if !payload.is_empty() {
                bench.fault(Some(id), "RX-6", Fault::Payload(header.index));
            }
            return;
        }
        message.emitted(now, reaction / Bench::clocks(1));
        let start = (header.index as usize) << message.entry.payload_log2;
        let length = wire::payload_len(message.entry.length, message.entry.payload_log2, header.index);
        if message.payload.get(start..start + length as usize) != Some(payload) {
            bench.fault(Some(id), "§7.2", Fault::Payload(header.index));
        }
        //= TX-2
        let limits = (message.limit_at(clock.saturating_sub(reaction)), message.limit_at(clock));
        let last = header.index + 1 == message.count;
        let certain = limits.0 == limits.1 && !bench.tolerance.overflow;
        let must = last || asks.must || (certain && header.index + 1 == limits.1);
        let earlier = bench.tolerance.overflow && message.was_limit(header.index + 1);
        let may = last || asks.may || earlier || (limits.0..=limits.1).contains(&(header.index + 1));
        let ar = header.flags & flag::AR != 0;
        if (must && !ar) || (ar && !may) {
            bench.fault(Some(id), "TX-2", Fault::Flag("AR", header.index));
        }
        if header.flags & flag::RETX != 0 {
            //= TX-7
            let granted = match message.asked.entry(header.index) {
                Entry::Occupied(mut credit) if *credit.get() > 0 => {
                    *credit.get_mut() -= 1;
                    true
                }
                _ => false,
            };
            if !granted || header.index >= message.next {
                bench.fault(Some(id), "TX-7", Fault::Unasked(header.index));
            } else {
                bench.summary.retransmissions += 1;
            }
            return;
        }
        //= TX-1
        if header.index != message.next {
            bench.fault(Some(id), "TX-1", Fault::OutOfOrder { got: header.index, want: message.next });
        }
        if header.index >= limits.1 {
            bench.fault(Some(id), "TX-1", Fault::BeyondGrant { index: header.index, limit: limits.1 });
        }
        //= TX-11
        if message.busy_at.is_some_and(|at| clock > at + reaction) && !bench.tolerance.overflow {
            bench.fault(Some(id), "TX-11", Fault::SentWhileBusy(header.index));
        }
        message.next = message.next.max(header.index + 1);
        message.first_sent.resize(message.next as usize, now);
        //= TX-7
        let asked = message.ahead.remove(&header.index);
        if asked.is_some_and(|at| now + rtt_low <= at + reaction / Bench::clocks(1)) {
            *message.asked.entry(header.index).or_default() += 1;
        }
    }

    fn fields(bench: &mut Bench, message: &Message, route: &Route, header: &DataHeader) {
        let id = header.message;
        let entry = &message.entry;
        let mac = |bytes: [u8; 6]| bytes.iter().fold(0u64, |word, &byte| word << 8 | byte as u64);
        let vlan = |tci: Option<u16>| tci.map_or(1 << 16, u64::from);
        let immediate = if entry.immediate.is_some() { flag::IMM } else { 0 };
        let round = if entry.round.is_some() { flag::ROUND } else { 0 };
        let write = if entry.is_write() { flag::WRITE } else { 0 };
        let asks_host = if entry.host_recovery { flag::HOST_RECOVERY } else { 0 };
        let pairs = [
            ("destination MAC", mac(route.dst_mac), mac(entry.mac)),
            ("destination GID", (route.dst_gid == entry.gid).into(), 1),
            ("VLAN tag", vlan(route.vlan), vlan(entry.vlan)),
            ("destination endpoint", route.dst_endpoint as u64, entry.endpoint as u64),
            ("source endpoint", route.src_endpoint as u64, message.number as u64),
            ("Q_Key", route.qkey as u64, entry.qkey as u64),
            ("PSN", route.psn as u64, header.index as u64),
            ("payload size", header.payload_log2 as u64, entry.payload_log2 as u64),
            ("traffic class", header.traffic_class as u64, (entry.traffic_class & 0xF) as u64),
            ("initial window", header.initial_window as u64, (message.window & 0xFF) as u64),
            ("length", header.length as u64, entry.length as u64),
            ("tag", header.tag, entry.tag),
            (
                "immutable flags",
                (header.flags & flag::IMMUTABLE) as u64,
                (immediate | round | write | asks_host) as u64,
            ),
            ("rkey", header.rkey as u64, entry.rkey as u64),
            ("reserved flag", (header.flags >> 7) as u64, 0),
        ];
        for (field, got, want) in pairs {
            bench.field(id, "§2", field, got, want);
        }
        if let Some(round) = entry.round {
            bench.field(id, "§2", "round", header.round as u64, round as u64);
        }
        if let Some(immediate) = entry.immediate {
            bench.field(id, "§2", "immediate", header.immediate as u64, immediate as u64);
        }
        //= TX-2
        let est = header.flags & flag::EST != 0;
        let must = message.established.is_some_and(|at| bench.clock > at + Self::reaction(bench))
            && !bench.tolerance.overflow;
        if (est && message.established.is_none()) || (must && !est) {
            bench.fault(Some(id), "TX-2", Fault::Flag("EST", header.index));
        }
    }

    //= TX-10
    pub(super) fn completed(&mut self, bench: &mut Bench, done: &Completion) {
        let key = (done.endpoint, done.entry);
        let Some(posted) = self.posted.remove(&key) else {
            let fault = Fault::UnknownCompletion { endpoint: done.endpoint, entry: done.entry };
            bench.fault(Some(done.message), "TX-10", fault);
            return;
        };
        if let Some(order) = self.order.get_mut(&key.0) {
            order.retain(|&index| index != key.1);
        }
        let entry = &posted.entry;
        bench.field(done.message, "TX-10", "length", done.length as u64, entry.length as u64);
        bench.field(done.message, "TX-10", "tag", done.tag, entry.tag);
        bench.field(done.message, "WR-2", "write flag", done.write as u64, entry.is_write() as u64);
        bench.field(done.message, "TX-10", "peer endpoint", done.peer_endpoint as u64, entry.endpoint as u64);
        if done.peer_gid != entry.gid {
            let fault = Fault::Field { field: "peer GID", got: 1, want: 0 };
            bench.fault(Some(done.message), "TX-10", fault);
        }
        let legal = if posted.bound {
            self.legal_end(bench, done, key)
        } else {
            Self::legal_refusal(bench, done, entry)
        };
        if !legal {
            bench.fault(Some(done.message), "TX-10", Fault::Status(done.status));
        }
    }

    fn legal_refusal(bench: &Bench, done: &Completion, entry: &SendEntry) -> bool {
        let permitted = entry.length == 0
            || bench
                .setup
                .keys
                .iter()
                .any(|key| key.key == entry.lkey && key.covers(entry.address, entry.length));
        match Status::from_code(done.status) {
            Ok(Status::BadRequest) => entry.count().is_none(),
            Ok(Status::LocalProtection) => !permitted,
            Ok(Status::LocalDma) => bench.tolerance.dma_faults,
            _ => false,
        }
    }

    fn legal_end(&mut self, bench: &mut Bench, done: &Completion, key: (u16, u16)) -> bool {
        let Some(message) = self.messages.get_mut(&done.message.0).filter(|message| message.key == key)
        else {
            bench.fault(Some(done.message), "TX-10", Fault::UnknownMessage(0));
            return true;
        };
        message.done = Some(bench.clock);
        message.ended = Some(done.status);
        message.payload = Vec::new();
        //= RL-1
        let here = done.status >= Status::FIRST_LOCAL;
        if here || message.release_asked {
            self.duties.add(bench.clock + Self::reaction(bench), Duty::Release(done.message));
        } else if message.released {
            bench.fault(Some(done.message), "RL-1", Fault::UndueRelease);
        }
        let (now, settings) = (bench.now(), &bench.setup.settings);
        let passed = |since: Ticks, bound: u32| now + bench.tolerance.timer as u64 >= since + bound as u64;
        let told = message.told.map(|(_, status)| status);
        match Status::from_code(done.status) {
            Ok(Status::Unheard) => {
                message.established.is_none() && !message.refused && passed(message.opened, settings.t_open)
            }
            Ok(Status::ReceiverNotReady) => {
                message.established.is_none() && message.refused && passed(message.opened, settings.t_open)
            }
            Ok(Status::RetryExceeded) => message.probes >= settings.max_retry,
            Ok(Status::GrantTimeout) => {
                message.established.is_some() && passed(message.progress, settings.grant_wait)
            }
            Ok(Status::LocalDma) => bench.tolerance.dma_faults,
            _ => told == Some(done.status),
        }
    }

    pub(super) fn due(&self) -> Option<u64> {
        self.duties.due()
    }

    pub(super) fn overdue(&mut self, bench: &mut Bench) {
        while let Some(duty) = self.duties.pop(bench.clock) {
            //= RL-1
            if let Duty::Release(id) = duty {
                // Whoever asked for it may not have been heard.
                let certain = |message: &Message| {
                    !bench.tolerance.overflow
                        || message.ended.is_some_and(|ended| ended >= Status::FIRST_LOCAL)
                };
                if self.messages.get(&id.0).is_some_and(|message| !message.released && certain(message)) {
                    bench.fault(Some(id), "RL-1", Fault::MissingRelease);
                }
                continue;
            }
            let (message, fault) = match duty {
                Duty::Completion(id) => (id, Fault::MissingCompletion),
                Duty::SlotFree(old) | Duty::Release(old) => (old, Fault::SlotReused(old.0)),
            };
            if self.messages.get(&message.0).is_some_and(|message| message.done.is_none()) {
                bench.fault(Some(message), "TX-12", fault);
            }
        }
    }

    pub(super) fn finish(&mut self, bench: &mut Bench) {
        for &(_, index) in self.posted.keys() {
            bench.fault(None, "§7.7", Fault::NeverEnded(index));
        }
    }
}
