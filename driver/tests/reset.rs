//! What a reset of the NIC means to everything that was made before it, against a
//! device of registers only.

// Each test program uses its part of it.
#[allow(dead_code)]
mod fake;

use std::sync::Arc;

use fake::Fake;
use tessera_abi::queue::{self, done};
use tessera_abi::regs;
use tessera_driver::*;

fn open(fake: &Arc<Fake>) -> Context {
    let options = ContextOptions { settings: vec![(regs::PATH_COUNT, 8)], ..fake::options() };
    Context::open(fake.clone(), options).unwrap()
}

fn address() -> AddressHandle {
    AddressHandle::ipv4([2, 0, 0, 0, 0, 9], [10, 0, 0, 9], 0x12_3456, 0)
}

const RINGS: EndpointOptions =
    EndpointOptions { qkey: 0, recv_entries: 8, rx_quota: 0, tags: true, ..fake::SMALL };

fn send(endpoint: &mut Endpoint, region: &MemoryRegion, work_id: u64) -> Result<(), PostError> {
    endpoint.post_send(&SendRequest {
        work_id,
        region,
        range: 0..10,
        to: address(),
        tag: 0,
        immediate: None,
        round: None,
        payload_size: 256,
    })
}

fn poll(cq: &mut CompletionQueue) -> Vec<WorkCompletion> {
    let mut all = Vec::new();
    // Small, so that a queue is left in the middle.
    let mut taken = [WorkCompletion::default(); 2];
    loop {
        let count = cq.poll(&mut taken).unwrap();
        all.extend_from_slice(&taken[..count]);
        if count == 0 {
            return all;
        }
    }
}

const DEAD: DeviceError = DeviceError::Reset;

//= RS-5 test
#[test]
fn what_was_outstanding_is_flushed_once_behind_what_was_completed() {
    let fake = Fake::nic();
    let context = open(&fake);
    let pd = context.alloc_pd();
    let mut cq = context.create_cq(16).unwrap();
    let mut endpoint = pd.create_endpoint(&RINGS, &cq, &cq).unwrap();
    let region = pd.register(&DmaMemory::new(1000), Access::LOCAL_WRITE).unwrap();
    for id in 1..=3 {
        send(&mut endpoint, &region, id).unwrap();
    }
    let recv = |work_id| RecvRequest { work_id, region: &region, range: 0..10 };
    endpoint.post_recv(&recv(11)).unwrap();
    endpoint.post_tagged_recv(5, &recv(12)).unwrap();
    // The second send has ended, the tagged receive is in place and being cancelled.
    fake.complete((0, 16), 0, &[(done::OPCODE, queue::DONE_POSTED), (done::ENTRY, 1)]);
    assert_eq!(poll(&mut cq)[0].event, CompletionEvent::Posted);
    endpoint.cancel(5, 12).unwrap();
    fake.complete((0, 16), 1, &[(done::OPCODE, queue::DONE_SEND), (done::ENTRY, 1)]);
    let bells = || fake.writes.lock().unwrap().iter().filter(|(at, _)| *at >= regs::doorbell_page(0)).count();
    let rung = bells();

    context.reset().unwrap();
    let ended: Vec<_> =
        poll(&mut cq).iter().map(|done| (done.receive, done.work_id, done.event, done.status)).collect();
    use CompletionEvent::{Cancelled, Ended};
    assert_eq!(
        ended,
        [
            (false, 2, Ended, Status::Success),
            (false, 1, Ended, Status::Flushed),
            (false, 3, Ended, Status::Flushed),
            (true, 11, Ended, Status::Flushed),
            (true, 12, Ended, Status::Flushed),
            (true, 12, Cancelled, Status::Flushed),
        ]
    );
    assert_eq!((endpoint.sends_outstanding(), endpoint.recvs_outstanding()), (0, 0));
    assert_eq!(poll(&mut cq), [], "once");
    assert_eq!(bells(), rung, "the NIC that is there now knows nothing of that queue");
}

//= RS-4 test
#[test]
fn what_was_made_before_is_refused_and_dropped_for_nothing() {
    let fake = Fake::nic();
    let context = open(&fake);
    let pd = context.alloc_pd();
    let cq = context.create_cq(4).unwrap();
    let mut endpoint = pd.create_endpoint(&RINGS, &cq, &cq).unwrap();
    let region = pd.register(&DmaMemory::new(1000), Access::REMOTE_WRITE).unwrap();
    let ring = pd.create_shared_receive(4, &cq).unwrap();
    let (number, key) = (endpoint.number(), region.lkey());
    fake.writes.lock().unwrap().clear();

    // The reset itself, then everything that opening wrote.
    context.reset().unwrap();
    let writes: Vec<_> = std::mem::take(&mut *fake.writes.lock().unwrap());
    assert_eq!(writes.first(), Some(&(regs::RESET.offset, 1)));
    assert_eq!(writes.last(), Some(&(regs::CONTROL.offset, 1)));
    for write in [(regs::SEED.offset, 7), (regs::PATH_COUNT.offset, 8), (regs::LOCAL_IP.offset, 0x0A00_0001)]
    {
        assert!(writes.contains(&write), "{write:x?}");
    }

    assert_eq!(send(&mut endpoint, &region, 1), Err(PostError::Device(DEAD)));
    let recv = RecvRequest { work_id: 1, region: &region, range: 0..10 };
    assert_eq!(endpoint.post_recv(&recv), Err(PostError::Device(DEAD)));
    assert_eq!(endpoint.register_round(1, 2), Err(PostError::Device(DEAD)));
    assert_eq!(pd.create_endpoint(&RINGS, &cq, &cq).unwrap_err(), CreateError::Device(DEAD));
    assert_eq!(pd.create_shared_receive(4, &cq).unwrap_err(), CreateError::Device(DEAD));
    let new_cq = context.create_cq(4).unwrap();
    assert_eq!(pd.create_endpoint(&RINGS, &new_cq, &cq).unwrap_err(), CreateError::Device(DEAD));
    assert_eq!(pd.create_endpoint(&RINGS, &cq, &new_cq).unwrap_err(), CreateError::Device(DEAD));
    let plain = EndpointOptions { tags: false, ..RINGS };
    let sharing = pd.create_sharing_endpoint(&plain, &new_cq, &new_cq, &ring);
    assert_eq!(sharing.unwrap_err(), CreateError::Device(DEAD));
    // All places are free again, under other numbers; a region of before is none.
    let mut new = pd.create_endpoint(&RINGS, &new_cq, &new_cq).unwrap();
    assert!(new.number() != number && new.number() >> 8 > number >> 8, "{:#x}", new.number());
    assert_eq!(send(&mut new, &region, 1), Err(PostError::Device(DEAD)));
    let regions: Vec<_> = (0..2).map(|_| pd.register(&DmaMemory::new(16), Access::READ).unwrap()).collect();
    assert!(regions.iter().all(|new| new.lkey() != key));
    send(&mut new, &regions[0], 1).unwrap();

    // What is dropped now takes nothing from those.
    fake.writes.lock().unwrap().clear();
    endpoint.destroy().unwrap();
    drop((ring, region, cq));
    assert_eq!(*fake.writes.lock().unwrap(), []);
    assert_eq!(pd.register(&DmaMemory::new(8), Access::READ).unwrap_err(), RegisterError::NoKey(2));
    let held = fake.mapped.lock().unwrap().len();
    assert_eq!(held, 5, "memory of before is unmapped: two regions, a queue and two rings are left");
}

//= RS-3 test
#[test]
fn a_reset_that_does_not_end_is_an_error_and_may_be_repeated() {
    let fake = Fake::nic();
    let context = open(&fake);
    let pd = context.alloc_pd();
    let mut cq = context.create_cq(4).unwrap();
    let mut endpoint = pd.create_endpoint(&RINGS, &cq, &cq).unwrap();
    let region = pd.register(&DmaMemory::new(1000), Access::READ).unwrap();
    send(&mut endpoint, &region, 1).unwrap();
    fake.registers.lock().unwrap().insert(regs::RESET_STATUS.offset, 0b10_0011);
    let error = context.reset().unwrap_err();
    assert!(matches!(error, ResetError::Held { status: 0b10_0011, .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("a frame to the MAC, payload writes") && text.contains("call reset again"),
        "{text}"
    );

    // The NIC may still write: nothing has ended, and nothing may be begun.
    assert_eq!(poll(&mut cq), []);
    assert_eq!(endpoint.sends_outstanding(), 1);
    fake.writes.lock().unwrap().clear();
    let middle = DeviceError::Resetting;
    assert_eq!(send(&mut endpoint, &region, 2), Err(PostError::Device(middle.clone())));
    assert_eq!(context.create_cq(4).unwrap_err(), CreateError::Device(middle.clone()));
    assert_eq!(context.write(regs::SEED, 1), Err(middle.clone()));
    assert_eq!(context.weight_paths(&[1]), Err(PathError::Device(middle)));
    assert_eq!(*fake.writes.lock().unwrap(), []);

    fake.registers.lock().unwrap().insert(regs::RESET_STATUS.offset, 0);
    context.reset().unwrap();
    assert_eq!(poll(&mut cq).iter().map(|done| done.status).collect::<Vec<_>>(), [Status::Flushed]);
    // It never becomes ready: known as well.
    fake.registers.lock().unwrap().insert(regs::STATUS.offset, 0);
    assert!(matches!(context.reset().unwrap_err(), ResetError::NotReady { .. }));
}

/// A write that the reset waits for may come at any time.
#[test]
fn what_is_dropped_while_the_nic_may_still_write_stays_mapped() {
    let fake = Fake::nic();
    let context = open(&fake);
    let pd = context.alloc_pd();
    let make = || {
        let cq = context.create_cq(4).unwrap();
        let endpoint = pd.create_endpoint(&RINGS, &cq, &cq).unwrap();
        let region = pd.register(&DmaMemory::new(1000), Access::LOCAL_WRITE).unwrap();
        let ring = pd.create_shared_receive(4, &cq).unwrap();
        (endpoint, ring, region, cq)
    };
    let mapped = || fake.mapped.lock().unwrap().keys().copied().collect::<Vec<_>>();
    let set = |reg: regs::Reg, value| fake.registers.lock().unwrap().insert(reg.offset, value);
    let made = make();
    let all = mapped();
    assert_eq!(all.len(), 5);
    set(regs::RESET_STATUS, 0b10_0001);
    assert!(matches!(context.reset(), Err(ResetError::Held { .. })));
    drop(made);
    assert_eq!(mapped(), all);

    // The next time it lets go, and only then does not become ready.
    set(regs::RESET_STATUS, 0);
    context.reset().unwrap();
    let mut made = make();
    set(regs::STATUS, 0);
    assert!(matches!(context.reset(), Err(ResetError::NotReady { .. })));
    let (endpoint, _, region, _) = &mut made;
    assert_eq!(send(endpoint, region, 1), Err(PostError::Device(DEAD)));
    assert_eq!(context.create_cq(4).unwrap_err(), CreateError::Device(DeviceError::Resetting));
    drop(made);
    assert_eq!(mapped(), all);
}

/// A receive of a shared ring that no message took ends in one queue alone.
#[test]
fn a_shared_ring_is_flushed_once() {
    let fake = Fake::nic();
    let context = open(&fake);
    let pd = context.alloc_pd();
    let mut cqs: Vec<_> = (0..2).map(|_| context.create_cq(8).unwrap()).collect();
    let region = pd.register(&DmaMemory::new(1000), Access::LOCAL_WRITE).unwrap();
    let mut ring = pd.create_shared_receive(4, &cqs[0]).unwrap();
    let plain = EndpointOptions { tags: false, ..RINGS };
    let endpoints: Vec<_> =
        cqs.iter().map(|cq| pd.create_sharing_endpoint(&plain, cq, cq, &ring).unwrap()).collect();
    for work_id in 0..3 {
        ring.post_recv(&RecvRequest { work_id, region: &region, range: 0..10 }).unwrap();
    }
    context.reset().unwrap();
    let ids: Vec<u64> = cqs.iter_mut().rev().flat_map(poll).map(|done| done.work_id).collect();
    assert_eq!(ids, [0, 1, 2]);
    assert_eq!(ring.recvs_outstanding(), 0);
    drop(endpoints);
}
