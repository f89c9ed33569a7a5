//! What loss recovery remembers: which tiles are in place, and when to ask.

mod bitmap;
mod timer_wheel;
mod zero_scan;
pub use bitmap::Bitmap;
pub use timer_wheel::{TimerHead, TimerNode, TimerPop, TimerWheel};
pub use zero_scan::ZeroScan;
