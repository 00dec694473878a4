// The command's root: runs a sub-command and turns errors into one line and an exit code.
#include <exception>
#include <string>

#include "core/base/errors.h"
#include "matrix/cli/cli.h"
#include "matrix/cli/output.h"
#include "matrix/cli/values.h"
#include "matrix/sweep/worker_pool.h"

int main(int argc, char** argv) {
  namespace matrix = lockstep::matrix;
  matrix::guard_standard_streams();
  try {
    const std::string program = argc > 0 ? argv[0] : "lockstep";
    return matrix::run_command_line(program, {argv + (argc > 0 ? 1 : 0), argv + argc});
  } catch (const lockstep::UsageError& error) {
    matrix::print_error(error.what());
    return 2;
  } catch (const matrix::NotAvailable& error) {
    matrix::print_error(error.what());
    return 3;
  } catch (const matrix::LaunchError& error) {
    matrix::print_error(error.what());
    return 3;
  } catch (const std::exception& error) {
    matrix::print_error(std::string("internal error: ") + error.what());
    return 1;
  }
}
