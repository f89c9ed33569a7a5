//! The whole NIC: core and path wired together, nothing decided here.
//!
//! ```text
//!  s_axil, irq, dma_ctrl ──────── core ─ registers, rings, lookup, contexts, sender
//!                                 │  ^
//!                           words v  │ words, pulses
//!  s_axis, m_axis, dma_data ───── path ─ parser, placement, payload, builder
//! ```
//!
//! Here are the ports; [`Core`] and [`WidePath`] wire the blocks, `wiring` joins the two.
//! [`NarrowNic`] has the same core and a narrower path, [`GearedNic`] gears around all of this.
//!
//! Contract: every output depends on registers only, so a board may register
//! nothing at its edge. `rst` is synchronous, active high, at least two clocks;
//! STATUS.ready rises when every table is cleared. All blocks but `registers`,
//! `soft_reset` and the gates of the DMA ports are reset by `soft_reset` alone.
//!
//! Verified by `testbenches/tests/nic.rs`.

mod core;
mod geared;
mod narrow;
mod narrow_path;
mod wide_path;
mod wiring;

pub use self::core::{Core, EventMap, RxEvents, TxEvents};
pub use geared::GearedNic;
pub use narrow::NarrowNic;
pub use narrow_path::NarrowPath;
pub use wide_path::WidePath;

use tessera_abi::params::Config;

use crate::prelude::*;

/// Comments of the ports in the exported file.
pub const PORT_DOCS: &[(&str, &str)] = &[
    ("clk", "The only clock."),
    ("rst", "Synchronous, active high."),
    ("s_axis_tdata", "Frames from the MAC: Ethernet header to ICRC, without FCS."),
    ("s_axis_tkeep", "Contiguous from bit 0; all ones but on the last beat."),
    ("s_axis_tready", "Always high: frames without room are dropped whole and counted."),
    ("s_axis_tuser", "With tlast: the MAC found the frame bad."),
    ("m_axis_tdata", "Frames to the MAC, which adds the FCS."),
    ("s_axil_awaddr", "Registers: docs/registers.md."),
    ("dma_ctrl_read_desc_valid", "Host reads, rings: data comes back in the order of descriptors."),
    ("dma_ctrl_read_desc_address", "Byte address."),
    ("dma_ctrl_read_desc_length", "Bytes, 1..=4096."),
    ("dma_ctrl_read_data_tdata", "Byte 0 of the first beat is the byte at the address."),
    ("dma_ctrl_read_status_valid", "One per descriptor, in order, with or after its last beat."),
    ("dma_ctrl_read_status_error", "The data came all the same and means nothing."),
    ("dma_ctrl_write_desc_valid", "Host writes, rings: data follows in the order of descriptors."),
    ("dma_ctrl_write_desc_address", "Byte address."),
    ("dma_ctrl_write_desc_length", "Bytes, 1..=4096."),
    ("dma_ctrl_write_data_tdata", "Byte 0 of the first beat goes to the address."),
    ("dma_ctrl_write_status_valid", "The bytes are visible to the host; any order."),
    ("dma_data_read_desc_valid", "Host reads, payload: data comes back in the order of descriptors."),
    ("dma_data_read_desc_address", "Byte address."),
    ("dma_data_read_desc_length", "Bytes, 1..=4096."),
    ("dma_data_read_data_tdata", "Byte 0 of the first beat is the byte at the address."),
    ("dma_data_read_status_valid", "One per descriptor, in order, with or after its last beat."),
    ("dma_data_read_status_error", "The data came all the same and means nothing."),
    ("dma_data_write_desc_valid", "Host writes, payload: data follows in the order of descriptors."),
    ("dma_data_write_desc_address", "Byte address."),
    ("dma_data_write_desc_length", "Bytes, 1..=4136."),
    ("dma_data_write_data_tdata", "Byte 0 of the first beat goes to the address."),
    ("dma_data_write_status_valid", "The bytes are visible to the host; any order."),
    ("m_axi_awvalid", "Host memory, AXI4: ID 0 rings, ID 1 payload; no order between them."),
    ("m_axi_awaddr", "Byte address, of a whole beat; no burst crosses 4 KiB."),
    ("m_axi_bvalid", "The bytes are visible to the host."),
    ("m_axi_rvalid", "In the order of an ID; beats of the two may mix."),
    ("m_axi_rlast", "Not needed."),
];

/// One configuration of the NIC, its streams 512 bits wide.
#[derive(LogicBlock)]
pub struct TesseraNic {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub s_axis_tdata: Signal<In, Bits<512>>,
    pub s_axis_tkeep: Signal<In, Bits<64>>,
    pub s_axis_tvalid: Signal<In, Bit>,
    pub s_axis_tready: Signal<Out, Bit>,
    pub s_axis_tlast: Signal<In, Bit>,
    pub s_axis_tuser: Signal<In, Bit>,
    pub m_axis_tdata: Signal<Out, Bits<512>>,
    pub m_axis_tkeep: Signal<Out, Bits<64>>,
    pub m_axis_tvalid: Signal<Out, Bit>,
    pub m_axis_tready: Signal<In, Bit>,
    pub m_axis_tlast: Signal<Out, Bit>,
    pub s_axil_awaddr: Signal<In, Bits<21>>,
    pub s_axil_awvalid: Signal<In, Bit>,
    pub s_axil_awready: Signal<Out, Bit>,
    pub s_axil_wdata: Signal<In, Bits<32>>,
    pub s_axil_wstrb: Signal<In, Bits<4>>,
    pub s_axil_wvalid: Signal<In, Bit>,
    pub s_axil_wready: Signal<Out, Bit>,
    pub s_axil_bresp: Signal<Out, Bits<2>>,
    pub s_axil_bvalid: Signal<Out, Bit>,
    pub s_axil_bready: Signal<In, Bit>,
    pub s_axil_araddr: Signal<In, Bits<21>>,
    pub s_axil_arvalid: Signal<In, Bit>,
    pub s_axil_arready: Signal<Out, Bit>,
    pub s_axil_rdata: Signal<Out, Bits<32>>,
    pub s_axil_rresp: Signal<Out, Bits<2>>,
    pub s_axil_rvalid: Signal<Out, Bit>,
    pub s_axil_rready: Signal<In, Bit>,
    /// Level: the host has completions to look for.
    pub irq: Signal<Out, Bit>,
    pub dma_ctrl_read_desc_valid: Signal<Out, Bit>,
    pub dma_ctrl_read_desc_ready: Signal<In, Bit>,
    pub dma_ctrl_read_desc_address: Signal<Out, Bits<64>>,
    pub dma_ctrl_read_desc_length: Signal<Out, Bits<13>>,
    pub dma_ctrl_read_desc_tag: Signal<Out, Bits<8>>,
    pub dma_ctrl_read_data_valid: Signal<In, Bit>,
    pub dma_ctrl_read_data_ready: Signal<Out, Bit>,
    pub dma_ctrl_read_data_tdata: Signal<In, Bits<512>>,
    pub dma_ctrl_read_data_tlast: Signal<In, Bit>,
    pub dma_ctrl_read_status_valid: Signal<In, Bit>,
    pub dma_ctrl_read_status_tag: Signal<In, Bits<8>>,
    pub dma_ctrl_read_status_error: Signal<In, Bit>,
    pub dma_ctrl_write_desc_valid: Signal<Out, Bit>,
    pub dma_ctrl_write_desc_ready: Signal<In, Bit>,
    pub dma_ctrl_write_desc_address: Signal<Out, Bits<64>>,
    pub dma_ctrl_write_desc_length: Signal<Out, Bits<13>>,
    pub dma_ctrl_write_desc_tag: Signal<Out, Bits<8>>,
    pub dma_ctrl_write_data_valid: Signal<Out, Bit>,
    pub dma_ctrl_write_data_ready: Signal<In, Bit>,
    pub dma_ctrl_write_data_tdata: Signal<Out, Bits<512>>,
    pub dma_ctrl_write_data_tkeep: Signal<Out, Bits<64>>,
    pub dma_ctrl_write_data_tlast: Signal<Out, Bit>,
    pub dma_ctrl_write_status_valid: Signal<In, Bit>,
    pub dma_ctrl_write_status_tag: Signal<In, Bits<8>>,
    pub dma_ctrl_write_status_error: Signal<In, Bit>,
    pub dma_data_read_desc_valid: Signal<Out, Bit>,
    pub dma_data_read_desc_ready: Signal<In, Bit>,
    pub dma_data_read_desc_address: Signal<Out, Bits<64>>,
    pub dma_data_read_desc_length: Signal<Out, Bits<13>>,
    pub dma_data_read_desc_tag: Signal<Out, Bits<8>>,
    pub dma_data_read_data_valid: Signal<In, Bit>,
    pub dma_data_read_data_ready: Signal<Out, Bit>,
    pub dma_data_read_data_tdata: Signal<In, Bits<512>>,
    pub dma_data_read_data_tlast: Signal<In, Bit>,
    pub dma_data_read_status_valid: Signal<In, Bit>,
    pub dma_data_read_status_tag: Signal<In, Bits<8>>,
    pub dma_data_read_status_error: Signal<In, Bit>,
    pub dma_data_write_desc_valid: Signal<Out, Bit>,
    pub dma_data_write_desc_ready: Signal<In, Bit>,
    pub dma_data_write_desc_address: Signal<Out, Bits<64>>,
    pub dma_data_write_desc_length: Signal<Out, Bits<13>>,
    pub dma_data_write_desc_tag: Signal<Out, Bits<8>>,
    pub dma_data_write_data_valid: Signal<Out, Bit>,
    pub dma_data_write_data_ready: Signal<In, Bit>,
    pub dma_data_write_data_tdata: Signal<Out, Bits<512>>,
    pub dma_data_write_data_tkeep: Signal<Out, Bits<64>>,
    pub dma_data_write_data_tlast: Signal<Out, Bit>,
    pub dma_data_write_status_valid: Signal<In, Bit>,
    pub dma_data_write_status_tag: Signal<In, Bits<8>>,
    pub dma_data_write_status_error: Signal<In, Bit>,
    core: Core,
    path: WidePath,
}

impl TesseraNic {
    /// The NIC of a configuration. Large: make it inside
    /// [`with_big_stack`](crate::emit::with_big_stack).
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            s_axis_tdata: Default::default(),
            s_axis_tkeep: Default::default(),
            s_axis_tvalid: Default::default(),
            s_axis_tready: Default::default(),
            s_axis_tlast: Default::default(),
            s_axis_tuser: Default::default(),
            m_axis_tdata: Default::default(),
            m_axis_tkeep: Default::default(),
            m_axis_tvalid: Default::default(),
            m_axis_tready: Default::default(),
            m_axis_tlast: Default::default(),
            s_axil_awaddr: Default::default(),
            s_axil_awvalid: Default::default(),
            s_axil_awready: Default::default(),
            s_axil_wdata: Default::default(),
            s_axil_wstrb: Default::default(),
            s_axil_wvalid: Default::default(),
            s_axil_wready: Default::default(),
            s_axil_bresp: Default::default(),
            s_axil_bvalid: Default::default(),
            s_axil_bready: Default::default(),
            s_axil_araddr: Default::default(),
            s_axil_arvalid: Default::default(),
            s_axil_arready: Default::default(),
            s_axil_rdata: Default::default(),
            s_axil_rresp: Default::default(),
            s_axil_rvalid: Default::default(),
            s_axil_rready: Default::default(),
            irq: Default::default(),
            dma_ctrl_read_desc_valid: Default::default(),
            dma_ctrl_read_desc_ready: Default::default(),
            dma_ctrl_read_desc_address: Default::default(),
            dma_ctrl_read_desc_length: Default::default(),
            dma_ctrl_read_desc_tag: Default::default(),
            dma_ctrl_read_data_valid: Default::default(),
            dma_ctrl_read_data_ready: Default::default(),
            dma_ctrl_read_data_tdata: Default::default(),
            dma_ctrl_read_data_tlast: Default::default(),
            dma_ctrl_read_status_valid: Default::default(),
            dma_ctrl_read_status_tag: Default::default(),
            dma_ctrl_read_status_error: Default::default(),
            dma_ctrl_write_desc_valid: Default::default(),
            dma_ctrl_write_desc_ready: Default::default(),
            dma_ctrl_write_desc_address: Default::default(),
            dma_ctrl_write_desc_length: Default::default(),
            dma_ctrl_write_desc_tag: Default::default(),
            dma_ctrl_write_data_valid: Default::default(),
            dma_ctrl_write_data_ready: Default::default(),
            dma_ctrl_write_data_tdata: Default::default(),
            dma_ctrl_write_data_tkeep: Default::default(),
            dma_ctrl_write_data_tlast: Default::default(),
            dma_ctrl_write_status_valid: Default::default(),
            dma_ctrl_write_status_tag: Default::default(),
            dma_ctrl_write_status_error: Default::default(),
            dma_data_read_desc_valid: Default::default(),
            dma_data_read_desc_ready: Default::default(),
            dma_data_read_desc_address: Default::default(),
            dma_data_read_desc_length: Default::default(),
            dma_data_read_desc_tag: Default::default(),
            dma_data_read_data_valid: Default::default(),
            dma_data_read_data_ready: Default::default(),
            dma_data_read_data_tdata: Default::default(),
            dma_data_read_data_tlast: Default::default(),
            dma_data_read_status_valid: Default::default(),
            dma_data_read_status_tag: Default::default(),
            dma_data_read_status_error: Default::default(),
            dma_data_write_desc_valid: Default::default(),
            dma_data_write_desc_ready: Default::default(),
            dma_data_write_desc_address: Default::default(),
            dma_data_write_desc_length: Default::default(),
            dma_data_write_desc_tag: Default::default(),
            dma_data_write_data_valid: Default::default(),
            dma_data_write_data_ready: Default::default(),
            dma_data_write_data_tdata: Default::default(),
            dma_data_write_data_tkeep: Default::default(),
            dma_data_write_data_tlast: Default::default(),
            dma_data_write_status_valid: Default::default(),
            dma_data_write_status_tag: Default::default(),
            dma_data_write_status_error: Default::default(),
            core: Core::new(config),
            path: WidePath::new(config),
        }
    }
}
