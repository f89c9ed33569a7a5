//! Which path a packet takes: an entropy value per packet of any kind.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};

use tessera_abi::params::{destination_hash, EXPLORE_LOG2, RECYCLE_RING, RECYCLE_USES};
use tessera_abi::regs::path::PLACES;

use crate::lfsr::Lfsr;
use crate::settings::{PathPolicy, Settings};

/// What kind of packet wants a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// DATA, first time.
    New,
    /// DATA again.
    Retransmission,
    /// PROBE.
    Probe,
    /// FEEDBACK.
    Feedback,
}

/// What the scheduler says of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Entropy value.
    pub ev: u8,
    /// The packet is to carry AR.
    pub asks: bool,
    /// The value came back clean before.
    pub recycled: bool,
}

/// An entropy value in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Proven {
    ev: u8,
    uses: u8,
}

/// What a packet would take if nothing were known of its destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    /// Entropy value.
    pub ev: u8,
    /// The packet is one of those that look for further values.
    pub explores: bool,
}

/// The scheduler of one NIC.
#[derive(Clone, Debug)]
pub struct PathScheduler {
    policy: PathPolicy,
    count: u32,
    base: u8,
    turn: u32,
    /// Where the present round starts.
    offset: u32,
    lfsr: Lfsr,
    places: Vec<u8>,
    /// By destination hash; one that is not here is empty.
    rings: BTreeMap<usize, VecDeque<Proven>>,
}

/// Only what decides about packets to come: of `single` every packet goes the same
/// way, however many there were and whatever was heard of them.
impl Hash for PathScheduler {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.policy, self.base).hash(state);
        if self.policy != PathPolicy::Single {
            (self.count, self.turn, self.offset, self.lfsr, &self.places, &self.rings).hash(state);
        }
    }
}

impl PathScheduler {
    /// Starts at the first path, the LFSR at the seed.
    pub fn new(settings: &Settings) -> Self {
        Self {
            policy: settings.path_policy,
            count: settings.path_count,
            base: settings.path_base,
            turn: 0,
            offset: 0,
            lfsr: Lfsr::new(settings.seed),
            places: vec![0; PLACES],
            rings: BTreeMap::new(),
        }
    }

    /// Writes a place of policy `weighted`.
    pub fn set_place(&mut self, place: u8, k: u8) {
        self.places[place as usize] = k;
    }

    /// One packet further, whatever it takes.
    //= §6
    pub fn draw(&mut self) -> Draw {
        let round = if self.policy == PathPolicy::Weighted { PLACES as u32 } else { self.count };
        let drawn = ((self.lfsr.state() & 0xFFFF) * round) >> 16;
        let explores = (self.lfsr.state() >> 16) & ((1 << EXPLORE_LOG2) - 1) == 0;
        self.lfsr.step();
        let turn = (self.turn + self.offset) % round;
        self.turn += 1;
        if self.turn == round {
            (self.turn, self.offset) = (0, drawn);
        }
        let k = match self.policy {
            PathPolicy::Single => 0,
            PathPolicy::RoundRobin | PathPolicy::Recycle => turn as u8,
            PathPolicy::Random => drawn as u8,
            PathPolicy::Weighted => self.places[turn as usize],
        };
        Draw { ev: self.base.wrapping_add(k), explores }
    }

    /// The entropy value of the next packet, which goes to `gid`.
    //= §6
    pub fn take(&mut self, gid: [u8; 16], kind: PacketKind) -> Chosen {
        let Draw { ev, explores } = self.draw();
        if self.policy != PathPolicy::Recycle {
            return Chosen { ev, asks: false, recycled: false };
        }
        let data = matches!(kind, PacketKind::New | PacketKind::Retransmission);
        let ring = self.rings.entry(destination_hash(gid)).or_default();
        let room = ring.len() < RECYCLE_RING.min(self.count as usize);
        let looks = explores && room && kind == PacketKind::New;
        let Some(first) = (if looks { None } else { ring.pop_front() }) else {
            return Chosen { ev, asks: data, recycled: false };
        };
        if first.uses > 1 && kind != PacketKind::Probe {
            ring.push_back(Proven { uses: first.uses - 1, ..first });
        }
        let asks = data && first.uses <= RECYCLE_USES / 2 && first.uses.is_multiple_of(8);
        Chosen { ev: first.ev, asks, recycled: true }
    }

    /// An accepted FEEDBACK echoed `ev` of a packet to `gid`.
    //= §6
    pub fn echo(&mut self, gid: [u8; 16], ev: u8, ce: bool) {
        if ev.wrapping_sub(self.base) as u32 >= self.count {
            return;
        }
        let ring = self.rings.entry(destination_hash(gid)).or_default();
        let held = ring.iter().position(|proven| proven.ev == ev);
        match held {
            Some(at) if ce => {
                ring.remove(at);
            }
            Some(at) => ring[at].uses = RECYCLE_USES,
            None if !ce && ring.len() < RECYCLE_RING => ring.push_back(Proven { ev, uses: RECYCLE_USES }),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GID: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 1];
    const OTHER: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 10, 0, 0, 2];

    fn of(policy: PathPolicy, count: u32, base: u8) -> PathScheduler {
        PathScheduler::new(&Settings {
            path_policy: policy,
            path_count: count,
            path_base: base,
            ..Settings::default()
        })
    }

    #[test]
    fn every_policy_stays_in_its_range() {
        for policy in [PathPolicy::Single, PathPolicy::RoundRobin, PathPolicy::Random, PathPolicy::Recycle] {
            let mut paths = of(policy, 5, 254);
            let mut seen = [0u32; 256];
            (0..5000).for_each(|_| seen[paths.take(GID, PacketKind::New).ev as usize] += 1);
            let legal: Vec<usize> =
                if policy == PathPolicy::Single { vec![254] } else { vec![254, 255, 0, 1, 2] };
            assert_eq!(legal.iter().map(|&ev| seen[ev]).sum::<u32>(), 5000);
            assert!(legal.iter().all(|&ev| seen[ev] > 800));
        }
    }

    #[test]
    fn weights_are_kept_by_every_round() {
        let mut paths = of(PathPolicy::Weighted, 4, 10);
        (0..=255u8).for_each(|place| paths.set_place(place, if place < 64 { 3 } else { 9 }));
        for _ in 0..3 {
            let thin = (0..256).filter(|_| paths.take(GID, PacketKind::New).ev == 13).count();
            assert_eq!(thin, 64);
        }
    }

    #[test]
    fn a_clean_value_is_used_while_its_uses_last() {
        let mut paths = of(PathPolicy::Recycle, 200, 0);
        paths.echo(GID, 77, false);
        let mut asked = 0;
        let mut taken = 0;
        for _ in 0..200 {
            let chosen = paths.take(GID, PacketKind::New);
            taken += chosen.recycled as u32;
            assert_eq!(chosen.recycled, chosen.ev == 77 && chosen.recycled);
            asked += (chosen.recycled && chosen.asks) as u32;
            assert!(chosen.recycled || chosen.asks, "an unproven value asks for its echo");
        }
        assert_eq!((taken, asked), (RECYCLE_USES as u32, 2));
        assert!(!paths.take(OTHER, PacketKind::New).recycled);
    }

    #[test]
    fn congestion_and_probes_take_a_value_out() {
        let mut paths = of(PathPolicy::Recycle, 200, 0);
        paths.echo(GID, 5, false);
        paths.echo(GID, 6, false);
        paths.echo(GID, 5, true);
        assert_eq!(paths.take(GID, PacketKind::Retransmission).ev, 6);
        assert_eq!(paths.take(GID, PacketKind::Probe).ev, 6);
        assert!(!paths.take(GID, PacketKind::Retransmission).recycled);
        paths.echo(GID, 200, false);
        assert!(!paths.take(GID, PacketKind::Retransmission).recycled, "200 is no path of this NIC");
    }
}
