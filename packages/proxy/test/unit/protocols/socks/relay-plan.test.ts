import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Endpoint } from '@weir/io/addresses';
import { planRelay } from '../../../../src/protocols/socks/association.ts';

const at = (host: string, port = 50_000): Endpoint => ({ host, port });
const nothing = at('0.0.0.0', 0);

interface Case {
  readonly name: string;
  readonly udpBind?: string;
  /** The control connection's ends: the client's and ours; a unix socket when omitted. */
  readonly tcp?: readonly [client: string, ours: string];
  readonly stated?: Endpoint;
  /** Bound address, client address and client port (0 when the first datagram decides). */
  readonly plan: readonly [string, string, number] | 'rejected';
}

const v4 = ['198.51.100.4', '198.51.100.1'] as const;
const v6 = ['2001:db8::4', '2001:db8::1'] as const;

const cases: Case[] = [
  // Unset: the local address of the control connection.
  { name: 'unset, IPv4 client', tcp: v4, plan: ['198.51.100.1', v4[0], 0] },
  { name: 'unset, IPv6 client', tcp: v6, plan: ['2001:db8::1', v6[0], 0] },
  {
    name: 'unset, mapped addresses of a dual-stack listener',
    tcp: ['::ffff:198.51.100.4', '::ffff:198.51.100.1'],
    plan: ['198.51.100.1', '198.51.100.4', 0],
  },
  {
    name: 'unset, link-local client',
    tcp: ['fe80::4%eth0', 'fe80::1%eth0'],
    plan: ['fe80::1%eth0', 'fe80::4%eth0', 0],
  },
  // Families.
  { name: 'IPv4 relay, IPv4 client', udpBind: '0.0.0.0', tcp: v4, plan: ['0.0.0.0', v4[0], 0] },
  { name: 'IPv4 relay, IPv6 client', udpBind: '0.0.0.0', tcp: v6, plan: 'rejected' },
  {
    name: 'mapped relay, IPv4 client',
    udpBind: '::ffff:203.0.113.1',
    tcp: v4,
    plan: ['203.0.113.1', v4[0], 0],
  },
  { name: 'mapped relay, IPv6 client', udpBind: '::ffff:203.0.113.1', tcp: v6, plan: 'rejected' },
  { name: 'dual-stack relay, IPv4 client', udpBind: '::', tcp: v4, plan: ['::', v4[0], 0] },
  { name: 'dual-stack relay, IPv6 client', udpBind: '::', tcp: v6, plan: ['::', v6[0], 0] },
  {
    name: 'dual-stack relay written at length',
    udpBind: '0:0:0:0:0:0:0:0',
    tcp: v4,
    plan: ['::', v4[0], 0],
  },
  { name: 'IPv6 relay, IPv4 client', udpBind: '2001:db8::9', tcp: v4, plan: 'rejected' },
  {
    name: 'IPv6 relay, IPv6 client',
    udpBind: '2001:db8::9',
    tcp: v6,
    plan: ['2001:db8::9', v6[0], 0],
  },
  // What a TCP client states is not believed: v2ray states the destination.
  {
    name: 'stated source that agrees',
    tcp: v4,
    stated: at(v4[0], 40_000),
    plan: ['198.51.100.1', v4[0], 0],
  },
  {
    name: 'stated mapped source that agrees',
    tcp: v4,
    stated: at('::ffff:198.51.100.4', 40_000),
    plan: ['198.51.100.1', v4[0], 0],
  },
  {
    name: 'stated link-local source that agrees',
    tcp: ['fe80::4%eth0', 'fe80::1%eth0'],
    stated: at('fe80::4', 40_000),
    plan: ['fe80::1%eth0', 'fe80::4%eth0', 0],
  },
  {
    name: 'stated address without a port',
    tcp: v4,
    stated: at(v4[0], 0),
    plan: ['198.51.100.1', v4[0], 0],
  },
  {
    name: 'stated port without an address',
    tcp: v4,
    stated: at('0.0.0.0', 40_000),
    plan: ['198.51.100.1', v4[0], 0],
  },
  {
    name: 'stated private address behind a translator',
    tcp: v4,
    stated: at('192.168.1.5', 40_000),
    plan: ['198.51.100.1', v4[0], 0],
  },
  {
    name: 'stated name',
    tcp: v4,
    stated: at('laptop.example', 40_000),
    plan: ['198.51.100.1', v4[0], 0],
  },
  // A unix socket has no client address, so the request must have it.
  {
    name: 'unix socket, exact source',
    udpBind: '127.0.0.1',
    stated: at('127.0.0.1', 40_000),
    plan: ['127.0.0.1', '127.0.0.1', 40_000],
  },
  {
    name: 'unix socket, exact IPv6 source on a dual-stack relay',
    udpBind: '::',
    stated: at('2001:db8::4', 40_000),
    plan: ['::', '2001:db8::4', 40_000],
  },
  {
    name: 'unix socket, exact mapped source on an IPv4 relay',
    udpBind: '127.0.0.1',
    stated: at('::ffff:127.0.0.1', 40_000),
    plan: ['127.0.0.1', '127.0.0.1', 40_000],
  },
  { name: 'unix socket, nothing stated', udpBind: '127.0.0.1', plan: 'rejected' },
  {
    name: 'unix socket, port zero',
    udpBind: '127.0.0.1',
    stated: at('127.0.0.1', 0),
    plan: 'rejected',
  },
  {
    name: 'unix socket, address zero',
    udpBind: '127.0.0.1',
    stated: at('0.0.0.0', 40_000),
    plan: 'rejected',
  },
  {
    name: 'unix socket, IPv6 address zero',
    udpBind: '::',
    stated: at('::', 40_000),
    plan: 'rejected',
  },
  {
    name: 'unix socket, a name',
    udpBind: '127.0.0.1',
    stated: at('localhost', 40_000),
    plan: 'rejected',
  },
  {
    name: 'unix socket, a name on a dual-stack relay',
    udpBind: '::',
    stated: at('localhost', 40_000),
    plan: 'rejected',
  },
  {
    name: 'unix socket, the other family',
    udpBind: '127.0.0.1',
    stated: at('::1', 40_000),
    plan: 'rejected',
  },
  {
    name: 'unix socket without udp_bind',
    stated: at('127.0.0.1', 40_000),
    plan: 'rejected',
  },
];

describe('the relay of a UDP ASSOCIATE', () => {
  for (const { name, udpBind, tcp, stated = nothing, plan } of cases) {
    test(`${name}: ${plan === 'rejected' ? plan : plan.join(' ')}`, () => {
      const made = planRelay({
        udpBind,
        remote: tcp && at(tcp[0]),
        local: tcp && at(tcp[1], 1080),
        stated,
      });
      if (plan === 'rejected') {
        assert.equal(made, undefined);
        return;
      }
      const [bind, clientHost, clientPort] = plan;
      assert.deepEqual(made, {
        bind,
        family: bind.includes(':') ? 6 : 4,
        clientHost,
        clientPort: clientPort || undefined,
      });
    });
  }
});
