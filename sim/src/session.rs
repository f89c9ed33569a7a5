//! Hosts on a simulated cluster: every NIC opened by the driver, with one
//! endpoint each. What demos, benchmarks and whole-NIC tests are made of.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::cluster::{addresses, ip6, SharedCluster};
use tessera_abi::params::CLOCKS_PER_TICK;
use tessera_abi::regs::{self, Reg};
use tessera_driver::{
    Access, AddressHandle, CompletionQueue, Context, ContextOptions, CreateError, DeviceAttributes,
    DeviceError, DmaMemory, Endpoint, EndpointOptions, LeftOut, MemoryRegion, OpenError, PollError,
    PostError, ProtectionDomain, RecvRequest, RegisterError, RemoteMemory, SendRequest, Status,
    WorkCompletion, WriteRequest,
};

/// Ring sizes of each host's endpoint.
const ENTRIES: usize = 4096;
/// Q_Key of all endpoints.
const QKEY: u32 = 0x5453_0001;
/// Clocks without a frame after which nothing will happen any more: longer than
/// every timer of the protocol that is not counted in milliseconds.
const QUIET_CLOCKS: u64 = 3_000_000;

/// What stops a session.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// A request ended in error.
    #[error("NIC {nic}: the {} of message {from}->{to} #{number} ended with {}", if *receive { "receive" } else { "send" }, status.name())]
    Failed {
        /// Whose request.
        nic: usize,
        /// A receive (else a send).
        receive: bool,
        /// Sender and receiver of the message, and its number.
        from: usize,
        /// Receiver.
        to: usize,
        /// Number in its tag.
        number: usize,
        /// How it ended.
        status: Status,
    },
    /// No frame moves, and none will.
    #[error("nothing moves any more at clock {clock}: {waiting} messages undelivered, {sends} sends open")]
    Stalled {
        /// When.
        clock: u64,
        /// Messages posted and not received.
        waiting: usize,
        /// Sends without completion.
        sends: usize,
    },
    /// The NIC did not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A queue or endpoint was not created.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// Memory was not registered.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// A request was refused.
    #[error(transparent)]
    Post(#[from] PostError),
    /// A completion made no sense.
    #[error(transparent)]
    Poll(#[from] PollError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// One NIC's host program.
pub struct Host {
    /// Its number.
    pub nic: usize,
    /// The opened NIC.
    pub context: Context,
    /// Where its memory is registered.
    pub pd: ProtectionDomain,
    cq: CompletionQueue,
    endpoint: Endpoint,
}

/// A message that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Receiving NIC.
    pub nic: usize,
    /// Receive buffer's number.
    pub work_id: u64,
    /// Bytes.
    pub len: usize,
    /// See [`untag`]; of a write with immediate, where it went.
    pub tag: u64,
    /// Of a write with immediate, the number it was posted with.
    pub written: Option<u32>,
}

/// One delivered message, for the statistics.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Bytes.
    pub bytes: u64,
    /// Clock at which the send was posted.
    pub posted: u64,
    /// Clock at which its receive completed.
    pub done: u64,
}

/// All hosts, and what they have sent and received.
pub struct Session {
    /// NICs and fabric.
    pub cluster: SharedCluster,
    /// One host per NIC.
    pub hosts: Vec<Host>,
    peers: Vec<AddressHandle>,
    payload_size: u32,
    posted: HashMap<u64, u64>,
    /// Messages delivered so far.
    pub samples: Vec<Sample>,
    sends_open: usize,
    quiet: (u64, u64),
}

/// Packs what a message is into its tag.
pub fn tag(phase: u8, from: usize, to: usize, number: usize) -> u64 {
    (phase as u64) << 56 | (from as u64) << 48 | (to as u64) << 40 | number as u64
}

/// The parts of a tag: phase, sender, receiver, number.
pub fn untag(tag: u64) -> (u8, usize, usize, usize) {
    (
        (tag >> 56) as u8,
        (tag >> 48 & 0xFF) as usize,
        (tag >> 40 & 0xFF) as usize,
        (tag & 0xFF_FFFF_FFFF) as usize,
    )
}

/// What a session of `seed` writes to the SEED register of a NIC.
pub fn nic_seed(seed: u64, nic: usize) -> u32 {
    (seed as u32 ^ (seed >> 32) as u32).wrapping_mul(0x9E37_79B1).wrapping_add(nic as u32) | 1
}

impl Session {
    /// Opens every NIC and gives each host an endpoint.
    pub fn open(
        cluster: SharedCluster,
        nics: usize,
        seed: u64,
        payload_size: u32,
        settings: &[(Reg, u32)],
    ) -> Result<Self, SessionError> {
        let mut hosts = Vec::new();
        for nic in 0..nics {
            let (mac, ip) = addresses(nic);
            let device = cluster.device(nic);
            let has_ip6 = DeviceAttributes::of(&*device)?.ipv6;
            let options = ContextOptions {
                mac,
                ip,
                ip6: has_ip6.then(|| ip6(nic)),
                vlan: None,
                seed: nic_seed(seed, nic),
                settings: settings.to_vec(),
            };
            let context = Context::open(device, options)?;
            let cq = context.create_cq(4 * ENTRIES)?;
            let pd = context.alloc_pd();
            let options = EndpointOptions {
                qkey: QKEY,
                send_entries: ENTRIES,
                recv_entries: ENTRIES,
                ..EndpointOptions::default()
            };
            let endpoint = pd.create_endpoint(&options, &cq, &cq)?;
            hosts.push(Host { nic, context, pd, cq, endpoint });
        }
        let peers = hosts.iter().map(|host| host.endpoint.address()).collect();
        Ok(Self {
            cluster,
            hosts,
            peers,
            payload_size,
            posted: HashMap::new(),
            samples: Vec::new(),
            sends_open: 0,
            quiet: (0, 0),
        })
    }

    /// From now on hosts send to each other's IPv6 (else IPv4) addresses, in
    /// frames tagged with a VLAN or in untagged ones. Before the first message.
    ///
    /// # Errors
    /// If a NIC does not take the VLAN.
    pub fn speak(&mut self, v6: bool, vlan: Option<u16>) -> Result<(), SessionError> {
        for (host, peer) in self.hosts.iter().zip(&mut self.peers) {
            host.context.write(regs::VLAN, u32::from(vlan.unwrap_or(0)))?;
            if vlan.is_some() && !host.context.attributes()?.vlan {
                return Err(PostError::from(LeftOut("VLAN tags")).into());
            }
            let address = host.endpoint.address_at(usize::from(v6));
            let address = address.ok_or(PostError::from(LeftOut("IPv6")))?;
            *peer = AddressHandle { vlan, ..address };
        }
        Ok(())
    }

    /// NICs.
    pub fn nics(&self) -> usize {
        self.hosts.len()
    }

    /// How one NIC's endpoint is addressed.
    pub fn address(&self, nic: usize) -> AddressHandle {
        self.peers[nic]
    }

    /// Now, in clocks.
    pub fn clock(&self) -> u64 {
        self.cluster.lock().clock()
    }

    /// Sends posted and not yet completed.
    pub fn sends_open(&self) -> usize {
        self.sends_open
    }

    /// Ring places that one NIC's sends and receives take, from the oldest
    /// unfinished request on.
    pub fn outstanding(&self, nic: usize) -> (usize, usize) {
        let endpoint = &self.hosts[nic].endpoint;
        (endpoint.sends_outstanding(), endpoint.recvs_outstanding())
    }

    /// Registers memory with one NIC.
    pub fn register(
        &self,
        nic: usize,
        memory: &Arc<DmaMemory>,
        access: Access,
    ) -> Result<MemoryRegion, SessionError> {
        Ok(self.hosts[nic].pd.register(memory, access)?)
    }

    /// Registers a round of one NIC's endpoint that ends with so many messages. A NIC that has no rounds
    /// goes without: nothing but times depends on it.
    pub fn register_round(&self, nic: usize, id: u16, messages: u16) -> Result<(), SessionError> {
        match self.hosts[nic].endpoint.register_round(id, messages) {
            Err(PostError::LeftOut(_)) => Ok(()),
            told => Ok(told?),
        }
    }

    /// Payload bytes per packet of the sends that follow: 256 to 4096, a power of
    /// two.
    pub fn set_payload_size(&mut self, bytes: u32) {
        self.payload_size = bytes;
    }

    /// Posts a send of a range of a region; the tag tells the receiver what it is.
    pub fn send(
        &mut self,
        region: &MemoryRegion,
        range: Range<usize>,
        what: (u8, usize, usize, usize),
    ) -> Result<(), SessionError> {
        self.send_in_round(region, range, what, None)
    }

    /// The same as part of a round of the receiver's.
    pub fn send_in_round(
        &mut self,
        region: &MemoryRegion,
        range: Range<usize>,
        (phase, from, to, number): (u8, usize, usize, usize),
        round: Option<u16>,
    ) -> Result<(), SessionError> {
        let tag = tag(phase, from, to, number);
        let request = SendRequest {
            work_id: tag,
            region,
            range,
            to: self.peers[to],
            tag,
            immediate: None,
            round,
            payload_size: self.payload_size,
        };
        self.posted.insert(tag, self.clock());
        self.hosts[from].endpoint.post_send(&request)?;
        self.sends_open += 1;
        Ok(())
    }

    /// Posts a write of a range of a region into the peer's memory; with
    /// `notify` its number is the immediate, and takes one of the peer's receives.
    pub fn write(
        &mut self,
        region: &MemoryRegion,
        range: Range<usize>,
        remote: RemoteMemory,
        (phase, from, to, number): (u8, usize, usize, usize),
        notify: bool,
    ) -> Result<(), SessionError> {
        let request = WriteRequest {
            work_id: tag(phase, from, to, number),
            region,
            range,
            to: self.peers[to],
            remote,
            immediate: notify.then_some(number as u32),
            round: None,
            payload_size: self.payload_size,
        };
        self.hosts[from].endpoint.post_write(&request)?;
        self.sends_open += 1;
        Ok(())
    }

    /// Posts a receive.
    pub fn recv(
        &mut self,
        nic: usize,
        region: &MemoryRegion,
        range: Range<usize>,
        id: u64,
    ) -> Result<(), SessionError> {
        Ok(self.hosts[nic].endpoint.post_recv(&RecvRequest { work_id: id, region, range })?)
    }

    /// Takes what has completed on all NICs; when nothing has, lets time run.
    pub fn poll(&mut self) -> Result<Vec<Arrived>, SessionError> {
        let mut arrived = Vec::new();
        let mut any = false;
        let mut completions = [WorkCompletion::default(); 64];
        for host in &mut self.hosts {
            let taken = host.cq.poll(&mut completions)?;
            any |= taken > 0;
            for done in &completions[..taken] {
                if done.status != Status::Success {
                    let (_, from, to, number) = untag(if done.receive { done.tag } else { done.work_id });
                    return Err(SessionError::Failed {
                        nic: host.nic,
                        receive: done.receive,
                        from,
                        to,
                        number,
                        status: done.status,
                    });
                }
                if done.receive {
                    // The entry's tick is the low 32 bits of the NIC's time, which starts with the clock.
                    let done_at = u64::from(done.timestamp) * u64::from(CLOCKS_PER_TICK);
                    let posted = self.posted.remove(&done.tag).unwrap_or(done_at);
                    let done_at = done_at.max(posted);
                    self.samples.push(Sample { bytes: done.len.into(), posted, done: done_at });
                    let len = done.len as usize;
                    let written = done.immediate.filter(|_| done.write);
                    arrived.push(Arrived {
                        nic: host.nic,
                        work_id: done.work_id,
                        len,
                        tag: done.tag,
                        written,
                    });
                } else {
                    self.sends_open -= 1;
                }
            }
        }
        if !any {
            self.hosts[0].context.wait()?;
            self.check_quiet()?;
        }
        Ok(arrived)
    }

    /// Fails when nothing moves any more.
    fn check_quiet(&mut self) -> Result<(), SessionError> {
        let cluster = self.cluster.lock();
        let (clock, frames) = (cluster.clock(), cluster.fabric().stats().frames);
        if frames != self.quiet.1 {
            self.quiet = (clock, frames);
        }
        if clock - self.quiet.0 > QUIET_CLOCKS {
            return Err(SessionError::Stalled { clock, waiting: self.posted.len(), sends: self.sends_open });
        }
        Ok(())
    }

    /// Sum of one register over all NICs.
    pub fn sum(&self, offset: u32) -> Result<u64, SessionError> {
        let reg = Reg { offset, ..regs::TIME };
        self.hosts.iter().map(|host| Ok(u64::from(host.context.read(reg)?))).sum()
    }
}
