// One order after another, each answered by how the rank's program ended.
#include "matrix/crew/seat_work.h"

#include <sys/prctl.h>

#include <csignal>
#include <optional>

#include "core/base/errors.h"

namespace lockstep::matrix {

void bind_to_parent() {
  std::signal(SIGINT, SIG_IGN);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void serve_trials(backends::CoordinatorClient& client, const SeatWork& work) {
  while (const std::optional<backends::TrialOrder> order = client.next_trial()) {
    try {
      client.returned(work(*order));
    } catch (const RankCancelled&) {
      client.cancelled();
    } catch (const backends::ConnectionLost&) {
      return;
    } catch (const std::exception& error) {
      client.threw(error.what());
    }
  }
}

}  // namespace lockstep::matrix
