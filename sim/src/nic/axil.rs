//! The host's AXI4-Lite master: writes in order, several under way; a read
//! goes out when every write before it is answered.

use std::collections::VecDeque;

use crate::verilator::{Dut, ModelError, PortId};

/// A register access was refused or never answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The slave answered with an error.
    #[error("the register at {offset:#x} answers {response:#04b}")]
    Response {
        /// Byte address.
        offset: u32,
        /// RRESP or BRESP.
        response: u8,
    },
}

enum Access {
    Write(u32, u32),
    Read(u32),
}

struct Ports {
    awaddr: PortId,
    awvalid: PortId,
    awready: PortId,
    wdata: PortId,
    wstrb: PortId,
    wvalid: PortId,
    wready: PortId,
    bresp: PortId,
    bvalid: PortId,
    bready: PortId,
    araddr: PortId,
    arvalid: PortId,
    arready: PortId,
    rdata: PortId,
    rresp: PortId,
    rvalid: PortId,
    rready: PortId,
}

/// See the module's page.
pub(super) struct AxiLite {
    ports: Ports,
    base: u32,
    queue: VecDeque<Access>,
    /// Halves of the write at the head of the queue already accepted.
    address_done: bool,
    data_done: bool,
    /// Writes accepted and not answered, oldest first.
    unanswered: VecDeque<u32>,
    reading: Option<u32>,
    address_read: bool,
    answer: Option<Result<u32, RegisterError>>,
    write_error: Option<RegisterError>,
}

impl AxiLite {
    /// Of ports of a name, the NIC's registers from an address on.
    pub(super) fn new(dut: &Dut, prefix: &str, base: u32) -> Result<Self, ModelError> {
        let port = |name: &str| dut.port(&format!("{prefix}_{name}"));
        let ports = Ports {
            awaddr: port("awaddr")?,
            awvalid: port("awvalid")?,
            awready: port("awready")?,
            wdata: port("wdata")?,
            wstrb: port("wstrb")?,
            wvalid: port("wvalid")?,
            wready: port("wready")?,
            bresp: port("bresp")?,
            bvalid: port("bvalid")?,
            bready: port("bready")?,
            araddr: port("araddr")?,
            arvalid: port("arvalid")?,
            arready: port("arready")?,
            rdata: port("rdata")?,
            rresp: port("rresp")?,
            rvalid: port("rvalid")?,
            rready: port("rready")?,
        };
        Ok(Self {
            ports,
            base,
            queue: VecDeque::new(),
            address_done: false,
            data_done: false,
            unanswered: VecDeque::new(),
            reading: None,
            address_read: false,
            answer: None,
            write_error: None,
        })
    }

    pub(super) fn write(&mut self, offset: u32, value: u32) {
        self.queue.push_back(Access::Write(offset, value));
    }

    pub(super) fn read(&mut self, offset: u32) {
        self.queue.push_back(Access::Read(offset));
    }

    pub(super) fn take_read(&mut self) -> Option<Result<u32, RegisterError>> {
        self.answer.take()
    }

    pub(super) fn take_write_error(&mut self) -> Option<RegisterError> {
        self.write_error.take()
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.queue.is_empty() || !self.unanswered.is_empty() || self.reading.is_some()
    }

    pub(super) fn before_clock(&mut self, dut: &mut Dut) {
        if !self.is_busy() {
            return;
        }
        let ports = &self.ports;
        dut.set(ports.bready, 1u64);
        dut.set(ports.rready, 1u64);
        if dut.is_high(ports.bvalid) {
            let response = dut.get(ports.bresp) as u8;
            if let Some(offset) = self.unanswered.pop_front() {
                if response != 0 && self.write_error.is_none() {
                    self.write_error = Some(RegisterError::Response { offset, response });
                }
            }
        }
        if dut.is_high(ports.rvalid) {
            if let Some(offset) = self.reading.take() {
                let response = dut.get(ports.rresp) as u8;
                self.answer = Some(match response {
                    0 => Ok(dut.get(ports.rdata) as u32),
                    response => Err(RegisterError::Response { offset, response }),
                });
            }
        }
        self.drive_write(dut);
        self.drive_read(dut);
    }

    fn drive_write(&mut self, dut: &mut Dut) {
        let ports = &self.ports;
        let Some(&Access::Write(offset, value)) = self.queue.front() else {
            dut.set(ports.awvalid, 0u64);
            dut.set(ports.wvalid, 0u64);
            return;
        };
        dut.set(ports.awvalid, !self.address_done);
        dut.set(ports.awaddr, self.base.wrapping_add(offset));
        dut.set(ports.wvalid, !self.data_done);
        dut.set(ports.wdata, value);
        dut.set(ports.wstrb, 0xFu64);
        self.address_done |= dut.is_high(ports.awready);
        self.data_done |= dut.is_high(ports.wready);
        if self.address_done && self.data_done {
            self.address_done = false;
            self.data_done = false;
            self.unanswered.push_back(offset);
            self.queue.pop_front();
        }
    }

    fn drive_read(&mut self, dut: &mut Dut) {
        let ports = &self.ports;
        if self.reading.is_none() && self.unanswered.is_empty() {
            if let Some(&Access::Read(offset)) = self.queue.front() {
                self.queue.pop_front();
                self.reading = Some(offset);
                self.address_read = false;
            }
        }
        let asking = self.reading.filter(|_| !self.address_read);
        dut.set(ports.arvalid, asking.is_some());
        if let Some(offset) = asking {
            dut.set(ports.araddr, self.base.wrapping_add(offset));
            self.address_read = dut.is_high(ports.arready);
        }
    }
}
