//! Which way each packet went (spec §6): the order of draws is exact; a value
//! that came back clean is legal as often as its echoes allow.

use std::collections::BTreeMap;

use tessera_abi::params::{destination_hash, RECYCLE_USES};
use tessera_abi::wire::{FeedbackHeader, MessageId, NO_SAMPLE};

use super::{Bench, Fault};
use crate::path_scheduler::{PacketKind, PathScheduler};
use crate::settings::{PathPolicy, Settings};

/// Whether a packet may, and whether it must, ask for its echo by AR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Asks {
    pub(super) may: bool,
    pub(super) must: bool,
}

/// What is known of an entropy value to a destination.
#[derive(Clone, Copy, Debug, Default)]
struct Proof {
    /// Most packets that may still take it.
    left: u32,
    /// When its last clean echo came in.
    clean_at: u64,
    /// When an echo with congestion-experienced, or a PROBE, took it out.
    out_at: Option<u64>,
}

/// The policy, run beside the NIC's.
pub(super) struct Paths {
    scheduler: PathScheduler,
    settings: Settings,
    first: bool,
    proofs: BTreeMap<(usize, u8), Proof>,
}

impl Paths {
    pub(super) fn new(settings: &Settings, places: &[u8]) -> Self {
        let mut scheduler = PathScheduler::new(settings);
        (0..=255).zip(places).for_each(|(place, &k)| scheduler.set_place(place, k));
        Self { scheduler, settings: *settings, first: true, proofs: BTreeMap::new() }
    }

    /// An accepted FEEDBACK.
    //= TX-13
    pub(super) fn heard(&mut self, bench: &Bench, gid: [u8; 16], header: &FeedbackHeader, ce: bool) {
        if header.delay == NO_SAMPLE {
            return;
        }
        let proof = self.proofs.entry((destination_hash(gid), header.ev)).or_default();
        if ce {
            proof.out_at = Some(bench.clock);
        } else {
            // The NIC may spend the uses it still had before it takes note of these.
            let uses = u32::from(RECYCLE_USES);
            *proof = Proof { left: proof.left.min(uses) + uses, clean_at: bench.clock, out_at: None };
        }
    }

    //= §6
    pub(super) fn sent(
        &mut self,
        bench: &mut Bench,
        message: MessageId,
        gid: [u8; 16],
        kind: PacketKind,
        ev: u8,
    ) -> Asks {
        let want = self.scheduler.draw().ev;
        if self.settings.path_policy == PathPolicy::Recycle {
            return self.recycled(bench, message, gid, kind, ev, want);
        }
        // Whether the first packet sees the seed or its successor is open.
        let open = std::mem::take(&mut self.first) && self.settings.path_policy == PathPolicy::Random;
        if ev == want || (open && self.scheduler.draw().ev == ev) {
            return Asks::default();
        }
        bench.fault(Some(message), "§6", Fault::Path { got: ev, want });
        // Follow a rotation that slipped, so that one slip is one violation.
        if self.settings.path_policy == PathPolicy::RoundRobin {
            for _ in 0..2 * self.settings.path_count {
                if self.scheduler.draw().ev == ev {
                    break;
                }
            }
        }
        Asks::default()
    }

    fn recycled(
        &mut self,
        bench: &mut Bench,
        message: MessageId,
        gid: [u8; 16],
        kind: PacketKind,
        ev: u8,
        want: u8,
    ) -> Asks {
        let reaction = Bench::clocks(bench.tolerance.pipeline);
        let fresh_news = |at: u64| bench.clock <= at + reaction;
        let place = (destination_hash(gid), ev);
        // What took it out may have been dropped.
        let known = |at: u64| fresh_news(at) || bench.tolerance.overflow;
        let proof =
            self.proofs.get_mut(&place).filter(|proof| proof.left > 0 && proof.out_at.is_none_or(known));
        let data = matches!(kind, PacketKind::New | PacketKind::Retransmission);
        let asks = Asks { may: data, must: data && proof.is_none() };
        match proof {
            // As well a draw as a use: nothing to learn from it.
            _ if ev == want => {}
            Some(proof) => {
                proof.left -= 1;
                if kind == PacketKind::Probe && !fresh_news(proof.clean_at) {
                    proof.out_at = Some(0);
                }
            }
            None => bench.fault(Some(message), "§6", Fault::Path { got: ev, want }),
        }
        asks
    }
}
