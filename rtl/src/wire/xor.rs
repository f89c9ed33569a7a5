//! Products with a matrix over GF(2), and how they are put into tables of six inputs.
//!
//! Verilog's `^` over a word is mapped as a tree of pairs, of which a table takes four inputs and no more: five tables
//! for sixteen inputs where three do. So each product is written as the tables it is to become:
//!
//! ```text
//!  rows in groups of g:  inputs by which rows of a group have them ─> a sum each, 2^g - 1 ─> the rows are sums of sums
//! ```
//!
//! What several rows of a group have in common is there once. The group is as large as makes fewest tables.
//!
//! Each cell carries its behaviour twice, as Rust `update` and as Verilog text; `testbenches/tests/wire_cells.rs`
//! compares the two.

use rust_hdl::prelude::*;

/// A matrix over GF(2): bit `i` of the product is the XOR of the input bits
/// listed in row `i`.
pub type Rows = Vec<Vec<usize>>;

/// Inputs of a table.
const INPUTS: usize = 6;

/// Rows that are put together, at most.
const MOST: usize = 5;

/// Sums of signals, of at most six each: signals `0 .. width` are inputs, each sum is the next.
#[derive(Clone, Debug, PartialEq)]
struct Sums {
    width: usize,
    sums: Rows,
    /// Of each row, what is left to be added up: at most six.
    outputs: Rows,
}

impl Sums {
    /// Of the same rows, the one with fewest tables.
    fn of(rows: &Rows, width: usize) -> Self {
        let mut best = Self::in_groups(rows, width, 1);
        for size in 2..=MOST {
            let other = Self::in_groups(rows, width, size);
            if other.tables() < best.tables() {
                best = other;
            }
        }
        best
    }

    fn in_groups(rows: &Rows, width: usize, size: usize) -> Self {
        let mut all = Self { width, sums: Rows::new(), outputs: Rows::new() };
        for group in rows.chunks(size) {
            let (inputs, sums) = shared(group, width);
            let parts: Vec<usize> = inputs.into_iter().map(|inputs| all.sum(inputs)).collect();
            for row in sums {
                let left = all.reduce(row.into_iter().map(|at| parts[at]).collect());
                all.outputs.push(left);
            }
        }
        all
    }

    /// Adds signals up until six are left.
    fn reduce(&mut self, signals: Vec<usize>) -> Vec<usize> {
        let mut signals = std::collections::VecDeque::from(signals);
        while signals.len() > INPUTS {
            // The sum comes last, so that all are as deep.
            signals.push_back(self.width + self.sums.len());
            self.sums.push(signals.drain(..INPUTS).collect());
        }
        signals.into()
    }

    /// All of them as one signal.
    fn sum(&mut self, signals: Vec<usize>) -> usize {
        let left = self.reduce(signals);
        match left[..] {
            [one] => one,
            _ => {
                self.sums.push(left);
                self.width + self.sums.len() - 1
            }
        }
    }

    fn tables(&self) -> usize {
        self.sums.len() + self.outputs.iter().filter(|row| row.len() > 1).count()
    }

    /// Wires for the sums, and the product as an expression.
    fn text(&self) -> (String, String) {
        let signal = |at: &usize| match at.checked_sub(self.width) {
            Some(sum) => format!("t{sum}"),
            None => format!("d[{at}]"),
        };
        let sum = |row: &Vec<usize>| match row.is_empty() {
            true => "1'b0".to_owned(),
            false => row.iter().map(signal).collect::<Vec<_>>().join(" ^ "),
        };
        let wires = self.sums.iter().enumerate().map(|(at, row)| format!("wire t{at} = {};\n", sum(row)));
        let outputs: Vec<String> = self.outputs.iter().rev().map(sum).collect();
        (wires.collect(), format!("{{{}}}", outputs.join(",\n  ")))
    }
}

/// Splits a product in two: what the inputs of the same rows come to, and each row as a sum of these.
fn shared(rows: &[Vec<usize>], width: usize) -> (Rows, Rows) {
    let mut inputs: Rows = vec![Vec::new(); 1 << rows.len()];
    let mut members = vec![0; width];
    for (at, row) in rows.iter().enumerate() {
        for &input in row {
            members[input] ^= 1 << at;
        }
    }
    for (input, &rows) in members.iter().enumerate().filter(|(_, rows)| **rows != 0) {
        inputs[rows].push(input);
    }
    let present: Vec<usize> = (1..inputs.len()).filter(|rows| !inputs[*rows].is_empty()).collect();
    let of = |row: usize| (0..present.len()).filter(|at| present[*at] >> row & 1 == 1).collect();
    let sums = (0..rows.len()).map(of).collect();
    (present.iter().map(|rows| std::mem::take(&mut inputs[*rows])).collect(), sums)
}

/// The same product as two, `sums` of `parts`, for a register in between: with groups of so many rows.
pub fn in_two_steps(rows: &Rows, width: usize, groups: &[usize]) -> (Rows, Rows) {
    let (mut parts, mut sums) = (Rows::new(), Rows::new());
    let mut rows = rows.as_slice();
    for &size in groups {
        let (group, rest) = rows.split_at(size);
        let (inputs, of) = shared(group, width);
        sums.extend(of.into_iter().map(|row| row.into_iter().map(|at| at + parts.len()).collect::<Vec<_>>()));
        parts.extend(inputs);
        rows = rest;
    }
    assert!(rows.is_empty(), "{} rows are in no group", rows.len());
    (parts, sums)
}

fn product<const N: usize, const M: usize>(rows: &Rows, d: Bits<N>) -> Bits<M> {
    let mut q = Bits::<M>::default();
    for (at, row) in rows.iter().enumerate() {
        q = q.replace_bit(at, row.iter().filter(|bit| d.get_bit(**bit)).count() % 2 == 1);
    }
    q
}

/// A matrix product, combinational.
#[derive(Clone, Debug, LogicBlock)]
pub struct XorMatrix<const N: usize, const M: usize> {
    pub d: Signal<In, Bits<N>>,
    pub q: Signal<Out, Bits<M>>,
    _rows: Rows,
}

impl<const N: usize, const M: usize> XorMatrix<N, M> {
    /// The product with `rows`, one per output bit.
    pub fn new(rows: Rows) -> Self {
        assert_eq!(rows.len(), M, "one row per output bit");
        Self { d: Default::default(), q: Default::default(), _rows: rows }
    }
}

impl<const N: usize, const M: usize> Logic for XorMatrix<N, M> {
    fn update(&mut self) {
        self.q.next = product(&self._rows, self.d.val());
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        let (wires, product) = Sums::of(&self._rows, N).text();
        Verilog::Custom(format!("{wires}assign q = {product};\n"))
    }
}

/// A matrix product in a register that moves while `enable` is high; idle
/// clocks cost neither power nor simulation time.
#[derive(Clone, Debug, LogicBlock)]
pub struct XorRegister<const N: usize, const M: usize> {
    pub clock: Signal<In, Clock>,
    pub enable: Signal<In, Bit>,
    pub d: Signal<In, Bits<N>>,
    pub q: Signal<Out, Bits<M>>,
    _rows: Rows,
}

impl<const N: usize, const M: usize> XorRegister<N, M> {
    /// The registered product with `rows`, one per output bit.
    pub fn new(rows: Rows) -> Self {
        assert_eq!(rows.len(), M, "one row per output bit");
        Self {
            clock: Default::default(),
            enable: Default::default(),
            d: Default::default(),
            q: Default::default(),
            _rows: rows,
        }
    }
}

impl<const N: usize, const M: usize> Logic for XorRegister<N, M> {
    fn update(&mut self) {
        if self.clock.pos_edge() && self.enable.val() {
            self.q.next = product(&self._rows, self.d.val());
        }
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        let (wires, product) = Sums::of(&self._rows, N).text();
        Verilog::Custom(format!(
            "{wires}initial q = {M}'h0;\nalways @(posedge clock) if (enable) q <= {product};\n"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a matrix that looks random, of `width` inputs.
    fn rows(count: usize, width: usize) -> Rows {
        let mut state = 1u32;
        let mut bit = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 31 == 1
        };
        (0..count).map(|_| (0..width).filter(|_| bit()).collect()).collect()
    }

    /// Which inputs a signal is the sum of.
    fn inputs_of(sums: &Sums, signals: &[usize]) -> Vec<usize> {
        let mut odd = std::collections::BTreeSet::new();
        for &signal in signals {
            let inputs = match signal.checked_sub(sums.width) {
                Some(at) => inputs_of(sums, &sums.sums[at]),
                None => vec![signal],
            };
            for input in inputs {
                if !odd.remove(&input) {
                    odd.insert(input);
                }
            }
        }
        odd.into_iter().collect()
    }

    #[test]
    fn sums_are_the_rows_in_tables_of_six() {
        let mut rows = rows(37, 96);
        rows.extend([vec![], vec![95], vec![3, 4]]);
        for size in 1..=MOST {
            let sums = Sums::in_groups(&rows, 96, size);
            for (row, output) in rows.iter().zip(&sums.outputs) {
                assert_eq!(&inputs_of(&sums, output), row);
            }
            assert!(sums.sums.iter().chain(&sums.outputs).all(|row| row.len() <= 6));
        }
    }

    #[test]
    fn a_product_takes_few_tables() {
        let sixteen = vec![(0..16).collect::<Vec<_>>()];
        assert_eq!(Sums::of(&sixteen, 16).tables(), 3);
        // One by one 13 tables for each of 32 rows of 64 inputs.
        let dense = rows(32, 128);
        let tables = Sums::of(&dense, 128).tables();
        assert!(Sums::in_groups(&dense, 128, 1).tables() > 380 && tables < 290, "{tables}");
    }

    #[test]
    fn two_steps_are_the_product() {
        let rows = rows(9, 64);
        let (parts, sums) = in_two_steps(&rows, 64, &[4, 3, 2]);
        for (row, of) in rows.iter().zip(sums) {
            let mut inputs: Vec<usize> = of.iter().flat_map(|at| parts[*at].clone()).collect();
            inputs.sort();
            assert_eq!(&inputs, row);
        }
    }
}
