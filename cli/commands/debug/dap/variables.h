#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/debug/dap/members.h"
#include "cli/commands/debug/dap/script.h"
#include "lua/value.h"

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
  Json set_variable(const Json& arguments);

 private:
  /// What a reference stands for.
  struct Node {
    enum class Kind { kLocals, kUpvalues, kKeys, kArgv, kRedis, kValue } kind;
    std::size_t frame = 0;  ///< from the innermost
    lua::Value value = {};  ///< kValue: a table
    std::string path = {};  ///< kValue: the expression that it is the value of; empty: none
  };

  const Node& node_of(const Json& arguments) const;
  void select_frame(std::size_t frame);
  std::int64_t reference_to(Node node);
  Json value_fields(const char* name, const lua::Value& value, const std::string& path);
  Json variable(const std::string& name, const lua::Value& value, const std::string& path);
  Json fields_of(const lua::Value& table, const std::string& path);
  Json locals(bool are_upvalues);
  Json global(const char* name);
  Json keys_in_redis();
  Json set(std::size_t frame, const std::string& path, const std::string& expression,
           const char* name);

  Script& script_;
  std::size_t frame_ = 0;    ///< that the request is about; 0: the innermost
  std::vector<Node> nodes_;  ///< what references stand for at the current stop, the first for 1
};

}  // namespace rlctl::cli::debug::dap
