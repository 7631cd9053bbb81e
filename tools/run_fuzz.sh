#!/usr/bin/env bash
# Run the fuzzers of a build, one after the other, from the corpus in fuzz/corpus/ on.
#
#   tools/run_fuzz.sh BUILD_FOLDER [TARGET…]      FUZZ_SECONDS=60 for each
#
# Inputs that reach new code are kept in BUILD_FOLDER/corpus/TARGET; inputs that fail in fuzz/findings/TARGET. When a
# fault is mended, its input moves to fuzz/corpus/TARGET, where `make check` replays it for ever.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
build=$1
shift
seconds=${FUZZ_SECONDS:-60}
if [ $# -eq 0 ]; then
    for source in "$root"/fuzz/fuzz_*.c; do
        name=$(basename "$source" .c)
        set -- "$@" "${name#fuzz_}"
    done
fi

failed=()
for target in "$@"; do
    [ -x "$build/fuzz_$target" ] || { echo "there is no fuzz target $target (fuzz/fuzz_$target.c)" >&2; exit 2; }
    findings=$root/fuzz/findings/$target
    grown=$build/corpus/$target
    mkdir -p "$findings" "$grown"
    options=(-max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1
        -artifact_prefix="$findings/")
    [ ! -e "$root/fuzz/$target.dict" ] || options+=(-dict="$root/fuzz/$target.dict")
    corpora=("$grown")
    [ ! -d "$root/fuzz/corpus/$target" ] || corpora+=("$root/fuzz/corpus/$target")
    echo "fuzz: $target, $seconds seconds"
    if ! "$build/fuzz_$target" "${options[@]}" "${corpora[@]}" >"$build/fuzz_$target.log" 2>&1; then
        tail -n 40 "$build/fuzz_$target.log"
        failed+=("$target")
    fi
    grep -E 'number_of_executed_units|new_units_added' "$build/fuzz_$target.log" || true
done

if [ ${#failed[@]} -gt 0 ]; then
    echo "fuzz: failed: ${failed[*]} (inputs in fuzz/findings/, logs in $build)"
    exit 1
fi
echo "fuzz: $# targets, nothing found"
