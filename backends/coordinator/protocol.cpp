// Each message's fields, listed once for both directions, and frames.
#include "backends/coordinator/protocol.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

namespace lockstep::backends {
namespace {

constexpr std::size_t kHeaderBytes = 4;
constexpr int kNumCollectiveKinds = 8;
constexpr int kNumDTypes = 4;
constexpr int kNumReduceOps = 2;
constexpr int kNumEndKinds = 3;

// Beyond its version, the hello of another one is not understood.
template <class Bytes>
void fields(Bytes& bytes, Hello& hello) {
  bytes.number(hello.magic);
  bytes.number(hello.version);
  if (hello.magic != kProtocolMagic || hello.version != kProtocolVersion) return bytes.rest();
  bytes.number(hello.seat);
  bytes.number(hello.generation);
}

template <class Bytes>
void fields(Bytes& bytes, SetValue& set) {
  bytes.text(set.key);
  bytes.text(set.value);
}

template <class Bytes>
void fields(Bytes& bytes, GetValue& get) {
  bytes.number(get.request);
  bytes.text(get.key);
}

template <class Bytes>
void fields(Bytes& bytes, Connect& connect) {
  bytes.choice(connect.group.kind, kNumGroupKinds);
  bytes.number(connect.group.index);
  connect.group.ranks.resize(bytes.length(connect.group.ranks.size()));
  for (Rank& rank : connect.group.ranks) bytes.number(rank.value);
}

void splits_field(ByteWriter& bytes, Submit& /*submit*/, std::span<const std::int64_t>& splits) {
  bytes.length(splits.size());
  for (const std::int64_t part : splits) bytes.number(part);
}

void splits_field(ByteReader& bytes, Submit& submit, std::span<const std::int64_t>& splits) {
  std::vector<std::int64_t> parts(bytes.length(0));
  for (std::int64_t& part : parts) bytes.number(part);
  if (parts.empty()) return;
  submit.splits.push_back(std::move(parts));
  splits = submit.splits.back();
}

template <class Bytes>
void fields(Bytes& bytes, Submit& submit) {
  bytes.number(submit.communicator);
  submit.calls.resize(bytes.length(submit.calls.size()));
  for (CollectiveCall& call : submit.calls) {
    bytes.text(call.label);
    bytes.choice(call.kind, kNumCollectiveKinds);
    for (Buffer* buffer : {&call.input, &call.output}) {
      bytes.choice(buffer->dtype, kNumDTypes);
      bytes.number(buffer->count);
    }
    bytes.choice(call.op, kNumReduceOps);
    bytes.number(call.peer.value);
    bytes.number(call.tag);
    splits_field(bytes, submit, call.input_splits);
    splits_field(bytes, submit, call.output_splits);
  }
}

template <class Bytes>
void fields(Bytes& bytes, Wait& wait) {
  bytes.number(wait.communicator);
  bytes.number(wait.sequence);
  bytes.text(wait.label);
}

template <class Bytes>
void fields(Bytes& bytes, Go& go) {
  bytes.number(go.communicator);
  bytes.number(go.sequence);
  bytes.number(go.message);
  bytes.number(go.place);
}

template <class Bytes>
void fields(Bytes& bytes, Done& done) {
  fields(bytes, done.go);
}

template <class Bytes>
void fields(Bytes& bytes, Ended& ended) {
  bytes.choice(ended.kind, kNumEndKinds);
  bytes.text(ended.text);
}

template <class Bytes>
void fields(Bytes& /*bytes*/, Heartbeat& /*heartbeat*/) {}

template <class Bytes>
void fields(Bytes& /*bytes*/, Welcome& /*welcome*/) {}

template <class Bytes>
void fields(Bytes& bytes, Refusal& refusal) {
  bytes.text(refusal.why);
}

template <class Bytes>
void fields(Bytes& bytes, Order& order) {
  bytes.number(order.order.number);
  bytes.number(order.order.rank.value);
  bytes.number(order.order.world);
  bytes.number(order.order.lineup);
  bytes.text(order.order.request);
  bytes.number(order.heartbeat_ms);
}

template <class Bytes>
void fields(Bytes& bytes, Value& value) {
  bytes.number(value.request);
  bytes.text(value.value);
}

template <class Bytes>
void fields(Bytes& bytes, Abort& abort) {
  bytes.number(abort.trial);
}

template <class Bytes>
void fields(Bytes& /*bytes*/, Goodbye& /*goodbye*/) {}

template <class Message>
std::string to_frame(Message& message) {
  ByteWriter bytes;
  std::size_t index = message.index();
  bytes.number(index);
  std::visit([&](auto& its) { fields(bytes, its); }, message);
  const std::string payload = bytes.take();
  if (payload.size() > kMaxPayload) {
    throw std::length_error(
        fmt::format("a message of {} bytes is larger than the {} that one may "
                    "have on a line to the coordinator",
                    payload.size(),
                    kMaxPayload));
  }
  const auto size = static_cast<std::uint32_t>(payload.size());
  std::string frame(kHeaderBytes, '\0');
  std::memcpy(frame.data(), &size, kHeaderBytes);
  return frame + payload;
}

// The alternative of that index, from `Index` on.
template <class Message, std::size_t Index = 0>
Message alternative(std::size_t index) {
  if constexpr (Index < std::variant_size_v<Message>) {
    if (index == Index) return Message(std::in_place_index<Index>);
    return alternative<Message, Index + 1>(index);
  } else {
    throw ProtocolError("a message is of no known kind");
  }
}

template <class Message>
Message from_payload(std::string_view payload) {
  ByteReader bytes(payload);
  std::size_t index = 0;
  bytes.number(index);
  auto message = alternative<Message>(index);
  std::visit([&](auto& its) { fields(bytes, its); }, message);
  bytes.expect_end();
  return message;
}

}  // namespace

std::string frame_of(FromRank message) { return to_frame(message); }
std::string frame_of(FromCoordinator message) { return to_frame(message); }

FromRank rank_message(std::string_view payload) { return from_payload<FromRank>(payload); }

FromCoordinator coordinator_message(std::string_view payload) {
  return from_payload<FromCoordinator>(payload);
}

std::optional<std::string_view> FrameCutter::next() {
  const std::string_view rest = std::string_view(bytes_).substr(begin_);
  std::uint32_t size = 0;
  if (rest.size() >= kHeaderBytes) {
    std::memcpy(&size, rest.data(), kHeaderBytes);
    if (size > max_payload_) {
      throw ProtocolError(
          fmt::format("a message of {} bytes, where {} are allowed", size, max_payload_));
    }
    if (rest.size() - kHeaderBytes >= size) {
      begin_ += kHeaderBytes + size;
      return rest.substr(kHeaderBytes, size);
    }
  }
  // What has been given out goes at once, not frame by frame.
  bytes_.erase(0, begin_);
  begin_ = 0;
  return std::nullopt;
}

}  // namespace lockstep::backends
