// The one table of a model's parameters: names, shapes, and how each lies on the mesh.
#pragma once

#include <string_view>

#include "core/autograd/gradient_sink.h"
#include "core/config/case.h"
#include "core/parallel/placement.h"

namespace lockstep {

// In registration order, which is the order of the forward pass.
ParameterTable describe_model(const Model& model, const Layout& layout);

// The activations that a forward pass traces, of one micro-batch of the case.
ActivationTable describe_activations(const Case& c);

// InternalError for a name that the table lacks.
ParameterId find_parameter(const ParameterTable& table, std::string_view name);

// The smallest multiple of vocab_divisor * tp that holds the vocabulary.
std::int64_t padded_vocabulary(const Model& model, const Layout& layout);

// A line a parameter: name, full shape, cut, placement of its gradient.
std::string to_text(const ParameterTable& table);
// A line an activation: name, full shape, cut.
std::string to_text(const ActivationTable& table);

}  // namespace lockstep
