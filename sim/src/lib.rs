//! Runs Tessera's Verilog under Verilator: clocks, co-simulation and a lossy multipath fabric
//!
//! | module | what it is |
//! |---|---|
//! | [`tools`] | fetches the pinned Verilator and Yosys on first use, or checks the one that was named |
//! | [`verilator`] | compiles Verilog to a library at run time, loads it, clocks any number of instances |
//! | [`tb`] | what testbenches share: seeds, idle and back-pressure patterns, stream and AXI agents |

pub mod progress;
pub mod tb;
pub mod tools;
pub mod verilator;
