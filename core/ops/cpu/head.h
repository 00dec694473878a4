// One head of one sample in a buffer of rows of heads, and its packed copies in panels.
#pragma once

#include <cstdint>

#include "core/ops/cpu/element.h"
#include "core/ops/cpu/panel.h"
#include "core/ops/kernels.h"

namespace lockstep::cpu {

// One head of one sample in a [T, heads * D] buffer.
template <typename T>
struct Head {
  T* first = nullptr;
  std::int64_t stride = 0;  // elements from a token to the next
  std::int64_t tokens = 0;
  std::int64_t head_dim = 0;
};

struct HeadIndex {
  std::int64_t sample = 0;
  std::int64_t head = 0;
};

template <typename T>
Head<T> head_of(const Buffer& buffer,
                const AttentionSizes& sizes,
                std::int64_t tokens,
                HeadIndex index) {
  const std::int64_t width = buffer.count / (tokens * sizes.batch);
  return {.first = elements<T>(buffer) + index.sample * width + index.head * sizes.head_dim,
          .stride = sizes.batch * width,
          .tokens = tokens,
          .head_dim = sizes.head_dim};
}

template <typename T>
void pack(const Head<T>& head, Panel<Accumulated<T>>& packed_SD) {
  for (std::int64_t s = 0; s < head.tokens; ++s) {
    const T* const from = head.first + s * head.stride;
    for (std::int64_t i = 0; i < head.head_dim; ++i) packed_SD.row(s)[i] = widened(from[i]);
  }
}

template <typename T>
void pack_turned(const Head<T>& head, Panel<Accumulated<T>>& packed_DS) {
  for (std::int64_t s = 0; s < head.tokens; ++s) {
    const T* const from = head.first + s * head.stride;
    for (std::int64_t i = 0; i < head.head_dim; ++i) packed_DS.row(i)[s] = widened(from[i]);
  }
}

template <typename T>
void unpack(const Panel<Accumulated<T>>& packed_SD, const Head<T>& head) {
  for (std::int64_t s = 0; s < head.tokens; ++s) {
    T* const to = head.first + s * head.stride;
    for (std::int64_t i = 0; i < head.head_dim; ++i) to[i] = rounded<T>(packed_SD.row(s)[i]);
  }
}

}  // namespace lockstep::cpu
