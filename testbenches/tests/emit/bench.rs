//! One stimulus, two simulators.

use num_bigint::BigUint;
use tessera_rtl::emit::{Direction, Export, Port};
use tessera_rtl::prelude::*;
use tessera_sim::tb::Rng;
use tessera_sim::verilator::{self, BuildOptions, Design, Dut, Lint, Model};

/// A type whose signals the bench can drive.
pub trait FromBits: Synth {
    fn from_bits(value: &BigUint) -> Self;
}

impl<const N: usize> FromBits for Bits<N> {
    fn from_bits(value: &BigUint) -> Self {
        (value & ((BigUint::from(1u8) << N) - 1u8)).into()
    }
}

impl<const N: usize> FromBits for Signed<N> {
    fn from_bits(value: &BigUint) -> Self {
        signed_cast(Bits::<N>::from_bits(value))
    }
}

impl FromBits for bool {
    fn from_bits(value: &BigUint) -> Self {
        value.bit(0)
    }
}

/// A block the bench can drive: inputs in the order of the ports, without the
/// clock.
pub trait Bench: Block {
    fn apply(&mut self, inputs: &[BigUint]);
    fn set_clock(&mut self, high: bool);
}

/// Implements [`Bench`] for a block with a `clock` and the listed inputs.
macro_rules! drive {
    ($block:ty: $($input:ident),*) => {
        impl $crate::bench::Bench for $block {
            fn apply(&mut self, inputs: &[num_bigint::BigUint]) {
                let mut inputs = inputs.iter();
                $(self.$input.next = $crate::bench::FromBits::from_bits(inputs.next().unwrap());)*
                assert!(inputs.next().is_none(), "more inputs than the bench drives");
            }
            fn set_clock(&mut self, high: bool) {
                self.clock.next = high.into();
            }
        }
    };
}

/// Settled values of the outputs of the outermost scope, in order.
#[derive(Default)]
struct Outputs {
    depth: usize,
    values: Vec<BigUint>,
}

impl Probe for Outputs {
    fn visit_start_scope(&mut self, _name: &str, _node: &dyn Block) {
        self.depth += 1;
    }
    fn visit_end_scope(&mut self, _name: &str, _node: &dyn Block) {
        self.depth -= 1;
    }
    fn visit_atom(&mut self, _name: &str, signal: &dyn Atom) {
        if self.depth == 1 && signal.kind() == AtomKind::OutputParameter {
            let text = format!("{:x}", signal.verilog());
            let digits = text.rsplit_once('h').expect("a Verilog literal").1;
            self.values.push(BigUint::parse_bytes(digits.as_bytes(), 16).expect("hexadecimal"));
        }
    }
}

pub fn outputs(block: &dyn Block) -> Vec<BigUint> {
    let mut probe = Outputs::default();
    block.accept("top", &mut probe);
    probe.values
}

/// The export as the simulator takes it.
pub fn design(export: &Export) -> Design {
    let port = |port: &Port| verilator::Port {
        name: port.name.clone(),
        direction: match port.direction {
            Direction::In => verilator::Direction::In,
            Direction::Out => verilator::Direction::Out,
        },
        width: port.width,
        is_clock: port.is_clock,
        fields: Vec::new(),
    };
    Design::new(&export.top, export.verilog.clone(), export.ports.iter().map(port).collect())
}

/// The Verilated side: ports in the order of the export.
pub struct Verilated {
    pub dut: Dut,
    inputs: Vec<verilator::PortId>,
    pub outputs: Vec<(String, verilator::PortId)>,
}

/// What `verilator --lint-only -Wall` says, less the warnings named in `off`.
pub fn lint(export: &Export, off: &[&str]) -> Result<(), String> {
    let folder = tessera_sim::tools::cache_dir().join("emit-lint");
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let file = folder.join(format!("{}-{}.v", export.top, std::process::id()));
    std::fs::write(&file, &export.verilog).map_err(|e| e.to_string())?;
    let verilator = tessera_sim::tools::verilator(&Default::default())
        .map_err(|e| format!("{e}\n(`cargo tessera setup` checks the tools)"))?;
    let output = verilator
        .command()
        .args(["--lint-only", "-Wall", "--top-module", &export.top])
        .args(off.iter().map(|warning| format!("-Wno-{warning}")))
        .arg(&file)
        .output()
        .map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

impl Verilated {
    pub fn new(export: &Export) -> Self {
        Self::with_lint(export, Lint::Strict)
    }

    pub fn with_lint(export: &Export, lint: Lint) -> Self {
        let options = BuildOptions { lint, ..BuildOptions::default() };
        let model = Model::build(&design(export), &options);
        let model = model.unwrap_or_else(|e| panic!("{e}\n(`cargo tessera setup` checks the tools)"));
        let dut = model.instance().expect("an instance");
        let of = |direction| {
            export
                .ports
                .iter()
                .filter(move |port| port.direction == direction && !port.is_clock)
                .map(|port| (port.name.clone(), dut.port(&port.name).expect("a port")))
        };
        let inputs = of(Direction::In).map(|(_, id)| id).collect();
        let outputs = of(Direction::Out).collect();
        Self { dut, inputs, outputs }
    }

    pub fn apply(&mut self, inputs: &[BigUint]) {
        for (port, value) in self.inputs.iter().zip(inputs) {
            let mut words = value.to_u64_digits();
            words.resize(port.words(), 0);
            self.dut.set_wide(*port, &words);
        }
    }

    pub fn read(&self, port: verilator::PortId) -> BigUint {
        let mut words = vec![0; port.words()];
        self.dut.get_wide(port, &mut words);
        let halves = words.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
        BigUint::new(halves.collect())
    }
}

/// Widths of the inputs the bench drives.
pub fn input_widths(export: &Export) -> Vec<usize> {
    let inputs = export.ports.iter().filter(|p| p.direction == Direction::In && !p.is_clock);
    inputs.map(|port| port.width).collect()
}

/// A number of `width` bits; corners are far more likely than by chance.
pub fn corner_or_random(rng: &mut Rng, width: usize) -> BigUint {
    let ones = (BigUint::from(1u8) << width) - 1u8;
    let any = |rng: &mut Rng| {
        let words = rng.wide(width);
        BigUint::new(words.iter().flat_map(|w| [*w as u32, (*w >> 32) as u32]).collect())
    };
    match rng.below(8) {
        0 => BigUint::default(),
        1 => ones,
        2 => BigUint::from(1u8) << rng.below(width as u64),
        3 => &ones - (BigUint::from(1u8) << rng.below(width as u64)),
        4 => any(rng) >> rng.below(width as u64),
        _ => any(rng),
    }
}

/// Runs `vectors` through both sides, one clock each, and compares all outputs
/// before every rising edge.
pub fn agree<B: Bench>(block: &mut B, export: &Export, vectors: &[Vec<BigUint>]) {
    let mut verilated = Verilated::new(export);
    for (clock, vector) in vectors.iter().enumerate() {
        block.apply(vector);
        block.set_clock(false);
        assert!(simulate(block, 1000), "the kernel does not settle in clock {clock}");
        verilated.apply(vector);
        verilated.dut.settle();
        let kernel = outputs(block);
        assert_eq!(kernel.len(), verilated.outputs.len());
        for ((name, port), kernel) in verilated.outputs.iter().zip(&kernel) {
            let verilog = verilated.read(*port);
            assert_eq!(
                *kernel, verilog,
                "clock {clock}: {name} is {kernel:#x} in the kernel, {verilog:#x} in Verilog; inputs {vector:x?}"
            );
        }
        block.set_clock(true);
        assert!(simulate(block, 1000), "the kernel does not settle in clock {clock}");
        verilated.dut.clock();
    }
}

/// Random inputs for `clocks` clocks.
pub fn random_vectors(rng: &mut Rng, export: &Export, clocks: usize) -> Vec<Vec<BigUint>> {
    let widths = input_widths(export);
    let vector = |rng: &mut Rng| widths.iter().map(|w| corner_or_random(rng, *w)).collect();
    (0..clocks).map(|_| vector(rng)).collect()
}
