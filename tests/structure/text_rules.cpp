// Sizes, banned words, skipped tests and mutable globals, each as a search through the code.
#include "tests/structure/text_rules.h"

#include <algorithm>
#include <regex>
#include <string>
#include <string_view>

namespace lockstep::test {
namespace {

struct Allowance {
  std::string_view path;
  std::string_view reason;
};

struct Ban {
  std::string_view pattern;  // a regular expression over the code of one line
  std::string_view message;
  std::vector<Allowance> allowed;
};

const std::vector<Ban>& bans() {
  static const std::vector<Ban> kBans = {
      {R"(#include <ranges>)", "<ranges> cannot be read by clang-tidy 14", {}},
      {R"(\busing namespace\b)", "no using namespace", {}},
      {R"(\bthread_local\b)", "no thread_local: what a layer needs is in its context", {}},
      {R"(\bcatch \(\.\.\.\))",
       "catch (...) only at a rank's root",
       {{"simulator/runtime/cluster.cpp", "the root of a rank's program"}}},
      {R"(\b(sleep_for|sleep_until|usleep|nanosleep)\b)",
       "no sleeps: wait for what must happen",
       {}},
      {R"(\bstd::(mt19937|random_device|uniform_\w+|normal_distribution)\b)",
       "all randomness is f(seed, stream, index)",
       {}},
      {R"(\bstd::(unordered_map|unordered_set)\b)", "no unordered containers", {}},
  };
  return kBans;
}

// Tests that may skip themselves, by file.
const std::vector<Allowance>& allowed_skips() {
  static const std::vector<Allowance> kAllowed = {
      {"tests/backends/conformance/presence_test.cpp", "a backend that is not tested, by name"}};
  return kAllowed;
}

struct Global {
  std::string_view path;
  std::string_view name;
  std::string_view reason;
};

const std::vector<Global>& allowed_globals() {
  static const std::vector<Global> kAllowed = {};
  return kAllowed;
}

bool is_allowed(const std::vector<Allowance>& allowed, std::string_view path) {
  return std::any_of(
      allowed.begin(), allowed.end(), [&](const Allowance& a) { return a.path == path; });
}

bool is_code(const SourceFile& file) { return is_source(file.path) || is_header(file.path); }

Findings check_pattern(const SourceFile& file, const std::regex& pattern, const std::string& what) {
  Findings findings;
  const std::vector<std::string> lines = lines_of(code_only(file.text));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (std::regex_search(lines[i], pattern)) findings.push_back(at_line(file, i, what));
  }
  return findings;
}

void append(Findings& all, const Findings& more) {
  all.insert(all.end(), more.begin(), more.end());
}

bool is_sentence(const std::string& line) {
  return line.size() > 10 && line.starts_with("// ") && (line.ends_with('.') || line.size() > 60);
}

// Characters, not bytes: a UTF-8 continuation byte starts none.
std::size_t num_characters(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

}  // namespace

Findings check_sizes(const std::vector<SourceFile>& files) {
  Findings findings;
  for (const SourceFile& file : files) {
    const std::vector<std::string> lines = lines_of(file.text);
    if (lines.size() > kMaxFileLines) {
      findings.push_back(file.path + ": " + std::to_string(lines.size()) + " lines, more than " +
                         std::to_string(kMaxFileLines));
    }
    if (!is_code(file)) continue;
    if (lines.empty() || !is_sentence(lines[0])) {
      findings.push_back(at_line(file, 0, "the first line must be a sentence in a comment"));
    }
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (num_characters(lines[i]) > kMaxLineLength) {
        findings.push_back(at_line(file, i, "longer than 100 characters"));
      }
    }
  }
  return findings;
}

Findings check_banned(const std::vector<SourceFile>& files) {
  Findings findings;
  for (const Ban& ban : bans()) {
    const std::regex pattern{std::string(ban.pattern)};
    for (const SourceFile& file : files) {
      if (!is_code(file) || is_allowed(ban.allowed, file.path)) continue;
      append(findings, check_pattern(file, pattern, std::string(ban.message)));
    }
  }
  return findings;
}

Findings check_skipped_tests(const std::vector<SourceFile>& files) {
  static const std::regex kPattern(R"(\bGTEST_SKIP\b|\bDISABLED_\w+)");
  Findings findings;
  for (const SourceFile& file : files) {
    if (!is_code(file) || is_allowed(allowed_skips(), file.path)) continue;
    append(findings,
           check_pattern(file, kPattern, "a test that may skip itself must be in the table"));
  }
  return findings;
}

// In formatted code what stands in column 0 is at namespace scope. Functions are told apart by
// their parenthesis, which costs the rule variables that are initialised with one.
Findings check_globals(const std::vector<SourceFile>& files) {
  static const std::regex kNamespaceScope(
      R"(^(?!(const|constexpr|using|typedef|namespace|class|struct|enum|union|template|friend)\b))"
      R"((?!(static|inline|extern) (inline )?(const|constexpr)\b)(?!extern template\b))"
      R"([A-Za-z_][\w:<>,&* ]*[ *&>](\w+)(\[\w*\])?( = .*|\{.*|;))");
  static const std::regex kStaticLocal(R"(^ +(inline )?static (?!const\b|constexpr\b|inline const))"
                                       R"([\w:<>,&* ]+?(\w+)( = .*|\{.*|;))");
  Findings findings;
  for (const SourceFile& file : files) {
    if (!is_code(file)) continue;
    const std::vector<std::string> lines = lines_of(code_only(file.text));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::smatch match;
      std::string name;
      if (std::regex_match(lines[i], match, kNamespaceScope)) name = match[5];
      if (std::regex_match(lines[i], match, kStaticLocal)) name = match[2];
      const auto& allowed = allowed_globals();
      const bool listed = std::any_of(allowed.begin(), allowed.end(), [&](const Global& g) {
        return g.path == file.path && g.name == name;
      });
      if (name.empty() || listed) continue;
      findings.push_back(at_line(file, i, "mutable global '" + name + "'"));
    }
  }
  return findings;
}

}  // namespace lockstep::test
