// What a bare word means, a field or a choice of its neighbour, and which operands fit an operator.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/errors.h"
#include "core/config/expression_node.h"

namespace lockstep {
namespace {

NodeType type_of_field(const Field& field) {
  switch (field.type) {
    case FieldType::kBool:
      return NodeType::kBool;
    case FieldType::kInteger:
    case FieldType::kReal:
      return NodeType::kNumber;
    case FieldType::kChoice:
    case FieldType::kText:
      return NodeType::kName;
    case FieldType::kReals:
      return NodeType::kReals;
    case FieldType::kNames:
      return NodeType::kNames;
  }
  throw InternalError("unknown type of field");
}

std::string_view name_of(NodeType type) {
  switch (type) {
    case NodeType::kBool:
      return "a condition";
    case NodeType::kNumber:
      return "a number";
    case NodeType::kName:
      return "a name";
    case NodeType::kNames:
      return "a list of names";
    case NodeType::kReals:
      return "a list of numbers";
    case NodeType::kOpen:
      return "a list";
  }
  throw InternalError("unknown type of node");
}

const std::string& word_of(const ExpressionNode& node) { return std::get<std::string>(node.value); }

// A quoted text, or a bare word that is taken for a name.
bool is_literal_name(const ExpressionNode& node) {
  return node.op == NodeOp::kWord || (node.op == NodeOp::kConstant && node.type == NodeType::kName);
}

bool has_choice(const Field& field, const std::string& name) {
  return std::find(field.choices.begin(), field.choices.end(), name) != field.choices.end();
}

// Makes a word or quoted text the name of one of the field's choices.
void resolve_choice(ExpressionNode& node, const Field& field) {
  const std::string& word = word_of(node);
  if (!field.choices.empty() && !has_choice(field, word)) {
    throw ExpressionError(node.column,
                          fmt::format("{} has no value '{}'{}",
                                      field.name,
                                      word,
                                      did_you_mean(word,
                                                   field.choices,
                                                   fmt::format("; it is one of {}",
                                                               fmt::join(field.choices, ", ")))));
  }
  node.op = NodeOp::kConstant;
  node.type = NodeType::kName;
}

// The choices that a literal beside this node may name.
const Field* choices_of(const ExpressionNode& node) {
  if (node.op != NodeOp::kField) return nullptr;
  const bool names = node.type == NodeType::kName || node.type == NodeType::kNames;
  return names ? node.field : nullptr;
}

bool is_field_word(const ExpressionNode& node) {
  return node.op == NodeOp::kWord && find_field(word_of(node)) != nullptr;
}

// A literal beside a field of names is one of its choices, even where a field has that name too.
void resolve_beside(ExpressionNode& node, const ExpressionNode& other) {
  const Field* field = choices_of(other);
  if (field != nullptr && is_literal_name(node)) {
    const bool names_field = is_field_word(node) && !has_choice(*field, word_of(node));
    if (!names_field) {
      resolve_choice(node, *field);
      return;
    }
  }
  resolve_alone(node);
}

void resolve_list(ExpressionNode& list, const ExpressionNode& element_like) {
  for (const NodePointer& element : list.children) resolve_beside(*element, element_like);
}

void check_comparable(const ExpressionNode& node) {
  const ExpressionNode& left = *node.children[0];
  const ExpressionNode& right = *node.children[1];
  if (left.type != right.type) {
    throw ExpressionError(
        right.column,
        fmt::format("cannot compare {} with {}", name_of(left.type), name_of(right.type)));
  }
  const Field* a = choices_of(left);
  const Field* b = choices_of(right);
  if (a != nullptr && b != nullptr && a->choices != b->choices) {
    throw ExpressionError(right.column,
                          fmt::format("{} and {} have different values", a->name, b->name));
  }
}

}  // namespace

void require(const ExpressionNode& node, NodeType type) {
  if (node.type == type) return;
  throw ExpressionError(node.column,
                        fmt::format("expected {}, got {}", name_of(type), name_of(node.type)));
}

void resolve_alone(ExpressionNode& node) {
  if (node.op != NodeOp::kWord) return;
  const std::string& word = word_of(node);
  node.field = find_field(word);
  if (node.field == nullptr) {
    std::vector<std::string> known;
    for (const Field& field : fields()) known.push_back(field.name);
    throw ExpressionError(node.column,
                          fmt::format("unknown field '{}'{}", word, did_you_mean(word, known)));
  }
  node.op = NodeOp::kField;
  node.type = type_of_field(*node.field);
}

void resolve_comparison(ExpressionNode& node) {
  ExpressionNode& left = *node.children[0];
  ExpressionNode& right = *node.children[1];
  const bool equality = node.op == NodeOp::kEqual || node.op == NodeOp::kNotEqual;
  // The side that is surely a field decides what the other one means.
  const bool right_first = !is_field_word(left) && is_field_word(right);
  ExpressionNode& first = right_first ? right : left;
  ExpressionNode& second = right_first ? left : right;
  if (first.op == NodeOp::kList) {
    throw ExpressionError(first.column, "a list stands on the right of a comparison");
  }
  resolve_alone(first);
  if (second.op == NodeOp::kList && equality) {
    const bool lists = first.type == NodeType::kNames || first.type == NodeType::kReals;
    if (!lists) {
      throw ExpressionError(second.column, "use 'in' to compare with the values of a list");
    }
    resolve_list(second, first);
    for (const NodePointer& element : second.children) {
      require(*element, first.type == NodeType::kNames ? NodeType::kName : NodeType::kNumber);
    }
    second.type = first.type;
    return;
  }
  resolve_beside(second, first);
  if (!equality) {
    require(left, NodeType::kNumber);
    require(right, NodeType::kNumber);
  }
  check_comparable(node);
}

void resolve_membership(ExpressionNode& node) {
  ExpressionNode& left = *node.children[0];
  ExpressionNode& right = *node.children[1];
  if (left.op == NodeOp::kList) throw ExpressionError(left.column, "a list cannot be in a list");
  if (right.op == NodeOp::kList) {
    resolve_alone(left);
    resolve_list(right, left);
    for (const NodePointer& element : right.children) {
      require(*element, left.type);
    }
    return;
  }
  resolve_alone(right);
  if (right.type != NodeType::kNames && right.type != NodeType::kReals) {
    throw ExpressionError(right.column, "expected a list after 'in', as in [1, 2]");
  }
  resolve_beside(left, right);
  require(left, right.type == NodeType::kNames ? NodeType::kName : NodeType::kNumber);
}

}  // namespace lockstep
