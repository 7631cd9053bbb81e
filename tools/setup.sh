#!/usr/bin/env bash
# Fetch what Lakebed needs and the machine lacks. Run it as often as you like: what is there is left alone, and when
# everything is there neither network nor root is used.
#
#   tools/setup.sh            what the build needs
#   tools/setup.sh --python   also what the Python package is compiled with
#   tools/setup.sh --tests    that too, and the Python peers of the tests, and real data for them
#   tools/setup.sh --lance-peers    also releases of Lance, for the tests of its datasets (1 GB)
#   tools/setup.sh --lint     also clang-format and clang-tidy
#   tools/setup.sh --fuzz     also clang with libFuzzer
#
# Debian packages are installed only where a library or command is missing. Everything else lands in .deps/ at the
# root of the project (LAKEBED_DEPS names another folder).
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
deps=${LAKEBED_DEPS:-$root/.deps}
nanoarrow_version=0.8.0
nanoarrow_sha256=aa63e01e799380ec4f8adab88f4faac8d27bfb725fe1009fe73d7ce4efd9f7f6
sqlglot_version=30.30.0
sqlglot_sha256=b8e344042c85d7baa1d0d827127dfe1611ce9ac59bceab6fe370665baeb14ce7
vega_version=3.2.1
vega_sha256=6f72fda460a9863fae5fcb32f85bcd49e1761fdea6dc6cf9f4962472881cc5a3
scratch=

say()
{
    printf 'setup: %s\n' "$*"
}

die()
{
    printf 'setup: %s\n' "$*" >&2
    exit 1
}

have()
{
    command -v "$1" >/dev/null 2>&1
}

have_library()
{
    have pkg-config && pkg-config --exists "$1" 2>/dev/null
}

have_header()
{
    printf '#include <%s>\n' "$1" | cc -E -x c - >/dev/null 2>&1
}

have_python_header()
{
    [ -e "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))' 2>/dev/null)/Python.h" ]
}

have_venv()
{
    have python3 && python3 -c 'import ensurepip, venv' 2>/dev/null
}

have_libfuzzer()
{
    have clang || return 1
    printf 'int LLVMFuzzerTestOneInput(const char *p, long n) { return p == 0 && n != 0; }\n' |
        clang -x c -fsanitize=fuzzer - -o /dev/null 2>/dev/null
}

have_formatter()
{
    have clang-format-14 || have clang-format
}

# ---- Debian packages

missing=()

need()    # PACKAGE CHECK…
{
    local package=$1
    shift
    "$@" || missing+=("$package")
}

as_root()
{
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

install_missing()
{
    [ ${#missing[@]} -gt 0 ] || return 0
    local command="apt-get install -y --no-install-recommends ${missing[*]}"
    have apt-get || die "missing: ${missing[*]} (Debian's names). Install them with this system's package manager."
    [ "$(id -u)" = 0 ] || have sudo || die "missing: ${missing[*]}. As root, run: $command"
    say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086    # a list of words on purpose
    as_root $command >/dev/null 2>&1 && return 0
    as_root apt-get update -qq || die "the list of packages could not be fetched. Later, run as root: $command"
    # shellcheck disable=SC2086
    as_root $command >/dev/null || die "these packages could not be installed: ${missing[*]}"
}

# ---- the virtual environment: pip to fetch with, later the tests' peers

venv_ready()
{
    [ -x "$deps/venv/bin/python" ] && "$deps/venv/bin/python" -c 'import pip' 2>/dev/null
}

make_venv()
{
    venv_ready && return 0
    have_venv || need python3-venv false
    install_missing || return 1
    say "making a Python environment in $deps/venv"
    mkdir -p "$deps"
    python3 -m venv --clear "$deps/venv"
}

pip()
{
    "$deps/venv/bin/python" -m pip --disable-pip-version-check --quiet --retries 2 "$@"
}

# ---- nanoarrow

have_nanoarrow()
{
    have_library "nanoarrow >= $nanoarrow_version" && have_library "nanoarrow-ipc >= $nanoarrow_version"
}

# pip asks a source package for its name and version before it keeps the file, by running the package's build system.
# This stand-in answers at once; without it pip would first install the whole build system and configure the package.
write_stand_in()    # FOLDER MODULE NAME VERSION
{
    mkdir -p "$1/$(dirname "$2")"
    cat >"$1/$2.py" <<EOF
import os


def prepare_metadata_for_build_wheel(directory, config_settings=None):
    name = "$3-$4.dist-info"
    os.makedirs(os.path.join(directory, name))
    with open(os.path.join(directory, name, "METADATA"), "w") as out:
        out.write("Metadata-Version: 2.1\nName: $3\nVersion: $4\n")
    return name
EOF
}

download_source()    # FOLDER MODULE NAME VERSION SHA256
{
    local wanted=$1/requirements.txt stand_in=$scratch/stand-in-$3
    printf '%s==%s --hash=sha256:%s\n' "$3" "$4" "$5" >"$wanted"
    write_stand_in "$stand_in" "$2" "$3" "$4"
    set -- download --no-deps --no-binary "$3" --require-hashes -r "$wanted" -d "$1"
    PYTHONPATH=$stand_in pip "$@" --no-build-isolation 2>/dev/null || pip "$@"
}

unpack_nanoarrow()    # ARCHIVE FOLDER
{
    local top=$scratch/unpacked/nanoarrow-$nanoarrow_version
    mkdir -p "$scratch/unpacked" "$2/flatcc"
    tar -xzf "$1" -C "$scratch/unpacked"
    cp -R "$top/subprojects/arrow-nanoarrow/src" "$2/src"
    cp -R "$top"/subprojects/flatcc-*/include "$2/flatcc/include"
    cp -R "$top"/subprojects/flatcc-*/src "$2/flatcc/src"
    cp "$top"/subprojects/flatcc-*/{LICENSE,NOTICE} "$2/flatcc/"
    printf '%s\n' "$nanoarrow_version" >"$2/VERSION"
}

# A fetched library is put in place by one rename, so that its folder is either whole or not there.
fetch_nanoarrow()
{
    have_nanoarrow && return 0
    [ "$(cat "$deps/nanoarrow/VERSION" 2>/dev/null)" != "$nanoarrow_version" ] || return 0
    make_venv
    say "fetching nanoarrow $nanoarrow_version"
    mkdir -p "$scratch/download" "$scratch/nanoarrow"
    download_source "$scratch/download" mesonpy nanoarrow "$nanoarrow_version" "$nanoarrow_sha256" ||
        die "nanoarrow could not be fetched: is there a network?"
    unpack_nanoarrow "$scratch/download/nanoarrow-$nanoarrow_version.tar.gz" "$scratch/nanoarrow"
    rm -rf "$deps/nanoarrow"
    mv "$scratch/nanoarrow" "$deps/nanoarrow"
}

# ---- BLAKE3

have_blake3()
{
    have_library libblake3
}

download_blake3()    # FOLDER
{
    have apt-get || die "BLAKE3 is missing: install libblake3 with its pkg-config file."
    (cd "$1" && apt-get download -qq librust-blake3-dev 2>/dev/null) && return 0
    [ "$(id -u)" = 0 ] || have sudo || return 1
    as_root apt-get update -qq && (cd "$1" && apt-get download -qq librust-blake3-dev 2>/dev/null)
}

# Debian keeps the official C implementation inside the Rust package; the package is unpacked, not installed.
fetch_blake3()
{
    have_blake3 && return 0
    [ ! -e "$deps/blake3/VERSION" ] || return 0
    say "fetching BLAKE3"
    mkdir -p "$scratch/deb" "$deps"
    download_blake3 "$scratch/deb" || die "Debian's librust-blake3-dev could not be fetched: is there a network?"
    dpkg-deb -x "$scratch"/deb/librust-blake3-dev_*.deb "$scratch/deb"
    local source
    source=$(find "$scratch/deb/usr/share/cargo/registry" -path '*/c/blake3.c' -print -quit)
    [ -n "$source" ] || die "librust-blake3-dev no longer carries the C implementation: install libblake3."
    mkdir "$scratch/blake3"
    cp "$(dirname "$source")"/*.[chS] "$scratch/blake3/"
    basename "$(dirname "$(dirname "$source")")" >"$scratch/blake3/VERSION"
    rm -rf "$deps/blake3"
    mv "$scratch/blake3" "$deps/blake3"
}

# ---- the tests' peers

peers_stamp()
{
    sha256sum <"$root/tests/requirements.txt"
    "$deps/venv/bin/python" -c 'import sys; print(sys.version)'
}

fetch_peers()
{
    if venv_ready && [ "$(cat "$deps/venv/peers" 2>/dev/null)" = "$(peers_stamp)" ]; then
        return 0
    fi
    (make_venv) || return 1
    say "installing the Python peers of the tests"
    pip install --no-deps -r "$root/tests/requirements.txt" || return 1
    peers_stamp >"$deps/venv/peers"
}

# ---- releases of Lance: each in an environment of its own, for they want other versions of the same packages

lance_peer()    # RELEASE PACKAGE…
{
    local folder=$deps/lance-$1
    "$folder/bin/python" -c 'import lance' 2>/dev/null && return 0
    say "installing pylance $1 in $folder"
    python3 -m venv --clear "$folder"
    "$folder/bin/python" -m pip --disable-pip-version-check --quiet install "pylance==$1" "${@:2}"
}

# vectordb 0.1.4 has Lance 0.4.17 in it, the reference; it is linked with Fortran's runtime.
lance_node()
{
    local folder=$deps/lance-node
    have npm && [ ! -d "$folder/node_modules/vectordb" ] || return 0
    say "installing vectordb 0.1.4 for Node.js in $folder"
    mkdir -p "$folder/deb"
    (cd "$folder" && npm install --silent --prefix . vectordb@0.1.4 >/dev/null) || return 1
    (cd "$folder/deb" && apt-get download -qq libgfortran5 2>/dev/null && dpkg-deb -x libgfortran5_*.deb .) || true
}

fetch_lance_peers()
{
    have_venv || need python3-venv false
    install_missing || return 1
    lance_peer 0.4.21 "pyarrow==15.0.0" "numpy<2" &&
        lance_peer 0.10.18 "pyarrow==15.0.0" "numpy<2" &&
        lance_peer 8.0.0 "pyarrow==26.0.1" &&
        lance_node
}

# ---- SQL that others wrote to test their parsers: TPC-H, TPC-DS and a thousand statements of all systems

fetch_sql_suites()
{
    [ "$(cat "$deps/sqlglot/VERSION" 2>/dev/null)" != "$sqlglot_version" ] || return 0
    (make_venv) || return 1
    say "fetching the SQL of sqlglot's tests"
    local top=sqlglot-$sqlglot_version
    local fixtures=$scratch/sqlglot-download/$top/tests/fixtures
    mkdir -p "$scratch/sqlglot-download" "$scratch/sqlglot"
    download_source "$scratch/sqlglot-download" setuptools/build_meta sqlglot "$sqlglot_version" "$sqlglot_sha256" ||
        return 1
    tar -xzf "$scratch/sqlglot-download/$top.tar.gz" -C "$scratch/sqlglot-download" || return 1
    cp "$fixtures/identity.sql" "$fixtures"/optimizer/tpc-*/tpc-*.sql "$fixtures/../../LICENSE" "$scratch/sqlglot/" ||
        return 1
    printf '%s\n' "$sqlglot_version" >"$scratch/sqlglot/VERSION"
    rm -rf "$deps/sqlglot"
    mv "$scratch/sqlglot" "$deps/sqlglot"
}

# ---- real JSON files for the tests: those of the package vega-datasets, which is unpacked and not installed

fetch_vega()
{
    [ "$(cat "$deps/vega-datasets/VERSION" 2>/dev/null)" != "$vega_version" ] || return 0
    have npm || return 1
    say "fetching vega-datasets $vega_version"
    local archive=$scratch/vega/vega-datasets-$vega_version.tgz
    mkdir -p "$scratch/vega/whole"
    (cd "$scratch/vega" && npm pack --silent --cache "$scratch/npm" "vega-datasets@$vega_version" >/dev/null) || return 1
    printf '%s  %s\n' "$vega_sha256" "$archive" | sha256sum --check --quiet || return 1
    tar -xzf "$archive" -C "$scratch/vega/whole" || return 1
    rm -rf "$deps/vega-datasets"
    mkdir "$scratch/vega/kept"
    cp "$scratch"/vega/whole/package/data/*.json "$scratch/vega/whole/package/README.md" "$scratch/vega/kept/"
    printf '%s\n' "$vega_version" >"$scratch/vega/kept/VERSION"
    mv "$scratch/vega/kept" "$deps/vega-datasets"
}

# ---- in order

tests=no
python=no
lance_peers=no
for option in "$@"; do
    case $option in
    --python) python=yes ;;
    --tests) tests=yes python=yes ;;
    --lance-peers) lance_peers=yes ;;
    --lint)
        need clang-format have_formatter
        need clang-tidy have clang-tidy
        need git have git
        ;;
    --fuzz) need clang have_libfuzzer ;;
    -h | --help)
        sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"
        exit 0
        ;;
    *) die "unknown option $option (it knows --python, --tests, --lance-peers, --lint and --fuzz)" ;;
    esac
done

need gcc have cc
need libc6-dev test -e /usr/include/stdio.h
need cmake have cmake
need make have make
need pkg-config have pkg-config
need python3 have python3
[ "$python" = no ] || need python3-dev have_python_header
need libcmocka-dev have_library cmocka
need libxxhash-dev have_library libxxhash
need libjansson-dev have_library jansson
need libzstd-dev have_library libzstd
need zlib1g-dev have_library zlib
need libdeflate-dev have_library libdeflate
need liblz4-dev have_library liblz4
need libbrotli-dev have_library libbrotlidec
need liblzo2-dev have_library lzo2    # loaded when it is needed; a test compresses with it
need libbz2-dev have_header bzlib.h
need liblzma-dev have_library liblzma
need libprotobuf-c-dev have_library libprotobuf-c
need protobuf-c-compiler have protoc-c
need ca-certificates test -e /etc/ssl/certs/ca-certificates.crt
install_missing
missing=()

mkdir -p "$deps"
scratch=$(mktemp -d "$deps/.fetch.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
fetch_nanoarrow
fetch_blake3
if [ "$tests" = yes ] && ! fetch_peers; then
    say "the Python peers could not be installed; the tests that need them will be skipped"
fi
if [ "$tests" = yes ] && ! fetch_sql_suites; then
    say "the SQL of sqlglot's tests could not be fetched; the tests that need it will be skipped"
fi
if [ "$tests" = yes ] && ! fetch_vega; then
    say "vega-datasets could not be fetched; the tests that read it will be skipped"
fi
if [ "$lance_peers" = yes ] && ! fetch_lance_peers; then
    say "not all releases of Lance could be installed; the tests that need them will be skipped"
fi
say "everything is there"
