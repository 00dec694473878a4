// Evaluates an expression for a case; whole numbers stay exact, and overflow is an error.
#include "core/config/expression.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/errors.h"
#include "core/config/expression_node.h"

namespace lockstep {
namespace {

bool truth(const ExpressionNode& node, const Case& c) { return std::get<bool>(evaluate(node, c)); }

double real_of(const Value& value) {
  const std::int64_t* integer = std::get_if<std::int64_t>(&value);
  return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value);
}

bool is_number(const Value& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

bool equal(const Value& a, const Value& b) {
  if (is_number(a) && is_number(b) && a.index() != b.index()) return real_of(a) == real_of(b);
  return a == b;
}

bool less(const Value& a, const Value& b) {
  const std::int64_t* x = std::get_if<std::int64_t>(&a);
  const std::int64_t* y = std::get_if<std::int64_t>(&b);
  return x != nullptr && y != nullptr ? *x < *y : real_of(a) < real_of(b);
}

Value divided(const ExpressionNode& node, const Value& a, const Value& b) {
  if (real_of(b) == 0.0) throw ExpressionError(node.children[1]->column, "division by zero");
  const std::int64_t* x = std::get_if<std::int64_t>(&a);
  const std::int64_t* y = std::get_if<std::int64_t>(&b);
  // -1 aside: the smallest integer has no positive twin.
  if (x != nullptr && y != nullptr && *y != -1 && *x % *y == 0) return *x / *y;
  return real_of(a) / real_of(b);
}

Value remainder_of(const ExpressionNode& node, const Value& a, const Value& b) {
  const std::int64_t* x = std::get_if<std::int64_t>(&a);
  const std::int64_t* y = std::get_if<std::int64_t>(&b);
  if (x == nullptr || y == nullptr) {
    throw ExpressionError(node.column, "% takes whole numbers only");
  }
  if (*y == 0) throw ExpressionError(node.children[1]->column, "modulo by zero");
  return *y == -1 ? std::int64_t{0} : *x % *y;
}

Value arithmetic(const ExpressionNode& node, const Value& a, const Value& b) {
  if (node.op == NodeOp::kDivide) return divided(node, a, b);
  if (node.op == NodeOp::kModulo) return remainder_of(node, a, b);
  const std::int64_t* x = std::get_if<std::int64_t>(&a);
  const std::int64_t* y = std::get_if<std::int64_t>(&b);
  if (x == nullptr || y == nullptr) {
    if (node.op == NodeOp::kAdd) return real_of(a) + real_of(b);
    if (node.op == NodeOp::kSubtract) return real_of(a) - real_of(b);
    return real_of(a) * real_of(b);
  }
  std::int64_t result = 0;
  bool overflow = false;
  if (node.op == NodeOp::kAdd) {
    overflow = __builtin_add_overflow(*x, *y, &result);
  } else if (node.op == NodeOp::kSubtract) {
    overflow = __builtin_sub_overflow(*x, *y, &result);
  } else {
    overflow = __builtin_mul_overflow(*x, *y, &result);
  }
  if (overflow) throw ExpressionError(node.column, "the result does not fit in 64 bits");
  return result;
}

Value negated(const ExpressionNode& node, const Case& c) {
  const Value value = evaluate(*node.children[0], c);
  if (const double* real = std::get_if<double>(&value)) return -*real;
  std::int64_t result = 0;
  if (__builtin_sub_overflow(std::int64_t{0}, std::get<std::int64_t>(value), &result)) {
    throw ExpressionError(node.column, "the result does not fit in 64 bits");
  }
  return result;
}

Value list_of(const ExpressionNode& node, const Case& c) {
  if (node.type == NodeType::kNames) {
    std::vector<std::string> names;
    for (const NodePointer& element : node.children) {
      names.push_back(std::get<std::string>(evaluate(*element, c)));
    }
    return names;
  }
  std::vector<double> reals;
  for (const NodePointer& element : node.children) reals.push_back(real_of(evaluate(*element, c)));
  return reals;
}

bool is_member(const ExpressionNode& node, const Case& c) {
  const Value value = evaluate(*node.children[0], c);
  const ExpressionNode& list = *node.children[1];
  if (list.op == NodeOp::kList) {
    return std::any_of(list.children.begin(), list.children.end(), [&](const NodePointer& element) {
      return equal(value, evaluate(*element, c));
    });
  }
  const Value held = evaluate(list, c);
  if (const auto* names = std::get_if<std::vector<std::string>>(&held)) {
    return std::find(names->begin(), names->end(), std::get<std::string>(value)) != names->end();
  }
  const auto& reals = std::get<std::vector<double>>(held);
  return std::find(reals.begin(), reals.end(), real_of(value)) != reals.end();
}

void collect_fields(const ExpressionNode& node, std::vector<std::string>& names) {
  if (node.op == NodeOp::kField) names.push_back(node.field->name);
  for (const NodePointer& child : node.children) collect_fields(*child, names);
}

}  // namespace

Value evaluate(const ExpressionNode& node, const Case& c) {
  const auto left = [&] { return evaluate(*node.children[0], c); };
  const auto right = [&] { return evaluate(*node.children[1], c); };
  switch (node.op) {
    case NodeOp::kConstant:
      return node.value;
    case NodeOp::kField:
      return node.field->get(c);
    case NodeOp::kList:
      return list_of(node, c);
    case NodeOp::kNegate:
      return negated(node, c);
    case NodeOp::kNot:
      return !truth(*node.children[0], c);
    case NodeOp::kImplies:
      return !truth(*node.children[0], c) || truth(*node.children[1], c);
    case NodeOp::kOr:
      return truth(*node.children[0], c) || truth(*node.children[1], c);
    case NodeOp::kAnd:
      return truth(*node.children[0], c) && truth(*node.children[1], c);
    case NodeOp::kEqual:
      return equal(left(), right());
    case NodeOp::kNotEqual:
      return !equal(left(), right());
    case NodeOp::kLess:
      return less(left(), right());
    case NodeOp::kLessEqual:
      return !less(right(), left());
    case NodeOp::kGreater:
      return less(right(), left());
    case NodeOp::kGreaterEqual:
      return !less(left(), right());
    case NodeOp::kIn:
      return is_member(node, c);
    case NodeOp::kAdd:
    case NodeOp::kSubtract:
    case NodeOp::kMultiply:
    case NodeOp::kDivide:
    case NodeOp::kModulo:
      return arithmetic(node, left(), right());
    case NodeOp::kWord:
      break;
  }
  throw InternalError("a word was left unresolved");
}

ExpressionError::ExpressionError(std::size_t column, const std::string& message)
    : std::runtime_error(message), column_(column) {}

Expression Expression::parse(std::string_view text) {
  Expression result;
  result.root_ = parse_condition(text);
  result.text_ = text;
  collect_fields(*result.root_, result.fields_);
  std::sort(result.fields_.begin(), result.fields_.end());
  result.fields_.erase(std::unique(result.fields_.begin(), result.fields_.end()),
                       result.fields_.end());
  return result;
}

bool Expression::holds(const Case& c) const { return truth(*root_, c); }

}  // namespace lockstep
