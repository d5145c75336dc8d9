#include "runtime/safetensors.h"

#include <boost/test/unit_test.hpp>
#include <cstring>

#include "graph/error.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::safetensors_test {
namespace {

template <class T>
NamedTensor tensor(const std::string& name, DType dtype, Dims shape, const std::vector<T>& values) {
  NamedTensor result{name, {dtype, std::move(shape), ""}, std::vector<std::byte>(values.size() * sizeof(T))};
  if (!values.empty()) std::memcpy(result.data.data(), values.data(), result.data.size());
  return result;
}

std::vector<NamedTensor> samples() {
  return {tensor<float>("conv1.weight", DType::f32, {2, 1, 1, 2}, {1, -2, 0.5f, 3}),
          tensor<double>("scale", DType::f64, {}, {0.1}), tensor<uint16_t>("half", DType::bf16, {3}, {1, 2, 3}),
          tensor<float>("nothing", DType::f32, {0, 4}, {}),
          tensor<uint8_t>("mask \"quoted\"", DType::boolean, {1}, {1})};
}

std::string with_header(const std::string& json, const std::string& body) {
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(json.size() >> (8 * i) & 0xff);
  return file + json + body;
}

// Returns the message of the error that reading a file of these bytes throws, without the path before it.
std::string complaint(const std::string& bytes) {
  test::TemporaryDirectory directory;
  std::filesystem::path path = directory / "x.safetensors";
  test::write_file(path, bytes);
  try {
    read_safetensors(path);
  } catch (const Error& error) {
    std::string text = error.what();
    BOOST_TEST(text.starts_with(path.string() + ": "));
    return text.substr(path.string().size() + 2);
  }
  return "(nothing thrown)";
}

std::string fault(const std::string& what, const std::string& expected, const std::string& got) {
  return "not a safetensors file: " + what + "\n  expected: " + expected + "\n  got:      " + got;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(safetensors)

BOOST_AUTO_TEST_CASE(bytes_are_those_of_the_format) {
  std::vector<NamedTensor> one = {tensor<float>("w", DType::f32, {2, 1}, {1, 2})};
  std::string json = R"({"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}})";
  std::string padded = json + std::string((8 - json.size() % 8) % 8, ' ');
  BOOST_TEST(safetensors_header(views_of(one)) == with_header(padded, ""));
  for (const size_t letters : {1, 2, 3, 4, 5, 6, 7, 8}) {
    one[0].name = std::string(letters, 'w');
    BOOST_TEST(safetensors_header(views_of(one)).size() % 8 == 0u);
  }
  one[0].name = "w";
  test::TemporaryDirectory directory;
  write_safetensors(directory / "w.safetensors", views_of(one));
  std::string body("\0\0\x80\x3f\0\0\0\x40", 8);
  BOOST_TEST(test::read_file(directory / "w.safetensors") == with_header(padded, body));
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read_back) {
  test::TemporaryDirectory directory;
  std::filesystem::path path = directory / "model.safetensors";
  std::vector<NamedTensor> written = samples();
  write_safetensors(path, views_of(written), {{"format", "pt"}, {"step", "12"}});
  SafetensorsFile file = read_safetensors(path);
  BOOST_TEST(file.metadata.at("format") == "pt");
  BOOST_TEST(file.metadata.at("step") == "12");
  BOOST_REQUIRE(file.tensors.size() == written.size());
  for (size_t i = 0; i < written.size(); ++i) {
    BOOST_TEST(file.tensors[i].name == written[i].name);
    BOOST_CHECK(file.tensors[i].type == written[i].type);
    BOOST_CHECK(file.tensors[i].data == written[i].data);
  }
}

BOOST_AUTO_TEST_CASE(no_tensor_at_all_is_a_file_too) {
  test::TemporaryDirectory directory;
  write_safetensors(directory / "empty", {});
  BOOST_TEST(read_safetensors(directory / "empty").tensors.empty());
}

BOOST_AUTO_TEST_CASE(two_tensors_of_one_name_are_refused) {
  std::vector<NamedTensor> twice = {samples()[1], samples()[1]};
  BOOST_CHECK_THROW(safetensors_header(views_of(twice)), Error);
}

BOOST_AUTO_TEST_CASE(malformed_headers_are_refused) {
  BOOST_TEST(complaint("abc") == fault("too short", "at least 8 bytes of header length", "3 bytes"));
  BOOST_TEST(complaint(std::string(8, '\xff')) ==
             fault("header length", "at most 0 bytes", "18446744073709551615 bytes"));
  BOOST_TEST(complaint(with_header("{", "")).starts_with("not a safetensors file: header: line 1\n  expected: JSON"));
  BOOST_TEST(complaint(with_header("[]", "")) == fault("header: line 1", "an object", "[]"));
  BOOST_TEST(complaint(with_header(std::string(1'000'000, '['), "")) ==
             fault("header: line 1", "at most 64 arrays and objects inside of each other", "more"));
  std::string w = R"("w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  BOOST_TEST(complaint(with_header("{" + w + "," + w + "}", "x")) ==
             fault("header: line 1", "each key once", "\"w\" twice"));
  BOOST_TEST(complaint(with_header(R"({"__metadata__":{"a":1}})", "")) ==
             fault("header: line 1, \"__metadata__.a\"", "a text", "1"));
}

BOOST_AUTO_TEST_CASE(malformed_tensors_are_refused) {
  auto one = [](const std::string& item, const std::string& body) {
    return complaint(with_header("{\"w\":" + item + "}", body));
  };
  BOOST_TEST(one("3", "") == fault("header: line 1, \"w\"", "an object with \"dtype\"", "3"));
  BOOST_TEST(one(R"({"dtype":"F8","shape":[1],"data_offsets":[0,1]})", "x") ==
             fault("header: line 1, \"w.dtype\"", "one of F64, F32, BF16, F16, I32, U32, U8, BOOL, I64", "\"F8\""));
  BOOST_TEST(one(R"({"dtype":"U8","shape":[-1],"data_offsets":[0,1]})", "x") ==
             fault("header: line 1, \"w.shape\"", "whole numbers >= 0", "[-1]"));
  BOOST_TEST(one(R"({"dtype":"U8","shape":[2],"data_offsets":[0,2]})", "x") ==
             fault("header: line 1, \"w.data_offsets\"", "[begin, end] within 1 bytes", "[0,2]"));
  BOOST_TEST(one(R"({"dtype":"U8","shape":[1],"data_offsets":[1,0]})", "x") ==
             fault("header: line 1, \"w.data_offsets\"", "[begin, end] within 1 bytes", "[1,0]"));
  BOOST_TEST(one(R"({"dtype":"U8","shape":[1],"data_offsets":[0,1,1]})", "x") ==
             fault("header: line 1, \"w.data_offsets\"", "[begin, end] within 1 bytes", "[0,1,1]"));
  BOOST_TEST(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,2]})", "xx") ==
             fault("tensor 'w'", "as many bytes as F32 [1] takes", "2 bytes"));
  BOOST_TEST(one(R"({"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]})", "")
                 .starts_with("not a safetensors file: tensor 'w'"));
}

// The file has 4 TB of zeros that take no room on the disk. A reader must check the header before it takes memory for
// them.
BOOST_AUTO_TEST_CASE(no_memory_is_taken_for_what_the_header_does_not_tell_of) {
  test::TemporaryDirectory directory;
  const std::filesystem::path path = directory / "x.safetensors";
  test::write_file(path, with_header("{}", ""));
  std::filesystem::resize_file(path, uintmax_t{4} << 40);
  BOOST_CHECK_EXCEPTION(read_safetensors(path), Error, test::says("length\n  expected: 0 bytes of tensors"));
}

BOOST_AUTO_TEST_CASE(gaps_overlaps_and_tails_are_refused) {
  auto two = [](const std::string& begin, const std::string& end, const std::string& body) {
    return complaint(with_header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                                 R"("b":{"dtype":"U8","shape":[2],"data_offsets":[)" +
                                     begin + "," + end + "]}}",
                                 body));
  };
  BOOST_TEST(two("2", "4", "wxyz") == "(nothing thrown)");
  BOOST_TEST(two("3", "5", "vwxyz") == fault("tensor 'b'", "bytes that begin at 2, where those before it end", "3"));
  BOOST_TEST(two("1", "3", "xyz") == fault("tensor 'b'", "bytes that begin at 2, where those before it end", "1"));
  // An empty tensor lies where another begins, whichever the header names first.
  for (const char* header : {R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[0],)"
                             R"("data_offsets":[0,0]}})",
                             R"({"b":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[2],)"
                             R"("data_offsets":[0,2]}})"})
    BOOST_TEST(complaint(with_header(header, "wx")) == "(nothing thrown)");
  BOOST_TEST(two("2", "4", "wxyz!") == fault("length", "4 bytes of tensors", "5 bytes"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::safetensors_test
