//! How long the cells of Xilinx devices take.
//!
//! All figures are picoseconds of the `specify` blocks of Yosys's models of these cells
//! (`share/xilinx/cells_sim.v`), which were measured of 7 series (Artix-7). UltraScale+ is faster: of it
//! there are no open figures. Where the models have none, a figure stands in for it, and that is said
//! beside it:
//!
//! * `RAMB18E2`, `RAMB36E2`: those of `RAMB18E1` and `RAMB36E1`, which are alike; enables and the reset of
//!   the output have none there either, and take those of the write enables and of the output register's
//!   reset;
//! * `URAM288`: those of a block RAM;
//! * `RAM32M16`, `RAM64M8`: those of `RAM32M` and `RAM64M`, whose ports A to D are repeated as E to H;
//!   the sixth address bit is that of `RAM64X1D`;
//! * `SRL16E`'s clock enable: that of `SRLC16E`;
//! * `DSP48E2`: those of `DSP48E1`.
//!
//! An input of a register, memory or multiplier that none of this names (a cascade, a sleep pin) ends a
//! way without a setup time.

use super::netlist::Parameters;

/// What a way passes, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A look-up table, also one that is a memory whose address is on the way.
    Lut,
    Carry,
    /// Multiplexers behind tables, inverters, buffers.
    Other,
}

/// A port, or one bit of it.
pub type Pin = (String, Option<usize>);

/// What is known of a cell's times.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// From an input to an output.
    pub arcs: Vec<(Pin, Pin, u64)>,
    /// From the clock to an output.
    pub launches: Vec<(Pin, u64)>,
    /// Before the clock, of an input.
    pub setups: Vec<(Pin, u64)>,
    /// Inputs where no way ends.
    pub clocks: Vec<String>,
}

/// `LUT6`'s inputs from the last to the first; smaller ones have the first of them.
const LUT: [u64; 6] = [127, 238, 407, 472, 631, 642];
const FLIP_FLOP: u64 = 303;
const CLOCK_ENABLE: u64 = 109;
const RESET: u64 = 404;
const SHIFT: u64 = 1472;
/// `SRLC16E`'s `Q15`, `SRLC32E`'s `Q31`.
const SHIFT_LAST: u64 = 1114;
const SHIFT_DATA: u64 = 173;
const RAM_WRITE_ENABLE: u64 = 654;
/// Of memories of single bits: data, and what is written to its output.
const RAM_DATA: u64 = 453;
const RAM_OUT: u64 = 1153;
/// Write addresses of memories of 32 words, and of 64.
const RAM_ADDRESS: [u64; 6] = [362, 245, 208, 147, 68, 66];
const BLOCK_OUT: u64 = 2454;
const BLOCK_OUT_REGISTER: u64 = 882;
const BLOCK_ADDRESS: u64 = 566;
const BLOCK_WRITE_ENABLE: u64 = 532;
const BLOCK_DATA: u64 = 737;
const BLOCK_REGISTER_ENABLE: u64 = 360;
const BLOCK_RESET: u64 = 342;

/// `CARRY4`'s outputs by number: from `CYINIT`, `DI[0]`.., `S[0]`.., `CI`. Nought is no way.
type Carry = [(u64, [u64; 4], [u64; 4], u64); 4];
const CARRY_O: Carry = [
    (482, [0, 0, 0, 0], [223, 0, 0, 0], 222),
    (598, [407, 0, 0, 0], [400, 205, 0, 0], 334),
    (584, [556, 537, 0, 0], [523, 558, 226, 0], 239),
    (642, [615, 596, 438, 0], [582, 618, 330, 227], 313),
];
const CARRY_CO: Carry = [
    (536, [379, 0, 0, 0], [340, 0, 0, 0], 271),
    (494, [465, 445, 0, 0], [433, 469, 0, 0], 157),
    (592, [540, 520, 356, 0], [512, 548, 292, 0], 228),
    (580, [526, 507, 398, 385], [508, 528, 378, 380], 114),
];

/// `RAM32M`'s ports: setup of both data bits, clock to both outputs. `RAM64M` has one bit, and the
/// setup of the second and the output of the first.
const RAM_PORTS: [([u64; 2], [u64; 2]); 4] = [
    ([453, 384], [1153, 1188]),
    ([461, 354], [1161, 1187]),
    ([457, 375], [1158, 1180]),
    ([310, 334], [1163, 1190]),
];
/// `RAM64M`'s last data port, which is not the second bit of `RAM32M`'s.
const RAM64_DATA: [u64; 4] = [384, 354, 375, 310];

/// What a module made of parameters is made of: `$paramod\FDRE\INIT=1'0` is a `FDRE`.
pub fn plain(kind: &str) -> &str {
    let made_of = kind.strip_prefix("$paramod").and_then(|rest| rest.split('\\').nth(1));
    made_of.unwrap_or(kind)
}

/// What a cell is counted as on a way.
pub fn kind(cell: &str) -> Kind {
    match cell {
        "CARRY4" => Kind::Carry,
        _ if ["LUT", "RAM32", "RAM64", "RAM128", "SRL"].iter().any(|lut| cell.starts_with(lut)) => Kind::Lut,
        _ => Kind::Other,
    }
}

impl Times {
    fn arc(&mut self, from: &str, to: &str, ps: u64) {
        self.arcs.push(((from.into(), None), (to.into(), None), ps));
    }

    fn bit(&mut self, from: (&str, Option<usize>), to: (&str, Option<usize>), ps: u64) {
        self.arcs.push(((from.0.into(), from.1), (to.0.into(), to.1), ps));
    }

    fn launch(&mut self, port: &str, ps: u64) {
        self.launches.push(((port.into(), None), ps));
    }

    fn setup(&mut self, port: &str, ps: u64) {
        self.setups.push(((port.into(), None), ps));
    }

    fn clock(&mut self, port: &str) {
        self.clocks.push(port.into());
    }

    fn lut(inputs: usize) -> Self {
        let mut times = Self::default();
        (0..inputs).for_each(|input| times.arc(&format!("I{input}"), "O", LUT[inputs - 1 - input]));
        times
    }

    fn through(ways: &[(&str, u64)]) -> Self {
        let mut times = Self::default();
        ways.iter().for_each(|(from, ps)| times.arc(from, "O", *ps));
        times
    }

    fn carry() -> Self {
        let mut times = Self::default();
        for (port, table) in [("O", CARRY_O), ("CO", CARRY_CO)] {
            for (number, (init, data, select, carry)) in table.into_iter().enumerate() {
                let to = (port, Some(number));
                times.bit(("CYINIT", None), to, init);
                times.bit(("CI", None), to, carry);
                for (name, list) in [("DI", data), ("S", select)] {
                    for (bit, ps) in list.into_iter().enumerate().filter(|(_, ps)| *ps > 0) {
                        times.bit((name, Some(bit)), to, ps);
                    }
                }
            }
        }
        times
    }

    /// A flip-flop. A way to an asynchronous reset ends there, as it must be in time for its release.
    fn flip_flop(reset: &str) -> Self {
        let mut times = Self::default();
        times.clock("C");
        times.launch("Q", FLIP_FLOP);
        times.setup("D", 0);
        times.setup("CE", CLOCK_ENABLE);
        times.setup(reset, RESET);
        times
    }

    fn shift(cell: &str) -> Self {
        let mut times = Self::default();
        times.clock("CLK");
        times.launch("Q", SHIFT);
        ["Q15", "Q31"].iter().for_each(|last| times.launch(last, SHIFT_LAST));
        times.setup("D", SHIFT_DATA);
        times.setup("CE", CLOCK_ENABLE);
        if cell == "SRLC32E" {
            (0..5).for_each(|bit| times.bit(("A", Some(bit)), ("Q", None), LUT[5 - bit]));
        } else {
            (0..4).for_each(|bit| times.arc(&format!("A{bit}"), "Q", LUT[4 - bit]));
        }
        times
    }

    /// A memory in tables of eight or four ports, of which the last writes.
    fn ram_ports(ports: &[&str], words: usize) -> Self {
        let mut times = Self::default();
        times.clock("WCLK");
        times.setup("WE", RAM_WRITE_ENABLE);
        let bits = words.ilog2() as usize;
        for (number, port) in ports.iter().enumerate() {
            let (address, input, output) = (format!("ADDR{port}"), format!("DI{port}"), format!("DO{port}"));
            (0..bits).for_each(|bit| times.bit((&address, Some(bit)), (&output, None), LUT[5 - bit]));
            let (setups, outs) = RAM_PORTS[number % 4];
            let data = if words == 32 { setups } else { [RAM64_DATA[number % 4]; 2] };
            for bit in 0..2 {
                times.setups.push(((input.clone(), Some(bit)), data[bit]));
                times.launches.push(((output.clone(), Some(bit)), outs[bit]));
            }
        }
        let write = format!("ADDR{}", ports[ports.len() - 1]);
        for (bit, ps) in RAM_ADDRESS[6 - bits..].iter().enumerate() {
            times.setups.push(((write.clone(), Some(bit)), *ps));
        }
        times
    }

    /// A memory in tables of one bit and two ports.
    fn ram_bit(words: usize) -> Self {
        let mut times = Self::default();
        times.clock("WCLK");
        times.setup("WE", RAM_WRITE_ENABLE);
        times.setup("D", RAM_DATA);
        let bits = words.ilog2() as usize;
        // Two tables with a multiplexer, whose select is the last bit of the address.
        let behind = |side: u64| if words == 128 { side } else { 0 };
        for (port, address, through, select) in
            [("SPO", "A", 193 + 175, 276 + 175), ("DPO", "DPRA", 223 + 174, 296 + 174)]
        {
            // The model crosses it faster from an address than from the clock.
            let from_clock = if port == "SPO" { 217 + 175 } else { through };
            times.launch(port, RAM_OUT + behind(from_clock));
            for bit in 0..bits {
                let ps = if bit == 6 { select } else { LUT[5 - bit] + behind(through) };
                if words == 128 {
                    times.bit((address, Some(bit)), (port, None), ps);
                } else {
                    times.arc(&format!("{address}{bit}"), port, ps);
                }
            }
        }
        for bit in 0..bits {
            if words == 128 {
                let ps = if bit == 0 { 616 } else { RAM_ADDRESS[bit - 1] };
                times.setups.push((("A".into(), Some(bit)), ps));
            } else {
                times.setup(&format!("A{bit}"), RAM_ADDRESS[6 - bits + bit]);
            }
        }
        times
    }

    /// A block RAM. The models' conditions read `&DOA_REG` where there is no output register and
    /// `|DOA_REG` where there is one: their figures are those.
    fn block_ram(parameters: &Parameters) -> Self {
        let mut times = Self::default();
        for (clock, address, write, register, enables) in [
            ("CLKARDCLK", "ADDRARDADDR", "WEA", parameters.doa_reg.is_set(), ["ENARDEN", "ADDRENA"]),
            ("CLKBWRCLK", "ADDRBWRADDR", "WEBWE", parameters.dob_reg.is_set(), ["ENBWREN", "ADDRENB"]),
        ] {
            let first = clock == "CLKARDCLK";
            times.clock(clock);
            times.setup(address, BLOCK_ADDRESS);
            times.setup(write, BLOCK_WRITE_ENABLE);
            enables.iter().for_each(|enable| times.setup(enable, BLOCK_WRITE_ENABLE));
            let outputs = if first {
                ["DOADO", "DOPADOP", "DOUTADOUT", "DOUTPADOUTP"]
            } else {
                ["DOBDO", "DOPBDOP", "DOUTBDOUT", "DOUTPBDOUTP"]
            };
            let out = if register { BLOCK_OUT_REGISTER } else { BLOCK_OUT };
            outputs.iter().for_each(|output| times.launch(output, out));
            let inputs = if first {
                ["DIADI", "DIPADIP", "DINADIN", "DINPADINP"]
            } else {
                ["DIBDI", "DIPBDIP", "DINBDIN", "DINPBDINP"]
            };
            inputs.iter().for_each(|input| times.setup(input, BLOCK_DATA));
        }
        ["REGCEAREGCE", "REGCEB"].iter().for_each(|enable| times.setup(enable, BLOCK_REGISTER_ENABLE));
        ["RSTREGARSTREG", "RSTREGB", "RSTRAMARSTRAM", "RSTRAMB"]
            .iter()
            .for_each(|reset| times.setup(reset, BLOCK_RESET));
        times
    }

    fn ultra_ram(parameters: &Parameters) -> Self {
        let mut times = Self::default();
        times.clock("CLK");
        for (side, register) in [("A", &parameters.oreg_a), ("B", &parameters.oreg_b)] {
            let port = |name: &str| format!("{name}_{side}");
            times.launch(&port("DOUT"), if register.is_set() { BLOCK_OUT_REGISTER } else { BLOCK_OUT });
            times.setup(&port("ADDR"), BLOCK_ADDRESS);
            times.setup(&port("DIN"), BLOCK_DATA);
            ["BWE", "EN", "RDB_WR"].iter().for_each(|name| times.setup(&port(name), BLOCK_WRITE_ENABLE));
            times.setup(&port("OREG_CE"), BLOCK_REGISTER_ENABLE);
            times.setup(&port("RST"), BLOCK_RESET);
        }
        times
    }

    /// `DSP48E1`'s functions of its parameters, as its model has them. `DSP48E2` says of the
    /// pre-adder `AMULTSEL` what the other one says `USE_DPORT`.
    fn multiplier(parameters: &Parameters) -> Self {
        let p = parameters;
        let (a, ad, b, c) = (p.areg.is_set(), p.adreg.is_set(), p.breg.is_set(), p.creg.is_set());
        let (d, m, out) = (p.dreg.is_set(), p.mreg.is_set(), p.preg.is_set());
        let multiplies = p.use_mult.0 != "NONE";
        let adds = p.use_dport.is_set() || p.amultsel.0 == "AD";
        let detects = p.use_pattern_detect.0 == "PATDET";
        let pattern = |plain: u64, detected: u64| if detects { detected } else { plain };
        let by = |add: u64, multiply: u64, none: u64| match (multiplies, adds) {
            (true, true) => add,
            (true, false) => multiply,
            (false, _) => none,
        };
        let mut times = Self::default();
        times.clock("CLK");
        // Through it, where no register is on the way.
        let no_register = !out && !m;
        let mut port = |name: &str, through: bool, comb: [u64; 2], required: u64| {
            if through {
                times.arc(name, "P", comb[0]);
                times.arc(name, "PCOUT", comb[1]);
            } else {
                times.setup(name, required);
            }
        };
        let a_required = match (a, m, ad) {
            (true, ..) => 254,
            (false, true, _) => by(2400, 1416, 0),
            (false, false, true) if adds => 1283,
            _ => by(3723, pattern(2739, 3030), pattern(1441, 1730)),
        };
        port("A", no_register && !a && !ad, [by(3806, 2823, 1523), by(3954, 2970, 1671)], a_required);
        let b_required = match (b, m) {
            (true, _) => 324,
            (false, true) => 1285,
            _ if multiplies => pattern(2608, 2898),
            _ => pattern(1428, 1718),
        };
        port("B", no_register && !b, [by(2690, 2690, 1509), by(2838, 2838, 1658)], b_required);
        port("C", !out && !c, [1325, 1474], if c { 168 } else { pattern(1244, 1534) });
        if adds {
            let required = match (d, ad, m) {
                (true, ..) => 248,
                (false, true, _) => 1195,
                (false, false, true) => 2310,
                _ => pattern(3635, 3925),
            };
            port("D", no_register && !ad && !d, [3717, 3700], required);
        }
        port("PCIN", !out, [1107, 1255], pattern(1025, 1315));
        // The worst of the registers that the output comes from.
        let launch = match () {
            () if out => Some([329, 435]),
            () if c => Some([1687, 1835]),
            () if m => Some([1671, 1819]),
            () if a => Some([by(3935, 2952, 1632), by(4083, 3098, 1780)]),
            () if d && adds => Some([3908, 4056]),
            () if ad && adds => Some([2958, 2859]),
            () if b => Some([by(2813, 2813, 1616), by(2960, 2960, 1765)]),
            () => None,
        };
        if let Some([result, cascade]) = launch {
            times.launch("P", result);
            times.launch("PCOUT", cascade);
        }
        times
    }

    /// Those of a cell; none of one that is not known.
    pub fn of(cell: &str, parameters: &Parameters) -> Option<Self> {
        const EIGHT: [&str; 8] = ["A", "B", "C", "D", "E", "F", "G", "H"];
        Some(match cell {
            "LUT1" => Self::lut(1),
            "LUT2" => Self::lut(2),
            "LUT3" => Self::lut(3),
            "LUT4" => Self::lut(4),
            "LUT5" => Self::lut(5),
            "LUT6" => Self::lut(6),
            "INV" => Self::through(&[("I", 127)]),
            "MUXF7" => Self::through(&[("I0", 217), ("I1", 223), ("S", 296)]),
            "MUXF8" => Self::through(&[("I0", 104), ("I1", 94), ("S", 273)]),
            "IBUF" | "OBUF" => Self::through(&[("I", 0)]),
            "BUFG" => Self::through(&[("I", 96)]),
            "VCC" | "GND" | "$scopeinfo" => Self::default(),
            "CARRY4" => Self::carry(),
            "FDRE" | "FDRE_1" => Self::flip_flop("R"),
            "FDSE" | "FDSE_1" => Self::flip_flop("S"),
            "FDCE" | "FDCE_1" => Self::flip_flop("CLR"),
            "FDPE" | "FDPE_1" => Self::flip_flop("PRE"),
            "SRL16E" | "SRLC16E" | "SRLC32E" => Self::shift(cell),
            "RAM32X1D" => Self::ram_bit(32),
            "RAM64X1D" => Self::ram_bit(64),
            "RAM128X1D" => Self::ram_bit(128),
            "RAM32M" => Self::ram_ports(&EIGHT[..4], 32),
            "RAM64M" => Self::ram_ports(&EIGHT[..4], 64),
            "RAM32M16" => Self::ram_ports(&EIGHT, 32),
            "RAM64M8" => Self::ram_ports(&EIGHT, 64),
            "RAMB18E1" | "RAMB36E1" | "RAMB18E2" | "RAMB36E2" => Self::block_ram(parameters),
            "URAM288" => Self::ultra_ram(parameters),
            "DSP48E1" | "DSP48E2" => Self::multiplier(parameters),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arc(times: &Times, from: (&str, Option<usize>), to: (&str, Option<usize>)) -> Option<u64> {
        let same = |pin: &Pin, is: (&str, Option<usize>)| pin.0 == is.0 && (pin.1.is_none() || pin.1 == is.1);
        times.arcs.iter().find(|(a, b, _)| same(a, from) && same(b, to)).map(|(.., ps)| *ps)
    }

    fn setup(times: &Times, pin: &str, bit: usize) -> Option<u64> {
        let same = |(name, number): &Pin| name == pin && number.is_none_or(|number| number == bit);
        times.setups.iter().find(|(is, _)| same(is)).map(|(_, ps)| *ps)
    }

    fn known(cell: &str, parameters: &str) -> Times {
        Times::of(cell, &serde_json::from_str(parameters).unwrap()).unwrap()
    }

    #[test]
    fn cells_have_the_times_of_their_models() {
        let o = ("O", None);
        assert_eq!(arc(&known("LUT6", "{}"), ("I0", None), o), Some(642));
        assert_eq!(arc(&known("LUT3", "{}"), ("I0", None), o), Some(407));
        assert_eq!(arc(&known("LUT1", "{}"), ("I0", None), o), Some(127));
        let carry = known("CARRY4", "{}");
        assert_eq!(arc(&carry, ("CI", None), ("CO", Some(3))), Some(114));
        assert_eq!(arc(&carry, ("S", Some(2)), ("O", Some(3))), Some(330));
        assert_eq!(arc(&carry, ("S", Some(3)), ("O", Some(2))), None);
        let ram = known("RAM64M8", "{}");
        assert_eq!(arc(&ram, ("ADDRG", Some(5)), ("DOG", Some(0))), Some(127));
        assert_eq!((setup(&ram, "DIB", 0), setup(&ram, "ADDRH", 0)), (Some(354), Some(362)));
        assert_eq!(setup(&ram, "ADDRA", 0), None);
        let ram = known("RAM32M16", "{}");
        assert_eq!((setup(&ram, "DIE", 1), setup(&ram, "ADDRH", 4)), (Some(384), Some(66)));
        let ram = known("RAM128X1D", "{}");
        assert_eq!(arc(&ram, ("DPRA", Some(0)), ("DPO", None)), Some(642 + 223 + 174));
        assert_eq!((setup(&ram, "A", 0), setup(&ram, "A", 6)), (Some(616), Some(66)));
        let srl = known("SRLC32E", "{}");
        assert_eq!(arc(&srl, ("A", Some(4)), ("Q", None)), Some(238));
        assert_eq!(arc(&known("SRL16E", "{}"), ("A0", None), ("Q", None)), Some(631));
        assert!(Times::of("CFGLUT5", &Parameters::default()).is_none());
    }

    #[test]
    fn output_registers_are_faster() {
        let out = |times: &Times, port: &str| {
            times.launches.iter().find(|(pin, _)| pin.0 == port).map(|(_, ps)| *ps)
        };
        let block = known("RAMB36E2", r#"{ "DOA_REG": "00000000000000000000000000000001", "DOB_REG": "0" }"#);
        assert_eq!((out(&block, "DOUTADOUT"), out(&block, "DOUTBDOUT")), (Some(882), Some(2454)));
        let ultra = known("URAM288", r#"{ "OREG_A": "FALSE", "OREG_B": "TRUE" }"#);
        assert_eq!((out(&ultra, "DOUT_A"), out(&ultra, "DOUT_B")), (Some(2454), Some(882)));
        let none = known("DSP48E2", r#"{ "AMULTSEL": "A", "USE_MULT": "MULTIPLY", "PREG": "0" }"#);
        assert_eq!((out(&none, "P"), arc(&none, ("A", None), ("P", None))), (None, Some(2823)));
        assert_eq!(arc(&none, ("B", None), ("PCOUT", None)), Some(2838));
        let all = known("DSP48E1", r#"{ "AREG": "1", "BREG": 1, "MREG": "1", "PREG": "1" }"#);
        assert_eq!(
            (out(&all, "P"), setup(&all, "A", 0), setup(&all, "B", 0)),
            (Some(329), Some(254), Some(324))
        );
        assert!(all.arcs.is_empty() || arc(&all, ("A", None), ("P", None)).is_none());
    }

    #[test]
    fn a_module_made_of_parameters_is_the_cell() {
        assert_eq!(plain("$paramod\\FDRE\\INIT=1'0"), "FDRE");
        assert_eq!(plain("$paramod$5f3a\\RAMB36E2"), "RAMB36E2");
        assert_eq!((plain("LUT6"), kind("LUT6"), kind("RAM64M8")), ("LUT6", Kind::Lut, Kind::Lut));
        assert_eq!(
            (kind("CARRY4"), kind("RAMB36E2"), kind("MUXF7")),
            (Kind::Carry, Kind::Other, Kind::Other)
        );
    }
}
