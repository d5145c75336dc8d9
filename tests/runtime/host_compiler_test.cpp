#include "runtime/host_compiler.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <fstream>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "graph/error.h"
#include "runtime/atomic_file.h"
#include "runtime/process.h"
#include "tests/support/few_threads.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::host_compiler_test {

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

// The first 3 lanes of 8 are loaded, as printed kernels load f16 where a mask holds.
constexpr const char* kThreeOfEight = R"(
typedef float f32x8 __attribute__((vector_size(32)));
typedef int i32x8 __attribute__((vector_size(32)));
static inline __attribute__((always_inline)) float real(unsigned h) {
  const unsigned sign = (h & 0x8000) << 16, rest = h & 0x7fff;
  if (rest >= 0x7c00) return __builtin_bit_cast(float, sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest >= 0x400) return __builtin_bit_cast(float, sign | ((rest << 13) + (112u << 23)));
  return __builtin_bit_cast(float, sign | __builtin_bit_cast(unsigned, (float)rest * 0x1p-24f));
}
extern "C" void three_of_eight(const unsigned short* from, float* to, long rows) {
  const i32x8 lanes = {0, 1, 2, 3, 4, 5, 6, 7};
  for (long row = 0; row < rows; ++row) {
    const i32x8 where = lanes < 3;
    f32x8 all = {};
    for (long l = 0; l < 8; ++l) if (where[l]) all[l] = real(from[3 * row + l]);
    *(f32x8*)(to + 8 * row) = where ? all : f32x8{};
  }
}
)";

// A page of memory. An access after its end ends the process.
class LastPage {
 public:
  LastPage() { ::mprotect(begin_ + size_, size_, PROT_NONE); }
  ~LastPage() { ::munmap(begin_, 2 * size_); }
  std::byte* end() const { return begin_ + size_; }

 private:
  size_t size_ = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::byte* begin_ =
      static_cast<std::byte*>(::mmap(nullptr, 2 * size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(host_compiler, Fixture)

BOOST_AUTO_TEST_CASE(a_lane_that_is_masked_is_not_read) {
  const HostCompiler compiler = kb::find_host_compiler(RuntimeOptions::from_environment());
  const kb::CompileJob job{scratch / "kernel.cpp", scratch / "kernel.so"};
  kb::write_file_atomically(job.source, kThreeOfEight);
  const auto results = kb::compile_shared_objects(compiler, std::span(&job, 1));
  BOOST_REQUIRE_MESSAGE(results[0].ok, results[0].diagnostics);
  void* object = ::dlopen(job.object.c_str(), RTLD_NOW);
  BOOST_REQUIRE(object);
  const auto kernel =
      reinterpret_cast<void (*)(const uint16_t*, float*, long)>(::dlsym(object, "three_of_eight"));  // NOLINT
  const LastPage page;
  uint16_t* from = reinterpret_cast<uint16_t*>(page.end()) - 6;
  std::fill_n(from, 6, uint16_t{0x4200});
  alignas(32) float to[16] = {};
  kernel(from, to, 2);
  for (int i = 0; i < 16; ++i) BOOST_TEST(to[i] == (i % 8 < 3 ? 3 : 0), i);
  ::dlclose(object);
}

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
  BOOST_TEST(test::error_of([&] {
               kb::find_host_compiler(options);
             }).starts_with("'/bin/false --version' failed with status 1: is it a C++ compiler?"));
}

// The fake compiler writes its own arguments: results stay in the order of the jobs.
BOOST_AUTO_TEST_CASE(where_no_more_processes_can_be_made_jobs_wait_for_others) {
  kb::write_file_atomically(program, "#!/bin/sh\necho \"$3\" | tee \"$2\"\n");
  fs::permissions(program, fs::perms::owner_all);
  const HostCompiler compiler{
      .path = program, .origin = "test", .version = {}, .flags = {}, .libraries = {}, .processor = {}};
  std::vector<kb::CompileJob> jobs;
  for (int i = 0; i < 6; ++i) jobs.push_back({.source = std::to_string(i) + ".cpp", .object = scratch / "object"});
  for (const auto& [before, failures] : {std::pair{2, 3}, {0, 2}, {5, 1}}) {
    const kb::test::FewProcesses few(before, failures);
    const std::vector<kb::CompileResult> results = kb::compile_shared_objects(compiler, jobs);
    BOOST_TEST(few.failed() == failures);
    BOOST_REQUIRE_EQUAL(results.size(), 6u);
    for (size_t i = 0; i < 6; ++i) {
      BOOST_TEST(results[i].ok);
      BOOST_TEST(results[i].diagnostics == std::to_string(i) + ".cpp\n");
    }
  }
}

BOOST_AUTO_TEST_CASE(the_flags_keep_the_floating_point_contract) {
  const std::vector<std::string> flags = kb::find_host_compiler(options).flags;
  const auto has = [&](const char* flag) { return std::find(flags.begin(), flags.end(), flag) != flags.end(); };
  for (const char* flag : {"-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-march=native"})
    BOOST_TEST(has(flag), flag);
  for (const char* flag : {"-ffast-math", "-Ofast", "-funsafe-math-optimizations"}) BOOST_TEST(!has(flag), flag);
}

// Generated code may use double functions of libm, memory functions, and conversions and divisions that need libgcc.
BOOST_AUTO_TEST_CASE(kernels_may_call_libm_and_libgcc) {
  options.compiler = RuntimeOptions::from_environment().compiler;
  const HostCompiler compiler = kb::find_host_compiler(options);
  const kb::CompileJob job{.source = scratch / "a.cpp", .object = scratch / "a.so"};
  kb::write_file_atomically(job.source,
                            "#ifdef __aarch64__\n#define HALF __fp16\n#else\n#define HALF _Float16\n#endif\n"
                            "extern \"C\" double f(double x, __int128 n) {\n"
                            "  char copy[4096]; __builtin_memset(copy, (int)x, sizeof copy);\n"
                            "  return __builtin_erf(x) + (double)(n / (__int128)copy[7]) + (double)(HALF)x; }\n");
  const std::vector<kb::CompileResult> results = kb::compile_shared_objects(compiler, {&job, 1});
  BOOST_TEST(results[0].ok, results[0].diagnostics);
  kb::Process undefined({"/usr/bin/env", "nm", "-D", "--undefined-only", job.object.string()});
  const std::string symbols = undefined.wait().output;
  BOOST_TEST(!test::contains(symbols, "__divti3"), symbols);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::host_compiler_test
