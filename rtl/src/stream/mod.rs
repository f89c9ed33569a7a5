//! Handshake plumbing: FIFOs and merges that blocks are joined by.

mod commit_fifo;
mod fifo;
mod merge;
pub use commit_fifo::CommitFifo;
pub use fifo::Fifo;
pub use merge::Merge;
