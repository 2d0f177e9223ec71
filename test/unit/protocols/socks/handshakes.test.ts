import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DialError, type DialErrorCode } from '../../../../src/net/errors.ts';
import type { Endpoint } from '../../../../src/net/addresses/address.ts';
import { codeOf } from '../../../../src/errors.ts';
import type { Carrier } from '../../../../src/net/links/link.ts';
import type { SocksInboundSettings } from '../../../../src/protocols/socks/settings.ts';
import {
  bytes,
  connectTo,
  inbound,
  onLoopback,
  onUnixSocket,
  plainSettings,
  withAccounts,
} from '../../../support/protocols/socks/harness.ts';
import { readAll, readExactly } from '../../../support/read-link.ts';

interface Case {
  readonly name: string;
  readonly settings?: SocksInboundSettings;
  readonly ends?: Pick<Carrier, 'remote' | 'local'>;
  /** What the client sends, all of it before it reads, in the notation of `bytes`. */
  readonly sends: string;
  /** Everything that it receives until the server ends the stream. */
  readonly gets: string;
  /** The destination at the dispatcher. */
  readonly goes?: Endpoint;
  readonly user?: string;
  readonly dialFails?: DialErrorCode;
  /** Code of the error that the carrier ends with; none for a request that was served. */
  readonly error?: string;
}

const ok4 = '00 5a 0000 00000000';
const no4 = '00 5b 0000 00000000';
const reply5 = (code: string): string => `05 ${code} 00 01 00000000 0000`;
const site = { host: 'www.example', port: 80 };
const guarded = withAccounts(['kim', 'old'], ['ada', 'lovelace'], ['kim', 'sesame'], ['', '']);
const toSite = `05 01 00 03 0b 'www.example' 0050`;
const login = (user: string, pass: string): string => {
  const counted = (text: string): string => `${Buffer.of(text.length).toString('hex')} '${text}'`;
  return `01 ${counted(user)} ${counted(pass)}`;
};

const handshakes: Case[] = [
  {
    name: 'SOCKS4 connects to an IPv4 address',
    sends: `04 01 0050 c0000207 'kim' 00 'ping'`,
    gets: `${ok4} 'ping'`,
    goes: { host: '192.0.2.7', port: 80 },
  },
  {
    name: 'SOCKS4 passes port 0 on',
    sends: '04 01 0000 c0000207 00',
    gets: ok4,
    goes: { host: '192.0.2.7', port: 0 },
  },
  {
    name: 'SOCKS4 reads 0.0.0.0 as an address, not as the marker of a name',
    sends: '04 01 0050 00000000 00',
    gets: ok4,
    goes: { host: '0.0.0.0', port: 80 },
  },
  ...['01000001', '00010001', '00000101'].map((address) => ({
    name: `SOCKS4 reads ${address} as an address, not as the marker of a name`,
    sends: `04 01 0050 ${address} 00`,
    gets: ok4,
    goes: { host: Buffer.from(address, 'hex').join('.'), port: 80 },
  })),
  {
    name: 'SOCKS4 takes a user id of 255 bytes',
    sends: `04 01 0050 c0000207 '${'x'.repeat(255)}' 00`,
    gets: ok4,
    goes: { host: '192.0.2.7', port: 80 },
  },
  {
    name: 'SOCKS4a connects to a name',
    sends: `04 01 0050 00000001 'kim' 00 'www.example' 00 'ping'`,
    gets: `${ok4} 'ping'`,
    goes: site,
  },
  {
    name: 'SOCKS4a reads a name that is an address as that address',
    sends: `04 01 0050 00000001 00 '2001:DB8::0:7' 00`,
    gets: ok4,
    goes: { host: '2001:db8::7', port: 80 },
  },
  {
    name: 'SOCKS4a rejects an empty name',
    sends: '04 01 0050 00000001 00 00',
    gets: no4,
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS4a rejects a name with control bytes',
    sends: `04 01 0050 00000001 00 'www' 0d0a 'example' 00`,
    gets: no4,
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS4a drops a client whose name is too long',
    sends: `04 01 0050 00000001 00 '${'x'.repeat(256)}' 00`,
    gets: '',
    error: 'protocol',
  },
  {
    name: 'SOCKS4 drops a client whose user id is too long',
    sends: `04 01 0050 c0000207 '${'x'.repeat(2000)}' 00`,
    gets: '',
    error: 'protocol',
  },
  {
    name: 'SOCKS4 rejects BIND',
    sends: '04 02 0050 c0000207 00',
    gets: no4,
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS4 is rejected where a password is required',
    settings: guarded,
    sends: `04 01 0050 c0000207 'kim' 00`,
    gets: no4,
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS4 rejects when the destination is not reached',
    sends: '04 01 0050 c0000207 00',
    gets: no4,
    goes: { host: '192.0.2.7', port: 80 },
    dialFails: 'refused',
  },
  {
    name: 'SOCKS5 connects to an IPv4 address',
    sends: `05 01 00 05 01 00 01 c0000207 01bb 'ping'`,
    gets: `05 00 ${reply5('00')} 'ping'`,
    goes: { host: '192.0.2.7', port: 443 },
  },
  {
    name: 'SOCKS5 connects to an IPv6 address',
    sends: '05 01 00 05 01 00 04 20010db8000000000000000000000007 01bb',
    gets: `05 00 ${reply5('00')}`,
    goes: { host: '2001:db8::7', port: 443 },
  },
  {
    name: 'SOCKS5 takes an IPv4-mapped address for the IPv4 address',
    sends: '05 01 00 05 01 00 04 00000000000000000000ffffc0000207 01bb',
    gets: `05 00 ${reply5('00')}`,
    goes: { host: '192.0.2.7', port: 443 },
  },
  {
    name: 'SOCKS5 connects to a name',
    sends: `05 01 00 ${toSite}`,
    gets: `05 00 ${reply5('00')}`,
    goes: site,
  },
  {
    name: 'SOCKS5 reads a name that is an address as that address',
    sends: `05 01 00 05 01 00 03 09 '192.0.2.7' 0050`,
    gets: `05 00 ${reply5('00')}`,
    goes: { host: '192.0.2.7', port: 80 },
  },
  {
    name: 'SOCKS5 reads a name that is an address in brackets as that address',
    sends: `05 01 00 05 01 00 03 05 '[::1]' 0050`,
    gets: `05 00 ${reply5('00')}`,
    goes: { host: '::1', port: 80 },
  },
  {
    name: 'SOCKS5 passes port 0 on',
    sends: '05 01 00 05 01 00 01 c0000207 0000',
    gets: `05 00 ${reply5('00')}`,
    goes: { host: '192.0.2.7', port: 0 },
  },
  {
    name: 'SOCKS5 finds its method among many',
    sends: `05 04 01 80 02 00 ${toSite}`,
    gets: `05 00 ${reply5('00')}`,
    goes: site,
  },
  {
    name: 'SOCKS5 without authentication rejects a client that requires a password',
    sends: '05 01 02',
    gets: '05 ff',
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 accepts no offer of nothing',
    sends: '05 00',
    gets: '05 ff',
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 with a password does not do for a client without',
    settings: guarded,
    sends: `05 01 00 ${toSite}`,
    gets: '05 ff',
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 accepts an account, and the last entry of a name counts',
    settings: guarded,
    sends: `05 02 00 02 ${login('kim', 'sesame')} ${toSite} 'ping'`,
    gets: `05 02 01 00 ${reply5('00')} 'ping'`,
    goes: site,
    user: 'kim',
  },
  {
    name: 'SOCKS5 rejects the earlier password of a repeated name',
    settings: guarded,
    sends: `05 01 02 ${login('kim', 'old')}`,
    gets: '05 02 01 01',
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 rejects the password of another account',
    settings: guarded,
    sends: `05 01 02 ${login('kim', 'lovelace')}`,
    gets: '05 02 01 01',
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 rejects a name in other case',
    settings: guarded,
    sends: `05 01 02 ${login('Kim', 'sesame')}`,
    gets: '05 02 01 01',
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 can have an account of empty texts',
    settings: guarded,
    sends: `05 01 02 ${login('', '')} ${toSite}`,
    gets: `05 02 01 00 ${reply5('00')}`,
    goes: site,
    user: '',
  },
  {
    name: 'SOCKS5 with an empty list of accounts rejects every client',
    settings: withAccounts(),
    sends: `05 01 02 ${login('kim', 'sesame')}`,
    gets: '05 02 01 01',
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 drops a client of an unknown version of the password exchange',
    settings: guarded,
    sends: `05 01 02 05 03 'kim' 06 'sesame' ${toSite}`,
    gets: '05 02',
    error: 'protocol',
  },
  {
    name: 'SOCKS5 rejects BIND',
    sends: '05 01 00 05 02 00 01 c0000207 0050',
    gets: `05 00 ${reply5('07')}`,
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 rejects commands that do not exist',
    sends: '05 01 00 05 09 00 01 c0000207 0050',
    gets: `05 00 ${reply5('07')}`,
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 rejects address types that do not exist',
    sends: '05 01 00 05 01 00 02 c0000207 0050',
    gets: `05 00 ${reply5('08')}`,
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 rejects an empty name',
    sends: '05 01 00 05 01 00 03 00 0050',
    gets: `05 00 ${reply5('01')}`,
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 rejects a name with control bytes',
    sends: `05 01 00 05 01 00 03 04 'a' 00 'bc' 0050`,
    gets: `05 00 ${reply5('01')}`,
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 rejects a name with a blank, which a request line would break at',
    sends: `05 01 00 05 01 00 03 03 'a' 20 'b' 0050`,
    gets: `05 00 ${reply5('01')}`,
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 rejects a name that is not UTF-8',
    sends: `05 01 00 05 01 00 03 03 'a' fffe 0050`,
    gets: `05 00 ${reply5('01')}`,
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 drops a client whose request is of another version',
    sends: '05 01 00 04 01 00 01 c0000207 0050',
    gets: '05 00',
    error: 'protocol',
  },
  {
    name: 'SOCKS5 rejects UDP ASSOCIATE when udp is off',
    settings: { ...plainSettings, udp: false },
    sends: '05 01 00 05 03 00 01 00000000 0000',
    gets: `05 00 ${reply5('07')}`,
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 rejects UDP ASSOCIATE when the relay is of another family than the client',
    settings: { ...plainSettings, udpBind: '::1' },
    sends: '05 01 00 05 03 00 01 00000000 0000',
    gets: `05 00 ${reply5('02')}`,
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 rejects UDP ASSOCIATE on a unix socket for an unstated source',
    settings: { ...plainSettings, udpBind: '127.0.0.1' },
    ends: onUnixSocket,
    sends: '05 01 00 05 03 00 01 00000000 0000',
    gets: `05 00 ${reply5('02')}`,
    error: 'socks_rejected',
  },
  {
    name: 'SOCKS5 rejects UDP ASSOCIATE when the relay address is not ours',
    settings: { ...plainSettings, udpBind: '192.0.2.1' },
    sends: '05 01 00 05 03 00 01 00000000 0000',
    gets: `05 00 ${reply5('01')}`,
    error: 'socks_rejected',
  },
  {
    name: 'HTTP on a SOCKS port is dropped',
    sends: `'GET / HTTP/1.1' 0d0a0d0a`,
    gets: '',
    error: 'protocol',
  },
  {
    name: 'a client that stops in the middle is dropped',
    sends: '05 01 00 05 01 00 03 0b',
    gets: '05 00',
    error: 'protocol',
  },
  { name: 'a client that sends nothing is dropped', sends: '', gets: '', error: 'protocol' },
];

const replies: [DialErrorCode, string][] = [
  ['refused', '05'],
  ['unreachable_host', '04'],
  ['unreachable_network', '03'],
  ['unresolved', '04'],
  ['not_found', '04'],
  ['timed_out', '06'],
  ['blocked', '02'],
  ['unsupported', '07'],
  ['upstream', '01'],
  ['aborted', '01'],
  ['failed', '01'],
];
for (const [dialFails, code] of replies) {
  handshakes.push({
    name: `SOCKS5 has the reply 0x${code} for a destination that is ${dialFails}`,
    sends: `05 01 00 ${toSite}`,
    gets: `05 00 ${reply5(code)}`,
    goes: site,
    dialFails,
  });
}

async function play(each: Case, size: number): Promise<void> {
  const fixture = inbound(each.settings);
  const { dispatcher } = fixture;
  if (each.dialFails) dispatcher.failure = new DialError(each.dialFails, 'as the test wishes');
  const { client, served } = connectTo(fixture, each.ends ?? onLoopback);
  const sent = bytes(each.sends);
  for (let at = 0; at < sent.length; at += size) void client.write(sent.subarray(at, at + size));
  await client.closeWrite();
  // A dropped client may read an error instead of the end of the stream.
  const got = await readAll(client).catch(() => undefined);
  const error = await served;
  if (got) assert.equal(got.toString('hex'), bytes(each.gets).toString('hex'));
  else assert.ok(each.error === 'protocol', 'only a client that violates the protocol is reset');
  assert.equal(codeOf(error), each.error);
  assert.deepEqual(dispatcher.streams[0]?.destination, each.goes);
  assert.equal(dispatcher.streams[0]?.origin.user, each.user);
  assert.equal(fixture.clock.timers, 0, 'no timer is left behind');
}

describe('the SOCKS inbound', () => {
  for (const each of handshakes) {
    test(each.name, async () => {
      await play(each, Number.POSITIVE_INFINITY);
    });
  }
  for (const each of handshakes) {
    test(`${each.name}, byte by byte`, async () => {
      await play(each, 1);
    });
  }
});

describe('a request of the SOCKS inbound', () => {
  test('has the client and whether to sniff', async () => {
    for (const sniffing of [true, false]) {
      const fixture = inbound(plainSettings, { sniffing });
      const { client, served } = connectTo(fixture, {
        remote: { host: '::ffff:198.51.100.4', port: 1 },
        local: { host: '::ffff:198.51.100.1', port: 2 },
      });
      void client.write(bytes(`05 01 00 ${toSite}`));
      await client.closeWrite();
      await served;
      const [request] = fixture.dispatcher.streams;
      assert.equal(request?.sniff, sniffing);
      assert.ok(request?.origin.standing?.stands);
      assert.deepEqual(request.origin, {
        inbound: 'socks-in',
        source: '198.51.100.4',
        user: undefined,
        session: fixture.session,
        standing: request.origin.standing,
      });
    }
  });

  test('of a unix socket has no source', async () => {
    const fixture = inbound();
    const { client, served } = connectTo(fixture, onUnixSocket);
    void client.write(bytes(`05 01 00 ${toSite}`));
    await client.closeWrite();
    await served;
    assert.equal(fixture.dispatcher.streams[0]?.origin.source, undefined);
  });

  test('that fails in the dispatcher itself gets a reply and is reported', async () => {
    const fixture = inbound();
    fixture.dispatcher.failure = new RangeError('a bug');
    const { client, served } = connectTo(fixture);
    void client.write(bytes(`05 01 00 ${toSite}`));
    await client.closeWrite();
    assert.equal(
      (await readAll(client)).toString('hex'),
      bytes(`05 00 ${reply5('01')}`).toString('hex'),
    );
    assert.equal(await served, fixture.dispatcher.failure);
  });

  test('that was accepted gets no second reply when the flow fails', async () => {
    const fixture = inbound();
    const failure = new DialError('refused', 'after the sniffing');
    const replied = Promise.withResolvers<void>();
    fixture.dispatcher.stream = async (request) => {
      await request.accept();
      await replied.promise;
      throw failure;
    };
    const { client, served } = connectTo(fixture);
    void client.write(bytes(`05 01 00 ${toSite}`));
    await readExactly(client, 12);
    replied.resolve();
    assert.equal(await served, failure);
    await assert.rejects(client.read(), { code: 'link_closed' });
  });
});

describe('a client that will not go on', () => {
  const idle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  for (const sends of [
    '',
    '05',
    '05 01 00',
    '05 01 00 05 01',
    '04 01',
    `04 01 0050 00000001 'a'`,
  ]) {
    test(`is closed after 10 s when it stopped at «${sends}»`, async () => {
      const fixture = inbound();
      const { client, served } = connectTo(fixture);
      void client.write(bytes(sends));
      await idle();
      fixture.clock.advance(9_999);
      await idle();
      assert.equal(fixture.clock.timers, 1, 'still within the limit');
      fixture.clock.advance(1);
      assert.equal(codeOf(await served), 'deadline');
      assert.equal(fixture.clock.timers, 0);
      await client.closed;
    });
  }

  test('is closed soon after a rejection when it neither sends nor closes', async () => {
    const fixture = inbound();
    const { client, served } = connectTo(fixture);
    void client.write(bytes('05 01 02'));
    assert.equal((await readAll(client)).toString('hex'), '05ff');
    await idle();
    fixture.clock.advance(2_000);
    assert.equal(codeOf(await served), 'socks_rejected');
    await client.closed;
  });

  test('is closed after a rejection when it sends without end', async () => {
    const fixture = inbound();
    const { client, served } = connectTo(fixture);
    void client.write(bytes('05 01 02'));
    const flood = async (): Promise<void> => {
      for (;;) await client.write(Buffer.alloc(16_384));
    };
    await assert.rejects(flood());
    assert.equal(codeOf(await served), 'socks_rejected');
  });
});
