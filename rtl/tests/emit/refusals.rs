//! Blocks that must not become Verilog, and what the message names.

use tessera_rtl::emit::{export, EmitError, Refusal};
use tessera_rtl::prelude::*;

fn refused<B: Block>(mut block: B) -> EmitError {
    match export(&mut block, "block") {
        Ok(export) => panic!("exported:\n{}", export.verilog),
        Err(error) => error,
    }
}

fn refusal<B: Block>(block: B, about: &str) -> Refusal {
    match refused(block) {
        EmitError::Expression { path, signal, refusal } => {
            assert_eq!((path.as_str(), signal.as_str()), ("block", about));
            refusal
        }
        other => panic!("{other}"),
    }
}

/// A block with inputs `a`, `b`, `n`, `f`, an output `y` and a local `t`.
macro_rules! block {
    ($name:ident, $out:ty) => {
        #[derive(LogicBlock, Default)]
        struct $name {
            pub a: Signal<In, Bits<8>>,
            pub b: Signal<In, Bits<8>>,
            pub n: Signal<In, Bits<3>>,
            pub f: Signal<In, Bit>,
            pub y: Signal<Out, $out>,
            t: Signal<Local, Bits<8>>,
        }
    };
}

block!(Latch, Bits<8>);
impl Logic for Latch {
    #[hdl_gen]
    fn update(&mut self) {
        self.t.next = self.a.val();
        if self.f.val() {
            self.y.next = self.t.val();
        }
    }
}

block!(LatchInArm, Bits<8>);
impl Logic for LatchInArm {
    #[hdl_gen]
    fn update(&mut self) {
        self.t.next = self.a.val();
        match self.n.val().index() {
            0 => self.y.next = self.t.val(),
            1 => {}
            _ => self.y.next = self.b.val(),
        }
    }
}

#[test]
fn a_signal_without_default_is_a_latch() {
    let latch = EmitError::Latch { path: "block".into(), signal: "y".into() };
    assert_eq!(refused(Latch::default()), latch);
    assert_eq!(refused(LatchInArm::default()), latch);
    assert!(latch.to_string().contains("default"), "{latch}");
}

block!(Stale, Bits<8>);
impl Logic for Stale {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = self.a.val();
        if self.f.val() {
            self.t.next = self.b.val();
        } else {
            self.y.next = self.t.val();
        }
        self.t.next = self.b.val();
    }
}

#[test]
fn a_stale_read_is_refused() {
    let stale = EmitError::ReadBeforeAssign { path: "block".into(), signal: "t".into() };
    assert_eq!(refused(Stale::default()), stale);
}

#[derive(LogicBlock, Default)]
struct FromOutside<const N: usize> {
    pub a: Signal<In, Bits<8>>,
    pub y: Signal<Out, Bits<8>>,
}
impl<const N: usize> Logic for FromOutside<N> {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = self.a.val();
        if self.a.val().get_bit(N) {
            self.y.next = 0.into();
        }
    }
}

#[test]
fn a_const_generic_is_no_signal() {
    let unknown = EmitError::UnknownName { path: "block".into(), name: "N".into() };
    assert_eq!(refused(FromOutside::<3>::default()), unknown);
}

block!(WideLiteral, Bit);
impl Logic for WideLiteral {
    #[hdl_gen]
    fn update(&mut self) {
        self.t.next = self.a.val();
        self.y.next = self.t.val() == 256;
    }
}

block!(SlicePastEnd, Bits<4>);
impl Logic for SlicePastEnd {
    #[hdl_gen]
    fn update(&mut self) {
        self.t.next = self.a.val();
        self.y.next = self.t.val().get_bits::<4>(6);
    }
}

block!(IndexSum, Bit);
impl Logic for IndexSum {
    #[hdl_gen]
    fn update(&mut self) {
        self.t.next = self.a.val();
        self.y.next = self.t.val().get_bit(self.n.val().index() + 1);
    }
}

#[derive(LogicBlock, Default)]
struct LostWidth {
    pub s: Signal<In, Signed<8>>,
    pub y: Signal<Out, Signed<12>>,
}
impl Logic for LostWidth {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = signed_bit_cast::<12, 8>(self.s.val());
    }
}

#[derive(Copy, Clone, Debug, Default, PartialEq, PartialOrd, LogicStruct)]
pub struct Pair {
    pub low: Bits<3>,
    pub high: Bits<3>,
}

#[derive(LogicBlock, Default)]
struct StructOrder {
    pub p: Signal<In, Pair>,
    pub q: Signal<In, Pair>,
    pub y: Signal<Out, Bit>,
}
impl Logic for StructOrder {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = self.p.val() < self.q.val();
    }
}

#[test]
fn expressions_without_faithful_verilog_are_refused() {
    assert_eq!(refusal(WideLiteral::default(), "y"), Refusal::LiteralTooWide { value: 256.into(), width: 8 });
    assert_eq!(refusal(SlicePastEnd::default(), "y"), Refusal::OutOfRange { lsb: 6, width: 4, of: 8 });
    for undecided in [
        refusal(IndexSum::default(), "y"),
        refusal(LostWidth::default(), "y"),
        refusal(StructOrder::default(), "y"),
    ] {
        assert!(matches!(undecided, Refusal::Meaning(_)), "{undecided}");
    }
}

#[derive(LogicBlock, Default)]
struct ReservedPort {
    pub byte: Signal<In, Bit>,
    pub y: Signal<Out, Bit>,
}
impl Logic for ReservedPort {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = self.byte.val();
    }
}

#[derive(LogicBlock, Default)]
struct ReservedInside {
    pub y: Signal<Out, Bit>,
    pub a: Signal<In, Bit>,
    queue: ReservedPort,
}
impl Logic for ReservedInside {
    #[hdl_gen]
    fn update(&mut self) {
        self.queue.byte.next = self.a.val();
        self.y.next = self.queue.y.val();
    }
}

#[derive(LogicBlock, Default)]
struct LoopClash {
    pub i: Signal<In, Bits<4>>,
    pub y: Signal<Out, Bits<4>>,
}
impl Logic for LoopClash {
    #[hdl_gen]
    fn update(&mut self) {
        self.y.next = 0.into();
        for i in 0..4 {
            self.y.next = self.y.val().replace_bit(i, self.i.val().get_bit(i));
        }
    }
}

#[test]
fn names_are_checked_at_every_level() {
    let name = |error| match error {
        EmitError::BadName { path, name, .. } => (path, name),
        other => panic!("{other}"),
    };
    let is = |path: &str, name: &str| (path.to_owned(), name.to_owned());
    assert_eq!(name(refused(ReservedPort::default())), is("block", "byte"));
    assert_eq!(name(refused(ReservedInside::default())), is("block.queue", "byte"));
    assert_eq!(name(refused(LoopClash::default())), is("block", "i"));
    assert_eq!(name(export(&mut Latch::default(), "module").unwrap_err()), is("module", "module"));
}

#[derive(LogicBlock, Default)]
struct Open {
    pub clock: Signal<In, Clock>,
    pub y: Signal<Out, Bit>,
    register: Dff<Bit>,
}
impl Logic for Open {
    #[hdl_gen]
    fn update(&mut self) {
        self.register.clock.next = self.clock.val();
        self.y.next = self.register.q.val();
    }
}

#[test]
fn an_open_input_is_named() {
    let error = refused(Open::default());
    assert!(matches!(error, EmitError::Check { .. }), "{error}");
    assert!(error.to_string().contains("register.d"), "{error}");
}

#[derive(LogicBlock, Default)]
struct Unsettled {
    pub clock: Signal<In, Clock>,
    pub f: Signal<In, Bit>,
    pub y: Signal<Out, Bit>,
    held: Dff<Bit>,
}
impl Logic for Unsettled {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held);
        self.y.next = self.f.val();
        if self.f.val() {
            self.y.next = self.held.d.val();
            self.held.d.next = false;
        }
    }
}

#[test]
fn an_unsettled_read_is_refused() {
    let unsettled = EmitError::UnsettledRead { path: "block".into(), signal: "held.d".into() };
    assert_eq!(refused(Unsettled::default()), unsettled);
}

/// A leaf whose text is given.
#[derive(LogicBlock)]
struct Leaf {
    pub a: Signal<In, Bit>,
    pub y: Signal<Out, Bit>,
    _text: &'static str,
}
impl Logic for Leaf {
    fn update(&mut self) {
        self.y.next = self.a.val();
    }
    fn connect(&mut self) {
        self.y.connect();
    }
    fn hdl(&self) -> Verilog {
        Verilog::Custom(self._text.to_owned())
    }
}

#[test]
fn custom_text_must_fit_its_ports() {
    let leaf = |text| Leaf { a: Default::default(), y: Default::default(), _text: text };
    assert!(export(&mut leaf("assign y = a;\n"), "leaf").is_ok());
    for text in ["assign y = 1'b0;", "input a; assign y = a;", "always @* begin y = a;"] {
        let error = refused(leaf(text));
        assert!(matches!(error, EmitError::Custom { .. }), "{text}: {error}");
    }
}

/// Icarus Verilog does not wrap there.
#[test]
fn no_index_is_computed() {
    let leaf = |text| Leaf { a: Default::default(), y: Default::default(), _text: text };
    let wires = "wire [1:0] w = {a, a};\nwire [1:0] next = w + 2'h1;\n";
    for text in
        ["assign y = w[next[0]];", "assign y = w[next[1:0] ^ 2'h1]; // w[a + 1]", "assign y = w[a +: 1];"]
    {
        let text: &str = Box::leak(format!("{wires}{text}\n").into_boxed_str());
        assert!(export(&mut leaf(text), "leaf").is_ok(), "{text}");
    }
    for text in ["assign y = w[a + 1'h1];", "assign y = w[w[1:0] - 2'h1];", "assign y = w[w[a * 1'h1]];"] {
        let text: &str = Box::leak(format!("{wires}{text}\n").into_boxed_str());
        let error = refused(leaf(text));
        assert!(matches!(&error, EmitError::Custom { why, .. } if why.contains("Icarus")), "{text}: {error}");
    }
}

/// Has an `update` but nothing to print.
#[derive(LogicBlock, Default)]
struct NoKernel {
    pub a: Signal<In, Bit>,
}
impl Logic for NoKernel {
    fn update(&mut self) {}
}

#[test]
fn a_block_without_kernel_is_refused() {
    let error = refused(NoKernel::default());
    assert!(matches!(error, EmitError::Unsupported { .. }), "{error}");
}
