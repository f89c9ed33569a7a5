//! How a Tessera NIC shows itself on PCI.
//!
//! The vendor is the one that QEMU's own devices use and other open NICs borrow: nobody
//! sells boards by it. A board with numbers of its own is told apart by them, and is made
//! known here.

/// Vendor, of the function and of the subsystem.
pub const VENDOR: u16 = 0x1234;
/// Device.
pub const DEVICE: u16 = 0x5453;
/// Subsystem. With the device number it spells register MAGIC.
pub const SUBSYSTEM: u16 = 0x5241;
/// Class code: network controller, other.
pub const CLASS: u32 = 0x02_80_00;
/// Bytes of BAR 0, which is the register map: 21 address bits.
pub const BAR_LEN: u64 = 1 << 21;

/// Offsets in the configuration header, and bits of its command register.
pub mod config {
    /// Vendor, 16 bits; device follows.
    pub const VENDOR: usize = 0x00;
    /// Device, 16 bits.
    pub const DEVICE: usize = 0x02;
    /// Command register, 16 bits.
    pub const COMMAND: usize = 0x04;
    /// Revision, 8 bits; class code follows in 24.
    pub const REVISION: usize = 0x08;
    /// First base address register, 32 bits.
    pub const BAR0: usize = 0x10;
    /// Subsystem's vendor, 16 bits; the subsystem follows.
    pub const SUBSYSTEM_VENDOR: usize = 0x2C;
    /// Bytes of the whole space.
    pub const LEN: usize = 256;
    /// Command: memory accesses are answered.
    pub const MEMORY: u16 = 1 << 1;
    /// Command: the function may read and write host memory.
    pub const BUS_MASTER: u16 = 1 << 2;
    /// Command: no interrupt by wire.
    pub const NO_INTX: u16 = 1 << 10;
}

const _: () = assert!((DEVICE as u32) << 16 | SUBSYSTEM as u32 == crate::regs::MAGIC_VALUE);
const _: () = assert!(crate::regs::doorbell_page(256) as u64 <= BAR_LEN);
