//! The model's hosts on two networks: ours, and one that ns-3 simulates.
//!
//! ```text
//!             cases: plan (shape, rates, messages, losses)
//!                    │                      │ as JSON
//!          tessera_net::Network        main.cc: ns-3's devices, channels, queues, events
//!                    │                      │ abi (C)
//!                    └──── host: Tessera, or Raw ────┘
//!                    │                      │
//!                    └── compare: completion times, message by message ──┘
//! ```
//!
//! Shared by both: what a host does ([`tessera_net::transport::Transport`]), the
//! wiring, and which way a switch chooses for a flow label. Independent: serialisation,
//! links, queues, marks, when a host is asked for a packet or woken, and the order of
//! events.
//!
//! This crate contains nothing of ns-3, which is GPL-2.0-only. The program that
//! contains both is made on the user's machine and is not passed on.

pub mod abi;
pub mod cases;
pub mod compare;
pub mod host;
pub mod plan;
pub mod tool;
