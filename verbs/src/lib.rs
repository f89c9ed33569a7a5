//! Tessera NICs for programs that speak ibverbs.
//!
//! ```text
//!  unmodified program ── ibv_* ──> this library (LD_PRELOAD) ── tessera-driver ──> device
//! ```
//!
//! A program that is started with `LD_PRELOAD=libtessera_verbs.so` and
//! `TESSERA_DEVICE=socket:PATH?nic=any` finds one device, `tessera0`, with one port. It
//! speaks plain UD as any RoCEv2 NIC does, and RC over reliable messages of its own.
//! `cargo tessera run` sets both and starts the simulator.
//!
//! What the device has: protection domains, memory regions, completion queues with
//! channels, UD queue pairs (an [`Endpoint`](tessera_driver::Endpoint) each), RC queue pairs
//! (one for all of a domain), shared receive queues, address handles. What it has not is
//! refused with the error number that libibverbs gives for a device that cannot: UC and raw
//! queue pairs, multicast, memory windows.
//!
//! Polling an empty queue lets device time run: a simulated NIC gets on while programs
//! wait for it. Requests with one buffer are read and written where they are; with several,
//! or inline, they go through a buffer of the queue pair's.
//!
//! The program's `fork` is not followed: a child that opens the device gets a NIC of its own.

// What is exported is libibverbs' own, described there.
#![allow(missing_docs, clippy::missing_safety_doc)]

mod device;
mod exports;
pub mod ffi;
mod memory;
mod nic;
mod pair;
mod paths;
mod queue;
mod rc;
mod receives;
mod slots;
