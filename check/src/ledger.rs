//! What was posted, what came of it, and which rule that breaks.
//!
//! ```text
//!  node ──Event──> Ledger ──> a Rule, if one is broken
//! ```
//!
//! The ledger knows no protocol: it sees what hosts see, and the feedback that
//! arrives.

use serde::Serialize;
use tessera_abi::status::Status;
use tessera_model::Ticks;

use crate::scenario::{Message, Scenario};

/// What must hold (docs/spec, section 7). Each is a property of the checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// 1: a message ends in one receive at most.
    DeliveredTwice,
    /// 1: success is told of what is delivered, to the sender of what has been.
    Undelivered,
    /// 2: bytes go where they belong, unchanged, and never into a buffer given back.
    WrongBytes,
    /// 7: a send or receive ends once.
    EndedTwice,
    /// 1: what a status says is so: `unheard` of nothing heard, `receiver_not_ready` of BUSY.
    Untrue,
    /// 6: a packet that is refused changes nothing.
    Changed,
    /// GR-1: what is outstanding is the sum over the contexts.
    Credit,
    /// 1: a send ends within its bound.
    Late,
    /// 7: once nothing is under way and no timer runs, all is over and back.
    LeftOver,
    /// 7: what loses nothing delivers everything.
    Failed,
    /// 7: there is an end.
    Endless,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Rule; 11] = [
        Rule::DeliveredTwice,
        Rule::Undelivered,
        Rule::WrongBytes,
        Rule::EndedTwice,
        Rule::Untrue,
        Rule::Changed,
        Rule::Credit,
        Rule::Late,
        Rule::LeftOver,
        Rule::Failed,
        Rule::Endless,
    ];

    /// The rule in words.
    pub const fn says(self) -> &'static str {
        match self {
            Rule::DeliveredTwice => "a message is delivered at most once",
            Rule::Undelivered => "success is told only of what is delivered whole",
            Rule::WrongBytes => "bytes arrive unchanged, in buffers that are still the NIC's",
            Rule::EndedTwice => "a send or receive ends once",
            Rule::Untrue => "what a status says is so",
            Rule::Changed => "a refused packet changes nothing",
            Rule::Credit => "outstanding credit is the sum over the contexts",
            Rule::Late => "a send ends within its bound",
            Rule::LeftOver => "in the end all is over and everything back",
            Rule::Failed => "without loss everything arrives",
            Rule::Endless => "there is an end",
        }
    }
}

/// What a node did that others see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message's packet was sent.
    Named {
        /// The message.
        message: u8,
        /// Its number on the wire.
        id: u32,
    },
    /// Feedback arrived and was heeded.
    Heard {
        /// Number of the message it is for.
        id: u32,
        /// It said BUSY.
        busy: bool,
    },
    /// Bytes were written.
    Wrote {
        /// Number of the receive they are in.
        receive: u8,
        /// The message and the index of the packet, if they are one's, in its place.
        packet: Option<(u8, u8)>,
    },
    /// A receive has ended.
    Received {
        /// Its running index.
        entry: u16,
        /// The message in it.
        message: Option<u8>,
        /// Its status.
        status: u8,
    },
    /// A send has ended.
    Sent {
        /// Its message.
        message: Option<u8>,
        /// Its status.
        status: u8,
    },
}

/// A message, as its two hosts see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Fate {
    /// When it was posted, until it has ended.
    since: Option<Ticks>,
    /// Its number on the wire, until it has ended.
    id: Option<u32>,
    /// Whether its sender heard BUSY, or any other feedback, until it has ended.
    busy: bool,
    word: bool,
    /// How its send ended.
    sent: Option<u8>,
    /// How its receive ended.
    received: Option<u8>,
}

/// A buffer that was posted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Buffer {
    node: u8,
    /// Its running index; none of before a reset.
    entry: Option<u16>,
    /// Which message writes it, and the packets that are there.
    message: Option<u8>,
    packets: u32,
    /// It is its host's again.
    back: bool,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ledger {
    fates: Vec<Fate>,
    buffers: Vec<Buffer>,
    /// The first rule broken.
    pub broken: Option<Rule>,
}

const SUCCESS: u8 = Status::Success as u8;
const FLUSHED: u8 = Status::Flushed as u8;

impl Ledger {
    /// Of messages that are yet to be posted.
    pub fn new(messages: &[Message]) -> Self {
        Self { fates: vec![Fate::default(); messages.len()], buffers: Vec::new(), broken: None }
    }

    /// A rule is broken; the first counts.
    pub fn breaks(&mut self, rule: Rule) {
        self.broken = self.broken.or(Some(rule));
    }

    /// A send is posted.
    pub fn posted(&mut self, now: Ticks, message: u8) {
        self.fates[message as usize].since = Some(now);
    }

    /// A receive is posted; its number.
    pub fn offered(&mut self, node: u8) -> u8 {
        let before = self.buffers.iter().filter(|buffer| buffer.node == node && buffer.entry.is_some());
        let entry = Some(before.count() as u16);
        self.buffers.push(Buffer { node, entry, message: None, packets: 0, back: false });
        self.buffers.len() as u8 - 1
    }

    /// The number of the next receive.
    pub fn next_receive(&self) -> u8 {
        self.buffers.len() as u8
    }

    /// A node was reset: its host is told nothing more of what it had posted.
    //= RS-5
    pub fn reset(&mut self, node: usize, messages: &[Message]) {
        for (fate, _) in self.fates.iter_mut().zip(messages).filter(|(_, message)| message.from == node) {
            if fate.since.is_some() {
                fate.end(FLUSHED);
            }
        }
        for buffer in self.buffers.iter_mut().filter(|buffer| usize::from(buffer.node) == node) {
            buffer.give_back();
            buffer.entry = None;
        }
    }

    /// A node's endpoint was destroyed: receives that no message had taken are forgotten.
    //= RE-2
    pub fn forget_receives(&mut self, node: usize) {
        let untouched = |buffer: &&mut Buffer| usize::from(buffer.node) == node && buffer.message.is_none();
        self.buffers.iter_mut().filter(untouched).for_each(Buffer::give_back);
    }

    /// The same for sends: of a ring's entries that had not begun its host is told nothing.
    //= RE-1
    pub fn forget_sends(&mut self, node: usize, messages: &[Message]) {
        for (fate, message) in self.fates.iter_mut().zip(messages) {
            if message.from == node && fate.since.is_some() && fate.id.is_none() {
                fate.end(FLUSHED);
            }
        }
    }

    /// Something happened at `node`.
    pub fn event(&mut self, node: u8, event: Event, messages: &[Message]) {
        if let Err(rule) = self.take(node, event, messages) {
            self.breaks(rule);
        }
    }

    fn take(&mut self, node: u8, event: Event, messages: &[Message]) -> Result<(), Rule> {
        match event {
            Event::Named { message, id } => {
                let fate = &mut self.fates[message as usize];
                // Of a message that has ended nothing is sent any more (TX-12).
                fate.since.ok_or(Rule::EndedTwice)?;
                fate.id = Some(id);
            }
            Event::Heard { id, busy } => {
                // Others may have given a message the same number.
                let own = |(fate, message): &(&mut Fate, &Message)| {
                    fate.id == Some(id) && message.from == usize::from(node)
                };
                for (fate, _) in self.fates.iter_mut().zip(messages).filter(own) {
                    fate.busy |= busy;
                    fate.word |= !busy;
                }
            }
            Event::Wrote { receive, packet } => {
                let (message, index) = packet.ok_or(Rule::WrongBytes)?;
                let buffer = self.buffers.get_mut(receive as usize).ok_or(Rule::WrongBytes)?;
                let own = buffer.message.is_none_or(|own| own == message);
                if buffer.back || !own || buffer.node != node {
                    return Err(Rule::WrongBytes);
                }
                buffer.message = Some(message);
                buffer.packets |= 1 << index;
            }
            Event::Received { entry, message, status } => {
                let named = |buffer: &&mut Buffer| (buffer.node, buffer.entry) == (node, Some(entry));
                let buffer = self.buffers.iter_mut().find(named).ok_or(Rule::EndedTwice)?;
                let message = message.ok_or(Rule::WrongBytes)?;
                if buffer.back {
                    return Err(Rule::EndedTwice);
                }
                let written = (buffer.message, buffer.packets);
                if status == SUCCESS && written != messages[message as usize].whole(message) {
                    return Err(Rule::Undelivered);
                }
                buffer.give_back();
                let fate = &mut self.fates[message as usize];
                if fate.received.replace(status).is_some() {
                    return Err(Rule::DeliveredTwice);
                }
            }
            Event::Sent { message, status } => {
                let fate = &mut self.fates[message.ok_or(Rule::EndedTwice)? as usize];
                fate.since.ok_or(Rule::EndedTwice)?;
                let told = Status::from_code(status).map_err(|_| Rule::Untrue)?;
                let said = match told {
                    Status::Success if fate.received != Some(SUCCESS) => return Err(Rule::Undelivered),
                    Status::Unheard => !fate.busy && !fate.word,
                    Status::ReceiverNotReady => fate.busy && !fate.word,
                    _ => true,
                };
                fate.end(status);
                said.then_some(()).ok_or(Rule::Untrue)?;
            }
        }
        Ok(())
    }

    /// Whether a send is later than it may be.
    pub fn is_late(&self, now: Ticks, scenario: &Scenario) -> bool {
        let late = |(message, fate): (usize, &Fate)| {
            fate.since.is_some_and(|since| now > since + scenario.bound(message))
        };
        self.fates.iter().enumerate().any(late)
    }

    /// Whether every send has ended, and every receive of `node` but so many that
    /// its NIC still holds.
    pub fn is_over(&self, node: usize, held: usize) -> bool {
        let open = self.buffers.iter().filter(|buffer| usize::from(buffer.node) == node && !buffer.back);
        let untouched = open.clone().all(|buffer| buffer.message.is_none());
        untouched && open.count() == held && self.fates.iter().all(|fate| fate.since.is_none())
    }

    /// Whether every send that has ended was successful.
    pub fn all_succeeded(&self) -> bool {
        self.fates.iter().all(|fate| fate.sent.is_none_or(|status| status == SUCCESS))
    }
}

impl Fate {
    fn end(&mut self, status: u8) {
        *self = Self { sent: Some(status), received: self.received, ..Self::default() };
    }
}

impl Buffer {
    fn give_back(&mut self) {
        (self.message, self.packets, self.back) = (None, 0, true);
    }
}
