import type { Socket } from 'node:net';
import { openSelf } from '../native.ts';
import { SIOCOUTQ, SOL_SOCKET, SO_LINGER } from './linux.ts';

/** The value `struct linger { int on; int seconds; }` of Linux (socket(7)) for an immediate reset. */
const AT_ONCE = new Uint8Array(new Int32Array([1, 0]).buffer);

interface NativeCalls {
  setsockopt(fd: number, level: number, name: number, value: Uint8Array, length: number): number;
  ioctl(fd: number, request: number, value: Uint8Array): number;
}

/** The native calls, bound with the first call, so that programs without resets do not load them. */
let bound: NativeCalls | false | undefined;

/**
 * Makes close reset a TCP socket, even with unsent or unread data. Node's own `resetAndDestroy`
 * fails while a half-close is in progress, and below TLS it crashes Node 26.10.
 *
 * @returns false if the option could not be set; close is then an ordinary one.
 */
export function resetNodeSocketOnClose(socket: Socket): boolean {
  bound ??= bind();
  const fd = bound === false ? undefined : descriptorOf(socket);
  if (bound === false || fd === undefined) return false;
  return bound.setsockopt(fd, SOL_SOCKET, SO_LINGER, AT_ONCE, AT_ONCE.length) === 0;
}

/** Returns the number of bytes that the kernel has accepted and a TCP peer has not acknowledged; 0 if unknown. */
export function untakenOfNodeSocket(socket: Socket): number {
  bound ??= bind();
  const fd = bound === false ? undefined : descriptorOf(socket);
  if (bound === false || fd === undefined || socket.remoteFamily === undefined) return 0;
  const count = new Int32Array(1);
  return bound.ioctl(fd, SIOCOUTQ, new Uint8Array(count.buffer)) === 0 ? (count[0] ?? 0) : 0;
}

function bind(): NativeCalls | false {
  if (process.platform !== 'linux') return false;
  try {
    const self = openSelf();
    return {
      setsockopt: self.func(
        'int setsockopt(int fd, int level, int name, const void *value, uint32_t length)',
      ),
      ioctl: self.func('int ioctl(int fd, unsigned long request, _Out_ void *value)'),
    };
  } catch {
    return false; // No native functions on this machine.
  }
}

/** Returns the descriptor of a socket, which Node exposes only on the handle; -1 once that is closed. */
function descriptorOf(socket: Socket): number | undefined {
  if (!('_handle' in socket)) return undefined;
  const handle: unknown = socket._handle;
  if (typeof handle !== 'object' || handle === null || !('fd' in handle)) return undefined;
  const { fd } = handle;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}
