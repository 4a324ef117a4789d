"""What `--json` prints keeps the keys that version 0.1 had, but for `below` and `by_class`, which 0.3 has no more.

`keys_of_0_1.json` was printed by version 0.1 itself, less these, for the commands below.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import in_process

KEYS = json.loads((Path(__file__).parent / "keys_of_0_1.json").read_text(encoding="utf-8"))
# Parameters of an estimator, and of its classifiers, are what they are called there; names of packages are no keys.
FREE = {"parameters", "of_classifiers", "params", "versions", "missing"}


def keys_of(value, place=""):
    """Return where the keys of nested dicts stand; entries of a list stand at one place."""
    if isinstance(value, list):
        return set().union(*(keys_of(inner, f"{place}[]") for inner in value))
    if not isinstance(value, dict):
        return set()
    found = {f"{place}.{name}" for name in value}
    return found.union(*(keys_of(inner, f"{place}.{name}") for name, inner in value.items() if name not in FREE))


def commands(folder):
    """Write the files that the commands read, and return the commands by name."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    table["class"] = np.where(table["a"] + rng.normal(size=200) > 0, "yes", "no")
    table["patient"], table["site"] = np.repeat(np.arange(100), 2), rng.choice(["north", "south"], 200)
    table[["a", "b", "class"]].to_csv(folder / "data.csv", index=False)
    table[["a", "b", "class"]].assign(a=table["a"] + 0.1).to_csv(folder / "new.csv", index=False)
    table.drop(columns="site").to_csv(folder / "grouped.csv", index=False)
    table.drop(columns="patient").to_csv(folder / "sliced.csv", index=False)
    said = pd.DataFrame({name: rng.choice(["yes", "no"], 200) for name in ("one", "other")})
    said.assign(true=table["class"]).to_csv(folder / "said.csv", index=False)
    (folder / "risks.csv").write_text("risk\n0.1\n0.2\n0.3\n", encoding="utf-8")
    quick = ["--lambdas", "0.01:100:5", "--seed", "0"]
    certify = ["certify", folder / "data.csv", "--target", "class", *quick]
    sliced = ["certify", folder / "sliced.csv", "--target", "class", "--by-class", "--slice", "site", *quick]
    return {
        "certify": certify,
        "certify, a test file": [*certify, "--test", folder / "new.csv"],
        "certify, independent": [*certify, "--split", "independent"],
        "certify, no posterior": [*certify, "--hedge", "0"],
        "certify, by class": sliced,
        "certify, a target": [*certify, "--max-error", "0.2"],
        "certify, groups": ["certify", folder / "grouped.csv", "--target", "class", "--group", "patient", *quick],
        "certify, predictions": ["certify", "--predictions", folder / "said.csv", "--target", "true"],
        "compare": ["compare", folder / "said.csv", "--a", "one", "--b", "other", "--target", "true"],
        "posterior": ["posterior", folder / "risks.csv", "--m", "50"],
        "bound": ["bound", "--risk", "0.1", "--kl", "1.5", "--m", "100"],
    }


@pytest.mark.parametrize("name", KEYS)
def test_every_key_of_0_1_is_there(name, tmp_path, capsys):
    done = in_process([*commands(tmp_path)[name], "--json"], capsys)
    assert done.code == 0, done.err
    assert set(KEYS[name]) - keys_of(json.loads(done.out)) == set()
