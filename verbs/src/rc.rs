//! RC queue pairs without queue pairs in the NIC.
//!
//! ```text
//!  RC pair 1 ─┐                       tag = peer's pair, running number       ┌─ RC pair 7
//!  RC pair 2 ─┼── carrier (endpoint) ── messages, in any order ── carrier ────┼─ RC pair 8
//!  RC pair 3 ─┘        of a domain                                            └─ ...
//! ```
//!
//! All RC pairs of a protection domain share one endpoint for reliable messages. A send's
//! tag is the peer's pair and the send's number there; the receive of that number waits
//! for that tag. So every message ends in the receive it is for, whatever overtakes it on
//! its way, and the NIC holds nothing for a pair that has nothing under way. This library
//! brings completions into order, and starts a request only when what RC promises about
//! those before it holds: nothing behind a write begins before that write has ended.

use std::collections::VecDeque;
use std::ffi::{c_int, c_uint};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use tessera_driver::{
    Access, AddressHandle, CompletionEvent, CompletionQueue, DmaMemory, Endpoint, EndpointOptions,
    MemoryRegion, PostError, RecvRequest, RemoteMemory, SendRequest, Status, WorkCompletion, WriteRequest,
};

use crate::ffi::{ibv_qp_attr, ibv_qp_cap, ibv_recv_wr, ibv_send_wr, ibv_sge, ibv_wc};
use crate::memory::{check, find, gather, scatter, total, Domain, Member, Registered};
use crate::nic::{lock, Errno, Nic};
use crate::pair::{
    buffers, each, MAX_INLINE, MAX_REQUESTS, MAX_SGE, QPS_ERR, QPS_INIT, QPS_RESET, QPS_RTR, QPS_RTS,
    QP_STATE, SEND_INLINE, SEND_SIGNALED, WR_SEND, WR_SEND_WITH_IMM,
};
use crate::queue::{empty, Queue, WC_RECV, WC_SEND, WC_WITH_IMM, WC_WR_FLUSH_ERR};

/// Of all carriers: feedback comes back with it.
const QKEY: u32 = 0x5465_5243;
const SEND_ENTRIES: usize = 4096;
const RECV_ENTRIES: usize = 8192;
/// A send takes one entry, a receive two and, cancelled, three.
const QUEUE_ENTRIES: usize = 1 << 15;
/// Messages that a pair has under way at most.
const UNDER_WAY: usize = 64;
/// Windows of device time that a pair's sends have to end when it is destroyed.
const PATIENCE: u32 = 2_000;
/// And its receives: these end as soon as the NIC has read that they are taken back.
const LONG_PATIENCE: u32 = 100_000;

const WR_RDMA_WRITE: c_uint = 0;
const WC_RDMA_WRITE: c_uint = 1;

const WC_LOC_LEN_ERR: c_uint = 1;
const WC_LOC_PROT_ERR: c_uint = 4;
const WC_REM_INV_REQ_ERR: c_uint = 9;
const WC_REM_ACCESS_ERR: c_uint = 10;
const WC_REM_OP_ERR: c_uint = 11;
const WC_RETRY_EXC_ERR: c_uint = 12;
const WC_RNR_RETRY_EXC_ERR: c_uint = 13;

const QP_AV: c_int = 1 << 7;
const QP_PATH_MTU: c_int = 1 << 8;
const QP_RNR_RETRY: c_int = 1 << 11;
const QP_DEST_QPN: c_int = 1 << 20;
/// Of `rnr_retry`: for ever.
const RNR_FOR_EVER: u8 = 7;

/// Of work ids: a receive.
const RECEIVE: u64 = 1 << 63;

/// The endpoint that the RC pairs of a domain share.
pub struct Carrier {
    endpoint: Mutex<Endpoint>,
    queue: Mutex<CompletionQueue>,
    number: u32,
}

impl Carrier {
    fn new(nic: &Nic, domain: &Domain) -> Result<Self, c_int> {
        let queue = nic.context.create_cq(QUEUE_ENTRIES).map_err(|error| error.errno())?;
        let options = EndpointOptions {
            qkey: QKEY,
            send_entries: SEND_ENTRIES,
            recv_entries: RECV_ENTRIES,
            tags: true,
            ..EndpointOptions::default()
        };
        let endpoint = domain.pd.create_endpoint(&options, &queue, &queue).map_err(|error| error.errno())?;
        let number = endpoint.number();
        Ok(Self { endpoint: Mutex::new(endpoint), queue: Mutex::new(queue), number })
    }

    /// Hands what has ended to the pairs it is of; says how many things that were.
    pub fn progress(&self, nic: &Nic) -> Result<usize, c_int> {
        let mut done = [WorkCompletion::default(); 64];
        let read = lock(&self.queue).poll(&mut done).map_err(|error| {
            nic.lost(&error);
            libc::EIO
        })?;
        for done in &done[..read] {
            let number = (done.work_id >> 32) as u32 & 0xFF_FFFF;
            if let Some(pair) = nic.rc_pair(number) {
                pair.ended(nic, done);
            }
        }
        Ok(read)
    }
}

/// Bytes of a request.
enum Bytes {
    /// Where the program has them.
    There(Arc<Registered>, Range<usize>),
    /// In memory of this library's, for the buffers given.
    Here(MemoryRegion, Vec<ibv_sge>),
}

impl Bytes {
    fn region(&self) -> (&MemoryRegion, Range<usize>) {
        match self {
            Self::There(registered, range) => (&registered.region, range.clone()),
            Self::Here(region, _) => (region, 0..region.len()),
        }
    }

    /// Of a program's buffers; of several, or of none, memory of their own.
    fn of(nic: &Nic, domain: &Arc<Domain>, list: &[ibv_sge], access: Access) -> Result<Self, c_int> {
        if let [one] = list {
            let (region, range) = find(nic, domain, one)?;
            return Ok(Self::There(region, range));
        }
        check(nic, domain, list)?;
        Self::here(domain, list, access)
    }

    fn here(domain: &Domain, list: &[ibv_sge], access: Access) -> Result<Self, c_int> {
        let region =
            domain.pd.register(&DmaMemory::new(total(list)), access).map_err(|error| error.errno())?;
        Ok(Self::Here(region, list.to_vec()))
    }
}

enum State {
    Waiting,
    UnderWay,
    Done(c_uint),
}

struct Op {
    wr_id: u64,
    signaled: bool,
    bytes: Bytes,
    /// Of a write: where to. Else a send, with its number.
    write: Option<RemoteMemory>,
    number: u32,
    immediate: Option<u32>,
    state: State,
}

struct Recv {
    wr_id: u64,
    bytes: Bytes,
    state: State,
    /// The NIC has said that it is in place, and it has not been taken back.
    in_place: bool,
    len: u32,
    immediate: Option<u32>,
}

/// An RC queue pair.
pub struct RcPair {
    pub number: u32,
    carrier: Arc<Carrier>,
    queues: [Arc<Queue>; 2],
    promised: [usize; 2],
    domain: Arc<Domain>,
    member: Mutex<Option<Member>>,
    inside: Mutex<Inside>,
}

struct Inside {
    /// Destroyed: what still ends is told to nobody.
    gone: bool,
    attr: ibv_qp_attr,
    all_signaled: bool,
    peer: Option<AddressHandle>,
    /// Requests in the order of their posts, and the running number of the first of each.
    ops: VecDeque<Op>,
    first_op: u32,
    /// Number of the next send, as the peer counts its receives.
    next_send: u32,
    recvs: VecDeque<Recv>,
    first_recv: u32,
}

/// What a status is to an RC program.
fn code(status: Status) -> c_uint {
    match status {
        Status::Success => 0,
        Status::Length => WC_REM_INV_REQ_ERR,
        Status::RemoteAccess => WC_REM_ACCESS_ERR,
        Status::ReceiverNotReady => WC_RNR_RETRY_EXC_ERR,
        Status::Unheard | Status::RetryExceeded | Status::GrantTimeout | Status::NoContext => {
            WC_RETRY_EXC_ERR
        }
        Status::LocalProtection | Status::LocalDma => WC_LOC_PROT_ERR,
        Status::Flushed | Status::Destroyed => WC_WR_FLUSH_ERR,
        _ => WC_REM_OP_ERR,
    }
}

impl RcPair {
    /// Creates one and gives it a number that others can find it by.
    pub fn create(
        nic: &Nic,
        domain: &Arc<Domain>,
        queues: [&Arc<Queue>; 2],
        mut cap: ibv_qp_cap,
        all_signaled: bool,
    ) -> Result<Arc<Self>, c_int> {
        let too_many = cap.max_send_wr > MAX_REQUESTS
            || cap.max_recv_wr > MAX_REQUESTS
            || cap.max_send_sge > MAX_SGE
            || cap.max_recv_sge > MAX_SGE
            || cap.max_inline_data > MAX_INLINE;
        if too_many {
            return Err(libc::EINVAL);
        }
        (cap.max_send_wr, cap.max_recv_wr) = (cap.max_send_wr.max(1), cap.max_recv_wr.max(1));
        (cap.max_send_sge, cap.max_recv_sge) = (cap.max_send_sge.max(1), cap.max_recv_sge.max(1));
        let carrier = {
            let mut carrier = lock(&domain.carrier);
            match &*carrier {
                Some(carrier) => carrier.clone(),
                None => {
                    let made = Arc::new(Carrier::new(nic, domain)?);
                    nic.add_carrier(&made);
                    carrier.insert(made).clone()
                }
            }
        };
        // SAFETY: all of it is numbers, for which zero is good.
        let mut attr: ibv_qp_attr = unsafe { std::mem::zeroed() };
        (attr.cap, attr.path_mtu, attr.port_num) = (cap, 5, 1);
        let inside = Inside {
            gone: false,
            attr,
            all_signaled,
            peer: None,
            ops: VecDeque::new(),
            first_op: 0,
            next_send: 0,
            recvs: VecDeque::new(),
            first_recv: 0,
        };
        let promised = [cap.max_send_wr as usize, cap.max_recv_wr as usize];
        let make = |number| {
            let queues = queues.map(Arc::clone);
            let (carrier, member) = (carrier.clone(), Mutex::new(Some(Member::of(domain))));
            let (domain, inside) = (domain.clone(), Mutex::new(inside));
            Arc::new(Self { number, carrier, queues, promised, domain, member, inside })
        };
        let pair = nic.add_rc_pair(make)?;
        for (queue, promised) in pair.queues.iter().zip(promised) {
            queue.note(promised);
        }
        if let Err(error) = nic.remote.announce(pair.number, Some(carrier.number)) {
            nic.lost(&error);
            pair.destroy(nic);
            return Err(libc::EIO);
        }
        Ok(pair)
    }

    pub fn attr(&self) -> ibv_qp_attr {
        lock(&self.inside).attr
    }

    /// The tag of a message to a pair.
    fn tag(pair: u32, number: u32) -> u64 {
        u64::from(pair) << 32 | u64::from(number)
    }

    /// Moves to another state.
    pub fn modify(&self, nic: &Nic, wanted: &ibv_qp_attr, mask: c_int) -> Result<(), c_int> {
        let mut inside = lock(&self.inside);
        let now = inside.attr.qp_state;
        let next = if mask & QP_STATE != 0 { wanted.qp_state } else { now };
        let untouched = inside.next_send == 0 && inside.ops.is_empty();
        let possible = match next {
            QPS_RESET => untouched && inside.recvs.is_empty() && inside.first_recv == 0,
            QPS_INIT => now <= QPS_INIT,
            QPS_RTR => now == QPS_INIT && mask & QP_AV != 0 && mask & QP_DEST_QPN != 0,
            QPS_RTS => now == QPS_RTR || now == QPS_RTS,
            QPS_ERR => now != QPS_RESET,
            _ => false,
        };
        if !possible {
            // A used one cannot begin anew: its messages may still be on their way.
            return Err(if next == QPS_RESET { libc::EOPNOTSUPP } else { libc::EINVAL });
        }
        if next == QPS_RTR && now == QPS_INIT {
            let gid = wanted.ah_attr.grh.dgid.raw;
            if wanted.ah_attr.is_global == 0 {
                return Err(libc::EINVAL);
            }
            let found = nic.remote.find(gid, wanted.dest_qp_num).map_err(|error| {
                nic.lost(&error);
                libc::EIO
            })?;
            let (mac, endpoint) = found.ok_or(libc::ENETUNREACH)?;
            inside.peer = Some(AddressHandle::new(mac, gid, endpoint, QKEY));
            inside.attr.ah_attr = wanted.ah_attr;
            inside.attr.dest_qp_num = wanted.dest_qp_num;
        }
        if mask & QP_PATH_MTU != 0 {
            if !(1..=5).contains(&wanted.path_mtu) {
                return Err(libc::EINVAL);
            }
            inside.attr.path_mtu = wanted.path_mtu;
        }
        let attr = &mut inside.attr;
        let given = |bit: c_int| mask & 1 << bit != 0;
        if given(3) {
            attr.qp_access_flags = wanted.qp_access_flags;
        }
        if given(4) {
            attr.pkey_index = wanted.pkey_index;
        }
        if given(5) {
            attr.port_num = wanted.port_num;
        }
        if given(9) {
            attr.timeout = wanted.timeout;
        }
        if given(10) {
            attr.retry_cnt = wanted.retry_cnt;
        }
        if mask & QP_RNR_RETRY != 0 {
            attr.rnr_retry = wanted.rnr_retry;
        }
        if given(12) {
            attr.rq_psn = wanted.rq_psn;
        }
        if given(13) {
            attr.max_rd_atomic = wanted.max_rd_atomic;
        }
        if given(15) {
            attr.min_rnr_timer = wanted.min_rnr_timer;
        }
        if given(16) {
            attr.sq_psn = wanted.sq_psn;
        }
        if given(17) {
            attr.max_dest_rd_atomic = wanted.max_dest_rd_atomic;
        }
        (attr.qp_state, attr.cur_qp_state) = (next, next);
        if next == QPS_ERR {
            self.fail(&mut inside);
            self.advance(nic, &mut inside);
        }
        Ok(())
    }

    /// Posts a list of sends and writes.
    ///
    /// # Safety
    /// The list is what verbs say.
    pub unsafe fn post_sends(
        &self,
        nic: &Nic,
        first: *mut ibv_send_wr,
    ) -> Result<(), (*mut ibv_send_wr, c_int)> {
        let mut inside = lock(&self.inside);
        if inside.attr.qp_state != QPS_RTS && inside.attr.qp_state != QPS_ERR {
            return Err((first, libc::EINVAL));
        }
        // SAFETY: as the caller says.
        let posted = unsafe { each(first, |wr| &*wr, |wr| self.post_send(nic, &mut inside, wr)) };
        self.advance(nic, &mut inside);
        posted
    }

    unsafe fn post_send(&self, nic: &Nic, inside: &mut Inside, wr: &ibv_send_wr) -> Result<(), c_int> {
        let cap = inside.attr.cap;
        if inside.ops.len() >= cap.max_send_wr as usize {
            return Err(libc::ENOMEM);
        }
        // SAFETY: as the caller says; of writes the union is this.
        let (list, rdma) = unsafe { (buffers(wr.sg_list, wr.num_sge, cap.max_send_sge)?, wr.wr.rdma) };
        let (write, immediate) = match wr.opcode {
            WR_SEND => (None, None),
            WR_SEND_WITH_IMM => (None, Some(u32::from_be(wr.imm_data))),
            WR_RDMA_WRITE => (Some(RemoteMemory { address: rdma.remote_addr, rkey: rdma.rkey }), None),
            _ => return Err(libc::EINVAL),
        };
        let domain = &self.domain;
        let bytes = if wr.send_flags & SEND_INLINE != 0 {
            if total(list) > cap.max_inline_data as usize {
                return Err(libc::EINVAL);
            }
            Bytes::here(domain, list, Access::READ)?
        } else {
            Bytes::of(nic, domain, list, Access::READ)?
        };
        if let Bytes::Here(region, list) = &bytes {
            // SAFETY: the program's buffers are to be read, by what it says.
            unsafe { gather(list, region.memory(), 0) };
        }
        let number = inside.next_send;
        if write.is_none() {
            inside.next_send = number.wrapping_add(1);
        }
        let signaled = inside.all_signaled || wr.send_flags & SEND_SIGNALED != 0;
        let state = match inside.attr.qp_state {
            QPS_ERR => State::Done(WC_WR_FLUSH_ERR),
            _ => State::Waiting,
        };
        inside.ops.push_back(Op { wr_id: wr.wr_id, signaled, bytes, write, number, immediate, state });
        Ok(())
    }

    /// Posts a list of receives.
    ///
    /// # Safety
    /// The list is what verbs say.
    pub unsafe fn post_receives(
        &self,
        nic: &Nic,
        first: *mut ibv_recv_wr,
    ) -> Result<(), (*mut ibv_recv_wr, c_int)> {
        let mut inside = lock(&self.inside);
        if inside.attr.qp_state == QPS_RESET {
            return Err((first, libc::EINVAL));
        }
        let cap = inside.attr.cap;
        let mut post = |wr: &ibv_recv_wr| {
            if inside.recvs.len() >= cap.max_recv_wr as usize {
                return Err(libc::ENOMEM);
            }
            // SAFETY: as the caller says.
            let list = unsafe { buffers(wr.sg_list, wr.num_sge, cap.max_recv_sge)? };
            let bytes = Bytes::of(nic, &self.domain, list, Access::LOCAL_WRITE)?;
            let state = match inside.attr.qp_state {
                QPS_ERR => State::Done(WC_WR_FLUSH_ERR),
                _ => State::Waiting,
            };
            inside.recvs.push_back(Recv {
                wr_id: wr.wr_id,
                bytes,
                state,
                in_place: false,
                len: 0,
                immediate: None,
            });
            Ok(())
        };
        // SAFETY: as the caller says.
        let posted = unsafe { each(first, |wr| &*wr, &mut post) };
        self.advance(nic, &mut inside);
        posted
    }

    /// Something of it has ended in the NIC, or is in place there.
    fn ended(&self, nic: &Nic, done: &WorkCompletion) {
        let mut inside = lock(&self.inside);
        let inside = &mut *inside;
        let number = done.work_id as u32;
        let failed = inside.attr.qp_state == QPS_ERR;
        if done.work_id & RECEIVE == 0 {
            let index = number.wrapping_sub(inside.first_op) as usize;
            let Some(op) = inside.ops.get_mut(index) else { return };
            let patient = inside.attr.rnr_retry == RNR_FOR_EVER && !failed;
            op.state = match done.status {
                Status::ReceiverNotReady if patient => State::Waiting,
                _ if failed => State::Done(WC_WR_FLUSH_ERR),
                status => State::Done(code(status)),
            };
        } else {
            let index = number.wrapping_sub(inside.first_recv) as usize;
            let Some(recv) = inside.recvs.get_mut(index) else { return };
            match (done.event, done.status) {
                (CompletionEvent::Posted, _) => recv.in_place = true,
                (CompletionEvent::Cancelled, Status::Success) => {
                    (recv.in_place, recv.state) = (false, State::Done(WC_WR_FLUSH_ERR));
                }
                // Its message is on its way and ends it, or the cancel is tried again.
                (CompletionEvent::Cancelled, status) => recv.in_place = status == Status::LocalDma,
                (CompletionEvent::Unexpected, _) => {}
                (CompletionEvent::Ended, Status::NoTagSpace) if !failed => recv.state = State::Waiting,
                (CompletionEvent::Ended, status) => {
                    (recv.len, recv.immediate) = (done.len, done.immediate);
                    recv.in_place = false;
                    recv.state = State::Done(match status {
                        Status::Success => 0,
                        Status::Length => WC_LOC_LEN_ERR,
                        _ if failed => WC_WR_FLUSH_ERR,
                        status => code(status),
                    });
                    if let (Status::Success, Bytes::Here(region, list)) = (status, &recv.bytes) {
                        // SAFETY: the program said so when it posted the receive.
                        unsafe { scatter(list, region.memory(), 0, done.len as usize) };
                    }
                }
            }
        }
        self.advance(nic, inside);
        if inside.gone && inside.ops.is_empty() {
            nic.remove_rc_pair(self.number);
        }
    }

    /// Nothing is begun any more, and what can be taken back is.
    fn fail(&self, inside: &mut Inside) {
        (inside.attr.qp_state, inside.attr.cur_qp_state) = (QPS_ERR, QPS_ERR);
        for op in inside.ops.iter_mut().filter(|op| matches!(op.state, State::Waiting)) {
            op.state = State::Done(WC_WR_FLUSH_ERR);
        }
        for recv in inside.recvs.iter_mut().filter(|recv| matches!(recv.state, State::Waiting)) {
            recv.state = State::Done(WC_WR_FLUSH_ERR);
        }
    }

    /// Takes receives back that are in place.
    fn cancel(&self, inside: &mut Inside) {
        let mut endpoint = lock(&self.carrier.endpoint);
        for (number, recv) in (inside.first_recv..).zip(&mut inside.recvs) {
            if recv.in_place && matches!(recv.state, State::UnderWay) {
                let work_id = RECEIVE | Self::tag(self.number, number);
                if endpoint.cancel(Self::tag(self.number, number), work_id).is_err() {
                    // The ring is full: with the next end of anything.
                    return;
                }
                recv.in_place = false;
            }
        }
    }

    /// Begins what may begin, and tells of what has ended, in order.
    fn advance(&self, nic: &Nic, inside: &mut Inside) {
        if inside.attr.qp_state != QPS_ERR {
            self.begin(nic, inside);
        }
        self.tell(inside);
        if inside.attr.qp_state == QPS_ERR {
            self.cancel(inside);
        }
    }

    fn begin(&self, nic: &Nic, inside: &mut Inside) {
        let mut stuck = false;
        let mut endpoint = lock(&self.carrier.endpoint);
        for (number, recv) in (inside.first_recv..).zip(&mut inside.recvs) {
            if !matches!(recv.state, State::Waiting) {
                continue;
            }
            let (region, range) = recv.bytes.region();
            let tag = Self::tag(self.number, number);
            let request = RecvRequest { work_id: RECEIVE | tag, region, range };
            match endpoint.post_tagged_recv(tag, &request) {
                Ok(()) => recv.state = State::UnderWay,
                Err(PostError::RingFull { .. }) => {
                    stuck = true;
                    break;
                }
                Err(error) => recv.state = State::Done(refused(nic, &error)),
            }
        }
        let Some(to) = inside.peer.filter(|_| inside.attr.qp_state == QPS_RTS) else { return };
        let payload_size = 128 << inside.attr.path_mtu;
        let peer = inside.attr.dest_qp_num;
        let mut under_way = 0;
        for (id, op) in (inside.first_op..).zip(&mut inside.ops) {
            match op.state {
                State::Done(0) => continue,
                // Nothing behind it begins.
                State::Done(_) => break,
                State::UnderWay => {}
                State::Waiting if under_way >= UNDER_WAY => break,
                State::Waiting => {
                    let (region, range) = op.bytes.region();
                    let work_id = Self::tag(self.number, id);
                    let (immediate, round) = (op.immediate, None);
                    let posted = match op.write {
                        Some(remote) => endpoint.post_write(&WriteRequest {
                            work_id,
                            region,
                            range,
                            to,
                            remote,
                            immediate,
                            round,
                            payload_size,
                        }),
                        None => endpoint.post_send(&SendRequest {
                            work_id,
                            region,
                            range,
                            to,
                            tag: Self::tag(peer, op.number),
                            immediate,
                            round,
                            payload_size,
                        }),
                    };
                    match posted {
                        Ok(()) => op.state = State::UnderWay,
                        Err(PostError::RingFull { .. }) => {
                            stuck = true;
                            break;
                        }
                        Err(error) => {
                            op.state = State::Done(refused(nic, &error));
                            break;
                        }
                    }
                }
            }
            under_way += 1;
            // Its bytes are there before anything that comes behind it.
            if op.write.is_some() {
                break;
            }
        }
        drop(endpoint);
        if stuck {
            nic.hold_up(self.number);
        }
    }

    /// Tells of ends, as far as everything before has ended.
    fn tell(&self, inside: &mut Inside) {
        let gone = inside.gone;
        while let Some(State::Done(status)) = inside.ops.front().map(|op| &op.state) {
            let status = *status;
            let Some(op) = inside.ops.pop_front() else { break };
            inside.first_op = inside.first_op.wrapping_add(1);
            if status != 0 && inside.attr.qp_state != QPS_ERR {
                self.fail(inside);
            }
            if !gone && (status != 0 || op.signaled) {
                let opcode = if op.write.is_some() { WC_RDMA_WRITE } else { WC_SEND };
                self.queues[0].push([ibv_wc { status, opcode, ..empty(op.wr_id, self.number) }]);
            }
        }
        while let Some(State::Done(status)) = inside.recvs.front().map(|recv| &recv.state) {
            let status = *status;
            let Some(recv) = inside.recvs.pop_front() else { break };
            inside.first_recv = inside.first_recv.wrapping_add(1);
            if status != 0 && inside.attr.qp_state != QPS_ERR {
                self.fail(inside);
            }
            if gone {
                continue;
            }
            self.queues[1].push([ibv_wc {
                status,
                opcode: WC_RECV,
                byte_len: recv.len,
                src_qp: inside.attr.dest_qp_num,
                wc_flags: if recv.immediate.is_some() { WC_WITH_IMM } else { 0 },
                imm_data: recv.immediate.unwrap_or(0).to_be(),
                ..empty(recv.wr_id, self.number)
            }]);
        }
    }

    /// Goes on where a full ring held it up.
    pub fn go_on(&self, nic: &Nic) {
        let mut inside = lock(&self.inside);
        self.advance(nic, &mut inside);
    }

    /// Lets go of everything: receives are taken back. Sends that go on are waited for a
    /// while: later they end unheard, reading what is there then.
    pub fn destroy(&self, nic: &Nic) {
        // Of a lost simulator there is nobody to be told.
        let _ = nic.remote.announce(self.number, None);
        let left = |windows: u32| {
            let mut inside = lock(&self.inside);
            self.fail(&mut inside);
            self.advance(nic, &mut inside);
            !inside.recvs.is_empty() || windows < PATIENCE && !inside.ops.is_empty()
        };
        let mut windows = 0;
        while windows < LONG_PATIENCE && left(windows) {
            if !matches!(self.carrier.progress(nic), Ok(1..)) {
                if !nic.wait() {
                    break;
                }
                windows += 1;
            }
        }
        let mut inside = lock(&self.inside);
        inside.gone = true;
        if inside.ops.is_empty() {
            nic.remove_rc_pair(self.number);
        }
        drop(inside);
        for (queue, promised) in self.queues.iter().zip(self.promised) {
            queue.purge(self.number);
            queue.forget(promised);
        }
        lock(&self.member).take();
    }
}

/// The NIC takes no such request: what the program is told.
fn refused(nic: &Nic, error: &PostError) -> c_uint {
    if let PostError::Device(error) = error {
        nic.lost(error);
    }
    crate::queue::WC_LOC_QP_OP_ERR
}
