//! Linux's soft-RoCE as the other side: its own UD transport, in a guest of QEMU, joined to
//! the simulated fabric by an Ethernet of datagram sockets.
//!
//! ```text
//!   tessera run --ethernet ══ tap ══ virtio-net ── rdma_rxe ── program in the guest
//!     └─ program on a NIC        └ looks at ICRCs, puts wrong frames between
//! ```
//!
//! Programs find each other by TCP on a network of QEMU's own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde_json::Value;

use super::tap::{End, Seen, Tap, Wrong};
use super::{shell, Needs, Ran, PRELUDE};
use crate::guest::{self, Image, Kernel, Options, Qemu, SERVE};
use crate::output::Failure;

/// What it needs of the host.
pub const NEEDS: Needs = &[
    guest::NEEDS[0],
    guest::NEEDS[1],
    ("/usr/bin/rdma", "iproute2"),
    ("/usr/bin/ibv_ud_pingpong", "ibverbs-utils"),
    ("/etc/libibverbs.d/rxe.driver", "ibverbs-providers"),
    ("/usr/include/infiniband/verbs.h", "libibverbs-dev"),
];

/// Every length, and wrong frames between.
pub const DATAGRAMS: super::Alone = super::Alone { ready, run: datagrams };
/// A program that nobody here wrote, on both sides.
pub const PINGPONG: super::Alone = super::Alone { ready, run: pingpong };

/// TCP ports of servers in the guest; 18635 is one on the host.
const PORTS: [u16; 4] = [18631, 18632, 18633, 18634];
const HOST_PORT: u16 = 18635;
/// Seconds that a step may take: none takes a fifth of them.
const LIMIT: Duration = Duration::from_secs(60);

/// The guest's addresses are in the networks of the NICs'. Frames are long enough for the
/// largest MTU of RoCE.
const INIT: &str = r#"
ip link set lo up
ip addr add 10.0.0.100/16 dev eth0
echo 0 > /proc/sys/net/ipv6/conf/eth0/accept_dad
ip -6 addr add fd54:5352:4100::64/64 dev eth0
ip link set eth0 mtu 4200 up
ip addr add 10.99.0.15/24 dev eth1
ip link set eth1 up
rdma link add rxe0 type rxe netdev eth0 || echo "no soft-RoCE"
listening() { for i in $(seq 200); do \
    grep -q ":$(printf %04X $1) 0*:0000 0A" /proc/net/tcp /proc/net/tcp6 && return 0; sleep 0.1; done; \
    echo "nobody listens at port $1"; cat /tmp/4 /tmp/6; ip addr; return 1; }
gid() { grep -l "$1" /sys/class/infiniband/rxe0/ports/1/gids/* | head -n 1 | grep -o '[0-9]*$'; }
counter() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/$1; }
"#;

/// What the guest's servers have said; those that still wait for somebody are ended.
const GATHER: &str =
    "for i in $(seq 30); do pidof datagrams ibv_ud_pingpong > /tmp/pids || break; sleep 0.1; done; \
    killall datagrams ibv_ud_pingpong 2> /dev/null; cat /tmp/4 /tmp/6";

/// The modules of soft-RoCE, of QEMU's network, and the CRC that soft-RoCE asks for by name.
const MODULES: [&str; 6] = ["virtio_pci", "virtio_net", "ipv6", "crc32_generic", "ib_uverbs", "rdma_rxe"];

/// The guest, the simulator, and what is between them.
struct Bed {
    guest: Qemu,
    tap: Tap,
    folder: PathBuf,
    simulator: End,
}

/// `tessera run`, which ends with us.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            // It ends what it has started.
            let _ = kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM);
            let _ = self.0.wait();
        }
    }
}

fn ready() -> Result<(), Failure> {
    Kernel::get().map(|_| ())
}

/// `tessera run`'s report, and what its program said.
struct Report {
    ended: bool,
    text: String,
    json: Value,
}

impl Report {
    /// Frames that the NIC has dropped for a reason, over all programs.
    fn counted(&self, name: &str) -> u64 {
        let visits = self.json["visits"].as_array().into_iter().flatten();
        visits.filter_map(|visit| visit["counters"][name].as_u64()).sum()
    }
}

impl Bed {
    /// Builds our program, boots the guest with it, and joins everything.
    fn new(folder: &Path, spoil: bool) -> Result<Self, Failure> {
        let at = |name: &str| folder.join(name);
        std::fs::write(at("datagrams.c"), include_str!("datagrams.c"))?;
        let build = "cc -Wall -Wextra -Werror -O1 -o datagrams datagrams.c -libverbs";
        let (built, text) = shell(folder, build)?;
        if !built {
            return Err(Failure::new(format!("`{build}` failed:\n{text}")));
        }
        let kernel = Kernel::get()?;
        let provider = guest::find(Path::new("/usr/lib"), &|name| {
            name.starts_with("librxe-rdmav") && name.ends_with(".so")
        });
        let provider = provider.ok_or_else(|| Failure::new("ibverbs-providers brings no librxe"))?;
        let image = Image::new(&kernel, &(INIT.to_owned() + SERVE))?
            .modules(&MODULES)?
            .program(&at("datagrams"), "/bin/datagrams")?
            .program(Path::new("/usr/bin/ibv_ud_pingpong"), "/bin/ibv_ud_pingpong")?
            .program(Path::new("/usr/bin/rdma"), "/bin/rdma")?
            .program(&provider, &provider.to_string_lossy())?
            .file("/etc/libibverbs.d/rxe.driver", b"driver rxe\n")
            .write(folder)?;
        let simulator = End { own: at("simulator"), ours: at("to-simulator") };
        let machine = End { own: at("guest"), ours: at("to-guest") };
        let tap = Tap::between(&simulator, &machine, spoil)?;
        let forwarded: String =
            PORTS.iter().map(|port| format!(",hostfwd=tcp:127.0.0.1:{port}-:{port}")).collect();
        let (own, ours) = (machine.own.display(), machine.ours.display());
        let arguments = [
            "-netdev",
            &format!("dgram,id=a,local.type=unix,local.path={own},remote.type=unix,remote.path={ours}"),
            "-device",
            "virtio-net-pci,netdev=a,mac=52:54:00:00:00:64,host_mtu=4200,romfile=",
            "-netdev",
            &format!("user,id=b,net=10.99.0.0/24{forwarded}"),
            "-device",
            "virtio-net-pci,netdev=b,romfile=",
        ];
        let options = Options {
            machine: "q35",
            memory: 512,
            append: "",
            arguments: arguments.iter().map(Into::into).collect(),
            limit: Duration::from_secs(180),
        };
        let mut guest = Qemu::start(&kernel, &image, &options)?;
        let said = guest.wait_for("@ ready\n", LIMIT)?;
        if said.contains("no module") || said.contains("no soft-RoCE") {
            return Err(Failure::new(format!("the guest has no soft-RoCE:\n{}", guest::tail(&said))));
        }
        Ok(Self { guest, tap, folder: folder.to_owned(), simulator })
    }

    /// Has the guest do a line, which must succeed.
    fn guest(&mut self, line: &str) -> Result<String, Failure> {
        let (text, code) = self.guest.run(line, LIMIT)?;
        match code {
            0 => Ok(text),
            _ => Err(Failure::new(format!("in the guest, `{line}` ended with {code}:\n{text}"))),
        }
    }

    /// Packets that soft-RoCE has taken for good ones.
    fn accepted(&mut self) -> Result<u64, Failure> {
        let text = self.guest("counter rcvd_pkts")?;
        text.trim().parse().map_err(|_| Failure::new(format!("rcvd_pkts of soft-RoCE is `{}`", text.trim())))
    }

    /// Starts a script on NICs that are joined to the guest: each of its programs has its
    /// own, since one that is left has to be cleared first.
    fn start(&self, nics: u16, script: &str) -> Result<Running, Failure> {
        let script = format!("{PRELUDE}{script}");
        let joined = format!("{},{}", self.simulator.own.display(), self.simulator.ours.display());
        let out = std::fs::File::create(self.folder.join("run.out"))?;
        let child = Command::new(std::env::current_exe()?)
            .args(["run", "--nics", &nics.to_string(), "--ethernet", &joined, "--json"])
            .arg(self.folder.join("run.json"))
            .args(["--", "timeout", "60", "sh", "-c", &script])
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .spawn()?;
        Ok(Running(child))
    }

    /// Waits for the end of that.
    fn end(&self, mut running: Running) -> Result<Report, Failure> {
        let ended = running.0.wait()?.success();
        let text = String::from_utf8_lossy(&std::fs::read(self.folder.join("run.out"))?).into_owned();
        let json = std::fs::read(self.folder.join("run.json")).ok();
        let json = json.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        Ok(Report { ended, text, json })
    }
}

/// What is wrong with what passed: ICRCs, of either.
fn icrcs(seen: &[Seen; 2]) -> Option<String> {
    let [nic, rxe] = seen;
    let wrong = nic.icrc_wrong + rxe.icrc_wrong;
    (wrong > 0)
        .then(|| format!("wrong ICRCs: {} of the NIC's, {} of soft-RoCE's", nic.icrc_wrong, rxe.icrc_wrong))
}

/// All lengths both ways over IPv4 and IPv6; before each frame one that the other side must
/// not take.
fn datagrams(folder: &Path) -> Result<Ran, Failure> {
    let mut bed = Bed::new(folder, true)?;
    let [v4, v6, ..] = PORTS;
    bed.guest(&format!("datagrams 10.0.0.100 {v4} > /tmp/4 2>&1 & listening {v4}"))?;
    bed.guest(&format!("datagrams fd54:5352:4100::64 {v6} > /tmp/6 2>&1 & listening {v6}"))?;
    let before = bed.accepted()?;
    let script =
        format!("TESSERA_NIC=0 ./datagrams 10.0.0.1 {v4} 127.0.0.1 && TESSERA_NIC=1 ./datagrams fd54:5352:4100::2 {v6} 127.0.0.1");
    let running = bed.start(2, &script)?;
    let report = bed.end(running)?;
    let seen = bed.tap.seen();
    let [nic, rxe] = seen;
    let frames = nic.frames + rxe.frames;
    // Programs that wait for nobody any more are not waited for.
    let guest = bed.guest(GATHER)?;
    let accepted = bed.accepted()? - before;
    let all = report.text.clone() + "in the guest:\n" + &guest;
    if !report.ended || all.matches("there and back").count() != 4 || all.contains("FAILED") {
        return Ok(Ran {
            why: Some(format!("not all datagrams went there and back:\n{all}")),
            frames,
            ..Ran::default()
        });
    }
    if accepted != nic.frames {
        let sent: u64 = nic.wrong.iter().sum();
        let why = format!(
            "soft-RoCE took {accepted} packets: {} right and {sent} wrong ones were sent",
            nic.frames
        );
        return Ok(Ran { why: Some(why), frames, ..Ran::default() });
    }
    let sent =
        |wrong: Wrong| Wrong::ALL.iter().zip(rxe.wrong).find(|(at, _)| **at == wrong).map_or(0, |(_, n)| n);
    let dropped = [
        ("icrc", sent(Wrong::Icrc) + sent(Wrong::Damaged)),
        ("q_key", sent(Wrong::QKey)),
        ("endpoint", sent(Wrong::Endpoint)),
        ("p_key", sent(Wrong::PKey)),
        ("RxUd", rxe.frames),
    ];
    for (name, sent) in dropped {
        let counted = report.counted(name);
        if counted != sent || sent == 0 {
            let why = format!("the NIC counts {counted} frames as {name}, of {sent}:\n{}", report.text);
            return Ok(Ran { why: Some(why), frames, ..Ran::default() });
        }
    }
    Ok(Ran { why: icrcs(&seen), frames, output: all, ..Ran::default() })
}

/// Waits until somebody listens at a TCP port of this machine.
fn listening(port: u16) -> Result<(), Failure> {
    let begun = Instant::now();
    let wanted = format!(":{port:04X} ");
    while begun.elapsed() < LIMIT {
        let tables =
            ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| std::fs::read_to_string(path).unwrap_or_default());
        let listens = |line: &str| {
            let mut words = line.split_whitespace().skip(1);
            let (own, state) = (words.next().unwrap_or_default(), words.nth(1));
            own.ends_with(wanted.trim_end()) && state == Some("0A")
        };
        if tables.iter().flat_map(|table| table.lines()).any(listens) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err(Failure::new(format!("nobody listens at port {port}")))
}

/// `ibv_ud_pingpong`: begun by the host over IPv4 and IPv6, then by the guest.
fn pingpong(folder: &Path) -> Result<Ran, Failure> {
    let mut bed = Bed::new(folder, false)?;
    let (v4, v6) = (PORTS[2], PORTS[3]);
    let long = "-s 4096 -n 50 -c";
    bed.guest(&format!(
        "ibv_ud_pingpong -p {v4} -g $(gid ffff:0a00:0064) -n 100 -c > /tmp/4 2>&1 & listening {v4}"
    ))?;
    bed.guest(&format!("ibv_ud_pingpong -p {v6} -g $(gid fd54:5352) {long} > /tmp/6 2>&1 & listening {v6}"))?;
    let script = format!(
        "TESSERA_NIC=0 ibv_ud_pingpong -p {v4} -g 0 -n 100 -c 127.0.0.1 && TESSERA_NIC=1 ibv_ud_pingpong -p {v6} -g 1 {long} 127.0.0.1 && \
         TESSERA_NIC=2 ibv_ud_pingpong -p {HOST_PORT} -g 0 {long}"
    );
    let running = bed.start(3, &script)?;
    let waited = listening(HOST_PORT);
    let line = format!("ibv_ud_pingpong -p {HOST_PORT} -g $(gid ffff:0a00:0064) {long} 10.99.0.2");
    let begun = match waited {
        Ok(()) => bed.guest.run(&line, LIMIT)?.0,
        Err(error) => error.to_string(),
    };
    let report = bed.end(running)?;
    let guest = bed.guest(GATHER)?;
    let seen = bed.tap.seen();
    let frames = seen[0].frames + seen[1].frames;
    let all = format!("{}in the guest:\n{guest}{begun}", report.text);
    let right =
        report.ended && all.matches("100 iters in").count() == 2 && all.matches("50 iters in").count() == 4;
    if !right || all.contains("invalid data") || frames != 400 {
        return Ok(Ran {
            why: Some(format!("{frames} frames of 400 went:\n{all}")),
            frames,
            ..Ran::default()
        });
    }
    Ok(Ran { why: icrcs(&seen), frames, output: all, ..Ran::default() })
}
