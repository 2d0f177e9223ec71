import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import test from 'node:test';
import { Status } from '../../packages/proxy/src/mux/frame.ts';
import { hostPort, open } from '../support/data/address.ts';
import { httpIn, rule, socksIn } from '../support/process/config.ts';
import { Control } from '../support/process/control.ts';
import { exchange, Hysteria2Clients, openEcho } from '../support/peers/hysteria2-clients.ts';
import { END, frame } from '../support/peers/mux-client.ts';
import { muxOver } from '../support/peers/mux-over-vless.ts';
import { freePort } from '../support/ports.ts';
import { readAll, readExactly, readHead } from '../support/read.ts';
import { webServer, type Origin } from '../support/peers/servers.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import { eventually, within } from '../support/wait.ts';
import {
  around,
  openPlaces,
  removeAccounts,
  withOtherSecrets,
  type Subject,
} from '../support/process/removed-account.ts';
import { ID, LOGIN, OTHER_ID, PASSWORD, shadowsocksSecrets } from '../support/ways/secrets.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';
import { CARRIERS, carriesDatagrams, isModern, wayTitle, type Way } from '../support/ways/way.ts';
import { Weir } from '../support/process/weir.ts';

const ofWeir = CARRIERS.filter(({ multi = false }) => !multi);

/** Every protocol with accounts, on every carrier that it has. */
const WAYS: readonly Way[] = [
  { protocol: 'socks', login: true },
  { protocol: 'http', login: true },
  ...ofWeir.map((carrier): Way => ({ protocol: 'trojan', carrier })),
  ...ofWeir.map((carrier): Way => ({ protocol: 'vless', carrier })),
  ...ofWeir.map((carrier): Way => ({ protocol: 'vmess', cipher: 'aes-128-gcm', carrier })),
  { protocol: 'shadowsocks', cipher: 'aes-128-gcm' },
  { protocol: 'shadowsocks', cipher: 'chacha20-ietf-poly1305', users: true },
  { protocol: 'shadowsocks', cipher: '2022-blake3-aes-256-gcm' },
  { protocol: 'shadowsocks', cipher: '2022-blake3-aes-128-gcm', users: true },
  { protocol: 'shadowsocks', cipher: '2022-blake3-chacha20-poly1305' },
  { protocol: 'hysteria2' },
  { protocol: 'hysteria2', obfuscated: true },
];

/** Another user of the same inbound, by the secrets of which it is one; `undefined` without one. */
function otherUser(way: Way, settings: string): string | undefined {
  const [first = '', second] = shadowsocksSecrets(way).users;
  switch (way.protocol) {
    case 'socks':
    case 'http':
      return settings.replace(LOGIN.user, 'guest0').replace(LOGIN.pass, 'guest');
    case 'trojan':
      return settings.replace(PASSWORD, 'guest 0');
    case 'vless':
    case 'vmess':
      return settings.replace(ID, OTHER_ID);
    case 'shadowsocks': {
      if (way.users !== true) return undefined;
      return settings.replace(isModern(way) ? (second ?? '') : PASSWORD, first);
    }
    case 'hysteria2':
      return undefined;
    default:
      return way.protocol satisfies never;
  }
}

/** Without XUDP, which Weir does not send, each destination has a session. */
const hasApart = ({ protocol }: Way): boolean => protocol === 'vless' || protocol === 'vmess';

test('a removed account opens no further flow, whatever the protocol and the carrier', async (t) => {
  await using places = await openPlaces();
  const tags = WAYS.map((way, i) => ({ way, tag: `${way.protocol}-${i}` }));
  const config = around(
    tags.map(({ way, tag }) => weirIn(way, { tag, guests: 1 })).join(''),
    places,
  );
  await using exit = await Weir.start(config);
  const outbounds = tags.flatMap(({ way, tag }) => {
    const out = weirOut(way, exit.address(tag), { tag: `to-${tag}` });
    const other = otherUser(way, out)?.replace(`to-${tag}`, `to-other-${tag}`);
    return [{ tag, out }, ...(other === undefined ? [] : [{ tag: `other-${tag}`, out: other }])];
  });
  const entry = outbounds.map(({ tag, out }) => `${socksIn(tag)}${out}`).join('');
  const rules = outbounds.map(({ tag }) => rule(`to-${tag}`, `inbound_tag = ["${tag}"]`)).join('');
  await using client = await Weir.start(entry + rules);
  const subjectOf = ({ way, tag }: (typeof tags)[number], socks = tag): Subject => ({
    title: wayTitle(way),
    tag,
    socks: client.address(socks),
    sharesStreams: way.protocol === 'hysteria2',
    datagrams: !carriesDatagrams(way) ? 'none' : hasApart(way) ? 'apart' : 'shared',
  });
  const subjects = tags.map((one) => subjectOf(one));
  const bystanders = tags
    .filter(({ tag }) => client.addresses.has(`other-${tag}`))
    .map((one) => subjectOf(one, `other-${one.tag}`));
  const server = await Control.of(exit);
  const removed = withOtherSecrets(config, WAYS);
  await removeAccounts(t, server, subjects, places, { config, removed, bystanders });
});

test('what a reload makes of an inbound decides whether its sessions open flows', async (t) => {
  await using places = await openPlaces();
  const accounts = (...names: string[]): string =>
    `auth = "password"\naccounts = [${names.map((user) => `{ user = "${user}", pass = "x" }`).join(', ')}]`;
  const inbound = (tag: string, settings: string, more = ''): string =>
    socksIn(tag, `${more}\n[inbound.settings]\nudp = true\n${settings}`);
  const ann = accounts('ann');
  const cases = [
    { tag: 'removed', before: ann, after: '', stands: false },
    {
      tag: 'moved',
      before: ann,
      after: inbound('moved', ann).replace('port = 0', `port = ${await freePort()}`),
      stands: true,
    },
    {
      tag: 'another-user',
      before: accounts('ann', 'bob'),
      after: inbound('another-user', accounts('bob')),
      stands: false,
    },
    {
      tag: 'another-password',
      before: ann,
      after: inbound('another-password', ann.replace('"x"', '"y"')),
      stands: false,
    },
    {
      tag: 'more-users',
      before: ann,
      after: inbound('more-users', accounts('bob', 'ann')),
      stands: true,
    },
    {
      tag: 'unsniffed',
      before: ann,
      after: inbound('unsniffed', ann, 'sniffing = false'),
      stands: true,
    },
    { tag: 'closed', before: 'auth = "none"', after: inbound('closed', ann), stands: false },
    { tag: 'opened', before: ann, after: inbound('opened', 'auth = "none"'), stands: false },
    {
      tag: 'still-open',
      before: 'auth = "none"',
      after: inbound('still-open', 'auth = "none"', 'sniffing = false'),
      stands: true,
    },
    {
      tag: 'another-protocol',
      before: ann,
      after: weirIn({ protocol: 'trojan' }, { tag: 'another-protocol' }),
      stands: false,
    },
    {
      tag: 'another-kind',
      before: ann,
      after: weirIn({ protocol: 'hysteria2' }, { tag: 'another-kind' }),
      stands: false,
    },
  ] as const;
  await using weir = await Weir.start(
    around(cases.map(({ tag, before }) => inbound(tag, before)).join(''), places),
  );
  const server = await Control.of(weir);
  await using stack = new AsyncDisposableStack();
  const exchange = async (association: UdpAssociation, { target }: Origin): Promise<void> => {
    association.send(target, 'hello');
    assert.equal(String((await association.receive()).data), 'hello');
  };
  const sessions = await Promise.all(
    cases.map(async ({ tag, before, stands }) => {
      const login = before.includes('none') ? {} : { user: 'ann', pass: 'x' };
      const association = stack.use(await UdpAssociation.open(weir.address(tag), login));
      await exchange(association, places.udp);
      return { tag, stands, association };
    }),
  );
  const report = await server.apply(around(cases.map(({ after }) => after).join(''), places));
  assert.deepEqual([report.removed, report.rebound], [['removed'], ['moved', 'another-kind']]);
  for (const { tag, stands, association } of sessions) {
    await t.test(tag, async () => {
      await exchange(association, places.udp);
      if (stands) {
        await exchange(association, places.otherUdp);
        return;
      }
      association.send(places.forbiddenUdp.target, 'let me out');
      await exchange(association, places.udp);
      const flow = (await server.connections()).flows.find(({ inbound }) => inbound === tag);
      const ended = readAll(association.control);
      const { status } = await server.api.ask('DELETE', `/v1/connections/${flow?.id}`);
      assert.equal(status, 204);
      assert.equal((await within(ended, 'the end of the control connection')).data.length, 0);
    });
  }
  assert.equal(places.forbiddenUdp.accepted(), 0);
});

test('sessions without a flow end with the reload that removes their account', async (t) => {
  await using places = await openPlaces();
  const ways: readonly Way[] = [
    { protocol: 'socks', login: true },
    { protocol: 'http', login: true },
    { protocol: 'vless' },
    { protocol: 'hysteria2' },
  ];
  const config = around(ways.map((way) => weirIn(way)).join(''), places);
  await using weir = await Weir.start(config);
  const server = await Control.of(weir);
  await using web = await webServer();
  await using stack = new AsyncDisposableStack();

  using association = await UdpAssociation.open(weir.address('socks'), LOGIN);
  const http = await open(weir.address('http'));
  stack.defer(() => void http.destroy());
  assert.equal(await get(http, hostPort(web), LOGIN), 200);
  const { client: mux, link } = await muxOver(weir.address('vless'));
  stack.defer(() => link.destroy());
  await mux.open(1, places.echo.target, 'hello');
  assert.equal(await mux.data(1, 5), 'hello');
  await mux.send(frame(1, END));
  assert.equal((await mux.next()).head.status, Status.end);
  using clients = new Hysteria2Clients(weir.address('hysteria2'), PASSWORD);
  const hysteria = clients.create();
  stack.defer(() => hysteria.close());
  const stream = await openEcho(hysteria, places.echo);
  await exchange(stream, 1000);
  await stream.closeWrite();
  while ((await stream.read()) !== undefined);
  await eventually('nothing but idle sessions', async () => {
    const { flows, sessions } = await server.connections();
    return sessions.length === ways.length && flows.every(({ inbound }) => inbound === 'http');
  });

  await server.apply(withOtherSecrets(config, ways));
  await t.test('cleanly', async () => {
    assert.equal((await readAll(association.control)).clean, true);
    assert.equal((await readAll(http)).clean, true);
    assert.equal(await link.read(), undefined);
  });
  await eventually(
    'the end of all sessions',
    async () => (await server.connections()).sessions.length === 0,
  );
});

test('a kept HTTP connection is asked for what is valid now', async () => {
  await using web = await webServer();
  await using places = await openPlaces();
  const at = hostPort(web);
  const config = (pass?: string): string =>
    around(
      httpIn(
        'http',
        pass === undefined
          ? ''
          : `[inbound.settings]\naccounts = [{ user = "ann", pass = "${pass}" }]`,
      ),
      places,
    );
  await using weir = await Weir.start(config());
  const server = await Control.of(weir);
  const http = await open(weir.address('http'));
  using stack = new DisposableStack();
  stack.defer(() => void http.destroy());
  /** The status of a request that is under way while a reload applies a configuration. */
  const during = async (wanted: string, pass?: string): Promise<number> => {
    const text = requestOf(at, pass === undefined ? undefined : { user: 'ann', pass });
    http.write(text.slice(0, 20));
    // The first bytes have come when another connection, made after them, is served.
    const other = await open(weir.address('http'));
    other.write('GET / HTTP/1.1\r\n\r\n');
    await readHead(other);
    other.destroy();
    await server.apply(wanted);
    http.write(text.slice(20));
    return responseStatus(http);
  };
  assert.equal(await get(http, at), 200);
  assert.equal(await during(config('one')), 407);
  assert.equal(await get(http, at, { user: 'ann', pass: 'one' }), 200);
  assert.equal(await during(config('two'), 'one'), 407);
  assert.equal(await get(http, at, { user: 'ann', pass: 'two' }), 200);
  assert.equal(await during(around(socksIn(), places), 'two'), 403);
  assert.equal((await readAll(http)).clean, true);
});

const requestOf = (
  at: string,
  login?: { readonly user: string; readonly pass: string },
): string => {
  const credentials = login && Buffer.from(`${login.user}:${login.pass}`).toString('base64');
  const header = credentials === undefined ? '' : `Proxy-Authorization: Basic ${credentials}\r\n`;
  return `GET http://${at}/hello HTTP/1.1\r\nHost: ${at}\r\n${header}\r\n`;
};

async function get(
  ...[http, ...request]: [Socket, ...Parameters<typeof requestOf>]
): Promise<number> {
  http.write(requestOf(...request));
  return responseStatus(http);
}

/** Reads a response with its body. */
async function responseStatus(http: Socket): Promise<number> {
  const head = await readHead(http);
  const [, length = '0'] = /^content-length: (\d+)/im.exec(head) ?? [];
  if (Number(length) > 0) await readExactly(http, Number(length));
  else if (/^transfer-encoding: chunked/im.test(head)) {
    let body = '';
    while (!body.endsWith('0\r\n\r\n')) body += String(await readExactly(http, 1));
  }
  return Number(head.split(' ')[1]);
}
