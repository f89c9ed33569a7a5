//! Go-back-N: the reliable connection of InfiniBand and RoCEv2.
//!
//! ```text
//!   una ........ next ........ end        sent and unanswered: una .. next
//!    │ NAK(psn), timeout: next = una      at most the window of them
//! ```
//!
//! Rules (InfiniBand Architecture Specification, volume 1, release 1.4, 2020,
//! section 9.7; its cost under loss is what *Revisiting Network Support for
//! RDMA*, SIGCOMM 2018, and *MELO*, APNet 2017, start from):
//!
//! - the responder takes the packet it expects and no other;
//! - it acknowledges cumulatively: at once when asked, as the last packet of a
//!   message does, else every [`ACK_EVERY`] packets or [`ACK_AFTER`], and every
//!   duplicate;
//! - the first packet that is not the expected one draws a NAK with the
//!   expected PSN, and none further until that one has come;
//! - the requester starts over at the PSN of a NAK, and at the oldest
//!   unanswered one when nothing has been heard for a timeout.
//!
//! Control: DCQCN, told by CNPs, with a window around it; or the window alone. Paths:
//! any, but out of order is lost to these rules.
//!
//! What is left open and favours it: the window is one and a half bandwidth-delay
//! products, so that little is sent in vain behind a loss; the timeout is IRN's long
//! one, where NICs have milliseconds, and is doubled while nothing comes of it, as NICs
//! with adaptive retransmission do (NVIDIA, *Adaptive Retransmission: Parameters
//! Control*, 2025); there is no limit of retries; an answer is never held back so long that
//! a slow connection takes it for lost.

use super::qp_cache::QpCache;
use super::spread::Balance;
use super::window::Bits;
use super::{Answer, Data, Heard, Host, Options, OptionsError, Parts, Pick};
use super::{Recovery, Reply, Responder, Setup, Taken, Wire};
use crate::congestion::Control;
use crate::Ps;

/// Packets in order per acknowledgement that was not asked for.
pub const ACK_EVERY: u32 = 16;
/// An arrival so long after the last answer draws one.
pub const ACK_AFTER: Ps = 8_000_000;
/// Doublings of the timeout at most.
const DOUBLINGS: u32 = 5;
/// Bytes of a queue pair's context: RoCE in table 2 of OptiNIC, arXiv 2512.22743.
pub(super) const CONTEXT: u32 = 407;
/// At most a CNP per connection in this time: what NICs do by default
/// (`min_time_between_cnps` of mlx5).
const CNP_EVERY: Ps = 4_000_000;

/// A host that speaks it.
pub type GoBackN = Host<Sender, Receiver, Control, Balance>;

/// Host `number`.
///
/// # Errors
/// If the options make no sense.
pub fn host(number: u32, options: &Options) -> Result<GoBackN, OptionsError> {
    // Acknowledgements that wait for company hold the window up.
    let window = options.window(ACK_EVERY)?;
    let [_, timeout] = options.timeouts;
    let parts = Parts {
        recovery: Sender::new(timeout),
        responder: Receiver::default(),
        congestion: options.control(window),
        spread: options.balance,
    };
    let wire = Wire { placed: false, answer: 4 };
    let setup = Setup { wire, cnp_every: Some(CNP_EVERY), context: CONTEXT, seed: options.seed };
    Ok(Host::new(number, setup, parts, options.cache.map(QpCache::new)))
}

/// Sends. See the module's page.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    timeout: Ps,
    /// Oldest not acknowledged.
    una: u32,
    /// Next to send.
    next: u32,
    /// One past the highest ever sent.
    highest: u32,
    /// One past what there is to send.
    end: u32,
    /// When the timeout began to run.
    since: Ps,
    /// Timeouts in a row.
    expiries: u32,
}

impl Sender {
    /// A connection that has sent nothing.
    pub fn new(timeout: Ps) -> Self {
        Self { timeout, una: 0, next: 0, highest: 0, end: 0, since: 0, expiries: 0 }
    }
}

impl Recovery for Sender {
    fn offer(&mut self, packets: u32) {
        self.end += packets;
    }

    #[inline]
    fn next(&mut self, now: Ps, window: u32) -> Option<Pick> {
        if self.next >= self.end || self.next - self.una >= window {
            return None;
        }
        if self.next == self.una {
            self.since = now;
        }
        let psn = self.next;
        self.next += 1;
        let again = psn < self.highest;
        self.highest = self.highest.max(self.next);
        Some(Pick { psn, again })
    }

    fn heard(&mut self, now: Ps, reply: &Reply) -> Heard {
        let Answer { expected, nak, .. } = reply.answer;
        if expected > self.highest || expected < self.una {
            return Heard::default();
        }
        let packets = expected - self.una;
        if packets > 0 {
            self.since = now;
            self.expiries = 0;
        }
        self.una = expected;
        self.next = if nak { expected } else { self.next.max(expected) };
        Heard { packets, lost: nak }
    }

    fn deadline(&self) -> Option<Ps> {
        (self.next > self.una).then(|| self.since + (self.timeout << self.expiries.min(DOUBLINGS)))
    }

    fn expire(&mut self, now: Ps) -> bool {
        self.next = self.una;
        self.since = now;
        self.expiries += 1;
        true
    }

    fn acknowledged(&self) -> u32 {
        self.una
    }
}

/// Receives. See the module's page.
#[derive(Clone, Copy, Debug, Default)]
pub struct Receiver {
    expected: u32,
    /// A NAK for `expected` is out.
    complained: bool,
    unanswered: u32,
    answered_at: Ps,
}

impl Responder for Receiver {
    const IN_ORDER: bool = true;

    #[inline]
    fn arrived(&mut self, now: Ps, data: &Data) -> Taken {
        let answer = |expected, nak| Some(Answer { expected, nak, came: data.psn, bits: Bits::default() });
        if data.psn > self.expected {
            let first = !std::mem::replace(&mut self.complained, true);
            return Taken { fresh: false, answer: answer(self.expected, true).filter(|_| first) };
        }
        if data.psn < self.expected {
            return Taken { fresh: false, answer: answer(self.expected, false) };
        }
        self.expected += 1;
        self.complained = false;
        self.unanswered += 1;
        let due = data.ask || self.unanswered >= ACK_EVERY || now >= self.answered_at + ACK_AFTER;
        if due {
            self.unanswered = 0;
            self.answered_at = now;
        }
        Taken { fresh: true, answer: answer(self.expected, false).filter(|_| due) }
    }

    fn expected(&self) -> u32 {
        self.expected
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack, data, nak};
    use super::*;

    fn sent(sender: &mut Sender, now: Ps) -> Vec<(u32, bool)> {
        std::iter::from_fn(|| sender.next(now, 8)).map(|pick| (pick.psn, pick.again)).collect()
    }

    #[test]
    fn a_nak_sends_the_rest_of_the_window_again() {
        let mut sender = Sender::new(1000);
        sender.offer(20);
        assert_eq!(sent(&mut sender, 0).len(), 8);
        assert_eq!(sender.heard(10, &nak(2, 3)), Heard { packets: 2, lost: true });
        // 2 .. 8 have been on the wire, 8 and 9 are new room in the window.
        let again: Vec<_> = (2..8).map(|psn| (psn, true)).chain([(8, false), (9, false)]).collect();
        assert_eq!(sent(&mut sender, 10), again);
        sender.heard(20, &ack(10));
        assert_eq!(sent(&mut sender, 20).len(), 8);
    }

    #[test]
    fn only_silence_expires_and_old_answers_change_nothing() {
        let mut sender = Sender::new(1000);
        assert_eq!(sender.deadline(), None);
        sender.offer(3);
        assert_eq!(sent(&mut sender, 5).len(), 3);
        assert_eq!(sender.deadline(), Some(1005));
        sender.heard(600, &ack(1));
        assert_eq!(sender.deadline(), Some(1600));
        assert!(sender.expire(1600));
        assert_eq!(sent(&mut sender, 1600), [(1, true), (2, true)]);
        sender.heard(1700, &ack(3));
        assert_eq!((sender.deadline(), sender.acknowledged()), (None, 3));
        assert_eq!(sender.heard(1800, &nak(1, 2)), Heard::default());
        assert_eq!((sent(&mut sender, 1800), sender.acknowledged()), (vec![], 3));
    }

    #[test]
    fn one_complaint_per_gap_and_acks_as_asked() {
        let mut receiver = Receiver::default();
        let mut take = |psn, ask| {
            let taken = receiver.arrived(0, &data(psn, ask));
            (taken.fresh, taken.answer.map(|answer| (answer.expected, answer.nak)))
        };
        assert_eq!(take(0, false), (true, None));
        assert_eq!(take(2, false), (false, Some((1, true))));
        assert_eq!(take(3, true), (false, None));
        assert_eq!(take(1, true), (true, Some((2, false))));
        assert_eq!(take(3, false), (false, Some((2, true))));
        assert_eq!(take(1, false), (false, Some((2, false))));
        for psn in 2..17 {
            assert_eq!(take(psn, false), (true, None));
        }
        assert_eq!(take(17, false), (true, Some((18, false))));
        assert_eq!(receiver.arrived(ACK_AFTER - 1, &data(18, false)).answer, None);
        assert!(receiver.arrived(ACK_AFTER, &data(19, false)).answer.is_some());
        assert_eq!(receiver.arrived(ACK_AFTER + 1, &data(20, false)).answer, None);
    }

    #[test]
    fn the_timeout_doubles_until_something_comes_of_it() {
        let mut sender = Sender::new(1000);
        sender.offer(2);
        assert_eq!(sent(&mut sender, 0).len(), 2);
        let mut now = 0;
        let mut waits = Vec::new();
        for _ in 0..7 {
            let due = sender.deadline().unwrap();
            waits.push(due - now);
            now = due;
            sender.expire(now);
            assert_eq!(sent(&mut sender, now).len(), 2);
        }
        assert_eq!(waits, [1000, 2000, 4000, 8000, 16_000, 32_000, 32_000]);
        sender.heard(now + 5, &ack(1));
        assert_eq!(sender.deadline(), Some(now + 1005));
    }
}
