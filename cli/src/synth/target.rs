//! Families of FPGAs, and what Yosys is told to map a design to them.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Families of FPGAs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// AMD UltraScale+: Alveo, VCU118
    #[default]
    #[value(name = "ultrascale+")]
    UltrascalePlus,
    /// AMD 7 series
    #[value(name = "7series")]
    Series7,
    /// Lattice ECP5
    Ecp5,
}

impl Target {
    pub fn name(self) -> &'static str {
        match self {
            Self::UltrascalePlus => "UltraScale+",
            Self::Series7 => "7 series",
            Self::Ecp5 => "ECP5",
        }
    }

    /// What maps a design as one, as Yosys does it for the family: of Xilinx's but for `xilinx_dffopt`, which puts
    /// clock enables of thousands of registers into the tables in front of them. Control sets are saved by that, but
    /// tables of three inputs, of which two share one, have six then; a vendor's tool does it to a few.
    pub fn whole(self, top: &str) -> String {
        let xilinx = |family: &str| {
            format!(
                "{}synth_xilinx -family {family} -top {top} -noclkbuf -noiopad -flatten -run begin:map_luts\n\
                 opt_expr -mux_undef -noclkinv\n\
                 read_verilog -icells -lib -specify +/xilinx/abc9_model.v\n\
                 abc9 -W 300\n\
                 {}",
                without_constants(top),
                xilinx_cells("")
            )
        };
        match self {
            Self::UltrascalePlus => xilinx("xcup"),
            Self::Series7 => xilinx("xc7"),
            Self::Ecp5 => whole_ecp5(top, ""),
        }
    }

    /// What maps it block by block. Yosys's own way would take the better of its two mappers to each
    /// module, at hours and gigabytes for a NIC; the other one differs by a few per cent.
    pub fn blocks(self, top: &str) -> String {
        let xilinx = |family: &str| {
            format!(
                "synth_xilinx -family {family} -top {top} -noclkbuf -noiopad -flatten -run begin:map_luts\n\
                 opt_expr -mux_undef -noclkinv\n\
                 abc -luts 2:2,3,6:5,10,20\n\
                 {}",
                xilinx_cells("xilinx_dffopt\n")
            )
        };
        match self {
            Self::UltrascalePlus => xilinx("xcup"),
            Self::Series7 => xilinx("xc7"),
            Self::Ecp5 => format!(
                "synth_ecp5 -top {top} -run begin:map_luts\n\
                 abc -lut 4 -dress\n\
                 clean\n\
                 techmap -map +/lattice/cells_map_trellis.v\n\
                 opt_lut_ins -tech lattice\n\
                 clean"
            ),
        }
    }

    /// Whether its cells' times are known. Yosys's models of ECP5 have them of tables and carries only:
    /// registers and memories take no time there.
    pub fn is_timed(self) -> bool {
        self != Self::Ecp5
    }
}

/// What makes cells of mapped tables, as Yosys does it for Xilinx's families.
fn xilinx_cells(then: &str) -> String {
    format!(
        "clean\n\
         xilinx_srl -fixed -minlen 3\n\
         techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -D LUT_WIDTH=6\n\
         {then}\
         opt_lut_ins -tech xilinx\n\
         clean"
    )
}

/// How often constants may go from a memory to the next: what a packet says is kept in six, one after another.
const MEMORIES_IN_A_ROW: usize = 8;

/// What comes before a design is mapped as one. Yosys drops bits of a memory that are always written the same, but
/// looks for them once, and not through the undefined word of a write that is none: so that of what a
/// configuration leaves out all memories and the registers behind them would stay.
fn without_constants(top: &str) -> String {
    let memories = "opt_mem\nopt\n".repeat(MEMORIES_IN_A_ROW);
    format!("hierarchy -check -top {top}\nproc\nflatten\nopt_expr -mux_undef\nopt\n{memories}")
}

/// What maps a design as one to an ECP5.
pub fn whole_ecp5(top: &str, options: &str) -> String {
    format!("{}synth_ecp5 -top {top} {options}", without_constants(top))
}

/// The same to a Gowin of the fifth series.
pub fn whole_gowin(top: &str, options: &str) -> String {
    format!("{}synth_gowin -family gw5a -top {top} {options}", without_constants(top))
}

/// The same to a 7 series, with its pins.
pub fn whole_series7(top: &str, options: &str) -> String {
    format!("{}synth_xilinx -family xc7 -flatten -top {top} {options}", without_constants(top))
}
