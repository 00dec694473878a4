// Strict reading of scalars; numbers go through from_chars and must be used up.
#include "matrix/spec/spec_values.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "core/base/errors.h"
#include "core/config/presets.h"

namespace lockstep::matrix {
namespace {

enum class NumberFault { kNone, kSyntax, kTooLarge };

template <typename Number>
struct Parsed {
  Number value = 0;
  NumberFault fault = NumberFault::kNone;
};

template <typename Number>
Parsed<Number> parse_whole(const std::string& text) {
  Parsed<Number> result;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, result.value);
  if (end != last || text.empty()) {
    result.fault = NumberFault::kSyntax;
  } else if (error == std::errc::result_out_of_range) {
    result.fault = NumberFault::kTooLarge;
  } else if (error != std::errc()) {
    result.fault = NumberFault::kSyntax;
  }
  return result;
}

Parsed<std::int64_t> parse_integer(const std::string& text) {
  // A leading zero is octal to some readers of YAML and decimal to others.
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const bool leading_zero = text.size() > sign + 1 && text[sign] == '0';
  if (leading_zero) return {.value = 0, .fault = NumberFault::kSyntax};
  return parse_whole<std::int64_t>(text);
}

Parsed<double> parse_real(const std::string& text) {
  // from_chars also takes "inf" and "nan", which no field does.
  const bool plain = text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  if (!plain) return {.value = 0.0, .fault = NumberFault::kSyntax};
  return parse_whole<double>(text);
}

class ValueReader {
 public:
  ValueReader(const Field& field, const std::string& file) : field_(field), file_(file) {}

  Value read(const YamlNode& node) const {
    try {
      const Value value = checked_value(field_, raw(node));
      check_value_built(field_, value);
      if (field_.name == "preset") preset_case(std::get<std::string>(value));
      return value;
    } catch (const ValueFault& fault) {
      fail(file_, node.place, field_.name + ": " + fault.message);
    } catch (const UsageError& error) {
      fail(file_, node.place, error.what());
    }
  }

 private:
  struct ValueFault {
    std::string message;
  };

  [[noreturn]] void refuse(const YamlNode& node, NumberFault fault = NumberFault::kSyntax) const {
    std::string got = shown(node);
    if (fault == NumberFault::kTooLarge) got += ", which is too large";
    throw ValueFault{fmt::format("expected {}, got {}", expected_text(field_), got)};
  }

  Value raw(const YamlNode& node) const {
    switch (field_.type) {
      case FieldType::kBool:
        if (!is_plain(node) || (node.text != "true" && node.text != "false")) refuse(node);
        return node.text == "true";
      case FieldType::kInteger:
        return integer(node);
      case FieldType::kReal:
        return real(node);
      case FieldType::kChoice:
      case FieldType::kText:
        if (node.kind != YamlKind::kScalar) refuse(node);
        return node.text;
      case FieldType::kReals: {
        if (node.kind != YamlKind::kList) refuse(node);
        std::vector<double> values;
        for (const YamlNode& item : node.items) values.push_back(real(item));
        return values;
      }
      case FieldType::kNames: {
        if (node.kind != YamlKind::kList) refuse(node);
        std::vector<std::string> names;
        for (const YamlNode& item : node.items) {
          if (item.kind != YamlKind::kScalar) refuse(item);
          names.push_back(item.text);
        }
        return names;
      }
    }
    throw InternalError("unknown type of field");
  }

  std::int64_t integer(const YamlNode& node) const {
    if (!is_plain(node)) refuse(node);
    const Parsed<std::int64_t> parsed = parse_integer(node.text);
    if (parsed.fault != NumberFault::kNone) refuse(node, parsed.fault);
    return parsed.value;
  }

  double real(const YamlNode& node) const {
    if (!is_plain(node)) refuse(node);
    const Parsed<double> parsed = parse_real(node.text);
    if (parsed.fault != NumberFault::kNone) refuse(node, parsed.fault);
    return parsed.value;
  }

  static bool is_plain(const YamlNode& node) {
    return node.kind == YamlKind::kScalar && !node.quoted;
  }

  const Field& field_;
  const std::string& file_;
};

}  // namespace

Value read_value(const YamlNode& node, const Field& field, const std::string& file) {
  return ValueReader(field, file).read(node);
}

const Field& read_field(const YamlNode& key, const std::string& file, const std::string& where) {
  const std::string prefix = where.empty() ? "" : where + ": ";
  const Field* field = find_field(key.text);
  if (field == nullptr) {
    std::vector<std::string> known;
    for (const Field& candidate : fields()) {
      if (candidate.set || candidate.name == "num_micro_batches") known.push_back(candidate.name);
    }
    fail(file,
         key.place,
         fmt::format("{}unknown field '{}'{}",
                     prefix,
                     key.text,
                     did_you_mean(key.text, known, "; 'lockstep list axes' shows all fields")));
  }
  if (!field->set && field->name != "num_micro_batches") {
    fail(file,
         key.place,
         fmt::format("{}{} is derived from other fields; use it in 'where'", prefix, field->name));
  }
  return *field;
}

std::string read_text(const YamlNode& node, const std::string& what, const std::string& file) {
  if (node.kind != YamlKind::kScalar || node.text.empty()) {
    fail(file, node.place, fmt::format("{}: expected text, got {}", what, shown(node)));
  }
  return node.text;
}

std::int64_t read_integer(const YamlNode& node,
                          const std::string& what,
                          std::int64_t smallest,
                          const std::string& file) {
  const bool plain = node.kind == YamlKind::kScalar && !node.quoted;
  const Parsed<std::int64_t> parsed =
      plain ? parse_integer(node.text)
            : Parsed<std::int64_t>{.value = 0, .fault = NumberFault::kSyntax};
  if (parsed.fault == NumberFault::kNone && parsed.value >= smallest) return parsed.value;
  const bool too_large = parsed.fault == NumberFault::kTooLarge;
  fail(file,
       node.place,
       fmt::format("{}: expected an integer of at least {}, got {}{}",
                   what,
                   smallest,
                   shown(node),
                   too_large ? ", which is too large" : ""));
}

}  // namespace lockstep::matrix
