import assert from 'node:assert/strict';
import { once } from 'node:events';
import * as http2 from 'node:http2';
import { connect } from 'node:net';
import test from 'node:test';
import { encodeHunks } from '../../src/transports/grpc/hunks.ts';
import { hostPort, open, portOf } from '../support/data/address.ts';
import { freedom, socksIn } from '../support/process/config.ts';
import { roundTrip } from '../support/read.ts';
import { echoServer } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { within } from '../support/wait.ts';
import { Weir } from '../support/process/weir.ts';

const KEY = Buffer.alloc(16, 'weir').toString('base64');
const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const SECRETS = [KEY, ID, 'correct horse'];

/** An inbound by its tag, its protocol and settings, and the reason it logs for unauthenticated clients. */
const INBOUNDS: readonly [tag: string, protocol: string, settings: string, reason: string][] = [
  ['trojan', 'trojan', 'users = [{ password = "correct horse" }]', 'trojan: invalid user'],
  ['no-users', 'trojan', '', 'trojan: invalid user'],
  ['vless', 'vless', `users = [{ id = "${ID}" }]`, 'vless: invalid user'],
  ['vmess', 'vmess', `users = [{ id = "${ID}" }]`, 'no user here made this VMess request'],
  [
    'legacy',
    'shadowsocks',
    'method = "aes-256-gcm"\npassword = "correct horse"',
    'shadowsocks: no user has a matching key',
  ],
  [
    'modern',
    'shadowsocks',
    `method = "2022-blake3-aes-128-gcm"\npassword = "${KEY}"`,
    'shadowsocks-2022: no user has a matching key',
  ],
  [
    'identities',
    'shadowsocks',
    `method = "2022-blake3-aes-128-gcm"\npassword = "${KEY}"\nusers = [{ password = "${KEY}" }]`,
    'shadowsocks-2022: no user has this identity',
  ],
];

test('rejected clients are logged at once at info, with the reason and without a secret', async () => {
  const inbounds = INBOUNDS.map(
    ([tag, protocol, settings]) =>
      `[[inbound]]\ntag = "${tag}"\nprotocol = "${protocol}"\nport = 0\n[inbound.settings]\n${settings}\n`,
  );
  await using weir = await Weir.start(freedom() + inbounds.join(''));
  for (const [tag, , , reason] of INBOUNDS) {
    const client = await open(weir.address(tag));
    client.on('error', () => undefined).resume();
    // The version of VLESS, and then an ID that no user has.
    client.write(Buffer.alloc(200));
    const line = ` INFO svc_app: inbound ${tag}: rejected 127.0.0.1: ${reason}\n`;
    await weir.child.until(line, ({ stderr }) => stderr.includes(line) || undefined);
    client.destroy();
  }
  for (const secret of SECRETS) assert.ok(!weir.child.stderr.includes(secret));
});

test('a gRPC client has few tunnels until one has authenticated, and many from then on', async () => {
  await using echo = await echoServer();
  await using weir = await Weir.start(
    `${freedom()}[[inbound]]\ntag = "grpc"\nprotocol = "vless"\nport = 0\n` +
      `[inbound.settings]\nusers = [{ id = "${ID}" }]\n` +
      '[inbound.stream]\nnetwork = "grpc"\ngrpc.service_name = "Tunnel"\n',
  );
  const session = http2.connect(`http://${hostPort(weir.address('grpc'))}`);
  try {
    await once(session, 'remoteSettings');
    assert.equal(session.remoteSettings.maxConcurrentStreams, 100);
    const tunnel = (): http2.ClientHttp2Stream => {
      const stream = session.request(
        { ':method': 'POST', ':path': '/Tunnel/Tun', 'content-type': 'application/grpc' },
        { endStream: false },
      );
      return stream.on('error', () => undefined);
    };
    for (let i = 0; i < 99; i++) tunnel();
    const wanted = tunnel();
    const request = Buffer.concat([
      Buffer.from([0]),
      Buffer.from(ID.replaceAll('-', ''), 'hex'),
      Buffer.from([0, 1, echo.target.port >> 8, echo.target.port & 0xff, 1, 127, 0, 0, 1]),
      Buffer.from('hello'),
    ]);
    wanted.write(Buffer.concat(encodeHunks(request)));
    // The prefix of a message, its field, and the response of VLESS come before.
    let response = '';
    for await (const chunk of wanted) {
      response += String(chunk);
      if (response.endsWith('hello')) break;
    }
    assert.match(response, /hello$/);
    assert.ok((session.remoteSettings.maxConcurrentStreams ?? 0) >= 256);
  } finally {
    session.destroy();
  }
});

test('silent clients do not take every descriptor of a process that has few', async () => {
  await using echo = await echoServer();
  const wrap = ['prlimit', '--nofile=300:300'];
  await using weir = await Weir.start(`[log]\nlevel = "debug"\n${freedom()}${socksIn('in')}`, {
    wrap,
  });
  const port = portOf(weir.address('in'));
  const silent = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const socket = connect({ host: '127.0.0.1', port, localAddress: '127.0.0.2' });
      socket.on('error', () => undefined).resume();
      // Some are disconnected before they learn that they were connected.
      await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
      return socket;
    }),
  );
  try {
    const socket = await within(socksConnect(weir.address('in'), echo.target), 'a connection');
    assert.equal(String(await roundTrip(socket, 'hello')), 'hello');
    socket.destroy();
    // They have given way; otherwise they would have kept the listener busy for their ten seconds.
    await weir.child.until('all but 38 were disconnected', ({ stderr }) => {
      const lines = stderr.match(/too many clients have not authenticated/g) ?? [];
      return lines.length === 200 - 38 || undefined;
    });
  } finally {
    for (const one of silent) one.destroy();
  }
});
