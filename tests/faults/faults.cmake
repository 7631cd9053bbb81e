# Failing calls (README.md): the library preloaded under the command, and the test whose allocations are led to it.

target_link_options(test_out_of_memory PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free,--wrap=strdup
    -Wl,--wrap=strndup,--wrap=asprintf,--wrap=vasprintf,--wrap=realpath,--wrap=XXH3_createState,--wrap=XXH3_freeState)

# A sanitizer brings an allocator of its own that has to be loaded first.
if(NOT sanitizers)
    add_library(fault_shim MODULE ${CMAKE_CURRENT_SOURCE_DIR}/faults/fault_shim.c)
    target_compile_definitions(fault_shim PRIVATE _GNU_SOURCE)
    target_compile_options(fault_shim PRIVATE -Wall -Wextra -Wshadow -Wwrite-strings -Wundef -Wformat=2)
    target_link_libraries(fault_shim PRIVATE ${CMAKE_DL_LIBS})
    set_target_properties(fault_shim PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
        C_VISIBILITY_PRESET default)
    add_dependencies(lakebed_tests fault_shim)
    set(run_faults ${PYTHON3_COMMAND} ${CMAKE_CURRENT_SOURCE_DIR}/faults/run_faults.py
        --lakebed $<TARGET_FILE:lakebed_command> --shim $<TARGET_FILE:fault_shim>)
    lakebed_test(faults/sample COMMAND ${run_faults})

    add_custom_target(lakebed_faults
        COMMAND ${CMAKE_COMMAND} -E env LAKEBED_FAULTS_ALL=1 $<TARGET_FILE:test_out_of_memory>
        COMMAND ${run_faults} --all -j 2
        DEPENDS fault_shim lakebed_command test_out_of_memory USES_TERMINAL VERBATIM)
endif()
