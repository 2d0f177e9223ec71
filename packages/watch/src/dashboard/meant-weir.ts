import type { DashboardContext } from './contract.ts';

/** Command-line options that select this Weir: there may be others on the machine. */
export const meantWeir = ({
  socket,
  config,
}: Pick<DashboardContext, 'socket' | 'config'>): readonly string[] => {
  if (socket !== undefined) return ['--socket', socket];
  return config === undefined ? [] : ['--config', config];
};
