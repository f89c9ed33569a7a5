//! What both networks run: a plan says all of it, and travels as JSON.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tessera_model::settings::SettingsError;
use tessera_net::case;
use tessera_net::fabric::{Ecn, Links, Switching};
use tessera_net::network::{Make, MakeError};
use tessera_net::raw::Raw;
use tessera_net::tessera::Tessera;
use tessera_net::topology::Shape;
use tessera_net::Ps;

use crate::host::{Host, Speaks};

/// Payload of a packet without a protocol, and what is around it.
const PAYLOAD: u32 = 4096;
const HEADERS: u32 = 104;
/// Flow labels that packets of a message without a protocol go by in turn.
const LABELS: u32 = 16;

/// What hosts speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Nothing: packets are sent once and not answered.
    Raw,
    /// The model.
    Tessera,
}

/// A message, and when it is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posted {
    /// When.
    pub at: Ps,
    /// Host that sends.
    pub from: u32,
    /// Host that receives.
    pub to: u32,
    /// Length.
    pub bytes: u32,
}

/// See the module's page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// For people.
    pub name: String,
    /// What hosts speak.
    pub protocol: Protocol,
    /// Wiring.
    pub shape: Shape,
    /// Rates and delays.
    pub links: Links,
    /// Bytes of buffer that all ports of a switch share; each has at most what is free.
    pub buffer: u64,
    /// Marks.
    pub ecn: Option<Ecn>,
    /// Chance that a host does not understand a packet that reached it.
    pub loss: f64,
    /// Seed of hosts, ways and losses.
    pub seed: u64,
    /// In order of time.
    pub messages: Vec<Posted>,
}

/// Why a plan cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// It cannot be read.
    #[error("cannot read the plan: {0}")]
    Read(#[from] std::io::Error),
    /// It is none.
    #[error("not a plan: {0}")]
    Parse(#[from] serde_json::Error),
    /// No such network.
    #[error(transparent)]
    Make(#[from] MakeError),
    /// No such host.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// A message names a host that is not there, or comes before the one in front of it.
    #[error("message {0} is out of order, or between hosts that the network does not have")]
    Message(usize),
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// If the file cannot be read, or is no plan.
    pub fn read(path: &Path) -> Result<Self, PlanError> {
        Ok(serde_json::from_slice(&std::fs::read(path)?)?)
    }

    /// Our network of this plan.
    pub fn make(&self) -> Make {
        let switching = Switching { buffer: self.buffer, alpha: 1.0, ecn: self.ecn, ..Switching::default() };
        let (shape, links) = (Some(self.shape), self.links);
        Make { shape, links, switching, seed: self.seed, ..Make::default() }
    }

    /// Its hosts.
    ///
    /// # Errors
    /// If the plan makes no sense.
    pub fn hosts(&self, hosts: u32) -> Result<Vec<Host>, PlanError> {
        let mut last = 0;
        for (number, message) in self.messages.iter().enumerate() {
            let Posted { at, from, to, .. } = *message;
            if at < last || from >= hosts || to >= hosts || from == to {
                return Err(PlanError::Message(number));
            }
            last = at;
        }
        // Devices of ns-3 have one queue.
        let options = case::Protocol::NoClasses.options(&self.make(), hosts)?;
        let host = |number| {
            let speaks = match self.protocol {
                Protocol::Raw => Speaks::Raw(Raw::new(PAYLOAD, HEADERS, LABELS)),
                Protocol::Tessera => Speaks::Tessera(Box::new(Tessera::new(number, &options)?)),
            };
            Ok(Host::new(number, speaks, self.loss, self.seed))
        };
        (0..hosts).map(host).collect()
    }
}
