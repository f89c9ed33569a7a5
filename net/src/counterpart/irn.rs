//! Selective repeat as IRN describes it.
//!
//! ```text
//!   una . . # . # # . . next ........ end      # = acknowledged selectively
//!       └ holes below the highest # are lost; at most the window from una on
//! ```
//!
//! Rules (R. Mittal et al., *Revisiting Network Support for RDMA*, SIGCOMM
//! 2018, section 3):
//!
//! - the receiver keeps what comes out of order and answers each such packet
//!   with a NACK: the PSN expected and the one that came; what comes in order
//!   it acknowledges cumulatively, each packet;
//! - a NACK or a timeout starts recovery. There the sender first repeats the
//!   PSN expected; after that a packet counts as lost only when a higher one
//!   has been acknowledged selectively. Each is repeated once per recovery;
//!   with none left, new packets follow;
//! - after a timeout all that was sent before it and is not acknowledged counts
//!   as lost. The paper repeats the PSN expected alone, so that of a tail whose
//!   every packet is lost one goes per timeout: here it is not held to that;
//! - recovery ends when all sent before it began is acknowledged cumulatively.
//!   A repeated packet that is lost again is left to the timeout;
//! - the timeout is short (RTO_low) while at most three packets are in
//!   flight, long (RTO_high) otherwise;
//! - at most a bandwidth-delay product is in flight (BDP-FC): one and a half here;
//! - messages end in order (section 5.3: their completions are held back).
//!
//! Control: BDP-FC alone as in the paper's main figures, or DCQCN within it as in its
//! section 4.4. Paths: one per connection; sprayed, every gap is taken for a loss.

use super::go_back_n::CONTEXT;
use super::qp_cache::QpCache;
use super::spread::Balance;
use super::window::{Bits, Window};
use super::{Answer, Data, Heard, Host, Options, OptionsError, Parts, Pick};
use super::{Recovery, Reply, Responder, Setup, Taken, Wire};
use crate::congestion::Control;
use crate::Ps;

/// Packets in flight that are few, see RTO_low.
const FEW: u32 = 3;

/// A host that speaks it.
pub type Irn = Host<Sender, Receiver, Control, Balance>;

/// Host `number`.
///
/// # Errors
/// If the options make no sense.
pub fn host(number: u32, options: &Options) -> Result<Irn, OptionsError> {
    let window = options.window(0)?;
    let parts = Parts {
        recovery: Sender::new(options.timeouts),
        responder: Receiver::default(),
        congestion: options.control(window),
        spread: options.balance,
    };
    let wire = Wire { placed: true, answer: 4 };
    // Five bitmaps of a window each beside RC's context: section 6.1 of the paper.
    let context = CONTEXT + 5 * window.div_ceil(8);
    let setup = Setup { wire, cnp_every: None, context, seed: options.seed };
    Ok(Host::new(number, setup, parts, options.cache.map(QpCache::new)))
}

/// Recovery under way.
#[derive(Clone, Copy, Debug)]
struct Repair {
    /// Ends once all below is acknowledged.
    until: u32,
    /// Everything below has been repeated or is not lost.
    looked: u32,
    /// Everything below counts as lost unless acknowledged, and above that
    /// what is below one acknowledged selectively.
    gone: u32,
}

/// Sends. See the module's page.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// Low, high.
    timeouts: [Ps; 2],
    next: u32,
    end: u32,
    /// What is acknowledged.
    kept: Window,
    repair: Option<Repair>,
    since: Ps,
}

impl Sender {
    /// A connection that has sent nothing, with a low and a high timeout.
    pub fn new(timeouts: [Ps; 2]) -> Self {
        Self { timeouts, next: 0, end: 0, kept: Window::default(), repair: None, since: 0 }
    }

    /// Begins recovery anew, with all below `gone` lost.
    fn repair(&mut self, now: Ps, gone: u32) {
        self.repair = Some(Repair { until: self.next, looked: self.acknowledged(), gone });
        self.since = now;
    }

    /// The next packet that recovery repeats.
    #[inline]
    fn lost(&mut self) -> Option<u32> {
        let repair = self.repair.as_mut()?;
        let end = repair.gone.max(self.kept.end());
        let hole = self.kept.next_clear(repair.looked, end);
        repair.looked = hole.map_or(end.max(repair.looked), |psn| psn + 1);
        hole
    }
}

impl Recovery for Sender {
    fn offer(&mut self, packets: u32) {
        self.end += packets;
    }

    #[inline]
    fn next(&mut self, now: Ps, window: u32) -> Option<Pick> {
        if let Some(psn) = self.lost() {
            return Some(Pick { psn, again: true });
        }
        let una = self.acknowledged();
        if self.next >= self.end || self.next - una >= window {
            return None;
        }
        if self.next == una {
            self.since = now;
        }
        let psn = self.next;
        self.next += 1;
        Some(Pick { psn, again: false })
    }

    fn heard(&mut self, now: Ps, reply: &Reply) -> Heard {
        let Answer { expected, nak, came, .. } = reply.answer;
        let before = self.acknowledged();
        if expected > self.next {
            return Heard::default();
        }
        let mut heard = Heard::default();
        if expected > before {
            self.kept.advance(expected);
            self.since = now;
            heard.packets = self.acknowledged() - before;
        }
        let una = self.acknowledged();
        if self.repair.is_some_and(|repair| una >= repair.until) {
            self.repair = None;
        }
        if nak && came > una && came < self.next {
            self.kept.set(came);
            if self.repair.is_none() {
                self.repair(now, una + 1);
                heard.lost = true;
            }
        }
        heard
    }

    fn deadline(&self) -> Option<Ps> {
        let flight = self.next - self.acknowledged();
        let [low, high] = self.timeouts;
        let timeout = if flight <= FEW { low } else { high };
        (flight > 0).then_some(self.since + timeout)
    }

    fn expire(&mut self, now: Ps) -> bool {
        self.repair(now, self.next);
        true
    }

    #[inline]
    fn acknowledged(&self) -> u32 {
        self.kept.base()
    }
}

/// Receives. See the module's page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Receiver {
    kept: Window,
}

impl Responder for Receiver {
    const IN_ORDER: bool = true;

    #[inline]
    fn arrived(&mut self, _now: Ps, data: &Data) -> Taken {
        let nak = data.psn > self.kept.base();
        let fresh = self.kept.set(data.psn);
        let expected = self.kept.base();
        Taken { fresh, answer: Some(Answer { expected, nak, came: data.psn, bits: Bits::default() }) }
    }

    fn expected(&self) -> u32 {
        self.kept.base()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, data, nak};
    use super::*;

    fn sent(sender: &mut Sender, now: Ps) -> Vec<(u32, bool)> {
        std::iter::from_fn(|| sender.next(now, 10)).map(|pick| (pick.psn, pick.again)).collect()
    }

    fn sender(packets: u32) -> Sender {
        let mut sender = Sender::new([100, 1000]);
        sender.offer(packets);
        assert_eq!(sent(&mut sender, 0).len() as u32, packets.min(10));
        sender
    }

    #[test]
    fn only_holes_are_sent_again() {
        let mut sender = sender(30);
        // 2 and 5 are lost.
        sender.heard(10, &ack(2));
        assert!(sender.heard(10, &nak(2, 3)).lost);
        assert!(!sender.heard(10, &nak(2, 4)).lost, "of the same recovery");
        assert_eq!(sent(&mut sender, 10), [(2, true), (10, false), (11, false)]);
        for kept in [6, 7, 8, 9] {
            sender.heard(20, &nak(2, kept));
        }
        assert_eq!(sent(&mut sender, 20), [(5, true)]);
        // Nothing is repeated twice within one recovery.
        sender.heard(25, &nak(2, 10));
        assert_eq!(sent(&mut sender, 25), []);
        sender.heard(30, &ack(5));
        assert_eq!(sent(&mut sender, 30), [(12, false), (13, false), (14, false)]);
        sender.heard(40, &ack(11));
        assert!(sent(&mut sender, 40).iter().all(|&(psn, again)| psn > 14 && !again));
        assert!(sender.repair.is_none_or(|repair| repair.until > 12), "all of before has come");
    }

    #[test]
    fn a_repeated_packet_lost_again_waits_for_the_long_timeout() {
        let mut sender = sender(10);
        sender.heard(10, &nak(0, 1));
        assert_eq!(sent(&mut sender, 10), [(0, true)]);
        for kept in 2..10 {
            sender.heard(20, &nak(0, kept));
        }
        assert_eq!(sent(&mut sender, 20), []);
        assert_eq!(sender.deadline(), Some(1010));
        assert!(sender.expire(1010));
        assert_eq!(sent(&mut sender, 1010), [(0, true)]);
        sender.heard(1020, &ack(10));
        assert_eq!(sender.deadline(), None);
    }

    #[test]
    fn few_in_flight_have_the_short_timeout() {
        let mut sender = sender(4);
        assert_eq!(sender.deadline(), Some(1000));
        sender.heard(50, &ack(1));
        assert_eq!(sender.deadline(), Some(150));
        sender.expire(150);
        assert_eq!(sent(&mut sender, 150), [(1, true), (2, true), (3, true)]);
    }

    #[test]
    fn after_a_timeout_all_sent_before_it_is_lost_until_acknowledged() {
        let mut sender = sender(12);
        sender.heard(10, &ack(4));
        assert_eq!(sent(&mut sender, 10), [(10, false), (11, false)]);
        sender.expire(1010);
        assert_eq!(sender.next(1010, 10), Some(Pick { psn: 4, again: true }));
        assert_eq!(sender.next(1016, 10), Some(Pick { psn: 5, again: true }));
        // 6 and 7 had come, 9 has too: none of them goes again.
        sender.heard(1020, &ack(8));
        sender.heard(1021, &nak(8, 9));
        assert_eq!(sent(&mut sender, 1022), [(8, true), (10, true), (11, true)]);
        sender.heard(1030, &ack(11));
        assert_eq!(sent(&mut sender, 1030), [], "each once");
        sender.heard(1031, &ack(12));
        assert!(sender.repair.is_none());
    }

    #[test]
    fn a_nack_repeats_the_expected_packet_and_holes_only() {
        let mut sender = sender(10);
        sender.heard(10, &nak(0, 3));
        assert_eq!(sent(&mut sender, 10), [(0, true), (1, true), (2, true)]);
        // What is acknowledged in part says nothing of those above the highest.
        sender.heard(20, &ack(4));
        assert_eq!(sent(&mut sender, 20), []);
    }

    #[test]
    fn what_comes_out_of_order_is_kept_and_named() {
        let mut receiver = Receiver::default();
        let mut take = |psn| {
            let taken = receiver.arrived(0, &data(psn, false));
            (taken.fresh, taken.answer.map(|answer| (answer.expected, answer.nak)))
        };
        assert_eq!(take(1), (true, Some((0, true))));
        assert_eq!(take(3), (true, Some((0, true))));
        assert_eq!(take(3), (false, Some((0, true))));
        assert_eq!(take(0), (true, Some((2, false))));
        assert_eq!(take(0), (false, Some((2, false))));
        assert_eq!(take(2), (true, Some((4, false))));
    }
}
