//! Packets: from the MAC to verified words, from words to the MAC.

mod cells;
mod crc;
mod endpoint_keys;
mod icrc;
mod icrc_insert;
mod layout;
pub mod narrow;
mod rx_address;
mod rx_heads;
mod rx_judge;
mod rx_parse;
mod rx_payload;
mod rx_verdict;
mod tx_beats;
mod tx_build;
mod tx_head;
mod vlan_insert;
mod vlan_strip;

pub use cells::{Delay, KeepBytes, KeepCount, Rom, Rows, XorMatrix, XorRegister};
pub use endpoint_keys::{EndpointKeys, KeyWord};
pub use icrc::Icrc;
pub use icrc_insert::IcrcInsert;
pub use layout::{DataWord, FeedbackWord, FromWire, Ip4Word, Ip6Word, ToWire, TransportWord, WireWord};
pub use rx_address::{RxAddress, SenderAddress};
pub use rx_heads::{RxHeads, Start};
pub use rx_judge::RxJudge;
pub use rx_parse::RxParse;
pub use rx_payload::{RxPayload, StoredBeat};
pub use rx_verdict::{Kept, Verdict, Wrong};
pub use tx_beats::{Ticket, TxBeats};
pub use tx_build::TxBuild;
pub use tx_head::TxHead;
pub use vlan_insert::VlanInsert;
pub use vlan_strip::{Tag, VlanStrip};
