//! ns-3 itself: found or fetched, and the program that contains it.
//!
//! ```text
//!   --ns3 FOLDER / TESSERA_NS3 ── given ──> include/ns3, lib*/libns3*-core.so ? ──> use it
//!              │ not given
//!              v
//!   <cache>/tools/ns3-3.44.post0/ ── complete ──> use it
//!              │ absent
//!              v
//!   pip install --require-hashes --target  ──> temporary folder ──rename──> use it
//! ```
//!
//! The wheel is that of one Python whatever the user's is: only its C++ libraries and
//! headers are used, and those are the same in all.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::SystemTime;

/// The pinned package.
const PACKAGE: &str = "ns3==3.44.post0";
const HASH: &str = "sha256:2a98479a4a3a1bb819b95ce061871a9d068268b42351b8f0ef598160939ba7ce";
/// What ns-3 modules the program is linked with.
const MODULES: [&str; 3] = ["point-to-point", "network", "core"];

/// What goes wrong around ns-3, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The named folder has no ns-3.
    #[error("{0} has no ns-3: include/ns3/core-module.h and lib64/libns3*-core.so (or lib/) are needed\n  remedy: name another with --ns3 or TESSERA_NS3, or none to have {PACKAGE} fetched")]
    NoNs3(PathBuf),
    /// It could not be fetched.
    #[error("could not fetch {PACKAGE}: {0}\n  remedy: with python3-pip and a network (or a mirror, PIP_INDEX_URL) run again, or apt-get install libns3-dev and pass --ns3 /usr")]
    Fetch(String),
    /// A program is missing or fails.
    #[error("{program} does not run: {detail}\n  remedy: {remedy}")]
    Program {
        /// The program.
        program: String,
        /// What happened.
        detail: String,
        /// What to do.
        remedy: String,
    },
    /// The static library is not beside this program.
    #[error("{0} is missing\n  remedy: cargo build --release --package tessera-ns3")]
    NoLibrary(PathBuf),
    /// A file.
    #[error("cannot {0} {1}: {2}")]
    Io(&'static str, PathBuf, io::Error),
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ToolError {
    let path = path.to_path_buf();
    move |error| ToolError::Io(action, path, error)
}

/// An ns-3 to compile and link with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ns3 {
    include: PathBuf,
    libraries: PathBuf,
    /// `ns3.44`, with the build's suffix if it has one: what stands around a module's name.
    prefix: String,
    suffix: String,
}

impl Ns3 {
    /// The one in a folder.
    ///
    /// # Errors
    /// If there is none.
    pub fn at(folder: &Path) -> Result<Self, ToolError> {
        let refuse = || ToolError::NoNs3(folder.to_path_buf());
        let include = folder.join("include");
        // Debian names its versions' folders.
        let includes = fs::read_dir(&include).into_iter().flatten().flatten().map(|entry| entry.path());
        let include = std::iter::once(include.clone())
            .chain(includes)
            .find(|path| path.join("ns3/core-module.h").is_file())
            .ok_or_else(refuse)?;
        let folders = ["lib64", "lib", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"];
        for libraries in folders.map(|name| folder.join(name)) {
            for entry in fs::read_dir(&libraries).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if let Some((prefix, suffix)) = around_core(&name) {
                    return Ok(Self { include, libraries, prefix, suffix });
                }
            }
        }
        Err(refuse())
    }

    /// The one in the user's folder, if one is named, or the pinned one, fetched if it is
    /// not in `cache` yet.
    ///
    /// # Errors
    /// If it is not there, or cannot be fetched.
    pub fn find(named: Option<&Path>, cache: &Path) -> Result<Self, ToolError> {
        if let Some(folder) = named {
            return Self::at(folder);
        }
        let folder = cache.join("tools").join(PACKAGE.replace("==", "-"));
        if !folder.is_dir() {
            eprintln!("fetching {PACKAGE} into {} (69 MB) ...", folder.display());
            fetch(&folder)?;
        }
        Self::at(&folder.join("ns3"))
    }

    /// Compiles the program and links it with the static library, unless that has been
    /// done since either changed.
    ///
    /// # Errors
    /// If there is no compiler, or it fails.
    pub fn program(&self, sources: &Path, library: &Path, cache: &Path) -> Result<PathBuf, ToolError> {
        if !library.is_file() {
            return Err(ToolError::NoLibrary(library.to_path_buf()));
        }
        let program = cache.join("ns3").join(format!("network-{}{}", self.prefix, self.suffix));
        let main = sources.join("main.cc");
        let changed = |path: &Path| fs::metadata(path).and_then(|data| data.modified());
        let newest = [&main, &sources.join("host.h"), library]
            .into_iter()
            .map(|path| changed(path).map_err(io_error("read", path)))
            .collect::<Result<Vec<SystemTime>, _>>()?;
        if changed(&program).is_ok_and(|made| newest.iter().all(|&time| time < made)) {
            return Ok(program);
        }
        eprintln!("compiling {} against ns-3 ...", main.display());
        let folder = cache.join("ns3");
        fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
        let partial = program.with_extension("partial");
        let compiler = std::env::var_os("CXX").filter(|name| !name.is_empty()).unwrap_or("g++".into());
        let mut command = Command::new(&compiler);
        command.args(["-std=c++20", "-O2", "-Wall", "-Wextra", "-Wno-unused-parameter"]);
        command.arg("-isystem").arg(&self.include).arg("-o").arg(&partial).arg(&main).arg(library);
        command.arg("-L").arg(&self.libraries);
        let mut rpath = OsString::from("-Wl,-rpath,");
        rpath.push(&self.libraries);
        // What the libraries are linked with themselves lies beside them.
        command.arg(rpath.clone()).arg("-Wl,--disable-new-dtags");
        for module in MODULES {
            command.arg(format!("-l{}-{module}{}", self.prefix, self.suffix));
        }
        command.args(["-Wl,--allow-shlib-undefined", "-lpthread", "-ldl", "-lm"]);
        run(&compiler, &mut command, "apt-get install g++, or name a compiler with CXX")?;
        fs::rename(&partial, &program).map_err(io_error("create", &program))?;
        Ok(program)
    }
}

/// What stands around a module's name, from that of the core module's library.
fn around_core(name: &str) -> Option<(String, String)> {
    let name = name.strip_prefix("lib")?.strip_suffix(".so")?;
    let (prefix, suffix) = name.split_once("-core")?;
    // `-core` and a build's name, as in libns3.37-core-debug.so; no other module.
    let known = ["", "-debug", "-default", "-optimized"].contains(&suffix);
    (prefix.starts_with("ns3") && known).then(|| (prefix.to_owned(), suffix.to_owned()))
}

/// Where what is fetched and compiled is kept: `TESSERA_CACHE`, or else Cargo's target
/// folder, in which this program is.
pub fn cache(program: &Path) -> PathBuf {
    if let Some(folder) = std::env::var_os("TESSERA_CACHE").filter(|name| !name.is_empty()) {
        return std::path::absolute(&folder).unwrap_or(folder.into());
    }
    // Cargo marks it.
    let marked = program.ancestors().skip(1).find(|folder| folder.join("CACHEDIR.TAG").is_file());
    marked.unwrap_or(Path::new("target")).to_path_buf()
}

/// Fetches the pinned package: `folder` is complete as soon as it has its name.
fn fetch(folder: &Path) -> Result<(), ToolError> {
    let partial = folder.with_extension(format!("partial-{}", std::process::id()));
    fs::create_dir_all(&partial).map_err(io_error("create", &partial))?;
    let fetched = install(&partial).and_then(|site| match fs::rename(&site, folder) {
        // Another process was faster.
        Err(_) if folder.is_dir() => Ok(()),
        renamed => renamed.map_err(io_error("create", folder)),
    });
    let _ = fs::remove_dir_all(&partial);
    fetched
}

fn install(partial: &Path) -> Result<PathBuf, ToolError> {
    if (std::env::consts::OS, std::env::consts::ARCH) != ("linux", "x86_64") {
        return Err(ToolError::Fetch("it is for Linux on x86-64 only".to_owned()));
    }
    let (pins, site) = (partial.join("requirements.txt"), partial.join("site"));
    fs::write(&pins, format!("{PACKAGE} --hash={HASH}\n")).map_err(io_error("write", &pins))?;
    let mut command = Command::new("python3");
    command
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"])
        .args(["--no-deps", "--no-compile", "--require-hashes", "--only-binary=:all:"])
        .args(["--platform", "manylinux_2_28_x86_64", "--implementation", "cp"])
        .args(["--python-version", "3.11", "--abi", "cp311", "--retries", "2", "--timeout", "20"])
        .envs([("PIP_ROOT_USER_ACTION", "ignore"), ("PIP_USER", "0")])
        .arg("--target")
        .arg(&site)
        .arg("--requirement")
        .arg(&pins);
    match run(OsStr::new("python3"), &mut command, "apt-get install python3 python3-pip") {
        Ok(_) => Ok(site),
        Err(ToolError::Program { detail, .. }) => Err(ToolError::Fetch(detail)),
        Err(error) => Err(error),
    }
}

fn run(program: &OsStr, command: &mut Command, remedy: &str) -> Result<Output, ToolError> {
    let failed = |detail| ToolError::Program {
        program: program.to_string_lossy().into_owned(),
        detail,
        remedy: remedy.to_owned(),
    };
    let output = command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(first_error(&said).unwrap_or_else(|| output.status.to_string())));
    }
    Ok(output)
}

/// The first line that says what is wrong, as pip and compilers do, or else the last one.
fn first_error(said: &str) -> Option<String> {
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines().find(|line| line.to_lowercase().contains("error: "));
    error.or_else(|| lines().next_back()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_their_names() {
        let of = |name| around_core(name).map(|(prefix, suffix)| format!("{prefix}|{suffix}"));
        assert_eq!(of("libns3.44-core.so").as_deref(), Some("ns3.44|"));
        assert_eq!(of("libns3.37-core-default.so").as_deref(), Some("ns3.37|-default"));
        assert_eq!(of("libns3-dev-core-debug.so").as_deref(), Some("ns3-dev|-debug"));
        for other in ["libns3.44-core-x.so", "libns3.44-network.so", "libcore.so", "libx-core.so", "x"] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_missing_is_named_with_a_remedy() {
        let error = Ns3::at(Path::new("/nowhere")).unwrap_err().to_string();
        assert!(error.contains("/nowhere") && error.contains("remedy"), "{error}");
        let mut command = Command::new("/nowhere/compiler");
        let error = run(OsStr::new("compiler"), &mut command, "install one").unwrap_err().to_string();
        assert!(error.contains("compiler does not run") && error.contains("install one"), "{error}");
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "echo; echo WARNING: an Error >&2; echo ERROR: no such package >&2; echo bye >&2; exit 3",
        ]);
        let error = run(OsStr::new("sh"), &mut command, "r").unwrap_err().to_string();
        assert!(error.contains("ERROR: no such package"), "{error}");
    }
}
