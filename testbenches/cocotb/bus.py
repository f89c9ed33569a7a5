"""What the benches share: seeded pauses, offers that stay, a host's memory, frames on a wire."""

import os
import random

from cocotb.triggers import RisingEdge
from cocotbext.axi.sparse_memory import SparseMemory

SEED = int(os.environ["TESSERA_SEED"])
# Which wire of the wrapper is broken on purpose: 0, none.
FAULT = int(os.environ.get("TESSERA_FAULT", "0"))


def generator(*what):
    """Random numbers of the seed, for one purpose."""
    return random.Random(f"{SEED} {what}")


def pauses(rng, chance):
    """Runs of clocks in which a bus waits, and in which it does not."""
    while True:
        waits = rng.random() < chance
        for _ in range(rng.choice((1, 1, 1, 2, 3, 9))):
            yield waits


def pause(name, chance, **channels):
    for channel, bus in channels.items():
        bus.set_pause_generator(pauses(generator(name, channel), chance))


async def held(clock, reset, name, valid, ready, *data):
    """What is offered stays as it is until it is taken."""
    edge = RisingEdge(clock)
    before = None
    while True:
        await edge
        if reset.value:
            before = None
            continue
        offered = bool(valid.value)
        if before is not None:
            assert offered, f"{name}: an offer was taken back"
            assert [wire.value for wire in data] == before, f"{name}: an offer changed before it was taken"
        before = [wire.value for wire in data] if offered and not ready.value else None


class Host:
    """Memory of which the NIC may change what it was given, and nothing else."""

    def __init__(self, rng, base=0x12_3456_7000, size=1 << 21):
        self.rng, self.base, self.size = rng, base, size
        # Python's len() allows for no more.
        self.store = SparseMemory(1 << 62)
        self.expected = bytearray(rng.randbytes(size))
        self.store.write(base, self.expected)
        self.top = 0

    def allocate(self, length, align=1, offset=0):
        """Some of it, at an address that is `offset` above a multiple of `align`."""
        self.top += self.rng.randrange(1, 130)
        self.top += -(self.base + self.top - offset) % align
        address = self.base + self.top
        self.top += length
        assert self.top <= self.size, "the host's memory is used up"
        return address

    def inside(self, address, length):
        return self.base <= address and address + length <= self.base + self.size

    def expect(self, address, data):
        """The NIC is to write this."""
        self.expected[address - self.base:address - self.base + len(data)] = data

    def put(self, address, data):
        """The host writes this."""
        self.store.write(address, data)
        self.expect(address, data)

    def accept(self, address, length):
        """What is there is right, since somebody looked."""
        self.expect(address, self.store.read(address, length))

    def check(self):
        there = self.store.read(self.base, self.size)
        wrong = [at for at in range(self.size) if there[at] != self.expected[at]] if there != self.expected else []
        assert not wrong, (
            f"{len(wrong)} bytes of host memory are not as they should be, "
            f"from {self.base + wrong[0]:#x} to {self.base + wrong[-1]:#x}"
        )
        pages = range(self.base, self.base + self.size, 4096)
        outside = [page for page in self.store.segs if page not in pages]
        assert not outside, f"written outside of host memory: {[hex(page) for page in outside]}"


def check_frame(frame):
    """A frame of the NIC's has the length that its own headers say."""
    assert frame[12:14] == b"\x08\x00", f"not IPv4: {frame[:16].hex()}"
    total = int.from_bytes(frame[16:18], "big")
    assert len(frame) == total + 14, f"a frame of {len(frame)} bytes whose IP length is {total}"
    assert frame[36:38] == (4791).to_bytes(2, "big"), "not RoCE"


def check_keep(frame, lanes):
    """`tkeep` of a frame that a sink received uncompacted: all ones but at its end, no holes."""
    keep = "".join(str(bit) for bit in frame.tkeep)
    assert "01" not in keep, f"tkeep has a hole: {keep[-2 * lanes:]}"
    assert "0" not in keep[:-lanes] and keep[-lanes] == "1", f"a beat in the middle is not whole: {keep[-2 * lanes:]}"
