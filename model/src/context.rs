//! The receiver's state of one open message (rules RC).
//!
//! A context knows its bitmap, its loss detection and its identity; who may
//! open it, credit and the wire belong to [`crate::receiver`].

use tessera_abi::params::BLOCK_PACKETS;
use tessera_abi::status::Drop;
use tessera_abi::wire::{self, fb, flag, DataHeader, FeedbackHeader};

use crate::bitmap::Window;
use crate::chunks::{self, Area};
use crate::feedback::{self, Outgoing, Reply};
use crate::grant;
use crate::interval::{Answered, Interval, Source, View};
use crate::lookup::{Key, Place};
use crate::queue::{Completion, RecvEntry};
use crate::rounds::Name;
use crate::rx_parse::Origin;
use crate::settings::Settings;
use crate::Ticks;

/// An open message.
#[derive(Clone, Debug, Hash)]
pub struct Context {
    /// Key.
    pub key: Key,
    /// Where the lookup tables hold it.
    pub place: Place,
    /// The packet that opened it: every immutable field.
    pub opener: DataHeader,
    /// Where replies go.
    pub reply: Reply,
    /// The receive it takes, with that entry's running index; none of a write
    /// without immediate.
    pub receive: Option<(u16, RecvEntry)>,
    /// The ring that entry is of.
    pub ring: u16,
    /// Packets of the message.
    pub count: u32,
    /// Where it tells of its chunks, if the host recovers it.
    pub area: Option<Area>,
    /// Arrival bits.
    pub window: Window,
    /// One past the highest index arrived.
    pub highest: u32,
    /// Indexes below may be sent.
    pub grant: u32,
    /// Different packets arrived.
    pub distinct: u32,
    /// Copies seen, saturating.
    pub duplicates: u8,
    /// Waits for credit.
    pub queued: bool,
    /// How often what is left of its round has halved.
    pub halvings: u32,
    /// Loss detection.
    pub interval: Interval,
    /// Expiries with NACKs since the last new packet.
    nacked: u32,
    sequence: u8,
    unanswered: u32,
}

/// What an accepted packet of a context asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Payload is to be written; `false` for duplicates and probes.
    pub new: bool,
    /// It is to be answered at once.
    pub answer: bool,
    /// Blocks the pool gets back.
    pub freed: u32,
    /// Skew sample.
    pub skew: Option<u32>,
    /// Sample of the time answers take.
    pub answered: Option<Answered>,
}

impl Context {
    /// Opens a context for `packet` at `now`.
    //= RO-8
    pub fn open(
        now: Ticks,
        place: Place,
        key: Key,
        origin: &Origin,
        packet: &DataHeader,
        (ring, receive, recovers): (u16, Option<(u16, RecvEntry)>, bool),
        settings: &Settings,
    ) -> Self {
        let count = wire::packet_count(packet.length, packet.payload_log2).unwrap_or(1);
        Self {
            key,
            place,
            opener: *packet,
            reply: Reply::to(origin),
            receive,
            ring,
            count,
            area: receive.and_then(|(_, entry)| chunks::area_of(&entry, packet, recovers)),
            window: Window::new(count),
            highest: 0,
            grant: packet.initial_window_packets().min(count),
            distinct: 0,
            duplicates: 0,
            queued: false,
            halvings: 0,
            interval: Interval::new(now, settings),
            nacked: 0,
            sequence: 0,
            unanswered: 0,
        }
    }

    /// Whether a packet tells the same story as the one that opened.
    //= RO-9
    pub fn matches(&self, origin: &Origin, packet: &DataHeader) -> bool {
        let own = &self.opener;
        let immediate = |header: &DataHeader| (header.flags & flag::IMM != 0).then_some(header.immediate);
        packet.length == own.length
            && packet.payload_log2 == own.payload_log2
            && packet.tag == own.tag
            && (packet.flags ^ own.flags) & (flag::WRITE | flag::HOST_RECOVERY) == 0
            && (own.flags & flag::WRITE == 0 || packet.rkey == own.rkey)
            && immediate(packet) == immediate(own)
            && packet.initial_window == own.initial_window
            && packet.round() == own.round()
            && origin.local.number == self.reply.local
    }

    /// Local endpoint's table index.
    pub fn endpoint(&self) -> u16 {
        (self.reply.local & 0xFF) as u16
    }

    /// The round it belongs to, if any.
    //= RD-2
    pub fn round(&self) -> Option<Name> {
        Some(((self.reply.local & 0xFF) as u8, self.opener.round()?))
    }

    /// A completion entry about this message.
    pub fn completion(&self, now: Ticks, opcode: u8, status: u8) -> Completion {
        let opener = &self.opener;
        Completion {
            opcode,
            status,
            immediate: (opener.flags & flag::IMM != 0).then_some(opener.immediate),
            write: opener.flags & flag::WRITE != 0,
            grh: false,
            tagged: false,
            endpoint: self.endpoint(),
            entry: self.receive.map_or(0, |(entry, _)| entry),
            length: opener.length,
            tag: opener.tag,
            message: opener.message,
            peer_endpoint: self.key.endpoint,
            peer_gid: self.key.gid,
            timestamp: now as u32,
            ring: self.ring,
        }
    }

    /// Where its first byte goes.
    pub fn base(&self) -> u64 {
        match self.receive {
            Some((_, entry)) if self.opener.flags & flag::WRITE == 0 => {
                entry.address + chunks::offset(&entry)
            }
            _ => self.opener.tag,
        }
    }

    /// Lowest index not arrived.
    pub fn cumulative(&self) -> u32 {
        self.window.cumulative()
    }

    /// What loss detection sees.
    pub fn view(&self) -> View {
        let cumulative = self.cumulative();
        let start = cumulative / BLOCK_PACKETS * BLOCK_PACKETS;
        let granted = self.grant.saturating_sub(start);
        let left = if self.distinct == self.count {
            0
        } else {
            self.window.bits(start / BLOCK_PACKETS).zeros_below(granted)
        };
        View { cumulative, highest: self.highest, grant: self.grant, left, halvings: self.halvings }
    }

    /// Granted bytes that have not arrived.
    pub fn owed(&self) -> u64 {
        let (length, log2) = (self.opener.length, self.opener.payload_log2);
        let granted = grant::bytes(length, log2, 0, self.grant);
        let last = self.count - 1;
        let short = (1u64 << log2) - wire::payload_len(length, log2, last) as u64;
        let arrived = ((self.distinct as u64) << log2) - if self.window.arrived(last) { short } else { 0 };
        granted - arrived
    }

    /// Its credit is lent to others.
    //= GR-5
    pub fn lends(&self, settings: &Settings) -> bool {
        self.nacked >= 2 && settings.credit_policy & 4 != 0
    }

    /// Bytes it counts for in `outstanding`.
    //= GR-1
    pub fn counts(&self, settings: &Settings) -> u64 {
        if self.lends(settings) {
            0
        } else {
            self.owed()
        }
    }

    /// A packet of this context.
    pub fn arrive(
        &mut self,
        now: Ticks,
        origin: &Origin,
        packet: &DataHeader,
        source: Source,
        settings: &Settings,
    ) -> Result<Arrived, Drop> {
        //= RC-1
        if !packet.probe && packet.index >= self.grant {
            return Err(Drop::NotGranted);
        }
        //= RC-3
        self.interval.heard(now, packet.rtt, settings);
        (self.reply.mac, self.reply.vlan) = (origin.mac, origin.vlan);
        let done = self.distinct == self.count;
        let new = !packet.probe && !self.window.arrived(packet.index);
        let mut arrived = Arrived {
            new: false,
            answer: packet.flags & flag::AR != 0 && !done,
            freed: 0,
            skew: None,
            answered: None,
        };
        //= HR-8
        if !packet.probe && packet.flags & flag::RETX != 0 && self.area.is_none() {
            arrived.answered = self.interval.answered(now, packet.index, new);
        }
        if packet.probe {
            //= RC-9
            arrived.answer = !done;
            let view = self.view();
            self.interval.probe(now, packet.index, &view, source, settings);
        } else if !new {
            self.duplicates = self.duplicates.saturating_add(1);
        } else {
            //= RC-2
            arrived.new = true;
            self.nacked = 0;
            arrived.freed = self.window.set(packet.index);
            self.distinct += 1;
            self.highest = self.highest.max(packet.index + 1);
            if packet.flags & flag::RETX == 0 {
                arrived.skew = self.interval.sample(now, packet);
            }
            //= RC-7
            self.unanswered += 1;
            arrived.answer |= origin.ce || self.unanswered >= settings.ack_every;
        }
        Ok(arrived)
    }

    /// Recomputes the loss-detection deadline.
    pub fn rearm(&mut self, now: Ticks, source: Source, settings: &Settings) {
        let view = self.view();
        self.interval.rearm(now, &view, source, settings);
    }

    //= RC-8
    fn report(&mut self, flags: u8, block: u32) -> FeedbackHeader {
        self.sequence = self.sequence.wrapping_add(1);
        self.unanswered = 0;
        FeedbackHeader {
            flags,
            cumulative: self.cumulative(),
            sequence: self.sequence,
            grant: self.grant,
            duplicates: self.duplicates,
            base: block * BLOCK_PACKETS,
            bitmap: self.window.bits(block).bytes(),
            ..feedback::blank(self.opener.message)
        }
    }

    fn current_block(&self) -> u32 {
        self.window.first().min((self.count - 1) / BLOCK_PACKETS)
    }

    /// The answer to `packet`, which arrived at `now`.
    pub fn answer(&mut self, now: Ticks, origin: &Origin, packet: &DataHeader, flags: u8) -> Outgoing {
        let mut header = self.report(flags | if origin.ce { fb::CE } else { 0 }, self.current_block());
        header.ev = packet.ev;
        header.echo = packet.timestamp;
        Outgoing { reply: self.reply, header, arrival: Some(now) }
    }

    /// Feedback no packet asked for.
    pub fn notice(&mut self, flags: u8, status: u8) -> Outgoing {
        let header = FeedbackHeader { status, ..self.report(flags, self.current_block()) };
        Outgoing { reply: self.reply, header, arrival: None }
    }

    /// What the host is told when packet `index` has been written, if anything.
    //= HR-4
    pub fn told(&self, index: u32) -> Option<(u64, Vec<u8>)> {
        let area = self.area?;
        let (block, bit) = (index / BLOCK_PACKETS, index % BLOCK_PACKETS);
        let bits = self.window.bits(block);
        area.complete(&bits, bit).then(|| area.told(block, &bits))
    }

    /// The NACK that the host orders, if anything is missing there.
    //= HR-6
    pub fn ordered(&mut self, limit: u32) -> Option<Outgoing> {
        let block = limit.min(self.count).checked_sub(1)? / BLOCK_PACKETS;
        let limit = limit.min(self.grant);
        let below = limit.saturating_sub(block * BLOCK_PACKETS);
        if self.window.bits(block).zeros_below(below) == 0 {
            return None;
        }
        let header = FeedbackHeader { limit, ..self.report(fb::NACK, block) };
        Some(Outgoing { reply: self.reply, header, arrival: None })
    }

    /// The deadline passed: NACKs, oldest block first, perhaps none.
    //= LD-4
    pub fn expire(&mut self, now: Ticks, source: Source, settings: &Settings) -> Vec<Outgoing> {
        let view = self.view();
        let ask = self.interval.expire(now, &view, source, settings);
        let first = self.window.first();
        let blocks = if ask.wide { ask.limit.div_ceil(BLOCK_PACKETS) } else { first + 1 };
        let mut nacks = Vec::new();
        let mut largest = 0;
        for block in first..blocks {
            let start = block * BLOCK_PACKETS;
            let below = ask.limit.saturating_sub(start);
            if nacks.len() == settings.nack_burst as usize {
                break;
            }
            if self.window.bits(block).zeros_below(below) == 0 {
                continue;
            }
            largest = ask.limit;
            //= HR-8
            if self.area.is_some() {
                break;
            }
            let header = FeedbackHeader { limit: ask.limit, ..self.report(fb::NACK, block) };
            nacks.push(Outgoing { reply: self.reply, header, arrival: None });
        }
        if largest == 0 {
            self.interval.postpone(now, source, settings);
        } else {
            self.nacked += 1;
            self.interval.nacked(now, &view, largest, source, settings);
        }
        nacks
    }
}
