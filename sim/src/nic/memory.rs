//! Host memory as the NIC's DMA sees it: what the driver mapped, nothing else.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tessera_driver::DmaMemory;

/// Mapped memory by address. A device address is the memory's own address in
/// this process.
#[derive(Debug, Default)]
pub struct HostMemory {
    mapped: Mutex<BTreeMap<u64, (Arc<DmaMemory>, u32)>>,
}

impl HostMemory {
    fn locked(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, (Arc<DmaMemory>, u32)>> {
        self.mapped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes memory reachable; mapping it twice needs two unmaps.
    pub fn map(&self, memory: &Arc<DmaMemory>) -> u64 {
        let address = memory.address();
        self.locked().entry(address).or_insert_with(|| (memory.clone(), 0)).1 += 1;
        address
    }

    /// Takes memory away.
    pub fn unmap(&self, address: u64) {
        let mut mapped = self.locked();
        if let Some((_, count)) = mapped.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                mapped.remove(&address);
            }
        }
    }

    /// Bytes that are mapped.
    pub fn mapped(&self) -> usize {
        self.locked().values().map(|(memory, _)| memory.len()).sum()
    }

    /// Runs `access` on the memory that holds `len` bytes at `address`, with
    /// the offset inside it; `None` when no mapping holds them all.
    fn with<T>(&self, address: u64, len: usize, access: impl FnOnce(&DmaMemory, usize) -> T) -> Option<T> {
        let mapped = self.locked();
        let (start, (memory, _)) = mapped.range(..=address).next_back()?;
        let offset = (address - start) as usize;
        (offset.checked_add(len)? <= memory.len()).then(|| access(memory, offset))
    }

    /// Fills `bytes` from `address`; `false` (and zeros) outside what is mapped.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        let len = bytes.len();
        let found = self.with(address, len, |memory, offset| memory.read(offset, bytes)).is_some();
        if !found {
            bytes.fill(0);
        }
        found
    }

    /// Stores `bytes` at `address`; `false` (and nothing stored) outside what
    /// is mapped.
    pub fn write(&self, address: u64, bytes: &[u8]) -> bool {
        self.with(address, bytes.len(), |memory, offset| memory.write(offset, bytes)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mapped_bytes_are_reached() {
        let host = HostMemory::default();
        let memory = DmaMemory::from_slice(&[1, 2, 3, 4]);
        let address = host.map(&memory);
        let mut bytes = [0; 2];
        assert!(host.read(address + 2, &mut bytes));
        assert_eq!(bytes, [3, 4]);
        assert!(!host.read(address + 3, &mut bytes));
        assert_eq!(bytes, [0, 0]);
        assert!(!host.write(address.wrapping_sub(1), &[0]));
        host.map(&memory);
        assert_eq!(host.mapped(), 4);
        host.unmap(address);
        assert!(host.write(address, &[9]));
        host.unmap(address);
        assert_eq!(host.mapped(), 0);
        assert!(!host.write(address, &[8]));
        assert_eq!(memory.to_vec(0, 1), [9]);
    }
}
