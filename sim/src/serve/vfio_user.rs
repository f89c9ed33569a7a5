//! The NICs of a simulation as PCI functions, over vfio-user.
//!
//! ```text
//!   program ── driver ── vfio_user ══socket nic0══ Functions ── configuration space
//!      memory (a file) <══ reads, writes ══════════╪══ DMA ──┐       │ memory, bus master
//!                                      BAR 0 ──────┴──> device of NIC 0 ── cluster
//! ```
//!
//! | region | what it is |
//! |---|---|
//! | BAR 0 | the register map. Every access is carried out: a doorbell must reach the hardware, and in a read simulated time passes. Nothing of it is memory that could be mapped |
//! | configuration | [`ConfigSpace`]: while MEMORY is off, registers read as ones; while BUS_MASTER is off, DMA reaches nothing |
//!
//! DMA reads and writes the files that DMA_MAP brings, by system calls: a file that its
//! owner has cut short is an error of that access, not the end of this process. There are no
//! interrupts.
//!
//! Simulated time passes in register reads, and by itself while the client asks for nothing
//! and is bus master: a driver may look at nothing but memory. It does so often for a while
//! after a write of a register, which may have been a doorbell, and then seldom.

use std::fs::File;
use std::io::Error;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use nix::errno::Errno;
use nix::fcntl::{fcntl, FcntlArg};
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use tessera_abi::pci::{config, BAR_LEN};
use tessera_abi::regs;
use tessera_driver::pci::message::{self, Header, Message};
use tessera_driver::{Device, DeviceError};

use super::{lock, Door, Hall, Server};
use crate::device::Simulation;
use crate::nic::{HostMemory, HostRegion};
use crate::pci::{ConfigSpace, Face};

/// Flags of a region: it can be read, and written.
const READABLE: u32 = 1;
const WRITABLE: u32 = 2;
/// Flag of [`message::DMA_UNMAP`]: all there is.
const ALL: u32 = 1 << 2;
/// Longest access to a region.
const MAX_ACCESS: u32 = 4096;

/// How long a client asks for nothing before a window passes, milliseconds: while something
/// may be under way, and later.
const OFTEN: u16 = 1;
const SELDOM: u16 = 20;
/// Windows that pass often after a write: 1 ms of simulated time.
const UNDER_WAY: u32 = 2000;

/// A file that a client has shown.
struct Shared {
    /// Device and number, by which it is known again, and the rights to it.
    which: (u64, u64, i32),
    file: Weak<File>,
}

/// Most different files of a client: each is a descriptor here.
const MAX_FILES: usize = 64;

/// The files of a client. It sends a descriptor with each piece of memory that it shows; they
/// are few files, and a simulator has not so many descriptors.
#[derive(Default)]
struct Files(Vec<Shared>);

impl Files {
    fn known(&mut self, file: File) -> Result<Arc<File>, Errno> {
        let metadata = file.metadata().map_err(|_| Errno::EBADF)?;
        let which = (metadata.dev(), metadata.ino(), fcntl(&file, FcntlArg::F_GETFL)?);
        self.0.retain(|shared| shared.file.strong_count() > 0);
        let known = self.0.iter().find(|shared| shared.which == which);
        if let Some(file) = known.and_then(|shared| shared.file.upgrade()) {
            return Ok(file);
        }
        if self.0.len() >= MAX_FILES {
            return Err(Errno::EMFILE);
        }
        let file = Arc::new(file);
        self.0.push(Shared { which, file: Arc::downgrade(&file) });
        Ok(file)
    }
}

/// A program's memory.
struct Shown {
    file: Arc<File>,
    offset: u64,
    len: usize,
    flags: u32,
    bus_master: Arc<AtomicBool>,
}

impl Shown {
    fn may(&self, flag: u32) -> bool {
        self.flags & flag != 0 && self.bus_master.load(Ordering::Acquire)
    }
}

impl HostRegion for Shown {
    fn size(&self) -> usize {
        self.len
    }

    fn fetch(&self, offset: usize, bytes: &mut [u8]) -> bool {
        self.may(message::READ) && self.file.read_exact_at(bytes, self.offset + offset as u64).is_ok()
    }

    fn store(&self, offset: usize, bytes: &[u8]) -> bool {
        // The last byte after all others: it tells of a completion.
        let Some((last, rest)) = bytes.split_last() else { return self.may(message::WRITE) };
        let at = self.offset + offset as u64;
        let put = |bytes: &[u8], at: u64| self.file.write_all_at(bytes, at).is_ok();
        self.may(message::WRITE) && put(rest, at) && put(std::slice::from_ref(last), at + rest.len() as u64)
    }
}

/// Sockets of a simulation's NICs as PCI functions, until this is dropped.
pub struct Functions(Vec<Door>);

impl<S: Simulation> Server<S> {
    /// Offers every NIC as a PCI function, at the sockets `nic0`, `nic1`, ... in `folder`,
    /// which is made if there is none. A program that connects has that NIC to itself, as
    /// with the other socket.
    ///
    /// # Errors
    /// If a socket cannot be made, or somebody listens there already.
    pub fn functions(&self, folder: &Path) -> Result<Functions, Error> {
        std::fs::create_dir_all(folder)?;
        let doors = (0..self.hall.seats.len()).map(|nic| {
            let hall = self.hall.clone();
            Door::open(&folder.join(format!("nic{nic}")), "tessera-vfio-user", move |stream| {
                let _ = serve(&hall, nic, stream);
            })
        });
        doors.collect::<Result<_, _>>().map(Functions)
    }
}

impl Functions {
    /// The address by which a program opens one of the NICs.
    ///
    /// # Panics
    /// If there is none of that number.
    pub fn address(&self, nic: usize) -> String {
        format!("vfio-user:{}", self.0[nic].path().display())
    }
}

fn answer(stream: &mut UnixStream, to: Header, done: Result<Vec<u8>, Errno>) -> Result<(), Error> {
    // Posted, as on PCI: what goes wrong is seen in what is read later.
    if to.flags & message::NO_REPLY != 0 {
        return Ok(());
    }
    let Header { number, command, .. } = to;
    let (flags, error, body) = match done {
        Ok(body) => (message::REPLY, 0, body),
        Err(error) => (message::REPLY | message::ERROR, error as u32, Vec::new()),
    };
    message::send(stream, Header { number, command, flags, error }, &body, None)
}

/// Does what a client asks for until it goes.
fn serve<S: Simulation>(hall: &Hall<S>, nic: usize, mut stream: UnixStream) -> Result<(), Error> {
    let process = getsockopt(&stream, PeerCredentials).map_err(Error::from)?.pid();
    let Some(first) = message::receive(&mut stream)? else { return Ok(()) };
    stream.set_read_timeout(None)?;
    let version = match (first.header.command, message::u16_at(&first.body, 0)) {
        (message::VERSION, Some(message::MAJOR)) => {
            hall.take_one_of(nic..nic + 1, process).map(|_| message::version()).map_err(|_| Errno::EBUSY)
        }
        (message::VERSION, Some(_)) => Err(Errno::EPROTONOSUPPORT),
        _ => Err(Errno::EINVAL),
    };
    let taken = version.is_ok();
    let mut ended = answer(&mut stream, first.header, version);
    if !taken {
        return ended;
    }
    *lock(&hall.seats[nic].connection) = stream.try_clone().ok();
    let (device, memory) = hall.nic(nic);
    let mut function = Function::new(device, memory, Face::default());
    while ended.is_ok() {
        if !function.asked(&stream) {
            function.pass();
            continue;
        }
        let Ok(Some(Message { header, body, files })) = message::receive(&mut stream) else { break };
        let done = match header.command {
            message::DEVICE_RESET => function.reset(|| hall.reset(nic)),
            command => function.obey(command, &body, files),
        };
        ended = answer(&mut stream, header, done);
    }
    hall.leave(nic, process);
    ended
}

/// A NIC that a client has.
pub(super) struct Function {
    device: Arc<dyn Device>,
    memory: Arc<HostMemory>,
    face: Face,
    config: ConfigSpace,
    bus_master: Arc<AtomicBool>,
    /// Address and length of each DMA_MAP.
    shown: Vec<(u64, u64)>,
    files: Files,
    /// Windows that still pass often.
    under_way: u32,
}

fn errno(error: DeviceError) -> Errno {
    match error {
        DeviceError::Register { .. } => Errno::EIO,
        _ => Errno::ENODEV,
    }
}

impl Function {
    pub(super) fn new(device: Arc<dyn Device>, memory: Arc<HostMemory>, face: Face) -> Self {
        let (config, bus_master) = (ConfigSpace::new(face), Arc::default());
        Self {
            device,
            memory,
            face,
            config,
            bus_master,
            shown: Vec::new(),
            files: Files::default(),
            under_way: 0,
        }
    }

    /// Waits for a request, or until time shall pass.
    pub(super) fn asked(&self, stream: &UnixStream) -> bool {
        let patience = match self.under_way {
            _ if !self.bus_master.load(Ordering::Acquire) => PollTimeout::NONE,
            0 => PollTimeout::from(SELDOM),
            _ => PollTimeout::from(OFTEN),
        };
        // What cannot be waited for is read, which says why.
        poll(&mut [PollFd::new(stream.as_fd(), PollFlags::POLLIN)], patience) != Ok(0)
    }

    pub(super) fn pass(&mut self) {
        self.under_way = self.under_way.saturating_sub(1);
        // Of a simulation that has ended the next request hears.
        if self.device.wait().is_err() {
            self.bus_master.store(false, Ordering::Release);
        }
    }

    /// `reset` resets the NIC, which takes long and is left out where it has done nothing.
    pub(super) fn reset(&mut self, reset: impl FnOnce()) -> Result<Vec<u8>, Errno> {
        self.config = ConfigSpace::new(self.face);
        self.bus_master.store(false, Ordering::Release);
        let used = self.device.read(regs::CONTROL.offset).map_err(errno)? & 1 == 1;
        if used || self.device.read(regs::RESET_STATUS.offset).map_err(errno)? & 1 == 1 {
            reset();
        }
        Ok(Vec::new())
    }

    fn obey(&mut self, command: u16, body: &[u8], files: Vec<OwnedFd>) -> Result<Vec<u8>, Errno> {
        let small = |at| message::u32_at(body, at).ok_or(Errno::EINVAL);
        let large = |at| message::u64_at(body, at).ok_or(Errno::EINVAL);
        match command {
            message::DEVICE_INFO => {
                let flags = message::CAN_RESET | message::IS_PCI;
                Ok(message::words(&[16, flags, message::REGIONS, message::IRQS], &[]))
            }
            message::REGION_INFO => {
                let index = small(8)?;
                let (flags, len) = match index {
                    message::REGION_BAR0 => (READABLE | WRITABLE, BAR_LEN),
                    message::REGION_CONFIG => (READABLE | WRITABLE, config::LEN as u64),
                    index if index < message::REGIONS => (0, 0),
                    _ => return Err(Errno::EINVAL),
                };
                Ok(message::words(&[32, flags, index, 0], &[len, 0]))
            }
            message::IRQ_INFO => match small(8)? {
                index if index < message::IRQS => Ok(message::words(&[16, 0, index, 0], &[])),
                _ => Err(Errno::EINVAL),
            },
            // There are none to set: taking none away is no error.
            message::SET_IRQS if small(16)? == 0 => Ok(Vec::new()),
            message::SET_IRQS => Err(Errno::EINVAL),
            message::REGION_READ | message::REGION_WRITE => {
                let (offset, region, count) = (large(0)?, small(8)?, small(12)?);
                let head = message::access(region, offset, count);
                if count > MAX_ACCESS {
                    return Err(Errno::EINVAL);
                }
                if command == message::REGION_WRITE {
                    let data = body.get(16..).filter(|data| data.len() == count as usize);
                    self.write(region, offset, data.ok_or(Errno::EINVAL)?)?;
                    return Ok(head);
                }
                let mut data = vec![0; count as usize];
                self.read(region, offset, &mut data)?;
                Ok([head, data].concat())
            }
            message::DMA_MAP => {
                let (flags, offset, address, len) = (small(4)?, large(8)?, large(16)?, large(24)?);
                self.map(flags, offset, address, len, files).map(|()| Vec::new())
            }
            message::DMA_UNMAP => {
                let (flags, address, len) = (small(4)?, large(8)?, large(16)?);
                if flags & ALL != 0 {
                    self.memory.unmap_all();
                    self.shown.clear();
                } else {
                    if !self.shown.contains(&(address, len)) {
                        return Err(Errno::ENOENT);
                    }
                    self.hide(address);
                }
                Ok(body.get(..24).ok_or(Errno::EINVAL)?.to_vec())
            }
            _ => Err(Errno::EOPNOTSUPP),
        }
    }

    /// Takes away what was mapped at an address; nothing else can be there.
    pub(super) fn hide(&mut self, address: u64) {
        self.shown.retain(|&(other, _)| other != address);
        self.memory.unmap(address);
    }

    pub(super) fn map(
        &mut self,
        flags: u32,
        offset: u64,
        address: u64,
        len: u64,
        mut files: Vec<OwnedFd>,
    ) -> Result<(), Errno> {
        let end = address.checked_add(len).filter(|_| len > 0).ok_or(Errno::EINVAL)?;
        // Without a file the memory would have to be asked for, which is not done here.
        let file = files.pop().filter(|_| files.is_empty()).ok_or(Errno::EOPNOTSUPP)?;
        let file = File::from(file);
        let there = file.metadata().map_or(0, |metadata| metadata.len());
        if offset.checked_add(len).is_none_or(|end| end > there) {
            return Err(Errno::EINVAL);
        }
        if self.shown.iter().any(|&(other, len)| other < end && address < other + len) {
            return Err(Errno::EEXIST);
        }
        let len_here = usize::try_from(len).map_err(|_| Errno::EINVAL)?;
        let (file, bus_master) = (self.files.known(file)?, self.bus_master.clone());
        self.shown.push((address, len));
        self.memory.map_region(address, Arc::new(Shown { file, offset, len: len_here, flags, bus_master }));
        Ok(())
    }

    /// The words of BAR 0 that an access means.
    fn words(offset: u64, len: usize) -> Result<impl Iterator<Item = u32>, Errno> {
        let whole = offset.is_multiple_of(4) && len.is_multiple_of(4);
        let inside = offset.checked_add(len as u64).is_some_and(|end| end <= BAR_LEN);
        (whole && inside).then(|| (offset as u32..).step_by(4)).ok_or(Errno::EINVAL)
    }

    pub(super) fn read(&self, region: u32, offset: u64, data: &mut [u8]) -> Result<(), Errno> {
        match region {
            message::REGION_CONFIG => self.config.read(offset, data).then_some(()).ok_or(Errno::EINVAL),
            message::REGION_BAR0 => {
                let words = Self::words(offset, data.len())?;
                if !self.config.commands(config::MEMORY) {
                    data.fill(0xFF);
                    return Ok(());
                }
                data.chunks_exact_mut(4).zip(words).try_for_each(|(bytes, word)| {
                    bytes.copy_from_slice(&self.device.read(word).map_err(errno)?.to_le_bytes());
                    Ok(())
                })
            }
            _ => Err(Errno::EINVAL),
        }
    }

    pub(super) fn write(&mut self, region: u32, offset: u64, data: &[u8]) -> Result<(), Errno> {
        match region {
            message::REGION_CONFIG => {
                let written = self.config.write(offset, data);
                self.bus_master.store(self.config.commands(config::BUS_MASTER), Ordering::Release);
                written.then_some(()).ok_or(Errno::EINVAL)
            }
            message::REGION_BAR0 => {
                let words = Self::words(offset, data.len())?;
                if !self.config.commands(config::MEMORY) {
                    return Ok(());
                }
                self.under_way = UNDER_WAY;
                data.chunks_exact(4).zip(words).try_for_each(|(bytes, word)| {
                    let value = u32::from_le_bytes(std::array::from_fn(|i| bytes[i]));
                    self.device.write(word, value).map_err(errno)
                })
            }
            _ => Err(Errno::EINVAL),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::sync::Mutex;
    use tessera_driver::DmaMemory;

    /// Registers that are all different, and what was written.
    #[derive(Default)]
    pub(crate) struct Registers(pub(crate) Mutex<Vec<(u32, u32)>>);

    impl Device for Registers {
        fn read(&self, offset: u32) -> Result<u32, DeviceError> {
            match offset {
                0x40 => Err(DeviceError::Register { offset, reason: "refused".into() }),
                0x44 => Err(DeviceError::Gone("over".into())),
                _ => Ok(offset << 8),
            }
        }
        fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
            self.0.lock().unwrap().push((offset, value));
            Ok(())
        }
        fn map(&self, memory: &Arc<DmaMemory>) -> Result<u64, DeviceError> {
            Ok(memory.address())
        }
        fn unmap(&self, _: u64) {}
        fn wait(&self) -> Result<(), DeviceError> {
            Ok(())
        }
    }

    fn function() -> (Arc<Registers>, Function) {
        let registers = Arc::new(Registers::default());
        let device = registers.clone();
        (registers, Function::new(device, Arc::default(), Face::default()))
    }

    fn write(region: u32, offset: u64, data: &[u8]) -> Vec<u8> {
        [message::access(region, offset, data.len() as u32), data.to_vec()].concat()
    }

    /// A command register of `bits`.
    fn enable(function: &mut Function, bits: u16) {
        let body = write(message::REGION_CONFIG, config::COMMAND as u64, &bits.to_le_bytes());
        function.obey(message::REGION_WRITE, &body, Vec::new()).unwrap();
    }

    #[test]
    fn registers_are_words_of_a_bar_that_is_enabled() {
        let (registers, mut function) = function();
        let read = |function: &mut Function, offset, count| {
            let body = message::access(message::REGION_BAR0, offset, count);
            function.obey(message::REGION_READ, &body, Vec::new()).map(|body| body[16..].to_vec())
        };
        assert_eq!(read(&mut function, 4, 4), Ok(vec![0xFF; 4]));
        let doorbell = write(message::REGION_BAR0, 8, &7u64.to_le_bytes());
        assert!(function.obey(message::REGION_WRITE, &doorbell, Vec::new()).is_ok());
        enable(&mut function, config::MEMORY);
        assert_eq!(read(&mut function, 4, 8), Ok(vec![0, 4, 0, 0, 0, 8, 0, 0]));
        assert!(function.obey(message::REGION_WRITE, &doorbell, Vec::new()).is_ok());
        assert_eq!(*registers.0.lock().unwrap(), [(8, 7), (12, 0)], "none while it was off");
        for (offset, count) in
            [(2, 4), (0, 2), (BAR_LEN, 4), (BAR_LEN - 4, 8), (u64::MAX, 4), (0, MAX_ACCESS + 4)]
        {
            assert_eq!(read(&mut function, offset, count), Err(Errno::EINVAL), "{offset:#x}+{count}");
        }
        assert_eq!(read(&mut function, 0x40, 4), Err(Errno::EIO));
        assert_eq!(read(&mut function, 0x44, 4), Err(Errno::ENODEV));
    }

    #[test]
    fn memory_is_reached_while_it_is_shown() {
        let (_, mut function) = function();
        let memory = DmaMemory::from_slice(&[1, 2, 3, 4]);
        let (file, at) = memory.shared_file().unwrap();
        let file = || vec![OwnedFd::from(file.try_clone().unwrap())];
        let map = |flags, offset, address, len| message::words(&[32, flags], &[offset, address, len]);
        let both = message::READ | message::WRITE;
        let dma_map = message::DMA_MAP;
        assert_eq!(function.obey(dma_map, &map(both, at, 0x5000, 4096), file()), Ok(Vec::new()));
        let host = function.memory.clone();
        let mut byte = [0];
        assert!(!host.read(0x5001, &mut byte), "no bus master");
        enable(&mut function, config::BUS_MASTER);
        assert!(host.read(0x5001, &mut byte) && byte == [2]);
        assert!(host.write(0x5002, &[8, 9]) && memory.to_vec(0, 4) == [1, 2, 8, 9]);
        assert!(!host.read(0x6000, &mut byte) && !host.write(0x5FFF, &[1, 1]));
        // What cannot be shown.
        for (body, files, error) in [
            (map(both, at, 0x5FFF, 4096), file(), Errno::EEXIST),
            (map(both, at, 0x7000, 4096), Vec::new(), Errno::EOPNOTSUPP),
            (map(both, at, 0x7000, 0), file(), Errno::EINVAL),
            (map(both, at, u64::MAX, 4096), file(), Errno::EINVAL),
            (map(both, at, 0x7000, 1 << 50), file(), Errno::EINVAL),
            (map(both, u64::MAX, 0x7000, 4096), file(), Errno::EINVAL),
            (vec![0; 31], file(), Errno::EINVAL),
        ] {
            assert_eq!(function.obey(dma_map, &body, files), Err(error), "{body:?}");
        }
        assert!(function.obey(dma_map, &map(message::READ, at, 0x8000, 4096), file()).is_ok());
        assert!(host.read(0x8000, &mut byte) && !host.write(0x8000, &[0]), "only to be read");
        let unmap = |flags, address, len| message::words(&[24, flags], &[address, len]);
        assert_eq!(
            function.obey(message::DMA_UNMAP, &unmap(0, 0x5000, 8192), Vec::new()),
            Err(Errno::ENOENT)
        );
        assert!(function.obey(message::DMA_UNMAP, &unmap(0, 0x5000, 4096), Vec::new()).is_ok());
        assert!(!host.read(0x5001, &mut byte) && host.read(0x8000, &mut byte));
        assert!(function.obey(message::DMA_UNMAP, &unmap(ALL, 0, 0), Vec::new()).is_ok());
        assert!(!host.read(0x8000, &mut byte));
    }

    /// As many pieces as a client likes of one file, and no more than so many files.
    #[test]
    fn a_file_is_open_once() {
        let (_, mut function) = function();
        let map = |at: u64| message::words(&[32, message::READ | message::WRITE], &[0, at, 4096]);
        let path = std::env::temp_dir().join(format!("tessera-shown-{}", std::process::id()));
        let open = |write: bool| {
            let file = File::options().read(true).write(write).create(write).truncate(false).open(&path);
            let file = file.unwrap();
            if write {
                file.set_len(4096).unwrap();
            }
            vec![OwnedFd::from(file)]
        };
        for piece in 0..1000 {
            assert_eq!(function.obey(message::DMA_MAP, &map(piece << 12), open(true)), Ok(Vec::new()));
        }
        assert_eq!(function.files.0.len(), 1);
        // The same file, which this may only be read by.
        assert!(function.obey(message::DMA_MAP, &map(1000 << 12), open(false)).is_ok());
        assert_eq!(function.files.0.len(), 2);
        enable(&mut function, config::BUS_MASTER);
        let host = function.memory.clone();
        assert!(host.write(999 << 12, &[7]) && !host.write(1000 << 12, &[7]));
        let others: Vec<_> = (0..MAX_FILES).map(|_| another()).collect();
        let shown = others
            .into_iter()
            .zip(1001..)
            .map(|(file, piece)| function.obey(message::DMA_MAP, &map(piece << 12), vec![file]));
        assert_eq!(shown.filter(|shown| *shown == Err(Errno::EMFILE)).count(), 2);
        let all = message::words(&[24, ALL], &[0, 0]);
        assert!(function.obey(message::DMA_UNMAP, &all, Vec::new()).is_ok());
        assert!(function.obey(message::DMA_MAP, &map(0), open(true)).is_ok());
        assert_eq!(function.files.0.len(), 1, "of what is shown no more nothing is kept");
        std::fs::remove_file(path).unwrap();
    }

    /// A file of its own.
    fn another() -> OwnedFd {
        let path = std::env::temp_dir().join(format!("tessera-piece-{}", std::process::id()));
        let file = File::create_new(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file.set_len(4096).unwrap();
        file.into()
    }

    #[test]
    fn nonsense_is_refused() {
        let (_, mut function) = function();
        for command in 0..20 {
            if command != message::DEVICE_INFO {
                assert!(function.obey(command, &[], Vec::new()).is_err(), "{command}");
            }
        }
        for (command, index) in
            [(message::REGION_INFO, 9), (message::IRQ_INFO, 5), (message::REGION_INFO, u32::MAX)]
        {
            let body = message::words(&[32, 0, index, 0], &[0, 0]);
            assert_eq!(function.obey(command, &body, Vec::new()), Err(Errno::EINVAL));
        }
        let mut reset = 0;
        assert!(function.reset(|| reset += 1).is_ok());
        assert_eq!(reset, 0, "CONTROL reads as 0xC000, not enabled");
    }
}
