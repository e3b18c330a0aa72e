# needs: server
# The data of a page, which are those of -o FILE.json.

## a column of equal numbers has one number, and so have requests that are the same for each run
$ rlctl burst --limit 2/10s --model fixed-window gcra -q -o x.json
$ cat x.json
{"pattern":"boundary",[..],"events":{"begins_with_window":true,"traffic":[{"keys":["1"],"at_us":[1767225609990000,5000,5000,5000],"key":[0],"cost":[1]}],"runs":[{"traffic":0,"begin_us":0,"decisions":"1111","remaining":[1,-1,1,-1],"until_us":[],"denied_by":[0]},{"traffic":0,"begin_us":0,"decisions":"1100","remaining":[1,-1,0,0],"until_us":[1767225614990000,0],"denied_by":[0,0,1,0]}]}}
