// Strict parsing of numbers and choices, and the table of devices and backends.
#include "matrix/cli/values.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "backends/gloo/transport.h"
#include "core/base/errors.h"
#include "core/config/fields.h"
#include "simulator/defects/defect.h"

namespace lockstep::matrix {
namespace {

template <typename Number>
bool parse_whole(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::int64_t integer_option(std::string_view flag,
                            std::string_view text,
                            std::int64_t smallest,
                            std::int64_t largest) {
  std::int64_t number = 0;
  if (parse_whole(text, number) && number >= smallest && number <= largest) return number;
  throw UsageError(fmt::format(
      "{}: expected an integer from {} to {}, got '{}'", flag, smallest, largest, text));
}

double positive_option(std::string_view flag, std::string_view text, double largest) {
  double number = 0.0;
  if (parse_whole(text, number) && number > 0.0 && number <= largest) return number;
  throw UsageError(
      fmt::format("{}: expected a number above 0, at most {}, got '{}'", flag, largest, text));
}

std::string defect_option(const std::string& text) {
  std::vector<std::string> ids;
  std::vector<std::string> beginning_so;
  for (const sim::Defect& defect : sim::defects()) {
    if (defect.id == text) return text;
    ids.push_back(defect.id);
    if (!text.empty() && defect.id.starts_with(text)) beginning_so.push_back(defect.id);
  }
  if (beginning_so.empty()) {
    throw UsageError(fmt::format(
        "unknown defect '{}'{}", text, did_you_mean(text, ids, "; see 'lockstep list defects'")));
  }
  throw UsageError(fmt::format(
      "unknown defect '{}'; did you mean '{}'?", text, fmt::join(beginning_so, "' or '")));
}

std::string choice_option(std::string_view flag,
                          std::string_view text,
                          const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& name : known) {
    if (name == text) return name;
    list += (list.empty() ? "" : ", ") + name;
  }
  throw UsageError(fmt::format(
      "{}: expected one of {}; got '{}'{}", flag, list, text, did_you_mean(text, known)));
}

const std::vector<BackendRow>& backend_rows() {
  static const std::vector<BackendRow> rows = {
      {"--device", "cpu", true, "tensors in memory, products by Eigen"},
      {"--device", "cuda", false, "NVIDIA GPUs"},
      {"--comm", "inproc", true, "in-process rendezvous of simulated ranks"},
      {"--comm",
       "gloo",
       backends::why_no_gloo().empty(),
       "a process a rank, here or by mpirun, srun and torchrun, over TCP",
       backends::why_no_gloo()},
      {"--comm", "nccl", false, "NVIDIA GPUs over NVLink and InfiniBand"},
      {"--ranks", "fibers", true, "ranks take turns on one thread, by a seeded schedule"},
      {"--ranks", "threads", true, "a thread a rank; the same bits"},
  };
  return rows;
}

void check_backends(const Arguments& arguments) {
  const auto check = [](const std::string& flag, const std::string& text) {
    if (text.empty()) return;
    std::vector<std::string> known;
    for (const BackendRow& row : backend_rows()) {
      if (row.flag == flag) known.push_back(row.name);
    }
    choice_option(flag, text, known);
    for (const BackendRow& row : backend_rows()) {
      if (row.flag == flag && row.name == text && !row.built) {
        throw NotAvailable(fmt::format(
            "{} {}: {}",
            flag,
            text,
            row.why_not.empty() ? "this build has no " + text + "; see lockstep list backends"
                                : row.why_not));
      }
    }
  };
  check("--device", arguments.device);
  check("--comm", arguments.comm);
  check("--ranks", arguments.ranks);
  if (!arguments.ranks.empty() && !arguments.comm.empty() && arguments.comm != "inproc") {
    throw UsageError(fmt::format(
        "--ranks {} says what simulated ranks run on; with --comm {} every rank is a process",
        arguments.ranks,
        arguments.comm));
  }
}

sim::RankHost rank_host(const std::string& text) {
  return text == "threads" ? sim::RankHost::kThreads : sim::RankHost::kFibers;
}

}  // namespace lockstep::matrix
