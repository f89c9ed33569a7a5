//! A NIC and its host: one input, and all that comes of it.
//!
//! ```text
//!  Input ─(mistake on purpose)─> Nic ─> writes, completions ─> events
//!                                  └──> frames
//! ```
//!
//! A step depends on the node, the time and the input alone, so each is made
//! once. Steps also judge what a NIC must keep to by itself: that a refused packet
//! changes nothing, that the sums of its credit agree.

use std::collections::BTreeMap;

use tessera_abi::queue::{DONE_RECV, DONE_SEND, OP_SEND};
use tessera_abi::status::{Drop, Status};
use tessera_abi::wire::{self, fb, MessageId, Trh};
use tessera_model::settings::SettingsError;
use tessera_model::{Endpoint, Identity, MemoryKey, Nic, ReadError, RecvEntry, SendEntry, Ticks};

use crate::canonical;
use crate::frame::{self, Frame};
use crate::ledger::{Event, Rule};
use crate::scenario::{Fault, Scenario, PAYLOAD_LOG2};

/// A NIC with what its host knows of it.
#[derive(Clone, Debug, Hash)]
pub struct Host {
    nic: Nic,
    /// Which node it is.
    index: usize,
    /// How often it was reset.
    resets: u8,
    /// Its endpoint is there.
    alive: bool,
    /// Generation last sent of each slot, for [`Fault::NoGenerationCheck`].
    latest: BTreeMap<u16, u32>,
}

/// A node as it stands between two steps.
#[derive(Debug)]
pub struct Node {
    /// The NIC.
    pub host: Host,
    /// When its next timer is due.
    pub timer: Option<Ticks>,
    /// Whether all it lent out is back.
    pub idle: bool,
    /// Receives that no message has taken.
    pub receives: usize,
    /// The number of its endpoint.
    pub endpoint: u32,
    /// Its endpoint is there.
    pub alive: bool,
}

/// What happens to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// What is due is done.
    Timers,
    /// A frame of the frame table arrives.
    Frame(u32),
    /// The host sends a message to an endpoint of this number.
    Send(u8, u32),
    /// The host posts a receive of this number.
    Receive(u8),
    /// The host resets the NIC and sets it up again.
    Reset,
    /// The host destroys its endpoint.
    Destroy,
}

/// What came of it.
pub struct Step {
    /// The node as it stands then.
    pub host: Host,
    /// Frames, in the order they leave.
    pub frames: Vec<Frame>,
    /// What others see.
    pub events: Vec<Event>,
    /// What a NIC by itself got wrong.
    pub broken: Option<Rule>,
    /// Drop reasons and statuses that occurred.
    pub reached: Vec<&'static str>,
}

const QKEY: u32 = 0x1111_2222;
const KEY: u32 = 0x5501;
/// Message `m` is read from here on, `m` times the spacing further.
const SENDS: u64 = 0x10_0000;
/// Receive `r` likewise.
const RECEIVES: u64 = 0x20_0000;
const SPACING: u64 = 0x1000;
/// Bytes of a receive.
const ROOM: u32 = 0x800;

fn identity(node: usize) -> Identity {
    Identity {
        mac: [2, 0, 0, 0, 0, node as u8],
        ip: [10, 0, 0, node as u8 + 1],
        ip6: [0; 16],
        vlan: 0,
        pkey: wire::DEFAULT_PKEY,
    }
}

/// Byte `i` of a message: no two packets of a scenario are alike.
fn byte(message: u8, i: u64) -> u8 {
    let mut z =
        (u64::from(message) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ i.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    z ^= z >> 29;
    z.wrapping_mul(0xBF58_476D_1CE4_E5B9) as u8
}

/// The hosts' memory, as NICs read it.
fn memory(address: u64, bytes: &mut [u8]) -> Result<(), ReadError> {
    let message = ((address - SENDS) / SPACING) as u8;
    let start = (address - SENDS) % SPACING;
    bytes.iter_mut().zip(start..).for_each(|(place, i)| *place = byte(message, i));
    Ok(())
}

impl Host {
    /// A node of the scenario, its receives not yet posted.
    pub fn new(scenario: &Scenario, index: usize) -> Result<Self, SettingsError> {
        let nic = Nic::new(&scenario.sizes, identity(index), scenario.settings())?;
        let mut host = Self { nic, index, resets: 0, alive: true, latest: BTreeMap::new() };
        host.set_up(scenario);
        host.set_generations(scenario);
        Ok(host)
    }

    /// The number of its endpoint: another after each reset.
    //= RS-4
    fn endpoint(&self) -> u32 {
        (0x40 + self.index as u32) << 16 | u32::from(self.resets) << 8
    }

    fn contexts(&self) -> usize {
        self.nic.receiver().open_contexts()
    }

    fn set_up(&mut self, scenario: &Scenario) {
        self.nic.set_enabled(true);
        let whole = SPACING << 12;
        self.nic.set_key(MemoryKey {
            key: KEY,
            base: 0,
            length: whole,
            pd: 1,
            local_write: true,
            remote_write: false,
        });
        if matches!(scenario.fault, Some(Fault::OldEndpointNumber | Fault::FreshGenerations)) {
            self.resets = 0;
        }
        let endpoint = Endpoint { tx_quota: scenario.tx_quota, ..Endpoint::new(self.endpoint(), QKEY) };
        self.nic.set_endpoint(endpoint);
    }

    fn set_generations(&mut self, scenario: &Scenario) {
        for slot in 0..1 << scenario.sizes.tx_slots_log2 {
            self.nic.sender_mut().set_generation(slot, scenario.generation);
        }
    }

    fn entry(&self, scenario: &Scenario, message: u8, endpoint: u32) -> SendEntry {
        let sent = scenario.messages[message as usize];
        SendEntry {
            opcode: OP_SEND,
            immediate: None,
            round: None,
            payload_log2: PAYLOAD_LOG2,
            traffic_class: 0,
            length: sent.length,
            address: SENDS + u64::from(message) * SPACING,
            lkey: KEY,
            initial_window: 0,
            host_recovery: false,
            hop_limit: 0,
            vlan: None,
            tag: u64::from(message) + 1,
            rkey: 0,
            qkey: QKEY,
            endpoint,
            mac: identity(sent.to).mac,
            gid: wire::ipv4_gid(identity(sent.to).ip),
        }
    }

    /// The node as others look at it.
    pub fn node(self) -> Node {
        let receiver = self.nic.receiver();
        Node {
            timer: self.nic.poll_timeout(),
            idle: receiver.is_idle() && receiver.tombstones() == 0 && self.nic.sender().is_idle(),
            receives: receiver.posted(0),
            endpoint: self.endpoint(),
            alive: self.alive,
            host: self,
        }
    }

    /// One input at `now`; of a frame its bytes.
    pub fn step(&self, scenario: &Scenario, now: Ticks, input: Input, frame: &[u8]) -> Step {
        let mut step = Step {
            host: self.clone(),
            frames: Vec::new(),
            events: Vec::new(),
            broken: None,
            reached: Vec::new(),
        };
        match input {
            Input::Timers => step.host.nic.handle_timeout(now),
            Input::Frame(_) => self.arrives(scenario, now, frame, &mut step),
            Input::Send(message, endpoint) => {
                let entry = self.entry(scenario, message, endpoint);
                // The endpoint is there: it never goes but in a reset.
                let _ = step.host.nic.post_send(now, self.endpoint(), entry);
            }
            Input::Receive(receive) => {
                let entry = RecvEntry::new(RECEIVES + u64::from(receive) * SPACING, ROOM, KEY);
                let _ = step.host.nic.post_recv(now, self.endpoint(), entry);
            }
            Input::Destroy => {
                step.host.alive = false;
                let _ = step.host.nic.destroy_endpoint(now, self.endpoint());
            }
            Input::Reset => {
                let host = &mut step.host;
                host.nic.reset();
                host.resets += 1;
                host.alive = true;
                host.latest.clear();
                host.set_up(scenario);
                if scenario.fault == Some(Fault::FreshGenerations) {
                    host.set_generations(scenario);
                }
            }
        }
        step.drain(scenario, now);
        let receiver = step.host.nic.receiver();
        if receiver.outstanding() != receiver.outstanding_by_context() {
            step.broken = step.broken.or(Some(Rule::Credit));
        }
        step
    }

    fn arrives(&self, scenario: &Scenario, now: Ticks, bytes: &[u8], step: &mut Step) {
        let Some(bytes) = self.mistaken(scenario.fault, bytes) else { return step.hears(bytes) };
        let result = step.host.nic.handle_frame(now, &bytes);
        if scenario.fault == Some(Fault::NoTombstone) {
            step.host.nic.handle_timeout(now);
        }
        match result {
            Ok(()) => {
                step.hears(&bytes);
            }
            Err(reason) => {
                step.reached.push(reason.name());
                if !self.refuses_rightly(reason, now, &step.host) {
                    step.broken = Some(Rule::Changed);
                }
            }
        }
        if scenario.forges {
            let before = canonical::form(self);
            for forged in frame::forged(&bytes) {
                let mut host = self.clone();
                let refused = host.nic.handle_frame(now, &forged).is_err();
                if !refused || canonical::form(&host) != before {
                    step.broken = Some(Rule::Changed);
                }
            }
        }
    }

    /// What a frame looks like to a node that makes the scenario's mistake.
    fn mistaken(&self, fault: Option<Fault>, bytes: &[u8]) -> Option<Vec<u8>> {
        let Ok(packet) = wire::parse(bytes) else { return Some(bytes.to_vec()) };
        let changed = match (fault, packet.trh) {
            (Some(Fault::NoGenerationCheck), Trh::Feedback(header)) => {
                let slot = header.message.slot();
                let generation = *self.latest.get(&slot)?;
                frame::with_trh(bytes, |trh| {
                    if let Trh::Feedback(header) = trh {
                        header.message = MessageId::new(slot, generation);
                    }
                })?
            }
            (Some(Fault::DeafToBusy), Trh::Feedback(header)) if header.flags & fb::BUSY != 0 => return None,
            (Some(Fault::BusyIsYes), Trh::Feedback(header)) if header.flags & fb::BUSY != 0 => {
                frame::with_trh(bytes, |trh| {
                    if let Trh::Feedback(header) = trh {
                        header.flags &= !fb::BUSY;
                    }
                })?
            }
            _ => bytes.to_vec(),
        };
        Some(changed)
    }

    /// Whether what a refused packet left behind is as it was before, but for an
    /// answer where the reason asks for one.
    fn refuses_rightly(&self, reason: Drop, now: Ticks, after: &Host) -> bool {
        let answered = match reason {
            // A copy is heard, and a newer message ends the one before (RO-4).
            Drop::Duplicate | Drop::RemoteAccess | Drop::NackOverflow => return true,
            Drop::BusyResources if self.contexts() != after.contexts() => return true,
            Drop::BusyResources => true,
            Drop::Finished | Drop::NoContext | Drop::BusyReceive | Drop::BusyConflict | Drop::BusyQuota => {
                true
            }
            // RL-4
            Drop::FeedbackStale => true,
            _ => false,
        };
        if !answered {
            return canonical::form(self) == canonical::form(after);
        }
        let (mut before, mut after) = (self.clone(), after.clone());
        // What stands in the queues of frames leaves; nothing may differ but that.
        for nic in [&mut before.nic, &mut after.nic] {
            while nic.poll_transmit(now, &mut memory).is_some() {}
        }
        canonical::form(&before) == canonical::form(&after)
    }
}

impl Step {
    /// What a frame that was heeded says.
    fn hears(&mut self, bytes: &[u8]) {
        match wire::parse(bytes).map(|packet| packet.trh) {
            Ok(Trh::Feedback(header)) => {
                let flags =
                    [(fb::BUSY, "busy"), (fb::NACK, "nack"), (fb::GRANT, "grant"), (fb::ABORT, "abort")];
                let set = flags.iter().filter(|(bit, _)| header.flags & bit != 0);
                self.reached.extend(set.map(|&(_, name)| name));
                self.events.push(Event::Heard { id: header.message.0, busy: header.flags & fb::BUSY != 0 });
            }
            Ok(Trh::Release(_)) => self.reached.push("release"),
            _ => {}
        }
    }

    /// Takes all that the NIC has to give.
    fn drain(&mut self, scenario: &Scenario, now: Ticks) {
        let Step { host, frames, events, reached, .. } = self;
        // Sending may end messages, which lets others begin.
        loop {
            while let Some(write) = host.nic.poll_write() {
                events.push(wrote(scenario, write.address, &write.bytes));
            }
            while let Some(done) = host.nic.poll_completion() {
                reached.extend(Status::from_code(done.status).map(Status::name));
                let message =
                    (1..=scenario.messages.len() as u64).contains(&done.tag).then(|| done.tag as u8 - 1);
                let status = done.status;
                match done.opcode {
                    DONE_SEND => events.push(Event::Sent { message, status }),
                    DONE_RECV => events.push(Event::Received { entry: done.entry, message, status }),
                    _ => {}
                }
            }
            let Some(bytes) = host.nic.poll_transmit(now, &mut memory) else { break };
            let Ok(packet) = wire::parse(&bytes) else { continue };
            if let Trh::Data(header) = packet.trh {
                let id = header.message;
                host.latest.insert(id.slot(), id.generation());
                events.push(Event::Named { message: (header.tag - 1) as u8, id: id.0 });
            }
            let to = frame::node_of(packet.route.dst_gid);
            frames.push(Frame { to, bytes });
        }
        if scenario.fault != Some(Fault::NoGenerationCheck) {
            host.latest.clear();
        }
    }
}

/// Which packet of which message these bytes are, if they stand where it belongs.
fn wrote(scenario: &Scenario, address: u64, bytes: &[u8]) -> Event {
    let receive = (address.saturating_sub(RECEIVES) / SPACING) as u8;
    let offset = address % SPACING;
    let index = offset >> PAYLOAD_LOG2;
    let is = |message: &u8| {
        let sent = scenario.messages[*message as usize];
        let length = wire::payload_len(sent.length, PAYLOAD_LOG2, index as u32);
        bytes.len() == length as usize
            && bytes.iter().zip(offset..).all(|(&found, i)| found == byte(*message, i))
    };
    let aligned = offset.is_multiple_of(1 << PAYLOAD_LOG2);
    let message = (0..scenario.messages.len() as u8).filter(|_| aligned).find(is);
    Event::Wrote { receive, packet: message.map(|message| (message, index as u8)) }
}
