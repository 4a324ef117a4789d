"""Processes that are forked while threads of their parent are fitting."""

import os
import subprocess
import sys

import pytest

# Everything is imported and compiled by a first fit: what Python does to a fork in the middle of an import is not ours.
FORKING = """
import multiprocessing, os, threading
from pacbayes import StochasticSVC, load_dataset

data = load_dataset("wdbc")
X, y = data.data[:200], data.target[:200]


def fit(seed):
    return StochasticSVC(lambdas=[0.1, 1, 10], random_state=seed).fit(X, y).certificate_.bound


def fit_on():
    while True:
        fit(0)


alone = [fit(seed) for seed in range(2)]
for _ in range(3):
    threading.Thread(target=fit_on, daemon=True).start()
for _ in range(6):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(fit, range(2)).get(60) == alone
print("done", flush=True)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_workers_do_not_wait_for_threads_of_their_parent():
    # Python warns of such forks from version 3.12 on.
    command = [sys.executable, "-W", "ignore", "-c", FORKING]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert found.stdout == "done\n", found.stderr
