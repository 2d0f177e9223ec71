import assert from 'node:assert/strict';
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { OutboundVersion } from '@weir/proxy/engine';
import { RegexCache } from '@weir/proxy/names';
import { type Logger, silentLogger } from '@weir/base/log';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { type Clock, systemClock } from '@weir/io/time';
import type { Spec } from '@weir/proxy/spec';
import { Supervisor } from '../../../../src/supervisor/supervisor.ts';
import { isListening, open } from '../../../../../../test/support/data/address.ts';
import { wantedOf } from '../../../../../../test/support/data/specs.ts';
import {
  a,
  reply,
  startPlainDns,
  type TestDnsServer,
} from '../../../../../../test/support/peers/dns-server.ts';
import { httpConnect } from '../../../../../../test/support/peers/http-client.ts';
import { echoServer, tcpServer } from '../../../../../../test/support/peers/servers.ts';
import {
  greet5,
  request5,
  SocksRefused,
} from '../../../../../../test/support/peers/socks-client.ts';
import { GRANTED, readConnect } from '../../../../../../test/support/peers/socks-server.ts';
import { freePorts } from '../../../../../../test/support/ports.ts';
import { openSockets } from '../../../../../../test/support/process/proc.ts';
import { readExactly, readHead } from '../../../../../../test/support/read.ts';
import { eventually, within } from '../../../../../../test/support/wait.ts';
import { disruptionOf, listenersAfter, reportOf, type SessionListener } from './expectations.ts';
import {
  type Change,
  change,
  facts,
  type Fault,
  FAULTS,
  FIRST,
  HOSTS,
  type InboundShape,
  isTcp,
  isUdp,
  PASS,
  pathOf,
  PATHS,
  type Placed,
  placed,
  PLAIN,
  protocolOf,
  type Shape,
  specOf,
  type HostState,
  takesLogins,
  withInbounds,
} from './shapes.ts';

interface Environment extends HostState {
  readonly echo: number;
  readonly servers: readonly TestDnsServer[];
}

interface LiveFlow {
  readonly socket: Socket;
  readonly outbound: string;
  readonly version: number;
}

interface LiveSession {
  readonly client: UdpSocket;
  readonly port: number;
  /** What its server responds: the one that it started with. */
  readonly name: string;
  readonly listener: SessionListener;
}

/** What depends on the past of a chain of reloads. */
interface Model {
  shape: Shape;
  spec: Spec | undefined;
  readonly versions: Map<string, number>;
  epoch: number;
  rulesSince: number;
  listeners: SessionListener[];
  readonly flows: LiveFlow[];
  readonly sessions: LiveSession[];
}

/** A supervisor, and all outbounds that it has had. */
class Real {
  readonly environment: Environment;
  readonly supervisor: Supervisor;
  readonly own = new OwnListeners();
  readonly errors: string[] = [];
  readonly outbounds = new Set<OutboundVersion>();
  readonly timers = new Set<object>();

  constructor(environment: Environment) {
    this.environment = environment;
    const { timers } = this;
    const clock: Clock = {
      ...systemClock,
      after(ms, callback) {
        const timer = systemClock.after(ms, () => {
          timers.delete(timer);
          callback();
        });
        timers.add(timer);
        return {
          cancel: () => {
            timers.delete(timer);
            timer.cancel();
          },
        };
      },
    };
    const log: Logger = {
      ...silentLogger,
      error: (line) => this.errors.push(String(line)),
      target: () => log,
    };
    const deps = { clock, log, regexes: new RegexCache(), ownListeners: this.own, protocolOf };
    this.supervisor = new Supervisor(deps);
  }

  /** What a failed reload leaves as it is, down to identity. */
  get state() {
    const { running, applied, routing } = this.supervisor;
    const { outbounds, balancers, inbounds, snapshot } = running;
    const addresses = [...inbounds.values()].map(({ listener }) => listener.address);
    const { epoch, rulesSince } = routing;
    const maps = [outbounds, balancers, inbounds, snapshot, applied, this.own.changes];
    return [...maps, epoch, rulesSince, addresses.join()];
  }

  addressOf({ place }: Placed): { readonly host: string; readonly port: number } {
    return { host: '127.0.0.1', port: this.environment.ports[place] ?? 0 };
  }

  /** Opens a flow to the echo server, or one that the inbound is to refuse. */
  async enter(by: Placed, host: string, user: string | undefined): Promise<Socket> {
    const port = this.environment.echo;
    if (by.kind === 'socks') {
      const socket = await open(this.addressOf(by));
      try {
        await greet5(socket, user === undefined ? {} : { user, pass: PASS });
        await request5(socket, 1, { host, port });
      } catch (error) {
        socket.destroy();
        throw error;
      }
      return socket;
    }
    const credentials = `Proxy-Authorization: Basic ${btoa(`${user}:${PASS}`)}\r\n`;
    const login = user === undefined ? '' : credentials;
    const { status, socket } = await httpConnect(this.addressOf(by), `${host}:${port}`, login);
    if (status === 200) return socket;
    socket.destroy();
    throw new SocksRefused(status);
  }
}

/** What runs, without what depends on the past: to be compared with a fresh start. */
function observed({ running, applied, routing }: Supervisor) {
  const { outbounds, balancers, inbounds, snapshot } = running;
  assert.ok(snapshot);
  for (const { version } of outbounds.values()) assert.ok(!version.retired && !version.closed);
  const decide = (inbound: string, host: string) => {
    const decision = snapshot.routes.route({
      inbound,
      host,
      source: '127.0.0.1',
      network: 'tcp',
      port: 80,
      sniffed: undefined,
    });
    const picked = snapshot.targets.get(decision.outbound)?.pick();
    // Otherwise flows would go on by what was replaced.
    assert.equal(picked, outbounds.get(picked?.tag ?? '')?.version);
    return decision;
  };
  return {
    outbounds: [...outbounds].map(([tag, built]) => [tag, built.spec]),
    balancers: [...balancers].map(([tag, { members }]) => [
      tag,
      members.map(({ outbound }) => outbound),
    ]),
    inbounds: [...inbounds].map(([tag, { kind, listener }]) => {
      const { means, spec: at, endpoints } = listener;
      const networks = endpoints.map(({ network }) => network);
      return { tag, kind, means, at: { ...at, port: 0 }, networks };
    }),
    routes: HOSTS.map((host) => decide('a', host)),
    dns: applied?.spec.dns,
    groups: routing.groups,
  };
}

async function assertEqualsFreshStart(
  { supervisor, environment }: Real,
  spec: Spec,
): Promise<void> {
  const fresh = new Real(environment);
  // The running one has the ports.
  const inbounds = spec.inbounds.map((inbound) => ({
    ...inbound,
    listen: { ...inbound.listen, port: 0 } as Spec['inbounds'][number]['listen'],
  }));
  await fresh.supervisor.apply(wantedOf({ ...spec, inbounds }, facts));
  assert.deepEqual(observed(supervisor), observed(fresh.supervisor));
  await fresh.supervisor.stop(0);
}

async function answer(client: UdpSocket): Promise<Buffer> {
  const [data] = (await within(once(client, 'message'), 'an answer of a session')) as [Buffer];
  return data;
}

async function bound(port: number): Promise<boolean> {
  const socket = createSocket('udp4').bind({ port, address: '127.0.0.1', exclusive: true });
  const isBound = await once(socket, 'listening').then(
    () => false,
    () => true,
  );
  socket.close();
  await once(socket, 'close');
  return isBound;
}

/** Every port is open or closed as the configuration says, and known as an own one. */
async function assertPorts({ environment: { ports }, own }: Real, model: Model): Promise<void> {
  const inbounds = placed(model.shape);
  const draining = model.listeners.filter(({ owner }) => owner === undefined);
  await Promise.all(
    ports.map(async (port, place) => {
      const here = inbounds.filter((inbound) => inbound.place === place);
      const [tcp, udp] = [here.some(isTcp), here.some(isUdp)];
      assert.deepEqual([own.hasPort(port, 'tcp'), own.hasPort(port, 'udp')], [tcp, udp]);
      assert.equal(await isListening({ host: '127.0.0.1', port }), tcp, `tcp ${place}`);
      const drains = draining.some(({ shape }) => shape.place === place);
      // A listener without sessions is released soon after its reload.
      await eventually(`udp ${place}`, async () => (await bound(port)) === (udp || drains));
    }),
  );
}

/** The inbounds accept the accounts that they have now, and no others. */
async function assertAccounts(real: Real, model: Model): Promise<void> {
  const bare = placed(model.shape).filter((each) => each.kind === 'socks' && takesLogins(each));
  for (const inbound of bare) {
    for (const user of [undefined, 'u0', 'u1']) {
      const socket = await open(real.addressOf(inbound));
      const login = user === undefined ? {} : { user, pass: PASS };
      const entered = await greet5(socket, login).then(
        () => true,
        () => false,
      );
      socket.destroy();
      const known = user !== undefined && Number(user.slice(1)) < inbound.users;
      assert.equal(entered, inbound.users === 0 ? user === undefined : known);
    }
  }
}

/** The inbounds with WebSockets accept those of the path that they have now, and no others. */
async function assertPaths(real: Real, model: Model): Promise<void> {
  for (const inbound of placed(model.shape)) {
    const wanted = pathOf(inbound);
    if (wanted === undefined) continue;
    for (const path of PATHS) {
      const socket = await open(real.addressOf(inbound));
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: server.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
          'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
      );
      const head = await readHead(socket);
      socket.destroy();
      assert.ok(head.startsWith(`HTTP/1.1 ${path === wanted ? 101 : 404} `), head);
    }
  }
}

/** A name is resolved by the server of the configuration, and by no other. */
async function assertResolver({ supervisor, environment }: Real, { shape }: Model): Promise<void> {
  const counts = (): number[] => environment.servers.map(({ asked }) => asked.length);
  const before = counts();
  const outbound = supervisor.pick('direct')?.outbound;
  const link = await outbound?.connect(
    { host: 'other.test', port: environment.echo },
    { signal: AbortSignal.timeout(20_000) },
  );
  link?.destroy();
  const asked = counts().map((count, i) => count > (before[i] ?? 0));
  assert.deepEqual(
    asked,
    environment.servers.map((_, i) => i === shape.dns),
  );
}

async function assertUndisturbed({ supervisor }: Real, { flows, sessions }: Model): Promise<void> {
  const answers = sessions.map(async ({ client, port, name }) => {
    const next = answer(client);
    client.send('still', port, '127.0.0.1');
    assert.equal(String(await next), `${name}: still`);
  });
  const echoes = flows.map(async ({ socket }) => {
    socket.write('ping');
    assert.equal(String(await readExactly(socket, 4)), 'ping');
  });
  await Promise.all([...answers, ...echoes]);
  const running = supervisor.tracker
    .flows()
    .map(({ info }) => `${info.outbound}@${info.outboundVersion}`);
  const opened = flows.map(({ outbound, version }) => `${outbound}@${version}`);
  assert.deepEqual(running.toSorted(), opened.toSorted());
}

/** The beginnings of messages of reloads that would end live sessions. */
const DISRUPTIVE = {
  restart:
    /^inbound [abc]: its (fixed part|protocol) changes, which would end its live connections;/,
  address:
    /^inbound [abc]: its (new address overlaps an earlier one|address is needed for inbound [abc]), which/,
};

type Command = fc.AsyncCommand<Model, Real>;

class Reload implements Command {
  readonly #changes: readonly Change[];
  readonly #fault: Fault | undefined;

  constructor(changes: readonly Change[], fault: Fault | undefined) {
    this.#changes = changes;
    this.#fault = fault;
  }

  check = (): boolean => true;

  async run(model: Model, real: Real): Promise<void> {
    const { supervisor, environment } = real;
    const shape = this.#changes.reduce((before, next) => next(before), model.shape);
    const spec = specOf(shape, environment, this.#fault);
    const isApi = this.#fault === 'api';
    const api = (): Promise<void> =>
      Promise.reject(Object.assign(new Error('api'), { code: 'bind' }));
    const before = real.state;
    const applied = supervisor.apply(wantedOf(spec, facts), isApi ? { bound: api } : {});
    const disruption = disruptionOf(model.listeners, shape);
    const code = disruption === 'restart' ? 'disruptive' : this.#fault && FAULTS[this.#fault];
    // The API is bound last.
    const expected =
      disruption === 'address' && (isApi || code === undefined) ? 'disruptive' : code;
    if (expected !== undefined) {
      const message = expected === 'disruptive' ? DISRUPTIVE[disruption ?? 'address'] : /./;
      await assert.rejects(applied, { code: expected, message });
      for (const [i, part] of real.state.entries()) assert.equal(part, before[i]);
    } else {
      const report = await applied;
      const wanted = reportOf(model.spec, spec, model.versions);
      assert.deepEqual(report, wanted);
      assert.deepEqual(Object.keys(report), Object.keys(wanted));
      this.#update(model, shape, spec, report.built);
      const { epoch, rulesSince } = supervisor.routing;
      assert.deepEqual([epoch, rulesSince], [model.epoch, model.rulesSince]);
      for (const { version } of supervisor.running.outbounds.values()) real.outbounds.add(version);
      await assertEqualsFreshStart(real, spec);
    }
    assert.deepEqual(real.errors, []);
    await assertUndisturbed(real, model);
    await assertResolver(real, model);
    await assertPorts(real, model);
    await assertAccounts(real, model);
    await assertPaths(real, model);
  }

  #update(model: Model, shape: Shape, spec: Spec, built: readonly string[]): void {
    for (const name of built) {
      const [, tag = '', version] = /^outbound (.*)@v(\d+)$/.exec(name) ?? [];
      if (version !== undefined) model.versions.set(tag, Number(version));
    }
    if (built.includes('route')) model.epoch++;
    const matchers = ({ ports, group }: Shape): string => `${ports} ${group !== undefined}`;
    if (!model.spec || matchers(model.shape) !== matchers(shape)) model.rulesSince = model.epoch;
    model.listeners = listenersAfter(model.listeners, shape);
    model.shape = shape;
    model.spec = spec;
  }

  toString = (): string => `reload(${fc.stringify(this.#changes)}, ${this.#fault ?? 'whole'})`;
}

/** The n-th of those that fit, around the end. */
const nth = <T>(items: readonly T[], n: number): T | undefined => items[n % items.length];

class OpenFlow implements Command {
  readonly #n: number;

  constructor(n: number) {
    this.#n = n;
  }

  check = ({ shape }: Model): boolean => placed(shape).some(takesLogins);

  async run(model: Model, real: Real): Promise<void> {
    const { shape } = model;
    const by = nth(placed(shape).filter(takesLogins), this.#n);
    const place = this.#n % HOSTS.length;
    const host = HOSTS[place];
    const exit = [shape.one, shape.two, shape.default][place];
    assert.ok(by && host !== undefined && exit !== undefined);
    const entering = real.enter(by, host, by.users > 0 ? 'u0' : undefined);
    if (exit === 'hole') {
      await assert.rejects(entering, SocksRefused);
      return;
    }
    const socket = await entering;
    const {
      inbound,
      outbound,
      outboundVersion: version,
    } = real.supervisor.tracker.flows().at(-1)?.info ?? {};
    assert.equal(inbound, by.tag);
    assert.ok(outbound !== undefined && version !== undefined);
    assert.ok(exit === 'group' ? shape.members.includes(outbound) : outbound === exit, outbound);
    assert.equal(version, model.versions.get(outbound));
    model.flows.push({ socket, outbound, version });
  }

  toString = (): string => `openFlow(${this.#n})`;
}

class CloseFlow implements Command {
  readonly #n: number;

  constructor(n: number) {
    this.#n = n;
  }

  check = ({ flows }: Model): boolean => flows.length > 0;

  async run({ flows }: Model, { supervisor: { tracker } }: Real): Promise<void> {
    const [flow] = flows.splice(this.#n % flows.length, 1);
    flow?.socket.destroy();
    await eventually('the end of a flow', () => tracker.flowCount === flows.length);
  }

  toString = (): string => `closeFlow(${this.#n})`;
}

class OpenSession implements Command {
  readonly #n: number;

  constructor(n: number) {
    this.#n = n;
  }

  check = ({ listeners }: Model): boolean => listeners.some(({ owner }) => owner !== undefined);

  async run(model: Model, { environment: { ports } }: Real): Promise<void> {
    const listener = nth(
      model.listeners.filter(({ owner }) => owner !== undefined),
      this.#n,
    );
    assert.ok(listener);
    const { place, name } = listener.shape;
    const port = ports[place] ?? 0;
    const client = createSocket('udp4');
    client.send('hello', port, '127.0.0.1');
    const data = await answer(client);
    assert.equal(data.toString(), `${name}: hello`);
    listener.sessions++;
    model.sessions.push({ client, port, name, listener });
  }

  toString = (): string => `openSession(${this.#n})`;
}

class EndSession implements Command {
  readonly #n: number;

  constructor(n: number) {
    this.#n = n;
  }

  check = ({ sessions }: Model): boolean => sessions.length > 0;

  async run(model: Model, { supervisor: { tracker } }: Real): Promise<void> {
    const [session] = model.sessions.splice(this.#n % model.sessions.length, 1);
    assert.ok(session);
    const { client, port, listener } = session;
    const before = tracker.sessions().length;
    client.send('end', port, '127.0.0.1');
    await eventually('the end of a session', () => tracker.sessions().length < before);
    client.close();
    listener.sessions--;
    if (listener.owner !== undefined || listener.sessions > 0) return;
    model.listeners = model.listeners.filter((each) => each !== listener);
  }

  toString = (): string => `endSession(${this.#n})`;
}

/** Chains of up to twenty commands each. */
const RUNS = 22;

const commands = fc.commands(
  [
    fc
      .tuple(
        fc.array(change, { minLength: 1, maxLength: 4 }),
        fc.option(fc.constantFrom(...(Object.keys(FAULTS) as Fault[])), {
          nil: undefined,
          freq: 2,
        }),
      )
      .map(([changes, fault]) => new Reload(changes, fault)),
    fc
      .array(change, { minLength: 1, maxLength: 6 })
      .map((changes) => new Reload(changes, undefined)),
    fc.nat(8).map((n) => new OpenFlow(n)),
    fc.nat(8).map((n) => new OpenSession(n)),
    fc.nat(8).map((n) => new OpenSession(n)),
    fc.nat(8).map((n) => new CloseFlow(n)),
    fc.nat(8).map((n) => new EndSession(n)),
  ],
  { maxCommands: 20, size: 'max' },
);

const reload = (changed: Shape['inbounds']): Command =>
  new Reload([withInbounds(changed)], undefined);
const lines = (place: number, name = 'first', fixed = 'x'): InboundShape => ({
  ...PLAIN,
  kind: 'lines',
  place,
  name,
  fixed,
});
const socks = (place: number, users: number): InboundShape => ({
  ...PLAIN,
  kind: 'socks',
  place,
  users,
});

/** What chance meets too seldom; these begin with two inbounds `a` and `b` that own their sessions. */
const EXAMPLES: readonly (readonly Command[])[] = [
  // Listeners go to other inbounds with their sessions, which still count.
  [
    new OpenSession(0),
    reload({ a: lines(1, 'second'), b: lines(0) }),
    new OpenSession(1),
    reload({ a: lines(1, 'second', 'y') }),
    reload({ b: lines(0, 'first', 'y') }),
  ],
  [
    new OpenSession(0),
    reload({ a: undefined, c: lines(0, 'second') }),
    new OpenSession(0),
    reload({ c: lines(0, 'second', 'y') }),
  ],
  // One that is only open for its sessions is taken over where the settings allow it.
  [
    new OpenSession(0),
    reload({ a: lines(2) }),
    reload({ a: lines(0, 'second', 'y') }),
    reload({ a: lines(0, 'second') }),
    new OpenSession(0),
    new EndSession(0),
  ],
  [
    reload({ b: { ...lines(1, 'second'), kind: 'rows' } }),
    reload({ a: lines(1), b: { ...lines(0, 'second'), kind: 'rows' } }),
    new OpenSession(0),
    reload({ a: lines(0), b: { ...lines(1, 'second'), kind: 'rows' } }),
  ],
  // An address that moves between inbounds serves the other one.
  [
    reload({ a: socks(1, 0), c: socks(0, 2) }),
    reload({ a: socks(0, 0), c: socks(1, 2) }),
    new OpenFlow(0),
    new OpenFlow(1),
  ],
  [
    new Reload([(shape) => ({ ...shape, group: 'direct' })], undefined),
    new Reload([(shape) => ({ ...shape, group: 'hole' })], undefined),
  ],
  // Stream settings that were exchanged are exchanged back.
  [
    reload({ c: { ...socks(0, 0), path: '/x' } }),
    reload({ c: { ...socks(0, 0), path: '/y' } }),
    reload({ c: { ...socks(0, 1), path: '/y' } }),
    reload({ c: { ...socks(0, 1), path: '/x' } }),
    reload({ c: socks(0, 1) }),
  ],
  // A replaced outbound closes, and so does the one that replaces it.
  [
    new Reload([(shape) => ({ ...shape, direct: 'ipv4_only' })], undefined),
    new Reload([(shape) => ({ ...shape, direct: 'auto' })], undefined),
  ],
];

test('a reload equals a fresh start, a failed one changes nothing, and neither disturbs what is live', async (t) => {
  await using echo = await echoServer();
  const upstream = () =>
    tcpServer(async (socket) => {
      await readConnect(socket);
      socket.write(GRANTED);
      await pipeline(socket, socket);
    });
  await using up0 = await upstream();
  await using up1 = await upstream();
  const resolver = () =>
    startPlainDns(t, (asked) =>
      reply(asked, { answers: asked.type === 'A' ? [a(asked.name, '127.0.0.1', 0)] : [] }),
    );
  const servers = [await resolver(), await resolver()];
  const environment: Environment = {
    ports: await freePorts(4),
    // A resolver has it for TCP and UDP.
    taken: servers[0]?.port ?? 0,
    upstreams: [up0.port, up1.port],
    dns: servers.map(({ port }) => port),
    echo: echo.port,
    servers,
  };
  await fc.assert(
    fc.asyncProperty(commands, async (chain) => {
      const sockets = openSockets();
      const real = new Real(environment);
      const model: Model = {
        shape: FIRST,
        spec: undefined,
        versions: new Map(),
        epoch: 0,
        rulesSince: 0,
        listeners: [],
        flows: [],
        sessions: [],
      };
      await using release = new AsyncDisposableStack();
      release.defer(() => real.supervisor.stop(0));
      release.defer(() => {
        for (const { socket } of model.flows) socket.destroy();
        for (const { client } of model.sessions) client.close();
      });
      await new Reload([], undefined).run(model, real);
      await fc.asyncModelRun(() => ({ model, real }), chain);
      for (const { socket } of model.flows) socket.destroy();
      const { supervisor, timers, outbounds } = real;
      await eventually('the end of all flows', () => supervisor.tracker.flowCount === 0);
      for (const version of outbounds) {
        assert.equal(version.users, 0);
        const current = supervisor.running.outbounds.get(version.tag)?.version === version;
        assert.equal(version.closed, !current, `${version.tag}@v${version.version}`);
      }
      const gone = model.sessions.map(({ client }) => answer(client));
      await supervisor.stop(0);
      for (const data of await Promise.all(gone)) assert.equal(String(data), 'gone');
      assert.equal(supervisor.tracker.sessions().length, 0);
      await eventually('the end of all timers', () => timers.size === 0);
      await eventually(
        'as many sockets as before',
        () => openSockets() <= sockets + model.sessions.length,
      );
    }),
    { numRuns: RUNS, examples: EXAMPLES.map((chain): [Iterable<Command>] => [chain]) },
  );
});
