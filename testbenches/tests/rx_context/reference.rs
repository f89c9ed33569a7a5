//! What the context has to do, packet by packet, as plain arrays.

use std::collections::VecDeque;

pub const AR: u64 = 1;
pub const RETX: u64 = 2;
pub const WRITE: u64 = 4;
pub const HOST: u64 = tessera_abi::wire::flag::HOST_RECOVERY as u64;
pub const ROUND: u64 = 16;
pub const IMM: u64 = 32;
pub const COMPLETE: u64 = 1;
pub const NACK: u64 = 2;
pub const GRANT: u64 = 4;
pub const ABORT: u64 = 16;
pub const CE: u64 = 32;
pub const RELEASE_REQ: u64 = 64;
pub const SUCCESS: u64 = 0;
pub const GAVE_UP: u64 = 3;
pub const REPLACED: u64 = 4;
pub const REMOTE_DMA: u64 = 5;
pub const REMOTE_ACCESS: u64 = 6;
pub const PARTIAL: u64 = 7;
pub const RELEASED: u64 = 8;
pub const DESTROYED: u64 = 9;
pub const LOCAL_DMA: u64 = 21;

/// A word of the `work` stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packet {
    pub verdict: u64,
    /// Of verdict 3: it is the message's RELEASE.
    pub released: bool,
    /// Of verdict 3: the receiving endpoint is gone.
    pub destroyed: bool,
    pub context: u64,
    pub mac: u64,
    pub gid: [u64; 2],
    pub src_endpoint: u64,
    pub endpoint: u64,
    pub ce: bool,
    pub probe: bool,
    pub flags: u64,
    pub ev: u64,
    pub log2: u64,
    pub slot: u64,
    pub generation: u64,
    pub index: u64,
    pub window: u64,
    pub length: u64,
    pub tag: u64,
    pub rkey: u64,
    pub denied: bool,
    pub imm: u64,
    pub round: u64,
    pub rtt: u64,
    pub timestamp: u64,
    pub arrival: u64,
    pub buffer: u64,
    pub entry: u64,
    /// It is host-recovered, with an area of that shape.
    pub host: bool,
    pub chunk_log2: u64,
    pub area_log2: u64,
}

impl Packet {
    pub fn count(&self) -> u64 {
        self.length.div_ceil(1 << self.log2).max(1)
    }

    pub fn round(&self) -> Option<u64> {
        (self.flags & ROUND != 0).then_some(self.round)
    }

    /// A receive was taken for it, which a completion has to end.
    pub fn reports(&self) -> bool {
        self.flags & WRITE == 0 || self.flags & IMM != 0
    }

    pub fn payload(&self) -> u64 {
        if self.probe {
            0
        } else {
            bytes(self, self.index, self.index + 1)
        }
    }
}

/// Bytes of packets `from..to` of the packet's message.
pub fn bytes(of: &Packet, from: u64, to: u64) -> u64 {
    (to << of.log2).min(of.length) - (from << of.log2).min(of.length)
}

/// GR-7: the list of who has so many packets left, by its bounds.
pub fn list_of(left: u64) -> u64 {
    [4, 16, 64, 256, 1024, 4096, 16384].iter().filter(|bound| left >= **bound).count() as u64
}

/// GR-7: the lists of no round, and whose turn it is.
#[derive(Default)]
pub struct Turns {
    pub lists: [VecDeque<u64>; 8],
    row: u64,
    last: usize,
}

impl Turns {
    /// The list whose head is next; it has had its turn with that.
    pub fn choose(&mut self) -> usize {
        let waiting: Vec<usize> = (0..8).filter(|list| !self.lists[*list].is_empty()).collect();
        if self.row < 3 || waiting.len() == 1 {
            self.row = (self.row + 1).min(3);
            return waiting[0];
        }
        let others = &waiting[1..];
        self.row = 0;
        self.last = *others.iter().find(|list| **list > self.last).unwrap_or(&others[0]);
        self.last
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Open,
    /// Its fence is expected, then answered, then its completion was seen.
    Fencing,
    Fenced {
        error: bool,
    },
    Told,
    Answered,
    Buried,
}

/// Arrival-driven feedback to come.
#[derive(Clone, Debug)]
pub struct Reply {
    pub packet: Packet,
    pub cumulative: u64,
    pub duplicates: u64,
    pub bits: [u64; 4],
}

/// A message.
#[derive(Clone, Debug)]
pub struct Message {
    pub first: Packet,
    pub context: u64,
    /// Its first packet is judged.
    pub begun: bool,
    pub arrived: Vec<bool>,
    pub cumulative: u64,
    pub highest: u64,
    pub grant: u64,
    pub since: u64,
    pub sequence: u64,
    pub duplicates: u64,
    pub phase: Phase,
    pub status: u64,
    pub last: Packet,
    pub replies: VecDeque<Reply>,
    /// Ticks; the packet before.
    pub last_heard: u64,
    pub heard_before: u64,
    /// The oldest NACK of the present expiry: tick, cumulative, base.
    pub last_nack: Option<(u64, u64, u64)>,
    pub nacks: u64,
    /// Expiries with NACKs since the last new packet.
    pub unanswered: u64,
    /// Tick of the latest PROBE.
    pub probed: Option<u64>,
    pub freed: bool,
}

/// What a packet is answered with and where its payload goes.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    New,
    Duplicate,
    NotGranted,
    Mismatch,
    /// WR-1: it ends the message.
    Denied,
    Nothing,
}

impl Message {
    pub fn open(packet: &Packet) -> Self {
        let window = if packet.window == 0 { 256 } else { packet.window };
        Message {
            first: packet.clone(),
            context: packet.context,
            begun: false,
            arrived: vec![false; packet.count() as usize],
            cumulative: 0,
            highest: 0,
            grant: window.min(packet.count()),
            since: 0,
            sequence: 0,
            duplicates: 0,
            phase: Phase::Open,
            status: SUCCESS,
            last: packet.clone(),
            replies: VecDeque::new(),
            last_heard: 0,
            heard_before: 0,
            last_nack: None,
            nacks: 0,
            unanswered: 0,
            probed: None,
            freed: false,
        }
    }

    pub fn count(&self) -> u64 {
        self.first.count()
    }

    /// GR-1: granted bytes not arrived.
    pub fn credit(&self) -> u64 {
        if !self.begun || self.phase != Phase::Open {
            return 0;
        }
        // Before `cumulative` nothing is missing.
        (self.cumulative..self.grant)
            .filter(|i| !self.arrived[*i as usize])
            .map(|i| bytes(&self.first, i, i + 1))
            .sum()
    }

    /// GR-2: how far it may be granted.
    pub fn reach(&self) -> u64 {
        self.count().min((self.cumulative >> 8 << 8) + 1024)
    }

    /// The block at `base` as feedback shows it: no block yet is no information.
    pub fn bits(&self, base: u64) -> [u64; 4] {
        let mut bits = [0; 4];
        if base < self.grant {
            for i in 0..256 {
                let index = base + i;
                if index >= self.count() || self.arrived[index as usize] {
                    bits[i as usize / 64] |= 1 << (i % 64);
                }
            }
        }
        bits
    }

    /// Whether all of a packet's chunk has arrived.
    pub fn chunk_is_whole(&self, index: u64) -> bool {
        let first = index >> self.first.chunk_log2 << self.first.chunk_log2;
        let mut chunk = first..(first + (1 << self.first.chunk_log2)).min(self.count());
        chunk.all(|index| self.arrived[index as usize])
    }

    fn differs(&self, p: &Packet) -> bool {
        let f = &self.first;
        if (p.flags ^ f.flags) & (WRITE | HOST) != 0 || (f.flags & WRITE != 0 && p.rkey != f.rkey) {
            return true;
        }
        (p.length, p.log2, p.tag, p.flags & IMM, p.imm, p.window, p.endpoint, p.src_endpoint)
            != (f.length, f.log2, f.tag, f.flags & IMM, f.imm, f.window, f.endpoint, f.src_endpoint)
            || p.round() != f.round()
    }

    fn hear(&mut self, p: &Packet, now: u64) {
        self.heard_before = if p.verdict == 1 { now } else { self.last_heard };
        (self.last, self.last_heard) = (p.clone(), now);
    }

    /// RO-9, RC-1, RC-2, RC-3, RC-7.
    pub fn packet(&mut self, p: &Packet, now: u64, ack_every: u64) -> Verdict {
        if self.differs(p) {
            return Verdict::Mismatch;
        }
        if self.phase != Phase::Open {
            return if p.probe { Verdict::Nothing } else { Verdict::Duplicate };
        }
        if p.denied {
            self.phase = Phase::Fencing;
            self.status = REMOTE_ACCESS;
            return Verdict::Denied;
        }
        if !p.probe && p.index >= self.grant {
            if p.verdict == 1 {
                self.hear(p, now);
            }
            return Verdict::NotGranted;
        }
        self.hear(p, now);
        if p.probe {
            self.probed = Some(now);
        }
        let verdict = if p.probe {
            Verdict::Nothing
        } else if self.arrived[p.index as usize] {
            self.duplicates = (self.duplicates + 1).min(255);
            Verdict::Duplicate
        } else {
            self.arrived[p.index as usize] = true;
            self.unanswered = 0;
            self.highest = self.highest.max(p.index + 1);
            while self.cumulative < self.count() && self.arrived[self.cumulative as usize] {
                self.cumulative += 1;
            }
            self.since += 1;
            Verdict::New
        };
        if self.cumulative == self.count() {
            self.phase = Phase::Fencing;
            return verdict;
        }
        let answered = match verdict {
            Verdict::New => p.flags & AR != 0 || p.ce || self.since >= ack_every,
            Verdict::Duplicate => p.flags & AR != 0,
            _ => true,
        };
        if answered {
            self.since = 0;
            self.replies.push_back(Reply {
                packet: p.clone(),
                cumulative: self.cumulative,
                duplicates: self.duplicates,
                bits: self.bits(self.cumulative >> 8 << 8),
            });
        }
        verdict
    }
}
