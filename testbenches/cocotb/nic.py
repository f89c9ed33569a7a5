"""A NIC as its host sees it: registers, tables, rings, completions.

Every number is `abi`'s: testbenches/tests/bus_models writes them to the file that TESSERA_FACTS names.
"""

import json
import os

from cocotbext.axi import AxiResp

with open(os.environ["TESSERA_FACTS"]) as _file:
    FACTS = json.load(_file)

REGS = FACTS["registers"]
SEND, RECV, DONE = FACTS["send"], FACTS["recv"], FACTS["done"]
STATUS = FACTS["status"]

MAC = bytes([0x02, 0x54, 0x53, 0x00, 0x00, 0x01])
IP = bytes([10, 0, 0, 1])
GID = bytes(10) + b"\xff\xff" + IP
QKEY = 0x1234_5678


def little(value, length):
    return value.to_bytes(length, "little")


def table_entry(layout, **fields):
    """Words of a table's entry."""
    entry = 0
    for name, value in fields.items():
        lsb, width = FACTS["fields"][layout][name]
        assert 0 <= value < 1 << width, f"{name} is {value}"
        entry |= value << lsb
    return [entry >> 32 * word & 0xFFFF_FFFF for word in range(FACTS["table_words"])]


class Queue:
    """A completion queue's ring."""

    def __init__(self, host, index, log2):
        self.host, self.index, self.log2 = host, index, log2
        length = FACTS["completion_len"]
        self.base = host.allocate(length << log2, 4096)
        # Nothing that was there passes for an entry.
        host.put(self.base, bytes(length << log2))
        self.head = 0

    def poll(self):
        """The next entry by its fields, if it is there."""
        length = FACTS["completion_len"]
        at = self.base + (self.head & (1 << self.log2) - 1) * length
        entry = self.host.store.read(at, length)
        if entry[DONE["PHASE"]] & 1 == self.head >> self.log2 & 1:
            return None
        self.head += 1
        self.host.accept(at, length)
        field = lambda name, bytes_of: int.from_bytes(entry[DONE[name]:][:bytes_of], "little")
        return {
            "opcode": entry[DONE["OPCODE"]],
            "status": entry[DONE["STATUS"]],
            "flags": entry[DONE["FLAGS"]],
            "endpoint": field("ENDPOINT", 2),
            "entry": field("ENTRY", 2),
            "length": field("LENGTH", 4),
            "tag": field("TAG", 8),
            "peer": field("PEER_ENDPOINT", 4),
            "gid": entry[DONE["PEER_GID"]:][:16],
        }


class Ring:
    """Send or receive entries."""

    def __init__(self, nic, endpoint, log2, length, doorbell):
        self.nic, self.log2, self.length = nic, log2, length
        self.base = nic.host.allocate(length << log2, 4096)
        self.doorbell = FACTS["doorbells"] + FACTS["doorbell_page"] * endpoint + doorbell
        self.tail = 0

    async def post(self, *entries):
        """Writes entries, and rings once for all of them."""
        first = self.tail
        for entry in entries:
            self.nic.host.put(self.base + (self.tail & (1 << self.log2) - 1) * self.length, entry)
            self.tail += 1
        await self.nic.write(self.doorbell, self.tail & 0xFFFF)
        return first


class Endpoint:
    def __init__(self, nic, index, number, send_queue, recv_queue):
        self.nic, self.index, self.number = nic, index, number << 8 | index
        self.send_queue, self.recv_queue = send_queue, recv_queue
        self.sends = Ring(nic, index, 4, FACTS["send_entry_len"], FACTS["doorbell_sq"])
        self.recvs = Ring(nic, index, 4, FACTS["recv_entry_len"], FACTS["doorbell_rq"])

    async def open(self):
        entry = table_entry(
            "endpoint", VALID=1, SEND_ENABLE=1, NUMBER_HI=self.number >> 8, QKEY=QKEY,
            SQ_BASE=self.sends.base, RQ_BASE=self.recvs.base, SQ_LOG2=self.sends.log2,
            RQ_LOG2=self.recvs.log2, SEND_CQ=self.send_queue.index, RECV_CQ=self.recv_queue.index,
        )
        await self.nic.table("endpoint", self.index, entry)


def send_entry(address, length, lkey, to, tag, payload_log2, write=None):
    """A send, or with `write` (key and address) a write to the peer's memory."""
    entry = bytearray(FACTS["send_entry_len"])

    def put(name, data):
        entry[SEND[name]:SEND[name] + len(data)] = data

    put("OPCODE", [FACTS["op_write" if write else "op_send"]])
    put("PAYLOAD_LOG2", [payload_log2])
    put("LENGTH", little(length, 4))
    put("ADDRESS", little(address, 8))
    put("LKEY", little(lkey, 4))
    put("TAG", little(tag, 8))
    put("QKEY", little(QKEY, 4))
    put("ENDPOINT", little(to, 4))
    put("MAC", MAC)
    put("GID", GID)
    if write:
        put("RKEY", little(write[0], 4))
        put("REMOTE_ADDRESS", little(write[1], 8))
    return bytes(entry)


def recv_entry(address, length, lkey):
    entry = bytearray(FACTS["recv_entry_len"])
    for name, data in (("ADDRESS", little(address, 8)), ("LENGTH", little(length, 4)), ("LKEY", little(lkey, 4))):
        entry[RECV[name]:RECV[name] + len(data)] = data
    return bytes(entry)


class Nic:
    """Registers by an AXI-Lite master, from address `base` on."""

    def __init__(self, axil, host, base=0):
        self.axil, self.host, self.base = axil, host, base
        self.seen = 0

    async def read(self, offset):
        answer = await self.axil.read(self.base + offset, 4)
        assert answer.resp == AxiResp.OKAY, f"reading {offset:#x} is answered {answer.resp!r}"
        return int.from_bytes(answer.data, "little")

    async def write(self, offset, value):
        answer = await self.axil.write(self.base + offset, little(value, 4))
        assert answer.resp == AxiResp.OKAY, f"writing {offset:#x} is answered {answer.resp!r}"

    async def register(self, name):
        return await self.read(REGS[name]["offset"])

    async def set(self, name, value):
        await self.write(REGS[name]["offset"], value)

    async def counter(self, name):
        return await self.read(FACTS["counters"][name])

    async def idle(self, name, wanted):
        for _ in range(2000):
            if await self.register(name) & 1 == wanted:
                return
        raise AssertionError(f"{name} does not become {wanted}")

    async def table(self, table, index, words):
        """Writes an entry of a table."""
        for word, value in enumerate(words):
            await self.write(FACTS["table_data"] + 4 * word, value)
        await self.set("TABLE_COMMAND", 1 << 31 | FACTS["tables"][table] << 24 | index)
        await self.idle("TABLE_STATUS", 0)

    async def key(self, index, high, address, length, **rights):
        """A memory key."""
        entry = table_entry("mr", VALID=1, KEY_HI=high, BASE=address, LENGTH=length, **rights)
        await self.table("mr", index, entry)
        return high << 8 | index

    async def open(self, **settings):
        """Addresses and settings, two completion queues (sends, receives), two endpoints."""
        assert await self.register("MAGIC") == FACTS["magic"]
        await self.idle("STATUS", 1)
        await self.set("LOCAL_MAC_HI", int.from_bytes(MAC[:2], "big"))
        await self.set("LOCAL_MAC_LO", int.from_bytes(MAC[2:], "big"))
        await self.set("LOCAL_IP", int.from_bytes(IP, "big"))
        for name, value in settings.items():
            await self.set(name, value)
        await self.set("CONTROL", 1)
        await self.idle("STATUS", 1)
        self.queues = [Queue(self.host, index, 5) for index in range(2)]
        for queue in self.queues:
            await self.table("cq", queue.index, table_entry("cq", VALID=1, LOG2=queue.log2, BASE=queue.base))
        self.endpoints = [Endpoint(self, index, 0x1C0 + index, *self.queues) for index in range(2)]
        for endpoint in self.endpoints:
            await endpoint.open()

    async def consumed(self, queue):
        at = FACTS["doorbells"] + FACTS["doorbell_page"] * queue.index + FACTS["doorbell_cq"]
        await self.write(at, queue.head & 0xFFFF)
