// Reads a .safetensors file: 8 bytes of header length, a JSON header, raw tensors.
//
// The file is not trusted: the whole header is checked against the file's size before a tensor is
// read. Every problem is a UsageError that begins with the path.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/dtype.h"

namespace lockstep {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF64;
  std::vector<std::int64_t> shape;
  // Bytes [begin, end) of the file.
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class SafetensorsFile {
 public:
  // Reads and checks the header.
  explicit SafetensorsFile(std::string path);

  // In the order of their data.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  const SafetensorsEntry& entry(std::string_view name) const;

  // Row-major values of a tensor of F64, F32 or BF16, exactly.
  std::vector<double> reals(std::string_view name) const;
  // Those of a tensor of I64.
  std::vector<std::int64_t> integers(std::string_view name) const;

 private:
  std::string bytes_of(const SafetensorsEntry& entry) const;

  std::string path_;
  std::vector<SafetensorsEntry> entries_;
};

}  // namespace lockstep
