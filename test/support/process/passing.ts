import type { WeirOptions } from './weir.ts';

/** Options that pass descriptors to a process as a service manager does: sd_listen_fds(3). */
export const passing = (
  sockets: readonly { readonly fd: number }[],
  { env, ...options }: WeirOptions = {},
): WeirOptions => ({
  ...options,
  descriptors: sockets.map(({ fd }) => fd),
  // LISTEN_PID has to be the number of the process that execve(2) turns into Weir.
  wrap: ['/bin/sh', '-c', 'LISTEN_PID=$$ exec "$@"', 'sh'],
  env: { LISTEN_FDS: String(sockets.length), ...env },
});
