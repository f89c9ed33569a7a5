//! Whether a write may write: key, right, domain and bounds, for every packet.
//!
//! ```text
//!                        ┌─────────── sends, empty writes ───────────┐
//!  packet (rx/lookup's) ─┤                                           ├─> checked
//!                        └─ key_check ──> denied ── a write ─────────┘
//!                                two clocks
//! ```
//!
//! The whole [address, address + length) of the message is checked, not the
//! part that this packet carries: a message that may not be written whole is not
//! begun. A write of no bytes needs no key. Nothing is refused here: the packet
//! goes on with its verdict, because who is told what depends on what `lookup`
//! and `context` hold of its message.
//!
//! Contract:
//! - a packet passes two clocks after it has come to the front: hidden while `lookup`
//!   is busy with the packet before. So `checked_data` stands for two clocks before
//!   `checked_valid`, all but `denied`;
//! - `denied` is that of the present tables: a packet that waits at `checked`
//!   may still be denied, and a table write shows three clocks after it;
//! - a packet leaves its place a clock after it is taken, so that one comes every
//!   other clock at most;
//! - `entered` is a pulse for each packet with a payload that is taken.
//!
//! Verified by `testbenches/tests/access.rs`.

use crate::host::key_check::{KeyCheck, Right};
use crate::prelude::*;
use crate::types::{RxData, TableWrite};
use tessera_abi::params::Config;
use tessera_abi::wire::flag;

#[derive(LogicBlock)]
pub struct Access {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub table_write: Signal<In, TableWrite>,
    pub packet_valid: Signal<In, Bit>,
    pub packet_data: Signal<In, RxData>,
    pub packet_ready: Signal<Out, Bit>,
    pub checked_valid: Signal<Out, Bit>,
    pub checked_data: Signal<Out, RxData>,
    pub checked_ready: Signal<In, Bit>,
    pub entered: Signal<Out, Bit>,
    /// Tables are cleared.
    pub ready: Signal<Out, Bit>,
    keys: KeyCheck,
    /// Clocks for which this packet has stood here, at most 2.
    stood: Dff<Bits<2>>,
    has_entered: Dff<Bit>,
    /// It is a write of bytes: it comes out of a memory, so that is known a clock later.
    writes: Dff<Bit>,
    takes: Signal<Local, Bit>,
    /// The one in front was taken.
    taken: Dff<Bit>,
    write_flag: Constant<Bits<8>>,
}

impl Access {
    /// A check against the key and endpoint tables of a configuration.
    pub fn new(config: &Config) -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            table_write: Default::default(),
            packet_valid: Default::default(),
            packet_data: Default::default(),
            packet_ready: Default::default(),
            checked_valid: Default::default(),
            checked_data: Default::default(),
            checked_ready: Default::default(),
            entered: Default::default(),
            ready: Default::default(),
            keys: KeyCheck::new(config, Right::RemoteWrite),
            stood: Default::default(),
            has_entered: Default::default(),
            writes: Default::default(),
            takes: Default::default(),
            taken: Default::default(),
            write_flag: Constant::new(u64::from(flag::WRITE).into()),
        }
    }
}

impl Logic for Access {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, writes, stood, has_entered, taken);
        self.keys.clk.next = self.clk.val();
        self.keys.rst.next = self.rst.val();
        self.keys.table_write.next = self.table_write.val();
        self.ready.next = self.keys.ready.val();

        self.keys.key.next = self.packet_data.val().rkey;
        self.keys.endpoint.next = self.packet_data.val().endpoint;
        self.keys.address.next = self.packet_data.val().tag;
        self.keys.length.next = self.packet_data.val().length;

        self.writes.d.next = (self.packet_data.val().flags & self.write_flag.val()).any()
            & self.packet_data.val().length.any();
        self.checked_data.next = self.packet_data.val();
        self.checked_data.next.denied = self.writes.q.val() & !self.keys.permitted.val();
        self.checked_valid.next =
            self.packet_valid.val() & !self.taken.q.val() & (self.stood.q.val() == 2) & self.keys.ready.val();
        self.takes.next = self.checked_valid.val() & self.checked_ready.val();
        // What is taken leaves in the next clock: that it is taken is known late.
        self.taken.d.next = self.takes.val();
        self.packet_ready.next = self.taken.q.val();
        if self.packet_valid.val() & (self.stood.q.val() != 2) {
            self.stood.d.next = self.stood.q.val() + 1;
        }
        if self.takes.val() | self.taken.q.val() | !self.packet_valid.val() {
            self.stood.d.next = 0.into();
        }
        self.has_entered.d.next = self.takes.val() & self.packet_data.val().payload_len.any();
        self.entered.next = self.has_entered.q.val();

        if self.rst.val() {
            self.stood.d.next = 0.into();
            self.taken.d.next = false;
            self.has_entered.d.next = false;
        }
    }
}
