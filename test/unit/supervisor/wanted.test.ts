import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  inboundSpec,
  routeSpec,
  ruleSpec,
  spec,
  upstreamSpec,
  wantedOf,
} from '../../support/data/specs.ts';
import type { RouteSpec } from '../../../src/spec.ts';

const accounts = (pass: string) => ({
  settings: { auth: 'password', accounts: [{ user: 'ann', pass }], udp: true, udpBind: undefined },
});

const base = spec({
  inbounds: [inboundSpec('open'), inboundSpec('closed', accounts('one'))],
  outbounds: [upstreamSpec('a'), upstreamSpec('b')],
  route: routeSpec({ default: 'a', rules: [ruleSpec('b', { domainFull: ['one.test'] })] }),
});

describe('the digests of a configuration', () => {
  const { digests } = wantedOf(base);

  test('are the same for equal parts', () => {
    assert.deepEqual(wantedOf(structuredClone(base)).digests, digests);
  });

  test('tell every part that has changed, and no other', () => {
    const [open, closed] = digests.inbounds;
    const other = wantedOf({
      ...base,
      inbounds: [inboundSpec('open'), inboundSpec('closed', accounts('two'))],
      outbounds: [upstreamSpec('a'), upstreamSpec('b', 2)],
    }).digests;
    assert.deepEqual(other.inbounds[0], open);
    assert.notEqual(other.inbounds[1]?.whole, closed?.whole);
    assert.notEqual(other.inbounds[1]?.users, closed?.users);
    assert.equal(other.outbounds[0], digests.outbounds[0]);
    assert.notEqual(other.outbounds[1], digests.outbounds[1]);
    assert.equal(other.route, digests.route);
  });

  test('tell a change beside the users from one of them', () => {
    const sniffing = { ...accounts('one'), sniffing: false };
    const other = wantedOf({ ...base, inbounds: [inboundSpec('closed', sniffing)] }).digests;
    assert.notEqual(other.inbounds[0]?.whole, digests.inbounds[1]?.whole);
    assert.equal(other.inbounds[0]?.users, digests.inbounds[1]?.users);
    assert.equal(digests.inbounds[0]?.users, undefined);
  });

  test('cover rules, groups and the content of geo files', () => {
    const { route } = base;
    const variants = [
      { ...route, rules: [ruleSpec('b', { domainFull: ['two.test'] })] },
      { ...route, default: 'b' },
      { ...route, groups: [{ name: 'one', outbound: 'a', firstRule: 0, rules: 0 }] },
      { ...route, geoip: { path: 'geoip.dat', sha256: '00' } },
      { ...route, geoip: { path: 'geoip.dat', sha256: '01' } },
    ];
    const found = variants.map((variant) => wantedOf({ ...base, route: variant }).digests.route);
    assert.equal(new Set([...found, digests.route]).size, variants.length + 1);
  });

  test('tell a change of a rule or group from one of their targets', () => {
    const group = { name: 'one', outbound: 'a', firstRule: 0, rules: 1 };
    const rule = ruleSpec('a', { domainFull: ['two.test'] });
    const route = { ...base.route, rules: [rule], groups: [group] };
    const matchersOf = (changes: Partial<RouteSpec>): string =>
      wantedOf({ ...base, route: { ...route, ...changes } }).digests.matchers;
    const before = matchersOf({});
    assert.equal(matchersOf({ default: 'b' }), before);
    assert.equal(matchersOf({ rules: [{ ...rule, outbound: 'b' }] }), before);
    assert.equal(matchersOf({ groups: [{ ...group, outbound: 'b' }] }), before);
    const others = [
      matchersOf({ rules: [ruleSpec('a', { domainFull: ['three.test'] })] }),
      matchersOf({ rules: [rule, rule] }),
      matchersOf({ groups: [{ ...group, name: 'two' }] }),
      matchersOf({ groups: [{ ...group, firstRule: 1, rules: 0 }] }),
    ];
    assert.equal(new Set([...others, before]).size, others.length + 1);
  });
});
