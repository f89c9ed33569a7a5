//! Simulated NICs for other processes: each opens one over a Unix socket.
//!
//! ```text
//!   program ── driver ── remote ══socket══ Server ──> device of NIC n ──┐
//!   program ── driver ── remote ══socket══   │    ──> device of NIC m ──┼── cluster
//!      memory <══ process_vm_readv/writev ═══╧═══════ DMA ──────────────┘
//! ```
//!
//! The messages are those of [`tessera_driver::remote`]. Simulated time passes while
//! somebody waits ([`Device::wait`](tessera_driver::Device::wait)) or reads a register:
//! programs that wait on each other by other means stop it. A program that goes, or is
//! killed, leaves its NIC reset, and free for the next.

use std::collections::HashMap;
use std::io::Error;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::signal::kill;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::Pid;
use tessera_abi::regs::{self, Counter};
use tessera_abi::status::Drop as DropReason;
use tessera_driver::remote::{
    mac_text, Answer, Identity, Request, ANNOUNCE, ANY, FIND, GONE, HELLO, LOOK, MAP, MEMORY, READ,
    REGISTER_FAILED, RESOLVE, UNKNOWN, UNMAP, VERSION, WAIT, WAY_ASKED, WAY_DIRECT, WRITE,
};
use tessera_driver::{Device, DeviceError};

use crate::cluster;
use crate::device::{Shared, Simulation};
use crate::nic::{HostMemory, HostRegion};

mod door;
mod memory;
mod pci_proxy;
mod vfio_user;

use door::Door;
use memory::{Asked, Direct, Process};
pub use vfio_user::Functions;

/// Windows that a NIC has to let go of a program that is gone.
const RESET_WINDOWS: u32 = 10_000;

/// How long a NIC of a program that is gone is waited for, and how often looked at.
const CLEARING: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);
/// How long a program may ask for nothing before it is looked whether it is there, milliseconds.
const SIGN_OF_LIFE: u16 = 500;

/// How the memory of programs is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryWay {
    /// Directly where that is permitted, else by asking.
    #[default]
    Found,
    /// By asking the program.
    Asked,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_gone(process: i32) -> bool {
    kill(Pid::from_raw(process), None) == Err(Errno::ESRCH)
}

/// A NIC's place for a program.
#[derive(Default)]
struct Seat {
    /// The process that has it.
    taken: Mutex<Option<i32>>,
    /// By which that holds it.
    connection: Mutex<Option<UnixStream>>,
    /// On which its memory is asked for.
    memory: Arc<Mutex<Option<UnixStream>>>,
    /// What the NIC had counted when the program before it had left: a reset sets nothing back.
    counted: Mutex<Vec<u32>>,
}

impl Seat {
    /// Whether its program is gone or has hung up, and what it had is still being cleared.
    fn is_left(&self) -> bool {
        let hung_up = |connection: &UnixStream| {
            let mut look = [PollFd::new(connection.as_fd(), PollFlags::empty())];
            let seen = poll(&mut look, PollTimeout::ZERO).ok().and_then(|_| look[0].revents());
            seen.is_some_and(|seen| seen.contains(PollFlags::POLLHUP))
        };
        lock(&self.taken).is_some_and(is_gone) || lock(&self.connection).as_ref().is_some_and(hung_up)
    }
}

/// What a NIC did for a program that is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Which NIC.
    pub nic: usize,
    /// The program's process.
    pub process: i32,
    /// Counters that are not 0: events and drop reasons, by name.
    pub counters: Vec<(&'static str, u32)>,
}

/// What connections share.
struct Hall<S> {
    simulation: Shared<S>,
    seats: Vec<Seat>,
    way: MemoryWay,
    visits: Mutex<Vec<Visit>>,
    /// Endpoints by NIC and the number that a program gives one.
    names: Mutex<HashMap<(usize, u32), u32>>,
}

/// Serves the NICs of a simulation until it is dropped.
pub struct Server<S: Simulation> {
    hall: Arc<Hall<S>>,
    door: Door,
}

impl<S: Simulation> Server<S> {
    /// Listens at `path` for programs that open one of the first `nics` NICs.
    ///
    /// # Errors
    /// If the socket cannot be made, or somebody listens there already.
    pub fn bind(path: &Path, simulation: Shared<S>, nics: usize, way: MemoryWay) -> Result<Self, Error> {
        let seats = (0..nics).map(|_| Seat::default()).collect();
        let hall =
            Arc::new(Hall { simulation, seats, way, visits: Mutex::default(), names: Mutex::default() });
        let shared = hall.clone();
        let door = Door::open(path, "tessera-program", move |stream| {
            let _ = shared.serve(stream);
        })?;
        Ok(Self { hall, door })
    }

    /// The address by which a program opens one of the NICs.
    pub fn address(&self, nic: usize) -> String {
        format!("socket:{}?nic={nic}", self.door.path().display())
    }

    /// Processes that have a NIC open, by NIC.
    pub fn programs(&self) -> Vec<Option<i32>> {
        self.hall.seats.iter().map(|seat| *lock(&seat.taken)).collect()
    }

    /// Programs that are gone, in the order in which they went.
    pub fn visits(&self) -> Vec<Visit> {
        lock(&self.hall.visits).clone()
    }
}

impl<S: Simulation> Drop for Server<S> {
    fn drop(&mut self) {
        // What programs still ask for is refused.
        self.hall.simulation.lock().failed().get_or_insert_with(|| "the simulation has ended".into());
    }
}

/// Counters that a visit tells of, by name and index: events and drop reasons.
fn counters() -> impl Iterator<Item = (&'static str, u32)> {
    let events = Counter::ALL.iter().map(|&counter| (counter.name(), counter as u32));
    events.chain(DropReason::ALL.iter().map(|&reason| (reason.name(), reason as u32)))
}

fn identity(nic: usize) -> Identity {
    let (mac, ip) = cluster::addresses(nic);
    Identity { nic: nic as u32, mac, ip, ip6: cluster::ip6(nic) }
}

fn refuse(stream: &mut UnixStream, why: impl ToString) -> Result<(), Error> {
    Answer::error(GONE, why).send(stream)
}

impl<S: Simulation> Hall<S> {
    fn serve(&self, mut stream: UnixStream) -> Result<(), Error> {
        let hello = Request::receive(&mut stream)?;
        stream.set_read_timeout(None)?;
        let nic = hello.a as usize;
        if hello.b != VERSION {
            let why = format!(
                "the simulator speaks version {VERSION} and this program {}: build both from one source",
                hello.b
            );
            return refuse(&mut stream, why);
        }
        if nic >= self.seats.len() && hello.a != ANY {
            let last = self.seats.len() - 1;
            return refuse(&mut stream, format!("this simulator has no NIC {nic}: use 0 to {last}"));
        }
        let pid = getsockopt(&stream, PeerCredentials).map_err(Error::from)?.pid();
        let nic = match hello.kind {
            LOOK => {
                let free = || self.seats.iter().position(|seat| lock(&seat.taken).is_none());
                let nic = if hello.a == ANY { free().unwrap_or(0) } else { nic };
                let taken = lock(&self.seats[nic].taken).is_some();
                let text = identity(nic).to_string();
                return Answer { text, ..Answer::ok(taken.into()) }.send(&mut stream);
            }
            HELLO if hello.a == ANY => match self.take_one_of(0..self.seats.len(), pid) {
                Ok(nic) => nic,
                Err(_) => {
                    let nics = self.seats.len();
                    return refuse(&mut stream, format!("all {nics} NICs are open: start with more of them"));
                }
            },
            HELLO => {
                if let Err(other) = self.take_one_of(nic..nic + 1, pid) {
                    let why = format!("NIC {nic} is open in process {other}: use another, or end that");
                    return refuse(&mut stream, why);
                }
                nic
            }
            MEMORY if nic < self.seats.len() && *lock(&self.seats[nic].taken) == Some(pid) => {
                memory::answer_by(&mut stream)?;
                // Its program goes on with the answer: whoever asks by this is to find it.
                let mut place = lock(&self.seats[nic].memory);
                Answer::ok(0).send(&mut stream)?;
                *place = Some(stream);
                return Ok(());
            }
            MEMORY => return refuse(&mut stream, format!("this program does not have NIC {nic} open")),
            kind => return refuse(&mut stream, format!("{kind} is no beginning")),
        };
        let seat = &self.seats[nic];
        *lock(&seat.connection) = stream.try_clone().ok();
        let found = (self.way == MemoryWay::Found).then(|| Process::reach(pid, hello.c)).flatten();
        let way = if found.is_some() { WAY_DIRECT } else { WAY_ASKED };
        let welcome = Answer { text: identity(nic).to_string(), ..Answer::ok(way) };
        let ended = welcome.send(&mut stream).and_then(|()| {
            let region = |address: u64, len: u64| -> Arc<dyn HostRegion> {
                let len = len as usize;
                match &found {
                    Some(process) => {
                        Arc::new(Direct { process: process.clone(), address: address as usize, len })
                    }
                    None => Arc::new(Asked { stream: seat.memory.clone(), address, len }),
                }
            };
            let is_gone = || found.as_ref().map_or_else(|| is_gone(pid), |process| !process.is_there());
            self.attend(&mut stream, nic, &region, &is_gone)
        });
        self.leave(nic, pid);
        ended
    }

    /// Gives a NIC to a process, unless another has it, which is said.
    fn take(&self, nic: usize, process: i32) -> Result<(), i32> {
        let mut taken = lock(&self.seats[nic].taken);
        match *taken {
            Some(other) => Err(other),
            None => {
                *taken = Some(process);
                Ok(())
            }
        }
    }

    /// The first of some NICs that is free. One whose program is gone, or has just closed it,
    /// is waited for: whoever opens it behind another finds it.
    fn take_one_of(&self, nics: Range<usize>, process: i32) -> Result<usize, i32> {
        let begun = Instant::now();
        loop {
            let (mut first, mut any_left) = (None, false);
            for nic in nics.clone() {
                // Before it is asked for: afterwards it may have been cleared.
                let is_left = self.seats[nic].is_left();
                match self.take(nic, process) {
                    Ok(()) => return Ok(nic),
                    Err(other) => first = first.or(Some(other)),
                }
                any_left |= is_left;
            }
            if !any_left || begun.elapsed() > CLEARING {
                return Err(first.unwrap_or(0));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// The process that had a NIC is gone.
    fn leave(&self, nic: usize, process: i32) {
        let seat = &self.seats[nic];
        let before = lock(&seat.counted).clone();
        let before = before.into_iter().chain(std::iter::repeat(0));
        let since = self.counted(nic).into_iter().zip(before).map(|(now, before)| now.wrapping_sub(before));
        let counters = counters().map(|(name, _)| name).zip(since).filter(|&(_, count)| count != 0).collect();
        lock(&self.visits).push(Visit { nic, process, counters });
        lock(&self.names).retain(|&(other, _), _| other != nic);
        self.reset(nic);
        self.nic(nic).1.unmap_all();
        *lock(&seat.counted) = self.counted(nic);
        *lock(&seat.memory) = None;
        let mut taken = lock(&seat.taken);
        *lock(&seat.connection) = None;
        *taken = None;
    }

    /// Does what a program asks for until it goes. Its children may have its connection too,
    /// and live on.
    fn attend(
        &self,
        stream: &mut UnixStream,
        nic: usize,
        region: &dyn Fn(u64, u64) -> Arc<dyn HostRegion>,
        is_gone: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let (device, memory) = self.nic(nic);
        let mut failed: Option<DeviceError> = None;
        loop {
            while poll(&mut [PollFd::new(stream.as_fd(), PollFlags::POLLIN)], SIGN_OF_LIFE) == Ok(0) {
                if is_gone() {
                    return Ok(());
                }
            }
            let Request { kind, a, b, c } = Request::receive(stream)?;
            let done = match kind {
                WRITE => {
                    // Told with the next answer.
                    failed = failed.or(device.write(a, b as u32).err());
                    continue;
                }
                READ => device.read(a),
                MAP => {
                    memory.map_region(b, region(b, c));
                    Ok(0)
                }
                UNMAP => {
                    memory.unmap(b);
                    Ok(0)
                }
                WAIT => device.wait().map(|()| 0),
                ANNOUNCE => {
                    let mut names = lock(&self.names);
                    match u32::try_from(b) {
                        Ok(0) | Err(_) => names.remove(&(nic, a)),
                        Ok(endpoint) => names.insert((nic, a), endpoint),
                    };
                    Ok(0)
                }
                RESOLVE | FIND => {
                    let mut gid = [0; 16];
                    gid[..8].copy_from_slice(&b.to_be_bytes());
                    gid[8..].copy_from_slice(&c.to_be_bytes());
                    self.find(nic, &gid, (kind == FIND).then_some(a)).send(stream)?;
                    continue;
                }
                kind => Err(DeviceError::Gone(format!("{kind} is no request"))),
            };
            let answer = match failed.take().map_or(done, Err) {
                Ok(value) => Answer::ok(value),
                Err(DeviceError::Register { reason, .. }) => Answer::error(REGISTER_FAILED, reason),
                Err(error) => Answer::error(GONE, error),
            };
            answer.send(stream)?;
        }
    }

    fn nic(&self, nic: usize) -> (Arc<dyn Device>, Arc<HostMemory>) {
        let device = self.simulation.device(nic);
        let memory = self.simulation.lock().nic(nic).memory().clone();
        (device, memory)
    }

    /// Who has a GID, and which endpoint a number there stands for: outside, none.
    fn find(&self, asker: usize, gid: &[u8; 16], number: Option<u32>) -> Answer {
        if number.is_none() && cluster::nic_of(gid, self.seats.len()).is_none() {
            // Not with the simulation locked: an answer takes its time.
            let ethernet = self.simulation.lock().ethernet();
            if let Some(mac) = ethernet.and_then(|ethernet| ethernet.resolve(asker, gid)) {
                return Answer { text: mac_text(mac), ..Answer::ok(0) };
            }
        }
        let found = cluster::nic_of(gid, self.seats.len()).and_then(|nic| {
            let endpoint = match number {
                Some(number) => *lock(&self.names).get(&(nic, number))?,
                None => 0,
            };
            Some(Answer { text: mac_text(cluster::addresses(nic).0), ..Answer::ok(endpoint) })
        });
        found.unwrap_or_else(|| Answer::error(UNKNOWN, ""))
    }

    /// What a NIC has counted, in the order of [`counters`]; of a simulation that has
    /// ended, nothing.
    fn counted(&self, nic: usize) -> Vec<u32> {
        let (device, _) = self.nic(nic);
        let read = counters().map(|(_, index)| device.read(regs::counter(index)));
        read.collect::<Result<_, _>>().unwrap_or_default()
    }

    /// What a NIC had to do for a program that is gone, it has not any more.
    fn reset(&self, nic: usize) {
        let (device, _) = self.nic(nic);
        let reset = || -> Result<(), DeviceError> {
            device.write(regs::RESET.offset, 1)?;
            for _ in 0..RESET_WINDOWS {
                if device.read(regs::RESET_STATUS.offset)? & 1 == 0 {
                    break;
                }
                device.wait()?;
            }
            Ok(())
        };
        // A simulation that has ended writes nothing any more.
        let _ = reset();
    }
}
