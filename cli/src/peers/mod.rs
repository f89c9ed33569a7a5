//! `tessera test --peers`: programs that nobody here wrote, unmodified, on simulated NICs.
//!
//! Each is one run of `tessera run`, with what must be in its output; a table says what
//! ran, how long it took and how many frames it sent.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use tessera_sim::tools;

use crate::guest::Kernel;
use crate::output::{self, Failure};
use crate::stop::Stop;
use list::PEERS;

mod board;
mod list;
mod page;
mod rxe;
mod tap;

/// What a program is of: a file that its Debian package brings.
type Needs = &'static [(&'static str, &'static str)];

/// A program, or two that talk.
struct Peer {
    name: &'static str,
    needs: Needs,
    /// `run`, or `guest`, which takes no script.
    verb: &'static str,
    /// Its options.
    options: &'static [&'static str],
    /// Run by a shell before, in a folder of its own with this source.
    build: Option<(&'static str, &'static str, &'static str)>,
    /// What the shell runs. `listening PORT` waits for a server.
    script: &'static str,
    /// What must be in the output.
    expects: &'static [&'static str],
    /// Fewest frames.
    frames: u64,
    /// The fabric turns bits over: frames of the capture need not be right.
    damages: bool,
    /// Instead of all that.
    alone: Option<Alone>,
}

/// What is no run of `tessera run`.
#[derive(Clone, Copy)]
struct Alone {
    /// Sees to what it takes, besides packages.
    ready: fn() -> Result<(), Failure>,
    /// Runs it in its folder.
    run: fn(&Path) -> Result<Ran, Failure>,
}

/// What came of it.
#[derive(Default)]
struct Ran {
    /// What was wrong.
    why: Option<String>,
    frames: u64,
    lost: u64,
    /// What it printed.
    output: String,
}

/// What captures are read by.
const READERS: Needs = &[("/usr/bin/tshark", "tshark"), ("/usr/bin/python3", "python3")];

/// Sees that no frame is malformed for Wireshark, that it takes all that are for UDP port 4791
/// for RoCEv2's, and that each ICRC is what zlib makes of the frame. Wireshark tries every payload
/// for Ethernet over InfiniBand, and finds those of 0 bytes malformed.
const READ: &str = "count() { tshark --disable-protocol infiniband.eoib -r frames.pcapng -Y \"$1\" 2> /dev/null | wc -l; }; \
    test \"$(count _ws.malformed)\" = 0 && test \"$(count udp.dstport==4791)\" = \"$(count infiniband.bth)\" && \
    python3 icrc.py frames.pcapng";

/// For scripts: waits until somebody listens at a TCP port; whoever hangs is ended.
const PRELUDE: &str = "listening() { for i in $(seq 600); do \
    grep -q \":$(printf %04X $1) 0*:0000 0A\" /proc/net/tcp /proc/net/tcp6 && return 0; sleep 0.1; done; \
    echo \"nobody listens at port $1\"; return 1; }; ";

/// Seconds that a run may take: none takes a tenth of them.
const LIMIT: &str = "240";

#[derive(Serialize)]
struct Row {
    name: &'static str,
    ok: bool,
    skipped: bool,
    seconds: f64,
    frames: u64,
    lost: u64,
    command: String,
    why: String,
    output: String,
    /// What is compiled before, and by which command.
    #[serde(skip_serializing_if = "Option::is_none")]
    build: Option<String>,
}

#[derive(Serialize)]
struct Outcome {
    ok: bool,
    passed: usize,
    failed: usize,
    skipped: usize,
    wall_s: f64,
    rows: Vec<Row>,
}

/// A shell's last words, and whether it succeeded.
fn shell(folder: &Path, script: &str) -> Result<(bool, String), Failure> {
    let out = Command::new("sh").args(["-c", script]).current_dir(folder).stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    Ok((out.status.success(), text))
}

impl Peer {
    /// The command by which a user runs it.
    fn command(&self) -> String {
        if self.alone.is_some() {
            return format!("cargo tessera test --peers '{}'", self.name);
        }
        let options = self.options.iter().map(|option| format!(" {option}")).collect::<String>();
        // Who does it by hand has patience.
        let mut words: Vec<_> = self.script.split_whitespace().collect();
        while let Some(at) = words.iter().position(|&word| word == "listening") {
            words.splice(at..words.len().min(at + 2), ["sleep", "2;"]);
        }
        let script = words.join(" ");
        let script = if script.is_empty() { script } else { format!(" -- sh -c '{script}'") };
        format!("cargo tessera {}{options}{script}", self.verb)
    }

    /// Runs it.
    fn run(&self, folder: &Path) -> Result<Ran, Failure> {
        if let Some(alone) = self.alone {
            return (alone.run)(folder);
        }
        if let Some((file, source, build)) = self.build {
            std::fs::write(folder.join(file), source)?;
            let (built, text) = shell(folder, build)?;
            if !built {
                return Ok(Ran { why: Some(format!("`{build}` failed:\n{text}")), ..Ran::default() });
            }
        }
        let script = format!("{PRELUDE}{}", self.script);
        let json: PathBuf = folder.join("run.json");
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(self.verb).args(self.options).args(["--pcap", "frames.pcapng"]).arg("--json").arg(&json);
        match self.verb {
            "guest" if self.script.is_empty() => command.args(["--limit", LIMIT]),
            "guest" => command.args(["--limit", LIMIT, "--", "sh", "-c", self.script]),
            _ => command.args(["--", "timeout", LIMIT, "sh", "-c", &script]),
        };
        let out = command.current_dir(folder).stdin(Stdio::null()).output()?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
        let report: Value = std::fs::read(&json)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        let number = |name: &str| report[name].as_u64().unwrap_or(0);
        let (frames, lost) = (number("frames"), number("lost"));
        let absent = self.expects.iter().find(|expected| !text.contains(**expected));
        let mut why = match absent {
            _ if !out.status.success() => Some(format!("it ended with {}:\n{text}", out.status)),
            Some(expected) => Some(format!("no `{expected}` in its output:\n{text}")),
            None if frames < self.frames => {
                Some(format!("{frames} frames, at least {} were to be:\n{text}", self.frames))
            }
            None => None,
        };
        if why.is_none() && frames > 0 && !self.damages {
            std::fs::write(folder.join("icrc.py"), include_str!("icrc.py"))?;
            let (right, said) = shell(folder, READ)?;
            why = (!right).then(|| format!("its capture is not right:\n{said}"));
        }
        Ok(Ran { why, frames, lost, output: text })
    }
}

/// Runs all whose name contains `filter`.
/// What ended a program is a mistake of its own, known where it is made, that comes and goes: it is run once more.
fn known_elsewhere(why: &str) -> Option<&'static str> {
    // Two ends that ask each other at once, on a busy machine; on boards too.
    let crossed = "Assertion `ep->dest_ep_id == ctl->conn_rep.src_ep_id' failed";
    why.contains(crossed).then_some("openucx/ucx issue 6040, an answer taken for another's")
}

pub fn run(filter: Option<&str>, json: Option<&Path>, markdown: Option<&Path>) -> Result<(), Failure> {
    for path in [json, markdown].into_iter().flatten() {
        output::check_writable(path)?;
    }
    let (begun, stop) = (Instant::now(), Stop::watch()?);
    let mut rows = Vec::new();
    for peer in PEERS.iter().filter(|peer| filter.is_none_or(|filter| peer.name.contains(filter))) {
        let mut row = Row {
            name: peer.name,
            ok: false,
            skipped: false,
            seconds: 0.0,
            frames: 0,
            lost: 0,
            command: peer.command(),
            why: String::new(),
            output: String::new(),
            build: peer.build.map(|(file, _, build)| match build {
                "true" => format!("With `{file}` (`cli/src/peers/list.rs`):"),
                build => format!("With `cli/src/peers/{file}`, by `{build}`:"),
            }),
        };
        let packages = [peer.needs, if peer.alone.is_some() { &[] } else { READERS }].concat();
        let packages = tools::require_packages("it is tested with", &packages).map_err(Failure::from);
        let ready = packages.and_then(|()| match peer.alone {
            Some(alone) => (alone.ready)(),
            None if peer.verb == "guest" => Kernel::get().map(drop),
            None => Ok(()),
        });
        if let Err(error) = ready {
            println!("SKIPPED {}: {error}", peer.name);
            (row.skipped, row.why) = (true, error.to_string());
            rows.push(row);
            continue;
        }
        let folder = stop.folder("tessera-peer-")?;
        let started = Instant::now();
        let mut ran = peer.run(folder.path())?;
        if let Some(known) = ran.why.as_deref().and_then(known_elsewhere) {
            println!("again  {}: {known}", row.name);
            let folder = stop.folder("tessera-peer-")?;
            ran = peer.run(folder.path())?;
        }
        let Ran { why, frames, lost, output } = ran;
        (row.seconds, row.frames, row.lost) = (started.elapsed().as_secs_f64(), frames, lost);
        row.ok = why.is_none();
        (row.why, row.output) = (why.unwrap_or_default(), output);
        let verdict = if row.ok { "ok    " } else { "FAILED" };
        println!("{verdict} {:<42} {:>6.1} s {:>7} frames {:>5} lost", row.name, row.seconds, frames, lost);
        if !row.ok {
            println!("{}", row.why);
        }
        rows.push(row);
    }
    let count = |of: fn(&Row) -> bool| rows.iter().filter(|row| of(row)).count();
    let (passed, skipped) = (count(|row| row.ok), count(|row| row.skipped));
    let failed = rows.len() - passed - skipped;
    let outcome =
        Outcome { ok: failed == 0, passed, failed, skipped, wall_s: begun.elapsed().as_secs_f64(), rows };
    println!("wall time {:.0} s", outcome.wall_s);
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if let Some(path) = json {
        output::write_json(path, &outcome)?;
    }
    if let Some(path) = markdown {
        output::write(path, page::page(&outcome.rows).as_bytes())?;
    }
    match (failed, outcome.rows.is_empty()) {
        (_, true) => Err(Failure::new("no program's name contains that")),
        (0, _) => Ok(()),
        _ => Err(Failure::new(format!("{failed} of the programs failed"))),
    }
}

#[cfg(test)]
mod tests {
    use super::known_elsewhere;

    #[test]
    fn only_what_is_known_is_run_again() {
        let crossed =
            "ud_ep.c:891  Assertion `ep->dest_ep_id == ctl->conn_rep.src_ep_id' failed: ep=0x1 [id=1]";
        assert!(known_elsewhere(crossed).is_some_and(|known| known.contains("6040")));
        for other in ["", "ud_ep.c:1  Assertion `ep->tx.psn == 0' failed", "it ended with exit status: 1:"] {
            assert_eq!(known_elsewhere(other), None, "{other}");
        }
    }
}
