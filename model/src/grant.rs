//! Receiver-driven credit (rules GR).
//!
//! ```text
//!  contexts below their limit ─> [ a list per registered round, one of the rest ] ─> head: q packets if credit allows ─> tail
//!  outstanding = granted bytes not yet arrived, over all open contexts
//! ```

use std::collections::{BTreeMap, VecDeque};

use tessera_abi::params::{BLOCK_PACKETS, WINDOW_PACKETS};
use tessera_abi::regs::CREDIT_FLOOR;
use tessera_abi::wire;

use crate::settings::Settings;
use crate::turns::Turns;
use crate::Ticks;

/// How far a context may be granted now.
//= GR-2
pub fn limit(count: u32, cumulative: u32) -> u32 {
    count.min(cumulative / BLOCK_PACKETS * BLOCK_PACKETS + WINDOW_PACKETS)
}

/// Bytes of packets `from .. to` of a message.
pub fn bytes(length: u32, payload_log2: u8, from: u32, to: u32) -> u64 {
    if to <= from {
        return 0;
    }
    let last = wire::payload_len(length, payload_log2, to - 1) as u64;
    (((to - 1 - from) as u64) << payload_log2) + last
}

/// Turns of the oldest round for one of the others.
const TURNS: u32 = 3;

/// Where a context waits: in the list of its round, named by when that was
/// registered, or in one of those of no round, by what it has left to be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Running number of the registration.
    Round(u64),
    /// [`turns::list_of`]; 0 for all without GR-7.
    Rest(usize),
}

/// Who waits to be granted more. `None` names the lists of no round together.
#[derive(Clone, Debug, Default, Hash)]
struct Waiting {
    rounds: BTreeMap<u64, VecDeque<u32>>,
    rest: Turns<u32>,
    /// Every list that somebody waits in, next turn first.
    turns: VecDeque<Option<u64>>,
    /// Heads of the oldest round in a row.
    row: u32,
    /// The list of the head, once somebody has looked.
    chosen: Option<Place>,
}

impl Waiting {
    fn push(&mut self, place: Place, context: u32) {
        let (name, first) = match place {
            Place::Round(registered) => (Some(registered), !self.rounds.contains_key(&registered)),
            Place::Rest(_) => (None, self.rest.is_empty()),
        };
        if first {
            self.turns.push_back(name);
        }
        match place {
            Place::Round(registered) => self.rounds.entry(registered).or_default().push_back(context),
            Place::Rest(list) => self.rest.push(list, context),
        }
    }

    fn oldest(&self) -> Option<u64> {
        self.rounds.keys().next().copied()
    }

    //= GR-6
    fn choose(&mut self) -> Option<Place> {
        if self.chosen.is_none() {
            let oldest = self.oldest();
            let other = self.turns.iter().find(|list| oldest.is_none() || **list != oldest).copied();
            let name = match (oldest, other) {
                (Some(_), Some(other)) if self.row == TURNS => other,
                (None, other) => other?,
                (oldest, _) => oldest,
            };
            //= GR-7
            self.chosen = match name {
                Some(registered) => Some(Place::Round(registered)),
                None => self.rest.choose().map(Place::Rest),
            };
        }
        self.chosen
    }

    fn head(&mut self) -> Option<u32> {
        match self.choose()? {
            Place::Round(registered) => self.rounds[&registered].front().copied(),
            Place::Rest(list) => self.rest.head(list),
        }
    }

    fn pop(&mut self) -> Option<u32> {
        let place = self.choose()?;
        let oldest = self.oldest();
        let (name, context) = match place {
            Place::Round(registered) => (Some(registered), self.rounds.get_mut(&registered)?.pop_front()),
            Place::Rest(list) => (None, self.rest.pop(list)),
        };
        self.row = if name.is_some() && name == oldest { TURNS.min(self.row + 1) } else { 0 };
        self.turns.retain(|other| *other != name);
        self.turns.push_back(name);
        self.chosen = None;
        self.tidy();
        context
    }

    fn forget(&mut self, context: u32) {
        if self.chosen.is_some() && self.head() == Some(context) {
            self.chosen = None;
        }
        for waiting in self.rounds.values_mut() {
            waiting.retain(|&queued| queued != context);
        }
        self.rest.forget(context);
        self.tidy();
    }

    fn tidy(&mut self) {
        self.rounds.retain(|_, waiting| !waiting.is_empty());
        self.turns.retain(|list| match list {
            Some(registered) => self.rounds.contains_key(registered),
            None => !self.rest.is_empty(),
        });
    }

    fn len(&self) -> usize {
        self.rounds.values().map(VecDeque::len).sum::<usize>() + self.rest.len()
    }
}

/// The credit of one NIC.
#[derive(Clone, Debug, Default, Hash)]
pub struct Credit {
    outstanding: u64,
    waiting: Waiting,
    /// How far the credit is below `CREDIT_LIMIT`, bytes.
    below: u64,
    /// A sign of congestion since the last move, and when that was.
    sign: bool,
    moved_at: Ticks,
    /// Since when a head waits without a grant.
    still_since: Ticks,
}

impl Credit {
    /// Granted bytes not yet arrived.
    pub fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Bytes newly granted.
    //= GR-1
    pub fn grant(&mut self, bytes: u64) {
        self.outstanding += bytes;
    }

    /// Bytes arrived, or returned by an end.
    pub fn settle(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.outstanding, "more credit returned than granted");
        self.outstanding -= bytes;
    }

    /// How many of `packets` may be granted at `now` to a head that is owed so many bytes.
    //= GR-2
    pub fn allows(
        &mut self,
        now: Ticks,
        packets: u32,
        payload_log2: u8,
        owed: u64,
        settings: &Settings,
    ) -> u32 {
        let limit = self.limit(now, settings);
        if self.outstanding == 0 || self.outstanding + ((packets as u64) << payload_log2) <= limit {
            packets
        } else {
            (owed == 0 && now - self.still_since >= settings.rtt_default as u64) as u32
        }
    }

    /// A sign of congestion.
    //= GR-4
    pub fn congested(&mut self) {
        self.sign = true;
    }

    /// The limit in force at `now`.
    //= GR-4
    pub fn limit(&mut self, now: Ticks, settings: &Settings) -> u64 {
        let whole = settings.credit_limit as u64;
        let most = whole.saturating_sub(CREDIT_FLOOR as u64);
        let step = settings.rtt_default as u64;
        while now - self.moved_at >= step {
            if self.sign {
                self.below += (whole - self.below.min(whole)) >> 2;
            } else {
                self.below -= self.below.min(whole >> 6);
                if self.below == 0 {
                    self.moved_at = now - (now - self.moved_at) % step - step;
                }
            }
            self.below = self.below.min(most);
            self.sign = false;
            self.moved_at += step;
        }
        whole - self.below
    }

    /// Queues a context.
    pub fn enqueue(&mut self, now: Ticks, place: Place, context: u32) {
        if self.waiting.len() == 0 {
            self.still_since = now;
        }
        self.waiting.push(place, context);
    }

    /// The context whose turn it is.
    pub fn head(&mut self) -> Option<u32> {
        self.waiting.head()
    }

    /// Takes the head out.
    pub fn dequeue(&mut self, now: Ticks) -> Option<u32> {
        self.still_since = now;
        self.waiting.pop()
    }

    /// Takes a context that ended out.
    pub fn forget(&mut self, context: u32) {
        self.waiting.forget(context);
    }

    /// Contexts waiting.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_the_short_last_packet() {
        assert_eq!(bytes(1000, 8, 0, 4), 1000);
        assert_eq!(bytes(1000, 8, 3, 4), 232);
        assert_eq!(bytes(1000, 8, 1, 3), 512);
        assert_eq!(bytes(0, 8, 0, 1), 0);
        assert_eq!(bytes(1000, 8, 2, 2), 0);
    }

    //= GR-2 test
    #[test]
    fn a_head_that_is_owed_nothing_gets_one_packet_in_the_end() {
        let settings = Settings { credit_limit: 8192, ..Settings::default() };
        let wait = settings.rtt_default as u64;
        let mut credit = Credit::default();
        credit.enqueue(7, Place::Rest(0), 1);
        assert_eq!(credit.allows(7, 16, 12, 0, &settings), 16, "nothing is outstanding");
        credit.grant(4096);
        assert_eq!(credit.allows(7, 1, 12, 4096, &settings), 1);
        assert_eq!(credit.allows(7, 2, 12, 4096, &settings), 0);
        assert_eq!(credit.allows(7 + wait - 1, 2, 12, 0, &settings), 0, "credit may come back");
        assert_eq!(credit.allows(7 + wait, 2, 12, 0, &settings), 1);
        assert_eq!(credit.allows(7 + wait, 2, 12, 4096, &settings), 0);
        credit.enqueue(8 + wait, Place::Rest(0), 2);
        assert_eq!(credit.allows(8 + wait, 2, 12, 0, &settings), 1, "the same head waits");
        credit.dequeue(9 + wait);
        assert_eq!(credit.allows(10 + wait, 2, 12, 0, &settings), 0, "the next one waits anew");
    }

    //= GR-6 test
    #[test]
    fn the_oldest_round_has_three_turns_of_four() {
        let mut credit = Credit::default();
        // By number: round 1 is older than round 2; who has no round is 30 and above.
        let round = |context: u32| match context {
            0..30 => Place::Round((context / 10) as u64),
            _ => Place::Rest(0),
        };
        for context in [20, 21, 30, 31, 10, 11] {
            credit.enqueue(0, round(context), context);
        }
        let mut order = Vec::new();
        for _ in 0..12 {
            let head = credit.head().unwrap();
            assert_eq!(credit.dequeue(0), Some(head));
            credit.enqueue(0, round(head), head);
            order.push(head);
        }
        assert_eq!(order, [10, 11, 10, 20, 11, 10, 11, 30, 10, 11, 10, 21]);
        credit.forget(10);
        credit.forget(11);
        assert_eq!(credit.head(), Some(20), "the next oldest");
        credit.enqueue(0, Place::Round(1), 10);
        assert_eq!(credit.head(), Some(20), "the head stays");
        for context in [20, 21] {
            credit.forget(context);
        }
        assert_eq!((credit.dequeue(0), credit.dequeue(0), credit.dequeue(0)), (Some(10), Some(31), Some(30)));
        assert_eq!((credit.head(), credit.waiting()), (None, 0));
    }

    //= GR-7 test
    #[test]
    fn of_no_round_who_has_least_left_has_three_turns_of_four() {
        let mut credit = Credit::default();
        // By number: 10 and above of round 1, 100 and above of none.
        let place = |context: u32| match context {
            10..20 => Place::Round(1),
            _ => Place::Rest((context / 100) as usize),
        };
        for context in [10, 500, 100, 101, 300] {
            credit.enqueue(0, place(context), context);
        }
        let mut order = Vec::new();
        for _ in 0..20 {
            let head = credit.head().unwrap();
            credit.enqueue(0, Place::Rest(0), 0);
            assert_eq!(credit.head(), Some(head), "the head stays, whoever comes");
            credit.forget(0);
            assert_eq!(credit.dequeue(0), Some(head));
            credit.enqueue(0, place(head), head);
            order.push(head);
        }
        let rest: Vec<u32> = order.iter().copied().filter(|context| *context >= 100).collect();
        assert_eq!((rest, order.len()), (vec![100, 101, 100, 300, 101], 20));
    }

    //= GR-4 test
    #[test]
    fn credit_shrinks_by_quarters_and_grows_by_steps() {
        let settings = Settings::default();
        let whole = settings.credit_limit as u64;
        let step = settings.rtt_default as u64;
        let mut credit = Credit::default();
        assert_eq!(credit.limit(1000 * step + 3, &settings), whole);
        credit.congested();
        credit.congested();
        assert_eq!(credit.limit(1001 * step - 1, &settings), whole, "once per round trip");
        assert_eq!(credit.limit(1001 * step, &settings), whole - whole / 4);
        assert_eq!(credit.limit(1003 * step, &settings), whole - whole / 4 + whole / 32);
        assert_eq!(credit.limit(1017 * step, &settings), whole);
        for n in 0..40 {
            credit.congested();
            credit.limit((1018 + n) * step, &settings);
        }
        assert_eq!(credit.limit(1057 * step, &settings), CREDIT_FLOOR as u64);
    }

    #[test]
    fn limits_keep_to_the_window() {
        assert_eq!(limit(100, 0), 100);
        assert_eq!(limit(5000, 255), 1024);
        assert_eq!(limit(5000, 256), 1280);
    }
}
