import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { configProblem } from '@weir/server/loading';
import { readDns, dnsServerOf } from '../../../src/import/clash/clash.ts';
import { readRules } from '../../../src/import/clash/rules.ts';
import { LARGEST_DOCUMENT, readForeign } from '../../../src/import/document.ts';
import { ImportError } from '@weir/proxy/protocols/forms';
import { ForeignObject } from '@weir/proxy/protocols/forms';
import { parseJson } from '../../../src/import/parse/json.ts';
import { parseYaml } from '../../../src/import/parse/yaml.ts';
import { reportLines } from '../../../src/import/report.ts';
import { bounded, TargetNames } from '../../../src/import/routing.ts';
import { writableRules } from '../../../src/import/write/rules.ts';
import { toConfig } from '../../../src/import/write/config.ts';
import { toSubscribe } from '../../../src/import/write/subscribe.ts';
import '../../../../../test/support/import/load-forms.ts';

/** Calls `work`; an ImportError is a result too. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    assert.ok(error instanceof ImportError, String(error));
    return undefined;
  }
}

/** A text of pieces that mean something to a parser, and of anything. */
const textOf = (...pieces: readonly string[]): fc.Arbitrary<string> =>
  fc
    .array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...pieces) }, fc.string()), {
      maxLength: 25,
    })
    .map((parts) => parts.join(''));

test('a list is read up to its limit, and not to its end', () => {
  let read = 0;
  const lines = Iterator.from({
    next: () => ({ value: 'line', done: ++read > 100_000 }),
  });
  assert.throws(() => bounded('servers', lines), /more than 50000 servers/);
  assert.equal(read, 50_001);
});

test('a line as long as a document is read', () => {
  const line = 'A'.repeat(LARGEST_DOCUMENT - 1);
  assert.throws(() => readForeign(line), ImportError);
  const link = `trojan://secret@proxy.example:443#${line.slice(100)}`;
  assert.equal(readForeign(link).entries.length, 1);
});

describe('whatever it is given', () => {
  for (const [what, text, work] of [
    [
      'the parser of YAML gives a value or an ImportError',
      textOf(
        '- ',
        '? ',
        ': ',
        '{',
        '}',
        '[',
        ']',
        '&a ',
        '*a',
        '<<: ',
        '!x ',
        '|\n',
        '>',
        '"',
        "'",
        '\n',
        ' ',
        '#',
        '%',
        '---',
        'a',
      ),
      parseYaml,
    ],
    [
      'the parser of JSON gives a value or an ImportError',
      textOf('{', '}', '[', ']', ',', ':', '"', '\\', '//', '/*', '*/', '1', 'null', '\n'),
      parseJson,
    ],
    [
      'the reader of rules gives an entry for each',
      textOf(
        'AND',
        'OR',
        'DOMAIN',
        'IP-CIDR',
        'DST-PORT',
        ',',
        '(',
        ')',
        '((',
        '))',
        '/',
        '-',
        '1',
        'x',
        'no-resolve',
        'é',
      ),
      (line: string) =>
        assert.equal(
          readRules([line, line], new TargetNames({ entries: ['x'], groups: [] })).length,
          2,
        ),
    ],
    [
      'the reader of name servers gives a server or an ImportError',
      textOf('udp', 'tls', 'https', '://', ':', '[', ']', '1.1.1.1', '::1', '/', '#', '@', '53'),
      dnsServerOf,
    ],
    [
      'the reader of documents gives parts or an ImportError',
      textOf(
        '{"servers":[',
        '{"server":',
        '"method":',
        '"a"',
        ',',
        '}',
        ']',
        '[{',
        'proxies:\n',
        'rules:\n',
        '  - ',
        'proxy-groups:\n',
        '{name: a, type: select, proxies: [a]}',
        'dns: {enable: true}\n',
        'MATCH,a\n',
        'tun: {enable: true}\n',
        'port: 1\n',
      ),
      readForeign,
    ],
  ] as const) {
    test(what, () => {
      fc.assert(
        fc.property(text, (each) => void attempt(() => work(each))),
        { numRuns: 400 },
      );
    });
  }

  test('objects of any shape become what Weir accepts, or an ImportError', async () => {
    const name = fc.oneof(
      fc.constantFrom(
        'a',
        'b',
        'direct',
        'default',
        'blackhole',
        '',
        ' ',
        'DIRECT',
        '"',
        '\u001b[2J',
        '\u202e',
        '# x\n[route]',
      ),
      fc.string(),
    );
    const odd = fc.oneof(name, fc.integer(), fc.constant(null), fc.array(name, { maxLength: 3 }));
    const proxy = fc.record(
      {
        name,
        type: fc.constantFrom('socks5', 'http', 'direct', 'reject', 'ss', 'x'),
        server: fc.oneof(fc.constantFrom('a.example', '::1'), name),
        port: fc.oneof(fc.integer({ min: -1, max: 70_000 }), odd),
        username: odd,
      },
      { requiredKeys: ['name', 'type'] },
    );
    const group = fc.record(
      {
        name,
        type: fc.constantFrom('select', 'url-test', 'fallback', 'load-balance', 'relay', 'y'),
        proxies: fc.array(name, { maxLength: 4 }),
        'include-all': fc.boolean(),
        filter: fc.constantFrom('a', '(', '(?!x)', 'a`b'),
        interval: odd,
      },
      { requiredKeys: ['name', 'type'] },
    );
    const rule = fc
      .tuple(
        fc.constantFrom(
          'DOMAIN',
          'DOMAIN-SUFFIX',
          'DOMAIN-REGEX',
          'IP-CIDR',
          'IN-NAME',
          'GEOIP',
          'DST-PORT',
        ),
        fc.oneof(fc.constantFrom('x', '10.0.0.0/8', '80', 'DEFAULT-SOCKS', '('), name),
        name,
      )
      .map((parts) => parts.join(','));
    const document = fc.record(
      {
        proxies: fc.array(proxy, { minLength: 1, maxLength: 5 }),
        'proxy-groups': fc.array(group, { maxLength: 5 }),
        rules: fc.array(fc.oneof(rule, odd), { maxLength: 8 }),
        'socks-port': fc.oneof(fc.constant(1080), odd),
        'mixed-port': odd,
        'allow-lan': fc.boolean(),
        'bind-address': odd,
        dns: fc.oneof(fc.record({ enable: fc.boolean(), nameserver: odd }), odd),
        'log-level': odd,
        mode: fc.constantFrom('rule', 'global', 'direct', 'x'),
        listeners: fc.array(fc.record({ name, type: name, port: odd, users: odd }), {
          maxLength: 2,
        }),
      },
      { requiredKeys: ['proxies'] },
    );
    await fc.assert(
      fc.asyncProperty(document, async (value) => {
        const imported = attempt(() => readClashJson(value));
        if (!imported) return;
        for (const write of [toConfig, toSubscribe]) {
          try {
            const { text, report } = await write(imported, { check: configProblem });
            if (write === toConfig) assert.equal(await configProblem(text), undefined, text);
            const lines = reportLines(report, 'outbound').join('');
            assert.doesNotMatch(text.replaceAll('\n', '') + lines, /[\p{Cc}\p{Cf}\p{Cs}]/u);
          } catch (error) {
            assert.ok(error instanceof ImportError, String(error));
          }
        }
      }),
      { numRuns: 80 },
    );
  });
});

/** YAML has JSON in it. */
const readClashJson = (value: object): ReturnType<typeof readForeign> =>
  readForeign(
    Object.entries(value)
      .map(([key, each]) => `${key}: ${JSON.stringify(each)}\n`)
      .join(''),
  );

const PROXY = 'proxies:\n  - {name: a, type: socks5, server: h, port: 1}\n';
const many = (count: number, line: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => line(index)).join('');

describe('a document is refused', () => {
  for (const [what, text, reason] of [
    [
      'with JSON nested deeply',
      `{"outbounds":[${'['.repeat(100_000)}${']'.repeat(100_000)}]}`,
      /levels deep/,
    ],
    [
      'with YAML lists nested deeply',
      `proxies: ${'['.repeat(200)}${']'.repeat(200)}`,
      /levels deep/,
    ],
    ['with YAML nested beyond the stack', `proxies: ${'['.repeat(5000)}`, /levels deep/],
    ['with YAML nested by dashes', `proxies:\n  ${'- '.repeat(200)}x`, /levels deep/],
    // The library takes 28 s for 500 of these, and doubles that with every few more.
    [
      'with keys that are mappings',
      `proxies: x\n${'? '.repeat(500)}x`,
      /a key that is a list or a mapping|levels deep/,
    ],
    ['with keys that are aliases', 'proxies: x\na: &a [b]\n? *a\n: c\n', /a key that is an alias/],
    ['with too many values', `proxies: [${'a,'.repeat(1_000_001)}]`, /more than 1000000 values/],
    ['with too many servers', `proxies: [${'a,'.repeat(50_001)}]`, /more than 50000 servers/],
    [
      'with too many servers, before it is read to its end',
      `proxies:\n${'- a\n'.repeat(52_000)}- [`,
      /more than 50000 servers/,
    ],
    [
      'with too many groups',
      `${PROXY}proxy-groups: [${'a,'.repeat(10_001)}]`,
      /more than 10000 groups/,
    ],
    [
      'whose groups have too many members',
      `proxies:\n${many(1000, (i) => `  - {name: a${i}}\n`)}proxy-groups:\n${many(600, (i) => `  - {name: g${i}, type: select, include-all: true}\n`)}`,
      /more than 500000 members/,
    ],
    ['that is a web page', '<!DOCTYPE html><html></html>', /a web page/],
  ] as const) {
    test(what, () => {
      assert.throws(
        () => readForeign(text),
        (error: unknown) => error instanceof ImportError && reason.test(error.message),
      );
    });
  }

  test('not for a line without an end', () => {
    const line = 'x'.repeat(1_000_000);
    const { rules } = readForeign(`${PROXY}rules: ["DOMAIN,${line},a"]\n`);
    assert.deepEqual(
      rules.map((each) => 'skipped' in each && each.skipped),
      ['it is too long for a rule'],
    );
    assert.ok((rules[0]?.source.length ?? 0) < 300);
  });
});

test('a chain of thousands of groups, with targets that alternate, is written in one pass', async () => {
  const groups = many(
    3000,
    (i) => `  - {name: g${i}, type: select, proxies: [${i === 2999 ? 'a' : `g${i + 1}`}]}\n`,
  );
  const rules = many(
    6000,
    (i) => `  - DOMAIN,d${i}.example,${i % 2 === 0 ? `g${i / 2}` : 'DIRECT'}\n`,
  );
  const imported = readForeign(`${PROXY}proxy-groups:\n${groups}rules:\n${rules}  - MATCH,g0\n`);
  const { text, report } = await toSubscribe(imported, { check: configProblem });
  assert.equal(text.match(/^\[\[route_group\]\]$/gm)?.length, 6000);
  assert.deepEqual(report.problems, []);
});

test('what is not a name server is named', () => {
  const dns = {
    enable: true,
    nameserver: ['dhcp://eth0', 'https://dns.example/q', '8.8.8.8#Proxy', '9.9.9.9', '1.1.1.1'],
  };
  const { dns: found, keys } = readDns(new ForeignObject(dns));
  assert.deepEqual(found?.settings.server, '9.9.9.9:53');
  assert.deepEqual(
    keys.map(({ path }) => path),
    [0, 1, 2, 4].map((index) => `dns.nameserver[${index}]`),
  );
});

describe('a short document that says one thing many times', () => {
  const many = <T>(length: number, item: (index: number) => T): T[] =>
    Array.from({ length }, (_, index) => item(index));
  const skippedIn = (rules: readonly object[]): readonly unknown[] =>
    rules.filter((rule) => 'skipped' in rule);

  test('has no balancers whose prefixes name all of its servers over and over', () => {
    const outbounds = many(1000, (index) => ({ protocol: 'freedom', tag: `s${index}` }));
    const balancers = many(1000, (index) => ({ tag: `b${index}`, selector: ['s', 's1', 'x'] }));
    const routing = { balancers: balancers.slice(0, 500) };
    const { groups } = readForeign(JSON.stringify({ outbounds, routing }));
    assert.ok(groups.every(({ members }) => members.length === 1000));
    assert.throws(
      () => readForeign(JSON.stringify({ outbounds, routing: { balancers } })),
      ImportError,
    );
  });

  test('has no rules that get the entries of a long list over and over', () => {
    const outbounds = [{ type: 'direct', tag: 'd' }];
    const domain = many(10_000, (index) => `${index}.example`);
    const rule_set = [{ type: 'inline', tag: 'long', rules: [{ domain }] }];
    const rules = many(110, () => ({ rule_set: ['long'], outbound: 'd' }));
    const found = readForeign(JSON.stringify({ outbounds, route: { rule_set, rules } }));
    assert.equal(skippedIn(found.rules).length, 10);
  });

  test('has no rules that name a thousand inbounds of one name over and over', async () => {
    const inbounds = new Map([['in', many(1000, (index) => `in ${index}`)]]);
    const rules = many(1010, () => ({
      source: '',
      any: [{ inbound_tag: ['in'] }],
      target: { kind: 'direct' } as const,
      notes: [],
    }));
    const check = (): Promise<undefined> => Promise.resolve(undefined);
    assert.equal(skippedIn(await writableRules(rules, { check }, inbounds)).length, 10);
  });
});
