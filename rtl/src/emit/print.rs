//! Verilog-2005 text of one module.

use super::catalogue;
use super::collect::Instance;
use super::design::{Design, Event, Role, Stmt};
use super::error::EmitError;
use super::expr::{mask, Expr, Kind, NetId, Op, ParamId};
use super::flow::{Driver, Plan};
use super::names::{snake_case, Names};
use num_bigint::BigUint;
use rust_hdl::prelude::AtomKind;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;

/// A port as the module text declares it.
pub(super) struct PortText {
    pub(super) name: String,
    pub(super) output: bool,
    pub(super) width: usize,
    pub(super) variable: bool,
    pub(super) doc: Option<String>,
}

/// Verilog names of an instance's ports, in order.
pub(super) fn port_names(instance: &Instance) -> Result<Vec<(String, String)>, EmitError> {
    let mut names = Names::default();
    let mut ports = Vec::new();
    for atom in instance.atoms.iter().filter(|atom| atom.kind.is_parameter()) {
        let name = atom.key.replace('$', "_");
        if !names.claim(&name) {
            return Err(EmitError::NameClash { path: instance.path.clone(), name });
        }
        ports.push((atom.key.clone(), name));
    }
    Ok(ports)
}

pub(super) fn range(width: usize) -> String {
    if width == 1 {
        String::new()
    } else {
        format!("[{}:0]", width - 1)
    }
}

/// `(` port list `);`, columns aligned.
pub(super) fn port_list(ports: &[PortText]) -> String {
    let widest = ports.iter().map(|port| range(port.width).len()).max().unwrap_or(0);
    let pad = if widest == 0 { 0 } else { widest + 1 };
    let mut out = String::from(" (\n");
    for (at, port) in ports.iter().enumerate() {
        for line in port.doc.iter().flat_map(|doc| doc.lines()) {
            let _ = writeln!(out, "  // {}", line.trim());
        }
        let kind = match (port.output, port.variable) {
            (false, _) => "input  wire",
            (true, false) => "output wire",
            (true, true) => "output reg ",
        };
        let comma = if at + 1 == ports.len() { "" } else { "," };
        let _ = writeln!(out, "  {kind} {:<pad$}{}{comma}", range(port.width), port.name);
    }
    out.push_str(");\n");
    out
}

fn constant(value: &BigUint, width: usize) -> String {
    if width < 4 {
        format!("{width}'d{value}")
    } else {
        format!("{width}'h{value:x}")
    }
}

pub(super) struct Printer<'d> {
    design: &'d Design,
    plan: &'d Plan,
    nets: Vec<String>,
    params: HashMap<ParamId, String>,
    instances: Vec<String>,
    names: Names,
}

impl<'d> Printer<'d> {
    pub(super) fn new(design: &'d Design, plan: &'d Plan, instance: &Instance) -> Result<Self, EmitError> {
        let mut names = Names::default();
        let ports: HashMap<String, String> = port_names(instance)?.into_iter().collect();
        for name in ports.values() {
            names.claim(name);
        }
        let instances: Vec<String> =
            instance.children.iter().map(|child| names.invent(&child.key.replace('$', "_"))).collect();
        let mut printer = Self { design, plan, nets: Vec::new(), params: HashMap::new(), instances, names };
        for net in &design.nets {
            let name = match net.role {
                Role::Input | Role::Output => ports[&net.key].clone(),
                Role::ChildInput(child) | Role::ChildOutput(child) => {
                    let port = &net.key[instance.children[child].key.len() + 1..];
                    let wanted = format!("{}_{}", printer.instances[child], port.replace('$', "_"));
                    printer.names.invent(&wanted)
                }
                _ => printer.names.invent(&net.key.replace('$', "_")),
            };
            printer.nets.push(name);
        }
        for (id, param) in design.params.iter().enumerate() {
            let wanted = match param.label_of {
                Some(_) => {
                    let words: Vec<String> = param.key.split('$').map(snake_case).collect();
                    words.join("_").to_uppercase()
                }
                None => param.key.replace('$', "_"),
            };
            let name = printer.names.invent(&wanted);
            printer.params.insert(id, name);
        }
        Ok(printer)
    }

    fn is_variable(&self, net: NetId) -> bool {
        self.variables().contains(&net)
    }

    /// Nets assigned in an `always` block.
    fn variables(&self) -> HashSet<NetId> {
        let mut nets = HashSet::new();
        for driver in &self.plan.drivers {
            if let Driver::Always(stmts) = driver {
                for stmt in stmts {
                    stmt.walk(&mut |event| {
                        if let Event::Write(net) = event {
                            nets.insert(net);
                        }
                    });
                }
            }
        }
        nets
    }

    pub(super) fn ports(
        &self,
        instance: &Instance,
        kind: Option<&str>,
        docs: &[(&str, &str)],
    ) -> Vec<PortText> {
        let atoms = instance.atoms.iter().filter(|atom| atom.kind.is_parameter());
        atoms
            .filter_map(|atom| {
                let net = self.design.net(&atom.key)?;
                let name = self.nets[net].clone();
                let doc = docs.iter().find(|(port, _)| *port == name).map(|(_, doc)| *doc);
                let doc = doc.or_else(|| catalogue::doc_of(kind, &atom.key));
                Some(PortText {
                    output: atom.kind == AtomKind::OutputParameter,
                    width: atom.width,
                    variable: self.is_variable(net),
                    doc: doc.map(str::to_owned),
                    name,
                })
            })
            .collect()
    }

    /// Everything between the port list and `endmodule`.
    pub(super) fn body(&mut self, instance: &Instance, modules: &[String]) -> String {
        let mut out = String::new();
        self.params_text(&mut out);
        let variables = self.variables();
        self.nets_text(&variables, &mut out);
        for driver in &self.plan.drivers {
            match driver {
                Driver::Assign { net, value } => {
                    let _ = writeln!(out, "  assign {} = {};", self.nets[*net], self.top(value));
                }
                Driver::Always(stmts) if stmts.iter().all(|s| matches!(s, Stmt::Comment(_))) => {
                    stmts.iter().for_each(|stmt| self.stmt(stmt, 1, &mut out));
                }
                Driver::Always(stmts) => {
                    out.push_str("\n  always @* begin\n");
                    stmts.iter().for_each(|stmt| self.stmt(stmt, 2, &mut out));
                    out.push_str("  end\n\n");
                }
            }
        }
        self.instances_text(instance, modules, &mut out);
        self.unused_text(&mut out);
        while out.contains("\n\n\n") {
            out = out.replace("\n\n\n", "\n\n");
        }
        out
    }

    fn params_text(&self, out: &mut String) {
        let mut used = BTreeSet::new();
        self.for_each_value(&mut |value| {
            value.for_each_param(&mut |param| {
                used.insert(param);
            });
        });
        for id in &used {
            let param = &self.design.params[*id];
            let range = range(param.width);
            let space = if range.is_empty() { "" } else { " " };
            let value = constant(&param.value, param.width);
            let _ = writeln!(out, "  localparam {range}{space}{} = {value};", self.params[id]);
        }
        if !used.is_empty() {
            out.push('\n');
        }
    }

    fn nets_text(&self, variables: &HashSet<NetId>, out: &mut String) {
        let before = out.len();
        let assigned: HashSet<NetId> = self.assigned();
        for (id, net) in self.design.nets.iter().enumerate() {
            let declared = match net.role {
                Role::Input | Role::Output => false,
                Role::ChildInput(_) | Role::ChildOutput(_) => !self.plan.direct.contains_key(&id),
                Role::Local => true,
                Role::Temporary => assigned.contains(&id),
            };
            if declared {
                let kind = if variables.contains(&id) { "reg " } else { "wire" };
                let range = range(net.width);
                let space = if range.is_empty() { "" } else { " " };
                let _ = writeln!(out, "  {kind} {range}{space}{};", self.nets[id]);
            }
        }
        if out.len() > before {
            out.push('\n');
        }
    }

    fn assigned(&self) -> HashSet<NetId> {
        let mut nets = self.variables();
        nets.extend(self.plan.drivers.iter().filter_map(|driver| match driver {
            Driver::Assign { net, .. } => Some(*net),
            Driver::Always(_) => None,
        }));
        nets
    }

    fn instances_text(&self, instance: &Instance, modules: &[String], out: &mut String) {
        for (at, child) in instance.children.iter().enumerate() {
            let _ = write!(out, "\n  {} {} (", modules[at], self.instances[at]);
            let mut comma = "";
            for atom in child.atoms.iter().filter(|atom| atom.kind.is_parameter()) {
                let Some(net) = self.design.net(&format!("{}${}", child.key, atom.key)) else {
                    continue;
                };
                let port = atom.key.replace('$', "_");
                let _ = write!(out, "{comma}\n    .{port}({})", self.net_text(net));
                comma = ",";
            }
            out.push_str("\n  );\n");
        }
    }

    fn for_each_value(&self, visit: &mut dyn FnMut(&Expr)) {
        for driver in &self.plan.drivers {
            match driver {
                Driver::Assign { value, .. } => visit(value),
                Driver::Always(stmts) => {
                    for stmt in stmts {
                        stmt.walk(&mut |event| {
                            if let Event::Read(value) = event {
                                visit(value);
                            }
                        });
                    }
                }
            }
        }
        // A direct connection of an instance output drives the port it names.
        for (net, value) in &self.plan.direct {
            if matches!(self.design.nets[*net].role, Role::ChildInput(_)) {
                visit(value);
            }
        }
    }

    /// Names every bit that nothing reads, for the sake of lint: the warning
    /// stays on for everything else.
    fn unused_text(&mut self, out: &mut String) {
        let mut read: HashMap<NetId, BigUint> = HashMap::new();
        self.for_each_value(&mut |value| {
            value.for_each_read(&mut |net, lsb, width| {
                let of = self.design.nets[net].width;
                let bits = if width == usize::MAX { mask(of) } else { mask(width) << lsb };
                *read.entry(net).or_default() |= bits;
            });
        });
        let assigned = self.assigned();
        let mut unread = Vec::new();
        for (id, net) in self.design.nets.iter().enumerate() {
            let wants_reader = match net.role {
                Role::Input | Role::Local => true,
                Role::ChildOutput(_) => !self.plan.direct.contains_key(&id),
                Role::Temporary => assigned.contains(&id),
                Role::Output | Role::ChildInput(_) => false,
            };
            if !wants_reader {
                continue;
            }
            let have = read.get(&id).cloned().unwrap_or_default();
            let mut bit = 0;
            while bit < net.width {
                let start = bit;
                while bit < net.width && !have.bit(bit as u64) {
                    bit += 1;
                }
                if bit > start {
                    unread.push(self.top(&Expr::net(id, start, bit - start)));
                }
                bit += 1;
            }
        }
        if !unread.is_empty() {
            let name = self.names.invent("unused");
            out.push_str("\n  // Bits that nothing reads.\n");
            let _ = writeln!(out, "  wire {name} = &{{1'b0, {}}};", unread.join(", "));
        }
    }

    fn stmt(&self, stmt: &Stmt, depth: usize, out: &mut String) {
        let pad = "  ".repeat(depth);
        match stmt {
            Stmt::Assign { net, lsb, value } => {
                let target = self.top(&Expr::net(*net, *lsb, value.width));
                let _ = writeln!(out, "{pad}{target} = {};", self.top(value));
            }
            Stmt::Comment(text) => {
                let _ = writeln!(out, "{pad}// {text}");
            }
            Stmt::If { test, then, otherwise } => {
                let _ = writeln!(out, "{pad}if ({}) begin", self.top(test));
                then.iter().for_each(|stmt| self.stmt(stmt, depth + 1, out));
                let mut rest = otherwise;
                while let [Stmt::If { test, then, otherwise }] = rest.as_slice() {
                    let _ = writeln!(out, "{pad}end else if ({}) begin", self.top(test));
                    then.iter().for_each(|stmt| self.stmt(stmt, depth + 1, out));
                    rest = otherwise;
                }
                if !rest.is_empty() {
                    let _ = writeln!(out, "{pad}end else begin");
                    rest.iter().for_each(|stmt| self.stmt(stmt, depth + 1, out));
                }
                let _ = writeln!(out, "{pad}end");
            }
            Stmt::Case { test, arms, default, note } => {
                let _ = writeln!(out, "{pad}case ({})", self.top(test));
                for (label, body) in arms {
                    let _ = writeln!(out, "{pad}  {}: begin", self.top(label));
                    body.iter().for_each(|stmt| self.stmt(stmt, depth + 2, out));
                    let _ = writeln!(out, "{pad}  end");
                }
                let note = note.as_ref().map_or(String::new(), |note| format!(" // {note}"));
                let _ = writeln!(out, "{pad}  default: begin{note}");
                default.iter().for_each(|stmt| self.stmt(stmt, depth + 2, out));
                let _ = writeln!(out, "{pad}  end\n{pad}endcase");
            }
        }
    }

    fn net_text(&self, net: NetId) -> String {
        match self.plan.direct.get(&net) {
            Some(value) => self.top(value),
            None => self.nets[net].clone(),
        }
    }

    /// An expression where nothing around it can bind tighter.
    fn top(&self, expr: &Expr) -> String {
        let text = self.expr(expr);
        let whole = matches!(expr.kind, Kind::Binary(..) | Kind::Neg(_) | Kind::Reduce(..));
        match text.strip_prefix('(').and_then(|text| text.strip_suffix(')')) {
            Some(inner) if whole => inner.to_owned(),
            _ => text,
        }
    }

    fn expr(&self, expr: &Expr) -> String {
        match &expr.kind {
            Kind::Const(value) => constant(value, expr.width),
            Kind::Param(id) => self.params[id].clone(),
            Kind::Net { net, lsb } => {
                let name = self.net_text(*net);
                match expr.width {
                    width if width == self.design.nets[*net].width => name,
                    1 => format!("{name}[{lsb}]"),
                    width => format!("{name}[{}:{lsb}]", lsb + width - 1),
                }
            }
            Kind::Select { net, index } => {
                let (name, index) = (self.net_text(*net), self.top(index));
                match expr.width {
                    1 => format!("{name}[{index}]"),
                    width => format!("{name}[{index} +: {width}]"),
                }
            }
            Kind::Concat(parts) => {
                let parts: Vec<String> = parts.iter().map(|part| self.top(part)).collect();
                format!("{{{}}}", parts.join(", "))
            }
            Kind::Repeat(bit) => format!("{{{}{{{}}}}}", expr.width, self.top(bit)),
            Kind::Not(operand) => format!("~{}", self.expr(operand)),
            Kind::Neg(operand) => format!("(-{})", self.expr(operand)),
            // `^~x` would be one operator, with another meaning than `^(~x)`.
            Kind::Reduce(symbol, operand) if matches!(operand.kind, Kind::Not(_)) => {
                format!("({symbol}({}))", self.expr(operand))
            }
            Kind::Reduce(symbol, operand) => format!("({symbol}{})", self.expr(operand)),
            Kind::Binary(op @ (Op::Shl | Op::Shr), l, r) => {
                format!("({} {} {})", self.expr(l), symbol(*op), self.amount(r))
            }
            Kind::Binary(op, l, r) => {
                let (l, r) = (self.operand(*op, l), self.operand(*op, r));
                format!("({l} {} {r})", symbol(*op))
            }
        }
    }

    /// A shift amount; a known one is a plain number, wide enough for any sum
    /// a tool may make of it.
    fn amount(&self, amount: &Expr) -> String {
        amount.as_const().map_or_else(|| self.expr(amount), ToString::to_string)
    }

    fn operand(&self, op: Op, operand: &Expr) -> String {
        match op {
            Op::SignedLt | Op::SignedLe | Op::SignedGt | Op::SignedGe => {
                format!("$signed({})", self.top(operand))
            }
            _ => self.expr(operand),
        }
    }
}

fn symbol(op: Op) -> &'static str {
    match op {
        Op::Add => "+",
        Op::Sub => "-",
        Op::Mul => "*",
        Op::And => "&",
        Op::Or => "|",
        Op::Xor => "^",
        Op::LogicalAnd => "&&",
        Op::LogicalOr => "||",
        Op::Shl => "<<",
        Op::Shr => ">>",
        Op::Eq => "==",
        Op::Ne => "!=",
        Op::Lt | Op::SignedLt => "<",
        Op::Le | Op::SignedLe => "<=",
        Op::Gt | Op::SignedGt => ">",
        Op::Ge | Op::SignedGe => ">=",
    }
}
