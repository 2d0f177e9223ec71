#!/usr/bin/env bash
# github.com/metacubex/mihomo v1.19.20, common/convert: of the links of a subscription, trojan and anytls get their password
# decoded, hysteria2 gets it with the %XX of the link still in it, which is another password to a server. Expected: decoded
# in each, since a URI can hold such characters in no other way.
#
# Output seen: trojan: a/b@c
#              anytls: a/b@c
#              hysteria2: a%2Fb%40c
set -euo pipefail

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'MOD'
module look

go 1.26

require github.com/metacubex/mihomo v1.19.20
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"

	"github.com/metacubex/mihomo/common/convert"
)

func main() {
	for _, scheme := range []string{"trojan", "anytls", "hysteria2"} {
		proxies, err := convert.ConvertsV2Ray([]byte(scheme + "://a%2Fb%40c@127.0.0.1:443#node"))
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %v\n", scheme, proxies[0]["password"])
	}
}
GO
GOTOOLCHAIN=go1.26.8 GOPATH="$folder/go" GOFLAGS=-mod=mod go run . | tee seen
diff - seen <<'SEEN'
trojan: a/b@c
anytls: a/b@c
hysteria2: a%2Fb%40c
SEEN
