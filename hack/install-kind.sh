#!/bin/sh
# Installs Tangram, with simulated GPUs, into a kind cluster that runs: install-kind.sh [CLUSTER]. In go docker, kind, kubectl
# and this checkout; out comes a DaemonSet that is ready on every node. Done again it brings the present sources.
set -eu
cluster=${1:-kind}
python=${PYTHON:-.venv/bin/python}

fail() { echo "install-kind: $1" >&2; exit 1; }

for program in docker kind kubectl; do
    command -v "$program" >/dev/null 2>&1 || fail "no $program on the PATH: install it, or see docs/install.md for other clusters"
done
kind get clusters 2>/dev/null | grep -qx "$cluster" ||
    fail "no kind cluster is called $cluster: kind create cluster --name $cluster, with Kubernetes 1.36 or newer"

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
"$python" hack/image.py context --output "$context"
docker build --tag localhost/tangram:test --file "$context/Containerfile" "$context"
kind load docker-image localhost/tangram:test --name "$cluster"
kubectl --context "kind-$cluster" apply -k deploy/manifests/overlays/simulated
# The image has always the same name, so the pods of an earlier one are replaced.
kubectl --context "kind-$cluster" --namespace tangram-system rollout restart daemonset/tangram
kubectl --context "kind-$cluster" --namespace tangram-system rollout status daemonset/tangram --timeout=180s
