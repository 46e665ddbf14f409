#!/bin/sh
# Prints the newest Python that can hold the suite: CPython, 3.11 or newer, able to make a venv. PYTHON=... asks for one.
# A bundle's packages are for one version of Python, named in wheelhouse/python.
set -eu
cd "$(dirname "$0")/.."
wanted='3.14 3.13 3.12 3.11'
[ ! -f wheelhouse/python ] || wanted=$(cat wheelhouse/python)
without_venv=''
candidates=${PYTHON:+asked}
for version in ${candidates:-$wanted system}; do
    case $version in
    asked) candidate=$PYTHON ;;
    system) candidate=python3 ;;
    *) candidate=python$version ;;
    esac
    path=$(command -v "$candidate" 2>/dev/null) || continue
    found=$("$path" -E -s -c '
import importlib.util, sys
print("%d.%d" % sys.version_info[:2], sys.implementation.name, bool(importlib.util.find_spec("ensurepip")))' 2>/dev/null) || continue
    set -- $found
    case " $wanted " in
    *" $1 "*) ;;
    *) continue ;;
    esac
    [ "$2" = cpython ] || continue
    if [ "$3" = True ]; then
        echo "$path"
        exit 0
    fi
    without_venv=${without_venv:-$1}
done
sudo=''
[ "$(id -u)" = 0 ] || sudo='sudo '
if [ -n "$without_venv" ]; then
    echo "streamworthy: Python $without_venv is here but cannot make a venv (ensurepip is missing)" >&2
    echo "streamworthy: fix: ${sudo}apt-get install python$without_venv-venv" >&2
else
    echo "streamworthy: no Python of these versions found: $wanted${PYTHON:+ (asked for PYTHON=$PYTHON)}" >&2
    echo "streamworthy: fix: ${sudo}apt-get install python3 python3-venv   # then again; or PYTHON=/path/to/python3.11 make ..." >&2
fi
exit 1
