//! Selective repeat as IRN describes it.
//!
//! ```text
//!   una . . # . # # . . next ........ end      # = acknowledged selectively
//!       └ holes below the highest # are lost; at most `window` from una on
//! ```
//!
//! Rules (R. Mittal et al., *Revisiting Network Support for RDMA*, SIGCOMM
//! 2018, section 3):
//!
//! - the receiver keeps what comes out of order and answers each such packet
//!   with a NACK: the PSN expected and the one that came; what comes in order
//!   it acknowledges cumulatively;
//! - a NACK or a timeout starts recovery. There the sender first repeats the
//!   PSN expected; after that a packet counts as lost only when a higher one
//!   has been acknowledged selectively. Each is repeated once per recovery;
//!   with none left, new packets follow;
//! - after a timeout all that was sent before it and is not acknowledged counts
//!   as lost. The paper repeats the PSN expected alone, so that of a tail whose
//!   every packet is lost one goes per timeout: here it is not held to that;
//! - recovery ends when all sent before it began is acknowledged cumulatively.
//!   A repeated packet that is lost again is left to the timeout;
//! - the timeout is short (`rto_low`) while at most three packets are in
//!   flight, long (`rto_high`) otherwise;
//! - at most a bandwidth-delay product is in flight (BDP-FC).

use std::collections::BTreeSet;

use super::frame::Reply;
use super::sequence::extend;
use super::{Parameters, Pick, Requester, Responder, Taken};

/// Recovery under way.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// Ends once all below is acknowledged.
    until: u64,
    /// Everything below has been repeated or is not lost.
    looked: u64,
    /// Everything below counts as lost unless acknowledged, and above that
    /// what is below one acknowledged selectively.
    gone: u64,
}

/// Sends. See the module's page.
#[derive(Debug)]
pub struct Sender {
    window: u64,
    rto_low: u64,
    rto_high: u64,
    low_flight: u64,
    una: u64,
    next: u64,
    end: u64,
    /// Acknowledged selectively, all at or above `una`.
    kept: BTreeSet<u64>,
    recovery: Option<Recovery>,
    since: u64,
}

impl Sender {
    /// A connection that has sent nothing.
    pub fn new(parameters: &Parameters) -> Self {
        let Parameters { window, rto_low, rto_high, low_flight, .. } = *parameters;
        Self {
            window,
            rto_low,
            rto_high,
            low_flight,
            una: 0,
            next: 0,
            end: 0,
            kept: BTreeSet::new(),
            recovery: None,
            since: 0,
        }
    }

    /// Begins recovery anew, with all below `gone` lost.
    fn recover(&mut self, now: u64, gone: u64) {
        self.recovery = Some(Recovery { until: self.next, looked: self.una, gone });
        self.since = now;
    }

    /// The next packet that recovery repeats.
    fn lost(&mut self) -> Option<u64> {
        let highest = self.kept.last().copied().unwrap_or(0);
        let recovery = self.recovery.as_mut()?;
        let end = recovery.gone.max(highest);
        let mut psn = recovery.looked.max(self.una);
        while psn < end && self.kept.contains(&psn) {
            psn += 1;
        }
        recovery.looked = psn;
        if psn >= end {
            return None;
        }
        recovery.looked = psn + 1;
        Some(psn)
    }
}

impl Requester for Sender {
    fn offer(&mut self, packets: u64) {
        self.end += packets;
    }

    fn next(&mut self, now: u64) -> Option<Pick> {
        if let Some(psn) = self.lost() {
            return Some(Pick { psn, again: true });
        }
        if self.next >= self.end || self.next - self.una >= self.window {
            return None;
        }
        if self.next == self.una {
            self.since = now;
        }
        let psn = self.next;
        self.next += 1;
        Some(Pick { psn, again: false })
    }

    fn heard(&mut self, now: u64, reply: Reply) {
        let una = extend(reply.psn, self.una);
        if una > self.next {
            return;
        }
        if una > self.una {
            self.una = una;
            self.since = now;
            self.kept = self.kept.split_off(&una);
        }
        if self.recovery.is_some_and(|recovery| self.una >= recovery.until) {
            self.recovery = None;
        }
        if reply.nak {
            let kept = extend(reply.selective, self.una);
            if kept < self.una || kept >= self.next {
                return;
            }
            self.kept.insert(kept);
            if self.recovery.is_none() {
                self.recover(now, self.una + 1);
            }
        }
    }

    fn deadline(&self) -> Option<u64> {
        let flight = self.next - self.una;
        let rto = if flight <= self.low_flight { self.rto_low } else { self.rto_high };
        (flight > 0).then_some(self.since + rto)
    }

    fn expire(&mut self, now: u64) {
        self.recover(now, self.next);
    }

    fn set_timeouts(&mut self, [low, high]: [u64; 2]) {
        (self.rto_low, self.rto_high) = (low, high);
    }

    fn acknowledged(&self) -> u64 {
        self.una
    }
}

/// Receives. See the module's page.
#[derive(Debug)]
pub struct Receiver {
    ack_every: u32,
    expected: u64,
    /// Came out of order, all above `expected`.
    kept: BTreeSet<u64>,
    unanswered: u32,
}

impl Receiver {
    /// A connection that has received nothing.
    pub fn new(parameters: &Parameters) -> Self {
        Self { ack_every: parameters.ack_every, expected: 0, kept: BTreeSet::new(), unanswered: 0 }
    }
}

impl Responder for Receiver {
    fn arrived(&mut self, psn: u32, ack_request: bool) -> Taken {
        let psn = extend(psn, self.expected);
        if psn > self.expected {
            let fresh = self.kept.insert(psn);
            let nak = Reply { psn: self.expected as u32, nak: true, selective: psn as u32 };
            return Taken { fresh, reply: Some(nak) };
        }
        let fresh = psn == self.expected;
        let mut filled = false;
        if fresh {
            self.expected += 1;
            while self.kept.remove(&self.expected) {
                self.expected += 1;
                filled = true;
            }
        }
        self.unanswered += 1;
        let due = ack_request || filled || !fresh || self.unanswered >= self.ack_every;
        if due {
            self.unanswered = 0;
        }
        let ack = Reply { psn: self.expected as u32, nak: false, selective: 0 };
        Taken { fresh, reply: due.then_some(ack) }
    }

    fn expected(&self) -> u64 {
        self.expected
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    fn parameters() -> Parameters {
        Parameters {
            window: 10,
            rto_low: 100,
            rto_high: 1000,
            ..Parameters::bare(Kind::SelectiveRepeat, 1024)
        }
    }

    fn sent(sender: &mut Sender, now: u64) -> Vec<(u64, bool)> {
        std::iter::from_fn(|| sender.next(now)).map(|pick| (pick.psn, pick.again)).collect()
    }

    fn ack(psn: u32) -> Reply {
        Reply { psn, nak: false, selective: 0 }
    }

    fn nack(psn: u32, selective: u32) -> Reply {
        Reply { psn, nak: true, selective }
    }

    #[test]
    fn only_holes_are_sent_again() {
        let mut sender = Sender::new(&parameters());
        sender.offer(30);
        assert_eq!(sent(&mut sender, 0).len(), 10);
        // 2 and 5 are lost.
        sender.heard(10, ack(2));
        for kept in [3, 4] {
            sender.heard(10, nack(2, kept));
        }
        assert_eq!(sent(&mut sender, 10), [(2, true), (10, false), (11, false)]);
        for kept in [6, 7, 8, 9] {
            sender.heard(20, nack(2, kept));
        }
        assert_eq!(sent(&mut sender, 20), [(5, true)]);
        // Nothing is repeated twice within one recovery.
        sender.heard(25, nack(2, 10));
        assert_eq!(sent(&mut sender, 25), []);
        sender.heard(30, ack(5));
        assert_eq!(sent(&mut sender, 30), [(12, false), (13, false), (14, false)]);
        sender.heard(40, ack(11));
        assert!(sender.recovery.is_none(), "all of before has come");
        assert!(sent(&mut sender, 40).iter().all(|&(psn, again)| psn > 14 && !again));
    }

    #[test]
    fn a_repeated_packet_lost_again_waits_for_the_long_timeout() {
        let mut sender = Sender::new(&parameters());
        sender.offer(10);
        assert_eq!(sent(&mut sender, 0).len(), 10);
        sender.heard(10, nack(0, 1));
        assert_eq!(sent(&mut sender, 10), [(0, true)]);
        for kept in 2..10 {
            sender.heard(20, nack(0, kept));
        }
        assert_eq!(sent(&mut sender, 20), []);
        assert_eq!(sender.deadline(), Some(1010));
        sender.expire(1010);
        assert_eq!(sent(&mut sender, 1010), [(0, true)]);
        sender.heard(1020, ack(10));
        assert_eq!(sender.deadline(), None);
    }

    #[test]
    fn few_in_flight_have_the_short_timeout() {
        let mut sender = Sender::new(&parameters());
        sender.offer(4);
        assert_eq!(sent(&mut sender, 0).len(), 4);
        assert_eq!(sender.deadline(), Some(1000));
        sender.heard(50, ack(1));
        assert_eq!(sender.deadline(), Some(150));
        sender.expire(150);
        assert_eq!(sent(&mut sender, 150), [(1, true), (2, true), (3, true)]);
    }

    #[test]
    fn after_a_timeout_all_sent_before_it_is_lost_until_acknowledged() {
        let mut sender = Sender::new(&parameters());
        sender.offer(12);
        assert_eq!(sent(&mut sender, 0).len(), 10);
        sender.heard(10, ack(4));
        assert_eq!(sent(&mut sender, 10), [(10, false), (11, false)]);
        sender.expire(1010);
        assert_eq!(sender.next(1010), Some(Pick { psn: 4, again: true }));
        assert_eq!(sender.next(1016), Some(Pick { psn: 5, again: true }));
        // 6 and 7 had come, 9 has too: none of them goes again.
        sender.heard(1020, ack(8));
        sender.heard(1021, nack(8, 9));
        assert_eq!(sent(&mut sender, 1022), [(8, true), (10, true), (11, true)]);
        sender.heard(1030, ack(11));
        assert_eq!(sent(&mut sender, 1030), [], "each once");
        sender.heard(1031, ack(12));
        assert!(sender.recovery.is_none());
    }

    #[test]
    fn a_nack_repeats_the_expected_packet_and_holes_only() {
        let mut sender = Sender::new(&parameters());
        sender.offer(10);
        assert_eq!(sent(&mut sender, 0).len(), 10);
        sender.heard(10, nack(0, 3));
        assert_eq!(sent(&mut sender, 10), [(0, true), (1, true), (2, true)]);
        // What is acknowledged in part says nothing of those above the highest.
        sender.heard(20, ack(4));
        assert_eq!(sent(&mut sender, 20), []);
    }

    #[test]
    fn what_comes_out_of_order_is_kept_and_named() {
        let mut receiver = Receiver::new(&parameters());
        let mut take = |psn| {
            let taken = receiver.arrived(psn, false);
            (taken.fresh, taken.reply)
        };
        assert_eq!(take(1), (true, Some(nack(0, 1))));
        assert_eq!(take(3), (true, Some(nack(0, 3))));
        assert_eq!(take(3), (false, Some(nack(0, 3))));
        assert_eq!(take(0), (true, Some(ack(2))));
        assert_eq!(take(0), (false, Some(ack(2))));
        assert_eq!(take(2), (true, Some(ack(4))));
    }
}
