import type { RunningSearch } from '@weir/client/running';
import type { ListenText } from '@weir/server/local-http';
import { flag, option, type OptionTable } from './command.ts';

/** The option of commands that query a running Weir. */
export const SOCKET_OPTION = {
  socket: option(
    'PATH',
    'the control socket of the running Weir; WEIR_SOCKET unless\n' +
      'given, and otherwise the only one that is found',
    { short: 's' },
  ),
} as const satisfies OptionTable;

/** The options of commands that query a running Weir and read no file. */
export const WHICH_OPTIONS = {
  ...SOCKET_OPTION,
  config: option('FILE', 'the running Weir that serves this configuration file', { short: 'c' }),
} as const satisfies OptionTable;

/** The options that select a running Weir. */
export interface Which {
  readonly socket: string | undefined;
  readonly config: string | undefined;
}

/** Reads the options that select a running Weir. */
export function whichOf({
  socket,
  config,
}: {
  readonly socket?: string | undefined;
  readonly config?: string | undefined;
}): Which {
  return { socket, config };
}

/** Options of programs that watch a running Weir: where it is, and where they listen themselves. */
export const RUNNING_OPTIONS = {
  api: option(
    'URL',
    "Weir's API: http://host:port, host:port, or the path of a unix\n" +
      'socket (default: $WEIR_API, then what that process or the file says)',
  ),
  config: option('FILE', 'the configuration file of the running Weir; its own unless given', {
    short: 'c',
  }),
  ...SOCKET_OPTION,
  'secret-file': option(
    'FILE',
    "a file with the secret of [api]; the configuration's unless given",
  ),
  listen: option(
    'HOST:PORT',
    'where to listen: an address of this host, or the path of a unix socket',
  ),
} as const satisfies OptionTable;

/** The option of programs that can also change the running Weir. */
export const READ_ONLY_OPTION = {
  'read-only': flag('show everything, and change nothing'),
} as const satisfies OptionTable;

/** Options in addition to `--listen` that let other hosts connect. */
export const TLS_OPTIONS = {
  'tls-certificate': option(
    'FILE',
    'a chain of certificates in PEM: with it --listen takes any address;\n' +
      'it names the hosts that requests may be for',
  ),
  'tls-key': option('FILE', 'the key of the certificate, in PEM'),
} as const satisfies OptionTable;

type GivenOptions = {
  readonly [Name in keyof typeof RUNNING_OPTIONS | keyof typeof TLS_OPTIONS]?: string | undefined;
};

/** The search for a running Weir that the options describe. */
export const searchOf = (given: GivenOptions): Omit<RunningSearch, 'env'> => ({
  api: given.api,
  config: given.config,
  socket: given.socket,
  secretFile: given['secret-file'],
});

/** The values of the options for listening. */
export const listenOf = (given: GivenOptions): ListenText => ({
  listen: given.listen,
  certificate: given['tls-certificate'],
  key: given['tls-key'],
});
