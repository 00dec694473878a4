// Derived sizes of a case, and the case of all defaults.
#include "core/config/case.h"

#include "core/config/fields.h"

namespace lockstep {

std::int64_t world_size(const Layout& layout) {
  return layout.tp * layout.cp * layout.pp * layout.dp;
}

std::int64_t expert_tensor_parallel(const Layout& layout) {
  return layout.etp == 0 ? layout.tp : layout.etp;
}

std::int64_t expert_data_parallel(const Layout& layout) {
  return world_size(layout) / (expert_tensor_parallel(layout) * layout.ep * layout.pp);
}

std::int64_t num_micro_batches(const Case& c) {
  return c.recipe.global_batch / (c.layout.dp * c.recipe.micro_batch);
}

Case default_case() {
  Case c{};
  for (const Field& field : fields()) {
    if (field.set) field.set(c, field.default_value);
  }
  return c;
}

}  // namespace lockstep
