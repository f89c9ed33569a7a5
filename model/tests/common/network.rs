//! What happens by itself: frames on their way, timers, what NICs tell their hosts.

use super::*;

impl World {
    pub(super) fn schedule(&mut self, at: u64, event: Event) {
        self.serial += 1;
        self.events.push(Reverse((at, self.serial)));
        self.pending.insert(self.serial, event);
    }

    /// Puts a frame on the wire towards `node`, arriving at `at`.
    pub fn inject(&mut self, node: usize, at: u64, frame: Vec<u8>) {
        self.schedule(at, Event::Arrive(node, frame));
    }

    /// Asks `run` to hand `id` back at `at`.
    pub fn wake(&mut self, at: u64, id: u64) {
        self.schedule(at, Event::Custom(id));
    }

    pub(super) fn drain(&mut self, node: usize) {
        while let Some(write) = self.nodes[node].nic.poll_write() {
            self.see(node, || Seen::Write { address: write.address, bytes: write.bytes.clone() });
            let this = &mut self.nodes[node];
            let end = write.address + write.bytes.len() as u64;
            let inside = this.recvs.values().any(|buffer| {
                buffer.open
                    && write.address >= buffer.entry.address
                    && end <= buffer.entry.address + buffer.entry.length as u64
            });
            let window = this.windows.range(..=write.address).next_back();
            let inside = inside || window.is_some_and(|(start, (len, _))| end <= start + *len as u64);
            assert!(
                inside,
                "write of {} bytes at {:#x} outside every open buffer",
                write.bytes.len(),
                write.address
            );
            let at = (write.address - BASE) as usize;
            this.memory[at..at + write.bytes.len()].copy_from_slice(&write.bytes);
        }
        while let Some(done) = self.nodes[node].nic.poll_completion() {
            self.see(node, || Seen::Done(done));
            self.complete(node, done);
        }
        let receiver = self.nodes[node].nic.receiver();
        assert_eq!(receiver.outstanding(), receiver.outstanding_by_context(), "GR-1: credit disagrees");
    }

    fn complete(&mut self, node: usize, done: Completion) {
        let clock = self.clock;
        self.nodes[node].done.push((clock, done));
        if done.status != Status::Success as u8 {
            self.errors.push((node, done));
        }
        let this = &mut self.nodes[node];
        match done.opcode {
            DONE_SEND => {
                let entry = this.sends.remove(&(done.endpoint, done.entry)).expect("one completion per send");
                assert_eq!(
                    (done.tag, done.length, done.immediate),
                    (entry.tag, entry.length, entry.immediate)
                );
                if self.scribble {
                    let at = (entry.address - BASE) as usize;
                    this.memory[at..at + entry.length as usize].fill(0xEE);
                }
            }
            DONE_RECV => {
                let buffer = this.recvs.get_mut(&(done.ring, done.entry)).expect("a posted receive");
                assert!(buffer.open, "one completion per receive");
                buffer.open = false;
                if done.write {
                    assert!(done.immediate.is_some(), "a write without immediate takes no receive");
                } else if done.status == Status::Success as u8 {
                    let start = (buffer.entry.address - BASE) as usize;
                    let at = start + chunks::offset(&buffer.entry) as usize;
                    let good =
                        (0..done.length as u64).all(|i| this.memory[at + i as usize] == byte(done.tag, i));
                    assert!(good, "message {:#x} arrived damaged", done.tag);
                    let guard = &this.memory[start + buffer.entry.length as usize..][..64];
                    assert!(guard.iter().all(|&b| b == 0xA5), "guard bytes behind {:#x} changed", done.tag);
                    *self.delivered.entry(done.tag).or_default() += 1;
                    assert_eq!(self.delivered[&done.tag], 1, "message {:#x} delivered twice", done.tag);
                }
            }
            DONE_POSTED | DONE_UNEXPECTED | DONE_CANCEL => {}
            other => panic!("completion opcode {other}"),
        }
    }

    pub(super) fn pump(&mut self, node: usize) {
        if self.nodes[node].link_free > self.clock {
            return;
        }
        let now = self.now(node);
        let this = &mut self.nodes[node];
        let memory = &this.memory;
        let mut read = |address: u64, bytes: &mut [u8]| {
            let at = address.checked_sub(BASE).map(|at| at as usize);
            let source = at.and_then(|at| memory.get(at..at + bytes.len()));
            bytes.copy_from_slice(source.ok_or(ReadError { address, length: bytes.len() })?);
            Ok(())
        };
        let frame = this.nic.poll_transmit(now, &mut read);
        if let Some(frame) = frame {
            let clocks = (frame.len() as u64 + 24).div_ceil(self.faults.rate);
            self.nodes[node].link_free = self.clock + clocks;
            self.schedule(self.clock + clocks, Event::LinkFree(node));
            self.see(node, || Seen::FrameOut(frame.clone()));
            self.carry(node, frame, self.clock + clocks);
        }
        self.drain(node);
    }

    fn carry(&mut self, from: usize, mut frame: Vec<u8>, left: u64) {
        let class = class(&frame);
        *self.sent_by_class.entry(class).or_default() += 1;
        if let Some(kept) = self.kept.as_mut() {
            kept.push((from, frame.clone()));
        }
        if let Some(rest) = self.faults.first.get_mut(&class).filter(|rest| **rest > 0) {
            *rest -= 1;
            return;
        }
        // Bursts last in time, as a full queue does: a sparse PROBE must not
        // find the burst where the last packet left it.
        let Faults { loss, burst, rate, .. } = self.faults;
        let in_burst = self.clock < self.nodes[from].burst_until;
        if burst > 1.0 && !in_burst && self.rng.chance(loss / burst) {
            let packets = 1 + self.rng.below(2 * burst as u64);
            self.nodes[from].burst_until = left + packets * (300 / rate);
            return;
        }
        if in_burst || (burst <= 1.0 && self.rng.chance(loss)) {
            return;
        }
        let Some(to) = self.nodes.iter().position(|node| node.identity.mac[..] == frame[..6]) else { return };
        if self.rng.chance(self.faults.mark) {
            let form = wire::Form::of(&frame).expect("a model frame is IP");
            let (at, shift) = if form.v6 { (form.ip_at() + 1, 4) } else { (form.ip_at() + 1, 0) };
            frame[at] |= wire::ECN_CE << shift;
        }
        if self.rng.chance(self.faults.corrupt) {
            let bit = self.rng.below(frame.len() as u64 * 8) as usize;
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        let udp_at = wire::Form::of(&frame).map_or(wire::UDP_AT, wire::Form::udp_at);
        let ev = frame[udp_at + 1] as usize;
        let delay = self.faults.paths[ev % self.faults.paths.len()];
        let copies = if self.rng.chance(self.faults.duplicate.0) {
            1 + self.rng.below(self.faults.duplicate.1)
        } else {
            1
        };
        for _ in 0..copies {
            let extra = if self.faults.jitter > 0 { self.rng.below(self.faults.jitter) } else { 0 };
            self.schedule(left + delay + extra, Event::Arrive(to, frame.clone()));
        }
    }

    fn next_time(&self) -> Option<u64> {
        let event = self.events.peek().map(|Reverse((at, _))| *at);
        let timers = self.nodes.iter().filter_map(|node| {
            let due = node.nic.poll_timeout()?;
            Some(due.saturating_sub(node.offset) * CLOCKS_PER_TICK as u64)
        });
        timers.chain(event).min().map(|at| at.max(self.clock))
    }

    /// Runs to `until` or until nothing is left to happen; `true` when idle.
    pub fn run(&mut self, until: u64) -> bool {
        self.run_with(until, |_, _| {})
    }

    pub fn run_with(&mut self, until: u64, mut custom: impl FnMut(&mut Self, u64)) -> bool {
        for node in 0..self.nodes.len() {
            self.drain(node);
            self.pump(node);
        }
        loop {
            let Some(at) = self.next_time() else { return true };
            if at > until {
                self.clock = until;
                return false;
            }
            self.clock = at;
            while self.events.peek().is_some_and(|Reverse((due, _))| *due <= at) {
                let Some(Reverse((_, serial))) = self.events.pop() else { break };
                match self.pending.remove(&serial).expect("scheduled") {
                    Event::Arrive(node, frame) => {
                        self.see(node, || Seen::FrameIn(frame.clone()));
                        let now = self.now(node);
                        let _counted = self.nodes[node].nic.handle_frame(now, &frame);
                        self.drain(node);
                    }
                    Event::LinkFree(_) => {}
                    Event::Custom(id) => custom(self, id),
                }
            }
            for node in 0..self.nodes.len() {
                let now = self.now(node);
                if self.nodes[node].nic.poll_timeout().is_some_and(|due| due <= now) {
                    self.nodes[node].nic.handle_timeout(now);
                }
                self.drain(node);
                self.pump(node);
            }
        }
    }
}
