# Which compilers build Kilobatch is asked of the compiler itself: what it may lack is in compiler_check.cpp.
function(kb_check_compiler)
  try_compile(KB_COMPILER_SERVES ${CMAKE_BINARY_DIR}/compiler_check SOURCES ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/compiler_check.cpp
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON OUTPUT_VARIABLE output)
  if(KB_COMPILER_SERVES)
    return()
  endif()
  unset(KB_COMPILER_SERVES CACHE) # so that the next try says why, too
  string(REGEX MATCH "compiler_check.cpp:[^\n]*error: [^\n]*" reason "${output}")
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} (${CMAKE_CXX_COMPILER}) cannot build "
    "Kilobatch: it lacks a part of C++20 that is used here.\n  ${reason}\n"
    "These can: g++ 12 and newer, clang 16 and newer. In an empty build folder: -DCMAKE_CXX_COMPILER=g++. "
    "An older one may still compile the generated kernels, when a program runs: KB_CXX=${CMAKE_CXX_COMPILER}.")
endfunction()

# kb_compile_by(CHOICE FLAGS...): targets that this folder makes from here on are compiled by another compiler than the
# project's, with FLAGS behind the target's own. CHOICE: a clang's path or name; AUTO for the newest one that serves, if
# there is any; empty for the project's own, without FLAGS. Objects of both compilers link.
macro(kb_compile_by choice)
  set(kb_other_compiler ${choice})
  if(kb_other_compiler STREQUAL "AUTO")
    find_program(KB_NEW_CLANG NAMES clang++-20 clang++-19 clang++-18 clang++-17 clang++-16)
    mark_as_advanced(KB_NEW_CLANG)
    set(kb_other_compiler ${KB_NEW_CLANG})
  endif()
  if(kb_other_compiler)
    set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_SOURCE_DIR}/cmake/instead.sh ${CMAKE_CXX_COMPILER_LAUNCHER} ${kb_other_compiler} -- ${ARGN} --)
  endif()
endmacro()
