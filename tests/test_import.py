"""What `import pacbayes` costs and offers."""

import subprocess
import sys

import pytest

import pacbayes


def test_import_loads_nothing_heavy():
    heavy = ["numpy", "scipy", "sklearn", "numba", "pandas", "matplotlib"]
    code = f"import sys, pacbayes; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_loads_and_is_documented():
    assert sorted(pacbayes.__all__) == sorted(pacbayes._HOMES)
    for name in pacbayes.__all__:
        value = getattr(pacbayes, name)
        assert not callable(value) or ">>>" in value.__doc__
    assert set(pacbayes.__all__) <= set(dir(pacbayes))


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'bounds_of_all_kinds'"):
        pacbayes.bounds_of_all_kinds  # noqa: B018  (the access is the test)
