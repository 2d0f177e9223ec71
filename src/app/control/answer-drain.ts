import { messageOf } from '../../errors.ts';
import type { Instance } from '../instance.ts';
import { toDrainAction, type DrainFailed, type DrainStatus } from './drain-messages.ts';

/** Handles `drain` on the control socket. */
export async function answerDrain(
  text: string,
  instance: Pick<Instance, 'drain' | 'takeBackDrain' | 'supervisor'>,
): Promise<DrainStatus | DrainFailed> {
  const action = toDrainAction(text);
  if (action === undefined) return { kind: 'failed', line: 'expected begin, undo or show' };
  try {
    if (action === 'begin') await instance.drain();
    if (action === 'undo') await instance.takeBackDrain();
  } catch (error) {
    return { kind: 'failed', line: `the drain goes on: ${messageOf(error)}` };
  }
  return drainStatus(instance);
}

/** The drain of a process, as reported to clients. */
export function drainStatus({ supervisor }: Pick<Instance, 'supervisor'>): DrainStatus {
  const { since = null, remains } = supervisor.drain;
  const { flows, sessions, handshakes, deviceFlows } = remains;
  return { kind: 'drain', since, flows, sessions, handshakes, device_flows: deviceFlows };
}
