//! The same messages in flight, spread over few and over very many peers.

use tessera_abi::params::Config;
use tessera_abi::regs::{self, Counter, Reg};
use tessera_abi::status::Drop as DropReason;
use tessera_driver::{
    Access, AddressHandle, Context, ContextOptions, DmaMemory, EndpointOptions, RecvRequest, SendRequest,
    Status, WorkCompletion,
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
    let time_wait = (config.tombstones as u32 / 8).max(64);
    [
        (regs::PATH_COUNT, 1),
        (regs::T_OPEN, time_wait / 2),
        (regs::TIME_WAIT, time_wait),
        (regs::CREDIT_LIMIT, 1 << 20),
    ]
}

fn address(peer: u32) -> AddressHandle {
    let (mac, ip) = peers::addresses(peer);
    AddressHandle::ipv4(mac, ip, peers::endpoint_of(peer), QKEY)
}

/// `messages` of [`LEN`] bytes in and out at once, with `count` peers.
pub fn run(model: &Model, config: &Config, count: u32, messages: u64, seed: u64) -> Result<Run, Failure> {
    let in_flight = (1usize << config.rx_contexts_log2).div_ceil(4).min(512);
    let options = PeerOptions { peers: count, in_flight, len: LEN as u32 };
    let shared = SharedPeers::new(Peers::new(model, &NicOptions { seed, ..NicOptions::default() }, options)?);
    let (mac, ip) = cluster::addresses(0);
    let registers = settings(config).to_vec();
    let options =
        ContextOptions { mac, ip, ip6: None, vlan: None, seed: seed as u32 | 1, settings: registers };
    let context = Context::open(shared.device(0), options)?;
    let mut cq = context.create_cq(4 * ENTRIES)?;
    let pd = context.alloc_pd();
    let options = EndpointOptions {
        qkey: QKEY,
        send_entries: ENTRIES,
        recv_entries: ENTRIES,
        ..EndpointOptions::default()
    };
    let mut endpoint = pd.create_endpoint(&options, &cq, &cq)?;
    let source = pd.register(&DmaMemory::from_slice(&[0x5A; LEN]), Access::READ)?;
    let sink = pd.register(&DmaMemory::new(LEN), Access::LOCAL_WRITE)?;
    shared.lock().start(endpoint.address());

    let (mut posted, mut ended, mut received) = (0u64, 0u64, 0u64);
    let mut marks = Vec::new();
    let (mut peak, mut host_bytes, mut quiet) = (0, 0, 0);
    let mut completions = [WorkCompletion::default(); 64];
    while ended < messages || received < messages {
        while endpoint.recvs_outstanding() < ENTRIES - 16 {
            endpoint.post_recv(&RecvRequest { work_id: 0, region: &sink, range: 0..LEN })?;
        }
        while endpoint.sends_outstanding() < in_flight {
            let to = address((posted % u64::from(count)) as u32);
            let (region, tag) = (&source, posted);
            endpoint.post_send(&SendRequest {
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
            let taken = cq.poll(&mut completions)?;
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
            marks.push((shared.lock().clock(), ended, received));
            let used = (1 << config.tx_slots_log2) - context.read(regs::FREE_SLOTS)?
                + (1 << config.rx_contexts_log2)
                - context.read(regs::FREE_CONTEXTS)?;
            peak = used.max(peak);
            host_bytes = shared.lock().nic().memory().mapped();
        }
        context.wait()?;
    }
    if sink.memory().to_vec(1, LEN - 1).windows(2).any(|pair| pair[0] != pair[1]) {
        return Err(RunError::Corrupt { what: "a peer's message".into() }.into());
    }
    let [(from, out0, in0), (to, out1, in1)] = marks[..] else {
        return Err(Failure::new("the run was too short to measure"));
    };
    let moved = (out1 - out0).min(in1 - in0);
    let counts = shared.lock().counts();
    let mut busy =
        [DropReason::BusyReceive, DropReason::BusyResources, DropReason::BusyConflict, DropReason::BusyQuota]
            .map(|reason| (reason, 0));
    for (reason, count) in &mut busy {
        *count = context.dropped(*reason)?;
    }
    Ok(Run { clocks: (to - from) as f64 / moved as f64, peak, host_bytes, counts, busy })
}

/// Sends `frames` messages of one packet of two 64-byte beats without a clock
/// between them; returns how many, how many frames the NIC counted, and how many of
/// them it dropped.
pub fn burst(model: &Model, config: &Config, frames: usize, seed: u64) -> Result<(u64, u32, u32), Failure> {
    const SHORT: usize = 32;
    let options = PeerOptions { peers: 1024, in_flight: frames, len: SHORT as u32 };
    let shared = SharedPeers::new(Peers::new(model, &NicOptions { seed, ..NicOptions::default() }, options)?);
    let (mac, ip) = cluster::addresses(0);
    let registers = settings(config).to_vec();
    let context = Context::open(
        shared.device(0),
        ContextOptions { mac, ip, ip6: None, vlan: None, seed: seed as u32 | 1, settings: registers },
    )?;
    let cq = context.create_cq(4 * ENTRIES)?;
    let pd = context.alloc_pd();
    let options = EndpointOptions {
        qkey: QKEY,
        send_entries: ENTRIES,
        recv_entries: ENTRIES,
        ..EndpointOptions::default()
    };
    let mut endpoint = pd.create_endpoint(&options, &cq, &cq)?;
    let sink = pd.register(&DmaMemory::new(SHORT), Access::LOCAL_WRITE)?;
    for _ in 0..ENTRIES {
        endpoint.post_recv(&RecvRequest { work_id: 0, region: &sink, range: 0..SHORT })?;
    }
    // Doorbells and the first entries are on their way.
    for _ in 0..100 {
        context.wait()?;
    }
    shared.lock().start_once(endpoint.address());
    for _ in 0..100 {
        context.wait()?;
    }
    let counted = context.counter(Counter::RxFrames)?;
    Ok((frames as u64, counted, context.dropped(DropReason::Overflow)?))
}
