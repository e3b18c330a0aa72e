#include "cli/app.h"

#include <exception>

int main(int argc, char** argv) {
  rlctl::cli::App app;
  rlctl::cli::ExitStatus status{};
  try {
    status = app.run(argc, argv);
  } catch (const std::exception& error) {
    status = app.report(error);
  }
  return static_cast<int>(status);
}
