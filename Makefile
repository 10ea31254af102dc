# Perdure: every command a developer needs. `make help` lists them.
#
# The environment is .venv, made from a Python of 3.11 or later with hash-pinned requirements. It is
# made again when a requirement file or pyproject.toml changes.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VENV := .venv
PYTHON := $(VENV)/bin/python
STAMP := $(VENV)/.installed
WORKERS ?= 2
ONLY ?=
SEEDS ?= 0-999
SECONDS ?=
ARGS ?=
export PERDURE_PYTHON ?=

.PHONY: help
help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: env
env: $(STAMP) ## create the environment in .venv

$(STAMP): requirements/run.txt requirements/dev.txt pyproject.toml tools/make_env.sh
	@bash tools/make_env.sh $(VENV)
	@touch $@

.PHONY: demo
demo: $(STAMP) ## a settled turn becomes memory, with a crash in the middle
	@$(PYTHON) -m perdure.demo

.PHONY: test
test: $(STAMP) ## run the tests; ONLY=unit (or another folder) runs a part, ARGS=... goes to pytest
	@$(PYTHON) -m pytest -n $(WORKERS) --dist loadgroup $(if $(ONLY),tests/$(ONLY)) $(ARGS)

.PHONY: check
check: check-format check-lint check-types check-layers check-promises check-tree ## all of the checks; -k shows every fault

.PHONY: check-format check-lint check-types check-layers check-promises check-tree
check-format: $(STAMP) ## the code is formatted
	@$(PYTHON) -m ruff format --check --quiet --output-format concise .
check-lint: $(STAMP) ## Ruff, with all its rules but those that pyproject.toml argues against
	@$(PYTHON) -m ruff check --quiet --output-format concise .
check-types: $(STAMP) ## mypy, strict
	@$(PYTHON) -m mypy src tests tools
check-layers: $(STAMP) ## import-linter: who may import whom
	@$(VENV)/bin/lint-imports --no-cache --no-logo
check-promises: $(STAMP) ## promises and the marks of tests fit together
	@$(PYTHON) -m tools.trace --check
check-tree: $(STAMP) ## nothing stands in the tree that may not
	@$(PYTHON) -m tools.hygiene

.PHONY: format
format: $(STAMP) ## format the code and repair what Ruff can repair
	@$(PYTHON) -m ruff format .
	@$(PYTHON) -m ruff check --fix .

.PHONY: coverage
coverage: $(STAMP) ## require every branch of src/perdure/core to be taken by tests/unit and tests/model
	@mkdir -p build
	@$(PYTHON) -m coverage run -m pytest -q tests/unit tests/model --ignore tests/unit/test_long_runs.py
	@$(PYTHON) -m coverage report

.PHONY: trace
trace: $(STAMP) ## list the promises that no test proves
	@$(PYTHON) -m tools.trace

.PHONY: bench
bench: $(STAMP) ## measure, beside the floor; ONLY=name runs one; figures go to build/*.json
	@$(PYTHON) -m tools.bench bench $(ONLY)

.PHONY: quality
quality: $(STAMP) ## measure precision, recall and leaks; ONLY=name runs one; figures go to build/*.json
	@$(PYTHON) -m tools.bench quality $(ONLY)

.PHONY: protocol
protocol: $(STAMP) ## write protocol/ and the pictures of the documentation from the code
	@$(PYTHON) -m tools.make_protocol

.PHONY: crash
crash: $(STAMP) ## crash everywhere, for SECONDS (60): figures, deliberate faults too, in build/crash.json
	@$(PYTHON) -m tests.crash $(if $(SECONDS),--seconds $(SECONDS))

.PHONY: simulate
simulate: $(STAMP) ## play whole systems from seeds: SEEDS=0-999, or one; figures in build/simulate.json
	@$(PYTHON) -m tests.simulation $(SEEDS) $(if $(SECONDS),--seconds $(SECONDS))

.PHONY: walk
walk: $(STAMP) ## walk the protocol through every order of events; ONLY=part of a name; build/model.json
	@$(PYTHON) -m tests.model $(ONLY)

.PHONY: faults
faults: $(STAMP) ## break the product on purpose, rule by rule: the table of what notices; build/faults.json
	@$(PYTHON) -m tests.faults

.PHONY: machine
machine: $(STAMP) ## faults of a real machine: every system call, full disks, 2,000 kills; or for SECONDS
	@$(PYTHON) -m tests.machine --sweep --rooms --kills 2000 $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS)

.PHONY: journal
journal: $(STAMP) ## power cuts of a real ext4, its journal replayed, as root; figures in build/journal.json
	@$(PYTHON) -m tests.machine.journal $(if $(SECONDS),--seconds $(SECONDS))

.PHONY: fuzz
fuzz: $(STAMP) ## hostile input for every reader, for SECONDS (60); ONLY=name runs one; build/fuzz.json
	@$(PYTHON) -m tests.fuzz --seconds $(or $(SECONDS),60) $(if $(ONLY),--target $(ONLY))

.PHONY: lock
lock: $(STAMP) ## pin the requirements again, with hashes, from pyproject.toml
	@bash tools/lock.sh $(VENV)

.PHONY: wheel
wheel: $(STAMP) ## build the wheel into dist/
	@$(PYTHON) -m build --no-isolation --wheel

.PHONY: clean
clean: ## remove the environment, caches and everything that was built
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
