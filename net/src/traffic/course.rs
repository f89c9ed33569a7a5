//! A collective at work: runs a [`Plan`] over a network.
//!
//! ```text
//!              ┌─ timer (computes) ─┐       window
//!   stage ─────┴────────────────────┴─> queue of its rank ─> round, post
//!     ▲                                        ▲                 │
//!     │ all that it awaits is delivered        │ acknowledged    │
//!     └──────────────── lane <─────────────────┴─────────────────┘
//! ```
//!
//! A stage is the round of its receiver: how many messages of all lanes it awaits is
//! told to the receiving host when the first of them is posted, so before any can
//! arrive. Ranks need not be in step: what comes early is counted for later. A message
//! that its sender gives up is never delivered, and the iteration never over
//! ([`Book::failed`]).

mod options;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use serde::Serialize;

pub use options::{Between, Options};

use super::book::Book;
use super::dice::Dice;
use super::plan::{At, Group, Plan, PlanError};
use super::{Act, Traffic};
use crate::stats::Histogram;
use crate::transport::{Done, End, Message};
use crate::Ps;

/// An iteration's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Iteration {
    /// The first rank began.
    pub began: Option<Ps>,
    /// The last rank had all it awaited.
    pub ended: Option<Ps>,
    /// Ranks that are not through.
    left: u32,
}

/// What a message is of the plan: stages are counted through all iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Rank that sends.
    pub from: u32,
    /// Rank that receives.
    pub to: u32,
    /// Lane.
    pub lane: u32,
    /// Stage of the receiver that it goes into.
    pub into: u64,
}

#[derive(Clone, Debug, Default)]
struct Lane {
    stage: u64,
    /// Its sends are queued, and it awaits what comes.
    begun: bool,
    /// Messages it awaits, once begun, and those that have come.
    awaits: u32,
    got: u32,
    /// Later stages that something has come into already, and how much.
    early: Vec<(u64, u32)>,
}

#[derive(Clone, Debug, Default)]
struct Rank {
    /// Stages whose sends wait, and how many of each have been posted.
    queue: VecDeque<(At, u32)>,
    under_way: u32,
    /// It is among those that may post.
    ready: bool,
    iteration: u32,
    /// Lanes that are not through this iteration.
    left: u32,
    rounds: Vec<Round>,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    stage: u64,
    left: u32,
    began: Ps,
    /// The receiver's host knows of it.
    told: bool,
}

/// See the module's page.
#[derive(Clone, Debug)]
pub struct Course<P> {
    plan: P,
    group: Group,
    options: Options,
    ranks: Vec<Rank>,
    lanes: Vec<Lane>,
    ready: VecDeque<(Ps, u32)>,
    acts: VecDeque<(Ps, Act)>,
    /// Lanes that begin a stage, by when.
    timers: BinaryHeap<Reverse<(Ps, u64, u32)>>,
    timers_set: u64,
    dice: Dice,
    /// Messages.
    pub book: Book<Mark>,
    /// From the first posting into a round to its last delivery.
    pub rounds: Histogram,
    /// Times of iterations.
    pub iterations: Vec<Iteration>,
}

impl<P: Plan> Course<P> {
    /// Runs `plan` among the hosts of `group`, which are its ranks in order.
    ///
    /// # Errors
    /// If their numbers differ, or nothing would ever be done.
    pub fn new(plan: P, group: Group, options: Options) -> Result<Self, PlanError> {
        let (ranks, lanes) = (plan.ranks(), plan.lanes());
        if group.len() != ranks {
            return Err(PlanError::Senseless("a group must have as many hosts as the plan has ranks"));
        }
        if options.window == Some(0) || options.iterations == 0 {
            return Err(PlanError::Senseless("a window and a number of iterations must be above 0"));
        }
        if lanes == 0 || plan.stages() == 0 || ranks.checked_mul(lanes).is_none() {
            return Err(PlanError::Senseless(
                "a plan needs a lane and a stage, and at most 2^32 lanes in all",
            ));
        }
        let iteration = Iteration { began: None, ended: None, left: ranks };
        let mut course = Self {
            group,
            options,
            ranks: vec![Rank::default(); ranks as usize],
            lanes: vec![Lane::default(); (ranks * lanes) as usize],
            ready: VecDeque::new(),
            acts: VecDeque::new(),
            timers: BinaryHeap::new(),
            timers_set: 0,
            dice: Dice::new(options.seed, 0xC0_11EC),
            book: Book::new(options.keep),
            rounds: Histogram::default(),
            iterations: vec![iteration; options.iterations as usize],
            plan,
        };
        for rank in 0..ranks {
            course.begin_iteration(rank, options.start);
        }
        Ok(course)
    }

    /// The plan.
    pub fn plan(&self) -> &P {
        &self.plan
    }

    /// Whether all iterations are over.
    pub fn is_over(&self) -> bool {
        self.iterations.iter().all(|iteration| iteration.left == 0)
    }

    /// How long each iteration that is over took.
    pub fn took(&self) -> impl Iterator<Item = Ps> + '_ {
        self.iterations.iter().filter_map(|iteration| Some(iteration.ended? - iteration.began?))
    }

    fn at(&self, cell: u32, stage: u64) -> At {
        let (lanes, stages) = (self.plan.lanes(), self.plan.stages() as u64);
        At {
            rank: cell / lanes,
            lane: cell % lanes,
            iteration: (stage / stages) as u32,
            stage: (stage % stages) as u32,
        }
    }

    /// A rank's lanes begin its iteration, at `at` or after some jitter.
    fn begin_iteration(&mut self, rank: u32, at: Ps) {
        let jitter = (self.dice.unit() * self.options.jitter as f64) as Ps;
        let lanes = self.plan.lanes();
        self.ranks[rank as usize].left = lanes;
        for cell in rank * lanes..(rank + 1) * lanes {
            self.begin_later(cell, at.saturating_add(jitter));
        }
    }

    fn begin_later(&mut self, cell: u32, at: Ps) {
        let pause = self.plan.pause(&self.at(cell, self.lanes[cell as usize].stage));
        self.timers_set += 1;
        self.timers.push(Reverse((at.saturating_add(pause), self.timers_set, cell)));
    }

    /// A lane's stage begins: its sends join the queue.
    fn begin(&mut self, cell: u32, now: Ps) {
        let lane = &mut self.lanes[cell as usize];
        lane.begun = true;
        let stage = lane.stage;
        let at = self.at(cell, stage);
        self.lanes[cell as usize].awaits = self.plan.awaits(&at);
        if at.stage == 0 {
            let began = &mut self.iterations[at.iteration as usize].began;
            *began = began.or(Some(now));
        }
        self.ranks[at.rank as usize].queue.push_back((at, 0));
        self.wake(at.rank, now);
    }

    fn wake(&mut self, rank: u32, now: Ps) {
        if !std::mem::replace(&mut self.ranks[rank as usize].ready, true) {
            self.ready.push_back((now, rank));
        }
    }

    /// A lane goes on for as long as all that it awaits is there.
    fn advance(&mut self, cell: u32, now: Ps) {
        loop {
            let lane = &mut self.lanes[cell as usize];
            if !lane.begun || lane.got < lane.awaits {
                return;
            }
            let stage = lane.stage;
            lane.stage += 1;
            lane.begun = false;
            let early = lane.early.iter().position(|&(early, _)| early == stage + 1);
            lane.got = early.map_or(0, |place| lane.early.swap_remove(place).1);
            let at = self.at(cell, stage);
            if at.stage + 1 == self.plan.stages() {
                return self.through(at.rank, at.iteration, now);
            }
            if self.plan.pause(&self.at(cell, self.lanes[cell as usize].stage)) > 0 {
                return self.begin_later(cell, now);
            }
            self.begin(cell, now);
        }
    }

    /// A lane is through an iteration.
    fn through(&mut self, rank: u32, iteration: u32, now: Ps) {
        let own = &mut self.ranks[rank as usize];
        own.left -= 1;
        if own.left > 0 {
            return;
        }
        own.iteration += 1;
        let times = &mut self.iterations[iteration as usize];
        times.left -= 1;
        let all = times.left == 0;
        if all {
            times.ended = Some(now);
        }
        if iteration + 1 == self.options.iterations {
            return;
        }
        let next = now.saturating_add(self.options.compute);
        match self.options.between {
            Between::Own => self.begin_iteration(rank, next),
            Between::Barrier if all => {
                for rank in 0..self.plan.ranks() {
                    self.begin_iteration(rank, next);
                }
            }
            Between::Barrier => {}
        }
    }

    /// Turns to the rank that may post next, until one does: they take turns.
    fn post_next(&mut self) {
        while self.acts.is_empty() {
            let Some((now, rank)) = self.ready.pop_front() else { return };
            let own = &mut self.ranks[rank as usize];
            let open = self.options.window.is_none_or(|window| own.under_way < window);
            let Some((at, index)) = own.queue.front_mut().filter(|_| open) else {
                own.ready = false;
                continue;
            };
            match self.plan.send(at, *index) {
                None => {
                    own.queue.pop_front();
                }
                Some(send) => {
                    *index += 1;
                    if send.bytes > 0 {
                        own.under_way += 1;
                        let into = at.iteration as u64 * self.plan.stages() as u64 + send.into as u64;
                        let mark = Mark { from: rank, to: send.to, lane: at.lane, into };
                        self.post(now, mark, send.bytes);
                    }
                }
            }
            self.ready.push_back((now, rank));
        }
    }

    fn post(&mut self, now: Ps, mark: Mark, bytes: u32) {
        let round = self.round(now, &mark);
        let message = Message {
            id: 0,
            from: self.group.host(mark.from),
            to: self.group.host(mark.to),
            bytes,
            round,
            process: self.options.process,
        };
        let message = self.book.post(now, message, mark);
        self.acts.push_back((now, Act::Post(message)));
    }

    /// The round of a message; its receiver is told if it is the first.
    fn round(&mut self, now: Ps, mark: &Mark) -> Option<u16> {
        let id = mark.into as u16;
        let known = self.ranks[mark.to as usize].rounds.iter().find(|round| round.stage == mark.into);
        if let Some(round) = known {
            return round.told.then_some(id);
        }
        let lanes = self.plan.lanes();
        let cells = mark.to * lanes..(mark.to + 1) * lanes;
        let left = cells.map(|cell| self.plan.awaits(&self.at(cell, mark.into))).sum();
        // A round of more messages than it can have is none.
        let messages = u16::try_from(left).ok().filter(|_| self.options.rounds);
        let round = Round { stage: mark.into, left, began: now, told: messages.is_some() };
        self.ranks[mark.to as usize].rounds.push(round);
        let host = self.group.host(mark.to);
        self.acts.push_back((now, Act::Round { host, id, messages: messages? }));
        Some(id)
    }

    fn delivered(&mut self, now: Ps, mark: &Mark) {
        let rank = &mut self.ranks[mark.to as usize];
        if let Some(place) = rank.rounds.iter().position(|round| round.stage == mark.into) {
            let round = &mut rank.rounds[place];
            round.left = round.left.saturating_sub(1);
            if round.left == 0 {
                self.rounds.add(now - round.began);
                rank.rounds.swap_remove(place);
            }
        }
        let cell = mark.to * self.plan.lanes() + mark.lane;
        let lane = &mut self.lanes[cell as usize];
        if mark.into == lane.stage {
            lane.got += 1;
            return self.advance(cell, now);
        }
        match lane.early.iter_mut().find(|(stage, _)| *stage == mark.into) {
            Some((_, got)) => *got += 1,
            None => lane.early.push((mark.into, 1)),
        }
    }
}

impl<P: Plan> Traffic for Course<P> {
    fn next_at(&mut self) -> Option<Ps> {
        self.post_next();
        let timer = self.timers.peek().map(|Reverse((at, ..))| *at);
        self.acts.front().map(|&(at, _)| at).or(timer)
    }

    fn next(&mut self) -> Option<Act> {
        self.post_next();
        if self.acts.is_empty() {
            // None to post: a lane's time has come.
            let Reverse((now, _, cell)) = self.timers.pop()?;
            self.begin(cell, now);
            self.advance(cell, now);
        }
        self.acts.pop_front().map(|(_, act)| act)
    }

    fn done(&mut self, now: Ps, done: &Done) {
        let Some((_, mark)) = self.book.done(now, done) else { return };
        match done.end {
            End::Delivered => self.delivered(now, &mark),
            End::Acknowledged | End::Failed => {
                self.ranks[mark.from as usize].under_way -= 1;
                self.wake(mark.from, now);
            }
        }
    }
}
