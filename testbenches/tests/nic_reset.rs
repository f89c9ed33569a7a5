//! The reset of a NIC that is at work, on whole NICs: at any moment, under loss
//! and back-pressure, nothing is left half done at its ports, nothing of before
//! does harm, and it does its whole work again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tessera_abi::regs;
use tessera_abi::status::Drop as DropReason;
use tessera_abi::wire::{self, Trh};
use tessera_driver::{
    Access, AddressHandle, ChunkOptions, CompletionEvent, CompletionQueue, Context, ContextOptions,
    DeviceError, DmaMemory, Endpoint, EndpointOptions, MemoryRegion, PostError, ProtectionDomain,
    RecvRequest, SendRequest, Status, WorkCompletion,
};
use tessera_model::scoreboard::Tolerance;
use tessera_model::settings::Settings;
use tessera_sim::cluster::addresses;
use tessera_sim::fabric::{FabricOptions, Faults, Loss, Verdict};
use tessera_sim::judged::{registers, Judged};
use tessera_sim::nic::{DmaHold, DmaOptions, NicEvent, NicOptions};
use tessera_sim::tb::Rng;
use tessera_testbenches::pair::{Pair, Side, QKEY};
use tessera_testbenches::pressed::{model, CONFIG};

/// Messages each way in a round; places of memory, one each.
const MESSAGES: usize = 12;
const PLACE: usize = 24_000;

fn length(id: usize) -> usize {
    [PLACE, 0, 300, 9000, 1, 4096][id % 6]
}

fn content(of: u64, id: usize) -> Vec<u8> {
    (0..length(id) as u64).map(|i| (i * 31 + i / 251 + id as u64 * 13 + of * 57) as u8).collect()
}

/// What one life of a host has in the NIC.
struct Host {
    endpoint: Endpoint,
    cq: CompletionQueue,
    source: MemoryRegion,
    sink: MemoryRegion,
    of: u64,
    done: BTreeMap<(bool, u64), WorkCompletion>,
}

impl Host {
    fn new(context: &Context, pd: &ProtectionDomain, of: u64) -> Self {
        let cq = context.create_cq(64).unwrap();
        let options = EndpointOptions { qkey: QKEY, ..EndpointOptions::default() };
        let endpoint = pd.create_endpoint(&options, &cq, &cq).unwrap();
        let bytes: Vec<u8> = (0..MESSAGES)
            .flat_map(|id| {
                let mut place = content(of, id);
                place.resize(PLACE, 0);
                place
            })
            .collect();
        let source = pd.register(&DmaMemory::from_slice(&bytes), Access::READ).unwrap();
        let sink = pd.register(&DmaMemory::new(MESSAGES * PLACE), Access::LOCAL_WRITE).unwrap();
        Self { endpoint, cq, source, sink, of, done: BTreeMap::new() }
    }

    fn place(id: usize) -> usize {
        id * PLACE
    }

    fn post(&mut self, to: AddressHandle) {
        for id in 0..MESSAGES {
            let range = Self::place(id)..Self::place(id) + PLACE;
            let request = RecvRequest { work_id: id as u64, region: &self.sink, range };
            self.endpoint.post_recv(&request).unwrap();
        }
        for id in 0..MESSAGES {
            self.send(to, id).unwrap();
        }
    }

    fn send(&mut self, to: AddressHandle, id: usize) -> Result<(), PostError> {
        let request = SendRequest {
            work_id: id as u64,
            region: &self.source,
            range: Self::place(id)..Self::place(id) + length(id),
            to,
            tag: id as u64,
            immediate: None,
            round: None,
            payload_size: 1024,
        };
        self.endpoint.post_send(&request)
    }

    /// Takes completions: each request ends once.
    fn poll(&mut self) {
        let mut taken = [WorkCompletion::default(); 7];
        loop {
            let count = self.cq.poll(&mut taken).unwrap();
            for done in &taken[..count] {
                assert_eq!(done.event, CompletionEvent::Ended);
                let before = self.done.insert((done.receive, done.work_id), *done);
                assert!(before.is_none(), "{done:?} ended twice");
            }
            if count < taken.len() {
                return;
            }
        }
    }

    fn is_over(&mut self) -> bool {
        self.poll();
        self.done.len() == 2 * MESSAGES
    }

    /// The status of every send, by its id, or of every receive by its message's tag;
    /// of those without a message apart.
    fn statuses(&self, receive: bool) -> BTreeMap<usize, Status> {
        let ended = self.done.values().filter(|done| done.receive == receive);
        let of = |done: &WorkCompletion| if receive { done.tag } else { done.work_id } as usize;
        ended
            .filter(|done| !receive || done.status == Status::Success)
            .map(|done| (of(done), done.status))
            .collect()
    }

    /// Every receive that succeeded has the bytes of its message.
    fn check(&self, from: u64) {
        for done in self.done.values().filter(|done| done.receive && done.status == Status::Success) {
            let got = self.sink.memory().to_vec(Self::place(done.work_id as usize), done.len as usize);
            assert!(got == content(from, done.tag as usize), "message {} is not what was sent", done.tag);
        }
    }

    /// Whether the bytes of message `id` are in some buffer.
    fn holds(&self, from: u64, id: usize) -> bool {
        let bytes = content(from, id);
        (0..MESSAGES).any(|place| self.sink.memory().to_vec(Self::place(place), bytes.len()) == bytes)
    }
}

/// Both ways, all arrives.
fn exchange(pair: &Pair, life: u64) -> (Host, Host) {
    let host = |side: &Side, of| Host::new(&side.context, &side.pd, of);
    let (mut a, mut b) = (host(&pair.a, 2 * life), host(&pair.b, 2 * life + 1));
    let (to_a, to_b) = (a.endpoint.address(), b.endpoint.address());
    a.post(to_b);
    b.post(to_a);
    (a, b)
}

fn whole(pair: &Pair, life: u64) {
    let (mut a, mut b) = exchange(pair, life);
    for waits in 0.. {
        if a.is_over() & b.is_over() {
            break;
        }
        assert!(
            waits < 40_000,
            "life {life}: {} and {} of {} ended",
            a.done.len(),
            b.done.len(),
            2 * MESSAGES
        );
        pair.pass(1);
    }
    for (host, peer) in [(&a, &b), (&b, &a)] {
        assert!(
            host.done.values().all(|done| done.status == Status::Success),
            "life {life}: {:?}",
            host.done
        );
        host.check(peer.of);
        assert_eq!(host.statuses(true).len(), MESSAGES, "each message once");
    }
}

/// Bounds of senders and receivers, so short that a run sees them.
const BOUNDS: [(regs::Reg, u32); 8] = [
    (regs::PATH_COUNT, 4),
    (regs::RTO, 200),
    (regs::MAX_RETRY, 6),
    (regs::T_OPEN, 12_000),
    (regs::GRANT_WAIT, 12_000),
    (regs::RX_GIVE_UP, 20_000),
    (regs::TIME_WAIT, 30_000),
    (regs::MPL, 1000),
];

fn pair(seed: u64, loss: f64, hurried: bool) -> Pair {
    let faults = Faults { loss: Loss::Uniform(loss), ..Faults::default() };
    let fabric = FabricOptions { faults, ..FabricOptions::new(4, 250, 500, seed) };
    let ready = if hurried { 1.0 } else { 0.6 };
    let dma = DmaOptions { read_delay: (100, 400), write_delay: (60, 300), ready };
    let tx_stall = if hurried { 0.0 } else { 0.3 };
    let options = NicOptions { dma_ctrl: dma, dma_data: dma, tx_stall, seed };
    Pair::new(model(), &options, fabric, &BOUNDS)
}

/// Generations by slot, of the messages seen on the wire: they only count on.
#[derive(Default)]
struct Names {
    last: BTreeMap<u32, u32>,
    seen: BTreeSet<u32>,
}

impl Names {
    fn see(&mut self, frame: &[u8], reset: bool) {
        let packet = wire::parse(frame).expect("a whole packet");
        assert!(packet.icrc_ok, "a frame was cut");
        let Trh::Data(header) = &packet.trh else { return };
        let (slot, generation) = (header.message.0 >> 20, header.message.0 & 0xF_FFFF);
        if let Some(last) = self.last.insert(slot, generation) {
            let step = generation.wrapping_sub(last) & 0xF_FFFF;
            assert!(step <= 64, "slot {slot}: generation {generation:#x} after {last:#x}");
            assert!(!reset || step > 0, "slot {slot}: generation {generation:#x} again after a reset");
        }
        self.seen.insert(slot);
    }
}

/// One reset in the middle, and all that must hold.
fn resets(seed: u64, loss: f64, hurried: bool, lives: u64) {
    let mut rng = Rng::new(seed);
    let pair = pair(seed, loss, hurried);
    [0, 1].into_iter().for_each(|nic| pair.cluster.lock().nic_mut(nic).observe());
    let mut names = Names::default();
    // Frames of lives before, that come in late.
    let mut late: Vec<Vec<u8>> = Vec::new();
    let mut dead: Vec<(Host, Vec<u8>)> = Vec::new();
    let mut flushed = [0; 2];
    let mut lost_answers = 0;
    for life in 0..lives {
        let (mut a, mut b) = exchange(&pair, life);
        // Anything from the first doorbell to the last completion.
        pair.pass(rng.below(60) as usize);
        a.poll();
        pair.a.context.reset().unwrap_or_else(|error| panic!("life {life}: {error}"));
        {
            let mut cluster = pair.cluster.lock();
            assert_eq!(cluster.nics()[0].open_accesses(), 0, "life {life}: something is left open");
            for event in cluster.take_events().swap_remove(0).1 {
                match event {
                    NicEvent::Sent(frame) => names.see(&frame.bytes, false),
                    NicEvent::Received { bytes, .. } => late.push(bytes),
                    _ => {}
                }
            }
        }
        // What comes next of a slot belongs to a new message.
        let mut fresh = Names { last: std::mem::take(&mut names.last), seen: BTreeSet::new() };

        // Everything has ended, with no more clocks of the NIC.
        assert!(a.is_over(), "life {life}: {:?} have ended", a.done.keys());
        let allowed = |status: Status| [Status::Success, Status::Flushed].contains(&status);
        assert!(a.done.values().all(|done| allowed(done.status)), "life {life}: {:?}", a.done);
        for receive in [false, true] {
            let all = a.done.values().filter(|done| done.receive == receive);
            flushed[usize::from(receive)] += all.filter(|done| done.status == Status::Flushed).count();
        }
        assert_eq!(a.endpoint.sends_outstanding() + a.endpoint.recvs_outstanding(), 0);
        let again = a.send(b.endpoint.address(), 0);
        assert_eq!(again, Err(PostError::Device(DeviceError::Reset)));

        // Its peer's requests end too, by their own bounds; and what anybody was told
        // is true.
        for waits in 0.. {
            b.poll();
            let waiting = (0..MESSAGES as u64).filter(|id| !b.done.contains_key(&(false, *id))).count();
            let contexts = pair.b.context.read(regs::FREE_CONTEXTS).unwrap();
            if waiting == 0 && contexts == 1 << CONFIG.rx_contexts_log2 {
                break;
            }
            assert!(waits < 60_000, "life {life}: {waiting} sends to the NIC of before do not end");
            pair.pass(4);
        }
        b.poll();
        a.check(b.of);
        b.check(a.of);
        let (sent, received) = (a.statuses(false), b.statuses(true));
        for id in sent.iter().filter(|(_, status)| **status == Status::Success).map(|(id, _)| id) {
            assert!(received.contains_key(id), "life {life}: send {id} succeeded, and nothing was received");
        }
        for (id, status) in b.statuses(false) {
            match status {
                Status::Success => assert!(a.holds(b.of, id), "life {life}: message {id} is nowhere"),
                Status::Unheard | Status::RetryExceeded | Status::GrantTimeout | Status::ReceiverNotReady => {
                    lost_answers += 1;
                }
                other => panic!("life {life}: send {id} to the NIC of before ended as {other:?}"),
            }
        }
        for done in b.done.values().filter(|done| done.receive) {
            assert!(
                [Status::Success, Status::GaveUp].contains(&done.status),
                "life {life}: {done:?} of the NIC of before"
            );
        }
        drop(b);
        pair.pass(10);

        // Memory of before is nobody's any more, whatever still comes in.
        let kept = a.sink.memory().to_vec(0, MESSAGES * PLACE);
        dead.push((a, kept));
        let before: Vec<_> = DropReason::ALL.iter().map(|&reason| pair.a.dropped(reason)).collect();
        let count = late.len().min(60);
        for _ in 0..count {
            pair.inject(0, rng.pick(&late).clone());
        }
        pair.pass(20);
        let after: Vec<_> = DropReason::ALL.iter().map(|&reason| pair.a.dropped(reason)).collect();
        let dropped: u32 = before.iter().zip(&after).map(|(before, after)| after - before).sum();
        let endpoint = DropReason::ALL.iter().position(|&reason| reason == DropReason::Endpoint).unwrap();
        assert_eq!(after[endpoint] - before[endpoint], dropped, "life {life}: not all for their endpoint");
        assert_eq!(dropped as usize, count, "life {life}: late packets that were not dropped");

        // The whole work again, with late packets of before in between.
        late.iter().take(200).for_each(|frame| pair.inject(0, frame.clone()));
        whole(&pair, 1000 + life);
        for event in pair.cluster.lock().take_events().swap_remove(0).1 {
            if let NicEvent::Sent(frame) = event {
                let first = wire::parse(&frame.bytes).is_ok_and(|packet| match packet.trh {
                    Trh::Data(header) => !fresh.seen.contains(&(header.message.0 >> 20)),
                    _ => false,
                });
                fresh.see(&frame.bytes, first);
            }
        }
        names = fresh;
        for (host, kept) in &dead {
            assert!(host.sink.memory().to_vec(0, kept.len()) == *kept, "a buffer of before was written");
        }
    }
    println!("{lives} resets: {flushed:?} sends and receives flushed, {lost_answers} sends of peers ended by bounds");
    assert!(flushed[0] > 0 && flushed[1] > 0 && lost_answers > 0, "never in the middle of anything");
    // No frame was cut, at either side; counters go on through resets.
    for side in [&pair.a, &pair.b] {
        for reason in [DropReason::Frame, DropReason::Length, DropReason::Icrc] {
            assert_eq!(side.dropped(reason), 0, "{reason:?}");
        }
    }
    for nic in pair.cluster.lock().nics() {
        assert_eq!((nic.dma_faults(), nic.offers_taken_back()), (0, 0));
    }
}

//= RS-1 test
//= RS-2 test
//= RS-4 test
//= RS-5 test
#[test]
fn a_nic_reset_at_work_does_its_whole_work_again() {
    for seed in tessera_testbenches::seeds("nic_reset::resets") {
        resets(seed, 0.0, true, 4);
    }
}

#[test]
fn also_under_loss_and_back_pressure() {
    for seed in tessera_testbenches::seeds("nic_reset::pressed") {
        resets(seed.wrapping_add(100), 0.02, false, 6);
    }
}

/// Who does not let go shows, alone, and the reset goes on when it does.
//= RS-3 test
#[test]
fn who_does_not_answer_is_waited_for_and_named() {
    let (none, reads, writes) =
        (DmaHold::default(), DmaHold { reads: true, writes: false }, DmaHold { reads: false, writes: true });
    let neighbours = [
        (true, none, none),
        (false, reads, none),
        (false, writes, none),
        (false, none, reads),
        (false, none, writes),
    ];
    let seed = tessera_testbenches::seed("nic_reset::held");
    let pair = pair(seed, 0.0, true);
    for (bit, (mac, ctrl, data)) in (1..).zip(neighbours) {
        let read = |reg| pair.a.context.read(reg).unwrap();
        pair.cluster.lock().nic_mut(0).hold(mac, ctrl, data);
        let hosts = exchange(&pair, bit);
        pair.pass(60);
        pair.a.context.write(regs::RESET, 1).unwrap();
        pair.pass(60);
        for _ in 0..20 {
            assert_eq!(read(regs::RESET_STATUS), 1 | 1 << bit, "who is waited for");
            assert_eq!(read(regs::STATUS), 0);
            pair.pass(10);
        }
        pair.cluster.lock().nic_mut(0).hold(false, none, none);
        pair.pass(20);
        assert_eq!(read(regs::RESET_STATUS), 0);
        pair.a.context.reset().unwrap();
        drop(hosts);
        whole(&pair, 100 + bit);
    }
    for nic in pair.cluster.lock().nics() {
        assert_eq!((nic.dma_faults(), nic.offers_taken_back()), (0, 0));
    }
}

/// The same beside the scoreboard: until the reset all is as it must be, from then
/// on nothing of before leaves, and generations count on.
//= RS-1 test
//= RS-2 test
#[test]
fn resets_beside_the_scoreboard() {
    let seed = tessera_testbenches::seed("nic_reset::judged");
    let settings = Settings {
        path_count: 4,
        rto: 200,
        max_retry: 6,
        t_open: 12_000,
        grant_wait: 12_000,
        rx_give_up: 20_000,
        time_wait: 30_000,
        mpl: 1000,
        ..Settings::default()
    };
    let faults = Faults { loss: Loss::Uniform(0.01), ..Faults::default() };
    let fabric = FabricOptions { faults, ..FabricOptions::new(4, 250, 500, seed) };
    let options = NicOptions { seed, ..NicOptions::default() };
    let mut judged = Judged::new(model(), CONFIG, 2, (&options, fabric), Tolerance::default()).unwrap();
    let contexts = [0, 1].map(|nic| {
        let (mac, ip) = addresses(nic);
        let settings = registers(&settings);
        let options = ContextOptions { mac, ip, ip6: None, vlan: None, seed: 5 + nic as u32, settings };
        Context::open(judged.cluster().device(nic), options).unwrap()
    });
    let domains = contexts.each_ref().map(Context::alloc_pd);
    judged.begin();
    let mut rng = Rng::new(seed);
    const LIVES: u64 = 4;
    for life in 0..LIVES {
        let [mut a, mut b] =
            [0, 1].map(|nic| Host::new(&contexts[nic], &domains[nic], 2 * life + nic as u64));
        let (to_a, to_b) = (a.endpoint.address(), b.endpoint.address());
        a.post(to_b);
        b.post(to_a);
        let last = life + 1 == LIVES;
        for _ in 0..if last { 0 } else { rng.below(60) } {
            judged.pass().unwrap();
        }
        if !last {
            contexts[0].reset().unwrap();
            judged.judge();
        }
        // Receives that no message took do not end.
        let ends = |host: &Host| (0..MESSAGES as u64).all(|id| host.done.contains_key(&(false, id)));
        for waits in 0.. {
            a.poll();
            b.poll();
            let rooms = contexts[1].read(regs::FREE_CONTEXTS).unwrap() == 1 << CONFIG.rx_contexts_log2;
            if ends(&a) && ends(&b) && rooms {
                break;
            }
            assert!(waits < 60_000, "life {life}: {} and {} have ended", a.done.len(), b.done.len());
            judged.pass().unwrap();
        }
        if last {
            assert!(a.done.values().chain(b.done.values()).all(|done| done.status == Status::Success));
        }
        // The scoreboard is not told of endpoints that go: they stay, in the next life too.
        std::mem::forget((a, b));
    }
    assert_eq!(judged.kept(&contexts).unwrap(), Vec::<String>::new());
    let (summary, violations) = judged.finish();
    for violation in violations.iter().take(20) {
        eprintln!("{violation}");
    }
    assert!(violations.is_empty(), "{} violations in {summary:?}", violations.len());
    assert!(summary.completions > 60 && summary.writes > 100, "{summary:?}");
}

/// Software that watches a message over a reset and does not know of it.
//= HR-5 test
//= RS-1 test
#[test]
fn an_order_finds_no_message_of_before() {
    const PACKETS: u32 = 300;
    let pair = pair(3, 0.0, true);
    let (mut a, mut b) =
        (Host::new(&pair.a.context, &pair.a.pd, 0), Host::new(&pair.b.context, &pair.b.pd, 1));
    let options = ChunkOptions { packets_per_chunk: 1, most_packets: PACKETS };
    let whole_len = options.area_len().unwrap() + PACKETS as usize * 1024;
    let memory = DmaMemory::new(whole_len);
    let region = pair.b.pd.register(&memory, Access::LOCAL_WRITE).unwrap();
    let request = RecvRequest { work_id: 0, region: &region, range: 0..whole_len };
    let watch = b.endpoint.post_chunked_recv(&request, &options).unwrap();
    // The end of the message is lost for good.
    pair.script(Box::new(|_, from, frame| match wire::parse(frame).map(|packet| packet.trh) {
        Ok(Trh::Data(header)) if from == 0 && header.index > 200 => Verdict::Lose,
        _ => Verdict::Pass,
    }));
    let source = pair.a.pd.register(&DmaMemory::new(PACKETS as usize * 1024), Access::READ).unwrap();
    let request = SendRequest {
        work_id: 0,
        region: &source,
        range: 0..PACKETS as usize * 1024,
        to: b.endpoint.address(),
        tag: 9,
        immediate: None,
        round: None,
        payload_size: 1024,
    };
    a.endpoint.post_recoverable_send(&request).unwrap();
    pair.pass(200);
    let message = watch.message().expect("it has opened");
    let context = &pair.b.context;
    let read = |reg| context.read(reg).unwrap();
    // By registers: the driver knows of the reset and would not ask.
    let meets = |order: u32| {
        context.write(regs::RECOVER_MESSAGE, message.handle).unwrap();
        context.write(regs::RECOVER_ORDER, order).unwrap();
        pair.pass(2);
        let status = read(regs::RECOVER_STATUS);
        assert_eq!(status & regs::ORDER_BUSY, 0, "an order is not taken");
        status & regs::ORDER_MET != 0
    };
    assert!(meets(PACKETS), "it is open");
    assert!(read(regs::FREE_BLOCKS) < (1 << CONFIG.bitmap_blocks_log2) - 1);

    context.reset().unwrap();
    pair.no_script();
    let gauges = || [regs::FREE_BLOCKS, regs::FREE_CONTEXTS, regs::OUTSTANDING].map(read);
    let before = gauges();
    assert!(!meets(PACKETS), "an order met a message of before the reset");
    assert!(!meets(regs::ORDER_PARTIAL), "an order ended a message of before the reset");
    pair.pass(20);
    assert_eq!(gauges(), before);
    b.poll();
    let ends: Vec<_> = b.done.values().map(|done| (done.receive, done.status)).collect();
    assert_eq!(ends, [(true, Status::Flushed)]);
    drop((a, b));
    whole(&pair, 3);
    assert!(!meets(regs::ORDER_PARTIAL));
    assert_eq!(read(regs::OUTSTANDING), 0);
}

/// With nothing to do, twice in a row, in the middle of clearing: it is soon over.
#[test]
fn an_idle_nic_is_reset_at_once() {
    let pair = pair(1, 0.0, true);
    for life in 0..3 {
        let start = pair.cluster.lock().clock();
        pair.a.context.reset().unwrap();
        let took = pair.cluster.lock().clock() - start;
        assert!(took < 40_000, "{took} clocks for nothing");
        pair.a.context.write(regs::RESET, 1).unwrap();
        pair.pass(life);
        pair.a.context.reset().unwrap();
        whole(&pair, life as u64);
    }
    let memory: Arc<DmaMemory> = DmaMemory::new(1);
    assert!(pair.a.pd.register(&memory, Access::READ).is_ok(), "protection domains stay");
}
