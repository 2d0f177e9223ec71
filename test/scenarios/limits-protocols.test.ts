import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { requestAllLimits, requestReload } from '@weir/server/control';
import { freedom, rule, socksIn } from '../support/process/config.ts';
import { echoServer, udpEcho, type Origin } from '../support/peers/servers.ts';
import { socksConnect } from '../support/peers/socks-client.ts';
import { UdpAssociation } from '../support/peers/socks-udp.ts';
import type { Address } from '../support/data/address.ts';
import { roundTrip } from '../support/read.ts';
import { eventually, within } from '../support/wait.ts';
import { scratch, Weir } from '../support/process/weir.ts';
import { ACCOUNT_WAYS, asAccount, withAccount } from '../support/ways/accounts.ts';
import { carriesDatagrams, wayTitle, type Way } from '../support/ways/way.ts';
import { weirIn, weirOut } from '../support/ways/weir-config.ts';

const OPEN = '[[limit]]\nuser = "*"\nbytes = "1 GB"\n';
const EXPIRED = `${OPEN}until = "2020-01-01"\n`;

/** Flows of one way. */
class Flows implements Disposable {
  readonly title: string;
  readonly stream: Socket;
  readonly closed: Promise<unknown>;
  readonly #association: UdpAssociation | undefined;

  private constructor(title: string, stream: Socket, association: UdpAssociation | undefined) {
    this.title = title;
    this.stream = stream;
    this.closed = new Promise((resolve) => stream.on('close', resolve));
    stream.on('error', () => undefined);
    this.#association = association;
  }

  static async open(way: Way, socks: Address, tcp: Origin, udp: Origin): Promise<Flows> {
    const stream = await socksConnect(socks, tcp.target);
    assert.equal((await roundTrip(stream, 'ping')).toString(), 'ping', wayTitle(way));
    if (!carriesDatagrams(way)) return new Flows(wayTitle(way), stream, undefined);
    const association = await UdpAssociation.open(socks);
    association.send(udp.target, 'pong');
    assert.equal((await association.receive()).data.toString(), 'pong');
    return new Flows(wayTitle(way), stream, association);
  }

  [Symbol.dispose](): void {
    this.stream.destroy();
    this.#association?.[Symbol.dispose]();
  }
}

/** Whether a new flow reaches its destination; refusals of carriers come after the client was accepted. */
async function isServed(socks: Address, { target }: Origin): Promise<boolean> {
  try {
    const socket = await socksConnect(socks, target);
    socket.on('error', () => undefined);
    const ended = new Promise<boolean>((resolve) => {
      socket.on('close', () => resolve(false)).once('data', () => resolve(true));
    });
    socket.write('hello');
    const served = await within(ended, 'an echo or an end');
    socket.destroy();
    return served;
  } catch {
    return false;
  }
}

test('an account at a limit has its flows closed and new ones refused, whatever the protocol and the carrier', async (t) => {
  await using folder = await scratch();
  const file = join(folder.path, 'limits.toml');
  await writeFile(file, OPEN);
  await using tcp = await echoServer();
  await using udp = await udpEcho();
  const tags = ACCOUNT_WAYS.map((way, i) => ({ way, tag: `${way.protocol}-${i}` }));
  const inbounds = tags.map(({ way, tag }) => withAccount(weirIn(way, { tag })));
  await using server = await Weir.start(inbounds.join('') + freedom(), {
    control: true,
    args: ['--limits', file],
  });
  const outbounds = tags.map(({ way, tag }) =>
    asAccount(way, weirOut(way, server.address(tag), { tag: `to-${tag}` })),
  );
  const entries = tags.map(({ tag }) => socksIn(tag, '[inbound.settings]\nudp = true'));
  const rules = tags.map(({ tag }) => rule(`to-${tag}`, `inbound_tag = ["${tag}"]`));
  await using client = await Weir.start([...entries, ...outbounds, ...rules].join(''));
  using stack = new DisposableStack();
  const all: { readonly socks: Address; readonly flows: Flows }[] = [];
  for (const { way, tag } of tags) {
    const socks = client.address(tag);
    all.push({ socks, flows: stack.use(await Flows.open(way, socks, tcp, udp)) });
  }
  const { accounts } = await requestAllLimits(server.controlPath);
  const flowsOpen = accounts.reduce((sum, { flows }) => sum + flows, 0);
  const expected = ACCOUNT_WAYS.reduce((sum, way) => sum + (carriesDatagrams(way) ? 2 : 1), 0);
  assert.equal(flowsOpen, expected);
  for (const { used } of accounts) assert.ok(used >= 8);

  await writeFile(file, EXPIRED);
  await requestReload(server.controlPath);
  for (const { flows } of all) {
    await t.test(`${flows.title}: the open flow is closed`, async () => {
      await within(flows.closed, 'the end of the flow');
    });
  }
  await eventually('no flow is left, datagrams included', async () => {
    const report = await requestAllLimits(server.controlPath);
    return report.accounts.every(({ flows, state }) => flows === 0 && state === 'until');
  });
  for (const { socks, flows } of all) {
    await t.test(`${flows.title}: a new flow is refused`, async () => {
      assert.equal(await isServed(socks, tcp), false);
    });
  }
  await writeFile(file, OPEN);
  await requestReload(server.controlPath);
  for (const { socks, flows } of all) {
    await t.test(`${flows.title}: the account works again`, async () => {
      assert.equal(await isServed(socks, tcp), true);
    });
  }
});
