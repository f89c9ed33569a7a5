//! The driver's way to a board, without one: in a guest of QEMU whose IOMMU and PCI device
//! are emulated, but whose kernel and VFIO are Linux's own.
//!
//! ```text
//!   tessera test --peers ── qemu ── Debian's kernel, busybox ── driver/examples/edu.rs
//!                             └── intel-iommu ─┬─ bridge ──┬── edu      vfio-pci
//!                                              │           └── e1000    in its group
//!                                              └─ ivshmem     vfio-pci, a window of its BAR 2
//! ```
//!
//! What must be refused is, one step after the other: unbound, a group that is shared, no
//! rights, too little memory to lock; then it works, as root and as a user.

use std::path::Path;
use std::time::Duration;

use crate::guest::command::example;
use crate::guest::{self, Image, Kernel, Options, Qemu};
use crate::output::Failure;

/// What a guest needs of the host.
pub const NEEDS: super::Needs = &guest::NEEDS;

/// As one of the peers.
pub const ALONE: super::Alone = super::Alone { ready, run };

/// Modules of the kernel, besides those that they depend on.
const MODULES: [&str; 3] = ["vfio_iommu_type1", "vfio-pci", "e1000"];

const INIT: &str = r#"
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
shared=$(find 0x1af40x1110)
echo vfio-pci > $shared/driver_override; echo $shared > ../drivers_probe
run window /edu $edu $shared
poweroff -f
"#;

/// Steps of the guest: name, exit code, what must be in the output.
const STEPS: [(&str, i32, &[&str]); 7] = [
    ("unbound", 1, &["is bound to no driver, not to vfio-pci", "driver_override"]),
    ("shared", 1, &["shares IOMMU group", "(e1000), which is bound to other drivers"]),
    ("rights", 1, &["cannot open /dev/vfio/", "chown"]),
    ("memory", 1, &["identity: right", "more than the 4096 bytes of memory that this process may lock"]),
    ("root", 0, WORKS),
    ("user", 0, WORKS),
    ("window", 0, WINDOWS),
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
    "nor has it room for a window: right",
];

const WINDOWS: &[&str] = &[
    "a window of 2 MiB: right",
    "4 KiB in front of it: right",
    "it has no NIC's registers: right",
    "it has to be inside: right",
    "there are BARs that are not: right",
    "with a NIC's first registers it is open, whatever its numbers: right",
];

/// What the guest's output says of a step: its own words, and how it ended.
fn step<'a>(text: &'a str, name: &str) -> Option<(&'a str, i32)> {
    let (_, rest) = text.split_once(&format!("@ {name}\n"))?;
    let (words, rest) = rest.split_once("@ ended with ")?;
    Some((words, rest.lines().next()?.trim().parse().ok()?))
}

/// Sees to the kernel.
fn ready() -> Result<(), Failure> {
    Kernel::get().map(|_| ())
}

/// Runs the guest; what was wrong.
fn run(folder: &Path) -> Result<super::Ran, Failure> {
    let (why, output) = steps(folder)?;
    Ok(super::Ran { why, output, ..super::Ran::default() })
}

fn steps(folder: &Path) -> Result<(Option<String>, String), Failure> {
    let kernel = Kernel::get()?;
    let image = Image::new(&kernel, INIT)?.modules(&MODULES)?.program(&example("edu")?, "/edu")?;
    let devices = [
        "intel-iommu,intremap=on",
        "pcie-pci-bridge,id=b",
        "edu,bus=b",
        "e1000,bus=b,romfile=",
        "ivshmem-plain,memdev=shared",
    ];
    let mut arguments: Vec<_> =
        devices.iter().flat_map(|&device| ["-device".into(), device.into()]).collect();
    arguments.extend(["-object".into(), "memory-backend-ram,id=shared,size=4M".into()]);
    let options = Options {
        machine: "q35,kernel-irqchip=split",
        memory: 512,
        append: "intel_iommu=on",
        arguments,
        limit: Duration::from_secs(120),
    };
    let text = Qemu::start(&kernel, &image.write(folder)?, &options)?.finish();
    let said = text.find("@ ").map_or("", |at| &text[at..]).to_owned();
    let wrong = |why: String| Ok((Some(why), String::new()));
    for (name, expected, words) in STEPS {
        let Some((said, ended)) = step(&text, name) else {
            return wrong(format!("the guest did not come to `{name}`:\n{}", guest::tail(&text)));
        };
        if ended != expected {
            return wrong(format!("`{name}` ended with {ended}, not {expected}:\n{said}"));
        }
        if let Some(word) = words.iter().find(|word| !said.contains(**word)) {
            return wrong(format!("no `{word}` in the output of `{name}`:\n{said}"));
        }
    }
    Ok((None, said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_apart() {
        let text = "boot\n@ one\nall right\n@ ended with 0\n@ two\nerror: no\n@ ended with 1\n";
        assert_eq!(step(text, "one"), Some(("all right\n", 0)));
        assert_eq!(step(text, "two"), Some(("error: no\n", 1)));
        assert_eq!(step(text, "three"), None);
        assert_eq!(step("@ one\nkilled", "one"), None);
    }
}
