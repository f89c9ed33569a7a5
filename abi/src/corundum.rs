//! The NIC as an application block of Corundum: what is in BAR 2.
//!
//! Register blocks of Corundum are a list: type, version, offset of the next, 0 = none. Ours is
//! the only one, at offset 0; registers of the NIC itself (docs/registers.md) are in a window behind it.

/// `APP_ID` of the build, and type of the register block: vendor and number.
pub const APP_ID: u32 = 0x5453_0001;
/// Version of the register block: major, minor, patch.
pub const VERSION: u32 = 0x0000_0100;
/// Offset of the NIC's registers.
pub const WINDOW: u32 = 0x20_0000;
/// Bytes of BAR 2, and bits of an address in it, at least.
pub const BAR_BITS: usize = 22;

/// Offsets of the block's registers, each of 32 bits.
pub mod offset {
    /// [`APP_ID`](super::APP_ID).
    pub const TYPE: u32 = 0x00;
    /// [`VERSION`](super::VERSION).
    pub const VERSION: u32 = 0x04;
    /// Offset of the next block: 0, none.
    pub const NEXT: u32 = 0x08;
    /// Offset of the NIC's registers in this BAR.
    pub const WINDOW: u32 = 0x0C;
    /// Bit 0, at first set: frames for the NIC are taken out of the port's.
    pub const ENABLE: u32 = 0x10;
    /// The port that the NIC is at.
    pub const PORT: u32 = 0x14;
    /// Queue pair numbers of the NIC: those whose bits under the mask are these.
    pub const QPN_VALUE: u32 = 0x18;
    /// Which bits of a queue pair number count; 0 at first: all numbers are the NIC's.
    pub const QPN_MASK: u32 = 0x1C;
    /// Frames received for the NIC.
    pub const RX_TAKEN: u32 = 0x20;
    /// Frames received for the host.
    pub const RX_PASSED: u32 = 0x24;
    /// Frames of the NIC that were sent.
    pub const TX_INJECTED: u32 = 0x28;
    /// Frames of the host that were sent.
    pub const TX_PASSED: u32 = 0x2C;
    /// Frames of the NIC of which the MAC told that they were sent.
    pub const TX_ENDED: u32 = 0x30;
    /// PTP time of day, 96 bits, least significant first; read from here, the others stay.
    pub const NOW: u32 = 0x40;
    /// When the last frame for the NIC came, as the MAC says; likewise.
    pub const RX_TIME: u32 = 0x50;
    /// When the last frame of the NIC was sent, as the MAC says; likewise.
    pub const TX_TIME: u32 = 0x60;
}

/// Counters that are added to Corundum's statistics, from the first ID on: frames taken,
/// frames injected.
pub const STATISTICS: usize = 2;

/// EtherType of the frame that the block hands the kernel of its port while the NIC's interrupt is
/// high: one for local experiments.
pub const EVENT_TYPE: u16 = 0x88B5;

/// That frame, without FCS. To an address that no bridge hands on, from one that names the port.
pub const fn event_frame(port: u8) -> [u8; 60] {
    let head = [
        0x01, 0x80, 0xC2, 0x00, 0x00, 0x0E, 0x02, b'T', b'S', b'R', b'A', port, 0x88, 0xB5, b'T', b'S', b'R',
        b'A',
    ];
    let mut frame = [0; 60];
    let mut at = 0;
    while at < head.len() {
        frame[at] = head[at];
        at += 1;
    }
    frame
}
