#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/debug/dap/members.h"
#include "cli/commands/debug/dap/script.h"
#include "ldb/value.h"

namespace rlctl::cli::debug::dap {

/// The variables of a script at its current stop, and the references by which the client asks for
/// them. The answers throw UsageError.
class Variables {
 public:
  /// The script must outlive this.
  explicit Variables(Script& script) : script_(script) {}

  /// The references of this stop are gone.
  void forget() { nodes_.clear(); }

  Json scopes(const Json& arguments);
  Json variables(const Json& arguments);
  Json evaluate(const Json& arguments);

 private:
  /// What a reference stands for.
  struct Node {
    enum class Kind { kLocals, kUpvalues, kKeys, kArgv, kRedis, kUnknown, kValue } kind;
    ldb::Value value = {};  ///< kValue: a table
    std::string path = {};  ///< kValue: the expression that it is the value of; empty: none
  };

  std::int64_t reference_to(Node node);
  Json value_fields(const char* name, const ldb::Value& value, const std::string& path);
  Json variable(const std::string& name, const ldb::Value& value, const std::string& path);
  Json fields_of(const ldb::Value& table, const std::string& path);
  Json locals(bool are_upvalues);
  Json global(const char* name);
  Json keys_in_redis();

  Script& script_;
  std::vector<Node> nodes_;  ///< by their references, from 1; of the current stop
};

}  // namespace rlctl::cli::debug::dap
