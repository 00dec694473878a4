// Names of cases: one part for each varied axis, in the spec's order.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "matrix/spec/spec.h"

namespace lockstep::matrix {

class CaseNamer {
 public:
  explicit CaseNamer(std::span<const SpecAxis> axes);

  // Numbers as axis and value (tp2, lr0.1), true as the axis, false as nothing, choices as the
  // value; axis=value where another axis has that choice too. "base" where nothing is left.
  std::string name(const Case& c) const;

  // The same with parts for what a row gives beyond the axes.
  std::string name(const Case& c, std::span<const Setting> row) const;

 private:
  struct Part {
    const Field* field;
    std::vector<std::string> shared;  // choices that do not tell the axis
  };
  std::vector<Part> parts_;
};

}  // namespace lockstep::matrix
