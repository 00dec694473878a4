// From the tensors of a golden file to ours.
#include "tests/goldens/golden.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/base/errors.h"
#include "core/config/text_file.h"
#include "core/snapshot/safetensors.h"
#include "tests/goldens/hugging_face.h"

namespace lockstep::test {
namespace {

constexpr std::size_t kConfigBytesMax = 65536;
constexpr std::int64_t kVocabularyDivisor = 8;  // so that the head has padded columns

std::string path_of(const std::string& name, std::string_view extension) {
  return std::string(LOCKSTEP_GOLDENS) + "/" + name + std::string(extension);
}

SafetensorsFile file_of(const std::string& name) {
  return SafetensorsFile(path_of(name, ".safetensors"));
}

Model model_of(const std::string& name) {
  Model model = model_from_config(read_text_file(path_of(name, ".json"), kConfigBytesMax));
  model.vocab_divisor = kVocabularyDivisor;
  return model;
}

// Tensors of the file whose names begin with `prefix`, as the model's parameters.
matrix::Tensors tensors_of(const SafetensorsFile& file,
                           const std::string& prefix,
                           const Model& model,
                           QkvOrder order) {
  matrix::Tensors tensors;
  for (const matrix::ParameterInfo& info : matrix::list_parameters(model)) {
    const Source source = source_of(info.name);
    std::vector<std::vector<double>> parts;
    for (const std::string& name : source.names) parts.push_back(file.reals(prefix + name));
    const Join join = order == QkvOrder::kBlocks ? Join::kRows : source.join;
    sim::OracleTensor tensor{
        .name = info.name, .shape = info.shape, .values = join_rows(join, parts, model)};
    std::int64_t count = 1;
    for (const std::int64_t size : info.shape) count *= size;
    LOCKSTEP_CHECK(static_cast<std::int64_t>(tensor.values.size()) == count,
                   info.name + " has another size in the golden file");
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// Batch-major [B, S, V] to sequence-major rows.
sim::OracleTensor logits_of(const SafetensorsFile& file, const std::string& name) {
  const std::vector<std::int64_t>& shape = file.entry(name).shape;
  LOCKSTEP_CHECK(shape.size() == 3, "logits have three dims");
  const std::vector<double> values_BSV = file.reals(name);
  sim::OracleTensor logits{
      .name = "output_layer", .shape = {shape[0] * shape[1], shape[2]}, .values = {}};
  for (std::int64_t s = 0; s < shape[1]; ++s) {
    for (std::int64_t b = 0; b < shape[0]; ++b) {
      const auto row = values_BSV.begin() + (b * shape[1] + s) * shape[2];
      logits.values.insert(logits.values.end(), row, row + shape[2]);
    }
  }
  return logits;
}

Outcome outcome_of(const SafetensorsFile& file, const std::string& precision, const Model& model) {
  return {.loss = file.reals("loss_" + precision).at(0),
          .logits_TV = logits_of(file, "logits_" + precision),
          .gradients = tensors_of(file, "gradients_" + precision + ".", model, QkvOrder::kGroups)};
}

// A label that does not count is negative in the file. Its weight is 0, its id some valid one.
matrix::Batch batch_of(const SafetensorsFile& file, const Recipe& recipe) {
  matrix::Batch batch;
  batch.inputs_T = file.integers("input_ids");
  for (const std::int64_t label : file.integers("labels")) {
    batch.labels_T.push_back(std::max<std::int64_t>(label, 0));
    batch.is_target_T.push_back(label >= 0);
  }
  batch.tokens_a_micro_batch = recipe.micro_batch * recipe.seq;
  matrix::weigh_targets(recipe.loss_norm, batch);
  return batch;
}

}  // namespace

Golden read_golden(const std::string& name) {
  const SafetensorsFile file = file_of(name);
  const std::vector<std::int64_t>& shape = file.entry("input_ids").shape;
  LOCKSTEP_CHECK(shape.size() == 2, "input ids have two dims");
  Golden golden;
  golden.c = default_case();
  golden.c.model = model_of(name);
  golden.c.recipe.dtype = Precision::kF64;
  golden.c.recipe.loss_norm = LossNorm::kToken;
  golden.c.recipe.global_batch = golden.c.recipe.micro_batch = shape[0];
  golden.c.recipe.seq = shape[1];
  golden.batch = batch_of(file, golden.c.recipe);
  golden.parameters = tensors_of(file, "weights.", golden.c.model, QkvOrder::kGroups);
  golden.f64 = outcome_of(file, "f64", golden.c.model);
  golden.f32 = outcome_of(file, "f32", golden.c.model);
  return golden;
}

matrix::Tensors read_parameters(const std::string& name, QkvOrder order) {
  return tensors_of(file_of(name), "weights.", model_of(name), order);
}

std::vector<std::string> unread_weights(const std::string& name) {
  const std::string prefix = "weights.";
  std::set<std::string> unread;
  const SafetensorsFile file = file_of(name);
  for (const SafetensorsEntry& entry : file.entries()) {
    if (entry.name.starts_with(prefix)) unread.insert(entry.name.substr(prefix.size()));
  }
  for (const matrix::ParameterInfo& info : matrix::list_parameters(model_of(name))) {
    for (const std::string& source : source_of(info.name).names) unread.erase(source);
  }
  return {unread.begin(), unread.end()};
}

}  // namespace lockstep::test
