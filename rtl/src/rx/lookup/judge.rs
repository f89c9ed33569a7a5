//! What a packet is, given what is held of its message: RO-2 to RO-6.
//!
//! ```text
//!  entry found?  ──same generation──> context: work            tombstone: its status
//!                ──older────────────> stale
//!                ──newer────────────> context: away, BUSY      tombstone: as not found
//!  not found     ──EST──────────────> ABORT(no_context)
//!                ──place? context, block, tombstone place? quota? permitted? receive? long enough?──> open
//! ```
//!
//! A datagram has no message: the posted receive alone decides (UD-3). A RELEASE
//! shortens the tombstone or sends the context away, and is answered in no case
//! (RL-2).
//!
//! Contract: combinational, about six LUT levels. Without `act` nothing is
//! decided; `asks` says that the answer of the receive ring is needed first.
//!
//! Verified as part of `testbenches/tests/lookup`.

use super::LookupHeld;
use crate::prelude::*;
use crate::types::{Receive, RxData};
use tessera_abi::params::Config;
use tessera_abi::status::Status;
use tessera_abi::wire::{fb, flag};

#[derive(LogicBlock)]
pub struct LookupJudge {
    /// The packet is decided in this clock; every output but `asks` is low without it.
    pub act: Signal<In, Bit>,
    /// It may be; the answer to `asks` is there. What writes an entry hangs on these: `act` follows from
    /// them and from what is found, and is late for a memory.
    pub may_act: Signal<In, Bit>,
    pub answered: Signal<In, Bit>,
    pub packet: Signal<In, RxData>,
    /// An entry of the packet's key.
    pub found: Signal<In, Bit>,
    /// Its.
    pub generation: Signal<In, Bits<20>>,
    pub held: Signal<In, LookupHeld>,
    /// A way for a new entry.
    pub vacancy: Signal<In, Bit>,
    pub context_available: Signal<In, Bit>,
    pub block_available: Signal<In, Bit>,
    /// There are fewer contexts and tombstones than there may be.
    pub below: Signal<In, Bit>,
    /// The endpoint holds as many contexts as it may.
    pub used_up: Signal<In, Bit>,
    pub receive: Signal<In, Receive>,
    /// Only the posted receive decides.
    pub asks: Signal<Out, Bit>,
    /// The message that opens takes the receive.
    pub consumes: Signal<Out, Bit>,
    /// The entry found is a tombstone that a newer generation may take.
    pub replaces: Signal<Out, Bit>,
    /// What opens or is barred, in a vacant way; in the one found.
    pub enters: Signal<Out, Bit>,
    pub enters_found: Signal<Out, Bit>,
    pub open: Signal<Out, Bit>,
    /// A tombstone for a message longer than its receive, or not permitted.
    pub barred: Signal<Out, Bit>,
    /// What opens has room in its receive.
    pub fits: Signal<Out, Bit>,
    /// The packet is to be counted as not permitted.
    pub denied: Signal<Out, Bit>,
    /// Fewer places are free than there should be: COMPLETE asks for a RELEASE.
    pub low: Signal<In, Bit>,
    /// RL-2: the tombstone found need not live as long as it was to.
    pub shorten: Signal<Out, Bit>,
    /// RO-4, RL-2: the context found is sent away.
    pub away: Signal<Out, Bit>,
    pub work: Signal<Out, Bit>,
    pub verdict: Signal<Out, Bits<2>>,
    /// FEEDBACK is due.
    pub replies: Signal<Out, Bit>,
    pub flags: Signal<Out, Bits<8>>,
    pub status: Signal<Out, Bits<8>>,
    /// The reply says that everything has arrived.
    pub all: Signal<Out, Bit>,
    pub stale: Signal<Out, Bit>,
    pub busy_receive: Signal<Out, Bit>,
    pub busy_resources: Signal<Out, Bit>,
    pub busy_conflict: Signal<Out, Bit>,
    pub busy_quota: Signal<Out, Bit>,
    pub no_context: Signal<Out, Bit>,
    pub finished: Signal<Out, Bit>,
    pub opened: Signal<Out, Bit>,
    /// What opens is host-recovered.
    pub host: Signal<Out, Bit>,
    /// UD-3: the datagram goes into the receive; there is none for it.
    pub deliver: Signal<Out, Bit>,
    pub ud_receive: Signal<Out, Bit>,

    est: Signal<Local, Bit>,
    difference: Signal<Local, Bits<20>>,
    same: Signal<Local, Bit>,
    newer: Signal<Local, Bit>,
    tombstone: Signal<Local, Bit>,
    /// RO-5, RO-6: nothing stands in the way yet.
    opens: Signal<Local, Bit>,
    is_replacing: Signal<Local, Bit>,
    /// What is remembered besides the tombstone to replace leaves room for one more.
    is_rest_below: Signal<Local, Bit>,
    has_place: Signal<Local, Bit>,
    resources: Signal<Local, Bit>,
    /// But for what is found.
    may_enter: Signal<Local, Bit>,
    /// That the area has bits for.
    packets: Signal<Local, Bits<29>>,
    is_write: Signal<Local, Bit>,
    needs_receive: Signal<Local, Bit>,

    est_flag: Constant<Bits<8>>,
    write_flag: Constant<Bits<8>>,
    imm_flag: Constant<Bits<8>>,
    /// The host may recover messages.
    recovers: Constant<Bit>,
    host_flag: Constant<Bits<8>>,
    remote_access: Constant<Bits<8>>,
    complete: Constant<Bits<8>>,
    complete_low: Constant<Bits<8>>,
    abort_flag: Constant<Bits<8>>,
    busy: Constant<Bits<8>>,
    success: Constant<Bits<8>>,
    length: Constant<Bits<8>>,
    no_context_status: Constant<Bits<8>>,
}

impl LookupJudge {
    /// With host recovery or without.
    pub fn new(config: &Config) -> Self {
        Self {
            act: Default::default(),
            may_act: Default::default(),
            answered: Default::default(),
            packet: Default::default(),
            found: Default::default(),
            generation: Default::default(),
            held: Default::default(),
            vacancy: Default::default(),
            context_available: Default::default(),
            block_available: Default::default(),
            below: Default::default(),
            used_up: Default::default(),
            receive: Default::default(),
            asks: Default::default(),
            consumes: Default::default(),
            replaces: Default::default(),
            enters: Default::default(),
            enters_found: Default::default(),
            open: Default::default(),
            barred: Default::default(),
            denied: Default::default(),
            low: Default::default(),
            shorten: Default::default(),
            away: Default::default(),
            work: Default::default(),
            verdict: Default::default(),
            replies: Default::default(),
            flags: Default::default(),
            status: Default::default(),
            all: Default::default(),
            stale: Default::default(),
            busy_receive: Default::default(),
            busy_resources: Default::default(),
            busy_conflict: Default::default(),
            busy_quota: Default::default(),
            no_context: Default::default(),
            finished: Default::default(),
            opened: Default::default(),
            host: Default::default(),
            deliver: Default::default(),
            ud_receive: Default::default(),
            est: Default::default(),
            difference: Default::default(),
            same: Default::default(),
            newer: Default::default(),
            tombstone: Default::default(),
            opens: Default::default(),
            is_replacing: Default::default(),
            is_rest_below: Default::default(),
            has_place: Default::default(),
            resources: Default::default(),
            may_enter: Default::default(),
            fits: Default::default(),
            packets: Default::default(),
            is_write: Default::default(),
            needs_receive: Default::default(),
            est_flag: Constant::new((u64::from(flag::EST)).into()),
            write_flag: Constant::new((u64::from(flag::WRITE)).into()),
            imm_flag: Constant::new((u64::from(flag::IMM)).into()),
            recovers: Constant::new(config.host_recovery),
            host_flag: Constant::new((u64::from(flag::HOST_RECOVERY)).into()),
            remote_access: Constant::new((Status::RemoteAccess as u64).into()),
            complete: Constant::new((u64::from(fb::COMPLETE)).into()),
            complete_low: Constant::new((u64::from(fb::COMPLETE | fb::RELEASE_REQ)).into()),
            abort_flag: Constant::new((u64::from(fb::ABORT)).into()),
            busy: Constant::new((u64::from(fb::BUSY)).into()),
            success: Constant::new((Status::Success as u64).into()),
            length: Constant::new((Status::Length as u64).into()),
            no_context_status: Constant::new((Status::NoContext as u64).into()),
        }
    }
}

impl Logic for LookupJudge {
    #[hdl_gen]
    fn update(&mut self) {
        self.est.next = (self.packet.val().flags & self.est_flag.val()) != 0;
        self.difference.next = self.packet.val().generation - self.generation.val();
        // Beside the difference, not behind it.
        self.same.next = self.found.val() & (self.packet.val().generation == self.generation.val());
        self.newer.next = self.found.val() & !self.same.val() & !self.difference.val().get_bit(19);
        self.tombstone.next = self.held.val().state == 2;
        self.is_replacing.next = self.newer.val() & self.tombstone.val();
        self.replaces.next = self.is_replacing.val();
        self.opens.next =
            (!self.found.val() | self.is_replacing.val()) & !self.est.val() & !self.packet.val().release;
        // There are never more than there may be.
        self.is_rest_below.next = self.below.val() | self.is_replacing.val();
        self.has_place.next = self.is_replacing.val() | self.vacancy.val();
        self.resources.next =
            self.context_available.val() & self.block_available.val() & self.is_rest_below.val();
        // WR-1: a write without immediate needs no receive, one with it no room in it.
        self.is_write.next = (self.packet.val().flags & self.write_flag.val()) != 0;
        self.needs_receive.next =
            !self.is_write.val() | ((self.packet.val().flags & self.imm_flag.val()) != 0);
        self.asks.next = self.packet.val().ud
            | (self.opens.val()
                & self.has_place.val()
                & self.resources.val()
                & !self.used_up.val()
                & self.needs_receive.val()
                & !self.packet.val().denied);
        // HR-1, HR-2
        self.host.next = self.recovers.val()
            & self.receive.val().chunks
            & ((self.packet.val().flags & self.host_flag.val()) != 0)
            & (self.packet.val().count != 1)
            & !self.is_write.val();
        self.packets.next = bit_cast::<29, 21>(self.receive.val().capacity) << 8;
        self.fits.next = self.is_write.val()
            | ((self.receive.val().room >= self.packet.val().length)
                & (!self.host.val() | (bit_cast::<29, 24>(self.packet.val().count) <= self.packets.val())));

        // What writes an entry, of what is decided below: where `act` is low, so are these.
        self.may_enter.next = self.may_act.val()
            & self.context_available.val()
            & self.block_available.val()
            & !self.used_up.val()
            & !self.est.val()
            & !self.packet.val().ud
            & !self.packet.val().release
            & (self.packet.val().denied
                | !self.needs_receive.val()
                | (self.receive.val().available & self.answered.val()));
        self.enters.next = self.may_enter.val() & !self.found.val() & self.vacancy.val() & self.below.val();
        self.enters_found.next = self.may_enter.val() & self.is_replacing.val();
        self.open.next =
            (self.enters.val() | self.enters_found.val()) & self.fits.val() & !self.packet.val().denied;
        self.barred.next =
            (self.enters.val() | self.enters_found.val()) & (!self.fits.val() | self.packet.val().denied);
        self.shorten.next = self.may_act.val()
            & !self.packet.val().ud
            & self.packet.val().release
            & self.tombstone.val()
            & self.same.val();
        self.away.next = self.may_act.val()
            & !self.packet.val().ud
            & (self.held.val().state == 1)
            & ((self.packet.val().release & self.same.val())
                | (!self.packet.val().release & self.newer.val()));

        self.consumes.next = false;
        self.denied.next = false;
        self.work.next = false;
        self.verdict.next = 2.into();
        self.replies.next = false;
        self.flags.next = self.busy.val();
        self.status.next = 0.into();
        self.all.next = false;
        self.stale.next = false;
        self.busy_receive.next = false;
        self.busy_resources.next = false;
        self.busy_conflict.next = false;
        self.busy_quota.next = false;
        self.no_context.next = false;
        self.finished.next = false;
        self.opened.next = false;
        self.deliver.next = false;
        self.ud_receive.next = false;
        if self.act.val() {
            self.work.next = self.packet.val().payload_len != 0;
            if self.packet.val().ud {
                self.deliver.next = self.receive.val().available
                    & (self.receive.val().length >= bit_cast::<32, 13>(self.packet.val().payload_len));
                self.ud_receive.next = !self.deliver.val();
            } else if self.packet.val().release {
                // RL-2
                self.stale.next = self.found.val() & !self.same.val() & !self.newer.val();
                if self.same.val() & (self.held.val().state == 1) {
                    self.work.next = true;
                    self.verdict.next = 3.into();
                }
            } else if self.same.val() {
                if self.tombstone.val() {
                    // RO-2
                    self.finished.next = true;
                    self.replies.next = true;
                    self.status.next = self.held.val().status;
                    if self.held.val().status == self.success.val() {
                        self.flags.next = self.complete.val();
                        if self.low.val() {
                            self.flags.next = self.complete_low.val();
                        }
                        self.all.next = true;
                    } else {
                        self.flags.next = self.abort_flag.val();
                    }
                } else {
                    self.work.next = true;
                    self.denied.next = self.packet.val().denied;
                    self.verdict.next = 0.into();
                }
            } else {
                if self.found.val() & !self.newer.val() {
                    // RO-3
                    self.stale.next = true;
                } else {
                    self.replies.next = true;
                    if self.newer.val() & !self.tombstone.val() {
                        // RO-4
                        self.busy_resources.next = true;
                        if self.held.val().state == 1 {
                            self.work.next = true;
                            self.verdict.next = 3.into();
                        }
                    } else {
                        if self.est.val() {
                            // RO-5
                            self.no_context.next = true;
                            self.flags.next = self.abort_flag.val();
                            self.status.next = self.no_context_status.val();
                        } else {
                            // RO-6
                            if !self.has_place.val() {
                                self.busy_conflict.next = true;
                            } else {
                                if !self.resources.val() {
                                    self.busy_resources.next = true;
                                } else if self.used_up.val() {
                                    self.busy_quota.next = true;
                                } else if self.packet.val().denied {
                                    // WR-1
                                    self.denied.next = true;
                                    self.work.next = true;
                                    self.flags.next = self.abort_flag.val();
                                    self.status.next = self.remote_access.val();
                                } else if self.needs_receive.val() & !self.receive.val().available {
                                    self.busy_receive.next = true;
                                } else if self.fits.val() {
                                    self.consumes.next = self.needs_receive.val();
                                    self.opened.next = true;
                                    self.replies.next = false;
                                    self.work.next = true;
                                    self.verdict.next = 1.into();
                                } else {
                                    self.flags.next = self.abort_flag.val();
                                    self.status.next = self.length.val();
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
