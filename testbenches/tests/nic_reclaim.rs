//! A process that dies in the middle of sends and receives, on whole NICs: what
//! it held comes back at once, nothing of its memory is touched any more, and
//! who lives beside it notices nothing.

use std::sync::Arc;

use tessera_abi::regs::{self, endpoint, Counter};
use tessera_driver::{
    Access, AddressHandle, CompletionQueue, DatagramRequest, DmaMemory, Endpoint, EndpointKind,
    EndpointOptions, MemoryRegion, RecvRequest, SendRequest, Status, WorkCompletion,
};
use tessera_sim::fabric::{FabricOptions, Faults, Loss};
use tessera_sim::nic::{DmaHold, NicOptions};
use tessera_testbenches::pair::{Pair, Side, QKEY};
use tessera_testbenches::pressed::{model, CONFIG};

/// Bytes of a message of the processes that die.
const LARGE: usize = 200_000;
const MESSAGES: u64 = 6;

fn pair(seed: u64, loss: f64) -> Pair {
    let faults = Faults { loss: Loss::Uniform(loss), ..Faults::default() };
    let fabric = FabricOptions { faults, ..FabricOptions::new(4, 250, 500, seed) };
    Pair::new(model(), &NicOptions::default(), fabric, &[(regs::PATH_COUNT, 4)])
}

/// A process of its own: endpoint, queue and memory that nobody else has.
struct Process {
    endpoint: Endpoint,
    cq: CompletionQueue,
    memory: MemoryRegion,
    done: Vec<WorkCompletion>,
}

impl Process {
    fn new(side: &Side, bytes: usize) -> Self {
        let cq = side.context.create_cq(64).unwrap();
        let options = EndpointOptions { qkey: QKEY, ..EndpointOptions::default() };
        let endpoint = side.pd.create_endpoint(&options, &cq, &cq).unwrap();
        let memory = side.pd.register(&DmaMemory::new(bytes), Access::LOCAL_WRITE).unwrap();
        Self { endpoint, cq, memory, done: Vec::new() }
    }

    fn exchange(&mut self, to: AddressHandle) {
        for id in 0..MESSAGES {
            let place = id as usize * LARGE..(id as usize + 1) * LARGE;
            self.endpoint
                .post_recv(&RecvRequest { work_id: id, region: &self.memory, range: place })
                .unwrap();
        }
        for id in 0..MESSAGES {
            let request = SendRequest {
                work_id: id,
                region: &self.memory,
                range: 0..LARGE,
                to,
                tag: id,
                immediate: None,
                round: None,
                payload_size: 1024,
            };
            self.endpoint.post_send(&request).unwrap();
        }
    }

    fn poll(&mut self) {
        let mut taken = [WorkCompletion::default(); 16];
        loop {
            let count = self.cq.poll(&mut taken).unwrap();
            self.done.extend_from_slice(&taken[..count]);
            if count < taken.len() {
                return;
            }
        }
    }

    fn statuses(&self, receive: bool) -> Vec<Status> {
        self.done.iter().filter(|done| done.receive == receive).map(|done| done.status).collect()
    }
}

fn used(side: &Side) -> [u32; 2] {
    let read = |reg| side.context.read(reg).unwrap();
    [
        (1 << CONFIG.tx_slots_log2) - read(regs::FREE_SLOTS),
        (1 << CONFIG.rx_contexts_log2) - read(regs::FREE_CONTEXTS),
    ]
}

fn content(id: u64) -> Vec<u8> {
    (0..60_000u64).map(|i| (i * 31 + i / 251 + id * 13) as u8).collect()
}

fn dies(loss: f64) {
    let seed = tessera_testbenches::seed(&format!("nic_reclaim::dies {loss}"));
    let mut pair = pair(seed, loss);
    // Two processes talk to each other, each beside one that lives on.
    let mut one = Process::new(&pair.a, MESSAGES as usize * LARGE);
    let mut two = Process::new(&pair.b, MESSAGES as usize * LARGE);
    let (to_one, to_two) = (one.endpoint.address(), two.endpoint.address());
    one.exchange(to_two);
    two.exchange(to_one);
    let beside: Vec<(u64, Arc<DmaMemory>)> = (100..104).map(|id| (id, pair.b.recv(60_000, id))).collect();
    let to = pair.b.endpoint.address();
    for (id, _) in &beside {
        pair.a.send(to, &content(*id), *id);
    }
    for _ in 0..200 {
        let [slots, contexts] = used(&pair.a);
        if slots >= 8 && contexts >= 4 {
            break;
        }
        pair.pass(1);
    }
    let [slots, contexts] = used(&pair.a);
    assert!(slots >= 8 && contexts >= 4, "{slots} slots, {contexts} contexts: not in the middle of anything");
    // One dies: its endpoint goes, and its memory with it.
    let before = pair.cluster.lock().clock();
    let Process { endpoint, memory, cq, .. } = one;
    endpoint.destroy().unwrap();
    let took = pair.cluster.lock().clock() - before;
    println!("reclaimed in {took} clocks");
    assert!(took < 16 * u64::from(regs::RX_GIVE_UP.reset) / 8, "{took} clocks to let go");
    drop(memory);
    drop(cq);
    let [slots, contexts] = used(&pair.a);
    assert!(slots <= 4 && contexts == 0, "{slots} slots, {contexts} contexts are not given back");
    assert_eq!(pair.a.context.read(regs::RECLAIM_STATUS).unwrap(), 0);
    // Its peer is told, of both directions, long before it would give up.
    for _ in 0..20_000 {
        two.poll();
        if two.done.len() as u64 == 2 * MESSAGES {
            break;
        }
        pair.pass(1);
    }
    let (received, sent) = (two.statuses(true), two.statuses(false));
    println!("its peer received {received:?}, sent {sent:?}");
    if loss == 0.0 {
        assert_eq!((received.len(), sent.len()), (MESSAGES as usize, MESSAGES as usize));
        assert!(received.contains(&Status::Released) && sent.contains(&Status::Destroyed));
        let known = |status: &Status| [Status::Success, Status::Released, Status::Destroyed].contains(status);
        assert!(received.iter().chain(&sent).all(|status| known(status) || *status == Status::RetryExceeded));
    }
    two.endpoint.destroy().unwrap();
    // Who lived beside them noticed nothing.
    // Messages take receives as they begin to arrive: with loss, in any order.
    let mut tags = Vec::new();
    for (id, buffer) in &beside {
        let received = pair.b.done(true, *id);
        assert_eq!((received.status, received.len), (Status::Success, 60_000));
        assert!(
            buffer.to_vec(0, 60_000) == content(received.tag),
            "message {} is not what was sent",
            received.tag
        );
        assert_eq!(pair.a.done(false, *id).status, Status::Success, "send {id}");
        tags.push(received.tag);
    }
    tags.sort_unstable();
    assert_eq!(tags, [100, 101, 102, 103]);
    pair.deliver(&content(7), 7);
    pair.assert_returned();
    // The place is given out again, under another number.
    let again = Process::new(&pair.a, 1000);
    assert_ne!(again.endpoint.number(), to_one.endpoint);
}

//= RE-1 test
//= RE-2 test
//= RE-3 test
#[test]
fn a_process_that_dies_leaves_nothing_and_disturbs_nobody() {
    dies(0.0);
}

#[test]
fn also_on_a_network_that_loses() {
    dies(0.03);
}

/// Nothing outstanding, and datagrams on their way: both are over soon.
#[test]
fn idle_endpoints_and_datagrams_go_at_once() {
    let mut pair = pair(1, 0.0);
    let idle = Process::new(&pair.a, 100);
    let start = pair.cluster.lock().clock();
    idle.endpoint.destroy().unwrap();
    let took = pair.cluster.lock().clock() - start;
    assert!(took < 20_000, "{took} clocks for nothing");
    let cq = pair.a.context.create_cq(64).unwrap();
    let options = EndpointOptions { kind: EndpointKind::Datagrams, qkey: QKEY, ..EndpointOptions::default() };
    let mut plain = pair.a.pd.create_endpoint(&options, &cq, &cq).unwrap();
    let memory = pair.a.pd.register(&DmaMemory::new(4096), Access::READ).unwrap();
    let to = pair.b.endpoint.address();
    for id in 0..40 {
        let request = DatagramRequest {
            work_id: id,
            region: &memory,
            range: 0..4096,
            to,
            immediate: None,
            path_mtu: 4096,
        };
        plain.post_datagram(&request).unwrap();
    }
    drop(plain);
    drop(memory);
    assert_eq!(pair.a.context.read(regs::RECLAIM_STATUS).unwrap(), 0);
    pair.deliver(&content(3), 3);
    assert_eq!(pair.a.count(Counter::DmaErrors), 0);
    pair.assert_returned();
}

/// The host is slow to take what it is told: until it has, its memory is in use.
//= RE-3 test
#[test]
fn a_completion_on_its_way_is_waited_for() {
    let mut pair = pair(2, 0.0);
    let mut one = Process::new(&pair.a, 1000);
    let buffer = pair.b.recv(1000, 5);
    let held = DmaHold { reads: false, writes: true };
    pair.cluster.lock().nic_mut(0).hold(false, held, DmaHold::default());
    let request = SendRequest {
        work_id: 1,
        region: &one.memory,
        range: 0..1000,
        to: pair.b.endpoint.address(),
        tag: 5,
        immediate: None,
        round: None,
        payload_size: 1024,
    };
    one.endpoint.post_send(&request).unwrap();
    assert_eq!((pair.b.done(true, 5).status, buffer.to_vec(0, 1000)), (Status::Success, vec![0; 1000]));
    pair.pass(60);
    assert_eq!(pair.a.count(Counter::TxCompleted), 1);
    let status = || pair.a.context.read(regs::RECLAIM_STATUS).unwrap();
    pair.a.context.write(regs::RECLAIM, one.endpoint.number() & 0xFF).unwrap();
    for _ in 0..60 {
        assert_eq!(status(), 1, "nothing is left but a completion that is not written");
        pair.pass(1);
    }
    one.poll();
    assert!(one.done.is_empty());
    pair.cluster.lock().nic_mut(0).hold(false, DmaHold::default(), DmaHold::default());
    pair.pass(20);
    assert_eq!(status(), 0);
    one.poll();
    assert_eq!(one.statuses(false), [Status::Success]);
}

/// Writes the entry that the driver writes first when an endpoint goes, and then
/// its index to RECLAIM.
fn reclaim(pair: &Pair, nic: usize, number: u32, datagrams: bool) {
    let mut entry = [0u32; 16];
    for ((lsb, _), value) in [
        (endpoint::DATAGRAM, u32::from(datagrams)),
        (endpoint::NUMBER_HI, number >> 8),
        (endpoint::QKEY, QKEY),
        // The queue that the test made behind the pair's own.
        (endpoint::SEND_CQ, 1),
        (endpoint::RECV_CQ, 1),
    ] {
        entry[lsb / 32] |= value << (lsb % 32);
    }
    let index = number & 0xFF;
    let words = (0..).map(|i| regs::TABLE_DATA + 4 * i).zip(entry);
    let command = 1 << 31 | regs::table::ENDPOINT << 24 | index;
    for (offset, value) in words.chain([(regs::TABLE_COMMAND.offset, command), (regs::RECLAIM.offset, index)])
    {
        pair.cluster.lock().nic_mut(nic).write_register(offset, value);
    }
    pair.pass(2);
}

/// The reclaim is busy, with nothing left that is counted by endpoint, for as long
/// as `nic` is held; and over soon after.
fn stays_busy_while_held(pair: &Pair, nic: usize) {
    let status = || {
        let side = if nic == 0 { &pair.a } else { &pair.b };
        side.context.read(regs::RECLAIM_STATUS).unwrap()
    };
    for window in 0..60 {
        assert_eq!(status() & 1, 1, "over after {window} windows, and something is on its way");
        pair.pass(1);
    }
    pair.cluster.lock().nic_mut(nic).hold(false, DmaHold::default(), DmaHold::default());
    for _ in 0..200 {
        if status() == 0 {
            return;
        }
        pair.pass(1);
    }
    panic!("not over: {:#b}", status());
}

const WRITES: DmaHold = DmaHold { reads: false, writes: true };
const READS: DmaHold = DmaHold { reads: true, writes: false };

/// A datagram on its way into memory belongs to no context: it is waited for.
//= RE-3 test
#[test]
fn a_datagram_on_its_way_into_memory_is_waited_for() {
    let mut pair = pair(3, 0.0);
    let options = EndpointOptions { kind: EndpointKind::Datagrams, qkey: QKEY, ..EndpointOptions::default() };
    let mut cqs = [&pair.a, &pair.b].map(|side| side.context.create_cq(64).unwrap());
    let mut from = pair.a.pd.create_endpoint(&options, &cqs[0], &cqs[0]).unwrap();
    let mut to = pair.b.pd.create_endpoint(&options, &cqs[1], &cqs[1]).unwrap();
    let source = pair.a.pd.register(&DmaMemory::from_slice(&[7; 100]), Access::READ).unwrap();
    let buffer = DmaMemory::new(200);
    let sink = pair.b.pd.register(&buffer, Access::LOCAL_WRITE).unwrap();
    to.post_recv(&RecvRequest { work_id: 1, region: &sink, range: 0..200 }).unwrap();
    pair.cluster.lock().nic_mut(1).hold(false, DmaHold::default(), WRITES);
    let request = DatagramRequest {
        work_id: 1,
        region: &source,
        range: 0..100,
        to: to.address(),
        immediate: None,
        path_mtu: 4096,
    };
    from.post_datagram(&request).unwrap();
    for _ in 0..200 {
        if pair.b.count(Counter::RxUd) == 1 {
            break;
        }
        pair.pass(1);
    }
    reclaim(&pair, 1, to.number(), true);
    stays_busy_while_held(&pair, 1);
    // When it is over, all of it is there, and its completion.
    assert_eq!(buffer.to_vec(40, 100), [7; 100]);
    let mut done = [WorkCompletion::default(); 4];
    assert_eq!(cqs[1].poll(&mut done).unwrap(), 1);
    assert_eq!(done[0].status, Status::Success);
    drop((from, to));
    pair.deliver(&content(5), 5);
    pair.assert_returned();
}

/// A host that is slow to take payload: packets stand in front of lookup for as
/// long, and open a message of the endpoint afterwards.
//= RE-3 test
#[test]
fn packets_in_front_of_lookup_are_waited_for() {
    let mut pair = pair(4, 0.0);
    let mut one = Process::new(&pair.a, 1000);
    let mut two = Process::new(&pair.b, 1000);
    let all = 0..1000;
    two.endpoint.post_recv(&RecvRequest { work_id: 1, region: &two.memory, range: all.clone() }).unwrap();
    // More than placement holds, less than the receive buffer does.
    const FILL: usize = 150 * 256;
    let buffer = pair.b.recv(FILL, 9);
    let bytes = vec![3; FILL];
    let to = pair.b.endpoint.address();
    pair.cluster.lock().nic_mut(1).hold(false, DmaHold::default(), WRITES);
    pair.a.send_packets(to, &bytes, 9, 256);
    pair.pass(20);
    let opened = pair.b.count(Counter::RxOpened);
    let came = pair.b.count(Counter::RxData);
    let request = SendRequest {
        work_id: 1,
        region: &one.memory,
        range: 0..200,
        to: two.endpoint.address(),
        tag: 5,
        immediate: None,
        round: None,
        payload_size: 256,
    };
    one.endpoint.post_send(&request).unwrap();
    pair.pass(10);
    assert!(pair.b.count(Counter::RxData) > came);
    assert_eq!(pair.b.count(Counter::RxOpened), opened, "the packet is not in front of lookup");
    reclaim(&pair, 1, two.endpoint.number(), false);
    stays_busy_while_held(&pair, 1);
    let received = pair.b.done(true, 9);
    assert_eq!((received.status, received.len), (Status::Success, FILL as u32));
    assert!(buffer.to_vec(0, FILL) == bytes);
    assert_eq!(pair.a.done(false, 9).status, Status::Success);
    one.endpoint.destroy().unwrap();
    two.endpoint.destroy().unwrap();
    pair.deliver(&content(5), 5);
    pair.assert_returned();
}

/// Answers get the endpoint's number and Q_Key when they are built: its entry may
/// not be given out before, however long the MAC takes nothing.
//= RE-3 test
#[test]
fn answers_on_their_way_out_are_waited_for() {
    let mut pair = pair(5, 0.0);
    let mut one = Process::new(&pair.a, 2_000_000);
    let mut receiver = Process::new(&pair.b, 2_000_000);
    let whole = RecvRequest { work_id: 1, region: &receiver.memory, range: 0..2_000_000 };
    receiver.endpoint.post_recv(&whole).unwrap();
    let request = SendRequest {
        work_id: 1,
        region: &one.memory,
        range: 0..2_000_000,
        to: receiver.endpoint.address(),
        tag: 5,
        immediate: None,
        round: None,
        payload_size: 4096,
    };
    one.endpoint.post_send(&request).unwrap();
    for _ in 0..400 {
        if used(&pair.b)[1] == 1 && pair.b.count(Counter::RxNew) > 0 {
            break;
        }
        pair.pass(1);
    }
    pair.cluster.lock().nic_mut(1).hold(true, DmaHold::default(), DmaHold::default());
    // Answers to others fill what is behind the keys.
    let beside = pair.b.endpoint.address();
    for id in 20..32 {
        pair.b.recv(100, id);
        pair.a.send(beside, &[1; 100], id);
    }
    pair.pass(10);
    assert_eq!(used(&pair.b)[1], 1, "not in the middle of a message");
    reclaim(&pair, 1, receiver.endpoint.number(), false);
    for _ in 0..200 {
        if used(&pair.b)[1] == 0 {
            break;
        }
        pair.pass(1);
    }
    assert_eq!(used(&pair.b)[1], 0, "its message is sent away");
    stays_busy_while_held(&pair, 1);
    for _ in 0..20_000 {
        one.poll();
        if !one.done.is_empty() {
            break;
        }
        pair.pass(1);
    }
    assert_eq!(one.statuses(false), [Status::Destroyed]);
    for id in 20..32 {
        assert_eq!(pair.a.done(false, id).status, Status::Success);
        assert_eq!(pair.b.done(true, id).status, Status::Success);
    }
    one.endpoint.destroy().unwrap();
    receiver.endpoint.destroy().unwrap();
    pair.deliver(&content(5), 5);
    pair.assert_returned();
}

/// A ring is memory, too: what is being read of it is waited for.
//= RE-3 test
#[test]
fn reads_of_its_rings_are_waited_for() {
    let mut pair = pair(6, 0.0);
    let mut one = Process::new(&pair.a, 1000);
    pair.cluster.lock().nic_mut(0).hold(false, READS, DmaHold::default());
    let request = SendRequest {
        work_id: 1,
        region: &one.memory,
        range: 0..1000,
        to: pair.b.endpoint.address(),
        tag: 5,
        immediate: None,
        round: None,
        payload_size: 1024,
    };
    one.endpoint.post_send(&request).unwrap();
    pair.pass(10);
    reclaim(&pair, 0, one.endpoint.number(), false);
    stays_busy_while_held(&pair, 0);
    one.endpoint.destroy().unwrap();
    pair.deliver(&content(5), 5);
    pair.assert_returned();
    assert_eq!(pair.a.count(Counter::DmaErrors), 0);
}

/// A shared ring is read on no endpoint's account: its memory is waited for all the same.
//= RE-3 test
#[test]
fn reads_of_a_shared_ring_are_waited_for() {
    let mut pair = pair(7, 0.0);
    let errors = pair.a.context.create_cq(4).unwrap();
    let mut ring = pair.a.pd.create_shared_receive(4, &errors).unwrap();
    let sink = pair.a.pd.register(&DmaMemory::new(1000), Access::LOCAL_WRITE).unwrap();
    pair.cluster.lock().nic_mut(0).hold(false, READS, DmaHold::default());
    for work_id in 0..4 {
        ring.post_recv(&RecvRequest { work_id, region: &sink, range: 0..1000 }).unwrap();
    }
    pair.pass(10);
    // The pair's own endpoint has index 0. What the driver writes when a ring goes.
    reclaim(&pair, 0, 1, false);
    stays_busy_while_held(&pair, 0);
    drop(ring);
    assert_eq!(pair.a.context.read(regs::RECLAIM_STATUS).unwrap(), 0);
    pair.deliver(&content(5), 5);
    pair.assert_returned();
    assert_eq!(pair.a.count(Counter::DmaErrors), 0);
}
