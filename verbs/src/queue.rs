//! Completion queues and the channels that their events go to.

use std::collections::{HashMap, VecDeque};
use std::ffi::{c_int, c_uint};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tessera_abi::wire::{gid_ipv4, GRH_LEN};
use tessera_driver::{CompletionEvent, CompletionQueue, Status, WorkCompletion};

use crate::ffi::{ibv_comp_channel, ibv_cq, ibv_wc};
use crate::nic::{lock, Errno, Nic};

const WC_SUCCESS: c_uint = 0;
const WC_LOC_LEN_ERR: c_uint = 1;
pub const WC_LOC_QP_OP_ERR: c_uint = 2;
const WC_LOC_PROT_ERR: c_uint = 4;
pub const WC_WR_FLUSH_ERR: c_uint = 5;
const WC_REM_INV_REQ_ERR: c_uint = 9;
const WC_RETRY_EXC_ERR: c_uint = 12;
const WC_RNR_RETRY_EXC_ERR: c_uint = 13;
const WC_GENERAL_ERR: c_uint = 21;

pub const WC_SEND: c_uint = 0;
pub const WC_RECV: c_uint = 1 << 7;

const WC_GRH: c_uint = 1;
pub const WC_WITH_IMM: c_uint = 2;

/// What `wc.sl` says of a RoCE packet on the devices that programs know: bit 3, and the
/// kind of its IP header. UCX drops datagrams whose header it cannot tell by it.
const SL_ROCE_IPV4: u8 = 0xA;
const SL_ROCE_IPV6: u8 = 0x9;

/// Completions that are taken from the NIC in one go.
const BATCH: usize = 64;

/// Entries of a NIC's queue: every request takes one, also those that no program hears of.
const LEAST_ENTRIES: usize = 8192;
/// Most of them.
pub const MOST_ENTRIES: usize = 1 << 15;

/// Where the events of queues go: a pair of sockets, one of which the program has for its
/// descriptor and reads by `ibv_get_cq_event`. Of a socket this side may look without waiting,
/// whatever the program says about its own calls.
pub struct Channel {
    pub read: OwnedFd,
    write: OwnedFd,
    /// By the number that is told.
    queues: Mutex<HashMap<u64, usize>>,
}

/// What a program has an `ibv_comp_channel` of.
#[repr(C)]
pub struct ChannelObject {
    pub ibv: ibv_comp_channel,
    pub channel: Arc<Channel>,
}

impl Channel {
    pub fn new() -> Result<Self, c_int> {
        let mut fds = [0; 2];
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        // SAFETY: two numbers' place.
        if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) } != 0 {
            return Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EMFILE));
        }
        // SAFETY: just opened, and nobody else's.
        let [read, write] = fds.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        Ok(Self { read, write, queues: Mutex::default() })
    }

    /// Queues that tell of events here.
    pub fn users(&self) -> usize {
        lock(&self.queues).len()
    }

    /// False: the program has left so many events unread that there is no room.
    fn tell(&self, number: u64) -> bool {
        let (bytes, flags) = (number.to_ne_bytes(), libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
        // SAFETY: eight bytes.
        let sent = unsafe { libc::send(self.write.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
        sent == bytes.len() as isize
    }

    /// Takes away what was told of a queue: who is woken by it would find nothing, and wait.
    fn forget(&self, number: u64) {
        let mut queues = lock(&self.queues);
        queues.remove(&number);
        let mut others = Vec::new();
        loop {
            let (mut bytes, fd) = ([0; 8], self.read.as_raw_fd());
            // SAFETY: eight bytes' place.
            let read = unsafe { libc::recv(fd, bytes.as_mut_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT) };
            if read != bytes.len() as isize {
                break;
            }
            others.push(u64::from_ne_bytes(bytes));
        }
        for other in others.into_iter().filter(|other| queues.contains_key(other)) {
            self.tell(other);
        }
    }

    /// The next event's queue; waits for it unless the program made the channel nonblocking.
    pub fn next(&self) -> Result<*mut ibv_cq, c_int> {
        loop {
            let mut bytes = [0; 8];
            // SAFETY: eight bytes' place.
            let read = unsafe { libc::read(self.read.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len()) };
            if read != bytes.len() as isize {
                return Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO));
            }
            // The queue may be gone since.
            if let Some(&queue) = lock(&self.queues).get(&u64::from_ne_bytes(bytes)) {
                return Ok(queue as *mut ibv_cq);
            }
        }
    }
}

/// A completion queue.
pub struct Queue {
    number: u64,
    pub channel: Option<Arc<Channel>>,
    awaited: AtomicBool,
    inside: Mutex<Inside>,
}

/// What a program has an `ibv_cq` of.
#[repr(C)]
pub struct QueueObject {
    pub ibv: ibv_cq,
    pub queue: Arc<Queue>,
}

struct Inside {
    cq: CompletionQueue,
    entries: usize,
    /// Of these, promised to queue pairs.
    promised: usize,
    /// Promised to those whose requests end in another queue of the NIC's.
    told: usize,
    /// Taken from the NIC and not by the program yet.
    ready: VecDeque<ibv_wc>,
    batch: Box<[WorkCompletion; BATCH]>,
}

impl Queue {
    pub fn new(nic: &Nic, cqe: usize, channel: Option<Arc<Channel>>) -> Result<Self, c_int> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let entries = (2 * cqe).next_power_of_two().clamp(LEAST_ENTRIES, MOST_ENTRIES);
        let mut cq = nic.context.create_cq(entries).map_err(|error| error.errno())?;
        // Its polls hold locks; who finds nothing waits without.
        cq.set_yielding(false);
        let inside = Inside {
            cq,
            entries,
            promised: 0,
            told: 0,
            ready: VecDeque::new(),
            batch: Box::new([WorkCompletion::default(); BATCH]),
        };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Ok(Self { number, channel, awaited: AtomicBool::new(false), inside: Mutex::new(inside) })
    }

    /// Tells the channel whom its events are about.
    pub fn known_as(&self, object: *mut ibv_cq) {
        if let Some(channel) = &self.channel {
            lock(&channel.queues).insert(self.number, object as usize);
        }
    }

    /// Its events are about nobody any more.
    pub fn forgotten(&self) {
        self.awaited.store(false, Ordering::Relaxed);
        if let Some(channel) = &self.channel {
            channel.forget(self.number);
        }
    }

    /// Room for so many requests more.
    pub fn promise(&self, requests: usize) -> Result<(), c_int> {
        let mut inside = lock(&self.inside);
        if inside.promised + requests > inside.entries {
            return Err(libc::ENOMEM);
        }
        inside.promised += requests;
        Ok(())
    }

    /// So many fewer.
    pub fn give_back(&self, requests: usize) {
        lock(&self.inside).promised -= requests;
    }

    /// Requests that may complete here.
    pub fn promised(&self) -> usize {
        let inside = lock(&self.inside);
        inside.promised + inside.told
    }

    /// As many users of requests that end elsewhere, and are told of here.
    pub fn note(&self, requests: usize) {
        lock(&self.inside).told += requests;
    }

    /// Fewer of those.
    pub fn forget(&self, requests: usize) {
        lock(&self.inside).told -= requests;
    }

    /// What the driver wants of it.
    pub fn with<R>(&self, act: impl FnOnce(&CompletionQueue) -> R) -> R {
        act(&lock(&self.inside).cq)
    }

    /// Takes what has completed, into `out`.
    pub fn poll(&self, nic: &Nic, out: &mut [ibv_wc]) -> Result<usize, c_int> {
        let mut inside = lock(&self.inside);
        let mut count = 0;
        loop {
            while let Some(place) = out.get_mut(count) {
                let Some(done) = inside.ready.pop_front() else { break };
                *place = done;
                count += 1;
            }
            if count == out.len() || inside.gather(nic)? == 0 {
                return Ok(count);
            }
        }
    }

    /// Whether an event is asked for.
    pub fn is_awaited(&self) -> bool {
        self.awaited.load(Ordering::Acquire)
    }

    /// Asks for one.
    pub fn set_awaited(&self) {
        self.awaited.store(true, Ordering::Release);
    }

    /// Tells the channel if there is something to poll, and somebody asked.
    pub fn tell_if_any(&self, nic: &Nic) -> bool {
        let mut inside = lock(&self.inside);
        while matches!(inside.gather(nic), Ok(1..)) {}
        // Of a lost device the program's next poll says so.
        if inside.ready.is_empty() && !nic.is_gone() || !self.awaited.swap(false, Ordering::AcqRel) {
            return false;
        }
        let told = self.channel.as_ref().is_none_or(|channel| channel.tell(self.number));
        if !told {
            // With the next turn.
            self.awaited.store(true, Ordering::Release);
        }
        told
    }

    /// Takes all that the NIC has.
    pub fn settle(&self, nic: &Nic) {
        let mut inside = lock(&self.inside);
        while matches!(inside.gather(nic), Ok(1..)) {}
    }

    /// Puts completions in that the NIC knows nothing of.
    pub fn push(&self, done: impl IntoIterator<Item = ibv_wc>) {
        lock(&self.inside).ready.extend(done);
    }

    /// Forgets those of a queue pair that is gone.
    pub fn purge(&self, qp_num: u32) {
        lock(&self.inside).ready.retain(|done| done.qp_num != qp_num);
    }
}

impl Inside {
    /// Takes completions from the NIC; says how many it had.
    fn gather(&mut self, nic: &Nic) -> Result<usize, c_int> {
        let read = match self.cq.poll(&mut self.batch[..]) {
            Ok(read) => read,
            Err(error) => {
                nic.lost(&error);
                return Err(libc::EIO);
            }
        };
        for done in &self.batch[..read] {
            convert(nic, done, &mut self.ready);
        }
        Ok(read)
    }
}

fn status(status: Status, receive: bool) -> c_uint {
    match status {
        Status::Success => WC_SUCCESS,
        Status::LocalProtection | Status::LocalDma => WC_LOC_PROT_ERR,
        Status::BadRequest => WC_LOC_QP_OP_ERR,
        Status::Flushed | Status::Destroyed => WC_WR_FLUSH_ERR,
        // Of messages.
        Status::Length if receive => WC_LOC_LEN_ERR,
        Status::Length => WC_REM_INV_REQ_ERR,
        Status::ReceiverNotReady => WC_RNR_RETRY_EXC_ERR,
        Status::Unheard | Status::RetryExceeded | Status::GrantTimeout => WC_RETRY_EXC_ERR,
        _ => WC_GENERAL_ERR,
    }
}

/// What a program is told of the end of a request.
fn convert(nic: &Nic, done: &WorkCompletion, ready: &mut VecDeque<ibv_wc>) {
    // Of a queue pair that is gone nobody hears.
    let Some(pair) = nic.pair(done.endpoint) else { return };
    if done.event != CompletionEvent::Ended {
        return;
    }
    let success = done.status == Status::Success;
    let mut wc = ibv_wc {
        status: status(done.status, done.receive),
        vendor_err: if success { 0 } else { done.status as u32 },
        byte_len: done.len,
        ..empty(0, pair.number)
    };
    if !done.receive {
        // In the order of their posts, which messages do not end in.
        let mut sends = lock(&pair.sends);
        sends.end(done.work_id, wc);
        while let Some((request, end)) = sends.take_ended() {
            if request.signaled || end.status != WC_SUCCESS {
                ready.push_back(ibv_wc { wr_id: request.wr_id, ..end });
            }
        }
        return;
    }
    let Some(wr_id) = pair.receives.ended(nic, done) else { return };
    wc.wr_id = wr_id;
    wc.opcode = WC_RECV;
    if pair.reliable {
        wc.byte_len += GRH_LEN as u32;
    }
    if done.datagram.is_some() || pair.reliable {
        wc.wc_flags |= WC_GRH;
        wc.pkey_index = done.datagram.map_or(0, |source| source.pkey_index);
        wc.src_qp = done.peer_endpoint;
        wc.sl = if gid_ipv4(&done.peer_gid).is_some() { SL_ROCE_IPV4 } else { SL_ROCE_IPV6 };
    }
    if let Some(immediate) = done.immediate {
        wc.wc_flags |= WC_WITH_IMM;
        wc.imm_data = immediate.to_be();
    }
    ready.push_back(wc);
}

/// The end of a request that never began.
pub fn flushed(wr_id: u64, qp_num: u32, opcode: c_uint) -> ibv_wc {
    ibv_wc { status: WC_WR_FLUSH_ERR, opcode, ..empty(wr_id, qp_num) }
}

/// The end of a request, of which nothing is said yet.
pub fn empty(wr_id: u64, qp_num: u32) -> ibv_wc {
    ibv_wc {
        wr_id,
        status: WC_SUCCESS,
        opcode: WC_SEND,
        vendor_err: 0,
        byte_len: 0,
        imm_data: 0,
        qp_num,
        src_qp: 0,
        wc_flags: 0,
        pkey_index: 0,
        slid: 0,
        sl: 0,
        dlid_path_bits: 0,
    }
}
