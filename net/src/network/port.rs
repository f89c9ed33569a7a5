//! What a port does: a host's asks its transport, a switch's serves its queues.

use super::{Event, Network, Packet, NONE};
use crate::transport::{Departing, Transport, CONTROL};

impl<T: Transport> Network<T> {
    /// Sends if a port is idle and has something.
    pub(super) fn kick(&mut self, port: u32) {
        if self.ports[port as usize].waking {
            return;
        }
        if self.ports[port as usize].busy > self.now {
            // Hosts are asked when the link is free, switches when something waits.
            let free = self.ports[port as usize].busy;
            self.ports[port as usize].waking = true;
            self.wheel.put(free, Event::Free(port));
            return;
        }
        self.serve(port);
    }

    pub(super) fn free(&mut self, port: u32) {
        self.ports[port as usize].waking = false;
        self.serve(port);
    }

    /// An idle port sends the next packet, if any.
    fn serve(&mut self, port: u32) {
        if port < self.topology.hosts() {
            return self.serve_host(port);
        }
        let Some(packet) = self.dequeue(port) else { return };
        self.release(port, packet);
        self.send(port, packet);
        let state = &mut self.ports[port as usize];
        let open = if state.paused { 1 } else { state.queues.len() };
        let waits = state.queues[..open].iter().any(|queue| queue.head != NONE);
        if waits {
            state.waking = true;
            let free = state.busy;
            self.wheel.put(free, Event::Free(port));
        }
    }

    fn serve_host(&mut self, host: u32) {
        if self.ports[host as usize].paused {
            return;
        }
        let Some(leaving) = self.hosts[host as usize].transmit(self.now) else {
            // Who has something, but not yet, has set a clock.
            return self.set_alarm(host);
        };
        let packet = self.new_packet(host, &leaving);
        self.send(host, packet);
        let state = &mut self.ports[host as usize];
        state.waking = true;
        let free = state.busy;
        self.wheel.put(free, Event::Free(host));
        // What has been sent may have set a clock.
        self.set_alarm(host);
    }

    fn new_packet(&mut self, host: u32, leaving: &Departing<T::Header>) -> u32 {
        let packet = Packet {
            to: leaving.to,
            from: host,
            bytes: leaving.bytes,
            label: leaving.label,
            next: NONE,
            port: NONE,
            class: if self.switching.control_first && !leaving.payload { CONTROL } else { leaving.class },
            payload: leaving.payload,
            trimmable: leaving.trimmable,
            trimmed: false,
            ce: false,
        };
        match self.vacant.pop() {
            Some(index) => {
                self.packets[index as usize] = packet;
                self.headers[index as usize] = Some(leaving.header);
                index
            }
            None => {
                self.packets.push(packet);
                self.headers.push(Some(leaving.header));
                self.packets.len() as u32 - 1
            }
        }
    }

    /// Puts a packet on the link of an idle port.
    #[inline]
    pub(super) fn send(&mut self, port: u32, packet: u32) {
        let state = &mut self.ports[port as usize];
        let sent = &mut self.packets[packet as usize];
        state.busy = self.now + state.rate.time_of(sent.bytes as u64);
        let mut arrival = state.busy + state.delay;
        if sent.payload && port < self.topology.hosts() {
            arrival += self.latency.read;
        }
        sent.port = self.topology.peer(port).1;
        if !state.up {
            self.counts.severed += 1;
            return self.lose(packet);
        }
        if port < self.topology.hosts() && self.losses.loses(port) {
            self.counts.lost += 1;
            return self.lose(packet);
        }
        self.wheel.put(arrival, Event::Arrive(packet));
    }
}
