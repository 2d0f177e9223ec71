import type { Logger } from '../../log/logger.ts';
import { quoted } from '../../printable.ts';
import { counted } from '../../text/amounts.ts';
import { killFlows } from '../../tracker/tracker.ts';
import type { Instance } from '../instance.ts';
import { toUserFlowsRequest, type UserFlowsResponse } from './user-flows-messages.ts';

/** Handles `user-flows` on the control socket; an invalid request matches no flows. */
export async function answerUserFlows(
  text: string,
  {
    instance: { tracker },
    log,
  }: { readonly instance: Pick<Instance, 'tracker'>; readonly log: Logger },
): Promise<UserFlowsResponse> {
  const request = toUserFlowsRequest(text);
  if (!request) return { kind: 'flows', count: 0 };
  const { inbound, user, removed, close } = request;
  const flows = tracker
    .flows()
    .filter(
      ({ info, killed }) =>
        !killed &&
        info.inbound === inbound &&
        (user === undefined || info.user === user) &&
        (!removed || info.standing?.stands === false),
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
