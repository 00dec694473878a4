// The expression language of specs and of visible_when, over the fields of a case.
//
// From loose to tight: `->` (implication, right-associative), `or ||`, `and &&`, `not !`,
// comparisons `== != < <= > >= in`, `+ -`, `* / %`, unary `-`. Operands: fields, numbers, true,
// false, names of choices (`loss_norm == token`), quoted strings, lists `[a, b]`, parentheses.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/case.h"

namespace lockstep {

// A mistake in an expression's text: `column` counts from 1 within it.
class ExpressionError : public std::runtime_error {
 public:
  ExpressionError(std::size_t column, const std::string& message);
  std::size_t column() const { return column_; }

 private:
  std::size_t column_;
};

struct ExpressionNode;

class Expression {
 public:
  // Checks names and types at once: an unknown field, a choice that the field does not have, or an
  // expression that is not a condition is an ExpressionError with the nearest known name.
  static Expression parse(std::string_view text);

  // Division and modulo by zero make the condition an ExpressionError at evaluation.
  bool holds(const Case& c) const;

  // Names of the fields it reads, sorted, each once.
  const std::vector<std::string>& fields() const { return fields_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::vector<std::string> fields_;
  std::shared_ptr<const ExpressionNode> root_;
};

}  // namespace lockstep
