// The checked tree behind an expression; only expression*.cpp see this.
#pragma once

#include <memory>
#include <vector>

#include "core/config/expression.h"
#include "core/config/fields.h"

namespace lockstep {

enum class NodeOp {
  kConstant,
  kField,
  kWord,  // a name whose meaning its neighbour decides; none is left after parsing
  kList,
  kNegate,
  kNot,
  kImplies,
  kOr,
  kAnd,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
};

// kOpen: a word or a list whose elements are still words.
enum class NodeType { kBool, kNumber, kName, kNames, kReals, kOpen };

struct ExpressionNode {
  NodeOp op = NodeOp::kConstant;
  NodeType type = NodeType::kOpen;
  std::size_t column = 1;
  Value value;                   // of a constant; a word's text
  const Field* field = nullptr;  // of a field
  std::vector<std::unique_ptr<ExpressionNode>> children;
};

using NodePointer = std::unique_ptr<ExpressionNode>;

// Value of a node for a case. ExpressionError for a division by zero or an overflow.
Value evaluate(const ExpressionNode& node, const Case& c);

// Text to tree, with every word resolved and every type checked.
NodePointer parse_condition(std::string_view text);

// Gives words and lists their meaning and checks operand types (expression_types.cpp). Each returns
// the node's type or throws ExpressionError.
void resolve_alone(ExpressionNode& node);
void resolve_comparison(ExpressionNode& node);
void resolve_membership(ExpressionNode& node);
void require(const ExpressionNode& node, NodeType type);

}  // namespace lockstep
