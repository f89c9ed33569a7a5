//! Memory of programs that have a NIC by the server's own socket.

use std::fs::File;
use std::io::{Error, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::uio::{process_vm_readv, process_vm_writev, RemoteIoVec};
use nix::unistd::Pid;
use tessera_driver::remote::{Answer, Request, COOKIE, FETCH, STORE};

use super::lock;
use crate::nic::HostRegion;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A program that runs: later ones, which may have its number, are others.
#[derive(Debug)]
pub(super) struct Process {
    id: Pid,
    /// Its memory, as it was when it opened the NIC: of no other program, whatever its number.
    memory: File,
    /// Where it has [`COOKIE`].
    cookie: u64,
}

impl Process {
    /// A process that has [`COOKIE`] at an address, if its memory may be read and written.
    pub(super) fn reach(id: i32, cookie: u64) -> Option<Arc<Self>> {
        let memory = File::open(format!("/proc/{id}/mem")).ok()?;
        let process = Self { id: Pid::from_raw(id), memory, cookie };
        let mut bytes = [0; 8];
        let there = [RemoteIoVec { base: cookie as usize, len: bytes.len() }];
        let read = process_vm_readv(process.id, &mut [IoSliceMut::new(&mut bytes)], &there);
        (read == Ok(bytes.len()) && process.is_there()).then(|| Arc::new(process))
    }

    /// Whether it still runs the program that opened the NIC. What it had is taken away
    /// when its connection ends, but that is heard of later than the process ends.
    pub(super) fn is_there(&self) -> bool {
        let mut bytes = [0; 8];
        let read = self.memory.read_exact_at(&mut bytes, self.cookie);
        read.is_ok() && u64::from_ne_bytes(bytes) == COOKIE
    }
}

/// Memory of a program that the server may read and write.
pub(super) struct Direct {
    pub(super) process: Arc<Process>,
    pub(super) address: usize,
    pub(super) len: usize,
}

impl HostRegion for Direct {
    fn size(&self) -> usize {
        self.len
    }

    fn fetch(&self, offset: usize, bytes: &mut [u8]) -> bool {
        let len = bytes.len();
        let there = [RemoteIoVec { base: self.address + offset, len }];
        let mut get = || process_vm_readv(self.process.id, &mut [IoSliceMut::new(bytes)], &there) == Ok(len);
        len == 0 || self.process.is_there() && get()
    }

    fn store(&self, offset: usize, bytes: &[u8]) -> bool {
        let put = |bytes: &[u8], base: usize| {
            let there = [RemoteIoVec { base, len: bytes.len() }];
            process_vm_writev(self.process.id, &[IoSlice::new(bytes)], &there) == Ok(bytes.len())
        };
        // The last byte after all others: it tells of a completion.
        let Some((last, rest)) = bytes.split_last() else { return true };
        let address = self.address + offset;
        self.process.is_there()
            && (rest.is_empty() || put(rest, address))
            && put(std::slice::from_ref(last), address + rest.len())
    }
}

/// Memory of a program that is asked.
pub(super) struct Asked {
    pub(super) stream: Arc<Mutex<Option<UnixStream>>>,
    pub(super) address: u64,
    pub(super) len: usize,
}

/// Has a program answer in time on a connection, or not at all.
pub(super) fn answer_by(stream: &mut UnixStream) -> Result<(), Error> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))
}

/// A connection on which an answer is late from some time on, however often a piece of it comes.
struct Until<'a>(&'a mut UnixStream, Instant);

impl Read for Until<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Error> {
        if Instant::now() > self.1 {
            return Err(ErrorKind::TimedOut.into());
        }
        self.0.read(bytes)
    }
}

impl Asked {
    /// All NICs stand still meanwhile. So who does not answer in time, stopped or broken as it
    /// is, is not asked again: its memory cannot be reached any more.
    fn ask(&self, request: Request, send: &[u8], fill: &mut [u8]) -> Result<bool, Error> {
        let mut place = lock(&self.stream);
        let stream = place.as_mut().ok_or(ErrorKind::NotConnected)?;
        let mut talk = || {
            request.send(stream)?;
            stream.write_all(send)?;
            let mut answers = Until(stream, Instant::now() + PATIENCE);
            let answer = Answer::receive(&mut answers)?;
            answers.read_exact(fill)?;
            Ok(answer.value == 0)
        };
        let answered = talk();
        if answered.is_err() {
            *place = None;
        }
        answered
    }
}

impl HostRegion for Asked {
    fn size(&self) -> usize {
        self.len
    }

    fn fetch(&self, offset: usize, bytes: &mut [u8]) -> bool {
        let request = Request { kind: FETCH, a: 0, b: self.address + offset as u64, c: bytes.len() as u64 };
        self.ask(request, &[], bytes).unwrap_or(false)
    }

    fn store(&self, offset: usize, bytes: &[u8]) -> bool {
        let request = Request { kind: STORE, a: 0, b: self.address + offset as u64, c: bytes.len() as u64 };
        self.ask(request, bytes, &mut []).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};

    /// A program with a cookie, which becomes another; started by the test below.
    #[test]
    #[ignore = "started by the other tests"]
    fn chameleon() {
        let cookie = Box::new(COOKIE);
        println!("cookie {}", std::ptr::from_ref::<u64>(&cookie).addr());
        let _ = std::io::stdin().read_line(&mut String::new());
        assert_eq!(*cookie, COOKIE);
        panic!("{}", Command::new("cat").exec());
    }

    /// The first address of the stack.
    fn stack(child: &Child) -> usize {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", child.id())).unwrap();
        let line = maps.lines().find(|line| line.ends_with("[stack]")).unwrap();
        usize::from_str_radix(line.split('-').next().unwrap(), 16).unwrap()
    }

    /// Whoever has the number of a program that is gone is not reached by what that mapped.
    #[test]
    fn another_program_of_the_same_number_is_left_alone() {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["serve::memory::tests::chameleon", "--exact", "--ignored", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let said = lines.find_map(|line| Some(line.split_once("cookie ")?.1.trim().parse::<u64>().unwrap()));
        let cookie = said.unwrap();
        assert!(Process::reach(child.id() as i32, cookie + 8).is_none(), "it has none there");
        let process = Process::reach(child.id() as i32, cookie).expect("its memory is open");
        let reach = |address: usize| Direct { process: process.clone(), address, len: 8 };
        let mut bytes = [0; 8];
        assert!(reach(stack(&child)).fetch(0, &mut bytes) && reach(stack(&child)).store(0, &bytes));
        // In the middle of its change it has none.
        let number = child.id();
        let program = || std::fs::read_link(format!("/proc/{number}/exe")).ok();
        let itself = program();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"go\n").unwrap();
        while program().is_none_or(|now| Some(now) == itself) {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(100));
        let there = [RemoteIoVec { base: stack(&child), len: 8 }];
        let read = process_vm_readv(process.id, &mut [IoSliceMut::new(&mut bytes)], &there);
        assert_eq!(read, Ok(8), "the number alone is not enough");
        let other = reach(stack(&child));
        assert!(!other.fetch(0, &mut bytes) && !other.store(0, &[1; 8]));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn who_is_late_is_not_asked_again() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let stream = Arc::new(Mutex::new(Some(ours)));
        let asked = Asked { stream: stream.clone(), address: 0x1000, len: 64 };
        assert!(!asked.fetch(0, &mut [0; 8]));
        assert!(lock(&stream).is_none());
        drop(theirs);
    }

    /// An answer byte by byte is late as well.
    #[test]
    fn a_piece_at_a_time_is_no_answer() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(&[0; 100]).unwrap();
        let begun = Instant::now();
        let mut late = Until(&mut ours, begun + Duration::from_millis(30));
        let error = std::iter::repeat_with(|| {
            std::thread::sleep(Duration::from_millis(10));
            late.read_exact(&mut [0])
        });
        let error = error.take(50).find_map(Result::err).expect("it is late before it has all");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }
}
