//! The protocol explored: every order of events within bounds, on the real model.
//!
//! ```text
//!  Scenario ──> World (stateright's Model) ──> every State ──> a Rule broken, or none
//!                 │ nodes: tessera_model::Nic, a ledger of what hosts see
//!                 └ actions: deliver, double, lose, send, receive, reset, wait
//! ```
//!
//! What runs here is the sans-io code that judges the hardware, not a rewrite of the
//! protocol. [`scenario`] says what is explored and how far, [`ledger`] what must
//! hold, [`canonical`] when two states count as one. Scenarios with a mistake made on
//! purpose ([`scenario::Fault`]) show that the rules notice.
//!
//! Three things rest on chance or on reading, not on exploring. stateright knows a
//! state by 64 bits of its hash: of ten million different ones two meet with a
//! probability of some millionths, and one would go unseen. That the turns of the nodes
//! and early losses leave nothing out is argued in [`world`]. And the bounds are small:
//! what holds here holds of so few messages, losses and ticks.
//!
//! Liveness is a rule of states like the others: every path ends, for timers and
//! budgets do, and in its last state all must be over and back.

pub mod canonical;
pub mod frame;
pub mod ledger;
pub mod node;
pub mod run;
pub mod scenario;
pub mod sets;
pub mod trace;
pub mod world;

pub use ledger::Rule;
pub use run::{check, Outcome, Progress, Verdict};
pub use scenario::{Fault, Scenario};
pub use sets::{scenarios, seeded};
