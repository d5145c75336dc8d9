#include "runtime/host_compiler.h"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <fstream>

#include "graph/error.h"
#include "runtime/atomic_file.h"
#include "runtime/process.h"
#include "tests/support.h"

namespace fs = std::filesystem;
using kb::HostCompiler;
using kb::RuntimeOptions;

namespace {

// A stand-in for a compiler that answers `--version` and counts how often it was asked.
struct Fixture {
  kb::test::TemporaryDirectory scratch;
  fs::path program = scratch / "cxx";
  RuntimeOptions options{
      .cache_dir = scratch / "cache", .data_dir = {}, .compiler = program, .compiler_origin = "test"};

  Fixture() { install("fake 1.0"); }
  void install(const std::string& version) {
    const std::string text = "#!/bin/sh\necho asked >> " + (scratch / "log").string() + "\necho '" + version + "'\n";
    kb::write_file_atomically(program, text);
    fs::permissions(program, fs::perms::owner_all);
  }
  int64_t times_asked() const {
    return fs::exists(scratch / "log") ? static_cast<int64_t>(fs::file_size(scratch / "log") / 6) : 0;
  }
};

constexpr char kCpuInfo[] =
    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Xeon\n"
    "flags\t\t: fpu avx2 avx512f\n\nprocessor\t: 1\nvendor_id\t: Other\nflags\t\t: none\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(host_compiler, Fixture)

BOOST_AUTO_TEST_CASE(the_version_is_asked_once) {
  BOOST_TEST(kb::find_host_compiler(options).version == "fake 1.0");
  BOOST_TEST(kb::find_host_compiler(options).version == "fake 1.0");
  BOOST_TEST(times_asked() == 1);
}

BOOST_AUTO_TEST_CASE(a_changed_compiler_is_asked_again) {
  kb::find_host_compiler(options);
  install("fake 22.0");
  BOOST_TEST(kb::find_host_compiler(options).version == "fake 22.0");
  fs::last_write_time(program, fs::file_time_type::clock::now() - std::chrono::hours(1));
  kb::find_host_compiler(options);
  BOOST_TEST(times_asked() == 3);
}

BOOST_AUTO_TEST_CASE(a_compiler_that_is_gone_is_remembered) {
  kb::find_host_compiler(options);
  fs::remove(program);
  BOOST_TEST(kb::find_host_compiler(options).version == "fake 1.0");
  options.cache_dir = scratch / "another";
  BOOST_TEST(kb::find_host_compiler(options).version == "");
}

BOOST_AUTO_TEST_CASE(a_damaged_memory_is_asked_anew) {
  kb::find_host_compiler(options);
  for (const fs::directory_entry& item : fs::directory_iterator(options.cache_dir)) std::ofstream(item.path()) << "\n";
  BOOST_TEST(kb::find_host_compiler(options).version == "fake 1.0");
  BOOST_TEST(times_asked() == 2);
}

BOOST_AUTO_TEST_CASE(without_a_cache_it_is_asked_every_time) {
  options.cache_dir.clear();
  BOOST_TEST(kb::find_host_compiler(options).version == "fake 1.0");
  BOOST_TEST(kb::find_host_compiler(options).version == "fake 1.0");
  BOOST_TEST(times_asked() == 2);
}

BOOST_AUTO_TEST_CASE(what_is_no_compiler_is_refused) {
  options.compiler = "/bin/false";
  BOOST_CHECK_EXCEPTION(kb::find_host_compiler(options), kb::Error, [](const kb::Error& error) {
    return std::string(error.what()).starts_with("'/bin/false --version' failed with status 1: is it a C++ compiler?");
  });
}

BOOST_AUTO_TEST_CASE(the_flags_keep_the_floating_point_contract) {
  const std::vector<std::string> flags = kb::find_host_compiler(options).flags;
  const auto has = [&](const char* flag) { return std::find(flags.begin(), flags.end(), flag) != flags.end(); };
  for (const char* flag : {"-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-march=native"})
    BOOST_TEST(has(flag), flag);
  for (const char* flag : {"-ffast-math", "-Ofast", "-funsafe-math-optimizations"}) BOOST_TEST(!has(flag), flag);
}

// What generated code may count on: libm in double, memory functions, conversions that need libgcc, no contraction.
BOOST_AUTO_TEST_CASE(kernels_may_call_libm_and_libgcc) {
  options.compiler = RuntimeOptions::from_environment().compiler;
  const HostCompiler compiler = kb::find_host_compiler(options);
  const kb::CompileJob job{.source = scratch / "a.cpp", .object = scratch / "a.so"};
  kb::write_file_atomically(job.source,
                            "extern \"C\" double f(double x, __int128 n) {\n"
                            "  char copy[4096]; __builtin_memset(copy, (int)x, sizeof copy);\n"
                            "  return __builtin_erf(x) + (double)(n / (__int128)copy[7]) + (double)(_Float16)x; }\n");
  const std::vector<kb::CompileResult> results = kb::compile_shared_objects(compiler, {&job, 1});
  BOOST_TEST(results[0].ok, results[0].diagnostics);
  kb::Process undefined({"/usr/bin/env", "nm", "-D", "--undefined-only", job.object.string()});
  const std::string symbols = undefined.wait().output;
  BOOST_TEST(symbols.find("__divti3") == std::string::npos, symbols);
}

BOOST_AUTO_TEST_CASE(equal_processors_are_described_equally) {
  const std::string text = kb::describe_processor(kCpuInfo);
  BOOST_TEST(text.starts_with("GenuineIntel 6 85 features "), text);
  BOOST_TEST(kb::describe_processor(replaced(kCpuInfo, "fpu avx2", "avx2 fpu")) == text);
  BOOST_TEST(kb::describe_processor(replaced(kCpuInfo, "Xeon", "another name")) == text);
  BOOST_TEST(kb::describe_processor(replaced(kCpuInfo, " avx512f", "")) != text);
  BOOST_TEST(kb::describe_processor(replaced(kCpuInfo, ": 85", ": 86")) != text);
  BOOST_TEST(kb::describe_processor() == kb::describe_processor());
}

BOOST_AUTO_TEST_CASE(arm_is_described_too) {
  BOOST_TEST(kb::describe_processor("processor\t: 0\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x41\n"
                                    "CPU architecture: 8\nCPU part\t: 0xd40\n")
                 .starts_with("0x41 8 0xd40 features "));
  BOOST_CHECK_THROW(kb::describe_processor("nothing here"), kb::Error);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(process)

BOOST_AUTO_TEST_CASE(output_and_status) {
  kb::Process process({"/bin/sh", "-c", "echo out; echo err >&2; exit 7"});
  const kb::ProcessResult result = process.wait();
  BOOST_TEST(result.status == 7);
  BOOST_TEST(result.output == "out\nerr\n");
}

BOOST_AUTO_TEST_CASE(more_output_than_a_pipe_holds) {
  kb::Process process({"/bin/sh", "-c", "head -c 300000 /dev/zero"});
  BOOST_TEST(process.wait().output.size() == 300000u);
}

BOOST_AUTO_TEST_CASE(a_signal_is_a_status) {
  kb::Process process({"/bin/sh", "-c", "kill -9 $$"});
  BOOST_TEST(process.wait().status == 137);
}

BOOST_AUTO_TEST_CASE(a_program_that_is_not_there) {
  BOOST_CHECK_EXCEPTION(kb::Process({"/nowhere/program"}), kb::Error, [](const kb::Error& error) {
    return std::string(error.what()) == "cannot start /nowhere/program: No such file or directory";
  });
}

BOOST_AUTO_TEST_CASE(a_child_nobody_waits_for_is_ended) {
  const auto start = std::chrono::steady_clock::now();
  { kb::Process process({"/bin/sleep", "30"}); }
  BOOST_TEST((std::chrono::steady_clock::now() - start < std::chrono::seconds(10)));
}

BOOST_AUTO_TEST_SUITE_END()
