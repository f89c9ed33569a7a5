// What Verilator's run-time prints with, in place of printf: the shim keeps it for an error's text.
#pragma once
int tessera_print(const char* format, ...);
#define VL_PRINTF tessera_print
