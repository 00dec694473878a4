// A case: one model, layout and recipe with seeds and defects. A value; its JSON reproduces its
// result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

enum class Attention { kNone, kCausal };
enum class Norm { kRms, kLayer };
enum class Mlp { kGated, kPlain };
enum class Position { kRope, kNone };
enum class CpComm { kP2p, kAllGather, kAllToAll, kAllToAllP2p };
enum class Dispatcher { kAllGather, kAllToAll, kFused };
enum class Precision { kF64, kF32, kBF16 };
enum class Optimizer { kSgd, kAdamW };
enum class LossNorm { kMicroBatch, kToken };
enum class Mask { kFull, kUneven, kSingle, kEmpty, kNone, kVarying };
enum class Schedule { kNone, kGpipe, k1F1B, kInterleaved, kSplitBackward };
enum class StepApi { kFused, kSplit };
enum class Recompute { kNone, kFullUniform, kFullBlock, kSelective };
enum class ReductionOrder { kRank, kRing, kTree, kShuffled };
enum class Completion { kEarly, kLate, kSeeded };

// Names as in a Hugging Face config.json where it has them.
struct Model {
  std::string preset;
  std::int64_t hidden_size;
  std::int64_t num_hidden_layers;
  std::int64_t num_attention_heads;
  std::int64_t num_key_value_heads;
  std::int64_t head_dim;
  std::int64_t intermediate_size;
  std::int64_t vocab_size;
  std::int64_t vocab_divisor;  // the padded vocabulary is a multiple of this times tp
  Attention attention;
  std::int64_t sliding_window;  // keys that a query sees, its own included; 0: all before it
  bool attention_sink;          // a learnable logit of each head that no key has
  bool qk_norm;
  bool tied;
  bool bias;
  Norm norm;
  double norm_eps;
  Mlp mlp;
  Position position;
  double rope_theta;
  bool gather_output;
  std::int64_t num_experts;
  std::int64_t num_experts_per_tok;
  std::int64_t moe_intermediate_size;
  std::int64_t shared_expert_intermediate_size;
  std::int64_t mtp;
  double aux_loss;
};

struct Layout {
  std::int64_t tp;
  bool sp;
  std::int64_t cp;
  CpComm cp_comm;
  std::int64_t cp_inner;  // of a2a+p2p: ranks that exchange heads; the others form the ring
  std::int64_t pp;
  std::int64_t vpp;
  std::int64_t ep;
  std::int64_t etp;  // 0: as tp; read it through expert_tensor_parallel
  std::int64_t dp;
  Dispatcher dispatcher;
  std::int64_t zero;
};

struct Recipe {
  Precision dtype;
  Optimizer optimizer;
  double lr;
  double adam_eps;
  std::vector<double> betas;
  double weight_decay;
  double clip;  // largest gradient norm, 0 for no clipping
  LossNorm loss_norm;
  std::int64_t loss_values;
  Mask mask;
  std::int64_t global_batch;  // samples a step, fixed whatever the layout
  std::int64_t micro_batch;
  std::int64_t seq;
  std::int64_t steps;
  Schedule schedule;
  StepApi step_api;
  Recompute recompute;
  std::vector<std::string> overlap;
  bool packing;
  double dropout;
  double label_smoothing;
  std::int64_t bucket_elements;  // a gradient bucket closes when it holds this many; 0: one bucket
  ReductionOrder reduction_order;
  Completion completion;
  bool forward_only;
  std::int64_t seed;
  std::int64_t schedule_seed;
};

struct Case {
  Model model;
  Layout layout;
  Recipe recipe;
  std::vector<std::string> defects;  // ids of the defect rows edited into the plans
};

// Derived sizes. They assume that each factor is at least 1 and that products fit (see rules.h).
std::int64_t world_size(const Layout& layout);
std::int64_t expert_tensor_parallel(const Layout& layout);  // etp, where 0 stands for tp's size
std::int64_t expert_data_parallel(const Layout& layout);    // edp = world / (etp ep pp)
// Micro-batches of one data-parallel rank a step: global_batch / (dp micro_batch), rounded down.
std::int64_t num_micro_batches(const Case& c);

// Every field at its default from the table of fields.
Case default_case();

}  // namespace lockstep
