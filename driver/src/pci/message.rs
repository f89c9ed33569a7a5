//! The messages of vfio-user, of which a client and a server are made.
//!
//! Each has a header of 16 bytes: number, command, length of all, flags, error. Numbers are
//! in the machine's order. File descriptors go with the first byte.
//!
//! | command | body | reply |
//! |---|---|---|
//! | [`VERSION`] | major, minor (16 bits), capabilities as JSON, 0 | the same |
//! | [`DMA_MAP`] | size of the body, [`READ`] and [`WRITE`], offset in the file, address, bytes; a file | |
//! | [`DMA_UNMAP`] | size, flags, address, bytes | the same |
//! | [`DEVICE_INFO`] | size, flags, regions, interrupts | the same |
//! | [`REGION_INFO`] | size, flags, index, 0, bytes (64 bits), offset (64) | the same |
//! | [`IRQ_INFO`] | size, flags, index, count | the same |
//! | [`SET_IRQS`] | size, flags, index, first, count | |
//! | [`REGION_READ`], [`REGION_WRITE`] | offset (64 bits), region, bytes; of a write its bytes | the same; of a read its bytes |
//! | [`DEVICE_RESET`] | | |

use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::sys::socket::{recvmsg, sendmsg, ControlMessage, ControlMessageOwned, MsgFlags};

/// First message of a client.
pub const VERSION: u16 = 1;
/// Shows the device memory.
pub const DMA_MAP: u16 = 2;
/// Takes it away.
pub const DMA_UNMAP: u16 = 3;
/// What kind of device, how many regions.
pub const DEVICE_INFO: u16 = 4;
/// How large a region is.
pub const REGION_INFO: u16 = 5;
/// How many interrupts of a kind there are.
pub const IRQ_INFO: u16 = 7;
/// Where interrupts go.
pub const SET_IRQS: u16 = 8;
/// Reads from a region.
pub const REGION_READ: u16 = 9;
/// Writes to one.
pub const REGION_WRITE: u16 = 10;
/// Resets the device.
pub const DEVICE_RESET: u16 = 13;

/// Version of the protocol.
pub const MAJOR: u16 = 0;
/// The same.
pub const MINOR: u16 = 1;
/// What a client or server that knows nothing further says of itself.
pub const CAPABILITIES: &[u8] = b"{\"capabilities\":{\"max_msg_fds\":1,\"max_data_xfer_size\":1048576}}\0";

/// Of [`DMA_MAP`]: the device may read.
pub const READ: u32 = 1;
/// Of [`DMA_MAP`]: the device may write.
pub const WRITE: u32 = 2;

/// Flag of a header: a reply.
pub const REPLY: u32 = 1;
/// Flag of a header: no reply wanted.
pub const NO_REPLY: u32 = 1 << 4;
/// Flag of a reply: it went wrong, see the error.
pub const ERROR: u32 = 1 << 5;

/// Of BAR 0.
pub const REGION_BAR0: u32 = 0;
/// Of the configuration space.
pub const REGION_CONFIG: u32 = 7;
/// Regions of a PCI device.
pub const REGIONS: u32 = 9;
/// Kinds of interrupts of a PCI device.
pub const IRQS: u32 = 5;
/// Flag of [`DEVICE_INFO`]: it can be reset.
pub const CAN_RESET: u32 = 1;
/// Flag of [`DEVICE_INFO`]: it is a PCI device.
pub const IS_PCI: u32 = 2;

/// Longest body: the data that [`CAPABILITIES`] allows, and what describes it.
const MAX_BODY: usize = (1 << 20) + 64;
/// Files that Linux lets a message bring: of those that there is no room for, some are open
/// in this process all the same, where nobody finds them.
const MAX_FILES: usize = 253;

/// What a message begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The same of a command and its reply.
    pub number: u16,
    /// What is asked for.
    pub command: u16,
    /// [`REPLY`], [`NO_REPLY`], [`ERROR`].
    pub flags: u32,
    /// An errno.
    pub error: u32,
}

/// One message.
#[derive(Debug)]
pub struct Message {
    /// Its beginning.
    pub header: Header,
    /// The rest.
    pub body: Vec<u8>,
    /// What came with it.
    pub files: Vec<OwnedFd>,
}

/// A number of the body.
pub fn u16_at(body: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(body.get(at..)?.first_chunk().copied()?))
}

/// A number of the body.
pub fn u32_at(body: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(body.get(at..)?.first_chunk().copied()?))
}

/// A number of the body.
pub fn u64_at(body: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(body.get(at..)?.first_chunk().copied()?))
}

/// A body of numbers of 32 bits, then of 64.
pub fn words(small: &[u32], large: &[u64]) -> Vec<u8> {
    let small = small.iter().flat_map(|word| word.to_ne_bytes());
    small.chain(large.iter().flat_map(|word| word.to_ne_bytes())).collect()
}

/// Body of a [`VERSION`].
pub fn version() -> Vec<u8> {
    let numbers = [MAJOR, MINOR].into_iter().flat_map(u16::to_ne_bytes);
    numbers.chain(CAPABILITIES.iter().copied()).collect()
}

/// Body of an access to a region, without data.
pub fn access(region: u32, offset: u64, count: u32) -> Vec<u8> {
    [&offset.to_ne_bytes()[..], &region.to_ne_bytes(), &count.to_ne_bytes()].concat()
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, what)
}

/// Sends a message.
///
/// # Errors
/// Those of the stream.
pub fn send(
    stream: &mut UnixStream,
    header: Header,
    body: &[u8],
    file: Option<BorrowedFd>,
) -> Result<(), Error> {
    let mut bytes = Vec::with_capacity(16 + body.len());
    bytes.extend(header.number.to_ne_bytes());
    bytes.extend(header.command.to_ne_bytes());
    for word in [16 + body.len() as u32, header.flags, header.error] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend(body);
    let files: Vec<RawFd> = file.iter().map(AsRawFd::as_raw_fd).collect();
    let control = [ControlMessage::ScmRights(&files)];
    let control = if files.is_empty() { &[][..] } else { &control[..] };
    let sent = loop {
        let flags = MsgFlags::MSG_NOSIGNAL;
        match sendmsg::<()>(stream.as_raw_fd(), &[IoSlice::new(&bytes)], control, flags, None) {
            Err(Errno::EINTR) => {}
            other => break other?,
        }
    };
    stream.write_all(&bytes[sent..])
}

/// 16 bytes, and the files that came with them.
pub type Head = ([u8; 16], Vec<OwnedFd>);

/// Waits for the next 16 bytes and the files that come with them; `None` if the other side has
/// gone before the first.
///
/// # Errors
/// Those of the stream, and `InvalidData` for more files than a message has.
pub fn receive_head(stream: &mut UnixStream) -> Result<Option<Head>, Error> {
    let mut head = [0; 16];
    let mut files = Vec::new();
    let got = loop {
        let mut into = [IoSliceMut::new(&mut head)];
        let mut control = nix::cmsg_space!([RawFd; MAX_FILES]);
        let flags = MsgFlags::MSG_CMSG_CLOEXEC;
        let got = match recvmsg::<()>(stream.as_raw_fd(), &mut into, Some(&mut control), flags) {
            Err(Errno::EINTR) => continue,
            other => other?,
        };
        for message in got.cmsgs().map_err(|_| invalid("more files than may be open here"))? {
            if let ControlMessageOwned::ScmRights(raw) = message {
                // SAFETY: just received, and nobody else's.
                files.extend(raw.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
            }
        }
        break got.bytes;
    };
    if got == 0 {
        return Ok(None);
    }
    stream.read_exact(&mut head[got..])?;
    Ok(Some((head, files)))
}

/// Waits for the next message; `None` if the other side has gone, between two of them.
///
/// # Errors
/// Those of the stream, and `InvalidData` for what is no message.
pub fn receive(stream: &mut UnixStream) -> Result<Option<Message>, Error> {
    let Some((head, files)) = receive_head(stream)? else { return Ok(None) };
    let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| head[at + i]));
    let half = |at: usize| u16::from_ne_bytes([head[at], head[at + 1]]);
    let len = (word(4) as usize).checked_sub(16).filter(|&len| len <= MAX_BODY);
    let mut body = vec![0; len.ok_or_else(|| invalid("a message shorter or longer than any"))?];
    stream.read_exact(&mut body)?;
    let header = Header { number: half(0), command: half(2), flags: word(8), error: word(12) };
    Ok(Some(Message { header, body, files }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    #[test]
    fn messages_and_files_survive_the_way() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let memory = crate::DmaMemory::from_slice(&[1, 2, 3]);
        let (file, offset) = memory.shared_file().unwrap();
        let header = Header { number: 7, command: DMA_MAP, flags: NO_REPLY, error: 3 };
        send(&mut here, header, &words(&[32, 3], &[offset, 1 << 40, 4096]), Some(file.as_fd())).unwrap();
        send(&mut here, Header::default(), &[], None).unwrap();
        let mut got = receive(&mut there).unwrap().unwrap();
        assert_eq!(got.header, header);
        assert_eq!((u32_at(&got.body, 4), u64_at(&got.body, 16)), (Some(3), Some(1 << 40)));
        assert_eq!((u32_at(&got.body, 30), u16_at(&got.body, 31)), (None, None));
        let mut bytes = [0; 3];
        File::from(got.files.remove(0)).read_exact_at(&mut bytes, u64_at(&got.body, 8).unwrap()).unwrap();
        assert_eq!(bytes, [1, 2, 3]);
        let got = receive(&mut there).unwrap().unwrap();
        assert!(got.body.is_empty() && got.files.is_empty());
        drop(here);
        assert!(receive(&mut there).unwrap().is_none());
    }

    /// Files that nobody asked for are closed, however many come.
    #[test]
    fn files_that_come_are_not_kept() {
        for count in [1, 8, 9, 253] {
            let (here, mut there) = UnixStream::pair().unwrap();
            let (sent, mut left) = UnixStream::pair().unwrap();
            let files = vec![sent.as_raw_fd(); count];
            let mut bytes = [0; 16];
            bytes[4..8].copy_from_slice(&16u32.to_ne_bytes());
            let control = [ControlMessage::ScmRights(&files)];
            sendmsg::<()>(here.as_raw_fd(), &[IoSlice::new(&bytes)], &control, MsgFlags::empty(), None)
                .unwrap();
            drop(sent);
            // Whether that is a message or none.
            drop(receive(&mut there));
            left.set_nonblocking(true).unwrap();
            assert_eq!(left.read(&mut [0]).ok(), Some(0), "{count} files: one of them is open");
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for len in [0u32, 15, 1 << 30] {
            let (mut here, mut there) = UnixStream::pair().unwrap();
            let mut bytes = [0; 16];
            bytes[4..8].copy_from_slice(&len.to_ne_bytes());
            here.write_all(&bytes).unwrap();
            assert_eq!(receive(&mut there).unwrap_err().kind(), ErrorKind::InvalidData, "{len}");
        }
        let (mut here, mut there) = UnixStream::pair().unwrap();
        here.write_all(&[0; 9]).unwrap();
        drop(here);
        assert_eq!(receive(&mut there).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}
