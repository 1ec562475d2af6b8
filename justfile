# The commands that contributors need, for who has `just` (https://just.systems).
# CONTRIBUTING.md says the same in plain commands: nothing here needs `just`.

# The environment that `just setup` makes, or else the one that is active.
export PATH := justfile_directory() / ".venv" / "bin" + ":" + env("PATH")

# List the commands.
[private]
default:
    @just --list --unsorted

# Make a virtual environment in .venv with everything that development needs.
setup:
    python3 -m venv .venv
    .venv/bin/pip install -e '.[dev]'

# Run the default tier of the tests; arguments go to pytest.
test *arguments:
    pytest {{ arguments }}

# Run every case of every test, as before a release.
test-full *arguments:
    pytest --full {{ arguments }}

# Check style, format and types.
lint:
    ruff check .
    ruff format --check .
    mypy

# Build the documentation into site/.
docs:
    mkdocs build --strict

# Build the wheel into dist/, and make the demo in dbdeid-demo/.
build:
    python -m build --wheel
    dbdeid demo
