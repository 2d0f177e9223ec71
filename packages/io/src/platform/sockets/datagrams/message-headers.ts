import type { UnreachablePart, IpEndpoint } from '@weir/base/ip';
import type { SystemCalls } from '../bindings.ts';
import { CONTROL_LENGTH } from './control-messages.ts';
import { putWord64, type NativeMemory } from '../../native-memory.ts';

/** The most messages of one call. */
export const BATCH = 64;

/** `struct mmsghdr` in words: name 0, namelen 2, iov 4, iovlen 6, control 8, controllen 10, flags 12, len 14. */
export const MESSAGE_WORDS = 16;
/** `struct iovec` in words. */
const VECTOR_WORDS = 4;
/** Words for a `sockaddr_in6`, aligned. */
export const NAME_WORDS = 8;
export const CONTROL_WORDS = CONTROL_LENGTH / 4;

/** A socket, as seen by batches. */
export interface BatchSocket {
  readonly fd: number;
  readonly family: number;
  /** Whether an IPv6 socket reaches IPv4 peers. */
  readonly dualStack: boolean;
  /** The local port, for records of received datagrams. */
  readonly port: number;
  /** Whether UDP_SEGMENT is used; cleared permanently by the first error that it causes. */
  segmentation: boolean;
  /** Number of datagrams that the kernel or the batch refused. */
  dropped: number;
  /** The queue overflow counter of the kernel (SO_RXQ_OVFL). */
  overflowed: number;
  /** Called for an unreachable destination; see `DatagramHandlers`. */
  readonly onUnreachable?: ((destination: IpEndpoint, what: UnreachablePart) => void) | undefined;
  /** Whether a call may return the error of an earlier datagram. */
  readonly reportsErrors: boolean;
}

/** Memory for the headers of BATCH messages: names, control messages and vectors. */
export class MessageHeaders {
  readonly names: NativeMemory;
  readonly controls: NativeMemory;
  readonly messages: NativeMemory;
  readonly #vectors: NativeMemory;

  constructor(calls: SystemCalls, vectors: number) {
    this.names = calls.memory(BATCH * NAME_WORDS * 4);
    this.controls = calls.memory(BATCH * CONTROL_LENGTH);
    this.#vectors = calls.memory(vectors * VECTOR_WORDS * 4);
    this.messages = calls.memory(BATCH * MESSAGE_WORDS * 4);
    for (let i = 0; i < BATCH; i++) {
      const message = i * MESSAGE_WORDS;
      const { words } = this.messages;
      putWord64(words, message, this.names.at + i * NAME_WORDS * 4);
      putWord64(words, message + 8, this.controls.at + i * CONTROL_LENGTH);
    }
  }

  /** Sets an `iovec` of payload. */
  setVector(index: number, at: number, length: number): void {
    const { words } = this.#vectors;
    putWord64(words, index * VECTOR_WORDS, at);
    words[index * VECTOR_WORDS + 2] = length;
  }

  /** Sets the vectors that hold the payload of a message. */
  setVectors(index: number, first: number, count: number): void {
    const { words } = this.messages;
    putWord64(words, index * MESSAGE_WORDS + 4, this.#vectors.at + first * VECTOR_WORDS * 4);
    words[index * MESSAGE_WORDS + 6] = count;
  }

  /** Resets the lengths of names and control messages, which received messages have overwritten. */
  clear(): void {
    const { words } = this.messages;
    for (let i = 0; i < BATCH; i++) {
      const message = i * MESSAGE_WORDS;
      words[message + 2] = NAME_WORDS * 4;
      words[message + 10] = CONTROL_LENGTH;
      words[message + 12] = 0;
    }
  }
}
