#include "runtime/cpu/onednn/engine.h"

#include "graph/error.h"

// libgomp's functions are declared here because only some compilers have its header.
extern "C" {
void omp_set_num_threads(int);
int omp_get_max_threads(void);
}

namespace kb::onednn {

OneThread::OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }

std::shared_ptr<Engine> make_engine() {
  OneThread one;
  return std::make_shared<Engine>();
}

std::string name() {
  const dnnl_version_t* version = dnnl_version();
  return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

namespace {

// Returns whether oneDNN may use `isa`. An instruction set is a set of bits, and one that includes another has all its
// bits.
bool uses(dnnl::cpu_isa isa) {
  const int bits = static_cast<int>(isa);
  return (static_cast<int>(dnnl::get_effective_cpu_isa()) & bits) == bits;
}

}  // namespace

std::string instruction_set() {
  if (uses(dnnl::cpu_isa::avx512_core_amx)) return "amx";
  if (uses(dnnl::cpu_isa::avx512_core_bf16)) return "avx512_bf16";
  if (uses(dnnl::cpu_isa::avx512_core)) return "avx512";
  return uses(dnnl::cpu_isa::avx2) ? "avx2" : "portable";
}

bool computes(DType dtype) {
  // On processors with AVX-512 but without bf16 units oneDNN emulates bf16, which is slower than widening to f32.
  return dtype == DType::f32 || (dtype == DType::bf16 && uses(dnnl::cpu_isa::avx512_core_bf16));
}

bool multiplies(DType dtype, int64_t k) {
  if (!computes(dtype)) return false;
  // With AMX, oneDNN 3 pads an odd reduction by the element behind a row, times 0: this is NaN if that element is not
  // finite (seen with 3.7.2).
  return dtype == DType::f32 || k % 2 == 0 || dnnl_version()->major < 3 || !uses(dnnl::cpu_isa::avx512_core_amx);
}

dnnl::memory::data_type data_type(DType dtype) {
  if (dtype == DType::bf16) return dnnl::memory::data_type::bf16;
  ensure(dtype == DType::f32, "oneDNN: a dtype that it does not compute in");
  return dnnl::memory::data_type::f32;
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

void Call::add(int argument, const dnnl::memory::desc& desc) {
  operands_.push_back({dnnl::memory(desc, engine_->engine, DNNL_MEMORY_NONE)});
  arguments_.push_back({argument, operands_.back().memory.get()});
}

void Call::run(std::initializer_list<const void*> addresses) {
  ensure(addresses.size() == operands_.size(), "oneDNN: operands that do not fit the primitive");
  OneThread one;
  Operand* operand = operands_.data();
  for (const void* address : addresses) {
    // The library takes inputs as mutable too, but writes only zeros to the padding of packed weights, where zeros are.
    if (operand->address != address) operand->memory.set_data_handle(const_cast<void*>(address));
    operand->address = address;
    ++operand;
  }
  const dnnl_status_t status = dnnl_primitive_execute(primitive_->primitive.get(), engine_->stream.get(),
                                                      static_cast<int>(arguments_.size()), arguments_.data());
  if (status != dnnl_success) throw InternalError("oneDNN: running " + primitive_->implementation + " failed");
}

}  // namespace kb::onednn
