//! The configuration space of a simulated NIC that is a PCI function.

use tessera_abi::pci::{config, BAR_LEN, CLASS, DEVICE, SUBSYSTEM, VENDOR};
use tessera_abi::regs::ABI_VERSION_VALUE;

/// How a NIC shows itself on PCI: which numbers, and where its registers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Face {
    vendor: u16,
    device: u16,
    /// The BAR that has the registers.
    pub bar: u8,
    /// Bytes of it in front of them. Nothing is there.
    pub offset: u64,
}

impl Default for Face {
    /// A function of its own.
    fn default() -> Self {
        Self { vendor: VENDOR, device: DEVICE, bar: 0, offset: 0 }
    }
}

impl Face {
    /// Most bytes in front of the registers: a BAR of 32 bits has room for no more than a few.
    pub const MOST: u64 = 64 << 20;

    /// One part of a shell: a window of a BAR, behind Xilinx's numbers, which are QDMA's in OpenNIC.
    /// `None` if there is no such place.
    pub fn window(bar: u8, offset: u64) -> Option<Self> {
        let known = bar < 6 && offset.is_multiple_of(PAGE) && offset <= Self::MOST;
        known.then_some(Self { vendor: 0x10EE, device: 0x903F, bar, offset })
    }

    fn bar_len(self) -> u64 {
        (self.offset + BAR_LEN).next_power_of_two()
    }

    /// Where the configuration space has its BAR.
    pub fn register(self) -> usize {
        config::BAR0 + 4 * usize::from(self.bar)
    }
}

/// Smallest piece that a program can map.
const PAGE: u64 = 4096;

/// 256 bytes, of which a few can be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSpace {
    bytes: [u8; config::LEN],
    /// Bits that a write changes.
    writable: [u8; config::LEN],
}

impl Default for ConfigSpace {
    fn default() -> Self {
        Self::new(Face::default())
    }
}

impl ConfigSpace {
    /// That of a NIC which shows itself so.
    pub fn new(face: Face) -> Self {
        let mut space = Self { bytes: [0; config::LEN], writable: [0; config::LEN] };
        let mut put = |at: usize, value: &[u8]| space.bytes[at..at + value.len()].copy_from_slice(value);
        put(config::VENDOR, &face.vendor.to_le_bytes());
        put(config::DEVICE, &face.device.to_le_bytes());
        put(config::REVISION, &(CLASS << 8 | ABI_VERSION_VALUE >> 16 & 0xFF).to_le_bytes());
        put(config::SUBSYSTEM_VENDOR, &face.vendor.to_le_bytes());
        put(config::SUBSYSTEM_VENDOR + 2, &SUBSYSTEM.to_le_bytes());
        let mut may = |at: usize, bits: &[u8]| space.writable[at..at + bits.len()].copy_from_slice(bits);
        let command = config::MEMORY | config::BUS_MASTER | config::NO_INTX;
        may(config::COMMAND, &command.to_le_bytes());
        // Of a BAR the bits below its size read as 0, by which the size is found.
        may(face.register(), &(!(face.bar_len() - 1) as u32).to_le_bytes());
        space
    }

    /// Reads; `false` outside of it.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> bool {
        let from = usize::try_from(offset).ok().and_then(|at| self.bytes.get(at..)?.get(..bytes.len()));
        from.map(|from| bytes.copy_from_slice(from)).is_some()
    }

    /// Writes what can be written; `false` outside of it.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let Some(at) =
            usize::try_from(offset).ok().filter(|&at| at <= config::LEN - bytes.len().min(config::LEN))
        else {
            return false;
        };
        if bytes.len() > config::LEN {
            return false;
        }
        for (i, &value) in bytes.iter().enumerate() {
            let mask = self.writable[at + i];
            self.bytes[at + i] = self.bytes[at + i] & !mask | value & mask;
        }
        true
    }

    /// Whether bits of the command register are set.
    pub fn commands(&self, bits: u16) -> bool {
        u16::from_le_bytes([self.bytes[config::COMMAND], self.bytes[config::COMMAND + 1]]) & bits == bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_and_enabled() {
        let mut space = ConfigSpace::default();
        let mut word = [0; 4];
        assert!(space.read(0, &mut word));
        assert_eq!(word, [0x34, 0x12, 0x53, 0x54]);
        assert!(space.read(8, &mut word));
        assert_eq!(word, [1, 0, 0x80, 2]);
        // How software finds a BAR's size.
        assert!(space.write(0x10, &[0xFF; 4]) && space.read(0x10, &mut word));
        assert_eq!(!u32::from_le_bytes(word) + 1, 2 << 20);
        assert!(!space.commands(config::MEMORY));
        assert!(
            space.write(4, &[2]) && space.commands(config::MEMORY) && !space.commands(config::BUS_MASTER)
        );
        assert!(space.write(0, &[0; 4]) && space.read(0, &mut word));
        assert_eq!(word, [0x34, 0x12, 0x53, 0x54], "numbers stay");
        let mut shell = ConfigSpace::new(Face::window(2, 0x20_0000).unwrap());
        assert!(shell.read(0, &mut word));
        assert_eq!(word, [0xEE, 0x10, 0x3F, 0x90]);
        assert!(shell.write(0x18, &[0xFF; 4]) && shell.read(0x18, &mut word));
        assert_eq!(!u32::from_le_bytes(word) + 1, 4 << 20);
        assert!(shell.write(0x10, &[0xFF; 4]) && shell.read(0x10, &mut word));
        assert_eq!(word, [0; 4], "no BAR 0");
        for (bar, offset) in [(6, 0), (0, 4), (0, Face::MOST + 4096)] {
            assert_eq!(Face::window(bar, offset), None);
        }
        assert!(!space.read(253, &mut word) && !space.write(u64::MAX, &[0]) && !space.write(253, &word));
        assert!(!space.write(0, &[0; 257]) && space.write(256, &[]));
    }
}
