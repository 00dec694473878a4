// The process whose threads serve seats: a line on its standard input for each to be served, a line
// on its standard output for each whose thread has ended.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "matrix/crew/seat_work.h"

namespace lockstep::matrix {

// "SEAT GENERATION", with the line's end.
std::string to_line(const backends::SeatId& id);
// Of a line without its end; none for any other.
std::optional<backends::SeatId> seat_from_line(std::string_view line);

// "SEAT GENERATION WHY": before the thread's line to the coordinator breaks. Without a reason where
// it has just ended, as after a goodbye.
struct EndNotice {
  backends::SeatId id;
  std::string why = {};
};
std::string to_line(const EndNotice& notice);
std::optional<EndNotice> notice_from_line(std::string_view line);

// Serves until standard input ends, then ends this process at once: its threads may never.
[[noreturn]] void host_seats(const backends::CoordinatorAddress& coordinator,
                             const MakeSeatWork& make_work);

}  // namespace lockstep::matrix
