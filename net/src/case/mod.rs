//! One run: who speaks, on which network, under which load; and what it came to.
//!
//! ```text
//!   Case ─> Protocol ─> hosts ─┐
//!           Make ──────────────┼─> Network ─ run ─> Outcome, as JSON
//!           Load ──> traffic ──┘
//! ```

pub mod headline;
mod load;
mod protocol;
pub mod results;
pub mod shard;

pub use load::{Carried, Load};
pub use protocol::Protocol;

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::counterpart::ideal::Ideal;
use crate::counterpart::qp_cache::Size;
use crate::counterpart::spread::Balance;
use crate::counterpart::{falcon, go_back_n, irn, srd, uccl, ControlKind, Options, OptionsError};
use crate::network::{Counts, Make, MakeError, Network};
use crate::stats::{self, Class, Spread};
use crate::tessera::Tessera;
use crate::traffic::plan::PlanError;
use crate::traffic::sizes::SizesError;
use crate::traffic::trace::TraceError;
use crate::transport::{Tally, Transport};
use crate::Ps;
use protocol::FLOWLET_GAP;

/// Lengths at which messages are told apart: short, medium, long.
pub const LENGTHS: [u32; 2] = [100_000, 1_000_000];

/// A run to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// What it is one of, such as `web search 80 %`.
    pub group: String,
    /// Who speaks.
    pub protocol: Protocol,
    /// The network.
    pub make: Make,
    /// The load.
    pub load: Load,
    /// Simulated time after which it is over, whatever is open.
    pub until: Option<Ps>,
}

/// Why a case cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The network.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// The load.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Sizes.
    #[error(transparent)]
    Sizes(#[from] SizesError),
    /// A trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A counterpart.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// Our NIC.
    #[error(transparent)]
    Settings(#[from] tessera_model::settings::SettingsError),
    /// Who looks has had enough.
    #[error("stopped")]
    Stopped,
}

/// What a run came to. Times are microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// All messages were delivered.
    pub finished: bool,
    /// Messages.
    pub messages: u64,
    /// Messages that were never delivered.
    pub open: u64,
    /// Messages that their sender has given up, delivered or not.
    pub failed: u64,
    /// From post to delivery.
    pub times: Option<Spread<f64>>,
    /// Over the least that a message can take in an idle network.
    pub slowdown: Option<Spread<f64>>,
    /// The same by length: [`LENGTHS`].
    pub classes: Vec<Class>,
    /// Rounds, from the first post to the last delivery.
    pub rounds: Option<Spread<f64>>,
    /// Iterations.
    pub iterations: Option<Spread<f64>>,
    /// What an iteration takes at least, in step.
    pub ideal: Option<f64>,
    /// Payload delivered per host and time until the last delivery, Gb/s.
    pub goodput: f64,
    /// Packets with payload that were sent again though nothing of them was lost, per packet.
    pub spurious: f64,
    /// What hosts have counted.
    pub tally: Tally,
    /// What the network has counted.
    pub counts: Counts,
    /// Simulated time.
    pub simulated: f64,
    /// Seconds that it took.
    pub seconds: f64,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Simulated time.
    pub now: Ps,
    /// Events so far.
    pub events: u64,
    /// Messages delivered so far.
    pub delivered: u64,
}

fn us(time: f64) -> f64 {
    time / 1e6
}

fn in_us(spread: Spread<u64>) -> Spread<f64> {
    let Spread { count, mean, p50, p99, p999, max } = spread;
    let at = |time: u64| us(time as f64);
    Spread { count, mean: us(mean), p50: at(p50), p99: at(p99), p999: at(p999), max: at(max) }
}

impl Case {
    /// Its name: that of its group and of its protocol.
    pub fn name(&self) -> String {
        format!("{}: {}", self.group, self.protocol.name())
    }

    /// What tells it from all others: its name, and its seed.
    pub fn id(&self) -> (String, u64) {
        (self.name(), self.make.seed)
    }

    /// Hosts of its network.
    pub fn hosts(&self) -> u32 {
        use crate::topology::Shape;
        match self.make.shape {
            Some(Shape::FatTree { k }) => k * k * k / 4,
            Some(Shape::LeafSpine { leaves, hosts, .. }) => leaves * hosts,
            Some(Shape::Star { hosts }) => hosts,
            None => 0,
        }
    }

    /// What it costs to run, in packets about: for who tells how long it will take.
    pub fn cost(&self) -> f64 {
        // A host's state has to be made, however little it sends.
        self.load.packets(self.hosts()) + 2000.0 * self.hosts() as f64
    }

    /// Runs it. `look` is called now and then; false stops the run.
    ///
    /// # Errors
    /// If there is no such network, load or protocol on it, or if it is stopped.
    pub fn run(&self, look: &mut dyn FnMut(&Look) -> bool) -> Result<Outcome, CaseError> {
        let make = self.protocol.network(&self.make);
        let (gbps, trip) = (make.links.host_gbps, load::round_trip(&make)?);
        let seed = make.seed;
        let options = Options { seed, ..Options::for_network(gbps, trip) };
        // The kinder of the two measurements that its page has.
        let cache = Some(Size::RECENT);
        let rc = Options { control: ControlKind::Dcqcn, cache, ..options };
        match self.protocol {
            Protocol::Rc | Protocol::RcLossy => self.on(&make, |host| Ok(go_back_n::host(host, &rc)?), look),
            Protocol::RcWindow | Protocol::RcFlowlets => {
                let flowlets = self.protocol == Protocol::RcFlowlets;
                let balance = if flowlets { Balance::flowlets(FLOWLET_GAP) } else { Balance::Ecmp };
                let rc = Options { control: ControlKind::Window, balance, ..rc };
                self.on(&make, |host| Ok(go_back_n::host(host, &rc)?), look)
            }
            Protocol::Irn => {
                let options = Options { cache, ..options };
                self.on(&make, |host| Ok(irn::host(host, &options)?), look)
            }
            Protocol::Falcon => self.on(&make, |host| Ok(falcon::host(host, &options)?), look),
            Protocol::Uccl => self.on(&make, |host| Ok(uccl::host(host, &options, uccl::COSTS)?), look),
            Protocol::Srd => self.on(&make, |host| Ok(srd::host(host, &options)?), look),
            ours => {
                let options = ours.options(&make, self.hosts())?;
                self.on(&make, |host| Ok(Tessera::new(host, &options)?), look)
            }
        }
    }

    fn on<T: Transport>(
        &self,
        make: &Make,
        mut host: impl FnMut(u32) -> Result<T, CaseError>,
        look: &mut dyn FnMut(&Look) -> bool,
    ) -> Result<Outcome, CaseError> {
        let began = Instant::now();
        let hosts: Vec<T> = (0..self.hosts()).map(&mut host).collect::<Result<_, _>>()?;
        let mut network = Network::with_hosts(make, hosts)?;
        let (mut load, ideal) = self.load.start(make, self.hosts())?;
        let mut stopped = false;
        network.run(&mut load, self.until.unwrap_or(Ps::MAX), |network| {
            let events = network.counts().events;
            let go_on = look(&Look { now: network.now(), events, delivered: network.delivered() });
            stopped |= !go_on;
            go_on
        });
        if stopped {
            return Err(CaseError::Stopped);
        }
        let carried = load.0.carried();
        let bound = Ideal::new(make)?;
        let slowdowns =
            |lengths: &[u32]| stats::slowdowns(&carried.records, lengths, |message| bound.message(message));
        let (tally, counts) = (network.tally(), network.counts());
        let needless = tally.again.saturating_sub(counts.gone) as f64;
        let per_host = carried.bytes / u64::from(self.hosts().max(1));
        let iterations = Spread::<Ps>::of(carried.iterations.clone());
        Ok(Outcome {
            finished: carried.delivered == carried.posted && carried.posted > 0,
            messages: carried.posted,
            open: carried.posted - carried.delivered,
            failed: carried.failed,
            times: carried.times.spread().map(in_us),
            slowdown: slowdowns(&[]).pop().and_then(|class| class.slowdown),
            classes: slowdowns(&LENGTHS),
            rounds: carried.rounds.spread().map(in_us),
            iterations: iterations.map(in_us),
            ideal: ideal.map(|time| us(time as f64)),
            goodput: stats::gbps(per_host, carried.last),
            spurious: needless / tally.sent.max(1) as f64,
            tally,
            counts,
            simulated: us(network.now() as f64),
            seconds: began.elapsed().as_secs_f64(),
        })
    }
}
