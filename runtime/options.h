// The places where the runtime keeps and finds things, and the compiler that it calls. Only from_environment() reads
// environment variables; all other code gets this struct.
#pragma once
#include <filesystem>
#include <string>

namespace kb {

// The program that started this process, and the number of processes that it started for the run.
struct Launcher {
  std::string name = "itself";  // or "mpirun", "srun", "mpiexec"
  int processes = 1;            // 0: more than one, but the launcher does not say how many
  bool connects = true;         // true: the processes can find each other through the launcher
  int launched_by = 0;          // the process that started mpirun (runtime/launch.h); 0: none of Kilobatch's
};

struct RuntimeOptions {
  // Folder of compiled kernels: $KB_CACHE, else $XDG_CACHE_HOME/kilobatch, else ~/.cache/kilobatch; empty without a
  // home.
  std::filesystem::path cache_dir;
  // Folder of data sets: $KB_DATA; empty if it is not set.
  std::filesystem::path data_dir;
  // Path of the host C++ compiler: $KB_CXX (a bare name is looked up in $PATH), else the one that built Kilobatch.
  std::string compiler;
  // The setting to name in an error about the compiler: "KB_CXX" or "the configure step".
  std::string compiler_origin;
  // Optimisation level of kernels, 0 to 2: $KB_KERNEL_LEVEL, else 2. Level 1 is -Og. At a lower level kernels compile
  // faster, run slower, and compute the same bits.
  int kernel_level = 2;
  // Path of mpirun, looked up in $PATH; the bare name if it is not found.
  std::string mpirun = {};
  // Path of CUDA's cuobjdump: $KB_CUOBJDUMP, else looked up in $PATH, else the toolkit's usual place.
  std::string cuobjdump = {};
  // Path of librsvg's rsvg-convert, looked up in $PATH; empty if it is not found.
  std::string rsvg_convert = {};
  // Path of NVIDIA's nvidia-cuda-mps-control, looked up in $PATH; empty if it is not found.
  std::string mps_control = {};
  // Folder in which CUDA looks for its multi-process service: $CUDA_MPS_PIPE_DIRECTORY, else CUDA's default.
  std::filesystem::path mps_pipes = {};
  // Known by $OMPI_COMM_WORLD_SIZE (OpenMPI), $PMI_SIZE (MPICH, Slurm's pmi2), $PMIX_RANK or $SLURM_STEP_NUM_TASKS; its
  // launched_by by $KB_LAUNCHED_BY.
  Launcher launcher = {};

  // Throws Error when a variable has a value that cannot be understood.
  static RuntimeOptions from_environment();
  // Removes the launcher's variables from the environment, so that this process and its children no longer count as
  // launched. It is called before any thread is started.
  static void forget_launcher();
};

}  // namespace kb
