# One word for each thing a user or developer does; the work is done by CMakeLists.txt and tools/. `make help` lists.

PREFIX ?= /usr/local
DESTDIR ?=
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
CMAKE_OPTIONS ?=
FUZZ_SECONDS ?= 60
FUZZ_TARGET ?=
export FUZZ_SECONDS

# Ninja where it is there; a folder once made keeps its generator.
generator = $(if $(wildcard $(1)/CMakeCache.txt),,$(if $(shell command -v ninja),-G Ninja))
configure = cmake -S . -B $(1) $(call generator,$(1)) $(2) $(CMAKE_OPTIONS) --log-level=WARNING >/dev/null
build = cmake --build $(1) -j $(JOBS)
ctest = ctest --test-dir $(1) -j $(JOBS) --output-on-failure --no-tests=error

.PHONY: all setup demo check check-asan check-faults check-tsan bench fuzz lint format wheel install clean distclean help

all:    ## build build/lakebed, build/liblakebed.a and build/liblakebed.so
	@$(call configure,build)
	@$(call build,build)

setup:    ## fetch what the build needs and the machine lacks
	@tools/setup.sh

demo: setup all    ## set up, build, and show what Lakebed does
	@tools/demo.sh

check:    ## set up, build, and run all tests
	@tools/setup.sh --tests
	@$(call configure,build)
	@$(call build,build) --target all lakebed_tests
	@$(call ctest,build)

check-asan:    ## all tests under the address and undefined-behaviour sanitizers
	@tools/setup.sh --tests
	@$(call configure,build-asan,"-DLAKEBED_SANITIZE=address;undefined")
	@$(call build,build-asan) --target all lakebed_tests
	@$(call ctest,build-asan)

check-faults:    ## every system call and allocation fails in turn (minutes)
	@tools/setup.sh --tests
	@$(call configure,build)
	@$(call build,build) --target lakebed_faults

check-tsan:    ## all tests under the thread sanitizer
	@tools/setup.sh --tests
	@$(call configure,build-tsan,-DLAKEBED_SANITIZE=thread)
	@$(call build,build-tsan) --target all lakebed_tests
	@$(call ctest,build-tsan)

bench: all    ## measure, against the machine's limits and other tools
	@tools/setup.sh --tests
	@python="$${LAKEBED_DEPS:-.deps}/venv/bin/python"; [ -x "$$python" ] || python=python3; exec "$$python" bench/run.py

fuzz:    ## run the fuzzers: FUZZ_SECONDS=60 each, FUZZ_TARGET=csv for one
	@tools/setup.sh --fuzz
	@$(call configure,build-fuzz,-DCMAKE_C_COMPILER=clang -DLAKEBED_FUZZ=ON -DLAKEBED_TESTS=OFF "-DLAKEBED_SANITIZE=address;undefined")
	@$(call build,build-fuzz)
	@tools/run_fuzz.sh build-fuzz $(FUZZ_TARGET)

lint:    ## formatting, clang-tidy, forbidden calls, order of the floors
	@tools/setup.sh --lint
	@$(call configure,build)
	@JOBS=$(JOBS) tools/lint.sh build

format:    ## lay out the C files as `make lint` wants them
	@tools/lint.sh --format

wheel:    ## the Python package: dist/*.whl and a source distribution
	@tools/setup.sh --python
	@JOBS=$(JOBS) python3 python/build_backend.py dist

install: all    ## install below $(DESTDIR)$(PREFIX)
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

clean:    ## remove what was built
	@rm -rf build build-asan build-tsan build-fuzz build-python dist

distclean: clean    ## remove also what was fetched
	@rm -rf .deps

help:    ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /\1\t/p' Makefile | awk -F '\t' '{ printf "  make %-12s %s\n", $$1, $$2 }'
