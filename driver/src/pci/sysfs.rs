//! A PCI function of this machine behind no IOMMU: its registers by the files that Linux has
//! of it, memory by physical addresses.
//!
//! Nothing stands between the device and all of memory, and nothing ends what it does when its
//! program is killed: it may then write into pages that others have got since. A NIC is reset
//! when it is opened next. Such is a virtual machine without IOMMU, whose memory is nobody
//! else's; on a machine that matters, use [`vfio`](super::vfio).
//!
//! Wants root, and huge pages of 2 MiB: all memory that is allocated after a function is opened
//! comes from those ([`DmaMemory::physical_address`]). As much is adjacent as the kernel has
//! adjacent, which is most of what is set aside at boot.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use tessera_abi::pci;

use super::mapping::Mapping;
use super::vfio::{canonical, driver};
use super::{Bus, PciError, Ranges, Window};
use crate::device::DeviceError;
use crate::huge;
use crate::memory::DmaMemory;

/// A function of this machine.
pub struct Sysfs {
    name: String,
    window: Option<Window>,
    beside: Option<String>,
    /// None where the function has no BAR 0.
    bar: Option<Mapping>,
    bar_len: u64,
    config: Flock<File>,
    reset: PathBuf,
}

fn open(path: PathBuf) -> Result<File, PciError> {
    OpenOptions::new().read(true).write(true).open(&path).map_err(|error| refused(&path, &error))
}

fn refused(path: &Path, error: &Error) -> PciError {
    let remedy = match error.kind() {
        ErrorKind::PermissionDenied => {
            "run as root; a kernel that is locked down (Secure Boot) refuses root too"
        }
        ErrorKind::NotFound => "the function has no such thing: look with `lspci -v`",
        _ => "see the kernel's log",
    };
    PciError::Node { path: path.into(), error: error.to_string(), remedy: remedy.into() }
}

/// Why registers cannot be mapped.
fn unmapped(path: &Path, error: Errno) -> PciError {
    if error != Errno::EINVAL {
        return refused(path, &error.into());
    }
    let remedy = "a kernel with CONFIG_IO_STRICT_DEVMEM keeps from programs what a driver has claimed: boot with iomem=relaxed";
    PciError::Node { path: path.into(), error: error.to_string(), remedy: remedy.into() }
}

/// Whether addresses of this device's are those of memory.
pub(crate) fn is_plain(function: &Path) -> bool {
    let kind = std::fs::read_to_string(function.join("iommu_group/type"));
    !function.join("iommu_group").exists() || kind.is_ok_and(|kind| kind.trim() == "identity")
}

impl Sysfs {
    /// Opens the function of an address such as `0000:00:05.0`. Memory that is allocated from
    /// now on is such that it reaches it.
    ///
    /// # Errors
    /// If it is not there, not to be had, behind an IOMMU, or there are no huge pages.
    pub fn open(address: &str) -> Result<Self, PciError> {
        Self::open_at(Path::new("/sys/bus/pci/devices"), address, None, None, &huge::want)
    }

    /// Opens the function of a shell that has a NIC in a window. `beside`: the driver of the kernel
    /// that has the shell, and keeps it and its bus master.
    ///
    /// # Errors
    /// As [`open`](Self::open), or if the window is not inside a BAR, or another driver has the shell.
    pub fn open_window(address: &str, window: Window, beside: Option<&str>) -> Result<Self, PciError> {
        Self::open_at(Path::new("/sys/bus/pci/devices"), address, Some(window), beside, &huge::want)
    }

    fn open_at(
        functions: &Path,
        address: &str,
        window: Option<Window>,
        beside: Option<&str>,
        want: &dyn Fn() -> Result<(), Error>,
    ) -> Result<Self, PciError> {
        let name = canonical(address).ok_or_else(|| PciError::Address(address.into()))?;
        let function = functions.join(&name);
        if !function.exists() {
            return Err(PciError::NoFunction(name));
        }
        match (driver(&function), beside) {
            // `vfio` would have it unbound, and the shell without its driver.
            (Some(driver), None) if window.is_some() && driver != "vfio-pci" => {
                return Err(PciError::NotBeside { name, found: Some(driver), wanted: None });
            }
            (_, None) if function.join("iommu_group").exists() => {
                return Err(PciError::Guarded(
                    window.map_or(name.clone(), |window| format!("{name}{window}")),
                ));
            }
            (None, None) => {}
            (Some(driver), None) if window.is_none() => return Err(PciError::Driven { name, driver }),
            (found, wanted) if found.as_deref() != wanted => {
                return Err(PciError::NotBeside { name, found, wanted: wanted.map(Into::into) });
            }
            (Some(driver), _) if !is_plain(&function) => return Err(PciError::Translated { name, driver }),
            _ => {}
        }
        // Who has this lock has the function.
        let config = match Flock::lock(open(function.join("config"))?, FlockArg::LockExclusiveNonblock) {
            Ok(config) => config,
            Err((_, Errno::EWOULDBLOCK)) => return Err(PciError::Taken(name)),
            Err((_, error)) => return Err(refused(&function.join("config"), &error.into())),
        };
        // Awake, and with its addresses decoded. It stays so. Of a driver's that is the driver's to do.
        let enable = function.join("enable");
        if beside.is_none() {
            let enabled = std::fs::read_to_string(&enable).map_err(|error| refused(&enable, &error))?;
            if enabled.trim() == "0" {
                std::fs::write(&enable, "1").map_err(|error| refused(&enable, &error))?;
            }
        }
        let place = window.unwrap_or_default();
        let registers = function.join(format!("resource{}", place.bar()));
        let (mut bar, mut bar_len) = (None, 0);
        if registers.exists() {
            let metadata = std::fs::metadata(&registers).map_err(|error| refused(&registers, &error))?;
            bar_len = metadata.len();
        }
        if window.is_some() {
            let mut register = [0; 4];
            let at = pci::config::BAR0 as u64 + 4 * u64::from(place.bar());
            let read = config.read_exact_at(&mut register, at);
            read.map_err(|error| refused(&function.join("config"), &error))?;
            place.check(&name, u32::from_le_bytes(register), bar_len)?;
            bar_len = pci::BAR_LEN;
        }
        if registers.exists() {
            let file = open(registers.clone())?;
            let map =
                |len| Mapping::new(&file, place.offset(), len).map_err(|error| unmapped(&registers, error));
            bar = NonZeroUsize::new(bar_len as usize).map(map).transpose()?;
        }
        want().map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => PciError::Physical(error.to_string()),
            _ => PciError::HugePages(error.to_string()),
        })?;
        let beside = beside.map(Into::into);
        Ok(Self { name, window, beside, bar, bar_len, config, reset: function.join("reset") })
    }

    fn register(offset: usize) -> impl Fn(Error) -> DeviceError {
        move |error| match error.kind() {
            ErrorKind::NotFound => DeviceError::Gone(error.to_string()),
            _ => DeviceError::Register { offset: offset as u32, reason: error.to_string() },
        }
    }
}

fn outside(offset: u32) -> DeviceError {
    DeviceError::Register { offset, reason: "the function has no BAR 0".into() }
}

impl Bus for Sysfs {
    fn name(&self) -> &str {
        &self.name
    }

    fn window(&self) -> Option<Window> {
        self.window
    }

    fn beside(&self) -> Option<&str> {
        self.beside.as_deref()
    }

    fn bar_len(&self) -> u64 {
        self.bar_len
    }

    fn read_config(&self, offset: usize, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.config.read_exact_at(bytes, offset as u64).map_err(Self::register(offset))
    }

    fn write_config(&self, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        self.config.write_all_at(bytes, offset as u64).map_err(Self::register(offset))
    }

    fn read(&self, offset: u32) -> Result<u32, DeviceError> {
        self.bar.as_ref().ok_or_else(|| outside(offset))?.read(offset)
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        self.bar.as_ref().ok_or_else(|| outside(offset))?.write(offset, value)
    }

    fn addresses(&self) -> Ranges {
        Ranges::default()
    }

    fn place(&self, memory: &DmaMemory) -> Result<Option<u64>, DeviceError> {
        let physical = memory.physical_address().ok_or_else(|| DeviceError::Map {
            len: memory.len(),
            reason: format!(
                "{} is behind no IOMMU and reaches only huge pages that are adjacent: use DmaMemory::new after it is open, \
                 and set more pages aside, best at boot (hugepages=64)",
                self.name
            ),
        })?;
        Ok(Some(physical))
    }

    fn map(&self, _: u64, _: &DmaMemory) -> Result<(), DeviceError> {
        Ok(())
    }

    /// It cannot be taken away: while it is bus master the function reaches all of memory.
    fn unmap(&self, _: u64, _: u64) {}

    fn reset(&self) -> Result<bool, DeviceError> {
        if !self.reset.exists() {
            return Ok(false);
        }
        std::fs::write(&self.reset, "1").map(|()| true).map_err(|error| {
            DeviceError::Gone(format!("{} cannot be reset ({error}): power it off and on", self.name))
        })
    }

    fn wait(&self) -> Result<(), DeviceError> {
        std::thread::yield_now();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Function;
    use super::*;
    use crate::device::Device;
    use std::fs::{create_dir_all, read_to_string, remove_file, write};
    use std::os::unix::fs::symlink;
    use std::sync::Arc;
    use tessera_abi::regs;

    /// A function made of files: what is missing is named, and then it works.
    #[test]
    fn what_is_missing_is_named() {
        let root = std::env::temp_dir().join(format!("tessera-sysfs-{}", std::process::id()));
        let name = "0000:00:05.0";
        let function = root.join(name);
        let none = || -> Result<(), Error> { Err(ErrorKind::OutOfMemory.into()) };
        let secret = || -> Result<(), Error> { Err(ErrorKind::PermissionDenied.into()) };
        let ready = || -> Result<(), Error> { Ok(()) };
        let open = |want: &dyn Fn() -> Result<(), Error>| Sysfs::open_at(&root, "00:05.0", None, None, want);
        let refusal = |words: &[&str], want: &dyn Fn() -> Result<(), Error>| {
            let said = open(want).err().expect("refused").to_string();
            assert!(words.iter().all(|word| said.contains(word)), "{said}");
        };
        let none_such = Sysfs::open_at(&root, "eth0", None, None, &ready);
        assert_eq!(none_such.err(), Some(PciError::Address("eth0".into())));
        refusal(&["no PCI function 0000:00:05.0"], &ready);
        create_dir_all(&function).unwrap();
        create_dir_all(root.join("groups")).unwrap();
        symlink(root.join("groups"), function.join("iommu_group")).unwrap();
        refusal(&["IOMMU", "vfio:0000:00:05.0"], &ready);
        remove_file(function.join("iommu_group")).unwrap();
        symlink("/drivers/e1000", function.join("driver")).unwrap();
        refusal(&["the driver e1000", "/driver/unbind"], &ready);
        remove_file(function.join("driver")).unwrap();
        refusal(&["/config", "lspci"], &ready);
        write(function.join("config"), [0; 256]).unwrap();
        refusal(&["/enable"], &ready);
        write(function.join("enable"), "0\n").unwrap();
        let none_there = open(&ready).unwrap();
        assert_eq!(read_to_string(function.join("enable")).unwrap(), "1");
        assert_eq!(none_there.bar_len(), 0);
        assert!(none_there.read(0).is_err() && none_there.write(0, 0).is_err());
        drop(none_there);
        write(function.join("resource0"), [0; 8192]).unwrap();
        refusal(&["nr_hugepages"], &none);
        refusal(&["as root"], &secret);
        let bus = open(&ready).unwrap();
        assert_eq!((bus.name(), bus.bar_len()), (name, 8192));
        assert_eq!(open(&ready).err(), Some(PciError::Taken(name.into())));
        bus.write_config(4, &[6, 0]).unwrap();
        let mut command = [0; 2];
        bus.read_config(4, &mut command).unwrap();
        assert_eq!(command, [6, 0]);
        bus.write(4092, 7).unwrap();
        assert_eq!(bus.read(4092), Ok(7));
        assert_eq!(bus.reset(), Ok(false));
        write(function.join("reset"), "").unwrap();
        assert_eq!(bus.reset(), Ok(true));
        assert_eq!(read_to_string(function.join("reset")).unwrap(), "1");
        let error = bus.place(&DmaMemory::from_slice(&[1])).unwrap_err().to_string();
        assert!(error.contains("DmaMemory::new after it is open"), "{error}");
        drop(bus);
        assert!(open(&ready).is_ok(), "free again");
        std::fs::remove_dir_all(root).unwrap();
    }

    /// A shell made of files, whose BAR 2 of 4 MiB has a NIC's first registers in its upper half.
    struct Shell {
        functions: PathBuf,
        function: PathBuf,
    }

    const NAME: &str = "0000:03:00.0";
    const AT: u64 = 0x20_0000;

    impl Shell {
        fn new(name: &str) -> Self {
            let functions = std::env::temp_dir().join(format!("tessera-{name}-{}", std::process::id()));
            let function = functions.join(NAME);
            create_dir_all(&function).unwrap();
            let shell = Self { functions, function };
            write(shell.at("config"), [0; 256]).unwrap();
            shell.set("config", 0, 0x903F_10EE);
            shell.set("config", 0x10 + 4, 1);
            write(shell.at("enable"), "1\n").unwrap();
            write(shell.at("reset"), "").unwrap();
            write(shell.at("resource0"), [0; 4096]).unwrap();
            write(shell.at("resource1"), [0; 256]).unwrap();
            File::create_new(shell.at("resource2")).unwrap().set_len(2 * AT).unwrap();
            shell.set("resource2", AT + u64::from(regs::MAGIC.offset), regs::MAGIC_VALUE);
            shell.set("resource2", AT + u64::from(regs::ABI_VERSION.offset), regs::ABI_VERSION_VALUE);
            shell
        }

        fn at(&self, file: &str) -> PathBuf {
            self.function.join(file)
        }

        fn set(&self, file: &str, at: u64, word: u32) {
            let file = File::options().write(true).open(self.at(file)).unwrap();
            file.write_all_at(&word.to_le_bytes(), at).unwrap();
        }

        fn get(&self, file: &str, at: u64) -> u32 {
            let mut word = [0; 4];
            File::open(self.at(file)).unwrap().read_exact_at(&mut word, at).unwrap();
            u32::from_le_bytes(word)
        }

        fn command(&self) -> u16 {
            self.get("config", pci::config::COMMAND as u64) as u16
        }

        fn open(&self, bar: u8, offset: u64, beside: Option<&str>) -> Result<Arc<Function>, PciError> {
            let ready = || -> Result<(), Error> { Ok(()) };
            let window = Window::new(bar, offset);
            Function::open(Box::new(Sysfs::open_at(&self.functions, NAME, window, beside, &ready)?))
        }

        fn refusal(&self, bar: u8, offset: u64, beside: Option<&str>, words: &[&str]) {
            let said = self.open(bar, offset, beside).expect_err("refused").to_string();
            assert!(words.iter().all(|word| said.contains(word)), "{said}");
        }
    }

    impl Drop for Shell {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.functions);
        }
    }

    const ON: u16 = pci::config::MEMORY | pci::config::BUS_MASTER;

    #[test]
    fn a_window_is_of_a_shell_that_stays_as_it_is() {
        let shell = Shell::new("shell");
        let nic = shell.open(2, AT, None).unwrap();
        assert_eq!(shell.command(), ON | pci::config::NO_INTX);
        assert_eq!(read_to_string(shell.at("reset")).unwrap(), "", "it would be the shell's");
        nic.write(regs::LOCAL_IP.offset, 0x1234_5678).unwrap();
        assert_eq!(shell.get("resource2", AT + u64::from(regs::LOCAL_IP.offset)), 0x1234_5678);
        shell.set("resource2", 2 * AT - 4, 7);
        assert_eq!(nic.read(pci::BAR_LEN as u32 - 4), Ok(7));
        assert!(nic.read(pci::BAR_LEN as u32).is_err() && nic.write(pci::BAR_LEN as u32, 0).is_err());
        shell.refusal(2, AT, None, &["open in another program"]);
        drop(nic);
        assert_eq!(shell.command() & ON, pci::config::MEMORY, "it reaches memory no more");
        // Of one that is at work nothing goes on, neither of the program before nor behind this one.
        let at = |reg: regs::Reg| AT + u64::from(reg.offset);
        for work in [0, 1] {
            shell.set("resource2", at(regs::CONTROL), work);
            shell.set("resource2", at(regs::RESET), 0);
            let nic = shell.open(2, AT, None).unwrap();
            assert_eq!(shell.get("resource2", at(regs::RESET)), work, "at the beginning");
            shell.set("resource2", at(regs::RESET), 0);
            drop(nic);
            assert_eq!(shell.get("resource2", at(regs::RESET)), work, "at the end");
            assert_eq!(shell.command() & ON, pci::config::MEMORY);
        }
        // Without a window the function must be the NIC's own.
        let ready = || -> Result<(), Error> { Ok(()) };
        let bus = Sysfs::open_at(&shell.functions, NAME, None, None, &ready).unwrap();
        let error = Function::open(Box::new(bus)).unwrap_err();
        assert_eq!(error, PciError::NotTessera { name: NAME.into(), found: [0x10EE, 0x903F] });
    }

    #[test]
    fn what_is_no_window_is_told_apart_and_left_alone() {
        let shell = Shell::new("no-window");
        let before = std::fs::read(shell.at("resource2")).unwrap();
        let command = shell.command();
        shell.refusal(2, 0, None, &["at 0x0 of BAR 2", "MAGIC reads 0x00000000", "address map"]);
        shell.refusal(2, AT - 4096, None, &["at 0x1ff000 of BAR 2", "not a Tessera NIC"]);
        shell.refusal(2, AT + 4096, None, &["4194304 bytes of BAR 2", "2097152", "at 0x201000"]);
        shell.refusal(2, u64::MAX / 4096 * 4096, None, &["too few"]);
        shell.refusal(0, 0, None, &["4096 bytes of BAR 0", "larger in the shell"]);
        shell.refusal(1, 0, None, &["BAR 1 of 0000:03:00.0 is I/O space"]);
        shell.refusal(3, 0, None, &["has no BAR 3", "64 bits"]);
        let at = AT + u64::from(regs::ABI_VERSION.offset);
        shell.set("resource2", at, regs::ABI_VERSION_VALUE + 0x1_0000);
        shell.refusal(2, AT, None, &["speaks ABI", "a bitstream that fits"]);
        assert_eq!(shell.command(), command);
        shell.set("resource2", at, regs::ABI_VERSION_VALUE);
        assert_eq!(read_to_string(shell.at("reset")).unwrap(), "");
        assert!(std::fs::read(shell.at("resource2")).unwrap() == before, "nothing was written");
        create_dir_all(shell.functions.join("group")).unwrap();
        symlink(shell.functions.join("group"), shell.at("iommu_group")).unwrap();
        shell.refusal(2, AT, None, &["vfio:0000:03:00.0?bar=2&offset=0x200000, which uses it"]);
    }

    #[test]
    fn a_driver_may_keep_the_shell() {
        let shell = Shell::new("beside");
        shell.refusal(2, AT, Some("onic"), &["bound to no driver, not to onic", "load that driver"]);
        symlink("/drivers/onic", shell.at("driver")).unwrap();
        shell.refusal(2, AT, None, &["bound to the driver onic:", "beside=onic", "/driver/unbind"]);
        shell.refusal(2, AT, Some("xdma"), &["the driver onic, not to xdma", "beside=onic"]);
        // An IOMMU or none: VFIO would have it unbound.
        create_dir_all(shell.functions.join("group")).unwrap();
        symlink(shell.functions.join("group"), shell.at("iommu_group")).unwrap();
        shell.refusal(2, AT, None, &["bound to the driver onic:", "beside=onic"]);
        std::fs::remove_file(shell.at("iommu_group")).unwrap();
        for off in [0, pci::config::MEMORY, pci::config::BUS_MASTER] {
            shell.set("config", 4, off.into());
            shell.refusal(2, AT, Some("onic"), &["onic has not made 0000:03:00.0 bus master"]);
            assert_eq!(shell.command(), off, "that is the driver's to do");
        }
        // Reserved bits too stay as the driver has them.
        shell.set("config", 4, (ON | 0x140).into());
        write(shell.at("enable"), "0\n").unwrap();
        let nic = shell.open(2, AT, Some("onic")).unwrap();
        nic.write(0x100, 9).unwrap();
        assert_eq!(shell.get("resource2", AT + 0x100), 9);
        let (control, reset) = (regs::CONTROL.offset, regs::RESET.offset);
        drop(nic);
        assert_eq!(shell.get("resource2", AT + u64::from(reset)), 0, "it was never at work");
        shell.open(2, AT, Some("onic")).unwrap().write(control, 1).unwrap();
        assert_eq!(shell.get("resource2", AT + u64::from(reset)), 1, "it lets go of memory by itself");
        assert_eq!(shell.command(), ON | 0x140);
        assert_eq!(read_to_string(shell.at("enable")).unwrap(), "0\n");
        assert_eq!(read_to_string(shell.at("reset")).unwrap(), "");
        // An IOMMU that changes no address is in nobody's way.
        let group = shell.functions.join("group");
        create_dir_all(&group).unwrap();
        symlink(&group, shell.at("iommu_group")).unwrap();
        write(group.join("type"), "DMA-FQ\n").unwrap();
        shell.refusal(2, AT, Some("onic"), &["an IOMMU", "the driver onic maps none", "iommu=pt"]);
        write(group.join("type"), "identity\n").unwrap();
        assert!(shell.open(2, AT, Some("onic")).is_ok());
    }
}
