//! A NIC that is a PCI function: on a board, or made by another process.
//!
//! ```text
//!   Context ── Device ── Function ──┬── Bus: vfio       /dev/vfio, BAR 0 mapped, IOMMU
//!                 ids, bus master,  ├── Bus: vfio_user  a Unix socket, memory by its file
//!                 device addresses  └── Bus: sysfs      BAR 0 mapped, huge pages, no IOMMU
//! ```
//!
//! A NIC that is one part of a shell among others has a [`Window`] of a BAR instead of a function of
//! its own: then ids and reset are left alone, and bus master where a driver of the kernel has it.
//!
//! A [`Bus`] carries accesses and knows nothing of NICs; [`Function`] checks that what is
//! at its end is one, lets it reach memory, and gives that memory addresses.
//! `driver/examples/edu.rs` uses a bus alone.

mod error;
mod mapping;
pub mod message;
pub mod sysfs;
pub mod vfio;
pub mod vfio_user;
mod window;

use std::collections::BTreeMap;
use std::sync::atomic::{fence, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tessera_abi::pci::{self, config};

pub use error::PciError;
pub(crate) use mapping::Mapping;
pub use window::Window;

use crate::context::recognise;
use crate::device::{Device, DeviceError};
use crate::memory::{DmaMemory, PAGE};
pub use crate::ranges::Ranges;
use crate::reset::end_dma;

/// The way to one PCI function.
pub trait Bus: Send + Sync {
    /// What it is called, in messages.
    fn name(&self) -> &str;

    /// Where the NIC's registers lie, if the function is a shell's. What is said here of BAR 0 is
    /// then said of those 2 MiB.
    fn window(&self) -> Option<Window> {
        None
    }

    /// The driver of the kernel that has the shell and keeps it.
    fn beside(&self) -> Option<&str> {
        None
    }

    /// Bytes of BAR 0, 0 if it has none.
    fn bar_len(&self) -> u64;

    /// Reads from the configuration space.
    ///
    /// # Errors
    /// If nobody answers.
    fn read_config(&self, offset: usize, bytes: &mut [u8]) -> Result<(), DeviceError>;

    /// Writes to the configuration space.
    ///
    /// # Errors
    /// If nobody answers.
    fn write_config(&self, offset: usize, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Reads an aligned word of BAR 0.
    ///
    /// # Errors
    /// If it is outside, or nobody answers.
    fn read(&self, offset: u32) -> Result<u32, DeviceError>;

    /// Writes an aligned word of BAR 0, behind all accesses to memory that came before.
    ///
    /// # Errors
    /// If it is outside, or nobody answers.
    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError>;

    /// Device addresses that memory can have, where it has none of its own.
    fn addresses(&self) -> Ranges;

    /// The device address that the first of the pages has by itself, on a bus where it is not
    /// given one.
    ///
    /// # Errors
    /// If the device cannot reach it.
    fn place(&self, memory: &DmaMemory) -> Result<Option<u64>, DeviceError> {
        let _ = memory;
        Ok(None)
    }

    /// Lets the device reach the pages that `memory` lies in: the first of them at `address`.
    ///
    /// # Errors
    /// If it cannot be done.
    fn map(&self, address: u64, memory: &DmaMemory) -> Result<(), DeviceError>;

    /// Takes that away, all of it. `len` is that of the pages.
    fn unmap(&self, address: u64, len: u64);

    /// Resets the function, if it can be: `false` if not.
    ///
    /// # Errors
    /// If that fails.
    fn reset(&self) -> Result<bool, DeviceError>;

    /// Lets device time run.
    ///
    /// # Errors
    /// If the device is gone.
    fn wait(&self) -> Result<(), DeviceError>;

    /// As [`Device::yields`].
    fn yields(&self) -> bool {
        false
    }
}

/// The pages that memory lies in: bytes before its first, and the length of them all.
pub(crate) fn pages(memory: &DmaMemory) -> (u64, u64) {
    let page = PAGE as u64;
    let before = memory.address() % page;
    (before, (before + memory.len().max(1) as u64).next_multiple_of(page))
}

/// Memory that the device reaches.
struct Mapped {
    memory: Arc<DmaMemory>,
    len: u64,
    times: u32,
    /// Whether its address was taken from those of the bus.
    taken: bool,
}

#[derive(Default)]
struct Space {
    /// By the device address of the first page.
    mapped: BTreeMap<u64, Mapped>,
    addresses: Ranges,
}

/// What the driver of a shell has switched on.
const SHELL_ON: u16 = config::MEMORY | config::BUS_MASTER;

/// A NIC at the end of a bus.
pub struct Function {
    bus: Box<dyn Bus>,
    space: Mutex<Space>,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Function").field("bus", &self.bus.name()).finish_non_exhaustive()
    }
}

fn read_u16(bus: &dyn Bus, offset: usize) -> Result<u16, DeviceError> {
    let mut bytes = [0; 2];
    bus.read_config(offset, &mut bytes)?;
    Ok(u16::from_le_bytes(bytes))
}

/// Sets and clears bits of the command register.
///
/// # Errors
/// If nobody answers.
pub fn command(bus: &dyn Bus, set: u16, clear: u16) -> Result<(), DeviceError> {
    let before = read_u16(bus, config::COMMAND)?;
    bus.write_config(config::COMMAND, &((before & !clear) | set).to_le_bytes())
}

/// No NIC in a window goes on with what it was at.
fn quiet(bus: &dyn Bus) -> Result<(), DeviceError> {
    end_dma(&|offset| bus.read(offset), &|offset, value| bus.write(offset, value), &|| bus.wait())
}

impl Function {
    /// Checks that the function is a Tessera NIC, resets it, and lets it reach memory. Of one that
    /// is a shell's: that there is a NIC in its window, and lets it reach memory if no driver of the
    /// kernel does.
    ///
    /// # Errors
    /// If it is something else, or cannot be reset.
    pub fn open(bus: Box<dyn Bus>) -> Result<Arc<Self>, PciError> {
        match bus.window() {
            None => Self::take(&*bus)?,
            Some(window) => Self::enter(&*bus, window)?,
        }
        let addresses = bus.addresses();
        Ok(Arc::new(Self { bus, space: Mutex::new(Space { addresses, ..Space::default() }) }))
    }

    /// A function of the NIC's own.
    fn take(bus: &dyn Bus) -> Result<(), PciError> {
        let found = [read_u16(bus, config::VENDOR)?, read_u16(bus, config::DEVICE)?];
        if found != [pci::VENDOR, pci::DEVICE] {
            return Err(PciError::NotTessera { name: bus.name().into(), found });
        }
        if bus.bar_len() < pci::BAR_LEN {
            return Err(PciError::Bar { name: bus.name().into(), len: bus.bar_len() });
        }
        // Of a program before this one nothing goes on, nor reaches what is mapped here.
        command(bus, 0, config::BUS_MASTER)?;
        bus.reset()?;
        Ok(command(bus, config::MEMORY | config::BUS_MASTER | config::NO_INTX, 0)?)
    }

    /// A window of a shell, whose reset would be that of its MAC too: the NIC's own, by a register, is in its place.
    fn enter(bus: &dyn Bus, window: Window) -> Result<(), PciError> {
        let (name, now) = (|| bus.name().to_owned(), read_u16(bus, config::COMMAND)?);
        match bus.beside() {
            Some(driver) if now & SHELL_ON != SHELL_ON => {
                return Err(PciError::NotMaster { name: name(), driver: driver.into() });
            }
            None if now & config::MEMORY == 0 => command(bus, config::MEMORY, 0)?,
            _ => {}
        }
        // Its numbers say nothing, so nothing else is written before this.
        if let Err(why) = recognise(|reg| bus.read(reg.offset)) {
            if now & config::MEMORY == 0 {
                command(bus, 0, config::MEMORY)?;
            }
            return Err(PciError::NoNic { name: name(), window, why });
        }
        // Of a program before this one nothing goes on, nor reaches what is mapped here.
        quiet(bus)?;
        if bus.beside().is_none() {
            command(bus, config::BUS_MASTER | config::NO_INTX, 0)?;
        }
        Ok(())
    }

    fn space(&self) -> MutexGuard<'_, Space> {
        self.space.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Device for Function {
    fn read(&self, offset: u32) -> Result<u32, DeviceError> {
        let value = self.bus.read(offset)?;
        // A function that is gone reads as ones, its numbers too.
        if value == u32::MAX && read_u16(&*self.bus, config::VENDOR)? == u16::MAX {
            let name = self.bus.name();
            return Err(DeviceError::Gone(format!("{name} does not answer any more: was it removed?")));
        }
        fence(Ordering::SeqCst);
        Ok(value)
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        fence(Ordering::SeqCst);
        self.bus.write(offset, value)
    }

    fn map(&self, memory: &Arc<DmaMemory>) -> Result<u64, DeviceError> {
        let (before, len) = pages(memory);
        let mut space = self.space();
        let same = |mapped: &Mapped| Arc::ptr_eq(&mapped.memory, memory);
        if let Some((address, mapped)) = space.mapped.iter_mut().find(|(_, mapped)| same(mapped)) {
            mapped.times += 1;
            return Ok(address + before);
        }
        let own = self.bus.place(memory)?;
        let taken = own.is_none();
        let address = own.or_else(|| space.addresses.take(len)).ok_or_else(|| DeviceError::Map {
            len: memory.len(),
            reason: format!("{} has no device addresses left: map less", self.bus.name()),
        })?;
        if let Err(error) = self.bus.map(address, memory) {
            if taken {
                space.addresses.give_back(address, len);
            }
            return Err(error);
        }
        space.mapped.insert(address, Mapped { memory: memory.clone(), len, times: 1, taken });
        Ok(address + before)
    }

    fn unmap(&self, address: u64) {
        let address = address - address % PAGE as u64;
        let mut space = self.space();
        let Some(mapped) = space.mapped.get_mut(&address) else { return };
        mapped.times -= 1;
        if mapped.times == 0 {
            self.bus.unmap(address, mapped.len);
            let (len, taken) = (mapped.len, mapped.taken);
            space.mapped.remove(&address);
            if taken {
                space.addresses.give_back(address, len);
            }
        }
    }

    fn wait(&self) -> Result<(), DeviceError> {
        self.bus.wait()
    }

    fn yields(&self) -> bool {
        self.bus.yields()
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        // Before its memory goes. Of one that is gone nothing is to be feared. The next to open
        // it resets it.
        if self.bus.window().is_some() {
            let _ = quiet(&*self.bus);
        }
        if self.bus.beside().is_none() {
            let _ = command(&*self.bus, 0, config::BUS_MASTER);
        }
    }
}
