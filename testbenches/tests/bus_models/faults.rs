//! Wires that are broken on purpose: the benches have to notice each.

/// A wire that is broken on purpose: what is done to which output, and what the bench says then.
pub struct Fault {
    pub name: &'static str,
    pub output: &'static str,
    /// Verilog; the output as it should be is `true_` and its name.
    pub broken: &'static str,
    /// One of these is in the failure.
    pub said: &'static [&'static str],
}

pub const AXI_FAULTS: [Fault; 8] = [
    Fault {
        name: "strobes are not honoured",
        output: "m_axi_wstrb",
        broken: "~64'd0",
        said: &[
            "bytes of host memory are not as they should be",
            "are not what was sent",
            "were not written",
        ],
    },
    Fault {
        name: "no beat is the last",
        output: "m_axi_wlast",
        broken: "1'b0",
        said: &["assert last == (n == length-1)"],
    },
    Fault {
        name: "a burst goes over 4 KiB",
        output: "m_axi_araddr",
        broken: "true_m_axi_araddr | (m_axi_arlen != 0 ? 64'hFC0 : 64'd0)",
        said: &["goes over 4 KiB", "assert 0x1000-(aligned_addr & 0xfff) >= transfer_size"],
    },
    Fault {
        name: "data changes while it waits",
        output: "m_axi_wdata",
        broken: "m_axi_wready ? true_m_axi_wdata : ~true_m_axi_wdata",
        said: &["m_axi_w: an offer changed"],
    },
    Fault {
        name: "an address is taken back",
        output: "m_axi_awvalid",
        // By what changes whether or not an address waits; one that is taken is there, or it would be lost first.
        broken: "true_m_axi_awvalid && (m_axi_arready || m_axi_awready)",
        said: &["m_axi_aw: an offer was taken back"],
    },
    Fault {
        name: "a byte too many leaves for the MAC",
        output: "m_axis_tkeep",
        broken: "m_axis_tlast ? {true_m_axis_tkeep[62:0], 1'b1} : true_m_axis_tkeep",
        said: &["whose IP length is"],
    },
    Fault { name: "irq stays low", output: "irq", broken: "1'b0", said: &["irq does not rise"] },
    Fault { name: "irq stays high", output: "irq", broken: "1'b1", said: &["irq is high"] },
];

pub const CORUNDUM_FAULTS: [Fault; 7] = [
    Fault {
        name: "the block's frames have the kernel's tags",
        output: "m_axis_sync_tx_tuser",
        broken: "true_m_axis_sync_tx_tuser | 17'h10000",
        said: &["with the kernel's tag"],
    },
    Fault {
        name: "a bit of the kernel's frames changes",
        output: "m_axis_sync_rx_tdata",
        broken: "true_m_axis_sync_rx_tdata ^ 512'd1 << 200",
        said: &["is not as it came"],
    },
    Fault {
        name: "received frames lose their times",
        output: "m_axis_sync_rx_tuser",
        broken: "97'd0",
        said: &["its time is"],
    },
    Fault {
        name: "the kernel's frames are not completed",
        output: "m_axis_sync_tx_cpl_valid",
        broken: "1'b0",
        said: &["frames of the kernel"],
    },
    Fault {
        name: "the RAM confirms what was not written",
        output: "data_dma_ram_wr_done",
        broken: "2'b11",
        said: &["wr_done"],
    },
    Fault {
        name: "a byte too many is written to the host",
        output: "m_axis_data_dma_write_desc_len",
        broken: "true_m_axis_data_dma_write_desc_len + 16'd1",
        said: &["bytes of host memory are not as they should be"],
    },
    Fault {
        name: "a payload is read from elsewhere",
        output: "m_axis_data_dma_read_desc_dma_addr",
        broken: "true_m_axis_data_dma_read_desc_dma_addr ^ 64'd64",
        said: &["are not what was sent", "were not written"],
    },
];

/// What a simulator of two states cannot have.
pub const CORUNDUM_UNKNOWNS: [Fault; 1] = [Fault {
    name: "a beat of a frame that nobody knows",
    output: "m_axis_sync_tx_tdata",
    broken: "512'bx",
    said: &["non-0/1 values"],
}];
