//! Which event counts where: pulses of the blocks become a bit per counter.
//!
//! ```text
//!  pulses of the parser, lookup, receiver, sender, builder ──> bit of the counter ──┐
//!  pulses that two or more blocks have (expiries, DMA errors) ──> event queue ──────┴─> events
//! ```
//!
//! Contract: a pulse is in `events` in its clock; one of several sources when its
//! [`EventQueue`] says so, each counted. `rst` is that of power-on.
//!
//! Verified by `testbenches/tests/nic.rs`.

use tessera_abi::regs::Counter;
use tessera_abi::status::Drop as DropReason;

use crate::host::event_queue::EventQueue;
use crate::prelude::*;

/// Pulses of the parser: what came, and why it was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct RxEvents {
    pub rx_frames: Bit,
    pub rx_data: Bit,
    pub rx_probe: Bit,
    pub rx_feedback: Bit,
    pub rx_release: Bit,
    pub rx_ud: Bit,
    pub drop_overflow: Bit,
    pub drop_frame: Bit,
    pub drop_not_ours: Bit,
    pub drop_ip_header: Bit,
    pub drop_length: Bit,
    pub drop_icrc: Bit,
    pub drop_cnp: Bit,
    pub drop_bth: Bit,
    pub drop_p_key: Bit,
    pub drop_endpoint: Bit,
    pub drop_q_key: Bit,
    pub drop_trh: Bit,
    pub drop_fields: Bit,
    pub drop_disabled: Bit,
}

/// Pulses of the builder: what left.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct)]
pub struct TxEvents {
    pub tx_data: Bit,
    pub tx_retransmitted: Bit,
    pub tx_probe: Bit,
    pub tx_feedback: Bit,
    pub tx_nack: Bit,
    pub tx_release: Bit,
    pub tx_ud: Bit,
}

#[derive(LogicBlock)]
pub struct EventMap {
    pub clk: Signal<In, Clock>,
    pub rst: Signal<In, Bit>,
    pub rx: Signal<In, RxEvents>,
    pub tx: Signal<In, TxEvents>,
    /// Of lookup and the match table.
    pub stale: Signal<In, Bit>,
    pub busy_receive: Signal<In, Bit>,
    pub busy_resources: Signal<In, Bit>,
    pub busy_conflict: Signal<In, Bit>,
    pub no_context: Signal<In, Bit>,
    pub finished: Signal<In, Bit>,
    pub ud_receive: Signal<In, Bit>,
    pub busy_quota: Signal<In, Bit>,
    pub opened: Signal<In, Bit>,
    pub tags_full: Signal<In, Bit>,
    /// Of the receiver.
    pub mismatch: Signal<In, Bit>,
    pub duplicate: Signal<In, Bit>,
    pub not_granted: Signal<In, Bit>,
    pub remote_access: Signal<In, Bit>,
    pub rx_new: Signal<In, Bit>,
    pub rx_completed: Signal<In, Bit>,
    pub rx_aborted: Signal<In, Bit>,
    pub nack_expiries: Signal<In, Bit>,
    pub grants_sent: Signal<In, Bit>,
    pub rounds_done: Signal<In, Bit>,
    pub round_pulls: Signal<In, Bit>,
    pub receiver_pop: Signal<In, Bit>,
    pub receiver_late: Signal<In, Bit>,
    /// Of the sender and the path scheduler.
    pub feedback_stale: Signal<In, Bit>,
    pub feedback_forged: Signal<In, Bit>,
    pub feedback_nonsense: Signal<In, Bit>,
    pub nack_overflow: Signal<In, Bit>,
    pub sender_pop: Signal<In, Bit>,
    pub sender_late: Signal<In, Bit>,
    pub tx_opened: Signal<In, Bit>,
    pub tx_completed: Signal<In, Bit>,
    pub tx_failed: Signal<In, Bit>,
    pub backstop_expiries: Signal<In, Bit>,
    pub recycled: Signal<In, Bit>,
    /// Of the rings; of payload.
    pub ring_write_error: Signal<In, Bit>,
    pub overrun: Signal<In, Bit>,
    pub ring_read_error: Signal<In, Bit>,
    pub payload_write_error: Signal<In, Bit>,
    pub area_write_error: Signal<In, Bit>,
    pub payload_read_error: Signal<In, Bit>,
    /// A bit per counter of `abi`.
    pub events: Signal<Out, Bits<64>>,
    wheel_pops: EventQueue,
    wheel_lates: EventQueue,
    dma_errors: EventQueue,
    drop_events: Signal<Local, Bits<64>>,
    rx_events: Signal<Local, Bits<64>>,
    tx_events: Signal<Local, Bits<64>>,
}

impl EventMap {
    pub fn new() -> Self {
        Self {
            clk: Default::default(),
            rst: Default::default(),
            rx: Default::default(),
            tx: Default::default(),
            stale: Default::default(),
            busy_receive: Default::default(),
            busy_resources: Default::default(),
            busy_conflict: Default::default(),
            no_context: Default::default(),
            finished: Default::default(),
            ud_receive: Default::default(),
            busy_quota: Default::default(),
            opened: Default::default(),
            tags_full: Default::default(),
            mismatch: Default::default(),
            duplicate: Default::default(),
            not_granted: Default::default(),
            remote_access: Default::default(),
            rx_new: Default::default(),
            rx_completed: Default::default(),
            rx_aborted: Default::default(),
            nack_expiries: Default::default(),
            grants_sent: Default::default(),
            rounds_done: Default::default(),
            round_pulls: Default::default(),
            receiver_pop: Default::default(),
            receiver_late: Default::default(),
            feedback_stale: Default::default(),
            feedback_forged: Default::default(),
            feedback_nonsense: Default::default(),
            nack_overflow: Default::default(),
            sender_pop: Default::default(),
            sender_late: Default::default(),
            tx_opened: Default::default(),
            tx_completed: Default::default(),
            tx_failed: Default::default(),
            backstop_expiries: Default::default(),
            recycled: Default::default(),
            ring_write_error: Default::default(),
            overrun: Default::default(),
            ring_read_error: Default::default(),
            payload_write_error: Default::default(),
            area_write_error: Default::default(),
            payload_read_error: Default::default(),
            events: Default::default(),
            wheel_pops: EventQueue::new(),
            wheel_lates: EventQueue::new(),
            dma_errors: EventQueue::new(),
            drop_events: Default::default(),
            rx_events: Default::default(),
            tx_events: Default::default(),
        }
    }
}

impl Logic for EventMap {
    #[hdl_gen]
    fn update(&mut self) {
        self.drop_events.next = (bit_cast::<64, 1>(self.rx.val().drop_overflow.into()) << 0)
            | (bit_cast::<64, 1>(self.rx.val().drop_frame.into()) << 1)
            | (bit_cast::<64, 1>(self.rx.val().drop_not_ours.into()) << 2)
            | (bit_cast::<64, 1>(self.rx.val().drop_ip_header.into()) << 3)
            | (bit_cast::<64, 1>(self.rx.val().drop_length.into()) << 4)
            | (bit_cast::<64, 1>(self.rx.val().drop_icrc.into()) << 5)
            | (bit_cast::<64, 1>(self.rx.val().drop_cnp.into()) << 6)
            | (bit_cast::<64, 1>(self.rx.val().drop_bth.into()) << 7)
            | (bit_cast::<64, 1>(self.rx.val().drop_p_key.into()) << 8)
            | (bit_cast::<64, 1>(self.rx.val().drop_endpoint.into()) << 9)
            | (bit_cast::<64, 1>(self.rx.val().drop_q_key.into()) << 10)
            | (bit_cast::<64, 1>(self.rx.val().drop_trh.into()) << 11)
            | (bit_cast::<64, 1>(self.rx.val().drop_fields.into()) << 13)
            | (bit_cast::<64, 1>(self.stale.val().into()) << 14)
            | (bit_cast::<64, 1>(self.mismatch.val().into()) << 15)
            | (bit_cast::<64, 1>(self.duplicate.val().into()) << 16)
            | (bit_cast::<64, 1>(self.not_granted.val().into()) << 17)
            | (bit_cast::<64, 1>(self.feedback_stale.val().into()) << 18)
            | (bit_cast::<64, 1>(self.feedback_forged.val().into()) << 19)
            | (bit_cast::<64, 1>(self.feedback_nonsense.val().into()) << 20)
            | (bit_cast::<64, 1>(self.nack_overflow.val().into()) << 21)
            | (bit_cast::<64, 1>(self.busy_receive.val().into()) << 22)
            | (bit_cast::<64, 1>(self.busy_resources.val().into()) << 23)
            | (bit_cast::<64, 1>(self.busy_conflict.val().into()) << 24)
            | (bit_cast::<64, 1>(self.no_context.val().into()) << 25)
            | (bit_cast::<64, 1>(self.finished.val().into()) << 26)
            | (bit_cast::<64, 1>(self.rx.val().drop_disabled.into()) << 27)
            | (bit_cast::<64, 1>(self.ud_receive.val().into()) << 28)
            | (bit_cast::<64, 1>(self.remote_access.val().into()) << 29)
            | (bit_cast::<64, 1>(self.busy_quota.val().into()) << 30);
        self.rx_events.next = (bit_cast::<64, 1>(self.rx.val().rx_frames.into()) << 32)
            | (bit_cast::<64, 1>(self.rx.val().rx_data.into()) << 33)
            | (bit_cast::<64, 1>(self.rx.val().rx_probe.into()) << 34)
            | (bit_cast::<64, 1>(self.rx.val().rx_feedback.into()) << 35)
            | (bit_cast::<64, 1>(self.rx.val().rx_release.into()) << 63)
            | (bit_cast::<64, 1>(self.rx.val().rx_ud.into()) << 59)
            | (bit_cast::<64, 1>(self.rx_new.val().into()) << 36)
            | (bit_cast::<64, 1>(self.opened.val().into()) << 37)
            | (bit_cast::<64, 1>(self.tags_full.val().into()) << 62)
            | (bit_cast::<64, 1>(self.rx_completed.val().into()) << 38)
            | (bit_cast::<64, 1>(self.rx_aborted.val().into()) << 39)
            | (bit_cast::<64, 1>(self.nack_expiries.val().into()) << 48)
            | (bit_cast::<64, 1>(self.grants_sent.val().into()) << 53)
            | (bit_cast::<64, 1>(self.rounds_done.val().into()) << 57)
            | (bit_cast::<64, 1>(self.round_pulls.val().into()) << 58);
        // Of several sources, which may come in one clock.
        self.wheel_pops.clk.next = self.clk.val();
        self.wheel_pops.rst.next = self.rst.val();
        self.wheel_pops.pulses.next = bit_cast::<5, 1>(self.receiver_pop.val().into())
            | (bit_cast::<5, 1>(self.sender_pop.val().into()) << 1);
        self.wheel_lates.clk.next = self.clk.val();
        self.wheel_lates.rst.next = self.rst.val();
        self.wheel_lates.pulses.next = bit_cast::<5, 1>(self.receiver_late.val().into())
            | (bit_cast::<5, 1>(self.sender_late.val().into()) << 1);
        self.dma_errors.clk.next = self.clk.val();
        self.dma_errors.rst.next = self.rst.val();
        self.dma_errors.pulses.next = bit_cast::<5, 1>(self.ring_write_error.val().into())
            | (bit_cast::<5, 1>(self.payload_write_error.val().into()) << 1)
            | (bit_cast::<5, 1>(self.area_write_error.val().into()) << 2)
            | (bit_cast::<5, 1>(self.payload_read_error.val().into()) << 3)
            | (bit_cast::<5, 1>(self.ring_read_error.val().into()) << 4);
        self.tx_events.next = (bit_cast::<64, 1>(self.tx.val().tx_data.into()) << 40)
            | (bit_cast::<64, 1>(self.tx.val().tx_retransmitted.into()) << 41)
            | (bit_cast::<64, 1>(self.tx.val().tx_probe.into()) << 42)
            | (bit_cast::<64, 1>(self.tx.val().tx_feedback.into()) << 43)
            | (bit_cast::<64, 1>(self.tx.val().tx_nack.into()) << 44)
            | (bit_cast::<64, 1>(self.tx.val().tx_release.into()) << 56)
            | (bit_cast::<64, 1>(self.tx.val().tx_ud.into()) << 60)
            | (bit_cast::<64, 1>(self.tx_opened.val().into()) << 45)
            | (bit_cast::<64, 1>(self.tx_completed.val().into()) << 46)
            | (bit_cast::<64, 1>(self.tx_failed.val().into()) << 47)
            | (bit_cast::<64, 1>(self.recycled.val().into()) << 55)
            | (bit_cast::<64, 1>(self.backstop_expiries.val().into()) << 49)
            | (bit_cast::<64, 1>(self.overrun.val().into()) << 51)
            | (bit_cast::<64, 1>(self.wheel_pops.told.val().into()) << 50)
            | (bit_cast::<64, 1>(self.dma_errors.told.val().into()) << 52)
            | (bit_cast::<64, 1>(self.wheel_lates.told.val().into()) << 54);
        self.events.next = self.drop_events.val() | self.rx_events.val() | self.tx_events.val();
    }
}

// The positions above are written as numbers, which kernels need; these tie them to `abi`.
const _: () = {
    assert!(DropReason::Overflow as u8 == 0);
    assert!(DropReason::Frame as u8 == 1);
    assert!(DropReason::NotOurs as u8 == 2);
    assert!(DropReason::IpHeader as u8 == 3);
    assert!(DropReason::Length as u8 == 4);
    assert!(DropReason::Icrc as u8 == 5);
    assert!(DropReason::Cnp as u8 == 6);
    assert!(DropReason::Bth as u8 == 7);
    assert!(DropReason::PKey as u8 == 8);
    assert!(DropReason::Endpoint as u8 == 9);
    assert!(DropReason::QKey as u8 == 10);
    assert!(DropReason::Trh as u8 == 11);
    assert!(DropReason::Fields as u8 == 13);
    assert!(DropReason::Stale as u8 == 14);
    assert!(DropReason::Mismatch as u8 == 15);
    assert!(DropReason::Duplicate as u8 == 16);
    assert!(DropReason::NotGranted as u8 == 17);
    assert!(DropReason::FeedbackStale as u8 == 18);
    assert!(DropReason::FeedbackForged as u8 == 19);
    assert!(DropReason::FeedbackNonsense as u8 == 20);
    assert!(DropReason::NackOverflow as u8 == 21);
    assert!(DropReason::BusyReceive as u8 == 22);
    assert!(DropReason::BusyResources as u8 == 23);
    assert!(DropReason::BusyConflict as u8 == 24);
    assert!(DropReason::NoContext as u8 == 25);
    assert!(DropReason::Finished as u8 == 26);
    assert!(DropReason::Disabled as u8 == 27);
    assert!(DropReason::UdReceive as u8 == 28);
    assert!(DropReason::RemoteAccess as u8 == 29);
    assert!(DropReason::BusyQuota as u8 == 30);
    assert!(Counter::RxFrames as u8 == 32);
    assert!(Counter::RxData as u8 == 33);
    assert!(Counter::RxProbe as u8 == 34);
    assert!(Counter::RxFeedback as u8 == 35);
    assert!(Counter::RxNew as u8 == 36);
    assert!(Counter::RxOpened as u8 == 37);
    assert!(Counter::RxCompleted as u8 == 38);
    assert!(Counter::RxAborted as u8 == 39);
    assert!(Counter::NackExpiries as u8 == 48);
    assert!(Counter::GrantsSent as u8 == 53);
    assert!(Counter::TxData as u8 == 40);
    assert!(Counter::TxRetransmitted as u8 == 41);
    assert!(Counter::TxProbe as u8 == 42);
    assert!(Counter::TxFeedback as u8 == 43);
    assert!(Counter::TxNack as u8 == 44);
    assert!(Counter::TxOpened as u8 == 45);
    assert!(Counter::TxCompleted as u8 == 46);
    assert!(Counter::TxFailed as u8 == 47);
    assert!(Counter::BackstopExpiries as u8 == 49);
    assert!(Counter::CqOverrun as u8 == 51);
    assert!(Counter::WheelPops as u8 == 50);
    assert!(Counter::DmaErrors as u8 == 52);
    assert!(Counter::WheelLate as u8 == 54);
    assert!(Counter::TxRecycled as u8 == 55);
    assert!(Counter::RxUd as u8 == 59);
    assert!(Counter::TxUd as u8 == 60);
    assert!(Counter::TxRelease as u8 == 56);
    assert!(Counter::RxRelease as u8 == 63);
    assert!(Counter::RoundsDone as u8 == 57);
    assert!(Counter::RoundPulls as u8 == 58);
    assert!(Counter::TagsFull as u8 == 62);
};
