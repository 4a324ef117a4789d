"""The rows of the tables of bounds."""

import pytest

from pacbayes.paper.bound_tables import pick


def test_pick_wants_one_row():
    rows = [{"a": 1}, {"a": 1}]
    with pytest.raises(ValueError, match="must name one row, got 2"):
        pick(rows, a=1)
