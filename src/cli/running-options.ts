import type { RunningSearch } from '../client/find-running.ts';
import type { ListenText } from '../local-http/listen.ts';
import type { OptionTable } from './command.ts';
import { SOCKET_OPTION } from './control/socket-option.ts';

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
