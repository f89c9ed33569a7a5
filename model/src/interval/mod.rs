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

mod source;
#[cfg(test)]
mod tests;

pub use source::{Answered, Source, SourceTable};

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

/// Longest interval kept, ticks.
const TICKS_MAX: u32 = 65_535;

/// How far an expiry asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Indexes at and above are not asked for.
    pub limit: u32,
    /// Blocks behind the oldest are asked for too.
    pub wide: bool,
}

/// Loss-detection state of one context.
#[derive(Clone, Debug, Hash)]
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

    /// How far ahead of now a deadline may be set when up to `left` packets are missing,
    /// and NACKs of one hole have doubled the wait `doubled` times at most: a timer node
    /// of the context may be linked for so long, whatever arrives after that.
    pub fn reach(&self, left: u32, doubled: u32, source: Source, settings: &Settings) -> Ticks {
        let view = View { cumulative: 0, highest: 0, grant: left, left, halvings: 0 };
        let rule = self.interval(&view, source, settings) + settings.guard as u64;
        rule.max(self.pause(&view, source, settings) << doubled.max(self.backoff / 2))
    }

    /// Most often that NACKs of one hole double the wait.
    pub const DOUBLED_MAX: u32 = BACKOFF_MAX / 2;

    /// How long the sender takes for what is missing.
    fn spread(&self, view: &View) -> Ticks {
        (view.left as u64 * self.gap as u64) >> 4
    }
}
