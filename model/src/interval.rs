//! When a receiver asks for what is missing (rules RC-4, RC-5, LD).
//!
//! ```text
//!  new packet ─> gap, skew ─┐
//!  bitmap ─> View ──────────┼─> rearm ─> deadline ─> expire ─> how far to ask
//!  PROBE ─> probe_limit ────┘                            └─> hold, backoff
//! ```
//!
//! All state of one context's loss detection, and nothing of its bitmap: the
//! caller hands in a [`View`] of that.

use tessera_abi::wire::DataHeader;

use crate::settings::Settings;
use crate::Ticks;

/// Largest packet gap, 1/16 tick.
pub const GAP_MAX: u32 = 65_535;

/// Most NACKs of one hole that count; every second one doubles the wait.
const BACKOFF_MAX: u32 = 10;

/// What loss detection needs to know of the bitmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Lowest index not arrived.
    pub cumulative: u32,
    /// One past the highest index arrived.
    pub highest: u32,
    /// The grant.
    pub grant: u32,
    /// Missing granted indexes of the block of `cumulative`.
    pub left: u32,
    /// How often what is left of the message's round has halved.
    pub halvings: u32,
}

impl View {
    fn tail_seen(&self) -> bool {
        self.highest == self.grant
    }
}

/// Fraction bits of the skew.
const SKEW_FRACTION: u32 = 8;

/// Longest interval kept, ticks.
const TICKS_MAX: u32 = 65_535;

/// What a receiver knows of the way from a source and back, ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// How late packets come behind the fastest.
    pub skew: u32,
    /// From a NACK to the retransmission it drew.
    pub answer: u32,
}

impl Source {
    /// The lower of each.
    pub fn least(self, other: Self) -> Self {
        Self { skew: self.skew.min(other.skew), answer: self.answer.min(other.answer) }
    }
}

/// Samples from which a source's skew counts as known.
const SKEW_KNOWN: u8 = 127;

/// The same per source hash.
#[derive(Clone, Debug)]
pub struct SourceTable {
    sources: [Source; 256],
    /// Skew samples of each so far, as far as they are counted.
    samples: [u8; 256],
}

impl SourceTable {
    /// Every source starts at `SKEW0` and `ANSWER0`.
    pub fn new(settings: &Settings) -> Self {
        let start = Source { skew: settings.skew0 << SKEW_FRACTION, answer: settings.answer0 };
        Self { sources: [start; 256], samples: [0; 256] }
    }

    /// XOR of the GID's bytes.
    pub fn hash(gid: &[u8; 16]) -> u8 {
        gid.iter().fold(0, |hash, byte| hash ^ byte)
    }

    /// What is known of a source.
    pub fn of(&self, hash: u8) -> Source {
        let Source { skew, answer } = self.sources[hash as usize];
        Source { skew: skew >> SKEW_FRACTION, answer }
    }

    /// Takes a skew sample: up at once, down slowly, but from `SKEW0` soon.
    //= RC-5
    pub fn late(&mut self, hash: u8, sample: u32, settings: &Settings) {
        let skew = &mut self.sources[hash as usize].skew;
        let samples = &mut self.samples[hash as usize];
        let shift = if *samples < SKEW_KNOWN { 6 } else { 10 };
        *samples = (*samples + 1).min(SKEW_KNOWN);
        let sample = sample.min(TICKS_MAX) << SKEW_FRACTION;
        if sample >= *skew {
            *skew = sample.min(settings.skew_max << SKEW_FRACTION);
        } else {
            *skew -= (*skew - sample) >> shift;
        }
    }

    /// Takes what a retransmission says of the answer's time.
    //= RC-10
    pub fn answered(&mut self, hash: u8, answered: Answered, settings: &Settings) {
        let answer = &mut self.sources[hash as usize].answer;
        let most = settings.rto.min(TICKS_MAX);
        match answered {
            Answered::After(sample) if sample >= *answer => *answer = sample.min(most),
            Answered::After(sample) => *answer -= (*answer - sample) >> 3,
            Answered::Again => *answer = (*answer + (*answer >> 2)).min(most),
        }
    }
}

/// What a retransmission says of the time answers take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// So long after the NACK that asked for it.
    After(u32),
    /// It was here already: asked for too early.
    Again,
}

/// How far an expiry asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Indexes at and above are not asked for.
    pub limit: u32,
    /// Blocks behind the oldest are asked for too.
    pub wide: bool,
}

/// Loss-detection state of one context.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Estimated packet gap, 1/16 tick.
    pub gap: u32,
    /// When the last packet of the context came.
    pub last_heard: Ticks,
    point: Option<(u32, u32)>,
    d_min: Option<u32>,
    hole: Option<u32>,
    hole_time: Ticks,
    mark: u32,
    recent: u32,
    mark_time: Ticks,
    /// Lowest index missing when the latest NACK went out, or since.
    nack_hole: u32,
    nack_limit: u32,
    hold: Ticks,
    backoff: u32,
    /// The latest NACK.
    asked_at: Ticks,
    probe_limit: u32,
    probe_due: Option<Ticks>,
    rtt: u32,
    deadline: Option<Ticks>,
}

impl Interval {
    /// State of a context opened at `now`.
    pub fn new(now: Ticks, settings: &Settings) -> Self {
        Self {
            gap: settings.gap0.clamp(1, GAP_MAX),
            last_heard: now,
            point: None,
            d_min: None,
            hole: None,
            hole_time: now,
            mark: 0,
            recent: 0,
            mark_time: now,
            nack_hole: 0,
            nack_limit: 0,
            hold: now,
            backoff: 0,
            asked_at: now,
            probe_limit: 0,
            probe_due: None,
            rtt: settings.rtt_default,
            deadline: None,
        }
    }

    /// State of a context opened at `now` by a packet that was heard already.
    pub fn reopened(&self, now: Ticks, settings: &Settings) -> Self {
        Self { rtt: self.rtt, ..Self::new(now, settings) }
    }

    /// Any packet of the context.
    //= RC-3
    //= LD-5
    pub fn heard(&mut self, now: Ticks, rtt: u16, settings: &Settings) {
        self.last_heard = now;
        self.rtt = if rtt == 0 { settings.rtt_default } else { rtt as u32 };
    }

    /// What the sender says of the way there and back, ticks.
    pub fn rtt(&self) -> u32 {
        self.rtt
    }

    /// The same state had it said at most `rtt`.
    pub fn with_rtt_within(self, rtt: u32) -> Self {
        Self { rtt: self.rtt.min(rtt), ..self }
    }

    /// A new packet without RETX; returns its skew sample, if any.
    pub fn sample(&mut self, now: Ticks, packet: &DataHeader) -> Option<u32> {
        //= RC-4
        match self.point {
            None => self.point = Some((packet.index, packet.timestamp)),
            Some((index, timestamp)) if packet.index > index => {
                let steps = packet.index - index;
                if steps <= 16 && steps.is_power_of_two() {
                    let ticks = packet.timestamp.wrapping_sub(timestamp) as u64;
                    let sample = (ticks << 4) >> steps.trailing_zeros();
                    let sample = sample.clamp(self.gap as u64 / 4, self.gap as u64 * 4) as i64;
                    // Away from zero: rounded down, no sample would raise a gap of 1 or 2.
                    let away = sample - self.gap as i64;
                    let step = if away > 0 { (away + 7) >> 3 } else { away >> 3 };
                    let gap = self.gap as i64 + step;
                    self.gap = gap.clamp(1, GAP_MAX as i64) as u32;
                }
                self.point = Some((packet.index, packet.timestamp));
            }
            Some(_) => {}
        }
        //= RC-5
        let d = (now as u32).wrapping_sub(packet.timestamp);
        let Some(d_min) = self.d_min else {
            self.d_min = Some(d);
            return None;
        };
        let apart = d.wrapping_sub(d_min) as i32;
        if apart < 0 {
            self.d_min = Some(d);
        }
        Some(apart.unsigned_abs())
    }

    /// A retransmission of `index`, before it counts as arrived; what it says
    /// of the time answers take, if anything.
    //= RC-10
    pub fn answered(&self, now: Ticks, index: u32, new: bool) -> Option<Answered> {
        if !new {
            return Some(Answered::Again);
        }
        // After a second NACK nobody knows which one it answers.
        let certain = self.backoff == 1 && index < self.nack_limit;
        certain.then(|| Answered::After((now - self.asked_at).min(TICKS_MAX as u64) as u32))
    }

    /// A PROBE of `index`, its effect on what may be asked for.
    //= RC-9
    pub fn probe(&mut self, now: Ticks, index: u32, view: &View, source: Source, settings: &Settings) {
        self.probe_within(now, index, view, source, settings, 0);
    }

    /// The same where the times of PROBE and NACK are known to `margin` ticks only:
    /// the hold falls if it must. When it ends if it falls, where it may.
    //= RC-9
    pub fn probe_within(
        &mut self,
        now: Ticks,
        index: u32,
        view: &View,
        source: Source,
        settings: &Settings,
        margin: Ticks,
    ) -> Option<Ticks> {
        self.probe_limit = self.probe_limit.max(index.min(view.grant));
        if !self.probe_pending(view) {
            // All it speaks of is here: nothing behind it is lost.
            return None;
        }
        let due = now + Self::tail(source, settings);
        self.probe_due = Some(self.probe_due.map_or(due, |old| old.min(due)));
        // One that left before the NACK came says nothing about its answer.
        let since = now - self.asked_at;
        let way = (self.rtt + source.skew + settings.guard) as u64;
        if since >= way + margin {
            self.hold = self.hold.min(due);
        }
        (since + margin >= way).then_some(due)
    }

    /// Length of the loss-detection interval for `view`, without GUARD.
    pub fn interval(&self, view: &View, source: Source, settings: &Settings) -> Ticks {
        //= LD-8
        if settings.ld_policy == 0 {
            return settings.ld_fixed as u64;
        }
        let least = (settings.d_min as u64).max(source.skew as u64);
        let whole = (self.spread(view) + source.skew as u64).max(least);
        //= RD-4
        least + ((whole - least) >> Self::halvings(view, settings))
    }

    /// The interval when nothing but stragglers can still come.
    pub fn tail(source: Source, settings: &Settings) -> Ticks {
        source.skew as u64 + settings.guard as u64
    }

    fn shift_marks(&mut self, now: Ticks, view: &View, source: Source, settings: &Settings) {
        let due = now - self.mark_time >= Self::tail(source, settings);
        if due {
            self.recent = self.mark;
        }
        // That of the tail stays: it tells when that was seen.
        if view.tail_seen() && self.mark == view.highest {
            return;
        }
        if due || view.tail_seen() {
            self.mark = view.highest;
            self.mark_time = now;
        }
    }

    /// How often the interval is halved for the end of a round.
    fn halvings(view: &View, settings: &Settings) -> u32 {
        if settings.ld_policy >= 2 {
            view.halvings
        } else {
            0
        }
    }

    /// Whether all that is missing is late, for the tail was seen so long ago.
    fn tail_over(&self, now: Ticks, view: &View, source: Source, settings: &Settings) -> bool {
        view.tail_seen() && (settings.ld_policy == 0 || now - self.mark_time >= Self::tail(source, settings))
    }

    /// The deadline rule LD-2 or LD-3 gives for `view`, before hold and PROBE.
    pub fn rule(&self, view: &View, source: Source, settings: &Settings) -> Option<Ticks> {
        let tail = Self::tail(source, settings);
        if view.cumulative == view.grant {
            //= LD-1
            None
        } else if view.cumulative < view.highest {
            //= LD-2
            Some(if view.tail_seen() && settings.ld_policy != 0 {
                self.mark_time + tail
            } else {
                self.hole_time + self.interval(view, source, settings)
            })
        } else {
            //= LD-3
            Some(self.last_heard + self.interval(view, source, settings) + settings.guard as u64)
        }
    }

    /// Recomputes the deadline after anything changed.
    pub fn rearm(&mut self, now: Ticks, view: &View, source: Source, settings: &Settings) {
        self.shift_marks(now, view, source, settings);
        let hole = (view.cumulative < view.highest).then_some(view.cumulative);
        if hole != self.hole {
            self.hole = hole;
            self.hole_time = now;
        }
        //= LD-5
        if view.cumulative > self.nack_hole {
            self.nack_hole = view.cumulative;
            self.backoff = 0;
            self.hold = self.hold.min(now + self.pause(view, source, settings));
        }
        self.probe_due = self.probe_due.filter(|_| self.probe_pending(view));
        self.deadline = self.rule(view, source, settings).map(|deadline| {
            let deadline = self.probe_due.map_or(deadline, |due| due.min(deadline));
            if view.cumulative < self.nack_limit {
                deadline.max(self.hold)
            } else {
                deadline
            }
        });
    }

    /// The deadline in force.
    pub fn deadline(&self) -> Option<Ticks> {
        self.deadline
    }

    /// Whether a PROBE still stands for indexes that have not come.
    pub fn probe_pending(&self, view: &View) -> bool {
        self.probe_limit > view.cumulative
    }

    /// The deadline passed: how far may be asked.
    //= LD-4
    pub fn expire(&mut self, now: Ticks, view: &View, source: Source, settings: &Settings) -> Ask {
        self.shift_marks(now, view, source, settings);
        self.probe_due = None;
        let silent_for = self.interval(view, source, settings) + settings.guard as u64;
        let silence = view.cumulative == view.highest || now - self.last_heard >= silent_for;
        if self.tail_over(now, view, source, settings) || silence {
            Ask { limit: view.grant, wide: true }
        } else if self.probe_pending(view) {
            Ask { limit: self.probe_limit.max(self.recent).min(view.grant), wide: true }
        } else {
            Ask { limit: self.recent.min(view.grant), wide: false }
        }
    }

    /// No NACK came out of an expiry.
    pub fn postpone(&mut self, now: Ticks, source: Source, settings: &Settings) {
        self.deadline = Some(now + Self::tail(source, settings));
    }

    /// NACKs went out; `limit` is the largest of them.
    //= LD-5
    pub fn nacked(&mut self, now: Ticks, view: &View, limit: u32, source: Source, settings: &Settings) {
        self.nacked_below(view.cumulative, now, view, limit, source, settings);
    }

    /// The same of NACKs that were composed when `hole` was the lowest index missing.
    //= LD-5
    pub fn nacked_below(
        &mut self,
        hole: u32,
        now: Ticks,
        view: &View,
        limit: u32,
        source: Source,
        settings: &Settings,
    ) {
        self.probe_due = None;
        self.nack_hole = hole;
        self.nack_limit = limit;
        self.asked_at = now;
        self.hold = now + (self.pause(view, source, settings) << (self.backoff / 2));
        self.backoff = (self.backoff + 1).min(BACKOFF_MAX);
        self.rearm(now, view, source, settings);
    }

    /// How long the answer to a NACK takes, with all that is missing sent again.
    fn pause(&self, view: &View, source: Source, settings: &Settings) -> Ticks {
        if settings.ld_policy == 0 {
            return settings.ld_fixed as u64;
        }
        let way = (self.rtt + source.skew).max(source.answer + source.skew / 2);
        way as u64 + self.spread(view) + settings.guard as u64
    }

    /// How long the sender takes for what is missing.
    fn spread(&self, view: &View) -> Ticks {
        (view.left as u64 * self.gap as u64) >> 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tessera_abi::wire::MessageId;

    const SOURCE: Source = Source { skew: 64, answer: 160 };

    fn packet(index: u32, timestamp: u32) -> DataHeader {
        DataHeader {
            probe: false,
            flags: 0,
            ev: 0,
            payload_log2: 8,
            traffic_class: 0,
            message: MessageId::new(0, 0),
            index,
            initial_window: 16,
            length: 1 << 20,
            tag: 0,
            rkey: 0,
            immediate: 0,
            round: 0,
            rtt: 0,
            timestamp,
        }
    }

    //= RC-4 test
    #[test]
    fn gap_follows_the_sender_and_ignores_odd_steps() {
        let settings = Settings::default();
        let mut interval = Interval::new(0, &settings);
        for i in 0..200u32 {
            interval.sample(i as u64 * 2, &packet(i, (u32::MAX - 100).wrapping_add(i * 2)));
        }
        assert!((32..=39).contains(&interval.gap), "{}", interval.gap);
        let before = interval.gap;
        interval.sample(1000, &packet(202, 5000));
        assert_eq!(interval.gap, before, "a step of three is no sample");
    }

    //= RC-4 test
    #[test]
    fn gap_grows_from_next_to_nothing() {
        for gap0 in [1, 2, 3] {
            let mut interval = Interval::new(0, &Settings { gap0, ..Settings::default() });
            for i in 0..60u32 {
                interval.sample(i as u64 * 4, &packet(i, i * 4));
            }
            assert_eq!(interval.gap, 64);
        }
    }

    //= RC-5 test
    #[test]
    fn skew_rises_at_once_and_falls_slowly() {
        let settings = Settings::default();
        let mut table = SourceTable::new(&settings);
        for _ in 0..127 {
            table.late(3, 200, &settings);
        }
        assert_eq!(table.of(3).skew, 200);
        table.late(3, 0, &settings);
        assert_eq!(table.of(3).skew, 199, "200 less a 1024th");
        for _ in 0..710 {
            table.late(3, 0, &settings);
        }
        assert!((98..=102).contains(&table.of(3).skew), "half of it after 1024 ln 2 samples");
        table.late(3, 9_999_999, &settings);
        assert_eq!(table.of(3).skew, settings.skew_max);
        assert_eq!(table.of(4).skew, settings.skew0);
    }

    //= RC-5 test
    #[test]
    fn the_skew_of_a_source_never_seen_is_soon_forgotten() {
        let settings = Settings { skew0: 160, ..Settings::default() };
        let mut table = SourceTable::new(&settings);
        table.late(3, 10, &settings);
        assert_eq!(table.of(3).skew, 157, "160 less a 64th of 150");
        for _ in 1..127 {
            table.late(3, 10, &settings);
        }
        let known = table.of(3).skew;
        assert!((28..=32).contains(&known), "{known}: e^-2 of the 150 is left after 127 samples");
        table.late(3, 10, &settings);
        assert!(known - table.of(3).skew <= 1, "a 1024th from now on");
    }

    //= RC-10 test
    #[test]
    fn the_time_of_an_answer_is_measured_between_one_nack_and_a_retransmission() {
        let settings = Settings::default();
        let mut table = SourceTable::new(&settings);
        assert_eq!(table.of(5).answer, settings.answer0);
        table.answered(5, Answered::After(80), &settings);
        assert_eq!(table.of(5).answer, settings.answer0 - (settings.answer0 - 80) / 8);
        table.answered(5, Answered::After(700), &settings);
        assert_eq!(table.of(5).answer, 700);
        table.answered(5, Answered::Again, &settings);
        assert_eq!(table.of(5).answer, settings.rto, "never beyond the sender's own backstop");
        let source = Source { skew: 64, answer: 160 };
        let mut interval = Interval::new(0, &settings);
        let view = View { cumulative: 3, highest: 16, grant: 16, left: 1, halvings: 0 };
        interval.rearm(0, &view, source, &settings);
        assert_eq!(interval.answered(50, 3, true), None, "nobody asked");
        interval.nacked(100, &view, 16, source, &settings);
        assert_eq!(interval.answered(250, 3, true), Some(Answered::After(150)));
        assert_eq!(interval.answered(250, 16, true), None, "beyond the NACK's limit");
        assert_eq!(interval.answered(250, 2, false), Some(Answered::Again));
        interval.nacked(400, &view, 16, source, &settings);
        assert_eq!(interval.answered(450, 3, true), None, "which of the two it answers is not known");
    }

    //= RD-4 test
    #[test]
    fn a_round_that_nears_its_end_pulls_its_stragglers_in() {
        let mut settings = Settings { d_min: 20, ..Settings::default() };
        let interval = Interval::new(0, &settings);
        let mut view = View { cumulative: 3, highest: 16, grant: 200, left: 10, halvings: 0 };
        let whole = 10 * settings.gap0 as u64 / 16 + 64;
        assert_eq!(interval.interval(&view, SOURCE, &settings), whole);
        view.halvings = 2;
        assert_eq!(interval.interval(&view, SOURCE, &settings), 64 + ((whole - 64) >> 2));
        view.halvings = 15;
        assert_eq!(interval.interval(&view, SOURCE, &settings), 64, "the paths differ by so much");
        let near = Source { skew: 5, ..SOURCE };
        assert_eq!(interval.interval(&view, near, &settings), 20);
        settings.ld_policy = 1;
        assert_eq!(interval.interval(&view, SOURCE, &settings), whole);
    }

    //= LD-8 test
    #[test]
    fn a_fixed_interval_looks_at_nothing() {
        let settings = Settings { ld_policy: 0, ld_fixed: 777, ..Settings::default() };
        let mut interval = Interval::new(0, &settings);
        let view = View { cumulative: 3, highest: 16, grant: 200, left: 197, halvings: 0 };
        interval.rearm(10, &view, SOURCE, &settings);
        assert_eq!(interval.deadline(), Some(787));
        interval.nacked(800, &view, 16, SOURCE, &settings);
        assert_eq!(interval.deadline(), Some(1577));
    }

    //= LD-2 test
    //= LD-4 test
    #[test]
    fn a_tail_is_over_a_skew_after_it_was_seen() {
        let settings = Settings::default();
        let tail = Interval::tail(SOURCE, &settings);
        let mut interval = Interval::new(0, &settings);
        let early = View { cumulative: 3, highest: 12, grant: 16, left: 5, halvings: 0 };
        interval.rearm(100, &early, SOURCE, &settings);
        assert!(interval.deadline() > Some(100 + tail));
        let seen = View { highest: 16, left: 3, ..early };
        interval.rearm(130, &seen, SOURCE, &settings);
        assert_eq!(interval.deadline(), Some(130 + tail), "what came with it, not with the hole");
        // Stragglers do not move it.
        let fewer = View { left: 1, ..seen };
        interval.heard(130 + tail - 1, 0, &settings);
        interval.rearm(130 + tail - 1, &fewer, SOURCE, &settings);
        assert_eq!(interval.deadline(), Some(130 + tail));
        assert_eq!(
            interval.clone().expire(130 + tail - 1, &fewer, SOURCE, &settings).limit,
            0,
            "nothing is known to be late yet"
        );
        let ask = interval.expire(130 + tail, &fewer, SOURCE, &settings);
        assert_eq!(ask, Ask { limit: 16, wide: true });
    }

    //= LD-2 test
    //= LD-4 test
    #[test]
    fn the_tail_of_a_round_waits_as_any_other() {
        let settings = Settings::default();
        let tail = Interval::tail(SOURCE, &settings);
        let mut interval = Interval::new(0, &settings);
        let view = View { cumulative: 3, highest: 12, grant: 16, left: 5, halvings: 9 };
        interval.rearm(100, &view, SOURCE, &settings);
        let seen = View { highest: 16, left: 1, ..view };
        interval.heard(130, 0, &settings);
        interval.rearm(130, &seen, SOURCE, &settings);
        assert_eq!(interval.deadline(), Some(130 + tail));
        assert_eq!(interval.clone().expire(131, &seen, SOURCE, &settings).limit, 0);
    }

    //= LD-5 test
    #[test]
    fn nacks_of_a_stuck_hole_back_off() {
        let settings = Settings::default();
        let mut interval = Interval::new(0, &settings);
        let view = View { cumulative: 3, highest: 16, grant: 16, left: 1, halvings: 0 };
        interval.rearm(0, &view, SOURCE, &settings);
        let mut last = interval.deadline().unwrap();
        let mut waits = vec![];
        for _ in 0..12 {
            let ask = interval.expire(last, &view, SOURCE, &settings);
            assert_eq!(ask, Ask { limit: 16, wide: true });
            interval.nacked(last, &view, 16, SOURCE, &settings);
            let next = interval.deadline().unwrap();
            waits.push(next - last);
            last = next;
        }
        assert_eq!(waits, [248, 248, 496, 496, 992, 992, 1984, 1984, 3968, 3968, 7936, 7936]);
        // The hole is filled: the next one waits for one answer, not for all the doublings.
        let view = View { cumulative: 8, highest: 16, grant: 16, left: 1, halvings: 0 };
        interval.rearm(last - 7000, &view, SOURCE, &settings);
        assert_eq!(interval.deadline(), Some(last - 7000 + 248));
        interval.rearm(last - 6900, &view, SOURCE, &settings);
        assert_eq!(interval.deadline(), Some(last - 7000 + 248));
    }

    //= LD-5 test
    #[test]
    fn every_advance_cuts_the_hold_to_what_is_left() {
        let settings = Settings::default();
        let mut interval = Interval::new(0, &settings);
        let missing = |cumulative, left| View { cumulative, highest: 32, grant: 32, left, halvings: 0 };
        interval.nacked(1000, &missing(3, 20), 32, SOURCE, &settings);
        let mut held = interval.deadline().unwrap();
        for (cumulative, left) in [(4, 19), (9, 10), (16, 1)] {
            interval.rearm(1000, &missing(cumulative, left), SOURCE, &settings);
            let hold = interval.deadline().unwrap();
            assert!(hold < held, "{left} are left: {hold}, {held} before");
            held = hold;
        }
        interval.rearm(1000, &missing(16, 0), SOURCE, &settings);
        assert_eq!(interval.deadline(), Some(held), "nothing came that was waited for");
    }

    //= RC-9 test
    #[test]
    fn a_probe_of_what_is_here_changes_nothing() {
        let settings = Settings::default();
        let mut interval = Interval::new(0, &settings);
        let view = View { cumulative: 8, highest: 8, grant: 16, left: 8, halvings: 0 };
        for _ in 0..6 {
            interval.nacked(1000, &view, 16, SOURCE, &settings);
        }
        let held = interval.deadline();
        assert_eq!(interval.probe_within(1240, 8, &view, SOURCE, &settings, 0), None);
        interval.rearm(1240, &view, SOURCE, &settings);
        assert_eq!(interval.deadline(), held);
        // One that speaks of more does, until that has come.
        interval.probe(1240, 12, &view, SOURCE, &settings);
        interval.rearm(1240, &view, SOURCE, &settings);
        assert_eq!(interval.deadline(), Some(1240 + Interval::tail(SOURCE, &settings)));
        let view = View { cumulative: 16, highest: 16, grant: 24, left: 8, halvings: 0 };
        interval.rearm(1250, &view, SOURCE, &settings);
        assert_eq!(interval.deadline(), interval.rule(&view, SOURCE, &settings));
    }

    //= RC-9 test
    #[test]
    fn a_probe_ends_the_wait_for_an_answer_that_is_due() {
        let settings = Settings::default();
        let view = View { cumulative: 3, highest: 16, grant: 16, left: 1, halvings: 0 };
        let way = u64::from(settings.rtt_default + SOURCE.skew + settings.guard);
        let tail = Interval::tail(SOURCE, &settings);
        let probed = |since: u64, margin: u64| {
            let mut interval = Interval::new(0, &settings);
            for _ in 0..6 {
                interval.nacked(1000, &view, 16, SOURCE, &settings);
            }
            let held = interval.deadline();
            let now = 1000 + since;
            let may = interval.probe_within(now, 16, &view, SOURCE, &settings, margin);
            interval.rearm(now, &view, SOURCE, &settings);
            let fell = interval.deadline() == Some(now + tail);
            assert!(fell || interval.deadline() == held);
            assert!(may.is_none_or(|due| due == now + tail));
            (fell, may.is_some())
        };
        assert_eq!(probed(way - 1, 0), (false, false));
        assert_eq!(probed(way, 0), (true, true));
        // Known to ten ticks only, it may have been either.
        assert_eq!(probed(way - 11, 10), (false, false));
        assert_eq!(probed(way - 10, 10), (false, true));
        assert_eq!(probed(way + 9, 10), (false, true));
        assert_eq!(probed(way + 10, 10), (true, true));
    }
}
