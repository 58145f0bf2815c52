# From anywhere: `make -C DIR run`, `make -f DIR/Makefile run`. Folders with a blank in their name work too.
HERE := $(shell cd "$$(dirname "$(strip $(MAKEFILE_LIST))")" && pwd -P)

ifneq ($(HERE),$(shell pwd -P))

$(or $(MAKECMDGOALS),help): ; @$(MAKE) --no-print-directory -C "$(HERE)" $@
.PHONY: $(or $(MAKECMDGOALS),help)

else

PYTHON ?= python3
PORT ?= 3000
BIN := .venv/bin

# Nothing is written to the home directory, which may be missing or read-only.
export PIP_CACHE_DIR ?= $(HERE)/.cache/pip
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export HYPOTHESIS_STORAGE_DIRECTORY := $(HERE)/.cache/hypothesis
export DAGSTER_HOME := $(HERE)/dagster_home

.PHONY: help setup run test lint format ui bench bench-peers faults soak clean distclean
# How many of the last complete days `make run` makes and materializes.
DAYS ?= 3
# How many processes share the tests; each has a JVM of its own. tests/conftest.py says how they are divided.
WORKERS ?= 2

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

setup: .cache/stamps/jars ## Make .venv, install the pinned dependencies, find Java, fetch the Delta jars

run: setup ## Run the shipped example through Dagster: make landing data, materialize the newest days, prove it (DAYS=3)
	@$(BIN)/lakelogic --project . validate
	@$(BIN)/lakelogic --project . materialize --newest $(DAYS) --example-data
	@$(BIN)/lakelogic --project . audit | tail -1

test: lint .cache/stamps/browser ## Run the linter, the type checker, the import rules and all tests (ARGS="-k name")
	@$(BIN)/pytest --numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder $(ARGS)

lint: setup ## Run the linter, the type checker and the import rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --cache-dir .cache/import-linter

format: setup ## Format the code and mend what the linter can mend
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# The warning recommends a command of a further package.
ui: setup ## Start Dagster's webserver and daemon on this machine (PORT=3000)
	@PYTHONWARNINGS='ignore:Function `dev_command`' $(BIN)/dagster dev -w workspace.yaml -h 127.0.0.1 -p $(PORT)

# A bar that is missed is drawn like any other before the exit code tells of it.
bench: setup ## Measure everything side by side, print one table of ratios, draw the plots (ARGS="merge --rows 400000")
	@$(BIN)/python -m benchmarks $(ARGS); code=$$?; $(BIN)/python -m benchmarks.plots && exit $$code

# The other library has an environment of its own; its Spark engine needs delta-spark, which it does not ask for.
bench-peers: setup .cache/stamps/peers ## Measure the same work through lakelogic on Spark, Polars and DuckDB
	@$(BIN)/python -m benchmarks peers large $(ARGS); code=$$?; $(BIN)/python -m benchmarks.plots && exit $$code

.cache/stamps/peers:
	@mkdir -p $(@D) .cache/peers
	@$(PYTHON) -m venv --clear .cache/peers/venv
	@.cache/peers/venv/bin/python -m pip install --quiet 'lakelogic[spark,polars,duckdb]==1.84.*' delta-spark==4.4.0
	@touch $@

faults: setup ## Break it on purpose, some five hundred times, and count what is lost (ARGS="--seed 7")
	@$(BIN)/python -m faults $(ARGS)

soak: setup ## Five hundred small runs in one process: nothing may grow (ARGS="--runs 100")
	@$(BIN)/python -m faults.soak $(ARGS)

clean: ## Remove what runs and tests left behind
	@rm -rf .lakehouse build *.egg-info .cache/ruff .cache/mypy .cache/pytest .cache/hypothesis .cache/import-linter
	@find dagster_home -mindepth 1 ! -name dagster.yaml -delete
	@find lakelogic_assets tests -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## Remove the environment and every cache as well
	@rm -rf .venv .cache

# Only as root, or where sudo asks nothing: a set-up never waits for a password.
define apt_install
if ! command -v apt-get >/dev/null; then false; \
elif [ "$$(id -u)" = 0 ]; then as_root=; \
elif sudo -n true 2>/dev/null; then as_root="sudo -n"; \
else false; fi && \
echo "installing $(1) with apt-get" && $$as_root apt-get update -qq && \
$$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1) >/dev/null
endef

fail = { echo "error: $(1)" >&2; exit 1; }

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  $(call fail,$(PYTHON) must be Python 3.11 or newer: name another with PYTHON=...)
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { $(call apt_install,python3-venv); } || \
	  $(call fail,$(PYTHON) cannot make a virtual environment: install python3-venv)
	@$(PYTHON) -m venv --clear .venv

# pyspark comes as source, so the pinned setuptools builds it instead of whichever is newest today.
.venv/.installed: pyproject.toml constraints.txt | .venv/bin/python
	@echo "installing the pinned dependencies into .venv (some minutes the first time)"
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt setuptools
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --use-pep517 --no-build-isolation --editable '.[dev]'
	@touch $@

# For the tests of what people see; without a browser they say so and are skipped.
.cache/stamps/browser: | .cache/stamps/jars
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || { $(call apt_install,chromium-headless-shell); } || \
	  echo "no browser: the tests of the UI will be skipped (install chromium to run them)" >&2
	@mkdir -p $(@D) && touch $@

.cache/stamps/jars: .venv/.installed lakelogic_assets/spark/jars.py
	@$(BIN)/python -m lakelogic_assets.spark.java >/dev/null 2>&1 || \
	  { $(call apt_install,openjdk-17-jre-headless); } || { $(call apt_install,openjdk-21-jre-headless); } || true
	@$(BIN)/python -m lakelogic_assets.spark.java >/dev/null
	@$(BIN)/python -m lakelogic_assets.spark.jars
	@mkdir -p $(@D) && touch $@

endif
