//! Two clients and a bus, every clock checked.

use std::collections::VecDeque;

use tessera_rtl::shell::axi_merge::AxiMerge;
use tessera_sim::tb::{self, cycle, Agent, Gate, Pattern, Rng};
use tessera_sim::verilator::{Design, Dut, PortId};

use super::{port, reset, Address, Burst, Hand, CLASSES};

/// A beat of data: words, strobes, last.
type Beat = (Vec<u64>, u64, bool);

/// One direction's addresses of both clients, and what the bus gets of them.
struct Turns {
    clients: [Address; 2],
    queues: [VecDeque<Burst>; 2],
    offers: [bool; 2],
    idle: [Gate; 2],
    bus: Address,
    id: PortId,
    accept: Gate,
    /// Taken from a client in the clock before, or offered since and not taken.
    held: Option<(usize, Burst)>,
    last: usize,
    /// Addresses that the bus took, by ID, in order.
    taken: Vec<(usize, Burst)>,
    /// Those taken from clients.
    entered: usize,
}

impl Turns {
    fn new(dut: &Dut, name: &str, idle: Pattern, accept: Pattern, rng: &mut Rng) -> Self {
        Turns {
            clients: CLASSES.map(|class| Address::new(dut, &format!("{class}_{name}"))),
            queues: Default::default(),
            offers: [false; 2],
            idle: [(); 2].map(|()| idle.gate(rng.fork())),
            bus: Address::new(dut, name),
            id: port(dut, &format!("{name}id")),
            accept: accept.gate(rng.fork()),
            held: None,
            last: 0,
            taken: Vec::new(),
            entered: 0,
        }
    }

    fn drive(&mut self, dut: &mut Dut) {
        for (i, client) in self.clients.iter().enumerate() {
            let open = self.idle[i].is_open();
            self.offers[i] = !self.queues[i].is_empty() && (self.offers[i] || open);
            dut.set(client.hand.valid, self.offers[i]);
            let (address, length) = self.queues[i].front().copied().unwrap_or((!0, 0xFF));
            dut.set(client.address, address);
            dut.set(client.length, length);
        }
        dut.set(self.bus.hand.ready, self.accept.is_open());
    }

    /// Who was served in this clock; `room` says whether anyone may be.
    fn sample(&mut self, dut: &Dut, room: bool) -> Option<usize> {
        let offered = self.bus.hand.offered(dut);
        assert_eq!(
            offered,
            self.held.is_some(),
            "an address is offered a clock after it came, until it is taken"
        );
        if let Some(held) = self.held {
            assert_eq!(
                (dut.sampled(self.id) as usize, self.bus.burst(dut)),
                held,
                "whose address, and which"
            );
            if self.bus.hand.moved(dut) {
                self.taken.push(held);
                self.held = None;
            }
        }
        let [ctrl, data] = [0, 1].map(|i| self.clients[i].hand.moved(dut));
        assert!(!(ctrl && data), "two at once");
        let served = if ctrl { Some(0) } else { data.then_some(1) };
        let waits = self.offers[0] || self.offers[1];
        assert_eq!(
            served.is_some(),
            waits && !offered && room,
            "one every two clocks, and none without room"
        );
        let by = served?;
        if self.offers[0] && self.offers[1] {
            assert_ne!(by, self.last, "turns");
        }
        self.last = by;
        self.held = self.queues[by].pop_front().map(|burst| (by, burst));
        self.offers[by] = false;
        self.entered += 1;
        Some(by)
    }
}

/// Answers: valid of the bus, by ID to one of two clients.
struct Answers {
    bus: Hand,
    id: PortId,
    clients: [Hand; 2],
    ready: [Gate; 2],
    offer: Gate,
    now: Option<usize>,
    /// Answers due, by ID.
    due: [usize; 2],
    got: [usize; 2],
}

impl Answers {
    fn new(dut: &Dut, name: &str, ready: Pattern, offer: Pattern, rng: &mut Rng) -> Self {
        Answers {
            bus: Hand::new(dut, name),
            id: port(dut, &format!("{name}id")),
            clients: CLASSES.map(|class| Hand::new(dut, &format!("{class}_{name}"))),
            ready: [(); 2].map(|()| ready.gate(rng.fork())),
            offer: offer.gate(rng.fork()),
            now: None,
            due: [0; 2],
            got: [0; 2],
        }
    }

    fn drive(&mut self, dut: &mut Dut, rng: &mut Rng) {
        let open = self.offer.is_open();
        if self.now.is_none() && open {
            let any = rng.below(2) as usize;
            self.now = [any, 1 - any].into_iter().find(|&id| self.due[id] > 0);
        }
        dut.set(self.bus.valid, self.now.is_some());
        dut.set(self.id, self.now.unwrap_or(rng.below(2) as usize) as u64);
        for (client, ready) in self.clients.iter().zip(&mut self.ready) {
            dut.set(client.ready, ready.is_open());
        }
    }

    fn sample(&mut self, dut: &Dut) {
        let both = self.clients.iter().all(|client| dut.sampled(client.ready) != 0);
        assert_eq!(dut.sampled(self.bus.ready) != 0, both, "ready while both clients are");
        let whose = self.now.filter(|_| both);
        for (id, client) in self.clients.iter().enumerate() {
            assert_eq!(client.moved(dut), whose == Some(id), "an answer is that of its ID, once");
        }
        if let Some(id) = whose {
            self.due[id] -= 1;
            self.got[id] += 1;
            self.now = None;
        }
    }
}

/// Data of writes: two clients' beats, one bus.
struct Data {
    clients: [(Hand, PortId, PortId, PortId); 2],
    queues: [VecDeque<Beat>; 2],
    offers: [bool; 2],
    idle: [Gate; 2],
    bus: (Hand, PortId, PortId, PortId),
    take: Gate,
    /// Whose data is to come: addresses that clients have given.
    owners: VecDeque<usize>,
    waits: bool,
}

impl Data {
    fn new(dut: &Dut, idle: Pattern, take: Pattern, rng: &mut Rng) -> Self {
        let side = |name: String| {
            let field = |what: &str| port(dut, &format!("{name}{what}"));
            (Hand::new(dut, &name), field("data"), field("strb"), field("last"))
        };
        Data {
            clients: CLASSES.map(|class| side(format!("{class}_w"))),
            queues: Default::default(),
            offers: [false; 2],
            idle: [(); 2].map(|()| idle.gate(rng.fork())),
            bus: side("w".into()),
            take: take.gate(rng.fork()),
            owners: VecDeque::new(),
            waits: false,
        }
    }

    fn drive(&mut self, dut: &mut Dut) {
        for (i, &(hand, data, strobes, last)) in self.clients.iter().enumerate() {
            let open = self.idle[i].is_open();
            self.offers[i] = !self.queues[i].is_empty() && (self.offers[i] || open);
            dut.set(hand.valid, self.offers[i]);
            if let Some((words, strobe, end)) = self.queues[i].front() {
                dut.set_wide(data, words);
                dut.set(strobes, *strobe);
                dut.set(last, *end);
            }
        }
        dut.set(self.bus.0.ready, self.take.is_open());
    }

    /// Whose burst has ended in this clock.
    fn sample(&mut self, dut: &Dut) -> Option<usize> {
        let (hand, data, strobes, last) = self.bus;
        let owner = self.owners.front().copied();
        let offered = hand.offered(dut);
        assert!(offered || !self.waits, "data was withdrawn");
        self.waits = offered && !hand.moved(dut);
        if offered {
            let owner = owner.expect("data comes behind its address");
            let mut words = vec![0; data.words()];
            dut.sampled_wide(data, &mut words);
            let beat = (words, dut.sampled(strobes), dut.sampled(last) != 0);
            assert!(self.offers[owner], "data of nobody");
            assert!(Some(&beat) == self.queues[owner].front(), "data of whose address was first");
        }
        for i in 0..2 {
            let due = hand.moved(dut) && owner == Some(i);
            assert_eq!(self.clients[i].0.moved(dut), due, "a beat is taken of its owner");
        }
        if !hand.moved(dut) {
            return None;
        }
        let owner = owner?;
        self.offers[owner] = false;
        let end = self.queues[owner].pop_front().is_some_and(|beat| beat.2);
        end.then(|| self.owners.pop_front()).flatten()
    }
}

/// The merge between two clients and a bus; every clock is checked.
struct Merge {
    reads: Turns,
    writes: Turns,
    data: Data,
    beats: Answers,
    answers: Answers,
    rng: Rng,
    /// Bursts whose data has not gone: no more than the block has room for.
    most: usize,
}

impl Merge {
    fn new(dut: &Dut, idle: Pattern, stall: Pattern, rng: &mut Rng) -> Self {
        Merge {
            reads: Turns::new(dut, "ar", idle, stall, rng),
            writes: Turns::new(dut, "aw", idle, stall, rng),
            data: Data::new(dut, idle, stall, rng),
            beats: Answers::new(dut, "r", stall, idle, rng),
            answers: Answers::new(dut, "b", stall, idle, rng),
            rng: rng.fork(),
            most: 0,
        }
    }

    fn fill(&mut self, bursts: usize, words: usize) {
        for client in 0..2 {
            for _ in 0..bursts {
                let rng = &mut self.rng;
                let length = *rng.pick(&[0, 0, 1, 2, 7, 63]);
                self.reads.queues[client].push_back((rng.next_u64(), rng.bits(8)));
                self.writes.queues[client].push_back((rng.next_u64(), length));
                for beat in 0..=length {
                    let data = (0..words).map(|_| rng.next_u64()).collect();
                    self.data.queues[client].push_back((data, rng.bits(words * 8), beat == length));
                }
            }
        }
    }

    fn is_idle(&self) -> bool {
        let queued = |queues: &[VecDeque<Burst>; 2]| queues.iter().any(|queue| !queue.is_empty());
        !queued(&self.reads.queues)
            && !queued(&self.writes.queues)
            && self.data.owners.is_empty()
            && self.reads.held.is_none()
            && self.writes.held.is_none()
            && self.beats.due == [0; 2]
            && self.answers.due == [0; 2]
    }
}

/// What the block has room for: writes whose data has not gone.
const ROOM: usize = 32;

impl Agent for Merge {
    fn drive(&mut self, dut: &mut Dut) {
        self.reads.drive(dut);
        self.writes.drive(dut);
        self.data.drive(dut);
        self.beats.drive(dut, &mut self.rng);
        self.answers.drive(dut, &mut self.rng);
    }

    fn sample(&mut self, dut: &Dut) {
        self.reads.sample(dut, true);
        let room = self.data.owners.len() < ROOM;
        let ended = self.data.sample(dut);
        if let Some(by) = self.writes.sample(dut, room) {
            self.data.owners.push_back(by);
            self.most = self.most.max(self.data.owners.len());
        }
        self.beats.sample(dut);
        self.answers.sample(dut);
        // The bus answers what it has got whole.
        for (id, (_, length)) in self.reads.taken.drain(..) {
            self.beats.due[id] += length as usize + 1;
        }
        if let Some(id) = ended {
            self.answers.due[id] += 1;
        }
    }
}

fn merges() -> Vec<(usize, Design)> {
    vec![
        (1, tessera_testbenches::design("axi_merge", AxiMerge::<64, 8>::new)),
        (8, tessera_testbenches::design("axi_merge", AxiMerge::<512, 64>::new)),
    ]
}

#[test]
fn turns_data_and_answers_are_whose_they_are() {
    for (words, design) in merges() {
        for (idle, stall) in Pattern::matrix() {
            tb::run(&format!("axi_blocks::merge{} {idle:?} {stall:?}", words * 64), &design, |dut, rng| {
                let mut merge = Merge::new(dut, idle, stall, rng);
                reset(dut);
                merge.fill(60, words);
                let mut clocks = 0;
                while !merge.is_idle() {
                    cycle(dut, &mut [&mut merge]);
                    clocks += 1;
                    assert!(clocks < 400_000, "no end");
                }
                assert_eq!([merge.reads.entered, merge.writes.entered], [120; 2]);
                assert_eq!(merge.answers.got, [60; 2]);
            });
        }
    }
}

#[test]
fn addresses_wait_for_room_and_a_reset_forgets_them() {
    let (words, design) = merges().remove(0);
    tb::run("axi_blocks::room", &design, |dut, rng| {
        let mut merge = Merge::new(dut, Pattern::Always, Pattern::Always, rng);
        reset(dut);
        merge.fill(40, words);
        // No data: what has room is taken, and no more.
        let data = std::mem::take(&mut merge.data.queues);
        (0..400).for_each(|_| cycle(dut, &mut [&mut merge]));
        assert_eq!(merge.most, ROOM);
        assert_eq!(merge.writes.entered, ROOM, "addresses without data");
        assert_eq!(merge.reads.entered, 80, "reads do not wait for writes");
        merge.data.queues = data;
        while !merge.is_idle() {
            cycle(dut, &mut [&mut merge]);
            assert!(dut.cycles() < 100_000, "no end");
        }

        // Addresses that the bus does not take, an odd number, then a reset: nothing is left.
        let mut merge = Merge::new(dut, Pattern::Always, Pattern::Every(u64::MAX), rng);
        merge.fill(1, words);
        merge.reads.last = 1;
        merge.writes.last = 1;
        // Whose turn it is, is that of before; both wait, so one of each is taken.
        merge.reads.queues[1].clear();
        merge.writes.queues[1].clear();
        (0..20).for_each(|_| cycle(dut, &mut [&mut merge]));
        assert!(merge.reads.held.is_some() && merge.writes.held.is_some());
        for class in CLASSES {
            for channel in ["ar", "aw", "w"] {
                dut.set(port(dut, &format!("{class}_{channel}valid")), 0u64);
            }
        }
        reset(dut);
        let mut merge = Merge::new(dut, Pattern::Always, Pattern::Always, rng);
        // The first of two is `data` after a reset.
        merge.fill(10, words);
        while !merge.is_idle() {
            cycle(dut, &mut [&mut merge]);
            assert!(dut.cycles() < 200_000, "no end");
        }
        assert_eq!(merge.answers.got, [10; 2]);
    });
}
