// The include table and the dependency table. A new arrow or row is a change of the design.
#include "tests/structure/include_rules.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace lockstep::test {
namespace {

struct Arrow {
  std::string_view from;             // a folder of two parts
  std::vector<std::string_view> to;  // folders; "core" stands for all below it
};

const std::vector<Arrow> kArrows = {
    {"core/base", {}},
    {"core/config", {"core/base"}},
    {"core/tensor", {"core/base", "core/config"}},
    {"core/ops", {"core/base", "core/config", "core/tensor"}},
    {"core/autograd", {"core/base", "core/config", "core/tensor", "core/ops"}},
    {"core/comm", {"core/base", "core/config", "core/tensor"}},
    {"core/snapshot", {"core/base", "core/config", "core/tensor"}},
    // A placement gives the global slices that a shard carries, hence the arrow to core/snapshot.
    {"core/parallel",
     {"core/base",
      "core/config",
      "core/tensor",
      "core/ops",
      "core/autograd",
      "core/comm",
      "core/snapshot"}},
    {"core/moe",
     {"core/base",
      "core/config",
      "core/tensor",
      "core/ops",
      "core/autograd",
      "core/comm",
      "core/snapshot",
      "core/parallel"}},
    {"core/quant",
     {"core/base",
      "core/config",
      "core/tensor",
      "core/ops",
      "core/autograd",
      "core/comm",
      "core/snapshot",
      "core/parallel"}},
    {"core/model",
     {"core/base",
      "core/config",
      "core/tensor",
      "core/ops",
      "core/autograd",
      "core/comm",
      "core/snapshot",
      "core/parallel",
      "core/moe",
      "core/quant"}},
    {"core/train", {"core"}},
    // What backends share, and no backend: who calls what, and the server that keeps those books
    // for ranks in other processes.
    {"backends/matching", {"core/base", "core/config", "core/tensor", "core/comm"}},
    {"backends/coordinator",
     {"core/base", "core/config", "core/tensor", "core/comm", "backends/matching"}},
    // And what those of them that work on a GPU do there themselves.
    {"backends/cuda", {"core/base", "core/config", "core/tensor", "core/comm"}},
    {"backends/inprocess",
     {"core/base",
      "core/config",
      "core/tensor",
      "core/comm",
      "backends/matching",
      "backends/cuda"}},
    {"backends/gloo",
     {"core/base",
      "core/config",
      "core/tensor",
      "core/comm",
      "backends/matching",
      "backends/coordinator"}},
    {"backends/nccl",
     {"core/base",
      "core/config",
      "core/tensor",
      "core/comm",
      "backends/matching",
      "backends/coordinator",
      "backends/cuda"}},
    // A defect edits plans, and interposers see ports: neither needs a cluster or a backend.
    {"simulator/streams", {"core"}},
    {"simulator/faults", {"core"}},
    {"simulator/cost", {"core"}},
    {"simulator/defects", {"core"}},
    {"simulator/runtime",
     {"core",
      "backends",
      "simulator/streams",
      "simulator/faults",
      "simulator/cost",
      "simulator/defects"}},
    {"simulator/checks",
     {"core/base",
      "core/config",
      "core/snapshot",
      "core/train",
      "core/comm",
      "backends/matching",
      "simulator/runtime"}},
    // The reference is independent: of the core it knows the case and the data, nothing more.
    {"matrix/reference", {"core/base", "core/config", "simulator/checks"}},
    {"matrix/spec", {"core/base", "core/config", "simulator/checks", "simulator/defects"}},
    {"matrix/launch", {"core/base"}},
    {"matrix/covering", {"core", "matrix/spec"}},
    {"matrix/sweep", {"core", "backends", "simulator", "matrix"}},
    {"matrix/crew", {"core", "backends", "simulator", "matrix"}},
    {"matrix/mutate", {"core", "simulator", "matrix"}},
    {"matrix/explain", {"core", "backends", "simulator", "matrix"}},
    {"matrix/report", {"core", "backends", "simulator", "matrix"}},
    {"matrix/confirm", {"core", "backends", "simulator", "matrix"}},
    {"matrix/cli", {"core", "backends", "simulator", "matrix"}},
};

// No header of the product sees a dependency, but for a .cuh, which only kernels include; tests may
// see any of the table.
struct Dependency {
  std::string_view prefix;                  // of the path between < and >
  std::vector<std::string_view> seen_from;  // folders, each with its '/'
  std::size_t max_files;                    // outside tests/; kAnyNumber where it costs little
};

constexpr std::size_t kAnyNumber = 1'000'000;

const std::vector<Dependency> kDependencies = {
    {.prefix = "Eigen/", .seen_from = {"core/ops/"}, .max_files = 1},
    {.prefix = "boost/context/", .seen_from = {"simulator/runtime/"}, .max_files = 1},
    {.prefix = "boost/asio",
     .seen_from = {"matrix/sweep/", "backends/coordinator/"},
     .max_files = 2},
    {.prefix = "netinet/", .seen_from = {"backends/coordinator/"}, .max_files = 1},
    {.prefix = "boost/process", .seen_from = {"matrix/sweep/"}, .max_files = 1},
    {.prefix = "gloo/", .seen_from = {"backends/gloo/"}, .max_files = 2},
    {.prefix = "CLI/", .seen_from = {"matrix/cli/"}, .max_files = 1},
    {.prefix = "yaml-cpp/", .seen_from = {"matrix/spec/"}, .max_files = 1},
    // JSON: a case, the header of a safetensors file, a result line, what a rank's process hands
    // back, what a mutation or a confirmation came to, and the command's own output.
    {.prefix = "nlohmann/",
     .seen_from = {"core/config/",
                   "core/snapshot/",
                   "matrix/sweep/",
                   "matrix/crew/",
                   "matrix/mutate/",
                   "matrix/confirm/",
                   "matrix/cli/"},
     .max_files = 8},
    {.prefix = "fmt/",
     .seen_from = {"core/", "backends/", "simulator/", "matrix/"},
     .max_files = kAnyNumber},
    {.prefix = "sanitizer/", .seen_from = {"simulator/runtime/"}, .max_files = 1},
    // Kernels and what starts them.
    {.prefix = "cuda_runtime",
     .seen_from = {"core/tensor/cuda/", "core/ops/cuda/", "backends/cuda/", "backends/nccl/"},
     .max_files = kAnyNumber},
    {.prefix = "cublas", .seen_from = {"core/ops/cuda/"}, .max_files = 1},
    {.prefix = "nccl.h", .seen_from = {"backends/nccl/"}, .max_files = kAnyNumber},
    {.prefix = "gtest/", .seen_from = {}, .max_files = 0},
    {.prefix = "benchmark/", .seen_from = {}, .max_files = 0},
};

// What stands between `open` and `close` on an #include line.
std::optional<std::string> included(std::string_view line, char open, char close) {
  if (!line.starts_with("#include ")) return std::nullopt;
  const std::size_t begin = line.find(open);
  const std::size_t end = line.find(close, begin == std::string_view::npos ? begin : begin + 1);
  if (end == std::string_view::npos) return std::nullopt;
  return std::string(line.substr(begin + 1, end - begin - 1));
}

bool is_below(std::string_view folder, std::string_view ancestor) {
  return folder == ancestor ||
         (folder.starts_with(ancestor) && folder.substr(ancestor.size()).starts_with("/"));
}

bool is_allowed(const Arrow& arrow, std::string_view target) {
  return target == arrow.from || std::any_of(arrow.to.begin(), arrow.to.end(), [&](auto to) {
           return is_below(target, to);
         });
}

std::string arrow_problem(std::string_view from, std::string_view target) {
  const auto arrow =
      std::find_if(kArrows.begin(), kArrows.end(), [&](const Arrow& a) { return a.from == from; });
  if (arrow == kArrows.end()) return std::string(from) + " is in no row of the include table";
  if (is_allowed(*arrow, target)) return "";
  return std::string(from) + " may not include " + std::string(target);
}

const Dependency* find_dependency(std::string_view header) {
  const auto row = std::find_if(kDependencies.begin(),
                                kDependencies.end(),
                                [&](const Dependency& d) { return header.starts_with(d.prefix); });
  return row == kDependencies.end() ? nullptr : &*row;
}

std::string dependency_problem(const Dependency* row, const SourceFile& file) {
  if (row == nullptr) return "is in no row of the dependency table";
  if (file.path.starts_with("tests/")) return "";
  if (file.path.ends_with(".h")) return "may not be seen by a header";
  const bool here =
      std::any_of(row->seen_from.begin(), row->seen_from.end(), [&](std::string_view folder) {
        return file.path.starts_with(folder);
      });
  return here ? "" : "may not be seen from here";
}

}  // namespace

Findings check_arrows(const std::vector<SourceFile>& files) {
  Findings findings;
  for (const SourceFile& file : files) {
    if (file.path.starts_with("tests/") || file.path.ends_with("CMakeLists.txt")) continue;
    const std::vector<std::string> lines = lines_of(code_only(file.text));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto target = included(lines[i], '"', '"');
      if (!target) continue;
      const std::string problem = arrow_problem(folder_of(file.path, 2), folder_of(*target, 2));
      if (!problem.empty()) findings.push_back(at_line(file, i, problem + " (" + *target + ")"));
    }
  }
  return findings;
}

Findings check_dependencies(const std::vector<SourceFile>& files) {
  Findings findings;
  for (const SourceFile& file : files) {
    const std::vector<std::string> lines = lines_of(code_only(file.text));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto header = included(lines[i], '<', '>');
      if (!header) continue;
      const Dependency* const row = find_dependency(*header);
      // A standard header has no folder, and the system's own stand in sys/.
      const bool is_standard =
          header->find('/') == std::string::npos || header->starts_with("sys/");
      if (row == nullptr && is_standard) continue;
      const std::string problem = dependency_problem(row, file);
      if (!problem.empty()) findings.push_back(at_line(file, i, "<" + *header + "> " + problem));
    }
  }
  for (const Dependency& row : kDependencies) {
    std::set<std::string> seers;
    for (const SourceFile& file : files) {
      const bool sees =
          code_only(file.text).find("#include <" + std::string(row.prefix)) != std::string::npos;
      if (sees && !file.path.starts_with("tests/")) seers.insert(file.path);
    }
    if (seers.size() <= row.max_files) continue;
    std::string names;
    for (const std::string& seer : seers) names += " " + seer;
    findings.push_back("<" + std::string(row.prefix) + "> is seen by " +
                       std::to_string(seers.size()) + " files, more than " +
                       std::to_string(row.max_files) + ":" + names);
  }
  return findings;
}

}  // namespace lockstep::test
