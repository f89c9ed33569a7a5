//! Events and async tasks on Verilated NICs: in this process, and in a simulator of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tessera_driver::remote::Identity;
use tessera_driver::*;
use tessera_driver_tokio::{Completions, CompletionsError};
use tessera_sim::cluster::{addresses, Cluster, SharedCluster};
use tessera_sim::fabric::{FabricOptions, Faults, Loss};
use tessera_sim::nic::NicOptions;
use tessera_sim::serve::{MemoryWay, Server};
use tessera_testbenches::pressed::model;

const QKEY: u32 = 77;

/// Long enough for a busy machine, and an end for a test that hangs.
const LONG: Duration = Duration::from_secs(300);

fn cluster() -> SharedCluster {
    let faults = Faults { loss: Loss::Uniform(0.01), ..Faults::default() };
    let fabric = FabricOptions { faults, ..FabricOptions::new(4, 250, 500, 1) };
    SharedCluster::new(Cluster::new(model(), 2, &NicOptions::default(), fabric).unwrap())
}

fn server(name: &str) -> Server<Cluster> {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.sock"));
    Server::bind(&path, cluster(), 2, MemoryWay::Found).unwrap()
}

/// A host with one endpoint.
struct Host {
    context: Context,
    pd: ProtectionDomain,
    endpoint: Endpoint,
}

fn host(device: Arc<dyn Device>, nic: usize) -> (Host, CompletionQueue) {
    let (mac, ip) = addresses(nic);
    let options = ContextOptions { mac, ip, ip6: None, vlan: None, seed: 3, settings: Vec::new() };
    let context = Context::open(device, options).unwrap();
    let (pd, cq) = (context.alloc_pd(), context.create_cq(256).unwrap());
    let options = EndpointOptions { qkey: QKEY, ..EndpointOptions::default() };
    let mut endpoint = pd.create_endpoint(&options, &cq, &cq).unwrap();
    endpoint.set_inline(64).unwrap();
    (Host { context, pd, endpoint }, cq)
}

impl Host {
    fn region(&self, memory: &Arc<DmaMemory>) -> MemoryRegion {
        self.pd.register(memory, Access::LOCAL_WRITE).unwrap()
    }

    fn send(&mut self, region: &MemoryRegion, to: AddressHandle, tag: u64) {
        let request = SendRequest {
            work_id: tag,
            region,
            range: 0..region.len(),
            to,
            tag,
            immediate: None,
            round: None,
            payload_size: 1024,
        };
        self.endpoint.post_send(&request).unwrap();
    }
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

fn run<T>(task: impl std::future::Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(LONG, task).await.expect("it hangs") })
}

/// Echoes: two tasks on one thread, neither of which may hold the other up.
async fn echo(devices: [Arc<dyn Device>; 2]) {
    const MESSAGES: u64 = 6;
    let [(mut a, a_queue), (mut b, b_queue)] = {
        let mut nic = 0..;
        devices.map(|device| host(device, nic.next().unwrap()))
    };
    let (to_a, to_b) = (a.endpoint.address(), b.endpoint.address());
    let (mut a_done, mut b_done) = (Completions::new(a_queue).unwrap(), Completions::new(b_queue).unwrap());
    let asks = async {
        for n in 0..MESSAGES {
            let text = bytes(1 + 9000 * n as usize);
            let from = a.region(&DmaMemory::from_slice(&text));
            let into = a.region(&DmaMemory::new(100_000));
            let receive = RecvRequest { work_id: 1000 + n, region: &into, range: 0..into.len() };
            a.endpoint.post_recv(&receive).unwrap();
            a.send(&from, to_b, n);
            let mut told = [a_done.next().await.unwrap(), a_done.next().await.unwrap()];
            told.sort_unstable_by_key(|done| done.work_id);
            assert_eq!(
                told.map(|done| (done.work_id, done.status)),
                [n, 1000 + n].map(|id| (id, Status::Success))
            );
            assert_eq!(told[1].len as usize, text.len());
            // SAFETY: its only receive has ended.
            assert!(unsafe { into.memory().slice(0, text.len()) } == text);
        }
    };
    let answers = async {
        let buffer = b.region(&DmaMemory::new(100_000));
        let receive = |b: &mut Host| {
            let receive = RecvRequest { work_id: 2000, region: &buffer, range: 0..buffer.len() };
            b.endpoint.post_recv(&receive).unwrap();
        };
        receive(&mut b);
        // Each until its send has ended.
        let (mut sent, mut sources) = (0, Vec::new());
        while sent < MESSAGES {
            let done = b_done.next().await.unwrap();
            assert_eq!(done.status, Status::Success);
            if done.receive {
                let text = buffer.memory().to_vec(0, done.len as usize);
                let back = b.region(&DmaMemory::from_slice(&text));
                receive(&mut b);
                b.send(&back, to_a, done.tag);
                sources.push(back);
            } else {
                sent += 1;
            }
        }
    };
    tokio::join!(asks, answers);
    assert_eq!(a_done.try_next(), Ok(None));
}

#[test]
fn tasks_echo_on_nics_of_this_process() {
    let cluster = cluster();
    run(echo([0, 1].map(|nic| cluster.device(nic))));
}

#[test]
fn tasks_echo_on_nics_of_a_simulator_process() {
    let server = server("async");
    run(echo([0, 1].map(|nic| open_device(&server.address(nic)).unwrap())));
}

/// Other tasks run while one awaits, and a future that is dropped loses nothing.
#[test]
fn a_completion_outlives_the_future_that_waited_for_it() {
    let cluster = cluster();
    run(async {
        let [(mut a, a_queue), (mut b, b_queue)] = [0, 1].map(|nic| host(cluster.device(nic), nic));
        let mut b_done = Completions::new(b_queue).unwrap();
        let into = b.region(&DmaMemory::new(64));
        let short = Duration::from_millis(20);
        assert!(tokio::time::timeout(short, b_done.next()).await.is_err(), "nothing was sent");
        b.endpoint.post_recv(&RecvRequest { work_id: 8, region: &into, range: 0..64 }).unwrap();
        let to = b.endpoint.address();
        let what = Inline::Send { tag: 4 };
        let (immediate, round, payload_size) = (Some(6), None, 256);
        let hello = InlineRequest { work_id: 7, bytes: b"hello", to, immediate, round, payload_size, what };
        a.endpoint.post_inline(&hello).unwrap();
        let done = loop {
            if let Ok(done) = tokio::time::timeout(short, b_done.next()).await {
                break done.unwrap();
            }
        };
        assert_eq!((done.work_id, done.tag, done.immediate, done.len), (8, 4, Some(6), 5));
        assert_eq!(into.memory().to_vec(0, 6), b"hello\0");
        let sent = Completions::new(a_queue).unwrap().next().await.unwrap();
        assert_eq!((sent.work_id, sent.status), (7, Status::Success));
    });
}

/// A reset ends what a task waits for, and then says that no more comes.
#[test]
fn a_task_hears_of_a_reset() {
    let cluster = cluster();
    run(async {
        let (mut a, queue) = host(cluster.device(0), 0);
        let mut done = Completions::new(queue).unwrap();
        let into = a.region(&DmaMemory::new(64));
        a.endpoint.post_recv(&RecvRequest { work_id: 8, region: &into, range: 0..64 }).unwrap();
        let context = a.context.clone();
        let reset = tokio::task::spawn_blocking(move || context.reset().unwrap());
        let flushed = done.next().await.unwrap();
        assert_eq!((flushed.work_id, flushed.status), (8, Status::Flushed));
        reset.await.unwrap();
        let end = done.next().await.unwrap_err();
        assert!(end.is_reset(), "{end}");
        assert_eq!(a.endpoint.state(), State::Over);
    });
}

#[test]
fn without_a_runtime_there_are_no_futures() {
    let cluster = cluster();
    let (_host, queue) = host(cluster.device(0), 0);
    let error = Completions::new(queue).unwrap_err();
    assert!(
        matches!(error, CompletionsError::Runtime(_)) && error.to_string().contains("runtime"),
        "{error}"
    );
}

/// A program that does nothing but poll, as on a board, is not alone in time.
#[test]
fn polls_of_a_simulator_process_let_time_run() {
    let server = server("polls");
    let [(mut a, mut a_queue), (mut b, mut b_queue)] =
        [0, 1].map(|nic| host(open_device(&server.address(nic)).unwrap(), nic));
    let from = a.region(&DmaMemory::from_slice(&bytes(5000)));
    let into = b.region(&DmaMemory::new(5000));
    b.endpoint.post_recv(&RecvRequest { work_id: 8, region: &into, range: 0..5000 }).unwrap();
    a.send(&from, b.endpoint.address(), 7);
    let mut done = [WorkCompletion::default()];
    for queue in [&mut b_queue, &mut a_queue] {
        while queue.poll(&mut done).unwrap() == 0 {}
        assert_eq!(done[0].status, Status::Success);
    }
    assert_eq!(into.memory().to_vec(0, 5000), bytes(5000));
}

/// What can be opened, with whose addresses, and what it has.
#[test]
fn devices_are_listed_with_their_attributes() {
    let server = server("list");
    let open = |address: &str| devices_at(address).unwrap();
    let listed = open(&server.address(1));
    let names: Vec<_> = listed.iter().map(|device| device.address.clone()).collect();
    assert_eq!(names, [server.address(0), server.address(1)]);
    assert!(listed.iter().all(|device| device.is_open == Some(false)));
    for (nic, device) in listed.iter().enumerate() {
        let Identity { mac, ip, .. } = device.identity.unwrap();
        assert_eq!((mac, ip), addresses(nic));
    }
    let device = open_device(&names[1]).unwrap();
    let attributes = DeviceAttributes::of(&*device).unwrap();
    let (host, _queue) = host(device, 1);
    assert_eq!(host.context.attributes(), Ok(attributes));
    let config = tessera_testbenches::pressed::CONFIG;
    assert_eq!(attributes.messages_sent, 1 << config.tx_slots_log2);
    assert_eq!(attributes.messages_received, 1 << config.rx_contexts_log2);
    assert_eq!(attributes.bitmap_blocks, 1 << config.bitmap_blocks_log2);
    assert_eq!((attributes.max_payload, attributes.max_message), (4096, u32::MAX));
    let open: Vec<_> = open(&names[0]).iter().map(|device| device.is_open).collect();
    assert_eq!(open, [false, true].map(Some));
    assert!(devices_at("disk:0").is_err());
    let nobody = devices_at("socket:/nonexistent/tessera.sock").unwrap_err().to_string();
    assert!(nobody.contains("start the simulator"), "{nobody}");
}
