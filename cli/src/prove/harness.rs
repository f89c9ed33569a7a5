//! Harness files: what the comment at their beginning says.
//!
//! ```text
//!  // block: fifo                         the block, of `blocks.rs`
//!  // of: 8-bit words, 4 places           on which parameters
//!  // proof order: bounded 24, quick      `proof NAME: induction|bounded DEPTH[, quick]`
//!  //   Words come out in their order.    what it says
//!  // broken order within 12: a word overtakes
//!  //   - exported Verilog
//!  //   + what stands there instead
//!  // cover: 16
//! ```
//!
//! A proof named `order` is the harness with `PROVE_order` defined, covers with `COVER`,
//! and what only holds an induction together with `INDUCTION`. `probe behind LINE` puts
//! the lines below it behind that line of the export: wires that drive nothing.

/// How a property is proved, and how deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// For all time: from a state in which it held this many clocks follow only such.
    Induction(usize),
    /// For this many clocks from power-up on.
    Bounded(usize),
}

/// Properties that are proved together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    pub name: String,
    pub depth: Depth,
    pub quick: bool,
    pub says: String,
}

/// A mistake that a proof must notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    pub proof: String,
    /// Clocks within which it shows.
    pub within: usize,
    pub what: String,
    pub from: String,
    pub to: String,
}

/// A harness and what its comment says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Harness {
    pub block: String,
    pub of: String,
    pub proofs: Vec<Proof>,
    pub broken: Vec<Broken>,
    /// Clocks within which every cover is reached.
    pub cover: usize,
    /// Probes: the line of the export, and what comes behind it.
    pub probes: Vec<(String, String)>,
    pub text: &'static str,
}

/// Why a harness is none; names the line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {what}")]
pub struct HarnessError {
    pub file: String,
    pub what: String,
}

fn number(text: &str) -> Option<usize> {
    text.trim().parse().ok().filter(|depth| (1..=1000).contains(depth))
}

fn proof(head: &str) -> Option<Proof> {
    let (name, how) = head.split_once(':')?;
    let (how, quick) = match how.split_once(',') {
        Some((how, quick)) if quick.trim() == "quick" => (how, true),
        Some(_) => return None,
        None => (how, false),
    };
    let depth = match how.trim().split_once(' ')? {
        ("induction", depth) => Depth::Induction(number(depth)?),
        ("bounded", depth) => Depth::Bounded(number(depth)?),
        _ => return None,
    };
    Some(Proof { name: name.trim().into(), depth, quick, says: String::new() })
}

fn broken(head: &str) -> Option<Broken> {
    let (head, what) = head.split_once(':')?;
    let (proof, within) = head.split_once(" within ")?;
    Some(Broken {
        proof: proof.trim().into(),
        within: number(within)?,
        what: what.trim().into(),
        from: String::new(),
        to: String::new(),
    })
}

/// What continuation lines belong to.
enum Last {
    None,
    Proof,
    Broken,
    Probe,
}

fn add(line: &mut String, text: &str, with: char) {
    if !line.is_empty() {
        line.push(with);
    }
    line.push_str(text);
}

impl Harness {
    /// Reads the comment at the beginning of `text`, the file `file`.
    ///
    /// # Errors
    /// [`HarnessError`] for a line that says nothing known, and for a broken
    /// twin without a proof or a proof without one.
    pub fn parse(file: &str, text: &'static str) -> Result<Self, HarnessError> {
        let fail = |what: String| HarnessError { file: file.into(), what };
        let mut harness = Self {
            block: String::new(),
            of: String::new(),
            proofs: Vec::new(),
            broken: Vec::new(),
            cover: 0,
            probes: Vec::new(),
            text,
        };
        let mut last = Last::None;
        for line in text.lines().map_while(|line| line.strip_prefix("//")) {
            let unknown = || fail(format!("\"//{line}\" is no line of a harness's head"));
            if let Some(more) = line.strip_prefix("   ") {
                let (line, text, with) = match (&last, more.get(..2)) {
                    (Last::Proof, _) => (harness.proofs.last_mut().map(|p| &mut p.says), more.trim(), ' '),
                    (Last::Broken, Some("- ")) => {
                        (harness.broken.last_mut().map(|b| &mut b.from), &more[2..], '\n')
                    }
                    (Last::Broken, Some("+ ")) => {
                        (harness.broken.last_mut().map(|b| &mut b.to), &more[2..], '\n')
                    }
                    (Last::Probe, _) => (harness.probes.last_mut().map(|(_, probe)| probe), more, '\n'),
                    _ => (None, "", ' '),
                };
                add(line.ok_or_else(unknown)?, text, with);
                continue;
            }
            let line = line.trim();
            if line.is_empty() || line.starts_with("SPDX-") {
                continue;
            }
            let rest = |head: &str| line.strip_prefix(head).map(str::trim);
            last = Last::None;
            if let Some(block) = rest("block:") {
                harness.block = block.into();
            } else if let Some(of) = rest("of:") {
                harness.of = of.into();
            } else if let Some(cover) = rest("cover:") {
                harness.cover = number(cover).ok_or_else(unknown)?;
            } else if let Some(head) = rest("proof ") {
                harness.proofs.push(proof(head).ok_or_else(unknown)?);
                last = Last::Proof;
            } else if let Some(head) = rest("broken ") {
                harness.broken.push(broken(head).ok_or_else(unknown)?);
                last = Last::Broken;
            } else if let Some(behind) = rest("probe behind ") {
                harness.probes.push((behind.into(), String::new()));
                last = Last::Probe;
            } else {
                return Err(unknown());
            }
        }
        harness.check().map_err(fail)?;
        Ok(harness)
    }

    fn check(&self) -> Result<(), String> {
        if self.block.is_empty() || self.of.is_empty() || self.proofs.is_empty() || self.cover == 0 {
            return Err("a harness has lines block, of, proof and cover".into());
        }
        for proof in &self.proofs {
            if !self.broken.iter().any(|broken| broken.proof == proof.name) {
                return Err(format!(
                    "proof {} has no broken twin: nobody knows whether it can fail",
                    proof.name
                ));
            }
            if !self.text.contains(&format!("`ifdef PROVE_{}\n", proof.name)) {
                return Err(format!("proof {} has no `ifdef PROVE_{0}", proof.name));
            }
        }
        match self.broken.iter().find(|broken| !self.proofs.iter().any(|proof| proof.name == broken.proof)) {
            Some(broken) => Err(format!("broken {}: there is no such proof", broken.proof)),
            None => Ok(()),
        }
    }

    /// The exported Verilog with the probes in it.
    ///
    /// # Errors
    /// [`HarnessError`] when the line that one goes behind is not there once.
    pub fn probed(&self, verilog: &str) -> Result<String, HarnessError> {
        let mut probed = verilog.to_owned();
        for (behind, probe) in &self.probes {
            probed = self.replaced(&probed, behind, &format!("{behind}\n{probe}"))?;
        }
        Ok(probed)
    }

    /// `verilog` with the mistake in it.
    ///
    /// # Errors
    /// [`HarnessError`] when the text that it is in is not there once.
    pub fn broken(&self, verilog: &str, broken: &Broken) -> Result<String, HarnessError> {
        self.replaced(verilog, &broken.from, &broken.to)
    }

    fn replaced(&self, verilog: &str, from: &str, to: &str) -> Result<String, HarnessError> {
        match verilog.matches(from).count() {
            1 if !from.is_empty() => Ok(verilog.replacen(from, to, 1)),
            count => Err(HarnessError {
                file: format!("formal/{}.sv", self.block),
                what: format!(
                    "the exported Verilog has {count} times \"{from}\", 1 is needed\n  \
                     remedy: take the text from target/proofs/{}/{}.v",
                    self.block, self.block
                ),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "// SPDX-License-Identifier: MIT\n// block: gate\n// of: one bit\n\
        // probe behind always @(*)\n//   wire probe = a;\n\
        // proof open: induction 2, quick\n//   It opens,\n//   and shuts.\n\
        // proof time: bounded 24\n//   In time.\n\
        // broken open within 5: it stays shut\n//   - a & b\n//   + a & ~b\n\
        // broken time within 9: never\n//   - if (c)\n//   - q <= d;\n//   + \n// cover: 7\n\
        module proof;\n`ifdef PROVE_open\n`endif\n`ifdef PROVE_time\n`endif\n// proof of nothing\nendmodule\n";

    #[test]
    fn a_head_says_what_is_proved_how_deep_and_with_which_mistakes() {
        let harness = Harness::parse("gate.sv", GOOD).unwrap();
        assert_eq!((harness.block.as_str(), harness.of.as_str(), harness.cover), ("gate", "one bit", 7));
        let depths: Vec<_> = harness.proofs.iter().map(|p| (p.name.as_str(), p.depth, p.quick)).collect();
        assert_eq!(depths, [("open", Depth::Induction(2), true), ("time", Depth::Bounded(24), false)]);
        assert_eq!(harness.proofs[0].says, "It opens, and shuts.");
        let broken: Vec<_> =
            harness.broken.iter().map(|b| (b.within, b.from.as_str(), b.to.as_str())).collect();
        assert_eq!(broken, [(5, "a & b", "a & ~b"), (9, "if (c)\nq <= d;", "")]);
        let verilog = "always @(*)\n x = a & b;\n";
        assert_eq!(harness.probed(verilog).unwrap(), "always @(*)\nwire probe = a;\n x = a & b;\n");
        assert_eq!(harness.broken(verilog, &harness.broken[0]).unwrap(), "always @(*)\n x = a & ~b;\n");
        let absent = harness.broken(verilog, &harness.broken[1]).unwrap_err().to_string();
        assert!(absent.contains("formal/gate.sv") && absent.contains("0 times \"if (c)"), "{absent}");
        let twice = harness.broken("a & b, a & b", &harness.broken[0]).unwrap_err().to_string();
        assert!(twice.contains("2 times"), "{twice}");
    }

    #[test]
    fn a_head_that_makes_no_sense_is_refused_by_the_line() {
        for (of, by, says) in [
            ("induction 2, quick", "induction 2, slow", "induction 2, slow"),
            ("induction 2", "induction 0", "induction 0"),
            ("induction 2", "magic 2", "magic 2"),
            ("broken open within 5", "broken opens within 5", "proof open has no broken twin"),
            ("broken open within 5", "broken open", "broken open:"),
            ("// cover: 7\n", "", "block, of, proof and cover"),
            ("`ifdef PROVE_time", "`ifdef TIME", "proof time has no `ifdef"),
            ("//   - a & b\n", "//   a & b\n", "a & b"),
            ("// of: one bit", "// on: one bit", "on: one bit"),
            ("// of: one bit", "// of: one bit\n//   and one more", "and one more"),
        ] {
            let text: &'static str = GOOD.replacen(of, by, 1).leak();
            let refused = Harness::parse("gate.sv", text).unwrap_err().to_string();
            assert!(refused.starts_with("gate.sv: ") && refused.contains(says), "{by}: {refused}");
        }
    }
}
