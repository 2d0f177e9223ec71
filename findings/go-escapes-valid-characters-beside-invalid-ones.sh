#!/usr/bin/env bash
# Go 1.26.8, net/url: `URL.EscapedPath` of a parsed URL, which HTTP and WebSocket clients send, leaves ! ' ( ) * [ ] as they
# are in a path that has no other character to escape, and escapes them too as soon as it has one: a segment is spelled in
# two ways, so a server that compares request targets byte by byte has to know the whole path. Expected: each character by
# itself.
#
# Output seen: /a!b'(c)*[d] -> /a!b'(c)*[d]
#              /a!b'(c)*[d]{ -> /a%21b%27%28c%29%2A%5Bd%5D%7B
set -euo pipefail

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'MOD'
module look

go 1.26
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"net/url"
)

func main() {
	for _, path := range []string{"/a!b'(c)*[d]", "/a!b'(c)*[d]{"} {
		parsed, err := url.Parse("ws://host.test" + path)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s -> %s\n", path, parsed.EscapedPath())
	}
}
GO
GOTOOLCHAIN=go1.26.8 GOPATH="$folder/go" go run . | tee seen
diff - seen <<'SEEN'
/a!b'(c)*[d] -> /a!b'(c)*[d]
/a!b'(c)*[d]{ -> /a%21b%27%28c%29%2A%5Bd%5D%7B
SEEN
