"""Reliable messages of a NIC to itself: what is posted, and what has to come of it."""

from cocotb.triggers import First, RisingEdge, Timer

import nic as abi
from nic import FACTS, recv_entry, send_entry

# Timers as short as one wire of Python's allows, so that a lost frame costs a few thousand clocks.
QUICK = dict(RTO=120, RTT_DEFAULT=24, SKEW0=24, ANSWER0=60, GUARD=4, D_MIN=8)


class Exchange:
    """Posts messages between the two endpoints of a NIC and judges completions."""

    def __init__(self, nic, host, rng):
        self.nic, self.host, self.rng = nic, host, rng
        self.sent, self.buffers, self.received = {}, {}, set()
        self.sends_open = self.entries = 0
        # Numbers that statuses other than success are expected of.
        self.ends = {}

    async def keys(self, length):
        """Three regions: to send from, to receive into, to write into from afar."""
        nic, host = self.nic, self.host
        self.regions = {}
        for index, (name, rights) in enumerate(
            (("source", {}), ("sink", {"LOCAL_WRITE": 1}), ("remote", {"REMOTE_WRITE": 1, "LOCAL_WRITE": 1}))
        ):
            address = host.allocate(length)
            # No region begins or ends where a beat does.
            self.regions[name] = [await nic.key(index + 3, 0xABC00 + index, address, length, **rights), address]
            self.regions[name].append(address + length)

    def piece(self, region, length, number):
        """Key and address of `length` bytes of a region: one time in three they begin with 4 KiB, else
        they lie across, if there are two of them."""
        key, at, end = self.regions[region]
        at += self.rng.randrange(1, 100)
        if number % 3 == 0:
            at += -at % 4096
        elif length > 1:
            at += (-self.rng.randrange(1, min(length, 4096)) - at) % 4096
        assert at + length <= end, f"the region {region} is used up"
        self.regions[region][1] = at + length
        return key, at

    async def receive(self, endpoint, count, capacity):
        entries = []
        for _ in range(count):
            key, at = self.piece("sink", capacity, len(self.buffers))
            self.buffers[endpoint, self.nic.endpoints[endpoint].recvs.tail + len(entries)] = at, capacity
            entries.append(recv_entry(at, capacity, key))
        await self.nic.endpoints[endpoint].recvs.post(*entries)

    async def send(self, endpoint, length, payload_log2, write=False, ends=None):
        """A message from an endpoint to the other one."""
        nic, number = self.nic, len(self.sent)
        key, at = self.piece("source", length, number)
        data = self.rng.randbytes(length)
        self.host.put(at, data)
        remote = self.piece("remote", length, number) if write else None
        tag = 0xFACE_0000_0000_0000 | number
        entry = send_entry(at, length, key, nic.endpoints[1 - endpoint].number, tag, payload_log2, remote)
        first = await nic.endpoints[endpoint].sends.post(entry)
        self.sent[endpoint, first] = dict(to=1 - endpoint, data=data, tag=tag, remote=remote, at=at)
        if ends:
            self.ends[tag] = ends
        self.sends_open += 1
        return at

    def look(self):
        """Takes what is in the completion queues; how many entries."""
        found = 0
        for queue in self.nic.queues:
            while (done := queue.poll()) is not None:
                found += 1
                (self.sending if done["opcode"] == FACTS["done_send"] else self.arrived)(done)
        return found

    def sending(self, done):
        message = self.sent[done["endpoint"], done["entry"]]
        assert not message.get("ended"), f"a send ended twice: {done}"
        message["ended"] = True
        wanted = self.ends.get(message["tag"], ("success", "success"))[0]
        assert done["status"] == abi.STATUS[wanted], f"not {wanted}: {done}"
        self.sends_open -= 1
        if message["remote"]:
            at, data = message["remote"][1], message["data"]
            assert self.host.store.read(at, len(data)) == data, f"{len(data)} bytes at {at:#x} were not written"
            self.host.expect(at, data)
            self.received.add(message["tag"])

    def arrived(self, done):
        assert done["opcode"] == FACTS["done_recv"], f"neither a send nor a receive: {done}"
        message = next((m for m in self.sent.values() if m["tag"] == done["tag"]), None)
        assert message, f"nobody sent {done}"
        assert message["to"] == done["endpoint"], f"it came to another endpoint: {done}"
        assert done["tag"] not in self.received, f"it came twice: {done}"
        self.received.add(done["tag"])
        at, capacity = self.buffers.pop((done["endpoint"], done["entry"]))
        wanted = self.ends.get(done["tag"], ("success", "success"))[1]
        assert done["status"] == abi.STATUS[wanted], f"not {wanted}: {done}"
        if wanted != "success":
            # What has come of it so far may be there.
            self.host.accept(at, capacity)
            return
        data = message["data"]
        assert done["length"] == len(data), f"of {len(data)} bytes: {done}"
        assert done["gid"] == abi.GID and done["peer"] == self.nic.endpoints[1 - done["endpoint"]].number, f"{done}"
        there = self.host.store.read(at, len(data))
        assert there == data, f"{len(data)} bytes at {at:#x} are not what was sent: {done}"
        self.host.expect(at, data)

    def over(self):
        return self.sends_open == 0 and len(self.received) == len(self.sent)

    async def finish(self, wait, seen):
        """Until all of it has ended: `wait` for the interrupt, look, say what is `seen`."""
        nic, count = self.nic, 0
        # The last entry may be in memory before the NIC has heard so and counts it.
        while not self.over() or count < self.entries:
            await wait()
            count = await nic.register("INTERRUPT_COUNT")
            self.entries += self.look()
            # What is counted is in memory.
            assert self.entries >= count, f"{count} entries are said to be there, {self.entries} are"
            for queue in nic.queues:
                await nic.consumed(queue)
            await seen(count)
        return self.entries


async def rise(wire, what, microseconds=60):
    """Waits for a level."""
    if not wire.value:
        limit = Timer(microseconds, "us")
        assert await First(RisingEdge(wire), limit) is not limit, f"{what} does not rise"
