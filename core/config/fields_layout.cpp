// The rows of the table of fields that say how the model is laid out, and the derived ones.
#include "core/config/field_builders.h"

namespace lockstep {
namespace {

// One degree of parallelism.
Field degree(std::int64_t Layout::*member,
             std::string name,
             std::string summary,
             std::vector<std::string> built) {
  return field(&Case::layout,
               member,
               {.name = std::move(name),
                .default_value = std::int64_t{1},
                .built = std::move(built),
                .smallest = 1,
                .largest = 4096,
                .summary = std::move(summary)});
}

Field derived(std::string name, FieldType type, Value zero, std::string summary) {
  return field_of_row({.name = std::move(name),
                       .default_value = std::move(zero),
                       .smallest = 1,
                       .largest = 1048576,
                       .summary = std::move(summary)},
                      FieldSection::kDerived,
                      type);
}

}  // namespace

std::vector<Field> layout_fields() {
  return {
      degree(&Layout::tp, "tp", "tensor parallel size", {}),
      field(
          &Case::layout,
          &Layout::sp,
          {.name = "sp", .default_value = false, .summary = "sequence parallel, over tp's group"}),
      degree(&Layout::cp, "cp", "context parallel size", {}),
      field(&Case::layout,
            &Layout::cp_comm,
            {.name = "cp_comm",
             .default_value = std::string("p2p"),
             .choices = {"p2p", "all_gather", "a2a", "a2a+p2p"},
             .summary = "how context parallel attention communicates"}),
      field(&Case::layout,
            &Layout::cp_inner,
            {.name = "cp_inner",
             .default_value = std::int64_t{2},
             .smallest = 1,
             .largest = 4096,
             .summary = "of a2a+p2p: neighbours in cp that exchange heads, the others form rings"}),
      degree(&Layout::pp, "pp", "pipeline parallel size", {"1"}),
      degree(&Layout::vpp, "vpp", "virtual chunks of each pipeline rank", {"1"}),
      degree(&Layout::ep, "ep", "expert parallel size", {"1"}),
      field(&Case::layout,
            &Layout::etp,
            {.name = "etp",
             .default_value = std::int64_t{0},
             .built = {"0", "1"},
             .smallest = 0,
             .largest = 4096,
             .summary = "tensor parallel size of experts, 0 for that of tp"}),
      degree(&Layout::dp, "dp", "data parallel size", {}),
      field(&Case::layout,
            &Layout::dispatcher,
            {.name = "dispatcher",
             .default_value = std::string("alltoall"),
             .choices = {"allgather", "alltoall", "fused"},
             .built = {"alltoall"},
             .summary = "how tokens reach their experts"}),
      field(&Case::layout,
            &Layout::zero,
            {.name = "zero",
             .default_value = std::int64_t{0},
             .built = {"0"},
             .smallest = 0,
             .largest = 1,
             .summary = "1 shards the optimizer's state over dp"}),
  };
}

std::vector<Field> derived_fields() {
  Field world =
      derived("world", FieldType::kInteger, std::int64_t{1}, "number of ranks, tp cp pp dp");
  world.get = [](const Case& c) -> Value { return world_size(c.layout); };
  Field edp = derived("edp",
                      FieldType::kInteger,
                      std::int64_t{1},
                      "expert data parallel size, world / (etp ep pp)");
  edp.get = [](const Case& c) -> Value { return expert_data_parallel(c.layout); };
  Field count = derived("num_micro_batches",
                        FieldType::kInteger,
                        std::int64_t{1},
                        "of each dp rank a step; may be given in place of global_batch");
  count.get = [](const Case& c) -> Value { return num_micro_batches(c); };
  Field moe =
      derived("moe", FieldType::kBool, false, "whether the model has experts, num_experts > 0");
  moe.get = [](const Case& c) -> Value { return c.model.num_experts > 0; };
  return {world, edp, count, moe};
}

}  // namespace lockstep
