//! Runs Tessera's Verilog under Verilator: clocks, co-simulation and a lossy multipath fabric
//!
//! | module | what it is |
//! |---|---|
//! | [`tools`] | fetches the pinned Verilator and Yosys on first use, or checks the one that was named |
//! | [`verilator`] | compiles Verilog to a library at run time, loads it, clocks any number of instances |
//! | [`exported`] | whole NICs as Verilog, exported once and kept |
//! | [`nic`] | one Verilated NIC with its host: registers, host memory, frames |
//! | [`fabric`] | several paths of different delay; loss, duplication, corruption, failures; captures |
//! | [`cluster`] | NICs on a fabric in lockstep, and the driver's device for each |
//! | [`device`] | what the driver sees of a simulated NIC |
//! | [`peers`] | one NIC among very many software peers |
//! | [`serve`] | NICs for programs in other processes, over a Unix socket or as PCI functions |
//! | [`ethernet`] | an end of the fabric to an outside Ethernet, by datagram socket |
//! | [`pci`] | the configuration space of a simulated NIC that is a PCI function |
//! | [`session`] | hosts with endpoints on a cluster: what demos, benchmarks and whole-NIC tests are made of |
//! | [`counterpart`] | go-back-N and selective repeat on the same fabric, to compare with |
//! | [`judged`] | a session beside the model's scoreboard: what soaks run on |
//! | [`coverage`] | adds up what testbenches reach, per module |
//! | [`mutate`] | breaks a design on purpose, to see whether its testbench notices |
//! | [`tb`] | what testbenches share: seeds, idle and back-pressure patterns, stream and AXI agents |

pub mod cluster;
pub mod corundum;
pub mod counterpart;
pub mod coverage;
pub mod device;
pub mod ethernet;
pub mod exported;
pub mod fabric;
pub mod judged;
pub mod mutate;
pub mod nic;
pub mod pci;
pub mod peers;
pub mod progress;
pub mod serve;
pub mod session;
pub mod tb;
pub mod tools;
pub mod verilator;
