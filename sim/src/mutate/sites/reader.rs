//! The Verilog of one module, line by line, and the mistakes it has room for.

use super::{Operator, Site};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

/// Reads one module.
pub(super) struct Reader<'a> {
    lines: &'a [&'a str],
    module: &'a str,
    block: String,
    widths: HashMap<&'a str, usize>,
    /// Signals assigned so far in the `always` block being read.
    assigned: BTreeSet<&'a str>,
    /// How often a mistake of the same description was found.
    seen: BTreeMap<String, usize>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(lines: &'a [&'a str], module: &'a str, block: String) -> Self {
        Reader {
            lines,
            module,
            block,
            widths: HashMap::new(),
            assigned: BTreeSet::new(),
            seen: BTreeMap::new(),
        }
    }

    pub(super) fn read(&mut self, range: Range<usize>, found: &mut Vec<Site>) {
        let mut at = range.start;
        while at < range.end {
            let line = self.lines[at];
            let text = line.trim_start();
            let indent = &line[..line.len() - text.len()];
            let mut count = 1;
            if text.starts_with("always") {
                self.assigned.clear();
            }
            if text.starts_with("//") {
            } else if let Some((name, width)) = declaration(text) {
                self.widths.insert(name, width);
            } else if let Some(rest) = text.strip_prefix("localparam ") {
                self.parameter(indent, rest, at, found);
            } else if let Some(test) = between(text, "if (", ") begin") {
                self.test(&format!("{indent}if ("), test, ") begin", at, found);
            } else if let Some(test) = between(text, "end else if (", ") begin") {
                self.test(&format!("{indent}end else if ("), test, ") begin", at, found);
            } else if let Some((head, value, tail)) = connection(text) {
                self.value(&format!("{indent}{head}"), value, tail, 1, at, found);
            } else if let Some((prefix, _)) = statement(text) {
                let end = (at..range.end).find(|at| self.lines[*at].ends_with(';')).unwrap_or(at);
                count = end - at + 1;
                self.statement(indent, prefix, at, count, found);
            }
            at += count;
        }
    }

    /// `if (test) begin`
    fn test(&mut self, head: &str, test: &str, tail: &str, at: usize, found: &mut Vec<Site>) {
        let wrong = Some(format!("!({test})"));
        self.push(Operator::Inverted, "", (head, test, wrong, tail), 1, at, found);
        self.value(head, test, tail, 1, at, found);
    }

    /// A named number that a statement uses; labels, in capitals, stay.
    fn parameter(&mut self, indent: &str, rest: &'a str, at: usize, found: &mut Vec<Site>) {
        let Some((left, value)) = rest.split_once(" = ") else { return };
        let (range, name) = left.rsplit_once(' ').map_or(("", left), |(range, name)| (range, name));
        if name.chars().any(|c| c.is_ascii_uppercase()) {
            return;
        }
        let head = format!("{indent}wire {range}{}{name} = ", if range.is_empty() { "" } else { " " });
        self.value(&head, value.trim_end_matches(';'), ";", 1, at, found);
    }

    /// `target = value;` behind `prefix`, on `count` lines.
    fn statement(&mut self, indent: &str, prefix: &str, at: usize, count: usize, found: &mut Vec<Site>) {
        let lines = &self.lines[at..at + count];
        let first = lines[0].trim_start();
        let rest = &first[prefix.len()..];
        let Some((target, sign)) = [" <= ", " = "]
            .iter()
            .filter_map(|sign| rest.find(sign).map(|end| (&rest[..end], *sign)))
            .min_by_key(|(target, _)| target.len())
        else {
            return;
        };
        let mut value = rest[target.len() + sign.len()..].to_owned();
        for line in &lines[1..] {
            value.push('\n');
            value.push_str(line);
        }
        // A note may stand behind the statement.
        let Some(end) = value.rfind(';') else { return };
        let tail = value.split_off(end);
        let head = format!("{indent}{prefix}{target}{sign}");
        self.value(&head, &value, &tail, count, at, found);
        if let Some(width) = self.width_of(target) {
            for (operator, wrong) in [
                (Operator::Zero, format!("{{{width}{{1'b0}}}}")),
                (Operator::Ones, format!("{{{width}{{1'b1}}}}")),
            ] {
                if !is_constant(&value, operator == Operator::Ones) {
                    self.push(operator, "", (&head, &value, Some(wrong), &tail), count, at, found);
                }
            }
        }
        let name = base_of(target);
        let again = !self.assigned.insert(name);
        if (again && prefix.is_empty()) || sign == " <= " {
            let whole = format!("{target}{sign}{value}");
            let parts = (format!("{indent}{prefix}"), whole, None, tail);
            self.push(Operator::Dropped, "", (&parts.0, &parts.1, parts.2, &parts.3), count, at, found);
        }
    }

    /// Mistakes inside an expression.
    fn value(&mut self, head: &str, value: &str, tail: &str, count: usize, at: usize, found: &mut Vec<Site>) {
        let mut push = |operator, place: usize, range: Range<usize>, by: &str| {
            let wrong = format!("{}{by}{}", &value[..range.start], &value[range.end..]);
            self.push(operator, &place.to_string(), (head, value, Some(wrong), tail), count, at, found);
        };
        for (operator, from, to) in EXCHANGED {
            for (place, (start, _)) in value.match_indices(from).enumerate() {
                push(*operator, place, start..start + from.len(), to);
            }
        }
        for (place, (range, width)) in constants(value).into_iter().enumerate() {
            let text = &value[range.clone()];
            let last = text.chars().last().and_then(|c| c.to_digit(16)).unwrap_or_default() ^ 1;
            let by = format!("{}{last:x}", &text[..text.len() - 1]);
            push(Operator::Constant, place, range.clone(), &by);
            if [" + ", " - "].iter().any(|sign| value[..range.start].ends_with(sign)) {
                push(Operator::NoStep, place, range, &format!("{width}'h0"));
            }
        }
    }

    fn push(
        &mut self,
        operator: Operator,
        place: &str,
        (head, value, wrong, tail): (&str, &str, Option<String>, &str),
        lines: usize,
        at: usize,
        found: &mut Vec<Site>,
    ) {
        let what = format!("{operator} {place} {}", without_numbers(&format!("{head}{value}{tail}")));
        let count = self.seen.entry(what.clone()).or_default();
        let digest = Sha256::digest(format!("{} {what} {count}", self.block));
        *count += 1;
        found.push(Site {
            block: self.block.clone(),
            module: self.module.to_owned(),
            line: at + 1,
            operator,
            id: digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect(),
            head: head.to_owned(),
            value: value.to_owned(),
            wrong,
            tail: tail.to_owned(),
            lines,
        });
    }

    /// Width of a target: a name, a bit, or some bits of it.
    fn width_of(&self, target: &str) -> Option<usize> {
        let Some((name, index)) = target.split_once('[') else {
            return self.widths.get(target).copied();
        };
        let index = index.strip_suffix(']')?;
        if let Some((_, width)) = index.split_once(" +: ") {
            return width.parse().ok();
        }
        if let Some((high, low)) = index.split_once(':') {
            return Some(high.parse::<usize>().ok()? + 1 - low.parse::<usize>().ok()?);
        }
        // A word of a memory is not one bit; memories are not declared above.
        self.widths.get(name).map(|_| 1)
    }
}

/// Operators and what they are exchanged for.
const EXCHANGED: &[(Operator, &str, &str)] = &[
    (Operator::Equality, " == ", " != "),
    (Operator::Equality, " != ", " == "),
    (Operator::Boundary, " < ", " <= "),
    (Operator::Boundary, " <= ", " < "),
    (Operator::Boundary, " > ", " >= "),
    (Operator::Boundary, " >= ", " > "),
    (Operator::Logic, " && ", " || "),
    (Operator::Logic, " || ", " && "),
    (Operator::Logic, " & ", " | "),
    (Operator::Logic, " | ", " & "),
    (Operator::Logic, " ^ ", " | "),
    (Operator::Sum, " + ", " - "),
    (Operator::Sum, " - ", " + "),
    (Operator::Shift, " << ", " >> "),
    (Operator::Shift, " >> ", " << "),
];

/// `wire [7:0] name;`, or a port: its name and width.
fn declaration(text: &str) -> Option<(&str, usize)> {
    let rest = ["input ", "output ", "wire ", "reg "].iter().find_map(|word| text.strip_prefix(word))?;
    if rest.contains('=') {
        return None;
    }
    let rest = rest.trim_end_matches([',', ';']);
    let (kind, name) = rest.rsplit_once(' ').unwrap_or(("", rest));
    if name.ends_with(']') {
        return None;
    }
    let width = match kind.split_once('[') {
        Some((_, range)) => range.split_once(':')?.0.parse::<usize>().ok()? + 1,
        None => 1,
    };
    Some((name, width))
}

fn between<'a>(text: &'a str, head: &str, tail: &str) -> Option<&'a str> {
    text.strip_prefix(head)?.strip_suffix(tail)
}

/// `.port(value),` of an instance.
fn connection(text: &str) -> Option<(&str, &str, &str)> {
    if !text.starts_with('.') {
        return None;
    }
    let open = text.find('(')? + 1;
    let close = text.rfind(')')?;
    Some((&text[..open], &text[open..close], &text[close..]))
}

/// What stands before the target of an assignment, if the line begins one.
fn statement(text: &str) -> Option<(&str, &str)> {
    let mut rest = text;
    for word in ["assign ", "always @(posedge clock) "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    // A leaf's `if (enable) q <= ..`, and the arm of a table `6'h3: q = ..`.
    if let Some((_, behind)) = rest.strip_prefix("if (").and_then(|test| test.split_once(") ")) {
        rest = behind;
    }
    if let Some((label, behind)) = rest.split_once(": ") {
        if label.contains('\'') && !label.contains(' ') {
            rest = behind;
        }
    }
    let target = rest.split(" = ").next()?.split(" <= ").next()?;
    let plain = target.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && base_of(target).chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && (target.len() == base_of(target).len() || target.ends_with(']'));
    let known = ["initial", "case", "end", "begin", "default", "wire", "reg"];
    if !plain || target.len() == rest.len() || known.contains(&base_of(target)) {
        return None;
    }
    Some((&text[..text.len() - rest.len()], rest))
}

fn base_of(target: &str) -> &str {
    target.split('[').next().unwrap_or(target)
}

/// Sized constants of an expression: where, and their width.
fn constants(value: &str) -> Vec<(Range<usize>, usize)> {
    let mut found = Vec::new();
    let bytes = value.as_bytes();
    for (quote, _) in value.match_indices('\'') {
        let start = (0..quote).rev().take_while(|at| bytes[*at].is_ascii_digit()).last().unwrap_or(quote);
        let digits = bytes.iter().skip(quote + 2).take_while(|byte| byte.is_ascii_hexdigit()).count();
        let base = bytes.get(quote + 1).copied().unwrap_or_default();
        if let (Ok(width), b'h' | b'd', 1..) = (value[start..quote].parse(), base, digits) {
            found.push((start..quote + 2 + digits, width));
        }
    }
    found
}

/// True for a constant of all zeros, or of all ones.
fn is_constant(value: &str, ones: bool) -> bool {
    let all = constants(value);
    let [(range, width)] = &all[..] else { return false };
    if range.len() != value.trim().len() {
        return false;
    }
    let digits = value.trim().split_once('\'').map_or("", |(_, digits)| &digits[1..]);
    if !ones {
        return digits.bytes().all(|digit| digit == b'0');
    }
    let expected = if width % 4 == 0 { "f".repeat(width / 4) } else { String::new() };
    let small = (*width < 4).then(|| ((1usize << width) - 1).to_string());
    digits == expected || small.as_deref() == Some(digits)
}

/// The text without its numbers, so that it is the same in every size of a
/// block.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let fresh = !out.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        if c.is_ascii_digit() && fresh {
            let end = rest.find(|c: char| !(c.is_ascii_hexdigit() || c == '\'' || c == 'h'));
            rest = &rest[end.unwrap_or(rest.len())..];
            out.push('#');
        } else {
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}
