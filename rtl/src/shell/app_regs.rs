//! Registers of the NIC as an application block of Corundum: BAR 2.
//!
//! ```text
//!  s_axil ─┬─ the block's own: type, version, filter, counters, times
//!          └─ window ─────────────────────────────────────────> m_axil (the NIC)
//!                └─ addresses, when they are taken ─> mac, ip4, ip6
//! ```
//!
//! Numbers: `tessera_abi::corundum`. The NIC's addresses are listened to when it has taken them, so that
//! the driver says them once, and forgotten with its RESET: what it does not take is the kernel's.
//!
//! Contract:
//! - one write and one read at a time; an access to the window takes five clocks longer than the NIC;
//! - what is in no register reads as 0 and is not written; beyond the window is a decode error;
//! - the three words of a time are of one moment: that of reading the first;
//! - every output depends on registers only.
//!
//! Verified by `testbenches/tests/app_regs.rs`.

use tessera_abi::{corundum, regs};

use crate::prelude::*;

#[derive(LogicBlock)]
pub struct AppRegs {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub s_axil_awaddr: Signal<In, Bits<24>>,
    pub s_axil_awvalid: Signal<In, Bit>,
    pub s_axil_awready: Signal<Out, Bit>,
    pub s_axil_wdata: Signal<In, Bits<32>>,
    pub s_axil_wstrb: Signal<In, Bits<4>>,
    pub s_axil_wvalid: Signal<In, Bit>,
    pub s_axil_wready: Signal<Out, Bit>,
    pub s_axil_bresp: Signal<Out, Bits<2>>,
    pub s_axil_bvalid: Signal<Out, Bit>,
    pub s_axil_bready: Signal<In, Bit>,
    pub s_axil_araddr: Signal<In, Bits<24>>,
    pub s_axil_arvalid: Signal<In, Bit>,
    pub s_axil_arready: Signal<Out, Bit>,
    pub s_axil_rdata: Signal<Out, Bits<32>>,
    pub s_axil_rresp: Signal<Out, Bits<2>>,
    pub s_axil_rvalid: Signal<Out, Bit>,
    pub s_axil_rready: Signal<In, Bit>,
    pub m_axil_awaddr: Signal<Out, Bits<21>>,
    pub m_axil_awvalid: Signal<Out, Bit>,
    pub m_axil_awready: Signal<In, Bit>,
    pub m_axil_wdata: Signal<Out, Bits<32>>,
    pub m_axil_wstrb: Signal<Out, Bits<4>>,
    pub m_axil_wvalid: Signal<Out, Bit>,
    pub m_axil_wready: Signal<In, Bit>,
    pub m_axil_bresp: Signal<In, Bits<2>>,
    pub m_axil_bvalid: Signal<In, Bit>,
    pub m_axil_bready: Signal<Out, Bit>,
    pub m_axil_araddr: Signal<Out, Bits<21>>,
    pub m_axil_arvalid: Signal<Out, Bit>,
    pub m_axil_arready: Signal<In, Bit>,
    pub m_axil_rdata: Signal<In, Bits<32>>,
    pub m_axil_rresp: Signal<In, Bits<2>>,
    pub m_axil_rvalid: Signal<In, Bit>,
    pub m_axil_rready: Signal<Out, Bit>,
    pub enable: Signal<Out, Bit>,
    pub qpn_value: Signal<Out, Bits<24>>,
    pub qpn_mask: Signal<Out, Bits<24>>,
    pub mac: Signal<Out, Bits<48>>,
    pub ip4: Signal<Out, Bits<32>>,
    pub ip6: Signal<Out, Bits<128>>,
    pub port: Signal<In, Bits<8>>,
    /// Frames, as they go by.
    pub rx_took: Signal<In, Bit>,
    pub rx_time: Signal<In, Bits<96>>,
    pub rx_passed: Signal<In, Bit>,
    pub tx_injected: Signal<In, Bit>,
    pub tx_passed: Signal<In, Bit>,
    pub tx_ended: Signal<In, Bit>,
    pub tx_time: Signal<In, Bits<96>>,
    pub now: Signal<In, Bits<96>>,
    /// A write: address and data that came, where it is, which halves the NIC has.
    aw_held: Dff<Bit>,
    w_held: Dff<Bit>,
    write_at: Dff<Bits<24>>,
    write_data: Dff<Bits<32>>,
    write_strb: Dff<Bits<4>>,
    writes: Dff<Bit>,
    aw_shown: Dff<Bit>,
    w_shown: Dff<Bit>,
    answers: Dff<Bit>,
    answer: Dff<Bits<2>>,
    /// A read likewise.
    ar_held: Dff<Bit>,
    read_at: Dff<Bits<24>>,
    reads: Dff<Bit>,
    ar_shown: Dff<Bit>,
    tells: Dff<Bit>,
    told: Dff<Bits<32>>,
    told_how: Dff<Bits<2>>,
    enabled: Dff<Bit>,
    value: Dff<Bits<24>>,
    mask: Dff<Bits<24>>,
    /// The byte that comes first the lowest.
    mac_lo: Dff<Bits<32>>,
    mac_hi: Dff<Bits<16>>,
    ip: Dff<Bits<32>>,
    ip6_0: Dff<Bits<32>>,
    ip6_1: Dff<Bits<32>>,
    ip6_2: Dff<Bits<32>>,
    ip6_3: Dff<Bits<32>>,
    taken: Dff<Bits<32>>,
    up: Dff<Bits<32>>,
    injected: Dff<Bits<32>>,
    down: Dff<Bits<32>>,
    ended: Dff<Bits<32>>,
    came: Dff<Bits<96>>,
    went: Dff<Bits<96>>,
    /// What the first word of a time was read with.
    rest: Dff<Bits<64>>,
    goes: Signal<Local, Bit>,
    /// The addresses are nobody's any more.
    forgets: Signal<Local, Bit>,
    inner: Signal<Local, Bits<21>>,
    asks: Signal<Local, Bit>,
    /// What is written, the byte that comes first the lowest.
    turned: Signal<Local, Bits<32>>,
    app_id: Constant<Bits<32>>,
    version: Constant<Bits<32>>,
    window: Constant<Bits<32>>,
    at_mac_lo: Constant<Bits<21>>,
    at_mac_hi: Constant<Bits<21>>,
    at_ip: Constant<Bits<21>>,
    at_ip6_0: Constant<Bits<21>>,
    at_ip6_1: Constant<Bits<21>>,
    at_ip6_2: Constant<Bits<21>>,
    at_ip6_3: Constant<Bits<21>>,
    at_reset: Constant<Bits<21>>,
}

/// The kernel below has the offsets as numbers.
const _: () = {
    use corundum::offset::*;
    assert!(TYPE == 0 && VERSION == 4 && NEXT == 8 && WINDOW == 12);
    assert!(ENABLE == 0x10 && PORT == 0x14 && QPN_VALUE == 0x18 && QPN_MASK == 0x1C);
    assert!(RX_TAKEN == 0x20 && RX_PASSED == 0x24 && TX_INJECTED == 0x28 && TX_PASSED == 0x2C);
    assert!(TX_ENDED == 0x30 && NOW == 0x40 && RX_TIME == 0x50 && TX_TIME == 0x60);
    assert!(corundum::WINDOW == 1 << 21);
};

impl AppRegs {
    pub fn new() -> Self {
        let number = |value: u32| Constant::new(u64::from(value).into());
        let at = |register: regs::Reg| Constant::new(u64::from(register.offset).into());
        Self {
            clk: Default::default(),
            rst: Default::default(),
            s_axil_awaddr: Default::default(),
            s_axil_awvalid: Default::default(),
            s_axil_awready: Default::default(),
            s_axil_wdata: Default::default(),
            s_axil_wstrb: Default::default(),
            s_axil_wvalid: Default::default(),
            s_axil_wready: Default::default(),
            s_axil_bresp: Default::default(),
            s_axil_bvalid: Default::default(),
            s_axil_bready: Default::default(),
            s_axil_araddr: Default::default(),
            s_axil_arvalid: Default::default(),
            s_axil_arready: Default::default(),
            s_axil_rdata: Default::default(),
            s_axil_rresp: Default::default(),
            s_axil_rvalid: Default::default(),
            s_axil_rready: Default::default(),
            m_axil_awaddr: Default::default(),
            m_axil_awvalid: Default::default(),
            m_axil_awready: Default::default(),
            m_axil_wdata: Default::default(),
            m_axil_wstrb: Default::default(),
            m_axil_wvalid: Default::default(),
            m_axil_wready: Default::default(),
            m_axil_bresp: Default::default(),
            m_axil_bvalid: Default::default(),
            m_axil_bready: Default::default(),
            m_axil_araddr: Default::default(),
            m_axil_arvalid: Default::default(),
            m_axil_arready: Default::default(),
            m_axil_rdata: Default::default(),
            m_axil_rresp: Default::default(),
            m_axil_rvalid: Default::default(),
            m_axil_rready: Default::default(),
            enable: Default::default(),
            qpn_value: Default::default(),
            qpn_mask: Default::default(),
            mac: Default::default(),
            ip4: Default::default(),
            ip6: Default::default(),
            port: Default::default(),
            rx_took: Default::default(),
            rx_time: Default::default(),
            rx_passed: Default::default(),
            tx_injected: Default::default(),
            tx_passed: Default::default(),
            tx_ended: Default::default(),
            tx_time: Default::default(),
            now: Default::default(),
            aw_held: Default::default(),
            w_held: Default::default(),
            write_at: Default::default(),
            write_data: Default::default(),
            write_strb: Default::default(),
            writes: Default::default(),
            aw_shown: Default::default(),
            w_shown: Default::default(),
            answers: Default::default(),
            answer: Default::default(),
            ar_held: Default::default(),
            read_at: Default::default(),
            reads: Default::default(),
            ar_shown: Default::default(),
            tells: Default::default(),
            told: Default::default(),
            told_how: Default::default(),
            enabled: Default::default(),
            value: Default::default(),
            mask: Default::default(),
            mac_lo: Default::default(),
            mac_hi: Default::default(),
            ip: Default::default(),
            ip6_0: Default::default(),
            ip6_1: Default::default(),
            ip6_2: Default::default(),
            ip6_3: Default::default(),
            taken: Default::default(),
            up: Default::default(),
            injected: Default::default(),
            down: Default::default(),
            ended: Default::default(),
            came: Default::default(),
            went: Default::default(),
            rest: Default::default(),
            goes: Default::default(),
            forgets: Default::default(),
            inner: Default::default(),
            asks: Default::default(),
            turned: Default::default(),
            app_id: number(corundum::APP_ID),
            version: number(corundum::VERSION),
            window: number(corundum::WINDOW),
            at_mac_lo: at(regs::LOCAL_MAC_LO),
            at_mac_hi: at(regs::LOCAL_MAC_HI),
            at_ip: at(regs::LOCAL_IP),
            at_ip6_0: at(regs::LOCAL_IP6_0),
            at_ip6_1: at(regs::LOCAL_IP6_1),
            at_ip6_2: at(regs::LOCAL_IP6_2),
            at_ip6_3: at(regs::LOCAL_IP6_3),
            at_reset: at(regs::RESET),
        }
    }
}

impl Logic for AppRegs {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(
            self, clk, aw_held, w_held, write_at, write_data, write_strb, writes, aw_shown, w_shown, answers,
            answer, ar_held, read_at, reads, ar_shown, tells, told, told_how, enabled, value, mask, mac_lo,
            mac_hi, ip, ip6_0, ip6_1, ip6_2, ip6_3, taken, up, injected, down, ended, came, went, rest
        );
        self.enable.next = self.enabled.q.val();
        self.qpn_value.next = (bit_cast::<24, 8>(self.value.q.val().get_bits::<8>(0)) << 16)
            | (bit_cast::<24, 8>(self.value.q.val().get_bits::<8>(8)) << 8)
            | bit_cast::<24, 8>(self.value.q.val().get_bits::<8>(16));
        self.qpn_mask.next = (bit_cast::<24, 8>(self.mask.q.val().get_bits::<8>(0)) << 16)
            | (bit_cast::<24, 8>(self.mask.q.val().get_bits::<8>(8)) << 8)
            | bit_cast::<24, 8>(self.mask.q.val().get_bits::<8>(16));
        self.mac.next =
            bit_cast::<48, 16>(self.mac_hi.q.val()) | (bit_cast::<48, 32>(self.mac_lo.q.val()) << 16);
        self.ip4.next = self.ip.q.val();
        self.ip6.next = bit_cast::<128, 32>(self.ip6_0.q.val())
            | (bit_cast::<128, 32>(self.ip6_1.q.val()) << 32)
            | (bit_cast::<128, 32>(self.ip6_2.q.val()) << 64)
            | (bit_cast::<128, 32>(self.ip6_3.q.val()) << 96);
        self.turned.next = ((self.write_data.q.val() & 0xFF) << 24)
            | ((self.write_data.q.val() & 0xFF00) << 8)
            | ((self.write_data.q.val() >> 8) & 0xFF00)
            | (self.write_data.q.val() >> 24);

        // A write waits for both its halves.
        self.s_axil_awready.next = !self.aw_held.q.val();
        self.s_axil_wready.next = !self.w_held.q.val();
        if self.s_axil_awvalid.val() & !self.aw_held.q.val() {
            self.aw_held.d.next = true;
            self.write_at.d.next = self.s_axil_awaddr.val();
        }
        if self.s_axil_wvalid.val() & !self.w_held.q.val() {
            self.w_held.d.next = true;
            self.write_data.d.next = self.s_axil_wdata.val();
            self.write_strb.d.next = self.s_axil_wstrb.val();
        }
        self.m_axil_awaddr.next = self.write_at.q.val().get_bits::<21>(0);
        self.m_axil_wdata.next = self.write_data.q.val();
        self.m_axil_wstrb.next = self.write_strb.q.val();
        self.m_axil_awvalid.next = self.aw_shown.q.val();
        self.m_axil_wvalid.next = self.w_shown.q.val();
        self.m_axil_bready.next = !self.answers.q.val();
        self.s_axil_bvalid.next = self.answers.q.val();
        self.s_axil_bresp.next = self.answer.q.val();
        if self.m_axil_awready.val() {
            self.aw_shown.d.next = false;
        }
        if self.m_axil_wready.val() {
            self.w_shown.d.next = false;
        }
        self.forgets.next = self.rst.val();
        self.goes.next =
            self.aw_held.q.val() & self.w_held.q.val() & !self.writes.q.val() & !self.answers.q.val();
        self.inner.next = self.write_at.q.val().get_bits::<21>(0);
        if self.goes.val() {
            if self.write_at.q.val().get_bits::<3>(21) == 1 {
                self.writes.d.next = true;
                self.aw_shown.d.next = true;
                self.w_shown.d.next = true;
            } else {
                self.answers.d.next = true;
                self.answer.d.next = 0.into();
                if self.write_at.q.val().get_bits::<3>(21) != 0 {
                    self.answer.d.next = 3.into();
                }
                if self.write_strb.q.val() == 15 {
                    if self.write_at.q.val() == 0x10 {
                        self.enabled.d.next = self.write_data.q.val().get_bit(0);
                    }
                    if self.write_at.q.val() == 0x18 {
                        self.value.d.next = self.write_data.q.val().get_bits::<24>(0);
                    }
                    if self.write_at.q.val() == 0x1C {
                        self.mask.d.next = self.write_data.q.val().get_bits::<24>(0);
                    }
                }
            }
        }
        if self.writes.q.val() & self.m_axil_bvalid.val() {
            self.writes.d.next = false;
            self.answers.d.next = true;
            self.answer.d.next = self.m_axil_bresp.val();
            // What the NIC has taken; its RESET forgets them there, too.
            if (self.m_axil_bresp.val() == 0) & (self.write_strb.q.val() == 15) {
                if self.inner.val() == self.at_mac_lo.val() {
                    self.mac_lo.d.next = self.turned.val();
                }
                if self.inner.val() == self.at_mac_hi.val() {
                    self.mac_hi.d.next = self.turned.val().get_bits::<16>(16);
                }
                if self.inner.val() == self.at_ip.val() {
                    self.ip.d.next = self.turned.val();
                }
                if self.inner.val() == self.at_ip6_0.val() {
                    self.ip6_0.d.next = self.turned.val();
                }
                if self.inner.val() == self.at_ip6_1.val() {
                    self.ip6_1.d.next = self.turned.val();
                }
                if self.inner.val() == self.at_ip6_2.val() {
                    self.ip6_2.d.next = self.turned.val();
                }
                if self.inner.val() == self.at_ip6_3.val() {
                    self.ip6_3.d.next = self.turned.val();
                }
                if (self.inner.val() == self.at_reset.val()) & self.write_data.q.val().get_bit(0) {
                    self.forgets.next = true;
                }
            }
        }
        if self.answers.q.val() & self.s_axil_bready.val() {
            self.answers.d.next = false;
            self.aw_held.d.next = false;
            self.w_held.d.next = false;
        }

        // A read.
        self.s_axil_arready.next = !self.ar_held.q.val();
        if self.s_axil_arvalid.val() & !self.ar_held.q.val() {
            self.ar_held.d.next = true;
            self.read_at.d.next = self.s_axil_araddr.val();
        }
        self.m_axil_araddr.next = self.read_at.q.val().get_bits::<21>(0);
        self.m_axil_arvalid.next = self.ar_shown.q.val();
        self.m_axil_rready.next = !self.tells.q.val();
        self.s_axil_rvalid.next = self.tells.q.val();
        self.s_axil_rdata.next = self.told.q.val();
        self.s_axil_rresp.next = self.told_how.q.val();
        if self.m_axil_arready.val() {
            self.ar_shown.d.next = false;
        }
        self.asks.next = self.ar_held.q.val() & !self.reads.q.val() & !self.tells.q.val();
        if self.asks.val() {
            if self.read_at.q.val().get_bits::<3>(21) == 1 {
                self.reads.d.next = true;
                self.ar_shown.d.next = true;
            } else {
                self.tells.d.next = true;
                self.told.d.next = 0.into();
                self.told_how.d.next = 0.into();
                if self.read_at.q.val().get_bits::<3>(21) != 0 {
                    self.told_how.d.next = 3.into();
                }
                if self.read_at.q.val() == 0x00 {
                    self.told.d.next = self.app_id.val();
                }
                if self.read_at.q.val() == 0x04 {
                    self.told.d.next = self.version.val();
                }
                if self.read_at.q.val() == 0x0C {
                    self.told.d.next = self.window.val();
                }
                if self.read_at.q.val() == 0x10 {
                    self.told.d.next = bit_cast::<32, 1>(self.enabled.q.val().into());
                }
                if self.read_at.q.val() == 0x14 {
                    self.told.d.next = bit_cast::<32, 8>(self.port.val());
                }
                if self.read_at.q.val() == 0x18 {
                    self.told.d.next = bit_cast::<32, 24>(self.value.q.val());
                }
                if self.read_at.q.val() == 0x1C {
                    self.told.d.next = bit_cast::<32, 24>(self.mask.q.val());
                }
                if self.read_at.q.val() == 0x20 {
                    self.told.d.next = self.taken.q.val();
                }
                if self.read_at.q.val() == 0x24 {
                    self.told.d.next = self.up.q.val();
                }
                if self.read_at.q.val() == 0x28 {
                    self.told.d.next = self.injected.q.val();
                }
                if self.read_at.q.val() == 0x2C {
                    self.told.d.next = self.down.q.val();
                }
                if self.read_at.q.val() == 0x30 {
                    self.told.d.next = self.ended.q.val();
                }
                if self.read_at.q.val() == 0x40 {
                    self.told.d.next = self.now.val().get_bits::<32>(0);
                    self.rest.d.next = self.now.val().get_bits::<64>(32);
                }
                if self.read_at.q.val() == 0x50 {
                    self.told.d.next = self.came.q.val().get_bits::<32>(0);
                    self.rest.d.next = self.came.q.val().get_bits::<64>(32);
                }
                if self.read_at.q.val() == 0x60 {
                    self.told.d.next = self.went.q.val().get_bits::<32>(0);
                    self.rest.d.next = self.went.q.val().get_bits::<64>(32);
                }
                if (self.read_at.q.val() == 0x44)
                    | (self.read_at.q.val() == 0x54)
                    | (self.read_at.q.val() == 0x64)
                {
                    self.told.d.next = self.rest.q.val().get_bits::<32>(0);
                }
                if (self.read_at.q.val() == 0x48)
                    | (self.read_at.q.val() == 0x58)
                    | (self.read_at.q.val() == 0x68)
                {
                    self.told.d.next = self.rest.q.val().get_bits::<32>(32);
                }
            }
        }
        if self.reads.q.val() & self.m_axil_rvalid.val() {
            self.reads.d.next = false;
            self.tells.d.next = true;
            self.told.d.next = self.m_axil_rdata.val();
            self.told_how.d.next = self.m_axil_rresp.val();
        }
        if self.tells.q.val() & self.s_axil_rready.val() {
            self.tells.d.next = false;
            self.ar_held.d.next = false;
        }

        // What goes by.
        if self.rx_took.val() {
            self.taken.d.next = self.taken.q.val() + 1;
            self.came.d.next = self.rx_time.val();
        }
        if self.rx_passed.val() {
            self.up.d.next = self.up.q.val() + 1;
        }
        if self.tx_injected.val() {
            self.injected.d.next = self.injected.q.val() + 1;
        }
        if self.tx_passed.val() {
            self.down.d.next = self.down.q.val() + 1;
        }
        if self.tx_ended.val() {
            self.ended.d.next = self.ended.q.val() + 1;
            self.went.d.next = self.tx_time.val();
        }

        if self.rst.val() {
            self.aw_held.d.next = false;
            self.w_held.d.next = false;
            self.writes.d.next = false;
            self.aw_shown.d.next = false;
            self.w_shown.d.next = false;
            self.answers.d.next = false;
            self.ar_held.d.next = false;
            self.reads.d.next = false;
            self.ar_shown.d.next = false;
            self.tells.d.next = false;
            self.enabled.d.next = true;
            self.value.d.next = 0.into();
            self.mask.d.next = 0.into();
            self.taken.d.next = 0.into();
            self.up.d.next = 0.into();
            self.injected.d.next = 0.into();
            self.down.d.next = 0.into();
            self.ended.d.next = 0.into();
            self.came.d.next = 0.into();
            self.went.d.next = 0.into();
        }
        if self.forgets.val() {
            self.mac_lo.d.next = 0.into();
            self.mac_hi.d.next = 0.into();
            self.ip.d.next = 0.into();
            self.ip6_0.d.next = 0.into();
            self.ip6_1.d.next = 0.into();
            self.ip6_2.d.next = 0.into();
            self.ip6_3.d.next = 0.into();
        }
    }
}
