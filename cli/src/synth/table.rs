//! What a run of `synth` found, as tables.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::report::{Area, Block};
use super::ways::{Beginning, Way, Ways};
use super::Synthesised;

pub fn number(value: f64) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

/// A row of the table: if ways are known, with the longest that ends there.
fn row(name: &str, area: &Area, ways: Option<Option<&Way>>) -> Vec<String> {
    let mut row = vec![name.to_owned()];
    row.extend(area.columns().map(number));
    match ways {
        Some(Some(way)) => row.extend([way.ps.to_string(), way.luts.to_string()]),
        Some(None) => row.extend([String::new(), String::new()]),
        None => {}
    }
    row
}

const HEAD: [&str; 10] =
    ["", "LUT", "as RAM", "FF", "block RAM", "UltraRAM", "DSP", "carry", "way, ps", "its LUTs"];
/// Those of them that are there without ways.
const HEAD_OF_AREA: usize = 8;
/// LUTs (as many FFs, or a block RAM) below which a block inside a block gets no row: JSON has it.
const ROW: f64 = 200.0;

/// All modules that have areas of their own.
fn modules<'a>(blocks: &'a [Block], into: &mut BTreeSet<&'a str>) {
    for block in blocks {
        into.insert(&block.module);
        modules(&block.blocks, into);
    }
}

/// The table of blocks, and what its ways are found by.
struct Rows<'a> {
    ways: Option<&'a Ways>,
    modules: BTreeSet<&'a str>,
    rows: Vec<Vec<String>>,
}

impl<'a> Rows<'a> {
    fn add(&mut self, blocks: &'a [Block], path: &mut Vec<&'a str>) {
        let depth = path.len();
        for block in blocks {
            let Area { lut, ff, block_ram, ultra_ram, .. } = block.area;
            if depth > 0 && lut.max(ff) < ROW && block_ram + ultra_ram < 1.0 {
                continue;
            }
            let itself = block.module == "(itself)";
            if !itself {
                path.push(&block.module);
            }
            let times = if block.count == 1 { String::new() } else { format!(" x {}", block.count) };
            let way = self.ways.map(|ways| ways.of_row(path, itself, &self.modules));
            self.rows.push(row(&format!("{}{}{times}", ". ".repeat(depth), block.module), &block.area, way));
            self.add(&block.blocks, path);
            path.truncate(depth);
        }
    }
}

impl Synthesised {
    fn rows(&self) -> Vec<Vec<String>> {
        let ways = self.ways.as_ref();
        let whole = ways.map(Ways::longest);
        let mut rows: Vec<_> = self.total.iter().map(|total| row("as one", total, whole)).collect();
        rows.extend(self.sum.iter().map(|sum| row("its blocks together", sum, whole.map(|_| None))));
        let mut all = Rows { ways, modules: BTreeSet::new(), rows };
        modules(&self.blocks, &mut all.modules);
        all.add(&self.blocks, &mut Vec::new());
        all.rows
    }

    fn head(&self) -> Vec<String> {
        let columns = if self.ways.is_some() { HEAD.len() } else { HEAD_OF_AREA };
        HEAD[..columns].iter().map(|name| (*name).to_owned()).collect()
    }

    fn way(&self) -> String {
        let way = self.lut_levels.map(|luts| format!("longest way: {luts} LUTs"));
        let time = self.logic_ps.map(|ps| format!("{:.2} ns of logic", ps as f64 / 1000.0));
        let longest = self.ways.as_ref().and_then(Ways::longest);
        let ends = longest.map(|way| format!("from {} to {}", way.from, way.to));
        way.into_iter().chain(time).chain(ends).collect::<Vec<_>>().join(", ")
    }

    /// What else is known of the whole.
    fn notes(&self) -> Vec<String> {
        let mut notes = self.ways.as_ref().map(Ways::notes).unwrap_or_default();
        notes.extend(self.tables.map(|tables| {
            let unread = self.ways.as_ref().map_or(0, |ways| ways.unread);
            format!(
                "tables of six inputs, where two LUTs of five in all share one: {tables:.0}, as vendors count, without \
                 {unread} of memories that nobody reads"
            )
        }));
        notes
    }

    pub fn print(&self) {
        println!("{} on {}, {} ({:.0} s)", self.design, self.target.name(), self.yosys, self.seconds);
        let rows = self.rows();
        let width = rows.iter().map(|row| row[0].len()).max().unwrap_or(0);
        for row in std::iter::once(&self.head()).chain(&rows) {
            let cells: Vec<String> = row[1..].iter().map(|cell| format!("{cell:>9}")).collect();
            println!("  {:<width$}{}", row[0], cells.join(" "));
        }
        if !self.way().is_empty() {
            println!("  {}", self.way());
        }
        for note in self.notes() {
            println!("  {note}");
        }
        for detail in self.ways.iter().flat_map(|ways| &ways.details) {
            println!("  {}", detail.replace('\n', "\n  "));
        }
        // As many as ways were asked for.
        for ways in self.ways.iter().filter(|ways| !ways.details.is_empty()) {
            for beginning in ways.beginnings.iter().take(ways.details.len()) {
                let Beginning { from, ends, ps } = beginning;
                println!("  {ends} ends above 3.0 ns, {ps} ps at most, begin at {from}");
            }
        }
        for aim in &self.aims {
            let verdict = if aim.met { "met" } else { "not met" };
            println!("  {}: {} of {} at most, {verdict}", aim.what, aim.is, aim.at_most);
        }
    }

    pub fn markdown(&self) -> String {
        let mut text = format!("### {} on {}\n\n", self.design, self.target.name());
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let head = self.head();
        text += &line(&head);
        text += &line(&vec!["---".to_owned(); head.len()]);
        self.rows().iter().for_each(|row| text += &line(row));
        let way = if self.way().is_empty() { String::new() } else { format!("{}. ", self.way()) };
        let notes: String = self.notes().iter().map(|note| format!("{note}. ")).collect();
        let _ = write!(text, "\n{way}{notes}{}, {:.0} s.", self.yosys, self.seconds);
        for aim in &self.aims {
            let verdict = if aim.met { "met" } else { "**not met**" };
            let _ = write!(text, " {}: {} of {} at most, {verdict}.", aim.what, aim.is, aim.at_most);
        }
        text + "\n"
    }
}
