//! What `lookup` must do, with maps and plain arithmetic; and its hash, so that
//! even conflicts are predicted.

use super::record::Record;
use std::collections::{BTreeMap, VecDeque};
use tessera_abi::params::Config;
use tessera_abi::status::Status;
use tessera_abi::wire::{fb, flag, generation_age, Age};
use tessera_testbenches::tabulation::{hash, tables};

pub const EVENTS: [&str; 9] = [
    "stale",
    "busy_receive",
    "busy_resources",
    "busy_conflict",
    "busy_quota",
    "no_context",
    "finished",
    "opened",
    "ud_receive",
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Held {
    Context { number: u64, away: bool },
    Tombstone { status: u8, until: u64 },
}

#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub key: (u128, u128, u128),
    pub generation: u32,
    pub held: Held,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Posted {
    pub address: u64,
    pub length: u32,
    pub entry: u16,
    /// log2 of its packets per chunk, and of its area in units of 64 bytes.
    pub area: Option<(u8, u8)>,
}

impl Posted {
    pub fn area_len(&self) -> u64 {
        self.area.map_or(0, |(_, k)| 64 << k)
    }

    pub fn room(&self) -> u64 {
        u64::from(self.length) - self.area_len()
    }

    //= HR-1 test
    //= HR-2 test
    fn is_too_short(&self, packet: &Record, recovers: bool) -> bool {
        let blocks = packet.get("count").div_ceil(256) as u64;
        let told = |(n, k): (u8, u8)| 32 + (32 >> n) * blocks <= 64 << k;
        let untold = self.hosts(packet, recovers) && !self.area.is_some_and(told);
        u128::from(self.room()) < packet.get("length") || untold
    }

    /// `recovers`: the NIC lets its host recover.
    fn hosts(&self, packet: &Record, recovers: bool) -> bool {
        let flags = packet.get("flags") as u8;
        let asked = flags & (flag::HOST_RECOVERY | flag::WRITE) == flag::HOST_RECOVERY;
        recovers && self.area.is_some() && asked && packet.get("count") > 1
    }
}

/// What a packet must cause.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub work: Option<Record>,
    pub feedback: Option<Record>,
    pub event: Option<&'static str>,
    /// It opened with a receive of the ring though its endpoint matches tags.
    pub unexpected: bool,
}

pub struct Reference {
    sets: usize,
    /// Its host may recover.
    recovers: bool,
    limit: usize,
    /// Of the hash.
    words: Vec<[u32; 32]>,
    /// Ways of the sets of both tables.
    pub tables: [Vec<[Option<Entry>; 4]>; 2],
    pub free: VecDeque<u64>,
    /// By ring.
    pub receives: BTreeMap<u8, VecDeque<Posted>>,
    /// Tagged receives of the endpoints in `tags`, by endpoint and tag.
    pub tagged: BTreeMap<(u8, u64), VecDeque<Posted>>,
    pub tags: Vec<u8>,
    /// Ring and quota of an endpoint; its own and none where it is not told.
    pub tenants: BTreeMap<u8, (u8, usize)>,
    /// Whose the numbers are that are out.
    owners: BTreeMap<u64, u8>,
    pub block_available: bool,
    /// The last answer was that the receive is on its way.
    pub late: bool,
    pub time_wait: u64,
    pub mpl: u64,
    /// RELEASE_LOW.
    pub low: u32,
    pub events: BTreeMap<&'static str, u64>,
}

/// The sets of a key in both tables: pieces of the key from the slot's lowest bit
/// to the GID's highest.
pub fn sets_of(tables: &[[u32; 32]], (gid, endpoint, slot): (u128, u128, u128)) -> (usize, usize) {
    // Above 36 bits of endpoint and slot stand the 128 of the GID.
    let low = (endpoint << 12) | slot | gid << 36;
    let high = gid >> (128 - 36);
    let piece = |at: usize| match at {
        0..124 => low >> at,
        124..128 => low >> at | high << (128 - at),
        _ => high >> (at - 128),
    };
    let hash = hash(tables, |number| (piece(5 * number) & 0x1f) as usize) as usize;
    (hash & 0x1fff, hash >> 13)
}

impl Reference {
    pub fn new(config: &Config, seed: u32, time_wait: u64) -> Self {
        let sets = 1 << config.table_sets_log2;
        Reference {
            sets,
            limit: config.tombstones,
            recovers: config.host_recovery,
            words: tables(seed, 33),
            tables: [vec![[None; 4]; sets], vec![[None; 4]; sets]],
            free: (0..1 << config.rx_contexts_log2).collect(),
            receives: BTreeMap::new(),
            tagged: BTreeMap::new(),
            tags: Vec::new(),
            tenants: BTreeMap::new(),
            owners: BTreeMap::new(),
            block_available: true,
            late: false,
            time_wait,
            mpl: time_wait,
            low: 0,
            events: EVENTS.iter().map(|event| (*event, 0)).collect(),
        }
    }

    fn set_of(&self, table: usize, key: (u128, u128, u128)) -> usize {
        let (set0, set1) = sets_of(&self.words, key);
        [set0, set1][table] % self.sets
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.tables.iter().flatten().flatten().flatten()
    }

    fn entries_mut(&mut self) -> impl Iterator<Item = &mut Option<Entry>> {
        self.tables.iter_mut().flatten().flatten()
    }

    pub fn entry(&self, key: (u128, u128, u128)) -> Option<&Entry> {
        self.entries().find(|entry| entry.key == key)
    }

    pub fn tombstones(&self) -> usize {
        self.entries().filter(|entry| matches!(entry.held, Held::Tombstone { .. })).count()
    }

    /// Numbers whose entry is a context, and whether it was sent away.
    pub fn contexts(&self) -> Vec<(u64, bool)> {
        let context = |entry: &Entry| match entry.held {
            Held::Context { number, away } => Some((number, away)),
            Held::Tombstone { .. } => None,
        };
        self.entries().filter_map(context).collect()
    }

    pub fn tenant(&self, endpoint: u8) -> (u8, usize) {
        *self.tenants.get(&endpoint).unwrap_or(&(endpoint, 0))
    }

    /// Context numbers of an endpoint that are out.
    pub fn numbers_of(&self, endpoint: u8) -> Vec<u64> {
        let theirs = self.owners.iter().filter(|(_, owner)| **owner == endpoint);
        theirs.map(|(number, _)| *number).collect()
    }

    pub fn held_by(&self, endpoint: u8) -> usize {
        self.numbers_of(endpoint).len()
    }

    fn vacancy(&self, key: (u128, u128, u128)) -> Option<(usize, usize, usize)> {
        let filled = |table: usize| self.tables[table][self.set_of(table, key)].iter().flatten().count();
        let table = usize::from(filled(1) < filled(0));
        let set = self.set_of(table, key);
        let way = self.tables[table][set].iter().position(Option::is_none)?;
        Some((table, set, way))
    }

    pub fn packet(&mut self, now: u64, packet: &Record) -> Outcome {
        let mut outcome = Outcome::default();
        let key = (packet.get("src_gid"), packet.get("src_endpoint"), packet.get("slot"));
        let generation = packet.get("generation") as u32;
        let est = packet.get("flags") as u8 & flag::EST != 0;
        if packet.get("payload_len") != 0 {
            outcome.work = Some(work(packet, 2, 0, None));
        }
        if packet.get("ud") != 0 {
            return self.datagram(packet);
        }
        let found = self.entry(key).copied();
        if packet.get("release") != 0 {
            return self.release(now, packet, found);
        }
        let mut replaces = false;
        if let Some(entry) = found {
            match (generation_age(generation, entry.generation), entry.held) {
                (Age::Older, _) => {
                    outcome.event = Some("stale");
                    return self.counted(outcome);
                }
                (Age::Same, Held::Context { number, .. }) => {
                    let mut found = work(packet, 0, number, None);
                    found.set("denied", packet.get("denied"));
                    outcome.work = Some(found);
                    return self.counted(outcome);
                }
                (Age::Same, Held::Tombstone { status, .. }) => {
                    let mut answer = feedback(packet, fb::ABORT, status);
                    if status == Status::Success as u8 {
                        //= RL-3 test
                        let left = self.limit - self.entries().count();
                        let low = self.low != 0 && left < self.limit >> self.low;
                        let wish = if low { fb::RELEASE_REQ } else { 0 };
                        answer = feedback(packet, fb::COMPLETE | wish, status);
                        answer.set("cumulative", packet.get("count"));
                        answer.set("grant", packet.get("count"));
                    }
                    outcome.feedback = Some(answer);
                    outcome.event = Some("finished");
                    return self.counted(outcome);
                }
                (Age::Newer, Held::Context { number, away }) => {
                    if !away {
                        outcome.work = Some(work(packet, 3, number, None));
                        for entry in self.entries_mut().flatten().filter(|entry| entry.key == key) {
                            entry.held = Held::Context { number, away: true };
                        }
                    }
                    outcome.feedback = Some(feedback(packet, fb::BUSY, 0));
                    outcome.event = Some("busy_resources");
                    return self.counted(outcome);
                }
                (Age::Newer, Held::Tombstone { .. }) => replaces = true,
            }
        }
        if est {
            outcome.feedback = Some(feedback(packet, fb::ABORT, Status::NoContext as u8));
            outcome.event = Some("no_context");
            return self.counted(outcome);
        }
        let remembered = self.entries().count() - usize::from(replaces);
        let endpoint = packet.get("endpoint") as u8;
        let (ring, quota) = self.tenant(endpoint);
        let used_up = quota != 0 && self.held_by(endpoint) >= quota;
        let posted = self.receives.entry(ring).or_default();
        let front = posted.front().copied().filter(|_| !self.late);
        outcome.feedback = Some(feedback(packet, fb::BUSY, 0));
        let place = if replaces { None } else { self.vacancy(key) };
        let refused = if !replaces && place.is_none() {
            Some("busy_conflict")
        } else if self.free.is_empty() || !self.block_available || remembered >= self.limit {
            Some("busy_resources")
        } else if used_up {
            Some("busy_quota")
        } else {
            None
        };
        //= WR-1 test
        let flags = packet.get("flags") as u8;
        let write = flags & flag::WRITE != 0;
        let denied = packet.get("denied") != 0;
        let key_of_tag = (endpoint, packet.get("tag") as u64);
        let matching = self.tagged.get(&key_of_tag).and_then(|list| list.front()).copied();
        let matching = matching.filter(|_| !write && self.tags.contains(&endpoint));
        let receive = matching.or(front);
        let asks = !write || flags & flag::IMM != 0;
        let refused = refused.or((!denied && asks && receive.is_none()).then_some("busy_receive"));
        if refused.is_none() {
            let mut barred = None;
            if denied {
                barred = Some(Status::RemoteAccess as u8);
                // Also without payload: the word is what is counted.
                let mut word = work(packet, 2, 0, None);
                word.set("denied", 1);
                outcome.work = Some(word);
            } else if !write && receive.is_some_and(|r| r.is_too_short(packet, self.recovers)) {
                barred = Some(Status::Length as u8);
            }
            let held = if let Some(status) = barred {
                outcome.feedback = Some(feedback(packet, fb::ABORT, status));
                Held::Tombstone { status, until: now + self.time_wait }
            } else {
                let receive = receive.filter(|_| asks);
                if matching.is_some() {
                    self.tagged.get_mut(&key_of_tag).unwrap().pop_front();
                } else if asks {
                    self.receives.get_mut(&ring).unwrap().pop_front();
                    outcome.unexpected = !write && self.tags.contains(&endpoint);
                }
                let number = self.free.pop_front().unwrap();
                self.owners.insert(number, endpoint);
                outcome.feedback = None;
                outcome.event = Some("opened");
                let mut word = work(packet, 1, number, receive);
                if write {
                    word.set("buffer", packet.get("tag"));
                }
                word.set("own", u128::from(matching.is_some()));
                let hosts = receive.is_some_and(|receive| receive.hosts(packet, self.recovers));
                word.set("host", u128::from(hosts));
                if let Some(receive) = receive.filter(|_| !write) {
                    let start = receive.address.wrapping_add(receive.area_len());
                    word.set("buffer", u128::from(start));
                }
                if let Some((n, k)) = receive.and_then(|receive| receive.area).filter(|_| hosts) {
                    word.set("chunk_log2", u128::from(n));
                    word.set("area_log2", u128::from(k));
                }
                outcome.work = Some(word);
                Held::Context { number, away: false }
            };
            let entry = Some(Entry { key, generation, held });
            match place {
                Some((table, set, way)) => self.tables[table][set][way] = entry,
                None => {
                    for place in self.entries_mut().filter(|place| place.is_some_and(|e| e.key == key)) {
                        *place = entry;
                    }
                }
            }
        } else {
            outcome.event = refused;
        }
        self.counted(outcome)
    }

    //= RL-2 test
    fn release(&mut self, now: u64, packet: &Record, found: Option<Entry>) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(entry) = found else { return outcome };
        match generation_age(packet.get("generation") as u32, entry.generation) {
            Age::Older => {
                outcome.event = Some("stale");
                return self.counted(outcome);
            }
            Age::Newer => return outcome,
            Age::Same => {}
        }
        let held = match entry.held {
            Held::Context { number, away: false } => {
                let mut word = work(packet, 3, number, None);
                word.set("released", 1);
                outcome.work = Some(word);
                Held::Context { number, away: true }
            }
            Held::Tombstone { status, until } => Held::Tombstone { status, until: until.min(now + self.mpl) },
            held @ Held::Context { .. } => held,
        };
        for place in self.entries_mut().flatten().filter(|e| e.key == entry.key) {
            place.held = held;
        }
        outcome
    }

    /// UD-3: the first receive of the endpoint's ring, or nothing.
    fn datagram(&mut self, packet: &Record) -> Outcome {
        let mut outcome = Outcome::default();
        let (ring, _) = self.tenant(packet.get("endpoint") as u8);
        let posted = self.receives.entry(ring).or_default();
        let fits = |receive: &&Posted| u128::from(receive.length) >= packet.get("payload_len");
        let receive = posted.front().filter(fits).copied().filter(|_| !self.late);
        if receive.is_some() {
            posted.pop_front();
        } else {
            outcome.event = Some("ud_receive");
        }
        let mut word = work(packet, 2, 0, receive);
        word.set("ud", u128::from(receive.is_some()));
        outcome.work = Some(word);
        self.counted(outcome)
    }

    fn counted(&mut self, outcome: Outcome) -> Outcome {
        if let Some(event) = outcome.event {
            *self.events.get_mut(event).unwrap() += 1;
        }
        outcome
    }

    pub fn retire(&mut self, now: u64, context: u64, bury: bool, status: u8, free: bool) {
        let released = status == Status::Released as u8;
        let until = now + if released { self.mpl } else { self.time_wait };
        if bury {
            let of_context =
                |entry: &&mut Entry| matches!(entry.held, Held::Context { number, .. } if number == context);
            let mut entries = self.entries_mut().flatten().filter(of_context);
            entries.next().expect("the test buries a context").held = Held::Tombstone { status, until };
        }
        if free {
            self.owners.remove(&context);
            self.free.push_back(context);
        }
    }

    /// Forgets the tombstones whose time is over.
    pub fn expire(&mut self, now: u64) {
        for place in self.entries_mut() {
            if matches!(place, Some(Entry { held: Held::Tombstone { until, .. }, .. }) if *until < now) {
                *place = None;
            }
        }
    }
}

fn work(packet: &Record, verdict: u128, context: u64, receive: Option<Posted>) -> Record {
    let mut work = packet.without("release");
    work.set("verdict", verdict);
    work.set("released", 0);
    work.set("denied", 0);
    // Without a verdict on a context or an opening these carry nothing.
    if verdict != 2 {
        work.set("context", u128::from(context));
    }
    if let Some(receive) = receive {
        work.set("buffer", u128::from(receive.address));
        work.set("entry", u128::from(receive.entry));
    }
    work
}

/// RO-7, RO-2: an answer without a context.
fn feedback(packet: &Record, flags: u8, status: u8) -> Record {
    let mut feedback = Record::default();
    let ce = if packet.get("ce") != 0 { fb::CE } else { 0 };
    feedback.set("flags", u128::from(flags | ce));
    feedback.set("status", u128::from(status));
    feedback.set("sample", 1);
    let copied = [
        ("dst_mac", "src_mac"),
        ("dst_gid", "src_gid"),
        ("dst_endpoint", "src_endpoint"),
        ("endpoint", "endpoint"),
        ("ev_echo", "ev"),
        ("slot", "slot"),
        ("generation", "generation"),
        ("arrival", "arrival"),
        ("echo", "timestamp"),
    ];
    for (to, from) in copied {
        feedback.set(to, packet.get(from));
    }
    for zero in ["cumulative", "sequence", "grant", "duplicates", "base", "limit", "bitmap"] {
        feedback.set(zero, 0);
    }
    feedback
}
