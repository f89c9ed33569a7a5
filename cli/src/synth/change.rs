//! What has changed since an earlier run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::report::{Area, Block};
use super::table::number;
use super::target::Target;
use super::{SynthArgs, Synthesised};
use crate::output::Failure;

/// The result of an earlier run, as far as it is compared.
#[derive(Deserialize)]
struct Stored {
    design: String,
    target: Target,
    yosys: String,
    total: Option<Area>,
    sum: Option<Area>,
    blocks: Vec<Block>,
}

/// That, and where it is from.
pub struct Earlier {
    file: PathBuf,
    result: Stored,
}

impl Earlier {
    pub fn read(file: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?;
        let result = serde_json::from_str(&text).map_err(|error| {
            Failure::new(format!(
                "{} is no result of `tessera synth --json` of this version: {error}",
                file.display()
            ))
        })?;
        Ok(Self { file: file.into(), result })
    }

    /// Whether a run with these arguments can be compared: before an hour is spent on it.
    pub fn check(&self, args: &SynthArgs) -> Result<(), Failure> {
        let of = |what: &str| {
            Err(Failure::new(format!("{} is of {what}; compare like with like", self.file.display())))
        };
        if self.result.target != args.target {
            return of(self.result.target.name());
        }
        if args.quick && self.result.sum.is_none() {
            return of("a run of the whole only (--whole)");
        }
        if args.whole && self.result.total.is_none() {
            return of("a quick run (--quick)");
        }
        let design = args.foreign.design().or(args.config.clone()).unwrap_or("nic512".into());
        if self.result.design != design {
            return of(&format!("the design {}", self.result.design));
        }
        Ok(())
    }
}

/// What differs between two runs.
#[derive(Debug)]
pub struct Change {
    /// Names and figures of what is compared as a whole: before, and now.
    whole: [(&'static str, f64, f64); 4],
}

/// Areas of all modules, wherever they are, without what they instantiate.
fn own(blocks: &[Block], into: &mut BTreeMap<String, Area>, of: &str) {
    for block in blocks {
        if block.blocks.is_empty() {
            let name = if block.module == "(itself)" { of } else { &block.module };
            *into.entry(name.into()).or_default() += block.area;
        } else {
            own(&block.blocks, into, &block.module);
        }
    }
}

/// Prints what has changed: in all, and module by module. Both must have been made alike
/// ([`Earlier::check`]).
pub fn compare(before: &Earlier, now: &Synthesised) -> Result<Change, Failure> {
    let Earlier { file, result } = before;
    println!("change against {}", file.display());
    if result.yosys != now.yosys {
        println!("  by another mapper, {}: some of it is its doing", result.yosys);
    }
    let pair = result.sum.zip(now.sum).or(result.total.zip(now.total));
    let Some((was, is)) = pair else {
        return Err(Failure::new(format!("{} has no figure that this run has", file.display())));
    };
    let whole = [
        ("LUT", was.lut, is.lut),
        ("FF", was.ff, is.ff),
        ("block RAM", was.block_ram, is.block_ram),
        ("UltraRAM", was.ultra_ram, is.ultra_ram),
    ];
    for (what, was, is) in whole {
        println!("  {what:<24}{:>9} -> {:>9}  {}", number(was), number(is), percent(was, is));
    }
    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    own(&result.blocks, &mut old, &now.top);
    own(&now.blocks, &mut new, &now.top);
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    for name in names {
        let (was, is) = (old.get(name).copied(), new.get(name).copied());
        let (a, b) = (was.unwrap_or_default(), is.unwrap_or_default());
        if a == b {
            continue;
        }
        let note = match (was, is) {
            (None, _) => ", new",
            (_, None) => ", gone",
            _ => "",
        };
        println!(
            "    {name}: LUT {:+.0}, FF {:+.0}, block RAM {:+}{note}",
            b.lut - a.lut,
            b.ff - a.ff,
            b.block_ram - a.block_ram
        );
    }
    Ok(Change { whole })
}

fn percent(was: f64, is: f64) -> String {
    if was == is {
        "the same".into()
    } else if was == 0.0 {
        "new".into()
    } else {
        format!("{:+.1} %", (is / was - 1.0) * 100.0)
    }
}

impl Change {
    /// An error if something has grown by more than so many percent.
    pub fn judge(&self, growth: Option<f64>) -> Result<(), Failure> {
        let Some(limit) = growth else { return Ok(()) };
        let grown: Vec<String> = self
            .whole
            .iter()
            .filter(|(_, was, is)| *is > was * (1.0 + limit / 100.0))
            .map(|(what, was, is)| format!("{what} from {} to {}", number(*was), number(*is)))
            .collect();
        if grown.is_empty() {
            return Ok(());
        }
        Err(Failure::new(format!(
            "it has grown by more than {limit} %: {}. Mend it, or, where it is worth that, store the new \
             table (`--json`) and say why in the commit",
            grown.join(", ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(lut: f64) -> Area {
        Area { lut, ..Area::default() }
    }

    fn block(module: &str, lut: f64, blocks: Vec<Block>) -> Block {
        Block { module: module.into(), count: 1, area: area(lut), blocks }
    }

    #[test]
    fn a_module_is_counted_wherever_it_is() {
        let blocks = [
            block("a", 10.0, vec![block("leaf", 4.0, vec![]), block("(itself)", 6.0, vec![])]),
            block("leaf", 3.0, vec![]),
            block("(itself)", 1.0, vec![]),
        ];
        let mut all = BTreeMap::new();
        own(&blocks, &mut all, "top");
        let all: Vec<_> = all.iter().map(|(name, area)| (name.as_str(), area.lut)).collect();
        assert_eq!(all, [("a", 6.0), ("leaf", 7.0), ("top", 1.0)]);
    }

    #[test]
    fn growth_is_judged_by_its_limit() {
        let change = |was, is| Change {
            whole: [("LUT", was, is), ("FF", 5.0, 5.0), ("a", 0.0, 0.0), ("b", 2.0, 1.0)],
        };
        assert!(change(100.0, 103.0).judge(Some(3.0)).is_ok());
        let refused = change(100.0, 104.0).judge(Some(3.0)).unwrap_err().to_string();
        assert!(refused.contains("more than 3 %: LUT from 100 to 104."), "{refused}");
        assert!(change(100.0, 104.0).judge(None).is_ok());
        assert_eq!((percent(4.0, 5.0), percent(4.0, 4.0)), ("+25.0 %".into(), "the same".into()));
    }
}
