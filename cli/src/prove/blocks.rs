//! The blocks that something is proved of: the same code that is in the NIC, at
//! sizes that a solver sees through.

use tessera_abi::params::{Config, TINY};
use tessera_rtl::emit::{export, with_big_stack, EmitError, Export};
use tessera_rtl::host::registers::Registers;
use tessera_rtl::prelude::{Bits, Block};
use tessera_rtl::recovery::{Bitmap, TimerWheel};
use tessera_rtl::rx::Placement;
use tessera_rtl::shell::axi_merge::AxiMerge;
use tessera_rtl::shell::axi_read::AxiRead;
use tessera_rtl::shell::axi_write::AxiWrite;
use tessera_rtl::shell::line_ring::LineRing;
use tessera_rtl::stream::{Fifo, RoundRobin};
use tessera_rtl::wire::VlanInsert;

/// `tiny` with a wheel that comes round within few clocks, for two messages.
const WHEEL: Config = Config {
    wheel_l0_log2: 2,
    wheel_l1_log2: 2,
    wheel_tick_log2: 1,
    tx_slots_log2: 1,
    rx_contexts_log2: 1,
    ..TINY
};

/// A block by its harness's name: its export and the harness.
pub struct Entry {
    pub name: &'static str,
    pub harness: &'static str,
    make: fn() -> Result<Export, EmitError>,
}

fn of<B: Block>(make: impl FnOnce() -> B + Send, top: &str) -> Result<Export, EmitError> {
    with_big_stack(|| export(&mut make(), top))
}

macro_rules! entry {
    ($name:literal, $make:expr) => {
        Entry {
            name: $name,
            harness: include_str!(concat!("../../../formal/", $name, ".sv")),
            make: || of($make, $name),
        }
    };
}

/// All of them, in the order of the table.
pub const BLOCKS: &[Entry] = &[
    entry!("fifo", || Fifo::<Bits<8>, 3>::new(2)),
    entry!("round_robin", RoundRobin::<Bits<8>>::default),
    entry!("axi_merge", AxiMerge::<64, 8>::new),
    entry!("timer_wheel", || TimerWheel::new(&WHEEL)),
    entry!("bitmap", || Bitmap::new(&TINY)),
    entry!("placement", || Placement::new(&TINY)),
    entry!("axi_read", AxiRead::<64, 8>::new),
    entry!("axi_write", AxiWrite::<64, 8>::new),
    entry!("line_ring", || LineRing::new(7, 33)),
    entry!("registers", || Registers::new(&TINY)),
    entry!("vlan_insert", || VlanInsert::new(&TINY)),
];

impl Entry {
    /// Its exported Verilog.
    pub fn export(&self) -> Result<Export, EmitError> {
        (self.make)()
    }
}
