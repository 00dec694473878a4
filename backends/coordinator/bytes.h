// Numbers and texts as bytes: little-endian, 8 bytes a number, a text after its length.
//
// Writer and reader have the same verbs, so that a message's fields are listed once for both.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace lockstep::backends {

// Bytes that no peer of this version sends.
class ProtocolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ByteWriter {
 public:
  template <std::integral T>
  void number(T& value) {
    put(static_cast<std::uint64_t>(value));
  }
  template <class Enum>
  void choice(Enum& value, int /*count*/) {
    put(static_cast<std::uint64_t>(value));
  }
  void text(std::string_view value);
  // How many of a list follow.
  std::size_t length(std::size_t value);
  // What a peer of another version may have put here.
  void rest() {}

  std::string take() { return std::move(bytes_); }

 private:
  void put(std::uint64_t value);

  std::string bytes_;
};

// Of bytes that outlive it and the views that it gives out.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <std::integral T>
  void number(T& value) {
    const std::uint64_t read = get();
    value = static_cast<T>(read);
    if (static_cast<std::uint64_t>(value) != read) throw ProtocolError("a number is out of range");
  }
  template <class Enum>
  void choice(Enum& value, int count) {
    value = static_cast<Enum>(get_below(static_cast<std::uint64_t>(count)));
  }
  void text(std::string& value) { value = std::string(get_text()); }
  void text(std::string_view& value) { value = get_text(); }
  std::size_t length(std::size_t /*value*/);
  void rest() { bytes_ = {}; }

  void expect_end() const;

 private:
  std::uint64_t get();
  std::uint64_t get_below(std::uint64_t limit);
  std::string_view get_text();

  std::string_view bytes_;
};

}  // namespace lockstep::backends
