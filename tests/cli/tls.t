# needs: server
# The configuration of TLS and a client's private key, as far as no server is asked; see also tls.bats.

## a mistake in the configuration of TLS stops what needs it
$ write c.toml
< url = 'rediss://127.0.0.1:1'
< tls = "yes"
< insecure = 1
< cacert = ""
< sni = true
< incesure = true
$ rlctl --config c.toml config check
! rlctl: c.toml:2: tls must be true or false, not the string 'yes'
! rlctl: c.toml:3: insecure must be true or false, not 1
! rlctl: c.toml:4: cacert: the name of the file is empty
! rlctl: c.toml:5: sni must be a string, not true
! rlctl: c.toml:6: unknown key 'incesure'; did you mean 'insecure'?
[2]
$ write unix.toml
< url = 'unix:///s'
< tls = true
$ rlctl --config unix.toml config check
! rlctl: unix.toml:2: tls: unix:///s is not reached by TCP
[2]

## a client certificate needs both its file and that of its key
$ each NAME cert key
$ write NAME.toml
< url = 'rediss://127.0.0.1:1'
< NAME = "x"
$ rlctl --config NAME.toml config check
! rlctl: NAME.toml:2: NAME: a client certificate needs both cert and key
[2]

## none of these mistakes is overlooked by a check
$ each LINE 'tls = "yes"' 'insecure = 1' 'cacert = ""' 'cert = "x"' 'key = "x"' 'sni = true' 'incesure = true'
$ env RLCTL_URL= RLCTL_CONFIG=c.toml
$ write c.toml
< url = 'rediss://127.0.0.1:1'
< LINE
$ rlctl check k --limit 9/60s
! rlctl: c.toml:2: [..]
!   hint: correct the file, or pass --[..], or --config /dev/null to ignore the file
[2]

## a private key that others can read or write is refused
$ env RLCTL_URL=rediss://127.0.0.1:1
$ write client.pem
< text
$ write client.key
< text
$ chmod 644 client.key
$ rlctl check k --limit 9/60s --cert client.pem --key client.key
! rlctl: check: client.key holds a private key, and any user can read it (mode 0644)
!   hint: chmod 600 client.key
[2]
$ chmod 666 client.key
$ rlctl check k --limit 9/60s --cert client.pem --key client.key
! rlctl: check: client.key holds a private key, and any user can write it (mode 0666)
!   hint: chmod 600 client.key
[2]
$ chmod 620 client.key
$ rlctl check k --limit 9/60s --cert client.pem --key client.key
! rlctl: check: client.key holds a private key, and its group can write it (mode 0620)
!   hint: chmod 600 client.key
[2]
