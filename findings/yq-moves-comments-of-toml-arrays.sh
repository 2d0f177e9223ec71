#!/usr/bin/env bash
# yq 4.54.3 (github.com/mikefarah/yq/v4), TOML to TOML with `.`: a comment after an entry of an array is written above the
# next entry, where it describes that one, and the one after the last entry is lost, as is the one after a table's header.
# A comment after `key = value` stays. Expected: each stays on its line, or all are dropped.
#
# Output seen: list = [
#                "a",
#
#                # about a
#                "b",
#              ]
#
#              [table]
#              key = 1  # about key
set -euo pipefail

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
cat >in.toml <<'TOML'
list = [
  "a", # about a
  "b", # about b
]

[table] # about table
key = 1 # about key
TOML
# Without the other formats that take long to build.
export GOTOOLCHAIN=go1.26.8 GOPATH="$folder/go" GOFLAGS=-tags=yq_nohcl,yq_noini,yq_nolua
go run github.com/mikefarah/yq/v4@v4.54.3 -p toml -o toml . in.toml | tee seen
diff - seen <<'SEEN'
list = [
  "a",

  # about a
  "b",
]

[table]
key = 1  # about key
SEEN
