import type { RunningSearch } from '@weir/client/running';
import type { ListenText } from '@weir/server/local-http';
import type { OptionTable } from './command.ts';
import { UsageError } from '@weir/base';

/** The option of commands that query a running Weir. */
export const SOCKET_OPTION = {
  socket: {
    type: 'string',
    short: 's',
    value: 'PATH',
    summary:
      'the control socket of the running Weir; WEIR_SOCKET unless\n' +
      'given, and otherwise the only one that is found',
  },
} as const satisfies OptionTable;

/** The options of commands that query a running Weir and read no file. */
export const WHICH_OPTIONS = {
  ...SOCKET_OPTION,
  config: {
    type: 'string',
    short: 'c',
    value: 'FILE',
    summary: 'the running Weir that serves this configuration file',
  },
} as const satisfies OptionTable;

/** The options that select a running Weir. */
export interface Which {
  readonly socket: string | undefined;
  readonly config: string | undefined;
}

/** Reads the options that select a running Weir. @throws {UsageError} for an empty name */
export function whichOf({
  socket,
  config,
}: {
  readonly socket?: string | undefined;
  readonly config?: string | undefined;
}): Which {
  if (config === '') throw new UsageError('--config needs the name of a file');
  return { socket, config };
}

/** Options of programs that watch a running Weir: where it is, and where they listen themselves. */
export const RUNNING_OPTIONS = {
  api: {
    type: 'string',
    value: 'URL',
    summary:
      "Weir's API: http://host:port, host:port, or the path of a unix\n" +
      'socket (default: $WEIR_API, then what that process or the file says)',
  },
  config: {
    type: 'string',
    short: 'c',
    value: 'FILE',
    summary: 'the configuration file of the running Weir; its own unless given',
  },
  ...SOCKET_OPTION,
  'secret-file': {
    type: 'string',
    value: 'FILE',
    summary: "a file with the secret of [api]; the configuration's unless given",
  },
  listen: {
    type: 'string',
    value: 'HOST:PORT',
    summary: 'where to listen: an address of this host, or the path of a unix socket',
  },
} as const satisfies OptionTable;

/** The option of programs that can also change the running Weir. */
export const READ_ONLY_OPTION = {
  'read-only': { type: 'boolean', summary: 'show everything, and change nothing' },
} as const satisfies OptionTable;

/** Options in addition to `--listen` that let other hosts connect. */
export const TLS_OPTIONS = {
  'tls-certificate': {
    type: 'string',
    value: 'FILE',
    summary:
      'a chain of certificates in PEM: with it --listen takes any address;\n' +
      'it names the hosts that requests may be for',
  },
  'tls-key': { type: 'string', value: 'FILE', summary: 'the key of the certificate, in PEM' },
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
