//! A session whose every observable event goes to the scoreboard of crate
//! `model`: what `tessera soak` runs on.
//!
//! ```text
//!        soak ── send, recv, poll ──> Judged ──> Session ──> NICs on a fabric
//!                                        └ posts, frames, payload writes, completions ──> Scoreboard
//! ```
//!
//! docs/verification.md says what is compared, and how far times may differ.

use std::ops::Range;

use tessera_abi::params::Config;
use tessera_abi::queue::OP_SEND;
use tessera_abi::regs::{self, Counter, Reg};
use tessera_abi::status::Drop as DropReason;
use tessera_driver::MemoryRegion;
use tessera_model::queue::{RecvEntry, SendEntry};
use tessera_model::scoreboard::{Event, NicSetup, Scoreboard, Summary, Tolerance, Violation};
use tessera_model::settings::{Endpoint, Identity, PathPolicy, Settings};

use crate::cluster::{addresses, ip6, Cluster, ClusterError, SharedCluster};
use crate::fabric::FabricOptions;
use crate::nic::{DmaClass, NicEvent, NicOptions};
use crate::session::{nic_seed, Arrived, Session, SessionError};
use crate::verilator::Model;

/// Windows until a finished NIC must have given everything back: timers that
/// are linked keep their context until they pop.
const RETURN_WINDOWS: usize = 2000;

/// What stops a judged run that is not a violation.
#[derive(Debug, thiserror::Error)]
pub enum JudgedError {
    /// The NICs do not run.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A request failed or nothing moves any more.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Registers that make a NIC behave as `settings` say, seed apart.
pub fn registers(settings: &Settings) -> Vec<(Reg, u32)> {
    let policy = match settings.path_policy {
        PathPolicy::Single => 0,
        PathPolicy::RoundRobin => 1,
        PathPolicy::Random => 2,
        PathPolicy::Recycle => 3,
        PathPolicy::Weighted => 4,
    };
    vec![
        (regs::PATH_POLICY, policy),
        (regs::PATH_COUNT, settings.path_count),
        (regs::PATH_BASE, settings.path_base.into()),
        (regs::GAP0, settings.gap0),
        (regs::SKEW0, settings.skew0),
        (regs::SKEW_MAX, settings.skew_max),
        (regs::GUARD, settings.guard),
        (regs::D_MIN, settings.d_min),
        (regs::RTT_DEFAULT, settings.rtt_default),
        (regs::RTO, settings.rto),
        (regs::MAX_RETRY, settings.max_retry),
        (regs::T_OPEN, settings.t_open),
        (regs::GRANT_WAIT, settings.grant_wait),
        (regs::RX_GIVE_UP, settings.rx_give_up),
        (regs::TIME_WAIT, settings.time_wait),
        (regs::MPL, settings.mpl),
        (regs::RELEASE_LOW, settings.release_low),
        (regs::BUSY_WAIT, settings.busy_wait),
        (regs::ANSWER0, settings.answer0),
        (regs::LD_POLICY, settings.ld_policy),
        (regs::LD_FIXED, settings.ld_fixed),
        (regs::RTO_ROUND, settings.rto_round),
        (regs::NACK_BURST, settings.nack_burst),
        (regs::ACK_EVERY, settings.ack_every),
        (regs::INITIAL_WINDOW, settings.initial_window),
        (regs::UNSOLICITED_LIMIT, settings.unsolicited_limit),
        (regs::CREDIT_LIMIT, settings.credit_limit),
        (regs::GRANT_QUANTUM, settings.grant_quantum),
        (regs::CREDIT_POLICY, settings.credit_policy),
        (regs::CREDIT_DELAY, settings.credit_delay),
    ]
}

/// How a judged run is set up.
#[derive(Clone, Debug)]
pub struct JudgedOptions {
    /// NICs.
    pub nics: usize,
    /// The fabric between them.
    pub fabric: FabricOptions,
    /// What surrounds each.
    pub nic: NicOptions,
    /// Registers of all; each has a seed of its own.
    pub settings: Settings,
    /// Frames of the messages: IPv6 (else IPv4).
    pub v6: bool,
    /// Their VLAN tag.
    pub vlan: Option<u16>,
    /// How far they may lag behind the rules.
    pub tolerance: Tolerance,
    /// Seed of the run.
    pub seed: u64,
}

/// See the module's page.
pub struct Judged {
    /// The hosts.
    pub session: Session,
    config: Config,
    board: Scoreboard,
    sends: Vec<u16>,
    recvs: Vec<u16>,
    /// Posts of the present window, to be told after its arrivals.
    posts: Vec<(u64, usize, Post)>,
}

enum Post {
    Send(u16, SendEntry, Vec<u8>),
    Recv(u16, RecvEntry),
    /// A round's id and the messages it needs.
    Round(u16, u16),
}

impl Judged {
    /// NICs of `model`, which was made of `config`, each with one endpoint.
    ///
    /// # Errors
    /// If they do not come up.
    pub fn open(model: &Model, config: &Config, options: JudgedOptions) -> Result<Self, JudgedError> {
        let JudgedOptions { nics, fabric, nic, settings, v6, vlan, tolerance, seed } = options;
        let mut cluster = Cluster::new(model, nics, &nic, fabric)?;
        for nic in 0..nics {
            cluster.nic_mut(nic).observe();
        }
        let registers = registers(&settings);
        let mut session = Session::open(SharedCluster::new(cluster), nics, seed, 1 << 12, &registers)?;
        session.speak(v6, vlan)?;
        let setup = |nic: usize| {
            let (mac, ip) = addresses(nic);
            let address = session.address(nic);
            NicSetup {
                config: *config,
                identity: Identity {
                    mac,
                    ip,
                    ip6: ip6(nic),
                    vlan: vlan.unwrap_or(0),
                    pkey: tessera_abi::wire::DEFAULT_PKEY,
                },
                settings: Settings { seed: nic_seed(seed, nic), ..settings },
                endpoints: vec![Endpoint::new(address.endpoint, address.qkey)],
                keys: Vec::new(),
                places: Vec::new(),
                time_at_zero: 0,
            }
        };
        let board = Scoreboard::new((0..nics).map(setup).collect(), tolerance);
        let (sends, recvs) = (vec![0; nics], vec![0; nics]);
        Ok(Self { session, config: *config, board, sends, recvs, posts: Vec::new() })
    }

    /// Posts a send in packets of `1 << payload_log2` bytes, maybe as part of a
    /// round of the receiver's; see [`Session::send_in_round`].
    ///
    /// # Errors
    /// If the driver refuses it.
    pub fn send(
        &mut self,
        region: &MemoryRegion,
        range: Range<usize>,
        (payload_log2, round): (u8, Option<u16>),
        what: (u8, usize, usize, usize),
    ) -> Result<(), SessionError> {
        let (phase, from, to, number) = what;
        let peer = self.session.address(to);
        let entry = SendEntry {
            opcode: OP_SEND,
            immediate: None,
            round,
            payload_log2,
            traffic_class: 0,
            length: range.len() as u32,
            address: region.address() + range.start as u64,
            lkey: region.lkey(),
            initial_window: 0,
            tag: crate::session::tag(phase, from, to, number),
            rkey: 0,
            qkey: peer.qkey,
            endpoint: peer.endpoint,
            mac: peer.mac,
            gid: peer.gid,
            hop_limit: 0,
            vlan: peer.vlan,
        };
        let payload = region.memory().to_vec(range.start, range.len());
        self.posts.push((self.session.clock(), from, Post::Send(self.sends[from], entry, payload)));
        self.sends[from] = self.sends[from].wrapping_add(1);
        self.session.set_payload_size(1 << payload_log2);
        self.session.send_in_round(region, range, what, round)
    }

    /// Registers a round of a NIC's endpoint that ends with so many messages.
    ///
    /// # Errors
    /// If the driver refuses it.
    pub fn register_round(&mut self, nic: usize, id: u16, messages: u16) -> Result<(), SessionError> {
        self.posts.push((self.session.clock(), nic, Post::Round(id, messages)));
        self.session.register_round(nic, id, messages)
    }

    /// Posts a receive.
    ///
    /// # Errors
    /// If the driver refuses it.
    pub fn recv(
        &mut self,
        nic: usize,
        region: &MemoryRegion,
        range: Range<usize>,
        id: u64,
    ) -> Result<(), SessionError> {
        let address = region.address() + range.start as u64;
        let entry = RecvEntry::new(address, range.len() as u32, region.lkey());
        self.posts.push((self.session.clock(), nic, Post::Recv(self.recvs[nic], entry)));
        self.recvs[nic] = self.recvs[nic].wrapping_add(1);
        self.session.recv(nic, region, range, id)
    }

    /// Takes what has completed, or lets one window pass; judges it.
    ///
    /// # Errors
    /// As [`Session::poll`].
    pub fn poll(&mut self) -> Result<Vec<Arrived>, SessionError> {
        let arrived = self.session.poll();
        self.judge();
        arrived
    }

    /// Lets windows pass without looking at completions, and judges them.
    ///
    /// # Errors
    /// If the device fails.
    pub fn pause(&mut self, windows: usize) -> Result<(), SessionError> {
        for _ in 0..windows {
            self.session.hosts[0].context.wait()?;
            self.judge();
        }
        Ok(())
    }

    /// Tells the scoreboard what was seen since the last call, in order.
    pub fn judge(&mut self) {
        let observed = self.session.cluster.lock().take_events();
        for (nic, events) in observed {
            let endpoint = self.session.address(nic).endpoint;
            let mut posts = self.posts.iter().filter(|(_, of, _)| *of == nic).peekable();
            let mut tell_posts = |board: &mut Scoreboard, until: u64| {
                while let Some((clock, _, post)) = posts.next_if(|(clock, ..)| *clock < until) {
                    match post {
                        Post::Send(index, entry, payload) => {
                            board.observe(
                                *clock,
                                nic,
                                Event::PostedSend { endpoint, index: *index, entry, payload },
                            );
                        }
                        Post::Recv(index, entry) => {
                            board.observe(*clock, nic, Event::PostedRecv { endpoint, index: *index, entry });
                        }
                        &Post::Round(round, messages) => {
                            board.observe(*clock, nic, Event::Registered { endpoint, round, messages });
                        }
                    }
                }
            };
            for event in &events {
                let clock = match event {
                    NicEvent::Received { at, .. } => *at,
                    NicEvent::Sent(frame) => frame.last,
                    NicEvent::Read(read) => read.at,
                    NicEvent::Wrote(write) => write.at,
                };
                tell_posts(&mut self.board, clock);
                match event {
                    NicEvent::Received { bytes, .. } => {
                        self.board.observe(clock, nic, Event::Received(bytes))
                    }
                    NicEvent::Sent(frame) => self.board.observe(clock, nic, Event::Sent(&frame.bytes)),
                    NicEvent::Read(_) => {}
                    NicEvent::Wrote(write) if write.class == DmaClass::Data => {
                        let (address, bytes) = (write.address, &write.bytes[..]);
                        self.board.observe(clock, nic, Event::Wrote { address, bytes });
                    }
                    NicEvent::Wrote(write) => {
                        // A NIC that writes anything else has broken its descriptor.
                        if let Ok(entry) = write.bytes[..].try_into() {
                            self.board.observe(clock, nic, Event::Completed(entry));
                        }
                    }
                }
            }
            tell_posts(&mut self.board, u64::MAX);
        }
        self.posts.clear();
    }

    /// Violations so far.
    pub fn violations(&self) -> Vec<Violation> {
        self.board.violations()
    }

    /// What a NIC of a run that has ended keeps though it should not.
    ///
    /// # Errors
    /// If a register cannot be read.
    pub fn kept(&mut self) -> Result<Vec<String>, SessionError> {
        let mut kept = Vec::new();
        let (slots, contexts) = (1 << self.config.tx_slots_log2, 1 << self.config.rx_contexts_log2);
        let wanted = [
            (regs::FREE_SLOTS, slots),
            (regs::FREE_CONTEXTS, contexts),
            (regs::OUTSTANDING, 0),
            (regs::UNSOLICITED, 0),
        ];
        for nic in 0..self.session.nics() {
            let context = self.session.hosts[nic].context.clone();
            for (reg, value) in wanted {
                let mut got = context.read(reg)?;
                for _ in 0..RETURN_WINDOWS {
                    if got == value {
                        break;
                    }
                    self.pause(1)?;
                    got = context.read(reg)?;
                }
                if got != value {
                    kept.push(format!("NIC {nic}: {} reads {got} and not {value}", reg.name));
                }
            }
            let nonsense = context.dropped(DropReason::FeedbackNonsense)?;
            let overrun = context.counter(Counter::CqOverrun)?;
            let faults = self.session.cluster.lock().nics()[nic].dma_faults();
            for (what, count) in [
                ("feedbacks that make no sense", u64::from(nonsense)),
                ("completions lost", u64::from(overrun)),
                ("DMA accesses outside mapped memory", faults),
            ] {
                if count > 0 {
                    kept.push(format!("NIC {nic}: {count} {what}"));
                }
            }
        }
        Ok(kept)
    }

    /// Ends the run: everything posted must have ended.
    pub fn finish(self) -> (Summary, Vec<Violation>) {
        self.board.finish(self.session.clock())
    }
}
