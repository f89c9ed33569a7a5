//! FEEDBACK: what a receiver composes, and how a sender judges it.

use tessera_abi::params::BLOCK_PACKETS;
use tessera_abi::status::{Drop, Status};
use tessera_abi::wire::{fb, DataHeader, FeedbackHeader, MessageId, NO_SAMPLE};

use crate::rx_parse::Origin;
use crate::Ticks;

/// Where a feedback goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reply {
    /// Destination MAC.
    pub mac: [u8; 6],
    /// Tag of the packet answered last.
    pub vlan: Option<u16>,
    /// Destination GID.
    pub gid: [u8; 16],
    /// Destination endpoint.
    pub endpoint: u32,
    /// Our endpoint.
    pub local: u32,
    /// Q_Key.
    pub qkey: u32,
}

impl Reply {
    /// Back to where a packet came from.
    pub fn to(origin: &Origin) -> Self {
        Self {
            mac: origin.mac,
            vlan: origin.vlan,
            gid: origin.gid,
            endpoint: origin.endpoint,
            local: origin.local.number,
            qkey: origin.local.qkey,
        }
    }
}

/// A feedback waiting for the wire; its delay is known only there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outgoing {
    /// Destination.
    pub reply: Reply,
    /// Header without delay.
    pub header: FeedbackHeader,
    /// When the packet it answers arrived; `None`: no sample.
    pub arrival: Option<Ticks>,
}

impl Outgoing {
    /// The header as sent at `now`.
    pub fn at(&self, now: Ticks) -> FeedbackHeader {
        let mut header = self.header;
        let delay = self.arrival.map_or(NO_SAMPLE as u64, |arrival| now - arrival);
        if delay < NO_SAMPLE as u64 {
            header.delay = delay as u16;
        } else {
            //= LD-6
            (header.delay, header.echo, header.ev) = (NO_SAMPLE, 0, 0);
        }
        header
    }
}

/// A header that carries nothing but the message.
pub fn blank(message: MessageId) -> FeedbackHeader {
    FeedbackHeader {
        flags: 0,
        ev: 0,
        status: 0,
        message,
        cumulative: 0,
        sequence: 0,
        grant: 0,
        duplicates: 0,
        base: 0,
        limit: 0,
        delay: NO_SAMPLE,
        echo: 0,
        bitmap: [0; 32],
    }
}

/// The answer to a packet without a context.
//= RO-7
pub fn stateless(now: Ticks, origin: &Origin, packet: &DataHeader, flags: u8, status: u8) -> Outgoing {
    let mut header = blank(packet.message);
    header.flags = flags | if origin.ce { fb::CE } else { 0 };
    header.status = status;
    header.ev = packet.ev;
    header.echo = packet.timestamp;
    Outgoing { reply: Reply::to(origin), header, arrival: Some(now) }
}

/// A RELEASE waiting for the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Releasing {
    /// Destination MAC.
    pub mac: [u8; 6],
    /// Tag to carry.
    pub vlan: Option<u16>,
    /// Destination GID.
    pub gid: [u8; 16],
    /// Destination endpoint.
    pub endpoint: u32,
    /// Our endpoint, whose Q_Key it carries.
    pub local: u32,
    /// The message.
    pub message: MessageId,
}

/// The answer of a tombstone.
///
/// `complete`: the flags of a COMPLETE.
//= RO-2
pub fn tombstone(
    now: Ticks,
    origin: &Origin,
    packet: &DataHeader,
    status: u8,
    count: u32,
    complete: u8,
) -> Outgoing {
    if status != Status::Success as u8 {
        return stateless(now, origin, packet, fb::ABORT, status);
    }
    let mut answer = stateless(now, origin, packet, complete, status);
    answer.header.cumulative = count;
    answer.header.grant = count;
    answer
}

/// Judges the numbers of a feedback for a live message of its sender.
//= TX-3
pub fn sane(header: &FeedbackHeader, next: u32, count: u32) -> Result<(), Drop> {
    let nack = header.flags & fb::NACK != 0;
    let complete = header.flags & (fb::COMPLETE | fb::ABORT) == fb::COMPLETE;
    let bad_abort =
        header.flags & fb::ABORT != 0 && (header.status == 0 || header.status >= Status::FIRST_LOCAL);
    let nonsense = next == 0
        || header.cumulative > next
        || bad_abort
        || (complete && next < count)
        || !header.base.is_multiple_of(BLOCK_PACKETS)
        || (nack && (header.base >= count || header.limit > count));
    if nonsense {
        Err(Drop::FeedbackNonsense)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= TX-3 test
    #[test]
    fn of_what_was_never_sent_nobody_can_know() {
        let header = FeedbackHeader { grant: 4, ..blank(MessageId(0)) };
        assert_eq!(sane(&header, 0, 4), Err(Drop::FeedbackNonsense));
        assert_eq!(sane(&header, 1, 4), Ok(()));
    }

    //= TX-3 test
    #[test]
    fn an_abort_speaks_for_the_receiver_alone() {
        for status in 0..=u8::MAX {
            let header = FeedbackHeader { flags: fb::ABORT, status, ..blank(MessageId(0)) };
            assert_eq!(sane(&header, 1, 4).is_ok(), (1..Status::FIRST_LOCAL).contains(&status), "{status}");
        }
    }
}
