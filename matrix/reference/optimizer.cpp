// Plain stochastic gradient descent.
#include "matrix/reference/optimizer.h"

namespace lockstep::matrix {

void update(const Recipe& recipe, const Tensors& gradients, Tensors& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::vector<double>& gradient = gradients[i].values;
    std::vector<double>& parameter = parameters[i].values;
    for (std::size_t j = 0; j < parameter.size(); ++j) parameter[j] -= recipe.lr * gradient[j];
  }
}

}  // namespace lockstep::matrix
