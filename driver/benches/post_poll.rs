//! The software alone: post and poll against a device that ends every send at once.
//!
//! `cargo bench -p tessera-driver --bench post_poll`

#![allow(missing_docs, reason = "of a function that a macro makes")]

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use tessera_abi::queue::{self, done};
use tessera_abi::regs;
use tessera_driver::*;

const ENTRIES: usize = 1024;
const BATCH: usize = 32;

/// A NIC without a network: of a doorbell it writes the completions.
#[derive(Default)]
struct Null {
    /// Where completion queue 0 is; it is mapped first.
    cq: std::sync::OnceLock<Arc<DmaMemory>>,
    sent: AtomicU16,
    doorbells: AtomicU64,
}

impl Device for Null {
    fn read(&self, offset: u32) -> Result<u32, DeviceError> {
        const VALUES: [(u32, u32); 5] = [
            (regs::MAGIC.offset, regs::MAGIC_VALUE),
            (regs::ABI_VERSION.offset, regs::ABI_VERSION_VALUE),
            (regs::SIZES0.offset, 2 << 24),
            (regs::SIZES1.offset, 1 | 1 << 8),
            (regs::STATUS.offset, 1),
        ];
        if offset == regs::TIME.offset {
            return Ok(self.doorbells.fetch_add(64, Ordering::Relaxed) as u32);
        }
        Ok(VALUES.iter().find(|(at, _)| *at == offset).map_or(0, |(_, value)| *value))
    }

    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        if offset != regs::doorbell_page(0) + regs::DOORBELL_SQ {
            return Ok(());
        }
        let Some(cq) = self.cq.get() else { return Ok(()) };
        let mut at = self.sent.load(Ordering::Relaxed);
        while at != value as u16 {
            let mut entry = [0; queue::COMPLETION_LEN];
            entry[done::OPCODE] = queue::DONE_SEND;
            entry[done::ENTRY..done::ENTRY + 2].copy_from_slice(&at.to_le_bytes());
            entry[done::PHASE] = u8::from((usize::from(at) / ENTRIES).is_multiple_of(2));
            cq.write(usize::from(at) % ENTRIES * queue::COMPLETION_LEN, &entry);
            at = at.wrapping_add(1);
        }
        self.sent.store(at, Ordering::Relaxed);
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
    cq: CompletionQueue,
    endpoint: Endpoint,
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
    let context = Context::open(Arc::new(Null::default()), options).unwrap();
    let cq = context.create_cq(ENTRIES).unwrap();
    let pd = context.alloc_pd();
    let options = EndpointOptions { send_entries: 64, recv_entries: 2, ..EndpointOptions::default() };
    let endpoint = pd.create_endpoint(&options, &cq, &cq).unwrap();
    let region = pd.register(&DmaMemory::new(4096), Access::READ).unwrap();
    Bench { cq, endpoint, region }
}

fn send(region: &MemoryRegion, work_id: u64) -> SendRequest<'_> {
    SendRequest {
        work_id,
        region,
        range: 0..64,
        to: AddressHandle::ipv4([2, 0, 0, 0, 0, 9], [10, 0, 0, 9], 0x12_3456, 0),
        tag: work_id,
        immediate: None,
        round: None,
        payload_size: 4096,
    }
}

fn post_poll(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("software");
    group.throughput(Throughput::Elements(BATCH as u64));
    group.measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
    let Bench { mut cq, mut endpoint, region } = bench();
    let mut taken = [WorkCompletion::default(); BATCH];
    group.bench_function("a doorbell per send", |bencher| {
        bencher.iter(|| {
            for id in 0..BATCH as u64 {
                endpoint.post_send(&send(&region, id)).unwrap();
            }
            assert_eq!(cq.poll(&mut taken), Ok(BATCH));
        });
    });
    group.bench_function("a doorbell per 32 sends", |bencher| {
        bencher.iter(|| {
            let posted = endpoint.batch(|endpoint| {
                (0..BATCH as u64).try_for_each(|id| endpoint.post_send(&send(&region, id)))
            });
            assert_eq!(posted, Ok(Ok(())));
            assert_eq!(cq.poll(&mut taken), Ok(BATCH));
        });
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("a send that is slept for", |bencher| {
        bencher.iter(|| {
            cq.arm().unwrap();
            endpoint.post_send(&send(&region, 0)).unwrap();
            assert_eq!(cq.wait_event(None), Ok(true));
            assert_eq!(cq.poll(&mut taken), Ok(1));
        });
    });
    group.finish();
}

criterion_group!(benches, post_poll);
criterion_main!(benches);
