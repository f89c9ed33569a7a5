//! Corundum's application block as its core instantiates it: every port by its name, of the width
//! that the parameters of a board make it.
//!
//! The Verilog of [`design`] has the block's ports itself, so that it is simulated as it is shipped.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tessera_rtl::emit::Export;
use tessera_rtl::export::{MQNIC_APP_BLOCK, MQNIC_APP_BLOCK_PORTS};

use crate::verilator::{Design, Direction, Port};

/// What a board's build gives the block. The defaults are those of 100G boards with PCIe of 512 bits.
#[derive(Clone, Debug)]
pub struct Board {
    /// Interfaces, each with one port.
    pub interfaces: usize,
    /// The port that the NIC is at.
    pub port: usize,
    /// Parameters that differ from those, by name.
    pub parameters: BTreeMap<&'static str, usize>,
}

impl Default for Board {
    fn default() -> Self {
        Self { interfaces: 2, port: 1, parameters: BTreeMap::new() }
    }
}

impl Board {
    /// The same with a parameter of another value.
    pub fn with(mut self, name: &'static str, value: usize) -> Self {
        self.parameters.insert(name, value);
        self
    }

    /// The same with streams of other widths: at the MAC, and at the sync point.
    pub fn streams(self, mac: usize, sync: usize) -> Self {
        self.with("AXIS_DATA_WIDTH", mac)
            .with("AXIS_KEEP_WIDTH", mac / 8)
            .with("AXIS_SYNC_DATA_WIDTH", sync)
            .with("AXIS_SYNC_KEEP_WIDTH", sync / 8)
            .with("AXIS_IF_DATA_WIDTH", sync)
            .with("AXIS_IF_KEEP_WIDTH", sync / 8)
    }

    /// The same with a DMA RAM of so many segments of so many bits: of PCIe half as wide.
    pub fn ram(self, segments: usize, bits: usize) -> Self {
        self.with("RAM_SEG_COUNT", segments)
            .with("RAM_SEG_DATA_WIDTH", bits)
            .with("RAM_SEG_BE_WIDTH", bits / 8)
    }

    /// All parameters that `mqnic_core` hands on, as it computes them.
    pub fn parameters(&self) -> BTreeMap<&'static str, usize> {
        let log2 = |value: usize| value.next_power_of_two().trailing_zeros() as usize;
        let mut all = BTreeMap::from([
            ("IF_COUNT", self.interfaces),
            ("PORTS_PER_IF", 1),
            ("SCHED_PER_IF", 1),
            ("PORT_COUNT", self.interfaces),
            ("CLK_PERIOD_NS_NUM", 4),
            ("CLK_PERIOD_NS_DENOM", 1),
            ("PTP_CLK_PERIOD_NS_NUM", 1024),
            ("PTP_CLK_PERIOD_NS_DENOM", 165),
            ("PTP_PORT_CDC_PIPELINE", 0),
            ("PTP_PEROUT_ENABLE", 1),
            ("PTP_PEROUT_COUNT", 1),
            ("PTP_TS_ENABLE", 1),
            ("PTP_TS_FMT_TOD", 0),
            ("TX_TAG_WIDTH", 16),
            ("MAX_TX_SIZE", 9214),
            ("MAX_RX_SIZE", 9214),
            ("APP_ID", tessera_abi::corundum::APP_ID as usize),
            ("APP_CTRL_ENABLE", 1),
            ("APP_DMA_ENABLE", 1),
            ("APP_AXIS_DIRECT_ENABLE", 0),
            ("APP_AXIS_SYNC_ENABLE", 1),
            ("APP_AXIS_IF_ENABLE", 0),
            ("APP_STAT_ENABLE", 1),
            ("APP_GPIO_IN_WIDTH", 32),
            ("APP_GPIO_OUT_WIDTH", 32),
            ("DMA_ADDR_WIDTH", 64),
            ("DMA_IMM_ENABLE", 0),
            ("DMA_IMM_WIDTH", 32),
            ("DMA_LEN_WIDTH", 16),
            // One client more than interfaces, and one bit for the two classes.
            ("DMA_TAG_WIDTH", 16 - log2(self.interfaces + 1) - 1),
            ("RAM_SEL_WIDTH", 1),
            ("RAM_ADDR_WIDTH", 17),
            ("RAM_SEG_COUNT", 2),
            ("RAM_SEG_DATA_WIDTH", 512),
            ("RAM_SEG_BE_WIDTH", 64),
            ("RAM_PIPELINE", 2),
            ("AXIL_APP_CTRL_DATA_WIDTH", 32),
            ("AXIL_APP_CTRL_ADDR_WIDTH", 24),
            ("AXIL_APP_CTRL_STRB_WIDTH", 4),
            ("AXIL_CTRL_DATA_WIDTH", 32),
            ("AXIL_CTRL_ADDR_WIDTH", 24),
            ("AXIL_CTRL_STRB_WIDTH", 4),
            ("AXIS_DATA_WIDTH", 512),
            ("AXIS_KEEP_WIDTH", 64),
            ("AXIS_RX_USE_READY", 0),
            ("AXIS_SYNC_DATA_WIDTH", 512),
            ("AXIS_SYNC_KEEP_WIDTH", 64),
            ("AXIS_IF_DATA_WIDTH", 512),
            ("AXIS_IF_KEEP_WIDTH", 64),
            ("AXIS_IF_TX_ID_WIDTH", 13),
            ("AXIS_IF_RX_ID_WIDTH", 1),
            ("AXIS_IF_TX_DEST_WIDTH", 4),
            ("AXIS_IF_RX_DEST_WIDTH", 9),
            ("STAT_ENABLE", 1),
            ("STAT_INC_WIDTH", 24),
            ("STAT_ID_WIDTH", 12),
            ("TESSERA_PORT", self.port),
            // What the core hands on and nothing here depends on.
            ("PTP_USE_SAMPLE_CLOCK", 1),
            ("DDR_GROUP_SIZE", 1),
            ("AXI_DDR_AWUSER_ENABLE", 0),
            ("AXI_DDR_WUSER_ENABLE", 0),
            ("AXI_DDR_BUSER_ENABLE", 0),
            ("AXI_DDR_ARUSER_ENABLE", 0),
            ("AXI_DDR_RUSER_ENABLE", 0),
            ("AXI_DDR_MAX_BURST_LEN", 256),
            ("AXI_DDR_NARROW_BURST", 0),
            ("AXI_DDR_FIXED_BURST", 0),
            ("AXI_DDR_WRAP_BURST", 0),
            ("HBM_GROUP_SIZE", 1),
            ("AXI_HBM_AWUSER_ENABLE", 0),
            ("AXI_HBM_WUSER_ENABLE", 0),
            ("AXI_HBM_BUSER_ENABLE", 0),
            ("AXI_HBM_ARUSER_ENABLE", 0),
            ("AXI_HBM_RUSER_ENABLE", 0),
            ("AXI_HBM_MAX_BURST_LEN", 256),
            ("AXI_HBM_NARROW_BURST", 0),
            ("AXI_HBM_FIXED_BURST", 0),
            ("AXI_HBM_WRAP_BURST", 0),
        ]);
        for (memory, data, address) in [("DDR", 512, 34), ("HBM", 256, 33)] {
            let name = |what: &str| -> &'static str {
                let name =
                    format!("{}{memory}_{what}", if what == "CH" || what == "ENABLE" { "" } else { "AXI_" });
                MEMORY_PARAMETERS.iter().find(|known| **known == name).copied().unwrap_or_default()
            };
            all.extend(
                [
                    ("CH", 1),
                    ("ENABLE", 0),
                    ("DATA_WIDTH", data),
                    ("ADDR_WIDTH", address),
                    ("STRB_WIDTH", data / 8),
                    ("ID_WIDTH", 8),
                ]
                .map(|(what, value)| (name(what), value)),
            );
            all.extend(
                ["AWUSER_WIDTH", "WUSER_WIDTH", "BUSER_WIDTH", "ARUSER_WIDTH", "RUSER_WIDTH"]
                    .map(|what| (name(what), 1)),
            );
        }
        all.extend(self.parameters.iter().map(|(name, value)| (*name, *value)));
        let get = |all: &BTreeMap<_, _>, name| all.get(name).copied().unwrap_or_default();
        let time = if get(&all, "PTP_TS_FMT_TOD") != 0 { 96 } else { 48 };
        all.entry("PTP_TS_WIDTH").or_insert(time);
        let tx_user = get(&all, "TX_TAG_WIDTH") + 1;
        let rx_user = 1 + if get(&all, "PTP_TS_ENABLE") != 0 { get(&all, "PTP_TS_WIDTH") } else { 0 };
        for point in ["AXIS_TX_USER_WIDTH", "AXIS_SYNC_TX_USER_WIDTH", "AXIS_IF_TX_USER_WIDTH"] {
            all.insert(point, tx_user);
        }
        for point in ["AXIS_RX_USER_WIDTH", "AXIS_SYNC_RX_USER_WIDTH", "AXIS_IF_RX_USER_WIDTH"] {
            all.insert(point, rx_user);
        }
        let line = log2(get(&all, "RAM_SEG_COUNT") * get(&all, "RAM_SEG_BE_WIDTH"));
        let address = get(&all, "RAM_ADDR_WIDTH").saturating_sub(line);
        all.insert("RAM_SEG_ADDR_WIDTH", address);
        all
    }
}

const MEMORY_PARAMETERS: [&str; 22] = [
    "DDR_CH",
    "DDR_ENABLE",
    "AXI_DDR_DATA_WIDTH",
    "AXI_DDR_ADDR_WIDTH",
    "AXI_DDR_STRB_WIDTH",
    "AXI_DDR_ID_WIDTH",
    "AXI_DDR_AWUSER_WIDTH",
    "AXI_DDR_WUSER_WIDTH",
    "AXI_DDR_BUSER_WIDTH",
    "AXI_DDR_ARUSER_WIDTH",
    "AXI_DDR_RUSER_WIDTH",
    "HBM_CH",
    "HBM_ENABLE",
    "AXI_HBM_DATA_WIDTH",
    "AXI_HBM_ADDR_WIDTH",
    "AXI_HBM_STRB_WIDTH",
    "AXI_HBM_ID_WIDTH",
    "AXI_HBM_AWUSER_WIDTH",
    "AXI_HBM_WUSER_WIDTH",
    "AXI_HBM_BUSER_WIDTH",
    "AXI_HBM_ARUSER_WIDTH",
    "AXI_HBM_RUSER_WIDTH",
];

/// The block's ports at a board.
///
/// # Panics
/// If the list of ports names a parameter that there is not.
pub fn ports(board: &Board) -> Vec<Port> {
    let parameters = board.parameters();
    let value = |factor: &str| {
        let known = || parameters.get(factor).copied();
        factor.parse().ok().or_else(known).unwrap_or_else(|| panic!("{factor} is no parameter"))
    };
    let lines = MQNIC_APP_BLOCK_PORTS.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (direction, width, name) = (words.next()?, words.next()?, words.next()?);
            let width = width.split('*').map(value).product();
            Some(match (direction, name) {
                (_, "clk") => Port::clock(name),
                ("in", _) => Port::input(name, width),
                _ => Port::output(name, width),
            })
        })
        .collect()
}

/// The block around an exported NIC, instantiated with all ports and parameters by name.
pub fn design(nic: &Export, board: &Board) -> Design {
    let ports = ports(board);
    let mut text = format!("{}\n{MQNIC_APP_BLOCK}\nmodule corundum_bench (\n", nic.verilog);
    let lines: Vec<String> = ports
        .iter()
        .map(|port| {
            let direction = if port.direction == Direction::In { "input" } else { "output" };
            match port.width {
                1 => format!("    {direction} wire {}", port.name),
                width => format!("    {direction} wire [{}:0] {}", width - 1, port.name),
            }
        })
        .collect();
    text += &lines.join(",\n");
    text += "\n);\n    mqnic_app_block #(\n";
    let parameters: Vec<String> =
        board.parameters().iter().map(|(name, value)| format!("        .{name}({value})")).collect();
    text += &parameters.join(",\n");
    text += "\n    ) app_block_inst (\n";
    let wires: Vec<String> = ports.iter().map(|port| format!("        .{0}({0})", port.name)).collect();
    let _ = write!(text, "{}\n    );\nendmodule\n", wires.join(",\n"));
    Design::new("corundum_bench", text, ports)
}
