"""The walk-through of docs/architecture.md names functions on the call path, in their order."""

import re
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_breast_cancer

from pacbayes import CertifiedClassifier, load_dataset

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


def named() -> list[str]:
    text = PAGE.read_text()
    walk = text[text.index("<!-- walk-through: begin -->") : text.index("<!-- walk-through: end -->")]
    return re.findall(r"`(pacbayes\.[\w.]+)`", walk)


@pytest.fixture(scope="module")
def called(tmp_path_factory) -> list[str]:
    """Functions called between file and certificate, in the order of first calls."""
    path = tmp_path_factory.mktemp("data") / "wdbc.csv"
    load_breast_cancer(as_frame=True).frame.to_csv(path, index=False)
    calls: dict[str, None] = {}

    def record(frame, event, _):
        if event == "call" and frame.f_globals.get("__name__", "").startswith("pacbayes."):
            calls.setdefault(f"{frame.f_globals['__name__']}.{frame.f_code.co_qualname}")

    before = sys.getprofile()
    sys.setprofile(record)
    try:
        data = load_dataset(path)
        # One worker, because the profiler does not see other threads.
        clf = CertifiedClassifier("svm", n_jobs=1, random_state=0).fit(data.data, data.target)
        text = str(clf.certificate_)
    finally:
        sys.setprofile(before)
    assert text.startswith("With 95 % confidence, the error rate")
    return list(calls)


def test_functions_are_called_in_this_order(called):
    names = named()
    assert len(names) > 30
    assert [name for name in names if name not in called] == []
    assert names == sorted(names, key=called.index)


def test_every_folder_is_on_the_call_path():
    folders = {"_utils", "bounds", "posteriors", "svm", "data", "ensemble", "certificates", "estimators"}
    assert {name.split(".")[1] for name in named()} == folders
