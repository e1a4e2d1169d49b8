# Set-up happens by itself: each target installs what it needs into .venv, once.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
TORCH := $(shell grep '^torch==' constraints.txt)
CORE := .venv/.installed-core
TEST := .venv/.installed-test
# A test that hangs fails with its tracebacks, rather than hold up all others.
ENDS := -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true

# scikit-learn's checks of our estimators, and an environment with the oldest scikit-learn of pyproject.toml.
CONTRACT := tests/test_sklearn_contract.py tests/estimators/test_encoder_contract.py \
	tests/estimators/test_mlr_contract.py tests/model_selection/test_contract.py
OLDEST := .venv-oldest
OLDEST_SKLEARN := $(shell sed -n 's/.*"scikit-learn>=\([0-9.]*\)".*/\1/p' pyproject.toml)

.PHONY: help demo test check test-slow test-sklearn bench-speed bench-front ledger docs lint types format clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; \
	do printf '  make %-11s %s\n' "$$name" "$$text"; done

demo: $(CORE) ## a short tour on a small data set
	$(BIN)/adacap demo

test: lint types ## everything CI checks: style, types, doctests, README, tests that are not slow
	OMP_NUM_THREADS=1 $(BIN)/pytest --quiet --doctest-modules src/adacap
	OMP_NUM_THREADS=1 $(BIN)/pytest --quiet -n 2 -m "not slow" $(ENDS)

check: test ## the same as test

bench-speed: $(TEST) ## what AdaCap costs, as ratios; some minutes, on an idle machine
	$(BIN)/python benchmarks/speed

bench-front: $(TEST) ## accuracy against time on the 15 small tasks; needs ADACAP_DATA; hours
	$(BIN)/python benchmarks/front.py
	$(BIN)/python benchmarks/front.py --write

ledger: $(TEST) ## docs/REPRODUCTION.md anew from the records in docs/reproduction
	$(BIN)/adacap reproduce ledger -o docs/reproduction --page docs/REPRODUCTION.md

docs: $(TEST) ## guides and API reference as HTML, warnings are errors: docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going --quiet -d docs/_build/doctrees docs docs/_build/html

test-sklearn: $(TEST) $(OLDEST)/.installed ## scikit-learn's own checks, on the newest and the oldest one we claim
	OMP_NUM_THREADS=1 $(BIN)/pytest --quiet -n 2 $(CONTRACT)
	OMP_NUM_THREADS=1 $(OLDEST)/bin/pytest --quiet -n 2 $(CONTRACT)

test-slow: $(TEST) ## the studies, minutes each
	$(BIN)/pytest -m slow

lint: $(TEST) ## style, without changing a file
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(TEST) ## strict type check of src
	$(BIN)/mypy

format: $(TEST) ## apply the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove .venv, caches and build products
	rm -rf .venv $(OLDEST) build dist docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# No mark stands while pip works: after an interruption the environment is made anew.
.venv/.intact:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	"adacap needs Python 3.11 or newer, got %d.%d. Try: make PYTHON=python3.11" % sys.version_info[:2])'
	$(PYTHON) -m venv --clear .venv
	touch $@

$(CORE): pyproject.toml constraints.txt | .venv/.intact
	rm -f .venv/.intact $(CORE) $(TEST)
	$(PIP) $(TORCH)
	$(PIP) -e ".[files,report]"
	touch .venv/.intact $@

$(OLDEST)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH) "scikit-learn==$(OLDEST_SKLEARN).*" \
	"numpy<2.3" "scipy<1.16" "pandas<3" polars pyarrow pytest pytest-xdist hypothesis -e .
	touch $@

$(TEST): pyproject.toml constraints.txt | .venv/.intact
	rm -f .venv/.intact $(CORE) $(TEST)
	$(PIP) $(TORCH)
	$(PIP) -e ".[test]"
	touch .venv/.intact $(CORE) $@
