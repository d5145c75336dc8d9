// The expected hashes are those of the examples of FIPS 180-4 and of NIST's long messages.
#include <boost/test/unit_test.hpp>

#include "runtime/sha256.h"

namespace kb::sha256_test {

BOOST_AUTO_TEST_SUITE(sha256)

BOOST_AUTO_TEST_CASE(standard_vectors) {
  BOOST_TEST(kb::sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  BOOST_TEST(kb::sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  BOOST_TEST(kb::sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
             "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  BOOST_TEST(kb::sha256_hex("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrl"
                            "mnopqrsmnopqrstnopqrstu") ==
             "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  BOOST_TEST(kb::sha256_hex(std::string(1000000, 'a')) ==
             "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// A field is its length, 8 bytes with the highest first, and its bytes: keys of caches and hashes of states depend on
// it.
BOOST_AUTO_TEST_CASE(a_field_has_its_length_before_it) {
  kb::Sha256 hash;
  hash.update_field("ab");
  hash.update_field(std::string(258, 'x'));
  BOOST_TEST(hash.hex() == kb::sha256_hex(std::string("\0\0\0\0\0\0\0\x02", 8) + "ab" +
                                          std::string("\0\0\0\0\0\0\x01\x02", 8) + std::string(258, 'x')));
}

// Every length around the padding's edges, whole and in pieces of every size.
BOOST_AUTO_TEST_CASE(pieces_equal_the_whole) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>(i * 37 + 11);
  for (size_t length = 0; length <= text.size(); ++length) {
    const std::string message = text.substr(0, length);
    for (size_t piece : {1, 7, 63, 64, 65}) {
      kb::Sha256 hash;
      for (size_t at = 0; at < length; at += piece) hash.update(message.substr(at, piece));
      BOOST_REQUIRE_EQUAL(hash.hex(), kb::sha256_hex(message));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_digest_does_not_end_the_stream) {
  kb::Sha256 hash;
  hash.update("ab");
  kb::Sha256 branch = hash;
  BOOST_TEST(hash.hex() == kb::sha256_hex("ab"));
  hash.update("c");
  branch.update("d");
  BOOST_TEST(hash.hex() == kb::sha256_hex("abc"));
  BOOST_TEST(branch.hex() == kb::sha256_hex("abd"));
}

BOOST_AUTO_TEST_CASE(fields_do_not_run_together) {
  kb::Sha256 first, second;
  first.update_field("ab");
  first.update_field("c");
  second.update_field("a");
  second.update_field("bc");
  BOOST_TEST(first.hex() != second.hex());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::sha256_test
