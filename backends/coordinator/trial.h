// One trial as its coordinator sees it: who has submitted what, who may go, when it is over and
// why.
//
// It has neither sockets nor a clock: it is told what ranks say and what time it is. Causes are
// told before consequences: after a loss it goes on for a while, to hear of more.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backends/coordinator/coordinator.h"
#include "backends/coordinator/protocol.h"
#include "backends/coordinator/started_calls.h"
#include "backends/matching/ledger.h"

namespace lockstep::backends {

class Trial {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // How long a rank's word of life may be late before it counts as silent, and how often one is
  // sent.
  static std::chrono::milliseconds longest_silence(const TrialLimits& limits);
  static std::chrono::milliseconds heartbeat_interval(const TrialLimits& limits);

  // The mesh must outlive it.
  struct Options {
    const Mesh& mesh;
    TrialLimits limits;
    std::function<void(Rank, const Go&)> send_go;
    std::vector<int> processes = {};  // which one serves each rank; empty: each another
  };
  Trial(const Options& options, Time start);

  // ProtocolError where no client of this version says so.
  void take(Rank rank, const FromRank& message, Time now);
  // Its line broke, or was cut because of what it said.
  void lost(Rank rank, const std::string& how, Time now);

  bool has_ended(Rank rank) const { return of(rank).ended; }
  // Every rank has ended, or none can go on, or it has taken too long.
  bool is_over(Time now) const;
  // When it is over if nothing happens.
  Time due() const;
  // Once, when it is over.
  TrialOutcome finish(Time now);

 private:
  struct WaitedFor {
    int communicator;
    std::uint64_t sequence;
    std::string label;
  };
  struct RankBook {
    std::vector<Member*> communicators;
    std::optional<WaitedFor> waited;  // in a wait: blocked, or doing what it was told to
    bool ended = false;
    // Of one that threw out of a call that had started: perhaps only because another was lost.
    std::optional<std::string> suspect;
    std::string result;
    Time heard;      // anything
    Time last_word;  // apart from heartbeats
  };

  void on(Rank rank, const Connect& connect);
  void on(Rank rank, const Submit& submit);
  void on(Rank rank, const Wait& wait);
  void on(Rank rank, const Done& done);
  void on(Rank rank, const Ended& ended);
  void on(Rank /*rank*/, const SetValue& /*set*/) {}
  void on(Rank /*rank*/, const GetValue& /*get*/) {}
  void on(Rank /*rank*/, const Heartbeat& /*heartbeat*/) {}
  void on(Rank rank, const Hello& hello);

  Member& member(Rank rank, int communicator);
  void end_wait_if_done(Rank rank);
  // It waits for a call that one which has ended was to do.
  bool is_stuck(Rank rank) const;
  bool can_go_on(Rank rank) const;
  bool nobody_can_go_on() const;
  bool has_suspects() const;
  void shorten(Time due);

  // The end.
  // As stalled; false where there is none.
  bool name_silent_ranks(Time now);
  void settle_suspects(Time now);
  void name_who_stalls(Time now);
  std::string waited_call(const StartedPart& part) const;
  std::vector<Finding> unfinished_by_returned() const;

  int world() const { return static_cast<int>(ranks_.size()); }
  RankBook& of(Rank rank) { return ranks_[static_cast<std::size_t>(rank.value)]; }
  const RankBook& of(Rank rank) const { return ranks_[static_cast<std::size_t>(rank.value)]; }

  Options options_;
  Ledger ledger_;
  StartedCalls started_;
  std::vector<RankBook> ranks_;
  Time now_;                     // of what it was last told
  Time last_event_;              // apart from heartbeats
  bool has_cause_ = false;       // a rank was lost, or threw by itself
  std::optional<Time> cut_off_;  // after a failure, when it is over at the latest
};

}  // namespace lockstep::backends
