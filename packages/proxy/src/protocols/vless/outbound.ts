import type { Endpoint } from '@weir/io/addresses';
import { abortedDial, DialError, ProtocolError, TruncatedError } from '@weir/io';
import { FramedPackets, GreetingLink } from '@weir/io/layers';
import type { ByteLink, PacketLink } from '@weir/io/links';
import type { DialOptions, Outbound, OutboundContext } from '../contract.ts';
import { DestinationLinks } from '../outbounds/destination-links.ts';
import { uuidBytes } from '../users/uuid.ts';
import { VlessFraming, Command, encodeRequest, requestPrefix, VLESS_VERSION } from './wire.ts';
import type { VlessOutboundSettings } from './settings.ts';
import { ByteQueue } from '@weir/base/bytes';

/** Bytes of version and length of the addons. */
const HEAD_BYTES = 2;

/**
 * A client's link without the header of the server's response. Servers send the header with the first payload, so the
 * dial does not wait for it: the first read removes it.
 */
export class ResponseLink implements ByteLink {
  readonly #inner: ByteLink;
  /** The part of the header that was read; `undefined` once the header was removed. */
  #header: ByteQueue | undefined = new ByteQueue();

  constructor(inner: ByteLink) {
    this.#inner = inner;
  }

  get closed(): Promise<Error | undefined> {
    return this.#inner.closed;
  }

  read(signal?: AbortSignal): Promise<Uint8Array | undefined> {
    return this.#header ? this.#readResponse(this.#header, signal) : this.#inner.read(signal);
  }

  unread(chunk: Uint8Array): void {
    this.#inner.unread(chunk);
  }

  write(chunk: Uint8Array, isOwned?: boolean): Promise<void> | undefined {
    return this.#inner.write(chunk, isOwned);
  }

  writeOutput(chunks: readonly Uint8Array[], isOwned?: boolean): Promise<void> | undefined {
    return this.#inner.writeOutput(chunks, isOwned);
  }

  closeWrite(): Promise<void> {
    return this.#inner.closeWrite();
  }

  destroy(cause?: Error): void {
    this.#inner.destroy(cause);
  }

  resetAfterData(cause: Error): void {
    this.#inner.resetAfterData(cause);
  }

  async #readResponse(header: ByteQueue, signal?: AbortSignal): Promise<Uint8Array | undefined> {
    for (;;) {
      const chunk = await this.#inner.read(signal);
      if (chunk === undefined) {
        // A server shows nothing else after a failed dial, or to an unknown user.
        throw new TruncatedError('the VLESS server closed without a response');
      }
      header.push(chunk);
      const head = header.peek(HEAD_BYTES);
      if (head && head[0] !== VLESS_VERSION)
        throw new ProtocolError('the server does not speak VLESS');
      if (!head || !header.take(HEAD_BYTES + (head[1] ?? 0))) continue;
      this.#header = undefined;
      const payload = header.take(header.length);
      return payload?.length ? payload : this.#inner.read(signal);
    }
  }
}

/** Creates a VLESS client without flow and mux; host names are sent as names. */
export function createVlessOutbound(
  settings: VlessOutboundSettings,
  context: OutboundContext,
): Outbound {
  const id = uuidBytes(settings.id);
  const streams = requestPrefix(id, Command.tcp);
  const datagrams = requestPrefix(id, Command.udp);
  const open = async (
    prefix: Uint8Array,
    destination: Endpoint,
    options: DialOptions,
  ): Promise<ByteLink> => {
    const request = encodeRequest(prefix, destination);
    if (!request) {
      throw new DialError('failed', 'the host name does not fit into a VLESS request (255 bytes)');
    }
    const { link } = await context.dial(options);
    return new ResponseLink(new GreetingLink(link, request, context.clock));
  };
  const openPackets = async (peer: Endpoint, options: DialOptions): Promise<PacketLink> =>
    new FramedPackets(
      await open(datagrams, peer, { ...options, use: 'datagrams' }),
      new VlessFraming(peer),
    );
  return {
    connect: (destination, options) => open(streams, destination, options),
    async associate(options) {
      if (options.signal.aborted) throw abortedDial(options.signal, context.server);
      return DestinationLinks.open(openPackets, context, options);
    },
    close: () => undefined,
    suspect: 'an unknown id',
  };
}
