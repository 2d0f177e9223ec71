import type { Socket } from 'node:net';
import { messageOf, WeirError } from '@weir/base';
import { asDialError, type OutboundVersion } from '@weir/proxy/engine';
import { formatEndpoint, normalizeHost } from '@weir/io/addresses';
import { DeadlineError, DialTimer, type DialTimes } from '@weir/io';
import type { DialOrigin } from '@weir/io/net/own-listeners';
import { type ByteLink, relay } from '@weir/io/links';
import { SocketLink } from '@weir/io/sockets';
import { type Clock, Deadline, DIAL_MS } from '@weir/io/time';
import { IdleTimer } from '@weir/io/pace';
import {
  isTunnelRequest,
  type TunnelFailed,
  type TunnelOpened,
  type TunnelResponse,
} from './messages.ts';

/** Maximum number of tunnels. */
const MAX_TUNNELS = 128;

/** Milliseconds without a byte in either direction after which a tunnel ends. */
const TUNNEL_IDLE_MS = 300_000;

/** Milliseconds to wait for a client to read its response. */
const RESPONSE_MS = 5_000;

/** The origin of tunnels: the client is on this host, and uses no inbound. */
const ORIGIN: DialOrigin = { inbound: '', source: undefined, session: undefined };

/** The parts of the running proxy that tunnels use. */
export interface TunnelDeps {
  readonly clock: Clock;
  /** Returns the outbound with this tag, or a member of the balancer with it; `undefined` if there is none. */
  readonly pick: (tag: string) => OutboundVersion | undefined;
  /** Aborts when the proxy stops. */
  readonly stopping: AbortSignal;
}

/** A failed dial, with the times of the steps that were completed. */
class TunnelDialError extends WeirError {
  readonly times: DialTimes;

  constructor(message: string, times: DialTimes, options: ErrorOptions) {
    super('tunnel', message, options);
    this.times = times;
  }
}

/** A dialled flow; it holds a reference to the version of its outbound. */
interface DialledTunnel {
  readonly link: ByteLink;
  readonly opened: TunnelOpened;
  readonly release: () => void;
}

/**
 * Flows that clients of the control socket open through an outbound of their choice. They pass neither rules nor
 * inbounds, so they are in no table of flows, belong to no user, and an operator's `close` does not affect them.
 */
export class ControlTunnels {
  readonly #deps: TunnelDeps;
  #open = 0;

  constructor(deps: TunnelDeps) {
    this.#deps = deps;
  }

  /** Number of tunnels that are open or being opened. */
  get open(): number {
    return this.#open;
  }

  /** Serves one client until its flow has ended. Never rejects. @param client paused, half-open allowed */
  async serve(request: unknown, client: Socket): Promise<void> {
    this.#open++;
    try {
      const dialled = await this.#dialFor(request, client);
      if (dialled) await this.#relay(dialled, client);
    } catch (error) {
      const times = error instanceof TunnelDialError ? error.times : {};
      await refuse(client, { kind: 'failed', line: messageOf(error), times });
    } finally {
      this.#open--;
    }
  }

  /** Dials for a client. @returns `undefined` when the client has disconnected. @throws {WeirError} for the client */
  async #dialFor(request: unknown, client: Socket): Promise<DialledTunnel | undefined> {
    if (this.#open > MAX_TUNNELS) {
      throw new WeirError('tunnel', `${MAX_TUNNELS} connections are open through this socket`);
    }
    using deadline = new Deadline(this.#deps.clock, DIAL_MS, 'the dial', this.#deps.stopping);
    const onLeft = (): void => deadline.abort(new WeirError('tunnel', 'the client has left'));
    // An end of stream from the client counts as a disconnect, unless earlier data is still unread: the close of a
    // unix socket looks the same. Only reading detects it.
    const onReadable = (): void => {
      if (client.readableLength === 0) client.read();
    };
    client.on('readable', onReadable).once('end', onLeft).once('close', onLeft);
    try {
      const dialled = await this.#dial(request, deadline.signal);
      if (!deadline.signal.aborted && !client.destroyed) return dialled;
      dialled.link.destroy();
      dialled.release();
      return undefined;
    } finally {
      client.off('readable', onReadable).off('end', onLeft).off('close', onLeft);
    }
  }

  /** Checks the request and dials. @throws {WeirError} */
  async #dial(request: unknown, signal: AbortSignal): Promise<DialledTunnel> {
    const { clock, pick } = this.#deps;
    if (!isTunnelRequest(request)) {
      throw new WeirError('tunnel', 'expected {"outbound":TAG,"host":HOST,"port":PORT}');
    }
    const host = normalizeHost(request.host);
    if (host === undefined) {
      throw new WeirError('tunnel', `${JSON.stringify(request.host)} is not a host`);
    }
    const version = pick(request.outbound);
    if (!version) {
      const tag = JSON.stringify(request.outbound);
      throw new WeirError('tunnel', `no outbound or balancer has the tag ${tag}`);
    }
    const destination = { host, port: request.port };
    version.hold();
    const timer = new DialTimer(clock);
    const { observe } = timer;
    const { tag, outbound } = version;
    try {
      const link = await outbound.connect(destination, { signal, origin: ORIGIN, observe });
      observe('opened');
      const { times } = timer;
      const suspect = outbound.suspect ?? null;
      const opened = { kind: 'connected', outbound: tag, times, suspect } as const;
      return { link, opened, release: () => version.release() };
    } catch (error) {
      version.release();
      const { message } = asDialError(error, signal, destination);
      throw new TunnelDialError(
        `${formatEndpoint(destination)} by ${tag}: ${message}`,
        timer.times,
        { cause: error },
      );
    }
  }

  async #relay({ link: remote, opened, release }: DialledTunnel, client: Socket): Promise<void> {
    const { clock, stopping } = this.#deps;
    const link = new SocketLink(client);
    const end = (cause: Error): void => {
      link.destroy(cause);
      remote.destroy(cause);
    };
    const idle = new IdleTimer(clock, TUNNEL_IDLE_MS, () =>
      end(new DeadlineError(`silent for ${TUNNEL_IDLE_MS / 1000} s`)),
    );
    const onStop = (): void => end(new WeirError('tunnel', 'the proxy is stopping'));
    stopping.addEventListener('abort', onStop, { once: true });
    idle.start();
    try {
      client.write(responseLine(opened));
      await relay(link, remote, { addUp: idle.touch, addDown: idle.touch }, clock);
    } finally {
      idle.stop();
      stopping.removeEventListener('abort', onStop);
      release();
    }
  }
}

const responseLine = (response: TunnelResponse): string => `${JSON.stringify(response)}\n`;

/** Sends the reason and closes; resolves when the client has disconnected. */
async function refuse(client: Socket, response: TunnelFailed): Promise<void> {
  if (client.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  client.once('close', () => resolve());
  client.setTimeout(RESPONSE_MS, () => client.destroy());
  client.resume().end(responseLine(response));
  await promise;
}
