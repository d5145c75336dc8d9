#include "runtime/cuda/cudnn/descriptor.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"

namespace kb::cudnn {

void check(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  char message[1024] = "";
  cudnnGetLastErrorString(message, sizeof message);
  throw InternalError(fmt::format("{} failed: {} ({}){}{}", call, cudnnGetErrorString(status), static_cast<int>(status),
                                  *message ? ": " : "", message));
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  check(cudnnBackendCreateDescriptor(type, &raw_), "cudnnBackendCreateDescriptor");
}

Descriptor::~Descriptor() {
  if (raw_) cudnnBackendDestroyDescriptor(raw_);
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                            const void* data) {
  const cudnnStatus_t status = cudnnBackendSetAttribute(raw_, name, type, count, data);
  if (status != CUDNN_STATUS_SUCCESS)
    check(status, fmt::format("cudnnBackendSetAttribute(attribute {})", static_cast<int>(name)).c_str());
  return *this;
}

Descriptor& Descriptor::set(cudnnBackendAttributeName_t name, std::span<const Descriptor* const> values) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor* value : values) raw.push_back(value->raw_);
  return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<int64_t>(raw.size()), raw.data());
}

void Descriptor::finalize() { check(cudnnBackendFinalize(raw_), "cudnnBackendFinalize"); }

bool Descriptor::supported() {
  const cudnnStatus_t status = cudnnBackendFinalize(raw_);
  const int category = CUDNN_STATUS_CATEGORY(status);
  if (category == CUDNN_STATUS_NOT_SUPPORTED || category == CUDNN_STATUS_INTERNAL_ERROR ||
      category == CUDNN_STATUS_EXECUTION_FAILED)
    return false;
  check(status, "cudnnBackendFinalize");
  return true;
}

int64_t Descriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room,
                        void* data) const {
  int64_t count = 0;
  const cudnnStatus_t status = cudnnBackendGetAttribute(raw_, name, type, room, &count, data);
  if (status != CUDNN_STATUS_SUCCESS)
    check(status, fmt::format("cudnnBackendGetAttribute(attribute {})", static_cast<int>(name)).c_str());
  return std::min(count, room);
}

int64_t Descriptor::get_integer(cudnnBackendAttributeName_t name) const {
  int64_t value = 0;
  get(name, CUDNN_TYPE_INT64, 1, &value);
  return value;
}

std::vector<Descriptor> Descriptor::get_descriptors(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type,
                                                    int64_t room) const {
  std::vector<Descriptor> values;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < room; ++i) raw.push_back(values.emplace_back(type).raw_);
  const auto count = static_cast<size_t>(get(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, room, raw.data()));
  values.erase(values.begin() + static_cast<std::ptrdiff_t>(count), values.end());
  return values;
}

}  // namespace kb::cudnn
