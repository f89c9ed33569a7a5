//! Events of completion queues, against a device of registers only.

// Each test program uses its part of it.
#[allow(dead_code)]
mod fake;

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fake::{Fake, SMALL};
use tessera_abi::queue::{self, done};
use tessera_abi::regs;
use tessera_driver::*;

const LONG: Option<Duration> = Some(Duration::from_secs(20));
const SHORT: Option<Duration> = Some(Duration::from_millis(30));
const ENTRIES: usize = 4;

/// The registers of a [`Fake`], that counts waits and may fail them.
struct Counting {
    fake: Arc<Fake>,
    waits: AtomicUsize,
    fails: AtomicBool,
    yields: bool,
}

impl Device for Counting {
    fn read(&self, offset: u32) -> Result<u32, DeviceError> {
        self.fake.read(offset)
    }
    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        self.fake.write(offset, value)
    }
    fn map(&self, memory: &Arc<DmaMemory>) -> Result<u64, DeviceError> {
        self.fake.map(memory)
    }
    fn unmap(&self, address: u64) {
        self.fake.unmap(address);
    }
    fn wait(&self) -> Result<(), DeviceError> {
        self.waits.fetch_add(1, Ordering::SeqCst);
        if self.fails.load(Ordering::SeqCst) {
            return Err(DeviceError::Gone("it failed".into()));
        }
        std::thread::yield_now();
        self.fake.wait()
    }
    fn yields(&self) -> bool {
        self.yields
    }
}

struct Bench {
    device: Arc<Counting>,
    context: Context,
    cq: CompletionQueue,
    endpoint: Endpoint,
    region: MemoryRegion,
    sent: u8,
}

fn bench_that(yields: bool) -> Bench {
    let (waits, fails) = Default::default();
    let device = Arc::new(Counting { fake: Fake::nic(), waits, fails, yields });
    let context = Context::open(device.clone(), fake::options()).unwrap();
    let cq = context.create_cq(ENTRIES).unwrap();
    let pd = context.alloc_pd();
    let endpoint = pd.create_endpoint(&SMALL, &cq, &cq).unwrap();
    let region = pd.register(&DmaMemory::new(100), Access::LOCAL_WRITE).unwrap();
    Bench { device, context, cq, endpoint, region, sent: 0 }
}

fn bench() -> Bench {
    bench_that(false)
}

impl Bench {
    /// Posts a send.
    fn post(&mut self) {
        let to = AddressHandle::ipv4([2, 0, 0, 0, 0, 9], [10, 0, 0, 9], 0x12_3456, SMALL.qkey);
        let request = SendRequest {
            work_id: self.sent.into(),
            region: &self.region,
            range: 0..10,
            to,
            tag: 0,
            immediate: None,
            round: None,
            payload_size: 256,
        };
        self.endpoint.post_send(&request).unwrap();
        self.sent += 1;
    }

    /// Ends send `n`, the `n`th completion.
    fn end(&self, n: u8) {
        let fields = [(done::OPCODE, queue::DONE_SEND), (done::ENTRY, n)];
        self.device.fake.complete((0, ENTRIES), n.into(), &fields);
    }

    fn poll(&mut self) -> usize {
        self.cq.poll(&mut [WorkCompletion::default(); ENTRIES]).unwrap()
    }
}

#[test]
fn an_armed_queue_tells_once_of_what_comes() {
    let mut bench = bench();
    (0..3).for_each(|_| bench.post());
    let fd = bench.cq.event_fd().unwrap().as_raw_fd();
    bench.end(0);
    assert_eq!(bench.cq.wait_event(SHORT), Ok(false), "nobody asked");
    bench.cq.arm().unwrap();
    assert_eq!(bench.cq.wait_event(LONG), Ok(true), "what is there counts");
    assert_eq!(bench.poll(), 1);
    bench.end(1);
    assert_eq!(bench.cq.wait_event(SHORT), Ok(false), "an event was asked for once");
    assert_eq!(bench.poll(), 1);
    (0..2).for_each(|_| bench.cq.arm().unwrap());
    assert_eq!(bench.poll(), 0);
    assert_eq!(bench.cq.wait_event(SHORT), Ok(false));
    bench.end(2);
    assert_eq!(bench.cq.wait_event(LONG), Ok(true));
    assert_eq!((bench.cq.take_event(), bench.poll()), (Ok(false), 1));
    assert_eq!(bench.cq.event_fd().unwrap().as_raw_fd(), fd);
}

/// The thread follows the program round the ring.
#[test]
fn what_was_polled_in_between_is_no_event() {
    let mut bench = bench();
    bench.cq.arm().unwrap();
    assert_eq!(bench.cq.wait_event(SHORT), Ok(false));
    for n in 0..5 * ENTRIES as u8 {
        bench.post();
        bench.end(n);
        assert_eq!(bench.poll(), 1);
        // One may have been told of before it was polled.
        bench.cq.take_event().unwrap();
        bench.cq.arm().unwrap();
    }
    while bench.cq.take_event().unwrap() {
        bench.cq.arm().unwrap();
    }
    assert_eq!(bench.cq.wait_event(SHORT), Ok(false));
    bench.post();
    bench.end(5 * ENTRIES as u8);
    assert_eq!(bench.cq.wait_event(LONG), Ok(true));
}

/// From other threads, with the program asleep.
#[test]
fn sleepers_are_woken() {
    let mut bench = bench();
    bench.post();
    bench.cq.arm().unwrap();
    let fake = bench.device.fake.clone();
    let writer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        fake.complete((0, ENTRIES), 0, &[(done::OPCODE, queue::DONE_SEND)]);
    });
    assert_eq!(bench.cq.wait_event(None), Ok(true));
    assert_eq!(bench.poll(), 1);
    writer.join().unwrap();
}

/// Nobody looks, and no device time runs, while nobody asks.
#[test]
fn nothing_runs_while_no_queue_is_armed() {
    let mut bench = bench();
    bench.cq.arm().unwrap();
    bench.cq.wait_event(SHORT).unwrap();
    assert!(bench.device.waits.load(Ordering::SeqCst) > 0);
    bench.cq.disarm();
    let before = bench.device.waits.load(Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(40));
    // The thread may have been on its way into one.
    assert!(bench.device.waits.load(Ordering::SeqCst) <= before + 1);
    bench.post();
    bench.end(0);
    assert_eq!(bench.cq.wait_event(SHORT), Ok(false));
}

/// What a reset ends is heard of, and then nothing more is promised.
#[test]
fn a_reset_is_an_event() {
    let mut bench = bench();
    bench.post();
    bench.cq.arm().unwrap();
    assert_eq!(bench.cq.state(), State::Ready);
    bench.context.reset().unwrap();
    assert_eq!(bench.cq.wait_event(LONG), Ok(true));
    let mut told = [WorkCompletion::default(); 2];
    assert_eq!(bench.cq.poll(&mut told), Ok(1));
    assert_eq!(told[0].status, Status::Flushed);
    assert_eq!(bench.cq.arm(), Err(EventError::Device(DeviceError::Reset)));
    assert_eq!(bench.cq.wait_event(SHORT), Ok(false));
    let states = [bench.cq.state(), bench.endpoint.state(), bench.region.state()];
    assert_eq!(states, [State::Over; 3]);
}

#[test]
fn a_device_that_fails_wakes_everybody_and_says_so() {
    let mut bench = bench();
    bench.cq.arm().unwrap();
    bench.device.fails.store(true, Ordering::SeqCst);
    assert_eq!(bench.cq.wait_event(LONG), Ok(true));
    assert_eq!(bench.poll(), 0);
    let error = bench.cq.arm().unwrap_err();
    assert_eq!(error, EventError::Device(DeviceError::Gone("it failed".into())));
    bench.device.fails.store(false, Ordering::SeqCst);
    bench.post();
    bench.cq.arm().unwrap();
    bench.end(0);
    assert_eq!(bench.cq.wait_event(LONG), Ok(true));
}

/// A completion that never comes: the program that sleeps is woken to find out.
#[test]
fn a_completion_that_was_never_written_is_found_by_sleepers() {
    let mut bench = bench();
    (0..2).for_each(|_| bench.post());
    bench.end(1);
    let errors = regs::counter(regs::Counter::DmaErrors as u32);
    bench.device.fake.registers.lock().unwrap().insert(errors, 1);
    let end = Instant::now() + LONG.unwrap();
    let error = loop {
        assert!(Instant::now() < end, "nothing was found");
        bench.cq.arm().unwrap();
        assert_eq!(bench.cq.wait_event(LONG), Ok(true));
        match bench.cq.poll(&mut [WorkCompletion::default()]) {
            Ok(count) => assert_eq!(count, 0),
            Err(error) => break error,
        }
    };
    assert_eq!(error, PollError::Lost { index: 0 });
}

/// The thread keeps neither the context nor its device.
#[test]
fn a_context_that_was_waited_on_goes_as_any() {
    let mut bench = bench();
    bench.cq.arm().unwrap();
    let Bench { device, context, cq, endpoint, region, .. } = bench;
    drop((cq, endpoint, region, context));
    let again = Context::open(device.clone(), fake::options()).unwrap();
    drop(again);
    let end = Instant::now() + LONG.unwrap();
    while Arc::strong_count(&device) > 1 {
        assert!(Instant::now() < end, "somebody keeps the device");
        std::thread::yield_now();
    }
}

#[test]
fn a_poll_that_finds_nothing_yields_where_the_device_wants_it() {
    for yields in [false, true] {
        let mut bench = bench_that(yields);
        let waits = |bench: &Bench| bench.device.waits.load(Ordering::SeqCst);
        let before = waits(&bench);
        assert_eq!(bench.poll(), 0);
        assert_eq!(waits(&bench) - before, usize::from(yields));
        bench.post();
        bench.end(0);
        assert_eq!(bench.poll(), 1);
        assert_eq!(waits(&bench) - before, usize::from(yields), "something was there");
        bench.cq.set_yielding(!yields);
        assert_eq!(bench.poll(), 0);
        assert_eq!(waits(&bench) - before, 1);
    }
    let mut bench = bench_that(true);
    bench.device.fails.store(true, Ordering::SeqCst);
    let error = bench.cq.poll(&mut [WorkCompletion::default()]).unwrap_err();
    assert_eq!(error, PollError::Device(DeviceError::Gone("it failed".into())));
}
