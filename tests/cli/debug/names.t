# needs: server
# What debug takes of a script's name, KEYS and ARGV, as burst does; --print-command shows them on one line. names.bats
# has the commands that burst prints.

## a script of the configuration is debugged with its keys and arguments
$ write echo.lua
< return table.concat(KEYS, '|') .. '#' .. table.concat(ARGV, '|')
$ write rlctl.toml
< [script.echo]
< file = "echo.lua"
< keys = ["{key}", "b"]
< args = ["{limit}", "two words"]
$ env RLCTL_CONFIG=FOLDER/rlctl.toml
$ rlctl -u private: debug -q echo ann --limit 5/60s --trace
+ echo.lua:1  return table.concat(KEYS, '|') .. '#' .. table.concat(ARGV, '|')
= "ann|b#5|two words"    1 line, 0 redis calls; nothing was changed
$ rlctl -s /s debug echo ann --limit 5/60s --args 'x {limit}' --print-command
redis-cli -s /s --ldb --eval FOLDER/echo.lua ann b , x 5
$ rlctl -s /s debug echo ann , x --print-command
redis-cli -s /s --ldb --eval FOLDER/echo.lua ann b , x

## the options give a script its keys and arguments, and the words after a comma are ARGV, with placeholders
$ write echo.lua
< return table.concat(KEYS, '|') .. '#' .. table.concat(ARGV, '|')
$ rlctl -u private: debug -q echo.lua k1 'k 2' --args "a 'b c' ''" --trace
+ echo.lua:1  return table.concat(KEYS, '|') .. '#' .. table.concat(ARGV, '|')
= "k1|k 2#a|b c|"    1 line, 0 redis calls; nothing was changed
$ env RLCTL_URL=unix:///s
$ rlctl debug ./echo.lua --print-command
redis-cli -s /s --ldb --eval ./echo.lua
$ rlctl debug echo.lua x --keys 'h:{key}' --keys '{{key}}:{window_index}' --limit 5/60s --now 1767225660123456 --args '{now} {now_ms}' --print-command
redis-cli -s /s --ldb --eval echo.lua h:x '{x}:29453761' , 1767225660.123456 1767225660123
$ rlctl debug echo.lua --limit 5/60s --burst 7 --cost 3 --args '{limit} {burst} {cost} {id} {window_s}' --print-command
redis-cli -s /s --ldb --eval echo.lua , 5 7 3 1 60
$ rlctl debug echo.lua k l , '{limit}' 'two words' '' , --limit 5/60s --print-command
redis-cli -s /s --ldb --eval echo.lua k l , 5 'two words' '' ,
$ rlctl debug echo.lua , x --print-command
redis-cli -s /s --ldb --eval echo.lua , x

## a KEY that ends in a comma gets a warning, unless ARGV follow a comma of their own
$ write one.lua
< return 1
$ env RLCTL_URL=unix:///s
$ rlctl debug one.lua k, 5 --print-command
redis-cli -s /s --ldb --eval one.lua k, 5
! rlctl: debug: warning: the comma of 'k,' is a part of this KEY; the comma before ARGV is a word of its own: 'k' ,
$ rlctl debug one.lua k, 5 --print-command -q
redis-cli -s /s --ldb --eval one.lua k, 5
$ rlctl debug one.lua k, , 5 --print-command
redis-cli -s /s --ldb --eval one.lua k, , 5

## {key} stands for a KEY of its own if none is given, but not on a named server
$ write echo.lua
< return {KEYS[1], ARGV[1]}
$ rlctl -u private: debug -q echo.lua --trace --args '{key}'
+ echo.lua:1  return {KEYS[1], ARGV[1]}
= {"ann", "ann"}    1 line, 0 redis calls; nothing was changed
$ rlctl -u private: debug -q echo.lua --keys own --trace --args '{key}'
+ echo.lua:1  return {KEYS[1], ARGV[1]}
= {"own", "ann"}    1 line, 0 redis calls; nothing was changed
$ rlctl debug --ldb -q echo.lua --attach --args '{key}'
! rlctl: debug: no KEY given, but keys or args contain {key}
!   hint: give it after the script: rlctl debug echo.lua KEY
[2]

## a script that fails for lack of words gets a hint at them
$ write set.lua
< return redis.call('SET', KEYS[1], ARGV[1])
$ env RLCTL_URL=private:
$ rlctl debug -q set.lua k 5 60 --trace
+ set.lua:1  return redis.call('SET', KEYS[1], ARGV[1])
[..]   Lua redis lib command arguments must be strings or integers
= error at line 1: Lua redis lib command arguments must be strings or integers    1 line, 0 redis calls; nothing was changed
! rlctl: debug: no ARGV was given: write ' , ' (a comma between spaces) before the arguments
[5]
$ rlctl debug -q set.lua k 5 60 --coverage
    1x  return redis.call('SET', KEYS[1], ARGV[1])
1 of 1 line reached (100.0 %)
! rlctl: debug: set.lua:1: Lua redis lib command arguments must be strings or integers
!   hint: no ARGV was given: write ' , ' (a comma between spaces) before the arguments
[5]
$ rlctl debug -q set.lua --coverage , 5
    1x  return redis.call('SET', KEYS[1], ARGV[1])
1 of 1 line reached (100.0 %)
! rlctl: debug: set.lua:1: Lua redis lib command arguments must be strings or integers
!   hint: no KEYS were given
[5]
$ write none.lua
< return nil + 1
$ rlctl debug -q none.lua k l --coverage
    1x  return nil + 1
1 of 1 line reached (100.0 %)
! rlctl: debug: none.lua:1: attempt to perform arithmetic on a nil value
[5]

## ARGV that a script uses but does not get is a warning
$ write three.lua
< return {ARGV[1], ARGV[3]}
$ env RLCTL_URL=unix:///s
$ rlctl debug three.lua k --args '1 2' --print-command
redis-cli -s /s --ldb --eval three.lua k , 1 2
! rlctl: debug: warning: the script uses ARGV[3], but #ARGV is 2; give all of them in one --args
$ rlctl debug three.lua k --args '1 2 3' --print-command
redis-cli -s /s --ldb --eval three.lua k , 1 2 3

## a script on standard input is traced, and leaves no input for commands
$ rlctl -u private: debug -q - k , x --trace
< return KEYS[1] .. '#' .. ARGV[1]
+ stdin:1  return KEYS[1] .. '#' .. ARGV[1]
= "k#x"    1 line, 0 redis calls; nothing was changed
$ rlctl -u private: debug -q - k , x
< return 1
! rlctl: debug: standard input cannot hold both the script and the commands
!   hint: add --trace, or name the file of the commands with --commands
[2]
$ write commands
< continue
$ rlctl -u private: debug -q - k , x --commands commands
< return 1
* stdin:1, at the beginning
-> 1  return 1
= 1
no key was changed

## --trace ends with how the reply reads, if anything says so
$ write four.lua
< return {0, 3, 12, -1}
$ env RLCTL_URL=private:
$ rlctl debug -q four.lua k --allowed-when 'r[1] == 1' --head 'remaining r[2]' --head 'retry_after r[3] s' --trace
+ four.lua:1  return {0, 3, 12, -1}
= {0, 3, 12, -1}    1 line, 0 redis calls; nothing was changed
reads as denied, remaining 3, retry_after 12s
$ rlctl debug -q four.lua k --allowed-when 'r[1] == 1' --head 'remaining r[2]' --head 'retry_after r[3] s' --trace --json
{"event":"line","line":1,"source":"return {0, 3, 12, -1}"}
{"event":"result","ending":"returned","value":"{0, 3, 12, -1}","error":null,"error_line":null,"lines":1,"calls":0}
{"event":"key","key":"k","before":null,"after":null,"changed":false}
{"event":"reading","allowed":false,"remaining":3,"retry_after_us":12000000,"reset_after_us":null,"delay_us":0,"error":null}
$ rlctl debug -q four.lua k --now 2026-01-01T00:00:00Z --allowed-when 'r[1] == 0' --head 'reset_after now_s - 1767225590 s' --trace
+ four.lua:1  return {0, 3, 12, -1}
= {0, 3, 12, -1}    1 line, 0 redis calls; nothing was changed
reads as allowed, reset_after 10s
$ write text.lua
< return KEYS[1]
$ rlctl debug -q text.lua k --allowed-when nonzero --trace
+ text.lua:1  return KEYS[1]
= "k"    1 line, 0 redis calls; nothing was changed
[..]   --allowed-when: text.lua replied 'k', but 'nonzero' reads a number, or true or false
