#include "cli/app/app.h"

int main(int argc, char** argv) {
  return rlctl::cli::run_command_line(argc, argv);
}
