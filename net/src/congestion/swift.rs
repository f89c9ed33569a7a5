//! Swift: a window that follows the delay of what is acknowledged.
//!
//! ```text
//!   delay <  target:  window += increase per round trip
//!   delay >= target:  window *= 1 - beta (delay - target) / delay   once per round trip,
//!                                                         at most halved
//!   target = base + flow scaling:  ^ range ┐
//!                                  │       └╮        many flows have small windows and
//!                                  │        ╰─___    are allowed longer queues
//!                                  └──────────────> window
//!                                       least   most
//! ```
//!
//! Rules: G. Kumar et al., *Swift: Delay is Simple and Effective for Congestion
//! Control in the Datacenter*, SIGCOMM 2020, section 3: algorithm 1, target delays
//! scaled by window, windows below one packet paced. One delay, of the fabric: hosts
//! here have none of their own.
//!
//! Numbers: Falcon's (falcon-transport/isekai, `rue/algorithm/swift.cc` and
//! `default_config_generator.cc`, what its authors published of it): beta 0.8, at most
//! halved, flow scaling of four times the base target from windows of 0.1 packets up to
//! the largest, reset after three timeouts in a row; losses that are found in time
//! leave the window as it is (`max_decrease_on_eack_nack_drop` is off), for delay tells
//! of congestion already. Its base target of 25 us is one of a fabric of 200 Gb/s and long
//! ways; here it is in proportion to the network: see [`Parameters::for_network`].

use super::{Congestion, Sample};
use crate::Ps;

/// Numbers of [`Swift`]. Windows are in packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Delay aimed at by the largest window.
    pub base_target: Ps,
    /// More of it for small windows, at most.
    pub scaling: Ps,
    /// Packets per round trip that a window grows by.
    pub increase: f64,
    /// How much of the excess of delay a decrease takes.
    pub beta: f64,
    /// Share of the window that one decrease takes at most.
    pub most_decrease: f64,
    /// Timeouts in a row after which the window is the least.
    pub reset_after: u32,
    /// Least window.
    pub least: f64,
    /// Largest window.
    pub most: f64,
    /// Window to begin with.
    pub first: f64,
    /// What the round trip is taken for before it is measured.
    pub round_trip: Ps,
}

impl Parameters {
    /// Parameters for a network of this round trip without queues, whose
    /// bandwidth-delay product is so many packets.
    ///
    /// Where the papers leave a choice it is made for throughput: the first window is a
    /// whole product, as a flow alone may send at line rate at once; the target
    /// leaves queues of three quarters of a round trip, as the congestion control of
    /// Ultra Ethernet does (NSCC, public brief of specification 1.0.3); the increase
    /// regains a product in 32 round trips, where 1 packet would take as many as
    /// there are packets in it.
    pub fn for_network(round_trip: Ps, product: f64) -> Self {
        let base_target = round_trip * 7 / 4;
        Self {
            base_target,
            scaling: 4 * base_target,
            increase: (product / 32.0).max(1.0),
            beta: 0.8,
            most_decrease: 0.5,
            reset_after: 3,
            least: 0.01,
            most: 2.0 * product,
            first: product,
            round_trip,
        }
    }
}

/// One window, whose numbers are kept elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    window: f64,
    /// Smoothed, for how often to decrease.
    round_trip: Ps,
    decreased: Option<Ps>,
    timeouts: u32,
}

impl Window {
    /// A window of a path of which nothing is known.
    pub fn new(parameters: &Parameters) -> Self {
        Self { window: parameters.first, round_trip: parameters.round_trip, decreased: None, timeouts: 0 }
    }

    /// Packets that may be under way: below 1, one per [`gap`](Self::gap).
    pub fn packets(&self) -> f64 {
        self.window
    }

    /// Round trip, smoothed.
    pub fn round_trip(&self) -> Ps {
        self.round_trip
    }

    /// Time between two packets that a window below one packet asks for.
    pub fn gap(&self) -> Ps {
        if self.window < 1.0 {
            (self.round_trip as f64 / self.window) as Ps
        } else {
            0
        }
    }

    /// The delay aimed at now.
    pub fn target(&self, parameters: &Parameters) -> Ps {
        // alpha / sqrt(window) + b is the whole range at 0.1 packets, nothing at the most.
        let most = 1.0 / parameters.most.max(1.0).sqrt();
        let share = (1.0 / self.window.sqrt() - most) / (1.0 / 0.1f64.sqrt() - most);
        parameters.base_target + (parameters.scaling as f64 * share.clamp(0.0, 1.0)) as Ps
    }

    /// So many packets are acknowledged, the latest of them with this delay.
    pub fn acknowledged(&mut self, now: Ps, delay: Ps, packets: u32, parameters: &Parameters) {
        let may_decrease = self.may_decrease(now);
        self.round_trip = (self.round_trip * 7 + delay) / 8;
        self.timeouts = 0;
        let target = self.target(parameters);
        if delay < target {
            let grown = parameters.increase * packets as f64;
            self.window += if self.window >= 1.0 { grown / self.window } else { grown };
            self.window = self.window.min(parameters.most);
        } else if may_decrease {
            let excess = parameters.beta * (delay - target) as f64 / delay.max(1) as f64;
            self.decrease(now, excess.min(parameters.most_decrease), parameters);
        }
    }

    /// Nothing has been heard for a timeout.
    pub fn expired(&mut self, now: Ps, parameters: &Parameters) {
        self.timeouts += 1;
        if self.timeouts >= parameters.reset_after {
            self.window = parameters.least;
            self.decreased = Some(now);
        } else if self.may_decrease(now) {
            self.decrease(now, parameters.most_decrease, parameters);
        }
    }

    fn may_decrease(&self, now: Ps) -> bool {
        self.decreased.is_none_or(|last| now >= last + self.round_trip)
    }

    fn decrease(&mut self, now: Ps, share: f64, parameters: &Parameters) {
        self.window = (self.window * (1.0 - share)).max(parameters.least);
        self.decreased = Some(now);
    }
}

/// A connection's control: see the module's page.
#[derive(Clone, Copy, Debug)]
pub struct Swift {
    parameters: Parameters,
    window: Window,
}

impl Swift {
    /// A connection that has sent nothing.
    pub fn new(parameters: Parameters) -> Self {
        Self { parameters, window: Window::new(&parameters) }
    }
}

impl Congestion for Swift {
    #[inline]
    fn on_ack(&mut self, now: Ps, sample: &Sample) {
        self.window.acknowledged(now, sample.rtt, sample.packets, &self.parameters);
    }

    fn on_loss(&mut self, now: Ps, timeout: bool) {
        if timeout {
            self.window.expired(now, &self.parameters);
        }
    }

    #[inline]
    fn window(&self) -> u32 {
        self.window.packets().max(1.0) as u32
    }

    #[inline]
    fn gap(&self, _bytes: u32) -> Ps {
        self.window.gap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: Ps = 8_000_000;

    fn parameters() -> Parameters {
        Parameters::for_network(TRIP, 96.0)
    }

    #[test]
    fn a_window_grows_by_its_increase_in_a_round_trip_of_short_delays() {
        let parameters = parameters();
        let mut swift = Window::new(&parameters);
        swift.acknowledged(TRIP, TRIP, 96, &parameters);
        assert!((swift.packets() - 99.0).abs() < 0.01, "{}", swift.packets());
        for _ in 0..100 {
            swift.acknowledged(TRIP, TRIP, 96, &parameters);
        }
        assert_eq!(swift.packets(), parameters.most);
    }

    #[test]
    fn a_window_shrinks_once_per_round_trip_in_proportion_to_the_excess() {
        let parameters = Parameters { scaling: 0, ..parameters() };
        let mut swift = Window::new(&parameters);
        let late = parameters.base_target * 5 / 4;
        swift.acknowledged(100 * TRIP, late, 1, &parameters);
        // A fifth of the delay is excess; 0.8 of that.
        assert!((swift.packets() - 96.0 * 0.84).abs() < 0.01, "{}", swift.packets());
        swift.acknowledged(100 * TRIP + 1, late, 1, &parameters);
        swift.expired(100 * TRIP + 2, &parameters);
        assert!((swift.packets() - 96.0 * 0.84).abs() < 0.01, "once");
        swift.acknowledged(103 * TRIP, 100 * TRIP, 1, &parameters);
        assert!((swift.packets() - 48.0 * 0.84).abs() < 0.01, "at most halved");
    }

    #[test]
    fn small_windows_are_allowed_more_delay() {
        let parameters = parameters();
        let mut swift = Window::new(&parameters);
        swift.window = parameters.most;
        assert_eq!(swift.target(&parameters), parameters.base_target);
        let targets: Vec<Ps> = [100.0, 10.0, 1.0, 0.1, 0.01]
            .map(|window| {
                swift.window = window;
                swift.target(&parameters)
            })
            .to_vec();
        assert!(targets.is_sorted(), "{targets:?}");
        assert_eq!(targets[3], parameters.base_target + parameters.scaling);
        assert_eq!(targets[4], targets[3]);
    }

    #[test]
    fn timeouts_in_a_row_leave_the_least_window_and_paced_packets() {
        let parameters = parameters();
        let mut swift = Window::new(&parameters);
        assert_eq!(swift.gap(), 0);
        for expiry in 1..=3 {
            swift.expired(expiry * 100 * TRIP, &parameters);
        }
        assert_eq!(swift.packets(), parameters.least);
        assert_eq!(swift.gap(), TRIP * 100);
        swift.acknowledged(400 * TRIP, TRIP, 1, &parameters);
        assert!(swift.packets() > 1.0, "one good delay lets a packet per round trip go");
    }

    #[test]
    fn a_loss_found_in_time_leaves_the_window_as_it_is() {
        let mut swift = Swift::new(parameters());
        swift.on_loss(TRIP, false);
        assert_eq!(swift.window(), 96);
        swift.on_loss(TRIP, true);
        assert_eq!((swift.window(), swift.gap(4000)), (48, 0));
    }
}
