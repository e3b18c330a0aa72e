# needs: server
# Whole files of `rlctl quota --textfile`.

## the file has the use of a limit in base units; if the server cannot be asked, it says so
$ write rlctl.toml
< [policy.api]
< key = "api:%s"
< algorithm = "gcra"
< limit = "1000/1d"
$ rlctl check -q --config rlctl.toml --policy api ann --cost 800
$ rlctl quota --config rlctl.toml --policy api ann bob --textfile api.prom -q
$ cat api.prom
# HELP rlctl_up Whether the server could be queried.
# TYPE rlctl_up gauge
rlctl_up{file="api.prom"} 1
# HELP rlctl_last_success_timestamp_seconds When the server was last queried successfully.
# TYPE rlctl_last_success_timestamp_seconds gauge
rlctl_last_success_timestamp_seconds{file="api.prom"} [..]
# HELP rlctl_unknown_limits Number of limits that could not be evaluated.
# TYPE rlctl_unknown_limits gauge
rlctl_unknown_limits{file="api.prom"} 0
# HELP rlctl_limit Units that the limit allows at once.
# TYPE rlctl_limit gauge
rlctl_limit{file="api.prom",policy="api",algorithm="gcra",limit="1000/1d"} 1000
# HELP rlctl_used Units of the limit in use.
# TYPE rlctl_used gauge
rlctl_used{file="api.prom",policy="api",algorithm="gcra",limit="1000/1d"} 800
# HELP rlctl_used_ratio Share of the limit in use.
# TYPE rlctl_used_ratio gauge
rlctl_used_ratio{file="api.prom",policy="api",algorithm="gcra",limit="1000/1d"} 0.8
# HELP rlctl_remaining Requests of cost 1 that would be allowed now.
# TYPE rlctl_remaining gauge
rlctl_remaining{file="api.prom",policy="api",algorithm="gcra",limit="1000/1d"} 200
# HELP rlctl_reset_seconds Time until the key is as if it were unused.
# TYPE rlctl_reset_seconds gauge
rlctl_reset_seconds{file="api.prom",policy="api",algorithm="gcra",limit="1000/1d"} 69[..]
# HELP rlctl_key_bytes Memory of the keys in Redis.
# TYPE rlctl_key_bytes gauge
rlctl_key_bytes{file="api.prom",policy="api",algorithm="gcra",limit="1000/1d"} [..]
$ rlctl quota k -u unix:///nowhere --textfile new.prom
RATELIMIT UNKNOWN - cannot connect to unix:///nowhere: no such file or directory
[3]
$ cat new.prom
# HELP rlctl_up Whether the server could be queried.
# TYPE rlctl_up gauge
rlctl_up{file="new.prom"} 0
