//! The transports of a sweep: our block on its Verilog, and the counterparts.

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

/// Verilated NICs.
pub struct Block {
    session: Session,
    bytes: Bytes,
    sources: Vec<MemoryRegion>,
    sinks: Vec<MemoryRegion>,
    size: usize,
    /// Receive buffers of each NIC that are posted, and those that are to be.
    posted: Vec<usize>,
    waiting: Vec<VecDeque<u64>>,
    zeros: Vec<u8>,
}

impl Block {
    pub fn new(
        model: &Model,
        point: &Point,
        nics: usize,
        payload: usize,
        seed: u64,
        registers: &[(Reg, u32)],
    ) -> Result<Self, RunError> {
        let nic = NicOptions { seed, ..NicOptions::default() };
        let mut cluster = Cluster::new(model, nics, &nic, point.fabric(seed))?;
        cluster.batch_doorbells();
        let mut settings = vec![(regs::PATH_COUNT, point.reordering.paths as u32)];
        settings.extend_from_slice(registers);
        let mut session = Session::open(SharedCluster::new(cluster), nics, seed, payload as u32, &settings)?;
        let bytes = Bytes::new(nics, point.size, seed);
        // One receive per message that can be on its way to a NIC.
        let places = ((nics - 1) * point.open).min(RING);
        let mut sources = Vec::new();
        let mut sinks = Vec::new();
        for nic in 0..nics {
            let source = DmaMemory::from_slice(bytes.of(nic));
            sources.push(session.register(nic, &source, Access::READ)?);
            let sink = DmaMemory::new((places * point.size).max(1));
            sinks.push(session.register(nic, &sink, Access::LOCAL_WRITE)?);
            for place in 0..places {
                session.recv(nic, &sinks[nic], place * point.size..(place + 1) * point.size, place as u64)?;
            }
        }
        let zeros = vec![0; point.size];
        Ok(Self {
            session,
            bytes,
            sources,
            sinks,
            size: point.size,
            posted: vec![places; nics],
            waiting: vec![VecDeque::new(); nics],
            zeros,
        })
    }

    /// DMA accesses that went wrong.
    pub fn dma_faults(&self) -> u64 {
        self.session.cluster.lock().nics().iter().map(|nic| nic.dma_faults()).sum()
    }
}

impl Block {
    /// Posts buffers again while their ring has places: behind one that a message
    /// has begun and not ended, they are all used.
    fn refill(&mut self) -> Result<(), RunError> {
        for (nic, waiting) in self.waiting.iter_mut().enumerate() {
            while self.session.outstanding(nic).1 < RING {
                let Some(place) = waiting.pop_front() else { break };
                let start = place as usize * self.size;
                self.session.recv(nic, &self.sinks[nic], start..start + self.size, place)?;
                self.posted[nic] += 1;
            }
        }
        Ok(())
    }
}

impl Bed for Block {
    fn clock(&self) -> u64 {
        self.session.clock()
    }

    fn has_room(&self, from: usize, to: usize) -> bool {
        self.session.outstanding(from).0 < RING && self.posted[to] > 0
    }

    fn post(&mut self, from: usize, to: usize, number: usize) -> Result<(), RunError> {
        let range = self.bytes.range(to, number);
        self.posted[to] -= 1;
        Ok(self.session.send(&self.sources[from], range, (PHASE, from, to, number))?)
    }

    fn step(&mut self) -> Result<Vec<Arrival>, RunError> {
        let known = self.session.samples.len();
        let arrived = self.session.poll()?;
        let mut all = Vec::new();
        for (index, done) in arrived.iter().enumerate() {
            let (phase, from, to, number) = untag(done.tag);
            if phase != PHASE || to != done.nic || from >= self.sources.len() {
                return Err(RunError::Unexpected { nic: done.nic, tag: done.tag });
            }
            let start = done.work_id as usize * self.size;
            let memory = self.sinks[to].memory();
            let got = memory.to_vec(start, done.len);
            if !self.bytes.are(from, to, number, &got) {
                return Err(RunError::Corrupt { what: format!("message {from}->{to} #{number}") });
            }
            // What the next message leaves out must not look as if it had come.
            memory.write(start, &self.zeros);
            self.waiting[to].push_back(done.work_id);
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
        let Service::Send = point.service;
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
