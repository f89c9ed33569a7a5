//! Where the exporter's Verilog can be broken, one small mistake at a time.
//!
//! Reads the text line by line, as `rtl/src/emit/print.rs` writes it: one
//! statement per line, binary operators between spaces, every constant with
//! its width. Hand-written leaves keep to that, or lose some mutants.

mod reader;

use reader::Reader;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use tessera_abi::params::CONFIGS;

/// What kind of mistake it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// `if (x)` has become `if (!x)`.
    Inverted,
    /// `==` for `!=`, or the reverse.
    Equality,
    /// `<` for `<=`, `>` for `>=`, or the reverse.
    Boundary,
    /// And for or, or for and, or for exclusive or.
    Logic,
    /// `+` for `-`, or the reverse.
    Sum,
    /// A constant that is added or subtracted is 0.
    NoStep,
    /// A shift the other way.
    Shift,
    /// A constant is off by one.
    Constant,
    /// An assignment that follows another of the same signal does nothing; a
    /// register or memory is not written.
    Dropped,
    /// The value assigned is zero.
    Zero,
    /// The value assigned is all ones.
    Ones,
}

impl Operator {
    /// All of them.
    pub const ALL: [Operator; 11] = [
        Operator::Inverted,
        Operator::Equality,
        Operator::Boundary,
        Operator::Logic,
        Operator::Sum,
        Operator::NoStep,
        Operator::Shift,
        Operator::Constant,
        Operator::Dropped,
        Operator::Zero,
        Operator::Ones,
    ];

    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            Operator::Inverted => "inverted",
            Operator::Equality => "equality",
            Operator::Boundary => "boundary",
            Operator::Logic => "logic",
            Operator::Sum => "sum",
            Operator::NoStep => "no-step",
            Operator::Shift => "shift",
            Operator::Constant => "constant",
            Operator::Dropped => "dropped",
            Operator::Zero => "zero",
            Operator::Ones => "ones",
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One possible mistake in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The kernel the module was made from: see [`block_of`].
    pub block: String,
    /// The module that has it.
    pub module: String,
    /// Line of the text, from 1.
    pub line: usize,
    /// What kind of mistake.
    pub operator: Operator,
    /// Names the mistake within its block, and the same one in a block of
    /// another size: made from the statement without its numbers.
    pub id: String,
    /// The statement up to what is replaced.
    head: String,
    /// What is replaced.
    value: String,
    /// By what; `None` when the statement is dropped.
    wrong: Option<String>,
    /// The statement behind it.
    tail: String,
    /// Lines of the statement.
    lines: usize,
}

impl Site {
    /// `block:id`, as `TESSERA_MUTANT` takes it.
    pub fn name(&self) -> String {
        format!("{}:{}", self.block, self.id)
    }

    /// The statement as it is, on one line.
    pub fn before(&self) -> String {
        one_line(&format!("{}{}{}", self.head, self.value, self.tail))
    }

    /// The statement with the mistake, on one line.
    pub fn after(&self) -> String {
        match &self.wrong {
            Some(wrong) => one_line(&format!("{}{wrong}{}", self.head, self.tail)),
            None => one_line(&format!("{}// {}{}", self.head, self.value, self.tail)),
        }
    }

    /// The statement with the mistake while the module's mutant is `number`.
    fn guarded(&self, number: usize) -> String {
        let Site { head, value, tail, .. } = self;
        match &self.wrong {
            Some(wrong) => format!("{head}({SELECTED} == {number}) ? ({wrong}) : ({value}){tail}"),
            None => format!("{head}if ({SELECTED} != {number}) {value}{tail}"),
        }
    }
}

fn one_line(text: &str) -> String {
    let mut out = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if out.len() > 240 {
        let cut = (0..=237).rev().find(|at| out.is_char_boundary(*at)).unwrap_or(0);
        out.truncate(cut);
        out.push_str("...");
    }
    out
}

/// The variable of an instrumented module that says which mutant acts.
const SELECTED: &str = "tessera_mutant_selected";
/// The imported function it is initialised from.
pub(super) const FUNCTION: &str = "tessera_mutant_number";

/// The kernel of a module, from its name: without the exporter's prefix, the
/// numbers that tell its variants apart, and the ending that a testbench gives
/// a configuration. `tessera_fifo_7` and `fifo` are `fifo`, `tessera_dff_32` is
/// `dff`, `bitmap_nic512` is `bitmap`.
pub fn block_of(module: &str) -> String {
    let mut name = module.strip_prefix("tessera_").unwrap_or(module);
    while let Some((stem, end)) = name.rsplit_once('_') {
        let number = end.starts_with(|c: char| c.is_ascii_digit())
            && end.chars().all(|c| c.is_ascii_digit() || c == 'x');
        let sized = CONFIGS.iter().any(|config| config.name == end) || ["small", "tight"].contains(&end);
        if !number && !sized {
            break;
        }
        name = stem;
    }
    name.to_owned()
}

/// Names of the modules of a text.
pub fn modules(verilog: &str) -> impl Iterator<Item = &str> {
    verilog.lines().filter_map(|line| line.strip_prefix("module ")?.split_whitespace().next())
}

/// Every mistake that can be made in the modules of `blocks`.
pub fn sites(verilog: &str, blocks: &BTreeSet<String>) -> Vec<Site> {
    let lines: Vec<&str> = verilog.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let name = lines[at].strip_prefix("module ").and_then(|rest| rest.split_whitespace().next());
        let Some(name) = name else {
            at += 1;
            continue;
        };
        let end = lines[at..].iter().position(|line| *line == "endmodule").map_or(lines.len(), |n| at + n);
        let block = block_of(name);
        if blocks.contains(&block) {
            Reader::new(&lines, name, block).read(at..end, &mut found);
        }
        at = end;
    }
    found
}

/// The text with each of `chosen` in it, asleep: the mutant whose number, from
/// 1, the imported function returns wakes up.
pub(super) fn instrument(verilog: &str, chosen: &[(usize, &Site)]) -> String {
    let mut replaced: HashMap<usize, (String, usize)> = HashMap::new();
    let mut touched: BTreeSet<&str> = BTreeSet::new();
    for (number, site) in chosen {
        replaced.insert(site.line - 1, (site.guarded(*number), site.lines));
        touched.insert(&site.module);
    }
    let mut out = String::with_capacity(verilog.len() + 4096);
    let mut skip = 0;
    let mut module = None;
    for (at, line) in verilog.lines().enumerate() {
        if let Some(rest) = line.strip_prefix("module ") {
            if out.find("import \"DPI-C\"").is_none() {
                out.push_str(&format!("import \"DPI-C\" function int {FUNCTION}();\n"));
            }
            module = rest.split_whitespace().next();
        }
        if skip > 0 {
            skip -= 1;
            continue;
        }
        match replaced.get(&at) {
            Some((text, lines)) => {
                out.push_str(text);
                skip = lines - 1;
            }
            None => out.push_str(line),
        }
        out.push('\n');
        if line == ");" && module.is_some_and(|module| touched.contains(module)) {
            out.push_str(&format!("  integer {SELECTED};\n  initial {SELECTED} = {FUNCTION}();\n"));
            module = None;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
// head

module box (
  input  wire       clock,
  input  wire [7:0] a,
  output wire [7:0] q
);
  localparam [7:0] limit = 8'h10;
  localparam [1:0] STATE_IDLE = 2'd0;

  reg  [7:0] next;
  wire full;

  assign full = a < limit;

  always @* begin
    next = q;
    if (full) begin
      next = q + 8'h1;
    end else if (a == 8'h3) begin
      next[3:0] = 4'h0;
    end
  end

  tessera_dff_8 state (
    .clock(clock),
    .d(next & 8'h7f),
    .q(q)
  );
endmodule

module tessera_dff_8 (
  input  wire       clock,
  input  wire [7:0] d,
  output reg  [7:0] q
);
  initial q = 8'h0;
  always @(posedge clock) q <= d;
endmodule
";

    fn all(text: &str, block: &str) -> Vec<Site> {
        sites(text, &BTreeSet::from([block.to_owned()]))
    }

    fn describe(sites: &[Site]) -> Vec<String> {
        sites.iter().map(|s| format!("{} {}: {}", s.line, s.operator, s.after())).collect()
    }

    #[test]
    fn every_operator_finds_its_places() {
        let mut found = describe(&all(TEXT, "box"));
        found.sort();
        let mut expected = vec![
            "8 constant: wire [7:0] limit = 8'h11;",
            "14 boundary: assign full = a <= limit;",
            "14 zero: assign full = {1{1'b0}};",
            "14 ones: assign full = {1{1'b1}};",
            "17 zero: next = {8{1'b0}};",
            "17 ones: next = {8{1'b1}};",
            "18 inverted: if (!(full)) begin",
            "19 sum: next = q - 8'h1;",
            "19 constant: next = q + 8'h0;",
            "19 no-step: next = q + 8'h0;",
            "19 zero: next = {8{1'b0}};",
            "19 ones: next = {8{1'b1}};",
            "19 dropped: // next = q + 8'h1;",
            "20 inverted: end else if (!(a == 8'h3)) begin",
            "20 equality: end else if (a != 8'h3) begin",
            "20 constant: end else if (a == 8'h2) begin",
            "21 constant: next[3:0] = 4'h1;",
            "21 ones: next[3:0] = {4{1'b1}};",
            "21 dropped: // next[3:0] = 4'h0;",
            "27 logic: .d(next | 8'h7f),",
            "27 constant: .d(next & 8'h7e),",
        ];
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn leaves_are_read_too() {
        let found = describe(&all(TEXT, "dff"));
        assert_eq!(
            found,
            [
                "38 zero: always @(posedge clock) q <= {8{1'b0}};",
                "38 ones: always @(posedge clock) q <= {8{1'b1}};",
                "38 dropped: always @(posedge clock) // q <= d;",
            ]
        );
        let table = "module rom (\n  output reg [7:0] q\n);\n  6'h3: q = 8'h80;\nendmodule\n";
        let found = describe(&all(table, "rom"));
        assert!(found.contains(&"4 constant: 6'h3: q = 8'h81;".to_owned()), "{found:?}");
        let matrix = "module m (\n  output reg [1:0] q\n);\n  assign q = {^(d & 8'h3),\n    ^(d & 8'h5)};\nendmodule\n";
        let found = all(matrix, "m");
        assert!(found.iter().any(|s| s.lines == 2 && s.after().contains("8'h4)};")), "{found:?}");
    }

    #[test]
    fn an_instrumented_text_differs_only_behind_its_guards() {
        let found = all(TEXT, "box");
        let pick = |line, operator| {
            found.iter().find(|s| s.line == line && s.operator == operator).expect("there is one")
        };
        let chosen = [
            (1, pick(8, Operator::Constant)),
            (2, pick(19, Operator::Sum)),
            (3, pick(21, Operator::Dropped)),
            (4, pick(27, Operator::Logic)),
        ];
        let text = instrument(TEXT, &chosen);
        for line in [
            "import \"DPI-C\" function int tessera_mutant_number();",
            "  initial tessera_mutant_selected = tessera_mutant_number();",
            "  wire [7:0] limit = (tessera_mutant_selected == 1) ? (8'h11) : (8'h10);",
            "      next = (tessera_mutant_selected == 2) ? (q - 8'h1) : (q + 8'h1);",
            "      if (tessera_mutant_selected != 3) next[3:0] = 4'h0;",
            "    .d((tessera_mutant_selected == 4) ? (next | 8'h7f) : (next & 8'h7f)),",
        ] {
            assert_eq!(text.lines().filter(|have| *have == line).count(), 1, "{line} in\n{text}");
        }
        assert_eq!(text.lines().count(), TEXT.lines().count() + 3, "the other module stays as it is");
    }

    #[test]
    fn a_mistake_has_one_name_in_every_size() {
        let wide =
            TEXT.replace("[7:0]", "[15:0]").replace("8'h", "16'h").replace("tessera_dff_8", "tessera_dff_16");
        let names = |text| all(text, "box").iter().map(Site::name).collect::<Vec<_>>();
        assert_eq!(names(TEXT), names(&wide));
        let mut distinct = names(TEXT);
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), names(TEXT).len());
    }

    #[test]
    fn modules_belong_to_blocks() {
        for (module, block) in [
            ("tessera_fifo_12", "fifo"),
            ("tessera_sdp_ram_1x128_2", "sdp_ram"),
            ("tessera_dff_32", "dff"),
            ("bitmap_nic512", "bitmap"),
            ("tessera_ring_reader_2", "ring_reader"),
            ("rx_parse", "rx_parse"),
            ("tessera_nic512", "nic512"),
            ("tessera_context", "context"),
            ("receiver_nic512", "receiver"),
        ] {
            assert_eq!(block_of(module), block);
        }
    }
}
