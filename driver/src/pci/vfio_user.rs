//! A PCI function that another process makes, over vfio-user.
//!
//! Accesses go over a Unix socket; memory is shown to the other side as ranges of a file
//! ([`DmaMemory::shared_file`]). Writes are posted: one that is refused is told with the
//! next read. Waiting reads a register, in which simulated time passes.

use std::io::{Error, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use tessera_abi::regs;

use super::message::{self, Header, Message};
use super::{pages, Bus, PciError, Ranges};
use crate::device::DeviceError;
use crate::memory::{DmaMemory, PAGE};

/// Longest wait for an answer: a simulator may be slow, and one that is stuck is not waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest wait for the first one, which no simulated time has to pass for.
const FIRST: Duration = Duration::from_secs(10);

struct Connection {
    stream: UnixStream,
    number: u16,
    /// A posted write that was refused.
    refused: Option<Errno>,
}

/// What came of a command.
enum Failed {
    /// No answer.
    Silent(Error),
    /// Another one.
    Refused(Errno),
}

impl Connection {
    fn send(
        &mut self,
        command: u16,
        flags: u32,
        body: &[u8],
        memory: Option<&DmaMemory>,
    ) -> Result<u16, Error> {
        self.number = self.number.wrapping_add(1);
        let header = Header { number: self.number, command, flags, error: 0 };
        let file = memory.and_then(DmaMemory::shared_file).map(|(file, _)| file.as_fd());
        message::send(&mut self.stream, header, body, file)?;
        Ok(self.number)
    }

    fn call(&mut self, command: u16, body: &[u8], memory: Option<&DmaMemory>) -> Result<Vec<u8>, Failed> {
        let number = self.send(command, 0, body, memory).map_err(Failed::Silent)?;
        loop {
            let got = message::receive(&mut self.stream).map_err(Failed::Silent)?;
            let Some(Message { header, body, .. }) = got else {
                return Err(Failed::Silent(ErrorKind::UnexpectedEof.into()));
            };
            let failed = header.flags & message::ERROR != 0;
            // Some servers put no number to what went wrong.
            let error = match Errno::from_raw(header.error as i32) {
                Errno::UnknownErrno => Errno::EIO,
                error => error,
            };
            match (header.number == number, failed) {
                (true, true) => return Err(Failed::Refused(error)),
                (true, false) if header.command == command => return Ok(body),
                // Of a write that wanted none.
                (false, true) => self.refused = Some(error),
                _ => {
                    let what = format!("an answer to command {} number {}", header.command, header.number);
                    return Err(Failed::Silent(Error::new(ErrorKind::InvalidData, what)));
                }
            }
        }
    }
}

/// A function of another process.
pub struct VfioUser {
    connection: Mutex<Connection>,
    path: PathBuf,
    name: String,
    bar_len: u64,
    can_reset: bool,
}

impl VfioUser {
    /// Connects to the server that listens at `path`.
    ///
    /// # Errors
    /// If nobody listens there, or something else, or it serves another program.
    pub fn connect(path: &Path) -> Result<Self, PciError> {
        let nobody = |error: Error| PciError::Nobody { path: path.into(), error: error.to_string() };
        let protocol = |what: String| PciError::Protocol { path: path.into(), what };
        let failed = |failed: Failed| match failed {
            Failed::Refused(Errno::EBUSY) => PciError::Busy { path: path.into() },
            Failed::Refused(error) => protocol(format!("refuses the first messages ({error})")),
            Failed::Silent(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                protocol(format!("says nothing for {} s, or serves another program", FIRST.as_secs()))
            }
            Failed::Silent(error) if error.kind() == ErrorKind::InvalidData => {
                protocol(format!("speaks something else ({error})"))
            }
            Failed::Silent(error) => nobody(error),
        };
        let stream = UnixStream::connect(path).map_err(nobody)?;
        stream.set_read_timeout(Some(FIRST)).map_err(nobody)?;
        let mut connection = Connection { stream, number: 0, refused: None };
        let version = connection.call(message::VERSION, &message::version(), None).map_err(failed)?;
        let numbers = message::u16_at(&version, 0).zip(message::u16_at(&version, 2));
        let short = || protocol("cuts its answers short".into());
        let (major, minor) = numbers.ok_or_else(short)?;
        if major != message::MAJOR {
            return Err(protocol(format!("speaks version {major}.{minor}")));
        }
        let info = connection.call(message::DEVICE_INFO, &message::words(&[16, 0, 0, 0], &[]), None);
        let flags = message::u32_at(&info.map_err(failed)?, 4).ok_or_else(short)?;
        if flags & message::IS_PCI == 0 {
            return Err(protocol("has no PCI device".into()));
        }
        let region = message::words(&[32, 0, message::REGION_BAR0, 0], &[0, 0]);
        let region = connection.call(message::REGION_INFO, &region, None).map_err(failed)?;
        let bar_len = message::u64_at(&region, 16).ok_or_else(short)?;
        connection.stream.set_read_timeout(Some(PATIENCE)).map_err(nobody)?;
        Ok(Self {
            connection: Mutex::new(connection),
            name: path.display().to_string(),
            path: path.into(),
            bar_len,
            can_reset: flags & message::CAN_RESET != 0,
        })
    }

    fn gone(&self, error: &Error) -> DeviceError {
        let why = match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                "it ended".into()
            }
            ErrorKind::WouldBlock | ErrorKind::TimedOut => format!("no answer for {} s", PATIENCE.as_secs()),
            _ => error.to_string(),
        };
        let path = self.path.display();
        DeviceError::Gone(format!("the process at {path} went away: {why}; start it again and open anew"))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Connection) -> T) -> T {
        act(&mut self.connection.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn call(
        &self,
        command: u16,
        body: &[u8],
        memory: Option<&DmaMemory>,
        refused: impl FnOnce(Errno) -> DeviceError,
    ) -> Result<Vec<u8>, DeviceError> {
        self.with(|connection| {
            let got = connection.call(command, body, memory);
            match (got, connection.refused.take()) {
                (Ok(_), Some(error)) => Err(refused(error)),
                (Ok(body), None) => Ok(body),
                (Err(Failed::Refused(Errno::ENODEV)), _) => {
                    let path = self.path.display();
                    Err(DeviceError::Gone(format!("the simulation at {path} has ended: start it again")))
                }
                (Err(Failed::Refused(error)), _) => Err(refused(error)),
                (Err(Failed::Silent(error)), _) => Err(self.gone(&error)),
            }
        })
    }

    fn register(offset: u32) -> impl Fn(Errno) -> DeviceError {
        move |error| DeviceError::Register {
            offset,
            reason: format!("{error}, of this access or of a write before it"),
        }
    }

    fn read_region(&self, region: u32, offset: u32, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let access = message::access(region, offset.into(), bytes.len() as u32);
        let body = self.call(message::REGION_READ, &access, None, Self::register(offset))?;
        match body.get(16..) {
            Some(data) if data.len() == bytes.len() => {
                bytes.copy_from_slice(data);
                Ok(())
            }
            _ => Err(Self::register(offset)(Errno::EPROTO)),
        }
    }
}

impl Bus for VfioUser {
    fn name(&self) -> &str {
        &self.name
    }

    fn bar_len(&self) -> u64 {
        self.bar_len
    }

    fn read_config(&self, offset: usize, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.read_region(message::REGION_CONFIG, offset as u32, bytes)
    }

    fn write_config(&self, offset: usize, bytes: &[u8]) -> Result<(), DeviceError> {
        let mut body = message::access(message::REGION_CONFIG, offset as u64, bytes.len() as u32);
        body.extend(bytes);
        self.call(message::REGION_WRITE, &body, None, Self::register(offset as u32)).map(|_| ())
    }

    fn read(&self, offset: u32) -> Result<u32, DeviceError> {
        let mut bytes = [0; 4];
        self.read_region(message::REGION_BAR0, offset, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        let mut body = message::access(message::REGION_BAR0, offset.into(), 4);
        body.extend(value.to_le_bytes());
        let sent = self.with(|connection| {
            connection.send(message::REGION_WRITE, message::NO_REPLY, &body, None).map(|_| ())
        });
        sent.map_err(|error| self.gone(&error))
    }

    fn addresses(&self) -> Ranges {
        // Not 0, which is easily somebody's mistake; below what any IOMMU ends at.
        Ranges::new([(PAGE as u64, (1 << 39) - 1)])
    }

    fn map(&self, address: u64, memory: &DmaMemory) -> Result<(), DeviceError> {
        let refuse = |reason: String| DeviceError::Map { len: memory.len(), reason };
        let Some((_, offset)) = memory.shared_file() else {
            let path = self.path.display();
            return Err(refuse(format!(
                "the process at {path} can be shown memory that the driver has allocated, and no other: use DmaMemory::new"
            )));
        };
        let body = message::words(&[32, message::READ | message::WRITE], &[offset, address, pages(memory).1]);
        let refused = |error| refuse(format!("{} refuses it: {error}", self.path.display()));
        self.call(message::DMA_MAP, &body, Some(memory), refused).map(|_| ())
    }

    fn unmap(&self, address: u64, len: u64) {
        let body = message::words(&[24, 0], &[address, len]);
        // Of a process that went away: it reaches nothing.
        let _ = self.call(message::DMA_UNMAP, &body, None, Self::register(0));
    }

    fn reset(&self) -> Result<bool, DeviceError> {
        if self.can_reset {
            let refused =
                |error| DeviceError::Gone(format!("{} cannot be reset: {error}", self.path.display()));
            self.call(message::DEVICE_RESET, &[], None, refused)?;
        }
        Ok(self.can_reset)
    }

    /// Who serves it is a simulator, as a rule.
    fn yields(&self) -> bool {
        true
    }

    fn wait(&self) -> Result<(), DeviceError> {
        self.read(regs::STATUS.offset).map(|_| ())
    }
}
