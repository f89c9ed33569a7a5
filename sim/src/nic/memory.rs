//! Host memory as the NIC's DMA sees it: what the driver mapped, nothing else.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tessera_driver::DmaMemory;

/// Memory of a host, which may be in another process.
pub trait HostRegion: Send + Sync {
    /// Bytes.
    fn size(&self) -> usize;

    /// Copies bytes out that lie within it; `false` if they cannot be had any more.
    fn fetch(&self, offset: usize, bytes: &mut [u8]) -> bool;

    /// Copies bytes in that lie within it; `false` if they cannot be any more.
    fn store(&self, offset: usize, bytes: &[u8]) -> bool;
}

impl HostRegion for DmaMemory {
    fn size(&self) -> usize {
        self.len()
    }

    fn fetch(&self, offset: usize, bytes: &mut [u8]) -> bool {
        self.read(offset, bytes);
        true
    }

    fn store(&self, offset: usize, bytes: &[u8]) -> bool {
        self.write(offset, bytes);
        true
    }
}

/// What is mapped at an address, and how often.
type Mapped = BTreeMap<u64, (Arc<dyn HostRegion>, u32)>;

/// Mapped memory by address. A device address is the memory's own address in
/// the process that it is of.
#[derive(Default)]
pub struct HostMemory {
    mapped: Mutex<Mapped>,
}

impl HostMemory {
    fn locked(&self) -> std::sync::MutexGuard<'_, Mapped> {
        self.mapped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes memory reachable; mapping it twice needs two unmaps. Mappings may overlap; of
    /// those that begin at one address, the longest stands for all until the last is gone.
    pub fn map(&self, memory: &Arc<DmaMemory>) -> u64 {
        self.map_region(memory.address(), memory.clone());
        memory.address()
    }

    /// The same for memory of any kind.
    pub fn map_region(&self, address: u64, region: Arc<dyn HostRegion>) {
        let mut mapped = self.locked();
        let (before, count) = mapped.entry(address).or_insert_with(|| (region.clone(), 0));
        *count += 1;
        if before.size() < region.size() {
            *before = region;
        }
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

    /// Takes all memory away: the host is gone.
    pub fn unmap_all(&self) {
        self.locked().clear();
    }

    /// Bytes that are mapped.
    pub fn mapped(&self) -> usize {
        self.locked().values().map(|(memory, _)| memory.size()).sum()
    }

    /// Runs `access` on the memory that holds `len` bytes at `address`, with
    /// the offset inside it; `false` when no mapping holds them all.
    fn with(&self, address: u64, len: usize, access: impl FnOnce(&dyn HostRegion, usize) -> bool) -> bool {
        let mapped = self.locked();
        // Nearly always the nearest; not where a shorter one lies inside a longer one.
        let found = mapped.range(..=address).rev().find_map(|(start, (memory, _))| {
            let offset = usize::try_from(address - start).ok()?;
            let end = offset.checked_add(len)?;
            (end <= memory.size()).then_some((memory, offset))
        });
        found.is_some_and(|(memory, offset)| access(&**memory, offset))
    }

    /// Fills `bytes` from `address`; `false` (and zeros) outside what is mapped.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> bool {
        let len = bytes.len();
        let found = self.with(address, len, |memory, offset| memory.fetch(offset, bytes));
        if !found {
            bytes.fill(0);
        }
        found
    }

    /// Stores `bytes` at `address`; `false` (and nothing stored) outside what
    /// is mapped.
    pub fn write(&self, address: u64, bytes: &[u8]) -> bool {
        self.with(address, bytes.len(), |memory, offset| memory.store(offset, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 100 bytes, all, the first ten and ten in the middle.
    #[test]
    fn mappings_overlap() {
        let host = HostMemory::default();
        let memory = DmaMemory::new(100);
        let part = |offset: usize, len: usize| {
            let start = std::ptr::NonNull::new((memory.address() as usize + offset) as *mut u8).unwrap();
            // SAFETY: `memory` outlives it.
            unsafe { DmaMemory::borrowed(start, len) }
        };
        let first = host.map(&part(0, 10));
        assert!(!host.write(first + 50, &[1]));
        host.map(&memory);
        let middle = host.map(&part(40, 10));
        assert!(host.write(middle + 20, &[1; 20]) && host.write(first, &[1; 100]));
        assert!(!host.write(first + 90, &[1; 11]));
        host.unmap(middle);
        host.unmap(first);
        assert!(host.write(first + 99, &[1]));
        host.unmap(first);
        assert!(!host.write(first, &[1]));
    }

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
