# needs: server
# The command that debug --print-command prints; redis_cli.bats runs it.

## the command names the server in full, but never its password
$ write echo.lua
< return redis.call('Time')
$ env RLCTL_URL=
$ rlctl -u redis://ann:secret@example.org:7000/3 debug echo.lua k --print-command
redis-cli -h example.org -p 7000 -n 3 --user ann --ldb --eval echo.lua k
! rlctl: debug: redis-cli takes the password from the variable REDISCLI_AUTH
$ env REDISCLI_AUTH=secret
$ rlctl -H h debug --ldb echo.lua k --print-command
redis-cli -h h -p 6379 --ldb --eval echo.lua k
$ rlctl -H h debug echo.lua --args x --sync --print-command
redis-cli -h h -p 6379 --ldb-sync-mode --eval echo.lua , x

## a file that begins with a dash is not taken for an option, and words are quoted for a shell
$ write ./-n.lua
< return 1
$ env RLCTL_URL=unix:///s
$ rlctl debug --args "x 'y z' \"\" ," --print-command -- -n.lua "k '1" -n
redis-cli -s /s --ldb --eval ./-n.lua 'k '\''1' -n , x 'y z' '' ,

## an option that redis-cli does not support is refused
$ write time.lua
< return redis.call('Time')
$ rlctl debug time.lua --now 1767225660000000 --print-command
! rlctl: debug: --now cannot be combined with redis-cli, where the script reads the server's clock
!   hint: omit --now, or use --trace
[2]
$ write comment.lua
< return 1 -- one at a time
$ rlctl -s /s debug comment.lua --now 1767225660000000 --print-command
redis-cli -s /s --ldb --eval comment.lua
