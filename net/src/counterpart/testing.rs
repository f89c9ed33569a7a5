//! Packets and answers for tests of rules.

use super::window::Bits;
use super::{Answer, Data, Recovery, Reply};
use crate::Ps;

/// All before `expected` have come.
pub fn ack(expected: u32) -> Reply {
    let answer = Answer { expected, came: expected.saturating_sub(1), ..Answer::default() };
    Reply { process: 0, answer, path: 0, sent_at: 0, ce: false }
}

/// `expected` is missing and `came` has come.
pub fn nak(expected: u32, came: u32) -> Reply {
    let mut reply = ack(expected);
    reply.answer = Answer { nak: true, came, ..reply.answer };
    reply
}

/// Packet `psn` of a long message.
pub fn data(psn: u32, ask: bool) -> Data {
    Data { process: 0, psn, message: 0, index: psn, packets: 1 << 20, ask, path: 0, sent_at: 0 }
}

/// All before `expected` have come and these besides; packet `psn`, which left at
/// `sent_at`, drew it.
pub fn came(expected: u32, besides: &[u32], psn: u32, sent_at: Ps) -> Reply {
    let mut bits = Bits::default();
    for psn in besides {
        let at = (psn - expected) as usize;
        bits[at / 64] |= 1 << (at % 64);
    }
    let answer = Answer { expected, came: psn, bits, nak: !besides.is_empty() };
    Reply { process: 0, answer, path: 0, sent_at, ce: false }
}

/// What it sends now, and whether again.
pub fn sent(recovery: &mut impl Recovery, now: Ps, window: u32) -> Vec<(u32, bool)> {
    std::iter::from_fn(|| recovery.next(now, window)).map(|pick| (pick.psn, pick.again)).collect()
}
