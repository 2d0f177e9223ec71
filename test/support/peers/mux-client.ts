import { encodeAddressField, type Endpoint, V2RAY_ADDRESS } from '@weir/io/addresses';
import type { ByteLink } from '@weir/io/links';
import { type FrameHeader, MuxFrameDecoder } from '../../../packages/proxy/src/mux/frame.ts';

/** A frame from its parts, as a client of Mux.Cool writes it. */
export function frame(
  id: number,
  status: number,
  data?: Uint8Array | string,
  rest: Uint8Array = new Uint8Array(0),
  flags = 0,
): Buffer {
  const head = Buffer.alloc(6 + rest.length);
  head.writeUInt16BE(4 + rest.length, 0);
  head.writeUInt16BE(id, 2);
  head[4] = status;
  head[5] = flags | (data === undefined ? 0 : 1);
  head.set(rest, 6);
  if (data === undefined) return head;
  const bytes = Buffer.from(data);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([head, length, bytes]);
}

/** Network and address of a new flow or of a datagram. */
export function addressed(network: 'tcp' | 'udp', to: Endpoint, more?: Uint8Array): Buffer {
  const address = encodeAddressField(to, V2RAY_ADDRESS);
  if (!address) throw new Error('no such address');
  return Buffer.concat([Buffer.of(network === 'tcp' ? 1 : 2), address, more ?? Buffer.alloc(0)]);
}

export const NEW = 1;
export const KEEP = 2;
export const END = 3;
export const KEEP_ALIVE = 4;
export const FAILED = 2;

/** A whole frame that the server sent. */
export interface Seen {
  readonly head: FrameHeader;
  readonly data: string;
}

/** The client's side of a carrier. */
export class MuxClient {
  readonly link: ByteLink;
  readonly #decoder = new MuxFrameDecoder();
  readonly #seen: Seen[] = [];

  constructor(link: ByteLink) {
    this.link = link;
  }

  async send(...frames: readonly Uint8Array[]): Promise<void> {
    await this.link.write(Buffer.concat(frames));
  }

  /** Opens a TCP flow. */
  open(id: number, to: Endpoint, data?: Uint8Array | string): Promise<void> {
    return this.send(frame(id, NEW, data, addressed('tcp', to)));
  }

  /** The next whole frame; a failure when the carrier ends before. */
  async next(): Promise<Seen> {
    for (;;) {
      const seen = this.#seen.shift();
      if (seen) return seen;
      const chunk = await this.link.read();
      if (!chunk) throw new Error('the carrier ended');
      for (const event of this.#decoder.decode(chunk)) this.#collect(event);
    }
  }

  /** Data of one flow up to `length` bytes, whatever the frames; frames of others are an error. */
  async data(id: number, length: number): Promise<string> {
    let data = '';
    while (data.length < length) {
      const seen = await this.next();
      if (seen.head.id !== id || seen.head.status !== KEEP) {
        throw new Error(`another frame came: ${JSON.stringify(seen)}`);
      }
      data += seen.data;
    }
    return data;
  }

  #head: FrameHeader | undefined;
  #data = '';

  #collect(
    event: ReturnType<MuxFrameDecoder['decode']> extends Iterable<infer E> ? E : never,
  ): void {
    if (event.kind === 'header') {
      this.#head = event.header;
      this.#data = '';
      if (event.length > 0) return;
    } else {
      this.#data += Buffer.from(event.bytes).toString('latin1');
      if (!event.last) return;
    }
    if (this.#head) this.#seen.push({ head: this.#head, data: this.#data });
  }
}
