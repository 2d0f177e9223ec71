import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readForeign } from '../../../src/import/document.ts';
import { isInformation } from '../../../src/import/values/information.ts';
import '../../../../../test/support/import/load-forms.ts';

/*
 * One odd entry, key or line costs none of its neighbours, and what is written in another case or with white
 * space around it means the same.
 */

const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const KEY = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const trojan = (name: string): string => `trojan://p@h.test:443#${name}`;
const lines = (...all: readonly string[]): string => all.join('\n');

/** The names of servers, and of what is left out in brackets. */
const namesIn = (text: string): readonly string[] =>
  readForeign(text).entries.map(
    (each) => each.draft?.name ?? `(${'name' in each ? each.name : ''})`,
  );

/** The only server of a document, or why there is none. */
function only(text: string): unknown {
  const [entry] = readForeign(text).entries;
  return entry?.draft ?? entry?.skipped;
}

const vmess = (fields: object): string =>
  `vmess://${base64(JSON.stringify({ ps: 'a', add: 'h.test', port: 443, id: ID, ...fields }))}`;

const vless = (tag: string, more: object = {}): object => ({
  tag,
  protocol: 'vless',
  settings: { vnext: [{ address: 'h.test', port: 443, users: [{ id: ID }] }] },
  ...more,
});

describe('a list of links', () => {
  for (const [what, text, names] of [
    ['has lines that end by a carriage return', `${trojan('a')}\r${trojan('b')}`, ['a', 'b']],
    ['has several on a line', `${trojan('a b')} ${trojan('c')}`, ['a b', 'c']],
    ['begins with a space of no width', `\u200B${trojan('a')}`, ['a']],
    ['has lists in base64 as lines', lines(base64(trojan('a')), base64(trojan('b'))), ['a', 'b']],
    ['has a list in base64 beside links', lines(base64(trojan('a')), trojan('b')), ['a', 'b']],
    ['is base64 below a comment', lines('//profile-title: x', base64(trojan('a'))), ['a']],
    [
      'is JSON with values that are no text',
      JSON.stringify([null, trojan('a'), 1]),
      ['(line 1)', 'a', '(line 3)'],
    ],
  ] as const) {
    test(what, () => {
      assert.deepEqual(namesIn(text), names);
    });
  }

  test('keeps base64 that is wrapped into lines', () => {
    const wrapped = base64(lines(trojan('a'), trojan('b'), trojan('c'))).replaceAll(
      /.{24}/g,
      '$&\r\n',
    );
    assert.deepEqual(namesIn(wrapped), ['a', 'b', 'c']);
  });
});

describe('values of a link', () => {
  const overTls = { server: 'h.test', port: 443, stream: { network: 'tls', security: undefined } };

  test('the security is in any case', () => {
    const draft = only(`vless://${ID}@h.test:443?security=TLS#a`);
    assert.partialDeepStrictEqual(draft, { ...overTls, stream: { network: 'tls' } });
  });

  for (const tls of ['TLS', true, 1, '1', 'true', ' tls ']) {
    test(`tls ${JSON.stringify(tls)} of vmess is TLS`, () => {
      assert.partialDeepStrictEqual(only(vmess({ tls })), { stream: { network: 'tls' } });
    });
  }

  for (const tls of [false, 0, '0', 'false', 'none', '']) {
    test(`tls ${JSON.stringify(tls)} of vmess is none`, () => {
      assert.partialDeepStrictEqual(only(vmess({ tls })), { protocol: 'vmess', stream: undefined });
    });
  }

  test('white space and a fraction of zero are no part of a place or an id', () => {
    const draft = only(vmess({ add: ' h.test ', port: ' 443.0 ', id: ` ${ID}` }));
    assert.partialDeepStrictEqual(draft, { server: 'h.test', port: 443, settings: { id: ID } });
    for (const port of ['443.5', '4 43', '', '-1', '65536']) {
      assert.equal(typeof only(vmess({ port })), 'string', port);
    }
  });

  test('the obfuscation of Hysteria 2 is in any case', () => {
    assert.partialDeepStrictEqual(only('hy2://p@h.test?obfs=Salamander&obfs-password=x#a'), {
      settings: { obfs: 'salamander', obfs_password: 'x' },
    });
    const { entries } = readForeign('hy2://p@h.test?obfs=NONE#a');
    assert.deepEqual(Object.keys(entries[0]?.draft?.settings ?? {}).includes('obfs'), false);
    assert.equal(entries.length, 1);
  });

  test('&amp; of a web page divides parameters', () => {
    const draft = only(
      `vless://${ID}@h.test:443?security=tls&amp;type=ws&amp;path=/a&amp;host=c.test#a`,
    );
    assert.partialDeepStrictEqual(draft, {
      stream: { network: 'ws', ws: { path: '/a', host: 'c.test' } },
    });
  });
});

describe('a document of Clash', () => {
  const one = (rest: string): string =>
    `proxies:\n  - {name: a, type: vless, uuid: ${ID}, server: h.test, ${rest}}\n`;

  for (const word of ['yes', 'On', 'TRUE', '"true"', '1']) {
    test(`tls: ${word} is TLS`, () => {
      assert.partialDeepStrictEqual(only(one(`port: 443, tls: ${word}`)), {
        stream: { network: 'tls' },
      });
    });
  }

  test('a port has a fraction, and a list of empty values is empty', () => {
    assert.partialDeepStrictEqual(only(one('port: 443.0, ports: [""], servername: [null]')), {
      port: 443,
    });
  });

  test('ports have no meaning for other types than hysteria2', () => {
    assert.partialDeepStrictEqual(only(one('port: 443, ports: 500-600')), { port: 443 });
    const hysteria = one('port: 443, ports: 500-600').replace('vless', 'hysteria2, password: x');
    assert.match(String(only(hysteria)), /several ports/);
  });
});

describe('a document of Xray or sing-box', () => {
  test('begins with what is no entry', () => {
    const config = { remarks: 'b', outbounds: [vless('proxy')] };
    assert.deepEqual(namesIn(JSON.stringify([null, 5, { remarks: 'x' }, config])), [
      '([0])',
      '([1])',
      '([2])',
      'b',
    ]);
    const server = { server: 'h.test', server_port: 1, method: 'aes-128-gcm', password: 'x' };
    assert.deepEqual(namesIn(JSON.stringify([null, { ...server, remarks: 'a' }])), ['()', 'a']);
    assert.deepEqual(namesIn(JSON.stringify({ ...server, remarks: 'a' })), ['a']);
  });

  test('the name of a configuration is that of the first server that can be read', () => {
    const config = { remarks: 'b', outbounds: [null, vless('proxy')] };
    assert.ok(namesIn(JSON.stringify([config])).includes('b'));
  });

  test('messages of a provider are no servers of its list', () => {
    const config = (remarks: string): object => ({ remarks, outbounds: [vless('proxy')] });
    assert.deepEqual(namesIn(JSON.stringify([config('Expire: 2026-12-31'), config('b')])), [
      '(Expire: 2026-12-31)',
      'b',
    ]);
  });

  test('empty entries of a list of one are no entries', () => {
    const settings = { vnext: [null, { address: 'h.test', port: 443, users: [null, { id: ID }] }] };
    assert.partialDeepStrictEqual(only(JSON.stringify({ outbounds: [vless('a', { settings })] })), {
      server: 'h.test',
      settings: { id: ID },
    });
  });

  test('protocol and security are in any case', () => {
    const streamSettings = { network: 'TCP', security: 'TLS' };
    assert.partialDeepStrictEqual(
      only(JSON.stringify({ outbounds: [vless('a', { protocol: 'VLESS', streamSettings })] })),
      { protocol: 'vless', stream: { network: 'tls' } },
    );
  });

  test('a balancer that cannot be read costs no other', () => {
    const balancers = [5, { tag: 'x', selector: {} }, { tag: 'y', selector: ['a', null] }];
    const { entries, groups } = readForeign(
      JSON.stringify({ outbounds: [vless('a')], routing: { balancers } }),
    );
    assert.equal(entries.length, 1);
    assert.deepEqual(
      groups.map(({ name, members }) => [name, members.length]),
      [
        ['', 0],
        ['x', 0],
        ['y', 1],
      ],
    );
  });

  test('empty values among conditions are left out, and alone refuse the rule', () => {
    for (const rule of [
      { outboundTag: 'a', domain: ['full:x.test', null, ''] },
      { outbound: 'a', domain: ['x.test', null, ''] },
    ]) {
      const isXray = 'outboundTag' in rule;
      const outbound = isXray
        ? vless('a')
        : { type: 'vless', tag: 'a', server: 'h.test', server_port: 443, uuid: ID };
      const rulesOf = (each: object): unknown =>
        readForeign(
          JSON.stringify({
            outbounds: [outbound],
            [isXray ? 'routing' : 'route']: { rules: [each] },
          }),
        ).rules;
      assert.partialDeepStrictEqual(rulesOf(rule), [{ any: [{ domain_full: ['x.test'] }] }]);
      assert.partialDeepStrictEqual(rulesOf({ ...rule, domain: [''] }), [
        { skipped: '"domain" has a value that is not a text' },
      ]);
    }
  });

  test('names with capitals, which sing-box never matches, are left out of its rules', () => {
    const ruleOf = (rule: object, rules: object = {}): unknown =>
      readForeign(
        JSON.stringify({
          outbounds: [{ type: 'socks', tag: 'a', server: 'h.test', server_port: 1080 }],
          route: {
            rules: [{ outbound: 'a', ...rule }],
            rule_set: [{ type: 'inline', tag: 'own', rules: [rules] }],
          },
        }),
      ).rules[0];
    const note = '"X.test": names with capitals never match in sing-box';
    const names = { domain: ['X.test', 'y.test'] };
    const others = { any: [{ domain_full: ['y.test'] }], notes: [note] };
    assert.partialDeepStrictEqual(ruleOf(names), others);
    assert.partialDeepStrictEqual(ruleOf({ rule_set: 'own' }, names), others);
    assert.partialDeepStrictEqual(ruleOf({ domain: 'X.test', ip_cidr: '192.0.2.1' }), {
      any: [{ cidr: ['192.0.2.1/32'] }],
      notes: [note],
    });
    // A rule of nothing else never matches: it is not one for every flow.
    assert.partialDeepStrictEqual(ruleOf({ domain: 'X.test' }), { needless: note });
    assert.partialDeepStrictEqual(ruleOf({ rule_set: 'own' }, { domain: 'X.test' }), {
      needless: note,
    });
    assert.partialDeepStrictEqual(ruleOf({ domain_suffix: ['X.test', 'Y.test', '.Z.test'] }), {
      needless: note.replace(':', ' and 2 more:'),
    });
  });
});

describe('a wg-quick file', () => {
  const file = (own: string, peer: string): string =>
    `[interface] # mine\nprivatekey = ${KEY}\nAddress = 10.0.0.2\n${own}\n[PEER]\nPublicKey=${KEY}\nEndpoint = h.test:51820\n${peer}\n`;

  test('has comments behind its sections, and keys that are left empty', () => {
    assert.partialDeepStrictEqual(only(file('Address =\nMTU =\nJc =\nS1 = 00', 'Endpoint =')), {
      settings: { endpoint: 'h.test:51820', address: ['10.0.0.2'] },
    });
  });

  test('of a key that is no list, the last value counts', () => {
    assert.partialDeepStrictEqual(only(file('', 'Endpoint = b.test:1\nAllowedIPs = ::/0')), {
      settings: { endpoint: 'b.test:1' },
    });
  });
});

test('a quantity in front of a name, or a number that counts servers, is no message', () => {
  for (const name of ['1 GB London', '01 GB', '02 GB', '1GB/s London', '3 days trial JP']) {
    assert.equal(isInformation(name), false, name);
  }
  for (const name of [
    '12 GB left',
    '12GB',
    '3 GB / 5 GB',
    '80%',
    '1 TB of 2 TB',
    '3GB 剩余',
    '3 GB/∞',
    '⏳ 12 Days',
    '30 days left',
    'Remaining: ∞',
    'Usage: 5GB',
    'Traffic Reset: 3 Days',
    '套餐到期 长期有效',
  ]) {
    assert.equal(isInformation(name), true, name);
  }
});
