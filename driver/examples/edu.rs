//! A board that is no NIC, through Linux VFIO: QEMU's teaching device `edu`, by the same bus
//! that drives NICs.
//!
//! `cargo run -p tessera-driver --example edu -- 0000:00:03.0 [0000:00:04.0]`
//!
//! Reads its registers, lets it compute, has it copy 2 KiB from memory and back to other
//! memory through the IOMMU, sees that memory taken away is out of its reach, and that as a
//! NIC it is refused. The other is QEMU's `ivshmem`, whose BAR 2 is memory of 4 MiB: a window of
//! it is where its offset says, and is refused until it has a NIC's first registers.

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tessera_abi::pci::{config, BAR_LEN};
use tessera_abi::regs;
use tessera_driver::pci::vfio::Vfio;
use tessera_driver::pci::{command, Bus, Window};
use tessera_driver::{open_device, DmaMemory};

/// Registers of BAR 0, from QEMU's docs/specs/edu.
mod edu {
    /// 0xRRrr00ed.
    pub const IDENTITY: u32 = 0x00;
    /// What is written comes back inverted.
    pub const LIVENESS: u32 = 0x04;
    /// A number, and later its factorial.
    pub const FACTORIAL: u32 = 0x08;
    /// Bit 0: it computes.
    pub const STATUS: u32 = 0x20;
    /// DMA: from, to, bytes, command; each of 64 bits.
    pub const SOURCE: u32 = 0x80;
    pub const DESTINATION: u32 = 0x88;
    pub const COUNT: u32 = 0x90;
    pub const COMMAND: u32 = 0x98;
    /// Of its own 4 KiB, as a DMA address.
    pub const BUFFER: u64 = 0x4_0000;
    /// Command: go, from its buffer to memory.
    pub const GO: u64 = 1;
    pub const TO_MEMORY: u64 = 2;
    /// It has 28 address bits.
    pub const REACH: u64 = 1 << 28;
}

/// Bytes to copy: QEMU 7.2 refuses all of the buffer.
const LEN: usize = 2048;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn until(bus: &dyn Bus, register: u32, bit: u32) -> Outcome<()> {
    let begun = Instant::now();
    while bus.read(register)? & bit != 0 {
        if begun.elapsed() > Duration::from_secs(10) {
            return Err(format!("register {register:#x} is busy for 10 s").into());
        }
        bus.wait()?;
    }
    Ok(())
}

fn write_long(bus: &dyn Bus, register: u32, value: u64) -> Outcome<()> {
    bus.write(register, value as u32)?;
    Ok(bus.write(register + 4, (value >> 32) as u32)?)
}

fn copy(bus: &dyn Bus, source: u64, destination: u64, len: u64, flags: u64) -> Outcome<()> {
    write_long(bus, edu::SOURCE, source)?;
    write_long(bus, edu::DESTINATION, destination)?;
    write_long(bus, edu::COUNT, len)?;
    write_long(bus, edu::COMMAND, edu::GO | flags)?;
    until(bus, edu::COMMAND, edu::GO as u32)
}

fn check(right: bool, what: &str) -> Outcome<()> {
    if !right {
        return Err(format!("{what}: wrong").into());
    }
    println!("{what}: right");
    Ok(())
}

fn drive(bus: &dyn Bus) -> Outcome<()> {
    command(bus, config::MEMORY | config::BUS_MASTER | config::NO_INTX, 0)?;
    let mut ids = [0; 4];
    bus.read_config(config::VENDOR, &mut ids)?;
    check(ids == [0x34, 0x12, 0xE8, 0x11], "PCI numbers 1234:11e8")?;
    check(bus.bar_len() == 1 << 20, "BAR 0 of 1 MiB")?;
    check(bus.read(edu::IDENTITY)? & 0xFFFF == 0xED, "identity")?;
    bus.write(edu::LIVENESS, 0x1234_5678)?;
    check(bus.read(edu::LIVENESS)? == !0x1234_5678, "liveness")?;
    bus.write(edu::FACTORIAL, 10)?;
    until(bus, edu::STATUS, 1)?;
    check(bus.read(edu::FACTORIAL)? == 3_628_800, "10!")?;
    check(bus.read(1 << 20).is_err() && bus.write(2, 0).is_err(), "accesses outside of BAR 0 are refused")?;

    let bytes: Vec<u8> = (0..LEN).map(|i| (i * 7 + i / 251) as u8).collect();
    let (from, to) = (DmaMemory::from_slice(&bytes), DmaMemory::new(LEN));
    let mut addresses = bus.addresses();
    let mut place =
        || addresses.take(4096).filter(|&at| at < edu::REACH).ok_or("no device address below 2^28");
    let (source, destination) = (place()?, place()?);
    bus.map(source, &from)?;
    bus.map(destination, &to)?;
    check(bus.map(source, &to).is_err(), "one address for two buffers is refused")?;
    copy(bus, source, edu::BUFFER, LEN as u64, 0)?;
    copy(bus, edu::BUFFER, destination, LEN as u64, edu::TO_MEMORY)?;
    check(to.to_vec(0, LEN) == bytes, "2 KiB from memory and back to other memory")?;
    to.write(0, &[0; LEN]);
    bus.unmap(destination, 4096);
    copy(bus, edu::BUFFER, destination, LEN as u64, edu::TO_MEMORY)?;
    check(to.to_vec(0, LEN) == [0; LEN], "memory that was taken away is out of reach")?;
    bus.map(destination, &to)?;
    command(bus, 0, config::BUS_MASTER)?;
    copy(bus, edu::BUFFER, destination, LEN as u64, edu::TO_MEMORY)?;
    check(to.to_vec(0, LEN) == [0; LEN], "and all of it without bus master")?;
    command(bus, config::BUS_MASTER, 0)?;
    copy(bus, edu::BUFFER, destination, LEN as u64, edu::TO_MEMORY)?;
    check(to.to_vec(0, LEN) == bytes, "and in reach again")
}

/// What opening a device says.
fn refusal(device: &str) -> Outcome<String> {
    match open_device(device) {
        Ok(_) => Err(format!("{device} passes as a NIC").into()),
        Err(error) => {
            println!("{device}: {error}");
            Ok(error.to_string())
        }
    }
}

/// Where a window is, by memory that two of them share.
fn windows(address: &str) -> Outcome<()> {
    let open = |offset| -> Outcome<Vfio> {
        let window = Window::new(2, offset).ok_or("no window there")?;
        Ok(Vfio::open_window(address, window)?)
    };
    let device = format!("vfio:{address}?bar=2&offset=0x200000");
    let last = BAR_LEN as u32 - 4;
    let set = |registers: [(u32, u32); 2]| -> Outcome<()> {
        let bus = open(0x20_0000)?;
        check(bus.bar_len() == BAR_LEN && bus.read(BAR_LEN as u32).is_err(), "a window of 2 MiB")?;
        registers.iter().try_for_each(|&(at, value)| bus.write(at, value))?;
        Ok(())
    };
    set([(0, 7), (last, 8)])?;
    let bus = open(0x1F_F000)?;
    check(bus.read(0x1000)? == 7 && bus.read(0)? == 0, "4 KiB in front of it")?;
    drop(bus);
    check(refusal(&device)?.contains("MAGIC reads 0x00000007"), "it has no NIC's registers")?;
    let short = refusal(&format!("vfio:{address}?bar=2&offset=0x201000"))?;
    check(short.contains("4194304 bytes of BAR 2, too few"), "it has to be inside")?;
    check(refusal(&format!("vfio:{address}?bar=4"))?.contains("no BAR 4"), "there are BARs that are not")?;
    set([(regs::MAGIC.offset, regs::MAGIC_VALUE), (regs::ABI_VERSION.offset, regs::ABI_VERSION_VALUE)])?;
    let nic = open_device(&device)?;
    check(nic.read(last)? == 8, "with a NIC's first registers it is open, whatever its numbers")
}

fn run(address: &str) -> Outcome<()> {
    let bus = Vfio::open(address)?;
    drive(&bus)?;
    match open_device(&format!("vfio:{address}")) {
        Ok(_) => return Err("it can be opened twice".into()),
        Err(error) => println!("opened twice: {error}"),
    }
    drop(bus);
    let said = refusal(&format!("vfio:{address}"))?;
    check(said.contains("1234:11e8, not a Tessera NIC"), "it is no NIC")?;
    let said = refusal(&format!("vfio:{address}?bar=0"))?;
    check(said.contains("1048576 bytes of BAR 0, too few"), "nor has it room for a window")
}

fn main() -> ExitCode {
    let Some(address) = std::env::args().nth(1) else {
        eprintln!("error: give the address of an edu device, as `lspci -D -d 1234:11e8` has it");
        return ExitCode::FAILURE;
    };
    let windows = std::env::args().nth(2).map_or(Ok(()), |address| windows(&address));
    match windows.and_then(|()| run(&address)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
