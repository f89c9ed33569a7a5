//! `tessera guest`: simulated NICs as PCI devices of a Linux guest.
//!
//! ```text
//!  tessera guest ── simulates ──> NIC 0 ─── fabric ─── NIC 1 ══socket══ program outside
//!       │ starts                   ║ x-pci-proxy-dev
//!       └──> QEMU ── Linux ── 0000:00:05.0 ── driver `pci:` ── program inside
//! ```

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use nix::fcntl::{fcntl, FcntlArg, FdFlag};
use serde::Serialize;
use serde_json::Value;
use tessera_sim::pci::Face;
use tessera_sim::serve::MemoryWay;
use tessera_sim::tools;

use super::{output, Image, Kernel, Options, Qemu, NEEDS, SERVE};
use crate::output::{self as outputs, Failure};
use crate::programs::cargo;
use crate::run::{self, Copy};
use crate::simulated::{FabricArgs, Happened, Simulated};
use crate::stop::Stop;

/// PCI slot of the first NIC; the others follow.
const SLOT: u16 = 5;
/// Where the guest has the driver's example.
const ECHO: &str = "/usr/bin/tessera-echo";
/// How long a guest takes to come up, at most; it takes a tenth of it.
const BOOT: Duration = Duration::from_secs(60);
/// How long what is behind the guest's program may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Boot Linux in QEMU with simulated NICs as its PCI devices.
///
/// The first NICs are the guest's, from PCI function 0000:00:05.0 on; the others are for
/// programs outside. Without a program, one inside and one outside exchange messages through
/// the driver, and check them.
///
/// A program that is named with a slash is one of this machine: it is copied into the guest with
/// the libraries that it is linked with. Others are the guest's own: busybox's, and tessera-echo
/// (driver/examples/echo.rs). It finds its NIC in TESSERA_DEVICE, as programs outside do.
///
///     cargo tessera guest
///     cargo tessera guest -i -- sh
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub struct GuestArgs {
    /// NICs of the guest
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=8))]
    pub inside: u16,
    /// A shell's line to run outside meanwhile, with a NIC as `tessera run` gives it
    #[arg(long, value_name = "COMMAND", requires = "command")]
    pub outside: Option<String>,
    /// A file of this machine to have in the guest, and where; may be given several times
    #[arg(long, value_name = "FILE=PATH", value_parser = placed)]
    pub file: Vec<(PathBuf, String)>,
    /// Show the NICs as a shell does: registers at an offset of a BAR, PCI numbers of somebody else
    #[arg(long, value_name = "BAR:OFFSET", value_parser = window)]
    pub window: Option<Face>,
    /// Let the program read this terminal, line by line
    #[arg(short, long, requires = "command")]
    pub interactive: bool,
    /// Memory of the guest, MiB
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(256..=16384))]
    pub memory: u32,
    /// Seconds after which the guest is ended
    #[arg(long, default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: u64,
    /// Write the result as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    #[command(flatten)]
    pub simulated: FabricArgs,
    /// The program inside and its arguments, behind `--`
    #[arg(last = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

/// A file and its place in the guest.
fn placed(text: &str) -> Result<(PathBuf, String), String> {
    match text.split_once('=') {
        Some((file, at)) if !file.is_empty() && at.starts_with('/') && at.len() > 1 => {
            Ok((file.into(), at.into()))
        }
        _ => Err("write it as FILE=PATH, with the path in the guest from its root".into()),
    }
}

/// A BAR and an offset in it.
fn window(text: &str) -> Result<Face, String> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let place = text.split_once(':').and_then(|(bar, offset)| Some((bar.parse().ok()?, number(offset)?)));
    let most = Face::MOST;
    place
        .and_then(|(bar, offset)| Face::window(bar, offset))
        .ok_or_else(|| format!("write it as 2:0x200000: BAR 0 to 5, and a multiple of 4096 up to {most:#x}"))
}

/// A guest's run, as JSON.
#[derive(Serialize)]
struct Report {
    ok: bool,
    /// As the guest's shell got it.
    program: String,
    exit: i32,
    /// How what ran outside ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    outside: Option<i32>,
    kernel: String,
    /// Until the guest was up.
    boot_s: f64,
    inside: u16,
    #[serde(flatten)]
    happened: Happened,
}

/// As the guest's shell takes it for one word.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// An example of the driver, built.
pub fn example(name: &str) -> Result<PathBuf, Failure> {
    let mut build = cargo();
    build.args(["build", "--quiet", "--package", "tessera-driver", "--example", name]);
    build.args(["--message-format", "json"]).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let lines = output(&mut build)?;
    let messages = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut files = messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    let found = files.find(|file| file.ends_with(name));
    found.ok_or_else(|| Failure::new(format!("cargo built no example `{name}`")))
}

/// The other side of the exchange, which ends with this.
struct Answerer {
    child: Child,
    endpoint: String,
}

impl Answerer {
    fn start(program: &Path, simulated: &Simulated, inside: u16) -> Result<Self, Failure> {
        let mut child = Command::new(program)
            .args([simulated.server.address(inside.into()), (inside + 1).to_string()])
            .env("TESSERA_SET", &simulated.settings)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut first = String::new();
        if let Some(out) = child.stdout.as_mut() {
            BufReader::with_capacity(1, out).read_line(&mut first)?;
        }
        let endpoint = first.trim().strip_prefix("endpoint ").map(str::to_owned);
        let answerer = Self { child, endpoint: endpoint.clone().unwrap_or_default() };
        match endpoint {
            Some(_) => Ok(answerer),
            None => Err(Failure::new("the program outside did not begin: see above")),
        }
    }

    /// Waits for its end; what else it said.
    fn finish(mut self) -> Result<String, Failure> {
        let begun = Instant::now();
        while self.child.try_wait()?.is_none() {
            if begun.elapsed() > PATIENCE {
                return Err(Failure::new("the program outside waits for messages that do not come"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut rest = String::new();
        if let Some(out) = self.child.stdout.as_mut() {
            out.read_to_string(&mut rest)?;
        }
        Ok(rest)
    }
}

impl Drop for Answerer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The guest's init: huge pages for the driver, and what the command line says.
fn init(devices: &[String], settings: &str, memory: u32) -> String {
    // A quarter of the memory.
    let pages = memory / 4 / 2;
    let (first, all) = (&devices[0], devices.join(" "));
    format!(
        "echo {pages} > /proc/sys/vm/nr_hugepages\n\
         export PATH=/usr/bin:/bin TESSERA_DEVICE='{first}' TESSERA_DEVICES='{all}' TESSERA_SET='{settings}'\n{SERVE}"
    )
}

/// Adds a file, with its libraries if it is a program.
fn add<'a>(image: Image<'a>, file: &Path, at: &str) -> Result<Image<'a>, Failure> {
    let cannot = |error| Failure::new(format!("cannot read {}: {error}", file.display()));
    let mut beginning = Vec::new();
    std::fs::File::open(file).and_then(|file| file.take(4).read_to_end(&mut beginning)).map_err(cannot)?;
    if beginning == b"\x7FELF" {
        return image.program(file, at);
    }
    Ok(image.file(at, &std::fs::read(file).map_err(cannot)?))
}

/// QEMU's arguments for NICs, and for memory that their process can be shown.
fn arguments(ends: &[OwnedFd], memory: u32) -> Result<Vec<OsString>, Failure> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add = |name: &str, value: String| arguments.extend([name.into(), value.into()]);
    add("-object", format!("memory-backend-memfd,id=memory,size={memory}M,share=on"));
    for (nic, end) in ends.iter().enumerate() {
        // For QEMU to have, under this number.
        fcntl(end, FcntlArg::F_SETFD(FdFlag::empty()))?;
        let slot = usize::from(SLOT) + nic;
        add("-device", format!("x-pci-proxy-dev,id=nic{nic},addr={slot:02x}.0,fd={}", end.as_raw_fd()));
    }
    Ok(arguments)
}

/// Gives the guest what is read here, and says when there is no more.
fn forward(mut console: std::fs::File) {
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut console);
        // What a terminal's reader takes for the end.
        let _ = console.write_all(&[4]);
    });
}

/// Boots the guest, and runs the program.
pub fn run(args: &GuestArgs) -> Result<(), Failure> {
    if let Some(path) = &args.json {
        outputs::check_writable(path)?;
    }
    args.simulated.check()?;
    let (inside, nics) = (args.inside, args.simulated.nics);
    let exchange = args.command.is_empty();
    let outside = u16::from(exchange || args.outside.is_some());
    if inside + outside > nics {
        let wanted = inside + outside;
        return Err(Failure::new(format!(
            "--inside {inside} of --nics {nics} leaves none for the program outside: use --nics {wanted}"
        )));
    }
    tools::require_packages("the guest is run with", &NEEDS)?;
    let kernel = Kernel::get()?;
    let echo = example("echo")?;
    let library = match &args.outside {
        Some(_) => Some(run::build(&["--lib"], "libtessera_verbs.so")?),
        None => None,
    };
    // Gone with the run, however that ends.
    let stop = Stop::watch()?;
    let folder = stop.folder("tessera-guest-")?;
    let simulated = args.simulated.serve(&folder.path().join("nics"), MemoryWay::Found, None)?;
    let face = args.window.unwrap_or_default();
    let place =
        args.window.map_or(String::new(), |face| format!("?bar={}&offset={:#x}", face.bar, face.offset));
    let devices: Vec<_> = (0..inside).map(|nic| format!("pci:0000:00:{:02x}.0{place}", SLOT + nic)).collect();
    let init = init(&devices, &simulated.settings, args.memory);
    let mut image = Image::new(&kernel, &init)?.program(&echo, ECHO)?;
    if args.window.is_some() {
        // A driver that takes any function, in the place of the shell's.
        image = image.modules(&["pci-stub"])?;
    }
    for (file, at) in &args.file {
        image = add(image, file, at)?;
    }
    let mut words: Vec<String> =
        args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    match words.first_mut() {
        None => words = vec![ECHO.into(), devices[0].clone(), "1".into(), (inside + 1).to_string()],
        Some(first) if first.contains('/') => {
            let name = Path::new(first).file_name().unwrap_or_default().to_string_lossy();
            let at = format!("/usr/bin/{name}");
            image = image.program(Path::new(first), &at)?;
            *first = at;
        }
        Some(_) => {}
    }
    // By a file: what is said on the console has lines, and they are short.
    let program = words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
    let image = image.file("/program", format!("exec {program} \"$@\"\n").as_bytes());
    let ends =
        (0..inside).map(|nic| simulated.server.proxy(nic.into(), face)).collect::<Result<Vec<_>, _>>()?;
    let options = Options {
        machine: "q35,memory-backend=memory",
        memory: args.memory,
        append: "",
        arguments: arguments(&ends, args.memory)?,
        limit: Duration::from_secs(args.limit),
    };
    let begun = Instant::now();
    let mut qemu = Qemu::start(&kernel, &image.write(folder.path())?, &options)?;
    drop(ends);
    stop.tells(qemu.stop());
    qemu.wait_for("@ ready\n", BOOT)?;
    let boot_s = begun.elapsed().as_secs_f64();
    let limit = Duration::from_secs(args.limit);
    let (release, _) = qemu.run("uname -r", limit)?;
    println!("guest    Linux {}, up in {boot_s:.1} s, with {}", release.trim(), devices.join(" "));
    let answerer = exchange.then(|| Answerer::start(&echo, &simulated, inside)).transpose()?;
    let mut copy = match (&args.outside, &library) {
        (Some(line), Some(library)) => {
            let socket = folder.path().join("nics");
            let address = format!("socket:{}?nic=any", socket.display());
            let line = ["sh".into(), "-c".into(), line.into()];
            Some(Copy::start(&line, (&address, &simulated.settings), library, None)?)
        }
        _ => None,
    };
    let mut line = "sh /program".to_owned();
    if let Some(Answerer { endpoint, .. }) = &answerer {
        line += &format!(" {endpoint}");
    }
    if args.interactive {
        line += " < /dev/console";
        forward(qemu.console()?);
    }
    let exit = qemu.show(&line, limit, &mut |text| {
        print!("{text}");
        let _ = std::io::stdout().flush();
    })?;
    if let Some(answerer) = answerer {
        if exit == 0 {
            println!("outside  {}", answerer.finish()?.trim());
        }
    }
    let outside = copy.as_mut().map(|copy| -> Result<i32, Failure> {
        // It may have something to finish; when the guest has failed there is no use.
        let begun = Instant::now();
        while !copy.ended()? && exit == 0 && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(copy.exit())
    });
    let outside = outside.transpose()?;
    drop((copy, qemu));
    let begun = Instant::now();
    while simulated.server.programs().iter().any(Option::is_some) && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    let report = Report {
        ok: exit == 0 && outside.is_none_or(|exit| exit == 0),
        program,
        exit,
        outside,
        kernel: release.trim().into(),
        boot_s,
        inside,
        happened: simulated.finish(&args.simulated)?,
    };
    report.happened.print_fabric();
    report.happened.print_visits();
    if let Some(path) = &args.json {
        outputs::write_json(path, &report)?;
    }
    match report.outside {
        _ if exit != 0 => Err(Failure::new(format!("the program in the guest ended with {exit}"))),
        Some(exit) if exit != 0 => Err(Failure::new(format!("the program outside ended with {exit}"))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_guest_as_they_are() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }

    #[test]
    fn windows_have_a_place() {
        assert_eq!(window("2:0x200000").ok(), Face::window(2, 0x20_0000));
        assert_eq!(window("0:4096").ok(), Face::window(0, 4096));
        for wrong in ["", "2", "2:", ":0", "6:0", "2:1", "2:2M", "2:0x100000000"] {
            assert!(window(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn files_have_a_place() {
        assert_eq!(placed("a/b=/etc/c"), Ok(("a/b".into(), "/etc/c".into())));
        for wrong in ["a", "=/etc/c", "a=", "a=etc/c", "a=/"] {
            assert!(placed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_guest_is_told_its_devices() {
        let init = init(&["pci:a".into(), "pci:b".into()], "PATH_COUNT=4", 512);
        assert!(init.contains("echo 64 >") && init.contains("TESSERA_DEVICE='pci:a' "), "{init}");
        assert!(init.contains("'pci:a pci:b' TESSERA_SET='PATH_COUNT=4'") && init.contains("@ ready"));
    }
}
