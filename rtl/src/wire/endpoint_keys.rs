//! The packet path's copy of what it needs of the endpoint table: whether an
//! endpoint exists, the upper half of its number, its Q_Key, its kind.
//!
//! Contract: the outputs belong to the `index` of the clock before; a table
//! write shows two clocks after it. After reset no endpoint exists; `ready` rises when a
//! table write is kept again, `2^endpoints_log2` clocks later.
//!
//! Verified by `testbenches/tests/rx_parse` and `tx_build.rs`.

use crate::host::cleared_ram::ClearedRam;
use crate::prelude::*;
use crate::types::TableWrite;
use tessera_abi::params::Config;
use tessera_abi::regs::{endpoint, table};

// The kernel slices by literals; these are what they must be.
const _: () = assert!(
    endpoint::VALID.0 == 0
        && endpoint::DATAGRAM.0 == 2
        && endpoint::NUMBER_HI.0 == 16
        && endpoint::QKEY.0 == 32
);

/// The fields kept, as in `abi::regs::endpoint`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct KeyWord {
    pub number_hi: Bits<16>,
    pub qkey: Bits<32>,
    pub datagram: Bit,
}

#[derive(LogicBlock)]
pub struct EndpointKeys {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub table_write: Signal<In, TableWrite>,
    pub index: Signal<In, Bits<8>>,
    pub valid: Signal<Out, Bit>,
    pub entry: Signal<Out, KeyWord>,
    /// Its bits are cleared.
    pub ready: Signal<Out, Bit>,
    ram: SdpRam<KeyWord, 8>,
    exists: ClearedRam<Bit, 8>,
    /// What was asked for is within the table, and the table cleared.
    known: Dff<Bit>,
    write: Signal<Local, Bit>,
    endpoint_table: Constant<Bits<4>>,
    /// Bits of an index that the table has: what is beyond would cost a register each.
    reach: Constant<Bits<8>>,
    written_at: Signal<Local, Bits<8>>,
    read_at: Signal<Local, Bits<8>>,
}

impl EndpointKeys {
    /// The endpoints of a configuration.
    pub fn new(config: &Config) -> Self {
        let endpoints_log2 = config.endpoints_log2;
        Self {
            clk: Default::default(),
            rst: Default::default(),
            table_write: Default::default(),
            index: Default::default(),
            valid: Default::default(),
            entry: Default::default(),
            ready: Default::default(),
            ram: SdpRam::new(endpoints_log2),
            exists: ClearedRam::of_endpoints(config),
            known: Default::default(),
            write: Default::default(),
            endpoint_table: Constant::new(u64::from(table::ENDPOINT).into()),
            reach: Constant::new(((1u64 << endpoints_log2) - 1).into()),
            written_at: Default::default(),
            read_at: Default::default(),
        }
    }
}

impl Logic for EndpointKeys {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, known);
        self.ram.clock.next = self.clk.val();
        self.exists.clk.next = self.clk.val();
        self.exists.rst.next = self.rst.val();

        self.write.next =
            self.table_write.val().valid & (self.table_write.val().table == self.endpoint_table.val());
        self.ram.write_enable.next = self.write.val();
        self.ram.write_address.next = self.table_write.val().index;
        self.ram.write_data.next.number_hi = self.table_write.val().entry.get_bits::<16>(16);
        self.ram.write_data.next.datagram = self.table_write.val().entry.get_bit(2);
        self.ram.write_data.next.qkey = self.table_write.val().entry.get_bits::<32>(32);
        self.written_at.next = self.table_write.val().index & self.reach.val();
        self.exists.write_enable.next =
            self.write.val() & (self.written_at.val() == self.table_write.val().index);
        self.exists.write_address.next = self.table_write.val().index;
        self.exists.write_data.next = self.table_write.val().entry.get_bit(0);

        self.ram.read_address.next = self.index.val();
        self.exists.read_address.next = self.index.val();
        self.read_at.next = self.index.val() & self.reach.val();
        self.known.d.next = (self.read_at.val() == self.index.val()) & self.exists.ready.val();
        self.valid.next = self.known.q.val() & self.exists.read_data.val();
        self.entry.next = self.ram.read_data.val();
        self.ready.next = self.exists.ready.val();
    }
}
