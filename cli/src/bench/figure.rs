//! Figures: what was measured beside what it should be, as a line of the table
//! and as JSON.

use serde::Serialize;
use tessera_abi::params::Config;

/// One figure. Field names are those of the JSON file.
#[derive(Debug, Default, Serialize)]
pub struct Figure {
    pub what: String,
    /// None of a figure that another command measures.
    pub value: Option<f64>,
    pub unit: &'static str,
    /// What it should reach, as words.
    pub target: String,
    /// Whether it does; `None` where the machine decides, and where it was not measured.
    pub met: Option<bool>,
    /// Measures it.
    pub command: String,
    /// The value is a bound, as the measurement was cut short: "at least".
    pub bound: Option<&'static str>,
    /// Of a median: the largest value, and how many there were.
    pub max: Option<f64>,
    pub samples: Option<usize>,
    /// What one must know to read it.
    pub note: Option<String>,
}

impl Figure {
    /// A figure that nothing is asked of.
    pub fn new(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { what: what.into(), value: Some(value), unit, ..Self::default() }
    }

    /// A figure of the design that another command measures.
    pub fn elsewhere(what: &str, target: &str, command: &str) -> Self {
        Self { what: what.into(), target: target.into(), command: command.into(), ..Self::default() }
    }

    pub fn at_least(self, limit: f64) -> Self {
        let met = self.value.is_some_and(|value| value >= limit);
        self.judged(format!(">= {limit}"), Some(met))
    }

    pub fn at_most(self, limit: f64) -> Self {
        let met = self.value.is_some_and(|value| value <= limit);
        self.judged(format!("<= {limit}"), Some(met))
    }

    pub fn judged(self, target: impl Into<String>, met: Option<bool>) -> Self {
        Self { target: target.into(), met, ..self }
    }

    pub fn note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    /// Says who measures it, on what.
    pub fn by(self, row: &str, config: &Config, seed: u64) -> Self {
        let command = format!("cargo tessera bench {row} --config {} --seed {seed}", config.name);
        Self { command, ..self }
    }

    /// The line of the table.
    fn line(&self) -> String {
        let mark = match self.met {
            Some(true) => "met",
            Some(false) => "SHORT",
            None => "",
        };
        let value = match (self.value, self.bound) {
            (Some(value), Some(_)) => format!(">={value:.1}"),
            (Some(value), None) => format!("{value:.3}"),
            (None, _) => "not measured here".into(),
        };
        let line = format!("  {:<52} {value:>10} {:<14} {:<12} {mark}", self.what, self.unit, self.target);
        line.trim_end().to_owned()
    }

    /// Prints it, with what there is to know.
    pub fn print(&self) {
        println!("{}", self.line());
        if let (Some(max), Some(samples)) = (self.max, self.samples) {
            println!("    the median of {samples}; the largest is {max}");
        }
        if let Some(note) = &self.note {
            println!("    {note}");
        }
        println!("    {}", self.command);
    }
}

/// The JSON file.
#[derive(Serialize)]
pub struct Figures {
    pub configuration: &'static str,
    pub revision: String,
    pub seed: u64,
    pub figures: Vec<Figure>,
}

/// Figures of the design's table that other commands measure, or this one only
/// when asked by name.
pub fn elsewhere() -> Vec<Figure> {
    let (sweep, cocotb) = ("cargo tessera sweep", "cargo tessera bench cocotb");
    vec![
        Figure::elsewhere("goodput at 1 % loss, of lossless", ">= 0.9", sweep),
        Figure::elsewhere("goodput at 0.1 % loss, of lossless", ">= 0.97", sweep),
        Figure::elsewhere("goodput under loss, of go-back-N's and IRN's", ">= 1", sweep),
        Figure::elsewhere("p99 at high load, of go-back-N's and IRN's", "<= 0.7", sweep),
        Figure::elsewhere("this harness against cocotb with Verilator", ">= 20", cocotb),
        Figure::elsewhere("this harness against cocotb with Icarus", ">= 100", cocotb),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_follows_the_value() {
        let line = |figure: Figure| figure.line();
        assert!(
            line(Figure::new("inserts", 0.992, "per clock").at_least(1.0)).ends_with(">= 1         SHORT")
        );
        assert!(line(Figure::new("inserts", 1.0, "per clock").at_least(1.0)).ends_with("met"));
        assert!(line(Figure::new("clocks", 41.0, "clocks").at_most(40.0)).ends_with("<= 40        SHORT"));
        let unasked = line(Figure::new("speed", 3.0, "kclocks/s"));
        assert!(unasked.ends_with("kclocks/s"), "{unasked}");
    }

    #[test]
    fn what_was_not_measured_is_never_met() {
        for figure in elsewhere() {
            assert!(figure.line().contains("not measured here") && figure.met.is_none(), "{figure:?}");
            assert!(figure.command.starts_with("cargo tessera "), "{figure:?}");
            assert!(serde_json::to_value(&figure).is_ok_and(|json| json["value"].is_null()));
        }
    }
}
