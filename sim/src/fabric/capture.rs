//! Frames as pcapng, one interface per port, for Wireshark and tshark.

use std::borrow::Cow;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::{DataLink, PcapError};

/// Nanoseconds per clock.
const CLOCK_NS: u64 = 1000 / tessera_abi::params::CLOCK_MHZ as u64;

/// The capture cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the capture {}: {reason}", path.display())]
pub struct CaptureError {
    path: PathBuf,
    reason: String,
}

/// A pcapng file under construction. Time 0 of the run is time 0 of the file;
/// each frame appears where it leaves a NIC (outbound) and where it reaches one
/// (inbound), so what is missing inbound was dropped on the way.
pub struct Capture {
    path: PathBuf,
    writer: PcapNgWriter<BufWriter<File>>,
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capture").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Capture {
    /// Creates the file with interfaces `nic0`, `nic1`, ..
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(path: impl AsRef<Path>, ports: usize) -> Result<Self, CaptureError> {
        let path = path.as_ref().to_owned();
        let file = File::create(&path)
            .map_err(|error| CaptureError { path: path.clone(), reason: error.to_string() })?;
        let fail = |error: PcapError| CaptureError { path: path.clone(), reason: error.to_string() };
        let writer = PcapNgWriter::new(BufWriter::new(file)).map_err(fail)?;
        let mut capture = Self { path, writer };
        for port in 0..ports {
            capture.interface(format!("nic{port}"))?;
        }
        Ok(capture)
    }

    /// Adds an interface, behind the others: of the fabric's port of that number.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn interface(&mut self, name: String) -> Result<(), CaptureError> {
        let options = vec![
            InterfaceDescriptionOption::IfName(Cow::Owned(name)),
            InterfaceDescriptionOption::IfTsResol(9),
        ];
        let block = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options };
        let written = self.writer.write_pcapng_block(block);
        written.map(drop).map_err(|error| CaptureError { path: self.path.clone(), reason: error.to_string() })
    }

    pub(super) fn write(
        &mut self,
        clock: u64,
        port: usize,
        frame: &[u8],
        outbound: bool,
    ) -> Result<(), CaptureError> {
        // pcapng's direction bits: 01 inbound, 10 outbound.
        let flags = if outbound { 2 } else { 1 };
        let block = EnhancedPacketBlock {
            interface_id: port as u32,
            timestamp: Duration::from_nanos(clock * CLOCK_NS),
            original_len: frame.len() as u32,
            data: Cow::Borrowed(frame),
            options: vec![EnhancedPacketOption::Flags(flags)],
        };
        let written = self.writer.write_pcapng_block(block);
        written.map(drop).map_err(|error| CaptureError { path: self.path.clone(), reason: error.to_string() })
    }

    pub(super) fn finish(self) -> Result<(), CaptureError> {
        let Self { path, writer } = self;
        let flushed = writer.into_inner().into_inner();
        flushed.map(drop).map_err(|error| CaptureError { path, reason: error.to_string() })
    }
}
