#!/bin/sh
# Makes the virtual environment: bootstrap.sh VENV UV_VERSION. Needs Python >= 3.11 with venv; nothing global.
set -eu
venv=$1 uv_version=$2
python=${PYTHON:-python3}

fail() { echo "tangram: $1" >&2; exit 1; }

command -v "$python" >/dev/null 2>&1 || fail "no $python found: install Python 3.11 or newer (Debian: apt-get install python3 python3-venv)"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$("$python" --version) is too old: Tangram needs Python 3.11 or newer; name one with PYTHON=python3.12 make ..."
"$python" -c 'import venv, ensurepip' 2>/dev/null ||
    fail "$python has no venv or no pip: install python3-venv (Debian, Ubuntu) or python3-pip (Fedora, RHEL)"

if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c 'import pip' 2>/dev/null; then
    echo "tangram: making $venv" >&2
    rm -rf "$venv"
    "$python" -m venv "$venv"
fi
if [ "$("$venv/bin/uv" --version 2>/dev/null | cut -d' ' -f2)" != "$uv_version" ]; then
    echo "tangram: installing uv $uv_version into $venv" >&2
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$uv_version"
fi
echo "tangram: installing the locked packages" >&2
VIRTUAL_ENV="$PWD/$venv" UV_PROJECT_ENVIRONMENT="$venv" "$venv/bin/uv" sync --locked --inexact --quiet \
    --python "$venv/bin/python"
