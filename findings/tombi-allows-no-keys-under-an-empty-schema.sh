#!/usr/bin/env bash
# tombi 1.9.6 (PyPI): a property whose JSON Schema is `{}` may be a number but no table with keys: each key gets a warning,
# while under `true`, which JSON Schema defines to be the same, none does. With `{"additionalProperties": true}`, the default
# spelled out, there is none either; 0.11.7 takes that for `"type": "object"` and refuses the number, and under `{}` does not
# know the property. Expected: every value goes with each of the three.
#
# Output seen: 0.11.7 true: number ok, table ok
#              0.11.7 {}: number warning, table warning
#              0.11.7 {"additionalProperties":true}: number error, table ok
#              1.9.6 true: number ok, table ok
#              1.9.6 {}: number ok, table warning
#              1.9.6 {"additionalProperties":true}: number ok, table ok
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
printf '#:schema ./schema.json\nany = 1\n' >number.toml
printf '#:schema ./schema.json\n[any]\nkey = 1\n' >table.toml
judge() {
  local said
  said=$(NO_COLOR=1 XDG_CACHE_HOME="$PWD/cache" "./$1/bin/tombi" lint --offline "$2.toml" 2>&1) || true
  case $said in
    *Error:*) echo "$2 error" ;;
    *Warning:*) echo "$2 warning" ;;
    '1 file linted successfully') echo "$2 ok" ;;
    *) echo "$2: $said" ;;
  esac
}
for version in 0.11.7 1.9.6; do
  python3 -m pip install --quiet --root-user-action=ignore --disable-pip-version-check --no-deps \
    --target "$version" "tombi==$version"
  for any in true '{}' '{"additionalProperties":true}'; do
    printf '{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"any":%s}}' "$any" >schema.json
    echo "$version $any: $(judge "$version" number), $(judge "$version" table)"
  done
done | tee seen
diff - seen <<'SEEN'
0.11.7 true: number ok, table ok
0.11.7 {}: number warning, table warning
0.11.7 {"additionalProperties":true}: number error, table ok
1.9.6 true: number ok, table ok
1.9.6 {}: number ok, table warning
1.9.6 {"additionalProperties":true}: number ok, table ok
SEEN
