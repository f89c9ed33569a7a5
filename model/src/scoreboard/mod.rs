//! Judges a run of whole NICs by contract, from what can be seen outside.
//!
//! ```text
//!  frames in, out ──┐                ┌─ outbound: what a NIC sends, ends, retransmits
//!  posts ───────────┼─> Scoreboard ──┤
//!  payload writes ──┤   one per run  ├─ inbound: what it places, answers, asks for, grants
//!  completions ─────┘                └─ paths: which way
//! ```
//!
//! The scoreboard follows the NIC: where the specification leaves a choice
//! (slot, generation, order of slots, moment within a tolerance) it takes the
//! NIC's and checks that it was legal; where the specification decides, it
//! demands that. What is compared, and how far times and order may differ, is
//! written down in `docs/verification.md`.
//!
//! Feed events in the order of their clocks; at equal clocks arrivals first.

mod datagrams;
mod fault;
mod inbound;
mod outbound;
mod paths;

use std::collections::{BTreeMap, BTreeSet};

use tessera_abi::params::{Config, CLOCKS_PER_TICK};
use tessera_abi::queue::{COMPLETION_LEN, DONE_CANCEL, DONE_POSTED, DONE_RECV, DONE_SEND, DONE_UNEXPECTED};
use tessera_abi::wire::{self, flag, DataHeader, MessageId, Trh};

use crate::chunks::{self, Area};
use crate::path_scheduler::PacketKind;
use crate::queue::{Completion, RecvEntry, SendEntry};
use crate::rx_parse::{self, Inbound as Judged};
use crate::settings::{Endpoint, Identity, MemoryKey, Settings};
use crate::Ticks;
use datagrams::Datagrams;
pub use fault::{Fault, Violation};
use inbound::Receiving;
use outbound::Sending;
use paths::Paths;

/// How a NIC under observation is set up.
#[derive(Clone, Debug)]
pub struct NicSetup {
    /// Sizes.
    pub config: Config,
    /// Addresses.
    pub identity: Identity,
    /// Registers.
    pub settings: Settings,
    /// Endpoints.
    pub endpoints: Vec<Endpoint>,
    /// Memory keys there from the beginning; later ones are events.
    pub keys: Vec<MemoryKey>,
    /// Places of path policy `weighted`, from the first on; the rest are 0.
    pub places: Vec<u8>,
    /// The NIC's time in clocks when the run's clock is 0 (TIME * 16).
    pub time_at_zero: u64,
}

/// How far a NIC may lag behind the rules, ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// Last beat of a frame in to last beat of what it causes on the wire.
    pub pipeline: u32,
    /// Anything that waits for host memory: payload writes, completions, reads.
    pub host: u32,
    /// A timer after (or, by estimates that differ, before) its rule; a quarter
    /// of the rule's interval is allowed on top.
    pub timer: u32,
    /// Timestamps against the clock they were seen at.
    pub stamp: u32,
    /// Frames may be dropped as `overflow`, which the scoreboard does not see: what
    /// they should have caused is then not demanded.
    pub overflow: bool,
    /// Host memory may fail: `local_dma` and `remote_dma` are legal.
    pub dma_faults: bool,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { pipeline: 96, host: 256, timer: 32, stamp: 32, overflow: false, dma_faults: false }
    }
}

/// Something seen at a NIC.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A frame's last beat entered.
    Received(&'a [u8]),
    /// A frame's last beat left.
    Sent(&'a [u8]),
    /// A send entry was posted; `payload` is its buffer at that time.
    PostedSend {
        /// Endpoint number.
        endpoint: u32,
        /// Running index.
        index: u16,
        /// The entry.
        entry: &'a SendEntry,
        /// Its bytes.
        payload: &'a [u8],
    },
    /// A receive entry was posted.
    PostedRecv {
        /// Endpoint number, or the table index of a shared ring.
        endpoint: u32,
        /// Running index.
        index: u16,
        /// The entry.
        entry: &'a RecvEntry,
    },
    /// A round was registered.
    Registered {
        /// Endpoint number.
        endpoint: u32,
        /// Round id.
        round: u16,
        /// Messages it needs.
        messages: u16,
    },
    /// An endpoint's table entry was written; `None` takes it away.
    Endpoint {
        /// Table index.
        index: u16,
        /// The endpoint.
        endpoint: Option<&'a Endpoint>,
    },
    /// The host gave an order for a host-recovered message.
    Ordered {
        /// RECOVER_MESSAGE.
        handle: u32,
        /// RECOVER_ORDER.
        order: u32,
    },
    /// A memory key's table entry was written; `None` revokes it.
    Key {
        /// Table index: the key's low eight bits.
        index: u8,
        /// The key.
        key: Option<&'a MemoryKey>,
    },
    /// RESET was written: what has begun ends, and nothing is demanded any more.
    Resetting,
    /// The reset is over: the NIC knows nothing but its generations. It is set up
    /// again with the settings it had.
    Reset,
    /// A payload write became visible.
    Wrote {
        /// First address.
        address: u64,
        /// Bytes.
        bytes: &'a [u8],
    },
    /// A completion entry became visible.
    Completed(&'a [u8; COMPLETION_LEN]),
}

/// What a run amounted to; a clean run also has to have done something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Frames judged, in and out.
    pub frames: u64,
    /// Payload writes matched with a packet.
    pub writes: u64,
    /// Completions matched with an entry.
    pub completions: u64,
    /// Feedback packets judged.
    pub feedbacks: u64,
    /// Retransmissions matched with a NACK.
    pub retransmissions: u64,
    /// Violations.
    pub violations: u64,
}

/// Common to both halves: set-up, clock, and where violations go.
struct Bench {
    nic: usize,
    setup: NicSetup,
    tolerance: Tolerance,
    clock: u64,
    summary: Summary,
    violations: Vec<Violation>,
}

impl Bench {
    fn tick_at(&self, clock: u64) -> Ticks {
        (self.setup.time_at_zero + clock) / CLOCKS_PER_TICK as u64
    }
    fn now(&self) -> Ticks {
        self.tick_at(self.clock)
    }
    /// Of this NIC: [`chunks::area_of`].
    fn area_of(&self, entry: &RecvEntry, opener: &DataHeader) -> Option<Area> {
        chunks::area_of(entry, opener, self.setup.config.host_recovery)
    }
    /// Of this NIC: [`chunks::too_short`].
    fn too_short(&self, entry: &RecvEntry, opener: &DataHeader) -> bool {
        chunks::too_short(entry, opener, self.setup.config.host_recovery)
    }
    fn fault(&mut self, message: Option<MessageId>, rule: &'static str, fault: Fault) {
        self.summary.violations += 1;
        self.violations.push(Violation { clock: self.clock, nic: self.nic, message, rule, fault });
    }
    fn field(&mut self, message: MessageId, rule: &'static str, field: &'static str, got: u64, want: u64) {
        if got != want {
            self.fault(Some(message), rule, Fault::Field { field, got, want });
        }
    }
    /// `ticks` of tolerance in clocks.
    fn clocks(ticks: u32) -> u64 {
        ticks as u64 * CLOCKS_PER_TICK as u64
    }
}

struct Side {
    bench: Bench,
    sending: Sending,
    receiving: Receiving,
    datagrams: Datagrams,
    paths: Paths,
    resetting: bool,
}

/// The scoreboard of one run.
pub struct Scoreboard {
    sides: Vec<Side>,
}

impl Scoreboard {
    /// A scoreboard for NICs that start idle.
    pub fn new(setups: Vec<NicSetup>, tolerance: Tolerance) -> Self {
        let taken = |mut setup: NicSetup| {
            setup.settings = setup.settings.as_taken_by(&setup.config);
            setup.endpoints.iter_mut().for_each(|endpoint| *endpoint = endpoint.as_taken_by(&setup.config));
            setup
        };
        let side = |(nic, setup): (usize, NicSetup)| Side {
            sending: Sending::default(),
            receiving: Receiving::new(&setup.settings, &setup.keys),
            datagrams: Datagrams::default(),
            paths: Paths::new(&setup.settings, &setup.places),
            resetting: false,
            bench: Bench {
                nic,
                setup,
                tolerance,
                clock: 0,
                summary: Summary::default(),
                violations: Vec::new(),
            },
        };
        Self { sides: setups.into_iter().map(taken).enumerate().map(side).collect() }
    }

    /// Tells what was seen at `nic` in clock `clock`. Events of a NIC this
    /// scoreboard was not made for are ignored.
    pub fn observe(&mut self, clock: u64, nic: usize, event: Event<'_>) {
        let Some(side) = self.sides.get_mut(nic) else { return };
        side.advance(clock);
        let Side { bench, sending, receiving, datagrams, paths, resetting } = side;
        match event {
            Event::Received(frame) => {
                bench.summary.frames += 1;
                let endpoints = &bench.setup.endpoints;
                let find = |index: u16| endpoints.iter().find(|e| e.index() == index).copied();
                match rx_parse::judge(frame, &bench.setup.config, &bench.setup.identity, find) {
                    Ok(Judged::Data(origin, header, payload)) => {
                        receiving.arrived(bench, &origin, &header, payload);
                    }
                    Ok(Judged::Feedback(origin, header)) => sending.heard(bench, paths, &origin, &header),
                    Ok(Judged::Release(origin, header)) => receiving.released(bench, &origin, header.message),
                    Ok(Judged::Datagram(origin, datagram)) => datagrams.arrived(bench, &origin, &datagram),
                    Err(_) => {}
                }
            }
            Event::Sent(frame) => {
                bench.summary.frames += 1;
                let Some(datagram) = wire::parse_datagram(frame) else {
                    bench.fault(None, "RX-3", Fault::NotRm(frame.len()));
                    return;
                };
                if Datagrams::endpoint(bench, datagram.route.src_endpoint).is_some() {
                    let (route, none) = (&datagram.route, MessageId(0));
                    routed(bench, none, frame, route, datagram.icrc_ok);
                    paths.sent(bench, none, route.dst_gid, PacketKind::Feedback, route.sport as u8);
                    datagrams.sent(bench, &datagram);
                    return;
                }
                let Ok(packet) = wire::parse(frame) else {
                    bench.fault(None, "RX-3", Fault::NotRm(frame.len()));
                    return;
                };
                let message = match &packet.trh {
                    Trh::Data(header) => header.message,
                    Trh::Feedback(header) => header.message,
                    Trh::Release(header) => header.message,
                };
                let route = &packet.route;
                routed(bench, message, frame, route, packet.icrc_ok);
                //= TX-16
                let length = match &packet.trh {
                    Trh::Data(header) => Some(header.length),
                    Trh::Feedback(_) | Trh::Release(_) => None,
                };
                let tos = bench.setup.settings.tos(length);
                bench.field(message, "TX-16", "TOS", route.tos as u64, tos as u64);
                bench.field(message, "§2", "hop limit", route.hop_limit as u64, wire::TTL as u64);
                let kind = match &packet.trh {
                    Trh::Feedback(_) | Trh::Release(_) => PacketKind::Feedback,
                    Trh::Data(header) if header.probe => PacketKind::Probe,
                    Trh::Data(header) if header.flags & flag::RETX != 0 => PacketKind::Retransmission,
                    Trh::Data(_) => PacketKind::New,
                };
                let asks = paths.sent(bench, message, route.dst_gid, kind, route.sport as u8);
                match &packet.trh {
                    Trh::Release(header) => {
                        stamped(bench, message, route, header.ev, header.timestamp);
                        sending.released(bench, route, message);
                    }
                    Trh::Data(header) => {
                        stamped(bench, message, route, header.ev, header.timestamp);
                        sending.sent(bench, route, header, packet.payload, asks);
                    }
                    Trh::Feedback(header) => {
                        bench.summary.feedbacks += 1;
                        receiving.answered(bench, route, header);
                    }
                }
            }
            Event::PostedSend { endpoint, index, entry, payload } => {
                let entry = &entry.as_taken_by(&bench.setup.config);
                match Datagrams::endpoint(bench, endpoint) {
                    Some(local) => datagrams.posted_send(local, index, entry, payload),
                    None => sending.posted(bench, endpoint, index, entry, payload),
                }
            }
            Event::PostedRecv { endpoint, index, entry } => match Datagrams::endpoint(bench, endpoint) {
                Some(local) => datagrams.posted_recv(bench, local, index, entry),
                None => receiving.posted(bench, endpoint, index, entry),
            },
            Event::Resetting => *resetting = true,
            //= RS-1
            Event::Reset => {
                *resetting = false;
                sending.reset();
                *receiving = Receiving::new(&bench.setup.settings, &[]);
                *datagrams = Datagrams::default();
                *paths = Paths::new(&bench.setup.settings, &[]);
                bench.setup.endpoints.clear();
                bench.setup.keys.clear();
            }
            Event::Wrote { address, bytes } => {
                if !datagrams.wrote(bench, address, bytes) {
                    receiving.wrote(bench, address, bytes);
                }
            }
            Event::Registered { endpoint, round, messages } => {
                receiving.registered(bench, ((endpoint & 0xFF) as u8, round), messages);
            }
            Event::Ordered { handle, order } => receiving.ordered(bench, handle, order),
            Event::Endpoint { index, endpoint } => {
                bench.setup.endpoints.retain(|known| known.index() != index);
                let sizes = bench.setup.config;
                bench.setup.endpoints.extend(endpoint.map(|endpoint| endpoint.as_taken_by(&sizes)));
            }
            Event::Key { index, key } => {
                bench.setup.keys.retain(|known| known.key & 0xFF != u32::from(index));
                bench.setup.keys.extend(key);
                receiving.key(bench, index, key.copied());
            }
            Event::Completed(entry) => {
                let done = Completion::parse(entry);
                bench.summary.completions += 1;
                match done.opcode {
                    DONE_SEND | DONE_RECV if datagrams.completed(bench, &done, done.opcode == DONE_RECV) => {}
                    DONE_SEND => sending.completed(bench, &done),
                    DONE_RECV => receiving.completed(bench, &done),
                    DONE_POSTED => receiving.in_place(bench, &done),
                    DONE_UNEXPECTED => receiving.unexpected(bench, &done),
                    DONE_CANCEL => receiving.cancelled(bench, &done),
                    other => {
                        let fault =
                            Fault::Field { field: "opcode", got: other as u64, want: DONE_SEND as u64 };
                        bench.fault(Some(done.message), "§1", fault);
                    }
                }
            }
        }
    }

    /// Violations so far, of all NICs, by clock.
    pub fn violations(&self) -> Vec<Violation> {
        let mut all: Vec<_> = self.sides.iter().flat_map(|side| side.bench.violations.clone()).collect();
        all.sort_by_key(|violation| violation.clock);
        all
    }

    /// Ends the run at `clock`: everything posted must have ended.
    pub fn finish(mut self, clock: u64) -> (Summary, Vec<Violation>) {
        let mut total = Summary::default();
        for side in &mut self.sides {
            side.advance(clock);
            side.sending.finish(&mut side.bench);
            side.receiving.finish(&mut side.bench);
            side.datagrams.finish(&mut side.bench);
            let summary = side.bench.summary;
            total.frames += summary.frames;
            total.writes += summary.writes;
            total.completions += summary.completions;
            total.feedbacks += summary.feedbacks;
            total.retransmissions += summary.retransmissions;
            total.violations += summary.violations;
        }
        (total, self.violations())
    }
}

/// What every frame that leaves has in common.
fn routed(bench: &mut Bench, message: MessageId, frame: &[u8], route: &wire::Route, icrc_ok: bool) {
    if !icrc_ok {
        bench.fault(Some(message), "RX-2", Fault::Icrc);
    }
    let mac = |bytes: [u8; 6]| bytes.iter().fold(0u64, |word, &byte| word << 8 | byte as u64);
    let identity = bench.setup.identity;
    bench.field(message, "§2", "source MAC", mac(route.src_mac), mac(identity.mac));
    let source = identity.gid_towards(&route.dst_gid);
    bench.field(message, "§2", "source GID", (route.src_gid == source).into(), 1);
    bench.field(message, "RX-4", "P_Key", route.pkey as u64, identity.pkey as u64);
    let form = route.form();
    if form.v6 {
        bench.field(message, "§6", "flow label", route.flow_label as u64, route.sport as u64);
    } else if wire::ipv4_checksum(&frame[form.ip_at()..form.udp_at()]) != 0 {
        let fault = Fault::Field { field: "IPv4 checksum", got: 1, want: 0 };
        bench.fault(Some(message), "§2", fault);
    }
    let high = (route.sport & 0xFF00) as u64;
    bench.field(message, "§6", "UDP source port", high, wire::SPORT_BASE as u64);
}

/// What a packet says of its path and time.
fn stamped(bench: &mut Bench, message: MessageId, route: &wire::Route, ev: u8, timestamp: u32) {
    bench.field(message, "§6", "EV", ev as u64, (route.sport & 0xFF) as u64);
    let late = (bench.now() as u32).wrapping_sub(timestamp) as i32;
    if late < -1 || late > bench.tolerance.stamp as i32 {
        let want = bench.now() as u32 as u64;
        let fault = Fault::Field { field: "timestamp", got: timestamp as u64, want };
        bench.fault(Some(message), "§2", fault);
    }
}

impl Side {
    fn advance(&mut self, clock: u64) {
        // Duties fall due in between: judge each at its own clock. A NIC that is
        // being reset has none.
        while let Some(due) = [self.sending.due(), self.receiving.due(&self.bench)]
            .into_iter()
            .flatten()
            .min()
            .filter(|_| !self.resetting)
        {
            if due >= clock {
                break;
            }
            self.bench.clock = self.bench.clock.max(due);
            self.sending.overdue(&mut self.bench);
            self.receiving.overdue(&mut self.bench);
        }
        self.bench.clock = self.bench.clock.max(clock);
    }
}

/// Duties by the clock they must be done by.
#[derive(Clone, Debug)]
struct Duties<D> {
    by_clock: BTreeSet<(u64, u64)>,
    duties: BTreeMap<u64, D>,
    serial: u64,
}

impl<D> Default for Duties<D> {
    fn default() -> Self {
        Self { by_clock: BTreeSet::new(), duties: BTreeMap::new(), serial: 0 }
    }
}

impl<D> Duties<D> {
    fn add(&mut self, due: u64, duty: D) {
        self.serial += 1;
        self.by_clock.insert((due, self.serial));
        self.duties.insert(self.serial, duty);
    }
    fn due(&self) -> Option<u64> {
        self.by_clock.first().map(|&(due, _)| due)
    }
    fn pop(&mut self, clock: u64) -> Option<D> {
        let &(due, serial) = self.by_clock.first()?;
        if due > clock {
            return None;
        }
        self.by_clock.pop_first();
        self.duties.remove(&serial)
    }
}
