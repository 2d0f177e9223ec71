import { resolve } from 'node:path';
import { messageOf } from '@weir/base';
import type { Logger } from '@weir/base/log';
import { quoted } from '@weir/base/printable';
import { counted } from '@weir/base/text/amounts';
import { killFlows } from '@weir/proxy/tracker';
import type { Instance } from '../instance.ts';
import {
  failed,
  isUserFlowsRequest,
  toDrainAction,
  type ControlFailed,
  type DrainReport,
  type LoadedFile,
  type LoadedFiles,
  type UserFlowsResponse,
} from './messages.ts';

/** Handles `drain`. */
export async function answerDrain(
  text: string,
  instance: Pick<Instance, 'drain' | 'takeBackDrain' | 'supervisor'>,
): Promise<DrainReport | ControlFailed> {
  const action = toDrainAction(text);
  if (action === undefined) return failed('expected begin, undo or show');
  try {
    if (action === 'begin') await instance.drain();
    if (action === 'undo') await instance.takeBackDrain();
  } catch (error) {
    return failed(`the drain goes on: ${messageOf(error)}`);
  }
  return drainStatus(instance);
}

/** The drain of a process, as reported to clients. */
export function drainStatus({ supervisor }: Pick<Instance, 'supervisor'>): DrainReport {
  const { since = null, remains } = supervisor.drain;
  const { flows, sessions, handshakes, deviceFlows } = remains;
  return { kind: 'drain', since, flows, sessions, handshakes, device_flows: deviceFlows };
}

/** Maximum number of files compared for one request; a configuration also names the files of its certificates. */
const MAX_FILES = 64;

/** Handles `loaded-files`: reads the files again, one after the other. */
export async function answerLoadedFiles({
  loadedFiles,
}: Pick<Instance, 'loadedFiles'>): Promise<LoadedFiles> {
  const files: LoadedFile[] = [];
  const { length: count } = loadedFiles.paths;
  for await (const { path, isSame } of loadedFiles.compared()) {
    files.push({ path: resolve(path), state: isSame ? 'same' : 'changed' });
    if (files.length === MAX_FILES) break;
  }
  return { files, more: count - files.length };
}

/** Handles `user-flows`; an invalid request matches no flows. */
export async function answerUserFlows(
  request: unknown,
  {
    instance: { tracker },
    log,
  }: { readonly instance: Pick<Instance, 'tracker'>; readonly log: Logger },
): Promise<UserFlowsResponse> {
  if (!isUserFlowsRequest(request)) return { kind: 'flows', count: 0 };
  const { inbound, user, removed, close } = request;
  const flows = tracker
    .flows()
    .filter(
      ({ info, killed }) =>
        !killed &&
        info.inbound === inbound &&
        (user === undefined || info.user === user) &&
        (!removed || info.account?.isValid === false),
    );
  if (!close) return { kind: 'flows', count: flows.length };
  const { count, ended } = killFlows(flows);
  await ended;
  const whose = user === undefined ? 'users' : `the user ${quoted(user)}`;
  log
    .target('svc_app::instance')
    .info(
      `closed ${counted(count, 'flow')} of ${removed ? 'removed accounts of ' : ''}${whose} of inbound ${quoted(inbound)}`,
    );
  return { kind: 'flows', count };
}
