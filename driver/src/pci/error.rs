//! Why a PCI function cannot be opened, and what to do about it.

use std::path::PathBuf;

use tessera_abi::pci;

use super::Window;
use crate::device::DeviceError;
use crate::error::OpenError;

fn listed(names: &[String]) -> String {
    names.join(", ")
}

fn bound(driver: Option<&str>) -> String {
    driver.map_or("no driver".into(), |driver| format!("the driver {driver}"))
}

fn too_short(window: Window, len: u64) -> String {
    let (bar, offset) = (window.bar(), window.offset());
    match len {
        0 => format!("no BAR {bar} (one of 64 bits goes by the first of its two numbers)"),
        len => format!(
            "{len} bytes of BAR {bar}, too few for the {} of the register map at {offset:#x}",
            pci::BAR_LEN
        ),
    }
}

/// What to do about a driver that has a shell.
fn beside(name: &str, found: Option<&str>) -> String {
    match found {
        None => "load that driver, or leave `beside` out".into(),
        Some(driver) => format!("if that is to stay, say beside={driver}; else, as root, `echo {name} > /sys/bus/pci/devices/{name}/driver/unbind`"),
    }
}

/// Why a PCI function could not be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PciError {
    /// No such address.
    #[error("`{0}` is no address of a PCI function: use domain:bus:device.function in hexadecimal, as `lspci -D` has it, such as 0000:01:00.0")]
    Address(String),
    /// Nothing there.
    #[error("there is no PCI function {0}: `lspci -D` lists those there are; a board that was just programmed needs `echo 1 > /sys/bus/pci/rescan`")]
    NoFunction(String),
    /// The machine has no IOMMU that works.
    #[error("no IOMMU stands between {0} and memory, without which a device could write anywhere: switch VT-d or AMD-Vi on in the firmware, and boot with intel_iommu=on (AMD: nothing more); where a virtual machine has none, pci:{0} does without")]
    NoIommu(String),
    /// An IOMMU knows other addresses than those of memory.
    #[error("an IOMMU stands between {0} and memory: open it as vfio:{0}, which uses it; `pci:` is for machines without")]
    Guarded(String),
    /// The kernel drives it.
    #[error("{name} is bound to the driver {driver}: as root, `echo {name} > /sys/bus/pci/devices/{name}/driver/unbind`")]
    Driven {
        /// The function.
        name: String,
        /// Who has it.
        driver: String,
    },
    /// There are no huge pages.
    #[error("there are no huge pages of 2 MiB left ({0}), which a device behind no IOMMU needs: as root, `echo 32 > /proc/sys/vm/nr_hugepages`, or boot with hugepages=32")]
    HugePages(String),
    /// Where memory lies is not told.
    #[error("this program may not know where its memory lies ({0}), which a device behind no IOMMU must be told: run it as root (CAP_SYS_ADMIN)")]
    Physical(String),
    /// Another program has it.
    #[error("{0} is open in another program: end that")]
    Taken(String),
    /// Somebody else drives it.
    #[error("{name} is bound to {}, not to vfio-pci: as root, `modprobe vfio-pci`, then `echo vfio-pci > /sys/bus/pci/devices/{name}/driver_override`{} and `echo {name} > /sys/bus/pci/drivers_probe`", bound(driver.as_deref()), if driver.is_some() { format!(", `echo {name} > /sys/bus/pci/devices/{name}/driver/unbind`") } else { String::new() })]
    NotBound {
        /// The function.
        name: String,
        /// Who has it.
        driver: Option<String>,
    },
    /// A device node cannot be opened.
    #[error("cannot open {} ({error}): {remedy}", path.display())]
    Node {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: String,
        /// What helps.
        remedy: String,
    },
    /// The kernel's VFIO is none that this driver knows.
    #[error("the kernel's VFIO has no {0}: use a Linux kernel with CONFIG_VFIO_IOMMU_TYPE1")]
    Kernel(&'static str),
    /// Others of its group are driven by the kernel.
    #[error("{name} shares IOMMU group {group} with {}, which {} bound to other drivers: bind all of the group to vfio-pci or to none, or move the board to another slot", listed(others), if others.len() == 1 { "is" } else { "are" })]
    NotViable {
        /// The function.
        name: String,
        /// The group's number.
        group: u32,
        /// The others, with their drivers.
        others: Vec<String>,
    },
    /// The group cannot be given to the IOMMU.
    #[error("the kernel does not put IOMMU group {group} under VFIO ({error}): EPERM means that the IOMMU does not remap interrupts, which `modprobe vfio_iommu_type1 allow_unsafe_interrupts=1` accepts; EBUSY that another program has the group")]
    Iommu {
        /// The group's number.
        group: u32,
        /// What the system says.
        error: String,
    },
    /// A step that should not fail did.
    #[error("{name}: {step} failed ({error}): see the kernel's log")]
    Step {
        /// The function.
        name: String,
        /// What.
        step: &'static str,
        /// What the system says.
        error: String,
    },
    /// Not this kind of device.
    #[error(
        "{name} is the PCI device {:04x}:{:04x}, not a Tessera NIC ({:04x}:{:04x}): name another, or load the bitstream and rescan the bus",
        found[0], found[1], pci::VENDOR, pci::DEVICE
    )]
    NotTessera {
        /// The function.
        name: String,
        /// Vendor and device.
        found: [u16; 2],
    },
    /// Its registers cannot all be reached.
    #[error("BAR 0 of {name} has {len} bytes, not the {} of the register map: use a driver and a bitstream of the same version", pci::BAR_LEN)]
    Bar {
        /// The function.
        name: String,
        /// As it says.
        len: u64,
    },
    /// The window is not inside its BAR.
    #[error("{name} has {}: give the BAR and the offset that the shell's address map has, or make that BAR larger in the shell", too_short(*window, *len))]
    Window {
        /// The function.
        name: String,
        /// Where it should be.
        window: Window,
        /// Bytes of the BAR; 0 if there is none.
        len: u64,
    },
    /// The BAR is not memory.
    #[error("BAR {bar} of {name} is I/O space, a window is in memory: give the BAR that the shell's address map has")]
    Ports {
        /// The function.
        name: String,
        /// Which BAR.
        bar: u8,
    },
    /// There is something else in the window.
    #[error("at {:#x} of BAR {} of {name} is no NIC that this driver knows ({why}): give the BAR and the offset that the shell's address map has, and load a bitstream that fits", window.offset(), window.bar())]
    NoNic {
        /// The function.
        name: String,
        /// Where.
        window: Window,
        /// What its registers say.
        why: OpenError,
    },
    /// The driver that has the shell is not the one that may stay.
    #[error("{name} is bound to {}{}: {}", bound(found.as_deref()), wanted.as_ref().map_or(String::new(), |wanted| format!(", not to {wanted}")), beside(name, found.as_deref()))]
    NotBeside {
        /// The function.
        name: String,
        /// Who has it.
        found: Option<String>,
        /// Who may.
        wanted: Option<String>,
    },
    /// The driver that has the shell has not let it reach memory.
    #[error("the driver {driver} has not made {name} bus master, or does not let it answer (`lspci -vv`, Control), and it is that driver's to do: bring its device up first")]
    NotMaster {
        /// The function.
        name: String,
        /// Who has it.
        driver: String,
    },
    /// An IOMMU knows other addresses than those of memory, and a driver that has the function does not share it.
    #[error("an IOMMU stands between {name} and memory, and the driver {driver} maps none for programs: boot with iommu=pt, or leave `beside` out and use vfio")]
    Translated {
        /// The function.
        name: String,
        /// Who has it.
        driver: String,
    },
    /// Nobody listens.
    #[error("nobody answers at {} ({error}): start the simulator with `cargo tessera run --vfio-user DIRECTORY` first, or name its socket", path.display())]
    Nobody {
        /// The socket.
        path: PathBuf,
        /// What the system says.
        error: String,
    },
    /// Somebody else is served.
    #[error("the device at {} is open in another program: use another, or end that", path.display())]
    Busy {
        /// The socket.
        path: PathBuf,
    },
    /// What listens speaks something else, or another version of it.
    #[error("what listens at {} {what}: it must be a server of vfio-user 0.x with a PCI device", path.display())]
    Protocol {
        /// The socket.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
