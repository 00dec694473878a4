// What works on a vocabulary shard: embedding rows, and the pieces of cross entropy.
#include <cmath>
#include <limits>

#include "core/ops/cpu/bodies.h"
#include "core/ops/cpu/element.h"

namespace lockstep::cpu {
namespace {

// Row or column of the shard for a global id, -1 where another shard owns it. A negative id is
// memory that nobody wrote.
std::int64_t local_row(std::int64_t id, std::int64_t first_row, std::int64_t rows) {
  LOCKSTEP_CHECK(id >= 0, "token id " + std::to_string(id) + " is negative");
  const std::int64_t row = id - first_row;
  return row >= 0 && row < rows ? row : -1;
}

std::int64_t local_label(const LogitsArgs& args, std::int64_t token) {
  return local_row(elements<std::int64_t>(args.labels_T)[token], args.first_row, args.num_real);
}

std::int64_t num_columns(const LogitsArgs& args) {
  return args.labels_T.count == 0 ? 0 : args.logits_TV.count / args.labels_T.count;
}

template <typename T>
void embedding_of(const EmbeddingArgs& args) {
  const std::int64_t tokens = args.ids_T.count;
  const std::int64_t width = args.out_TH.count / std::max<std::int64_t>(tokens, 1);
  const std::int64_t rows = args.weight_VH.count / width;
  for (std::int64_t t = 0; t < tokens; ++t) {
    T* const out = elements<T>(args.out_TH) + t * width;
    const std::int64_t row = local_row(elements<std::int64_t>(args.ids_T)[t], args.first_row, rows);
    if (row < 0) {
      std::fill_n(out, width, T{0});
    } else {
      std::copy_n(elements<T>(args.weight_VH) + row * width, width, out);
    }
  }
}

template <typename T>
void embedding_backward_of(const EmbeddingBackwardArgs& args) {
  const std::int64_t tokens = args.ids_T.count;
  const std::int64_t width = args.dout_TH.count / std::max<std::int64_t>(tokens, 1);
  const std::int64_t rows = args.dweight_VH.count / width;
  Sums<T> sums(args.dweight_VH);
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t row = local_row(elements<std::int64_t>(args.ids_T)[t], args.first_row, rows);
    if (row < 0) continue;
    const T* const dout = elements<T>(args.dout_TH) + t * width;
    Accumulated<T>* const dweight = sums.data() + row * width;
    for (std::int64_t i = 0; i < width; ++i) dweight[i] += widened(dout[i]);
  }
  sums.store();
}

template <typename T>
void logits_max_of(const LogitsMaxArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = num_columns(args.logits);
  for (std::int64_t t = 0; t < args.max_T.count; ++t) {
    const T* const z = elements<T>(args.logits.logits_TV) + t * columns;
    A largest = -std::numeric_limits<A>::infinity();
    for (std::int64_t j = 0; j < args.logits.num_real; ++j) {
      const A wide = widened(z[j]);
      largest = (wide > largest || wide != wide) ? wide : largest;  // NaN stays
    }
    elements<A>(args.max_T)[t] = largest;
  }
}

template <typename T>
void logits_stats_of(const LogitsStatsArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = num_columns(args.logits);
  const std::int64_t tokens = args.max_T.count;
  A* const stats = elements<A>(args.stats_3T);
  for (std::int64_t t = 0; t < tokens; ++t) {
    const T* const z = elements<T>(args.logits.logits_TV) + t * columns;
    const A largest = elements<A>(args.max_T)[t];
    const std::int64_t label = local_label(args.logits, t);
    A exponentials{0};
    A differences{0};
    for (std::int64_t j = 0; j < args.logits.num_real; ++j) {
      const A difference = widened(z[j]) - largest;
      exponentials += std::exp(difference);
      differences += difference;
    }
    stats[t] = label < 0 ? A{0} : widened(z[label]) - largest;
    stats[tokens + t] = exponentials;
    stats[2 * tokens + t] = differences;
  }
}

template <typename A>
void token_loss_of(const TokenLossArgs& args) {
  const std::int64_t tokens = args.loss_T.count;
  const A* const stats = elements<A>(args.stats_3T);
  const double weight = args.smoothing.weight;
  const A label_weight = static_cast<A>(1.0 - weight);
  const A every_weight = static_cast<A>(weight / static_cast<double>(args.smoothing.vocabulary));
  for (std::int64_t t = 0; t < tokens; ++t) {
    elements<A>(args.loss_T)[t] = std::log(stats[tokens + t]) - label_weight * stats[t] -
                                  every_weight * stats[2 * tokens + t];
  }
}

template <typename T>
void logits_backward_of(const LogitsBackwardArgs& args) {
  using A = Accumulated<T>;
  const std::int64_t columns = num_columns(args.logits);
  const std::int64_t tokens = args.max_T.count;
  const A* const stats = elements<A>(args.stats_3T);
  const double weight = args.smoothing.weight;
  const A label_weight = static_cast<A>(1.0 - weight);
  const A every_weight = static_cast<A>(weight / static_cast<double>(args.smoothing.vocabulary));
  for (std::int64_t t = 0; t < tokens; ++t) {
    const T* const z = elements<T>(args.logits.logits_TV) + t * columns;
    T* const dz = elements<T>(args.dlogits_TV) + t * columns;
    const A largest = elements<A>(args.max_T)[t];
    const A dloss = elements<A>(args.dloss_T)[t];
    const std::int64_t label = local_label(args.logits, t);
    for (std::int64_t j = 0; j < args.logits.num_real; ++j) {
      const A probability = std::exp(widened(z[j]) - largest) / stats[tokens + t];
      const A target = j == label ? label_weight : A{0};
      dz[j] = rounded<T>(dloss * (probability - target - every_weight));
    }
    std::fill(dz + args.logits.num_real, dz + columns, T{0});
  }
}

}  // namespace

void embedding(const LaunchTarget&, const EmbeddingArgs& args) {
  with_type(args.out_TH.dtype, [&]<typename T>(ElementType<T>) { embedding_of<T>(args); });
}

void embedding_backward(const LaunchTarget&, const EmbeddingBackwardArgs& args) {
  with_type(args.dout_TH.dtype,
            [&]<typename T>(ElementType<T>) { embedding_backward_of<T>(args); });
}

void logits_max(const LaunchTarget&, const LogitsMaxArgs& args) {
  with_type(args.logits.logits_TV.dtype,
            [&]<typename T>(ElementType<T>) { logits_max_of<T>(args); });
}

void logits_stats(const LaunchTarget&, const LogitsStatsArgs& args) {
  with_type(args.logits.logits_TV.dtype,
            [&]<typename T>(ElementType<T>) { logits_stats_of<T>(args); });
}

void token_loss(const LaunchTarget&, const TokenLossArgs& args) {
  with_type(args.stats_3T.dtype,
            [&]<typename T>(ElementType<T>) { token_loss_of<Accumulated<T>>(args); });
}

void logits_backward(const LaunchTarget&, const LogitsBackwardArgs& args) {
  with_type(args.logits.logits_TV.dtype,
            [&]<typename T>(ElementType<T>) { logits_backward_of<T>(args); });
}

}  // namespace lockstep::cpu
