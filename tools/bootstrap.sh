# Sourced by the tools: finds Python 3.12 and installs environments with it. Needs bash and nothing else.
# Expects ROOT (the repository). On failure the functions print one paragraph with the fix and return 1.

is_python312() { "$1" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))' >/dev/null 2>&1; }

# Prints the path of a real Python 3.12 interpreter (a pyenv shim is followed to what it runs).
find_python() {
  local candidate
  for candidate in "${MARIN_PYTHON:-}" python3.12 python3 python "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.12*/bin/python; do
    if [ -n "$candidate" ] && is_python312 "$candidate"; then
      "$candidate" -c 'import sys; print(getattr(sys, "_base_executable", None) or sys.executable)'
      return 0
    fi
  done
  if command -v uv >/dev/null 2>&1 && candidate=$(uv python find 3.12 2>/dev/null) && is_python312 "$candidate"; then
    echo "$candidate"
    return 0
  fi
  cat >&2 <<'TEXT'
error: no Python 3.12 was found (tried MARIN_PYTHON, python3.12, python3, python, pyenv and uv); Marin needs exactly 3.12
  fix: install it (`uv python install 3.12`, `pyenv install 3.12`, or your system's package), or set MARIN_PYTHON to its path
TEXT
  return 1
}

# env_command install NAME... : what `marin env` does, with the base interpreter.
env_command() {
  local python
  python=$(find_python) || return 1
  PYTHONPATH="$ROOT/libs/marin/src" "$python" -m marin.local.envs "$@"
}

# True when the client environment stands on the lock as it is now and on this very checkout.
client_is_fresh() {
  local home="$ENVS/client" recorded
  [ -x "$home/bin/python" ] && [ ! -e "$home/marin-env.installing" ] &&
    [ "$home/marin-env.lock" -nt "$ROOT/libs/marin/src/marin/local/environments.py" ] &&
    read -r recorded <"$home/lib/python3.12/site-packages/marin_sources.pth" &&
    [ "$recorded" = "$ROOT/libs/contracts/src" ] &&
    cmp -s "$home/marin-env.lock" "$ROOT/libs/marin/requirements.lock"
}

ensure_client() {
  client_is_fresh 2>/dev/null && return 0
  env_command install client && { touch "$ENVS/client/marin-env.lock" 2>/dev/null || true; }
}
