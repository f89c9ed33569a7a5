//! `tx::Sender` (slots, retransmit queue, timer wheel) against the sender's
//! rules, one test per rule, then against a receiver behind a bad network.

mod backstop;
mod bench;
mod ends;
mod feedback;
mod network;
mod paths;
mod recovery;
mod sending;
mod turns;
mod walks;
