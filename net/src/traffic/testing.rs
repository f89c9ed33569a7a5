//! A network for tests of traffic alone: every message takes as long as it is told.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Act, Traffic};
use crate::transport::{Done, End, Message};
use crate::Ps;

/// What happened, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Posted(Message),
    Told { host: u32, id: u16, messages: u16 },
    Delivered(Message),
    Acknowledged(Message),
}

/// Runs until nothing happens. `times` says after how long a message is delivered, and
/// after how long acknowledged.
pub(crate) fn play(traffic: &mut impl Traffic, times: impl Fn(&Message) -> (Ps, Ps)) -> Vec<(Ps, Event)> {
    let (mut log, mut messages) = (Vec::new(), Vec::new());
    let mut ends: BinaryHeap<Reverse<(Ps, u32, bool)>> = BinaryHeap::new();
    let mut now = 0;
    loop {
        let end = ends.peek().map(|Reverse((at, ..))| *at);
        match traffic.next_at() {
            Some(at) if end.is_none_or(|end| at <= end) => {
                now = at.max(now);
                match traffic.next() {
                    Some(Act::Post(message)) => {
                        assert_eq!(message.id, messages.len() as u32);
                        let (delivered, acknowledged) = times(&message);
                        ends.push(Reverse((now + delivered, message.id, false)));
                        ends.push(Reverse((now + acknowledged, message.id, true)));
                        messages.push(message);
                        log.push((now, Event::Posted(message)));
                    }
                    Some(Act::Round { host, id, messages }) => {
                        log.push((now, Event::Told { host, id, messages }));
                    }
                    None => {}
                }
            }
            _ => {
                let Some(Reverse((at, id, acknowledged))) = ends.pop() else { return log };
                now = at;
                let message = messages[id as usize];
                let (end, event) = if acknowledged {
                    (End::Acknowledged, Event::Acknowledged(message))
                } else {
                    (End::Delivered, Event::Delivered(message))
                };
                log.push((now, event));
                traffic.done(now, &Done { id, end });
            }
        }
    }
}
