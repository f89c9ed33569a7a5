//! A NIC of a simulation as a PCI device of QEMU, by QEMU's own protocol for devices of other
//! processes (multi-process QEMU, `x-pci-proxy-dev`), which releases from 5.2 on have.
//!
//! ```text
//!   guest ── QEMU ══socket══ Proxy ── configuration, BAR 0 ──> device of NIC n ── cluster
//!     memory (a memfd) <════ reads, writes ═══ DMA ══════════════┘
//! ```
//!
//! Every message begins with its command, as 32 bits, padding, and the length of the rest, as
//! 64 bits. All but SYNC_SYSMEM and SET_IRQFD are answered, by RET and a number of 64 bits.
//! There are no interrupts. Addresses are the guest's physical ones: where QEMU has an emulated
//! IOMMU, it is passed by.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;

use tessera_driver::pci::message::{self, u32_at, u64_at};

use super::vfio_user::Function;
use super::{Hall, Server};
use crate::device::Simulation;
use crate::pci::Face;

/// Commands.
const SYNC_SYSMEM: u32 = 0;
const RET: u32 = 1;
const CONFIG_WRITE: u32 = 2;
const CONFIG_READ: u32 = 3;
const BAR_WRITE: u32 = 4;
const BAR_READ: u32 = 5;
const SET_IRQFD: u32 = 6;
const DEVICE_RESET: u32 = 7;

/// Ranges of memory that a message tells of, and so the longest there is: address, length and
/// offset of each.
const RANGES: usize = 8;
const MAX_BODY: u64 = RANGES as u64 * 24;
/// What an access that reaches nothing reads.
const ONES: u64 = u64::MAX;

impl<S: Simulation> Server<S> {
    /// Makes a NIC a PCI device: gives the end of a socket for a QEMU, whose
    /// `-device x-pci-proxy-dev,id=NAME,fd=N` wants it under the number N. The guest's memory
    /// must be shared: `-object memory-backend-memfd,share=on`. The NIC is free again when that
    /// QEMU has ended. The guest sees it as `face` says.
    ///
    /// # Errors
    /// If there is no such NIC, a program has it open, or the system has no sockets left.
    pub fn proxy(&self, nic: usize, face: Face) -> Result<OwnedFd, Error> {
        let (hall, process) = (self.hall.clone(), std::process::id() as i32);
        if nic >= hall.seats.len() {
            let last = hall.seats.len() - 1;
            return Err(Error::new(ErrorKind::NotFound, format!("there is no NIC {nic}: use 0 to {last}")));
        }
        let (ours, theirs) = UnixStream::pair()?;
        hall.take_one_of(nic..nic + 1, process).map_err(|other| {
            let why = format!("NIC {nic} is open in process {other}: use another, or end that");
            Error::new(ErrorKind::ResourceBusy, why)
        })?;
        let shared = hall.clone();
        let thread = std::thread::Builder::new().name(format!("tessera-proxy-{nic}"));
        let spawned = thread.spawn(move || {
            // Who says what cannot be understood finds the connection closed.
            let _ = serve(&shared, nic, face, ours);
            shared.leave(nic, process);
        });
        if let Err(error) = spawned {
            hall.leave(nic, process);
            return Err(error);
        }
        Ok(theirs.into())
    }
}

fn unknown(what: String) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

/// Does what QEMU asks for until it ends.
fn serve<S: Simulation>(hall: &Hall<S>, nic: usize, face: Face, mut stream: UnixStream) -> Result<(), Error> {
    let (device, memory) = hall.nic(nic);
    let function = Function::new(device, memory, face);
    let mut proxy = Proxy { function, face, shown: HashMap::new() };
    loop {
        if !proxy.function.asked(&stream) {
            proxy.function.pass();
            continue;
        }
        let Some((head, files)) = message::receive_head(&mut stream)? else { return Ok(()) };
        let word = |at| u32_at(&head, at).unwrap_or_default();
        let (command, len) = (word(0), u64_at(&head, 8).unwrap_or_default());
        if len > MAX_BODY {
            return Err(unknown(format!("a message of {len} bytes")));
        }
        let mut body = vec![0; len as usize];
        stream.read_exact(&mut body)?;
        let value = match command {
            DEVICE_RESET => proxy.function.reset(|| hall.reset(nic)).map_or(ONES, |_| 0),
            command => match proxy.obey(command, &body, files)? {
                Some(value) => value,
                None => continue,
            },
        };
        stream.write_all(&message::words(&[RET, 0], &[8, value]))?;
    }
}

/// Memory of the guest, and where its file has it: device and number of the file, address,
/// offset, length.
type Place = (u64, u64, u64, u64, u64);

/// A NIC that a guest has.
struct Proxy {
    function: Function,
    face: Face,
    shown: HashMap<Place, u64>,
}

impl Proxy {
    /// What is answered, if anything is.
    fn obey(&mut self, command: u32, body: &[u8], files: Vec<OwnedFd>) -> Result<Option<u64>, Error> {
        let short = || unknown(format!("command {command} with {} bytes", body.len()));
        let small = |at| u32_at(body, at).ok_or_else(short);
        let large = |at| u64_at(body, at).ok_or_else(short);
        Ok(Some(match command {
            SYNC_SYSMEM => {
                self.sync(body, files)?;
                return Ok(None);
            }
            // Files by which to interrupt: of those there is no use.
            SET_IRQFD => return Ok(None),
            CONFIG_READ | CONFIG_WRITE => {
                let (offset, value, len) = (small(0)?, small(4)?, small(8)?);
                self.access(message::REGION_CONFIG, offset.into(), value.into(), len, command == CONFIG_WRITE)
            }
            BAR_READ | BAR_WRITE => {
                let (address, value, len) = (large(0)?, large(8)?, small(16)?);
                // As the guest knows it: behind where it put the BAR.
                let mut bar = [0; 4];
                self.function.read(message::REGION_CONFIG, self.face.register() as u64, &mut bar).ok();
                let bar = u64::from(u32::from_le_bytes(bar) & !0xF);
                let offset = address.checked_sub(bar + self.face.offset);
                let write = command == BAR_WRITE;
                offset.map_or(ONES, |offset| self.access(message::REGION_BAR0, offset, value, len, write))
            }
            other => return Err(unknown(format!("command {other}"))),
        }))
    }

    /// Reads or writes up to 8 bytes: what was read, or 0. Of what cannot be, ones.
    fn access(&mut self, region: u32, offset: u64, value: u64, len: u32, write: bool) -> u64 {
        let mut bytes = value.to_le_bytes();
        let Some(bytes) = bytes.get_mut(..len as usize) else { return ONES };
        if write {
            return self.function.write(region, offset, bytes).map_or(ONES, |()| 0);
        }
        let ones = ONES.checked_shr(64 - 8 * len).unwrap_or(0);
        self.function
            .read(region, offset, bytes)
            .map_or(ones, |()| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    /// The guest's memory is now this. What stays is not touched: the NIC may be in it.
    fn sync(&mut self, body: &[u8], files: Vec<OwnedFd>) -> Result<(), Error> {
        let at = |table: usize, i: usize| {
            u64_at(body, (table * RANGES + i) * 8).ok_or_else(|| unknown("half a table of memory".into()))
        };
        let mut now = HashMap::new();
        for (i, file) in files.into_iter().enumerate() {
            let (address, len, offset) = (at(0, i)?, at(1, i)?, at(2, i)?);
            let file = File::from(file);
            let metadata = file.metadata()?;
            now.insert((metadata.dev(), metadata.ino(), address, offset, len), file);
        }
        let gone: Vec<_> = self.shown.keys().filter(|place| !now.contains_key(place)).copied().collect();
        for place in gone {
            if let Some(address) = self.shown.remove(&place) {
                self.function.hide(address);
            }
        }
        for (place, file) in now {
            let (_, _, address, offset, len) = place;
            if self.shown.contains_key(&place) {
                continue;
            }
            let rights = message::READ | message::WRITE;
            // Memory that is no file's, of a display for one, is not for DMA.
            if self.function.map(rights, offset, address, len, vec![file.into()]).is_ok() {
                self.shown.insert(place, address);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::vfio_user::tests::Registers;
    use super::*;
    use crate::nic::HostMemory;
    use std::sync::Arc;
    use tessera_driver::DmaMemory;

    fn proxy() -> (Arc<Registers>, Arc<HostMemory>, Proxy) {
        proxy_as(Face::default())
    }

    fn proxy_as(face: Face) -> (Arc<Registers>, Arc<HostMemory>, Proxy) {
        let (registers, memory) = (Arc::new(Registers::default()), Arc::new(HostMemory::default()));
        let function = Function::new(registers.clone(), memory.clone(), face);
        (registers, memory, Proxy { function, face, shown: HashMap::new() })
    }

    fn config(proxy: &mut Proxy, command: u32, offset: u32, value: u32, len: u32) -> u64 {
        let body = message::words(&[offset, value, len], &[]);
        proxy.obey(command, &body, Vec::new()).unwrap().unwrap()
    }

    fn bar(proxy: &mut Proxy, command: u32, address: u64, value: u64, len: u32) -> u64 {
        let body = [message::words(&[], &[address, value]), message::words(&[len, 1], &[])].concat();
        proxy.obey(command, &body, Vec::new()).unwrap().unwrap()
    }

    #[test]
    fn registers_are_behind_the_bar() {
        let (registers, _, mut proxy) = proxy();
        assert_eq!(config(&mut proxy, CONFIG_READ, 0, 0, 4), 0x5453_1234);
        assert_eq!(config(&mut proxy, CONFIG_READ, 2, 0, 2), 0x5453);
        // As QEMU finds out how long it is, and then puts it somewhere.
        assert_eq!(config(&mut proxy, CONFIG_WRITE, 0x10, u32::MAX, 4), 0);
        assert_eq!(config(&mut proxy, CONFIG_READ, 0x10, 0, 4), !((2 << 20) - 1) & 0xFFFF_FFFF);
        config(&mut proxy, CONFIG_WRITE, 0x10, 0xFEA0_0000, 4);
        assert_eq!(bar(&mut proxy, BAR_READ, 0xFEA0_0008, 0, 4), 0xFFFF_FFFF, "not while MEMORY is off");
        config(&mut proxy, CONFIG_WRITE, 4, 2, 2);
        assert_eq!(bar(&mut proxy, BAR_READ, 0xFEA0_0008, 0, 4), 0x800);
        assert_eq!(bar(&mut proxy, BAR_READ, 0xFEA0_0008, 0, 8), 0xC00_0000_0800);
        assert_eq!(bar(&mut proxy, BAR_WRITE, 0xFEA0_0010, 7, 4), 0);
        assert_eq!(*registers.0.lock().unwrap(), [(0x10, 7)]);
        // What is no word, in front of the BAR, behind it, longer than anything, or fails.
        for (address, len, ones) in [
            (0xFEA0_0009, 4, 0xFFFF_FFFF),
            (0xFEA0_0008, 2, 0xFFFF),
            (0xFE9F_FFFC, 4, ONES),
            (0xFEC0_0000, 4, 0xFFFF_FFFF),
            (0xFEA0_0008, 9, ONES),
            (0xFEA0_0008, u32::MAX, ONES),
            (0xFEA0_0040, 4, 0xFFFF_FFFF),
        ] {
            assert_eq!(bar(&mut proxy, BAR_READ, address, 0, len), ones, "{address:#x}, {len} bytes");
        }
        assert_eq!(config(&mut proxy, CONFIG_READ, 0xFE, 0, 4), 0xFFFF_FFFF);
        for (command, body) in [(CONFIG_READ, 11), (BAR_READ, 19), (9, 0), (RET, 8)] {
            assert!(proxy.obey(command, &vec![0; body], Vec::new()).is_err(), "command {command}");
        }
    }

    #[test]
    fn a_window_is_behind_its_offset() {
        let (registers, _, mut proxy) = proxy_as(Face::window(2, 0x20_0000).unwrap());
        assert_eq!(config(&mut proxy, CONFIG_READ, 0, 0, 4), 0x903F_10EE);
        config(&mut proxy, CONFIG_WRITE, 0x18, 0xFE80_0000, 4);
        config(&mut proxy, CONFIG_WRITE, 4, 2, 2);
        assert_eq!(bar(&mut proxy, BAR_READ, 0xFEA0_0008, 0, 4), 0x800);
        assert_eq!(bar(&mut proxy, BAR_READ, 0xFE80_0008, 0, 4), ONES, "in front of it");
        assert_eq!(bar(&mut proxy, BAR_WRITE, 0xFEA0_0010, 7, 4), 0);
        assert_eq!(*registers.0.lock().unwrap(), [(0x10, 7)]);
        assert!(proxy.function.reset(|| ()).is_ok());
        assert_eq!(config(&mut proxy, CONFIG_READ, 0, 0, 4), 0x903F_10EE, "a reset changes no numbers");
    }

    #[test]
    fn memory_is_what_was_told_last() {
        let (_, memory, mut proxy) = proxy();
        let guest = DmaMemory::from_slice(&[0; 3 * 4096]);
        let (file, offset) = guest.shared_file().unwrap();
        let told = |ranges: &[(u64, u64, u64)]| {
            let mut body = [0; RANGES * 24];
            for (i, &(address, len, at)) in ranges.iter().enumerate() {
                for (table, value) in [address, len, offset + at].into_iter().enumerate() {
                    let place = (table * RANGES + i) * 8;
                    body[place..place + 8].copy_from_slice(&value.to_ne_bytes());
                }
            }
            (body, ranges.iter().map(|_| file.try_clone().unwrap().into()).collect::<Vec<OwnedFd>>())
        };
        config(&mut proxy, CONFIG_WRITE, 4, 4, 2);
        let tell = |proxy: &mut Proxy, ranges: &[(u64, u64, u64)]| {
            let (body, files) = told(ranges);
            assert_eq!(proxy.obey(SYNC_SYSMEM, &body, files).unwrap(), None);
        };
        tell(&mut proxy, &[(0, 4096, 0), (1 << 32, 8192, 4096)]);
        assert!(memory.write((1 << 32) + 5, &[7]) && memory.write(9, &[8]));
        assert_eq!((guest.to_vec(4096 + 5, 1), guest.to_vec(9, 1)), (vec![7], vec![8]));
        // One stays, one moves, one is not in its file.
        tell(&mut proxy, &[(1 << 32, 8192, 4096), (4096, 4096, 0), (1 << 40, 1 << 50, 0)]);
        assert!(!memory.write(9, &[1]) && memory.write(4096 + 9, &[2]) && memory.write(1 << 32, &[3]));
        assert_eq!((guest.to_vec(9, 1), guest.to_vec(4096, 1)), (vec![2], vec![3]));
        assert!(!memory.write(1 << 40, &[1]));
        tell(&mut proxy, &[]);
        assert_eq!(memory.mapped(), 0);
        let (body, files) = told(&[(0, 4096, 0)]);
        assert!(proxy.obey(SYNC_SYSMEM, &body[..100], files).is_err(), "half a table");
    }
}
