// Fuzzes the manifest of a run that is resumed: the flags that are read from it, and the parts that go into the next
// manifest.
#include "recipes/papers/table.h"
#include "recipes/run/resume.h"
#include "tests/fuzz/target.h"

namespace kb::fuzz::manifest_target {
namespace {

struct Folder {
  MemoryFile manifest;
  ScratchFolder folder;
  Folder() { folder.link("manifest.json", manifest); }
};

}  // namespace

KB_FUZZ_TARGET(manifest) {
  static const Folder folder;
  static const Recipe recipe = mlp_mnist();
  folder.manifest.write(text_of(data, size));
  const std::vector<std::string> words = {"--resume", folder.folder.path().string()};
  try {
    RunConfig given = default_config(recipe);
    given.resume.run = words[1];
    const ResumedRun run = open_resumed(recipe, given, words, RunFolder::Use::share);
    require(run.config.out.trace.empty() && run.config.out.picture.empty() && run.config.out.folder.empty() &&
                run.config.looking.dump.empty(),
            "no file is written for a manifest");
    const std::string own = R"({"versions":{"kilobatch":"1","kernel_flags":["-O2"]}})";
    const std::string next = continued_manifest(own, run.manifest, 3, [](const std::string&) {});
    continued_manifest(own, next, 4, [](const std::string&) {});
  } catch (const Error&) {
  }
}

}  // namespace kb::fuzz::manifest_target
