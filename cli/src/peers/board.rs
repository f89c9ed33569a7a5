//! The driver's way to a board, without one: in a guest of QEMU whose IOMMU and PCI device
//! are emulated, but whose kernel and VFIO are Linux's own.
//!
//! ```text
//!   tessera test --peers ── qemu ── Debian's kernel, busybox ── driver/examples/edu.rs
//!                             └── intel-iommu ── bridge ──┬── edu      vfio-pci
//!                                                         └── e1000    in its group
//! ```
//!
//! What must be refused is, one step after the other: unbound, a group that is shared, no
//! rights, too little memory to lock; then it works, as root and as a user.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tessera_sim::tools::cache_dir;

use crate::output::Failure;

/// What a guest needs of the host.
pub const NEEDS: super::Needs =
    &[("/usr/bin/qemu-system-x86_64", "qemu-system-x86"), ("/bin/busybox", "busybox-static")];

/// As one of the peers.
pub const ALONE: super::Alone = super::Alone { ready, run };

/// Modules of the kernel, in the order of loading.
const MODULES: [&str; 7] =
    ["irqbypass", "vfio", "vfio_iommu_type1", "vfio_virqfd", "vfio-pci-core", "vfio-pci", "e1000"];

const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /bin
export PATH=/bin
echo 1 > /proc/sys/kernel/printk
for module in $(cat /modules/order); do insmod /modules/$module.ko || echo "no module $module"; done
cd /sys/bus/pci/devices
find() { for at in *; do [ "$(cat $at/vendor)$(cat $at/device)" = $1 ] && echo $at; done; }
edu=$(find 0x12340x11e8) other=$(find 0x80860x100e)
as_user() { su nobody -s /bin/sh -c "$1"; }
run() { echo "@ $1"; shift; "$@"; echo "@ ended with $?"; }
run unbound /edu $edu
echo vfio-pci > $edu/driver_override; echo $edu > ../drivers_probe
run shared /edu $edu
echo $other > $other/driver/unbind
run rights as_user "/edu $edu"
chown nobody /dev/vfio/$(basename $(readlink $edu/iommu_group))
run memory as_user "ulimit -l 4; /edu $edu"
run root /edu $edu
run user as_user "/edu $edu"
poweroff -f
"#;

/// Steps of the guest: name, exit code, what must be in the output.
const STEPS: [(&str, i32, &[&str]); 6] = [
    ("unbound", 1, &["is bound to no driver, not to vfio-pci", "driver_override"]),
    ("shared", 1, &["shares IOMMU group", "(e1000), which is bound to other drivers"]),
    ("rights", 1, &["cannot open /dev/vfio/", "chown"]),
    ("memory", 1, &["identity: right", "more than the 4096 bytes of memory that this process may lock"]),
    ("root", 0, WORKS),
    ("user", 0, WORKS),
];

const WORKS: &[&str] = &[
    "BAR 0 of 1 MiB: right",
    "10!: right",
    "2 KiB from memory and back to other memory: right",
    "memory that was taken away is out of reach: right",
    "and all of it without bus master: right",
    "and in reach again: right",
    "another program has a function of this group open",
    "is the PCI device 1234:11e8, not a Tessera NIC (1234:5453)",
];

/// What a command prints; an error with its last words if it fails.
fn output(command: &mut Command) -> Result<String, Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let out = command.stdin(Stdio::null()).output();
    let out = out.map_err(|error| Failure::new(format!("cannot start {program}: {error}")))?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        return Err(Failure::new(format!("{program} ended with {}: {}", out.status, said.trim())));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

/// Debian's kernel, unpacked: downloaded once, never installed.
fn kernel() -> Result<PathBuf, Failure> {
    let parent = cache_dir().join("tools");
    let folder = parent.join("vfio-guest-kernel");
    if folder.is_dir() {
        return Ok(folder);
    }
    let remedy = |error: Failure| {
        let how = "a Debian with `apt-get update` done has it";
        Failure::new(format!("there is no kernel for the guest ({error}): {how}"))
    };
    let depends = output(Command::new("apt-cache").args(["depends", "linux-image-amd64"])).map_err(remedy)?;
    let package = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: linux-image-"));
    let package = package.ok_or_else(|| remedy(Failure::new("linux-image-amd64 names none")))?;
    std::fs::create_dir_all(&parent)?;
    // Whole or not at all, also where two do it at once.
    let fresh = tempfile::Builder::new().prefix("kernel-").tempdir_in(&parent)?;
    let name = format!("linux-image-{package}");
    output(Command::new("apt-get").args(["download", "-qq", &name]).current_dir(&fresh)).map_err(remedy)?;
    let files = std::fs::read_dir(&fresh)?.flatten().map(|entry| entry.path());
    let archive = files.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "deb"));
    let archive = archive.ok_or_else(|| remedy(Failure::new(format!("{name} was not downloaded"))))?;
    let unpacked = fresh.path().join("unpacked");
    output(Command::new("dpkg-deb").arg("-x").args([&archive, &unpacked])).map_err(remedy)?;
    match std::fs::rename(&unpacked, &folder) {
        Err(_) if folder.is_dir() => Ok(folder),
        renamed => Ok(renamed.map(|()| folder)?),
    }
}

/// Files below a folder whose name is this.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut folders = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        if path.file_name().is_some_and(|other| other == name) {
            return Some(path);
        }
        // Not where links lead.
        if path.is_dir() && !path.is_symlink() {
            folders.push(path);
        }
    }
    folders.iter().find_map(|folder| find(folder, name))
}

/// The example, built.
fn example() -> Result<PathBuf, Failure> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--package", "tessera-driver", "--example", "edu"]);
    build.args(["--message-format", "json"]).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let lines = output(&mut build)?;
    let messages = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut files = messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    files.find(|file| file.ends_with("edu")).ok_or_else(|| Failure::new("cargo built no example `edu`"))
}

/// An archive of files for the kernel to begin with, in cpio's "new ASCII" format.
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    folders: Vec<PathBuf>,
    count: u32,
}

impl Archive {
    fn entry(&mut self, name: &str, mode: u32, data: &[u8]) {
        self.count += 1;
        let len = (data.len() as u32, name.len() as u32 + 1);
        // Number, mode, owner (2), links, time, length, devices (4), length of the name, 0.
        let fields = [self.count, mode, 0, 0, 1, 0, len.0, 0, 0, 0, 0, len.1, 0];
        self.bytes.extend(b"070701");
        self.bytes.extend(fields.iter().flat_map(|field| format!("{field:08x}").into_bytes()));
        self.bytes.extend(name.bytes().chain([0]));
        self.align();
        self.bytes.extend(data);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// Adds a file at an absolute path, and the folders above it.
    fn add(&mut self, path: &Path, data: &[u8]) {
        let relative = path.strip_prefix("/").unwrap_or(path);
        let above: Vec<_> = relative.ancestors().skip(1).filter(|a| *a != Path::new("")).collect();
        for folder in above.into_iter().rev() {
            if !self.folders.iter().any(|known| known == folder) {
                self.folders.push(folder.into());
                self.entry(&folder.to_string_lossy(), 0o040_755, &[]);
            }
        }
        self.entry(&relative.to_string_lossy(), 0o100_755, data);
    }

    fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

/// What the guest begins with.
fn files(kernel: &Path, program: &Path) -> Result<Vec<u8>, Failure> {
    let mut archive = Archive::default();
    archive.add(Path::new("/init"), INIT.as_bytes());
    archive.add(Path::new("/etc/passwd"), b"root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n");
    archive.add(Path::new("/bin/busybox"), &std::fs::read("/bin/busybox")?);
    archive.add(Path::new("/edu"), &std::fs::read(program)?);
    let mut libraries: Vec<PathBuf> = output(Command::new("ldd").arg(program))?
        .split_whitespace()
        .filter(|word| word.starts_with('/'))
        .map(PathBuf::from)
        .collect();
    libraries.sort();
    libraries.dedup();
    for library in libraries {
        archive.add(&library, &std::fs::read(&library)?);
    }
    archive.add(Path::new("/modules/order"), MODULES.join("\n").as_bytes());
    for module in MODULES {
        let name = format!("{module}.ko");
        // What is no module here is built in.
        if let Some(file) = find(&kernel.join("lib/modules"), &name) {
            archive.add(&Path::new("/modules").join(&name), &std::fs::read(file)?);
        }
    }
    Ok(archive.finish())
}

/// What the guest's output says of a step: its own words, and how it ended.
fn step<'a>(text: &'a str, name: &str) -> Option<(&'a str, i32)> {
    let (_, rest) = text.split_once(&format!("@ {name}\n"))?;
    let (words, rest) = rest.split_once("@ ended with ")?;
    Some((words, rest.lines().next()?.trim().parse().ok()?))
}

/// Sees to the kernel.
fn ready() -> Result<(), Failure> {
    kernel().map(|_| ())
}

/// Runs the guest; what was wrong.
fn run(folder: &Path) -> Result<Option<String>, Failure> {
    let kernel = kernel()?;
    let boot = std::fs::read_dir(kernel.join("boot"))?.flatten().map(|entry| entry.path());
    let is_kernel = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("vmlinuz"))
    };
    let image =
        boot.into_iter().find(is_kernel).ok_or_else(|| Failure::new("the kernel's package has none"))?;
    let initial = folder.join("initial.cpio");
    std::fs::write(&initial, files(&kernel, &example()?)?)?;
    let mut qemu = Command::new("timeout");
    qemu.args(["120", "qemu-system-x86_64", "-machine", "q35,kernel-irqchip=split", "-accel", "tcg"]);
    qemu.args(["-m", "512", "-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio"]);
    qemu.args(["-append", "console=ttyS0 quiet panic=-1 intel_iommu=on"]);
    qemu.arg("-kernel").arg(image).arg("-initrd").arg(initial);
    for device in ["intel-iommu,intremap=on", "pcie-pci-bridge,id=b", "edu,bus=b", "e1000,bus=b,romfile="] {
        qemu.args(["-device", device]);
    }
    let out = qemu.stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&out.stdout).replace('\r', "");
    let tail =
        || text.lines().rev().take(40).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n");
    for (name, expected, words) in STEPS {
        let Some((said, ended)) = step(&text, name) else {
            let error = String::from_utf8_lossy(&out.stderr);
            return Ok(Some(format!("the guest did not come to `{name}`:\n{}\n{error}", tail())));
        };
        if ended != expected {
            return Ok(Some(format!("`{name}` ended with {ended}, not {expected}:\n{said}")));
        }
        if let Some(word) = words.iter().find(|word| !said.contains(**word)) {
            return Ok(Some(format!("no `{word}` in the output of `{name}`:\n{said}")));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_whole_words() {
        let mut archive = Archive::default();
        archive.add(Path::new("/a/b"), b"12345");
        archive.add(Path::new("/a/c"), b"");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.matches("070701").count(), 4, "one folder, two files, the end");
        assert!(text.starts_with("07070100000001000041ed") && text.contains("12345\0\0\x0007"));
    }

    #[test]
    fn steps_are_told_apart() {
        let text = "boot\n@ one\nall right\n@ ended with 0\n@ two\nerror: no\n@ ended with 1\n";
        assert_eq!(step(text, "one"), Some(("all right\n", 0)));
        assert_eq!(step(text, "two"), Some(("error: no\n", 1)));
        assert_eq!(step(text, "three"), None);
        assert_eq!(step("@ one\nkilled", "one"), None);
    }
}
