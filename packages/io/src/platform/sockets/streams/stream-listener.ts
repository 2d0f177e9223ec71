import { unlinkSync } from 'node:fs';
import { claimPassed, type Claim } from '../../passed-sockets.ts';
import { Descriptor, errorText, SystemError } from '../errno.ts';
import type { KernelIo } from '../kernel-io.ts';
import {
  AF_INET6,
  AF_UNIX,
  EAGAIN,
  EMFILE,
  ENFILE,
  ENOBUFS,
  ENOMEM,
  EPOLLIN,
  IPPROTO_IPV6,
  IPV6_V6ONLY,
  NONBLOCK_CLOEXEC,
  SOCK_STREAM,
  SOL_SOCKET,
  SO_REUSEADDR,
} from '../linux.ts';
import type { Readiness } from '../poller.ts';
import { familyOf, type SocketAddress } from '../sockaddr.ts';
import { setOption, setTcpOptions, setZeroLinger } from '../socket-options.ts';
import { StreamSocket } from './stream-socket.ts';

/** Connections that the kernel queues, so that a burst of clients is not refused. */
const BACKLOG = 4096;
/** Connections accepted per turn; the rest follows in the next turn. */
const BATCH = 64;
/** Descriptors of one flow: for the client and for the destination. */
const DESCRIPTORS_A_FLOW = 2;
/** Milliseconds before accepting is retried after a pause. */
const HELD_BACK_MS = 20;
/**
 * Milliseconds that connections wait for descriptors that their own source holds. After that they are reset, so that
 * those queued behind them in the kernel are examined.
 */
const PATIENCE_MS = 1_000;
/** Number of free descriptors above which a shortage has ended; fewer may be free only for a moment. */
const ENOUGH = 16;
/** Errors of accept4(2) that are temporary, until other descriptors are closed. */
const EXHAUSTED: ReadonlySet<number> = new Set([EMFILE, ENFILE, ENOBUFS, ENOMEM]);

interface StreamListenerOptions {
  readonly onSocket: (socket: StreamSocket, remote: SocketAddress | undefined) => void;
  /**
   * Called while descriptors are short, with the client of a waiting connection: evicts a holder of another client that
   * holds more. Returns false when there is none.
   */
  readonly makeRoom?: ((remote: SocketAddress | undefined) => boolean) | undefined;
  /** Called when accepting pauses because no descriptor is free; connections wait in the kernel. */
  readonly onPaused?: ((reason: string) => void) | undefined;
}

/**
 * A listening stream socket, whose options accepted sockets inherit. Connections are accepted only while descriptors
 * for their destinations are free as well; the others wait in the kernel's queue, whereas libuv would accept and close
 * them. Connections of clients that hold less than others are searched for in the queue, and others are evicted for
 * them.
 */
export class StreamListener implements Readiness {
  /** The bound address, with the port that the kernel chose. */
  readonly local: SocketAddress;
  readonly #io: KernelIo;
  readonly #descriptor: Descriptor;
  readonly #options: StreamListenerOptions;
  readonly #isTcp: boolean;
  /** The claim on a socket passed by a service manager. */
  readonly #claim: Claim | undefined;
  #slot: number | undefined;
  #timer: { cancel(): void } | undefined;
  /** Number of checks for descriptors since they ran out; `undefined` before. */
  #shortLooks: number | undefined;
  /** An accepted connection that waits for descriptors that its own source holds. */
  #waiting: { readonly fd: number; readonly remote: SocketAddress | undefined } | undefined;

  /**
   * Binds and listens, unless a listening socket was passed for the address. The IPv6 wildcard accepts IPv4 connections
   * as well.
   * @throws {SystemError} of the system call `listen`, with Node's text.
   */
  constructor(io: KernelIo, where: SocketAddress, options: StreamListenerOptions) {
    this.#io = io;
    this.#options = options;
    const family = familyOf(where);
    this.#isTcp = family !== AF_UNIX;
    const { calls, addresses } = io;
    this.#claim = claimPassed('stream', where);
    if (this.#claim) calls.debug?.adopt(this.#claim.fd);
    const fd = this.#claim?.fd ?? calls.socket(family, SOCK_STREAM | NONBLOCK_CLOEXEC, 0);
    if (fd < 0) throw listenError(calls.errno(), where);
    this.#descriptor = new Descriptor(calls, fd);
    try {
      if (this.#isTcp) setTcpOptions(io, fd);
      if (!this.#claim) this.#bind(where, family);
      const bound = addresses.localOf(fd);
      // Clients have to be notified of a port that the kernel chose.
      if (!bound && 'port' in where && where.port === 0) throw listenError(calls.errno(), where);
      this.local = bound ?? where;
      this.#watch();
    } catch (error) {
      this.#descriptor.close();
      this.#claim?.release();
      throw error;
    }
  }

  /**
   * Stops accepting and frees the address immediately, including the file of a unix socket. First accepts completed
   * connections, which the kernel would reset; in a passed socket these wait for the next listener. Idempotent.
   */
  close(): void {
    const fd = this.#descriptor.number;
    if (fd < 0) return;
    try {
      for (let i = 0; !this.#claim && i < BACKLOG && this.#slot !== undefined; i += BATCH) {
        if (this.#acceptBatch() < BATCH) break;
      }
    } finally {
      this.#timer?.cancel();
      this.#refuseWaiting();
      // A passed socket stays open, and epoll would continue to report it.
      if (this.#slot !== undefined) this.#io.poller.detach(this.#slot, fd);
      this.#slot = undefined;
      const { local } = this;
      if (!this.#claim && 'path' in local && !local.path.startsWith('\0')) removeFile(local.path);
      this.#descriptor.close();
      this.#claim?.release();
    }
  }

  ready(): void {
    this.#acceptBatch();
  }

  #bind(where: SocketAddress, family: number): void {
    const { calls, addresses } = this.#io;
    const fd = this.#descriptor.number;
    const length = addresses.encode(where, family);
    if (this.#isTcp) setOption(this.#io, fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (family === AF_INET6) setOption(this.#io, fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (calls.bind(fd, addresses.at, length) !== 0) throw listenError(calls.errno(), where);
    if (calls.listen(fd, BACKLOG) !== 0) throw listenError(calls.errno(), where);
  }

  /**
   * Accepts up to `BATCH` connections; returns their number, which is smaller if no more are
   * available.
   */
  #acceptBatch(): number {
    const { calls, addresses, room } = this.#io;
    let free = room.free(this.#descriptor.number);
    for (let i = 0; i < BATCH; i++) {
      if (this.#slot === undefined) return i;
      // If the kernel reports no count, `free` only covers one flow, so it is checked again.
      if (free < DESCRIPTORS_A_FLOW) free = room.free(this.#descriptor.number);
      if (free >= ENOUGH) this.#shortLooks = undefined;
      if (free < DESCRIPTORS_A_FLOW) {
        this.#holdBack('this process has too many open files');
        return i;
      }
      addresses.prepare();
      const { resultAt, resultLengthAt } = addresses;
      const fd = calls.accept4(this.#descriptor.number, resultAt, resultLengthAt, NONBLOCK_CLOEXEC);
      if (fd < 0) {
        const error = calls.errno();
        if (error === EAGAIN) return i;
        // Any other error concerns only one connection, which failed while it was queued.
        if (EXHAUSTED.has(error)) {
          this.#holdBack(errorText(error));
          return i;
        }
        continue;
      }
      free -= DESCRIPTORS_A_FLOW;
      const socket = this.#adopt(fd);
      if (!socket) return i;
      this.#pass(socket, this.#io.addresses.decode());
    }
    return BATCH;
  }

  /**
   * Passes a connection to the handler, and resets it if the handler throws, so that its client does not wait for a
   * response.
   */
  #pass(socket: StreamSocket, remote: SocketAddress | undefined): void {
    let isTaken = false;
    try {
      this.#options.onSocket(socket, remote);
      isTaken = true;
    } finally {
      if (!isTaken) socket.reset();
    }
  }

  /** Watches an accepted socket; `undefined` if the kernel cannot watch another one; that connection is lost. */
  #adopt(fd: number): StreamSocket | undefined {
    try {
      return new StreamSocket(this.#io, fd, this.#isTcp, 'accepted');
    } catch (error) {
      if (!(error instanceof SystemError)) throw error;
      this.#holdBack(error.message);
      return undefined;
    }
  }

  #watch(): void {
    // Level-triggered: connections left by a batch are reported again.
    this.#slot = this.#io.poller.add(this.#descriptor.number, this, EPOLLIN);
  }

  #holdBack(reason: string): void {
    if (this.#slot === undefined) return;
    this.#io.poller.detach(this.#slot, this.#descriptor.number);
    this.#slot = undefined;
    this.#options.onPaused?.(reason);
    this.#lookAgain();
  }

  #lookAgain(): void {
    this.#timer = this.#io.timers.after(HELD_BACK_MS, () => {
      const fd = this.#descriptor.number;
      if (fd < 0) return;
      let watches = false;
      try {
        this.#serveOthers();
        watches = this.#io.room.free(fd) >= DESCRIPTORS_A_FLOW && this.#watchAgain();
      } finally {
        // After any failure: without a retry nothing would be accepted again.
        if (!watches) this.#lookAgain();
      }
    });
  }

  /**
   * Examines waiting connections, with descriptors of the operator: those for which other clients are evicted are
   * served. A connection of the client that holds the most waits, and is reset with others like it once the shortage
   * lasts.
   */
  #serveOthers(): void {
    const { calls, addresses, room } = this.#io;
    const { makeRoom } = this.#options;
    this.#shortLooks = (this.#shortLooks ?? 0) + 1;
    const isPatient = this.#shortLooks * HELD_BACK_MS < PATIENCE_MS;
    const waiting = this.#waiting;
    if (waiting) {
      if (room.free(this.#descriptor.number) >= DESCRIPTORS_A_FLOW) this.#serve(waiting);
      else if (makeRoom?.(waiting.remote)) this.#serve(waiting);
      else if (isPatient) return;
      this.#refuseWaiting();
    }
    for (let i = 0; makeRoom && i < BATCH && room.mayLook; i++) {
      if (room.free(this.#descriptor.number) >= DESCRIPTORS_A_FLOW) return;
      addresses.prepare();
      const { resultAt, resultLengthAt } = addresses;
      const fd = calls.accept4(this.#descriptor.number, resultAt, resultLengthAt, NONBLOCK_CLOEXEC);
      if (fd < 0) return;
      const remote = addresses.decode();
      this.#waiting = { fd, remote };
      if (makeRoom(remote)) this.#serve(this.#waiting);
      else if (isPatient) return;
      this.#refuseWaiting();
    }
  }

  #serve({ fd, remote }: { fd: number; remote: SocketAddress | undefined }): void {
    this.#waiting = undefined;
    const socket = this.#adopt(fd);
    if (socket) this.#pass(socket, remote);
  }

  /** Resets the waiting connection, if any. */
  #refuseWaiting(): void {
    const waiting = this.#waiting;
    if (!waiting) return;
    this.#waiting = undefined;
    if (this.#isTcp) setZeroLinger(this.#io, waiting.fd);
    this.#io.calls.close(waiting.fd);
  }

  /** Watches the listener again; returns false while the kernel cannot. */
  #watchAgain(): boolean {
    try {
      this.#watch();
      return true;
    } catch (error) {
      if (error instanceof SystemError) return false;
      throw error;
    }
  }
}

/**
 * Returns the error of a listen call in the form of node:net: `listen EADDRINUSE: address already in use 127.0.0.1:80`.
 */
function listenError(number: number, where: SocketAddress): SystemError {
  const target =
    'path' in where ? { address: where.path } : { address: where.host, port: where.port };
  const error = new SystemError('listen', number, target);
  error.message = error.message.replace(error.code, `${error.code}: ${errorText(number)}`);
  return error;
}

function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // The file is already removed, or may not be removed.
  }
}
