//! A loaded model: its C functions and the map of its ports.

use super::build::{build, BuildOptions, Built, Trace};
use super::design::{slots, Design, Direction};
use super::dut::{Dut, PortId};
use super::ModelError;
use crate::coverage;
use crate::mutate;
use libloading::Library;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How an instance starts.
#[derive(Clone, Copy, Debug)]
pub struct InstanceOptions {
    /// What memories and registers without an `initial` value hold: zero, or
    /// (`Some`) bits drawn from this seed, as in a chip after power up.
    pub random_init: Option<u32>,
    /// Length of a clock in picoseconds; only the trace shows it. 4000, which
    /// is 250 MHz.
    pub clock_period_ps: u64,
}

impl Default for InstanceOptions {
    fn default() -> Self {
        InstanceOptions { random_init: None, clock_period_ps: 4000 }
    }
}

type Call = unsafe extern "C" fn(*mut c_void) -> c_int;
type CallWithPath = unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int;

/// The functions of `shim.cpp`.
pub(super) struct Functions {
    pub new: unsafe extern "C" fn(c_int, u32, u64) -> *mut c_void,
    pub free: unsafe extern "C" fn(*mut c_void),
    pub buffer: unsafe extern "C" fn(*mut c_void) -> *mut u64,
    pub error: unsafe extern "C" fn(*mut c_void) -> *const c_char,
    pub settle: Call,
    pub clock: unsafe extern "C" fn(*mut c_void, u64) -> c_int,
    /// Open, flush, close; absent without tracing.
    pub trace: Option<(CallWithPath, Call, Call)>,
    pub coverage: Option<CallWithPath>,
}

pub(super) struct Inner {
    pub top: String,
    pub functions: Functions,
    pub ports: BTreeMap<String, PortId>,
    /// Fields of each port that has any: name, lowest bit, width.
    pub fields: BTreeMap<String, Vec<(String, usize, usize)>>,
    /// Words of the buffer.
    pub words: usize,
    pub trace: Trace,
    built: Built,
}

/// A compiled design, from which instances are made. Cheap to clone; may be
/// shared between threads.
#[derive(Clone)]
pub struct Model {
    pub(super) inner: Arc<Inner>,
}

impl Model {
    /// Compiles `design`, or takes the library that an equal build has left in
    /// the cache, and loads it.
    ///
    /// # Errors
    /// [`ModelError`]: a tool is missing, the Verilog or the port list is
    /// wrong, or the C++ does not compile.
    pub fn build(design: &Design, options: &BuildOptions) -> Result<Model, ModelError> {
        let mut options = options.clone();
        options.coverage |= coverage::folder().is_some();
        let mutated = match mutate::from_environment() {
            Some(plan) => plan.apply(design)?,
            None => None,
        };
        let built = build(design, mutated.as_ref(), &options)?;
        let number = mutated.map(|mutated| mutated.number);
        let functions = load(&built.object, number, &options)
            .map_err(|e| ModelError::Load { path: built.object.clone(), detail: e.to_string() })?;
        let (slots, words) = slots(design);
        let mut ports = BTreeMap::new();
        for slot in &slots {
            let whole = PortId::new(slot.word, 0, slot.port.width, slot.port.direction == Direction::In);
            ports.insert(slot.port.name.clone(), whole);
            for field in &slot.port.fields {
                let part =
                    PortId::new(slot.word, field.lsb, field.width, slot.port.direction == Direction::In);
                ports.insert(format!("{}.{}", slot.port.name, field.name), part);
            }
        }
        let described = design.ports.iter().filter(|p| !p.fields.is_empty());
        let fields = described
            .map(|p| (p.name.clone(), p.fields.iter().map(|f| (f.name.clone(), f.lsb, f.width)).collect()))
            .collect();
        let inner = Inner {
            fields,
            top: design.top.clone(),
            functions,
            ports,
            words: words.max(1),
            trace: options.trace,
            built,
        };
        Ok(Model { inner: Arc::new(inner) })
    }

    /// A new instance, all memories zero.
    ///
    /// # Errors
    /// [`ModelError::Stopped`] if the design gives up at time zero.
    pub fn instance(&self) -> Result<Dut, ModelError> {
        self.instance_with(&InstanceOptions::default())
    }

    /// A new instance. Instances share nothing: each has its own time,
    /// memories, trace and coverage counts.
    ///
    /// # Errors
    /// [`ModelError::Stopped`] if the design gives up at time zero.
    pub fn instance_with(&self, options: &InstanceOptions) -> Result<Dut, ModelError> {
        Dut::new(self.clone(), options)
    }

    /// The handle of a port, or of a field as `port.field`. It is good for
    /// every instance of this model.
    ///
    /// # Errors
    /// [`ModelError::NoSuchPort`].
    pub fn port(&self, name: &str) -> Result<PortId, ModelError> {
        self.inner.ports.get(name).copied().ok_or_else(|| ModelError::NoSuchPort {
            top: self.inner.top.clone(),
            name: name.into(),
            known: self.inner.ports.keys().cloned().collect::<Vec<_>>().join(", "),
        })
    }

    /// Every input but the clock, whole.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = PortId> + '_ {
        let whole = self.inner.ports.iter().filter(|(name, _)| !name.contains('.'));
        whole.map(|(_, port)| *port).filter(|port| port.is_input())
    }

    /// The fields of a port as (name, lowest bit, width); empty for a plain
    /// number.
    pub fn fields(&self, port: &str) -> Vec<(String, usize, usize)> {
        self.inner.fields.get(port).cloned().unwrap_or_default()
    }

    /// Name of the top module.
    pub fn top(&self) -> &str {
        &self.inner.top
    }

    /// Hash of everything the library was built from.
    pub fn key(&self) -> &str {
        &self.inner.built.key
    }

    /// The compiled shared object.
    pub fn shared_object(&self) -> &Path {
        &self.inner.built.object
    }

    /// Which waveforms its instances can write.
    pub fn trace(&self) -> Trace {
        self.inner.trace
    }

    /// The Verilog it was built from, as a file.
    pub fn verilog(&self) -> PathBuf {
        self.shared_object().with_file_name(format!("{}.v", self.top()))
    }
}

/// `mutant` is the number of the one that acts, in a library that has any.
fn load(path: &Path, mutant: Option<usize>, options: &BuildOptions) -> Result<Functions, libloading::Error> {
    // SAFETY: the library was compiled from `shim.cpp` and Verilator's output
    // for exactly these options (they are part of its file name); its static
    // constructors only set up Verilator's own tables. The signatures below are
    // those in `shim.cpp`.
    unsafe {
        let library = Library::new(path)?;
        if let Some(number) = mutant {
            let select: unsafe extern "C" fn(c_int) = *library.get(b"tessera_mutant_select\0")?;
            select(number as c_int);
        }
        let functions = Functions {
            new: *library.get(b"tessera_new\0")?,
            free: *library.get(b"tessera_free\0")?,
            buffer: *library.get(b"tessera_buffer\0")?,
            error: *library.get(b"tessera_error\0")?,
            settle: *library.get(b"tessera_settle\0")?,
            clock: *library.get(b"tessera_clock\0")?,
            trace: match options.trace {
                Trace::Off => None,
                Trace::Vcd | Trace::Fst => Some((
                    *library.get(b"tessera_trace_open\0")?,
                    *library.get(b"tessera_trace_flush\0")?,
                    *library.get(b"tessera_trace_close\0")?,
                )),
            },
            coverage: match options.coverage {
                false => None,
                true => Some(*library.get(b"tessera_coverage_write\0")?),
            },
        };
        // C++ thread-local state makes unloading unsafe while threads live, and
        // a process uses few models: keep it until the end.
        std::mem::forget(library);
        Ok(functions)
    }
}
