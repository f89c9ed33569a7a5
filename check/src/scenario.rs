//! What is explored: sizes, settings, messages, and how much may go wrong.

use serde::Serialize;
use tessera_abi::params::Config;
use tessera_abi::wire;
use tessera_model::{Settings, Ticks};

use crate::ledger::Rule;

/// log2 of the payload size of every message: the smallest there is.
pub const PAYLOAD_LOG2: u8 = 8;

/// A message that somebody sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Node that sends it.
    pub from: usize,
    /// Node it is for.
    pub to: usize,
    /// Bytes.
    pub length: u32,
}

impl Message {
    /// Packets.
    pub fn count(&self) -> u32 {
        wire::packet_count(self.length, PAYLOAD_LOG2).unwrap_or(1)
    }

    /// Whose packets a buffer holds and which, when this is in it whole, as message
    /// `number`. Of one without bytes nothing is written.
    pub fn whole(&self, number: u8) -> (Option<u8>, u32) {
        match self.length {
            0 => (None, 0),
            _ => (Some(number), (1 << self.count()) - 1),
        }
    }
}

/// A mistake made on purpose: the protocol without one of its rules. Each is made
/// around the model, never in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A sender takes feedback for a slot as meant for its present message (against TX-3):
    /// every feedback that arrives is given the generation last sent.
    NoGenerationCheck,
    /// What ended is forgotten at once (against RC-6).
    NoTombstone,
    /// A sender never hears BUSY (against TX-11).
    DeafToBusy,
    /// A sender takes BUSY for any other feedback, so for acceptance (against TX-11).
    BusyIsYes,
    /// After a reset the endpoint has its number of before (against RS-4).
    OldEndpointNumber,
    /// After a reset all is as at power-on: the endpoint has its number of before, slots
    /// the generations they began with (against RS-2 and RS-4).
    FreshGenerations,
}

/// What is explored, and within which bounds.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name, of one word.
    pub name: String,
    /// What it is about.
    pub about: &'static str,
    /// Part of the quick set.
    pub quick: bool,
    /// Sizes of every NIC.
    pub sizes: Config,
    /// Settings of every NIC.
    pub settings: Settings,
    /// What is sent. The first `at_start` at time 0; each later one, in this order,
    /// in any tick up to `until`, or never.
    pub messages: Vec<Message>,
    /// Messages sent at time 0.
    pub at_start: usize,
    /// Receives that each node of a message's `to` has posted before time 0, and
    /// posts anew after a reset.
    pub receives: u8,
    /// Receives that node 1 posts later, in any tick up to `until`, or never.
    pub late_receives: u8,
    /// Frames lost at most.
    pub losses: u8,
    /// Frames doubled at most.
    pub copies: u8,
    /// Resets of each node at most, in any tick up to `until`.
    pub resets: [u8; NODES],
    /// How many of them destroy their endpoint, at most once each, in any tick up to `until`.
    pub destroys: [u8; NODES],
    /// The last tick of later sends, receives and resets.
    pub until: Ticks,
    /// Sends of an endpoint under way at most (TX-15), 0 for any number.
    pub tx_quota: u16,
    /// Generation of every slot before its first message.
    pub generation: u32,
    /// Every frame is tried in forged versions, too.
    pub forges: bool,
    /// Where nothing is lost, reset or destroyed every send succeeds.
    pub arrives: bool,
    /// Drop reasons and statuses that must occur, or the scenario shows nothing.
    pub reaches: &'static [&'static str],
    /// The mistake made on purpose.
    pub fault: Option<Fault>,
    /// The rule that the mistake breaks.
    pub breaks: Option<Rule>,
}

/// NICs at most.
pub const NODES: usize = 3;

impl Scenario {
    /// NICs in it.
    pub fn nodes(&self) -> usize {
        self.messages.iter().map(|message| message.from.max(message.to) + 1).max().unwrap_or(0)
    }

    /// The bounds in words.
    pub fn bounds(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        let packets: Vec<String> = self.messages.iter().map(|message| message.count().to_string()).collect();
        parts.push(format!("packets {}", packets.join(" and ")));
        let counted = [
            (self.losses, "losses"),
            (self.copies, "copies"),
            (self.resets.iter().sum(), "resets"),
            (self.destroys.iter().sum(), "destroyed"),
        ];
        parts.extend(
            counted.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{what} {count}")),
        );
        parts.push(format!("MPL {}", self.settings.mpl));
        parts.join(", ")
    }

    /// Settings with the mistake made on purpose.
    pub fn settings(&self) -> Settings {
        match self.fault {
            Some(Fault::NoTombstone) => Settings { time_wait: 0, ..self.settings },
            _ => self.settings,
        }
    }

    /// Longest that a send may take, with all that stand before it in its ring:
    /// T_OPEN to be heard, GRANT_WAIT for each step that cumulative or grant makes.
    pub fn bound(&self, message: usize) -> Ticks {
        let Settings { t_open, grant_wait, .. } = self.settings;
        let of = |message: &Message| Ticks::from(t_open + (2 * message.count() + 1) * grant_wait);
        let before =
            self.messages[..=message].iter().filter(|other| other.from == self.messages[message].from);
        before.map(of).sum()
    }

    /// When all must be over and back.
    pub fn horizon(&self) -> Ticks {
        let Settings { rx_give_up, time_wait, mpl, .. } = self.settings;
        let sends: Ticks = (0..self.messages.len()).map(|message| self.bound(message)).sum();
        self.until + sends + Ticks::from(mpl + rx_give_up + time_wait) * (1 + self.messages.len() as Ticks)
    }
}
