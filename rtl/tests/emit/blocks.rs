//! Blocks that use every construct a kernel may contain.

use tessera_rtl::prelude::*;

/// Phases of the sampler.
#[derive(Copy, Clone, Debug, PartialEq, LogicState)]
pub enum Phase {
    Idle,
    Run,
    Done,
}

#[derive(Copy, Clone, Debug, Default, PartialEq, LogicStruct)]
pub struct Inner {
    pub low: Bits<4>,
    pub flag: Bit,
}

#[derive(Copy, Clone, Debug, Default, PartialEq, LogicStruct)]
pub struct Entry {
    pub tag: Bits<7>,
    pub inner: Inner,
    pub count: Bits<20>,
}

/// One stage of a chain.
#[derive(LogicBlock, Default)]
pub struct Stage {
    pub clock: Signal<In, Clock>,
    pub enable: Signal<In, Bit>,
    pub data_in: Signal<In, Entry>,
    pub data_out: Signal<Out, Entry>,
    pub spare: Signal<Out, Bits<3>>,
    held: Dff<Entry>,
}

impl Logic for Stage {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, held);
        if self.enable.val() {
            self.held.d.next = self.data_in.val();
            self.held.d.next.count = self.data_in.val().count + 1;
        }
        self.data_out.next = self.held.q.val();
        self.spare.next = self.held.q.val().tag.get_bits::<3>(2);
    }
}

/// Everything at once.
#[derive(LogicBlock)]
pub struct Sampler {
    pub clock: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub start: Signal<In, Bit>,
    pub select: Signal<In, Bits<2>>,
    pub entry: Signal<In, Entry>,
    pub address: Signal<In, Bits<8>>,
    pub busy: Signal<Out, Bit>,
    pub result: Signal<Out, Bits<20>>,
    pub wide: Signal<Out, Bits<32>>,
    pub low: Signal<Out, Bits<4>>,
    pub stored: Signal<Out, Bits<32>>,
    pub picked: Signal<Out, Bits<5>>,
    phase: Dff<Phase>,
    ticks: Dff<Bits<5>>,
    stages: [Stage; 3],
    memory: SdpRam<Bits<32>, 8>,
    sum: Signal<Local, Bits<20>>,
    parts: [Signal<Local, Bits<5>>; 4],
    limit: Constant<Bits<5>>,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            clock: Default::default(),
            rst: Default::default(),
            start: Default::default(),
            select: Default::default(),
            entry: Default::default(),
            address: Default::default(),
            busy: Default::default(),
            result: Default::default(),
            wide: Default::default(),
            low: Default::default(),
            stored: Default::default(),
            picked: Default::default(),
            phase: Default::default(),
            ticks: Default::default(),
            stages: Default::default(),
            memory: SdpRam::new(6).reads_old(),
            sum: Default::default(),
            parts: Default::default(),
            limit: Constant::new(19.into()),
        }
    }
}

impl Logic for Sampler {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, phase, ticks);
        clock!(self, clock, memory);
        for i in 0..3 {
            self.stages[i].clock.next = self.clock.val();
            self.stages[i].enable.next = self.start.val() & (self.select.val().index() != i);
        }
        self.stages[0].data_in.next = self.entry.val();
        for i in 0..2 {
            self.stages[i + 1].data_in.next = self.stages[i].data_out.val();
        }
        self.sum.next = self.stages[2].data_out.val().count - self.entry.val().count;
        self.parts[0].next = bit_cast::<5, 20>(self.sum.val() >> 2);
        for i in 0..3 {
            self.parts[i + 1].next = self.parts[i].val() + 3;
        }
        self.busy.next = false;
        match self.phase.q.val() {
            Phase::Idle => {
                if self.start.val() {
                    self.phase.d.next = Phase::Run;
                    self.ticks.d.next = 0.into();
                }
            }
            Phase::Run => {
                self.busy.next = true;
                self.ticks.d.next = self.ticks.q.val() + 1;
                if self.ticks.q.val() == self.limit.val() {
                    self.phase.d.next = Phase::Done;
                } else if (self.sum.val() - 5) < 0x8_0000 {
                    self.busy.next = self.entry.val().inner.flag;
                }
            }
            Phase::Done => {
                self.phase.d.next = Phase::Idle;
            }
        }
        match self.select.val().index() {
            0 => self.picked.next = self.parts[0].val(),
            1 => self.picked.next = self.parts[1].val(),
            _ => self.picked.next = self.parts[3].val(),
        }
        self.result.next = self.sum.val();
        self.wide.next = bit_cast::<32, 20>(self.sum.val() + self.entry.val().count);
        self.low.next = self.entry.val().inner.low;
        self.memory.write_enable.next = self.start.val();
        self.memory.write_address.next = self.address.val();
        self.memory.read_address.next = self.address.val();
        self.memory.write_data.next = bit_cast::<32, 7>(self.entry.val().tag);
        self.stored.next = self.memory.read_data.val();
        if self.rst.val() {
            self.phase.d.next = Phase::Idle;
        }
    }
}
