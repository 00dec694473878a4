// Small dense matrices in scratch memory whose rows are whole blocks, and the one product on them.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::cpu {

// Elements that an inner loop takes at once: its count is known, so that it becomes vectors.
inline constexpr std::int64_t kBlock = 8;

inline std::int64_t whole_blocks(std::int64_t count) {
  return (count + kBlock - 1) / kBlock * kBlock;
}

// Zero at first, as is what fills its rows up.
template <typename A>
class Panel {
 public:
  Panel(std::int64_t rows, std::int64_t columns)
      : stride_(whole_blocks(columns)), elements_(static_cast<std::size_t>(rows * stride_)) {}

  std::int64_t stride() const { return stride_; }
  A* row(std::int64_t index) { return elements_.data() + index * stride_; }
  const A* row(std::int64_t index) const { return elements_.data() + index * stride_; }
  void clear() { elements_.assign(elements_.size(), A{0}); }

 private:
  std::int64_t stride_;
  std::vector<A> elements_;
};

// Rows first, first + 1 ... of a panel with a weight each.
template <typename A>
struct WeightedRows {
  const Panel<A>& panel;
  std::int64_t first = 0;
  std::int64_t count = 0;
  const A* weights = nullptr;
  std::int64_t weight_stride = 1;
};

// out[j] += sum over i of weights[i] rows[i][j], for first <= j < end and on to the borders of
// their blocks. Each element is summed in the order of the rows, whatever else is computed beside
// it.
template <typename A>
void add_rows_between(const WeightedRows<A>& rows, std::int64_t first, std::int64_t end, A* out) {
  const std::int64_t stride = rows.panel.stride();
  for (std::int64_t block = first / kBlock * kBlock; block < end; block += kBlock) {
    const A* row = rows.panel.row(rows.first) + block;
    A sums[kBlock] = {};
    for (std::int64_t i = 0; i < rows.count; ++i, row += stride) {
      const A weight = rows.weights[i * rows.weight_stride];
      for (std::int64_t j = 0; j < kBlock; ++j) sums[j] += weight * row[j];
    }
    for (std::int64_t j = 0; j < kBlock; ++j) out[block + j] += sums[j];
  }
}

template <typename A>
void add_rows(const WeightedRows<A>& rows, std::int64_t width, A* out) {
  add_rows_between(rows, 0, width, out);
}

}  // namespace lockstep::cpu
