//! What a sender has under way, in the order in which it left.
//!
//! ```text
//!   by number   una . # # . L . # . next       # acknowledged, L lost, to go again
//!   by turn     [una] [v] [#] [#] [x] [#] ...  oldest first; v void: it went again since
//!                 └ has so many acknowledged ones behind it: `overtaken`
//! ```
//!
//! Packets are lost in the order in which they left, whatever the rule: the one that
//! left first has waited longest and has been overtaken by most. So a rule looks at
//! the oldest turn alone, and an answer costs what it acknowledges, not the window.
//!
//! Of a packet that is sent again, the answer says by its time which of the two
//! has come: the first one, and it went again for nothing (RFC 3522).

use std::collections::VecDeque;

use super::window::{Bits, Window};
use super::{Answer, Pick, Reply};
use crate::Ps;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Flying,
    Acknowledged,
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    fate: Fate,
    /// How often it has left.
    times: u8,
    path: u16,
    /// Its latest turn, counted from the first of all.
    turn: u32,
}

#[derive(Clone, Copy, Debug)]
struct Turn {
    at: Ps,
    psn: u32,
    /// Lost: void, for the packet has left again.
    fate: Fate,
}

/// What an answer was the first to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Packets acknowledged.
    pub packets: u32,
    /// One that was sent again had come the first time.
    pub spurious: bool,
}

/// See the module's page.
#[derive(Clone, Debug)]
pub struct Flight {
    /// Numbers that an answer tells of.
    told: u32,
    una: u32,
    next: u32,
    end: u32,
    /// By number, from `una` on.
    sent: VecDeque<Sent>,
    acknowledged: Window,
    turns: VecDeque<Turn>,
    /// Number of the oldest turn.
    first_turn: u32,
    overtaken: u32,
    flying: u32,
    /// To go again; those acknowledged meanwhile are passed over.
    lost: VecDeque<u32>,
    /// Paths that have lost a packet, until someone asks.
    paths: Vec<u16>,
}

impl Flight {
    /// Nothing sent; answers tell of so many packets from the first missing one on, so no
    /// more are sent before that one is acknowledged.
    pub fn new(told: u32) -> Self {
        Self {
            told,
            una: 0,
            next: 0,
            end: 0,
            sent: VecDeque::new(),
            acknowledged: Window::default(),
            turns: VecDeque::new(),
            first_turn: 0,
            overtaken: 0,
            flying: 0,
            lost: VecDeque::new(),
            paths: Vec::new(),
        }
    }

    /// There are so many more packets to send.
    pub fn offer(&mut self, packets: u32) {
        self.end += packets;
    }

    /// All before this one have been acknowledged.
    pub fn una(&self) -> u32 {
        self.una
    }

    /// Packets sent, and neither acknowledged nor lost.
    pub fn flying(&self) -> u32 {
        self.flying
    }

    /// Acknowledged packets that left after the oldest one under way.
    pub fn overtaken(&self) -> u32 {
        self.overtaken
    }

    /// The packet that goes next, with at most `window` under way: a lost one first.
    #[inline]
    pub fn next(&mut self, now: Ps, window: u32) -> Option<Pick> {
        if self.flying >= window {
            return None;
        }
        while let Some(psn) = self.lost.pop_front() {
            if self.record(psn).is_some_and(|sent| sent.fate == Fate::Lost) {
                return Some(self.send(now, psn));
            }
        }
        if self.next >= self.end || self.next - self.una >= self.told {
            return None;
        }
        let psn = self.next;
        self.next += 1;
        self.sent.push_back(Sent { fate: Fate::Lost, times: 0, path: 0, turn: 0 });
        Some(self.send(now, psn))
    }

    /// Sends the first packet that is not acknowledged once more, lost or not.
    pub fn probe(&mut self, now: Ps) -> Option<Pick> {
        let sent = *self.record(self.una)?;
        if sent.fate == Fate::Flying {
            self.turns[(sent.turn - self.first_turn) as usize].fate = Fate::Lost;
            self.flying -= 1;
            self.trim();
        }
        Some(self.send(now, self.una))
    }

    fn send(&mut self, now: Ps, psn: u32) -> Pick {
        let turn = self.first_turn + self.turns.len() as u32;
        self.turns.push_back(Turn { at: now, psn, fate: Fate::Flying });
        self.flying += 1;
        let sent = &mut self.sent[(psn - self.una) as usize];
        let again = sent.times > 0;
        *sent = Sent { fate: Fate::Flying, times: sent.times.saturating_add(1), turn, ..*sent };
        Pick { psn, again }
    }

    /// A packet takes this path.
    #[inline]
    pub fn took(&mut self, psn: u32, path: u16) {
        // It may have been acknowledged while it waited for its context.
        let Some(index) = psn.checked_sub(self.una) else { return };
        if let Some(sent) = self.sent.get_mut(index as usize) {
            sent.path = path;
        }
    }

    /// A path that has lost a packet.
    #[inline]
    pub fn take_lost_path(&mut self) -> Option<u16> {
        self.paths.pop()
    }

    fn record(&self, psn: u32) -> Option<&Sent> {
        self.sent.get(psn.checked_sub(self.una)? as usize)
    }

    /// Takes an answer in.
    #[inline]
    pub fn heard(&mut self, reply: &Reply) -> News {
        let Answer { expected, came, bits, .. } = reply.answer;
        if expected > self.next {
            return News::default();
        }
        let mut news = News { packets: 0, spurious: self.is_spurious(came, reply.sent_at) };
        for psn in self.una..expected {
            news.packets += self.acknowledge(psn);
        }
        // More than that may be known, from answers that overtook this one.
        let base = self.acknowledged.base();
        let known = self.acknowledged.ahead();
        for (word, bits) in shifted(bits, base - expected).into_iter().enumerate() {
            let mut new = bits & !known[word];
            while new != 0 {
                let psn = base + word as u32 * 64 + new.trailing_zeros();
                new &= new - 1;
                news.packets += self.acknowledge(psn);
            }
        }
        news.packets += self.acknowledge(came);
        while self.sent.front().is_some_and(|sent| sent.fate == Fate::Acknowledged) {
            self.sent.pop_front();
            self.una += 1;
        }
        self.trim();
        news
    }

    /// Whether an answer of this time is that of an earlier turn than the latest.
    fn is_spurious(&self, psn: u32, sent_at: Ps) -> bool {
        let Some(sent) = self.record(psn) else { return false };
        sent.fate == Fate::Flying
            && sent.times > 1
            && self.turns.get((sent.turn - self.first_turn) as usize).is_some_and(|turn| sent_at < turn.at)
    }

    /// Whether it is news, as a number.
    #[inline]
    fn acknowledge(&mut self, psn: u32) -> u32 {
        let Some(index) = psn.checked_sub(self.una) else { return 0 };
        let Some(sent) = self.sent.get_mut(index as usize) else { return 0 };
        if sent.fate == Fate::Acknowledged {
            return 0;
        }
        if sent.fate == Fate::Flying {
            self.turns[(sent.turn - self.first_turn) as usize].fate = Fate::Acknowledged;
            self.flying -= 1;
            self.overtaken += 1;
        }
        sent.fate = Fate::Acknowledged;
        self.acknowledged.set(psn);
        1
    }

    /// Forgets the turns in front of the oldest packet under way.
    fn trim(&mut self) {
        while let Some(turn) = self.turns.front().filter(|turn| turn.fate != Fate::Flying) {
            self.overtaken -= u32::from(turn.fate == Fate::Acknowledged);
            self.turns.pop_front();
            self.first_turn += 1;
        }
    }

    /// When the oldest packet under way left.
    #[inline]
    pub fn oldest(&self) -> Option<Ps> {
        self.turns.front().map(|turn| turn.at)
    }

    /// The oldest packet under way is lost.
    pub fn lose(&mut self) {
        let Some(turn) = self.turns.pop_front() else { return };
        self.first_turn += 1;
        self.flying -= 1;
        let sent = &mut self.sent[(turn.psn - self.una) as usize];
        sent.fate = Fate::Lost;
        self.paths.push(sent.path);
        self.lost.push_back(turn.psn);
        self.trim();
    }
}

/// Bits, from number `by` on.
fn shifted(bits: Bits, by: u32) -> Bits {
    if by == 0 {
        return bits;
    }
    let (words, by) = ((by / 64) as usize, by % 64);
    let at = |word: usize| bits.get(word).copied().unwrap_or(0);
    std::array::from_fn(|word| {
        let low = at(word + words) >> by;
        if by == 0 {
            low
        } else {
            low | at(word + words + 1) << (64 - by)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::came;
    use super::*;

    fn sent(flight: &mut Flight, now: Ps, window: u32) -> Vec<(u32, bool)> {
        std::iter::from_fn(|| flight.next(now, window)).map(|pick| (pick.psn, pick.again)).collect()
    }

    #[test]
    fn answers_free_what_they_tell_of_once() {
        let mut flight = Flight::new(256);
        flight.offer(100);
        assert_eq!(sent(&mut flight, 0, 10).len(), 10);
        assert_eq!(flight.heard(&came(2, &[4, 7], 7, 0)).packets, 4);
        assert_eq!((flight.una(), flight.flying(), flight.overtaken()), (2, 6, 2));
        assert_eq!(flight.heard(&came(2, &[4, 7], 7, 0)).packets, 0, "nothing new");
        assert_eq!(flight.heard(&came(1, &[2, 4], 2, 0)).packets, 1, "overtaken by the other");
        assert_eq!((flight.una(), flight.flying(), flight.overtaken()), (3, 5, 2));
        assert_eq!(flight.heard(&came(300, &[], 299, 0)).packets, 0, "of what was never sent");
        assert_eq!(sent(&mut flight, 0, 8), [(10, false), (11, false), (12, false)]);
        assert_eq!(flight.heard(&came(13, &[], 12, 0)).packets, 8);
        assert_eq!((flight.una(), flight.flying(), flight.oldest()), (13, 0, None));
    }

    #[test]
    fn what_is_lost_goes_again_before_all_else_and_in_its_turn_is_the_youngest() {
        let mut flight = Flight::new(256);
        flight.offer(100);
        for now in 0..4 {
            assert_eq!(sent(&mut flight, now, now as u32 + 1).len(), 1);
            flight.took(now as u32, 10 + now as u16);
        }
        flight.heard(&came(0, &[3], 3, 3));
        assert_eq!((flight.oldest(), flight.overtaken()), (Some(0), 1));
        flight.lose();
        flight.lose();
        assert_eq!((flight.take_lost_path(), flight.take_lost_path()), (Some(11), Some(10)));
        assert_eq!((flight.oldest(), flight.flying(), flight.overtaken()), (Some(2), 1, 1));
        flight.heard(&came(0, &[1, 3], 1, 1));
        assert_eq!(sent(&mut flight, 9, 3), [(0, true), (4, false)], "1 has come after all");
        flight.heard(&came(0, &[1, 2, 3], 2, 2));
        assert_eq!((flight.oldest(), flight.overtaken()), (Some(9), 0));
    }

    #[test]
    fn the_time_of_an_answer_tells_which_of_two_has_come() {
        let mut flight = Flight::new(256);
        flight.offer(2);
        assert_eq!(sent(&mut flight, 5, 2).len(), 2);
        flight.lose();
        flight.lose();
        assert_eq!(sent(&mut flight, 9, 2), [(0, true), (1, true)]);
        assert!(flight.heard(&came(1, &[], 0, 5)).spurious);
        assert!(!flight.heard(&came(2, &[], 1, 9)).spurious);
        assert_eq!(flight.flying(), 0);
    }

    #[test]
    fn a_probe_replaces_the_turn_of_what_it_repeats() {
        let mut flight = Flight::new(256);
        flight.offer(3);
        assert_eq!(sent(&mut flight, 5, 3).len(), 3);
        assert_eq!(flight.probe(20), Some(Pick { psn: 0, again: true }));
        assert_eq!(flight.flying(), 3);
        assert_eq!(flight.heard(&came(3, &[], 0, 20)).packets, 3);
        assert_eq!((flight.flying(), flight.oldest(), flight.overtaken()), (0, None, 0));
        assert_eq!(flight.probe(30), None);
    }

    #[test]
    fn no_more_goes_than_an_answer_can_tell_of() {
        let mut flight = Flight::new(256);
        flight.offer(1000);
        assert_eq!(sent(&mut flight, 0, 1000).len(), 256);
        let kept: Vec<u32> = (1..256).collect();
        assert_eq!(flight.heard(&came(0, &kept, 1, 0)).packets, 256 - 1);
        assert_eq!(sent(&mut flight, 0, 1000), []);
        flight.heard(&came(256, &[], 0, 0));
        assert_eq!(sent(&mut flight, 0, 1000).len(), 256);
    }
}
