// The places where the runtime keeps and finds things, and the compiler that it calls. from_environment() is the one
// reader of environment variables in Kilobatch; everything else is handed this struct.
#pragma once
#include <filesystem>
#include <string>

namespace kb {

// The program that started this process, and the number of processes that it started for the run.
struct Launcher {
  std::string name = "itself";  // "mpirun", "srun", "mpiexec"
  int processes = 1;            // 0 = not said, more than one
  bool connects = true;         // the processes can find each other through it
};

struct RuntimeOptions {
  // Compiled kernels. $KB_CACHE, else $XDG_CACHE_HOME/kilobatch, else ~/.cache/kilobatch; empty where there is no home.
  std::filesystem::path cache_dir;
  // Data sets. $KB_DATA; empty where it is not set.
  std::filesystem::path data_dir;
  // Path of the host C++ compiler: $KB_CXX (a bare name is looked up in $PATH), else the one that built Kilobatch.
  std::string compiler;
  // The setting to name in an error about the compiler: "KB_CXX" or "the configure step".
  std::string compiler_origin;
  // The level, 0 to 2, at which that compiler optimises kernels: $KB_KERNEL_LEVEL, else 2. Below it kernels compile in
  // less time, run slower, and compute the same bits.
  int kernel_level = 2;
  // Path of mpirun, looked up in $PATH; the bare name where there is none.
  std::string mpirun = {};
  // Path of CUDA's cuobjdump: $KB_CUOBJDUMP, else looked up in $PATH, else the toolkit's usual place.
  std::string cuobjdump = {};
  // Path of librsvg's rsvg-convert, looked up in $PATH; empty where there is none.
  std::string rsvg_convert = {};
  // Path of NVIDIA's nvidia-cuda-mps-control, looked up in $PATH; empty where there is none.
  std::string mps_control = {};
  // Folder in which CUDA looks for its multi-process service: $CUDA_MPS_PIPE_DIRECTORY, else CUDA's default.
  std::filesystem::path mps_pipes = {};
  // $OMPI_COMM_WORLD_SIZE (OpenMPI), $PMI_SIZE (MPICH, Slurm's pmi2), $PMIX_RANK, $SLURM_STEP_NUM_TASKS.
  Launcher launcher = {};

  // Throws Error where a variable has a value that cannot be understood.
  static RuntimeOptions from_environment();
  // Takes the launcher's variables out of the environment: this process, and those that it starts, are on their own.
  // Before any thread is started.
  static void forget_launcher();
};

}  // namespace kb
