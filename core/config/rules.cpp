// The rows of semantics, section 1.2, over the fields of a case, and the bounds of the world.
#include "core/config/rules.h"

#include <fmt/format.h>

#include <vector>

#include "core/base/errors.h"
#include "core/config/expression.h"
#include "core/config/fields.h"

namespace lockstep {
namespace {

std::vector<Rule> layout_rules() {
  return {
      {"sp -> tp > 1", "sp needs tp above 1, and tp is {tp}"},
      {"not (gather_output and sp)", "gather_output and sp exclude each other"},
      {"intermediate_size % tp == 0",
       "intermediate_size {intermediate_size} is not divisible by tp {tp}"},
      {"vpp > 1 -> pp > 1", "vpp {vpp} needs pp above 1"},
      {"num_hidden_layers % (pp * vpp) == 0",
       "num_hidden_layers {num_hidden_layers} is not divisible by pp {pp} times vpp {vpp}"},
      {"global_batch % (dp * micro_batch) == 0",
       "global_batch {global_batch} is not divisible by dp {dp} times micro_batch {micro_batch}"},
  };
}

std::vector<Rule> sequence_rules() {
  return {
      // Packed documents are padded to what these ask.
      {"cp > 1 and not packing -> seq % (2 * cp) == 0",
       "seq {seq} is not divisible by twice cp {cp}"},
      {"sp and not packing -> seq % (cp * tp) == 0",
       "seq {seq} is not divisible by cp {cp} times tp {tp}"},
      {"packing -> micro_batch == 1",
       "packing needs a micro_batch of 1, and it is {micro_batch}: one table of documents "
       "serves a micro-batch"},
      {"attention == causal and cp > 1 and cp_comm == a2a -> "
       "num_attention_heads % (tp * cp) == 0 and num_key_value_heads % (tp * cp) == 0",
       "cp_comm a2a shares out heads: num_attention_heads {num_attention_heads} and "
       "num_key_value_heads {num_key_value_heads} must be divisible by tp {tp} times cp {cp}"},
      {"cp > 1 and cp_comm == 'a2a+p2p' -> cp_inner > 1",
       "cp_comm a2a+p2p needs cp_inner above 1: with 1 it is p2p"},
      {"cp > 1 and cp_comm == 'a2a+p2p' -> cp % cp_inner == 0 and cp > cp_inner",
       "cp_comm a2a+p2p needs a cp that is a multiple of cp_inner {cp_inner} above it, and it is "
       "{cp}"},
      {"attention == causal and cp > 1 and cp_comm == 'a2a+p2p' -> "
       "num_attention_heads % (tp * cp_inner) == 0 and "
       "num_key_value_heads % (tp * cp_inner) == 0",
       "cp_comm a2a+p2p shares out heads: num_attention_heads {num_attention_heads} and "
       "num_key_value_heads {num_key_value_heads} must be divisible by tp {tp} times cp_inner "
       "{cp_inner}"},
      {"sliding_window > 0 -> attention == causal",
       "sliding_window {sliding_window} needs attention, and the model has none"},
      {"attention_sink -> attention == causal",
       "an attention_sink needs attention, and the model has none"},
      {"sliding_window > 0 and cp > 1 -> cp_comm in [all_gather, a2a]",
       "a sliding_window needs cp_comm all_gather or a2a, and it is {cp_comm}"},
      {"loss_values == 2 -> loss_norm == micro_batch",
       "loss_norm token divides by a count, which a loss function of two values does not return"},
      {"forward_only -> dropout == 0", "forward_only evaluates: dropout {dropout} must be 0"},
  };
}

std::vector<Rule> attention_rules() {
  return {
      {"attention == causal -> num_attention_heads % num_key_value_heads == 0",
       "num_attention_heads {num_attention_heads} is not divisible by num_key_value_heads "
       "{num_key_value_heads}"},
      {"attention == causal -> num_attention_heads % tp == 0",
       "num_attention_heads {num_attention_heads} is not divisible by tp {tp}"},
      {"attention == causal -> num_key_value_heads % tp == 0 or tp % num_key_value_heads == 0",
       "neither of num_key_value_heads {num_key_value_heads} and tp {tp} divides the other"},
      {"attention == causal -> "
       "(num_attention_heads + 2 * num_key_value_heads) * head_dim % tp == 0",
       "{num_attention_heads} query heads and {num_key_value_heads} key and value heads of "
       "{head_dim} make rows of linear_qkv that tp {tp} does not divide"},
      {"attention == causal and position == rope -> head_dim % 2 == 0",
       "head_dim {head_dim} is odd, and rope turns pairs"},
      // A norm of so few columns has nothing left to say: gradients before it are rounding.
      {"norm == layer -> hidden_size > 2",
       "a layer norm needs a hidden_size above 2, and it is {hidden_size}"},
      {"attention == causal and qk_norm and norm == rms -> head_dim > 1",
       "an RMS norm of each head needs a head_dim above 1, and it is {head_dim}"},
      {"attention == causal and qk_norm and norm == layer -> head_dim > 2",
       "a layer norm of each head needs a head_dim above 2, and it is {head_dim}"},
  };
}

std::vector<Rule> expert_rules() {
  return {
      {"ep > 1 -> moe", "ep {ep} needs experts, and num_experts is {num_experts}"},
      {"moe -> num_experts % ep == 0", "num_experts {num_experts} is not divisible by ep {ep}"},
      {"moe -> num_experts_per_tok <= num_experts",
       "num_experts_per_tok {num_experts_per_tok} is more than num_experts {num_experts}"},
      {"moe and tp > 1 -> sp", "experts with tp {tp} need sp, or each token is routed tp times"},
      {"etp == 0 -> (tp * cp * dp) % (tp * ep) == 0",
       "cp {cp} times dp {dp} is not divisible by ep {ep} (etp is that of tp)"},
      {"etp > 0 -> (tp * cp * dp) % (etp * ep) == 0",
       "tp {tp} times cp {cp} times dp {dp} is not divisible by etp {etp} times ep {ep}"},
      {"moe and etp == 0 -> moe_intermediate_size % tp == 0",
       "moe_intermediate_size {moe_intermediate_size} is not divisible by tp {tp}, which is etp"},
      {"moe and etp > 0 -> moe_intermediate_size % etp == 0",
       "moe_intermediate_size {moe_intermediate_size} is not divisible by etp {etp}"},
      {"moe -> shared_expert_intermediate_size % tp == 0",
       "shared_expert_intermediate_size {shared_expert_intermediate_size} is not divisible by tp "
       "{tp}"},
  };
}

std::vector<Rule> all_rules() {
  std::vector<Rule> all;
  for (const auto& rows : {layout_rules(), sequence_rules(), attention_rules(), expert_rules()}) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

std::vector<Expression> parsed_conditions() {
  std::vector<Expression> parsed;
  for (const Rule& rule : rules()) parsed.push_back(Expression::parse(rule.condition));
  return parsed;
}

// "tp {tp}" with the case's value of each field in braces.
std::string filled(const std::string& reason, const Case& c) {
  std::string text;
  std::size_t at = 0;
  for (;;) {
    const std::size_t open = reason.find('{', at);
    if (open == std::string::npos) return text + reason.substr(at);
    const std::size_t close = reason.find('}', open);
    LOCKSTEP_CHECK(close != std::string::npos, "a brace is not closed in: " + reason);
    const std::string name = reason.substr(open + 1, close - open - 1);
    const Field* field = find_field(name);
    LOCKSTEP_CHECK(field != nullptr, "no field is named " + name);
    text += reason.substr(at, open - at) + to_text(field->get(c));
    at = close + 1;
  }
}

bool product_fits(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return false;
  }
  return true;
}

// Beyond what any machine holds: refused before the first of it is allocated.
constexpr std::int64_t kLargestTensor = std::int64_t{1} << 36;  // elements

void check_tensor(const char* what, std::initializer_list<std::int64_t> sizes) {
  std::int64_t elements = 1;
  bool fits = true;
  for (const std::int64_t size : sizes) {
    fits = fits && !__builtin_mul_overflow(elements, size, &elements);
  }
  if (fits && elements <= kLargestTensor) return;
  throw UsageError(
      fmt::format("world: {}, which is {}; the largest tensor has {} elements",
                  what,
                  fits ? fmt::format("{} elements", elements) : "more than 64 bits count",
                  kLargestTensor));
}

}  // namespace

std::span<const Rule> rules() {
  static const std::vector<Rule> table = all_rules();
  return table;
}

std::optional<std::string> why_invalid(const Case& c) {
  static const std::vector<Expression> conditions = parsed_conditions();
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    if (!conditions[i].holds(c)) return filled(rules()[i].reason, c);
  }
  return std::nullopt;
}

void check_world(const Case& c) {
  const Layout& layout = c.layout;
  const auto shape = [&layout] {
    return fmt::format("tp {} cp {} pp {} dp {}", layout.tp, layout.cp, layout.pp, layout.dp);
  };
  if (!product_fits({layout.tp, layout.cp, layout.pp, layout.dp})) {
    throw UsageError(fmt::format("world: the product of {} does not fit in 64 bits", shape()));
  }
  if (world_size(layout) > kLargestWorld) {
    throw UsageError(fmt::format("world: {} make {} ranks; the largest world is {}",
                                 shape(),
                                 world_size(layout),
                                 kLargestWorld));
  }
  const Model& model = c.model;
  const Recipe& recipe = c.recipe;
  const bool fits = product_fits({recipe.global_batch, recipe.seq, model.hidden_size}) &&
                    product_fits({recipe.global_batch, recipe.steps, recipe.seq + 1}) &&
                    product_fits({model.vocab_divisor, layout.tp}) &&
                    product_fits({model.vocab_size, model.hidden_size}) &&
                    product_fits({model.hidden_size, model.intermediate_size}) &&
                    product_fits({model.num_attention_heads, model.head_dim, model.hidden_size}) &&
                    product_fits({expert_tensor_parallel(layout), layout.ep, layout.pp});
  if (!fits) {
    throw UsageError("world: a product of batch, seq and model sizes does not fit in 64 bits");
  }
  check_tensor("activations are micro_batch x seq x hidden_size",
               {recipe.micro_batch, recipe.seq, model.hidden_size});
  check_tensor("logits are micro_batch x seq x vocab_size",
               {recipe.micro_batch, recipe.seq, model.vocab_size});
  if (model.attention == Attention::kCausal) {
    check_tensor("attention is micro_batch x num_attention_heads x seq x seq",
                 {recipe.micro_batch, model.num_attention_heads, recipe.seq, recipe.seq});
  }
}

}  // namespace lockstep
