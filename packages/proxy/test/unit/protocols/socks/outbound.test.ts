import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { DialError, ServerReach } from '@weir/io';
import type { Endpoint } from '@weir/io/addresses';
import { type ByteLink, type PacketLink, linkPair } from '@weir/io/links';
import { systemSockets } from '@weir/io/sockets';
import { UdpLink } from '../../../../../io/src/net/sockets/node/udp-socket.ts';
import type { Outbound, OutboundContext } from '../../../../src/protocols/contract.ts';
import { relayHost } from '../../../../src/protocols/socks/outbound.ts';
import { encodeReply } from '../../../../src/protocols/socks/wire.ts';
import type { LoginSettings } from '../../../../src/protocols/users/account-settings.ts';
import type { ManualClock } from '../../../../../../test/support/manual-clock.ts';
import { chunksOf, cuts, nearly } from '../../../../../../test/support/data/chunks.ts';
import { until } from '../../../../../io/test/conformance/packet-link.ts';
import {
  bytes,
  carrierOf,
  neverAborted,
  outbound,
} from '../../../../../../test/support/protocols/socks/harness.ts';
import { readExactly } from '../../../../../../test/support/read-link.ts';

interface Scripted {
  readonly outbound: Outbound;
  readonly clock: ManualClock;
  /** The server's end of the one carrier. */
  readonly server: ByteLink;
}

const noAccount: LoginSettings = { account: undefined };
const account: LoginSettings = { account: { user: 'kim', pass: 'sesame' } };
const site: Endpoint = { host: 'www.example', port: 80 };

function scripted(
  settings: LoginSettings = noAccount,
  context: Partial<OutboundContext> = {},
  remote?: Endpoint,
): Scripted {
  const [near, server] = linkPair();
  return { ...outbound(settings, () => carrierOf(near, remote), context), server };
}

/** Plays the server: expects and sends bytes, alternately. */
async function script(server: ByteLink, ...turns: string[]): Promise<void> {
  for (const [index, turn] of turns.entries()) {
    if (index % 2 === 1) {
      for (const byte of bytes(turn)) await server.write(Uint8Array.of(byte));
    } else {
      const expected = bytes(turn);
      assert.equal(
        (await readExactly(server, expected.length)).toString('hex'),
        expected.toString('hex'),
      );
    }
  }
}

const granted = '05 00 00 01 00000000 0000';
const connectToSite = `05 01 00 03 0b 'www.example' 0050`;

describe('the SOCKS outbound', () => {
  test('offers the password alone when it has one', async () => {
    const { outbound, server } = scripted(account);
    await Promise.all([
      outbound.connect({ host: '2001:db8::7', port: 443 }, neverAborted()),
      script(
        server,
        '05 01 02',
        '05 02',
        `01 03 'kim' 06 'sesame'`,
        '01 00',
        '05 01 00 04 20010db8000000000000000000000007 01bb',
        granted,
      ),
    ]);
  });

  test('cuts a user name and a password to the 255 bytes that fit', async () => {
    const { outbound, server } = scripted({
      account: { user: 'u'.repeat(300), pass: 'é'.repeat(200) },
    });
    await Promise.all([
      outbound.connect(site, neverAborted()),
      script(
        server,
        '05 01 02',
        '05 02',
        `01 ff '${'u'.repeat(255)}' ff '${'é'.repeat(127)}' c3`,
        '01 00',
        connectToSite,
        granted,
      ),
    ]);
  });

  for (const bound of [
    '04 00000000000000000000000000000000 0000',
    `03 09 'a.example' 0050`,
    '03 00 0000',
    '01 c0000207 1234',
  ]) {
    test(`accepts the bound address «${bound}»`, async () => {
      const { outbound, server } = scripted();
      const [link] = await Promise.all([
        outbound.connect(site, neverAborted()),
        script(server, '05 01 00', '05 00', connectToSite, `05 00 00 ${bound}`),
      ]);
      void server.write(Buffer.from('x'));
      assert.equal((await link.read())?.length, 1, 'exactly the reply was read');
    });
  }

  type Failure = [
    name: string,
    settings: LoginSettings,
    turns: string[],
    code: string,
    message?: RegExp,
  ];
  const failures: Failure[] = [
    ['another protocol', noAccount, ['05 01 00', `'H'`], 'upstream'],
    [
      'no acceptable method',
      noAccount,
      ['05 01 00', '05 ff'],
      'upstream',
      /requires authentication/,
    ],
    ['a method that was not offered', noAccount, ['05 01 00', '05 02'], 'upstream'],
    [
      'a method below the one that was offered',
      account,
      ['05 01 02', '05 00'],
      'upstream',
      /does not support password/,
    ],
    [
      'a rejected password',
      account,
      ['05 01 02', '05 02', `01 03 'kim' 06 'sesame'`, '01 01'],
      'upstream',
    ],
    [
      'an unknown version of the password exchange',
      account,
      ['05 01 02', '05 02', `01 03 'kim' 06 'sesame'`, '05 00'],
      'upstream',
    ],
    [
      'a reply of another version',
      noAccount,
      ['05 01 00', '05 00', connectToSite, '00 5a 0000 00000000'],
      'upstream',
    ],
    [
      'success in a reply of another version',
      noAccount,
      ['05 01 00', '05 00', connectToSite, '04 00 00 01 00000000 0000'],
      'upstream',
    ],
    [
      'an unknown type of bound address',
      noAccount,
      ['05 01 00', '05 00', connectToSite, '05 00 00 02 00000000 0000'],
      'upstream',
    ],
    ...(
      [
        ['01', 'upstream'],
        ['02', 'blocked'],
        ['03', 'unreachable_network'],
        ['04', 'unreachable_host'],
        ['05', 'refused'],
        ['06', 'timed_out'],
        ['07', 'unsupported'],
        ['08', 'upstream'],
        ['5b', 'upstream'],
      ] as const
    ).map(([reply, code]): Failure => [
      `reply 0x${reply}`,
      noAccount,
      // Without an address: some servers end there.
      ['05 01 00', '05 00', connectToSite, `05 ${reply} 00`],
      code,
      /^reply of the SOCKS server for www\.example:80: /,
    ]),
  ];
  for (const [name, settings, turns, code, message = /./] of failures) {
    test(`${name} is an error with the code ${code}, and the carrier is released`, async () => {
      const { outbound, clock, server } = scripted(settings);
      await Promise.all([
        assert.rejects(outbound.connect(site, neverAborted()), {
          name: 'DialError',
          code,
          message,
        }),
        script(server, ...turns),
      ]);
      await server.closed;
      assert.equal(clock.timers, 0);
    });
  }

  test('a server that ends early is an error of the upstream', async () => {
    const { outbound, server } = scripted();
    await server.write(bytes('05 00'));
    await server.closeWrite();
    await assert.rejects(outbound.connect(site, neverAborted()), { code: 'upstream' });
  });

  test('a server that closes before the request may be another kind of server, or reject the account', async () => {
    const { outbound, server } = scripted();
    await server.closeWrite();
    await assert.rejects(outbound.connect(site, neverAborted()), {
      code: 'upstream',
      message:
        'the SOCKS server closed before it took a request: it may be no SOCKS5 server, or reject the account',
    });
  });

  test('a server that closes without a reply, as ssh does, is named with the destination', async () => {
    for (const [end, message] of [
      [
        (server: ByteLink) => server.closeWrite(),
        'the SOCKS server closed without a reply for www.example:80',
      ],
      [
        async (server: ByteLink) =>
          server.destroy(Object.assign(new Error('x'), { code: 'ECONNRESET' })),
        'the SOCKS server reset the connection without a reply for www.example:80',
      ],
    ] as const) {
      const { outbound, server } = scripted();
      const failed = assert.rejects(outbound.connect(site, neverAborted()), {
        name: 'DialError',
        code: 'upstream',
        message,
      });
      await script(server, '05 01 00', '05 00', connectToSite);
      await end(server);
      await failed;
    }
  });

  test('a server that sends nothing fails after 10 s', async () => {
    const { outbound, clock, server } = scripted();
    const connecting = outbound.connect(site, neverAborted());
    const failed = assert.rejects(connecting, { name: 'DialError', code: 'timed_out' });
    await readExactly(server, 3);
    clock.advance(10_000);
    await failed;
    await server.closed;
  });

  test('a server is reached once it takes the request, and missed when it rejects the account', async () => {
    for (const [turns, isReached] of [
      [['01 01'], false],
      [['01 00', connectToSite, '05 05 00'], true],
    ] as const) {
      const { outbound, server } = scripted(account);
      const reach = new ServerReach();
      await Promise.all([
        assert.rejects(outbound.connect(site, { ...neverAborted(), reach }), { name: 'DialError' }),
        script(server, '05 01 02', '05 02', `01 03 'kim' 06 'sesame'`, ...turns),
      ]);
      assert.deepEqual([reach.isReached, reach.isMissed], [isReached, !isReached]);
    }
  });

  test('a flow that was given up during the dial sends nothing and releases the carrier', async () => {
    const { outbound, clock, server } = scripted();
    const signal = AbortSignal.abort(new Error('the client has left'));
    await assert.rejects(outbound.connect(site, { signal }), {
      name: 'DialError',
      code: 'aborted',
      message: /the client has left/,
    });
    await server.closed;
    assert.equal(clock.timers, 0);
  });

  test('an abort releases the carrier', async () => {
    const { outbound, clock, server } = scripted();
    const controller = new AbortController();
    const connecting = outbound.connect(site, { signal: controller.signal });
    const failed = assert.rejects(connecting, { name: 'DialError', code: 'aborted' });
    await readExactly(server, 3);
    controller.abort(new Error('the client closed'));
    await failed;
    await server.closed;
    assert.equal(clock.timers, 0);
  });

  test('the reason of an abort is kept when it is one of ours', async () => {
    const { outbound, server } = scripted();
    const controller = new AbortController();
    const connecting = outbound.connect(site, { signal: controller.signal });
    const reason = new DialError('timed_out', 'the dial took too long');
    const failed = assert.rejects(connecting, reason);
    await readExactly(server, 3);
    controller.abort(reason);
    await failed;
  });

  test('no message shows the password', async () => {
    const { outbound, server } = scripted(account);
    const [error] = await Promise.all([
      outbound.connect(site, neverAborted()).catch((error: unknown) => error),
      script(server, '05 01 02', '05 02', `01 03 'kim' 06 'sesame'`, '01 01'),
    ]);
    assert.ok(error instanceof DialError);
    assert.ok(!JSON.stringify([error.message, String(error.cause)]).includes('sesame'));
  });
});

/** Grants an association whose relay is `bound`. */
const grant = (server: ByteLink, bound: Endpoint): Promise<void> =>
  script(
    server,
    '05 01 00',
    '05 00',
    '05 03 00 01 00000000 0000',
    Buffer.from(encodeReply(5, 0, bound)).toString('hex'),
  );

describe('datagrams through the SOCKS outbound', () => {
  const loopback = (): Promise<UdpLink> => UdpLink.bind({ family: 4, address: '127.0.0.1' });

  async function associated(
    bound: (relay: UdpLink) => Endpoint,
    context: Partial<OutboundContext> = {},
    remote?: Endpoint,
  ): Promise<{ link: PacketLink; relay: UdpLink; server: ByteLink }> {
    const relay = await loopback();
    const { outbound, server } = scripted(noAccount, context, remote);
    const [link] = await Promise.all([
      outbound.associate(neverAborted()),
      grant(server, bound(relay)),
    ]);
    return { link, relay, server };
  }

  const framed = bytes(`0000 00 01 c0000207 0035 'query'`);
  const packet = { data: Buffer.from('query'), peer: { host: '192.0.2.7', port: 53 } };

  async function reaches(link: PacketLink, relay: UdpLink): Promise<Endpoint> {
    link.send(packet);
    const arrived = await relay.receive();
    assert.ok(arrived);
    assert.equal(Buffer.from(arrived.data).toString('hex'), framed.toString('hex'));
    return arrived.peer;
  }

  test('go to the relay that the server names', async () => {
    const { link, relay } = await associated(({ local }) => local);
    relay.send({ data: framed, peer: await reaches(link, relay) });
    const answer = await link.receive();
    assert.deepEqual({ ...answer?.peer }, packet.peer);
    assert.equal(Buffer.from(answer?.data ?? []).toString(), 'query');
    link.close();
    relay.close();
  });

  for (const unspecified of ['0.0.0.0', '::']) {
    test(`go to the server itself when it names ${unspecified}`, async () => {
      const { link, relay } = await associated(({ local: { port } }) => ({
        host: unspecified,
        port,
      }));
      await reaches(link, relay);
      link.close();
      relay.close();
    });
  }

  test('go to a link-local relay on the link of the server', () => {
    for (const [bound, server, host] of [
      ['fe80::2', 'fe80::1%eth0', 'fe80::2%eth0'],
      ['fe80::2', '2001:db8::1', 'fe80::2'],
      ['2001:db8::2', 'fe80::1%eth0', '2001:db8::2'],
      ['::', 'fe80::1%eth0', 'fe80::1%eth0'],
    ] as const) {
      assert.equal(relayHost(bound, server), host);
    }
  });

  test('get responses from a server whose address was written in another form', async () => {
    const { link, relay } = await associated(
      ({ local: { port } }) => ({ host: '::', port }),
      {},
      { host: '0:0:0:0:0:ffff:7f00:1', port: 1080 },
    );
    relay.send({ data: framed, peer: await reaches(link, relay) });
    assert.equal(Buffer.from((await link.receive())?.data ?? []).toString(), 'query');
    link.close();
    relay.close();
  });

  test('go to the address of the relay when the server names it by name', async () => {
    const { link, relay } = await associated(
      ({ local: { port } }) => ({ host: 'relay.example', port }),
      {
        resolver: {
          resolve: (host) => {
            assert.equal(host, 'relay.example');
            return Promise.resolve(['127.0.0.1', '192.0.2.1']);
          },
        },
      },
    );
    await reaches(link, relay);
    link.close();
    relay.close();
  });

  test('an unknown name of the relay fails the association and releases the carrier', async () => {
    const { outbound, server } = scripted();
    await Promise.all([
      assert.rejects(outbound.associate(neverAborted()), { name: 'DialError', code: 'not_found' }),
      grant(server, { host: 'relay.example', port: 1 }),
    ]);
    await server.closed;
  });

  test('a name of the relay without an address fails the association by that name', async () => {
    const { outbound, server } = scripted(noAccount, {
      resolver: { resolve: () => Promise.resolve([]) },
    });
    await Promise.all([
      assert.rejects(outbound.associate(neverAborted()), {
        name: 'DialError',
        code: 'not_found',
        message: 'relay.example: no address',
      }),
      grant(server, { host: 'relay.example', port: 1 }),
    ]);
    await server.closed;
  });

  test('go to the configured server when the connection to it has no address of its own', async () => {
    const relay = await loopback();
    const [near, server] = linkPair();
    const { outbound: client } = outbound(
      noAccount,
      () => ({ ...carrierOf(near), remote: undefined }),
      {
        resolver: {
          resolve: (host) => {
            assert.equal(host, 'proxy.example');
            return Promise.resolve(['127.0.0.1']);
          },
        },
      },
    );
    const [link] = await Promise.all([
      client.associate(neverAborted()),
      grant(server, { host: '0.0.0.0', port: relay.local.port }),
    ]);
    await reaches(link, relay);
    link.close();
    relay.close();
  });

  test('without a free descriptor fail for that client, and the carrier is released', async (t) => {
    const full = Object.assign(new Error('bind EMFILE'), { code: 'EMFILE' });
    const bind = t.mock.method(systemSockets(), 'bindUdp', () => Promise.reject(full));
    const { outbound, server } = scripted();
    const origin = { inbound: 'in', source: '192.0.2.5', user: undefined, session: undefined };
    await Promise.all([
      assert.rejects(outbound.associate({ ...neverAborted(), origin }), {
        name: 'DialError',
        code: 'failed',
        cause: full,
      }),
      grant(server, { host: '127.0.0.1', port: 9 }),
    ]);
    assert.deepEqual(
      bind.mock.calls.map(({ arguments: [options] }) => options?.association),
      ['192.0.2.5'],
    );
    await server.closed;
  });

  test('a relay without a port fails the association and releases the carrier', async () => {
    const { outbound, server } = scripted();
    await Promise.all([
      assert.rejects(outbound.associate(neverAborted()), { name: 'DialError', code: 'upstream' }),
      grant(server, { host: '0.0.0.0', port: 0 }),
    ]);
    await server.closed;
  });

  test('that do not come from the relay are dropped', async () => {
    const { link, relay } = await associated(({ local }) => local);
    const us = await reaches(link, relay);
    const [samePort, sameHost] = await Promise.all([
      UdpLink.bind({ family: 4, address: '127.0.0.2', port: relay.local.port }),
      loopback(),
    ]);
    const client = { host: '127.0.0.1', port: us.port };
    samePort.send({ data: framed, peer: client });
    sameHost.send({ data: framed, peer: client });
    await until(() => link.dropped === 2);
    relay.send({ data: framed, peer: client });
    assert.ok(await link.receive());
    for (const each of [link, relay, samePort, sameHost]) each.close();
  });

  test('end with a cause when the control connection ends', async () => {
    const { link, relay, server } = await associated(({ local }) => local);
    const pending = link.receive();
    await server.closeWrite();
    await assert.rejects(pending, { name: 'DialError', code: 'upstream' });
    assert.ok((await link.closed) instanceof DialError);
    await server.closed;
    relay.close();
  });

  test('end with a cause when the control connection is reset', async () => {
    const { link, relay, server } = await associated(({ local }) => local);
    const cut = new Error('reset');
    server.destroy(cut);
    assert.equal((await link.closed)?.cause, cut);
    relay.close();
  });

  test('end the control connection when they are closed', async () => {
    const { link, relay, server } = await associated(({ local }) => local);
    link.close();
    assert.equal(await link.closed, undefined);
    await server.closed;
    relay.close();
  });

  test('ignore what the server sends on the control connection', async () => {
    const { link, relay, server } = await associated(({ local }) => local);
    await server.write(Buffer.alloc(1000));
    await reaches(link, relay);
    link.close();
    relay.close();
  });
});

test('any reply to an association opens it or fails by a dial error, in time', async () => {
  const replies = nearly(
    bytes('05 00 05 00 00 01 00000000 0000'),
    bytes(`05 00 05 00 00 03 0b 'www.example' 0050`),
    bytes('05 00 05 05 00 01 00000000 0000'),
  );
  await fc.assert(
    fc.asyncProperty(replies, cuts, async (sent, at) => {
      const [near, server] = linkPair();
      const { outbound: client, clock } = outbound(noAccount, () => carrierOf(near));
      for (const chunk of chunksOf(sent, at)) void server.write(chunk);
      const associating = client.associate(neverAborted());
      const over = associating.then(
        (link) => link.close(),
        (error: unknown) => assert.ok(error instanceof DialError, String(error)),
      );
      for (let step = 0; step < 3; step++) {
        await new Promise((resolve) => setImmediate(resolve));
        clock.advance(step === 0 ? 0 : 10_000);
      }
      await over;
      await server.closed;
      assert.equal(clock.timers, 0);
    }),
    { numRuns: 50 },
  );
});
