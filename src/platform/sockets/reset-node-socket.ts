import type { Socket } from 'node:net';
import { openSelf } from '../native.ts';
import { SOL_SOCKET, SO_LINGER } from './linux.ts';

/** `struct linger { int on; int seconds; }` of Linux (socket(7)). */
const AT_ONCE = new Uint8Array(new Int32Array([1, 0]).buffer);

type SetSocketOption = (
  fd: number,
  level: number,
  name: number,
  value: Uint8Array,
  length: number,
) => number;

/** Bound with the first call, so that programs without resets do not load it. */
let setSocketOption: SetSocketOption | false | undefined;

/**
 * Makes close reset a TCP socket, even with unsent or unread data. Node's own `resetAndDestroy`
 * fails while a half-close is in progress, and below TLS it crashes Node 26.10.
 *
 * @returns false if the option could not be set; close is then an ordinary one.
 */
export function resetNodeSocketOnClose(socket: Socket): boolean {
  setSocketOption ??= bind();
  const fd = setSocketOption === false ? undefined : descriptorOf(socket);
  if (setSocketOption === false || fd === undefined) return false;
  return setSocketOption(fd, SOL_SOCKET, SO_LINGER, AT_ONCE, AT_ONCE.length) === 0;
}

function bind(): SetSocketOption | false {
  if (process.platform !== 'linux') return false;
  try {
    return openSelf().func(
      'int setsockopt(int fd, int level, int name, const void *value, uint32_t length)',
    );
  } catch {
    return false; // No native functions on this machine.
  }
}

/** Node exposes it only on the handle; -1 once that is closed. */
function descriptorOf(socket: Socket): number | undefined {
  if (!('_handle' in socket)) return undefined;
  const handle: unknown = socket._handle;
  if (typeof handle !== 'object' || handle === null || !('fd' in handle)) return undefined;
  const { fd } = handle;
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}
