"""A DMA engine over a block's segmented RAM, as Corundum's: one class of it.

    read_desc ──> memory ──> wr_cmd, by segment; wr_done ──> read_desc_status
    write_desc ─> rd_cmd, by segment; rd_resp ──> memory ──> write_desc_status

Descriptors begin and end in any order, each after a time by chance; a segment's commands stay in
order. Written from the ports' meaning, without a look at the project's own model of it.
"""

import cocotb
from cocotb.triggers import ClockCycles, Event, RisingEdge
from cocotbext.axi.stream import define_stream

from bus import generator, pauses

FIELDS = ["dma_addr", "ram_sel", "ram_addr", "len", "tag", "valid", "ready"]
DescBus, _, _, DescSink, _ = define_stream("Desc", FIELDS)
StatusBus, StatusTransaction, StatusSource, _, _ = define_stream("Status", ["tag", "error", "valid"])

# "Unsupported request", of the errors that the engine tells of reads.
UNSUPPORTED = 10


class Segments:
    """One vector port of all segments, as numbers one by one."""

    def __init__(self, wire, count):
        self.wire, self.count = wire, count
        self.width = len(wire) // count

    def get(self):
        value, mask = int(self.wire.value), (1 << self.width) - 1
        return [value >> self.width * i & mask for i in range(self.count)]

    def put(self, values):
        self.wire.value = sum(value << self.width * i for i, value in enumerate(values))


class DmaEngine:
    def __init__(self, dut, name, host, segments, patience=60):
        self.dut, self.name, self.host, self.patience = dut, name, host, patience
        self.rng = generator("dma", name)
        self.count = segments
        ram = lambda port: Segments(getattr(dut, f"{name}_dma_ram_{port}"), segments)
        self.write_commands = [ram(f"wr_cmd_{port}") for port in ("valid", "addr", "be", "data")]
        self.write_ready, self.write_done = ram("wr_cmd_ready"), ram("wr_done")
        self.read_commands = [ram(f"rd_cmd_{port}") for port in ("valid", "addr")]
        self.read_ready = ram("rd_cmd_ready")
        self.data, self.data_valid, self.data_ready = ram("rd_resp_data"), ram("rd_resp_valid"), ram("rd_resp_ready")
        self.bytes_of = self.data.width // 8
        # By segment: commands to show, and who waits for their ends.
        self.writes, self.written = [[] for _ in range(segments)], [[] for _ in range(segments)]
        self.reads, self.asked = [[] for _ in range(segments)], [[] for _ in range(segments)]
        self.open = {"read": set(), "write": set()}
        self.jobs = 0
        clock, reset = dut.clk, dut.rst
        for way, work in (("read", self.to_ram), ("write", self.from_ram)):
            sink = DescSink(DescBus.from_prefix(dut, f"m_axis_{name}_dma_{way}_desc"), clock, reset)
            sink.set_pause_generator(pauses(generator("dma", name, way), 0.3))
            status = StatusSource(StatusBus.from_prefix(dut, f"s_axis_{name}_dma_{way}_desc_status"), clock, reset)
            cocotb.start_soon(self.take(way, sink, status, work))
        cocotb.start_soon(self.ports())

    async def take(self, way, sink, status, work):
        while True:
            desc = await sink.recv()
            tag, length = int(desc.tag), int(desc.len)
            assert length > 0, f"{self.name}: a {way} of nothing"
            assert tag not in self.open[way], f"{self.name}: the tag {tag} is in use"
            assert int(desc.ram_sel) == 0, f"{self.name}: another RAM"
            self.open[way].add(tag)
            cocotb.start_soon(self.run(way, desc, tag, length, status, work))

    async def run(self, way, desc, tag, length, status, work):
        """A descriptor, from when it was taken to its status."""
        await self.wait()
        error = await work(int(desc.dma_addr), int(desc.ram_addr), length)
        await self.wait()
        self.open[way].remove(tag)
        self.jobs += 1
        await status.send(StatusTransaction(tag=tag, error=error))

    async def wait(self):
        await ClockCycles(self.dut.clk, self.rng.randrange(1, self.patience))

    def words(self, at, length):
        """Segment, address, first byte and number of bytes of each word that has some of them."""
        while length > 0:
            word, first = divmod(at, self.bytes_of)
            size = min(self.bytes_of - first, length)
            yield word % self.count, word // self.count, first, size
            at, length = at + size, length - size

    async def to_ram(self, address, at, length):
        if not self.host.inside(address, length):
            return UNSUPPORTED
        data = self.host.store.read(address, length)
        ends = []
        for segment, line, first, size in self.words(at, length):
            piece, data = data[:size], data[size:]
            # Bytes that are not enabled are anything.
            word = bytearray(self.rng.randbytes(self.bytes_of))
            word[first:first + size] = piece
            end = Event()
            enable = (1 << size) - 1 << first
            self.writes[segment].append((line, enable, int.from_bytes(word, "little"), end))
            ends.append(end)
        for end in ends:
            await end.wait()
        return 0

    async def from_ram(self, address, at, length):
        assert self.host.inside(address, length), f"{self.name}: writes {length} bytes at {address:#x}, which is nobody's"
        pieces = []
        for segment, line, first, size in self.words(at, length):
            end = Event()
            answer = {}
            self.reads[segment].append((line, answer, end))
            pieces.append((answer, end, first, size))
        data = bytearray()
        for answer, end, first, size in pieces:
            await end.wait()
            data += answer["word"].to_bytes(self.bytes_of, "little")[first:first + size]
        self.host.store.write(address, data)
        return 0

    async def ports(self):
        """The RAM's ports, in every clock."""
        edge = RisingEdge(self.dut.clk)
        every = range(self.count)
        shown = {"write": [None] * self.count, "read": [None] * self.count}
        takes = [0] * self.count
        while True:
            await edge
            if self.dut.rst.value:
                continue
            if any(shown["write"]) or any(self.writes) or any(self.written):
                ready, done = self.write_ready.get(), self.write_done.get()
                for i in every:
                    if done[i]:
                        assert self.written[i], f"{self.name}: wr_done of segment {i} for nothing"
                        self.written[i].pop(0).set()
                    if shown["write"][i] and ready[i]:
                        self.written[i].append(shown["write"][i][3])
                        shown["write"][i] = None
                    if not shown["write"][i] and self.writes[i] and self.rng.random() < 0.8:
                        shown["write"][i] = self.writes[i].pop(0)
                put = [(1, *command[:3]) if command else (0, 0, 0, 0) for command in shown["write"]]
                for port, values in zip(self.write_commands, zip(*put)):
                    port.put(values)
            else:
                assert not any(self.write_done.get()), f"{self.name}: wr_done for nothing"
            if any(shown["read"]) or any(self.reads) or any(self.asked):
                ready, valid = self.read_ready.get(), self.data_valid.get()
                words = self.data.get() if any(valid) else None
                for i in every:
                    if valid[i] and takes[i]:
                        assert self.asked[i], f"{self.name}: a word of segment {i} that nobody asked for"
                        answer, end = self.asked[i].pop(0)
                        answer["word"] = words[i]
                        end.set()
                    if shown["read"][i] and ready[i]:
                        self.asked[i].append(shown["read"][i][1:])
                        shown["read"][i] = None
                    if not shown["read"][i] and self.reads[i] and self.rng.random() < 0.8:
                        shown["read"][i] = self.reads[i].pop(0)
                put = [(1, command[0]) if command else (0, 0) for command in shown["read"]]
                for port, values in zip(self.read_commands, zip(*put)):
                    port.put(values)
                takes = [int(self.rng.random() < 0.8) for _ in every]
                self.data_ready.put(takes)
