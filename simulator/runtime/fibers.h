// Fibers that switch to one another on one thread: the only code that knows about stacks.
//
// A fiber is never destroyed before its body has returned. Each keeps its own exception state, so
// that it may be switched away from inside a catch block.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace lockstep::sim {

class Fibers {
 public:
  // The caller is fiber `num_fibers`; fibers from 0 run `body(index)` when first switched to. A
  // body that returns switches to the fiber that `next()` names. `stack_bytes`, of each, is a
  // multiple of a page.
  Fibers(int num_fibers,
         std::size_t stack_bytes,
         std::function<void(int)> body,
         std::function<int()> next);
  // All bodies must have returned.
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  // Returns when another fiber switches back to the caller.
  void switch_to(int target);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockstep::sim
