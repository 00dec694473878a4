// How a rank waits until another wakes it: the port behind which ranks are fibers or threads.
#pragma once

#include "core/base/ids.h"

namespace lockstep::backends {

class Parking {
 public:
  virtual ~Parking() = default;

  // Guards the rendezvous' state; nothing to do where one rank runs at a time.
  virtual void lock() = 0;
  virtual void unlock() = 0;

  // With the lock held: gives it up and returns with it held once the rank has been woken; a wake
  // that came first counts. Once cancelled, throws RankCancelled instead, or returns at once where
  // the rank is already unwinding.
  virtual void park(Rank rank) = 0;
  // With the lock held.
  virtual void wake(Rank rank) = 0;
  // Without the lock: a point at which another ready rank may go first.
  virtual void pause(Rank rank) = 0;
  // No rank can be woken any more: those that are left must unwind.
  virtual bool cancelled() const = 0;
};

}  // namespace lockstep::backends
