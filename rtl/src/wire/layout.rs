//! Header fields in wire order, and the two cells that move them to and from
//! the bytes of a frame. Nothing but wires.
//!
//! A word lists its fields as they follow each other on the wire, most
//! significant bit of each first; `little` marks a field whose *least*
//! significant byte comes first (the bitmap). Offsets are sums of widths and
//! stand nowhere else; the tests of this file compare them with `abi::wire`.

use rust_hdl::prelude::*;

/// A header whose fields are known by name and by place.
pub trait WireWord: Synth {
    /// Width in bits and whether the least significant byte comes first.
    const FIELDS: &'static [(usize, bool)];

    /// Reads the fields from a source of bits in struct order.
    fn gather(bit: impl Fn(usize) -> bool) -> Self;

    /// The bits of the fields in struct order.
    fn scatter(&self) -> Vec<bool>;

    /// Frame bit (bit 0 of byte 0 is 0) of each bit of the struct.
    fn places() -> Vec<usize> {
        let mut places = Vec::new();
        for (width, little) in Self::FIELDS {
            let start = places.len();
            for bit in 0..*width {
                if *little {
                    assert!(start % 8 == 0, "a little-endian field begins with a byte");
                    places.push(start + bit);
                } else {
                    let wire = start + width - 1 - bit;
                    places.push(wire / 8 * 8 + 7 - wire % 8);
                }
            }
        }
        places
    }
}

macro_rules! wire_words {
    (@little) => { false };
    (@little little) => { true };
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $width:literal $($order:ident)?,)+ })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
        pub struct $name { $(pub $field: Bits<$width>,)+ }

        impl WireWord for $name {
            const FIELDS: &'static [(usize, bool)] =
                &[$(($width, wire_words!(@little $($order)?)),)+];

            fn gather(bit: impl Fn(usize) -> bool) -> Self {
                let mut word = Self::default();
                let mut at = 0;
                $(
                    for i in 0..$width {
                        word.$field = word.$field.replace_bit(i, bit(at + i));
                    }
                    at += $width;
                )+
                let _ = at;
                word
            }

            fn scatter(&self) -> Vec<bool> {
                let mut bits = Vec::new();
                $(bits.extend((0..$width).map(|i| self.$field.get_bit(i)));)+
                bits
            }
        }
    )+};
}

wire_words! {
    /// Ethernet and IPv4.
    Ip4Word {
        dst_mac: 48,
        src_mac: 48,
        ethertype: 16,
        version: 4,
        ihl: 4,
        tos: 8,
        length: 16,
        id: 16,
        reserved: 1,
        dont_fragment: 1,
        more_fragments: 1,
        fragment_offset: 13,
        ttl: 8,
        protocol: 8,
        checksum: 16,
        src: 32,
        dst: 32,
    }

    /// Ethernet and IPv6.
    Ip6Word {
        dst_mac: 48,
        src_mac: 48,
        ethertype: 16,
        version: 4,
        tos: 8,
        flow_label: 20,
        length: 16,
        next_header: 8,
        hop_limit: 8,
        src: 128,
        dst: 128,
    }

    /// UDP to DETH.
    TransportWord {
        src_port: 16,
        dst_port: 16,
        udp_length: 16,
        udp_checksum: 16,
        opcode: 8,
        se_migreq: 2,
        pad_count: 2,
        bth_version: 4,
        pkey: 16,
        bth_masked: 8,
        dst_endpoint: 24,
        ack_request: 8,
        psn: 24,
        qkey: 32,
        deth_reserved: 8,
        src_endpoint: 24,
    }

    /// TRH of DATA and PROBE.
    DataWord {
        trh_version: 4,
        kind: 4,
        flags: 8,
        ev: 8,
        payload_log2: 4,
        traffic_class: 4,
        slot: 12,
        generation: 20,
        index: 24,
        initial_window: 8,
        length: 32,
        tag: 64,
        rkey: 32,
        imm: 32,
        round: 16,
        rtt: 16,
        timestamp: 32,
    }

    /// TRH of FEEDBACK.
    FeedbackWord {
        trh_version: 4,
        kind: 4,
        flags: 8,
        ev: 8,
        status: 8,
        slot: 12,
        generation: 20,
        cumulative: 24,
        sequence: 8,
        grant: 24,
        duplicates: 8,
        base: 24,
        limit: 24,
        delay: 16,
        echo: 32,
        bitmap: 256 little,
    }
}

/// Runs of neighbouring bits as a Verilog concatenation, first place lowest.
fn concatenation(signal: &str, places: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for place in places {
        match runs.last_mut() {
            Some((_, high)) if *high + 1 == *place => *high = *place,
            _ => runs.push((*place, *place)),
        }
    }
    let slices: Vec<String> =
        runs.iter().rev().map(|(low, high)| format!("{signal}[{high}:{low}]")).collect();
    format!("{{{}}}", slices.join(",\n  "))
}

/// The fields of a header from its bytes.
#[derive(Clone, Debug, Default, LogicBlock)]
pub struct FromWire<T: WireWord, const N: usize> {
    pub d: Signal<In, Bits<N>>,
    pub q: Signal<Out, T>,
}

impl<T: WireWord, const N: usize> Logic for FromWire<T, N> {
    fn update(&mut self) {
        let (d, places) = (self.d.val(), T::places());
        self.q.next = T::gather(|bit| d.get_bit(places[bit]));
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        assert_eq!(T::BITS, N, "a header of {} bits from {N}", T::BITS);
        Verilog::Custom(format!("assign q = {};\n", concatenation("d", &T::places())))
    }
}

/// The bytes of a header from its fields.
#[derive(Clone, Debug, Default, LogicBlock)]
pub struct ToWire<T: WireWord, const N: usize> {
    pub d: Signal<In, T>,
    pub q: Signal<Out, Bits<N>>,
}

/// The struct bit that each frame bit takes.
fn sources<T: WireWord>() -> Vec<usize> {
    let places = T::places();
    let mut sources = vec![0; places.len()];
    for (bit, place) in places.iter().enumerate() {
        sources[*place] = bit;
    }
    sources
}

impl<T: WireWord, const N: usize> Logic for ToWire<T, N> {
    fn update(&mut self) {
        let bits = self.d.val().scatter();
        let mut q = Bits::<N>::default();
        for (place, source) in sources::<T>().into_iter().enumerate() {
            q = q.replace_bit(place, bits[source]);
        }
        self.q.next = q;
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        assert_eq!(T::BITS, N, "a header of {} bits to {N}", T::BITS);
        Verilog::Custom(format!("assign q = {};\n", concatenation("d", &sources::<T>())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tessera_abi::wire;

    #[test]
    fn words_fill_their_headers() {
        let [v4, _, v6, _] = wire::Form::ALL;
        assert_eq!(Ip4Word::BITS, 8 * v4.udp_at());
        assert_eq!(Ip6Word::BITS, 8 * v6.udp_at());
        assert_eq!(TransportWord::BITS, 8 * (v4.trh_at() - v4.udp_at()));
        assert_eq!(DataWord::BITS, 8 * wire::TRH_DATA_LEN);
        assert_eq!(FeedbackWord::BITS, 8 * wire::TRH_FEEDBACK_LEN);
    }

    #[test]
    fn fields_stand_where_the_emitter_puts_them() {
        let header = wire::FeedbackHeader {
            flags: 0x81,
            ev: 0x23,
            status: 0x45,
            message: wire::MessageId::new(0x9AB, 0xC_DEF1),
            cumulative: 0x12_3456,
            sequence: 0x78,
            grant: 0x9A_BCDE,
            duplicates: 0xF0,
            base: 0x13_5700,
            limit: 0x24_68AC,
            delay: 0x1357,
            echo: 0x89AB_CDEF,
            bitmap: core::array::from_fn(|i| (i * 7) as u8),
        };
        let bytes = header.emit();
        let places = FeedbackWord::places();
        let word = FeedbackWord::gather(|bit| bytes[places[bit] / 8] >> (places[bit] % 8) & 1 == 1);
        assert_eq!(word.slot.to_u64(), 0x9AB);
        assert_eq!(word.generation.to_u64(), 0xC_DEF1);
        assert_eq!(word.cumulative.to_u64(), 0x12_3456);
        assert_eq!(word.delay.to_u64(), 0x1357);
        for index in 0..256 {
            assert_eq!(word.bitmap.get_bit(index), header.bitmap[index / 8] >> (index % 8) & 1 == 1);
        }
        let bits = word.scatter();
        for (place, source) in sources::<FeedbackWord>().into_iter().enumerate() {
            assert_eq!(bits[source], bytes[place / 8] >> (place % 8) & 1 == 1, "frame bit {place}");
        }
    }
}
