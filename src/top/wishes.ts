import { ApiClientError, type ApiClient } from '../client/api-client.ts';
import { closeFlows, flowsLeft, planPick, putPick, type RoutePick } from '../client/pick-route.ts';
import type { MonitoredFlow } from '../monitor/contract.ts';
import { quoted } from '../printable.ts';
import type { ReloadReport } from '../supervisor/reload-report.ts';
import { counted } from '../text/amounts.ts';
import { commandLine } from '../text/command-line.ts';
import { flowTarget } from './flow-columns.ts';
import type { ChangeChoice, ChangePrompt } from './top-state.ts';

/** Dependencies of changes. */
export interface Tools {
  readonly api: ApiClient;
  /** The control socket; `undefined` if there is none. */
  readonly socket: string | undefined;
}

/** Command-line options that select this Weir: there may be others on the machine. */
const meant = ({ socket }: Pick<Tools, 'socket'>): readonly string[] =>
  socket === undefined ? [] : ['--socket', socket];

export const closeQuestion = ({ view }: MonitoredFlow, { api, socket }: Tools): ChangePrompt => ({
  title: `Close flow ${view.id}?`,
  effects: [`${flowTarget(view)} by ${view.outbound === '' ? 'dns' : view.outbound}`],
  answers: [
    {
      key: 'y',
      text: 'close it',
      command: commandLine(['weir', 'ctl', 'close', String(view.id), ...meant({ socket })]),
      run: async () => {
        const closed = await closeFlows(api, [view]);
        return closed === 1 ? `Flow ${view.id} is closed.` : `Flow ${view.id} had ended.`;
      },
    },
  ],
});

export const reloadQuestion = ({ api, socket }: Tools): ChangePrompt => ({
  title: 'Reload?',
  effects: [
    'Weir reads its files again and applies what has changed.',
    'No connection is dropped.',
  ],
  answers: [
    {
      key: 'y',
      text: 'reload',
      command: commandLine(['weir', 'ctl', 'reload', ...meant({ socket })]),
      run: async () => reportText((await api.ask('POST', '/v1/reload')) as ReloadReport),
    },
  ],
});

/** The confirmation of a pick: its effects, and the number of flows that it leaves open. @throws {WeirError} */
export async function pickQuestion(pick: RoutePick, { api, socket }: Tools): Promise<ChangePrompt> {
  const { etag, change } = await planPick(api, pick);
  const left = socket === undefined ? undefined : await flowsLeft(api, socket, change);
  const command = (...more: readonly string[]): string =>
    commandLine(['weir', 'ctl', 'pick', pick.group, pick.target, ...more, ...meant({ socket })]);
  const put = async (): Promise<string> => reportText((await putPick(api, pick, etag)).report);
  const answers: ChangeChoice[] = [{ key: 'y', text: 'pick', command: command(), run: put }];
  if (socket !== undefined && left && left.length > 0) {
    answers.push({
      key: 'c',
      text: `pick, and close ${left.length === 1 ? 'this flow' : `these ${left.length} flows`}`,
      command: command('--close'),
      run: async () => {
        const text = await put();
        const closed = await closeFlows(api, await flowsLeft(api, socket, change));
        return `${text} Closed ${counted(closed, 'flow')}.`;
      },
    });
  }
  return {
    title: `Set ${quoted(pick.group)} to ${quoted(pick.target)}?`,
    effects: effectsOf(pick, change.from, left?.length),
    answers,
  };
}

/** Effects of a pick. @param left flows that stay open on `from`; `undefined` if their number is not known */
function effectsOf(
  { group, target }: RoutePick,
  from: string,
  left: number | undefined,
): readonly string[] {
  if (from === target) {
    return [`New flows go to ${quoted(target)} already, and open ones stay where they are.`];
  }
  const open =
    left === undefined
      ? 'Open flows stay where they are; without the control socket their number is not known.'
      : `${counted(left, 'flow')} of ${quoted(group)} ${left === 1 ? 'stays' : 'stay'} open on ${quoted(from)}.`;
  return [`New flows go to ${quoted(target)}.`, open];
}

/** The consequences of a failed change, for the user. */
export function failureHints(error: unknown): readonly string[] {
  if (!(error instanceof ApiClientError)) return [];
  if (error.status === 409) return ['Another program has changed the file. Nothing was written.'];
  if (error.status !== undefined && error.etag !== undefined) {
    return ['The file has the new pick, and Weir continues with the configuration before it.'];
  }
  return [];
}

function reportText(report: ReloadReport): string {
  if (report.status === 'unchanged') return 'Nothing has changed.';
  const { built, removed } = report;
  const parts = [...built, ...removed.map((tag) => `removed ${tag}`)];
  return parts.length === 0 ? 'Applied.' : `Applied: ${parts.join(', ')}.`;
}
