//! Handshake plumbing: FIFOs that blocks are joined by.

mod fifo;
pub use fifo::Fifo;
