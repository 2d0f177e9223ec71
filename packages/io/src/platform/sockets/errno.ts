import { getSystemErrorMap } from 'node:util';
import type { SystemCalls } from './bindings.ts';

/** The target of a call: an address with its port, or the path of a unix socket. */
interface CallTarget {
  readonly address: string;
  readonly port?: number | undefined;
}

/**
 * A failed system call, with the fields and text of Node's error: `connect ECONNREFUSED
 * 127.0.0.1:80` with `code`, `errno` (negative) and `syscall`.
 */
export class SystemError extends Error {
  readonly code: string;
  readonly errno: number;
  readonly syscall: string;
  readonly address?: string;
  readonly port?: number;

  /** Creates the error. @param number the positive value of `errno`. */
  constructor(syscall: string, number: number, target?: CallTarget) {
    const code = errorCode(number);
    super(`${syscall} ${code}${describe(target)}`);
    this.name = 'Error';
    this.code = code;
    this.errno = -number;
    this.syscall = syscall;
    if (target) {
      this.address = target.address;
      if (target.port !== undefined) this.port = target.port;
    }
  }
}

/** Returns the code of an error number: `ECONNREFUSED` for 111; `Unknown system error 3999` without a name. */
export const errorCode = (number: number): string =>
  getSystemErrorMap().get(-number)?.[0] ?? `Unknown system error ${number}`;

/** Returns libuv's description of an error: `address already in use` for EADDRINUSE. */
export const errorText = (number: number): string =>
  getSystemErrorMap().get(-number)?.[1] ?? `unknown system error ${number}`;

function describe(target: CallTarget | undefined): string {
  if (!target) return '';
  return target.port === undefined ? ` ${target.address}` : ` ${target.address}:${target.port}`;
}

/**
 * The only owner of a descriptor. Its number becomes -1 when it is closed or transferred, so that a
 * second close cannot affect a later descriptor of the same number.
 */
export class Descriptor implements Disposable {
  readonly #calls: SystemCalls;
  #number: number;

  constructor(calls: SystemCalls, number: number) {
    this.#calls = calls;
    this.#number = number;
  }

  /** The number of the descriptor; -1 after close or transfer. */
  get number(): number {
    return this.#number;
  }

  /**
   * Closes the descriptor. Idempotent. EINTR also leaves the descriptor closed (close(2)), so the call is never
   * retried.
   */
  close(): void {
    const number = this.#number;
    if (number < 0) return;
    this.#number = -1;
    this.#calls.close(number);
  }

  /** Transfers the descriptor to the caller, who closes it; -1 if there is none. */
  take(): number {
    const number = this.#number;
    if (number < 0) return -1;
    this.#number = -1;
    this.#calls.debug?.disown(number);
    return number;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
