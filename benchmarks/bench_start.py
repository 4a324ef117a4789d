"""Waiting time of `pacbayes certify` on Wdbc, relative to `import sklearn.svm`.

Both are whole processes, started alternately; the first start of each is omitted (it compiles the solver and fills the
caches of the file system).  Prints medians of the others and the largest ratio of successive times.

    python benchmarks/bench_start.py [--repeats 7]
"""

import argparse
import statistics
import subprocess
import sys
import time

IMPORT = [sys.executable, "-c", "import sklearn.svm"]
COMMANDS = {
    "certify (wdbc, five families)": ["certify"],
    "certify (wdbc, 5 widths x 199 and others)": ["certify", "--lambdas", "0.1:20:0.1"],
    "--help": ["--help"],
}


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
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


if __name__ == "__main__":
    main()
