#!/bin/sh
# Builds the program into .tangram/ at the top of the checkout and prints its path. Nothing is built
# again while these sources and go.sum stay the same. Exit status 2: Go is missing or too old.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
wanted=$(sed -n 's/^go //p' "$here/go.mod")

fail() { echo "upstream-allocator: $1" >&2; exit 2; }

PATH=$PATH:/usr/local/go/bin   # where the archives of go.dev go
command -v go >/dev/null 2>&1 ||
    fail "no go found: install Go $wanted or newer (https://go.dev/dl/) and have it on PATH; it builds the peer only, nothing else needs it"
has=$(cd "$here" && GOTOOLCHAIN=local go env GOVERSION | sed 's/^go//')
oldest=$(printf '%s\n%s\n' "$wanted" "$has" | sort -V | head -n 1)
[ "$oldest" = "$wanted" ] || fail "Go $has is too old: install Go $wanted or newer (https://go.dev/dl/)"

key=$(cat "$here"/go.sum "$here"/go.mod "$here"/*.go | sha256sum | cut -c 1-16)
program=$top/.tangram/upstream-allocator/$key/upstream-allocator
if [ ! -x "$program" ]; then
    echo "upstream-allocator: building with Go $has (minutes the first time)" >&2
    # One package at a time: a build must not starve whatever else the machine does.
    (cd "$here" && go build -p 1 -trimpath -o "$program.new" .)
    mv "$program.new" "$program"
    find "$top/.tangram/upstream-allocator" -mindepth 1 -maxdepth 1 ! -name "$key" -exec rm -rf {} +
fi
echo "$program"
