import { ProtocolError } from '@weir/io';
import { TAG_LENGTH } from '@weir/crypto/aead';
import {
  responseKeys,
  responseSecrets,
  type BodyTerms,
  type ResponseSecrets,
} from '../body/body-keys.ts';
import { BodyOpener, type PayloadDecoder } from '../body/body-chunks.ts';
import {
  openHeader,
  openLength,
  responseBox,
  sealHeader,
  sealLength,
  type HeaderBox,
} from './header-seal.ts';
import { PieceReader } from '@weir/base/bytes';
import { SEALED_LENGTH } from '../wire.ts';

/** Bytes of response byte, options, command and length of the command; the command follows, at most 255 bytes. */
const FIXED = 4;
const LONGEST = FIXED + 255;

const NOTHING = new Uint8Array(0);

/** Seals the header of a response: the byte that the client chose, no options and no command. */
export function sealResponse(
  terms: BodyTerms & { readonly answer: number },
  { key, iv }: ResponseSecrets = responseSecrets(terms),
): Buffer {
  const box = responseBox(key, iv);
  const header = Buffer.of(terms.answer, 0, 0, 0);
  return Buffer.concat([sealLength(box, header.length), sealHeader(box, header)]);
}

/** Reads a response, whatever the boundaries of received pieces: its header, then its body. */
export class ResponseDecoder implements PayloadDecoder {
  readonly #answer: number;
  readonly #secrets: ResponseSecrets;
  /** The keys of the header: derived at the first bytes, and discarded after the header. */
  #box: HeaderBox | undefined;
  readonly #pieces = new PieceReader();
  readonly #body: BodyOpener;
  #wanted: 'length' | 'header' | 'body' = 'length';
  #length = SEALED_LENGTH;

  constructor(terms: BodyTerms & { readonly answer: number }) {
    this.#answer = terms.answer;
    this.#secrets = responseSecrets(terms);
    this.#body = new BodyOpener(responseKeys(terms, this.#secrets));
  }

  get chunks(): number {
    return this.#body.chunks;
  }

  get ended(): boolean {
    return this.#body.ended;
  }

  get mayEnd(): boolean {
    return this.#wanted === 'body' && this.#body.mayEnd;
  }

  push(bytes: Uint8Array, ends?: number[]): Uint8Array {
    if (this.#wanted === 'body') return this.#body.push(bytes, ends);
    this.#pieces.feed(bytes);
    for (;;) {
      const piece = this.#pieces.take(this.#length);
      if (!piece) {
        this.#pieces.keep();
        return NOTHING;
      }
      if (this.#open(piece)) return this.#body.push(this.#pieces.rest(), ends);
    }
  }

  /** Opens the length or the header. @returns whether the body comes next. */
  #open(piece: Uint8Array): boolean {
    const { key, iv } = this.#secrets;
    const box = (this.#box ??= responseBox(key, iv));
    if (this.#wanted === 'length') {
      const length = openLength(box, piece);
      if (length === undefined || length < FIXED || length > LONGEST) {
        throw new ProtocolError('the VMess server responds under another key');
      }
      this.#length = length + TAG_LENGTH;
      this.#wanted = 'header';
      return false;
    }
    // Options and commands, such as a switch to another port, may be ignored.
    if (openHeader(box, piece)?.[0] !== this.#answer) {
      throw new ProtocolError('the header of the VMess response is not authentic');
    }
    this.#wanted = 'body';
    this.#box = undefined;
    return true;
  }

  [Symbol.dispose](): void {
    this.#body[Symbol.dispose]();
  }
}
