import { UsageError } from '../../errors.ts';
import type { OptionTable } from '../command.ts';

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
