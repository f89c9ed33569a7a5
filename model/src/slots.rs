//! The sender's state of one message (rules TX).
//!
//! No bitmap and no per-packet state: `next`, the grant, what is `settled`,
//! and the clocks that end a message nobody answers.

use tessera_abi::regs::TURNS_BY_LEFT;
use tessera_abi::wire::{flag, DataHeader, FeedbackHeader, MessageId, NO_SAMPLE};

use crate::feedback::Releasing;
use crate::grant;
use crate::queue::SendEntry;
use crate::settings::Settings;
use crate::turns;
use crate::Ticks;

/// Longest round-trip time kept, ticks: the width of the field.
pub const RTT_MAX: u32 = 65_535;

/// One smoothing step; `None` is a first sample.
//= TX-5
pub fn smooth(srtt: Option<u32>, sample: u32) -> u32 {
    let sample = sample.clamp(1, RTT_MAX);
    let srtt = srtt.map_or(sample, |srtt| {
        let step = (sample as i64 - srtt as i64) >> 3;
        (srtt as i64 + step) as u32
    });
    srtt.max(1)
}

/// The round-trip sample of a feedback, if it carries one.
pub fn sample(now: Ticks, header: &FeedbackHeader) -> Option<u32> {
    (header.delay != NO_SAMPLE)
        .then(|| (now as u32).wrapping_sub(header.echo).wrapping_sub(header.delay as u32))
}

/// Whether feedback sequence `a` is newer than `b`.
pub fn newer(a: u8, b: u8) -> bool {
    matches!(a.wrapping_sub(b), 1..=127)
}

/// Furthest that a sequence may lie behind the newest one and still say which came first.
const BEHIND_MAX: u8 = 127;

/// What the feedback of one message said so far, by its sequences.
//= TX-4
#[derive(Clone, Copy, Debug, Hash)]
pub struct Sequences {
    newest: Option<u8>,
    /// How far behind the newest the latest NACK lies that was acted on.
    nack_behind: u8,
}

impl Default for Sequences {
    fn default() -> Self {
        Self { newest: None, nack_behind: BEHIND_MAX }
    }
}

impl Sequences {
    /// Whether nothing so far was as new as this.
    pub fn is_newest(&self, sequence: u8) -> bool {
        self.newest.is_none_or(|newest| newer(sequence, newest))
    }

    /// Whether this is the newest so far, and remembers it.
    pub fn take(&mut self, sequence: u8) -> bool {
        let Some(newest) = self.newest else {
            self.newest = Some(sequence);
            return true;
        };
        if !newer(sequence, newest) {
            return false;
        }
        self.newest = Some(sequence);
        let ahead = sequence.wrapping_sub(newest);
        self.nack_behind = self.nack_behind.saturating_add(ahead).min(BEHIND_MAX);
        true
    }

    /// Whether a NACK of this sequence, taken before, is to be acted on, and
    /// remembers that: one that others overtook is, one that is older than what was
    /// acted on, or a copy of it, is not.
    pub fn take_nack(&mut self, sequence: u8) -> bool {
        let behind = self.newest.map_or(0, |newest| newest.wrapping_sub(sequence));
        let acts = behind < self.nack_behind;
        if acts {
            self.nack_behind = behind;
        }
        acts
    }
}

/// `next` as it stood so long ago that a NACK can have heard of what was sent.
//= TX-6
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct Marks {
    settled: u32,
    older: u32,
    newer: u32,
    shifted: Ticks,
}

impl Marks {
    fn shift(&mut self, now: Ticks, next: u32, last_new: Ticks, word: u64) {
        if now - self.shifted >= word / 2 {
            self.settled = self.older;
            self.older = self.newer;
            self.newer = next;
            self.shifted = now;
        }
        if now - last_new >= word {
            self.settled = next;
        }
    }
}

/// Where a refused message stands.
//= TX-11
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Refusal {
    None,
    Waiting(Ticks),
    /// The wait is over and a PROBE asks; new packets stay put until it is answered.
    Asking,
}

/// Why a slot's clock rang.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    /// Nothing is due yet; look again then.
    Early,
    /// A PROBE is due.
    Probe,
    /// `T_OPEN` passed.
    Unopened,
    /// `MAX_RETRY` PROBEs drew nothing.
    Silence,
    /// `GRANT_WAIT` passed.
    NoProgress,
}

/// A message being sent.
#[derive(Clone, Debug, Hash)]
pub struct Slot {
    /// The request.
    pub entry: SendEntry,
    /// Local endpoint number.
    pub local: u32,
    /// Running index of the request.
    pub index: u16,
    /// Message number.
    pub message: MessageId,
    /// Packets.
    pub count: u32,
    /// Packets sent unasked.
    pub window: u32,
    /// Next index never sent.
    pub next: u32,
    /// Indexes below were asked for.
    pub grant: u32,
    /// Every index below has arrived.
    pub cumulative: u32,
    /// Non-BUSY feedback was heard.
    pub established: bool,
    /// BUSY was heard.
    pub refused: bool,
    /// Unasked bytes still charged to the NIC.
    pub unasked: u64,
    /// Smoothed round-trip time; `None` unknown.
    pub srtt: Option<u32>,
    /// A PROBE waits for the arbiter.
    pub probe_wanted: bool,
    /// Queued for the arbiter.
    pub queued: bool,
    /// Of the feedback so far.
    pub sequences: Sequences,
    marks: Marks,
    last_new: Ticks,
    last_probe: Option<Ticks>,
    refusal: Refusal,
    busy_waits: u32,
    probes: u32,
    backstop: Option<Ticks>,
    opened: Option<Ticks>,
    progress: Ticks,
}

impl Slot {
    /// A slot for `entry`, whose count is known to be legal.
    //= TX-1
    #[allow(clippy::too_many_arguments)] // what a request consists of
    pub fn new(
        now: Ticks,
        entry: SendEntry,
        local: u32,
        index: u16,
        message: MessageId,
        count: u32,
        window: u32,
        srtt: Option<u32>,
    ) -> Self {
        Self {
            unasked: unasked_bytes(&entry, count, window),
            entry,
            local,
            index,
            message,
            count,
            window,
            next: 0,
            grant: 0,
            cumulative: 0,
            established: false,
            refused: false,
            srtt,
            probe_wanted: false,
            queued: false,
            sequences: Sequences::default(),
            marks: Marks { shifted: now, ..Marks::default() },
            last_new: now,
            last_probe: None,
            refusal: Refusal::None,
            busy_waits: 0,
            probes: 0,
            backstop: None,
            opened: None,
            progress: now,
        }
    }

    /// The word that none of its packets will be emitted again.
    //= RL-1
    pub fn release(&self) -> Releasing {
        Releasing {
            mac: self.entry.mac,
            vlan: self.entry.vlan,
            gid: self.entry.gid,
            endpoint: self.entry.endpoint,
            local: self.local,
            message: self.message,
        }
    }

    /// Indexes below may be sent.
    pub fn limit(&self) -> u32 {
        self.window.max(self.grant).min(self.count)
    }

    fn rtt(&self, settings: &Settings) -> u32 {
        self.srtt.unwrap_or(settings.rtt_default)
    }

    /// The longest until a receiver's word about a packet is here: here packets
    /// leave in the tick in which they are chosen.
    //= TX-6
    //= TX-9
    fn word(&self, settings: &Settings) -> u64 {
        self.rtt(settings) as u64 + 2 * settings.guard as u64
    }

    /// Whether a packet that was never sent may go.
    fn has_new(&self) -> bool {
        self.refusal == Refusal::None && self.next < self.limit()
    }

    /// Whether the arbiter has a new packet or a PROBE to take.
    pub fn sendable(&self) -> bool {
        self.probe_wanted || self.has_new()
    }

    /// The list that it waits in for its turn.
    //= TX-17
    pub fn list(&self, settings: &Settings) -> usize {
        if settings.turn_policy & TURNS_BY_LEFT == 0 {
            return 0;
        }
        turns::list_of(self.count - self.next)
    }

    /// Header of DATA `index`, or of a PROBE.
    pub fn header(&self, index: u32, probe: bool, again: bool, ev: u8, now: Ticks) -> DataHeader {
        let mut flags = 0;
        //= TX-2
        if !probe && (index + 1 == self.limit() || index + 1 == self.count) {
            flags |= flag::AR;
        }
        if again {
            flags |= flag::RETX;
        }
        if self.established {
            flags |= flag::EST;
        }
        if self.entry.immediate.is_some() {
            flags |= flag::IMM;
        }
        if self.entry.round.is_some() {
            flags |= flag::ROUND;
        }
        if self.entry.is_write() {
            flags |= flag::WRITE;
        }
        if self.entry.host_recovery {
            flags |= flag::HOST_RECOVERY;
        }
        DataHeader {
            probe,
            flags,
            ev,
            payload_log2: self.entry.payload_log2,
            traffic_class: self.entry.traffic_class & 0xF,
            message: self.message,
            index,
            initial_window: self.window as u8,
            length: self.entry.length,
            tag: self.entry.tag,
            rkey: self.entry.rkey,
            immediate: self.entry.immediate.unwrap_or(0),
            round: self.entry.round.unwrap_or(0),
            rtt: self.srtt.unwrap_or(0) as u16,
            timestamp: now as u32,
        }
    }

    /// A new packet goes out.
    pub fn sent_new(&mut self, now: Ticks, settings: &Settings) {
        self.marks.shift(now, self.next, self.last_new, self.word(settings));
        self.next += 1;
        self.last_new = now;
        if self.opened.is_none() {
            self.opened = Some(now);
            self.progress = now;
        }
    }

    /// A PROBE goes out.
    pub fn sent_probe(&mut self, now: Ticks) {
        self.probe_wanted = false;
        self.last_probe = Some(now);
    }

    /// Restarts or stops the backstop; `waiting` = packets wait to be sent again.
    //= TX-9
    pub fn after_emission(&mut self, now: Ticks, waiting: bool, settings: &Settings) {
        self.arm(now + self.patience(settings), waiting);
    }

    /// How long this slot waits for a word before it asks.
    //= TX-9
    fn patience(&self, settings: &Settings) -> u64 {
        let rto = settings.rto as u64;
        let answer = self.word(settings);
        let granting = self.established && self.limit() < self.count;
        //= RD-6
        let first = self.entry.round.is_some() && !self.established && self.probes == 0;
        let answer = if first { settings.rto_round as u64 } else { answer };
        // Software takes its time.
        let watched = self.entry.host_recovery && self.established && self.next == self.count;
        let base = if watched {
            rto << 5
        } else if granting {
            rto
        } else {
            answer.min(rto)
        };
        (base << (self.probes / 2).min(8)).min(rto << 5)
    }

    fn arm(&mut self, at: Ticks, waiting: bool) {
        let idle = !waiting && !self.sendable() && !matches!(self.refusal, Refusal::Waiting(_));
        self.backstop = idle.then_some(at);
    }

    /// Any valid feedback restarts the backstop.
    //= TX-9
    pub fn heard(&mut self, now: Ticks, waiting: bool, settings: &Settings) {
        self.probes = 0;
        self.arm(now + self.patience(settings), waiting);
    }

    /// Whether a BUSY would change anything.
    //= TX-11
    pub fn heeds_busy(&self) -> bool {
        !self.established && !matches!(self.refusal, Refusal::Waiting(_))
    }

    /// BUSY for a message never accepted; `jitter` is 0..BUSY_WAIT.
    //= TX-11
    pub fn busy(&mut self, now: Ticks, jitter: u32, settings: &Settings) {
        if !self.heeds_busy() {
            return;
        }
        self.refused = true;
        let wait = (settings.busy_wait as u64) << self.busy_waits.min(5);
        self.busy_waits += 1;
        self.refusal = Refusal::Waiting(now + wait + jitter as u64);
        self.probes = 0;
        self.backstop = None;
    }

    /// What every other feedback says: who listens, what arrived, what may be sent.
    //= TX-4
    pub fn advance(&mut self, now: Ticks, header: &FeedbackHeader) {
        self.established = true;
        self.refusal = Refusal::None;
        self.busy_waits = 0;
        let (cumulative, grant) = (self.cumulative, self.grant);
        self.cumulative = cumulative.max(header.cumulative);
        self.grant = grant.max(header.grant.min(self.count));
        if (self.cumulative, self.grant) != (cumulative, grant) {
            self.progress = now;
        }
    }

    /// Indexes a NACK at `now` may send again lie below this: of one that was
    /// overtaken, as it stood before.
    //= TX-6
    pub fn settled(&mut self, now: Ticks, overtaken: bool, settings: &Settings) -> u32 {
        let before = self.marks.settled;
        self.marks.shift(now, self.next, self.last_new, self.word(settings));
        if overtaken {
            before
        } else {
            self.marks.settled
        }
    }

    /// A NACK of which nothing was acted on: a PROBE, one per round trip, unless it
    /// waits for what is about to be sent.
    //= TX-7
    pub fn ask_where(&mut self, now: Ticks, settings: &Settings) {
        let rtt = self.rtt(settings) as u64;
        if self.cumulative == self.next && self.has_new() {
            return;
        }
        if self.last_probe.is_none_or(|last| now - last >= rtt) {
            self.probe_wanted = true;
        }
    }

    /// When the slot's clock rings next.
    pub fn deadline(&self, settings: &Settings) -> Option<Ticks> {
        let bound = self.bound(settings);
        let wait = match self.refusal {
            Refusal::Waiting(until) => Some(until),
            _ => self.backstop,
        };
        [bound, wait].into_iter().flatten().min()
    }

    //= TX-10
    fn bound(&self, settings: &Settings) -> Option<Ticks> {
        let opened = self.opened?;
        Some(if self.established {
            self.progress + settings.grant_wait as u64
        } else {
            opened + settings.t_open as u64
        })
    }

    /// The clock rang at `now`.
    pub fn ring(&mut self, now: Ticks, settings: &Settings) -> Ring {
        if self.bound(settings).is_some_and(|bound| now >= bound) {
            return if self.established { Ring::NoProgress } else { Ring::Unopened };
        }
        //= TX-11
        if matches!(self.refusal, Refusal::Waiting(until) if now >= until) {
            self.refusal = Refusal::Asking;
            self.probes += 1;
            self.probe_wanted = true;
            return Ring::Probe;
        }
        //= TX-9
        if self.backstop.is_some_and(|backstop| now >= backstop) {
            self.backstop = None;
            //= TX-10
            if self.probes >= settings.max_retry {
                return Ring::Silence;
            }
            self.probes += 1;
            self.probe_wanted = true;
            return Ring::Probe;
        }
        Ring::Early
    }
}

/// The window a request asks for.
pub fn initial_window(entry: &SendEntry, settings: &Settings) -> u32 {
    if entry.initial_window == 0 {
        settings.initial_window
    } else {
        entry.initial_window as u32
    }
}

/// The longest window of a request whose endpoint has a quota: it asks for no more than
/// a sixteenth of the bytes that may go unasked.
//= TX-15
pub fn quota_window(entry: &SendEntry, settings: &Settings) -> u32 {
    (settings.unsolicited_limit >> (4 + entry.payload_log2)).max(1)
}

/// Bytes a request sends unasked.
pub fn unasked_bytes(entry: &SendEntry, count: u32, window: u32) -> u64 {
    grant::bytes(entry.length, entry.payload_log2, 0, window.min(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    //= TX-4 test
    #[test]
    fn sequences_compare_modulo_256() {
        assert!(newer(0, 255) && newer(127, 0) && !newer(128, 0) && !newer(5, 5) && !newer(4, 5));
    }

    //= TX-4 test
    #[test]
    fn a_nack_that_others_overtook_counts_once() {
        let mut sequences = Sequences::default();
        assert!(sequences.take(250) && sequences.take(2) && !sequences.take(255));
        assert!(sequences.take_nack(255), "three behind, the first");
        assert!(!sequences.take_nack(255) && !sequences.take_nack(254), "a copy, and an older one");
        assert!(sequences.take_nack(0) && sequences.take_nack(2) && !sequences.take_nack(2));
        // What was acted on falls behind as others come, but not out of sight.
        assert!(sequences.take(100) && !sequences.take_nack(2) && sequences.take_nack(3));
        assert!(sequences.take(200) && sequences.take(44));
        assert!(!sequences.take_nack(173), "127 behind: it may as well be newer by 129");
        assert!(sequences.take_nack(174));
    }

    //= TX-6 test
    #[test]
    fn settled_is_one_to_one_and_a_half_round_trips_old() {
        let mut marks = Marks::default();
        for now in 0..10_000u64 {
            marks.shift(now, now as u32, now.saturating_sub(1), 100);
            let age = now - marks.settled as u64;
            assert!(now < 300 || (100..=150).contains(&age), "{now}: {age}");
        }
    }

    //= TX-5 test
    #[test]
    fn round_trips_smooth_and_clamp() {
        assert_eq!(smooth(None, 160), 160);
        assert_eq!(smooth(Some(160), 168), 161);
        assert_eq!(smooth(Some(160), 159), 159);
        assert_eq!(smooth(None, u32::MAX), RTT_MAX);
        assert_eq!(smooth(None, 0), 1);
    }
}
