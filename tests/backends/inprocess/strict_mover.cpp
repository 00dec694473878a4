// Looks at every pair of one list, and goes through it from behind.
#include "tests/backends/inprocess/strict_mover.h"

#include <cstring>
#include <stdexcept>

namespace lockstep::test {
namespace {

using backends::ByteCopy;
using backends::RankStream;

struct Bytes {
  const std::byte* first;
  std::int64_t count;
};

bool overlap(const Bytes& a, const Bytes& b) {
  return a.count > 0 && b.count > 0 && a.first < b.first + b.count && b.first < a.first + a.count;
}

Bytes target(const ByteCopy& copy) { return {.first = copy.to, .count = copy.num_bytes}; }
Bytes source(const ByteCopy& copy) { return {.first = copy.from, .count = copy.num_bytes}; }

}  // namespace

void StrictMover::expect(bool holds, const std::string& complaint) {
  if (!holds) complaints_.insert(complaint);
}

void StrictMover::expect_met(const RankStream& stream) {
  expect(met_.contains({stream.rank.value, stream.stream.value}), "a stream was not met");
}

void StrictMover::meet(const RankStream& stream) {
  met_.insert({stream.rank.value, stream.stream.value});
}

void StrictMover::follow(const RankStream& later, Stream earlier) {
  expect_met(later);
  expect_met({.rank = later.rank, .stream = earlier});
}

void StrictMover::begin(std::span<const RankStream> streams) {
  for (const RankStream& stream : streams) expect_met(stream);
  expect(!streams.empty(), "a moment of no streams");
  has_begun_ = true;
}

void StrictMover::end() {
  expect(has_begun_, "an end without a beginning");
  has_begun_ = false;
}

void StrictMover::copy(std::span<const ByteCopy> copies) {
  expect(has_begun_, "copies outside a moment");
  if (std::exchange(fails_, false)) throw std::runtime_error("copies cannot be started");
  for (std::size_t i = 0; i < copies.size(); ++i) {
    expect(copies[i].to != nullptr && copies[i].from != nullptr, "a copy with a null end");
    for (std::size_t j = 0; j < copies.size(); ++j) {
      expect(!overlap(target(copies[i]), source(copies[j])), "a copy reads what one writes");
      expect(i == j || !overlap(target(copies[i]), target(copies[j])),
             "two copies write one place");
    }
  }
  for (std::size_t i = copies.size(); i-- > 0;) {
    std::memmove(copies[i].to, copies[i].from, static_cast<std::size_t>(copies[i].num_bytes));
  }
  num_copies_ += std::ssize(copies);
}

void StrictMover::reduce(const backends::Reduction& reduction,
                         std::span<const std::byte* const> inputs,
                         std::int64_t first,
                         std::int64_t count,
                         std::span<std::byte* const> outputs) {
  expect(has_begun_, "a reduction outside a moment");
  const std::int64_t element = element_bytes(reduction.dtype);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Bytes output{.first = outputs[i], .count = count * element};
    for (const std::byte* input : inputs) {
      const Bytes read{.first = input + first * element, .count = count * element};
      expect(read.first == output.first || !overlap(read, output), "a reduction spoils its input");
    }
    for (std::size_t j = 0; j < i; ++j) {
      expect(!overlap(output, {.first = outputs[j], .count = count * element}),
             "two results of a reduction in one place");
    }
  }
  host_->reduce(reduction, inputs, first, count, outputs);
}

void StrictMover::poison(const RankStream& stream, const Buffer& buffer) {
  expect_met(stream);
  host_->poison(stream, buffer);
}

}  // namespace lockstep::test
