//! The anonymous file that the memory of this process's devices lies in: ranges of it can
//! be shown to another process, which is how a simulated device reaches them.
//!
//! ```text
//!   file   |  ring  | buffer ........ |  free  | buffer |
//!             │          │                         └ each is mapped where it happens to be
//!             └ given away as (file, offset, length)
//! ```
//!
//! One file, so that a thousand buffers are no thousand descriptors. A free range holds no
//! memory and reads as zeros. What a child of `fork` allocates lies in a file of its own.

use std::fs::File;
use std::io::{Error, ErrorKind};
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::fcntl::{fallocate, FallocateFlags};
use nix::sys::memfd::{memfd_create, MFdFlags};
use nix::sys::mman::{mmap, munmap, MapFlags, ProtFlags};
use nix::sys::resource::{getrlimit, Resource};

use crate::ranges::Ranges;

/// Of this process, made with its first memory.
static CURRENT: Mutex<Option<Arc<Arena>>> = Mutex::new(None);

pub(crate) struct Arena {
    file: File,
    process: u32,
    bytes: Mutex<Bytes>,
}

/// Which bytes of the file nobody has.
#[derive(Default)]
struct Bytes {
    free: Ranges,
    /// Of the file.
    len: u64,
}

/// Bytes of the file, mapped.
pub(crate) struct Range {
    arena: Arc<Arena>,
    start: NonNull<u8>,
    offset: u64,
    len: NonZeroUsize,
}

impl Arena {
    fn new() -> Result<Self, Error> {
        let file = File::from(memfd_create(c"tessera-dma", MFdFlags::MFD_CLOEXEC)?);
        Ok(Self { file, process: std::process::id(), bytes: Mutex::default() })
    }

    fn current() -> Result<Arc<Self>, Error> {
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Some(arena) if arena.process == std::process::id() => Ok(arena.clone()),
            _ => Ok(current.insert(Arc::new(Self::new()?)).clone()),
        }
    }

    fn bytes(&self) -> MutexGuard<'_, Bytes> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, len: u64) -> Result<u64, Error> {
        // The file grows under the lock: never back behind what another took.
        let mut bytes = self.bytes();
        if let Some(offset) = bytes.free.take(len) {
            return Ok(offset);
        }
        let (offset, end) = (bytes.len, bytes.len.checked_add(len).ok_or(ErrorKind::OutOfMemory)?);
        // A limit on the length of files is for files that stay; passing it would end the process.
        if getrlimit(Resource::RLIMIT_FSIZE).is_ok_and(|(soft, _)| end > soft) {
            return Err(ErrorKind::FileTooLarge.into());
        }
        self.file.set_len(end)?;
        bytes.len = end;
        Ok(offset)
    }
}

impl Range {
    /// Zeroed bytes, whole pages.
    ///
    /// # Errors
    /// If the system has no such files, or no room.
    pub(crate) fn new(len: NonZeroUsize) -> Result<Self, Error> {
        let arena = Arena::current()?;
        let offset = arena.take(len.get() as u64)?;
        let rights = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping, where nothing is.
        let start = unsafe { mmap(None, len, rights, MapFlags::MAP_SHARED, &arena.file, offset as i64) };
        match start {
            Ok(start) => Ok(Self { arena, start: start.cast(), offset, len }),
            Err(error) => {
                arena.bytes().free.give_back(offset, len.get() as u64);
                Err(error.into())
            }
        }
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Where others find it.
    pub(crate) fn place(&self) -> (&File, u64) {
        (&self.arena.file, self.offset)
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`; its owner goes, and so do all who knew the address.
        let _ = unsafe { munmap(self.start.cast(), self.len.get()) };
        // A child's copy of this ends nothing of its parent's.
        if self.arena.process != std::process::id() {
            return;
        }
        let len = self.len.get();
        let hole = FallocateFlags::FALLOC_FL_PUNCH_HOLE | FallocateFlags::FALLOC_FL_KEEP_SIZE;
        // Where it cannot be emptied, it is never given out again.
        if fallocate(&self.arena.file, hole, self.offset as i64, len as i64).is_ok() {
            self.arena.bytes().free.give_back(self.offset, len as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    /// What is written here is read through the file, and what was given back reads as zeros.
    #[test]
    fn ranges_are_seen_through_the_file() {
        let len = NonZeroUsize::new(8192).unwrap();
        let range = Range::new(len).unwrap();
        // SAFETY: mapped, and nobody else's.
        unsafe { range.start().add(5000).write(7) };
        let (file, offset) = range.place();
        let (file, mut byte) = (file.try_clone().unwrap(), [0]);
        file.read_exact_at(&mut byte, offset + 5000).unwrap();
        assert_eq!(byte, [7]);
        file.write_all_at(&[9], offset + 4999).unwrap();
        // SAFETY: as above.
        assert_eq!(unsafe { range.start().add(4999).read() }, 9);
        drop(range);
        let again = Range::new(len).unwrap();
        // SAFETY: as above.
        assert_eq!(unsafe { again.start().add(5000).read() }, 0);
    }
}
