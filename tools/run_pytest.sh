#!/usr/bin/env bash
# Run one file of Python tests in the tests' environment; status 77 (skipped) where that could not be made.
# usage: run_pytest.sh FILE
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
python=${LAKEBED_VENV:-${LAKEBED_DEPS:-$root/.deps}/venv}/bin/python
file=$1

if ! "$python" -c 'import pytest' 2>/dev/null; then
    echo "skipped: $file needs the Python peers (tools/setup.sh --tests)"
    exit 77
fi
# Python itself is not built with the sanitizer, so a file that loads the library needs its runtime from the start.
# What Python and its modules leave unfreed is not ours to find. Some throw C++ exceptions, which the runtime follows only where
# that library is there when it begins.
loads() { grep -Eq "LAKEBED_LIB|package_lake|^(from|import) (lance_api|parquet_api|arrow_library)\\b" "$1"; }
if [ -n "${LAKEBED_PRELOAD:-}" ] && loads "$file"; then
    export LD_PRELOAD="$LAKEBED_PRELOAD libstdc++.so.6" ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
fi
export PYTHONDONTWRITEBYTECODE=1
exec "$python" -m pytest -q -ra -p no:cacheprovider "$file"
