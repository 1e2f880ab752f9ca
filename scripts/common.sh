# Sourced by the scripts beside it, after they set `root` (the checkout).
# Gives say, die, find_python and prepare.

unset CDPATH PYTHONHOME PYTHONPATH      # nothing from outside leaks into our environment
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_USER=0

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { printf '%s: error: %s\n' "${0##*/}" "$*" >&2; exit 2; }

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# Prints the first Python that runs and is new enough; $PYTHON, where set, is the only candidate.
find_python() {
    local candidate found=""
    if [ -n "${PYTHON:-}" ]; then
        new_enough "$PYTHON" || die "PYTHON=$PYTHON does not run or is older than 3.11"
        command -v "$PYTHON"
        return
    fi
    for candidate in python3.13 python3.12 python3.11 python3 python; do
        if new_enough "$candidate"; then
            command -v "$candidate"
            return
        fi
        if [ -z "$found" ]; then
            found=$("$candidate" -c 'import platform; print(platform.python_version())' 2>/dev/null || true)
        fi
    done
    if [ -n "$found" ]; then
        die "needs Python 3.11 or newer, found only $found (set PYTHON=/path/to/python to choose one)"
    fi
    die "needs Python 3.11 or newer, found none (set PYTHON=/path/to/python to choose one)"
}

# make_venv DIR: a new environment; without its own pip where the system's Python cannot give it one.
make_venv() {
    local base
    base=$(find_python) || exit 2
    "$base" -m venv "$1" >/dev/null 2>&1 && return
    rm -rf "$1"
    "$base" -m venv --without-pip "$1" || die "$base cannot make a virtual environment in $1"
}

# pip_install DIR LOG ARGS…: pip install into the environment DIR, with the machine's pip if it has none.
pip_install() {
    local venv=$1 log=$2 base
    shift 2
    if "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        set -- "$venv/bin/python" -m pip install -q "$@"
    else
        base=$(find_python) || exit 2
        "$base" -m pip --version >/dev/null 2>&1 || die "pip is missing: install it for $base"
        set -- "$base" -m pip --python "$venv/bin/python" install -q "$@"
    fi
    if ! "$@" >"$log" 2>&1; then
        grep -v '^WARNING' "$log" | tail -n 20 >&2
        die "pip install failed, see above"
    fi
}

# prepare [EXTRA]: .venv of the checkout with the package, editable, and the extra installed.
# Does nothing when pyproject.toml, constraints.txt, Python and the place are what they were.
prepare() {
    local want=${1:-} have="" base key stamp="$root/.venv/.installed" start
    venv="$root/.venv"
    cd "$root"
    if [ -e "$venv" ] && ! new_enough "$venv/bin/python"; then
        [ -f "$venv/pyvenv.cfg" ] || die "$venv is in the way: it is not a virtual environment"
        say "removing .venv: its Python no longer runs or is too old"
        rm -rf "$venv"
    fi
    if [ ! -e "$venv" ]; then
        start=$SECONDS
        base=$(find_python) || exit 2
        say "making .venv with $base"
        make_venv "$venv"
        say "made .venv: $("$venv/bin/python" --version) ($((SECONDS - start)) s)"
    fi
    key=$("$venv/bin/python" - <<'PY'
import hashlib, os, pathlib, sys
state = repr((os.getcwd(), sys.version)).encode("utf-8", "surrogateescape")
for name in ("pyproject.toml", "constraints.txt"):
    state += pathlib.Path(name).read_bytes()
print(hashlib.sha256(state).hexdigest())
PY
    )
    if [ -f "$stamp" ]; then
        have=$(sed -n 2p "$stamp")
        if [ "$(sed -n 1p "$stamp")" = "$key" ] && { [ -z "$want" ] || [ "$want" = "$have" ]; }; then
            say "using .venv as it is: nothing to install"
            return
        fi
    fi
    want=${want:-$have}                 # what was installed once is kept up to date
    start=$SECONDS
    say "installing the package${want:+ with extra \"$want\"} into .venv (the first time this takes minutes)"
    rm -f "$stamp"
    pip_install "$venv" "$venv/install.log" -c constraints.txt -e ".${want:+[$want]}"
    printf '%s\n%s\n' "$key" "$want" >"$stamp"
    say "installed ($((SECONDS - start)) s)"
}
