// What tensors hold on any device, by launches as programs make them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/tensor/tensor.h"

namespace lockstep::test {

// After the work on `stream`; empty of an empty buffer.
std::vector<std::byte> bytes_of(Device& device, const Buffer& buffer, Stream stream = {});
// As many as the buffer has.
void put_bytes(Device& device,
               const Buffer& buffer,
               std::span<const std::byte> bytes,
               Stream stream = {});

// Of a tensor of reals, widened to double.
std::vector<double> values_of(Device& device, const Tensor& tensor, Stream stream = {});

}  // namespace lockstep::test
