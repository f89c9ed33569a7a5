// Part of the library of a design with mutants: which one acts, 0 for none.
// Set before an instance is made, read by each module's `initial`.
static int number = 0;
extern "C" int tessera_mutant_number() { return number; }
extern "C" __attribute__((visibility("default"))) void tessera_mutant_select(int chosen) { number = chosen; }
