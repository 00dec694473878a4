// Least-squares ratios and the products of group sizes that equal them.
#include "simulator/checks/hint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/base/errors.h"

namespace lockstep::sim {
namespace {

// Every product of at most two sizes that equals the ratio.
std::vector<std::string> products_equal_to(double ratio,
                                           std::span<const NamedSize> sizes,
                                           double tolerance) {
  const auto equals = [tolerance](double a, double b) {
    return std::abs(a - b) <= tolerance * std::abs(b);
  };
  std::vector<std::string> names;
  // As much as nothing is explained by anything.
  if (equals(ratio, 1.0)) return names;
  for (const NamedSize& a : sizes) {
    const auto size = static_cast<double>(a.size);
    if (equals(ratio, size)) names.push_back(std::string(a.name));
    if (equals(ratio, 1.0 / size)) names.push_back(fmt::format("1/{}", a.name));
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (std::size_t j = 0; j < sizes.size(); ++j) {
      if (i == j) continue;
      const NamedSize& a = sizes[i];
      const NamedSize& b = sizes[j];
      const auto size_a = static_cast<double>(a.size);
      const auto size_b = static_cast<double>(b.size);
      if (i < j && equals(ratio, size_a * size_b)) {
        names.push_back(fmt::format("{}*{}", a.name, b.name));
      }
      if (i < j && equals(ratio, 1.0 / (size_a * size_b))) {
        names.push_back(fmt::format("1/({}*{})", a.name, b.name));
      }
      if (equals(ratio, size_a / size_b)) names.push_back(fmt::format("{}/{}", a.name, b.name));
    }
  }
  return names;
}

bool is_no_target(const NamedSize& size) { return size.name != kTargets; }
bool is_group(const NamedSize& size) { return is_no_target(size) && size.name != kMicroBatches; }
bool is_no_group(const NamedSize& size) { return !is_group(size); }

// "a/b", but neither "1/a" nor "1/(a*b)".
bool is_quotient(std::string_view name) {
  return name.find('/') != std::string_view::npos && !name.starts_with("1/");
}

}  // namespace

std::vector<NamedSize> sizes_of(const Case& c) {
  std::vector<NamedSize> sizes = {{.name = "tp", .size = c.layout.tp},
                                  {.name = "cp", .size = c.layout.cp},
                                  {.name = "dp", .size = c.layout.dp},
                                  {.name = "pp", .size = c.layout.pp}};
  if (c.model.num_experts > 0) {
    sizes.push_back({.name = "ep", .size = c.layout.ep});
    sizes.push_back({.name = "etp", .size = expert_tensor_parallel(c.layout)});
    sizes.push_back({.name = "edp", .size = expert_data_parallel(c.layout)});
  }
  sizes.push_back({.name = kMicroBatches, .size = num_micro_batches(c)});
  std::erase_if(sizes, [](const NamedSize& size) { return size.size <= 1; });
  return sizes;
}

HintTolerance hint_tolerance(Precision precision) {
  switch (precision) {
    case Precision::kF64:
      return kExactHints;
    case Precision::kF32:
      return {.fit = 1e-3, .ratio = 1e-4};
    case Precision::kBF16:
      return {.fit = 5e-2, .ratio = 5e-3};
  }
  throw InternalError("unknown precision");
}

std::vector<NamedSize> with_targets(std::vector<NamedSize> sizes, std::int64_t targets) {
  if (targets > 1) sizes.push_back({.name = kTargets, .size = targets});
  return sizes;
}

std::string explain_ratio(double ratio,
                          std::span<const NamedSize> sizes,
                          const HintTolerance& tolerance) {
  // As many digits as the tolerance leaves.
  const int digits = std::min(6, static_cast<int>(-std::log10(tolerance.ratio)));
  const std::string text = fmt::format("x{:.{}g}", ratio, digits);
  const auto among = [&](bool (*has)(const NamedSize&)) {
    std::vector<NamedSize> some;
    std::copy_if(sizes.begin(), sizes.end(), std::back_inserter(some), has);
    return products_equal_to(ratio, some, tolerance.ratio);
  };
  std::vector<std::string> names = among(is_group);
  // Many quotients lie near a ratio that is not known exactly.
  if (!tolerance.is_exact()) std::erase_if(names, is_quotient);
  // The numbers of micro-batches and of targets are no groups. They are never left out where they
  // are the factor themselves; their quotients equal too much by chance.
  for (const std::vector<std::string>& more : {among(is_no_target), among(is_no_group)}) {
    for (const std::string& name : more) {
      const bool is_known = std::find(names.begin(), names.end(), name) != names.end();
      if (!is_known && !is_quotient(name)) names.push_back(name);
    }
  }
  return names.empty() ? text : fmt::format("{} = {}", text, fmt::join(names, " or "));
}

bool names_cause(std::string_view hint) { return hint.find(" = ") != std::string_view::npos; }

std::string hint_of(const Compared& compared,
                    std::span<const NamedSize> sizes,
                    const HintTolerance& tolerance) {
  const std::size_t count = compared.got.size();
  double got_got = 0.0;
  double got_reference = 0.0;
  double reference_reference = 0.0;
  bool is_missing = true;
  for (std::size_t i = 0; i < count; ++i) {
    const double got = compared.got[i];
    if (!std::isfinite(got)) return "not finite";
    is_missing = is_missing && got == 0.0;
    got_got += got * got;
    got_reference += got * compared.reference[i];
    reference_reference += compared.reference[i] * compared.reference[i];
  }
  if (reference_reference == 0.0) return "";
  if (is_missing) return "x0 (missing)";
  const double ratio = got_reference / reference_reference;
  double squares = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const double rest = compared.got[i] - ratio * compared.reference[i];
    squares += rest * rest;
  }
  // Also false where sums overflow.
  if (!(std::sqrt(squares) <= tolerance.fit * std::sqrt(got_got))) return "";
  // What fits to the tolerance only tells nothing by a ratio nearer to 1 than that.
  return std::abs(ratio - 1.0) <= tolerance.fit ? "" : explain_ratio(ratio, sizes, tolerance);
}

}  // namespace lockstep::sim
