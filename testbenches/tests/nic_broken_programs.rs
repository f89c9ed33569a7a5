//! Programs that break the rules of the sockets by which they have their NICs: no other
//! program is to notice.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{mpsc, Arc};
use std::time::Duration;

use tessera_abi::{pci, regs};
use tessera_driver::remote::{Answer, Request, COOKIE, HELLO, OK, READ, REGISTER_FAILED, VERSION, WRITE};
use tessera_driver::*;
use tessera_sim::cluster::{addresses, Cluster, SharedCluster};
use tessera_sim::ethernet::Ethernet;
use tessera_sim::fabric::FabricOptions;
use tessera_sim::nic::NicOptions;
use tessera_sim::serve::{MemoryWay, Server, Visit};
use tessera_testbenches::pressed::model;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned()
}

fn server(name: &str, way: MemoryWay) -> Server<Cluster> {
    let fabric = FabricOptions::new(1, 250, 0, 1);
    let cluster = Cluster::new(model(), 2, &NicOptions::default(), fabric).unwrap();
    Server::bind(&folder().join(format!("{name}.sock")), SharedCluster::new(cluster), 2, way).unwrap()
}

fn path(server: &Server<Cluster>) -> PathBuf {
    server.address(0).trim_start_matches("socket:").trim_end_matches("?nic=0").into()
}

fn context(device: Arc<dyn Device>, nic: usize) -> Context {
    let (mac, ip) = addresses(nic);
    // A peer that is gone is given up after 0.13 ms.
    let settings = vec![(regs::T_OPEN, 2000), (regs::MAX_RETRY, 2)];
    let options = ContextOptions { mac, ip, ip6: None, vlan: None, seed: 3, settings };
    Context::open(device, options).unwrap()
}

/// A program that writes its messages by hand.
struct Raw(UnixStream);

impl Raw {
    fn open(server: &Server<Cluster>, nic: u32) -> Self {
        let mut raw = Self(UnixStream::connect(path(server)).unwrap());
        let welcome = raw.ask(HELLO, nic, VERSION, 0);
        assert_eq!(welcome.status, OK, "{}", welcome.text);
        raw
    }

    fn tell(&mut self, kind: u32, a: u32, b: u64, c: u64) {
        Request { kind, a, b, c }.send(&mut self.0).unwrap();
    }

    fn ask(&mut self, kind: u32, a: u32, b: u64, c: u64) -> Answer {
        self.tell(kind, a, b, c);
        Answer::receive(&mut self.0).unwrap()
    }
}

#[test]
fn registers_that_there_are_not_end_nobody() {
    let server = server("registers", MemoryWay::Found);
    let mut raw = Raw::open(&server, 0);
    for offset in [pci::BAR_LEN as u32, u32::MAX - 3, 2] {
        raw.tell(WRITE, offset, 1, 0);
        let told = raw.ask(READ, regs::MAGIC.offset, 0, 0);
        assert_eq!(told.status, REGISTER_FAILED, "of the write at {offset:#x}: {told:?}");
        let told = raw.ask(READ, offset, 0, 0);
        assert!(told.status == REGISTER_FAILED && told.text.contains("no word"), "{offset:#x}: {told:?}");
    }
    assert_eq!(raw.ask(READ, regs::MAGIC.offset, 0, 0).value, regs::MAGIC_VALUE);
    // Time passes, and the other NIC is there.
    let other = context(open_device(&server.address(1)).unwrap(), 1);
    other.create_cq(16).unwrap();
}

/// Bytes of a message that takes a while.
const LONG: usize = 400_000;

/// A program with one endpoint.
struct Program {
    context: Context,
    pd: ProtectionDomain,
    cq: CompletionQueue,
    endpoint: Endpoint,
}

impl Program {
    fn open(address: &str, nic: usize) -> Self {
        let context = context(open_device(address).unwrap(), nic);
        let (pd, cq) = (context.alloc_pd(), context.create_cq(16).unwrap());
        let endpoint = pd.create_endpoint(&EndpointOptions::default(), &cq, &cq).unwrap();
        Self { context, pd, cq, endpoint }
    }

    /// A receive in place.
    fn receive(&mut self) -> MemoryRegion {
        let sink = self.pd.register(&DmaMemory::new(LONG), Access::LOCAL_WRITE).unwrap();
        self.endpoint.post_recv(&RecvRequest { work_id: 1, region: &sink, range: 0..LONG }).unwrap();
        self.context.read(regs::STATUS).unwrap();
        sink
    }

    fn send(&mut self, number: u32) -> MemoryRegion {
        let source = self.pd.register(&DmaMemory::from_slice(&[7; LONG]), Access::READ).unwrap();
        let (mac, ip) = addresses(1);
        let send = SendRequest {
            work_id: 7,
            region: &source,
            range: 0..LONG,
            to: AddressHandle::ipv4(mac, ip, number, 0),
            tag: 0,
            immediate: None,
            round: None,
            payload_size: 1024,
        };
        self.endpoint.post_send(&send).unwrap();
        source
    }

    /// How the request that is under way ends.
    fn end(&mut self) -> Status {
        let mut done = [WorkCompletion::default()];
        while self.cq.poll(&mut done).unwrap() == 0 {}
        done[0].status
    }
}

/// A program with a receive in place; started by the tests below.
#[test]
#[ignore = "started by the other tests"]
fn receiver() {
    let mut program = Program::open(&std::env::var("TESSERA_DEVICE").unwrap(), 1);
    let _sink = program.receive();
    println!("endpoint {}", program.endpoint.number());
    std::thread::sleep(Duration::from_secs(600));
}

/// Starts it; its endpoint's number.
fn start_receiver(server: &Server<Cluster>) -> (Child, u32) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["receiver", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env("TESSERA_DEVICE", server.address(1))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let number = lines.find_map(|line| Some(line.split_once("endpoint ")?.1.trim().parse().unwrap()));
    (child, number.expect("it is in place"))
}

/// Memory that is asked for of a program that is stopped: the others' time goes on.
#[test]
fn a_program_that_is_stopped_stops_no_other() {
    let server = server("stopped", MemoryWay::Asked);
    let (mut child, number) = start_receiver(&server);
    let stopped = Command::new("kill").args(["-STOP", &child.id().to_string()]).status().unwrap();
    assert!(stopped.success());
    let (tell, told) = mpsc::channel();
    let address = server.address(0);
    std::thread::spawn(move || {
        let mut program = Program::open(&address, 0);
        let _source = program.send(number);
        tell.send(program.end()).unwrap();
    });
    let status = told.recv_timeout(Duration::from_secs(60));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(status.expect("the message ends, one way or the other"), Status::Success);
}

/// A NIC whose program is killed in the middle of a message: what it still writes reaches
/// nothing, and the next program finds it as new.
#[test]
fn what_the_dead_were_receiving_harms_no_later_program() {
    for (name, way) in [("dead", MemoryWay::Found), ("asked-dead", MemoryWay::Asked)] {
        let server = server(name, way);
        let mut here = Program::open(&server.address(0), 0);
        let (mut child, number) = start_receiver(&server);
        let _source = here.send(number);
        // 400,000 bytes take some 50 windows.
        for _ in 0..20 {
            here.context.wait().unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_ne!(here.end(), Status::Success, "{name}");
        let mut next = Program::open(&server.address(1), 1);
        let sink = next.receive();
        let _source = here.send(next.endpoint.number());
        assert_eq!((here.end(), next.end()), (Status::Success, Status::Success), "{name}");
        assert_eq!(sink.memory().to_vec(0, LONG), [7; LONG]);
        drop((sink, next));
        while server.programs()[1].is_some() {
            here.context.wait().unwrap();
        }
        let visits = server.visits();
        let faults = |visit: &Visit| visit.counters.iter().any(|&(name, _)| name == "DmaErrors");
        assert!(faults(&visits[0]) && !faults(&visits[1]), "{name}: {visits:?}");
    }
}

/// A program whose child has the connection as well; started by the test below.
#[test]
#[ignore = "started by the other tests"]
fn parent() {
    let at = std::env::var("TESSERA_DEVICE").unwrap();
    let mut raw = Raw(UnixStream::connect(at).unwrap());
    let cookie = Box::new(COOKIE);
    let welcome = raw.ask(HELLO, 0, VERSION, std::ptr::from_ref::<u64>(&cookie) as u64);
    assert_eq!(welcome.status, OK);
    let mut heir = Command::new("sleep").arg("600").stdin(std::os::fd::OwnedFd::from(raw.0)).spawn().unwrap();
    println!("heir {}", heir.id());
    heir.wait().unwrap();
}

/// A NIC is its program's, not of those who have inherited its connection.
#[test]
fn an_heir_keeps_no_nic() {
    for (name, way) in [("heir", MemoryWay::Found), ("asked-heir", MemoryWay::Asked)] {
        let server = server(name, way);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["parent", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
            .env("TESSERA_DEVICE", path(&server))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let heir: Option<String> = lines.find_map(|line| Some(line.split_once("heir ")?.1.trim().into()));
        let heir = heir.expect("it has one");
        assert_eq!(server.programs()[0], Some(child.id() as i32));
        child.kill().unwrap();
        child.wait().unwrap();
        let left = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            server.programs()[0].is_none()
        });
        assert!(Command::new("kill").args(["-KILL", &heir]).status().unwrap().success(), "it lived on");
        assert!(left, "{name}: the NIC is still that of a program that is gone");
    }
}

/// Whoever removes the sockets' files does not keep the server from ending.
#[test]
fn a_socket_that_somebody_removed_is_closed() {
    let server = server("removed", MemoryWay::Found);
    let functions = server.functions(&folder().join("removed")).unwrap();
    std::fs::remove_file(path(&server)).unwrap();
    std::fs::remove_dir_all(folder().join("removed")).unwrap();
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        drop((functions, server));
        tell.send(()).unwrap();
    });
    told.recv_timeout(Duration::from_secs(10)).expect("it ends");
}

/// The end of an outside Ethernet goes with who made it, whoever still has a NIC open then.
#[test]
fn a_program_that_stays_keeps_no_socket() {
    let [local, remote] = ["outside", "nobody"].map(|name| folder().join(name));
    let ethernet = Arc::new(Ethernet::bind(&local, &remote, 1).unwrap());
    let mut cluster =
        Cluster::new(model(), 1, &NicOptions::default(), FabricOptions::new(1, 250, 0, 1)).unwrap();
    cluster.connect(ethernet.clone());
    let at = folder().join("stays.sock");
    let server = Server::bind(&at, SharedCluster::new(cluster), 1, MemoryWay::Found).unwrap();
    let context = context(open_device(&server.address(0)).unwrap(), 0);
    context.create_cq(16).unwrap();
    assert!(local.exists());
    drop((server, ethernet));
    assert!(!local.exists() && !at.exists());
    assert!(context.wait().is_err());
}

/// Who calls and says nothing, or half a word, is not waited for.
#[test]
fn who_says_nothing_is_hung_up_on() {
    let server = server("silent", MemoryWay::Found);
    let _functions = server.functions(&folder().join("silent")).unwrap();
    let calls = [path(&server), folder().join("silent/nic0")].map(|path| {
        let mut call = UnixStream::connect(path).unwrap();
        std::io::Write::write_all(&mut call, &[1, 0]).unwrap();
        call.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        call
    });
    // One that has a NIC may take its time.
    let mut raw = Raw::open(&server, 1);
    for mut call in calls {
        let end = call.read(&mut [0]);
        assert!(matches!(&end, Ok(0)) || end.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset));
    }
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(raw.ask(READ, regs::MAGIC.offset, 0, 0).value, regs::MAGIC_VALUE);
}
