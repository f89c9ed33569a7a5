//! What `rx_judge` says of a frame, what it keeps on the way there, and where
//! things are in frames of each kind.

use crate::prelude::*;
use tessera_abi::wire;

/// What became of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Verdict {
    pub disabled: Bit,
    pub frame: Bit,
    pub not_ours: Bit,
    pub ip_header: Bit,
    pub length: Bit,
    pub icrc: Bit,
    pub cnp: Bit,
    pub bth: Bit,
    pub p_key: Bit,
    pub endpoint: Bit,
    pub q_key: Bit,
    pub trh: Bit,
    pub fields: Bit,
    pub data: Bit,
    pub probe: Bit,
    pub feedback: Bit,
    pub release: Bit,
    pub ud: Bit,
    /// Packets of the message.
    pub count: Bits<24>,
    /// Bytes, pad excluded, GRH area included.
    pub payload_len: Bits<13>,
    /// The payload needs a beat more than the frame has behind its start.
    pub spill: Bit,
}

/// Every reason that holds, whatever the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Wrong {
    pub frame: Bit,
    pub not_ours: Bit,
    pub ip_header: Bit,
    pub length: Bit,
    pub icrc: Bit,
    pub cnp: Bit,
    pub bth: Bit,
    pub p_key: Bit,
    pub endpoint: Bit,
    pub q_key: Bit,
    pub trh: Bit,
    pub fields: Bit,
}

/// What a later stage still needs of the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct Kept {
    pub ud: Bit,
    pub data: Bit,
    pub probe: Bit,
    pub feedback: Bit,
    pub release: Bit,
    pub pad: Bits<2>,
    /// log2 payload size - 8.
    pub scale: Bits<3>,
    pub index: Bits<24>,
    pub spill: Bit,
}

/// By IPv6 (bit 0), plain UD (1), its immediate (2), FEEDBACK (3): the shortest
/// frame that is looked at (bits 0..7), the bytes of a frame but payload and pad
/// (7..15), and how many bytes its last beat has at least (less the pad) when
/// the payload needs one beat more than the frame has behind its start (15..22).
///
/// A start within an ICRC's length of a beat's end counts as one of the beat
/// behind: else the frame's last beat might hold nothing but the ICRC.
pub(super) fn places(beat: usize) -> Vec<u64> {
    let place = |kind: usize| {
        let [v6, ud, imm, feedback] = [0, 1, 2, 3].map(|bit| kind >> bit & 1 == 1);
        let form = wire::Form { tagged: false, v6 };
        let header = match (ud, imm, feedback) {
            (true, true, _) => wire::IMM_LEN,
            (true, false, _) => 0,
            (false, _, true) => wire::TRH_FEEDBACK_LEN,
            (false, _, false) => wire::TRH_DATA_LEN,
        };
        let payload = form.trh_at() + header;
        let stream = if ud { payload - wire::GRH_LEN } else { payload };
        let shortest = form.trh_at() + wire::ICRC_LEN;
        let offset = stream % beat + wire::ICRC_LEN;
        let spill_from = if offset > beat { offset - beat } else { offset };
        shortest | (payload + wire::ICRC_LEN) << 7 | spill_from << 15
    };
    (0..16).map(|kind| place(kind) as u64).collect()
}
