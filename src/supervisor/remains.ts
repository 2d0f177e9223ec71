import { age, counted } from '../text/amounts.ts';

/** The sessions and flows that a drain waits for. */
export interface Remains {
  /** Flows of sockets; those of devices continue until the process stops. */
  readonly flows: number;
  readonly sessions: number;
  /** Accepted clients that have not authenticated. */
  readonly handshakes: number;
  /** Flows of devices, which are not waited for. */
  readonly deviceFlows: number;
}

/** Returns the remaining sessions and flows as text, for users. */
export function remainsText({ flows, sessions, handshakes, deviceFlows }: Remains): string {
  const parts = [counted(flows, 'flow'), `in ${counted(sessions, 'session')}`];
  if (handshakes > 0) parts.push(`and ${counted(handshakes, 'client')} in a handshake`);
  const isNone = flows + sessions + handshakes === 0;
  const left = isNone ? 'nothing is left' : `${parts.join(' ')} left`;
  const device = `${counted(deviceFlows, 'flow')} of devices, which go on until the stop`;
  return deviceFlows === 0 ? left : `${left}; ${device}`;
}

/** Returns the log line of flows that a stop has ended. @param graceMs milliseconds for which they were waited for */
export const cutLine = (flows: number, graceMs: number): string =>
  `cut ${counted(flows, 'flow')} that ${flows === 1 ? 'was' : 'were'} still open${graceMs === 0 ? '' : ` after ${age(graceMs)}`}`;
