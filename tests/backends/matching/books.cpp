// Members are connected when a test first names them.
#include "tests/backends/matching/books.h"

#include <utility>

namespace lockstep::test {
namespace {

Buffer elements(std::int64_t count) {
  return {.storage = nullptr, .dtype = DType::kF64, .offset = 0, .count = count};
}

}  // namespace

CollectiveCall all_reduce(std::string_view label, std::int64_t count) {
  return {.label = label,
          .kind = CollectiveKind::kAllReduce,
          .input = elements(count),
          .output = elements(count)};
}

CollectiveCall send_to(int peer, std::string_view label) {
  return {
      .label = label, .kind = CollectiveKind::kSend, .input = elements(8), .peer = GroupRank{peer}};
}

CollectiveCall recv_from(int peer, std::string_view label) {
  return {.label = label,
          .kind = CollectiveKind::kRecv,
          .output = elements(8),
          .peer = GroupRank{peer}};
}

backends::Member& Books::of(int rank, GroupKind kind) {
  const std::pair key{rank, kind};
  for (const auto& [known, member] : members_) {
    if (known == key) return *member;
  }
  backends::Member& member = ledger.connect(Rank{rank}, *mesh.group_of(kind, Rank{rank}));
  members_.emplace_back(key, &member);
  return member;
}

backends::Arrival Books::submit(backends::Member& me, const CollectiveCall& call) {
  return ledger.submit(me, {&call, 1}).front();
}

bool Books::call(backends::Member& me, const CollectiveCall& call) {
  submit(me, call);
  return ledger.begin_wait(me, me.num_submits, call.label);
}

void Books::finish_last_wait(backends::Member& me) {
  ledger.finish_wait(me, links_of(me, me.num_submits));
}

void Books::call_on_tp(const std::vector<int>& ranks, std::string_view label) {
  start_on_tp(ranks, label);
  for (const int rank : ranks) finish_last_wait(of(rank));
}

void Books::start_on_tp(const std::vector<int>& ranks, std::string_view label) {
  for (const int rank : ranks) call(of(rank), all_reduce(label));
}

std::string to_text(const std::vector<backends::Finding>& findings) {
  std::string text;
  for (const backends::Finding& finding : findings) text += finding.message + "\n";
  return text;
}

}  // namespace lockstep::test
