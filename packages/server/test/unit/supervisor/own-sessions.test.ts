import assert from 'node:assert/strict';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { after, describe, test } from 'node:test';
import { RegexCache } from '@weir/proxy/names';
import { type Logger, silentLogger } from '@weir/base/log';
import { type Clock, systemClock } from '@weir/io/time';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { inboundProtocol } from '@weir/proxy/protocols';
import type { InboundSpec, ListenSpec } from '@weir/proxy/spec';
import { inboundFacts, type ProtocolOf } from '../../../src/supervisor/inbound-facts.ts';
import { type ApplyOptions, Supervisor } from '../../../src/supervisor/supervisor.ts';
import { ManualClock } from '../../../../../test/support/manual-clock.ts';
import {
  type BeforeBind,
  device,
  lines,
  type LineSettings,
} from '../../../../../test/support/peers/own-session-protocol.ts';
import { freePort } from '../../../../../test/support/ports.ts';
import { inboundSpec, spec, wantedOf } from '../../../../../test/support/data/specs.ts';
import { eventually, within } from '../../../../../test/support/wait.ts';

/** @param beforeBind called before a server of the protocol `lines` binds. */
function create(beforeBind?: BeforeBind, clock: Clock = systemClock) {
  const fakeOf = new Map([
    ['lines', lines(beforeBind).inbound],
    ['rows', lines().inbound],
    ['device', device().inbound],
  ]);
  const infos: string[] = [];
  const errors: string[] = [];
  const log: Logger = {
    ...silentLogger,
    info: (line) => infos.push(String(line)),
    error: (line) => errors.push(String(line)),
    target: () => log,
  };
  const ownListeners = new OwnListeners();
  const protocolOf: ProtocolOf = (name) => fakeOf.get(name) ?? inboundProtocol(name);
  const deps = { clock, log, regexes: new RegexCache(), ownListeners, protocolOf };
  const supervisor = new Supervisor(deps);
  const facts = inboundFacts(protocolOf);
  const apply = (inbounds: readonly InboundSpec[], options?: ApplyOptions) =>
    supervisor.apply(wantedOf(spec({ inbounds }), facts), options);
  const liveOf = (tag: string): number =>
    supervisor.tracker.sessions().filter(({ inbound }) => inbound === tag).length;
  const portOf = (tag: string): number => {
    const started = infos.findLast((text) => text.startsWith(`inbound ${tag} listening on `));
    return Number(started?.slice(started.lastIndexOf(':') + 1));
  };
  return { supervisor, apply, liveOf, portOf, ownListeners, infos, errors };
}

const disruptive = (what: string): string =>
  `${what}, which would end its live connections; restart to apply it`;

/** A UDP client with a port of its own. */
class Client {
  readonly #socket: Socket = createSocket('udp4');

  constructor() {
    after(() => this.#socket.close());
  }

  /** Sends a text and resolves with the next datagram that comes. */
  async ask(port: number, text: string): Promise<string> {
    const response = this.next();
    this.#socket.send(text, port, '127.0.0.1');
    return response;
  }

  async next(): Promise<string> {
    const next = once(this.#socket, 'message') as Promise<[Buffer]>;
    const [data] = await within(next, 'a datagram of the server');
    return data.toString();
  }

  send(port: number, text: string): void {
    this.#socket.send(text, port, '127.0.0.1');
  }

  /** Ends its session, and resolves when the tracker has seen that. */
  async end(port: number, { tracker }: Supervisor): Promise<void> {
    const before = tracker.sessions().length;
    this.send(port, 'end');
    await eventually('the end of a session', () => tracker.sessions().length < before);
  }
}

const at = (port: number): ListenSpec => ({ kind: 'ip', host: '127.0.0.1', port });

const line = (tag: string, port: number, settings: Partial<LineSettings> = {}): InboundSpec =>
  inboundSpec(tag, { protocol: 'lines', listen: at(port), settings: { name: tag, ...settings } });

async function assertFree(port: number): Promise<void> {
  const socket = createSocket('udp4').bind(port, '127.0.0.1');
  await once(socket, 'listening');
  socket.close();
  await once(socket, 'close');
}

const isFree = (port: number): Promise<boolean> =>
  assertFree(port).then(
    () => true,
    () => false,
  );

describe('a listener that owns its sessions', () => {
  test('is bound before anything is served, and serves with the commit', async () => {
    const { supervisor, apply, infos } = create();
    const port = await freePort();
    const started = `inbound in listening on 127.0.0.1:${port}`;
    const bound = async (): Promise<void> => {
      await assert.rejects(assertFree(port), { code: 'EADDRINUSE' });
      assert.ok(!infos.includes(started));
    };
    const report = await apply([line('in', port)], { bound });
    assert.deepEqual(report.built.at(-1), 'inbound in');
    assert.ok(infos.includes(started));
    assert.equal(await new Client().ask(port, 'hello'), 'in: hello');
    await supervisor.stop(0);
  });

  test('has sessions in the tracker, with bytes and a source that follows the client', async () => {
    const { supervisor, apply } = create();
    const port = await freePort();
    await apply([line('in', port)]);
    await new Client().ask(port, 'hello');
    const [session] = supervisor.tracker.sessions();
    assert.ok(session);
    const { inbound, source, user, up, down } = session;
    assert.deepEqual([inbound, source, user, up, down], ['in', '127.0.0.1', undefined, 5, 9]);
    session.moveTo('192.0.2.1');
    assert.equal(supervisor.tracker.sessions()[0]?.source, '192.0.2.1');
    await supervisor.stop(0);
    assert.deepEqual(supervisor.tracker.sessions(), []);
  });
});

describe('a reload of a listener that owns its sessions', () => {
  test('restarts it at its address when no session is live', async () => {
    const { supervisor, apply, portOf } = create();
    await apply([line('in', 0, { name: 'first', fixed: 'a' })]);
    const port = portOf('in');
    const client = new Client();
    assert.equal(await client.ask(port, 'hello'), 'first: hello');
    await client.end(port, supervisor);
    const report = await apply([line('in', 0, { name: 'second', fixed: 'b' })]);
    assert.deepEqual([report.restarted, report.swapped, report.rebound], [['in'], [], []]);
    assert.equal(portOf('in'), port);
    assert.equal(await client.ask(port, 'hello'), 'second: hello');
    await supervisor.stop(0);
  });

  test('binds it again after it has failed, although its inbound has not changed', async () => {
    const { supervisor, apply, portOf } = create();
    for (const settings of [{ name: 'same' }, { name: 'same' }, { name: 'other' }]) {
      const report = await apply([line('in', 0, settings), line('whole', 0)]);
      const port = portOf('in');
      const client = new Client();
      assert.equal(await client.ask(port, 'hello'), `${settings.name}: hello`);
      assert.ok(!report.restarted.includes('whole'));
      client.send(port, 'break');
      assert.equal(await client.next(), 'gone');
      await eventually('the release of the port', () => isFree(port));
    }
    const report = await apply([line('in', 0, { name: 'other' }), line('whole', 0)]);
    assert.deepEqual(report.restarted, ['in']);
    assert.ok(report.reused.includes('inbound whole'));
    assert.deepEqual((await apply([line('in', 0, { name: 'third' })])).swapped, ['in']);
    await supervisor.stop(0);
  });

  test('is refused for a session that comes after the check', async () => {
    const late = new Client();
    let port = 0;
    const { supervisor, apply, portOf, errors } = create(async ({ name }) => {
      if (name === 'other') await late.ask(port, 'hello');
    });
    await apply([line('in', 0, { name: 'first', fixed: 'a' })]);
    port = portOf('in');
    const wanted = [line('in', 0, { fixed: 'b' }), line('other', 0)];
    await assert.rejects(apply(wanted), {
      code: 'disruptive',
      message: disruptive('inbound in: its fixed part changes'),
    });
    assert.equal(await late.ask(port, 'still'), 'first: still');
    assert.equal(await new Client().ask(port, 'hello'), 'first: hello');
    assert.deepEqual(errors, []);
    await supervisor.stop(0);
  });

  test('restores restarted listeners when a later one cannot be bound', async () => {
    const { supervisor, apply, portOf, errors } = create();
    await apply([line('a', 0, { fixed: 'a' }), line('b', 0, { fixed: 'a' })]);
    const [one, two] = [portOf('a'), portOf('b')];
    const wanted = [
      line('a', 0, { name: 'new', fixed: 'b' }),
      line('b', 0, { fixed: 'b', unbindable: true }),
    ];
    await assert.rejects(apply(wanted), { code: 'bind', message: /^inbound b: .*it may not$/ });
    assert.equal(await new Client().ask(one, 'still'), 'a: still');
    assert.equal(await new Client().ask(two, 'still'), 'b: still');
    assert.deepEqual(errors, []);
    await supervisor.stop(0);
  });

  test('takes over an address whose last session ends meanwhile, or leaves it when it fails', async () => {
    const old = new Client();
    let ending: (() => Promise<void>) | undefined;
    const { supervisor, apply, errors } = create(async ({ name }) => {
      if (name === 'other') await ending?.();
    });
    const [one, two] = [await freePort(), await freePort()];
    for (const fails of [true, false]) {
      await apply([line('in', one)]);
      await old.ask(one, 'hello');
      await apply([line('in', two)]);
      ending = () => old.end(one, supervisor);
      const again = apply([line('in', one), line('other', 0, { unbindable: fails })]);
      if (fails) {
        await assert.rejects(again, { code: 'bind' });
        await assertFree(one);
        assert.equal(await new Client().ask(two, 'still'), 'in: still');
      } else {
        await again;
        assert.equal(await new Client().ask(one, 'hello'), 'in: hello');
      }
    }
    assert.deepEqual(errors, []);
    await supervisor.stop(0);
  });

  test('knows a listener without an address', async () => {
    const { supervisor, apply, infos, ownListeners } = create();
    const tun = inboundSpec('in', {
      protocol: 'device',
      listen: { kind: 'none' },
      settings: { name: 'in' },
    });
    await apply([tun]);
    assert.ok(infos.includes('inbound in listening on device0'));
    const report = await apply([{ ...tun, settings: { name: 'other' } }]);
    assert.deepEqual(report.swapped, ['in']);
    assert.ok(!ownListeners.hasPort(0, 'udp'));
    assert.deepEqual((await apply([])).removed, ['in']);
    await supervisor.stop(0);
  });
});

describe('a reload with devices', () => {
  const named = (tag: string, fixed: string): InboundSpec =>
    inboundSpec(tag, {
      protocol: 'device',
      listen: { kind: 'none' },
      settings: { name: tag, fixed },
    });

  test('closes one whose name another needs, and exchanges two names', async () => {
    const { supervisor, apply } = create();
    await apply([named('a', 'one'), named('b', 'two')]);
    const moved = await apply([named('a', 'three'), named('c', 'two')]);
    assert.deepEqual([moved.restarted, moved.removed], [['a'], ['b']]);
    const exchanged = await apply([named('a', 'two'), named('c', 'three')]);
    assert.deepEqual(exchanged.restarted, ['a', 'c']);
    await supervisor.stop(0);
  });

  test('restores those that made room when a later one cannot be bound', async () => {
    const { supervisor, apply, errors } = create();
    const before = [named('a', 'one'), named('b', 'two')];
    await apply(before);
    const broken = line('broken', 0, { unbindable: true });
    await assert.rejects(apply([named('a', 'two'), named('c', 'one'), broken]));
    await assert.rejects(apply([named('a', 'two'), named('b', 'one'), named('c', 'one')]));
    assert.deepEqual(errors, []);
    const { reused } = await apply(before);
    assert.ok(reused.includes('inbound a') && reused.includes('inbound b'));
    await supervisor.stop(0);
  });
});

describe('a stop', () => {
  test('accepts no client at once, and gives live sessions their grace', async () => {
    const clock = new ManualClock();
    const { supervisor, apply, liveOf } = create(undefined, clock);
    const [one, two] = [await freePort(), await freePort()];
    await apply([line('in', one), line('drained', two)]);
    const [client, drained] = [new Client(), new Client()];
    await client.ask(one, 'hello');
    await drained.ask(two, 'hello');
    await apply([line('in', one)]);
    let stopped = false;
    const stop = supervisor.stop(1000).then(() => (stopped = true));
    await supervisor.closeListeners();
    new Client().send(one, 'hello');
    assert.equal(await client.ask(one, 'still'), 'in: still');
    assert.equal(await drained.ask(two, 'still'), 'drained: still');
    assert.deepEqual([liveOf('in'), liveOf('drained'), stopped], [1, 1, false]);
    const gone = Promise.all([client.next(), drained.next()]);
    clock.advance(1000);
    assert.deepEqual(await gone, ['gone', 'gone']);
    await stop;
    await assertFree(one);
    await assertFree(two);
  });

  test('does not wait for sessions that have no flow', async () => {
    const { supervisor, apply } = create(undefined, new ManualClock());
    const [one, two] = [await freePort(), await freePort()];
    await apply([line('in', one), line('drained', two)]);
    const [client, drained] = [new Client(), new Client()];
    await client.ask(one, 'idle');
    await drained.ask(two, 'idle');
    await apply([line('in', one)]);
    const gone = Promise.all([client.next(), drained.next()]);
    await supervisor.stop(1000);
    assert.deepEqual(await gone, ['gone', 'gone']);
  });

  test('ends when the last session does', async () => {
    const { supervisor, apply } = create();
    const port = await freePort();
    await apply([line('in', port)]);
    const client = new Client();
    await client.ask(port, 'hello');
    const stop = supervisor.stop(1000);
    client.send(port, 'end');
    await stop;
    await assertFree(port);
  });
});
