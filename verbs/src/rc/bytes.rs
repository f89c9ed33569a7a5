//! The bytes of an RC request: where the program has them, or in memory of this library's.

use std::ffi::c_int;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use tessera_driver::{Access, DmaMemory, MemoryRegion, ProtectionDomain};

use crate::ffi::ibv_sge;
use crate::memory::{check, check_writable, find, gather, scatter, total, Domain, Registered};
use crate::nic::{lock, Errno, Nic};

/// Requests of several buffers, or inline, that one region has room for.
const SLOTS: usize = 256;
/// Bytes of each.
const SLOT_LEN: usize = 4096;

/// Room for the bytes of small requests, registered once: a region for each would cost more
/// than the request.
pub struct Pool {
    region: MemoryRegion,
    free: Mutex<Vec<u32>>,
}

impl Pool {
    pub fn new(pd: &ProtectionDomain) -> Result<Arc<Self>, c_int> {
        let memory = DmaMemory::new(SLOTS * SLOT_LEN);
        let region = pd.register(&memory, Access::LOCAL_WRITE).map_err(|error| error.errno())?;
        Ok(Arc::new(Self { region, free: Mutex::new((0..SLOTS as u32).rev().collect()) }))
    }
}

/// A place in a pool, until it is dropped.
pub struct Slot {
    pool: Arc<Pool>,
    number: u32,
    len: usize,
}

impl Drop for Slot {
    fn drop(&mut self) {
        lock(&self.pool.free).push(self.number);
    }
}

/// Where the bytes of a request are.
pub enum Bytes {
    /// Where the program has them.
    There(Arc<Registered>, Range<usize>),
    /// In a pool, for the buffers given.
    Slot(Slot, Vec<ibv_sge>),
    /// There are none.
    None(Arc<Pool>),
    /// In a region of their own, for the buffers given.
    Own(MemoryRegion, Vec<ibv_sge>),
}

impl Bytes {
    pub fn region(&self) -> (&MemoryRegion, Range<usize>) {
        match self {
            Self::There(registered, range) => (&registered.region, range.clone()),
            Self::Slot(slot, _) => {
                let at = slot.number as usize * SLOT_LEN;
                (&slot.pool.region, at..at + slot.len)
            }
            Self::None(pool) => (&pool.region, 0..0),
            Self::Own(region, _) => (region, 0..region.len()),
        }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.region().1.len()
    }

    /// Of a program's buffers; of several, or of none, memory of this library's.
    pub fn of(nic: &Nic, domain: &Arc<Domain>, pool: &Arc<Pool>, list: &[ibv_sge]) -> Result<Self, c_int> {
        if let [one] = list {
            let (region, range) = find(nic, domain, one)?;
            return Ok(Self::There(region, range));
        }
        check(nic, domain, list)?;
        Self::here(domain, pool, list)
    }

    /// The same of buffers that are written to.
    pub fn into(nic: &Nic, domain: &Arc<Domain>, pool: &Arc<Pool>, list: &[ibv_sge]) -> Result<Self, c_int> {
        if list.len() > 1 {
            check_writable(nic, domain, list)?;
        }
        Self::of(nic, domain, pool, list)
    }

    /// In memory of this library's, whatever the program says of its own.
    pub fn here(domain: &Domain, pool: &Arc<Pool>, list: &[ibv_sge]) -> Result<Self, c_int> {
        let len = total(list);
        // Neither a place nor a key: programs post receives without buffers by the thousand.
        if len == 0 {
            return Ok(Self::None(pool.clone()));
        }
        if len <= SLOT_LEN {
            let taken = lock(&pool.free).pop();
            if let Some(number) = taken {
                return Ok(Self::Slot(Slot { pool: pool.clone(), number, len }, list.to_vec()));
            }
        }
        let memory = DmaMemory::new(len);
        let region = domain.pd.register(&memory, Access::LOCAL_WRITE).map_err(|error| error.errno())?;
        Ok(Self::Own(region, list.to_vec()))
    }

    /// Copies the program's bytes to where they are sent from.
    ///
    /// # Safety
    /// The buffers may be read.
    pub unsafe fn gather(&self) {
        let (region, range) = self.region();
        if let Self::Slot(_, list) | Self::Own(_, list) = self {
            // SAFETY: as the caller says.
            unsafe { gather(list, region.memory(), range.start) };
        }
    }

    /// Copies what came to where the program wants it.
    ///
    /// # Safety
    /// The buffers may be written.
    pub unsafe fn scatter(&self, len: usize) {
        let (region, range) = self.region();
        if let Self::Slot(_, list) | Self::Own(_, list) = self {
            // SAFETY: as the caller says.
            unsafe { scatter(list, region.memory(), range.start, len.min(range.len())) };
        }
    }
}
