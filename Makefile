# `make` alone lists what there is to do. Every target sets up what it needs.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV  := .venv
READY := $(VENV)/.ready
# Spark gets a Java that fits even where another one comes first on the PATH.
WITH_JAVA := JAVA_HOME="$$(sh scripts/java.sh)" && export JAVA_HOME &&
PYTEST := $(WITH_JAVA) $(VENV)/bin/python -m pytest

.PHONY: help setup demo test test-all test-tpc lint bench-refresh bench-estimates bench-diss bench-choice bench-progressive clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r t h; do printf '%-22s %s\n' "  $$t" "$$h"; done

setup: $(READY) ## find or install Java, make .venv, install Headrace and its tools in it

# Made anew whenever the dependencies change.
$(READY): pyproject.toml
	@sh scripts/java.sh --install > /dev/null
	@test -x $(VENV)/bin/python || { python="$$(PYTHON='$(PYTHON)' sh scripts/python.sh)" && "$$python" -m venv $(VENV); }
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
	@touch $@

demo: $(READY) ## see Headrace keep a result up to date
	$(WITH_JAVA) $(VENV)/bin/headrace demo $(ARGS)

test: $(READY) ## run the tests, without the long ones
	$(PYTEST) -n 2 $(ARGS)

test-all: $(READY) ## run all tests
	HEADRACE_LONG=1; export HEADRACE_LONG; $(PYTEST) -n 2 -m "" $(ARGS)

test-tpc: $(READY) ## run all queries of TPC-H and TPC-DS
	$(PYTEST) -m "" tests/tpc/test_tpch.py tests/tpc/test_tpcds.py $(ARGS)

lint: $(READY) ## check style, types and layers
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-logo

bench-refresh: $(READY) ## measure refreshes against recomputing (ARGS="…" are passed on)
	$(WITH_JAVA) $(VENV)/bin/python bench/refresh.py $(ARGS)

bench-estimates: $(READY) ## compare expected rows with counted ones (ARGS="…" are passed on)
	$(WITH_JAVA) $(VENV)/bin/python bench/estimates.py $(ARGS)

bench-diss: $(READY) ## measure what states in memory are worth (ARGS="…" are passed on)
	$(WITH_JAVA) $(VENV)/bin/python bench/diss.py $(ARGS)

bench-choice: $(READY) ## measure how often the faster way is chosen (ARGS="…" are passed on)
	$(WITH_JAVA) $(VENV)/bin/python bench/choice.py $(ARGS)

bench-progressive: $(READY) ## measure what working ahead is worth (ARGS="…" are passed on)
	$(WITH_JAVA) $(VENV)/bin/python bench/progressive.py $(ARGS)

clean: ## remove caches, builds and what Spark left behind; .venv stays
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf spark-warehouse metastore_db derby.log artifacts
	find src tests bench scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
