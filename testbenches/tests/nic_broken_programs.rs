//! Programs that break the rules of the sockets by which they have their NICs: no other
//! program is to notice.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tessera_abi::{pci, regs};
use tessera_driver::remote::{Answer, Request, HELLO, OK, READ, REGISTER_FAILED, VERSION, WRITE};
use tessera_driver::*;
use tessera_sim::cluster::{addresses, Cluster, SharedCluster};
use tessera_sim::fabric::FabricOptions;
use tessera_sim::nic::NicOptions;
use tessera_sim::serve::{MemoryWay, Server};
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

fn context(device: std::sync::Arc<dyn Device>, nic: usize) -> Context {
    let (mac, ip) = addresses(nic);
    let options = ContextOptions { mac, ip, ip6: None, vlan: None, seed: 3, settings: Vec::new() };
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
