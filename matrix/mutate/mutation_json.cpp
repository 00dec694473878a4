// mutation.json; the one file of the mutation that sees the JSON library.
#include <nlohmann/json.hpp>

#include "matrix/mutate/mutation_report.h"

namespace lockstep::matrix {
namespace {

using Json = nlohmann::ordered_json;

Json row_to_json(const DefectRow& row) {
  Json json;
  json["id"] = row.id;
  json["state"] = name_of(row.state);
  json["source"] = row.source;
  json["visible_when"] = row.visible_when;
  json["cases"] = Json{{"inert", row.cases.inert},
                       {"unreached", row.cases.unreached},
                       {"equivalent", row.cases.equivalent},
                       {"caught", row.cases.caught},
                       {"missed", row.cases.missed},
                       {"beyond", row.num_beyond},
                       {"not_judged", row.num_not_judged}};
  Json& checks = json["checks"] = Json::object();
  for (const auto& [check, count] : row.checks) checks[check] = count;
  const SmallestCatch none;
  const SmallestCatch& smallest = row.smallest ? *row.smallest : none;
  json["check"] = smallest.record.check;
  json["where"] = smallest.record.where;
  Json& ranks = json["ranks"] = Json::array();
  for (const Rank rank : smallest.record.ranks) ranks.push_back(rank.value);
  json["hint"] = smallest.record.hint;
  json["reason"] = smallest.record.reason;
  json["case"] = smallest.case_name;
  return json;
}

}  // namespace

std::string mutation_to_json(const Mutation& mutation) {
  const Score score = score_of(mutation);
  Json json;
  json["name"] = mutation.name;
  json["seconds"] = mutation.seconds;
  json["runs"] = mutation.num_runs;
  json["clean"] = Json{{"cases", mutation.num_cases},
                       {"passed", mutation.num_clean_passed},
                       {"skipped", mutation.num_clean_skipped}};
  json["score"] = Json{{"caught", score.num_caught},
                       {"defects", score.num_defects},
                       {"caught_cases", score.num_caught_cases},
                       {"visible_cases", score.num_visible_cases}};
  Json& defects = json["defects"] = Json::array();
  for (const DefectRow& row : mutation.rows) defects.push_back(row_to_json(row));
  json["alarms"] = mutation.alarms;
  Json& missed = json["missed"] = Json::array();
  for (const MissedCase& one : mutation.missed) {
    missed.push_back(Json{{"defect", one.defect}, {"case", one.case_name}});
  }
  json["interrupted"] = mutation.interrupted;
  // Reasons may hold bytes of a crashed process: what is no UTF-8 is replaced.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lockstep::matrix
