//! Bytes of state per message, from the memories that the Verilog declares.
//!
//! The configuration is exported again with half the messages: what shrinks is
//! what grows with messages, and by how much. Nothing is named by hand but the
//! side it is on.

use tessera_abi::params::Config;
use tessera_rtl::memories::{memories, Memory};

use crate::model;
use crate::output::Failure;

/// Bytes per sending message, per receiving one, per place of the lookup tables.
pub struct State {
    pub slot: f64,
    pub context: f64,
    pub tombstone: f64,
    /// Of the whole NIC.
    pub all: f64,
}

fn declared(config: Config) -> Result<Vec<Memory>, Failure> {
    // Exports are few and small beside a model; they live as long as the command.
    let export = model::export(Box::leak(Box::new(config)))?;
    Ok(memories(&export.verilog, &export.top))
}

/// Bits of the memories whose path `counts`.
fn bits(of: &[Memory], counts: impl Fn(&Memory) -> bool) -> f64 {
    of.iter().filter(|memory| counts(memory)).map(|memory| memory.bits() as f64).sum()
}

/// Measures a configuration.
pub fn measure(config: &Config) -> Result<State, Failure> {
    let whole = declared(*config)?;
    let half = declared(Config {
        tx_slots_log2: config.tx_slots_log2 - 1,
        rx_contexts_log2: config.rx_contexts_log2 - 1,
        ..*config
    })?;
    let fewer_sets = declared(Config { table_sets_log2: config.table_sets_log2 - 1, ..*config })?;
    let shrinks =
        |counts: &dyn Fn(&Memory) -> bool, less: &[Memory]| (bits(&whole, counts) - bits(less, counts)) / 8.0;
    let is_sender = |memory: &Memory| memory.is_in("sender");
    // Two tables of sets of four ways; half of them are gone.
    let places = f64::from(1u32 << config.table_sets_log2) * 4.0;
    let halved = |log2: usize| f64::from(1u32 << (log2 - 1));
    Ok(State {
        slot: shrinks(&is_sender, &half) / halved(config.tx_slots_log2),
        context: shrinks(&|memory| !is_sender(memory), &half) / halved(config.rx_contexts_log2),
        tombstone: shrinks(&|_| true, &fewer_sets) / places,
        all: bits(&whole, |_| true) / 8.0,
    })
}
