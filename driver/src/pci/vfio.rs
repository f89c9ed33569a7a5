//! A PCI function of this machine, through Linux VFIO: the kernel gives a program BAR 0 and
//! an IOMMU of its own, so that the device reaches what was mapped and nothing else.
//!
//! Wants the function bound to vfio-pci, rights on `/dev/vfio/GROUP`, and as much locked
//! memory as is mapped. x86-64: BAR 0 is mapped so that stores to it stay behind those to
//! memory.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind};
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::sys::resource::{getrlimit, Resource, RLIM_INFINITY};
use tessera_abi::pci;
use vfio_bindings::bindings::vfio::*;

use super::mapping::{inside, Mapping};
use super::{pages, Bus, PciError, Ranges, Window};
use crate::device::DeviceError;
use crate::memory::{DmaMemory, PAGE};

mod ioctl {
    use nix::libc::{c_char, c_int, c_ulong};
    use vfio_bindings::bindings::vfio::*;

    const fn request(number: u32) -> c_ulong {
        (VFIO_TYPE as c_ulong) << 8 | (VFIO_BASE + number) as c_ulong
    }

    nix::ioctl_none_bad!(api_version, request(0));
    nix::ioctl_write_int_bad!(check_extension, request(1));
    nix::ioctl_write_int_bad!(set_iommu, request(2));
    nix::ioctl_read_bad!(group_status, request(3), vfio_group_status);
    nix::ioctl_write_ptr_bad!(set_container, request(4), c_int);
    nix::ioctl_write_ptr_bad!(device_fd, request(6), c_char);
    nix::ioctl_read_bad!(device_info, request(7), vfio_device_info);
    nix::ioctl_read_bad!(region_info, request(8), vfio_region_info);
    nix::ioctl_none_bad!(reset, request(11));
    nix::ioctl_read_bad!(iommu_info, request(12), vfio_iommu_type1_info);
    nix::ioctl_write_ptr_bad!(map_dma, request(13), vfio_iommu_type1_dma_map);
    nix::ioctl_read_bad!(unmap_dma, request(14), vfio_iommu_type1_dma_unmap);
}

/// Where the system's files are.
#[derive(Clone, Debug)]
struct Places {
    functions: PathBuf,
    nodes: PathBuf,
}

impl Default for Places {
    fn default() -> Self {
        Self { functions: "/sys/bus/pci/devices".into(), nodes: "/dev/vfio".into() }
    }
}

/// `01:00.0` and `0000:01:00.0` as the kernel names it.
pub(super) fn canonical(address: &str) -> Option<String> {
    let full = if address.matches(':').count() == 1 { format!("0000:{address}") } else { address.into() };
    let (domain, rest) = full.split_once(':')?;
    let (bus, rest) = rest.split_once(':')?;
    let (device, function) = rest.split_once('.')?;
    let hex = |text: &str, digits: usize, below: u32| {
        text.len() == digits && u32::from_str_radix(text, 16).is_ok_and(|number| number < below)
    };
    let known = hex(domain, 4, 1 << 16) && hex(bus, 2, 256) && hex(device, 2, 32) && hex(function, 1, 8);
    known.then(|| full.to_lowercase())
}

/// The last word of where a link points.
fn target(link: &Path) -> Option<String> {
    Some(std::fs::read_link(link).ok()?.file_name()?.to_str()?.into())
}

/// The driver that a function is bound to.
pub(super) fn driver(function: &Path) -> Option<String> {
    target(&function.join("driver"))
}

fn is_vfio(driver: &str) -> bool {
    // Variants for some boards are named so.
    driver == "vfio-pci" || driver.ends_with("-vfio-pci") || driver.ends_with("_vfio_pci")
}

pub(super) fn open_node(path: PathBuf, absent: &str, busy: &str) -> Result<File, PciError> {
    OpenOptions::new().read(true).write(true).open(&path).map_err(|error| {
        let remedy = match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENOENT | Errno::ENODEV | Errno::ENXIO) => absent.into(),
            Some(Errno::EACCES | Errno::EPERM) => {
                format!("as root, `chown $USER {}`, or run as root", path.display())
            }
            Some(Errno::EBUSY) => busy.into(),
            _ => "see the kernel's log".into(),
        };
        PciError::Node { path: path.clone(), error: error.to_string(), remedy }
    })
}

/// Members of the function's group that somebody else drives.
fn strangers(function: &Path, name: &str) -> Vec<String> {
    let Ok(members) = std::fs::read_dir(function.join("iommu_group/devices")) else { return Vec::new() };
    let mut others: Vec<_> = members
        .flatten()
        .filter_map(|member| {
            let other = member.file_name().into_string().ok().filter(|other| other != name)?;
            let driver = driver(&member.path())?;
            // The kernel lets bridges be.
            let spared = is_vfio(&driver) || driver == "pci-stub" || driver == "pcieport";
            (!spared).then(|| format!("{other} ({driver})"))
        })
        .collect();
    others.sort();
    others
}

/// What is known of the function before it is opened: its name and group.
fn look(places: &Places, address: &str, window: Option<Window>) -> Result<(String, u32), PciError> {
    let name = canonical(address).ok_or_else(|| PciError::Address(address.into()))?;
    let function = places.functions.join(&name);
    if !function.exists() {
        return Err(PciError::NoFunction(name));
    }
    let group = target(&function.join("iommu_group")).and_then(|group| group.parse().ok());
    let no_iommu = |group: &u32| places.nodes.join(format!("noiommu-{group}")).exists();
    let Some(group) = group.filter(|group| !no_iommu(group)) else {
        return Err(PciError::NoIommu(window.map_or(name.clone(), |window| format!("{name}{window}"))));
    };
    match driver(&function) {
        Some(driver) if is_vfio(&driver) => Ok((name, group)),
        driver => Err(PciError::NotBound { name, driver }),
    }
}

/// A function of this machine.
pub struct Vfio {
    name: String,
    window: Option<Window>,
    bar: Option<Mapping>,
    /// Of both regions in the device's file, and BAR 0's length; of a window its own.
    bar_at: u64,
    bar_len: u64,
    config_at: u64,
    can_reset: bool,
    addresses: Ranges,
    /// Bytes mapped for DMA, which are locked.
    locked: AtomicU64,
    // Closed in this order.
    device: File,
    _group: File,
    container: File,
}

fn region(device: &File, index: u32) -> Result<vfio_region_info, Errno> {
    let argsz = size_of::<vfio_region_info>() as u32;
    let mut info = vfio_region_info { argsz, index, ..Default::default() };
    // SAFETY: the kernel writes `argsz` bytes.
    unsafe { ioctl::region_info(device.as_raw_fd(), &mut info) }?;
    Ok(info)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

/// The ranges of device addresses in what the kernel says of an IOMMU, all of it; `None` of a
/// kernel that does not say.
fn ranges(info: &[u8]) -> Option<Vec<(u64, u64)>> {
    const CAP_OFFSET: usize = std::mem::offset_of!(vfio_iommu_type1_info, cap_offset);
    let mut at = word(info, CAP_OFFSET)? as usize;
    while at != 0 {
        // Identity and version share the first word; the next one's place follows.
        if word(info, at)? & 0xFFFF == VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE {
            let count = word(info, at + 8)? as usize;
            let range = |i: usize| Some((long(info, at + 16 + 16 * i)?, long(info, at + 24 + 16 * i)?));
            return (0..count).map(range).collect();
        }
        let next = word(info, at + 4)? as usize;
        at = if next > at { next } else { 0 };
    }
    None
}

/// Asks for all that there is, which is more than the structure.
fn iommu(container: &File) -> Result<Vec<u8>, Errno> {
    let mut len = size_of::<vfio_iommu_type1_info>();
    loop {
        // Of words of 64 bits, for the structure's alignment.
        let mut words = vec![0u64; len.div_ceil(8)];
        let info = words.as_mut_ptr().cast::<vfio_iommu_type1_info>();
        // SAFETY: aligned, and at least as long as the structure and as `argsz` says.
        unsafe {
            (*info).argsz = len as u32;
            ioctl::iommu_info(container.as_raw_fd(), info)?;
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let needed = word(&bytes, 0).map_or(0, |argsz| argsz as usize);
        if needed <= len {
            return Ok(bytes);
        }
        len = needed;
    }
}

impl Vfio {
    /// Opens the function of an address such as `0000:01:00.0`.
    ///
    /// # Errors
    /// If it is not there, not to be had, or not behind an IOMMU.
    pub fn open(address: &str) -> Result<Self, PciError> {
        Self::open_at(&Places::default(), address, None)
    }

    /// Opens the function of a shell that has a NIC in a window. The function is not reset when the
    /// NIC is; Linux resets it when it is opened and closed, if it knows how.
    ///
    /// # Errors
    /// As [`open`](Self::open), or if the window is not inside a BAR.
    pub fn open_window(address: &str, window: Window) -> Result<Self, PciError> {
        Self::open_at(&Places::default(), address, Some(window))
    }

    fn open_at(places: &Places, address: &str, window: Option<Window>) -> Result<Self, PciError> {
        let (name, number) = look(places, address, window)?;
        let absent = "the kernel has no VFIO loaded: as root, `modprobe vfio-pci`";
        let container = open_node(places.nodes.join("vfio"), absent, "end the program that uses it")?;
        let fd = container.as_raw_fd();
        // SAFETY: takes no argument.
        if unsafe { ioctl::api_version(fd) } != Ok(VFIO_API_VERSION as i32) {
            return Err(PciError::Kernel("API version 0"));
        }
        // SAFETY: takes a number.
        if unsafe { ioctl::check_extension(fd, VFIO_TYPE1v2_IOMMU as i32) }.unwrap_or(0) == 0 {
            return Err(PciError::Kernel("type 1 IOMMU, version 2"));
        }
        let busy = "another program has a function of this group open: end that";
        let absent = "the function was bound to vfio-pci without an IOMMU: bind it anew";
        let group = open_node(places.nodes.join(number.to_string()), absent, busy)?;
        let step = |step: &'static str| {
            let name = name.clone();
            move |error: Errno| PciError::Step { name, step, error: error.to_string() }
        };
        let mut status =
            vfio_group_status { argsz: size_of::<vfio_group_status>() as u32, ..Default::default() };
        // SAFETY: the kernel writes `argsz` bytes.
        unsafe { ioctl::group_status(group.as_raw_fd(), &mut status) }
            .map_err(step("asking for the group's state"))?;
        if status.flags & VFIO_GROUP_FLAGS_VIABLE == 0 {
            let others = strangers(&places.functions.join(&name), &name);
            return Err(PciError::NotViable { name, group: number, others });
        }
        let iommu_error = |error: Errno| PciError::Iommu { group: number, error: error.to_string() };
        // SAFETY: takes the address of a descriptor, and a number.
        unsafe { ioctl::set_container(group.as_raw_fd(), &fd) }.map_err(iommu_error)?;
        // SAFETY: as above.
        unsafe { ioctl::set_iommu(fd, VFIO_TYPE1v2_IOMMU as i32) }.map_err(iommu_error)?;
        let text = CString::new(name.as_str()).map_err(|_| PciError::Address(address.into()))?;
        // SAFETY: takes a text that ends with 0, and gives a descriptor that is nobody else's.
        let device: RawFd = unsafe { ioctl::device_fd(group.as_raw_fd(), text.as_ptr()) }
            .map_err(step("opening the function"))?;
        // SAFETY: as above.
        let device = unsafe { File::from_raw_fd(device) };
        let mut info = vfio_device_info { argsz: size_of::<vfio_device_info>() as u32, ..Default::default() };
        // SAFETY: the kernel writes `argsz` bytes.
        unsafe { ioctl::device_info(device.as_raw_fd(), &mut info) }.map_err(step("asking what it is"))?;
        let place = window.unwrap_or_default();
        let index = VFIO_PCI_BAR0_REGION_INDEX + u32::from(place.bar());
        let bar = region(&device, index).map_err(step("asking for its BAR"))?;
        let config =
            region(&device, VFIO_PCI_CONFIG_REGION_INDEX).map_err(step("asking for its configuration"))?;
        let mut bar_len = bar.size;
        if window.is_some() {
            let mut register = [0; 4];
            let at = config.offset + pci::config::BAR0 as u64 + 4 * u64::from(place.bar());
            device.read_exact_at(&mut register, at).map_err(Self::register(at as u32))?;
            place.check(&name, u32::from_le_bytes(register), bar.size)?;
            bar_len = pci::BAR_LEN;
        }
        let bar_at = bar.offset + place.offset();
        let mappable = bar.flags & VFIO_REGION_INFO_FLAG_MMAP != 0;
        let len = NonZeroUsize::new(bar_len as usize).filter(|_| mappable);
        let map = |len: NonZeroUsize| Mapping::new(&device, bar_at, len);
        let mapping = len.map(map).transpose().map_err(step("mapping its BAR"))?;
        let iommu = iommu(&container).map_err(step("asking for the IOMMU's ranges"))?;
        // Kernels before 5.4 do not say. All IOMMUs that are left have 39 bits.
        let ranges = ranges(&iommu).unwrap_or_else(|| vec![(0, 0xFEDF_FFFF), (1 << 32, (1 << 39) - 1)]);
        // Not 0, which is easily somebody's mistake.
        let inner = |(first, last): (u64, u64)| {
            let page = PAGE as u64;
            (first.max(page).next_multiple_of(page), (last.saturating_add(1) / page * page).saturating_sub(1))
        };
        Ok(Self {
            name,
            window,
            bar: mapping,
            bar_at,
            bar_len,
            config_at: config.offset,
            can_reset: info.flags & VFIO_DEVICE_FLAGS_RESET != 0,
            addresses: Ranges::new(ranges.into_iter().map(inner)),
            locked: AtomicU64::new(0),
            device,
            _group: group,
            container,
        })
    }

    fn register(offset: u32) -> impl Fn(Error) -> DeviceError {
        move |error| match error.kind() {
            ErrorKind::NotFound => DeviceError::Gone(error.to_string()),
            _ => DeviceError::Register { offset, reason: error.to_string() },
        }
    }

    /// Why the kernel does not map so much more.
    fn refused(&self, error: Errno, len: u64) -> String {
        let locked = self.locked.load(Ordering::Relaxed);
        let limit = getrlimit(Resource::RLIMIT_MEMLOCK).map_or(RLIM_INFINITY, |(soft, _)| soft);
        match error {
            Errno::ENOMEM if limit != RLIM_INFINITY && locked + len > limit => format!(
                "with {locked} bytes that are mapped, {len} more than the {limit} bytes of memory that this process may lock: \
                 `ulimit -l unlimited`, `memlock` in /etc/security/limits.conf, or LimitMEMLOCK= of its systemd unit"
            ),
            Errno::ENOMEM => format!("{error}: the machine has no memory left to lock"),
            Errno::ENOSPC => format!("{error}: VFIO has no more mappings, map fewer and larger regions"),
            error => error.to_string(),
        }
    }
}

impl Bus for Vfio {
    fn name(&self) -> &str {
        &self.name
    }

    fn window(&self) -> Option<Window> {
        self.window
    }

    fn bar_len(&self) -> u64 {
        self.bar_len
    }

    fn read_config(&self, offset: usize, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let read = self.device.read_exact_at(bytes, self.config_at + offset as u64);
        read.map_err(Self::register(offset as u32))
    }

    fn write_config(&self, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        let written = self.device.write_all_at(bytes, self.config_at + offset as u64);
        written.map_err(Self::register(offset as u32))
    }

    fn read(&self, offset: u32) -> Result<u32, DeviceError> {
        if let Some(bar) = &self.bar {
            return bar.read(offset);
        }
        inside(self.bar_len, offset)?;
        let mut bytes = [0; 4];
        let read = self.device.read_exact_at(&mut bytes, self.bar_at + u64::from(offset));
        read.map(|()| u32::from_le_bytes(bytes)).map_err(Self::register(offset))
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        if let Some(bar) = &self.bar {
            return bar.write(offset, value);
        }
        inside(self.bar_len, offset)?;
        let written = self.device.write_all_at(&value.to_le_bytes(), self.bar_at + u64::from(offset));
        written.map_err(Self::register(offset))
    }

    fn addresses(&self) -> Ranges {
        self.addresses.clone()
    }

    fn map(&self, address: u64, memory: &DmaMemory) -> Result<(), DeviceError> {
        let (before, size) = pages(memory);
        let map = vfio_iommu_type1_dma_map {
            argsz: size_of::<vfio_iommu_type1_dma_map>() as u32,
            flags: VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
            vaddr: memory.address() - before,
            iova: address,
            size,
        };
        // SAFETY: the pages are those of memory that its owner keeps until it is unmapped.
        match unsafe { ioctl::map_dma(self.container.as_raw_fd(), &map) } {
            Ok(_) => {
                self.locked.fetch_add(size, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => Err(DeviceError::Map { len: memory.len(), reason: self.refused(error, size) }),
        }
    }

    fn unmap(&self, address: u64, len: u64) {
        let mut unmap = vfio_iommu_type1_dma_unmap {
            argsz: size_of::<vfio_iommu_type1_dma_unmap>() as u32,
            iova: address,
            size: len,
            ..Default::default()
        };
        // SAFETY: the kernel writes `argsz` bytes. What it does not find was not mapped.
        if unsafe { ioctl::unmap_dma(self.container.as_raw_fd(), &mut unmap) }.is_ok() {
            self.locked.fetch_sub(len, Ordering::Relaxed);
        }
    }

    fn reset(&self) -> Result<bool, DeviceError> {
        if self.can_reset {
            // SAFETY: takes no argument.
            let reset = unsafe { ioctl::reset(self.device.as_raw_fd()) };
            reset.map_err(|error| {
                DeviceError::Gone(format!("{} cannot be reset ({error}): power it off and on", self.name))
            })?;
        }
        Ok(self.can_reset)
    }

    fn wait(&self) -> Result<(), DeviceError> {
        std::thread::yield_now();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir_all, write};
    use std::os::unix::fs::symlink;

    #[test]
    fn addresses_are_those_of_lspci() {
        assert_eq!(canonical("01:00.0").as_deref(), Some("0000:01:00.0"));
        assert_eq!(canonical("10DE:Af:1f.7").as_deref(), Some("10de:af:1f.7"));
        for wrong in
            ["", "1:00.0", "0000:01:00", "0000:01:20.0", "0000:01:00.8", "../x:01:00.0", "0000:0x:00.0"]
        {
            assert_eq!(canonical(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn ranges_are_found_among_others() {
        // A structure of 24 bytes, then a chain: something else, and two ranges.
        let mut info = vec![0u8; 24 + 16 + 48];
        let mut put = |at: usize, word: u32| info[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        put(std::mem::offset_of!(vfio_iommu_type1_info, cap_offset), 24);
        put(24, 2 | 1 << 16);
        put(28, 40);
        put(40, VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE | 1 << 16);
        put(48, 2);
        put(56 + 8, 0xFEDF_FFFF);
        put(72, 0xFEF0_0000);
        put(80 + 4, 0x7F);
        assert_eq!(ranges(&info), Some(vec![(0, 0xFEDF_FFFF), (0xFEF0_0000, 0x7F_0000_0000)]));
        // More of them than there is room for; a chain that turns round.
        info[48] = 3;
        assert_eq!(ranges(&info), None);
        info[28] = 24;
        assert_eq!(ranges(&info), None);
    }

    /// A machine made of files, and what each thing that is missing there is told as.
    #[test]
    fn what_is_missing_is_named() {
        let root = std::env::temp_dir().join(format!("tessera-vfio-{}", std::process::id()));
        let places = Places { functions: root.join("devices"), nodes: root.join("nodes") };
        let name = "0000:01:00.0";
        let function = places.functions.join(name);
        let open = |address: &str| Vfio::open_at(&places, address, None).map(|_| ()).unwrap_err();
        let refusal = |words: &[&str]| {
            let said = open(name).to_string();
            assert!(words.iter().all(|word| said.contains(word)), "{said}");
        };
        create_dir_all(&places.nodes).unwrap();
        create_dir_all(root.join("groups/7/devices")).unwrap();
        assert_eq!(open("eth0"), PciError::Address("eth0".into()));
        assert_eq!(open("01:00.0"), PciError::NoFunction(name.into()));
        create_dir_all(&function).unwrap();
        refusal(&["no IOMMU", "intel_iommu=on"]);
        let window = Window::new(2, 4096);
        let said = Vfio::open_at(&places, name, window).map(|_| ()).unwrap_err().to_string();
        assert!(said.contains("pci:0000:01:00.0?bar=2&offset=0x1000 does without"), "{said}");
        symlink(root.join("groups/7"), function.join("iommu_group")).unwrap();
        refusal(&["no driver", "driver_override"]);
        symlink("/drivers/nvme", function.join("driver")).unwrap();
        refusal(&["the driver nvme", "/driver/unbind"]);
        std::fs::remove_file(function.join("driver")).unwrap();
        symlink("/drivers/vfio-pci", function.join("driver")).unwrap();
        refusal(&["nodes/vfio", "modprobe vfio-pci"]);
        // Some file is no VFIO.
        write(places.nodes.join("vfio"), "").unwrap();
        assert_eq!(open(name), PciError::Kernel("API version 0"));
        write(places.nodes.join("noiommu-7"), "").unwrap();
        refusal(&["no IOMMU"]);
        // Who is in the way in a group.
        for (other, driver) in [("0000:01:00.1", "snd"), ("0000:00:01.0", "pcieport"), (name, "vfio-pci")] {
            let member = root.join("groups/7/devices").join(other);
            create_dir_all(&member).unwrap();
            symlink(Path::new("/drivers").join(driver), member.join("driver")).unwrap();
        }
        assert_eq!(strangers(&function, name), ["0000:01:00.1 (snd)"]);
        std::fs::remove_dir_all(root).unwrap();
    }
}
