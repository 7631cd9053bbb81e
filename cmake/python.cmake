# The Python package: the target lakebed_python makes build/python, a folder for PYTHONPATH, with the extension in it and
# links to the Python files; `cmake --install build --component python` is what a wheel is packed from.

set(LAKEBED_PYTHON "" CACHE FILEPATH "Python whose headers the extension is compiled with (default: the tests', or python3)")

set(python "${LAKEBED_PYTHON}")
if(NOT python AND EXISTS "${deps}/venv/bin/python")
    set(python "${deps}/venv/bin/python")
elseif(NOT python)
    find_program(PYTHON3_FOR_HEADERS python3)
    set(python "${PYTHON3_FOR_HEADERS}")
endif()
set(python_include)
if(python)
    execute_process(COMMAND "${python}" -c "import sysconfig; print(sysconfig.get_path('include'))"
        OUTPUT_VARIABLE python_include OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
set(lakebed_package)
if(NOT EXISTS "${python_include}/Python.h" AND LAKEBED_PYTHON)
    message(FATAL_ERROR "Python.h is missing for ${LAKEBED_PYTHON}: run tools/setup.sh --python")
elseif(NOT EXISTS "${python_include}/Python.h")
    message(STATUS "Python package: skipped, there is no Python.h")
    return()
endif()

set(lakebed_package "${PROJECT_BINARY_DIR}/python")
file(MAKE_DIRECTORY "${lakebed_package}/lakebed")
file(GLOB python_files CONFIGURE_DEPENDS python/lakebed/*.py python/lakebed/*.pyi python/lakebed/py.typed)
foreach(file ${python_files})
    get_filename_component(name "${file}" NAME)
    file(CREATE_LINK "${file}" "${lakebed_package}/lakebed/${name}" SYMBOLIC)
endforeach()

# The package's own library looks for others beside itself first: a wheel carries them (python/wheel_libraries.py). By the old
# tag, DT_RPATH, that also holds for what those look for.
set(beside_itself INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
add_library(lakebed_packaged SHARED EXCLUDE_FROM_ALL ${library_objects})
target_link_libraries(lakebed_packaged PRIVATE ${LAKEBED_LIBRARIES} lakebed_flags)
target_link_options(lakebed_packaged PRIVATE -Wl,--version-script=${export_map} -Wl,--disable-new-dtags)
set_target_properties(lakebed_packaged PROPERTIES OUTPUT_NAME lakebed LINKER_LANGUAGE C LINK_DEPENDS ${export_map}
    SOVERSION ${PROJECT_VERSION_MAJOR} LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/packaged" ${beside_itself})
set(library_name liblakebed.so.${PROJECT_VERSION_MAJOR})
file(CREATE_LINK "${PROJECT_BINARY_DIR}/packaged/${library_name}" "${lakebed_package}/lakebed/${library_name}" SYMBOLIC)

# Its command has everything inside of which there are archives, since a script's folder knows no way to the package.
add_executable(lakebed_packaged_command EXCLUDE_FROM_ALL ${command_sources} ${library_objects})
target_include_directories(lakebed_packaged_command PRIVATE include src)
target_link_libraries(lakebed_packaged_command PRIVATE
    lakebed_flags ${LAKEBED_ARCHIVES} -static-libgcc Threads::Threads m ${CMAKE_DL_LIBS})
set_target_properties(lakebed_packaged_command PROPERTIES OUTPUT_NAME lakebed LINKER_LANGUAGE C
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/packaged")

file(GLOB python_sources CONFIGURE_DEPENDS python/src/*.c)
add_library(lakebed_python MODULE EXCLUDE_FROM_ALL ${python_sources})
target_include_directories(lakebed_python SYSTEM PRIVATE "${python_include}")
target_include_directories(lakebed_python PRIVATE include)
target_link_libraries(lakebed_python PRIVATE lakebed_packaged lakebed_flags)
target_link_options(lakebed_python PRIVATE -Wl,--disable-new-dtags)
set_target_properties(lakebed_python PROPERTIES PREFIX "" OUTPUT_NAME _core SUFFIX .abi3.so
    LIBRARY_OUTPUT_DIRECTORY "${lakebed_package}/lakebed" C_VISIBILITY_PRESET hidden ${beside_itself})
add_dependencies(lakebed_python lakebed_packaged_command)

install(PROGRAMS $<TARGET_FILE:lakebed_python> DESTINATION lakebed COMPONENT python EXCLUDE_FROM_ALL)
install(PROGRAMS $<TARGET_SONAME_FILE:lakebed_packaged> DESTINATION lakebed COMPONENT python EXCLUDE_FROM_ALL)
install(PROGRAMS $<TARGET_FILE:lakebed_packaged_command> DESTINATION scripts COMPONENT python EXCLUDE_FROM_ALL)
install(FILES ${python_files} DESTINATION lakebed COMPONENT python EXCLUDE_FROM_ALL)
install(FILES include/lakebed.h DESTINATION lakebed/include COMPONENT python EXCLUDE_FROM_ALL)
install(FILES LICENSE DESTINATION licenses COMPONENT python EXCLUDE_FROM_ALL)
foreach(name LICENSE NOTICE)    # of what our library then contains
    if(TARGET lakebed_nanoarrow)
        install(FILES "${deps}/nanoarrow/flatcc/${name}" DESTINATION licenses/flatcc COMPONENT python EXCLUDE_FROM_ALL)
    endif()
endforeach()
