//! What a switch does with a packet that must wait.

use crate::fabric::{Switching, LARGEST};
use crate::network::{Event, Network, NONE, TRIMMED};
use crate::transport::{Transport, CONTROL};

impl<T: Transport> Network<T> {
    /// A packet that must wait: admitted, cut or dropped.
    pub(super) fn enqueue(&mut self, switch: u32, port: u32, index: u32) {
        let Switching { buffer, alpha, ecn, trim, pfc, .. } = self.switching;
        let used = self.used[switch as usize];
        let packet = &mut self.packets[index as usize];
        let queued = self.ports[port as usize].queues[packet.class as usize].bytes as u64;
        let room = buffer.saturating_sub(used);
        let share = if pfc || packet.class == CONTROL { room } else { (room as f64 * alpha) as u64 };
        if packet.bytes as u64 > room || (!pfc && queued + packet.bytes as u64 > share) {
            if trim && packet.trimmable && !packet.trimmed && TRIMMED as u64 <= room {
                packet.trimmed = true;
                packet.bytes = TRIMMED;
                packet.class = CONTROL;
                self.counts.trimmed += 1;
                self.counts.gone += u64::from(packet.payload);
            } else {
                self.counts.dropped += 1;
                return self.lose(index);
            }
        }
        if packet.class != CONTROL {
            if let Some(ecn) = ecn {
                if !packet.ce && ecn.marks(queued, &mut self.rng) {
                    packet.ce = true;
                    self.counts.marked += 1;
                }
            }
        }
        let (bytes, class, from) = (packet.bytes, packet.class, packet.port);
        packet.next = NONE;
        self.used[switch as usize] += bytes as u64;
        self.counts.fullest = self.counts.fullest.max(self.used[switch as usize]);
        let state = &mut self.ports[port as usize];
        let queue = &mut state.queues[class as usize];
        let last = queue.tail;
        queue.tail = index;
        queue.bytes += bytes;
        if last == NONE {
            queue.head = index;
        }
        if !(state.waking || state.paused && class != CONTROL) {
            state.waking = true;
            let free = state.busy.max(self.now);
            self.wheel.put(free, Event::Free(port));
        }
        if last != NONE {
            self.packets[last as usize].next = index;
        }
        if pfc && class != CONTROL {
            self.hold(switch, from, bytes);
        }
    }

    pub(super) fn dequeue(&mut self, port: u32) -> Option<u32> {
        let state = &mut self.ports[port as usize];
        let open = if state.paused { 1 } else { state.queues.len() };
        for queue in &mut state.queues[..open] {
            if queue.head != NONE {
                let index = queue.head;
                let packet = &self.packets[index as usize];
                queue.head = packet.next;
                queue.bytes -= packet.bytes;
                if queue.head == NONE {
                    queue.tail = NONE;
                }
                return Some(index);
            }
        }
        None
    }

    /// A packet begins to leave a switch's buffer.
    pub(super) fn release(&mut self, port: u32, index: u32) {
        let packet = &self.packets[index as usize];
        let switch = self.ports[port as usize].node - self.topology.hosts();
        self.used[switch as usize] -= packet.bytes as u64;
        if self.switching.pfc && packet.class != CONTROL {
            let (from, bytes) = (packet.port, packet.bytes);
            self.unhold(switch, from, bytes);
        }
    }

    /// PFC: bytes that came in by a port are kept.
    fn hold(&mut self, switch: u32, from: u32, bytes: u32) {
        let stop = self.stop[switch as usize];
        let state = &mut self.ports[from as usize];
        state.held += bytes;
        if state.held > stop && !state.pausing {
            state.pausing = true;
            self.counts.pauses += 1;
            let at = self.now + state.delay;
            self.wheel.put(at, Event::Pause(self.topology.peer(from).1));
        }
    }

    fn unhold(&mut self, switch: u32, from: u32, bytes: u32) {
        let stop = self.stop[switch as usize];
        let state = &mut self.ports[from as usize];
        state.held -= bytes;
        if state.pausing && state.held + 2 * LARGEST <= stop {
            state.pausing = false;
            let at = self.now + state.delay;
            self.wheel.put(at, Event::Resume(self.topology.peer(from).1));
        }
    }
}
