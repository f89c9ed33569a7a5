# Tessera in a LiteX SoC, as an Instance(): docs/shells.md.
#
# Beside this file: the export of a configuration,
# `cargo tessera export --config nic64 --shell axi --out tessera_nic64_axi.v`.
#
#   class Tessera: bus (AXI-Lite, registers), memory (AXI, host memory), sink (frames received),
#   source (frames to be sent), each an interface of LiteX; irq, a level for the SoC's interrupts.

import re

from migen import ClockSignal, Instance, ResetSignal, Signal
from litex.gen import LiteXModule
from litex.soc.interconnect import axi, stream


def frame_layout(data_width):
    """A frame's beats as Tessera has them: keep is contiguous from bit 0, without FCS."""
    return [("data", data_width), ("keep", data_width // 8), ("error", 1)]


class Tessera(LiteXModule):
    def __init__(self, platform, verilog, config="nic64", data_width=None):
        # nic64 and nic64_no_ipv6 have beats of 64 bits.
        named = re.match(r"nic(\d+)(_|$)", config)
        if data_width is None and named is None:
            raise ValueError(f"{config}: its name does not say how wide its streams are; give data_width")
        data_width = data_width or int(named[1])
        # As wide as a SoC's bus, which is where adapters want it; the window is the lowest 2 MiB of it.
        self.bus    = axi.AXILiteInterface(data_width=32, address_width=32)
        self.memory = axi.AXIInterface(data_width=data_width, address_width=64, id_width=1)
        self.sink   = stream.Endpoint(frame_layout(data_width))
        self.source = stream.Endpoint(frame_layout(data_width))
        self.irq    = Signal()

        bus, memory, sink, source = self.bus, self.memory, self.sink, self.source
        ports = dict(
            i_clk = ClockSignal("sys"),
            i_rst = ResetSignal("sys"),
            o_irq = self.irq,

            # Frames from the MAC, which has taken the FCS off; "error" counts with the last beat.
            i_s_axis_tvalid = sink.valid,
            o_s_axis_tready = sink.ready,
            i_s_axis_tlast  = sink.last,
            i_s_axis_tdata  = sink.data,
            i_s_axis_tkeep  = sink.keep,
            i_s_axis_tuser  = sink.error,

            # Frames to the MAC, which adds the FCS.
            o_m_axis_tvalid = source.valid,
            i_m_axis_tready = source.ready,
            o_m_axis_tlast  = source.last,
            o_m_axis_tdata  = source.data,
            o_m_axis_tkeep  = source.keep,

            i_m_axi_rlast   = memory.r.last,
            o_m_axi_wlast   = memory.w.last,
        )
        # Channels: what the one that sends gives, and who sends.
        for name, channel, fields, sends in [
            ("s_axil_aw", bus.aw,    ["addr"],         False),
            ("s_axil_w",  bus.w,     ["data", "strb"], False),
            ("s_axil_b",  bus.b,     ["resp"],         True),
            ("s_axil_ar", bus.ar,    ["addr"],         False),
            ("s_axil_r",  bus.r,     ["data", "resp"], True),
            ("m_axi_aw",  memory.aw, ["id", "addr", "len", "size", "burst", "lock", "cache", "prot"], True),
            ("m_axi_w",   memory.w,  ["data", "strb"], True),
            ("m_axi_b",   memory.b,  ["id", "resp"],   False),
            ("m_axi_ar",  memory.ar, ["id", "addr", "len", "size", "burst", "lock", "cache", "prot"], True),
            ("m_axi_r",   memory.r,  ["id", "data", "resp"], False),
        ]:
            gives, takes = ("o", "i") if sends else ("i", "o")
            for field in ["valid"] + fields:
                ports[f"{gives}_{name}{field}"] = getattr(channel, field)
            if name in ("s_axil_aw", "s_axil_ar"):
                ports[f"{gives}_{name}addr"] = channel.addr[:21]
            ports[f"{takes}_{name}ready"] = channel.ready

        self.specials += Instance(f"tessera_{config}_axi", **ports)
        platform.add_source(verilog)
