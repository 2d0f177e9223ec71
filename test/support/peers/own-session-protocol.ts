import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { WeirError } from '@weir/base';
import { type Endpoint, formatEndpoint } from '@weir/io/addresses';
import type {
  OpenSession,
  SessionRegistry,
  SessionListener,
  SessionServer,
} from '../../../packages/proxy/src/protocols/contract.ts';
import {
  defineProtocol,
  withUsers,
  type Protocol,
} from '../../../packages/proxy/src/protocols/protocol.ts';
import type { Steps } from '@weir/io/time';
import type { ListenSpec } from '@weir/proxy/spec';
import { BindError } from '@weir/proxy/listeners';

/** Settings of the fake protocol. */
export interface LineSettings {
  /** Comes first in every response. */
  readonly name: string;
  /** Cannot change under live sessions. */
  readonly fixed?: string;
  /** Makes `create` fail. */
  readonly broken?: boolean;
  /** Makes `bind` fail. */
  readonly unbindable?: boolean;
}

/** Called before a server binds. */
export type BeforeBind = (settings: LineSettings) => Promise<void>;

/**
 * A protocol whose listener owns its sessions, as small as it can be: a client is an address of UDP,
 * its first datagram opens its session, `end` closes it, and every other one is responded to with
 * the name of the server that the client started with. The datagram `gone` is the goodbye. After the
 * datagram `break` the listener fails. A client that has sent `idle` has no flow.
 */
export const lines = (beforeBind?: BeforeBind): Protocol =>
  defineProtocol<LineSettings>({
    inbound: {
      kind: 'sessions',
      listens: 'udp',
      stream: false,
      settings: () => ({ name: '' }),
      users: () => undefined,
      restartReason: (before, after) =>
        before.fixed === after.fixed ? undefined : 'its fixed part changes',
      load: () =>
        Promise.resolve(
          withUsers(
            function* usersOf({ broken }: LineSettings): Steps<void> {
              yield; // as one with many users does
              if (broken) throw new Error('it is broken');
            },
            (_users, _context, settings) => new LineServer(settings, beforeBind),
          ),
        ),
    },
  });

/**
 * The same protocol as a device: it has no address, and nothing reaches it. Of two with the same `fixed`
 * only one can be bound at a time.
 */
export const device = (): Protocol => {
  const taken = new Set<string>();
  return defineProtocol<LineSettings>({
    inbound: {
      kind: 'sessions',
      listens: 'device',
      stream: false,
      settings: () => ({ name: '' }),
      users: () => undefined,
      restartReason: (before, after) =>
        before.fixed === after.fixed ? undefined : 'fixed changed',
      load: () => Promise.resolve((settings) => new LineServer(settings, undefined, taken)),
    },
  });
};

export class LineServer implements SessionServer {
  readonly settings: LineSettings;
  readonly #beforeBind: BeforeBind | undefined;

  /** What devices have that no other one can have meanwhile. */
  readonly #taken: Set<string> | undefined;

  constructor(settings: LineSettings, beforeBind?: BeforeBind, taken?: Set<string>) {
    this.settings = settings;
    this.#beforeBind = beforeBind;
    this.#taken = taken;
  }

  async bind(listen: ListenSpec, sessions: SessionRegistry): Promise<SessionListener> {
    await this.#beforeBind?.(this.settings);
    if (this.settings.unbindable) throw new BindError('a port for lines', new Error('it may not'));
    const { fixed } = this.settings;
    if (fixed !== undefined && this.#taken?.has(fixed)) {
      throw new BindError(fixed, new WeirError('EEXIST', 'it exists already'));
    }
    const socket = createSocket('udp4');
    const where =
      listen.kind === 'ip' ? { address: listen.host, port: listen.port } : { address: '127.0.0.1' };
    try {
      socket.bind(where);
      await once(socket, 'listening');
    } catch (error) {
      socket.close();
      throw new BindError('a port for lines', error);
    }
    const listener = new LineListener(this, socket, sessions, listen.kind === 'none');
    if (fixed !== undefined && this.#taken) {
      this.#taken.add(fixed);
      void listener.closed.then(() => this.#taken?.delete(fixed));
    }
    return listener;
  }
}

class LineListener implements SessionListener {
  readonly address: string;
  readonly endpoint: Endpoint | undefined;
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  #server: LineServer;
  #sessions: SessionRegistry;
  #accepting = false;
  #retired = false;
  #released = false;
  #unsent = 0;
  readonly #clients = new Map<string, Client>();

  constructor(server: LineServer, socket: Socket, sessions: SessionRegistry, isDevice: boolean) {
    this.#server = server;
    this.#socket = socket;
    this.#sessions = sessions;
    const { address: host, port } = socket.address();
    this.endpoint = isDevice ? undefined : { host, port };
    this.address = isDevice ? 'device0' : formatEndpoint({ host, port });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    socket.once('close', () => resolve());
    socket.on('message', (data, { address, port: from }) =>
      this.#onDatagram(data.toString(), { host: address, port: from }),
    );
  }

  serve(): void {
    this.#accepting = true;
  }

  swap(next: SessionServer, sessions: SessionRegistry): void {
    if (!(next instanceof LineServer)) throw new RangeError('another protocol');
    this.#server = next;
    this.#sessions = sessions;
    this.#accepting = true;
  }

  keep(): boolean {
    this.#retired = false;
    return !this.#released;
  }

  retire(): void {
    this.#accepting = false;
    this.#retired = true;
    this.#releaseIfDone();
  }

  endIdle(): void {
    for (const client of this.#clients.values()) if (client.isIdle) client.destroy();
  }

  destroy(): void {
    for (const client of this.#clients.values()) client.destroy();
    this.#retired = true;
    this.#releaseIfDone();
  }

  #onDatagram(text: string, remote: Endpoint): void {
    if (text === 'break') {
      this.destroy();
      return;
    }
    const key = formatEndpoint(remote);
    const client =
      this.#clients.get(key) ?? (this.#accepting ? this.#open(key, remote) : undefined);
    if (!client) return;
    client.wire.bytesRead += text.length;
    client.isIdle = text === 'idle';
    if (text === 'end') client.end();
    else client.send(`${client.name}: ${text}`);
  }

  #open(key: string, remote: Endpoint): Client {
    const wire = { bytesRead: 0, bytesWritten: 0 };
    const send = (text: string): void => {
      wire.bytesWritten += text.length;
      this.#unsent++;
      this.#socket.send(text, remote.port, remote.host, () => {
        this.#unsent--;
        this.#releaseIfDone();
      });
    };
    const end = (): void => {
      if (!this.#clients.delete(key)) return;
      client.session.close();
      this.#releaseIfDone();
    };
    const destroy = (): void => {
      send('gone');
      end();
    };
    const session = this.#sessions.open({
      remote,
      local: this.endpoint,
      wire,
      destroy,
    });
    const { name } = this.#server.settings;
    const client = { name, session, wire, isIdle: false, send, end, destroy };
    this.#clients.set(key, client);
    return client;
  }

  #releaseIfDone(): void {
    if (!this.#retired || this.#released || this.#clients.size > 0 || this.#unsent > 0) return;
    this.#released = true;
    this.#socket.close();
  }
}

interface Client {
  readonly name: string;
  isIdle: boolean;
  readonly session: OpenSession;
  readonly wire: { bytesRead: number; bytesWritten: number };
  send(text: string): void;
  end(): void;
  destroy(): void;
}
