//! What a host has told its NIC, read off its register writes: settings,
//! addresses, tables, and the entries behind each doorbell.
//!
//! ```text
//!   register write ─┬─ TABLE_DATA .. TABLE_COMMAND ──> endpoint, key, place
//!                   ├─ doorbell ── ring in host memory ──> entries up to the new tail
//!                   └─ any other ──> settings, identity
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tessera_abi::queue::{RECV_ENTRY_LEN, SEND_ENTRY_LEN};
use tessera_abi::regs::{self, endpoint, mr, table, Reg};
use tessera_abi::wire::DEFAULT_PKEY;
use tessera_model::queue::{RecvEntry, SendEntry};
use tessera_model::settings::{Endpoint, Identity, MemoryKey, PathPolicy, Settings};

use crate::nic::HostMemory;

/// Policies in the order of their numbers.
const POLICIES: [PathPolicy; 5] = [
    PathPolicy::Single,
    PathPolicy::RoundRobin,
    PathPolicy::Random,
    PathPolicy::Recycle,
    PathPolicy::Weighted,
];

/// Where a register's value is kept.
type Place = fn(&mut Settings) -> &mut u32;

/// Registers that are one number of [`Settings`]; policy, first path and seed are
/// the others.
const NUMBERS: [(Reg, Place); 32] = [
    (regs::PATH_COUNT, |s| &mut s.path_count),
    (regs::GAP0, |s| &mut s.gap0),
    (regs::SKEW0, |s| &mut s.skew0),
    (regs::SKEW_MAX, |s| &mut s.skew_max),
    (regs::GUARD, |s| &mut s.guard),
    (regs::D_MIN, |s| &mut s.d_min),
    (regs::RTT_DEFAULT, |s| &mut s.rtt_default),
    (regs::RTO, |s| &mut s.rto),
    (regs::MAX_RETRY, |s| &mut s.max_retry),
    (regs::T_OPEN, |s| &mut s.t_open),
    (regs::GRANT_WAIT, |s| &mut s.grant_wait),
    (regs::RX_GIVE_UP, |s| &mut s.rx_give_up),
    (regs::TIME_WAIT, |s| &mut s.time_wait),
    (regs::BUSY_WAIT, |s| &mut s.busy_wait),
    (regs::MPL, |s| &mut s.mpl),
    (regs::RELEASE_LOW, |s| &mut s.release_low),
    (regs::ANSWER0, |s| &mut s.answer0),
    (regs::LD_POLICY, |s| &mut s.ld_policy),
    (regs::LD_FIXED, |s| &mut s.ld_fixed),
    (regs::RTO_ROUND, |s| &mut s.rto_round),
    (regs::NACK_BURST, |s| &mut s.nack_burst),
    (regs::ACK_EVERY, |s| &mut s.ack_every),
    (regs::INITIAL_WINDOW, |s| &mut s.initial_window),
    (regs::UNSOLICITED_LIMIT, |s| &mut s.unsolicited_limit),
    (regs::CREDIT_LIMIT, |s| &mut s.credit_limit),
    (regs::GRANT_QUANTUM, |s| &mut s.grant_quantum),
    (regs::CREDIT_POLICY, |s| &mut s.credit_policy),
    (regs::CREDIT_EACH, |s| &mut s.credit_each),
    (regs::CREDIT_DELAY, |s| &mut s.credit_delay),
    (regs::TURN_POLICY, |s| &mut s.turn_policy),
    (regs::DSCP, |s| &mut s.dscp),
    (regs::CLASS_SIZES, |s| &mut s.class_sizes),
];

/// Registers that make a NIC behave as `settings` say, seed apart.
pub fn registers(settings: &Settings) -> Vec<(Reg, u32)> {
    let mut settings = *settings;
    let policy = POLICIES.iter().position(|&policy| policy == settings.path_policy).unwrap_or(0);
    let mut all = vec![(regs::PATH_POLICY, policy as u32), (regs::PATH_BASE, settings.path_base.into())];
    all.extend(NUMBERS.iter().map(|(reg, place)| (*reg, *place(&mut settings))));
    all
}

/// What a register write means to the scoreboard.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Told {
    Endpoint {
        index: u16,
        endpoint: Option<Endpoint>,
    },
    Key {
        index: u8,
        key: Option<MemoryKey>,
    },
    Send {
        endpoint: u32,
        index: u16,
        entry: SendEntry,
        payload: Vec<u8>,
    },
    Recv {
        endpoint: u32,
        index: u16,
        entry: RecvEntry,
    },
    Round {
        endpoint: u32,
        round: u16,
        messages: u16,
    },
    Order {
        handle: u32,
        order: u32,
    },
    /// RESET was written.
    Resetting,
    /// It is over: a driver writes nothing before.
    Reset,
}

/// A ring in host memory.
#[derive(Clone, Copy, Debug, Default)]
struct Ring {
    base: u64,
    log2: u32,
    tail: u16,
}

/// An endpoint table entry's number and rings.
#[derive(Clone, Copy, Debug, Default)]
struct Rings {
    number: u32,
    sends: Ring,
    recvs: Ring,
}

/// See the module's page.
pub(super) struct Tap {
    pub(super) identity: Identity,
    pub(super) settings: Settings,
    /// Places of policy `weighted`.
    pub(super) places: Vec<u8>,
    memory: Arc<HostMemory>,
    word: [u32; regs::TABLE_WORDS],
    rings: BTreeMap<u32, Rings>,
    /// RECOVER_MESSAGE.
    handle: u32,
    resetting: bool,
    /// What register writes meant when they were made, the oldest first.
    told: VecDeque<Vec<Told>>,
}

/// Bytes of `value`, the first in its upper byte, over `bytes`.
fn put(bytes: &mut [u8], value: u32) {
    let from = 4 - bytes.len();
    bytes.copy_from_slice(&value.to_be_bytes()[from..]);
}

impl Tap {
    pub(super) fn new(memory: Arc<HostMemory>) -> Self {
        Self {
            identity: Identity { mac: [0; 6], ip: [0; 4], ip6: [0; 16], vlan: 0, pkey: DEFAULT_PKEY },
            settings: Settings::default(),
            places: vec![0; regs::path::PLACES],
            memory,
            word: [0; regs::TABLE_WORDS],
            rings: BTreeMap::new(),
            handle: 0,
            resetting: false,
            told: VecDeque::new(),
        }
    }

    /// Takes a register write while the entries it is about are in their rings.
    pub(super) fn see(&mut self, offset: u32, value: u32) {
        let told = self.wrote(offset, value);
        self.told.push_back(told);
    }

    /// What the oldest register write that was not asked for meant.
    pub(super) fn next(&mut self) -> Vec<Told> {
        self.told.pop_front().unwrap_or_default()
    }

    fn wrote(&mut self, offset: u32, value: u32) -> Vec<Told> {
        if offset == regs::RESET.offset {
            let begins = value & 1 != 0 && !self.resetting;
            self.resetting |= begins;
            return begins.then_some(Told::Resetting).into_iter().collect();
        }
        let over = std::mem::take(&mut self.resetting).then(|| {
            // Settings and addresses are written anew.
            self.rings.clear();
            self.places.fill(0);
            Told::Reset
        });
        over.into_iter().chain(self.means(offset, value)).collect()
    }

    fn means(&mut self, offset: u32, value: u32) -> Vec<Told> {
        let first_page = regs::doorbell_page(0);
        let table = regs::TABLE_DATA..regs::TABLE_DATA + 4 * regs::TABLE_WORDS as u32;
        if offset >= first_page {
            let page = regs::doorbell_page(1) - first_page;
            return self.doorbell((offset - first_page) / page, offset % page, value);
        }
        if table.contains(&offset) {
            self.word[((offset - regs::TABLE_DATA) / 4) as usize] = value;
        } else if offset == regs::TABLE_COMMAND.offset {
            if value >> 31 != 0 {
                return self.table(value >> 24 & 0xF, value & 0xFFFF).into_iter().collect();
            }
        } else if offset == regs::RECOVER_MESSAGE.offset {
            self.handle = value;
        } else if offset == regs::RECOVER_ORDER.offset {
            return vec![Told::Order { handle: self.handle, order: value }];
        } else {
            self.register(offset, value);
        }
        Vec::new()
    }

    fn register(&mut self, offset: u32, value: u32) {
        let own = &mut self.identity;
        match offset {
            _ if offset == regs::LOCAL_MAC_LO.offset => put(&mut own.mac[2..], value),
            _ if offset == regs::LOCAL_MAC_HI.offset => put(&mut own.mac[..2], value),
            _ if offset == regs::LOCAL_IP.offset => put(&mut own.ip, value),
            _ if offset == regs::LOCAL_IP6_0.offset => put(&mut own.ip6[..4], value),
            _ if offset == regs::LOCAL_IP6_1.offset => put(&mut own.ip6[4..8], value),
            _ if offset == regs::LOCAL_IP6_2.offset => put(&mut own.ip6[8..12], value),
            _ if offset == regs::LOCAL_IP6_3.offset => put(&mut own.ip6[12..], value),
            _ if offset == regs::PKEY.offset => own.pkey = value as u16,
            _ if offset == regs::VLAN.offset => own.vlan = value as u16,
            _ if offset == regs::SEED.offset => self.settings.seed = value.max(1),
            _ if offset == regs::PATH_BASE.offset => self.settings.path_base = value as u8,
            _ if offset == regs::PATH_POLICY.offset => {
                self.settings.path_policy = POLICIES[(value as usize).min(POLICIES.len() - 1)];
            }
            _ => {
                if let Some((_, place)) = NUMBERS.iter().find(|(reg, _)| reg.offset == offset) {
                    *place(&mut self.settings) = value;
                }
            }
        }
    }

    fn field(&self, (lsb, width): (usize, usize)) -> u64 {
        let bit = |at: usize| u64::from(self.word[at / 32] >> (at % 32) & 1);
        (0..width).map(|i| bit(lsb + i) << i).sum()
    }

    fn is(&self, field: (usize, usize)) -> bool {
        self.field(field) != 0
    }

    fn table(&mut self, number: u32, index: u32) -> Option<Told> {
        match number {
            table::ENDPOINT => {
                let ring =
                    |base, log2| Ring { base: self.field(base), log2: self.field(log2) as u32, tail: 0 };
                let rings = Rings {
                    number: (self.field(endpoint::NUMBER_HI) as u32) << 8 | index,
                    sends: ring(endpoint::SQ_BASE, endpoint::SQ_LOG2),
                    recvs: ring(endpoint::RQ_BASE, endpoint::RQ_LOG2),
                };
                self.rings.insert(index, rings);
                let shares = self.is(endpoint::SHARES);
                let endpoint = self.is(endpoint::VALID).then(|| Endpoint {
                    number: rings.number,
                    qkey: self.field(endpoint::QKEY) as u32,
                    shared_ring: shares.then(|| self.field(endpoint::SHARED_RING) as u16),
                    rx_quota: self.field(endpoint::RX_QUOTA) as u16,
                    tx_quota: self.field(endpoint::TX_QUOTA) as u16,
                    pd: self.field(endpoint::PD) as u16,
                    datagram: self.is(endpoint::DATAGRAM),
                    tags: self.is(endpoint::TAGS),
                });
                Some(Told::Endpoint { index: index as u16, endpoint })
            }
            table::MR => {
                let key = self.is(mr::VALID).then(|| MemoryKey {
                    key: (self.field(mr::KEY_HI) as u32) << 8 | index,
                    base: self.field(mr::BASE),
                    length: self.field(mr::LENGTH),
                    pd: self.field(mr::PD) as u16,
                    local_write: self.is(mr::LOCAL_WRITE),
                    remote_write: self.is(mr::REMOTE_WRITE),
                });
                Some(Told::Key { index: index as u8, key })
            }
            table::PATH => {
                if let Some(place) = self.places.get_mut(index as usize) {
                    *place = self.word[0] as u8;
                }
                None
            }
            _ => None,
        }
    }

    fn doorbell(&mut self, index: u32, register: u32, value: u32) -> Vec<Told> {
        let Some(rings) = self.rings.get_mut(&index) else { return Vec::new() };
        let (endpoint, memory) = (rings.number, &self.memory);
        match register {
            regs::DOORBELL_SQ => entries::<SEND_ENTRY_LEN>(memory, &mut rings.sends, value)
                .map(|(index, bytes)| {
                    let entry = SendEntry::parse(&bytes);
                    let mut payload = vec![0; entry.length as usize];
                    memory.read(entry.address, &mut payload);
                    Told::Send { endpoint, index, entry, payload }
                })
                .collect(),
            regs::DOORBELL_RQ => entries::<RECV_ENTRY_LEN>(memory, &mut rings.recvs, value)
                .map(|(index, bytes)| Told::Recv { endpoint, index, entry: RecvEntry::parse(&bytes) })
                .collect(),
            regs::DOORBELL_ROUND => {
                vec![Told::Round { endpoint, round: value as u16, messages: (value >> 16) as u16 }]
            }
            _ => Vec::new(),
        }
    }
}

/// The entries of a ring up to a new tail, with their running indexes.
fn entries<'a, const N: usize>(
    memory: &'a HostMemory,
    ring: &mut Ring,
    value: u32,
) -> impl Iterator<Item = (u16, [u8; N])> + 'a {
    let Ring { base, log2, tail } = *ring;
    ring.tail = value as u16;
    (0..ring.tail.wrapping_sub(tail)).map(move |i| {
        let index = tail.wrapping_add(i);
        let place = u64::from(index) & ((1 << log2) - 1);
        let mut bytes = [0; N];
        memory.read(base + place * N as u64, &mut bytes);
        (index, bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_say_settings_and_back() {
        let mut settings =
            Settings { path_policy: PathPolicy::Weighted, path_base: 7, ..Settings::default() };
        for (n, (_, place)) in NUMBERS.iter().enumerate() {
            *place(&mut settings) = 1000 + n as u32;
        }
        let mut tap = Tap::new(Arc::default());
        for (reg, value) in registers(&settings) {
            assert_eq!(tap.wrote(reg.offset, value), []);
        }
        assert_eq!(tap.settings, settings);
    }
}
