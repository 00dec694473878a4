// Wraps the in-process backend on fibers.
#include "tests/backends/conformance/spoilt_transport.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "core/base/errors.h"
#include "core/comm/call_rules.h"

namespace lockstep::test {
namespace {

constexpr std::string_view kWhyLacking = "it was planted so";

struct Submitted {
  std::vector<CollectiveCall> calls;
  std::vector<Bytes> before;
  Ticket inner;
};

class SpoiltCommunicator : public Communicator, public TicketSource {
 public:
  SpoiltCommunicator(std::unique_ptr<Communicator> inner, GroupRank me, const Spoiling& spoiling)
      : inner_(std::move(inner)), me_(me), spoiling_(spoiling) {}

  const Group& group() const override { return inner_->group(); }

  Ticket submit(std::span<const CollectiveCall> calls) override {
    Submitted submitted{.calls = {calls.begin(), calls.end()}, .before = {}, .inner = {}};
    for (CollectiveCall& call : submitted.calls) {
      if (why_wrong(call, me_, group().size())) {
        if (spoiling_.swallows_wrong_calls) return {.source = this, .sequence = 0};
        continue;
      }
      refuse_what_lacks(call);
      submitted.before.push_back(bytes_of(call.output));
      SpoiltCall spoilt{
          .group = group(), .me = me_, .call = call, .before = submitted.before.back()};
      if (spoiling_.on_submit) spoiling_.on_submit(spoilt);
    }
    submitted.inner = inner_->submit(submitted.calls);
    under_way_.emplace(++num_submits_, std::move(submitted));
    return {.source = this, .sequence = num_submits_};
  }

  void wait(std::uint64_t sequence, Stream stream, std::string_view label) override {
    const auto found = under_way_.find(sequence);
    if (found == under_way_.end()) return;  // swallowed
    Submitted& submitted = found->second;
    const bool is_barrier = submitted.calls.front().kind == CollectiveKind::kBarrier;
    if (is_barrier && spoiling_.skips_barrier_waits) return;
    submitted.inner.source->wait(submitted.inner.sequence, stream, label);
    for (std::size_t i = 0; i < submitted.calls.size() && spoiling_.on_wait; ++i) {
      SpoiltCall spoilt{.group = group(),
                        .me = me_,
                        .call = submitted.calls[i],
                        .before = submitted.before[i],
                        .is_oldest = found == under_way_.begin()};
      spoiling_.on_wait(spoilt);
    }
    under_way_.erase(found);
  }

 private:
  void refuse_what_lacks(const CollectiveCall& call) const {
    if (!spoiling_.lacks || !spoiling_.refuses_what_it_lacks) return;
    const CallType type{.kind = call.kind, .dtype = call.output.dtype, .op = call.op};
    if (to_text(type) != to_text(*spoiling_.lacks)) return;
    throw InternalError(to_text(type) + " is refused: " + std::string(kWhyLacking));
  }

  std::unique_ptr<Communicator> inner_;
  GroupRank me_;
  const Spoiling& spoiling_;
  std::uint64_t num_submits_ = 0;
  std::map<std::uint64_t, Submitted> under_way_;
};

class SpoiltTransport : public Transport {
 public:
  SpoiltTransport(Transport& inner, const Spoiling& spoiling)
      : inner_(inner), spoiling_(spoiling) {}

  Support supports(const CallType& type) const override {
    if (spoiling_.lacks && to_text(type) == to_text(*spoiling_.lacks)) {
      return {.kind = SupportKind::kNone, .how = kWhyLacking};
    }
    return inner_.supports(type);
  }
  std::unique_ptr<Communicator> connect(Rank rank, const Group& group) override {
    return std::make_unique<SpoiltCommunicator>(
        inner_.connect(rank, group), *group.rank_of(rank), spoiling_);
  }

 private:
  Transport& inner_;
  const Spoiling& spoiling_;
};

}  // namespace

Bytes bytes_of(const Buffer& buffer) {
  if (buffer.count == 0 || buffer.storage == nullptr) return {};
  return {buffer.bytes(), buffer.bytes() + buffer.num_bytes()};
}

void put_bytes(const Buffer& buffer, const Bytes& bytes) {
  if (!bytes.empty()) std::memcpy(buffer.bytes(), bytes.data(), bytes.size());
}

RunOutcome run_spoilt(const Spoiling& spoiling, const Layout& layout, const RankProgram& program) {
  const sim::ClusterReport report = spawn_ranks(layout, [&](TestRank& r) {
    SpoiltTransport transport(r.transport, spoiling);
    TestRank spoilt{.rank = r.rank, .transport = transport, .device = r.device, .mesh = r.mesh};
    program(spoilt);
  });
  return {.findings = report.findings,
          .num_calls = report.num_calls,
          .num_matched = report.num_matched};
}

}  // namespace lockstep::test
