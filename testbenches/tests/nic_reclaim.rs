//! A process that dies in the middle of sends and receives, on whole NICs: what
//! it held comes back at once, nothing of its memory is touched any more, and
//! who lives beside it notices nothing.

use std::sync::Arc;

use tessera_abi::regs::{self, Counter};
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
