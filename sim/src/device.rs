//! A simulated NIC as the driver sees it: its registers are reached through
//! AXI4-Lite in simulated time, and waiting lets one window pass.

use std::fmt::Display;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tessera_abi::pci::BAR_LEN;
use tessera_driver::{Device, DeviceError, DmaMemory};

use crate::ethernet::Ethernet;
use crate::nic::{HostMemory, SimNic};

/// Windows after which a register access counts as lost.
const ACCESS_WINDOWS: u32 = 1000;

/// What hosts of simulated NICs need of the simulation.
pub trait Simulation: Send + 'static {
    /// Why it cannot go on.
    type Error: Display;

    /// One NIC.
    fn nic(&mut self, nic: usize) -> &mut SimNic;

    /// Hands the doorbells that wait to their NIC.
    fn ring(&mut self, nic: usize);

    /// Writes a register, behind all that was written before.
    fn write(&mut self, nic: usize, offset: u32, value: u32);

    /// Lets one window pass.
    ///
    /// # Errors
    /// If the simulation gives up.
    fn pass(&mut self) -> Result<(), Self::Error>;

    /// Why no window passes any more.
    fn failed(&mut self) -> &mut Option<String>;

    /// The end to an outside Ethernet, if the simulation has one.
    fn ethernet(&self) -> Option<Arc<Ethernet>> {
        None
    }
}

/// A simulation that its hosts share.
pub struct Shared<S>(Arc<Mutex<S>>);

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S> Shared<S> {
    /// Shares it.
    pub fn new(simulation: S) -> Self {
        Self(Arc::new(Mutex::new(simulation)))
    }

    /// The simulation, for as long as the guard lives.
    pub fn lock(&self) -> MutexGuard<'_, S> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Simulation> Shared<S> {
    /// The device of one NIC's host.
    ///
    /// # Panics
    /// If there is no NIC of that number.
    pub fn device(&self, nic: usize) -> Arc<dyn Device> {
        let memory = self.lock().nic(nic).memory().clone();
        Arc::new(CosimDevice { simulation: self.clone(), nic, memory })
    }
}

struct CosimDevice<S> {
    simulation: Shared<S>,
    nic: usize,
    memory: Arc<HostMemory>,
}

fn pass(simulation: &mut impl Simulation) -> Result<(), DeviceError> {
    if let Some(reason) = simulation.failed() {
        return Err(DeviceError::Gone(reason.clone()));
    }
    simulation.pass().map_err(|error| {
        *simulation.failed() = Some(error.to_string());
        DeviceError::Gone(error.to_string())
    })
}

/// What is no word of the register map has no place on the bus, and comes from a program that
/// is broken: it must not end the simulation for all others.
fn check(offset: u32) -> Result<(), DeviceError> {
    if offset.is_multiple_of(4) && u64::from(offset) < BAR_LEN {
        return Ok(());
    }
    let reason = format!("it is no word of the {BAR_LEN} bytes of registers");
    Err(DeviceError::Register { offset, reason })
}

impl<S: Simulation> Device for CosimDevice<S> {
    fn read(&self, offset: u32) -> Result<u32, DeviceError> {
        check(offset)?;
        let mut simulation = self.simulation.lock();
        simulation.ring(self.nic);
        simulation.nic(self.nic).start_read(offset);
        let refused = |reason: String| DeviceError::Register { offset, reason };
        for _ in 0..ACCESS_WINDOWS {
            pass(&mut *simulation)?;
            let nic = simulation.nic(self.nic);
            if let Some(error) = nic.take_write_error() {
                return Err(refused(error.to_string()));
            }
            if let Some(answer) = nic.take_read() {
                return answer.map_err(|error| refused(error.to_string()));
            }
        }
        Err(refused(format!("no answer within {ACCESS_WINDOWS} windows")))
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        check(offset)?;
        self.simulation.lock().write(self.nic, offset, value);
        Ok(())
    }

    fn map(&self, memory: &Arc<DmaMemory>) -> Result<u64, DeviceError> {
        Ok(self.memory.map(memory))
    }

    fn unmap(&self, address: u64) {
        self.memory.unmap(address);
    }

    fn wait(&self) -> Result<(), DeviceError> {
        pass(&mut *self.simulation.lock())
    }
}
