//! Tag matching on whole NICs, as a host program sees it: tags in any order,
//! messages nobody has asked for yet, and cancels that race with messages.

use std::collections::HashMap;

use tessera_abi::regs::Counter;
use tessera_driver::{
    Access, CompletionEvent, CompletionQueue, Context, CreateError, DmaMemory, Endpoint, EndpointOptions,
    MemoryRegion, RecvRequest, SendRequest, Status, WorkCompletion,
};
use tessera_sim::fabric::FabricOptions;
use tessera_sim::nic::NicOptions;
use tessera_sim::tb::Rng;
use tessera_testbenches::nic_model;
use tessera_testbenches::pair::{Pair, QKEY};

/// Bytes of a buffer.
const LEN: usize = 6000;
/// First work id of receives for whatever comes; up to 272 of them have buffers
/// of their own beside 240 tagged ones.
const PLAIN: u64 = 1264;

/// How many of them are posted ahead: fewer than are prefetched, or tagged ones would
/// wait behind them.
fn plains() -> u64 {
    ((1 << tessera_testbenches::config().rq_prefetch_log2) - 2).clamp(1, 30)
}

fn shuffle<T>(rng: &mut Rng, items: &mut [T]) {
    for i in (1..items.len()).rev() {
        items.swap(i, rng.below(i as u64 + 1) as usize);
    }
}

/// Whether the configuration has no room for tagged receives, in which case the driver says so.
fn there_are_no_tags(seed: u64) -> bool {
    if tessera_testbenches::config().tagged_log2 != 0 {
        return false;
    }
    let pair = Pair::new(nic_model(), &NicOptions::default(), FabricOptions::new(4, 250, 500, seed), &[]);
    let cq = pair.b.context.create_cq(16).unwrap();
    let tags = EndpointOptions { qkey: QKEY, tags: true, ..Default::default() };
    assert_eq!(pair.b.pd.create_endpoint(&tags, &cq, &cq).unwrap_err(), CreateError::NoTags);
    true
}

/// Two NICs, an endpoint that matches tags on the second.
struct Bench {
    pair: Pair,
    context: Context,
    cq: CompletionQueue,
    endpoint: Endpoint,
    source: Endpoint,
    sends: CompletionQueue,
    sink: MemoryRegion,
    data: MemoryRegion,
    sent: u64,
}

impl Bench {
    fn new(seed: u64) -> Self {
        let fabric = FabricOptions::new(4, 250, 500, seed);
        let pair = Pair::new(nic_model(), &NicOptions::default(), fabric, &[]);
        let context = pair.b.context.clone();
        let cq = context.create_cq(2048).unwrap();
        let options =
            EndpointOptions { qkey: QKEY, send_entries: 512, recv_entries: 1024, ..Default::default() };
        let tags = EndpointOptions { tags: true, ..options };
        let endpoint = pair.b.pd.create_endpoint(&tags, &cq, &cq).unwrap();
        let sends = pair.a.context.create_cq(1024).unwrap();
        let source = pair.a.pd.create_endpoint(&options, &sends, &sends).unwrap();
        let sink = pair.b.pd.register(&DmaMemory::new(512 * LEN), Access::LOCAL_WRITE).unwrap();
        let bytes: Vec<u8> = (0..LEN + 512).map(|i| (i * 11 + i / 256) as u8).collect();
        let data = pair.a.pd.register(&DmaMemory::from_slice(&bytes), Access::READ).unwrap();
        Bench { pair, context, cq, endpoint, source, sends, sink, data, sent: 0 }
    }

    /// Sends a message of this tag; its bytes and length say its number.
    fn send(&mut self, tag: u64) -> u64 {
        let number = self.sent;
        self.sent += 1;
        let from = number as usize % 512;
        let request = SendRequest {
            work_id: number,
            region: &self.data,
            range: from..from + Self::len(number),
            to: self.endpoint.address(),
            tag,
            immediate: Some(number as u32),
            payload_size: 1024,
            round: None,
        };
        self.source.post_send(&request).unwrap();
        number
    }

    fn len(number: u64) -> usize {
        1 + number as usize * 37 % LEN
    }

    fn request(&self, id: u64) -> RecvRequest<'_> {
        let at = id as usize % 512 * LEN;
        RecvRequest { work_id: id, region: &self.sink, range: at..at + LEN }
    }

    fn post(&mut self, tag: u64, id: u64) {
        let at = id as usize % 512 * LEN;
        let request = RecvRequest { work_id: id, region: &self.sink, range: at..at + LEN };
        self.endpoint.post_tagged_recv(tag, &request).unwrap();
    }

    fn post_plain(&mut self, id: u64) {
        let at = id as usize % 512 * LEN;
        let request = RecvRequest { work_id: id, region: &self.sink, range: at..at + LEN };
        self.endpoint.post_recv(&request).unwrap();
    }

    /// Buffer `id` holds what the completion says.
    fn check(&self, done: &WorkCompletion) {
        assert_eq!(done.status, Status::Success);
        let number = u64::from(done.immediate.expect("every message has its number"));
        let (from, len) = (number as usize % 512, Self::len(number));
        assert_eq!(done.len as usize, len);
        let at = self.request(done.work_id).range.start;
        let got = self.sink.memory().to_vec(at, len);
        assert!(got == self.data.memory().to_vec(from, len), "message {number} is not what was sent");
    }

    /// What is there now.
    fn poll(&mut self) -> Vec<WorkCompletion> {
        let mut taken = [WorkCompletion::default(); 64];
        let count = self.cq.poll(&mut taken).unwrap();
        taken[..count].to_vec()
    }

    /// Every send has ended well, and both NICs have everything back.
    fn finish(mut self) {
        let mut taken = [WorkCompletion::default(); 64];
        let mut ended = 0;
        for _ in 0..60_000 {
            let count = self.sends.poll(&mut taken).unwrap();
            assert!(taken[..count].iter().all(|done| done.status == Status::Success));
            ended += count as u64;
            if ended == self.sent {
                break;
            }
            self.context.wait().unwrap();
        }
        assert_eq!(ended, self.sent, "sends that never end");
        assert_eq!(self.pair.b.count(Counter::CqOverrun), 0);
        assert_eq!(self.pair.b.count(Counter::TagsFull), 0);
        self.pair.assert_returned();
    }
}

//= TM-2 test
#[test]
fn messages_find_their_receives_whatever_the_order() {
    let seed = tessera_testbenches::seed("nic_tags::order");
    if there_are_no_tags(seed) {
        return;
    }
    let mut rng = Rng::new(seed);
    let mut bench = Bench::new(seed);
    // 120 receives of 40 tags, three of each, in any order.
    let mut tags: Vec<u64> = (0..120).map(|i| (i % 40) << 33 | 7).collect();
    shuffle(&mut rng, &mut tags);
    for (id, tag) in tags.iter().enumerate() {
        bench.post(*tag, id as u64);
    }
    for id in 200..210 {
        bench.post_plain(id);
    }
    let (mut told, mut posted) = (Vec::new(), 0);
    while posted < 120 {
        for done in bench.poll() {
            assert_eq!((done.event, done.status), (CompletionEvent::Posted, Status::Success));
            assert_eq!(done.work_id, posted, "in the order of the ring");
            posted += 1;
        }
        bench.context.wait().unwrap();
    }
    let mut messages = tags.clone();
    messages.extend((0..10).map(|i| 1 << (50 + i)));
    shuffle(&mut rng, &mut messages);
    for tag in &messages {
        bench.send(*tag);
    }
    for _ in 0..60_000 {
        told.extend(bench.poll());
        if told.iter().filter(|done| done.event == CompletionEvent::Ended).count() == 130 {
            break;
        }
        bench.context.wait().unwrap();
    }
    let mut unexpected = HashMap::new();
    let mut of_tag: HashMap<u64, Vec<u64>> = HashMap::new();
    for done in &told {
        match done.event {
            CompletionEvent::Unexpected => {
                assert!(done.tag >= 1 << 50 && done.work_id >= 200);
                unexpected.insert(done.work_id, done.tag);
            }
            CompletionEvent::Ended if done.work_id >= 200 => {
                bench.check(done);
                // What begins is told of before it ends.
                assert_eq!(unexpected.get(&done.work_id), Some(&done.tag));
            }
            CompletionEvent::Ended => {
                bench.check(done);
                assert_eq!(done.tag, tags[done.work_id as usize]);
                of_tag.entry(done.tag).or_default().push(done.work_id);
            }
            other => panic!("{other:?} of nothing"),
        }
    }
    assert_eq!((unexpected.len(), of_tag.len()), (10, 40));
    assert!(of_tag.values().all(|ids| ids.len() == 3));
    bench.finish();
}

/// A host's own matching on top: what it looks for may be there already.
#[derive(Default)]
struct Matching {
    /// Receives wanted and not satisfied, by id: tag.
    wanted: HashMap<u64, u64>,
    /// Messages that opened unexpected and belong to nobody yet: (plain receive, tag).
    strangers: Vec<(u64, u64)>,
    /// Of a post that came after its message: the plain receive that has it.
    found: HashMap<u64, u64>,
    /// Ids of receives that are in place.
    in_place: Vec<u64>,
}

//= TM-4 test
//= TM-6 test
#[test]
fn a_post_that_comes_after_its_message_is_cancelled_without_a_race() {
    const MESSAGES: u64 = 240;
    let seed = tessera_testbenches::seed("nic_tags::race");
    if there_are_no_tags(seed) {
        return;
    }
    let mut rng = Rng::new(seed);
    let mut bench = Bench::new(seed);
    let mut host = Matching::default();
    // Their buffers are not those of the tagged ones.
    let mut next_plain = PLAIN + plains();
    for id in PLAIN..next_plain {
        bench.post_plain(id);
    }
    // Each tag is sent once and wanted once, at about the same time.
    let mut to_send: Vec<u64> = (0..MESSAGES).collect();
    let mut to_want: Vec<u64> = (0..MESSAGES).collect();
    shuffle(&mut rng, &mut to_send);
    shuffle(&mut rng, &mut to_want);
    let (mut received, mut plain_ended) = (HashMap::new(), HashMap::new());
    let (mut matched, mut early, mut cancelled, mut late) = (0, 0, 0, 0);
    let mut patience = 60_000;
    while received.len() < MESSAGES as usize {
        for _ in 0..rng.below(6) {
            if let Some(tag) = to_send.pop() {
                bench.send(tag);
            }
        }
        for _ in 0..rng.below(6) {
            let Some(tag) = to_want.pop() else { break };
            // Is it here already? Then no post at all.
            match host.strangers.iter().position(|(_, of)| *of == tag) {
                Some(place) => {
                    let (plain, _) = host.strangers.swap_remove(place);
                    host.found.insert(plain, tag);
                    early += 1;
                }
                None => {
                    host.wanted.insert(tag, tag);
                    bench.post(tag, tag);
                }
            }
        }
        for done in bench.poll() {
            match done.event {
                CompletionEvent::Posted => host.in_place.push(done.work_id),
                CompletionEvent::Unexpected => {
                    let waits = host.wanted.contains_key(&done.tag);
                    let was_in_place = host.in_place.contains(&done.tag);
                    assert!(!was_in_place, "tag {} opened past its receive", done.tag);
                    if waits {
                        // The message came before the post: cancel that.
                        host.found.insert(done.work_id, done.tag);
                    } else {
                        host.strangers.push((done.work_id, done.tag));
                    }
                }
                CompletionEvent::Ended if done.work_id >= PLAIN => {
                    bench.check(&done);
                    plain_ended.insert(done.work_id, done.tag);
                    bench.post_plain(next_plain);
                    next_plain += 1;
                }
                CompletionEvent::Ended => {
                    bench.check(&done);
                    assert!(host.wanted.remove(&done.work_id).is_some());
                    assert!(received.insert(done.work_id, done.work_id).is_none(), "received twice");
                    matched += 1;
                }
                CompletionEvent::Cancelled => match done.status {
                    Status::Success => {
                        assert!(host.wanted.remove(&done.work_id).is_some());
                        cancelled += 1;
                    }
                    status => {
                        assert_eq!(status, Status::NotPosted);
                        late += 1;
                    }
                },
            }
        }
        // Posts that came too late are taken back once they are in place.
        let mut found: Vec<u64> = host.found.values().copied().collect();
        found.sort_unstable();
        for tag in found {
            if let Some(place) = host.in_place.iter().position(|id| *id == tag) {
                host.in_place.swap_remove(place);
                bench.endpoint.cancel(tag, tag).unwrap();
            }
        }
        let whole: Vec<u64> = plain_ended.keys().copied().filter(|id| host.found.contains_key(id)).collect();
        for plain in whole {
            let tag = host.found[&plain];
            // Its own post, if there was one, must be out of the way first.
            if !host.wanted.contains_key(&tag) {
                assert_eq!(plain_ended.remove(&plain), Some(tag));
                host.found.remove(&plain);
                assert!(received.insert(tag, plain).is_none(), "received twice");
            }
        }
        patience -= 1;
        assert!(patience > 0, "{} of {MESSAGES} received", received.len());
        bench.context.wait().unwrap();
    }
    println!("{matched} matched, {early} were there, {cancelled} cancelled, {late} cancels too late");
    assert_eq!(matched + early + cancelled, MESSAGES as usize);
    assert!(matched > 0 && early > 0 && cancelled > 0, "one of the ways was never taken");
    assert_eq!(late, 0, "each tag is sent once, so nothing can match what is taken back");
    bench.finish();
}

//= TM-4 test
#[test]
fn a_cancel_against_its_message_has_one_winner() {
    let seed = tessera_testbenches::seed("nic_tags::cancel");
    if there_are_no_tags(seed) {
        return;
    }
    let mut rng = Rng::new(seed);
    let mut bench = Bench::new(seed);
    let mut next_plain = PLAIN + plains();
    for id in PLAIN..next_plain {
        bench.post_plain(id);
    }
    let (mut won, mut lost, mut plain) = (0, 0, 0);
    for round in 0..60u64 {
        bench.post(round, round);
        let mut patience = 20_000;
        while !bench.poll().iter().any(|done| done.event == CompletionEvent::Posted) {
            bench.context.wait().unwrap();
            patience -= 1;
            assert!(patience > 0, "round {round} is never in place");
        }
        bench.send(round);
        for _ in 0..rng.below(60) {
            bench.context.wait().unwrap();
        }
        let mut told = bench.poll();
        let at_once = told.iter().any(|done| done.event == CompletionEvent::Ended);
        if !at_once {
            bench.endpoint.cancel(round, round).unwrap();
        }
        let mut patience = 20_000;
        let ended = |told: &[WorkCompletion]| {
            let is = |done: &&WorkCompletion| done.event == CompletionEvent::Ended;
            let cancels = told.iter().filter(|done| done.event == CompletionEvent::Cancelled).count();
            told.iter().filter(is).count() == 1 && cancels == usize::from(!at_once)
        };
        while !ended(&told) {
            told.extend(bench.poll());
            bench.context.wait().unwrap();
            patience -= 1;
            assert!(patience > 0, "round {round}: {told:?}");
        }
        let end = *told.iter().find(|done| done.event == CompletionEvent::Ended).unwrap();
        bench.check(&end);
        match told.iter().find(|done| done.event == CompletionEvent::Cancelled) {
            Some(cancel) if cancel.status == Status::Success => {
                assert!(end.work_id >= PLAIN, "both sides own buffer {round}");
                won += 1;
            }
            Some(cancel) => {
                assert_eq!((cancel.status, end.work_id), (Status::NotPosted, round));
                lost += 1;
            }
            None => assert_eq!(end.work_id, round),
        }
        if end.work_id >= PLAIN {
            plain += 1;
            bench.post_plain(next_plain);
            next_plain += 1;
        }
    }
    println!("{won} cancels won, {lost} lost");
    assert_eq!(plain, won);
    assert!(won > 0 && lost > 0, "one side was never first");
    bench.finish();
}
