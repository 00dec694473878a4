// A thread a line, and a notice for each thread that ends.
#include "matrix/crew/host_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <utility>

#include "matrix/sweep/write_all.h"

namespace lockstep::matrix {
namespace {

using backends::SeatId;

template <typename Number>
bool take_number(std::string_view& rest, Number& number) {
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return error == std::errc();
}

bool take_space(std::string_view& rest) {
  if (!rest.starts_with(' ')) return false;
  rest.remove_prefix(1);
  return true;
}

bool take_seat(std::string_view& rest, SeatId& id) {
  return take_number(rest, id.seat) && take_space(rest) && take_number(rest, id.generation);
}

// Out of reach of whatever libraries print: that goes to standard error.
int take_notice_descriptor() {
  const int notices = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  return notices;
}

// Given when the thread leaves, however it does.
struct NoticeAtEnd {
  NoticeAtEnd(int to, const SeatId& id) : descriptor(to), notice{.id = id} {}
  ~NoticeAtEnd() { write_all(descriptor, to_line(notice)); }
  NoticeAtEnd(const NoticeAtEnd&) = delete;
  NoticeAtEnd& operator=(const NoticeAtEnd&) = delete;

  int descriptor;
  EndNotice notice;
};

void serve_seat(const backends::CoordinatorAddress& coordinator,
                const SeatId& id,
                const MakeSeatWork& make_work,
                int notices) {
  std::optional<backends::CoordinatorClient> client;  // its line breaks after the notice
  NoticeAtEnd at_end(notices, id);
  try {
    client.emplace(backends::CoordinatorClient::Options{
        .address = coordinator, .seat = id.seat, .generation = id.generation});
    serve_trials(*client, make_work(*client));
  } catch (const std::exception& error) {
    at_end.notice.why = error.what();
  }
}

}  // namespace

std::string to_line(const SeatId& id) { return fmt::format("{} {}\n", id.seat, id.generation); }

std::optional<SeatId> seat_from_line(std::string_view line) {
  SeatId id;
  if (!take_seat(line, id) || !line.empty()) return std::nullopt;
  return id;
}

std::string to_line(const EndNotice& notice) {
  // Short enough to be written at once, whatever other threads write.
  constexpr std::size_t kLongest = 1000;
  std::string why = notice.why.substr(0, kLongest);
  std::replace(why.begin(), why.end(), '\n', ' ');
  return fmt::format("{} {} {}\n", notice.id.seat, notice.id.generation, why);
}

std::optional<EndNotice> notice_from_line(std::string_view line) {
  EndNotice notice;
  if (!take_seat(line, notice.id) || !take_space(line)) return std::nullopt;
  notice.why = line;
  return notice;
}

void host_seats(const backends::CoordinatorAddress& coordinator, const MakeSeatWork& make_work) {
  bind_to_parent();
  const int notices = take_notice_descriptor();
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::optional<SeatId> id = seat_from_line(line);
    if (!id) continue;
    try {
      std::thread([&coordinator, &make_work, seat = *id, notices] {
        serve_seat(coordinator, seat, make_work, notices);
      }).detach();
    } catch (const std::system_error& error) {
      write_all(notices, to_line(EndNotice{.id = *id, .why = error.what()}));
    }
  }
  std::_Exit(0);
}

}  // namespace lockstep::matrix
