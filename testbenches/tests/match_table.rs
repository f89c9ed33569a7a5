//! `rx::MatchTable`: which receive a tag matches, in which order, and what is
//! told of it. Rules TM-1 to TM-6.

use std::collections::{BTreeMap, VecDeque};
use tessera_abi::params::{Config, NIC512};
use tessera_abi::regs::{endpoint, table};
use tessera_abi::status::Status;
use tessera_rtl::rx::MatchTable;
use tessera_sim::tb::{self, cycle, Pattern, Rng, StreamDriver, StreamMonitor};
use tessera_sim::verilator::{Design, Dut, PortId};
use tessera_testbenches::host::{reset, Broadcast, Pulse};

/// Thirty-two receives; eight, for a table that is often full.
const SMALL: Config = Config { tagged_log2: 5, ..NIC512 };
const TINY: Config = Config { tagged_log2: 3, ..NIC512 };
/// Clocks of the seed's expansion and around it.
const KEYING: u64 = 420;
/// What `done.event` says.
const ENDED: u64 = 0;
const POSTED: u64 = 1;
const UNEXPECTED: u64 = 2;
const CANCELLED: u64 = 3;

fn design(top: &str, config: &'static Config) -> Design {
    tessera_testbenches::design(top, move || MatchTable::new(config))
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Post {
    endpoint: u8,
    entry: u16,
    tag: u64,
    address: u64,
    length: u32,
    /// Handle and entry of the receive to cancel.
    cancel: Option<(u16, u16)>,
    /// Of the endpoint, when the block took it.
    life: u64,
    /// The most there was since then: it is told of later than it is judged.
    crowd: Crowd,
}

/// Receives in the table, those of one endpoint, and keys. What a purge has not
/// found yet counts in all three.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Crowd {
    all: usize,
    mine: usize,
    keys: usize,
}

impl Crowd {
    fn max(self, other: Self) -> Self {
        Self {
            all: self.all.max(other.all),
            mine: self.mine.max(other.mine),
            keys: self.keys.max(other.keys),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    entry: u16,
    address: u64,
    length: u32,
    handle: u16,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Ask {
    Idle,
    /// Waits for its answer: (endpoint, tag, since).
    Open(u8, u64, u64),
    /// Answered: what matches.
    Known(u8, u64, Option<Held>),
}

struct Ports {
    ask: PortId,
    ask_endpoint: PortId,
    ask_tag: PortId,
    known: PortId,
    settle: PortId,
    take: PortId,
    unexpected: PortId,
    purging: PortId,
    full: PortId,
    answer: [PortId; 4],
    opened: [PortId; 8],
}

struct Bench<'a> {
    dut: &'a mut Dut,
    host: Broadcast,
    posts: StreamDriver,
    dones: StreamMonitor,
    ports: Ports,
    capacity: usize,
    lives: BTreeMap<u8, u64>,
    quotas: BTreeMap<u8, usize>,
    tagless: Vec<u8>,
    /// Oldest first.
    held: BTreeMap<(u8, u64), VecDeque<Held>>,
    /// Receives of past lives that may still take a place, by endpoint.
    past: BTreeMap<u8, usize>,
    offered: VecDeque<Post>,
    taken: VecDeque<Post>,
    handled: usize,
    ask: Ask,
    /// An UNEXPECTED is due, of this tag and entry.
    owed: Option<(u8, u64, u16)>,
    /// (event, status) of all that was told.
    told: Vec<(u64, u64)>,
    fulls: u64,
    /// Clocks from an ask to its answer, at most.
    slowest: u64,
}

impl<'a> Bench<'a> {
    fn new(dut: &'a mut Dut, config: &Config, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
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
            capacity: 1 << config.tagged_log2,
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
    fn endpoint(&mut self, index: u8, tags: bool, quota: usize) {
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

    fn post(&mut self, post: Post) {
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

    fn receive(&mut self, endpoint: u8, tag: u64, entry: u16) {
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

    fn cancel(&mut self, endpoint: u8, tag: u64, entry: u16, handle: u16, target: u16) {
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

    fn ask(&mut self, endpoint: u8, tag: u64) {
        assert_eq!(self.ask, Ask::Idle);
        self.dut.set(self.ports.ask, 1u64);
        self.dut.set(self.ports.ask_endpoint, endpoint);
        self.dut.set(self.ports.ask_tag, tag);
        self.ask = Ask::Open(endpoint, tag, self.dut.cycles());
    }

    /// The packet is judged: opened if `open`, then with the match or without.
    fn settle(&mut self, open: bool, entry: u16) {
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

    fn clock(&mut self) {
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

    fn crowd(&self, endpoint: u8) -> Crowd {
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

    fn tell(&mut self, get: impl Fn(&str) -> u64) {
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
    fn rest(&mut self) {
        for _ in 0..20_000 {
            if self.offered.is_empty() && self.taken.is_empty() && self.owed.is_none() {
                return;
            }
            self.clock();
        }
        panic!("{} posts are not taken, {} not told of", self.offered.len(), self.taken.len());
    }

    fn answer(&mut self, endpoint: u8, tag: u64) -> Option<Held> {
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

//= TM-2 test
#[test]
fn equal_tags_match_in_the_order_posted() {
    tb::run("match_table::order", &design("match_table", &SMALL), |dut, rng| {
        let mut bench = Bench::new(dut, &SMALL, Pattern::Always, Pattern::Always, rng);
        for entry in 0..12 {
            bench.receive(entry as u8 % 2, 5 + u64::from(entry / 6), entry);
        }
        bench.rest();
        for (endpoint, tag, expected) in [(0, 5, [0, 2, 4]), (1, 5, [1, 3, 5]), (1, 6, [7, 9, 11])] {
            for entry in expected {
                assert_eq!(bench.answer(endpoint, tag).map(|held| held.entry), Some(entry));
                bench.settle(true, 0);
            }
            assert_eq!(bench.answer(endpoint, tag), None);
            bench.settle(false, 0);
        }
        // All 64 bits of the tag count, and the endpoint.
        for bit in 0..64 {
            assert_eq!(bench.answer(0, 6 ^ 1 << bit), None);
            bench.settle(false, 0);
        }
        assert_eq!(bench.answer(2, 6), None);
        bench.settle(true, 77);
        bench.rest();
        assert_eq!(bench.told.last(), Some(&(UNEXPECTED, 0)));
        // What is answered and not opened stays.
        for _ in 0..3 {
            assert_eq!(bench.answer(0, 6).map(|held| held.entry), Some(6));
            bench.settle(false, 0);
        }
        // Six of them the ask's own, the others a sweep step's.
        assert!(bench.slowest <= 14, "{} clocks to an answer", bench.slowest);
    });
}

//= TM-4 test
#[test]
fn a_cancel_takes_exactly_its_receive() {
    tb::run("match_table::cancel", &design("match_table", &SMALL), |dut, rng| {
        for first in [0usize, 2, 4] {
            let mut bench = Bench::new(dut, &SMALL, Pattern::Always, Pattern::Always, rng);
            for entry in 0..5 {
                bench.receive(1, 9, entry);
            }
            bench.rest();
            let list: Vec<Held> = bench.held[&(1, 9)].iter().copied().collect();
            let cancelled = list[first];
            // Another endpoint's, another tag's, another entry's: none of its business.
            for (endpoint, tag, target) in
                [(2, 9, cancelled.entry), (1, 8, cancelled.entry), (1, 9, cancelled.entry + 1)]
            {
                bench.cancel(endpoint, tag, 100, cancelled.handle, target);
            }
            bench.cancel(1, 9, 101, cancelled.handle, cancelled.entry);
            bench.cancel(1, 9, 102, cancelled.handle, cancelled.entry);
            bench.rest();
            let ends: Vec<u64> = bench.told[5..].iter().map(|told| told.1).collect();
            let missed = Status::NotPosted as u64;
            assert_eq!(ends, [missed, missed, missed, 0, missed]);
            // The list is whole around the gap, and goes on.
            bench.receive(1, 9, 5);
            bench.rest();
            let order: Vec<u16> = (0..6).filter(|entry| *entry != first as u16).collect();
            for entry in order {
                assert_eq!(bench.answer(1, 9).map(|held| held.entry), Some(entry));
                bench.settle(true, 0);
            }
            assert_eq!(bench.answer(1, 9), None);
            bench.settle(false, 0);
        }
    });
}

/// Node memories are as deep as the table, handles 16 bits wide.
//= TM-4 test
#[test]
fn a_handle_beyond_the_table_names_no_receive() {
    for (config, name) in [(&SMALL, "match_table"), (&TINY, "match_table_tiny")] {
        tb::run(&format!("match_table::beyond {name}"), &design(name, config), |dut, rng| {
            let mut bench = Bench::new(dut, config, Pattern::Always, Pattern::Always, rng);
            // Alone under its key, and one of three.
            for (entry, tag) in [(0, 4), (1, 9), (2, 9), (3, 9)] {
                bench.receive(1, tag, entry);
            }
            bench.rest();
            for (tag, at) in [(4, 0), (9, 0), (9, 1), (9, 2)] {
                let held = bench.held[&(1, tag)][at];
                for bit in config.tagged_log2..16 {
                    bench.cancel(1, tag, 100 + bit as u16, held.handle | 1 << bit, held.entry);
                }
            }
            bench.rest();
            let missed = (CANCELLED, Status::NotPosted as u64);
            assert!(bench.told[4..].iter().all(|told| *told == missed), "{:?}", bench.told);
            // Nothing has changed: each matches in its turn, and there are as many numbers as places.
            for (tag, entry) in [(4, 0), (9, 1)] {
                assert_eq!(bench.answer(1, tag).map(|held| held.entry), Some(entry));
                bench.settle(true, 0);
            }
            for entry in 0..bench.capacity as u16 - 1 {
                bench.receive(2, 9, 200 + entry);
            }
            bench.rest();
            let refused = bench.told.iter().filter(|told| told.0 == ENDED).count();
            assert_eq!(refused, 1);
            for (endpoint, entries) in [(1, 2..4), (2, 200..200 + bench.capacity as u16 - 2)] {
                for entry in entries {
                    assert_eq!(bench.answer(endpoint, 9).map(|held| held.entry), Some(entry));
                    bench.settle(true, 0);
                }
                assert_eq!(bench.answer(endpoint, 9), None);
                bench.settle(false, 0);
            }
        });
    }
}

//= TM-3 test
#[test]
fn without_room_or_quota_a_post_is_refused_and_counted() {
    tb::run("match_table::full", &design("match_table_tiny", &TINY), |dut, rng| {
        let mut bench = Bench::new(dut, &TINY, Pattern::Always, Pattern::Always, rng);
        bench.endpoint(1, true, 2);
        bench.endpoint(3, false, 0);
        for entry in 0..3 {
            bench.receive(1, u64::from(entry), entry);
        }
        bench.receive(3, 1, 3);
        for entry in 4..11 {
            bench.receive(0, 1 << entry, entry);
        }
        bench.rest();
        let (posted, refused, odd) =
            ((POSTED, 0), (ENDED, Status::NoTagSpace as u64), (ENDED, Status::BadRequest as u64));
        assert_eq!(bench.told[..4], [posted, posted, refused, odd]);
        assert_eq!(bench.told[4..], [[posted; 6].as_slice(), &[refused]].concat());
        assert_eq!(bench.fulls, 2);
        // One taken gives room again, to its endpoint's quota too.
        assert!(bench.answer(1, 0).is_some());
        bench.settle(true, 0);
        bench.receive(1, 50, 20);
        bench.receive(1, 51, 21);
        bench.rest();
        assert_eq!(bench.told[11..], [posted, refused]);
    });
}

//= TM-5 test
#[test]
fn a_new_life_finds_nothing_of_the_last() {
    tb::run("match_table::life", &design("match_table", &SMALL), |dut, rng| {
        let mut bench = Bench::new(dut, &SMALL, Pattern::Always, Pattern::Always, rng);
        for entry in 0..20 {
            bench.receive(entry as u8 % 2, u64::from(entry / 4), entry);
        }
        bench.rest();
        let old = bench.held[&(0, 0)][0];
        bench.endpoint(0, true, 0);
        assert_eq!(bench.dut.sampled(bench.ports.purging), 1);
        assert_eq!(bench.answer(0, 0), None, "at once");
        bench.settle(false, 0);
        bench.cancel(0, 0, 90, old.handle, old.entry);
        bench.receive(0, 0, 91);
        bench.rest();
        assert_eq!(bench.told[20..], [(CANCELLED, Status::NotPosted as u64), (POSTED, 0)]);
        let begin = bench.dut.cycles();
        while bench.dut.sampled(bench.ports.purging) != 0 {
            bench.clock();
            assert!(bench.dut.cycles() < begin + 600, "the sweep never ends");
        }
        // Every place is back but those of the living.
        let living: usize = bench.held.values().map(VecDeque::len).sum();
        assert_eq!(living, 11);
        for entry in 0..(bench.capacity - living) as u16 + 1 {
            bench.receive(2, 7, 200 + entry);
        }
        bench.rest();
        let refused = bench.told.iter().filter(|told| told.0 == ENDED).count();
        assert_eq!(refused, 1);
        assert_eq!(bench.answer(0, 0).map(|held| held.entry), Some(91));
        bench.settle(true, 0);
        assert_eq!(bench.answer(1, 0).map(|held| held.entry), Some(1), "the other endpoint lives on");
        bench.settle(true, 0);
    });
}

/// With the same seed, and lives counted from the start again, anything that a
/// reset left in the tables would be found.
#[test]
fn a_reset_forgets_every_receive() {
    tb::run("match_table::reset", &design("match_table", &SMALL), |dut, rng| {
        let mut again = rng.clone();
        let mut bench = Bench::new(dut, &SMALL, Pattern::Always, Pattern::Always, rng);
        for entry in 0..28 {
            bench.receive(entry as u8 % 4, entry.into(), entry);
        }
        bench.rest();
        assert!(bench.told.iter().filter(|told| told.0 == POSTED).count() > 20);
        let mut bench = Bench::new(dut, &SMALL, Pattern::Always, Pattern::Always, &mut again);
        for entry in 0..28u64 {
            assert_eq!(bench.answer(entry as u8 % 4, entry), None);
            bench.settle(false, 0);
        }
    });
}

fn random(bench: &mut Bench, rng: &mut Rng, rounds: u64) {
    bench.endpoint(1, true, 3);
    bench.endpoint(3, false, 0);
    let mut entry = 0u16;
    let mut known: Vec<(u8, u64, Held)> = Vec::new();
    for _ in 0..rounds {
        if bench.offered.len() < 3 && rng.chance(0.3) {
            let (endpoint, tag) = (rng.below(4) as u8, 1 << rng.below(6));
            entry = entry.wrapping_add(1);
            if rng.chance(0.3) && !known.is_empty() {
                let (endpoint, tag, held) = *rng.pick(&known);
                // Some name a place that no table of this size has.
                let beyond =
                    if rng.chance(0.3) { (rng.bits(16) as u16) & !(bench.capacity as u16 - 1) } else { 0 };
                bench.cancel(endpoint, tag, entry, held.handle | beyond, held.entry);
            } else {
                bench.receive(endpoint, tag, entry);
            }
        }
        match bench.ask {
            Ask::Idle if rng.chance(0.3) => bench.ask(rng.below(3) as u8, 1 << rng.below(6)),
            Ask::Idle if rng.chance(0.01) => {
                let index = rng.below(3) as u8;
                let quota = bench.quotas[&index];
                bench.endpoint(index, true, quota);
            }
            Ask::Known(..) if rng.chance(0.5) => {
                let open = rng.chance(0.7);
                bench.settle(open, entry);
            }
            // Judged without its answer.
            Ask::Open(..) if rng.chance(0.05) => bench.settle(false, 0),
            _ => {}
        }
        bench.clock();
        if rng.chance(0.05) {
            let all = bench.held.iter().flat_map(|((e, t), list)| list.iter().map(|held| (*e, *t, *held)));
            known = all.collect();
        }
    }
    if let Ask::Open(..) | Ask::Known(..) = bench.ask {
        bench.settle(false, 0);
    }
    bench.rest();
}

//= TM-1 test
#[test]
fn random_posts_asks_and_cancels_match_the_reference() {
    for (config, name) in [(&SMALL, "match_table"), (&TINY, "match_table_tiny")] {
        let design = design(name, config);
        for (idle, stall) in Pattern::matrix() {
            tb::run(&format!("match_table::random {name} {idle:?} {stall:?}"), &design, |dut, rng| {
                let mut bench = Bench::new(dut, config, idle, stall, rng);
                random(&mut bench, rng, 6000);
                for event in [ENDED, POSTED, UNEXPECTED, CANCELLED] {
                    assert!(bench.told.iter().any(|told| told.0 == event), "event {event} never came");
                }
                for status in [Status::Success, Status::NotPosted] {
                    assert!(bench.told.contains(&(CANCELLED, status as u64)));
                }
            });
        }
    }
}

#[test]
fn the_full_size_elaborates_and_clears() {
    let design = tessera_testbenches::design("match_table_nic512", || MatchTable::new(&NIC512));
    tb::run("match_table::full_size", &design, |dut, _| {
        let [rst, ready] = ["rst", "ready"].map(|name| dut.port(name).unwrap());
        dut.set(rst, 1u64);
        dut.clock_by(2);
        dut.set(rst, 0u64);
        let start = dut.cycles();
        while dut.sampled(ready) == 0 {
            dut.clock();
            assert!(dut.cycles() < start + (1 << NIC512.tagged_log2) + 8);
        }
    });
}
