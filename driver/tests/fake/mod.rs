//! A device of registers only, for tests of the driver.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tessera_abi::queue::{self, done};
use tessera_abi::regs;
use tessera_driver::{ContextOptions, Device, DeviceError, DmaMemory, EndpointKind, EndpointOptions};

/// An endpoint of small rings.
pub const SMALL: EndpointOptions = EndpointOptions {
    kind: EndpointKind::Messages,
    qkey: 0x1234,
    send_entries: 4,
    recv_entries: 4,
    rx_quota: 9,
    tx_quota: 0,
    tags: false,
};

/// Addresses of a host that is alone.
pub fn options() -> ContextOptions {
    ContextOptions {
        mac: [2, 0, 0, 0, 0, 1],
        ip: [10, 0, 0, 1],
        ip6: None,
        vlan: None,
        seed: 7,
        settings: Vec::new(),
    }
}

/// Registers that remember, and memory reached by its own address.
#[derive(Default)]
pub struct Fake {
    pub registers: Mutex<BTreeMap<u32, u32>>,
    pub writes: Mutex<Vec<(u32, u32)>>,
    pub mapped: Mutex<BTreeMap<u64, Arc<DmaMemory>>>,
    /// How many writes came before each time that memory was unmapped.
    pub unmapped: Mutex<Vec<usize>>,
    /// How often each is mapped.
    pub times: Mutex<BTreeMap<u64, usize>>,
    /// A register that cannot be written.
    pub broken: Mutex<Option<u32>>,
}

impl Fake {
    pub fn nic() -> Arc<Self> {
        let fake = Self::default();
        let preset = [
            (regs::MAGIC.offset, regs::MAGIC_VALUE),
            (regs::ABI_VERSION.offset, regs::ABI_VERSION_VALUE),
            (regs::SIZES0.offset, 2 << 24),
            (regs::SIZES1.offset, 1 | 1 << 8 | 3 << 24),
            (regs::STATUS.offset, 1),
        ];
        fake.registers.lock().unwrap().extend(preset);
        Arc::new(fake)
    }

    /// Bytes the device would read at a DMA address.
    pub fn dma_read(&self, address: u64, len: usize) -> Vec<u8> {
        let mapped = self.mapped.lock().unwrap();
        let (start, memory) = mapped.range(..=address).next_back().expect("mapped");
        memory.to_vec((address - start) as usize, len)
    }

    pub fn dma_write(&self, address: u64, bytes: &[u8]) {
        let mapped = self.mapped.lock().unwrap();
        let (start, memory) = mapped.range(..=address).next_back().expect("mapped");
        memory.write((address - start) as usize, bytes);
    }

    /// Writes completion `n` of a queue of so many entries as hardware would.
    pub fn complete(&self, (queue, entries): (u32, usize), n: usize, fields: &[(usize, u8)]) {
        let words = self.table(regs::table::CQ, queue);
        let base = u64::from(words[2]) | u64::from(words[3]) << 32;
        let mut bytes = [0; queue::COMPLETION_LEN];
        bytes[done::PHASE] = u8::from((n / entries).is_multiple_of(2));
        fields.iter().for_each(|&(at, value)| bytes[at] = value);
        self.dma_write(base + (n % entries * queue::COMPLETION_LEN) as u64, &bytes);
    }

    pub fn last_write(&self, offset: u32) -> Option<u32> {
        self.writes.lock().unwrap().iter().rev().find(|(at, _)| *at == offset).map(|&(_, value)| value)
    }

    /// The last table word written to `(table, index)`: data words at that time.
    pub fn table(&self, number: u32, index: u32) -> Vec<u32> {
        let mut data = [0; regs::TABLE_WORDS];
        let mut found = Vec::new();
        for &(offset, value) in self.writes.lock().unwrap().iter() {
            if (regs::TABLE_DATA..regs::TABLE_DATA + 64).contains(&offset) {
                data[((offset - regs::TABLE_DATA) / 4) as usize] = value;
            }
            if offset == regs::TABLE_COMMAND.offset && value == (1 << 31 | number << 24 | index) {
                found = data.to_vec();
            }
        }
        found
    }
}

impl Device for Fake {
    fn read(&self, offset: u32) -> Result<u32, DeviceError> {
        Ok(self.registers.lock().unwrap().get(&offset).copied().unwrap_or(0))
    }
    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        if *self.broken.lock().unwrap() == Some(offset) {
            return Err(DeviceError::Register { offset, reason: "broken".into() });
        }
        self.writes.lock().unwrap().push((offset, value));
        Ok(())
    }
    fn map(&self, memory: &Arc<DmaMemory>) -> Result<u64, DeviceError> {
        *self.times.lock().unwrap().entry(memory.address()).or_default() += 1;
        self.mapped.lock().unwrap().insert(memory.address(), memory.clone());
        Ok(memory.address())
    }
    fn unmap(&self, address: u64) {
        self.unmapped.lock().unwrap().push(self.writes.lock().unwrap().len());
        let mut all = self.times.lock().unwrap();
        let times = all.get_mut(&address).filter(|times| **times > 0).expect("what is unmapped was mapped");
        *times -= 1;
        if *times == 0 {
            self.mapped.lock().unwrap().remove(&address);
        }
    }
    fn wait(&self) -> Result<(), DeviceError> {
        // Time goes on only here, and with long steps.
        let mut registers = self.registers.lock().unwrap();
        let time = registers.entry(regs::TIME.offset).or_default();
        *time = time.wrapping_add(64);
        Ok(())
    }
}
