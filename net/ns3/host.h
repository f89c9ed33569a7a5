// Hosts and wiring of a plan, from the static library of this crate: src/abi.rs says
// what each of these does. SPDX-License-Identifier: MIT OR Apache-2.0
#pragma once
#include <cstdint>

extern "C"
{
    struct Run;

    struct Sizes
    {
        uint32_t hosts, switches, ports, messages, packet_bytes, seed;
        uint64_t buffer, mark_least, mark_most;
    };

    struct Port
    {
        uint32_t node, peer;
        uint64_t rate, delay;
    };

    struct Leaving
    {
        uint32_t to, bytes, label;
    };

    struct Counts
    {
        uint64_t sent, again, control, timeouts, lost;
    };

    Run* tns3_open(const char* path);
    Sizes tns3_sizes(const Run* run);
    Port tns3_port(const Run* run, uint32_t port);
    uint32_t tns3_way(const Run* run, uint32_t sw, uint32_t to, uint32_t label);
    uint64_t tns3_posting(const Run* run, uint32_t message, uint32_t* from);
    void tns3_post(Run* run, uint64_t now, uint32_t message);
    void tns3_receive(Run* run, uint32_t host, uint64_t now, uint32_t from, bool marked, const uint8_t* packet);
    uint64_t tns3_deadline(const Run* run, uint32_t host);
    void tns3_expire(Run* run, uint32_t host, uint64_t now);
    bool tns3_transmit(Run* run, uint32_t host, uint64_t now, Leaving* leaving, uint8_t* packet);
    bool tns3_take_done(Run* run, uint32_t host, uint32_t* message, uint32_t* end);
    Counts tns3_counts(const Run* run);
    void tns3_close(Run* run);
}
