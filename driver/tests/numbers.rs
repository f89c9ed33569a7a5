//! Numbers of endpoints, queues and keys: that they run out with a name, come back, and
//! are not given to another while peers may remember who had them.

// Each test program uses its part of it.
#[allow(dead_code)]
mod fake;

use std::collections::HashSet;
use std::sync::Arc;

use fake::{options, Fake, SMALL};
use tessera_abi::regs;
use tessera_driver::*;

#[test]
fn numbers_run_out_with_a_name_and_come_back() {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), options()).unwrap();
    let first = context.create_cq(4).unwrap();
    let _second = context.create_cq(4).unwrap();
    assert!(matches!(context.create_cq(4), Err(CreateError::None { what: "completion queues", count: 2 })));
    drop(first);
    context.create_cq(4).unwrap();
    assert!(matches!(context.create_cq(5), Err(CreateError::Entries { entries: 5, .. })));
}

/// A number comes back, to the table entry that had it, after 65,535 others at
/// the earliest. Each takes a table write and a reclaim of 1023 clocks, so at
/// 250 MHz that is 268 ms, longer than peers remember what they were told to it.
#[test]
fn an_endpoint_number_is_not_given_out_again_for_long() {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), options()).unwrap();
    let cq = context.create_cq(4).unwrap();
    let pd = context.alloc_pd();
    let remembered = regs::RX_GIVE_UP.reset + regs::TIME_WAIT.reset;
    assert!(65_535 * 1023 / 16 > u64::from(remembered), "{remembered} ticks");
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for n in 0..65_535 {
        let endpoint = pd.create_endpoint(&SMALL, &cq, &cq).unwrap();
        assert!(seen.insert(endpoint.number()), "{:#x} again after {n} others", endpoint.number());
        // Some live on meanwhile, so that entries do not just take turns.
        if n % 30_000 == 0 {
            kept.push(endpoint);
        } else {
            endpoint.destroy().unwrap();
        }
        fake.writes.lock().unwrap().clear();
    }
    drop(kept);
    // What is behind the number is the index of the entry that was written.
    let endpoint = pd.create_endpoint(&SMALL, &cq, &cq).unwrap();
    let word = fake.table(regs::table::ENDPOINT, endpoint.number() & 0xFF);
    let (lsb, _) = regs::endpoint::NUMBER_HI;
    assert_eq!(word[lsb / 32] >> (lsb % 32) & 0xFFFF, endpoint.number() >> 8);
}

/// A program that is started anew knows nothing of the numbers before it: what peers
/// still send to those must not meet its own.
//= RS-4 test
#[test]
fn who_opens_the_nic_again_repeats_no_number() {
    let fake = Fake::nic();
    let mut ticks = 5_000_000;
    let mut numbers = HashSet::new();
    let mut keys = HashSet::new();
    for life in 0..3 {
        fake.registers.lock().unwrap().insert(regs::TIME.offset, ticks);
        let context = Context::open(fake.clone(), options()).unwrap();
        let cq = context.create_cq(4).unwrap();
        let pd = context.alloc_pd();
        for n in 0..10 {
            let endpoint = pd.create_endpoint(&SMALL, &cq, &cq).unwrap();
            assert!(numbers.insert(endpoint.number()), "{:#x} again, {life}, {n}", endpoint.number());
            let region = pd.register(&DmaMemory::new(8), Access::READ).unwrap();
            assert!(keys.insert(region.lkey()), "{:#x} again, {life}, {n}", region.lkey());
            // No faster than the NIC.
            ticks += 64;
        }
    }
}

/// Nor when the one before it waited a while before it created anything.
//= RS-4 test
#[test]
fn a_number_says_when_its_endpoint_was_created() {
    let fake = Fake::nic();
    let at = |time: u32| fake.registers.lock().unwrap().insert(regs::TIME.offset, 64 * time);
    let open = || {
        let context = Context::open(fake.clone(), options()).unwrap();
        (context.create_cq(4).unwrap(), context.alloc_pd())
    };
    let create = |(cq, pd): &(CompletionQueue, ProtectionDomain)| {
        let number = pd.create_endpoint(&SMALL, cq, cq).unwrap().number();
        number >> 8
    };
    at(200);
    let one = open();
    at(65_636);
    assert_eq!(create(&one), 65_636 - 65_536);
    drop(one);
    at(65_736);
    let two = open();
    assert_eq!(create(&two), 65_737 - 65_536, "TIME moved on by one");
    at(70_000);
    assert_eq!(create(&two), 70_000 - 65_536);
}

/// Numbers are counted, and TIME has to keep up: after a reset endpoints go for nothing.
//= RS-4 test
#[test]
fn numbers_wait_for_the_time_that_a_successor_begins_at() {
    let fake = Fake::nic();
    let time = || fake.registers.lock().unwrap().get(&regs::TIME.offset).copied().unwrap();
    fake.registers.lock().unwrap().insert(regs::TIME.offset, 5_000_000);
    let mut numbers = HashSet::new();
    for life in 0..3 {
        let context = Context::open(fake.clone(), options()).unwrap();
        let pd = context.alloc_pd();
        for n in 0..20 {
            let cq = context.create_cq(4).unwrap();
            let endpoint = pd.create_endpoint(&SMALL, &cq, &cq).unwrap();
            assert!(numbers.insert(endpoint.number()), "{:#x} again, {life}, {n}", endpoint.number());
            let ahead = (endpoint.number() >> 8).wrapping_sub(time() / 64) & 0xFFFF;
            assert!(ahead == 0 || ahead >= 0x8000, "{ahead} ahead of TIME");
            context.reset().unwrap();
        }
    }
    // A device whose time stands still is told of.
    struct Stopped(Arc<Fake>);
    impl Device for Stopped {
        fn read(&self, offset: u32) -> Result<u32, DeviceError> {
            self.0.read(offset)
        }
        fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
            self.0.write(offset, value)
        }
        fn map(&self, memory: &Arc<DmaMemory>) -> Result<u64, DeviceError> {
            self.0.map(memory)
        }
        fn unmap(&self, address: u64) {
            self.0.unmap(address);
        }
        fn wait(&self) -> Result<(), DeviceError> {
            Ok(())
        }
    }
    let context = Context::open(Arc::new(Stopped(fake.clone())), options()).unwrap();
    let cq = context.create_cq(4).unwrap();
    let stopped = context.alloc_pd().create_endpoint(&SMALL, &cq, &cq);
    assert!(matches!(stopped, Err(CreateError::Device(DeviceError::Gone(_)))), "{stopped:?}");
}

/// A ring has no number of its own: rings that come and go do not bring the numbers of endpoints round.
#[test]
fn shared_rings_use_up_no_endpoint_number() {
    let fake = Fake::nic();
    let context = Context::open(fake.clone(), options()).unwrap();
    let cq = context.create_cq(4).unwrap();
    let pd = context.alloc_pd();
    let first = pd.create_endpoint(&SMALL, &cq, &cq).unwrap();
    (0..5).for_each(|_| drop(pd.create_shared_receive(4, &cq).unwrap()));
    let second = pd.create_endpoint(&SMALL, &cq, &cq).unwrap();
    assert_eq!(second.number() >> 8, (first.number() >> 8) + 1);
}
