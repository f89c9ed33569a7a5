//! The host side: registers, rings, keys and completions.
//!
//! | file | holds |
//! |---|---|
//! | [`registers`] | AXI4-Lite, settings, time, table writes, doorbells, counters |
//! | [`sq_fetch`] | send entries -> requests |
//! | [`rq_fetch`] | receive entries, prefetched for `rx/lookup` |
//! | [`ctrl_read_mux`] | the two above onto one DMA port |
//! | [`event_queue`] | events of several sources under one counter |
//! | [`reclaim_marks`], [`mark_count`] | what is on its way when an endpoint goes |
//! | [`send_tally`] | send entries in the NIC, by endpoint |
//! | [`cq_writer`] | completions -> host memory |
//! | [`ctrl_write_mux`] | the above and chunk areas onto one DMA port |
//! | [`ring_reader`], [`work_queue`] | rings of many endpoints read in turn; used by both fetchers |
//! | [`soft_reset`], [`dma_gate`] | the core reset while its neighbours are not |
//! | [`key_check`] | key, rights and bounds of a buffer; used by both fetchers |

pub mod byte_order;
pub mod cleared_ram;
pub mod cq_writer;
pub mod ctrl_read_mux;
pub mod ctrl_write_mux;
pub mod dma_gate;
pub mod event_queue;
pub mod interrupts;
pub mod key_check;
pub mod mark_count;
pub mod reclaim_marks;
pub mod registers;
pub mod ring_reader;
pub mod rq_fetch;
pub mod send_tally;
pub mod soft_reset;
pub mod sq_fetch;
pub mod work_queue;

use rust_hdl::prelude::{Bits, Constant};

/// Position of a table field, for kernels: they cannot name constants.
fn lsb(field: (usize, usize)) -> Constant<Bits<9>> {
    Constant::new((field.0 as u64).into())
}

/// Bit position of a byte offset inside the 64-byte beat that holds it.
fn bit_of(byte: usize) -> Constant<Bits<9>> {
    Constant::new((8 * (byte % 64) as u64).into())
}
