//! Endpoints of one NIC beside each other, on whole NICs: shared receive rings,
//! quotas of both directions, every endpoint of the table at once, and whose messages are granted first.

use tessera_abi::regs::{self, Counter};
use tessera_abi::status::Drop as DropReason;
use tessera_driver::{
    Access, AddressHandle, CompletionQueue, Context, DmaMemory, Endpoint, EndpointOptions, MemoryRegion,
    RecvRequest, SendRequest, Status, WorkCompletion,
};
use tessera_sim::fabric::FabricOptions;
use tessera_sim::nic::NicOptions;
use tessera_testbenches::pair::{Pair, QKEY};
use tessera_testbenches::{config, nic_model};

fn pair() -> Pair {
    Pair::new(nic_model(), &NicOptions::default(), FabricOptions::new(4, 250, 500, 1), &[])
}

fn options(rx_quota: u16) -> EndpointOptions {
    EndpointOptions {
        qkey: QKEY,
        send_entries: 512,
        recv_entries: 64,
        rx_quota,
        ..EndpointOptions::default()
    }
}

/// Takes what has completed, letting time pass, until `enough` or the patience ends.
#[track_caller]
fn collect(
    context: &Context,
    cq: &mut CompletionQueue,
    done: &mut Vec<WorkCompletion>,
    mut enough: impl FnMut(&[WorkCompletion]) -> bool,
) {
    let mut taken = [WorkCompletion::default(); 64];
    for _ in 0..60_000 {
        let count = cq.poll(&mut taken).unwrap();
        done.extend_from_slice(&taken[..count]);
        if enough(done) {
            return;
        }
        if count == 0 {
            context.wait().unwrap();
        }
    }
    panic!("{} completions, and no more come", done.len());
}

fn send(endpoint: &mut Endpoint, to: AddressHandle, region: &MemoryRegion, len: usize, id: u64) {
    let request = SendRequest {
        work_id: id,
        region,
        range: 0..len,
        to,
        tag: id,
        immediate: None,
        round: None,
        payload_size: 4096,
    };
    endpoint.post_send(&request).unwrap();
}

//= RO-10 test
#[test]
fn endpoints_share_a_ring() {
    let mut pair = pair();
    let errors = pair.b.context.create_cq(16).unwrap();
    let mut ring = pair.b.pd.create_shared_receive(16, &errors).unwrap();
    let mut queues: Vec<_> = (0..3).map(|_| pair.b.context.create_cq(16).unwrap()).collect();
    let endpoints: Vec<_> = queues
        .iter()
        .map(|cq| pair.b.pd.create_sharing_endpoint(&options(0), cq, cq, &ring).unwrap())
        .collect();
    let sink = pair.b.pd.register(&DmaMemory::new(12 * 5000), Access::LOCAL_WRITE).unwrap();
    for id in 0..12 {
        let range = id * 5000..(id + 1) * 5000;
        ring.post_recv(&RecvRequest { work_id: id as u64, region: &sink, range }).unwrap();
    }
    let bytes: Vec<u8> = (0..5000).map(|i| (i * 7) as u8).collect();
    let source = pair.a.pd.register(&DmaMemory::from_slice(&bytes), Access::READ).unwrap();
    for id in 0..12 {
        let to = endpoints[id as usize % 3].address();
        send(&mut pair.a.endpoint, to, &source, 4000 + id as usize, id);
    }
    let mut places = Vec::new();
    for (i, cq) in queues.iter_mut().enumerate() {
        let mut done = Vec::new();
        collect(&pair.b.context, cq, &mut done, |done| done.len() == 4);
        for completion in done {
            assert_eq!(completion.status, Status::Success);
            assert_eq!(completion.tag % 3, i as u64, "completes with its endpoint");
            let at = completion.work_id as usize * 5000;
            let len = 4000 + completion.tag as usize;
            assert!(sink.memory().to_vec(at, len) == bytes[..len], "message {}", completion.tag);
            places.push(completion.work_id);
        }
    }
    places.sort_unstable();
    assert_eq!(places, (0..12).collect::<Vec<_>>(), "every receive of the ring is used once");
    for id in 0..12 {
        assert_eq!(pair.a.done(false, id).status, Status::Success);
    }
    assert_eq!(ring.recvs_outstanding(), 0);
    // An empty ring is BUSY for all that share it; one receive lets one in.
    for (id, endpoint) in [(100, &endpoints[0]), (101, &endpoints[1])] {
        send(&mut pair.a.endpoint, endpoint.address(), &source, 10, id);
    }
    pair.pass(100);
    assert!(pair.b.dropped(DropReason::BusyReceive) > 0);
    for id in 12..14 {
        ring.post_recv(&RecvRequest { work_id: id, region: &sink, range: 0..5000 }).unwrap();
    }
    for id in [100, 101] {
        assert_eq!(pair.a.done(false, id).status, Status::Success);
    }
    for cq in &mut queues[..2] {
        collect(&pair.b.context, cq, &mut Vec::new(), |done| done.len() == 1);
    }
    pair.assert_returned();
}

/// A sharer that goes takes no receive of the ring along: not that of a message it
/// was receiving, not one whose completion nobody has taken yet.
//= RO-10 test
//= RE-2 test
#[test]
fn a_sharer_that_goes_leaves_the_ring_to_the_others() {
    const LARGE: usize = 400_000;
    let mut pair = pair();
    let mut errors = pair.b.context.create_cq(4).unwrap();
    let mut ring = pair.b.pd.create_shared_receive(2, &errors).unwrap();
    let mut cq = pair.b.context.create_cq(16).unwrap();
    let stays = pair.b.pd.create_sharing_endpoint(&options(0), &cq, &cq, &ring).unwrap();
    let sink = pair.b.pd.register(&DmaMemory::new(LARGE), Access::LOCAL_WRITE).unwrap();
    let source = pair.a.pd.register(&DmaMemory::new(LARGE), Access::READ).unwrap();
    let context = pair.b.context.clone();
    let contexts = || (1 << config().rx_contexts_log2) - context.read(regs::FREE_CONTEXTS).unwrap();
    for (id, (len, own_queue)) in
        [(LARGE, false), (100, false), (LARGE, true), (100, true)].into_iter().enumerate()
    {
        let id = id as u64 * 10;
        let own = context.create_cq(16).unwrap();
        let completes = if own_queue { &own } else { &cq };
        let goes = pair.b.pd.create_sharing_endpoint(&options(0), completes, completes, &ring).unwrap();
        ring.post_recv(&RecvRequest { work_id: id, region: &sink, range: 0..LARGE }).unwrap();
        send(&mut pair.a.endpoint, goes.address(), &source, len, id);
        if len == LARGE {
            for _ in 0..400 {
                if contexts() == 1 {
                    break;
                }
                pair.pass(1);
            }
            assert_eq!(contexts(), 1, "not in the middle of a message");
        } else {
            assert_eq!(pair.a.done(false, id).status, Status::Success);
            pair.pass(20);
        }
        assert_eq!(ring.recvs_outstanding(), 1);
        goes.destroy().unwrap();
        if len == LARGE {
            assert_eq!(pair.a.done(false, id).status, Status::Destroyed);
        }
        drop(own);
        // What it had taken is told to nobody.
        let mut taken = [WorkCompletion::default(); 4];
        assert_eq!((cq.poll(&mut taken).unwrap(), errors.poll(&mut taken).unwrap()), (0, 0));
        assert_eq!(ring.recvs_outstanding(), 0, "{len} bytes, own queue {own_queue}");
        for n in 1..5 {
            ring.post_recv(&RecvRequest { work_id: id + n, region: &sink, range: 0..LARGE }).unwrap();
            send(&mut pair.a.endpoint, stays.address(), &source, 100, id + n);
            let mut done = Vec::new();
            collect(&context, &mut cq, &mut done, |done| done.len() == 1);
            assert_eq!((done[0].work_id, done[0].status), (id + n, Status::Success));
            assert_eq!(pair.a.done(false, id + n).status, Status::Success);
        }
    }
    pair.assert_returned();
}

//= RO-11 test
#[test]
fn a_flood_at_one_endpoint_stops_none_of_the_others() {
    const FLOOD: u64 = 60;
    const LARGE: usize = 40_000;
    let mut pair = pair();
    let context = pair.b.context.clone();
    let mut cq = context.create_cq(1024).unwrap();
    let mut greedy = pair.b.pd.create_endpoint(&options(3), &cq, &cq).unwrap();
    // Every other entry of the table: one is the pair's own endpoint.
    let mut others: Vec<_> = (0..(1 << config().endpoints_log2) - 2)
        .map(|_| {
            let options = EndpointOptions { send_entries: 2, recv_entries: 2, ..options(1) };
            pair.b.pd.create_endpoint(&options, &cq, &cq).unwrap()
        })
        .collect();
    let sink = pair.b.pd.register(&DmaMemory::new(LARGE), Access::LOCAL_WRITE).unwrap();
    for id in 0..FLOOD {
        greedy.post_recv(&RecvRequest { work_id: id, region: &sink, range: 0..LARGE }).unwrap();
    }
    for (i, endpoint) in others.iter_mut().enumerate() {
        endpoint.post_recv(&RecvRequest { work_id: 1000 + i as u64, region: &sink, range: 0..200 }).unwrap();
    }
    let mut sends = pair.a.context.create_cq(1024).unwrap();
    let mut source = pair.a.pd.create_endpoint(&options(0), &sends, &sends).unwrap();
    let region = pair.a.pd.register(&DmaMemory::new(LARGE), Access::READ).unwrap();
    for id in 0..FLOOD {
        send(&mut source, greedy.address(), &region, LARGE, id);
    }
    for (i, endpoint) in others.iter().enumerate() {
        send(&mut source, endpoint.address(), &region, 200, 1000 + i as u64);
    }
    let mut done = Vec::new();
    let small = |done: &[WorkCompletion]| done.iter().filter(|done| done.work_id >= 1000).count();
    collect(&context, &mut cq, &mut done, |done| small(done) == others.len());
    let flood = done.len() - others.len();
    assert!(flood < FLOOD as usize, "the flood was over first: it was none");
    assert!(done.iter().all(|done| done.status == Status::Success));
    assert!(pair.b.dropped(DropReason::BusyQuota) > 0, "the quota was never met");
    assert_eq!(pair.b.dropped(DropReason::BusyReceive), 0, "a ring in the shadow of another");
    // The flood itself is not lost either.
    collect(&context, &mut cq, &mut done, |done| done.len() == FLOOD as usize + others.len());
    let mut sent = Vec::new();
    collect(&pair.a.context, &mut sends, &mut sent, |sent| sent.len() == FLOOD as usize + others.len());
    assert!(sent.iter().all(|sent| sent.status == Status::Success));
    assert_eq!(pair.b.count(Counter::CqOverrun), 0);
    pair.assert_returned();
}

//= TX-15 test
#[test]
fn a_sender_without_end_holds_its_quota_of_slots() {
    const STUCK: u64 = 60;
    let mut pair = pair();
    let mut cq = pair.a.context.create_cq(256).unwrap();
    let quota = EndpointOptions { tx_quota: 5, ..options(0) };
    let mut greedy = pair.a.pd.create_endpoint(&quota, &cq, &cq).unwrap();
    let mut sinks = pair.b.context.create_cq(256).unwrap();
    let mut closed = pair.b.pd.create_endpoint(&options(0), &sinks, &sinks).unwrap();
    let region = pair.a.pd.register(&DmaMemory::new(2000), Access::READ).unwrap();
    // Nobody has posted a receive: none of them can end.
    for id in 0..STUCK {
        send(&mut greedy, closed.address(), &region, 2000, id);
    }
    pair.pass(60);
    let free = pair.a.context.read(regs::FREE_SLOTS).unwrap();
    assert_eq!((1 << config().tx_slots_log2) - free, 5, "slots held");
    assert!(pair.b.dropped(DropReason::BusyReceive) > 0);
    // Others of the NIC pass it by.
    for id in 0..10 {
        pair.deliver(&[7; 3000], id);
    }
    let free = pair.a.context.read(regs::FREE_SLOTS).unwrap();
    assert_eq!((1 << config().tx_slots_log2) - free, 5, "slots held");
    let sink = pair.b.pd.register(&DmaMemory::new(2000), Access::LOCAL_WRITE).unwrap();
    for id in 0..STUCK {
        closed.post_recv(&RecvRequest { work_id: id, region: &sink, range: 0..2000 }).unwrap();
    }
    let (sender, receiver) = (pair.a.context.clone(), pair.b.context.clone());
    let mut done = Vec::new();
    collect(&sender, &mut cq, &mut done, |done| done.len() == STUCK as usize);
    assert!(done.iter().all(|done| done.status == Status::Success));
    collect(&receiver, &mut sinks, &mut Vec::new(), |done| done.len() == STUCK as usize);
    pair.assert_returned();
}

/// Messages to nobody that ask for all the bytes that may go unasked: their endpoint's
/// quota leaves the others theirs, and datagrams behind them.
//= TX-15 test
//= UD-5 test
#[test]
fn a_sender_to_nobody_leaves_unasked_bytes_to_the_others() {
    const LEN: usize = 1 << 20;
    let settings = [(regs::INITIAL_WINDOW, 255)];
    let mut pair =
        Pair::new(nic_model(), &NicOptions::default(), FabricOptions::new(4, 250, 500, 1), &settings);
    let limit = pair.a.context.read(regs::UNSOLICITED_LIMIT).unwrap();
    let cq = pair.a.context.create_cq(256).unwrap();
    let mut greedy: Vec<Endpoint> = [1, 2]
        .into_iter()
        .map(|tx_quota| EndpointOptions { tx_quota, ..options(0) })
        .map(|quota| pair.a.pd.create_endpoint(&quota, &cq, &cq).unwrap())
        .collect();
    let sinks = pair.b.context.create_cq(256).unwrap();
    let closed = pair.b.pd.create_endpoint(&options(0), &sinks, &sinks).unwrap();
    let region = pair.a.pd.register(&DmaMemory::new(LEN), Access::READ).unwrap();
    for id in 0..4 {
        for endpoint in &mut greedy {
            send(endpoint, closed.address(), &region, LEN, id);
        }
    }
    pair.pass(60);
    let taken = pair.a.context.read(regs::UNSOLICITED).unwrap();
    assert!((3 * limit / 16 - 8192..=3 * limit / 16).contains(&taken), "{taken} of {limit} unasked bytes");
    for id in 0..4 {
        pair.deliver(&[7; 100_000], id);
    }
    drop(greedy);
    pair.pass(60);
    pair.assert_returned();
}

/// Tags in the order in which their messages arrived whole: four of round 1,
/// posted second, and four of round 2, which are registered in this order.
fn arrivals(registered: [u16; 2]) -> Vec<u64> {
    const LEN: usize = 100_000;
    // Little credit, and little that goes unasked: almost all is granted.
    let settings = [(regs::CREDIT_LIMIT, 65_536), (regs::INITIAL_WINDOW, 1), (regs::GRANT_QUANTUM, 4)];
    let mut pair =
        Pair::new(nic_model(), &NicOptions::default(), FabricOptions::new(4, 250, 500, 1), &settings);
    let mut cq = pair.b.context.create_cq(16).unwrap();
    let mut sink = pair.b.pd.create_endpoint(&options(0), &cq, &cq).unwrap();
    for round in registered {
        sink.register_round(round, 4).unwrap();
    }
    let memory = pair.b.pd.register(&DmaMemory::new(8 * LEN), Access::LOCAL_WRITE).unwrap();
    for id in 0..8 {
        let range = id * LEN..(id + 1) * LEN;
        sink.post_recv(&RecvRequest { work_id: id as u64, region: &memory, range }).unwrap();
    }
    let bytes: Vec<u8> = (0..LEN).map(|i| (i * 11 + i / 4096) as u8).collect();
    let source = pair.a.pd.register(&DmaMemory::from_slice(&bytes), Access::READ).unwrap();
    for id in 0..8 {
        let round = Some(if id < 4 { 2 } else { 1 });
        let request = SendRequest {
            work_id: id,
            region: &source,
            range: 0..LEN,
            to: sink.address(),
            tag: id,
            immediate: None,
            round,
            payload_size: 4096,
        };
        pair.a.endpoint.post_send(&request).unwrap();
    }
    let mut done = Vec::new();
    let context = pair.b.context.clone();
    collect(&context, &mut cq, &mut done, |done| done.len() == 8);
    for completion in &done {
        assert_eq!(completion.status, Status::Success);
        assert!(memory.memory().to_vec(completion.work_id as usize * LEN, LEN) == bytes);
    }
    for id in 0..8 {
        assert_eq!(pair.a.done(false, id).status, Status::Success);
    }
    assert!(pair.b.count(Counter::GrantsSent) >= 8 * 24 / 4, "hardly anything was granted");
    pair.assert_returned();
    done.iter().map(|completion| completion.tag).collect()
}

//= GR-6 test
#[test]
fn messages_of_the_older_round_end_sooner() {
    if !tessera_testbenches::config().rounds {
        return; // What registering one says: configs.rs.
    }
    for (registered, first) in [([1, 2], 4..8), ([2, 1], 0..4)] {
        let order = arrivals(registered);
        // One of the others may be nearly whole by the time the older ones open.
        assert_eq!(
            order[..5].iter().filter(|tag| first.contains(*tag)).count(),
            4,
            "{registered:?}: {order:?}"
        );
    }
}
