//! Plain UD endpoints on whole NICs, beside endpoints of reliable messages:
//! what any RoCEv2 NIC would send and take (rules UD).

use std::collections::{HashMap, HashSet};

use tessera_abi::regs::{self, Counter};
use tessera_abi::status::Drop as DropReason;
use tessera_abi::wire::{self, Form, GRH_LEN};
use tessera_driver::{
    Access, AddressHandle, CompletionQueue, DatagramRequest, DmaMemory, Endpoint, EndpointKind,
    EndpointOptions, MemoryRegion, RecvRequest, SendRequest, Status, WorkCompletion,
};
use tessera_model::rx_parse;
use tessera_sim::cluster::{addresses, ip6, Cluster, SharedCluster};
use tessera_sim::fabric::{FabricOptions, Faults, Loss};
use tessera_sim::nic::NicOptions;
use tessera_sim::session::Session;
use tessera_sim::tb::Rng;
use tessera_testbenches::{forms, has_datagrams, nearest, nic_model};

const QKEY: u32 = 0x0BAD_CAFE;
const VLAN: u16 = 0x123;
const MTU: usize = 4096;
/// Buffers per endpoint.
const PLACES: usize = 64;

fn session(form: Form, faults: Faults, seed: u64) -> Session {
    let fabric = FabricOptions { faults, ..FabricOptions::new(4, 250, 500, seed) };
    let cluster =
        Cluster::new(nic_model(), 2, &NicOptions { seed, ..NicOptions::default() }, fabric).unwrap();
    let mut session =
        Session::open(SharedCluster::new(cluster), 2, seed, 1024, &[(regs::PATH_COUNT, 4)]).unwrap();
    session.speak(form.v6, form.tagged.then_some(0xA000 | VLAN)).unwrap();
    for host in &session.hosts {
        host.context.write(regs::VLAN, VLAN.into()).unwrap();
    }
    session
}

/// A plain UD endpoint of one host, with buffers.
struct Port {
    cq: CompletionQueue,
    endpoint: Endpoint,
    source: MemoryRegion,
    sink: MemoryRegion,
    /// Sends not yet ended.
    open: usize,
    filled: Vec<WorkCompletion>,
}

fn bytes_of(number: usize) -> u8 {
    (number * 37 + number / 7) as u8
}

impl Port {
    fn new(session: &Session, nic: usize) -> Self {
        let host = &session.hosts[nic];
        let cq = host.context.create_cq(256).unwrap();
        let options = EndpointOptions {
            kind: EndpointKind::Datagrams,
            qkey: QKEY,
            send_entries: 128,
            recv_entries: 128,
            ..EndpointOptions::default()
        };
        let endpoint = host.pd.create_endpoint(&options, &cq, &cq).unwrap();
        let content: Vec<u8> = (0..2 * MTU).map(bytes_of).collect();
        let source = session.register(nic, &DmaMemory::from_slice(&content), Access::READ).unwrap();
        let memory = DmaMemory::new(PLACES * (MTU + GRH_LEN));
        let sink = session.register(nic, &memory, Access::LOCAL_WRITE).unwrap();
        Self { cq, endpoint, source, sink, open: 0, filled: Vec::new() }
    }

    fn recv(&mut self, place: usize, len: usize) {
        let at = place * (MTU + GRH_LEN);
        let request = RecvRequest { work_id: place as u64, region: &self.sink, range: at..at + len };
        self.endpoint.post_recv(&request).unwrap();
    }

    /// Sends `len` bytes from `from` on.
    fn send(&mut self, to: AddressHandle, from: usize, len: usize, immediate: Option<u32>) {
        let request = DatagramRequest {
            work_id: 1000 + from as u64,
            region: &self.source,
            range: from..from + len,
            to,
            immediate,
            path_mtu: MTU as u32,
        };
        self.endpoint.post_datagram(&request).unwrap();
        self.open += 1;
    }

    fn poll(&mut self) {
        let mut completions = [WorkCompletion::default(); 32];
        let taken = self.cq.poll(&mut completions).unwrap();
        for done in &completions[..taken] {
            assert_eq!(done.status, Status::Success, "{done:?}");
            if done.receive {
                self.filled.push(*done);
            } else {
                self.open -= 1;
            }
        }
    }

    /// The buffer of a completion: GRH area and payload.
    fn buffer(&self, done: &WorkCompletion) -> (Vec<u8>, Vec<u8>) {
        let at = done.work_id as usize * (MTU + GRH_LEN);
        let bytes = self.sink.memory().to_vec(at, done.len as usize);
        (bytes[..GRH_LEN].to_vec(), bytes[GRH_LEN..].to_vec())
    }
}

fn gid(nic: usize, form: Form) -> [u8; 16] {
    if form.v6 {
        ip6(nic)
    } else {
        wire::ipv4_gid(addresses(nic).1)
    }
}

/// Runs until nothing moves any more for a while.
fn settle(session: &mut Session, ports: &mut [Port; 2]) {
    let (mut quiet, mut before) = (0, 0);
    while quiet < 60 {
        session.poll().unwrap();
        ports.iter_mut().for_each(Port::poll);
        let frames = session.cluster.lock().fabric().stats().frames;
        quiet = if frames == before && ports.iter().all(|port| port.open == 0) { quiet + 1 } else { 0 };
        before = frames;
    }
}

const LENGTHS: [usize; 14] = [0, 1, 2, 3, 4, 23, 24, 25, 63, 64, 255, 1024, 4095, 4096];

/// UD-1 .. UD-4: every form and many lengths, both ways.
#[test]
fn datagrams_arrive_as_they_were_sent() {
    if !has_datagrams() {
        return;
    }
    let seed = tessera_testbenches::seed("nic_datagrams::forms");
    for form in forms() {
        let mut session = session(form, Faults::default(), seed);
        let mut ports = [0, 1].map(|nic| Port::new(&session, nic));
        for port in &mut ports {
            (0..LENGTHS.len()).for_each(|place| port.recv(place, MTU + GRH_LEN));
        }
        // The entries have to be there before the datagrams are.
        settle(&mut session, &mut ports);
        for from in [0, 1] {
            let to = AddressHandle {
                vlan: form.tagged.then_some(0x6000 | VLAN),
                traffic_class: 0xB8,
                hop_limit: 7,
                // Bit 31: our own Q_Key, which is the peer's too.
                qkey: if from == 0 { QKEY } else { 0x8000_0000 },
                ..ports[1 - from].endpoint.address_at(usize::from(form.v6)).unwrap()
            };
            for (i, len) in LENGTHS.into_iter().enumerate() {
                ports[from].send(to, i, len, (i % 2 == 1).then_some(0xABC0_0000 + i as u32));
            }
        }
        settle(&mut session, &mut ports);
        for to in [0, 1] {
            let from = 1 - to;
            assert_eq!(ports[to].filled.len(), LENGTHS.len(), "{form:?}");
            let mut seen = HashSet::new();
            for done in &ports[to].filled {
                let (area, payload) = ports[to].buffer(done);
                let at =
                    LENGTHS.iter().position(|len| *len == payload.len()).expect("a length that was sent");
                assert!(seen.insert(at), "{at} came twice");
                let content: Vec<u8> = (at..at + payload.len()).map(bytes_of).collect();
                assert_eq!(payload, content, "{form:?}");
                assert_eq!(done.immediate, (at % 2 == 1).then_some(0xABC0_0000 + at as u32));
                let source = done.datagram.expect("a datagram's completion");
                assert_eq!(source.mac, addresses(from).0);
                assert_eq!(source.vlan, form.tagged.then_some(0x6000 | VLAN));
                assert_eq!(done.peer_endpoint, ports[from].endpoint.number());
                assert_eq!(done.peer_gid, gid(from, form));
                if form.v6 {
                    assert_eq!((area[0], area[7]), (0x6B, 7));
                    assert_eq!(area[8..24], gid(from, form));
                    assert_eq!(area[24..40], gid(to, form));
                } else {
                    assert_eq!(area[..20], [0; 20]);
                    assert_eq!((area[20], area[21], area[28]), (0x45, 0xB8, 7));
                    assert_eq!(area[32..36], addresses(from).1);
                    assert_eq!(wire::ipv4_checksum(&area[20..40]), 0);
                }
            }
            let context = &session.hosts[to].context;
            assert_eq!(context.counter(Counter::RxUd).unwrap(), LENGTHS.len() as u32);
            assert_eq!(context.counter(Counter::TxUd).unwrap(), LENGTHS.len() as u32);
            assert_eq!(context.dropped(DropReason::UdReceive).unwrap(), 0);
        }
    }
}

/// UD-3, UD-5: beside messages under load and loss; what has no receive, or one
/// too short, vanishes and is counted, and hurts nobody.
#[test]
fn datagrams_and_messages_share_a_nic() {
    if !has_datagrams() {
        return;
    }
    let seed = tessera_testbenches::seed("nic_datagrams::load");
    for form in [Form::ALL[0], nearest(Form::ALL[3])] {
        let faults =
            Faults { loss: Loss::Uniform(0.02), duplicate: 0.01, max_copies: 2, ..Faults::default() };
        let mut session = session(form, faults, seed);
        let mut ports = [0, 1].map(|nic| Port::new(&session, nic));
        const LEN: usize = 60_000;
        const MESSAGES: usize = 12;
        let content: Vec<u8> = (0..LEN).map(bytes_of).collect();
        let mut sinks = Vec::new();
        let mut sources = Vec::new();
        for nic in [0, 1] {
            let sink = session.register(nic, &DmaMemory::new(MESSAGES * LEN), Access::LOCAL_WRITE).unwrap();
            for i in 0..MESSAGES {
                session.recv(nic, &sink, i * LEN..(i + 1) * LEN, i as u64).unwrap();
            }
            sinks.push(sink);
            sources.push(session.register(nic, &DmaMemory::from_slice(&content), Access::READ).unwrap());
        }
        // Every third buffer takes the shorter half only.
        let room = |place: usize| if place % 3 == 2 { 500 } else { MTU + GRH_LEN };
        for port in &mut ports {
            (0..PLACES).for_each(|place| port.recv(place, room(place)));
        }
        settle(&mut session, &mut ports);
        for from in [0, 1] {
            for i in 0..MESSAGES {
                session.send(&sources[from], 0..LEN, (1, from, 1 - from, i)).unwrap();
            }
        }
        let mut rng = Rng::for_test("nic_datagrams::load");
        let (mut sent, mut messages) = ([0u32; 2], HashSet::new());
        while messages.len() < 2 * MESSAGES || session.sends_open() > 0 || sent[0] < 100 {
            for from in [0, 1] {
                if ports[from].open < 8 && sent[from] < 100 {
                    let to = AddressHandle {
                        vlan: form.tagged.then_some(VLAN),
                        ..ports[1 - from].endpoint.address_at(usize::from(form.v6)).unwrap()
                    };
                    let len = rng.below(1000) as usize;
                    ports[from].send(to, rng.below(4096) as usize, len, Some(len as u32));
                    sent[from] += 1;
                }
            }
            ports.iter_mut().for_each(Port::poll);
            for arrived in session.poll().unwrap() {
                assert!(messages.insert(arrived.tag), "a message came twice");
                let bytes = sinks[arrived.nic].memory().to_vec(arrived.work_id as usize * LEN, LEN);
                assert!(bytes == content, "a message is not what was sent");
            }
        }
        settle(&mut session, &mut ports);
        for to in [0, 1] {
            let context = &session.hosts[to].context;
            let heard = context.counter(Counter::RxUd).unwrap();
            let dropped = context.dropped(DropReason::UdReceive).unwrap();
            assert_eq!(ports[to].filled.len() as u32 + dropped, heard, "{form:?}: each delivered or counted");
            assert!(dropped > 10 && heard > dropped, "{form:?}: {dropped} of {heard} dropped");
            for (i, done) in ports[to].filled.iter().enumerate() {
                assert_eq!(done.work_id, i as u64, "receives are used in order");
                assert!(done.len as usize <= room(i));
                let (_, payload) = ports[to].buffer(done);
                assert_eq!(done.immediate, Some(payload.len() as u32));
                let steps = |pair: &[u8]| (0..8192).any(|at| [bytes_of(at), bytes_of(at + 1)] == *pair);
                assert!(payload.windows(2).all(steps), "a payload that nobody sent");
            }
        }
    }
}

/// UD-1, UD-4: the wrong call for an endpoint's kind is refused before it
/// reaches the NIC.
#[test]
fn the_driver_keeps_the_kinds_apart() {
    if !has_datagrams() {
        return;
    }
    let seed = tessera_testbenches::seed("nic_datagrams::kinds");
    let session = session(Form::ALL[0], Faults::default(), seed);
    let mut port = Port::new(&session, 0);
    let to = port.endpoint.address();
    let message = SendRequest {
        work_id: 0,
        region: &port.source,
        range: 0..10,
        to,
        tag: 0,
        immediate: None,
        round: None,
        payload_size: 1024,
    };
    let told = port.endpoint.post_send(&message).unwrap_err().to_string();
    assert!(told.contains("plain datagrams") && told.contains("post_datagram"), "{told}");
    let long = DatagramRequest {
        work_id: 0,
        region: &port.source,
        range: 0..257,
        to,
        immediate: None,
        path_mtu: 256,
    };
    let told = port.endpoint.post_datagram(&long).unwrap_err().to_string();
    assert!(told.contains("257") && told.contains("256"), "{told}");
}

/// RX-1: datagrams spoiled at random fall under the reasons that the model
/// names, whole ones between them arrive, and nothing else changes.
#[test]
fn spoiled_datagrams_fall_under_their_reasons() {
    if !has_datagrams() {
        return;
    }
    let seed = tessera_testbenches::seed("nic_datagrams::spoiled");
    let mut session = session(Form::ALL[0], Faults::default(), seed);
    let mut ports = [0, 1].map(|nic| Port::new(&session, nic));
    (0..PLACES).for_each(|place| ports[1].recv(place, MTU + GRH_LEN));
    settle(&mut session, &mut ports);
    let identity = tessera_model::Identity {
        mac: addresses(1).0,
        ip: addresses(1).1,
        ip6: ip6(1),
        vlan: VLAN,
        pkey: wire::DEFAULT_PKEY,
    };
    let number = ports[1].endpoint.number();
    let rm = session.address(1);
    let find = |index: u16| {
        let ud = tessera_model::Endpoint { datagram: true, ..tessera_model::Endpoint::new(number, QKEY) };
        let rm = tessera_model::Endpoint::new(rm.endpoint, rm.qkey);
        [ud, rm].into_iter().find(|endpoint| endpoint.index() == index)
    };
    let mut rng = Rng::for_test("nic_datagrams::spoiled");
    let (mut due, mut delivered) = (HashMap::new(), 0u32);
    for _ in 0..400 {
        let form = *rng.pick(&Form::ALL);
        let route = wire::Route {
            dst_mac: addresses(1).0,
            src_mac: addresses(0).0,
            vlan: form.tagged.then_some(*rng.pick(&[VLAN, 0, 0x124])),
            src_gid: gid(0, form),
            dst_gid: gid(1, form),
            tos: rng.bits(8) as u8,
            hop_limit: 64,
            flow_label: 0,
            sport: wire::SPORT_BASE + rng.bits(8) as u16,
            pkey: wire::DEFAULT_PKEY,
            dst_endpoint: number,
            psn: 0,
            qkey: QKEY,
            src_endpoint: 0x77,
        };
        let length = *rng.pick(&[0, 1, 5, 40, 100, 4096]);
        let mut frame = vec![0; tessera_abi::params::MAX_FRAME];
        let payload = rng.bytes(length);
        let immediate = rng.chance(0.5).then_some(9);
        let len = wire::emit_datagram(&route, immediate, &payload, &mut frame).unwrap();
        frame.truncate(len);
        for _ in 0..rng.below(3) {
            // Not the MAC address: the fabric has to find the way.
            let at = 6 + rng.below((len - 6).min(100) as u64) as usize;
            frame[at] ^= 1 << rng.below(8);
        }
        if rng.chance(0.7) {
            wire::reseal(&mut frame);
        }
        match rx_parse::judge(&frame, tessera_testbenches::config(), &identity, find) {
            Ok(_) => delivered += 1,
            Err(reason) => *due.entry(reason).or_insert(0u32) += 1,
        }
        let mut cluster = session.cluster.lock();
        let clock = cluster.clock();
        cluster.fabric_mut().send(clock, 0, frame).unwrap();
        drop(cluster);
        session.hosts[1].context.wait().unwrap();
    }
    settle(&mut session, &mut ports);
    let context = &session.hosts[1].context;
    for reason in DropReason::ALL.iter().filter(|reason| **reason != DropReason::UdReceive) {
        let want = due.get(reason).copied().unwrap_or(0);
        assert_eq!(context.dropped(*reason).unwrap(), want, "{}", reason.name());
    }
    assert!(due.len() >= 6, "only {} reasons came up: {due:?}", due.len());
    assert_eq!(context.counter(Counter::RxUd).unwrap(), delivered);
    let dropped = context.dropped(DropReason::UdReceive).unwrap();
    assert_eq!(ports[1].filled.len() as u32 + dropped, delivered);
    assert_eq!(ports[1].filled.len(), (delivered as usize).min(PLACES), "in order, until none is left");
}
