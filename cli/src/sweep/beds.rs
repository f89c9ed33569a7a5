//! The transports of a sweep's messages: our block on its Verilog, and the
//! counterparts. Datagrams have `datagrams`.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tessera_abi::regs::{self, Reg};
use tessera_driver::{Access, DmaMemory, MemoryRegion};
use tessera_sim::cluster::{Cluster, SharedCluster};
use tessera_sim::counterpart::{Content, Kind, Network, Parameters};
use tessera_sim::fabric::Fabric;
use tessera_sim::nic::NicOptions;
use tessera_sim::session::{untag, Session};
use tessera_sim::verilator::Model;

use super::grid::{Point, Service};
use super::load::{Arrival, Bed, Bytes};
use crate::output::RunError;

/// Tag phase of the sweep's messages.
const PHASE: u8 = 7;
/// Ring places that a NIC uses at most; its rings have 4096. A place is free again
/// when all before it are, so one message that waits for a lost packet must not
/// stand before all that could be sent meanwhile.
const RING: usize = 4000;

/// Who carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// The exported Verilog under its driver.
    Block,
    /// Go-back-N, a path per connection.
    GoBackN,
    /// Selective repeat (IRN), a path per connection.
    SelectiveRepeat,
    /// Go-back-N over all paths in turn.
    GoBackNSprayed,
    /// Selective repeat over all paths in turn.
    SelectiveRepeatSprayed,
}

impl Transport {
    /// The counterparts of a point. They know one kind of message, whose rules a
    /// write's would be too: they are beside sends only.
    pub fn beside(point: &Point) -> &'static [Self] {
        match point.service {
            Service::Send => Self::counterparts(point.reordering.paths),
            Service::Write | Service::Datagram => &[],
        }
    }

    /// The counterparts that make sense with so many paths.
    pub fn counterparts(paths: usize) -> &'static [Self] {
        const ALL: [Transport; 4] = [
            Transport::GoBackN,
            Transport::SelectiveRepeat,
            Transport::GoBackNSprayed,
            Transport::SelectiveRepeatSprayed,
        ];
        &ALL[..if paths > 1 { 4 } else { 2 }]
    }

    /// A counterpart's rules.
    pub fn kind(self) -> Kind {
        match self {
            Self::SelectiveRepeat | Self::SelectiveRepeatSprayed => Kind::SelectiveRepeat,
            Self::GoBackN | Self::GoBackNSprayed | Self::Block => Kind::GoBackN,
        }
    }

    /// Whether its packets take all paths in turn.
    pub fn is_sprayed(self) -> bool {
        matches!(self, Self::GoBackNSprayed | Self::SelectiveRepeatSprayed)
    }

    /// Its name in tables and plots.
    pub fn name(self) -> &'static str {
        match self {
            Self::Block => "tessera",
            Self::GoBackN => "go-back-N",
            Self::SelectiveRepeat => "IRN",
            Self::GoBackNSprayed => "go-back-N sprayed",
            Self::SelectiveRepeatSprayed => "IRN sprayed",
        }
    }
}

/// Where messages go at one NIC: places in a region of its memory.
struct Sink {
    region: MemoryRegion,
    /// Bytes from one place to the next.
    stride: usize,
    /// Receives that are posted, and those that are to be. A send's is the place
    /// it goes to, a write's is only told of it.
    posted: usize,
    waiting: VecDeque<u64>,
    /// Places that no write is on its way to, and the writes that are.
    free: VecDeque<usize>,
    written: HashMap<usize, (usize, usize)>,
}

impl Sink {
    /// The write that went to this address, sender and number, and its place.
    fn take(&mut self, address: u64) -> Option<(usize, usize, usize)> {
        let offset = address.checked_sub(self.region.address())? as usize;
        let place = offset.is_multiple_of(self.stride).then_some(offset / self.stride)?;
        let (from, number) = self.written.remove(&place)?;
        self.free.push_back(place);
        Some((from, number, place))
    }
}

/// Verilated NICs that send or write.
pub struct Block {
    session: Session,
    bytes: Bytes,
    sources: Vec<MemoryRegion>,
    sinks: Vec<Sink>,
    writes: bool,
    zeros: Vec<u8>,
}

/// Verilated NICs on a point's fabric, opened.
pub fn open(
    model: &Model,
    point: &Point,
    nics: usize,
    payload: usize,
    seed: u64,
    registers: &[(Reg, u32)],
) -> Result<Session, RunError> {
    let nic = NicOptions { seed, ..NicOptions::default() };
    let mut cluster = Cluster::new(model, nics, &nic, point.fabric(seed))?;
    cluster.batch_doorbells();
    let mut settings = vec![(regs::PATH_COUNT, point.reordering.paths as u32)];
    settings.extend_from_slice(registers);
    Ok(Session::open(SharedCluster::new(cluster), nics, seed, payload as u32, &settings)?)
}

impl Block {
    /// On NICs just opened.
    pub fn new(session: Session, point: &Point, seed: u64) -> Result<Self, RunError> {
        let nics = session.nics();
        let bytes = Bytes::new(nics, point.size, seed);
        // One receive per message that can be on its way to a NIC.
        let places = ((nics - 1) * point.open).min(RING);
        let mut sources = Vec::new();
        let mut sinks = Vec::new();
        let writes = point.service == Service::Write;
        let access = Access { remote_write: writes, ..Access::LOCAL_WRITE };
        // Without bytes too a write's address says which it was.
        let stride = point.size.max(1);
        for nic in 0..nics {
            let source = DmaMemory::from_slice(bytes.of(nic));
            sources.push(session.register(nic, &source, Access::READ)?);
            let region = session.register(nic, &DmaMemory::new(places * stride), access)?;
            let free = (0..places).collect();
            let waiting = (0..places as u64).collect();
            sinks.push(Sink { region, stride, posted: 0, waiting, free, written: HashMap::new() });
        }
        let zeros = vec![0; point.size];
        let mut block = Self { session, bytes, sources, sinks, writes, zeros };
        block.refill()?;
        Ok(block)
    }

    /// DMA accesses that went wrong.
    pub fn dma_faults(&self) -> u64 {
        dma_faults(&self.session)
    }

    /// Posts buffers again while their ring has places: behind one that a message
    /// has begun and not ended, they are all used.
    fn refill(&mut self) -> Result<(), RunError> {
        for (nic, sink) in self.sinks.iter_mut().enumerate() {
            while self.session.outstanding(nic).1 < RING {
                let Some(place) = sink.waiting.pop_front() else { break };
                let start = place as usize * sink.stride;
                let range = if self.writes { 0..0 } else { start..start + self.zeros.len() };
                self.session.recv(nic, &sink.region, range, place)?;
                sink.posted += 1;
            }
        }
        Ok(())
    }
}

/// DMA accesses of a session's NICs that went wrong.
pub fn dma_faults(session: &Session) -> u64 {
    session.cluster.lock().nics().iter().map(|nic| nic.dma_faults()).sum()
}

impl Bed for Block {
    fn clock(&self) -> u64 {
        self.session.clock()
    }

    fn has_room(&self, from: usize, to: usize) -> bool {
        let Sink { posted, free, .. } = &self.sinks[to];
        self.session.outstanding(from).0 < RING && *posted > 0 && !(self.writes && free.is_empty())
    }

    fn post(&mut self, from: usize, to: usize, number: usize) -> Result<(), RunError> {
        let range = self.bytes.range(to, number);
        let (source, sink) = (&self.sources[from], &mut self.sinks[to]);
        let what = (PHASE, from, to, number);
        sink.posted -= 1;
        let place = if self.writes { sink.free.pop_front() } else { None };
        let Some(place) = place else { return Ok(self.session.send(source, range, what)?) };
        sink.written.insert(place, (from, number));
        let remote = sink.region.remote(place * sink.stride);
        Ok(self.session.write(source, range, remote, what, true)?)
    }

    fn step(&mut self) -> Result<Vec<Arrival>, RunError> {
        let known = self.session.samples.len();
        let arrived = self.session.poll()?;
        let mut all = Vec::new();
        for (index, done) in arrived.iter().enumerate() {
            let to = done.nic;
            let sink = &mut self.sinks[to];
            let unexpected = RunError::Unexpected { nic: to, tag: done.tag };
            let (from, number, place) = if self.writes {
                let Some((from, number, place)) = sink.take(done.tag) else { return Err(unexpected) };
                if done.written != Some(number as u32) {
                    return Err(unexpected);
                }
                (from, number, place)
            } else {
                let (phase, from, at, number) = untag(done.tag);
                if phase != PHASE || at != to || from >= self.sources.len() || done.written.is_some() {
                    return Err(unexpected);
                }
                (from, number, done.work_id as usize)
            };
            let start = place * sink.stride;
            let memory = sink.region.memory();
            let whole = done.len == self.zeros.len();
            if !whole || !self.bytes.are(from, to, number, &memory.to_vec(start, done.len)) {
                return Err(RunError::Corrupt { what: format!("message {from}->{to} #{number}") });
            }
            // What the next message leaves out must not look as if it had come.
            memory.write(start, &self.zeros);
            sink.waiting.push_back(done.work_id);
            all.push(Arrival { from, to, number, at: self.session.samples[known + index].done });
        }
        self.refill()?;
        Ok(all)
    }

    fn is_quiet(&self) -> bool {
        self.session.sends_open() == 0
    }

    fn with_fabric<T>(&mut self, look: impl FnOnce(&mut Fabric) -> T) -> T {
        look(self.session.cluster.lock().fabric_mut())
    }
}

/// Nodes of a counterpart.
pub struct Counterpart {
    network: Network,
    bytes: Bytes,
    /// What a connection has been given, by its ends: numbers in order.
    given: HashMap<(usize, usize), Vec<usize>>,
}

impl Counterpart {
    pub fn new(transport: Transport, point: &Point, nics: usize, payload: usize, seed: u64) -> Self {
        let fabric = point.fabric(seed);
        let fitting = Parameters::for_fabric(transport.kind(), &fabric, nics, payload, point.size);
        let spray = transport.is_sprayed().then_some(point.reordering.paths as u16);
        let network = Network::new(nics, &Parameters { spray, ..fitting }, fabric);
        Self { network, bytes: Bytes::new(nics, point.size, seed), given: HashMap::new() }
    }
}

impl Bed for Counterpart {
    fn clock(&self) -> u64 {
        self.network.clock()
    }

    fn has_room(&self, _from: usize, _to: usize) -> bool {
        true
    }

    fn post(&mut self, from: usize, to: usize, number: usize) -> Result<(), RunError> {
        self.given.entry((from, to)).or_default().push(number);
        let content =
            Content { buffer: Arc::clone(self.bytes.of(from)), range: self.bytes.range(to, number) };
        self.network.post(from, to, content);
        Ok(())
    }

    fn step(&mut self) -> Result<Vec<Arrival>, RunError> {
        let mut all = Vec::new();
        for (to, done) in self.network.advance()? {
            let from = done.from;
            let number = self.given.get(&(from, to)).and_then(|given| given.get(done.number as usize));
            let Some(&number) = number else {
                return Err(RunError::Unexpected { nic: to, tag: done.number });
            };
            if !self.bytes.are(from, to, number, &done.bytes) {
                return Err(RunError::Corrupt {
                    what: format!("a counterpart's message {from}->{to} #{number}"),
                });
            }
            all.push(Arrival { from, to, number, at: done.at });
        }
        Ok(all)
    }

    fn is_quiet(&self) -> bool {
        true
    }

    fn with_fabric<T>(&mut self, look: impl FnOnce(&mut Fabric) -> T) -> T {
        look(self.network.fabric_mut())
    }
}
