# `cmake --install`: command, libraries, header, pkg-config and CMake packages, man pages, completions.
# The packages find the rest from where they stand, so that the prefix may be chosen at install time.

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lakebed)

file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_to_prefix "${pc_to_prefix}")
list(JOIN LAKEBED_PC_REQUIRES " " pc_requires)
list(JOIN LAKEBED_PC_LIBRARIES " " pc_libraries)
configure_file(lakebed.pc.in lakebed.pc @ONLY)

set(config_requires)
foreach(package ${LAKEBED_CONFIG_PACKAGES})
    string(APPEND config_requires "find_dependency(${package})\n")
endforeach()
foreach(pair XXHASH=libxxhash JANSSON=jansson ZSTD=libzstd DEFLATE=libdeflate LZ4=liblz4 BROTLI=libbrotlidec
        LZMA=liblzma PROTOBUF_C=libprotobuf-c NANOARROW=nanoarrow,nanoarrow-ipc BLAKE3=libblake3)
    string(REGEX MATCH "^([^=]+)=(.*)$" _ ${pair})
    if(PkgConfig::${CMAKE_MATCH_1} IN_LIST LAKEBED_LIBRARIES)
        string(REPLACE "," " " modules ${CMAKE_MATCH_2})
        string(APPEND config_requires "lakebed_find_module(${CMAKE_MATCH_1} ${modules})\n")
    endif()
endforeach()
configure_file(cmake/lakebed-config.cmake.in lakebed-config.cmake @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(lakebed-config-version.cmake COMPATIBILITY SameMinorVersion)

set_target_properties(lakebed_static PROPERTIES EXPORT_NAME static)
set_target_properties(lakebed_shared PROPERTIES EXPORT_NAME lakebed)
install(TARGETS lakebed_static lakebed_shared EXPORT lakebed-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS lakebed_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT lakebed-targets NAMESPACE lakebed:: DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/lakebed-config.cmake ${PROJECT_BINARY_DIR}/lakebed-config-version.cmake
    DESTINATION ${package_dir})
install(FILES ${PROJECT_BINARY_DIR}/lakebed.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES include/lakebed.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
foreach(name LICENSE NOTICE)    # of what our library then contains
    if(TARGET lakebed_nanoarrow)
        install(FILES "${deps}/nanoarrow/flatcc/${name}" DESTINATION ${CMAKE_INSTALL_DOCDIR}/flatcc)
    endif()
endforeach()

file(GLOB manuals CONFIGURE_DEPENDS docs/man/*.1)
install(FILES ${manuals} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

# A shell finds a completion by the name of its file.
function(install_completion PATTERN FOLDER NAME)
    file(GLOB files CONFIGURE_DEPENDS tools/completion/${PATTERN})
    foreach(file ${files})
        install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${FOLDER} RENAME ${NAME})
    endforeach()
endfunction()
install_completion(*.bash bash-completion/completions lakebed)
install_completion(*.zsh zsh/site-functions _lakebed)
install_completion(_lakebed zsh/site-functions _lakebed)
install_completion(*.fish fish/vendor_completions.d lakebed.fish)
