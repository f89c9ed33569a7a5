//! Kernels in parts: one block whose `update` is too long for one file.
//!
//! `#[hdl_gen]` makes of an `update` what rust-hdl asks of a block. It does so in any
//! `impl`, so a part is an `impl Part<Name> for Block` in a file of its own, and the
//! kernel is its parts one behind the other: the Verilog is that of one long `update`,
//! to the byte. A part is no block, has no ports and is seen by nobody else.
//!
//! ```text
//! pub(super) struct Wires;                       kernel_of_parts!(Context: Wires, States, Begins);
//! impl Part<Wires> for Context {
//!     #[hdl_gen]
//!     fn update(&mut self) { .. }
//! }
//! ```

use rust_hdl::prelude::Verilog;

/// A part of a block's kernel, by name; `#[hdl_gen]` on `update` writes the other two.
pub trait Part<Name> {
    /// As `Logic::update`, for these statements.
    fn update(&mut self);
    /// Claims what they drive.
    fn connect(&mut self);
    /// The statements.
    fn hdl(&self) -> Verilog;
}

/// The statements of parts, in their order.
pub fn joined(parts: impl IntoIterator<Item = Verilog>) -> Verilog {
    let mut all = Vec::new();
    for part in parts {
        match part {
            Verilog::Combinatorial(mut statements) => all.append(&mut statements),
            // Nothing else comes of `#[hdl_gen]`; the exporter refuses a block that has it.
            other => return other,
        }
    }
    Verilog::Combinatorial(all)
}

/// The kernel of a block: its parts, in this order.
#[macro_export]
macro_rules! kernel_of_parts {
    ($block:ty: $($part:ty),+ $(,)?) => {
        impl $crate::prelude::Logic for $block {
            fn update(&mut self) {
                $(<$block as $crate::parts::Part<$part>>::update(self);)+
            }

            fn connect(&mut self) {
                $(<$block as $crate::parts::Part<$part>>::connect(self);)+
            }

            fn hdl(&self) -> $crate::prelude::Verilog {
                $crate::parts::joined([$(<$block as $crate::parts::Part<$part>>::hdl(self)),+])
            }
        }
    };
}
