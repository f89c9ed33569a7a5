//! Simulated NICs as PCI functions over vfio-user: two programs, and what is refused. A client
//! and a server that others wrote stand at the other end.

use std::fs::File;
use std::io::{Error, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tessera_abi::{pci, regs};
use tessera_driver::pci::vfio_user::VfioUser;
use tessera_driver::pci::{message, Bus, PciError};
use tessera_driver::*;
use tessera_sim::cluster::{addresses, Cluster, SharedCluster};
use tessera_sim::fabric::{FabricOptions, Faults, Loss};
use tessera_sim::nic::NicOptions;
use tessera_sim::serve::{Functions, MemoryWay, Server};
use tessera_testbenches::pressed::model;
use vfio_bindings::bindings::vfio::*;
use vfio_user::{Client, DmaMapFlags, DmaUnmapFlags, ServerBackend, ServerRegion};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn serve(name: &str) -> (Server<Cluster>, Functions) {
    let faults = Faults { loss: Loss::Uniform(0.01), ..Faults::default() };
    let fabric = FabricOptions { faults, ..FabricOptions::new(4, 250, 500, 1) };
    let cluster = Cluster::new(model(), 2, &NicOptions::default(), fabric).unwrap();
    let folder = folder(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let server =
        Server::bind(&folder.join("nics"), SharedCluster::new(cluster), 2, MemoryWay::Found).unwrap();
    let functions = server.functions(&folder).unwrap();
    (server, functions)
}

fn refusal(address: &str) -> String {
    open_device(address).err().expect("it cannot be opened").to_string()
}

fn context(device: Arc<dyn Device>, nic: usize) -> Result<Context, OpenError> {
    let (mac, ip) = addresses(nic);
    Context::open(device, ContextOptions { mac, ip, ip6: None, vlan: None, seed: 3, settings: Vec::new() })
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
        Self::with(open_device(address).unwrap(), nic)
    }

    fn with(device: Arc<dyn Device>, nic: usize) -> Self {
        let context = context(device, nic).unwrap();
        let pd = context.alloc_pd();
        let cq = context.create_cq(256).unwrap();
        let endpoint = pd.create_endpoint(&EndpointOptions::default(), &cq, &cq).unwrap();
        Self { context, pd, cq, endpoint }
    }

    fn until(&mut self, work_id: u64) -> WorkCompletion {
        for _ in 0..20_000 {
            let mut done = [WorkCompletion::default()];
            match self.cq.poll(&mut done).unwrap() {
                0 => self.context.wait().unwrap(),
                _ => {
                    assert_eq!((done[0].work_id, done[0].status), (work_id, Status::Success));
                    return done[0];
                }
            }
        }
        panic!("request {work_id} does not end");
    }
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// Messages from `a` to `b`, every byte checked.
fn exchange(a: &mut Program, b: &mut Program) {
    for len in [0, 1, 3000, 100_000] {
        let (sent, range) = (bytes(len), 0..len);
        let source = a.pd.register(&DmaMemory::from_slice(&sent), Access::READ).unwrap();
        let sink = b.pd.register(&DmaMemory::new(len + 10), Access::LOCAL_WRITE).unwrap();
        b.endpoint.post_recv(&RecvRequest { work_id: 2, region: &sink, range: 0..len + 10 }).unwrap();
        let to = b.endpoint.address();
        let send = SendRequest {
            work_id: 1,
            region: &source,
            range,
            to,
            tag: 5,
            immediate: None,
            round: None,
            payload_size: 1024,
        };
        a.endpoint.post_send(&send).unwrap();
        assert_eq!(b.until(2).len as usize, len);
        assert_eq!(sink.memory().to_vec(0, len), sent);
        assert_eq!(sink.memory().to_vec(len, 10), [0; 10]);
        a.until(1);
    }
}

/// Two programs, one of which takes the other's way in later.
#[test]
fn programs_exchange_messages() {
    let (server, functions) = serve("functions");
    let mut a = Program::open(&functions.address(0), 0);
    let mut b = Program::open(&functions.address(1), 1);
    exchange(&mut a, &mut b);
    exchange(&mut b, &mut a);
    // A NIC is one program's, by whichever socket.
    let taken = refusal(&server.address(1));
    assert!(taken.contains(&format!("in process {}", std::process::id())), "{taken}");
    let taken = refusal(&functions.address(1));
    assert!(taken.contains("is open in another program: use another"), "{taken}");
    drop(a);
    // It leaves behind a NIC that works for the next.
    while server.programs()[0].is_some() {
        b.context.wait().unwrap();
    }
    assert!(server.visits()[0].counters.iter().any(|&(name, count)| name == "RxFrames" && count > 0));
    let mut a = Program::open(&server.address(0), 0);
    exchange(&mut a, &mut b);
    // Memory that nobody can be shown.
    let mut lent = vec![0u8; 64];
    // SAFETY: `lent` outlives it and is not looked at meanwhile.
    let memory = unsafe { DmaMemory::borrowed(NonNull::new(lent.as_mut_ptr()).unwrap(), lent.len()) };
    let refused = b.pd.register(&memory, Access::READ).unwrap_err().to_string();
    assert!(refused.contains("cannot map 64 bytes") && refused.contains("DmaMemory::new"), "{refused}");
    drop((a, functions, server));
    // The server is gone, under a program that is at work.
    let gone = b.context.wait().unwrap_err();
    assert!(matches!(&gone, DeviceError::Gone(why) if why.contains("start it again")), "{gone}");
}

/// Who opens a NIC that was closed a moment before finds it, by either socket. (Not beside
/// tests that start processes, which have all descriptors for a moment.)
#[test]
fn a_nic_that_was_closed_is_opened_again() {
    let (server, functions) = serve("again");
    let [socket, function] = [server.address(0), functions.address(0)];
    for turn in 0..10 {
        for address in [&socket, &function, &function, &socket] {
            let device = open_device(address).unwrap_or_else(|error| panic!("turn {turn}: {error}"));
            // So that it has to be cleared.
            drop(context(device, 0).unwrap());
        }
    }
    // While it is open nobody waits for it.
    let _open = open_device(&socket).unwrap();
    assert!(refusal(&function).contains("is open in another program"));
}

/// As a driver in a virtual machine is: while it waits it looks at memory only.
struct Patient(Arc<dyn Device>);

impl Device for Patient {
    fn read(&self, offset: u32) -> Result<u32, DeviceError> {
        self.0.read(offset)
    }
    fn write(&self, offset: u32, value: u32) -> Result<(), DeviceError> {
        self.0.write(offset, value)
    }
    fn map(&self, memory: &Arc<DmaMemory>) -> Result<u64, DeviceError> {
        self.0.map(memory)
    }
    fn unmap(&self, address: u64) {
        self.0.unmap(address);
    }
    fn wait(&self) -> Result<(), DeviceError> {
        std::thread::sleep(Duration::from_millis(1));
        Ok(())
    }
}

/// Time passes also for those who ask for none.
#[test]
fn time_passes_by_itself() {
    let (_server, functions) = serve("patient");
    let open = |nic| Program::with(Arc::new(Patient(open_device(&functions.address(nic)).unwrap())), nic);
    let (mut a, mut b) = (open(0), open(1));
    exchange(&mut a, &mut b);
}

/// A client that others wrote finds what the standard says.
#[test]
fn another_client_is_served() {
    let (_server, _functions) = serve("client");
    let mut client = Client::new(&folder("client").join("nic0")).unwrap();
    let sizes: Vec<_> = (0..9).map(|index| client.region(index).unwrap().size).collect();
    assert_eq!(sizes, [2 << 20, 0, 0, 0, 0, 0, 0, 256, 0]);
    assert_eq!(client.get_irq_info(VFIO_PCI_MSIX_IRQ_INDEX).unwrap().count, 0);
    let mut word = [0; 4];
    client.region_read(VFIO_PCI_CONFIG_REGION_INDEX, 0, &mut word).unwrap();
    assert_eq!(word, [0x34, 0x12, 0x53, 0x54]);
    let magic = |client: &mut Client| {
        let mut word = [0; 4];
        client.region_read(VFIO_PCI_BAR0_REGION_INDEX, regs::MAGIC.offset.into(), &mut word).unwrap();
        u32::from_le_bytes(word)
    };
    assert_eq!(magic(&mut client), u32::MAX, "memory accesses are off");
    client.region_write(VFIO_PCI_CONFIG_REGION_INDEX, 4, &[6, 0]).unwrap();
    assert_eq!(magic(&mut client), regs::MAGIC_VALUE);
    client.region_write(VFIO_PCI_BAR0_REGION_INDEX, regs::SEED.offset.into(), &77u32.to_le_bytes()).unwrap();
    client.region_read(VFIO_PCI_BAR0_REGION_INDEX, regs::SEED.offset.into(), &mut word).unwrap();
    assert_eq!(u32::from_le_bytes(word), 77);
    let memory = DmaMemory::new(8192);
    let (file, offset) = memory.shared_file().unwrap();
    client.dma_map(offset, 1 << 20, 8192, file.as_raw_fd()).unwrap();
    client.dma_unmap(1 << 20, 8192).unwrap();
    client.reset().unwrap();
    assert_eq!(magic(&mut client), u32::MAX, "off again after a reset");
}

/// A PCI device of some kind, by a server that others wrote.
struct Other {
    config: [u8; 256],
    registers: Vec<(u32, u32)>,
    /// Memory mapped, and taken away.
    mapped: Vec<(u64, u64, bool)>,
}

impl ServerBackend for Other {
    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> Result<(), Error> {
        let at = offset as usize;
        if region == VFIO_PCI_CONFIG_REGION_INDEX {
            data.copy_from_slice(&self.config[at..at + data.len()]);
            return Ok(());
        }
        let value = self.registers.iter().find(|&&(other, _)| u64::from(other) == offset);
        let &(_, value) = value.ok_or(ErrorKind::Unsupported)?;
        data.copy_from_slice(&value.to_le_bytes());
        Ok(())
    }

    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> Result<(), Error> {
        let at = offset as usize;
        if region == VFIO_PCI_CONFIG_REGION_INDEX {
            self.config[at..at + data.len()].copy_from_slice(data);
            return Ok(());
        }
        Err(ErrorKind::Unsupported.into())
    }

    fn dma_map(
        &mut self,
        _: DmaMapFlags,
        _: u64,
        at: u64,
        len: u64,
        file: Option<File>,
    ) -> Result<(), Error> {
        self.mapped.push((at, len, file.is_some()));
        Ok(())
    }

    fn dma_unmap(&mut self, _: DmaUnmapFlags, at: u64, len: u64) -> Result<(), Error> {
        self.mapped.retain(|&(other, size, _)| (other, size) != (at, len));
        Ok(())
    }

    fn reset(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn set_irqs(&mut self, _: u32, _: u32, _: u32, _: u32, _: Vec<File>) -> Result<(), Error> {
        Ok(())
    }
}

/// Serves one program with a device of these numbers and registers.
fn other(
    name: &str,
    [vendor, device]: [u16; 2],
    bar: u64,
    registers: &[(u32, u32)],
) -> (PathBuf, JoinHandle<Other>) {
    let path = folder(name);
    let _ = std::fs::remove_file(&path);
    let region = |index: u32, size: u64| {
        let flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
        let argsz = size_of::<vfio_region_info>() as u32;
        let region_info = vfio_region_info { argsz, flags, index, cap_offset: 0, size, offset: 0 };
        ServerRegion { region_info, sparse_areas: Vec::new(), mmap_fd: None }
    };
    let regions = (0..9).map(|index| region(index, if index == 0 { bar } else { 256 })).collect();
    let server = vfio_user::Server::new(&path, true, Vec::new(), regions).unwrap();
    let mut config = [0; 256];
    config[..2].copy_from_slice(&vendor.to_le_bytes());
    config[2..4].copy_from_slice(&device.to_le_bytes());
    let mut device = Other { config, registers: registers.to_vec(), mapped: Vec::new() };
    let thread = std::thread::spawn(move || {
        server.run(&mut device).unwrap();
        device
    });
    (path, thread)
}

#[test]
fn other_devices_are_refused() {
    let ours = [pci::VENDOR, pci::DEVICE];
    let (path, thread) = other("edu", [0x1234, 0x11E8], 1 << 20, &[]);
    let said = refusal(&format!("vfio-user:{}", path.display()));
    assert!(said.contains("1234:11e8, not a Tessera NIC (1234:5453)"), "{said}");
    assert_eq!(thread.join().unwrap().config[4] & 4, 0, "it was never let at memory");
    let (path, thread) = other("short", ours, 4096, &[]);
    let said = refusal(&format!("vfio-user:{}", path.display()));
    assert!(said.contains("BAR 0") && said.contains("has 4096 bytes"), "{said}");
    thread.join().unwrap();
    // The right numbers, and a block of another version, or none.
    let magic = (regs::MAGIC.offset, regs::MAGIC_VALUE);
    let version = (regs::ABI_VERSION.offset, regs::ABI_VERSION_VALUE + (1 << 16));
    for (name, registers, words) in [
        ("newer", &[magic, version][..], "use a driver and a bitstream of the same major version"),
        ("blank", &[(0, 0)], "this is not a Tessera NIC"),
        ("mute", &[], "register access at 0x0 failed"),
    ] {
        let (path, thread) = other(name, ours, pci::BAR_LEN, registers);
        let device = open_device(&format!("vfio-user:{}", path.display())).unwrap();
        let said = context(device, 0).unwrap_err().to_string();
        assert!(said.contains(words), "{name}: {said}");
        assert_eq!(thread.join().unwrap().config[4] & 4, 0, "{name}: no bus master is left behind");
    }
}

/// The client's side alone: memory is shown page by page, and a posted write that was refused
/// is told with the next access.
#[test]
fn a_bus_without_a_nic() {
    let (path, thread) = other("bus", [1, 2], 1 << 20, &[(8, 0xABCD)]);
    let bus = VfioUser::connect(&path).unwrap();
    assert_eq!((bus.bar_len(), bus.read(8).unwrap()), (1 << 20, 0xABCD));
    let memory = DmaMemory::new(5000);
    bus.map(0x10_0000, &memory).unwrap();
    bus.map(0x20_0000, &memory).unwrap();
    bus.unmap(0x10_0000, 8192);
    bus.write(8, 1).unwrap();
    assert!(matches!(bus.read(8), Err(DeviceError::Register { offset: 8, .. })));
    assert_eq!(bus.read(8).unwrap(), 0xABCD);
    assert!(bus.reset().unwrap());
    drop(bus);
    assert_eq!(thread.join().unwrap().mapped, [(0x20_0000, 8192, true)]);
}

/// Listens once, and answers the first message with `bytes`.
fn answering(name: &str, reply: impl FnOnce(u16) -> Vec<u8> + Send + 'static) -> (PathBuf, JoinHandle<()>) {
    let path = folder(name);
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let first = message::receive(&mut stream).unwrap().unwrap();
        let body = reply(first.header.number);
        let header = message::Header { flags: message::REPLY, ..first.header };
        message::send(&mut stream, header, &body, None).unwrap();
        let _ = message::receive(&mut stream);
    });
    (path, thread)
}

#[test]
fn other_protocols_are_refused() {
    let absent = folder("absent");
    assert!(matches!(VfioUser::connect(&absent), Err(PciError::Nobody { .. })));
    let said = refusal(&format!("vfio-user:{}", absent.display()));
    assert!(said.contains("absent") && said.contains("cargo tessera run --vfio-user"), "{said}");
    for (name, body, words) in [
        ("version", vec![1, 0, 4, 0, 0], "speaks version 1.4"),
        ("cut", vec![0, 0], "cuts its answers short"),
    ] {
        let (path, thread) = answering(name, move |_| body);
        let said = refusal(&format!("vfio-user:{}", path.display()));
        assert!(said.contains(words) && said.contains("vfio-user 0.x"), "{said}");
        thread.join().unwrap();
    }
    // The two sockets of one server, taken for each other.
    let (server, functions) = serve("mistaken");
    let said = refusal(&server.address(0).replace("socket:", "vfio-user:").replace("?nic=0", ""));
    assert!(said.contains("speaks something else"), "{said}");
    let said = refusal(&functions.address(0).replace("vfio-user:", "socket:"));
    assert!(said.contains("nobody answers"), "{said}");
    assert!(server.programs().iter().all(Option::is_none));
    // A client of another major version is told so, and takes no NIC.
    let mut stream = std::os::unix::net::UnixStream::connect(folder("mistaken").join("nic0")).unwrap();
    let header = message::Header { number: 1, command: message::VERSION, ..Default::default() };
    message::send(&mut stream, header, &[7, 0, 0, 0, 0], None).unwrap();
    let answer = message::receive(&mut stream).unwrap().unwrap().header;
    assert_eq!(answer.flags, message::REPLY | message::ERROR);
    assert!(server.programs().iter().all(Option::is_none));
}
