// cuDNN's backend descriptors with checked calls. When a call fails, the error has the call, the status and cuDNN's
// last message; the runtime adds the schedule step and the place in the user's code.
#pragma once
#include <cudnn_graph.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kb::cudnn {

// Throws InternalError unless `status` is success.
void check(cudnnStatus_t status, const char* call);

// One descriptor; the destructor destroys it. Attributes are set, then it is finalised. A finalised one may become an
// attribute of several others, which keep what they need of it.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  Descriptor(Descriptor&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Descriptor();

  cudnnBackendDescriptor_t raw() const { return raw_; }

  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* data);
  Descriptor& set(cudnnBackendAttributeName_t name, std::span<const int64_t> values) {
    return set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  Descriptor& set(cudnnBackendAttributeName_t name, int64_t value) { return set(name, std::span(&value, 1)); }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.raw_);
  }
  Descriptor& set(cudnnBackendAttributeName_t name, std::span<const Descriptor* const> values);
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
    return set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
  }
  Descriptor& set_flag(cudnnBackendAttributeName_t name, bool value) {
    return set(name, CUDNN_TYPE_BOOLEAN, 1, &value);
  }
  Descriptor& set_text(cudnnBackendAttributeName_t name, const std::string& text) {
    return set(name, CUDNN_TYPE_CHAR, static_cast<int64_t>(text.size()), text.data());
  }
  void finalize();
  // Finalises the descriptor. Returns false when cuDNN does not support it or fails to build it; throws when the call
  // is wrong.
  bool supported();

  // Reads an attribute of at most `room` elements into `data`; returns their number.
  int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room, void* data) const;
  int64_t get_integer(cudnnBackendAttributeName_t name) const;
  template <class T>
  std::vector<T> get_all(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room) const {
    std::vector<T> values(static_cast<size_t>(room));
    values.resize(static_cast<size_t>(get(name, type, room, values.data())));
    return values;
  }
  // Returns the descriptors that an attribute has, at most `room`. cuDNN copies them into ones of ours.
  std::vector<Descriptor> get_descriptors(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type,
                                          int64_t room) const;

 private:
  cudnnBackendDescriptor_t raw_ = nullptr;
};

}  // namespace kb::cudnn
