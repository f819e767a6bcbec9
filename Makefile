# Both `make demo` and `make test` do all the set-up by themselves: they need git, make
# and Python 3.11 or newer. Everything is installed into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# with libraries of a size that only those install who use them
APART := plugins/models/transformers
MEMBERS := core cli $(filter-out $(APART),$(wildcard plugins/*/*))
SETTINGS := pyproject.toml constraints.txt $(addsuffix /pyproject.toml,$(MEMBERS))
PYTEST := $(BIN)/python -m pytest
# of the examples that `make test-slow` draws; `make test-slow SEED=…` draws them again
SEED ?= $(shell date +%s)

# many tests start Python anew: what they import is compiled once, not each time
export PYTHONDONTWRITEBYTECODE :=

# uv trusts what pip trusts: the system's certificates, or those that pip is told of
export UV_SYSTEM_CERTS ?= 1
ifneq ($(PIP_CERT)$(REQUESTS_CA_BUNDLE),)
export SSL_CERT_FILE ?= $(or $(PIP_CERT),$(REQUESTS_CA_BUNDLE))
endif

.PHONY: demo test test-quick test-slow attack lint types contracts coverage docs constraints build release-check clean

$(VENV)/.installed: $(SETTINGS)
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "evalkit needs Python 3.11 or newer; set PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --constraint constraints.txt $(foreach member,$(MEMBERS),--editable $(member)) --group dev
	touch $@

demo: $(VENV)/.installed
	EVALKIT_OFFLINE=1 $(BIN)/evalkit eval sample-sentiment

# beside each other, as checking types keeps one core busy only
test: $(VENV)/.installed lint
	$(MAKE) --no-print-directory --jobs types contracts test-quick

test-quick: $(VENV)/.installed
	$(PYTEST) -m "not slow" --numprocesses auto --dist worksteal $(PYTEST_OPTIONS)

# apart, as tracing makes the tests half as long again
coverage: $(VENV)/.installed
	$(PYTEST) -m "not slow" --numprocesses auto --dist worksteal --cov --cov-report=term --cov-fail-under=95 $(PYTEST_OPTIONS)

test-slow: $(VENV)/.docs
	$(PYTEST) -m "slow or hypothesis" --hypothesis-profile=drawn --hypothesis-seed=$(SEED) --numprocesses auto --dist loadgroup --durations=25 $(PYTEST_OPTIONS)

# only who builds the site needs the generator
$(VENV)/.docs: $(VENV)/.installed
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --constraint constraints.txt --group docs
	touch $@

# into build/site; a warning is an error
docs: $(VENV)/.docs
	$(BIN)/python docs/make_site.py

# about an hour; what it tries is in benchmarks/attack
attack: $(VENV)/.installed
	$(BIN)/python -m benchmarks.attack

lint: $(VENV)/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.installed
	$(BIN)/mypy

contracts: $(VENV)/.installed
	$(BIN)/lint-imports

build: $(VENV)/.installed
	rm -rf dist
	EVALKIT_RELEASE=1 $(BIN)/uv build --quiet --all-packages --wheel --out-dir dist
	for folder in $(APART); do $(BIN)/uv build --quiet --wheel --out-dir dist $$folder || exit 1; done

# a dry run: builds every wheel, and installs them where nothing else is
release-check: build
	$(BIN)/python release_check.py dist

constraints: $(VENV)/.installed
	$(BIN)/uv pip compile $(filter %.toml,$(SETTINGS)) --group dev --group docs --universal --no-header --no-annotate --quiet $(foreach name,$(shell $(BIN)/python -c 'import hatch_build as b; print(*b.MEMBERS, *(n for e in b.EXTRAS.values() for n in e))'),--no-emit-package $(name)) --output-file constraints.txt

clean:
	rm -rf $(VENV) build dist .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis
