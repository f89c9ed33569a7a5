//! Handshake plumbing: FIFOs, turns and gears that blocks are joined by.

mod commit_fifo;
mod fifo;
mod late_control;
mod late_fifo;
mod lowest;
mod pair_fifo;
mod round_robin;
mod slice_fifo;
mod split;
mod widen;
pub use commit_fifo::CommitFifo;
pub use fifo::Fifo;
pub use late_fifo::LateFifo;
pub use lowest::Lowest;
pub use pair_fifo::PairFifo;
pub use round_robin::RoundRobin;
pub use slice_fifo::SliceFifo;
pub use split::Split;
pub use widen::Widen;
