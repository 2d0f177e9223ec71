import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClashProvider } from '../../packages/watch/src/clash-api/contract.ts';
import { addSource, updateTools } from '@weir/nodes/subscribe';
import { ClashProcess } from '../support/clash/clash-process.ts';
import { SteeredWeir } from '../support/clash/steered-weir.ts';
import { tcpServer } from '../support/peers/servers.ts';
import { CapturedIo } from '../support/process/captured-io.ts';
import { eventually } from '../support/wait.ts';

interface Snapshot {
  readonly connections: readonly {
    readonly id: string;
    readonly chains: readonly string[];
    readonly rule: string;
  }[];
  readonly uploadTotal: number;
}

/** What a provider sends beside its list. */
const QUOTA = 'Subscription-Userinfo: upload=1; download=2; total=100\r\nConnection: close\r\n';

/** An entry of a list that takes time to read. */
const UNUSABLE = '- {name: nara, type: ss, server: 10.0.0.1, port: 1, cipher: x, password: x}';

/** A server as a share link; nothing is there. */
const node = (name: string, port: number): string =>
  `trojan://secret@127.0.0.1:${port + 4000}?sni=x.example#${name}`;

test('weir clash-api shows and steers a running Weir', async (t) => {
  await using steered = await SteeredWeir.start();
  await using clash = await ClashProcess.start(['--socket', steered.weir.controlPath]);
  const proxy = async (name: string) =>
    (await clash.ask('GET', `/proxies/${encodeURIComponent(name)}`)).json as Record<
      string,
      unknown
    >;

  await t.test('groups, nodes and balancers', async () => {
    const { type, now, all } = await proxy('Video');
    assert.deepEqual([type, now], ['Selector', 'tokyo']);
    assert.deepEqual(all, ['first', 'second', 'japan', 'tokyo', 'osaka', 'direct', 'blackhole']);
    assert.equal((await proxy('osaka'))['type'], 'Socks5');
    const japan = await proxy('japan');
    assert.deepEqual([japan['type'], japan['all']], ['Fallback', ['first', 'second']]);
  });

  await t.test('connections by WebSocket, until they are closed', async () => {
    const flow = await steered.openFlow();
    using stream = clash.stream('/connections?interval=100');
    const latest = () => stream.values.at(-1) as Snapshot | undefined;
    const [open] = await eventually('the flow', () => {
      const connections = latest()?.connections ?? [];
      return connections.length > 0 && connections;
    });
    assert.deepEqual([open?.chains, open?.rule], [['tokyo', 'Video'], 'DstPort']);
    const { json } = await clash.ask('GET', '/connections');
    const { connections, uploadTotal } = json as Snapshot;
    assert.deepEqual(
      connections.map(({ id }) => id),
      [open?.id],
    );
    assert.equal(uploadTotal, 5);
    const closed = new Promise((resolve) => flow.once('close', resolve));
    assert.equal((await clash.ask('DELETE', `/connections/${open?.id}`)).status, 204);
    await closed;
    await eventually('its end', () => latest()?.connections.length === 0);
  });

  await t.test('delays, of one node and of a group', async () => {
    const url = encodeURIComponent(steered.testUrl);
    const one = await clash.ask('GET', `/proxies/osaka/delay?url=${url}&timeout=5000`);
    const { delay } = one.json as { readonly delay: number };
    assert.ok(one.status === 200 && delay > 0);
    const group = await clash.ask('GET', `/group/Video/delay?url=${url}&timeout=5000`);
    assert.deepEqual(Object.keys(group.json as object).toSorted(), [
      'first',
      'japan',
      'osaka',
      'second',
      'tokyo',
    ]);
    const refused = await clash.ask('GET', `/proxies/blackhole/delay?url=${url}&timeout=5000`);
    assert.deepEqual(
      [refused.status, refused.json],
      [503, { message: 'An error occurred in the delay test' }],
    );
    assert.equal(((await proxy('osaka'))['history'] as readonly unknown[]).length, 2);
  });

  await t.test('picks, and the log of the reload', async () => {
    using log = clash.stream('/logs?level=info');
    const picked = await eventually('the log', async () => {
      const { now } = await proxy('Video');
      const name = now === 'osaka' ? 'tokyo' : 'osaka';
      assert.equal((await clash.ask('PUT', '/proxies/Video', { name })).status, 204);
      return log.values.length > 0 && name;
    });
    assert.equal((await proxy('Video'))['now'], picked);
    const [line] = log.values as readonly { readonly type: string; readonly payload: string }[];
    assert.equal(line?.type, 'info');
    assert.match(line?.payload ?? '', /^svc_app::instance: config reloaded: built route/);
  });

  await t.test('subscriptions as providers, which are updated', async () => {
    const nodes = [node('kyoto', 1), node('nara', 2)];
    let isSent = (): void => undefined;
    await using provider = await tcpServer((socket) => {
      socket.once('data', () =>
        socket.end(`HTTP/1.1 200 OK\r\n${QUOTA}\r\n${nodes.join('\n')}`, () => isSent()),
      );
    });
    const config = steered.control.file;
    const socket = steered.weir.controlPath;
    const url = `http://127.0.0.1:${provider.port}/list`;
    const tools = updateTools({ config, socket, io: new CapturedIo() });
    const source = { name: 'lists', url };
    await addSource({ config, source, dryRun: false, force: false }, tools);
    const lists = async () => {
      const { json } = await clash.ask('GET', '/providers/proxies/lists');
      return json as ClashProvider;
    };
    const { vehicleType, subscriptionInfo } = await lists();
    assert.equal(vehicleType, 'HTTP');
    assert.deepEqual(subscriptionInfo, { Upload: 1, Download: 2, Total: 100, Expire: 0 });
    nodes.push(node('uji', 3));
    assert.equal((await clash.ask('PUT', '/providers/proxies/lists')).status, 204);
    assert.deepEqual(
      (await lists()).proxies.map(({ name }) => name),
      ['kyoto', 'nara', 'uji'],
    );
    assert.equal((await proxy('uji'))['provider-name'], 'lists');

    // Reading this takes some seconds, in which other requests are served.
    nodes.splice(0, nodes.length, 'proxies:', ...Array.from({ length: 40_000 }, () => UNUSABLE));
    const sent = Promise.withResolvers<void>();
    isSent = sent.resolve;
    const done: string[] = [];
    const update = clash.ask('PUT', '/providers/proxies/lists').then(({ status, json }) => {
      done.push('update');
      assert.equal(status, 503);
      assert.match((json as { readonly message: string }).message, /none of the 40000 nodes/);
    });
    await sent.promise;
    for (let count = 0; count < 50; count++) await clash.ask('GET', '/version');
    done.push('other requests');
    await update;
    assert.deepEqual(done, ['other requests', 'update']);
  });

  await t.test('the level of the log', async () => {
    assert.equal((await clash.ask('PATCH', '/configs', { 'log-level': 'error' })).status, 204);
    const { json } = await clash.ask('GET', '/configs');
    assert.equal((json as Record<string, unknown>)['log-level'], 'error');
  });

  await t.test('that Weir is gone', async () => {
    using stream = clash.stream('/traffic');
    await eventually('a value', () => stream.values.length > 0);
    await steered.weir.stop();
    const { status, json } = await clash.ask('GET', '/proxies');
    assert.equal(status, 502);
    assert.match((json as { readonly message: string }).message, /cannot reach the API/);
  });
});
