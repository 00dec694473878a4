// Digests tell bits, lengths and order apart.
#include "core/base/digest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {
namespace {

std::string digest_of(const std::vector<double>& values) {
  Digest digest;
  digest.add(values);
  return digest.hex();
}

TEST(Digest, IsEqualForEqualInput) {
  EXPECT_EQ(digest_of({1.0, 2.0, 3.0}), digest_of({1.0, 2.0, 3.0}));
}

TEST(Digest, SeesTheLastBitOfAValue) {
  EXPECT_NE(digest_of({1.0, 2.0}), digest_of({1.0, std::nextafter(2.0, 3.0)}));
}

TEST(Digest, TellsMinusZeroFromZero) { EXPECT_NE(digest_of({0.0}), digest_of({-0.0})); }

TEST(Digest, TellsNanPayloadsApart) {
  EXPECT_NE(digest_of({std::nan("1")}), digest_of({std::nan("2")}));
}

TEST(Digest, SeesTheOrderOfValues) { EXPECT_NE(digest_of({1.0, 2.0}), digest_of({2.0, 1.0})); }

TEST(Digest, SeesWhereOneSpanEndsAndTheNextBegins) {
  Digest one;
  one.add(std::vector<double>{1.0, 2.0});
  one.add(std::vector<double>{3.0});
  Digest other;
  other.add(std::vector<double>{1.0});
  other.add(std::vector<double>{2.0, 3.0});
  EXPECT_NE(one.value(), other.value());
}

TEST(Digest, SeesWhereOneTextEndsAndTheNextBegins) {
  Digest one;
  one.add(std::string_view("ab"));
  one.add(std::string_view("c"));
  Digest other;
  other.add(std::string_view("a"));
  other.add(std::string_view("bc"));
  EXPECT_NE(one.value(), other.value());
}

TEST(Digest, CountsEmptyInput) {
  Digest digest;
  const std::uint64_t before = digest.value();
  digest.add(std::vector<double>{});
  EXPECT_NE(digest.value(), before);
}

TEST(Digest, HasNoCollisionAmongManySmallInputs) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t a = 0; a < 300; ++a) {
    for (std::uint64_t b = 0; b < 300; ++b) {
      Digest digest;
      digest.add(a);
      digest.add(b);
      seen.insert(digest.value());
    }
  }
  EXPECT_EQ(seen.size(), 90'000U);
}

TEST(Digest, ForgetsNothingBehindAnyWord) {
  for (const std::uint64_t word :
       {std::uint64_t{0}, std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()}) {
    Digest one;
    one.add(std::uint64_t{11});
    one.add(word);
    Digest other;
    other.add(std::uint64_t{12});
    other.add(word);
    EXPECT_NE(one.value(), other.value()) << word;
  }
}

TEST(Digest, HexIsSixteenLowerCaseDigitsOfTheValue) {
  Digest digest;
  digest.add(std::uint64_t{42});
  const std::string hex = digest.hex();
  EXPECT_EQ(hex.size(), 16U);
  EXPECT_EQ(hex.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(std::stoull(hex, nullptr, 16), digest.value());
}

TEST(Digest, IsThatOfTheFirstRelease) {
  EXPECT_EQ(hash_hex(""), "f1b9b8cf259eeab8");
  EXPECT_EQ(hash_hex("tp2.dp3.uneven"), "55c3c9ba9f7c0817");
}

}  // namespace
}  // namespace lockstep
