import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';
import type { FlowView } from '@weir/server/api/views';
import { hostPort, type Address } from '../data/address.ts';
import { API, Control, errorOf } from './control.ts';
import { a, reply, startPlainDns } from '../peers/dns-server.ts';
import { httpTunnel } from '../peers/http-client.ts';
import { Beats, Chatter, Download, Ledger, ownAddress, streamOrigin, type Moved } from './load.ts';
import { freePorts } from '../ports.ts';
import { openDescriptors, residentBytes } from './proc.ts';
import { numbers, RandomConfig, STEADY, type InboundTag } from './random-config.ts';
import { udpEcho } from '../peers/servers.ts';
import { socksConnect } from '../peers/socks-client.ts';
import { SocksServer } from '../peers/socks-server.ts';
import { eventually } from '../wait.ts';
import { scratch, Weir } from './weir.ts';

export interface Soak {
  /** Long downloads, spread over the inbounds. */
  readonly downloads: number;
  readonly associations: number;
  /** Short requests at each beat. */
  readonly shorts: number;
  readonly beatMs: number;
  /** Valid reloads, and between them the refused ones that `broken` returns for each. */
  readonly reloads: number;
  readonly broken: (reload: number) => readonly Broken[];
  readonly seed: number;
}

/** A configuration that must be refused. */
export interface Broken {
  readonly make: (valid: string) => string;
  readonly status: number;
  /** The prefix of the response's error. */
  readonly error: string;
}

const PORTS = 7;
const DOWN = 8192;

/** The figures of a run. */
export interface SoakResult {
  readonly shorts: number;
  readonly flows: number;
  readonly descriptors: number;
  readonly resident: readonly number[];
}

/**
 * Reloads again and again under a steady load and demands that nothing of it is touched: no flow
 * ends, every byte arrives and is counted, and when the load is over nothing of it is left.
 */
export async function soak(t: TestContext, options: Soak): Promise<SoakResult> {
  await using folder = await scratch();
  await using origin = await streamOrigin();
  await using echo = await udpEcho('0.0.0.0');
  await using up0 = await SocksServer.start();
  await using up1 = await SocksServer.start();
  const resolvers = [await resolver(t), await resolver(t)];
  const ports = await freePorts(PORTS);
  const upstreams = [up0.address, up1.address];
  const config = new RandomConfig(
    { ports, upstreams, resolvers, folder: folder.path, api: API },
    numbers(options.seed),
  );
  const first = String(config);
  await using weir = await Weir.start(first, { args: ['--watch'] });
  const control = await Control.of(weir);
  using ledger = await Ledger.of(control.api);
  await control.post();
  const descriptors = openDescriptors(weir.pid);

  const lasting = entrances(weir);
  // What is removed and comes back takes flows at first only; they go on without their listener.
  const enter = [
    ...lasting,
    { ...lasting[0], tag: 'extra', address: () => weir.address('extra') } as Entrance,
  ];
  const moved: Moved[] = [];
  using clients = new DisposableStack();
  const downloads: Download[] = [];
  while (downloads.length < options.downloads) {
    const by = enter[downloads.length % enter.length];
    if (by) downloads.push(clients.use(await open(by, ownAddress(), origin.port)));
  }
  const chatters: Chatter[] = [];
  while (chatters.length < options.associations) {
    const unix = chatters.length % 2 === 1;
    const proxy = weir.address(unix ? 'usocks' : 'socks');
    chatters.push(clients.use(await Chatter.open(proxy, echo.port, { stateSource: unix })));
  }
  for (const download of downloads) await download.round(DOWN);
  const before = await flowsOf(control, downloads);

  let turn = 0;
  const short = async (): Promise<void> => {
    const by = lasting[turn++ % lasting.length];
    if (!by) return;
    // Some go to a name, which the current resolver resolves.
    const host = turn % 5 === 0 ? `n${turn}.load.test` : ownAddress();
    const download = await open(by, host, origin.port);
    await download.round(DOWN);
    await download.end();
    moved.push(download.moved);
  };
  using beats = new Beats(options.beatMs, [
    ...downloads.map((download) => () => download.round(DOWN)),
    ...chatters.map((chatter) => () => chatter.round(500)),
    ...Array.from({ length: options.shorts }, () => () => short()),
  ]);

  const resident: number[] = [];
  let applied = control.count('config reloaded:');
  for (let reload = 0; reload < options.reloads; reload++) {
    // Not every change shows: the port of an inbound that is not there.
    const old = String(config);
    let what = config.change();
    while (String(config) === old) what = config.change();
    const valid = String(config);
    await control.write(valid);
    await trigger(control, reload);
    await control.logged('config reloaded:', ++applied);
    assert.deepEqual(beats.failures, [], `after ${what}`);
    const current = String(config);
    for (const broken of options.broken(reload)) {
      await refuses(control, broken, current);
      assert.deepEqual(beats.failures, [], `after the refusal: ${broken.error}`);
    }
    resident.push(residentBytes(weir.pid));
  }
  await beats.stop();

  // Every long flow is still the one that it was, on the version that it was opened on.
  assert.deepEqual(await flowsOf(control, downloads), before);
  for (const download of downloads) {
    await download.round(DOWN);
    await download.end();
    moved.push(download.moved);
  }
  for (const chatter of chatters) {
    chatter.end();
    moved.push(chatter.moved);
  }
  await ledger.agrees(moved);
  await eventually('the end of all flows and sessions', async () => {
    const { flows, sessions } = await control.connections();
    return flows.length + sessions.length === 0;
  });
  if (String(config) !== first) await control.apply(first);
  await eventually(
    () => `${descriptors} descriptors, there are ${openDescriptors(weir.pid)}`,
    () => openDescriptors(weir.pid) <= descriptors,
  );
  assert.equal(weir.child.ended, undefined);
  assert.equal(control.count('panic') + control.count('defect'), 0);
  return {
    shorts: moved.length - downloads.length - chatters.length,
    flows: ledger.size,
    descriptors,
    resident,
  };
}

/** Each of the three ways to ask for a reload in its turn; the file has just been replaced. */
async function trigger(control: Control, reload: number): Promise<void> {
  if (reload % 3 === 0) {
    const { status, text } = await control.post();
    assert.equal(status, 200, text);
  } else if (reload % 3 === 1) {
    control.weir.child.signal('SIGHUP');
  }
  // Otherwise `--watch` sees the change by itself.
}

/** The refusal of a configuration that takes the place of a valid one. */
async function refuses(
  control: Control,
  { make, status, error }: Broken,
  valid: string,
): Promise<void> {
  await control.write(make(valid));
  const response = await control.post();
  // The watcher may have been first: then the response is that nothing has changed since.
  const [reported] = errorOf(response).split(' (the files have not changed since this was found)');
  assert.ok(reported?.startsWith(error), `${reported} instead of ${error}`);
  assert.ok(
    response.status === status || response.status === 422,
    `${response.status}: ${reported}`,
  );
}

async function resolver(t: TestContext) {
  const { host, port } = await startPlainDns(t, (asked) =>
    reply(asked, { answers: asked.type === 'A' ? [a(asked.name, '127.0.0.1', 0)] : [] }),
  );
  return { host, port };
}

/** The long flows as the API shows them, but for what they have moved. */
async function flowsOf(control: Control, downloads: readonly Download[]): Promise<StillView[]> {
  const { flows } = await control.connections();
  return downloads.map(({ moved: { host } }) => {
    const found = flows.filter((flow) => flow.host === host);
    assert.equal(found.length, 1, `one flow to ${host}`);
    return withoutCounts(found);
  });
}

const withoutCounts = ([flow]: readonly FlowView[]): StillView => {
  assert.ok(flow);
  // The start is computed from the current wall clock, so it may differ by a millisecond.
  const { up: _up, down: _down, started_at: _startedAt, ...rest } = flow;
  return rest;
};

type StillView = Omit<FlowView, 'up' | 'down' | 'started_at'>;

interface Entrance {
  readonly tag: InboundTag;
  readonly address: () => Address;
  readonly connect: (proxy: Address, host: string, port: number) => Promise<Socket>;
}

/** A way in by every TCP inbound that no reload removes. */
function entrances(weir: Weir): readonly Entrance[] {
  const socks: Entrance['connect'] = (proxy, host, port) => socksConnect(proxy, { host, port });
  const login: Entrance['connect'] = (proxy, host, port) =>
    socksConnect(proxy, { host, port }, STEADY);
  const http: Entrance['connect'] = (proxy, host, port) => httpTunnel(proxy, `${host}:${port}`);
  const by = (tag: InboundTag, connect: Entrance['connect']): Entrance => ({
    tag,
    address: () => weir.address(tag),
    connect,
  });
  return [
    by('socks', socks),
    by('login', login),
    by('http', http),
    by('usocks', socks),
    by('uhttp', http),
  ];
}

/** A download by one way in, which may move to another address while it is being opened. */
async function open(
  { tag, address, connect }: Entrance,
  host: string,
  port: number,
): Promise<Download> {
  for (;;) {
    const proxy = address();
    try {
      return new Download(await connect(proxy, host, port), host);
    } catch (error) {
      // A listener that moved may have met the client with a closed port, or another inbound.
      await eventually(
        () => `${tag} at ${hostPort(proxy)} refused, and did not move: ${String(error)}`,
        () => hostPort(address()) !== hostPort(proxy),
      );
    }
  }
}
