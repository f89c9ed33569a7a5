//! The sending half of a NIC: slots, feedback, arbitration (rules TX).
//!
//! ```text
//!  requests ─> endpoint's quota ─> wait for unsolicited credit ─> slot ─> turn ring ──┐ 1:1
//!  FEEDBACK ─> judge ─> slot ─> NACK bits ─> retransmit queue ────┴─> packet
//!                         └─> end: completion, slot free
//! ```

use std::collections::{BTreeMap, VecDeque};

use tessera_abi::params::{destination_hash, Config, BLOCK_PACKETS};
use tessera_abi::queue::DONE_SEND;
use tessera_abi::regs::Counter;
use tessera_abi::status::{Drop, Status};
use tessera_abi::wire::{fb, generation_age, Age, DataHeader, FeedbackHeader, MessageId, NO_SAMPLE};

use crate::bitmap::Block;
use crate::feedback::{self, Releasing};
use crate::io::Output;
use crate::lfsr::Lfsr;
use crate::queue::{Completion, SendEntry};
use crate::retransmit_queue::RetransmitQueue;
use crate::rx_parse::Origin;
use crate::settings::Settings;
use crate::slots::{self, Ring, Slot};
use crate::timer_wheel::TimerWheel;
use crate::turns::Turns;
use crate::Ticks;

/// So many packets at the end of a message are sent in one turn.
const LAST_FEW: u32 = 4;

/// A checked request.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Request {
    /// The entry.
    pub entry: SendEntry,
    /// Local endpoint number.
    pub local: u32,
    /// Running index of the entry.
    pub index: u16,
    /// Packets.
    pub count: u32,
}

/// A packet the arbiter chose.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    /// Slot.
    pub slot: u16,
    /// Index (PROBE: next index).
    pub index: u32,
    /// A PROBE.
    pub probe: bool,
    /// A retransmission.
    pub again: bool,
}

/// What an endpoint has under way, and what it may.
#[derive(Clone, Debug, Default, Hash)]
struct Share {
    /// 0 = any number.
    quota: usize,
    held: usize,
    /// Still in its ring.
    waiting: VecDeque<Request>,
}

/// The sending half.
#[derive(Clone, Debug, Hash)]
pub struct Sender {
    settings: Settings,
    slots: Vec<Option<Slot>>,
    generations: Vec<u32>,
    free: Vec<u16>,
    requests: VecDeque<Request>,
    /// The initial window of the first of them.
    first_window: Option<u32>,
    /// By table index.
    shares: BTreeMap<u16, Share>,
    unsolicited: u64,
    /// Those that go on, before all others.
    ahead: VecDeque<u16>,
    turns: Turns<u16>,
    retransmit: RetransmitQueue,
    retransmit_turn: bool,
    timers: TimerWheel<u16>,
    /// Round-trip times, by destination.
    rtts: BTreeMap<usize, u32>,
    /// Windows shortened by BUSY or congestion, by destination.
    windows: BTreeMap<usize, u32>,
    lfsr: Lfsr,
}

impl Sender {
    /// An empty sender of the given sizes.
    pub fn new(config: &Config, settings: &Settings) -> Self {
        let slots = 1u16 << config.tx_slots_log2;
        let mut lfsr = Lfsr::new(settings.seed);
        //= TX-1
        let generations = (0..slots)
            .map(|_| {
                (0..20).for_each(|_| {
                    lfsr.step();
                });
                lfsr.state() & 0xF_FFFF
            })
            .collect();
        Self {
            settings: *settings,
            slots: vec![None; slots as usize],
            generations,
            free: (0..slots).rev().collect(),
            requests: VecDeque::new(),
            first_window: None,
            shares: BTreeMap::new(),
            unsolicited: 0,
            ahead: VecDeque::new(),
            turns: Turns::default(),
            retransmit: RetransmitQueue::new(1 << config.retransmit_entries_log2),
            retransmit_turn: true,
            timers: TimerWheel::default(),
            rtts: BTreeMap::new(),
            windows: BTreeMap::new(),
            lfsr,
        }
    }

    /// Forgets everything but which generation each slot is in.
    //= RS-2
    pub fn reset(&mut self, config: &Config) {
        let generations = std::mem::take(&mut self.generations);
        *self = Self { generations, ..Self::new(config, &self.settings) };
    }

    /// Takes a checked request.
    pub fn post(&mut self, now: Ticks, request: Request, out: &mut Output) {
        let endpoint = (request.local & 0xFF) as u16;
        self.shares.entry(endpoint).or_default().waiting.push_back(request);
        self.read(now, endpoint, out);
    }

    /// How many requests an endpoint may have under way.
    pub fn set_quota(&mut self, endpoint: u16, quota: u16) {
        self.shares.entry(endpoint).or_default().quota = quota.into();
    }

    /// Requests of an endpoint that are under way.
    pub fn held_by(&self, endpoint: u16) -> usize {
        self.shares.get(&endpoint).map_or(0, |share| share.held)
    }

    /// Takes requests out of an endpoint's ring.
    //= TX-15
    fn read(&mut self, now: Ticks, endpoint: u16, out: &mut Output) {
        let share = self.shares.entry(endpoint).or_default();
        while share.quota == 0 || share.held < share.quota {
            let Some(mut request) = share.waiting.pop_front() else { break };
            share.held += 1;
            let most = slots::quota_window(&request.entry, &self.settings);
            if share.quota != 0 && most < slots::initial_window(&request.entry, &self.settings) {
                request.entry.initial_window = most as u8;
            }
            self.requests.push_back(request);
        }
        self.admit(now, out);
    }

    //= TX-1
    fn admit(&mut self, now: Ticks, out: &mut Output) {
        while let Some(request) = self.requests.front() {
            let place = destination_hash(request.entry.gid);
            //= TX-14
            let asked = slots::initial_window(&request.entry, &self.settings);
            let shortened = self.windows.get(&place).map_or(asked, |&window| window.min(asked));
            let window = *self.first_window.get_or_insert(shortened);
            let unasked = slots::unasked_bytes(&request.entry, request.count, window);
            let fits = self.unsolicited + unasked <= self.settings.unsolicited_limit as u64;
            if !fits && self.unsolicited != 0 {
                return;
            }
            let Some(number) = self.free.pop() else { return };
            let Some(request) = self.requests.pop_front() else { return };
            self.first_window = None;
            let generation = &mut self.generations[number as usize];
            *generation = (*generation + 1) & 0xF_FFFF;
            let message = MessageId::new(number, *generation);
            let srtt = self.rtts.get(&place).copied();
            let Request { entry, local, index, count } = request;
            let mut slot = Slot::new(now, entry, local, index, message, count, window, srtt);
            self.unsolicited += unasked;
            slot.queued = true;
            let list = slot.list(&self.settings);
            self.slots[number as usize] = Some(slot);
            self.turns.push(list, number);
            out.counters.event(Counter::TxOpened);
        }
    }

    /// Puts the slot in the turn ring when it has something to send, and sets
    /// its clock.
    fn settle(&mut self, number: u16) {
        let Some(slot) = self.slots[number as usize].as_mut() else { return };
        if slot.sendable() && !slot.queued {
            slot.queued = true;
            self.turns.push(slot.list(&self.settings), number);
        }
        self.wake(number);
    }

    /// After a PROBE, or a new packet with few left, its turn goes on.
    //= TX-8
    fn go_on(&mut self, number: u16, probe: bool) {
        let Some(slot) = self.slots[number as usize].as_mut() else { return };
        if slot.sendable() && !slot.queued && (probe || slot.count - slot.next <= LAST_FEW) {
            slot.queued = true;
            self.ahead.push_front(number);
            self.wake(number);
        } else {
            self.settle(number);
        }
    }

    fn wake(&mut self, number: u16) {
        let Some(slot) = self.slots[number as usize].as_mut() else { return };
        self.timers.set(number, slot.deadline(&self.settings));
    }

    /// A verified FEEDBACK.
    pub fn handle(
        &mut self,
        now: Ticks,
        origin: &Origin,
        header: &FeedbackHeader,
        out: &mut Output,
    ) -> Result<(), Drop> {
        //= TX-3
        let number = header.message.slot();
        let asked = fb::COMPLETE | fb::RELEASE_REQ;
        let asked = header.flags & asked == asked;
        if asked && self.is_past(header.message) {
            //= RL-4
            out.releases.push_back(Releasing {
                mac: origin.mac,
                vlan: origin.vlan,
                gid: origin.gid,
                endpoint: origin.endpoint,
                local: origin.local.number,
                message: header.message,
            });
        }
        let slot = self.slots.get_mut(number as usize).and_then(Option::as_mut);
        let slot = slot.filter(|slot| slot.message == header.message).ok_or(Drop::FeedbackStale)?;
        if origin.gid != slot.entry.gid
            || origin.endpoint != slot.entry.endpoint
            || origin.local.number != slot.local
        {
            return Err(Drop::FeedbackForged);
        }
        feedback::sane(header, slot.next, slot.count)?;
        //= TX-13
        let ce = header.flags & fb::CE != 0;
        if header.delay != NO_SAMPLE {
            out.echoes.push_back((slot.entry.gid, header.ev, ce));
        }
        //= TX-14
        let place = destination_hash(slot.entry.gid);
        if ce || (header.flags & fb::BUSY != 0 && slot.heeds_busy()) {
            self.windows.insert(place, (slot.window / 2).max(1));
        } else if header.flags & (fb::BUSY | fb::ABORT) == 0 && !slot.established {
            if let Some(window) = self.windows.get_mut(&place) {
                *window = (*window + 1).min(255);
            }
        }
        //= TX-4
        //= TX-5
        let heeded = header.flags & fb::BUSY == 0 || slot.heeds_busy();
        if heeded && slot.sequences.is_newest(header.sequence) {
            if let Some(sample) = slots::sample(now, header) {
                let srtt = slots::smooth(slot.srtt, sample);
                slot.srtt = Some(srtt);
                self.rtts.insert(place, srtt);
            }
        }
        //= TX-10
        if header.flags & fb::ABORT != 0 {
            self.end(now, number, header.status, out);
            return Ok(());
        }
        if header.flags & fb::COMPLETE != 0 {
            //= RL-1
            if asked {
                out.releases.push_back(slot.release());
            }
            self.end(now, number, Status::Success as u8, out);
            return Ok(());
        }
        let settings = self.settings;
        if header.flags & fb::BUSY != 0 {
            let jitter = ((self.lfsr.step() as u64 * settings.busy_wait as u64) >> 32) as u32;
            slot.busy(now, jitter, &settings);
            self.settle(number);
            return Ok(());
        }
        slot.advance(now, header);
        self.unsolicited -= std::mem::take(&mut slot.unasked);
        let mut overflow = Ok(());
        let news = slot.sequences.take(header.sequence);
        //= TX-7
        if header.flags & fb::NACK != 0 && slot.sequences.take_nack(header.sequence) {
            let mut wanted = Block::default();
            let arrived = Block::from_bytes(header.bitmap);
            // What a later one overtook is not on its way any more, however young it is.
            let reach = header.limit.min(slot.next);
            let overtaken = header.base + arrived.end_below(reach.saturating_sub(header.base));
            let end = reach.min(slot.settled(now, !news, &settings).max(overtaken));
            arrived.zeros(end.saturating_sub(header.base).min(BLOCK_PACKETS)).for_each(|bit| {
                wanted.set(bit);
            });
            let generation = header.message.generation();
            if wanted.count() == 0 {
                slot.ask_where(now, &settings);
            } else if self.retransmit.push(number, generation, header.base, wanted).is_err() {
                overflow = Err(Drop::NackOverflow);
            }
        }
        slot.heard(now, self.retransmit.holds(number, header.message.generation()), &settings);
        self.settle(number);
        self.admit(now, out);
        overflow
    }

    /// Whether nothing of this message can be emitted any more: its slot is free,
    /// or in use by a newer one.
    //= RL-4
    fn is_past(&self, message: MessageId) -> bool {
        let number = message.slot() as usize;
        let Some(&latest) = self.generations.get(number) else { return false };
        match generation_age(message.generation(), latest) {
            Age::Older => true,
            Age::Same => self.slots[number].is_none(),
            Age::Newer => false,
        }
    }

    /// The next packet to send, if any.
    //= TX-8
    pub fn choose(&mut self) -> Option<Chosen> {
        self.retransmit_turn = !self.retransmit_turn;
        if self.retransmit_turn {
            self.choose_again().or_else(|| self.choose_new())
        } else {
            self.choose_new().or_else(|| self.choose_again())
        }
    }

    //= TX-7
    fn choose_again(&mut self) -> Option<Chosen> {
        while let Some((number, generation, index)) = self.retransmit.pop() {
            let live = self.slots[number as usize]
                .as_ref()
                .is_some_and(|slot| slot.message.generation() == generation && index < slot.next);
            if live {
                return Some(Chosen { slot: number, index, probe: false, again: true });
            }
        }
        None
    }

    //= TX-17
    fn take_turn(&mut self) -> Option<u16> {
        self.ahead.pop_front().or_else(|| {
            let list = self.turns.choose()?;
            self.turns.pop(list)
        })
    }

    fn choose_new(&mut self) -> Option<Chosen> {
        while let Some(number) = self.take_turn() {
            let Some(slot) = self.slots[number as usize].as_mut() else { continue };
            slot.queued = false;
            if slot.sendable() {
                return Some(Chosen {
                    slot: number,
                    index: slot.next,
                    probe: slot.probe_wanted,
                    again: false,
                });
            }
        }
        None
    }

    /// Messages that have a slot.
    pub fn open_slots(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// The slot of a chosen packet.
    pub fn slot(&self, number: u16) -> Option<&Slot> {
        self.slots.get(number as usize)?.as_ref()
    }

    /// A chosen packet leaves at `now` on path `ev`: its header.
    pub fn emit(&mut self, now: Ticks, chosen: &Chosen, ev: u8, out: &mut Output) -> Option<DataHeader> {
        let number = chosen.slot as usize;
        let slot = self.slots[number].as_mut()?;
        let header = slot.header(chosen.index, chosen.probe, chosen.again, ev, now);
        if chosen.probe {
            slot.sent_probe(now);
            out.counters.event(Counter::TxProbe);
        } else if chosen.again {
            out.counters.event(Counter::TxRetransmitted);
        } else {
            slot.sent_new(now, &self.settings);
            out.counters.event(Counter::TxData);
        }
        let waiting = self.retransmit.holds(chosen.slot, slot.message.generation());
        slot.after_emission(now, waiting, &self.settings);
        if chosen.again {
            self.settle(chosen.slot);
        } else {
            self.go_on(chosen.slot, chosen.probe);
        }
        Some(header)
    }

    /// Ends a message with a status.
    //= TX-10
    //= TX-12
    pub fn end(&mut self, now: Ticks, number: u16, status: u8, out: &mut Output) {
        let Some(slot) = self.slots[number as usize].take() else { return };
        self.unsolicited -= slot.unasked;
        //= RL-1
        if status >= Status::FIRST_LOCAL && slot.next > 0 {
            out.releases.push_back(slot.release());
        }
        self.retransmit.forget(number);
        self.ahead.retain(|&turn| turn != number);
        self.turns.forget(number);
        self.timers.set(number, None);
        self.free.push(number);
        let mut done = completion(now, &slot.entry, slot.local, slot.index, status);
        done.message = slot.message;
        out.completions.push_back(done);
        let completed = status == Status::Success as u8;
        out.counters.event(if completed { Counter::TxCompleted } else { Counter::TxFailed });
        let endpoint = (slot.local & 0xFF) as u16;
        self.shares.entry(endpoint).or_default().held -= 1;
        self.read(now, endpoint, out);
    }

    /// Ends everything of an endpoint.
    //= RE-1
    pub fn flush(&mut self, now: Ticks, local: u32, out: &mut Output) {
        let status = Status::Flushed as u8;
        if self.requests.front().is_some_and(|first| first.local == local) {
            self.first_window = None;
        }
        let (of, others) = self.requests.drain(..).partition(|request| request.local == local);
        self.requests = others;
        let of: VecDeque<Request> = of;
        let share = self.shares.entry((local & 0xFF) as u16).or_default();
        share.held -= of.len();
        // Nothing is read of its ring any more, whatever ends.
        share.waiting.clear();
        for request in of {
            out.completions.push_back(completion(now, &request.entry, local, request.index, status));
        }
        for number in 0..self.slots.len() {
            if self.slots[number].as_ref().is_some_and(|slot| slot.local == local) {
                self.end(now, number as u16, status, out);
            }
        }
        // Who is the first of those that wait may have changed.
        self.admit(now, out);
    }

    /// Earliest time anything is due.
    pub fn next_timeout(&self) -> Option<Ticks> {
        self.timers.next()
    }

    /// Everything due at `now`.
    pub fn handle_timeout(&mut self, now: Ticks, out: &mut Output) {
        while let Some(number) = self.timers.pop(now) {
            out.counters.event(Counter::WheelPops);
            let Some(slot) = self.slots[number as usize].as_mut() else { continue };
            let status = match slot.ring(now, &self.settings) {
                Ring::Early | Ring::Probe => {
                    if slot.probe_wanted {
                        out.counters.event(Counter::BackstopExpiries);
                    }
                    self.settle(number);
                    continue;
                }
                Ring::Unopened if slot.refused => Status::ReceiverNotReady,
                Ring::Unopened => Status::Unheard,
                Ring::Silence => Status::RetryExceeded,
                Ring::NoProgress => Status::GrantTimeout,
            };
            self.end(now, number, status as u8, out);
        }
    }

    /// Unasked bytes in flight.
    pub fn unsolicited(&self) -> u64 {
        self.unsolicited
    }

    /// Slots in use.
    pub fn live(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether every slot, byte and queue entry is back.
    pub fn is_idle(&self) -> bool {
        self.live() == 0
            && self.unsolicited == 0
            && self.requests.is_empty()
            && self.shares.values().all(|share| share.held == 0 && share.waiting.is_empty())
            && self.retransmit.is_empty()
            && self.timers.is_empty()
    }

    /// Moves a free slot's generation: tests of its wrap start here.
    pub fn set_generation(&mut self, slot: u16, generation: u32) {
        self.generations[slot as usize] = generation & 0xF_FFFF;
    }
}

/// The completion of a request that never became, or no longer is, a message.
pub fn completion(now: Ticks, entry: &SendEntry, local: u32, index: u16, status: u8) -> Completion {
    Completion {
        opcode: DONE_SEND,
        status,
        immediate: entry.immediate,
        write: entry.is_write(),
        grh: false,
        tagged: false,
        endpoint: (local & 0xFF) as u16,
        entry: index,
        length: entry.length,
        tag: entry.tag,
        message: MessageId(0),
        peer_endpoint: entry.endpoint,
        peer_gid: entry.gid,
        timestamp: now as u32,
        ring: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Endpoint;
    use tessera_abi::params::NIC64;

    const LOCAL: u32 = 0x100;

    fn request(index: u16, packets: u8) -> Request {
        let mut entry = SendEntry::parse(&[0; tessera_abi::queue::SEND_ENTRY_LEN]);
        (entry.payload_log2, entry.length, entry.initial_window) = (8, packets as u32 * 256, packets);
        Request { entry, local: LOCAL, index, count: packets as u32 }
    }

    /// A sender whose first message of 20 packets is out, and its number.
    fn started(settings: &Settings, out: &mut Output) -> (Sender, MessageId) {
        let mut sender = Sender::new(&NIC64, settings);
        sender.post(0, request(0, 20), out);
        let mut message = None;
        while let Some(chosen) = sender.choose() {
            let header = sender.emit(1, &chosen, 0, out).expect("a packet");
            message = Some(header.message);
        }
        (sender, message.expect("20 packets"))
    }

    fn say(sender: &mut Sender, header: FeedbackHeader, out: &mut Output) {
        let local = Endpoint::new(LOCAL, 0);
        let origin = Origin { mac: [0; 6], vlan: None, gid: [0; 16], endpoint: 0, local, ce: false };
        assert_eq!(sender.handle(2, &origin, &header, out), Ok(()));
    }

    //= TX-14 test
    #[test]
    fn a_window_is_that_of_when_its_request_became_the_first() {
        let settings = Settings { unsolicited_limit: 20 * 256, ..Settings::default() };
        let mut out = Output::default();
        let (mut sender, message) = started(&settings, &mut out);
        // The second is the first of those that wait, the third behind it.
        sender.post(1, request(1, 20), &mut out);
        sender.post(1, request(2, 20), &mut out);
        let marked = FeedbackHeader { flags: fb::CE, sequence: 1, grant: 20, ..feedback::blank(message) };
        say(&mut sender, marked, &mut out);
        let windows = |sender: &Sender| -> Vec<(u16, u32)> {
            sender.slots.iter().flatten().map(|slot| (slot.index, slot.window)).collect()
        };
        assert_eq!(windows(&sender), [(0, 20), (1, 20)]);
        let second = sender.slots[1].as_ref().expect("open").message;
        while let Some(chosen) = sender.choose() {
            sender.emit(2, &chosen, 0, &mut out).expect("a packet");
        }
        let answer = FeedbackHeader { sequence: 1, grant: 20, ..feedback::blank(second) };
        say(&mut sender, answer, &mut out);
        assert_eq!(windows(&sender), [(0, 20), (1, 20), (2, 10)]);
    }

    //= TX-4 test
    //= TX-5 test
    #[test]
    fn whatever_is_newest_tells_the_round_trip() {
        let settings = Settings::default();
        let of_gid = destination_hash([0; 16]);
        for flags in [fb::COMPLETE, fb::COMPLETE | fb::ABORT, fb::BUSY, 0] {
            let mut out = Output::default();
            let (mut sender, message) = started(&settings, &mut out);
            let status = if flags & fb::ABORT != 0 { Status::GaveUp as u8 } else { 0 };
            let (cumulative, grant) = if flags == fb::COMPLETE { (20, 20) } else { (0, 20) };
            // It came at tick 2: of 100 ticks the receiver held it 30.
            let sampled = FeedbackHeader {
                flags,
                status,
                cumulative,
                grant,
                delay: 30,
                echo: 2u32.wrapping_sub(100),
                ..feedback::blank(message)
            };
            say(&mut sender, sampled, &mut out);
            assert_eq!(sender.rtts.get(&of_gid), Some(&70), "flags {flags:#x}");
        }
        // Overtaken by later words, it tells nothing any more.
        let mut out = Output::default();
        let (mut sender, message) = started(&settings, &mut out);
        let later = FeedbackHeader { sequence: 9, grant: 20, ..feedback::blank(message) };
        say(&mut sender, later, &mut out);
        let old = FeedbackHeader { sequence: 8, delay: 1, echo: 0, ..later };
        say(&mut sender, old, &mut out);
        say(&mut sender, FeedbackHeader { flags: fb::COMPLETE, cumulative: 20, ..old }, &mut out);
        assert_eq!(sender.rtts.get(&of_gid), None);
    }

    //= TX-7 test
    #[test]
    fn a_nack_that_finds_no_room_draws_nothing() {
        let settings = Settings::default();
        let mut out = Output::default();
        let (mut sender, message) = started(&settings, &mut out);
        sender.retransmit = RetransmitQueue::new(0);
        let nack =
            FeedbackHeader { flags: fb::NACK, sequence: 1, grant: 20, limit: 20, ..feedback::blank(message) };
        let local = Endpoint::new(LOCAL, 0);
        let origin = Origin { mac: [0; 6], vlan: None, gid: [0; 16], endpoint: 0, local, ce: false };
        assert_eq!(sender.handle(1 << 20, &origin, &nack, &mut out), Err(Drop::NackOverflow));
        assert!(sender.choose().is_none());
    }

    //= TX-9 test
    //= TX-11 test
    #[test]
    fn a_busy_that_is_ignored_starts_no_backstop_anew() {
        let settings = Settings::default();
        for established in [false, true] {
            let mut out = Output::default();
            let (mut sender, message) = started(&settings, &mut out);
            let busy = FeedbackHeader { flags: fb::BUSY, ..feedback::blank(message) };
            if established {
                say(
                    &mut sender,
                    FeedbackHeader { sequence: 1, grant: 20, ..feedback::blank(message) },
                    &mut out,
                );
            } else {
                say(&mut sender, busy, &mut out);
            }
            let before = format!("{:?}", sender.slots);
            say(&mut sender, busy, &mut out);
            assert_eq!(format!("{:?}", sender.slots), before);
            // A PROBE that nothing answered counts on.
            let at = sender.next_timeout().expect("a backstop or a wait");
            sender.handle_timeout(at, &mut out);
            let before = format!("{:?}", sender.slots);
            if established {
                say(&mut sender, busy, &mut out);
                assert_eq!(format!("{:?}", sender.slots), before);
            }
        }
    }
}
