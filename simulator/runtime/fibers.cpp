// Boost.Context fibers on guarded stacks that are mapped in one piece for all ranks of a cluster.
#include "simulator/runtime/fibers.h"

#include <cxxabi.h>
#include <sys/mman.h>

#include <boost/context/fiber.hpp>
#include <boost/context/preallocated.hpp>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "core/base/errors.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace lockstep::sim {
namespace {

namespace context = boost::context;

// Larger than a frame is likely to be, for one that reaches past it spoils a neighbour's stack. A
// multiple of every page size in use; it takes addresses and no memory.
constexpr std::size_t kGuardBytes = 64 * 1024;

// The stack belongs to the slab, so that a fiber's end gives nothing back.
struct BorrowedStack {
  void deallocate(context::stack_context&) noexcept {}
};

// Stacks of all fibers, below each a range that faults on overflow.
class StackSlab {
 public:
  StackSlab(int num_stacks, std::size_t stack_bytes)
      : stack_bytes_(stack_bytes),
        num_bytes_(static_cast<std::size_t>(num_stacks) * (stack_bytes + kGuardBytes)) {
    if (num_bytes_ == 0) return;
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
    void* memory = mmap(nullptr, num_bytes_, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    LOCKSTEP_CHECK(memory != MAP_FAILED,
                   "no memory for the stacks of " + std::to_string(num_stacks) + " fibers");
    base_ = static_cast<std::byte*>(memory);
    for (int i = 0; i < num_stacks; ++i) {
      LOCKSTEP_CHECK(mprotect(bottom(i) - kGuardBytes, kGuardBytes, PROT_NONE) == 0,
                     "the guard below a fiber's stack was refused");
    }
  }
  ~StackSlab() {
    if (base_ == nullptr) return;
#if defined(__SANITIZE_ADDRESS__)
    // A fiber's last frames never return, and the next mapping here must not inherit their marks.
    __asan_unpoison_memory_region(base_, num_bytes_);
#endif
    munmap(base_, num_bytes_);
  }
  StackSlab(const StackSlab&) = delete;
  StackSlab& operator=(const StackSlab&) = delete;

  std::byte* bottom(int i) const {
    return base_ + static_cast<std::size_t>(i) * (stack_bytes_ + kGuardBytes) + kGuardBytes;
  }
  context::preallocated stack(int i) const {
    context::stack_context whole;
    whole.sp = bottom(i) + stack_bytes_;
    whole.size = stack_bytes_;
    return {whole.sp, whole.size, whole};
  }

 private:
  std::size_t stack_bytes_;
  std::size_t num_bytes_;
  std::byte* base_ = nullptr;
};

// What the C++ runtime keeps per thread and must be per fiber: the stack of caught exceptions and
// the number of those in flight (the two words of __cxa_eh_globals in the Itanium ABI).
struct ExceptionState {
  void* caught = nullptr;
  unsigned int num_uncaught = 0;
};

struct Fiber {
  context::fiber resumption;
  ExceptionState exceptions;
  const void* stack_bottom = nullptr;  // these three for the sanitizer
  std::size_t stack_bytes = 0;
  void* fake_stack = nullptr;
};

}  // namespace

struct Fibers::Impl {
  Impl(int num_fibers,
       std::size_t stack_bytes,
       std::function<void(int)> fiber_body,
       std::function<int()> fiber_next)
      : body(std::move(fiber_body)),
        next(std::move(fiber_next)),
        slab(num_fibers, stack_bytes),
        fibers(static_cast<std::size_t>(num_fibers) + 1),
        current(num_fibers),
        exceptions_of_thread(abi::__cxa_get_globals()) {
    for (int i = 0; i < num_fibers; ++i) {
      Fiber& fiber = at(i);
      fiber.stack_bottom = slab.bottom(i);
      fiber.stack_bytes = stack_bytes;
      fiber.resumption = context::fiber(
          std::allocator_arg, slab.stack(i), BorrowedStack{}, [this, i](context::fiber&& from) {
            entered(std::move(from), i);
            body(i);
            return leave_for_good(i);
          });
    }
  }

  Fiber& at(int i) { return fibers[static_cast<std::size_t>(i)]; }

  void before_switch(int self, int target, bool for_good) {
    std::memcpy(&at(self).exceptions, exceptions_of_thread, sizeof(ExceptionState));
    std::memcpy(exceptions_of_thread, &at(target).exceptions, sizeof(ExceptionState));
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(
        for_good ? nullptr : &at(self).fake_stack, at(target).stack_bottom, at(target).stack_bytes);
#else
    static_cast<void>(for_good);
#endif
    previous = self;
    current = target;
  }

  // The first thing on a fiber's own stack after each switch to it.
  void entered(context::fiber&& from, int self) {
#if defined(__SANITIZE_ADDRESS__)
    const void* bottom = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(at(self).fake_stack, &bottom, &bytes);
    // The thread's own stack is known only from what it was switched away from.
    at(previous).stack_bottom = bottom;
    at(previous).stack_bytes = bytes;
#else
    static_cast<void>(self);
#endif
    at(previous).resumption = std::move(from);
  }

  context::fiber leave_for_good(int self) {
    const int target = next();
    before_switch(self, target, true);
    return std::move(at(target).resumption);
  }

  std::function<void(int)> body;
  std::function<int()> next;
  StackSlab slab;
  std::vector<Fiber> fibers;  // the last is the thread that made them
  int current;
  int previous = 0;
  void* exceptions_of_thread;
};

Fibers::Fibers(int num_fibers,
               std::size_t stack_bytes,
               std::function<void(int)> body,
               std::function<int()> next)
    : impl_(std::make_unique<Impl>(num_fibers, stack_bytes, std::move(body), std::move(next))) {}

Fibers::~Fibers() = default;

void Fibers::switch_to(int target) {
  const int self = impl_->current;
  impl_->before_switch(self, target, false);
  context::fiber from = std::move(impl_->at(target).resumption).resume();
  impl_->entered(std::move(from), self);
}

}  // namespace lockstep::sim
