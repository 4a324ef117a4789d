"""A child process that loads model files and predicts with them: its crash is a result, not the end of the tests.

It reads a path and a number of columns per line (negative for columns of strings), and prints one line: ``ok`` and all
numbers of the certificates, ``refused: ...`` for a `ValueError` of `load`, or ``raised ...`` for anything else,
warnings included.
"""

import json
import os
import resource
import subprocess
import sys
import warnings
from pathlib import Path
from threading import Timer

# The memory limit above the use after the first model: no file here is longer than a megabyte.
MEMORY = 1 << 30
SECONDS = 120


class Child:
    """The process, started on first use, and restarted after a crash."""

    def __init__(self):
        self._process = None

    def load(self, path, columns, trusted=()):
        """Load a file in the process and return its line; fail the test if it crashes or hangs."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                # One thread: those of OpenMP wait for each other where cores are few.
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )
        process = self._process
        timer = Timer(SECONDS, process.kill)
        timer.start()
        try:
            process.stdin.write(f"{path}\t{columns}\t{','.join(trusted)}\n")
            process.stdin.flush()
            line = process.stdout.readline().strip()
        finally:
            timer.cancel()
        if not line:
            code = process.wait(timeout=SECONDS)
            self.close()
            raise AssertionError(f"the process that loaded {path} ended with {code}")
        return line

    def close(self):
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None


def parse_numbers(model):
    """Collect all numbers in the certificates of a model by their places."""
    numbers = {}

    def collect(value, place):
        if isinstance(value, dict):
            for name, item in value.items():
                collect(item, f"{place}.{name}")
        elif isinstance(value, list | tuple):
            for number, item in enumerate(value):
                collect(item, f"{place}.{number}")
        elif not isinstance(value, str):
            numbers[place] = value

    for voting, certificate in model.certificates_.items():
        collect(certificate.to_dict(), voting)
    return numbers


def _load(path, columns, trusted):
    import numpy as np

    from pacbayes import load

    try:
        model = load(path, trusted=trusted)
    except ValueError as error:
        return "refused: " + " ".join(str(error).split())[:300]
    except Exception as error:
        return f"raised by load: {type(error).__name__}: {error!s:.300}"
    X = np.random.default_rng(0).normal(size=(7, columns)) if columns > 0 else np.full((7, -columns), "a", dtype=object)
    try:
        single = model.certificate_.refit or model.certificate_.decision is not None
        for voting in [model.voting_] if single else model.certificates_:
            model.set_params(voting=voting).predict(X)
            model.accepts(X)
            model.vote_share(X)
            if hasattr(model, "predict_proba"):
                _check_probabilities(model.predict_proba(X))
            model.certificate_.explain()
            model.certificate_._repr_html_()
        model.classifiers_.predict(X)
        _read_attributes(model)
        return "ok " + json.dumps(parse_numbers(model))
    except Exception as error:
        return f"raised by predict: {type(error).__name__}: {error!s:.300}"


def _check_probabilities(shares):
    if not (shares >= 0.0).all() or not (shares.sum(axis=1) <= 1.0 + 1e-9).all():
        raise AssertionError(f"no probabilities: {shares.tolist()}")


def _read_attributes(model):
    """Read all fitted attributes."""
    names = [name for name in dir(type(model)) if name.endswith("_") and not name.startswith("_")]
    for name in names:
        getattr(model, name, None)  # missing attributes are no error
    repr(model)
    repr(model.classifiers_)


def _main():
    warnings.simplefilter("error")
    first = True
    for line in sys.stdin:
        path, columns, trusted = line.rstrip("\n").split("\t")
        print(_load(path, int(columns), [name for name in trusted.split(",") if name]).replace("\n", " "), flush=True)
        if first and sys.platform == "linux":
            # Everything is imported and compiled after the first model.
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limit = pages * resource.getpagesize() + MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            first = False


if __name__ == "__main__":
    _main()
