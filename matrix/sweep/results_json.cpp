// The JSON of results, summaries and worker requests; the one file of the sweep that sees the
// JSON library.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/config/case_json.h"
#include "matrix/sweep/case_result.h"
#include "matrix/sweep/messages.h"
#include "matrix/sweep/summary.h"

namespace lockstep::matrix {
namespace {

using Json = nlohmann::ordered_json;

// Reasons may hold bytes of a crashed process: what is no UTF-8 is replaced, never thrown over.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// JSON has no word for NaN and infinity: both are null, and come back as NaN.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

double number_from(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

std::string_view name_of_check(sim::CheckVerdict verdict) {
  switch (verdict) {
    case sim::CheckVerdict::kPass:
      return "pass";
    case sim::CheckVerdict::kFail:
      return "fail";
    case sim::CheckVerdict::kNotApplicable:
      return "n/a";
  }
  return "";
}

Verdict verdict_from(const std::string& name) {
  for (const Verdict verdict : kAllVerdicts) {
    if (name == name_of(verdict)) return verdict;
  }
  throw UsageError("a result line has the unknown verdict '" + name + "'");
}

sim::CheckVerdict check_verdict_from(const std::string& name) {
  for (const sim::CheckVerdict verdict :
       {sim::CheckVerdict::kPass, sim::CheckVerdict::kFail, sim::CheckVerdict::kNotApplicable}) {
    if (name == name_of_check(verdict)) return verdict;
  }
  throw UsageError("a result line has a check with the unknown verdict '" + name + "'");
}

void add_place(Json& json, const sim::Place& place) {
  json["where"] = place.where;
  Json ranks = Json::array();
  for (const Rank rank : place.ranks) ranks.push_back(rank.value);
  json["ranks"] = std::move(ranks);
  json["error"] = number(place.error);
  json["bound"] = number(place.bound);
  json["hint"] = place.hint;
}

sim::Place place_from(const Json& json) {
  sim::Place place;
  place.where = json.at("where").get<std::string>();
  for (const Json& rank : json.at("ranks")) place.ranks.push_back(Rank{rank.get<int>()});
  place.error = number_from(json.at("error"));
  place.bound = number_from(json.at("bound"));
  place.hint = json.at("hint").get<std::string>();
  return place;
}

Json check_to_json(const sim::CheckResult& check) {
  Json json;
  json["check"] = check.check;
  json["verdict"] = name_of_check(check.verdict);
  json["compared"] = check.compared;
  json["expected"] = check.expected;
  add_place(json, check.worst);
  if (check.verdict == sim::CheckVerdict::kFail) {
    Json failures = Json::array();
    for (const sim::Place& place : check.failures) add_place(failures.emplace_back(), place);
    json["failures"] = std::move(failures);
  }
  json["reason"] = check.reason;
  return json;
}

sim::CheckResult check_from(const Json& json) {
  sim::CheckResult check;
  check.check = json.at("check").get<std::string>();
  check.verdict = check_verdict_from(json.at("verdict").get<std::string>());
  check.compared = json.at("compared").get<std::int64_t>();
  check.expected = json.at("expected").get<std::int64_t>();
  check.worst = place_from(json);
  if (json.contains("failures")) {
    for (const Json& place : json["failures"]) check.failures.push_back(place_from(place));
  }
  check.reason = json.at("reason").get<std::string>();
  return check;
}

Json headroom_to_json(const Headroom& headroom) {
  Json json;
  if (headroom.is_exact()) {
    json["exact"] = true;
    return json;
  }
  json["p50"] = number(headroom.quantile(0.5));
  json["p90"] = number(headroom.quantile(0.9));
  json["p99"] = number(headroom.quantile(0.99));
  json["max"] = number(headroom.largest());
  return json;
}

}  // namespace

std::string result_to_json(const CaseResult& result) {
  Json tail;
  tail["comm"] = result.comm;
  tail["device"] = result.device;
  tail["verdict"] = name_of(result.verdict);
  tail["seconds"] = number(result.seconds);
  tail["digest"] = result.digest;
  if (!result.simulated_digest.empty()) tail["simulated_digest"] = result.simulated_digest;
  tail["reason"] = result.reason;
  Json checks = Json::array();
  for (const sim::CheckResult& check : result.checks) checks.push_back(check_to_json(check));
  tail["checks"] = std::move(checks);
  // The case is text already, written by the table of fields: it is embedded, not parsed again.
  return "{\"id\":\"" + case_id(result.c) + "\",\"name\":" + dump(result.name) +
         ",\"case\":" + case_to_json(result.c) + "," + dump(tail).substr(1);
}

CaseResult result_from_json(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    CaseResult result;
    result.name = json.at("name").get<std::string>();
    result.c = case_from_json(json.at("case").dump());
    if (json.at("id").get<std::string>() != case_id(result.c)) {
      throw UsageError("a result line's id is not that of its case");
    }
    result.comm = json.value("comm", result.comm);
    result.device = json.value("device", result.device);
    result.verdict = verdict_from(json.at("verdict").get<std::string>());
    result.seconds = number_from(json.at("seconds"));
    result.digest = json.at("digest").get<std::string>();
    result.simulated_digest = json.value("simulated_digest", result.simulated_digest);
    result.reason = json.at("reason").get<std::string>();
    for (const Json& check : json.at("checks")) result.checks.push_back(check_from(check));
    return result;
  } catch (const Json::exception& error) {
    throw UsageError(std::string("not a result line: ") + error.what());
  }
}

std::string request_to_json(const std::string& name, const Case& c) {
  return "{\"name\":" + dump(name) + ",\"case\":" + case_to_json(c) + "}";
}

WorkerRequest request_from_json(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    return WorkerRequest{.name = json.at("name").get<std::string>(),
                         .c = case_from_json(json.at("case").dump())};
  } catch (const Json::exception& error) {
    throw UsageError(std::string("not a request to a worker: ") + error.what());
  }
}

std::string summary_to_json(const SweepSummary& summary) {
  Json json;
  json["name"] = summary.name;
  Json& counts = json["counts"];
  for (const Verdict verdict : kAllVerdicts) {
    counts[std::string(name_of(verdict))] = summary.count(verdict);
  }
  json["seconds"] = number(summary.seconds);
  json["cases_per_second"] = number(summary.cases_per_second);
  if (!summary.has_headroom) return dump(json);
  Json& headroom = json["headroom"] = Json::object();
  for (const CheckHeadroom& check : summary.headroom) {
    headroom[check.check] = headroom_to_json(check.headroom);
  }
  return dump(json);
}

}  // namespace lockstep::matrix
