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

file(GLOB python_sources CONFIGURE_DEPENDS python/src/*.c)
add_library(lakebed_python MODULE EXCLUDE_FROM_ALL ${python_sources})
target_include_directories(lakebed_python SYSTEM PRIVATE "${python_include}")
target_link_libraries(lakebed_python PRIVATE lakebed_shared lakebed_flags)
set_target_properties(lakebed_python PROPERTIES PREFIX "" OUTPUT_NAME _core SUFFIX .abi3.so
    LIBRARY_OUTPUT_DIRECTORY "${lakebed_package}/lakebed" C_VISIBILITY_PRESET hidden INSTALL_RPATH "$ORIGIN")

install(TARGETS lakebed_python LIBRARY DESTINATION lakebed COMPONENT python EXCLUDE_FROM_ALL)
install(PROGRAMS $<TARGET_FILE:lakebed_shared> DESTINATION lakebed RENAME $<TARGET_SONAME_FILE_NAME:lakebed_shared>
    COMPONENT python EXCLUDE_FROM_ALL)
install(PROGRAMS $<TARGET_FILE:lakebed_command> DESTINATION scripts COMPONENT python EXCLUDE_FROM_ALL)
install(FILES ${python_files} DESTINATION lakebed COMPONENT python EXCLUDE_FROM_ALL)
install(FILES include/lakebed.h DESTINATION lakebed/include COMPONENT python EXCLUDE_FROM_ALL)
install(FILES LICENSE DESTINATION licenses COMPONENT python EXCLUDE_FROM_ALL)
foreach(name LICENSE NOTICE)    # of what our library then contains
    if(TARGET lakebed_nanoarrow)
        install(FILES "${deps}/nanoarrow/flatcc/${name}" DESTINATION licenses/flatcc COMPONENT python EXCLUDE_FROM_ALL)
    endif()
endforeach()
