//! `tx::Chooser`: who goes and whose slot that is, against the order written down plainly.

use tessera_rtl::tx::Chooser;
use tessera_sim::tb;

/// What waits in a clock.
#[derive(Debug)]
struct Inputs {
    open: bool,
    yields: bool,
    wants: [bool; 8],
    slots: [u64; 8],
    waits: [bool; 2],
    busy: [bool; 4],
    busy_slots: [u64; 4],
    busy_feedback: [bool; 4],
}

impl Inputs {
    /// Who goes, after a packet of source 6 or one of source 7.
    fn chosen(&self, last_new: bool) -> Option<usize> {
        let under_way =
            |slot, of: &[bool; 4]| (0..4).any(|stage| of[stage] && self.busy_slots[stage] == slot);
        let may =
            |source: usize| self.open && self.wants[source] && !under_way(self.slots[source], &self.busy);
        let named =
            |packet: usize| self.waits[packet] && under_way(self.slots[6 + packet], &self.busy_feedback);
        // Room that came in the turn of one of the two is kept for it while FEEDBACK has its slot.
        let new = may(6) && !(named(1) && last_new);
        let again = may(7) && (last_new || !named(0));
        let packets = if last_new { [(7, again), (6, new)] } else { [(6, new), (7, again)] };
        let first = (0, may(0) && !self.yields);
        let order = [first].into_iter().chain((1..6).map(|source| (source, may(source)))).chain(packets);
        order.chain([(0, may(0))]).find(|(_, goes)| *goes).map(|(source, _)| source)
    }
}

#[test]
fn the_first_in_order_goes_with_its_own_slot() {
    let design = tessera_testbenches::design("chooser", Chooser::new);
    tb::run("chooser::order", &design, |dut, rng| {
        let ports = |name: &str, count: usize| {
            (0..count).map(|i| dut.port(&format!("{name}_{i}")).unwrap()).collect::<Vec<_>>()
        };
        let [wants, slots, chosen] = ["wants", "slots", "chosen"].map(|name| ports(name, 8));
        let [busy, busy_slots, busy_feedback] =
            ["busy", "busy_slots", "busy_feedback"].map(|name| ports(name, 4));
        let waits = ports("waits", 2);
        let [open, yields, any, slot, rst] =
            ["open", "yields", "any", "slot", "rst"].map(|name| dut.port(name).unwrap());
        dut.set(open, false);
        dut.reset(rst, 2);
        let mut last_new = false;
        let mut went = [0; 9];
        for _ in 0..20_000 {
            // Few slots, so that they meet, and all bits of them; often nobody in front wants to.
            let eager = [0.1, 0.4, 0.9][rng.below(3) as usize];
            let some = |rng: &mut tb::Rng| [0x000, 0xFFF, 0xA5C, 0x3A3, 0x800, 0x001][rng.below(6) as usize];
            let busy_now: [bool; 4] = std::array::from_fn(|_| rng.chance(0.4));
            let now = Inputs {
                open: !rng.chance(0.05),
                yields: rng.chance(0.5),
                wants: std::array::from_fn(|_| rng.chance(eager)),
                slots: std::array::from_fn(|_| some(rng)),
                waits: std::array::from_fn(|_| rng.chance(0.7)),
                busy: busy_now,
                busy_slots: std::array::from_fn(|_| some(rng)),
                busy_feedback: busy_now.map(|busy| busy && rng.chance(0.6)),
            };
            dut.set(open, now.open);
            dut.set(yields, now.yields);
            for i in 0..8 {
                dut.set(wants[i], now.wants[i]);
                dut.set(slots[i], now.slots[i]);
            }
            for (port, waits) in waits.iter().zip(now.waits) {
                dut.set(*port, waits);
            }
            for i in 0..4 {
                dut.set(busy[i], now.busy[i]);
                dut.set(busy_slots[i], now.busy_slots[i]);
                dut.set(busy_feedback[i], now.busy_feedback[i]);
            }
            dut.clock();
            let expected = now.chosen(last_new);
            for (source, port) in chosen.iter().enumerate() {
                assert_eq!(
                    dut.sampled(*port) == 1,
                    expected == Some(source),
                    "{source} of {now:?}, {last_new}"
                );
            }
            assert_eq!(dut.sampled(any) == 1, expected.is_some(), "{now:?}");
            if let Some(source) = expected {
                assert_eq!(dut.sampled(slot), now.slots[source], "{source} of {now:?}");
                last_new = if source >= 6 { source == 6 } else { last_new };
            }
            went[expected.unwrap_or(8)] += 1;
        }
        assert!(went.iter().all(|times| *times > 300), "each has gone, and nobody: {went:?}");
    });
}
