// Walks the product of the axes, or a seeded sample of it, and applies where and exclude.
#include "matrix/spec/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/errors.h"
#include "core/config/rules.h"
#include "matrix/spec/case_names.h"
#include "matrix/spec/permutation.h"
#include "matrix/spec/yaml_tree.h"

namespace lockstep::matrix {
namespace {

constexpr std::uint64_t kTriesMax = 10'000'000;

class Expander {
 public:
  explicit Expander(const Spec& spec) : spec_(spec), namer_(spec.axes) {
    for (const SpecAxis& axis : spec.axes) {
      digits_.push_back({.field = axis.field, .value = axis.values.front(), .place = axis.place});
      if (axis.field->name == "preset") varies_preset_ = true;
      if (axis.field->name == "num_micro_batches") count_digit_ = digits_.size() - 1;
    }
    for (const Setting& setting : spec.base) {
      if (setting.field->name == "num_micro_batches") base_count_ = &setting;
    }
    if (!varies_preset_) base_ = build_base();
  }

  std::vector<NamedCase> run() {
    const std::uint64_t size = product_size();
    if (spec_.sample.has_value()) {
      sample(size);
    } else {
      if (size > static_cast<std::uint64_t>(kLargestProduct)) {
        fail(spec_.file,
             spec_.axes_place,
             fmt::format("axes: {} combinations are more than {}; add 'expand: {{sample: N}}'",
                         size,
                         kLargestProduct));
      }
      for (std::uint64_t i = 0; i < size; ++i) {
        if (std::optional<Case> c = combination(i)) add(std::move(*c), {});
      }
    }
    add_include_rows();
    require_unique_names();
    return std::move(cases_);
  }

 private:
  // Without num_micro_batches, which needs the axes' values.
  Case build_base() const {
    Spec without = spec_;
    std::erase_if(without.base,
                  [](const Setting& s) { return s.field->name == "num_micro_batches"; });
    return build_case(without, {});
  }

  std::uint64_t product_size() const {
    std::uint64_t size = 1;
    for (const SpecAxis& axis : spec_.axes) {
      const bool overflow = __builtin_mul_overflow(size, axis.values.size(), &size);
      if (overflow || size > (std::uint64_t{1} << 62)) {
        fail(spec_.file, spec_.axes_place, "axes: the number of combinations overflows 62 bits");
      }
    }
    return size;
  }

  // Of the whole product where `where` and `exclude` leave fewer than asked.
  void sample(std::uint64_t size) {
    const auto wanted = static_cast<std::uint64_t>(spec_.sample->count);
    const Permutation order(size, static_cast<std::uint64_t>(spec_.sample->seed));
    std::vector<std::uint64_t> chosen;
    for (std::uint64_t tried = 0; tried < size && chosen.size() < wanted; ++tried) {
      if (tried == kTriesMax) {
        fail(spec_.file,
             spec_.axes_place,
             fmt::format("expand: {} tries found {} of the {} cases that 'where' and 'exclude' "
                         "should leave; shorten the axes",
                         kTriesMax,
                         chosen.size(),
                         wanted));
      }
      const std::uint64_t index = order.at(tried);
      if (combination(index).has_value()) chosen.push_back(index);
    }
    std::sort(chosen.begin(), chosen.end());
    for (const std::uint64_t index : chosen) add(std::move(*combination(index)), {});
  }

  // The case at this place of the product, the last axis fastest; none where it is left out.
  std::optional<Case> combination(std::uint64_t index) {
    for (std::size_t i = digits_.size(); i-- > 0;) {
      const std::vector<Value>& values = spec_.axes[i].values;
      digits_[i].value = values[index % values.size()];
      index /= values.size();
    }
    Case c = varies_preset_ ? built(digits_, spec_.axes_place) : combined();
    if (!fulfils_where(c) || is_excluded(c)) return std::nullopt;
    return c;
  }

  Case combined() const {
    Case c = base_;
    for (const Setting& digit : digits_) {
      if (digit.field->set) digit.field->set(c, digit.value);
    }
    const Setting* count = count_digit_.has_value() ? &digits_[*count_digit_] : base_count_;
    if (count == nullptr) return c;
    try {
      set_num_micro_batches(c, std::get<std::int64_t>(count->value));
    } catch (const UsageError& error) {
      fail(spec_.file, count->place, error.what());
    }
    return c;
  }

  Case built(std::span<const Setting> settings, const Place& place) const {
    try {
      return build_case(spec_, settings);
    } catch (const UsageError& error) {
      fail(spec_.file, place, error.what());
    }
  }

  bool fulfils_where(const Case& c) const {
    for (const SpecCondition& condition : spec_.where) {
      try {
        if (!condition.expression.holds(c)) return false;
      } catch (const ExpressionError& error) {
        fail(spec_.file,
             condition.place,
             fmt::format("where: {} for case {}, in '{}'",
                         error.what(),
                         namer_.name(c),
                         condition.expression.text()));
      }
    }
    return true;
  }

  bool is_excluded(const Case& c) const {
    return std::any_of(spec_.exclude.begin(), spec_.exclude.end(), [&c](const SpecRow& row) {
      return std::all_of(row.settings.begin(), row.settings.end(), [&c](const Setting& setting) {
        return setting.field->get(c) == setting.value;
      });
    });
  }

  void add(Case c, std::span<const Setting> row) {
    std::string name = namer_.name(c, row);
    try {
      check_world(c);
    } catch (const UsageError& error) {
      fail(spec_.file, spec_.axes_place, fmt::format("case {}: {}", name, error.what()));
    }
    std::string reason = why_invalid(c).value_or("");
    cases_.push_back(
        {.name = std::move(name), .c = std::move(c), .invalid_reason = std::move(reason)});
  }

  // A row that names a case of the product, or of an earlier row, adds nothing.
  void add_include_rows() {
    if (spec_.include.empty()) return;
    std::set<std::string> taken;
    for (const NamedCase& c : cases_) taken.insert(c.name);
    for (const SpecRow& row : spec_.include) {
      Case c = built(row.settings, row.place);
      if (!fulfils_where(c) || !taken.insert(namer_.name(c, row.settings)).second) continue;
      add(std::move(c), row.settings);
    }
  }

  void require_unique_names() const {
    std::vector<std::string_view> names;
    for (const NamedCase& c : cases_) names.push_back(c.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    LOCKSTEP_CHECK(twice == names.end(), "two cases are named " + std::string(*twice));
  }

  const Spec& spec_;
  CaseNamer namer_;
  std::vector<Setting> digits_;  // the axes' values of the combination at hand
  bool varies_preset_ = false;
  std::optional<std::size_t> count_digit_;
  const Setting* base_count_ = nullptr;
  Case base_{};
  std::vector<NamedCase> cases_;
};

}  // namespace

std::vector<NamedCase> expand(const Spec& spec) { return Expander(spec).run(); }

}  // namespace lockstep::matrix
