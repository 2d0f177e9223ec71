import type { OptionTable } from '../command.ts';

/** The option of commands that ask a running Weir. */
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
