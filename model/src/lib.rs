//! The Tessera transport as plain, sans-io Rust: what whole NICs are judged by.
//!
//! Written from `docs/spec/README.md` alone. Time enters only as an argument
//! (ticks since the NIC was enabled), randomness only through the LFSR of the
//! specification, bytes only through [`Memory`]; nothing here does I/O.
//!
//! ```text
//!  post_send ─> sender ── slots ── retransmit_queue ─┐
//!                 ^                                  ├─> path_scheduler ─> poll_transmit
//!  handle_frame ─ rx_parse                           │
//!                 v                                  │
//!  post_recv ─> receiver ── lookup ── context ───────┘
//!                             bitmap, chunks, interval, grant, timer_wheel
//!                                └─> poll_write, poll_completion
//! ```
//!
//! The modules carry the names of the hardware's blocks, whose testbenches have
//! references of their own; [`scoreboard`] judges whole NICs by contract.

pub mod bitmap;
pub mod chunks;
pub mod context;
pub mod counters;
pub mod datagram;
pub mod feedback;
pub mod grant;
pub mod interval;
pub mod io;
pub mod lfsr;
pub mod lookup;
pub mod match_table;
pub mod nic;
pub mod path_scheduler;
pub mod queue;
pub mod receiver;
pub mod retransmit_queue;
pub mod rounds;
pub mod rx_parse;
pub mod scoreboard;
pub mod sender;
pub mod settings;
pub mod slots;
pub mod timer_wheel;
pub mod turns;

pub use io::{Bare, Memory, ReadError};
pub use nic::Nic;
pub use queue::{Completion, RecvEntry, RecvKind, SendEntry, Shape};
pub use settings::{Endpoint, Identity, MemoryKey, PathPolicy, Settings};

/// Time and intervals: ticks of 64 ns. The wire carries the low 32 bits.
pub type Ticks = u64;
