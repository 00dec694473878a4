// A mover with streams whose memory is the host's: it holds an exchange to what a GPU's mover may
// rely on, and makes the moves of one list in an order that shows where one needs another.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/inprocess/mover.h"

namespace lockstep::test {

class StrictMover : public backends::StreamMover {
 public:
  Device& device() override { return host_->device(); }
  void meet(const backends::RankStream& stream) override;
  void follow(const backends::RankStream& later, Stream earlier) override;
  void begin(std::span<const backends::RankStream> streams) override;
  void end() override;
  void copy(std::span<const backends::ByteCopy> copies) override;
  void reduce(const backends::Reduction& reduction,
              std::span<const std::byte* const> inputs,
              std::int64_t first,
              std::int64_t count,
              std::span<std::byte* const> outputs) override;
  void poison(const backends::RankStream& stream, const Buffer& buffer) override;

  // Throws at the next copy.
  void fail_once() { fails_ = true; }
  // What an exchange did that it may not, each once; how many copies were made.
  const std::set<std::string>& complaints() const { return complaints_; }
  std::int64_t num_copies() const { return num_copies_; }

 private:
  void expect(bool holds, const std::string& complaint);
  void expect_met(const backends::RankStream& stream);

  std::unique_ptr<backends::Mover> host_ = backends::make_host_mover();
  std::set<std::pair<int, int>> met_;  // rank and stream
  bool has_begun_ = false;
  bool fails_ = false;
  std::int64_t num_copies_ = 0;
  std::set<std::string> complaints_;
};

}  // namespace lockstep::test
