#!/usr/bin/env python3
# A LiteX SoC with Tessera and no processor, to copy from: docs/shells.md.
#
#   python3 litex_soc.py --bus wishbone --config nic64 --verilog tessera_nic64_axi.v --out soc.v
#
# Beside it: tessera_litex.py, and the export. soc.v instantiates what that has: a project takes both.
#
#   pins s_axil ──> soc.bus ──> registers of LiteX       where a processor or a bridge would be
#                      └──────> Tessera ──> pins m_axi    where host memory would: an AXI slave that honours strobes
#                                  └──────> pins m_axis, s_axis, irq     where the MAC would
#
# testbenches/tests/shells/litex.rs has LiteX make it on each bus, and two of it exchange messages.

import argparse
import os

from migen import ClockDomain
from litex.build.generic_platform import GenericPlatform, Pins, Subsignal
from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCMini
from litex.soc.interconnect import axi

from tessera_litex import Tessera

ORIGIN = 0x4000_0000  # a multiple of the window's 2 MiB
WINDOW = 0x20_0000

CLOCK = [("clk", 0, Pins(1)), ("rst", 0, Pins(1))]


def stream_pins(name, width, *more):
    fields = [("tvalid", 1), ("tready", 1), ("tlast", 1), ("tdata", width), ("tkeep", width // 8), *more]
    return (name, 0, *[Subsignal(field, Pins(bits)) for field, bits in fields])


class Clocks(LiteXModule):
    """One clock, and a reset that is active high."""
    def __init__(self, platform):
        self.cd_sys = ClockDomain()
        self.comb += self.cd_sys.clk.eq(platform.request("clk"))
        self.comb += self.cd_sys.rst.eq(platform.request("rst"))


class Soc(SoCMini):
    def __init__(self, platform, bus, verilog, config, clk_freq=250e6):
        self.crg = Clocks(platform)
        # So many clocks after which LiteX answers where nobody is; the NIC takes a few.
        SoCMini.__init__(self, platform, clk_freq, bus_standard=bus, bus_timeout=256)

        # Who reads and writes registers.
        host = axi.AXILiteInterface(data_width=32, address_width=32)
        platform.add_extension(host.get_ios("s_axil"))
        self.comb += host.connect_to_pads(platform.request("s_axil"), mode="slave")
        self.bus.add_master("host", host)

        # The NIC and its registers.
        self.tessera = tessera = Tessera(platform, verilog, config=config)
        self.bus.add_slave("tessera", tessera.bus, SoCRegion(origin=ORIGIN, size=WINDOW, cached=False))

        # Host memory.
        platform.add_extension(tessera.memory.get_ios("m_axi"))
        self.comb += tessera.memory.connect_to_pads(platform.request("m_axi"), mode="master")

        # The MAC, and interrupts.
        width = len(tessera.sink.data)
        platform.add_extension([stream_pins("s_axis", width, ("tuser", 1)), stream_pins("m_axis", width), ("irq", 0, Pins(1))])
        source, sink = tessera.source, tessera.sink
        pins = platform.request("m_axis")
        self.comb += [
            pins.tvalid.eq(source.valid), source.ready.eq(pins.tready), pins.tlast.eq(source.last),
            pins.tdata.eq(source.data), pins.tkeep.eq(source.keep),
        ]
        pins = platform.request("s_axis")
        self.comb += [
            sink.valid.eq(pins.tvalid), pins.tready.eq(sink.ready), sink.last.eq(pins.tlast),
            sink.data.eq(pins.tdata), sink.keep.eq(pins.tkeep), sink.error.eq(pins.tuser),
        ]
        self.comb += platform.request("irq").eq(tessera.irq)


def main():
    parser = argparse.ArgumentParser(description="Verilog of a LiteX SoC with Tessera")
    parser.add_argument("--bus", choices=["wishbone", "axi-lite", "axi"], default="wishbone")
    parser.add_argument("--config", default="nic64")
    parser.add_argument("--verilog", help="its export [default: tessera_CONFIG_axi.v]")
    parser.add_argument("--name", default="soc")
    parser.add_argument("--out", default="soc.v")
    args = parser.parse_args()
    verilog = args.verilog or f"tessera_{args.config}_axi.v"
    if not os.path.isfile(verilog):
        parser.error(f"there is no {verilog}: cargo tessera export --config {args.config} --shell axi --out {verilog}")
    platform = GenericPlatform("", CLOCK)  # a board's has a device's name, and pins
    soc = Soc(platform, args.bus, verilog, args.config)
    soc.finalize()
    platform.get_verilog(soc, name=args.name).write(args.out)


if __name__ == "__main__":
    main()
