//! What the NIC and the peer's library tell of an RC pair's requests.

use tessera_driver::{CompletionEvent, Status, WorkCompletion};

use super::carrier::{reply_tag, work_id, Ask, OP, RECEIVE, REPLY};
use super::inside::{Inside, RecvState, Reply, Stage, What, Written};
use super::note::{Kind, Note};
use super::{code, tag, RcPair, WC_LOC_LEN_ERR, WC_REM_OP_ERR, WC_RETRY_EXC_ERR};
use crate::nic::{lock, Nic};
use crate::pair::{QPS_INIT, QPS_RTR, QPS_RTS};
use crate::queue::WC_WR_FLUSH_ERR;

/// Notes that a pair keeps before it knows its peer: more than a peer has on their way.
const MOST_UNHEARD: usize = 64;

impl RcPair {
    /// Something of it has ended in the NIC, or is in place there.
    pub(super) fn ended(&self, nic: &Nic, kind: u8, number: u32, done: &WorkCompletion) {
        let mut inside = lock(&self.inside);
        let inside = &mut *inside;
        match kind {
            OP => {
                let status = self.final_status(nic, inside, done.status);
                self.sent(inside, number, status);
            }
            REPLY => self.replied(inside, number, done),
            RECEIVE => self.received(inside, number, done),
            _ => return,
        }
        self.advance(nic, inside);
        if inside.gone && inside.ops.is_empty() {
            nic.remove_rc_pair(self.number);
        }
    }

    /// Whether the peer is there, or nobody who could tell.
    fn has_peer(&self, nic: &Nic, inside: &Inside) -> bool {
        let Some(peer) = inside.peer else { return false };
        !matches!(nic.remote.find(peer.to.gid, inside.attr.dest_qp_num & 0xFF_FFFF), Ok(None))
    }

    /// A receiver that is gone will never be ready, however patient the sender is.
    fn final_status(&self, nic: &Nic, inside: &Inside, status: Status) -> Status {
        let waits = status == Status::ReceiverNotReady && inside.is_patient();
        if waits && !self.has_peer(nic, inside) {
            return Status::Unheard;
        }
        status
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
        let status = self.final_status(nic, inside, status);
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

    /// What comes before this pair knows its peer waits, as a packet would that is sent
    /// anew until then: the peer's program may be a step ahead.
    pub(super) fn keep_until_joined(&self, ask: Ask) -> Option<Ask> {
        let mut inside = lock(&self.inside);
        let is_early = inside.attr.qp_state <= QPS_INIT && inside.unheard.len() < MOST_UNHEARD;
        // Who waits says so again.
        if !is_early || ask.note.kind == Kind::Waits {
            return Some(ask);
        }
        inside.unheard.push(ask);
        None
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

    /// Whether a request is still under way. The receive of a send is asked for then; an
    /// answer that a peer took the question for, and is gone, does not come any more.
    pub(super) fn look_after(&self, nic: &Nic, number: u32) -> bool {
        let mut inside = lock(&self.inside);
        let inside = &mut *inside;
        if inside.op(number).is_some_and(|op| op.stage == Stage::Asked && op.failure.is_none()) {
            if self.has_peer(nic, inside) {
                return true;
            }
            if let Some(op) = inside.op(number) {
                match op.reply {
                    Reply::Absent => op.stage = Stage::Done(WC_RETRY_EXC_ERR),
                    _ => op.failure = Some(WC_RETRY_EXC_ERR),
                }
            }
            inside.leaving = true;
            self.advance(nic, inside);
            return false;
        }
        let (from, peer) = (self.number, inside.attr.dest_qp_num);
        let Some(to) = inside.peer.filter(|peer| peer.shared.is_none()) else { return false };
        let Some(op) = inside.op(number).filter(|op| op.stage == Stage::UnderWay) else { return false };
        let Some(message) = op.what.number() else { return false };
        let note = Note::new(Kind::Waits, peer, from, message);
        // Without room for it, the next time.
        let _ = self.carrier.send_note(&mut self.carrier.endpoint(), to.to, &note, number);
        true
    }
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
