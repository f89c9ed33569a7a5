//! NICs whose every observable event goes to the scoreboard of crate `model`:
//! what `tessera soak` and the test `nic_scoreboard` run on.
//!
//! ```text
//!   host program ── driver ──> register writes ──> NICs on a fabric
//!                                   │                  │ frames, payload writes, completions
//!                                  Tap ── posts, keys ─┴──> Scoreboard
//! ```
//!
//! Hosts do as they please through the driver: what they post is read off their
//! doorbells and rings, so nothing needs to be told twice.
//!
//! docs/verification.md says what is compared, and how far times may differ.

mod tap;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tessera_abi::params::{Config, CLOCKS_PER_TICK, MAX_FRAME};
use tessera_abi::regs::{self, Counter};
use tessera_abi::status::Drop as DropReason;
use tessera_driver::{Context, DeviceError};
use tessera_model::scoreboard::{Event, NicSetup, Scoreboard, Summary, Tolerance, Violation};

use crate::cluster::{Cluster, ClusterError, SharedCluster};
use crate::fabric::FabricOptions;
use crate::nic::{DmaClass, NicEvent, NicOptions};
use crate::verilator::Model;
pub use tap::registers;
use tap::{Tap, Told};

/// Clocks until a finished NIC must have given everything back: timers that are
/// linked keep their context until they pop, and stand for the longest wait for an
/// answer, 32 times the round trip and the time that a block takes (LD-5).
const RETURN_CLOCKS: u64 = 1 << 24;

fn lock(tap: &Mutex<Tap>) -> MutexGuard<'_, Tap> {
    tap.lock().unwrap_or_else(PoisonError::into_inner)
}

/// See the module's page.
pub struct Judged {
    cluster: SharedCluster,
    config: Config,
    taps: Vec<Arc<Mutex<Tap>>>,
    /// There once the NICs are set up.
    board: Option<Scoreboard>,
    tolerance: Tolerance,
}

impl Judged {
    /// NICs of `model`, which was made of `config`. Open them by the driver, then
    /// [`begin`](Self::begin).
    ///
    /// # Errors
    /// If the model is no whole NIC.
    pub fn new(
        model: &Model,
        config: &Config,
        nics: usize,
        (nic, fabric): (&NicOptions, FabricOptions),
        tolerance: Tolerance,
    ) -> Result<Self, ClusterError> {
        let mut cluster = Cluster::new(model, nics, nic, fabric)?;
        // A frame is stamped before its first beat and seen with its last; of the widest beats there
        // are few.
        let beat = model.port("m_axis_tdata").map_or(64, |port| port.width().div_ceil(8));
        let beats = MAX_FRAME.div_ceil(beat) as u32;
        let tolerance = Tolerance { stamp: tolerance.stamp + beats / CLOCKS_PER_TICK, ..tolerance };
        let mut taps = Vec::new();
        for nic in 0..nics {
            let nic = cluster.nic_mut(nic);
            nic.observe();
            let tap = Arc::new(Mutex::new(Tap::new(nic.memory().clone())));
            let of_nic = tap.clone();
            nic.watch(move |offset, value| lock(&of_nic).see(offset, value));
            taps.push(tap);
        }
        Ok(Self { cluster: SharedCluster::new(cluster), config: *config, taps, board: None, tolerance })
    }

    /// NICs and fabric.
    pub fn cluster(&self) -> &SharedCluster {
        &self.cluster
    }

    /// From here on everything is judged: registers, weights of paths and addresses
    /// stay as they are; endpoints and keys may come and go. A NIC that is reset is
    /// set up again as it was.
    pub fn begin(&mut self) {
        let told = self.take();
        let setup = |tap: &Arc<Mutex<Tap>>| {
            let tap = lock(tap);
            NicSetup {
                config: self.config,
                identity: tap.identity,
                settings: tap.settings,
                endpoints: Vec::new(),
                keys: Vec::new(),
                places: tap.places.clone(),
                time_at_zero: 0,
            }
        };
        self.board = Some(Scoreboard::new(self.taps.iter().map(setup).collect(), self.tolerance));
        self.tell(told);
    }

    /// Tells the scoreboard what was seen since the last call, in order.
    pub fn judge(&mut self) {
        let told = self.take();
        self.tell(told);
    }

    /// Lets a window pass and judges it.
    ///
    /// # Errors
    /// If a NIC's simulation gives up.
    pub fn pass(&mut self) -> Result<(), ClusterError> {
        self.cluster.lock().advance()?;
        self.judge();
        Ok(())
    }

    /// What was seen, with what register writes meant.
    fn take(&mut self) -> Vec<(usize, NicEvent, Vec<Told>)> {
        let observed = self.cluster.lock().take_events();
        let mut all = Vec::new();
        let mut sources: Vec<_> =
            observed.into_iter().map(|(nic, events)| (nic, events.into_iter().peekable())).collect();
        // Of several windows at once, what a NIC caused elsewhere comes behind its cause.
        while let Some((nic, events)) = sources
            .iter_mut()
            .filter_map(|(nic, events)| events.peek().map(NicEvent::at).map(|at| (at, (*nic, events))))
            .min_by_key(|(at, _)| *at)
            .map(|(_, source)| source)
        {
            all.extend(events.next().map(|event| (nic, event)));
        }
        let mean = |(nic, event): (usize, NicEvent)| {
            let told = match event {
                NicEvent::Register { .. } => lock(&self.taps[nic]).next(),
                _ => Vec::new(),
            };
            (nic, event, told)
        };
        all.into_iter().map(mean).collect()
    }

    fn tell(&mut self, seen: Vec<(usize, NicEvent, Vec<Told>)>) {
        let Some(board) = &mut self.board else { return };
        for (nic, event, told) in seen {
            match &event {
                NicEvent::Received { at, bytes } => board.observe(*at, nic, Event::Received(bytes)),
                NicEvent::Sent(frame) => board.observe(frame.last, nic, Event::Sent(&frame.bytes)),
                NicEvent::Read(_) => {}
                NicEvent::Wrote(write) if write.class == DmaClass::Data => {
                    let (address, bytes) = (write.address, &write.bytes[..]);
                    board.observe(write.at, nic, Event::Wrote { address, bytes });
                }
                NicEvent::Wrote(write) => {
                    // All but a completion is shorter, and goes into a chunk area.
                    let event = match write.bytes[..].try_into() {
                        Ok(entry) => Event::Completed(entry),
                        Err(_) => Event::Wrote { address: write.address, bytes: &write.bytes },
                    };
                    board.observe(write.at, nic, event);
                }
                NicEvent::Register { at, .. } => {
                    for told in &told {
                        board.observe(*at, nic, told.event());
                    }
                }
            }
        }
    }

    /// Violations so far.
    pub fn violations(&self) -> Vec<Violation> {
        self.board.as_ref().map_or_else(Vec::new, Scoreboard::violations)
    }

    /// What NICs of a run that has ended keep though they should not. `contexts`:
    /// one opened NIC each, in order.
    ///
    /// # Errors
    /// If a register cannot be read.
    pub fn kept(&mut self, contexts: &[Context]) -> Result<Vec<String>, DeviceError> {
        let mut kept = Vec::new();
        let (slots, rooms) = (1 << self.config.tx_slots_log2, 1 << self.config.rx_contexts_log2);
        let wanted = [
            (regs::FREE_SLOTS, slots),
            (regs::FREE_CONTEXTS, rooms),
            (regs::OUTSTANDING, 0),
            (regs::UNSOLICITED, 0),
        ];
        for (nic, context) in contexts.iter().enumerate() {
            for (reg, value) in wanted {
                let mut got = context.read(reg)?;
                let late = self.cluster.lock().clock() + RETURN_CLOCKS;
                while got != value && self.cluster.lock().clock() < late {
                    context.wait()?;
                    self.judge();
                    got = context.read(reg)?;
                }
                if got != value {
                    kept.push(format!("NIC {nic}: {} reads {got} and not {value}", reg.name));
                }
            }
            let nonsense = context.dropped(DropReason::FeedbackNonsense)?;
            let overrun = context.counter(Counter::CqOverrun)?;
            let faults = self.cluster.lock().nics()[nic].dma_faults();
            for (what, count) in [
                ("feedbacks that make no sense", u64::from(nonsense)),
                ("completions lost", u64::from(overrun)),
                ("DMA accesses outside mapped memory", faults),
            ] {
                if count > 0 {
                    kept.push(format!("NIC {nic}: {count} {what}"));
                }
            }
        }
        self.judge();
        Ok(kept)
    }

    /// Ends the run: everything posted must have ended.
    pub fn finish(mut self) -> (Summary, Vec<Violation>) {
        self.judge();
        let clock = self.cluster.lock().clock();
        self.board.map_or_else(Default::default, |board| board.finish(clock))
    }
}

impl Told {
    fn event(&self) -> Event<'_> {
        match self {
            Told::Endpoint { index, endpoint } => {
                Event::Endpoint { index: *index, endpoint: endpoint.as_ref() }
            }
            Told::Key { index, key } => Event::Key { index: *index, key: key.as_ref() },
            Told::Send { endpoint, index, entry, payload } => {
                Event::PostedSend { endpoint: *endpoint, index: *index, entry, payload }
            }
            Told::Recv { endpoint, index, entry } => {
                Event::PostedRecv { endpoint: *endpoint, index: *index, entry }
            }
            Told::Round { endpoint, round, messages } => {
                Event::Registered { endpoint: *endpoint, round: *round, messages: *messages }
            }
            Told::Order { handle, order } => Event::Ordered { handle: *handle, order: *order },
            Told::Resetting => Event::Resetting,
            Told::Reset => Event::Reset,
        }
    }
}
