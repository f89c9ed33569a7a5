//! Every configuration that can be exported: its Verilog is clean, and two of
//! its NICs, reset at work before, deliver files to each other over a fabric that
//! loses frames.
//!
//! Short runs of all of them; `TESSERA_CONFIG=<name> cargo tessera test` runs
//! the whole suites of one.

use tessera_abi::params::{Config, CONFIGS, TINY};
use tessera_abi::parts::Part;
use tessera_abi::regs::{self, table, Counter};
use tessera_abi::status::Drop as DropReason;
use tessera_abi::wire;
use tessera_driver::{
    Access, AddressHandle, ChunkOptions, CreateError, DmaMemory, EndpointKind, EndpointOptions, PostError,
    RecvRequest, SendRequest, Status, WorkCompletion,
};
use tessera_rtl::memories::memories;
use tessera_sim::cluster::{addresses, Cluster, SharedCluster};
use tessera_sim::exported;
use tessera_sim::fabric::{FabricOptions, Faults, Loss};
use tessera_sim::nic::{DmaOptions, NicOptions, ReplayError};
use tessera_sim::session::{untag, Session};
use tessera_sim::tools::{self, ToolOptions};
use tessera_sim::verilator::{BuildOptions, Design, Direction, Model};
use tessera_testbenches::exchange::{content, Exchange};

/// Sizes of the files; the largest takes more packets than `tiny` has blocks for.
const SIZES: [usize; 6] = [0, 1, 255, 4097, 70_000, 700_000];

/// Both NICs are reset with frames and accesses under way, in the gears too: no
/// frame is cut, and their neighbours have nothing left of before.
//= RS-1 test
fn reset_at_work(cluster: &SharedCluster, seed: u64) {
    for pause in [2, 9, 23] {
        let mut session = Session::open(cluster.clone(), 2, seed, 1024, &[(regs::PATH_COUNT, 4)]).unwrap();
        let mut regions = Vec::new();
        for (from, to) in [(0, 1), (1, 0)] {
            for number in [3, 4] {
                let sink = session.register(to, &DmaMemory::new(SIZES[4]), Access::LOCAL_WRITE).unwrap();
                session.recv(to, &sink, 0..SIZES[4], 0).unwrap();
                let memory = DmaMemory::from_slice(&content(from, number, SIZES[number]));
                let source = session.register(from, &memory, Access::READ).unwrap();
                session.send(&source, 0..SIZES[number], (1, from, to, number)).unwrap();
                regions.extend([sink, source]);
            }
        }
        let contexts: Vec<_> = session.hosts.iter().map(|host| host.context.clone()).collect();
        (0..pause).for_each(|_| contexts[0].wait().unwrap());
        for (nic, context) in contexts.iter().enumerate() {
            context.reset().unwrap();
            assert_eq!(cluster.lock().nics()[nic].open_accesses(), 0, "NIC {nic}, {pause} windows");
        }
        // The sessions' endpoints have the same numbers: nothing of before may come.
        (0..60).for_each(|_| contexts[0].wait().unwrap());
        for (nic, context) in contexts.iter().enumerate() {
            for reason in [DropReason::Frame, DropReason::Length, DropReason::Icrc] {
                assert_eq!(context.dropped(reason).unwrap(), 0, "NIC {nic}: {reason:?}");
            }
        }
    }
    for nic in cluster.lock().nics() {
        assert_eq!((nic.dma_faults(), nic.offers_taken_back()), (0, 0));
    }
}

/// A NIC without tags refuses endpoints that match them; one that lets no host recover does so itself where
/// it is asked not to, and tells nothing in the area in front of the payload.
fn what_is_left_out(session: &mut Session, config: &Config) {
    const PACKETS: u32 = 600;
    const LEN: usize = PACKETS as usize * 1024 - 3;
    let [a, b] = [0, 1].map(|nic| {
        let host = &session.hosts[nic];
        (host.context.clone(), host.context.alloc_pd())
    });
    let (sends, mut receives) = (a.0.create_cq(16).unwrap(), b.0.create_cq(16).unwrap());
    let options = EndpointOptions { qkey: 0x5eed, send_entries: 16, recv_entries: 16, ..Default::default() };
    let tags = EndpointOptions { tags: true, ..options };
    let matching = b.1.create_endpoint(&tags, &receives, &receives);
    if config.tagged_log2 == 0 {
        assert_eq!(matching.map(drop), Err(CreateError::NoTags));
    } else {
        assert!(matching.map(drop).is_ok());
    }
    let mut sink = b.1.create_endpoint(&options, &receives, &receives).unwrap();
    let mut source = a.1.create_endpoint(&options, &sends, &sends).unwrap();
    let chunks = ChunkOptions { packets_per_chunk: 1, most_packets: PACKETS };
    let whole = chunks.area_len().unwrap() + LEN;
    let memory = DmaMemory::new(whole);
    let region = b.1.register(&memory, Access::LOCAL_WRITE).unwrap();
    let request = RecvRequest { work_id: 7, region: &region, range: 0..whole };
    let watch = sink.post_chunked_recv(&request, &chunks).unwrap();
    let bytes: Vec<u8> = (0..LEN).map(|i| (i * 13 + i / 251) as u8).collect();
    let from = a.1.register(&DmaMemory::from_slice(&bytes), Access::READ).unwrap();
    let request = SendRequest {
        work_id: 8,
        region: &from,
        range: 0..LEN,
        to: sink.address(),
        tag: 9,
        immediate: None,
        round: None,
        payload_size: 1024,
    };
    let before = b.0.counter(Counter::TxNack).unwrap();
    source.post_recoverable_send(&request).unwrap();
    let mut told = false;
    for _ in 0..6000 {
        a.0.wait().unwrap();
        told |= watch.message().is_some();
        if told {
            break;
        }
        let mut taken = [WorkCompletion::default()];
        if receives.poll(&mut taken).unwrap() == 1 {
            let [done] = taken;
            assert_eq!((done.work_id, done.status, done.len), (7, Status::Success, LEN as u32));
            assert!(memory.to_vec(watch.payload(), LEN) == bytes, "not what was sent");
            assert!(b.0.counter(Counter::TxNack).unwrap() > before, "nothing was lost");
            assert!(watch.message().is_none(), "the area was written");
            assert!(!config.host_recovery, "the message told nothing of itself");
            return;
        }
    }
    assert!(told, "the message has neither ended nor told of itself");
    assert!(config.host_recovery, "the area was written");
}

/// What asks for a part that is not there is refused by the driver; what the driver would not do, by the NIC.
fn parts(session: &Session, config: &Config) {
    let context = session.hosts[0].context.clone();
    let cq = context.create_cq(16).unwrap();
    let plain = EndpointOptions { kind: EndpointKind::Datagrams, ..EndpointOptions::default() };
    let created = context.alloc_pd().create_endpoint(&plain, &cq, &cq).map(drop);
    assert_eq!(created.is_ok(), config.datagrams, "{created:?}");
    assert!(created.is_ok() || matches!(created, Err(CreateError::LeftOut(_))), "{created:?}");
    let mut endpoint = context.alloc_pd().create_endpoint(&EndpointOptions::default(), &cq, &cq).unwrap();
    let sizes = context.attributes().unwrap();
    assert_eq!(
        (sizes.ipv6, sizes.vlan, sizes.rounds, sizes.classes, sizes.path_tables, sizes.tombstones),
        (config.ipv6, config.vlan, config.rounds, config.classes, config.path_tables, config.tombstones)
    );
    assert_eq!((sizes.recycle, sizes.datagrams), (config.recycle, config.datagrams));
    // Registers of what is left out say what a reset gave them.
    for reg in regs::MAP.iter().filter(|reg| reg.access == regs::Access::Rw && reg.offset < 0x100) {
        let bits = config.settable(reg);
        if bits == u32::MAX >> (32 - reg.width) || *reg == regs::SEED {
            continue;
        }
        let before = context.read(*reg).unwrap();
        context.write(*reg, !reg.reset).unwrap();
        let value = context.read(*reg).unwrap();
        assert_eq!(value, !reg.reset & bits | reg.reset & !bits, "{}", reg.name);
        context.write(*reg, before).unwrap();
    }
    let registered = endpoint.register_round(1, 2);
    assert_eq!(registered.is_ok(), config.rounds, "{registered:?}");
    let weighted = context.weight_paths(&[1, 2]);
    assert_eq!(weighted.is_ok(), config.path_tables, "{weighted:?}");
    assert_eq!(context.path_use(0).is_ok(), config.path_tables);
    let short = context.set_short_first(true, true);
    assert_eq!(short.is_ok(), config.classes, "{short:?}");
    if config.classes {
        context.set_short_first(false, false).unwrap();
    }
    if config.path_tables {
        context.write(regs::PATH_POLICY, regs::PATH_POLICY.reset).unwrap();
    }
    // Sends to where it cannot send.
    assert_eq!(endpoint.address_at(1).is_some(), config.ipv6);
    let peer = endpoint.address();
    let region = session.register(0, &DmaMemory::new(64), Access::READ).unwrap();
    let tagged = SendRequest {
        work_id: 1,
        region: &region,
        range: 0..64,
        to: peer.on_vlan(5),
        tag: 0,
        immediate: None,
        round: Some(3),
        payload_size: 256,
    };
    if !config.vlan {
        let posted = endpoint.post_send(&tagged);
        assert!(matches!(posted, Err(PostError::LeftOut(_))), "{posted:?}");
    }
    if !config.ipv6 {
        let to = AddressHandle { gid: [0x20; 16], ..peer };
        let posted = endpoint.post_send(&SendRequest { to, ..tagged });
        assert_eq!(posted, Err(PostError::NoIp6));
    }
}

/// An endpoint whose table entry says DATAGRAM against the driver's will is still one of messages to a NIC without
/// datagrams: what comes for it falls as UD-1 says.
fn datagrams(session: &Session, config: &Config) {
    const EACH: u32 = 20;
    let context = session.hosts[0].context.clone();
    let cq = context.create_cq(16).unwrap();
    let options = EndpointOptions { qkey: 0x5eed, ..EndpointOptions::default() };
    let endpoint = context.alloc_pd().create_endpoint(&options, &cq, &cq).unwrap();
    let device = session.cluster.device(0);
    let entry = table::ENDPOINT << 24 | (endpoint.number() & 0xFF);
    for command in [entry, 1 << 31 | entry] {
        device.write(regs::TABLE_COMMAND.offset, command).unwrap();
        while device.read(regs::TABLE_STATUS.offset).unwrap() != 0 {
            context.wait().unwrap();
        }
        let word = device.read(regs::TABLE_DATA).unwrap();
        assert!(word & 1 << regs::endpoint::VALID.0 != 0, "not the entry");
        device.write(regs::TABLE_DATA, word | 1 << regs::endpoint::DATAGRAM.0).unwrap();
    }
    let to = endpoint.address();
    let route = wire::Route {
        dst_mac: addresses(0).0,
        src_mac: addresses(1).0,
        vlan: None,
        src_gid: wire::ipv4_gid(addresses(1).1),
        dst_gid: wire::ipv4_gid(addresses(0).1),
        tos: 0,
        hop_limit: 64,
        flow_label: 0,
        sport: wire::SPORT_BASE,
        pkey: wire::DEFAULT_PKEY,
        dst_endpoint: to.endpoint,
        psn: 0,
        qkey: to.qkey,
        src_endpoint: 0x77,
    };
    let count = || {
        let dropped = |reason| context.dropped(reason).unwrap();
        [dropped(DropReason::Trh), dropped(DropReason::Endpoint), context.counter(Counter::RxUd).unwrap()]
    };
    let before = count();
    for number in 0..2 * EACH {
        let immediate = (number % 2 == 1).then_some(9);
        let mut frame = vec![0; tessera_abi::params::MAX_FRAME];
        let len = wire::emit_datagram(&route, immediate, &[0; 200], &mut frame).unwrap();
        frame.truncate(len);
        let mut cluster = session.cluster.lock();
        let clock = cluster.clock();
        cluster.fabric_mut().send(clock, 1, frame).unwrap();
        drop(cluster);
        context.wait().unwrap();
    }
    (0..20).for_each(|_| context.wait().unwrap());
    let after = count();
    let came: [u32; 3] = std::array::from_fn(|i| after[i] - before[i]);
    // The fabric loses some.
    let most = |came: u32, of: u32| (of / 2..=of).contains(&came);
    if config.datagrams {
        assert!(came[..2] == [0, 0] && most(came[2], 2 * EACH), "{came:?}");
    } else {
        assert!(most(came[0], EACH) && most(came[1], EACH) && came[2] == 0, "{came:?}");
    }
}

fn delivers_files(config: &'static Config) {
    let export = exported::nic(config).unwrap_or_else(|error| panic!("{error}"));
    delivers_files_as(config, &Design::from(&export), &NicOptions::default());
}

/// The same behind an AXI4 bus, which does not take everything at once.
fn delivers_files_over_axi(config: &'static Config) {
    let export = exported::axi_nic(config).unwrap_or_else(|error| panic!("{error}"));
    let design = Design::from(&export);
    let port = |name: &str| design.ports.iter().find(|port| port.name == name).map(|port| port.width);
    let (bits, bytes) = (config.data_bits, config.data_bits / 8);
    assert_eq!(
        [port("m_axi_rdata"), port("m_axi_wdata"), port("m_axi_wstrb")],
        [Some(bits), Some(bits), Some(bytes)]
    );
    assert!(design.ports.iter().all(|port| !port.name.starts_with("dma_")));
    let dma = DmaOptions { read_delay: (150, 350), write_delay: (50, 250), ready: 0.7 };
    delivers_files_as(config, &design, &NicOptions { dma_ctrl: dma, dma_data: dma, ..NicOptions::default() });
}

fn delivers_files_as(config: &'static Config, design: &Design, nic: &NicOptions) {
    let seed = tessera_testbenches::seed(&format!("configs::{}", design.top));
    for port in design.ports.iter().filter(|port| port.name.ends_with("tdata")) {
        assert_eq!(port.width, config.data_bits, "{}", port.name);
    }
    assert!(design.ports.iter().any(|port| port.name == "m_axis_tdata" && port.direction == Direction::Out));
    // Every warning of Verilator's ends the build.
    let options = BuildOptions::hurried();
    let model = Model::build(design, &options).unwrap_or_else(|error| panic!("{error}"));

    let faults = Faults { loss: Loss::Uniform(0.02), ..Faults::default() };
    let fabric = FabricOptions { faults, ..FabricOptions::new(4, 250, 500, seed) };
    let cluster = Cluster::new(&model, 2, nic, fabric).unwrap();
    let cluster = SharedCluster::new(cluster);
    reset_at_work(&cluster, seed);
    let settings = [(regs::PATH_COUNT, 4)];
    let mut session = Session::open(cluster, 2, seed, 1024, &settings).unwrap();
    let mut exchange = Exchange::post(&mut session, &SIZES);
    while exchange.goes_on(&session) {
        exchange.take(&mut session);
    }
    for nic in 0..2 {
        let context = session.hosts[nic].context.clone();
        // The last retirements trail the last completion, and linked timers
        // keep their message until they pop.
        let returned = (0..2000).any(|_| {
            context.wait().unwrap();
            context.read(regs::FREE_CONTEXTS).unwrap() == 1 << config.rx_contexts_log2
                && context.read(regs::FREE_SLOTS).unwrap() == 1 << config.tx_slots_log2
        });
        assert!(returned, "NIC {nic} keeps slots or contexts");
        assert!(context.counter(Counter::TxRetransmitted).unwrap() > 0, "NIC {nic}: nothing was lost");
        let cluster = session.cluster.lock();
        let nic = &cluster.nics()[nic];
        assert_eq!((nic.dma_faults(), nic.offers_taken_back()), (0, 0), "of DMA, of offers");
    }
    parts(&session, config);
    datagrams(&session, config);
    what_is_left_out(&mut session, config);
}

#[test]
fn tiny_behind_axi_delivers_files() {
    delivers_files_over_axi(&TINY);
}

#[test]
fn nic64_behind_axi_delivers_files() {
    delivers_files_over_axi(Config::by_name("nic64").unwrap());
}

#[test]
fn nic256_delivers_files() {
    delivers_files(Config::by_name("nic256").unwrap());
}

#[test]
fn nic128_delivers_files() {
    delivers_files(Config::by_name("nic128").unwrap());
}

#[test]
fn nic64_delivers_files() {
    delivers_files(Config::by_name("nic64").unwrap());
}

#[test]
fn tiny_delivers_files() {
    delivers_files(Config::by_name("tiny").unwrap());
}

#[test]
fn tiny_plain_delivers_files() {
    delivers_files(exported::config("tiny_plain").unwrap_or_else(|error| panic!("{error}")));
}

/// Of five NICs each part is left out of three, no two parts of the same: with `tiny` itself, any two are
/// there both, neither, and the one without the other. All are linted; which of them shall work is the seed's choice.
#[test]
fn any_part_can_be_left_out() {
    const NICS: usize = 5;
    let seed = tessera_testbenches::seed("configs::parts");
    let triples: Vec<u32> = (0..1 << NICS).filter(|set: &u32| set.count_ones() == 3).collect();
    assert_eq!(triples.len(), Part::ALL.len(), "a triple for each part");
    let nics: Vec<&'static Config> = (0..NICS)
        .map(|nic| {
            let out = Part::ALL.iter().zip(&triples).filter(|(_, set)| *set >> nic & 1 == 1);
            let name = out.fold("tiny".to_owned(), |name, (part, _)| format!("{name}_no_{}", part.name()));
            exported::config(&name).unwrap_or_else(|error| panic!("{error}"))
        })
        .collect();
    let verilator =
        tools::pinned_verilator(&ToolOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let lint = |config: &'static Config| {
        let export = exported::nic(config).unwrap_or_else(|error| panic!("{error}"));
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(&export.top);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("nic.v"), &export.verilog).unwrap();
        let mut command = verilator.command();
        // What those graphs are for is not made here.
        let command =
            command.args(["--lint-only", "-Wall", "-fno-dfg", "--top-module", &export.top, "nic.v"]);
        let output = command.current_dir(&folder).output().unwrap_or_else(|error| panic!("{error}"));
        assert!(output.status.success(), "{}: {}", config.name, String::from_utf8_lossy(&output.stderr));
    };
    std::thread::scope(|scope| {
        for config in &nics {
            scope.spawn(|| lint(config));
        }
    });
    let works = nics[(seed % NICS as u64) as usize];
    eprintln!("{} shall work", works.name);
    delivers_files(works);
}

/// Three of them send each other more at once than there are slots, contexts,
/// blocks and places for walks of retransmissions.
#[test]
fn with_every_table_full_everything_arrives() {
    const NICS: usize = 3;
    /// Messages to each of the others, of two bitmap blocks each.
    const EACH: usize = 4;
    const LEN: usize = 100_000;
    let seed = tessera_testbenches::seed("configs::full");
    let design = Design::from(&exported::nic(&TINY).unwrap_or_else(|error| panic!("{error}")));
    let options = BuildOptions::hurried();
    let model = Model::build(&design, &options).unwrap_or_else(|error| panic!("{error}"));
    let faults = Faults { loss: Loss::Uniform(0.05), ..Faults::default() };
    let fabric = FabricOptions { faults, ..FabricOptions::new(4, 250, 500, seed) };
    let cluster = SharedCluster::new(Cluster::new(&model, NICS, &NicOptions::default(), fabric).unwrap());
    let mut session = Session::open(cluster, NICS, seed, 256, &[(regs::PATH_COUNT, 4)]).unwrap();
    let bytes = |from: usize, to: usize, number: usize| -> Vec<u8> {
        (0..LEN).map(|i| (i * 37 + i / 253 + from * 61 + to * 17 + number * 5) as u8).collect()
    };
    let places = EACH * (NICS - 1);
    let mut regions = Vec::new();
    let mut sinks = Vec::new();
    for nic in 0..NICS {
        let sink = session.register(nic, &DmaMemory::new(places * LEN), Access::LOCAL_WRITE).unwrap();
        for place in 0..places {
            session.recv(nic, &sink, place * LEN..(place + 1) * LEN, place as u64).unwrap();
        }
        sinks.push(sink);
    }
    for number in 0..EACH {
        for from in 0..NICS {
            for to in (0..NICS).filter(|&to| to != from) {
                let memory = DmaMemory::from_slice(&bytes(from, to, number));
                let source = session.register(from, &memory, Access::READ).unwrap();
                session.send(&source, 0..LEN, (1, from, to, number)).unwrap();
                regions.push(source);
            }
        }
    }
    let mut fewest = [[u32::MAX; 2]; NICS];
    let mut seen = std::collections::HashSet::new();
    while seen.len() < NICS * places || session.sends_open() > 0 {
        for (fewest, host) in fewest.iter_mut().zip(&session.hosts) {
            let free = [regs::FREE_SLOTS, regs::FREE_CONTEXTS];
            *fewest = [0, 1].map(|of: usize| fewest[of].min(host.context.read(free[of]).unwrap()));
        }
        for arrived in session.poll().unwrap() {
            let (_, from, to, number) = untag(arrived.tag);
            assert_eq!(to, arrived.nic);
            assert!(seen.insert(arrived.tag), "{from}->{to} #{number} came twice");
            let got = sinks[to].memory().to_vec(arrived.work_id as usize * LEN, arrived.len);
            assert!(got == bytes(from, to, number), "{from}->{to} #{number} is not what was sent");
        }
    }
    let [mut busy, mut overflow] = [0; 2];
    for (nic, host) in session.hosts.iter().enumerate() {
        assert_eq!(fewest[nic], [0, 0], "NIC {nic}: slots and contexts that were free at all times");
        busy += host.context.dropped(DropReason::BusyResources).unwrap();
        overflow += host.context.dropped(DropReason::NackOverflow).unwrap();
        assert_eq!(session.cluster.lock().nics()[nic].dma_faults(), 0, "NIC {nic}: DMA");
    }
    eprintln!("{busy} BUSY, {overflow} NACKs beyond the queue");
    assert!(busy > 0, "blocks and contexts were enough");
    assert!(overflow > 0, "the queue of retransmissions was never full");
}

#[test]
fn a_recorded_run_plays_back_and_a_changed_one_does_not() {
    let config = Config::by_name("tiny").unwrap();
    let design = Design::from(&exported::nic(config).unwrap_or_else(|error| panic!("{error}")));
    let options = BuildOptions::hurried();
    let model = Model::build(&design, &options).unwrap_or_else(|error| panic!("{error}"));
    let fabric = FabricOptions::new(1, 250, 0, 1);
    let mut cluster = Cluster::new(&model, 2, &NicOptions::default(), fabric).unwrap();
    cluster.nic_mut(0).record(&design.ports).unwrap();
    let mut session = Session::open(SharedCluster::new(cluster), 2, 1, 1024, &[]).unwrap();
    let sink = session.register(1, &DmaMemory::new(5000), Access::LOCAL_WRITE).unwrap();
    session.recv(1, &sink, 0..5000, 0).unwrap();
    let memory = DmaMemory::from_slice(&content(0, 3, SIZES[3]));
    let source = session.register(0, &memory, Access::READ).unwrap();
    session.send(&source, 0..SIZES[3], (1, 0, 1, 3)).unwrap();
    while session.sends_open() > 0 {
        session.poll().unwrap();
    }
    let mut record = session.cluster.lock().nic_mut(0).take_record().unwrap();
    record.replay(&model).unwrap();
    // The last clock in which a valid goes up or down.
    let valids: Vec<u16> = record.streams.iter().map(|stream| stream.valid).collect();
    let moves = |change: &(u16, Vec<u64>)| valids.contains(&change.0);
    let mut steps = record.steps.iter_mut().enumerate();
    let (clock, step) = steps.rfind(|(_, step)| step.see.iter().any(moves)).unwrap();
    step.see.iter_mut().find(|change| moves(change)).unwrap().1[0] ^= 1;
    match record.replay(&model) {
        Err(ReplayError::Differs { clock: found, .. }) => assert_eq!(found, clock),
        other => panic!("{other:?}"),
    }
}

#[test]
fn none_is_forgotten() {
    // Those above, and the one that nic.rs is about.
    let names: Vec<&str> = CONFIGS.iter().map(|config| config.name).collect();
    assert_eq!(names, ["nic512", "nic256", "nic128", "nic64", "tiny"]);
}

#[test]
fn the_small_ones_fit_a_small_fpga() {
    // 18-kbit block RAMs of an ECP5-85k. How many are filled is printed; that
    // shapes leave some of them partly empty is for a synthesis to weigh.
    const THERE: usize = 208;
    for name in ["nic128", "nic64"] {
        let config = Config::by_name(name).unwrap();
        let export = exported::nic(config).unwrap_or_else(|error| panic!("{error}"));
        let all = memories(&export.verilog, &export.top);
        let bits: usize = all.iter().filter(|m| m.style != "distributed").map(|m| m.bits()).sum();
        let needed: usize = all.iter().map(|m| m.block_rams()).sum();
        eprintln!("{name}: {} kbit, {needed} block RAMs of {THERE} by shape", bits / 1024);
        assert!(bits <= THERE * 18 * 1024, "{name} takes {bits} bits of block RAM");
    }
}
