//! What is between a narrow board and the NIC (`fpga/corundum/widths.v`), at its full rate.

use std::collections::VecDeque;

use tessera_rtl::export::MQNIC_WIDTHS;
use tessera_sim::tb::{self, cycle, Agent, AxisDriver, AxisMonitor, Pattern, Rng};
use tessera_sim::verilator::{Design, Dut, Port, PortId};

/// Widths of streams that are narrower than the NIC's.
const STREAMS: [usize; 3] = [64, 128, 256];
/// Segments and their widths.
const RAMS: [(usize, usize); 5] = [(2, 128), (2, 256), (4, 128), (4, 256), (8, 128)];
/// Clocks from two beats of the core's to its verdict: far more than it takes.
const VERDICT: u64 = 16;

/// A port: its name, whether it is an input, its bits.
type Wire = (&'static str, bool, usize);

/// The streams of a narrow board, from and to its neighbour, with `u` bits beside `w`.
fn narrow(w: usize, u: usize) -> [Wire; 13] {
    [
        ("rst", true, 1),
        ("s_tdata", true, w),
        ("s_tkeep", true, w / 8),
        ("s_tvalid", true, 1),
        ("s_tready", false, 1),
        ("s_tlast", true, 1),
        ("s_tuser", true, u),
        ("m_tdata", false, w),
        ("m_tkeep", false, w / 8),
        ("m_tvalid", false, 1),
        ("m_tready", true, 1),
        ("m_tlast", false, 1),
        ("m_tuser", false, u),
    ]
}

/// A module of the file with its ports.
fn module(name: &str, parameters: &str, ports: &[Wire]) -> Design {
    let lines: Vec<String> = ports
        .iter()
        .map(|&(port, input, width)| {
            format!("    {} wire [{}:0] {port}", if input { "input" } else { "output" }, width - 1)
        })
        .collect();
    let wires: Vec<String> = ports.iter().map(|(port, ..)| format!(".{port}({port})")).collect();
    let text = format!(
        "{MQNIC_WIDTHS}\nmodule widths_bench (\n    input wire clk,\n{}\n);\n    {name} #({parameters}) widths (.clk(clk), {});\nendmodule\n",
        lines.join(",\n"),
        wires.join(", ")
    );
    let described = ports.iter().map(|&(port, input, width)| match input {
        true => Port::input(port, width),
        false => Port::output(port, width),
    });
    Design::new("widths_bench", text, [Port::clock("clk")].into_iter().chain(described).collect::<Vec<_>>())
}

fn reset(dut: &mut Dut) {
    let rst = dut.port("rst").unwrap();
    dut.reset(rst, 2);
}

/// Frames of all lengths, shortest ones too.
fn frames(rng: &mut Rng) -> Vec<Vec<u8>> {
    (0..400)
        .map(|_| {
            let len = *rng.pick(&[60, 61, 64, 65, 127, 128, 129, 300, 1514]);
            rng.bytes(len)
        })
        .collect()
}

/// The core, which says some clocks behind two beats of a frame, or its end, whose it is: of every other one.
struct Core {
    valid: PortId,
    last: PortId,
    verdict_valid: PortId,
    verdict_ours: PortId,
    now: u64,
    beats: u64,
    due: VecDeque<u64>,
    said: u64,
    came: u64,
}

impl Agent for Core {
    fn drive(&mut self, dut: &mut Dut) {
        let says = self.due.front().is_some_and(|&due| due <= self.now);
        dut.set(self.verdict_valid, says);
        dut.set(self.verdict_ours, self.said & 1);
        if says {
            self.due.pop_front();
            self.said += 1;
        }
    }

    fn sample(&mut self, dut: &Dut) {
        self.now += 1;
        if dut.sampled(self.valid) == 0 {
            return;
        }
        let last = dut.sampled(self.last) != 0;
        if self.beats == 1 || last && self.beats == 0 {
            self.due.push_back(self.now + VERDICT);
        }
        self.beats = if last { 0 } else { self.beats + 1 };
        self.came += u64::from(last);
    }
}

#[test]
fn received_frames_are_taken_in_every_clock() {
    for w in STREAMS {
        let design = module(
            "tessera_rx_width",
            &format!(".W({w}), .U(97)"),
            &[
                &narrow(w, 97)[..],
                &[
                    ("wide_tdata", false, 512),
                    ("wide_tkeep", false, 64),
                    ("wide_tvalid", false, 1),
                    ("wide_tlast", false, 1),
                    ("wide_tuser", false, 97),
                    ("verdict_valid", true, 1),
                    ("verdict_ours", true, 1),
                ],
            ]
            .concat(),
        );
        tb::run(&format!("corundum_widths::rx {w}"), &design, |dut, rng| {
            let frames = frames(rng);
            let mut source = AxisDriver::new(dut, "s", Pattern::Always, rng).unwrap();
            frames.iter().for_each(|frame| source.send(frame.clone()));
            let mut host = AxisMonitor::new(dut, "m", Pattern::Always, rng).unwrap();
            let port = |name: &str| dut.port(name).unwrap();
            let mut core = Core {
                valid: port("wide_tvalid"),
                last: port("wide_tlast"),
                verdict_valid: port("verdict_valid"),
                verdict_ours: port("verdict_ours"),
                now: 0,
                beats: 0,
                due: VecDeque::new(),
                said: 0,
                came: 0,
            };
            reset(dut);
            let begun = dut.cycles();
            while source.pending() > 0 {
                cycle(dut, &mut [&mut source, &mut host, &mut core]);
            }
            let (clocks, beats) = (dut.cycles() - begun, source.beats());
            (0..100).for_each(|_| cycle(dut, &mut [&mut source, &mut host, &mut core]));
            assert_eq!(core.came as usize, frames.len(), "frames that the core has seen");
            for frame in frames.iter().step_by(2) {
                assert_eq!(host.take().map(|came| came.bytes).as_ref(), Some(frame));
            }
            assert!(host.take().is_none(), "a frame of the core's");
            // A port cannot wait: not one clock in which nothing is taken.
            assert!(clocks <= beats + 2, "{clocks} clocks for {beats} beats");
        });
    }
}

#[test]
fn sent_frames_leave_in_every_clock() {
    for w in STREAMS {
        let design = module(
            "tessera_tx_width",
            &format!(".W({w}), .U(17)"),
            &[
                &narrow(w, 17)[..],
                &[
                    ("wide_tdata", true, 512),
                    ("wide_tkeep", true, 64),
                    ("wide_tvalid", true, 1),
                    ("wide_tready", false, 1),
                    ("wide_tlast", true, 1),
                    ("passed", false, 1),
                ],
            ]
            .concat(),
        );
        // The core's alone, the host's alone, and both.
        for (own, other) in [(true, false), (false, true), (true, true)] {
            tb::run(&format!("corundum_widths::tx {w} {own} {other}"), &design, |dut, rng| {
                let mut wide = AxisDriver::new(dut, "wide", Pattern::Always, rng).unwrap();
                let mut host = AxisDriver::new(dut, "s", Pattern::Always, rng).unwrap();
                let mut port = AxisMonitor::new(dut, "m", Pattern::Always, rng).unwrap();
                let mut wanted = [Vec::new(), Vec::new()];
                for (source, user, there) in [(&mut wide, 0u128, own), (&mut host, 0x1_0000, other)] {
                    for frame in frames(rng).into_iter().filter(|_| there) {
                        match user {
                            0 => source.send(frame.clone()),
                            user => source.send_with_user(frame.clone(), user),
                        }
                        wanted[usize::from(user != 0)].push(frame);
                    }
                }
                let count = wanted[0].len() + wanted[1].len();
                reset(dut);
                let begun = dut.cycles();
                while port.available() < count {
                    cycle(dut, &mut [&mut wide, &mut host, &mut port]);
                    assert!(dut.cycles() < begun + 1_000_000, "no end");
                }
                let (clocks, beats) = (dut.cycles() - begun, port.beats());
                let mut rest = wanted.map(Vec::into_iter);
                while let Some(came) = port.take() {
                    assert_eq!(Some(came.bytes), rest[usize::from(came.user != 0)].next());
                }
                // The way through.
                assert!(clocks <= beats + 3, "{clocks} clocks for {beats} beats");
            });
        }
    }
}

#[test]
fn segments_move_a_word_each_in_every_clock() {
    const LINES: u64 = 512;
    for (n, s) in RAMS {
        // As long as the core's 64 KiB.
        let a = 16 - (n * s / 8).trailing_zeros() as usize;
        let design = module(
            "tessera_ram_width",
            &format!(".N({n}), .S({s}), .A({a})"),
            &[
                ("rst", true, 1),
                ("wr_cmd_valid", true, n),
                ("wr_cmd_ready", false, n),
                ("wr_cmd_be", true, n * s / 8),
                ("wr_cmd_addr", true, n * a),
                ("wr_cmd_data", true, n * s),
                ("wr_done", false, n),
                ("core_wr_valid", false, 2),
                ("core_wr_be", false, 128),
                ("core_wr_addr_0", false, 9),
                ("core_wr_addr_1", false, 9),
                ("core_wr_data", false, 1024),
                ("rd_cmd_valid", true, n),
                ("rd_cmd_ready", false, n),
                ("rd_cmd_addr", true, n * a),
                ("rd_resp_data", false, n * s),
                ("rd_resp_valid", false, n),
                ("rd_resp_ready", true, n),
                ("core_rd_valid", false, 2),
                ("core_rd_addr_0", false, 9),
                ("core_rd_addr_1", false, 9),
                ("core_rd_data", true, 1024),
            ],
        );
        // How far ahead of the last segment the others are when they begin: an engine's need not be in step.
        for ahead in [0, 1, 2, 5] {
            tb::run(&format!("corundum_widths::ram {n} {s} {ahead}"), &design, |dut, _| {
                let part = |name: &str, segment: usize| {
                    let port = dut.port(name).unwrap();
                    let width = port.width() / n;
                    port.bits(segment * width, width)
                };
                let all = |name: &str| (0..n).map(|segment| part(name, segment)).collect::<Vec<_>>();
                let [valid, ready, addr] = ["valid", "ready", "addr"]
                    .map(|port| ["wr_cmd_", "rd_cmd_"].map(|way| all(&format!("{way}{port}"))));
                let over = ["wr_done", "rd_resp_valid"].map(all);
                all("rd_resp_ready").into_iter().for_each(|port| dut.set(port, 1u64));
                reset(dut);
                let mut next = [0, 1].map(|_| (0..n).map(|i| if i + 1 < n { ahead } else { 0 }).collect());
                let next: &mut [Vec<u64>; 2] = &mut next;
                let mut ended = [vec![0; n], vec![0; n]];
                let (mut clocks, mut taken) = ([0; 2], [0; 2]);
                while (0..2).any(|way| next[way].iter().any(|&line| line < LINES)) {
                    for way in 0..2 {
                        for segment in 0..n {
                            dut.set(valid[way][segment], next[way][segment] < LINES);
                            dut.set(addr[way][segment], next[way][segment] % (1 << a));
                        }
                        clocks[way] += u64::from(next[way].iter().any(|&line| line < LINES));
                    }
                    dut.clock();
                    for way in 0..2 {
                        for segment in 0..n {
                            let moved = next[way][segment] < LINES && dut.sampled(ready[way][segment]) != 0;
                            next[way][segment] += u64::from(moved);
                            taken[way] += u64::from(moved);
                            ended[way][segment] += dut.sampled(over[way][segment]);
                        }
                    }
                }
                (valid.iter().flatten()).for_each(|&port| dut.set(port, 0u64));
                for _ in 0..10 {
                    dut.clock();
                    for way in 0..2 {
                        (0..n).for_each(|segment| ended[way][segment] += dut.sampled(over[way][segment]));
                    }
                }
                // Where a line is as long as the core's, neighbours that are not in step have different lines
                // of one of its segments, and go by turns; elsewhere one waits once.
                let at_most = match (n * s, ahead) {
                    (1024, 1..) => 2 * LINES,
                    _ => LINES + 2,
                };
                for way in 0..2 {
                    assert_eq!(ended[way].iter().sum::<u64>(), taken[way], "confirmed, or answered");
                    assert!(clocks[way] <= at_most, "way {way}: {} clocks for {LINES} lines", clocks[way]);
                }
            });
        }
    }
}
