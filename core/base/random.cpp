// The counter hash: three rounds of a 64-bit finaliser over seed, stream and index.
#include "core/base/random.h"

namespace lockstep {
namespace {

std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return mixed(mixed(mixed(seed) ^ stream) ^ index);
}

double random_unit(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return static_cast<double>(random_bits(seed, stream, index) >> 11) * 0x1p-53;
}

double random_signed(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return 2.0 * random_unit(seed, stream, index) - 1.0;
}

std::uint64_t stream_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return hash;
}

}  // namespace lockstep
