//! Whole NICs whose hosts look for completions only when the interrupt says so.

use tessera_abi::regs::{self, Counter, INTERRUPT_ENABLE};
use tessera_driver::{Access, DmaMemory};
use tessera_sim::cluster::{Cluster, SharedCluster};
use tessera_sim::fabric::{FabricOptions, Faults, Loss};
use tessera_sim::nic::NicOptions;
use tessera_sim::session::{untag, Session};
use tessera_testbenches::pressed::model;

const PLACE: usize = 2000;
/// As many as one look takes.
const MESSAGES: usize = 60;

fn content(number: usize) -> Vec<u8> {
    (0..PLACE).map(|i| (i * 31 + i / 251 + number * 13) as u8).collect()
}

/// Sends from NIC 0 to NIC 1, with a moderation in ticks; how often somebody was woken.
fn woken(delay: u32, seed: u64) -> u32 {
    let faults = Faults { loss: Loss::Uniform(0.02), ..Faults::default() };
    let fabric = FabricOptions { faults, ..FabricOptions::new(4, 250, 500, seed) };
    let cluster = SharedCluster::new(Cluster::new(model(), 2, &NicOptions::default(), fabric).unwrap());
    let settings = [(regs::PATH_COUNT, 4), (regs::INTERRUPT_DELAY, delay)];
    let mut session = Session::open(cluster.clone(), 2, seed, 256, &settings).unwrap();
    let contexts = [0, 1].map(|nic: usize| session.hosts[nic].context.clone());
    let irqs = || [0, 1].map(|nic: usize| cluster.lock().nics()[nic].irq().unwrap());
    let counts = || [0, 1].map(|nic: usize| contexts[nic].read(regs::INTERRUPT_COUNT).unwrap());
    assert_eq!((irqs(), counts()), ([false; 2], [0; 2]));

    let sink = session.register(1, &DmaMemory::new(MESSAGES * PLACE), Access::LOCAL_WRITE).unwrap();
    let mut bytes = Vec::new();
    for number in 0..MESSAGES {
        session.recv(1, &sink, number * PLACE..(number + 1) * PLACE, number as u64).unwrap();
        bytes.extend(content(number));
    }
    let source = session.register(0, &DmaMemory::from_slice(&bytes), Access::READ).unwrap();
    for number in 0..MESSAGES {
        session.send(&source, number * PLACE..(number + 1) * PLACE, (1, 0, 1, number)).unwrap();
    }
    // Not enabled, it says nothing, whatever there is.
    (0..20).for_each(|_| contexts[0].wait().unwrap());
    assert!(counts()[1] > 0, "nothing arrived yet");
    assert_eq!(irqs(), [false; 2]);
    for context in &contexts {
        context.write(regs::INTERRUPT_SEEN, INTERRUPT_ENABLE).unwrap();
    }

    let (mut arrived, mut wakes, mut looked) = (0, 0, [0; 2]);
    while arrived < MESSAGES || session.sends_open() > 0 {
        let mut windows = 0;
        while irqs() == [false; 2] {
            contexts[0].wait().unwrap();
            windows += 1;
            assert!(windows < 5000, "{arrived} of {MESSAGES} arrived, and nobody is woken for the rest");
        }
        wakes += 1;
        // What it is woken for is there.
        let (raised, now) = (irqs(), counts());
        for nic in 0..2 {
            assert!(!raised[nic] || now[nic] != looked[nic], "NIC {nic} is woken for nothing");
        }
        for message in session.poll().unwrap() {
            let (.., number) = untag(message.tag);
            let got = sink.memory().to_vec(message.work_id as usize * PLACE, message.len);
            assert!(got == content(number), "message {number} is not what was sent");
            arrived += 1;
        }
        for (context, seen) in contexts.iter().zip(now) {
            context.write(regs::INTERRUPT_SEEN, INTERRUPT_ENABLE | seen).unwrap();
        }
        looked = now;
        // The writes are on their way as long as that.
        contexts[0].wait().unwrap();
    }
    // As many as there were completions of sends and receives.
    assert_eq!(counts(), [MESSAGES as u32; 2]);
    assert!(contexts[0].counter(Counter::TxRetransmitted).unwrap() > 0, "nothing was lost");
    // All is seen: it falls, and a soft reset changes nothing of that.
    for context in &contexts {
        context.write(regs::INTERRUPT_SEEN, INTERRUPT_ENABLE | MESSAGES as u32).unwrap();
    }
    contexts[0].wait().unwrap();
    assert_eq!(irqs(), [false; 2]);
    contexts[1].reset().unwrap();
    assert_eq!((irqs(), counts()), ([false; 2], [MESSAGES as u32; 2]));
    wakes
}

#[test]
fn hosts_that_sleep_miss_nothing() {
    let seed = tessera_testbenches::seed("nic_interrupts");
    let (each, gathered) = (woken(0, seed), woken(400, seed));
    eprintln!("woken {each} times, {gathered} times with a delay of 400 ticks");
    assert!(gathered * 2 < each, "{gathered} of {each}");
}
