import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { outboundSettings } from '../../../../src/protocols/wireguard/settings.ts';
import { DecodeError } from '../../../../src/schema/errors.ts';
import { tableNode, type Plain } from '../../../../../../test/support/schema/nodes.ts';

const HEX = '0123456789abcdef'.repeat(4);
const BASE64 = Buffer.from(HEX, 'hex').toString('base64');

const written = (changes: { [key: string]: Plain } = {}): { [key: string]: Plain } => ({
  private_key: BASE64,
  peer_public_key: BASE64,
  endpoint: 'vpn.example:51820',
  address: ['10.0.0.2'],
  ...changes,
});

const settings = (changes?: { [key: string]: Plain }) =>
  outboundSettings(tableNode(written(changes)));

function refuses(changes: { [key: string]: Plain }, message: string): void {
  assert.throws(
    () => settings(changes),
    (error: unknown) => error instanceof DecodeError && error.message === message,
    `${JSON.stringify(changes, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value))}: ${message}`,
  );
}

describe('the settings of a WireGuard outbound', () => {
  test('have defaults for all that is optional', () => {
    assert.deepEqual(settings(), {
      privateKey: HEX,
      peerPublicKey: HEX,
      presharedKey: undefined,
      endpoint: { host: 'vpn.example', port: 51_820 },
      addresses: ['10.0.0.2'],
      mtu: 1420,
      keepalive: 0,
      reserved: undefined,
    });
  });

  test('hold all that is written', () => {
    const all = settings({
      preshared_key: HEX.toUpperCase(),
      address: ['::ffff:10.0.0.2', '2001:DB8:0::2'],
      mtu: 1280n,
      keepalive: 25n,
      reserved: [1n, 2n, 255n],
    });
    assert.equal(all.presharedKey, HEX);
    assert.deepEqual(all.addresses, ['10.0.0.2', '2001:db8::2']);
    assert.deepEqual([all.mtu, all.keepalive, all.reserved], [1280, 25, [1, 2, 255]]);
    assert.deepEqual(structuredClone(all), all);
  });

  test('need their keys, endpoint and address', () => {
    for (const key of ['private_key', 'peer_public_key', 'endpoint', 'address']) {
      const table = written();
      delete table[key];
      assert.throws(() => outboundSettings(tableNode(table)), {
        message: `missing field \`${key}\``,
      });
    }
    refuses(
      { listen_port: 1n },
      'unknown field `listen_port`, expected one of `private_key`, `peer_public_key`, `preshared_key`, ' +
        '`endpoint`, `address`, `mtu`, `keepalive`, `reserved`',
    );
  });

  test('take keys as hex digits and as padded standard base64', () => {
    for (const name of ['private_key', 'peer_public_key', 'preshared_key']) {
      for (const key of [HEX, HEX.toUpperCase(), BASE64]) assert.ok(settings({ [name]: key }));
      const urlSafe = Buffer.alloc(32, 0xff).toString('base64').replaceAll('/', '_');
      // A last digit whose two spare bits are not zero.
      const loose = `${BASE64.slice(0, 42)}${BASE64[42] === '9' ? '+' : '9'}=`;
      const wrong = [
        '',
        HEX.slice(1),
        `${HEX}0`,
        BASE64.slice(0, -1),
        `${BASE64} `,
        urlSafe,
        loose,
      ];
      wrong.push(Buffer.alloc(31).toString('base64'), Buffer.alloc(33).toString('base64'));
      for (const key of wrong) refuses({ [name]: key }, `invalid wireguard ${name}`);
    }
  });

  test('do not show a key of a wrong type', () => {
    refuses({ private_key: 1234n }, 'invalid type: integer, expected a string');
  });

  test('split the endpoint at its last colon, and take nothing off it', () => {
    const endpointOf = (endpoint: string) => settings({ endpoint }).endpoint;
    assert.deepEqual(endpointOf('192.0.2.1:1'), { host: '192.0.2.1', port: 1 });
    assert.deepEqual(endpointOf('2001:db8::1:51820'), { host: '2001:db8::1', port: 51_820 });
    assert.deepEqual(endpointOf('[2001:db8::1]:51820'), { host: '[2001:db8::1]', port: 51_820 });
    refuses({ endpoint: 'vpn.example' }, 'wireguard endpoint must be host:port');
    refuses({ endpoint: '' }, 'wireguard endpoint must be host:port');
    for (const port of ['', '65536', '-1', 'x', '1 ', ' 1', '1.5', '0x10']) {
      refuses({ endpoint: `vpn.example:${port}` }, 'invalid wireguard endpoint port');
    }
  });

  test('have addresses without a prefix length, or none at all', () => {
    assert.deepEqual(settings({ address: [] }).addresses, []);
    for (const address of ['10.0.0.2/32', 'fd00::2/64', '', 'tunnel', '10.0.0.256', '[fd00::2]']) {
      refuses({ address: [address] }, 'invalid IP address syntax');
    }
    refuses({ address: '10.0.0.2' }, 'invalid type: string, expected a sequence');
  });

  test('have an MTU without a range, and an interval of 16 bits', () => {
    for (const mtu of [0n, 1n, 9000n, 10n ** 6n]) assert.equal(settings({ mtu }).mtu, Number(mtu));
    refuses({ mtu: -1n }, 'invalid value: integer `-1`, expected u64');
    assert.equal(settings({ keepalive: 0n }).keepalive, 0);
    refuses({ keepalive: 65_536n }, 'invalid value: integer `65536`, expected u16');
  });

  test('have three reserved bytes', () => {
    refuses({ reserved: [] }, 'invalid length 0, expected an array of length 3');
    refuses({ reserved: [1n, 2n] }, 'invalid length 2, expected an array of length 3');
    refuses({ reserved: [1n, 2n, 3n, 4n] }, 'invalid length 4, expected an array of length 3');
    refuses({ reserved: [1n, 2n, 256n] }, 'invalid value: integer `256`, expected u8');
  });
});
