//! The registers that the host writes and blocks read: one mechanism for all,
//! then a list of which is which setting.
//!
//! ```text
//!  write ─> masked by width ─┬─> words ──> settings
//!                            └─> shadow ─┐
//!  read_address ─────────────────────────┴─> value; the reset value if not written since
//! ```
//!
//! The host reads a copy in LUT RAM: a choice of one of all words would be most of
//! the block.
//!
//! Contract: a write shows in `settings` two clocks later. `value` and `known`
//! are combinational on `read_address`.
//!
//! Verified by `testbenches/tests/registers/`.

use crate::prelude::*;
use crate::types::Settings;
use crate::wire::Rom;
use tessera_abi::params::Config;
use tessera_abi::regs::{self, Reg};

/// Number of registers in the file.
pub const WORDS: usize = 48;

/// The registers of the file. Positions are what the end of the kernel names.
pub const FILE: [Reg; WORDS] = [
    regs::CONTROL,           //  0
    regs::LOCAL_MAC_LO,      //  1
    regs::LOCAL_MAC_HI,      //  2
    regs::LOCAL_IP,          //  3
    regs::PKEY,              //  4
    regs::SEED,              //  5
    regs::PATH_POLICY,       //  6
    regs::PATH_COUNT,        //  7
    regs::PATH_BASE,         //  8
    regs::GAP0,              //  9
    regs::SKEW0,             // 10
    regs::SKEW_MAX,          // 11
    regs::GUARD,             // 12
    regs::D_MIN,             // 13
    regs::RTT_DEFAULT,       // 14
    regs::RTO,               // 15
    regs::MAX_RETRY,         // 16
    regs::T_OPEN,            // 17
    regs::GRANT_WAIT,        // 18
    regs::RX_GIVE_UP,        // 19
    regs::TIME_WAIT,         // 20
    regs::MPL,               // 21
    regs::BUSY_WAIT,         // 22
    regs::NACK_BURST,        // 23
    regs::ACK_EVERY,         // 24
    regs::INITIAL_WINDOW,    // 25
    regs::UNSOLICITED_LIMIT, // 26
    regs::CREDIT_LIMIT,      // 27
    regs::GRANT_QUANTUM,     // 28
    regs::LD_POLICY,         // 29
    regs::LD_FIXED,          // 30
    regs::ANSWER0,           // 31
    regs::RTO_ROUND,         // 32
    regs::LOCAL_IP6_0,       // 33
    regs::LOCAL_IP6_1,       // 34
    regs::LOCAL_IP6_2,       // 35
    regs::LOCAL_IP6_3,       // 36
    regs::VLAN,              // 37
    regs::CREDIT_POLICY,     // 38
    regs::CREDIT_DELAY,      // 39
    regs::RELEASE_LOW,       // 40
    regs::RECOVER_MESSAGE,   // 41
    regs::INTERRUPT_SEEN,    // 42
    regs::INTERRUPT_DELAY,   // 43
    regs::TURN_POLICY,       // 44
    regs::DSCP,              // 45
    regs::CLASS_SIZES,       // 46
    regs::CREDIT_EACH,       // 47
];

/// What `of` says of the registers of the file, by their address in words.
fn by_address(of: impl Fn(&Reg) -> u64) -> Vec<u64> {
    let mut table = vec![0; 64];
    for reg in &FILE {
        table[reg.offset as usize / 4] = of(reg);
    }
    table
}

#[derive(LogicBlock)]
pub struct RegisterFile {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub write: Signal<In, Bit>,
    pub write_address: Signal<In, Bits<21>>,
    pub write_data: Signal<In, Bits<32>>,
    /// `write_address` is a register of the file.
    pub writable: Signal<Out, Bit>,
    pub read_address: Signal<In, Bits<21>>,
    pub value: Signal<Out, Bits<32>>,
    /// `read_address` is a register of the file.
    pub known: Signal<Out, Bit>,
    pub settings: Signal<Out, Settings>,
    /// RECOVER_MESSAGE.
    pub message: Signal<Out, Bits<32>>,
    words: [Dff<Bits<32>>; WORDS],
    word: [Signal<Local, Bits<32>>; WORDS],
    taken: Dff<Settings>,
    /// The words as they were written, by address, as the tables.
    shadow: LutRam<Bits<32>, 6>,
    /// Bits that a word has, and its reset value.
    widths: Rom<6, 32>,
    resets: Rom<6, 32>,
    /// It is a word of the file.
    write_known: Rom<6, 1>,
    read_known: Rom<6, 1>,
    /// Since reset.
    written: [Dff<Bit>; WORDS],
    write_at: Signal<Local, Bits<6>>,
    read_at: Signal<Local, Bits<6>>,
    is_written: Signal<Local, Bit>,
    offset: [Constant<Bits<6>>; WORDS],
    mask: [Constant<Bits<32>>; WORDS],
    reset: [Constant<Bits<32>>; WORDS],
    /// What a reset sets of the bits that the host cannot.
    lasting: [Constant<Bits<32>>; WORDS],
}

impl RegisterFile {
    pub fn new(config: &Config) -> Self {
        let bits = |reg: &Reg| u64::from(config.settable(reg));
        let lasting = |reg: &Reg| u64::from(reg.reset & !config.settable(reg));
        Self {
            clk: Default::default(),
            rst: Default::default(),
            write: Default::default(),
            write_address: Default::default(),
            write_data: Default::default(),
            writable: Default::default(),
            read_address: Default::default(),
            value: Default::default(),
            known: Default::default(),
            settings: Default::default(),
            message: Default::default(),
            words: std::array::from_fn(|_| Dff::default()),
            word: std::array::from_fn(|_| Default::default()),
            taken: Default::default(),
            shadow: LutRam::new(),
            widths: Rom::new(by_address(bits)),
            resets: Rom::new(by_address(|reg| u64::from(reg.reset))),
            write_known: Rom::new(by_address(|_| 1)),
            read_known: Rom::new(by_address(|_| 1)),
            written: std::array::from_fn(|_| Dff::default()),
            write_at: Default::default(),
            read_at: Default::default(),
            is_written: Default::default(),
            offset: FILE.map(|reg| Constant::new(u64::from(reg.offset / 4).into())),
            mask: FILE.map(|reg| Constant::new(bits(&reg).into())),
            reset: FILE.map(|reg| Constant::new(u64::from(reg.reset).into())),
            lasting: FILE.map(|reg| Constant::new(lasting(&reg).into())),
        }
    }
}

impl Logic for RegisterFile {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clk, taken);
        self.shadow.clock.next = self.clk.val();
        self.write_at.next = self.write_address.val().get_bits::<6>(2);
        self.read_at.next = self.read_address.val().get_bits::<6>(2);
        self.write_known.address.next = self.write_at.val();
        self.read_known.address.next = self.read_at.val();
        self.writable.next = self.write_known.q.val().any()
            & (self.write_address.val().get_bits::<13>(8) == 0)
            & (self.write_address.val().get_bits::<2>(0) == 0);
        self.known.next = self.read_known.q.val().any()
            & (self.read_address.val().get_bits::<13>(8) == 0)
            & (self.read_address.val().get_bits::<2>(0) == 0);
        self.is_written.next = false;
        for i in 0..48 {
            self.words[i].clock.next = self.clk.val();
            self.words[i].d.next = self.words[i].q.val();
            self.word[i].next = self.words[i].q.val() | self.lasting[i].val();
            self.written[i].clock.next = self.clk.val();
            self.written[i].d.next = self.written[i].q.val();
            if self.write.val() & self.writable.val() & (self.write_at.val() == self.offset[i].val()) {
                self.written[i].d.next = self.mask[i].val().any();
                self.words[i].d.next = self.write_data.val() & self.mask[i].val();
            }
            if self.written[i].q.val() & (self.read_at.val() == self.offset[i].val()) {
                self.is_written.next = true;
            }
            if self.rst.val() {
                self.words[i].d.next = self.reset[i].val() & self.mask[i].val();
                self.written[i].d.next = false;
            }
        }
        self.widths.address.next = self.write_at.val();
        self.shadow.write_enable.next = self.write.val() & self.writable.val();
        self.shadow.write_address.next = self.write_at.val();
        self.shadow.write_data.next = self.write_data.val() & self.widths.q.val();
        self.shadow.read_address.next = self.read_at.val();
        self.resets.address.next = self.read_at.val();
        self.value.next = 0.into();
        if self.is_written.val() & self.known.val() {
            self.value.next = self.shadow.read_data.val();
        } else if self.known.val() {
            self.value.next = self.resets.q.val();
        }
        self.message.next = self.word[41].val();

        self.taken.d.next.enable = self.word[0].val().get_bit(0);
        self.taken.d.next.local_mac =
            (bit_cast::<48, 32>(self.word[2].val()) << 32) | bit_cast::<48, 32>(self.word[1].val());
        self.taken.d.next.local_ip = self.word[3].val();
        self.taken.d.next.local_ip6 = (bit_cast::<128, 32>(self.word[33].val()) << 96)
            | (bit_cast::<128, 32>(self.word[34].val()) << 64)
            | (bit_cast::<128, 32>(self.word[35].val()) << 32)
            | bit_cast::<128, 32>(self.word[36].val());
        self.taken.d.next.vlan_id = self.word[37].val().get_bits::<12>(0);
        self.taken.d.next.vlan_any = self.word[37].val().get_bit(12);
        self.taken.d.next.pkey = self.word[4].val().get_bits::<16>(0);
        self.taken.d.next.seed = self.word[5].val();
        if self.word[5].val() == 0 {
            self.taken.d.next.seed = 1.into();
        }
        self.taken.d.next.path_policy = self.word[6].val().get_bits::<3>(0);
        self.taken.d.next.path_count = self.word[7].val().get_bits::<9>(0);
        self.taken.d.next.path_base = self.word[8].val().get_bits::<8>(0);
        self.taken.d.next.gap0 = self.word[9].val().get_bits::<16>(0);
        self.taken.d.next.skew0 = self.word[10].val().get_bits::<16>(0);
        self.taken.d.next.skew_max = self.word[11].val().get_bits::<16>(0);
        self.taken.d.next.guard = self.word[12].val().get_bits::<16>(0);
        self.taken.d.next.d_min = self.word[13].val().get_bits::<16>(0);
        self.taken.d.next.rtt_default = self.word[14].val().get_bits::<16>(0);
        self.taken.d.next.rto = self.word[15].val().get_bits::<24>(0);
        self.taken.d.next.max_retry = self.word[16].val().get_bits::<8>(0);
        self.taken.d.next.t_open = self.word[17].val().get_bits::<24>(0);
        self.taken.d.next.grant_wait = self.word[18].val().get_bits::<24>(0);
        self.taken.d.next.rx_give_up = self.word[19].val().get_bits::<24>(0);
        self.taken.d.next.time_wait = self.word[20].val().get_bits::<24>(0);
        self.taken.d.next.mpl = self.word[21].val().get_bits::<24>(0);
        self.taken.d.next.release_low = self.word[40].val().get_bits::<3>(0);
        self.taken.d.next.busy_wait = self.word[22].val().get_bits::<24>(0);
        self.taken.d.next.nack_burst = self.word[23].val().get_bits::<3>(0);
        self.taken.d.next.ack_every = self.word[24].val().get_bits::<8>(0);
        self.taken.d.next.initial_window = self.word[25].val().get_bits::<8>(0);
        self.taken.d.next.unsolicited_limit = self.word[26].val();
        self.taken.d.next.credit_limit = self.word[27].val();
        self.taken.d.next.credit_each = self.word[47].val().get_bits::<24>(0);
        self.taken.d.next.grant_quantum = self.word[28].val().get_bits::<8>(0);
        if self.word[28].val().get_bits::<8>(0) == 0 {
            self.taken.d.next.grant_quantum = 1.into();
        }
        self.taken.d.next.ld_policy = self.word[29].val().get_bits::<2>(0);
        self.taken.d.next.ld_fixed = self.word[30].val().get_bits::<16>(0);
        self.taken.d.next.answer0 = self.word[31].val().get_bits::<16>(0);
        self.taken.d.next.rto_round = self.word[32].val().get_bits::<24>(0);
        self.taken.d.next.credit_policy = self.word[38].val().get_bits::<3>(0);
        self.taken.d.next.credit_delay = self.word[39].val().get_bits::<16>(0);
        self.taken.d.next.interrupt_seen = self.word[42].val().get_bits::<16>(0);
        self.taken.d.next.interrupt_enable = self.word[42].val().get_bit(16);
        self.taken.d.next.interrupt_delay = self.word[43].val().get_bits::<16>(0);
        self.taken.d.next.turn_policy = self.word[44].val().get_bits::<2>(0);
        self.taken.d.next.dscp = self.word[45].val().get_bits::<30>(0);
        self.taken.d.next.class_sizes = self.word[46].val().get_bits::<15>(0);
        if self.rst.val() {
            self.taken.d.next.enable = false;
        }
        self.settings.next = self.taken.q.val();
    }
}
