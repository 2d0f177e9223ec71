import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LiveSessions } from '../../../../src/engine/live-sessions.ts';
import { DialError, type DialErrorCode } from '@weir/io';
import type { ByteLink } from '@weir/io/links';
import type { Netstack } from '@weir/netstack';
import { MAX_RECEIVE_WINDOW } from '../../../../../netstack/src/limits.ts';
import type { SessionListener } from '../../../../src/protocols/contract.ts';
import { until } from '../../../../../io/test/conformance/packet-link.ts';
import { endpoint, PROGRAM, TunRig } from '../../../../../../test/support/protocols/tun/tun-rig.ts';

const never = new AbortController().signal;
const WEB = endpoint('192.0.2.1', 80);
const MORE_THAN_A_WINDOW = 2 * MAX_RECEIVE_WINDOW;

/** A flow that has ended for its dispatcher, while its program has read nothing. */
async function endedFlow(rig: TunRig): Promise<{
  listener: SessionListener;
  registry: LiveSessions;
  client: ByteLink;
  programs: Netstack;
  link: ByteLink;
}> {
  const { listener, registry } = await rig.bound();
  const served = Promise.withResolvers<ByteLink>();
  rig.dispatcher.onStream = async (request) => {
    const client = await request.accept();
    assert.equal(await client.read(), undefined);
    void client.write(Buffer.alloc(MORE_THAN_A_WINDOW));
    await client.closeWrite();
    served.resolve(client);
  };
  listener.serve();
  const programs = rig.programs();
  const link = await programs.connect(WEB, never);
  await link.closeWrite();
  return { listener, registry, client: await served.promise, programs, link };
}

describe('a TUN inbound', () => {
  test('creates the device with its name, MTU, addresses and routes', async () => {
    const rig = new TunRig();
    const routes = [{ address: '0.0.0.0', prefix: 0 }];
    const { listener } = await rig.bound({ name: undefined, mtu: 1400, routes });
    assert.equal(listener.address, 'left');
    assert.equal(listener.endpoint, undefined);
    assert.deepEqual(rig.plans, [
      { name: undefined, mtu: 1400, addresses: [{ address: '172.19.0.1', prefix: 30 }], routes },
    ]);
    listener.destroy(new Error('over'));
    await listener.closed;
  });

  test('passes on connections with their source, no session and no user', async () => {
    const rig = new TunRig();
    const { listener, registry } = await rig.bound();
    listener.serve();
    const programs = rig.programs();
    const link = await programs.connect(WEB, never);
    const [request] = rig.dispatcher.streams;
    assert.deepEqual(request?.origin, {
      inbound: 'tun',
      source: PROGRAM,
      user: undefined,
      session: undefined,
    });
    assert.deepEqual(request?.destination, { host: '192.0.2.1', port: 80 });
    assert.deepEqual([request?.sniff, request?.toResolver, registry.count], [true, false, 1]);
    await link.write(Buffer.from('hello'));
    assert.equal(Buffer.from((await link.read()) ?? '').toString(), 'hello');
    await link.closeWrite();
    assert.equal(await link.read(), undefined);
    await until(() => registry.count === 0);
    listener.destroy(new Error('over'));
    programs.close();
  });

  test('a retired device is released only when a slow program has the end of its flow', async () => {
    const rig = new TunRig();
    const { listener, registry, client, programs, link } = await endedFlow(rig);
    assert.equal(await client.closed, undefined);
    listener.retire();
    let isReleased = false;
    void listener.closed.then(() => (isReleased = true));
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([isReleased, registry.count], [false, 1]);
    let received = 0;
    for (let chunk = await link.read(); chunk; chunk = await link.read()) received += chunk.length;
    assert.equal(received, MORE_THAN_A_WINDOW);
    await listener.closed;
    assert.equal(registry.count, 0);
    programs.close();
  });

  test('a session registry that is destroyed resets a flow whose end is on its way', async () => {
    const rig = new TunRig();
    const { listener, registry, client, programs, link } = await endedFlow(rig);
    await client.closed;
    assert.equal(registry.count, 1);
    listener.retire();
    registry.destroy(new Error('over'));
    await listener.closed;
    assert.equal(registry.count, 0);
    await link.closed;
    await assert.rejects(async () => {
      while (await link.read());
    });
    programs.close();
  });

  test('a connection is made only once its destination has accepted', async () => {
    const rig = new TunRig();
    const { listener } = await rig.bound();
    const dialled = Promise.withResolvers<void>();
    rig.dispatcher.onStream = async (request) => {
      await dialled.promise;
      await request.accept();
    };
    listener.serve();
    const programs = rig.programs();
    let isConnected = false;
    const connecting = programs.connect(WEB, never).then((link) => {
      isConnected = true;
      return link;
    });
    await until(() => rig.dispatcher.streams.length === 1);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(isConnected, false);
    dialled.resolve();
    await connecting;
    listener.destroy(new Error('over'));
    programs.close();
  });

  for (const [code, seen] of [
    ['refused', 'refused'],
    ['unreachable_host', 'unreachable_host'],
    // The stack of the programs reports both by the same error.
    ['unreachable_network', 'unreachable_host'],
    ['unresolved', 'unreachable_host'],
    ['blocked', 'refused'],
    ['upstream', 'refused'],
  ] as const satisfies readonly (readonly [DialErrorCode, DialErrorCode])[]) {
    test(`a destination that is ${code} looks so to the program`, async () => {
      const rig = new TunRig();
      const { listener, registry } = await rig.bound();
      rig.dispatcher.onStream = () => Promise.reject(new DialError(code, 'no'));
      listener.serve();
      const programs = rig.programs();
      await assert.rejects(programs.connect(WEB, never), { code: seen });
      await until(() => registry.count === 0);
      listener.destroy(new Error('over'));
      programs.close();
    });
  }

  test('queries to the subnets of the device go to the own resolver', async () => {
    const rig = new TunRig();
    const { listener } = await rig.bound();
    listener.serve();
    const programs = rig.programs();
    await programs.connect(endpoint('172.19.0.2', 53), never);
    await programs.connect(endpoint('172.19.0.2', 54), never);
    await programs.connect(endpoint('192.0.2.1', 53), never);
    assert.deepEqual(
      rig.dispatcher.streams.map(({ toResolver }) => toResolver),
      [true, false, false],
    );
    const packets = programs.bindUdp();
    packets.send({ data: Buffer.from('query'), peer: { host: '172.19.0.2', port: 53 } });
    await until(() => rig.dispatcher.associations.length === 1);
    const [association] = rig.dispatcher.associations;
    assert.equal(association?.isResolver?.({ host: '172.19.0.2', port: 53 }), true);
    assert.equal(association?.isResolver?.({ host: '172.19.0.4', port: 53 }), false);
    listener.destroy(new Error('over'));
    programs.close();
  });

  test('all datagrams of one port are one association', async () => {
    const rig = new TunRig();
    const { listener, registry } = await rig.bound();
    listener.serve();
    const programs = rig.programs();
    const packets = programs.bindUdp();
    for (const host of ['192.0.2.1', '192.0.2.2']) {
      packets.send({ data: Buffer.from(host), peer: { host, port: 7 } });
      const back = await packets.receive();
      assert.deepEqual([back?.peer.host, Buffer.from(back?.data ?? '').toString()], [host, host]);
    }
    assert.equal(rig.dispatcher.associations.length, 1);
    assert.equal(registry.count, 1);
    listener.destroy(new Error('over'));
    await until(() => registry.count === 0);
    programs.close();
  });

  test('without a descriptor for its destination a connection is dropped, but not one to the resolver', async () => {
    const rig = new TunRig();
    const { listener, registry } = await rig.bound();
    listener.serve();
    const programs = rig.programs();
    rig.hasRoomForDial = false;
    const aborted = new AbortController();
    const dropped = programs.connect(WEB, aborted.signal);
    await until(() => rig.lines.length > 0);
    assert.deepEqual(rig.lines, [
      'inbound tun: a new flow was dropped: this process has too many open files',
    ]);
    assert.equal(registry.count, 0);
    (await programs.connect(endpoint('172.19.0.2', 53), never)).destroy();
    aborted.abort();
    await assert.rejects(dropped);
    listener.destroy(new Error('over'));
    programs.close();
  });

  test('beyond max_flows new flows are dropped, and a line says so', async () => {
    const rig = new TunRig();
    const { listener } = await rig.bound({ maxFlows: 1 });
    listener.serve();
    const programs = rig.programs();
    const first = await programs.connect(WEB, never);
    const aborted = new AbortController();
    const second = programs.connect(WEB, aborted.signal);
    await until(() => rig.lines.length > 0);
    assert.deepEqual(rig.lines, ['inbound tun: a new flow was dropped: max_flows (1) is reached']);
    aborted.abort();
    await assert.rejects(second);
    first.destroy();
    listener.destroy(new Error('over'));
    programs.close();
  });

  test('a device that fails says so, and is released', async () => {
    const rig = new TunRig();
    const { listener, device } = await rig.bound();
    listener.serve();
    device.close(new Error('removed'));
    await listener.closed;
    assert.deepEqual(rig.lines, ['inbound tun: the device left has failed: removed']);
  });
});
