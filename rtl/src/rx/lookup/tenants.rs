//! What `lookup` knows of each local endpoint: where its receives come from, and
//! how many contexts it holds against its quota.
//!
//! ```text
//!  table_write ─┬─> ring, tags of the next packet's endpoint ──> ring, tags
//!               └─> quota of this one's ─┐
//!  take ──> +1 ──┐                       v
//!  give ──> -1 ──┴─> counts ──> count >= quota? ───────────────> used_up
//! ```
//!
//! A count stays when the endpoint's entry is written: contexts of its last life
//! are counted until their numbers are free.
//!
//! Contract: `ring` and `tags` are those that `next_endpoint` of the clock before
//! `advance` had; they stand until the next `advance`. `used_up` follows `endpoint`
//! three clocks later, and is exact while gives are three clocks apart and takes four.
//! A take is of `endpoint`, a give of `given`; both may come in one clock. A take is
//! counted in the next clock, since it is decided late.
//!
//! Verified as part of `testbenches/tests/lookup`.

use crate::host::cleared_ram::ClearedRam;
use crate::prelude::*;
use crate::types::TableWrite;
use tessera_abi::params::Config;
use tessera_abi::regs;

/// An endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct LookupTenant {
    /// Table entry whose receive ring it uses.
    pub ring: Bits<8>,
    /// Its messages are matched by tag first.
    pub tags: Bit,
}

#[derive(LogicBlock)]
pub struct LookupTenants {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub table_write: Signal<In, TableWrite>,
    /// Of the packet on offer.
    pub next_endpoint: Signal<In, Bits<8>>,
    /// Which becomes the packet at hand.
    pub advance: Signal<In, Bit>,
    /// Of the packet at hand.
    pub endpoint: Signal<In, Bits<8>>,
    pub ring: Signal<Out, Bits<8>>,
    /// With `ring`.
    pub tags: Signal<Out, Bit>,
    pub used_up: Signal<Out, Bit>,
    /// The endpoint opens a context.
    pub take: Signal<In, Bit>,
    /// A context number is free again.
    pub give: Signal<In, Bit>,
    /// Whose it was.
    pub given: Signal<In, Bits<8>>,
    /// Whether `watched` holds any, a clock later.
    pub watched: Signal<In, Bits<8>>,
    pub holds: Signal<Out, Bit>,
    pub ready: Signal<Out, Bit>,

    tenants: ClearedRam<LookupTenant, 8>,
    /// Contexts each may hold, inverted: 0 = as many as there are.
    quotas: ClearedRam<Bits<13>, 8>,
    counts: ClearedRam<Bits<13>, 8>,
    /// The same, for gives.
    counts_give: ClearedRam<Bits<13>, 8>,
    /// Whether it is not zero, to be watched.
    counts_shown: ClearedRam<Bit, 8>,

    at_hand: Dff<LookupTenant>,
    /// A give that is not written yet.
    owed: Dff<Bit>,
    owed_to: Dff<Bits<8>>,
    /// What was written in the last clock: too late for what is read now.
    wrote: Dff<Bit>,
    wrote_at: Dff<Bits<8>>,
    wrote_count: Dff<Bits<13>>,
    /// Of the last clock.
    asked: Dff<Bits<8>>,
    took: Dff<Bit>,
    took_at: Dff<Bits<8>>,
    /// What it held.
    had: Dff<Bits<13>>,
    /// Against its quota, of its upper six bits and of its lower seven.
    over: Dff<Bit>,
    equal: Dff<Bit>,
    over_low: Dff<Bit>,
    equal_low: Dff<Bit>,
    /// A give one and two clocks ago, of the endpoint at hand.
    gave: Dff<Bit>,
    gave_before: Dff<Bit>,

    endpoint_write: Signal<Local, Bit>,
    quota: Signal<Local, Bits<16>>,
    count: Signal<Local, Bits<13>>,
    count_give: Signal<Local, Bits<13>>,
    count_take: Signal<Local, Bits<13>>,
    limit: Signal<Local, Bits<13>>,
    writes: Signal<Local, Bit>,
    write_at: Signal<Local, Bits<8>>,
    write_count: Signal<Local, Bits<13>>,
    give_at: Signal<Local, Bits<8>>,

    this_table: Constant<Bits<4>>,
    at_shares: Constant<Bits<9>>,
    at_shared: Constant<Bits<9>>,
    at_quota: Constant<Bits<9>>,
    at_tags: Constant<Bits<9>>,
}

impl LookupTenants {
    /// The endpoints of a configuration.
    pub fn new(config: &Config) -> Self {
        let endpoints = config.endpoints_log2;
        let at = |field: (usize, usize)| Constant::new((field.0 as u64).into());
        Self {
            clk: Default::default(),
            rst: Default::default(),
            table_write: Default::default(),
            next_endpoint: Default::default(),
            advance: Default::default(),
            endpoint: Default::default(),
            ring: Default::default(),
            tags: Default::default(),
            used_up: Default::default(),
            take: Default::default(),
            give: Default::default(),
            given: Default::default(),
            watched: Default::default(),
            holds: Default::default(),
            ready: Default::default(),
            tenants: ClearedRam::of_endpoints(config),
            quotas: ClearedRam::of_endpoints(config),
            at_hand: Default::default(),
            counts: ClearedRam::new(endpoints, "distributed").reads_old(),
            counts_give: ClearedRam::new(endpoints, "distributed").reads_old(),
            counts_shown: ClearedRam::of_endpoints(config),
            owed: Default::default(),
            owed_to: Default::default(),
            wrote: Default::default(),
            wrote_at: Default::default(),
            wrote_count: Default::default(),
            asked: Default::default(),
            took: Default::default(),
            took_at: Default::default(),
            had: Default::default(),
            over: Default::default(),
            equal: Default::default(),
            over_low: Default::default(),
            equal_low: Default::default(),
            gave: Default::default(),
            gave_before: Default::default(),
            endpoint_write: Default::default(),
            quota: Default::default(),
            count: Default::default(),
            count_give: Default::default(),
            count_take: Default::default(),
            limit: Default::default(),
            writes: Default::default(),
            write_at: Default::default(),
            write_count: Default::default(),
            give_at: Default::default(),
            this_table: Constant::new(u64::from(regs::table::ENDPOINT).into()),
            at_shares: at(regs::endpoint::SHARES),
            at_shared: at(regs::endpoint::SHARED_RING),
            at_quota: at(regs::endpoint::RX_QUOTA),
            at_tags: at(regs::endpoint::TAGS),
        }
    }
}

impl Logic for LookupTenants {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            at_hand,
            owed,
            owed_to,
            wrote,
            wrote_at,
            wrote_count,
            asked,
            took,
            took_at,
            had,
            over,
            equal,
            over_low,
            equal_low,
            gave,
            gave_before
        );
        self.tenants.clk.next = self.clk.val();
        self.tenants.rst.next = self.rst.val();
        self.quotas.clk.next = self.clk.val();
        self.quotas.rst.next = self.rst.val();
        self.counts.clk.next = self.clk.val();
        self.counts.rst.next = self.rst.val();
        self.counts_give.clk.next = self.clk.val();
        self.counts_give.rst.next = self.rst.val();
        self.counts_shown.clk.next = self.clk.val();
        self.counts_shown.rst.next = self.rst.val();
        self.ready.next = self.tenants.ready.val()
            & self.quotas.ready.val()
            & self.counts.ready.val()
            & self.counts_give.ready.val()
            & self.counts_shown.ready.val();

        self.endpoint_write.next =
            self.table_write.val().valid & (self.table_write.val().table == self.this_table.val());
        self.tenants.write_enable.next = self.endpoint_write.val();
        self.tenants.write_address.next = self.table_write.val().index;
        self.tenants.write_data.next.ring = self.table_write.val().index;
        if self.table_write.val().entry.get_bit(self.at_shares.val().index()) {
            self.tenants.write_data.next.ring =
                self.table_write.val().entry.get_bits::<8>(self.at_shared.val().index());
        }
        self.quotas.write_enable.next = self.endpoint_write.val();
        self.quotas.write_address.next = self.table_write.val().index;
        // Inverted, so that of a quota of none and of a table that is clear it is more than any count, and
        // nothing has to ask for it behind the memory. So is what has more bits than a count.
        self.quota.next = self.table_write.val().entry.get_bits::<16>(self.at_quota.val().index());
        self.quotas.write_data.next = 0.into();
        if self.quota.val().any() & !self.quota.val().get_bits::<3>(13).any() {
            self.quotas.write_data.next = !self.quota.val().get_bits::<13>(0);
        }
        self.tenants.write_data.next.tags = self.table_write.val().entry.get_bit(self.at_tags.val().index());

        // The endpoint of the packet on offer; when it is at hand is known late.
        self.tenants.read_address.next = self.next_endpoint.val();
        if self.advance.val() {
            self.at_hand.d.next = self.tenants.read_data.val();
        }
        self.ring.next = self.at_hand.q.val().ring;
        self.tags.next = self.at_hand.q.val().tags;

        // That of the packet at hand.
        self.quotas.read_address.next = self.endpoint.val();
        self.counts.read_address.next = self.endpoint.val();
        self.asked.d.next = self.endpoint.val();
        self.count.next = self.counts.read_data.val();
        if self.wrote.q.val() & (self.wrote_at.q.val() == self.asked.q.val()) {
            self.count.next = self.wrote_count.q.val();
        }
        self.limit.next = !self.quotas.read_data.val();
        self.over.d.next = self.count.val().get_bits::<6>(7) > self.limit.val().get_bits::<6>(7);
        self.equal.d.next = self.count.val().get_bits::<6>(7) == self.limit.val().get_bits::<6>(7);
        self.over_low.d.next = self.count.val().get_bits::<7>(0) > self.limit.val().get_bits::<7>(0);
        self.equal_low.d.next = self.count.val().get_bits::<7>(0) == self.limit.val().get_bits::<7>(0);
        self.gave.d.next = self.give.val() & (self.given.val() == self.endpoint.val());
        self.gave_before.d.next = self.gave.q.val();
        self.used_up.next = self.over.q.val()
            | (self.equal.q.val()
                & (self.over_low.q.val()
                    | (self.equal_low.q.val() & !self.gave.q.val() & !self.gave_before.q.val())));

        // One count is written per clock, a take first.
        self.give_at.next = self.given.val();
        if self.owed.q.val() {
            self.give_at.next = self.owed_to.q.val();
        }
        self.counts_give.read_address.next = self.give_at.val();
        self.count_give.next = self.counts_give.read_data.val();
        if self.wrote.q.val() & (self.wrote_at.q.val() == self.owed_to.q.val()) {
            self.count_give.next = self.wrote_count.q.val();
        }
        self.took.d.next = self.take.val();
        self.took_at.d.next = self.endpoint.val();
        self.had.d.next = self.count.val();
        self.count_take.next = self.had.q.val();
        if self.wrote.q.val() & (self.wrote_at.q.val() == self.took_at.q.val()) {
            self.count_take.next = self.wrote_count.q.val();
        }
        self.writes.next = self.took.q.val() | self.owed.q.val();
        self.write_at.next = self.owed_to.q.val();
        self.write_count.next = self.count_give.val() - 1;
        if self.owed.q.val() & !self.took.q.val() {
            self.owed.d.next = false;
        }
        if self.took.q.val() {
            self.write_at.next = self.took_at.q.val();
            self.write_count.next = self.count_take.val() + 1;
        }
        if self.give.val() {
            self.owed.d.next = true;
            self.owed_to.d.next = self.given.val();
        }
        self.counts.write_enable.next = self.writes.val();
        self.counts.write_address.next = self.write_at.val();
        self.counts.write_data.next = self.write_count.val();
        self.counts_give.write_enable.next = self.writes.val();
        self.counts_give.write_address.next = self.write_at.val();
        self.counts_give.write_data.next = self.write_count.val();
        self.counts_shown.write_enable.next = self.wrote.q.val();
        self.counts_shown.write_address.next = self.wrote_at.q.val();
        self.counts_shown.write_data.next = self.wrote_count.q.val().any();
        self.counts_shown.read_address.next = self.watched.val();
        self.holds.next = self.counts_shown.read_data.val();
        self.wrote.d.next = self.writes.val();
        self.wrote_at.d.next = self.write_at.val();
        self.wrote_count.d.next = self.write_count.val();

        if self.rst.val() {
            self.owed.d.next = false;
            self.took.d.next = false;
            self.wrote.d.next = false;
        }
    }
}
