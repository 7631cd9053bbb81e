#!/usr/bin/env bash
# Install into an empty folder, move it, and build a program against it in every way users do.
# usage: check_install.sh BUILD_FOLDER SCRATCH_FOLDER COMPILER
set -euo pipefail

build=$1 scratch=$2 cc=$3

rm -rf "$scratch"
mkdir -p "$scratch/app"
cmake --install "$build" --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$scratch/prefix"
prefix=$scratch/prefix
pc=$(find "$prefix" -name lakebed.pc -print -quit)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir

cat >"$scratch/app/app.c" <<'EOF'
#include <lakebed.h>
#include <stdio.h>

int main(void)
{
    lb_context *cx = NULL;
    if (lb_context_new(NULL, &cx, NULL) != LB_OK)
        return 1;
    lb_context_free(cx);
    return puts(lb_version()) < 0;
}
EOF
cat >"$scratch/app/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.20)
project(app C)
find_package(lakebed REQUIRED)
foreach(kind lakebed static)
    add_executable(app_${kind} app.c)
    target_link_libraries(app_${kind} PRIVATE lakebed::${kind})
endforeach()
EOF

version=$(pkg-config --modversion lakebed)

expect()    # WHAT COMMAND…
{
    local what=$1 got
    shift
    got=$("$@") || { echo "$what: failed"; exit 1; }
    [ "$got" = "$version" ] || { echo "$what: printed \"$got\", not \"$version\""; exit 1; }
    echo "$what: right"
}

cd "$scratch/app"
# shellcheck disable=SC2046    # lists of words on purpose
"$cc" app.c -o shared $(pkg-config --cflags --libs lakebed)
expect "pkg-config, shared" ./shared
# Debian's pkg-config has no switch for one static library: name the archive, and what it needs besides.
# shellcheck disable=SC2046
"$cc" app.c -o static $(pkg-config --cflags lakebed) "$libdir/liblakebed.a" \
    $(pkg-config --static --libs lakebed | sed 's/-llakebed//')
expect "pkg-config, static" env LD_LIBRARY_PATH= ./static

cmake -S . -B build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" >/dev/null
cmake --build build >/dev/null
expect "CMake, shared" build/app_lakebed
expect "CMake, static" env LD_LIBRARY_PATH= build/app_static

"$prefix/bin/lakebed" --version >/dev/null
echo "the command: runs"
