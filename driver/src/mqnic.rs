//! A NIC that is the application block of a Corundum whose kernel driver `mqnic` stays where it is.
//!
//! ```text
//!   /dev/mqnic0, BAR 2:  list of register blocks ── ours ──> window ── registers of the NIC
//! ```
//!
//! The kernel's character device maps BARs into a program and does nothing else: memory comes from
//! huge pages, by physical addresses, and all that [`pci::sysfs`](crate::pci::sysfs) says of that is
//! true here. It is for machines without an IOMMU, or where that lets the board's addresses through.
//!
//! Interrupts come as frames at the kernel's interface, if one of the board's is up when it is
//! opened: who waits for completions sleeps then. Else a thread looks for them.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Error;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{fence, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use tessera_abi::corundum::{self, offset};
use tessera_abi::pci;

use crate::device::{Device, DeviceError};
use crate::event_frames;
use crate::huge;
use crate::memory::DmaMemory;
use crate::pci::sysfs::is_plain;
use crate::pci::Mapping;
use crate::reset::end_dma;

/// Where the application's region begins in the file: regions are so far apart, and it is the second.
const REGION: u64 = 1 << 40;
/// Bytes that are mapped: the block's own registers and the window.
const LEN: u32 = corundum::WINDOW + pci::BAR_LEN as u32;
/// Blocks that a list may have.
const MOST_BLOCKS: usize = 64;

/// Why a Corundum's NIC cannot be opened, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MqnicError {
    /// The device node cannot be opened.
    #[error("cannot open {} ({error}): load Corundum's kernel module (`modprobe mqnic`) and run as root", path.display())]
    Node {
        /// Which.
        path: PathBuf,
        /// What the system says.
        error: String,
    },
    /// Another program has it.
    #[error("{} is open in another program: end that", .0.display())]
    Taken(PathBuf),
    /// There is no application block.
    #[error("{} has no registers of an application ({error}): build the bitstream with APP_ENABLE 1 and AXIL_APP_CTRL_ADDR_WIDTH 22 or more", path.display())]
    NoBlock {
        /// Which device.
        path: PathBuf,
        /// What the system says.
        error: String,
    },
    /// It is another application.
    #[error("the application of {} has register blocks of type {}, none of Tessera ({:#010x}): load a bitstream that has it", path.display(), listed(found), corundum::APP_ID)]
    Other {
        /// Which device.
        path: PathBuf,
        /// Types of its blocks.
        found: Vec<u32>,
    },
    /// It is of another version.
    #[error("the register block of {} is of version {found:#x}, this driver knows {:#x}: use a bitstream and a driver of the same major version", path.display(), corundum::VERSION)]
    Version {
        /// Which device.
        path: PathBuf,
        /// As it says.
        found: u32,
    },
    /// Its registers lie elsewhere than this driver can reach.
    #[error("{} has its registers at {found:#x} of BAR 2, where this driver does not look: use a bitstream and a driver of the same version", path.display())]
    Window {
        /// Which device.
        path: PathBuf,
        /// As it says.
        found: u32,
    },
    /// An IOMMU knows other addresses than those of memory.
    #[error("an IOMMU stands between {} and memory, and Corundum's driver maps none for programs: boot with iommu=pt, or unbind mqnic and use vfio", .0.display())]
    Guarded(PathBuf),
    /// There is no memory for it.
    #[error("there are no huge pages of 2 MiB whose addresses this program may know ({0}): as root, `echo 32 > /proc/sys/vm/nr_hugepages`, and run as root")]
    Memory(String),
    /// It failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

fn listed(types: &[u32]) -> String {
    let types: Vec<String> = types.iter().map(|kind| format!("{kind:#010x}")).collect();
    types.join(", ")
}

/// Offset of the NIC's registers in a BAR, by the list of register blocks at its beginning.
///
/// # Errors
/// If there is no block of Tessera's, or one of another version.
pub fn find(path: &Path, read: &dyn Fn(u32) -> Result<u32, DeviceError>) -> Result<u32, MqnicError> {
    let mut found = Vec::new();
    let mut at = 0;
    for _ in 0..MOST_BLOCKS {
        let kind = read(at + offset::TYPE)?;
        if kind == corundum::APP_ID {
            let version = read(at + offset::VERSION)?;
            if version >> 8 != corundum::VERSION >> 8 {
                return Err(MqnicError::Version { path: path.into(), found: version });
            }
            return Ok(read(at + offset::WINDOW)?);
        }
        found.push(kind);
        let next = read(at + offset::NEXT)?;
        // The end, or no list at all.
        if next == 0 || next % 4 != 0 || next > LEN - 16 || kind == u32::MAX {
            break;
        }
        at = next;
    }
    Err(MqnicError::Other { path: path.into(), found })
}

/// See the module's page.
pub struct Mqnic {
    path: PathBuf,
    bar: Mapping,
    window: u32,
    /// Memory that is mapped, by its physical address. It cannot be taken away from the board.
    mapped: Mutex<BTreeMap<u64, (Arc<DmaMemory>, u32)>>,
    /// Where its interrupt comes as frames.
    events: Option<OwnedFd>,
    /// Who has this lock has the NIC.
    _file: Flock<File>,
}

impl std::fmt::Debug for Mqnic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mqnic").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Mqnic {
    /// Opens the application block of a Corundum, such as `/dev/mqnic0`. Memory that is allocated
    /// from now on is such that it reaches it.
    ///
    /// # Errors
    /// If it is not there, not to be had, is something else, or there are no huge pages.
    pub fn open(path: &Path) -> Result<Arc<Self>, MqnicError> {
        Self::open_at(path, Path::new("/sys/class/misc"), &huge::want)
    }

    fn open_at(
        path: &Path,
        classes: &Path,
        want: &dyn Fn() -> Result<(), Error>,
    ) -> Result<Arc<Self>, MqnicError> {
        let refused = |error: String| MqnicError::Node { path: path.into(), error };
        let opened = OpenOptions::new().read(true).write(true).open(path);
        let file = opened.map_err(|error| refused(error.to_string()))?;
        let file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => file,
            Err((_, Errno::EWOULDBLOCK)) => return Err(MqnicError::Taken(path.into())),
            Err((_, error)) => return Err(refused(error.to_string())),
        };
        let len = NonZeroUsize::new(LEN as usize).unwrap_or(NonZeroUsize::MIN);
        let no_block = |error: String| MqnicError::NoBlock { path: path.into(), error };
        let bar = Mapping::new(&*file, REGION, len).map_err(|error| no_block(error.to_string()))?;
        let window = find(path, &|offset| bar.read(offset))?;
        if window != corundum::WINDOW {
            return Err(MqnicError::Window { path: path.into(), found: window });
        }
        let name = path.file_name().unwrap_or_default();
        let device = classes.join(name).join("device");
        if !is_plain(&device) {
            return Err(MqnicError::Guarded(path.into()));
        }
        want().map_err(|error| MqnicError::Memory(error.to_string()))?;
        // Without, somebody looks.
        let events = event_frames::has_interface(&device).then(event_frames::open).and_then(Result::ok);
        // Frames for it are its own while it is open, and the kernel's again behind that.
        bar.write(offset::ENABLE, 1).map_err(|error| no_block(error.to_string()))?;
        Ok(Arc::new(Self { path: path.into(), bar, window, mapped: Mutex::default(), events, _file: file }))
    }

    fn gone(&self) -> DeviceError {
        DeviceError::Gone(format!("{} does not answer any more: was it removed?", self.path.display()))
    }
}

impl Drop for Mqnic {
    fn drop(&mut self) {
        // Before its memory goes: bus master is the kernel's driver's, and stays. A board that is gone takes nothing
        // any more.
        let _ =
            end_dma(&|offset| self.read(offset), &|offset, value| self.write(offset, value), &|| self.wait());
        let _ = self.bar.write(offset::ENABLE, 0);
    }
}

impl Device for Mqnic {
    fn read(&self, offset: u32) -> Result<u32, DeviceError> {
        let value = self.bar.read(self.window + offset)?;
        // A board that is gone reads as ones, its type too.
        if value == u32::MAX && self.bar.read(offset::TYPE)? == u32::MAX {
            return Err(self.gone());
        }
        fence(Ordering::SeqCst);
        Ok(value)
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        fence(Ordering::SeqCst);
        self.bar.write(self.window + offset, value)
    }

    fn map(&self, memory: &Arc<DmaMemory>) -> Result<u64, DeviceError> {
        let address = memory.physical_address().ok_or_else(|| DeviceError::Map {
            len: memory.len(),
            reason: format!(
                "{} reaches only huge pages that are adjacent: use DmaMemory::new after it is open, and set more \
                 pages aside, best at boot (hugepages=64)",
                self.path.display()
            ),
        })?;
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        mapped.entry(address).or_insert_with(|| (memory.clone(), 0)).1 += 1;
        Ok(address)
    }

    fn unmap(&self, address: u64) {
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, times)) = mapped.get_mut(&address) {
            *times -= 1;
            if *times == 0 {
                mapped.remove(&address);
            }
        }
    }

    fn wait(&self) -> Result<(), DeviceError> {
        std::thread::yield_now();
        Ok(())
    }

    fn interrupt(&self) -> Option<BorrowedFd<'_>> {
        self.events.as_ref().map(AsFd::as_fd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::os::unix::fs::{symlink, FileExt};
    use std::time::{Duration, Instant};
    use tessera_abi::regs;

    /// A device made of a file, most of which is a hole: what is missing is named, and then it works.
    #[test]
    fn what_is_missing_is_named() {
        let root = std::env::temp_dir().join(format!("tessera-mqnic-{}", std::process::id()));
        let classes = root.join("class");
        let function = classes.join("mqnic0/device");
        std::fs::create_dir_all(&function).unwrap();
        let path = root.join("mqnic0");
        let ready = || -> Result<(), Error> { Ok(()) };
        let none = || -> Result<(), Error> { Err(ErrorKind::OutOfMemory.into()) };
        let open = |want: &dyn Fn() -> Result<(), Error>| Mqnic::open_at(&path, &classes, want);
        let refusal = |words: &[&str], want: &dyn Fn() -> Result<(), Error>| {
            let said = open(want).expect_err("refused").to_string();
            assert!(words.iter().all(|word| said.contains(word)), "{said}");
        };
        refusal(&["/mqnic0", "modprobe mqnic"], &ready);
        let file = File::create_new(&path).unwrap();
        file.set_len(REGION + u64::from(LEN)).unwrap();
        let set = |at: u32, value: u32| {
            file.write_all_at(&value.to_le_bytes(), REGION + u64::from(at)).unwrap();
        };
        refusal(&["type 0x00000000", "0x54530001"], &ready);
        // Behind another's, and behind one that is its own next.
        set(offset::TYPE, 0x1234_8101);
        set(offset::NEXT, 0x40);
        set(0x40 + offset::TYPE, 0x1234_0001);
        set(0x40 + offset::NEXT, 0x40);
        refusal(&["0x12348101, 0x12340001, 0x12340001"], &ready);
        set(0x40 + offset::NEXT, 0x1_0000);
        set(0x1_0000 + offset::TYPE, corundum::APP_ID);
        set(0x1_0000 + offset::VERSION, 0x0201);
        refusal(&["version 0x201", "knows 0x100"], &ready);
        set(0x1_0000 + offset::VERSION, 0x0107);
        refusal(&["at 0x0 of BAR 2"], &ready);
        set(0x1_0000 + offset::WINDOW, corundum::WINDOW);
        refusal(&["nr_hugepages"], &none);
        std::fs::create_dir_all(root.join("group")).unwrap();
        symlink(root.join("group"), function.join("iommu_group")).unwrap();
        refusal(&["IOMMU", "iommu=pt"], &ready);
        std::fs::write(root.join("group/type"), "DMA\n").unwrap();
        refusal(&["IOMMU"], &ready);
        std::fs::write(root.join("group/type"), "identity\n").unwrap();
        let device = open(&ready).unwrap();
        assert!(device.interrupt().is_none(), "it has no interface");
        let takes = || {
            let mut word = [0; 4];
            file.read_exact_at(&mut word, REGION + u64::from(offset::ENABLE)).unwrap();
            u32::from_le_bytes(word)
        };
        assert_eq!(takes(), 1, "while it is open");
        refusal(&["open in another program"], &ready);
        device.write(regs::LOCAL_IP.offset, 0x1234_5678).unwrap();
        let mut word = [0; 4];
        let at = REGION + u64::from(corundum::WINDOW + regs::LOCAL_IP.offset);
        file.read_exact_at(&mut word, at).unwrap();
        assert_eq!(u32::from_le_bytes(word), 0x1234_5678);
        assert_eq!(device.read(regs::LOCAL_IP.offset), Ok(0x1234_5678));
        assert!(device.read(pci::BAR_LEN as u32).is_err(), "outside the window");
        let error = device.map(&DmaMemory::from_slice(&[1])).unwrap_err().to_string();
        assert!(error.contains("DmaMemory::new after it is open"), "{error}");
        // Ones may be a value.
        set(corundum::WINDOW, u32::MAX);
        assert_eq!(device.read(0), Ok(u32::MAX));
        set(offset::TYPE, u32::MAX);
        assert!(matches!(device.read(0), Err(DeviceError::Gone(_))));
        drop(device);
        assert_eq!(takes(), 0, "behind that");
        set(offset::TYPE, corundum::APP_ID);
        set(offset::VERSION, corundum::VERSION);
        set(offset::WINDOW, corundum::WINDOW);
        std::fs::create_dir_all(function.join("net/eth0")).unwrap();
        std::fs::write(function.join("net/eth0/flags"), "0x1003\n").unwrap();
        let device = open(&ready).expect("free again");
        // Where packet sockets are forbidden, it looks.
        assert_eq!(device.interrupt().is_some(), event_frames::open().is_ok());
        drop(device);
        // Of a NIC that is off nothing is asked; one that is at work would go on into memory that others have next.
        for control in [0, 1] {
            set(corundum::WINDOW + regs::CONTROL.offset, control);
            set(corundum::WINDOW + regs::RESET.offset, 0);
            drop(open(&ready).unwrap());
            let at = REGION + u64::from(corundum::WINDOW + regs::RESET.offset);
            file.read_exact_at(&mut word, at).unwrap();
            assert_eq!((u32::from_le_bytes(word), takes()), (control, 0), "its reset, ENABLE");
        }
        // It takes the time that the NIC takes, up to a second.
        let status = |value: u32| set(corundum::WINDOW + regs::RESET_STATUS.offset, value);
        for (ends, due) in [(true, 0.1..1.0), (false, 1.0..9.0)] {
            status(1);
            let device = open(&ready).unwrap();
            let begun = Instant::now();
            std::thread::scope(|scope| {
                if ends {
                    scope.spawn(|| {
                        std::thread::sleep(Duration::from_millis(100));
                        status(0);
                    });
                }
                drop(device);
                let took = begun.elapsed().as_secs_f64();
                assert!(due.contains(&took), "{took} s");
                assert_eq!(takes(), 0);
            });
        }
        std::fs::remove_dir_all(root).unwrap();
    }
}
