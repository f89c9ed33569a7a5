//! Random kernels: statements that assign variables over and over.
//!
//! The kernels are built as the tree `#[hdl_gen]` hands over. The reference is
//! rust-hdl's own arithmetic, run in the order of the statements.

use crate::bench::{corner_or_random, input_widths, lint, Verilated};
use crate::recipe::{recipes, Recipe};
use crate::tree::{zero, Source, Tree};
use crate::values::{cast, Word, WIDTHS};
use num_bigint::BigUint;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use rust_hdl::core::ast::{
    VerilogBlockOrConditional, VerilogCase, VerilogConditional, VerilogExpression, VerilogMatch,
    VerilogStatement,
};
use rust_hdl::core::constraint::PinConstraint;
use tessera_rtl::emit::{export, with_big_stack, Export};
use tessera_rtl::prelude::*;
use tessera_sim::tb::Rng;
use tessera_sim::verilator::Lint;

/// Statement lists per kernel, each with variables and an output of its own.
const PROGRAMS: usize = 40;
/// Variables of a statement list; the last one is an output.
const VARIABLES: usize = 4;
const CLOCKS: usize = 60;

#[derive(Clone, Debug)]
enum Step {
    Set(usize, Tree),
    /// Bits of a variable from `lsb` on.
    SetPart(usize, usize, usize, Tree),
    If(Tree, Vec<Step>, Vec<Step>),
    /// Two bits choose among arms 0, 1, 2 and the default.
    Match(Tree, Vec<Vec<Step>>),
}

/// An expression of `width` bits over `sources`.
fn expression(rng: &mut Rng, sources: &[Source], width: usize, depth: u32) -> Tree {
    let config = Config { rng_seed: RngSeed::Fixed(rng.next_u64()), ..Config::default() };
    let recipe = recipes(depth).new_tree(&mut TestRunner::new(config)).expect("a recipe").current();
    recipe.tree(sources, width)
}

impl Step {
    fn random(rng: &mut Rng, sources: &[Source], variables: &[usize], depth: usize) -> Step {
        let list = |rng: &mut Rng| {
            let count = rng.below(3) as usize;
            (0..count).map(|_| Step::random(rng, sources, variables, depth - 1)).collect()
        };
        let target = *rng.pick(variables);
        let width = sources[target].width;
        match rng.below(if depth == 0 { 3 } else { 6 }) {
            0 | 1 => Step::Set(target, expression(rng, sources, width, 3)),
            2 => {
                let parts: Vec<usize> = WIDTHS.into_iter().filter(|w| *w <= width).collect();
                let part = *rng.pick(&parts);
                let lsb = rng.below((width - part) as u64 + 1) as usize;
                Step::SetPart(target, lsb, part, expression(rng, sources, part, 3))
            }
            3 | 4 => Step::If(expression(rng, sources, 1, 3), list(rng), list(rng)),
            _ => {
                let choice = Tree::Cast(2, expression(rng, sources, 9, 2).into());
                Step::Match(choice, (0..4).map(|_| list(rng)).collect())
            }
        }
    }

    fn run(&self, env: &mut [Word]) {
        let all = |steps: &[Step], env: &mut [Word]| steps.iter().for_each(|step| step.run(env));
        match self {
            Step::Set(target, value) => env[*target] = value.evaluate(env),
            Step::SetPart(target, lsb, width, value) => {
                let value = value.evaluate(env).bits;
                let hole = ((BigUint::from(1u8) << *width) - 1u8) << *lsb;
                let old = &env[*target].bits;
                let kept = old - (old & &hole);
                env[*target].bits = kept | (value << *lsb);
            }
            Step::If(test, then, otherwise) => {
                let taken = if test.evaluate(env).is_set() { then } else { otherwise };
                all(taken, env);
            }
            Step::Match(choice, arms) => {
                let at: usize = choice.evaluate(env).bits.try_into().expect("two bits");
                all(&arms[at], env);
            }
        }
    }

    fn statement(&self, sources: &[Source]) -> VerilogStatement {
        let list = |steps: &[Step]| steps.iter().map(|step| step.statement(sources)).collect();
        match self {
            Step::Set(target, value) => assign(&sources[*target].name, value.ast(sources)),
            Step::SetPart(target, lsb, width, value) => VerilogStatement::SliceAssignment {
                base: VerilogExpression::Signal(sources[*target].name.clone()),
                width: *width,
                offset: VerilogExpression::Literal((*lsb).into()),
                replacement: value.ast(sources),
            },
            Step::If(test, then, otherwise) => VerilogStatement::If(VerilogConditional {
                test: test.ast(sources),
                then: list(then),
                otherwise: VerilogBlockOrConditional::Block(list(otherwise)),
            }),
            Step::Match(choice, arms) => {
                let names = ["0", "1", "2", "default"];
                let case = |(name, steps): (&str, &Vec<Step>)| VerilogCase {
                    condition: name.to_owned(),
                    block: list(steps),
                };
                VerilogStatement::Match(VerilogMatch {
                    test: choice.ast(sources),
                    cases: names.into_iter().zip(arms).map(case).collect(),
                })
            }
        }
    }
}

fn assign(name: &str, value: VerilogExpression) -> VerilogStatement {
    VerilogStatement::Assignment(VerilogExpression::Signal(format!("{name}$next")), value)
}

struct RandomAtom {
    kind: AtomKind,
    width: usize,
    clock: bool,
}

impl Atom for RandomAtom {
    fn bits(&self) -> usize {
        self.width
    }
    fn connected(&self) -> bool {
        true
    }
    fn changed(&self) -> bool {
        false
    }
    fn kind(&self) -> AtomKind {
        self.kind
    }
    fn descriptor(&self) -> TypeDescriptor {
        let name = if self.clock { "clock" } else { "Bits" };
        TypeDescriptor { name: name.to_owned(), kind: TypeKind::Bits(self.width) }
    }
    fn vcd(&self) -> VCDValue {
        VCDValue::from(false)
    }
    fn id(&self) -> usize {
        0
    }
    fn verilog(&self) -> VerilogLiteral {
        false.into()
    }
    fn constraints(&self) -> Vec<PinConstraint> {
        Vec::new()
    }
}

/// A kernel that exists only as signals and a tree.
pub struct RandomKernel {
    /// Everything a tree may read or a statement assign: inputs, variables,
    /// outputs.
    sources: Vec<Source>,
    kinds: Vec<AtomKind>,
    steps: Vec<Step>,
}

impl RandomKernel {
    /// Two inputs of every width, and nothing that reads them.
    fn bare() -> Self {
        let mut kernel = Self { sources: Vec::new(), kinds: Vec::new(), steps: Vec::new() };
        for width in WIDTHS {
            for copy in ["a", "b"] {
                kernel.add(format!("{copy}{width}"), width, AtomKind::InputParameter);
            }
        }
        kernel
    }

    /// An output for each of `expressions`, in their order: `e0`, `e1`, ..
    pub fn of(expressions: &[(usize, Recipe)]) -> Self {
        let mut kernel = Self::bare();
        let inputs = kernel.sources.clone();
        for (at, (width, recipe)) in expressions.iter().enumerate() {
            let output = kernel.add(format!("e{at}"), *width, AtomKind::OutputParameter);
            kernel.steps.push(Step::Set(output, recipe.tree(&inputs, *width)));
        }
        kernel
    }

    fn new(rng: &mut Rng) -> Self {
        let mut kernel = Self::bare();
        let inputs = kernel.sources.clone();
        for at in 0..PROGRAMS {
            kernel.add_program(rng, at, &inputs);
        }
        kernel
    }

    fn add(&mut self, name: String, width: usize, kind: AtomKind) -> usize {
        self.sources.push(Source { name, width });
        self.kinds.push(kind);
        self.sources.len() - 1
    }

    fn add_program(&mut self, rng: &mut Rng, at: usize, inputs: &[Source]) {
        let mut visible = inputs.to_vec();
        let mut variables = Vec::new();
        for number in 0..VARIABLES {
            let width = *rng.pick(&WIDTHS);
            let last = number + 1 == VARIABLES;
            let kind = if last { AtomKind::OutputParameter } else { AtomKind::LocalSignal };
            let id = self.add(format!("p{at}_v{number}"), width, kind);
            // Trees number the signals of the whole kernel.
            visible.resize(id, Source { name: String::new(), width: 0 });
            self.steps.push(Step::Set(id, expression(rng, &visible, width, 2)));
            visible.push(self.sources[id].clone());
            variables.push(id);
        }
        for _ in 0..rng.range(2..7) {
            self.steps.push(Step::random(rng, &visible, &variables, 2));
        }
    }

    /// Names of the inputs, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        let inputs = self.kinds.iter().take_while(|kind| **kind == AtomKind::InputParameter);
        inputs.zip(&self.sources).map(|(_, source)| &*source.name)
    }

    /// What each output is for these inputs, by rust-hdl's arithmetic.
    pub fn evaluate(&self, inputs: &[BigUint]) -> Vec<BigUint> {
        let mut env: Vec<Word> = self.sources.iter().map(|source| zero(source.width)).collect();
        for (word, value) in env.iter_mut().zip(inputs) {
            word.bits.clone_from(value);
        }
        self.steps.iter().for_each(|step| step.run(&mut env));
        let outputs = self.kinds.iter().zip(env).filter(|(kind, _)| **kind == AtomKind::OutputParameter);
        outputs.map(|(_, word)| word.bits).collect()
    }

    /// The lines of the text around an output, for the message.
    pub fn lines_about(&self, export: &Export, output: &str) -> String {
        let stem = output.split('_').next().unwrap_or(output);
        let about = |line: &&str| {
            line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .any(|word| word.split('_').next() == Some(stem))
        };
        export.verilog.lines().filter(about).collect::<Vec<_>>().join("\n")
    }
}

impl Logic for RandomKernel {
    fn update(&mut self) {}
    fn hdl(&self) -> Verilog {
        let statements = self.steps.iter().map(|step| step.statement(&self.sources)).collect();
        Verilog::Combinatorial(statements)
    }
}

impl Block for RandomKernel {
    fn connect_all(&mut self) {}
    fn update_all(&mut self) {}
    fn has_changed(&self) -> bool {
        false
    }
    fn accept(&self, name: &str, probe: &mut dyn Probe) {
        probe.visit_start_scope(name, self);
        let clock = RandomAtom { kind: AtomKind::InputParameter, width: 1, clock: true };
        probe.visit_atom("clock", &clock);
        for (source, kind) in self.sources.iter().zip(&self.kinds) {
            let atom = RandomAtom { kind: *kind, width: source.width, clock: false };
            probe.visit_atom(&source.name, &atom);
        }
        probe.visit_end_scope(name, self);
    }
}

#[test]
fn random_kernels_compute_the_same() {
    let mut rng = Rng::for_test("random_kernels_compute_the_same");
    with_big_stack(|| {
        let mut kernel = RandomKernel::new(&mut rng);
        let export = export(&mut kernel, "random").unwrap_or_else(|e| panic!("{e}"));
        // Random expressions contain `x ^ x` and the like, which Verilator folds
        // and then calls constant or unused. Widths must be right all the same.
        lint(&export, &["UNUSEDSIGNAL", "UNSIGNED", "CMPCONST"]).unwrap_or_else(|e| panic!("{e}"));
        let mut verilated = Verilated::with_lint(&export, Lint::ErrorsOnly);
        let widths = input_widths(&export);
        for clock in 0..CLOCKS {
            let inputs: Vec<BigUint> =
                widths.iter().map(|width| corner_or_random(&mut rng, *width)).collect();
            let expected = kernel.evaluate(&inputs);
            verilated.apply(&inputs);
            verilated.dut.settle();
            for ((name, port), expected) in verilated.outputs.iter().zip(expected) {
                assert_eq!(
                    expected,
                    verilated.read(*port),
                    "{name} in clock {clock} of\n{}\nwith {:?}",
                    kernel.lines_about(&export, name),
                    kernel.inputs().zip(&inputs).collect::<Vec<_>>()
                );
            }
        }
    });
}

#[test]
fn the_reference_is_rust_hdl() {
    // One line by hand, so that a mistake in the dispatch does not pass on
    // both sides.
    let sum = cast(&Word::new(BigUint::from(0x1ffu32), 9), 4);
    assert_eq!(sum, Word::new(BigUint::from(15u8), 4));
}
