//! What joins the NIC to the buses of a shell.

pub mod axi_read;
pub mod axi_write;

/// Beats that a burst may have from a boundary on: 4 KiB of them, at most 256.
fn window(bytes: usize) -> u64 {
    (4096 / bytes as u64).min(256)
}
