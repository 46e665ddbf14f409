#!/bin/sh
# sh deploy/environment.sh [--again] [EXTRA...]: afterwards .venv is there and current. Nothing to do takes one start of Python.
set -eu
cd "$(dirname "$0")/.."
case " $* " in
*" --again "*) ;;
*) if [ -x .venv/bin/python ] && [ -f .venv/share/streamworthy/environment.json ]; then
    .venv/bin/python -E -S -m deploy.environment --check "$@" && exit 0
fi ;;
esac
python=$(sh deploy/find_python.sh)
exec "$python" -E -s -m deploy.environment "$@"
