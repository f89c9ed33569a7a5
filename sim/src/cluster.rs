//! Several NICs, their hosts and the fabric between them, in lockstep.
//!
//! Time advances in windows no longer than the fabric's shortest delay: within
//! a window no NIC can hear of what another does, so each runs alone, in
//! parallel, and the result does not depend on the number of threads. Hosts see
//! their NIC between windows.

use std::path::Path;
use std::sync::{Arc, Weak};

use rayon::prelude::*;
use tessera_abi::regs;
use tessera_abi::wire::ipv4_gid;

use crate::device::{Shared, Simulation};
use crate::ethernet::Ethernet;
use crate::fabric::{CaptureError, Fabric, FabricOptions};
use crate::nic::{NicEvent, NicOptions, SimNic};
use crate::verilator::{Model, ModelError};

/// Longest window, clocks: how stale a host's view of its NIC may be.
const MAX_WINDOW: u64 = 128;

/// The run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A NIC's simulation gave up.
    #[error("NIC {nic}: {error}")]
    Nic {
        /// Which.
        nic: usize,
        /// Why.
        error: ModelError,
    },
    /// The capture file cannot be written.
    #[error(transparent)]
    Capture(#[from] CaptureError),
}

/// A NIC's IPv6 address.
pub fn ip6(nic: usize) -> [u8; 16] {
    let [hi, lo] = (nic as u16 + 1).to_be_bytes();
    [0xFD, 0x54, 0x53, 0x52, 0x41, 0, 0, 0, 0, 0, 0, 0, 0, 0, hi, lo]
}

/// A NIC's place in the cluster: its MAC and IPv4 address.
pub fn addresses(nic: usize) -> ([u8; 6], [u8; 4]) {
    let [hi, lo] = (nic as u16 + 1).to_be_bytes();
    ([0x02, 0x54, 0x53, 0x00, hi, lo], [10, 0, hi, lo])
}

/// Which of so many NICs has a GID.
pub fn nic_of(gid: &[u8; 16], nics: usize) -> Option<usize> {
    let number = usize::from(u16::from_be_bytes([gid[14], gid[15]])).checked_sub(1)?;
    let (_, ip) = addresses(number);
    (number < nics && [ipv4_gid(ip), ip6(number)].contains(gid)).then_some(number)
}

/// NICs and fabric. See the module's page.
pub struct Cluster {
    nics: Vec<SimNic>,
    fabric: Fabric,
    clock: u64,
    window: u64,
    /// Doorbells of each NIC that this window's end rings, if hosts batch them.
    doorbells: Option<Vec<Vec<(u32, u32)>>>,
    failed: Option<String>,
    /// The fabric's end outside, and its port.
    ethernet: Option<(Weak<Ethernet>, usize)>,
}

/// Whether only the last value written in a window matters: a ring's tail or head.
fn is_index(offset: u32) -> bool {
    let first = regs::doorbell_page(0);
    let kind = offset.wrapping_sub(first) % (regs::doorbell_page(1) - first);
    offset >= first && kind != regs::DOORBELL_ROUND
}

impl Cluster {
    /// `nics` instances of `model` on a fabric of their own.
    ///
    /// # Errors
    /// If the model is no whole NIC.
    pub fn new(
        model: &Model,
        nics: usize,
        nic: &NicOptions,
        fabric: FabricOptions,
    ) -> Result<Self, ClusterError> {
        let make = |i: usize| {
            let options = NicOptions { seed: nic.seed.wrapping_add(i as u64), ..*nic };
            SimNic::new(model, &options).map_err(|error| ClusterError::Nic { nic: i, error })
        };
        let macs: Vec<_> = (0..nics).map(|i| addresses(i).0).collect();
        let nics: Vec<SimNic> = (0..nics).map(make).collect::<Result<_, _>>()?;
        // A link is no faster than the stream it feeds.
        let port_beat = nics.iter().map(SimNic::beat_bytes).min().unwrap_or(fabric.port_beat);
        let port_rate = fabric.port_rate.min(port_beat as f64);
        let fabric = Fabric::new(&macs, FabricOptions { port_rate, port_beat, ..fabric });
        let window = fabric.min_delay().min(MAX_WINDOW);
        Ok(Self { nics, fabric, clock: 0, window, doorbells: None, failed: None, ethernet: None })
    }

    /// From here on a host rings each doorbell once per look at its NIC, as one
    /// that posts in batches does: with messages of a few bytes, a register access
    /// for each would be what is measured.
    pub fn batch_doorbells(&mut self) {
        self.doorbells.get_or_insert_with(|| vec![Vec::new(); self.nics.len()]);
    }

    /// Joins the fabric to an outside Ethernet: frames that no NIC has the address of go
    /// there, and what comes from there is sent at the beginning of a window. The caller keeps
    /// it: who still has a NIC open when all is over must not keep its socket.
    pub fn connect(&mut self, ethernet: Arc<Ethernet>) {
        let port = self.fabric.open_outside();
        self.ethernet = Some((Arc::downgrade(&ethernet), port));
    }

    /// Clocks since reset.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// The NICs.
    pub fn nics(&self) -> &[SimNic] {
        &self.nics
    }

    /// One NIC.
    ///
    /// # Panics
    /// If there is none of that number.
    pub fn nic_mut(&mut self, nic: usize) -> &mut SimNic {
        &mut self.nics[nic]
    }

    /// The fabric.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The fabric.
    pub fn fabric_mut(&mut self) -> &mut Fabric {
        &mut self.fabric
    }

    /// Ends the run: what hosts still ask of their NICs fails at once, instead of
    /// taking simulated time.
    pub fn stop(&mut self) {
        self.failed = Some("the run is over".into());
    }

    /// Starts a waveform file of one NIC.
    ///
    /// # Errors
    /// If the model was built without traces or the file cannot be written.
    pub fn open_trace(&mut self, nic: usize, path: &Path) -> Result<(), ClusterError> {
        self.nics[nic].open_trace(path).map_err(|error| ClusterError::Nic { nic, error })
    }

    /// Events of all NICs since the last call, if they are observed.
    pub fn take_events(&mut self) -> Vec<(usize, Vec<NicEvent>)> {
        self.nics.iter_mut().map(SimNic::take_events).enumerate().collect()
    }

    /// Runs one window.
    ///
    /// # Errors
    /// If a NIC's simulation gives up or the capture cannot be written. The
    /// cluster is of no further use then.
    pub fn advance(&mut self) -> Result<(), ClusterError> {
        (0..self.nics.len()).for_each(|nic| self.ring(nic));
        let until = self.clock + self.window;
        let outside = self.ethernet();
        if let (Some(ethernet), Some((_, port))) = (&outside, &self.ethernet) {
            for frame in ethernet.take() {
                self.fabric.send(self.clock, *port, frame)?;
            }
        }
        for delivery in self.fabric.deliver(until)? {
            match &self.ethernet {
                Some((_, port)) if delivery.port == *port => {
                    outside.iter().for_each(|ethernet| ethernet.send(&delivery.frame));
                }
                _ => self.nics[delivery.port].receive(delivery.at, delivery.frame),
            }
        }
        self.nics.par_iter_mut().enumerate().try_for_each(|(nic, instance)| {
            instance.run(until).map_err(|error| ClusterError::Nic { nic, error })
        })?;
        let sent = self.nics.iter_mut().map(SimNic::take_sent).enumerate();
        let mut frames: Vec<_> = sent
            .flat_map(|(nic, frames)| frames.into_iter().map(move |frame| (frame.last, nic, frame.bytes)))
            .collect();
        frames.sort_by_key(|&(last, nic, _)| (last, nic));
        for (last, nic, bytes) in frames {
            self.fabric.send(last, nic, bytes)?;
        }
        self.clock = until;
        Ok(())
    }
}

impl Simulation for Cluster {
    type Error = ClusterError;

    fn nic(&mut self, nic: usize) -> &mut SimNic {
        &mut self.nics[nic]
    }

    fn ring(&mut self, nic: usize) {
        for (offset, value) in self.doorbells.iter_mut().flat_map(|all| std::mem::take(&mut all[nic])) {
            self.nics[nic].write_register(offset, value);
        }
    }

    fn write(&mut self, nic: usize, offset: u32, value: u32) {
        match &mut self.doorbells {
            Some(waiting) if is_index(offset) => {
                // Behind all that was written before it.
                waiting[nic].retain(|&(other, _)| other != offset);
                waiting[nic].push((offset, value));
            }
            _ => {
                self.ring(nic);
                self.nics[nic].write_register(offset, value);
            }
        }
    }

    fn pass(&mut self) -> Result<(), ClusterError> {
        self.advance()
    }

    fn failed(&mut self) -> &mut Option<String> {
        &mut self.failed
    }

    fn ethernet(&self) -> Option<Arc<Ethernet>> {
        self.ethernet.as_ref().and_then(|(ethernet, _)| ethernet.upgrade())
    }
}

/// A cluster that its hosts share.
pub type SharedCluster = Shared<Cluster>;
