//! C++ to library: all files at once over the processors, no make.
//!
//! Verilator's own run-time is the same for every model, so its objects are
//! kept beside the models and compiled once per Verilator and kind of trace.

use super::build::{BuildOptions, Trace};
use super::glue;
use super::ModelError;
use crate::progress::Progress;
use crate::tools::{io_error, Verilator};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

/// Flags of every C++ file, of Verilator's run-time too; part of a model's cache key.
pub(super) fn flags(options: &BuildOptions) -> Vec<String> {
    let on = |yes: bool| u8::from(yes);
    let (vcd, fst) = (on(options.trace == Trace::Vcd), on(options.trace == Trace::Fst));
    let coverage = on(options.coverage);
    let mut flags: Vec<String> =
        ["-std=c++17", "-fPIC", "-fvisibility=hidden", "-w", "-pthread"].map(String::from).into();
    // The shim brings its own ends of the simulation: those of the run-time
    // would end the process.
    flags.extend(["FINISH", "STOP", "FATAL"].map(|end| format!("-DVL_USER_{end}")));
    flags.extend([
        format!("-DTESSERA_VCD={vcd}"),
        format!("-DTESSERA_FST={fst}"),
        format!("-DTESSERA_COVERAGE={coverage}"),
        format!("-DVM_COVERAGE={coverage}"),
        format!("-DVM_TRACE={}", vcd | fst),
        format!("-DVM_TRACE_VCD={vcd}"),
        format!("-DVM_TRACE_FST={fst}"),
        "-DVM_TRACE_SAIF=0".into(),
        "-DVM_SC=0".into(),
        "-DVM_TIMING=0".into(),
    ]);
    flags
}

/// What [`BuildOptions::hurried`] means.
const HURRIED: &str = "-O1";

/// And to GCC: behind how many stores a value is looked for. With its own limits, of hundreds, that is half of the
/// time that Verilator's long functions take it, which store to one struct thousands of times.
const SHORT_WALKS: [&str; 2] =
    ["--param=sccvn-max-alias-queries-per-access=30", "--param=dse-max-alias-queries-per-store=16"];

/// How hard a file is worth optimising.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effort {
    /// Runs every clock.
    Fast,
    /// Runs once: constructors, initial values, names for the trace.
    Slow,
}

struct Job {
    source: PathBuf,
    object: PathBuf,
    effort: Effort,
    /// Bytes of C++, to start the longest compile first.
    size: u64,
    /// Of the model, and not of Verilator's run-time.
    own: bool,
}

/// How a model's files are compiled.
struct Manner {
    /// Flags of what runs every clock.
    fast: Vec<&'static str>,
    /// Verilator's headers, read before, for files of either effort.
    headers: Option<[PathBuf; 2]>,
}

/// Flags of Verilator's run-time, in which no model spends its time.
const RUNTIME: &[&str] = &["-O1", "-include", "print.h"];

/// Flags of what runs once.
const SLOW: &[&str] = &["-O0"];

impl Manner {
    fn flags(&self, effort: Effort) -> &[&'static str] {
        match effort {
            Effort::Fast => &self.fast,
            Effort::Slow => SLOW,
        }
    }

    fn header(&self, effort: Effort) -> Option<&PathBuf> {
        let [fast, slow] = self.headers.as_ref()?;
        Some(if effort == Effort::Fast { fast } else { slow })
    }
}

/// Bytes of generated C++ up to which a model is compiled in one go.
const SMALL: u64 = 60_000;

/// Bytes of generated C++ that one compiler run gets, at least if there is more than one.
const GATHERED: u64 = 150_000;

pub(super) struct Compiler<'a> {
    pub top: &'a str,
    pub cxx: OsString,
    pub options: &'a BuildOptions,
    pub verilator: &'a Verilator,
    /// Folder with Verilator's output, the shim and `print.h`.
    pub cpp: &'a Path,
    /// Folder under which run-time objects are kept.
    pub runtime: &'a Path,
}

impl Compiler<'_> {
    /// Compiles and links everything into `library`.
    pub(super) fn run(&self, library: &Path, progress: &Progress) -> Result<(), ModelError> {
        let jobs = self.jobs()?;
        let objects: Vec<PathBuf> = jobs.iter().map(|j| j.object.clone()).collect();
        let mut pending: Vec<Job> = jobs.into_iter().filter(|j| !j.object.is_file()).collect();
        // Largest last, and so first off the end: the longest compile must not
        // be the one that starts when all others are done.
        pending.sort_by_key(|j| (j.effort == Effort::Fast, j.size));
        let manner = self.manner(progress)?;
        self.compile_all(pending, &manner, progress)?;
        progress.detail("linking");
        let mut link = Command::new(&self.cxx);
        link.args(["-shared", "-pthread", "-o"]).arg(library).args(&objects);
        if cfg!(target_os = "linux") {
            link.arg("-Wl,-Bsymbolic");
        }
        if self.options.trace == Trace::Fst {
            link.args(self.verilator.fst_libraries());
        }
        self.call(link, library)
    }

    /// What has to be compiled: Verilator's output, the shim, its run-time.
    fn jobs(&self) -> Result<Vec<Job>, ModelError> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.cpp).map_err(io_error("read", self.cpp))? {
            let source = entry.map_err(io_error("read", self.cpp))?.path();
            let Some(name) = source.file_name().and_then(|s| s.to_str()) else { continue };
            if name.ends_with(".cpp") {
                files.push((name.to_string(), fs::metadata(&source).map_or(0, |m| m.len())));
            }
        }
        files.sort();
        let total: u64 = files.iter().map(|(_, size)| size).sum();
        let slow = |name: &str| total > SMALL && name.ends_with("__Slow.cpp");
        let (slow, fast) = files.into_iter().partition(|(name, _)| slow(name));
        let mut jobs = self.gather(slow, Effort::Slow, "all_slow")?;
        jobs.extend(self.gather(fast, Effort::Fast, "all_fast")?);
        let kept = self.runtime_folder()?;
        for name in self.runtime_sources()? {
            let source = self.verilator.root().join("include").join(format!("{name}.cpp"));
            let size = fs::metadata(&source).map_or(0, |m| m.len());
            let object = kept.join(format!("{name}.o"));
            jobs.push(Job { object, effort: Effort::Fast, source, size, own: false });
        }
        Ok(jobs)
    }

    /// Compiler runs at once.
    fn workers(&self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        match self.options.jobs {
            0 => processors,
            jobs => jobs,
        }
    }

    /// A model that is not worth optimising much is compiled quickly by GCC: with short walks, and Verilator's headers
    /// are read once for all such models.
    fn manner(&self, progress: &Progress) -> Result<Manner, ModelError> {
        if !self.options.hurried {
            return Ok(Manner { fast: vec!["-O3"], headers: None });
        }
        let mut nothing = Command::new(&self.cxx);
        nothing.args(SHORT_WALKS).args(["-x", "c++", "-fsyntax-only", "-"]);
        if !nothing.stdin(Stdio::null()).output().is_ok_and(|output| output.status.success()) {
            return Ok(Manner { fast: vec![HURRIED], headers: None });
        }
        let fast = [HURRIED].into_iter().chain(SHORT_WALKS).collect::<Vec<_>>();
        progress.detail("Verilator's headers");
        let headers = Some([self.headers("fast", &fast)?, self.headers("slow", SLOW)?]);
        Ok(Manner { fast, headers })
    }

    /// A header that is read as what the compiler kept of it, if that was compiled alike.
    fn headers(&self, name: &str, flags: &[&str]) -> Result<PathBuf, ModelError> {
        let header = self.runtime_folder()?.join(format!("{name}.h"));
        let kept = header.with_extension("h.gch");
        if !kept.is_file() {
            let text = "#include \"verilated.h\"\n";
            fs::write(&header, text).map_err(io_error("write", &header))?;
            let flags = flags.iter().copied().chain(["-x", "c++-header"]);
            self.compile(&header, &kept, flags)?;
        }
        Ok(header)
    }

    /// Puts files together: reading Verilator's headers and the model's own takes the compiler
    /// longer than most of the files that include them. What runs every clock stays in two runs for
    /// each worker, so that none is long without work.
    fn gather(&self, files: Vec<(String, u64)>, effort: Effort, name: &str) -> Result<Vec<Job>, ModelError> {
        let total: u64 = files.iter().map(|(_, size)| size).sum();
        let runs = self.workers() as u64 * if effort == Effort::Fast { 2 } else { 1 };
        let most = GATHERED.max(total.div_ceil(runs.max(1)));
        let mut groups: Vec<(String, u64)> = Vec::new();
        for (file, size) in files {
            let line = format!("#include \"{file}\"\n");
            match groups.last_mut().filter(|(_, total)| total + size <= most) {
                Some((text, total)) => {
                    text.push_str(&line);
                    *total += size;
                }
                None => groups.push((line, size)),
            }
        }
        let mut jobs = Vec::new();
        for (i, (text, size)) in groups.into_iter().enumerate() {
            let source = self.cpp.join(format!("{name}_{i}.cpp"));
            fs::write(&source, text).map_err(io_error("write", &source))?;
            jobs.push(Job { object: source.with_extension("o"), effort, source, size, own: true });
        }
        Ok(jobs)
    }

    fn runtime_folder(&self) -> Result<PathBuf, ModelError> {
        let mut hash = Sha256::new();
        hash.update(self.verilator.version());
        hash.update(flags(self.options).join(" "));
        hash.update(glue::PRINT);
        hash.update(self.cxx.as_encoded_bytes());
        let key: String = hash.finalize().iter().take(8).map(|b| format!("{b:02x}")).collect();
        let folder = self.runtime.join(format!("runtime-{key}"));
        fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
        Ok(folder)
    }

    /// The run-time files this model needs, from the list Verilator leaves.
    fn runtime_sources(&self) -> Result<Vec<String>, ModelError> {
        let list = self.cpp.join("Vdut_classes.mk");
        let text = fs::read_to_string(&list).map_err(io_error("read", &list))?;
        let mut names = Vec::new();
        let mut inside = false;
        for line in text.lines() {
            if line.starts_with("VM_GLOBAL_FAST") || line.starts_with("VM_GLOBAL_SLOW") {
                inside = true;
            } else if !inside {
                continue;
            } else if let Some(name) = line.trim().strip_suffix('\\') {
                names.push(name.trim().to_string());
            } else {
                inside = false;
            }
        }
        Ok(names)
    }

    fn compile_all(&self, pending: Vec<Job>, manner: &Manner, progress: &Progress) -> Result<(), ModelError> {
        let total = pending.len();
        let queue = Mutex::new((pending, 0, None));
        let next = || {
            let mut queue = queue.lock().ok()?;
            if queue.2.is_some() {
                return None;
            }
            queue.1 += 1;
            let job = queue.0.pop()?;
            progress.detail(format!("C++ file {} of {total}", queue.1));
            Some(job)
        };
        std::thread::scope(|scope| {
            for _ in 0..self.workers().min(total) {
                scope.spawn(|| {
                    while let Some(job) = next() {
                        let flags = if job.own { manner.flags(job.effort) } else { RUNTIME };
                        let flags = flags.iter().copied();
                        let header = manner.header(job.effort).filter(|_| job.own);
                        let header = header.and_then(|header| header.to_str()).map(|file| ["-include", file]);
                        let flags = flags.chain(header.into_iter().flatten());
                        if let Err(error) = self.compile(&job.source, &job.object, flags) {
                            if let Ok(mut queue) = queue.lock() {
                                queue.2.get_or_insert(error);
                            }
                        }
                    }
                });
            }
        });
        match queue.into_inner() {
            Ok((_, _, None)) => Ok(()),
            Ok((_, _, Some(error))) => Err(error),
            Err(_) => unreachable!("no worker panics while it holds the queue"),
        }
    }

    fn compile<'f>(
        &self,
        source: &Path,
        object: &Path,
        more: impl Iterator<Item = &'f str>,
    ) -> Result<(), ModelError> {
        let include = self.verilator.root().join("include");
        // Two builds, of this process or another, may want the same run-time
        // object: each writes its own and the last rename wins, with the same
        // contents.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let partial = object.with_extension(format!("{}-{number}.partial", std::process::id()));
        let mut command = Command::new(&self.cxx);
        command
            .args(flags(self.options))
            .args(more)
            .arg("-I")
            .arg(self.cpp)
            .arg("-I")
            .arg(&include)
            .arg("-I")
            .arg(include.join("vltstd"))
            .arg("-c")
            .arg(source)
            .arg("-o")
            .arg(&partial);
        self.call(command, source)?;
        fs::rename(&partial, object).map_err(io_error("create", object))?;
        Ok(())
    }

    fn call(&self, mut command: Command, file: &Path) -> Result<(), ModelError> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let failed = |messages: String| ModelError::Compile {
            top: self.top.to_string(),
            command: format!("{} {name}", self.cxx.to_string_lossy()),
            messages,
            kept: self.cpp.to_path_buf(),
        };
        let output = command.stdin(Stdio::null()).output().map_err(|e| failed(e.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = text.lines().collect();
        Err(failed(lines[lines.len().saturating_sub(20)..].join("\n")))
    }
}
