# Two commands do everything: `make demo` and `make test`. `make install` makes the environment that all share.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-slow test-all test-levels install check format docs kernels clean

demo: $(VENV)/.train
	$(BIN)/dragoman demo

# Every process of the tests would compile the package and rewrite the tests anew.
unexport PYTHONDONTWRITEBYTECODE

# A process for every core: tests are small, and a second thread would wait for the other process's.
PYTEST := $(BIN)/pytest -n auto --maxprocesses 4 --dist worksteal
test: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(PYTEST) --costs

test-slow: $(VENV)/.installed
	OMP_NUM_THREADS=1 $(PYTEST) --costs -m "slow and not gpu"

# The whole suite, at every level of arithmetic: at most 25 minutes on 2 cores.
test-all: test test-slow test-levels

# What depends on the order and the width of sums, as processors with less than this one compute it. Shapes are those of
# every processor, and are not checked. More threads than free cores wait for each other; passively, that costs little.
ARITHMETIC := tests/paper tests/model tests/decode tests/control tests/inspection tests/shortlist tests/test_learn.py \
	tests/test_translator_lists.py tests/training/update/test_threads.py tests/training/test_recipes.py \
	tests/training/update/test_precision.py \
	$(addprefix tests/equivalence/test_,batching.py export.py loss.py model.py parity_options.py search.py)
# Not what is the same at every level: built pages and notebooks with the code of their pages, what a compiler traces,
# locks, what chooses its level itself, and that the verification refuses an engine which does not do what it is to do,
# which is the reference itself.
# Nor what differs between levels only if what is repeated here does: a thousand sentences, and a trained model.
AT_LEVEL = $(PYTEST) -q --jaxtyping-packages= -k "not (site or notebook or compiled or trained_into or torchs_compiler or \
	lesser_processor or forgets or only_exactly or another_log_p or thousand or same_with_a_trained_model)" \
	$(ARITHMETIC) -m
# Every combination at one level; at the others the quick ones, in which each model and each option is. At the last,
# CTranslate2 multiplies by oneDNN, as on processors that are not Intel's.
test-levels: $(VENV)/.installed
	OMP_NUM_THREADS=1 ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 CT2_FORCE_CPU_ISA=GENERIC \
		$(AT_LEVEL) "not slow and not gpu"
	OMP_NUM_THREADS=1 ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 CT2_FORCE_CPU_ISA=AVX2 $(AT_LEVEL) "not gpu"
	OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive ONEDNN_MAX_CPU_ISA=AVX512_CORE CT2_USE_MKL=0 $(AT_LEVEL) "not slow and not gpu"

# The SIMD kernels of pages: clang 14 with lld (Debian 12) writes the bytes that are checked in.
KERNELS := clang --target=wasm32 -O3 -msimd128 -nostdlib -Wl,--no-entry -Wl,--export=__heap_base -Wl,--export-dynamic -Wl,--strip-all
WEB := src/dragoman/web
kernels:
	$(KERNELS) -o $(WEB)/kernels.wasm $(WEB)/kernels.c
	chmod 644 $(WEB)/kernels.wasm
	cd $(WEB) && sha256sum kernels.c kernels.wasm > kernels.sha256

install: $(VENV)/.installed

check: $(VENV)/.installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# torch first and by its exact version: a version left open may bring gigabytes of GPU libraries. Where there is no GPU, its
# build for CPUs, from PyTorch's own index; where that cannot be reached, the build that pip finds.
PIP := $(BIN)/pip install --quiet --constraint constraints.txt
CPU_TORCH := --no-deps --timeout 15 --retries 0 --index-url https://download.pytorch.org/whl/cpu torch
HAS_GPU := [ -e /dev/nvidia0 ] || [ -e /dev/kfd ]

# What training and translating need.
$(VENV)/.train: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Dragoman needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) pip
	{ $(HAS_GPU); } || $(PIP) $(CPU_TORCH) 2>/dev/null || echo "PyTorch's index of CPU builds: not reached" >&2
	$(PIP) torch
	$(PIP) --editable '.[train]'
	touch $@

# And what tests, checks and the site need.
$(VENV)/.installed: $(VENV)/.train
	$(PIP) --editable '.[train,dev]'
	touch $@

# The course and the guides as a site, in English and Korean, with the bundled models in a page: build/docs/index.html.
docs: $(VENV)/.installed
	$(BIN)/sphinx-build -q -W --keep-going -t translator docs build/docs

clean:
	rm -rf $(VENV) build/docs .mypy_cache .pytest_cache .ruff_cache dragoman-demo
