//! Whether a key permits a buffer: an own copy of the memory key table, and of
//! the protection domains of endpoints.
//!
//! ```text
//!   key[7:0] ──> key table ──┬─ valid, upper 24 bits, right, domain ──┐
//!   endpoint ──> domains ────│──── same domain? ──────────────────────┤
//!                            └─ base, its end ────────┐               v
//!   address, length ── address + length ──────────────┴──────────> permitted
//!        clock n                  n + 1                       n + 2
//! ```
//!
//! A buffer of no bytes needs no key. Sums are one bit wider than addresses, so
//! neither a buffer nor a region that wraps is ever permitted. The block checks
//! one right, chosen when it is made; [`Right::Any`] asks for none. The sum and the
//! comparisons are made in parts: address and length may come out of a memory, as the
//! table's words do.
//!
//! Contract: the inputs are held from clock n on; `permitted` holds from n + 2
//! and follows a table write three clocks later.
//!
//! Verified by `testbenches/tests/sq_fetch`, `rq_fetch` and `access.rs`.

use super::cleared_ram::ClearedRam;
use super::lsb;
use crate::prelude::*;
use crate::types::TableWrite;
use tessera_abi::params::{Config, NARROW_BITS};
use tessera_abi::regs;

/// What a buffer is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// The local NIC reads, which every key permits.
    Any,
    /// The local NIC writes.
    LocalWrite,
    /// A peer writes.
    RemoteWrite,
}

/// A memory key as the check needs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct MemoryKey {
    pub exists: Bit,
    pub right: Bit,
    pub domain: Bits<16>,
    pub hi: Bits<24>,
    pub base: Bits<64>,
    /// Where it ends: base and length.
    pub limit: Bits<65>,
}

#[derive(LogicBlock)]
pub struct KeyCheck {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub table_write: Signal<In, TableWrite>,
    pub key: Signal<In, Bits<32>>,
    /// Whose domain the key has to be of.
    pub endpoint: Signal<In, Bits<8>>,
    pub address: Signal<In, Bits<64>>,
    pub length: Signal<In, Bits<32>>,
    pub permitted: Signal<Out, Bit>,
    pub ready: Signal<Out, Bit>,
    keys: ClearedRam<MemoryKey, 8>,
    domains: ClearedRam<Bits<16>, 8>,
    /// There are no bytes to check; the length may come out of a memory.
    is_empty: Dff<Bit>,
    /// The key and its right fit, and its domain; of the clock before.
    exists: Dff<Bit>,
    is_key_low: Dff<Bit>,
    is_key_high: Dff<Bit>,
    is_domain: Dff<Bit>,
    /// Quarters of the address that are below the base's, and level with them.
    are_below: [Dff<Bit>; 4],
    are_level: [Dff<Bit>; 4],
    /// Address + length, in quarters without the carry between them: a clock before the rest.
    last_low: Dff<Bits<17>>,
    last_mid: Dff<Bits<17>>,
    address_high: Dff<Bits<32>>,
    last_high: Dff<Bits<33>>,
    /// Above the limit in the low half; what of the limit is left to look at.
    above_low: Dff<Bit>,
    some_low: Dff<Bit>,
    limit_high: Dff<Bits<33>>,
    base: Signal<Local, Bits<64>>,
    below: Signal<Local, Bit>,
    mid: Signal<Local, Bits<17>>,
    low: Signal<Local, Bits<32>>,
    key_index: Signal<Local, Bits<8>>,
    /// The region runs past the end of the address space.
    limit_wraps: Signal<Local, Bit>,
    fits: Signal<Local, Bit>,
    key_table: Constant<Bits<4>>,
    endpoint_table: Constant<Bits<4>>,
    /// Index bits that no key of this size has.
    beyond: Constant<Bits<8>>,
    at_exists: Constant<Bits<9>>,
    at_right: Constant<Bits<9>>,
    at_domain: Constant<Bits<9>>,
    at_endpoint_domain: Constant<Bits<9>>,
    at_hi: Constant<Bits<9>>,
    at_base: Constant<Bits<9>>,
    at_length: Constant<Bits<9>>,
}

impl KeyCheck {
    /// A check for `right`.
    pub fn new(config: &Config, right: Right) -> Self {
        let right = match right {
            // Whoever exists may be read from.
            Right::Any => regs::mr::VALID,
            Right::LocalWrite => regs::mr::LOCAL_WRITE,
            Right::RemoteWrite => regs::mr::REMOTE_WRITE,
        };
        let mut keys = ClearedRam::new(config.mrs_log2, "block").reads_old().fed_zeros();
        if config.path_bits() == NARROW_BITS {
            // 172 bits are dear in LUTs of a small FPGA.
            keys = keys.in_block();
        }
        Self {
            clk: Default::default(),
            rst: Default::default(),
            table_write: Default::default(),
            key: Default::default(),
            endpoint: Default::default(),
            address: Default::default(),
            length: Default::default(),
            permitted: Default::default(),
            ready: Default::default(),
            keys,
            domains: ClearedRam::new(config.endpoints_log2, "block").reads_old().fed_zeros(),
            is_empty: Default::default(),
            exists: Default::default(),
            is_key_low: Default::default(),
            is_key_high: Default::default(),
            is_domain: Default::default(),
            are_below: std::array::from_fn(|_| Dff::default()),
            are_level: std::array::from_fn(|_| Dff::default()),
            last_low: Default::default(),
            last_mid: Default::default(),
            address_high: Default::default(),
            last_high: Default::default(),
            above_low: Default::default(),
            some_low: Default::default(),
            limit_high: Default::default(),
            base: Default::default(),
            below: Default::default(),
            mid: Default::default(),
            low: Default::default(),
            key_index: Default::default(),
            limit_wraps: Default::default(),
            fits: Default::default(),
            key_table: Constant::new(u64::from(regs::table::MR).into()),
            endpoint_table: Constant::new(u64::from(regs::table::ENDPOINT).into()),
            beyond: Constant::new((0xFFu64 >> config.mrs_log2 << config.mrs_log2).into()),
            at_exists: lsb(regs::mr::VALID),
            at_right: lsb(right),
            at_domain: lsb(regs::mr::PD),
            at_endpoint_domain: lsb(regs::endpoint::PD),
            at_hi: lsb(regs::mr::KEY_HI),
            at_base: lsb(regs::mr::BASE),
            at_length: lsb(regs::mr::LENGTH),
        }
    }
}

impl Logic for KeyCheck {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self,
            clk,
            is_empty,
            exists,
            is_key_low,
            is_key_high,
            is_domain,
            last_low,
            last_mid,
            address_high,
            last_high,
            above_low,
            some_low,
            limit_high
        );
        self.keys.clk.next = self.clk.val();
        self.keys.rst.next = self.rst.val();
        self.domains.clk.next = self.clk.val();
        self.domains.rst.next = self.rst.val();
        self.ready.next = self.keys.ready.val() & self.domains.ready.val();

        self.domains.write_enable.next =
            self.table_write.val().valid & (self.table_write.val().table == self.endpoint_table.val());
        self.domains.write_address.next = self.table_write.val().index;
        self.domains.write_data.next =
            self.table_write.val().entry.get_bits::<16>(self.at_endpoint_domain.val().index());
        self.domains.read_address.next = self.endpoint.val();

        self.keys.write_enable.next =
            self.table_write.val().valid & (self.table_write.val().table == self.key_table.val());
        self.keys.write_address.next = self.table_write.val().index;
        self.keys.write_data.next.exists = self.table_write.val().entry.get_bit(self.at_exists.val().index());
        self.keys.write_data.next.right = self.table_write.val().entry.get_bit(self.at_right.val().index());
        self.keys.write_data.next.domain =
            self.table_write.val().entry.get_bits::<16>(self.at_domain.val().index());
        self.keys.write_data.next.hi = self.table_write.val().entry.get_bits::<24>(self.at_hi.val().index());
        self.keys.write_data.next.base =
            self.table_write.val().entry.get_bits::<64>(self.at_base.val().index());
        // Added here, where there is time for it, and not behind the memory.
        self.keys.write_data.next.limit =
            bit_cast::<65, 64>(self.table_write.val().entry.get_bits::<64>(self.at_base.val().index()))
                + bit_cast::<65, 64>(
                    self.table_write.val().entry.get_bits::<64>(self.at_length.val().index()),
                );

        self.key_index.next = self.key.val().get_bits::<8>(0);
        self.keys.read_address.next = self.key_index.val();

        // Behind the table there is time for a part each.
        self.exists.d.next = self.keys.read_data.val().exists
            & self.keys.read_data.val().right
            & ((self.key_index.val() & self.beyond.val()) == 0);
        self.is_key_low.d.next =
            self.keys.read_data.val().hi.get_bits::<12>(0) == self.key.val().get_bits::<12>(8);
        self.is_key_high.d.next =
            self.keys.read_data.val().hi.get_bits::<12>(12) == self.key.val().get_bits::<12>(20);
        self.is_domain.d.next = self.keys.read_data.val().domain == self.domains.read_data.val();
        self.base.next = self.keys.read_data.val().base;
        self.below.next = false;
        for i in 0..4 {
            self.are_below[i].clock.next = self.clk.val();
            self.are_level[i].clock.next = self.clk.val();
            self.are_below[i].d.next =
                self.address.val().get_bits::<16>(16 * i) < self.base.val().get_bits::<16>(16 * i);
            self.are_level[i].d.next =
                self.address.val().get_bits::<16>(16 * i) == self.base.val().get_bits::<16>(16 * i);
            self.below.next = self.are_below[i].q.val() | (self.are_level[i].q.val() & self.below.val());
        }
        // The table is read meanwhile: the sum may take two clocks.
        self.last_low.d.next = bit_cast::<17, 16>(self.address.val().get_bits::<16>(0))
            + bit_cast::<17, 16>(self.length.val().get_bits::<16>(0));
        self.last_mid.d.next = bit_cast::<17, 16>(self.address.val().get_bits::<16>(16))
            + bit_cast::<17, 16>(self.length.val().get_bits::<16>(16));
        self.mid.next = self.last_mid.q.val() + bit_cast::<17, 1>(self.last_low.q.val().get_bits::<1>(16));
        self.low.next = (bit_cast::<32, 16>(self.mid.val().get_bits::<16>(0)) << 16)
            | bit_cast::<32, 16>(self.last_low.q.val().get_bits::<16>(0));
        // The address may come out of a memory; it is held.
        self.address_high.d.next = self.address.val().get_bits::<32>(32);
        self.last_high.d.next = bit_cast::<33, 32>(self.address_high.q.val())
            + bit_cast::<33, 1>(self.mid.val().get_bits::<1>(16));
        self.above_low.d.next = self.low.val() > self.keys.read_data.val().limit.get_bits::<32>(0);
        self.some_low.d.next = self.keys.read_data.val().limit.get_bits::<32>(0) != 0;
        self.limit_high.d.next = self.keys.read_data.val().limit.get_bits::<33>(32);

        self.limit_wraps.next = self.limit_high.q.val().get_bit(32)
            & ((self.limit_high.q.val().get_bits::<32>(0) != 0) | self.some_low.q.val());
        self.fits.next = (self.last_high.q.val() < self.limit_high.q.val())
            | ((self.last_high.q.val() == self.limit_high.q.val()) & !self.above_low.q.val());
        self.is_empty.d.next = self.length.val() == 0;
        self.permitted.next = self.is_empty.q.val()
            | (self.exists.q.val()
                & self.is_key_low.q.val()
                & self.is_key_high.q.val()
                & self.is_domain.q.val()
                & !self.below.val()
                & !self.limit_wraps.val()
                & self.fits.val());
    }
}
