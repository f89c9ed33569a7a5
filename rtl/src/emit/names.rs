//! Names: what Verilog forbids, how kernels spell things, index arithmetic.

use num_bigint::BigInt;
use std::collections::HashSet;
use std::sync::LazyLock;

/// Words of Verilog-2005 and SystemVerilog-2017, plus what common tools add.
const RESERVED: &str = "
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic
before begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle
checker class clocking cmos config const constraint context continue cover covergroup coverpoint
cross deassign default defparam design disable dist do edge else end endcase endchecker endclass
endclocking endconfig endfunction endgenerate endgroup endinterface endmodule endpackage
endprimitive endprogram endproperty endspecify endsequence endtable endtask enum event eventually
expect export extends extern final first_match for force foreach forever fork forkjoin function
generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies
import incdir include initial inout input inside instance int integer interconnect interface
intersect join join_any join_none large let liblist library local localparam logic longint
macromodule matches medium modport module nand negedge nettype new nexttime nmos nor
noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive
priority program property protected pull0 pull1 pulldown pullup pulsestyle_ondetect
pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime ref reg reject_on
release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually
s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled signed small
soft solve specify specparam static string strong strong0 strong1 struct super supply0 supply1
sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit tran
tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until
until_with untyped use uwire var vectored virtual void wait wait_order wand weak weak0 weak1 while
wildcard wire with within wor xnor xor";

/// Words that Verilator warns about because its C++ cannot use them.
const AWKWARD: &str = "
abort alignas alignof and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bit_vector
bitand bitor bool catch cdecl char char16_t char32_t compl complex concept const_cast
const_iterator constexpr decltype delete deque double dynamic_cast explicit false far float friend
goto huge inline interrupt iterator list long map mutable namespace near noexcept not_eq nullptr
operator or_eq override pascal private public queue reference register reinterpret_cast requires
sc_clock sc_in sc_inout sc_out sc_signal sensitive sensitive_neg sensitive_pos set short sizeof
stack static_assert static_cast std switch synchronized template thread_local throw
transaction_safe transaction_safe_dynamic true try type_info typeid typename uint16_t uint32_t
uint64_t uint8_t using vector volatile wchar_t xor_eq";

/// Why `name` must not become a Verilog identifier, if it must not.
pub(super) fn objection(name: &str) -> Option<&'static str> {
    // Asked of every name of a design.
    static WORDS: LazyLock<[HashSet<&str>; 2]> =
        LazyLock::new(|| [RESERVED, AWKWARD].map(|words| words.split_whitespace().collect()));
    let [reserved, awkward] = &*WORDS;
    if reserved.contains(name) {
        return Some("it is a reserved word of Verilog or SystemVerilog");
    }
    if awkward.contains(name) {
        return Some("it is a word of C++, about which Verilator warns");
    }
    if name == "next" || name == "val" {
        return Some("rust-hdl uses it for every signal");
    }
    // rust-hdl deletes the text `self.` wherever it finds it, also at the end
    // of a longer name.
    if name.ends_with("self") {
        return Some("rust-hdl cuts `self` off the end of a name");
    }
    let legal = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (!legal).then_some("only ASCII letters, digits and underscores make a portable name")
}

/// Hands out identifiers of one module, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// Takes `name` exactly; false when it is gone.
    pub(super) fn claim(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// Takes `name`, or `name_2`, `name_3`, .. when it is gone or reserved.
    pub(super) fn invent(&mut self, name: &str) -> String {
        let mut candidate = name.to_owned();
        let mut number = 2;
        while objection(&candidate).is_some() || !self.claim(&candidate) {
            candidate = format!("{name}_{number}");
            number += 1;
        }
        candidate
    }
}

/// `TimerWheel` becomes `timer_wheel`, `RAMPort` `ram_port`.
pub(super) fn snake_case(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (i, &c) in chars.iter().enumerate() {
        let previous = i.checked_sub(1).map(|p| chars[p]);
        let starts_word = c.is_ascii_uppercase()
            && previous.is_some_and(|p| {
                p.is_ascii_lowercase()
                    || p.is_ascii_digit()
                    || (p.is_ascii_uppercase() && chars.get(i + 1).is_some_and(char::is_ascii_lowercase))
            });
        if starts_word {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// A Rust integer literal as it stands in a pattern: `3`, `0x1F`, `1_000u32`.
pub(super) fn parse_integer(text: &str) -> Option<BigInt> {
    let text = text.replace([' ', '_'], "");
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.as_str()),
    };
    let (radix, digits) = match text.get(..2) {
        Some("0x") => (16, &text[2..]),
        Some("0b") => (2, &text[2..]),
        Some("0o") => (8, &text[2..]),
        _ => (10, text),
    };
    let end = digits.find(['u', 'i']).unwrap_or(digits.len());
    let value = BigInt::parse_bytes(&digits.as_bytes()[..end], radix)?;
    Some(if negative { -value } else { value })
}

/// Evaluates the text between the brackets of `a[i + 1]` with the loop
/// variables in scope; rust-hdl hands indices over as text.
pub(super) fn evaluate_index(text: &str, loops: &[(String, usize)]) -> Option<usize> {
    let mut parser = IndexParser { rest: text, loops };
    let value = parser.sum()?;
    parser.rest.trim().is_empty().then_some(())?;
    usize::try_from(value).ok()
}

struct IndexParser<'a> {
    rest: &'a str,
    loops: &'a [(String, usize)],
}

impl IndexParser<'_> {
    fn eat(&mut self, symbol: char) -> bool {
        match self.rest.trim_start().strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        loop {
            if self.eat('+') {
                value = value.checked_add(self.product()?)?;
            } else if self.eat('-') {
                value = value.checked_sub(self.product()?).filter(|v| *v >= 0)?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.atom()?;
        loop {
            if self.eat('*') {
                value = value.checked_mul(self.atom()?)?;
            } else if self.eat('/') {
                value = value.checked_div(self.atom()?)?;
            } else if self.eat('%') {
                value = value.checked_rem(self.atom()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn atom(&mut self) -> Option<i64> {
        if self.eat('(') {
            let value = self.sum()?;
            return self.eat(')').then_some(value);
        }
        let text = self.rest.trim_start();
        let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.rest = rest;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return i64::try_from(parse_integer(word)?).ok();
        }
        let (_, value) = self.loops.iter().rev().find(|(name, _)| name == word)?;
        i64::try_from(*value).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_arithmetic_follows_rust_precedence() {
        let loops = [("i".to_owned(), 3), ("j".to_owned(), 2), ("i".to_owned(), 5)];
        let value = |text| evaluate_index(text, &loops);
        assert_eq!(value("i"), Some(5), "the inner loop shadows the outer one");
        assert_eq!(value("i+1"), Some(6));
        assert_eq!(value("2*i+j"), Some(12));
        assert_eq!(value("2*(i+j)-0x1"), Some(13));
        assert_eq!(value("i-j-1"), Some(2));
        assert_eq!(value("i%j"), Some(1));
        assert_eq!(value("j-i"), None, "usize does not go below zero");
        assert_eq!(value("N-1"), None);
        assert_eq!(value("i$val()"), None);
    }

    #[test]
    fn words_are_split_where_a_reader_would() {
        assert_eq!(snake_case("TimerWheel"), "timer_wheel");
        assert_eq!(snake_case("RAMPort"), "ram_port");
        assert_eq!(snake_case("Crc32"), "crc32");
        assert_eq!(snake_case("Axi4Lite"), "axi4_lite");
    }

    #[test]
    fn names_that_break_tools_or_the_front_end_are_refused() {
        for name in ["byte", "begin", "logic", "reg", "queue", "itself", "next", "größe", "a$b", "2x"] {
            assert!(objection(name).is_some(), "{name}");
        }
        assert_eq!(objection("s_axis_tdata"), None);
    }
}
