//! Writes `ports.h`, and checks the described ports against the real ones.

use super::design::{slots, Design, Direction};
use super::ModelError;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The text of the fixed part; part of a model's cache key.
pub(super) const SHIM: &str = include_str!("shim.cpp");

/// What Verilator's run-time is compiled with; part of its key and of a model's.
pub(super) const PRINT: &str = include_str!("print.h");

/// The two functions that move values between the buffer and the model. Equal
/// text means equal names, directions and widths: it is part of the cache key.
pub(super) fn ports_header(design: &Design) -> Result<String, ModelError> {
    let clock = cpp_name(&design.clock()?.name);
    for port in &design.ports {
        if let Some(field) = port.fields.iter().find(|f| f.width == 0 || f.lsb + f.width > port.width) {
            return Err(design.bad_ports(format!("field {}.{} lies outside the port", port.name, field.name)));
        }
    }
    let (slots, words) = slots(design);
    let inputs = slots.iter().find(|s| s.port.direction == Direction::Out).map_or(words, |s| s.word);
    let mut text = format!("#define TESSERA_CLOCK {clock}\n#define TESSERA_WORDS {}\n", words.max(1));
    let _ = writeln!(text, "#define TESSERA_INPUT_WORDS {inputs}");
    for (direction, signature, call) in [
        (Direction::In, "load_inputs(Vdut& m, const std::uint64_t* b)", "load"),
        (Direction::Out, "store_outputs(const Vdut& m, std::uint64_t* b)", "store"),
    ] {
        let _ = writeln!(text, "static inline void {signature} {{\n    (void)m, (void)b;");
        for slot in slots.iter().filter(|s| s.port.direction == direction) {
            let (name, width) = (cpp_name(&slot.port.name), slot.port.width);
            let _ = writeln!(text, "    {call}(m.{name}, b + {});  // {width} bits", slot.word);
        }
        text.push_str("}\n");
    }
    Ok(text)
}

/// The member that Verilator makes of a Verilog name: characters that C++ does
/// not allow, and the second of two underscores, are spelled as hex.
fn cpp_name(name: &str) -> String {
    let mut out = String::new();
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '_' && chars.peek() == Some(&'_') {
            chars.next();
            out.push_str("___05F");
        } else if c == '_' || c.is_ascii_alphanumeric() {
            out.push(c);
        } else {
            let _ = write!(out, "__0{:02X}", u32::from(c));
        }
    }
    out
}

/// Compares the described ports with those in the generated class, so that a
/// mistake is told in Verilog's words and not by the C++ compiler.
pub(super) fn check_ports(design: &Design, class: &str) -> Result<(), ModelError> {
    let real = class_ports(class);
    let mut faults = Vec::new();
    let mut described = BTreeMap::new();
    for port in &design.ports {
        let direction = if port.direction == Direction::In { "input" } else { "output" };
        described.insert(cpp_name(&port.name), ());
        match real.get(&cpp_name(&port.name)) {
            None => faults.push(format!("{} is not a port of the Verilog", port.name)),
            Some((d, w)) if (*d, *w) != (direction, port.width) => faults.push(format!(
                "{} is described as {direction} of {} bits, in the Verilog it is {d} of {w}",
                port.name, port.width
            )),
            Some(_) => {}
        }
    }
    for (name, (direction, width)) in &real {
        if !described.contains_key(name) {
            faults.push(format!("{direction} {name} of {width} bits is not described"));
        }
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err(design.bad_ports(faults.join("; "))),
    }
}

/// Reads lines such as `VL_IN16(&len,11,0);` and `VL_OUTW(&q,511,0,16);`.
fn class_ports(class: &str) -> BTreeMap<String, (&'static str, usize)> {
    let mut ports = BTreeMap::new();
    for line in class.lines() {
        let line = line.trim();
        let Some(rest) = line.strip_prefix("VL_") else { continue };
        let Some((kind, rest)) = rest.split_once("(&") else { continue };
        let Some((arguments, _)) = rest.split_once(')') else { continue };
        let direction = match kind.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'W') {
            "IN" => "input",
            "OUT" => "output",
            _ => "inout",
        };
        let mut arguments = arguments.split(',');
        if let (Some(name), Some(Ok(msb)), Some(Ok(lsb))) = (
            arguments.next(),
            arguments.next().map(str::parse::<usize>),
            arguments.next().map(str::parse::<usize>),
        ) {
            ports.insert(name.to_string(), (direction, msb + 1 - lsb));
        }
    }
    ports
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verilator::Port;

    #[test]
    fn names_are_spelled_as_verilator_spells_them() {
        assert_eq!(cpp_name("s_axis_tdata"), "s_axis_tdata");
        assert_eq!(cpp_name("b__x"), "b___05Fx");
        assert_eq!(cpp_name("pops$3"), "pops__0243");
    }

    #[test]
    fn described_and_real_ports_are_compared() {
        let class = "    VL_IN8(&clk,0,0);\n    VL_OUT16(&s,11,0);\n    VL_INW(&a,511,0,16);\n";
        let ports = vec![Port::clock("clk"), Port::output("s", 12), Port::input("a", 512)];
        let good = Design::new("d", "", ports);
        assert!(check_ports(&good, class).is_ok());
        let bad = Design::new("d", "", vec![Port::clock("clk"), Port::input("s", 12), Port::input("b", 1)]);
        let message = check_ports(&bad, class).unwrap_err().to_string();
        for part in
            ["s is described as input of 12 bits, in the Verilog it is output of 12", "b is not a port"]
        {
            assert!(message.contains(part), "{message}");
        }
        assert!(message.contains("input a of 512 bits is not described"), "{message}");
    }
}
