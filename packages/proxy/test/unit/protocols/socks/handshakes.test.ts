import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { codeOf } from '@weir/base';
import type { Endpoint } from '@weir/io/addresses';
import type { Carrier } from '@weir/io/links';
import type { SocksInboundSettings } from '../../../../src/protocols/socks/settings.ts';
import {
  bytes,
  connectTo,
  inbound,
  onLoopback,
  onUnixSocket,
  plainSettings,
  withAccounts,
} from '../../../../../../test/support/protocols/socks/harness.ts';
import { readAll } from '../../../../../../test/support/read-link.ts';

/** What `packages/proxy/test/conformance/inbound.ts` does not have: what is SOCKS's alone. */
type Row = readonly [
  name: string,
  /** All of it before the client reads, in the notation of `bytes`. */
  sends: string,
  /** Everything that it receives, or the destination as well where it is served. */
  gets: string,
  goes?: Endpoint | undefined,
  options?: {
    readonly settings?: Partial<SocksInboundSettings>;
    readonly ends?: Pick<Carrier, 'remote' | 'local'>;
    readonly user?: string;
  },
];

const ok4 = '00 5a 0000 00000000';
const reply5 = (code: string): string => `05 ${code} 00 01 00000000 0000`;
const associate = '05 01 00 05 03 00 01 00000000 0000';

const ROWS: readonly Row[] = [
  ...['00000000', '01000001', '00010001', '00000101'].map((address): Row => [
    `SOCKS4 reads ${address} as an address, not as the marker of a name`,
    `04 01 0050 ${address} 00 'ping'`,
    `${ok4} 'ping'`,
    { host: Buffer.from(address, 'hex').join('.'), port: 80 },
  ]),
  [
    'SOCKS4 takes a user id of 255 bytes, and port 0',
    `04 01 0000 c0000207 '${'x'.repeat(255)}' 00`,
    ok4,
    { host: '192.0.2.7', port: 0 },
  ],
  [
    'SOCKS5 can have an account of empty texts',
    `05 01 02 01 00 00 05 01 00 01 c0000207 0050`,
    `05 02 01 00 ${reply5('00')}`,
    { host: '192.0.2.7', port: 80 },
    { settings: withAccounts(['kim', 'sesame'], ['', '']), user: '' },
  ],
  [
    'SOCKS5 rejects an association with a relay of another family than the client',
    associate,
    `05 00 ${reply5('02')}`,
    undefined,
    { settings: { udpBind: '::1' } },
  ],
  [
    'SOCKS5 rejects an association on a unix socket for an unstated source',
    associate,
    `05 00 ${reply5('02')}`,
    undefined,
    { settings: { udpBind: '127.0.0.1' }, ends: onUnixSocket },
  ],
  [
    'SOCKS5 rejects an association whose relay address is not ours',
    associate,
    `05 00 ${reply5('01')}`,
    undefined,
    { settings: { udpBind: '192.0.2.1' } },
  ],
];

describe('the SOCKS inbound', () => {
  for (const [name, sends, gets, goes, { settings, ends = onLoopback, user } = {}] of ROWS) {
    test(name, async () => {
      for (const size of [Number.POSITIVE_INFINITY, 1]) {
        const fixture = inbound({ ...plainSettings, ...settings });
        const { client, served } = connectTo(fixture, ends);
        const sent = bytes(sends);
        for (let at = 0; at < sent.length; at += size) {
          void client.write(sent.subarray(at, at + size));
        }
        await client.closeWrite();
        assert.equal((await readAll(client)).toString('hex'), bytes(gets).toString('hex'));
        assert.equal(codeOf(await served), goes ? undefined : 'socks_rejected');
        const [stream] = fixture.dispatcher.streams;
        assert.deepEqual(stream?.destination, goes);
        assert.equal(stream?.origin.user, user);
        assert.equal(fixture.clock.timers, 0, 'no timer is left behind');
      }
    });
  }

  test('closes a rejected client that sends without end', async () => {
    const { client, served } = connectTo(inbound());
    void client.write(bytes('05 01 02'));
    const flood = async (): Promise<void> => {
      for (;;) await client.write(Buffer.alloc(16_384));
    };
    await assert.rejects(flood());
    assert.equal(codeOf(await served), 'socks_rejected');
  });
});
