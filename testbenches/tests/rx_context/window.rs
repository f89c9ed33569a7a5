//! `rx::Window` on its own, to the longest message there is: no test sends
//! sixteen million packets.

use super::reference::list_of;
use tessera_abi::params::{BLOCK_PACKETS, WINDOW_PACKETS};
use tessera_rtl::prelude::*;
use tessera_rtl::rx::Window;
use tessera_sim::tb::{self, Rng};
use tessera_sim::verilator::Dut;

const BLOCK: u64 = BLOCK_PACKETS as u64;
const REACH: u64 = WINDOW_PACKETS as u64;
/// Packets of the longest message.
const MOST: u64 = (1 << 24) - 1;

/// The window and a clock: a testbench has one.
#[derive(LogicBlock)]
struct Clocked {
    clk: Signal<In, Clock>,
    cumulative: Signal<In, Bits<24>>,
    granted: Signal<In, Bits<24>>,
    count: Signal<In, Bits<24>>,
    step: Signal<In, Bits<3>>,
    limit: Signal<In, Bits<24>>,
    base: Signal<Out, Bits<24>>,
    next_base: Signal<Out, Bits<24>>,
    may_grant: Signal<Out, Bit>,
    gap: Signal<Out, Bits<11>>,
    rest_list: Signal<Out, Bits<3>>,
    at: Signal<Out, Bits<24>>,
    asked: Signal<Out, Bit>,
    window: Window,
    clocked: Dff<Bit>,
}

impl Clocked {
    fn new() -> Self {
        Self {
            clk: Default::default(),
            cumulative: Default::default(),
            granted: Default::default(),
            count: Default::default(),
            step: Default::default(),
            limit: Default::default(),
            base: Default::default(),
            next_base: Default::default(),
            may_grant: Default::default(),
            gap: Default::default(),
            rest_list: Default::default(),
            at: Default::default(),
            asked: Default::default(),
            window: Window::new(),
            clocked: Default::default(),
        }
    }
}

impl Logic for Clocked {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, clocked);
        self.window.cumulative.next = self.cumulative.val();
        self.window.granted.next = self.granted.val();
        self.window.count.next = self.count.val();
        self.window.step.next = self.step.val();
        self.window.limit.next = self.limit.val();
        self.base.next = self.window.base.val();
        self.next_base.next = self.window.next_base.val();
        self.may_grant.next = self.window.may_grant.val();
        self.gap.next = self.window.gap.val();
        self.rest_list.next = self.window.rest_list.val();
        self.at.next = self.window.at.val();
        self.asked.next = self.window.asked.val();
        self.clocked.d.next = self.window.may_grant.val();
    }
}

/// A number near an edge that matters, or any.
fn edge(rng: &mut Rng, end: u64) -> u64 {
    let at = match rng.below(4) {
        0 => rng.below(end + 1),
        1 => end - rng.below(4).min(end),
        2 => end.saturating_sub(rng.below(6 * BLOCK)),
        _ => (end / BLOCK * BLOCK).saturating_sub(BLOCK * rng.below(6)) + rng.below(3),
    };
    at.min(end)
}

//= GR-2 test
//= GR-7 test
#[test]
fn gr2_the_window_of_the_longest_message_reaches_its_end() {
    let design = tessera_testbenches::design("rx_window", Clocked::new);
    tb::run("rx_context::window", &design, |dut: &mut Dut, rng: &mut Rng| {
        let port = |name: &str| dut.port(name).unwrap();
        let [cumulative, granted, count, step, limit] =
            ["cumulative", "granted", "count", "step", "limit"].map(port);
        let [base, next_base, may_grant, gap, rest_list, at, asked] =
            ["base", "next_base", "may_grant", "gap", "rest_list", "at", "asked"].map(port);
        let mut lists = [0; 8];
        for turn in 0..60_000 {
            let packets = match turn % 4 {
                0 => MOST - rng.below(2048),
                1 => 1 + rng.below(4096),
                2 => 1 + rng.below(1 << 15),
                _ => 1 + rng.below(MOST),
            };
            let arrived = edge(rng, packets);
            let first = arrived / BLOCK * BLOCK;
            let reach = packets.min(first + REACH);
            let had = arrived + edge(rng, reach - arrived);
            let (behind, asks) = (rng.below(5), edge(rng, had));
            for (port, value) in
                [(cumulative, arrived), (granted, had), (count, packets), (step, behind), (limit, asks)]
            {
                dut.set(port, value);
            }
            dut.settle();
            let case = format!("{arrived} arrived and {had} granted of {packets}");
            assert_eq!((dut.get(base), dut.get(next_base)), (first, packets.min(first + BLOCK)), "{case}");
            assert_eq!(dut.get(may_grant), u64::from(had < reach), "{case}");
            if had < reach {
                assert_eq!(dut.get(gap), reach - had, "{case}");
                assert_eq!(dut.get(rest_list), list_of(packets - had), "{case}");
                lists[dut.get(rest_list) as usize] += 1;
            }
            let from = first + behind * BLOCK;
            assert_eq!(dut.get(asked), u64::from(from < asks), "{case}: {behind} blocks on, to {asks}");
            if from < asks {
                assert_eq!(dut.get(at), from, "{case}");
            }
        }
        assert!(lists.iter().all(|seen| *seen > 100), "{lists:?}");
    });
}
