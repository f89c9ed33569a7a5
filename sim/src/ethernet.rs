//! One end of the fabric to an outside Ethernet: a datagram socket whose every datagram is a
//! frame, as QEMU's `-netdev dgram` has it.
//!
//! ```text
//!   fabric ── frames of NICs ──> send ──────────────────────────> remote socket
//!   fabric <── take <── frames for NICs ──┬── local socket <───── anybody
//!                 ARP, neighbours' solicitations ──> answered here
//! ```
//!
//! NICs speak RoCEv2 and nothing else: who has which address is said, and asked, by this
//! side in their stead. Frames from outside are no better than others: the fabric's faults
//! apply to them, and what is wrong with one the NIC has to see.

use std::collections::{HashMap, VecDeque};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::cluster::{addresses, ip6, nic_of};
use tessera_abi::wire::{gid_ipv4, ipv4_gid, ETHERTYPE_IPV6, ETH_LEN, IPV6_LEN};

/// Longest frame that is taken.
const LONGEST: usize = 16 << 10;
/// Shortest frame on an Ethernet, without FCS: shorter ones are padded.
const SHORTEST: usize = 60;
/// Frames that wait for simulated time to pass; further ones are dropped.
const WAITING: usize = 16 << 10;
/// How long a frame waits for the other side's socket.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the listener looks whether it is over.
const LOOK: Duration = Duration::from_millis(50);
/// How often, and how long each time, somebody is asked for.
const ASK: (u32, Duration) = (10, Duration::from_millis(200));

const ETHERTYPE_ARP: u16 = 0x0806;
const ARP_REQUEST: u8 = 1;
const ARP_REPLY: u8 = 2;
const ICMPV6: u8 = 58;
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// An advertisement that was asked for, and is newer than what is known.
const SOLICITED: u8 = 0x60;
/// Options of both: the sender's and the target's MAC address.
const OPTION_SOURCE: u8 = 1;
const OPTION_TARGET: u8 = 2;

type Mac = [u8; 6];
type Gid = [u8; 16];

/// What passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EthernetStats {
    /// Frames from outside for a NIC.
    pub received: u64,
    /// Frames of NICs that went outside.
    pub sent: u64,
    /// ARP requests and solicitations for a NIC's address, answered.
    pub answered: u64,
    /// Frames from outside for others, or too long for anybody.
    pub ignored: u64,
    /// Frames from outside that nobody took in time.
    pub overflowed: u64,
    /// Frames of NICs, and answers, that nobody outside took.
    pub untaken: u64,
}

#[derive(Default)]
struct Counts {
    received: AtomicU64,
    sent: AtomicU64,
    answered: AtomicU64,
    ignored: AtomicU64,
    overflowed: AtomicU64,
    untaken: AtomicU64,
}

struct Shared {
    socket: UnixDatagram,
    remote: PathBuf,
    nics: usize,
    waiting: Mutex<VecDeque<Vec<u8>>>,
    neighbours: Mutex<HashMap<Gid, Mac>>,
    /// A neighbour has become known.
    met: Condvar,
    counts: Counts,
    stopped: AtomicBool,
}

/// The end. See the module's page.
pub struct Ethernet {
    shared: Arc<Shared>,
    local: PathBuf,
    listener: Option<JoinHandle<()>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Ethernet {
    /// Binds the socket `local`; frames of NICs go to `remote`, which may come later.
    ///
    /// # Errors
    /// If the socket cannot be bound, or somebody has it already.
    pub fn bind(local: &Path, remote: &Path, nics: usize) -> Result<Self, Error> {
        // What was left behind is in the way; a living socket, or another file, not.
        let is_socket = std::fs::symlink_metadata(local).is_ok_and(|file| file.file_type().is_socket());
        if is_socket {
            let left = UnixDatagram::unbound()?.connect(local);
            if left.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
                std::fs::remove_file(local)?;
            }
        }
        let socket = UnixDatagram::bind(local)?;
        socket.set_read_timeout(Some(LOOK))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let shared = Arc::new(Shared {
            socket,
            remote: remote.to_owned(),
            nics,
            waiting: Mutex::default(),
            neighbours: Mutex::default(),
            met: Condvar::new(),
            counts: Counts::default(),
            stopped: AtomicBool::new(false),
        });
        let listening = shared.clone();
        let listener = std::thread::Builder::new().name("tessera-ethernet".into()).spawn(move || {
            let mut frame = vec![0; LONGEST + 1];
            while !listening.stopped.load(Ordering::Acquire) {
                match listening.socket.recv(&mut frame) {
                    Ok(len) => listening.hear(&frame[..len]),
                    Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                    Err(_) => return,
                }
            }
        })?;
        Ok(Self { shared, local: local.to_owned(), listener: Some(listener) })
    }

    /// Frames for NICs that have come since the last call.
    pub fn take(&self) -> Vec<Vec<u8>> {
        lock(&self.shared.waiting).drain(..).collect()
    }

    /// Hands out a NIC's frame.
    pub fn send(&self, frame: &[u8]) {
        if self.shared.put(frame) {
            self.shared.counts.sent.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The MAC address of somebody outside, who is asked for in the name of a NIC if need
    /// be: that takes a while where nobody answers.
    pub fn resolve(&self, nic: usize, gid: &Gid) -> Option<Mac> {
        let (times, wait) = ASK;
        let mut known = lock(&self.shared.neighbours);
        for _ in 0..times {
            if let Some(mac) = known.get(gid) {
                return Some(*mac);
            }
            drop(known);
            self.shared.put(&question(nic, gid));
            known = lock(&self.shared.neighbours);
            // Others become known meanwhile.
            let unknown = |known: &mut HashMap<Gid, Mac>| !known.contains_key(gid);
            let waited = self.shared.met.wait_timeout_while(known, wait, unknown);
            known = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        known.get(gid).copied()
    }

    /// What passed so far.
    pub fn stats(&self) -> EthernetStats {
        let counts = &self.shared.counts;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        EthernetStats {
            received: read(&counts.received),
            sent: read(&counts.sent),
            answered: read(&counts.answered),
            ignored: read(&counts.ignored),
            overflowed: read(&counts.overflowed),
            untaken: read(&counts.untaken),
        }
    }
}

impl Drop for Ethernet {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        let _ = std::fs::remove_file(&self.local);
    }
}

impl Shared {
    fn put(&self, frame: &[u8]) -> bool {
        let mut padded = [0; SHORTEST];
        let frame = match frame.len() {
            len if len < SHORTEST => {
                padded[..len].copy_from_slice(frame);
                &padded
            }
            _ => frame,
        };
        let sent = self.socket.send_to(frame, &self.remote).is_ok();
        if !sent {
            self.counts.untaken.fetch_add(1, Ordering::Relaxed);
        }
        sent
    }

    fn hear(&self, frame: &[u8]) {
        let counts = &self.counts;
        let said = (frame.len() <= LONGEST).then(|| Said::of(frame)).flatten();
        if let Some(said) = said {
            if let Some((gid, mac)) = said.is {
                lock(&self.neighbours).insert(gid, mac);
                self.met.notify_all();
            }
            let answer = said.asks.and_then(|gid| Some((nic_of(&gid, self.nics)?, gid)));
            if let Some((nic, gid)) = answer {
                counts.answered.fetch_add(1, Ordering::Relaxed);
                self.put(&reply(nic, &gid, &said));
            }
            return;
        }
        let ours = |mac: &Mac| (0..self.nics).any(|nic| addresses(nic).0 == *mac);
        if frame.len() < ETH_LEN || frame.len() > LONGEST || !frame.first_chunk().is_some_and(ours) {
            counts.ignored.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let mut waiting = lock(&self.waiting);
        if waiting.len() >= WAITING {
            counts.overflowed.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let mut frame = frame.to_vec();
        frame.resize(frame.len().max(SHORTEST), 0);
        waiting.push_back(frame);
        counts.received.fetch_add(1, Ordering::Relaxed);
    }
}

/// What an ARP packet, a solicitation or an advertisement says.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    /// Its sender's MAC and, if it has one, address.
    from: (Mac, Option<Gid>),
    /// Who is where.
    is: Option<(Gid, Mac)>,
    /// Whom it asks for.
    asks: Option<Gid>,
}

fn chunk<const N: usize>(frame: &[u8], at: usize) -> Option<[u8; N]> {
    frame.get(at..at + N)?.try_into().ok()
}

impl Said {
    fn of(frame: &[u8]) -> Option<Self> {
        match u16::from_be_bytes(chunk(frame, 12)?) {
            ETHERTYPE_ARP => Self::of_arp(frame.get(ETH_LEN..)?),
            ETHERTYPE_IPV6 => Self::of_icmp(frame),
            _ => None,
        }
    }

    fn of_arp(arp: &[u8]) -> Option<Self> {
        // Ethernet, IPv4, and the lengths of their addresses.
        if chunk(arp, 0)? != [0, 1, 8, 0, 6, 4, 0] {
            return None;
        }
        let (mac, ip, target) = (chunk::<6>(arp, 8)?, chunk::<4>(arp, 14)?, chunk::<4>(arp, 24)?);
        let from = (ip != [0; 4]).then(|| ipv4_gid(ip));
        let asks = (arp[7] == ARP_REQUEST).then(|| ipv4_gid(target));
        Some(Self { from: (mac, from), is: from.map(|gid| (gid, mac)), asks })
    }

    fn of_icmp(frame: &[u8]) -> Option<Self> {
        let ip = frame.get(ETH_LEN..)?;
        let icmp = ip.get(IPV6_LEN..)?;
        let len = usize::from(u16::from_be_bytes(chunk(ip, 4)?));
        let icmp = icmp.get(..len)?;
        let kind = *icmp.first()?;
        // Only from this very link: a hop limit that no router has touched.
        let meant = ip[0] >> 4 == 6
            && ip[6] == ICMPV6
            && ip[7] == 255
            && matches!(kind, SOLICITATION | ADVERTISEMENT);
        if !meant {
            return None;
        }
        let (source, target) = (chunk::<16>(ip, 8)?, chunk::<16>(icmp, 8)?);
        if checksum(&ip[8..40], icmp) != 0 {
            return None;
        }
        let mac = chunk(frame, 6)?;
        let from = (source != [0; 16]).then_some(source);
        let asks = (kind == SOLICITATION).then_some(target);
        let is = match kind {
            SOLICITATION => from.zip(option(&icmp[24..], OPTION_SOURCE)),
            _ => Some(target).zip(option(&icmp[24..], OPTION_TARGET).or(Some(mac))),
        };
        Some(Self { from: (mac, from), is, asks })
    }
}

/// The MAC address in an option of neighbour discovery.
fn option(mut options: &[u8], kind: u8) -> Option<Mac> {
    loop {
        let [this, len] = chunk(options, 0)?;
        if len == 0 {
            return None;
        }
        if this == kind {
            return chunk(options, 2);
        }
        options = options.get(8 * usize::from(len)..)?;
    }
}

/// The checksum of an ICMPv6 message between two addresses; 0 if it holds its own.
fn checksum(addresses: &[u8], icmp: &[u8]) -> u16 {
    let words = |bytes: &[u8]| -> u32 {
        bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(*w.get(1).unwrap_or(&0))).sum()
    };
    let mut sum = words(addresses) + icmp.len() as u32 + u32::from(ICMPV6) + words(icmp);
    while sum >> 16 != 0 {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

fn arp(operation: u8, from: (Mac, [u8; 4]), to: (Mac, [u8; 4])) -> Vec<u8> {
    let broadcast = [0xFF; 6];
    let (destination, target) = if operation == ARP_REQUEST { (broadcast, [0; 6]) } else { (to.0, to.0) };
    let head = [0, 1, 8, 0, 6, 4, 0, operation];
    let ethertype = ETHERTYPE_ARP.to_be_bytes();
    [&destination[..], &from.0, &ethertype, &head, &from.0, &from.1, &target, &to.1].concat()
}

fn icmp(from: (Mac, Gid), to: (Mac, Gid), kind: u8, flags: u8, target: &Gid) -> Vec<u8> {
    let carries = if kind == SOLICITATION { OPTION_SOURCE } else { OPTION_TARGET };
    let mut icmp = [&[kind, 0, 0, 0, flags, 0, 0, 0], &target[..], &[carries, 1], &from.0].concat();
    let sum = checksum(&[from.1, to.1].concat(), &icmp);
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    let ip = [0x60, 0, 0, 0, 0, icmp.len() as u8, ICMPV6, 255];
    [&to.0[..], &from.0, &ETHERTYPE_IPV6.to_be_bytes(), &ip, &from.1, &to.1, &icmp].concat()
}

/// Asks the Ethernet who has a GID.
fn question(nic: usize, gid: &Gid) -> Vec<u8> {
    let (mac, ip) = addresses(nic);
    if let Some(target) = gid_ipv4(gid) {
        return arp(ARP_REQUEST, (mac, ip), ([0; 6], target));
    }
    // The multicast address of all whose addresses end so.
    let end = [gid[13], gid[14], gid[15]];
    let mut group = [0; 16];
    (group[0], group[1], group[11], group[12]) = (0xFF, 2, 1, 0xFF);
    group[13..].copy_from_slice(&end);
    let group_mac = [0x33, 0x33, 0xFF, end[0], end[1], end[2]];
    icmp((mac, ip6(nic)), (group_mac, group), SOLICITATION, 0, gid)
}

/// Tells who asked where a NIC's address is.
fn reply(nic: usize, gid: &Gid, asked: &Said) -> Vec<u8> {
    let (mac, ip) = addresses(nic);
    if gid_ipv4(gid).is_some() {
        let to = asked.from.1.as_ref().and_then(gid_ipv4).unwrap_or_default();
        return arp(ARP_REPLY, (mac, ip), (asked.from.0, to));
    }
    match asked.from.1 {
        Some(source) => icmp((mac, *gid), (asked.from.0, source), ADVERTISEMENT, SOLICITED, gid),
        // Somebody wants this address for itself: all are told whose it is.
        None => {
            let mut all = [0; 16];
            (all[0], all[1], all[15]) = (0xFF, 2, 1);
            icmp((mac, *gid), ([0x33, 0x33, 0, 0, 0, 1], all), ADVERTISEMENT, 0x20, gid)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_understood() {
        for gid in [ipv4_gid([10, 0, 0, 100]), [0xFD, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]] {
            let (mac, ip) = addresses(3);
            let own = if gid_ipv4(&gid).is_some() { ipv4_gid(ip) } else { ip6(3) };
            let mut frame = question(3, &gid);
            let said = Said { from: (mac, Some(own)), is: Some((own, mac)), asks: Some(gid) };
            assert_eq!(Said::of(&frame), Some(said));
            // Padded, as on the wire.
            frame.resize(frame.len() + 18, 0);
            assert!(Said::of(&frame).is_some());
            for cut in 0..42 {
                assert_eq!(Said::of(&frame[..cut]), None);
            }
        }
    }

    #[test]
    fn who_asks_for_a_nic_is_told() {
        for (asked, asker) in [(ipv4_gid(addresses(1).1), ipv4_gid(addresses(7).1)), (ip6(1), ip6(7))] {
            let said = Said::of(&question(7, &asked)).unwrap();
            let told = reply(1, &asked, &said);
            assert_eq!(told[..6], addresses(7).0);
            let told = Said::of(&told).unwrap();
            assert_eq!((told.asks, told.is), (None, Some((asked, addresses(1).0))));
            assert_ne!(told.from.1, Some(asker));
        }
    }

    #[test]
    fn a_solicitation_with_a_wrong_checksum_says_nothing() {
        let mut frame = question(0, &ip6(9));
        frame[ETH_LEN + IPV6_LEN + 23] ^= 1;
        assert_eq!(Said::of(&frame), None);
    }

    #[test]
    fn an_arp_request_on_the_wire() {
        let frame = question(0, &ipv4_gid([10, 0, 0, 100]));
        let right = [
            0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2, 0x54, 0x53, 0, 0, 1, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 2,
            0x54, 0x53, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 100,
        ];
        assert_eq!(frame, right);
    }

    /// Others say who they are while one is asked for: that neither ends the wait nor asks again.
    #[test]
    fn a_neighbour_is_found_among_others() {
        let folder = std::env::temp_dir().join(format!("tessera-neighbours-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| folder.join(name);
        let end = Ethernet::bind(&at("a"), &at("b"), 1).unwrap();
        let outside = UnixDatagram::bind(at("b")).unwrap();
        let mac = [2, 0, 0, 0, 0, 9];
        let says = |last| {
            outside.send_to(&arp(ARP_REPLY, (mac, [10, 0, 9, last]), addresses(0)), at("a")).unwrap();
        };
        let found = std::thread::scope(|scope| {
            let resolving = scope.spawn(|| end.resolve(0, &ipv4_gid([10, 0, 9, 100])));
            for other in 0..50 {
                says(other);
                std::thread::sleep(Duration::from_millis(10));
            }
            says(100);
            resolving.join().unwrap()
        });
        assert_eq!(found, Some(mac));
        outside.set_nonblocking(true).unwrap();
        let asked = std::iter::from_fn(|| outside.recv(&mut [0; 100]).ok()).count();
        assert!(asked <= 5, "asked {asked} times in half a second");
        drop(end);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn two_ends_find_each_other_and_frames_pass() {
        let folder = std::env::temp_dir().join(format!("tessera-ethernet-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let at = |name: &str| folder.join(name);
        let end = Ethernet::bind(&at("a"), &at("b"), 2).unwrap();
        assert!(Ethernet::bind(&at("a"), &at("b"), 2).is_err(), "two at one socket");
        let outside = UnixDatagram::bind(at("b")).unwrap();
        outside.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let gid = ipv4_gid([10, 0, 0, 100]);
        let mac = [2, 0, 0, 0, 0, 9];
        let found = std::thread::scope(|scope| {
            let resolving = scope.spawn(|| end.resolve(1, &gid));
            let mut frame = [0; 2048];
            let len = outside.recv(&mut frame).unwrap();
            assert_eq!(len, SHORTEST);
            let said = Said::of(&frame[..len]).unwrap();
            assert_eq!(said.asks, Some(gid));
            outside.send_to(&arp(ARP_REPLY, (mac, [10, 0, 0, 100]), addresses(1)), at("a")).unwrap();
            resolving.join().unwrap()
        });
        assert_eq!(found, Some(mac));
        // A frame for NIC 1, one for nobody here, and one out.
        let mut frame = vec![7; 80];
        frame[..6].copy_from_slice(&addresses(1).0);
        for frame in [&frame[..], &[9; 80], &[]] {
            outside.send_to(frame, at("a")).unwrap();
        }
        while end.stats().ignored < 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(end.take(), [frame]);
        let mut out = [0; 2048];
        end.send(&[5; 100]);
        while outside.recv(&mut out).unwrap() != 100 {}
        let EthernetStats { received, sent, ignored, .. } = end.stats();
        assert_eq!((received, sent, ignored), (1, 1, 2));
        drop(end);
        assert!(!at("a").exists());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
