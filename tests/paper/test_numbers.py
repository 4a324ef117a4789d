"""The paper's printed numbers agree with themselves and with the theory where they can, and are flagged where not."""

import hashlib
import math
from importlib.resources import files

import pytest

from pacbayes import log_constant
from pacbayes.data import DATASETS
from pacbayes.paper.numbers import TABLES, cell, printed, raw_cell, slip
from pacbayes.paper.protocol import DELTA, NINE

DISTANCES = ("linear", "squared", "pinsker", "ch", "kl")
BOUND_TABLES = ("main", "small_lambda")


# Of the transcription as it was proof-read against the paper; whoever corrects a cell reads it there once more.
PROOF_READ = {
    "main": "037c149a3319e9bb05a531ad48f2e57172d70c1df7c25d1d16e8bd64eb19e905",
    "small_lambda": "2f0c432e0f21d3ae487ffb827b102ab06bcb2335a99e970c875beb299d967f5e",
    "fp_vs_solver": "9ceb51c7916ec81750868da37f3cfddc174d3609bfaf062efb1e36377ead991a",
    "ccp": "17660339625bc660a021ed6a9d85685771276121fd8316dac13255328c316f08",
    "support": "b6dd7cd1324182570f7694bb01542dda4db82c90c3a544797dd6007a2a52c521",
    "constants": "447d92720156c0402b3c231122451ebb37f4494b4b45d958400dc78de473bd8d",
    "top_lambdas": "14688b0959029455ee66a2498b14b35f97224d39de6b55d336e277f0ee3ef8fd",
    "slips": "0d732d044fe48dbfe3451548b8077cb9ec7bf3b834d33b3f5700bd670269c084",
}


@pytest.mark.parametrize("table", TABLES)
def test_the_transcription_is_the_one_that_was_proof_read(table):
    text = files("pacbayes.paper").joinpath("printed", f"{table}.csv").read_text(encoding="utf-8")
    assert hashlib.sha256(text.encode()).hexdigest() == PROOF_READ[table]


def rounds_to(value, text):
    """Whether a value rounds to a printed number, at its printed digits."""
    digits = len(f"{text:.10f}".rstrip("0").split(".")[1])
    return abs(value - text) <= 0.5 * 10.0**-digits * 1.02


@pytest.mark.parametrize("table", BOUND_TABLES)
def test_bounds_are_ordered_as_theory_orders_them(table):
    """With the constant 2 sqrt(m) in each, Pinsker's inequality puts kl below Pinsker, and Pinsker below squared."""
    for dataset in NINE:
        of = {d: cell(table, "bound", dataset=dataset, distance=d, constant="paper") for d in DISTANCES}
        assert of["kl"] < of["pinsker"] < of["squared"]
        exact = cell(table, "bound", dataset=dataset, distance="squared", constant="exact")
        assert exact is None or exact < of["squared"]
        m = DATASETS[dataset].split_sizes.validation
        # No risk is negative, no divergence either: each bound is at least its value at L = K = 0.
        log_term = log_constant("linear", m) - math.log(DELTA)
        assert of["linear"] is None or of["linear"] > log_term / m
        assert of["squared"] > math.sqrt((math.log(2 * math.sqrt(m)) - math.log(DELTA)) / m)


def test_tables_that_share_a_cell_agree_unless_flagged():
    for dataset in NINE:
        main = cell("main", "bound", dataset=dataset, distance="kl", constant="paper")
        at_1990 = raw_cell("fp_vs_solver", "fixed_point", dataset=dataset, H=1990)
        flagged = slip("fp_vs_solver", "fixed_point", dataset=dataset, H=1990) is not None
        assert (abs(main - at_1990) < 1e-5) != flagged
        at_50 = cell("fp_vs_solver", "fixed_point", dataset=dataset, H=50)
        assert abs(at_50 - cell("ccp", "fp_bound", dataset=dataset)) <= 1e-5
    for H in (1000, 1990):  # Banknote's flagged cells repeat Bupa's
        cells = [raw_cell("fp_vs_solver", "fixed_point", dataset=name, H=H) for name in ("banknote", "bupa-leaky")]
        assert cells[0] == cells[1]
        assert cell("fp_vs_solver", "fixed_point", dataset="banknote", H=H) is None


def test_every_slip_points_at_a_cell_that_is_printed_so():
    for row in printed("slips"):
        where = {name: row[name] for name in ("dataset", "H", "distance") if name in printed(row["table"])[0]}
        if row["table"] == "main":
            where["constant"] = "paper"
        found = raw_cell(row["table"], row["column"], **where)
        assert found is None or found == pytest.approx(float(row["printed"]), rel=1e-9)


@pytest.mark.parametrize("row", printed("constants"), ids=lambda row: f"{row['distance']}-{row['m']}")
def test_constants_are_recomputed(row):
    assert rounds_to(2.0 * math.sqrt(row["m"]), row["two_sqrt_m"])
    ours = math.exp(log_constant(row["distance"], row["m"]))
    assert ours == pytest.approx(row["constant"], rel=0.02)
    assert ours >= row["constant"] * (1 - 0.02)
