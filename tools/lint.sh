#!/usr/bin/env bash
# The checks of `make lint`: every one is run, and the status is non-zero when any finds something.
#
#   tools/lint.sh BUILD_FOLDER    check (the folder has compile_commands.json)
#   tools/lint.sh --format        lay out the C files instead
set -uo pipefail

cd "$(dirname "$0")/.." || exit 1
formatter=clang-format
command -v clang-format-14 >/dev/null && formatter=clang-format-14
jobs=${JOBS:-2}
status=0

# Names of the tracked files of these kinds (deleted ones left out), each ended by NUL.
tracked()
{
    git ls-files -z --cached -- "$@" | while IFS= read -r -d '' file; do
        [ ! -e "$file" ] || printf '%s\0' "$file"
    done
}

check()    # WHAT COMMAND…
{
    local what=$1
    shift
    if "$@"; then
        echo "lint: $what: good"
    else
        echo "lint: $what: see above"
        status=1
    fi
}

# One file a run, for a run of many carries the state of one's va_list over to the next; with assertions on, for they
# tell what holds. fail.c defines what analyzer.h explains to the others.
tidy()    # BUILD_FOLDER
{
    local tool=(clang-tidy --quiet --extra-arg=-UNDEBUG -p "$1") hint=(--extra-arg=-I"$PWD/src"
        --extra-arg=-I"$PWD/include" --extra-arg=-include --extra-arg="$PWD/tools/analyzer.h")
    # Standard error counts what was left out in system headers, and names files that do not compile.
    tracked 'src/*.c' 'fuzz/*.c' ':!src/base/fail.c' |
        xargs -0 -r -n 1 -P "$jobs" "${tool[@]}" "${hint[@]}" 2>"$1/clang-tidy.log" &&
        "${tool[@]}" src/base/fail.c 2>>"$1/clang-tidy.log"
    local result=$?
    [ "$result" = 0 ] || grep -vE '^([0-9]+ warnings?|Suppressed|Use -header-filter)' "$1/clang-tidy.log"
    return "$result"
}

shell_scripts()
{
    tracked '*.sh' '.ci/run' | xargs -0 -r shellcheck --severity=warning
}

if [ "${1:-}" = --format ]; then
    tracked '*.c' '*.h' | xargs -0 -r "$formatter" -i
    exit
fi
build=${1:?usage: tools/lint.sh BUILD_FOLDER}

check "order of the floors" python3 tools/check_floors.py
check "forbidden calls" python3 tools/check_banned.py
check "layout" python3 tools/check_format.py "$formatter"
check "clang-tidy" tidy "$build"
if command -v shellcheck >/dev/null; then
    check "shellcheck" shell_scripts
fi
exit "$status"
