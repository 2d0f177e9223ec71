import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { ImportError } from '@weir/proxy/protocols/forms';
import { readForeign } from '../../../src/import/document.ts';
import { SING_BOX_INBOUND_KEYS, SING_BOX_RULE_KEYS } from '../../../src/import/keys/sing-box.ts';
import { XRAY_RULE_KEYS } from '../../../src/import/keys/xray.ts';
import type { Routing, RuleEntry } from '../../../src/import/routing.ts';
import type { KeyTable } from '../../../src/import/verdicts.ts';
import {
  SING_BOX_DOCUMENT,
  SING_BOX_INBOUND,
  SING_BOX_RULE,
  SING_BOX_TUN,
  wordsIn,
  XRAY_DOCUMENT,
  XRAY_RULE,
} from '../../../../../test/support/import/part-keys.ts';
import '../../../../../test/support/import/load-forms.ts';

const singBox = (parts: object): Routing =>
  readForeign(
    JSON.stringify({
      outbounds: [{ type: 'socks', tag: 'a', server: '192.0.2.1', server_port: 1 }],
      ...parts,
    }),
  );
const xray = (parts: object): Routing =>
  readForeign(
    JSON.stringify({
      outbounds: [{ protocol: 'socks', tag: 'a', settings: { address: '192.0.2.1', port: 1 } }],
      ...parts,
    }),
  );

const RULES = [
  {
    program: 'sing-box',
    keys: SING_BOX_RULE,
    verdicts: SING_BOX_RULE_KEYS,
    read: (rule: object) =>
      singBox({ route: { rules: [{ network: 'tcp', outbound: 'a', ...rule }] } }),
  },
  {
    program: 'Xray',
    keys: XRAY_RULE,
    verdicts: XRAY_RULE_KEYS,
    read: (rule: object) =>
      xray({ routing: { rules: [{ network: 'tcp', outboundTag: 'a', ...rule }] } }),
  },
] as const;

const isSame = (key: string, verdicts: KeyTable): boolean => verdicts[key]?.kind === 'same';

for (const { program, keys, verdicts, read } of RULES) {
  describe(`a rule of ${program}`, () => {
    const ruleOf = (fields: object): RuleEntry => {
      const [rule] = read(fields).rules;
      assert.ok(rule);
      return rule;
    };
    const plain = ruleOf({});

    test('loses no key without a word, and no condition at all', () => {
      for (const key of wordsIn(keys)) {
        for (const value of [7, '7', 'x', ['x'], { x: ['y'] }]) {
          const rule = ruleOf({ [key]: value });
          const reason = 'skipped' in rule ? rule.skipped : '';
          assert.doesNotMatch(reason, /unknown here, and/, key);
          if (!('any' in rule) || !('any' in plain) || rule.notes.length > 0) continue;
          const isCarried = JSON.stringify(rule) !== JSON.stringify(plain);
          // A rule with both goes to its outbound.
          const isWithout = key === 'balancerTag' || isSame(key, verdicts);
          assert.ok(isCarried || isWithout, `${key}: ${JSON.stringify(value)}`);
        }
      }
    });

    test('with a key that is unknown, or that is not a condition of Weir, is left out', () => {
      const others = Object.entries(verdicts).filter(([, { kind }]) => kind === 'refused');
      for (const key of ['new_condition', ...others.map(([name]) => name)]) {
        const rule = ruleOf({ [key]: 'off' });
        assert.ok('skipped' in rule, key);
        assert.deepEqual(rule.target, { kind: 'entry', index: 0 });
      }
    });
  });
}

test('a rule that is inverted, in any part, is left out', () => {
  const inverted = { domain: 'x.example', invert: true };
  for (const rule of [
    inverted,
    { type: 'logical', mode: 'or', rules: [{ port: 1 }, inverted] },
    { type: 'logical', mode: 'and', rules: [{ port: 1 }], invert: true },
  ]) {
    const [read] = singBox({ route: { rules: [{ ...rule, outbound: 'a' }] } }).rules;
    assert.ok(read && 'skipped' in read);
    assert.match(read.skipped, /invert/);
  }
});

test('a rule whose lists hold nothing matches nothing', () => {
  const rule_set = [{ tag: 'none', rules: [] }];
  const { rules } = singBox({ route: { rules: [{ rule_set: 'none', outbound: 'a' }], rule_set } });
  assert.ok(rules[0] && 'needless' in rules[0]);
});

describe('an inbound of sing-box', () => {
  for (const [type, keys] of [
    ['socks', SING_BOX_INBOUND],
    ['tun', SING_BOX_TUN],
  ] as const) {
    test(`of the type ${type} loses no key without a word`, () => {
      for (const key of wordsIn(keys)) {
        const { inbounds } = singBox({ inbounds: [{ type, tag: 'in', [key]: 'x' }] });
        const [inbound] = inbounds;
        assert.ok(inbound);
        if ('skipped' in inbound) continue;
        const notes = inbound.notes.join();
        assert.doesNotMatch(notes, /unknown here/, key);
        const plain = singBox({ inbounds: [{ type, tag: 'in' }] });
        const isCarried = JSON.stringify(inbound) !== JSON.stringify(plain.inbounds[0]);
        const isElsewhere = key === 'domain_strategy';
        assert.ok(
          isCarried || isElsewhere || isSame(key, SING_BOX_INBOUND_KEYS) || READ.has(key),
          key,
        );
      }
    });
  }
});

/** Keys that are read, and for which `x` is no value. */
const READ: ReadonlySet<string> = new Set(['sniff', 'auto_route', 'set_system_proxy']);

describe('the other keys of a document', () => {
  for (const [program, read, keys] of [
    ['sing-box', singBox, SING_BOX_DOCUMENT],
    ['Xray', xray, XRAY_DOCUMENT],
  ] as const) {
    test(`of ${program} are all known, and told`, () => {
      for (const path of wordsIn(keys)) {
        const [part = '', key] = path.split('.');
        const value = { x: 'y' };
        const found = read({ [part]: key === undefined ? value : { [key]: value } }).keys;
        const told = found.find((each) => each.path.startsWith(path));
        assert.ok(told, path);
        assert.doesNotMatch(told.reason ?? '', /unknown/, path);
      }
    });
  }
});

describe('parts of a document', () => {
  const KEYS = [SING_BOX_RULE, SING_BOX_INBOUND, SING_BOX_TUN, XRAY_RULE]
    .flatMap(wordsIn)
    .concat('type', 'mode', 'rules', 'action', 'users', 'tls', 'transport', 'settings', 'protocol')
    .concat('streamSettings', 'sniffing', 'tag', 'servers', 'address', 'server', 'url', 'selector');
  const WORDS = [
    'logical',
    'and',
    'or',
    'route',
    'sniff',
    'socks',
    'tun',
    'vless',
    'mixed',
    'https',
  ];
  const { part } = fc.letrec((tie) => ({
    part: fc.dictionary(
      fc.constantFrom(...KEYS),
      fc.oneof(tie('value'), fc.array(tie('value'), { maxLength: 3 })),
      {
        maxKeys: 6,
      },
    ),
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(...WORDS, 'geosite:cn', '!geoip:cn', '10.0.0.1/8', '53,1-2', ':', '[', 'a.b'),
      fc.anything({ maxDepth: 1 }),
      tie('part'),
    ),
  }));

  test('give a result or an ImportError, whatever they hold', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 3 }), part, fc.boolean(), (list, one, isXray) => {
        try {
          const parts = { inbounds: list, dns: one, log: one, experimental: one };
          if (isXray)
            xray({ ...parts, routing: { ...(one as object), rules: list, balancers: list } });
          else singBox({ ...parts, route: { ...(one as object), rules: list, rule_set: list } });
        } catch (error) {
          assert.ok(error instanceof ImportError, String(error));
        }
      }),
      { numRuns: 300 },
    );
  });
});
