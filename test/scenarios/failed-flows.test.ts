import assert from 'node:assert/strict';
import { once } from 'node:events';
import test, { after, before } from 'node:test';
import type { Target } from '../support/peers/socks-client.ts';
import { SocksRefused, socksConnect } from '../support/peers/socks-client.ts';
import { blackhole, freedom, proxyOut, rule, socksIn } from '../support/process/config.ts';
import { freePort } from '../support/ports.ts';
import { readAll, roundTrip } from '../support/read.ts';
import { bannerServer, echoServer, tcpServer, type Origin } from '../support/peers/servers.ts';
import { API, Control } from '../support/process/control.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import type { Way } from '../support/ways/way.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { Weir } from '../support/process/weir.ts';

const TROJAN = { protocol: 'trojan' } as const;
const OVER_TLS: Way = { ...TROJAN, carrier: { network: 'tcp', tls: true } };
const OVER_WS: Way = { ...TROJAN, carrier: { network: 'ws' } };
const OVER_GRPC: Way = { ...TROJAN, carrier: { network: 'grpc' } };

/** Servers that know the right secrets, one for each way. */
const WAYS: Readonly<Record<string, Way>> = {
  trojan: TROJAN,
  vless: { protocol: 'vless' },
  vmess: { protocol: 'vmess' },
  ss: { protocol: 'shadowsocks', cipher: 'aes-128-gcm' },
  ss2022: { protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm' },
  http: { protocol: 'http', login: true },
  socks: { protocol: 'socks', login: true },
  tls: OVER_TLS,
  ws: OVER_WS,
  grpc: OVER_GRPC,
};

/** What the log says of a flow by each, when the client has another secret than the server. */
const WRONG_SECRETS: Readonly<Record<string, RegExp>> = {
  trojan: /the server closed the connection without sending anything; a wrong password looks like/,
  vless: /the VLESS server closed without a response; an unknown id looks like this/,
  vmess: /; an unknown id or a wrong clock looks like this/,
  ss: /; a wrong password or method looks like this/,
  ss2022: /; a wrong password or method looks like this/,
  http: /the proxy rejected the credentials \(407 /,
  socks: /the SOCKS server rejected the user name or password/,
};

let exit: Weir;
let control: Control;
let closes: Origin;
let resets: Origin;
let echo: Origin;
let closedPort: number;

before(async () => {
  exit = await Weir.start(
    Object.entries(WAYS)
      .map(([tag, way]) => weirIn(way, { tag }))
      .join('') + freedom(),
  );
  closes = await tcpServer((socket) => void socket.once('data', () => socket.end()));
  resets = await tcpServer((socket) => void socket.once('data', () => socket.resetAndDestroy()));
  echo = await echoServer();
  closedPort = await freePort();
  const wrong = Object.keys(WRONG_SECRETS);
  const outbounds = [
    freedom(),
    blackhole(),
    ...wrong.map((tag) => {
      const way = { ...WAYS[tag], credentials: 'wrong' } as Way;
      return weirOut(way, exit.address(tag), { tag });
    }),
    weirOut(OVER_TLS, exit.address('tls'), { tag: 'tls' }).replace('"server.test"', '"other.test"'),
    weirOut(OVER_WS, exit.address('ws'), { tag: 'ws' }).replace('/tunnel', '/elsewhere'),
    weirOut(OVER_GRPC, exit.address('grpc'), { tag: 'grpc' }).replace('"Tunnel"', '"Other"'),
    proxyOut('refuses', 'socks', exit.address('socks'), 'user = "mia"\npass = "s3cret"'),
  ];
  const names = [...wrong, 'tls', 'ws', 'grpc', 'refuses', 'block'];
  const config = [
    API,
    socksIn('in'),
    ...outbounds,
    ...names.map((name) => rule(name, `domain_full = ["${name}.test"]`)),
    rule('trojan', 'port = ["5300"]\nnetwork = "udp"'),
    `[dns]\nbackend = "udp"\nserver = "127.0.0.1:${closedPort}"\n`,
  ].join('\n');
  control = await Control.of(await Weir.start(config, { env: { RUST_LOG: 'debug' } }));
});

after(async () => {
  for (const each of [control?.weir, exit, closes, resets, echo])
    await each?.[Symbol.asyncDispose]();
});

/** Servers that wait for the end of what they cannot read, so that its length tells nothing. */
const PATIENT: ReadonlySet<string> = new Set(['vmess', 'ss', 'ss2022']);

/** Sends a request by a connection that the proxy grants or refuses, and waits for its end. */
async function fails(target: Target, half = false): Promise<void> {
  try {
    const socket = await socksConnect(control.weir.address('in'), target);
    socket.on('error', () => undefined);
    socket.write('a request');
    if (half) socket.end();
    await readAll(socket);
    socket.destroy();
  } catch (error) {
    if (!(error instanceof SocksRefused)) throw error;
  }
}

/** The lines of level info and above about flows to a target. */
const linesOf = ({ host, port }: Target): string[] =>
  control.lines.filter(
    (line) => /^(INFO|WARN|ERROR) /.test(line) && line.includes(` ${host}:${port}`),
  );

/** Waits for the one line of a flow, and for what would have come with it. */
async function lineOf(target: Target, network = 'tcp'): Promise<string> {
  await control.logged(`INFO svc_app: in -> ${network} ${target.host}:${target.port} by `);
  await settled();
  const [line = '', ...more] = linesOf(target);
  assert.deepEqual(more, []);
  return line;
}

/** Everything before it has been logged: the line of a flow of its own has come. */
let marks = 0;
async function settled(): Promise<void> {
  const port = 60_000 + marks++;
  await fails({ host: 'block.test', port });
  await control.logged(`block.test:${port}`);
}

const rules = (): readonly string[] => [
  ...Object.keys(WRONG_SECRETS),
  'tls',
  'ws',
  'grpc',
  'refuses',
];

for (const [tag, cause] of Object.entries(WRONG_SECRETS)) {
  test(`${tag}: a wrong secret upstream is one line with its rule and what is suspected`, async () => {
    const target = { host: `${tag}.test`, port: 80 };
    await fails(target, PATIENT.has(tag));
    const line = await lineOf(target);
    assert.match(line, cause);
    assert.ok(line.startsWith(`INFO svc_app: in -> tcp ${tag}.test:80 by ${tag}: `), line);
    assert.ok(line.endsWith(`(rule ${rules().indexOf(tag)})`), line);
  });
}

const CARRIERS: readonly (readonly [string, RegExp])[] = [
  ['tls', /TLS: .*(other\.test|name)/i],
  ['ws', /404/],
  ['grpc', /gRPC: the server ended the call with status 12 \(/],
  ['refuses', /reply of the SOCKS server for refuses\.test:80: /],
];

for (const [tag, cause] of CARRIERS) {
  test(`${tag}: a server that rejects the connection is one line with its reason`, async () => {
    const target = { host: `${tag}.test`, port: 80 };
    await fails(target);
    const line = await lineOf(target);
    assert.match(line, cause);
    assert.ok(line.endsWith(`(rule ${rules().indexOf(tag)})`), line);
  });
}

const DIRECT: readonly (readonly [string, () => Target, RegExp])[] = [
  ['refuses', () => ({ host: '127.0.0.1', port: closedPort }), /connection refused/],
  ['closes', () => closes.target, /the server closed the connection without sending anything/],
  ['resets', () => resets.target, /the server reset the connection without sending anything/],
  ['does not resolve', () => ({ host: 'origin.test', port: 80 }), /DNS server .*refused/],
];

for (const [what, target, cause] of DIRECT) {
  test(`a destination that ${what} is one line`, async () => {
    await fails(target());
    const line = await lineOf(target());
    assert.match(line, cause);
    assert.ok(line.endsWith('(default route)'), line);
  });
}

test('a datagram tunnel that the server closes is one line', async () => {
  using client = await UdpAssociation.open(control.weir.address('in'));
  const target = { host: 'names.test', port: 5300 };
  client.send(target, Buffer.from('query'));
  const line = await lineOf(target, 'udp');
  assert.match(line, /in -> udp names\.test:5300 by trojan: .*without sending anything/);
});

test('flows that end as they should are no line', async (t) => {
  const socks = control.weir.address('in');
  const closed = (id: number): Promise<void> => control.logged(`flow ${id} closed`);
  const nextFlow = (): number => control.count(' opened (') + 1;
  const silent = async (target: Target): Promise<void> => {
    await settled();
    assert.deepEqual(linesOf(target), []);
  };

  await t.test('one with a response', async () => {
    await using banner = await bannerServer('welcome');
    const flow = nextFlow();
    await fails(banner.target);
    await closed(flow);
    await silent(banner.target);
  });
  await t.test('one whose client leaves without a request', async () => {
    const flow = nextFlow();
    const socket = await socksConnect(socks, echo.target);
    socket.end();
    await once(socket.resume(), 'close');
    await closed(flow);
    await silent(echo.target);
  });
  await t.test('one whose client resets its connection without a request', async () => {
    const flow = nextFlow();
    (await socksConnect(socks, echo.target)).resetAndDestroy();
    await closed(flow);
    await silent(echo.target);
  });
  await t.test('one that the operator closes', async () => {
    await using quiet = await tcpServer((socket) => void socket.resume());
    const flow = nextFlow();
    const socket = await socksConnect(socks, quiet.target);
    socket.on('error', () => undefined);
    socket.write('a request');
    await control.logged(`flow ${flow} in`);
    const { status } = await control.api.ask('DELETE', `/v1/connections/${flow}`);
    assert.equal(status, 204);
    await closed(flow);
    await silent(quiet.target);
    socket.destroy();
  });
  await t.test('one to a blackhole', () => silent({ host: 'block.test', port: 443 }));
});

test('debug lines of a flow name its rule, its user and its source', async () => {
  const socket = await socksConnect(control.weir.address('in'), echo.target);
  assert.equal(String(await roundTrip(socket, 'hi')), 'hi');
  socket.end();
  const opened = `in -> tcp 127.0.0.1:${echo.port} by direct opened (default route, from 127.0.0.1)`;
  await control.logged(opened);
  await control.logged('closed: 2 bytes up, 2 down');
  socket.destroy();
});

test('a flood of failing flows is a bounded number of lines', async () => {
  await using weir = await Weir.start(socksIn() + freedom());
  const socks = weir.address('socks');
  const ports = Array.from({ length: 400 }, (_, index) => index + 1);
  // Privileged ports of an address of loopback at which nothing listens.
  for (let at = 0; at < ports.length; at += 40) {
    await Promise.all(
      ports.slice(at, at + 40).map(async (port) => {
        await assert.rejects(socksConnect(socks, { host: '127.9.9.9', port }), SocksRefused);
      }),
    );
  }
  for (let i = 0; i < 50; i++) {
    await assert.rejects(socksConnect(socks, { host: '127.9.9.9', port: 1 }), SocksRefused);
  }
  await weir.stop();
  const lines = weir.child.stderr.split('\n').filter((line) => line.includes('127.9.9.9'));
  assert.equal(lines.length, 128 + 1);
  assert.match(lines.at(-1) ?? '', /127\.9\.9\.9:1: connection refused \(default route\); 50 more/);
  assert.match(weir.child.stderr, /: 272 other flows failed in the last minute$/m);
});
