//! `tessera run`: programs that speak ibverbs, unmodified, on simulated NICs.
//!
//! ```text
//!  tessera run ── starts ──> program (LD_PRELOAD) ── libtessera_verbs.so ──socket──> NIC ─┐
//!       │ simulates                     └ its children, each with a NIC of its own ──> NIC ─┴─ fabric
//! ```

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use nix::errno::Errno;
use nix::sys::signal::{killpg, Signal};
use nix::unistd::Pid;
use serde::Serialize;
use serde_json::Value;
use tessera_sim::ethernet::{Ethernet, EthernetStats};
use tessera_sim::serve::MemoryWay;

use crate::output::{self, Failure};
use crate::programs::cargo;
use crate::simulated::{FabricArgs, Happened};
use crate::stop::Stop;

pub mod orphans;

use orphans::Orphans;

/// How long processes that the program left behind may go on.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often somebody looks whether the program has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Run programs that speak ibverbs, unmodified, on simulated NICs.
///
/// Every process of the program that opens the device `tessera0` gets a NIC: the one of
/// its MPI rank or of TESSERA_NIC, else the first that is free. NIC n has the address
/// 10.0.0.n+1 (GID 0) and one of IPv6 (GID 1).
///
///     cargo tessera run -- sh -c 'ibv_ud_pingpong -g 0 & sleep 1; ibv_ud_pingpong -g 0 localhost'
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub struct RunArgs {
    /// Start the program once for every NIC, with its number in TESSERA_NIC
    #[arg(long)]
    pub each: bool,
    /// Ask programs for their memory instead of reading it where it is
    #[arg(long)]
    pub ask_for_memory: bool,
    /// Also offer every NIC as a PCI function over vfio-user, at the sockets nic0, nic1, ...
    /// in this directory: to programs of the driver, by vfio-user:DIRECTORY/nic0
    #[arg(long, value_name = "DIRECTORY")]
    pub vfio_user: Option<PathBuf>,
    /// Join the fabric to an outside Ethernet: a Unix datagram socket to receive frames at, and
    /// one to send them to, as in QEMU's -netdev dgram,local.type=unix
    #[arg(long, value_name = "LOCAL,REMOTE", value_parser = sockets)]
    pub ethernet: Option<(PathBuf, PathBuf)>,
    /// Write the result as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    #[command(flatten)]
    pub simulated: FabricArgs,
    /// The program and its arguments, behind `--`
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// A run, as JSON.
#[derive(Serialize)]
struct Report {
    ok: bool,
    program: Vec<String>,
    /// How each copy ended: its exit code, or 128 and a signal's number.
    exits: Vec<i32>,
    #[serde(flatten)]
    happened: Happened,
    /// What passed between the fabric and outside, if they were joined.
    #[serde(skip_serializing_if = "Option::is_none")]
    ethernet: Option<Outside>,
}

/// Frames between the fabric and an outside Ethernet.
#[derive(Serialize)]
struct Outside {
    received: u64,
    sent: u64,
    /// Questions for the address of a NIC.
    answered: u64,
    /// For no NIC.
    ignored: u64,
    /// That came faster than simulated time took them.
    overflowed: u64,
    /// That nobody outside took.
    untaken: u64,
}

impl Outside {
    fn of(stats: EthernetStats) -> Self {
        let EthernetStats { received, sent, answered, ignored, overflowed, untaken } = stats;
        Self { received, sent, answered, ignored, overflowed, untaken }
    }
}

/// Two sockets' paths.
fn sockets(text: &str) -> Result<(PathBuf, PathBuf), String> {
    match text.split_once(',') {
        Some((local, remote)) if !local.is_empty() && !remote.is_empty() && local != remote => {
            Ok((local.into(), remote.into()))
        }
        _ => Err("two paths are wanted, LOCAL,REMOTE: where frames are received and where they go".into()),
    }
}

/// Builds something of tessera-verbs, and says where it is.
pub fn build(what: &[&str], file: &str) -> Result<PathBuf, Failure> {
    let out = cargo()
        .args(["build", "--quiet", "--package", "tessera-verbs", "--message-format", "json"])
        .args(what)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failure::new(format!("cannot start cargo to build tessera-verbs: {error}")))?;
    let lines = String::from_utf8_lossy(&out.stdout);
    let messages = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut built = messages.filter_map(|message| {
        let names = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
        let found = names.map(PathBuf::from).find(|path| path.ends_with(file))?;
        message["package_id"].as_str()?.contains("tessera-verbs").then_some(found)
    });
    match built.next_back() {
        Some(path) if out.status.success() => Ok(path),
        _ => Err(Failure::new("tessera-verbs does not build: see above")),
    }
}

/// What LD_PRELOAD is to be. What was to be preloaded anyway comes behind.
fn preloaded(library: &Path, others: Option<OsString>) -> Result<OsString, Failure> {
    if library.as_os_str().as_bytes().iter().any(|byte| b" :".contains(byte)) {
        return Err(Failure::new(format!(
            "{} cannot be preloaded, since the loader takes spaces and colons for ends of names: set CARGO_TARGET_DIR to a folder without",
            library.display()
        )));
    }
    let mut libraries = library.as_os_str().to_owned();
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        libraries.push(":");
        libraries.push(others);
    }
    Ok(libraries)
}

/// A copy of the program, and all processes that it starts.
pub struct Copy {
    child: Child,
    group: Pid,
    status: Option<ExitStatus>,
}

impl Copy {
    /// Starts it: with the address of a device, registers to set, the library to preload, and
    /// the number of a NIC if it is to have that.
    pub fn start(
        command: &[OsString],
        (address, settings): (&str, &str),
        library: &Path,
        nic: Option<u16>,
    ) -> Result<Self, Failure> {
        let (program, arguments) = command.split_first().ok_or_else(|| Failure::new("no program given"))?;
        let libraries = preloaded(library, std::env::var_os("LD_PRELOAD"))?;
        let mut start = Command::new(program);
        start.args(arguments).env("LD_PRELOAD", libraries).env("TESSERA_DEVICE", address);
        start.env("TESSERA_SET", settings).process_group(0);
        if let Some(nic) = nic {
            start.env("TESSERA_NIC", nic.to_string());
        }
        // A group in the background is stopped when it reads a terminal.
        if std::io::stdin().is_terminal() {
            start.stdin(Stdio::null());
        }
        let child = start
            .spawn()
            .map_err(|error| Failure::new(format!("cannot start {}: {error}", program.display())))?;
        let group = Pid::from_raw(child.id() as i32);
        Ok(Self { child, group, status: None })
    }

    /// Whether it has ended, by itself.
    pub fn ended(&mut self) -> Result<bool, Failure> {
        if self.status.is_none() {
            self.status = self.child.try_wait()?;
        }
        Ok(self.status.is_some())
    }

    /// Whether nothing that it started is left, once it has ended itself.
    fn is_gone(&self) -> bool {
        orphans::reap(Pid::from_raw(-self.group.as_raw()));
        killpg(self.group, None) == Err(Errno::ESRCH)
    }

    /// 128 and the signal's number where one has ended it, as shells say.
    pub fn exit(&self) -> i32 {
        self.status.map_or(128 + Signal::SIGKILL as i32, |status| {
            status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
        })
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // Also what it left behind. Who does not listen is not asked twice.
        let _ = killpg(self.group, Signal::SIGTERM);
        let begun = Instant::now();
        while !self.is_gone() && begun.elapsed() < Duration::from_secs(2) {
            std::thread::sleep(LOOK);
        }
        let _ = killpg(self.group, Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

/// Until all copies have ended; how each did. An error if somebody stopped the run.
fn wait(copies: &mut [Copy], stopped: &AtomicBool) -> Result<Vec<i32>, Failure> {
    let mut since: Option<Instant> = None;
    loop {
        if stopped.load(Ordering::Relaxed) {
            return Err(Failure::new("stopped"));
        }
        let mut running = 0;
        for copy in copies.iter_mut() {
            running += usize::from(!copy.ended()?);
        }
        // Servers that a shell leaves in the background finish what they say.
        let late = running == 0 && since.get_or_insert_with(Instant::now).elapsed() > PATIENCE;
        if late || running == 0 && copies.iter().all(Copy::is_gone) {
            return Ok(copies.iter().map(Copy::exit).collect());
        }
        std::thread::sleep(LOOK);
    }
}

/// Runs the program.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        output::check_writable(path)?;
    }
    let nics = args.simulated.nics;
    args.simulated.check()?;
    let library = build(&["--lib"], "libtessera_verbs.so")?;
    let ethernet = args.ethernet.as_ref().map(|(local, remote)| {
        let end = Ethernet::bind(local, remote, nics.into());
        let cannot = |error| Failure::new(format!("cannot receive frames at {}: {error}", local.display()));
        end.map(Arc::new).map_err(cannot)
    });
    let ethernet = ethernet.transpose()?;
    let stop = Stop::watch()?;
    args.ethernet.iter().for_each(|(local, _)| stop.removes(local.clone()));
    // Gone with the run, however that ends.
    let folder = stop.folder("tessera-")?;
    let way = if args.ask_for_memory { MemoryWay::Asked } else { MemoryWay::Found };
    let socket = folder.path().join("nics");
    let simulated = args.simulated.serve(&socket, way, ethernet.as_ref())?;
    let server = &simulated.server;
    let functions = args.vfio_user.as_ref().map(|folder| {
        let cannot =
            |error| Failure::new(format!("cannot listen at {}/nic0 and so on: {error}", folder.display()));
        server.functions(folder).map_err(cannot)
    });
    let functions = functions.transpose()?;
    let orphans = Orphans::adopt();
    let stopped = Arc::new(AtomicBool::new(false));
    stop.tells(stopped.clone());
    let address = format!("socket:{}?nic=any", socket.display());
    let settings = &simulated.settings;
    let mut copies = Vec::new();
    for copy in 0..if args.each { nics } else { 1 } {
        copies.push(Copy::start(&args.command, (&address, settings), &library, args.each.then_some(copy))?);
    }
    let ended = wait(&mut copies, &stopped);
    // In this order: what is left of them is orphaned.
    drop((copies, orphans));
    let exits = ended?;
    // Their connections end with them, and are cleared one after the other.
    let begun_clearing = Instant::now();
    while server.programs().iter().any(Option::is_some) && begun_clearing.elapsed() < PATIENCE {
        std::thread::sleep(LOOK);
    }
    drop(functions);
    let report = Report {
        ok: exits.iter().all(|&exit| exit == 0),
        program: args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        exits,
        happened: simulated.finish(&args.simulated)?,
        ethernet: ethernet.map(|ethernet| Outside::of(ethernet.stats())),
    };
    report.print();
    if let Some(path) = &args.json {
        output::write_json(path, &report)?;
    }
    match report.exits.iter().position(|&exit| exit != 0) {
        None => Ok(()),
        Some(copy) => {
            let which = if args.each { format!("copy {copy} of the program") } else { "the program".into() };
            Err(Failure::new(format!("{which} ended with {}", report.exits[copy])))
        }
    }
}

impl Report {
    fn print(&self) {
        self.happened.print_fabric();
        if let Some(Outside { received, sent, answered, ignored, overflowed, untaken }) = &self.ethernet {
            println!(
                "Ethernet {received} frames in, {sent} out; {answered} questions answered, {ignored} for no NIC, \
                 {overflowed} too many, {untaken} taken by nobody"
            );
        }
        self.happened.print_visits();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_preloaded_is_named() {
        let preloaded = |path: &str, others: Option<&str>| preloaded(path.as_ref(), others.map(Into::into));
        assert_eq!(preloaded("/t/lib.so", None).unwrap(), "/t/lib.so");
        assert_eq!(preloaded("/t/lib.so", Some("")).unwrap(), "/t/lib.so");
        assert_eq!(preloaded("/t/lib.so", Some("/u/a.so b.so")).unwrap(), "/t/lib.so:/u/a.so b.so");
        for odd in ["/my target/lib.so", "/a:b/lib.so"] {
            let refused = preloaded(odd, None).unwrap_err().to_string();
            assert!(refused.contains(odd) && refused.contains("CARGO_TARGET_DIR"), "{refused}");
        }
    }
}
