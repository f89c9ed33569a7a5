//! `shell::AxiMerge` and `shell::AxiBridge`: turns, whose data and whose answer (`merge.rs`); every byte
//! of four ports over one bus that answers its two IDs in any order, and tells of errors (`bridge.rs`).
//!
//! `TESSERA_SEED` takes a printed seed back.

mod bridge;
mod merge;

use tessera_sim::verilator::{Dut, PortId};

const CLASSES: [&str; 2] = ["ctrl", "data"];

/// A burst: address and beats but one.
type Burst = (u64, u64);

fn port(dut: &Dut, name: &str) -> PortId {
    dut.port(name).unwrap_or_else(|error| panic!("{error}"))
}

/// A handshake.
#[derive(Clone, Copy)]
struct Hand {
    valid: PortId,
    ready: PortId,
}

impl Hand {
    fn new(dut: &Dut, name: &str) -> Self {
        Hand { valid: port(dut, &format!("{name}valid")), ready: port(dut, &format!("{name}ready")) }
    }

    fn offered(self, dut: &Dut) -> bool {
        dut.sampled(self.valid) != 0
    }

    fn moved(self, dut: &Dut) -> bool {
        self.offered(dut) && dut.sampled(self.ready) != 0
    }
}

/// An address channel.
struct Address {
    hand: Hand,
    address: PortId,
    length: PortId,
}

impl Address {
    fn new(dut: &Dut, name: &str) -> Self {
        let field = |what: &str| port(dut, &format!("{name}{what}"));
        Address { hand: Hand::new(dut, name), address: field("addr"), length: field("len") }
    }

    fn burst(&self, dut: &Dut) -> Burst {
        (dut.sampled(self.address), dut.sampled(self.length))
    }
}

fn reset(dut: &mut Dut) {
    let rst = port(dut, "rst");
    dut.reset(rst, 2);
}
