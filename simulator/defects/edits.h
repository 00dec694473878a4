// The edits that defects are made of: each changes entries of a plan and nothing else.
#pragma once

#include "simulator/defects/trial_setup.h"

namespace lockstep::sim {

// Each sum of a bucket once more: right after itself, or after the wait for one that a backward
// pass started.
void sum_buckets_again(FinalizePlan& plan);

// Every scaling's factor times `factor`.
void rescale(FinalizePlan& plan, double factor);

// Drops the calls whose labels begin so.
void drop_calls(TrialSetup& setup, const std::string& label);

// Puts a wrong variant into the table where the true mapping is in use. A group of one rank has
// only identities there, and is left alone.
void replace(MappingTable& table, MappingKind kind, const Mapping& variant);

}  // namespace lockstep::sim
