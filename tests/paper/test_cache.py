"""Computations that are kept."""

import pytest

from pacbayes.paper.cache import Cache


def test_an_interrupted_computation_leaves_nothing(tmp_path):
    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Cache(tmp_path).get("a", {}, fail)
    assert not list(tmp_path.iterdir())
