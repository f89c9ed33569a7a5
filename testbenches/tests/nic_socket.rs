//! Simulated NICs opened by other processes: memory by both ways, programs that go.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tessera_abi::regs;
use tessera_abi::wire::ipv4_gid;
use tessera_driver::remote::{look, Answer, Request, ANY, GONE, HELLO, VERSION};
use tessera_driver::*;
use tessera_sim::cluster::{addresses, ip6, Cluster, SharedCluster};
use tessera_sim::fabric::{FabricOptions, Faults, Loss};
use tessera_sim::nic::NicOptions;
use tessera_sim::serve::{MemoryWay, Server, Visit};
use tessera_testbenches::pressed::model;

const QKEY: u32 = 77;

fn server(name: &str, way: MemoryWay) -> Server<Cluster> {
    let faults = Faults { loss: Loss::Uniform(0.01), ..Faults::default() };
    let fabric = FabricOptions { faults, ..FabricOptions::new(4, 250, 500, 1) };
    let cluster = Cluster::new(model(), 2, &NicOptions::default(), fabric).unwrap();
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.sock"));
    Server::bind(&path, SharedCluster::new(cluster), 2, way).unwrap()
}

/// A program with one endpoint.
struct Program {
    context: Context,
    pd: ProtectionDomain,
    cq: CompletionQueue,
    endpoint: Endpoint,
}

impl Program {
    fn open(address: &str, nic: usize) -> Self {
        let (mac, ip) = addresses(nic);
        // A peer that is gone is given up after 0.13 ms.
        let settings = vec![(regs::T_OPEN, 2000), (regs::MAX_RETRY, 2)];
        let options = ContextOptions { mac, ip, ip6: None, vlan: None, seed: 3, settings };
        // One that was killed may not have left yet.
        let device = (0..1000).find_map(|_| {
            let device = open_device(address).ok();
            if device.is_none() {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            device
        });
        let context = Context::open(device.expect("the NIC becomes free"), options).unwrap();
        let pd = context.alloc_pd();
        let cq = context.create_cq(256).unwrap();
        let options = EndpointOptions { qkey: QKEY, ..EndpointOptions::default() };
        let endpoint = pd.create_endpoint(&options, &cq, &cq).unwrap();
        Self { context, pd, cq, endpoint }
    }

    fn send(&mut self, bytes: &[u8], to: AddressHandle) -> MemoryRegion {
        let region = self.pd.register(&DmaMemory::from_slice(bytes), Access::READ).unwrap();
        let send = SendRequest {
            work_id: 1,
            region: &region,
            range: 0..bytes.len(),
            to,
            tag: 5,
            immediate: None,
            round: None,
            payload_size: 1024,
        };
        self.endpoint.post_send(&send).unwrap();
        region
    }

    fn receive(&mut self, len: usize) -> MemoryRegion {
        let region = self.pd.register(&DmaMemory::new(len), Access::LOCAL_WRITE).unwrap();
        self.endpoint.post_recv(&RecvRequest { work_id: 2, region: &region, range: 0..len }).unwrap();
        region
    }

    /// Until a request of this number has ended well.
    fn until(&mut self, work_id: u64) -> WorkCompletion {
        loop {
            let mut done = [WorkCompletion::default()];
            match self.cq.poll(&mut done).unwrap() {
                0 => self.context.wait().unwrap(),
                _ if done[0].work_id == work_id => {
                    assert_eq!(done[0].status, Status::Success);
                    return done[0];
                }
                _ => {}
            }
        }
    }
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

#[test]
fn memory_is_reached_by_both_ways() {
    for (name, way) in [("found", MemoryWay::Found), ("asked", MemoryWay::Asked)] {
        let server = server(name, way);
        let [mut a, mut b] = [0, 1].map(|nic| Program::open(&server.address(nic), nic));
        assert!(server.programs().iter().all(Option::is_some));
        // Both ends are taken; nobody else gets them.
        let taken = open_device(&server.address(1)).err().expect("it is in use").to_string();
        assert!(taken.contains(&format!("in process {}", std::process::id())), "{taken}");
        for len in [0, 1, 3000, 100_000] {
            let sent = bytes(len);
            let sink = b.receive(len + 10);
            let _source = a.send(&sent, b.endpoint.address());
            assert_eq!(b.until(2).len as usize, len, "{name}");
            assert_eq!(sink.memory().to_vec(0, len), sent, "{name}");
            assert_eq!(sink.memory().to_vec(len, 10), [0; 10]);
            a.until(1);
        }
        drop((a, b));
        let again = Program::open(&server.address(0), 0);
        drop(again);
        drop(server);
        let error = open_device(&format!("socket:{}/{name}.sock", env!("CARGO_TARGET_TMPDIR"))).err();
        assert!(error.is_some(), "nobody listens any more");
    }
}

/// Programs that do not know the NICs: the first that is free, and who has which address.
#[test]
fn any_nic_and_its_addresses() {
    let server = server("any", MemoryWay::Found);
    let any = server.address(0).replace("nic=0", "nic=any");
    let path = PathBuf::from(any.trim_start_matches("socket:").trim_end_matches("?nic=any"));
    assert_eq!(look(&path, 1).unwrap().nic, 1);
    assert!(look(&path, 2).is_err());
    assert_eq!(look(&path, ANY).unwrap().nic, 0);
    assert_eq!(server.programs(), [None, None], "looking opens nothing");
    let first = open_socket(&any).unwrap();
    assert_eq!(look(&path, ANY).unwrap().nic, 1);
    let second = open_socket(&any).unwrap();
    for (nic, remote) in [&first, &second].into_iter().enumerate() {
        let (mac, ip) = addresses(nic);
        let identity = remote.identity();
        assert_eq!((identity.nic as usize, identity.mac, identity.ip), (nic, mac, ip));
        assert_eq!(identity.ip6, ip6(nic));
        assert_eq!(second.resolve(ipv4_gid(ip)).unwrap(), Some(mac));
        assert_eq!(first.resolve(ip6(nic)).unwrap(), Some(mac));
    }
    for nobody in [ipv4_gid(addresses(2).1), ipv4_gid([10, 0, 0, 0]), [0; 16]] {
        assert_eq!(first.resolve(nobody).unwrap(), None, "{nobody:?}");
    }
    // Numbers that share an endpoint, each at its own NIC.
    second.announce(7, Some(0x1234)).unwrap();
    let at = ipv4_gid(addresses(1).1);
    assert_eq!(first.find(at, 7).unwrap(), Some((addresses(1).0, 0x1234)));
    assert_eq!(first.find(at, 8).unwrap(), None);
    assert_eq!(first.find(ipv4_gid(addresses(0).1), 7).unwrap(), None);
    second.announce(7, None).unwrap();
    assert_eq!(first.find(at, 7).unwrap(), None);
    let full = open_socket(&any).expect_err("both are open").to_string();
    assert!(full.contains("all 2 NICs are open"), "{full}");
}

/// A Q_Key is changed until something is posted.
#[test]
fn an_unused_endpoint_takes_another_qkey() {
    let server = server("qkey", MemoryWay::Found);
    let [mut a, mut b] = [0, 1].map(|nic| Program::open(&server.address(nic), nic));
    a.endpoint.set_qkey(QKEY + 1).unwrap();
    b.endpoint.set_qkey(QKEY + 1).unwrap();
    assert_eq!(b.endpoint.address().qkey, QKEY + 1);
    let sent = bytes(5000);
    let sink = b.receive(sent.len());
    let _source = a.send(&sent, b.endpoint.address());
    b.until(2);
    assert_eq!(sink.memory().to_vec(0, sent.len()), sent);
    assert_eq!(a.endpoint.set_qkey(QKEY), Err(PostError::Used));
    assert_eq!(b.endpoint.set_qkey(QKEY), Err(PostError::Used));
    assert_eq!(b.endpoint.address().qkey, QKEY + 1);
}

/// A receiver in a process of its own; started by the other tests.
#[test]
#[ignore = "started by the other tests"]
fn child() {
    let mut program = Program::open(&std::env::var("TESSERA_DEVICE").unwrap(), 1);
    println!("endpoint {:#x}", program.endpoint.number());
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let len: usize = line.trim().parse().unwrap();
    let sink = program.receive(len);
    println!("posted");
    program.until(2);
    assert_eq!(sink.memory().to_vec(0, len), bytes(len));
    println!("right");
    // Until it is killed, or the other end goes.
    let _ = std::io::stdin().read_line(&mut line);
}

#[test]
fn a_program_that_is_killed_leaves_a_nic_for_the_next() {
    let server = server("killed", MemoryWay::Found);
    let mut here = Program::open(&server.address(0), 0);
    for life in 0..3 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["child", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env("TESSERA_DEVICE", server.address(1))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut said = |what: &str| {
            let line = out.find(|line| line.contains(what)).unwrap_or_else(|| panic!("no `{what}`"));
            line.split(what).nth(1).unwrap().trim().to_owned()
        };
        let number = said("endpoint");
        let number = u32::from_str_radix(number.trim_start_matches("0x"), 16).unwrap();
        let len = 5000 + life;
        writeln!(child.stdin.as_ref().unwrap(), "{len}").unwrap();
        said("posted");
        assert_eq!(server.programs()[1], Some(child.id() as i32));
        let (mac, ip) = addresses(1);
        let to = AddressHandle::ipv4(mac, ip, number, QKEY);
        let _source = here.send(&bytes(len), to);
        here.until(1);
        said("right");
        // In the middle of nothing, or with a message under way to it.
        let under_way = (life > 0).then(|| here.send(&bytes(200_000), to));
        child.kill().unwrap();
        child.wait().unwrap();
        if under_way.is_some() {
            let mut done = [WorkCompletion::default()];
            while here.cq.poll(&mut done).unwrap() == 0 {
                here.context.wait().unwrap();
            }
            assert_ne!(done[0].status, Status::Success, "nobody was there to receive it");
        }
    }
    // Each is told of what its NIC did for it, and for none before it.
    while server.programs()[1].is_some() {
        here.context.wait().unwrap();
    }
    let completed = |visit: &Visit| visit.counters.iter().find(|(name, _)| *name == "RxCompleted").copied();
    let visits = server.visits();
    let completed: Vec<_> = visits.iter().map(completed).collect();
    assert_eq!(completed, [Some(("RxCompleted", 1)); 3], "{visits:?}");
}

#[test]
fn strangers_are_told_what_is_wrong() {
    let server = server("strangers", MemoryWay::Found);
    let error = open_device(&server.address(2)).err().expect("there is none").to_string();
    assert!(error.contains("no NIC 2: use 0 to 1"), "{error}");
    let path = server.address(0).replace("socket:", "").replace("?nic=0", "");
    let say = |request: Request| {
        let mut stream = UnixStream::connect(&path).unwrap();
        request.send(&mut stream).unwrap();
        Answer::receive(&mut stream).unwrap()
    };
    let old = say(Request { kind: HELLO, a: 0, b: 99, c: 0 });
    assert!(old.status == GONE && old.text.contains("version 3 and this program 99"), "{old:?}");
    let odd = say(Request { kind: 55, a: 0, b: VERSION, c: 0 });
    assert!(odd.status == GONE && odd.text.contains("55"), "{odd:?}");
    // A second server at one place, and one after it.
    let cluster = || {
        let fabric = FabricOptions::new(1, 250, 0, 1);
        SharedCluster::new(Cluster::new(model(), 1, &NicOptions::default(), fabric).unwrap())
    };
    assert!(Server::bind(path.as_ref(), cluster(), 1, MemoryWay::Found).is_err());
    // A program whose simulator goes is told so.
    let program = Program::open(&server.address(0), 0);
    drop(server);
    let gone = program.context.wait().unwrap_err();
    assert!(matches!(gone, DeviceError::Gone(_)), "{gone}");
    // What one that was killed left behind is no obstacle; what is somebody else's stays.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    drop(Server::bind(path.as_ref(), cluster(), 1, MemoryWay::Found).unwrap());
    std::fs::write(&path, "precious").unwrap();
    let refused = Server::bind(path.as_ref(), cluster(), 1, MemoryWay::Found).err().unwrap().to_string();
    assert!(refused.contains("no socket: name another"), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    std::fs::remove_file(&path).unwrap();
}

/// A thread that waits for device time without end holds no other thread of its program up.
#[test]
fn threads_have_their_turns() {
    const READS: u64 = 50;
    let server = server("turns", MemoryWay::Found);
    let device = open_device(&server.address(0)).unwrap();
    let waits = AtomicU64::new(0);
    let ended = AtomicBool::new(false);
    let beside = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                device.wait().unwrap();
                waits.fetch_add(1, Ordering::Relaxed);
            }
        });
        let mut beside = 0;
        for _ in 0..READS {
            // In the middle of a wait, not of one turn after another.
            std::thread::sleep(std::time::Duration::from_millis(3));
            let before = waits.load(Ordering::Relaxed);
            device.read(regs::SIZES0.offset).unwrap();
            beside += waits.load(Ordering::Relaxed) - before;
        }
        ended.store(true, Ordering::Relaxed);
        beside
    });
    println!("{} waits, {beside} of them beside {READS} reads", waits.into_inner());
    // The one under way, and what the scheduler of a busy machine makes of the counting: twenty each
    // and more it was when whoever was awake had the NIC.
    assert!(beside <= 8 * READS, "{READS} reads were held up by {beside} waits");
}
