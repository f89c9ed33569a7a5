//! The driver against a device of registers only: what it writes where, and
//! how it takes completions, refusals and nonsense.

// Each test program uses its part of it.
#[allow(dead_code)]
mod fake;

use std::sync::Arc;

use fake::{Fake, SMALL};
use tessera_abi::queue::{self, done, recv, send};
use tessera_abi::regs;
use tessera_driver::*;

fn options() -> ContextOptions {
    ContextOptions {
        ip6: Some(IP6),
        vlan: Some(0x123),
        settings: vec![(regs::PATH_COUNT, 8)],
        ..fake::options()
    }
}

const IP6: [u8; 16] = [0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7];

struct Bench {
    fake: Arc<Fake>,
    cq: CompletionQueue,
    endpoint: Endpoint,
    region: MemoryRegion,
}

fn bench() -> Bench {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), options()).unwrap();
    let cq = context.create_cq(4).unwrap();
    let pd = context.alloc_pd();
    let endpoint = pd.create_endpoint(&SMALL, &cq, &cq).unwrap();
    let region = pd.register(&DmaMemory::new(10_000), Access::LOCAL_WRITE).unwrap();
    Bench { fake, cq, endpoint, region }
}

impl Bench {
    fn send(&mut self, work_id: u64, range: std::ops::Range<usize>) -> Result<(), PostError> {
        let to = AddressHandle::ipv4([2, 0, 0, 0, 0, 9], [10, 0, 0, 9], 0x12_3456, 0x1234);
        self.send_to(to, work_id, range)
    }

    fn send_to(
        &mut self,
        to: AddressHandle,
        work_id: u64,
        range: std::ops::Range<usize>,
    ) -> Result<(), PostError> {
        let request = SendRequest {
            work_id,
            region: &self.region,
            range,
            to,
            tag: 0xAABB,
            immediate: Some(5),
            round: Some(0x0B0C),
            payload_size: 4096,
        };
        self.endpoint.post_send(&request)
    }

    fn complete(&self, n: usize, opcode: u8, status: u8, entry: u16) {
        let fields = [
            (done::OPCODE, opcode),
            (done::STATUS, status),
            (done::FLAGS, queue::DONE_IMM),
            (done::ENTRY, entry as u8),
            (done::LENGTH, 77),
            (done::IMMEDIATE, 5),
        ];
        self.fake.complete((0, 4), n, &fields);
    }
}

/// Weights become places, and then the policy that goes through them.
#[test]
fn weights_are_written_before_their_policy() {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), fake::options()).unwrap();
    assert_eq!(context.weight_paths(&[]), Err(PathError::NoWeight));
    assert_eq!(context.weight_paths(&[0, 0]), Err(PathError::NoWeight));
    assert_eq!(context.weight_paths(&[1; 257]), Err(PathError::TooMany(257)));
    assert_eq!(fake.last_write(regs::PATH_POLICY.offset), None);
    context.weight_paths(&[0, 3, 1]).unwrap();
    let places: Vec<u32> = (0..256).map(|place| fake.table(regs::table::PATH, place)[0]).collect();
    assert_eq!(places.iter().filter(|&&k| k == 1).count(), 192);
    assert_eq!(places.iter().filter(|&&k| k == 2).count(), 64);
    assert_eq!(fake.writes.lock().unwrap().last(), Some(&(regs::PATH_POLICY.offset, regs::PATH_WEIGHTED)));
    for (bank, value) in [(0, 70), (1, 4), (2, 1)] {
        fake.registers.lock().unwrap().insert(regs::PATH_COUNTERS + bank * regs::PATH_BANK + 4 * 9, value);
    }
    assert_eq!(context.path_use(9), Ok(PathUse { sent: 70, clean: 4, ce: 1 }));
    assert_eq!(context.path_use(8), Ok(PathUse::default()));
}

#[test]
fn a_destination_with_another_qkey_is_refused() {
    let mut bench = bench();
    let to = AddressHandle::ipv4([2, 0, 0, 0, 0, 9], [10, 0, 0, 9], 0x12_3456, 0x4321);
    let region = &bench.region;
    let request = SendRequest {
        work_id: 1,
        region,
        range: 0..10,
        to,
        tag: 0,
        immediate: None,
        round: None,
        payload_size: 4096,
    };
    let refused = bench.endpoint.post_send(&request).unwrap_err();
    assert_eq!(refused, PostError::QKey { own: 0x1234, peer: 0x4321 });
    let text = refused.to_string();
    assert!(["0x00001234", "0x00004321", "q_key"].iter().all(|part| text.contains(part)), "{text}");
    assert_eq!(bench.endpoint.sends_outstanding(), 0);
    bench.send(2, 0..10).unwrap();
    assert_eq!(bench.endpoint.sends_outstanding(), 1);
}

#[test]
fn a_round_is_registered_and_travels_in_the_entry() {
    let mut bench = bench();
    bench.endpoint.register_round(0x0B0C, 7).unwrap();
    let page = regs::doorbell_page(bench.endpoint.number() & 0xFF);
    assert_eq!(bench.fake.last_write(page + regs::DOORBELL_ROUND), Some(0x0007_0B0C));
    bench.send(1, 0..10).unwrap();
    let words = bench.fake.table(regs::table::ENDPOINT, bench.endpoint.number() & 0xFF);
    let ring = u64::from(words[2]) | u64::from(words[3]) << 32;
    let entry = bench.fake.dma_read(ring, queue::SEND_ENTRY_LEN);
    assert_eq!(entry[queue::send::FLAGS], queue::SEND_IMM | queue::SEND_ROUND);
    assert_eq!(entry[queue::send::ROUND..queue::send::ROUND + 2], [0x0C, 0x0B]);
}

#[test]
fn addresses_of_both_families_reach_the_entry() {
    let mut bench = bench();
    let number = bench.endpoint.number();
    let words = bench.fake.table(regs::table::ENDPOINT, number & 0xFF);
    assert_eq!(words[0] >> regs::endpoint::DATAGRAM.0 & 1, 0, "a reliable endpoint");
    let ring = u64::from(words[2]) | u64::from(words[3]) << 32;
    let to = bench.endpoint.address_at(1).expect("an IPv6 address").on_vlan(0xE123);
    assert_eq!((to.gid, to.endpoint), (IP6, number));
    assert_eq!(bench.endpoint.address_at(2), None);
    bench.send_to(to, 1, 0..10).unwrap();
    let entry = bench.fake.dma_read(ring, queue::SEND_ENTRY_LEN);
    assert_eq!(entry[send::GID..send::GID + 16], IP6);
    assert_eq!(entry[send::VLAN..send::VLAN + 2], [0x23, 0xE1]);
    assert_eq!(entry[send::FLAGS] & queue::SEND_VLAN, queue::SEND_VLAN);
    let told = bench.endpoint.post_datagram(&DatagramRequest {
        work_id: 1,
        region: &bench.region,
        range: 0..10,
        to,
        immediate: None,
        path_mtu: 1024,
    });
    assert!(matches!(told, Err(PostError::Kind { call: "post_send", .. })), "{told:?}");
}

#[test]
fn opening_checks_what_answers() {
    let fake = Fake::nic();
    fake.registers.lock().unwrap().insert(regs::MAGIC.offset, 0xFFFF_FFFF);
    let error = Context::open(fake, options()).unwrap_err();
    assert_eq!(error, OpenError::NotTessera(0xFFFF_FFFF));

    let fake = Fake::nic();
    fake.registers.lock().unwrap().insert(regs::ABI_VERSION.offset, 0x0002_0000);
    assert!(matches!(Context::open(fake, options()), Err(OpenError::Version { found: 0x0002_0000, .. })));

    let fake = Fake::nic();
    fake.registers.lock().unwrap().insert(regs::STATUS.offset, 0);
    assert!(matches!(Context::open(fake, options()), Err(OpenError::NotReady { .. })));

    // Keys of nine bits, endpoints of nine.
    for (reg, value) in [(regs::SIZES1, 9 << 8), (regs::SIZES0, 9 << 24)] {
        let fake = Fake::nic();
        fake.registers.lock().unwrap().insert(reg.offset, value);
        assert!(matches!(Context::open(fake, options()), Err(OpenError::Sizes { .. })));
    }

    let no_vlan = ContextOptions { vlan: Some(4095), ..options() };
    assert_eq!(Context::open(Fake::nic(), no_vlan).unwrap_err(), OpenError::Vlan(4095));
    let mapped = tessera_abi::wire::ipv4_gid([10, 0, 0, 1]);
    for ip6 in [mapped, [0; 16], [0xFF; 16]] {
        let no_host = ContextOptions { ip6: Some(ip6), ..options() };
        assert_eq!(Context::open(Fake::nic(), no_host).unwrap_err(), OpenError::Ip6(ip6));
    }
    let zero = ContextOptions { seed: 0, ..options() };
    assert_eq!(Context::open(Fake::nic(), zero).unwrap_err(), OpenError::ZeroSeed);
}

/// Two would give out the same numbers, and one reset what the other waits for.
#[test]
fn a_device_is_open_once_at_a_time() {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), options()).unwrap();
    assert_eq!(Context::open(fake.clone(), options()).unwrap_err(), OpenError::InUse);
    Context::open(Fake::nic(), options()).unwrap();
    // It is as long as anything made of it is there.
    let pd = context.alloc_pd();
    drop(context);
    assert_eq!(Context::open(fake.clone(), options()).unwrap_err(), OpenError::InUse);
    drop(pd);
    let context = Context::open(fake.clone(), options()).unwrap();
    drop(context);
    // Neither is it by one that failed.
    fake.registers.lock().unwrap().insert(regs::STATUS.offset, 0);
    for _ in 0..2 {
        assert!(matches!(Context::open(fake.clone(), options()), Err(OpenError::NotReady { .. })));
    }
}

/// What a program that died had posted would end what this one posts, and write where it likes.
//= RS-1 test
#[test]
fn a_nic_at_work_is_reset_before_it_is_used() {
    let reset = |register: regs::Reg| {
        let fake = Fake::nic();
        fake.registers.lock().unwrap().insert(register.offset, 1);
        let opened = Context::open(fake.clone(), options());
        let writes = fake.writes.lock().unwrap().clone();
        (opened.err(), writes.iter().position(|&(at, value)| (at, value) == (regs::RESET.offset, 1)))
    };
    assert_eq!(reset(regs::CONTROL), (None, Some(0)), "before all else");
    // One that does not end: the MAC and payload writes hold it up.
    let (error, begun) = reset(regs::RESET_STATUS);
    assert!(matches!(error, Some(OpenError::Held { status: 1, .. })), "{error:?}");
    assert_eq!(begun, Some(0));
    assert_eq!(reset(regs::LOCAL_IP), (None, None));
}

//= RO-3 test
#[test]
fn messages_are_not_remembered_for_longer_than_their_generations_differ() {
    let open = |settings: &[(regs::Reg, u32)]| {
        Context::open(Fake::nic(), ContextOptions { settings: settings.to_vec(), ..options() })
    };
    let most = tessera_abi::wire::MAX_REMEMBERED;
    let longest = most - regs::TIME_WAIT.reset;
    open(&[(regs::RX_GIVE_UP, longest)]).unwrap();
    // What is written last counts.
    open(&[(regs::TIME_WAIT, most), (regs::TIME_WAIT, 1000)]).unwrap();
    for settings in [
        &[(regs::RX_GIVE_UP, longest + 1)][..],
        &[(regs::RX_GIVE_UP, longest), (regs::TIME_WAIT, regs::TIME_WAIT.reset + 1)],
        &[(regs::RX_GIVE_UP, longest), (regs::MPL, regs::TIME_WAIT.reset + 1)],
        &[(regs::TIME_WAIT, (1 << 24) - 1)],
    ] {
        let error = open(settings).unwrap_err();
        assert!(matches!(error, OpenError::Remembered { .. }), "{settings:?}: {error}");
    }
}

#[test]
fn opening_sets_addresses_before_it_enables() {
    let fake = Fake::nic();
    Context::open(fake.clone(), options()).unwrap();
    let writes = fake.writes.lock().unwrap().clone();
    assert_eq!(writes.last(), Some(&(regs::CONTROL.offset, 1)));
    assert!(writes.contains(&(regs::LOCAL_MAC_HI.offset, 0x0200)));
    assert!(writes.contains(&(regs::LOCAL_MAC_LO.offset, 1)));
    assert!(writes.contains(&(regs::LOCAL_IP.offset, 0x0A00_0001)));
    assert!(writes.contains(&(regs::LOCAL_IP6_0.offset, 0xFD00_0000)));
    assert!(writes.contains(&(regs::LOCAL_IP6_3.offset, 7)));
    assert!(writes.contains(&(regs::VLAN.offset, 0x123)));
    assert!(writes.contains(&(regs::PATH_COUNT.offset, 8)));
}

#[test]
fn a_posted_send_is_in_the_ring_when_its_doorbell_rings() {
    let mut bench = bench();
    bench.send(1, 100..5100).unwrap();
    assert_eq!(bench.fake.last_write(regs::doorbell_page(0)), Some(1));
    let words = bench.fake.table(regs::table::ENDPOINT, 0);
    let base = u64::from(words[2]) | u64::from(words[3]) << 32;
    let entry = bench.fake.dma_read(base, queue::SEND_ENTRY_LEN);
    assert_eq!(entry[send::OPCODE], queue::OP_SEND);
    assert_eq!(entry[send::PAYLOAD_LOG2], 12);
    assert_eq!(entry[send::LENGTH..send::LENGTH + 4], 5000u32.to_le_bytes());
    assert_eq!(entry[send::ADDRESS..send::ADDRESS + 8], (bench.region.address() + 100).to_le_bytes());
    assert_eq!(entry[send::LKEY..send::LKEY + 4], bench.region.lkey().to_le_bytes());
    assert_eq!(entry[send::MAC..send::MAC + 6], [2, 0, 0, 0, 0, 9]);
    assert_eq!(entry[send::GID + 12..send::GID + 16], [10, 0, 0, 9]);
    assert_eq!(entry[send::ENDPOINT..send::ENDPOINT + 4], 0x12_3456u32.to_le_bytes());
}

#[test]
fn a_batch_is_told_of_once() {
    let mut bench = bench();
    let page = regs::doorbell_page(0);
    let doorbells = |fake: &Fake| {
        let writes = fake.writes.lock().unwrap().clone();
        writes.into_iter().filter(|&(at, _)| at >= page).collect::<Vec<_>>()
    };
    let to = AddressHandle::ipv4([2, 0, 0, 0, 0, 9], [10, 0, 0, 9], 0x12_3456, 0x1234);
    let region = &bench.region;
    let send = |work_id| SendRequest {
        work_id,
        region,
        range: 0..10,
        to,
        tag: 0,
        immediate: None,
        round: None,
        payload_size: 256,
    };
    let receive = RecvRequest { work_id: 7, region, range: 0..10 };
    let posted = bench.endpoint.batch(|endpoint| {
        endpoint.post_recv(&receive)?;
        (0..3).try_for_each(|id| endpoint.post_send(&send(id)))?;
        assert_eq!(doorbells(&bench.fake), []);
        Ok::<_, PostError>("all of them")
    });
    assert_eq!(posted, Ok(Ok("all of them")));
    assert_eq!(doorbells(&bench.fake), [(page + regs::DOORBELL_SQ, 3), (page + regs::DOORBELL_RQ, 1)]);
    // One that is refused leaves the others as they are; an empty batch is told of to nobody.
    let posted = bench.endpoint.batch(|endpoint| [(); 2].map(|()| endpoint.post_send(&send(3)).is_ok()));
    assert_eq!(posted, Ok([true, false]));
    bench.endpoint.batch(|_| ()).unwrap();
    assert_eq!(doorbells(&bench.fake)[2..], [(page + regs::DOORBELL_SQ, 4)]);
    // Who panics has posted all the same, and doorbells are rung again.
    let mut posts = |times| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = bench.endpoint.batch(|endpoint| {
                endpoint.post_recv(&receive).unwrap();
                assert!(times == 0, "on purpose");
            });
        }))
        .is_err()
    };
    assert!(posts(1));
    bench.endpoint.post_recv(&receive).unwrap();
    let receives = [(page + regs::DOORBELL_RQ, 2), (page + regs::DOORBELL_RQ, 3)];
    assert_eq!(doorbells(&bench.fake)[3..], receives);
}

#[test]
fn posting_refuses_what_cannot_work() {
    let mut bench = bench();
    assert!(matches!(bench.send(1, 9_999..10_001), Err(PostError::OutOfRegion { .. })));
    for id in 0..4 {
        bench.send(id, 0..1).unwrap();
    }
    assert_eq!(bench.send(4, 0..1), Err(PostError::RingFull { outstanding: 4 }));
    assert_eq!(bench.endpoint.sends_outstanding(), 4);
}

#[test]
fn posting_refuses_what_is_of_another_nic_or_no_number() {
    let mut bench = bench();
    let pd = Context::open(Fake::nic(), options()).unwrap().alloc_pd();
    let foreign = pd.register(&DmaMemory::new(10_000), Access::LOCAL_WRITE).unwrap();
    assert_eq!(foreign.lkey() & 0xFF, bench.region.lkey() & 0xFF, "its key is somebody's here");
    let own = std::mem::replace(&mut bench.region, foreign);
    assert_eq!(bench.send(1, 0..10), Err(PostError::ForeignRegion));
    let receive = RecvRequest { work_id: 1, region: &bench.region, range: 0..10 };
    assert_eq!(bench.endpoint.post_recv(&receive), Err(PostError::ForeignRegion));
    bench.region = own;
    let to = AddressHandle { endpoint: 1 << 24, ..bench.endpoint.address() };
    assert_eq!(bench.send_to(to, 1, 0..10), Err(PostError::EndpointNumber(1 << 24)));
    assert_eq!((bench.endpoint.sends_outstanding(), bench.endpoint.recvs_outstanding()), (0, 0));
}

#[test]
fn completions_come_in_any_order_and_twice_around() {
    let mut bench = bench();
    let mut completions = [WorkCompletion::default(); 8];
    assert_eq!(bench.cq.poll(&mut completions).unwrap(), 0);
    for round in 0..3u16 {
        for id in 0..4 {
            bench.send(u64::from(round * 10 + id), 0..1).unwrap();
        }
        for (i, entry) in [2u16, 0, 3, 1].into_iter().enumerate() {
            bench.complete(usize::from(round) * 4 + i, queue::DONE_SEND, 0, round * 4 + entry);
        }
        let taken = bench.cq.poll(&mut completions).unwrap();
        let ids: Vec<u64> = completions[..taken].iter().map(|c| c.work_id).collect();
        assert_eq!(ids, [2, 0, 3, 1].map(|id| u64::from(round) * 10 + id));
        assert_eq!(completions[0].immediate, Some(5));
        assert_eq!(completions[0].len, 77);
        assert_eq!(
            bench.fake.last_write(regs::doorbell_page(0) + regs::DOORBELL_CQ),
            Some(u32::from(round + 1) * 4)
        );
    }
    assert_eq!(bench.endpoint.sends_outstanding(), 0);
}

/// A place in a ring that is free may be posted to by others at once, and what they post
/// may complete in the same queue: by then the NIC has to know that it has room.
#[test]
fn the_nic_is_told_of_free_places_before_anything_ends() {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), options()).unwrap();
    let mut cq = context.create_cq(2).unwrap();
    let pd = context.alloc_pd();
    let mut endpoint = pd.create_endpoint(&SMALL, &cq, &cq).unwrap();
    let doorbell = regs::doorbell_page(0) + regs::DOORBELL_CQ;
    // The end of a receive is seen here by its memory, which nobody else holds.
    let receive = |endpoint: &mut Endpoint, n: usize| {
        let region = pd.register(&DmaMemory::new(100), Access::LOCAL_WRITE).unwrap();
        endpoint.post_recv(&RecvRequest { work_id: 1, region: &region, range: 0..100 }).unwrap();
        drop(region);
        fake.complete((0, 2), n, &[(done::OPCODE, queue::DONE_RECV), (done::ENTRY, n as u8)]);
        fake.unmapped.lock().unwrap().clear();
        let before = fake.writes.lock().unwrap().len();
        before
    };
    let told_first = |before: usize| {
        let told = fake.writes.lock().unwrap()[before..].iter().position(|&(at, _)| at == doorbell);
        let ended = fake.unmapped.lock().unwrap().first().copied();
        told.zip(ended).is_some_and(|(told, ended)| before + told < ended)
    };
    let before = receive(&mut endpoint, 0);
    assert_eq!(cq.poll(&mut [WorkCompletion::default()]), Ok(1));
    assert!(told_first(before), "by a poll");
    // And where nobody polls any more.
    let before = receive(&mut endpoint, 1);
    drop(cq);
    assert_eq!(endpoint.recvs_outstanding(), 0);
    assert!(told_first(before), "by who finds the queue abandoned");
}

/// What ended in front of nonsense, or before the device failed, is not lost with it.
#[test]
fn completions_before_an_error_are_given_first() {
    let mut bench = bench();
    let mut completions = [WorkCompletion::default(); 8];
    for id in 0..3 {
        bench.send(20 + id, 0..1).unwrap();
        bench.complete(id as usize, queue::DONE_SEND, 0, id as u16);
    }
    bench.complete(3, 99, 0, 0);
    assert_eq!(bench.cq.poll(&mut completions), Ok(3));
    assert_eq!(completions[..3].iter().map(|done| done.work_id).collect::<Vec<_>>(), [20, 21, 22]);
    let doorbell = regs::doorbell_page(0) + regs::DOORBELL_CQ;
    assert_eq!(bench.fake.last_write(doorbell), Some(4));
    let opcode = PollError::Opcode { index: 3, opcode: 99 };
    assert_eq!(bench.cq.poll(&mut completions), Err(opcode));
    assert_eq!(bench.cq.poll(&mut completions), Ok(0));

    bench.send(23, 0..1).unwrap();
    bench.complete(4, queue::DONE_SEND, 0, 3);
    *bench.fake.broken.lock().unwrap() = Some(doorbell);
    assert_eq!(bench.cq.poll(&mut completions), Ok(1));
    assert_eq!(completions[0].work_id, 23);
    assert!(matches!(bench.cq.poll(&mut completions), Err(PollError::Device(DeviceError::Register { .. }))));
    assert_eq!(bench.cq.poll(&mut completions), Ok(0));
}

#[test]
fn hardware_nonsense_is_an_error() {
    let mut bench = bench();
    let mut completions = [WorkCompletion::default(); 8];
    bench.complete(0, queue::DONE_SEND, 0, 0);
    assert!(matches!(bench.cq.poll(&mut completions), Err(PollError::NotOutstanding { entry: 0, .. })));
    let told = bench.fake.last_write(regs::doorbell_page(0) + regs::DOORBELL_CQ);
    assert_eq!(told, Some(1), "its place is free again");
    bench.complete(1, 99, 0, 0);
    assert!(matches!(bench.cq.poll(&mut completions), Err(PollError::Opcode { opcode: 99, .. })));
    bench.complete(2, queue::DONE_RECV, 200, 0);
    assert!(matches!(bench.cq.poll(&mut completions), Err(PollError::Status { status: 200, .. })));
}

#[test]
fn a_posted_receive_carries_its_buffer() {
    let mut bench = bench();
    bench.endpoint.post_recv(&RecvRequest { work_id: 9, region: &bench.region, range: 64..1064 }).unwrap();
    assert_eq!(bench.fake.last_write(regs::doorbell_page(0) + regs::DOORBELL_RQ), Some(1));
    let words = bench.fake.table(regs::table::ENDPOINT, 0);
    let base = u64::from(words[4]) | u64::from(words[5]) << 32;
    let entry = bench.fake.dma_read(base, queue::RECV_ENTRY_LEN);
    assert_eq!(entry[recv::LENGTH..recv::LENGTH + 4], 1000u32.to_le_bytes());
    assert_eq!(entry[recv::ADDRESS..recv::ADDRESS + 8], (bench.region.address() + 64).to_le_bytes());
    bench.complete(0, queue::DONE_RECV, 0, 0);
    let mut completions = [WorkCompletion::default(); 1];
    assert_eq!(bench.cq.poll(&mut completions).unwrap(), 1);
    assert!(completions[0].receive);
    assert_eq!(completions[0].work_id, 9);
}

#[test]
fn a_nic_without_tags_refuses_endpoints_that_match_them() {
    let fake = Fake::nic();
    fake.registers.lock().unwrap().insert(regs::SIZES1.offset, 1 | 1 << 8);
    assert_eq!(DeviceAttributes::of(&*fake).unwrap().tagged_receives, 0);
    let context = Context::open(fake, options()).unwrap();
    let cq = context.create_cq(8).unwrap();
    let pd = context.alloc_pd();
    let refused = pd.create_endpoint(&EndpointOptions { tags: true, ..SMALL }, &cq, &cq).unwrap_err();
    assert_eq!(refused, CreateError::NoTags);
    pd.create_endpoint(&SMALL, &cq, &cq).unwrap();
}

#[test]
fn a_tagged_receive_is_posted_cancelled_and_ended_once() {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), options()).unwrap();
    let mut cq = context.create_cq(8).unwrap();
    let pd = context.alloc_pd();
    let mut endpoint = pd.create_endpoint(&EndpointOptions { tags: true, ..SMALL }, &cq, &cq).unwrap();
    assert_eq!(fake.table(regs::table::ENDPOINT, 0)[0] >> regs::endpoint::TAGS.0 & 1, 1);
    let region = pd.register(&DmaMemory::new(1000), Access::LOCAL_WRITE).unwrap();
    let request = RecvRequest { work_id: 5, region: &region, range: 0..100 };
    endpoint.post_tagged_recv(0xABCD, &request).unwrap();
    assert_eq!(endpoint.cancel(0xABCD, 5), Err(PostError::NotInPlace { tag: 0xABCD, work_id: 5 }));

    let words = fake.table(regs::table::ENDPOINT, 0);
    let ring = u64::from(words[4]) | u64::from(words[5]) << 32;
    let entry = fake.dma_read(ring, queue::RECV_ENTRY_LEN);
    assert_eq!(entry[recv::FLAGS], queue::RECV_TAGGED);
    assert_eq!(entry[recv::TAG..recv::TAG + 8], 0xABCDu64.to_le_bytes());

    let words = fake.table(regs::table::CQ, 0);
    let base = u64::from(words[2]) | u64::from(words[3]) << 32;
    let mut next = 0;
    let mut complete = |opcode: u8, status: u8, entry: u16, length: u32| {
        let mut bytes = [0; queue::COMPLETION_LEN];
        (bytes[done::OPCODE], bytes[done::STATUS], bytes[done::PHASE]) = (opcode, status, 1);
        bytes[done::ENTRY..done::ENTRY + 2].copy_from_slice(&entry.to_le_bytes());
        bytes[done::LENGTH..done::LENGTH + 4].copy_from_slice(&length.to_le_bytes());
        fake.dma_write(base + 64 * next, &bytes);
        next += 1;
    };
    let mut told = [WorkCompletion::default(); 8];
    complete(queue::DONE_POSTED, 0, 0, 0x9A7);
    assert_eq!(cq.poll(&mut told).unwrap(), 1);
    assert_eq!((told[0].work_id, told[0].event), (5, CompletionEvent::Posted));
    assert_eq!(endpoint.recvs_outstanding(), 1, "posted is not ended");

    assert!(matches!(endpoint.cancel(0xABCE, 5), Err(PostError::NotInPlace { .. })), "another's tag");
    // A cancel that comes too late, then one that does not.
    for _ in 0..2 {
        endpoint.cancel(0xABCD, 5).unwrap();
    }
    let entry = fake.dma_read(ring + 32, queue::RECV_ENTRY_LEN);
    assert_eq!(entry[recv::FLAGS], queue::RECV_CANCEL);
    assert_eq!(entry[recv::TARGET..recv::TARGET + 4], [0, 0, 0xA7, 0x09]);
    complete(queue::DONE_CANCEL, Status::NotPosted as u8, 1, 0);
    complete(queue::DONE_CANCEL, Status::Success as u8, 2, 0);
    assert_eq!(cq.poll(&mut told).unwrap(), 2);
    assert_eq!((told[0].work_id, told[0].status), (5, Status::NotPosted));
    assert_eq!((told[1].event, told[1].status), (CompletionEvent::Cancelled, Status::Success));
    assert_eq!(endpoint.recvs_outstanding(), 0);
    assert!(endpoint.cancel(0xABCD, 5).is_err(), "it has ended");
    // An unexpected message does not end the receive it took.
    endpoint.post_recv(&request).unwrap();
    complete(queue::DONE_UNEXPECTED, 0, 3, 77);
    complete(queue::DONE_RECV, 0, 3, 77);
    assert_eq!(cq.poll(&mut told).unwrap(), 2);
    assert_eq!([told[0].event, told[1].event], [CompletionEvent::Unexpected, CompletionEvent::Ended]);
    assert_eq!(endpoint.recvs_outstanding(), 0);
    // Handles that are none: too large by one, and to 16 bits another one.
    endpoint.post_tagged_recv(0xABCD, &request).unwrap();
    for (index, handle) in [(5, 0xFFFF), (6, 0x1_0005)] {
        complete(queue::DONE_POSTED, 0, 4, handle);
        assert_eq!(cq.poll(&mut told), Err(PollError::Handle { index, handle }));
    }
    assert_eq!(endpoint.cancel(0xABCD, 5), Err(PostError::NotInPlace { tag: 0xABCD, work_id: 5 }));
}
