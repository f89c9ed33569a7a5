"""The exported NIC with AXI buses, among the bus models of cocotbext-axi.

    AxiLiteMaster ──> s_axil  NIC  m_axi ──> AxiRam, AxiSlave: host memory
                      s_axis <─┐  ┌── m_axis
                     AxiStreamSource <── wire, frames lost and copied ── AxiStreamSink

One NIC sends to itself: every frame it makes it also has to take. Pauses of all channels are
random and seeded. Run by testbenches/tests/bus_models; docs/verification.md says what is checked.
"""

import os

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import (
    AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam, AxiResp, AxiSlave, AxiStreamBus, AxiStreamFrame, AxiStreamSink,
    AxiStreamSource,
)

from bus import FAULT, Host, check_frame, check_keep, generator, held, pause
from messages import QUICK, Exchange, rise
from nic import FACTS, REGS, Nic, little

# Microseconds of the simulated clock after which a run hangs.
LIMIT = int(os.environ.get("TESSERA_LIMIT", "2000"))


class Bench:
    """A NIC that has just been reset, and everything around it."""

    def __init__(self, dut, name, slave=None):
        self.dut, self.name = dut, name
        self.host = Host(generator(name, "memory"))
        clock, reset = dut.clk, dut.rst
        dut.fault.value = FAULT
        dut.rst.value = 1
        # Low first: at the first edge all inputs have been driven.
        Clock(clock, 4, unit="ns", impl="gpi").start(start_high=False)
        buses = AxiBus.from_prefix(dut, "m_axi")
        if slave:
            self.memory = AxiSlave(buses, clock, reset, target=slave(self.host))
        else:
            self.memory = AxiRam(buses, clock, reset, mem=self.host.store)
        self.axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), clock, reset)
        self.source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), clock, reset)
        self.sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), clock, reset)
        self.nic = Nic(self.axil, self.host)
        self.frames = self.lost = 0
        self.lose = set()
        for prefix, name, data in (
            ("m_axi", "aw", ["awid", "awaddr", "awlen", "awsize", "awburst", "awlock", "awcache", "awprot"]),
            ("m_axi", "w", ["wdata", "wstrb", "wlast"]),
            ("m_axi", "ar", ["arid", "araddr", "arlen", "arsize", "arburst", "arlock", "arcache", "arprot"]),
            ("m_axis", "t", ["tdata", "tkeep", "tlast"]),
            ("s_axil", "b", ["bresp"]),
            ("s_axil", "r", ["rdata", "rresp"]),
        ):
            wire = lambda what: getattr(dut, f"{prefix}_{what}")
            offer = held(clock, reset, f"{prefix}_{name}", wire(f"{name}valid"), wire(f"{name}ready"), *map(wire, data))
            cocotb.start_soon(offer)
        cocotb.start_soon(self.addresses())

    def pauses(self, chance):
        write, read = self.memory.write_if, self.memory.read_if
        pause(
            self.name, chance, aw=write.aw_channel, w=write.w_channel, b=write.b_channel, ar=read.ar_channel,
            r=read.r_channel, mac=self.sink, receive=self.source,
        )
        write, read = self.axil.write_if, self.axil.read_if
        pause(
            self.name, chance, axil_aw=write.aw_channel, axil_w=write.w_channel, axil_b=write.b_channel,
            axil_ar=read.ar_channel, axil_r=read.r_channel,
        )

    async def reset(self):
        await ClockCycles(self.dut.clk, 4)
        self.dut.rst.value = 0
        await ClockCycles(self.dut.clk, 2)

    async def addresses(self):
        """Bursts of whole beats, of ascending addresses, of two IDs."""
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        beat = len(dut.m_axi_wdata) // 8
        self.bursts = {"aw": [], "ar": []}
        while True:
            await edge
            # The MAC is never made to wait.
            assert dut.rst.value or dut.s_axis_tready.value, "s_axis_tready is low"
            for way in ("aw", "ar"):
                wire = lambda what: int(getattr(dut, f"m_axi_{way}{what}").value)
                if not dut.rst.value and wire("valid") and wire("ready"):
                    address, beats = wire("addr"), wire("len") + 1
                    assert wire("burst") == 1 and 1 << wire("size") == beat, "no burst of whole beats"
                    assert address % 4096 + beats * beat - address % beat <= 4096, f"{address:#x} goes over 4 KiB"
                    self.bursts[way].append(beats)

    async def wire(self):
        """From the NIC to itself; some frames are lost, and some come a second time, damaged."""
        rng = generator(self.name, "wire")
        lanes = len(self.dut.m_axis_tkeep)
        while True:
            frame = await self.sink.recv(compact=False)
            check_keep(frame, lanes)
            frame.compact()
            frame = bytes(frame)
            check_frame(frame)
            self.frames += 1
            if self.frames in self.lose:
                self.lost += 1
                continue
            if self.frames in self.damage:
                # The MAC says so with the last beat only.
                bad = bytearray(frame)
                bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
                await self.source.send(AxiStreamFrame(bytes(bad), tuser=[0] * (len(bad) - 1) + [1]))
            await self.source.send(AxiStreamFrame(frame))

    async def woken(self):
        await rise(self.dut.irq, "irq")

    async def seen(self, count):
        await self.nic.set("INTERRUPT_SEEN", FACTS["interrupt_enable"] | count)
        # An entry can be seen before the NIC has heard that it is written: it is counted then.
        before = await self.nic.register("INTERRUPT_COUNT")
        await ClockCycles(self.dut.clk, 8)
        level = self.dut.irq.value
        if before == count == await self.nic.register("INTERRUPT_COUNT"):
            assert not level, "irq is high, though all has been seen"


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def registers(dut):
    """Every register of the map: its value after reset, its bits, and what is refused."""
    bench = Bench(dut, "registers")
    bench.pauses(0.3)
    await bench.reset()
    nic = bench.nic
    await nic.idle("STATUS", 1)
    rng = generator("registers")
    # These begin something.
    commands = ("CONTROL", "TABLE_COMMAND", "INTERRUPT_SEEN")
    plain = {name: reg for name, reg in REGS.items() if reg["access"] == "rw" and name not in commands}
    written = {}
    for name, reg in plain.items():
        assert await nic.register(name) == reg["reset"], name
        written[name] = rng.getrandbits(32)
        await nic.set(name, written[name])
    # Many reads under way at once, in any order.
    names = rng.choices(list(plain), k=60)
    reads = [cocotb.start_soon(nic.register(name)) for name in names]
    for name, read in zip(names, reads):
        assert await read == written[name] & (1 << plain[name]["width"]) - 1, name
    unused = next(at for at in range(0, 0x400, 4) if at not in [reg["offset"] for reg in REGS.values()])
    some = plain["GUARD"]["offset"]
    for refused in (
        await bench.axil.read(unused, 4),
        await bench.axil.write(unused, little(1, 4)),
        await bench.axil.write(REGS["MAGIC"]["offset"], little(1, 4)),
        await bench.axil.write(some, b"\xff"),
    ):
        assert refused.resp == AxiResp.SLVERR, f"{refused}"
    assert await nic.read(some) == written["GUARD"] & (1 << plain["GUARD"]["width"]) - 1, "a partial write counted"


async def exchange(bench, lengths, writes, chance):
    """Messages both ways; ends when all is over, and judges memory, counters and the interrupt."""
    bench.pauses(chance)
    await bench.reset()
    nic, dut = bench.nic, bench.dut
    await nic.open(**QUICK)
    link = cocotb.start_soon(bench.wire())
    exchange = Exchange(nic, bench.host, generator(bench.name, "messages"))
    await exchange.keys(400_000)
    assert not dut.irq.value, "irq is high, though nobody wants it"
    await nic.set("INTERRUPT_SEEN", FACTS["interrupt_enable"])
    for endpoint in range(2):
        mine = lengths[1 - endpoint::2]
        if mine:
            await exchange.receive(endpoint, len(mine), max(mine))
    for number, length in enumerate(lengths):
        await exchange.send(number % 2, length, 8 + number % 5)
    for number, length in enumerate(writes):
        await exchange.send(number % 2, length, 12 - number % 5, write=True)
    entries = await exchange.finish(bench.woken, bench.seen)
    # A release may still be on its way.
    await ClockCycles(dut.clk, 1500)
    assert entries == 2 * len(lengths) + len(writes) == await nic.register("INTERRUPT_COUNT")
    assert not dut.irq.value, "irq is high, though all has been seen"
    # It is the difference of the two: unseen again, seen, not wanted.
    for seen, level in ((entries - 1, 1), (entries, 0), (0, 1)):
        await nic.set("INTERRUPT_SEEN", FACTS["interrupt_enable"] | seen)
        await ClockCycles(dut.clk, 40)
        assert dut.irq.value == level, f"irq with {entries} entries, {seen} seen"
    await nic.set("INTERRUPT_SEEN", 0)
    await ClockCycles(dut.clk, 40)
    assert not dut.irq.value, "irq is high, though it is not enabled"
    bench.host.check()
    assert link.done() is False
    count = {name: await nic.counter(name) for name in ("RxFrames", "RxOpened", "RxCompleted", "TxCompleted",
                                                        "TxRetransmitted", "TxProbe", "DmaErrors", "CqOverrun", "frame")}
    messages = len(lengths) + len(writes)
    assert count["RxOpened"] == count["RxCompleted"] == count["TxCompleted"] == messages, f"{count}"
    assert count["frame"] == len(bench.damage) and count["DmaErrors"] == count["CqOverrun"] == 0, f"{count}"
    assert count["RxFrames"] == bench.frames - bench.lost + len(bench.damage), f"{count} of {bench.frames} frames"
    assert bench.lost == len(bench.lose), "fewer frames than were to be lost"
    return count


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def messages(dut):
    """Sends and writes of all lengths, at any address, with lost and damaged frames."""
    bench = Bench(dut, "messages")
    bench.lose, bench.damage = {6, 17}, {3, 11}
    lengths = [4097, 1, 0, 255, 63, 64, 65, 1000, 2048, 12_001, 512, 30_011]
    count = await exchange(bench, lengths, [700, 9003], 0.3)
    assert count["TxRetransmitted"] + count["TxProbe"] > 0, "nothing was sent again"
    longest = {way: max(bursts) for way, bursts in bench.bursts.items()}
    whole = min(256, 4096 // (len(dut.m_axi_wdata) // 8))
    # There were bursts from one multiple of 4 KiB to the next, or as long as they may be.
    assert longest["ar"] == whole, f"{longest}"


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def short(dut):
    """A little of it, as much as a broken wire needs to show."""
    bench = Bench(dut, "short")
    bench.lose, bench.damage = set(), set()
    await exchange(bench, [3000, 130], [700], 0.2)


class Refusing:
    """Memory behind an AxiSlave, of which some answers with an error; any access takes its time."""

    def __init__(self, host):
        self.host = host
        self.poisoned = []
        self.rng = generator("refusing")

    async def access(self, address, length):
        if self.rng.random() < 0.3:
            await ClockCycles(cocotb.top.clk, self.rng.randrange(1, 30))
        if any(address < end and start < address + length for start, end in self.poisoned):
            raise ValueError(f"{address:#x} is poisoned")

    async def read(self, address, length):
        await self.access(address, length)
        return self.host.store.read(address, length)

    async def write(self, address, data):
        await self.access(address, len(data))
        self.host.store.write(address, data)


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def errors(dut):
    """SLVERR of a read ends the message at its sender, of a write at both; others are as ever."""
    bench = Bench(dut, "errors", slave=Refusing)
    bench.lose, bench.damage = set(), set()
    bench.pauses(0.2)
    await bench.reset()
    nic = bench.nic
    await nic.open(**QUICK)
    cocotb.start_soon(bench.wire())
    exchange = Exchange(nic, bench.host, generator("errors"))
    await exchange.keys(60_000)
    await nic.set("INTERRUPT_SEEN", FACTS["interrupt_enable"])
    target = bench.memory.write_if.target
    await exchange.receive(1, 3, 5000)
    await exchange.send(0, 2000, 10)
    await exchange.finish(bench.woken, bench.seen)
    # The sender's own memory: nobody else hears of it.
    at = await exchange.send(0, 300, 10, ends=("local_dma", None))
    exchange.received.add(max(m["tag"] for m in exchange.sent.values()))
    target.poisoned = [(at + 100, at + 101)]
    await exchange.finish(bench.woken, bench.seen)
    # The receiver's: a beat in the middle.
    target.poisoned = []
    sink = exchange.buffers[1, 1][0]
    target.poisoned = [(sink + 1500, sink + 1501)]
    await exchange.send(0, 4000, 10, ends=("remote_dma", "local_dma"))
    await exchange.finish(bench.woken, bench.seen)
    target.poisoned = []
    await exchange.send(0, 4999, 11)
    await exchange.finish(bench.woken, bench.seen)
    await ClockCycles(dut.clk, 1500)
    assert await nic.counter("DmaErrors") > 0
    bench.host.check()
