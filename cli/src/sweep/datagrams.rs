//! A point's datagrams, between plain UD endpoints.
//!
//! Nobody recovers a datagram, so there is nothing to wait for: each NIC sends
//! as its link allows, and receives what comes. Judged is that nothing comes
//! that was not sent and carried: every datagram once at most (the fabric of a
//! point makes no copies), with its bytes, and all together no more than the
//! fabric brought. That fewer come than it brought is a figure: UD may drop.

use std::collections::VecDeque;

use tessera_abi::params::CLOCKS_PER_TICK;
use tessera_abi::wire::GRH_LEN;
use tessera_driver::{
    Access, AddressHandle, CompletionQueue, DatagramRequest, DmaMemory, Endpoint, EndpointKind,
    EndpointOptions, MemoryRegion, RecvRequest, Status, WorkCompletion,
};
use tessera_sim::fabric::{FabricStats, Fresh};
use tessera_sim::session::{Session, SessionError};

use super::grid::{Point, MOST_PATH_MTU};
use super::load::{self, Bytes, Outcome};
use crate::output::RunError;

/// Entries of each ring, and receives posted at most: what comes between two
/// looks of a host at its NIC, many times over.
const ENTRIES: usize = 1024;
/// Q_Key of all endpoints.
const QKEY: u32 = 0x0BAD_CAFE;
/// Bits of a datagram's number in its immediate; its sender's are above.
const NUMBER_BITS: u32 = 24;
/// Clocks after which nothing comes any more when the fabric has nothing.
const SETTLED: u64 = 5000;
/// Clocks after which a NIC that does not send is stuck.
const STUCK: u64 = 3_000_000;

/// A NIC's endpoint with what it sends and receives.
struct Port {
    endpoint: Endpoint,
    cq: CompletionQueue,
    source: MemoryRegion,
    sink: MemoryRegion,
    /// Receives to be posted.
    waiting: VecDeque<u64>,
    sent: usize,
    posted: Vec<u64>,
    arrived: Vec<bool>,
}

/// NICs with plain UD endpoints.
pub struct Datagrams {
    session: Session,
    bytes: Bytes,
    ports: Vec<Port>,
    peers: Vec<AddressHandle>,
    /// Bytes of a receive.
    room: usize,
    /// When datagrams came, and how many clocks after they were posted.
    fresh: Vec<Fresh>,
    times: Vec<u64>,
    /// When something last happened.
    last: u64,
}

/// Datagrams that the fabric brought to a NIC.
fn carried(stats: &FabricStats) -> u64 {
    stats.frames + stats.duplicated - stats.dropped() - stats.unroutable
}

impl Datagrams {
    /// On NICs just opened.
    pub fn new(session: Session, point: &Point, seed: u64) -> Result<Self, RunError> {
        let nics = session.nics();
        let bytes = Bytes::new(nics, point.size, seed);
        let room = GRH_LEN + point.size;
        let mut ports = Vec::new();
        for (nic, host) in session.hosts.iter().enumerate() {
            let cq = host.context.create_cq(4 * ENTRIES).map_err(SessionError::from)?;
            let options = EndpointOptions {
                kind: EndpointKind::Datagrams,
                qkey: QKEY,
                send_entries: ENTRIES,
                recv_entries: ENTRIES,
                ..EndpointOptions::default()
            };
            ports.push(Port {
                endpoint: host.pd.create_endpoint(&options, &cq, &cq).map_err(SessionError::from)?,
                cq,
                source: session.register(nic, &DmaMemory::from_slice(bytes.of(nic)), Access::READ)?,
                sink: session.register(nic, &DmaMemory::new(ENTRIES * room), Access::LOCAL_WRITE)?,
                waiting: (0..ENTRIES as u64).collect(),
                sent: 0,
                posted: vec![0; point.messages],
                arrived: vec![false; point.messages],
            });
        }
        let peers = ports.iter().map(|port| port.endpoint.address()).collect();
        Ok(Self { session, bytes, ports, peers, room, fresh: Vec::new(), times: Vec::new(), last: 0 })
    }

    /// DMA accesses that went wrong.
    pub fn dma_faults(&self) -> u64 {
        super::beds::dma_faults(&self.session)
    }

    /// Posts receives, and datagrams while fewer than `open` of a NIC have not left.
    fn post(&mut self, open: usize) -> Result<(), SessionError> {
        let (nics, clock) = (self.ports.len(), self.session.clock());
        for (from, port) in self.ports.iter_mut().enumerate() {
            while port.endpoint.recvs_outstanding() < ENTRIES {
                let Some(place) = port.waiting.pop_front() else { break };
                let start = place as usize * self.room;
                let range = start..start + self.room;
                port.endpoint.post_recv(&RecvRequest { work_id: place, region: &port.sink, range })?;
            }
            while port.sent < port.posted.len() && port.endpoint.sends_outstanding() < open {
                let number = port.sent;
                let to = load::receiver(from, number, nics);
                port.endpoint.post_datagram(&DatagramRequest {
                    work_id: number as u64,
                    region: &port.source,
                    range: self.bytes.range(to, number),
                    to: self.peers[to],
                    immediate: Some((from as u32) << NUMBER_BITS | number as u32),
                    path_mtu: MOST_PATH_MTU as u32,
                })?;
                port.posted[number] = clock;
                port.sent += 1;
            }
        }
        Ok(())
    }

    /// Takes what has completed; whether anything has.
    fn poll(&mut self) -> Result<bool, RunError> {
        let mut any = false;
        let mut taken = [WorkCompletion::default(); 64];
        for nic in 0..self.ports.len() {
            let count = self.ports[nic].cq.poll(&mut taken).map_err(SessionError::from)?;
            any |= count > 0;
            for done in &taken[..count] {
                if done.status != Status::Success {
                    return Err(RunError::Unexpected { nic, tag: done.work_id });
                }
                if done.receive {
                    self.take(nic, done)?;
                }
            }
        }
        Ok(any)
    }

    /// A datagram has come to `to`.
    fn take(&mut self, to: usize, done: &WorkCompletion) -> Result<(), RunError> {
        let nics = self.ports.len();
        let told = done.immediate.unwrap_or(u32::MAX);
        let (from, number) = ((told >> NUMBER_BITS) as usize, (told & ((1 << NUMBER_BITS) - 1)) as usize);
        let is_sent = self.ports.get(from).is_some_and(|port| number < port.sent);
        if !is_sent || from == to || load::receiver(from, number, nics) != to || done.datagram.is_none() {
            return Err(RunError::Unexpected { nic: to, tag: told.into() });
        }
        let what = || format!("datagram {from}->{to} #{number}");
        let start = done.work_id as usize * self.room;
        let memory = self.ports[to].sink.memory();
        let whole = done.len as usize == self.room;
        if !whole || !self.bytes.are(from, to, number, &memory.to_vec(start + GRH_LEN, self.room - GRH_LEN)) {
            return Err(RunError::Corrupt { what: what() });
        }
        memory.write(start, &vec![0; self.room]);
        self.ports[to].waiting.push_back(done.work_id);
        let sender = &mut self.ports[from];
        if std::mem::replace(&mut sender.arrived[number], true) {
            return Err(RunError::Twice { what: what() });
        }
        let at = u64::from(done.timestamp) * u64::from(CLOCKS_PER_TICK);
        self.times.push(at.saturating_sub(sender.posted[number]));
        self.fresh.push(Fresh { at, port: to });
        Ok(())
    }

    /// Whether all have left and nothing is on its way; time has run since.
    fn is_over(&self) -> bool {
        let all_left = |port: &Port| port.sent == port.posted.len() && port.endpoint.sends_outstanding() == 0;
        let is_idle = self.session.cluster.lock().fabric().is_idle();
        self.ports.iter().all(all_left) && is_idle && self.session.clock() - self.last > SETTLED
    }

    /// Sends what `point` asks for.
    pub fn run(&mut self, point: &Point) -> Result<Outcome, RunError> {
        let begun = self.session.clock();
        self.last = begun;
        while !self.is_over() {
            self.post(point.open.min(ENTRIES))?;
            if self.poll()? {
                self.last = self.session.clock();
            } else {
                self.session.hosts[0].context.wait().map_err(SessionError::from)?;
            }
            let clock = self.session.clock();
            if clock - self.last > STUCK {
                let sends = self.ports.iter().map(|port| port.endpoint.sends_outstanding()).sum();
                return Err(SessionError::Stalled { clock, waiting: 0, sends }.into());
            }
        }
        let stats = *self.session.cluster.lock().fabric().stats();
        let (sent, arrived) = ((self.ports.len() * point.messages) as u64, self.times.len() as u64);
        let carried = carried(&stats);
        if stats.frames != sent || arrived > carried {
            let frames = stats.frames;
            let what = format!(
                "one of {arrived} datagrams that came ({sent} sent, {frames} frames, {carried} brought)"
            );
            return Err(RunError::Corrupt { what });
        }
        let packets_per_clock = load::goodput(&self.fresh, self.ports.len());
        let outcome = Outcome {
            finished: true,
            messages: arrived,
            carried,
            packets_per_clock,
            bytes_per_clock: packets_per_clock * point.size as f64,
            data: sent,
            clocks: self.session.clock() - begun,
            ..Outcome::default()
        };
        Ok(outcome.with_times(std::mem::take(&mut self.times)))
    }
}
