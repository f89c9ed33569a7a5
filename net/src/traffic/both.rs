//! Two kinds of traffic at once: a collective and what disturbs it.

use super::{Act, Traffic};
use crate::transport::Done;
use crate::Ps;

/// Both; numbers of messages and rounds of the first become even, of the second odd.
#[derive(Clone, Debug)]
pub struct Both<A, B> {
    /// First: it acts first, of what is due at once.
    pub first: A,
    /// Second.
    pub second: B,
}

/// What one of the two does, under numbers that the other does not use.
fn renumber(act: Act, odd: u32) -> Act {
    match act {
        Act::Post(mut message) => {
            message.id = message.id << 1 | odd;
            message.round = message.round.map(|id| id << 1 | odd as u16);
            Act::Post(message)
        }
        Act::Round { host, id, messages } => Act::Round { host, id: id << 1 | odd as u16, messages },
    }
}

impl<A: Traffic, B: Traffic> Traffic for Both<A, B> {
    fn next_at(&mut self) -> Option<Ps> {
        let first = self.first.next_at();
        first.into_iter().chain(self.second.next_at()).min()
    }

    fn next(&mut self) -> Option<Act> {
        let (first, second) = (self.first.next_at(), self.second.next_at());
        if first.is_some_and(|first| second.is_none_or(|second| first <= second)) {
            return self.first.next().map(|act| renumber(act, 0));
        }
        self.second.next().map(|act| renumber(act, 1))
    }

    fn done(&mut self, now: Ps, done: &Done) {
        let own = Done { id: done.id >> 1, end: done.end };
        if done.id & 1 == 0 {
            self.first.done(now, &own);
        } else {
            self.second.done(now, &own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::List;
    use super::*;
    use crate::transport::End;

    #[test]
    fn acts_come_in_order_and_ends_go_to_whose_they_are() {
        let mut both = Both { first: List::default(), second: List::default() };
        both.first.add(5, 0, 1, 10);
        both.first.add(7, 0, 1, 11);
        both.second.add(4, 1, 0, 20);
        both.second.add(7, 1, 0, 21);
        let mut seen = Vec::new();
        while let Some(at) = both.next_at() {
            let Some(Act::Post(message)) = both.next() else { panic!("lists post") };
            seen.push((at, message.bytes, message.id));
            both.done(at + 1, &Done { id: message.id, end: End::Delivered });
        }
        assert_eq!(seen, [(4, 20, 1), (5, 10, 0), (7, 11, 2), (7, 21, 3)]);
        assert_eq!((both.first.open(), both.second.open()), (0, 0));
        assert_eq!(both.second.records[1].delivered, Some(8));
    }

    #[test]
    fn rounds_do_not_meet() {
        let round = |odd| renumber(Act::Round { host: 3, id: 9, messages: 2 }, odd);
        assert_eq!(round(0), Act::Round { host: 3, id: 18, messages: 2 });
        assert_eq!(round(1), Act::Round { host: 3, id: 19, messages: 2 });
    }
}
