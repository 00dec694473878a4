// A confirmation as JSON; the one file here that sees the JSON library.
#include <cmath>
#include <nlohmann/json.hpp>

#include "matrix/confirm/confirmation_report.h"

namespace lockstep::matrix {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json case_to_json(const JoinedCase& joined, const std::string& comm) {
  Json json;
  json["name"] = joined.name;
  json["inproc"] = name_of(joined.simulated);
  json[comm] = name_of(joined.confirmed);
  json["agrees"] = joined.agrees;
  json["reason"] = joined.reason;
  json["note"] = joined.note;
  if (!joined.difference) return json;
  json["error"] = number(joined.difference->error);
  json["bound"] = number(joined.difference->bound);
  json["where"] = joined.difference->where;
  Json ranks = Json::array();
  for (const Rank rank : joined.difference->ranks) ranks.push_back(rank.value);
  json["ranks"] = std::move(ranks);
  return json;
}

}  // namespace

std::string confirmation_to_json(const Confirmation& confirmation) {
  Json json;
  json["name"] = confirmation.name;
  json["comm"] = confirmation.comm;
  const std::size_t num_agreeing = confirmation.num_agreeing();
  json["counts"] = {{"fit", confirmation.num_fit},
                    {"chosen", confirmation.num_chosen},
                    {"agree", num_agreeing},
                    {"disagree", confirmation.cases.size() - num_agreeing}};
  Json left_out = Json::array();
  for (const LeftOut& one : confirmation.left_out) {
    left_out.push_back({{"reason", one.reason}, {"cases", one.num_cases}});
  }
  json["left_out"] = std::move(left_out);
  json["seconds"] = number(confirmation.seconds);
  Json cases = Json::array();
  for (const JoinedCase& joined : confirmation.cases) {
    cases.push_back(case_to_json(joined, confirmation.comm));
  }
  json["cases"] = std::move(cases);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lockstep::matrix
