//! Posts and polls neither allocate nor wait for a lock.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};

use tessera_abi::queue::{self, done};
use tessera_abi::regs;
use tessera_driver::*;

/// Counts what this thread allocates.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations and frees of `act`.
fn counted(act: impl FnOnce()) -> usize {
    let before = COUNT.with(Cell::get);
    act();
    COUNT.with(Cell::get) - before
}

const ENTRIES: usize = 64;

/// A NIC without a network, that allocates nothing: it ends every request at once, of all
/// endpoints in queue 0. A tagged receive is told to be in place.
#[derive(Default)]
struct Null {
    cq: OnceLock<Arc<DmaMemory>>,
    written: AtomicU16,
    tails: [[AtomicU16; 2]; 4],
    time: AtomicU32,
    /// A table access does not end while this is set.
    stuck: Mutex<bool>,
    freed: Condvar,
    /// Table accesses that began.
    accesses: AtomicU32,
}

impl Null {
    fn complete(&self, fields: [(usize, u8); 5]) {
        let Some(cq) = self.cq.get() else { return };
        let at = self.written.fetch_add(1, Ordering::Relaxed);
        let mut entry = [0; queue::COMPLETION_LEN];
        fields.iter().for_each(|&(field, value)| entry[field] = value);
        entry[done::PHASE] = u8::from((usize::from(at) / ENTRIES).is_multiple_of(2));
        cq.write(usize::from(at) % ENTRIES * queue::COMPLETION_LEN, &entry);
    }

    fn rung(&self, endpoint: usize, receives: bool, tail: u16) {
        let told = &self.tails[endpoint][usize::from(receives)];
        let mut at = told.load(Ordering::Relaxed);
        while at != tail {
            let [low, high] = at.to_le_bytes();
            let opcode = if receives { queue::DONE_RECV } else { queue::DONE_SEND };
            self.complete([
                (done::OPCODE, opcode),
                (done::ENDPOINT, endpoint as u8),
                (done::RING, endpoint as u8),
                (done::ENTRY, low),
                (done::ENTRY + 1, high),
            ]);
            at = at.wrapping_add(1);
        }
        told.store(at, Ordering::Relaxed);
    }
}

impl Device for Null {
    fn read(&self, offset: u32) -> Result<u32, DeviceError> {
        const VALUES: [(u32, u32); 5] = [
            (regs::MAGIC.offset, regs::MAGIC_VALUE),
            (regs::ABI_VERSION.offset, regs::ABI_VERSION_VALUE),
            (regs::SIZES0.offset, 2 << 24),
            (regs::SIZES1.offset, 1 | 3 << 8 | 3 << 24),
            (regs::STATUS.offset, 1),
        ];
        if offset == regs::TIME.offset {
            return Ok(self.time.fetch_add(64, Ordering::Relaxed));
        }
        Ok(VALUES.iter().find(|(at, _)| *at == offset).map_or(0, |(_, value)| *value))
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        if offset == regs::TABLE_COMMAND.offset {
            self.accesses.fetch_add(1, Ordering::SeqCst);
            let mut stuck = self.stuck.lock().unwrap();
            while *stuck {
                stuck = self.freed.wait(stuck).unwrap();
            }
        }
        for endpoint in 0..4 {
            let page = regs::doorbell_page(endpoint);
            if offset == page + regs::DOORBELL_SQ || offset == page + regs::DOORBELL_RQ {
                self.rung(endpoint as usize, offset == page + regs::DOORBELL_RQ, value as u16);
            }
        }
        Ok(())
    }

    fn map(&self, memory: &Arc<DmaMemory>) -> Result<u64, DeviceError> {
        self.cq.get_or_init(|| memory.clone());
        Ok(memory.address())
    }

    fn unmap(&self, _: u64) {}

    fn wait(&self) -> Result<(), DeviceError> {
        Ok(())
    }
}

struct Bench {
    device: Arc<Null>,
    pd: ProtectionDomain,
    cq: CompletionQueue,
    messages: Endpoint,
    datagrams: Endpoint,
    region: MemoryRegion,
}

fn bench() -> Bench {
    let options = ContextOptions {
        mac: [2, 0, 0, 0, 0, 1],
        ip: [10, 0, 0, 1],
        ip6: None,
        vlan: None,
        seed: 7,
        settings: Vec::new(),
    };
    let device = Arc::new(Null::default());
    let context = Context::open(device.clone(), options).unwrap();
    let (cq, pd) = (context.create_cq(ENTRIES).unwrap(), context.alloc_pd());
    let of = |kind, tags| {
        let options =
            EndpointOptions { kind, tags, send_entries: 16, recv_entries: 16, ..Default::default() };
        pd.create_endpoint(&options, &cq, &cq).unwrap()
    };
    let mut messages = of(EndpointKind::Messages, true);
    messages.set_inline(64).unwrap();
    let datagrams = of(EndpointKind::Datagrams, false);
    let region = pd.register(&DmaMemory::new(4096), Access::LOCAL_WRITE).unwrap();
    Bench { device, pd, cq, messages, datagrams, region }
}

impl Bench {
    /// Every kind of post, once; says how many.
    fn post_all(&mut self) -> Result<usize, PostError> {
        let Self { messages, datagrams, region, .. } = self;
        let to = AddressHandle::ipv4([2, 0, 0, 0, 0, 9], [10, 0, 0, 9], 0x12_3456, 0);
        let (work_id, range, immediate, round, payload_size) = (1, 0..64, Some(1), Some(2), 4096);
        let send =
            SendRequest { work_id, region, range: range.clone(), to, tag: 3, immediate, round, payload_size };
        messages.post_send(&send)?;
        messages.post_recoverable_send(&send)?;
        let remote = RemoteMemory { address: 0, rkey: 1 };
        messages.post_write(&WriteRequest {
            work_id,
            region,
            range: range.clone(),
            to,
            remote,
            immediate,
            round,
            payload_size,
        })?;
        let what = Inline::Send { tag: 3 };
        messages.post_inline(&InlineRequest {
            work_id,
            bytes: &[5; 64],
            to,
            immediate,
            round,
            payload_size,
            what,
        })?;
        let receive = RecvRequest { work_id, region, range: range.clone() };
        messages.post_recv(&receive)?;
        messages.post_tagged_recv(9, &receive)?;
        let chunks = ChunkOptions { packets_per_chunk: 1, most_packets: 256 };
        let watch = messages.post_chunked_recv(&RecvRequest { work_id, region, range: 0..4096 }, &chunks)?;
        assert_eq!(watch.message(), None);
        messages.batch(|messages| (0..4).try_for_each(|_| messages.post_send(&send)))??;
        datagrams.post_datagram(&DatagramRequest {
            work_id,
            region,
            range,
            to,
            immediate,
            path_mtu: 4096,
        })?;
        datagrams.post_recv(&receive)?;
        Ok(13)
    }
}

#[test]
fn posts_and_polls_allocate_nothing() {
    let mut bench = bench();
    // A queue learns which endpoints it has when it is first polled.
    let mut taken = [WorkCompletion::default(); 16];
    assert_eq!(bench.cq.poll(&mut taken), Ok(0));
    let counts = (0..200).map(|_| {
        counted(|| {
            let posted = bench.post_all().unwrap();
            assert_eq!(bench.cq.poll(&mut taken), Ok(posted));
            assert!(taken[..posted].iter().all(|done| done.status == Status::Success));
            // Also the look whether anything can come.
            (0..20).for_each(|_| assert_eq!(bench.cq.poll(&mut taken), Ok(0)));
        })
    });
    assert_eq!(counts.collect::<Vec<_>>(), [0; 200]);
    assert!(counted(|| drop(std::hint::black_box(Box::new(1)))) == 2, "this counts");
}

#[test]
fn asking_for_events_and_taking_them_allocates_nothing() {
    let mut bench = bench();
    bench.cq.arm().unwrap();
    bench.cq.wait_event(Some(std::time::Duration::from_millis(5))).unwrap();
    let mut taken = [WorkCompletion::default(); 16];
    assert_eq!(bench.cq.poll(&mut taken), Ok(0));
    for _ in 0..20 {
        let count = counted(|| {
            bench.cq.arm().unwrap();
            let posted = bench.post_all().unwrap();
            assert_eq!(bench.cq.wait_event(None), Ok(true));
            assert_eq!(bench.cq.poll(&mut taken), Ok(posted));
            bench.cq.take_event().unwrap();
        });
        assert_eq!(count, 0);
    }
}

/// A thread that stands in the middle of a table access holds every lock that there is.
#[test]
fn posts_and_polls_go_on_while_another_thread_holds_the_nic() {
    let mut bench = bench();
    let mut taken = [WorkCompletion::default(); 16];
    assert_eq!(bench.cq.poll(&mut taken), Ok(0));
    *bench.device.stuck.lock().unwrap() = true;
    let (pd, device) = (bench.pd.clone(), bench.device.clone());
    let before = device.accesses.load(Ordering::SeqCst);
    let other = std::thread::spawn(move || pd.register(&DmaMemory::new(10), Access::READ).map(drop));
    while device.accesses.load(Ordering::SeqCst) == before {
        std::thread::yield_now();
    }
    for _ in 0..50 {
        let posted = bench.post_all().unwrap();
        assert_eq!(bench.cq.poll(&mut taken), Ok(posted));
    }
    assert!(!other.is_finished());
    *device.stuck.lock().unwrap() = false;
    device.freed.notify_all();
    other.join().unwrap().unwrap();
}
