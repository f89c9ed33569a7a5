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
}

impl View {
    fn tail_seen(&self) -> bool {
        self.highest == self.grant
    }
}

/// Path skew per source hash.
#[derive(Clone, Debug)]
pub struct SkewTable([u32; 256]);

impl SkewTable {
    /// Every source starts at `SKEW0`.
    pub fn new(settings: &Settings) -> Self {
        Self([settings.skew0; 256])
    }

    /// XOR of the GID's bytes.
    pub fn hash(gid: &[u8; 16]) -> u8 {
        gid.iter().fold(0, |hash, byte| hash ^ byte)
    }

    /// The skew of a source, ticks.
    pub fn of(&self, hash: u8) -> u32 {
        self.0[hash as usize]
    }

    /// Takes a sample: up at once, down slowly.
    //= RC-5
    pub fn sample(&mut self, hash: u8, sample: u32, settings: &Settings) {
        let skew = &mut self.0[hash as usize];
        if sample >= *skew {
            *skew = sample.min(settings.skew_max);
        } else {
            *skew -= (*skew - sample) >> 6;
        }
    }
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
    nack_hole: u32,
    nack_limit: u32,
    hold: Ticks,
    backoff: u32,
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
            probe_limit: 0,
            probe_due: None,
            rtt: settings.rtt_default,
            deadline: None,
        }
    }

    /// Any packet of the context.
    //= RC-3
    //= LD-5
    pub fn heard(&mut self, now: Ticks, rtt: u16, settings: &Settings) {
        self.last_heard = now;
        self.rtt = if rtt == 0 { settings.rtt_default } else { rtt as u32 };
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
                    let gap = self.gap as i64 + ((sample - self.gap as i64) >> 3);
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

    /// A PROBE of `index`, its effect on what may be asked for.
    //= RC-9
    pub fn probe(&mut self, now: Ticks, index: u32, grant: u32, skew: u32, settings: &Settings) {
        self.probe_limit = self.probe_limit.max(index.min(grant));
        let due = now + skew as u64 + settings.guard as u64;
        self.probe_due = Some(self.probe_due.map_or(due, |old| old.min(due)));
        //= LD-5
        self.hold = self.hold.min(due);
    }

    /// Length of the loss-detection interval for `view`, without GUARD.
    pub fn interval(&self, view: &View, skew: u32, settings: &Settings) -> Ticks {
        let whole = self.spread(view) + skew as u64;
        whole.max(settings.d_min as u64)
    }

    fn shift_marks(&mut self, now: Ticks, highest: u32, skew: u32, settings: &Settings) {
        if now - self.mark_time >= skew as u64 + settings.guard as u64 {
            self.recent = self.mark;
            self.mark = highest;
            self.mark_time = now;
        }
    }

    /// The deadline rule LD-2 or LD-3 gives for `view`, before hold and PROBE.
    pub fn rule(&self, view: &View, skew: u32, settings: &Settings) -> Option<Ticks> {
        let tail = skew as u64 + settings.guard as u64;
        if view.cumulative == view.grant {
            //= LD-1
            None
        } else if view.cumulative < view.highest {
            //= LD-2
            let deadline = self.hole_time + self.interval(view, skew, settings);
            let tail_deadline = self.hole_time + tail;
            Some(if view.tail_seen() { deadline.min(tail_deadline) } else { deadline })
        } else {
            //= LD-3
            Some(self.last_heard + self.interval(view, skew, settings) + settings.guard as u64)
        }
    }

    /// Recomputes the deadline after anything changed.
    pub fn rearm(&mut self, now: Ticks, view: &View, skew: u32, settings: &Settings) {
        self.shift_marks(now, view.highest, skew, settings);
        let hole = (view.cumulative < view.highest).then_some(view.cumulative);
        if hole != self.hole {
            self.hole = hole;
            self.hole_time = now;
        }
        //= LD-5
        if view.cumulative > self.nack_hole && self.backoff > 0 {
            self.backoff = 0;
            self.hold = self.hold.min(now + self.pause(view, skew, settings));
        }
        self.deadline = self.rule(view, skew, settings).map(|deadline| {
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
    pub fn expire(&mut self, now: Ticks, view: &View, skew: u32, settings: &Settings) -> Ask {
        self.shift_marks(now, view.highest, skew, settings);
        self.probe_due = None;
        let silent_for = self.interval(view, skew, settings) + settings.guard as u64;
        let silence = view.cumulative == view.highest || now - self.last_heard >= silent_for;
        if view.tail_seen() || silence {
            Ask { limit: view.grant, wide: true }
        } else if self.probe_pending(view) {
            Ask { limit: self.probe_limit.max(self.recent).min(view.grant), wide: true }
        } else {
            Ask { limit: self.recent.min(view.grant), wide: false }
        }
    }

    /// No NACK came out of an expiry.
    pub fn postpone(&mut self, now: Ticks, skew: u32, settings: &Settings) {
        self.deadline = Some(now + skew as u64 + settings.guard as u64);
    }

    /// NACKs went out; `limit` is the largest of them.
    //= LD-5
    pub fn nacked(&mut self, now: Ticks, view: &View, limit: u32, skew: u32, settings: &Settings) {
        self.nack_hole = view.cumulative;
        self.nack_limit = limit;
        self.hold = now + (self.pause(view, skew, settings) << (self.backoff / 2));
        self.backoff = (self.backoff + 1).min(BACKOFF_MAX);
        self.rearm(now, view, skew, settings);
    }

    /// How long the answer to a NACK takes, with all that is missing sent again.
    fn pause(&self, view: &View, skew: u32, settings: &Settings) -> Ticks {
        self.rtt as u64 + self.spread(view) + skew as u64 + settings.guard as u64
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

    //= RC-5 test
    #[test]
    fn skew_rises_at_once_and_falls_slowly() {
        let settings = Settings::default();
        let mut table = SkewTable::new(&settings);
        table.sample(3, 200, &settings);
        assert_eq!(table.of(3), 200);
        table.sample(3, 0, &settings);
        assert_eq!(table.of(3), 197);
        table.sample(3, 9999, &settings);
        assert_eq!(table.of(3), settings.skew_max);
        assert_eq!(table.of(4), settings.skew0);
    }

    //= LD-5 test
    #[test]
    fn nacks_of_a_stuck_hole_back_off() {
        let settings = Settings::default();
        let mut interval = Interval::new(0, &settings);
        let view = View { cumulative: 3, highest: 16, grant: 16, left: 1 };
        interval.rearm(0, &view, 64, &settings);
        let mut last = interval.deadline().unwrap();
        let mut waits = vec![];
        for _ in 0..12 {
            let ask = interval.expire(last, &view, 64, &settings);
            assert_eq!(ask, Ask { limit: 16, wide: true });
            interval.nacked(last, &view, 16, 64, &settings);
            let next = interval.deadline().unwrap();
            waits.push(next - last);
            last = next;
        }
        assert_eq!(waits, [248, 248, 496, 496, 992, 992, 1984, 1984, 3968, 3968, 7936, 7936]);
        // The hole is filled: the next one waits for one answer, not for all the doublings.
        let view = View { cumulative: 8, highest: 16, grant: 16, left: 1 };
        interval.rearm(last - 7000, &view, 64, &settings);
        assert_eq!(interval.deadline(), Some(last - 7000 + 248));
        interval.rearm(last - 6900, &view, 64, &settings);
        assert_eq!(interval.deadline(), Some(last - 7000 + 248));
    }
}
