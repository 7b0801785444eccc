# `make demo` and `make test` are the whole set-up: each makes .venv when it is missing or old.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# What users install, for the demo: a third of what tests and docs need.
USABLE := $(VENV)/.usable
KERNELS := $(wildcard src/dlsched/*/kernels/*.py src/dlsched/problems/*/kernels/*.py)
WORKERS ?= auto
# Tests start hundreds of processes, each of which would compile the package's modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo library-runs readme stale test pytest test-all lowest newest lint kernels docs dist schema claims library certificates clean release-check

demo: $(USABLE)
	$(BIN)/python benchmarks/demo.py results/demo

# Every shipped instance and some generated ones, by more methods: about five minutes on two cores.
library-runs: $(USABLE)
	mkdir -p results
	$(BIN)/dlsched bench benchmarks/suites/library.toml -o results/library --jobs 2 --resume
	$(BIN)/dlsched report results/library

# The output of the demo and the picture that README.md shows.
readme: $(READY)
	$(BIN)/python benchmarks/readme.py

# mypy uses one core, so it runs beside the tests.
test: kernels
	$(MAKE) --no-print-directory -j 2 lint pytest

pytest: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS)

# The slow tests as well (proofs of large instances), and those of what is not
# installed, with coverage.
test-all: kernels lint
	$(BIN)/python -m pytest -n $(WORKERS) -m "slow or not slow" tests benchmarks/claims_only benchmarks/published --cov --cov-report=term

# The lowest versions that pyproject.toml allows, in an environment of their own (1 GB for a while).
lowest:
	$(PYTHON) tests/lowest.py

# The newest versions there are, whatever constraints.txt says, in such an environment as well.
newest:
	$(PYTHON) tests/lowest.py --newest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Kernels are built at installation; a changed one is built again. Without a compiler Python runs them.
kernels: $(READY)
	-@$(BIN)/python hatch_build.py

# Files that the code writes and a test compares with it.
schema: $(READY)
	$(BIN)/dlsched export --schemas docs/schema
	$(BIN)/python docs/maps.py
	$(BIN)/python docs/which_method.py

# The papers' claims and objections: every measured number is read from benchmarks/rows.
claims: $(READY)
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/claims/render.py

# Which sections of benchmarks/figures were measured with other code than today's.
stale: $(READY)
	$(BIN)/python benchmarks/stale.py

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The wheel and the source archive, and whether a package index would take them.
dist: $(READY)
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python -m twine check --strict dist/*

# Proofs of the library by a public checker; docs/proofs.md says how it is built.
CHECKER ?= viprchk
certificates: $(READY)
	$(BIN)/python instances/certificates.py --checker $(CHECKER)

# Run the notebooks again, and keep their output.
notebooks: $(READY)
	$(BIN)/python docs/notebook_pages.py

# What a release of today is: package, citation and changelog name one version.
release-check:
	grep -q '^VERSION = "$(VERSION)"' src/dlsched/names.py
	grep -q '^version: $(VERSION)$$' CITATION.cff
	grep -q "^date-released: $$(date -u +%F)$$" CITATION.cff
	grep -q '^## $(VERSION)' CHANGELOG.md

library: $(READY)
	$(BIN)/python instances/make.py
	$(BIN)/python instances/prove.py
	$(BIN)/python instances/page.py

$(USABLE): pyproject.toml constraints.txt hatch_build.py $(KERNELS)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	touch $@

$(READY): pyproject.toml constraints.txt hatch_build.py
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(USABLE) $@

clean:
	find src -path '*/kernels/*' -name '*.so' -delete
	rm -rf $(VENV) results site dist build .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis
