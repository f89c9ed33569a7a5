//! Go-back-N: the reliable connection of InfiniBand and RoCEv2.
//!
//! ```text
//!   una ........ next ........ end        sent and unanswered: una .. next
//!    │ NAK(psn), timeout: next = una      at most `window` of them
//! ```
//!
//! Rules (InfiniBand Architecture Specification, volume 1, release 1.4, 2020,
//! section 9.7; its cost under loss is what *Revisiting Network Support for
//! RDMA*, SIGCOMM 2018, and *MELO*, APNet 2017, start from):
//!
//! - the responder takes the packet it expects and no other;
//! - it acknowledges cumulatively: at once when asked, else every `ack_every`
//!   packets, and every duplicate;
//! - the first packet that is not the expected one draws a NAK with the
//!   expected PSN, and none further until that one has come;
//! - the requester starts over at the PSN of a NAK, and at the oldest
//!   unanswered one when nothing has been heard for a timeout.

use super::frame::Reply;
use super::sequence::extend;
use super::{Parameters, Pick, Requester, Responder, Taken};

/// Sends. See the module's page.
#[derive(Debug)]
pub struct Sender {
    window: u64,
    rto: u64,
    /// Oldest not acknowledged.
    una: u64,
    /// Next to send.
    next: u64,
    /// One past the highest ever sent.
    highest: u64,
    /// One past what there is to send.
    end: u64,
    /// When the timeout began to run.
    since: u64,
}

impl Sender {
    /// A connection that has sent nothing.
    pub fn new(parameters: &Parameters) -> Self {
        let Parameters { window, rto_high, .. } = *parameters;
        Self { window, rto: rto_high, una: 0, next: 0, highest: 0, end: 0, since: 0 }
    }
}

impl Requester for Sender {
    fn offer(&mut self, packets: u64) {
        self.end += packets;
    }

    fn next(&mut self, now: u64) -> Option<Pick> {
        if self.next >= self.end || self.next - self.una >= self.window {
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

    fn heard(&mut self, now: u64, reply: Reply) {
        let told = extend(reply.psn, self.una);
        // A NAK acknowledges all before the PSN it names, an ACK that one too.
        let una = if reply.nak { told } else { told + 1 };
        if una > self.highest || una < self.una {
            return;
        }
        if una > self.una {
            self.since = now;
        }
        self.una = una;
        self.next = if reply.nak { una } else { self.next.max(una) };
    }

    fn deadline(&self) -> Option<u64> {
        (self.next > self.una).then(|| self.since + self.rto)
    }

    fn expire(&mut self, now: u64) {
        self.next = self.una;
        self.since = now;
    }

    fn set_timeouts(&mut self, [_, high]: [u64; 2]) {
        self.rto = high;
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
    /// A NAK for `expected` is out.
    complained: bool,
    unanswered: u32,
}

impl Receiver {
    /// A connection that has received nothing.
    pub fn new(parameters: &Parameters) -> Self {
        Self { ack_every: parameters.ack_every, expected: 0, complained: false, unanswered: 0 }
    }
}

impl Responder for Receiver {
    fn arrived(&mut self, psn: u32, ack_request: bool) -> Taken {
        let psn = extend(psn, self.expected);
        let ack = |expected: u64| Reply { psn: expected.wrapping_sub(1) as u32, nak: false, selective: 0 };
        if psn > self.expected {
            let nak = Reply { psn: self.expected as u32, nak: true, selective: 0 };
            let reply = (!self.complained).then_some(nak);
            self.complained = true;
            return Taken { fresh: false, reply };
        }
        if psn < self.expected {
            return Taken { fresh: false, reply: Some(ack(self.expected)) };
        }
        self.expected += 1;
        self.complained = false;
        self.unanswered += 1;
        let due = ack_request || self.unanswered >= self.ack_every;
        if due {
            self.unanswered = 0;
        }
        Taken { fresh: true, reply: due.then(|| ack(self.expected)) }
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
        Parameters { window: 8, rto_high: 1000, ack_every: 4, ..Parameters::bare(Kind::GoBackN, 1024) }
    }

    fn sent(sender: &mut Sender, now: u64) -> Vec<(u64, bool)> {
        std::iter::from_fn(|| sender.next(now)).map(|pick| (pick.psn, pick.again)).collect()
    }

    fn ack(psn: u32) -> Reply {
        Reply { psn, nak: false, selective: 0 }
    }

    fn nak(psn: u32) -> Reply {
        Reply { psn, nak: true, selective: 0 }
    }

    #[test]
    fn a_nak_sends_the_rest_of_the_window_again() {
        let mut sender = Sender::new(&parameters());
        sender.offer(20);
        assert_eq!(sent(&mut sender, 0).len(), 8);
        sender.heard(10, nak(2));
        // 2 .. 8 have been on the wire, 8 and 9 are new room in the window.
        let again: Vec<_> = (2..8).map(|psn| (psn, true)).chain([(8, false), (9, false)]).collect();
        assert_eq!(sent(&mut sender, 10), again);
        sender.heard(20, ack(9));
        assert_eq!(sent(&mut sender, 20).len(), 8);
    }

    #[test]
    fn only_silence_expires_and_old_answers_change_nothing() {
        let mut sender = Sender::new(&parameters());
        assert_eq!(sender.deadline(), None);
        sender.offer(3);
        assert_eq!(sent(&mut sender, 5).len(), 3);
        assert_eq!(sender.deadline(), Some(1005));
        sender.heard(600, ack(0));
        assert_eq!(sender.deadline(), Some(1600));
        sender.expire(1600);
        assert_eq!(sent(&mut sender, 1600), [(1, true), (2, true)]);
        sender.heard(1700, ack(2));
        assert_eq!((sender.deadline(), sender.acknowledged()), (None, 3));
        sender.heard(1800, nak(1));
        assert_eq!((sent(&mut sender, 1800), sender.acknowledged()), (vec![], 3));
    }

    #[test]
    fn one_complaint_per_gap_and_acks_as_asked() {
        let mut receiver = Receiver::new(&parameters());
        let mut take = |psn, request| {
            let taken = receiver.arrived(psn, request);
            (taken.fresh, taken.reply)
        };
        assert_eq!(take(0, false), (true, None));
        assert_eq!(take(2, false), (false, Some(nak(1))));
        assert_eq!(take(3, true), (false, None));
        assert_eq!(take(1, true), (true, Some(ack(1))));
        assert_eq!(take(3, false), (false, Some(nak(2))));
        assert_eq!(take(1, false), (false, Some(ack(1))));
        for psn in 2..5 {
            assert_eq!(take(psn, false), (true, None));
        }
        assert_eq!(take(5, false), (true, Some(ack(5))));
    }
}
