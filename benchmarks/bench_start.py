"""Waiting time of `pacbayes certify` on Wdbc, relative to `import sklearn.svm`.

Both are whole processes, started alternately; the first start of each is omitted (it compiles the solver and fills the
caches of the file system).  Prints medians of the others and the largest ratio of successive times; then the seconds
that a first `pacbayes certify`, without a cache of compiled functions, takes longer than others.

    python benchmarks/bench_start.py [--repeats 7]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

IMPORT = [sys.executable, "-c", "import sklearn.svm"]
COMMANDS = {
    "certify (wdbc, five families)": ["certify"],
    "certify (wdbc, 5 widths x 199 and others)": ["certify", "--lambdas", "0.1:20:0.1"],
    "--help": ["--help"],
}


#: With bytecode, as installed packages have it.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def seconds(command: list[str], **variables: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT | variables)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    print("multiples of `python -c 'import sklearn.svm'`, median (largest) of", repeats)
    for name, arguments in COMMANDS.items():
        command = [sys.executable, "-m", "pacbayes", *arguments]
        seconds(command)
        seconds(IMPORT)
        # Neighbours in time: a machine that is busy with other things slows both.
        ratios = [seconds(command) / seconds(IMPORT) for _ in range(repeats)]
        print(f"{name:32s}{statistics.median(ratios):6.2f}  ({max(ratios):.2f})")
    command = [sys.executable, "-m", "pacbayes", "certify"]
    with tempfile.TemporaryDirectory() as folder:
        first = seconds(command, NUMBA_CACHE_DIR=folder)
        warm = [seconds(command, NUMBA_CACHE_DIR=folder) for _ in range(3)]
    print(f"the first certify compiles for {first - statistics.median(warm):.1f} s")


if __name__ == "__main__":
    main()
