//! What the receiver says, judged against the reference.

use super::*;

impl Bench<'_> {
    pub(super) fn on_packet(&mut self, packet: &Packet) {
        let has_payload = packet.payload() != 0;
        match packet.verdict {
            2 => {
                if packet.denied {
                    expect(&mut self.events, "remote_access");
                }
                if has_payload {
                    self.places.push_back(Place::Drop);
                }
                return;
            }
            3 => {
                let message = self.messages.get_mut(&packet.generation).unwrap();
                if message.phase == Phase::Open {
                    message.phase = Phase::Fencing;
                    message.status = match (packet.released, packet.destroyed) {
                        (_, true) => DESTROYED,
                        (true, _) => RELEASED,
                        _ => REPLACED,
                    };
                    self.places.push_back(Place::Fence { context: packet.context });
                    expect(&mut self.events, "rx_aborted");
                }
                if has_payload {
                    self.places.push_back(Place::Drop);
                }
                return;
            }
            _ => {}
        }
        let message = self.messages.get_mut(&packet.generation).unwrap();
        message.begun = true;
        let was_open = message.phase == Phase::Open;
        let verdict = message.packet(packet, self.now, self.registers.ack_every);
        let complete = was_open && message.phase == Phase::Fencing && verdict != Verdict::Denied;
        if verdict == Verdict::Denied {
            self.places.push_back(Place::Fence { context: packet.context });
            expect(&mut self.events, "rx_aborted");
            expect(&mut self.events, "remote_access");
        }
        if has_payload {
            self.places.push_back(if verdict == Verdict::New {
                let address = message.first.buffer.wrapping_add(packet.index << packet.log2);
                Place::Write { address, length: packet.payload(), context: packet.context }
            } else {
                Place::Drop
            });
        }
        if verdict == Verdict::New && message.first.host && message.chunk_is_whole(packet.index) {
            let block = packet.index >> 8;
            self.told.push_back((packet.generation, block, message.bits(block << 8)));
            if !complete {
                self.places.push_back(Place::Chunk { context: packet.context });
            }
        }
        if complete {
            self.places.push_back(Place::Fence { context: packet.context });
        }
        match verdict {
            Verdict::New => expect(&mut self.events, "rx_new"),
            Verdict::Duplicate => expect(&mut self.events, "duplicate"),
            Verdict::NotGranted => expect(&mut self.events, "not_granted"),
            Verdict::Mismatch => expect(&mut self.events, "mismatch"),
            Verdict::Nothing | Verdict::Denied => {}
        }
    }

    pub(super) fn on_place(&mut self, word: &Word) {
        let shape = self.place.shape().clone();
        let get = |name: &str| shape.get(word, name);
        let (kind, context) = (get("kind"), get("context"));
        match kind {
            0 => self.placed(Place::Drop),
            2 => {}
            _ => self.placed(Place::Write { address: get("address"), length: get("length"), context }),
        }
        if kind >= 2 {
            let (chunk, more) = (get("chunk"), get("more"));
            assert_eq!(get("area") != 0, self.messages[&self.owners[&context]].first.host);
            self.chunk_fences += chunk;
            assert!(chunk != 0 || more == 0, "a fence for nothing");
            self.placed(if more != 0 { Place::Chunk { context } } else { Place::Fence { context } });
        }
    }

    fn placed(&mut self, place: Place) {
        if let Place::Fence { context } = place {
            let message = self.messages.get_mut(&self.owners[&context]).unwrap();
            // Nobody told it to end: it gave up (LD-7).
            if message.phase == Phase::Open {
                let silence = self.now - message.last_heard;
                let before = message.last_heard - message.heard_before;
                assert!(message.cumulative < message.grant, "gave up though nothing is missing");
                // A packet may have come while the give-up was on its way.
                let enough = self.registers.rx_give_up;
                let late = silence < 20 && before >= enough;
                assert!(silence >= enough || late, "gave up after {silence} ticks");
                message.phase = Phase::Fencing;
                message.status = GAVE_UP;
                self.places.push_back(place.clone());
                expect(&mut self.events, "rx_aborted");
            }
            let delay = self.rng.below(self.fence_delay + 1);
            let error = self.rng.chance(self.fence_error);
            self.fences.push((self.now + delay, context, error));
        }
        let expected = self.places.pop_front();
        assert_eq!(expected.as_ref(), Some(&place), "placement");
    }

    pub(super) fn on_feedback(&mut self, word: &Word) {
        let shape = self.feedback.shape().clone();
        let get = |name: &str| shape.get(word, name);
        let bits: [u64; 4] = std::array::from_fn(|i| word.bits(self.bitmap_lsb + 64 * i, 64));
        let gid = [word.bits(self.mac_lsb, 64), word.bits(self.mac_lsb + 64, 64)];
        let total = self.least_credit();
        let r = self.registers;
        let message = self.messages.get_mut(&get("generation")).expect("feedback of a message");
        let first = message.first.clone();
        assert_eq!(gid, first.gid);
        assert_eq!(
            (get("dst_endpoint"), get("endpoint"), get("slot")),
            (first.src_endpoint, first.endpoint, first.slot)
        );
        message.sequence += 1;
        assert_eq!(get("sequence"), message.sequence & 0xFF, "sequence");
        assert_eq!(get("cumulative"), message.cumulative, "cumulative");
        assert_eq!(get("duplicates"), message.duplicates, "duplicates");
        let flags = get("flags");
        let own_base = message.cumulative.min(message.count() - 1) >> 8 << 8;
        self.last_mac = get("dst_mac");
        let before = self.seen.last();
        let goes_on = before.is_some_and(|s| s.generation == first.generation && s.flags & NACK != 0);
        self.seen.push(Seen {
            tick: self.now,
            generation: first.generation,
            flags,
            status: get("status"),
            cumulative: get("cumulative"),
            grant: get("grant"),
            base: get("base"),
            limit: get("limit"),
            bits,
        });
        // RC-8: a sample only of a packet, and of the right one.
        let sampled = (get("sample"), get("ev_echo"), get("arrival"), get("echo"));
        let sample_of = |p: &Packet| (1, p.ev, p.arrival & 0xFFFF_FFFF, p.timestamp & 0xFFFF_FFFF);
        if flags & (COMPLETE | ABORT) != 0 {
            unreported(message);
            assert_eq!(message.phase, Phase::Told, "an end is told before its completion");
            message.phase = Phase::Answered;
            let status = get("status");
            assert_eq!(get("base"), own_base);
            if flags & COMPLETE != 0 {
                assert_eq!((message.status, status), (SUCCESS, SUCCESS));
                //= RL-3 test
                assert_eq!(flags & !CE, COMPLETE | if self.low { RELEASE_REQ } else { 0 });
                assert_eq!(flags & CE != 0, message.last.ce);
                assert_eq!(sampled, sample_of(&message.last));
                assert_eq!(bits, [u64::MAX; 4]);
                expect(&mut self.events, "rx_completed");
            } else {
                assert_eq!((flags, status), (ABORT, message.status));
                assert_ne!(status, REPLACED, "RO-4: no feedback");
                assert_ne!(status, RELEASED, "RL-2: no feedback");
                assert_eq!(sampled, (0, 0, 0, 0));
                if status == REMOTE_DMA {
                    expect(&mut self.events, "rx_aborted");
                }
            }
            return;
        }
        assert_eq!(message.phase, Phase::Open, "feedback {flags:#x} of a message that is ending");
        assert_eq!(get("dst_mac"), message.last.mac, "RC-3");
        assert_eq!(get("status"), 0);
        if flags & NACK != 0 {
            assert_eq!(flags, NACK);
            assert_eq!(sampled, (0, 0, 0, 0), "LD-6");
            let (base, limit) = (get("base"), get("limit"));
            assert!(limit <= message.grant && base < limit && base % 256 == 0, "base {base} limit {limit}");
            assert_eq!(bits, message.bits(base));
            let asks = (base..limit.min(base + 256)).any(|i| !message.arrived[i as usize]);
            assert!(asks, "LD-4: a NACK that asks for nothing");
            if first.host {
                //= HR-8 test
                let ordered = self.ordered.take().expect("HR-8: a NACK that nobody ordered");
                assert_eq!((base, limit), ((ordered - 1) >> 8 << 8, ordered.min(message.grant)));
                message.since = 0;
                assert_eq!(get("grant"), message.grant);
                return;
            }
            // The NACKs of one expiry come one after the other, oldest block first.
            let same =
                goes_on && message.last_nack.is_some_and(|(_, c, b)| c == message.cumulative && base > b);
            if !same {
                if let Some((tick, cumulative, _)) = message.last_nack {
                    if cumulative == message.cumulative {
                        let apart = self.now - tick;
                        let rtt = if first.rtt == 0 { r.rtt_default } else { first.rtt };
                        // A PROBE ends the hold.
                        let probed = message.probed.filter(|probed| *probed >= tick);
                        let least = probed.map_or(rtt, |probed| probed - tick) + r.guard;
                        assert!(apart >= least.min(rtt + r.guard), "LD-5: {apart} ticks apart");
                    }
                }
                message.nacks = 0;
                message.unanswered += 1;
            }
            message.last_nack = Some((self.now, message.cumulative, base));
            message.nacks += 1;
            assert!(message.nacks <= r.nack_burst, "NACK_BURST");
            message.since = 0;
        } else if flags & GRANT != 0 {
            assert_eq!(flags, GRANT);
            assert_eq!(sampled, (0, 0, 0, 0));
            let grant = get("grant");
            assert!(grant > message.grant && grant <= message.reach(), "GR-2: {} -> {grant}", message.grant);
            assert!(r.credit_policy & 4 == 0 || message.unanswered < 2, "GR-5: a grant to who lends");
            // What has come since only makes it less.
            let owed = message.credit();
            assert!(owed <= r.credit_each, "GR-8: a grant to who is owed {owed} bytes");
            let quota = grant - message.grant;
            assert!(quota <= r.grant_quantum);
            let asked = r.grant_quantum.min(message.reach() - message.grant);
            // Without credit a message that is owed nothing gets one packet all the same,
            // when nobody got anything for a while.
            let still = self.now.saturating_sub(self.granted_at) + GRANT_SLACK >= r.rtt_default;
            let single = quota == 1 && message.credit() == 0 && still;
            self.granted_at = self.now;
            assert!(quota == asked || grant % 256 == 0 || single, "cut to {quota} of {asked} inside a block");
            assert!(
                total == 0 || single || total + (quota << first.log2) <= r.credit_limit,
                "GR-2: {total} outstanding"
            );
            message.grant = grant;
            message.since = 0;
            assert_eq!(get("base"), own_base);
            assert_eq!(bits, message.bits(own_base));
            expect(&mut self.events, "grants_sent");
        } else {
            let reply = message.replies.pop_front().expect("feedback for nothing");
            assert_eq!(flags, if reply.packet.ce { CE } else { 0 });
            assert_eq!(sampled, sample_of(&reply.packet));
            assert_eq!((get("cumulative"), get("duplicates")), (reply.cumulative, reply.duplicates));
            assert_eq!((get("base"), get("limit")), (own_base, 0));
            assert_eq!(bits, reply.bits);
        }
        assert_eq!(get("grant"), message.grant);
    }

    pub(super) fn on_done(&mut self, word: &Word) {
        let shape = self.done.shape().clone();
        let get = |name: &str| shape.get(word, name);
        let message = self.messages.get_mut(&get("generation")).expect("a completion of a message");
        let Phase::Fenced { error } = message.phase else {
            panic!("a completion in phase {:?}", message.phase);
        };
        assert!(message.first.reports(), "WR-1: a completion that ends no receive");
        let status = over(message, error);
        let first = &message.first;
        let gid = [word.bits(self.peer_lsb, 64), word.bits(self.peer_lsb + 64, 64)];
        assert_eq!(gid, first.gid);
        assert_eq!((get("receive"), get("status")), (1, status));
        assert_eq!(get("write") != 0, first.flags & WRITE != 0);
        assert_eq!((get("has_imm") != 0, get("imm")), (first.flags & IMM != 0, first.imm));
        assert_eq!(
            (get("endpoint"), get("entry"), get("own"), get("length")),
            (first.endpoint, first.entry, first.entry & 1, first.length)
        );
        assert_eq!(
            (get("tag"), get("slot"), get("peer_endpoint")),
            (first.tag, first.slot, first.src_endpoint)
        );
    }

    pub(super) fn on_retire(&mut self, word: &Word) {
        let shape = self.retire.shape().clone();
        let get = |name: &str| shape.get(word, name);
        let context = get("context");
        let message = self.messages.get_mut(&self.owners[&context]).unwrap();
        if get("bury") != 0 {
            unreported(message);
            // The feedback may still be in its register: told, not seen here.
            assert!(matches!(message.phase, Phase::Answered | Phase::Told), "{:?}", message.phase);
            assert_eq!(get("status"), message.status);
            if message.phase == Phase::Answered {
                message.phase = Phase::Buried;
            }
            message.freed = false;
        }
        if get("free") != 0 {
            assert!(!message.freed, "context {context} freed twice");
            message.freed = true;
            assert!(message.replies.is_empty());
            for node in [context, context | 0x1000] {
                assert!(!self.linked.contains_key(&node), "node {node:#x} is linked in a free context");
            }
            self.owners.remove(&context);
        }
    }

    //= HR-3 test
    pub(super) fn on_header(&mut self, word: &Word) {
        let shape = self.header.shape().clone();
        let get = |name: &str| shape.get(word, name);
        let message = self.messages.get(&get("generation")).expect("a header of a message");
        let first = &message.first;
        assert!(first.host && self.announced.insert(first.generation), "a second header, or of no area");
        assert_eq!((get("context"), get("buffer")), (first.context, first.buffer));
        assert_eq!((get("area_log2"), get("chunk_log2")), (first.area_log2, first.chunk_log2));
        assert_eq!((get("count"), get("length")), (first.count(), first.length));
        assert_eq!((get("payload_log2"), get("tag")), (first.log2, first.tag));
    }

    //= HR-4 test
    pub(super) fn on_chunk(&mut self, word: &Word) {
        let shape = self.chunk.shape().clone();
        let get = |name: &str| shape.get(word, name);
        let (generation, block, bits) = self.told.pop_front().expect("bits that no packet completed");
        let first = &self.messages[&generation].first;
        assert!(self.announced.contains(&generation), "bits before the header");
        assert_eq!((get("buffer"), get("block")), (first.buffer, block));
        assert_eq!((get("area_log2"), get("chunk_log2")), (first.area_log2, first.chunk_log2));
        let fields = self.dut.model().fields("chunk_data");
        let lsb = fields.into_iter().find(|(name, ..)| name == "bits").expect("the field").1;
        let seen: [u64; 4] = std::array::from_fn(|i| word.bits(lsb + 64 * i, 64));
        assert_eq!(seen, bits);
        self.chunk_words += 1;
    }
}
