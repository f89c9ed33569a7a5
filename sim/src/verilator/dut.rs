//! One running instance: the buffer of its ports, and its clock.

use super::library::{InstanceOptions, Model};
use super::{ModelError, Trace};
use crate::coverage;
use std::ffi::{c_int, c_void, CStr, CString};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a port, or a field of it, lies in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortId {
    word: u32,
    /// Bit within the word, 0 to 63.
    shift: u32,
    width: u32,
    input: bool,
}

impl PortId {
    pub(super) fn new(word: usize, lsb: usize, width: usize, input: bool) -> Self {
        PortId { word: (word + lsb / 64) as u32, shift: (lsb % 64) as u32, width: width as u32, input }
    }

    /// Width in bits.
    pub fn width(self) -> usize {
        self.width as usize
    }

    /// Length of the slice that [`Dut::get_wide`] and [`Dut::set_wide`] take.
    pub fn words(self) -> usize {
        self.width().div_ceil(64)
    }

    /// Whether the testbench drives it.
    pub fn is_input(self) -> bool {
        self.input
    }

    /// The bits `lsb .. lsb + width` of this one.
    ///
    /// # Panics
    /// If they lie outside it.
    pub fn bits(self, lsb: usize, width: usize) -> PortId {
        assert!(width > 0 && lsb + width <= self.width(), "bits {lsb}+{width} of a {}-bit port", self.width);
        PortId::new(self.word as usize, self.shift as usize + lsb, width, self.input)
    }
}

/// The lowest `width` bits, 1 to 64.
fn mask(width: u32) -> u64 {
    u64::MAX >> (64 - width)
}

/// One instance of a [`Model`]. Timing is described in [`super`].
pub struct Dut {
    model: Model,
    instance: NonNull<c_void>,
    /// Twice `words` words inside `instance`: now, and at the last edge.
    buffer: NonNull<u64>,
    words: usize,
    cycles: u64,
}

// SAFETY: an instance has a simulation context of its own and touches no state
// of another; the model keeps nothing per thread between calls.
unsafe impl Send for Dut {}

impl Dut {
    pub(super) fn new(model: Model, options: &InstanceOptions) -> Result<Self, ModelError> {
        let functions = &model.inner.functions;
        // Verilator takes 31 bits, and 0 as "choose one".
        let seed = (options.random_init.unwrap_or(0) & 0x7fff_ffff).max(1);
        let half = (options.clock_period_ps / 2).max(1);
        // SAFETY: plain values in; null or an instance out.
        let instance = unsafe { (functions.new)(c_int::from(options.random_init.is_some()), seed, half) };
        let instance = NonNull::new(instance).ok_or_else(|| ModelError::Stopped {
            top: model.inner.top.clone(),
            cycle: 0,
            detail: "it cannot be made".into(),
        })?;
        // SAFETY: `instance` is live; the buffer is a member of it.
        let buffer = unsafe { (functions.buffer)(instance.as_ptr()) };
        let words = model.inner.words;
        let buffer = NonNull::new(buffer).unwrap_or(NonNull::dangling());
        let dut = Dut { model, instance, buffer, words, cycles: 0 };
        match dut.message() {
            text if text.is_empty() => Ok(dut),
            detail => Err(ModelError::Stopped { top: dut.model.inner.top.clone(), cycle: 0, detail }),
        }
    }

    /// The model this is an instance of.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The handle of a port, or of a field as `port.field`.
    ///
    /// # Errors
    /// [`ModelError::NoSuchPort`].
    pub fn port(&self, name: &str) -> Result<PortId, ModelError> {
        self.model.port(name)
    }

    fn buffer(&self) -> &[u64] {
        // SAFETY: words that live as long as the instance; C++ touches them
        // only inside calls that borrow `self` mutably.
        unsafe { std::slice::from_raw_parts(self.buffer.as_ptr(), self.words) }
    }

    fn edge_buffer(&self) -> &[u64] {
        // SAFETY: as in `buffer`; the second half of the same array.
        unsafe { std::slice::from_raw_parts(self.buffer.as_ptr().add(self.words), self.words) }
    }

    fn buffer_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `buffer`, borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.buffer.as_ptr(), self.words) }
    }

    /// The value of a port of up to 64 bits, as of the last clock or settle;
    /// of an input, what was last set.
    ///
    /// # Panics
    /// If the port is wider: use [`Dut::get_wide`].
    #[inline]
    pub fn get(&self, port: PortId) -> u64 {
        assert!(port.width <= 64, "a port of {} bits does not fit a u64, use get_wide", port.width);
        read(self.buffer(), port.word as usize, port.shift, port.width)
    }

    /// The value a port had at the rising edge of the last clock: what a
    /// register on either side of it sampled then. Zero before the first.
    ///
    /// This is how handshakes are seen: `valid` and `ready` count at the edge,
    /// and [`Dut::get`] shows the outputs only after it. It costs no
    /// [`Dut::settle`].
    ///
    /// # Panics
    /// If the port is wider than 64 bits: use [`Dut::sampled_wide`].
    #[inline]
    pub fn sampled(&self, port: PortId) -> u64 {
        assert!(port.width <= 64, "a port of {} bits does not fit a u64, use sampled_wide", port.width);
        read(self.edge_buffer(), port.word as usize, port.shift, port.width)
    }

    /// Whether a one-bit port is high; of a wider one, whether any bit is.
    #[inline]
    pub fn is_high(&self, port: PortId) -> bool {
        self.get(port) != 0
    }

    /// Applies a value of up to 64 bits to an input; the design sees it at the
    /// next settle or clock.
    ///
    /// # Panics
    /// If the port is an output, wider than 64 bits, or too narrow for `value`.
    #[inline]
    pub fn set(&mut self, port: PortId, value: impl Into<u64>) {
        let value = value.into();
        assert!(port.input, "an output cannot be set");
        assert!(port.width <= 64, "a port of {} bits needs set_wide", port.width);
        assert!(value <= mask(port.width), "{value:#x} does not fit a port of {} bits", port.width);
        write(self.buffer_mut(), port.word as usize, port.shift, port.width, value);
    }

    /// Reads a port of any width, least significant word first.
    ///
    /// # Panics
    /// If `words` is not [`PortId::words`] long.
    pub fn get_wide(&self, port: PortId, words: &mut [u64]) {
        read_wide(self.buffer(), port, words);
    }

    /// [`Dut::sampled`] for a port of any width, least significant word first.
    ///
    /// # Panics
    /// If `words` is not [`PortId::words`] long.
    pub fn sampled_wide(&self, port: PortId, words: &mut [u64]) {
        read_wide(self.edge_buffer(), port, words);
    }

    /// Applies a value of any width to an input, least significant word first.
    ///
    /// # Panics
    /// If the port is an output, `words` is not [`PortId::words`] long, or its
    /// last word has bits beyond the width.
    pub fn set_wide(&mut self, port: PortId, words: &[u64]) {
        assert!(port.input, "an output cannot be set");
        assert_eq!(words.len(), port.words(), "words for a port of {} bits", port.width);
        for (i, word) in words.iter().enumerate() {
            let width = (port.width - 64 * i as u32).min(64);
            assert!(*word <= mask(width), "{word:#x} does not fit the last {width} bits of the port");
            write(self.buffer_mut(), port.word as usize + i, port.shift, width, *word);
        }
    }

    /// Lets the combinational outputs follow the inputs. No clock edge.
    ///
    /// # Panics
    /// As [`Dut::clock`].
    pub fn settle(&mut self) {
        self.try_settle().unwrap_or_else(|e| panic!("{e}"));
    }

    /// One clock: registers sample the inputs as they are now; afterwards the
    /// outputs are those after the edge. One foreign call.
    ///
    /// # Panics
    /// If the simulation gives up ([`ModelError::Stopped`]); [`Dut::try_clock`]
    /// returns that instead.
    #[inline]
    pub fn clock(&mut self) {
        self.clock_by(1);
    }

    /// `count` clocks with the inputs held; outputs are those after the last.
    ///
    /// # Panics
    /// As [`Dut::clock`].
    #[inline]
    pub fn clock_by(&mut self, count: u64) {
        self.try_clock(count).unwrap_or_else(|e| panic!("{e}"));
    }

    /// [`Dut::settle`] with the failure returned.
    ///
    /// # Errors
    /// [`ModelError::Stopped`]; the instance is then of no further use.
    pub fn try_settle(&mut self) -> Result<(), ModelError> {
        // SAFETY: `instance` is live and borrowed mutably.
        let status = unsafe { (self.model.inner.functions.settle)(self.instance.as_ptr()) };
        self.check(status)
    }

    /// [`Dut::clock_by`] with the failure returned.
    ///
    /// # Errors
    /// [`ModelError::Stopped`]; the instance is then of no further use.
    #[inline]
    pub fn try_clock(&mut self, count: u64) -> Result<(), ModelError> {
        // SAFETY: `instance` is live and borrowed mutably.
        let status = unsafe { (self.model.inner.functions.clock)(self.instance.as_ptr(), count) };
        self.check(status)?;
        self.cycles += count;
        Ok(())
    }

    /// Holds the one-bit input `port` high for `clocks` clocks, then releases
    /// it.
    pub fn reset(&mut self, port: PortId, clocks: u64) {
        self.set(port, 1u64);
        self.clock_by(clocks);
        self.set(port, 0u64);
        self.settle();
    }

    /// Clocks since the instance was made.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Starts writing waveforms to `path`, from here on; ends a previous file.
    ///
    /// # Errors
    /// [`ModelError::NotBuilt`] or [`ModelError::Write`].
    pub fn open_trace(&mut self, path: impl AsRef<Path>) -> Result<(), ModelError> {
        let path = path.as_ref();
        let (open, ..) = self.trace_functions()?;
        let name = c_path(path)?;
        // SAFETY: `instance` is live, `name` is a C string that outlives the call.
        let status = unsafe { open(self.instance.as_ptr(), name.as_ptr()) };
        self.check_write(status, path)
    }

    /// Writes what is still buffered, so that the file can be looked at.
    ///
    /// # Errors
    /// [`ModelError::NotBuilt`] or [`ModelError::Stopped`].
    pub fn flush_trace(&mut self) -> Result<(), ModelError> {
        let (_, flush, _) = self.trace_functions()?;
        // SAFETY: `instance` is live and borrowed mutably.
        let status = unsafe { flush(self.instance.as_ptr()) };
        self.check(status)
    }

    /// Completes the waveform file; dropping the instance does so too.
    ///
    /// # Errors
    /// [`ModelError::NotBuilt`] or [`ModelError::Stopped`].
    pub fn close_trace(&mut self) -> Result<(), ModelError> {
        let (.., close) = self.trace_functions()?;
        // SAFETY: `instance` is live and borrowed mutably.
        let status = unsafe { close(self.instance.as_ptr()) };
        self.check(status)
    }

    /// Writes this instance's coverage counts in Verilator's format.
    ///
    /// # Errors
    /// [`ModelError::NotBuilt`] or [`ModelError::Write`].
    pub fn write_coverage(&mut self, path: impl AsRef<Path>) -> Result<(), ModelError> {
        let path = path.as_ref();
        let write =
            self.model.inner.functions.coverage.ok_or_else(|| self.not_built("coverage", "coverage"))?;
        let name = c_path(path)?;
        // SAFETY: `instance` is live, `name` is a C string that outlives the call.
        let status = unsafe { write(self.instance.as_ptr(), name.as_ptr()) };
        self.check_write(status, path)
    }

    fn trace_functions(&self) -> Result<TraceFunctions, ModelError> {
        debug_assert_eq!(self.model.inner.functions.trace.is_some(), self.model.trace() != Trace::Off);
        self.model.inner.functions.trace.ok_or_else(|| self.not_built("waveforms", "trace"))
    }

    fn not_built(&self, what: &'static str, option: &'static str) -> ModelError {
        ModelError::NotBuilt { top: self.model.inner.top.clone(), what, option }
    }

    #[inline]
    fn check(&self, status: c_int) -> Result<(), ModelError> {
        if status == 0 {
            return Ok(());
        }
        Err(ModelError::Stopped {
            top: self.model.inner.top.clone(),
            cycle: self.cycles,
            detail: self.message(),
        })
    }

    fn check_write(&self, status: c_int, path: &Path) -> Result<(), ModelError> {
        match status {
            0 => Ok(()),
            _ => Err(ModelError::Write { path: path.to_path_buf(), detail: self.message() }),
        }
    }

    #[cold]
    fn message(&self) -> String {
        // SAFETY: `instance` is live; the text stays until its next call.
        let text = unsafe { CStr::from_ptr((self.model.inner.functions.error)(self.instance.as_ptr())) };
        text.to_string_lossy().into_owned()
    }
}

type TraceFunctions = (
    unsafe extern "C" fn(*mut c_void, *const std::ffi::c_char) -> c_int,
    unsafe extern "C" fn(*mut c_void) -> c_int,
    unsafe extern "C" fn(*mut c_void) -> c_int,
);

impl Dut {
    /// Leaves the counts for whoever set [`coverage::FOLDER_VARIABLE`]. That
    /// they are missing is seen there; a test must not fail for it.
    fn leave_coverage(&mut self) {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let Some(folder) = coverage::folder().filter(|_| self.model.inner.functions.coverage.is_some())
        else {
            return;
        };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{number}.dat", self.model.key(), std::process::id());
        let written = std::fs::create_dir_all(&folder)
            .map_err(|error| error.to_string())
            .and_then(|()| self.write_coverage(folder.join(name)).map_err(|error| error.to_string()));
        if let Err(error) = written {
            eprintln!("tessera: no coverage counts of {}: {error}", self.model.top());
        }
    }
}

impl Drop for Dut {
    fn drop(&mut self) {
        self.leave_coverage();
        // SAFETY: made by `new`, freed only here.
        unsafe { (self.model.inner.functions.free)(self.instance.as_ptr()) }
    }
}

fn c_path(path: &Path) -> Result<CString, ModelError> {
    CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| ModelError::Write {
        path: path.to_path_buf(),
        detail: "its name contains a zero byte".into(),
    })
}

/// `width` bits (1 to 64) from bit `shift` of word `word`.
#[inline]
fn read(buffer: &[u64], word: usize, shift: u32, width: u32) -> u64 {
    let mut value = buffer[word] >> shift;
    if shift + width > 64 {
        value |= buffer[word + 1] << (64 - shift);
    }
    value & mask(width)
}

fn read_wide(buffer: &[u64], port: PortId, words: &mut [u64]) {
    assert_eq!(words.len(), port.words(), "words for a port of {} bits", port.width);
    for (i, word) in words.iter_mut().enumerate() {
        let width = (port.width - 64 * i as u32).min(64);
        *word = read(buffer, port.word as usize + i, port.shift, width);
    }
}

/// Stores `width` bits (1 to 64) at bit `shift` of word `word`.
#[inline]
fn write(buffer: &mut [u64], word: usize, shift: u32, width: u32, value: u64) {
    buffer[word] = (buffer[word] & !(mask(width) << shift)) | (value << shift);
    if shift + width > 64 {
        let stored = 64 - shift;
        buffer[word + 1] = (buffer[word + 1] & !(mask(width) >> stored)) | (value >> stored);
    }
}
