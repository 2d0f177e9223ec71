import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configProblem } from '@weir/server/loading';
import { readForeign } from '../../../src/import/document.ts';
import { toPair } from '../../../src/import/write/subscribe.ts';
import '../../../../../test/support/import/load-forms.ts';

const PROXIES = ['HK 1', 'HK 2 x10', 'US 1']
  .map(
    (name, at) => `- {name: ${name}, type: trojan, server: s${at}.test, port: 443, password: x}\n`,
  )
  .join('');

/** Groups of Clash, and the line above the balancer that each becomes. */
const GROUPS: readonly (readonly [keys: string, line: string | undefined])[] = [
  ['proxies: ["HK 1", "HK 2 x10", "US 1"]', '# follows: (import); group: "G"; filter: "."'],
  ['proxies: ["US 1"]', '# follows: (import); group: "G"'],
  ['proxies: [DIRECT, "US 1"]', '# follows: (import); group: "G"'],
  ['include-all: true', '# follows: *; filter: "."'],
  ['include-all-proxies: true, filter: "HK`US"', '# follows: *; filter: "HK"; filter: "US"'],
  [
    'include-all: true, filter: "(?i)hk", exclude-filter: "x10", exclude-type: "ss|vmess"',
    '# follows: *; filter: "(?i)hk"; exclude: "x10"; exclude-protocol: "shadowsocks"; exclude-protocol: "vmess"',
  ],
  ['proxies: ["US 1"], include-all: true, filter: HK', '# follows: *; group: "G"; filter: "HK"'],
  ['proxies: ["US 1"], use: [p1, p2], filter: HK', '# follows: p1, p2; filter: "HK"'],
  ['proxies: ["US 1"], use: [机场]', '# follows: *; filter: "."'],
  // .NET's subtraction, which is another class in Rust's dialect.
  ['include-all: true, filter: "[A-Z-[AB]]K"', '# follows: *; filter: "[[A-Z]--[AB]]K"'],
  ['proxies: ["US 1"], include-all: true, filter: "(?=HK)"', '# follows: (import); group: "G"'],
];

for (const [keys, line] of GROUPS) {
  test(`a group of Clash with ${keys} becomes a balancer that follows`, async () => {
    const document = `proxies:\n${PROXIES}proxy-groups:\n- {name: G, type: url-test, url: x, interval: 300, ${keys}}\nrules: ["MATCH,G"]\n`;
    const options = { check: configProblem };
    const { config } = await toPair(readForeign(document), options, 'nodes.toml');
    const [, found] = /^(# follows: .*)\n\[\[balancer\]\]$/m.exec(config) ?? [];
    assert.equal(found, line);
    assert.doesNotMatch(config, /probe_interval/, 'the default of 30 s');
  });
}

test('a group that lists another group does not take all, and nodes are marked as imported', async () => {
  const document = `proxies:\n${PROXIES}proxy-groups:\n- {name: G, type: fallback, proxies: [Inner]}\n- {name: Inner, type: load-balance, proxies: ["HK 1", "US 1"]}\nrules: ["MATCH,G"]\n`;
  const options = { check: configProblem };
  const { config, nodes } = await toPair(readForeign(document), options, 'nodes.toml');
  assert.match(
    config,
    /^# follows: \(import\); group: "G"\n\[\[balancer\]\]\ntag = "G"\noutbounds = \["HK 1"\]$/m,
  );
  assert.equal(nodes.match(/^# source: \(import\)\n\[\[proxy_server\]\]$/gm)?.length, 3);
});
