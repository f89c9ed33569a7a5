//! Inline requests: bytes that are copied when they are posted.
//!
//! ```text
//!  send ring    │ entry 0 │ entry 1 │ ...
//!  beside it    │ bytes 0 │ bytes 1 │ ...      one region, one key
//! ```
//!
//! The NIC takes one buffer per request and reads it as any other; what is special is whose it is.
//! A place's bytes are free when its entry is.

use super::Endpoint;
use crate::error::{PostError, RegisterError};
use crate::memory::{Access, DmaMemory, MemoryRegion};
use crate::request::{DatagramRequest, Inline, InlineRequest, SendRequest, WriteRequest};

impl Endpoint {
    /// Sets memory aside for inline requests of up to `most` bytes: so many for each place of
    /// the send ring, and one memory key. 0: none any more. Not while inline requests are
    /// outstanding: with their key gone they end in [`Status::LocalProtection`](crate::Status).
    ///
    /// # Errors
    /// [`RegisterError`], and then it is as before.
    pub fn set_inline(&mut self, most: usize) -> Result<(), RegisterError> {
        let all = most.saturating_mul(self.options.send_entries);
        self.inline = match most {
            0 => None,
            _ => Some((self.shared.register(&DmaMemory::new(all), Access::READ, self.pd)?, most)),
        };
        Ok(())
    }

    /// Most bytes of an inline request.
    pub fn max_inline(&self) -> usize {
        self.inline.as_ref().map_or(0, |(_, most)| *most)
    }

    /// Posts a send, a write or a datagram whose bytes are copied beside the ring, so that they
    /// are the caller's again at once and need no memory region. The NIC reads them there as
    /// it reads all others: for a few bytes that is cheaper than to wait for the end of a
    /// request before a buffer is used again.
    ///
    /// # Errors
    /// As the request would have it that is not inline; [`PostError::NoInline`] before
    /// [`set_inline`](Self::set_inline), [`PostError::InlineTooLong`].
    pub fn post_inline(&mut self, request: &InlineRequest<'_>) -> Result<(), PostError> {
        let Some(inline) = self.inline.take() else { return Err(PostError::NoInline) };
        let posted = self.post_copied(request, &inline);
        self.inline = Some(inline);
        posted
    }

    fn post_copied(
        &mut self,
        request: &InlineRequest<'_>,
        (region, most): &(MemoryRegion, usize),
    ) -> Result<(), PostError> {
        let InlineRequest { work_id, bytes, to, immediate, round, payload_size, what } = *request;
        let (len, most) = (bytes.len(), *most);
        if len > most {
            return Err(PostError::InlineTooLong { len, most });
        }
        let start = self.sends.next_place(&self.shared)? * most;
        // The request that had the place has ended, so nobody reads these bytes.
        region.memory().write(start, bytes);
        let range = start..start + len;
        match what {
            Inline::Send { tag } => self.post_send(&SendRequest {
                work_id,
                region,
                range,
                to,
                tag,
                immediate,
                round,
                payload_size,
            }),
            Inline::Write { remote } => self.post_write(&WriteRequest {
                work_id,
                region,
                range,
                to,
                remote,
                immediate,
                round,
                payload_size,
            }),
            Inline::Datagram => self.post_datagram(&DatagramRequest {
                work_id,
                region,
                range,
                to,
                immediate,
                path_mtu: payload_size,
            }),
        }
    }
}
