//! What else comes over a network: frames that no NIC of the round sent, or not
//! like this. A NIC drops each and is as it was.
//!
//! ```text
//!   frames of the round ──> the last few ──> one of them, spoiled ──┐
//!   nothing ──> noise of any length, ARP ──────────────────────────┴─> port of a NIC
//! ```
//!
//! A spoiled frame is wrong in one thing and right in all else, its ICRC and IP
//! checksum too, so that this one thing must be noticed. FEEDBACK and RELEASE are
//! also sent as they are but for a message of another name, which nobody knows.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tessera_abi::icrc;
use tessera_abi::wire::{self, data, Form};
use tessera_sim::cluster::{addresses, Cluster};
use tessera_sim::fabric::{PacketClass, Verdict};
use tessera_sim::tb::Rng;

use super::host::QKEY;

/// Frames of the round that are kept to be spoiled.
const KEPT: usize = 32;
/// Longer ones take the link for themselves.
const LONGEST: usize = 700;
/// Destination MAC, source MAC and type.
const ETHERNET: usize = 14;
/// An ARP request, from its type on.
const ARP: [u8; 10] = [0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1];

/// How often they come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Often {
    /// Chance per window.
    pub chance: f64,
    /// Most at a time.
    pub most: u64,
}

/// See the module's page.
pub struct Strays {
    rng: Rng,
    often: Often,
    nics: usize,
    seen: Arc<Mutex<VecDeque<Vec<u8>>>>,
}

impl Strays {
    /// Looks at what the NICs of `cluster` send from here on.
    pub fn new(seed: u64, often: Often, cluster: &mut Cluster) -> Self {
        let seen = Arc::<Mutex<VecDeque<Vec<u8>>>>::default();
        let keep = Arc::clone(&seen);
        if often.chance > 0.0 {
            cluster.fabric_mut().set_script(Some(Box::new(move |_, _, frame| {
                if frame.len() <= LONGEST {
                    let mut kept = keep.lock().unwrap_or_else(PoisonError::into_inner);
                    if kept.len() == KEPT {
                        kept.pop_front();
                    }
                    kept.push_back(frame.to_vec());
                }
                Verdict::Pass
            })));
        }
        Self { rng: Rng::new(seed ^ 0x7374_7261_7973), often, nics: cluster.nics().len(), seen }
    }

    /// Lets some set out, now and then. How many.
    pub fn send(&mut self, cluster: &mut Cluster) -> u64 {
        if !self.rng.chance(self.often.chance) {
            return 0;
        }
        let now = cluster.clock();
        let count = 1 + self.rng.below(self.often.most);
        for _ in 0..count {
            let (port, frame, verified) = self.draw();
            cluster.fabric_mut().stray(now, port, frame, verified);
        }
        count
    }

    /// A port, a frame for it, and whether that is right in all but its name.
    fn draw(&mut self) -> (usize, Vec<u8>, bool) {
        let kept = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let rng = &mut self.rng;
        let any = if kept.is_empty() { None } else { Some(&kept[rng.below(kept.len() as u64) as usize]) };
        let spoiled = any.filter(|_| rng.chance(0.7)).and_then(|frame| {
            let port = (0..self.nics).find(|&nic| addresses(nic).0[..] == frame[..6])?;
            let renamed = if rng.chance(0.2) { rename(frame, rng) } else { None };
            let verified = renamed.is_some();
            Some((port, renamed.or_else(|| spoil(frame, rng))?, verified))
        });
        spoiled.unwrap_or_else(|| {
            let port = rng.below(self.nics as u64) as usize;
            (port, noise(addresses(port).0, rng), false)
        })
    }
}

/// A frame of something else, or of nothing.
fn noise(mac: [u8; 6], rng: &mut Rng) -> Vec<u8> {
    let beats = 64 * rng.range(1..8);
    let len = match rng.below(4) {
        0 => 60,
        1 => rng.range(ETHERNET as u64..64),
        2 => beats + rng.below(3) - 1,
        _ => rng.range(60..LONGEST as u64),
    };
    let mut frame = rng.bytes(len as usize);
    match rng.below(4) {
        0 => frame[..6].fill(0xFF),
        1 => {}
        _ => frame[..6].copy_from_slice(&mac),
    }
    match rng.below(5) {
        0 => {
            let arp = ARP.len().min(frame.len() - 12);
            frame[12..12 + arp].copy_from_slice(&ARP[..arp]);
        }
        1 => frame[12..14].copy_from_slice(&wire::ETHERTYPE_IPV4.to_be_bytes()),
        2 => frame[12..14].copy_from_slice(&wire::ETHERTYPE_IPV6.to_be_bytes()),
        3 => frame[12..14].copy_from_slice(&wire::ETHERTYPE_VLAN.to_be_bytes()),
        _ => {}
    }
    frame
}

/// A frame of the round, wrong in one thing; `None` where that thing is not in it.
fn spoil(frame: &[u8], rng: &mut Rng) -> Option<Vec<u8>> {
    let mut frame = frame.to_vec();
    let form = Form::of(&frame)?;
    let (ip, udp, bth, deth, trh) =
        (form.ip_at(), form.udp_at(), form.bth_at(), form.deth_at(), form.trh_at());
    let longer = |frame: &mut [u8], at: usize, by: u16| {
        let value = u16::from_be_bytes([frame[at], frame[at + 1]]).wrapping_add(by);
        frame[at..at + 2].copy_from_slice(&value.to_be_bytes());
    };
    match rng.below(17) {
        0 => frame[rng.below(6) as usize] ^= 1 << rng.range(1..8),
        1 => frame[ip - 1] ^= 1 << rng.below(8),
        // Another protocol, another host, another port.
        2 => frame[ip + if form.v6 { 6 } else { 9 }] = 6,
        3 => frame[udp - 1] ^= 1 << rng.below(8),
        4 => frame[udp + 2 + rng.below(2) as usize] ^= 1 << rng.below(8),
        // A fragment; one of version 6 says that elsewhere.
        5 if form.v6 => frame[ip + 6] = 44,
        5 => frame[ip + 6] ^= *rng.pick(&[0x20, 0x01]),
        6 => longer(&mut frame, ip + if form.v6 { 4 } else { 2 }, *rng.pick(&[4, 0xFFFC, 64, 1])),
        7 => longer(&mut frame, udp + 4, *rng.pick(&[4, 0xFFFC, 64, 1])),
        // RC and UC operations, a CNP.
        8 => frame[bth] = *rng.pick(&[0x04, 0x00, 0x24, 0x81, 0xFF, 0x66]),
        9 => frame[bth + 1] ^= 1 << rng.below(4),
        10 => frame[bth + 3] ^= 1,
        // An endpoint that is not there any more, or belongs to somebody else.
        11 => frame[bth + 5] ^= 1 << rng.below(8),
        12 => frame[deth + rng.below(4) as usize] ^= 1 << rng.below(8),
        13 if is_reliable(&frame, form) => frame[trh] ^= 1 << rng.range(4..8),
        14 => {
            frame.truncate(rng.range(ETHERNET as u64..frame.len() as u64) as usize);
            return Some(frame);
        }
        15 => {
            let more = rng.range(1..130) as usize;
            frame.extend(rng.bytes(more));
            return Some(frame);
        }
        16 => {
            let at = frame.len() - 1 - rng.below(wire::ICRC_LEN as u64) as usize;
            frame[at] ^= 1 << rng.below(8);
            return Some(frame);
        }
        _ => return None,
    }
    mend(&mut frame, form);
    Some(frame)
}

/// FEEDBACK or RELEASE as it was, for a message that nobody knows.
fn rename(frame: &[u8], rng: &mut Rng) -> Option<Vec<u8>> {
    use PacketClass::{Busy, Complete, Feedback, Nack, Release};
    let form = Form::of(frame)?;
    let class = PacketClass::of(frame);
    if !is_reliable(frame, form) || !matches!(class, Busy | Complete | Feedback | Nack | Release) {
        return None;
    }
    let mut frame = frame.to_vec();
    let at = form.trh_at() + data::MESSAGE;
    frame[at..at + 4].copy_from_slice(&(rng.bits(32) as u32).to_be_bytes());
    mend(&mut frame, form);
    Some(frame)
}

/// Whether it is for an endpoint that takes messages: a datagram's payload is anything.
fn is_reliable(frame: &[u8], form: Form) -> bool {
    frame[form.deth_at()..form.deth_at() + 4] == QKEY.to_be_bytes()
}

/// Makes the checksum of the IP header and the ICRC anew.
fn mend(frame: &mut [u8], form: Form) {
    let (ip, udp) = (form.ip_at(), form.udp_at());
    if !form.v6 {
        frame[ip + 10..ip + 12].fill(0);
        let checksum = wire::ipv4_checksum(&frame[ip..udp]);
        frame[ip + 10..ip + 12].copy_from_slice(&checksum.to_be_bytes());
    }
    let end = frame.len() - wire::ICRC_LEN;
    let crc = icrc::rocev2(&frame[ip..end]);
    frame[end..].copy_from_slice(&crc);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_every_length() {
        let mut rng = Rng::for_test("soak::noise");
        let lengths: Vec<usize> = (0..20_000).map(|_| noise([2; 6], &mut rng).len()).collect();
        for len in [ETHERNET, 18, 60, 63, 64, 65, 127, 128, 129] {
            assert!(lengths.contains(&len), "{len}");
        }
        assert!(lengths.iter().all(|&len| (ETHERNET..=LONGEST).contains(&len)));
    }
}
