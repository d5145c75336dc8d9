# cmake -DSOURCE=FOLDER -DOUTPUT=FILE -P commit.cmake: writes the C++ source of recipes/run/commit.h for the commit that lies
# in FOLDER, and only where the text is another than before.
cmake_minimum_required(VERSION 3.22)
set(commit unknown)
# A git hook's variables would name another repository; a lock of the index would stop a commit made meanwhile.
set(git ${CMAKE_COMMAND} -E env --unset=GIT_DIR --unset=GIT_WORK_TREE git --no-optional-locks -C ${SOURCE})
execute_process(COMMAND ${git} rev-parse --short=12 HEAD
  OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
execute_process(COMMAND ${git} rev-parse --show-toplevel
  OUTPUT_VARIABLE top OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed_too)
# A source tree without a history of its own may lie in somebody else's repository.
if(failed EQUAL 0 AND failed_too EQUAL 0)
  file(REAL_PATH ${SOURCE} own)
  if(top STREQUAL own)
    set(commit ${head})
    execute_process(COMMAND ${git} status --porcelain --untracked-files=no
      OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      string(APPEND commit "+changes")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#include \"recipes/run/commit.h\"

namespace kb {

const char* source_commit() { return \"@commit@\"; }

const char* build_compiler() {
#ifdef __clang__
  return \"clang++ \" __clang_version__;
#else
  return \"g++ \" __VERSION__;
#endif
}

}  // namespace kb
" @ONLY)
