// A plan's hosts on a network that ns-3 simulates.
//
//   host: static library ─pull─> device ══ channel ══> switch: way ─> device ══ ... ─> host
//             ^                  PhyTxEnd                      its queue        receive
//             └ alarm: expire    asks again
//
// ns-3 does here what tessera_net::Network does there: serialisation, links, queues,
// order of events. Nothing of its IP stack is used: packets go from raw device to raw
// device, and a switch asks the library which way.
//
// A packet is as long on the wire as the plan says: a device adds 2 bytes of PPP, so it
// is given 2 less. What switches look at is a header in front; what only hosts
// understand is a tag, which has no length.
//
// Usage: PROGRAM PLAN.json RESULT.csv
//
// SPDX-License-Identifier: MIT OR Apache-2.0. Together with ns-3, which is
// GPL-2.0-only, it may be used and, under that licence, passed on.

#include "host.h"

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

constexpr uint32_t PPP = 2;
constexpr uint64_t NEVER = UINT64_MAX;
// The only kinds of payload that such a device carries are IP's.
constexpr uint16_t PROTOCOL = 0x0800;

/// What switches see of a packet.
class Envelope : public Header
{
  public:
    uint32_t to{0}, from{0}, label{0};
    uint8_t marked{0};

    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("tessera::Envelope").SetParent<Header>().AddConstructor<Envelope>();
        return tid;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    uint32_t GetSerializedSize() const override
    {
        return 13;
    }

    void Serialize(Buffer::Iterator at) const override
    {
        at.WriteU32(to);
        at.WriteU32(from);
        at.WriteU32(label);
        at.WriteU8(marked);
    }

    uint32_t Deserialize(Buffer::Iterator at) override
    {
        to = at.ReadU32();
        from = at.ReadU32();
        label = at.ReadU32();
        marked = at.ReadU8();
        return GetSerializedSize();
    }

    void Print(std::ostream& out) const override
    {
        out << from << " to " << to;
    }
};

/// What only hosts understand of a packet.
class Letter : public Tag
{
  public:
    static inline uint32_t length = 0;
    std::vector<uint8_t> bytes = std::vector<uint8_t>(length);

    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("tessera::Letter").SetParent<Tag>().AddConstructor<Letter>();
        return tid;
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    uint32_t GetSerializedSize() const override
    {
        return length;
    }

    void Serialize(TagBuffer at) const override
    {
        at.Write(bytes.data(), length);
    }

    void Deserialize(TagBuffer at) override
    {
        at.Read(bytes.data(), length);
    }

    void Print(std::ostream& out) const override
    {
        out << length << " bytes";
    }
};

struct Ended
{
    uint64_t delivered{NEVER}, acknowledged{NEVER};
    bool failed{false};
};

uint64_t
Now()
{
    return Simulator::Now().GetPicoSeconds();
}

class Network
{
  public:
    explicit Network(Run* run)
        : m_run(run),
          m_sizes(tns3_sizes(run)),
          m_hosts(m_sizes.hosts),
          m_switches(m_sizes.switches),
          m_sending(m_sizes.ports),
          m_ended(m_sizes.messages)
    {
        Letter::length = m_sizes.packet_bytes;
        RngSeedManager::SetSeed(m_sizes.seed);
        m_random = CreateObject<UniformRandomVariable>();
        for (uint32_t node = 0; node < m_sizes.hosts + m_sizes.switches; node++)
        {
            m_nodes.push_back(CreateObject<Node>());
        }
        for (uint32_t number = 0; number < m_sizes.ports; number++)
        {
            AddDevice(number);
        }
        for (uint32_t number = 0; number < m_sizes.ports; number++)
        {
            Port port = tns3_port(run, number);
            if (port.peer > number)
            {
                auto channel = CreateObject<PointToPointChannel>();
                channel->SetAttribute("Delay", TimeValue(PicoSeconds(port.delay)));
                m_devices[number]->Attach(channel);
                m_devices[port.peer]->Attach(channel);
            }
        }
        for (uint32_t message = 0; message < m_sizes.messages; message++)
        {
            uint32_t from;
            uint64_t at = tns3_posting(run, message, &from);
            Simulator::Schedule(PicoSeconds(at), &Network::Post, this, message, from);
        }
    }

    /// Writes what became of the messages, and what was counted.
    bool Write(const char* path) const
    {
        FILE* file = std::fopen(path, "w");
        if (!file)
        {
            return false;
        }
        Counts counts = tns3_counts(m_run);
        auto count = [file](const char* name, uint64_t value) {
            std::fprintf(file, "# %s %llu\n", name, static_cast<unsigned long long>(value));
        };
        count("sent", counts.sent);
        count("again", counts.again);
        count("control", counts.control);
        count("timeouts", counts.timeouts);
        count("lost", counts.lost);
        count("marked", m_marked);
        count("dropped", m_dropped);
        count("refused", m_refused);
        count("hops", m_hops);
        count("events", Simulator::GetEventCount());
        std::fprintf(file, "message,delivered,acknowledged,failed\n");
        auto time = [](uint64_t at) { return at == NEVER ? std::string() : std::to_string(at); };
        for (uint32_t message = 0; message < m_sizes.messages; message++)
        {
            const Ended& ended = m_ended[message];
            std::fprintf(file,
                         "%u,%s,%s,%d\n",
                         message,
                         time(ended.delivered).c_str(),
                         time(ended.acknowledged).c_str(),
                         ended.failed);
        }
        return std::fclose(file) == 0;
    }

  private:
    struct Host
    {
        uint64_t alarm{NEVER};
        EventId event;
    };

    void AddDevice(uint32_t number)
    {
        Port port = tns3_port(m_run, number);
        auto device = CreateObject<PointToPointNetDevice>();
        auto queue = CreateObject<DropTailQueue<Packet>>();
        queue->SetMaxSize(QueueSize("4000000000B"));
        device->SetQueue(queue);
        device->SetDataRate(DataRate(port.rate));
        device->SetAddress(Mac48Address::Allocate());
        m_nodes[port.node]->AddDevice(device);
        device->TraceConnectWithoutContext(
            "PhyTxBegin",
            Callback<void, Ptr<const Packet>>([this, number](auto) { m_sending[number] = true; }));
        device->TraceConnectWithoutContext(
            "PhyTxEnd",
            Callback<void, Ptr<const Packet>>([this, number](auto) { Sent(number); }));
        if (number < m_sizes.hosts)
        {
            device->SetReceiveCallback(
                [this, number](auto, Ptr<const Packet> packet, uint16_t, const Address&) {
                    Receive(number, packet);
                    return true;
                });
        }
        else
        {
            uint32_t sw = port.node - m_sizes.hosts;
            m_switches[sw].push_back(device);
            device->SetReceiveCallback(
                [this, sw](auto, Ptr<const Packet> packet, uint16_t, const Address&) {
                    Forward(sw, packet);
                    return true;
                });
        }
        m_devices.push_back(device);
    }

    void Post(uint32_t message, uint32_t from)
    {
        tns3_post(m_run, Now(), message);
        Attend(from);
    }

    void Receive(uint32_t host, Ptr<const Packet> arrived)
    {
        m_hops++;
        Envelope envelope;
        arrived->PeekHeader(envelope);
        Letter letter;
        arrived->PeekPacketTag(letter);
        tns3_receive(m_run, host, Now(), envelope.from, envelope.marked, letter.bytes.data());
        Attend(host);
    }

    void Expire(uint32_t host)
    {
        m_hosts[host].alarm = NEVER;
        if (tns3_deadline(m_run, host) <= Now())
        {
            tns3_expire(m_run, host, Now());
        }
        Attend(host);
    }

    void Sent(uint32_t port)
    {
        m_sending[port] = false;
        if (port < m_sizes.hosts)
        {
            // The device is between two packets: it is asked to send after that.
            Simulator::ScheduleNow(&Network::Free, this, port);
        }
    }

    void Free(uint32_t host)
    {
        Pull(host);
        SetAlarm(host);
    }

    /// After all that may have changed a host's mind.
    void Attend(uint32_t host)
    {
        uint32_t message;
        uint32_t end;
        while (tns3_take_done(m_run, host, &message, &end))
        {
            End(message, end);
        }
        Pull(host);
        SetAlarm(host);
    }

    void End(uint32_t message, uint32_t end)
    {
        Ended& ended = m_ended[message];
        switch (end)
        {
        case 0:
            ended.delivered = std::min(ended.delivered, Now());
            m_delivered++;
            Report();
            break;
        case 1:
            ended.acknowledged = Now();
            break;
        default:
            ended.failed = true;
        }
    }

    void SetAlarm(uint32_t host)
    {
        uint64_t due = tns3_deadline(m_run, host);
        Host& state = m_hosts[host];
        if (due >= state.alarm)
        {
            return;
        }
        state.event.Cancel();
        state.alarm = std::max(due, Now());
        state.event =
            Simulator::Schedule(PicoSeconds(state.alarm - Now()), &Network::Expire, this, host);
    }

    /// A host whose device is idle sends its next packet, if it has one.
    void Pull(uint32_t host)
    {
        Leaving leaving;
        Letter letter;
        if (m_sending[host] ||
            !tns3_transmit(m_run, host, Now(), &leaving, letter.bytes.data()))
        {
            return;
        }
        Envelope envelope;
        envelope.to = leaving.to;
        envelope.from = host;
        envelope.label = leaving.label;
        auto packet = Create<Packet>(leaving.bytes - PPP - envelope.GetSerializedSize());
        packet->AddHeader(envelope);
        packet->AddPacketTag(letter);
        Send(host, packet);
    }

    void Forward(uint32_t sw, Ptr<const Packet> arrived)
    {
        m_hops++;
        Envelope envelope;
        auto packet = arrived->Copy();
        packet->PeekHeader(envelope);
        uint32_t port = tns3_way(m_run, sw, envelope.to, envelope.label);
        if (m_sending[port] && !HasRoom(sw, port, packet->GetSize() + PPP))
        {
            m_dropped++;
            return;
        }
        if (!envelope.marked && Marks(m_devices[port]->GetQueue()->GetNBytes()))
        {
            m_marked++;
            packet->RemoveHeader(envelope);
            envelope.marked = 1;
            packet->AddHeader(envelope);
        }
        Send(port, packet);
    }

    /// Whether a packet behind so many bytes is marked: ever more likely from `mark_least`
    /// to `mark_most`.
    bool Marks(uint64_t queued)
    {
        if (m_sizes.mark_most == 0 || queued <= m_sizes.mark_least)
        {
            return false;
        }
        double least = m_sizes.mark_least;
        return queued >= m_sizes.mark_most ||
               m_random->GetValue() < (queued - least) / (m_sizes.mark_most - least);
    }

    void Send(uint32_t port, Ptr<Packet> packet)
    {
        if (!m_devices[port]->Send(packet, m_devices[port]->GetBroadcast(), PROTOCOL))
        {
            m_refused++;
        }
    }

    /// Whether a switch has room for a packet that must wait: of the buffer that its ports
    /// share, a queue may have as much as is free.
    bool HasRoom(uint32_t sw, uint32_t port, uint64_t bytes) const
    {
        uint64_t used = 0;
        for (const auto& device : m_switches[sw])
        {
            used += device->GetQueue()->GetNBytes();
        }
        uint64_t free = m_sizes.buffer - std::min(used, m_sizes.buffer);
        return m_devices[port]->GetQueue()->GetNBytes() + bytes <= free;
    }

    /// A line now and then.
    void Report()
    {
        auto now = std::chrono::steady_clock::now();
        if (now - m_reported > std::chrono::seconds(5))
        {
            m_reported = now;
            std::fprintf(stderr,
                         "  ns-3: %u of %u messages, at %.1f us\n",
                         m_delivered,
                         m_sizes.messages,
                         Now() / 1e6);
        }
    }

    Run* m_run;
    Sizes m_sizes;
    std::vector<Ptr<Node>> m_nodes;
    std::vector<Ptr<PointToPointNetDevice>> m_devices;
    std::vector<Host> m_hosts;
    /// Devices of each switch.
    std::vector<std::vector<Ptr<PointToPointNetDevice>>> m_switches;
    /// By port: a packet is leaving.
    std::vector<bool> m_sending;
    std::vector<Ended> m_ended;
    Ptr<UniformRandomVariable> m_random;
    std::chrono::steady_clock::time_point m_reported{std::chrono::steady_clock::now()};
    uint32_t m_delivered{0};
    uint64_t m_hops{0};
    uint64_t m_marked{0};
    uint64_t m_dropped{0};
    uint64_t m_refused{0};
};

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 3)
    {
        std::fprintf(stderr, "usage: %s PLAN.json RESULT.csv\n", argv[0]);
        return 2;
    }
    // Before any time is made: ns-3 counts in nanoseconds unless told.
    Time::SetResolution(Time::PS);
    Run* run = tns3_open(argv[1]);
    if (!run)
    {
        return 1;
    }
    bool written = false;
    {
        Network network(run);
        Simulator::Run();
        written = network.Write(argv[2]);
        Simulator::Destroy();
    }
    tns3_close(run);
    if (!written)
    {
        std::fprintf(stderr, "cannot write %s\n", argv[2]);
    }
    return written ? 0 : 1;
}
