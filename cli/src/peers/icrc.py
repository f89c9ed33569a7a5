"""Checks the ICRC of every RoCEv2 frame of a pcapng file: written from the InfiniBand
specification's annex A17 and with zlib's CRC, so that it shares nothing with what made them."""

import struct
import sys
import zlib


def frames(data):
    """The frames of a little-endian pcapng file."""
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if length < 12 or at + length > len(data):
            sys.exit(f"block at byte {at} is cut short")
        if kind == 6:  # enhanced packet
            (captured,) = struct.unpack_from("<I", data, at + 20)
            yield data[at + 28 : at + 28 + captured]
        at += length


def expected(frame):
    """What the last four bytes are to be; None if the frame is not RoCEv2's."""
    ip = 14
    while frame[ip - 2 : ip] == b"\x81\x00":
        ip += 4
    ether = frame[ip - 2 : ip]
    if ether == b"\x08\x00":
        header, protocol, end = (frame[ip] & 15) * 4, frame[ip + 9], struct.unpack_from(">H", frame, ip + 2)[0]
        variable = [1, 8, 10, 11]  # TOS, TTL, checksum
    elif ether == b"\x86\xdd":
        header, protocol, end = 40, frame[ip + 6], 40 + struct.unpack_from(">H", frame, ip + 4)[0]
        variable = [1, 2, 3, 7]  # traffic class, flow label, hop limit
    else:
        return None
    udp = ip + header
    if protocol != 17 or struct.unpack_from(">H", frame, udp + 2)[0] != 4791:
        return None
    masked = bytearray(frame[ip : ip + end - 4])
    for byte in variable + [header + 6, header + 7, header + 12]:  # UDP checksum, BTH's FECN and reserved
        masked[byte] = 0xFF
    if ether == b"\x86\xdd":
        masked[0] |= 0x0F
    crc = zlib.crc32(b"\xff" * 8 + masked)
    return struct.pack("<I", crc), frame[ip + end - 4 : ip + end]


def main():
    checked = wrong = other = 0
    with open(sys.argv[1], "rb") as file:
        for number, frame in enumerate(frames(file.read())):
            both = expected(frame)
            if both is None:
                other += 1
                continue
            checked += 1
            if both[0] != both[1]:
                wrong += 1
                print(f"frame {number}: ICRC {both[1].hex()}, by its bytes {both[0].hex()}")
    print(f"{checked} ICRCs checked, {wrong} wrong, {other} other frames")
    sys.exit(1 if wrong or not checked else 0)


main()
