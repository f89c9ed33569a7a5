//! A network at work: events, hosts, switches.
//!
//! ```text
//!   host: transport ─pull─> port ══ link ══> switch: admit ─> queue ─> port ══> ... ─> host
//!              ▲                              buffer, ECN,     control first, then
//!              └ receive, expire              trimming, PFC    payload by class
//! ```
//!
//! A packet is in a switch when its last byte has come in (store and forward) and
//! leaves at the rate of the port. It counts for the switch's buffer until its
//! first byte leaves. A link adds its delay, and loses what is sent while it is down.
//!
//! Costs: an event per packet and hop, two where it had to wait. 32 bytes per packet
//! under way and its header, 120 bytes per port.

mod make;
mod port;
mod switch;

pub use make::{Counts, Make, MakeError};

use std::collections::VecDeque;

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::fabric::{Faults, Latency, Rate, Switching};
use crate::topology::Topology;
use crate::traffic::{Act, Traffic};
use crate::transport::{Arrived, Done, End, Message, Tally, Transport, CONTROL, FRAMING, QUEUES};
use crate::wheel::Wheel;
use crate::Ps;

/// No packet.
const NONE: u32 = u32::MAX;
/// Bytes of a packet whose payload a switch has cut off.
const TRIMMED: u32 = 64 + FRAMING;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A packet is whole at the other end of its link.
    Arrive(u32),
    /// A port has sent what it was sending, and more waits.
    Free(u32),
    /// A host's transport is due.
    Expire(u32),
    /// The traffic's next act is due.
    Act,
    /// The message posted longest ago has come to its host's transport.
    Post,
    /// The end told longest ago has come to its host.
    Tell,
    /// A fault of the list.
    Fault(u32),
    /// A fault is known to the switches.
    Known(u32),
    /// A port may not send payload.
    Pause(u32),
    /// It may again.
    Resume(u32),
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    to: u32,
    from: u32,
    bytes: u32,
    label: u32,
    /// Behind it in its queue.
    next: u32,
    /// Port it comes in by.
    port: u32,
    class: u8,
    payload: bool,
    trimmable: bool,
    trimmed: bool,
    ce: bool,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    head: u32,
    tail: u32,
    bytes: u32,
}

const EMPTY: Queue = Queue { head: NONE, tail: NONE, bytes: 0 };

#[derive(Clone, Copy, Debug)]
struct Port {
    queues: [Queue; 1 + QUEUES as usize],
    busy: Ps,
    delay: Ps,
    rate: Rate,
    /// Node it is of.
    node: u32,
    /// Bytes in the switch that came in by it.
    held: u32,
    /// A [`Event::Free`] is under way.
    waking: bool,
    paused: bool,
    /// It has told the other end to stop.
    pausing: bool,
    up: bool,
}

/// See the module's page.
pub struct Network<T: Transport> {
    topology: Topology,
    switching: Switching,
    faults: Faults,
    hosts: Vec<T>,
    /// When each host's transport has been told it is called.
    alarms: Vec<Ps>,
    /// When the traffic has been told it is called.
    act_at: Ps,
    latency: Latency,
    /// Messages on their way into transports, ends on their way out.
    posts: VecDeque<Message>,
    tells: VecDeque<Done>,
    ports: Vec<Port>,
    /// Bytes in each switch.
    used: Vec<u64>,
    /// Bytes that came in by a port at which it is paused, per switch.
    stop: Vec<u32>,
    packets: Vec<Packet>,
    headers: Vec<Option<T::Header>>,
    vacant: Vec<u32>,
    wheel: Wheel<Event>,
    now: Ps,
    rng: Pcg64Mcg,
    losses: crate::fabric::Lottery,
    counts: Counts,
    delivered: u64,
}

impl<T: Transport> Network<T> {
    /// A network whose hosts speak what `host` makes of their number.
    ///
    /// # Errors
    /// If there is no such network.
    pub fn new(make: &Make, host: impl FnMut(u32) -> T) -> Result<Self, MakeError> {
        let shape = make.shape.ok_or(MakeError::Senseless("a network needs a shape"))?;
        let hosts = Topology::new(shape, make.seed)?.hosts();
        Self::with_hosts(make, (0..hosts).map(host).collect())
    }

    /// A network of these hosts, in order.
    ///
    /// # Errors
    /// If there is no such network, or it has not so many hosts.
    pub fn with_hosts(make: &Make, ends: Vec<T>) -> Result<Self, MakeError> {
        let shape = make.shape.ok_or(MakeError::Senseless("a network needs a shape"))?;
        make.links.check()?;
        make.switching.check()?;
        make.losses.check()?;
        let topology = Topology::new(shape, make.seed)?;
        let links = make.links.of(&topology)?;
        let ports: Vec<Port> = links
            .iter()
            .enumerate()
            .map(|(port, &(rate, delay))| Port {
                queues: [EMPTY; 1 + QUEUES as usize],
                busy: 0,
                delay,
                rate,
                node: topology.peer(topology.peer(port as u32).1).0,
                held: 0,
                waking: false,
                paused: false,
                pausing: false,
                up: true,
            })
            .collect();
        let mut wheel = Wheel::default();
        for (number, fault) in make.faults.list.iter().enumerate() {
            if fault.port >= topology.ports() {
                return Err(MakeError::NoPort(fault.port, topology.ports()));
            }
            wheel.put(fault.at, Event::Fault(number as u32));
        }
        let hosts = topology.hosts();
        if ends.len() != hosts as usize {
            return Err(MakeError::Senseless("a network needs as many ends as it has hosts"));
        }
        let stop = make.stops(&topology, &links)?;
        Ok(Self {
            switching: make.switching,
            faults: make.faults.clone(),
            hosts: ends,
            alarms: vec![Ps::MAX; hosts as usize],
            act_at: Ps::MAX,
            latency: make.latency,
            posts: VecDeque::new(),
            tells: VecDeque::new(),
            ports,
            used: vec![0; topology.switches() as usize],
            stop,
            packets: Vec::new(),
            headers: Vec::new(),
            vacant: Vec::new(),
            wheel,
            now: 0,
            rng: Pcg64Mcg::seed_from_u64(make.seed ^ 0x7E55_E7A0),
            losses: crate::fabric::Lottery::new(make.losses, make.seed, hosts),
            counts: Counts::default(),
            delivered: 0,
            topology,
        })
    }

    /// Time so far.
    pub fn now(&self) -> Ps {
        self.now
    }

    /// What has been counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Messages that hosts know of.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The wiring.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The hosts' ends.
    pub fn hosts(&self) -> &[T] {
        &self.hosts
    }

    /// What all hosts have counted.
    pub fn tally(&self) -> Tally {
        self.hosts.iter().fold(Tally::default(), |sum, host| sum.and(host.tally()))
    }

    /// Packets under way.
    pub fn under_way(&self) -> usize {
        self.packets.len() - self.vacant.len()
    }

    /// Runs until nothing is left to happen, or `until`; `look` is called now and then,
    /// with the time, and stops the run by saying false. Whether nothing is left.
    pub fn run(
        &mut self,
        traffic: &mut impl Traffic,
        until: Ps,
        mut look: impl FnMut(&Self) -> bool,
    ) -> bool {
        self.await_traffic(traffic);
        while let Some((time, event)) = self.wheel.pop() {
            if time > until {
                self.wheel.put(time, event);
                return false;
            }
            self.now = time;
            self.counts.events += 1;
            if self.counts.events & 0xF_FFFF == 0 && !look(self) {
                return false;
            }
            match event {
                Event::Arrive(packet) => self.arrive(packet, traffic),
                Event::Free(port) => self.free(port),
                Event::Expire(host) => {
                    // An alarm that an earlier one has replaced: the host is not asked, for
                    // whose turn it is may depend on how often it was.
                    if self.alarms[host as usize] != time {
                        continue;
                    }
                    self.alarms[host as usize] = Ps::MAX;
                    let end = &mut self.hosts[host as usize];
                    if end.deadline().is_some_and(|due| due <= time) {
                        end.expire(time);
                    }
                    self.attend(host, traffic);
                }
                Event::Act => {
                    if self.act_at <= time {
                        self.act_at = Ps::MAX;
                    }
                    self.await_traffic(traffic);
                }
                Event::Post => {
                    if let Some(message) = self.posts.pop_front() {
                        self.post_now(&message, traffic);
                    }
                }
                Event::Tell => {
                    if let Some(done) = self.tells.pop_front() {
                        self.tell_now(&done, traffic);
                    }
                }
                Event::Fault(number) => {
                    let fault = self.faults.list[number as usize];
                    let other = self.topology.peer(fault.port).1;
                    for port in [fault.port, other] {
                        self.ports[port as usize].up = fault.up;
                    }
                    self.wheel.put(time + self.faults.known_after, Event::Known(number));
                }
                Event::Known(number) => {
                    let fault = self.faults.list[number as usize];
                    self.topology.set_known(fault.port, fault.up);
                }
                Event::Pause(port) => self.ports[port as usize].paused = true,
                Event::Resume(port) => {
                    self.ports[port as usize].paused = false;
                    self.kick(port);
                }
            }
        }
        true
    }

    /// Does what the traffic wants by now, and sets its alarm.
    fn await_traffic(&mut self, traffic: &mut impl Traffic) {
        while let Some(at) = traffic.next_at() {
            if at > self.now {
                return self.set_act(at);
            }
            if let Some(act) = traffic.next() {
                self.act(&act, traffic);
            }
        }
    }

    fn set_act(&mut self, at: Ps) {
        let at = at.max(self.now);
        if at < self.act_at {
            self.act_at = at;
            self.wheel.put(at, Event::Act);
        }
    }

    fn act(&mut self, act: &Act, traffic: &mut impl Traffic) {
        match *act {
            Act::Post(ref message) if self.latency.post == 0 => self.post_now(message, traffic),
            Act::Post(message) => {
                self.posts.push_back(message);
                self.wheel.put(self.now + self.latency.post, Event::Post);
            }
            Act::Round { host, id, messages } => {
                self.hosts[host as usize].round(self.now, id, messages);
            }
        }
    }

    fn post_now(&mut self, message: &Message, traffic: &mut impl Traffic) {
        self.hosts[message.from as usize].post(self.now, message);
        self.attend(message.from, traffic);
    }

    /// After anything that may have changed a host's mind.
    fn attend(&mut self, host: u32, traffic: &mut impl Traffic) {
        while let Some(done) = self.hosts[host as usize].take_done() {
            if self.latency.tell == 0 {
                self.tell_now(&done, traffic);
            } else {
                self.tells.push_back(done);
                self.wheel.put(self.now + self.latency.tell, Event::Tell);
            }
        }
        self.kick(host);
        self.set_alarm(host);
    }

    fn set_alarm(&mut self, host: u32) {
        let Some(due) = self.hosts[host as usize].deadline() else { return };
        let due = due.max(self.now);
        if due < self.alarms[host as usize] {
            self.alarms[host as usize] = due;
            self.wheel.put(due, Event::Expire(host));
        }
    }

    fn tell_now(&mut self, done: &Done, traffic: &mut impl Traffic) {
        self.delivered += u64::from(done.end == End::Delivered);
        traffic.done(self.now, done);
        if let Some(at) = traffic.next_at() {
            self.set_act(at);
        }
    }

    fn forget(&mut self, packet: u32) {
        self.vacant.push(packet);
    }

    /// A packet that does not arrive.
    fn lose(&mut self, packet: u32) {
        let Packet { payload, trimmed, .. } = self.packets[packet as usize];
        self.counts.gone += u64::from(payload && !trimmed);
        self.forget(packet);
    }

    #[inline]
    fn arrive(&mut self, index: u32, traffic: &mut impl Traffic) {
        self.counts.hops += 1;
        let packet = self.packets[index as usize];
        let node = self.ports[packet.port as usize].node;
        let hosts = self.topology.hosts();
        if node < hosts {
            let Some(header) = self.headers[index as usize].take() else { return };
            self.forget(index);
            let arrived = Arrived { from: packet.from, ce: packet.ce, trimmed: packet.trimmed, header };
            self.hosts[node as usize].receive(self.now, &arrived);
            return self.attend(node, traffic);
        }
        let switch = node - hosts;
        let Some(port) = self.topology.route(switch, packet.to, packet.label) else {
            self.counts.severed += 1;
            return self.lose(index);
        };
        let state = &self.ports[port as usize];
        let open = !(state.paused && packet.class != CONTROL);
        if !state.waking
            && state.busy <= self.now
            && open
            && state.queues.iter().all(|queue| queue.head == NONE)
        {
            return self.send(port, index);
        }
        self.enqueue(switch, port, index);
    }
}
