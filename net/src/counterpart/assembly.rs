//! Messages of a connection: cut into packets, and whole again.
//!
//! ```text
//!   psn   0 1 2 3 | 4 | 5 6 7 ...      a message's packets are numbered in a row
//!          first      first
//! ```

use std::collections::VecDeque;

use super::{Data, PAYLOAD};

/// A message being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sending {
    /// Its number in the run.
    pub id: u32,
    /// Its first packet.
    pub first: u32,
    /// Its packets.
    pub packets: u32,
    bytes: u32,
}

impl Sending {
    /// Bytes of its packet `index`.
    #[inline]
    pub fn payload(&self, index: u32) -> u32 {
        self.bytes.saturating_sub(index * PAYLOAD).min(PAYLOAD)
    }
}

/// Messages not yet acknowledged, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Outgoing {
    messages: VecDeque<Sending>,
    end: u32,
}

impl Outgoing {
    /// Adds a message; its packets.
    pub fn post(&mut self, id: u32, bytes: u32) -> u32 {
        // Nothing to carry is carried by a packet too.
        let packets = bytes.div_ceil(PAYLOAD).max(1);
        self.messages.push_back(Sending { id, first: self.end, packets, bytes });
        self.end += packets;
        packets
    }

    /// The message that a packet is of.
    #[inline]
    pub fn of(&self, psn: u32) -> Option<&Sending> {
        // Most often it is the oldest.
        let front = self.messages.front()?;
        if psn.wrapping_sub(front.first) < front.packets {
            return Some(front);
        }
        let after = self.messages.partition_point(|message| message.first <= psn);
        self.messages.get(after.checked_sub(1)?)
    }

    /// The next message of which all packets are below `acknowledged`.
    #[inline]
    pub fn take_acknowledged(&mut self, acknowledged: u32) -> Option<u32> {
        let front = self.messages.front()?;
        if front.first + front.packets > acknowledged {
            return None;
        }
        self.messages.pop_front().map(|message| message.id)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Open {
    id: u32,
    first: u32,
    end: u32,
    missing: u32,
}

/// Messages of which something has come, but that have not ended, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Incoming {
    messages: VecDeque<Open>,
}

impl Incoming {
    /// Takes a packet that had not come before. The message that is whole by it, of
    /// those that may end in any order.
    #[inline]
    pub fn take(&mut self, data: &Data) -> Option<u32> {
        let first = data.psn - data.index;
        // Most often it is the oldest.
        let mut at = match self.messages.front() {
            Some(front) if front.first == first => 1,
            _ => self.messages.partition_point(|message| message.first <= first),
        };
        if at == 0 || self.messages[at - 1].first != first {
            let end = first + data.packets;
            self.messages.insert(at, Open { id: data.message, first, end, missing: data.packets });
            at += 1;
        }
        let message = &mut self.messages[at - 1];
        message.missing -= 1;
        (message.missing == 0).then_some(message.id)
    }

    /// Forgets a message that has ended.
    pub fn end(&mut self, id: u32) {
        if let Some(at) = self.messages.iter().position(|message| message.id == id) {
            self.messages.remove(at);
        }
    }

    /// The next message to end in order, when all below `expected` has come.
    #[inline]
    pub fn take_in_order(&mut self, expected: u32) -> Option<u32> {
        if self.messages.front()?.end > expected {
            return None;
        }
        self.messages.pop_front().map(|message| message.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(message: u32, first: u32, index: u32, packets: u32) -> Data {
        let psn = first + index;
        Data { process: 0, psn, message, index, packets, ask: false, path: 0, sent_at: 0 }
    }

    #[test]
    fn a_message_is_cut_and_its_last_packet_is_short() {
        let mut outgoing = Outgoing::default();
        assert_eq!((outgoing.post(7, 0), outgoing.post(8, 4096), outgoing.post(9, 8193)), (1, 1, 3));
        let payload =
            |psn| outgoing.of(psn).map(|message| (message.id, message.payload(psn - message.first)));
        let cut: Vec<_> = (0..5).filter_map(payload).collect();
        assert_eq!(cut, [(7, 0), (8, 4096), (9, 4096), (9, 4096), (9, 1)]);
        assert_eq!((outgoing.take_acknowledged(0), outgoing.take_acknowledged(1)), (None, Some(7)));
        assert_eq!((outgoing.take_acknowledged(4), outgoing.take_acknowledged(4)), (Some(8), None));
        assert_eq!(outgoing.of(4).map(|message| message.id), Some(9));
    }

    #[test]
    fn messages_end_when_all_has_come_in_order_or_not() {
        let mut incoming = Incoming::default();
        assert_eq!(incoming.take(&data(2, 3, 1, 2)), None);
        assert_eq!(incoming.take(&data(1, 0, 0, 3)), None);
        assert_eq!(incoming.take(&data(2, 3, 0, 2)), Some(2), "whole before the first is");
        assert_eq!(incoming.take_in_order(1), None);
        assert_eq!((incoming.take(&data(1, 0, 2, 3)), incoming.take(&data(1, 0, 1, 3))), (None, Some(1)));
        assert_eq!((incoming.take_in_order(5), incoming.take_in_order(5)), (Some(1), Some(2)));
        assert_eq!(incoming.take(&data(3, 5, 0, 1)), Some(3));
        incoming.end(3);
        assert_eq!(incoming.take_in_order(6), None);
    }
}
