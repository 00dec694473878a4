// What each row edits, line by line: a golden difference of the setup's text on one layout.
//
// edits.golden has a section a row: its id and the settings of a case that it edits, then the lines
// that go (-) and those that come (+).
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "core/config/case_json.h"
#include "simulator/defects/defect.h"
#include "simulator/defects/trial_setup.h"

namespace lockstep {
namespace {

struct Section {
  std::string settings;
  std::string difference;
};

// "== ID SETTINGS", then its lines.
std::map<std::string, Section> sections() {
  std::ifstream file(LOCKSTEP_DEFECT_EDITS);
  std::map<std::string, Section> all;
  Section* section = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("== ")) {
      const std::size_t end = line.find(' ', 3);
      section = &all[line.substr(3, end - 3)];
      section->settings = end == std::string::npos ? "" : line.substr(end + 1);
    } else if (section != nullptr && !line.empty()) {
      section->difference += line + "\n";
    }
  }
  return all;
}

Case case_of(const std::string& settings) {
  const std::string base =
      R"({"preset":"tiny-dense","num_hidden_layers":1,"global_batch":8,"bias":true,"tp":4,)";
  return case_from_json(base + settings + "}");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Lines of `a` that `b` lacks, each as often as it does.
std::string lacking(const std::string& a, const std::string& b, const std::string& sign) {
  const std::vector<std::string> others = lines_of(b);
  std::multiset<std::string> left(others.begin(), others.end());
  std::string text;
  for (const std::string& line : lines_of(a)) {
    const auto found = left.find(line);
    if (found == left.end()) {
      text += sign + line + "\n";
    } else {
      left.erase(found);
    }
  }
  return text;
}

TEST(DefectEdits, OfEachRowAreTheGoldenLinesAndNoOthers) {
  const std::map<std::string, Section> golden = sections();
  for (const sim::Defect& defect : sim::defects()) {
    const auto section = golden.find(defect.id);
    ASSERT_NE(section, golden.end()) << defect.id << " has no section";
    Case c = case_of(section->second.settings);
    const std::string clean = to_text(sim::make_setup(c));
    c.defects = {defect.id};
    const std::string edited = to_text(sim::make_edited_setup(c));
    const std::string difference = lacking(clean, edited, "- ") + lacking(edited, clean, "+ ");
    EXPECT_FALSE(difference.empty()) << defect.id << " edits nothing there";
    EXPECT_EQ(difference, section->second.difference) << defect.id;
  }
  EXPECT_EQ(golden.size(), sim::defects().size());
}

}  // namespace
}  // namespace lockstep
