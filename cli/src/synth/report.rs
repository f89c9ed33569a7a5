//! What Yosys prints, as numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Cells of a design that is mapped, summed up in the units of its family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Area {
    /// Look-up tables: of up to six inputs (Xilinx), of four (ECP5).
    pub lut: f64,
    /// Those of them that are RAM or shift registers.
    pub lut_ram: f64,
    /// Flip-flops.
    pub ff: f64,
    /// Block RAMs of 36 kbit (Xilinx), of 18 kbit (ECP5); a half one is 0.5.
    pub block_ram: f64,
    /// UltraRAMs of 288 kbit.
    pub ultra_ram: f64,
    /// Multipliers.
    pub dsp: f64,
    /// Carry cells of 4 bits (Xilinx: Yosys has UltraScale+'s, of 8, as two), of 2 (ECP5).
    pub carry: f64,
    /// Cells that none of these are: multiplexers behind LUTs, mostly.
    pub other: f64,
}

impl std::ops::AddAssign for Area {
    fn add_assign(&mut self, more: Self) {
        self.lut += more.lut;
        self.lut_ram += more.lut_ram;
        self.ff += more.ff;
        self.block_ram += more.block_ram;
        self.ultra_ram += more.ultra_ram;
        self.dsp += more.dsp;
        self.carry += more.carry;
        self.other += more.other;
    }
}

impl Area {
    /// What tables show, in their order.
    pub fn columns(&self) -> [f64; 7] {
        [self.lut, self.lut_ram, self.ff, self.block_ram, self.ultra_ram, self.dsp, self.carry]
    }

    /// One cell of a type.
    fn of(cell: &str) -> Self {
        let mut area = Area::default();
        let lut_ram = |luts: f64| Area { lut: luts, lut_ram: luts, ..Area::default() };
        match cell {
            "LUT1" | "LUT2" | "LUT3" | "LUT4" | "LUT5" | "LUT6" => area.lut = 1.0,
            // A slice's eight tables, or as many as the depth and the ports take.
            "RAM32M16" | "RAM64M8" => return lut_ram(8.0),
            "RAM32M" | "RAM64M" | "RAM128X1D" => return lut_ram(4.0),
            "RAM32X1D" | "RAM64X1D" => return lut_ram(2.0),
            "RAM256X1D" => return lut_ram(8.0),
            "SRL16E" | "SRLC16E" | "SRLC32E" => return lut_ram(1.0),
            "TRELLIS_DPR16X4" => return lut_ram(4.0),
            "DP16KD" | "PDPW16KD" => area.block_ram = 1.0,
            "URAM288" | "URAM288_BASE" => area.ultra_ram = 1.0,
            "CARRY4" | "CARRY8" => area.carry = 1.0,
            // Two tables with their carry.
            "CCU2C" => {
                area.lut = 2.0;
                area.carry = 1.0;
            }
            "TRELLIS_FF" => area.ff = 1.0,
            "MULT18X18D" | "ALU54B" => area.dsp = 1.0,
            _ if cell.starts_with("RAMB36") => area.block_ram = 1.0,
            _ if cell.starts_with("RAMB18") => area.block_ram = 0.5,
            _ if cell.starts_with("DSP48") => area.dsp = 1.0,
            _ if ["FDRE", "FDSE", "FDCE", "FDPE"].contains(&cell) => area.ff = 1.0,
            _ => area.other = 1.0,
        }
        area
    }
}

#[derive(Deserialize)]
struct Stat {
    modules: BTreeMap<String, Module>,
}

#[derive(Deserialize)]
struct Module {
    #[serde(default)]
    num_cells_by_type: BTreeMap<String, f64>,
}

/// A block and what is in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Its module.
    pub module: String,
    /// How often it is there.
    pub count: usize,
    /// All of them, with what they instantiate.
    pub area: Area,
    /// What they instantiate.
    pub blocks: Vec<Block>,
}

/// What is not a number of Yosys's.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum ReportError {
    #[error("Yosys's statistics are not what they were: {0}")]
    Statistics(String),
    #[error("Yosys's statistics have no module {0}")]
    NoModule(String),
}

/// A design by its statistics (`stat -json`).
pub struct Statistics(BTreeMap<String, BTreeMap<String, f64>>);

impl Statistics {
    pub fn parse(text: &str) -> Result<Self, ReportError> {
        // What was printed before it is not part of it.
        let begin = text.find('{').unwrap_or(0);
        let stat: Stat = serde_json::from_str(text[begin..].trim())
            .map_err(|error| ReportError::Statistics(error.to_string()))?;
        let plain = |name: String| name.trim_start_matches('\\').to_owned();
        let cells =
            |module: Module| module.num_cells_by_type.into_iter().map(|(cell, n)| (plain(cell), n)).collect();
        Ok(Self(stat.modules.into_iter().map(|(name, module)| (plain(name), cells(module))).collect()))
    }

    /// A module with all that it instantiates.
    pub fn total(&self, module: &str) -> Result<Area, ReportError> {
        let cells = self.0.get(module).ok_or_else(|| ReportError::NoModule(module.into()))?;
        let mut area = Area::default();
        for (cell, count) in cells {
            let one = if self.0.contains_key(cell) { self.total(cell)? } else { Area::of(cell) };
            for _ in 0..*count as usize {
                area += one;
            }
        }
        Ok(area)
    }

    /// What a module instantiates, largest first, and last what it has itself.
    pub fn blocks(&self, module: &str) -> Result<Vec<Block>, ReportError> {
        self.inside(module, 1)
    }

    /// The same for so many of the module.
    fn inside(&self, module: &str, times: usize) -> Result<Vec<Block>, ReportError> {
        let cells = self.0.get(module).ok_or_else(|| ReportError::NoModule(module.into()))?;
        let mut blocks = Vec::new();
        let mut own = Area::default();
        for (cell, count) in cells {
            let count = *count as usize * times;
            let is_block = self.0.contains_key(cell);
            let one = if is_block { self.total(cell)? } else { Area::of(cell) };
            let mut area = Area::default();
            (0..count).for_each(|_| area += one);
            if is_block {
                let blocks_inside = self.inside(cell, count)?;
                blocks.push(Block { module: cell.clone(), count, area, blocks: blocks_inside });
            } else {
                own += area;
            }
        }
        if !blocks.is_empty() {
            blocks.sort_by(|a, b| b.area.lut.total_cmp(&a.area.lut).then_with(|| a.module.cmp(&b.module)));
            blocks.push(Block { module: "(itself)".into(), count: 1, area: own, blocks: Vec::new() });
        }
        Ok(blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = r#"noise before {
      "creator": "Yosys 0.70",
      "modules": {
        "\\top": { "num_cells": 5, "num_cells_by_type": { "\\pair": 2, "LUT6": 3, "MUXF7": 1 } },
        "\\pair": { "num_cells": 4, "num_cells_by_type": { "\\leaf": 2, "FDRE": 7, "RAMB18E2": 1 } },
        "\\leaf": { "num_cells": 3, "num_cells_by_type": { "LUT2": 1, "RAM32M16": 1, "RAMB36E2": 2, "CARRY8": 1 } }
      }
    }"#;

    #[test]
    fn cells_are_summed_over_what_is_instantiated() {
        let stat = Statistics::parse(STAT.trim_start_matches("noise before ")).unwrap();
        let leaf = Area { lut: 9.0, lut_ram: 8.0, block_ram: 2.0, carry: 1.0, ..Area::default() };
        assert_eq!(stat.total("leaf"), Ok(leaf));
        let total = stat.total("top").unwrap();
        assert_eq!((total.lut, total.ff, total.block_ram, total.other), (39.0, 14.0, 9.0, 1.0));
        let blocks = stat.blocks("top").unwrap();
        assert_eq!(blocks.len(), 2);
        assert_eq!((blocks[0].module.as_str(), blocks[0].count, blocks[0].area.lut), ("pair", 2, 36.0));
        let inside: Vec<_> =
            blocks[0].blocks.iter().map(|b| (b.module.as_str(), b.count, b.area.lut, b.area.ff)).collect();
        assert_eq!(inside, [("leaf", 4, 36.0, 0.0), ("(itself)", 1, 0.0, 14.0)]);
        assert!(blocks[0].blocks[0].blocks.is_empty());
        assert_eq!((blocks[1].module.as_str(), blocks[1].area.lut), ("(itself)", 3.0));
        assert_eq!(stat.total("none"), Err(ReportError::NoModule("none".into())));
        assert!(Statistics::parse("{}").is_err() && Statistics::parse("").is_err());
        // What is printed before the braces does no harm.
        assert!(Statistics::parse(STAT).is_ok());
    }
}
