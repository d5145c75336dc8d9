// Makes records of an event file, TensorFlow's TFRecord: length of the message (8 bytes, little endian), masked CRC-32C
// of the length (4 bytes), the message, masked CRC-32C of the message (4 bytes). Source:
// tensorflow/core/lib/io/record_writer.h, tensorflow/core/lib/hash/crc32c.h.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace kb {

// Returns the CRC-32C (Castagnoli) of the bytes, rotated right by 15 bits, plus 0xa282ead8.
uint32_t masked_crc32c(std::string_view bytes);

std::string event_record(std::string_view message);

}  // namespace kb
