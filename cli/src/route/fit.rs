//! Whether a mapped design fits a device, by Yosys's statistics of its cells.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::device::Device;
use super::harness::TOP;
use crate::output::Failure;

#[derive(Deserialize)]
struct Stat {
    modules: BTreeMap<String, Cells>,
}

#[derive(Deserialize)]
struct Cells {
    #[serde(default)]
    num_cells_by_type: BTreeMap<String, f64>,
}

/// What a mapped design takes of a device, in the order of [`Device::resources`].
pub fn taken(device: Device, stat: &str) -> Result<[usize; 4], Failure> {
    let begin = stat.find('{').unwrap_or(0);
    let wrong = |what: String| Failure::new(format!("Yosys's statistics are not what they were: {what}"));
    let stat: Stat = serde_json::from_str(&stat[begin..]).map_err(|error| wrong(error.to_string()))?;
    let plain = |name: &str| name.trim_start_matches('\\').to_owned();
    let cells = stat.modules.into_iter().find(|(name, _)| plain(name) == TOP);
    let cells = cells.ok_or_else(|| wrong(format!("no module {TOP}")))?.1.num_cells_by_type;
    let mut taken = [0; 4];
    for (cell, count) in cells {
        if let Some((what, each)) = device.takes(&plain(&cell)) {
            taken[what] += each * count as usize;
        }
    }
    Ok(taken)
}

/// What does not fit, by how much.
pub fn excess(taken: [usize; 4], device: Device) -> Option<String> {
    let over =
        device.resources().into_iter().zip(taken).zip(device.has()).filter(|((_, taken), has)| taken > has);
    let over: Vec<String> = over
        .map(|((what, taken), has)| format!("{taken} {what}, {} more than its {has}", taken - has))
        .collect();
    (!over.is_empty()).then(|| over.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_says_by_how_much() {
        let stat = format!(
            "{{\"modules\":{{\"\\\\{TOP}\":{{\"num_cells_by_type\":{{\"LUT4\":24000,\"CCU2C\":100,\
             \"TRELLIS_DPR16X4\":20,\"TRELLIS_FF\":9,\"DP16KD\":57}}}}}}}}"
        );
        let taken = taken(Device::E25, &stat).unwrap();
        assert_eq!(taken, [24_320, 9, 57, 0]);
        let said = excess(taken, Device::E25).unwrap();
        assert_eq!(said, "24320 LUT4, 32 more than its 24288; 57 block RAM of 18 kbit, 1 more than its 56");
        assert_eq!(excess(taken, Device::E45), None);
    }
}
