// Weights, tokens, masks and documents from the counter hash.
#include "core/config/data.h"

#include <algorithm>

#include "core/base/errors.h"
#include "core/base/random.h"

namespace lockstep {
namespace {

const std::uint64_t kTokenStream = stream_of("data.token");
const std::uint64_t kMaskStream = stream_of("data.mask");
const std::uint64_t kMaskKindStream = stream_of("data.mask_kind");
const std::uint64_t kMaskDensityStream = stream_of("data.mask_density");
const std::uint64_t kMaskPlaceStream = stream_of("data.mask_place");
const std::uint64_t kDocumentStream = stream_of("data.document");

std::uint64_t unsigned_of(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// The power of two nearest to sqrt(3 / fan_in) from below: uniform in [-s, s) has deviation
// s / sqrt(3), so this keeps the deviation of a product's output near that of its input.
double weight_factor(std::int64_t fan_in) {
  double factor = 1.0;
  while (factor * factor * static_cast<double>(fan_in) > 3.0) factor *= 0.5;
  return factor;
}

// A batch-like run of samples within which `single` and `empty` place their targets.
struct SampleRange {
  std::int64_t first;  // global sample number over all steps
  std::int64_t count;
};

bool is_target_of(
    Mask mask, const Case& c, SampleRange range, std::int64_t sample, std::int64_t position) {
  const std::uint64_t seed = unsigned_of(c.recipe.seed);
  const std::int64_t seq = c.recipe.seq;
  const std::uint64_t place = random_bits(seed, kMaskPlaceStream, unsigned_of(range.first));
  const std::int64_t within = sample - range.first;
  switch (mask) {
    case Mask::kFull:
      return true;
    case Mask::kNone:
      return false;
    case Mask::kUneven: {
      // Each sample has its own density between 1/8 and 1.
      const double density =
          0.125 + 0.875 * random_unit(seed, kMaskDensityStream, unsigned_of(sample));
      return random_unit(seed, kMaskStream, unsigned_of(sample * seq + position)) < density;
    }
    case Mask::kSingle: {
      const std::int64_t half = seq / 2;
      const auto chosen = static_cast<std::int64_t>(place % unsigned_of(range.count));
      const auto target = half + static_cast<std::int64_t>((place >> 32) % unsigned_of(seq - half));
      return within == chosen && position == target;
    }
    case Mask::kEmpty: {
      // Every third sample has targets: with dp 3 two ranks get none at all.
      const auto chosen =
          static_cast<std::int64_t>(place % unsigned_of(std::min<std::int64_t>(3, range.count)));
      return within % 3 == chosen && position < std::max<std::int64_t>(1, seq / 16);
    }
    case Mask::kVarying:
      break;
  }
  throw InternalError("a varying mask has no targets of its own");
}

}  // namespace

InitialValues::InitialValues(std::int64_t seed,
                             std::string_view name,
                             InitKind kind,
                             std::int64_t fan_in)
    : seed_(unsigned_of(seed)),
      stream_(stream_of(name)),
      kind_(kind),
      weight_factor_(weight_factor(fan_in)) {}

double InitialValues::operator[](std::int64_t index) const {
  const std::uint64_t counter = unsigned_of(index);
  switch (kind_) {
    case InitKind::kWeight:
      return weight_factor_ * random_signed(seed_, stream_, counter);
    case InitKind::kNormWeight:  // in [1.0625, 1.5)
      return 1.0625 + 0.4375 * random_unit(seed_, stream_, counter);
    case InitKind::kBias:  // in [0.0625, 0.25), of either sign by index
      return (counter % 2 == 0 ? 1.0 : -1.0) *
             (0.0625 + 0.1875 * random_unit(seed_, stream_, counter));
  }
  throw InternalError("unknown kind of initial value");
}

std::int64_t token(const Case& c, std::int64_t step, std::int64_t sample, std::int64_t position) {
  const std::int64_t global_sample = step * c.recipe.global_batch + sample;
  const std::uint64_t index = unsigned_of(global_sample * (c.recipe.seq + 1) + position);
  return static_cast<std::int64_t>(random_bits(unsigned_of(c.recipe.seed), kTokenStream, index) %
                                   unsigned_of(c.model.vocab_size));
}

bool is_target(const Case& c, std::int64_t step, std::int64_t sample, std::int64_t position) {
  const Recipe& recipe = c.recipe;
  const std::int64_t first = step * recipe.global_batch;
  const SampleRange batch{.first = first, .count = recipe.global_batch};
  if (recipe.mask != Mask::kVarying) {
    return is_target_of(recipe.mask, c, batch, first + sample, position);
  }
  constexpr Mask kKinds[] = {Mask::kFull, Mask::kUneven, Mask::kSingle, Mask::kEmpty, Mask::kNone};
  const std::int64_t micro_batch_first = first + sample / recipe.micro_batch * recipe.micro_batch;
  const std::uint64_t kind =
      random_bits(unsigned_of(recipe.seed), kMaskKindStream, unsigned_of(micro_batch_first));
  const SampleRange range{.first = micro_batch_first, .count = recipe.micro_batch};
  return is_target_of(kKinds[kind % std::size(kKinds)], c, range, first + sample, position);
}

std::vector<std::int64_t> document_starts(const Case& c, std::int64_t step, std::int64_t sample) {
  if (!c.recipe.packing) return {0};
  constexpr std::int64_t kShortest = 3;
  const std::int64_t seq = c.recipe.seq;
  const std::int64_t spread = std::max<std::int64_t>(1, seq * 3 / 8 - kShortest + 1);
  const std::int64_t first = first_token_of(c, step, sample);
  std::vector<std::int64_t> starts;
  for (std::int64_t start = 0; start < seq;) {
    starts.push_back(start);
    const std::uint64_t bits =
        random_bits(unsigned_of(c.recipe.seed), kDocumentStream, unsigned_of(first + start));
    start += kShortest + static_cast<std::int64_t>(bits % unsigned_of(spread));
  }
  return starts;
}

std::int64_t first_token_of(const Case& c, std::int64_t step, std::int64_t sample) {
  return (step * c.recipe.global_batch + sample) * c.recipe.seq;
}

std::uint64_t dropout_stream(std::string_view site) {
  return stream_of("dropout." + std::string(site));
}

}  // namespace lockstep
