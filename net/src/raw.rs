//! No protocol at all: every packet of a message is sent once, in turn with those of
//! the host's other messages, and nothing is answered. A message without bytes is a packet
//! of control.
//!
//! What the network itself costs, in time and in processor time, shows here: a message
//! takes as long as its packets take on the way, and one that loses a packet never
//! ends.

use std::collections::{HashMap, VecDeque};

use crate::topology::mix;
use crate::transport::{Arrived, Departing, Done, End, Message, Tally, Transport, DATA, FRAMING};
use crate::Ps;

/// A packet's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Message.
    pub id: u32,
    /// Packets of it in all.
    pub count: u32,
}

#[derive(Clone, Copy, Debug)]
struct Outgoing {
    message: Message,
    sent: u32,
    count: u32,
}

/// One host.
#[derive(Debug)]
pub struct Raw {
    payload: u32,
    overhead: u32,
    /// Ways that packets of a message are spread over; 1: it keeps one.
    labels: u32,
    outgoing: VecDeque<Outgoing>,
    /// Packets that have come of messages of several.
    coming: HashMap<u32, u32>,
    ended: VecDeque<Done>,
    tally: Tally,
}

impl Raw {
    /// Packets of `payload` bytes and so much around them, [`FRAMING`] included.
    pub fn new(payload: u32, overhead: u32, labels: u32) -> Self {
        Self {
            payload: payload.max(1),
            overhead: overhead.max(FRAMING),
            labels: labels.max(1),
            outgoing: VecDeque::new(),
            coming: HashMap::new(),
            ended: VecDeque::new(),
            tally: Tally::default(),
        }
    }
}

impl Transport for Raw {
    type Header = Header;

    fn post(&mut self, _now: Ps, message: &Message) {
        let count = message.bytes.div_ceil(self.payload).max(1);
        self.outgoing.push_back(Outgoing { message: *message, sent: 0, count });
    }

    fn receive(&mut self, _now: Ps, packet: &Arrived<Header>) {
        let Header { id, count } = packet.header;
        if packet.trimmed {
            return;
        }
        if count > 1 {
            let come = self.coming.entry(id).or_default();
            *come += 1;
            if *come < count {
                return;
            }
            self.coming.remove(&id);
        }
        self.ended.push_back(Done { id, end: End::Delivered });
    }

    fn expire(&mut self, _now: Ps) {}

    fn deadline(&self) -> Option<Ps> {
        None
    }

    fn transmit(&mut self, _now: Ps) -> Option<Departing<Header>> {
        let mut outgoing = self.outgoing.pop_front()?;
        let Outgoing { message, sent, count } = outgoing;
        let payload = (message.bytes - sent * self.payload).min(self.payload);
        outgoing.sent += 1;
        if outgoing.sent < count {
            self.outgoing.push_back(outgoing);
        }
        self.tally.sent += 1;
        let way = sent % self.labels;
        Some(Departing {
            to: message.to,
            bytes: payload + self.overhead,
            label: mix((message.id as u64) << 16 | way as u64),
            class: DATA,
            payload: message.bytes > 0,
            trimmable: true,
            header: Header { id: message.id, count },
        })
    }

    fn take_done(&mut self) -> Option<Done> {
        self.ended.pop_front()
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}
