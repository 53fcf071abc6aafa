#!/bin/sh
# Prints a Python, 3.10 or newer, that can make a virtual environment.
#
# Looks at PYTHON, then at the PATH. As root on a Debian-like machine it installs what is missing.
set -eu

say() { echo "python.sh: $*" >&2; }

# ensurepip is apart from python3 on Debian; without it `python3 -m venv` fails half-way.
fits() {
    command -v "$1" >/dev/null &&
        "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}

find_python() {
    for python in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python3.10; do
        if fits "$python"; then
            command -v "$python"
            return 0
        fi
    done
    return 1
}

find_python && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "no Python 3.10 or newer with venv found: installing it with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q >&2 && apt-get install -q -y --no-install-recommends python3 python3-venv >&2 || true
    find_python && exit 0
fi

say "Headrace needs Python 3.10 or newer with the venv module (Debian and Ubuntu: python3-venv)."
say "Install it and put it on the PATH, or name it: make setup PYTHON=/path/to/python3"
exit 1
