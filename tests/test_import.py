"""Lazy imports, public names and their examples."""

import doctest
import subprocess
import sys
from importlib import import_module

import pytest

import pacbayes

# Folders with public names.
FOLDERS = ("bounds", "posteriors", "ensemble", "svm", "certificates", "estimators", "report", "data")


def test_import_loads_nothing_heavy():
    heavy = ["numpy", "scipy", "sklearn", "numba", "pandas", "matplotlib"]
    code = f"import sys, pacbayes; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_every_public_name_loads():
    assert sorted(pacbayes.__all__) == sorted(pacbayes._LAZY_IMPORTS)
    assert all(name in import_module(home).__all__ for name, home in pacbayes._LAZY_IMPORTS.items())
    assert all(getattr(pacbayes, name) is not None for name in pacbayes.__all__)
    assert set(pacbayes.__all__) <= set(dir(pacbayes))


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_public_name_has_an_example(folder):
    module = import_module(f"pacbayes.{folder}")
    for name in module.__all__:
        value = getattr(module, name)
        if callable(value):
            # pytest runs the examples of all modules, with --doctest-modules on src/pacbayes.
            assert value.__module__.startswith("pacbayes."), name
            examples = doctest.DocTestParser().get_examples(value.__doc__ or "")
            assert any(example.want for example in examples), f"{folder}: the docstring of {name} needs an example"


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'bounds_of_all_kinds'"):
        pacbayes.bounds_of_all_kinds  # noqa: B018  (the access is the test)
