# Thin names only. The first target that needs Python makes .venv with a pinned uv and the locked packages.
.PHONY: help demo test fault-matrix explore check format proto claim-life health-causes metrics-page dashboard-picture doctor-page explain-golden web-pictures
VENV := .venv
UV_VERSION := 0.13.8
PYTHON ?= python3
# Programs and tests keep their byte code, also where images of containers say otherwise: without it each process
# of the tests compiles all that it imports, and pytest all tests (docs/decisions/0101-time-of-the-tests.md).
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache

help:
	@echo "make demo    the main job on a simulated DGX A100, station by station"
	@echo "make test    all tests"
	@echo "make fault-matrix  the tests of faults, and what they tried written into docs/faults.md"
	@echo "make explore properties with other examples than those of make test"
	@echo "make explore-trees  machines whose files and driver answer anything"
	@echo "make explore-worlds  random pools and claims, the engine against trying everything (WORLDS=100000);"
	@echo "                    make test-peer-worlds: against kube-scheduler's allocator"
	@echo "make check   lint, types, import contracts, drift of generated code"
	@echo "make format  format and mend what the linter can"
	@echo "make proto   generate the Python code of proto/"
	@echo "make claim-life     draw the life of a claim into docs/claim-life.md"
	@echo "make dashboard-picture  draw the Grafana dashboard, with sample values, into docs/dashboard.svg"
	@echo "make web-pictures   draw the pictures of docs/web.md in Chromium"
	@echo "make metrics-page   write the programs' metrics into docs/metrics.md"
	@echo "make doctor-page    write the findings of tangram doctor into docs/doctor.md"
	@echo "make explain-golden write what tangram explain says in each situation, for tests and a page"
	@echo "make cli-page       write the commands and their options into docs/cli.md"
	@echo "make page-outputs   run the commands of the pages and write what they print into the pages"
	@echo "make site           the pages as a site with search, in site/"
	@echo "make cluster        a shell in a real Kubernetes with Tangram on a simulated GPU node (root)"
	@echo "make bench-cluster  what Tangram costs in such a cluster"
	@echo "make chaos          pods come and go while parts of such a cluster are killed; make chaos-node: without"
	@echo "                    the controller, all kinds of claims"
	@echo "make test-cluster   the tests in such a cluster; make test-cluster-all: on every version"
	@echo "make install-kind   Tangram with simulated GPUs in a kind cluster that runs (docker, kind, kubectl)"
	@echo "make release IMAGE=registry.example.com/tangram  all files of a release, in dist/"
	@echo "make cluster-tools  build its programs beforehand (no root)"

$(VENV)/.ready: pyproject.toml uv.lock hack/bootstrap.sh
	@PYTHON="$(PYTHON)" sh hack/bootstrap.sh $(VENV) $(UV_VERSION)
	@touch $@

demo: $(VENV)/.ready
	@$(VENV)/bin/tangram demo --node dgx-a100

test: $(VENV)/.ready
	$(VENV)/bin/pytest -n auto --fault-matrix=told --durations=40

# Which faults the tests try at which points, and what comes of them.
fault-matrix: $(VENV)/.ready
	$(VENV)/bin/pytest -q -n auto --fault-matrix=written -k "crashes or faults" tests/plugin/claim

# Properties with examples that no run had before, again and again until one fails: make explore ROUNDS=20.
ROUNDS ?= 1
explore: $(VENV)/.ready
	@for round in $$(seq $(ROUNDS)); do \
	    $(VENV)/bin/pytest -q -n auto -m hypothesis --hypothesis-profile=explore || exit 1; done

# Machines that answer anything: make explore-trees TREES=100000 tries as many of each property (docs/benchmarks.md).
TREES ?= 1000
ANYTHING ?= tree nvml
.PHONY: explore-trees
explore-trees: $(VENV)/.ready
	TANGRAM_TREES=$(TREES) $(VENV)/bin/pytest -q -n 0 -o timeout=0 \
	    --hypothesis-profile=explore $(ANYTHING:%=tests/agent/hardware/test_any_%.py)

# Random worlds of the v1 API, the engine against the exhaustive search: make explore-worlds WORLDS=100000.
WORLDS ?= 10000
.PHONY: explore-worlds
explore-worlds: $(VENV)/.ready
	@PYTHONPATH=tests/fakes $(VENV)/bin/python hack/worlds.py engine --count $(WORLDS)

check: $(VENV)/.ready
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	MYPYPATH=hack/cluster $(VENV)/bin/mypy hack/cluster/launcher hack/cluster/__main__.py hack/cluster/chaos
	$(VENV)/bin/lint-imports
	$(VENV)/bin/python hack/proto.py --check
	$(VENV)/bin/python hack/claim_life.py --check
	$(VENV)/bin/python hack/health_causes.py --check
	$(VENV)/bin/python hack/metrics_page.py --check
	$(VENV)/bin/python hack/dashboard_picture.py --check
	$(VENV)/bin/python hack/doctor_page.py --check
	$(VENV)/bin/python hack/cli_page.py --check
	$(VENV)/bin/python hack/object_schemas.py --check

format: $(VENV)/.ready
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

proto: $(VENV)/.ready
	$(VENV)/bin/python hack/proto.py

claim-life: $(VENV)/.ready
	$(VENV)/bin/python hack/claim_life.py

dashboard-picture: $(VENV)/.ready
	$(VENV)/bin/python hack/dashboard_picture.py

web-pictures: $(VENV)/.ready
	$(VENV)/bin/python hack/web_pictures.py

health-causes: $(VENV)/.ready
	$(VENV)/bin/python hack/health_causes.py

metrics-page: $(VENV)/.ready
	$(VENV)/bin/python hack/metrics_page.py

doctor-page: $(VENV)/.ready
	$(VENV)/bin/python hack/doctor_page.py

explain-golden: $(VENV)/.ready
	TANGRAM_WRITE_GOLDEN=1 $(VENV)/bin/pytest -q -n 0 tests/tangram/test_explained_situations.py

# Into a kind cluster that runs: make install-kind CLUSTER=gpus (docs/try-it.md).
.PHONY: install-kind
install-kind: $(VENV)/.ready
	@sh hack/install-kind.sh $(CLUSTER)

# Manifests, chart, image archive, wheel, SBOM, checksums (docs/install.md, 8): make release IMAGE=... OPTIONS=--without-image
.PHONY: release
release: $(VENV)/.ready
	@$(VENV)/bin/python hack/release.py --image "$(IMAGE)" $(OPTIONS)

.PHONY: cli-page page-outputs
cli-page: $(VENV)/.ready
	$(VENV)/bin/python hack/cli_page.py

# PAGES="README.md docs/pods.md" for some of them.
page-outputs: $(VENV)/.ready
	PYTHONPATH=tests/fakes $(VENV)/bin/python hack/page_outputs.py $(PAGES)

# docs/ and the README as a site (mkdocs.yml). What builds it is installed beside .venv; a link that leads nowhere fails.
.PHONY: site
site: $(VENV)/.ready
	@UV_PROJECT_ENVIRONMENT=.tangram/site NO_MKDOCS_2_WARNING=1 $(VENV)/bin/uv run --quiet --locked --only-group docs \
	    --python $(VENV)/bin/python mkdocs build
	@echo "open site/index.html: it needs no server and no network"

# The peer: upstream's allocator, built with Go (hack/upstream-allocator).
.PHONY: bench-peer test-peer test-peer-worlds
bench-peer: $(VENV)/.ready
	@$(VENV)/bin/python hack/peer.py bench

test-peer: $(VENV)/.ready
	@$(VENV)/bin/python hack/peer.py test

test-peer-worlds: $(VENV)/.ready
	@PYTHONPATH=tests/fakes $(VENV)/bin/python hack/worlds.py upstream --count $(WORLDS)

# A real Kubernetes from pinned modules, in namespaces of its own (hack/cluster).
.PHONY: cluster-tools cluster bench-cluster bench-controller bench-refusals bench-many-nodes bench-waiting
.PHONY: chaos chaos-node test-cluster test-cluster-all
cluster-tools: $(VENV)/.ready
	@$(VENV)/bin/python hack/cluster tools

cluster: $(VENV)/.ready
	@$(VENV)/bin/python hack/cluster up

# First on a node with Tangram, then the scheduler alone over nodes that are objects only.
bench-cluster: $(VENV)/.ready
	@$(VENV)/bin/python hack/cluster run --peer -- $(VENV)/bin/tangram bench cluster --beside gpu.example.com
	@$(VENV)/bin/python hack/cluster run --control-plane-only --bare --node-objects 100 -- \
	    $(VENV)/bin/tangram bench cluster

# kube-scheduler's allocator, then the controller, on the same hundred nodes that are objects only.
bench-controller: $(VENV)/.ready
	@$(VENV)/bin/python hack/cluster run --control-plane-only --bare --node-objects 100 -- \
	    $(VENV)/bin/tangram bench controller

# Both on the same streams of pods that come and go: what each refuses.
bench-refusals: $(VENV)/.ready
	@$(VENV)/bin/python hack/cluster run --control-plane-only --bare --node-objects 5 -- \
	    $(VENV)/bin/tangram bench refusals

# The controller alone on a thousand nodes.
bench-many-nodes: $(VENV)/.ready
	@$(VENV)/bin/python hack/cluster run --control-plane-only --bare --node-objects 1000 --owned -- \
	    $(VENV)/bin/tangram bench many-nodes

# Pods come and go while parts of the cluster are killed; make chaos OPTIONS="--seconds 60 --json" (docs/controller.md).
chaos: $(VENV)/.ready
	@$(VENV)/bin/python hack/cluster run --controller --node-yaml dgx-a100 -- \
	    env PYTHONPATH=hack/cluster $(VENV)/bin/python -m chaos $(OPTIONS)

# The same without the controller: kube-scheduler allocates random claims for partitions, GPUs, VFs and shares.
chaos-node: $(VENV)/.ready
	@$(VENV)/bin/python hack/cluster run --node-yaml dgx-a100 \
	    --driver-option=--gpu-modes=all=whole,mig,shared -- \
	    env PYTHONPATH=hack/cluster $(VENV)/bin/python -m chaos $(OPTIONS)

# Ten thousand pods for which there are no devices: until all are told why, and the controller at rest.
bench-waiting: $(VENV)/.ready
	@PYTHONPATH=tests/fakes $(VENV)/bin/python hack/waiting_pods.py

# KUBECONFIG=... make test-cluster: in that cluster, what needs no control over its nodes (docs/try-it.md).
test-cluster: $(VENV)/.ready
	@$(VENV)/bin/python hack/cluster test

test-cluster-all: $(VENV)/.ready
	@$(VENV)/bin/python hack/cluster test --all
