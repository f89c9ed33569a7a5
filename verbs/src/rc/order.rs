//! In which order an RC pair's requests begin, and their ends are told.

use std::ffi::c_uint;

use tessera_driver::{
    Endpoint, PostError, RecvRequest, RemoteMemory, SendRequest, Status, WorkCompletion, WriteRequest,
};

use super::carrier::{reply_tag, work_id, OP, RECEIVE, REPLY};
use super::inside::{Inside, Op, Peer, RecvState, Reply, Stage, What};
use super::note::{Kind, Note};
use super::{code, shared, tag, RcPair, READS, UNDER_WAY, WC_LOC_LEN_ERR};
use crate::ffi::{ibv_qp_attr, ibv_wc};
use crate::nic::{lock, Nic};
use crate::pair::{QPS_ERR, QPS_INIT, QPS_RTS};
use crate::queue::{empty, WC_LOC_QP_OP_ERR, WC_RECV, WC_WITH_IMM, WC_WR_FLUSH_ERR};

const WC_RECV_RDMA_WITH_IMM: c_uint = WC_RECV + 1;

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
            if op.stage == Stage::Done(0) {
                continue;
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
            // Of nothing no key is looked at. It ends when what is before it has.
            (Stage::Waiting, What::Write { .. }) if len == 0 => (true, Stage::Done(0)),
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
                (self.ask(endpoint, peer, &note)?, Stage::Asked)
            }
            (Stage::Placed, What::Atomic { remote, compare, value }) => {
                let kind = if compare.is_some() { Kind::CompareSwap } else { Kind::FetchAdd };
                let (RemoteMemory { address, rkey }, compare) = (remote, compare.unwrap_or(0));
                let note = Note { address, rkey, len, value, compare, ..Note::new(kind, there, own, id) };
                (self.ask(endpoint, peer, &note)?, Stage::Asked)
            }
            _ => return Ok(true),
        };
        if posted {
            op.stage = stage;
        }
        Ok(posted)
    }

    /// Asks the peer's library for something.
    fn ask(&self, endpoint: &mut Endpoint, peer: &Peer, note: &Note) -> Result<bool, PostError> {
        let posted = self.carrier.send_note(endpoint, peer.to, note, note.number)?;
        if posted {
            self.carrier.is_patient(self.number, note.number);
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
