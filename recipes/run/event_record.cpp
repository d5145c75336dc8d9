#include "recipes/run/event_record.h"

#include <bit>
#include <boost/crc.hpp>

namespace kb {
namespace {

constexpr uint32_t kMask = 0xa282ead8;

template <class Number>
void append_little_endian(std::string& bytes, Number number) {
  for (size_t i = 0; i < sizeof number; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
}

}  // namespace

uint32_t masked_crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1edc6f41, 0xffffffff, 0xffffffff, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return std::rotr(static_cast<uint32_t>(crc.checksum()), 15) + kMask;
}

std::string event_record(std::string_view message) {
  std::string record;
  record.reserve(message.size() + 16);
  append_little_endian(record, static_cast<uint64_t>(message.size()));
  append_little_endian(record, masked_crc32c(record));
  record += message;
  append_little_endian(record, masked_crc32c(message));
  return record;
}

}  // namespace kb
