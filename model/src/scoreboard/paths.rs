//! Which way each packet went (spec §6): the policy's order is exact.

use tessera_abi::wire::MessageId;

use super::{Bench, Fault};
use crate::path_scheduler::PathScheduler;
use crate::settings::{PathPolicy, Settings};

/// The policy, run beside the NIC's.
pub(super) struct Paths {
    scheduler: PathScheduler,
    settings: Settings,
    first: bool,
}

impl Paths {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { scheduler: PathScheduler::new(settings), settings: *settings, first: true }
    }

    pub(super) fn sent(&mut self, bench: &mut Bench, message: MessageId, ev: u8) {
        let want = self.scheduler.take();
        // Whether the first packet sees the seed or its successor is open.
        let open = std::mem::take(&mut self.first) && self.settings.path_policy == PathPolicy::Random;
        if ev == want || (open && self.scheduler.take() == ev) {
            return;
        }
        bench.fault(Some(message), "§6", Fault::Path { got: ev, want });
        // Follow a rotation that slipped, so that one slip is one violation.
        if self.settings.path_policy == PathPolicy::RoundRobin {
            for _ in 0..2 * self.settings.path_count {
                if self.scheduler.take() == ev {
                    return;
                }
            }
        }
    }
}
