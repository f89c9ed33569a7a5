//! Several flows per connection: each packet by the one whose turn it is.
//!
//! ```text
//!   flow      0    1    2   ...      a label and a Swift window each
//!   window   40   12   38            packets in proportion: 40 : 12 : 38
//!             └ delays of its own answers
//! ```
//!
//! Falcon's multipath (A. Singhvi et al., SIGCOMM 2025; isekai's
//! `OPEN_LOOP_FCWND_WEIGHTED_ROUND_ROBIN`: open loop, so how much is under way in all is
//! the connection's window's matter). A flow that is congested for long takes another
//! label: PLB (M. Qureshi et al., SIGCOMM 2022), with isekai's numbers: five rounds in a
//! row in which more than half of the delays are above the target. A flow that lost two
//! packets without an answer in between takes another label too, which favours it where
//! links fail: isekai resends with the label of the first time. So does that flows aim
//! at a delay of one and a quarter round trips, below their connection's: what they tell
//! apart is which of them are slower.

use rand_pcg::Pcg64Mcg;

use super::spread::Spread;
use crate::congestion::swift::{Parameters, Window};
use crate::Ps;

/// Congested rounds after which a flow takes another label (`plb_attempt_threshold`).
const ROUNDS: u8 = 5;
/// Packets lost in a row after which it does.
const LOST: u8 = 2;
/// How much above the target a delay is congestion (`plb_target_rtt_multiplier`), in 1/128.
const ABOVE: Ps = 129;

#[derive(Clone, Copy, Debug)]
struct Flow {
    window: Window,
    credit: f64,
    /// Which label it has.
    version: u16,
    /// Of this round: answers, those that were late, and when it began.
    answers: u16,
    late: u16,
    round: Ps,
    congested: u8,
    /// Packets lost since the last answer.
    lost: u8,
}

impl Flow {
    fn new(parameters: &Parameters) -> Self {
        let window = Window::new(parameters);
        Self { window, credit: 0.0, version: 0, answers: 0, late: 0, round: 0, congested: 0, lost: 0 }
    }
}

/// See the module's page.
#[derive(Clone, Debug)]
pub struct Flows {
    count: u16,
    parameters: Parameters,
    /// Each made with its first packet: most connections send few.
    flows: Vec<Flow>,
    turn: usize,
    /// Largest window of the last round, and of this one so far.
    largest: f64,
    seen: f64,
}

impl Flows {
    /// So many flows, whose windows are together what `parameters` begin with.
    pub fn new(count: u16, parameters: &Parameters) -> Self {
        let count = count.max(1);
        let share = count as f64;
        let parameters = Parameters {
            first: parameters.first / share,
            most: parameters.most / share,
            increase: parameters.increase / share,
            // Their windows are small because they are many, not because they are slow.
            scaling: 0,
            base_target: parameters.round_trip * 5 / 4,
            ..*parameters
        };
        Self { count, parameters, flows: Vec::new(), turn: count as usize, largest: 0.0, seen: 0.0 }
    }

    fn relabel(&mut self, now: Ps, flow: usize) {
        let flow = &mut self.flows[flow];
        let version = (flow.version + 1) % (u16::MAX / self.count);
        *flow = Flow { version, round: now, ..Flow::new(&self.parameters) };
    }
}

impl Spread for Flows {
    #[inline]
    fn path(&mut self, _now: Ps, _rng: &mut Pcg64Mcg) -> u16 {
        // One after the other gains its share of the largest window, and goes once that
        // makes a packet.
        loop {
            self.turn += 1;
            if self.turn >= self.count as usize {
                self.turn = 0;
                self.largest = std::mem::take(&mut self.seen);
            }
            if self.turn >= self.flows.len() {
                self.flows.push(Flow::new(&self.parameters));
            }
            let flow = &mut self.flows[self.turn];
            let window = flow.window.packets();
            self.seen = self.seen.max(window);
            flow.credit += if window < self.largest { window / self.largest } else { 1.0 };
            if flow.credit >= 1.0 {
                flow.credit -= 1.0;
                return self.turn as u16 + flow.version * self.count;
            }
        }
    }

    #[inline]
    fn heard(&mut self, now: Ps, path: u16, _ce: bool, rtt: Ps) {
        let index = (path % self.count) as usize;
        let Some(flow) = self.flows.get_mut(index).filter(|flow| flow.version == path / self.count) else {
            return;
        };
        // An answer stands for those of its flow since the last one.
        flow.window.acknowledged(now, rtt, 1, &self.parameters);
        flow.lost = 0;
        flow.answers += 1;
        flow.late += u16::from(rtt > flow.window.target(&self.parameters) / 128 * ABOVE);
        if now < flow.round + flow.window.round_trip() {
            return;
        }
        flow.congested = if flow.late * 2 > flow.answers { flow.congested + 1 } else { 0 };
        (flow.answers, flow.late, flow.round) = (0, 0, now);
        if flow.congested >= ROUNDS {
            self.relabel(now, index);
        }
    }

    fn failed(&mut self, now: Ps, path: u16) {
        let index = (path % self.count) as usize;
        let Some(flow) = self.flows.get_mut(index).filter(|flow| flow.version == path / self.count) else {
            return;
        };
        flow.lost += 1;
        if flow.lost >= LOST {
            self.relabel(now, index);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const TRIP: Ps = 8_000_000;

    fn paths(flows: &mut Flows, count: usize) -> Vec<u16> {
        let mut rng = Pcg64Mcg::seed_from_u64(1);
        (0..count).map(|_| flows.path(0, &mut rng)).collect()
    }

    fn flows() -> Flows {
        Flows::new(4, &Parameters::for_network(TRIP, 96.0))
    }

    #[test]
    fn equal_flows_take_turns_and_slow_ones_get_less() {
        let mut flows = flows();
        let mut round = paths(&mut flows, 4);
        round.sort_unstable();
        assert_eq!(round, [0, 1, 2, 3]);
        for round in 1..4 {
            flows.heard(round * 100 * TRIP, 2, false, 20 * TRIP);
        }
        let drawn = paths(&mut flows, 1000);
        let of = |flow| drawn.iter().filter(|&&path| path == flow).count();
        assert!(of(2) < 80 && of(1) > 290, "{} {}", of(2), of(1));
    }

    #[test]
    fn a_flow_that_is_congested_for_long_or_loses_takes_another_label() {
        let mut flows = flows();
        paths(&mut flows, 4);
        for round in 1..=4 {
            flows.heard(round * 1000 * TRIP, 1, false, 20 * TRIP);
        }
        assert!(paths(&mut flows, 50).contains(&1));
        flows.heard(5000 * TRIP, 1, false, 20 * TRIP);
        let drawn = paths(&mut flows, 50);
        assert!(!drawn.contains(&1) && drawn.contains(&5));
        flows.heard(5001 * TRIP, 1, false, 20 * TRIP);
        flows.failed(5001 * TRIP, 1);
        flows.failed(5001 * TRIP, 1);
        assert!(paths(&mut flows, 50).contains(&5), "what the old label did is not the new one's");
        flows.failed(5001 * TRIP, 5);
        flows.heard(5002 * TRIP, 5, false, TRIP);
        flows.failed(5003 * TRIP, 5);
        assert!(paths(&mut flows, 50).contains(&5), "one in between has come");
        flows.failed(5003 * TRIP, 5);
        assert!(paths(&mut flows, 50).contains(&9));
    }

    #[test]
    fn good_rounds_in_between_keep_the_label() {
        let mut flows = flows();
        paths(&mut flows, 4);
        for round in 1..=20 {
            let rtt = if round % 5 == 0 { TRIP } else { 20 * TRIP };
            flows.heard(round * 1000 * TRIP, 1, false, rtt);
        }
        assert_eq!(flows.flows[1].version, 0);
    }
}
