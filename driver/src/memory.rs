//! Memory that the device reads and writes while the host holds it.

use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::fs::File;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{fence, AtomicU8, Ordering};
use std::sync::Arc;

use crate::arena::Range;
use crate::context::Shared;
use crate::device::{Device, DeviceError};
use crate::huge;
use crate::reset::State;

pub(crate) const PAGE: usize = 4096;

/// Page-aligned memory shared with a device.
///
/// The device may change it at any moment, so it is never lent out as a plain
/// slice: bytes are copied in and out. (Bulk copies are plain copies; a program
/// that reads a buffer before its completion sees unspecified bytes, as with
/// any RDMA buffer.)
pub struct DmaMemory {
    start: NonNull<u8>,
    len: usize,
    source: Source,
}

/// Whose bytes they are.
enum Source {
    /// Of the file that other processes can be shown.
    Shared(Range),
    /// Of huge pages, for a device behind no IOMMU.
    Huge(huge::Range),
    /// Of the heap, where there is no such file.
    Heap,
    /// Somebody else's.
    Borrowed,
}

impl std::fmt::Debug for DmaMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DmaMemory")
            .field("start", &self.start)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}

// SAFETY: the memory is owned, or lent for as long as this lives, never aliased by Rust
// references, and accessed only through raw copies.
unsafe impl Send for DmaMemory {}
// SAFETY: as above; concurrent copies of the same bytes are a protocol error of
// the caller, as they are on every RDMA NIC, and yield unspecified bytes.
unsafe impl Sync for DmaMemory {}

impl DmaMemory {
    /// Allocates `len` zeroed bytes (at least one), page aligned.
    ///
    /// # Panics
    /// When they are more than an address space holds, as vectors do.
    pub fn new(len: usize) -> Arc<Self> {
        let layout = Self::layout(len);
        // Where there are none left, mapping it says so.
        if let Some(Ok(Some(range))) = NonZeroUsize::new(layout.size()).map(huge::Range::new) {
            return Arc::new(Self { start: range.start(), len, source: Source::Huge(range) });
        }
        if let Some(range) = NonZeroUsize::new(layout.size()).and_then(|size| Range::new(size).ok()) {
            return Arc::new(Self { start: range.start(), len, source: Source::Shared(range) });
        }
        // SAFETY: the layout's size is not zero.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        Arc::new(Self { start, len, source: Source::Heap })
    }

    /// The file that holds these bytes, and where in it they begin: what another process
    /// is given that shall reach them. The file also holds other memory of this process.
    /// `None` of memory that was [`borrowed`](Self::borrowed), and where the system has no
    /// anonymous files.
    pub fn shared_file(&self) -> Option<(&File, u64)> {
        match &self.source {
            Source::Shared(range) => Some(range.place()),
            Source::Huge(_) | Source::Heap | Source::Borrowed => None,
        }
    }

    /// Where in physical memory these bytes begin: they are adjacent there. `None` of memory
    /// that was allocated while no device behind no IOMMU was open, or when no huge pages were
    /// left, and of memory that was [`borrowed`](Self::borrowed).
    pub fn physical_address(&self) -> Option<u64> {
        match &self.source {
            Source::Huge(range) => Some(range.physical()),
            _ => None,
        }
    }

    /// Memory that is somebody else's: of a program in another language, of a file.
    ///
    /// # Safety
    /// The `len` bytes at `start` may be read and written as long as this lives, and
    /// nobody holds Rust references to them. A region of it lives on until the requests
    /// that name it have ended ([`MemoryRegion`]); so do the claims made here.
    pub unsafe fn borrowed(start: NonNull<u8>, len: usize) -> Arc<Self> {
        Arc::new(Self { start, len, source: Source::Borrowed })
    }

    /// Allocates and fills.
    pub fn from_slice(bytes: &[u8]) -> Arc<Self> {
        let memory = Self::new(bytes.len());
        memory.write(0, bytes);
        memory
    }

    fn layout(len: usize) -> Layout {
        let size = len.max(1).checked_next_multiple_of(PAGE);
        let layout = size.and_then(|size| Layout::from_size_align(size, PAGE).ok());
        layout.unwrap_or_else(|| panic!("{len} bytes are more than an address space holds"))
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it holds no byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Address of the first byte in this process; devices in the same process
    /// use it as DMA address.
    pub fn address(&self) -> u64 {
        self.start.as_ptr() as u64
    }

    #[inline]
    fn check(&self, offset: usize, len: usize) {
        let end = offset.checked_add(len);
        assert!(
            end.is_some_and(|end| end <= self.len),
            "bytes {offset}..+{len} are outside the {} bytes of this memory",
            self.len
        );
    }

    /// Copies bytes in.
    ///
    /// # Panics
    /// When the range is outside the memory, as slices do.
    #[inline]
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        self.check(offset, bytes.len());
        // SAFETY: the range was checked, and `bytes` cannot overlap memory that
        // is never lent out as a slice.
        unsafe { self.start.as_ptr().add(offset).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
    }

    /// Copies bytes out.
    ///
    /// # Panics
    /// When the range is outside the memory, as slices do.
    #[inline]
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.check(offset, bytes.len());
        // SAFETY: as in `write`.
        unsafe { self.start.as_ptr().add(offset).copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) }
    }

    /// Bytes that nobody else reads or writes for now: of a ring's place, until the device
    /// is told of it.
    ///
    /// # Safety
    /// As long as the reference lives, no other part of the program accesses them, nor
    /// does the device.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "as with a cell, the caller sees to it")]
    pub(crate) unsafe fn own<const N: usize>(&self, offset: usize) -> &mut [u8; N] {
        self.check(offset, N);
        // SAFETY: in range, aligned (bytes), and by the contract above nobody else's.
        unsafe { &mut *self.start.as_ptr().add(offset).cast() }
    }

    /// Sets bytes to zero.
    pub(crate) fn clear(&self, offset: usize, len: usize) {
        self.check(offset, len);
        // SAFETY: as in `write`.
        unsafe { self.start.as_ptr().add(offset).write_bytes(0, len) }
    }

    /// The first byte, for those who make or use a buffer in place.
    pub fn as_ptr(&self) -> NonNull<u8> {
        self.start
    }

    /// Bytes in place, to use what was received without a copy.
    ///
    /// # Safety
    /// As long as the slice lives, nobody writes them: no request that may write them is
    /// outstanding, no peer has a key to them, and nothing else of the program does.
    ///
    /// # Panics
    /// When the range is outside the memory, as slices do.
    pub unsafe fn slice(&self, offset: usize, len: usize) -> &[u8] {
        self.check(offset, len);
        // SAFETY: in range, initialised since it was allocated, and by the contract above constant.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(offset), len) }
    }

    /// Bytes in place, to make what is sent without a copy.
    ///
    /// # Safety
    /// As long as the slice lives, nobody else reads or writes them: no request that names
    /// them is outstanding, no peer has a key to them, and nothing else of the program does.
    ///
    /// # Panics
    /// When the range is outside the memory, as slices do.
    #[allow(clippy::mut_from_ref, reason = "as with a cell, the caller sees to it")]
    pub unsafe fn slice_mut(&self, offset: usize, len: usize) -> &mut [u8] {
        self.check(offset, len);
        // SAFETY: as in `slice`, and by the contract above nobody else's.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(offset), len) }
    }

    /// Copies an entry out.
    #[inline]
    pub(crate) fn get<const N: usize>(&self, offset: usize, bytes: &mut [u8; N]) {
        self.check(offset, N);
        // SAFETY: as in `write`.
        unsafe { self.start.as_ptr().add(offset).copy_to_nonoverlapping(bytes.as_mut_ptr(), N) }
    }

    /// Copies a range out into a new vector.
    ///
    /// # Panics
    /// When the range is outside the memory, as slices do.
    pub fn to_vec(&self, offset: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.read(offset, &mut bytes);
        bytes
    }

    /// Reads one byte that the device publishes last; everything the device
    /// wrote before it is visible afterwards.
    #[inline]
    pub(crate) fn load_published(&self, offset: usize) -> u8 {
        self.check(offset, 1);
        // SAFETY: in range, aligned (a byte), valid for the memory's life.
        let byte = unsafe { AtomicU8::from_ptr(self.start.as_ptr().add(offset)) }.load(Ordering::Acquire);
        fence(Ordering::Acquire);
        byte
    }
}

impl Drop for DmaMemory {
    fn drop(&mut self) {
        if let Source::Heap = self.source {
            // SAFETY: allocated in `new` with the same layout.
            unsafe { dealloc(self.start.as_ptr(), Self::layout(self.len)) }
        }
    }
}

/// What a memory key permits. Reading by the local NIC is always permitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// The local NIC may write: needed for receive buffers.
    pub local_write: bool,
    /// Peers may write.
    pub remote_write: bool,
}

impl Access {
    /// For buffers that are only sent from.
    pub const READ: Self = Self { local_write: false, remote_write: false };
    /// For receive buffers.
    pub const LOCAL_WRITE: Self = Self { local_write: true, remote_write: false };
    /// For memory that peers write, and nothing else.
    pub const REMOTE_WRITE: Self = Self { local_write: false, remote_write: true };
}

/// Where in a peer's memory a write goes. A plain value, for the program to pass
/// on to its peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RemoteMemory {
    /// Address of the first byte, as the peer's NIC knows it.
    pub address: u64,
    /// [`MemoryRegion::rkey`] of the peer's region.
    pub rkey: u32,
}

/// Memory registered with a NIC: reachable from the endpoints of its protection
/// domain, and named by a key with bounds and rights.
///
/// Dropping it revokes the key. Requests that name it and that the NIC has not looked at
/// end in `local_protection`; those that it has (it reads receives ahead) go on, and
/// may read and write the memory until they end. So it stays mapped, and alive, until the
/// last request posted with it has ended or its endpoint is destroyed: the ring keeps it.
/// Only that is safe whatever a program does: to wait for requests here might
/// be to wait for ever, and a key that is gone stops nothing that was checked before.
///
/// Writes of peers are no requests here. They end: when the drop returns, none that was
/// checked before is still on its way, and later ones are refused with
/// [`Status::RemoteAccess`](crate::Status). A NIC that does not let go, because it fails
/// or is in the middle of a reset, may write on: then the memory stays mapped, for good.
#[derive(Debug)]
pub struct MemoryRegion {
    pub(crate) shared: Arc<Shared>,
    pub(crate) life: u32,
    pub(crate) mapping: Arc<Mapping>,
    pub(crate) key: u32,
    pub(crate) access: Access,
}

/// Memory that the NIC reaches until this is dropped.
pub(crate) struct Mapping {
    device: Arc<dyn Device>,
    memory: Arc<DmaMemory>,
    address: u64,
}

impl Mapping {
    pub(crate) fn new(device: &Arc<dyn Device>, memory: &Arc<DmaMemory>) -> Result<Self, DeviceError> {
        let address = device.map(memory)?;
        Ok(Self { device: device.clone(), memory: memory.clone(), address })
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }
}

impl std::fmt::Debug for Mapping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mapping").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.device.unmap(self.address);
    }
}

impl MemoryRegion {
    /// The memory behind it.
    pub fn memory(&self) -> &Arc<DmaMemory> {
        &self.mapping.memory
    }
    /// Bytes.
    pub fn len(&self) -> usize {
        self.memory().len()
    }
    /// Whether it holds no byte.
    pub fn is_empty(&self) -> bool {
        self.memory().is_empty()
    }
    /// What can be done with it.
    pub fn state(&self) -> State {
        self.shared.lives.state(self.life)
    }
    /// The local key.
    pub fn lkey(&self) -> u32 {
        self.key
    }
    /// The key by which peers write here; needs [`Access::remote_write`].
    pub fn rkey(&self) -> u32 {
        self.key
    }
    /// What a peer needs to know to write here, from byte `offset` on.
    ///
    /// # Panics
    /// When `offset` lies behind the end, as slices do.
    pub fn remote(&self, offset: usize) -> RemoteMemory {
        assert!(offset <= self.len(), "byte {offset} is outside the {} bytes of this region", self.len());
        RemoteMemory { address: self.address() + offset as u64, rkey: self.key }
    }
    /// The address of the first byte as the NIC knows it.
    pub fn address(&self) -> u64 {
        self.mapping.address
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        if self.shared.release_key(self.life, self.key, self.access.remote_write) {
            self.shared.keep(&self.mapping);
        } else {
            // It may still be used: one owner too many, that never goes.
            self.shared.give_up(&self.mapping);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_in_and_out() {
        let memory = DmaMemory::from_slice(&[1, 2, 3]);
        memory.write(1, &[9]);
        assert_eq!(memory.to_vec(0, 3), [1, 9, 3]);
        assert_eq!(memory.address() % 4096, 0);
        assert_eq!(memory.load_published(1), 9);
    }

    #[test]
    fn borrowed_memory_is_left_alone() {
        let mut bytes = vec![1u8, 2, 3];
        // SAFETY: `bytes` outlives it and is not looked at meanwhile.
        let memory = unsafe { DmaMemory::borrowed(NonNull::new(bytes.as_mut_ptr()).unwrap(), 3) };
        memory.write(1, &[9]);
        assert_eq!(memory.to_vec(0, 3), [1, 9, 3]);
        drop(memory);
        assert_eq!(bytes, [1, 9, 3]);
    }

    #[test]
    fn empty_memory_is_allowed() {
        let memory = DmaMemory::new(0);
        assert!(memory.is_empty());
        memory.write(0, &[]);
    }

    #[test]
    #[should_panic(expected = "more than an address space")]
    fn what_rounds_to_nothing_is_refused() {
        DmaMemory::new(usize::MAX);
    }

    #[test]
    #[should_panic(expected = "outside the 3 bytes")]
    fn writing_past_the_end_is_refused() {
        DmaMemory::from_slice(&[1, 2, 3]).write(2, &[0, 0]);
    }
}
