"""The command line of Yosys on its Python module: as much of it as Tessera and SymbiYosys use.

    yosys [-V] [-q [-l LOG]] [-p COMMANDS]... [[-s] SCRIPT]...

An error is said on standard error and ends it with 1, as the program does.
"""

import os
import sys

from pyosys import libyosys as ys


def main(arguments):
    quiet, log, runs = False, None, []
    while arguments:
        argument = arguments.pop(0)
        # -ql LOG
        if argument.startswith("-q") and len(argument) > 2:
            arguments.insert(0, "-" + argument[2:])
            argument = "-q"
        if argument == "-V":
            print(ys.yosys_maybe_version())
        elif argument == "-q":
            quiet = True
        elif argument == "-l" and arguments and quiet:
            log = arguments.pop(0)
        elif argument == "-p" and arguments:
            runs.append(arguments.pop(0))
        elif argument == "-s" and arguments:
            runs.append(f"script {arguments.pop(0)}")
        elif not argument.startswith("-"):
            runs.append(f"script {argument}")
        else:
            sys.exit(f"{argument}: of Yosys's options this has -V, -q, -q -l, -p and -s")
    if quiet:
        os.dup2(os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 1)
    design = ys.Design()
    for run in runs:
        ys.run_pass(run, design)


main(sys.argv[1:])
