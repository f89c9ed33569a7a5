//! What hosts want to send, and when.
//!
//! ```text
//!   known beforehand   List          permutation, random pairs
//!   open loop          Poisson       arrivals with published sizes (sizes)
//!   closed loop        Pairs         a few hosts, very many peers
//!   dependent          Course<Plan>  collectives, incast: what has come lets the next go
//!                                    (allreduce, alltoall, patterns; copies for groups)
//!                      Replay        a trace from a file
//!   two at once        Both
//! ```
//!
//! All but [`List`] keep a [`Book`](book::Book): what each message took, and what each
//! host has sent and received.

pub mod allreduce;
pub mod alltoall;
pub mod book;
pub mod both;
pub mod copies;
pub mod course;
mod dice;
pub mod pairs;
pub mod patterns;
pub mod plan;
pub mod poisson;
pub mod replay;
pub mod sizes;
#[cfg(test)]
mod testing;
pub mod trace;

use std::collections::VecDeque;

use crate::transport::{Done, End, Message};
use crate::Ps;

/// Something a host does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Posts a message.
    Post(Message),
    /// Says how many messages of a round it will receive.
    Round {
        /// Host.
        host: u32,
        /// Round.
        id: u16,
        /// Messages.
        messages: u16,
    },
}

/// Who decides it. Acts come in order of time; an end may bring new ones.
pub trait Traffic {
    /// When the next act is due; none: nothing more, unless something ends.
    fn next_at(&mut self) -> Option<Ps>;

    /// That act.
    fn next(&mut self) -> Option<Act>;

    /// A message has ended.
    fn done(&mut self, now: Ps, done: &Done);
}

impl<T: Traffic + ?Sized> Traffic for Box<T> {
    fn next_at(&mut self) -> Option<Ps> {
        (**self).next_at()
    }

    fn next(&mut self) -> Option<Act> {
        (**self).next()
    }

    fn done(&mut self, now: Ps, done: &Done) {
        (**self).done(now, done);
    }
}

/// A message's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The message.
    pub message: Message,
    /// When it was posted.
    pub posted: Ps,
    /// When its receiver's host had it.
    pub delivered: Option<Ps>,
    /// When its sender's host knew.
    pub acknowledged: Option<Ps>,
    /// Its sender gave it up.
    pub failed: bool,
}

/// Messages at times known beforehand, and what became of them.
#[derive(Clone, Debug, Default)]
pub struct List {
    waiting: VecDeque<(Ps, Message)>,
    /// By message id.
    pub records: Vec<Record>,
}

impl List {
    /// Adds a message; its id is its number in the list. Times must not fall.
    pub fn add(&mut self, at: Ps, from: u32, to: u32, bytes: u32) -> u32 {
        let id = self.records.len() as u32;
        let message = Message { id, from, to, bytes, round: None, process: 0 };
        self.records.push(Record { message, posted: at, delivered: None, acknowledged: None, failed: false });
        self.waiting.push_back((at, message));
        id
    }

    /// Messages that have neither been delivered nor given up.
    pub fn open(&self) -> usize {
        self.records.iter().filter(|record| record.delivered.is_none() && !record.failed).count()
    }
}

impl Traffic for List {
    fn next_at(&mut self) -> Option<Ps> {
        self.waiting.front().map(|&(at, _)| at)
    }

    fn next(&mut self) -> Option<Act> {
        self.waiting.pop_front().map(|(_, message)| Act::Post(message))
    }

    fn done(&mut self, now: Ps, done: &Done) {
        let Some(record) = self.records.get_mut(done.id as usize) else { return };
        match done.end {
            End::Delivered => record.delivered = record.delivered.or(Some(now)),
            End::Acknowledged => record.acknowledged = Some(now),
            End::Failed => record.failed = true,
        }
    }
}
