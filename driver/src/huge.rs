//! Huge pages whose physical addresses are known: memory for a device behind no IOMMU.
//!
//! ```text
//!   pages of a hugetlb file, in physical order:   | p | p | p |     | p | p |
//!   mapped so that what is adjacent there is here:  run of 3   guard   run of 2
//!   given out: ranges of a run, so adjacent in both
//! ```
//!
//! The kernel neither swaps nor moves them. It tells their addresses to root only. They stay
//! this process's until it ends.

use std::fs::File;
use std::io::{Error, ErrorKind};
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::memfd::{memfd_create, MFdFlags};
use nix::sys::mman::{mmap, mmap_anonymous, munmap, MapFlags, ProtFlags};

use crate::memory::PAGE;
use crate::ranges::Ranges;

/// Bytes of a page.
pub(crate) const HUGE: usize = 2 << 20;
/// Pages that are taken at once, at least: most programs need no more.
const AT_ONCE: usize = 4;

/// Whether memory is to come from here.
static WANTED: AtomicBool = AtomicBool::new(false);
static POOL: Mutex<Option<Arc<Pool>>> = Mutex::new(None);

/// Pages that are adjacent, here and for a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// Its first page's place among the pages, in physical order.
    first: usize,
    physical: u64,
    pages: usize,
}

/// The runs of pages at such addresses, which are in order.
fn runs(physical: &[u64]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (first, &physical) in physical.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if run.physical + (run.pages * HUGE) as u64 == physical => run.pages += 1,
            _ => runs.push(Run { first, physical, pages: 1 }),
        }
    }
    runs
}

/// Memory of a run: where it is here, and for a device.
struct Mapped {
    address: u64,
    physical: u64,
    len: u64,
}

#[derive(Default)]
struct Bytes {
    mapped: Vec<Mapped>,
    /// Addresses in this process that nobody has.
    free: Ranges,
}

struct Pool {
    process: u32,
    bytes: Mutex<Bytes>,
}

/// Bytes that are adjacent for a device.
pub(crate) struct Range {
    pool: Arc<Pool>,
    start: NonNull<u8>,
    len: NonZeroUsize,
    physical: u64,
}

/// Where in physical memory a page of this process lies.
fn physical(address: u64) -> Result<u64, Error> {
    const PRESENT: u64 = 1 << 63;
    const FRAME: u64 = (1 << 55) - 1;
    let mut entry = [0; 8];
    File::open("/proc/self/pagemap")?.read_exact_at(&mut entry, address / PAGE as u64 * 8)?;
    let entry = u64::from_ne_bytes(entry);
    let frame = entry & FRAME;
    // Who may not know it reads 0.
    if entry & PRESENT == 0 || frame == 0 {
        return Err(ErrorKind::PermissionDenied.into());
    }
    Ok(frame * PAGE as u64)
}

/// Has all memory that is allocated from now on come from huge pages; takes the first of them.
///
/// # Errors
/// `OutOfMemory` if there are none, `PermissionDenied` if this process may not know where
/// they are.
pub(crate) fn want() -> Result<(), Error> {
    let pool = Pool::current()?;
    let mut bytes = pool.bytes();
    if bytes.mapped.is_empty() {
        bytes.grow(1)?;
    }
    WANTED.store(true, Ordering::Release);
    Ok(())
}

impl Pool {
    fn current() -> Result<Arc<Self>, Error> {
        let mut current = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Some(pool) if pool.process == std::process::id() => Ok(pool.clone()),
            _ => {
                let pool = Self { process: std::process::id(), bytes: Mutex::default() };
                Ok(current.insert(Arc::new(pool)).clone())
            }
        }
    }

    fn bytes(&self) -> MutexGuard<'_, Bytes> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const RIGHTS: ProtFlags = ProtFlags::PROT_READ.union(ProtFlags::PROT_WRITE);

impl Bytes {
    /// Takes pages, at least `pages` of them.
    fn grow(&mut self, pages: usize) -> Result<(), Error> {
        match self.take_pages(pages.max(AT_ONCE)) {
            Err(error) if error.kind() == ErrorKind::OutOfMemory && pages < AT_ONCE => self.take_pages(pages),
            done => done,
        }
    }

    fn take_pages(&mut self, pages: usize) -> Result<(), Error> {
        let len = pages.checked_mul(HUGE).and_then(NonZeroUsize::new).ok_or(ErrorKind::OutOfMemory)?;
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_HUGETLB | MFdFlags::MFD_HUGE_2MB;
        let file = File::from(memfd_create(c"tessera-huge", flags)?);
        file.set_len(len.get() as u64)?;
        // Fails where there are not so many; a page that is not there would end the process.
        let populate = MapFlags::MAP_SHARED | MapFlags::MAP_POPULATE;
        // SAFETY: a new mapping, where nothing is.
        let all = unsafe { mmap(None, len, RIGHTS, populate, &file, 0) }?;
        let found: Result<Vec<_>, Error> = (0..pages)
            .map(|page| Ok((physical(all.as_ptr() as u64 + (page * HUGE) as u64)?, page)))
            .collect();
        let mapped = found.and_then(|mut found| {
            found.sort_unstable();
            map_runs(&file, &found)
        });
        // SAFETY: mapped above, and known to nobody; what the runs map is the same pages of the file.
        let _ = unsafe { munmap(all, len.get()) };
        for run in mapped? {
            self.free.give_back(run.address, run.len);
            self.mapped.push(run);
        }
        Ok(())
    }

    fn physical(&self, address: u64) -> Option<u64> {
        let run = self.mapped.iter().find(|run| (run.address..run.address + run.len).contains(&address))?;
        Some(run.physical + (address - run.address))
    }
}

/// Maps pages of a file, each with its physical address, which are in order.
fn map_runs(file: &File, pages: &[(u64, usize)]) -> Result<Vec<Mapped>, Error> {
    let physical: Vec<_> = pages.iter().map(|&(physical, _)| physical).collect();
    let mut mapped = Vec::new();
    for run in runs(&physical) {
        let len = run.pages * HUGE;
        // Room for it at a boundary, and for a guard behind it: no two runs touch.
        let room = NonZeroUsize::new(len + 2 * HUGE).ok_or(ErrorKind::OutOfMemory)?;
        let nothing = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE;
        // SAFETY: a new mapping, where nothing is.
        let room = unsafe { mmap_anonymous(None, room, ProtFlags::PROT_NONE, nothing) }?;
        let address = (room.as_ptr() as usize).next_multiple_of(HUGE);
        for (i, &(_, page)) in pages[run.first..run.first + run.pages].iter().enumerate() {
            let at = NonZeroUsize::new(address + i * HUGE);
            let (one, offset) = (NonZeroUsize::new(HUGE).ok_or(ErrorKind::OutOfMemory)?, page * HUGE);
            let flags = MapFlags::MAP_SHARED | MapFlags::MAP_FIXED | MapFlags::MAP_POPULATE;
            // SAFETY: in the room above, which is nobody else's.
            unsafe { mmap(at, one, RIGHTS, flags, file, offset as i64) }?;
        }
        mapped.push(Mapped { address: address as u64, physical: run.physical, len: len as u64 });
    }
    Ok(mapped)
}

impl Range {
    /// Zeroed bytes, whole pages, if memory is to come from here.
    ///
    /// # Errors
    /// `OutOfMemory` if there are not so many that are adjacent.
    pub(crate) fn new(len: NonZeroUsize) -> Result<Option<Self>, Error> {
        if !WANTED.load(Ordering::Acquire) {
            return Ok(None);
        }
        let pool = Pool::current()?;
        let mut bytes = pool.bytes();
        let taken = match bytes.free.take(len.get() as u64) {
            Some(address) => Some(address),
            None => {
                bytes.grow(len.get().div_ceil(HUGE))?;
                bytes.free.take(len.get() as u64)
            }
        };
        // Pages that were taken and are not adjacent serve for shorter ones.
        let address = taken.ok_or(ErrorKind::OutOfMemory)?;
        let physical = bytes.physical(address);
        drop(bytes);
        let start = NonNull::new(address as *mut u8).ok_or(ErrorKind::OutOfMemory)?;
        // SAFETY: mapped, and nobody else's now.
        unsafe { start.write_bytes(0, len.get()) };
        Ok(physical.map(|physical| Self { pool, start, len, physical }))
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(crate) fn physical(&self) -> u64 {
        self.physical
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        // A child's copy of this ends nothing of its parent's.
        if self.pool.process == std::process::id() {
            self.pool.bytes().free.give_back(self.start.as_ptr() as u64, self.len.get() as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_pages_are_one_run() {
        let huge = HUGE as u64;
        assert_eq!(
            runs(&[huge, 2 * huge, 3 * huge, 5 * huge, 9 * huge, 10 * huge]),
            [
                Run { first: 0, physical: huge, pages: 3 },
                Run { first: 3, physical: 5 * huge, pages: 1 },
                Run { first: 4, physical: 9 * huge, pages: 2 },
            ]
        );
        assert!(runs(&[]).is_empty());
    }

    /// What is adjacent here is the file's pages in the order that was asked for.
    #[test]
    fn runs_are_mapped_in_their_order() {
        let file = File::from(memfd_create(c"pages", MFdFlags::MFD_CLOEXEC).unwrap());
        file.set_len(4 * HUGE as u64).unwrap();
        for page in 0..4u8 {
            file.write_all_at(&[b'a' + page], u64::from(page) * HUGE as u64).unwrap();
        }
        let huge = HUGE as u64;
        let mapped = map_runs(&file, &[(huge, 2), (2 * huge, 0), (7 * huge, 3), (8 * huge, 1)]).unwrap();
        let places: Vec<_> = mapped.iter().map(|run| (run.physical, run.len)).collect();
        assert_eq!(places, [(huge, 2 * huge), (7 * huge, 2 * huge)]);
        // SAFETY: mapped above, and nobody else's.
        let byte = |run: usize, page: u64| unsafe { *((mapped[run].address + page * huge) as *const u8) };
        assert_eq!([byte(0, 0), byte(0, 1), byte(1, 0), byte(1, 1)], *b"cadb");
        let mut bytes = Bytes::default();
        let apart = mapped[0].address.abs_diff(mapped[1].address);
        assert!(apart > 2 * huge, "a guard lies between them");
        bytes.mapped = mapped;
        let at = bytes.mapped[1].address + huge + 5;
        assert_eq!(bytes.physical(at), Some(8 * huge + 5));
        assert_eq!(bytes.physical(0), None);
    }
}
