//! The C side of it: `ns3/host.h` says the same in C.
//!
//! A packet is so many opaque bytes to the network (`packet_bytes`), beside its length
//! on the wire and its flow label. All pointers come from [`tns3_open`], or point to
//! memory of the caller's that is as large as what is read or written there.

use std::ffi::{c_char, CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use tessera_net::topology::{mix, Topology};
use tessera_net::transport::{Arrived, Departing, End, Message, Tally, Transport};
use tessera_net::Ps;

use crate::host::{Header, Host};
use crate::plan::{Plan, PlanError};

/// A plan, its wiring and its hosts.
pub struct Run {
    plan: Plan,
    topology: Topology,
    hosts: Vec<Host>,
}

impl Run {
    fn open(path: &Path) -> Result<Self, PlanError> {
        let plan = Plan::read(path)?;
        let topology =
            Topology::new(plan.shape, plan.seed).map_err(tessera_net::network::MakeError::Shape)?;
        let hosts = plan.hosts(topology.hosts())?;
        Ok(Self { plan, topology, hosts })
    }
}

/// Sizes of a run.
#[repr(C)]
#[derive(Debug)]
pub struct Sizes {
    /// Hosts.
    pub hosts: u32,
    /// Switches.
    pub switches: u32,
    /// Ports of both: host `h` has port `h`.
    pub ports: u32,
    /// Messages.
    pub messages: u32,
    /// Bytes of a packet's opaque header.
    pub packet_bytes: u32,
    /// Seed of what the network draws: not 0.
    pub seed: u32,
    /// Bytes of buffer that all ports of a switch share; each has at most what is free.
    pub buffer: u64,
    /// Queued bytes at which marks begin; both 0: there are none.
    pub mark_least: u64,
    /// Queued bytes from which on all is marked.
    pub mark_most: u64,
}

/// A port.
#[repr(C)]
#[derive(Debug)]
pub struct Port {
    /// Node it is of: hosts first, then switches.
    pub node: u32,
    /// Port at the other end of its link.
    pub peer: u32,
    /// Bit/s.
    pub rate: u64,
    /// Picoseconds.
    pub delay: u64,
}

/// What goes with a packet that leaves.
#[repr(C)]
#[derive(Debug)]
pub struct Leaving {
    /// Host it is for.
    pub to: u32,
    /// Length on the wire.
    pub bytes: u32,
    /// Flow label.
    pub label: u32,
}

/// Hosts' counts.
#[repr(C)]
#[derive(Debug)]
pub struct Counts {
    /// Packets with payload sent.
    pub sent: u64,
    /// Of those, again.
    pub again: u64,
    /// Packets without payload sent.
    pub control: u64,
    /// Expiries that asked for or sent something again.
    pub timeouts: u64,
    /// Packets lost where they arrived.
    pub lost: u64,
}

/// Reads a plan and makes its hosts; null, and a line to standard error, if it cannot.
///
/// # Safety
/// `path` is a C string.
#[no_mangle]
pub unsafe extern "C" fn tns3_open(path: *const c_char) -> *mut Run {
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) };
    match Run::open(Path::new(OsStr::from_bytes(path.to_bytes()))) {
        Ok(run) => Box::into_raw(Box::new(run)),
        Err(error) => {
            eprintln!("{error}");
            std::ptr::null_mut()
        }
    }
}

/// Sizes of a run.
#[no_mangle]
pub extern "C" fn tns3_sizes(run: &Run) -> Sizes {
    let (mark_least, mark_most) = run.plan.ecn.map_or((0, 0), |ecn| (ecn.least, ecn.most));
    Sizes {
        hosts: run.topology.hosts(),
        switches: run.topology.switches(),
        ports: run.topology.ports(),
        messages: run.plan.messages.len() as u32,
        packet_bytes: size_of::<Header>() as u32,
        seed: mix(run.plan.seed).max(1),
        buffer: run.plan.buffer,
        mark_least,
        mark_most,
    }
}

/// A port, below `ports`.
#[no_mangle]
pub extern "C" fn tns3_port(run: &Run, port: u32) -> Port {
    let (topology, links) = (&run.topology, &run.plan.links);
    let peer = topology.peer(port).1;
    let node = topology.peer(peer).0;
    let (gbps, delay) = match port.min(peer) < topology.hosts() {
        true => (links.host_gbps, links.host_delay),
        false => (links.fabric_gbps, links.fabric_delay + more_delay(topology, links.skew, port)),
    };
    Port { node, peer, rate: u64::from(gbps) * 1_000_000_000, delay }
}

/// What a link between switches has by the number of its way up.
fn more_delay(topology: &Topology, skew: Ps, port: u32) -> Ps {
    let lower = |port: u32| {
        let node = topology.peer(topology.peer(port).1).0;
        let ways = topology.ports_up(node.checked_sub(topology.hosts())?);
        ways.contains(&port).then(|| (u64::from(port - ways.start), ways.len() as u64))
    };
    match lower(port).or_else(|| lower(topology.peer(port).1)) {
        Some((number, ways)) if ways > 1 => skew * number / (ways - 1),
        _ => 0,
    }
}

/// The port by which a switch, counted from 0, sends a packet on.
#[no_mangle]
pub extern "C" fn tns3_way(run: &Run, switch: u32, to: u32, label: u32) -> u32 {
    run.topology.route(switch, to, label).unwrap_or(u32::MAX)
}

/// When a message, below `messages`, is posted; `from` takes the host where.
#[no_mangle]
pub extern "C" fn tns3_posting(run: &Run, message: u32, from: &mut u32) -> Ps {
    let message = &run.plan.messages[message as usize];
    *from = message.from;
    message.at
}

/// Posts a message.
#[no_mangle]
pub extern "C" fn tns3_post(run: &mut Run, now: Ps, id: u32) {
    let posted = run.plan.messages[id as usize];
    let (from, to, bytes) = (posted.from, posted.to, posted.bytes);
    run.hosts[from as usize].post(now, &Message { id, from, to, bytes, round: None, process: 0 });
}

/// A packet has arrived at a host, whole.
///
/// # Safety
/// `packet` points to the bytes that [`tns3_transmit`] has written for it, at any address.
#[no_mangle]
pub unsafe extern "C" fn tns3_receive(
    run: &mut Run,
    host: u32,
    now: Ps,
    from: u32,
    marked: bool,
    packet: *const u8,
) {
    // SAFETY: the caller's promise.
    let header = unsafe { packet.cast::<Header>().read_unaligned() };
    run.hosts[host as usize].receive(now, &Arrived { from, ce: marked, trimmed: false, header });
}

/// When [`tns3_expire`] wants to be called; the largest number: never.
#[no_mangle]
pub extern "C" fn tns3_deadline(run: &Run, host: u32) -> Ps {
    run.hosts[host as usize].deadline().unwrap_or(Ps::MAX)
}

/// Does what is due.
#[no_mangle]
pub extern "C" fn tns3_expire(run: &mut Run, host: u32, now: Ps) {
    run.hosts[host as usize].expire(now);
}

/// The next packet of a host whose link is free; false: it has none.
///
/// # Safety
/// `packet` points to `packet_bytes` bytes, at any address.
#[no_mangle]
pub unsafe extern "C" fn tns3_transmit(
    run: &mut Run,
    host: u32,
    now: Ps,
    leaving: &mut Leaving,
    packet: *mut u8,
) -> bool {
    let Some(departing) = run.hosts[host as usize].transmit(now) else { return false };
    let Departing { to, bytes, label, header, .. } = departing;
    *leaving = Leaving { to, bytes, label };
    // SAFETY: the caller's promise.
    unsafe { packet.cast::<Header>().write_unaligned(header) };
    true
}

/// The next message that has ended at a host, and how: 0 delivered, 1 acknowledged,
/// 2 given up; false: none has.
#[no_mangle]
pub extern "C" fn tns3_take_done(run: &mut Run, host: u32, message: &mut u32, end: &mut u32) -> bool {
    let Some(done) = run.hosts[host as usize].take_done() else { return false };
    *message = done.id;
    *end = match done.end {
        End::Delivered => 0,
        End::Acknowledged => 1,
        End::Failed => 2,
    };
    true
}

/// What all hosts have counted.
#[no_mangle]
pub extern "C" fn tns3_counts(run: &Run) -> Counts {
    let tally = run.hosts.iter().fold(Tally::default(), |sum, host| sum.and(host.tally()));
    let Tally { sent, again, control, timeouts, .. } = tally;
    Counts { sent, again, control, timeouts, lost: run.hosts.iter().map(Host::lost).sum() }
}

/// Frees a run.
///
/// # Safety
/// It comes from [`tns3_open`] and is not used any more.
#[no_mangle]
pub unsafe extern "C" fn tns3_close(run: *mut Run) {
    if !run.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(run) });
    }
}
