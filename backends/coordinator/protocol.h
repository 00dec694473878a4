// What ranks and the coordinator say to each other, and its bytes.
//
// A frame is the payload's length in 4 bytes, then the payload: one message. Each side's first
// message and a refusal keep their form over all versions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/coordinator/bytes.h"
#include "backends/coordinator/client.h"
#include "core/comm/communicator.h"

namespace lockstep::backends {

inline constexpr std::uint64_t kProtocolMagic = 0x50455453'4b434f4c;  // LOCKSTEP
inline constexpr std::uint64_t kProtocolVersion = 3;

// From a rank.
struct Hello {
  std::uint64_t magic = kProtocolMagic;
  std::uint64_t version = kProtocolVersion;
  int seat = 0;
  std::uint64_t generation = 0;
};
struct SetValue {
  std::string key;
  std::string value;
};
struct GetValue {
  std::uint64_t request = 0;  // of the client's, from 1
  std::string key;
};
struct Connect {
  Group group;
};
struct Submit {
  int communicator = 0;
  std::vector<CollectiveCall> calls;  // without buffers; read from bytes, labels point into them
  std::vector<std::vector<std::int64_t>> splits;  // read from bytes: what the calls point to
};
struct Wait {
  int communicator = 0;
  std::uint64_t sequence = 0;
  std::string label;
};
struct Done {
  Go go;
};
enum class EndKind { kReturned, kThrew, kCancelled };
struct Ended {
  EndKind kind = EndKind::kReturned;
  std::string text;  // a result, or an error
};
struct Heartbeat {};

// From the coordinator.
struct Welcome {};
struct Refusal {
  std::string why;
};
struct Order {
  TrialOrder order;
  std::int64_t heartbeat_ms = 0;
};
struct Value {
  std::uint64_t request = 0;
  std::string value;
};
struct Abort {
  std::uint64_t trial = 0;
};
struct Goodbye {};

using FromRank =
    std::variant<Hello, SetValue, GetValue, Connect, Submit, Wait, Done, Ended, Heartbeat>;
using FromCoordinator = std::variant<Welcome, Refusal, Order, Value, Go, Abort, Goodbye>;

// A whole frame. std::length_error where the payload would be larger than kMaxPayload.
std::string frame_of(FromRank message);
std::string frame_of(FromCoordinator message);

// Of one payload, which must outlive the message. ProtocolError where it is none.
FromRank rank_message(std::string_view payload);
FromCoordinator coordinator_message(std::string_view payload);

inline constexpr std::size_t kMaxPayload = std::size_t{1} << 30U;
// A first message is small: whoever sends another thing first is no rank.
inline constexpr std::size_t kMaxHelloPayload = 256;

// Cuts a stream of bytes into payloads.
class FrameCutter {
 public:
  void set_max_payload(std::size_t max_payload) { max_payload_ = max_payload; }
  void add(std::string_view bytes) { bytes_.append(bytes); }
  // The next whole payload, valid until the next call of a member; none: more bytes are needed.
  // ProtocolError where one is too large.
  std::optional<std::string_view> next();

 private:
  std::string bytes_;
  std::size_t begin_ = 0;  // of what has not been given out
  std::size_t max_payload_ = kMaxPayload;
};

}  // namespace lockstep::backends
