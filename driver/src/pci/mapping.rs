//! A BAR in this process.

use std::num::NonZeroUsize;
use std::os::fd::AsFd;
use std::ptr::NonNull;

use nix::errno::Errno;
use nix::sys::mman::{mmap, munmap, MapFlags, ProtFlags};

use crate::device::DeviceError;

/// Registers, mapped. On x86-64 the kernel maps them so that stores stay behind those to
/// memory.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: NonZeroUsize,
}

// SAFETY: it is accessed by volatile accesses of aligned words, which any thread may do.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// That an offset is that of a word of a BAR, of which there are so many bytes.
pub(super) fn inside(bar_len: u64, offset: u32) -> Result<(), DeviceError> {
    if offset.is_multiple_of(4) && u64::from(offset) + 4 <= bar_len {
        return Ok(());
    }
    let reason = format!("it is no word of the {bar_len} bytes of the BAR");
    Err(DeviceError::Register { offset, reason })
}

impl Mapping {
    pub(crate) fn new(file: impl AsFd, offset: u64, len: NonZeroUsize) -> Result<Self, Errno> {
        let rights = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping, where nothing is.
        let start = unsafe { mmap(None, len, rights, MapFlags::MAP_SHARED, file, offset as i64) }?;
        Ok(Self { start: start.cast(), len })
    }

    pub(crate) fn read(&self, offset: u32) -> Result<u32, DeviceError> {
        inside(self.len.get() as u64, offset)?;
        // SAFETY: inside the mapping, and aligned.
        Ok(u32::from_le(unsafe { self.start.as_ptr().add(offset as usize).cast::<u32>().read_volatile() }))
    }

    pub(crate) fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        inside(self.len.get() as u64, offset)?;
        // SAFETY: inside the mapping, and aligned.
        unsafe { self.start.as_ptr().add(offset as usize).cast::<u32>().write_volatile(value.to_le()) }
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped once, and known to nobody else.
        let _ = unsafe { munmap(self.start.cast(), self.len.get()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_where_they_should_be() {
        let memory = crate::DmaMemory::from_slice(&[0; 4096]);
        let (file, offset) = memory.shared_file().unwrap();
        let mapping = Mapping::new(file, offset, NonZeroUsize::new(4096).unwrap()).unwrap();
        mapping.write(8, 0x0403_0201).unwrap();
        assert_eq!(memory.to_vec(7, 6), [0, 1, 2, 3, 4, 0]);
        memory.write(4092, &[1, 0, 0, 0x80]);
        assert_eq!(mapping.read(4092), Ok(0x8000_0001));
        for wrong in [1, 2, 4094, 4096, u32::MAX, u32::MAX - 3] {
            let error = mapping.read(wrong).unwrap_err();
            assert!(error.to_string().contains("no word of the 4096 bytes"), "{error}");
            assert_eq!(mapping.write(wrong, 0), Err(error));
        }
    }
}
