//! The one door through which rust-hdl enters the project: blocks import this
//! and nothing else, so that the frozen front end stays confined.

pub use crate::leaf::{ByteDff, ByteRam, Dff, ForwardRam, LutRam, SdpRam, SliceRam};
pub use rust_hdl::prelude::*;
