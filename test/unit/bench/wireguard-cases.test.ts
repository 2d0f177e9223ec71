import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chosen } from '../../../bench/cases.ts';
import { possible, type Settings } from '../../../bench/possible.ts';
import { singBoxConfig, weirConfig, xrayConfig } from '../../../bench/wireguard/configs.ts';
import type { TunnelEnd } from '../../../bench/wireguard/peer.ts';

const END: TunnelEnd = {
  privateKey: 'YAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=',
  peerPublicKey: 'xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=',
  host: '192.0.2.1',
  port: 51_820,
  address: '10.88.0.2',
  mtu: 1420,
};

const settings = (lacks: Partial<Record<keyof Settings, string>>): Settings => ({
  tun: { title: 'a TUN device', lack: () => lacks.tun ?? false },
  wireguard: { title: 'WireGuard', lack: () => lacks.wireguard ?? false },
});

describe('the benchmark cases of WireGuard', () => {
  const cases = chosen(['wireguard-']);

  test('are streams up and down and datagrams, by three programs in one setting', () => {
    assert.deepEqual(
      cases.map(({ name, parallel }) => `${name} ${parallel}`),
      [
        'wireguard-down 1',
        'wireguard-up 1',
        'wireguard-streams-down 16',
        'wireguard-streams-up 16',
        'wireguard-connect 32',
        'wireguard-udp 64',
      ],
    );
    for (const test of cases) {
      assert.equal(test.setting, 'wireguard');
      assert.deepEqual(test.contestants, ['weir', 'xray', 'sing-box']);
      assert.ok(test.work, 'processor time is given');
    }
  });

  test('are left out with the reason where the machine cannot measure them', () => {
    const all = chosen(['wireguard-down', 'tun-udp', 'udp']);
    const names = (found: typeof cases): string[] => found.map(({ name }) => name);
    const left = possible(all, settings({ wireguard: 'without wireguard-go' }));
    assert.deepEqual(names(left.cases), ['udp', 'tun-udp']);
    assert.deepEqual(left.notes, ['the cases of WireGuard are left out: without wireguard-go']);
    assert.deepEqual(possible(all, settings({})), { cases: all, notes: [] });
  });

  test('do not examine a setting that no case needs', () => {
    const refuse = (): never => assert.fail('examined');
    const none: Settings = {
      tun: { title: '', lack: refuse },
      wireguard: { title: '', lack: refuse },
    };
    const relays = chosen([]);
    assert.deepEqual(possible(relays, none), { cases: relays, notes: [] });
  });
});

test('all programs are given the same tunnel', () => {
  const socks = 1080;
  const [endpoint] = singBoxConfig(END, socks).endpoints;
  const [peer] = endpoint?.peers ?? [];
  const settings = xrayConfig(END, socks).outbounds[0]?.settings;
  const [remote] = settings?.peers ?? [];
  const text = weirConfig(END);
  const value = (key: string): string | undefined =>
    new RegExp(`^${key} = (.*)$`, 'm').exec(text)?.[1];
  const tunnels = [
    {
      key: endpoint?.private_key,
      peer: peer?.public_key,
      at: `${peer?.address}:${peer?.port}`,
      own: endpoint?.address,
      mtu: endpoint?.mtu,
    },
    {
      key: settings?.secretKey,
      peer: remote?.publicKey,
      at: remote?.endpoint,
      own: settings?.address,
      mtu: settings?.mtu,
    },
  ];
  for (const tunnel of tunnels) {
    assert.deepEqual(tunnel, {
      key: END.privateKey,
      peer: END.peerPublicKey,
      at: '192.0.2.1:51820',
      own: ['10.88.0.2/32'],
      mtu: 1420,
    });
  }
  assert.deepEqual(['private_key', 'peer_public_key', 'endpoint', 'address', 'mtu'].map(value), [
    `"${END.privateKey}"`,
    `"${END.peerPublicKey}"`,
    '"192.0.2.1:51820"',
    '["10.88.0.2"]',
    '1420',
  ]);
});
