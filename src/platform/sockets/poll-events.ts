import type { KernelIo } from './kernel-io.ts';

const POLLIN = 0x1;
const POLLOUT = 0x4;
const POLLRDHUP = 0x2000;

/**
 * Returns the result of poll(2) for a descriptor, which consumes neither an edge of epoll nor the socket's
 * error. 0 if it is not ready.
 */
export function pollEvents(
  { calls, option }: Pick<KernelIo, 'calls' | 'option'>,
  fd: number,
  { input, output }: { readonly input: boolean; readonly output: boolean },
): number {
  // struct pollfd { int fd; short events; short revents; }
  option.bytes.writeInt32LE(fd, 0);
  option.bytes.writeInt16LE((input ? POLLIN | POLLRDHUP : 0) | (output ? POLLOUT : 0), 4);
  option.bytes.writeInt16LE(0, 6);
  return calls.poll(option.at, 1, 0) === 1 ? option.bytes.readUInt16LE(6) : 0;
}
