// The edits that defects are made of: each changes entries of a plan and nothing else.
#pragma once

#include <string_view>

#include "simulator/defects/trial_setup.h"

namespace lockstep::sim {

// Each sum of a bucket once more: right after itself, or after the wait for one that a backward
// pass started.
void sum_buckets_again(FinalizePlan& plan);

// The factor of the scaling of all gradients times `factor`.
void rescale(FinalizePlan& plan, double factor);

// Which rows of the table of parameters.
using ChosenParameters = bool (*)(const ParameterSpec&);

// Every tensor rank holds all of it, and its gradient is a term of a sum over tp.
bool is_partial_over_tp(const ParameterSpec& spec);
// The weights of query and key norms, and their biases.
bool is_head_norm(const ParameterSpec& spec);

// Drops the sums over tp of these parameters' gradients.
void drop_tp_sums(Plans& plans, ChosenParameters chosen);

// Counts these on the first tensor rank only.
void count_on_first_rank(CountPlan& plan, const ParameterTable& table, ChosenParameters chosen);

// Drops the calls whose labels begin so.
void drop_calls(TrialSetup& setup, std::string_view label);

// Puts a wrong variant into the table where the true mapping is in use. A group of one rank has
// only identities there, and is left alone.
void replace(MappingTable& table, MappingKind kind, const Mapping& variant);

}  // namespace lockstep::sim
