//! What has run, as a page: a table, then each command with what it printed.

use std::fmt::Write;

use super::Row;
use crate::guest::output;

/// Lines of an output that are shown: of its beginning, and of its end.
const HEAD: usize = 16;
const TAIL: usize = 12;
/// Characters of a line that are shown.
const WIDTH: usize = 180;

/// Packages whose versions matter.
const PACKAGES: [&str; 8] = [
    "ibverbs-utils",
    "perftest",
    "ucx-utils",
    "openmpi-bin",
    "mpich",
    "tshark",
    "qemu-system-x86",
    "libibverbs-dev",
];

/// An output as it is shown: without what terminals hide, and not all of it if it is long.
fn shown(text: &str) -> Vec<String> {
    let clean = |line: &str| {
        let line = line.rsplit('\r').next().unwrap_or(line);
        let line = line.chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| !c.is_control());
        line.take(WIDTH).collect::<String>().trim_end().to_owned()
    };
    let lines: Vec<_> =
        text.trim_end_matches('\r').lines().map(clean).filter(|line| !line.is_empty()).collect();
    if lines.len() <= HEAD + TAIL + 1 {
        return lines;
    }
    let left_out = format!("... {} lines more ...", lines.len() - HEAD - TAIL);
    [&lines[..HEAD], &[left_out], &lines[lines.len() - TAIL..]].concat()
}

/// A command in lines that are not too long.
fn folded(command: &str) -> String {
    let mut lines = vec![String::new()];
    for word in command.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < WIDTH - 4 => {
                let space = if line.is_empty() { "" } else { " " };
                line.push_str(space);
                line.push_str(word);
            }
            _ => lines.push(format!("    {word}")),
        }
    }
    lines.join(" \\\n")
}

fn versions() -> String {
    let mut query = std::process::Command::new("dpkg-query");
    query.args(["-W", "-f", "${Package} ${Version}\n"]).args(PACKAGES);
    let listed = output(&mut query).unwrap_or_default();
    listed.lines().collect::<Vec<_>>().join(", ")
}

/// The page.
pub fn page(rows: &[Row]) -> String {
    let mut text = String::from(
        "# Programs that have run\n\n\
         Made by `cargo tessera test --peers --markdown docs/peers.md`; [co-verification.md](co-verification.md) says what it is about. Every capture was read: nothing malformed for tshark, which\n\
         takes each frame for RoCEv2's, and each ICRC is that of its bytes (`cli/src/peers/icrc.py`); of a run that damages frames there is none to read.\n",
    );
    let versions = versions();
    if !versions.is_empty() {
        let _ = writeln!(text, "Debian's {versions}.");
    }
    text += "\n| | seconds | frames | lost |\n|---|---|---|---|\n";
    for row in rows {
        let state = match (row.ok, row.skipped) {
            (true, _) => "",
            (_, true) => ", **skipped**",
            _ => ", **failed**",
        };
        let none = |count: u64| if count == 0 { String::new() } else { count.to_string() };
        let (frames, lost) = (none(row.frames), none(row.lost));
        let _ = writeln!(text, "| {}{state} | {:.1} | {frames} | {lost} |", row.name, row.seconds);
    }
    for row in rows {
        let _ = write!(text, "\n## {}\n\n", row.name);
        if let Some(build) = &row.build {
            let _ = write!(text, "{build}\n\n");
        }
        let _ = write!(text, "```console\n$ {}\n", folded(&row.command));
        let said = if row.why.is_empty() { &row.output } else { &row.why };
        shown(said).iter().for_each(|line| text += &format!("{line}\n"));
        text += "```\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_outputs_are_cut_in_the_middle() {
        let text: String = (0..100).map(|line| format!("line {line}\n")).collect();
        let lines = shown(&text);
        assert_eq!(lines.len(), HEAD + TAIL + 1);
        assert_eq!((lines[HEAD].as_str(), lines[HEAD + TAIL].as_str()), ("... 72 lines more ...", "line 99"));
        assert_eq!(shown("a\tb  \n\n\u{1b}c\n1 %\r2 %\n"), ["a b", "c", "2 %"]);
    }

    #[test]
    fn commands_are_folded_between_words() {
        let command = vec!["word"; 100].join(" ");
        let lines = folded(&command);
        assert!(lines.lines().count() == 3 && lines.lines().all(|line| line.len() <= WIDTH), "{lines}");
        assert_eq!(lines.replace(" \\\n   ", ""), command);
    }
}
