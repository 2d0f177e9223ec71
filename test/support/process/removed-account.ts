import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';
import type { Address } from '../data/address.ts';
import { freedom, rule } from './config.ts';
import { API, type Control } from './control.ts';
import { readUpTo, roundTrip } from '../read.ts';
import { echoServer, udpEcho, type Origin } from '../peers/servers.ts';
import { socksConnect, SocksRefused } from '../peers/socks-client.ts';
import { UdpAssociation } from '../peers/socks-udp.ts';
import { eventually } from '../wait.ts';
import { ID, LOGIN, PASSWORD, shadowsocksSecrets } from '../ways/secrets.ts';
import { isModern, type Way } from '../ways/way.ts';

/** A client whose account is removed from a Weir, seen from the SOCKS inbound in front of it. */
export interface Subject {
  readonly title: string;
  /** Tag of the Weir's inbound. */
  readonly tag: string;
  readonly socks: Address;
  /** Whether all TCP flows of the client share a session; left out where each has its own. */
  readonly sharesStreams?: boolean;
  /** The same for all datagrams of an association; `none` where it carries none. */
  readonly datagrams: 'shared' | 'apart' | 'none';
}

/** Where flows go: each kind to several places, of which some are reached by another outbound. */
export interface Places extends AsyncDisposable {
  readonly echo: Origin;
  readonly forbidden: Origin;
  readonly udp: Origin;
  /** By the other outbound, so that datagrams to it are a flow of their own. */
  readonly forbiddenUdp: Origin;
  readonly otherUdp: Origin;
}

export async function openPlaces(): Promise<Places> {
  const stack = new AsyncDisposableStack();
  return {
    echo: stack.use(await echoServer()),
    forbidden: stack.use(await echoServer()),
    udp: stack.use(await udpEcho()),
    forbiddenUdp: stack.use(await udpEcho()),
    otherUdp: stack.use(await udpEcho()),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** What a Weir with these inbounds needs beside them. */
export const around = (inbounds: string, { forbiddenUdp, otherUdp }: Places): string => {
  const ports = `port = ["${forbiddenUdp.port}", "${otherUdp.port}"]`;
  return API + inbounds + freedom() + freedom('other') + rule('other', ports);
};

/** The same configuration, in which the secret of each way's own user is another. */
export function withOtherSecrets(config: string, ways: readonly Way[]): string {
  let changed = config
    .replaceAll(ID, '7d9f1b5e-0f60-4d0b-9a86-0b1f2c9f6a11')
    .replaceAll(PASSWORD, 'another')
    .replaceAll(`"${LOGIN.pass}"`, '"another"');
  for (const way of ways.filter(isModern)) {
    const key = shadowsocksSecrets(way).client.split(':').at(-1) ?? '';
    const other = Buffer.from(key, 'base64').fill('another').toString('base64');
    changed = changed.replaceAll(key, other);
  }
  return changed;
}

/**
 * Removes the accounts of clients with open flows, adds them again and removes them for good: each in
 * a reload of the running program.
 *
 * @param config with the accounts; `removed` without them.
 */
export async function removeAccounts(
  t: TestContext,
  server: Control,
  subjects: readonly Subject[],
  places: Places,
  {
    config,
    removed,
    bystanders = [],
  }: {
    readonly config: string;
    readonly removed: string;
    readonly bystanders?: readonly Subject[];
  },
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const open = (all: readonly Subject[]): Promise<readonly Client[]> =>
    Promise.all(all.map(async (subject) => stack.use(await Client.open(subject, places))));
  const clients = await open(subjects);
  for (const client of clients) await client.noteSessions(server);
  const others = await open(bystanders);
  const each = (
    name: string,
    body: (client: Client) => Promise<void>,
    all = clients,
  ): Promise<void> =>
    t.test(name, async (inner) => {
      for (const client of all) await inner.test(client.title, () => body(client));
    });

  const { swapped } = await server.apply(removed);
  assert.deepEqual([...swapped].sort(), subjects.map(({ tag }) => tag).sort());
  await each('open flows of a removed account go on', (client) => client.goesOn());
  await each('a new flow of it is refused', (client) => client.isRefused());
  await each('others of the inbound are served', (other) => other.isServed(server), others);
  await each('its open flows are none the worse for that', (client) => client.goesOn());

  await server.apply(config);
  await each('its session opens flows again when it is back', (client) => client.isServed(server));

  await server.apply(removed);
  await each('its session ends with the last flow', (client) => client.ends(server));
  assert.equal(places.forbidden.accepted(), 0);
  assert.equal(places.forbiddenUdp.accepted(), 0);
}

/** A client with an open TCP flow, and an association with one. */
class Client implements AsyncDisposable {
  readonly #subject: Subject;
  readonly #places: Places;
  readonly #stream: Socket;
  readonly #association: UdpAssociation | undefined;
  #sessions: ReadonlySet<number | null> = new Set();

  private constructor(
    subject: Subject,
    places: Places,
    stream: Socket,
    association: UdpAssociation | undefined,
  ) {
    this.#subject = subject;
    this.#places = places;
    this.#stream = stream;
    this.#association = association;
  }

  static async open(subject: Subject, places: Places): Promise<Client> {
    const { socks, datagrams } = subject;
    const stream = await socksConnect(socks, places.echo.target);
    stream.on('error', () => undefined);
    const association = datagrams === 'none' ? undefined : await UdpAssociation.open(socks);
    const client = new Client(subject, places, stream, association);
    try {
      await client.goesOn();
    } catch (error) {
      await client[Symbol.asyncDispose]();
      throw new Error(`${subject.title}: no flow could be opened`, { cause: error });
    }
    return client;
  }

  get title(): string {
    return this.#subject.title;
  }

  /** While no other client of the inbound has flows. */
  async noteSessions(server: Control): Promise<void> {
    this.#sessions = await sessionsAt(server, this.#subject.tag);
    assert.notEqual(this.#sessions.size, 0);
  }

  async goesOn(): Promise<void> {
    assert.equal(String(await roundTrip(this.#stream, 'goes on')), 'goes on');
    if (this.#association) await this.#exchange(this.#places.udp);
  }

  async isRefused(): Promise<void> {
    const { sharesStreams = false, datagrams, socks } = this.#subject;
    const { forbidden, forbiddenUdp } = this.#places;
    if (sharesStreams) {
      assert.equal(await sendsNothing(socks, forbidden), true);
      assert.equal(forbidden.accepted(), 0);
    }
    if (datagrams !== 'shared') return;
    this.#association?.send(forbiddenUdp.target, 'let me out');
    await this.goesOn();
    assert.equal(forbiddenUdp.accepted(), 0);
  }

  /** By the sessions that it has had all the time, where it shares them. */
  async isServed(server: Control): Promise<void> {
    const { sharesStreams = false, datagrams, socks, tag } = this.#subject;
    const { echo, otherUdp } = this.#places;
    await this.goesOn();
    const before = await sessionsAt(server, tag);
    const stream = await socksConnect(socks, echo.target);
    assert.equal(String(await roundTrip(stream, 'welcome')), 'welcome');
    const after = await sessionsAt(server, tag);
    assert.equal(after.size, sharesStreams ? before.size : before.size + 1);
    if (datagrams === 'shared') {
      await this.#exchange(otherUdp);
      assert.deepEqual(await sessionsAt(server, tag), after);
    }
    stream.destroy();
  }

  async ends(server: Control): Promise<void> {
    await this.goesOn();
    const own = this.#sessions;
    for (const id of own) await server.api.json('DELETE', `/v1/connections?session=${id}`);
    await eventually(`the end of the sessions ${[...own].join(' and ')}`, async () =>
      (await server.connections()).sessions.every(({ id }) => !own.has(id)),
    );
  }

  async #exchange({ target }: Origin): Promise<void> {
    const text = `to ${target.port}`;
    this.#association?.send(target, text);
    assert.equal(String((await this.#association?.receive())?.data), text);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#stream.destroy();
    this.#association?.[Symbol.dispose]();
    return Promise.resolve();
  }
}

/** The sessions of an inbound that have flows. */
const sessionsAt = async (server: Control, tag: string): Promise<Set<number | null>> =>
  new Set(
    (await server.connections()).flows
      .filter(({ inbound }) => inbound === tag)
      .map(({ session }) => session),
  );

/** Whether a new connection ends without a byte, or is refused at once. */
async function sendsNothing(socks: Address, { target }: Origin): Promise<boolean> {
  let socket: Socket;
  try {
    socket = await socksConnect(socks, target);
  } catch (error) {
    if (error instanceof SocksRefused) return true;
    throw error;
  }
  socket.on('error', () => undefined);
  socket.write('let me out');
  const response = await readUpTo(socket, 1);
  socket.destroy();
  return response === undefined;
}
