#include <fmt/format.h>

#include "base/text.h"
#include "keyspace/call.h"

// The commands of servers that are not in the tables of this folder: what COMMAND lists on Redis
// 7.0, and what newer servers have. Any other name is that of no command, here as on a server.

namespace rlctl::keyspace {
namespace {

struct Names {
  std::string_view joined;  ///< separated by commas

  bool contains(std::string_view name) const {
    for (auto rest = joined; !rest.empty();) {
      if (take_until(rest, ",") == name) return true;
    }
    return false;
  }
};

/// What scripts must not call: it has the flag noscript. CONFIG and its like have it for some of
/// their subcommands.
struct ForbiddenCommands {
  int arity = 0;
  Names names;
};
constexpr ForbiddenCommands kForbidden[] = {
    {-4, {"ACL DRYRUN,CONFIG SET"}},
    {-3,
     {"ACL DELUSER,ACL SETUSER,BLPOP,BRPOP,BZPOPMAX,BZPOPMIN,CLIENT KILL,CLIENT PAUSE,"
      "CLIENT TRACKING,CLIENT UNBLOCK,CONFIG GET,EVAL,EVALSHA,EVALSHA_RO,EVAL_RO,FCALL,"
      "FCALL_RO,FUNCTION LOAD,FUNCTION RESTORE,MODULE LOAD,MODULE LOADEX,PSYNC,"
      "SCRIPT EXISTS"}},
    {-2,
     {"ACL CAT,ACL GENPASS,ACL LOG,AUTH,CLIENT LIST,CLUSTER RESET,DEBUG,FUNCTION FLUSH,"
      "FUNCTION LIST,LATENCY HISTOGRAM,LATENCY RESET,PSUBSCRIBE,SCRIPT FLUSH,SSUBSCRIBE,"
      "SUBSCRIBE,WATCH"}},
    {-1,
     {"BGSAVE,FAILOVER,HELLO,PUNSUBSCRIBE,QUIT,REPLCONF,SHUTDOWN,SUNSUBSCRIBE,"
      "UNSUBSCRIBE"}},
    {1, {"BGREWRITEAOF,DISCARD,EXEC,MONITOR,MULTI,RESET,ROLE,SAVE,SYNC,UNWATCH"}},
    {2,
     {"ACL LIST,ACL LOAD,ACL SAVE,ACL USERS,ACL WHOAMI,CLIENT GETNAME,CLIENT GETREDIR,"
      "CLIENT ID,CLIENT INFO,CLIENT TRACKINGINFO,CLIENT UNPAUSE,CONFIG RESETSTAT,"
      "CONFIG REWRITE,FUNCTION DUMP,FUNCTION KILL,FUNCTION STATS,LATENCY DOCTOR,"
      "LATENCY LATEST,MODULE LIST,SCRIPT KILL"}},
    {3,
     {"ACL GETUSER,CLIENT CACHING,CLIENT NO-EVICT,CLIENT REPLY,CLIENT SETNAME,"
      "FUNCTION DELETE,LATENCY GRAPH,LATENCY HISTORY,MODULE UNLOAD,REPLICAOF,SCRIPT DEBUG,"
      "SCRIPT LOAD,SLAVEOF,WAIT"}},
    {4, {"BRPOPLPUSH"}},
    {6, {"BLMOVE"}}};

constexpr Names kNotHere{
    "ACL,ASKING,BITOP,BITPOS,BLMPOP,BZMPOP,CLIENT,CLUSTER,COMMAND,CONFIG,DBSIZE,"
    "DUMP,ECHO,FLUSHALL,FLUSHDB,FUNCTION,GEOADD,GEODIST,GEOHASH,GEOPOS,GEORADIUS,"
    "GEORADIUSBYMEMBER,GEORADIUSBYMEMBER_RO,GEORADIUS_RO,GEOSEARCH,GEOSEARCHSTORE,"
    "HRANDFIELD,HSCAN,INFO,KEYS,LASTSAVE,LATENCY,LCS,LMPOP,LOLWUT,LPOS,MEMORY,"
    "MIGRATE,MODULE,MOVE,OBJECT,PFADD,PFCOUNT,PFDEBUG,PFMERGE,PFSELFTEST,PING,PUBSUB,"
    "RANDOMKEY,READONLY,READWRITE,RESTORE,RESTORE-ASKING,SCAN,SCRIPT,SDIFF,SDIFFSTORE,"
    "SELECT,SINTER,SINTERCARD,SINTERSTORE,SLOWLOG,SORT,SORT_RO,SPUBLISH,SSCAN,SUNION,"
    "SUNIONSTORE,SWAPDB,XACK,XADD,XAUTOCLAIM,XCLAIM,XDEL,XGROUP,XINFO,XLEN,XPENDING,"
    "XRANGE,XREAD,XREADGROUP,XREVRANGE,XSETID,XTRIM,ZDIFF,ZDIFFSTORE,ZINTER,"
    "ZINTERCARD,ZINTERSTORE,ZMPOP,ZRANDMEMBER,ZRANGESTORE,ZSCAN,ZUNION,ZUNIONSTORE"};

struct NewerCommands {
  std::string_view version;
  Names names;
};
constexpr NewerCommands kNewer[] = {
    {"7.4",
     {"HEXPIRE,HEXPIREAT,HEXPIRETIME,HPERSIST,HPEXPIRE,HPEXPIREAT,HPEXPIRETIME,HPTTL,"
      "HTTL"}},
    {"8.0", {"HGETDEL,HGETEX,HSETEX"}},
    {"8.4", {"DELEX,DIGEST,MSETEX"}}};

}  // namespace

void refuse(std::string_view what) {
  throw NotImplementedHere(fmt::format("{} is not implemented here", what));
}

const char* error_of_other_command(std::span<const std::string_view> words) {
  const char* const unknown = "ERR Unknown Redis command called from script";
  const auto name = upper_case(words.front());
  // "CONFIG SET" in one word is no command.
  if (name.find(' ') != std::string::npos) return unknown;
  const auto with_subcommand = words.size() > 1 ? name + ' ' + upper_case(words[1]) : name;
  for (const auto& [arity, names] : kForbidden) {
    if (!names.contains(name) && !names.contains(with_subcommand)) continue;
    return has_arity(words.size(), arity) ? "ERR This Redis command is not allowed from script"
                                          : kWrongWordCount;
  }
  for (const auto& [version, names] : kNewer) {
    if (!names.contains(name)) continue;
    throw NotImplementedHere(fmt::format("{} is a command of Redis {} or newer", name, version),
                             "add -u URL of such a server: burst and adversary run scripts there, "
                             "debug with --ldb");
  }
  if (kNotHere.contains(name)) refuse(name);
  return unknown;
}

}  // namespace rlctl::keyspace
