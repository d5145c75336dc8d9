# Writes OUTPUT: one add_test a suite of the Boost.Test binary PROGRAM, named ROOM.SUITE. Run after the binary is linked.
execute_process(COMMAND ${PROGRAM} --list_content OUTPUT_VARIABLE content ERROR_VARIABLE content RESULT_VARIABLE status)
if(status)
  message(FATAL_ERROR "${PROGRAM} --list_content failed (${status}): ${content}")
endif()
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_]+\\*" suites "${content}") # a star: not disabled in its source
set(script "")
set(more "")
if(ROOM STREQUAL "gpu")
  set(more " LABELS gpu SKIP_REGULAR_EXPRESSION SKIPPED:")
endif()
foreach(suite IN LISTS suites)
  string(REGEX REPLACE "[\n*]" "" suite "${suite}")
  set(order "")
  set(own_environment "${ENVIRONMENT}")
  if("${ROOM}.${suite}" MATCHES "^(compiler.kernel_math|runtime.(backend|edges|random_programs|workers)|(simt|cuda)[.].*|recipes.(finite_check|residency))$")
    string(REPLACE "KB_KERNEL_LEVEL=1" "KB_KERNEL_LEVEL=0" own_environment "${ENVIRONMENT}")
  endif()
  if(ROOM STREQUAL "cuda_vendor") # cuDNN leaks memory of its own
    string(REPLACE "detect_leaks=1" "detect_leaks=0" own_environment "${own_environment}")
  endif()
  if(suite STREQUAL "cuda_kernels") # the same kernels, which are then in the cache
    set(order " DEPENDS \"simt.classes;simt.classes_on_few_processors\"")
  endif()
  string(APPEND script "add_test([=[${ROOM}.${suite}]=] [=[${PROGRAM}]=] --run_test=${suite} --report_level=short)\n"
    "set_tests_properties([=[${ROOM}.${suite}]=] PROPERTIES TIMEOUT 900 WORKING_DIRECTORY [=[${DIRECTORY}]=] "
    "ENVIRONMENT [=[${own_environment}]=]${more}${order})\n")
endforeach()
file(WRITE ${OUTPUT} "${script}")
