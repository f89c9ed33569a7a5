//! What an RC pair has under way.

use std::collections::{HashMap, VecDeque};
use std::ffi::c_uint;

use tessera_driver::{AddressHandle, RemoteMemory};

use super::bytes::Bytes;
use super::carrier::Ask;
use crate::ffi::{ibv_qp_attr, ibv_wc};
use crate::pair::QPS_ERR;
use crate::queue::WC_SEND;

const WC_RDMA_WRITE: c_uint = 1;
const WC_RDMA_READ: c_uint = 2;
const WC_COMP_SWAP: c_uint = 3;
const WC_FETCH_ADD: c_uint = 4;

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

    pub fn opcode(&self) -> c_uint {
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
pub enum Reply {
    Absent,
    /// Posted, and not in place yet.
    Posted,
    InPlace,
    /// Being taken back.
    Leaving,
}

pub struct Op {
    pub wr_id: u64,
    pub signaled: bool,
    pub bytes: Bytes,
    pub what: What,
    pub stage: Stage,
    pub reply: Reply,
    /// Why the peer cannot be asked: ends it once the receive is taken back.
    pub failure: Option<c_uint>,
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
pub struct Written {
    pub len: u32,
    pub immediate: u32,
}

pub struct Recv {
    pub wr_id: u64,
    pub bytes: Bytes,
    pub state: RecvState,
    pub len: u32,
    pub immediate: Option<u32>,
    /// It is a write's.
    pub written: Option<Written>,
    /// Taken back to be posted anew at once, or later.
    pub sleeps: bool,
}

impl Recv {
    pub fn new(wr_id: u64, bytes: Bytes, state: RecvState) -> Self {
        Self { wr_id, bytes, state, len: 0, immediate: None, written: None, sleeps: false }
    }

    /// Its write has ended, and the NIC does not have it.
    pub fn take_written(&mut self) -> bool {
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
    pub first_op: u32,
    /// Number of the next that takes a receive, as the peer counts them.
    pub next_send: u32,
    pub recvs: VecDeque<Recv>,
    pub first_recv: u32,
    /// Receives that may be waiting to be given to the NIC.
    pub waiting: bool,
    /// They are more than there are places.
    pub crowded: bool,
    /// Something is to be taken back.
    pub leaving: bool,
    /// Writes with immediate whose receives are not posted yet.
    pub written: HashMap<u32, Written>,
    /// What a peer has asked for or told before this pair knew it.
    pub unheard: Vec<Ask>,
    /// Of a shared receive queue: the number that comes next, and what came before its turn.
    pub next_shared: u32,
    pub early: Vec<(u32, ibv_wc)>,
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
            unheard: Vec::new(),
            next_shared: 0,
            early: Vec::new(),
        }
    }

    pub fn failed(&self) -> bool {
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

    pub fn op(&mut self, number: u32) -> Option<&mut Op> {
        self.ops.get_mut(number.wrapping_sub(self.first_op) as usize)
    }

    pub fn recv(&mut self, number: u32) -> Option<&mut Recv> {
        self.recvs.get_mut(number.wrapping_sub(self.first_recv) as usize)
    }

    /// Messages that find no receive are sent anew.
    pub fn is_patient(&self) -> bool {
        self.attr.rnr_retry == RNR_FOR_EVER && !self.failed()
    }
}
