#!/bin/sh
# Installs a bundle: everything comes from wheelhouse/ beside this file, no index is asked, nothing is built.
set -eu
cd "$(dirname "$0")"
sh deploy/environment.sh test
echo 'streamworthy: installed. Next: .venv/bin/python -m pytest -m qualify --model /path/to/model-00001-of-0000N.gguf --report audit'
