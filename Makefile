# Everything starts from a machine with Python (3.11 or later) and make; the rest goes into .venv.
PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
JOBS ?= auto
MINIMUM := .venv-minimum
MINIMUM_BIN := $(MINIMUM)/$(notdir $(BIN))
# The tests run one process per core; linear algebra in each with its own threads would be in each other's way.
export OPENBLAS_NUM_THREADS ?= 1
# Without bytecode every process that the tests start would compile the package once more, and so would every run.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-slow test-minimum lint format wheel bench results docs clean

demo: $(VENV)/installed
	@mkdir -p demo
	$(BIN)/pacbayes certify --dataset wdbc --report demo/report.html

test: lint
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m "not slow" --cov --cov-report=term:skip-covered --durations=10

# The oldest dependencies that pyproject.toml allows, exactly, in an environment of their own.  Old libraries meet newer
# ones there that they use in ways meanwhile deprecated; that is not ours to mend.
test-minimum: $(MINIMUM)/installed
	$(MINIMUM_BIN)/python -m pytest -n $(JOBS) -m "not slow" -W default::DeprecationWarning

test-slow: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n $(JOBS) -m slow

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# sdist and wheel in dist/; the wheel is installed in an empty environment away from here and its demo and examples run.
wheel: $(VENV)/installed-dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) tools/check_wheel.py dist

bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/bench_kl_roots.py
	$(BIN)/python benchmarks/bench_solvers.py
	$(BIN)/python benchmarks/bench_start.py

# The paper's tables and figures with its own counts: some hours on two cores, seconds where results/.cache has them.
results: $(VENV)/installed-dev
	$(BIN)/pacbayes reproduce --full --out results
	cp results/claims.md docs/claims.md

# The pages, in build/docs/index.html.  Every example runs but two that take minutes; a warning is an error.
docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx -W --keep-going -q -a -b html -d build/doctrees docs build/docs

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "pacbayes needs Python 3.11 or later; try: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[report]'
	@touch $@

$(VENV)/installed-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/installed

$(VENV)/installed-docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@ $(VENV)/installed

$(MINIMUM)/installed: pyproject.toml tools/minimum_versions.py
	$(PYTHON) -m venv $(MINIMUM)
	$(PYTHON) tools/minimum_versions.py > $(MINIMUM)/constraints.txt
	$(MINIMUM_BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]' -c $(MINIMUM)/constraints.txt
	@touch $@

clean:
	rm -rf $(VENV) $(MINIMUM) .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist demo docs/generated
