// Digest: one multiply and fold a word.
#include "core/base/digest.h"

#include <bit>

namespace lockstep {
namespace {

constexpr std::uint64_t kFactor = 0xd6e8feb86659fd93ULL;

std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

// The state is rotated into the product so that a zero factor cannot swallow what came before.
void Digest::add(std::uint64_t word) {
  state_ = std::rotl(state_, 23) + folded_product(state_ ^ word, kFactor) + word;
}

void Digest::add(std::string_view text) {
  add(static_cast<std::uint64_t>(text.size()));
  for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
}

void Digest::add(std::span<const double> values) {
  add(static_cast<std::uint64_t>(values.size()));
  for (const double value : values) add(std::bit_cast<std::uint64_t>(value));
}

std::uint64_t Digest::value() const { return folded_product(state_ ^ (state_ >> 32), kFactor); }

std::string Digest::hex() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  std::uint64_t rest = value();
  for (int i = 15; i >= 0; --i, rest >>= 4) text[static_cast<std::size_t>(i)] = kDigits[rest & 15U];
  return text;
}

std::string hash_hex(std::string_view text) {
  Digest digest;
  digest.add(text);
  return digest.hex();
}

}  // namespace lockstep
