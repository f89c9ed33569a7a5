//! Spreading packets over paths.

mod path_scheduler;
pub use path_scheduler::PathScheduler;
