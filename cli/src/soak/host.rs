//! The host program of one NIC in a round: five endpoints, one completion queue.

use std::collections::VecDeque;
use std::ops::Range;

use tessera_abi::wire::GRH_LEN;
use tessera_driver::{
    Access, AddressHandle, CompletionEvent, CompletionQueue, Context, ContextOptions, DatagramRequest,
    DeviceAttributes, DmaMemory, Endpoint, EndpointKind, EndpointOptions, MemoryRegion, PostError,
    RecvRequest, RemoteMemory, SendRequest, SharedReceive, Status, WorkCompletion, WriteRequest,
};
use tessera_model::settings::PathPolicy;
use tessera_sim::cluster::{addresses, ip6};
use tessera_sim::judged::{registers, Judged};
use tessera_sim::session::nic_seed;
use tessera_sim::tb::Rng;

use super::draw::{Habits, Kind, Message, Port, Round};
use super::recovery::{Outcome, Software};
use super::round::Violated;

/// Entries of the endpoint table that a host takes: four for messages, their shared
/// ring, and one for datagrams.
pub const ENTRIES_NEEDED: usize = Port::ALL.len() + 2;
/// Ring sizes.
const ENTRIES: usize = 1024;
/// Completion queue.
const COMPLETIONS: usize = 16_384;
/// Q_Key of the endpoints that take messages, and of those for datagrams.
pub const QKEY: u32 = 0x5453_0001;
const PLAIN_QKEY: u32 = 0x0BAD_CAFE;
/// VLAN of rounds in tagged frames.
const VLAN: u16 = 0x123;
/// Phase in the tags of soak messages.
const PHASE: u64 = 5 << 56;
/// Room of a datagram's receive.
const DATAGRAM_ROOM: usize = 4096 + GRH_LEN;
/// Datagrams on their way out, receives posted for them.
const DATAGRAMS: usize = 24;
/// Tagged receives posted at most.
const TAGGED: usize = 32;

/// What a request was, in its work id; its number is below.
const SEND: u64 = 1 << 56;
const DATAGRAM: u64 = 2 << 56;
const RECV: u64 = 3 << 56;
const RECV_DATAGRAM: u64 = 4 << 56;
const RECV_TAGGED: u64 = 5 << 56;

/// A message as its receiver names it: sender and number.
pub type Name = (usize, usize);

/// Something of a message ended.
pub enum Ended {
    /// A send, at its sender.
    Sent(usize),
    /// A message arrived, with these bytes if it is no write.
    Came(Name, Option<Vec<u8>>),
    /// Software ended a message: with these bytes, of which these may be anything.
    Partly(Name, Vec<u8>, Vec<Range<usize>>),
}

/// A tagged receive's place.
#[derive(Clone, Copy, Default)]
struct Tagged {
    tag: u64,
    used: bool,
    in_place: bool,
    leaving: bool,
}

/// Receives of one ring.
struct Sink {
    region: MemoryRegion,
    /// Bytes of each, of which the first are a chunk area.
    room: usize,
    area: usize,
    free: Vec<usize>,
}

impl Sink {
    fn new(context: &Pool, room: usize, places: usize) -> Result<Self, Violated> {
        Self::with_area(context, 0, room, places)
    }

    fn with_area(context: &Pool, area: usize, room: usize, places: usize) -> Result<Self, Violated> {
        let room = if area > 0 { (area + room).next_multiple_of(64) } else { room };
        let memory = DmaMemory::new((room * places).max(1));
        let region = context.pd.register(&memory, Access::LOCAL_WRITE)?;
        Ok(Self { region, room, area, free: (0..places).collect() })
    }

    fn request(&self, work_id: u64, place: usize) -> RecvRequest<'_> {
        let start = place * self.room;
        RecvRequest { work_id, region: &self.region, range: start..start + self.room }
    }

    /// Takes the bytes out of a place and cleans it.
    fn take(&self, place: usize, len: usize) -> Vec<u8> {
        let start = place * self.room + self.area;
        let got = self.region.memory().to_vec(start, len.min(self.room - self.area));
        self.region.memory().write(start, &vec![0; got.len()]);
        got
    }
}

/// Where memory is registered.
struct Pool {
    pd: tessera_driver::ProtectionDomain,
}

/// See the module's page.
pub struct Host {
    nic: usize,
    pub context: Context,
    cq: CompletionQueue,
    /// In the order of [`Port::ALL`].
    endpoints: Vec<Endpoint>,
    shared: SharedReceive,
    datagrams: Endpoint,
    habits: Habits,
    pub source: MemoryRegion,
    /// What peers write.
    pub window: MemoryRegion,
    /// Receives of the own, the shared and the tagged endpoint's ring.
    sinks: [Sink; 3],
    /// Of the own endpoint's ring, in rounds that have it.
    pub software: Option<Software>,
    tagged: Sink,
    places: Vec<Tagged>,
    /// Tagged places by age.
    ages: VecDeque<usize>,
    datagram_sink: Sink,
    next: usize,
    next_round: usize,
    pub under_way: usize,
    datagrams_left: usize,
    pub datagrams_open: usize,
    pub cancels: u64,
}

fn ring(port: Port) -> usize {
    match port {
        Port::Own => 0,
        Port::SharedA | Port::SharedB => 1,
        Port::Tagged => 2,
    }
}

/// How the endpoints of a host are addressed: messages in the order of
/// [`Port::ALL`], then datagrams; and where they may write.
#[derive(Clone, Copy)]
pub struct Peer {
    ports: [AddressHandle; 4],
    datagrams: AddressHandle,
    window: RemoteMemory,
}

impl Host {
    /// Opens NIC `nic`, whose sends come from `bytes`.
    pub fn open(judged: &Judged, round: &Round, nic: usize, bytes: &[u8]) -> Result<Self, Violated> {
        let (mac, ip) = addresses(nic);
        let device = judged.cluster().device(nic);
        let DeviceAttributes { ipv6: has_ip6, receive_prefetch, .. } = DeviceAttributes::of(&*device)?;
        let options = ContextOptions {
            mac,
            ip,
            ip6: has_ip6.then(|| ip6(nic)),
            vlan: round.form.tagged.then_some(VLAN),
            seed: nic_seed(round.seed, nic),
            settings: registers(&round.settings),
        };
        let context = Context::open(device, options)?;
        if round.settings.path_policy == PathPolicy::Weighted && round.weights.iter().any(|&w| w > 0) {
            context.weight_paths(&round.weights)?;
        }
        let cq = context.create_cq(COMPLETIONS)?;
        let pool = Pool { pd: context.alloc_pd() };
        let shared = pool.pd.create_shared_receive(ENTRIES, &cq)?;
        let mut endpoints = Vec::new();
        for (port, rx_quota) in Port::ALL.into_iter().zip(round.quotas) {
            let options = EndpointOptions {
                qkey: QKEY,
                send_entries: ENTRIES,
                recv_entries: ENTRIES,
                rx_quota,
                tags: port == Port::Tagged,
                ..EndpointOptions::default()
            };
            endpoints.push(match port {
                Port::SharedA | Port::SharedB => {
                    pool.pd.create_sharing_endpoint(&options, &cq, &cq, &shared)?
                }
                Port::Own | Port::Tagged => pool.pd.create_endpoint(&options, &cq, &cq)?,
            });
        }
        let options =
            EndpointOptions { kind: EndpointKind::Datagrams, qkey: PLAIN_QKEY, ..Default::default() };
        let datagrams = pool.pd.create_endpoint(&options, &cq, &cq)?;
        let habits = round.habits[nic];
        let room = |ring_of: usize| {
            let mine = |message: &&Message| {
                message.to == nic && message.kind == Kind::Send && ring(message.ports.1) == ring_of
            };
            round.messages.iter().flatten().filter(mine).map(|message| message.len).max().unwrap_or(0)
        };
        let sink = |of: usize, posted: usize| Sink::new(&pool, room(of).max(1), posted);
        let software = round.recovery.as_ref().map(|recovery| Software::new(recovery, habits.posted));
        let area = software.as_ref().and_then(|software| software.options().area_len()).unwrap_or(0);
        let own = Sink::with_area(&pool, area, room(0).max(1), habits.posted)?;
        // TM-1: what stands behind as many as are read ahead, a cancel too, waits for messages.
        let beside_tags = habits.posted.min(receive_prefetch.saturating_sub(1)).max(1);
        let sinks = [own, sink(1, habits.posted)?, sink(2, beside_tags)?];
        Ok(Self {
            software,
            nic,
            source: pool.pd.register(&DmaMemory::from_slice(bytes), Access::READ)?,
            window: pool.pd.register(&DmaMemory::new(round.windows[nic].max(1)), Access::REMOTE_WRITE)?,
            tagged: Sink::new(&pool, room(2).max(1), TAGGED)?,
            datagram_sink: Sink::new(&pool, DATAGRAM_ROOM, DATAGRAMS)?,
            context,
            cq,
            endpoints,
            shared,
            datagrams,
            habits,
            sinks,
            places: vec![Tagged::default(); TAGGED],
            ages: VecDeque::new(),
            next: 0,
            next_round: 0,
            under_way: 0,
            datagrams_left: habits.datagrams,
            datagrams_open: 0,
            cancels: 0,
        })
    }

    pub fn peer(&self, round: &Round) -> Peer {
        let vlan = round.form.tagged.then_some(VLAN);
        let at = |endpoint: &Endpoint| {
            let address = endpoint.address_at(usize::from(round.form.v6)).unwrap_or(endpoint.address());
            AddressHandle { vlan, ..address }
        };
        let ports = [0, 1, 2, 3].map(|port: usize| at(&self.endpoints[port]));
        Peer { ports, datagrams: at(&self.datagrams), window: self.window.remote(0) }
    }

    /// Posts what its diligence allows; `flow` while messages are left to arrive.
    pub fn work(&mut self, round: &Round, peers: &[Peer], flow: bool, rng: &mut Rng) -> Result<(), Violated> {
        if rng.chance(self.habits.diligence[0]) {
            while self.under_way < self.habits.open && self.send(round, peers)? {}
        }
        if rng.chance(self.habits.diligence[1]) {
            self.post_receives(round, rng)?;
        }
        if let Some(software) = &mut self.software {
            software.work(&self.context, rng)?;
        }
        if flow && self.datagrams_left > 0 && rng.chance(0.3) {
            self.send_datagrams(peers, rng)?;
        }
        if let Some(&(id, messages)) = round.rounds[self.nic].get(self.next_round) {
            if messages > 0 && rng.chance(0.2) {
                match self.endpoints[0].register_round(id, messages) {
                    // Nothing but times depends on it.
                    Err(PostError::LeftOut(_)) => {}
                    told => told?,
                }
                self.next_round += 1;
            } else if messages == 0 {
                self.next_round += 1;
            }
        }
        Ok(())
    }

    /// Posts the next message, if there is one and its ring has room.
    fn send(&mut self, round: &Round, peers: &[Peer]) -> Result<bool, Violated> {
        let Some(message) = round.messages[self.nic].get(self.next) else { return Ok(false) };
        let number = (self.nic as u64) << 40 | self.next as u64;
        let Message { to, ports: (from, port), kind, len, payload_log2, start, .. } = *message;
        let endpoint = &mut self.endpoints[from as usize];
        if endpoint.sends_outstanding() == ENTRIES {
            return Ok(false);
        }
        let (work_id, range) = (SEND | self.next as u64, start..start + len);
        let to_port = peers[to].ports[port as usize];
        let told = (self.nic as u32) << 24 | self.next as u32;
        let payload_size = 1 << payload_log2;
        if kind == Kind::Send {
            let by_tag = port == Port::Tagged;
            let request = SendRequest {
                work_id,
                region: &self.source,
                range,
                to: to_port,
                tag: if by_tag { message.tag } else { PHASE | number },
                immediate: (by_tag || message.immediate).then_some(told),
                round: message.round,
                payload_size,
            };
            match message.by_host {
                true => endpoint.post_recoverable_send(&request)?,
                false => endpoint.post_send(&request)?,
            }
        } else {
            let RemoteMemory { address, rkey } = peers[to].window;
            endpoint.post_write(&WriteRequest {
                work_id,
                region: &self.source,
                range,
                to: to_port,
                remote: RemoteMemory { address: address + message.place as u64, rkey },
                immediate: (kind == Kind::Notify).then_some(told),
                round: message.round,
                payload_size,
            })?;
        }
        self.next += 1;
        self.under_way += 1;
        Ok(true)
    }

    fn post_receives(&mut self, round: &Round, rng: &mut Rng) -> Result<(), Violated> {
        for (of, sink) in self.sinks.iter_mut().enumerate() {
            while let Some(&place) = sink.free.last() {
                let request = sink.request(RECV | (of as u64) << 32 | place as u64, place);
                let outstanding = match of {
                    1 => self.shared.recvs_outstanding(),
                    _ => self.endpoints[if of == 0 { 0 } else { 3 }].recvs_outstanding(),
                };
                if outstanding == ENTRIES {
                    break;
                }
                match (of, &mut self.software) {
                    (0, Some(software)) => {
                        let watch = self.endpoints[0].post_chunked_recv(&request, software.options())?;
                        software.watch(place, watch);
                    }
                    (1, _) => self.shared.post_recv(&request)?,
                    _ => self.endpoints[if of == 0 { 0 } else { 3 }].post_recv(&request)?,
                }
                sink.free.pop();
            }
        }
        while self.habits.datagrams > 0 {
            let Some(place) = self.datagram_sink.free.pop() else { break };
            if self.datagrams.recvs_outstanding() == 64 {
                self.datagram_sink.free.push(place);
                break;
            }
            let request = self.datagram_sink.request(RECV_DATAGRAM | place as u64, place);
            self.datagrams.post_recv(&request)?;
        }
        let to_tags = |message: &Message| message.ports.1 == Port::Tagged && message.to == self.nic;
        if round.messages.iter().flatten().any(to_tags) {
            self.post_tagged(rng)?;
        }
        Ok(())
    }

    /// Posts tagged receives and takes some back: the oldest when it keeps too
    /// many ring entries from being used again.
    fn post_tagged(&mut self, rng: &mut Rng) -> Result<(), Violated> {
        let endpoint = &mut self.endpoints[3];
        let crowded = endpoint.recvs_outstanding() > ENTRIES / 2;
        while !crowded && rng.chance(0.5) {
            let Some(place) = self.tagged.free.pop() else { break };
            let tag = rng.below(8);
            endpoint.post_tagged_recv(tag, &self.tagged.request(RECV_TAGGED | place as u64, place))?;
            self.places[place] = Tagged { tag, used: true, ..Tagged::default() };
            self.ages.push_back(place);
        }
        let oldest = if crowded { self.ages.front().copied() } else { None };
        let any = (rng.chance(self.habits.cancels)).then(|| rng.below(TAGGED as u64) as usize);
        for place in oldest.into_iter().chain(any) {
            let Tagged { tag, used, in_place, leaving } = self.places[place];
            let room = endpoint.recvs_outstanding() < ENTRIES;
            if used && in_place && !leaving && room {
                endpoint.cancel(tag, RECV_TAGGED | place as u64)?;
                self.places[place].leaving = true;
            }
        }
        Ok(())
    }

    fn send_datagrams(&mut self, peers: &[Peer], rng: &mut Rng) -> Result<(), Violated> {
        while self.datagrams_left > 0 && self.datagrams_open < DATAGRAMS {
            let to = (self.nic + 1 + rng.below(peers.len() as u64 - 1) as usize) % peers.len();
            let most = self.source.len().min(4096) as u64;
            let len =
                if rng.chance(0.1) { rng.below(most + 1) } else { rng.below(most.min(256) + 1) } as usize;
            let start = rng.below((self.source.len() - len) as u64 + 1) as usize;
            let mut to = peers[to].datagrams;
            to.traffic_class = rng.below(256) as u8;
            to.hop_limit = rng.below(100) as u8;
            if rng.chance(0.3) {
                to.qkey = 0x8000_0000;
            }
            self.datagrams.post_datagram(&DatagramRequest {
                work_id: DATAGRAM,
                region: &self.source,
                range: start..start + len,
                to,
                immediate: rng.chance(0.3).then(|| rng.next_u64() as u32),
                path_mtu: 4096,
            })?;
            self.datagrams_left -= 1;
            self.datagrams_open += 1;
        }
        Ok(())
    }

    /// Takes what has completed.
    pub fn poll(&mut self) -> Result<Vec<Ended>, Violated> {
        let mut taken = [WorkCompletion::default(); 64];
        let count = self.cq.poll(&mut taken)?;
        let mut ended = Vec::new();
        for done in &taken[..count] {
            ended.extend(self.ended(done)?);
        }
        Ok(ended)
    }

    fn ended(&mut self, done: &WorkCompletion) -> Result<Option<Ended>, Violated> {
        let number = (done.work_id & 0xFFFF_FFFF) as usize;
        let of = done.work_id & 0xFF << 56;
        match done.event {
            CompletionEvent::Posted => self.places[number].in_place = true,
            CompletionEvent::Unexpected => {}
            CompletionEvent::Cancelled => {
                self.cancels += 1;
                self.places[number].leaving = false;
                if done.status == Status::Success {
                    self.release(number);
                }
            }
            CompletionEvent::Ended if of == RECV_TAGGED && done.status == Status::NoTagSpace => {
                self.release(number);
            }
            CompletionEvent::Ended if done.status == Status::Partial && of == SEND => {
                self.under_way -= 1;
                return Ok(Some(Ended::Sent(number)));
            }
            CompletionEvent::Ended if done.status != Status::Success && !self.ended_by_software(done) => {
                let what = if done.receive { "receive" } else { "send" };
                let name = done.status.name();
                return Err(Violated::new(format!(
                    "NIC {}: {what} {:#x} ended with {name}",
                    self.nic, done.work_id
                )));
            }
            CompletionEvent::Ended => match of {
                SEND => {
                    self.under_way -= 1;
                    return Ok(Some(Ended::Sent(number)));
                }
                DATAGRAM => self.datagrams_open -= 1,
                RECV_DATAGRAM => self.datagram_sink.free.push(number),
                RECV_TAGGED => {
                    let got = self.tagged.take(number, done.len as usize);
                    self.release(number);
                    return Ok(Some(Ended::Came(self.name(done), Some(got))));
                }
                _ => {
                    let ring = (done.work_id >> 32 & 3) as usize;
                    let sink = &mut self.sinks[ring];
                    sink.free.push(number);
                    let got = (!done.write).then(|| sink.take(number, done.len as usize));
                    let outcome =
                        self.software.as_mut().filter(|_| ring == 0).and_then(|all| all.ended(number));
                    let name = self.name(done);
                    return match (outcome, got) {
                        (Some(outcome), Some(got)) => self.recovered(done, name, outcome, got).map(Some),
                        (_, got) => Ok(Some(Ended::Came(name, got))),
                    };
                }
            },
        }
        Ok(None)
    }

    fn ended_by_software(&self, done: &WorkCompletion) -> bool {
        done.status == Status::Partial
            && done.receive
            && self.software.is_some()
            && done.work_id & 3 << 32 == 0
    }

    /// A receive with an area has ended: what that says and the completion agree.
    fn recovered(
        &self,
        done: &WorkCompletion,
        name: Name,
        outcome: Outcome,
        got: Vec<u8>,
    ) -> Result<Ended, Violated> {
        let Outcome { message, missing } = outcome;
        let partly = done.status == Status::Partial;
        let Some(message) = message else {
            let of_nothing = || Violated::new(format!("NIC {}: a part of no message {name:?}", self.nic));
            return if partly { Err(of_nothing()) } else { Ok(Ended::Came(name, Some(got))) };
        };
        if (message.len, message.tag) != (done.len, done.tag) {
            return Err(Violated::new(format!("NIC {}: {message:?} ended as {done:?}", self.nic)));
        }
        if !partly && !missing.is_empty() {
            return Err(Violated::new(format!(
                "NIC {}: {message:?} ended whole without {missing:?}",
                self.nic
            )));
        }
        let bytes = |packet: u32| (packet as usize * message.payload_size as usize).min(got.len());
        let unknown = missing.iter().map(|run| bytes(run.start)..bytes(run.end)).collect();
        Ok(if partly { Ended::Partly(name, got, unknown) } else { Ended::Came(name, Some(got)) })
    }

    fn release(&mut self, place: usize) {
        self.places[place] = Tagged::default();
        self.ages.retain(|&old| old != place);
        self.tagged.free.push(place);
    }

    /// Who sent what arrived: in the tag, or where that is for matching, and of
    /// writes, in the immediate.
    fn name(&self, done: &WorkCompletion) -> Name {
        let tagged = u32::from(done.endpoint) == self.endpoints[3].number() & 0xFF;
        if done.write || tagged {
            let told = done.immediate.unwrap_or(u32::MAX);
            return ((told >> 24) as usize, (told & 0xFF_FFFF) as usize);
        }
        let number = done.tag ^ PHASE;
        ((number >> 40) as usize, (number & 0xFF_FFFF_FFFF) as usize)
    }
}
