//! What Tessera's hardware and software agree on.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | the packets: header offsets, flags, parse and emit |
//! | [`icrc`] | the invariant CRC: its constants, a byte, a packet |
//! | [`regs`] | AXI4-Lite registers, doorbells, table words, counters |
//! | [`queue`] | send, receive and completion queue entries in host memory |
//! | [`corundum`] | the NIC as an application block of Corundum: BAR 2 |
//! | [`pci`] | vendor, device and BAR 0 of a NIC on PCI |
//! | [`params`] | named configurations and defaults, in bytes, clocks and ticks |
//! | [`parts`] | what a configuration can leave out, and the names of those that do |
//! | [`document`] | the texts of docs/registers.md and docs/wire.md, made from the constants |
//! | [`status`] | completion statuses and drop reasons, in code order |
//!
//! Nothing here allocates or does I/O, and a number that two sides share exists
//! in this crate and nowhere else.

#![no_std]

pub mod corundum;
pub mod document;
pub mod icrc;
pub mod params;
pub mod parts;
pub mod pci;
pub mod queue;
pub mod regs;
pub mod status;
pub mod wire;
