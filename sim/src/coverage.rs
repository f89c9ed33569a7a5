//! What testbenches reach: Verilator's counts of executed lines, taken branches
//! and toggled bits, added up per module.
//!
//! ```text
//!  TESSERA_COVERAGE=folder ─> every model counts ─> one .dat per instance ─┐
//!                             its Verilog, kept beside the model ──────────┴─> Coverage ─> per module
//! ```
//!
//! One module stands in the Verilog of several blocks, at other lines each time:
//! points are told apart by their place in the module. Numbered copies of a
//! generic block (`fifo_2`, `fifo_3`) count as one.

use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Environment variable: a folder. Set, every model is built with coverage, and
/// every instance leaves its counts there when it is dropped.
pub const FOLDER_VARIABLE: &str = "TESSERA_COVERAGE";

/// The folder of [`FOLDER_VARIABLE`], if it is set.
pub(crate) fn folder() -> Option<PathBuf> {
    std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// What a point counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Line,
    Branch,
    Toggle,
}

/// A place in a module: kind, line and column counted from the module's, and
/// what it is about (`if`, `count[3]:0->1`).
type Point = (Kind, usize, usize, String);

#[derive(Default)]
struct Module {
    points: BTreeMap<Point, u64>,
    /// Lines of its text, of the first Verilog it was seen in.
    text: Vec<String>,
}

/// Counts of many instances of many designs.
#[derive(Default)]
pub struct Coverage {
    modules: BTreeMap<String, Module>,
}

/// Points reached, of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reached {
    /// Points that were reached.
    pub hit: usize,
    /// All of them.
    pub of: usize,
}

impl Reached {
    /// In percent; 100 when there is nothing to reach.
    pub fn percent(self) -> f64 {
        match self.of {
            0 => 100.0,
            of => 100.0 * self.hit as f64 / of as f64,
        }
    }
}

/// What was reached of one module.
#[derive(Clone, Debug, Serialize)]
pub struct ModuleCoverage {
    /// Its name, without the design's prefix and a copy's number.
    pub module: String,
    /// Statements.
    pub lines: Reached,
    /// Both sides of every condition.
    pub branches: Reached,
    /// Both directions of every bit.
    pub toggles: Reached,
    /// Statements and sides of conditions never reached: the Verilog line.
    pub missed: Vec<String>,
}

/// Why counts cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CoverageError {
    /// The file is not Verilator's.
    #[error(
        "line {line} of the coverage counts is not Verilator's (`{text}`): remove the file and run again"
    )]
    Format {
        /// Which line, from 1.
        line: usize,
        /// What it says.
        text: String,
    },
    /// The counts are of other Verilog.
    #[error("the coverage counts name line {line} of module {module}, which the Verilog does not have: remove the file and run again")]
    Verilog {
        /// Whose line.
        module: String,
        /// Which.
        line: usize,
    },
}

impl Coverage {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an instance's counts (`dat`, Verilator's format), which was built
    /// from `verilog`.
    ///
    /// # Errors
    /// [`CoverageError`]: the two do not belong together, or `dat` is no such
    /// file. Points before the bad one are added.
    pub fn add(&mut self, dat: &str, verilog: &str) -> Result<(), CoverageError> {
        let text: Vec<&str> = verilog.lines().collect();
        let begins: BTreeMap<&str, usize> = text
            .iter()
            .enumerate()
            .filter_map(|(at, line)| {
                let name = line.strip_prefix("module ")?;
                Some((name.split(|c: char| !c.is_alphanumeric() && c != '_').next()?, at + 1))
            })
            .collect();
        for (at, row) in dat.lines().enumerate() {
            if row.starts_with('#') {
                continue;
            }
            let format = || CoverageError::Format { line: at + 1, text: row.chars().take(80).collect() };
            let (key, count) =
                row.strip_prefix("C '").and_then(|rest| rest.rsplit_once("' ")).ok_or_else(format)?;
            let fields: BTreeMap<&str, &str> =
                key.split('\u{1}').filter_map(|field| field.split_once('\u{2}')).collect();
            let field = |name: &str| fields.get(name).copied().ok_or_else(format);
            let number = |name: &str| field(name)?.parse::<usize>().map_err(|_| format());
            let (page, line) = (field("page")?, number("l")?);
            let (kind, module) = page.split_once('/').ok_or_else(format)?;
            let kind = match kind {
                "v_line" => Kind::Line,
                "v_branch" => Kind::Branch,
                "v_toggle" => Kind::Toggle,
                _ => return Err(format()),
            };
            let begin = begins.get(module).copied().filter(|begin| (*begin..=text.len()).contains(&line));
            let begin = begin.ok_or_else(|| CoverageError::Verilog { module: module.to_owned(), line })?;
            let entry = self.modules.entry(plain(module).to_owned()).or_default();
            let point = (kind, line - begin, number("n")?, field("o")?.to_owned());
            *entry.points.entry(point).or_default() += count.parse::<u64>().map_err(|_| format())?;
            while entry.text.len() <= line - begin {
                entry.text.push(text[begin + entry.text.len() - 1].trim().to_owned());
            }
        }
        Ok(())
    }

    /// All modules, by name.
    pub fn modules(&self) -> Vec<ModuleCoverage> {
        self.modules.iter().map(|(name, module)| module.summary(name)).collect()
    }
}

impl Module {
    fn summary(&self, name: &str) -> ModuleCoverage {
        let reached = |kind: Kind| {
            let points = || self.points.iter().filter(move |(point, _)| point.0 == kind);
            Reached { hit: points().filter(|(_, count)| **count > 0).count(), of: points().count() }
        };
        let missed = self.points.iter().filter(|(point, count)| point.0 != Kind::Toggle && **count == 0);
        ModuleCoverage {
            module: name.to_owned(),
            lines: reached(Kind::Line),
            branches: reached(Kind::Branch),
            toggles: reached(Kind::Toggle),
            missed: missed.map(|((_, line, _, what), _)| format!("{what}: {}", self.text[*line])).collect(),
        }
    }
}

/// A module's name without the exporter's prefix, size and copy number.
fn plain(module: &str) -> &str {
    let name = module.strip_prefix("tessera_").unwrap_or(module);
    match name.rsplit_once('_') {
        Some((rest, last)) if last.starts_with(|c: char| c.is_ascii_digit()) => rest,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERILOG: &str = "\
module top (
  input wire clk
);
  always @(*) begin
    a = 1'b0;
    if (b) a = 1'b1;
  end
endmodule
module tessera_fifo_2 (
  input wire clk
);
  always @(*) x = y;
endmodule
";

    fn row(page: &str, line: usize, what: &str, count: u64) -> String {
        format!(
            "C '\u{1}f\u{2}t.v\u{1}l\u{2}{line}\u{1}n\u{2}3\u{1}t\u{2}x\u{1}page\u{2}{page}\u{1}o\u{2}{what}\u{1}h\u{2}dut' {count}\n"
        )
    }

    #[test]
    fn counts_of_instances_and_copies_add_up() {
        let mut coverage = Coverage::new();
        let first = row("v_line/top", 4, "block", 3) + &row("v_branch/top", 6, "if", 0);
        coverage.add(&first, VERILOG).unwrap();
        let top = &coverage.modules()[0];
        assert_eq!((top.lines, top.branches), (Reached { hit: 1, of: 1 }, Reached { hit: 0, of: 1 }));
        assert_eq!(top.missed, ["if: if (b) a = 1'b1;"]);
        // Another design has the copy at other lines.
        let moved = VERILOG.replace("fifo_2", "fifo").replacen("module top", "\n\nmodule top", 1);
        coverage.add(&row("v_toggle/tessera_fifo_2", 10, "clk:0->1", 0), VERILOG).unwrap();
        coverage.add(&row("v_toggle/tessera_fifo", 12, "clk:0->1", 7), &moved).unwrap();
        coverage.add(&row("v_branch/top", 6, "if", 1), VERILOG).unwrap();
        let modules = coverage.modules();
        assert_eq!(modules.iter().map(|m| m.module.as_str()).collect::<Vec<_>>(), ["fifo", "top"]);
        assert_eq!(modules[0].toggles, Reached { hit: 1, of: 1 });
        assert!(modules[1].missed.is_empty());
    }

    #[test]
    fn what_does_not_belong_together_is_refused() {
        let mut coverage = Coverage::new();
        assert!(matches!(coverage.add("nonsense\n", VERILOG), Err(CoverageError::Format { line: 1, .. })));
        let other = row("v_line/other", 4, "block", 3);
        assert!(matches!(coverage.add(&other, VERILOG), Err(CoverageError::Verilog { line: 4, .. })));
        let beyond = row("v_line/top", 400, "block", 3);
        assert!(matches!(coverage.add(&beyond, VERILOG), Err(CoverageError::Verilog { line: 400, .. })));
    }
}
