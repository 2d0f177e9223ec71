import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { OwnedResolver } from '../../../src/dns/cached-resolver.ts';
import { createResolver, loadExchange } from '../../../src/dns/create-resolver.ts';
import type { DnsSpec } from '../../../src/spec.ts';
import {
  a,
  aaaa,
  cname,
  reply,
  soa,
  startHttpsDns,
  startPlainDns,
  startTlsDns,
  type Asked,
  type Script,
  type TestDnsServer,
} from '../../../../../test/support/peers/dns-server.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import { silentLogger } from '@weir/base/log';
import { TestAuthority } from '../../../../../test/support/data/test-certificates.ts';
import { eventually } from '../../../../../test/support/wait.ts';

const authority = new TestAuthority();
const certificate = authority.issue({ dns: ['dns.test'] });
const ca = { file: 'ca.pem', certificates: [authority.cert] };

/** A small zone. */
function zone(asked: Asked): Buffer {
  switch (`${asked.type} ${asked.name}`) {
    case 'A both.example':
      return reply(asked, { answers: [a(asked.name, '192.0.2.1', 30)] });
    case 'AAAA both.example':
      return reply(asked, { answers: [aaaa(asked.name, '2001:db8::1', 60)] });
    case 'A www.example':
      return reply(asked, { answers: [cname(asked.name, 'both.example', 20)] });
    case 'AAAA www.example':
      return reply(asked, {
        answers: [cname(asked.name, 'v4.example', 20)],
        authorities: [soa('example', 90, 15)],
      });
    default:
      return reply(asked, { rcode: 3, authorities: [soa('example', 40, 90)] });
  }
}

type Started = readonly [TestDnsServer, DnsSpec];

const BACKENDS: Readonly<Record<string, (t: TestContext, script: Script) => Promise<Started>>> = {
  udp: async (t, script) => {
    const server = await startPlainDns(t, script);
    return [server, { backend: 'udp', server: at(server) }];
  },
  tls: async (t, script) => {
    const server = await startTlsDns(t, certificate, script);
    return [server, { backend: 'tls', server: at(server), serverName: 'dns.test', ca }];
  },
  'https over HTTP/2': async (t, script) => {
    const server = await startHttpsDns(t, certificate, 'h2', script);
    return [server, { backend: 'https', server: at(server), host: 'dns.test', path: '/', ca }];
  },
  'https over HTTP/1.1': async (t, script) => {
    const server = await startHttpsDns(t, certificate, 'h1', script);
    return [server, { backend: 'https', server: at(server), host: 'dns.test', path: '/', ca }];
  },
};

const at = ({ host, port }: TestDnsServer) => ({ host, port });

for (const [backend, start] of Object.entries(BACKENDS)) {
  const harness = async (t: TestContext) => {
    const [server, spec] = await start(t, zone);
    const clock = new ManualClock();
    await loadExchange(spec);
    const resolver: OwnedResolver = createResolver(spec, { clock, log: silentLogger });
    t.after(() => resolver.close());
    const asked = (): string[] => server.asked.map(({ type, name }) => `${type} ${name}`).sort();
    return { server, clock, resolver, asked };
  };

  test(`${backend}: both families are asked, kept, and asked anew by their own TTL`, async (t) => {
    const { clock, resolver, asked } = await harness(t);
    const both = ['2001:db8::1', '192.0.2.1'];
    assert.deepEqual(await resolver.resolve('both.example', 'auto'), both);
    clock.advance(29_999);
    assert.deepEqual(await resolver.resolve('both.example', 'auto'), both);
    assert.deepEqual(asked(), ['A both.example', 'AAAA both.example']);
    clock.advance(1);
    assert.deepEqual(await resolver.resolve('both.example', 'auto'), both);
    assert.deepEqual(asked(), ['A both.example', 'A both.example', 'AAAA both.example']);
  });

  test(`${backend}: an absent name is kept for the TTL of its authority`, async (t) => {
    const { clock, resolver, server } = await harness(t);
    const absent = () =>
      assert.rejects(resolver.resolve('absent.example', 'ipv4_only'), {
        name: 'DialError',
        code: 'not_found',
        message: 'absent.example has no IPv4 address',
      });
    await absent();
    clock.advance(39_999);
    await absent();
    assert.equal(server.asked.length, 1);
    clock.advance(1);
    await absent();
    assert.equal(server.asked.length, 2);
  });

  test(`${backend}: an alias is asked on unless its answer ends it`, async (t) => {
    const { clock, resolver, asked } = await harness(t);
    assert.deepEqual(await resolver.resolve('www.example', 'auto'), ['192.0.2.1']);
    assert.deepEqual(asked(), ['A both.example', 'A www.example', 'AAAA www.example']);
    // 15 s for the family without an address, 20 s for the alias.
    clock.advance(14_999);
    await resolver.resolve('www.example', 'auto');
    assert.equal(asked().length, 3);
    clock.advance(1);
    await resolver.resolve('www.example', 'auto');
    assert.equal(asked().length, 4);
  });

  test(`${backend}: destroying ends the questions under way`, async (t) => {
    const arrival = Promise.withResolvers<void>();
    const [, spec] = await start(t, () => {
      arrival.resolve();
      return undefined;
    });
    const clock = new ManualClock();
    await loadExchange(spec);
    const resolver = createResolver(spec, { clock, log: silentLogger });
    const found = resolver.resolve('both.example', 'ipv4_only');
    await arrival.promise;
    resolver.destroy();
    await assert.rejects(found, { code: 'aborted', message: /the resolver was closed/ });
    await eventually('no timer is left', () => clock.timers === 0);
  });
}

for (const [backend, start] of Object.entries(BACKENDS)) {
  test(`${backend}: closing waits for the questions under way, and late ones are answered`, async (t) => {
    const arrival = Promise.withResolvers<void>();
    const hold = Promise.withResolvers<void>();
    const [, spec] = await start(t, async (asked) => {
      arrival.resolve();
      await hold.promise;
      return zone(asked);
    });
    const clock = new ManualClock();
    await loadExchange(spec);
    const resolver = createResolver(spec, { clock, log: silentLogger });
    const found = resolver.resolve('both.example', 'ipv4_only');
    await arrival.promise;
    resolver.close();
    const late = resolver.resolve('both.example', 'ipv6_only');
    hold.resolve();
    assert.deepEqual(await found, ['192.0.2.1']);
    assert.deepEqual(await late, ['2001:db8::1']);
    await eventually('no timer is left', () => clock.timers === 0);
    assert.deepEqual(await resolver.resolve('www.example', 'ipv4_only'), ['192.0.2.1']);
    await eventually('no timer is left', () => clock.timers === 0);
  });
}

test('nothing is opened before the first question', async () => {
  const clock = new ManualClock();
  for (const spec of [
    { backend: 'system' },
    { backend: 'udp', server: { host: '192.0.2.1', port: 53 } },
    { backend: 'tls', server: { host: '192.0.2.1', port: 853 }, serverName: 'x.test', ca },
  ] satisfies DnsSpec[]) {
    await loadExchange(spec);
    createResolver(spec, { clock, log: silentLogger }).close();
  }
  assert.equal(clock.timers, 0);
});
