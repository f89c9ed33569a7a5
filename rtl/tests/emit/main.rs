//! The text of exported blocks, and the blocks that must not be exported.
//!
//! What the text computes is checked in `testbenches/tests/emit`.

mod blocks;
mod refusals;
mod text;
