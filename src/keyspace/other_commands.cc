#include <fmt/format.h>

#include "base/text.h"
#include "keyspace/call.h"

// The commands of servers that are not in the tables of this folder: what COMMAND lists on Redis
// 7.0, and what Redis 8 and Valkey 9 add. These servers have no command of another name.

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

/// Commands that no server lets a script call.
constexpr Names kForbidden{
    "AUTH,BGREWRITEAOF,BGSAVE,DEBUG,DISCARD,EVAL,EVALSHA,EVALSHA_RO,EVAL_RO,EXEC,FAILOVER,FCALL,"
    "FCALL_RO,HELLO,MONITOR,MULTI,PSUBSCRIBE,PSYNC,PUNSUBSCRIBE,QUIT,REPLCONF,REPLICAOF,RESET,ROLE,"
    "SAVE,SHUTDOWN,SLAVEOF,SSUBSCRIBE,SUBSCRIBE,SUNSUBSCRIBE,SYNC,UNSUBSCRIBE,UNWATCH,WATCH"};

/// Redis 7.0 refuses those that block, and newer servers do not.
constexpr Names kNotHere{
    "ACL,ASKING,BITOP,BITPOS,BLMOVE,BLMPOP,BLPOP,BRPOP,BRPOPLPUSH,BZMPOP,BZPOPMAX,BZPOPMIN,CLIENT,"
    "CLUSTER,COMMAND,COMMANDLOG,CONFIG,DBSIZE,DELEX,DELIFEQ,DIGEST,DUMP,ECHO,FLUSHALL,FLUSHDB,"
    "FUNCTION,GEOADD,GEODIST,GEOHASH,GEOPOS,GEORADIUS,"
    "GEORADIUSBYMEMBER,GEORADIUSBYMEMBER_RO,GEORADIUS_RO,GEOSEARCH,GEOSEARCHSTORE,"
    "HEXPIRETIME,HGETDEL,HPERSIST,HPEXPIRETIME,HPTTL,HRANDFIELD,HSCAN,HTTL,INFO,KEYS,LASTSAVE,"
    "LATENCY,LCS,LMPOP,LOLWUT,LPOS,MEMORY,"
    "MIGRATE,MODULE,MOVE,MSETEX,OBJECT,PFADD,PFCOUNT,PFDEBUG,PFMERGE,PFSELFTEST,PING,PUBSUB,"
    "RANDOMKEY,READONLY,READWRITE,RESTORE,RESTORE-ASKING,SCAN,SCRIPT,SDIFF,SDIFFSTORE,"
    "SELECT,SINTER,SINTERCARD,SINTERSTORE,SLOWLOG,SORT,SORT_RO,SPUBLISH,SSCAN,SUNION,"
    "SUNIONSTORE,SWAPDB,VADD,VCARD,VDIM,VEMB,VGETATTR,VINFO,VISMEMBER,VLINKS,VRANDMEMBER,VRANGE,"
    "VREM,VSETATTR,VSIM,WAIT,WAITAOF,XACK,XACKDEL,XADD,XAUTOCLAIM,XCLAIM,XDEL,XDELEX,XGROUP,XINFO,"
    "XLEN,XPENDING,"
    "XRANGE,XREAD,XREADGROUP,XREVRANGE,XSETID,XTRIM,ZDIFF,ZDIFFSTORE,ZINTER,"
    "ZINTERCARD,ZINTERSTORE,ZMPOP,ZRANDMEMBER,ZRANGESTORE,ZSCAN,ZUNION,ZUNIONSTORE"};

/// Commands that set TTLs of the fields of a hash, for which no virtual clock passes on a server.
constexpr Names kFieldTtls{"HEXPIRE,HEXPIREAT,HGETEX,HPEXPIRE,HPEXPIREAT,HSETEX"};

}  // namespace

void refuse(std::string_view what) {
  throw NotImplementedHere(fmt::format("{} is not implemented here", what));
}

void refuse_other_command(std::string_view word) {
  const auto name = upper_case(word);
  if (kNotHere.contains(name)) refuse(name);
  if (kFieldTtls.contains(name)) {
    throw NotImplementedHere(fmt::format("{} is not implemented here", name),
                             "a server has it: burst runs scripts there with -u private: --clock "
                             "real, debug with --ldb");
  }
  if (!kForbidden.contains(name)) return;
  throw NotImplementedHere(fmt::format("a server allows no script to call {}", name),
                           "leave it out");
}

}  // namespace rlctl::keyspace
