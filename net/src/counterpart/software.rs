//! A transport that runs on cores of the host: what it hears it hears later, and no
//! more than they can do goes through.
//!
//! ```text
//!   packets ─> cores: a share of a chunk's work each ─> latency ─> transport
//!   transport ─> cores: a packet waits until they have done those before ─> NIC
//! ```
//!
//! Receiving and sending have the cores' whole rate each. A chunk's work is shared by the
//! packets that it has: fewer at the end of a message, so short messages cost more.

use std::collections::VecDeque;

use super::{Data, Header};
use crate::transport::{Arrived, Departing, Done, Message, Tally, Transport};
use crate::Ps;

/// What software costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Time that all cores together need for a chunk.
    pub chunk: Ps,
    /// Packets of a chunk.
    pub packets: u32,
    /// From the NIC to a core and back.
    pub latency: Ps,
}

impl Costs {
    /// A packet's share of its chunk.
    #[inline]
    fn of(&self, data: &Data) -> Ps {
        let before = data.index - data.index % self.packets;
        self.chunk / (data.packets - before).clamp(1, self.packets) as Ps
    }
}

/// See the module's page.
pub struct Software<T> {
    inner: T,
    costs: Costs,
    /// Under way to the transport: when each will be there.
    arriving: VecDeque<(Ps, Arrived<Header>)>,
    /// When the cores have done what came in.
    received: Ps,
    /// When the cores have done what was sent.
    sent: Ps,
    /// Waits for that.
    leaving: Option<Departing<Header>>,
}

impl<T: Transport<Header = Header>> Software<T> {
    /// Puts a transport on cores.
    pub fn new(inner: T, costs: Costs) -> Self {
        let costs = Costs { packets: costs.packets.max(1), ..costs };
        Self { inner, costs, arriving: VecDeque::new(), received: 0, sent: 0, leaving: None }
    }
}

impl<T: Transport<Header = Header>> Transport for Software<T> {
    type Header = Header;

    fn post(&mut self, now: Ps, message: &Message) {
        self.inner.post(now, message);
    }

    fn receive(&mut self, now: Ps, packet: &Arrived<Header>) {
        if let Header::Data(ref data) = packet.header {
            self.received = self.received.max(now) + self.costs.of(data);
        }
        let there = self.received.max(now) + self.costs.latency;
        self.arriving.push_back((there, *packet));
    }

    fn expire(&mut self, now: Ps) {
        while let Some(&(_, packet)) = self.arriving.front().filter(|&&(at, _)| at <= now) {
            self.arriving.pop_front();
            self.inner.receive(now, &packet);
        }
        if self.inner.deadline().is_some_and(|due| due <= now) {
            self.inner.expire(now);
        }
    }

    fn deadline(&self) -> Option<Ps> {
        let arriving = self.arriving.front().map(|&(at, _)| at);
        let leaving = self.leaving.map(|_| self.sent);
        arriving.into_iter().chain(leaving).chain(self.inner.deadline()).min()
    }

    fn transmit(&mut self, now: Ps) -> Option<Departing<Header>> {
        let departing = match self.leaving.take() {
            Some(departing) => departing,
            None => self.inner.transmit(now)?,
        };
        let Header::Data(ref data) = departing.header else { return Some(departing) };
        if self.sent > now {
            self.leaving = Some(departing);
            return None;
        }
        self.sent = now + self.costs.of(data);
        Some(departing)
    }

    fn take_done(&mut self) -> Option<Done> {
        self.inner.take_done()
    }

    fn tally(&self) -> Tally {
        self.inner.tally()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reply;
    use super::*;
    use crate::transport::DATA;

    /// Sends data without end, and says when it heard something.
    #[derive(Default)]
    struct Endless {
        index: u32,
        heard: Vec<Ps>,
    }

    impl Transport for Endless {
        type Header = Header;

        fn post(&mut self, _now: Ps, _message: &Message) {}

        fn receive(&mut self, now: Ps, _packet: &Arrived<Header>) {
            self.heard.push(now);
        }

        fn expire(&mut self, _now: Ps) {}

        fn deadline(&self) -> Option<Ps> {
            None
        }

        fn transmit(&mut self, _now: Ps) -> Option<Departing<Header>> {
            let header = Header::Data(super::super::testing::data(self.index, false));
            self.index += 1;
            Some(Departing {
                to: 1,
                bytes: 4200,
                label: 0,
                class: DATA,
                payload: true,
                trimmable: false,
                header,
            })
        }

        fn take_done(&mut self) -> Option<Done> {
            None
        }

        fn tally(&self) -> Tally {
            Tally::default()
        }
    }

    const COSTS: Costs = Costs { chunk: 400, packets: 4, latency: 1000 };

    fn arrived(header: Header) -> Arrived<Header> {
        Arrived { from: 1, ce: false, trimmed: false, header }
    }

    #[test]
    fn what_arrives_is_heard_later_and_no_faster_than_the_cores_work() {
        let mut software = Software::new(Endless::default(), COSTS);
        let data = |psn| Header::Data(super::super::testing::data(psn, false));
        for psn in 0..3 {
            software.receive(50, &arrived(data(psn)));
        }
        let reply: Reply = super::super::testing::ack(1);
        software.receive(60, &arrived(Header::Reply(reply)));
        while let Some(due) = software.deadline() {
            software.expire(due);
        }
        assert_eq!(software.inner.heard, [1150, 1250, 1350, 1350]);
    }

    #[test]
    fn packets_wait_for_the_cores_and_those_of_short_messages_longer() {
        let mut software = Software::new(Endless::default(), COSTS);
        assert!(software.transmit(0).is_some());
        assert!(software.transmit(40).is_none());
        assert_eq!(software.deadline(), Some(100));
        assert!((1..4).all(|at| software.transmit(at * 100).is_some()));
        let of = |index, packets| COSTS.of(&Data { index, packets, ..super::super::testing::data(0, false) });
        assert_eq!((of(0, 1), of(1, 2), of(3, 6), of(4, 6)), (400, 200, 100, 200));
    }
}
