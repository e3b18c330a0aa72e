#include "debugger/alternation.h"

#include <utility>

namespace rlctl::debugger {

Alternation::Alternation(std::function<void()> body)
    : thread_([this, its_body = std::move(body)] { run(its_body); }) {}

Alternation::~Alternation() {
  thread_.join();
}

void Alternation::run(const std::function<void()>& body) {
  its_turn_.acquire();
  try {
    body();
  } catch (...) {
    failure_ = std::current_exception();
  }
  has_ended_ = true;
  owners_turn_.release();
}

void Alternation::resume() {
  its_turn_.release();
  owners_turn_.acquire();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Alternation::hand_over() {
  owners_turn_.release();
  its_turn_.acquire();
}

}  // namespace rlctl::debugger
