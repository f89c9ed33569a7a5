//! A receiver that tells what has come by a bitmap.
//!
//! ```text
//!   every few packets, a while after one, at once when asked or for one that came twice:
//!     all below `expected`, and which of those from there on, in a bitmap of 256 or 512
//! ```
//!
//! Packets come in any order and their messages end in any order.

use super::window::{Bits, Window, SPAN};
use super::{Answer, Data, OptionsError, Responder, Taken};
use crate::Ps;

/// Packets per answer, and how long one is held back: what the counterparts use.
pub const EVERY: u32 = 4;
/// See [`EVERY`].
pub const DELAY: Ps = 2_000_000;

/// Bits of the bitmap, and so how many packets are sent at most from the first one that is
/// missing on, for a bandwidth-delay product of so many: 256 as long as what is sent until
/// a loss is made good, two and a quarter products, fits; 512 beyond that.
///
/// # Errors
/// If one and a half do not fit 512.
pub fn bits(product: f64) -> Result<u32, OptionsError> {
    match product {
        _ if product * 2.25 <= 256.0 => Ok(256),
        _ if product * 1.5 <= SPAN as f64 => Ok(SPAN),
        _ => Err(OptionsError::Window((product * 1.5) as u64)),
    }
}

/// Bytes of an answer: an AETH, a time, which packet drew it, and the bitmap.
pub fn bytes(bits: u32) -> u32 {
    4 + 4 + 4 + bits / 8
}

/// See the module's page.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    kept: Window,
    every: u32,
    delay: Ps,
    unanswered: u32,
    /// Came last.
    last: u32,
    due: Option<Ps>,
}

impl Told {
    /// Answers every so many packets, and what is left after such a delay.
    pub fn new(every: u32, delay: Ps) -> Self {
        Self { kept: Window::default(), every, delay, unanswered: 0, last: 0, due: None }
    }

    #[inline]
    fn answer(&mut self) -> Answer {
        self.unanswered = 0;
        self.due = None;
        let expected = self.kept.base();
        let nak = self.kept.end() > expected;
        let bits = if nak { self.kept.ahead() } else { Bits::default() };
        Answer { expected, nak, came: self.last, bits }
    }
}

impl Responder for Told {
    const IN_ORDER: bool = false;

    #[inline]
    fn arrived(&mut self, now: Ps, data: &Data) -> Taken {
        let fresh = self.kept.set(data.psn);
        self.last = data.psn;
        self.unanswered += 1;
        if data.ask || !fresh || self.unanswered >= self.every {
            return Taken { fresh, answer: Some(self.answer()) };
        }
        self.due.get_or_insert(now + self.delay);
        Taken { fresh, answer: None }
    }

    fn expected(&self) -> u32 {
        self.kept.base()
    }

    #[inline]
    fn deadline(&self) -> Option<Ps> {
        self.due
    }

    fn expire(&mut self, _now: Ps) -> Option<Answer> {
        Some(self.answer())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::data;
    use super::*;

    #[test]
    fn answers_come_every_few_packets_and_after_a_while() {
        let mut told = Told::new(3, 100);
        assert_eq!(told.arrived(5, &data(0, false)), Taken { fresh: true, answer: None });
        assert_eq!(told.arrived(6, &data(2, false)), Taken { fresh: true, answer: None });
        assert_eq!(told.deadline(), Some(105), "since the first of them");
        let answer = told.arrived(7, &data(4, false)).answer.expect("the third");
        assert_eq!((answer.expected, answer.nak, answer.came), (1, true, 4));
        assert_eq!(answer.bits[..2], [0b1010, 0]);
        assert_eq!(told.deadline(), None);
        told.arrived(200, &data(1, false));
        assert_eq!(told.deadline(), Some(300));
        assert_eq!(told.expire(300).map(|answer| (answer.expected, answer.came)), Some((3, 1)));
        assert_eq!(told.deadline(), None);
    }

    #[test]
    fn bitmaps_suit_the_network() {
        assert_eq!((bits(80.0), bits(120.0)), (Ok(256), Ok(512)));
        assert_eq!(bits(400.0), Err(OptionsError::Window(600)));
        assert_eq!(bytes(256), 44);
    }

    #[test]
    fn who_asks_or_comes_twice_is_answered_at_once() {
        let mut told = Told::new(100, 100);
        assert!(told.arrived(0, &data(0, true)).answer.is_some());
        assert!(told.arrived(0, &data(1, false)).answer.is_none());
        let twice = told.arrived(0, &data(1, false));
        assert!(!twice.fresh && twice.answer.is_some());
    }
}
