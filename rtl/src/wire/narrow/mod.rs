//! The packet path in beats of 16 bytes, for streams of 64 and 128 bits.
//!
//! Each block has the ports and the contract of its wide sibling, but for the
//! beat (`types::NarrowBeat`) and what its page says.

mod icrc;
mod rx_heads;
mod rx_parse;
mod rx_payload;
mod vlan_strip;

pub use icrc::NarrowIcrc;
pub use rx_heads::NarrowRxHeads;
pub use rx_parse::{NarrowHeld, NarrowRxParse};
pub use rx_payload::{NarrowRxPayload, NarrowStoredBeat};
pub use vlan_strip::NarrowVlanStrip;
