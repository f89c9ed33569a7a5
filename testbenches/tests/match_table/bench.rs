//! `match_table` between a host that posts, a lookup that asks and a completion
//! queue, beside the reference.

use std::collections::{BTreeMap, VecDeque};
use tessera_abi::params::{Config, NIC512};
use tessera_abi::regs::{endpoint, table};
use tessera_abi::status::Status;
use tessera_rtl::rx::MatchTable;
use tessera_sim::tb::{cycle, Pattern, Rng, StreamDriver, StreamMonitor};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::host::{reset, Broadcast, Pulse};

/// Thirty-two receives; eight, for a table that is often full.
pub const SMALL: Config = Config { tagged_log2: 5, ..NIC512 };
pub const TINY: Config = Config { tagged_log2: 3, ..NIC512 };
/// No table.
pub const NONE: Config = Config { tagged_log2: 0, ..NIC512 };
/// Clocks of the seed's expansion and around it.
const KEYING: u64 = 560;
/// What `done.event` says.
pub const ENDED: u64 = 0;
pub const POSTED: u64 = 1;
pub const UNEXPECTED: u64 = 2;
pub const CANCELLED: u64 = 3;

pub fn design(top: &str, config: &'static Config) -> Design {
    tessera_testbenches::design_for(top, config, MatchTable::new)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Post {
    pub endpoint: u8,
    pub entry: u16,
    pub tag: u64,
    pub address: u64,
    pub length: u32,
    /// Handle and entry of the receive to cancel.
    pub cancel: Option<(u16, u16)>,
    /// Of the endpoint, when the block took it.
    pub life: u64,
    /// The most there was since then: it is told of later than it is judged.
    pub crowd: Crowd,
}

/// Receives in the table, those of one endpoint, and keys. What a purge has not
/// found yet counts in all three.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Crowd {
    pub all: usize,
    pub mine: usize,
    pub keys: usize,
}

impl Crowd {
    pub fn max(self, other: Self) -> Self {
        Self {
            all: self.all.max(other.all),
            mine: self.mine.max(other.mine),
            keys: self.keys.max(other.keys),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    pub entry: u16,
    pub address: u64,
    pub length: u32,
    pub handle: u16,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ask {
    Idle,
    /// Waits for its answer: (endpoint, tag, since).
    Open(u8, u64, u64),
    /// Answered: what matches.
    Known(u8, u64, Option<Held>),
}

pub struct Ports {
    pub ask: PortId,
    pub ask_endpoint: PortId,
    pub ask_tag: PortId,
    pub known: PortId,
    pub settle: PortId,
    pub take: PortId,
    pub unexpected: PortId,
    pub purging: PortId,
    pub full: PortId,
    pub answer: [PortId; 4],
    pub opened: [PortId; 8],
}

pub struct Bench<'a> {
    pub dut: &'a mut Dut,
    pub host: Broadcast,
    pub posts: StreamDriver,
    pub dones: StreamMonitor,
    pub ports: Ports,
    pub capacity: usize,
    pub lives: BTreeMap<u8, u64>,
    pub quotas: BTreeMap<u8, usize>,
    pub tagless: Vec<u8>,
    /// Oldest first.
    pub held: BTreeMap<(u8, u64), VecDeque<Held>>,
    /// Receives of past lives that may still take a place, by endpoint.
    pub past: BTreeMap<u8, usize>,
    pub offered: VecDeque<Post>,
    pub taken: VecDeque<Post>,
    pub handled: usize,
    pub ask: Ask,
    /// An UNEXPECTED is due, of this tag and entry.
    pub owed: Option<(u8, u64, u16)>,
    /// (event, status) of all that was told.
    pub told: Vec<(u64, u64)>,
    pub fulls: u64,
    /// Clocks from an ask to its answer, at most.
    pub slowest: u64,
}

impl<'a> Bench<'a> {
    pub fn new(dut: &'a mut Dut, config: &Config, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        let port = |name: &str| dut.port(name).unwrap();
        let ports = Ports {
            ask: port("ask"),
            ask_endpoint: port("ask_endpoint"),
            ask_tag: port("ask_tag"),
            known: port("known"),
            settle: port("settle"),
            take: port("take"),
            unexpected: port("unexpected"),
            purging: port("purging"),
            full: port("event_full"),
            answer: ["available", "address", "length", "entry"].map(|f| port(&format!("answer.{f}"))),
            opened: ["endpoint", "tag", "entry", "length", "slot", "generation", "flags", "imm"]
                .map(|f| port(&format!("opened.{f}"))),
        };
        let settings = ["settings.enable", "settings.seed"].map(port);
        for quiet in [ports.ask, ports.settle, ports.take, ports.unexpected, settings[0]] {
            dut.set(quiet, 0u64);
        }
        dut.set(settings[1], rng.bits(32) | 1);
        for name in ["post_valid", "done_ready", "table_write.valid"] {
            let quiet = dut.port(name).unwrap();
            dut.set(quiet, 0u64);
        }
        reset(dut);
        dut.set(settings[0], 1u64);
        dut.clock_by(KEYING);
        let mut bench = Bench {
            host: Broadcast::new(dut),
            posts: StreamDriver::new(dut, "post", idle, rng).unwrap(),
            dones: StreamMonitor::new(dut, "done", stall, rng).unwrap(),
            ports,
            capacity: config.tagged(),
            lives: BTreeMap::new(),
            quotas: BTreeMap::new(),
            tagless: Vec::new(),
            held: BTreeMap::new(),
            past: BTreeMap::new(),
            offered: VecDeque::new(),
            taken: VecDeque::new(),
            handled: 0,
            ask: Ask::Idle,
            owed: None,
            told: Vec::new(),
            fulls: 0,
            slowest: 0,
            dut,
        };
        for index in 0..4 {
            bench.endpoint(index, true, 0);
        }
        bench
    }

    /// Begins a new life of an endpoint.
    pub fn endpoint(&mut self, index: u8, tags: bool, quota: usize) {
        self.tagless.retain(|other| *other != index);
        if !tags {
            self.tagless.push(index);
        }
        self.quotas.insert(index, quota);
        self.host.table(
            table::ENDPOINT,
            index.into(),
            &[(endpoint::VALID, 1), (endpoint::TAGS, tags.into()), (endpoint::RX_QUOTA, quota as u64)],
        );
        while self.host.pending() > 0 {
            self.clock();
        }
        self.clock();
    }

    pub fn post(&mut self, post: Post) {
        let (handle, target) = post.cancel.unwrap_or_default();
        let word = self.posts.shape().pack(&[
            ("endpoint", post.endpoint.into()),
            ("entry", post.entry.into()),
            ("tag", post.tag),
            ("address", post.address),
            ("length", post.length.into()),
            ("cancel", post.cancel.is_some().into()),
            ("handle", handle.into()),
            ("target", target.into()),
        ]);
        self.posts.send(word);
        self.offered.push_back(post);
    }

    pub fn receive(&mut self, endpoint: u8, tag: u64, entry: u16) {
        let address = u64::from(entry) << 20 | tag << 40;
        let length = u32::from(entry) + 1;
        self.post(Post {
            endpoint,
            entry,
            tag,
            address,
            length,
            cancel: None,
            life: 0,
            crowd: Crowd::default(),
        });
    }

    pub fn cancel(&mut self, endpoint: u8, tag: u64, entry: u16, handle: u16, target: u16) {
        let cancel = Some((handle, target));
        self.post(Post {
            endpoint,
            entry,
            tag,
            address: 1,
            length: 2,
            cancel,
            life: 0,
            crowd: Crowd::default(),
        });
    }

    pub fn ask(&mut self, endpoint: u8, tag: u64) {
        assert_eq!(self.ask, Ask::Idle);
        self.dut.set(self.ports.ask, 1u64);
        self.dut.set(self.ports.ask_endpoint, endpoint);
        self.dut.set(self.ports.ask_tag, tag);
        self.ask = Ask::Open(endpoint, tag, self.dut.cycles());
    }

    /// The packet is judged: opened if `open`, then with the match or without.
    pub fn settle(&mut self, open: bool, entry: u16) {
        let matched = matches!(self.ask, Ask::Known(_, _, Some(_)));
        let known = matches!(self.ask, Ask::Known(..));
        self.dut.set(self.ports.settle, 1u64);
        self.dut.set(self.ports.take, open && matched);
        self.dut.set(self.ports.unexpected, open && known && !matched);
        if let Ask::Known(endpoint, tag, matching) = self.ask {
            let words = [endpoint.into(), tag, entry.into(), 4711, 0xABC, 0xDEF01, 0, 0];
            for (port, value) in self.ports.opened.iter().zip(words) {
                self.dut.set(*port, value);
            }
            if open && matching.is_some() {
                let list = self.held.get_mut(&(endpoint, tag)).unwrap();
                assert_eq!(list.pop_front(), matching);
            }
            if open && matching.is_none() {
                self.owed = Some((endpoint, tag, entry));
            }
        }
        // The packet after it may ask in the same clock; here it does not.
        self.dut.set(self.ports.ask, 0u64);
        self.ask = Ask::Idle;
        self.clock();
        self.dut.set(self.ports.settle, 0u64);
    }

    pub fn clock(&mut self) {
        let mut taken = std::mem::take(&mut self.taken);
        for post in &mut taken {
            post.crowd = post.crowd.max(self.crowd(post.endpoint));
        }
        self.taken = taken;
        let before = self.posts.sent();
        cycle(self.dut, &mut [&mut self.host, &mut self.posts, &mut self.dones]);
        self.fulls += self.dut.sampled(self.ports.full);
        if self.posts.sent() != before {
            let mut post = self.offered.pop_front().unwrap();
            post.life = *self.lives.get(&post.endpoint).unwrap_or(&0);
            self.taken.push_back(post);
        }
        if self.dut.sampled(self.ports.purging) == 0 {
            // What is posted in a past life is told of first, so none is on its way here.
            self.past.clear();
        }
        let pulses = self.host.made[self.handled..].to_vec();
        for (_, pulse) in pulses {
            if let Pulse::Table { table: table::ENDPOINT, index, .. } = pulse {
                let index = index as u8;
                *self.lives.entry(index).or_default() += 1;
                let lists = self.held.iter_mut().filter(|((of, _), _)| *of == index);
                *self.past.entry(index).or_default() +=
                    lists.map(|(_, list)| list.drain(..).count()).sum::<usize>();
            }
        }
        self.handled = self.host.made.len();
        while let Some(transfer) = self.dones.take() {
            let shape = self.dones.shape().clone();
            self.tell(|name| shape.get(&transfer.word, name));
        }
        if let Ask::Open(endpoint, tag, since) = self.ask {
            if self.dut.sampled(self.ports.known) != 0 {
                let [available, address, length, entry] =
                    self.ports.answer.map(|port| self.dut.sampled(port));
                let oldest = self.held.get(&(endpoint, tag)).and_then(|list| list.front()).copied();
                assert_eq!(available != 0, oldest.is_some(), "endpoint {endpoint} tag {tag:x}");
                if let Some(held) = oldest {
                    assert_eq!(
                        (address, length, entry),
                        (held.address, held.length.into(), held.entry.into()),
                        "endpoint {endpoint} tag {tag:x}"
                    );
                }
                self.slowest = self.slowest.max(self.dut.cycles() - since);
                self.ask = Ask::Known(endpoint, tag, oldest);
            }
        }
    }

    pub fn crowd(&self, endpoint: u8) -> Crowd {
        let of = |list: &VecDeque<Held>| list.len();
        let mine = self.held.iter().filter(|((other, _), _)| *other == endpoint);
        let past: usize = self.past.values().sum();
        Crowd {
            all: self.held.values().map(of).sum::<usize>() + past,
            mine: mine.map(|(_, list)| of(list)).sum::<usize>()
                + self.past.get(&endpoint).copied().unwrap_or(0),
            keys: self.held.values().filter(|list| !list.is_empty()).count() + past,
        }
    }

    pub fn tell(&mut self, get: impl Fn(&str) -> u64) {
        let (event, status) = (get("event"), get("status"));
        self.told.push((event, status));
        assert_eq!(get("receive"), 1);
        if event == UNEXPECTED {
            let (endpoint, tag, entry) = self.owed.take().expect("nothing was unexpected");
            let told = (get("endpoint"), get("tag"), get("entry"), get("length"), get("own"));
            assert_eq!(told, (endpoint.into(), tag, entry.into(), 4711, 0));
            assert_eq!((get("slot"), get("generation"), status), (0xABC, 0xDEF01, 0));
            return;
        }
        let post = self.taken.pop_front().expect("told of what was not posted");
        let told = (get("endpoint"), get("entry"), get("tag"), get("own"));
        assert_eq!(told, (post.endpoint.into(), post.entry.into(), post.tag, 1), "{post:x?}");
        let alive = post.life == self.lives[&post.endpoint];
        let list = self.held.entry((post.endpoint, post.tag)).or_default();
        if let Some((handle, target)) = post.cancel {
            assert_eq!(event, CANCELLED);
            let place = list.iter().position(|held| (held.handle, held.entry) == (handle, target));
            let expected = if place.is_some() { Status::Success } else { Status::NotPosted };
            // On its way when the life ended, it may still have found its receive.
            assert!(!alive || status == expected as u64, "{status}: {post:x?} of {list:x?}");
            if let Some(place) = place.filter(|_| alive) {
                list.remove(place);
            }
            return;
        }
        let all: usize = self.held.values().map(VecDeque::len).sum();
        let mine: usize =
            self.held.iter().filter(|((of, _), _)| *of == post.endpoint).map(|(_, list)| list.len()).sum();
        let quota = self.quotas[&post.endpoint];
        let within = |held: usize| quota == 0 || held < quota;
        if self.tagless.contains(&post.endpoint) {
            assert_eq!((event, status), (ENDED, Status::BadRequest as u64), "{post:x?}");
        } else if event == POSTED {
            assert_eq!(status, 0);
            assert!(all < self.capacity && within(mine), "{post:x?}: no room for it");
            let handle = get("length") as u16;
            assert!(usize::from(handle) < self.capacity);
            let taken = self.held.values().flatten().any(|held| held.handle == handle);
            assert!(!taken, "handle {handle} is given out twice");
            let Post { endpoint, entry, tag, address, length, .. } = post;
            if alive {
                let held = Held { entry, address, length, handle };
                self.held.entry((endpoint, tag)).or_default().push_back(held);
            } else {
                *self.past.entry(endpoint).or_default() += 1;
            }
        } else {
            assert_eq!((event, status), (ENDED, Status::NoTagSpace as u64), "{post:x?}");
            assert_eq!(get("length"), u64::from(post.length));
            // Two sets are full with eight keys at the least.
            let crowd = post.crowd.max(self.crowd(post.endpoint));
            let surely = crowd.all < self.capacity && within(crowd.mine) && crowd.keys < 8;
            assert!(!surely, "{post:x?} is refused with room for it");
        }
    }

    /// Until everything is told.
    pub fn rest(&mut self) {
        for _ in 0..20_000 {
            if self.offered.is_empty() && self.taken.is_empty() && self.owed.is_none() {
                return;
            }
            self.clock();
        }
        panic!("{} posts are not taken, {} not told of", self.offered.len(), self.taken.len());
    }

    pub fn answer(&mut self, endpoint: u8, tag: u64) -> Option<Held> {
        self.ask(endpoint, tag);
        for _ in 0..200 {
            self.clock();
            if let Ask::Known(_, _, held) = self.ask {
                return held;
            }
        }
        panic!("no answer");
    }
}
