// The calls that differ between oneDNN 2 and oneDNN 3: primitive descriptors, and the form of a tensor in memory. No
// other file asks for the version.
#pragma once
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace kb::onednn {

// Makes the description of a primitive. `arguments` are in oneDNN's order: algorithm, tensors, window.
template <class Primitive, class... Arguments>
typename Primitive::primitive_desc primitive_desc(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                                                  const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, arguments..., attr};
#else
  return {typename Primitive::desc(arguments...), attr, engine};
#endif
}

// Makes the description of a gradient, which needs that of its forward primitive.
template <class Primitive, class Forward, class... Arguments>
typename Primitive::primitive_desc gradient_desc(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                                                 const Forward& forward, const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {engine, arguments..., forward, attr};
#else
  return {typename Primitive::desc(arguments...), attr, engine, forward};
#endif
}

// The form of a blocked tensor in memory, in elements.
struct Blocking {
  dnnl::memory::dims padded;                    // extents, padded to whole blocks
  dnnl::memory::dims strides;                   // elements from one outermost block of an axis to the next
  dnnl::memory::dims inner_blocks, inner_axes;  // extent and axis of each inner block, the outermost first
};

inline Blocking blocking_of(const dnnl::memory::desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return {desc.get_padded_dims(), desc.get_strides(), desc.get_inner_blks(), desc.get_inner_idxs()};
#else
  const dnnl_memory_desc_t& md = desc.data;
  const dnnl_blocking_desc_t& form = md.format_desc.blocking;
  return {{md.padded_dims, md.padded_dims + md.ndims},
          {form.strides, form.strides + md.ndims},
          {form.inner_blks, form.inner_blks + form.inner_nblks},
          {form.inner_idxs, form.inner_idxs + form.inner_nblks}};
#endif
}

}  // namespace kb::onednn
