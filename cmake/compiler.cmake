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
