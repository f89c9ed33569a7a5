//! Events of completion queues where the NIC's interrupt reaches the driver, against a device of
//! registers only: the thread sleeps, and nothing is missed.

// Each test program uses its part of it.
#[allow(dead_code)]
mod fake;

use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fake::{Fake, SMALL};
use tessera_abi::queue::{self, done};
use tessera_abi::regs::{self, INTERRUPT_COUNT, INTERRUPT_ENABLE, INTERRUPT_SEEN};
use tessera_driver::*;

const LONG: Option<Duration> = Some(Duration::from_secs(20));
const SHORT: Option<Duration> = Some(Duration::from_millis(30));
const ENTRIES: usize = 4;
/// Below what the thread sleeps by itself. A busy machine may take longer, but not every time.
const SOON: Duration = Duration::from_millis(90);

/// A [`Fake`] with an interrupt.
struct Interrupting {
    fake: Arc<Fake>,
    pin: UnixStream,
    driver: UnixStream,
    /// What the driver wrote last: enabled, and entries seen.
    seen: Mutex<u32>,
    /// Whether it is high, as of what was told last.
    high: AtomicBool,
    /// Interrupts are lost.
    deaf: AtomicBool,
    /// A send that ends just before the next word of what was seen gets here.
    between: Mutex<Option<u8>>,
    looks: AtomicUsize,
    waits: AtomicUsize,
}

impl Interrupting {
    /// The level, as the descriptor tells it: a byte when it rises.
    fn level(&self, seen: u32) {
        let registers = self.fake.registers.lock().unwrap();
        let count = registers.get(&INTERRUPT_COUNT.offset).copied().unwrap_or(0);
        let high = seen & INTERRUPT_ENABLE != 0 && seen & 0xFFFF != count;
        let was = self.high.swap(high, Ordering::SeqCst);
        if high && !was && !self.deaf.load(Ordering::SeqCst) {
            let _ = (&self.pin).write(&[1]);
        }
    }

    /// Another completion entry is in memory, of whatever queue.
    fn count(&self) {
        let seen = self.seen.lock().unwrap();
        let mut registers = self.fake.registers.lock().unwrap();
        let count = registers.entry(INTERRUPT_COUNT.offset).or_default();
        *count = (*count + 1) & 0xFFFF;
        drop(registers);
        self.level(*seen);
    }

    /// Ends send `n`, the `n`th completion.
    fn end(&self, n: u8) {
        let fields = [(done::OPCODE, queue::DONE_SEND), (done::ENTRY, n)];
        self.fake.complete((0, ENTRIES), n.into(), &fields);
        self.count();
    }

    fn enabled(&self) -> bool {
        *self.seen.lock().unwrap() & INTERRUPT_ENABLE != 0
    }
}

impl Device for Interrupting {
    fn read(&self, offset: u32) -> Result<u32, DeviceError> {
        if offset == INTERRUPT_COUNT.offset {
            self.looks.fetch_add(1, Ordering::SeqCst);
        }
        self.fake.read(offset)
    }
    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        if offset == INTERRUPT_SEEN.offset {
            if let Some(n) = self.between.lock().unwrap().take() {
                self.end(n);
            }
            let mut seen = self.seen.lock().unwrap();
            *seen = value;
            self.level(value);
        }
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
        self.fake.wait()
    }
    fn interrupt(&self) -> Option<BorrowedFd<'_>> {
        Some(self.driver.as_fd())
    }
}

struct Bench {
    device: Arc<Interrupting>,
    context: Context,
    cq: CompletionQueue,
    endpoint: Endpoint,
    region: MemoryRegion,
    sent: u8,
}

fn bench(count: u32) -> Bench {
    let (pin, driver) = UnixStream::pair().unwrap();
    for end in [&pin, &driver] {
        end.set_nonblocking(true).unwrap();
    }
    let fake = Fake::nic();
    fake.registers.lock().unwrap().insert(INTERRUPT_COUNT.offset, count);
    let (seen, high, deaf, between, looks, waits) = Default::default();
    let device = Arc::new(Interrupting { fake, pin, driver, seen, high, deaf, between, looks, waits });
    let context = Context::open(device.clone(), fake::options()).unwrap();
    let cq = context.create_cq(ENTRIES).unwrap();
    let pd = context.alloc_pd();
    let endpoint = pd.create_endpoint(&SMALL, &cq, &cq).unwrap();
    let region = pd.register(&DmaMemory::new(100), Access::LOCAL_WRITE).unwrap();
    Bench { device, context, cq, endpoint, region, sent: 0 }
}

impl Bench {
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

    fn poll(&mut self) -> usize {
        self.cq.poll(&mut [WorkCompletion::default(); ENTRIES]).unwrap()
    }
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LONG.unwrap();
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Asleep, it neither looks nor lets time pass; woken, it tells.
#[test]
fn the_thread_sleeps_until_the_interrupt() {
    // The count goes round.
    let mut bench = bench(0xFFFE);
    let waited = bench.device.waits.load(Ordering::SeqCst);
    let mut shortest = Duration::MAX;
    for n in 0..3 * ENTRIES as u8 {
        bench.post();
        bench.cq.arm().unwrap();
        until("it never sleeps", || bench.device.enabled());
        std::thread::sleep(Duration::from_millis(3));
        bench.device.end(n);
        let begun = Instant::now();
        assert_eq!(bench.cq.wait_event(LONG), Ok(true));
        shortest = shortest.min(begun.elapsed());
        assert_eq!(bench.poll(), 1);
    }
    assert!(shortest < SOON, "it is not the interrupt that wakes it");
    // It looks each time it is woken, and a few times between.
    let looks = bench.device.looks.load(Ordering::SeqCst);
    assert!(looks < 40 * 3 * ENTRIES, "{looks} looks");
    assert_eq!(bench.device.waits.load(Ordering::SeqCst), waited);
    // Nobody waits any more.
    until("the interrupt stays on", || !bench.device.enabled());
}

/// At any moment: before it is armed, between a look and sleep, in the middle of sleep.
#[test]
fn what_comes_at_any_moment_wakes() {
    let mut bench = bench(7);
    for n in 0..200u8 {
        bench.post();
        let device = bench.device.clone();
        let writer = std::thread::spawn(move || {
            (0..u32::from(n) * 40).for_each(|_| std::hint::spin_loop());
            device.end(n);
        });
        bench.cq.arm().unwrap();
        let begun = Instant::now();
        assert_eq!(bench.cq.wait_event(LONG), Ok(true), "completion {n}");
        assert!(begun.elapsed() < Duration::from_secs(5), "completion {n}");
        writer.join().unwrap();
        until("it is not there", || bench.poll() == 1);
        // One more event may have been on its way.
        let _ = bench.cq.take_event();
    }
}

/// Between the count and the word of what was seen, while the interrupt is high: it never falls, so
/// it does not rise either.
#[test]
fn what_comes_before_it_is_seen_wakes() {
    let mut bench = bench(0);
    let mut shortest = Duration::MAX;
    for n in 0..3 * ENTRIES as u8 {
        bench.post();
        bench.cq.arm().unwrap();
        until("it never sleeps", || bench.device.enabled());
        std::thread::sleep(Duration::from_millis(3));
        *bench.device.between.lock().unwrap() = Some(n);
        let begun = Instant::now();
        // Of a queue that nobody waits for.
        bench.device.count();
        assert_eq!(bench.cq.wait_event(LONG), Ok(true));
        shortest = shortest.min(begun.elapsed());
        assert_eq!(bench.poll(), 1);
    }
    assert!(shortest < SOON, "it slept over it");
}

/// A queue that is armed while the thread sleeps, whose completion was counted long before.
#[test]
fn a_queue_is_looked_at_when_it_is_armed() {
    let mut bench = bench(0);
    let mut other = bench.context.create_cq(ENTRIES).unwrap();
    other.arm().unwrap();
    let mut shortest = Duration::MAX;
    for n in 0..3 * ENTRIES as u8 {
        bench.post();
        bench.device.end(n);
        until("it never sleeps", || bench.device.enabled());
        std::thread::sleep(Duration::from_millis(3));
        let begun = Instant::now();
        bench.cq.arm().unwrap();
        assert_eq!(bench.cq.wait_event(LONG), Ok(true));
        shortest = shortest.min(begun.elapsed());
        assert_eq!(bench.poll(), 1);
    }
    assert!(shortest < SOON, "it slept on");
    assert_eq!(other.wait_event(SHORT), Ok(false));
}

/// An interface that is down: events are late, none is missed.
#[test]
fn lost_interrupts_cost_time_only() {
    let mut bench = bench(0);
    bench.device.deaf.store(true, Ordering::SeqCst);
    for n in 0..3 {
        bench.post();
        bench.cq.arm().unwrap();
        until("it never sleeps", || bench.device.enabled());
        bench.device.end(n);
        assert_eq!(bench.cq.wait_event(LONG), Ok(true));
        assert_eq!(bench.poll(), 1);
    }
}

/// A completion that the NIC failed to write is counted all the same.
#[test]
fn a_completion_that_was_never_written_is_found() {
    let mut bench = bench(0);
    (0..2).for_each(|_| bench.post());
    bench.cq.arm().unwrap();
    until("it never sleeps", || bench.device.enabled());
    let errors = regs::counter(regs::Counter::DmaErrors as u32);
    bench.device.fake.registers.lock().unwrap().insert(errors, 1);
    bench.device.count();
    bench.device.end(1);
    let end = Instant::now() + LONG.unwrap();
    let error = loop {
        assert!(Instant::now() < end, "nothing was found");
        assert_eq!(bench.cq.wait_event(LONG), Ok(true));
        match bench.cq.poll(&mut [WorkCompletion::default()]) {
            Ok(count) => assert_eq!(count, 0),
            Err(error) => break error,
        }
        // Time, for what is overdue.
        (0..1000).for_each(|_| bench.device.fake.wait().unwrap());
        bench.cq.arm().unwrap();
    };
    assert_eq!(error, PollError::Lost { index: 0 });
}

/// A register that fails wakes everybody; and who waits no more leaves no interrupt on.
#[test]
fn failures_are_told_and_the_end_is_quiet() {
    let mut bench = bench(0);
    *bench.device.fake.broken.lock().unwrap() = Some(INTERRUPT_SEEN.offset);
    bench.cq.arm().unwrap();
    assert_eq!(bench.cq.wait_event(LONG), Ok(true));
    assert!(matches!(bench.cq.arm(), Err(EventError::Device(DeviceError::Register { .. }))));
    *bench.device.fake.broken.lock().unwrap() = None;
    bench.cq.arm().unwrap();
    until("it never sleeps", || bench.device.enabled());
    let Bench { device, context, cq, endpoint, region, .. } = bench;
    drop((cq, endpoint, region, context));
    assert!(!device.enabled(), "the interrupt is left on");
    until("somebody keeps the device", || Arc::strong_count(&device) == 1);
    // What the thread had not read is the next one's to ignore.
    let _ = (&device.driver).read(&mut [0; 64]);
}
