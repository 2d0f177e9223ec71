import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { codeOf } from '@weir/base';
import type { Endpoint } from '@weir/io/addresses';
import type { Carrier } from '@weir/io/links';
import { InboundMemory } from '../../../../src/protocols/inbounds/inbound-memory.ts';
import {
  type AcceptedAccounts,
  accountsOf,
  NO_ACCOUNTS,
} from '../../../../src/protocols/users/accounts.ts';
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
import { readAll, readExactly } from '../../../../../../test/support/read-link.ts';

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

/** The accounts of an inbound after a reload with other settings. */
function acceptedWith(settings: SocksInboundSettings): AcceptedAccounts {
  const { accounts } = inbound(settings).handler;
  assert.ok(accounts);
  return accounts;
}

describe('the SOCKS inbound', () => {
  test('keeps accepting a session while its account is the same', async () => {
    const memory = new InboundMemory();
    const first = inbound(withAccounts(['kim', 'sesame']), { memory });
    const { client } = connectTo(first);
    await client.write(bytes(`05 01 02 01 03 'kim' 06 'sesame' 05 01 00 01 c0000207 0050 'x'`));
    await readExactly(client, 2 + 2 + 10 + 1);
    const account = first.dispatcher.streams[0]?.origin.account;
    for (const [settings, isValid] of [
      [withAccounts(['lee', 'x'], ['kim', 'sesame']), true],
      [withAccounts(['kim', 'changed']), false],
      [withAccounts(['lee', 'sesame']), false],
      [plainSettings, false],
    ] as const) {
      accountsOf(memory).replace(acceptedWith(settings));
      assert.equal(account?.isValid, isValid);
    }
    client.destroy();
  });

  test('keeps accepting a session without an account while it needs none', async () => {
    const memory = new InboundMemory();
    const first = inbound(plainSettings, { memory });
    const { client } = connectTo(first);
    await client.write(bytes(`05 01 00 05 01 00 01 c0000207 0050 'x'`));
    await readExactly(client, 2 + 10 + 1);
    const account = first.dispatcher.streams[0]?.origin.account;
    for (const [settings, isValid] of [
      [plainSettings, true],
      [withAccounts(['kim', 'sesame']), false],
    ] as const) {
      accountsOf(memory).replace(acceptedWith(settings));
      assert.equal(account?.isValid, isValid);
    }
    client.destroy();
  });

  test('rejects an association of an account that was removed after it was authenticated', async () => {
    const memory = new InboundMemory();
    const fixture = inbound(withAccounts(['kim', 'sesame']), { memory });
    const { client, served } = connectTo(fixture);
    await client.write(bytes(`05 01 02 01 03 'kim' 06 'sesame'`));
    assert.equal((await readExactly(client, 4)).toString('hex'), '05020100');
    accountsOf(memory).replace(NO_ACCOUNTS);
    await client.write(bytes('05 03 00 01 00000000 0000'));
    await client.closeWrite();
    assert.equal((await readAll(client)).toString('hex'), bytes(reply5('02')).toString('hex'));
    assert.match(String(await served), /UDP ASSOCIATE rejected: the account is removed$/);
    assert.equal(fixture.dispatcher.associations.length, 0);
  });

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
