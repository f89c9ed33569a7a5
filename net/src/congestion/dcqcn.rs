//! DCQCN: the receiver of marked packets tells the sender, which halves its rate at
//! most, then finds back in three stages.
//!
//! ```text
//!   CNP: target = rate; rate -= rate * alpha / 2; alpha grows
//!   rate   ──╲      ___---- fast recovery: half way to target each time
//!             ╲__/‾‾        then target += ai, once both clock and bytes are
//!                           past that: target += hai
//! ```
//!
//! Rules: Y. Zhu et al., *Congestion Control for Large-Scale RDMA Deployments*,
//! SIGCOMM 2015, section 3.1 and figure 7. Numbers: HPCC's simulator, whose authors
//! took them from production and scale them with the rate
//! (alibaba-edu/High-Precision-Congestion-Control, `simulation/run.py`,
//! `dcqcn_paper`): alpha decays every 50 us, the rate falls at most every 50 and
//! rises every 55, g = 1/256, one step of fast recovery, increases of 5 and 50 Mb/s
//! per 25 Gb/s of line rate, least rate 1 Gb/s; cuts in a row come back to where the
//! first began (its `CLAMP_TARGET_RATE 0`). Marks begin there at 100 KB per 25 Gb/s
//! of a port's rate and are one in five at four times that.
//!
//! What is left open and favours it: that file's other clocks (1, 4 and 300 us) took
//! up to twice as long for an incast and for a permutation here; a cap of bytes in
//! flight, as in its `dcqcn_paper_vwin` but no smaller at low rates; marks on answers
//! count like a CNP.

use super::{Congestion, Sample};
use crate::Ps;

/// How fast alpha follows the marks.
const GAIN: f64 = 1.0 / 256.0;
const ALPHA_PERIOD: Ps = 50_000_000;
const DECREASE_PERIOD: Ps = 50_000_000;
const INCREASE_PERIOD: Ps = 55_000_000;
/// Bytes of a stage: 10 MB in section 5.2 of the paper.
const INCREASE_BYTES: u64 = 10_000_000;
const FAST_RECOVERY: u32 = 1;
/// Least rate, Gb/s.
const LEAST: f64 = 1.0;
/// Alpha that is none: nothing is left to catch up with.
const NO_ALPHA: f64 = 1e-4;

/// See the module's page. Rates are in Gb/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dcqcn {
    line: f64,
    rate: f64,
    target: f64,
    alpha: f64,
    window: u32,
    /// When alpha was last brought up to date, and the last cut and step by time.
    alpha_at: Ps,
    cut_at: Ps,
    step_at: Ps,
    /// Sent since the last step by bytes.
    bytes: u64,
    /// Steps since the last cut: by time, by bytes.
    steps: [u32; 2],
}

impl Dcqcn {
    /// A connection on a link of so many Gb/s, with at most `window` packets in flight.
    pub fn new(gbps: u32, window: u32) -> Self {
        let line = gbps as f64;
        Self {
            line,
            rate: line,
            target: line,
            alpha: 1.0,
            window: window.max(1),
            alpha_at: 0,
            cut_at: 0,
            step_at: 0,
            bytes: 0,
            steps: [0; 2],
        }
    }

    /// Gb/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    fn is_cut(&self) -> bool {
        self.rate < self.line
    }

    /// Does what the clocks would have done by now.
    fn catch_up(&mut self, now: Ps) {
        let decays = (now - self.alpha_at.min(now)) / ALPHA_PERIOD;
        self.alpha_at += decays * ALPHA_PERIOD;
        // Alpha is 1 until the first mark.
        if self.alpha > NO_ALPHA && self.cut_at > 0 {
            self.alpha *= (1.0 - GAIN).powi(decays.min(1 << 20) as i32);
        }
        while self.is_cut() && now >= self.step_at + INCREASE_PERIOD {
            self.step_at += INCREASE_PERIOD;
            self.step(0);
        }
    }

    /// A step up, by the clock (0) or by bytes (1).
    fn step(&mut self, cause: usize) {
        self.steps[cause] += 1;
        let [time, bytes] = self.steps;
        let scale = self.line / 25.0;
        if time.min(bytes) > FAST_RECOVERY {
            self.target += 0.05 * scale;
        } else if time.max(bytes) > FAST_RECOVERY {
            self.target += 0.005 * scale;
        }
        self.target = self.target.min(self.line);
        self.rate = (self.rate + self.target) / 2.0;
        // Half way for ever: within a thousandth it is there.
        if self.rate > self.line * 0.999 {
            self.rate = self.line;
        }
    }
}

impl Congestion for Dcqcn {
    fn on_sent(&mut self, now: Ps, bytes: u32) {
        if !self.is_cut() {
            return;
        }
        self.catch_up(now);
        self.bytes += bytes as u64;
        if self.bytes >= INCREASE_BYTES {
            self.bytes -= INCREASE_BYTES;
            self.step(1);
        }
    }

    fn on_ack(&mut self, now: Ps, sample: &Sample) {
        if sample.ce {
            self.on_congested(now);
        }
    }

    fn on_congested(&mut self, now: Ps) {
        self.catch_up(now);
        if self.cut_at > 0 && now < self.cut_at + DECREASE_PERIOD {
            return;
        }
        // Cuts in a row come back to where the first began.
        if self.steps[0] > 0 || self.cut_at == 0 {
            self.target = self.rate;
        }
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(LEAST.min(self.line));
        self.alpha = (1.0 - GAIN) * self.alpha + GAIN;
        (self.cut_at, self.step_at, self.alpha_at) = (now, now, now);
        self.bytes = 0;
        self.steps = [0; 2];
    }

    fn window(&self) -> u32 {
        self.window
    }

    fn gap(&self, bytes: u32) -> Ps {
        if !self.is_cut() {
            return 0;
        }
        (bytes as f64 * 8000.0 / self.rate) as Ps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Ps = 1_000_000;

    #[test]
    fn the_first_mark_halves_and_those_soon_after_do_nothing() {
        let mut control = Dcqcn::new(400, 100);
        assert_eq!(control.gap(5000), 0);
        control.on_congested(US);
        assert!((control.rate() - 200.0).abs() < 1.0, "{}", control.rate());
        assert!(control.gap(5000).abs_diff(200_000) < 10, "40,000 bits at 200 Gb/s");
        control.on_congested(50 * US);
        assert!((control.rate() - 200.0).abs() < 1.0);
        control.on_congested(51 * US);
        assert!((control.rate() - 100.0).abs() < 1.0);
        control.on_sent(107 * US, 0);
        assert!((control.rate() - 250.0).abs() < 2.0, "half way to where it began: {}", control.rate());
    }

    #[test]
    fn it_finds_back_by_time_and_by_bytes() {
        let mut timed = Dcqcn::new(400, 100);
        timed.on_congested(US);
        timed.on_sent(57 * US, 0);
        assert!((timed.rate() - 300.0).abs() < 2.0, "half way: {}", timed.rate());
        let mut counted = Dcqcn::new(400, 100);
        counted.on_congested(US);
        for _ in 0..2000 {
            counted.on_sent(2 * US, 5000);
        }
        assert!((counted.rate() - 300.0).abs() < 2.0, "half way: {}", counted.rate());
        timed.on_sent(20_000 * US, 0);
        assert_eq!((timed.rate(), timed.gap(5000)), (400.0, 0));
    }

    #[test]
    fn alpha_decays_while_nothing_is_marked() {
        let mut control = Dcqcn::new(400, 100);
        control.on_congested(US);
        control.on_sent(90_000 * US, 0);
        control.on_congested(90_001 * US);
        assert!(control.rate() > 395.0, "a mark now and then costs little: {}", control.rate());
    }
}
