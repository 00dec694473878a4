// Splits an expression's text into tokens; only expression_parser.cpp sees this.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/fields.h"

namespace lockstep {

enum class TokenKind { kNumber, kWord, kString, kSymbol, kEnd };

struct Token {
  TokenKind kind;
  std::string text;
  Value number;        // of a number: an integer or a real
  std::size_t column;  // from 1
};

// The last token is kEnd. ExpressionError for a character or a number that is none.
std::vector<Token> tokens_of(std::string_view text);

}  // namespace lockstep
