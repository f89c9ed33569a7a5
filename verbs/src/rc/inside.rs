//! What an RC pair has under way, and in which order it begins and ends.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_uint;

use tessera_driver::{
    AddressHandle, CompletionEvent, Endpoint, PostError, RecvRequest, RemoteMemory, SendRequest, Status,
    WorkCompletion, WriteRequest,
};

use super::bytes::Bytes;
use super::carrier::{reply_tag, work_id, OP, RECEIVE, REPLY};
use super::note::{Kind, Note};
use super::{code, shared, tag, RcPair, READS, UNDER_WAY, WC_LOC_LEN_ERR, WC_REM_OP_ERR};
use crate::ffi::{ibv_qp_attr, ibv_wc};
use crate::nic::{lock, Nic};
use crate::pair::{QPS_ERR, QPS_INIT, QPS_RTR, QPS_RTS};
use crate::queue::{empty, WC_LOC_QP_OP_ERR, WC_RECV, WC_SEND, WC_WITH_IMM, WC_WR_FLUSH_ERR};

const WC_RDMA_WRITE: c_uint = 1;
const WC_RDMA_READ: c_uint = 2;
const WC_COMP_SWAP: c_uint = 3;
const WC_FETCH_ADD: c_uint = 4;
pub const WC_RECV_RDMA_WITH_IMM: c_uint = WC_RECV + 1;

/// Of `rnr_retry`: for ever.
const RNR_FOR_EVER: u8 = 7;

/// Whom a pair is joined to.
#[derive(Clone, Copy)]
pub struct Peer {
    /// Its domain's carrier.
    pub to: AddressHandle,
    /// The endpoint of its shared receive queue, if it has one.
    pub shared: Option<AddressHandle>,
}

/// A request.
#[derive(Clone, Copy)]
pub enum What {
    /// A message, with its number at the peer.
    Send {
        number: u32,
        immediate: Option<u32>,
    },
    Write {
        remote: RemoteMemory,
    },
    /// A write that takes a receive; the immediate as the program has it.
    WriteAndTell {
        remote: RemoteMemory,
        number: u32,
        immediate: u32,
    },
    Read {
        remote: RemoteMemory,
    },
    /// Compare and swap, or without `compare`, fetch and add.
    Atomic {
        remote: RemoteMemory,
        compare: Option<u64>,
        value: u64,
    },
}

impl What {
    /// The peer sends the bytes.
    pub fn is_asked_for(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::Atomic { .. })
    }

    /// Of those that take a receive.
    pub fn number(&self) -> Option<u32> {
        match *self {
            Self::Send { number, .. } | Self::WriteAndTell { number, .. } => Some(number),
            _ => None,
        }
    }

    fn opcode(&self) -> c_uint {
        match self {
            Self::Send { .. } => WC_SEND,
            Self::Write { .. } | Self::WriteAndTell { .. } => WC_RDMA_WRITE,
            Self::Read { .. } => WC_RDMA_READ,
            Self::Atomic { compare: Some(_), .. } => WC_COMP_SWAP,
            Self::Atomic { compare: None, .. } => WC_FETCH_ADD,
        }
    }
}

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Waiting,
    /// A message or a write is on its way.
    UnderWay,
    /// Of a write with immediate: the bytes are there, the peer is not told.
    Written,
    /// It is being told.
    Telling,
    /// Of what is asked for: the NIC is given a receive for the answer.
    Placing,
    /// It has it.
    Placed,
    /// And the peer is asked.
    Asked,
    Done(c_uint),
}

/// The receive of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    Absent,
    /// Posted, and not in place yet.
    Posted,
    InPlace,
    /// Being taken back.
    Leaving,
}

pub struct Op {
    wr_id: u64,
    signaled: bool,
    bytes: Bytes,
    what: What,
    stage: Stage,
    reply: Reply,
    /// Why the peer cannot be asked: ends it once the receive is taken back.
    failure: Option<c_uint>,
}

impl Op {
    pub fn new(wr_id: u64, signaled: bool, bytes: Bytes, what: What, stage: Stage) -> Self {
        Self { wr_id, signaled, bytes, what, stage, reply: Reply::Absent, failure: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvState {
    /// To be given to the NIC.
    Waiting,
    /// It has made room for others, or found none: until somebody asks for it.
    Asleep,
    /// Given to the NIC.
    Posted,
    /// In place there.
    Placed,
    /// Being taken back.
    Leaving,
    Done(c_uint),
}

/// A write with immediate.
#[derive(Clone, Copy)]
struct Written {
    len: u32,
    immediate: u32,
}

pub struct Recv {
    wr_id: u64,
    bytes: Bytes,
    state: RecvState,
    len: u32,
    immediate: Option<u32>,
    /// It is a write's.
    written: Option<Written>,
    /// Taken back to be posted anew at once, or later.
    sleeps: bool,
}

impl Recv {
    pub fn new(wr_id: u64, bytes: Bytes, state: RecvState) -> Self {
        Self { wr_id, bytes, state, len: 0, immediate: None, written: None, sleeps: false }
    }

    /// Its write has ended, and the NIC does not have it.
    fn take_written(&mut self) -> bool {
        let Some(Written { len, immediate }) = self.written else { return false };
        (self.len, self.immediate) = (len, Some(immediate));
        self.state = RecvState::Done(0);
        true
    }
}

/// What changes of a pair.
pub struct Inside {
    /// Destroyed: what still ends is told to nobody.
    pub gone: bool,
    pub attr: ibv_qp_attr,
    pub all_signaled: bool,
    pub peer: Option<Peer>,
    /// Requests in the order of their posts, and the running number of the first of each.
    pub ops: VecDeque<Op>,
    first_op: u32,
    /// Number of the next that takes a receive, as the peer counts them.
    pub next_send: u32,
    pub recvs: VecDeque<Recv>,
    first_recv: u32,
    /// Receives that may be waiting to be given to the NIC.
    waiting: bool,
    /// They are more than there are places.
    crowded: bool,
    /// Something is to be taken back.
    leaving: bool,
    /// Writes with immediate whose receives are not posted yet.
    written: HashMap<u32, Written>,
    /// Of a shared receive queue: the number that comes next, and what came before its turn.
    next_shared: u32,
    early: Vec<(u32, ibv_wc)>,
}

impl Inside {
    pub fn new(attr: ibv_qp_attr, all_signaled: bool) -> Self {
        Self {
            gone: false,
            attr,
            all_signaled,
            peer: None,
            ops: VecDeque::new(),
            first_op: 0,
            next_send: 0,
            recvs: VecDeque::new(),
            first_recv: 0,
            waiting: false,
            crowded: false,
            leaving: false,
            written: HashMap::new(),
            next_shared: 0,
            early: Vec::new(),
        }
    }

    fn failed(&self) -> bool {
        self.attr.qp_state == QPS_ERR
    }

    /// Whether nothing was ever posted.
    pub fn is_untouched(&self) -> bool {
        let nothing_sent = self.next_send == 0 && self.first_op == 0 && self.ops.is_empty();
        nothing_sent && self.first_recv == 0 && self.recvs.is_empty() && self.next_shared == 0
    }

    /// Whether the NIC may still write into the program's memory.
    pub fn has_receives(&self) -> bool {
        !self.recvs.is_empty() || self.ops.iter().any(|op| op.reply != Reply::Absent)
    }

    /// One more receive, behind all others.
    pub fn add_recv(&mut self, mut recv: Recv) {
        let number = self.first_recv.wrapping_add(self.recvs.len() as u32);
        recv.written = self.written.remove(&number);
        if recv.state == RecvState::Waiting && !recv.take_written() {
            self.waiting = true;
        }
        self.recvs.push_back(recv);
    }

    fn op(&mut self, number: u32) -> Option<&mut Op> {
        self.ops.get_mut(number.wrapping_sub(self.first_op) as usize)
    }

    fn recv(&mut self, number: u32) -> Option<&mut Recv> {
        self.recvs.get_mut(number.wrapping_sub(self.first_recv) as usize)
    }

    /// Messages that find no receive are sent anew.
    fn is_patient(&self) -> bool {
        self.attr.rnr_retry == RNR_FOR_EVER && !self.failed()
    }
}

/// Which requests may begin behind those that have not ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    /// Other reads: nothing else changes what they read.
    Reads,
    Closed,
}

impl Gate {
    fn admits(self, what: &What) -> bool {
        self == Self::Open || self == Self::Reads && matches!(what, What::Read { .. })
    }

    /// Behind one more that has not ended.
    fn behind(self, what: &What, shared: bool) -> Self {
        match what {
            // A shared queue that later messages had used up would have none for this.
            What::Send { .. } if shared => Self::Closed,
            What::Send { .. } => self,
            What::Read { .. } => Self::Reads,
            _ => Self::Closed,
        }
    }
}

/// The NIC takes no such request: what the program is told.
fn refused(nic: &Nic, error: &PostError) -> c_uint {
    if let PostError::Device(error) = error {
        nic.lost(error);
    }
    WC_LOC_QP_OP_ERR
}

impl RcPair {
    /// Something of it has ended in the NIC, or is in place there.
    pub(super) fn ended(&self, nic: &Nic, kind: u8, number: u32, done: &WorkCompletion) {
        let mut inside = lock(&self.inside);
        let inside = &mut *inside;
        match kind {
            OP => self.sent(inside, number, done.status),
            REPLY => self.replied(inside, number, done),
            RECEIVE => self.received(inside, number, done),
            _ => return,
        }
        self.advance(nic, inside);
        if inside.gone && inside.ops.is_empty() {
            nic.remove_rc_pair(self.number);
        }
    }

    fn sent(&self, inside: &mut Inside, number: u32, status: Status) {
        let (patient, failed) = (inside.is_patient(), inside.failed());
        let Some(op) = inside.op(number) else { return };
        op.stage = match (op.stage, status) {
            (Stage::UnderWay, Status::ReceiverNotReady) if patient => Stage::Waiting,
            (Stage::Telling, Status::ReceiverNotReady) if patient => Stage::Written,
            _ if failed => Stage::Done(WC_WR_FLUSH_ERR),
            (Stage::UnderWay, Status::Success) if matches!(op.what, What::WriteAndTell { .. }) => {
                Stage::Written
            }
            (_, status) => Stage::Done(code(status)),
        };
    }

    /// A note about a request has been read by the peer's library, or will not be.
    pub(super) fn note_ended(&self, nic: &Nic, number: u32, status: Status) {
        let mut inside = lock(&self.inside);
        let inside = &mut *inside;
        let (patient, failed) = (inside.is_patient(), inside.failed());
        let Some(op) = inside.op(number) else { return };
        let again = status == Status::ReceiverNotReady && patient;
        match op.stage {
            Stage::Telling if again => op.stage = Stage::Written,
            Stage::Telling => op.stage = Stage::Done(if failed { WC_WR_FLUSH_ERR } else { code(status) }),
            Stage::Asked if again => op.stage = Stage::Placed,
            Stage::Asked if status != Status::Success => {
                op.failure = Some(code(status));
                inside.leaving = true;
            }
            // Its answer came first; or the note was one that asks for a receive.
            _ => {}
        }
        self.advance(nic, inside);
        if inside.gone && inside.ops.is_empty() {
            nic.remove_rc_pair(self.number);
        }
    }

    /// Of the receive for an answer.
    fn replied(&self, inside: &mut Inside, number: u32, done: &WorkCompletion) {
        let failed = inside.failed();
        let Some(op) = inside.op(number) else { return };
        match (done.event, done.status) {
            (CompletionEvent::Posted, _) => {
                op.reply = Reply::InPlace;
                if op.stage == Stage::Placing {
                    op.stage = Stage::Placed;
                }
            }
            (CompletionEvent::Cancelled, Status::Success) => {
                op.reply = Reply::Absent;
                match op.failure {
                    _ if failed => op.stage = Stage::Done(WC_WR_FLUSH_ERR),
                    Some(code) => op.stage = Stage::Done(code),
                    // Only to be posted behind others.
                    None => {}
                }
            }
            (CompletionEvent::Cancelled, Status::LocalDma) => op.reply = Reply::InPlace,
            // The answer is on its way and ends it.
            (CompletionEvent::Cancelled, _) | (CompletionEvent::Unexpected, _) => {}
            (CompletionEvent::Ended, Status::NoTagSpace) => {
                op.reply = Reply::Absent;
                if failed {
                    op.stage = Stage::Done(WC_WR_FLUSH_ERR);
                }
            }
            (CompletionEvent::Ended, status) => {
                op.reply = Reply::Absent;
                op.stage = Stage::Done(match (status, done.immediate) {
                    (Status::Success, Some(error)) => error,
                    (Status::Success, None) if done.len as usize == op.bytes.len() => 0,
                    (Status::Success | Status::Length, _) => WC_REM_OP_ERR,
                    _ if failed => WC_WR_FLUSH_ERR,
                    (status, _) => code(status),
                });
                if op.stage == Stage::Done(0) {
                    // SAFETY: the program said so when it posted the request.
                    unsafe { op.bytes.scatter(done.len as usize) };
                }
            }
        }
    }

    /// Of a receive.
    fn received(&self, inside: &mut Inside, number: u32, done: &WorkCompletion) {
        let failed = inside.failed();
        let Some(recv) = inside.recv(number) else { return };
        let mut sleeps = false;
        match (done.event, done.status) {
            (CompletionEvent::Posted, _) if recv.state == RecvState::Posted => recv.state = RecvState::Placed,
            (CompletionEvent::Cancelled, Status::Success) => {
                self.carrier.leave_place();
                if recv.take_written() {
                } else if failed {
                    recv.state = RecvState::Done(WC_WR_FLUSH_ERR);
                } else if recv.sleeps {
                    (recv.state, sleeps) = (RecvState::Asleep, true);
                } else {
                    recv.state = RecvState::Waiting;
                }
            }
            // Its message is on its way and ends it, or the cancel is tried again.
            (CompletionEvent::Cancelled, Status::LocalDma) => recv.state = RecvState::Placed,
            (CompletionEvent::Ended, status) => {
                self.carrier.leave_place();
                if status == Status::NoTagSpace && !failed {
                    if !recv.take_written() {
                        (recv.state, sleeps) = (RecvState::Asleep, true);
                    }
                } else {
                    (recv.len, recv.immediate) = (done.len, done.immediate);
                    recv.state = RecvState::Done(match status {
                        Status::Success => 0,
                        Status::Length => WC_LOC_LEN_ERR,
                        _ if failed => WC_WR_FLUSH_ERR,
                        status => code(status),
                    });
                    if status == Status::Success {
                        // SAFETY: the program said so when it posted the receive.
                        unsafe { recv.bytes.scatter(done.len as usize) };
                    }
                }
            }
            _ => {}
        }
        inside.waiting |= !sleeps;
        if sleeps {
            self.carrier.sleeps(self.number, number);
        }
    }

    /// The peer's library tells of a message to this pair.
    pub(super) fn noted(&self, nic: &Nic, note: &Note, gid: &[u8; 16]) {
        let mut inside = lock(&self.inside);
        let inside = &mut *inside;
        let state = inside.attr.qp_state;
        let joined = state == QPS_RTR || state == QPS_RTS;
        let is_peer =
            inside.peer.is_some_and(|peer| peer.to.gid == *gid) && inside.attr.dest_qp_num == note.from;
        if !joined || !is_peer {
            return;
        }
        if note.kind == Kind::Waits {
            drop_asleep(inside, note.number);
        } else {
            let written = Written { len: note.len, immediate: note.value as u32 };
            match inside.recv(note.number) {
                Some(recv) => {
                    recv.written = Some(written);
                    if matches!(recv.state, RecvState::Waiting | RecvState::Asleep) {
                        recv.take_written();
                    }
                    inside.leaving = true;
                }
                None => {
                    inside.written.insert(note.number, written);
                }
            }
        }
        self.advance(nic, inside);
    }

    /// A receive that made room is wanted in the NIC.
    pub(super) fn wake(&self, nic: &Nic, number: u32) {
        let mut inside = lock(&self.inside);
        drop_asleep(&mut inside, number);
        self.advance(nic, &mut inside);
    }

    /// Takes an old receive back.
    pub(super) fn make_room(&self, kind: u8, number: u32, sleeps: bool) -> bool {
        let mut inside = lock(&self.inside);
        let mut endpoint = self.carrier.endpoint();
        if kind == REPLY {
            let Some(op) = inside.op(number).filter(|op| op.reply == Reply::InPlace) else { return false };
            let (tag, id) = (reply_tag(self.number, number), work_id(REPLY, self.number, number));
            if endpoint.cancel(tag, id).is_ok() {
                op.reply = Reply::Leaving;
            }
            return true;
        }
        let Some(recv) = inside.recv(number).filter(|recv| recv.state == RecvState::Placed) else {
            return false;
        };
        let (tag, id) = (tag(self.number, number), work_id(RECEIVE, self.number, number));
        // Full: with the next turn.
        let cancelled = endpoint.cancel(tag, id).is_ok();
        if cancelled {
            (recv.state, recv.sleeps) = (RecvState::Leaving, sleeps);
        }
        cancelled
    }

    /// There is room for its receives.
    pub(super) fn has_room(&self, nic: &Nic) {
        let mut inside = lock(&self.inside);
        inside.crowded = false;
        self.advance(nic, &mut inside);
    }

    /// Whether a send is still under way: then its receive is asked for.
    pub(super) fn ask_for_receive(&self, number: u32) -> bool {
        let mut inside = lock(&self.inside);
        let (from, peer) = (self.number, inside.attr.dest_qp_num);
        let Some(to) = inside.peer.filter(|peer| peer.shared.is_none()) else { return false };
        let Some(op) = inside.op(number).filter(|op| op.stage == Stage::UnderWay) else { return false };
        let Some(message) = op.what.number() else { return false };
        let note = Note::new(Kind::Waits, peer, from, message);
        // Without room for it, the next time.
        let _ = self.carrier.send_note(&mut self.carrier.endpoint(), to.to, &note, number);
        true
    }

    /// Nothing is begun any more, and what can be taken back is.
    pub(super) fn fail(&self, inside: &mut Inside) {
        (inside.attr.qp_state, inside.attr.cur_qp_state) = (QPS_ERR, QPS_ERR);
        for op in &mut inside.ops {
            let is_idle = matches!(
                op.stage,
                Stage::Waiting | Stage::Written | Stage::Placing | Stage::Placed | Stage::Asked
            );
            if is_idle && op.reply == Reply::Absent {
                op.stage = Stage::Done(WC_WR_FLUSH_ERR);
            }
        }
        for recv in &mut inside.recvs {
            if matches!(recv.state, RecvState::Waiting | RecvState::Asleep) {
                recv.state = RecvState::Done(WC_WR_FLUSH_ERR);
            }
        }
        inside.leaving = true;
    }

    /// Begins what may begin, and tells of what has ended, in order.
    pub(super) fn advance(&self, nic: &Nic, inside: &mut Inside) {
        if !inside.failed() {
            self.begin(nic, inside);
        }
        self.tell(inside);
        if inside.leaving {
            self.take_back(nic, inside);
        }
    }

    /// Takes back receives that are in place and not to be any more.
    fn take_back(&self, nic: &Nic, inside: &mut Inside) {
        let failed = inside.failed();
        let mut endpoint = self.carrier.endpoint();
        let mut left = false;
        for (number, recv) in numbers(inside.first_recv).zip(&mut inside.recvs) {
            let wanted = (failed || recv.written.is_some()) && !matches!(recv.state, RecvState::Done(_));
            left |= wanted;
            if wanted && recv.state == RecvState::Placed {
                let id = work_id(RECEIVE, self.number, number);
                if endpoint.cancel(tag(self.number, number), id).is_err() {
                    // The ring is full: with the next turn.
                    return nic.hold_up(self.number);
                }
                recv.state = RecvState::Leaving;
            }
        }
        for (number, op) in numbers(inside.first_op).zip(&mut inside.ops) {
            let wanted = (failed || op.failure.is_some()) && op.reply != Reply::Absent;
            left |= wanted;
            if wanted && op.reply == Reply::InPlace {
                let id = work_id(REPLY, self.number, number);
                if endpoint.cancel(reply_tag(self.number, number), id).is_err() {
                    return nic.hold_up(self.number);
                }
                op.reply = Reply::Leaving;
            }
        }
        // What is on its way into the NIC is seen to when it is there.
        inside.leaving = left;
    }

    fn begin(&self, nic: &Nic, inside: &mut Inside) {
        let mut stuck = false;
        let mut endpoint = self.carrier.endpoint();
        if std::mem::take(&mut inside.waiting) {
            for (number, recv) in numbers(inside.first_recv).zip(&mut inside.recvs) {
                if recv.state != RecvState::Waiting {
                    continue;
                }
                if !self.carrier.take_place() {
                    inside.waiting = true;
                    if !std::mem::replace(&mut inside.crowded, true) {
                        self.carrier.call_later(self.number);
                    }
                    break;
                }
                let (region, range) = recv.bytes.region();
                let request = RecvRequest { work_id: work_id(RECEIVE, self.number, number), region, range };
                match endpoint.post_tagged_recv(tag(self.number, number), &request) {
                    Ok(()) => {
                        recv.state = RecvState::Posted;
                        continue;
                    }
                    Err(PostError::RingFull { .. }) => (stuck, inside.waiting) = (true, true),
                    Err(error) => recv.state = RecvState::Done(refused(nic, &error)),
                }
                self.carrier.leave_place();
                if stuck {
                    break;
                }
            }
        }
        let Some(peer) = inside.peer.filter(|_| inside.attr.qp_state == QPS_RTS) else {
            drop(endpoint);
            return if stuck {
                nic.hold_up(self.number)
            };
        };
        let (mut under_way, mut reads, mut gate) = (0, 0, Gate::Open);
        for (id, op) in numbers(inside.first_op).zip(&mut inside.ops) {
            match op.stage {
                Stage::Done(0) => continue,
                // Nothing behind it begins.
                Stage::Done(_) => break,
                Stage::Waiting if under_way >= UNDER_WAY || reads >= READS || !gate.admits(&op.what) => break,
                _ => {}
            }
            match self.step(&mut endpoint, &peer, &inside.attr, id, op) {
                Ok(true) => {}
                Ok(false) => {
                    stuck = true;
                    break;
                }
                Err(error) if op.reply == Reply::Absent => {
                    op.stage = Stage::Done(refused(nic, &error));
                    break;
                }
                Err(error) => {
                    (op.failure, inside.leaving) = (Some(refused(nic, &error)), true);
                    break;
                }
            }
            under_way += 1;
            reads += u8::from(matches!(op.what, What::Read { .. }));
            gate = gate.behind(&op.what, peer.shared.is_some());
            if gate == Gate::Closed {
                break;
            }
        }
        drop(endpoint);
        if stuck {
            nic.hold_up(self.number);
        }
    }

    /// Does what is next for a request. `false`: there is no room for it now.
    fn step(
        &self,
        endpoint: &mut Endpoint,
        peer: &Peer,
        attr: &ibv_qp_attr,
        id: u32,
        op: &mut Op,
    ) -> Result<bool, PostError> {
        let payload_size = 128 << attr.path_mtu;
        let (own, there) = (self.number, attr.dest_qp_num);
        let (region, range) = op.bytes.region();
        let len = range.len() as u32;
        let (work_id, round) = (work_id(OP, own, id), None);
        let full = |posted: Result<(), PostError>| match posted {
            Ok(()) => Ok(true),
            Err(PostError::RingFull { .. }) => Ok(false),
            Err(error) => Err(error),
        };
        // Where its receive was taken back, or was refused.
        if op.what.is_asked_for() && op.failure.is_none() && op.reply == Reply::Absent {
            let request = RecvRequest { work_id: super::carrier::work_id(REPLY, own, id), region, range };
            let posted = full(endpoint.post_tagged_recv(reply_tag(own, id), &request))?;
            if posted {
                op.reply = Reply::Posted;
                if op.stage != Stage::Asked {
                    op.stage = Stage::Placing;
                }
            }
            return Ok(posted);
        }
        let (posted, stage) = match (op.stage, op.what) {
            (Stage::Waiting, What::Send { number, immediate }) => {
                let (to, tag) = match peer.shared {
                    Some(to) => (to, shared::tag(there, number, None)),
                    None => (peer.to, tag(there, number)),
                };
                let request = SendRequest { work_id, region, range, to, tag, immediate, round, payload_size };
                let posted = full(endpoint.post_send(&request))?;
                if posted && peer.shared.is_none() {
                    self.carrier.is_patient(own, id);
                }
                (posted, Stage::UnderWay)
            }
            (Stage::Waiting, What::Write { remote } | What::WriteAndTell { remote, .. }) => {
                let tells = matches!(op.what, What::WriteAndTell { .. });
                if tells && len == 0 {
                    op.stage = Stage::Written;
                    return self.step(endpoint, peer, attr, id, op);
                }
                let (to, immediate) = (peer.to, None);
                let request =
                    WriteRequest { work_id, region, range, to, remote, immediate, round, payload_size };
                (full(endpoint.post_write(&request))?, Stage::UnderWay)
            }
            (Stage::Written, What::WriteAndTell { number, immediate, .. }) => match peer.shared {
                Some(to) => {
                    let tag = shared::tag(there, number, Some(len));
                    let (range, immediate) = (range.start..range.start, Some(u32::from_be(immediate)));
                    let request =
                        SendRequest { work_id, region, range, to, tag, immediate, round, payload_size };
                    (full(endpoint.post_send(&request))?, Stage::Telling)
                }
                None => {
                    let value = u32::from_be(immediate).into();
                    let note = Note { len, value, ..Note::new(Kind::Written, there, own, number) };
                    (self.carrier.send_note(endpoint, peer.to, &note, id)?, Stage::Telling)
                }
            },
            (Stage::Placed, What::Read { remote }) => {
                let RemoteMemory { address, rkey } = remote;
                let note = Note { address, rkey, len, ..Note::new(Kind::Read, there, own, id) };
                (self.carrier.send_note(endpoint, peer.to, &note, id)?, Stage::Asked)
            }
            (Stage::Placed, What::Atomic { remote, compare, value }) => {
                let kind = if compare.is_some() { Kind::CompareSwap } else { Kind::FetchAdd };
                let (RemoteMemory { address, rkey }, compare) = (remote, compare.unwrap_or(0));
                let note = Note { address, rkey, len, value, compare, ..Note::new(kind, there, own, id) };
                (self.carrier.send_note(endpoint, peer.to, &note, id)?, Stage::Asked)
            }
            _ => return Ok(true),
        };
        if posted {
            op.stage = stage;
        }
        Ok(posted)
    }

    /// Tells of ends, as far as everything before has ended.
    fn tell(&self, inside: &mut Inside) {
        let gone = inside.gone;
        while let Some(Stage::Done(status)) = inside.ops.front().map(|op| op.stage) {
            let Some(op) = inside.ops.pop_front() else { break };
            inside.first_op = inside.first_op.wrapping_add(1);
            if status != 0 && !inside.failed() {
                self.fail(inside);
            }
            if !gone && (status != 0 || op.signaled) {
                let opcode = op.what.opcode();
                let byte_len = if op.what.is_asked_for() { op.bytes.len() as u32 } else { 0 };
                self.queues[0].push([ibv_wc { status, opcode, byte_len, ..empty(op.wr_id, self.number) }]);
            }
        }
        while let Some(RecvState::Done(status)) = inside.recvs.front().map(|recv| recv.state) {
            let Some(recv) = inside.recvs.pop_front() else { break };
            inside.first_recv = inside.first_recv.wrapping_add(1);
            if status != 0 && !inside.failed() {
                self.fail(inside);
            }
            if gone {
                continue;
            }
            let opcode = if recv.written.is_some() { WC_RECV_RDMA_WITH_IMM } else { WC_RECV };
            let wc = self.wc_of_receive(inside, (recv.wr_id, status, opcode), (recv.len, recv.immediate));
            self.queues[1].push([wc]);
        }
    }

    fn wc_of_receive(
        &self,
        inside: &Inside,
        (wr_id, status, opcode): (u64, c_uint, c_uint),
        (byte_len, immediate): (u32, Option<u32>),
    ) -> ibv_wc {
        ibv_wc {
            status,
            opcode,
            byte_len,
            src_qp: inside.attr.dest_qp_num,
            wc_flags: if immediate.is_some() { WC_WITH_IMM } else { 0 },
            imm_data: immediate.unwrap_or(0).to_be(),
            ..empty(wr_id, self.number)
        }
    }

    /// Whether a message in a receive of a shared queue is told of.
    pub(super) fn takes_shared(&self) -> bool {
        let inside = lock(&self.inside);
        !inside.gone && !inside.failed() && inside.attr.qp_state >= QPS_INIT
    }

    /// A message has ended in a receive of a shared queue.
    pub(super) fn shared_came(&self, nic: &Nic, came: shared::Came, done: &WorkCompletion, wr_id: u64) {
        let mut inside = lock(&self.inside);
        let inside = &mut *inside;
        let (opcode, len) = match came.written {
            Some(len) => (WC_RECV_RDMA_WITH_IMM, len),
            None => (WC_RECV, done.len),
        };
        let status = match done.status {
            Status::Success => 0,
            Status::Length => WC_LOC_LEN_ERR,
            status => code(status),
        };
        let wc = self.wc_of_receive(inside, (wr_id, status, opcode), (len, done.immediate));
        inside.early.push((came.count, wc));
        // One at a time is sent: they come in order but for what the NIC's writes overtake.
        while let Some(at) =
            inside.early.iter().position(|(count, _)| *count == inside.next_shared & shared::COUNT_MASK)
        {
            let (_, wc) = inside.early.swap_remove(at);
            inside.next_shared = inside.next_shared.wrapping_add(1);
            if wc.status != 0 && !inside.failed() {
                self.fail(inside);
            }
            self.queues[1].push([wc]);
        }
        self.advance(nic, inside);
    }
}

/// Running numbers, which wrap.
fn numbers(first: u32) -> impl Iterator<Item = u32> {
    (0..=u32::MAX).map(move |n| first.wrapping_add(n))
}

/// A receive that made room is to be given to the NIC again.
fn drop_asleep(inside: &mut Inside, number: u32) {
    if let Some(recv) = inside.recv(number) {
        if recv.state == RecvState::Asleep {
            recv.state = RecvState::Waiting;
            inside.waiting = true;
        }
    }
}
