"""Plays a recorded run to a NIC under cocotb and compares what comes out.

The record (JSON, see sim/src/nic/record.rs) is named by TESSERA_RECORD; clocks,
seconds of processor time from the end of the reset on, and how many bits that
were compared had no value, go to the file TESSERA_RESULT names; the same of the
clocks so far to that of TESSERA_PROGRESS, about once a second: a run that takes
too long is stopped from outside.
"""

import json
import os
import time

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

RESET_CLOCKS = 4


def number(words):
    """A value of 64-bit words, least significant first."""
    return sum(word << (64 * place) for place, word in enumerate(words))


def unknown(got, value):
    """How many bits of `got` are unknown where it is `value` but for them.

    A memory holds nothing before it is written; Verilator, and so the record,
    says zero there.
    """
    bits = str(got)
    wanted = f"{value:0{len(bits)}b}"
    assert all(a == b or a in "XxUu" for a, b in zip(bits, wanted)), f"{bits} is not {wanted}"
    return sum(a in "XxUu" for a in bits)


def tell(file, clocks, seconds, without_value):
    """Writes what was measured, whole or not at all."""
    with open(file + ".partial", "w") as partial:
        json.dump({"clocks": clocks, "seconds": seconds, "unknown": without_value}, partial)
    os.replace(file + ".partial", file)


@cocotb.test()
async def replay(dut):
    with open(os.environ["TESSERA_RECORD"]) as file:
        record = json.load(file)
    inputs = [getattr(dut, name) for name in record["inputs"]]
    outputs = [getattr(dut, name) for name in record["outputs"]]
    steps = [
        ([(inputs[place], number(words)) for place, words in step["set"]],
         [(place, number(words)) for place, words in step["see"]])
        for step in record["steps"]
    ]
    plain = [(place, outputs[place]) for place in record["plain"]]
    streams = [
        (stream["valid"], [(place, outputs[place]) for place in stream["data"]])
        for stream in record["streams"]
    ]
    for port in inputs:
        port.value = 0
    dut.rst.value = 1
    # The clock that costs least: without Python.
    Clock(dut.clk, 2, unit="step", impl="gpi").start()
    for _ in range(RESET_CLOCKS):
        await FallingEdge(dut.clk)
    dut.rst.value = 0

    expected = [0] * len(outputs)
    edge = FallingEdge(dut.clk)
    without_value = 0
    progress = os.environ["TESSERA_PROGRESS"]
    told = 0
    begun = time.process_time()
    for clock, (changes, seen) in enumerate(steps):
        for port, value in changes:
            port.value = value
        await edge
        for place, value in seen:
            expected[place] = value
        for place, port in plain:
            assert int(port.value) == expected[place], f"clock {clock}: {record['outputs'][place]} differs"
        for valid, data in streams:
            if expected[valid]:
                for place, port in data:
                    got = port.value
                    try:
                        same = int(got) == expected[place]
                    except ValueError:
                        without_value += unknown(got, expected[place])
                        same = True
                    assert same, f"clock {clock}: {record['outputs'][place]} differs"
        if clock % 16 == 15 and time.process_time() - begun >= told + 1:
            told = time.process_time() - begun
            tell(progress, clock + 1, told, without_value)
    seconds = time.process_time() - begun
    tell(os.environ["TESSERA_RESULT"], len(steps), seconds, without_value)
