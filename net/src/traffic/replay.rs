//! Replays a [`Trace`]: every node when all that it waits for is over.
//!
//! ```text
//!   node ── delay ──> posted ──> delivered: its receiver's nodes go on
//!     │                    └───> acknowledged: its sender's go on
//!     └── duration ─> over: its host's go on
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::book::Book;
use super::trace::{Trace, Work};
use super::{Act, Traffic};
use crate::transport::{Done, End, Message};
use crate::Ps;

/// A node's times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Times {
    /// All that it waits for was over.
    pub began: Option<Ps>,
    /// It was over: the message had been delivered, the computation done.
    pub ended: Option<Ps>,
}

/// See the module's page.
#[derive(Clone, Debug)]
pub struct Replay {
    trace: Trace,
    followers: Vec<Vec<u32>>,
    /// Nodes that each still waits for.
    waits: Vec<u32>,
    /// When a computation is over, or a message is to be posted.
    due: BinaryHeap<Reverse<(Ps, u64, u32)>>,
    begun: u64,
    /// Times of each node.
    pub times: Vec<Times>,
    /// Messages, marked with their node's number.
    pub book: Book<u32>,
}

impl Replay {
    /// Begins the trace at `start`.
    pub fn new(trace: Trace, start: Ps) -> Self {
        let waits: Vec<u32> = trace.nodes().iter().map(|node| node.after.len() as u32).collect();
        let mut replay = Self {
            followers: trace.followers(),
            due: BinaryHeap::new(),
            begun: 0,
            times: vec![Times::default(); waits.len()],
            book: Book::new(true),
            waits,
            trace,
        };
        for node in 0..replay.waits.len() as u32 {
            if replay.waits[node as usize] == 0 {
                replay.begin(node, start);
            }
        }
        replay
    }

    /// The trace.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// When the last node was over, if all are.
    pub fn ended(&self) -> Option<Ps> {
        self.times.iter().try_fold(0, |last, times| Some(last.max(times.ended?)))
    }

    fn begin(&mut self, node: u32, now: Ps) {
        self.times[node as usize].began = Some(now);
        self.begun += 1;
        let delay = self.trace.nodes()[node as usize].delay;
        self.due.push(Reverse((now.saturating_add(delay), self.begun, node)));
    }

    /// A node is over as far as `host` knows, or one of the two hosts of a message.
    fn over(&mut self, now: Ps, node: u32, host: u32) {
        for place in 0..self.followers[node as usize].len() {
            let follower = self.followers[node as usize][place];
            if self.trace.nodes()[follower as usize].host != host {
                continue;
            }
            let waits = &mut self.waits[follower as usize];
            *waits -= 1;
            if *waits == 0 {
                self.begin(follower, now);
            }
        }
    }
}

impl Traffic for Replay {
    fn next_at(&mut self) -> Option<Ps> {
        self.due.peek().map(|Reverse((at, ..))| *at)
    }

    fn next(&mut self) -> Option<Act> {
        let Reverse((now, _, number)) = self.due.pop()?;
        let node = &self.trace.nodes()[number as usize];
        let host = node.host;
        match node.work {
            Work::Compute => {
                self.times[number as usize].ended = Some(now);
                self.over(now, number, host);
                None
            }
            Work::Send { peer, bytes } => {
                let message = Message { id: 0, from: host, to: peer, bytes, round: None, process: 0 };
                Some(Act::Post(self.book.post(now, message, number)))
            }
        }
    }

    fn done(&mut self, now: Ps, done: &Done) {
        let Some((message, node)) = self.book.done(now, done) else { return };
        match done.end {
            End::Delivered => {
                self.times[node as usize].ended = Some(now);
                self.over(now, node, message.to);
            }
            End::Acknowledged => self.over(now, node, message.from),
            // What waits for it waits for ever.
            End::Failed => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::testing::{play, Event};

    #[test]
    fn nodes_go_on_when_their_host_knows() {
        let text = "\
            f,0,-,,,5\n\
            m,0,1,100,f\n\
            g,1,-,,m,3\n\
            n,0,1,200,m,2\n\
            b,1,0,300,g;n\n";
        let mut replay = Replay::new(Trace::parse(text, 2).unwrap(), 1000);
        let log: Vec<(Ps, u32)> = play(&mut replay, |_| (10_000, 20_000))
            .into_iter()
            .filter_map(|(at, event)| match event {
                Event::Posted(message) => Some((at, message.bytes)),
                _ => None,
            })
            .collect();
        // n: acknowledged at 26, and 2; b: n is there at 38, g was over at 19.
        assert_eq!(log, [(6_000, 100), (28_000, 200), (38_000, 300)]);
        assert_eq!(replay.ended(), Some(48_000));
        assert_eq!(replay.times[2], Times { began: Some(16_000), ended: Some(19_000) });
        assert_eq!((&replay.book.sent[..], &replay.book.received[..]), (&[300, 300][..], &[300, 300][..]));
    }
}
