// Cases as JSON: one object a line, or the job matrix of a CI service.
#include <nlohmann/json.hpp>

#include "core/config/case_json.h"
#include "matrix/cli/case_list.h"

namespace lockstep::matrix {

std::string case_lines(const CaseSelection& selection) {
  std::string text;
  for (const std::size_t index : selection.selected) {
    const NamedCase& one = selection.known[index];
    nlohmann::ordered_json head;
    head["id"] = case_id(one.c);
    head["name"] = one.name;
    nlohmann::ordered_json reason = one.invalid_reason;
    text += head.dump();
    text.pop_back();
    text += ",\"case\":" + case_to_json(one.c) + ",\"invalid\":" + reason.dump() + "}\n";
  }
  return text;
}

std::string job_matrix(const CaseSelection& selection) {
  nlohmann::ordered_json include = nlohmann::ordered_json::array();
  for (const std::size_t index : selection.selected) {
    const NamedCase& one = selection.known[index];
    if (!one.invalid_reason.empty()) continue;
    nlohmann::ordered_json job;
    job["name"] = one.name;
    job["case"] = case_to_json(one.c);
    include.push_back(std::move(job));
  }
  nlohmann::ordered_json matrix;
  matrix["include"] = std::move(include);
  return matrix.dump() + "\n";
}

}  // namespace lockstep::matrix
