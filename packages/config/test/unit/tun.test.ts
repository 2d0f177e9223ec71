import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DecodeError, emptyTable, type TableNode } from '@weir/proxy/schema';
import {
  restartReason,
  type TunSettings,
  tunSettings,
} from '../../../proxy/src/protocols/tun/settings.ts';
import { inbound, load, loadErrorOf } from '../../../../test/support/config/support.ts';

const device = (settings: string): string =>
  inbound(`protocol = "tun"\nsettings = { ${settings} }`);

async function settingsOf(settings: string): Promise<unknown> {
  const { spec } = await load(device(settings));
  return spec.inbounds[0]?.settings;
}

const DEFAULTS: TunSettings = {
  name: undefined,
  mtu: 1500,
  addresses: [],
  routes: [],
  udp: { idleSeconds: 60 },
  maxFlows: 65_536,
};

describe('a TUN inbound', () => {
  test('has defaults for everything, and neither an address nor a port', async () => {
    const { spec } = await load(inbound('protocol = "tun"'));
    const [made] = spec.inbounds;
    assert.deepEqual(made?.listen, { kind: 'none' });
    assert.deepEqual(made?.settings, DEFAULTS);
    assert.deepEqual(structuredClone(made?.settings), made?.settings);
  });

  test('takes addresses with host bits, and networks without', async () => {
    const written =
      'name = "weir0", mtu = 65535, address = ["172.19.0.1/30", "10.0.0.7", "fd00::1/64", "fd00::2"], ' +
      'routes = ["0.0.0.0/0", "::/0", "192.0.2.1", "2001:db8::/32"], udp_idle_timeout = 5, max_flows = 0';
    assert.deepEqual(await settingsOf(written), {
      name: 'weir0',
      mtu: 65_535,
      addresses: [
        { address: '172.19.0.1', prefix: 30 },
        { address: '10.0.0.7', prefix: 32 },
        { address: 'fd00::1', prefix: 64 },
        { address: 'fd00::2', prefix: 128 },
      ],
      routes: [
        { address: '0.0.0.0', prefix: 0 },
        { address: '::', prefix: 0 },
        { address: '192.0.2.1', prefix: 32 },
        { address: '2001:db8::', prefix: 32 },
      ],
      udp: { idleSeconds: 5 },
      maxFlows: 0,
    });
  });

  test('takes networks once that are written twice, or that its addresses are of', async () => {
    const written =
      'address = ["172.19.0.1/30", "172.19.0.1/30", "172.19.0.2/30", "fd00::1/64", "10.0.0.1/0"], ' +
      'routes = ["0.0.0.0/0", "172.19.0.0/30", "172.19.0.0/24", "192.0.2.0/24", "192.0.2.0/24", "fd00::/64", "192.0.2.0/25"]';
    assert.deepEqual(await settingsOf(written), {
      ...DEFAULTS,
      addresses: [
        { address: '172.19.0.1', prefix: 30 },
        { address: '172.19.0.2', prefix: 30 },
        { address: 'fd00::1', prefix: 64 },
        { address: '10.0.0.1', prefix: 0 },
      ],
      routes: [
        { address: '0.0.0.0', prefix: 0 },
        { address: '172.19.0.0', prefix: 24 },
        { address: '192.0.2.0', prefix: 24 },
        { address: '192.0.2.0', prefix: 25 },
      ],
    });
  });

  test('a name that the kernel will refuse is no error of the file', async () => {
    assert.deepEqual(await settingsOf('name = "a-name-of-16-byte"'), {
      ...DEFAULTS,
      name: 'a-name-of-16-byte',
    });
  });

  test('without UDP its idle limit means nothing', async () => {
    assert.deepEqual(await settingsOf('udp = false, udp_idle_timeout = 3'), {
      ...DEFAULTS,
      udp: undefined,
    });
  });

  const INVALID = 'inbound in: invalid settings: ';
  for (const [what, lines, message] of [
    ['listen', 'listen = "127.0.0.1"', 'protocol tun has no address; remove listen'],
    ['a unix socket', 'listen = "/run/tun"', 'protocol tun has no address; remove listen'],
    ['port', 'port = 1', 'protocol tun has no address; remove port'],
    [
      'a stream',
      'stream = { network = "ws" }',
      'protocol tun takes no stream, so network must be tcp',
    ],
    [
      'an MTU below that of IPv6',
      'settings = { mtu = 1279 }',
      `${INVALID}tun mtu must be at least 1280`,
    ],
    [
      'an MTU that does not parse',
      'settings = { mtu = 65536 }',
      `${INVALID}invalid value: integer \`65536\`, expected u16`,
    ],
    [
      'an address that is none',
      'settings = { address = ["172.19.0.1/33"] }',
      `${INVALID}bad tun address 172.19.0.1/33: invalid length for network: Network length 33 is too long for Ipv4 (maximum: 32)`,
    ],
    [
      'an address with a name',
      'settings = { address = ["localhost"] }',
      `${INVALID}bad tun address localhost: couldn't parse address in network: invalid IP address syntax`,
    ],
    [
      'a route with host bits',
      'settings = { routes = ["10.0.0.1/8"] }',
      `${INVALID}bad tun route 10.0.0.1/8: host part of address was not zero`,
    ],
    [
      'a negative number of flows',
      'settings = { max_flows = -1 }',
      `${INVALID}invalid value: integer \`-1\`, expected u64`,
    ],
    [
      'an unknown key',
      'settings = { stack = "system" }',
      `${INVALID}unknown field \`stack\`, expected one of \`name\`, \`mtu\`, \`address\`, \`routes\`, \`udp\`, \`udp_idle_timeout\`, \`max_flows\``,
    ],
  ] as const) {
    test(`${what} is refused`, async () => {
      const error = await loadErrorOf(inbound(`protocol = "tun"\n${lines}`));
      assert.ok(error.message.includes(message), error.message);
    });
  }

  test('has routes on Linux alone', () => {
    const span = { start: 0, end: 1 };
    const table = (...routes: string[]): TableNode => ({
      ...emptyTable(span),
      entries: new Map([
        [
          'routes',
          {
            key: span,
            value: {
              kind: 'array',
              span,
              items: routes.map((value) => ({ kind: 'string' as const, value, span })),
            },
          },
        ],
      ]),
    });
    assert.throws(
      () => tunSettings(table('10.0.0.0/8'), 'darwin'),
      new DecodeError(
        'tun routes are installed only on Linux; add them with the OS route tool',
        span,
      ),
    );
    assert.deepEqual(tunSettings(table(), 'darwin').routes, []);
  });

  test('is restarted for what the device is made of, and swapped for everything else', () => {
    const address = { address: '10.0.0.1', prefix: 8 };
    const changed = (change: Partial<TunSettings>): string | undefined =>
      restartReason(DEFAULTS, { ...DEFAULTS, ...change });
    assert.equal(changed({ name: 'weir0' }), 'name changed');
    assert.equal(changed({ mtu: 1400 }), 'mtu changed');
    assert.equal(changed({ addresses: [address] }), 'address changed');
    assert.equal(changed({ routes: [address] }), 'routes changed');
    assert.equal(changed({ udp: undefined, maxFlows: 7 }), undefined);
    const one = { ...DEFAULTS, addresses: [address] };
    assert.equal(restartReason(one, structuredClone(one)), undefined);
    const longer = { ...DEFAULTS, addresses: [{ ...address, prefix: 9 }] };
    assert.equal(restartReason(one, longer), 'address changed');
  });
});
