//! Test programs: what cargo makes of the tests of a crate.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::output::Failure;

/// A compiled one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// That of its file under `tests`; of a crate's own tests, the crate's.
    pub name: String,
    /// One under `tests`.
    pub integration: bool,
    pub path: PathBuf,
    /// Where cargo would run it.
    pub folder: PathBuf,
}

impl Program {
    /// What tells it from those of other crates: `testbenches/fifo`, and of a crate's own tests `sim`.
    pub fn label(&self) -> String {
        let package = self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if self.integration {
            package + "/" + &self.name
        } else {
            package
        }
    }
}

/// The cargo that runs this program, or the one on the path.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Compiles the tests that cargo's arguments name; its messages go where this program's do.
pub fn build(arguments: &[&str]) -> Result<Vec<Program>, Failure> {
    let mut command = cargo();
    command.args(["test", "--no-run", "--message-format", "json-render-diagnostics"]).args(arguments);
    let built = command.stderr(Stdio::inherit()).output();
    let built = built.map_err(|error| Failure::new(format!("cannot run cargo: {error}")))?;
    if !built.status.success() {
        return Err(Failure::new("the tests do not compile; cargo's message is above"));
    }
    programs_of(&String::from_utf8_lossy(&built.stdout))
}

/// Those that cargo's messages, a line of JSON each, tell of.
fn programs_of(messages: &str) -> Result<Vec<Program>, Failure> {
    let mut found = Vec::new();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line)?;
        // An example, and a command, is made beside the tests that start it.
        let test = message["profile"]["test"] == true;
        let (Some(name), Some(path), Some(manifest)) = (
            message["target"]["name"].as_str(),
            message["executable"].as_str().filter(|_| test),
            message["manifest_path"].as_str(),
        ) else {
            continue;
        };
        found.push(Program {
            name: name.to_owned(),
            integration: message["target"]["kind"][0] == "test",
            path: path.into(),
            folder: Path::new(manifest).parent().unwrap_or(Path::new(".")).to_owned(),
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_told_from_what_is_made_beside_them() {
        let line = |kind: &str, test: bool, executable: Value| {
            let target = serde_json::json!({ "name": "fifo", "kind": [kind] });
            serde_json::json!({
                "reason": "compiler-artifact", "target": target, "profile": { "test": test },
                "executable": executable, "manifest_path": "/w/testbenches/Cargo.toml",
            })
            .to_string()
        };
        let messages = [
            line("lib", false, Value::Null),
            line("example", false, "/t/examples/fifo".into()),
            line("test", true, "/t/deps/fifo-1".into()),
            line("lib", true, "/t/deps/fifo-2".into()),
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
        ];
        let program = |integration, path: &str| Program {
            name: "fifo".into(),
            integration,
            path: path.into(),
            folder: "/w/testbenches".into(),
        };
        assert_eq!(
            programs_of(&messages.join("\n")).unwrap(),
            [program(true, "/t/deps/fifo-1"), program(false, "/t/deps/fifo-2")]
        );
        assert_eq!(program(true, "/p").label(), "testbenches/fifo");
        assert_eq!(program(false, "/p").label(), "testbenches");
        assert!(programs_of("no JSON").is_err());
    }
}
