import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  inboundSpec,
  routeSpec,
  ruleSpec,
  spec,
  upstreamSpec,
  wantedOf,
} from '../../../../../test/support/data/specs.ts';

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
});
