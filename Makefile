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
	@echo "make cluster        a shell in a real Kubernetes with Tangram on a simulated GPU node (root)"
	@echo "make bench-cluster  what Tangram costs in such a cluster"
	@echo "make test-cluster   the tests in such a cluster; make test-cluster-all: on every version"
	@echo "make cluster-tools  build its programs beforehand (no root)"

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
	MYPYPATH=hack/cluster $(VENV)/bin/mypy hack/cluster/launcher hack/cluster/__main__.py
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
.PHONY: cluster-tools cluster bench-cluster test-cluster test-cluster-all
cluster-tools: $(VENV)/.ready
	@$(VENV)/bin/python hack/cluster tools

cluster: $(VENV)/.ready
	@$(VENV)/bin/python hack/cluster up

# First on a node with Tangram, then the scheduler alone over nodes that are objects only.
bench-cluster: $(VENV)/.ready
	@$(VENV)/bin/python hack/cluster run --peer -- $(VENV)/bin/tangram bench cluster --beside gpu.example.com
	@$(VENV)/bin/python hack/cluster run --control-plane-only --bare --node-objects 100 -- \
	    $(VENV)/bin/tangram bench cluster

# KUBECONFIG=... make test-cluster: in that cluster, what needs no control over its nodes (docs/try-it.md).
test-cluster: $(VENV)/.ready
	@$(VENV)/bin/python hack/cluster test

test-cluster-all: $(VENV)/.ready
	@$(VENV)/bin/python hack/cluster test --all
