# The two libraries behind runtime/cpu/library.h.
if(KB_HAS_ONEDNN)
  # libgomp is oneDNN's own thread library, which engine.cpp keeps to one thread.
  target_link_libraries(kb_runtime PRIVATE DNNL::dnnl gomp)
else()
  # Eigen's vectors are those of the compiler's target: take this processor's. gemm.cpp refuses to run on a lesser one.
  include(CheckCXXSourceRuns)
  foreach(level x86-64-v4 x86-64-v3)
    string(MAKE_C_IDENTIFIER KB_RUNS_${level} runs)
    check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"${level}\") ? 0 : 1; }" ${runs})
    if(${runs})
      set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/cpu/eigen/gemm.cpp PROPERTIES
        COMPILE_OPTIONS -march=${level} COMPILE_DEFINITIONS KB_EIGEN_LEVEL="${level}")
      break()
    endif()
  endforeach()
endif()
# Eigen's templates, called in loops: without inlining they are a hundred times slower.
set_property(SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/cpu/eigen/gemm.cpp APPEND PROPERTY COMPILE_OPTIONS -O2)
