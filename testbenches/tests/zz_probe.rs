use tessera_abi::params::NIC512;
use tessera_abi::regs::{self, Reg};
use tessera_driver::{Access, DmaMemory};
use tessera_sim::cluster::{Cluster, SharedCluster};
use tessera_sim::fabric::FabricOptions;
use tessera_sim::nic::{DmaOptions, NicOptions};
use tessera_sim::session::Session;
use tessera_sim::verilator::{BuildOptions, Design, Model, Trace};

const SETTINGS: [(Reg, u32); 2] = [(regs::PATH_COUNT, 1), (regs::CREDIT_LIMIT, 1 << 20)];

fn var(name: &str, default: usize) -> usize {
    std::env::var(name).map(|v| v.parse().unwrap()).unwrap_or(default)
}

#[test]
fn probe() {
    let trace = var("TRACE", 1) != 0;
    let export = tessera_rtl::export::nic(&NIC512, "").unwrap();
    let options = BuildOptions {
        trace: if trace { Trace::Vcd } else { Trace::Off },
        trace_depth: None,
        ..BuildOptions::default()
    };
    let model = Model::build(&Design::from(&export), &options).unwrap();
    let (count, len, payload) = (var("COUNT", 4000), var("LEN", 64), var("PAYLOAD", 4096));
    let mut nic = NicOptions { seed: 1, ..NicOptions::default() };
    if var("FIXED", 0) != 0 {
        let d = DmaOptions { read_delay: (10, 10), write_delay: (10, 10), ready: 1.0 };
        (nic.dma_ctrl, nic.dma_data) = (d, d);
    }
    let cluster = Cluster::new(&model, 2, &nic, FabricOptions::new(1, 250, 0, 1)).unwrap();
    let mut session = Session::open(SharedCluster::new(cluster), 2, 1, payload as u32, &SETTINGS).unwrap();
    let bytes: Vec<u8> = (0..len).map(|i| (i * 7) as u8).collect();
    let source = DmaMemory::from_slice(&bytes);
    let sources = [0, 1].map(|n| session.register(n, &source, Access::READ).unwrap());
    let sinks = [0, 1].map(|n| session.register(n, &DmaMemory::new(len), Access::LOCAL_WRITE).unwrap());
    let (mut sent, mut offered, mut received) = ([0; 2], [0; 2], [0usize; 2]);
    let mut marks: Vec<(u64, usize, [u64; 2])> = Vec::new();
    let window = var("CLOCKS", 3000) as u64;
    let mut traced = None;
    while received.iter().sum::<usize>() < 2 * count || session.sends_open() > 0 {
        for n in 0..2 {
            while offered[n] < count && session.outstanding(n).1 < 1000 {
                session.recv(n, &sinks[n], 0..len, 0).unwrap();
                offered[n] += 1;
            }
            while sent[n] < count && session.outstanding(n).0 < 1000 {
                session.send(&sources[n], 0..len, (9, n, 1 - n, sent[n])).unwrap();
                sent[n] += 1;
            }
        }
        for arrived in session.poll().unwrap() {
            received[arrived.nic] += 1;
        }
        let all: usize = received.iter().sum();
        let frame = (payload.min(len) + 106).div_ceil(64);
        let total = count * len.div_ceil(payload) * frame;
        let least = {
            let c = session.cluster.lock();
            (0..2).map(|n| c.nics()[n].beats().1).min().unwrap() as usize
        };
        let due = match marks.len() {
            0 => least * 4 >= total,
            1 => least * 4 >= 3 * total,
            _ => false,
        };
        if due {
            let c = session.cluster.lock();
            marks.push((c.clock(), all, [0, 1].map(|n| c.nics()[n].beats().1)));
        }
        if trace && traced.is_none() && all >= var("FROM", count / 2) {
            session.cluster.lock().open_trace(0, std::path::Path::new("/tmp/probe/t.vcd")).unwrap();
            traced = Some(session.clock());
        }
        if traced.is_some_and(|at| session.clock() > at + window) {
            eprintln!("traced {:?}", traced);
            return;
        }
    }
    let (a, b) = (&marks[0], &marks[1]);
    let clocks = (b.0 - a.0) as f64;
    eprintln!("PROBE clocks/message {:.2}", clocks * 2.0 / (b.1 - a.1) as f64);
    for n in 0..2 {
        eprintln!("PROBE beats/clock out {:.3}", (b.2[n] - a.2[n]) as f64 / clocks);
    }
    for counter in regs::Counter::ALL {
        let value = session.sum(regs::counter(*counter as u32)).unwrap();
        if value != 0 {
            eprintln!("PROBE {} {value}", counter.name());
        }
    }
    for drop in 0..32 {
        let value = session.sum(regs::counter(drop)).unwrap();
        if value != 0 {
            eprintln!("PROBE drop {drop} {value}");
        }
    }
}
