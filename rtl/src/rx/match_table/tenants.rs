//! What the match table knows of each endpoint: whether it matches tags, which
//! life it lives, how many tagged receives it holds against its quota.
//!
//! ```text
//!  table_write ──> tags, quota, life ──> of the endpoint asked for
//!  more, fewer ──> count ──────────────> used_up
//! ```
//!
//! Contract: all outputs follow `endpoint` one clock later, but `used_up` two (the
//! change of a count takes the endpoint of the last clock). A change is seen two
//! clocks later, in `used_up` three.
//!
//! Verified as part of `testbenches/tests/match_table/main.rs`.

use crate::host::cleared_ram::ClearedRam;
use crate::prelude::*;
use crate::types::TableWrite;
use tessera_abi::regs;

/// An endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct MatchTenant {
    pub tags: Bit,
    /// Tagged receives it may have in the table, 0 = as many as there are.
    pub quota: Bits<16>,
    /// Number of the table write it comes from.
    pub life: Bits<16>,
}

#[derive(LogicBlock)]
pub struct MatchTenants {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub table_write: Signal<In, TableWrite>,
    /// An endpoint begins a new life.
    pub rewritten: Signal<Out, Bit>,
    pub endpoint: Signal<In, Bits<8>>,
    pub tags: Signal<Out, Bit>,
    pub life: Signal<Out, Bits<16>>,
    pub used_up: Signal<Out, Bit>,
    pub more: Signal<In, Bit>,
    pub fewer: Signal<In, Bit>,
    pub ready: Signal<Out, Bit>,

    tenants: ClearedRam<MatchTenant, 8>,
    counts: ClearedRam<Bits<13>, 8>,
    asked: Dff<Bits<8>>,
    /// In a register: much hangs on it, and the count is compared in front of it.
    at_limit: Dff<Bit>,
    writes: Dff<Bits<16>>,
    endpoint_write: Signal<Local, Bit>,
    limit: Signal<Local, Bits<16>>,

    this_table: Constant<Bits<4>>,
    at_tags: Constant<Bits<9>>,
    at_quota: Constant<Bits<9>>,
}

impl MatchTenants {
    /// `2^endpoints_log2` of them.
    pub fn new(endpoints_log2: usize) -> Self {
        let at = |field: (usize, usize)| Constant::new((field.0 as u64).into());
        Self {
            clk: Default::default(),
            rst: Default::default(),
            table_write: Default::default(),
            rewritten: Default::default(),
            endpoint: Default::default(),
            tags: Default::default(),
            life: Default::default(),
            used_up: Default::default(),
            more: Default::default(),
            fewer: Default::default(),
            ready: Default::default(),
            tenants: ClearedRam::new(endpoints_log2, "distributed").reads_old(),
            counts: ClearedRam::new(endpoints_log2, "distributed").reads_old(),
            asked: Default::default(),
            at_limit: Default::default(),
            writes: Default::default(),
            endpoint_write: Default::default(),
            limit: Default::default(),
            this_table: Constant::new(u64::from(regs::table::ENDPOINT).into()),
            at_tags: at(regs::endpoint::TAGS),
            at_quota: at(regs::endpoint::RX_QUOTA),
        }
    }
}

impl Logic for MatchTenants {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, asked, at_limit, writes);
        self.tenants.clk.next = self.clk.val();
        self.tenants.rst.next = self.rst.val();
        self.counts.clk.next = self.clk.val();
        self.counts.rst.next = self.rst.val();
        self.ready.next = self.tenants.ready.val() & self.counts.ready.val();

        self.endpoint_write.next =
            self.table_write.val().valid & (self.table_write.val().table == self.this_table.val());
        self.rewritten.next = self.endpoint_write.val();
        if self.endpoint_write.val() {
            self.writes.d.next = self.writes.q.val() + 1;
        }
        self.tenants.write_enable.next = self.endpoint_write.val();
        self.tenants.write_address.next = self.table_write.val().index;
        self.tenants.write_data.next.tags = self.table_write.val().entry.get_bit(self.at_tags.val().index());
        self.tenants.write_data.next.quota =
            self.table_write.val().entry.get_bits::<16>(self.at_quota.val().index());
        self.tenants.write_data.next.life = self.writes.q.val();

        self.tenants.read_address.next = self.endpoint.val();
        self.counts.read_address.next = self.endpoint.val();
        self.asked.d.next = self.endpoint.val();
        self.tags.next = self.tenants.read_data.val().tags;
        self.life.next = self.tenants.read_data.val().life;
        self.limit.next = self.tenants.read_data.val().quota;
        self.at_limit.d.next =
            (self.limit.val() != 0) & (bit_cast::<16, 13>(self.counts.read_data.val()) >= self.limit.val());
        self.used_up.next = self.at_limit.q.val();

        self.counts.write_enable.next = self.more.val() | self.fewer.val();
        self.counts.write_address.next = self.asked.q.val();
        self.counts.write_data.next = self.counts.read_data.val() - 1;
        if self.more.val() {
            self.counts.write_data.next = self.counts.read_data.val() + 1;
        }

        if self.rst.val() {
            self.writes.d.next = 0.into();
        }
    }
}
