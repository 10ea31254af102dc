#!/usr/bin/env bash
# Make the environment: a venv from Python 3.11 or later, the pinned requirements, then Perdure itself.
# Usage: tools/make_env.sh VENV
set -eu

venv=$1

usable() {
  "$1" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
  for candidate in ${PERDURE_PYTHON:-python3 python3.13 python3.12 python3.11}; do
    if usable "$candidate"; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  {
    printf 'Perdure needs Python 3.11 or later; found: %s.\n' "$(python3 --version 2>&1 || true)"
    printf 'Install it, or name it: make PERDURE_PYTHON=/path/to/python3.11 env\n'
  } >&2
  return 1
}

if ! usable "$venv/bin/python"; then
  python=$(find_python)
  printf 'Making the environment in %s with %s ...\n' "$venv" "$("$python" --version)"
  rm -rf "$venv"
  if ! "$python" -m venv "$venv"; then
    printf '%s cannot make a venv. On Debian and Ubuntu: apt-get install python3-venv\n' "$python" >&2
    exit 1
  fi
else
  printf 'Bringing the environment in %s up to date ...\n' "$venv"
fi

pip() {
  "$venv/bin/python" -m pip -qq --disable-pip-version-check --no-input "$@"
}

pip install --require-hashes --requirement requirements/dev.txt
pip install --no-deps --no-build-isolation --no-index --editable .
