//! An opened NIC: settings, tables, key and queue numbers.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tessera_abi::params::CLOCKS_PER_TICK;
use tessera_abi::regs::{self, sizes2, table, Access as RegAccess, Counter, Reg};
use tessera_abi::status::Drop as DropReason;
use tessera_abi::wire::{gid_ipv4, ipv4_gid, MAX_REMEMBERED};

use crate::completion::CompletionQueue;
use crate::device::{Device, DeviceError};
use crate::endpoint::{Endpoint, EndpointOptions};
use crate::error::{CreateError, LeftOut, OpenError, RegisterError};
use crate::event::Watcher;
use crate::memory::{Access, DmaMemory, Mapping, MemoryRegion};
use crate::outstanding::Outstanding;
use crate::queue::Abandoned;
use crate::reclaim::Kept;
use crate::reset::Lives;
use crate::shared_receive::SharedReceive;

/// How often device time is let run before a device counts as stuck.
pub(crate) const READY_WAITS: u32 = 100_000;

/// Ticks per number of an endpoint: what one takes at least from its creation to the end
/// of its reclaim (RE-3, and the accesses to its table entry).
const ENDPOINT_TICKS: u32 = 1024 / CLOCKS_PER_TICK;

/// How to open a NIC.
#[derive(Clone, Debug)]
pub struct ContextOptions {
    /// This NIC's MAC address.
    pub mac: [u8; 6],
    /// This NIC's IPv4 address.
    pub ip: [u8; 4],
    /// This NIC's IPv6 address, if it has one.
    pub ip6: Option<[u8; 16]>,
    /// VLAN (1..=4094) whose tagged frames the NIC accepts, besides untagged ones.
    pub vlan: Option<u16>,
    /// Seed of hashes, generations and random paths; not 0. Choose it at
    /// random unless a run must be repeatable: it keeps strangers from guessing
    /// message numbers.
    pub seed: u32,
    /// Other registers to set before the NIC is enabled.
    pub settings: Vec<(Reg, u32)>,
}

/// A register that can be set and its value, as people write it: `NAME=VALUE`.
///
/// # Errors
/// What is wrong with it, and what to write.
pub fn setting(text: &str) -> Result<(Reg, u32), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    let reg = regs::MAP.iter().find(|reg| reg.name == name && reg.access == RegAccess::Rw);
    let reg = reg.ok_or_else(|| format!("no register {name} can be written; docs/registers.md has them"))?;
    let value: u32 = value.parse().map_err(|_| format!("{value} is no number below 2^32"))?;
    if reg.width < 32 && value >> reg.width != 0 {
        return Err(format!("{name} has {} bits; {value} does not fit", reg.width));
    }
    Ok((*reg, value))
}

/// That registers are those of a NIC that this driver knows.
pub(crate) fn recognise(read: impl Fn(Reg) -> Result<u32, DeviceError>) -> Result<(), OpenError> {
    let magic = read(regs::MAGIC)?;
    if magic != regs::MAGIC_VALUE {
        return Err(OpenError::NotTessera(magic));
    }
    let found = read(regs::ABI_VERSION)?;
    if found >> 16 != regs::ABI_VERSION_VALUE >> 16 {
        return Err(OpenError::Version { found, driver: regs::ABI_VERSION_VALUE });
    }
    Ok(())
}

/// A device that is open. Two contexts would give out the same numbers.
#[derive(Debug)]
struct Claim(*const ());

// SAFETY: the address is compared, never followed.
unsafe impl Send for Claim {}
// SAFETY: as above.
unsafe impl Sync for Claim {}

impl Claim {
    fn of(device: &Arc<dyn Device>) -> Result<Arc<Self>, OpenError> {
        static OPEN: Mutex<Vec<Weak<Claim>>> = Mutex::new(Vec::new());
        let address = Arc::as_ptr(device).cast();
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|claim| claim.strong_count() > 0);
        if open.iter().filter_map(Weak::upgrade).any(|claim| claim.0 == address) {
            return Err(OpenError::InUse);
        }
        let claim = Arc::new(Self(address));
        open.push(Arc::downgrade(&claim));
        Ok(claim)
    }
}

/// What every object of a NIC shares.
pub(crate) struct Shared {
    pub(crate) device: Arc<dyn Device>,
    _claim: Arc<Claim>,
    pub(crate) lives: Lives,
    tables: Mutex<Tables>,
    /// Held from a table access's first data word to its end: there is one set of
    /// data registers.
    table_access: Mutex<()>,
    /// One endpoint is reclaimed at a time.
    pub(crate) reclaiming: Mutex<Kept>,
    /// Memory was given up that the NIC may still use: nobody can take it back.
    pub(crate) given_up: AtomicBool,
    /// Held from an order's first register to its result.
    pub(crate) orders: Mutex<()>,
    pub(crate) abandoned: Abandoned,
    pub(crate) watcher: Watcher,
    /// Rings that requests may be outstanding on.
    rings: Mutex<Vec<Weak<Outstanding>>>,
    pub(crate) options: ContextOptions,
    endpoints: usize,
    cqs: usize,
    keys: usize,
    /// The NIC has room for tagged receives.
    pub(crate) tags: bool,
    /// Parts that the NIC was built without, bits of SIZES2.
    left_out: u32,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("options", &self.options).finish_non_exhaustive()
    }
}

/// Numbers in use. The upper part of keys and endpoint numbers advances with
/// every reuse, so a stale one does not match.
#[derive(Debug, Default)]
struct Tables {
    keys: Numbers,
    endpoints: Numbers,
    cqs: Numbers,
    /// Protection domains given out so far.
    domains: u16,
}

#[derive(Debug, Default)]
struct Numbers {
    used: Vec<bool>,
    reuse: u32,
    from: usize,
}

impl Tables {
    /// Numbers of a NIC opened at a time of its own.
    ///
    /// Nobody knows what the program before this one gave out, and peers may still
    /// send to it; but an endpoint's number says when it was created, by TIME, which a
    /// reset does not set back. So none is given out twice within a turn of the counts,
    /// by whomever. The count of keys was never ahead of TIME (one takes a table write,
    /// that is more than a tick), and begins behind it.
    //= RS-4
    fn at(ticks: u32) -> Self {
        Self {
            keys: Numbers { reuse: ticks, ..Numbers::default() },
            endpoints: Numbers { reuse: ticks / ENDPOINT_TICKS, ..Numbers::default() },
            ..Self::default()
        }
    }
}

impl Numbers {
    /// The next free number after the one given out last, with its reuse count.
    fn take(&mut self, count: usize) -> Option<(usize, u32)> {
        let index = self.take_index(count)?;
        self.reuse = self.reuse.wrapping_add(1);
        Some((index, self.reuse))
    }

    /// The same for what has no upper part.
    fn take_index(&mut self, count: usize) -> Option<usize> {
        self.used.resize(count, false);
        let index = (0..count).map(|i| (self.from + i) % count).find(|&i| !self.used[i])?;
        self.used[index] = true;
        self.from = index + 1;
        Some(index)
    }

    fn give_back(&mut self, index: usize) {
        if let Some(used) = self.used.get_mut(index) {
            *used = false;
        }
    }

    /// Everything is free again; what was given out is not given out at once.
    fn forget(&mut self) {
        self.used.fill(false);
    }
}

/// A table word under construction.
pub(crate) struct Word([u32; regs::TABLE_WORDS]);

impl Word {
    pub(crate) fn new() -> Self {
        Self([0; regs::TABLE_WORDS])
    }

    pub(crate) fn with(mut self, (lsb, width): (usize, usize), value: u64) -> Self {
        debug_assert!(width == 64 || value >> width == 0);
        for bit in 0..width {
            if value >> bit & 1 == 1 {
                self.0[(lsb + bit) / 32] |= 1 << ((lsb + bit) % 32);
            }
        }
        self
    }
}

impl Shared {
    pub(crate) fn wait_until(
        &self,
        mut ready: impl FnMut() -> Result<bool, DeviceError>,
    ) -> Result<Option<u32>, DeviceError> {
        for waits in 0..READY_WAITS {
            if ready()? {
                return Ok(Some(waits));
            }
            self.device.wait()?;
        }
        Ok(None)
    }

    /// Writes a table entry for an object of this life.
    pub(crate) fn write_table(
        &self,
        life: u32,
        number: u32,
        index: usize,
        word: Word,
    ) -> Result<(), DeviceError> {
        let _alive = self.lives.alive(life)?;
        self.write_table_now(number, index, word)
    }

    /// The same, of a caller who keeps the NIC from being reset.
    pub(crate) fn write_table_now(&self, number: u32, index: usize, word: Word) -> Result<(), DeviceError> {
        let _alone = self.table_access.lock().unwrap_or_else(PoisonError::into_inner);
        for (i, value) in word.0.iter().enumerate() {
            self.device.write(regs::TABLE_DATA + 4 * i as u32, *value)?;
        }
        self.device.write(regs::TABLE_COMMAND.offset, 1 << 31 | number << 24 | index as u32)?;
        let done = self.wait_until(|| Ok(self.device.read(regs::TABLE_STATUS.offset)? & 1 == 0))?;
        match done {
            Some(_) => Ok(()),
            None => Err(DeviceError::Gone("a table access never ended".into())),
        }
    }

    pub(crate) fn gids(&self) -> impl Iterator<Item = [u8; 16]> {
        std::iter::once(ipv4_gid(self.options.ip)).chain(self.options.ip6)
    }

    fn tables(&self) -> std::sync::MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes something of this life from the NIC; whether that has let go of it.
    ///
    /// After a reset it has. When the device fails, or is in the middle of a reset
    /// that waits for host memory, it may still write: the caller keeps mapped what
    /// it could reach. That leaks, but a late write into memory that is somebody
    /// else's by then would be worse, and nobody is there to be told.
    fn release(&self, life: u32, take: impl FnOnce() -> Result<(), DeviceError>) -> bool {
        let taken = self.lives.alive(life).and_then(|_alive| take());
        matches!(taken, Ok(()) | Err(DeviceError::Reset))
    }

    /// Revokes a key; of a key that peers may write by, waits until what was
    /// checked against it before is out of the NIC. False: the NIC may still use it.
    #[must_use]
    pub(crate) fn release_key(&self, life: u32, key: u32, drain: bool) -> bool {
        self.release(life, || {
            let index = (key & 0xFF) as usize;
            self.write_table_now(table::MR, index, Word::new())?;
            if drain {
                self.fence()?;
            }
            self.tables().keys.give_back(index);
            Ok(())
        })
    }

    fn rings(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Outstanding>>> {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add_ring(&self, ring: &Arc<Outstanding>) {
        let mut rings = self.rings();
        rings.retain(|ring| ring.strong_count() > 0);
        rings.push(Arc::downgrade(ring));
    }

    /// Requests may still use memory whose region is gone.
    pub(crate) fn keep(&self, memory: &Arc<Mapping>) {
        let rings: Vec<_> = self.rings().iter().filter_map(Weak::upgrade).collect();
        rings.iter().for_each(|ring| ring.keep(memory));
    }

    /// Waits until every payload that was checked against the tables as they
    /// stood before this call is in host memory or thrown away.
    pub(crate) fn fence(&self) -> Result<(), DeviceError> {
        self.device.write(regs::FENCE.offset, 1)?;
        match self.wait_until(|| Ok(self.device.read(regs::FENCE_STATUS.offset)? & 1 == 0))? {
            Some(_) => Ok(()),
            None => Err(DeviceError::Gone("payload on its way to host memory never arrived".into())),
        }
    }

    /// A completion queue's number that the NIC knows nothing of.
    pub(crate) fn give_back_cq(&self, index: usize) {
        self.tables().cqs.give_back(index);
    }

    /// An index of the endpoint table that the NIC holds nothing of.
    pub(crate) fn give_back_endpoint(&self, index: usize) {
        self.tables().endpoints.give_back(index);
    }

    /// Gives the NIC, which is in reset state, its addresses and settings, and
    /// enables it. False: it does not become ready.
    pub(crate) fn set_up(&self) -> Result<bool, DeviceError> {
        let ready = || Ok(self.device.read(regs::STATUS.offset)? & 1 == 1);
        if self.wait_until(ready)?.is_none() {
            return Ok(false);
        }
        let ContextOptions { mac: [a, b, c, d, e, f], ip, ip6, vlan, seed, settings } = &self.options;
        let ip6 = u128::from_be_bytes(ip6.unwrap_or_default());
        let first: [(Reg, u32); 9] = [
            (regs::LOCAL_MAC_LO, u32::from_be_bytes([*c, *d, *e, *f])),
            (regs::LOCAL_MAC_HI, u32::from_be_bytes([0, 0, *a, *b])),
            (regs::LOCAL_IP, u32::from_be_bytes(*ip)),
            (regs::LOCAL_IP6_0, (ip6 >> 96) as u32),
            (regs::LOCAL_IP6_1, (ip6 >> 64) as u32),
            (regs::LOCAL_IP6_2, (ip6 >> 32) as u32),
            (regs::LOCAL_IP6_3, ip6 as u32),
            (regs::VLAN, u32::from(vlan.unwrap_or(0))),
            (regs::SEED, *seed),
        ];
        for (reg, value) in first.iter().chain(settings) {
            self.device.write(reg.offset, *value)?;
        }
        self.device.write(regs::CONTROL.offset, 1)?;
        // Enabling seeds generations and hashes, for which the NIC may be unready again.
        Ok(self.wait_until(ready)?.is_some())
    }

    /// Whether the NIC has all of the parts, which are bits of SIZES2.
    #[inline]
    pub(crate) fn has(&self, parts: u32) -> Result<(), LeftOut> {
        match self.left_out & parts {
            0 => Ok(()),
            part => Err(LeftOut::of(part)),
        }
    }

    /// The NIC has forgotten every table entry.
    pub(crate) fn forget(&self) {
        let mut tables = self.tables();
        let Tables { keys, endpoints, cqs, .. } = &mut *tables;
        [keys, endpoints, cqs].into_iter().for_each(Numbers::forget);
        drop(tables);
        self.forget_kept();
    }

    // Who takes a number holds the life from before until the table entry is written:
    // a reset in between would free the number and then find it taken.

    /// The count of endpoints is where TIME stood when the last one was created: it is set
    /// to TIME for each, and waits where that has not moved on since.
    //= RS-4
    pub(crate) fn take_endpoint(&self) -> Result<(usize, u32), CreateError> {
        self.look_again();
        let count = self.endpoints;
        let full = || CreateError::None { what: "endpoints", count };
        loop {
            let given = self.tables().endpoints.reuse;
            let mut now = given;
            let moved = self.wait_until(|| {
                now = self.device.read(regs::TIME.offset)? / ENDPOINT_TICKS;
                Ok(now != given)
            })?;
            if moved.is_none() {
                return Err(
                    DeviceError::Gone("TIME stands still: reset the device or reload it".into()).into()
                );
            }
            let mut tables = self.tables();
            if tables.endpoints.reuse == given {
                // `take` adds one.
                tables.endpoints.reuse = now.wrapping_sub(1);
                return tables.endpoints.take(count).ok_or_else(full);
            }
        }
    }

    /// A table entry for a ring that no peer addresses: it uses up no number, which
    /// would only come round again the sooner.
    pub(crate) fn take_ring(&self) -> Result<usize, CreateError> {
        self.look_again();
        let count = self.endpoints;
        self.tables().endpoints.take_index(count).ok_or(CreateError::None { what: "endpoints", count })
    }

    pub(crate) fn take_cq(&self) -> Result<usize, CreateError> {
        self.look_again();
        let count = self.cqs;
        self.tables().cqs.take_index(count).ok_or(CreateError::None { what: "completion queues", count })
    }

    pub(crate) fn register(
        self: &Arc<Self>,
        memory: &Arc<DmaMemory>,
        access: Access,
        pd: u16,
    ) -> Result<MemoryRegion, RegisterError> {
        let count = self.keys;
        let alive = self.lives.whole()?;
        let (index, reuse) = self.tables().keys.take(count).ok_or(RegisterError::NoKey(count))?;
        let mapping =
            Mapping::new(&self.device, memory).inspect_err(|_| self.tables().keys.give_back(index))?;
        let mapping = Arc::new(mapping);
        let hi = reuse & 0xFF_FFFF;
        let word = Word::new()
            .with(regs::mr::VALID, 1)
            .with(regs::mr::REMOTE_WRITE, access.remote_write.into())
            .with(regs::mr::LOCAL_WRITE, access.local_write.into())
            .with(regs::mr::KEY_HI, hi.into())
            .with(regs::mr::PD, pd.into())
            .with(regs::mr::BASE, mapping.address())
            .with(regs::mr::LENGTH, memory.len() as u64);
        // An entry of which nothing is known may be valid: it stays mapped, and taken.
        let written = self.write_table_now(table::MR, index, word);
        written.inspect_err(|_| self.give_up(&mapping))?;
        Ok(MemoryRegion {
            shared: self.clone(),
            life: alive.number(),
            mapping,
            key: hi << 8 | index as u32,
            access,
        })
    }
}

/// An opened NIC.
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) shared: Arc<Shared>,
}

impl Context {
    /// Checks that the device is a Tessera NIC of a version this driver knows,
    /// gives it its addresses and settings, and enables it. One that is at work, for a
    /// program that is gone, is reset first: what that had posted ends unheard.
    ///
    /// A device (one `Arc`) is open once at a time, until its context and all that was made of it
    /// are dropped. Other processes are for the [`Device`] to keep off.
    pub fn open(device: Arc<dyn Device>, options: ContextOptions) -> Result<Self, OpenError> {
        if options.seed == 0 {
            return Err(OpenError::ZeroSeed);
        }
        if let Some(vlan) = options.vlan.filter(|vlan| !(1..=4094).contains(vlan)) {
            return Err(OpenError::Vlan(vlan));
        }
        if let Some(ip6) =
            options.ip6.filter(|ip6| gid_ipv4(ip6).is_some() || ip6[0] == 0xFF || *ip6 == [0; 16])
        {
            return Err(OpenError::Ip6(ip6));
        }
        //= RO-3
        let value = |reg: Reg| {
            let set = options.settings.iter().rev().find(|(other, _)| other.offset == reg.offset);
            set.map_or(reg.reset, |(_, value)| *value)
        };
        let (rx_give_up, after) = (value(regs::RX_GIVE_UP), value(regs::TIME_WAIT).max(value(regs::MPL)));
        if rx_give_up.saturating_add(after) > MAX_REMEMBERED {
            return Err(OpenError::Remembered { rx_give_up, after });
        }
        let claim = Claim::of(&device)?;
        recognise(|reg| device.read(reg.offset))?;
        let sizes0 = device.read(regs::SIZES0.offset)?;
        let sizes1 = device.read(regs::SIZES1.offset)?;
        let left_out = device.read(regs::SIZES2.offset)? & !sizes2::TOMBSTONES;
        let asked = [(sizes2::NO_IPV6, options.ip6.is_some()), (sizes2::NO_VLAN, options.vlan.is_some())];
        if let Some((part, _)) = asked.into_iter().find(|(part, asked)| *asked && left_out & part != 0) {
            return Err(LeftOut::of(part).into());
        }
        let logs = [sizes0 >> 24 & 0x1F, sizes1 & 0x1F, sizes1 >> 8 & 0x1F];
        // Of numbers and keys eight bits are the index, of doorbells a page.
        if logs.iter().any(|&log2| log2 > 8) {
            return Err(OpenError::Sizes { sizes0, sizes1 });
        }
        let [endpoints, cqs, keys] = logs.map(|log2| 1 << log2);
        let time = device.read(regs::TIME.offset)?;
        let used = device.read(regs::CONTROL.offset)? & 1 == 1;
        let resetting = device.read(regs::RESET_STATUS.offset)? & 1 == 1;
        let shared = Shared {
            device,
            _claim: claim,
            lives: Lives::default(),
            tables: Mutex::new(Tables::at(time)),
            table_access: Mutex::default(),
            reclaiming: Mutex::default(),
            given_up: AtomicBool::new(false),
            orders: Mutex::default(),
            abandoned: Abandoned::default(),
            watcher: Watcher::default(),
            rings: Mutex::default(),
            endpoints,
            cqs,
            keys,
            tags: sizes1 >> 24 & 0x1F != 0,
            left_out,
            options,
        };
        //= RS-1
        if used || resetting {
            if let Some(status) = shared.stop()? {
                return Err(OpenError::Held { status, waits: READY_WAITS });
            }
        }
        if !shared.set_up()? {
            return Err(OpenError::NotReady { waits: READY_WAITS });
        }
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The GIDs of this NIC: number 0 is its IPv4 address, number 1 its IPv6
    /// address if it has one.
    pub fn gids(&self) -> Vec<[u8; 16]> {
        self.shared.gids().collect()
    }

    /// A domain to register memory and create endpoints in: an endpoint reads and
    /// writes, and lets peers write, only memory of its own domain. (A NIC tells
    /// 65,536 of them apart; the next one is the first again.)
    pub fn alloc_pd(&self) -> ProtectionDomain {
        let mut tables = self.shared.tables();
        tables.domains = tables.domains.wrapping_add(1);
        ProtectionDomain { shared: self.shared.clone(), number: tables.domains }
    }

    /// A completion queue of `entries` (a power of two). It must have room for
    /// every request outstanding on the endpoints that use it, and for two per receive
    /// of those that match tags (`Posted` or `Unexpected`, and the end); of a shared ring
    /// any receive may end in the queue of any endpoint. A completion that finds the
    /// queue full is lost (counter CqOverrun), and its request ends only with a reset.
    pub fn create_cq(&self, entries: usize) -> Result<CompletionQueue, CreateError> {
        CompletionQueue::create(&self.shared, entries)
    }

    /// Reads a global register.
    pub fn read(&self, reg: Reg) -> Result<u32, DeviceError> {
        self.shared.device.read(reg.offset)
    }

    /// Writes a global register. Not for what the driver itself does by registers
    /// (RESET, RECLAIM, FENCE, tables, orders): its own view would be wrong from then on.
    pub fn write(&self, reg: Reg, value: u32) -> Result<(), DeviceError> {
        let _whole = self.shared.lives.whole()?;
        self.shared.device.write(reg.offset, value)
    }

    /// Reads an event counter (32 bits, wrapping).
    pub fn counter(&self, counter: Counter) -> Result<u32, DeviceError> {
        self.shared.device.read(regs::counter(counter as u32))
    }

    /// Reads the counter of a drop reason (32 bits, wrapping).
    pub fn dropped(&self, reason: DropReason) -> Result<u32, DeviceError> {
        self.shared.device.read(regs::counter(reason as u32))
    }

    /// Lets device time run.
    pub fn wait(&self) -> Result<(), DeviceError> {
        self.shared.device.wait()
    }
}

/// Where memory and endpoints belong together.
#[derive(Clone, Debug)]
pub struct ProtectionDomain {
    shared: Arc<Shared>,
    number: u16,
}

impl ProtectionDomain {
    /// Registers memory.
    pub fn register(&self, memory: &Arc<DmaMemory>, access: Access) -> Result<MemoryRegion, RegisterError> {
        self.shared.register(memory, access, self.number)
    }

    /// Creates an endpoint for reliable messages or plain datagrams.
    pub fn create_endpoint(
        &self,
        options: &EndpointOptions,
        send_cq: &CompletionQueue,
        recv_cq: &CompletionQueue,
    ) -> Result<Endpoint, CreateError> {
        Endpoint::create(&self.shared, self.number, options, send_cq, recv_cq, None)
    }

    /// Creates a receive ring of `entries` (a power of two) that endpoints can
    /// share. A receive of it that the NIC refuses (key, bounds) before any
    /// message took it completes in `errors`, all others with their endpoint.
    pub fn create_shared_receive(
        &self,
        entries: usize,
        errors: &CompletionQueue,
    ) -> Result<SharedReceive, CreateError> {
        SharedReceive::create(&self.shared, self.number, entries, errors)
    }

    /// Creates an endpoint for reliable messages whose receives are posted to
    /// a shared ring.
    pub fn create_sharing_endpoint(
        &self,
        options: &EndpointOptions,
        send_cq: &CompletionQueue,
        recv_cq: &CompletionQueue,
        receives: &SharedReceive,
    ) -> Result<Endpoint, CreateError> {
        Endpoint::create(&self.shared, self.number, options, send_cq, recv_cq, Some(receives))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cross_register_borders() {
        let word = Word::new().with((24, 16), 0xABCD).with((64, 64), u64::MAX);
        assert_eq!(word.0[0], 0xCD00_0000);
        assert_eq!(word.0[1], 0xAB);
        assert_eq!(word.0[2..4], [u32::MAX; 2]);
        assert_eq!(word.0[4], 0);
    }

    #[test]
    fn numbers_are_not_reused_at_once() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.take(2), Some((0, 1)));
        numbers.give_back(0);
        assert_eq!(numbers.take(2), Some((1, 2)));
        assert_eq!(numbers.take(2), Some((0, 3)));
        assert_eq!(numbers.take(2), None);
    }
}
