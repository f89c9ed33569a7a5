// The C++ side of one verilated model: a fixed set of C functions around the
// generated class `Vdut`. `ports.h` is written for each design and lists which
// port lives in which words of the buffer shared with Rust.
//
// No exception and no exit of the process crosses into Rust: what Verilator's
// run-time calls stop, fatal or finish becomes an error text, with what the design
// printed in that evaluation: an `$error` says what is wrong before it stops.

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "Vdut.h"
#include "verilated.h"

#if TESSERA_VCD
#include "verilated_vcd_c.h"
using Trace = VerilatedVcdC;
#elif TESSERA_FST
#include "verilated_fst_c.h"
using Trace = VerilatedFstC;
#endif
#if TESSERA_COVERAGE
#include "verilated_cov.h"
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// What the design has printed in this evaluation, which goes to the standard output when that ends.
thread_local std::string printed;

void show_printed() {
    if (printed.empty()) return;
    std::fwrite(printed.data(), 1, printed.size(), stdout);
    printed.clear();
}

[[noreturn]] void raise(const char* what, const char* file, int line, const char* message) {
    std::string text{what};
    if (message && *message) text += std::string{": "} + message;
    if (file && *file) text += std::string{" at "} + file + ":" + std::to_string(line);
    while (!printed.empty() && printed.back() == '\n') printed.pop_back();
    if (!printed.empty()) text += "\n" + printed;
    printed.clear();
    throw std::runtime_error{text};
}

template <typename Port> void load(Port& port, const std::uint64_t* words) {
    port = static_cast<Port>(*words);
}
template <std::size_t N> void load(VlWide<N>& port, const std::uint64_t* words) {
    for (std::size_t i = 0; i < N; ++i) port[i] = static_cast<EData>(words[i / 2] >> (32 * (i % 2)));
}
template <typename Port> void store(const Port& port, std::uint64_t* words) {
    *words = port;
}
template <std::size_t N> void store(const VlWide<N>& port, std::uint64_t* words) {
    for (std::size_t i = 0; i + 1 < N; i += 2)
        words[i / 2] = port[i] | (static_cast<std::uint64_t>(port[i + 1]) << 32);
    if (N % 2) words[N / 2] = port[N - 1];
}

}  // namespace

#include "ports.h"

// Verilator's run-time prints with it (`print.h`).
int tessera_print(const char* format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = std::vsnprintf(nullptr, 0, format, arguments);
    va_end(arguments);
    if (length > 0) {
        std::string text(static_cast<std::size_t>(length) + 1, '\0');
        std::vsnprintf(&text[0], text.size(), format, again);
        text.pop_back();
        printed += text;
    }
    va_end(again);
    return length;
}

void vl_stop(const char* file, int line, const char*) { raise("the design stopped", file, line, ""); }
void vl_finish(const char* file, int line, const char*) { raise("the design called $finish", file, line, ""); }
void vl_fatal(const char* file, int line, const char*, const char* message) {
    raise("the simulation cannot go on", file, line, message);
}

namespace {

struct Instance {
    // Values as they are now, then those at the last rising edge.
    std::uint64_t buffer[2 * TESSERA_WORDS] = {};
    std::string error;
    std::uint64_t half_period;
    VerilatedContext context;
    std::unique_ptr<Vdut> model;
#if TESSERA_VCD || TESSERA_FST
    std::unique_ptr<Trace> trace;
#endif

    Instance(bool random, std::uint32_t seed, std::uint64_t half) : half_period{half} {
        context.randReset(random ? 2 : 0);
        context.randSeed(static_cast<int>(seed));
#if TESSERA_VCD || TESSERA_FST
        context.traceEverOn(true);
#endif
        model.reset(new Vdut{&context, "dut"});
    }
    ~Instance() {
        try {
            close();
            if (model) model->final();
        } catch (...) {
            // Nobody is left to tell.
        }
        show_printed();
    }

    void close() {
#if TESSERA_VCD || TESSERA_FST
        if (trace) trace->close();
        trace.reset();
#endif
    }
    void dump() {
#if TESSERA_VCD || TESSERA_FST
        if (trace) trace->dump(context.time());
#endif
    }
    void evaluate() {
        model->eval();
        show_printed();
    }
    // Half a period with the clock at `level`, inputs as they stand.
    void phase(bool level) {
        model->TESSERA_CLOCK = level;
        evaluate();
        dump();
        context.timeInc(half_period);
    }
};

template <typename Body> int guarded(Instance* self, Body body) {
    try {
        body();
        return 0;
    } catch (const std::exception& e) {
        self->error = e.what();
    } catch (...) {
        self->error = "unknown C++ exception";
    }
    return 1;
}

}  // namespace

EXPORT void* tessera_new(int random, std::uint32_t seed, std::uint64_t half_period) {
    try {
        auto self = std::unique_ptr<Instance>{new Instance{random != 0, seed, half_period}};
        // Constants and initial blocks show on the outputs before any clock. Whether they can is in `error`.
        guarded(self.get(), [&] {
            load_inputs(*self->model, self->buffer);
            self->evaluate();
            store_outputs(*self->model, self->buffer);
        });
        return self.release();
    } catch (...) {
        return nullptr;
    }
}

EXPORT void tessera_free(void* instance) { delete static_cast<Instance*>(instance); }

EXPORT std::uint64_t* tessera_buffer(void* instance) { return static_cast<Instance*>(instance)->buffer; }

EXPORT const char* tessera_error(void* instance) { return static_cast<Instance*>(instance)->error.c_str(); }

EXPORT int tessera_settle(void* instance) {
    auto* self = static_cast<Instance*>(instance);
    return guarded(self, [&] {
        load_inputs(*self->model, self->buffer);
        self->evaluate();
        store_outputs(*self->model, self->buffer);
    });
}

EXPORT int tessera_clock(void* instance, std::uint64_t count) {
    auto* self = static_cast<Instance*>(instance);
    return guarded(self, [&] {
        load_inputs(*self->model, self->buffer);
        for (std::uint64_t i = 0; i < count; ++i) {
            self->phase(false);
            if (i + 1 == count) {
                // With the clock low everything has settled on the new inputs:
                // this is what both sides sample at the edge.
                std::memcpy(self->buffer + TESSERA_WORDS, self->buffer, 8 * TESSERA_INPUT_WORDS);
                store_outputs(*self->model, self->buffer + TESSERA_WORDS);
            }
            self->phase(true);
        }
        store_outputs(*self->model, self->buffer);
    });
}

#if TESSERA_VCD || TESSERA_FST
EXPORT int tessera_trace_open(void* instance, const char* path) {
    auto* self = static_cast<Instance*>(instance);
    return guarded(self, [&] {
        self->close();
        self->trace.reset(new Trace);
        self->model->trace(self->trace.get(), 99);
        self->trace->open(path);
        if (!self->trace->isOpen()) {
            self->trace.reset();
            throw std::runtime_error{"the file cannot be written"};
        }
    });
}

EXPORT int tessera_trace_flush(void* instance) {
    auto* self = static_cast<Instance*>(instance);
    return guarded(self, [&] {
        if (self->trace) self->trace->flush();
    });
}

EXPORT int tessera_trace_close(void* instance) {
    auto* self = static_cast<Instance*>(instance);
    return guarded(self, [&] { self->close(); });
}
#endif

#if TESSERA_COVERAGE
EXPORT int tessera_coverage_write(void* instance, const char* path) {
    auto* self = static_cast<Instance*>(instance);
    return guarded(self, [&] { self->context.coveragep()->write(path); });
}
#endif
