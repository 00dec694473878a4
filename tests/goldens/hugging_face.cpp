// The table of names, and the two ways of putting rows together.
#include "tests/goldens/hugging_face.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/errors.h"

namespace lockstep::test {
namespace {

using Json = nlohmann::json;

// A module's name up to what "weight" or "bias" is appended to, ours and theirs. Those of layers
// stand below decoder.layers.N and model.layers.N.
struct Row {
  std::string_view ours;
  std::vector<std::string_view> theirs;
  Join join = Join::kRows;
};

const std::vector<Row>& rows_outside_layers() {
  static const std::vector<Row> kRows = {
      {"embedding.word_embeddings.", {"model.embed_tokens."}},
      {"decoder.final_layernorm.", {"model.norm."}},
      {"output_layer.", {"lm_head."}},
  };
  return kRows;
}

const std::vector<Row>& rows_of_layers() {
  static const std::vector<Row> kRows = {
      {"self_attention.linear_qkv.layer_norm_", {"input_layernorm."}},
      {"self_attention.linear_qkv.",
       {"self_attn.q_proj.", "self_attn.k_proj.", "self_attn.v_proj."},
       Join::kQkvGroups},
      {"self_attention.q_layernorm.", {"self_attn.q_norm."}},
      {"self_attention.k_layernorm.", {"self_attn.k_norm."}},
      {"self_attention.linear_proj.", {"self_attn.o_proj."}},
      {"mlp.linear_fc1.layer_norm_", {"post_attention_layernorm."}},
      {"mlp.linear_fc1.", {"mlp.gate_proj.", "mlp.up_proj."}},
      {"mlp.linear_fc2.", {"mlp.down_proj."}},
  };
  return kRows;
}

// The row whose name, with "weight" or "bias" appended, is `name`.
std::optional<Source> find_source(const std::vector<Row>& rows,
                                  std::string_view name,
                                  const std::string& their_prefix) {
  for (const Row& row : rows) {
    for (const std::string_view kind : {"weight", "bias"}) {
      if (name != std::string(row.ours) + std::string(kind)) continue;
      Source source{.names = {}, .join = row.join};
      for (const std::string_view theirs : row.theirs) {
        source.names.push_back(their_prefix + std::string(theirs) + std::string(kind));
      }
      return source;
    }
  }
  return std::nullopt;
}

void append(std::vector<double>& to,
            const std::vector<double>& from,
            std::size_t first,
            std::size_t count) {
  const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
  to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

Model model_from_config(std::string_view json) {
  const Json config = Json::parse(json);
  const auto integer = [&](const char* key) { return config.at(key).get<std::int64_t>(); };
  const std::string type = config.at("model_type").get<std::string>();
  if (type != "qwen3" && type != "llama") throw UsageError("model_type " + type + " is not known");
  if (config.at("hidden_act") != "silu") throw UsageError("hidden_act must be silu");
  if (config.at("rope_parameters").at("rope_type") != "default") {
    throw UsageError("rope_type must be default");
  }
  // Ours is one switch for all four linear maps of a layer.
  const bool bias = config.at("attention_bias").get<bool>();
  if (config.value("mlp_bias", false) != bias) {
    throw UsageError("attention_bias and mlp_bias must be equal");
  }
  Model model = default_case().model;
  model.hidden_size = integer("hidden_size");
  model.num_hidden_layers = integer("num_hidden_layers");
  model.num_attention_heads = integer("num_attention_heads");
  model.num_key_value_heads = integer("num_key_value_heads");
  model.head_dim = integer("head_dim");
  model.intermediate_size = integer("intermediate_size");
  model.vocab_size = integer("vocab_size");
  model.attention = Attention::kCausal;
  model.qk_norm = type == "qwen3";
  model.tied = config.at("tie_word_embeddings").get<bool>();
  model.bias = bias;
  model.norm = Norm::kRms;
  model.norm_eps = config.at("rms_norm_eps").get<double>();
  model.mlp = Mlp::kGated;
  model.position = Position::kRope;
  model.rope_theta = config.at("rope_parameters").at("rope_theta").get<double>();
  return model;
}

Source source_of(const std::string& name) {
  const std::string_view layers = "decoder.layers.";
  std::optional<Source> source;
  if (name.starts_with(layers)) {
    const std::size_t dot = name.find('.', layers.size());
    const std::string layer = name.substr(layers.size(), dot - layers.size());
    source = find_source(rows_of_layers(), name.substr(dot + 1), "model.layers." + layer + ".");
  } else {
    source = find_source(rows_outside_layers(), name, "");
  }
  if (!source.has_value()) throw UsageError("no Hugging Face tensor is known for " + name);
  return *source;
}

std::vector<double> join_rows(Join join,
                              const std::vector<std::vector<double>>& sources,
                              const Model& model) {
  std::vector<double> joined;
  switch (join) {
    case Join::kRows:
      for (const std::vector<double>& source : sources) append(joined, source, 0, source.size());
      return joined;
    case Join::kQkvGroups: {
      // Each source has as many equal parts as there are groups.
      const auto num_groups = static_cast<std::size_t>(model.num_key_value_heads);
      for (std::size_t group = 0; group < num_groups; ++group) {
        for (const std::vector<double>& source : sources) {
          const std::size_t part = source.size() / num_groups;
          append(joined, source, group * part, part);
        }
      }
      return joined;
    }
  }
  throw InternalError("unknown way to join rows");
}

}  // namespace lockstep::test
