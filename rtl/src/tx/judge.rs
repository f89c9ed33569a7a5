//! Compares a job with its slot: everything that needs an adder, one clock
//! before `act` decides.
//!
//! ```text
//!  job, state, message, FEEDBACK ──> comparisons, intervals ──> verdict
//! ```
//!
//! Contract: `verdict` follows its inputs by one clock; of a job's kind and its slot's PROBEs
//! it hears a clock before. FEEDBACK must stand two
//! clocks longer, because its round-trip sample takes them.
//!
//! Verified as part of `testbenches/tests/tx_slots/`: TX-3 to TX-6, TX-9, TX-10.

use super::words::{Job, SlotState, Verdict};
use super::Unasked;
use crate::prelude::*;
use crate::types::{Reclaim, RxFeedback, Settings, TxRequest};
use tessera_abi::wire::{fb, NO_SAMPLE};

#[derive(LogicBlock)]
pub struct Judge {
    pub clk: Signal<In, Clock>,
    pub settings: Signal<In, Settings>,
    pub now: Signal<In, Bits<32>>,
    pub job: Signal<In, Job>,
    /// The job that is here in the next clock, and its slot's PROBEs.
    pub next_job: Signal<In, Job>,
    pub next_probes: Signal<In, Bits<8>>,
    pub state: Signal<In, SlotState>,
    pub message: Signal<In, TxRequest>,
    pub feedback: Signal<In, RxFeedback>,
    /// It names a slot beyond the last: the job's is another.
    pub outside: Signal<In, Bit>,
    /// Round-trip time a new message starts from, 0 = unknown.
    pub known_rtt: Signal<In, Bits<16>>,
    /// The same or the slot's own, or the default.
    pub rtt: Signal<In, Bits<16>>,
    /// That and twice the guard.
    pub reach: Signal<In, Bits<18>>,
    /// How long after a packet was chosen a word about it has come, ticks.
    pub settles_in: Signal<In, Bits<24>>,
    /// 0..=BUSY_WAIT, random.
    pub jitter: Signal<In, Bits<24>>,
    /// Whether packets of the slot are on their way, and when the last left.
    pub in_flight: Signal<In, Bit>,
    pub landed_at: Signal<In, Bits<24>>,
    pub reclaim: Signal<In, Reclaim>,
    pub verdict: Signal<Out, Verdict>,
    out: Dff<Verdict>,

    // The round-trip sample.
    age: Dff<Bits<32>>,
    trip: Signal<Local, Bits<32>>,
    sample: Dff<Bits<16>>,
    sampled: Dff<Bit>,
    step_wide: Signal<Local, Bits<17>>,
    step: Signal<Local, Bits<16>>,

    unasked: Unasked,
    window: Signal<Local, Bits<24>>,
    asked: Signal<Local, Bits<24>>,
    /// All the message has.
    enough: Signal<Local, Bit>,
    unfinished: Signal<Local, Bit>,
    /// The limit is not the message's end.
    bounded: Signal<Local, Bit>,
    /// From what was sent to the limit.
    room: Signal<Local, Bits<25>>,
    unsent: Signal<Local, Bit>,
    /// Packets never sent, after this job; those sent before it.
    left: Signal<Local, Bits<24>>,
    gone: Signal<Local, Bits<24>>,
    stays: Signal<Local, Bit>,
    ahead: Signal<Local, Bits<8>>,
    behind: Signal<Local, Bits<8>>,
    fresh: Signal<Local, Bit>,
    heeds: Signal<Local, Bit>,
    fallen: Signal<Local, Bits<8>>,
    elsewhere: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    bad_abort: Signal<Local, Bit>,
    newer_by: Signal<Local, Bits<20>>,
    since_mark: Signal<Local, Bits<24>>,
    since_new: Signal<Local, Bits<24>>,
    since_probe: Signal<Local, Bits<24>>,
    since: Signal<Local, Bits<32>>,
    half: Signal<Local, Bits<24>>,
    now24: Signal<Local, Bits<24>>,
    /// Doublings of the wait that is over: one per two PROBEs; those of the next.
    waits: Dff<Bits<4>>,
    doublings: Dff<Bits<4>>,
    /// The first, as far as RTO comes to its ceiling; one more follows, not beyond it.
    to_ceiling: Dff<Bits<3>>,
    one_more: Dff<Bit>,
    more_to_ceiling: Dff<Bit>,
    /// The second, as far as RTO comes to the longest link.
    to_longest: Dff<Bits<2>>,
    halves: Signal<Local, Bits<4>>,
    /// A pop that finds an odd number of PROBEs.
    odd_pop: Signal<Local, Bit>,
    /// What one more doubling carries into the second bit and the third.
    carry1: Signal<Local, Bit>,
    carry2: Signal<Local, Bit>,
    few_probes: Signal<Local, Bit>,
    waited: Signal<Local, Bits<32>>,
    quiet: Signal<Local, Bits<24>>,
    /// More is to be granted: the receiver speaks next.
    granting: Signal<Local, Bit>,
    /// Software at the receiver answers, in its own time.
    watched: Signal<Local, Bit>,
    wide_reach: Signal<Local, Bits<32>>,
    /// An interval begins with the round trip, or with RTO.
    from_rto: Signal<Local, Bit>,
    /// One of a round, RD-6.
    of_round: Signal<Local, Bit>,
    /// What the settings alone say.
    rto: Signal<Local, Bits<32>>,
    round_wait: Dff<Bits<24>>,
    ceiling: Signal<Local, Bits<32>>,
    longest: Signal<Local, Bits<32>>,
    /// RTO halved so often, and whether a round trip is longer: compared beside the shift
    /// that doubles the round trip, not behind it. The ceiling is RTO doubled five times,
    /// the longest link RTO doubled twice.
    parts: [Signal<Local, Bits<24>>; 8],
    beyond: [Signal<Local, Bit>; 7],
    limited: Signal<Local, Bit>,
    limited_before: Signal<Local, Bit>,
    /// A popped slot has waited for round trips.
    by_reach: Signal<Local, Bit>,
    linked_less: Signal<Local, Bit>,
    reach_waited: Signal<Local, Bits<32>>,
    rto_waited: Signal<Local, Bits<32>>,
    reach_next: Signal<Local, Bits<32>>,
    rto_next: Signal<Local, Bits<32>>,
    rto_linked: Signal<Local, Bits<32>>,
    busy_waits: [Signal<Local, Bits<32>>; 4],
    after_busy: Signal<Local, Bits<32>>,
    flag_complete: Constant<Bits<8>>,
    flag_release: Constant<Bits<8>>,
    flag_nack: Constant<Bits<8>>,
    flag_busy: Constant<Bits<8>>,
    flag_ce: Constant<Bits<8>>,
    flag_abort: Constant<Bits<8>>,
    no_sample: Constant<Bits<16>>,
}

impl Judge {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            settings: Default::default(),
            now: Default::default(),
            job: Default::default(),
            next_job: Default::default(),
            next_probes: Default::default(),
            state: Default::default(),
            message: Default::default(),
            feedback: Default::default(),
            outside: Default::default(),
            known_rtt: Default::default(),
            rtt: Default::default(),
            reach: Default::default(),
            settles_in: Default::default(),
            jitter: Default::default(),
            in_flight: Default::default(),
            landed_at: Default::default(),
            reclaim: Default::default(),
            verdict: Default::default(),
            out: Default::default(),
            age: Default::default(),
            trip: Default::default(),
            sample: Default::default(),
            sampled: Default::default(),
            step_wide: Default::default(),
            step: Default::default(),
            unasked: Unasked::new(),
            window: Default::default(),
            asked: Default::default(),
            enough: Default::default(),
            unfinished: Default::default(),
            bounded: Default::default(),
            room: Default::default(),
            unsent: Default::default(),
            left: Default::default(),
            gone: Default::default(),
            stays: Default::default(),
            ahead: Default::default(),
            behind: Default::default(),
            fresh: Default::default(),
            heeds: Default::default(),
            fallen: Default::default(),
            elsewhere: Default::default(),
            ends: Default::default(),
            bad_abort: Default::default(),
            newer_by: Default::default(),
            since_mark: Default::default(),
            since_new: Default::default(),
            since_probe: Default::default(),
            since: Default::default(),
            half: Default::default(),
            now24: Default::default(),
            waits: Default::default(),
            doublings: Default::default(),
            to_ceiling: Default::default(),
            one_more: Default::default(),
            more_to_ceiling: Default::default(),
            to_longest: Default::default(),
            halves: Default::default(),
            odd_pop: Default::default(),
            carry1: Default::default(),
            carry2: Default::default(),
            few_probes: Default::default(),
            waited: Default::default(),
            quiet: Default::default(),
            granting: Default::default(),
            watched: Default::default(),
            wide_reach: Default::default(),
            from_rto: Default::default(),
            of_round: Default::default(),
            rto: Default::default(),
            round_wait: Default::default(),
            ceiling: Default::default(),
            longest: Default::default(),
            parts: Default::default(),
            beyond: Default::default(),
            limited: Default::default(),
            limited_before: Default::default(),
            by_reach: Default::default(),
            linked_less: Default::default(),
            reach_waited: Default::default(),
            rto_waited: Default::default(),
            reach_next: Default::default(),
            rto_next: Default::default(),
            rto_linked: Default::default(),
            busy_waits: Default::default(),
            after_busy: Default::default(),
            flag_complete: Constant::new(u64::from(fb::COMPLETE).into()),
            flag_release: Constant::new(u64::from(fb::RELEASE_REQ).into()),
            flag_nack: Constant::new(u64::from(fb::NACK).into()),
            flag_busy: Constant::new(u64::from(fb::BUSY).into()),
            flag_ce: Constant::new(u64::from(fb::CE).into()),
            flag_abort: Constant::new(u64::from(fb::ABORT).into()),
            no_sample: Constant::new(u64::from(NO_SAMPLE).into()),
        }
    }
}

impl Logic for Judge {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, out, age, sample, sampled, round_wait);
        dff_setup!(self, clk, waits, doublings, to_ceiling, one_more, more_to_ceiling, to_longest);
        self.verdict.next = self.out.q.val();
        self.now24.next = self.now.val().get_bits::<24>(0);

        // The sample, ready when its FEEDBACK's job is here.
        self.age.d.next = self.feedback.val().arrival - self.feedback.val().echo;
        self.trip.next = self.age.q.val() - bit_cast::<32, 16>(self.feedback.val().delay);
        self.sampled.d.next =
            (self.feedback.val().delay != self.no_sample.val()) & !self.trip.val().get_bit(31);
        if self.trip.val().get_bits::<16>(16).any() {
            self.sample.d.next = 0xFFFF.into();
        } else {
            if self.trip.val() == 0 {
                self.sample.d.next = 1.into();
            } else {
                self.sample.d.next = self.trip.val().get_bits::<16>(0);
            }
        }
        self.step_wide.next =
            bit_cast::<17, 16>(self.sample.q.val()) - bit_cast::<17, 16>(self.state.val().srtt);
        self.step.next = bit_cast::<16, 14>(self.step_wide.val().get_bits::<14>(3));
        if self.step_wide.val().get_bit(16) {
            self.step.next = bit_cast::<16, 14>(self.step_wide.val().get_bits::<14>(3)) | 0xC000;
        }
        self.out.d.next.echoes = self.feedback.val().delay != self.no_sample.val();
        self.out.d.next.sampled = self.sampled.q.val();
        if self.state.val().srtt == 0 {
            self.out.d.next.srtt = self.sample.q.val();
        } else {
            self.out.d.next.srtt = self.state.val().srtt + self.step.val();
        }
        if self.job.val().accept {
            self.out.d.next.srtt = self.known_rtt.val();
        }

        // Is it ours, and does it make sense?
        self.out.d.next.live = self.state.val().phase == 1;
        self.elsewhere.next = self.job.val().feedback & self.outside.val();
        self.out.d.next.ours = (self.state.val().phase == 1)
            & (self.state.val().generation == self.job.val().generation)
            & !self.elsewhere.val();
        self.out.d.next.reclaimed = self.job.val().reclaim
            & (self.state.val().phase == 1)
            & self.reclaim.val().active
            & (self.message.val().endpoint == self.reclaim.val().endpoint);
        // RL-4: what is over stays over; what ends waits for its own end.
        self.newer_by.next = self.job.val().generation - self.state.val().generation;
        self.out.d.next.past = !self.elsewhere.val()
            & (self.newer_by.val().get_bit(19)
                | ((self.newer_by.val() == 0) & (self.state.val().phase == 0)));
        self.out.d.next.release_asked = (self.feedback.val().flags & self.flag_complete.val()).any()
            & (self.feedback.val().flags & self.flag_release.val()).any();
        self.out.d.next.forged = (self.feedback.val().src_gid != self.message.val().dst_gid)
            | (self.feedback.val().src_endpoint != self.message.val().dst_endpoint)
            | (self.feedback.val().endpoint != self.message.val().endpoint);
        self.ends.next = (self.feedback.val().flags & self.flag_complete.val()).any()
            & !(self.feedback.val().flags & self.flag_abort.val()).any();
        // An ABORT can neither say "delivered" nor speak for this NIC.
        self.bad_abort.next = (self.feedback.val().flags & self.flag_abort.val()).any()
            & ((self.feedback.val().status == 0) | (self.feedback.val().status >= 16));
        // Of what was never sent nobody can know.
        self.unfinished.next = self.state.val().sent < self.message.val().count;
        self.out.d.next.nonsense = (self.state.val().sent == 0)
            | (self.feedback.val().cumulative > self.state.val().sent)
            | (self.ends.val() & self.unfinished.val())
            | self.bad_abort.val()
            | self.feedback.val().base.get_bits::<8>(0).any()
            | ((self.feedback.val().flags & self.flag_nack.val()).any()
                & ((self.feedback.val().base >= self.message.val().count)
                    | (self.feedback.val().limit > self.message.val().count)));
        self.out.d.next.complete = self.ends.val();
        self.out.d.next.aborted = (self.feedback.val().flags & self.flag_abort.val()).any();
        self.out.d.next.busy = (self.feedback.val().flags & self.flag_busy.val()).any();
        self.out.d.next.congested = (self.feedback.val().flags & self.flag_ce.val()).any();
        self.ahead.next = self.feedback.val().sequence - self.state.val().last_sequence;
        self.fresh.next =
            !self.state.val().sequenced | ((self.ahead.val() != 0) & !self.ahead.val().get_bit(7));
        self.out.d.next.fresh = self.fresh.val();
        // Others may have overtaken a NACK on paths of their own: it counts unless it
        // lies at or behind the latest one that did.
        self.behind.next = self.state.val().last_sequence - self.feedback.val().sequence;
        self.heeds.next = (self.feedback.val().flags & self.flag_nack.val()).any()
            & (self.fresh.val()
                | (!self.behind.val().get_bit(7)
                    & (self.behind.val().get_bits::<7>(0) < self.state.val().nack_behind)));
        self.out.d.next.heeds = self.heeds.val();
        self.fallen.next = bit_cast::<8, 7>(self.state.val().nack_behind) + self.ahead.val();
        self.out.d.next.nack_behind = self.state.val().nack_behind;
        if self.fresh.val() {
            if self.heeds.val() {
                self.out.d.next.nack_behind = 0.into();
            } else {
                if self.fallen.val().get_bit(7) | !self.state.val().sequenced {
                    self.out.d.next.nack_behind = 127.into();
                } else {
                    self.out.d.next.nack_behind = self.fallen.val().get_bits::<7>(0);
                }
            }
        } else {
            if self.heeds.val() {
                self.out.d.next.nack_behind = self.behind.val().get_bits::<7>(0);
            }
        }

        // What may be sent.
        if self.message.val().initial_window == 0 {
            self.window.next = 256.into();
        } else {
            self.window.next = bit_cast::<24, 8>(self.message.val().initial_window);
        }
        if self.job.val().accept {
            self.asked.next = self.window.val();
        } else {
            self.asked.next = self.feedback.val().grant;
        }
        self.enough.next = self.asked.val() >= self.message.val().count;
        self.out.d.next.grant = self.asked.val();
        if self.enough.val() {
            self.out.d.next.grant = self.message.val().count;
        }
        self.bounded.next = self.state.val().limit < self.message.val().count;
        self.room.next =
            bit_cast::<25, 24>(self.state.val().limit) - bit_cast::<25, 24>(self.state.val().sent);
        self.unsent.next = !self.room.val().get_bit(24) & self.room.val().get_bits::<24>(0).any();
        self.out.d.next.cumulative_up = self.feedback.val().cumulative > self.state.val().cumulative;
        // Of FEEDBACK.
        self.out.d.next.limit_up = self.bounded.val() & (self.feedback.val().grant > self.state.val().limit);
        self.out.d.next.unsent = self.unsent.val();
        self.out.d.next.unsent_then =
            self.unsent.val() | (self.unfinished.val() & (self.state.val().sent < self.feedback.val().grant));
        self.out.d.next.unsent_after = !self.room.val().get_bit(24) & self.room.val().get_bits::<23>(1).any();
        // TX-17. A state that is accepted into is still the last message's. One sum: the
        // complement of what was sent before, and one more where this job sends nothing new.
        self.gone.next = self.state.val().sent;
        if self.job.val().accept {
            self.gone.next = 0.into();
        }
        self.stays.next = !self.job.val().turn | self.state.val().probe;
        self.left.next =
            self.message.val().count + !self.gone.val() + bit_cast::<24, 1>(self.stays.val().into());
        self.out.d.next.few_after = self.left.val() <= 4;
        self.out.d.next.list = 0.into();
        if self.settings.val().turn_policy.get_bit(0) {
            if self.left.val().get_bits::<2>(2).any() {
                self.out.d.next.list = 1.into();
            }
            if self.left.val().get_bits::<2>(4).any() {
                self.out.d.next.list = 2.into();
            }
            if self.left.val().get_bits::<2>(6).any() {
                self.out.d.next.list = 3.into();
            }
            if self.left.val().get_bits::<2>(8).any() {
                self.out.d.next.list = 4.into();
            }
            if self.left.val().get_bits::<2>(10).any() {
                self.out.d.next.list = 5.into();
            }
            if self.left.val().get_bits::<2>(12).any() {
                self.out.d.next.list = 6.into();
            }
            if self.left.val().get_bits::<10>(14).any() {
                self.out.d.next.list = 7.into();
            }
        }
        self.out.d.next.starved = (self.state.val().cumulative == self.state.val().sent)
            & self.unsent.val()
            & (self.state.val().busy == 0);
        self.out.d.next.again = (self.job.val().index < self.state.val().sent)
            & (self.job.val().index >= self.state.val().cumulative);
        self.unasked.initial_window.next = self.message.val().initial_window;
        self.unasked.cap.next = 0.into();
        self.unasked.payload_log2.next = self.message.val().payload_log2;
        self.unasked.length.next = self.message.val().length;
        self.unasked.count.next = self.message.val().count;
        self.out.d.next.unasked = self.unasked.bytes.val();

        // Ages.
        self.since_mark.next = self.now24.val() - self.state.val().mark_time;
        self.since_new.next = self.now24.val() - self.state.val().last_new;
        self.since_probe.next = self.now24.val() - self.state.val().probe_time;
        self.since.next = self.now.val() - self.state.val().since;
        self.half.next = bit_cast::<24, 23>(self.settles_in.val().get_bits::<23>(1));
        self.out.d.next.half_old = self.since_mark.val() >= self.half.val();
        self.out.d.next.old = self.since_new.val() >= self.settles_in.val();
        self.out.d.next.may_probe = self.since_probe.val() >= bit_cast::<24, 16>(self.rtt.val());
        // TX-10: from the first packet on.
        self.out.d.next.open_over = self.state.val().sent.any()
            & (self.since.val() >= bit_cast::<32, 24>(self.settings.val().t_open));
        self.out.d.next.grant_over = self.since.val() >= bit_cast::<32, 24>(self.settings.val().grant_wait);
        self.out.d.next.retries_over = self.state.val().probes >= self.settings.val().max_retry;
        self.out.d.next.left = self.state.val().deadline - self.now.val();
        self.out.d.next.first_left = self.state.val().linked_at - self.now.val();

        // Doublings, of the job that comes: they begin the shifts below.
        // Each by itself and in gates: the PROBEs come out of a memory.
        self.few_probes.next = self.next_probes.val().get_bits::<4>(4) == 0;
        self.halves.next = bit_cast::<4, 3>(self.next_probes.val().get_bits::<3>(1));
        // The interval that starts now, TX-9: of a pop it follows the PROBE it asks
        // for, of feedback the first, which finds the slot established.
        self.odd_pop.next = self.next_job.val().pop & self.next_probes.val().get_bit(0);
        self.one_more.d.next = self.odd_pop.val() & self.few_probes.val();
        self.waits.d.next = self.halves.val();
        self.carry1.next = self.odd_pop.val() & self.halves.val().get_bit(0);
        self.carry2.next = self.carry1.val() & self.halves.val().get_bit(1);
        self.doublings.d.next = self.halves.val()
            ^ bit_cast::<4, 1>(self.odd_pop.val().into())
            ^ (bit_cast::<4, 1>(self.carry1.val().into()) << 1)
            ^ (bit_cast::<4, 1>(self.carry2.val().into()) << 2)
            ^ (bit_cast::<4, 1>((self.carry2.val() & self.halves.val().get_bit(2)).into()) << 3);
        self.to_ceiling.d.next = self.halves.val().get_bits::<3>(0);
        self.more_to_ceiling.d.next = self.odd_pop.val();
        if self.halves.val().get_bit(2) & self.halves.val().get_bits::<2>(0).any() {
            self.to_ceiling.d.next = 5.into();
            self.more_to_ceiling.d.next = false;
        }
        self.to_longest.d.next = bit_cast::<2, 1>((self.odd_pop.val() | self.halves.val().get_bit(0)).into());
        if self.halves.val().get_bits::<2>(1).any() | self.carry1.val() {
            self.to_longest.d.next = 2.into();
        }
        if !self.few_probes.val() {
            self.waits.d.next = 8.into();
            self.doublings.d.next = 8.into();
            self.to_ceiling.d.next = 5.into();
            self.more_to_ceiling.d.next = false;
            self.to_longest.d.next = 2.into();
        }
        if self.next_job.val().feedback | self.next_job.val().accept {
            self.waits.d.next = 0.into();
            self.doublings.d.next = 0.into();
            self.to_ceiling.d.next = 0.into();
            self.more_to_ceiling.d.next = false;
            self.to_longest.d.next = 0.into();
        }

        // Intervals.
        // A state that is accepted into is still the last message's.
        self.granting.next = ((self.state.val().heard & !self.job.val().accept) | self.job.val().feedback)
            & self.bounded.val()
            & !(self.job.val().feedback & self.enough.val());
        self.watched.next = self.message.val().host_recovery
            & !self.unfinished.val()
            & ((self.state.val().heard & !self.job.val().accept) | self.job.val().feedback);
        self.rto.next = bit_cast::<32, 24>(self.settings.val().rto);
        self.round_wait.d.next = self.settings.val().rto_round;
        if self.settings.val().rto_round > self.settings.val().rto {
            self.round_wait.d.next = self.settings.val().rto;
        }
        self.ceiling.next = self.rto.val() << 5;
        self.longest.next = self.rto.val() << 2;
        self.wide_reach.next = bit_cast::<32, 18>(self.reach.val());
        self.parts[0].next = self.settings.val().rto;
        for i in 0..7 {
            self.parts[i + 1].next = self.parts[i].val() >> 1;
            self.beyond[i].next = bit_cast::<24, 18>(self.reach.val()) > self.parts[i].val();
        }
        self.from_rto.next = self.granting.val() | self.beyond[0].val();
        self.reach_waited.next = self.wide_reach.val() << self.waits.q.val();
        self.rto_waited.next = self.rto.val() << self.to_ceiling.q.val();
        // What a popped slot has waited for: its packets leave later than decided.
        self.limited_before.next = false;
        match self.waits.q.val().index() {
            6 => {
                self.limited_before.next = self.beyond[1].val();
            }
            7 => {
                self.limited_before.next = self.beyond[2].val();
            }
            8 => {
                self.limited_before.next = self.beyond[3].val();
            }
            _ => {}
        }
        // What is left of either, before it is known which counts.
        self.by_reach.next = !self.from_rto.val() & !self.limited_before.val();
        self.waited.next = self.rto_waited.val();
        if self.message.val().in_round & !self.state.val().heard & (self.state.val().probes == 0) {
            self.waited.next = bit_cast::<32, 24>(self.round_wait.q.val());
            self.by_reach.next = false;
        }
        if self.watched.val() {
            self.waited.next = self.ceiling.val();
            self.by_reach.next = false;
        }
        self.quiet.next = self.now24.val() - self.landed_at.val();
        if self.in_flight.val() {
            self.quiet.next = 0.into();
        }
        self.out.d.next.wire_left = self.waited.val() - bit_cast::<32, 24>(self.quiet.val());
        self.out.d.next.wire_long = !self.in_flight.val() & self.waited.val().get_bits::<9>(23).any();
        if self.by_reach.val() {
            // A sum's complement: of two differences from one a synthesiser makes one, behind the choice.
            self.out.d.next.wire_left = !(bit_cast::<32, 24>(self.quiet.val()) + !self.reach_waited.val());
            self.out.d.next.wire_long =
                !self.in_flight.val() & self.reach_waited.val().get_bits::<9>(23).any();
        }

        // The next one. One of a round is not doubled yet.
        self.of_round.next = self.message.val().in_round
            & !self.granting.val()
            & (self.job.val().accept
                | (self.job.val().turn & !self.state.val().heard & (self.state.val().probes == 0)));
        self.limited.next = false;
        match self.doublings.q.val().index() {
            6 => {
                self.limited.next = self.beyond[1].val();
            }
            7 => {
                self.limited.next = self.beyond[2].val();
            }
            8 => {
                self.limited.next = self.beyond[3].val();
            }
            _ => {}
        }
        self.linked_less.next = false;
        match self.doublings.q.val().index() {
            3 => {
                self.linked_less.next = self.beyond[1].val();
            }
            4 => {
                self.linked_less.next = self.beyond[2].val();
            }
            5 => {
                self.linked_less.next = self.beyond[3].val();
            }
            6 => {
                self.linked_less.next = self.beyond[4].val();
            }
            7 => {
                self.linked_less.next = self.beyond[5].val();
            }
            8 => {
                self.linked_less.next = self.beyond[6].val();
            }
            _ => {}
        }
        self.reach_next.next = self.reach_waited.val();
        if self.one_more.q.val() {
            self.reach_next.next = self.reach_waited.val() << 1;
        }
        self.rto_next.next = self.rto_waited.val();
        if self.more_to_ceiling.q.val() {
            self.rto_next.next = self.rto_waited.val() << 1;
        }
        self.rto_linked.next = self.rto.val() << self.to_longest.q.val();
        // Choices, not a shift: a synthesiser makes one of this and those above, behind what FEEDBACK says.
        self.busy_waits[0].next = bit_cast::<32, 24>(self.settings.val().busy_wait);
        self.busy_waits[1].next = self.busy_waits[0].val();
        if self.state.val().busy_count.get_bit(0) {
            self.busy_waits[1].next = self.busy_waits[0].val() << 1;
        }
        self.busy_waits[2].next = self.busy_waits[1].val();
        if self.state.val().busy_count.get_bit(1) {
            self.busy_waits[2].next = self.busy_waits[1].val() << 2;
        }
        self.busy_waits[3].next = self.busy_waits[2].val();
        if self.state.val().busy_count.get_bit(2) {
            self.busy_waits[3].next = self.busy_waits[2].val() << 4;
        }
        self.after_busy.next = self.busy_waits[3].val() + bit_cast::<32, 24>(self.jitter.val());
        if self.job.val().feedback & (self.feedback.val().flags & self.flag_busy.val()).any() {
            self.out.d.next.interval = self.after_busy.val();
            self.out.d.next.link = self.after_busy.val();
            if self.after_busy.val() > self.longest.val() {
                self.out.d.next.link = self.longest.val();
            }
        } else {
            if self.of_round.val() & !self.watched.val() {
                self.out.d.next.interval = bit_cast::<32, 24>(self.round_wait.q.val());
                self.out.d.next.link = bit_cast::<32, 24>(self.round_wait.q.val());
            } else {
                self.out.d.next.interval = self.reach_next.val();
                if self.from_rto.val() | self.limited.val() {
                    self.out.d.next.interval = self.rto_next.val();
                }
                self.out.d.next.link = self.reach_next.val();
                if self.from_rto.val() | self.linked_less.val() {
                    self.out.d.next.link = self.rto_linked.val();
                }
                if self.watched.val() {
                    self.out.d.next.interval = self.ceiling.val();
                    self.out.d.next.link = self.longest.val();
                }
            }
        }
    }
}
