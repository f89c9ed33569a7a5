//! Verilog of somebody else's, as `synth` and `route` read it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use sha2::{Digest, Sha256};

use crate::output::Failure;

/// Files, and what they want to be told.
#[derive(Args, Clone, Debug, Default)]
pub struct Foreign {
    /// Verilog of somebody else's, through the same flow; may be given several times, packages first
    #[arg(long, value_name = "FILE", requires = "top")]
    pub verilog: Vec<PathBuf>,
    /// Its top module
    #[arg(long, value_name = "MODULE", requires = "verilog")]
    pub top: Option<String>,
    /// Where files are that it includes, unless beside the one that does; may be given several times
    #[arg(long, value_name = "FOLDER", requires = "verilog")]
    pub include: Vec<PathBuf>,
    /// A macro that it wants; may be given several times
    #[arg(long, value_name = "NAME[=VALUE]", requires = "verilog")]
    pub define: Vec<String>,
    /// A parameter of its top module, a number as Verilog has it; may be given several times
    #[arg(long, value_name = "NAME=VALUE", requires = "verilog")]
    pub parameter: Vec<String>,
}

/// A file name as Yosys's scripts take it.
pub fn quoted(path: &Path) -> Result<String, Failure> {
    let text = path.to_string_lossy();
    if text.contains(['"', '\n', ' ', ';', '#']) {
        return Err(Failure::new(format!(
            "Yosys's scripts cannot name {}: move it to a path without spaces and quotes",
            path.display()
        )));
    }
    Ok(text.into_owned())
}

/// How Yosys reads these files.
pub fn read(sources: &[PathBuf]) -> Result<String, Failure> {
    let mut script = String::new();
    for source in sources {
        let _ = writeln!(script, "read_verilog -sv {}", quoted(source)?);
    }
    Ok(script)
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
}

/// What stands in a script as it is: a number, a name.
fn is_plain(value: &str) -> bool {
    !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || "_'.+-".contains(c))
}

/// A number as Yosys takes it for a parameter: of 32 bits if there is no width, and of two's complement if negative.
fn constant(value: &str) -> Option<String> {
    let negative = value.strip_prefix('-').map(|value| value.parse::<u32>().ok().filter(|n| *n <= 1 << 31));
    match negative {
        Some(number) => Some(format!("32'sh{:x}", number?.wrapping_neg())),
        None => value
            .starts_with(|c: char| c.is_ascii_digit() || c == '\'')
            .then(|| value.to_owned())
            .filter(|value| value.chars().all(|c| c.is_ascii_alphanumeric() || "_'".contains(c))),
    }
}

impl Foreign {
    /// That it can be read, as far as that is known beforehand.
    ///
    /// # Errors
    /// Naming the file or the option.
    pub fn check(&self) -> Result<(), Failure> {
        if let Some(file) = self.verilog.iter().find(|file| !file.is_file()) {
            return Err(Failure::new(format!("there is no file {}", file.display())));
        }
        if let Some(folder) = self.include.iter().find(|folder| !folder.is_dir()) {
            return Err(Failure::new(format!("--include {}: there is no such folder", folder.display())));
        }
        for given in &self.define {
            let (name, value) = given.split_once('=').unwrap_or((given, "1"));
            if !is_identifier(name) || !is_plain(value) {
                return Err(Failure::new(format!(
                    "--define {given}: NAME or NAME=VALUE, the value a number or a name"
                )));
            }
        }
        for given in &self.parameter {
            let known = |(name, value): (&str, &str)| is_identifier(name) && constant(value).is_some();
            if !given.split_once('=').is_some_and(known) {
                return Err(Failure::new(format!(
                    "--parameter {given}: NAME=VALUE, the value a number such as 512, -1 or 8'hff"
                )));
            }
        }
        Ok(())
    }

    /// What it is called in results: two of one top with other parameters are two designs.
    pub fn design(&self) -> Option<String> {
        let mut design = self.top.clone()?;
        for given in self.define.iter().chain(&self.parameter) {
            let _ = write!(design, " {given}");
        }
        Some(design)
    }

    /// A name for what is made of it.
    pub fn digest(&self) -> String {
        let names = |paths: &[PathBuf]| -> Vec<String> {
            paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
        };
        let (files, include) = (names(&self.verilog), names(&self.include));
        let given = [&include, &self.define, &self.parameter].map(|given| given.join("\n")).join("\n\n");
        let digest =
            Sha256::digest(format!("{}\n{}\n{given}", files.join("\n"), self.top.as_deref().unwrap_or("")));
        digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
    }

    /// How Yosys reads it, up to the top module with its parameters; the files are copied to a folder, beside the
    /// script, since not every Yosys sees every folder.
    ///
    /// # Errors
    /// A file that cannot be copied, a folder that a script cannot name.
    pub fn read(&self, folder: &Path) -> Result<String, Failure> {
        let absolute = |folder: &Path| {
            folder
                .canonicalize()
                .map_err(|error| Failure::new(format!("cannot read {}: {error}", folder.display())))
        };
        let mut options = String::new();
        for define in &self.define {
            let _ = write!(options, " -D {define}");
        }
        for include in &self.include {
            let _ = write!(options, " -I {}", quoted(&absolute(include)?)?);
        }
        let mut script = String::new();
        for (number, file) in self.verilog.iter().enumerate() {
            // Under its own name, which is what Yosys complains of.
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let plain: String = name
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' })
                .collect();
            let to = folder.join(format!("{number}-{plain}"));
            std::fs::copy(file, &to)
                .map_err(|error| Failure::new(format!("cannot read {}: {error}", file.display())))?;
            let beside = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            let beside = quoted(&absolute(beside.unwrap_or(Path::new(".")))?);
            let beside = beside.map(|folder| format!(" -I {folder}")).unwrap_or_default();
            let _ = writeln!(script, "read_verilog -sv{beside}{options} {}", quoted(&to)?);
        }
        let top = self.top.as_deref().unwrap_or_default();
        // All at once: the module is elaborated with each set that is given.
        let mut set = String::new();
        for (name, value) in self.parameter.iter().filter_map(|given| given.split_once('=')) {
            let _ = write!(set, " -set {name} {}", constant(value).unwrap_or_default());
        }
        if !set.is_empty() {
            let _ = writeln!(script, "chparam{set} {top}");
        }
        Ok(script)
    }
}

/// What may be done about what Yosys says, with a semicolon in front; or nothing.
pub fn remedy(said: &str) -> &'static str {
    if said.contains("Can't open include file") {
        "; name its folder by --include"
    } else if said.contains("undefined macro") {
        "; define it by --define, or give the file that does before this one"
    } else if said.contains("defparam") {
        "; name a parameter of the top module"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |foreign: Foreign| foreign.check().unwrap_err().to_string();
        let define = |text: &str| Foreign { define: vec![text.into()], ..Foreign::default() };
        let parameter = |text: &str| Foreign { parameter: vec![text.into()], ..Foreign::default() };
        for good in ["SIM", "WIDTH=16", "INIT=8'hff", "_x=top"] {
            define(good).check().unwrap();
        }
        for wrong in ["", "=1", "1=2", "A=", "A=1;exit", "A=b c", "A=#1"] {
            assert!(refused(define(wrong)).contains(&format!("--define {wrong}:")), "{wrong}");
        }
        let numbers = [("512", "512"), ("-3", "32'shfffffffd"), ("8'hff", "8'hff"), ("'d7", "'d7")];
        for (given, read) in numbers {
            parameter(&format!("W={given}")).check().unwrap();
            assert_eq!(constant(given).as_deref(), Some(read));
        }
        for wrong in ["W", "W=", "W=1\nshell ls", "W=foo", "W=-x", "W=-4294967295", "W=1.5"] {
            assert!(refused(parameter(wrong)).contains("NAME=VALUE"), "{wrong}");
        }
        let nowhere = Foreign { include: vec!["/nowhere".into()], ..Foreign::default() };
        assert_eq!(refused(nowhere), "--include /nowhere: there is no such folder");
        let nowhere = Foreign { verilog: vec!["/nowhere.v".into()], ..Foreign::default() };
        assert_eq!(refused(nowhere), "there is no file /nowhere.v");
    }
}
