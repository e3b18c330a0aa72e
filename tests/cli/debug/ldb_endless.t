# needs: server
# night: a server must be busy for seven seconds; tests/ldb/session_test.cc has the stop itself
# debug --ldb of what does not end; ldb.t has the rest.

## a script that does not end stops after five seconds, and an evaluation that does not ends the session
$ write endless.lua
< while true do
<   local n = 1
< end
$ rlctl -u private: debug -q --ldb endless.lua
< continue
< eval while true do end
< step
* endless.lua:2, at the beginning
   1  while true do
-> 2    local n = 1
   3  end
* endless.lua:2, stopped
   1  while true do
-> 2    local n = 1
   3  end
(Redis's debugger stops a script that has run for five seconds; leave out --ldb)
= cut off: no answer within 2s
the session is over; 'restart' starts over
[..]   the script has ended; 'again' calls it on the state that it left, 'restart' starts over
! rlctl: debug: 1 of the commands failed; the first is line 3: 'step'
[1]
