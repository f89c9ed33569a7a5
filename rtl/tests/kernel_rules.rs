//! Kernels keep to the language that survives translation.
//!
//! `#[hdl_gen]` drops or misreads some Rust without a word: a match guard is
//! gone before the exporter sees the tree. This test reads the sources
//! instead. `docs/kernel-rules.md` gives the reasons.

use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, Pat, RangeLimits};

/// Functions whose calls `#[hdl_gen]` translates as what they are. It decides
/// by the beginning of the name, so `bits_of(..)` would pass as a cast.
const CALLS: [&str; 4] = ["bit_cast", "bits", "signed_cast", "unsigned_cast"];

/// Methods that come out as what they are; a name outside this list is refused
/// by the macro or misread by it.
const METHODS: [&str; 11] = [
    "val",
    "into",
    "index",
    "to_bits",
    "get_bit",
    "get_bits",
    "replace_bit",
    "all",
    "any",
    "xor",
    "to_signed_bits",
];

/// Macros with a meaning, or with none in either world.
const MACROS: [&str; 5] = ["dff_setup", "clock", "comment", "println", "assert"];

struct Rules {
    violations: Vec<(usize, String)>,
    /// Loop variables in scope, while inside a kernel.
    kernel: Option<Vec<String>>,
    /// The next `.index()` stands where the index is all there is.
    index_expected: bool,
}

/// Line and rule of everything that does not survive translation.
fn violations(source: &str) -> Vec<(usize, String)> {
    let file = syn::parse_file(source).expect("the source parses");
    let mut rules = Rules { violations: Vec::new(), kernel: None, index_expected: false };
    rules.visit_file(&file);
    rules.violations
}

impl Rules {
    fn refuse(&mut self, at: impl Spanned, why: impl Into<String>) {
        self.violations.push((at.span().start().line, why.into()));
    }

    fn visit_index_position(&mut self, expr: &Expr) {
        match expr {
            Expr::Paren(paren) => self.visit_index_position(&paren.expr),
            _ => {
                self.index_expected = true;
                self.visit_expr(expr);
                self.index_expected = false;
            }
        }
    }
}

impl<'ast> Visit<'ast> for Rules {
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if self.kernel.is_some() && !attribute.path().is_ident("doc") {
            self.refuse(attribute, "an attribute inside a kernel is ignored by #[hdl_gen]");
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !function.attrs.iter().any(|attribute| attribute.path().is_ident("hdl_gen")) {
            return visit::visit_impl_item_fn(self, function);
        }
        if function.sig.ident != "update" {
            self.refuse(&function.sig, "#[hdl_gen] belongs on `update` and nowhere else");
        }
        self.kernel = Some(Vec::new());
        self.visit_block(&function.block);
        self.kernel = None;
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        let name = invocation.path.segments.last().map(|s| s.ident.to_string());
        let known = name.is_some_and(|name| MACROS.contains(&name.as_str()));
        if self.kernel.is_some() && !known {
            self.refuse(invocation, "a macro the translation does not know");
        }
        let hidden = |tokens: &str| tokens.contains("hdl_gen");
        if self.kernel.is_none() && hidden(&invocation.tokens.to_string()) {
            self.refuse(invocation, "a kernel inside a macro escapes the kernel rules");
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if self.kernel.is_some() {
            if let Some((guard, _)) = &arm.guard {
                self.refuse(guard, "match guards are dropped; use `if` inside the arm");
            }
            let plain = match &arm.pat {
                Pat::Lit(_) | Pat::Wild(_) => true,
                Pat::Path(path) => path.path.segments.len() >= 2,
                _ => false,
            };
            if !plain {
                self.refuse(&arm.pat, "patterns are `Enum::Label`, an integer, a bool or `_`");
            }
        }
        for attribute in &arm.attrs {
            self.visit_attribute(attribute);
        }
        self.visit_expr(&arm.body);
    }

    fn visit_expr_match(&mut self, choice: &'ast syn::ExprMatch) {
        if self.kernel.is_none() {
            return visit::visit_expr_match(self, choice);
        }
        self.visit_index_position(&choice.expr);
        let wild = choice.arms.iter().position(|arm| matches!(arm.pat, Pat::Wild(_)));
        if wild.is_some_and(|at| at + 1 != choice.arms.len()) {
            self.refuse(choice, "`_` must be the last arm");
        }
        choice.arms.iter().for_each(|arm| self.visit_arm(arm));
    }

    fn visit_expr_for_loop(&mut self, repeat: &'ast syn::ExprForLoop) {
        if self.kernel.is_none() {
            return visit::visit_expr_for_loop(self, repeat);
        }
        if let Expr::Range(range) = &*repeat.expr {
            if matches!(range.limits, RangeLimits::Closed(_)) {
                self.refuse(range, "`..=` loses its last turn; write `..`");
            }
        }
        let name = match &*repeat.pat {
            Pat::Ident(ident) => ident.ident.to_string(),
            _ => String::new(),
        };
        if let Some(loops) = &mut self.kernel {
            loops.push(name);
        }
        self.visit_block(&repeat.body);
        if let Some(loops) = &mut self.kernel {
            loops.pop();
        }
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let compares = matches!(
            binary.op,
            BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_)
        );
        if self.kernel.is_some() && compares {
            self.visit_index_position(&binary.left);
            self.visit_index_position(&binary.right);
        } else {
            self.index_expected = false;
            visit::visit_expr_binary(self, binary);
        }
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        self.index_expected = false;
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if self.kernel.is_none() {
            return visit::visit_expr_method_call(self, call);
        }
        let name = call.method.to_string();
        if !METHODS.contains(&name.as_str()) {
            self.refuse(&call.method, format!("`{name}` is not a method kernels can use"));
        }
        if name == "index" && !self.index_expected {
            self.refuse(
                &call.method,
                "after `.index()` Rust counts in 64 bits, Verilog in the signal's: only as a \
                 whole argument of get_bit, get_bits, replace_bit, a match or a comparison",
            );
        }
        self.index_expected = false;
        self.visit_expr(&call.receiver);
        let positional = ["get_bit", "get_bits", "replace_bit"].contains(&name.as_str());
        for (at, argument) in call.args.iter().enumerate() {
            if positional && at == 0 {
                self.visit_index_position(argument);
            } else {
                self.visit_expr(argument);
            }
        }
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if self.kernel.is_none() {
            return visit::visit_expr_call(self, call);
        }
        let Expr::Path(function) = &*call.func else {
            return self.refuse(call, "a call through an expression");
        };
        let names: Vec<String> = function.path.segments.iter().map(|s| s.ident.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let known = match names[..] {
            [name] => CALLS.contains(&name),
            ["Bits", "from"] => true,
            [.., "join" | "link"] => true,
            _ => false,
        };
        if !known {
            let name = names.join("::");
            let why = match names[..] {
                ["signed_bit_cast"] => "loses its width; extend the bits by hand".to_owned(),
                _ => "is not translated as what it is".to_owned(),
            };
            self.refuse(call, format!("`{name}` {why}"));
        }
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        if let (Some(loops), Some(name)) = (&self.kernel, path.path.get_ident()) {
            let name = name.to_string();
            if name != "self" && !loops.contains(&name) {
                self.refuse(path, format!("`{name}` comes out as a signal name; make it a `Constant` field"));
            }
        }
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn kernels_of_this_crate_keep_the_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    files.sort();
    let mut report = String::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a readable source");
        let shown = file.strip_prefix(root).unwrap_or(file).display();
        for (line, why) in violations(&text) {
            report.push_str(&format!("rtl/{shown}:{line}: {why}\n"));
        }
    }
    assert!(report.is_empty(), "\n{report}");
    assert!(files.len() > 3, "the sources are not where they were");
}

/// Wraps statements into a block the way a source file has them; the first
/// statement is on line 3.
fn kernel(statements: &str) -> String {
    format!("impl Logic for Block {{\n#[hdl_gen] fn update(&mut self) {{\n{statements}\n}} }}")
}

#[test]
fn what_gets_lost_is_found() {
    for bad in [
        "match self.s.q.val() { S::A if self.c.val() => {} _ => {} }",
        "match self.n.val().index() { n => {} }",
        "match self.n.val().index() { 1 | 2 => {} _ => {} }",
        "match self.s.q.val() { _ => {} S::A => {} }",
        "for i in 0..=3 { self.a[i].next = self.b.val(); }",
        "self.y.next = bits_of(self.a.val());",
        "self.y.next = signed_bit_cast::<9, 8>(self.a.val());",
        "self.y.next = Bitset::make(self.a.val());",
        "self.y.next = self.a.val().get_value_tag();",
        "self.y.next.set_bit(3, true);",
        "self.y.next = self.a.val() + WIDTH;",
        "self.y.next = self.a.val().get_bit(self.n.val().index() + 1);",
        "self.y.next = (self.n.val().index() + 1) == self.m.val().index();",
        "if !self.n.val().index() == 3 { }",
        "#[cfg(feature = \"x\")] { self.y.next = true; }",
        "match self.f.val() { #[cfg(test)] true => {} _ => {} }",
        "my_macro!(self, y);",
    ] {
        let found = violations(&kernel(bad));
        assert!(found.iter().any(|(line, _)| *line == 3), "{bad}: {found:?}");
    }
}

#[test]
fn what_survives_is_left_alone() {
    for good in [
        "dff_setup!(self, clock, a, b);",
        "for i in 0..N { self.a[i + 1].next = self.b.val().get_bit(2 * i); }",
        "match self.n.val().index() { 0 => self.y.next = true, _ => {} }",
        "match self.s.q.val() { module::S::A => {} S::B => {} }",
        "self.y.next = self.a.val().get_bits::<3>(self.n.val().index()) == bits::<3>(2);",
        "if self.n.val().index() == 3 { self.y.next = Bits::<3>::from(1); }",
        "self.y.next = unsigned_cast(-signed_cast(bit_cast::<4, 3>(self.a.val())));",
        "Stream::join(&mut self.a, &mut self.b.c);",
    ] {
        assert_eq!(violations(&kernel(good)), [], "{good}");
    }
    assert_eq!(violations("fn f() { match 3 { n if n > 2 => {} _ => {} } }"), [], "no kernel");
    assert_eq!(violations("m! { #[hdl_gen] fn update() {} }").len(), 1, "a kernel in a macro");
}
