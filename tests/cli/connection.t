# needs: server
# Servers that are named by URLs and options, where a test needs no server of its own. See also connection.bats.

## a check on a private server warns, even with -q, that no other request counts; a batch does not
$ rlctl check -u private: --limit 5/60s k --now 1000000000
allowed key=k limit=5/60s remaining=4 reset=60.000s
! rlctl: check: warning: private: starts an empty server for this run only; no earlier request is counted
!   hint: use --url or RLCTL_URL to name a persistent server
$ rlctl check -q -u private: --limit 5/60s k
! rlctl: check: warning: private: starts an empty server for this run only; no earlier request is counted
!   hint: use --url or RLCTL_URL to name a persistent server
$ rlctl check -u private: --peek --limit 5/60s k --now 1000000000
allowed key=k limit=5/60s remaining=5 reset=0.000s
! rlctl: check: warning: private: starts an empty server for this run only; no earlier request is counted
!   hint: use --url or RLCTL_URL to name a persistent server
$ rlctl check -u private: --wait --json --limit 5/60s k
{"key":"k","algorithm":"sliding-window-log","allowed":true,"cost":1,"remaining":4,"retry_after_us":0,"reset_after_us":60000000,"delay_us":0,"limits":[{"key":"k","limit":5,"window_us":60000000,"burst":null}],"denied_by":null}
! rlctl: check: warning: private: starts an empty server for this run only; no earlier request is counted
!   hint: use --url or RLCTL_URL to name a persistent server
$ rlctl check -u private: --limit 1/60s --batch --now 1000000000
< k
< k
allowed key=k limit=1/60s remaining=0 reset=60.000s
denied key=k limit=1/60s remaining=0 retry_after=60.000s reset=60.000s
[1]
$ env RLCTL_URL=private:
$ rlctl check -q --limit 5/60s k
! rlctl: check: warning: private: starts an empty server for this run only; no earlier request is counted
!   hint: use --url or RLCTL_URL to name a persistent server

## a private server needs a folder for its files
$ env TMPDIR=/nowhere
$ rlctl -u private: check k --limit 5/60s
! rlctl: check: cannot make a folder in /nowhere: no such file or directory
!   hint: private servers keep their folders in TMPDIR
[3]

## an IPv6 address has colons of its own, which begin no port
$ rlctl -H ::1 -p 7 config show
file     [..]/rlctl.toml
url      redis://[::1]:7                    (option)
timeout  2m                                 (file)

## a file that is not a socket, and a host without an address, are reported with their names
$ write file
< x
$ rlctl check k --limit 5/60s -s FOLDER/file
! rlctl: cannot connect to unix://FOLDER/file: connection refused
[3]
$ rlctl check k --limit 5/60s -u redis://nobody.invalid
! rlctl: cannot connect to redis://nobody.invalid:6379: [..]
[3]
