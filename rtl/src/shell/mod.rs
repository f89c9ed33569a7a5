//! What joins the NIC to the buses of a shell.

pub mod app_regs;
pub mod axi_bridge;
pub mod axi_merge;
pub mod axi_nic;
pub mod axi_read;
pub mod axi_write;
pub mod corundum_nic;
pub mod frame_join;
pub mod frame_tap;
pub mod geared_axi_nic;
pub mod line_ring;
pub mod narrow_axi_nic;
pub mod seg_read;
pub mod seg_write;
pub mod stat_feed;

/// Beats that a burst may have from a boundary on: 4 KiB of them, at most 256.
fn window(bytes: usize) -> u64 {
    (4096 / bytes as u64).min(256)
}
