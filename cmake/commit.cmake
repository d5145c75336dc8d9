# cmake -DSOURCE=FOLDER -DOUTPUT=FILE -P commit.cmake: writes the C++ source of runtime/commit.h for the commit that lies in
# FOLDER, and only where the text is another than before.
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
    # No program holds the tests and the READMEs: a change of them makes no other build.
    set(but ":(exclude)tests" ":(exclude)*.md")
    execute_process(COMMAND ${git} diff HEAD --full-index --no-ext-diff --no-textconv --no-color -- . ${but}
      OUTPUT_VARIABLE changes ERROR_QUIET)
    # The build takes sources that git does not know yet, too. Their hashes stand for their contents.
    set(list ls-files --others --exclude-standard -- *.cpp *.h *.inc *.in *.proto *.cmake CMakeLists.txt ${but})
    execute_process(COMMAND ${git} ${list} OUTPUT_VARIABLE names ERROR_QUIET)
    execute_process(COMMAND ${git} ${list} COMMAND ${git} hash-object --no-filters --stdin-paths
      OUTPUT_VARIABLE contents ERROR_QUIET)
    string(APPEND changes "${names}${contents}")
    if(changes)
      string(SHA256 hash "${changes}")
      string(SUBSTRING ${hash} 0 8 hash)
      string(APPEND commit "+${hash}")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#include \"runtime/commit.h\"

namespace kb {

const char* source_commit() { return \"@commit@\"; }

const char* build_compiler() {
#ifdef __clang__
  return \"clang++ \" __clang_version__;
#else
  return \"g++ \" __VERSION__;
#endif
}

const char* build_version() { return KB_VERSION \", commit @commit@\"; }

}  // namespace kb
" @ONLY)
