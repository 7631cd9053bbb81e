# Finds the libraries. LAKEBED_LIBRARIES are linked from the system; LAKEBED_EMBEDDED_OBJECTS are compiled from the
# sources that tools/setup.sh fetched and become part of our library.

set(setup_hint "run tools/setup.sh")
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)
if(NOT PKG_CONFIG_FOUND)
    message(FATAL_ERROR "pkg-config is missing: ${setup_hint}")
endif()

set(deps "${LAKEBED_DEPS}")
if(NOT deps)
    set(deps "$ENV{LAKEBED_DEPS}")
endif()
if(NOT deps)
    set(deps "${PROJECT_SOURCE_DIR}/.deps")
endif()

set(LAKEBED_LIBRARIES)
set(LAKEBED_ARCHIVES)                # the same as archives where there are any, for a program that needs none of them
set(LAKEBED_EMBEDDED_OBJECTS)
set(LAKEBED_PC_REQUIRES)             # for lakebed.pc: packages a static link needs
set(LAKEBED_PC_LIBRARIES)            # likewise, what no package names
set(LAKEBED_CONFIG_PACKAGES)         # for lakebed-config.cmake: CMake packages, likewise
add_library(lakebed_embedded_headers INTERFACE)

# Archives of these libraries, or the libraries where there is none.
function(lakebed_archive)
    foreach(library ${ARGN})
        find_library(archive_of_${library} NAMES lib${library}.a)
        mark_as_advanced(archive_of_${library})
        if(archive_of_${library})
            list(APPEND LAKEBED_ARCHIVES "${archive_of_${library}}")
        else()
            list(APPEND LAKEBED_ARCHIVES ${library})
        endif()
    endforeach()
    set(LAKEBED_ARCHIVES ${LAKEBED_ARCHIVES} PARENT_SCOPE)
endfunction()

# A package of the system, as the target PkgConfig::NAME.
function(lakebed_require NAME MODULE)
    pkg_check_modules(${NAME} QUIET IMPORTED_TARGET ${MODULE})
    if(NOT ${NAME}_FOUND)
        message(FATAL_ERROR "${MODULE} is missing: ${setup_hint}")
    endif()
    set(LAKEBED_LIBRARIES ${LAKEBED_LIBRARIES} PkgConfig::${NAME} PARENT_SCOPE)
    set(LAKEBED_PC_REQUIRES ${LAKEBED_PC_REQUIRES} ${MODULE} PARENT_SCOPE)
    set(libraries ${${NAME}_STATIC_LIBRARIES})
    list(REMOVE_ITEM libraries m pthread dl stdc++)
    lakebed_archive(${libraries})
    set(LAKEBED_ARCHIVES ${LAKEBED_ARCHIVES} PARENT_SCOPE)
endfunction()

# Fetched sources as objects; their warnings are not ours to mend, nor is what only the strictest reading forbids.
function(lakebed_embed NAME)
    add_library(${NAME} OBJECT ${ARGN})
    target_compile_options(${NAME} PRIVATE -w)
    if("undefined" IN_LIST sanitizers)
        target_compile_options(${NAME} PRIVATE -fno-sanitize=undefined)
    endif()
    set(LAKEBED_EMBEDDED_OBJECTS ${LAKEBED_EMBEDDED_OBJECTS} $<TARGET_OBJECTS:${NAME}> PARENT_SCOPE)
endfunction()

# A fetched source with mistakes mended: a copy in the build folder, where of each two texts that follow the second stands for
# the first. A later release that lacks the first stays as it is. VARIABLE gets the path.
function(lakebed_mend VARIABLE SOURCE)
    file(READ "${SOURCE}" text)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${SOURCE}")
    math(EXPR last "${ARGC} - 2")
    foreach(i RANGE 2 ${last} 2)
        math(EXPR next "${i} + 1")
        string(REPLACE "${ARGV${i}}" "${ARGV${next}}" text "${text}")
    endforeach()
    get_filename_component(file "${SOURCE}" NAME)
    file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/mended/${file}" CONTENT "@text@" @ONLY)
    set(${VARIABLE} "${PROJECT_BINARY_DIR}/mended/${file}" PARENT_SCOPE)
endfunction()

# ---- xxHash, jansson, the codecs

lakebed_require(XXHASH libxxhash)
lakebed_require(JANSSON jansson)
lakebed_require(ZSTD libzstd)
lakebed_require(DEFLATE libdeflate)
lakebed_require(LZ4 liblz4)
lakebed_require(BROTLI libbrotlidec)
lakebed_require(LZMA liblzma)
find_package(BZip2 QUIET)            # many systems have it without a file for pkg-config
if(NOT BZIP2_FOUND)
    message(FATAL_ERROR "bzip2's library is missing: ${setup_hint}")
endif()
list(APPEND LAKEBED_LIBRARIES BZip2::BZip2)
lakebed_archive(bz2)
list(APPEND LAKEBED_CONFIG_PACKAGES BZip2)
list(APPEND LAKEBED_PC_LIBRARIES -lbz2)

# ---- nanoarrow with IPC

set(nanoarrow_least 0.8)
pkg_check_modules(NANOARROW QUIET IMPORTED_TARGET "nanoarrow>=${nanoarrow_least}" "nanoarrow-ipc>=${nanoarrow_least}")
if(NOT NANOARROW_FOUND)
    find_package(nanoarrow ${nanoarrow_least} CONFIG QUIET)
endif()
if(NANOARROW_FOUND AND TARGET PkgConfig::NANOARROW)
    message(STATUS "nanoarrow: the system's")
    list(APPEND LAKEBED_LIBRARIES PkgConfig::NANOARROW)
    list(APPEND LAKEBED_ARCHIVES PkgConfig::NANOARROW)
    list(APPEND LAKEBED_PC_REQUIRES nanoarrow nanoarrow-ipc)
elseif(TARGET nanoarrow::nanoarrow_ipc)
    message(STATUS "nanoarrow: the system's")
    list(APPEND LAKEBED_LIBRARIES nanoarrow::nanoarrow_ipc nanoarrow::nanoarrow)
    list(APPEND LAKEBED_ARCHIVES nanoarrow::nanoarrow_ipc nanoarrow::nanoarrow)
    list(APPEND LAKEBED_CONFIG_PACKAGES nanoarrow)
elseif(EXISTS "${deps}/nanoarrow/VERSION")
    set(root "${deps}/nanoarrow")
    file(STRINGS "${root}/VERSION" NANOARROW_VERSION)
    message(STATUS "nanoarrow: ${NANOARROW_VERSION} in ${root}")
    string(REGEX MATCH "^([0-9]+)[.]([0-9]+)[.]([0-9]+)" _ "${NANOARROW_VERSION}")
    set(NANOARROW_VERSION_MAJOR ${CMAKE_MATCH_1})
    set(NANOARROW_VERSION_MINOR ${CMAKE_MATCH_2})
    set(NANOARROW_VERSION_PATCH ${CMAKE_MATCH_3})
    # Names of our own, so that a program with another nanoarrow in it can link our static library.
    set(NANOARROW_NAMESPACE_DEFINE "#define NANOARROW_NAMESPACE LbNanoarrow")
    set(generated "${PROJECT_BINARY_DIR}/generated")
    configure_file("${root}/src/nanoarrow/nanoarrow_config.h.in" "${generated}/nanoarrow/nanoarrow_config.h")
    # Several nulls or empty values of a boolean column were given room for one. The mended header is found first.
    set(header nanoarrow/common/inline_array.h)
    file(READ "${root}/src/${header}" text)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${root}/src/${header}")
    string(REPLACE "(array->length + 1)) /" "(array->length + n)) /" text "${text}")
    file(CONFIGURE OUTPUT "${generated}/${header}" CONTENT "@text@" @ONLY)
    target_include_directories(lakebed_embedded_headers SYSTEM INTERFACE
        "${generated}" "${root}/src" "${root}/flatcc/include")
    # Where memory ran out, things were used that were not there, kept half made, or forgotten.
    lakebed_mend(mended_array "${root}/src/nanoarrow/common/array.c"
        "    if (array_view->union_type_id_map == NULL) {\n      return ENOMEM;"
        "    if (array_view->union_type_id_map == NULL) {\n      ArrowArrayViewReset(array_view);\n      return ENOMEM;"
        "  for (int i = 0; i < NANOARROW_MAX_FIXED_BUFFERS; ++i) {\n    private_data->buffer_data[i] = NULL;"
        "  if (private_data->buffer_data == NULL) {\n    ArrowFree(private_data);\n    array->release = NULL;\n    return ENOMEM;\n  }
  for (int i = 0; i < NANOARROW_MAX_FIXED_BUFFERS; ++i) {\n    private_data->buffer_data[i] = NULL;"
        "  memset(array->children, 0, n_children * sizeof(struct ArrowArray*));"
        "  memset(array->children, 0, n_children * sizeof(struct ArrowArray*));\n  array->n_children = n_children;"
        "  NANOARROW_RETURN_NOT_OK(ArrowArrayInitFromArrayView(array, &array_view, error));\n  if (array_view.storage_type"
        "  int made = ArrowArrayInitFromArrayView(array, &array_view, error);
  if (made != NANOARROW_OK) {\n    ArrowArrayViewReset(&array_view);\n    return made;\n  }\n  if (array_view.storage_type")
    lakebed_mend(mended_utils "${root}/src/nanoarrow/common/utils.c"
        "  return (uint8_t*)ArrowRealloc(ptr, new_size);"
        "  uint8_t* moved = (uint8_t*)ArrowRealloc(ptr, new_size);
  if (moved == NULL && new_size > 0) {\n    ArrowFree(ptr);\n  }\n  return moved;")
    lakebed_mend(mended_writer "${root}/src/nanoarrow/ipc/writer.c"
        "  NANOARROW_RETURN_NOT_OK(ArrowIpcEncoderInit(&private->encoder));"
        "  int made = ArrowIpcEncoderInit(&private->encoder);
  if (made != NANOARROW_OK) {\n    ArrowFree(private);\n    return made;\n  }")
    lakebed_mend(mended_builder "${root}/flatcc/src/runtime/builder.c"
        "vt_size, 0))) {\n                return -1;"
        "vt_size, 0))) {\n                *pvd_head = vd->next;\n                return 0;")
    set(sources)
    foreach(name common/schema common/array_stream
            ipc/codecs ipc/decoder ipc/encoder ipc/reader)
        list(APPEND sources "${root}/src/nanoarrow/${name}.c")
    endforeach()
    foreach(name emitter verifier refmap)
        list(APPEND sources "${root}/flatcc/src/runtime/${name}.c")
    endforeach()
    lakebed_embed(lakebed_nanoarrow ${sources} "${mended_array}" "${mended_utils}" "${mended_writer}" "${mended_builder}")
    target_compile_options(lakebed_nanoarrow PRIVATE -include "${PROJECT_SOURCE_DIR}/src/column/flat_memory.h")
    target_link_libraries(lakebed_nanoarrow PRIVATE lakebed_embedded_headers)
else()
    message(FATAL_ERROR "nanoarrow is missing: ${setup_hint}")
endif()

# ---- BLAKE3

pkg_check_modules(BLAKE3 QUIET IMPORTED_TARGET libblake3)
if(BLAKE3_FOUND)
    message(STATUS "BLAKE3: the system's")
    list(APPEND LAKEBED_LIBRARIES PkgConfig::BLAKE3)
    list(APPEND LAKEBED_ARCHIVES PkgConfig::BLAKE3)
    list(APPEND LAKEBED_PC_REQUIRES libblake3)
elseif(EXISTS "${deps}/blake3/VERSION")
    set(root "${deps}/blake3")
    message(STATUS "BLAKE3: in ${root}")
    set(sources "${root}/blake3.c" "${root}/blake3_dispatch.c" "${root}/blake3_portable.c")
    set(blake3_definitions)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
        file(GLOB assembly "${root}/blake3_*_x86-64_unix.S")
        list(APPEND sources ${assembly})
    elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
        list(APPEND sources "${root}/blake3_neon.c")
        set(blake3_definitions BLAKE3_USE_NEON=1)
    else()
        set(blake3_definitions BLAKE3_USE_NEON=0 BLAKE3_NO_SSE2 BLAKE3_NO_SSE41 BLAKE3_NO_AVX2 BLAKE3_NO_AVX512)
    endif()
    lakebed_embed(lakebed_blake3 ${sources})
    target_compile_definitions(lakebed_blake3 PRIVATE ${blake3_definitions})
    target_include_directories(lakebed_embedded_headers SYSTEM INTERFACE "${root}")
else()
    message(FATAL_ERROR "BLAKE3 is missing: ${setup_hint}")
endif()

# ---- protobuf-c, and the messages of Lance files made by its compiler

lakebed_require(PROTOBUF_C libprotobuf-c)
find_program(PROTOC_C protoc-c)
if(NOT PROTOC_C)
    message(FATAL_ERROR "protoc-c is missing: ${setup_hint}")
endif()
set(messages "${PROJECT_BINARY_DIR}/messages")
file(MAKE_DIRECTORY "${messages}")
add_custom_command(OUTPUT "${messages}/lance_file.pb-c.c" "${messages}/lance_file.pb-c.h"
    COMMAND ${PROTOC_C} "--proto_path=${PROJECT_SOURCE_DIR}/src/format/lance" "--c_out=${messages}" lance_file.proto
    DEPENDS "${PROJECT_SOURCE_DIR}/src/format/lance/lance_file.proto" VERBATIM)
lakebed_embed(lakebed_messages "${messages}/lance_file.pb-c.c" "${messages}/lance_file.pb-c.h")
target_link_libraries(lakebed_messages PRIVATE PkgConfig::PROTOBUF_C)
target_include_directories(lakebed_embedded_headers SYSTEM INTERFACE "${messages}")

list(APPEND LAKEBED_LIBRARIES Threads::Threads m ${CMAKE_DL_LIBS})
