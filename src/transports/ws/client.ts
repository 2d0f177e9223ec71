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
import { statusInWords } from './status-words.ts';

type WsSpec = Extract<OutboundCarrierSpec, { kind: 'ws' }>;

const HEADER_BYTES = 40 * 1024;

/** The client side of WebSockets to one server. */
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
   * Upgrades a connected socket, which is destroyed when that fails. With early data the upgrade
   * waits for the first write, which rejects when the upgrade fails.
   *
   * @throws {DialError} `upstream` when the server rejects the upgrade.
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
      else this.#request(socket, raw, early, resolve, refuse);
      return await promise;
    } catch (error) {
      socket.destroy();
      raw.destroy();
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #request(
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
      const upgrade = request({
        createConnection: () => socket,
        path: toRequestTarget(this.#spec.path),
        setHost: false,
        headers,
        maxHeaderSize: HEADER_BYTES,
      });
      upgrade.on('error', (error) => refuse(error.message, error));
      upgrade.on('response', (response) => {
        refuse(statusInWords(response));
      });
      upgrade.on('upgrade', (response, _, head) => {
        const problem = problemWith(response, key);
        if (problem !== undefined) {
          refuse(problem);
          return;
        }
        const below = new SocketLink(socket, raw);
        below.unread(head);
        resolve(new WsLink(below, this.#random, this.#clock));
      });
      upgrade.end();
    } catch (error) {
      // HTTP does not allow the path or the host.
      refuse(messageOf(error), error);
    }
  }
}

function problemWith(response: IncomingMessage, key: string): string | undefined {
  const { headers, statusCode } = response;
  if (statusCode !== 101) return statusInWords(response);
  if (headers.upgrade?.toLowerCase() !== 'websocket')
    return 'the server upgrades to another protocol';
  if (headers['sec-websocket-accept'] !== acceptKey(key))
    return 'Sec-WebSocket-Accept does not match the request';
  if (headers['sec-websocket-extensions'] !== undefined)
    return 'the server uses an extension that was not offered';
  return undefined;
}
