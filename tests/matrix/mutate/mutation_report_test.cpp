// The words of the report, in each of its forms.
#include "matrix/mutate/mutation_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/matrix/mutate/sample_mutation.h"

namespace lockstep::test {
namespace {

using matrix::Mutation;

// D1 is caught in a and b, D2 missed in b, D3 unreached.
Mutation sample_outcome() {
  SampleMutation sample({"D1", "D2", "D3"});
  for (const char* name : {"a", "b"}) {
    sample.make_visible(name, "D1");
    sample.fail(name, "D1", "grads", "output_layer.weight");
  }
  sample.make_visible("b", "D2");
  sample.traits("c", "D3").is_unchanged = true;
  sample.record("c", "D3").digest = "other";
  Mutation mutation = sample.judged();
  mutation.name = "tiny-mutate";
  mutation.seconds = 2.0;
  mutation.runs_per_second = 6.0;
  mutation.num_workers = 2;
  return mutation;
}

std::string text_of(const Mutation& mutation) {
  return mutation_text(mutation,
                       {.color = false,
                        .invalid = "invalid part\n",
                        .results_path = "out/results.jsonl",
                        .replay_command = "again"});
}

TEST(MutationText, TellsRowsMissesAlarmsAndTheScore) {
  EXPECT_EQ(
      text_of(sample_outcome()),
      "tiny-mutate: 3 defects x 3 cases, 12 runs in 2.0 s, 6 runs/s on 2 workers\n"
      "\n"
      "clean  3 of 3 pass\n"
      "\n"
      "  defect                               state       caught  missed equivalent unreached  "
      "inert beyond\n"
      "  D2                                  missed          0/1       1          0         2      "
      "0      0\n"
      "      visible when tp > 1\n"
      "  D3                               unreached          0/0       0          0         2      "
      "1      0\n"
      "      visible when tp > 1\n"
      "  D1                                  caught          2/2       0          0         1      "
      "0      0\n"
      "      by grads 2; grads at output_layer.weight, rank 0, x2 = dp in b\n"
      "  caught a/b: in a of the b cases where visible_when holds; beyond: caught where it does "
      "not\n"
      "  inert: no edit; unreached: same bits (as a state: shown by no case); equivalent: within "
      "bounds\n"
      "\n"
      "missed, where they are visible:\n"
      "  D2 in b\n"
      "\n"
      "alarms:\n"
      "  c+D3: inert, yet with another digest than the clean run\n"
      "\n"
      "invalid part\n"
      "score    1 of 3 defects caught; 2 of 3 cases in which they show\n"
      "results  out/results.jsonl\n"
      "replay   again\n");
}

TEST(MutationText, TellsACleanRunThatFailsAndWhatIsNotJudged) {
  SampleMutation sample({"D1"});
  sample.fail("b", "", "grads", "weight");
  const std::string text = text_of(sample.judged());
  EXPECT_NE(text.find("clean  2 of 3 pass\n"), std::string::npos) << text;
  EXPECT_NE(text.find("      not judged in 1 case\n"), std::string::npos) << text;
  EXPECT_NE(text.find("b: the clean run does not pass"), std::string::npos) << text;
}

TEST(MutationText, StaysWithinAHundredColumnsAndListsAHandful) {
  std::vector<std::string> ids;
  for (int i = 0; i < 9; ++i) {
    ids.push_back("B" + std::to_string(i) + "-a-name-that-is-longer-than-its-column-by-far");
  }
  SampleMutation sample(ids);
  for (const std::string& id : ids) {
    sample.make_visible("b", id);
    sample.fail("c", id, "grads", "decoder.layers.0.self_attention.q_layernorm.weight (step 1)");
  }
  const std::string text = text_of(sample.judged());
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_NE(text.find("and 4 more; all are in mutation.json"), std::string::npos) << text;
}

// What is cut can be neither found nor run.
TEST(MutationText, TellsNamesAndConditionsWholeHoweverLong) {
  Mutation mutation = sample_outcome();
  const std::string name = std::string(240, 'n') + ".end";
  const std::string condition = "tp > 1 and mask in [" + std::string(120, 'm') + "]";
  mutation.rows.at(0).visible_when = condition;
  mutation.rows.at(2).smallest->case_name = name;
  mutation.missed.at(0).case_name = name;
  mutation.alarms.at(0) = name + "+D3: inert, yet with another digest than the clean run";
  const std::string text = text_of(mutation);
  for (const std::string& whole : {"      visible when " + condition + "\n",
                                   "      in " + name + "\n",
                                   "  D2 in " + name + "\n",
                                   "  " + mutation.alarms[0] + "\n"}) {
    EXPECT_NE(text.find("\n" + whole), std::string::npos) << whole << text;
  }
}

TEST(MutationText, HasNoEscapesUnlessColorIsAskedFor) {
  EXPECT_EQ(text_of(sample_outcome()).find('\x1b'), std::string::npos);
  EXPECT_NE(mutation_text(sample_outcome(), {.color = true}).find('\x1b'), std::string::npos);
}

TEST(MutationMarkdown, IsATableWithListsOfWhatIsWrong) {
  const std::string text = mutation_markdown(sample_outcome());
  EXPECT_TRUE(
      text.starts_with("### tiny-mutate: 1 of 3 defects caught; 2 of 3 cases in which they "
                       "show\n\nclean: 3 of 3 pass; 12 runs in 2.0 s.\n\n"))
      << text;
  EXPECT_NE(text.find("| D1 | caught | 2 | 0 | 0 | 1 | 0 | 0 | grads 2 | grads at "
                      "output_layer.weight, rank 0, x2 = dp in `b` |\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("| D2 | **missed** | 0/1 | 1 | 0 | 2 | 0 | 0 |  | visible when `tp > 1` |\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\n**missed**\n\n- D2 in b\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n**alarms**\n\n- c+D3: inert"), std::string::npos) << text;
}

TEST(MutationMarkdown, KeepsBarsOutOfItsCells) {
  Mutation mutation = sample_outcome();
  mutation.rows.at(0).visible_when = "tp > 1 || dp > 1";
  const std::string text = mutation_markdown(mutation);
  EXPECT_NE(text.find("`tp > 1 \\|\\| dp > 1` |\n"), std::string::npos) << text;
}

TEST(MutationJson, HoldsScoreRowsAlarmsAndMisses) {
  const std::string text = mutation_to_json(sample_outcome());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 0);
  const nlohmann::json json = nlohmann::json::parse(text);
  EXPECT_EQ(json["name"], "tiny-mutate");
  EXPECT_EQ(json["clean"], nlohmann::json::parse(R"({"cases":3,"passed":3,"skipped":0})"));
  EXPECT_EQ(
      json["score"],
      nlohmann::json::parse(R"({"caught":1,"defects":3,"caught_cases":2,"visible_cases":3})"));
  ASSERT_EQ(json["defects"].size(), 3U);
  EXPECT_EQ(json["defects"][2], nlohmann::json::parse(R"({
    "id": "D1", "state": "caught", "source": "source of D1", "visible_when": "tp > 1",
    "cases": {"inert": 0, "unreached": 1, "equivalent": 0, "caught": 2, "missed": 0, "beyond": 0,
              "not_judged": 0},
    "checks": {"grads": 2}, "check": "grads", "where": "output_layer.weight", "ranks": [0],
    "hint": "x2 = dp", "reason": "", "case": "b"})"));
  EXPECT_EQ(json["defects"][0]["case"], "");
  EXPECT_EQ(json["missed"], nlohmann::json::parse(R"([{"defect":"D2","case":"b"}])"));
  EXPECT_EQ(json["alarms"].size(), 1U);
  EXPECT_EQ(json["interrupted"], false);
}

TEST(MutationJson, ReplacesBytesThatAreNoText) {
  Mutation mutation = sample_outcome();
  mutation.alarms = {"a crash said \xff"};
  EXPECT_NO_THROW(nlohmann::json::parse(mutation_to_json(mutation)));
}

}  // namespace
}  // namespace lockstep::test
