// Connects sets of processes by addresses that they leave in the coordinator's store.
#include "backends/gloo/connections.h"

#include <fmt/format.h>
#include <gloo/config.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "core/base/errors.h"

namespace lockstep::backends {
namespace {

// Sets of ranks that a process keeps connected; beyond that it starts anew at the next trial.
constexpr std::size_t kMaxConnections = 256;

// The coordinator's store as Gloo sees it, under a prefix.
class Store : public ::gloo::rendezvous::Store {
 public:
  Store(CoordinatorClient& client, std::string prefix, std::chrono::milliseconds timeout)
      : client_(client), prefix_(std::move(prefix)), timeout_(timeout) {}

  void set(const std::string& key, const std::vector<char>& data) override {
    client_.set(prefix_ + key, std::string_view(data.data(), data.size()));
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = client_.get(prefix_ + key, timeout_);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override {
    for (const std::string& key : keys) client_.get(prefix_ + key, timeout);
  }

 private:
  CoordinatorClient& client_;
  std::string prefix_;
  std::chrono::milliseconds timeout_;
};

std::string key_of_mark(std::uint64_t trial, Rank rank) {
  return fmt::format("gloo/mark/{}/{}", trial, rank.value);
}

}  // namespace

GlooConnections::Impl::Impl(CoordinatorClient& line, const Options& chosen)
    : client_(line), options_(chosen) {
  // Gloo writes to sockets whose other end may be gone and does not ask for an error instead.
  std::signal(SIGPIPE, SIG_IGN);
  ::gloo::transport::tcp::attr attributes;
  attributes.hostname = chosen.address;
  try {
    device_ = ::gloo::transport::tcp::CreateDevice(attributes);
  } catch (const std::exception& error) {
    throw UsageError(fmt::format(
        "Gloo cannot use the address '{}' of this machine: {}", chosen.address, error.what()));
  }
}

GlooConnections::Impl::~Impl() = default;

void GlooConnections::Impl::begin_trial(const TrialOrder& order) {
  order_ = order;
  marks_.clear();
  used_.clear();
  if (mark_.empty() || spoiled_ || by_key_.size() > kMaxConnections) {
    by_key_.clear();
    spoiled_ = false;
    mark_ = fmt::format("{}.{}", order.number, order.rank.value);
  }
  client_.set(key_of_mark(order.number, order.rank), mark_);
}

const std::string& GlooConnections::Impl::mark_of(Rank rank) {
  const auto [known, is_new] = marks_.try_emplace(rank);
  if (is_new) {
    known->second = rank == order_.rank
                        ? mark_
                        : client_.get(key_of_mark(order_.number, rank), options_.timeout);
  }
  return known->second;
}

GlooConnection& GlooConnections::Impl::connection_of(std::span<const Rank> members) {
  GlooConnection*& used = used_[std::vector<Rank>(members.begin(), members.end())];
  if (used != nullptr) return *used;
  std::string key;
  for (const Rank member : members)
    key += fmt::format("{}{}", key.empty() ? "" : "+", mark_of(member));
  std::unique_ptr<GlooConnection>& connection = by_key_[key];
  if (connection == nullptr) connection = connect(key, members);
  used = connection.get();
  return *used;
}

std::unique_ptr<GlooConnection> GlooConnections::Impl::connect(const std::string& key,
                                                               std::span<const Rank> members) {
  const auto me = std::find(members.begin(), members.end(), order_.rank) - members.begin();
  auto context = std::make_shared<::gloo::rendezvous::Context>(static_cast<int>(me),
                                                               static_cast<int>(members.size()));
  context->setTimeout(options_.timeout);
  Store store(client_, fmt::format("gloo/{}/", key), options_.timeout);
  context->connectFullMesh(store, device_);
  auto connection = std::make_unique<GlooConnection>();
  connection->context = std::move(context);
  return connection;
}

GlooConnections::GlooConnections(CoordinatorClient& client, const Options& options)
    : impl_(std::make_unique<Impl>(client, options)) {}

GlooConnections::~GlooConnections() = default;

std::string why_no_gloo() { return {}; }

std::string gloo_version() {
  return fmt::format("{}.{}.{}", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH);
}

}  // namespace lockstep::backends
