//! One Verilated NIC and very many peers, each with addresses of its own, that
//! are no NICs: they send messages of one packet and answer those they get.
//!
//! ```text
//!   host ── Device ──> SimNic ── frames ──> peer = destination address ── COMPLETE ─┐
//!                        ^                                                           │ DELAY later
//!                        └── DATA of the next message, when one ends <── frames ─────┘
//! ```
//!
//! What they keep is a number per message in flight, so the run costs the same
//! with any number of peers. The link loses nothing.

use std::collections::{BTreeMap, HashMap};

use tessera_abi::params::CLOCKS_PER_TICK;
use tessera_abi::regs;
use tessera_abi::wire::{self, fb, DataHeader, FeedbackHeader, MessageId, Route, Trh};
use tessera_driver::AddressHandle;

use crate::device::{Shared, Simulation};
use crate::nic::{NicOptions, SimNic};
use crate::verilator::{Model, ModelError};

/// Clocks from a frame's last beat to the answer's first.
const DELAY: u64 = 250;
/// Clocks between two looks of the host; no longer than [`DELAY`].
const WINDOW: u64 = 128;
/// Slots of a peer, so that few peers name as many messages as many do.
const SLOTS: u64 = 4096;

/// MAC and IPv4 address of a peer. A NIC under test is outside 11.0.0.0/8.
pub fn addresses(peer: u32) -> ([u8; 6], [u8; 4]) {
    let [_, a, b, c] = peer.to_be_bytes();
    ([0x02, 0x50, 0x45, a, b, c], [11, a, b, c])
}

/// Endpoint number of a peer, 24 bits: each has one of its own.
pub fn endpoint_of(peer: u32) -> u32 {
    (peer << 8 | 0x17) & 0xFF_FFFF
}

/// What the peers have seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerCounts {
    /// Messages of theirs that the NIC completed.
    pub sent: u64,
    /// Messages of the NIC that were answered.
    pub received: u64,
    /// Answers that sent one of theirs away for now.
    pub busy: u64,
    /// Frames that made no sense to them.
    pub nonsense: u64,
}

/// How the peers behave.
#[derive(Clone, Copy, Debug)]
pub struct PeerOptions {
    /// Peers, at most 65,536.
    pub peers: u32,
    /// Messages that they have in flight towards the NIC, together.
    pub in_flight: usize,
    /// Bytes of each of them; at most 4096, for one packet.
    pub len: u32,
}

/// NIC and peers. See the module's page.
pub struct Peers {
    nic: SimNic,
    clock: u64,
    options: PeerOptions,
    target: Option<AddressHandle>,
    /// Messages begun.
    begun: u64,
    /// Number of each message in flight, by peer and slot.
    open: HashMap<(u32, u16), u64>,
    counts: PeerCounts,
    /// Doorbells of this window, by register: of each the last value counts.
    doorbells: BTreeMap<u32, u32>,
    failed: Option<String>,
}

impl Peers {
    /// A NIC among `options.peers` peers.
    ///
    /// # Errors
    /// If the model is no whole NIC.
    pub fn new(model: &Model, nic: &NicOptions, options: PeerOptions) -> Result<Self, ModelError> {
        let nic = SimNic::new(model, nic)?;
        let (open, counts) = (HashMap::new(), PeerCounts::default());
        let doorbells = BTreeMap::new();
        Ok(Self { nic, clock: 0, options, target: None, begun: 0, open, counts, doorbells, failed: None })
    }

    /// Starts their messages, to this endpoint of the NIC.
    pub fn start(&mut self, target: AddressHandle) {
        self.target = Some(target);
        for _ in 0..self.options.in_flight {
            self.begin(self.clock);
        }
    }

    /// Sends the messages that may be in flight, and none after them.
    pub fn start_once(&mut self, target: AddressHandle) {
        self.start(target);
        self.target = None;
    }

    /// The NIC.
    pub fn nic(&self) -> &SimNic {
        &self.nic
    }

    /// Clocks since reset.
    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// What they have seen.
    pub fn counts(&self) -> PeerCounts {
        self.counts
    }

    /// Peer, slot and generation of a message. No two of 2^28 are alike.
    fn names(&self, number: u64) -> (u32, u16, u32) {
        let peers = u64::from(self.options.peers);
        let round = number / peers;
        ((number % peers) as u32, (round % SLOTS) as u16, (1 + round / SLOTS) as u32)
    }

    fn begin(&mut self, at: u64) {
        let number = self.begun;
        self.begun += 1;
        let (peer, slot, _) = self.names(number);
        self.open.insert((peer, slot), number);
        self.send_data(at, number);
    }

    fn send_data(&mut self, at: u64, number: u64) {
        let Some(target) = self.target else { return };
        let (peer, slot, generation) = self.names(number);
        let header = DataHeader {
            probe: false,
            flags: wire::flag::AR,
            ev: 0,
            payload_log2: 12,
            traffic_class: 0,
            message: MessageId::new(slot, generation),
            index: 0,
            initial_window: 1,
            length: self.options.len,
            tag: number,
            rkey: 0,
            immediate: 0,
            round: 0,
            rtt: 0,
            timestamp: (at / u64::from(CLOCKS_PER_TICK)) as u32,
        };
        let payload = vec![number as u8; self.options.len as usize];
        self.send(
            at,
            peer,
            target.mac,
            target.gid,
            target.endpoint,
            target.qkey,
            &Trh::Data(header),
            &payload,
        );
    }

    #[allow(clippy::too_many_arguments)] // the addresses of one packet
    fn send(
        &mut self,
        at: u64,
        peer: u32,
        dst_mac: [u8; 6],
        dst_gid: [u8; 16],
        dst_endpoint: u32,
        qkey: u32,
        trh: &Trh,
        payload: &[u8],
    ) {
        let (src_mac, address) = addresses(peer);
        let route = Route {
            dst_mac,
            src_mac,
            vlan: None,
            src_gid: wire::ipv4_gid(address),
            dst_gid,
            tos: wire::TOS,
            hop_limit: wire::TTL,
            flow_label: 0,
            sport: wire::SPORT_BASE,
            pkey: wire::DEFAULT_PKEY,
            dst_endpoint,
            psn: 0,
            qkey,
            src_endpoint: endpoint_of(peer),
        };
        let mut frame = vec![0; wire::frame_len(route.form(), trh, payload.len())];
        if wire::emit(&route, trh, payload, &mut frame).is_some() {
            self.nic.receive(at, frame);
        }
    }

    /// Runs one window and lets the peers answer.
    ///
    /// # Errors
    /// If the simulation gives up.
    pub fn advance(&mut self) -> Result<(), ModelError> {
        self.ring(0);
        self.clock += WINDOW;
        self.nic.run(self.clock)?;
        for frame in self.nic.take_sent() {
            self.answer(frame.last + DELAY, &frame.bytes);
        }
        Ok(())
    }

    fn answer(&mut self, at: u64, frame: &[u8]) {
        let Ok(packet) = wire::parse(frame) else {
            self.counts.nonsense += 1;
            return;
        };
        let [.., net, a, b, c] = packet.route.dst_gid;
        let peer = u32::from_be_bytes([0, a, b, c]);
        let right = net == 11 && packet.icrc_ok && packet.route.dst_mac == addresses(peer).0;
        if !right || packet.route.dst_endpoint != endpoint_of(peer) || peer >= self.options.peers {
            self.counts.nonsense += 1;
            return;
        }
        match packet.trh {
            Trh::Data(header) => {
                self.counts.received += u64::from(!header.probe && header.flags & wire::flag::RETX == 0);
                let done = FeedbackHeader {
                    flags: fb::COMPLETE,
                    ev: header.ev,
                    status: 0,
                    message: header.message,
                    cumulative: 1,
                    sequence: 1,
                    grant: 1,
                    duplicates: 0,
                    base: 0,
                    limit: 0,
                    delay: 0,
                    echo: header.timestamp,
                    bitmap: [0xFF; 32],
                };
                let Route { src_mac, src_gid, src_endpoint, qkey, .. } = packet.route;
                self.send(at, peer, src_mac, src_gid, src_endpoint, qkey, &Trh::Feedback(done), &[]);
            }
            // Nobody here runs low on tombstones.
            Trh::Release(_) => self.counts.nonsense += 1,
            Trh::Feedback(header) => {
                let key = (peer, header.message.slot());
                match self.open.get(&key).copied() {
                    Some(number) if header.flags & fb::COMPLETE != 0 => {
                        self.open.remove(&key);
                        self.counts.sent += 1;
                        debug_assert_eq!(self.names(number).2, header.message.generation());
                        if self.target.is_some() {
                            self.begin(at);
                        }
                    }
                    Some(number) if header.flags & fb::BUSY != 0 => {
                        self.counts.busy += 1;
                        self.send_data(at, number);
                    }
                    _ => self.counts.nonsense += 1,
                }
            }
        }
    }
}

impl Simulation for Peers {
    type Error = ModelError;

    fn nic(&mut self, _: usize) -> &mut SimNic {
        &mut self.nic
    }

    /// One write for each doorbell of a window: what a host that posts in batches
    /// does, which one message per access would not.
    fn ring(&mut self, _: usize) {
        for (offset, value) in std::mem::take(&mut self.doorbells) {
            self.nic.write_register(offset, value);
        }
    }

    fn write(&mut self, nic: usize, offset: u32, value: u32) {
        if offset >= regs::doorbell_page(0) {
            self.doorbells.insert(offset, value);
        } else {
            self.ring(nic);
            self.nic.write_register(offset, value);
        }
    }

    fn pass(&mut self) -> Result<(), ModelError> {
        self.advance()
    }

    fn failed(&mut self) -> &mut Option<String> {
        &mut self.failed
    }
}

/// The one NIC, of number 0, and its peers, shared with the host.
pub type SharedPeers = Shared<Peers>;
