//! An AXI4-Lite master that waits for its answers.

use super::{Agent, Clocked};
use crate::verilator::{Dut, ModelError, PortId};

/// Why a register access failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BusError {
    /// The slave did not answer.
    #[error("no answer to the {access} of {address:#x} within {clocks} clocks")]
    Timeout {
        /// `read` or `write`.
        access: &'static str,
        /// Byte address.
        address: u64,
        /// How long it was waited for.
        clocks: u64,
    },
    /// The slave refused: SLVERR (2) or DECERR (3).
    #[error("the {access} of {address:#x} was answered with response {response}")]
    Refused {
        /// `read` or `write`.
        access: &'static str,
        /// Byte address.
        address: u64,
        /// The raw response.
        response: u64,
    },
}

/// One channel of a request: valid out, ready in.
#[derive(Clone, Copy)]
struct Channel {
    valid: PortId,
    ready: PortId,
}

/// The master. Drive it into a bench with [`AxiLite::read`] and
/// [`AxiLite::write`]; one access at a time.
pub struct AxiLite {
    aw: Channel,
    aw_address: PortId,
    w: Channel,
    w_data: PortId,
    w_strobe: Option<PortId>,
    b: Channel,
    b_response: PortId,
    ar: Channel,
    ar_address: PortId,
    r: Channel,
    r_data: PortId,
    r_response: PortId,
    patience: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Each request channel is offered until it is taken.
    Write {
        address: u64,
        data: u64,
        strobe: u64,
        address_taken: bool,
        data_taken: bool,
    },
    Read {
        address: u64,
        taken: bool,
    },
    Done {
        data: u64,
        response: u64,
    },
}

/// Clocks a slave is given by default.
const PATIENCE: u64 = 1000;

impl AxiLite {
    /// The slave ports `<prefix>_awaddr`, `_awvalid` and so on.
    ///
    /// # Errors
    /// [`ModelError::NoSuchPort`].
    pub fn new(dut: &Dut, prefix: &str) -> Result<Self, ModelError> {
        let port = |name: &str| dut.port(&format!("{prefix}_{name}"));
        let channel = |name: &str| {
            Ok::<_, ModelError>(Channel {
                valid: port(&format!("{name}valid"))?,
                ready: port(&format!("{name}ready"))?,
            })
        };
        Ok(AxiLite {
            aw: channel("aw")?,
            aw_address: port("awaddr")?,
            w: channel("w")?,
            w_data: port("wdata")?,
            w_strobe: port("wstrb").ok(),
            b: channel("b")?,
            b_response: port("bresp")?,
            ar: channel("ar")?,
            ar_address: port("araddr")?,
            r: channel("r")?,
            r_data: port("rdata")?,
            r_response: port("rresp")?,
            patience: PATIENCE,
            state: State::Idle,
        })
    }

    /// Waits `clocks` for an answer instead of 1000.
    pub fn with_patience(mut self, clocks: u64) -> Self {
        self.patience = clocks;
        self
    }

    /// Reads the register at byte `address`, clocking `bench` meanwhile.
    ///
    /// # Errors
    /// [`BusError`].
    pub fn read(&mut self, bench: &mut impl Clocked, address: u64) -> Result<u64, BusError> {
        self.state = State::Read { address, taken: false };
        self.finish(bench, "read", address)
    }

    /// Writes all bytes of the register at byte `address`.
    ///
    /// # Errors
    /// [`BusError`].
    pub fn write(&mut self, bench: &mut impl Clocked, address: u64, data: u64) -> Result<(), BusError> {
        let strobe = u64::MAX >> (64 - self.w_data.width() / 8);
        self.write_bytes(bench, address, data, strobe)
    }

    /// Writes the bytes whose bit in `strobe` is set.
    ///
    /// # Errors
    /// [`BusError`].
    pub fn write_bytes(
        &mut self,
        bench: &mut impl Clocked,
        address: u64,
        data: u64,
        strobe: u64,
    ) -> Result<(), BusError> {
        self.state = State::Write { address, data, strobe, address_taken: false, data_taken: false };
        self.finish(bench, "write", address).map(drop)
    }

    fn finish(
        &mut self,
        bench: &mut impl Clocked,
        access: &'static str,
        address: u64,
    ) -> Result<u64, BusError> {
        for _ in 0..self.patience {
            bench.clock_with(self);
            if let State::Done { data, response } = self.state {
                // One more clock takes the handshakes back, so that the bus is
                // quiet when the caller goes on without this master.
                self.state = State::Idle;
                bench.clock_with(self);
                return match response {
                    0 => Ok(data),
                    _ => Err(BusError::Refused { access, address, response }),
                };
            }
        }
        self.state = State::Idle;
        Err(BusError::Timeout { access, address, clocks: self.patience })
    }
}

impl Agent for AxiLite {
    fn drive(&mut self, dut: &mut Dut) {
        let (mut aw, mut w, mut ar) = (false, false, false);
        let (mut b, mut r) = (false, false);
        match self.state {
            State::Write { address, data, strobe, address_taken, data_taken } => {
                (aw, w, b) = (!address_taken, !data_taken, true);
                dut.set(self.aw_address, address);
                dut.set(self.w_data, data);
                if let Some(port) = self.w_strobe {
                    dut.set(port, strobe);
                }
            }
            State::Read { address, taken } => {
                (ar, r) = (!taken, true);
                dut.set(self.ar_address, address);
            }
            State::Idle | State::Done { .. } => {}
        }
        dut.set(self.aw.valid, aw);
        dut.set(self.w.valid, w);
        dut.set(self.ar.valid, ar);
        dut.set(self.b.ready, b);
        dut.set(self.r.ready, r);
    }

    fn sample(&mut self, dut: &Dut) {
        let moved = |c: Channel| dut.sampled(c.valid) != 0 && dut.sampled(c.ready) != 0;
        match &mut self.state {
            State::Write { address_taken, data_taken, .. } => {
                *address_taken |= moved(self.aw);
                *data_taken |= moved(self.w);
                if moved(self.b) {
                    assert!(*address_taken && *data_taken, "a write was answered before it was taken");
                    self.state = State::Done { data: 0, response: dut.sampled(self.b_response) };
                }
            }
            State::Read { taken, .. } => {
                *taken |= moved(self.ar);
                if moved(self.r) {
                    assert!(*taken, "a read was answered before it was taken");
                    self.state = State::Done {
                        data: dut.sampled(self.r_data),
                        response: dut.sampled(self.r_response),
                    };
                }
            }
            State::Idle | State::Done { .. } => {}
        }
    }
}
