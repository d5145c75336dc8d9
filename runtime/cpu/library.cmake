# The two libraries that compute for runtime/cpu/library.h.
if(KB_HAS_ONEDNN)
  # libgomp is oneDNN's own thread library, which engine.cpp keeps to one thread.
  target_link_libraries(kb_runtime PRIVATE oneDNN::oneDNN gomp)
  target_link_libraries(kb_runtime_hot PRIVATE oneDNN::oneDNN)
else()
  target_compile_definitions(kb_runtime_hot PRIVATE KB_EIGEN_F32)  # with oneDNN, Eigen does no f32
  # Eigen uses the vectors of the compiler's target, so this asks for AVX2 if this processor has it (with AVX-512, Eigen
  # 3.4 under g++ 12 gives many warnings). gemm.cpp refuses to run on a processor without it.
  include(CheckCXXSourceRuns)
  check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"x86-64-v3\") ? 0 : 1; }" KB_RUNS_AVX2)
  if(KB_RUNS_AVX2)
    set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/cpu/eigen/gemm.cpp PROPERTIES
      COMPILE_OPTIONS -march=x86-64-v3 COMPILE_DEFINITIONS KB_EIGEN_LEVEL="x86-64-v3")
  endif()
endif()
# Eigen's templates are called in loops: without inlining, as in a build with sanitizers, they are a hundred times
# slower.
set_property(SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/cpu/eigen/gemm.cpp APPEND PROPERTY COMPILE_OPTIONS -O2)
