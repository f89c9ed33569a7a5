//! Handshake plumbing: FIFOs that blocks are joined by.

mod commit_fifo;
mod fifo;
pub use commit_fifo::CommitFifo;
pub use fifo::Fifo;
