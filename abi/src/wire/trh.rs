//! The reliability header that follows the DETH of an RM packet.

use super::bytes::{put, put24, u16_at, u24_at, u32_at};
use super::{MessageId, TRH_DATA_LEN, TRH_FEEDBACK_LEN};

/// TRH version.
pub const TRH_VERSION: u8 = 1;
/// TRH type DATA.
pub const TYPE_DATA: u8 = 1;
/// TRH type FEEDBACK.
pub const TYPE_FEEDBACK: u8 = 2;
/// TRH type PROBE.
pub const TYPE_PROBE: u8 = 3;
/// TRH type RELEASE.
pub const TYPE_RELEASE: u8 = 4;
/// DATA/PROBE flags.
pub mod flag {
    /// Acknowledge at once.
    pub const AR: u8 = 1 << 0;
    /// A retransmission.
    pub const RETX: u8 = 1 << 1;
    /// A write (else a tagged send).
    pub const WRITE: u8 = 1 << 2;
    /// Recovered by host software.
    pub const HOST_RECOVERY: u8 = 1 << 3;
    /// The round id is valid.
    pub const ROUND: u8 = 1 << 4;
    /// The immediate is valid.
    pub const IMM: u8 = 1 << 5;
    /// Established: the sender has heard non-BUSY feedback for this generation.
    pub const EST: u8 = 1 << 6;
    /// Flags that never change within a message.
    pub const IMMUTABLE: u8 = WRITE | HOST_RECOVERY | ROUND | IMM;
}

/// FEEDBACK flags.
pub mod fb {
    /// The message ended; the status byte says how.
    pub const COMPLETE: u8 = 1 << 0;
    /// Zeros of the bitmap below the NACK limit ask for retransmission.
    pub const NACK: u8 = 1 << 1;
    /// The grant advanced.
    pub const GRANT: u8 = 1 << 2;
    /// No room: nothing was kept.
    pub const BUSY: u8 = 1 << 3;
    /// The message ended in an error; the status byte says which.
    pub const ABORT: u8 = 1 << 4;
    /// The packet answered carried congestion-experienced.
    pub const CE: u8 = 1 << 5;
    /// With COMPLETE: the receiver runs low on tombstones and asks for a RELEASE.
    pub const RELEASE_REQ: u8 = 1 << 6;
}

/// Byte offsets inside a DATA or PROBE TRH. Of a RELEASE only version and type,
/// entropy value, message and timestamp mean something; the rest is sent as 0.
pub mod data {
    /// Version (high nibble) and type (low nibble).
    pub const VERSION_TYPE: usize = 0;
    /// [`flag`](super::flag)s.
    pub const FLAGS: usize = 1;
    /// Entropy value.
    pub const EV: usize = 2;
    /// log2 payload size (high nibble), traffic class (low nibble).
    pub const SIZE_CLASS: usize = 3;
    /// Message id, u32: slot 12, generation 20.
    pub const MESSAGE: usize = 4;
    /// Packet index (PROBE: next index), 24 bits.
    pub const INDEX: usize = 8;
    /// Initial window in packets, 0 = 256.
    pub const INITIAL_WINDOW: usize = 11;
    /// Message length in bytes, u32.
    pub const LENGTH: usize = 12;
    /// Tag, or remote address of the message's first byte, u64.
    pub const TAG: usize = 16;
    /// Remote key, u32.
    pub const RKEY: usize = 24;
    /// Immediate, u32.
    pub const IMMEDIATE: usize = 28;
    /// Round id, u16.
    pub const ROUND: usize = 32;
    /// Sender's smoothed round-trip time, ticks, 0 = unknown, u16.
    pub const RTT: usize = 34;
    /// Send timestamp, ticks, u32.
    pub const TIMESTAMP: usize = 36;
}

/// Byte offsets inside a FEEDBACK TRH.
pub mod feedback {
    /// Version (high nibble) and type (low nibble).
    pub const VERSION_TYPE: usize = 0;
    /// [`fb`](super::fb) flags.
    pub const FLAGS: usize = 1;
    /// Entropy value of the packet answered.
    pub const EV: usize = 2;
    /// [`Status`](crate::status::Status) of COMPLETE and ABORT.
    pub const STATUS: usize = 3;
    /// Message id, u32.
    pub const MESSAGE: usize = 4;
    /// Every index below has arrived, 24 bits.
    pub const CUMULATIVE: usize = 8;
    /// Feedback sequence of the context, serial modulo 256.
    pub const SEQUENCE: usize = 11;
    /// The sender may send indexes below, 24 bits.
    pub const GRANT: usize = 12;
    /// Duplicates seen in all, saturating.
    pub const DUPLICATES: usize = 15;
    /// Bitmap base, a multiple of 256, 24 bits.
    pub const BASE: usize = 16;
    /// NACK limit, 24 bits.
    pub const LIMIT: usize = 19;
    /// Feedback delay, ticks, 0xFFFF = no sample, u16.
    pub const DELAY: usize = 22;
    /// Echo of the send timestamp, 0 with delay 0xFFFF = no sample, u32.
    pub const ECHO: usize = 24;
    /// Bitmap, 32 bytes; index base + i is bit i % 8 of byte i / 8.
    pub const BITMAP: usize = 28;
}

/// Delay of a feedback that carries no round-trip sample.
pub const NO_SAMPLE: u16 = 0xFFFF;

/// TRH of DATA and PROBE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DataHeader {
    /// A PROBE (else DATA).
    pub probe: bool,
    /// [`flag`]s.
    pub flags: u8,
    /// Entropy value.
    pub ev: u8,
    /// log2 payload size.
    pub payload_log2: u8,
    /// Traffic class.
    pub traffic_class: u8,
    /// Message.
    pub message: MessageId,
    /// Packet index (PROBE: next index).
    pub index: u32,
    /// Initial window on the wire (0 = 256).
    pub initial_window: u8,
    /// Message length, bytes.
    pub length: u32,
    /// Tag or remote address.
    pub tag: u64,
    /// Remote key.
    pub rkey: u32,
    /// Immediate.
    pub immediate: u32,
    /// Round id.
    pub round: u16,
    /// Sender's smoothed RTT, ticks.
    pub rtt: u16,
    /// Send timestamp, ticks.
    pub timestamp: u32,
}

/// TRH of FEEDBACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FeedbackHeader {
    /// [`fb`] flags.
    pub flags: u8,
    /// Entropy value of the packet answered.
    pub ev: u8,
    /// Status code.
    pub status: u8,
    /// Message.
    pub message: MessageId,
    /// Every index below has arrived.
    pub cumulative: u32,
    /// Feedback sequence.
    pub sequence: u8,
    /// The sender may send indexes below.
    pub grant: u32,
    /// Duplicates seen, saturating.
    pub duplicates: u8,
    /// Bitmap base.
    pub base: u32,
    /// NACK limit.
    pub limit: u32,
    /// Feedback delay, ticks.
    pub delay: u16,
    /// Echo of the send timestamp, ticks.
    pub echo: u32,
    /// Arrival bitmap from `base`.
    pub bitmap: [u8; 32],
}

/// TRH of RELEASE, laid out as that of a PROBE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReleaseHeader {
    /// Entropy value.
    pub ev: u8,
    /// The message that will never be emitted again.
    pub message: MessageId,
    /// Send timestamp, ticks.
    pub timestamp: u32,
}

/// A Tessera packet's TRH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trh {
    /// DATA or PROBE.
    Data(DataHeader),
    /// FEEDBACK.
    Feedback(FeedbackHeader),
    /// RELEASE.
    Release(ReleaseHeader),
}

impl DataHeader {
    /// The round it is part of.
    pub fn round(&self) -> Option<u16> {
        (self.flags & flag::ROUND != 0).then_some(self.round)
    }

    /// Reads a 40-byte TRH.
    pub fn parse(b: &[u8; TRH_DATA_LEN]) -> Self {
        let mut tag = [0; 8];
        tag.copy_from_slice(&b[data::TAG..data::TAG + 8]);
        Self {
            probe: b[data::VERSION_TYPE] & 0xF == TYPE_PROBE,
            flags: b[data::FLAGS],
            ev: b[data::EV],
            payload_log2: b[data::SIZE_CLASS] >> 4,
            traffic_class: b[data::SIZE_CLASS] & 0xF,
            message: MessageId(u32_at(b, data::MESSAGE)),
            index: u24_at(b, data::INDEX),
            initial_window: b[data::INITIAL_WINDOW],
            length: u32_at(b, data::LENGTH),
            tag: u64::from_be_bytes(tag),
            rkey: u32_at(b, data::RKEY),
            immediate: u32_at(b, data::IMMEDIATE),
            round: u16_at(b, data::ROUND),
            rtt: u16_at(b, data::RTT),
            timestamp: u32_at(b, data::TIMESTAMP),
        }
    }

    /// Writes a 40-byte TRH.
    pub fn emit(&self) -> [u8; TRH_DATA_LEN] {
        let mut b = [0; TRH_DATA_LEN];
        b[data::VERSION_TYPE] = (TRH_VERSION << 4) | if self.probe { TYPE_PROBE } else { TYPE_DATA };
        b[data::FLAGS] = self.flags;
        b[data::EV] = self.ev;
        b[data::SIZE_CLASS] = (self.payload_log2 << 4) | (self.traffic_class & 0xF);
        put(&mut b, data::MESSAGE, &self.message.0.to_be_bytes());
        put24(&mut b, data::INDEX, self.index);
        b[data::INITIAL_WINDOW] = self.initial_window;
        put(&mut b, data::LENGTH, &self.length.to_be_bytes());
        put(&mut b, data::TAG, &self.tag.to_be_bytes());
        put(&mut b, data::RKEY, &self.rkey.to_be_bytes());
        put(&mut b, data::IMMEDIATE, &self.immediate.to_be_bytes());
        put(&mut b, data::ROUND, &self.round.to_be_bytes());
        put(&mut b, data::RTT, &self.rtt.to_be_bytes());
        put(&mut b, data::TIMESTAMP, &self.timestamp.to_be_bytes());
        b
    }

    /// Packets sent unasked: the wire value 0 means 256.
    pub const fn initial_window_packets(&self) -> u32 {
        if self.initial_window == 0 {
            256
        } else {
            self.initial_window as u32
        }
    }
}

impl ReleaseHeader {
    /// Reads a 40-byte TRH.
    pub fn parse(b: &[u8; TRH_DATA_LEN]) -> Self {
        Self {
            ev: b[data::EV],
            message: MessageId(u32_at(b, data::MESSAGE)),
            timestamp: u32_at(b, data::TIMESTAMP),
        }
    }

    /// Writes a 40-byte TRH.
    pub fn emit(&self) -> [u8; TRH_DATA_LEN] {
        let mut b = [0; TRH_DATA_LEN];
        b[data::VERSION_TYPE] = (TRH_VERSION << 4) | TYPE_RELEASE;
        b[data::EV] = self.ev;
        put(&mut b, data::MESSAGE, &self.message.0.to_be_bytes());
        put(&mut b, data::TIMESTAMP, &self.timestamp.to_be_bytes());
        b
    }
}

impl FeedbackHeader {
    /// Reads a 60-byte TRH.
    pub fn parse(b: &[u8; TRH_FEEDBACK_LEN]) -> Self {
        let mut bitmap = [0; 32];
        bitmap.copy_from_slice(&b[feedback::BITMAP..]);
        Self {
            flags: b[feedback::FLAGS],
            ev: b[feedback::EV],
            status: b[feedback::STATUS],
            message: MessageId(u32_at(b, feedback::MESSAGE)),
            cumulative: u24_at(b, feedback::CUMULATIVE),
            sequence: b[feedback::SEQUENCE],
            grant: u24_at(b, feedback::GRANT),
            duplicates: b[feedback::DUPLICATES],
            base: u24_at(b, feedback::BASE),
            limit: u24_at(b, feedback::LIMIT),
            delay: u16_at(b, feedback::DELAY),
            echo: u32_at(b, feedback::ECHO),
            bitmap,
        }
    }

    /// Writes a 60-byte TRH.
    pub fn emit(&self) -> [u8; TRH_FEEDBACK_LEN] {
        let mut b = [0; TRH_FEEDBACK_LEN];
        b[feedback::VERSION_TYPE] = (TRH_VERSION << 4) | TYPE_FEEDBACK;
        b[feedback::FLAGS] = self.flags;
        b[feedback::EV] = self.ev;
        b[feedback::STATUS] = self.status;
        put(&mut b, feedback::MESSAGE, &self.message.0.to_be_bytes());
        put24(&mut b, feedback::CUMULATIVE, self.cumulative);
        b[feedback::SEQUENCE] = self.sequence;
        put24(&mut b, feedback::GRANT, self.grant);
        b[feedback::DUPLICATES] = self.duplicates;
        put24(&mut b, feedback::BASE, self.base);
        put24(&mut b, feedback::LIMIT, self.limit);
        put(&mut b, feedback::DELAY, &self.delay.to_be_bytes());
        put(&mut b, feedback::ECHO, &self.echo.to_be_bytes());
        put(&mut b, feedback::BITMAP, &self.bitmap);
        b
    }
}
