//! One NIC used by several threads at a time.

// Each test program uses its part of it.
#[allow(dead_code)]
mod fake;

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
    /// Run in the next `map`.
    on_map: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Slow {
    fn open() -> (Arc<Self>, Context) {
        let slow = Arc::new(Self { fake: Fake::nic(), on_map: Mutex::default() });
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
