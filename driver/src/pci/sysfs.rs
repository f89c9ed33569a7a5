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

use super::mapping::Mapping;
use super::vfio::{canonical, driver};
use super::{Bus, PciError, Ranges};
use crate::device::DeviceError;
use crate::huge;
use crate::memory::DmaMemory;

/// A function of this machine.
pub struct Sysfs {
    name: String,
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

impl Sysfs {
    /// Opens the function of an address such as `0000:00:05.0`. Memory that is allocated from
    /// now on is such that it reaches it.
    ///
    /// # Errors
    /// If it is not there, not to be had, behind an IOMMU, or there are no huge pages.
    pub fn open(address: &str) -> Result<Self, PciError> {
        Self::open_at(Path::new("/sys/bus/pci/devices"), address, &huge::want)
    }

    fn open_at(
        functions: &Path,
        address: &str,
        want: &dyn Fn() -> Result<(), Error>,
    ) -> Result<Self, PciError> {
        let name = canonical(address).ok_or_else(|| PciError::Address(address.into()))?;
        let function = functions.join(&name);
        if !function.exists() {
            return Err(PciError::NoFunction(name));
        }
        if function.join("iommu_group").exists() {
            return Err(PciError::Guarded(name));
        }
        if let Some(driver) = driver(&function) {
            return Err(PciError::Driven { name, driver });
        }
        // Who has this lock has the function.
        let config = match Flock::lock(open(function.join("config"))?, FlockArg::LockExclusiveNonblock) {
            Ok(config) => config,
            Err((_, Errno::EWOULDBLOCK)) => return Err(PciError::Taken(name)),
            Err((_, error)) => return Err(refused(&function.join("config"), &error.into())),
        };
        // Awake, and with its addresses decoded. It stays so.
        let enable = function.join("enable");
        let enabled = std::fs::read_to_string(&enable).map_err(|error| refused(&enable, &error))?;
        if enabled.trim() == "0" {
            std::fs::write(&enable, "1").map_err(|error| refused(&enable, &error))?;
        }
        let registers = function.join("resource0");
        let (mut bar, mut bar_len) = (None, 0);
        if registers.exists() {
            let file = open(registers.clone())?;
            bar_len = file.metadata().map_err(|error| refused(&registers, &error))?.len();
            let map = |len| Mapping::new(&file, 0, len).map_err(|error| refused(&registers, &error.into()));
            bar = NonZeroUsize::new(bar_len as usize).map(map).transpose()?;
        }
        want().map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => PciError::Physical(error.to_string()),
            _ => PciError::HugePages(error.to_string()),
        })?;
        Ok(Self { name, bar, bar_len, config, reset: function.join("reset") })
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
    use super::*;
    use std::fs::{create_dir_all, read_to_string, remove_file, write};
    use std::os::unix::fs::symlink;

    /// A function made of files: what is missing is named, and then it works.
    #[test]
    fn what_is_missing_is_named() {
        let root = std::env::temp_dir().join(format!("tessera-sysfs-{}", std::process::id()));
        let name = "0000:00:05.0";
        let function = root.join(name);
        let none = || -> Result<(), Error> { Err(ErrorKind::OutOfMemory.into()) };
        let secret = || -> Result<(), Error> { Err(ErrorKind::PermissionDenied.into()) };
        let ready = || -> Result<(), Error> { Ok(()) };
        let open = |want: &dyn Fn() -> Result<(), Error>| Sysfs::open_at(&root, "00:05.0", want);
        let refusal = |words: &[&str], want: &dyn Fn() -> Result<(), Error>| {
            let said = open(want).err().expect("refused").to_string();
            assert!(words.iter().all(|word| said.contains(word)), "{said}");
        };
        assert_eq!(Sysfs::open_at(&root, "eth0", &ready).err(), Some(PciError::Address("eth0".into())));
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
}
