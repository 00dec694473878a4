// Finds functions by their braces: one that opens at namespace or class scope after a parameter
// list.
#include <regex>
#include <string>
#include <string_view>

#include "tests/structure/text_rules.h"

namespace lockstep::test {
namespace {

enum class Scope { kOuter, kFunction, kOther };

struct Brace {
  Scope scope;
  std::size_t head_line;
};

Scope scope_of(const std::string& head) {
  static const std::regex kOuter(
      R"(^\s*(template <[^{]*>\s*)?(inline )?(namespace|class|struct|enum|union|extern)\b)");
  static const std::regex kFunction(R"(^[^=]*(operator[^(]*)?\()");
  if (std::regex_search(head, kOuter) && head.find(") {") == std::string::npos) {
    return Scope::kOuter;
  }
  return std::regex_search(head, kFunction) ? Scope::kFunction : Scope::kOther;
}

// "public:" is not the beginning of the member that follows it.
bool ends_in_access(const std::string& head) {
  return head.ends_with("public:") || head.ends_with("private:") || head.ends_with("protected:");
}

// Directives carry no scope, and an unbalanced brace in a macro would shift all that follows.
std::string without_directives(std::string_view text) {
  std::string code;
  bool continued = false;
  for (const std::string& line : lines_of(code_only(text))) {
    const bool is_directive = continued || line.starts_with("#");
    continued = is_directive && line.ends_with('\\');
    code += (is_directive ? "" : line) + "\n";
  }
  return code;
}

Findings check_functions(const SourceFile& file) {
  Findings findings;
  std::vector<Brace> open;
  std::string head;  // what stands since the last ; { or }
  std::size_t head_line = 0;
  std::size_t line = 0;
  for (const char c : without_directives(file.text)) {
    if (c == '\n') ++line;
    if (c == '\n' && ends_in_access(head)) head.clear();
    if (head.find_first_not_of(" \n") == std::string::npos) head_line = line;
    const bool is_outer = open.empty() || open.back().scope == Scope::kOuter;
    if (c == '{') {
      open.push_back(
          {.scope = is_outer ? scope_of(head + "{") : Scope::kOther, .head_line = head_line});
    } else if (c == '}' && !open.empty()) {
      const std::size_t length = line - open.back().head_line + 1;
      if (open.back().scope == Scope::kFunction && length > kMaxFunctionLines) {
        findings.push_back(at_line(
            file, open.back().head_line, "a function of " + std::to_string(length) + " lines"));
      }
      open.pop_back();
    }
    if (c == '{' || c == '}' || c == ';') {
      head.clear();
    } else {
      head += c;
    }
  }
  return findings;
}

}  // namespace

Findings check_function_lengths(const std::vector<SourceFile>& files) {
  Findings findings;
  for (const SourceFile& file : files) {
    if (!is_source(file.path) && !is_header(file.path)) continue;
    const Findings more = check_functions(file);
    findings.insert(findings.end(), more.begin(), more.end());
  }
  return findings;
}

}  // namespace lockstep::test
