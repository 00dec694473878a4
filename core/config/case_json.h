// A case as flat JSON, every field with defaults, and back.
#pragma once

#include <string>
#include <string_view>

#include "core/config/case.h"

namespace lockstep {

// One line: every field of model, layout and recipe in the table's order, then "defects".
std::string case_to_json(const Case& c);

// Fields that are missing take their default; a "preset" that is named applies first. UsageError
// for text that is not JSON, an unknown key, or a wrong type.
Case case_from_json(std::string_view text);

// 16 hex digits over the whole case, defects included.
std::string case_id(const Case& c);

// What the reference's result depends on: model, recipe and seeds without layout, communication,
// step API, overlap and orders. Cases with equal keys share one reference.
std::string reference_key(const Case& c);

// The same model, data and recipe on one rank: all that the key leaves out at its default, and no
// defects.
Case on_single_device(const Case& c);

}  // namespace lockstep
