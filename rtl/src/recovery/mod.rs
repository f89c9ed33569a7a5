//! What loss recovery remembers: which tiles are in place, when to ask, and
//! what was asked for.

mod bitmap;
mod feedback;
mod interval;
mod retransmit_queue;
mod rounds;
mod timer_place;
mod timer_wheel;
mod zero_scan;
pub use bitmap::Bitmap;
pub use feedback::{Feedback, FeedbackRequest};
pub use interval::{
    Aim, AimState, Expiry, Interval, IntervalAim, IntervalJob, IntervalNodes, IntervalState, IntervalWord,
    SourceEntry,
};
pub use retransmit_queue::RetransmitQueue;
pub use rounds::{RoundAnswer, RoundCount, Rounds};
pub use timer_place::TimerPlace;
pub use timer_wheel::{TimerHead, TimerNode, TimerPop, TimerWheel};
pub use zero_scan::ZeroScan;
