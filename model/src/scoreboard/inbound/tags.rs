//! Tagged receives: which message takes which, and what the host is told of it
//! (RO-12, TM).
//!
//! A message that is open has matched, but the scoreboard learns with what only
//! when its first bytes or its completion become visible. Until then it may be
//! whose any receive in place is that fits it.

use tessera_abi::queue::{DONE_POSTED, DONE_UNEXPECTED};
use tessera_abi::status::Status;

use super::super::{Bench, Fault};
use super::message::Message;
use super::{Receiving, Recv};
use crate::queue::{Completion, RecvKind};

/// A cancel that has not ended.
pub(super) struct Cancel {
    tag: u64,
    target: u16,
    handle: u16,
}

impl Cancel {
    pub(super) fn of(kind: RecvKind) -> Option<Self> {
        match kind {
            RecvKind::Cancel { tag, target, handle } => Some(Self { tag, target, handle }),
            _ => None,
        }
    }

    /// Running index of what it takes back.
    pub(super) fn target(&self) -> u16 {
        self.target
    }
}

impl Recv {
    /// The tag it is for, if it is for one.
    pub(super) fn tag(&self) -> Option<u64> {
        match self.entry.kind {
            RecvKind::Tagged(tag) => Some(tag),
            _ => None,
        }
    }

    /// Whether a message may have taken it.
    //= TM-2
    pub(super) fn suits(&self, message: &Message) -> bool {
        self.tag().is_none_or(|tag| tag == message.opener.tag && !message.is_write())
    }
}

impl Receiving {
    fn unknown(bench: &mut Bench, rule: &'static str, done: &Completion) {
        let fault = Fault::UnknownCompletion { endpoint: done.endpoint, entry: done.entry };
        bench.fault(Some(done.message), rule, fault);
    }

    /// DONE_POSTED. It may show after the end that it precedes in its queue: ring
    /// writes become visible in any order.
    //= TM-6
    pub(in super::super) fn in_place(&mut self, bench: &mut Bench, done: &Completion) {
        debug_assert_eq!(done.opcode, DONE_POSTED);
        let recv = self.recvs.get_mut(&(done.ring, done.entry));
        let Some((recv, tag)) = recv.and_then(|recv| recv.tag().map(|tag| (recv, tag))) else {
            return Self::unknown(bench, "TM-6", done);
        };
        let tags = bench.setup.endpoints.iter().any(|e| e.index() == done.ring && e.tags);
        if recv.placed.is_some() || recv.refused || !tags {
            return Self::unknown(bench, "TM-6", done);
        }
        recv.placed = Some((bench.clock, done.length as u16));
        bench.field(done.message, "TM-6", "tag", done.tag, tag);
        bench.field(done.message, "TM-6", "endpoint", done.endpoint.into(), done.ring.into());
        bench.field(done.message, "TM-6", "status", done.status.into(), Status::Success as u64);
    }

    /// DONE_UNEXPECTED.
    pub(in super::super) fn unexpected(&mut self, bench: &mut Bench, done: &Completion) {
        debug_assert_eq!(done.opcode, DONE_UNEXPECTED);
        let (name, key) = ((done.peer_gid, done.peer_endpoint, done.message), (done.ring, done.entry));
        let plain = self.recvs.get(&key).filter(|recv| recv.tag().is_none());
        let free = plain.is_some_and(|recv| recv.bound.is_none_or(|bound| bound == name));
        let Some(message) = self.messages.get_mut(&name).filter(|message| {
            free && !message.unexpected
                && !message.is_write()
                && message.recv.is_none_or(|own| own == key)
                && message.matches_tags
        }) else {
            return Self::unknown(bench, "TM-6", done);
        };
        message.unexpected = true;
        message.recv = Some(key);
        message.open_since.get_or_insert(bench.clock);
        let (local, opener, came) = (message.local, message.opener, message.came);
        if let Some(recv) = self.recvs.get_mut(&key) {
            recv.bound = Some(name);
        }
        bench.field(done.message, "TM-6", "length", done.length.into(), opener.length.into());
        bench.field(done.message, "TM-6", "tag", done.tag, opener.tag);
        bench.field(done.message, "TM-6", "endpoint", done.endpoint.into(), u64::from(local & 0xFF));
        bench.field(done.message, "TM-6", "status", done.status.into(), Status::Success as u64);
        //= RO-12
        let ring = (local & 0xFF) as u16;
        let waits = |recv: &&Recv| {
            recv.tag() == Some(opener.tag)
                && recv.open
                && recv.bound.is_none()
                && !recv.leaving
                && recv.placed.is_some_and(|(at, _)| at < came)
        };
        let waiting = self.recvs.range((ring, 0)..=(ring, u16::MAX)).filter(|(_, recv)| waits(recv)).count();
        let claims = |message: &&Message| {
            message.local == local
                && message.opener.tag == opener.tag
                && message.recv.is_none()
                && !message.is_write()
        };
        let live = self.live.iter().filter_map(|name| self.messages.get(name));
        if waiting > live.filter(claims).count() {
            bench.fault(Some(done.message), "RO-12", Fault::ReceiveSkipped(done.entry));
        }
    }

    /// DONE_CANCEL.
    //= TM-4
    pub(in super::super) fn cancelled(&mut self, bench: &mut Bench, done: &Completion) {
        let Some(cancel) = self.cancels.remove(&(done.ring, done.entry)) else {
            return Self::unknown(bench, "TM-4", done);
        };
        bench.field(done.message, "TM-4", "tag", done.tag, cancel.tag);
        let key = (done.ring, cancel.target);
        let could = |message: &Message| {
            message.recv.is_none() && message.opener.tag == cancel.tag && !message.is_write()
        };
        let taken = self.live.iter().filter_map(|name| self.messages.get(name)).any(could);
        let recv = self.recvs.get_mut(&key);
        let there = recv.filter(|recv| {
            recv.tag() == Some(cancel.tag)
                && recv.open
                && recv.bound.is_none()
                && recv.placed.is_none_or(|(_, handle)| handle == cancel.handle)
        });
        let legal = match (Status::from_code(done.status), there) {
            (Ok(Status::Success), Some(recv)) => {
                recv.open = false;
                recv.cancelled = true;
                recv.ended = Some(bench.clock);
                self.buffers.remove(&(recv.entry.address, key));
                true
            }
            (Ok(Status::NotPosted), Some(recv)) => {
                // A message must have matched it.
                recv.leaving = false;
                recv.matched = true;
                taken
            }
            (Ok(Status::NotPosted), None) => true,
            _ => false,
        };
        if !legal {
            bench.fault(Some(done.message), "TM-4", Fault::Status(done.status));
        }
    }

    /// Whether a receive may end with `no_tag_space`: as many as fit, or as the
    /// quota permits, may have been in place when it was read.
    //= TM-3
    pub(super) fn may_be_refused(&self, bench: &Bench, key: (u16, u16)) -> bool {
        let Some(own) = self.recvs.get(&key).filter(|own| own.tag().is_some() && own.placed.is_none()) else {
            return false;
        };
        let tenant = bench.setup.endpoints.iter().find(|endpoint| endpoint.index() == key.0);
        let quota = tenant.map_or(0, |tenant| tenant.rx_quota) as usize;
        let held = |(at, recv): &(&(u16, u16), &Recv)| {
            **at != key
                && recv.tag().is_some()
                && !recv.refused
                && recv.ended.is_none_or(|ended| ended >= own.posted)
        };
        let (mut all, mut of_ring) = (0, 0);
        for (at, _) in self.recvs.iter().filter(held) {
            all += 1;
            of_ring += usize::from(at.0 == key.0);
        }
        (quota != 0 && of_ring >= quota) || all >= bench.setup.config.tagged()
    }

    /// Equal tags in the order of their posts, nothing told twice or never.
    pub(super) fn finish_tags(&self, bench: &mut Bench) {
        for (&ring, order) in &self.order {
            let mut passed = std::collections::BTreeMap::new();
            for &index in order {
                let Some(recv) = self.recvs.get(&(ring, index)) else { continue };
                let Some(tag) = recv.tag().filter(|_| !recv.cancelled && !recv.refused) else { continue };
                if recv.bound.is_none() {
                    passed.entry(tag).or_insert(index);
                    if recv.matched && recv.open {
                        bench.fault(None, "TM-4", Fault::NeverEnded(index));
                    }
                } else {
                    //= TM-2
                    if let Some(&skipped) = passed.get(&tag) {
                        bench.fault(None, "TM-2", Fault::ReceiveSkipped(skipped));
                    }
                    //= TM-6
                    if recv.placed.is_none() {
                        bench.fault(None, "TM-6", Fault::MissingCompletion);
                    }
                }
            }
        }
        for message in self.messages.values() {
            let Some(recv) = message.recv.and_then(|key| self.recvs.get(&key)) else { continue };
            let plain = recv.tag().is_none() && !message.is_write() && message.matches_tags;
            if plain != message.unexpected {
                bench.fault(Some(message.name.2), "TM-6", Fault::MissingCompletion);
            }
        }
        for &(_, index) in self.cancels.keys() {
            bench.fault(None, "TM-4", Fault::NeverEnded(index));
        }
    }
}
