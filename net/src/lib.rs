//! Networks of thousands of hosts, packet by packet.
//!
//! ```text
//!   traffic ──acts──> network ──packets──> hosts: transport
//!      ▲               events (wheel)         tessera: the model itself
//!      └────ends────── switches, links        and what it is compared with
//! ```
//!
//! Everything is drawn from one seed: the same run gives the same numbers. Time is
//! in picoseconds, so that a byte at any common rate takes a whole number of them.

pub mod case;
pub mod congestion;
pub mod counterpart;
pub mod fabric;
pub mod network;
pub mod raw;
pub mod speed;
pub mod stats;
pub mod tessera;
pub mod topology;
pub mod traffic;
pub mod transport;
pub mod wheel;

/// Time: picoseconds since the run began.
pub type Ps = u64;
