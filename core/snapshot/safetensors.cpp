// The header's checks, one condition each, and the bytes of tensors as numbers.
#include "core/snapshot/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/base/errors.h"
#include "core/tensor/bfloat16.h"

namespace lockstep {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kHeaderBytesMax = 100'000'000;  // the format's own limit
constexpr std::string_view kMetadata = "__metadata__";

struct NamedType {
  std::string_view name;
  DType dtype;
};
constexpr NamedType kTypes[] = {
    {"F64", DType::kF64}, {"F32", DType::kF32}, {"BF16", DType::kBF16}, {"I64", DType::kI64}};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UsageError(path + ": " + why);
}

// A value of the header as a message shows it: on one line and short, whatever the file holds.
std::string shown(const Json& value) {
  constexpr std::size_t kCharactersMax = 80;
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > kCharactersMax) text = text.substr(0, kCharactersMax) + "...";
  return text;
}

std::uint64_t size_of_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) refuse(path, "no such file");
  if (error) refuse(path, "cannot be read: " + error.message());
  if (!std::filesystem::is_regular_file(status)) {
    refuse(path, "is no regular file; name a .safetensors file");
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) refuse(path, "its size cannot be read: " + error.message());
  return size;
}

// The caller has checked that the file is long enough.
std::string read_bytes(const std::string& path, std::uint64_t begin, std::uint64_t count) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) {
    refuse(path, "cannot be read: " + std::generic_category().message(errno));
  }
  std::string bytes(count, '\0');
  file.seekg(static_cast<std::streamoff>(begin));
  file.read(bytes.data(), static_cast<std::streamsize>(count));
  if (!file) refuse(path, fmt::format("bytes {} to {} cannot be read", begin, begin + count));
  return bytes;
}

std::uint64_t header_length(const std::string& path, std::uint64_t file_bytes) {
  if (file_bytes < kLengthBytes) {
    refuse(path,
           fmt::format("is {} bytes long; a safetensors file begins with the 8 bytes of its "
                       "header's length",
                       file_bytes));
  }
  const std::string bytes = read_bytes(path, 0, kLengthBytes);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kHeaderBytesMax) {
    refuse(
        path,
        fmt::format(
            "gives a header length of {} bytes; at most {} are allowed", length, kHeaderBytesMax));
  }
  if (length > file_bytes - kLengthBytes) {
    refuse(path,
           fmt::format("gives a header length of {} bytes, but only {} bytes follow",
                       length,
                       file_bytes - kLengthBytes));
  }
  return length;
}

// Neither a name nor a key of an entry may stand twice, and nothing may be nested deeper than a
// shape is.
Json parsed_header(const std::string& path, const std::string& text) {
  constexpr int kDepthMax = 2;
  std::set<std::string> names;
  std::set<std::string> keys;
  const auto check = [&](int depth, Json::parse_event_t event, Json& node) {
    const bool opens =
        event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && depth > kDepthMax) refuse(path, "the header is nested too deeply");
    if (event != Json::parse_event_t::key) return true;
    const auto key = node.get<std::string>();
    if (depth == 1) keys.clear();
    std::set<std::string>& seen = depth == 1 ? names : keys;
    if (!seen.insert(key).second) refuse(path, "the header has " + shown(key) + " twice");
    return true;
  };
  try {
    Json header = Json::parse(text, check);
    if (!header.is_object()) refuse(path, "the header is no JSON object");
    return header;
  } catch (const Json::exception& error) {
    std::string what = error.what();
    const std::size_t start = what.find("] ");
    if (start != std::string::npos) what = what.substr(start + 2);
    refuse(path, "the header is not JSON: " + what);
  }
}

// What one entry of the header is read with.
struct EntryReader {
  const std::string& path;
  const std::string& name;
  const Json& json;

  [[noreturn]] void fail(const std::string& why) const { refuse(path, shown(name) + ": " + why); }

  const Json& field(const char* key) const {
    const auto found = json.find(key);
    if (found == json.end()) fail(fmt::format("has no {}", key));
    return *found;
  }

  DType dtype() const {
    const Json& node = field("dtype");
    std::string known;
    for (const NamedType& type : kTypes) {
      if (node.is_string() && node.get_ref<const std::string&>() == type.name) return type.dtype;
      known += fmt::format("{}{}", known.empty() ? "" : ", ", type.name);
    }
    fail(fmt::format("dtype {} is not known; known are {}", shown(node), known));
  }

  std::vector<std::uint64_t> numbers(const char* key) const {
    const Json& node = field(key);
    if (!node.is_array()) fail(fmt::format("{} is no list", key));
    std::vector<std::uint64_t> result;
    for (const Json& element : node) {
      if (!element.is_number_unsigned() || element.get<std::uint64_t>() > INT64_MAX) {
        fail(fmt::format(
            "{} holds {}, which is no whole number from 0 to 2^63 - 1", key, shown(element)));
      }
      result.push_back(element.get<std::uint64_t>());
    }
    return result;
  }

  // Elements times element size, refused where it overflows.
  std::uint64_t num_bytes(const std::vector<std::uint64_t>& shape, DType type) const {
    auto bytes = static_cast<std::uint64_t>(element_bytes(type));
    if (std::find(shape.begin(), shape.end(), 0U) != shape.end()) return 0;
    for (const std::uint64_t size : shape) {
      if (bytes > INT64_MAX / size) fail("its shape has more bytes than can be counted");
      bytes *= size;
    }
    return bytes;
  }

  SafetensorsEntry read(std::uint64_t data_begin, std::uint64_t data_bytes) const {
    if (!json.is_object()) fail("is no JSON object");
    const DType type = dtype();
    const std::vector<std::uint64_t> shape = numbers("shape");
    const std::vector<std::uint64_t> offsets = numbers("data_offsets");
    if (json.size() != 3) fail("has more than dtype, shape and data_offsets");
    if (offsets.size() != 2) fail("data_offsets must be two: begin and end");
    if (offsets[0] > offsets[1]) {
      fail(fmt::format("its data begins at byte {}, after its end at {}", offsets[0], offsets[1]));
    }
    if (offsets[1] > data_bytes) {
      fail(fmt::format(
          "its data ends at byte {}, but the file has {} bytes of data", offsets[1], data_bytes));
    }
    const std::uint64_t wanted = num_bytes(shape, type);
    if (offsets[1] - offsets[0] != wanted) {
      fail(fmt::format(
          "its shape needs {} bytes, data_offsets give {}", wanted, offsets[1] - offsets[0]));
    }
    SafetensorsEntry entry{.name = name,
                           .dtype = type,
                           .shape = {},
                           .begin = data_begin + offsets[0],
                           .end = data_begin + offsets[1]};
    for (const std::uint64_t size : shape) entry.shape.push_back(static_cast<std::int64_t>(size));
    return entry;
  }
};

// Every byte of the data belongs to one tensor.
void check_cover(const std::string& path,
                 const std::vector<SafetensorsEntry>& entries,
                 std::uint64_t data_begin,
                 std::uint64_t file_bytes) {
  std::uint64_t covered = data_begin;
  const auto refuse_hole = [&](std::uint64_t end) {
    refuse(path,
           fmt::format("bytes {} to {} of the data belong to no tensor",
                       covered - data_begin,
                       end - data_begin));
  };
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin < covered) {
      refuse(path, shown(entry.name) + ": its data overlaps another tensor's");
    }
    if (entry.begin > covered) refuse_hole(entry.begin);
    covered = entry.end;
  }
  if (covered != file_bytes) refuse_hole(file_bytes);
}

template <typename T>
T element_at(const std::string& bytes, std::size_t index) {
  T value{};
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

double real_at(const std::string& bytes, std::size_t index, DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return element_at<double>(bytes, index);
    case DType::kF32:
      return static_cast<double>(element_at<float>(bytes, index));
    case DType::kBF16:
      return static_cast<double>(widened(element_at<BF16>(bytes, index)));
    case DType::kI64:
      break;
  }
  throw InternalError("no type of real numbers");
}

}  // namespace

SafetensorsFile::SafetensorsFile(std::string path) : path_(std::move(path)) {
  const std::uint64_t file_bytes = size_of_file(path_);
  const std::uint64_t length = header_length(path_, file_bytes);
  const std::uint64_t data_begin = kLengthBytes + length;
  const Json header = parsed_header(path_, read_bytes(path_, kLengthBytes, length));
  for (const auto& [name, json] : header.items()) {
    if (name == kMetadata) continue;
    const EntryReader reader{.path = path_, .name = name, .json = json};
    entries_.push_back(reader.read(data_begin, file_bytes - data_begin));
  }
  // Empty tensors lie on the border of their neighbours, before the one that begins there.
  std::sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_cover(path_, entries_, data_begin, file_bytes);
}

const SafetensorsEntry& SafetensorsFile::entry(std::string_view name) const {
  const auto found = std::find_if(
      entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.name == name; });
  if (found == entries_.end()) {
    refuse(path_, fmt::format("has no tensor '{}' among its {}", name, entries_.size()));
  }
  return *found;
}

std::string SafetensorsFile::bytes_of(const SafetensorsEntry& entry) const {
  return read_bytes(path_, entry.begin, entry.end - entry.begin);
}

std::vector<double> SafetensorsFile::reals(std::string_view name) const {
  const SafetensorsEntry& found = entry(name);
  if (found.dtype == DType::kI64) {
    refuse(path_, fmt::format("'{}' is of I64; real numbers are expected", name));
  }
  const std::string bytes = bytes_of(found);
  std::vector<double> values(bytes.size() / static_cast<std::size_t>(element_bytes(found.dtype)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = real_at(bytes, i, found.dtype);
  return values;
}

std::vector<std::int64_t> SafetensorsFile::integers(std::string_view name) const {
  const SafetensorsEntry& found = entry(name);
  if (found.dtype != DType::kI64) {
    refuse(path_, fmt::format("'{}' holds real numbers; I64 is expected", name));
  }
  const std::string bytes = bytes_of(found);
  std::vector<std::int64_t> values(bytes.size() / sizeof(std::int64_t));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = element_at<std::int64_t>(bytes, i);
  return values;
}

}  // namespace lockstep
