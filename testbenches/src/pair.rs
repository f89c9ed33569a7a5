//! Two whole NICs and a program on each that may fail: requests end as they
//! end, and what the wire does to single frames is up to the test.

use std::sync::Arc;

use tessera_abi::regs::{self, Counter, Reg};
use tessera_abi::status::Drop as DropReason;
use tessera_driver::{
    Access, AddressHandle, CompletionQueue, Context, ContextOptions, DmaMemory, Endpoint, EndpointOptions,
    MemoryRegion, ProtectionDomain, RecvRequest, SendRequest, WorkCompletion,
};
use tessera_sim::cluster::{addresses, ip6, Cluster, SharedCluster};
use tessera_sim::fabric::{FabricOptions, Script};
use tessera_sim::nic::NicOptions;
use tessera_sim::verilator::Model;

/// Q_Key of both endpoints.
pub const QKEY: u32 = 9;

/// One NIC's host: an endpoint and what it has posted.
pub struct Side {
    /// The opened NIC.
    pub context: Context,
    /// Completions of both directions.
    pub cq: CompletionQueue,
    /// Where it posts.
    pub endpoint: Endpoint,
    /// Where its memory and endpoints belong.
    pub pd: ProtectionDomain,
    /// Keys live as long as the NIC may use them: until the test ends.
    regions: Vec<MemoryRegion>,
    /// Completions taken and not yet asked for.
    pending: Vec<WorkCompletion>,
}

impl Side {
    fn open(cluster: &SharedCluster, nic: usize, settings: &[(Reg, u32)]) -> Self {
        let (mac, ip) = addresses(nic);
        let options = ContextOptions {
            mac,
            ip,
            ip6: crate::config().ipv6.then(|| ip6(nic)),
            vlan: None,
            seed: 5 + nic as u32,
            settings: settings.to_vec(),
        };
        let context = Context::open(cluster.device(nic), options).unwrap();
        let cq = context.create_cq(256).unwrap();
        let pd = context.alloc_pd();
        let options = EndpointOptions { qkey: QKEY, ..EndpointOptions::default() };
        let endpoint = pd.create_endpoint(&options, &cq, &cq).unwrap();
        Self { context, cq, endpoint, pd, regions: Vec::new(), pending: Vec::new() }
    }

    /// Sends bytes in packets of `payload_size`; the work id is also the tag.
    pub fn send_packets(&mut self, to: AddressHandle, bytes: &[u8], id: u64, payload_size: u32) {
        let region = self.pd.register(&DmaMemory::from_slice(bytes), Access::READ).unwrap();
        let request = SendRequest {
            work_id: id,
            region: &region,
            range: 0..bytes.len(),
            to,
            tag: id,
            immediate: Some(!id as u32),
            round: None,
            payload_size,
        };
        self.endpoint.post_send(&request).unwrap();
        self.regions.push(region);
    }

    /// Sends bytes in packets of 4096.
    pub fn send(&mut self, to: AddressHandle, bytes: &[u8], id: u64) {
        self.send_packets(to, bytes, id, 4096);
    }

    /// Posts a receive of `len` bytes and gives its memory.
    pub fn recv(&mut self, len: usize, id: u64) -> Arc<DmaMemory> {
        let memory = DmaMemory::new(len);
        let region = self.pd.register(&memory, Access::LOCAL_WRITE).unwrap();
        self.endpoint.post_recv(&RecvRequest { work_id: id, region: &region, range: 0..len }).unwrap();
        self.regions.push(region);
        memory
    }

    /// Memory that lives as long as the test says.
    pub fn register(&self, memory: &Arc<DmaMemory>, access: Access) -> MemoryRegion {
        self.pd.register(memory, access).unwrap()
    }

    /// Posts a whole region of the test's as a receive.
    pub fn post(&mut self, id: u64, region: &MemoryRegion) {
        self.endpoint.post_recv(&RecvRequest { work_id: id, region, range: 0..region.len() }).unwrap();
    }

    /// Whatever completes next, waited for `waits` times at most.
    pub fn next(&mut self, waits: usize) -> Option<WorkCompletion> {
        self.take(waits, |_| true)
    }

    /// The completion of a send or receive, waited for `waits` times at most.
    pub fn find(&mut self, receive: bool, id: u64, waits: usize) -> Option<WorkCompletion> {
        self.take(waits, |done| (done.receive, done.work_id) == (receive, id))
    }

    fn take(&mut self, waits: usize, wanted: impl Fn(&WorkCompletion) -> bool) -> Option<WorkCompletion> {
        let mut taken = [WorkCompletion::default(); 16];
        for wait in 0.. {
            loop {
                let count = self.cq.poll(&mut taken).unwrap();
                self.pending.extend_from_slice(&taken[..count]);
                if count < taken.len() {
                    break;
                }
            }
            if let Some(place) = self.pending.iter().position(&wanted) {
                return Some(self.pending.remove(place));
            }
            if wait >= waits {
                break;
            }
            self.context.wait().unwrap();
        }
        None
    }

    /// The same, which must come.
    #[track_caller]
    pub fn done(&mut self, receive: bool, id: u64) -> WorkCompletion {
        let what = if receive { "receive" } else { "send" };
        self.find(receive, id, 40_000).unwrap_or_else(|| panic!("{what} {id} does not end"))
    }

    /// Completions that nobody has asked for.
    pub fn unclaimed(&mut self) -> usize {
        let _ = self.find(true, u64::MAX, 0);
        self.pending.len()
    }

    /// A drop counter.
    pub fn dropped(&self, reason: DropReason) -> u32 {
        self.context.dropped(reason).unwrap()
    }

    /// An event counter.
    pub fn count(&self, counter: Counter) -> u32 {
        self.context.counter(counter).unwrap()
    }
}

/// Two NICs on one fabric. Side `a` is NIC 0, side `b` NIC 1.
pub struct Pair {
    /// NICs and fabric.
    pub cluster: SharedCluster,
    /// NIC 0's host.
    pub a: Side,
    /// NIC 1's host.
    pub b: Side,
}

impl Pair {
    /// Two instances of `model`, opened with `settings`.
    pub fn new(model: &Model, nic: &NicOptions, fabric: FabricOptions, settings: &[(Reg, u32)]) -> Self {
        Self::on(SharedCluster::new(Cluster::new(model, 2, nic, fabric).unwrap()), settings)
    }

    /// The two NICs of `cluster`, opened with `settings`.
    pub fn on(cluster: SharedCluster, settings: &[(Reg, u32)]) -> Self {
        let a = Side::open(&cluster, 0, settings);
        let b = Side::open(&cluster, 1, settings);
        Self { cluster, a, b }
    }

    /// From here on every frame is shown to `script`.
    pub fn script(&self, script: Script) {
        self.cluster.lock().fabric_mut().set_script(Some(script));
    }

    /// From here on frames pass.
    pub fn no_script(&self) {
        self.cluster.lock().fabric_mut().set_script(None);
    }

    /// Lets `windows` windows of simulated time pass.
    pub fn pass(&self, windows: usize) {
        for _ in 0..windows {
            self.a.context.wait().unwrap();
        }
    }

    /// Hands `frame` to NIC `nic`, now.
    pub fn inject(&self, nic: usize, frame: Vec<u8>) {
        let mut cluster = self.cluster.lock();
        let now = cluster.clock();
        cluster.nic_mut(nic).receive(now, frame);
    }

    /// One message from `a` to `b` that must arrive whole.
    #[track_caller]
    pub fn deliver(&mut self, bytes: &[u8], id: u64) {
        let buffer = self.b.recv(bytes.len().max(1), id);
        let to = self.b.endpoint.address();
        self.a.send(to, bytes, id);
        self.arrived(&buffer, bytes, id);
    }

    /// Both ends of message `id` succeed, with these bytes in `buffer`.
    #[track_caller]
    pub fn arrived(&mut self, buffer: &DmaMemory, bytes: &[u8], id: u64) {
        let received = self.b.done(true, id);
        assert_eq!(received.status, tessera_driver::Status::Success, "receive {id}");
        assert_eq!((received.len as usize, received.tag), (bytes.len(), id));
        assert!(buffer.to_vec(0, bytes.len()) == bytes, "message {id} is not what was sent");
        let sent = self.a.done(false, id);
        assert_eq!(sent.status, tessera_driver::Status::Success, "send {id}");
    }

    /// Both NICs have everything back, and no completion is left over.
    #[track_caller]
    pub fn assert_returned(&mut self) {
        for (name, side) in [("a", &mut self.a), ("b", &mut self.b)] {
            let context = side.context.clone();
            let read = |reg| context.read(reg).unwrap();
            let sizes = read(regs::SIZES0);
            let (slots, contexts) = (1 << (sizes & 31), 1 << (sizes >> 8 & 31));
            // Timers that are linked keep their context until they pop.
            for _ in 0..4000 {
                if read(regs::FREE_CONTEXTS) == contexts && read(regs::FREE_SLOTS) == slots {
                    break;
                }
                context.wait().unwrap();
            }
            assert_eq!(read(regs::FREE_SLOTS), slots, "{name}: slots");
            assert_eq!(read(regs::FREE_CONTEXTS), contexts, "{name}: contexts");
            assert_eq!(read(regs::OUTSTANDING), 0, "{name}: credit");
            assert_eq!(read(regs::UNSOLICITED), 0, "{name}: unasked bytes");
            assert_eq!(side.unclaimed(), 0, "{name}: completions nobody asked for");
        }
        for (number, nic) in self.cluster.lock().nics().iter().enumerate() {
            assert_eq!(nic.dma_faults(), 0, "NIC {number}: DMA outside mapped memory");
        }
    }
}
