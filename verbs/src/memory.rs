//! Protection domains, memory regions, and the buffers that requests name.

use std::ffi::{c_int, c_uint, c_void};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tessera_driver::{Access, DmaMemory, MemoryRegion, ProtectionDomain};

use crate::ffi::{ibv_context, ibv_mr, ibv_pd, ibv_sge};
use crate::nic::{Errno, Nic};
use crate::rc::Carrier;

const ACCESS_LOCAL_WRITE: c_uint = 1;
const ACCESS_REMOTE_WRITE: c_uint = 2;
/// Rights of others, which this library keeps.
pub const ACCESS_REMOTE_READ: c_uint = 1 << 2;
pub const ACCESS_REMOTE_ATOMIC: c_uint = 1 << 3;
const ACCESS_ZERO_BASED: c_uint = 1 << 5;
const ACCESS_ON_DEMAND: c_uint = 1 << 6;

/// A protection domain, and how many objects are in it.
pub struct Domain {
    pub pd: ProtectionDomain,
    pub objects: AtomicUsize,
    /// What its RC pairs share, once there is one.
    pub carrier: Mutex<Option<Arc<Carrier>>>,
}

/// What a program has an `ibv_pd` of.
#[repr(C)]
pub struct DomainObject {
    pub ibv: ibv_pd,
    pub domain: Arc<Domain>,
}

/// One more object of a domain, until it is dropped.
pub struct Member(pub Arc<Domain>);

impl Member {
    pub fn of(domain: &Arc<Domain>) -> Self {
        domain.objects.fetch_add(1, Ordering::Relaxed);
        Self(domain.clone())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.0.objects.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Registered memory.
pub struct Registered {
    pub region: MemoryRegion,
    /// As the program asked for it.
    pub access: c_uint,
    domain: Arc<Domain>,
    /// Until it is deregistered, which requests may outlast.
    pub member: Mutex<Option<Member>>,
}

impl Registered {
    pub fn is_of(&self, domain: &Arc<Domain>) -> bool {
        Arc::ptr_eq(&self.domain, domain)
    }
}

/// What a program has an `ibv_mr` of.
#[repr(C)]
pub struct RegionObject {
    pub ibv: ibv_mr,
}

/// Registers a program's memory.
///
/// # Safety
/// The program keeps the bytes until it deregisters them and their requests have ended, as
/// with any verbs device.
pub unsafe fn register(
    nic: &Nic,
    context: *mut ibv_context,
    (pd, domain): (*mut ibv_pd, &Arc<Domain>),
    (addr, length): (*mut c_void, usize),
    access: c_uint,
) -> Result<*mut ibv_mr, c_int> {
    if access & (ACCESS_ZERO_BASED | ACCESS_ON_DEMAND) != 0 {
        return Err(libc::EOPNOTSUPP);
    }
    let remote_write = access & ACCESS_REMOTE_WRITE != 0;
    let local_write = access & ACCESS_LOCAL_WRITE != 0;
    if (remote_write || access & ACCESS_REMOTE_ATOMIC != 0) && !local_write {
        return Err(libc::EINVAL);
    }
    let start = NonNull::new(addr.cast::<u8>()).ok_or(libc::EINVAL)?;
    // SAFETY: as the caller says.
    let memory = unsafe { DmaMemory::borrowed(start, length) };
    let rights = Access { local_write, remote_write };
    let region = domain.pd.register(&memory, rights).map_err(|error| error.errno())?;
    let (lkey, rkey) = (region.lkey(), region.rkey());
    let (domain, member) = (domain.clone(), Mutex::new(Some(Member::of(domain))));
    nic.add_region(Arc::new(Registered { region, access, domain, member }));
    let ibv = ibv_mr { context, pd, addr, length, handle: lkey & 0xFF, lkey, rkey };
    Ok(Box::into_raw(Box::new(RegionObject { ibv })).cast())
}

/// Bytes of a list of buffers.
pub fn total(list: &[ibv_sge]) -> usize {
    list.iter().map(|sge| sge.length as usize).sum()
}

/// The region of one buffer, and where in it.
pub fn find(
    nic: &Nic,
    domain: &Arc<Domain>,
    sge: &ibv_sge,
) -> Result<(Arc<Registered>, Range<usize>), c_int> {
    let region = nic.region(sge.lkey).ok_or(libc::EINVAL)?;
    let start = sge.addr.checked_sub(region.region.memory().address()).ok_or(libc::EINVAL)? as usize;
    let end = start.checked_add(sge.length as usize).ok_or(libc::EINVAL)?;
    if !Arc::ptr_eq(&region.domain, domain) || end > region.region.len() {
        return Err(libc::EINVAL);
    }
    Ok((region, start..end))
}

/// Checks the keys of a list.
pub fn check(nic: &Nic, domain: &Arc<Domain>, list: &[ibv_sge]) -> Result<(), c_int> {
    let mut used = list.iter().filter(|sge| sge.length > 0);
    used.try_for_each(|sge| find(nic, domain, sge).map(drop))
}

/// The same of one that this library writes to: of a single buffer the NIC sees to it.
pub fn check_writable(nic: &Nic, domain: &Arc<Domain>, list: &[ibv_sge]) -> Result<(), c_int> {
    let mut used = list.iter().filter(|sge| sge.length > 0);
    used.try_for_each(|sge| match find(nic, domain, sge)?.0.access & ACCESS_LOCAL_WRITE {
        0 => Err(libc::EINVAL),
        _ => Ok(()),
    })
}

/// Copies the bytes of a list behind each other.
///
/// # Safety
/// They may be read.
pub unsafe fn gather(list: &[ibv_sge], memory: &DmaMemory, mut at: usize) {
    for sge in list.iter().filter(|sge| sge.length > 0) {
        // SAFETY: as the caller says.
        let bytes = unsafe { std::slice::from_raw_parts(sge.addr as *const u8, sge.length as usize) };
        memory.write(at, bytes);
        at += bytes.len();
    }
}

/// Copies bytes into those of a list, as far as they reach.
///
/// # Safety
/// They may be written.
pub unsafe fn scatter(list: &[ibv_sge], memory: &DmaMemory, mut at: usize, mut len: usize) {
    for sge in list {
        let here = len.min(sge.length as usize);
        if here == 0 {
            continue;
        }
        // SAFETY: as the caller says.
        let bytes = unsafe { std::slice::from_raw_parts_mut(sge.addr as *mut u8, here) };
        memory.read(at, bytes);
        at += here;
        len -= here;
    }
}
