// Recursive descent over the tokens, one function a level of precedence.
#include <fmt/format.h>

#include <span>
#include <utility>

#include "core/config/expression_lexer.h"
#include "core/config/expression_node.h"

namespace lockstep {
namespace {

struct Operator {
  std::string_view text;
  NodeOp op;
};

constexpr Operator kImplications[] = {{"->", NodeOp::kImplies}};
constexpr Operator kDisjunctions[] = {{"or", NodeOp::kOr}, {"||", NodeOp::kOr}};
constexpr Operator kConjunctions[] = {{"and", NodeOp::kAnd}, {"&&", NodeOp::kAnd}};
constexpr Operator kNegations[] = {{"not", NodeOp::kNot}, {"!", NodeOp::kNot}};
constexpr Operator kComparisons[] = {{"==", NodeOp::kEqual},
                                     {"!=", NodeOp::kNotEqual},
                                     {"<", NodeOp::kLess},
                                     {"<=", NodeOp::kLessEqual},
                                     {">", NodeOp::kGreater},
                                     {">=", NodeOp::kGreaterEqual},
                                     {"in", NodeOp::kIn}};
constexpr Operator kSums[] = {{"+", NodeOp::kAdd}, {"-", NodeOp::kSubtract}};
constexpr Operator kProducts[] = {
    {"*", NodeOp::kMultiply}, {"/", NodeOp::kDivide}, {"%", NodeOp::kModulo}};

bool is_reserved(std::string_view word) {
  return word == "or" || word == "and" || word == "not" || word == "in";
}

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(tokens_of(text)) {}

  NodePointer run() {
    if (here().kind == TokenKind::kEnd) throw ExpressionError(1, "expression is empty");
    NodePointer root = implication();
    if (here().kind != TokenKind::kEnd) fail_here();
    resolve_alone(*root);
    if (root->type != NodeType::kBool) {
      throw ExpressionError(root->column, "is no condition; compare it with something");
    }
    return root;
  }

 private:
  static constexpr int kDepthMax = 100;

  // Parentheses, `not`, `-` and `->` nest; the limit keeps the stack bounded.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kDepthMax) {
        throw ExpressionError(parser_.here().column,
                              fmt::format("is nested deeper than {} levels", kDepthMax));
      }
    }
    ~Nesting() { --parser_.depth_; }

   private:
    Parser& parser_;
  };

  NodePointer implication() {
    const Nesting nesting(*this);
    NodePointer left = disjunction();
    const Operator* found = take(kImplications);
    if (found == nullptr) return left;
    return logical(*found, std::move(left), implication());
  }

  NodePointer disjunction() {
    NodePointer left = conjunction();
    while (const Operator* found = take(kDisjunctions)) {
      left = logical(*found, std::move(left), conjunction());
    }
    return left;
  }

  NodePointer conjunction() {
    NodePointer left = negation();
    while (const Operator* found = take(kConjunctions)) {
      left = logical(*found, std::move(left), negation());
    }
    return left;
  }

  NodePointer negation() {
    const Nesting nesting(*this);
    const std::size_t column = here().column;
    if (take(kNegations) == nullptr) return comparison();
    NodePointer result = node(NodeOp::kNot, NodeType::kBool, column);
    result->children.push_back(negation());
    resolve_alone(*result->children[0]);
    require(*result->children[0], NodeType::kBool);
    return result;
  }

  NodePointer comparison() {
    NodePointer left = sum();
    const Operator* found = take(kComparisons);
    if (found == nullptr) return left;
    NodePointer result = node(found->op, NodeType::kBool, left->column);
    result->children.push_back(std::move(left));
    result->children.push_back(sum());
    if (found->op == NodeOp::kIn) {
      resolve_membership(*result);
    } else {
      resolve_comparison(*result);
    }
    const std::size_t column = here().column;
    if (take(kComparisons) != nullptr) {
      throw ExpressionError(column, "comparisons do not chain; join two with 'and'");
    }
    return result;
  }

  NodePointer sum() {
    NodePointer left = product();
    while (const Operator* found = take(kSums)) {
      left = arithmetic(*found, std::move(left), product());
    }
    return left;
  }

  NodePointer product() {
    NodePointer left = factor();
    while (const Operator* found = take(kProducts)) {
      left = arithmetic(*found, std::move(left), factor());
    }
    return left;
  }

  NodePointer factor() {
    const Nesting nesting(*this);
    const std::size_t column = here().column;
    if (!take_symbol("-")) return operand();
    NodePointer result = node(NodeOp::kNegate, NodeType::kNumber, column);
    result->children.push_back(factor());
    resolve_alone(*result->children[0]);
    require(*result->children[0], NodeType::kNumber);
    return result;
  }

  NodePointer operand() {
    const Token token = here();
    if (token.kind == TokenKind::kNumber) {
      ++at_;
      return constant(token.number, NodeType::kNumber, token.column);
    }
    if (token.kind == TokenKind::kString) {
      ++at_;
      return constant(token.text, NodeType::kName, token.column);
    }
    if (token.kind == TokenKind::kWord && !is_reserved(token.text)) {
      ++at_;
      if (token.text == "true" || token.text == "false") {
        return constant(token.text == "true", NodeType::kBool, token.column);
      }
      NodePointer word = node(NodeOp::kWord, NodeType::kOpen, token.column);
      word->value = token.text;
      return word;
    }
    if (take_symbol("(")) {
      NodePointer inner = implication();
      if (!take_symbol(")")) fail_here("expected ')'");
      return inner;
    }
    if (take_symbol("[")) return list(token.column);
    fail_here();
  }

  NodePointer list(std::size_t column) {
    NodePointer result = node(NodeOp::kList, NodeType::kOpen, column);
    if (take_symbol("]")) return result;
    do {
      result->children.push_back(sum());
      if (result->children.back()->op == NodeOp::kList) {
        throw ExpressionError(result->children.back()->column, "a list holds no lists");
      }
    } while (take_symbol(","));
    if (!take_symbol("]")) fail_here("expected ',' or ']'");
    return result;
  }

  NodePointer logical(const Operator& found, NodePointer left, NodePointer right) {
    return joined(found, NodeType::kBool, std::move(left), std::move(right));
  }
  NodePointer arithmetic(const Operator& found, NodePointer left, NodePointer right) {
    return joined(found, NodeType::kNumber, std::move(left), std::move(right));
  }
  static NodePointer joined(const Operator& found,
                            NodeType type,
                            NodePointer left,
                            NodePointer right) {
    NodePointer result = node(found.op, type, left->column);
    result->children.push_back(std::move(left));
    result->children.push_back(std::move(right));
    for (const NodePointer& child : result->children) {
      resolve_alone(*child);
      require(*child, type);
    }
    return result;
  }

  static NodePointer node(NodeOp op, NodeType type, std::size_t column) {
    NodePointer result = std::make_unique<ExpressionNode>();
    result->op = op;
    result->type = type;
    result->column = column;
    return result;
  }
  static NodePointer constant(Value value, NodeType type, std::size_t column) {
    NodePointer result = node(NodeOp::kConstant, type, column);
    result->value = std::move(value);
    return result;
  }

  const Token& here() const { return tokens_[at_]; }

  const Operator* take(std::span<const Operator> operators) {
    if (here().kind != TokenKind::kSymbol && here().kind != TokenKind::kWord) return nullptr;
    for (const Operator& candidate : operators) {
      if (here().text != candidate.text) continue;
      ++at_;
      return &candidate;
    }
    return nullptr;
  }
  bool take_symbol(std::string_view text) {
    if (here().kind != TokenKind::kSymbol || here().text != text) return false;
    ++at_;
    return true;
  }

  [[noreturn]] void fail_here(std::string_view wanted = "") const {
    std::string message = here().kind == TokenKind::kEnd
                              ? "unexpected end"
                              : fmt::format("unexpected '{}'", here().text);
    if (!wanted.empty()) message += fmt::format("; {}", wanted);
    throw ExpressionError(here().column, message);
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

NodePointer parse_condition(std::string_view text) { return Parser(text).run(); }

}  // namespace lockstep
