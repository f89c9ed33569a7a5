//! Packets: from the MAC to verified words, from words to the MAC.

mod cells;
mod crc;
mod endpoint_keys;
mod icrc;
mod icrc_insert;
mod layout;
mod rx_judge;
mod rx_parse;
mod tx_beats;
mod tx_build;

pub use cells::{Delay, KeepBytes, KeepCount, Rom, Rows, XorMatrix, XorRegister};
pub use endpoint_keys::{EndpointKeys, KeyWord};
pub use icrc::Icrc;
pub use icrc_insert::IcrcInsert;
pub use layout::{DataWord, FeedbackWord, FromWire, RouteWord, ToWire, WireWord};
pub use rx_judge::{Kept, RxJudge, Verdict, Wrong};
pub use rx_parse::{RxParse, StoredBeat};
pub use tx_beats::{Ticket, TxBeats};
pub use tx_build::TxBuild;
