//! A whole NIC of sizes that run out: what several tests put under pressure.

use std::sync::OnceLock;

use tessera_abi::params::{Config, NIC512};
use tessera_sim::verilator::{BuildOptions, Design, Model};

/// More messages of one sender than places for them at a receiver: the name of a
/// message is its sender's slot, so a slot used again takes its tombstone's place.
pub const CONFIG: &Config = &Config {
    name: "pressed",
    tx_slots_log2: 6,
    rx_contexts_log2: 5,
    bitmap_blocks_log2: 6,
    table_sets_log2: 5,
    tombstones: 40,
    endpoints_log2: 2,
    cqs_log2: 2,
    mrs_log2: 5,
    tagged_log2: 4,
    ..NIC512
};

/// Its Verilog under Verilator, built once.
pub fn model() -> &'static Model {
    static MODEL: OnceLock<Model> = OnceLock::new();
    MODEL.get_or_init(|| {
        let export = tessera_sim::exported::nic(CONFIG).unwrap_or_else(|e| panic!("{e}"));
        let options = BuildOptions::hurried();
        Model::build(&Design::from(&export), &options).unwrap_or_else(|e| panic!("{e}"))
    })
}
