# needs: server
# `rlctl doctor` about a server that is set up well, and about none; doctor.bats has the others.

## a healthy server has only ok lines, in a fixed order, and nothing is written
$ rlctl doctor
ok        connection   SERVER, unix socket, round trip [..]
ok        server       [..]
ok        role         master with 0 replicas
ok        load         [..] of at most [..]
ok        scripts      Lua scripts run; rlctl loaded one to find out
ok        acl          user 'default' may call what check needs, with every algorithm
ok        clock        agrees with this machine's to within [..]
ok        memory       [..] used, no maxmemory
ok        persistence  none: after a restart, every limiter allows its full limit
ok        replication  writes require no replicas
ok        cluster      not a Cluster
no warnings, no failures
$ redis DBSIZE
0

## without a server the status is 3
$ env RLCTL_URL=unix://FOLDER/none
$ rlctl doctor
failure   connection   cannot connect to unix://FOLDER/none: no such file or directory
1 failure
[3]
$ rlctl doctor --json
{"check":"connection","status":"failure","detail":"cannot connect to unix://FOLDER/none: no such file or directory","fix":null}
[3]
