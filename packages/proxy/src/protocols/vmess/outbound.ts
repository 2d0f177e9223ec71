import type { Endpoint } from '@weir/io/addresses';
import { abortedDial, DialError } from '@weir/io';
import { FIRST_PAYLOAD_MS } from '@weir/io/time';
import type { ByteLink, PacketLink } from '@weir/io/links';
import { type RandomSource, SystemRandomSource } from '@weir/base/random';
import type { AssociateOptions, DialOptions, Outbound, OutboundContext } from '../contract.ts';
import { DestinationLinks } from '../outbounds/destination-links.ts';
import { BodyLink, type BodyParts } from './body/body.ts';
import { requestKeys } from './body/body-keys.ts';
import { BodySealer } from './body/body-chunks.ts';
import { BodyDatagrams } from './body/body-datagrams.ts';
import { RequestSealer } from './header/request.ts';
import { Command, KEY_LENGTH, Option, type RequestHeader, Security } from './wire.ts';
import { ResponseDecoder } from './header/response.ts';
import type { VmessOutboundSettings } from './settings.ts';
import { userKey } from './header/header-seal.ts';

/** The options of v2ray and Xray. Some servers do not support sealed lengths. */
const OPTIONS = Option.chunkStream | Option.masking | Option.padding;

const SECURITIES = {
  'aes-128-gcm': Security.aes128Gcm,
  'chacha20-poly1305': Security.chacha20Poly1305,
} as const;

/** A VMess client with AEAD headers; host names are sent as names. */
export class VmessOutbound implements Outbound {
  readonly suspect = 'an unknown id or a wrong clock';
  readonly #context: OutboundContext;
  readonly #random: RandomSource;
  readonly #requests: RequestSealer;
  readonly #security: Security;

  constructor(
    { id, security }: VmessOutboundSettings,
    context: OutboundContext,
    random: RandomSource = new SystemRandomSource(),
  ) {
    this.#context = context;
    this.#random = random;
    this.#requests = new RequestSealer(userKey(id), random);
    this.#security = SECURITIES[security];
  }

  async connect(destination: Endpoint, options: DialOptions): Promise<ByteLink> {
    const link = new BodyLink(await this.#open(Command.tcp, destination, options));
    // The server sends nothing before its first payload, so neither success nor refusal is known
    // here. In some protocols the destination sends first: the request waits for payload no longer
    // than FIRST_PAYLOAD_MS.
    const timer = this.#context.clock.after(FIRST_PAYLOAD_MS, () => link.sendPreface());
    void link.closed.then(() => timer.cancel());
    return link;
  }

  async associate(options: AssociateOptions): Promise<PacketLink> {
    const { signal } = options;
    if (signal.aborted) throw abortedDial(signal, this.#context.server);
    const open = async (peer: Endpoint, options: DialOptions): Promise<PacketLink> =>
      new BodyDatagrams(
        await this.#open(Command.udp, peer, { ...options, use: 'datagrams' }),
        peer,
      );
    return DestinationLinks.open(open, this.#context, options);
  }

  close(): void {
    // Flows share nothing.
  }

  /** Dials, and prepares the request, which is sent with the first payload. */
  async #open(
    command: typeof Command.tcp | typeof Command.udp,
    destination: Endpoint,
    options: DialOptions,
  ): Promise<BodyParts> {
    const header: RequestHeader = {
      iv: this.#random.bytes(KEY_LENGTH),
      key: this.#random.bytes(KEY_LENGTH),
      answer: this.#random.bytes(1)[0] ?? 0,
      options: OPTIONS,
      security: this.#security,
      request: { command, destination },
    };
    const { link: carrier } = await this.#context.dial(options);
    const seconds = Math.floor(this.#context.clock.wall() / 1000);
    const preface = this.#requests.seal(header, seconds);
    if (!preface) {
      carrier.destroy();
      throw new DialError('failed', 'the host name does not fit into a VMess request (255 bytes)');
    }
    return {
      carrier,
      decoder: new ResponseDecoder(header),
      sealer: new BodySealer(requestKeys(header), this.#random),
      preface,
    };
  }
}
