import type { ApiClient } from '../../client/api-client.ts';
import { needSocket, type SocketSearch } from '../../client/find-socket.ts';
import { closeFlows, flowsLeft, planPick, putPick } from '../../client/pick-route.ts';
import type { RouteSwitch } from '../../client/stale-flows.ts';
import { quoted } from '../../printable.ts';
import type { ReloadReport } from '../../supervisor/reload-report.ts';
import { counted } from '../../text/amounts.ts';
import type { CtlCommand } from './arguments.ts';
import type { CtlOutput } from './output.ts';
import { reportTable } from './views.ts';

type PickCommand = CtlCommand & { readonly kind: 'pick' };

/**
 * `weir ctl pick`; with `--close` it also closes the flows that the group had opened on its old target, once new flows
 * use the new one.
 */
export async function pickRoute(
  command: PickCommand,
  client: ApiClient,
  output: CtlOutput,
  search: SocketSearch,
): Promise<void> {
  const { close, dryRun, ifMatch } = command;
  const pick = async (): Promise<void> =>
    write((await putPick(client, command, ifMatch)).report, output);
  if (!close) return pick();
  const { change } = await planPick(client, command);
  const socket = await needSocket(search);
  const { length: open } = await flowsLeft(client, socket, change);
  await output.write([{ open }], () => `${openText(command, change, open)}\n`);
  if (dryRun) return;
  await pick();
  // Requested again: flows have ended, and others have been opened before the switch.
  const closed = await closeFlows(client, await flowsLeft(client, socket, change));
  await output.write([{ closed }], () => `closed ${counted(closed, 'flow')}\n`);
}

const write = (report: ReloadReport, output: CtlOutput): Promise<void> =>
  output.write([report], () => reportTable(report));

function openText(
  { group, dryRun }: PickCommand,
  { from, to }: RouteSwitch,
  count: number,
): string {
  const open = count === 1 ? 'is open' : 'are open';
  const would = dryRun ? 'would be closed' : 'will be closed';
  return from === to
    ? `${quoted(group)} goes to ${quoted(to)} already: nothing to close`
    : `${counted(count, 'flow')} of ${quoted(group)} ${open} on ${quoted(from)} and ${would}`;
}
