import { request, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { RandomSource } from '../../crypto/random-source.ts';
import { messageOf } from '../../errors.ts';
import { formatEndpoint, type Endpoint } from '../../net/address.ts';
import type { Clock } from '../../net/clock.ts';
import { Deadline } from '../../net/deadline.ts';
import { abortedDial, DialError } from '../../net/errors.ts';
import type { ByteLink } from '../../net/link.ts';
import { SocketLink } from '../../net/node/socket-link.ts';
import type { OutboundCarrierSpec } from '../../spec.ts';
import { UPGRADE_MS } from '../limits.ts';
import { EarlyDataLink } from './early-data-link.ts';
import { acceptKey, encodeEarlyData, toRequestTarget } from './handshake.ts';
import { WsLink } from './link.ts';

type WsSpec = Extract<OutboundCarrierSpec, { kind: 'ws' }>;

const HEADER_BYTES = 40 * 1024;

/** The client side of WebSockets towards one server. */
export class WsClient {
  readonly #spec: WsSpec;
  readonly #server: Endpoint;
  readonly #clock: Clock;
  readonly #random: RandomSource;

  constructor(spec: WsSpec, server: Endpoint, clock: Clock, random: RandomSource) {
    this.#spec = spec;
    this.#server = server;
    this.#clock = clock;
    this.#random = random;
  }

  /**
   * Makes a WebSocket of a connected socket, which is gone when that fails. With early data the
   * upgrade waits for the first bytes that are written, and what goes wrong with it shows there.
   *
   * @throws {DialError} `upstream` when the server refuses.
   */
  async open(socket: Socket, raw: Socket, signal: AbortSignal): Promise<ByteLink> {
    const { earlyData } = this.#spec;
    if (earlyData === 0) return this.#upgrade(socket, raw, signal, undefined);
    return new EarlyDataLink(
      earlyData,
      (first, opening) => this.#upgrade(socket, raw, opening, first),
      socket,
    );
  }

  async #upgrade(
    socket: Socket,
    raw: Socket,
    parent: AbortSignal,
    early: Uint8Array | undefined,
  ): Promise<ByteLink> {
    using deadline = new Deadline(this.#clock, UPGRADE_MS, 'the WebSocket upgrade', parent);
    const { signal } = deadline;
    const { promise, resolve, reject } = Promise.withResolvers<ByteLink>();
    const refuse = (reason: string, cause?: unknown): void => {
      const message = `${formatEndpoint(this.#server)}: WebSocket: ${reason}`;
      reject(new DialError('upstream', message, { cause }));
    };
    const onAbort = (): void => reject(abortedDial(signal, this.#server));
    signal.addEventListener('abort', onAbort);
    try {
      if (signal.aborted) onAbort();
      else this.#ask(socket, raw, early, resolve, refuse);
      return await promise;
    } catch (error) {
      socket.destroy();
      raw.destroy();
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #ask(
    socket: Socket,
    raw: Socket,
    early: Uint8Array | undefined,
    resolve: (link: ByteLink) => void,
    refuse: (reason: string, cause?: unknown) => void,
  ): void {
    const key = this.#random.bytes(16).toString('base64');
    const headers: Record<string, string> = {
      Host: this.#spec.host,
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Key': key,
      'Sec-WebSocket-Version': '13',
    };
    if (early) headers['Sec-WebSocket-Protocol'] = encodeEarlyData(early);
    try {
      const asking = request({
        createConnection: () => socket,
        path: toRequestTarget(this.#spec.path),
        setHost: false,
        headers,
        maxHeaderSize: HEADER_BYTES,
      });
      asking.on('error', (error) => refuse(error.message, error));
      asking.on('response', (response) => {
        // It is read to nobody; the socket is destroyed.
        refuse(`the server answered ${response.statusCode}`);
      });
      asking.on('upgrade', (response, _, head) => {
        const problem = problemWith(response, key);
        if (problem !== undefined) {
          refuse(problem);
          return;
        }
        const below = new SocketLink(socket, raw);
        below.unread(head);
        resolve(new WsLink(below, this.#random, this.#clock));
      });
      asking.end();
    } catch (error) {
      // A path or host that HTTP does not allow.
      refuse(messageOf(error), error);
    }
  }
}

function problemWith({ headers, statusCode }: IncomingMessage, key: string): string | undefined {
  if (statusCode !== 101) return `the server answered ${statusCode}`;
  if (headers.upgrade?.toLowerCase() !== 'websocket')
    return 'the server upgrades to another protocol';
  if (headers['sec-websocket-accept'] !== acceptKey(key))
    return 'the server answers another request';
  if (headers['sec-websocket-extensions'] !== undefined) return 'the server uses an extension';
  return undefined;
}
