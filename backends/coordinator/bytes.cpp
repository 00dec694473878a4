// Numbers and texts to bytes and back, with every length checked.
#include "backends/coordinator/bytes.h"

#include <cstring>

namespace lockstep::backends {

static_assert(std::endian::native == std::endian::little);

void ByteWriter::put(std::uint64_t value) {
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  bytes_.append(bytes, sizeof(bytes));
}

void ByteWriter::text(std::string_view value) {
  put(value.size());
  bytes_.append(value);
}

std::size_t ByteWriter::length(std::size_t value) {
  put(value);
  return value;
}

// Every element of a list takes a byte at least: a length beyond what is left is a lie.
std::size_t ByteReader::length(std::size_t /*value*/) { return get_below(bytes_.size() + 1); }

void ByteReader::expect_end() const {
  if (!bytes_.empty()) throw ProtocolError("a message goes on after its end");
}

std::uint64_t ByteReader::get() {
  std::uint64_t value = 0;
  if (bytes_.size() < sizeof(value)) throw ProtocolError("a message ends within a number");
  std::memcpy(&value, bytes_.data(), sizeof(value));
  bytes_.remove_prefix(sizeof(value));
  return value;
}

std::uint64_t ByteReader::get_below(std::uint64_t limit) {
  const std::uint64_t value = get();
  if (value >= limit) throw ProtocolError("a number is out of range");
  return value;
}

std::string_view ByteReader::get_text() {
  const std::uint64_t size = get();
  if (size > bytes_.size()) throw ProtocolError("a message ends within a text");
  const std::string_view text = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return text;
}

}  // namespace lockstep::backends
