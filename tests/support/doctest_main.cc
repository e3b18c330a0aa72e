#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <sys/stat.h>

int main(int count, char** words) {
  // A configuration that a test writes must not be one that others may write.
  ::umask(022);
  return doctest::Context(count, words).run();
}
