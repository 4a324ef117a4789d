# Everything starts from a machine with Python (3.11 or later) and make; the rest goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= auto
# The tests run one process per core; linear algebra in each with its own threads would be in each other's way.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test test-slow lint format bench results docs clean

demo: $(VENV)/installed
	@mkdir -p demo
	$(BIN)/pacbayes certify --dataset wdbc --report demo/report.html

test: lint
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow"

test-slow: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n $(JOBS) -m slow

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed-dev
	$(BIN)/python benchmarks/bench_kl_roots.py
	$(BIN)/python benchmarks/bench_solvers.py
	$(BIN)/python benchmarks/bench_start.py

# The paper's tables and figures: about half an hour on two cores, seconds where results/.cache has them.
results: $(VENV)/installed-dev
	$(BIN)/pacbayes reproduce --out results
	cp results/claims.md docs/claims.md

# The pages, in build/docs/index.html.  Every example runs but the one that takes minutes; a warning is an error.
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

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist demo docs/generated
