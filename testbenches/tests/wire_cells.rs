//! The leaf cells of the packet path: their Rust `update` and their Verilog
//! text are the same function.

use tessera_rtl::emit::with_big_stack;
use tessera_rtl::prelude::*;
use tessera_rtl::stream::Lowest;
use tessera_rtl::wire::{
    Delay, FeedbackWord, FromWire, KeepBytes, KeepCount, Rom, Rows, ToWire, XorMatrix, XorRegister,
};
use tessera_sim::tb::{self, Rng};
use tessera_sim::verilator::Dut;

/// Every cell once, with its inputs and outputs as ports. Fields are named like
/// the modules of the NIC, by which `sim::mutate` knows them.
#[derive(LogicBlock)]
struct Cells {
    clk: Signal<In, Clock>,
    data: Signal<In, Bits<512>>,
    keep: Signal<In, Bits<64>>,
    enable: Signal<In, Bit>,
    kept: Signal<Out, Bits<512>>,
    count: Signal<Out, Bits<6>>,
    narrow_kept: Signal<Out, Bits<128>>,
    narrow_count: Signal<Out, Bits<4>>,
    word: Signal<Out, Bits<40>>,
    product: Signal<Out, Bits<24>>,
    registered: Signal<Out, Bits<16>>,
    delayed: Signal<Out, Bits<64>>,
    delayed_least: Signal<Out, Bits<64>>,
    delayed_most: Signal<Out, Bits<64>>,
    delayed_ultra: Signal<Out, Bits<64>>,
    delayed_ultra_most: Signal<Out, Bits<64>>,
    slot: Signal<Out, Bits<12>>,
    limit: Signal<Out, Bits<24>>,
    bitmap: Signal<Out, Bits<256>>,
    bytes: Signal<Out, Bits<480>>,
    alone: Signal<Out, Bits<8>>,
    narrow_alone: Signal<Out, Bits<4>>,
    keep_bytes: KeepBytes,
    keep_count: KeepCount,
    narrow_keep_bytes: KeepBytes<128, 16>,
    narrow_keep_count: KeepCount<16, 4>,
    rom: Rom<6, 40>,
    xor_matrix: XorMatrix<512, 24>,
    xor_register: XorRegister<64, 16>,
    delay: Delay<Bits<64>>,
    /// In memories, the least and the most there is.
    delay_least: Delay<Bits<64>>,
    delay_most: Delay<Bits<64>>,
    delay_ultra: Delay<Bits<64>>,
    delay_ultra_most: Delay<Bits<64>>,
    from_wire: FromWire<FeedbackWord, 480>,
    to_wire: ToWire<FeedbackWord, 480>,
    lowest: Lowest<8>,
    narrow_lowest: Lowest<4>,
}

/// Rows of every kind: empty, one bit, far apart, all, dense.
fn rows(count: usize, width: usize) -> Rows {
    (0..count)
        .map(|row| match row {
            0 => vec![],
            1 => vec![width - 1],
            2 => vec![0, width - 1],
            3 => (0..width).collect(),
            _ => (0..width).filter(|bit| (bit * bit + row * bit + row) % (row + 1) < 2).collect(),
        })
        .collect()
}

impl Cells {
    fn new() -> Self {
        Self {
            clk: Default::default(),
            data: Default::default(),
            keep: Default::default(),
            enable: Default::default(),
            kept: Default::default(),
            count: Default::default(),
            narrow_kept: Default::default(),
            narrow_count: Default::default(),
            word: Default::default(),
            product: Default::default(),
            registered: Default::default(),
            delayed: Default::default(),
            delayed_least: Default::default(),
            delayed_most: Default::default(),
            delayed_ultra: Default::default(),
            delayed_ultra_most: Default::default(),
            slot: Default::default(),
            limit: Default::default(),
            bitmap: Default::default(),
            bytes: Default::default(),
            alone: Default::default(),
            narrow_alone: Default::default(),
            keep_bytes: Default::default(),
            keep_count: Default::default(),
            narrow_keep_bytes: Default::default(),
            narrow_keep_count: Default::default(),
            rom: Rom::new(
                (0..64).map(|at: u64| at.wrapping_mul(0x9E37_79B9_7F4A) & 0xFF_FFFF_FFFF).collect(),
            ),
            xor_matrix: XorMatrix::new(rows(24, 512)),
            xor_register: XorRegister::new(rows(16, 64)),
            delay: Delay::new(5),
            delay_least: Delay::new(2).in_block(),
            delay_most: Delay::new(8).in_block(),
            delay_ultra: Delay::new(3).in_ultra(),
            delay_ultra_most: Delay::new(9).in_ultra(),
            from_wire: Default::default(),
            to_wire: Default::default(),
            lowest: Default::default(),
            narrow_lowest: Default::default(),
        }
    }
}

impl Logic for Cells {
    #[hdl_gen]
    fn update(&mut self) {
        self.xor_register.clock.next = self.clk.val();
        self.delay.clock.next = self.clk.val();
        self.delay_least.clock.next = self.clk.val();
        self.delay_most.clock.next = self.clk.val();
        self.delay_ultra.clock.next = self.clk.val();
        self.delay_ultra_most.clock.next = self.clk.val();
        self.keep_bytes.d.next = self.data.val();
        self.keep_bytes.keep.next = self.keep.val();
        self.kept.next = self.keep_bytes.q.val();
        self.keep_count.keep.next = self.keep.val();
        self.count.next = self.keep_count.q.val();
        self.narrow_keep_bytes.d.next = self.data.val().get_bits::<128>(32);
        self.narrow_keep_bytes.keep.next = self.keep.val().get_bits::<16>(0);
        self.narrow_kept.next = self.narrow_keep_bytes.q.val();
        self.narrow_keep_count.keep.next = self.keep.val().get_bits::<16>(0);
        self.narrow_count.next = self.narrow_keep_count.q.val();
        self.rom.address.next = self.data.val().get_bits::<6>(77);
        self.word.next = self.rom.q.val();
        self.xor_matrix.d.next = self.data.val();
        self.product.next = self.xor_matrix.q.val();
        self.xor_register.enable.next = self.enable.val();
        self.xor_register.d.next = self.data.val().get_bits::<64>(100);
        self.registered.next = self.xor_register.q.val();
        self.delay.d.next = self.data.val().get_bits::<64>(200);
        self.delayed.next = self.delay.q.val();
        self.delay_least.d.next = self.data.val().get_bits::<64>(200);
        self.delayed_least.next = self.delay_least.q.val();
        self.delay_most.d.next = self.data.val().get_bits::<64>(200);
        self.delayed_most.next = self.delay_most.q.val();
        self.delay_ultra.d.next = self.data.val().get_bits::<64>(200);
        self.delayed_ultra.next = self.delay_ultra.q.val();
        self.delay_ultra_most.d.next = self.data.val().get_bits::<64>(200);
        self.delayed_ultra_most.next = self.delay_ultra_most.q.val();
        self.from_wire.d.next = self.data.val().get_bits::<480>(0);
        self.slot.next = self.from_wire.q.val().slot;
        self.limit.next = self.from_wire.q.val().limit;
        self.bitmap.next = self.from_wire.q.val().bitmap;
        self.to_wire.d.next = self.from_wire.q.val();
        self.bytes.next = self.to_wire.q.val();
        self.lowest.d.next = self.data.val().get_bits::<8>(64) & self.data.val().get_bits::<8>(300);
        self.alone.next = self.lowest.q.val();
        self.narrow_lowest.d.next = self.data.val().get_bits::<4>(64) & self.data.val().get_bits::<4>(300);
        self.narrow_alone.next = self.narrow_lowest.q.val();
    }
}

fn bits<const N: usize>(words: &[u64]) -> Bits<N> {
    let mut value = Bits::<N>::default();
    for at in 0..N {
        value = value.replace_bit(at, words[at / 64] >> (at % 64) & 1 == 1);
    }
    value
}

fn words<const N: usize>(value: Bits<N>) -> Vec<u64> {
    let mut words = vec![0; N.div_ceil(64)];
    for at in 0..N {
        words[at / 64] |= u64::from(value.get_bit(at)) << (at % 64);
    }
    words
}

fn read(dut: &Dut, name: &str) -> Vec<u64> {
    let port = dut.port(name).unwrap();
    let mut words = vec![0; port.words()];
    dut.get_wide(port, &mut words);
    words
}

fn outputs(cells: &Cells) -> [(&'static str, Vec<u64>); 18] {
    [
        ("kept", words(cells.kept.val())),
        ("count", words(cells.count.val())),
        ("narrow_kept", words(cells.narrow_kept.val())),
        ("narrow_count", words(cells.narrow_count.val())),
        ("word", words(cells.word.val())),
        ("product", words(cells.product.val())),
        ("registered", words(cells.registered.val())),
        ("delayed", words(cells.delayed.val())),
        ("delayed_least", words(cells.delayed_least.val())),
        ("delayed_most", words(cells.delayed_most.val())),
        ("delayed_ultra", words(cells.delayed_ultra.val())),
        ("delayed_ultra_most", words(cells.delayed_ultra_most.val())),
        ("slot", words(cells.slot.val())),
        ("limit", words(cells.limit.val())),
        ("bitmap", words(cells.bitmap.val())),
        ("bytes", words(cells.bytes.val())),
        ("alone", words(cells.alone.val())),
        ("narrow_alone", words(cells.narrow_alone.val())),
    ]
}

fn settled(cells: &mut Cells) {
    assert!(simulate(cells, 100), "the kernel does not settle");
}

#[test]
fn kernel_and_text_agree() {
    let design = tessera_testbenches::design("wire_cells", Cells::new);
    tb::run("wire_cells::agree", &design, |dut, rng| {
        let rng: &mut Rng = rng;
        let (data_port, keep_port, enable_port) =
            (dut.port("data").unwrap(), dut.port("keep").unwrap(), dut.port("enable").unwrap());
        with_big_stack(|| {
            let mut cells = Box::new(Cells::new());
            cells.connect_all();
            cells.clk.next = false.into();
            settled(&mut cells);
            for clock in 0..300 {
                let (data, enable) = (rng.wide(512), rng.chance(0.6));
                // Half of them end inside a narrow beat.
                let keep = u64::MAX >> if rng.chance(0.5) { rng.below(64) } else { rng.range(48..64) };
                cells.data.next = bits(&data);
                cells.keep.next = keep.into();
                cells.enable.next = enable;
                dut.set_wide(data_port, &data);
                dut.set(keep_port, keep);
                dut.set(enable_port, enable);
                cells.clk.next = false.into();
                settled(&mut cells);
                cells.clk.next = true.into();
                settled(&mut cells);
                dut.clock();
                // Delays begin with whatever memories hold.
                for (name, value) in outputs(&cells) {
                    if name.starts_with("delayed") && clock <= 9 {
                        continue;
                    }
                    assert_eq!(read(dut, name), value, "{name} in clock {clock}");
                }
                assert_eq!(read(dut, "bytes"), words(bits::<480>(&data)), "to and fro");
                assert_eq!(read(dut, "count")[0], u64::from(keep.count_ones()) % 64);
                let both = data[1] & (data[4] >> 44 | data[5] << 20);
                for (name, of) in [("alone", both & 0xFF), ("narrow_alone", both & 0xF)] {
                    assert_eq!(read(dut, name)[0], of & of.wrapping_neg(), "{name} of {of:#x}");
                }
                let narrow = u64::from((keep as u16).count_ones()) % 16;
                assert_eq!(read(dut, "narrow_count")[0], narrow);
            }
        });
    });
}
