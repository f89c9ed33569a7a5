//! Spreading packets over paths.

mod destination_hash;
mod path_draw;
mod path_scheduler;
mod recycle_rings;

pub use destination_hash::DestinationHash;
pub use path_draw::PathDraw;
pub use path_scheduler::PathScheduler;
pub use recycle_rings::RecycleRings;
