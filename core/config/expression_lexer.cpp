// Tokens of the expression language; a run such as 1f1b that starts with a digit is a word.
#include "core/config/expression_lexer.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <system_error>

#include "core/config/expression.h"

namespace lockstep {
namespace {

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    for (;;) {
      while (at_ < text_.size() && is_space(text_[at_])) ++at_;
      if (at_ == text_.size()) break;
      if (tokens.size() == kTokensMax) {
        throw ExpressionError(at_ + 1, fmt::format("is longer than {} tokens", kTokensMax));
      }
      tokens.push_back(next());
    }
    tokens.push_back({.kind = TokenKind::kEnd, .text = "", .number = {}, .column = at_ + 1});
    return tokens;
  }

 private:
  static constexpr std::size_t kTokensMax = 2000;

  Token next() {
    const char c = text_[at_];
    const bool decimal = c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
    if (is_digit(c) || decimal) return number_or_word();
    if (is_word_char(c)) return word();
    if (c == '\'' || c == '"') return quoted(c);
    return symbol();
  }

  Token word() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word_char(text_[at_])) ++at_;
    return token(TokenKind::kWord, start);
  }

  Token number_or_word() {
    const std::size_t start = at_;
    const char* first = text_.data() + start;
    const char* last = text_.data() + text_.size();
    double real = 0.0;
    const auto as_real = std::from_chars(first, last, real);
    if (as_real.ptr != last && is_word_char(*as_real.ptr)) return word();
    std::int64_t integer = 0;
    const auto as_integer = std::from_chars(first, last, integer);
    at_ = start + static_cast<std::size_t>(as_real.ptr - first);
    Token result = token(TokenKind::kNumber, start);
    if (as_integer.ptr == as_real.ptr && as_integer.ec == std::errc()) {
      result.number = integer;
    } else if (as_integer.ptr != as_real.ptr && as_real.ec == std::errc()) {
      result.number = real;
    } else {
      throw ExpressionError(start + 1, fmt::format("number {} is too large", result.text));
    }
    return result;
  }

  Token quoted(char quote) {
    const std::size_t start = at_;
    const std::size_t end = text_.find(quote, start + 1);
    if (end == std::string_view::npos) throw ExpressionError(start + 1, "quote is not closed");
    at_ = end + 1;
    return {.kind = TokenKind::kString,
            .text = std::string(text_.substr(start + 1, end - start - 1)),
            .number = {},
            .column = start + 1};
  }

  Token symbol() {
    constexpr std::string_view kSymbols[] = {
        "->", "||", "&&", "==", "!=", "<=", ">=", "<", ">", "!",
        "+",  "-",  "*",  "/",  "%",  "(",  ")",  "[", "]", ","};
    const std::size_t start = at_;
    for (const std::string_view candidate : kSymbols) {
      if (text_.substr(start, candidate.size()) != candidate) continue;
      at_ += candidate.size();
      return token(TokenKind::kSymbol, start);
    }
    const char c = text_[start];
    if (c == '=') throw ExpressionError(start + 1, "'=' is no operator; write '==' to compare");
    if (c == '&') throw ExpressionError(start + 1, "'&' is no operator; write 'and'");
    if (c == '|') throw ExpressionError(start + 1, "'|' is no operator; write 'or'");
    const bool printable = c > ' ' && c <= '~';
    throw ExpressionError(start + 1,
                          printable
                              ? fmt::format("unexpected character '{}'", c)
                              : fmt::format("unexpected byte 0x{:02x}",
                                            static_cast<unsigned>(static_cast<unsigned char>(c))));
  }

  Token token(TokenKind kind, std::size_t start) const {
    return {.kind = kind,
            .text = std::string(text_.substr(start, at_ - start)),
            .number = {},
            .column = start + 1};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text) { return Lexer(text).run(); }

}  // namespace lockstep
