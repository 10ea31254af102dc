#!/usr/bin/env bash
# Pin what pyproject.toml asks for, for every platform, with hashes and without registry addresses.
# run.txt is what a user of the wheel needs; dev.txt adds every extra and the development tools.
# Usage: tools/lock.sh VENV [--upgrade]
set -eu

venv=$1
shift

lock() {
  out=$1
  shift
  "$venv/bin/uv" --quiet --no-config pip compile --universal --python-version 3.11 --generate-hashes \
    --no-header --no-annotate --no-emit-package perdure --output-file "$out" "$@" pyproject.toml
}

lock requirements/run.txt "$@"
lock requirements/dev.txt --all-extras --group dev "$@"
