# Two commands matter on a fresh Linux machine with Python >= 3.10, git, make and g++:
#   make demo    sets everything up and runs the main job
#   make test    sets everything up and passes the tests

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTHON ?= $(shell for python in python3.13 python3.12 python3.11 python3.10 python3; do \
	if $$python -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; \
	then echo $$python; break; fi; done)
PIP_ARGS ?=
PYTEST_ARGS ?=
# Compilers take 2 GB each, so never more than four at once.
PYTEST := $(BIN)/pytest -m 'not gpu' -n auto --maxprocesses 4 --dist worksteal --durations 15

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup demo test check clean

help:
	@echo 'make setup   makes $(VENV) with the locked packages, nvcc and the CuTe headers (about 2 GB with CUDA torch)'
	@echo 'make demo    setup, then the example task in ./demo and its run; again: continues, or reports'
	@echo 'make test    setup, then all tests that need no GPU'
	@echo 'make check   setup, then what CI runs: ruff, mypy, import contracts, all tests that need no GPU'
	@echo 'make clean   removes $(VENV) and ./demo; the cache in ~/.cache/cutegen-git stays'
	@echo
	@echo 'PYTHON=python3.12            another Python; default: the newest of 3.10 to 3.13'
	@echo 'PYTEST_ARGS="-n 4 -k patch"  more arguments for pytest'
	@echo 'PIP_ARGS="..."               more arguments for pip. For torch without CUDA (no GPU here, 2 GB less):'
	@echo '  make setup PIP_ARGS="--extra-index-url https://download.pytorch.org/whl/cpu"'

setup: $(STAMP)
	@:

$(STAMP): requirements/dev.txt requirements/torch-cuda.txt pyproject.toml
	@test -n "$(PYTHON)" || { echo 'make: no Python >= 3.10 with the module venv; Debian, Ubuntu: apt-get install python3 python3-venv'; exit 1; }
	@echo "setting up $(VENV) with $$($(PYTHON) --version); this downloads packages and takes some minutes once"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(PIP_ARGS) -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/cutegen-git doctor --fix
	@touch $@

demo: setup
	@test -e demo || $(BIN)/cutegen-git new demo --example gemm
	$(BIN)/cutegen-git refine demo

test: setup
	$(PYTEST) $(PYTEST_ARGS)

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(PYTEST) $(PYTEST_ARGS)

clean:
	rm -rf $(VENV) demo
