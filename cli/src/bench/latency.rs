//! Clocks from cause to effect, in what an observed NIC was seen to do.

use tessera_abi::queue;
use tessera_sim::fabric::PacketClass;
use tessera_sim::nic::{DmaClass, NicEvent};

/// How long something took, each time that it was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    pub median: f64,
    pub max: f64,
    pub count: usize,
}

impl Times {
    /// Of clocks in any order; none of none.
    pub fn of(mut values: Vec<u64>) -> Option<Self> {
        values.sort_unstable();
        let (&median, &max) = (values.get(values.len() / 2)?, values.last()?);
        Some(Self { median: median as f64, max: max as f64, count: values.len() })
    }
}

/// Clocks from a send entry's last beat to its packet's first beat, less the
/// payload's read.
pub fn request_to_wire(events: &[NicEvent]) -> Vec<u64> {
    let mut found = Vec::new();
    let (mut entry, mut payload) = (None, 0);
    for event in events {
        match event {
            NicEvent::Read(read) if read.class == DmaClass::Ctrl && read.length == queue::SEND_ENTRY_LEN => {
                (entry, payload) = (Some(read.at), 0);
            }
            NicEvent::Read(read) if read.class == DmaClass::Data => payload = read.at - read.asked,
            NicEvent::Sent(frame) if PacketClass::of(&frame.bytes) == PacketClass::Data => {
                found.extend(entry.take().map(|at| frame.first - at - payload));
            }
            _ => {}
        }
    }
    found
}

/// Clocks from a message's last beat to its completion entry's beat, less the
/// payload's write.
pub fn wire_to_completion(events: &[NicEvent]) -> Vec<u64> {
    let mut found = Vec::new();
    let (mut arrived, mut payload) = (None, 0);
    // Writes are reported when visible, frames when they end: order by what is compared.
    for event in events {
        match event {
            NicEvent::Received { at, bytes } if PacketClass::of(bytes) == PacketClass::Data => {
                arrived = Some(*at)
            }
            NicEvent::Wrote(write) if write.class == DmaClass::Data => payload = write.at - write.taken,
            NicEvent::Wrote(write) if write.bytes.first() == Some(&queue::DONE_RECV) => {
                found.extend(arrived.take().map(|at| write.taken - at - payload));
            }
            _ => {}
        }
    }
    found
}

/// Clocks from a NACK's last beat to the first retransmission's first beat,
/// less the payload's read. Only of NACKs that find nothing on its way out: behind
/// packets that are being read or sent already, it is their length that counts.
pub fn nack_to_wire(events: &[NicEvent]) -> Vec<u64> {
    let mut found = Vec::new();
    let (mut nack, mut payload) = (None, 0);
    for event in events {
        match event {
            NicEvent::Received { at, bytes } if PacketClass::of(bytes) == PacketClass::Nack => {
                nack = nack.or(Some(*at))
            }
            NicEvent::Read(read) if read.class == DmaClass::Data => payload = read.at - read.asked,
            NicEvent::Sent(frame) if PacketClass::of(&frame.bytes) == PacketClass::Retransmission => {
                found.extend(nack.take().map(|at| (frame.first - at).saturating_sub(payload)));
            }
            NicEvent::Sent(frame) if nack.is_some_and(|at| frame.last > at) => nack = None,
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_stands_beside_the_median() {
        assert_eq!(Times::of(vec![9, 1, 2]), Some(Times { median: 2.0, max: 9.0, count: 3 }));
        assert_eq!(Times::of(Vec::new()), None);
    }
}
