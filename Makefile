# Two commands do everything: `make demo` and `make test`. `make install` makes the environment they share.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test install check format docs clean

demo: $(VENV)/.installed
	$(BIN)/dragoman demo

# A process for every core: tests are small, and a second thread would wait for the other process's.
test: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --maxprocesses 4 --dist worksteal

install: $(VENV)/.installed

check: $(VENV)/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# torch first and by its exact version: a version left open may bring gigabytes of GPU libraries.
$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Dragoman needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt pip
	$(BIN)/pip install --quiet --constraint constraints.txt torch
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[train,dev]'
	touch $@

# The course and the guides as a site, in English and Korean: build/docs/index.html.
docs: $(VENV)/.installed
	$(BIN)/sphinx-build -q -W --keep-going docs build/docs

clean:
	rm -rf $(VENV) build/docs .mypy_cache .pytest_cache .ruff_cache dragoman-demo
