//! One NIC used by several threads at a time.

// Each test program uses its part of it.
#[allow(dead_code)]
mod fake;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use fake::{Fake, SMALL};
use tessera_abi::regs::{self, mr, table};
use tessera_driver::*;

/// The registers of a [`Fake`], whose accesses take their time.
struct Slow {
    fake: Arc<Fake>,
    /// A doorbell is being written.
    ringing: AtomicBool,
    /// Run in the next `map`.
    on_map: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Slow {
    fn open() -> (Arc<Self>, Context) {
        let slow =
            Arc::new(Self { fake: Fake::nic(), ringing: AtomicBool::new(false), on_map: Mutex::default() });
        let context = Context::open(slow.clone(), fake::options()).unwrap();
        (slow, context)
    }
}

impl Device for Slow {
    fn read(&self, offset: u32) -> Result<u32, DeviceError> {
        self.fake.read(offset)
    }
    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        if (regs::TABLE_DATA..regs::TABLE_DATA + 64).contains(&offset) {
            thread::sleep(Duration::from_millis(1));
        }
        if offset >= regs::doorbell_page(0) {
            self.ringing.store(true, Ordering::SeqCst);
            thread::sleep(Duration::from_micros(50));
            self.ringing.store(false, Ordering::SeqCst);
        }
        assert!(
            !(offset == regs::RESET.offset && self.ringing.load(Ordering::SeqCst)),
            "reset amid a doorbell"
        );
        self.fake.write(offset, value)
    }
    fn map(&self, memory: &Arc<DmaMemory>) -> Result<u64, DeviceError> {
        let hook = self.on_map.lock().unwrap().take();
        hook.into_iter().for_each(|hook| hook());
        self.fake.map(memory)
    }
    fn unmap(&self, address: u64) {
        self.fake.unmap(address);
    }
    fn wait(&self) -> Result<(), DeviceError> {
        self.fake.wait()
    }
}

fn field(words: &[u32], (lsb, width): (usize, usize)) -> u64 {
    (0..width).map(|bit| u64::from(words[(lsb + bit) / 32] >> ((lsb + bit) % 32) & 1) << bit).sum()
}

/// There is one set of data registers for all table entries.
#[test]
fn entries_of_two_threads_do_not_mix() {
    let (slow, context) = Slow::open();
    let start = Barrier::new(2);
    let pd = context.alloc_pd();
    let regions: Vec<MemoryRegion> = thread::scope(|scope| {
        let register = |len| {
            let (pd, start) = (&pd, &start);
            scope.spawn(move || {
                start.wait();
                pd.register(&DmaMemory::new(len), Access::LOCAL_WRITE).unwrap()
            })
        };
        [100, 5000].map(register).into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for region in &regions {
        let words = slow.fake.table(table::MR, region.lkey() & 0xFF);
        let entry = [mr::KEY_HI, mr::BASE, mr::LENGTH].map(|at| field(&words, at));
        assert_eq!(entry, [u64::from(region.lkey() >> 8), region.address(), region.len() as u64]);
    }
}

/// A reset frees all numbers: one taken for what was begun before it would stay taken.
#[test]
fn a_reset_in_the_middle_of_a_creation_costs_no_number() {
    for ring in [false, true] {
        let (slow, context) = Slow::open();
        let pd = context.alloc_pd();
        let cq = context.create_cq(4).unwrap();
        let (tell, told) = channel();
        let resetting = context.clone();
        let (hand, handed) = channel();
        *slow.on_map.lock().unwrap() = Some(Box::new(move || {
            let reset = thread::spawn(move || {
                resetting.reset().unwrap();
                let _ = tell.send(());
            });
            // It comes through here at once, or not before the creation is done.
            let _ = told.recv_timeout(Duration::from_millis(200));
            hand.send(reset).unwrap();
        }));
        if ring {
            drop(pd.create_shared_receive(4, &cq));
        } else {
            drop(pd.create_endpoint(&SMALL, &cq, &cq));
        }
        handed.recv().unwrap().join().unwrap();
        let cq = context.create_cq(4).unwrap();
        let all: Vec<_> = (0..4).map(|_| pd.create_endpoint(&SMALL, &cq, &cq)).collect();
        assert!(all.iter().all(Result::is_ok), "ring {ring}: {:?}", all.last());
    }
}

/// A doorbell never meets a NIC in reset, nor one that knows another ring under its number.
#[test]
fn a_reset_waits_for_doorbells_and_refuses_later_ones() {
    for delay in 0..40 {
        let (slow, context) = Slow::open();
        let pd = context.alloc_pd();
        let mut cq = context.create_cq(4).unwrap();
        let mut endpoint =
            pd.create_endpoint(&EndpointOptions { recv_entries: 8, ..SMALL }, &cq, &cq).unwrap();
        let region = pd.register(&DmaMemory::new(100), Access::LOCAL_WRITE).unwrap();
        let (start, own) = (Barrier::new(3), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                thread::sleep(Duration::from_micros(10 * delay));
                context.reset().unwrap();
                own.store(true, Ordering::SeqCst);
                slow.fake.writes.lock().unwrap().clear();
            });
            scope.spawn(|| {
                start.wait();
                for work_id in 0..4 {
                    let request = RecvRequest { work_id, region: &region, range: 0..100 };
                    let posted = match work_id {
                        3 => endpoint
                            .batch(|endpoint| endpoint.post_recv(&request))
                            .map_err(PostError::from)
                            .flatten(),
                        _ => endpoint.post_recv(&request),
                    };
                    let refused = [DeviceError::Reset, DeviceError::Resetting].map(PostError::from);
                    assert!(posted.is_ok() || posted.is_err_and(|error| refused.contains(&error)));
                }
            });
            scope.spawn(|| {
                start.wait();
                for _ in 0..4 {
                    cq.poll(&mut [WorkCompletion::default()]).unwrap();
                }
            });
        });
        assert!(own.into_inner());
        let rung = slow.fake.writes.lock().unwrap().iter().any(|&(at, _)| at >= regs::doorbell_page(0));
        assert!(!rung, "a doorbell after the reset");
        let request = RecvRequest { work_id: 9, region: &region, range: 0..100 };
        assert_eq!(endpoint.post_recv(&request), Err(DeviceError::Reset.into()));
        // All that was accepted ends, and nothing else.
        let outstanding = endpoint.recvs_outstanding();
        let mut told = [WorkCompletion::default(); 8];
        assert_eq!(cq.poll(&mut told), Ok(outstanding));
        assert!(told[..outstanding].iter().all(|done| done.status == Status::Flushed));
    }
}
