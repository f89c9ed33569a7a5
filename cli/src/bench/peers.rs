//! The same messages in flight, spread over few and over very many peers.

use tessera_abi::params::{Config, CORE_BITS};
use tessera_abi::regs::{self, Counter, Reg};
use tessera_abi::status::Drop as DropReason;
use tessera_abi::wire;
use tessera_driver::{
    Access, AddressHandle, CompletionQueue, Context, ContextOptions, DmaMemory, Endpoint, EndpointOptions,
    MemoryRegion, ProtectionDomain, RecvRequest, SendRequest, Status, WorkCompletion,
};
use tessera_sim::cluster;
use tessera_sim::nic::NicOptions;
use tessera_sim::peers::{self, PeerCounts, PeerOptions, Peers, SharedPeers};
use tessera_sim::verilator::Model;

use crate::output::{Failure, RunError};

/// Ring entries each way.
const ENTRIES: usize = 1024;
/// Q_Key of all.
const QKEY: u32 = 0x5453_0002;
/// Bytes of a message.
const LEN: usize = 64;
/// Windows without a message after which nothing will come any more.
const QUIET: u32 = 5000;

/// What one run tells.
pub struct Run {
    /// Clocks per message, in and out at once.
    pub clocks: f64,
    /// Slots and contexts in use at most, of those looked at.
    pub peak: u32,
    /// Host bytes that the NIC reaches, near the end: rings and the buffers.
    pub host_bytes: usize,
    pub counts: PeerCounts,
    /// Messages sent away, by the four reasons there are.
    pub busy: [(DropReason, u32); 4],
}

/// Registers of a run. A tombstone's life is cut so that the messages which end in
/// it, and in the sweep of the tables behind it, are remembered at more than the
/// speed looked for: what is measured is the block, not the wait.
fn settings(config: &Config) -> [(Reg, u32); 4] {
    let time_wait = time_wait(config);
    [
        (regs::PATH_COUNT, 1),
        (regs::T_OPEN, time_wait / 2),
        (regs::TIME_WAIT, time_wait),
        (regs::CREDIT_LIMIT, 1 << 20),
    ]
}

/// A tombstone's life in a run, ticks.
fn time_wait(config: &Config) -> u32 {
    (config.tombstones as u32 / 8).max(64)
}

/// What [`settings`] cut, for whoever reads the figures.
pub fn cut(config: &Config) -> String {
    let (cut, of) = (time_wait(config), [regs::T_OPEN.reset, regs::TIME_WAIT.reset]);
    format!("with T_OPEN {} (else {}) and TIME_WAIT {cut} ticks (else {})", cut / 2, of[0], of[1])
}

fn address(peer: u32) -> AddressHandle {
    let (mac, ip) = peers::addresses(peer);
    AddressHandle::ipv4(mac, ip, peers::endpoint_of(peer), QKEY)
}

/// One NIC among peers, and its host's program.
struct Host {
    endpoint: Endpoint,
    pd: ProtectionDomain,
    cq: CompletionQueue,
    context: Context,
    shared: SharedPeers,
}

impl Host {
    fn open(model: &Model, config: &Config, options: PeerOptions, seed: u64) -> Result<Self, Failure> {
        let nic = NicOptions { seed, ..NicOptions::default() };
        let shared = SharedPeers::new(Peers::new(model, &nic, options)?);
        let (mac, ip) = cluster::addresses(0);
        let settings = settings(config).to_vec();
        let options = ContextOptions { mac, ip, ip6: None, vlan: None, seed: seed as u32 | 1, settings };
        let context = Context::open(shared.device(0), options)?;
        let cq = context.create_cq(4 * ENTRIES)?;
        let pd = context.alloc_pd();
        let options = EndpointOptions {
            qkey: QKEY,
            send_entries: ENTRIES,
            recv_entries: ENTRIES,
            ..EndpointOptions::default()
        };
        let endpoint = pd.create_endpoint(&options, &cq, &cq)?;
        Ok(Self { endpoint, pd, cq, context, shared })
    }

    /// Posts receives until `room` places of the ring are left.
    fn receive(&mut self, sink: &MemoryRegion, len: usize, room: usize) -> Result<(), Failure> {
        while self.endpoint.recvs_outstanding() < ENTRIES - room {
            self.endpoint.post_recv(&RecvRequest { work_id: 0, region: sink, range: 0..len })?;
        }
        Ok(())
    }
}

/// `messages` of [`LEN`] bytes in and out at once, with `count` peers.
pub fn run(model: &Model, config: &Config, count: u32, messages: u64, seed: u64) -> Result<Run, Failure> {
    let in_flight = (1usize << config.rx_contexts_log2).div_ceil(4).min(512);
    let options = PeerOptions { peers: count, in_flight, len: LEN as u32 };
    let mut host = Host::open(model, config, options, seed)?;
    let source = host.pd.register(&DmaMemory::from_slice(&[0x5A; LEN]), Access::READ)?;
    let sink = host.pd.register(&DmaMemory::new(LEN), Access::LOCAL_WRITE)?;
    host.shared.lock().start(host.endpoint.address());

    let (mut posted, mut ended, mut received) = (0u64, 0u64, 0u64);
    let mut marks = Vec::new();
    let (mut peak, mut host_bytes, mut quiet) = (0, 0, 0);
    let mut completions = [WorkCompletion::default(); 64];
    while ended < messages || received < messages {
        host.receive(&sink, LEN, 16)?;
        while host.endpoint.sends_outstanding() < in_flight {
            let to = address((posted % u64::from(count)) as u32);
            let (region, tag) = (&source, posted);
            host.endpoint.post_send(&SendRequest {
                work_id: posted,
                region,
                range: 0..LEN,
                to,
                tag,
                immediate: None,
                round: None,
                payload_size: 4096,
            })?;
            posted += 1;
        }
        let mut any = false;
        loop {
            let taken = host.cq.poll(&mut completions)?;
            for done in &completions[..taken] {
                if done.status != Status::Success {
                    return Err(Failure::new(format!(
                        "a message with a peer ended with {}",
                        done.status.name()
                    )));
                }
                if done.receive {
                    received += 1;
                } else {
                    ended += 1;
                }
            }
            any |= taken > 0;
            if taken < completions.len() {
                break;
            }
        }
        quiet = if any { 0 } else { quiet + 1 };
        if quiet > QUIET {
            return Err(Failure::new(format!("with {count} peers nothing moves after {received} messages")));
        }
        let least = ended.min(received);
        if marks.len() < 2 && least * 4 >= messages * (1 + 2 * marks.len() as u64) {
            marks.push((host.shared.lock().clock(), ended, received));
            let used = (1 << config.tx_slots_log2) - host.context.read(regs::FREE_SLOTS)?
                + (1 << config.rx_contexts_log2)
                - host.context.read(regs::FREE_CONTEXTS)?;
            peak = used.max(peak);
            host_bytes = host.shared.lock().nic().memory().mapped();
        }
        host.context.wait()?;
    }
    if sink.memory().to_vec(1, LEN - 1).windows(2).any(|pair| pair[0] != pair[1]) {
        return Err(RunError::Corrupt { what: "a peer's message".into() }.into());
    }
    let [(from, out0, in0), (to, out1, in1)] = marks[..] else {
        return Err(Failure::new("the run was too short to measure"));
    };
    let moved = (out1 - out0).min(in1 - in0);
    let counts = host.shared.lock().counts();
    let mut busy =
        [DropReason::BusyReceive, DropReason::BusyResources, DropReason::BusyConflict, DropReason::BusyQuota]
            .map(|reason| (reason, 0));
    for (reason, count) in &mut busy {
        *count = host.context.dropped(*reason)?;
    }
    Ok(Run { clocks: (to - from) as f64 / moved as f64, peak, host_bytes, counts, busy })
}

/// Bytes of the longest message whose packet has two beats of the core.
const SHORT: usize = 2 * (CORE_BITS / 8) - wire::DATA_HEADER_LEN - wire::ICRC_LEN;

/// Clocks that such a packet takes at line rate.
fn line_clocks(config: &Config) -> f64 {
    f64::from(2 * CORE_BITS as u32) / config.data_bits as f64
}

/// What became of a burst.
pub struct Burst {
    /// Packets of two beats, without a clock between them.
    pub sent: usize,
    /// Of these, not dropped for want of room.
    pub absorbed: u32,
}

/// As many messages of one packet of two beats as half the places that packets
/// may wait in (or all contexts, if those are fewer), without a clock between them.
pub fn burst(model: &Model, config: &Config, seed: u64) -> Result<Burst, Failure> {
    let sent = (1 << (config.rx_packets_log2 - 1)).min(1 << config.rx_contexts_log2);
    let options = PeerOptions { peers: 1024, in_flight: sent, len: SHORT as u32 };
    let mut host = Host::open(model, config, options, seed)?;
    let sink = host.pd.register(&DmaMemory::new(SHORT), Access::LOCAL_WRITE)?;
    host.receive(&sink, SHORT, 0)?;
    // Doorbells and the first entries are on their way.
    for _ in 0..100 {
        host.context.wait()?;
    }
    host.shared.lock().start_once(host.endpoint.address());
    for _ in 0..100 {
        host.context.wait()?;
    }
    let counted = host.context.counter(Counter::RxFrames)?;
    Ok(Burst { sent, absorbed: counted - host.context.dropped(DropReason::Overflow)? })
}

/// What lasts under a flood.
pub struct Pace {
    /// Packets per clock that became messages received.
    pub packets: f64,
    /// Packets per clock that came in.
    pub offered: f64,
}

/// The pace that lasts when packets of two beats, each a message, come in
/// without a clock between them for much longer than places to wait in suffice.
pub fn pace(model: &Model, config: &Config, seed: u64) -> Result<Pace, Failure> {
    let sent = 8usize << config.rx_packets_log2;
    let options = PeerOptions { peers: 1024, in_flight: sent, len: SHORT as u32 };
    let mut host = Host::open(model, config, options, seed)?;
    let sink = host.pd.register(&DmaMemory::new(SHORT), Access::LOCAL_WRITE)?;
    host.receive(&sink, SHORT, 0)?;
    for _ in 0..100 {
        host.context.wait()?;
    }
    host.shared.lock().start_once(host.endpoint.address());
    let begun = host.shared.lock().clock();
    // The places to wait in are full behind the first quarter.
    let line = sent as f64 * line_clocks(config);
    let (from, to) = (begun + (line / 4.0) as u64, begun + line as u64);
    let mut completions = [WorkCompletion::default(); 64];
    let mut received = 0u64;
    let mut first = None;
    loop {
        host.receive(&sink, SHORT, 0)?;
        loop {
            let taken = host.cq.poll(&mut completions)?;
            let done = completions[..taken].iter().filter(|done| done.status == Status::Success);
            received += done.count() as u64;
            if taken < completions.len() {
                break;
            }
        }
        let clock = host.shared.lock().clock();
        if clock >= from {
            let (clock0, received0) = *first.get_or_insert((clock, received));
            if clock >= to {
                let packets = (received - received0) as f64 / (clock - clock0) as f64;
                return Ok(Pace { packets, offered: 1.0 / line_clocks(config) });
            }
        }
        host.context.wait()?;
    }
}
