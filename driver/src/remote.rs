//! A device in another process, over a Unix socket.
//!
//! ```text
//!   program: Context ── RemoteDevice ──registers, map, wait──> simulator process
//!                          │                                      │
//!            its memory <──┴── by process_vm_readv/writev, or ────┘
//!                              asked for on a second connection
//! ```
//!
//! Device addresses are the program's own. Of its memory the other side reaches what is
//! mapped; by which way is found out when the connection is made.
//!
//! The messages, which the server speaks as well:
//!
//! | request, 24 bytes | a | b | c | answer |
//! |---|---|---|---|---|
//! | [`LOOK`] | NIC or [`ANY`] | [`VERSION`] | | value: 1 where a program has it open; text: the NIC's [`Identity`]; ends the connection |
//! | [`HELLO`] | NIC or [`ANY`] | [`VERSION`] | address of [`COOKIE`] | value: the way, [`WAY_DIRECT`] or [`WAY_ASKED`]; text: the NIC's [`Identity`] |
//! | [`READ`] | offset | | | value |
//! | [`WRITE`] | offset | value | | none |
//! | [`MAP`], [`UNMAP`] | | address | bytes | status |
//! | [`WAIT`] | | | | when device time has passed |
//! | [`RESOLVE`] | | first half of a GID | second half | text: its MAC address; status [`UNKNOWN`]: nobody's |
//! | [`ANNOUNCE`] | a number of the program's | endpoint it stands for, or 0: none any more | | status |
//! | [`FIND`] | such a number | first half of a GID | second half | value: the endpoint; text: MAC address; status [`UNKNOWN`]: nobody's |
//! | [`FETCH`], [`STORE`] (by the server, on the second connection) | | address | bytes, which follow a STORE | status, value 1: not mapped; bytes of a FETCH |
//!
//! An answer is status, value and length of a text, which follows: 12 bytes. Numbers are
//! in the machine's order, both ends are on one.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::device::{Device, DeviceError};
use crate::memory::DmaMemory;

/// Of these messages.
pub const VERSION: u64 = 3;
/// What the server looks for in the program's memory, to see whether it reaches that.
pub const COOKIE: u64 = 0x5465_7373_6572_6121;

/// Opens a NIC.
pub const HELLO: u32 = 1;
/// Reads a register.
pub const READ: u32 = 2;
/// Writes a register.
pub const WRITE: u32 = 3;
/// Makes memory reachable.
pub const MAP: u32 = 4;
/// Takes it away.
pub const UNMAP: u32 = 5;
/// Lets device time run.
pub const WAIT: u32 = 6;
/// Gives the second connection, of the NIC `a`, which the server asks for memory on.
pub const MEMORY: u32 = 7;
/// Reads memory.
pub const FETCH: u32 = 8;
/// Writes memory.
pub const STORE: u32 = 9;

/// The server reads and writes the program's memory itself.
pub const WAY_DIRECT: u32 = 0;
/// The server asks the program to.
pub const WAY_ASKED: u32 = 1;

/// Tells of a NIC without opening it.
pub const LOOK: u32 = 10;
/// Asks who has a GID.
pub const RESOLVE: u32 = 11;

/// Says by which endpoint a number is reached: names that programs give to what shares one.
pub const ANNOUNCE: u32 = 12;
/// Asks for that, of another program's number.
pub const FIND: u32 = 13;

/// Of NICs: the first that no program has open.
pub const ANY: u32 = u32::MAX;

/// Answered as asked.
pub const OK: u32 = 0;
/// The register access failed.
pub const REGISTER_FAILED: u32 = 1;
/// The device is gone, or not to be had.
pub const GONE: u32 = 2;
/// Nobody has this GID.
pub const UNKNOWN: u32 = 3;

/// Which NIC it is, and its addresses: the fabric knows where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Number of the NIC.
    pub nic: u32,
    /// MAC address.
    pub mac: [u8; 6],
    /// IPv4 address.
    pub ip: [u8; 4],
    /// IPv6 address.
    pub ip6: [u8; 16],
}

/// A MAC address as people write it.
pub fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// A MAC address that people wrote.
pub fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let mut bytes = text.split(':').map(|byte| u8::from_str_radix(byte, 16).ok());
    let mut mac = [0; 6];
    for byte in &mut mac {
        *byte = bytes.next()??;
    }
    bytes.next().is_none().then_some(mac)
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (ip, ip6) = (std::net::Ipv4Addr::from(self.ip), std::net::Ipv6Addr::from(self.ip6));
        write!(f, "{} {} {ip} {ip6}", self.nic, mac_text(self.mac))
    }
}

impl Identity {
    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        let &[nic, mac, ip, ip6] = &words[..] else { return None };
        Some(Self {
            nic: nic.parse().ok()?,
            mac: parse_mac(mac)?,
            ip: ip.parse::<std::net::Ipv4Addr>().ok()?.octets(),
            ip6: ip6.parse::<std::net::Ipv6Addr>().ok()?.octets(),
        })
    }
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What.
    pub kind: u32,
    /// See the module's page.
    pub a: u32,
    /// See the module's page.
    pub b: u64,
    /// See the module's page.
    pub c: u64,
}

impl Request {
    /// Bytes of one.
    pub const LEN: usize = 24;

    /// Sends it.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn send(&self, to: &mut impl Write) -> Result<(), Error> {
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&self.kind.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.a.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.b.to_ne_bytes());
        bytes[16..].copy_from_slice(&self.c.to_ne_bytes());
        to.write_all(&bytes)
    }

    /// Waits for the next one.
    ///
    /// # Errors
    /// Those of the stream; its end is `UnexpectedEof`.
    pub fn receive(from: &mut impl Read) -> Result<Self, Error> {
        let mut bytes = [0; Self::LEN];
        from.read_exact(&mut bytes)?;
        let u32_at = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        let u64_at = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        Ok(Self { kind: u32_at(0), a: u32_at(4), b: u64_at(8), c: u64_at(16) })
    }
}

/// What comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// [`OK`], or what went wrong.
    pub status: u32,
    /// What was read.
    pub value: u32,
    /// Why it went wrong.
    pub text: String,
}

/// Most bytes of a [`FETCH`] or [`STORE`]: a NIC asks for no more than a packet at a time.
pub const MAX_MEMORY: usize = 1 << 24;

/// Longest text that is taken from the other side.
const MAX_TEXT: usize = 4096;

impl Answer {
    /// All went well.
    pub fn ok(value: u32) -> Self {
        Self { status: OK, value, text: String::new() }
    }

    /// Something did not.
    pub fn error(status: u32, text: impl ToString) -> Self {
        let mut text = text.to_string();
        while text.len() > MAX_TEXT {
            text.pop();
        }
        Self { status, value: 0, text }
    }

    /// Sends it.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn send(&self, to: &mut impl Write) -> Result<(), Error> {
        let mut bytes = Vec::with_capacity(12 + self.text.len());
        for word in [self.status, self.value, self.text.len() as u32] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(self.text.bytes());
        to.write_all(&bytes)
    }

    /// Waits for it.
    ///
    /// # Errors
    /// Those of the stream, and `InvalidData` for what is no answer.
    pub fn receive(from: &mut impl Read) -> Result<Self, Error> {
        let mut bytes = [0; 12];
        from.read_exact(&mut bytes)?;
        let word = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        let len = word(8) as usize;
        if len > MAX_TEXT {
            return Err(Error::new(ErrorKind::InvalidData, "an answer longer than any"));
        }
        let mut text = vec![0; len];
        from.read_exact(&mut text)?;
        Ok(Self { status: word(0), value: word(4), text: String::from_utf8_lossy(&text).into_owned() })
    }
}

/// Memory of this program that the device may reach.
type Mapped = Mutex<BTreeMap<u64, (Arc<DmaMemory>, u32)>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A NIC of a simulator process, open in this program.
pub struct Remote {
    /// Held from a request to its answer. Each thread has its turn: one that waits for device
    /// time again and again would keep all others from it.
    stream: parking_lot::Mutex<UnixStream>,
    mapped: Arc<Mapped>,
    identity: Identity,
    /// Where the server looks for [`COOKIE`].
    _cookie: Box<u64>,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").field("identity", &self.identity).finish_non_exhaustive()
    }
}

fn halves(gid: [u8; 16]) -> [u64; 2] {
    [0, 8].map(|at| u64::from_be_bytes(std::array::from_fn(|i| gid[at + i])))
}

fn nobody(path: &Path) -> impl Fn(Error) -> DeviceError + '_ {
    move |error| {
        DeviceError::Gone(format!(
            "nobody answers at {} ({error}): start the simulator first, or name its socket",
            path.display()
        ))
    }
}

/// Longest wait for the first answer: a NIC that is being cleared takes some seconds of it.
const FIRST: Duration = Duration::from_secs(60);

/// Says the first words on a connection, and gets the answer to them.
fn begin(path: &Path, hello: Request) -> Result<(UnixStream, Answer), DeviceError> {
    begin_within(path, hello, FIRST)
}

fn begin_within(
    path: &Path,
    hello: Request,
    patience: Duration,
) -> Result<(UnixStream, Answer), DeviceError> {
    let mut stream = UnixStream::connect(path).map_err(nobody(path))?;
    stream.set_read_timeout(Some(patience)).map_err(nobody(path))?;
    hello.send(&mut stream).map_err(nobody(path))?;
    let answer = Answer::receive(&mut stream).map_err(|error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => DeviceError::Gone(format!(
            "what listens at {} says nothing for {} s: is it a simulator, and not stopped?",
            path.display(),
            patience.as_secs()
        )),
        _ => nobody(path)(error),
    })?;
    // Later ones take as long as simulated time does.
    stream.set_read_timeout(None).map_err(nobody(path))?;
    match answer.status {
        OK => Ok((stream, answer)),
        _ => Err(DeviceError::Gone(answer.text)),
    }
}

fn identity(answer: &Answer) -> Result<Identity, DeviceError> {
    let no = || DeviceError::Gone(format!("the simulator calls the NIC `{}`", answer.text));
    Identity::parse(&answer.text).ok_or_else(no)
}

/// Which NIC `nic` is (or the first that is free, of [`ANY`]), without opening it.
///
/// # Errors
/// If nobody listens at `path`, or has no such NIC.
pub fn look(path: &Path, nic: u32) -> Result<Identity, DeviceError> {
    Ok(look_closely(path, nic)?.0)
}

/// The same, and whether a program has it open.
pub(crate) fn look_closely(path: &Path, nic: u32) -> Result<(Identity, bool), DeviceError> {
    let answer = begin(path, Request { kind: LOOK, a: nic, b: VERSION, c: 0 })?.1;
    Ok((identity(&answer)?, answer.value == 1))
}

/// Opens NIC `nic` (or the first that is free, of [`ANY`]) of the simulator that
/// listens at `path`.
///
/// # Errors
/// If nobody listens there, or the NIC is in use or none of that simulator.
pub fn connect(path: &Path, nic: u32) -> Result<Arc<Remote>, DeviceError> {
    let cookie = Box::new(COOKIE);
    let address = std::ptr::from_ref::<u64>(&cookie) as u64;
    let (stream, answer) = begin(path, Request { kind: HELLO, a: nic, b: VERSION, c: address })?;
    let identity = identity(&answer)?;
    let mapped = Arc::new(Mapped::default());
    if answer.value == WAY_ASKED {
        let (mut second, _) = begin(path, Request { kind: MEMORY, a: identity.nic, b: VERSION, c: 0 })?;
        let mapped = mapped.clone();
        let thread = std::thread::Builder::new().name("tessera-memory".into());
        // It ends with the connection, which the server ends with the first one.
        thread.spawn(move || while serve_memory(&mut second, &mapped).is_ok() {}).map_err(nobody(path))?;
    }
    Ok(Arc::new(Remote { stream: parking_lot::Mutex::new(stream), mapped, identity, _cookie: cookie }))
}

/// Answers one request of the server for memory.
fn serve_memory(stream: &mut UnixStream, mapped: &Mapped) -> Result<(), Error> {
    let Request { kind, b: address, c: len, .. } = Request::receive(stream)?;
    let with = |access: &mut dyn FnMut(&DmaMemory, usize)| {
        let mapped = lock(mapped);
        let found = mapped.range(..=address).rev().find_map(|(start, (memory, _))| {
            let offset = usize::try_from(address - start).ok()?;
            let end = offset.checked_add(usize::try_from(len).ok()?)?;
            (end <= memory.len()).then_some((memory, offset))
        });
        found.map(|(memory, offset)| access(memory, offset)).is_some()
    };
    let len_here = usize::try_from(len).ok().filter(|&len| len <= MAX_MEMORY);
    let mut bytes = vec![0; len_here.ok_or_else(|| Error::new(ErrorKind::InvalidData, "too many bytes"))?];
    match kind {
        FETCH => {
            let found = with(&mut |memory, offset| memory.read(offset, &mut bytes));
            Answer::ok(u32::from(!found)).send(stream)?;
            stream.write_all(&bytes)
        }
        STORE => {
            stream.read_exact(&mut bytes)?;
            let found = with(&mut |memory, offset| memory.write(offset, &bytes));
            Answer::ok(u32::from(!found)).send(stream)
        }
        _ => Err(Error::new(ErrorKind::InvalidData, "no request for memory")),
    }
}

impl Remote {
    /// Which NIC it is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// The MAC address behind a GID, if the fabric has one there.
    ///
    /// # Errors
    /// If the simulator went away.
    pub fn resolve(&self, gid: [u8; 16]) -> Result<Option<[u8; 6]>, DeviceError> {
        let [b, c] = halves(gid);
        let answer = self.ask(Request { kind: RESOLVE, a: 0, b, c })?;
        match answer.status {
            OK => Ok(parse_mac(&answer.text)),
            UNKNOWN => Ok(None),
            _ => Err(DeviceError::Gone(answer.text)),
        }
    }

    /// Says that `number`, at this NIC, is reached by an endpoint, or by none any more.
    ///
    /// # Errors
    /// If the simulator went away.
    pub fn announce(&self, number: u32, endpoint: Option<u32>) -> Result<(), DeviceError> {
        let b = endpoint.unwrap_or(0).into();
        self.call(Request { kind: ANNOUNCE, a: number, b, c: 0 }).map(|_| ())
    }

    /// MAC address and endpoint by which a number at the NIC of a GID is reached.
    ///
    /// # Errors
    /// If the simulator went away.
    pub fn find(&self, gid: [u8; 16], number: u32) -> Result<Option<([u8; 6], u32)>, DeviceError> {
        let [b, c] = halves(gid);
        let answer = self.ask(Request { kind: FIND, a: number, b, c })?;
        match answer.status {
            OK => Ok(parse_mac(&answer.text).map(|mac| (mac, answer.value))),
            UNKNOWN => Ok(None),
            _ => Err(DeviceError::Gone(answer.text)),
        }
    }

    fn ask(&self, request: Request) -> Result<Answer, DeviceError> {
        let gone = |error: Error| DeviceError::Gone(format!("the simulator went away: {error}"));
        let mut stream = self.stream.lock();
        let talked = request.send(&mut *stream).and_then(|()| Answer::receive(&mut *stream));
        parking_lot::MutexGuard::unlock_fair(stream);
        talked.map_err(gone)
    }

    fn call(&self, request: Request) -> Result<Answer, DeviceError> {
        let answer = self.ask(request)?;
        match answer.status {
            OK => Ok(answer),
            REGISTER_FAILED => Err(DeviceError::Register { offset: request.a, reason: answer.text }),
            _ => Err(DeviceError::Gone(answer.text)),
        }
    }
}

impl Device for Remote {
    fn read(&self, offset: u32) -> Result<u32, DeviceError> {
        Ok(self.call(Request { kind: READ, a: offset, b: 0, c: 0 })?.value)
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        let request = Request { kind: WRITE, a: offset, b: value.into(), c: 0 };
        let sent = request.send(&mut *self.stream.lock());
        sent.map_err(|error| DeviceError::Gone(format!("the simulator went away: {error}")))
    }

    /// Its simulator waits for somebody who waits.
    fn yields(&self) -> bool {
        true
    }

    fn map(&self, memory: &Arc<DmaMemory>) -> Result<u64, DeviceError> {
        let address = memory.address();
        {
            // Of those that begin at one address, the longest stands for all.
            let mut mapped = lock(&self.mapped);
            let (before, times) = mapped.entry(address).or_insert_with(|| (memory.clone(), 0));
            *times += 1;
            if before.len() < memory.len() {
                *before = memory.clone();
            }
        }
        let told = self.call(Request { kind: MAP, a: 0, b: address, c: memory.len() as u64 });
        told.inspect_err(|_| self.forget(address))?;
        Ok(address)
    }

    fn unmap(&self, address: u64) {
        // Of a simulator that went away: it reaches nothing.
        let _ = self.call(Request { kind: UNMAP, a: 0, b: address, c: 0 });
        self.forget(address);
    }

    fn wait(&self) -> Result<(), DeviceError> {
        self.call(Request { kind: WAIT, a: 0, b: 0, c: 0 }).map(|_| ())
    }
}

impl Remote {
    fn forget(&self, address: u64) {
        let mut mapped = lock(&self.mapped);
        if let Some((_, times)) = mapped.get_mut(&address) {
            *times -= 1;
            if *times == 0 {
                mapped.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_way() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let request = Request { kind: MAP, a: 7, b: u64::MAX, c: 1 << 40 };
        request.send(&mut here).unwrap();
        assert_eq!(Request::receive(&mut there).unwrap(), request);
        for answer in [Answer::ok(9), Answer::error(GONE, "x".repeat(5000))] {
            answer.send(&mut there).unwrap();
            let got = Answer::receive(&mut here).unwrap();
            assert_eq!(got, answer);
            assert!(got.text.len() <= MAX_TEXT);
        }
        drop(there);
        assert_eq!(Answer::receive(&mut here).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn identities_survive_the_way() {
        let ip6 = std::net::Ipv6Addr::LOCALHOST.octets();
        let one = Identity { nic: 3, mac: [2, 0xAB, 0, 1, 255, 9], ip: [10, 0, 0, 4], ip6 };
        assert_eq!(one.to_string(), "3 02:ab:00:01:ff:09 10.0.0.4 ::1");
        assert_eq!(Identity::parse(&one.to_string()), Some(one));
        for wrong in ["", "3", "3 02:ab:00:01:ff 10.0.0.4 ::1", "3 02:ab:00:01:ff:09:00 10.0.0.4 ::1"] {
            assert_eq!(Identity::parse(wrong), None, "{wrong}");
        }
    }

    /// Something else than a simulator is not waited for.
    #[test]
    fn who_never_answers_is_told_of() {
        let path = std::env::temp_dir().join(format!("tessera-mute-{}", std::process::id()));
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let hello = Request { kind: LOOK, a: 0, b: VERSION, c: 0 };
        let (tell, told) = std::sync::mpsc::channel();
        let at = path.clone();
        std::thread::spawn(move || {
            tell.send(begin_within(&at, hello, Duration::from_millis(20)).map(|_| ())).unwrap();
        });
        let error = told.recv_timeout(Duration::from_secs(10)).expect("it ends").unwrap_err().to_string();
        assert!(error.contains("tessera-mute") && error.contains("says nothing"), "{error}");
        drop(listener);
        std::fs::remove_file(path).unwrap();
    }

    /// The other side reaches what is mapped, to the byte.
    #[test]
    fn memory_is_served_where_it_is_mapped() {
        let (mut server, mut client) = UnixStream::pair().unwrap();
        let memory = DmaMemory::from_slice(&[1, 2, 3, 4]);
        let address = memory.address();
        let mapped = Mapped::new(BTreeMap::from([(address, (memory.clone(), 1))]));
        let mut ask = |kind, address, bytes: &mut [u8]| {
            Request { kind, a: 0, b: address, c: bytes.len() as u64 }.send(&mut server).unwrap();
            if kind == STORE {
                server.write_all(bytes).unwrap();
            }
            serve_memory(&mut client, &mapped).unwrap();
            let answer = Answer::receive(&mut server).unwrap();
            if kind == FETCH {
                server.read_exact(bytes).unwrap();
            }
            answer.value
        };
        let mut two = [0; 2];
        assert_eq!((ask(FETCH, address + 2, &mut two), two), (0, [3, 4]));
        assert_eq!((ask(FETCH, address + 3, &mut two), two), (1, [0, 0]));
        assert_eq!(ask(STORE, address + 1, &mut [8, 9]), 0);
        assert_eq!(ask(STORE, address - 1, &mut [7, 7]), 1);
        assert_eq!(memory.to_vec(0, 4), [1, 8, 9, 4]);
    }
}
