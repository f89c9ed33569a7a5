//! The devices that designs are placed in, and what the tools call what is in them.

use std::path::Path;

use clap::ValueEnum;
use serde::Serialize;
use tessera_sim::tools::Family;

use crate::synth::{whole_ecp5, whole_gowin, whole_series7};

/// Devices, each of the slowest speed grade unless another is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
pub enum Device {
    /// LFE5U-25F
    #[value(name = "25k")]
    #[serde(rename = "25k")]
    E25,
    /// LFE5U-45F
    #[value(name = "45k")]
    #[serde(rename = "45k")]
    E45,
    /// LFE5U-85F
    #[default]
    #[value(name = "85k")]
    #[serde(rename = "85k")]
    E85,
    /// GW5AST-LV138, of the board Tang Mega 138K
    #[value(name = "gw5ast-138")]
    #[serde(rename = "gw5ast-138")]
    Gw5ast138,
    /// XC7A200T, an Artix-7; by a nextpnr that the machine has (`nextpnr-himbaechel-xilinx`)
    #[value(name = "xc7a200t")]
    #[serde(rename = "xc7a200t")]
    Xc7a200t,
}

/// Speed grades of an ECP5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Grade {
    /// The slowest
    #[value(name = "6")]
    Six,
    #[value(name = "7")]
    Seven,
    /// The fastest
    #[value(name = "8")]
    Eight,
}

/// Gowin's block RAMs.
const GOWIN_BLOCK_RAMS: [&str; 8] = ["SP", "SPX9", "SDPB", "SDPX9B", "DPB", "DPX9B", "pROM", "pROMX9"];

/// What a nextpnr calls some of what a device has: its cells, and how many each counts for.
type Reported = &'static [(&'static str, usize)];

/// The Artix-7, with its package and speed grade.
const XC7A200T: &str = "xc7a200tfbg484-1";

/// Where the harness's pins are in an Artix-7.
const XDC: &str = "\
set_property LOC R4 [get_ports clk]
set_property IOSTANDARD LVCMOS33 [get_ports clk]
set_property LOC P20 [get_ports in]
set_property IOSTANDARD LVCMOS33 [get_ports in]
set_property LOC T1 [get_ports out]
set_property IOSTANDARD LVCMOS33 [get_ports out]
";

impl Device {
    pub fn family(self) -> Family {
        match self {
            Self::E25 | Self::E45 | Self::E85 => Family::Ecp5,
            Self::Gw5ast138 => Family::Gowin,
            Self::Xc7a200t => Family::Series7,
        }
    }

    /// What is counted: tables, FF, block RAM, multipliers.
    pub fn resources(self) -> [&'static str; 4] {
        let tables = match self.family() {
            Family::Ecp5 | Family::Gowin => "LUT4",
            // Two of five inputs between them may lie in one.
            Family::Series7 => "LUT6",
        };
        [tables, "FF", "block RAM of 18 kbit", "multipliers"]
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::E25 => "LFE5U-25F",
            Self::E45 => "LFE5U-45F",
            Self::E85 => "LFE5U-85F",
            Self::Gw5ast138 => "GW5AST-LV138",
            Self::Xc7a200t => "XC7A200T",
        }
    }

    /// The speed grade that clocks are told of: of an ECP5 the one that is asked for, or the slowest.
    pub fn speed(self, grade: Option<Grade>) -> &'static str {
        match self.family() {
            Family::Ecp5 => match grade {
                None | Some(Grade::Six) => "6",
                Some(Grade::Seven) => "7",
                Some(Grade::Eight) => "8",
            },
            Family::Gowin => "C1/I0",
            Family::Series7 => "-1",
        }
    }

    /// What it has, in the order of [`Device::resources`].
    pub fn has(self) -> [usize; 4] {
        match self {
            Self::E25 => [24_288, 24_288, 56, 28],
            Self::E45 => [43_848, 43_848, 108, 72],
            Self::E85 => [83_640, 83_640, 208, 156],
            Self::Gw5ast138 => [138_240, 138_240, 340, 298],
            Self::Xc7a200t => [134_600, 269_200, 730, 740],
        }
    }

    /// What maps a design to it, written to a file. An ECP5's wide multiplexers are worth it where a device is full:
    /// a fiftieth more tables for a sixth less wire.
    pub fn map(self, top: &str, json: &str, wide: bool) -> String {
        match self.family() {
            Family::Ecp5 if wide => whole_ecp5(top, &format!("-json {json}")),
            Family::Ecp5 => whole_ecp5(top, &format!("-nowidelut -json {json}")),
            Family::Gowin => whole_gowin(top, &format!("-json {json}")),
            // nextpnr finds no wire from the end of a long shift register.
            Family::Series7 => whole_series7(top, &format!("-nosrl -nowidelut -json {json}")),
        }
    }

    /// How many of [`Device::resources`] a mapped cell takes: which, and of that so many. Less than nextpnr counts, which
    /// adds the ends of carry chains and tables that only pass something on.
    pub fn takes(self, cell: &str) -> Option<(usize, usize)> {
        match (self.family(), cell) {
            (Family::Ecp5, "LUT4") => Some((0, 1)),
            (Family::Ecp5, "CCU2C") => Some((0, 2)),
            // Four tables of data, two that write them.
            (Family::Ecp5, "TRELLIS_DPR16X4") => Some((0, 6)),
            (Family::Ecp5, "TRELLIS_FF") => Some((1, 1)),
            (Family::Ecp5, "DP16KD" | "PDPW16KD") => Some((2, 1)),
            (Family::Ecp5, "MULT18X18D") => Some((3, 1)),
            (Family::Gowin, "LUT1" | "LUT2" | "LUT3" | "LUT4" | "ALU") => Some((0, 1)),
            (Family::Gowin, "RAM16SDP4") => Some((0, 4)),
            (Family::Gowin, _) if cell.starts_with("DFF") => Some((1, 1)),
            (Family::Gowin, _) if GOWIN_BLOCK_RAMS.contains(&cell) => Some((2, 1)),
            (Family::Gowin, _) if cell.starts_with("MULT") => Some((3, 1)),
            (Family::Series7, "RAM32M" | "RAM64M" | "RAM128X1D") => Some((0, 4)),
            (Family::Series7, "RAM32X1D" | "RAM64X1D") => Some((0, 2)),
            (Family::Series7, _) if cell.starts_with("LUT") || cell.starts_with("SRL") => Some((0, 1)),
            (Family::Series7, _) if cell.starts_with("FD") => Some((1, 1)),
            (Family::Series7, "RAMB36E1") => Some((2, 2)),
            (Family::Series7, "RAMB18E1") => Some((2, 1)),
            (Family::Series7, "DSP48E1") => Some((3, 1)),
            _ => None,
        }
    }

    /// Under which names nextpnr reports [`Device::resources`]: each the sum of some.
    pub fn reported(self) -> [Reported; 4] {
        match self.family() {
            Family::Ecp5 => {
                [&[("TRELLIS_COMB", 1)], &[("TRELLIS_FF", 1)], &[("DP16KD", 1)], &[("MULT18X18D", 1)]]
            }
            Family::Gowin => [
                &[("LUT4", 1), ("ALU", 1)],
                &[("DFF", 1)],
                &[("BSRAM", 1)],
                &[("MULT12X12", 1), ("MULTADDALU12X12", 1), ("MULTALU27X18", 1)],
            ],
            Family::Series7 => [
                &[("SLICE_LUTX", 1)],
                &[("SLICE_FFX", 1)],
                &[("RAMB36E1_RAMB36E1", 2), ("RAMB18E1_RAMB18E1", 1)],
                &[("DSP48E1_DSP48E1", 1)],
            ],
        }
    }

    /// nextpnr's options for it, beside the design: what it is.
    pub fn options(self, grade: Option<Grade>) -> Vec<String> {
        let package = |option: &str, package: &str| {
            [option, "--package", package, "--speed", self.speed(grade), "--lpf-allow-unconstrained"]
                .map(str::to_owned)
                .to_vec()
        };
        let himbaechel = |device: &str, options: &[&str]| -> Vec<String> {
            let options = options.iter().flat_map(|option| ["--vopt", option]);
            ["--device", device].into_iter().chain(options).map(str::to_owned).collect()
        };
        match self {
            Self::E25 => package("--25k", "CABGA381"),
            Self::E45 => package("--45k", "CABGA381"),
            Self::E85 => package("--85k", "CABGA756"),
            Self::Gw5ast138 => {
                let family = ["family=GW5AST-138C", "cst=pins.cst"];
                himbaechel("GW5AST-LV138PG484AC1/I0", &family)
            }
            Self::Xc7a200t => himbaechel(XC7A200T, &["xdc=pins.xdc"]),
        }
    }

    /// nextpnr's options for where a routed design goes.
    pub fn result(self, seed: u32) -> [String; 2] {
        let file = format!("{seed}.config");
        match self.family() {
            Family::Ecp5 => ["--textcfg".into(), file],
            Family::Gowin => ["--write".into(), file],
            Family::Series7 => ["--vopt".into(), format!("fasm={file}")],
        }
    }

    /// Where the harness's three pins are, for tools that want to be told: a file and its text.
    pub fn pins(self) -> Option<(&'static Path, &'static str)> {
        match self.family() {
            Family::Ecp5 => None,
            // Where the board has a clock of 50 MHz, and two that are free there.
            Family::Gowin => Some((
                Path::new("pins.cst"),
                "IO_LOC \"clk\" V22;\nIO_LOC \"in\" A15;\nIO_LOC \"out\" A16;\n",
            )),
            // A clock pin of the package FBG484, and two others.
            Family::Series7 => Some((Path::new("pins.xdc"), XDC)),
        }
    }

    /// What makes the bitstream `design.bit` by the pinned packer; of the 7 series, [`Device::xray`] does.
    pub fn pack(self, seed: u32) -> Vec<String> {
        let routed = format!("{seed}.config");
        let words = match self.family() {
            Family::Ecp5 => vec![&routed, "--bit", "design.bit"],
            Family::Gowin => vec!["-d", "GW5AST-138C", "-o", "design.bit", &routed],
            Family::Series7 => Vec::new(),
        };
        words.into_iter().map(str::to_owned).collect()
    }

    /// Family and part in Project X-Ray's database, which makes bitstreams of the 7 series.
    pub fn xray(self) -> Option<(&'static str, &'static str)> {
        matches!(self, Self::Xc7a200t).then_some(("artix7", XC7A200T))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_counted_as_the_device_has_them() {
        let lut =
            |device: Device, cell| device.takes(cell).filter(|(what, _)| *what == 0).map(|(_, each)| each);
        let [ecp5, gowin] = [Device::E85, Device::Gw5ast138];
        assert_eq!(
            [lut(ecp5, "CCU2C"), lut(ecp5, "TRELLIS_DPR16X4"), lut(ecp5, "ALU")],
            [Some(2), Some(6), None]
        );
        assert_eq!(
            [lut(gowin, "ALU"), lut(gowin, "RAM16SDP4"), lut(gowin, "LUT5")],
            [Some(1), Some(4), None]
        );
        assert_eq!(gowin.takes("DFFRE"), Some((1, 1)));
        assert_eq!([gowin.takes("SDPX9B"), gowin.takes("SDP")], [Some((2, 1)), None]);
        assert_eq!((gowin.takes("MULT12X12"), gowin.takes("MUX2_LUT5")), (Some((3, 1)), None));
        let artix = Device::Xc7a200t;
        assert_eq!(
            [lut(artix, "LUT6"), lut(artix, "RAM64M"), lut(artix, "CARRY4")],
            [Some(1), Some(4), None]
        );
        assert_eq!([artix.takes("RAMB36E1"), artix.takes("FDRE")], [Some((2, 2)), Some((1, 1))]);
    }
}
