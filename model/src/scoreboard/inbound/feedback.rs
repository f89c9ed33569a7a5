//! Judges the feedback a NIC sends against what had arrived (RC-7, RC-8, LD, GR).

use std::collections::BTreeSet;

use tessera_abi::params::{BLOCK_PACKETS, WINDOW_PACKETS};
use tessera_abi::status::Status;
use tessera_abi::wire::{fb, FeedbackHeader, Route, NO_SAMPLE};

use super::super::{Bench, Fault};
use super::message::{Answerable, Before, Message, Name};
use super::{hash, Duty, Receiving, Recv};
use crate::bitmap::Block;
use crate::grant;
use crate::interval::{Interval, Source};
use crate::queue::RecvEntry;
use crate::Ticks;

impl Receiving {
    pub(in super::super) fn answered(&mut self, bench: &mut Bench, route: &Route, header: &FeedbackHeader) {
        let id = header.message;
        let name = (route.dst_gid, route.dst_endpoint, id);
        //= RL-3
        if header.flags & fb::RELEASE_REQ != 0 {
            let completes = header.flags & (fb::COMPLETE | fb::ABORT) == fb::COMPLETE;
            if !completes || !self.is_low(bench) {
                bench.fault(Some(id), "RL-3", Fault::Flag("RELEASE_REQ", header.cumulative));
            }
        }
        let Some(message) = self.messages.get_mut(&name) else {
            bench.fault(Some(id), "RC-7", Fault::Undue);
            return;
        };
        let qkey = bench.setup.endpoints.iter().find(|e| e.number == route.src_endpoint).map(|e| e.qkey);
        bench.field(id, "TX-3", "source endpoint", route.src_endpoint as u64, message.local as u64);
        bench.field(id, "TX-3", "Q_Key", route.qkey as u64, qkey.unwrap_or(!route.qkey) as u64);
        if !message.senders.contains(&(route.dst_mac, route.vlan)) {
            let fault = Fault::Field { field: "destination MAC and VLAN", got: 0, want: 1 };
            bench.fault(Some(id), "RC-3", fault);
        }
        //= RC-8
        let sampled = header.delay != NO_SAMPLE;
        let fits = |a: &Answerable| {
            a.answered.is_none() && a.ev == header.ev && a.timestamp == header.echo && sampled
        };
        // Of copies, and of packets that left in one tick on one path, the one whose
        // delay fits and whose mark; of those, the first that has to be answered, for each
        // of them is; else the best fit.
        let (clock, stamp) = (bench.clock, bench.tolerance.stamp as u64);
        let held = |a: &Answerable| bench.tick_at(clock) - bench.tick_at(a.clock);
        let misfit = |a: &Answerable| held(a).abs_diff(header.delay as u64);
        let candidates = message.answers.iter().enumerate().filter(|(_, a)| fits(a));
        let ce = header.flags & fb::CE != 0;
        let order = |a: &Answerable| if a.due { a.serial } else { misfit(a) };
        // A report shows the packet it answers.
        let busy = header.flags & fb::BUSY != 0;
        let reports = !busy && header.flags & (fb::COMPLETE | fb::ABORT) == 0;
        let bits = Block::from_bytes(header.bitmap);
        let hides = |a: &Answerable| {
            let bit = a.index.checked_sub(header.base).filter(|&bit| bit < BLOCK_PACKETS);
            reports && a.new && a.index >= header.cumulative && bit.is_some_and(|bit| !bits.get(bit))
        };
        let rank = |a: &Answerable| (hides(a) || misfit(a) > stamp, a.ce != ce, !a.due, order(a), !a.new);
        // Every packet of a message that is refused is, one after the other.
        let rank =
            |a: &Answerable| if busy { (rank(a).0, rank(a).1, false, a.serial, false) } else { rank(a) };
        let found = candidates.min_by_key(|(_, a)| rank(a)).map(|(at, _)| at);
        // Which of them it was is not certain, so nor is what had come before it.
        let near = || message.answers.iter().filter(|a| fits(a) && misfit(a) <= stamp);
        let earliest = near().map(|a| a.serial).min();
        let counted = near().filter(|a| a.counted).map(|a| a.clock).max();
        let several = near().count() > 1;
        let found = found.filter(|&at| at < message.answers.len());
        if let Some(at) = found {
            let came = bench.tick_at(clock).saturating_sub(header.delay as u64);
            let answer = &message.answers[at];
            //= RC-7
            bench.field(id, "RC-7", "CE flag", ce.into(), answer.ce.into());
            let held = bench.tick_at(clock) - bench.tick_at(answer.clock);
            let apart = held.abs_diff(header.delay as u64) > stamp;
            let tick_at = |clock| bench.tick_at(clock);
            if !apart || !message.reassign(&tick_at, at, came, stamp, &mut BTreeSet::new()) {
                message.answers[at].answered = Some(came);
                if apart {
                    bench.field(id, "RC-8", "delay", header.delay as u64, held);
                }
            }
        }
        let ends = header.flags & (fb::COMPLETE | fb::ABORT) != 0;
        let timer_driven = header.flags & (fb::NACK | fb::GRANT | fb::ABORT) != 0;
        if found.is_none() && (sampled || !timer_driven || header.ev != 0 || header.echo != 0) {
            bench.fault(Some(id), "RC-7", Fault::Undue);
            return;
        }
        if header.flags & fb::BUSY != 0 {
            self.busy(bench, name, found, several, header);
        } else if ends {
            self.ended(bench, name, found, header);
        } else {
            let answers = found.map(|at| {
                let likely = &message.answers[at];
                let earliest = earliest.unwrap_or(u64::MAX).min(likely.serial);
                (at, earliest, counted.or(likely.counted.then_some(likely.clock)))
            });
            self.reported(bench, name, answers, header);
        }
    }

    //= RO-6
    //= RO-7
    fn busy(
        &mut self,
        bench: &mut Bench,
        name: Name,
        found: Option<usize>,
        doubtful: bool,
        header: &FeedbackHeader,
    ) {
        let (room, lag) = (self.has_room(bench, &name), Self::lag(bench));
        let source = self.sources.of(hash(name.0));
        let Some(message) = self.messages.get_mut(&name) else { return };
        let blank = [
            ("sequence", header.sequence as u64),
            ("cumulative", header.cumulative as u64),
            ("grant", header.grant as u64),
            ("base", header.base as u64),
            ("limit", header.limit as u64),
            ("bitmap", header.bitmap.iter().map(|&byte| byte as u64).sum()),
        ];
        for (field, got) in blank {
            bench.field(name.2, "RO-7", field, got, 0);
        }
        let Some(answer) = found.and_then(|at| message.answers.get(at)) else { return };
        let (new, probe, index, clock) = (answer.new, answer.probe, answer.index, answer.clock);
        let (serial, arrived) = (answer.serial, new && message.arrived[index as usize]);
        // A copy of it may have been let in.
        let renewed = if arrived { message.renew(index, serial) } else { None };
        let written = new && message.placed[index as usize] && renewed.is_none();
        let open = message.open_since.is_some_and(|since| clock > since);
        if written || open || room {
            bench.fault(Some(name.2), "RO-6", Fault::UndueBusy);
        }
        if let Some((serial, came, due)) = renewed {
            if due {
                self.duties.add(came + lag, Duty::Answer(name, serial, came));
            }
            let done = came + lag + Bench::clocks(bench.tolerance.host);
            self.duties.add(done, Duty::Write(name, index, came));
            if message.complete == Some(clock) {
                message.complete = Some(came);
                self.duties.add(done, Duty::Complete(name, came));
            }
        } else if arrived && !written {
            // The packet was not kept after all.
            for (serial, came) in message.take_back(index) {
                self.duties.add(came + lag, Duty::Answer(name, serial, came));
            }
            if doubtful {
                message.doubtful.insert(index);
            } else {
                message.payloads.remove(&index);
            }
        }
        if new || probe {
            message.before.clear();
            message.interval = message.interval.reopened(bench.now(), &bench.setup.settings);
            // What came behind it may have been let in, and counts.
            let tail = Interval::tail(source, &bench.setup.settings);
            let later = message.answers.iter().filter(|a| a.probe && a.answered.is_none() && a.clock > clock);
            message.soonest = later.map(|a| bench.tick_at(a.clock) + tail).min();
            if message.distinct > 0 {
                let view = message.view();
                message.interval.rearm(bench.now(), &view, source, &bench.setup.settings);
            }
            message.counted.retain(|&at| at > clock);
        }
        if message.distinct == 0 {
            // Of copies of one PROBE, any that this does not answer may have been let in.
            message.probed = message.answers.iter().any(|other| other.probe && other.answered.is_none());
        }
        self.clocks.set(name, None);
    }

    /// Whether a BUSY cannot be right: a receive has been there for a while
    /// and no table is nearly full.
    fn has_room(&self, bench: &Bench, name: &Name) -> bool {
        let Some(message) = self.messages.get(name) else { return false };
        let (ring, quota) = super::tenant(bench, message.local);
        let old = bench.clock.saturating_sub(Self::lag(bench) + Bench::clocks(bench.tolerance.host));
        let ready =
            |recv: &&Recv| recv.open && recv.bound.is_none() && recv.posted < old && recv.tag().is_none();
        let receives = self.recvs.range((ring, 0)..=(ring, u16::MAX)).map(|(_, r)| r).filter(ready).count();
        let popped =
            bench.now().saturating_sub(bench.tolerance.timer as u64 + bench.tolerance.pipeline as u64);
        let (mut live, mut claims, mut held, mut of_quota) = (0, 0, 0, 0);
        for other in self.messages.values() {
            let forgotten = other.forgotten_at(bench).is_some_and(|at| at + Self::lag(bench) < bench.clock);
            held += !forgotten as usize;
            // A context's number stays out until its timer nodes have popped.
            //= RO-11
            let out = other.linked >= popped
                || other.done.is_none_or(|(at, _)| at + 2 * Self::lag(bench) > bench.clock);
            of_quota += (out && other.name != *name && other.local == message.local) as usize;
            if other.done.is_none() {
                live += 1;
                let same_ring = super::tenant(bench, other.local).0 == ring;
                claims += (other.recv.is_none() && other.name != *name && same_ring) as usize;
            }
        }
        let config = &bench.setup.config;
        let blocks = 1usize << config.bitmap_blocks_log2;
        let table = 8usize << config.table_sets_log2;
        // A replaced context keeps its place until its writes have drained.
        let place = (name.0, name.1, name.2.slot());
        let draining =
            self.messages.values().any(|m| m.replaced && (m.name.0, m.name.1, m.name.2.slot()) == place);
        receives > claims
            && (quota == 0 || of_quota < quota as usize)
            && !draining
            && live < (1 << config.rx_contexts_log2) / 2
            && live * 5 < blocks
            && held < config.tombstones / 2
            && held < table / 8
    }

    /// Whether places may be so few that COMPLETE asks for RELEASEs. Tombstones go
    /// in a sweep's own time, so this is careful.
    //= RL-3
    fn is_low(&self, bench: &Bench) -> bool {
        let (config, low) = (&bench.setup.config, bench.setup.settings.release_low);
        let sweep = Bench::clocks(256) + (64 << config.table_sets_log2) + Self::lag(bench);
        let gone = |at: u64| at + sweep < bench.clock;
        let held = self.messages.values().filter(|m| !m.forgotten_at(bench).is_some_and(gone)).count();
        low != 0 && config.tombstones.saturating_sub(held) < config.tombstones >> low
    }

    fn ended(&mut self, bench: &mut Bench, name: Name, found: Option<usize>, header: &FeedbackHeader) {
        let endpoint_recvs: Vec<RecvEntry> = {
            let Some(message) = self.messages.get(&name) else { return };
            let ring = super::tenant(bench, message.local).0;
            let range = self.recvs.range((ring, 0)..=(ring, u16::MAX));
            range.filter(|(_, recv)| recv.bound.is_none()).map(|(_, recv)| recv.entry).collect()
        };
        let Some(message) = self.messages.get_mut(&name) else { return };
        self.clocks.set(name, None);
        let id = name.2;
        if header.flags & fb::ABORT == 0 {
            message.believe_all(bench.clock);
            //= RC-6
            let (missing, unwritten) = (message.count - message.distinct, message.unwritten());
            if missing + unwritten > 0 {
                bench.fault(Some(id), "RC-6", Fault::Early { missing, unwritten });
            }
            bench.field(id, "RC-6", "status", header.status as u64, Status::Success as u64);
            bench.field(id, "RC-6", "cumulative", header.cumulative as u64, message.count as u64);
            bench.field(id, "RC-6", "grant", header.grant as u64, message.count as u64);
            if header.sequence != 0 {
                bench.field(
                    id,
                    "RC-8",
                    "sequence",
                    header.sequence as u64,
                    message.sequence.wrapping_add(1) as u64,
                );
                message.sequence = header.sequence;
            }
            message.told = Some(Status::Success as u8);
            if !message.takes_receive() {
                // Nobody is told but the sender: this is its end.
                message.done.get_or_insert((bench.clock, Status::Success as u8));
                self.live.remove(&name);
            }
            // At the latest: what came may have been in doubt, or the round not registered.
            if header.sequence != 0 && message.finishes(&mut self.rounds) {
                self.sweep(bench);
            }
            return;
        }
        let settings = &bench.setup.settings;
        let silent =
            bench.now() + bench.tolerance.timer as u64 >= message.last_heard + settings.rx_give_up as u64;
        let repeats =
            message.told == Some(header.status) || message.done.is_some_and(|(_, s)| s == header.status);
        let legal = match Status::from_code(header.status) {
            Ok(Status::NoContext) => found.is_some() && message.open_since.is_none(),
            Ok(Status::Length) => {
                repeats || endpoint_recvs.iter().any(|entry| bench.too_short(entry, &message.opener))
            }
            Ok(Status::GaveUp) => repeats || silent,
            Ok(Status::Replaced) => repeats || message.replaced,
            Ok(Status::Released) => repeats || message.let_go,
            //= WR-1
            Ok(Status::RemoteAccess) => repeats || message.denied,
            Ok(Status::RemoteDma) => bench.tolerance.dma_faults,
            //= HR-7
            Ok(Status::Partial) => repeats || message.ended_by_host(),
            _ => repeats,
        };
        if !legal {
            bench.fault(Some(id), "RO-2", Fault::Status(header.status));
        }
        message.told = Some(header.status);
        if !message.takes_receive() {
            message.done.get_or_insert((bench.clock, header.status));
            self.live.remove(&name);
        }
    }

    /// A word on an open message. `found`: which packet it most likely answers,
    /// the serial of the earliest one it may answer, and when the latest of them
    /// came that counts towards `ACK_EVERY`: a copy close behind it fits as well.
    fn reported(
        &mut self,
        bench: &mut Bench,
        name: Name,
        found: Option<(usize, u64, Option<u64>)>,
        header: &FeedbackHeader,
    ) {
        let id = name.2;
        let (clock, now, settings) = (bench.clock, bench.now(), bench.setup.settings);
        let live = self.live.iter().filter_map(|name| self.messages.get(name));
        let lending = settings.credit_policy & 4 != 0;
        let outstanding: u64 = live.map(|message| message.counts(clock, lending)).sum();
        let source = self.sources.of(hash(name.0));
        let lag = Self::lag(bench);
        let Some(message) = self.messages.get_mut(&name) else { return };
        // What was composed before the end may still be on its way out.
        let over = message.done.is_some_and(|(at, _)| at + lag < clock);
        if message.told.is_some() || over {
            bench.fault(Some(id), "RC-6", Fault::Undue);
            return;
        }
        message.sequence = message.sequence.wrapping_add(1);
        bench.field(id, "RC-8", "sequence", header.sequence as u64, message.sequence as u64);
        message.sequence = header.sequence;
        bench.field(id, "RC-8", "status", header.status as u64, 0);
        let answered = found
            .and_then(|(at, earliest, counted)| Some((message.answers.get(at)?, earliest, counted)))
            .map(|(answer, earliest, counted)| (answer.clock, earliest, answer.due, counted));
        if let Some((at, ..)) = answered {
            message.open_since.get_or_insert(at);
        } else {
            message.open_since.get_or_insert(clock.saturating_sub(lag));
        }
        //= RC-7
        let since = message.last_feedback.saturating_sub(lag);
        if let Some((_, _, due, counted)) = answered {
            let come = |at| message.counted.iter().filter(|&&c| c > since && c <= at).count() as u32;
            let enough = counted.is_some_and(|at| come(at) >= settings.ack_every);
            //= GR-3
            let granting = header.flags & fb::GRANT != 0;
            if !due && !enough && !granting {
                bench.fault(Some(id), "RC-7", Fault::Undue);
            }
        }
        //= RC-8
        // What came after the packet answered, or too lately for a timer's word.
        let settled = clock.saturating_sub(lag);
        message.recent.retain(|&(at, ..)| at > clock.saturating_sub(2 * lag));
        let after = answered.map_or(0, |(_, serial, ..)| serial);
        let recent = message.recent.iter().filter(|&&(at, serial, _)| at > settled && serial > after);
        let young: BTreeSet<u32> = recent.map(|&(.., index)| index).collect();
        let high = message.cumulative;
        let low = young.first().map_or(high, |&index| index.min(high));
        let lenient = bench.tolerance.overflow;
        let bits = Block::from_bytes(header.bitmap);
        for bit in 0..BLOCK_PACKETS {
            let index = header.base + bit;
            let Some(is) = message.arrived.get(index as usize).map(|arrived| *arrived) else { break };
            if bits.get(bit) {
                message.believe(index, clock);
            } else if is && lenient && !young.contains(&index) && !message.placed[index as usize] {
                // Dropped for want of buffer, it seems, or waiting for very long.
                message.take_back(index);
                message.doubtful.insert(index);
                message.holed = true;
            }
        }
        while let Some(&index) = message.doubtful.first().filter(|&&index| index < header.cumulative) {
            message.believe(index, clock);
        }
        let high = message.cumulative.max(high);
        if header.cumulative > high || (header.cumulative < low && !lenient) {
            bench.fault(Some(id), "RC-8", Fault::Cumulative { got: header.cumulative, low, high });
        }
        if header.duplicates as u32 > message.duplicates {
            bench.field(id, "RC-8", "duplicates", header.duplicates as u64, message.duplicates as u64);
        }
        let nack = header.flags & fb::NACK != 0;
        let block = header.cumulative.min(message.count - 1) / BLOCK_PACKETS * BLOCK_PACKETS;
        if !nack {
            bench.field(id, "RC-8", "base", header.base as u64, block as u64);
            bench.field(id, "RC-8", "limit", header.limit as u64, 0);
        }
        for bit in 0..BLOCK_PACKETS {
            let index = header.base + bit;
            let (says, is) = match message.arrived.get(index as usize) {
                None => continue,
                Some(arrived) => (bits.get(bit), *arrived),
            };
            if (says && !is) || (!says && is && !young.contains(&index)) {
                bench.fault(Some(id), "RC-8", Fault::Bitmap(index));
                break;
            }
        }
        let lowest = bits.first_zero().map_or(header.base + BLOCK_PACKETS, |bit| header.base + bit);
        if header.base == block && header.cumulative < message.count && header.cumulative != lowest {
            let fault = Fault::Cumulative { got: header.cumulative, low: lowest, high: lowest };
            bench.fault(Some(id), "RC-8", fault);
        }
        //= GR-2
        let most = message.count.min(high / BLOCK_PACKETS * BLOCK_PACKETS + WINDOW_PACKETS);
        if header.grant > most || header.grant < message.grant {
            bench.fault(Some(id), "GR-2", Fault::Grant { got: header.grant, most });
        }
        if header.flags & fb::GRANT != 0 {
            if header.grant <= message.granted_by_flag {
                bench.fault(Some(id), "GR-3", Fault::Grant { got: header.grant, most });
            }
            message.granted_by_flag = header.grant;
        }
        if header.grant > message.grant {
            let log2 = message.opener.payload_log2;
            let more =
                grant::bytes(message.opener.length, log2, message.grant, header.grant.min(message.count));
            let limit = settings.credit_limit as u64;
            // Others' arrivals since, and the rounding of the last packet, only lower this.
            let owed = message.owed();
            //= GR-8
            let each = settings.credit_each as u64;
            if owed > each {
                bench.fault(Some(id), "GR-8", Fault::Ample { owed, most: each });
            }
            let single = owed == 0 && header.grant == message.grant + 1;
            if outstanding > 0 && outstanding + more > limit && !single {
                bench.fault(Some(id), "GR-2", Fault::Credit { outstanding: outstanding + more, limit });
            }
            message.before_grant = Some(message.before(clock, now));
            message.grant = header.grant.min(message.count);
        }
        message.last_feedback = clock;
        message.counted.retain(|&at| at > clock.saturating_sub(2 * lag));
        if nack && message.tracked.is_some() {
            Self::nack_by_order(bench, message, header);
        } else if nack {
            let raised = self.raised.get(&hash(name.0)).filter(|(at, _)| at + lag >= clock);
            let least = self.lows.of(hash(name.0)).least(source);
            let low = raised.map_or(least, |(_, low)| low.least(least));
            Self::nacked(bench, message, header, &bits, (source, low));
        }
        let view = message.view();
        message.interval.rearm(now, &view, source, &settings);
        message.links(bench, source);
        self.watch(bench, name);
    }

    //= LD-4
    //= LD-5
    fn nacked(
        bench: &mut Bench,
        message: &mut Message,
        header: &FeedbackHeader,
        bits: &Block,
        (source, low): (Source, Source),
    ) {
        let (id, clock, now, settings) = (message.name.2, bench.clock, bench.now(), bench.setup.settings);
        let asks = bits.zeros_below(header.limit.saturating_sub(header.base));
        if asks == 0 || !header.base.is_multiple_of(BLOCK_PACKETS) || header.limit > header.grant {
            bench.fault(Some(id), "LD-4", Fault::NackLimit { got: header.limit, most: header.grant });
        }
        let view = message.view();
        // The NACKs of one expiry are composed one behind the other: nothing comes between.
        let burst = message.burst.filter(|&(at, hole, base, count)| {
            clock <= at + Self::lag(bench)
                && header.cumulative == hole
                && header.base > base
                && count < settings.nack_burst
        });
        if let Some((at, hole, _, count)) = burst {
            message.burst = Some((at, hole, header.base, count + 1));
            return;
        }
        message.burst = Some((clock, header.cumulative, header.base, 1));
        message.nacked += 1;
        let span = message.interval.interval(&view, source, &settings);
        let slack = bench.tolerance.timer as u64 + bench.tolerance.pipeline as u64;
        let lag = Self::lag(bench);
        // The engine may decide when a packet is in the bitmap, and so in the NACK,
        // but has not moved the deadline yet.
        let late = bench.tolerance.pipeline as u64;
        let was_due = |before: &Before| before.deadline.is_some_and(|due| due <= before.now + late);
        let crossed = |before: &&Before| {
            before.clock + lag >= clock && (before.is_crossed_by(header, bits) || was_due(before))
        };
        // A grant leaves by the NACK's own way.
        let passed = Bench::clocks(bench.tolerance.pipeline);
        let granted = message.before_grant.take().filter(|before| before.clock + passed >= clock);
        let granted = || granted.iter();
        let crossed = || message.before.iter().filter(crossed).chain(granted());
        match message.interval.deadline() {
            Some(deadline) => {
                let before = crossed().filter_map(|before| before.deadline);
                // A node that popped was judged by what is known of the source now, which may
                // be less than when the deadline was set.
                let mut anew = message.interval.clone();
                anew.rearm(now, &view, source.least(low), &settings);
                let sooner = before.chain(message.soonest).chain(anew.deadline());
                let deadline = sooner.fold(deadline, Ticks::min);
                let slack = slack + span / 4 + deadline.saturating_sub(now) / 4;
                if now + slack < deadline && !message.holed {
                    bench.fault(Some(id), "LD-2", Fault::EarlyNack(deadline - slack - now));
                }
            }
            // Nothing was missing for a while: what it asks for has just come.
            None if clock.saturating_sub(Self::lag(bench)) > message.complete.unwrap_or(clock) => {
                bench.fault(Some(id), "LD-1", Fault::EarlyNack(0));
            }
            None => {}
        }
        // Beyond the highest arrived only after silence or on a PROBE's word.
        let last_heard = crossed().map(|before| before.last_heard).fold(message.last_heard, Ticks::min);
        let silent = now + slack + span / 4 >= last_heard + span;
        // Who had seen the tail before a grant asks for all that is granted when the NACK
        // is composed.
        let tail = granted().any(|before| before.tail);
        if header.limit > view.highest && !silent && !message.probed && !message.holed && !tail {
            bench.fault(Some(id), "LD-4", Fault::NackLimit { got: header.limit, most: view.highest });
        }
        // It was decided before it was seen, perhaps before a packet that raised what is
        // known of the source, or of the way there and back.
        let crossing = message.before.iter().filter(|before| before.clock + lag >= clock);
        let rtt = crossing.map(|before| before.rtt).min().unwrap_or(u32::MAX);
        let mut early = message.interval.clone().with_rtt_within(rtt);
        let unlike = low != source || rtt < message.interval.rtt();
        // What was due before it, or decided before it showed a packet, this one answered.
        message.before.clear();
        let (hole, limit) = (header.cumulative, header.limit);
        early.nacked_below(hole, now, &view, limit, low, &settings);
        message.soonest = early.deadline().filter(|_| unlike);
        message.interval.nacked_below(hole, now, &view, limit, source, &settings);
    }
}
