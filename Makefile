# `make demo` and `make test` work on a machine that has only python3 and git.
PYTHON ?= python3
BIN    := .venv/bin
STAMP  := .venv/.installed

.PHONY: demo test test-long test-frameworks bench lint clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/python examples/quickstart.py

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest

test-long: $(STAMP)
	$(BIN)/python -m pytest -m 'long'

test-frameworks: $(STAMP)
	$(BIN)/python tests/frameworks/run.py

bench: $(STAMP)
	$(BIN)/python -m tests.benchmarks

clean:
	rm -rf .venv .venvs build *.egg-info
