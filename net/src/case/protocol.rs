//! Who speaks: our NIC, with or without one of its mechanisms, and what it is compared
//! with.

use serde::{Deserialize, Serialize};
use tessera_abi::params::{Config, NIC128, NIC256, NIC512};
use tessera_abi::regs;
use tessera_model::PathPolicy;

use crate::network::Make;
use crate::tessera::Options;
use crate::Ps;

/// Bytes of a full packet on the wire, and of an answer, about: what round trips are
/// reckoned with.
pub const PACKET: u64 = 4226;
/// See [`PACKET`].
pub const ANSWER: u64 = 150;

/// A protocol as it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Our NIC.
    Tessera,
    /// The same with a fixed loss-detection interval of four round trips: plain
    /// datagrams with a timeout.
    FixedInterval,
    /// The same without rounds: its interval moves, but nobody says what is a step.
    NoRounds,
    /// The same over one path per pair.
    OnePath,
    /// The same over paths that came back without a mark, as long as there are any.
    Recycle,
    /// The same with a credit of two bandwidth-delay products.
    SmallCredit,
    /// The same with no bound of what one message holds of the credit.
    NoShare,
    /// The same without lending credit of messages that nothing comes of.
    NoLending,
    /// The same with its credit cut at every mark.
    CreditByMarks,
    /// The same with everything sent unasked: no credit.
    NoCredit,
    /// The same with one DSCP.
    NoClasses,
    /// The same with messages in turn, however long.
    NoTurns,
    /// The same without either.
    NoOrder,
    /// Reliable connections: go-back-N with DCQCN on a network that pauses.
    Rc,
    /// The same on one that drops.
    RcLossy,
    /// The same as `rc`, with a window in place of DCQCN.
    RcWindow,
    /// The same as `rc_window`, with flowlets of a pause of 50 us.
    RcFlowlets,
    /// IRN with its window.
    Irn,
    /// Falcon-like.
    Falcon,
    /// UCCL-like.
    Uccl,
    /// SRD-like.
    Srd,
}

impl Protocol {
    /// What our NIC is compared with.
    pub const COUNTERPARTS: [Self; 9] = [
        Self::Rc,
        Self::RcLossy,
        Self::RcWindow,
        Self::RcFlowlets,
        Self::Irn,
        Self::Falcon,
        Self::Uccl,
        Self::Srd,
        Self::FixedInterval,
    ];

    /// Our NIC less one of its mechanisms each.
    pub const ABLATIONS: [Self; 12] = [
        Self::FixedInterval,
        Self::NoRounds,
        Self::OnePath,
        Self::Recycle,
        Self::SmallCredit,
        Self::NoShare,
        Self::NoLending,
        Self::CreditByMarks,
        Self::NoCredit,
        Self::NoClasses,
        Self::NoTurns,
        Self::NoOrder,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tessera => "Tessera",
            Self::FixedInterval => "UD, fixed RTO",
            Self::NoRounds => "without rounds",
            Self::OnePath => "one path",
            Self::Recycle => "recycled paths",
            Self::SmallCredit => "credit of two products",
            Self::NoShare => "any share of credit",
            Self::NoLending => "without lending",
            Self::CreditByMarks => "credit cut by marks",
            Self::NoCredit => "without credit",
            Self::NoClasses => "one DSCP",
            Self::NoTurns => "turns whatever is left",
            Self::NoOrder => "one DSCP, turns whatever is left",
            Self::Rc => "RC, PFC, DCQCN",
            Self::RcLossy => "RC, lossy, DCQCN",
            Self::RcWindow => "RC, PFC",
            Self::RcFlowlets => "RC, PFC, flowlets",
            Self::Irn => "IRN",
            Self::Falcon => "Falcon-like",
            Self::Uccl => "UCCL-like",
            Self::Srd => "SRD-like",
        }
    }

    /// Whether it is our NIC, changed or not.
    pub fn is_ours(self) -> bool {
        self == Self::Tessera || Self::ABLATIONS.contains(&self)
    }

    /// The network as it wants it: with pauses, or without.
    pub fn network(self, make: &Make) -> Make {
        let mut make = make.clone();
        make.switching.pfc = matches!(self, Self::Rc | Self::RcWindow | Self::RcFlowlets);
        make
    }

    /// Our NIC's registers and sizes for it, on a network of so many hosts.
    ///
    /// # Errors
    /// If the network has no rates.
    pub fn options(self, make: &Make, hosts: u32) -> Result<Options, crate::network::MakeError> {
        let (rate, _) = make.links.rates()?;
        let trip = make.round_trip(PACKET, ANSWER)?;
        let mut options = Options::for_network(config(hosts), rate, trip);
        let settings = &mut options.settings;
        match self {
            Self::FixedInterval => {
                settings.ld_policy = 0;
                settings.ld_fixed = 4 * settings.rtt_default;
            }
            Self::NoRounds => settings.ld_policy = 1,
            Self::OnePath => settings.path_count = 1,
            Self::Recycle => settings.path_policy = PathPolicy::Recycle,
            Self::SmallCredit => settings.credit_limit = rate.bytes_in(2 * trip) as u32,
            Self::NoShare => settings.credit_each = regs::CREDIT_EACH.reset,
            Self::NoLending => settings.credit_policy &= !4,
            Self::CreditByMarks => settings.credit_policy |= 1,
            Self::NoCredit => {
                settings.credit_limit = u32::MAX >> 1;
                settings.credit_each = regs::CREDIT_EACH.reset;
                settings.unsolicited_limit = u32::MAX >> 1;
                settings.initial_window = 255;
            }
            Self::NoClasses => settings.dscp = 0,
            Self::NoTurns => settings.turn_policy = 0,
            Self::NoOrder => (settings.dscp, settings.turn_policy) = (0, 0),
            _ => {}
        }
        Ok(options)
    }
}

/// Sizes that fit a machine's memory: a host's model takes 5 MB of `nic512`, 2 of
/// `nic256`, half of `nic128`.
fn config(hosts: u32) -> &'static Config {
    match hosts {
        0..=256 => &NIC512,
        257..=2048 => &NIC256,
        _ => &NIC128,
    }
}

/// Pause that lets a flowlet take another path: ours, several round trips with queues, so that
/// nothing is overtaken. LetFlow (NSDI 2017) is about such pauses. A NIC at 400 Gb/s that has something
/// to send hardly ever makes one.
pub const FLOWLET_GAP: Ps = 50_000_000;
