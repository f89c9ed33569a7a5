//! What is known of one message, from the packets that came for it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bitvec::vec::BitVec;
use tessera_abi::params::BLOCK_PACKETS;
use tessera_abi::status::Status;
use tessera_abi::wire::{self, flag, DataHeader, FeedbackHeader, MessageId};

use super::super::Bench;
use super::chunks::Tracked;
use crate::bitmap::Block;
use crate::grant;
use crate::interval::{Interval, Source, View};
use crate::rounds::{self, Rounds};
use crate::rx_parse::Origin;
use crate::Ticks;

/// Names a message: source address, source endpoint, message number.
pub(super) type Name = ([u8; 16], u32, MessageId);
/// A packet that may draw an answer.
pub(super) struct Answerable {
    pub(super) clock: u64,
    /// Counts the arrivals of its message.
    pub(super) serial: u64,
    pub(super) ev: u8,
    pub(super) timestamp: u32,
    pub(super) index: u32,
    pub(super) probe: bool,
    /// It was marked congestion-experienced.
    pub(super) ce: bool,
    /// First arrival of its index.
    pub(super) new: bool,
    /// Must be answered (RC-7), if the message is open.
    pub(super) due: bool,
    /// It would be due, but made the message whole or came when it was: COMPLETE
    /// answers it, or nothing.
    pub(super) withheld: bool,
    /// May be answered by count, should enough have come.
    pub(super) counted: bool,
    /// In what tick it came, says the feedback that answered it.
    pub(super) answered: Option<Ticks>,
}

/// What held before a packet or a grant that a NACK may have crossed on its way out.
pub(super) struct Before {
    pub(super) clock: u64,
    pub(super) now: Ticks,
    /// Of a new packet: a NACK that shows it was composed after it.
    pub(super) index: Option<u32>,
    pub(super) deadline: Option<Ticks>,
    pub(super) last_heard: Ticks,
    /// All that was granted had been seen to its end.
    pub(super) tail: bool,
    /// What the sender had said of the way there and back.
    pub(super) rtt: u32,
}

impl Before {
    /// Whether a NACK may have been composed before the packet was seen.
    pub(super) fn is_crossed_by(&self, header: &FeedbackHeader, bits: &Block) -> bool {
        self.index.is_none_or(|index| {
            let bit = index.checked_sub(header.base).filter(|&bit| bit < BLOCK_PACKETS);
            index >= header.cumulative && !bit.is_some_and(|bit| bits.get(bit))
        })
    }
}

/// What a packet brought, and when.
pub(super) struct Payload {
    pub(super) came: u64,
    pub(super) bytes: Vec<u8>,
}

pub(super) struct Message {
    pub(super) name: Name,
    pub(super) opener: DataHeader,
    pub(super) local: u32,
    pub(super) senders: BTreeSet<([u8; 6], Option<u16>)>,
    pub(super) count: u32,
    pub(super) arrived: BitVec,
    pub(super) placed: BitVec,
    pub(super) payloads: BTreeMap<u32, Payload>,
    pub(super) serial: u64,
    /// When its first packet came.
    pub(super) came: u64,
    /// Its endpoint matched tags when it came.
    pub(super) matches_tags: bool,
    /// The host was told that it matched no tagged receive.
    pub(super) unexpected: bool,
    /// Refused or dropped as far as one can tell, with the payload unless it was
    /// seen to be thrown away: which packet a BUSY answered is not always certain.
    pub(super) doubtful: BTreeSet<u32>,
    /// Something of it was dropped for want of buffer: what the NIC heard of it, and
    /// when, is not what arrived.
    pub(super) holed: bool,
    pub(super) distinct: u32,
    pub(super) cumulative: u32,
    pub(super) highest: u32,
    pub(super) duplicates: u32,
    /// Arrivals young enough for the NIC not to have seen them.
    pub(super) recent: VecDeque<(u64, u64, u32)>,
    /// Clocks of new packets since the last few feedbacks.
    pub(super) counted: VecDeque<u64>,
    pub(super) answers: VecDeque<Answerable>,
    /// Open beyond doubt since the packet that came at this clock.
    pub(super) open_since: Option<u64>,
    pub(super) recv: Option<(u16, u16)>,
    pub(super) grant: u32,
    pub(super) granted_by_flag: u32,
    pub(super) sequence: u8,
    pub(super) last_feedback: u64,
    pub(super) interval: Interval,
    /// A NACK may come from then on: a PROBE may have ended the wait for the last one's
    /// answer, or may have come too early for that (RC-9).
    pub(super) soonest: Option<Ticks>,
    /// Before each of the packets young enough for the NIC not to have seen them.
    pub(super) before: VecDeque<Before>,
    /// Before the latest grant.
    pub(super) before_grant: Option<Before>,
    /// How often what is left of its round has halved.
    pub(super) halvings: u32,
    /// It was counted as one done of its round.
    pub(super) rounded: bool,
    pub(super) probed: bool,
    /// Of the NACKs of the latest expiry: when the first came, `cumulative` in them, the
    /// latest one's base, how many.
    pub(super) burst: Option<(u64, u32, u32, u32)>,
    /// Expiries with NACKs since the last new packet, and when that undid a loan.
    pub(super) nacked: u32,
    /// A timer node of its context may be linked until then.
    pub(super) linked: Ticks,
    pub(super) back_at: u64,
    pub(super) last_heard: Ticks,
    pub(super) complete: Option<u64>,
    /// Status and clock of the completion entry.
    pub(super) done: Option<(u64, u8)>,
    /// Status the sender was told.
    pub(super) told: Option<u8>,
    pub(super) replaced: bool,
    /// When its RELEASE came, and whether it was open then.
    pub(super) released: Option<u64>,
    pub(super) let_go: bool,
    /// A packet of it was not permitted, or may have been.
    pub(super) denied: bool,
    /// It is host-recovered, since its header was seen.
    pub(super) tracked: Option<Tracked>,
}
impl Answerable {
    /// `packet` as the next arrival of `message`.
    pub(super) fn of(bench: &Bench, message: &mut Message, packet: &DataHeader, ce: bool) -> Self {
        message.serial += 1;
        Self {
            clock: bench.clock,
            serial: message.serial,
            ev: packet.ev,
            timestamp: packet.timestamp,
            index: packet.index,
            probe: packet.probe,
            ce,
            new: false,
            due: packet.probe || packet.flags & flag::AR != 0,
            withheld: false,
            counted: false,
            answered: None,
        }
    }
}

impl Message {
    pub(super) fn new(bench: &Bench, name: Name, origin: &Origin, packet: &DataHeader) -> Self {
        let count = wire::packet_count(packet.length, packet.payload_log2).unwrap_or(1);
        let bits = BitVec::repeat(false, count as usize);
        Self {
            name,
            opener: *packet,
            local: origin.local.number,
            senders: BTreeSet::new(),
            count,
            arrived: bits.clone(),
            placed: bits,
            payloads: BTreeMap::new(),
            serial: 0,
            came: bench.clock,
            matches_tags: origin.local.tags,
            unexpected: false,
            doubtful: BTreeSet::new(),
            holed: false,
            distinct: 0,
            cumulative: 0,
            highest: 0,
            duplicates: 0,
            recent: VecDeque::new(),
            counted: VecDeque::new(),
            answers: VecDeque::new(),
            open_since: None,
            recv: None,
            grant: packet.initial_window_packets().min(count),
            granted_by_flag: 0,
            sequence: 0,
            last_feedback: bench.clock,
            interval: Interval::new(bench.now(), &bench.setup.settings),
            soonest: None,
            before: VecDeque::new(),
            before_grant: None,
            halvings: 0,
            rounded: false,
            probed: false,
            burst: None,
            nacked: 0,
            linked: 0,
            back_at: 0,
            last_heard: bench.now(),
            complete: None,
            done: None,
            told: None,
            replaced: false,
            released: None,
            let_go: false,
            denied: false,
            tracked: None,
        }
    }

    /// The round it belongs to.
    pub(super) fn round(&self) -> Option<rounds::Name> {
        Some(((self.local & 0xFF) as u8, self.opener.round()?))
    }

    /// Counts it as done, once; whether intervals shrink by it.
    //= RD-3
    pub(super) fn finishes(&mut self, rounds: &mut Rounds) -> bool {
        let known = |round: &rounds::Name| rounds.registered(*round).is_some();
        let Some(round) = self.round().filter(known).filter(|_| !self.rounded) else { return false };
        self.rounded = true;
        rounds.finished(round)
    }

    pub(super) fn payload_len(&self, index: u32) -> u32 {
        wire::payload_len(self.opener.length, self.opener.payload_log2, index)
    }

    pub(super) fn set(&mut self, index: u32, value: bool) {
        self.arrived.set(index as usize, value);
        if value {
            self.distinct += 1;
            self.highest = self.highest.max(index + 1);
            let rest = &self.arrived[self.cumulative as usize..];
            self.cumulative += rest.first_zero().unwrap_or(rest.len()) as u32;
        } else {
            self.distinct -= 1;
            self.cumulative = self.cumulative.min(index);
            self.highest = self.arrived.last_one().map_or(0, |last| last as u32 + 1);
        }
    }

    /// The packet is not here after all. Nor is the message whole then: serials and
    /// clocks of those from the packet that seemed to make it so on that are to be
    /// answered now.
    pub(super) fn take_back(&mut self, index: u32) -> Vec<(u64, u64)> {
        self.set(index, false);
        self.recent.retain(|&(_, _, recent)| recent != index);
        if self.complete.take().is_none() {
            return Vec::new();
        }
        let withheld = self.answers.iter_mut().filter(|answer| answer.withheld);
        let due = withheld.map(|answer| {
            (answer.withheld, answer.due) = (false, true);
            (answer.serial, answer.clock)
        });
        due.collect()
    }

    /// The NIC shows that a doubtful packet is here.
    pub(super) fn believe(&mut self, index: u32, clock: u64) {
        if self.doubtful.remove(&index) && !self.arrived[index as usize] {
            self.set(index, true);
            if self.distinct == self.count {
                self.complete.get_or_insert(clock);
            }
        }
    }

    /// It is whole: so is what was doubtful.
    pub(super) fn believe_all(&mut self, clock: u64) {
        for index in std::mem::take(&mut self.doubtful) {
            self.doubtful.insert(index);
            self.believe(index, clock);
        }
    }

    /// Deadlines were set anew.
    //= RO-11
    pub(super) fn links(&mut self, bench: &Bench, source: Source) {
        if self.count == 1 && self.serial == 1 && self.distinct == 1 {
            // Opened by its packet, it is whole and has no timer; a PROBE opens it without.
            return;
        }
        // The NIC answers no expiry of what software recovers with a NACK that could be seen.
        let doubled = if self.by_hardware() { 0 } else { Interval::DOUBLED_MAX };
        let left = self.count.min(BLOCK_PACKETS);
        let reach = self.interval.reach(left, doubled, source, &bench.setup.settings);
        self.linked = self.linked.max(bench.now() + reach + reach / 4);
    }

    pub(super) fn view(&self) -> View {
        let start = (self.cumulative / BLOCK_PACKETS * BLOCK_PACKETS) as usize;
        let end = (self.grant as usize).min(start + BLOCK_PACKETS as usize);
        let left = if start < end { self.arrived[start..end].count_zeros() as u32 } else { 0 };
        View {
            cumulative: self.cumulative,
            highest: self.highest,
            grant: self.grant,
            left,
            halvings: self.halvings,
        }
    }

    /// Finds each feedback a packet that fits it, where copies of one came so close
    /// behind each other that an earlier one may have answered another than was
    /// thought: answers `came`, of packets like the `like`-th, and moves others. Whether
    /// that worked; if not, nothing moved.
    //= RC-8
    pub(super) fn reassign(
        &mut self,
        tick_at: &impl Fn(u64) -> Ticks,
        like: usize,
        came: Ticks,
        stamp: Ticks,
        tried: &mut BTreeSet<usize>,
    ) -> bool {
        for at in 0..self.answers.len() {
            let (a, b) = (&self.answers[at], &self.answers[like]);
            let alike = (a.ev, a.timestamp, a.ce) == (b.ev, b.timestamp, b.ce);
            if !alike || tick_at(a.clock).abs_diff(came) > stamp || !tried.insert(at) {
                continue;
            }
            let free = match self.answers[at].answered {
                None => true,
                Some(other) => self.reassign(tick_at, like, other, stamp, tried),
            };
            if free {
                self.answers[at].answered = Some(came);
                return true;
            }
        }
        false
    }

    /// What holds before what happens now.
    pub(super) fn before(&self, clock: u64, now: Ticks) -> Before {
        let (deadline, last_heard) = (self.interval.deadline(), self.last_heard);
        let (tail, rtt) = (self.highest == self.grant, self.interval.rtt());
        Before { clock, now, index: None, deadline, last_heard, tail, rtt }
    }

    /// What came first of `index` was refused: the next of it that is not answered yet
    /// is the new one, until it is refused as well. Serial and clock of that, and
    /// whether it is to be answered now.
    pub(super) fn renew(&mut self, index: u32, refused: u64) -> Option<(u64, u64, bool)> {
        let next =
            |a: &&mut Answerable| a.answered.is_none() && !a.probe && a.index == index && a.serial > refused;
        let next = self.answers.iter_mut().find(next)?;
        //= RC-7
        let due = next.due || next.withheld || next.ce;
        (next.new, next.counted) = (true, true);
        // COMPLETE answers the packet that makes it whole, not those before that.
        let whole = self.complete.is_some_and(|at| at <= next.clock);
        (next.due, next.withheld) = (due && !whole, due && whole);
        let (serial, clock, due) = (next.serial, next.clock, next.due);
        self.recent.retain(|&(_, _, recent)| recent != index);
        self.recent.push_back((clock, serial, index));
        self.counted.push_back(clock);
        if let Some(payload) = self.payloads.get_mut(&index) {
            payload.came = clock;
        }
        Some((serial, clock, due))
    }

    /// What it counts for in `outstanding` at least: nothing while it lends its
    /// credit, or as long as the NIC may not have seen the packet that ended that.
    //= GR-5
    pub(super) fn counts(&self, clock: u64, lending: bool) -> u64 {
        // An order's end is heard of later than it gives credit back.
        //= HR-7
        if self.ended_by_host() {
            return 0;
        }
        // Expiries that send nothing cannot be seen.
        let unseen = !self.by_hardware();
        if lending && (unseen || self.nacked >= 2 || clock < self.back_at) {
            0
        } else {
            self.owed()
        }
    }

    /// Bytes granted, as far as the wire knows, and not arrived: a lower bound.
    pub(super) fn owed(&self) -> u64 {
        if self.done.is_some() || self.complete.is_some() || self.open_since.is_none() {
            return 0;
        }
        let log2 = self.opener.payload_log2;
        let granted = grant::bytes(self.opener.length, log2, 0, self.grant);
        let last = self.count - 1;
        let short = (1u64 << log2) - self.payload_len(last) as u64;
        let short = if self.arrived[last as usize] { short } else { 0 };
        granted.saturating_sub(((self.distinct as u64) << log2) - short)
    }

    pub(super) fn unwritten(&self) -> u32 {
        let written = |index: u32| self.placed[index as usize] || self.payload_len(index) == 0;
        (0..self.count).filter(|&index| !written(index)).count() as u32
    }

    /// When its tombstone has lived its time, by the clocks seen from outside.
    //= RL-2
    pub(super) fn forgotten_at(&self, bench: &Bench) -> Option<u64> {
        let settings = &bench.setup.settings;
        let (done, status) = self.done?;
        let mpl = Bench::clocks(settings.mpl);
        let full = if status == Status::Released as u8 { mpl } else { Bench::clocks(settings.time_wait) };
        let end = done + full;
        Some(self.released.filter(|_| !self.let_go).map_or(end, |at| end.min(at.max(done) + mpl)))
    }

    pub(super) fn is_over(&self) -> bool {
        self.done.is_some() || self.told.is_some()
    }
}
