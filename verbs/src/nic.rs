//! The NIC of this process: opened when it is first asked for, until the process ends.

use std::collections::HashMap;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock, Weak};
use std::time::Duration;

use tessera_abi::regs;
use tessera_driver::remote::{self, Identity, Remote, ANY};
use tessera_driver::{
    open_socket, setting, socket, AddressError, Context, ContextOptions, CreateError, DeviceAttributes,
    DeviceError, PostError, RegisterError,
};

use crate::memory::Registered;
use crate::pair::Pair;
use crate::queue::Queue;
use crate::rc::{Carrier, RcPair};
use crate::receives::SharedQueue;

/// Names the device.
const DEVICE: &str = "TESSERA_DEVICE";

/// Registers to set, as NAME=VALUE,NAME=VALUE.
const SET: &str = "TESSERA_SET";

/// Variables that launchers tell a process its rank by.
const RANKS: [&str; 6] =
    ["TESSERA_NIC", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MPI_LOCALRANKID", "SLURM_PROCID"];

/// How often somebody looks what others ask for.
const SERVICE: Duration = Duration::from_micros(500);

pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says on the standard error output what a number cannot.
pub fn say(what: impl std::fmt::Display) {
    eprintln!("tessera: {what}");
}

/// Starts what makes threads: a thread begins with the mask of who starts it. One that let
/// signals through would be given those that the program blocks later, to wait for them.
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    // SAFETY: sets of signals, the first of them made here, and the thread's own mask.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let started = start();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        started
    }
}

/// How many of everything the NIC has.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub endpoints: usize,
    pub cqs: usize,
    pub keys: usize,
}

/// See the module's page.
pub struct Nic {
    pub context: Context,
    pub remote: Arc<Remote>,
    pub sizes: Sizes,
    /// By the lower bits of their keys.
    regions: RwLock<Vec<Option<Arc<Registered>>>>,
    /// By the index of their endpoints.
    pairs: RwLock<Vec<Option<Arc<Pair>>>>,
    rc_pairs: RwLock<HashMap<u32, Arc<RcPair>>>,
    /// Held while a queue pair comes or goes.
    changing: Mutex<()>,
    carriers: Mutex<Vec<Weak<Carrier>>>,
    /// Shared receive queues that RC pairs use.
    shared: Mutex<Vec<Weak<SharedQueue>>>,
    /// RC pairs that found a ring full.
    held_up: Mutex<Vec<u32>>,
    /// Queues that somebody waits for an event of.
    awaited: Mutex<Vec<Arc<Queue>>>,
    awaits: Condvar,
    gone: AtomicBool,
}

/// The process that opened it, which a fork's child is not.
static OPEN: Mutex<Option<(u32, Arc<Nic>)>> = Mutex::new(None);

/// The address given, with this process's rank where it leaves the NIC open.
fn address() -> Option<Result<String, AddressError>> {
    let address = std::env::var(DEVICE).ok().filter(|address| !address.is_empty())?;
    let any = match socket(&address) {
        Ok((_, nic)) => nic == ANY,
        Err(error) => return Some(Err(error)),
    };
    let rank = RANKS.iter().find_map(|name| std::env::var(name).ok()?.parse::<u32>().ok());
    Some(Ok(match rank {
        Some(rank) if any => address.replace("?nic=any", &format!("?nic={rank}")),
        _ => address,
    }))
}

/// Which NIC it is or would be, if there is one.
pub fn identity() -> Option<Identity> {
    if let Some((process, nic)) = &*lock(&OPEN) {
        if *process == std::process::id() {
            return Some(nic.remote.identity());
        }
    }
    let look = |address: String| -> Result<Identity, AddressError> {
        let (path, nic) = socket(&address)?;
        Ok(remote::look(path, nic)?)
    };
    address()?.and_then(look).map_err(say).ok()
}

/// The NIC, opened if it is not.
pub fn nic() -> Result<Arc<Nic>, c_int> {
    let mut open = lock(&OPEN);
    if let Some((process, nic)) = &*open {
        if *process == std::process::id() {
            return Ok(nic.clone());
        }
    }
    let address = address().ok_or(libc::ENODEV)?.map_err(refused)?;
    let nic = Arc::new(Nic::open(&address)?);
    // What a parent has open is its own: letting go of it here would speak for the parent.
    if let Some(before) = open.replace((std::process::id(), nic.clone())) {
        std::mem::forget(before);
    }
    Ok(nic)
}

fn refused(why: impl std::fmt::Display) -> c_int {
    say(why);
    libc::ENODEV
}

/// The error number for what the driver refuses.
pub trait Errno {
    fn errno(&self) -> c_int;
}

impl Errno for CreateError {
    fn errno(&self) -> c_int {
        match self {
            Self::None { .. } => libc::ENOMEM,
            Self::LeftOut(_) => libc::EOPNOTSUPP,
            Self::Device(error) => error.errno(),
            _ => libc::EINVAL,
        }
    }
}

impl Errno for RegisterError {
    fn errno(&self) -> c_int {
        match self {
            Self::NoKey(_) => libc::ENOMEM,
            Self::Device(error) => error.errno(),
            _ => libc::EINVAL,
        }
    }
}

impl Errno for PostError {
    fn errno(&self) -> c_int {
        match self {
            Self::RingFull { .. } => libc::ENOMEM,
            Self::Device(error) => error.errno(),
            _ => libc::EINVAL,
        }
    }
}

impl Errno for DeviceError {
    fn errno(&self) -> c_int {
        libc::EIO
    }
}

impl Nic {
    fn open(address: &str) -> Result<Self, c_int> {
        let remote = without_signals(|| open_socket(address)).map_err(refused)?;
        let Identity { mac, ip, ip6, nic } = remote.identity();
        // A seed of its own for every process; strangers are not what a simulation fears.
        let seed = std::process::id().wrapping_mul(0x9E37_79B9).wrapping_add(nic) | 1;
        let settings = std::env::var(SET).unwrap_or_default();
        let settings = settings.split(',').filter(|text| !text.is_empty()).map(setting);
        let settings = settings.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        let has_ip6 = DeviceAttributes::of(&*remote).map_err(refused)?.ipv6;
        let options = ContextOptions { mac, ip, ip6: has_ip6.then_some(ip6), vlan: None, seed, settings };
        let context = Context::open(remote.clone(), options).map_err(refused)?;
        let sizes = || -> Result<Sizes, DeviceError> {
            let (sizes0, sizes1) = (context.read(regs::SIZES0)?, context.read(regs::SIZES1)?);
            let count = |log2: u32| 1 << (log2 & 0x1F);
            Ok(Sizes { endpoints: count(sizes0 >> 24), cqs: count(sizes1), keys: count(sizes1 >> 8) })
        };
        let sizes = sizes().map_err(refused)?;
        Ok(Self {
            regions: RwLock::new(vec![None; sizes.keys]),
            pairs: RwLock::new(vec![None; sizes.endpoints]),
            rc_pairs: RwLock::default(),
            changing: Mutex::default(),
            carriers: Mutex::default(),
            shared: Mutex::default(),
            held_up: Mutex::default(),
            context,
            remote,
            sizes,
            awaited: Mutex::default(),
            awaits: Condvar::new(),
            gone: AtomicBool::new(false),
        })
    }

    /// Lets device time run. False: there is no device any more.
    pub fn wait(&self) -> bool {
        match self.context.wait() {
            Ok(()) => true,
            Err(error) => {
                self.lost(&error);
                false
            }
        }
    }

    /// Whether there is no device any more.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Tells of a lost device, once.
    pub fn lost(&self, error: &dyn std::fmt::Display) {
        if !self.gone.swap(true, Ordering::Relaxed) {
            say(error);
        }
    }

    /// The region of a key.
    pub fn region(&self, key: u32) -> Option<Arc<Registered>> {
        let regions = self.regions.read().unwrap_or_else(PoisonError::into_inner);
        regions.get((key & 0xFF) as usize)?.clone().filter(|region| region.region.lkey() == key)
    }

    /// Puts a region in its key's place.
    pub fn add_region(&self, region: Arc<Registered>) {
        let index = (region.region.lkey() & 0xFF) as usize;
        let mut regions = self.regions.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = regions.get_mut(index) {
            *place = Some(region);
        }
    }

    /// Takes a region out.
    pub fn remove_region(&self, key: u32) -> Option<Arc<Registered>> {
        self.regions.write().unwrap_or_else(PoisonError::into_inner).get_mut((key & 0xFF) as usize)?.take()
    }

    /// The queue pair of an endpoint's table index.
    pub fn pair(&self, index: u16) -> Option<Arc<Pair>> {
        let pairs = self.pairs.read().unwrap_or_else(PoisonError::into_inner);
        pairs.get(usize::from(index))?.clone()
    }

    /// While this is held no queue pair's endpoint comes or goes.
    pub fn changing(&self) -> MutexGuard<'_, ()> {
        lock(&self.changing)
    }

    /// Puts a queue pair in its place.
    pub fn add_pair(&self, pair: Arc<Pair>) {
        let mut pairs = self.pairs.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = pairs.get_mut((pair.number & 0xFF) as usize) {
            *place = Some(pair);
        }
    }

    /// Takes one out, unless another has the place by now.
    pub fn remove_pair(&self, number: u32) {
        let mut pairs = self.pairs.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = pairs.get_mut((number & 0xFF) as usize) {
            place.take_if(|pair| pair.number == number);
        }
    }

    /// The RC pair of a number.
    pub fn rc_pair(&self, number: u32) -> Option<Arc<RcPair>> {
        self.rc_pairs.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
    }

    /// Puts an RC pair in under a number of its own: 24 bits, of which endpoints' have the
    /// first clear for most of the time.
    pub fn add_rc_pair(&self, make: impl FnOnce(u32) -> Arc<RcPair>) -> Result<Arc<RcPair>, c_int> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mut pairs = self.rc_pairs.write().unwrap_or_else(PoisonError::into_inner);
        let taken = |number: u32| {
            pairs.contains_key(&number)
                || self.pair((number & 0xFF) as u16).is_some_and(|ud| ud.number == number)
        };
        let mut numbers = (0..1 << 23).map(|_| 1 << 23 | NUMBER.fetch_add(1, Ordering::Relaxed) & 0x7F_FFFF);
        let number = numbers.find(|&number| !taken(number)).ok_or(libc::ENOMEM)?;
        let pair = make(number);
        pairs.insert(number, pair.clone());
        Ok(pair)
    }

    /// Takes an RC pair out.
    pub fn remove_rc_pair(&self, number: u32) {
        self.rc_pairs.write().unwrap_or_else(PoisonError::into_inner).remove(&number);
    }

    /// An RC pair waits for room in a ring.
    pub fn hold_up(&self, number: u32) {
        lock(&self.held_up).push(number);
    }

    /// A carrier to look after.
    pub fn add_carrier(&self, carrier: &Arc<Carrier>) {
        lock(&self.carriers).push(Arc::downgrade(carrier));
    }

    /// A shared receive queue to look after.
    pub fn add_shared(&self, shared: &Arc<SharedQueue>) {
        lock(&self.shared).push(Arc::downgrade(shared));
    }

    /// Looks after what others ask of this process, also while the program does not poll.
    pub fn serve_others(self: &Arc<Self>) -> Result<(), c_int> {
        static SERVES: Mutex<Option<u32>> = Mutex::new(None);
        let mut serves = lock(&SERVES);
        if *serves != Some(std::process::id()) {
            let nic = self.clone();
            let thread = std::thread::Builder::new().name("tessera-rc".into());
            let serve = move || loop {
                // Nothing of the device's is waited for: who asks lets its time run.
                std::thread::sleep(SERVICE);
                if nic.progress().is_err() || nic.gone.load(Ordering::Relaxed) {
                    return;
                }
            };
            without_signals(|| thread.spawn(serve)).map_err(|_| libc::EAGAIN)?;
            *serves = Some(std::process::id());
        }
        Ok(())
    }

    /// Looks after what RC pairs have under way.
    pub fn progress(&self) -> Result<(), c_int> {
        let carriers: Vec<_> = {
            let mut carriers = lock(&self.carriers);
            if carriers.is_empty() {
                return Ok(());
            }
            carriers.retain(|carrier| carrier.strong_count() > 0);
            carriers.iter().filter_map(Weak::upgrade).collect()
        };
        for carrier in carriers {
            while carrier.progress(self)? > 0 {}
        }
        let shared: Vec<_> = {
            let mut shared = lock(&self.shared);
            shared.retain(|shared| shared.strong_count() > 0);
            shared.iter().filter_map(Weak::upgrade).collect()
        };
        for shared in shared {
            while shared.progress(self)? > 0 {}
        }
        let held_up = std::mem::take(&mut *lock(&self.held_up));
        held_up.into_iter().filter_map(|number| self.rc_pair(number)).for_each(|pair| pair.go_on(self));
        Ok(())
    }

    /// Somebody waits for an event of this queue: polls it from now on, until there is one.
    pub fn await_queue(self: &Arc<Self>, queue: &Arc<Queue>) -> Result<(), c_int> {
        static POLLS: Mutex<Option<u32>> = Mutex::new(None);
        let mut awaited = lock(&self.awaited);
        if !awaited.iter().any(|other| Arc::ptr_eq(other, queue)) {
            awaited.push(queue.clone());
        }
        self.awaits.notify_all();
        drop(awaited);
        let mut polls = lock(&POLLS);
        if *polls != Some(std::process::id()) {
            let nic = self.clone();
            let thread = std::thread::Builder::new().name("tessera-events".into());
            without_signals(|| thread.spawn(move || nic.poll_awaited())).map_err(|_| libc::EAGAIN)?;
            *polls = Some(std::process::id());
        }
        Ok(())
    }

    fn poll_awaited(&self) {
        loop {
            let queues = {
                let mut awaited = lock(&self.awaited);
                while awaited.is_empty() {
                    awaited = self.awaits.wait(awaited).unwrap_or_else(PoisonError::into_inner);
                }
                awaited.clone()
            };
            // What is wrong, the program's next poll says.
            let _ = self.progress();
            let told = queues.iter().filter(|queue| queue.tell_if_any(self)).count();
            lock(&self.awaited).retain(|queue| queue.is_awaited());
            if told == 0 && !self.wait() {
                // Nobody is left waiting for a device that is gone; with a full channel, slowly.
                std::thread::sleep(SERVICE);
            }
        }
    }

    /// Nobody waits for this queue any more.
    pub fn forget_queue(&self, queue: &Arc<Queue>) {
        lock(&self.awaited).retain(|other| !Arc::ptr_eq(other, queue));
    }
}
