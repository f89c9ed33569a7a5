//! When memory, keys and shared rings come back: not before the NIC has let go of them.

// Each test program uses its part of it.
#[allow(dead_code)]
mod fake;

use fake::{options, Fake, SMALL};
use tessera_abi::queue::{self, done};
use tessera_abi::regs;
use tessera_driver::*;

#[test]
fn a_shared_ring_serves_endpoints_and_outlives_its_handle() {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), options()).unwrap();
    let (mut cq, errors) = (context.create_cq(4).unwrap(), context.create_cq(4).unwrap());
    let pd = context.alloc_pd();
    let mut ring = pd.create_shared_receive(4, &errors).unwrap();
    let mut endpoint = pd.create_sharing_endpoint(&SMALL, &cq, &cq, &ring).unwrap();
    let words = fake.table(regs::table::ENDPOINT, 0);
    assert_eq!(words[0] & 0x3F, 1 << regs::endpoint::RING.0, "a ring is no endpoint");
    assert_eq!(words[6] >> 16 & 0xFF, 1, "its errors go to their own queue");
    let base = u64::from(words[4]) | u64::from(words[5]) << 32;
    let words = fake.table(regs::table::ENDPOINT, 1);
    assert_eq!(words[0] & 0x3F, 0b01_0011, "valid, may send, shares");
    assert_eq!((words[6] >> 24 | words[7] << 8) & 0xFFFF, 9, "quota");
    assert_eq!(words[7] >> 8 & 0xFF, 0, "the ring's index");

    let region = pd.register(&DmaMemory::new(1000), Access::LOCAL_WRITE).unwrap();
    let request = RecvRequest { work_id: 31, region: &region, range: 0..100 };
    assert_eq!(endpoint.post_recv(&request), Err(PostError::SharedRing));
    ring.post_recv(&request).unwrap();
    assert_eq!(fake.last_write(regs::doorbell_page(0) + regs::DOORBELL_RQ), Some(1));
    assert_eq!(fake.dma_read(base + 8, 4), 100u32.to_le_bytes());
    assert_eq!((ring.recvs_outstanding(), endpoint.recvs_outstanding()), (1, 1));

    // The completion is the endpoint's and names the ring.
    fake.complete((0, 4), 0, &[(done::OPCODE, queue::DONE_RECV), (done::ENDPOINT, 1), (done::RING, 0)]);
    let mut completions = [WorkCompletion::default()];
    assert_eq!(cq.poll(&mut completions).unwrap(), 1);
    assert_eq!((completions[0].work_id, completions[0].endpoint), (31, 1));
    assert_eq!(ring.recvs_outstanding(), 0);

    drop(ring);
    assert_eq!(fake.table(regs::table::ENDPOINT, 0)[0], 1 << regs::endpoint::RING.0, "still in use");
    drop(endpoint);
    assert_eq!(fake.table(regs::table::ENDPOINT, 0)[0], 0);
}

/// The ring's entry ends with its message, whether anybody hears of that or not.
#[test]
fn a_sharer_that_is_gone_does_not_keep_its_receives() {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), options()).unwrap();
    let (mut cq, errors) = (context.create_cq(4).unwrap(), context.create_cq(4).unwrap());
    let pd = context.alloc_pd();
    let mut ring = pd.create_shared_receive(2, &errors).unwrap();
    let goes = pd.create_sharing_endpoint(&SMALL, &cq, &cq, &ring).unwrap();
    let stays = pd.create_sharing_endpoint(&SMALL, &cq, &cq, &ring).unwrap();
    let region = pd.register(&DmaMemory::new(1000), Access::LOCAL_WRITE).unwrap();
    let complete = |n: u8, endpoint: u8| {
        let fields = [(done::OPCODE, queue::DONE_RECV), (done::ENDPOINT, endpoint), (done::ENTRY, n)];
        fake.complete((0, 4), n.into(), &fields);
    };
    for work_id in 0..2 {
        ring.post_recv(&RecvRequest { work_id, region: &region, range: 0..100 }).unwrap();
    }
    // One ends before it goes, and one as it goes.
    complete(0, 1);
    goes.destroy().unwrap();
    let (from, to) = (fake.table(regs::table::ENDPOINT, 2), fake.table(regs::table::ENDPOINT, 1));
    assert_eq!(from[0] & 0x3F, 0b01_0011, "who stays is valid, may send, shares");
    assert_eq!(to[0] & 0x3F, 1 << regs::endpoint::SHARES.0, "who goes shares to the end");
    assert_eq!(to[7] >> 8 & 0xFF, 0, "the ring's index");
    assert_eq!((to[6] >> 24 | to[7] << 8) & 0xFFFF, 9, "and takes no more than before");
    complete(1, 1);
    let mut completions = [WorkCompletion::default(); 4];
    assert_eq!(cq.poll(&mut completions).unwrap(), 0);
    assert_eq!(ring.recvs_outstanding(), 0);
    // Twice is still once.
    complete(2, 1);
    assert_eq!(cq.poll(&mut completions).unwrap(), 0);
    for work_id in 2..4 {
        ring.post_recv(&RecvRequest { work_id, region: &region, range: 0..100 }).unwrap();
    }
    complete(3, 2);
    assert_eq!(cq.poll(&mut completions).unwrap(), 1);
    assert_eq!((completions[0].work_id, completions[0].endpoint), (3, 2));
    drop(stays);
}

/// What the ring refused may wait for its queue, and what is read of it for the host.
//= RE-3 test
#[test]
fn a_shared_ring_keeps_its_queue_to_the_end() {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), options()).unwrap();
    let (_cq, errors) = (context.create_cq(4).unwrap(), context.create_cq(4).unwrap());
    let ring = context.alloc_pd().create_shared_receive(4, &errors).unwrap();
    fake.writes.lock().unwrap().clear();
    drop(ring);
    let words = fake.table(regs::table::ENDPOINT, 0);
    assert_eq!((words[0] & 0x3F, words[6] >> 16 & 0xFF), (0, 1));
    assert_eq!(fake.writes.lock().unwrap().last(), Some(&(regs::RECLAIM.offset, 0)));
}

/// A NIC that is held up lets go later: what it had kept comes back then.
#[test]
fn what_the_nic_lets_go_of_late_comes_back() {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), options()).unwrap();
    let pd = context.alloc_pd();
    let set = |value| fake.registers.lock().unwrap().insert(regs::RECLAIM_STATUS.offset, value);
    let mapped = || fake.mapped.lock().unwrap().len();
    let reclaimed = || fake.last_write(regs::RECLAIM.offset);
    let cq = context.create_cq(4).unwrap();
    let errors = context.create_cq(4).unwrap();
    let ring = pd.create_shared_receive(4, &errors).unwrap();
    let sharing = pd.create_sharing_endpoint(&SMALL, &cq, &cq, &ring).unwrap();
    let own = pd.create_endpoint(&SMALL, &cq, &cq).unwrap();
    assert_eq!(mapped(), 6);
    set(1);
    assert!(matches!(sharing.destroy(), Err(DestroyError::Held { .. })));
    drop(own);
    drop(ring);
    assert_eq!(mapped(), 6, "the NIC may still use all of it");
    // There is one place left, and then none.
    let last = pd.create_endpoint(&SMALL, &cq, &cq).unwrap();
    let full = || pd.create_endpoint(&SMALL, &cq, &cq);
    assert!(matches!(full(), Err(CreateError::None { what: "endpoints", count: 4 })));
    assert_eq!(mapped(), 8);
    // The NIC has ended what it was told last, and ends the others now.
    set(0);
    let again = full().unwrap();
    assert_eq!(mapped(), 6, "two completion queues, two endpoints");
    drop((last, again));
    assert_eq!(mapped(), 2);

    // The ring goes behind the endpoint that takes receives of it.
    let ring = pd.create_shared_receive(4, &errors).unwrap();
    let sharing = pd.create_sharing_endpoint(&SMALL, &cq, &cq, &ring).unwrap();
    let (ring_index, index) = (reclaimed().unwrap(), sharing.number() & 0xFF);
    assert_ne!(ring_index, index);
    set(1);
    drop(sharing);
    assert_eq!((reclaimed(), mapped()), (Some(index), 4));
    set(0);
    drop(ring);
    assert_eq!(mapped(), 2);
}

/// Whose reclaim failed with the device may still take receives of the ring.
#[test]
fn a_ring_stays_with_a_sharer_that_nobody_knows_the_end_of() {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), options()).unwrap();
    let pd = context.alloc_pd();
    let mapped = || fake.mapped.lock().unwrap().len();
    for broken in [regs::RECLAIM, regs::TABLE_COMMAND] {
        let (cq, errors) = (context.create_cq(4).unwrap(), context.create_cq(4).unwrap());
        let ring = pd.create_shared_receive(4, &errors).unwrap();
        let sharing = pd.create_sharing_endpoint(&SMALL, &cq, &cq, &ring).unwrap();
        let before = mapped();
        *fake.broken.lock().unwrap() = Some(broken.offset);
        assert!(matches!(sharing.destroy(), Err(DestroyError::Device(_))));
        *fake.broken.lock().unwrap() = None;
        drop(ring);
        // Nor when the NIC is asked again.
        drop(pd.create_endpoint(&SMALL, &cq, &cq));
        assert_eq!(mapped(), before);
        context.reset().unwrap();
    }
    assert_eq!(mapped(), 0);
}

/// A reset lets go of everything, and the last one to use the NIC looks once more, and then resets it.
#[test]
fn what_was_kept_goes_with_a_reset_or_with_the_context() {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), options()).unwrap();
    let set = |value| fake.registers.lock().unwrap().insert(regs::RECLAIM_STATUS.offset, value);
    let mapped = || fake.mapped.lock().unwrap().len();
    let keep = |context: &Context| {
        let cq = context.create_cq(4).unwrap();
        let endpoint = context.alloc_pd().create_endpoint(&SMALL, &cq, &cq).unwrap();
        set(1);
        assert!(endpoint.destroy().is_err());
    };
    keep(&context);
    assert_eq!(mapped(), 3, "two rings, and the queue that they complete in");
    context.reset().unwrap();
    assert_eq!(mapped(), 0);
    keep(&context);
    assert_eq!(mapped(), 3);
    set(0);
    drop(context);
    assert_eq!(mapped(), 0);
    assert_ne!(fake.writes.lock().unwrap().last(), Some(&(regs::RESET.offset, 1)), "it holds nothing");
    for (status, left) in [(0, 0), (1, 3)] {
        let context = Context::open(fake.clone(), options()).unwrap();
        keep(&context);
        fake.registers.lock().unwrap().insert(regs::RESET_STATUS.offset, status);
        drop(context);
        assert_eq!(fake.last_write(regs::RESET.offset), Some(1));
        assert_eq!(mapped(), left, "what its reset has not ended it may still use");
    }
}

/// Of what was written before nobody knows where it is.
#[test]
fn what_the_nic_does_not_let_go_of_stays_mapped_and_taken() {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), options()).unwrap();
    let pd = context.alloc_pd();
    let set = |reg: regs::Reg, value| fake.registers.lock().unwrap().insert(reg.offset, value);
    let mapped = |address: u64| fake.mapped.lock().unwrap().contains_key(&address);
    let region = |access| {
        let region = pd.register(&DmaMemory::new(100), access).unwrap();
        (region.address(), region)
    };

    // A payload that was checked against the key never arrives.
    set(regs::FENCE_STATUS, 1);
    let (address, written) = region(Access::REMOTE_WRITE);
    drop(written);
    assert!(mapped(address));
    // Nobody writes there: no fence.
    let (address, read) = region(Access::READ);
    assert_eq!(pd.register(&DmaMemory::new(8), Access::READ).unwrap_err(), RegisterError::NoKey(2));
    drop(read);
    assert!(!mapped(address));
    set(regs::FENCE_STATUS, 0);
    let (address, written) = region(Access::REMOTE_WRITE);
    drop(written);
    assert!(!mapped(address));

    // A table access that does not end.
    let cq = context.create_cq(4).unwrap();
    let ring = pd.create_shared_receive(4, &cq).unwrap();
    let (_, read) = region(Access::READ);
    let all = fake.mapped.lock().unwrap().len();
    set(regs::TABLE_STATUS, 1);
    drop((ring, read, cq));
    assert_eq!(fake.mapped.lock().unwrap().len(), all);
    // Some of it nobody can take back, but no NIC uses it when the program has ended.
    fake.writes.lock().unwrap().clear();
    drop((pd, context));
    assert_eq!(fake.writes.lock().unwrap().last(), Some(&(regs::RESET.offset, 1)));
    assert_ne!(fake.mapped.lock().unwrap().len(), 0);
}

/// Nobody has it any more, but when the program has ended it is another's.
#[test]
fn memory_that_was_given_up_is_used_by_no_nic_in_the_end() {
    let fake = Fake::nic();
    for held in [false, true] {
        let context = Context::open(fake.clone(), options()).unwrap();
        let region = context.alloc_pd().register(&DmaMemory::new(100), Access::REMOTE_WRITE).unwrap();
        fake.registers.lock().unwrap().insert(regs::FENCE_STATUS.offset, held.into());
        drop(region);
        fake.writes.lock().unwrap().clear();
        drop(context);
        let reset = fake.writes.lock().unwrap().contains(&(regs::RESET.offset, 1));
        assert_eq!((reset, fake.mapped.lock().unwrap().len()), (held, held.into()));
    }
}

/// What the NIC has checked it goes on to use, whatever becomes of the key.
#[test]
fn memory_stays_mapped_until_the_requests_posted_with_it_have_ended() {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), options()).unwrap();
    let mut cq = context.create_cq(4).unwrap();
    let pd = context.alloc_pd();
    let mut endpoint = pd.create_endpoint(&SMALL, &cq, &cq).unwrap();
    let region = pd.register(&DmaMemory::new(10_000), Access::LOCAL_WRITE).unwrap();
    let post = |endpoint: &mut Endpoint, region: MemoryRegion| {
        let to = AddressHandle::ipv4([2, 0, 0, 0, 0, 9], [10, 0, 0, 9], 0x12_3456, 0x1234);
        let region = &region;
        let (work_id, range, tag, immediate, round) = (1, 0..10, 0, None, None);
        let send =
            SendRequest { work_id, region, range: 0..10, to, tag, immediate, round, payload_size: 256 };
        endpoint.post_send(&send).unwrap();
        endpoint.post_recv(&RecvRequest { work_id: 2, region, range }).unwrap();
        region.address()
    };
    let mapped = |address: u64| fake.mapped.lock().unwrap().contains_key(&address);
    let set = |reg: regs::Reg, value| fake.registers.lock().unwrap().insert(reg.offset, value);
    let mut taken = [WorkCompletion::default(); 4];

    // Until each has completed.
    let address = post(&mut endpoint, region);
    assert_eq!(fake.table(regs::table::MR, 0)[0] & 1, 0, "the key goes at once");
    for (n, opcode) in [queue::DONE_RECV, queue::DONE_SEND].into_iter().enumerate() {
        assert!(mapped(address));
        fake.complete((0, 4), n, &[(done::OPCODE, opcode)]);
        assert_eq!(cq.poll(&mut taken), Ok(1));
    }
    assert!(!mapped(address));
    // What is mapped once more meanwhile stays.
    let memory = DmaMemory::new(10);
    let register = || pd.register(&memory, Access::LOCAL_WRITE).unwrap();
    let address = post(&mut endpoint, register());
    let again = register();
    for (n, opcode) in [queue::DONE_RECV, queue::DONE_SEND].into_iter().enumerate() {
        fake.complete((0, 4), 2 + n, &[(done::OPCODE, opcode), (done::ENTRY, 1)]);
        assert_eq!(cq.poll(&mut taken), Ok(1));
    }
    assert!(mapped(address));
    drop(again);
    assert!(!mapped(address));
    // Until the NIC has let go of the endpoint.
    drop((endpoint, cq));
    let region = |pd: &ProtectionDomain| pd.register(&DmaMemory::new(10), Access::LOCAL_WRITE).unwrap();
    let mut cq = context.create_cq(4).unwrap();
    let mut endpoint = pd.create_endpoint(&SMALL, &cq, &cq).unwrap();
    let address = post(&mut endpoint, region(&pd));
    set(regs::RECLAIM_STATUS, 1);
    assert!(endpoint.destroy().is_err());
    assert!(mapped(address));
    set(regs::RECLAIM_STATUS, 0);
    let mut endpoint = pd.create_endpoint(&SMALL, &cq, &cq).unwrap();
    assert!(!mapped(address));
    // Until a reset is known of.
    let address = post(&mut endpoint, region(&pd));
    context.reset().unwrap();
    assert!(mapped(address));
    assert_eq!(cq.poll(&mut taken), Ok(2));
    assert!(!mapped(address));
}

#[test]
fn a_dropped_key_is_revoked_and_its_number_changes() {
    let fake = Fake::nic();
    let pd = Context::open(fake.clone(), options()).unwrap().alloc_pd();
    let memory = DmaMemory::new(100);
    let first = pd.register(&memory, Access::READ).unwrap();
    let (key, index) = (first.lkey(), first.lkey() & 0xFF);
    assert_eq!(fake.table(regs::table::MR, index)[0] & 1, 1);
    drop(first);
    assert_eq!(fake.table(regs::table::MR, index)[0], 0);
    let again: Vec<u32> = (0..2).map(|_| pd.register(&memory, Access::READ).unwrap().lkey()).collect();
    assert!(!again.contains(&key));
    assert!(fake.mapped.lock().unwrap().is_empty(), "dropped regions stay mapped");
}
