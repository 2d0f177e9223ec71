import { SO_BUF_LOCK, SO_RCVBUF, SO_RCVBUFFORCE, SOL_SOCKET } from '../linux.ts';
import {
  getOption,
  kernelSetting,
  type OptionSpace,
  roundTrips,
  setOption,
} from '../socket-options.ts';

/** Bytes that a connection receives before its buffer is looked at, and between two looks. */
export const FIT_AFTER = 1 << 20;
/** The same once its buffer is bounded: its path may have become longer. */
export const FIT_AGAIN_AFTER = 64 << 20;

/**
 * Bytes that are enough on a path without a delay: one connection is as fast with them as with 32 MB, and 64 are faster,
 * since less of what waits has left the cache of the processor. Half as much takes a tenth more processor time, as the
 * sender waits more often.
 */
const LEAST_BYTES = 1 << 20;
/** Bytes for each microsecond of the round trip: twice what 10 Gbit/s bring in that time. */
const BYTES_A_MICROSECOND = 2 * 1250;
/** Microseconds of the round trip beyond which the kernel alone chooses. */
const LONG_PATH = 5_000;

/** The largest SO_RCVBUF of a process without CAP_NET_ADMIN (socket(7)). */
const MOST_FILE = '/proc/sys/net/core/rmem_max';

/**
 * Bounds the receive buffers of TCP connections by what their paths need.
 *
 * The kernel lets a buffer grow to `tcp_rmem`, often 6 or 32 MB, by what is read within a round trip (tcp(7)). On a
 * short path most of that time is the wait in the buffer itself, so that it grows for no gain: 64 connections take
 * gigabytes, which the machine has to provide anew, and a client that stops to read has as much kept for it. A buffer
 * that has grown beyond its bound is set to it; the kernel then leaves it as it is. Others, and those of long paths,
 * are the kernel's.
 *
 * The shortest round trip may be that of a SYNPROXY of netfilter on this machine; nothing tells, as the one that the kernel
 * measures by what is received takes 60 ms with 64 connections over loopback.
 *
 * Without CAP_NET_ADMIN the bound needs `net.core.rmem_max` of 1 MB: a smaller buffer would slow the connection down.
 */
export class ReceiveBuffers {
  readonly #io: OptionSpace;
  /** Bytes that may be asked for. */
  #most = Infinity;
  readonly #readMost: () => number;

  constructor(io: OptionSpace, readMost = () => kernelSetting(MOST_FILE) ?? 0) {
    this.#io = io;
    this.#readMost = readMost;
  }

  /**
   * Looks at the buffer of a connection.
   * @param bounded whether an earlier look has bounded it
   * @returns whether it is bounded now
   */
  fit(fd: number, bounded: boolean): boolean {
    if (this.#most < LEAST_BYTES) return false;
    const bytes = this.#boundOf(fd);
    if (bytes === undefined) {
      // The kernel makes it grow again.
      if (bounded) setOption(this.#io, fd, SOL_SOCKET, SO_BUF_LOCK, 0);
      return false;
    }
    // The kernel reports and keeps twice what is asked for.
    const size = (getOption(this.#io, fd, SOL_SOCKET, SO_RCVBUF) ?? 0) / 2;
    return (bounded || size > bytes) && this.#set(fd, bytes);
  }

  /** Bytes that a connection needs at most; `undefined` where the kernel is to choose. */
  #boundOf(fd: number): number | undefined {
    const rtt = roundTrips(this.#io, fd)?.shortest;
    if (rtt === undefined || rtt > LONG_PATH) return undefined;
    return LEAST_BYTES + BYTES_A_MICROSECOND * rtt;
  }

  #set(fd: number, bytes: number): boolean {
    if (this.#most === Infinity) {
      if (setOption(this.#io, fd, SOL_SOCKET, SO_RCVBUFFORCE, bytes) === 0) return true;
      this.#most = this.#readMost();
    }
    if (this.#most < LEAST_BYTES) return false;
    return setOption(this.#io, fd, SOL_SOCKET, SO_RCVBUF, Math.min(bytes, this.#most)) === 0;
  }
}
