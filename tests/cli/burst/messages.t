# needs: server
# Errors of scripts, and what rlctl itself refuses of them.

## a misspelt command is an error of the script, as on a server
$ write misspelt.lua
< return redis.call('INCRR', KEYS[1])
$ rlctl burst misspelt.lua --limit 5/60s --args '{now_ms}' -q
! rlctl: burst: misspelt.lua:1: Unknown Redis command called from script; request 1 had KEYS '1' and ARGV '1767225659990'
[5]
$ rlctl lint misspelt.lua
! rlctl: lint: misspelt.lua:1: Unknown Redis command called from script; request 1 had KEYS 'ann' and ARGV none
[3]

## a command that scripts must not call is refused by name
$ write forbidden.lua
< return redis.call('SUBSCRIBE', 'news')
$ rlctl burst forbidden.lua --limit 5/60s --args '{now_ms}' -q
! rlctl: burst: forbidden.lua:1: a server allows no script to call SUBSCRIBE; request 1 had KEYS '1' and ARGV '1767225659990'
!   hint: leave it out
[2]

## a command of newer servers is refused by name
$ write newer.lua
< return redis.call('HEXPIRE', KEYS[1], 5, 'FIELDS', 1, 'a')
$ rlctl burst newer.lua --limit 5/60s --args '{now_ms}' -q
! rlctl: burst: newer.lua:1: HEXPIRE is not implemented here; request 1 had KEYS '1' and ARGV '1767225659990'
!   hint: a server has it: burst runs scripts there with -u private: --clock real, debug with --ldb
[2]
$ rlctl burst newer.lua -u private: --limit 5/60s --args '{now_ms}' -q
! rlctl: burst: newer.lua has the word HEXPIRE: virtual time does not pass for the TTLs of a hash's fields
!   hint: use --clock real, with a pattern or a log
[2]

## a reply with more levels of arrays than rlctl reads is refused by name
$ write deep.lua
< return {{{{{{{{1}}}}}}}}
$ rlctl burst deep.lua --limit 5/60s --args '{now_ms}' -q
! rlctl: burst: deep.lua: rlctl does not read its reply, which has more than 7 levels of arrays; request 1 had KEYS '1' and ARGV '1767225659990'
!   hint: let the script return less
[2]

## keys that grow too large are refused with the bound and a way out
$ write large.lua
< local text = ('x'):rep(1048576)
< for _ = 1, 1000 do redis.call('APPEND', KEYS[1], text) end
< return 1
$ rlctl burst large.lua --limit 5/60s --args '{now_ms}' -q
! rlctl: burst: large.lua:2: the keys of the script hold more than 128 MiB; request 1 had KEYS '1' and ARGV '1767225659990'
!   hint: a server has more memory: burst and adversary run scripts there with -u private:, debug with --ldb
[2]

## a script that needs too much memory learns the bound
$ write memory.lua
< return #('x'):rep(100000000)
$ rlctl burst memory.lua --limit 5/60s --args '{now_ms}' -q
! rlctl: burst: memory.lua: it needs more than the 64 MiB of memory that rlctl gives it; request 1 had KEYS '1' and ARGV '1767225659990'
!   hint: a server has it: burst and adversary run scripts there with -u private:, debug with --ldb
[2]

## an error that is a table without a message says so
$ write table.lua
< error({code = 3})
$ rlctl burst table.lua --limit 5/60s --args '{now_ms}' -q
! rlctl: burst: table.lua:1: the script raised a table without a field 'err'; request 1 had KEYS '1' and ARGV '1767225659990'
[5]

## an error of a library while it loads is reported with its line
$ write library.lua
< #!lua name=limits
< local settings = nil
< settings.limit = 5
< redis.register_function('take', function() return 1 end)
$ rlctl burst library.lua --limit 5/60s --args '{now_ms}' -q
! rlctl: burst: library.lua: Error registering functions: ERR user_function:3: attempt to index local 'settings' (a nil value)
!   hint: an error is not taken for a denial: let the script return a value for it, and say which with --allowed-when
[5]

## a script that never ends is stopped, and the message says at which request
$ write loop.lua
< if ARGV[1] == '3' then while true do end end
< return 1
$ rlctl burst loop.lua --limit 5/1s --args '{id} {now}'
! rlctl: burst: loop.lua did not end: it ran for more than 100000000 instructions; request 3 had KEYS '1' and ARGV '3' '1767225600.994000'
!   hint: the script may never end: step through it with rlctl debug
[3]
