//! What can be wrong with a block that is to become Verilog.

use super::expr::Refusal;
use rust_hdl::core::check_error::CheckError;

/// Why a block was not exported.
///
/// Each variant names the instance path (`top.wheel.slots`) and the signal, so
/// the message alone is enough to find the line.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EmitError {
    /// rust-hdl's own checks refused the block.
    #[error("rust-hdl refuses {top}: {what}")]
    Check {
        /// Name given to the top module.
        top: String,
        /// The signals rust-hdl complains about.
        what: String,
    },
    /// The kernel reads or writes something that is not a port, a local, a
    /// constant, an enum label or a loop variable.
    #[error(
        "{path}: unknown name `{name}`; a value from outside the block \
         (const, const generic) must be a `Constant` field"
    )]
    UnknownName {
        /// Instance path of the block.
        path: String,
        /// The name as the kernel spells it.
        name: String,
    },
    /// An expression that cannot be printed with the meaning Rust gives it.
    #[error("{path}: in the assignment or condition of `{signal}`: {refusal}")]
    Expression {
        /// Instance path of the block.
        path: String,
        /// Signal being assigned, or the statement it belongs to.
        signal: String,
        /// What is wrong with it.
        refusal: Refusal,
    },
    /// A construct outside the supported kernel language.
    #[error("{path}: {construct} is not supported in a kernel: {remedy}")]
    Unsupported {
        /// Instance path of the block.
        path: String,
        /// The construct.
        construct: String,
        /// What to write instead.
        remedy: String,
    },
    /// A signal keeps its old value on some path through the kernel.
    #[error("{path}: latch: `{signal}` is not assigned on every path; give it a default before the `if` or `match`")]
    Latch {
        /// Instance path of the block.
        path: String,
        /// The signal.
        signal: String,
    },
    /// A signal is read before the kernel has given it a value.
    #[error("{path}: `{signal}` is read before it is assigned; rust-hdl would hand out a stale value")]
    ReadBeforeAssign {
        /// Instance path of the block.
        path: String,
        /// The signal.
        signal: String,
    },
    /// An instance input is read and then assigned again in one group of
    /// statements: rust-hdl reads the settled value, Verilog the present one.
    #[error("{path}: instance input `{signal}` is read before its last assignment; land the value in a `Signal<Local, _>` and read that")]
    UnsettledRead {
        /// Instance path of the block.
        path: String,
        /// The signal.
        signal: String,
    },
    /// Nothing drives a signal that needs a driver.
    #[error("{path}: `{signal}` is never assigned")]
    Undriven {
        /// Instance path of the block.
        path: String,
        /// The signal.
        signal: String,
    },
    /// The kernel assigns something it does not own.
    #[error("{path}: `{signal}` is {what} and cannot be assigned here")]
    NotAssignable {
        /// Instance path of the block.
        path: String,
        /// The signal.
        signal: String,
        /// What it is.
        what: &'static str,
    },
    /// A name that Verilog or SystemVerilog keeps for itself, or that the
    /// front end garbles.
    #[error("{path}: `{name}` cannot be used as a name: {why}")]
    BadName {
        /// Instance path of the block.
        path: String,
        /// The name.
        name: String,
        /// The reason.
        why: &'static str,
    },
    /// Two things would get the same Verilog name.
    #[error("{path}: two ports are both called `{name}` in Verilog")]
    NameClash {
        /// Instance path of the block.
        path: String,
        /// The name.
        name: String,
    },
    /// A port or signal without bits.
    #[error("{path}: `{signal}` has no bits")]
    NoBits {
        /// Instance path of the block.
        path: String,
        /// The signal.
        signal: String,
    },
    /// Hand-written text of a leaf cell that does not fit its ports.
    #[error("{path}: custom Verilog text: {why}")]
    Custom {
        /// Instance path of the leaf.
        path: String,
        /// What is wrong with the text.
        why: String,
    },
}

impl EmitError {
    pub(super) fn from_check(top: &str, error: CheckError) -> Self {
        let (kind, mut names): (_, Vec<_>) = match error {
            CheckError::OpenSignal(open) => ("not connected", open.into_values().collect()),
            CheckError::LogicLoops(list) => ("read before assigned", list),
            CheckError::WritesToInputs(list) => ("input assigned inside its block", list),
        };
        names.sort_by(|a, b| (&a.path, &a.name).cmp(&(&b.path, &b.name)));
        let names: Vec<String> =
            names.into_iter().map(|n| format!("{}.{}", n.path, n.name).replace('$', ".")).collect();
        Self::Check { top: top.to_owned(), what: format!("{kind}: {}", names.join(", ")) }
    }
}
