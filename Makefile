# Thin names only. The first target that needs Python makes .venv with a pinned uv and the locked packages.
.PHONY: help demo test check format proto
VENV := .venv
UV_VERSION := 0.13.8
PYTHON ?= python3

help:
	@echo "make demo    the main job on a simulated DGX A100, station by station"
	@echo "make test    all tests"
	@echo "make check   lint, types, import contracts, drift of generated code"
	@echo "make format  format and mend what the linter can"
	@echo "make proto   generate the Python code of proto/"

$(VENV)/.ready: pyproject.toml uv.lock hack/bootstrap.sh
	@PYTHON="$(PYTHON)" sh hack/bootstrap.sh $(VENV) $(UV_VERSION)
	@touch $@

demo: $(VENV)/.ready
	@$(VENV)/bin/tangram demo --node dgx-a100

test: $(VENV)/.ready
	$(VENV)/bin/pytest -n auto

check: $(VENV)/.ready
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/python hack/proto.py --check

format: $(VENV)/.ready
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

proto: $(VENV)/.ready
	$(VENV)/bin/python hack/proto.py

# The peer: upstream's allocator, built with Go (hack/upstream-allocator).
.PHONY: bench-peer test-peer
bench-peer: $(VENV)/.ready
	@$(VENV)/bin/python hack/peer.py bench

test-peer: $(VENV)/.ready
	@$(VENV)/bin/python hack/peer.py test

# A real Kubernetes from pinned modules, in namespaces of its own (hack/cluster).
.PHONY: cluster-tools
cluster-tools: $(VENV)/.ready
	@$(VENV)/bin/python hack/cluster tools
