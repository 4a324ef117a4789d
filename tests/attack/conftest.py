"""Fixtures of the attacks on model files."""

import pytest
from tests.attack.child import Child
from tests.attack.small_models import COLUMNS, model

from pacbayes import save


@pytest.fixture(scope="session")
def child(tmp_path_factory):
    process, path = Child(), tmp_path_factory.mktemp("first") / "model"
    save(model("two"), path)
    assert process.load(path, COLUMNS).startswith("ok")
    yield process
    process.close()
