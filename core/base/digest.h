// A 64-bit hash over a stream of bytes and words: equal digests stand for bit-identical results.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lockstep {

class Digest {
 public:
  void add(std::uint64_t word);
  void add(std::string_view text);
  void add(std::span<const double> values);  // the bits of each value, -0 and NaN payloads included

  std::uint64_t value() const;
  std::string hex() const;  // 16 lower-case digits

 private:
  std::uint64_t state_ = 0x9e3779b97f4a7c15ULL;
};

// 16 hex digits for `text`.
std::string hash_hex(std::string_view text);

}  // namespace lockstep
