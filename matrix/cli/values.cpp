// Strict parsing of numbers and choices, and the table of devices and backends.
#include "matrix/cli/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

#include "backends/gloo/transport.h"
#include "backends/nccl/transport.h"
#include "core/base/errors.h"
#include "core/config/fields.h"
#include "core/tensor/cuda/gpu.h"
#include "simulator/defects/defect.h"

namespace lockstep::matrix {
namespace {

template <typename Number>
bool parse_whole(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::string is_everywhere() { return ""; }

std::string why_no_nccl() { return backends::why_no_nccl(1); }

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
      {"--device", "cpu", "tensors in memory, products by Eigen", is_everywhere},
      {"--device", "cuda", "an NVIDIA GPU, products by cuBLAS", why_no_cuda},
      {"--comm", "inproc", "in-process rendezvous of simulated ranks", is_everywhere},
      {"--comm", "gloo", "a process a rank, over TCP", backends::why_no_gloo},
      {"--comm", "nccl", "a thread a rank, one or several a GPU", why_no_nccl},
      {"--ranks", "fibers", "ranks take turns on one thread, by a seeded schedule", is_everywhere},
      {"--ranks", "threads", "a thread a rank; the same bits", is_everywhere},
  };
  return rows;
}

namespace {

const BackendRow& row_of(const std::string& flag, const std::string& text) {
  std::vector<std::string> known;
  for (const BackendRow& row : backend_rows()) {
    if (row.flag == flag) known.push_back(row.name);
  }
  choice_option(flag, text, known);
  return *std::find_if(backend_rows().begin(), backend_rows().end(), [&](const BackendRow& row) {
    return row.flag == flag && row.name == text;
  });
}

void check_combination(const Arguments& arguments) {
  const std::string& comm = arguments.comm;
  const bool simulates = comm.empty() || comm == "inproc";
  if (!arguments.ranks.empty() && !simulates) {
    throw UsageError(fmt::format(
        "--ranks {} says what simulated ranks run on; with --comm {} ranks are not simulated",
        arguments.ranks,
        comm));
  }
  if (comm == "nccl" && arguments.device == "cpu") {
    throw UsageError("--comm nccl connects GPUs and goes with --device cuda, got --device cpu");
  }
  if (comm == "gloo" && arguments.device == "cuda") {
    throw UsageError("--comm gloo connects CPUs and goes with --device cpu, got --device cuda");
  }
  if (arguments.gpus.empty()) return;
  if (comm != "nccl") throw UsageError("--gpus: only ranks of --comm nccl are spread over GPUs");
  // How many there are is known where there are any: gpus_option.
  integer_option("--gpus", arguments.gpus, 1, std::numeric_limits<int>::max());
}

}  // namespace

void check_backends(const Arguments& arguments) {
  std::vector<const BackendRow*> chosen;
  const auto choose = [&](const std::string& flag, const std::string& text) {
    if (!text.empty()) chosen.push_back(&row_of(flag, text));
  };
  choose("--device", arguments.device);
  choose("--comm", arguments.comm);
  choose("--ranks", arguments.ranks);
  check_combination(arguments);
  for (const BackendRow* row : chosen) {
    const std::string why = row->why_not();
    if (!why.empty()) throw NotAvailable(fmt::format("{} {}: {}", row->flag, row->name, why));
  }
}

std::string device_option(const Arguments& arguments) {
  if (!arguments.device.empty()) return arguments.device;
  return arguments.comm == "nccl" ? "cuda" : "cpu";
}

sim::RankHost rank_host(const std::string& text) {
  return text == "threads" ? sim::RankHost::kThreads : sim::RankHost::kFibers;
}

}  // namespace lockstep::matrix
