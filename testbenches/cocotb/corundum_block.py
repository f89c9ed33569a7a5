"""`mqnic_app_block` as Corundum's core instantiates it, among models of cocotbext-axi and -eth.

    AxiLiteMaster ──> BAR 2   +-------+   two DmaEngines: host memory
    EthMacRx ──> sync_rx      | block |   m_axis_sync_rx ──> AxiStreamSink: the kernel
    PtpClock ──> PTP          +-------+   AxiStreamSource: the kernel ──> s_axis_sync_tx
              ^── frames of the block <── AxiStreamSink <── m_axis_sync_tx
                  frames of the kernel <──┘

One block sends to itself; frames of the kernel's, in both directions, pass beside that. Run by
testbenches/tests/bus_models; docs/verification.md says what is checked.
"""

import os

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import (
    AxiLiteBus, AxiLiteMaster, AxiResp, AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource,
)
from cocotbext.axi.stream import define_stream
from cocotbext.eth import EthMacFrame, EthMacRx, PtpClock
from cocotbext.eth.eth_mac import AxiStreamBus as MacBus

from bus import FAULT, Host, check_frame, check_keep, generator, held, pause
from dma_engine import DmaEngine
from messages import QUICK, Exchange
from nic import FACTS, IP, MAC, Nic

LIMIT = int(os.environ.get("TESSERA_LIMIT", "2000"))
BLOCK = FACTS["block"]

CplBus, CplTransaction, CplSource, CplSink, _ = define_stream("Cpl", ["ts", "tag", "valid", "ready"])
StatBus, _, _, StatSink, _ = define_stream("Stat", ["tdata", "tid", "tvalid", "tready"])


class Bench:
    def __init__(self, dut, name):
        self.dut, self.name = dut, name
        self.host = Host(generator(name, "memory"))
        clock, reset = dut.clk, dut.rst
        for wire in FACTS["inputs"]:
            getattr(dut, wire).value = 0
        dut.fault.value = FAULT
        dut.rst.value = 1
        # Low first: at the first edge all inputs have been driven.
        Clock(clock, 4, unit="ns", impl="gpi").start(start_high=False)
        self.axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil_app_ctrl"), clock, reset)
        self.nic = Nic(self.axil, self.host, FACTS["window"])
        segments = len(dut.ctrl_dma_ram_wr_cmd_valid)
        self.engines = [DmaEngine(dut, engine, self.host, segments) for engine in ("ctrl", "data")]
        self.ptp = PtpClock(ts_tod=dut.ptp_sync_ts_tod, ts_rel=dut.ptp_sync_ts_rel, clock=clock, reset=reset, period_ns=4)
        mac = MacBus.from_prefix(dut, "s_axis_sync_rx")
        # Nearly as fast as the port: a beat in every clock but for the gaps between frames.
        speed = len(dut.s_axis_sync_rx_tdata) * 250_000_000 * 9 // 10
        self.mac = EthMacRx(mac, clock, reset, ptp_time=dut.ptp_sync_ts_tod, speed=speed)
        stream = lambda what, prefix: what(AxiStreamBus.from_prefix(dut, prefix), clock, reset)
        self.sent = stream(AxiStreamSink, "m_axis_sync_tx")
        self.to_kernel = stream(AxiStreamSink, "m_axis_sync_rx")
        self.kernel = stream(AxiStreamSource, "s_axis_sync_tx")
        self.ends = CplSource(CplBus.from_prefix(dut, "s_axis_sync_tx_cpl"), clock, reset)
        self.completed = CplSink(CplBus.from_prefix(dut, "m_axis_sync_tx_cpl"), clock, reset)
        self.statistics = StatSink(StatBus.from_prefix(dut, "m_axis_stat"), clock, reset)
        self.top_tag = 1 << (len(dut.s_axis_sync_tx_cpl_tag) - 1)
        # Of the NIC: frames sent, lost, brought; of the kernel: what it sent, what came for it.
        self.frames = self.brought = 0
        self.lose = set()
        self.mine, self.theirs, self.events = [], [], 0
        self.got, self.tags = [], []
        self.rx_time = self.tx_time = 0
        for prefix, data in (
            ("m_axis_sync_tx_t", ["data", "keep", "last", "user"]),
            ("m_axis_sync_rx_t", ["data", "keep", "last", "user"]),
            ("m_axis_sync_tx_cpl_", ["ts", "tag"]),
            ("m_axis_stat_t", ["data", "id"]),
            ("s_axil_app_ctrl_b", ["resp"]),
            ("s_axil_app_ctrl_r", ["data", "resp"]),
            *((f"m_axis_{engine}_dma_{way}_desc_", ["dma_addr", "ram_addr", "len", "tag"])
              for engine in ("ctrl", "data") for way in ("read", "write")),
        ):
            wire = lambda what: getattr(dut, prefix + what)
            cocotb.start_soon(held(clock, reset, prefix, wire("valid"), wire("ready"), *map(wire, data)))

    async def start(self, chance):
        pause(
            self.name, chance, sent=self.sent, to_kernel=self.to_kernel, kernel=self.kernel,
            completed=self.completed, statistics=self.statistics,
        )
        write, read = self.axil.write_if, self.axil.read_if
        pause(
            self.name, chance, axil_aw=write.aw_channel, axil_w=write.w_channel, axil_b=write.b_channel,
            axil_ar=read.ar_channel, axil_r=read.r_channel,
        )
        await ClockCycles(self.dut.clk, 4)
        self.dut.rst.value = 0
        await ClockCycles(self.dut.clk, 2)
        # Times of day that need all 96 bits.
        self.ptp.set_ts_tod(0x1234_5678_9ABC, 999_990_000, 0)
        for task in (self.wire(), self.from_port(), self.completions()):
            cocotb.start_soon(task)

    async def block(self, name):
        """A register of the block's own."""
        return await self.nic.read(BLOCK[name] - FACTS["window"])

    async def time(self, name):
        words = [await self.nic.read(BLOCK[name] + 4 * word - FACTS["window"]) for word in range(3)]
        return sum(word << 32 * place for place, word in enumerate(words))

    async def receive(self, frame, ours):
        """A frame at the port; who it is for is known."""
        def came(sent):
            if ours:
                self.brought += 1
                self.rx_time = sent.ptp_timestamp
            else:
                self.theirs.append((bytes(sent.data), sent.ptp_timestamp))
        await self.mac.send(EthMacFrame(frame, tx_complete=came))

    async def wire(self):
        """What leaves the port: frames of the kernel end there, the block's come back to it."""
        rng = generator(self.name, "wire")
        lanes = len(self.dut.m_axis_sync_tx_tkeep)
        while True:
            frame = await self.sent.recv(compact=False)
            check_keep(frame, lanes)
            frame.compact()
            assert type(frame.tuser) is int, f"tuser changes within a frame: {frame.tuser}"
            tag, data = frame.tuser >> 1, bytes(frame)
            assert not frame.tuser & 1, "the block says that a frame is bad"
            if tag & self.top_tag:
                self.got.append((data, tag))
                at = len(self.got) - 1
                assert at < len(self.mine), f"a frame with the kernel's tag {tag:#x}, which it never sent"
                assert (data, tag) == self.mine[at], f"frame {at} of the kernel is not as it was sent"
            else:
                self.frames += 1
                assert tag == 0, f"a frame of the block's with tag {tag:#x}"
                check_frame(data)
                if self.frames not in self.lose:
                    await self.receive(data, True)
            now = self.ptp.get_ts_tod_96()
            if not tag:
                self.tx_time = now
            await self.ends.send(CplTransaction(ts=now, tag=tag))
            if tag:
                self.tags.append((tag, now))
            await ClockCycles(self.dut.clk, rng.randrange(1, 8))

    async def from_port(self):
        """What the kernel receives: all that is not the block's, in order, as it came; and events."""
        lanes = len(self.dut.m_axis_sync_rx_tkeep)
        self.passed = 0
        while True:
            frame = await self.to_kernel.recv(compact=False)
            check_keep(frame, lanes)
            frame.compact()
            data = bytes(frame)
            if data[12:14] == FACTS["event_type"].to_bytes(2, "big"):
                assert list(data) == FACTS["event_frame"] and frame.tuser == 0, f"not the event's frame: {data.hex()}"
                self.events += 1
                continue
            assert self.passed < len(self.theirs), f"a frame that was not for the kernel: {data[:64].hex()}"
            wanted, stamp = self.theirs[self.passed]
            assert data == wanted, f"received frame {self.passed} of the kernel is not as it came"
            assert frame.tuser == stamp << 1, f"its time is {frame.tuser:#x}, it came at {stamp:#x}"
            self.passed += 1

    async def completions(self):
        self.ended = 0
        while True:
            completion = await self.completed.recv()
            got = int(completion.tag), int(completion.ts)
            assert self.ended < len(self.tags), f"a completion for nothing: {got}"
            assert got == self.tags[self.ended], f"{got} is not {self.tags[self.ended]}"
            self.ended += 1

    async def traffic(self, count):
        """Frames of the kernel's, sent and received."""
        rng = generator(self.name, "traffic")
        for number in range(count):
            length = rng.choice((60, 64, 65, 127, 128, 129, 590, 1514))
            frame = bytearray(rng.randbytes(length))
            kind = number % 4
            frame[0:6], frame[12:14] = MAC, b"\x08\x06"
            if kind:
                # IPv4, UDP; but for the address, the port or the fragment it would be the block's.
                frame[12:16] = b"\x08\x00\x45\x00"
                frame[20:24] = b"\x00\x00\x40\x11" if kind != 3 else b"\x20\x00\x40\x11"
                frame[30:34] = IP if kind != 1 else bytes([10, 0, 0, 2])
                frame[36:38] = (4791 if kind != 2 else 4792).to_bytes(2, "big")
            await self.receive(bytes(frame), False)
            tag = self.top_tag | rng.randrange(self.top_tag)
            out = rng.randbytes(rng.choice((60, 61, 64, 128, 200, 1500)))
            self.mine.append((out, tag))
            await self.kernel.send(AxiStreamFrame(out, tuser=tag << 1))
            await ClockCycles(self.dut.clk, rng.randrange(1, 150))

    async def quiet(self, frames):
        for _ in range(200):
            await ClockCycles(self.dut.clk, 100)
            if self.ended == frames and self.passed == len(self.theirs) == frames and len(self.got) == frames:
                return
        raise AssertionError(
            f"of {frames} frames of the kernel {len(self.got)} were sent, {self.ended} completed, {self.passed} received"
        )


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def registers(dut):
    """BAR 2: the list of register blocks, the window, what is in neither, and the time."""
    bench = Bench(dut, "registers")
    await bench.start(0.3)
    # As a tool of Corundum's walks: type, version, next.
    at, found = 0, []
    read = lambda offset: bench.nic.read(offset - FACTS["window"])
    while True:
        found.append((await read(at), await read(at + 4)))
        at = await read(at + 8)
        if at == 0:
            break
        assert len(found) < 10, "the list has no end"
    assert found == [(FACTS["app_id"], FACTS["block_version"])], f"{found}"
    assert await bench.block("WINDOW") == FACTS["window"]
    assert await bench.nic.register("MAGIC") == FACTS["magic"]
    assert await bench.block("ENABLE") == 1 and await bench.block("PORT") == 0
    assert await read(0x3C) == 0 == await read(FACTS["window"] - 4), "what is nothing is not 0"
    # The first address that is no register's, and the upper half of what the board has set aside.
    for at in 1 << FACTS["bar_bits"], 1 << len(dut.s_axil_app_ctrl_araddr) - 1:
        beyond = await bench.axil.read(at, 4)
        assert beyond.resp == AxiResp.DECERR, f"{at:#x}: {beyond}"
        beyond = await bench.axil.write(at, bytes(4))
        assert beyond.resp == AxiResp.DECERR, f"{at:#x}: {beyond}"
    # A second ends between two of these.
    times = []
    for _ in range(40):
        before = bench.ptp.get_ts_tod_96()
        now = await bench.time("NOW")
        assert before <= now <= bench.ptp.get_ts_tod_96(), f"{now:#x}, since {before:#x}"
        times.append(now)
        await ClockCycles(dut.clk, 50)
    assert times[0] >> 48 < times[-1] >> 48, "no second has passed"


async def exchange(bench, lengths, writes, frames, chance):
    await bench.start(chance)
    nic, dut = bench.nic, bench.dut
    await nic.open(**QUICK)
    traffic = cocotb.start_soon(bench.traffic(frames))
    exchange = Exchange(nic, bench.host, generator(bench.name, "messages"))
    await exchange.keys(200_000)
    await nic.set("INTERRUPT_SEEN", FACTS["interrupt_enable"])
    for endpoint in range(2):
        mine = lengths[1 - endpoint::2]
        if mine:
            await exchange.receive(endpoint, len(mine), max(mine))
    for number, length in enumerate(lengths):
        await exchange.send(number % 2, length, 8 + number % 5)
    for number, length in enumerate(writes):
        await exchange.send(number % 2, length, 12 - number % 5, write=True)
    told = last = 0

    async def woken():
        """Sleeps until the block says by a frame that there is something."""
        nonlocal told
        # What came before SEEN was written has kept the interrupt high: no frame tells of it soon.
        if await nic.register("INTERRUPT_COUNT") != last:
            return
        for _ in range(400):
            if bench.events > told:
                told = bench.events
                return
            await ClockCycles(dut.clk, 50)
        raise AssertionError("no event's frame comes")

    async def seen(count):
        nonlocal last
        last = count
        await nic.set("INTERRUPT_SEEN", FACTS["interrupt_enable"] | count)

    entries = await exchange.finish(woken, seen)
    assert entries == 2 * len(lengths) + len(writes)
    assert 0 < bench.events <= entries, f"{bench.events} event's frames"
    await traffic
    await bench.quiet(frames)
    bench.host.check()
    taken, injected = await bench.block("RX_TAKEN"), await bench.block("TX_INJECTED")
    assert (taken, injected) == (bench.brought, bench.frames), f"{taken}, {injected}"
    assert await nic.counter("RxFrames") == taken
    assert await bench.block("RX_PASSED") == await bench.block("TX_PASSED") == frames
    assert await bench.block("TX_ENDED") == injected, "completions of the block's own"
    assert await bench.time("RX_TIME") == bench.rx_time, f"{bench.rx_time:#x} is when its last frame came"
    assert await bench.time("TX_TIME") == bench.tx_time, f"{bench.tx_time:#x} is when its last frame was sent"
    count = {name: await nic.counter(name) for name in ("RxCompleted", "TxCompleted", "TxRetransmitted", "TxProbe",
                                                        "DmaErrors", "CqOverrun")}
    messages = len(lengths) + len(writes)
    assert count["RxCompleted"] == count["TxCompleted"] == messages, f"{count}"
    assert count["DmaErrors"] == count["CqOverrun"] == 0, f"{count}"
    sums = {}
    while not bench.statistics.empty():
        one = bench.statistics.recv_nowait()
        sums[int(one.tid)] = sums.get(int(one.tid), 0) + int(one.tdata)
    first = (1 << len(dut.m_axis_stat_tid)) - FACTS["statistics"]
    assert sums == {first: taken, first + 1: injected}, f"statistics: {sums}"
    assert all(engine.jobs for engine in bench.engines)
    return count


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def messages(dut):
    """Sends and writes beside the kernel's traffic; a lost frame is sent again."""
    bench = Bench(dut, "messages")
    bench.lose = {6, 17}
    count = await exchange(bench, [4097, 1, 0, 255, 64, 1000, 9000, 12_001], [700, 5003], 60, 0.3)
    assert count["TxRetransmitted"] + count["TxProbe"] > 0, "nothing was sent again"


@cocotb.test(timeout_time=LIMIT, timeout_unit="us")
async def short(dut):
    """A little of it, as much as a broken wire needs to show."""
    await exchange(Bench(dut, "short"), [3000, 130], [700], 8, 0.2)
