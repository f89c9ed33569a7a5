//! The packet path in beats of 16 bytes, for streams of 64 and 128 bits.
//!
//! Each block has the ports and the contract of its wide sibling, but for the
//! beat (`types::NarrowBeat`) and what its page says.

mod icrc;
mod icrc_insert;
mod rx_heads;
mod rx_parse;
mod rx_payload;
mod tx_beats;
mod tx_build;
mod vlan_insert;
mod vlan_strip;

pub use icrc::NarrowIcrc;
pub use icrc_insert::NarrowIcrcInsert;
pub use rx_heads::NarrowRxHeads;
pub use rx_parse::{NarrowHeld, NarrowRxParse};
pub use rx_payload::{NarrowRxPayload, NarrowStoredBeat};
pub use tx_beats::NarrowTxBeats;
pub use tx_build::NarrowTxBuild;
pub use vlan_insert::NarrowVlanInsert;
pub use vlan_strip::NarrowVlanStrip;
