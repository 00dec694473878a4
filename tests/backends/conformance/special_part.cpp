// Numbers that are no numbers: NaN outlives sums and maxima whichever rank has it, infinity adds
// up.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/tensor/bfloat16.h"
#include "tests/backends/conformance/part.h"
#include "tests/support/device_memory.h"

namespace lockstep::test {
namespace {

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  const auto of_value = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), of_value.begin(), of_value.end());
}

Tensor tensor_of(const TestRank& r, DType dtype, const std::vector<double>& values) {
  std::vector<std::byte> bytes;
  for (const double value : values) {
    if (dtype == DType::kF64) append(bytes, value);
    if (dtype == DType::kF32) append(bytes, static_cast<float>(value));
    if (dtype == DType::kBF16) append(bytes, rounded_to_bf16(static_cast<float>(value)));
  }
  const Tensor tensor = r.empty(std::ssize(values), dtype);
  put_bytes(r.device, tensor.buffer(), bytes);
  return tensor;
}

// Element 0 is NaN on the owner alone, element 1 infinite there, element 2 an ordinary number.
std::string complaint_of(TestRank& r, Communicator& communicator, const CallType& type, int owner) {
  const double infinity = std::numeric_limits<double>::infinity();
  const bool mine = rank_in(communicator, r.rank).value == owner;
  const Tensor values =
      tensor_of(r, type.dtype, {mine ? std::nan("") : 1.0, mine ? infinity : 1.0, 1.0});
  run_call(communicator,
           {.label = "conformance.special",
            .kind = type.kind,
            .input = values.buffer(),
            .output = values.buffer(),
            .op = type.op});
  const std::vector<double> found = values_of(r.device, values);
  const double ordinary = type.op == ReduceOp::kSum ? communicator.group().size() : 1.0;
  if (std::isnan(found[0]) && found[1] == infinity && found[2] == ordinary) return {};
  return fmt::format("{} on {} with NaN and infinity of member {} gives {}, {}, {}",
                     to_text(type),
                     to_text(communicator.group()),
                     owner,
                     found[0],
                     found[1],
                     found[2]);
}

}  // namespace

PartReport check_special_values(const TestedBackend& backend, int world) {
  const std::vector<Capability> capabilities = capabilities_of(backend);
  return run_part(backend, world, [&](TestRank& r, RankNotes& notes) {
    const auto communicator = r.connect(GroupKind::kWorld);
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16}) {
      for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMax}) {
        const CallType type{.kind = CollectiveKind::kAllReduce, .dtype = dtype, .op = op};
        for (int owner = 0; owner < world && can_do(capabilities, type); ++owner) {
          ++notes.num_calls;
          notes.check(complaint_of(r, *communicator, type, owner));
        }
      }
    }
  });
}

}  // namespace lockstep::test
