//! Corundum's application block, instantiated as its core does: two hosts of which each has a NIC of
//! ours beside its own traffic, and every wire that is not ours.

use std::path::Path;

use tessera_abi::corundum::{event_frame, offset, WINDOW};
use tessera_abi::params::TINY;
use tessera_abi::regs::{self, Counter, INTERRUPT_ENABLE};
use tessera_driver::mqnic;
use tessera_driver::{
    Access, Context, DmaMemory, EndpointOptions, MemoryRegion, RecvRequest, SendRequest, Status,
    WorkCompletion,
};
use tessera_rtl::emit::{Direction as Way, Export};
use tessera_rtl::export;
use tessera_sim::cluster::{addresses, Cluster, SharedCluster};
use tessera_sim::corundum::{design, Board};
use tessera_sim::exported;
use tessera_sim::fabric::{FabricOptions, Faults, Loss};
use tessera_sim::nic::{DmaClass, DmaOptions, NicOptions};
use tessera_sim::session::Session;
use tessera_sim::tb::Rng;
use tessera_sim::verilator::{BuildOptions, Direction, Lint, Model, ModelError, PortId};
use tessera_testbenches::exchange::{content, Exchange};
use tessera_testbenches::pair::{Pair, Side, QKEY};

const SIZES: [usize; 6] = [0, 1, 255, 4097, 70_000, 300_000];
/// The first of our counters of statistics: the last two of 12 bits.
const STATISTIC: u64 = 4094;

fn nic() -> Export {
    exported::corundum_nic(&TINY).unwrap_or_else(|error| panic!("{error}"))
}

fn build(nic: &Export, board: &Board) -> Result<Model, ModelError> {
    // Every warning of Verilator's ends the build: a port that is missing, a width that is wrong.
    let options = BuildOptions::hurried();
    Model::build(&design(nic, board), &options)
}

/// A frame of a host's network stack: no IP, plain UDP, or RoCE for another queue pair or address.
fn ordinary(from: usize, number: usize, rng: &mut Rng) -> Vec<u8> {
    let len = *rng.pick(&[60, 64, 65, 100, 590, 1514]);
    let mut frame = rng.bytes(len);
    frame[..6].copy_from_slice(&addresses(1 - from).0);
    frame[6..12].copy_from_slice(&addresses(from).0);
    match number % 3 {
        0 => frame[12..14].copy_from_slice(&[0x08, 0x06]),
        1 => frame[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0]),
        _ => {
            frame[12..16].copy_from_slice(&[0x08, 0x00, 0x45, 0]);
            frame[20..24].copy_from_slice(&[0, 0, 64, 17]);
            // Not its address.
            frame[30..34].copy_from_slice(&[10, 99, 99, 99]);
            frame[36..38].copy_from_slice(&4791u16.to_be_bytes());
        }
    }
    // Told from each other by their last bytes.
    frame[len - 4..].copy_from_slice(&((from * 100_000 + number) as u32).to_be_bytes());
    frame
}

/// A register of the block's own, outside the window that a driver has.
fn register(cluster: &SharedCluster, nic: usize, context: &Context, at: u32) -> u64 {
    cluster.lock().nic_mut(nic).start_read(at.wrapping_sub(WINDOW));
    loop {
        if let Some(value) = cluster.lock().nic_mut(nic).take_read() {
            return value.unwrap().into();
        }
        context.wait().unwrap();
    }
}

#[test]
fn two_hosts_exchange_messages_beside_their_own_traffic() {
    exchange("corundum::hosts", &Board::default());
}

/// The same at a board whose streams and RAM are narrower.
#[test]
fn two_hosts_of_64_bits() {
    let board = Board { interfaces: 1, port: 0, ..Board::default() };
    exchange("corundum::hosts_64", &board.streams(64, 64).ram(2, 256));
}

/// As above, and at PCIe whose words come in two TLPs at once.
#[test]
fn two_hosts_of_128_bits() {
    exchange("corundum::hosts_128", &Board::default().streams(64, 128).ram(4, 256));
}

/// As above, and at the narrowest PCIe.
#[test]
fn two_hosts_of_256_bits() {
    exchange("corundum::hosts_256", &Board::default().streams(256, 256).ram(2, 128));
}

/// Reliable messages both ways at 2 % loss, and each host's own frames beside them. Those that
/// arrive are as they were sent and in order; each is completed once.
fn exchange(name: &str, board: &Board) {
    let seed = tessera_testbenches::seed(name);
    let mut rng = Rng::new(seed);
    let model = build(&nic(), board).unwrap_or_else(|error| panic!("{error}"));
    let dma = DmaOptions { read_delay: (150, 350), write_delay: (50, 250), ready: 0.8 };
    let options = NicOptions { dma_ctrl: dma, dma_data: dma, ..NicOptions::default() };
    let faults = Faults { loss: Loss::Uniform(0.02), ..Faults::default() };
    let fabric = FabricOptions { faults, ..FabricOptions::new(1, 250, 0, seed) };
    let cluster = SharedCluster::new(Cluster::new(&model, 2, &options, fabric).unwrap());
    let mut session = Session::open(cluster, 2, seed, 1024, &[]).unwrap();
    // NIC 1 wakes its host.
    let contexts: Vec<_> = session.hosts.iter().map(|host| host.context.clone()).collect();
    contexts[1].write(regs::INTERRUPT_SEEN, INTERRUPT_ENABLE).unwrap();
    let mut exchange = Exchange::post(&mut session, &SIZES);
    let mut own: [Vec<Vec<u8>>; 2] = Default::default();
    for (from, own) in own.iter_mut().enumerate() {
        for number in 0..400 {
            let frame = ordinary(from, number, &mut rng);
            let mut cluster = session.cluster.lock();
            cluster.nic_mut(from).corundum().unwrap().send(frame.clone(), number as u64);
            own.push(frame);
        }
    }
    let mut events = 0;
    while exchange.goes_on(&session) {
        // Now and then it looks, and says so.
        let woken = session.cluster.lock().nic_mut(1).corundum().unwrap().take_events();
        if !woken.is_empty() {
            assert!(woken.iter().all(|frame| *frame == event_frame(board.port as u8)), "{woken:x?}");
            events += woken.len();
            let count = contexts[1].read(regs::INTERRUPT_COUNT).unwrap();
            contexts[1].write(regs::INTERRUPT_SEEN, INTERRUPT_ENABLE | count).unwrap();
        }
        exchange.take(&mut session);
    }
    assert!(events > 1, "{events} times");
    // What is behind the last completion: frames of the hosts, answers, statuses.
    while (0..2).any(|nic| session.cluster.lock().nic_mut(nic).corundum().unwrap().sending() > 0) {
        contexts[0].wait().unwrap();
    }
    (0..40).for_each(|_| contexts[0].wait().unwrap());
    // No more of them than it was woken for, and none at a host that does not want them.
    let entries = contexts[1].read(regs::INTERRUPT_COUNT).unwrap() as usize;
    assert_eq!(entries, 2 * SIZES.len());
    for to in 0..2 {
        let from = 1 - to;
        let mut cluster = session.cluster.lock();
        let events = events * to + cluster.nic_mut(to).corundum().unwrap().take_events().len();
        assert!(events <= entries * to, "NIC {to}: {events} events of {entries} entries");
        let received = cluster.nic_mut(to).corundum().unwrap().take_received();
        // In order, and nothing else: whatever was lost on the way is left out.
        let mut rest = own[from].iter();
        for frame in &received {
            assert!(rest.any(|sent| sent == frame), "{to} received what nobody sent, or out of order");
        }
        assert!((360..400).contains(&received.len()), "{} of 400 frames at 2 % loss", received.len());
        let host = cluster.nic_mut(from).corundum().unwrap();
        let tags: Vec<u64> = host.take_completed().iter().map(|completion| completion.0).collect();
        let wanted: Vec<u64> = (0..400).map(|tag| tag | 1 << 15).collect();
        assert_eq!(tags, wanted, "completions of host {from}");
        let [taken, injected] = [0, 1].map(|at| host.statistic(STATISTIC + at));
        drop(cluster);
        let context = &contexts[from];
        assert!(context.counter(Counter::TxRetransmitted).unwrap() > 0, "NIC {from}: nothing was lost");
        // Counters of the block, of the statistics and of the NIC say the same.
        let own = |at: u32| register(&session.cluster, from, context, at);
        // As a driver finds it.
        let window = mqnic::find(Path::new("BAR 2"), &|at| Ok(own(at) as u32));
        assert_eq!(window, Ok(WINDOW));
        assert_eq!([own(offset::RX_TAKEN), own(offset::TX_INJECTED)], [taken, injected]);
        assert_eq!(own(offset::TX_PASSED), 400);
        assert_eq!(own(offset::TX_ENDED), injected);
        assert_eq!(own(offset::PORT), board.port as u64);
        // Stamps and NOW are of one clock: here, how many clocks there were.
        let time = |at: u32| [0, 4, 8].map(|word| own(at + word));
        let [[sent, rest @ ..], [now, above @ ..]] = [offset::TX_TIME, offset::NOW].map(time);
        assert_eq!([rest, above], [[0; 2]; 2]);
        assert!((1..now).contains(&sent) && now - sent < 100_000, "sent at {sent}, now {now}");
        assert_eq!(taken, u64::from(context.counter(Counter::RxFrames).unwrap()));
        let cluster = session.cluster.lock();
        let nic = &cluster.nics()[from];
        assert_eq!((nic.dma_faults(), nic.offers_taken_back()), (0, 0), "of DMA, of offers");
    }
}

/// What the engine could not do ends its message, with the statuses that the protocol has for it, and nothing
/// else: messages beside it go on both ways.
#[test]
fn an_error_of_the_engine_ends_the_message() {
    const LEN: usize = 20_000;
    let model = build(&nic(), &Board::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut pair = Pair::new(&model, &NicOptions::default(), FabricOptions::new(1, 250, 0, 1), &[]);
    let fail = |pair: &Pair, nic: usize, class, reads, behind| {
        pair.cluster.lock().nic_mut(nic).corundum().unwrap().fail(class, reads, behind);
    };
    let errors = |pair: &Pair| [&pair.a, &pair.b].map(|side| side.count(Counter::DmaErrors));
    let source = |side: &Side, from: usize| -> Vec<MemoryRegion> {
        let memory = |number| DmaMemory::from_slice(&content(from, number, LEN));
        (0..3).map(|number| side.register(&memory(number), Access::READ)).collect()
    };
    let sources = [source(&pair.a, 0), source(&pair.b, 1)];
    let sink = |side: &Side| side.register(&DmaMemory::new(4 * LEN), Access::LOCAL_WRITE);
    let sinks = [sink(&pair.a), sink(&pair.b)];
    let mut free = [vec![0, 1, 2, 3], vec![0, 1, 2, 3]];
    // Posts all receives that are not.
    let post = |pair: &mut Pair, free: &mut [Vec<usize>; 2]| {
        for (side, (sink, free)) in [&mut pair.a, &mut pair.b].into_iter().zip(sinks.iter().zip(free)) {
            for at in free.drain(..) {
                let request =
                    RecvRequest { work_id: at as u64, region: sink, range: at * LEN..(at + 1) * LEN };
                side.endpoint.post_recv(&request).unwrap();
            }
        }
        pair.pass(20);
    };
    // At whom, which access, behind how many others; how the send ends, and the receive if it does.
    let cases = [
        (0, DmaClass::Data, true, 0, Status::LocalDma, Status::Released),
        (0, DmaClass::Data, true, 9, Status::LocalDma, Status::Released),
        (1, DmaClass::Data, false, 0, Status::RemoteDma, Status::LocalDma),
        (1, DmaClass::Data, false, 25, Status::RemoteDma, Status::LocalDma),
        // Entries of the send ring: nothing was sent.
        (0, DmaClass::Ctrl, true, 0, Status::LocalDma, Status::Success),
    ];
    for (nic, class, reads, behind, failed, ended) in cases {
        let text = format!("{class:?}, reads {reads}, behind {behind}");
        let before = errors(&pair);
        post(&mut pair, &mut free);
        fail(&pair, nic, class, reads, behind);
        // Three each way.
        let to = [pair.b.endpoint.address(), pair.a.endpoint.address()];
        for (from, side) in [&mut pair.a, &mut pair.b].into_iter().enumerate() {
            for (number, region) in sources[from].iter().enumerate() {
                let id = number as u64;
                let (immediate, round, payload_size) = (None, None, 1024);
                let (to, range) = (to[from], 0..LEN);
                let request =
                    SendRequest { work_id: id, region, range, to, tag: id, immediate, round, payload_size };
                side.endpoint.post_send(&request).unwrap();
            }
        }
        let sent: Vec<Status> = (0..3).map(|number| pair.a.done(false, number).status).collect();
        let good = sent.iter().filter(|&&status| status == Status::Success).count();
        assert!(sent.iter().all(|&status| status == Status::Success || status == failed), "{text}: {sent:?}");
        // A read of the ring may be of several.
        assert!(good == 2 || class == DmaClass::Ctrl && good < 3, "{text}: {sent:?}");
        (0..3).for_each(|number| assert_eq!(pair.b.done(false, number).status, Status::Success, "{text}"));
        // What came is whole; what did not says so, unless it was never heard of.
        pair.pass(400);
        for (to, side) in [&mut pair.a, &mut pair.b].into_iter().enumerate() {
            let mut arrived = 0;
            while let Some(done) = side.next(0) {
                let at = done.work_id as usize;
                if done.status == Status::Success {
                    let bytes = sinks[to].memory().to_vec(at * LEN, LEN);
                    assert!(bytes == content(1 - to, done.tag as usize, LEN), "{text}: bytes of {done:?}");
                    arrived += 1;
                } else {
                    assert_eq!((to, done.status, sent[done.tag as usize]), (1, ended, failed), "{text}");
                }
                free[to].push(at);
            }
            assert_eq!(arrived, if to == 0 { 3 } else { good }, "{text}: messages at {to}");
            let told = free[to].len() - arrived;
            assert!(told <= 3 - good && (told == 1 || to == 0 || reads), "{text}: {told} receives");
        }
        let after = errors(&pair);
        assert_eq!([0, 1].map(|at| after[at] - before[at]), [1 - nic, nic].map(|n| n as u32), "{text}");
    }
    // Entries of the receive ring end, and messages take those behind them.
    fail(&pair, 1, DmaClass::Ctrl, true, 0);
    (10..18).for_each(|id| pair.b.post(id, &sinks[1]));
    let to = pair.b.endpoint.address();
    for id in 40..46 {
        pair.a.send(to, &content(0, 1, 100), id);
        assert_eq!(pair.a.done(false, id).status, Status::Success);
    }
    pair.pass(40);
    let receives: Vec<Status> = std::iter::from_fn(|| pair.b.next(0)).map(|done| done.status).collect();
    let [arrived, unread] = [Status::Success, Status::LocalDma]
        .map(|wanted| receives.iter().filter(|&&status| status == wanted).count());
    assert!(arrived == 6 && (1..4).contains(&unread), "{arrived} arrived, {unread} could not be read");
    // A completion that cannot be written: its queue has nothing more, others go on.
    let options = EndpointOptions { qkey: QKEY, ..EndpointOptions::default() };
    let mut cq = pair.b.context.create_cq(16).unwrap();
    let mut other = pair.b.pd.create_endpoint(&options, &cq, &cq).unwrap();
    for (id, lost) in [(50, true), (51, false)] {
        other.post_recv(&RecvRequest { work_id: id, region: &sinks[1], range: 0..LEN }).unwrap();
        pair.pass(20);
        if lost {
            fail(&pair, 1, DmaClass::Ctrl, false, 0);
        }
        pair.a.send(other.address(), &content(0, 1, 100), id);
        assert_eq!(pair.a.done(false, id).status, Status::Success);
        pair.pass(40);
        assert_eq!(cq.poll(&mut [WorkCompletion::default(); 4]), Ok(0));
        pair.a.send(to, &content(0, 1, 100), id);
        assert_eq!(pair.a.done(false, id).status, Status::Success);
        assert_eq!(pair.b.next(400).map(|done| (done.tag, done.status)), Some((id, Status::Success)));
    }
    let faults: u64 = pair.cluster.lock().nics().iter().map(|nic| nic.dma_faults()).sum();
    assert_eq!((errors(&pair), faults), ([3, 4], 0));
}

/// The ports of the NIC with nothing behind them, which is soon built.
fn hollow() -> Export {
    let mut nic = nic();
    let lines = |of: &dyn Fn(&tessera_rtl::emit::Port) -> String| -> Vec<String> {
        nic.ports.iter().map(of).collect()
    };
    let declared = lines(&|port| {
        let way = if port.direction == Way::In { "input" } else { "output" };
        format!("{way} wire [{}:0] {}", port.width - 1, port.name)
    });
    let outputs = nic.ports.iter().filter(|port| port.direction == Way::Out);
    let driven: Vec<String> = outputs.map(|port| format!("assign {} = 0;", port.name)).collect();
    nic.verilog = format!(
        "/* verilator lint_off UNUSEDSIGNAL */\n/* verilator lint_off WIDTHEXPAND */\nmodule {}(\n{}\n);\n{}\nendmodule\n\
         /* verilator lint_on WIDTHEXPAND */\n/* verilator lint_on UNUSEDSIGNAL */\n{}",
        nic.top,
        declared.join(",\n"),
        driven.join("\n"),
        export::MQNIC_WIDTHS
    );
    nic
}

/// Boards of every kind that the block is made for, by what their builds differ in.
fn boards() -> Vec<(&'static str, Board)> {
    let one = || Board { interfaces: 1, port: 0, ..Board::default() };
    vec![
        ("as most of 100G", Board::default()),
        ("one interface", one()),
        ("port 0 of two", Board { port: 0, ..Board::default() }),
        ("times of day", one().with("PTP_TS_FMT_TOD", 1)),
        ("no timestamps", one().with("PTP_TS_ENABLE", 0)),
        ("tags of 8 bits", one().with("TX_TAG_WIDTH", 8)),
        (
            "four interfaces, BARs of 32 MiB",
            Board { interfaces: 4, port: 2, ..Board::default() }.with("AXIL_APP_CTRL_ADDR_WIDTH", 25),
        ),
        ("RAM of 64 KiB", one().with("RAM_ADDR_WIDTH", 16)),
        ("RAM of 1 MiB", one().with("RAM_ADDR_WIDTH", 20)),
        ("memories", one().with("DDR_CH", 4).with("HBM_CH", 32).with("DDR_ENABLE", 1).with("HBM_ENABLE", 1)),
        ("no statistics", one().with("APP_STAT_ENABLE", 0)),
        ("10G, PCIe of 256 bits", one().streams(64, 64).ram(2, 256)),
        ("25G, PCIe of 512 bits", Board::default().streams(64, 128)),
        ("25G, PCIe of 256 bits", one().streams(64, 128).ram(2, 256).with("RAM_ADDR_WIDTH", 16)),
        ("100G, two TLPs of 256 bits", Board::default().ram(4, 256).with("TX_TAG_WIDTH", 8)),
        ("10G, PCIe of 128 bits", Board::default().streams(64, 64).ram(2, 128)),
        (
            "four ports of one interface",
            Board { interfaces: 4, port: 3, ..Board::default() }.with("IF_COUNT", 1).with("PORTS_PER_IF", 4),
        ),
        ("streams of 256 bits", Board::default().streams(256, 256)),
    ]
}

/// What comes out of a port for what goes in at another, of all frames that are not the NIC's.
#[test]
fn wires_of_others_go_through_at_every_board() {
    let nic = hollow();
    let mut rng = Rng::new(tessera_testbenches::seed("corundum::wires"));
    for (name, board) in boards() {
        let model = build(&nic, &board).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut dut = model.instance().unwrap();
        let ports = tessera_sim::corundum::ports(&board);
        let ways: Vec<_> = ports.iter().map(|port| (port.name.as_str(), port.direction)).collect();
        // Pairs of an input and its output, with the lanes that are wires.
        let mut pairs: Vec<(PortId, PortId, String)> = Vec::new();
        for &(from, direction) in &ways {
            let points = ["axis_direct_", "axis_if_", "axis_sync_"];
            let Some(point) = points.into_iter().find(|point| from.contains(point)) else { continue };
            if direction == Direction::Out || from.ends_with("clk") || from.ends_with("rst") {
                continue;
            }
            let to = if from.starts_with("s_") {
                from.replacen("s_", "m_", 1)
            } else {
                from.replacen("m_", "s_", 1)
            };
            let [input, output] = [from, &to].map(|name| dut.port(name).unwrap());
            let lanes = if point == "axis_if_" || point == "axis_direct_" { 1 } else { board.interfaces };
            let width = input.width() / lanes;
            for lane in (0..lanes).filter(|&lane| lanes == 1 && point != "axis_sync_" || lane != board.port) {
                pairs.push((
                    input.bits(lane * width, width),
                    output.bits(lane * width, width),
                    format!("{from}[{lane}]"),
                ));
            }
        }
        assert_eq!(pairs.len(), 36 + 16 * (board.interfaces - 1), "{name}");
        for _ in 0..20 {
            let values: Vec<Vec<u64>> = pairs.iter().map(|pair| rng.wide(pair.0.width())).collect();
            for ((input, _, _), value) in pairs.iter().zip(&values) {
                dut.set_wide(*input, value);
            }
            dut.settle();
            for ((_, output, what), value) in pairs.iter().zip(&values) {
                let mut words = vec![0; output.words()];
                dut.get_wide(*output, &mut words);
                assert_eq!(words, *value, "{name}: what came of {what}");
            }
        }
        // Nothing is asked of what is not used.
        for (name, direction) in ways {
            let quiet = name.starts_with("m_axi_") || name.starts_with("m_axil_ctrl_");
            if quiet && direction == Direction::Out && name.ends_with("valid") {
                let port = dut.port(name).unwrap();
                let mut words = vec![0; port.words()];
                dut.get_wide(port, &mut words);
                assert!(words.iter().all(|&word| word == 0), "{name} is offered");
            }
        }
    }
}

/// A board that the block is not made for does not come up, and the message is of what is wrong.
#[test]
fn other_boards_are_refused() {
    let nic = hollow();
    let board = Board::default;
    let of = |name, value| board().with(name, value);
    let refusals = [
        (of("APP_ID", 0x1234_0001), "APP_ID is 12340001, and this is 32'h54530001: set APP_ID in config.tcl"),
        (of("APP_DMA_ENABLE", 0), "APP_DMA_ENABLE must be 1"),
        (of("APP_AXIS_SYNC_ENABLE", 0), "APP_AXIS_SYNC_ENABLE must be 1"),
        (board().streams(1024, 1024), "AXIS_SYNC_DATA_WIDTH is 1024: streams of 64, 128, 256 and 512 bits"),
        (
            board().ram(4, 512),
            "RAM_SEG_COUNT and RAM_SEG_DATA_WIDTH are 4 segments of 512 bits: two or more, and 256, 512 or 1024",
        ),
        (of("RAM_ADDR_WIDTH", 15), "RAM_ADDR_WIDTH is 15: 16 or more (TX_RAM_SIZE or RX_RAM_SIZE 64 KiB)"),
        (of("DMA_ADDR_WIDTH", 48), "DMA_ADDR_WIDTH is 48: 64 is supported"),
        (of("DMA_LEN_WIDTH", 12), "DMA_LEN_WIDTH is 12: 13 to 16"),
        (of("DMA_TAG_WIDTH", 5), "DMA_TAG_WIDTH is 5: 6 or more"),
        (
            of("AXIL_APP_CTRL_DATA_WIDTH", 64).with("AXIL_APP_CTRL_STRB_WIDTH", 8),
            "AXIL_APP_CTRL_DATA_WIDTH is 64: 32 is supported",
        ),
        (of("AXIL_APP_CTRL_ADDR_WIDTH", 21), "AXIL_APP_CTRL_ADDR_WIDTH is 21: 22 or more"),
        (of("TX_TAG_WIDTH", 32), "PTP_TS_WIDTH is 48, TX_TAG_WIDTH 32: timestamps of at most 96 bits and tags"),
        (of("STAT_INC_WIDTH", 23), "STAT_INC_WIDTH is 23, STAT_ID_WIDTH 12: 24 to 64 and 2 to 12"),
        (of("TESSERA_PORT", 2), "TESSERA_PORT is 2: there is no such port"),
    ];
    assert_eq!(refusals.len(), export::MQNIC_APP_BLOCK.matches("$error(").count(), "those there are");
    // Verilator warns of widths that the NIC has not, and builds it all the same.
    let options = BuildOptions { lint: Lint::ErrorsOnly, ..BuildOptions::hurried() };
    for (board, words) in refusals {
        let model =
            Model::build(&design(&nic, &board), &options).unwrap_or_else(|error| panic!("{words}: {error}"));
        match model.instance() {
            Err(ModelError::Stopped { detail, .. }) => {
                assert!(detail.contains(&format!("mqnic_app_block: {words}")), "{words}: {detail}");
            }
            Err(error) => panic!("{words}: {error}"),
            Ok(_) => panic!("{words}: it comes up"),
        }
    }
}
