//! The receiving half of a NIC: opens, fills and ends contexts (RO, RC, LD, GR).
//!
//! ```text
//!  DATA, PROBE ─> lookup ─┬─ context ─> write, bitmap ─┬─> feedback
//!                         ├─ tombstone ─> its status   │
//!                         └─ nothing ─> open or BUSY   └─> grants (one queue)
//! ```
//!
//! Payload writes finish at once here, so a message completes with its last
//! packet; the hardware drains its writes in between.

use std::collections::{BTreeMap, VecDeque};

use tessera_abi::params::{Config, BLOCK_PACKETS};
use tessera_abi::queue::{DONE_CANCEL, DONE_POSTED, DONE_RECV, DONE_UNEXPECTED};
use tessera_abi::regs::{Counter, GRANTS_BY_LEFT};
use tessera_abi::status::{Drop, Status};
use tessera_abi::wire::{self, fb, flag, generation_age, Age, DataHeader, MessageId};

use crate::bitmap::Pool;
use crate::chunks::{self, Order};
use crate::context::Context;
use crate::datagram;
use crate::feedback;
use crate::grant::{self, Credit};
use crate::interval::SourceTable;
use crate::io::{Output, Write};
use crate::lookup::{Entry, Held, Key, Lookup, Place};
use crate::match_table::MatchTable;
use crate::queue::{Completion, RecvEntry, RecvKind};
use crate::rounds::{self, Rounds};
use crate::rx_parse::{Datagram, Origin};
use crate::settings::{Endpoint, Settings};
use crate::timer_wheel::TimerWheel;
use crate::turns;
use crate::Ticks;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Timer {
    Context(u32),
    Tombstone(Place),
}

/// A verified DATA or PROBE.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Where it comes from.
    pub origin: Origin,
    /// Its TRH.
    pub header: DataHeader,
    /// Payload.
    pub payload: &'a [u8],
    /// Not a write, or one that its key permits now.
    pub permitted: bool,
}

/// The receiving half.
#[derive(Clone, Debug, Hash)]
pub struct Receiver {
    settings: Settings,
    tombstone_limit: usize,
    lookup: Lookup,
    contexts: Vec<Option<Context>>,
    free: Vec<u32>,
    pool: Pool,
    credit: Credit,
    sources: SourceTable,
    rounds: Rounds,
    timers: TimerWheel<Timer>,
    /// By ring.
    receives: BTreeMap<u16, VecDeque<(u16, RecvEntry)>>,
    /// Table entry of each endpoint.
    tenants: BTreeMap<u16, Endpoint>,
    tagged: MatchTable,
    /// The host may recover messages.
    recovers: bool,
}

impl Receiver {
    /// An empty receiver of the given sizes.
    pub fn new(config: &Config, settings: &Settings) -> Self {
        let contexts = 1u32 << config.rx_contexts_log2;
        Self {
            settings: *settings,
            tombstone_limit: config.tombstones,
            lookup: Lookup::new(config.table_sets_log2, settings),
            contexts: vec![None; contexts as usize],
            free: (0..contexts).rev().collect(),
            pool: Pool::new(1 << config.bitmap_blocks_log2),
            credit: Credit::default(),
            sources: SourceTable::new(settings),
            rounds: Rounds::default(),
            timers: TimerWheel::default(),
            receives: BTreeMap::new(),
            tenants: BTreeMap::new(),
            tagged: MatchTable::new(config.tagged()),
            recovers: config.host_recovery,
        }
    }

    /// Where an endpoint's receives come from and how many contexts it may hold.
    pub fn set_tenant(&mut self, endpoint: &Endpoint) {
        self.tenants.insert(endpoint.index(), *endpoint);
        self.tagged.forget(endpoint.index());
    }

    /// Ends everything of an endpoint.
    //= RE-2
    pub fn destroy(&mut self, now: Ticks, endpoint: u16, out: &mut Output) {
        for id in 0..self.contexts.len() {
            if self.contexts[id].as_ref().is_some_and(|context| context.endpoint() == endpoint) {
                self.end(now, id as u32, Status::Destroyed, true, out);
            }
        }
        self.grants(now, out);
        self.receives.remove(&endpoint);
        self.tagged.forget(endpoint);
        self.tenants.remove(&endpoint);
    }

    /// A checked receive entry of a ring.
    pub fn post(&mut self, now: Ticks, ring: u16, index: u16, entry: RecvEntry, out: &mut Output) {
        let tenant = self.tenants.get(&ring);
        let (quota, tags) = tenant.map_or((0, false), |tenant| (tenant.rx_quota, tenant.tags));
        let tell = |opcode: u8, status: Status, tag: u64, length: u32| Completion {
            tag,
            length,
            ..Completion::of_entry(now, opcode, status, ring, index)
        };
        let told = match entry.kind {
            //= HR-2
            RecvKind::Senseless => tell(DONE_RECV, Status::BadRequest, 0, 0),
            RecvKind::Chunks(_) if !chunks::well_formed(&entry) => tell(DONE_RECV, Status::BadRequest, 0, 0),
            RecvKind::Plain | RecvKind::Chunks(_) => {
                self.receives.entry(ring).or_default().push_back((index, entry));
                return;
            }
            //= TM-1
            RecvKind::Tagged(tag) if !tags => tell(DONE_RECV, Status::BadRequest, tag, entry.length),
            RecvKind::Tagged(tag) => match self.tagged.post(ring, tag, quota, index, entry) {
                Some(handle) => tell(DONE_POSTED, Status::Success, tag, handle.into()),
                None => {
                    out.counters.event(Counter::TagsFull);
                    tell(DONE_RECV, Status::NoTagSpace, tag, entry.length)
                }
            },
            RecvKind::Cancel { tag, target, handle } => {
                let found = self.tagged.cancel(ring, tag, target, handle);
                tell(DONE_CANCEL, if found { Status::Success } else { Status::NotPosted }, tag, 0)
            }
        };
        out.completions.push_back(told);
    }

    /// Open contexts of an endpoint.
    pub fn contexts_of(&self, endpoint: u16) -> usize {
        self.contexts.iter().flatten().filter(|context| context.endpoint() == endpoint).count()
    }

    /// The host says how many messages a round needs.
    //= RD-1
    pub fn register_round(&mut self, now: Ticks, name: rounds::Name, messages: u16) {
        self.rounds.register(name, messages);
        self.sweep(now);
    }

    /// Judges the messages of rounds anew.
    //= RD-5
    fn sweep(&mut self, now: Ticks) {
        for id in 0..self.contexts.len() {
            let Some(context) = self.contexts[id].as_mut() else { continue };
            let Some(name) = context.round() else { continue };
            context.halvings = self.rounds.halvings(name);
            let source = self.sources.of(SourceTable::hash(&context.key.gid));
            context.rearm(now, source, &self.settings);
            self.watch(id as u32);
        }
    }

    /// A verified DATA or PROBE.
    pub fn handle(&mut self, now: Ticks, arrival: &Packet<'_>, out: &mut Output) -> Result<(), Drop> {
        let Packet { origin, header: packet, .. } = arrival;
        let key = Key { gid: origin.gid, endpoint: origin.endpoint, slot: packet.message.slot() };
        let found = self.lookup.find(&key);
        let mut place = None;
        if let Some((at, entry)) = found {
            match (generation_age(packet.message.generation(), entry.generation), entry.held) {
                //= RO-3
                (Age::Older, _) => return Err(Drop::Stale),
                (Age::Same, Held::Context(id)) => return self.arrive(now, id, arrival, out),
                //= RO-2
                (Age::Same, Held::Tombstone(status)) => {
                    let count = wire::packet_count(packet.length, packet.payload_log2).unwrap_or(1);
                    let wish = self.wish();
                    out.feedback.push_back(feedback::tombstone(now, origin, packet, status, count, wish));
                    return Err(Drop::Finished);
                }
                //= RO-4
                (Age::Newer, Held::Context(id)) => {
                    self.end(now, id, Status::Replaced, false, out);
                    self.grants(now, out);
                    return self.busy(now, origin, packet, Drop::BusyResources, out);
                }
                (Age::Newer, Held::Tombstone(_)) => place = Some(at),
            }
        }
        //= RO-5
        if packet.flags & flag::EST != 0 {
            let status = Status::NoContext as u8;
            out.feedback.push_back(feedback::stateless(now, origin, packet, fb::ABORT, status));
            return Err(Drop::NoContext);
        }
        self.open(now, place, key, arrival, out)
    }

    /// A verified RELEASE.
    //= RL-2
    pub fn release(
        &mut self,
        now: Ticks,
        origin: &Origin,
        message: MessageId,
        out: &mut Output,
    ) -> Result<(), Drop> {
        let key = Key { gid: origin.gid, endpoint: origin.endpoint, slot: message.slot() };
        let Some((place, entry)) = self.lookup.find(&key) else { return Ok(()) };
        match (generation_age(message.generation(), entry.generation), entry.held) {
            (Age::Older, _) => return Err(Drop::Stale),
            (Age::Newer, _) => {}
            (Age::Same, Held::Context(id)) => {
                self.end(now, id, Status::Released, false, out);
                self.grants(now, out);
            }
            (Age::Same, Held::Tombstone(_)) => {
                let tombstone = Timer::Tombstone(place);
                let sooner = now + self.settings.mpl as u64;
                let until = self.timers.deadline(tombstone).map_or(sooner, |until| until.min(sooner));
                self.timers.set(tombstone, Some(until));
            }
        }
        Ok(())
    }

    /// Whether COMPLETE asks for a RELEASE.
    //= RL-3
    fn is_low(&self) -> bool {
        let low = self.settings.release_low;
        low != 0 && self.tombstone_limit - self.lookup.len() < self.tombstone_limit >> low
    }

    /// COMPLETE, with the wish for a RELEASE if there is one.
    fn wish(&self) -> u8 {
        fb::COMPLETE | if self.is_low() { fb::RELEASE_REQ } else { 0 }
    }

    /// A verified datagram for a plain UD endpoint.
    pub fn deliver(
        &mut self,
        now: Ticks,
        origin: &Origin,
        datagram: &Datagram<'_>,
        out: &mut Output,
    ) -> Result<(), Drop> {
        let posted = self.receives.get_mut(&origin.local.ring());
        datagram::deliver(now, origin, datagram, posted, out)
    }

    fn busy(
        &mut self,
        now: Ticks,
        origin: &Origin,
        packet: &DataHeader,
        reason: Drop,
        out: &mut Output,
    ) -> Result<(), Drop> {
        out.feedback.push_back(feedback::stateless(now, origin, packet, fb::BUSY, 0));
        Err(reason)
    }

    //= RO-6
    fn open(
        &mut self,
        now: Ticks,
        replaced: Option<Place>,
        key: Key,
        arrival: &Packet<'_>,
        out: &mut Output,
    ) -> Result<(), Drop> {
        let Packet { origin, header: packet, .. } = arrival;
        let Some(place) = replaced.or_else(|| self.lookup.vacancy(&key)) else {
            return self.busy(now, origin, packet, Drop::BusyConflict, out);
        };
        let remembered = self.lookup.len() - replaced.is_some() as usize;
        if self.free.is_empty() || self.pool.free() == 0 || remembered >= self.tombstone_limit {
            return self.busy(now, origin, packet, Drop::BusyResources, out);
        }
        let endpoint = origin.local.index();
        let tenant = self.tenants.get(&endpoint).copied();
        let (ring, quota) = tenant.map_or((endpoint, 0), |tenant| (tenant.ring(), tenant.rx_quota));
        //= RO-11
        if quota != 0 && self.contexts_of(endpoint) >= quota as usize {
            return self.busy(now, origin, packet, Drop::BusyQuota, out);
        }
        //= WR-1
        if !arrival.permitted {
            self.bar(now, place, key, arrival, Status::RemoteAccess, out);
            return Err(Drop::RemoteAccess);
        }
        let write = packet.flags & flag::WRITE != 0;
        //= TM-2
        let tags = !write && tenant.is_some_and(|tenant| tenant.tags);
        let matching = self.tagged.find(endpoint, packet.tag).filter(|_| tags);
        let ring = if matching.is_some() { endpoint } else { ring };
        let mut receive = None;
        if let Some(tagged) = matching {
            if tagged.entry.length < packet.length {
                self.bar(now, place, key, arrival, Status::Length, out);
                return Ok(());
            }
            self.tagged.take(endpoint, packet.tag);
            receive = Some((tagged.index, tagged.entry));
        } else if !write || packet.flags & flag::IMM != 0 {
            let first = self.receives.get(&ring).and_then(VecDeque::front);
            let Some(&(_, entry)) = first else {
                return self.busy(now, origin, packet, Drop::BusyReceive, out);
            };
            if !write && chunks::too_short(&entry, packet, self.recovers) {
                self.bar(now, place, key, arrival, Status::Length, out);
                return Ok(());
            }
            receive = self.receives.get_mut(&ring).and_then(VecDeque::pop_front);
        }
        let Some(id) = self.free.pop() else {
            return self.busy(now, origin, packet, Drop::BusyResources, out);
        };
        let generation = packet.message.generation();
        self.pool.take();
        self.timers.set(Timer::Tombstone(place), None);
        self.lookup.put(place, Some(Entry { key, generation, held: Held::Context(id) }));
        let receive = (ring, receive, self.recovers);
        let mut context = Context::open(now, place, key, origin, packet, receive, &self.settings);
        self.credit.grant(context.owed());
        //= HR-3
        if let Some(area) = context.area {
            let (address, bytes) = area.header(MessageId::new(id as u16, generation), packet);
            out.writes.push_back(Write { address, bytes });
        }
        //= TM-6
        if tags && matching.is_none() {
            let unexpected = context.completion(now, DONE_UNEXPECTED, Status::Success as u8);
            out.completions.push_back(unexpected);
        }
        context.halvings = context.round().map_or(0, |name| self.rounds.halvings(name));
        self.contexts[id as usize] = Some(context);
        out.counters.event(Counter::RxOpened);
        self.arrive(now, id, arrival, out)
    }

    /// Refuses a message for good, before it has a context.
    fn bar(
        &mut self,
        now: Ticks,
        place: Place,
        key: Key,
        arrival: &Packet<'_>,
        status: Status,
        out: &mut Output,
    ) {
        let Packet { origin, header, .. } = arrival;
        self.bury(now, place, key, header.message.generation(), status as u8);
        out.feedback.push_back(feedback::stateless(now, origin, header, fb::ABORT, status as u8));
    }

    fn arrive(&mut self, now: Ticks, id: u32, arrival: &Packet<'_>, out: &mut Output) -> Result<(), Drop> {
        let Packet { origin, header: packet, payload, permitted } = arrival;
        let wish = self.wish();
        let Some(context) = self.contexts[id as usize].as_mut() else { return Err(Drop::Mismatch) };
        if !context.matches(origin, packet) {
            return Err(Drop::Mismatch);
        }
        //= WR-1
        if !permitted {
            context.reply.mac = origin.mac;
            self.end(now, id, Status::RemoteAccess, true, out);
            self.grants(now, out);
            return Err(Drop::RemoteAccess);
        }
        let hash = SourceTable::hash(&context.key.gid);
        let counted = context.counts(&self.settings);
        let arrived = context.arrive(now, origin, packet, self.sources.of(hash), &self.settings)?;
        //= GR-4
        let late = arrived.skew.is_some_and(|sample| sample > self.settings.credit_delay);
        let policy = self.settings.credit_policy;
        if (origin.ce && policy & 1 != 0) || (late && policy & 2 != 0) {
            self.credit.congested();
        }
        if let Some(sample) = arrived.skew {
            self.sources.late(hash, sample, &self.settings);
        }
        if let Some(answered) = arrived.answered {
            self.sources.answered(hash, answered, &self.settings);
        }
        if arrived.new {
            //= RC-2
            self.pool.give(arrived.freed);
            //= GR-5
            self.credit.settle(counted);
            self.credit.grant(context.counts(&self.settings));
            out.counters.event(Counter::RxNew);
            if !payload.is_empty() {
                let address = context.base() + ((packet.index as u64) << packet.payload_log2);
                out.writes.push_back(Write { address, bytes: payload.to_vec() });
            }
            //= HR-4
            out.writes.extend(context.told(packet.index).map(|(address, bytes)| Write { address, bytes }));
        }
        //= RC-6
        if arrived.new && context.distinct == context.count {
            let answer = context.answer(now, origin, packet, wish);
            let round = context.round();
            self.end(now, id, Status::Success, false, out);
            if round.is_some_and(|name| self.rounds.finished(name)) {
                out.counters.event(Counter::RoundPulls);
                self.sweep(now);
            }
            out.feedback.push_back(answer);
            self.grants(now, out);
            return Ok(());
        }
        if arrived.answer {
            out.feedback.push_back(context.answer(now, origin, packet, 0));
        }
        context.rearm(now, self.sources.of(hash), &self.settings);
        if !context.queued && context.grant < grant::limit(context.count, context.cumulative()) {
            context.queued = true;
            self.credit.enqueue(now, place(context, &self.rounds, &self.settings), id);
        }
        self.watch(id);
        self.grants(now, out);
        if !arrived.new && !packet.probe {
            return Err(Drop::Duplicate);
        }
        Ok(())
    }

    /// The host's word on a message; whether that is one it may decide on.
    //= HR-5
    pub fn recover(&mut self, now: Ticks, handle: MessageId, order: Order, out: &mut Output) -> bool {
        let id = u32::from(handle.slot());
        let held = self.contexts.get_mut(id as usize).and_then(Option::as_mut);
        let meant = held.filter(|context| {
            context.area.is_some() && context.opener.message.generation() == handle.generation()
        });
        let Some(context) = meant else { return false };
        match order {
            Order::Nack(limit) => out.feedback.extend(context.ordered(limit)),
            //= HR-7
            Order::Partial => {
                self.end(now, id, Status::Partial, true, out);
                self.grants(now, out);
            }
        }
        true
    }

    /// Points the context's timer at the earlier of deadline and give-up.
    //= LD-7
    fn watch(&mut self, id: u32) {
        let due = self.contexts[id as usize].as_ref().and_then(|context| {
            let give_up = (context.cumulative() < context.grant)
                .then(|| context.interval.last_heard + self.settings.rx_give_up as u64);
            [give_up, context.interval.deadline()].into_iter().flatten().min()
        });
        self.timers.set(Timer::Context(id), due);
    }

    //= GR-2
    fn grants(&mut self, now: Ticks, out: &mut Output) {
        let mut turned = 0;
        while let Some(id) = self.credit.head() {
            let Some(context) = self.contexts[id as usize].as_mut() else { return };
            let limit = grant::limit(context.count, context.cumulative());
            //= GR-5
            //= GR-8
            if context.lends(&self.settings) || context.owed() > self.settings.credit_each.into() {
                context.queued = false;
                self.credit.dequeue(now);
                continue;
            }
            let wanted = self.settings.grant_quantum.max(1).min(limit - context.grant);
            let log2 = context.opener.payload_log2;
            let wanted = self.credit.allows(now, wanted, log2, context.owed(), &self.settings);
            if wanted == 0 {
                return;
            }
            let mut end = context.grant + wanted;
            for block in context.grant / BLOCK_PACKETS..=(end - 1) / BLOCK_PACKETS {
                if context.window.allocated(block) {
                    continue;
                }
                if !self.pool.take() {
                    end = (block * BLOCK_PACKETS).max(context.grant);
                    break;
                }
                context.window.allocate(block);
            }
            self.credit.dequeue(now);
            if end == context.grant {
                self.credit.enqueue(now, place(context, &self.rounds, &self.settings), id);
                turned += 1;
                if turned > self.credit.waiting() {
                    return;
                }
                continue;
            }
            turned = 0;
            self.credit.grant(grant::bytes(context.opener.length, log2, context.grant, end));
            //= RC-3
            if context.cumulative() == context.grant {
                context.interval.last_heard = now;
            }
            context.grant = end;
            context.queued = end < limit;
            if context.queued {
                self.credit.enqueue(now, place(context, &self.rounds, &self.settings), id);
            }
            //= GR-3
            out.feedback.push_back(context.notice(fb::GRANT, 0));
            out.counters.event(Counter::GrantsSent);
            let source = self.sources.of(SourceTable::hash(&context.key.gid));
            context.rearm(now, source, &self.settings);
            self.watch(id);
        }
    }

    fn bury(&mut self, now: Ticks, place: Place, key: Key, generation: u32, status: u8) {
        self.lookup.put(place, Some(Entry { key, generation, held: Held::Tombstone(status) }));
        //= RL-2
        let released = status == Status::Released as u8;
        let life = if released { self.settings.mpl } else { self.settings.time_wait };
        self.timers.set(Timer::Tombstone(place), Some(now + life as u64));
    }

    /// Ends a context: its completion, everything it held back, a tombstone.
    fn end(&mut self, now: Ticks, id: u32, status: Status, tell: bool, out: &mut Output) {
        let Some(mut context) = self.contexts[id as usize].take() else { return };
        //= GR-1
        self.credit.settle(context.counts(&self.settings));
        self.credit.forget(id);
        self.pool.give(context.window.held());
        self.timers.set(Timer::Context(id), None);
        self.free.push(id);
        //= WR-1
        if context.receive.is_some() {
            out.completions.push_back(context.completion(now, DONE_RECV, status as u8));
        }
        let completed = status == Status::Success;
        out.counters.event(if completed { Counter::RxCompleted } else { Counter::RxAborted });
        //= RO-4
        self.bury(now, context.place, context.key, context.opener.message.generation(), status as u8);
        if tell {
            out.feedback.push_back(context.notice(fb::ABORT, status as u8));
        }
    }

    /// Earliest time anything is due.
    pub fn next_timeout(&self) -> Option<Ticks> {
        self.timers.next()
    }

    /// Everything due at `now`.
    pub fn handle_timeout(&mut self, now: Ticks, out: &mut Output) {
        while let Some(timer) = self.timers.pop(now) {
            out.counters.event(Counter::WheelPops);
            let id = match timer {
                Timer::Tombstone(place) => {
                    self.lookup.put(place, None);
                    continue;
                }
                Timer::Context(id) => id,
            };
            let Some(context) = self.contexts[id as usize].as_mut() else { continue };
            //= LD-7
            if now - context.interval.last_heard >= self.settings.rx_give_up as u64
                && context.cumulative() < context.grant
            {
                self.end(now, id, Status::GaveUp, true, out);
                self.grants(now, out);
                continue;
            }
            out.counters.event(Counter::NackExpiries);
            let source = self.sources.of(SourceTable::hash(&context.key.gid));
            let counted = context.counts(&self.settings);
            out.feedback.extend(context.expire(now, source, &self.settings));
            //= GR-5
            self.credit.settle(counted - context.counts(&self.settings));
            self.watch(id);
            self.grants(now, out);
        }
    }

    /// Granted bytes not yet arrived.
    pub fn outstanding(&self) -> u64 {
        self.credit.outstanding()
    }

    /// The same, summed over the contexts: GR-1 says they agree.
    pub fn outstanding_by_context(&self) -> u64 {
        self.contexts.iter().flatten().map(|context| context.counts(&self.settings)).sum()
    }

    /// Open contexts.
    pub fn open_contexts(&self) -> usize {
        self.contexts.len() - self.free.len()
    }

    /// Tombstones held.
    pub fn tombstones(&self) -> usize {
        self.lookup.len() - self.open_contexts()
    }

    /// Receives posted to a ring that no message has taken.
    pub fn posted(&self, ring: u16) -> usize {
        self.receives.get(&ring).map_or(0, VecDeque::len)
    }

    /// Free bitmap blocks.
    pub fn free_blocks(&self) -> u32 {
        self.pool.free()
    }

    /// Whether every context, block, byte of credit and timer but those of
    /// tombstones is back.
    pub fn is_idle(&self) -> bool {
        self.open_contexts() == 0
            && self.pool.is_whole()
            && self.credit.outstanding() == 0
            && self.credit.waiting() == 0
            && self.timers.len() == self.tombstones()
    }

    /// The skew in force for a source.
    pub fn skew_of(&self, gid: &[u8; 16]) -> u32 {
        self.sources.of(SourceTable::hash(gid)).skew
    }
}

/// Where a context waits to be granted more.
//= GR-6
//= GR-7
fn place(context: &Context, rounds: &Rounds, settings: &Settings) -> grant::Place {
    match context.round().and_then(|name| rounds.registered(name)) {
        Some(registered) => grant::Place::Round(registered),
        None if settings.turn_policy & GRANTS_BY_LEFT == 0 => grant::Place::Rest(0),
        None => grant::Place::Rest(turns::list_of(context.count - context.grant)),
    }
}
