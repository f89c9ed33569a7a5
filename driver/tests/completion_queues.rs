//! Completion queues that go, that outlive endpoints, and that a reset finds full,
//! against a device of registers only.

// Each test program uses its part of it.
#[allow(dead_code)]
mod fake;

use std::sync::Arc;

use fake::Fake;
use tessera_abi::queue::{self, done};
use tessera_abi::regs::{self, table};
use tessera_driver::*;

const PLAIN: EndpointOptions = EndpointOptions { qkey: 0, rx_quota: 0, ..fake::SMALL };

/// Of every queue here.
const ENTRIES: usize = 4;

struct Bench {
    fake: Arc<Fake>,
    context: Context,
    pd: ProtectionDomain,
    region: MemoryRegion,
}

fn bench() -> Bench {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), fake::options()).unwrap();
    let pd = context.alloc_pd();
    let region = pd.register(&DmaMemory::new(1000), Access::LOCAL_WRITE).unwrap();
    Bench { fake, context, pd, region }
}

impl Bench {
    fn cq(&self) -> CompletionQueue {
        self.context.create_cq(ENTRIES).unwrap()
    }

    fn send(&self, endpoint: &mut Endpoint, work_id: u64) -> Result<(), PostError> {
        endpoint.post_send(&SendRequest {
            work_id,
            region: &self.region,
            range: 0..10,
            to: AddressHandle::ipv4([2, 0, 0, 0, 0, 9], [10, 0, 0, 9], 0x12_3456, 0),
            tag: 0,
            immediate: None,
            round: None,
            payload_size: 256,
        })
    }

    fn recv(&self, work_id: u64) -> RecvRequest<'_> {
        RecvRequest { work_id, region: &self.region, range: 0..10 }
    }

    /// Where a queue is in memory, by its table entry.
    fn base(&self, number: u32) -> u64 {
        let words = self.fake.table(table::CQ, number);
        u64::from(words[2]) | u64::from(words[3]) << 32
    }

    fn mapped(&self, address: u64) -> bool {
        self.fake.mapped.lock().unwrap().contains_key(&address)
    }

    fn set(&self, offset: u32, value: u32) {
        self.fake.registers.lock().unwrap().insert(offset, value);
    }

    fn complete(&self, number: u32, n: usize, fields: &[(usize, u8)]) {
        self.fake.complete((number, ENTRIES), n, fields);
    }

    fn sent(&self, number: u32, n: usize, endpoint: u32, entry: u8) {
        let fields =
            [(done::OPCODE, queue::DONE_SEND), (done::ENDPOINT, endpoint as u8), (done::ENTRY, entry)];
        self.complete(number, n, &fields);
    }

    fn received(&self, number: u32, n: usize, (endpoint, ring): (u32, u32), entry: u8) {
        let fields = [
            (done::OPCODE, queue::DONE_RECV),
            (done::ENDPOINT, endpoint as u8),
            (done::RING, ring as u8),
            (done::ENTRY, entry),
        ];
        self.complete(number, n, &fields);
    }
}

fn poll(cq: &mut CompletionQueue) -> Vec<(u64, Status)> {
    let mut taken = [WorkCompletion::default(); 2];
    let mut all = Vec::new();
    loop {
        let count = cq.poll(&mut taken).unwrap();
        if count == 0 {
            return all;
        }
        all.extend(taken[..count].iter().map(|done| (done.work_id, done.status)));
    }
}

fn index(endpoint: &Endpoint) -> u32 {
    endpoint.number() & 0xFF
}

/// What the NIC has taken up for it may come in until the endpoint is reclaimed.
#[test]
fn a_dropped_queue_stays_until_the_nic_has_let_go_of_its_last_endpoint() {
    let bench = bench();
    let cq = bench.cq();
    let endpoint = bench.pd.create_endpoint(&PLAIN, &cq, &cq).unwrap();
    let base = bench.base(0);
    drop(cq);
    assert!(bench.mapped(base));
    assert_eq!(bench.fake.table(table::CQ, 0)[0] & 1, 1, "its table entry stays too");
    // A reclaim that is not over in time holds it as well.
    bench.set(regs::RECLAIM_STATUS.offset, 1);
    assert!(matches!(endpoint.destroy(), Err(DestroyError::Held { .. })));
    assert!(bench.mapped(base));
    assert_eq!(bench.fake.table(table::CQ, 0)[0] & 1, 1);
    bench.set(regs::RECLAIM_STATUS.offset, 0);
    let _other = bench.cq();
    assert_eq!(bench.fake.mapped.lock().unwrap().len(), 2, "a region and the other queue");
    assert_eq!(bench.fake.table(table::CQ, 0)[0] & 1, 0);
}

#[test]
fn a_queues_number_is_not_given_out_while_an_endpoint_names_it() {
    let bench = bench();
    let (a, b) = (bench.cq(), bench.cq());
    let endpoint = bench.pd.create_endpoint(&PLAIN, &a, &b).unwrap();
    drop(a);
    let again = bench.context.create_cq(ENTRIES).unwrap_err();
    assert_eq!(again, CreateError::None { what: "completion queues", count: 2 });
    drop(endpoint);
    let _again = bench.cq();
    drop(b);
    let _and_again = bench.cq();
}

/// What ends in a queue that nobody polls any more frees its place all the same.
#[test]
fn a_dropped_queue_jams_no_shared_ring() {
    let bench = bench();
    let (mut stays, goes) = (bench.cq(), bench.cq());
    let mut ring = bench.pd.create_shared_receive(2, &goes).unwrap();
    let silent = bench.pd.create_sharing_endpoint(&PLAIN, &goes, &goes, &ring).unwrap();
    let heard = bench.pd.create_sharing_endpoint(&PLAIN, &stays, &stays, &ring).unwrap();
    drop(goes);
    (0..2).for_each(|id| ring.post_recv(&bench.recv(id)).unwrap());
    // One is refused, a message of the silent one takes the other.
    bench.received(1, 0, (0, 0), 0);
    bench.received(1, 1, (index(&silent), 0), 1);
    ring.post_recv(&bench.recv(2)).unwrap();
    assert_eq!(ring.recvs_outstanding(), 1);
    let read = bench.fake.last_write(regs::doorbell_page(1) + regs::DOORBELL_CQ);
    assert_eq!(read, Some(2), "the NIC goes on writing");
    bench.received(0, 0, (index(&heard), 0), 2);
    assert_eq!(poll(&mut stays), [(2, Status::Success)]);
    // What comes in last is read when its last holder goes.
    ring.post_recv(&bench.recv(3)).unwrap();
    bench.received(1, 2, (index(&silent), 0), 3);
    let base = bench.base(1);
    drop(silent);
    assert_eq!(ring.recvs_outstanding(), 0);
    assert!(bench.mapped(base), "the ring's errors go there");
    drop((ring, heard));
    assert!(!bench.mapped(base));
}

/// An index comes back while the queue still holds what its last owner completed.
#[test]
fn completions_of_an_endpoint_are_not_those_of_the_next_with_its_index() {
    let bench = bench();
    let mut cq = bench.cq();
    let mut old = bench.pd.create_endpoint(&PLAIN, &cq, &cq).unwrap();
    let mut beside = bench.pd.create_endpoint(&PLAIN, &cq, &cq).unwrap();
    bench.send(&mut old, 1).unwrap();
    bench.send(&mut beside, 2).unwrap();
    // Behind an entry that is still on its way.
    bench.sent(0, 1, index(&old), 0);
    let at = index(&old);
    old.destroy().unwrap();
    let others: Vec<_> =
        std::iter::repeat_with(|| bench.pd.create_endpoint(&PLAIN, &cq, &cq).unwrap()).take(2).collect();
    let mut new = bench.pd.create_endpoint(&PLAIN, &cq, &cq).unwrap();
    assert_eq!(index(&new), at);
    bench.send(&mut new, 77).unwrap();
    bench.sent(0, 0, index(&beside), 0);
    assert_eq!(poll(&mut cq), [(2, Status::Success)]);
    assert_eq!(new.sends_outstanding(), 1);
    bench.sent(0, 2, at, 0);
    assert_eq!(poll(&mut cq), [(77, Status::Success)]);
    drop(others);
}

/// But they end what they had taken of a shared ring.
#[test]
fn completions_of_a_sharer_that_is_gone_end_its_receives() {
    let bench = bench();
    let mut cq = bench.cq();
    let mut ring = bench.pd.create_shared_receive(4, &cq).unwrap();
    let old = bench.pd.create_sharing_endpoint(&PLAIN, &cq, &cq, &ring).unwrap();
    let at = index(&old);
    (0..2).for_each(|id| ring.post_recv(&bench.recv(id)).unwrap());
    bench.received(0, 0, (at, 0), 0);
    drop(old);
    let sharing = || bench.pd.create_sharing_endpoint(&PLAIN, &cq, &cq, &ring).unwrap();
    let sharers: Vec<_> = (0..3).map(|_| sharing()).collect();
    assert_eq!(index(&sharers[2]), at);
    bench.received(0, 1, (at, 0), 1);
    assert_eq!(poll(&mut cq), [(1, Status::Success)]);
    assert_eq!(ring.recvs_outstanding(), 0);
    // A reset does not wait for the first one's queue.
    ring.post_recv(&bench.recv(2)).unwrap();
    bench.context.reset().unwrap();
    assert_eq!(poll(&mut cq), [(2, Status::Flushed)]);
}

/// What one queue has of a shared ring is known when that has been read.
//= RS-5 test
#[test]
fn a_shared_ring_is_flushed_behind_all_its_queues() {
    #[derive(PartialEq)]
    enum Other {
        Polled,
        Dropped,
        /// With its endpoint, while the reset waits for a write.
        Lost,
    }
    for other in [Other::Polled, Other::Dropped, Other::Lost] {
        let bench = bench();
        let (mut a, mut b) = (bench.cq(), bench.cq());
        let mut ring = bench.pd.create_shared_receive(4, &a).unwrap();
        let one = bench.pd.create_sharing_endpoint(&PLAIN, &a, &a, &ring).unwrap();
        let two = bench.pd.create_sharing_endpoint(&PLAIN, &b, &b, &ring).unwrap();
        (0..3).for_each(|id| ring.post_recv(&bench.recv(id)).unwrap());
        bench.received(1, 0, (index(&two), 0), 0);
        let flushed = [(1, Status::Flushed), (2, Status::Flushed)];
        if other == Other::Lost {
            bench.set(regs::RESET_STATUS.offset, 1);
            assert!(bench.context.reset().is_err());
            drop((two, b));
            bench.set(regs::RESET_STATUS.offset, 0);
            bench.context.reset().unwrap();
            assert_eq!(poll(&mut a), flushed, "what the NIC may write for ever does not hold them up");
            assert_eq!(ring.recvs_outstanding(), 0);
            continue;
        }
        bench.context.reset().unwrap();
        assert_eq!(poll(&mut a), []);
        if other == Other::Polled {
            assert_eq!(poll(&mut b), [[(0, Status::Success)].as_slice(), &flushed].concat());
            assert_eq!(poll(&mut a), []);
        } else {
            drop(b);
            assert_eq!(poll(&mut a), flushed, "whom nobody asks any more does not hold them up");
        }
        assert_eq!(ring.recvs_outstanding(), 0);
        drop((one, two));
    }
}

/// A cancel that the NIC could not read says nothing of the receive it is about.
#[test]
fn a_cancel_that_was_not_read_ends_nothing_else() {
    let bench = bench();
    let mut cq = bench.cq();
    let tags = EndpointOptions { tags: true, ..PLAIN };
    let mut endpoint = bench.pd.create_endpoint(&tags, &cq, &cq).unwrap();
    endpoint.post_tagged_recv(9, &bench.recv(5)).unwrap();
    bench.complete(0, 0, &[(done::OPCODE, queue::DONE_POSTED)]);
    assert_eq!(poll(&mut cq), [(5, Status::Success)]);
    endpoint.cancel(9, 5).unwrap();
    let failed = [(done::OPCODE, queue::DONE_RECV), (done::STATUS, Status::LocalDma as u8), (done::ENTRY, 1)];
    bench.complete(0, 1, &failed);
    let mut told = [WorkCompletion::default(); 2];
    assert_eq!(cq.poll(&mut told), Ok(1));
    let WorkCompletion { work_id, event, status, .. } = told[0];
    assert_eq!((work_id, event, status), (5, CompletionEvent::Cancelled, Status::LocalDma));
    assert_eq!(endpoint.recvs_outstanding(), 2, "the receive, and the cancel's place behind it");
    endpoint.cancel(9, 5).unwrap();
    bench.received(0, 2, (0, 0), 0);
    assert_eq!(cq.poll(&mut told), Ok(1));
    assert_eq!((told[0].work_id, told[0].event), (5, CompletionEvent::Ended));
}

/// A write that failed leaves a place that nothing fills any more.
#[test]
fn a_completion_that_was_never_written_is_told_of() {
    let bench = bench();
    let errors = regs::counter(regs::Counter::DmaErrors as u32);
    bench.set(errors, 3);
    let mut cq = bench.cq();
    let mut endpoint = bench.pd.create_endpoint(&PLAIN, &cq, &cq).unwrap();
    (0..4).for_each(|id| bench.send(&mut endpoint, id).unwrap());
    let mut told = [WorkCompletion::default(); 4];
    let mut time = 1_000_000;
    let mut fails = |cq: &mut CompletionQueue, polls: u32| {
        (0..polls).find_map(|_| {
            time += 16;
            bench.set(regs::TIME.offset, time);
            cq.poll(&mut told).err()
        })
    };
    // None failed, it is late, or there is none.
    bench.sent(0, 1, 0, 1);
    assert_eq!(fails(&mut cq, 4096), None);
    bench.set(errors, 4);
    bench.sent(0, 0, 0, 0);
    assert_eq!(poll(&mut cq), [(0, Status::Success), (1, Status::Success)]);
    assert_eq!(fails(&mut cq, 4096), None);
    bench.sent(0, 3, 0, 3);
    assert_eq!(fails(&mut cq, 1500), None);
    bench.sent(0, 2, 0, 2);
    assert_eq!(poll(&mut cq), [(2, Status::Success), (3, Status::Success)]);
    (4..8).for_each(|id| bench.send(&mut endpoint, id).unwrap());
    assert_eq!(fails(&mut cq, 4096), None);
    bench.sent(0, 5, 0, 5);
    let error = fails(&mut cq, 4096).unwrap();
    assert_eq!(error, PollError::Lost { index: 4 });
    assert!(error.to_string().contains("Context::reset"), "{error}");
    bench.context.reset().unwrap();
    assert_eq!(poll(&mut cq), [4, 5, 6, 7].map(|id| (id, Status::Flushed)));
    assert_eq!(fails(&mut cq, 4096), None);
}
