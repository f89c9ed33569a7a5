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
//! its way, and the NIC holds nothing for a pair that has nothing posted. This library
//! brings completions into order, and starts a request only when what RC promises about
//! those before it holds: nothing behind a write or a read begins before that has ended.
//!
//! Reads and atomics are notes to the peer's library, which answers with a message; the
//! end of a write with immediate is told by a note. Pairs with a shared receive queue have
//! an endpoint of that queue's, and get one message at a time: see [`shared`].

mod bytes;
mod carrier;
mod ends;
mod inside;
mod note;
mod order;
pub mod shared;

use std::ffi::{c_int, c_uint};
use std::sync::{Arc, Mutex};

use tessera_driver::{AddressHandle, RemoteMemory, Status};

use crate::ffi::{ibv_qp_attr, ibv_qp_cap, ibv_recv_wr, ibv_send_wr};
use crate::memory::{total, Domain, Member, ACCESS_REMOTE_ATOMIC, ACCESS_REMOTE_READ};
use crate::nic::{lock, Nic};
use crate::pair::{
    buffers, each, MAX_INLINE, MAX_REQUESTS, MAX_SGE, QPS_ERR, QPS_INIT, QPS_RESET, QPS_RTR, QPS_RTS,
    QP_STATE, SEND_INLINE, SEND_SIGNALED, WR_SEND, WR_SEND_WITH_IMM,
};
use crate::queue::{Queue, WC_WR_FLUSH_ERR};
use crate::receives::SharedQueue;
use bytes::Bytes;
pub use carrier::Carrier;
use inside::{Inside, Op, Peer, Recv, RecvState, Stage, What};

/// Of all carriers: feedback comes back with it.
const QKEY: u32 = 0x5465_5243;
/// Messages that a pair has under way at most.
const UNDER_WAY: usize = 64;
/// Reads that a pair has under way at most.
pub const READS: u8 = 16;
/// Windows of device time that a pair's sends have to end when it is destroyed.
const PATIENCE: u32 = 2_000;
/// And its receives: these end as soon as the NIC has read that they are taken back.
const LONG_PATIENCE: u32 = 100_000;

const WR_RDMA_WRITE: c_uint = 0;
const WR_RDMA_WRITE_WITH_IMM: c_uint = 1;
const WR_RDMA_READ: c_uint = 4;
const WR_ATOMIC_CMP_AND_SWP: c_uint = 5;
const WR_ATOMIC_FETCH_AND_ADD: c_uint = 6;

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

/// Rights by which others have something done here.
const FOR_OTHERS: c_uint = ACCESS_REMOTE_READ | ACCESS_REMOTE_ATOMIC;

/// Of numbers that the fabric knows: the endpoint of the pair's shared receive queue.
const SHARED: u32 = 1 << 24;

/// The tag of a message to a pair, and the lower part of a work id of its requests.
fn tag(pair: u32, number: u32) -> u64 {
    u64::from(pair) << 32 | u64::from(number)
}

/// An RC queue pair.
pub struct RcPair {
    pub number: u32,
    carrier: Arc<Carrier>,
    queues: [Arc<Queue>; 2],
    promised: [usize; 2],
    domain: Arc<Domain>,
    shared: Option<Arc<SharedQueue>>,
    member: Mutex<Option<Member>>,
    inside: Mutex<Inside>,
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

/// How to create one.
pub struct Wanted<'a> {
    pub queues: [&'a Arc<Queue>; 2],
    pub shared: Option<&'a Arc<SharedQueue>>,
    pub cap: ibv_qp_cap,
    pub all_signaled: bool,
}

impl RcPair {
    /// Creates one and gives it a number that others can find it by.
    pub fn create(nic: &Nic, domain: &Arc<Domain>, wanted: &Wanted<'_>) -> Result<Arc<Self>, c_int> {
        let mut cap = wanted.cap;
        let too_many = cap.max_send_wr > MAX_REQUESTS
            || cap.max_recv_wr > MAX_REQUESTS
            || cap.max_send_sge > MAX_SGE
            || cap.max_recv_sge > MAX_SGE
            || cap.max_inline_data > MAX_INLINE;
        if too_many {
            return Err(libc::EINVAL);
        }
        cap.max_send_wr = cap.max_send_wr.max(1);
        cap.max_recv_wr = if wanted.shared.is_some() { 0 } else { cap.max_recv_wr.max(1) };
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
        let reached = wanted.shared.map(|shared| shared.carry(nic)).transpose()?;
        // SAFETY: all of it is numbers, for which zero is good.
        let mut attr: ibv_qp_attr = unsafe { std::mem::zeroed() };
        (attr.cap, attr.path_mtu, attr.port_num) = (cap, 5, 1);
        let inside = Inside::new(attr, wanted.all_signaled);
        let entries = wanted.shared.map_or(cap.max_recv_wr as usize, |shared| shared.entries);
        let promised = [cap.max_send_wr as usize, entries];
        let shared = wanted.shared.cloned();
        let make = |number| {
            let queues = wanted.queues.map(Arc::clone);
            let (carrier, member) = (carrier.clone(), Mutex::new(Some(Member::of(domain))));
            let (domain, inside) = (domain.clone(), Mutex::new(inside));
            Arc::new(Self { number, carrier, queues, promised, domain, shared, member, inside })
        };
        let pair = nic.add_rc_pair(make)?;
        for (queue, promised) in pair.queues.iter().zip(promised) {
            queue.note(promised);
        }
        let announced = nic.remote.announce(pair.number, Some(carrier.number)).and_then(|()| match reached {
            Some(endpoint) => nic.remote.announce(pair.number | SHARED, Some(endpoint)),
            None => Ok(()),
        });
        if let Err(error) = announced {
            nic.lost(&error);
            pair.destroy(nic);
            return Err(libc::EIO);
        }
        Ok(pair)
    }

    pub fn attr(&self) -> ibv_qp_attr {
        lock(&self.inside).attr
    }

    pub fn all_signaled(&self) -> bool {
        lock(&self.inside).all_signaled
    }

    /// Moves to another state.
    pub fn modify(&self, nic: &Arc<Nic>, wanted: &ibv_qp_attr, mask: c_int) -> Result<(), c_int> {
        let mut inside = lock(&self.inside);
        let now = inside.attr.qp_state;
        let next = if mask & QP_STATE != 0 { wanted.qp_state } else { now };
        let untouched = inside.is_untouched();
        let possible = match next {
            QPS_RESET => untouched,
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
            let find = |number: u32| -> Result<_, c_int> {
                let found = nic.remote.find(gid, number).map_err(|error| {
                    nic.lost(&error);
                    libc::EIO
                })?;
                Ok(found.map(|(mac, endpoint)| AddressHandle::new(mac, gid, endpoint, QKEY)))
            };
            let number = wanted.dest_qp_num & 0xFF_FFFF;
            let to = find(number)?.ok_or(libc::ENETUNREACH)?;
            inside.peer = Some(Peer { to, shared: find(number | SHARED)? });
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
        // What others read of this process, they read while it does something else.
        if next != QPS_RESET && inside.attr.qp_access_flags & FOR_OTHERS != 0 {
            nic.serve_others()?;
        }
        if next > QPS_INIT {
            let unheard = std::mem::take(&mut inside.unheard);
            drop(inside);
            unheard.into_iter().for_each(|ask| self.carrier.hand_in(nic, ask));
        }
        Ok(())
    }

    /// Posts a list of sends, writes, reads and atomics.
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
        // SAFETY: as the caller says.
        let list = unsafe { buffers(wr.sg_list, wr.num_sge, cap.max_send_sge)? };
        // SAFETY: numbers, whichever of the union it is.
        let (rdma, [address, compare, swap, rkey]) = unsafe { (wr.wr.rdma, wr.wr.atomic) };
        let remote = RemoteMemory { address: rdma.remote_addr, rkey: rdma.rkey };
        // Which of the two that share these bytes, the program's header says.
        let atomic = RemoteMemory { address, rkey: rkey as u32 };
        let number = inside.next_send;
        let immediate = Some(u32::from_be(wr.imm_data));
        let what = match wr.opcode {
            WR_SEND => What::Send { number, immediate: None },
            WR_SEND_WITH_IMM => What::Send { number, immediate },
            WR_RDMA_WRITE => What::Write { remote },
            WR_RDMA_WRITE_WITH_IMM => What::WriteAndTell { remote, number, immediate: wr.imm_data },
            WR_RDMA_READ => What::Read { remote },
            WR_ATOMIC_CMP_AND_SWP => What::Atomic { remote: atomic, compare: Some(compare), value: swap },
            WR_ATOMIC_FETCH_AND_ADD => What::Atomic { remote: atomic, compare: None, value: compare },
            _ => return Err(libc::EINVAL),
        };
        let inline = wr.send_flags & SEND_INLINE != 0;
        let bad = match what {
            What::Read { .. } => inline,
            What::Atomic { .. } => inline || total(list) != 8,
            _ => inline && total(list) > cap.max_inline_data as usize,
        };
        if bad || u32::try_from(total(list)).is_err() {
            return Err(libc::EINVAL);
        }
        let (domain, pool) = (&self.domain, &self.carrier.pool);
        let bytes = match inline {
            true => Bytes::here(domain, pool, list)?,
            false if what.is_asked_for() => Bytes::into(nic, domain, pool, list)?,
            false => Bytes::of(nic, domain, pool, list)?,
        };
        if !what.is_asked_for() {
            // SAFETY: the program's buffers are to be read, by what it says.
            unsafe { bytes.gather() };
        }
        if what.number().is_some() {
            inside.next_send = number.wrapping_add(1);
        }
        let signaled = inside.all_signaled || wr.send_flags & SEND_SIGNALED != 0;
        let stage = match inside.attr.qp_state {
            QPS_ERR => Stage::Done(WC_WR_FLUSH_ERR),
            _ => Stage::Waiting,
        };
        inside.ops.push_back(Op::new(wr.wr_id, signaled, bytes, what, stage));
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
        if inside.attr.qp_state == QPS_RESET || self.shared.is_some() {
            return Err((first, libc::EINVAL));
        }
        let cap = inside.attr.cap;
        let mut post = |wr: &ibv_recv_wr| {
            if inside.recvs.len() >= cap.max_recv_wr as usize {
                return Err(libc::ENOMEM);
            }
            // SAFETY: as the caller says.
            let list = unsafe { buffers(wr.sg_list, wr.num_sge, cap.max_recv_sge)? };
            let bytes = Bytes::into(nic, &self.domain, &self.carrier.pool, list)?;
            let state = match inside.attr.qp_state {
                QPS_ERR => RecvState::Done(WC_WR_FLUSH_ERR),
                _ => RecvState::Waiting,
            };
            inside.add_recv(Recv::new(wr.wr_id, bytes, state));
            Ok(())
        };
        // SAFETY: as the caller says.
        let posted = unsafe { each(first, |wr| &*wr, &mut post) };
        self.advance(nic, &mut inside);
        posted
    }

    /// Whom a pair elsewhere that says it is this one's peer is answered by, and what it may
    /// ask for.
    fn serves(&self, from: u32, gid: &[u8; 16]) -> Option<(AddressHandle, Arc<Domain>, c_uint)> {
        let inside = lock(&self.inside);
        let attr = &inside.attr;
        let is_joined = attr.qp_state == QPS_RTR || attr.qp_state == QPS_RTS;
        let peer = inside
            .peer
            .as_ref()
            .filter(|peer| is_joined && attr.dest_qp_num == from && peer.to.gid == *gid)?;
        Some((peer.to, self.domain.clone(), attr.qp_access_flags))
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
        if self.shared.is_some() {
            let _ = nic.remote.announce(self.number | SHARED, None);
        }
        let left = |windows: u32| {
            let mut inside = lock(&self.inside);
            self.fail(&mut inside);
            self.advance(nic, &mut inside);
            inside.has_receives() || windows < PATIENCE && !inside.ops.is_empty()
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
